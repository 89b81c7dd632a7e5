//! Whatever anybody sends: no panic, and no path with two meanings.

use crate::config;
use crate::generate::{any_json, operation, params, result};
use crate::wire::{MINTED, address, rpc, voice};
use a2a::{
    Dialect, Envelope, OperationKind, Target, Version,
    dialect::{
        Colon, R3Bytes, Received, RequestFacts, SubscribeVerb, VersionMode, decode_answer, decode_event, encode_call,
        target,
    },
};
use http::Method;
use json::{Json, Limits};
use proptest::{collection::vec, prelude::*, sample::select};

proptest! {
    #![proptest_config(config())]

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
