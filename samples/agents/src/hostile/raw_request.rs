//! A request exactly as it came off the socket: the request line, the head and the body, nothing normalised.
//!
//! Takes a socket, gives [`RawRequest`]s. Understands just enough of HTTP/1.1 (`Content-Length`, `chunked`) to know where a
//! body ends; it never rejects, because it exists to show what a peer really sent.

use std::io;

use bytes::{Bytes, BytesMut};
use json::{Json, Limits};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// One request as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRequest {
    /// The request line without its line end, e.g. `POST /message%3Asend HTTP/1.1`.
    pub line: String,
    /// The header lines as they came, each with its line end.
    pub headers: Bytes,
    /// The body, with chunked framing taken off.
    pub body: Bytes,
    /// Which connection it came on, counted from 0.
    pub connection: usize,
}

impl RawRequest {
    /// The method of the request line.
    #[must_use]
    pub fn method(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// The target of the request line: path and query, byte for byte.
    #[must_use]
    pub fn target(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    /// The target without its query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    /// The header block as text.
    #[must_use]
    pub fn headers_text(&self) -> String {
        String::from_utf8_lossy(&self.headers).into_owned()
    }

    /// Every header in order, names as they were spelled.
    #[must_use]
    pub fn header_list(&self) -> Vec<(String, String)> {
        let text = self.headers_text();
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
    }

    /// The first header of this name, whatever its case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        self.header_list().into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The body as text.
    #[must_use]
    pub fn body_text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; `null` if it is none.
    #[must_use]
    pub fn json(&self) -> Json {
        json::read(&self.body, &Limits::default()).unwrap_or_default()
    }
}

/// Reads the next request; `None` when the peer has closed (also in the middle of one).
pub(super) async fn next(
    socket: &mut TcpStream,
    buffer: &mut BytesMut,
    connection: usize,
) -> io::Result<Option<RawRequest>> {
    let Some(end) = until(socket, buffer, b"\r\n\r\n").await? else { return Ok(None) };
    let head = buffer.split_to(end).freeze();
    let line_end = find(&head, b"\r\n").unwrap_or(head.len());
    let line = String::from_utf8_lossy(head.get(..line_end).unwrap_or_default()).into_owned();
    let headers = head.slice((line_end + 2).min(head.len())..head.len().saturating_sub(2).max(line_end + 2));
    let mut request = RawRequest { line, headers, body: Bytes::new(), connection };
    let body = match Framing::of(&request) {
        Framing::Length(length) => exactly(socket, buffer, length).await?,
        Framing::Chunked => chunks(socket, buffer).await?,
    };
    Ok(body.map(|body| {
        request.body = body;
        request
    }))
}

enum Framing {
    Length(usize),
    Chunked,
}

impl Framing {
    fn of(request: &RawRequest) -> Self {
        let coding = request.header("transfer-encoding").unwrap_or_default();
        if coding.to_ascii_lowercase().contains("chunked") {
            return Self::Chunked;
        }
        Self::Length(request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0))
    }
}

async fn chunks(socket: &mut TcpStream, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
    let mut body = BytesMut::new();
    loop {
        let Some(end) = until(socket, buffer, b"\r\n").await? else { return Ok(None) };
        let line = buffer.split_to(end);
        let digits: String =
            line.iter().take_while(|byte| byte.is_ascii_hexdigit()).map(|byte| *byte as char).collect();
        let size = usize::from_str_radix(&digits, 16).unwrap_or(0);
        let Some(chunk) = exactly(socket, buffer, size + 2).await? else { return Ok(None) };
        if size == 0 {
            return Ok(Some(body.freeze()));
        }
        body.extend_from_slice(chunk.get(..size).unwrap_or_default());
    }
}

/// Fills the buffer until it holds `mark`; gives the position behind it.
async fn until(socket: &mut TcpStream, buffer: &mut BytesMut, mark: &[u8]) -> io::Result<Option<usize>> {
    loop {
        if let Some(at) = find(buffer, mark) {
            return Ok(Some(at + mark.len()));
        }
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

async fn exactly(socket: &mut TcpStream, buffer: &mut BytesMut, length: usize) -> io::Result<Option<Bytes>> {
    while buffer.len() < length {
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(buffer.split_to(length).freeze()))
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}
