//! A gRPC caller and a scripted gRPC agent, on bare HTTP/2.
//!
//! Every wait has a deadline; the agent goes on only when the test says so.

use crate::wire::DEADLINE;
use a2a::dialect::{AgentAddress, Colon, Minted, PathBody, R3Bytes, R3Objects, SubscribeVerb, encode_call};
use a2a::grpc::{Frames, Status};
use a2a::{Answer, Call, Dialect, Event, Fault, OperationKind, Version};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioIo};
use json::{Json, Object};
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub(crate) type Http2 = legacy::Client<legacy::connect::HttpConnector, Full<Bytes>>;

/// A client whose calls share a connection.
pub(crate) fn http2() -> Http2 {
    legacy::Client::builder(TokioExecutor::new()).http2_only(true).build_http()
}

/// A request's body as the test feeds it.
pub(crate) struct Pieces(pub(crate) mpsc::Receiver<Bytes>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A client of such bodies.
pub(crate) fn http2_of_pieces() -> legacy::Client<legacy::connect::HttpConnector, Pieces> {
    legacy::Client::builder(TokioExecutor::new()).http2_only(true).build_http()
}

/// Parameters as JSON text.
pub(crate) fn params(text: &str) -> Object {
    match json::read(text.as_bytes(), &json::Limits::default()) {
        Ok(Json::Object(params)) => params,
        other => panic!("{other:?}"),
    }
}

/// A call being made.
#[derive(Clone, Debug)]
pub(crate) struct Grpc {
    url: String,
    pub(crate) body: Vec<u8>,
    headers: Vec<(String, String)>,
    kind: OperationKind,
}

impl Grpc {
    /// `kind` of the card `card` of the gateway, or of the agent, at `address`.
    pub(crate) fn call(address: SocketAddr, card: &str, kind: OperationKind, text: &str) -> Self {
        let call = Call { kind, params: params(text), origin: Version::V10 };
        let address = AgentAddress {
            base: format!("http://{address}"),
            tenant: Some(card.to_owned()).filter(|card| !card.is_empty()),
            colon: Colon::Percent,
            path_body: PathBody::Envelope,
            r3_bytes: R3Bytes::Auto,
            r3_objects: R3Objects::Proto,
        };
        let minted = Minted { rpc_id: "r", message_id: "m" };
        let outgoing = encode_call(Dialect::G1, &call, &address, minted, SubscribeVerb::Post).unwrap();
        let headers = outgoing.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { url: outgoing.url, body: outgoing.body.unwrap(), headers, kind }
    }

    /// One more field of metadata, in place of one of the same name.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// One more field of metadata, beside any of the same name.
    pub(crate) fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without a field of metadata.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// A bearer key.
    pub(crate) fn key(self, key: &str) -> Self {
        self.with("authorization", &format!("Bearer {key}"))
    }

    /// The same call to another path.
    pub(crate) fn at(mut self, path: &str) -> Self {
        let origin = self.url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        self.url = format!("{origin}{path}");
        self
    }

    /// Sends it and gives the open answer.
    pub(crate) async fn open(self) -> Open {
        self.open_on(&http2()).await
    }

    /// The same on a connection that others use too.
    pub(crate) fn open_on(self, client: &Http2) -> Pin<Box<dyn Future<Output = Open> + Send>> {
        Box::pin(self.opened(client.clone()))
    }

    async fn opened(self, client: Http2) -> Open {
        let mut request = Request::post(&self.url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::from(self.body)).unwrap();
        let response = timeout(DEADLINE, client.request(request)).await.expect("no head in time").unwrap();
        let (head, body) = response.into_parts();
        Open { head, body, frames: Frames::new(64 << 20), trailers: HeaderMap::new(), kind: self.kind, _client: client }
    }

    /// Sends it and reads the whole answer.
    pub(crate) async fn send(self) -> Result<Answer, Fault> {
        let mut open = self.open().await;
        let message = open.message().await;
        assert!(open.message().await.is_none(), "more than one message");
        let status = open.status();
        if !status.is_ok() {
            assert!(message.is_none(), "a message and a fault");
            return Err(fault(&status, open.kind));
        }
        Ok(a2a::grpc::decode_answer(open.kind, &message.unwrap(), &json::Limits::default()).unwrap())
    }

    /// Sends it and reads every event, and how it ended.
    pub(crate) async fn events(self) -> (Vec<Event>, Result<(), Fault>) {
        let mut open = self.open().await;
        let mut events = Vec::new();
        while let Some(event) = open.event().await {
            events.push(event);
        }
        let status = open.status();
        (events, if status.is_ok() { Ok(()) } else { Err(fault(&status, open.kind)) })
    }
}

/// The fault of a status, as an agent's would be read; the ones that stand for "not there" by their code.
fn fault(status: &Status, kind: OperationKind) -> Fault {
    status.fault(kind).unwrap_or_else(|error| Fault::new(a2a::FaultKind::UpstreamUnavailable, error.to_string()))
}

/// An answer that is being read.
pub(crate) struct Open {
    pub(crate) head: http::response::Parts,
    body: Incoming,
    frames: Frames,
    pub(crate) trailers: HeaderMap,
    kind: OperationKind,
    _client: Http2,
}

impl Open {
    /// The next message; `None` at the end.
    pub(crate) async fn message(&mut self) -> Option<Bytes> {
        loop {
            if let Some(message) = self.frames.message().unwrap() {
                return Some(message);
            }
            match timeout(DEADLINE, self.body.frame()).await.expect("nothing came in time")?.unwrap().into_data() {
                Ok(bytes) => self.frames.push(&bytes),
                Err(frame) => self.trailers.extend(frame.into_trailers().unwrap()),
            }
        }
    }

    pub(crate) async fn event(&mut self) -> Option<Event> {
        let message = self.message().await?;
        Some(a2a::grpc::decode_event(&message, &json::Limits::default()).unwrap())
    }

    /// How it ended.
    pub(crate) fn status(&self) -> Status {
        assert_eq!(self.head.status, 200);
        assert_eq!(self.head.headers["content-type"], "application/grpc");
        Status::read(&self.trailers).or_else(|| Status::read(&self.head.headers)).expect("a status")
    }

    /// One trailer, or header of an answer without a message.
    pub(crate) fn told(&self, name: &str) -> &str {
        self.trailers.get(name).or_else(|| self.head.headers.get(name)).map_or("", |value| value.to_str().unwrap())
    }
}

/// What a scripted agent does next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Bytes of the body.
    Data(Vec<u8>),
    /// The trailers, after which nothing follows.
    Trailers(Vec<(&'static str, String)>),
    /// The body ends without trailers.
    End,
}

impl Step {
    /// An event of a stream, written by our own voice.
    pub(crate) fn event(text: &str) -> Self {
        let voice = a2a::Voice { dialect: Dialect::G1, streaming: true, ..a2a::Voice::unknown() };
        Self::Data(voice.event(Event { body: params(text).into(), origin: Version::V10 }))
    }

    /// A status.
    pub(crate) fn status(fault: Option<&Fault>) -> Self {
        Self::Trailers(a2a::grpc::trailers(fault, "agent.test"))
    }
}

/// A request that reached the scripted agent.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// An agent that answers every call with what the test feeds it, one step at a time.
pub(crate) struct Agent {
    pub(crate) address: SocketAddr,
    steps: mpsc::UnboundedSender<Step>,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Cancelled when an answer's stream was dropped by the caller before it ended.
    pub(crate) hung_up: CancellationToken,
    _stop: tokio_util::sync::DropGuard,
}

impl Agent {
    /// One that answers `calls` calls; each gets the next steps up to its trailers.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (steps, feed) = mpsc::unbounded_channel();
        let feed = Arc::new(tokio::sync::Mutex::new(feed));
        let (seen, hung_up, stop) =
            (Arc::<Mutex<Vec<Seen>>>::default(), CancellationToken::new(), CancellationToken::new());
        let shared = (Arc::clone(&seen), hung_up.clone(), stop.clone());
        #[expect(clippy::disallowed_methods, reason = "the agent is outside of the gateway")]
        tokio::spawn(async move {
            let (seen, hung_up, stop) = shared;
            loop {
                let socket = tokio::select! {
                    () = stop.cancelled() => return,
                    accepted = listener.accept() => accepted.unwrap().0,
                };
                let (seen, hung_up, feed) = (Arc::clone(&seen), hung_up.clone(), Arc::clone(&feed));
                let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                    let (seen, hung_up, feed) = (Arc::clone(&seen), hung_up.clone(), Arc::clone(&feed));
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await.unwrap().to_bytes();
                        seen.lock().unwrap().push(Seen {
                            path: head.uri.path().to_owned(),
                            headers: head.headers,
                            body,
                        });
                        Ok::<_, Infallible>(answer(feed, hung_up))
                    }
                });
                let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(socket), service);
                tokio::spawn(connection);
            }
        });
        Self { address, steps, seen, hung_up, _stop: stop.drop_guard() }
    }

    /// Feeds steps.
    pub(crate) fn feed(&self, steps: impl IntoIterator<Item = Step>) {
        for step in steps {
            self.steps.send(step).unwrap();
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

type Feed = Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Step>>>;

fn answer(feed: Feed, hung_up: CancellationToken) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
    /// Says so when it is dropped before the end.
    struct Watch(CancellationToken, bool);
    impl Drop for Watch {
        fn drop(&mut self) {
            if !self.1 {
                self.0.cancel();
            }
        }
    }
    let state = (feed, Watch(hung_up, false));
    let frames = futures_util::stream::unfold(state, |(feed, mut watch)| async move {
        if watch.1 {
            return None;
        }
        let step = feed.lock().await.recv().await;
        let frame = match step {
            Some(Step::Data(bytes)) => Frame::data(Bytes::from(bytes)),
            Some(Step::Trailers(trailers)) => {
                watch.1 = true;
                let value = |text: &str| text.parse().unwrap();
                Frame::trailers(
                    trailers.iter().map(|(name, text)| (http::HeaderName::from_static(name), value(text))).collect(),
                )
            }
            Some(Step::End) | None => {
                let Watch(_, ended) = &mut watch;
                *ended = true;
                return None;
            }
        };
        Some((Ok(frame), (feed, watch)))
    });
    let mut response = Response::new(StreamBody::new(frames.boxed()).boxed_unsync());
    response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    response
}
