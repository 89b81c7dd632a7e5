//! How a call ended: `grpc-status`, `grpc-message`, `grpc-status-details-bin` ↔ [`Fault`]; and `grpc-timeout`.
//!
//! The details are a `google.rpc.Status` whose code and message equal the trailers', with the same `ErrorInfo` as on
//! the other bindings. Details of other types than `ErrorInfo`, `BadRequest` and `RetryInfo` are left out.

use std::fmt::Write as _;
use std::time::Duration;

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use http::HeaderMap;
use json::{Json, Limits, Object};

use super::{
    proto::{int, put_bytes, put_varint},
    read,
    schema::{self, Message},
    write,
};
use crate::{
    Fault, FaultKind, OperationKind,
    dialect::{BadAnswer, http_json::by_status_name},
    fault,
};

/// The names of `google.rpc.Code`, by number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

const STATUS: &str = "grpc-status";
const MESSAGE: &str = "grpc-message";
const DETAILS: &str = "grpc-status-details-bin";

const TYPES: &str = "type.googleapis.com/";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// Most bytes of details that are written: callers' limits on metadata are 8 KiB.
const MOST_DETAILS: usize = 4 * 1024;

/// Longest message that is written, in bytes as they go out.
const LONGEST_MESSAGE: usize = 1024;

/// The trailers that end an answer or a stream.
#[must_use]
pub fn trailers(fault: Option<&Fault>, own_domain: &str) -> Vec<(&'static str, String)> {
    let Some(fault) = fault else { return vec![(STATUS, "0".to_owned())] };
    let code = code(fault.kind);
    let mut trailers = vec![(STATUS, code.to_string())];
    let message: String = fault.message.chars().filter(|letter| !letter.is_control()).collect();
    let mut cut = message.as_str();
    while escaped(cut).len() > LONGEST_MESSAGE {
        cut = cut.get(..cut.floor_char_boundary(cut.len() / 2)).unwrap_or_default();
    }
    trailers.push((MESSAGE, escaped(cut)));
    let details = status_message(code, cut, &fault.details(own_domain));
    trailers.push((DETAILS, UNPADDED.encode(details)));
    trailers
}

/// `google.rpc.Status`, as far as there is room.
fn status_message(code: u8, message: &str, details: &[Json]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(1, u64::from(code), &mut out);
    put_bytes(2, message.as_bytes(), &mut out);
    for detail in details {
        // A reason is worth more than its facts.
        let bare = || detail.as_object().and_then(without_facts).and_then(|bare| pack(&bare));
        let fits = |packed: &Vec<u8>| out.len().saturating_add(packed.len()) <= MOST_DETAILS;
        if let Some(packed) = pack(detail).filter(fits).or_else(|| bare().filter(fits)) {
            put_bytes(3, &packed, &mut out);
        }
    }
    out
}

/// An `ErrorInfo` without what an agent may have written at length.
fn without_facts(detail: &Object) -> Option<Json> {
    let mut bare = detail.clone();
    bare.remove("metadata")?;
    Some(bare.into())
}

/// A typed detail as `google.protobuf.Any`.
fn pack(detail: &Json) -> Option<Vec<u8>> {
    let url = detail.get("@type")?.as_str()?;
    let value = match url {
        RETRY_INFO => retry_info(detail.get("retryDelay")?.as_str()?)?,
        url => write::message(detail.as_object()?, known_detail(url)?),
    };
    let mut out = Vec::new();
    put_bytes(1, url.as_bytes(), &mut out);
    put_bytes(2, &value, &mut out);
    Some(out)
}

fn known_detail(url: &str) -> Option<&'static Message> {
    match url {
        fault::ERROR_INFO => Some(&schema::ERROR_INFO),
        BAD_REQUEST => Some(&schema::BAD_REQUEST),
        _ => None,
    }
}

/// `google.rpc.RetryInfo` of a ProtoJSON duration in whole seconds.
fn retry_info(delay: &str) -> Option<Vec<u8>> {
    let seconds: u32 = delay.strip_suffix('s')?.parse().ok()?;
    let (mut duration, mut out) = (Vec::new(), Vec::new());
    put_varint(1, int(i64::from(seconds)), &mut duration);
    put_bytes(1, &duration, &mut out);
    Some(out)
}

/// The number of a fault's code.
fn code(kind: FaultKind) -> u8 {
    let name = kind.grpc_status_name();
    CODES.iter().position(|known| *known == name).and_then(|at| u8::try_from(at).ok()).unwrap_or(2)
}

/// How an agent's call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    code: usize,
    message: String,
    details: Vec<u8>,
}

impl Status {
    /// The status among trailers, or among the headers of an answer that has nothing else.
    #[must_use]
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let code = headers.get(STATUS)?.to_str().ok()?.trim().parse().ok()?;
        let message = headers.get(MESSAGE).map(|value| unescaped(value.as_bytes())).unwrap_or_default();
        let details = headers.get(DETAILS).and_then(|value| UNPADDED.decode(value.as_bytes()).ok());
        Some(Self { code, message, details: details.unwrap_or_default() })
    }

    /// Whether the call went well.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        self.code == 0
    }

    /// The agent's fault. An `ErrorInfo` of A2A decides, else the code.
    ///
    /// # Errors
    /// [`BadAnswer::Status`] where the agent is not there for the time being, which is no answer.
    pub fn fault(&self, kind: OperationKind) -> Result<Fault, BadAnswer> {
        let name = CODES.get(self.code).copied().unwrap_or("UNKNOWN");
        let mut fault = Fault::from_agent(FaultKind::Agent { code: -32603 }, Some(self.message.as_str()));
        fault.take_details(&self.details());
        if !matches!(fault.kind, FaultKind::Agent { .. }) {
            return Ok(fault);
        }
        match name {
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => return Ok(Fault::of(FaultKind::UpstreamAuthFailed)),
            "UNAVAILABLE" | "CANCELLED" | "RESOURCE_EXHAUSTED" => return Err(BadAnswer::Status(503)),
            "DEADLINE_EXCEEDED" => return Err(BadAnswer::Status(504)),
            _ => {}
        }
        if let Some(kind) = by_status_name(name, kind) {
            fault.kind = kind;
        }
        Ok(fault)
    }

    /// The typed details that are understood, as ProtoJSON.
    fn details(&self) -> Vec<Json> {
        let limits = Limits::default();
        let Ok(status) = read::message(&self.details, &schema::STATUS, &limits) else { return Vec::new() };
        let packed = status.get("details").and_then(Json::as_array).unwrap_or_default();
        packed.iter().filter_map(|any| unpack(any, &limits)).collect()
    }
}

fn unpack(any: &Json, limits: &Limits) -> Option<Json> {
    let (url, value) = (any.get("typeUrl")?.as_str()?, any.get("value").and_then(Json::as_str).unwrap_or_default());
    let name = url.rsplit('/').next()?;
    let url = format!("{TYPES}{name}");
    let bytes = base64::engine::general_purpose::STANDARD.decode(value).ok()?;
    let mut detail = read::message(&bytes, known_detail(&url)?, limits).ok()?;
    detail.insert_first("@type", url);
    Some(Object::into(detail))
}

/// Percent-encodes what is not printable ASCII (gRPC over HTTP/2, `Status-Message`).
fn escaped(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    })
}

/// Decodes what can be decoded; the rest stands for itself.
fn unescaped(bytes: &[u8]) -> String {
    percent_encoding::percent_decode(bytes).decode_utf8_lossy().into_owned()
}

/// The time a caller gives: up to eight digits and a unit. `None` if it is none.
#[must_use]
pub fn timeout(value: &str) -> Option<Duration> {
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if !(1..=8).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(amount.saturating_mul(3600)),
        "M" => Duration::from_secs(amount.saturating_mul(60)),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    })
}

/// A time for an agent, in the finest unit that eight digits hold.
#[must_use]
pub fn timeout_value(time: Duration) -> String {
    const MOST: u128 = 99_999_999;
    let millis = time.as_millis();
    if millis <= MOST { format!("{millis}m") } else { format!("{}S", u128::from(time.as_secs()).min(MOST)) }
}

const UNPADDED: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_encode_padding(false).with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
