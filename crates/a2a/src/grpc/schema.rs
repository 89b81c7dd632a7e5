//! The messages of `lf.a2a.v1` and of `google.rpc` as tables: number, JSON name and kind of each field.
//!
//! A test compares the first part with the specification's own text, so that no number is wrong in silence.

/// One message.
#[derive(Debug)]
pub(crate) struct Message {
    /// As the specification names it; for tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests find messages by name"))]
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [Field],
}

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// The name in ProtoJSON.
    pub(crate) json: &'static str,
    pub(crate) kind: Kind,
    pub(crate) label: Label,
}

/// How often a field occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// Once; the default value is absence.
    Plain,
    /// Once; whether it is there is a fact of its own (`optional`, a member of a `oneof`, a message).
    Present,
    /// Any number of times; for a map, any number of keys.
    Repeated,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    Bytes,
    Flag,
    /// `int32` or `int64`.
    Whole,
    State,
    Role,
    Struct,
    Value,
    Timestamp,
    Message(&'static Message),
    /// `map<string, string>`
    Texts,
    /// `map<string, …>` of a message.
    Map(&'static Message),
}

impl Message {
    pub(crate) fn field(&self, number: u32) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.number == number)
    }
}

impl Kind {
    pub(crate) const fn is_map(self) -> bool {
        matches!(self, Self::Texts | Self::Map(_))
    }
}

const fn one(number: u32, json: &'static str, kind: Kind) -> Field {
    Field { number, json, kind, label: Label::Plain }
}

const fn set(number: u32, json: &'static str, kind: Kind) -> Field {
    Field { number, json, kind, label: Label::Present }
}

const fn many(number: u32, json: &'static str, kind: Kind) -> Field {
    Field { number, json, kind, label: Label::Repeated }
}

/// Every message of the service, in the order of the specification.
#[cfg(test)]
pub(crate) const ALL: &[&Message] = &[
    &SEND_MESSAGE_CONFIGURATION,
    &TASK,
    &TASK_STATUS,
    &PART,
    &MESSAGE,
    &ARTIFACT,
    &TASK_STATUS_UPDATE_EVENT,
    &TASK_ARTIFACT_UPDATE_EVENT,
    &AUTHENTICATION_INFO,
    &AGENT_INTERFACE,
    &AGENT_CARD,
    &AGENT_PROVIDER,
    &AGENT_CAPABILITIES,
    &AGENT_EXTENSION,
    &AGENT_SKILL,
    &AGENT_CARD_SIGNATURE,
    &TASK_PUSH_NOTIFICATION_CONFIG,
    &STRING_LIST,
    &SECURITY_REQUIREMENT,
    &SECURITY_SCHEME,
    &API_KEY_SECURITY_SCHEME,
    &HTTP_AUTH_SECURITY_SCHEME,
    &O_AUTH2_SECURITY_SCHEME,
    &OPEN_ID_CONNECT_SECURITY_SCHEME,
    &MUTUAL_TLS_SECURITY_SCHEME,
    &O_AUTH_FLOWS,
    &AUTHORIZATION_CODE_O_AUTH_FLOW,
    &CLIENT_CREDENTIALS_O_AUTH_FLOW,
    &IMPLICIT_O_AUTH_FLOW,
    &PASSWORD_O_AUTH_FLOW,
    &DEVICE_CODE_O_AUTH_FLOW,
    &SEND_MESSAGE_REQUEST,
    &GET_TASK_REQUEST,
    &LIST_TASKS_REQUEST,
    &LIST_TASKS_RESPONSE,
    &CANCEL_TASK_REQUEST,
    &GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
    &DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
    &SUBSCRIBE_TO_TASK_REQUEST,
    &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST,
    &GET_EXTENDED_AGENT_CARD_REQUEST,
    &SEND_MESSAGE_RESPONSE,
    &STREAM_RESPONSE,
    &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE,
];

pub(crate) const SEND_MESSAGE_CONFIGURATION: Message = Message {
    name: "SendMessageConfiguration",
    fields: &[
        many(1, "acceptedOutputModes", Kind::Text),
        set(2, "taskPushNotificationConfig", Kind::Message(&TASK_PUSH_NOTIFICATION_CONFIG)),
        set(3, "historyLength", Kind::Whole),
        one(4, "returnImmediately", Kind::Flag),
    ],
};

pub(crate) const TASK: Message = Message {
    name: "Task",
    fields: &[
        one(1, "id", Kind::Text),
        one(2, "contextId", Kind::Text),
        set(3, "status", Kind::Message(&TASK_STATUS)),
        many(4, "artifacts", Kind::Message(&ARTIFACT)),
        many(5, "history", Kind::Message(&MESSAGE)),
        set(6, "metadata", Kind::Struct),
    ],
};

pub(crate) const TASK_STATUS: Message = Message {
    name: "TaskStatus",
    fields: &[
        one(1, "state", Kind::State),
        set(2, "message", Kind::Message(&MESSAGE)),
        set(3, "timestamp", Kind::Timestamp),
    ],
};

pub(crate) const PART: Message = Message {
    name: "Part",
    fields: &[
        set(1, "text", Kind::Text),
        set(2, "raw", Kind::Bytes),
        set(3, "url", Kind::Text),
        set(4, "data", Kind::Value),
        set(5, "metadata", Kind::Struct),
        one(6, "filename", Kind::Text),
        one(7, "mediaType", Kind::Text),
    ],
};

pub(crate) const MESSAGE: Message = Message {
    name: "Message",
    fields: &[
        one(1, "messageId", Kind::Text),
        one(2, "contextId", Kind::Text),
        one(3, "taskId", Kind::Text),
        one(4, "role", Kind::Role),
        many(5, "parts", Kind::Message(&PART)),
        set(6, "metadata", Kind::Struct),
        many(7, "extensions", Kind::Text),
        many(8, "referenceTaskIds", Kind::Text),
    ],
};

pub(crate) const ARTIFACT: Message = Message {
    name: "Artifact",
    fields: &[
        one(1, "artifactId", Kind::Text),
        one(2, "name", Kind::Text),
        one(3, "description", Kind::Text),
        many(4, "parts", Kind::Message(&PART)),
        set(5, "metadata", Kind::Struct),
        many(6, "extensions", Kind::Text),
    ],
};

pub(crate) const TASK_STATUS_UPDATE_EVENT: Message = Message {
    name: "TaskStatusUpdateEvent",
    fields: &[
        one(1, "taskId", Kind::Text),
        one(2, "contextId", Kind::Text),
        set(3, "status", Kind::Message(&TASK_STATUS)),
        set(4, "metadata", Kind::Struct),
    ],
};

pub(crate) const TASK_ARTIFACT_UPDATE_EVENT: Message = Message {
    name: "TaskArtifactUpdateEvent",
    fields: &[
        one(1, "taskId", Kind::Text),
        one(2, "contextId", Kind::Text),
        set(3, "artifact", Kind::Message(&ARTIFACT)),
        one(4, "append", Kind::Flag),
        one(5, "lastChunk", Kind::Flag),
        set(6, "metadata", Kind::Struct),
    ],
};

pub(crate) const AUTHENTICATION_INFO: Message =
    Message { name: "AuthenticationInfo", fields: &[one(1, "scheme", Kind::Text), one(2, "credentials", Kind::Text)] };

pub(crate) const AGENT_INTERFACE: Message = Message {
    name: "AgentInterface",
    fields: &[
        one(1, "url", Kind::Text),
        one(2, "protocolBinding", Kind::Text),
        one(3, "tenant", Kind::Text),
        one(4, "protocolVersion", Kind::Text),
    ],
};

pub(crate) const AGENT_CARD: Message = Message {
    name: "AgentCard",
    fields: &[
        one(1, "name", Kind::Text),
        one(2, "description", Kind::Text),
        many(3, "supportedInterfaces", Kind::Message(&AGENT_INTERFACE)),
        set(4, "provider", Kind::Message(&AGENT_PROVIDER)),
        one(5, "version", Kind::Text),
        set(6, "documentationUrl", Kind::Text),
        set(7, "capabilities", Kind::Message(&AGENT_CAPABILITIES)),
        many(8, "securitySchemes", Kind::Map(&SECURITY_SCHEME)),
        many(9, "securityRequirements", Kind::Message(&SECURITY_REQUIREMENT)),
        many(10, "defaultInputModes", Kind::Text),
        many(11, "defaultOutputModes", Kind::Text),
        many(12, "skills", Kind::Message(&AGENT_SKILL)),
        many(13, "signatures", Kind::Message(&AGENT_CARD_SIGNATURE)),
        set(14, "iconUrl", Kind::Text),
    ],
};

pub(crate) const AGENT_PROVIDER: Message =
    Message { name: "AgentProvider", fields: &[one(1, "url", Kind::Text), one(2, "organization", Kind::Text)] };

pub(crate) const AGENT_CAPABILITIES: Message = Message {
    name: "AgentCapabilities",
    fields: &[
        set(1, "streaming", Kind::Flag),
        set(2, "pushNotifications", Kind::Flag),
        many(3, "extensions", Kind::Message(&AGENT_EXTENSION)),
        set(4, "extendedAgentCard", Kind::Flag),
    ],
};

pub(crate) const AGENT_EXTENSION: Message = Message {
    name: "AgentExtension",
    fields: &[
        one(1, "uri", Kind::Text),
        one(2, "description", Kind::Text),
        one(3, "required", Kind::Flag),
        set(4, "params", Kind::Struct),
    ],
};

pub(crate) const AGENT_SKILL: Message = Message {
    name: "AgentSkill",
    fields: &[
        one(1, "id", Kind::Text),
        one(2, "name", Kind::Text),
        one(3, "description", Kind::Text),
        many(4, "tags", Kind::Text),
        many(5, "examples", Kind::Text),
        many(6, "inputModes", Kind::Text),
        many(7, "outputModes", Kind::Text),
        many(8, "securityRequirements", Kind::Message(&SECURITY_REQUIREMENT)),
    ],
};

pub(crate) const AGENT_CARD_SIGNATURE: Message = Message {
    name: "AgentCardSignature",
    fields: &[one(1, "protected", Kind::Text), one(2, "signature", Kind::Text), set(3, "header", Kind::Struct)],
};

pub(crate) const TASK_PUSH_NOTIFICATION_CONFIG: Message = Message {
    name: "TaskPushNotificationConfig",
    fields: &[
        one(1, "tenant", Kind::Text),
        one(2, "id", Kind::Text),
        one(3, "taskId", Kind::Text),
        one(4, "url", Kind::Text),
        one(5, "token", Kind::Text),
        set(6, "authentication", Kind::Message(&AUTHENTICATION_INFO)),
    ],
};

pub(crate) const STRING_LIST: Message = Message { name: "StringList", fields: &[many(1, "list", Kind::Text)] };

pub(crate) const SECURITY_REQUIREMENT: Message =
    Message { name: "SecurityRequirement", fields: &[many(1, "schemes", Kind::Map(&STRING_LIST))] };

pub(crate) const SECURITY_SCHEME: Message = Message {
    name: "SecurityScheme",
    fields: &[
        set(1, "apiKeySecurityScheme", Kind::Message(&API_KEY_SECURITY_SCHEME)),
        set(2, "httpAuthSecurityScheme", Kind::Message(&HTTP_AUTH_SECURITY_SCHEME)),
        set(3, "oauth2SecurityScheme", Kind::Message(&O_AUTH2_SECURITY_SCHEME)),
        set(4, "openIdConnectSecurityScheme", Kind::Message(&OPEN_ID_CONNECT_SECURITY_SCHEME)),
        set(5, "mtlsSecurityScheme", Kind::Message(&MUTUAL_TLS_SECURITY_SCHEME)),
    ],
};

pub(crate) const API_KEY_SECURITY_SCHEME: Message = Message {
    name: "APIKeySecurityScheme",
    fields: &[one(1, "description", Kind::Text), one(2, "location", Kind::Text), one(3, "name", Kind::Text)],
};

pub(crate) const HTTP_AUTH_SECURITY_SCHEME: Message = Message {
    name: "HTTPAuthSecurityScheme",
    fields: &[one(1, "description", Kind::Text), one(2, "scheme", Kind::Text), one(3, "bearerFormat", Kind::Text)],
};

pub(crate) const O_AUTH2_SECURITY_SCHEME: Message = Message {
    name: "OAuth2SecurityScheme",
    fields: &[
        one(1, "description", Kind::Text),
        set(2, "flows", Kind::Message(&O_AUTH_FLOWS)),
        one(3, "oauth2MetadataUrl", Kind::Text),
    ],
};

pub(crate) const OPEN_ID_CONNECT_SECURITY_SCHEME: Message = Message {
    name: "OpenIdConnectSecurityScheme",
    fields: &[one(1, "description", Kind::Text), one(2, "openIdConnectUrl", Kind::Text)],
};

pub(crate) const MUTUAL_TLS_SECURITY_SCHEME: Message =
    Message { name: "MutualTlsSecurityScheme", fields: &[one(1, "description", Kind::Text)] };

pub(crate) const O_AUTH_FLOWS: Message = Message {
    name: "OAuthFlows",
    fields: &[
        set(1, "authorizationCode", Kind::Message(&AUTHORIZATION_CODE_O_AUTH_FLOW)),
        set(2, "clientCredentials", Kind::Message(&CLIENT_CREDENTIALS_O_AUTH_FLOW)),
        set(3, "implicit", Kind::Message(&IMPLICIT_O_AUTH_FLOW)),
        set(4, "password", Kind::Message(&PASSWORD_O_AUTH_FLOW)),
        set(5, "deviceCode", Kind::Message(&DEVICE_CODE_O_AUTH_FLOW)),
    ],
};

pub(crate) const AUTHORIZATION_CODE_O_AUTH_FLOW: Message = Message {
    name: "AuthorizationCodeOAuthFlow",
    fields: &[
        one(1, "authorizationUrl", Kind::Text),
        one(2, "tokenUrl", Kind::Text),
        one(3, "refreshUrl", Kind::Text),
        many(4, "scopes", Kind::Texts),
        one(5, "pkceRequired", Kind::Flag),
    ],
};

pub(crate) const CLIENT_CREDENTIALS_O_AUTH_FLOW: Message = Message {
    name: "ClientCredentialsOAuthFlow",
    fields: &[one(1, "tokenUrl", Kind::Text), one(2, "refreshUrl", Kind::Text), many(3, "scopes", Kind::Texts)],
};

pub(crate) const IMPLICIT_O_AUTH_FLOW: Message = Message {
    name: "ImplicitOAuthFlow",
    fields: &[one(1, "authorizationUrl", Kind::Text), one(2, "refreshUrl", Kind::Text), many(3, "scopes", Kind::Texts)],
};

pub(crate) const PASSWORD_O_AUTH_FLOW: Message = Message {
    name: "PasswordOAuthFlow",
    fields: &[one(1, "tokenUrl", Kind::Text), one(2, "refreshUrl", Kind::Text), many(3, "scopes", Kind::Texts)],
};

pub(crate) const DEVICE_CODE_O_AUTH_FLOW: Message = Message {
    name: "DeviceCodeOAuthFlow",
    fields: &[
        one(1, "deviceAuthorizationUrl", Kind::Text),
        one(2, "tokenUrl", Kind::Text),
        one(3, "refreshUrl", Kind::Text),
        many(4, "scopes", Kind::Texts),
    ],
};

pub(crate) const SEND_MESSAGE_REQUEST: Message = Message {
    name: "SendMessageRequest",
    fields: &[
        one(1, "tenant", Kind::Text),
        set(2, "message", Kind::Message(&MESSAGE)),
        set(3, "configuration", Kind::Message(&SEND_MESSAGE_CONFIGURATION)),
        set(4, "metadata", Kind::Struct),
    ],
};

pub(crate) const GET_TASK_REQUEST: Message = Message {
    name: "GetTaskRequest",
    fields: &[one(1, "tenant", Kind::Text), one(2, "id", Kind::Text), set(3, "historyLength", Kind::Whole)],
};

pub(crate) const LIST_TASKS_REQUEST: Message = Message {
    name: "ListTasksRequest",
    fields: &[
        one(1, "tenant", Kind::Text),
        one(2, "contextId", Kind::Text),
        one(3, "status", Kind::State),
        set(4, "pageSize", Kind::Whole),
        one(5, "pageToken", Kind::Text),
        set(6, "historyLength", Kind::Whole),
        set(7, "statusTimestampAfter", Kind::Timestamp),
        set(8, "includeArtifacts", Kind::Flag),
    ],
};

pub(crate) const LIST_TASKS_RESPONSE: Message = Message {
    name: "ListTasksResponse",
    fields: &[
        many(1, "tasks", Kind::Message(&TASK)),
        one(2, "nextPageToken", Kind::Text),
        one(3, "pageSize", Kind::Whole),
        one(4, "totalSize", Kind::Whole),
    ],
};

pub(crate) const CANCEL_TASK_REQUEST: Message = Message {
    name: "CancelTaskRequest",
    fields: &[one(1, "tenant", Kind::Text), one(2, "id", Kind::Text), set(3, "metadata", Kind::Struct)],
};

pub(crate) const GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Message = Message {
    name: "GetTaskPushNotificationConfigRequest",
    fields: &[one(1, "tenant", Kind::Text), one(2, "taskId", Kind::Text), one(3, "id", Kind::Text)],
};

pub(crate) const DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Message = Message {
    name: "DeleteTaskPushNotificationConfigRequest",
    fields: &[one(1, "tenant", Kind::Text), one(2, "taskId", Kind::Text), one(3, "id", Kind::Text)],
};

pub(crate) const SUBSCRIBE_TO_TASK_REQUEST: Message =
    Message { name: "SubscribeToTaskRequest", fields: &[one(1, "tenant", Kind::Text), one(2, "id", Kind::Text)] };

pub(crate) const LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST: Message = Message {
    name: "ListTaskPushNotificationConfigsRequest",
    fields: &[
        one(1, "taskId", Kind::Text),
        one(2, "pageSize", Kind::Whole),
        one(3, "pageToken", Kind::Text),
        one(4, "tenant", Kind::Text),
    ],
};

pub(crate) const GET_EXTENDED_AGENT_CARD_REQUEST: Message =
    Message { name: "GetExtendedAgentCardRequest", fields: &[one(1, "tenant", Kind::Text)] };

pub(crate) const SEND_MESSAGE_RESPONSE: Message = Message {
    name: "SendMessageResponse",
    fields: &[set(1, "task", Kind::Message(&TASK)), set(2, "message", Kind::Message(&MESSAGE))],
};

pub(crate) const STREAM_RESPONSE: Message = Message {
    name: "StreamResponse",
    fields: &[
        set(1, "task", Kind::Message(&TASK)),
        set(2, "message", Kind::Message(&MESSAGE)),
        set(3, "statusUpdate", Kind::Message(&TASK_STATUS_UPDATE_EVENT)),
        set(4, "artifactUpdate", Kind::Message(&TASK_ARTIFACT_UPDATE_EVENT)),
    ],
};

pub(crate) const LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE: Message = Message {
    name: "ListTaskPushNotificationConfigsResponse",
    fields: &[many(1, "configs", Kind::Message(&TASK_PUSH_NOTIFICATION_CONFIG)), one(2, "nextPageToken", Kind::Text)],
};

/// `google.protobuf.Empty`
pub(crate) const EMPTY: Message = Message { name: "Empty", fields: &[] };

/// `google.rpc.Status`; its details stay packed.
pub(crate) const STATUS: Message = Message {
    name: "Status",
    fields: &[one(1, "code", Kind::Whole), one(2, "message", Kind::Text), many(3, "details", Kind::Message(&ANY))],
};

/// `google.protobuf.Any`
pub(crate) const ANY: Message =
    Message { name: "Any", fields: &[one(1, "typeUrl", Kind::Text), one(2, "value", Kind::Bytes)] };

/// `google.rpc.ErrorInfo`
pub(crate) const ERROR_INFO: Message = Message {
    name: "ErrorInfo",
    fields: &[one(1, "reason", Kind::Text), one(2, "domain", Kind::Text), many(3, "metadata", Kind::Texts)],
};

/// `google.rpc.BadRequest`
pub(crate) const BAD_REQUEST: Message =
    Message { name: "BadRequest", fields: &[many(1, "fieldViolations", Kind::Message(&FIELD_VIOLATION))] };

const FIELD_VIOLATION: Message = Message {
    name: "FieldViolation",
    fields: &[one(1, "field", Kind::Text), one(2, "description", Kind::Text), one(3, "reason", Kind::Text)],
};
