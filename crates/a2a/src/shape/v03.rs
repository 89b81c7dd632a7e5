//! The objects of A2A v0.3 (its JSON schema), as they stand on the wire.

use super::{Field, Name, Shape, v10};
use crate::OperationKind;

const FILE: Shape = Shape {
    name: Name::File,
    fields: &[
        ("bytes", Field::Bytes),
        ("uri", Field::Text),
        ("fileWithBytes", Field::Bytes),
        ("fileWithUri", Field::Text),
        ("name", Field::Text),
        ("mimeType", Field::Text),
    ],
};

const PART: Shape = Shape {
    name: Name::Part,
    fields: &[
        ("kind", Field::Text),
        ("text", Field::Text),
        ("file", Field::Object(&FILE)),
        ("data", Field::Value),
        ("metadata", Field::Struct),
    ],
};

pub(crate) const MESSAGE: Shape = Shape {
    name: Name::Message,
    fields: &[
        ("kind", Field::Text),
        ("messageId", Field::Id),
        ("contextId", Field::Id),
        ("taskId", Field::Id),
        ("role", Field::Role),
        ("parts", Field::List(&PART)),
        ("metadata", Field::Struct),
        ("extensions", Field::Texts),
        ("referenceTaskIds", Field::Texts),
    ],
};

const STATUS: Shape = Shape {
    name: Name::Status,
    fields: &[("state", Field::State), ("message", Field::Object(&MESSAGE)), ("timestamp", Field::Text)],
};

const ARTIFACT: Shape = Shape {
    name: Name::Artifact,
    fields: &[
        ("artifactId", Field::Id),
        ("name", Field::Text),
        ("description", Field::Text),
        ("parts", Field::List(&PART)),
        ("metadata", Field::Struct),
        ("extensions", Field::Texts),
    ],
};

pub(crate) const TASK: Shape = Shape {
    name: Name::Task,
    fields: &[
        ("kind", Field::Text),
        ("id", Field::Id),
        ("contextId", Field::Id),
        ("status", Field::Object(&STATUS)),
        ("artifacts", Field::List(&ARTIFACT)),
        ("history", Field::List(&MESSAGE)),
        ("metadata", Field::Struct),
    ],
};

const STATUS_UPDATE: Shape = Shape {
    name: Name::StatusUpdate,
    fields: &[
        ("kind", Field::Text),
        ("taskId", Field::Id),
        ("contextId", Field::Id),
        ("status", Field::Object(&STATUS)),
        ("final", Field::Flag),
        ("metadata", Field::Struct),
    ],
};

const ARTIFACT_UPDATE: Shape = Shape {
    name: Name::ArtifactUpdate,
    fields: &[
        ("kind", Field::Text),
        ("taskId", Field::Id),
        ("contextId", Field::Id),
        ("artifact", Field::Object(&ARTIFACT)),
        ("append", Field::Flag),
        ("lastChunk", Field::Flag),
        ("metadata", Field::Struct),
    ],
};

/// Not on the wire of v0.3 JSON: the canonical wrapper around its objects.
pub(crate) const EVENT: Shape = Shape {
    name: Name::Event,
    fields: &[
        ("task", Field::Object(&TASK)),
        ("message", Field::Object(&MESSAGE)),
        ("statusUpdate", Field::Object(&STATUS_UPDATE)),
        ("artifactUpdate", Field::Object(&ARTIFACT_UPDATE)),
    ],
};

const AUTHENTICATION: Shape =
    Shape { name: Name::Authentication, fields: &[("schemes", Field::Texts), ("credentials", Field::Text)] };

const INLINE_PUSH: Shape = Shape {
    name: Name::InlinePush,
    fields: &[
        ("id", Field::Id),
        ("url", Field::Text),
        ("token", Field::Text),
        ("authentication", Field::Object(&AUTHENTICATION)),
    ],
};

pub(crate) const PUSH: Shape = Shape {
    name: Name::Push,
    fields: &[("tenant", Field::Text), ("taskId", Field::Id), ("pushNotificationConfig", Field::Object(&INLINE_PUSH))],
};

const CONFIGURATION: Shape = Shape {
    name: Name::Configuration,
    fields: &[
        ("acceptedOutputModes", Field::Texts),
        ("pushNotificationConfig", Field::Object(&INLINE_PUSH)),
        ("historyLength", Field::Whole),
        ("blocking", Field::Flag),
    ],
};

const SEND: Shape = Shape {
    name: Name::Plain,
    fields: &[
        ("tenant", Field::Text),
        ("message", Field::Object(&MESSAGE)),
        ("configuration", Field::Object(&CONFIGURATION)),
        ("metadata", Field::Struct),
    ],
};

const TASK_QUERY: Shape = Shape {
    name: Name::Plain,
    fields: &[("tenant", Field::Text), ("id", Field::Id), ("historyLength", Field::Whole), ("metadata", Field::Struct)],
};

const PUSH_QUERY: Shape = Shape {
    name: Name::Plain,
    fields: &[
        ("tenant", Field::Text),
        ("id", Field::Id),
        ("pushNotificationConfigId", Field::Id),
        ("metadata", Field::Struct),
    ],
};

const PUSH_LIST: Shape = Shape { name: Name::PushList, fields: &[("configs", Field::List(&PUSH))] };

/// Path RPC lists v0.3 tasks in v1.0's envelope.
const TASK_LIST: Shape = Shape {
    name: Name::TaskList,
    fields: &[
        ("tasks", Field::List(&TASK)),
        ("nextPageToken", Field::Text),
        ("pageSize", Field::Whole),
        ("totalSize", Field::Whole),
    ],
};

/// The parameters of an operation. v0.3 has no list of tasks; path RPC asks for it in v1.0 words.
pub(crate) const fn params(kind: OperationKind) -> &'static Shape {
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => &SEND,
        OperationKind::GetTask | OperationKind::CancelTask | OperationKind::SubscribeToTask => &TASK_QUERY,
        OperationKind::CreatePushConfig => &PUSH,
        OperationKind::GetPushConfig | OperationKind::ListPushConfigs | OperationKind::DeletePushConfig => &PUSH_QUERY,
        OperationKind::ListTasks | OperationKind::GetExtendedCard => v10::params(kind),
    }
}

/// The result of an operation, wrapped as the canonical one is; of a stream, one event.
pub(crate) const fn result(kind: OperationKind) -> &'static Shape {
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage | OperationKind::SubscribeToTask => &EVENT,
        OperationKind::GetTask | OperationKind::CancelTask => &TASK,
        OperationKind::CreatePushConfig | OperationKind::GetPushConfig => &PUSH,
        OperationKind::ListPushConfigs => &PUSH_LIST,
        OperationKind::ListTasks => &TASK_LIST,
        OperationKind::DeletePushConfig | OperationKind::GetExtendedCard => v10::result(kind),
    }
}
