//! What agents send back: what is accepted is relayed as it was guarded, in every voice, and is read again as the same
//! answer.

use a2a::{
    Answer, Dialect, Event, Fault, OperationKind, TaskState, Voice,
    dialect::{BadAnswer, R3Bytes, Received, decode_answer, decode_event},
    grpc, sse,
};
use json::{Json, Leaf, Limits, Segment};

use super::{
    call::fault_is_readable,
    wire::{Message, ROOMY, nothing_unseen, shown},
};

/// The id of the request that was answered.
const RPC_ID: &str = "rpc-1";

/// One answer, or one event of a stream.
pub(crate) fn decode_reply(bytes: &[u8]) {
    let Some(message) = Message::read(bytes) else { return };
    let [dialect, operation, status] = message.words.as_slice() else { return };
    let (Some(dialect), Some(kind)) = (Dialect::from_name(dialect), OperationKind::from_name(operation)) else {
        return;
    };
    let r3_bytes = match message.header("r3-bytes") {
        Some("single") => R3Bytes::Single,
        Some("double") => R3Bytes::Double,
        Some(_) | None => R3Bytes::Auto,
    };
    let limits = Limits::default();
    if let Some(name) = status.strip_prefix("event") {
        let name = name.strip_prefix('=');
        return match event(dialect, r3_bytes, message.body, name, &limits) {
            Ok(Ok(event)) => event_is_relayed(&event, dialect),
            Ok(Err(fault)) => fault_is_relayed(&fault),
            Err(_) => {}
        };
    }
    let Ok(status) = status.parse() else { return };
    let received = Received { status, content_type: message.header("content-type"), body: message.body, r3_bytes };
    match answer(dialect, kind, received, &limits) {
        Ok(Ok(answer)) => answer_is_relayed(kind, &answer, dialect),
        Ok(Err(fault)) => fault_is_relayed(&fault),
        Err(_) => {}
    }
}

fn answer(
    dialect: Dialect,
    kind: OperationKind,
    received: Received<'_>,
    limits: &Limits,
) -> Result<Result<Answer, Fault>, BadAnswer> {
    if dialect == Dialect::G1 {
        return grpc::decode_answer(kind, grpc::one(received.body)?, limits).map(Ok);
    }
    decode_answer(dialect, kind, RPC_ID, received, limits)
}

fn event(
    dialect: Dialect,
    r3_bytes: R3Bytes,
    body: &[u8],
    name: Option<&str>,
    limits: &Limits,
) -> Result<Result<Event, Fault>, BadAnswer> {
    if dialect == Dialect::G1 {
        return grpc::decode_event(grpc::one(body)?, limits).map(Ok);
    }
    decode_event((dialect, r3_bytes), RPC_ID, body, name, limits)
}

fn voice(dialect: Dialect) -> Voice {
    Voice {
        dialect,
        rpc_id: Json::from(RPC_ID),
        streaming: false,
        enveloped: true,
        r3_bytes: R3Bytes::Auto,
        ..Voice::unknown()
    }
}

fn fault_is_relayed(fault: &Fault) {
    for dialect in Dialect::ALL {
        fault_is_readable(&voice(dialect), fault);
        fault_is_readable(&Voice { streaming: true, ..voice(dialect) }, fault);
    }
}

fn answer_is_relayed(kind: OperationKind, from_agent: &Answer, spoken: Dialect) {
    let seen = shown(&from_agent.body);
    let told = |dialect: Dialect, said: Answer| {
        let wire = voice(dialect).answer(kind, said);
        let content_type = Some(wire.content_type);
        let received = Received { status: wire.status, content_type, body: &wire.body, r3_bytes: R3Bytes::Auto };
        if dialect != Dialect::G1 {
            nothing_unseen(&json::read(&wire.body, &ROOMY).expect("we write JSON"), &seen, dialect.name());
        }
        match answer(dialect, kind, received, &ROOMY) {
            Ok(Ok(answer)) => answer,
            refused => panic!("{} refuses our own answer: {refused:?}", dialect.name()),
        }
    };
    for dialect in Dialect::ALL {
        let heard = told(dialect, from_agent.clone());
        // What is no task may look like one to those who ask for its id.
        if !matches!(
            kind,
            OperationKind::CreatePushConfig
                | OperationKind::GetPushConfig
                | OperationKind::ListPushConfigs
                | OperationKind::DeletePushConfig
                | OperationKind::GetExtendedCard
        ) {
            assert_eq!(heard.task_id(), from_agent.task_id(), "{}", dialect.name());
            assert_eq!(known(heard.state()), known(from_agent.state()), "{}", dialect.name());
        }
        nothing_unseen(&heard.body, &seen, dialect.name());
        assert_eq!(told(dialect, heard.clone()), heard, "{} is not stable", dialect.name());
        let content = matches!(kind, OperationKind::SendMessage | OperationKind::GetTask | OperationKind::CancelTask);
        if dialect == spoken && dialect != Dialect::R3 && content {
            nothing_lost(&from_agent.body, &heard.body, dialect);
        }
    }
}

fn event_is_relayed(from_agent: &Event, spoken: Dialect) {
    let seen = shown(&from_agent.body);
    let told = |dialect: Dialect, said: Event| {
        let frame = voice(dialect).event(said);
        let data = if dialect == Dialect::G1 { frame } else { data_of(&frame) };
        if dialect != Dialect::G1 {
            nothing_unseen(&json::read(&data, &ROOMY).expect("we write JSON"), &seen, dialect.name());
        }
        match event(dialect, R3Bytes::Auto, &data, None, &ROOMY) {
            Ok(Ok(event)) => event,
            refused => panic!("{} refuses our own event: {refused:?}", dialect.name()),
        }
    };
    for dialect in Dialect::ALL {
        let heard = told(dialect, from_agent.clone());
        assert_eq!(heard.task_id(), from_agent.task_id(), "{}", dialect.name());
        assert_eq!(known(heard.state()), known(from_agent.state()), "{}", dialect.name());
        nothing_unseen(&heard.body, &seen, dialect.name());
        assert_eq!(told(dialect, heard.clone()), heard, "{} is not stable", dialect.name());
        if dialect == spoken && dialect != Dialect::R3 {
            nothing_lost(&from_agent.body, &heard.body, dialect);
        }
    }
}

/// Protobuf cannot tell the state that is none from no state.
fn known(state: Option<TaskState>) -> Option<TaskState> {
    state.filter(|state| *state != TaskState::Unspecified)
}

/// Whoever speaks the agent's dialect hears all that it said, unknown members included. (0.3's HTTP+JSON tells callers
/// members of its proto alone.)
fn nothing_lost(said: &Json, heard: &Json, dialect: Dialect) {
    let heard = shown(heard);
    json::walk(said, &mut |path, leaf| {
        let (Leaf::Text(text) | Leaf::Key(text)) = leaf else { return };
        // A time that no reader takes is left out.
        let time = matches!(path.segments.last(), Some(Segment::Key("timestamp")));
        assert!(time || heard.contains(text), "{path}: {text:?} is lost in {}", dialect.name());
    });
}

fn data_of(frame: &[u8]) -> Vec<u8> {
    let mut parser = sse::Parser::new(sse::Limits { event: 8 << 20, line: 8 << 20 });
    match parser.push(frame).expect("our own frame is read").as_slice() {
        [sse::Frame::Event { name: None, data }] => data.clone().into_bytes(),
        frames => panic!("one event became {frames:?}"),
    }
}
