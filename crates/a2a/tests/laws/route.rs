//! Paths: one reading, however often it is decoded, and the way to an agent never leaves the agent's own path.

use a2a::{
    Call, Dialect, OperationKind, Target, Version,
    dialect::target,
    grpc,
    path::{is_task_id, split},
};
use http::Method;
use json::{Json, Object};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::wire::{BASE, sent};

/// One raw path.
pub(crate) fn path_route(bytes: &[u8]) {
    let Ok(raw) = std::str::from_utf8(bytes) else { return };
    let Ok(segments) = split(raw) else { return };
    for segment in &segments {
        assert!(!segment.is_empty() && segment != "." && segment != "..", "{segment:?}");
        assert!(!segment.contains(['/', '\\', ';', '\0', '\r', '\n']), "{segment:?}");
        assert!(split(&format!("/{segment}")).is_ok() || segment.contains('%'), "{segment:?} decodes twice");
    }
    assert_eq!(split(&written(&segments)), Ok(segments.clone()), "written with everything escaped");
    for colon in ["%3A", "%3a"] {
        assert_eq!(split(&raw.replace(':', colon)), Ok(segments.clone()), "{colon}");
    }
    for method in [Method::GET, Method::POST, Method::DELETE, Method::OPTIONS] {
        if let Ok(found) = target(&method, &segments) {
            target_is_of_this_path(&method, &found, &segments);
        }
        assert!(grpc::target(&method, raw).is_none_or(|found| found.is_err()) || segments.len() == 2);
    }
    for segment in &segments {
        way_to_an_agent(segment);
    }
}

fn written(segments: &[String]) -> String {
    let escaped: Vec<String> =
        segments.iter().map(|segment| utf8_percent_encode(segment, NON_ALPHANUMERIC).to_string()).collect();
    format!("/{}", escaped.join("/"))
}

/// Ids come out of the path as they stand in it.
fn target_is_of_this_path(method: &Method, found: &Target, segments: &[String]) {
    let Target::Http { operation, task, config, under_v1 } = found else { return };
    assert_eq!(*under_v1, segments.first().is_some_and(|first| first == "v1"));
    for id in task.iter().chain(config) {
        assert!(!id.is_empty());
        assert!(segments.iter().any(|segment| segment.starts_with(id.as_str())), "{id:?} is not in {segments:?}");
    }
    let changes = matches!(operation, OperationKind::CancelTask | OperationKind::CreatePushConfig);
    assert!(!changes || *method == Method::POST, "{operation:?} by {method}");
    assert!(*operation != OperationKind::DeletePushConfig || *method == Method::DELETE);
}

/// Whatever the id, the request stays below the agent's URL, in as many segments as the operation has.
fn way_to_an_agent(id: &str) {
    for dialect in Dialect::ALL {
        for kind in [OperationKind::GetTask, OperationKind::CancelTask, OperationKind::DeletePushConfig] {
            let mut params = Object::from([("id", id)]);
            if kind == OperationKind::DeletePushConfig {
                params.insert("taskId", id);
            }
            let call = Call { kind, params, origin: Version::V10 };
            let Some(outgoing) = sent(dialect, &call) else { continue };
            let below = outgoing.url.strip_prefix(BASE).expect("nothing leads away from the agent");
            if below.is_empty() || dialect == Dialect::G1 {
                continue;
            }
            let segments = below.strip_prefix('/').unwrap_or_default().split('/');
            let mut expected = if kind == OperationKind::DeletePushConfig { 4 } else { 2 };
            if dialect == Dialect::R3 {
                expected += 1;
            }
            assert_eq!(segments.clone().count(), expected, "{}", outgoing.url);
            assert!(!below.contains(['?', '#', '\\', ';']), "{}", outgoing.url);
            if is_task_id(id) {
                let read = split(below).expect("our own path is read");
                assert_eq!(target(&outgoing.method, &read).map(|found| id_of(&found)), Ok(Some(id.to_owned())));
            }
            assert!(segments.into_iter().all(|segment| segment != "." && segment != ".."), "{}", outgoing.url);
        }
        let message = Json::from([("messageId", Json::from("m1")), ("taskId", id.into())]);
        let params = Object::from([("message", message)]);
        let call = Call { kind: OperationKind::SendMessage, params, origin: Version::V10 };
        let plain = Call { params: Object::from([("message", Object::new())]), ..call.clone() };
        let url = |call| sent(dialect, call).map(|outgoing| outgoing.url);
        assert_eq!(url(&call), url(&plain), "where a message goes does not depend on it");
    }
}

fn id_of(target: &Target) -> Option<String> {
    match target {
        Target::Http { task, .. } => task.clone(),
        Target::Rpc | Target::Card | Target::Grpc(_) => None,
    }
}
