//! What is said in the comparison: the requests of the callers and the answers of the agent stub.
//!
//! Requests and answers of `message:send` are about 1 KB each, in the shape that agents on the common SDKs send: a task
//! with new ids and one artifact. Nothing here is parsed by the processes under test but by their own means.

use bytes::Bytes;

/// A binding of A2A v1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// R1.
    HttpJson,
    /// J1.
    JsonRpc,
}

impl Binding {
    pub(crate) const ALL: [Self; 2] = [Self::HttpJson, Self::JsonRpc];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HttpJson => "HTTP+JSON (R1)",
            Self::JsonRpc => "JSON-RPC (J1)",
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::HttpJson => "application/a2a+json",
            Self::JsonRpc => "application/json",
        }
    }
}

/// The two kinds of call that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// One answer.
    Send,
    /// A stream with this many artifact events between its first and its last.
    Stream(usize),
}

/// The body of a request.
pub(crate) fn request(binding: Binding, said: Said) -> Bytes {
    let (method, wish) = match said {
        Said::Send => ("SendMessage", String::new()),
        Said::Stream(events) => ("SendStreamingMessage", format!("{EVENTS}{events} ")),
    };
    let text = prose(if said == Said::Send { 880 } else { 200 });
    let message = format!(
        r#"{{"message":{{"messageId":"5f0c2b9e-8a51-4f57-9d0e-3f6f0c9b7a11","role":"ROLE_USER","parts":[{{"text":"{wish}{text}"}}]}}}}"#
    );
    Bytes::from(match binding {
        Binding::HttpJson => message,
        Binding::JsonRpc => format!(r#"{{"jsonrpc":"2.0","id":"call-1","method":"{method}","params":{message}}}"#),
    })
}

/// What begins the wish for a number of events in a message's text.
pub(crate) const EVENTS: &str = "events=";

/// A task and its context.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    task: String,
    context: String,
}

impl Ids {
    pub(crate) fn new(number: u64) -> Self {
        let id = |kind: u32| format!("{kind:08x}-4a7d-4c1b-9e3f-{number:012x}");
        Self { task: id(0x7a51_0001), context: id(0xc0e7_0002) }
    }

    /// The answer to `message:send`.
    pub(crate) fn answer(&self) -> String {
        let Self { task, context } = self;
        format!(
            r#"{{"task":{{"id":"{task}","contextId":"{context}","status":{{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-01T00:00:00Z"}},"artifacts":[{{"artifactId":"artifact-1","name":"answer","parts":[{{"text":"{}"}}]}}]}}}}"#,
            prose(740)
        )
    }

    /// The event at this place of a stream with `events` artifact events.
    pub(crate) fn event(&self, at: usize, events: usize) -> String {
        let Self { task, context } = self;
        if at == 0 {
            return format!(
                r#"{{"task":{{"id":"{task}","contextId":"{context}","status":{{"state":"TASK_STATE_WORKING"}}}}}}"#
            );
        }
        if at > events {
            return format!(
                r#"{{"statusUpdate":{{"taskId":"{task}","contextId":"{context}","status":{{"state":"TASK_STATE_COMPLETED"}}}}}}"#
            );
        }
        format!(
            r#"{{"artifactUpdate":{{"taskId":"{task}","contextId":"{context}","artifact":{{"artifactId":"artifact-1","parts":[{{"text":"{} "}}]}},"append":{},"lastChunk":{}}}}}"#,
            prose(60),
            at > 1,
            at == events
        )
    }
}

/// Plain words of this length, without anything that JSON escapes or a policy stops.
fn prose(length: usize) -> &'static str {
    const WORDS: &str = "The quarterly report lists every open invoice of the northern region with its due date, the \
        name of the account and the person who last spoke with the customer, sorted by the amount that is still open. \
        Where a payment has been promised, the promised date stands beside the amount; where a dispute is open, the \
        number of the case does. Please check the figures of the second table against the ledger before the meeting \
        on Thursday, and write one sentence for each difference that you find, with the page it is on. If nothing \
        differs, say so in one line. Use the currency of the invoice and not that of the report, round to two places, \
        and leave the column of the tax codes as it is. The last page holds the totals by month, which are needed for \
        the forecast and for the letter to the auditors that goes out at the end of the week, in two copies.  ";
    WORDS.get(..length.min(WORDS.len())).unwrap_or(WORDS)
}
