//! Messages: what is said to an agent, and what it says.

use json::{Json, Object};

use crate::part::{self, Part};
use crate::tree::{add_metadata, all, newtype, push_text, text};

newtype! {
    /// A message, in the shape of A2A 1.0.
    ///
    /// ```
    /// use a2a_client::{Message, Part};
    /// let first = Message::from("What is in this file?").with(Part::bytes(b"a,b\n1,2\n", "text/csv").named("a.csv"));
    /// assert_eq!(first.text(), "What is in this file?");
    /// let next = Message::from("And the second column?").in_task("task-1");
    /// assert_eq!(next.task_id(), Some("task-1"));
    /// ```
    Message
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The one who calls.
    User,
    /// The agent.
    Agent,
    /// Not said.
    Unspecified,
}

impl Message {
    /// A message of the user with these parts. It gets a random id when it is sent.
    #[must_use]
    pub fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        let parts: Vec<Json> = parts.into_iter().map(|part| part.into_object().into()).collect();
        Self(Object::from([("role", Json::from("ROLE_USER")), ("parts", Json::Array(parts))]))
    }

    /// The same with another part.
    #[must_use]
    pub fn with(mut self, part: impl Into<Part>) -> Self {
        let part = Json::Object(part.into().into_object());
        match self.0.get_mut("parts").and_then(Json::as_array_mut) {
            Some(parts) => parts.push(part),
            None => {
                self.0.insert("parts", vec![part]);
            }
        }
        self
    }

    /// The same as a further message of a task: what an agent that asked back is answered with.
    #[must_use]
    pub fn in_task(mut self, task: impl Into<String>) -> Self {
        self.0.insert("taskId", task.into());
        self
    }

    /// The same as a further message of a conversation.
    #[must_use]
    pub fn in_context(mut self, context: impl Into<String>) -> Self {
        self.0.insert("contextId", context.into());
        self
    }

    /// The same with an id of the caller's choice: agents may take a second message with it for the first one repeated.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.0.insert("messageId", id.into());
        self
    }

    /// The same with a task that it refers to.
    #[must_use]
    pub fn about_task(mut self, task: &str) -> Self {
        push_text(&mut self.0, "referenceTaskIds", task);
        self
    }

    /// The same with a fact beside its parts.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Json>) -> Self {
        add_metadata(&mut self.0, key, value.into());
        self
    }

    /// The same with the URI of an extension that it makes use of.
    #[must_use]
    pub fn with_extension(mut self, uri: &str) -> Self {
        push_text(&mut self.0, "extensions", uri);
        self
    }

    /// Who wrote it.
    #[must_use]
    pub fn role(&self) -> Role {
        match self.0.str("role") {
            Some("ROLE_USER" | "user") => Role::User,
            Some("ROLE_AGENT" | "agent") => Role::Agent,
            Some(_) | None => Role::Unspecified,
        }
    }

    /// Its parts.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        all(&self.0, "parts")
    }

    /// The texts of its parts, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        part::joined(&self.parts())
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        text(&self.0, "messageId")
    }

    /// The task it belongs to.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        text(&self.0, "taskId")
    }

    /// The conversation it belongs to.
    #[must_use]
    pub fn context_id(&self) -> Option<&str> {
        text(&self.0, "contextId")
    }

    /// Facts beside its parts.
    #[must_use]
    pub fn metadata(&self) -> Option<&Object> {
        self.0.get("metadata")?.as_object()
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::of([Part::text(text)])
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::of([Part::text(text)])
    }
}

impl From<Part> for Message {
    fn from(part: Part) -> Self {
        Self::of([part])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_as_it_was_built() {
        let message = Message::from("a")
            .with("b")
            .with(Part::data(1))
            .in_task("t")
            .in_context("c")
            .with_id("m")
            .about_task("t0")
            .with_metadata("k", "v")
            .with_metadata("l", "w")
            .with_extension("https://x");
        assert_eq!((message.text().as_str(), message.parts().len(), message.role()), ("ab", 3, Role::User));
        assert_eq!((message.id(), message.task_id(), message.context_id()), (Some("m"), Some("t"), Some("c")));
        assert_eq!(message.metadata().map(Object::len), Some(2));
        let texts = |member| message.as_object().get(member).cloned();
        assert_eq!(texts("referenceTaskIds"), Some(vec![Json::from("t0")].into()));
        assert_eq!(texts("extensions"), Some(vec![Json::from("https://x")].into()));
    }
}
