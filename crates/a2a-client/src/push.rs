//! Push notifications: where an agent reports what happens to a task.

use json::Object;

use crate::tree::{newtype, text};

newtype! {
    /// A webhook for one task, in the shape of A2A 1.0.
    ///
    /// ```
    /// use a2a_client::PushConfig;
    /// let hook = PushConfig::to("https://me.example/hook").with_token("what the hook checks").with_id("mine");
    /// assert_eq!(hook.url(), "https://me.example/hook");
    /// ```
    PushConfig
}

impl PushConfig {
    /// Notifications to this URL.
    #[must_use]
    pub fn to(url: impl Into<String>) -> Self {
        Self(Object::from([("url", url.into())]))
    }

    /// The same under an id of the caller's choice; agents make one up otherwise.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.0.insert("id", id.into());
        self
    }

    /// The same with a token that comes with each notification, in `X-A2A-Notification-Token`.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.0.insert("token", token.into());
        self
    }

    /// The same with what the agent sends as `Authorization`.
    #[must_use]
    pub fn with_authentication(mut self, scheme: impl Into<String>, credentials: impl Into<String>) -> Self {
        let authentication = Object::from([("scheme", scheme.into()), ("credentials", credentials.into())]);
        self.0.insert("authentication", authentication);
        self
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        text(&self.0, "id")
    }

    /// The task.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        text(&self.0, "taskId")
    }

    /// Where notifications go.
    #[must_use]
    pub fn url(&self) -> &str {
        self.0.str("url").unwrap_or_default()
    }
}
