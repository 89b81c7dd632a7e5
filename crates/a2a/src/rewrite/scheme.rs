//! The gateway's ways to authenticate, as a card tells them to both generations at once.
//!
//! Each scheme is one object with the flat members of 0.3 and the oneof member of 1.0, saying the same; `type` is in
//! every one, because the JavaScript SDK decides by the first.

use json::{Json, Object};

use super::{Scheme, SchemeKind};

/// `securitySchemes`.
pub(super) fn schemes(security: &[Scheme]) -> Object {
    security.iter().map(|scheme| (scheme.name.as_str(), scheme.object())).collect()
}

/// `securityRequirements` (1.0): any one of the schemes.
pub(super) fn requirements_v10(security: &[Scheme]) -> Vec<Json> {
    let requirement = |scheme: &Scheme| {
        let scopes = Json::from([("list", vec![Json::from(scheme.scope.as_str())])]);
        Json::from([("schemes", Json::from([(scheme.name.as_str(), scopes)]))])
    };
    security.iter().map(requirement).collect()
}

/// `security` (0.3): the same.
pub(super) fn requirements_v03(security: &[Scheme]) -> Vec<Json> {
    let requirement = |scheme: &Scheme| Json::from([(scheme.name.as_str(), vec![Json::from(scheme.scope.as_str())])]);
    security.iter().map(requirement).collect()
}

impl Scheme {
    /// The members of both generations.
    fn object(&self) -> Object {
        let (kind, member) = self.kind.names();
        let mut object = Object::from([("type", kind)]);
        let v10 = self.v10();
        for (key, value) in v10.iter() {
            // `location` of 1.0 is `in` of 0.3; everything else has one name.
            object.insert(if key == "location" { "in" } else { key }, value.clone());
        }
        object.insert(member, v10);
        object
    }

    /// The content of the oneof member.
    fn v10(&self) -> Object {
        match &self.kind {
            SchemeKind::ApiKey { header } => Object::from([("location", "header"), ("name", header)]),
            SchemeKind::Bearer { format } => {
                let mut object = Object::from([("scheme", "Bearer")]);
                if let Some(format) = format {
                    object.insert("bearerFormat", format.as_str());
                }
                object
            }
            SchemeKind::ClientCredentials { token_url } => {
                let scopes = Json::from([(self.scope.as_str(), "Call this agent")]);
                let flow = Json::from([("tokenUrl", Json::from(token_url.as_str())), ("scopes", scopes)]);
                Object::from([("flows", Json::from([("clientCredentials", flow)]))])
            }
            // Without a description the empty object would be pruned away.
            SchemeKind::MutualTls => Object::from([("description", "A client certificate is required")]),
            SchemeKind::OpenIdConnect { url } => Object::from([("openIdConnectUrl", url.as_str())]),
        }
    }
}

impl SchemeKind {
    /// `type` of 0.3, and the oneof member of 1.0.
    const fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::ApiKey { .. } => ("apiKey", "apiKeySecurityScheme"),
            Self::Bearer { .. } => ("http", "httpAuthSecurityScheme"),
            Self::ClientCredentials { .. } => ("oauth2", "oauth2SecurityScheme"),
            Self::MutualTls => ("mutualTLS", "mtlsSecurityScheme"),
            Self::OpenIdConnect { .. } => ("openIdConnect", "openIdConnectSecurityScheme"),
        }
    }
}
