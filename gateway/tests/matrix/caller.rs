//! A caller on a socket, over HTTP/1.1 or HTTP/2: a request as it is written, and what comes back, part by part.
//!
//! Events and messages are taken apart here, apart from the codecs under test. Every wait has a deadline.

use crate::proto;
use crate::tongue::{Said, Told, sorted};
use crate::wire::{Ask, DEADLINE, Live};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use std::net::SocketAddr;
use tokio::time::timeout;

type Http2 = legacy::Client<legacy::connect::HttpConnector, Full<Bytes>>;

/// An answer that is being read.
pub(crate) struct Hearing {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    from: From,
    buffer: Vec<u8>,
    trailers: HeaderMap,
}

enum From {
    Http1(Box<Live>),
    Http2(Box<Incoming>, #[expect(dead_code, reason = "it keeps the connection")] Box<Http2>),
}

impl Hearing {
    /// Sends a request and reads the head of its answer.
    pub(crate) async fn open(address: SocketAddr, said: &Said) -> Self {
        if said.http2 { Self::http2(address, said).await } else { Self::http1(address, said).await }
    }

    async fn http1(address: SocketAddr, said: &Said) -> Self {
        let ask = Ask::new(said.method, &said.target);
        let ask = said.headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
        let ask = match &said.body {
            Some(body) => ask.body(body),
            None => ask,
        };
        let live = Live::open(address, &ask.bytes()).await;
        let mut headers = HeaderMap::new();
        for (name, value) in live.head.lines().skip(1).filter_map(|line| line.split_once(':')) {
            headers.append(name.parse::<http::HeaderName>().unwrap(), value.trim().parse().unwrap());
        }
        let (status, from) = (live.status, From::Http1(Box::new(live)));
        Self { status, headers, from, buffer: Vec::new(), trailers: HeaderMap::new() }
    }

    async fn http2(address: SocketAddr, said: &Said) -> Self {
        let client: Http2 = legacy::Client::builder(TokioExecutor::new()).http2_only(true).build_http();
        let mut request = http::Request::builder().method(said.method).uri(format!("http://{address}{}", said.target));
        for (name, value) in &said.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::from(said.body.clone().unwrap_or_default())).unwrap();
        let response = timeout(DEADLINE, client.request(request)).await.expect("no head in time").unwrap();
        let (head, body) = response.into_parts();
        Self {
            status: head.status.as_u16(),
            headers: head.headers,
            from: From::Http2(Box::new(body), Box::new(client)),
            buffer: Vec::new(),
            trailers: HeaderMap::new(),
        }
    }

    pub(crate) fn media(&self) -> String {
        self.headers.get("content-type").map_or("", |value| value.to_str().unwrap()).to_owned()
    }

    /// The next event or message; `None` at the end. Of an answer that is no stream, its document.
    pub(crate) async fn part(&mut self) -> Option<String> {
        let media = self.media();
        loop {
            let found = match media.as_str() {
                "text/event-stream" => self.event(),
                "application/grpc" => proto::unframed(&mut self.buffer).map(|message| proto::shown(&message)),
                _ => None,
            };
            if let Some(part) = found.filter(|part| !part.is_empty()) {
                return Some(part);
            }
            if !self.more().await {
                let rest = String::from_utf8(std::mem::take(&mut self.buffer)).unwrap();
                return Some(rest).filter(|rest| !rest.is_empty()).map(|rest| shown(&media, &rest));
            }
        }
    }

    /// Everything.
    pub(crate) async fn told(mut self) -> Told {
        let mut parts = Vec::new();
        while let Some(part) = self.part().await {
            parts.push(part);
        }
        Told { status: self.status, media: self.media(), parts, end: self.end() }
    }

    /// The whole body as it came.
    pub(crate) async fn raw(mut self) -> Vec<u8> {
        while self.more().await {}
        self.buffer
    }

    /// How gRPC ended: code, and if that is not 0 message and details.
    fn end(&self) -> Vec<String> {
        let told = |name: &str| {
            let value = self.trailers.get(name).or_else(|| self.headers.get(name))?;
            Some(value.to_str().unwrap().to_owned())
        };
        let details = |text: String| proto::shown(&STANDARD_NO_PAD.decode(text.trim_end_matches('=')).unwrap());
        let details = told("grpc-status-details-bin").map(details);
        [told("grpc-status"), told("grpc-message"), details].into_iter().flatten().collect()
    }

    /// Reads on; whether anything came.
    async fn more(&mut self) -> bool {
        match &mut self.from {
            From::Http1(live) => match live.piece().await {
                Some(piece) => self.buffer.extend(piece),
                None => return false,
            },
            From::Http2(body, _) => match timeout(DEADLINE, body.frame()).await.expect("nothing came in time") {
                Some(frame) => match frame.unwrap().into_data() {
                    Ok(bytes) => self.buffer.extend(bytes),
                    Err(frame) => self.trailers.extend(frame.into_trailers().unwrap()),
                },
                None => return false,
            },
        }
        true
    }

    /// The next whole event: its data, behind `error! ` if that is its name. A comment is nothing.
    fn event(&mut self) -> Option<String> {
        let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
        let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
        let block = String::from_utf8(block).unwrap();
        let (mut name, mut data) = ("", None);
        for line in block.trim_end().split('\n') {
            if line == "event: error" {
                name = "error! ";
            } else if let Some(text) = line.strip_prefix("data: ") {
                assert!(data.replace(text).is_none(), "an event on more than one line: {block}");
            } else {
                assert!(line.starts_with(": "), "an unknown line: {block}");
            }
        }
        data.map_or_else(|| Some(String::new()), |data| Some(format!("{name}{}", sorted(data))))
    }
}

fn shown(media: &str, document: &str) -> String {
    if media.ends_with("json") { sorted(document) } else { document.to_owned() }
}
