//! What a dialect's file says of it: how its callers ask, what they must get, what its agents must be asked, what they
//! answer. Everything is written by hand as it stands on the wire; nothing here or there uses the codecs under test.

use crate::proto;
use a2a::{Dialect, OperationKind};
use json::{Json, Object};

/// An operation; its place in the tables of a dialect is its place in [`OperationKind::ALL`].
pub(crate) type Op = OperationKind;

/// A row for every operation.
pub(crate) type Each<T> = [T; 11];

/// One dialect.
#[derive(Clone, Copy)]
pub(crate) struct Tongue {
    pub(crate) dialect: Dialect,
    /// Its short name, also in `docs/dialects.md`.
    pub(crate) name: &'static str,
    /// The name of the card whose agent speaks it.
    pub(crate) card: &'static str,
    /// How a caller asks the card `card` for an operation.
    pub(crate) asks: fn(Op, &str) -> Said,
    /// How a caller puts the parameters of a send (or of a streaming one) on the wire.
    pub(crate) sends: fn(Op, &str, &[u8]) -> Said,
    /// What a caller must get from the card `card` where the operation works.
    pub(crate) gets: fn(Op, &str) -> Told,
    /// What a caller must get where it is refused.
    pub(crate) refused: fn(Op, &Refusal) -> Told,
    /// What an agent must be asked.
    pub(crate) asked: fn(Op) -> Asked,
    /// What an agent answers: the one result, or the events.
    pub(crate) answers: fn(Op) -> Vec<Vec<u8>>,
    /// How an agent puts a result on the wire; `$ID` stands for the id of the request.
    pub(crate) wraps: fn(&[u8]) -> Vec<u8>,
}

impl Tongue {
    /// What an agent of this dialect answers.
    pub(crate) fn answer(&self, op: Op) -> Answer {
        self.answer_of(op, &(self.answers)(op))
    }

    /// An answer with other results.
    pub(crate) fn answer_of<T: AsRef<[u8]>>(&self, op: Op, results: &[T]) -> Answer {
        let documents: Vec<Vec<u8>> = results.iter().map(|result| (self.wraps)(result.as_ref())).collect();
        match (self.dialect == Dialect::G1, op.is_streaming()) {
            (true, _) => Answer::Grpc(documents),
            (false, true) => Answer::Events(documents),
            (false, false) => Answer::Json(200, documents.concat()),
        }
    }

    /// Whether it is spoken in JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.dialect != Dialect::G1
    }
}

impl std::fmt::Debug for Tongue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Tongue {
    fn eq(&self, other: &Self) -> bool {
        self.dialect == other.dialect
    }
}

/// A request of a caller.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
    /// Whether it goes over HTTP/2.
    pub(crate) http2: bool,
}

impl Said {
    pub(crate) fn new(method: &'static str, target: String) -> Self {
        let said = Self { method, target, headers: Vec::new(), body: None, http2: false };
        said.with("authorization", &format!("Bearer {}", crate::rig::P1))
    }

    /// One more header, in place of one of the same name.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without a header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// By another caller.
    pub(crate) fn by(self, key: &str) -> Self {
        self.with("authorization", &format!("Bearer {key}"))
    }

    pub(crate) fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.with("content-type", "application/json").body(body)
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.body.as_deref().unwrap_or_default()).into_owned()
    }

    /// The same with `old` in body and target replaced.
    pub(crate) fn replaced(mut self, old: &str, new: &str) -> Self {
        assert!(self.text().contains(old) || self.target.contains(old), "{old} is not in {}", self.text());
        self.target = self.target.replace(old, new);
        if self.body.is_some() {
            self.body = Some(self.text().replace(old, new).into_bytes());
        }
        self
    }
}

/// What a caller is told: status, media type, and what is in the body in a form that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) media: String,
    /// The one document of an answer, or the events of a stream ([`Told::json`], [`proto::shown`]).
    pub(crate) parts: Vec<String>,
    /// The status that gRPC ends with.
    pub(crate) end: Vec<String>,
}

impl Told {
    /// One JSON document.
    pub(crate) fn json(status: u16, media: &str, document: &str) -> Self {
        Self { status, media: media.to_owned(), parts: vec![sorted(document)], end: Vec::new() }
    }

    /// A stream of JSON documents.
    pub(crate) fn events<T: AsRef<str>>(documents: impl IntoIterator<Item = T>) -> Self {
        let parts = documents.into_iter().map(|document| sorted(document.as_ref())).collect();
        Self { status: 200, media: "text/event-stream".to_owned(), parts, end: Vec::new() }
    }

    /// Messages of gRPC, and an end that went well.
    pub(crate) fn grpc(messages: &[Vec<u8>]) -> Self {
        let parts = messages.iter().map(|message| proto::shown(message)).collect();
        Self { status: 200, media: "application/grpc".to_owned(), parts, end: vec!["0".to_owned()] }
    }

    /// Everything, for a look at what is not in it.
    pub(crate) fn all(&self) -> String {
        format!("{} {} {}", self.parts.join(" "), self.end.join(" "), self.media)
    }
}

/// A refusal as the table of errors has it (A2A 1.0 §5.4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal {
    /// JSON-RPC: code and HTTP status.
    pub(crate) code: i64,
    pub(crate) rpc: u16,
    /// HTTP+JSON: status and `google.rpc` name.
    pub(crate) http: (u16, &'static str),
    /// gRPC.
    pub(crate) grpc: u8,
    pub(crate) reason: &'static str,
    /// HTTP+JSON of 0.3.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// What an agent is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The request line, byte for byte.
    pub(crate) line: String,
    /// `name: value` of every header but those that differ each time, sorted.
    pub(crate) headers: Vec<String>,
    /// The body in a form that can be compared; the JSON-RPC id is `$ID`.
    pub(crate) body: String,
}

impl Asked {
    /// A request with these headers besides the gateway's own.
    pub(crate) fn new(line: &str, headers: &[&str], body: &str) -> Self {
        const OWN: [&str; 3] =
            ["accept-encoding: identity", "authorization: Bearer sk-upstream-secret", "x-brutor-tenant-id: acme"];
        let mut headers: Vec<String> = headers.iter().chain(&OWN).map(|header| (*header).to_owned()).collect();
        headers.sort();
        let body = if body.starts_with('{') { sorted(body) } else { body.to_owned() };
        Self { line: line.to_owned(), headers, body }
    }
}

/// What an agent answers.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// One document.
    Json(u16, Vec<u8>),
    /// A stream of documents.
    Events(Vec<Vec<u8>>),
    /// Messages of gRPC and status 0.
    Grpc(Vec<Vec<u8>>),
    /// Messages of gRPC, then a status: its code, its text and its details.
    GrpcFault(Vec<Vec<u8>>, u8, &'static str, Vec<u8>),
    /// Bytes, pauses and endings over HTTP/1.1.
    Raw(sample_agents::hostile::Reply),
}

/// What is inside of a JSON-RPC envelope, or the document itself.
pub(crate) fn bare(document: &str) -> String {
    let Ok(tree) = json::read(document.as_bytes(), &json::Limits::default()) else { return document.to_owned() };
    let inside = ["params", "result"].into_iter().find_map(|member| tree.get(member).cloned());
    if tree.get("jsonrpc").is_some() { shown(&inside.unwrap_or(tree)) } else { document.to_owned() }
}

/// JSON texts as the bytes of results.
pub(crate) fn bytes(documents: Vec<String>) -> Vec<Vec<u8>> {
    documents.into_iter().map(String::into_bytes).collect()
}

/// A document with the members of every object in order, so that two that say the same are equal. Digits stay.
pub(crate) fn sorted(document: &str) -> String {
    let read = json::read(document.as_bytes(), &json::Limits::default());
    let tree = read.unwrap_or_else(|error| panic!("{error}: {document}"));
    shown(&in_order(tree))
}

pub(crate) fn shown(tree: &Json) -> String {
    String::from_utf8_lossy(&json::write(tree)).into_owned()
}

fn in_order(tree: Json) -> Json {
    match tree {
        Json::Array(elements) => Json::Array(elements.into_iter().map(in_order).collect()),
        Json::Object(object) => {
            let mut members: Vec<(String, Json)> =
                object.into_iter().map(|(key, value)| (key, in_order(value))).collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Json::Object(Object::unique(members).unwrap_or_default())
        }
        leaf @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => leaf,
    }
}
