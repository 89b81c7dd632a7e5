//! Asking an agent what it really speaks, without side effects.
//!
//! A card can't say `path_rpc`, often names no version, and never says how the agent spells the colon. So each
//! interface is asked for a task that can't exist (an A2A error is proof of the dialect), and each spelling of the
//! colon is tried with verbs that start no work (product.md D2, §7). Nothing here ever sends a message.

use a2a::dialect::{
    AgentAddress, Colon, Minted, PathBody, R3Bytes, R3Objects, Received, SubscribeVerb, Version, decode_answer,
    encode_call,
};
use a2a::grpc::Status;
use a2a::{Call, Dialect, FaultKind, OperationKind};
use bytes::Bytes;
use egress::Client;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);
const ANSWER_BYTES: usize = 64 * 1024;

/// What an agent answered to one probe.
struct Seen {
    status: StatusCode,
    /// Trailers included.
    headers: HeaderMap,
    body: Bytes,
}

/// Whether an interface speaks a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    /// An A2A answer in that dialect; in HTTP+JSON of 0.3, the habit its form gives away.
    Yes(R3Bytes),
    /// It wants to know who asks first.
    Locked(StatusCode),
    /// Something else, with this status; nothing at all.
    No(Option<StatusCode>),
}

/// Asks for a task that can't exist.
pub(super) async fn speaks(agents: &Client, dialect: Dialect, base: &str, colon: Colon, id: &str) -> Speaks {
    let call = Call { kind: OperationKind::GetTask, params: json::Object::from([("id", id)]), origin: Version::V10 };
    let minted = Minted { rpc_id: id, message_id: id };
    let Ok(outgoing) = encode_call(dialect, &call, &address(base, colon), minted, SubscribeVerb::Post) else {
        return Speaks::No(None);
    };
    let headers: Vec<(&str, &str)> = outgoing.headers.iter().map(|(name, value)| (*name, *value)).collect();
    let Some(seen) = ask(agents, outgoing.method, &outgoing.url, &headers, outgoing.body).await else {
        return Speaks::No(None);
    };
    if matches!(seen.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Speaks::Locked(seen.status);
    }
    let received = Received {
        status: seen.status.as_u16(),
        content_type: seen.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()),
        body: &seen.body,
        r3_bytes: R3Bytes::Auto,
    };
    match decode_answer(dialect, call.kind, id, received, &json::Limits::default()) {
        // The method or the version is unknown there: A2A perhaps, but not this dialect.
        Ok(Err(fault)) if matches!(fault.kind, FaultKind::MethodNotFound | FaultKind::VersionNotSupported) => {
            Speaks::No(Some(seen.status))
        }
        Ok(_) => Speaks::Yes(habit(dialect, &seen.body)),
        Err(_) => Speaks::No(Some(seen.status)),
    }
}

/// How the agent puts files into HTTP+JSON of 0.3, told by its error for an unknown task: the Python SDKs say
/// `{"message"}` alone, or a `google.rpc.Status` that 0.3 never had, and encode files twice (protocol 8 #4).
fn habit(dialect: Dialect, body: &[u8]) -> R3Bytes {
    let Ok(body) = json::read(body, &json::Limits::default()) else { return R3Bytes::Auto };
    let alone = body.as_object().is_some_and(|object| object.len() == 1 && object.str("message").is_some());
    let status = body.pointer("/error/status").is_some();
    if dialect == Dialect::R3 && (alone || status) { R3Bytes::Double } else { R3Bytes::Auto }
}

/// The same over gRPC, where the status is the answer.
pub(super) async fn speaks_grpc(grpc: &Client, base: &str, tenant: Option<&str>, id: &str) -> Speaks {
    let call = Call { kind: OperationKind::GetTask, params: json::Object::from([("id", id)]), origin: Version::V10 };
    let minted = Minted { rpc_id: id, message_id: id };
    let address = AgentAddress { tenant: tenant.map(str::to_owned), ..address(base, Colon::Percent) };
    let Ok(outgoing) = encode_call(Dialect::G1, &call, &address, minted, SubscribeVerb::Post) else {
        return Speaks::No(None);
    };
    let headers: Vec<(&str, &str)> = outgoing.headers.iter().map(|(name, value)| (*name, *value)).collect();
    let Some(seen) = ask(grpc, outgoing.method, &outgoing.url, &headers, outgoing.body).await else {
        return Speaks::No(None);
    };
    let Some(status) = Status::read(&seen.headers) else { return Speaks::No(Some(seen.status)) };
    match status.fault(call.kind).map(|fault| fault.kind) {
        Ok(FaultKind::UpstreamAuthFailed) => Speaks::Locked(StatusCode::UNAUTHORIZED),
        // No such service there.
        Ok(FaultKind::UnsupportedOperation) | Err(_) => Speaks::No(Some(seen.status)),
        Ok(_) => Speaks::Yes(R3Bytes::Auto),
    }
}

/// Which spellings of the colon an agent's paths understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colons {
    /// `message%3Asend`
    pub percent: bool,
    /// `message:send`
    pub literal: bool,
}

impl Colons {
    /// The spelling to use: literal only where only literal answers (product.md §7).
    pub(super) fn choice(self) -> Colon {
        if self.literal && !self.percent { Colon::Literal } else { Colon::Percent }
    }

    /// What was found, for people.
    pub(super) fn evidence(self) -> &'static str {
        match (self.percent, self.literal) {
            (true, true) => "both spellings answer; percent-encoded is used",
            (true, false) => "only the percent-encoded colon answers",
            (false, true) => "only the literal colon answers",
            (false, false) => "neither spelling answered a probe; percent-encoded is used until you set upstream.colon",
        }
    }
}

/// Tries both spellings with verbs that start no work.
pub(super) async fn colons(agents: &Client, dialect: Dialect, base: &str, id: &str) -> Colons {
    let old = dialect == Dialect::R3;
    let base = if old && !base.ends_with("/v1") { format!("{base}/v1") } else { base.to_owned() };
    let version: &[(&str, &str)] = if old { &[] } else { &[("a2a-version", "1.0")] };
    let percent = answers(agents, (&base, version), "%3A", id).await;
    Colons { percent, literal: answers(agents, (&base, version), ":", id).await }
}

/// Evidence that `message{colon}send` is a route: 2xx with `Allow`, 405, or an A2A error.
async fn answers(agents: &Client, (base, version): (&str, &[(&str, &str)]), colon: &str, id: &str) -> bool {
    let send = format!("{base}/message{colon}send");
    for method in [Method::OPTIONS, Method::GET] {
        if let Some(seen) = ask(agents, method, &send, version, None).await
            && is_evidence(&seen)
        {
            return true;
        }
    }
    let cancel = format!("{base}/tasks/{id}{colon}cancel");
    let headers = [version, &[("content-type", "application/json")]].concat();
    ask(agents, Method::POST, &cancel, &headers, Some(b"{}".to_vec())).await.is_some_and(|seen| is_a2a_error(&seen))
}

fn is_evidence(seen: &Seen) -> bool {
    seen.status == StatusCode::METHOD_NOT_ALLOWED
        || (seen.status.is_success() && seen.headers.contains_key(http::header::ALLOW))
        || is_a2a_error(seen)
}

/// An error body that only A2A has: a JSON-RPC error, or a status with a reason of the A2A domain, or a JSON-RPC code
/// alone as HTTP+JSON of 0.3 tells it.
fn is_a2a_error(seen: &Seen) -> bool {
    let Ok(body) = json::read(&seen.body, &json::Limits::default()) else { return false };
    let code = body.get("code").and_then(json::Json::as_number).and_then(json::Number::as_i64);
    if code.is_some_and(|code| (-32768..=-32000).contains(&code)) && body.get("message").is_some() {
        return true;
    }
    let Some(error) = body.get("error") else { return false };
    let rpc = body.get("jsonrpc").is_some() && error.get("code").is_some();
    let details = error.get("details").and_then(json::Json::as_array).unwrap_or_default();
    rpc || details.iter().any(|detail| detail.get("domain").and_then(json::Json::as_str) == Some("a2a-protocol.org"))
}

fn address(base: &str, colon: Colon) -> AgentAddress {
    AgentAddress {
        base: base.to_owned(),
        tenant: None,
        colon,
        path_body: PathBody::Envelope,
        r3_bytes: R3Bytes::Auto,
        r3_objects: R3Objects::Proto,
    }
}

async fn ask(
    agents: &Client,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<Vec<u8>>,
) -> Option<Seen> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Bytes::from(body.unwrap_or_default())).ok()?;
    let response = agents.request_within(request, PATIENCE).await.ok()?;
    let (head, body) = response.into_parts();
    let body = tokio::time::timeout(PATIENCE, Limited::new(body, ANSWER_BYTES).collect()).await.ok()?.ok()?;
    let mut headers = head.headers;
    headers.extend(body.trailers().cloned().unwrap_or_default());
    Some(Seen { status: head.status, headers, body: body.to_bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_is_chosen_only_when_nothing_else_answers() {
        let choice = |percent, literal| Colons { percent, literal }.choice();
        assert_eq!(choice(true, true), Colon::Percent);
        assert_eq!(choice(false, true), Colon::Literal);
        assert_eq!(choice(true, false), Colon::Percent);
        assert_eq!(choice(false, false), Colon::Percent);
    }
}
