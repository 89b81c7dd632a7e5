//! One HTTP request → one HTTP response: find the operation, read the call, answer in the caller's dialect.
//!
//! Takes requests of any body type, so it can be called in process; gives responses that are whole or a stream of events.
//! Everything particular to a dialect is crate `a2a`'s.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use a2a::dialect::{Refusal, RequestFacts, TargetError, Voice, Wire, target};
use a2a::{Answer, Binding, Call, Dialect, Envelope, Event, Fault, FaultKind, OperationKind, Target, Version, grpc};
use bytes::Bytes;
use futures_util::stream;
use http::header::HeaderName;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use json::{Json, Limits, Object};
use percent_encoding::percent_decode_str;
use tokio::time::{Instant, timeout_at};

use crate::agent::{Audience, JsonType};
use crate::caller::{Caller, unauthenticated};
use crate::card::{Generations, Readers};
use crate::list::{ListQuery, history_length};
use crate::listen::Body;
use crate::server::{Server, Shared};
use crate::subscription::Subscription;
use crate::task::View;
use crate::tasks::Opening;
use crate::turn::First;

/// Largest request body.
pub const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// How long a caller may take to send its body.
const BODY_PATIENCE: Duration = Duration::from_secs(60);

/// A sign of life on quiet streams.
const PING: Duration = Duration::from_secs(15);

/// The domain of reasons that A2A does not define.
const DOMAIN: &str = "a2a-agent";

/// Who asks, and how.
#[derive(Debug)]
pub(crate) struct Asker {
    pub(crate) head: Parts,
    pub(crate) caller: Caller,
}

impl Server {
    /// Answers one request. Paths that are not below the agent's are 404.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        match self.grpc_target(&head) {
            Some(Ok(target)) => return self.told(&target, head, body).await,
            Some(Err(_)) => return in_grpc(&FaultKind::PathNotFound.into()),
            None => {}
        }
        let Some(rest) = below(&self.mount, head.uri.path()) else { return not_here(TargetError::NotFound) };
        if rest == ["health"] {
            return document(&[("status", "ok")].into());
        }
        let shared = &self.shared;
        match target(&head.method, &rest) {
            Ok(Target::Card) if rest.last().is_some_and(|name| name == "agent.json") => match shared.offers.generations
            {
                Generations::Both => shared.public_card(&head, Readers::Legacy),
                Generations::V10 => nowhere(),
            },
            Ok(Target::Card) => shared.public_card(&head, Readers::Both),
            // A v0.3 client asks here for the extended card, or for whatever there is.
            Ok(Target::Http { .. }) if rest == ["v1", "card"] && shared.extended.is_none() => {
                shared.public_card(&head, Readers::Both)
            }
            Ok(target) => self.told(&target, head, body).await,
            Err(error) => not_here(error),
        }
    }

    /// gRPC paths have no place for the agent's own, but a proxy that knows one agent may put it before them.
    fn grpc_target(&self, head: &Parts) -> Option<Result<Target, TargetError>> {
        let path = head.uri.path();
        let at = |path: &str| grpc::target(&head.method, path);
        let target = at(path).or_else(|| path.strip_prefix(&*self.mount).and_then(at));
        target.filter(|_| self.speaks_grpc())
    }

    async fn told<B>(&self, target: &Target, head: Parts, body: B) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut response = match self.shared.exchange(target, head, body).await {
            Ok(response) => response,
            Err((voice, fault)) => refused(&voice, &fault),
        };
        if self.shared.json_type == JsonType::Plain
            && let Some(content_type) = response.headers_mut().get_mut(header::CONTENT_TYPE)
            && content_type == "application/a2a+json"
        {
            *content_type = HeaderValue::from_static("application/json");
        }
        response
    }
}

impl Shared {
    async fn exchange<B>(
        self: &Arc<Self>,
        target: &Target,
        head: Parts,
        body: B,
    ) -> Result<Response<Body>, (Voice, Fault)>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let facts = facts(&head);
        // Who may not call is told so before its body is read.
        let caller = (self.callers)(&head).map_err(|fault| (Voice::detect(target, &facts), fault))?;
        let body = read(body).await.map_err(|fault| (Voice::detect(target, &facts), fault))?;
        let envelope = Envelope::open(target, &facts, self.versions, &body, &Limits::default())
            .map_err(|refusal| other_generation(*refusal, target, &facts))?;
        let (voice, kind) = (envelope.voice().clone(), envelope.kind());
        if self.offers.generations == Generations::V10 && voice.dialect.version() == Version::V03 {
            return Err(only_v10(voice));
        }
        match self.perform(&Asker { head, caller }, envelope).await {
            Ok(Done::Answer(body)) => {
                let mut response = whole(voice.answer(kind, Answer { body, origin: Version::V10 }));
                if kind == OperationKind::GetExtendedCard {
                    let headers = response.headers_mut();
                    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
                    headers.insert(header::VARY, HeaderValue::from_static("authorization"));
                }
                Ok(response)
            }
            Ok(Done::Events(feed)) => Ok(events(feed, voice, self.stream_limit)),
            Err(fault) => Err((voice, fault)),
        }
    }

    async fn perform(self: &Arc<Self>, asker: &Asker, envelope: Envelope) -> Result<Done, Fault> {
        let call = envelope.call()?;
        let caller = &asker.caller;
        let answer = match call.kind {
            OperationKind::SendMessage => self.send(asker, call).await?,
            OperationKind::SendStreamingMessage => {
                return Ok(Done::Events(match self.stream(asker, call).await? {
                    First::Message(message) => Feed::Message(Some(message)),
                    First::Task(subscription) => Feed::Task(subscription),
                }));
            }
            OperationKind::SubscribeToTask => {
                let subscription = self.tasks.subscribe(caller, named(&call)?, View::WHOLE).await?;
                return Ok(Done::Events(Feed::Task(subscription)));
            }
            OperationKind::GetTask => {
                let view = View { history: history_length(&call.params)?, artifacts: true };
                self.tasks.document(caller, named(&call)?, view).await?
            }
            OperationKind::ListTasks => self.tasks.list(caller, &ListQuery::of(&call)?).await?,
            OperationKind::CancelTask => {
                let canceled = self.tasks.cancel(caller, named(&call)?).await?;
                self.tasks.stored(named(&call)?).await?;
                canceled
            }
            OperationKind::CreatePushConfig
            | OperationKind::GetPushConfig
            | OperationKind::ListPushConfigs
            | OperationKind::DeletePushConfig => self.push_configs(asker, &call).await?,
            OperationKind::GetExtendedCard => self.extended_card(asker)?,
        };
        Ok(Done::Answer(answer))
    }

    fn extended_card(&self, asker: &Asker) -> Result<Json, Fault> {
        let (card, audience) = self.extended.as_ref().ok_or(FaultKind::ExtendedCardNotConfigured)?;
        if *audience == Audience::Proven && asker.caller.identity().is_none() {
            return Err(unauthenticated());
        }
        Ok(card.document(&self.url(&asker.head), &self.offers))
    }

    /// Creates, shows, lists or deletes a task's push configurations.
    async fn push_configs(self: &Arc<Self>, asker: &Asker, call: &Call) -> Result<Json, Fault> {
        if self.post.is_none() {
            return Err(FaultKind::PushNotSupported.into());
        }
        let task = call.task_id().ok_or_else(|| Fault::invalid_params("taskId is missing"))?;
        let new = (call.kind == OperationKind::CreatePushConfig)
            .then(|| self.admit_push(asker, &call.params, call.origin))
            .transpose()?;
        let wanted = call.config_id();
        let done = self.tasks.with(&asker.caller, task, |found, _| {
            if let Some(config) = new {
                let shown = config.document(task);
                found.add_push(config)?;
                self.tasks.follow(found, Opening::Left);
                return Ok(shown);
            }
            match (call.kind, wanted) {
                (OperationKind::ListPushConfigs, _) => {
                    let shown: Vec<Json> = found.push.iter().map(|config| config.document(task)).collect();
                    Ok([("configs", shown)].into())
                }
                (OperationKind::DeletePushConfig, Some(id)) => {
                    found.remove_push(id);
                    Ok(Object::new().into())
                }
                (_, id) => {
                    let config = found.push.iter().find(|config| id.is_none_or(|id| id == config.id()));
                    config.map(|config| config.document(task)).ok_or_else(|| {
                        Fault::new(FaultKind::TaskNotFound, "the task has no such push notification configuration")
                    })
                }
            }
        });
        let done = done.await?;
        self.tasks.stored(task).await?;
        Ok(done)
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
        accept: head.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()),
    }
}

pub(crate) async fn read<B>(body: B) -> Result<Bytes, Fault>
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

fn events(feed: Feed, voice: Voice, limit: Duration) -> Response<Body> {
    let content_type = voice.stream_type();
    let end = Instant::now() + limit;
    let frames = stream::unfold((Some(feed), voice), move |(feed, voice)| async move {
        let mut feed = feed?;
        loop {
            let ping = Instant::now() + PING;
            match timeout_at(ping.min(end), feed.next()).await {
                Ok(Some(body)) => {
                    let event = voice.event(Event { body, origin: Version::V10 });
                    return Some((Ok::<_, Infallible>(Frame::data(Bytes::from(event))), (Some(feed), voice)));
                }
                Err(_) if ping < end => {
                    if let Some(ping) = voice.ping() {
                        return Some((Ok(Frame::data(Bytes::from_static(ping))), (Some(feed), voice)));
                    }
                }
                Ok(None) | Err(_) => {
                    let trailers = trailer_map(&voice.trailers(None, DOMAIN));
                    let last = Some(trailers).filter(|trailers| !trailers.is_empty()).map(Frame::trailers);
                    return last.map(|last| (Ok(last), (None, voice)));
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

/// A method of one generation under the version of the other: told in the generation that the header names, so that the code
/// is the one for versions (A2A 1.0 §3.6.2).
fn other_generation(refusal: Refusal, target: &Target, facts: &RequestFacts<'_>) -> (Voice, Fault) {
    let Refusal { mut voice, mut fault } = refusal;
    let claimed = Voice::detect(target, facts).dialect;
    let known = fault != Fault::of(FaultKind::MethodNotFound);
    if fault.kind == FaultKind::MethodNotFound && known && claimed == Dialect::J1 && voice.dialect == Dialect::J3 {
        (voice.dialect, voice.streaming) = (Dialect::J1, false);
        fault = Fault::new(FaultKind::VersionNotSupported, "this is a method of A2A 0.3, but A2A-Version says 1.0")
            .with("supportedVersions", "0.3,1.0");
    }
    (voice, fault)
}

/// A call of 0.3 at an agent that speaks 1.0 alone: told in 1.0, where versions have a code.
fn only_v10(mut voice: Voice) -> (Voice, Fault) {
    (voice.dialect, voice.streaming) = match voice.dialect.binding() {
        Binding::JsonRpc => (Dialect::J1, false),
        Binding::PathRpc | Binding::HttpJson | Binding::Grpc => (Dialect::R1, false),
    };
    let text = "this agent speaks A2A 1.0 alone; send its methods and the header A2A-Version: 1.0";
    (voice, Fault::new(FaultKind::VersionNotSupported, text).with("supportedVersions", "1.0"))
}

fn refused(voice: &Voice, fault: &Fault) -> Response<Body> {
    let mut response = whole(voice.fault(fault, DOMAIN));
    if fault.kind == FaultKind::Unauthenticated {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

pub(crate) fn document(document: &Json) -> Response<Body> {
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

/// No agent is there.
pub(crate) fn nowhere() -> Response<Body> {
    not_here(TargetError::NotFound)
}

/// A refusal in gRPC.
pub(crate) fn in_grpc(fault: &Fault) -> Response<Body> {
    whole(Voice { dialect: Dialect::G1, ..Voice::unknown() }.fault(fault, DOMAIN))
}
