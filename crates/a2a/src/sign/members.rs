//! The members of an agent card in each generation, with their field presence: what a typed reader would see.
//!
//! From `a2a.proto` of A2A 1.0 and the JSON schema of 0.3. Tables alone; [`views`](super::views) walks them.

/// A member of a message.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) presence: Presence,
    pub(super) shape: Shape,
}

/// What an unset and a default value mean (A2A 1.0 §5.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Kept even if it is the default value.
    Required,
    /// Kept if it was set, even to the default value.
    Explicit,
    /// The default value is the same as nothing.
    Implicit,
    /// The value named is the same as nothing, other defaults are kept (0.3 models).
    Unless(&'static str),
}

/// What stands in a member.
#[derive(Debug)]
pub(super) enum Shape {
    /// A string, boolean, number, list of strings, map of strings, or free JSON: kept as it is.
    Plain,
    /// An object with known members.
    Message(&'static [Member]),
    /// A list of such objects.
    Messages(&'static [Member]),
    /// A map whose values are such objects.
    Map(&'static [Member]),
}

const fn member(name: &'static str, presence: Presence, shape: Shape) -> Member {
    Member { name, presence, shape }
}

use Presence::{Explicit, Implicit, Required, Unless};
use Shape::{Map, Message, Messages, Plain};

/// `lf.a2a.v1.AgentCard` without `signatures`.
pub(super) const V10: &[Member] = &[
    member("name", Required, Plain),
    member("description", Required, Plain),
    member("supportedInterfaces", Required, Messages(INTERFACE_V10)),
    member("provider", Explicit, Message(PROVIDER)),
    member("version", Required, Plain),
    member("documentationUrl", Explicit, Plain),
    member("capabilities", Required, Message(CAPABILITIES_V10)),
    member("securitySchemes", Implicit, Map(SCHEME_V10)),
    member("securityRequirements", Implicit, Messages(REQUIREMENT)),
    member("defaultInputModes", Required, Plain),
    member("defaultOutputModes", Required, Plain),
    member("skills", Required, Messages(SKILL_V10)),
    member("iconUrl", Explicit, Plain),
];

const INTERFACE_V10: &[Member] = &[
    member("url", Required, Plain),
    member("protocolBinding", Required, Plain),
    member("tenant", Implicit, Plain),
    member("protocolVersion", Required, Plain),
];

const PROVIDER: &[Member] = &[member("url", Required, Plain), member("organization", Required, Plain)];

const CAPABILITIES_V10: &[Member] = &[
    member("streaming", Explicit, Plain),
    member("pushNotifications", Explicit, Plain),
    member("extensions", Implicit, Messages(EXTENSION_V10)),
    member("extendedAgentCard", Explicit, Plain),
];

const EXTENSION_V10: &[Member] = &[
    member("uri", Implicit, Plain),
    member("description", Implicit, Plain),
    member("required", Implicit, Plain),
    member("params", Explicit, Plain),
];

const SKILL_V10: &[Member] = &[
    member("id", Required, Plain),
    member("name", Required, Plain),
    member("description", Required, Plain),
    member("tags", Required, Plain),
    member("examples", Implicit, Plain),
    member("inputModes", Implicit, Plain),
    member("outputModes", Implicit, Plain),
    member("securityRequirements", Implicit, Messages(REQUIREMENT)),
];

const REQUIREMENT: &[Member] = &[member("schemes", Implicit, Map(&[member("list", Implicit, Plain)]))];

const SCHEME_V10: &[Member] = &[
    member("apiKeySecurityScheme", Explicit, Message(API_KEY_V10)),
    member("httpAuthSecurityScheme", Explicit, Message(HTTP_AUTH_V10)),
    member("oauth2SecurityScheme", Explicit, Message(OAUTH2_V10)),
    member("openIdConnectSecurityScheme", Explicit, Message(OPEN_ID_V10)),
    member("mtlsSecurityScheme", Explicit, Message(&[member("description", Implicit, Plain)])),
];

const API_KEY_V10: &[Member] =
    &[member("description", Implicit, Plain), member("location", Required, Plain), member("name", Required, Plain)];

const HTTP_AUTH_V10: &[Member] = &[
    member("description", Implicit, Plain),
    member("scheme", Required, Plain),
    member("bearerFormat", Implicit, Plain),
];

const OAUTH2_V10: &[Member] = &[
    member("description", Implicit, Plain),
    member("flows", Required, Message(FLOWS_V10)),
    member("oauth2MetadataUrl", Implicit, Plain),
];

const OPEN_ID_V10: &[Member] = &[member("description", Implicit, Plain), member("openIdConnectUrl", Required, Plain)];

const FLOWS_V10: &[Member] = &[
    member("authorizationCode", Explicit, Message(CODE_FLOW_V10)),
    member("clientCredentials", Explicit, Message(CLIENT_FLOW)),
    member("implicit", Explicit, Message(OLD_FLOW_V10)),
    member("password", Explicit, Message(OLD_FLOW_V10)),
    member("deviceCode", Explicit, Message(DEVICE_FLOW_V10)),
];

const CODE_FLOW_V10: &[Member] = &[
    member("authorizationUrl", Required, Plain),
    member("tokenUrl", Required, Plain),
    member("refreshUrl", Implicit, Plain),
    member("scopes", Required, Plain),
    member("pkceRequired", Implicit, Plain),
];

const CLIENT_FLOW: &[Member] =
    &[member("tokenUrl", Required, Plain), member("refreshUrl", Implicit, Plain), member("scopes", Required, Plain)];

/// `implicit` has no token URL and `password` no authorization URL; a card that mixes them is read all the same.
const OLD_FLOW_V10: &[Member] = &[
    member("authorizationUrl", Implicit, Plain),
    member("tokenUrl", Implicit, Plain),
    member("refreshUrl", Implicit, Plain),
    member("scopes", Implicit, Plain),
];

const DEVICE_FLOW_V10: &[Member] = &[
    member("deviceAuthorizationUrl", Required, Plain),
    member("tokenUrl", Required, Plain),
    member("refreshUrl", Implicit, Plain),
    member("scopes", Required, Plain),
];

/// The `AgentCard` of 0.3 without `signatures`. Its reader keeps every value that differs from the model's default;
/// empties are pruned afterwards.
pub(super) const V03: &[Member] = &[
    member("name", Explicit, Plain),
    member("description", Explicit, Plain),
    member("url", Explicit, Plain),
    member("preferredTransport", Unless("JSONRPC"), Plain),
    member("additionalInterfaces", Explicit, Messages(INTERFACE_V03)),
    member("protocolVersion", Unless("0.3.0"), Plain),
    member("provider", Explicit, Message(PROVIDER)),
    member("version", Explicit, Plain),
    member("documentationUrl", Explicit, Plain),
    member("iconUrl", Explicit, Plain),
    member("capabilities", Explicit, Message(CAPABILITIES_V03)),
    member("supportsAuthenticatedExtendedCard", Explicit, Plain),
    member("securitySchemes", Explicit, Map(SCHEME_V03)),
    member("security", Explicit, Plain),
    member("defaultInputModes", Explicit, Plain),
    member("defaultOutputModes", Explicit, Plain),
    member("skills", Explicit, Messages(SKILL_V03)),
];

const INTERFACE_V03: &[Member] = &[member("url", Explicit, Plain), member("transport", Explicit, Plain)];

const CAPABILITIES_V03: &[Member] = &[
    member("streaming", Explicit, Plain),
    member("pushNotifications", Explicit, Plain),
    member("stateTransitionHistory", Explicit, Plain),
    member("extensions", Explicit, Messages(EXTENSION_V03)),
];

const EXTENSION_V03: &[Member] = &[
    member("uri", Explicit, Plain),
    member("description", Explicit, Plain),
    member("required", Explicit, Plain),
    member("params", Explicit, Plain),
];

const SKILL_V03: &[Member] = &[
    member("id", Explicit, Plain),
    member("name", Explicit, Plain),
    member("description", Explicit, Plain),
    member("tags", Explicit, Plain),
    member("examples", Explicit, Plain),
    member("inputModes", Explicit, Plain),
    member("outputModes", Explicit, Plain),
    member("security", Explicit, Plain),
];

/// All five schemes in one: `type`, which tells them apart, is a default of each model and so never signed.
const SCHEME_V03: &[Member] = &[
    member("description", Explicit, Plain),
    member("in", Explicit, Plain),
    member("name", Explicit, Plain),
    member("scheme", Explicit, Plain),
    member("bearerFormat", Explicit, Plain),
    member("flows", Explicit, Message(FLOWS_V03)),
    member("oauth2MetadataUrl", Explicit, Plain),
    member("openIdConnectUrl", Explicit, Plain),
];

const FLOWS_V03: &[Member] = &[
    member("authorizationCode", Explicit, Message(FLOW_V03)),
    member("clientCredentials", Explicit, Message(FLOW_V03)),
    member("implicit", Explicit, Message(FLOW_V03)),
    member("password", Explicit, Message(FLOW_V03)),
];

const FLOW_V03: &[Member] = &[
    member("authorizationUrl", Explicit, Plain),
    member("tokenUrl", Explicit, Plain),
    member("refreshUrl", Explicit, Plain),
    member("scopes", Explicit, Plain),
];
