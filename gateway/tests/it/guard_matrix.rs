//! T-GRD-1: a canary in every place of every operation, in every dialect, in both directions, is found.
//!
//! The places come from the protocol's own tables (`a2a::shape::sample`), so a member added there is looked at here. Each
//! tree is written as a peer would write it, read as the gateway reads it, and inspected. What a dialect cannot say is
//! counted apart; what arrives and is not found fails the test.

use crate::rig::policy;
use a2a::dialect::{AgentAddress, ErrorMedia, Minted, PathBody, R3Bytes, R3Objects, Received, RequestFacts};
use a2a::dialect::{Colon, SubscribeVerb, VersionMode, decode_answer, decode_event, encode_call, target};
use a2a::shape::sample::{Half, Planted, planted};
use a2a::{Answer, Call, Dialect, Envelope, Event, OperationKind, Version, Voice, grpc};
use guard::{Pipeline, Surface};
use json::{Json, Limits, Object};
use std::collections::BTreeMap;

const CANARY: &str = "canary7f3a";
/// The same as a file: `a canary7f3a sings`.
const FILE: &str = "YSBjYW5hcnk3ZjNhIHNpbmdz";

/// What became of the places of one cell.
#[derive(Debug, Default)]
struct Cell {
    found: usize,
    /// Trees that arrived at all.
    arrived: usize,
    /// Members of the operation's own: not the tenant, which the path decides, nor one that nobody knows.
    own: usize,
    /// The dialect has no words for it, or the reader refuses it.
    unsaid: usize,
    missed: Vec<String>,
}

#[test]
fn a_canary_is_found_wherever_it_can_be_written() {
    let document = format!(
        r#"{{"surfaces":["a2a_inbound","a2a_outbound"],"detectors":[{{"id":"words","words":["{CANARY}"],"whole_word":false,"action":"block"}}]}}"#
    );
    let guard = policy(&document);
    let mut cells: BTreeMap<(&str, &str, &str), Cell> = BTreeMap::new();
    for kind in OperationKind::ALL {
        for dialect in Dialect::ALL {
            for place in planted(kind, Half::Asked, CANARY, FILE) {
                let cell = cells.entry((kind.name(), dialect.name(), "asked")).or_default();
                cell.count(&place, asked(kind, dialect, &place.tree), &guard, Surface::Inbound);
            }
            for place in planted(kind, Half::Answered, CANARY, FILE) {
                let cell = cells.entry((kind.name(), dialect.name(), "answered")).or_default();
                cell.count(&place, answered(kind, dialect, &place.tree), &guard, Surface::Outbound);
            }
        }
    }
    let (mut found, mut unsaid, mut mute) = (0, 0, Vec::new());
    for ((kind, dialect, half), cell) in &cells {
        println!("{kind:<22} {dialect:<14} {half:<9} {:>4} found, {:>3} unsaid", cell.found, cell.unsaid);
        assert!(cell.missed.is_empty(), "{kind} {dialect} {half}: {:?}", cell.missed);
        if cell.found == 0 {
            assert!(cell.own == 0 || cell.arrived == 0, "{kind} {dialect} {half}: arrives, and no canary with it");
            mute.push(format!("{kind} {dialect} {half}"));
        }
        found += cell.found;
        unsaid += cell.unsaid;
    }
    println!("{found} canaries found in {} cells, 0 missed; {unsaid} that the dialect cannot say", cells.len());
    println!("no words for: {}", mute.join(", "));
    assert!(found > 4_000 && mute.len() < cells.len() / 4, "{found}");
}

impl Cell {
    fn count(&mut self, place: &Planted, arrived: Option<Json>, guard: &Pipeline, surface: Surface) {
        self.own += usize::from(!matches!(place.place.as_str(), "/tenant" | "/x-unknown"));
        self.arrived += usize::from(arrived.is_some());
        let Some(mut tree) = arrived.filter(holds) else {
            self.unsaid += 1;
            return;
        };
        let verdict = guard.inspect(surface, &mut tree, &a2a::structural);
        if verdict.blocked_by().is_some() {
            self.found += 1;
        } else {
            self.missed.push(place.place.clone());
        }
    }
}

fn holds(tree: &Json) -> bool {
    let written = String::from_utf8(json::write(tree)).unwrap();
    written.contains(CANARY) || written.contains(FILE)
}

/// The parameters as they arrive from a caller that speaks the dialect.
fn asked(kind: OperationKind, dialect: Dialect, tree: &Json) -> Option<Json> {
    let params = tree.as_object()?.clone();
    let call = Call { kind, params, origin: Version::V10 };
    let address = AgentAddress {
        base: "http://gw.test/a2a/acme/echo".to_owned(),
        tenant: None,
        colon: Colon::Literal,
        path_body: PathBody::Envelope,
        r3_bytes: R3Bytes::Single,
        r3_objects: R3Objects::Proto,
    };
    let minted = Minted { rpc_id: "1", message_id: "m1" };
    let outgoing = encode_call(dialect, &call, &address, minted, SubscribeVerb::Post).ok()?;
    let header = |name: &str| outgoing.headers.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
    let below = outgoing.url.strip_prefix(&address.base)?;
    let (path, query) = below.split_once('?').map_or((below, None), |(path, query)| (path, Some(query)));
    let target = if dialect == Dialect::G1 {
        grpc::target(&outgoing.method, path)?.ok()?
    } else {
        let segments: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
        target(&outgoing.method, &segments).ok()?
    };
    let facts = RequestFacts {
        versions: header("a2a-version").into_iter().collect(),
        query,
        content_type: header("content-type"),
        user_agent: None,
        accept: None,
    };
    let body = outgoing.body.unwrap_or_default();
    let envelope = Envelope::open(&target, &facts, VersionMode::Lenient, &body, &Limits::default()).ok()?;
    envelope.call().ok().map(|call| Json::Object(call.params))
}

/// The result as it arrives from an agent that speaks the dialect.
fn answered(kind: OperationKind, dialect: Dialect, tree: &Json) -> Option<Json> {
    let voice = Voice {
        dialect,
        rpc_id: Json::from("1"),
        streaming: kind.is_streaming(),
        enveloped: true,
        r3_bytes: R3Bytes::Single,
        errors: ErrorMedia::A2aJson,
    };
    let body = tree.clone();
    if kind.is_streaming() {
        let frame = voice.event(Event { body, origin: Version::V10 });
        if dialect == Dialect::G1 {
            return Some(grpc::decode_event(grpc::one(&frame).ok()?, &Limits::default()).ok()?.body);
        }
        let frame = String::from_utf8(frame).unwrap();
        let data: String = frame.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let event = decode_event((dialect, R3Bytes::Single), "1", data.as_bytes(), None, &Limits::default());
        return Some(event.ok()?.ok()?.body);
    }
    let wire = voice.answer(kind, Answer { body, origin: Version::V10 });
    if dialect == Dialect::G1 {
        return Some(grpc::decode_answer(kind, grpc::one(&wire.body).ok()?, &Limits::default()).ok()?.body);
    }
    let received = Received {
        status: wire.status,
        content_type: Some(wire.content_type),
        body: &wire.body,
        r3_bytes: R3Bytes::Single,
    };
    Some(decode_answer(dialect, kind, "1", received, &Limits::default()).ok()?.ok()?.body)
}

/// An agent's error: its text, its facts, its details and their keys.
#[test]
fn a_canary_is_found_in_every_member_of_an_error() {
    let guard = policy(&format!(
        r#"{{"surfaces":["a2a_outbound"],"detectors":[{{"id":"words","words":["{CANARY}"],"whole_word":false,"action":"block"}}]}}"#
    ));
    for tree in [
        Json::from([("message", CANARY)]),
        Json::from([("metadata", Json::from([("k", CANARY)]))]),
        Json::from([("metadata", Json::from([(CANARY, "v")]))]),
        Json::from([("data", Json::from(vec![Json::from([("k", CANARY)])]))]),
        Json::from([("data", Json::Object(Object::from([(CANARY, Json::from(1_i64))])))]),
    ] {
        let mut tree = tree;
        assert!(guard.inspect(Surface::Outbound, &mut tree, &|_| false).blocked_by().is_some(), "{tree:?}");
    }
}
