//! The refusals that callers meet here, as the tables of errors have them (A2A 1.0 §5.4, protocol 3.4).

use crate::tongue::Refusal;

pub(crate) const UNSUPPORTED: Refusal = Refusal {
    code: -32004,
    rpc: 200,
    http: (400, "FAILED_PRECONDITION"),
    grpc: 9,
    reason: "UNSUPPORTED_OPERATION",
    name: "UnsupportedOperationError",
    text: "this operation is not supported",
};

pub(crate) const NO_PUSH: Refusal = Refusal {
    code: -32003,
    rpc: 200,
    http: (400, "FAILED_PRECONDITION"),
    grpc: 9,
    reason: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    name: "PushNotificationNotSupportedError",
    text: "push notifications are not supported",
};

pub(crate) const NO_METHOD: Refusal = Refusal {
    code: -32601,
    rpc: 200,
    http: (404, "NOT_FOUND"),
    grpc: 5,
    reason: "METHOD_NOT_FOUND",
    name: "MethodNotFoundError",
    text: "no such method",
};

pub(crate) const NO_TASK: Refusal = Refusal {
    code: -32001,
    rpc: 200,
    http: (404, "NOT_FOUND"),
    grpc: 5,
    reason: "TASK_NOT_FOUND",
    name: "TaskNotFoundError",
    text: "task not found",
};

pub(crate) const BLOCKED: Refusal = Refusal {
    code: -32042,
    rpc: 200,
    http: (403, "PERMISSION_DENIED"),
    grpc: 7,
    reason: "GUARDRAIL_BLOCKED",
    name: "GuardrailBlockedError",
    text: "blocked by a guardrail",
};

pub(crate) const UNAVAILABLE: Refusal = Refusal {
    code: -32044,
    rpc: 200,
    http: (502, "UNAVAILABLE"),
    grpc: 14,
    reason: "UPSTREAM_UNAVAILABLE",
    name: "UpstreamUnavailableError",
    text: "the agent cannot be reached",
};

pub(crate) const TIMEOUT: Refusal = Refusal {
    code: -32045,
    rpc: 200,
    http: (504, "DEADLINE_EXCEEDED"),
    grpc: 4,
    reason: "UPSTREAM_TIMEOUT",
    name: "UpstreamTimeoutError",
    text: "the agent did not answer in time; the task may still run",
};

pub(crate) const BAD_ANSWER: Refusal = Refusal {
    code: -32006,
    rpc: 200,
    http: (500, "INTERNAL"),
    grpc: 13,
    reason: "INVALID_AGENT_RESPONSE",
    name: "InvalidAgentResponseError",
    text: "the agent's answer is not valid",
};

pub(crate) const PARSE: Refusal = Refusal {
    code: -32700,
    rpc: 200,
    http: (400, "INVALID_ARGUMENT"),
    grpc: 3,
    reason: "INVALID_REQUEST",
    name: "JSONParseError",
    text: "the body is not valid JSON",
};

pub(crate) const BAD_PARAMS: Refusal = Refusal {
    code: -32602,
    rpc: 200,
    http: (400, "INVALID_ARGUMENT"),
    grpc: 3,
    reason: "INVALID_PARAMS",
    name: "InvalidParamsError",
    text: "the parameters are not valid",
};

pub(crate) const BAD_MEDIA: Refusal = Refusal {
    code: -32005,
    rpc: 415,
    http: (415, "INVALID_ARGUMENT"),
    grpc: 3,
    reason: "CONTENT_TYPE_NOT_SUPPORTED",
    name: "ContentTypeNotSupportedError",
    text: "send the body as application/json or application/a2a+json",
};

pub(crate) const INTERNAL: Refusal = Refusal {
    code: -32603,
    rpc: 200,
    http: (500, "INTERNAL"),
    grpc: 13,
    reason: "INTERNAL_ERROR",
    name: "InternalError",
    text: "internal error",
};

pub(crate) const NOT_CANCELABLE: Refusal = Refusal {
    code: -32002,
    rpc: 200,
    http: (400, "FAILED_PRECONDITION"),
    grpc: 9,
    reason: "TASK_NOT_CANCELABLE",
    name: "TaskNotCancelableError",
    text: "the task cannot be cancelled any more",
};

pub(crate) const NO_CARD: Refusal = Refusal {
    code: -32007,
    rpc: 200,
    http: (400, "FAILED_PRECONDITION"),
    grpc: 9,
    reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    name: "ExtendedAgentCardNotConfiguredError",
    text: "there is no extended agent card",
};

pub(crate) const NO_EXTENSION: Refusal = Refusal {
    code: -32008,
    rpc: 200,
    http: (400, "FAILED_PRECONDITION"),
    grpc: 9,
    reason: "EXTENSION_SUPPORT_REQUIRED",
    name: "ExtensionSupportRequiredError",
    text: "an extension is required",
};

pub(crate) const NO_VERSION: Refusal = Refusal {
    code: -32009,
    rpc: 200,
    http: (400, "FAILED_PRECONDITION"),
    grpc: 9,
    reason: "VERSION_NOT_SUPPORTED",
    name: "VersionNotSupportedError",
    text: "this A2A version is not supported",
};

pub(crate) const NO_CONTENT: Refusal = Refusal {
    code: -32005,
    rpc: 200,
    http: (400, "INVALID_ARGUMENT"),
    grpc: 3,
    reason: "CONTENT_TYPE_NOT_SUPPORTED",
    name: "ContentTypeNotSupportedError",
    text: "this media type is not supported",
};

/// The errors that an agent may tell (A2A 1.0 §5.4), and two of JSON-RPC.
pub(crate) const ALL: [Refusal; 11] = [
    NO_TASK,
    NOT_CANCELABLE,
    NO_PUSH,
    UNSUPPORTED,
    NO_CONTENT,
    BAD_ANSWER,
    NO_CARD,
    NO_EXTENSION,
    NO_VERSION,
    BAD_PARAMS,
    INTERNAL,
];
