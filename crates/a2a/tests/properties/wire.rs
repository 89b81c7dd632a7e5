//! Over a dialect: what the one side writes, and what the other makes of it.

use a2a::{
    Answer, Call, Dialect, Envelope, Event, OperationKind, Target, Voice,
    dialect::{
        AgentAddress, Colon, Minted, Outgoing, PathBody, R3Bytes, R3Objects, Received, RequestFacts, SubscribeVerb,
        VersionMode, decode_answer, decode_event, encode_call, target,
    },
};
use json::{Json, Limits, Object};

pub(crate) const MINTED: Minted<'static> = Minted { rpc_id: "rpc-1", message_id: "minted-1" };

pub(crate) fn read(bytes: &[u8]) -> Json {
    json::read(bytes, &Limits::default()).unwrap()
}

/// What a gateway or agent makes of a request that was written for an agent.
pub(crate) fn deliver(outgoing: &Outgoing) -> Call {
    let below = outgoing.url.strip_prefix("http://up.test/a").unwrap();
    let (path, query) = below.split_once('?').map_or((below, None), |(path, query)| (path, Some(query)));
    let rest: Vec<String> = path
        .split('/')
        .skip(1)
        .map(|segment| percent_encoding::percent_decode_str(segment).decode_utf8().unwrap().into_owned())
        .collect();
    let header = |name| outgoing.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let facts = RequestFacts {
        versions: header("a2a-version").into_iter().collect(),
        query,
        content_type: header("content-type"),
        user_agent: None,
        accept: None,
    };
    let target = target(&outgoing.method, &rest).unwrap();
    let body = outgoing.body.as_deref().unwrap_or_default();
    let envelope = Envelope::open(&target, &facts, VersionMode::Strict, body, &Limits::default()).unwrap();
    envelope.call().unwrap()
}

pub(crate) fn address(colon: Colon) -> AgentAddress {
    AgentAddress {
        base: "http://up.test/a".to_owned(),
        tenant: None,
        colon,
        path_body: PathBody::Envelope,
        r3_bytes: R3Bytes::Single,
        r3_objects: R3Objects::Proto,
    }
}

pub(crate) fn send(dialect: Dialect, call: &Call, colon: Colon) -> Option<Call> {
    let outgoing = encode_call(dialect, call, &address(colon), MINTED, SubscribeVerb::Post).ok()?;
    Some(deliver(&outgoing))
}

pub(crate) fn voice(dialect: Dialect) -> Voice {
    Voice { dialect, rpc_id: Json::from("rpc-1"), streaming: false, enveloped: true, ..Voice::unknown() }
}

pub(crate) fn reply(dialect: Dialect, kind: OperationKind, answer: Answer) -> Answer {
    let wire = voice(dialect).answer(kind, answer);
    let received = Received {
        status: wire.status,
        content_type: Some(wire.content_type),
        body: &wire.body,
        r3_bytes: R3Bytes::Single,
    };
    decode_answer(dialect, kind, "rpc-1", received, &Limits::default()).unwrap().unwrap()
}

pub(crate) fn tell(dialect: Dialect, event: Event) -> Event {
    let frame = String::from_utf8(voice(dialect).event(event)).unwrap();
    let data = frame.strip_prefix("data:").unwrap().trim();
    decode_event((dialect, R3Bytes::Single), "rpc-1", data.as_bytes(), None, &Limits::default()).unwrap().unwrap()
}

/// Puts an unknown member into every object that is not opaque, somewhere in the middle of the others.
pub(crate) fn sprinkle(json: Json) -> Json {
    match json {
        Json::Object(object) => {
            let mut out = Object::new();
            out.insert("xFirst", read(b"1.10"));
            for (key, value) in object {
                let opaque = matches!(key.as_str(), "metadata" | "data");
                out.insert(key, if opaque { value } else { sprinkle(value) });
            }
            out.insert("x_last", read(br#"{"Deep":[1e2,null]}"#));
            Json::Object(out)
        }
        Json::Array(elements) => Json::Array(elements.into_iter().map(sprinkle).collect()),
        leaf @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => leaf,
    }
}

pub(crate) fn rpc(method: &str, params: &Json) -> Json {
    Json::from([
        ("jsonrpc", Json::from("2.0")),
        ("id", "rpc-1".into()),
        ("method", method.into()),
        ("params", params.clone()),
    ])
}

pub(crate) fn receive(body: &Json, version: Option<&str>) -> Call {
    let facts = RequestFacts {
        versions: version.into_iter().collect(),
        query: None,
        content_type: Some("application/json"),
        user_agent: None,
        accept: None,
    };
    let body = json::write(body);
    Envelope::open(&Target::Rpc, &facts, VersionMode::Strict, &body, &Limits::default()).unwrap().call().unwrap()
}

/// Translation may reorder members; nothing else.
pub(crate) fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(object) => {
            let mut members: Vec<(String, Json)> =
                object.iter().map(|(key, value)| (key.to_owned(), sorted(value))).collect();
            members.sort_by(|(left, _), (right, _)| left.cmp(right));
            Json::Object(members.into_iter().collect())
        }
        Json::Array(elements) => Json::Array(elements.iter().map(sorted).collect()),
        leaf @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => leaf.clone(),
    }
}
