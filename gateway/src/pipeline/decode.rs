//! What do they ask: body → [`Call`].
//!
//! *Takes* the route, the permit and the unread body. *Gives* the call in canonical shape. *Refuses* bodies that are
//! too large or too slow, unreadable ones, unknown methods and versions, and operations the permit does not hold; the
//! last before any parameter is read. *Never* guesses a version that was named, never keeps the caller's bytes.

use crate::clock::Micros;
use crate::config::BodyLimits;
use crate::pipeline::authorize::{AuthorizeError, Permit};
use crate::pipeline::head::Head;
use crate::pipeline::limit::{LimitError, Slot};
use crate::pipeline::long::{self, Turns};
use a2a::dialect::{TargetError, Voice};
use a2a::{Call, Envelope, Fault, Target};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use json::Json;
use tokio::time::{Instant, timeout_at};

/// Why there is no call.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The operation is not granted.
    #[error(transparent)]
    Forbidden(#[from] AuthorizeError),
    /// The caller stopped before the end of its body.
    #[error("the body broke off")]
    Incomplete,
    /// No room for the body, or for one more stream.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The dialect says no.
    #[error("the request is not a valid call")]
    Refused(Fault),
    /// Fewer bytes than the floor arrived.
    #[error("the body came too slowly")]
    TooSlow,
    /// The body is larger than allowed.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The path addresses nothing, or not with this verb.
    #[error(transparent)]
    Unaddressed(#[from] TargetError),
}

/// A call and the number of bytes it was written in.
#[derive(Debug)]
pub struct Decoded {
    /// The call.
    pub call: Call,
    /// Bytes of the body.
    pub size: usize,
}

/// Everything that decoding may look at besides the body.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The head.
    pub head: &'a Head,
    /// What is addressed.
    pub target: &'a Result<Target, TargetError>,
    /// What may be done.
    pub permit: &'a Permit,
    /// How much.
    pub limits: &'a BodyLimits,
    /// When.
    pub now: Micros,
}

/// Reads the body, unless it was read `early`, and the call in it. `voice` becomes as sharp as what was read.
///
/// # Errors
/// [`DecodeError`]
pub async fn call(
    asked: &Asked<'_>,
    body: &mut Incoming,
    early: Option<Bytes>,
    slot: &mut Slot,
    voice: &mut Voice,
) -> Result<Decoded, DecodeError> {
    let target = match asked.target {
        Ok(Target::Card) => return Err(TargetError::MethodNotAllowed { allow: "GET, POST" }.into()),
        Ok(target) => target,
        Err(error) => return Err((*error).into()),
    };
    let card = asked.permit.card();
    let most = card.limits.request_bytes.unwrap_or(asked.limits.request_bytes);
    let bytes = match early {
        Some(bytes) if bytes.len() > most => return Err(DecodeError::TooLarge { limit: most }),
        Some(bytes) => bytes,
        None if asked.head.method == http::Method::POST => read(asked.head, body, (asked.limits, most), slot).await?,
        None => Bytes::new(),
    };
    let limits = json_limits(asked.limits);
    let open = || Envelope::open(target, &asked.head.facts(), card.version_mode, &bytes, &limits);
    let envelope = long::work(bytes.len(), open).map_err(|refusal| {
        *voice = refusal.voice;
        slot.unread(asked.permit, asked.now);
        DecodeError::Refused(refusal.fault)
    })?;
    voice.clone_from(envelope.voice());
    asked.permit.check(envelope.kind())?;
    slot.known(asked.permit, envelope.kind(), asked.now)?;
    let call = envelope.call().map_err(DecodeError::Refused)?;
    check_message(&call, asked.limits)?;
    Ok(Decoded { call, size: bytes.len() })
}

/// The limits of one JSON document.
#[must_use]
pub fn json_limits(limits: &BodyLimits) -> json::Limits {
    json::Limits {
        depth: limits.json_depth,
        nodes: limits.json_nodes,
        key: limits.json_key_bytes,
        ..json::Limits::default()
    }
}

/// Reads the body to its end. A length that is too large is refused before the body is asked for, so that no
/// `100 Continue` invites it.
pub(crate) async fn read(
    head: &Head,
    body: &mut Incoming,
    (limits, most): (&BodyLimits, usize),
    slot: &mut Slot,
) -> Result<Bytes, DecodeError> {
    let too_large = DecodeError::TooLarge { limit: most };
    let announced = body.size_hint().lower().max(head.content_length.unwrap_or(0));
    let Some(announced) = usize::try_from(announced).ok().filter(|announced| *announced <= most) else {
        return Err(too_large);
    };
    let (mut floor, mut turns) = (Floor::new(limits), Turns::default());
    let mut bytes = long::buffer(announced);
    loop {
        let frame = match timeout_at(floor.deadline, body.frame()).await {
            Err(_elapsed) => {
                floor.next()?;
                continue;
            }
            Ok(None) => return Ok(bytes.freeze()),
            Ok(Some(Err(_broken))) => return Err(DecodeError::Incomplete),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(piece) = frame.into_data() else { continue };
        if bytes.len().saturating_add(piece.len()) > most {
            return Err(too_large);
        }
        slot.grow(piece.len())?;
        floor.arrived = floor.arrived.saturating_add(piece.len());
        long::append(&mut bytes, &piece, announced);
        turns.after(piece.len()).await;
    }
}

/// The slowest a body may come (threat-model §2).
struct Floor<'a> {
    limits: &'a BodyLimits,
    deadline: Instant,
    arrived: usize,
}

impl<'a> Floor<'a> {
    fn new(limits: &'a BodyLimits) -> Self {
        Self { limits, deadline: Instant::now() + limits.floor_window, arrived: 0 }
    }

    /// A window is over: enough must have come in it.
    fn next(&mut self) -> Result<(), DecodeError> {
        if self.arrived < self.limits.floor_bytes {
            return Err(DecodeError::TooSlow);
        }
        *self = Self::new(self.limits);
        Ok(())
    }
}

/// How many parts a message may have, and how large an inline file (product.md D13).
fn check_message(call: &Call, limits: &BodyLimits) -> Result<(), DecodeError> {
    let parts = call.message().and_then(|message| message.get("parts")).and_then(Json::as_array).unwrap_or_default();
    if parts.len() > limits.parts {
        return Err(DecodeError::Refused(Fault::invalid_params("the message has too many parts")));
    }
    let decoded = |raw: &Json| raw.as_str().map_or(0, |text| text.len() / 4 * 3);
    if parts.iter().filter_map(|part| part.get("raw")).any(|raw| decoded(raw) > limits.inline_file_bytes) {
        return Err(DecodeError::Refused(Fault::invalid_params(
            "a file in the message is too large to be sent inline",
        )));
    }
    Ok(())
}
