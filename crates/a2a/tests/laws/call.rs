//! Requests of callers: what is accepted is shown to the guard whole, leaves as it was guarded, and is read again as the
//! same call.

use a2a::{Call, Dialect, Fault, OperationKind, Voice, dialect::Outgoing, sse};
use json::{Json, Leaf, Limits, Segment};

use super::wire::{self, OWN_DOMAIN, ROOMY, Request, delivered, is_content, nothing_unseen, sent, shown};

/// One request below an agent's URL.
pub(crate) fn decode_call(bytes: &[u8]) {
    let Some(request) = Request::read(bytes) else { return };
    match request.open(&Limits::default()) {
        None => {}
        Some(Err((voice, fault))) => fault_is_readable(&voice, &fault),
        Some(Ok((voice, call))) => {
            all_that_came_is_shown(&request, &call);
            for dialect in Dialect::ALL {
                if let Some(outgoing) = sent(dialect, &call) {
                    leaves_as_guarded(&outgoing, &call, dialect);
                    arrives_as_meant(&outgoing, &call, dialect, voice.dialect);
                }
            }
        }
    }
}

/// A refusal is a document of its dialect, whatever the request held.
pub(crate) fn fault_is_readable(voice: &Voice, fault: &Fault) {
    let wire = voice.fault(fault, OWN_DOMAIN);
    match wire.content_type {
        "text/event-stream" => one_event(&wire.body),
        "application/grpc" => assert!(wire.trailers.iter().any(|(name, _)| *name == "grpc-status")),
        _ => assert!(json::read(&wire.body, &ROOMY).is_ok(), "{voice:?}: {fault:?}"),
    }
    for (_, value) in &wire.trailers {
        assert!(
            value.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
            "a trailer that HTTP does not take: {value:?}"
        );
    }
    let event = voice.fault_event(fault, OWN_DOMAIN);
    if voice.dialect != Dialect::G1 {
        one_event(&event);
    }
}

fn one_event(bytes: &[u8]) {
    let mut parser = sse::Parser::new(sse::Limits::default());
    let frames = parser.push(bytes).expect("our own frame is read");
    assert!(matches!(frames.as_slice(), [sse::Frame::Event { .. }]), "{frames:?}");
    assert_eq!(parser.finish(), Ok(()));
}

/// Every string that came as a parameter is among the leaves of the call.
fn all_that_came_is_shown(request: &Request<'_>, call: &Call) {
    let takes_body = matches!(
        call.kind,
        OperationKind::SendMessage
            | OperationKind::SendStreamingMessage
            | OperationKind::CancelTask
            | OperationKind::SubscribeToTask
            | OperationKind::CreatePushConfig
    ) || request.path == "/";
    let Ok(mut body) = json::read(request.body, &Limits::default()) else { return };
    if !takes_body {
        return;
    }
    if body.get("method").is_some_and(|method| method.as_str().is_some())
        && let Some(envelope) = body.as_object_mut()
    {
        body = envelope.remove("params").unwrap_or_default();
    }
    let under_v1 = request.path.starts_with("/v1/");
    forget_what_is_dropped(&mut body, under_v1);
    let seen = shown(&Json::Object(call.params.clone()));
    json::walk(&body, &mut |path, leaf| {
        let (Leaf::Text(text) | Leaf::Key(text)) = leaf else { return };
        // 0.3's proto has no `kind`: it is not read and not sent.
        let is_kind = under_v1 && matches!(path.segments.last(), Some(Segment::Key("kind")));
        assert!(is_kind || !is_content(text) || seen.contains(text), "{text:?} came in and is not shown to a guard");
    });
}

/// The tenant, which path and credential decide; in HTTP+JSON of 0.3 the proto's names of what the path names.
fn forget_what_is_dropped(params: &mut Json, under_v1: bool) {
    let Json::Object(params) = params else { return };
    params.remove("tenant");
    if let Some(Json::Object(configuration)) = params.get_mut("configuration") {
        for push in ["taskPushNotificationConfig", "task_push_notification_config"] {
            if let Some(Json::Object(push)) = configuration.get_mut(push) {
                push.remove("tenant");
            }
        }
    }
    if under_v1 {
        for name in ["name", "parent", "configId", "config_id"] {
            params.remove(name);
        }
        if let Some(Json::Object(config)) = params.get_mut("config") {
            config.remove("name");
        }
    }
}

/// Neither body nor URL hold content that the guard was not shown.
fn leaves_as_guarded(outgoing: &Outgoing, call: &Call, dialect: Dialect) {
    let seen = shown(&Json::Object(call.params.clone()));
    let below = outgoing.url.strip_prefix(wire::BASE).expect("nothing leads away from the agent");
    let (path, query) = below.split_once('?').unwrap_or((below, ""));
    let pieces = path.split('/').chain(query.split('&').flat_map(|pair| pair.split('=')));
    for piece in pieces {
        let text = percent_encoding::percent_decode_str(piece).decode_utf8().expect("our URLs are UTF-8");
        assert!(!is_content(&text) || seen.contains(text.as_ref()), "{text:?} is in the URL of {}", dialect.name());
        assert!(text != "..", "{} leads out of the agent's path", outgoing.url);
    }
    if dialect != Dialect::G1
        && let Some(body) = &outgoing.body
    {
        let body = json::read(body, &ROOMY).expect("we write JSON");
        nothing_unseen(&body, &seen, dialect.name());
    }
}

/// Whoever reads what we send finds the same operation on the same ids, and sends on what it got.
fn arrives_as_meant(outgoing: &Outgoing, call: &Call, dialect: Dialect, spoken: Dialect) {
    let arrived = delivered(outgoing);
    let ids = |call: &Call| {
        let references: Vec<String> = call.reference_task_ids().map(str::to_owned).collect();
        let ids = [call.task_id(), call.context_id(), call.config_id()].map(|id| id.map(str::to_owned));
        (call.kind, ids, references)
    };
    assert_eq!(ids(&arrived), ids(call), "{}", dialect.name());
    if dialect == Dialect::G1 {
        nothing_unseen(
            &Json::Object(arrived.params.clone()),
            &shown(&Json::Object(call.params.clone())),
            dialect.name(),
        );
    }
    let again = delivered(&sent(dialect, &arrived).expect("it was said once"));
    assert_eq!(again, arrived, "{} is not stable", dialect.name());
    let mut meant = call.clone();
    meant.ensure_message_id(wire::MINTED.message_id);
    match dialect {
        Dialect::J1 if spoken == dialect => assert_eq!(arrived, meant, "a call in its own dialect is changed"),
        Dialect::J3 if spoken == dialect => {
            // Objects without `kind` get one; nothing else is added, nothing is lost.
            let (had, has) = (shown(&Json::Object(meant.params)), shown(&Json::Object(arrived.params)));
            assert!(had.is_subset(&has), "lost: {:?}", had.difference(&has).collect::<Vec<_>>());
        }
        Dialect::J1 | Dialect::R1 | Dialect::J3 | Dialect::R3 | Dialect::PathRpc | Dialect::G1 => {}
    }
}
