//! Faults from the field in every caller's words: the same case for every dialect, with its right value.
//!
//! The letters before a test are the case's name in `docs/cases.md`.

mod requests;
mod streams;
mod tasks;

use crate::proto;
use crate::tongue::{Op, Refusal, Said, Told, Tongue};
use json::Json;

/// A send of one text, "go".
fn hello(caller: Tongue, card: &str) -> Said {
    let mut said = (caller.asks)(Op::SendStreamingMessage, card);
    let unary = |text: &str| {
        let text = text.replace("SendStreamingMessage", "SendMessage").replace("message/stream", "message/send");
        text.replace("message:stream", "message:send")
    };
    said.target = unary(&said.target);
    if caller.is_json() {
        said.body = said.body.map(|body| unary(&String::from_utf8(body).unwrap()).into_bytes());
    }
    said
}

/// A call about another task than `t1`.
pub(crate) fn about(caller: Tongue, op: Op, card: &str, task: &str) -> Said {
    if caller.is_json() {
        (caller.asks)(op, card).replaced("t1", task)
    } else {
        (caller.sends)(op, card, &proto::text(2, task))
    }
}

/// What a refusal comes to: status, media type, the code and the reason. Its text and facts are not looked at.
pub(crate) fn gist(told: &Told) -> (u16, String, String) {
    let said = match told.parts.last() {
        Some(part) if told.media != "application/grpc" => said(part),
        Some(_) | None => over_grpc(told),
    };
    (told.status, told.media.clone(), said)
}

/// The id, code and reason of an error document.
fn said(part: &str) -> String {
    let part = part.trim_start_matches("error! ");
    let tree = json::read(part.as_bytes(), &json::Limits::default()).unwrap_or_default();
    let at = |pointer: &str| tree.pointer(pointer).map(crate::tongue::shown).unwrap_or_default();
    let reason = format!("{}{}", at("/error/data/0/reason"), at("/error/details/0/reason"));
    format!("id {} code {}{} {reason} {}", at("/id"), at("/error/code"), at("/code"), at("/type"))
}

fn over_grpc(told: &Told) -> String {
    let code = told.end.first().map_or("", String::as_str);
    let details = told.end.get(2).map_or("", String::as_str);
    let reason = details.split("ErrorInfo\" 2:{ 1:").nth(1).and_then(|rest| rest.split(' ').next());
    format!("code {code} {}", reason.unwrap_or_default())
}

/// Fails unless `told` is this refusal in the words of `caller`, before anything else was said.
fn refused(caller: Tongue, op: Op, told: &Told, no: &Refusal, what: &str) {
    let wanted = (caller.refused)(op, no);
    assert_eq!(gist(told), gist(&wanted), "{caller:?} {}, {what}: {told:?}", op.name());
    assert_eq!(told.parts.len(), wanted.parts.len(), "{caller:?} {}, {what}: {told:?}", op.name());
}

/// Fails unless the stream says these parts and then breaks with this refusal, in the words of `caller`.
pub(crate) fn breaks(caller: Tongue, told: &Told, parts: &[String], no: &Refusal, what: &str) {
    assert_eq!(told.status, 200, "{caller:?}, {what}: {told:?}");
    assert_eq!(&told.parts[..parts.len()], parts, "{caller:?}, {what}");
    let wanted = (caller.refused)(Op::SendStreamingMessage, no);
    if !caller.is_json() {
        assert_eq!((told.parts.len(), over_grpc(told)), (parts.len(), over_grpc(&wanted)), "{what}: {told:?}");
        return;
    }
    assert_eq!(told.media, "text/event-stream", "{caller:?}, {what}");
    assert_eq!(told.parts.len(), parts.len() + 1, "{caller:?}, {what}: {told:?}");
    let last = told.parts.last().unwrap();
    assert!(last.starts_with("error! "), "{caller:?}, {what}: {last}");
    assert_eq!(said(last), said(&wanted.parts[0]), "{caller:?}, {what}: {last}");
}

/// A member of a JSON document as text.
fn member(part: &str, pointer: &str) -> Json {
    let tree = json::read(part.as_bytes(), &json::Limits::default()).unwrap_or_default();
    tree.pointer(pointer).cloned().unwrap_or_default()
}
