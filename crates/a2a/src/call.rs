//! The canonical request: an operation and its parameters in v1.0 shape.
//!
//! Takes nothing from the wire itself (a [`crate::dialect::Envelope`] does); gives the pipeline ids to check and a tree
//! to guard. Never holds the caller's `tenant` member: path and credential decide the tenant (protocol 8 #21).

use json::{Json, Object};

use crate::{Version, operation::OperationKind, shape};

/// One call, whatever dialect it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is asked for.
    pub kind: OperationKind,
    /// The parameters: the v1.0 request shape without `tenant`. A call that came as v0.3 keeps members that only v0.3
    /// knows (`kind`, unknown ones) in place, for agents of that generation.
    pub params: Object,
    /// The generation it was written in.
    pub origin: Version,
}

impl Call {
    /// The task this call is about: the addressed one, or the one a message continues.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        match self.kind {
            OperationKind::SendMessage | OperationKind::SendStreamingMessage => text(self.message()?, "taskId"),
            OperationKind::GetTask | OperationKind::CancelTask | OperationKind::SubscribeToTask => {
                text(&self.params, "id")
            }
            OperationKind::CreatePushConfig
            | OperationKind::GetPushConfig
            | OperationKind::ListPushConfigs
            | OperationKind::DeletePushConfig => text(&self.params, "taskId"),
            OperationKind::ListTasks | OperationKind::GetExtendedCard => None,
        }
    }

    /// The context a message belongs to, or that a list is narrowed to.
    #[must_use]
    pub fn context_id(&self) -> Option<&str> {
        match self.kind {
            OperationKind::SendMessage | OperationKind::SendStreamingMessage => text(self.message()?, "contextId"),
            OperationKind::ListTasks => text(&self.params, "contextId"),
            OperationKind::GetTask
            | OperationKind::CancelTask
            | OperationKind::SubscribeToTask
            | OperationKind::CreatePushConfig
            | OperationKind::GetPushConfig
            | OperationKind::ListPushConfigs
            | OperationKind::DeletePushConfig
            | OperationKind::GetExtendedCard => None,
        }
    }

    /// The push configuration that is addressed or made.
    #[must_use]
    pub fn config_id(&self) -> Option<&str> {
        match self.kind {
            OperationKind::CreatePushConfig | OperationKind::GetPushConfig | OperationKind::DeletePushConfig => {
                text(&self.params, "id")
            }
            OperationKind::SendMessage
            | OperationKind::SendStreamingMessage
            | OperationKind::GetTask
            | OperationKind::ListTasks
            | OperationKind::CancelTask
            | OperationKind::SubscribeToTask
            | OperationKind::ListPushConfigs
            | OperationKind::GetExtendedCard => None,
        }
    }

    /// The tasks a message refers to.
    pub fn reference_task_ids(&self) -> impl Iterator<Item = &str> {
        self.message()
            .and_then(|message| message.get("referenceTaskIds"))
            .and_then(Json::as_array)
            .unwrap_or_default()
            .iter()
            .filter_map(Json::as_str)
    }

    /// The message that is sent, if one is.
    #[must_use]
    pub fn message(&self) -> Option<&Object> {
        self.params.get("message").and_then(Json::as_object)
    }

    /// The inline push configuration of a send, if it has one.
    #[must_use]
    pub fn inline_push_config(&self) -> Option<&Object> {
        let configuration = self.params.get("configuration")?;
        ["taskPushNotificationConfig", "pushNotificationConfig", "pushNotification"]
            .into_iter()
            .find_map(|name| configuration.get(name)?.as_object())
    }

    /// Sets the page of a list: the agent's own token (none = first page) and how many tasks.
    pub fn set_page(&mut self, token: Option<&str>, size: i64) {
        match token {
            Some(token) => {
                self.params.insert("pageToken", token);
            }
            None => {
                self.params.remove("pageToken");
            }
        }
        self.params.insert("pageSize", size);
    }

    /// The page token of a list.
    #[must_use]
    pub fn page_token(&self) -> Option<&str> {
        text(&self.params, "pageToken")
    }

    /// The page size of a list.
    #[must_use]
    pub fn page_size(&self) -> Option<i64> {
        self.params.get("pageSize").and_then(shape::whole_number)
    }

    /// Gives the message a role if it has none: what is sent to an agent is said by its client.
    pub fn ensure_role(&mut self) {
        if let Some(Json::Object(message)) = self.params.get_mut("message")
            && !message.contains("role")
        {
            message.insert("role", "ROLE_USER");
        }
    }

    /// Gives the message the id `minted` if it has none; both generations' agents refuse messages without one.
    pub fn ensure_message_id(&mut self, minted: &str) {
        if let Some(Json::Object(message)) = self.params.get_mut("message")
            && text(message, "messageId").is_none()
        {
            message.insert("messageId", minted);
        }
    }
}

/// A string member that is not empty (ProtoJSON: the empty string is absence).
fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.str(key).filter(|text| !text.is_empty())
}
