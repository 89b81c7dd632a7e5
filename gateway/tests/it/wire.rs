//! A caller on a raw socket: what is written is what is sent, and what comes back is kept byte for byte.
//!
//! Knows just enough of HTTP/1.1 to find the end of an answer. Every wait has a deadline.

use a2a::sse::{Frame, Limits, Parser};
use json::Json;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long any wait lasts at most; what is waited for should come long before.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A request being written.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    line: String,
    headers: String,
    body: Vec<u8>,
}

impl Ask {
    /// A request with this method and exactly this target.
    pub(crate) fn new(method: &str, target: &str) -> Self {
        let headers = "Host: gw.test\r\nConnection: close\r\n".to_owned();
        Self { line: format!("{method} {target} HTTP/1.1\r\n"), headers, body: Vec::new() }
    }

    /// A POST.
    pub(crate) fn post(target: &str) -> Self {
        Self::new("POST", target)
    }

    /// A GET.
    pub(crate) fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// One more header, as it is written here.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// A bearer key.
    pub(crate) fn key(self, key: &str) -> Self {
        self.header("Authorization", &format!("Bearer {key}"))
    }

    /// `A2A-Version: 1.0`
    pub(crate) fn v10(self) -> Self {
        self.header("A2A-Version", "1.0")
    }

    /// A JSON body with its length.
    pub(crate) fn json(self, body: &str) -> Self {
        self.header("Content-Type", "application/json").body(body.as_bytes())
    }

    /// A body with its length.
    pub(crate) fn body(self, body: &[u8]) -> Self {
        let mut ask = self.header("Content-Length", &body.len().to_string());
        ask.body = body.to_vec();
        ask
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.line.as_bytes(), self.headers.as_bytes(), b"\r\n", &self.body].concat()
    }
}

/// An answer, whole.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// Every byte up to the end of the head.
    pub(crate) head: String,
    /// The status.
    pub(crate) status: u16,
    /// The body, with chunked framing taken off.
    pub(crate) body: Vec<u8>,
}

impl Heard {
    /// Every value of a header.
    pub(crate) fn headers(&self, name: &str) -> Vec<String> {
        let pairs = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        pairs.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned()).collect()
    }

    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers(name).into_iter().next()
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Json {
        json::read(&self.body, &json::Limits::default()).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The string at a pointer of the JSON body.
    pub(crate) fn at(&self, pointer: &str) -> String {
        at(&self.json(), pointer)
    }

    /// The JSON-RPC or HTTP+JSON error code of the body.
    pub(crate) fn code(&self) -> i64 {
        let json = self.json();
        json.pointer("/error/code").and_then(Json::as_number).and_then(json::Number::as_i64).unwrap_or(0)
    }

    /// The code of the answer, or of the last event where it is a stream.
    pub(crate) fn last_code(&self) -> i64 {
        let streams = self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        if streams { self.events().last().map_or(0, Told::code) } else { self.code() }
    }

    /// The events of a whole event stream.
    pub(crate) fn events(&self) -> Vec<Told> {
        let mut parser = Parser::new(Limits::default());
        let frames = parser.push(&self.body).unwrap();
        parser.finish().unwrap();
        frames.into_iter().filter_map(Told::of).collect()
    }
}

/// One event as the caller got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// The `event:` name.
    pub(crate) name: Option<String>,
    /// The data.
    pub(crate) data: String,
}

impl Told {
    fn of(frame: Frame) -> Option<Self> {
        match frame {
            Frame::Event { name, data } => Some(Self { name, data }),
            Frame::Comment => None,
        }
    }

    /// The data as JSON.
    pub(crate) fn json(&self) -> Json {
        json::read(self.data.as_bytes(), &json::Limits::default()).unwrap()
    }

    /// The string at a pointer of the data.
    pub(crate) fn at(&self, pointer: &str) -> String {
        at(&self.json(), pointer)
    }

    /// The code of the error in the data.
    pub(crate) fn code(&self) -> i64 {
        let json = self.json();
        json.pointer("/error/code").and_then(Json::as_number).and_then(json::Number::as_i64).unwrap_or(0)
    }
}

fn at(json: &Json, pointer: &str) -> String {
    match json.pointer(pointer) {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Number(number)) => number.as_text().to_owned(),
        Some(Json::Bool(flag)) => flag.to_string(),
        Some(Json::Null | Json::Array(_) | Json::Object(_)) | None => String::new(),
    }
}

/// Sends bytes and reads one whole answer.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> Heard {
    let mut live = Live::open(address, bytes).await;
    let body = live.rest().await;
    Heard { head: live.head, status: live.status, body }
}

/// A connection whose answer is being read.
#[derive(Debug)]
pub(crate) struct Live {
    socket: TcpStream,
    /// The head of the answer.
    pub(crate) head: String,
    /// The status.
    pub(crate) status: u16,
    buffer: Vec<u8>,
    framing: Framing,
    parser: Parser,
    frames: VecDeque<Frame>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
    Over,
}

impl Live {
    /// Sends bytes and reads the head of the answer.
    pub(crate) async fn open(address: SocketAddr, bytes: &[u8]) -> Self {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let _ = socket.write_all(bytes).await;
        Self::answered(socket).await
    }

    /// Reads the head of an answer on a socket.
    pub(crate) async fn answered(mut socket: TcpStream) -> Self {
        let mut buffer = Vec::new();
        let end = loop {
            if let Some(at) = find(&buffer, b"\r\n\r\n") {
                break at + 4;
            }
            assert!(
                read(&mut socket, &mut buffer).await,
                "closed before an answer: {}",
                String::from_utf8_lossy(&buffer)
            );
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        buffer.drain(..end);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        if status == 100 {
            return Box::pin(Self::answered(socket)).await;
        }
        let value = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
        };
        let framing = match (value("transfer-encoding"), value("content-length")) {
            (Some(_), _) => Framing::Chunked,
            (None, Some(length)) => Framing::Length(length.parse().unwrap()),
            (None, None) => Framing::UntilClose,
        };
        Self { socket, head, status, buffer, framing, parser: Parser::new(Limits::default()), frames: VecDeque::new() }
    }

    /// The rest of the body.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await {
            body.extend(piece);
        }
        body
    }

    /// The next event; `None` at the end of the body.
    pub(crate) async fn event(&mut self) -> Option<Told> {
        loop {
            match self.frames.pop_front() {
                Some(frame) => match Told::of(frame) {
                    Some(told) => return Some(told),
                    None => continue,
                },
                None => {
                    let piece = self.piece().await?;
                    self.frames.extend(self.parser.push(&piece).unwrap());
                }
            }
        }
    }

    /// Closes the connection without reading on.
    pub(crate) fn vanish(self) {
        drop(self);
    }

    /// The next bytes of the body; `None` at its end.
    pub(crate) async fn piece(&mut self) -> Option<Vec<u8>> {
        match self.framing {
            Framing::Over => None,
            Framing::Length(0) => {
                self.framing = Framing::Over;
                None
            }
            Framing::Length(left) => {
                if self.buffer.is_empty() {
                    assert!(read(&mut self.socket, &mut self.buffer).await, "closed inside the body");
                }
                let piece: Vec<u8> = self.buffer.drain(..left.min(self.buffer.len())).collect();
                self.framing = Framing::Length(left - piece.len());
                Some(piece)
            }
            Framing::UntilClose => {
                if self.buffer.is_empty() && !read(&mut self.socket, &mut self.buffer).await {
                    self.framing = Framing::Over;
                    return None;
                }
                Some(std::mem::take(&mut self.buffer))
            }
            Framing::Chunked => self.chunk().await,
        }
    }

    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                break at;
            }
            assert!(read(&mut self.socket, &mut self.buffer).await, "closed before the last chunk");
        };
        let size = usize::from_str_radix(std::str::from_utf8(&self.buffer[..end]).unwrap().trim(), 16).unwrap();
        while self.buffer.len() < end + 2 + size + 2 {
            assert!(read(&mut self.socket, &mut self.buffer).await, "closed inside a chunk");
        }
        let chunk = self.buffer[end + 2..end + 2 + size].to_vec();
        self.buffer.drain(..end + 2 + size + 2);
        if size == 0 {
            self.framing = Framing::Over;
            return None;
        }
        Some(chunk)
    }
}

async fn read(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    let read = tokio::time::timeout(DEADLINE, socket.read_buf(buffer)).await.expect("nothing came in time");
    matches!(read, Ok(count) if count > 0)
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}
