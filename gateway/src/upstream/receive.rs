//! A response of an agent: what its head allows, and its body within limits.
//!
//! Gives bytes or a [`ReceiveError`]; never a piece of the answer in an error.

use crate::pipeline::limit::{LimitError, Slot};
use crate::pipeline::long::{self, Turns};
use a2a::Fault;
use bytes::Bytes;
use http::header::{self, HeaderMap};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

/// Why there is no whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReceiveError {
    /// The agent broke off.
    #[error("the answer broke off")]
    Broken,
    /// No room to hold it.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Not whole in time.
    #[error("the answer did not arrive in time")]
    TimedOut,
    /// Larger than allowed.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

/// Reads the body to its end.
pub(crate) async fn whole(
    body: &mut Incoming,
    limit: usize,
    deadline: Instant,
    slot: &mut Slot,
) -> Result<Bytes, ReceiveError> {
    let Some(announced) = usize::try_from(body.size_hint().lower()).ok().filter(|announced| *announced <= limit) else {
        return Err(ReceiveError::TooLarge { limit });
    };
    let (mut bytes, mut turns) = (long::buffer(announced), Turns::default());
    loop {
        let frame = match timeout_at(deadline, body.frame()).await {
            Err(_elapsed) => return Err(ReceiveError::TimedOut),
            Ok(None) => return Ok(bytes.freeze()),
            Ok(Some(frame)) => frame.map_err(|_| ReceiveError::Broken)?,
        };
        let Ok(piece) = frame.into_data() else { continue };
        if bytes.len().saturating_add(piece.len()) > limit {
            return Err(ReceiveError::TooLarge { limit });
        }
        slot.grow(piece.len())?;
        long::append(&mut bytes, &piece, announced);
        turns.after(piece.len()).await;
    }
}

/// Whether the body is in a content coding; none was asked for, none is undone.
pub(crate) fn is_coded(headers: &HeaderMap) -> bool {
    headers.get_all(header::CONTENT_ENCODING).iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// The media type as text.
pub(crate) fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok())
}

/// Whether the body is an event stream.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    content_type(headers)
        .and_then(|value| value.split(';').next())
        .is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// An agent's text without what follows its first line (stack traces), and nowhere its own address.
pub(crate) fn tidy(mut fault: Fault, base: &str) -> Fault {
    const LONGEST: usize = 1_024;
    let host = base.split("//").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or(base);
    let unnamed = |text: &str| {
        let text = text.replace(base, "the agent");
        if host.is_empty() { text } else { text.replace(host, "the agent") }
    };
    let line = fault.message.lines().next().unwrap_or_default();
    fault.message = unnamed(line).chars().take(LONGEST).collect();
    if let Some(data) = &mut fault.data {
        json::walk_mut(data, &mut |_, leaf| {
            if let json::Json::String(text) = leaf {
                *text = unnamed(text);
            }
        });
    }
    fault
}

#[cfg(test)]
mod tests {
    use super::*;
    use a2a::FaultKind;

    #[test]
    fn an_agents_text_is_cut_to_its_first_line_and_names_no_host() {
        let text = "no route to http://10.0.0.7:9100/a2a (10.0.0.7:9100)\n  at server.js:12";
        let fault = tidy(Fault::new(FaultKind::Internal, text), "http://10.0.0.7:9100/a2a");
        assert_eq!(fault.message, "no route to the agent (the agent)");
        let mut fault = Fault::of(FaultKind::Internal);
        fault.data = Some(json::Json::from([("at", "http://10.0.0.7:9100/db")]));
        let fault = tidy(fault, "http://10.0.0.7:9100/a2a");
        assert_eq!(fault.data, Some(json::Json::from([("at", "http://the agent/db")])));
    }
}
