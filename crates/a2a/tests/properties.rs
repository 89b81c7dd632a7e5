//! What holds for every call, answer, event and byte sequence.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use a2a::{
    Answer, Call, Dialect, Envelope, Event, OperationKind, Target, Version, Voice,
    dialect::{
        AgentAddress, Colon, Minted, Outgoing, PathBody, R3Bytes, R3Objects, Received, RequestFacts, SubscribeVerb,
        VersionMode, decode_answer, decode_event, encode_call, target,
    },
};
use http::Method;
use json::{Json, Limits, Object};
use proptest::{collection::vec, option, prelude::*, sample::select};

const MINTED: Minted<'static> = Minted { rpc_id: "rpc-1", message_id: "minted-1" };

// ---- generators -------------------------------------------------------------------------------------------------

fn id() -> impl Strategy<Value = Json> {
    "[A-Za-z0-9_:-]{1,12}".prop_map(Json::from)
}

fn any_text() -> impl Strategy<Value = Json> {
    "\\PC{0,12}".prop_map(Json::from)
}

/// Any value, as it may stand inside `metadata` and `data`.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        select(vec!["1.50", "1e3", "12345678901234567890", "-0.0"]).prop_map(|text| read(text.as_bytes())),
        any_text(),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::from),
            vec(("[a-zA-Z_]{1,6}", inner), 0..3).prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

fn metadata() -> impl Strategy<Value = Json> {
    vec(("[a-z]{1,6}", any_json()), 1..3).prop_map(|members| Json::Object(members.into_iter().collect()))
}

/// An object of the given members, some of them left out.
fn object(members: Vec<(&'static str, BoxedStrategy<Option<Json>>)>) -> BoxedStrategy<Json> {
    members
        .into_iter()
        .fold(Just(Object::new()).boxed(), |object, (key, value)| {
            (object, value)
                .prop_map(move |(mut object, value)| {
                    if let Some(value) = value {
                        object.insert(key, value);
                    }
                    object
                })
                .boxed()
        })
        .prop_map(Json::Object)
        .boxed()
}

fn always(value: impl Strategy<Value = Json> + 'static) -> BoxedStrategy<Option<Json>> {
    value.prop_map(Some).boxed()
}

fn maybe(value: impl Strategy<Value = Json> + 'static) -> BoxedStrategy<Option<Json>> {
    option::of(value).boxed()
}

fn part() -> BoxedStrategy<Json> {
    let name = || maybe("[a-z]{1,6}\\.[a-z]{3}".prop_map(Json::from));
    let media = || maybe(select(vec!["text/markdown", "image/png"]).prop_map(Json::from));
    prop_oneof![
        object(vec![
            ("text", always(any_text())),
            ("filename", name()),
            ("mediaType", media()),
            ("metadata", maybe(metadata()))
        ]),
        object(vec![
            ("raw", always(Just(Json::from("aGk=")))),
            ("filename", name()),
            ("mediaType", media()),
            ("metadata", maybe(metadata()))
        ]),
        object(vec![
            ("url", always(Just(Json::from("https://x.test/f")))),
            ("filename", name()),
            ("mediaType", media())
        ]),
        object(vec![("data", always(any_json())), ("mediaType", media()), ("metadata", maybe(metadata()))]),
    ]
    .boxed()
}

fn message() -> BoxedStrategy<Json> {
    object(vec![
        ("messageId", always(id())),
        ("contextId", maybe(id())),
        ("taskId", maybe(id())),
        ("role", always(select(vec!["ROLE_USER", "ROLE_AGENT"]).prop_map(Json::from))),
        ("parts", always(vec(part(), 1..4).prop_map(Json::from))),
        ("metadata", maybe(metadata())),
        ("extensions", maybe(vec(Just(Json::from("https://ext.test/x")), 1..3).prop_map(Json::from))),
        ("referenceTaskIds", maybe(vec(id(), 1..3).prop_map(Json::from))),
    ])
}

fn state() -> impl Strategy<Value = Json> {
    select(a2a::TaskState::ALL.to_vec()).prop_map(|state| Json::from(state.name()))
}

fn status() -> BoxedStrategy<Json> {
    object(vec![
        ("state", always(state())),
        ("message", maybe(message())),
        ("timestamp", maybe(Just(Json::from("2026-01-02T03:04:05.123456Z")))),
    ])
}

fn artifact() -> BoxedStrategy<Json> {
    object(vec![
        ("artifactId", always(id())),
        ("name", maybe(any_text())),
        ("parts", always(vec(part(), 1..3).prop_map(Json::from))),
        ("metadata", maybe(metadata())),
    ])
}

fn task() -> BoxedStrategy<Json> {
    object(vec![
        ("id", always(id())),
        ("contextId", always(id())),
        ("status", always(status())),
        ("artifacts", maybe(vec(artifact(), 1..3).prop_map(Json::from))),
        ("history", maybe(vec(message(), 1..3).prop_map(Json::from))),
        ("metadata", maybe(metadata())),
    ])
}

fn authentication() -> BoxedStrategy<Json> {
    object(vec![("scheme", always(Just(Json::from("Bearer")))), ("credentials", maybe(any_text()))])
}

fn push(task: bool) -> BoxedStrategy<Json> {
    object(vec![
        ("taskId", if task { always(id()) } else { Just(None).boxed() }),
        ("id", maybe(id())),
        ("url", always(Just(Json::from("https://hook.test/x")))),
        ("token", maybe(any_text())),
        ("authentication", maybe(authentication())),
    ])
}

fn configuration() -> BoxedStrategy<Json> {
    object(vec![
        ("acceptedOutputModes", maybe(Just(Json::from(vec![Json::from("text/plain")])))),
        ("returnImmediately", always(any::<bool>().prop_map(Json::from))),
        ("historyLength", maybe((1_i64..50).prop_map(Json::from))),
        ("taskPushNotificationConfig", maybe(push(false))),
    ])
}

fn params(kind: OperationKind) -> BoxedStrategy<Json> {
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => object(vec![
            ("message", always(message())),
            ("configuration", always(configuration())),
            ("metadata", maybe(metadata())),
        ]),
        OperationKind::GetTask => {
            object(vec![("id", always(id())), ("historyLength", maybe((0_i64..50).prop_map(Json::from)))])
        }
        OperationKind::ListTasks => object(vec![
            ("contextId", maybe(id())),
            ("status", maybe(state())),
            ("pageSize", maybe((1_i64..=100).prop_map(Json::from))),
            ("pageToken", maybe("\\PC{1,12}".prop_map(Json::from))),
            ("historyLength", maybe((0_i64..50).prop_map(Json::from))),
            ("statusTimestampAfter", maybe(Just(Json::from("2026-01-01T00:00:00+02:00")))),
            ("includeArtifacts", maybe(any::<bool>().prop_map(Json::from))),
        ]),
        OperationKind::CancelTask => object(vec![("id", always(id())), ("metadata", maybe(metadata()))]),
        OperationKind::SubscribeToTask => object(vec![("id", always(id()))]),
        OperationKind::CreatePushConfig => push(true),
        OperationKind::GetPushConfig | OperationKind::DeletePushConfig => {
            object(vec![("taskId", always(id())), ("id", always(id()))])
        }
        OperationKind::ListPushConfigs => object(vec![("taskId", always(id()))]),
        OperationKind::GetExtendedCard => object(vec![]),
    }
}

fn event() -> BoxedStrategy<Json> {
    let update = object(vec![
        ("taskId", always(id())),
        ("contextId", always(id())),
        ("status", always(status())),
        ("metadata", maybe(metadata())),
    ]);
    let artifact = object(vec![
        ("taskId", always(id())),
        ("contextId", always(id())),
        ("artifact", always(artifact())),
        ("append", maybe(Just(Json::from(true)))),
        ("lastChunk", maybe(Just(Json::from(true)))),
    ]);
    prop_oneof![
        task().prop_map(|task| Json::from([("task", task)])),
        message().prop_map(|message| Json::from([("message", message)])),
        update.prop_map(|update| Json::from([("statusUpdate", update)])),
        artifact.prop_map(|update| Json::from([("artifactUpdate", update)])),
    ]
    .boxed()
}

fn result(kind: OperationKind) -> BoxedStrategy<Json> {
    match kind {
        OperationKind::SendMessage => prop_oneof![
            task().prop_map(|task| Json::from([("task", task)])),
            message().prop_map(|message| Json::from([("message", message)])),
        ]
        .boxed(),
        OperationKind::SendStreamingMessage | OperationKind::SubscribeToTask => event(),
        OperationKind::GetTask | OperationKind::CancelTask => task(),
        OperationKind::ListTasks => object(vec![
            ("tasks", always(vec(task(), 0..3).prop_map(Json::from))),
            ("nextPageToken", always(any_text())),
            ("pageSize", always((0_i64..100).prop_map(Json::from))),
            ("totalSize", always((0_i64..100).prop_map(Json::from))),
        ]),
        OperationKind::CreatePushConfig | OperationKind::GetPushConfig => push(true),
        OperationKind::ListPushConfigs => object(vec![("configs", always(vec(push(true), 0..3).prop_map(Json::from)))]),
        OperationKind::DeletePushConfig => Just(Json::Object(Object::new())).boxed(),
        OperationKind::GetExtendedCard => metadata().boxed(),
    }
}

fn operation() -> impl Strategy<Value = OperationKind> {
    select(OperationKind::ALL.to_vec())
}

// ---- carrying things over a wire ----------------------------------------------------------------------------------

fn read(bytes: &[u8]) -> Json {
    json::read(bytes, &Limits::default()).unwrap()
}

/// What a gateway or agent makes of a request that was written for an agent.
fn deliver(outgoing: &Outgoing) -> Call {
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

fn address(colon: Colon) -> AgentAddress {
    AgentAddress {
        base: "http://up.test/a".to_owned(),
        tenant: None,
        colon,
        path_body: PathBody::Envelope,
        r3_bytes: R3Bytes::Single,
        r3_objects: R3Objects::Proto,
    }
}

fn send(dialect: Dialect, call: &Call, colon: Colon) -> Option<Call> {
    let outgoing = encode_call(dialect, call, &address(colon), MINTED, SubscribeVerb::Post).ok()?;
    Some(deliver(&outgoing))
}

fn voice(dialect: Dialect) -> Voice {
    Voice { dialect, rpc_id: Json::from("rpc-1"), streaming: false, enveloped: true, ..Voice::unknown() }
}

fn reply(dialect: Dialect, kind: OperationKind, answer: Answer) -> Answer {
    let wire = voice(dialect).answer(kind, answer);
    let received = Received {
        status: wire.status,
        content_type: Some(wire.content_type),
        body: &wire.body,
        r3_bytes: R3Bytes::Single,
    };
    decode_answer(dialect, kind, "rpc-1", received, &Limits::default()).unwrap().unwrap()
}

fn tell(dialect: Dialect, event: Event) -> Event {
    let frame = String::from_utf8(voice(dialect).event(event)).unwrap();
    let data = frame.strip_prefix("data:").unwrap().trim();
    decode_event((dialect, R3Bytes::Single), "rpc-1", data.as_bytes(), None, &Limits::default()).unwrap().unwrap()
}

// ---- unknown members ----------------------------------------------------------------------------------------------

/// Puts an unknown member into every object that is not opaque, somewhere in the middle of the others.
fn sprinkle(json: Json) -> Json {
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

fn rpc(method: &str, params: &Json) -> Json {
    Json::from([
        ("jsonrpc", Json::from("2.0")),
        ("id", "rpc-1".into()),
        ("method", method.into()),
        ("params", params.clone()),
    ])
}

fn receive(body: &Json, version: Option<&str>) -> Call {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_v10_call_survives_every_dialect_that_can_say_it(
        (kind, params) in operation().prop_flat_map(|kind| (Just(kind), params(kind))),
        colon in select(vec![Colon::Percent, Colon::Literal]),
    ) {
        let Json::Object(params) = params else { unreachable!() };
        let call = Call { kind, params, origin: Version::V10 };
        for dialect in Dialect::JSON {
            let Some(arrived) = send(dialect, &call, colon) else {
                prop_assert!(dialect == Dialect::PathRpc || kind == OperationKind::ListTasks, "{}", dialect.name());
                continue;
            };
            prop_assert_eq!(arrived.origin, dialect.version());
            let home = send(Dialect::J1, &arrived, colon).unwrap();
            let mut expected = call.params.clone();
            if dialect == Dialect::R3 && kind == OperationKind::GetTask && expected.get("historyLength") == Some(&Json::from(0)) {
                // Its proto cannot tell "none" from "not set".
                expected.remove("historyLength");
            }
            prop_assert_eq!(sorted(&home.params.into()), sorted(&expected.into()), "{}", dialect.name());
        }
    }

    #[test]
    fn a_v10_answer_survives_every_dialect(
        (kind, body) in operation().prop_flat_map(|kind| (Just(kind), result(kind))),
    ) {
        let answer = Answer { body, origin: Version::V10 };
        for dialect in Dialect::JSON {
            if kind == OperationKind::ListTasks && dialect == Dialect::J3 { continue }
            let home = reply(Dialect::J1, kind, reply(dialect, kind, answer.clone()));
            prop_assert_eq!(sorted(&home.body), sorted(&answer.body), "{}", dialect.name());
        }
    }

    #[test]
    fn a_v10_event_survives_every_dialect(body in event()) {
        let event = Event { body, origin: Version::V10 };
        for dialect in Dialect::JSON {
            let told = tell(dialect, event.clone());
            prop_assert_eq!(told.task_id(), event.task_id());
            prop_assert_eq!(told.state(), event.state());
            let home = tell(Dialect::J1, told);
            prop_assert_eq!(sorted(&home.body), sorted(&event.body), "{}", dialect.name());
        }
    }

    #[test]
    fn one_generation_keeps_unknown_members_digits_and_order_of_calls(
        (kind, params) in operation().prop_flat_map(|kind| (Just(kind), params(kind))),
    ) {
        // v1.0: what goes in comes out.
        let sent = rpc(kind.method(Version::V10).unwrap(), &sprinkle(params.clone()));
        let relayed = encode_call(Dialect::J1, &receive(&sent, Some("1.0")), &address(Colon::Percent), MINTED, SubscribeVerb::Post).unwrap();
        prop_assert_eq!(&read(relayed.body.as_deref().unwrap()), &sent);
        // v0.3: written by our own encoder, then sprinkled on the wire.
        let Json::Object(params) = params else { unreachable!() };
        let call = Call { kind, params, origin: Version::V10 };
        if let Ok(outgoing) = encode_call(Dialect::J3, &call, &address(Colon::Percent), MINTED, SubscribeVerb::Post) {
            let written = read(outgoing.body.as_deref().unwrap());
            let sent = rpc(kind.method(Version::V03).unwrap(), &sprinkle(written.get("params").unwrap().clone()));
            let relayed = encode_call(Dialect::J3, &receive(&sent, None), &address(Colon::Percent), MINTED, SubscribeVerb::Post).unwrap();
            prop_assert_eq!(&read(relayed.body.as_deref().unwrap()), &sent);
        }
    }

    #[test]
    fn one_generation_keeps_unknown_members_digits_and_order_of_events(body in event()) {
        for (dialect, version) in [(Dialect::J1, Version::V10), (Dialect::J3, Version::V03)] {
            let clean = voice(dialect).event(Event { body: body.clone(), origin: Version::V10 });
            let clean = String::from_utf8(clean).unwrap();
            let clean = read(clean.strip_prefix("data:").unwrap().trim().as_bytes());
            let result = match (version, clean.get("result").unwrap().clone()) {
                (Version::V03, bare) => sprinkle(bare),
                (Version::V10, Json::Object(wrapper)) => {
                    Json::Object(wrapper.into_iter().map(|(key, value)| (key, sprinkle(value))).collect())
                }
                (Version::V10, other) => other,
            };
            let sent = Json::from([("jsonrpc", Json::from("2.0")), ("id", "rpc-1".into()), ("result", result)]);
            let event = decode_event((dialect, R3Bytes::Single), "rpc-1", &json::write(&sent), None, &Limits::default()).unwrap().unwrap();
            let relayed = String::from_utf8(voice(dialect).event(event)).unwrap();
            prop_assert_eq!(&read(relayed.strip_prefix("data:").unwrap().trim().as_bytes()), &sent);
        }
    }

    #[test]
    fn translation_drops_what_the_other_generation_cannot_say(
        (kind, body) in operation().prop_flat_map(|kind| (Just(kind), result(kind))),
    ) {
        prop_assume!(!matches!(kind, OperationKind::GetExtendedCard | OperationKind::DeletePushConfig | OperationKind::ListTasks));
        let clean = reply(Dialect::J3, kind, Answer { body: body.clone(), origin: Version::V10 });
        let wild = Answer { body: sprinkle(body), origin: Version::V10 };
        // The wrapper of a stream event may not hold strangers; every other object may.
        let told = reply(Dialect::J3, kind, wild);
        prop_assert_eq!(told.body, clean.body);
    }

    #[test]
    fn http_json_of_03_keeps_unknown_members_towards_agents(params in params(OperationKind::SendMessage)) {
        let Json::Object(params) = params else { unreachable!() };
        let call = Call { kind: OperationKind::SendMessage, params, origin: Version::V10 };
        let encode = |call: &Call| {
            encode_call(Dialect::R3, call, &address(Colon::Literal), MINTED, SubscribeVerb::Post).unwrap()
        };
        let mut sent = encode(&call);
        let wild = sprinkle(read(sent.body.as_deref().unwrap()));
        sent.body = Some(json::write(&wild));
        let relayed = encode(&deliver(&sent));
        prop_assert_eq!(sorted(&read(relayed.body.as_deref().unwrap())), sorted(&wild));
    }

    #[test]
    fn http_json_of_03_tells_callers_members_of_its_proto_alone(
        (kind, body) in operation().prop_flat_map(|kind| (Just(kind), result(kind))),
        origin in select(vec![Version::V10, Version::V03]),
    ) {
        prop_assume!(!matches!(kind, OperationKind::GetExtendedCard | OperationKind::DeletePushConfig));
        let told = |body| voice(Dialect::R3).answer(kind, Answer { body, origin }).body;
        prop_assert_eq!(read(&told(sprinkle(body.clone()))), read(&told(body)));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200), dialect in select(Dialect::ALL.to_vec()), kind in operation()) {
        never_panics(&bytes, dialect, kind);
    }

    #[test]
    fn broken_documents_never_panic(
        (kind, params, result) in operation().prop_flat_map(|kind| (Just(kind), params(kind), result(kind))),
        dialect in select(Dialect::ALL.to_vec()),
        at in any::<prop::sample::Index>(),
        with in any_json(),
    ) {
        let method = kind.method(Version::V03).unwrap_or("ListTasks");
        for document in [rpc(method, &params), params, Json::from([("jsonrpc", Json::from("2.0")), ("id", "rpc-1".into()), ("result", result)])] {
            never_panics(&json::write(&replace_one(document, at, &with)), dialect, kind);
        }
    }

    #[test]
    fn an_accepted_path_re_encodes_to_the_same_target(
        segments in vec(prop_oneof![
            select(vec!["message:send", "message:stream", "tasks", "extendedAgentCard", "pushNotificationConfigs", "v1", "card", ".well-known", "agent.json"]).prop_map(str::to_owned),
            "[A-Za-z0-9:._/% é-]{0,8}",
            "[a-z:]{0,4}:(cancel|subscribe)",
        ], 0..5),
        method in select(vec![Method::GET, Method::POST, Method::DELETE, Method::PUT]),
    ) {
        if let Ok(found) = target(&method, &segments) {
            prop_assert_eq!(target(&method, &path_of(&method, &found, &segments)), Ok(found));
        }
    }
}

/// The segments that a target stands for.
fn path_of(method: &Method, target: &Target, written: &[String]) -> Vec<String> {
    let Target::Http { operation, task, config, under_v1 } = target else { return written.to_vec() };
    let task = task.as_deref().unwrap_or_default();
    let mut path: Vec<String> = Vec::new();
    if *under_v1 {
        path.push("v1".to_owned());
    }
    match operation {
        OperationKind::SendMessage => path.push("message:send".to_owned()),
        OperationKind::SendStreamingMessage => path.push("message:stream".to_owned()),
        OperationKind::GetExtendedCard => path.push("extendedAgentCard".to_owned()),
        OperationKind::ListTasks => path.push("tasks".to_owned()),
        OperationKind::GetTask => path.extend(["tasks".to_owned(), task.to_owned()]),
        OperationKind::CancelTask => path.extend(["tasks".to_owned(), format!("{task}:cancel")]),
        OperationKind::SubscribeToTask => path.extend(["tasks".to_owned(), format!("{task}:subscribe")]),
        OperationKind::CreatePushConfig | OperationKind::ListPushConfigs => {
            path.extend(["tasks".to_owned(), task.to_owned(), "pushNotificationConfigs".to_owned()]);
        }
        OperationKind::GetPushConfig | OperationKind::DeletePushConfig => path.extend([
            "tasks".to_owned(),
            task.to_owned(),
            "pushNotificationConfigs".to_owned(),
            config.clone().unwrap_or_default(),
        ]),
    }
    assert!(!method.as_str().is_empty());
    path
}

fn never_panics(bytes: &[u8], dialect: Dialect, kind: OperationKind) {
    let limits = Limits::default();
    let text = String::from_utf8_lossy(bytes);
    let facts = RequestFacts {
        versions: vec![&text],
        query: Some(&text),
        content_type: Some("application/json"),
        user_agent: Some(&text),
        accept: Some(&text),
    };
    let plain = RequestFacts { versions: vec![], ..facts.clone() };
    let http = |under_v1| Target::Http { operation: kind, task: Some("t1".to_owned()), config: None, under_v1 };
    for target in [Target::Rpc, http(false), http(true)] {
        for facts in [&facts, &plain] {
            match Envelope::open(&target, facts, VersionMode::Lenient, bytes, &limits) {
                Ok(envelope) => {
                    let voice = envelope.voice().clone();
                    match envelope.call() {
                        Ok(call) => {
                            for dialect in Dialect::ALL {
                                let _ =
                                    encode_call(dialect, &call, &address(Colon::Percent), MINTED, SubscribeVerb::Get);
                            }
                        }
                        Err(fault) => drop(voice.fault(&fault, "gw.test")),
                    }
                }
                Err(refusal) => {
                    drop(refusal.voice.fault(&refusal.fault, "gw.test"));
                    drop(refusal.voice.fault_event(&refusal.fault, "gw.test"));
                }
            }
        }
    }
    for status in [200, 404] {
        let received =
            Received { status, content_type: Some("application/json"), body: bytes, r3_bytes: R3Bytes::Auto };
        if let Ok(Ok(answer)) = decode_answer(dialect, kind, "rpc-1", received, &limits) {
            for dialect in Dialect::JSON {
                drop(voice(dialect).answer(kind, answer.clone()));
            }
        }
    }
    if let Ok(Ok(event)) = decode_event((dialect, R3Bytes::Single), "rpc-1", bytes, None, &limits) {
        for dialect in Dialect::ALL {
            drop(voice(dialect).event(event.clone()));
        }
    }
}

/// The document with one value, somewhere, replaced.
fn replace_one(mut document: Json, at: prop::sample::Index, with: &Json) -> Json {
    let mut paths = vec![String::new()];
    json::walk(&document, &mut |path, _| paths.push(path.to_string()));
    let path = at.get(&paths).clone();
    if let Some(value) = document.pointer_mut(&path) {
        *value = with.clone();
    }
    document
}

/// Translation may reorder members; nothing else.
fn sorted(json: &Json) -> Json {
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
