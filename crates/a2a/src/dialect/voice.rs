//! Answers, events and faults → the caller's wire. Total: there is nothing it cannot say.

use json::Json;

use crate::{
    Answer, Event, Fault, OperationKind,
    dialect::{Dialect, RequestFacts, Target},
};

/// How to answer one caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The dialect of the answer.
    pub dialect: Dialect,
    /// The JSON-RPC id to echo; null where there is none.
    pub rpc_id: Json,
    /// Whether an event stream was asked for.
    pub streaming: bool,
    /// Whether the request carried a JSON-RPC envelope (a path RPC caller gets one back only then).
    pub enveloped: bool,
}

/// One HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl Voice {
    /// The best guess before the body is read, to refuse in.
    #[must_use]
    #[expect(clippy::todo, reason = "the interface lands before the body")]
    pub fn detect(target: &Target, facts: &RequestFacts<'_>) -> Self {
        let _ = (target, facts);
        todo!()
    }

    /// The whole answer to a call that is no stream.
    #[must_use]
    #[expect(clippy::todo, reason = "the interface lands before the body")]
    pub fn answer(&self, kind: OperationKind, answer: Answer) -> Wire {
        let _ = (kind, answer);
        todo!()
    }

    /// One SSE frame.
    #[must_use]
    #[expect(clippy::todo, reason = "the interface lands before the body")]
    pub fn event(&self, event: Event) -> Vec<u8> {
        let _ = event;
        todo!()
    }

    /// The whole answer that tells a fault before anything else was said. `own_domain` is the domain of reasons that
    /// A2A does not define.
    #[must_use]
    #[expect(clippy::todo, reason = "the interface lands before the body")]
    pub fn fault(&self, fault: &Fault, own_domain: &str) -> Wire {
        let _ = (fault, own_domain);
        todo!()
    }

    /// The `event: error` frame that ends a stream which has begun.
    #[must_use]
    #[expect(clippy::todo, reason = "the interface lands before the body")]
    pub fn fault_event(&self, fault: &Fault, own_domain: &str) -> Vec<u8> {
        let _ = (fault, own_domain);
        todo!()
    }
}
