//! The objects of A2A v1.0 (`lf.a2a.v1`), which are the canonical ones.

use super::{Field, Name, Shape};
use crate::OperationKind;

pub(crate) const PART: Shape = Shape {
    name: Name::Part,
    fields: &[
        ("text", Field::Text),
        ("raw", Field::Bytes),
        ("url", Field::Text),
        ("data", Field::Value),
        ("filename", Field::Text),
        ("mediaType", Field::Text),
        ("metadata", Field::Struct),
    ],
};

pub(crate) const MESSAGE: Shape = Shape {
    name: Name::Message,
    fields: &[
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

pub(crate) const STATUS: Shape = Shape {
    name: Name::Status,
    fields: &[("state", Field::State), ("message", Field::Object(&MESSAGE)), ("timestamp", Field::Text)],
};

pub(crate) const ARTIFACT: Shape = Shape {
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
        ("id", Field::Id),
        ("contextId", Field::Id),
        ("status", Field::Object(&STATUS)),
        ("artifacts", Field::List(&ARTIFACT)),
        ("history", Field::List(&MESSAGE)),
        ("metadata", Field::Struct),
    ],
};

pub(crate) const STATUS_UPDATE: Shape = Shape {
    name: Name::StatusUpdate,
    fields: &[
        ("taskId", Field::Id),
        ("contextId", Field::Id),
        ("status", Field::Object(&STATUS)),
        ("metadata", Field::Struct),
    ],
};

pub(crate) const ARTIFACT_UPDATE: Shape = Shape {
    name: Name::ArtifactUpdate,
    fields: &[
        ("taskId", Field::Id),
        ("contextId", Field::Id),
        ("artifact", Field::Object(&ARTIFACT)),
        ("append", Field::Flag),
        ("lastChunk", Field::Flag),
        ("metadata", Field::Struct),
    ],
};

pub(crate) const EVENT: Shape = Shape {
    name: Name::Event,
    fields: &[
        ("task", Field::Object(&TASK)),
        ("message", Field::Object(&MESSAGE)),
        ("statusUpdate", Field::Object(&STATUS_UPDATE)),
        ("artifactUpdate", Field::Object(&ARTIFACT_UPDATE)),
    ],
};

pub(crate) const AUTHENTICATION: Shape =
    Shape { name: Name::Authentication, fields: &[("scheme", Field::Text), ("credentials", Field::Text)] };

const INLINE_PUSH: Shape = Shape {
    name: Name::InlinePush,
    fields: &[
        ("tenant", Field::Text),
        ("id", Field::Id),
        ("taskId", Field::Id),
        ("url", Field::Text),
        ("token", Field::Text),
        ("authentication", Field::Object(&AUTHENTICATION)),
    ],
};

pub(crate) const PUSH: Shape = Shape { name: Name::Push, fields: INLINE_PUSH.fields };

const CONFIGURATION: Shape = Shape {
    name: Name::Configuration,
    fields: &[
        ("acceptedOutputModes", Field::Texts),
        ("taskPushNotificationConfig", Field::Object(&INLINE_PUSH)),
        ("historyLength", Field::Whole),
        ("returnImmediately", Field::Flag),
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

const GET: Shape =
    Shape { name: Name::Plain, fields: &[("tenant", Field::Text), ("id", Field::Id), ("historyLength", Field::Whole)] };

const LIST: Shape = Shape {
    name: Name::Plain,
    fields: &[
        ("tenant", Field::Text),
        ("contextId", Field::Id),
        ("status", Field::State),
        ("pageSize", Field::Whole),
        ("pageToken", Field::Id),
        ("historyLength", Field::Whole),
        ("statusTimestampAfter", Field::Id),
        ("includeArtifacts", Field::Flag),
    ],
};

const CANCEL: Shape =
    Shape { name: Name::Plain, fields: &[("tenant", Field::Text), ("id", Field::Id), ("metadata", Field::Struct)] };

const SUBSCRIBE: Shape = Shape { name: Name::Plain, fields: &[("tenant", Field::Text), ("id", Field::Id)] };

const ADDRESS_PUSH: Shape =
    Shape { name: Name::Plain, fields: &[("tenant", Field::Text), ("taskId", Field::Id), ("id", Field::Id)] };

const LIST_PUSH: Shape = Shape {
    name: Name::Plain,
    fields: &[("tenant", Field::Text), ("taskId", Field::Id), ("pageSize", Field::Whole), ("pageToken", Field::Id)],
};

const CARD: Shape = Shape { name: Name::Plain, fields: &[("tenant", Field::Text)] };

const TASK_LIST: Shape = Shape {
    name: Name::TaskList,
    fields: &[
        ("tasks", Field::List(&TASK)),
        ("nextPageToken", Field::Text),
        ("pageSize", Field::Whole),
        ("totalSize", Field::Whole),
    ],
};

pub(crate) const PUSH_LIST: Shape =
    Shape { name: Name::PushList, fields: &[("configs", Field::List(&PUSH)), ("nextPageToken", Field::Text)] };

/// An object that nothing is known of: cards, which have rules of their own, and the answer to a delete.
const OPAQUE: Shape = Shape { name: Name::Plain, fields: &[] };

/// The parameters of an operation.
pub(crate) const fn params(kind: OperationKind) -> &'static Shape {
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => &SEND,
        OperationKind::GetTask => &GET,
        OperationKind::ListTasks => &LIST,
        OperationKind::CancelTask => &CANCEL,
        OperationKind::SubscribeToTask => &SUBSCRIBE,
        OperationKind::CreatePushConfig => &PUSH,
        OperationKind::GetPushConfig | OperationKind::DeletePushConfig => &ADDRESS_PUSH,
        OperationKind::ListPushConfigs => &LIST_PUSH,
        OperationKind::GetExtendedCard => &CARD,
    }
}

/// The result of an operation; of a stream, one event.
pub(crate) const fn result(kind: OperationKind) -> &'static Shape {
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage | OperationKind::SubscribeToTask => &EVENT,
        OperationKind::GetTask | OperationKind::CancelTask => &TASK,
        OperationKind::ListTasks => &TASK_LIST,
        OperationKind::CreatePushConfig | OperationKind::GetPushConfig => &PUSH,
        OperationKind::ListPushConfigs => &PUSH_LIST,
        OperationKind::DeletePushConfig | OperationKind::GetExtendedCard => &OPAQUE,
    }
}
