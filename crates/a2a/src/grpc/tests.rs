//! Tables against the specification, messages against those of the official SDK, round trips, framing, statuses.

use json::{Json, Limits, Object};
use proptest::{collection::vec, option, prelude::*};

use super::{
    Frames, Status, card_name,
    frame::{FrameError, framed, one},
    proto::{ProtoError, put_bytes, put_double, put_varint},
    read::{self, ReadError},
    schema::{self, Field, Kind, Label, Message},
    timeout, timeout_value, trailers, write,
};
use crate::{
    Call, Dialect, Envelope, Event, Fault, FaultKind, OperationKind, Target, Version, Voice,
    dialect::{
        AgentAddress, Colon, Minted, PathBody, R3Bytes, R3Objects, RequestFacts, SubscribeVerb, VersionMode,
        encode_call,
    },
};

const SPECIFICATION: &str = include_str!("../../tests/vectors/grpc/a2a-v1.0.proto");
const MESSAGES: &str = include_str!("../../tests/vectors/grpc/python-1.3.json");

fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: &u8| u8::try_from(char::from(*byte).to_digit(16).unwrap()).unwrap();
    text.as_bytes().chunks(2).map(|pair| digit(&pair[0]) * 16 + digit(&pair[1])).collect()
}

fn read_as(message: &Message, bytes: &[u8]) -> Result<Object, ReadError> {
    read::message(bytes, message, &Limits::default())
}

fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(object) => {
            let mut members: Vec<(String, Json)> =
                object.iter().map(|(key, value)| (key.to_owned(), sorted(value))).collect();
            members.sort_by(|(left, _), (right, _)| left.cmp(right));
            Json::Object(members.into_iter().collect())
        }
        Json::Array(elements) => Json::Array(elements.iter().map(sorted).collect()),
        Json::Number(number) => json::Number::from_f64(number.as_f64()).unwrap().into(),
        leaf @ (Json::Null | Json::Bool(_) | Json::String(_)) => leaf.clone(),
    }
}

// ---- tables ------------------------------------------------------------------------------------------------------

/// One field as the specification writes it: `optional int32 page_size = 4` or `map<string, StringList> schemes = 1`.
fn declared(field: &Field, in_oneof: bool) -> String {
    let kind = match field.kind {
        Kind::Text => "string".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        Kind::Flag => "bool".to_owned(),
        Kind::Whole => "int32".to_owned(),
        Kind::State => "TaskState".to_owned(),
        Kind::Role => "Role".to_owned(),
        Kind::Struct => "google.protobuf.Struct".to_owned(),
        Kind::Value => "google.protobuf.Value".to_owned(),
        Kind::Timestamp => "google.protobuf.Timestamp".to_owned(),
        Kind::Message(message) => message.name.to_owned(),
        Kind::Texts => "map<string, string>".to_owned(),
        Kind::Map(message) => format!("map<string, {}>", message.name),
    };
    let is_message = matches!(field.kind, Kind::Struct | Kind::Value | Kind::Timestamp | Kind::Message(_));
    let label = match field.label {
        Label::Repeated if !field.kind.is_map() => "repeated ",
        Label::Present if !is_message && !in_oneof => "optional ",
        Label::Plain | Label::Present | Label::Repeated => "",
    };
    let name = field.json.chars().fold(String::new(), |mut name, letter| {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
        name
    });
    format!("{label}{kind} {name} = {}", field.number)
}

#[test]
fn the_tables_are_the_ones_of_the_specification() {
    let text: String =
        SPECIFICATION.lines().map(|line| line.split("//").next().unwrap().trim()).collect::<Vec<_>>().join("\n");
    let mut found = 0;
    for block in text.split("\nmessage ").skip(1) {
        let (name, rest) = block.split_once(" {").unwrap();
        let body = rest.split("\nmessage ").next().unwrap();
        let message = schema::ALL.iter().find(|message| message.name == name).expect(name);
        let (mut depth, mut in_oneof, mut fields) = (1, false, Vec::new());
        for line in body.lines().map(str::trim) {
            in_oneof |= line.starts_with("oneof ");
            depth += line.matches('{').count();
            depth -= line.matches('}').count();
            if line == "}" {
                in_oneof = false;
            }
            if depth == 0 {
                break;
            }
            if let Some((declaration, _)) = line.split_once([';', '[']).filter(|_| line.contains(" = ")) {
                fields.push((declaration.trim().to_owned(), in_oneof));
            }
        }
        for (declaration, in_oneof) in &fields {
            assert!(
                message.fields.iter().any(|field| declared(field, *in_oneof) == *declaration),
                "{name}: {declaration}"
            );
        }
        assert_eq!(message.fields.len(), fields.len(), "{name}");
        found += 1;
    }
    assert_eq!((found, schema::ALL.len()), (44, 44));
}

#[test]
fn messages_of_the_official_sdk_are_read_and_written_as_it_does() {
    let Ok(Json::Object(document)) = json::read(MESSAGES.as_bytes(), &Limits::default()) else { panic!() };
    let rows = document.get("messages").unwrap().as_array().unwrap();
    assert!(rows.len() > 100, "{} rows", rows.len());
    for row in rows {
        let (name, hex) = (row.get("message").unwrap().as_str().unwrap(), row.get("hex").unwrap().as_str().unwrap());
        let message = schema::ALL.iter().find(|message| message.name == name).unwrap();
        let tree = Json::from(read_as(message, &unhex(hex)).unwrap());
        let expected = row.get("json").unwrap();
        assert_eq!(sorted(&tree), sorted(expected), "{name}");
        let written = write::message(expected.as_object().unwrap(), message);
        assert_eq!(written, unhex(hex), "{name}");
    }
}

// ---- the wire ----------------------------------------------------------------------------------------------------

#[test]
fn a_message_by_hand() {
    // SendMessageRequest { tenant: "echo", message: { message_id: "m", role: ROLE_USER, parts: [{ text: "hi" }] } }
    let bytes = b"\x0a\x04echo\x12\x0b\x0a\x01m\x20\x01\x2a\x04\x0a\x02hi";
    let tree = Json::from(read_as(&schema::SEND_MESSAGE_REQUEST, bytes).unwrap());
    let part = Json::from([("text", "hi")]);
    let message = [("messageId", Json::from("m")), ("role", "ROLE_USER".into()), ("parts", vec![part].into())];
    assert_eq!(tree, Json::from([("tenant", Json::from("echo")), ("message", message.into())]));
    assert_eq!(write::message(tree.as_object().unwrap(), &schema::SEND_MESSAGE_REQUEST), bytes);
}

#[test]
fn what_two_readers_might_understand_differently_is_refused() {
    let rows: [(&[u8], ReadError); 11] = [
        // `id` twice, `historyLength` twice.
        (b"\x12\x01a\x12\x01b", ReadError::Repeated("id")),
        (b"\x18\x00\x18\x01", ReadError::Repeated("historyLength")),
        // A string where a number belongs and the other way round.
        (b"\x10\x01", ReadError::WireType("id")),
        (b"\x1a\x01a", ReadError::WireType("historyLength")),
        (b"\x12\x01\xff", ReadError::Utf8("id")),
        // Breaks off in a length, in a tag, in a varint; field 0; a group; 65 bits.
        (b"\x12\x05a", ProtoError::Truncated.into()),
        (b"\x80", ProtoError::Truncated.into()),
        (b"\x18", ProtoError::Truncated.into()),
        (b"\x00\x01", ProtoError::Tag.into()),
        (b"\x13\x14", ProtoError::Tag.into()),
        (b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", ProtoError::Varint.into()),
    ];
    for (bytes, error) in rows {
        assert_eq!(read_as(&schema::GET_TASK_REQUEST, bytes), Err(error), "{bytes:x?}");
    }
}

#[test]
fn unknown_fields_and_default_values_are_dropped() {
    // Fields 100 (varint), 101 (fixed64), 102 (bytes), 103 (fixed32), an empty `tenant`.
    let mut bytes = b"\x12\x01t\x0a\x00".to_vec();
    put_varint(100, 1, &mut bytes);
    put_double(101, 1.0, &mut bytes);
    put_bytes(102, b"smuggled", &mut bytes);
    bytes.extend(b"\xbd\x06\x00\x00\x00\x00");
    assert_eq!(read_as(&schema::GET_TASK_REQUEST, &bytes), Ok(Object::from([("id", "t")])));
}

#[test]
fn numbers_that_json_cannot_say_and_repeated_keys_are_refused() {
    let value = |value: f64| {
        let (mut any, mut part) = (Vec::new(), Vec::new());
        put_double(2, value, &mut any);
        put_bytes(4, &any, &mut part);
        read_as(&schema::PART, &part)
    };
    assert_eq!(value(f64::NAN), Err(ReadError::NotFinite));
    assert_eq!(value(f64::INFINITY), Err(ReadError::NotFinite));
    assert_eq!(value(1e300).map(|part| json::write(&part.into())), Ok(br#"{"data":1e+300}"#.to_vec()));
    let entry = b"\x2a\x0e\x0a\x05\x0a\x01a\x12\x00\x0a\x05\x0a\x01a\x12\x00";
    assert_eq!(read_as(&schema::PART, entry), Err(ReadError::Repeated("metadata")));
    // Value { null_value, string_value }: two kinds at once.
    assert_eq!(read_as(&schema::PART, b"\x22\x05\x08\x00\x1a\x01a"), Err(ReadError::Repeated("data")));
}

#[test]
fn limits_hold_while_reading() {
    let mut nested = vec![8, 0];
    for _ in 0..100 {
        let (mut list, mut value) = (Vec::new(), Vec::new());
        put_bytes(1, &nested, &mut list);
        put_bytes(6, &list, &mut value);
        nested = value;
    }
    let mut part = Vec::new();
    put_bytes(4, &nested, &mut part);
    assert_eq!(read_as(&schema::PART, &part), Err(ReadError::TooDeep { limit: 64 }));
    let wide = b"\x0a\x00".repeat(60_000);
    let list: Vec<u8> = wide;
    assert_eq!(
        read_as(&schema::LIST_TASKS_RESPONSE, &list),
        Err(ReadError::TooManyNodes { limit: Limits::default().nodes })
    );
    let limits = Limits { key: 3, ..Limits::default() };
    let keyed = read::message(b"\x2a\x0a\x0a\x08\x0a\x04abcd\x12\x00", &schema::PART, &limits);
    assert_eq!(keyed, Err(ReadError::KeyTooLong { limit: 3 }));
}

#[test]
fn times_outside_of_rfc_3339_are_refused() {
    let status = |seconds: i64, nanos: i64| {
        let (mut time, mut status) = (Vec::new(), Vec::new());
        put_varint(1, seconds.cast_unsigned(), &mut time);
        put_varint(2, nanos.cast_unsigned(), &mut time);
        put_bytes(3, &time, &mut status);
        read_as(&schema::TASK_STATUS, &status).map(|status| status.str("timestamp").unwrap().to_owned())
    };
    assert_eq!(status(1_764_504_000, 5_000_000).as_deref(), Ok("2025-11-30T12:00:00.005Z"));
    for (seconds, nanos) in [(253_402_300_800, 0), (-62_135_596_801, 0), (0, 1_000_000_000), (0, -1), (i64::MAX, 0)] {
        assert_eq!(status(seconds, nanos), Err(ReadError::Timestamp("timestamp")));
    }
}

// ---- round trips -------------------------------------------------------------------------------------------------

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<f64>().prop_filter_map("finite", |number| Some(json::Number::from_f64(number)?.into())),
        "\\PC{0,8}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::from),
            vec(("[a-z]{1,4}", inner), 0..3).prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

/// A tree that the message can say exactly, made from the tables.
fn tree(message: &'static Message) -> BoxedStrategy<Json> {
    message
        .fields
        .iter()
        .fold(Just(Object::new()).boxed(), |object, field| {
            (object, option::of(member(field)))
                .prop_map(|(mut object, value)| {
                    if let Some(value) = value {
                        object.insert(field.json, value);
                    }
                    object
                })
                .boxed()
        })
        .prop_map(Json::Object)
        .boxed()
}

fn member(field: &'static Field) -> BoxedStrategy<Json> {
    let text = if field.label == Label::Plain { "\\PC{1,6}" } else { "\\PC{0,6}" };
    let single = match field.kind {
        Kind::Text | Kind::Texts => text.prop_map(Json::from).boxed(),
        Kind::Bytes => Just(Json::from("aGk=")).boxed(),
        Kind::Flag if field.label == Label::Plain => Just(Json::from(true)).boxed(),
        Kind::Flag => any::<bool>().prop_map(Json::from).boxed(),
        Kind::Whole => (1..=i32::MAX).prop_map(|number| Json::from(i64::from(number))).boxed(),
        Kind::State => Just(Json::from("TASK_STATE_INPUT_REQUIRED")).boxed(),
        Kind::Role => Just(Json::from("ROLE_AGENT")).boxed(),
        Kind::Struct => {
            vec(("[a-z]{1,4}", any_json()), 0..3).prop_map(|all| Json::Object(all.into_iter().collect())).boxed()
        }
        Kind::Value => any_json().boxed(),
        Kind::Timestamp => Just(Json::from("2026-01-02T03:04:05.006Z")).boxed(),
        Kind::Message(inner) | Kind::Map(inner) => tree(inner),
    };
    match field.label {
        Label::Plain | Label::Present => single,
        Label::Repeated if field.kind.is_map() => {
            vec(("[a-z]{1,4}", single), 1..3).prop_map(|all| Json::Object(all.into_iter().collect())).boxed()
        }
        Label::Repeated => vec(single, 1..3).prop_map(Json::from).boxed(),
    }
}

fn any_message() -> impl Strategy<Value = (&'static Message, Json)> {
    // Cards are large and share their parts with everything else.
    let all: Vec<_> = schema::ALL.iter().copied().filter(|message| message.name != "AgentCard").collect();
    prop::sample::select(all).prop_flat_map(|message| (Just(message), tree(message)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read((message, tree) in any_message()) {
        let bytes = write::message(tree.as_object().unwrap(), message);
        prop_assert_eq!(sorted(&read_as(message, &bytes).unwrap().into()), sorted(&tree), "{}", message.name);
    }

    #[test]
    fn arbitrary_and_broken_bytes_never_panic(
        (message, tree) in any_message(),
        noise in vec(any::<u8>(), 0..64),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        let _ = read_as(message, &noise);
        let mut bytes = write::message(tree.as_object().unwrap(), message);
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = with;
        }
        if let Ok(read) = read_as(message, &bytes) {
            let again = read_as(message, &write::message(&read, message)).unwrap();
            // An enum's number without a name is judged later, and not written.
            prop_assert!(sorted(&again.into()) == sorted(&read.clone().into()) || json::write(&read.into()).windows(2).any(|pair| pair[0] == b':' && (pair[1].is_ascii_digit() || pair[1] == b'-')));
        }
    }

    #[test]
    fn messages_come_whole_however_the_bytes_are_cut(
        messages in vec(vec(any::<u8>(), 0..40), 0..5),
        size in 1_usize..30,
    ) {
        let bytes: Vec<u8> = messages.iter().flat_map(|message| framed(message)).collect();
        let (mut frames, mut got) = (Frames::new(64), Vec::new());
        for piece in bytes.chunks(size) {
            frames.push(piece);
            while let Some(message) = frames.message().unwrap() {
                got.push(message.to_vec());
            }
        }
        prop_assert_eq!(frames.finish(), Ok(()));
        prop_assert_eq!(got, messages);
    }

    #[test]
    fn texts_of_faults_survive_the_trailers(text in "\\PC{0,2000}") {
        let written = trailers(Some(&Fault::new(FaultKind::TaskNotFound, text.as_str())), "gw.test");
        let fault = Status::read(&headers(&written)).unwrap().fault(OperationKind::GetTask).unwrap();
        prop_assert_eq!(fault.kind, FaultKind::TaskNotFound);
        prop_assert!(text.is_empty() || text.starts_with(&fault.message));
    }
}

// ---- frames ------------------------------------------------------------------------------------------------------

#[test]
fn a_call_is_exactly_one_uncompressed_message() {
    assert_eq!(one(b"\0\0\0\0\x01a"), Ok(&b"a"[..]));
    assert_eq!(one(b"\0\0\0\0\0"), Ok(&b""[..]));
    for (bytes, error) in [
        (&b""[..], FrameError::NotOne),
        (b"\0\0\0", FrameError::Truncated),
        (b"\0\0\0\0\x02a", FrameError::Truncated),
        (b"\0\0\0\0\x01ab", FrameError::NotOne),
        (b"\x01\0\0\0\x01a", FrameError::Compressed),
        (b"\x02\0\0\0\x01a", FrameError::Flags),
    ] {
        assert_eq!(one(bytes), Err(error), "{bytes:?}");
    }
}

#[test]
fn a_message_beyond_the_limit_is_refused_by_its_length_alone() {
    let mut frames = Frames::new(4);
    frames.push(b"\0\0\0\0\x05");
    assert_eq!(frames.message(), Err(FrameError::TooLarge { limit: 4 }));
}

// ---- calls -------------------------------------------------------------------------------------------------------

fn open(kind: OperationKind, versions: Vec<&str>, body: &[u8]) -> Result<Call, Fault> {
    let facts =
        RequestFacts { versions, query: None, content_type: Some("application/grpc"), ..RequestFacts::default() };
    Envelope::open(&Target::Grpc(kind), &facts, VersionMode::Lenient, body, &Limits::default())
        .map_err(|refusal| refusal.fault)?
        .call()
}

#[test]
fn a_call_reaches_an_agent_as_it_came() {
    let message = Json::from([
        ("messageId", Json::from("m")),
        ("role", "ROLE_USER".into()),
        ("parts", vec![Json::from([("data", Json::from([("n", 7)]))])].into()),
    ]);
    let call = Call {
        kind: OperationKind::SendMessage,
        params: Object::from([("message", message), ("metadata", Json::from([("k", 1)]))]),
        origin: Version::V10,
    };
    let address = AgentAddress {
        base: "http://agent.test:50051".to_owned(),
        tenant: Some("their-tenant".to_owned()),
        colon: Colon::Percent,
        path_body: PathBody::Envelope,
        r3_bytes: R3Bytes::Auto,
        r3_objects: R3Objects::Proto,
    };
    let minted = Minted { rpc_id: "r", message_id: "n" };
    let outgoing = encode_call(Dialect::G1, &call, &address, minted, SubscribeVerb::Post).unwrap();
    assert_eq!(outgoing.url, "http://agent.test:50051/lf.a2a.v1.A2AService/SendMessage");
    let body = outgoing.body.unwrap();
    assert_eq!(card_name(call.kind, &body).unwrap().as_deref(), Some("their-tenant"));
    assert_eq!(open(call.kind, vec!["1.0"], &body).unwrap(), call);
}

#[test]
fn every_operation_names_its_card() {
    for kind in OperationKind::ALL {
        let number = if kind == OperationKind::ListPushConfigs { 4 } else { 1 };
        let mut message = Vec::new();
        put_bytes(number, b"echo", &mut message);
        assert_eq!(card_name(kind, &framed(&message)).unwrap().as_deref(), Some("echo"), "{kind:?}");
        put_bytes(number, b"other", &mut message);
        assert_eq!(card_name(kind, &framed(&message)).unwrap_err().kind, FaultKind::Parse, "{kind:?}");
        assert_eq!(card_name(kind, &framed(b"")).unwrap(), None);
    }
}

#[test]
fn versions_are_judged_as_on_every_binding() {
    let body = framed(b"\x12\x01t");
    assert!(open(OperationKind::GetTask, vec![], &body).is_ok());
    for version in ["0.3", "2.0", "x"] {
        let fault = open(OperationKind::GetTask, vec![version], &body).unwrap_err();
        assert_eq!(fault.kind, FaultKind::VersionNotSupported, "{version}");
    }
}

#[test]
fn calls_are_judged_by_the_rules_of_every_binding() {
    use OperationKind::{GetTask, SendMessage};
    for (kind, message, wanted) in [
        (GetTask, &b""[..], FaultKind::InvalidParams),
        (GetTask, b"\x12\x03t/1", FaultKind::TaskNotFound),
        (GetTask, b"\x12\x01t\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", FaultKind::InvalidParams),
        // Without a role; a role without a name; a part with two contents; a part with none.
        (SendMessage, b"\x12\x09\x0a\x01m\x2a\x04\x0a\x02hi", FaultKind::InvalidParams),
        (SendMessage, b"\x12\x0b\x0a\x01m\x20\x09\x2a\x04\x0a\x02hi", FaultKind::InvalidParams),
        (SendMessage, b"\x12\x0d\x0a\x01m\x20\x01\x2a\x06\x0a\x01a\x12\x01b", FaultKind::InvalidParams),
        (SendMessage, b"\x12\x07\x0a\x01m\x20\x01\x2a\x00", FaultKind::InvalidParams),
        (SendMessage, b"\xff", FaultKind::Parse),
    ] {
        let fault = open(kind, vec!["1.0"], &framed(message)).unwrap_err();
        assert_eq!(fault.kind, wanted, "{message:?}: {}", fault.message);
    }
    let compressed = open(GetTask, vec!["1.0"], b"\x01\0\0\0\0").unwrap_err();
    assert_eq!(status_of(&compressed), "12");
}

#[test]
fn an_event_is_one_message_and_a_list_has_its_required_members() {
    let voice = Voice { dialect: Dialect::G1, streaming: true, ..Voice::unknown() };
    let status = Json::from([("state", "TASK_STATE_WORKING")]);
    let task = Json::from([("id", Json::from("t")), ("status", status)]);
    let event = Event { body: Json::from([("task", task)]), origin: Version::V10 };
    let bytes = voice.event(event.clone());
    assert_eq!(bytes, b"\0\0\0\0\x09\x0a\x07\x0a\x01t\x1a\x02\x08\x02");
    assert_eq!(super::decode_event(one(&bytes).unwrap(), &Limits::default()).unwrap(), event);
    let list = super::decode_answer(OperationKind::ListTasks, b"", &Limits::default()).unwrap();
    let expected = br#"{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}"#;
    assert_eq!(json::write(&list.body), expected);
    // Task without an id; a stream event about nobody.
    assert!(super::decode_answer(OperationKind::GetTask, b"\x1a\x02\x08\x02", &Limits::default()).is_err());
    assert!(super::decode_event(b"\x1a\x04\x1a\x02\x08\x02", &Limits::default()).is_err());
}

// ---- statuses ----------------------------------------------------------------------------------------------------

fn headers(trailers: &[(&'static str, String)]) -> http::HeaderMap {
    trailers.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

fn status_of(fault: &Fault) -> String {
    trailers(Some(fault), "gw.test")[0].1.clone()
}

#[test]
fn codes_are_the_ones_of_the_specification() {
    use FaultKind as Kind;
    for (kind, code) in [
        (Kind::TaskNotFound, "5"),
        (Kind::TaskNotCancelable, "9"),
        (Kind::PushNotSupported, "9"),
        (Kind::UnsupportedOperation, "9"),
        (Kind::ContentTypeNotSupported, "3"),
        (Kind::InvalidAgentResponse, "13"),
        (Kind::ExtendedCardNotConfigured, "9"),
        (Kind::ExtensionRequired, "9"),
        (Kind::VersionNotSupported, "9"),
        (Kind::InvalidParams, "3"),
        (Kind::Internal, "13"),
        (Kind::AgentNotFound, "5"),
        (Kind::Unauthenticated, "16"),
        (Kind::PermissionDenied, "7"),
        (Kind::GuardrailBlocked, "7"),
        (Kind::RateLimited, "8"),
        (Kind::PayloadTooLarge, "8"),
        (Kind::UpstreamUnavailable, "14"),
        (Kind::UpstreamTimeout, "4"),
        (Kind::UpstreamAuthFailed, "14"),
        (Kind::Overloaded, "14"),
        (Kind::PathNotFound, "12"),
    ] {
        assert_eq!(status_of(&Fault::of(kind)), code, "{kind:?}");
    }
}

#[test]
fn details_say_the_same_as_the_trailers() {
    let fault = Fault::new(FaultKind::TaskNotFound, "gone: 100 % Grüße\n").with("taskId", "t1");
    let written = trailers(Some(&fault), "gw.test");
    assert_eq!(written[1], ("grpc-message", "gone: 100 %25 Gr%C3%BC%C3%9Fe".to_owned()));
    let details = read_as(&schema::STATUS, &base64_of(&written[2].1)).unwrap();
    assert_eq!(details.get("code"), Some(&Json::from(5)));
    assert_eq!(details.str("message"), Some("gone: 100 % Grüße"));
    let read = Status::read(&headers(&written)).unwrap().fault(OperationKind::GetTask).unwrap();
    assert_eq!((read.kind, read.metadata), (fault.kind, fault.metadata));
    assert_eq!(trailers(None, "gw.test"), [("grpc-status", "0".to_owned())]);
}

#[test]
fn a_reason_survives_facts_that_have_no_room() {
    let fault = Fault::of(FaultKind::TaskNotFound).with("why", "x".repeat(9_000));
    let written = trailers(Some(&fault), "gw.test");
    assert!(written[2].1.len() < 6_000);
    let read = Status::read(&headers(&written)).unwrap().fault(OperationKind::SendMessage).unwrap();
    assert_eq!((read.kind, read.metadata), (FaultKind::TaskNotFound, Vec::new()));
}

#[test]
fn an_agents_status_is_understood_by_its_reason_then_by_its_code() {
    let plain = |code: &str| {
        let headers = headers(&[("grpc-status", code.to_owned()), ("grpc-message", "x%20y".to_owned())]);
        Status::read(&headers).unwrap().fault(OperationKind::GetTask)
    };
    assert_eq!(plain("5").map(|fault| (fault.kind, fault.message)), Ok((FaultKind::TaskNotFound, "x y".to_owned())));
    assert_eq!(plain("3").unwrap().kind, FaultKind::InvalidParams);
    assert_eq!(plain("12").unwrap().kind, FaultKind::UnsupportedOperation);
    assert_eq!(plain("2").unwrap().kind, FaultKind::Agent { code: -32603 });
    assert_eq!(plain("16").unwrap().kind, FaultKind::UpstreamAuthFailed);
    assert!(plain("14").is_err() && plain("4").is_err());
    // UNIMPLEMENTED with a reason, as a2a-java answers.
    let mut written = trailers(Some(&Fault::of(FaultKind::PushNotSupported)), "gw.test");
    written[0].1 = "12".to_owned();
    let fault = Status::read(&headers(&written)).unwrap().fault(OperationKind::SendMessage).unwrap();
    assert_eq!(fault.kind, FaultKind::PushNotSupported);
    // An agent cannot speak for the gateway.
    let own = trailers(Some(&Fault::of(FaultKind::GuardrailBlocked)), "gw.test");
    let fault = Status::read(&headers(&own)).unwrap().fault(OperationKind::SendMessage).unwrap();
    assert_eq!(fault.kind, FaultKind::UpstreamAuthFailed);
}

#[test]
fn times_are_read_and_written_in_grpcs_own_form() {
    use std::time::Duration;
    for (text, time) in [
        ("1H", Duration::from_secs(3600)),
        ("2M", Duration::from_secs(120)),
        ("3S", Duration::from_secs(3)),
        ("4m", Duration::from_millis(4)),
        ("5u", Duration::from_micros(5)),
        ("99999999n", Duration::from_nanos(99_999_999)),
    ] {
        assert_eq!(timeout(text), Some(time), "{text}");
    }
    for bad in ["", "S", "1", "1s", "-1S", "+1S", "123456789S", "1.5S", "é", "1é"] {
        assert_eq!(timeout(bad), None, "{bad}");
    }
    assert_eq!(timeout_value(Duration::from_millis(1500)), "1500m");
    assert_eq!(timeout_value(Duration::from_secs(86_400 * 2)), "172800S");
}

fn base64_of(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD_NO_PAD.decode(text).unwrap()
}
