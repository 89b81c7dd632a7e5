//! Requests that are refused before anybody could route them: how they are counted, and what the caller is told.
//!
//! *Takes* what is wrong with the bytes of a connection. *Gives* the whole answer as it goes over the wire: the error
//! body of the listener, and the end of the connection. Such a request proves nobody, so it is counted by reason and
//! source like every refusal before authentication (product.md D19), under no tenant.

use std::net::SocketAddr;
use std::sync::Arc;

use a2a::dialect::Wire;
use a2a::{Fault, FaultKind, Voice};
use bytes::Bytes;
use http::StatusCode;

use super::dispatch;
use crate::app::App;
use crate::pipeline::head;

/// Counts a refusal by one peer and gives the answer.
pub type Refuse = Arc<dyn Fn(Refusal) -> Bytes + Send + Sync>;

/// What was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A client certificate that the listener does not believe.
    BadCertificate,
    /// A client certificate that its authority has revoked.
    CertificateRevoked,
    /// Two readers could disagree where the request ends; the text is for the caller.
    Framing(&'static str),
    /// Whether a client certificate is revoked is said by no list, or by one that is out of date.
    RevocationUnknown,
    /// The head is no HTTP; hyper has answered it.
    Syntax,
}

impl Refusal {
    const fn reason(self) -> &'static str {
        match self {
            Self::BadCertificate => "bad_certificate",
            Self::CertificateRevoked => "certificate_revoked",
            Self::Framing(_) => "bad_framing",
            Self::RevocationUnknown => "revocation_unknown",
            Self::Syntax => "bad_syntax",
        }
    }

    const fn problem(self) -> &'static str {
        match self {
            // Nobody hears these: the handshake has failed.
            Self::BadCertificate | Self::CertificateRevoked | Self::RevocationUnknown => {
                "the certificate is not believed"
            }
            Self::Framing(problem) => problem,
            Self::Syntax => "the request is not HTTP",
        }
    }
}

/// Refuses in the form of the public listener.
pub fn public(app: &Arc<App>) -> impl Fn(SocketAddr) -> Refuse + Clone + Send + Sync + 'static {
    let app = Arc::clone(app);
    refusing(app.clone(), move |problem| {
        let voice = Voice::unknown();
        let Wire { content_type, body, .. } =
            voice.fault(&Fault::new(FaultKind::AmbiguousRequest, problem), &app.calls.own_domain);
        written(content_type, &body)
    })
}

/// Refuses in the form of the admin API.
pub fn admin(app: &Arc<App>) -> impl Fn(SocketAddr) -> Refuse + Clone + Send + Sync + 'static {
    refusing(Arc::clone(app), |problem| {
        let document = dispatch::document(StatusCode::BAD_REQUEST, "ambiguous_request", problem);
        written("application/json", document.body())
    })
}

fn refusing<W>(app: Arc<App>, written: W) -> impl Fn(SocketAddr) -> Refuse + Clone + Send + Sync + 'static
where
    W: Fn(&'static str) -> Bytes + Clone + Send + Sync + 'static,
{
    move |peer: SocketAddr| {
        let (app, written) = (Arc::clone(&app), written.clone());
        Arc::new(move |refusal: Refusal| {
            app.metrics.refusals.with_label_values(&[refusal.reason()]).inc();
            app.audit.refused("", refusal.reason(), peer.ip(), app.clock.now());
            tracing::debug!(reason = refusal.reason(), problem = refusal.problem(), "a request was refused unread");
            written(refusal.problem())
        })
    }
}

fn written(content_type: &str, body: &[u8]) -> Bytes {
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: {content_type}\r\ncache-control: no-store\r\n{}: {}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        head::CORRELATION_ID,
        head::new_id(),
        body.len()
    );
    [head.as_bytes(), body].concat().into()
}
