//! The eleven operations of A2A (specification 1.0 §3.1, §9.4).

use crate::Version;

/// What is asked for, without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationKind {
    /// `SendMessage`
    SendMessage,
    /// `SendStreamingMessage`
    SendStreamingMessage,
    /// `GetTask`
    GetTask,
    /// `ListTasks`
    ListTasks,
    /// `CancelTask`
    CancelTask,
    /// `SubscribeToTask`
    SubscribeToTask,
    /// `CreateTaskPushNotificationConfig`
    CreatePushConfig,
    /// `GetTaskPushNotificationConfig`
    GetPushConfig,
    /// `ListTaskPushNotificationConfigs`
    ListPushConfigs,
    /// `DeleteTaskPushNotificationConfig`
    DeletePushConfig,
    /// `GetExtendedAgentCard`
    GetExtendedCard,
}

impl OperationKind {
    /// Every operation, in the order of the specification.
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreatePushConfig,
        Self::GetPushConfig,
        Self::ListPushConfigs,
        Self::DeletePushConfig,
        Self::GetExtendedCard,
    ];

    /// Whether the answer is a stream of events.
    #[must_use]
    pub const fn is_streaming(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }

    /// The short name used in grants, audit records and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendMessage => "send",
            Self::SendStreamingMessage => "stream",
            Self::GetTask => "get",
            Self::ListTasks => "list",
            Self::CancelTask => "cancel",
            Self::SubscribeToTask => "subscribe",
            Self::CreatePushConfig => "push_create",
            Self::GetPushConfig => "push_get",
            Self::ListPushConfigs => "push_list",
            Self::DeletePushConfig => "push_delete",
            Self::GetExtendedCard => "extended_card",
        }
    }

    /// The operation with this short name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The JSON-RPC method in `version`; v0.3 cannot list tasks.
    #[must_use]
    pub const fn method(self, version: Version) -> Option<&'static str> {
        let (v10, v03) = match self {
            Self::SendMessage => ("SendMessage", Some("message/send")),
            Self::SendStreamingMessage => ("SendStreamingMessage", Some("message/stream")),
            Self::GetTask => ("GetTask", Some("tasks/get")),
            Self::ListTasks => ("ListTasks", None),
            Self::CancelTask => ("CancelTask", Some("tasks/cancel")),
            Self::SubscribeToTask => ("SubscribeToTask", Some("tasks/resubscribe")),
            Self::CreatePushConfig => ("CreateTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/set")),
            Self::GetPushConfig => ("GetTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/get")),
            Self::ListPushConfigs => ("ListTaskPushNotificationConfigs", Some("tasks/pushNotificationConfig/list")),
            Self::DeletePushConfig => ("DeleteTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/delete")),
            Self::GetExtendedCard => ("GetExtendedAgentCard", Some("agent/getAuthenticatedExtendedCard")),
        };
        match version {
            Version::V10 => Some(v10),
            Version::V03 => v03,
        }
    }
}
