//! The objects of A2A v0.3 as its own protobuf names them (HTTP+JSON of 0.3), with what else stands in for them on the
//! wire: the JSON schema's names and the proto's own (`request`, `update`).

use super::{Field, Name, Shape, v10};
use crate::OperationKind;

const FILE: Shape = Shape {
    name: Name::File,
    fields: &[
        ("fileWithUri", Field::Text),
        ("fileWithBytes", Field::Bytes),
        ("uri", Field::Text),
        ("bytes", Field::Bytes),
        ("mimeType", Field::Text),
        ("name", Field::Text),
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

const MESSAGE: Shape = Shape {
    name: Name::Message,
    fields: &[
        ("kind", Field::Text),
        ("messageId", Field::Id),
        ("contextId", Field::Id),
        ("taskId", Field::Id),
        ("role", Field::Role),
        ("content", Field::List(&PART)),
        ("parts", Field::List(&PART)),
        ("metadata", Field::Struct),
        ("extensions", Field::Texts),
        ("referenceTaskIds", Field::Texts),
    ],
};

const STATUS: Shape = Shape {
    name: Name::Status,
    fields: &[
        ("state", Field::State),
        ("message", Field::Object(&MESSAGE)),
        ("update", Field::Object(&MESSAGE)),
        ("timestamp", Field::Text),
    ],
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

const TASK: Shape = Shape {
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

const PUSH: Shape = Shape {
    name: Name::Push,
    fields: &[
        ("tenant", Field::Text),
        ("name", Field::Id),
        ("taskId", Field::Id),
        ("pushNotificationConfig", Field::Object(&INLINE_PUSH)),
    ],
};

/// A configuration to make, in either of the shapes that circulate: wrapped in `config`, or by itself.
const CREATE_PUSH: Shape = Shape {
    name: Name::Plain,
    fields: &[
        ("tenant", Field::Text),
        ("parent", Field::Id),
        ("configId", Field::Id),
        ("config", Field::Object(&PUSH)),
        ("name", Field::Id),
        ("taskId", Field::Id),
        ("pushNotificationConfig", Field::Object(&INLINE_PUSH)),
    ],
};

const CONFIGURATION: Shape = Shape {
    name: Name::Configuration,
    fields: &[
        ("acceptedOutputModes", Field::Texts),
        ("pushNotification", Field::Object(&INLINE_PUSH)),
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
        ("request", Field::Object(&MESSAGE)),
        ("configuration", Field::Object(&CONFIGURATION)),
        ("metadata", Field::Struct),
    ],
};

/// A body beside a path that says it all already.
const NAMED: Shape = Shape {
    name: Name::Plain,
    fields: &[("tenant", Field::Text), ("name", Field::Id), ("id", Field::Id), ("metadata", Field::Struct)],
};

const PUSH_LIST: Shape =
    Shape { name: Name::PushList, fields: &[("configs", Field::List(&PUSH)), ("nextPageToken", Field::Text)] };

/// 0.3 has none; asked for in the words of 1.0.
const TASK_LIST: Shape = Shape {
    name: Name::TaskList,
    fields: &[
        ("tasks", Field::List(&TASK)),
        ("nextPageToken", Field::Text),
        ("pageSize", Field::Whole),
        ("totalSize", Field::Whole),
    ],
};

/// The body of a request; what has none is in the query, in the words of v1.0.
pub(crate) const fn params(kind: OperationKind) -> &'static Shape {
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => &SEND,
        OperationKind::CancelTask | OperationKind::SubscribeToTask => &NAMED,
        OperationKind::CreatePushConfig => &CREATE_PUSH,
        OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::DeletePushConfig
        | OperationKind::GetExtendedCard => v10::params(kind),
    }
}

/// The result of an operation; of a stream, one event.
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

/// What is read as an object of this kind, and the members of it that the proto has: nothing else is written to
/// readers that parse it strictly. `None` for objects that are no message of the proto.
pub(crate) const fn written(name: Name) -> Option<(&'static Shape, &'static [&'static str])> {
    Some(match name {
        Name::Message => (&MESSAGE, &["messageId", "contextId", "taskId", "role", "content", "metadata", "extensions"]),
        Name::Part => (&PART, &["text", "file", "data", "metadata"]),
        Name::File => (&FILE, &["fileWithUri", "fileWithBytes", "mimeType", "name"]),
        Name::Task => (&TASK, &["id", "contextId", "status", "artifacts", "history", "metadata"]),
        Name::Status => (&STATUS, &["state", "message", "timestamp"]),
        Name::Artifact => (&ARTIFACT, &["artifactId", "name", "description", "parts", "metadata", "extensions"]),
        Name::StatusUpdate => (&STATUS_UPDATE, &["taskId", "contextId", "status", "final", "metadata"]),
        Name::ArtifactUpdate => {
            (&ARTIFACT_UPDATE, &["taskId", "contextId", "artifact", "append", "lastChunk", "metadata"])
        }
        Name::Event => (&EVENT, &crate::reply::PAYLOADS),
        Name::Configuration => {
            (&CONFIGURATION, &["acceptedOutputModes", "pushNotification", "historyLength", "blocking"])
        }
        Name::Authentication => (&AUTHENTICATION, &["schemes", "credentials"]),
        Name::InlinePush => (&INLINE_PUSH, &["id", "url", "token", "authentication"]),
        Name::Push => (&PUSH, &["name", "pushNotificationConfig"]),
        Name::PushList => (&PUSH_LIST, &["configs", "nextPageToken"]),
        Name::TaskList => (&TASK_LIST, &["tasks", "nextPageToken", "pageSize", "totalSize"]),
        Name::Plain => return None,
    })
}

/// The members of a send's body.
pub(crate) const SENT: (&Shape, &[&str]) = (&SEND, &["message", "configuration", "metadata"]);
