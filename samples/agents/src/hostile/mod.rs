//! Agents that misbehave on purpose, each on a port of its own: what a gateway must survive.
//!
//! [`start`] gives a ready-made [`Behaviour`]; [`Scripted::start`] plays any [`Script`]. Both record every request byte for
//! byte. A behaviour goes wrong only where it says so and is an honest agent otherwise, in J1, R1, J3 and `path_rpc`.
//! For tests; never part of a demo.

mod raw_request;
mod script;
mod scripted;
mod spoken;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use json::Json;

pub use raw_request::RawRequest;
pub use script::{Gate, Reply, Script};
pub use scripted::{DEADLINE, NotSeen, Scripted, Seen};
pub use spoken::{Asked, Spoken, State};

/// One way to misbehave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Nothing wrong: the control.
    Honest,
    /// Takes the request and never answers.
    Hang,
    /// One whole event, half of the next, then RST. Unary answers break off in the middle as well.
    ResetMidEvent,
    /// 503 with a JSON body at once.
    Unavailable,
    /// Nobody listens.
    Refuse,
    /// Answers a stream request with one JSON error, not with events.
    ErrorToStream,
    /// A stream that says WORKING and then ends in order, without a terminal event; who asks for the task hears the same.
    StopsUnfinished,
    /// Answers under another JSON-RPC id than it was asked.
    WrongRpcId,
    /// The answer has a key twice.
    RepeatedKeys,
    /// A web page with status 200.
    Html,
    /// Bytes that are neither HTTP nor anything else.
    Garbage,
    /// The honest answer, a few bytes at a time with pauses of this length.
    Slow {
        /// The pause after every few bytes.
        pause: Duration,
    },
    /// Honest, but after its card was fetched so many times it is another, which points elsewhere.
    RugPulledCard {
        /// How often the card of the beginning is given out.
        fetches: usize,
        /// Where the later card points.
        url: String,
    },
    /// `Content-Encoding: gzip`, without having been asked for it.
    Gzip,
    /// A redirect to this place.
    Redirect {
        /// The value of `Location`.
        location: String,
    },
    /// A unary answer of about this many bytes.
    Huge {
        /// Bytes of text in the answer.
        bytes: usize,
    },
    /// A stream of events that never ends.
    Endless,
    /// A stream whose line reaches this many bytes without a line end, then waits.
    LongLine {
        /// Bytes on the line.
        bytes: usize,
    },
    /// Every task in every answer has this id.
    OthersTask {
        /// The id of somebody else's task.
        id: String,
    },
    /// Lists these tasks, whoever asks.
    ListsEverybody {
        /// Their ids.
        ids: Vec<String>,
    },
    /// 405 to `POST tasks/{id}:subscribe`.
    SubscribeByGetOnly,
    /// 405 to `GET tasks/{id}:subscribe`.
    SubscribeByPostOnly,
    /// Knows `message:send` with a literal colon only; 404 on `%3A`.
    LiteralColonOnly,
    /// Knows `message%3Asend` only; 404 on a literal colon.
    PercentColonOnly,
    /// Honest, and the artifact's text is the request line, the headers and the body as they were received.
    Mirror,
}

/// Starts an agent that behaves like this, on a free port of 127.0.0.1.
///
/// # Errors
/// When no port can be bound.
pub async fn start(behaviour: Behaviour) -> io::Result<Scripted> {
    if behaviour == Behaviour::Refuse {
        return Scripted::refusing();
    }
    let fetched = AtomicUsize::new(0);
    Scripted::start(Script::by(move |request| {
        if let Behaviour::RugPulledCard { fetches, url } = &behaviour
            && Spoken::of(request).asked == Asked::Card
            && fetched.fetch_add(1, Ordering::Relaxed) >= *fetches
        {
            return Spoken::of(request).honest(url, ANSWER);
        }
        behaviour.reply(request)
    }))
    .await
}

/// What an honest answer's artifact says.
pub const ANSWER: &str = "an answer";

/// The id of the task in behaviours that break off.
const TASK: &str = "t-1";

impl Behaviour {
    /// The reply to one request.
    #[must_use]
    pub fn reply(&self, request: &RawRequest) -> Reply {
        let spoken = Spoken::of(request);
        let url = format!("http://{}", request.header("host").unwrap_or_default());
        if spoken.asked == Asked::Card {
            return spoken.honest(&url, ANSWER);
        }
        self.misbehave(request, &spoken).unwrap_or_else(|| spoken.honest(&url, ANSWER))
    }

    /// `None` where this behaviour is honest.
    fn misbehave(&self, request: &RawRequest, spoken: &Spoken) -> Option<Reply> {
        let working = || spoken.event(spoken.sent(spoken.task(TASK, State::Working, ANSWER)));
        match self {
            Self::Honest | Self::RugPulledCard { .. } => None,
            Self::Garbage => {
                Some(Reply::nothing().bytes(b"\x16\x03\x01\x02\x00\x01\xfc\x00garbage\x00\xff\r\n".to_vec()).close())
            }
            Self::Slow { pause } => Some(spoken.honest("", ANSWER).in_drops(DROP, *pause)),
            Self::Hang | Self::Refuse => Some(Reply::nothing().hang()),
            Self::ResetMidEvent if spoken.wants_stream() => Some(
                Reply::sse()
                    .event(working())
                    .bytes("400\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"statusUp"),
            )
            .map(|reply| reply.pause(SETTLE).reset()),
            Self::ResetMidEvent => {
                let head = Reply::head("200 OK", &[("Content-Type", "application/json"), ("Content-Length", "400")]);
                Some(head.bytes("{\"jsonrpc\":\"2.0\",").pause(SETTLE).reset())
            }
            Self::Unavailable => Some(Reply::json(503, r#"{"error":"internal detail of the agent"}"#)),
            Self::ErrorToStream => {
                let refuse = || spoken.error(-32004, 400, "UNSUPPORTED_OPERATION", "This agent does not stream");
                spoken.wants_stream().then(refuse)
            }
            Self::StopsUnfinished if spoken.asked == Asked::Get => {
                Some(spoken.answer(spoken.task(TASK, State::Working, ANSWER)))
            }
            Self::StopsUnfinished => spoken.wants_stream().then(|| Reply::sse().event(working()).end().close()),
            Self::WrongRpcId => Some(spoken.clone().with_rpc_id("not-yours").honest("", ANSWER)),
            Self::RepeatedKeys => Some(repeated_keys(spoken)),
            Self::Html => {
                Some(Reply::whole(200, "text/html", "<!doctype html><title>Welcome</title><h1>It works!</h1>"))
            }
            Self::Gzip => Some(gzipped(&spoken.event(spoken.sent(spoken.task(TASK, State::Completed, ANSWER))))),
            Self::Redirect { location } => {
                Some(Reply::head("302 Found", &[("Location", location), ("Content-Length", "0")]))
            }
            Self::Huge { bytes } => {
                let text = "x".repeat(*bytes);
                Some(spoken.answer(spoken.sent(spoken.task(TASK, State::Completed, &text))))
            }
            Self::Endless => {
                let update = spoken.event(spoken.status_update(TASK, State::Working));
                let event = format!("data: {update}\n\n");
                let chunk = format!("{:x}\r\n{event}\r\n", event.len());
                Some(Reply::sse().event(working()).forever(chunk))
            }
            Self::LongLine { bytes } => {
                Some(Reply::sse().event(working()).chunk(format!("data: \"{}", "x".repeat(*bytes))).hang())
            }
            Self::OthersTask { id } => {
                let mut named = spoken.clone();
                named.task = Some(id.clone());
                Some(named.honest("", ANSWER))
            }
            Self::ListsEverybody { ids } => {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                (spoken.asked == Asked::List).then(|| spoken.answer(spoken.list(&ids, ANSWER)))
            }
            Self::SubscribeByGetOnly => not_by(request, spoken, "POST"),
            Self::SubscribeByPostOnly => not_by(request, spoken, "GET"),
            Self::LiteralColonOnly => request.path().to_ascii_lowercase().contains("%3a").then(not_found),
            Self::PercentColonOnly => request.path().contains(':').then(not_found),
            Self::Mirror => {
                let heard = format!("{}\r\n{}\r\n{}", request.line, request.headers_text(), request.body_text());
                Some(spoken.honest("", &heard))
            }
        }
    }
}

/// How many bytes a slow agent writes at once.
const DROP: usize = 16;

/// So that what was written before a reset is with the peer.
const SETTLE: Duration = Duration::from_millis(50);

fn not_found() -> Reply {
    Reply::whole(404, "text/plain", "Not Found")
}

/// 405 to a bare subscription with this method; an enveloped one is always a POST to the root.
fn not_by(request: &RawRequest, spoken: &Spoken, method: &str) -> Option<Reply> {
    let refused = spoken.asked == Asked::Subscribe && request.method() == method && request.path().contains("/tasks/");
    let allow = if method == "POST" { "GET" } else { "POST" };
    refused.then(|| Reply::head("405 Method Not Allowed", &[("Allow", allow), ("Content-Length", "0")]))
}

/// A task whose `artifacts` come twice: a harmless one first, another one last.
fn repeated_keys(spoken: &Spoken) -> Reply {
    let honest = spoken.event(spoken.sent(spoken.task(TASK, State::Completed, ANSWER)));
    let other = Json::from([("artifactId", "a-2"), ("name", "the other one")]);
    let other = String::from_utf8_lossy(&json::write(&vec![other].into())).into_owned();
    let answer = honest.replacen("\"artifacts\":", &format!("\"artifacts\":{other},\"artifacts\":"), 1);
    if spoken.wants_stream() { Reply::sse().event(answer).end() } else { Reply::json(200, answer) }
}

fn gzipped(text: &str) -> Reply {
    let body = gzip(text.as_bytes());
    let length = body.len().to_string();
    let headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip"), ("Content-Length", &*length)];
    Reply::head("200 OK", &headers).bytes(body)
}

/// Valid gzip (RFC 1952) of stored blocks: nothing is compressed, and any reader can unpack it.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let blocks: Vec<&[u8]> = bytes.chunks(0xffff).collect();
    for (at, block) in blocks.iter().enumerate() {
        out.push(u8::from(at + 1 == blocks.len()));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    let crc = !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    });
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_of_check_string_has_the_published_crc() {
        let packed = gzip(b"123456789");
        assert_eq!(packed[packed.len() - 8..packed.len() - 4], 0xcbf4_3926_u32.to_le_bytes());
        assert_eq!(&packed[15..24], b"123456789");
    }
}
