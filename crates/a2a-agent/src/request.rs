//! One HTTP request → one HTTP response: find the operation, read the call, answer in the caller's dialect.
//!
//! Takes requests of any body type, so it can be called in process; gives responses that are whole or a stream of events.
//! Everything particular to a dialect is crate `a2a`'s.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use a2a::dialect::{RequestFacts, TargetError, Voice, Wire, target};
use a2a::{Answer, Call, Dialect, Envelope, Event, Fault, FaultKind, OperationKind, Target, Version, grpc};
use bytes::Bytes;
use futures_util::stream;
use http::header::HeaderName;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use json::{Json, Limits};
use percent_encoding::percent_decode_str;

use crate::agent::{Server, Shared};
use crate::list::{ListQuery, history_length};
use crate::listen::Body;
use crate::task::View;
use crate::tasks::Subscription;
use crate::turn::First;

/// Largest request body.
pub const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// How long a caller may take to send its body.
const BODY_PATIENCE: Duration = Duration::from_secs(60);

/// A sign of life on quiet streams.
const PING: Duration = Duration::from_secs(15);

/// The domain of reasons that A2A does not define.
const DOMAIN: &str = "a2a-agent";

impl Server {
    /// Answers one request. Paths that are not below the agent's URL are 404.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let in_grpc = head.uri.path().strip_prefix(&*self.0.mount).and_then(|path| grpc::target(&head.method, path));
        match in_grpc {
            Some(Ok(target)) => return self.told(&target, &head, body).await,
            Some(Err(_)) => return whole(grpc_voice().fault(&FaultKind::PathNotFound.into(), DOMAIN)),
            None => {}
        }
        let Some(rest) = below(&self.0.mount, head.uri.path()) else { return not_here(TargetError::NotFound) };
        if rest == ["health"] {
            return document(&[("status", "ok")].into());
        }
        match target(&head.method, &rest) {
            Ok(Target::Card) => card(&self.0.card),
            Ok(target) => self.told(&target, &head, body).await,
            Err(error) => not_here(error),
        }
    }

    async fn told<B>(&self, target: &Target, head: &Parts, body: B) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        match self.0.exchange(target, head, body).await {
            Ok(response) => response,
            Err((voice, fault)) => whole(voice.fault(&fault, DOMAIN)),
        }
    }
}

impl Shared {
    async fn exchange<B>(
        self: &Arc<Self>,
        target: &Target,
        head: &Parts,
        body: B,
    ) -> Result<Response<Body>, (Voice, Fault)>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let facts = facts(head);
        let body = read(body).await.map_err(|fault| (Voice::detect(target, &facts), fault))?;
        let envelope = Envelope::open(target, &facts, self.versions, &body, &Limits::default())
            .map_err(|refusal| (refusal.voice, refusal.fault))?;
        let (voice, kind) = (envelope.voice().clone(), envelope.kind());
        match self.perform(envelope).await {
            Ok(Done::Answer(body)) => Ok(whole(voice.answer(kind, Answer { body, origin: Version::V10 }))),
            Ok(Done::Events(feed)) => Ok(events(feed, voice)),
            Err(fault) => Err((voice, fault)),
        }
    }

    async fn perform(self: &Arc<Self>, envelope: Envelope) -> Result<Done, Fault> {
        let call = envelope.call()?;
        let answer = match call.kind {
            OperationKind::SendMessage => self.send(call).await?,
            OperationKind::SendStreamingMessage => {
                return Ok(Done::Events(match self.stream(call).await? {
                    First::Message(message) => Feed::Message(Some(message)),
                    First::Task(subscription) => Feed::Task(subscription),
                }));
            }
            OperationKind::SubscribeToTask => {
                return Ok(Done::Events(Feed::Task(self.tasks.subscribe(named(&call)?, View::WHOLE)?)));
            }
            OperationKind::GetTask => {
                let view = View { history: history_length(&call.params)?, artifacts: true };
                self.tasks.document(named(&call)?, view).ok_or(FaultKind::TaskNotFound)?
            }
            OperationKind::ListTasks => self.tasks.list(&ListQuery::of(&call)?),
            OperationKind::CancelTask => self.tasks.cancel(named(&call)?)?,
            OperationKind::CreatePushConfig
            | OperationKind::GetPushConfig
            | OperationKind::ListPushConfigs
            | OperationKind::DeletePushConfig => return Err(FaultKind::PushNotSupported.into()),
            OperationKind::GetExtendedCard => self.extended.clone().ok_or(FaultKind::ExtendedCardNotConfigured)?,
        };
        Ok(Done::Answer(answer))
    }
}

enum Done {
    Answer(Json),
    Events(Feed),
}

/// Where the events of a stream come from.
enum Feed {
    Message(Option<Json>),
    Task(Subscription),
}

impl Feed {
    async fn next(&mut self) -> Option<Json> {
        match self {
            Self::Message(message) => message.take().map(|message| [("message", message)].into()),
            Self::Task(subscription) => subscription.next().await,
        }
    }
}

fn named(call: &Call) -> Result<&str, Fault> {
    call.task_id().ok_or_else(|| Fault::invalid_params("id is missing"))
}

/// The decoded segments below the mount; `None` outside of it. Split before decoding, so `%2F` never makes a segment.
fn below(mount: &str, path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix(mount)?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let segments = rest.split('/').skip(1);
    segments.map(|segment| percent_decode_str(segment).decode_utf8().ok().map(Into::into)).collect()
}

fn facts(head: &Parts) -> RequestFacts<'_> {
    RequestFacts {
        versions: head.headers.get_all("a2a-version").iter().filter_map(|value| value.to_str().ok()).collect(),
        query: head.uri.query(),
        content_type: head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()),
        user_agent: head.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()),
    }
}

async fn read<B>(body: B) -> Result<Bytes, Fault>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let collected = tokio::time::timeout(BODY_PATIENCE, Limited::new(body, BODY_LIMIT).collect()).await;
    match collected {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(FaultKind::PayloadTooLarge.into()),
        Ok(Err(_)) | Err(_) => Err(Fault::new(FaultKind::InvalidRequest, "the body did not arrive whole")),
    }
}

fn events(feed: Feed, voice: Voice) -> Response<Body> {
    let content_type = voice.stream_type();
    let frames = stream::unfold((Some(feed), voice), |(feed, voice)| async move {
        let mut feed = feed?;
        loop {
            match tokio::time::timeout(PING, feed.next()).await {
                Ok(Some(body)) => {
                    let event = voice.event(Event { body, origin: Version::V10 });
                    return Some((Ok::<_, Infallible>(Frame::data(Bytes::from(event))), (Some(feed), voice)));
                }
                Ok(None) => {
                    let trailers = trailer_map(&voice.trailers(None, DOMAIN));
                    let last = Some(trailers).filter(|trailers| !trailers.is_empty()).map(Frame::trailers);
                    return last.map(|last| (Ok(last), (None, voice)));
                }
                Err(_) => {
                    if let Some(ping) = voice.ping() {
                        return Some((Ok(Frame::data(Bytes::from_static(ping))), (Some(feed), voice)));
                    }
                }
            }
        }
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn card(card: &Json) -> Response<Body> {
    let mut response = document(card);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
    response
}

fn document(document: &Json) -> Response<Body> {
    whole(Wire { status: 200, content_type: "application/json", body: json::write(document), trailers: Vec::new() })
}

/// A path or verb that no operation has: nobody knows the caller's dialect, so it is told in HTTP+JSON.
fn not_here(error: TargetError) -> Response<Body> {
    let voice = Voice::unknown();
    let (kind, allow) = match error {
        TargetError::NotFound => (FaultKind::PathNotFound, None),
        TargetError::MethodNotAllowed { allow } => (FaultKind::MethodNotAllowed, Some(allow)),
    };
    let mut response = whole(voice.fault(&kind.into(), DOMAIN));
    if let Some(allow) = allow {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    response
}

fn whole(wire: Wire) -> Response<Body> {
    let Wire { status, content_type, body, trailers } = wire;
    let trailers = trailer_map(&trailers);
    let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))]);
    let body = match (body.is_empty(), trailers.is_empty()) {
        // A gRPC answer without a message says how it ended in its head.
        (true, false) => {
            headers.extend(trailers);
            Full::default().boxed_unsync()
        }
        (_, true) => Full::new(Bytes::from(body)).boxed_unsync(),
        (false, false) => Full::new(Bytes::from(body)).with_trailers(async { Some(Ok(trailers)) }).boxed_unsync(),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = headers;
    response
}

fn trailer_map(trailers: &[(&'static str, String)]) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).ok();
    trailers.iter().filter_map(|(name, text)| Some((HeaderName::from_static(name), value(text)?))).collect()
}

/// For a method that no service here has.
fn grpc_voice() -> Voice {
    Voice { dialect: Dialect::G1, ..Voice::unknown() }
}
