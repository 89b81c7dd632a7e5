//! Which dialect a request is in, and whether its version is one we speak (protocol 0.1, 5.3).
//!
//! Path and body decide the parser, the header only confirms. Takes what stands in the head of the request; never
//! reads a body.

use crate::{
    Dialect, Fault, FaultKind, OperationKind, Target, Version,
    dialect::{R3Bytes, query, voice::ErrorMedia},
};

/// What the head of a request says, as far as dialects care.
#[derive(Clone, Debug, Default)]
pub struct RequestFacts<'a> {
    /// Every value of the `A2A-Version` header, in order.
    pub versions: Vec<&'a str>,
    /// The raw query, without `?`.
    pub query: Option<&'a str>,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The `User-Agent` header: one SDK writes files twice encoded.
    pub user_agent: Option<&'a str>,
    /// The `Accept` header, for the media type of errors.
    pub accept: Option<&'a str>,
}

/// What a v1.0 request without a version header is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum VersionMode {
    /// v1.0 by its shape.
    #[default]
    Lenient,
    /// Refused, as the specification says.
    Strict,
}

/// What a request says about its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nothing, or nothing but blanks.
    Absent,
    /// A version of ours.
    Known(Version),
    /// Another one, or no version at all.
    Other,
}

impl RequestFacts<'_> {
    /// The version that header and query name together.
    ///
    /// # Errors
    /// Two headers, or header and query that disagree.
    pub(crate) fn claim(&self) -> Result<Claim, Fault> {
        let header = match self.versions.as_slice() {
            [] => Claim::Absent,
            [one] => Claim::read(one),
            _ => return Err(Fault::new(FaultKind::AmbiguousRequest, "more than one A2A-Version header")),
        };
        let mut claim = header;
        for value in query::values(self.query, "A2A-Version") {
            match (claim, Claim::read(&value)) {
                (known, Claim::Absent) => claim = known,
                (Claim::Absent, asked) => claim = asked,
                (known, asked) if known == asked => {}
                _ => return Err(Fault::new(FaultKind::InvalidRequest, "two A2A versions in one request")),
            }
        }
        Ok(claim)
    }

    /// The best guess at the dialect before the body is read.
    pub(crate) fn guess(&self, target: &Target) -> Dialect {
        // Of two versions that disagree, the first is as good as any to refuse in.
        let asked = query::values(self.query, "A2A-Version").next();
        let first = self.versions.first().copied().or(asked.as_deref());
        let claim = first.map_or(Claim::Absent, Claim::read);
        match (target, claim) {
            (Target::Rpc, Claim::Known(Version::V10)) => Dialect::J1,
            (Target::Rpc, Claim::Absent | Claim::Known(Version::V03) | Claim::Other) => Dialect::J3,
            (Target::Http { under_v1: false, .. }, Claim::Absent | Claim::Known(Version::V03))
                if !self.says_a2a_json() =>
            {
                Dialect::PathRpc
            }
            (Target::Http { under_v1: true, .. }, Claim::Absent | Claim::Known(Version::V03)) => Dialect::R3,
            (Target::Grpc(_), _) => Dialect::G1,
            // `path_rpc` has no versions, so a version that is not ours comes from a client of HTTP+JSON.
            (Target::Http { .. } | Target::Card, Claim::Absent | Claim::Known(_) | Claim::Other) => Dialect::R1,
        }
    }

    /// How the caller puts files into HTTP+JSON of 0.3, as far as the head shows it (protocol 8 #4).
    pub(crate) fn r3_bytes(&self) -> R3Bytes {
        let python = self.user_agent.is_some_and(|agent| agent.starts_with("python-httpx/"));
        if python { R3Bytes::Double } else { R3Bytes::Single }
    }

    /// Errors of HTTP+JSON 1.0 in the specification's own media type (11.1, 11.6), unless the caller says what it takes
    /// and that is not named: clients for the web at large then get what they know.
    pub fn error_media(&self) -> ErrorMedia {
        let names = |accept: &str| accept.split(',').any(|one| is_media(one, "application/a2a+json"));
        match self.accept {
            Some(accept) if !names(accept) => ErrorMedia::Json,
            Some(_) | None => ErrorMedia::A2aJson,
        }
    }

    fn says_a2a_json(&self) -> bool {
        self.content_type.is_some_and(|value| is_media(value, "application/a2a+json"))
    }

    /// Refuses a body that is not JSON by its header.
    pub(crate) fn check_content_type(&self) -> Result<(), Fault> {
        if self.content_type.is_some_and(|value| is_json(value) && is_utf8(value)) {
            Ok(())
        } else {
            Err(Fault::of(FaultKind::ContentTypeHeader))
        }
    }
}

impl Claim {
    fn read(value: &str) -> Self {
        let value = value.trim();
        if value.is_empty() {
            return Self::Absent;
        }
        let mut numbers = value.split('.').map(|number| {
            let digits = !number.is_empty() && number.len() <= 4 && number.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| number.parse::<u16>().ok()).flatten()
        });
        let (major, minor, patch) = (numbers.next().flatten(), numbers.next(), numbers.next());
        if matches!(minor, Some(None)) || matches!(patch, Some(None)) || numbers.next().is_some() {
            return Self::Other;
        }
        match (major, minor.flatten()) {
            (Some(1), _) => Self::Known(Version::V10),
            (Some(0), Some(minor)) if minor >= 3 => Self::Known(Version::V03),
            _ => Self::Other,
        }
    }

    /// The policy of protocol 5.3 for a request whose shape is `shape`.
    pub(crate) fn admit(self, shape: Version, mode: VersionMode) -> Result<(), Fault> {
        match (shape, self) {
            (Version::V10, Self::Known(Version::V10)) | (Version::V03, Self::Absent | Self::Known(Version::V03)) => {
                Ok(())
            }
            (Version::V10, Self::Absent) if mode == VersionMode::Lenient => Ok(()),
            (Version::V10, Self::Absent) => Err(unsupported("send the header A2A-Version: 1.0")),
            (Version::V10, Self::Known(Version::V03)) => {
                Err(unsupported("this is a request of A2A 1.0, but A2A-Version says 0.3"))
            }
            // What a v0.3 client understands (protocol 8 #3).
            (Version::V03, Self::Known(Version::V10)) => {
                Err(Fault::new(FaultKind::MethodNotFound, "this is a method of A2A 0.3, but A2A-Version says 1.0"))
            }
            (_, Self::Other) => Err(unsupported("this A2A version is not supported")),
        }
    }
}

/// [`FaultKind::VersionNotSupported`] with what is supported.
pub(crate) fn unsupported(text: &str) -> Fault {
    Fault::new(FaultKind::VersionNotSupported, text).with("supportedVersions", "0.3,1.0")
}

/// Whether it is this media type, whatever its parameters and case.
pub(crate) fn is_media(content_type: &str, media_type: &str) -> bool {
    essence(content_type).eq_ignore_ascii_case(media_type)
}

/// The media type without parameters.
fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// JSON is UTF-8 (RFC 8259 §8.1); who says that it wrote something else is not read as if it had not.
fn is_utf8(content_type: &str) -> bool {
    let parameters = content_type.split(';').skip(1).filter_map(|one| one.split_once('='));
    let mut charsets = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    charsets.all(|(_, value)| {
        let value = value.trim().trim_matches('"');
        ["utf-8", "utf8", "us-ascii"].iter().any(|known| value.eq_ignore_ascii_case(known))
    })
}

/// `application/json` and `application/*+json`.
pub(crate) fn is_json(content_type: &str) -> bool {
    const JSON: &str = "+json";
    let Some((kind, subtype)) = essence(content_type).split_once('/') else { return false };
    let suffixed = |subtype: &str| {
        let at = subtype.len().checked_sub(JSON.len());
        let suffix = at.filter(|at| *at > 0).and_then(|at| subtype.get(at..));
        suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(JSON)) && !subtype.contains(',')
    };
    kind.eq_ignore_ascii_case("application") && (subtype.eq_ignore_ascii_case("json") || suffixed(subtype))
}

/// Whether the operation's path takes a body.
pub(crate) const fn takes_body(kind: OperationKind) -> bool {
    match kind {
        OperationKind::SendMessage
        | OperationKind::SendStreamingMessage
        | OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::CreatePushConfig => true,
        OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::DeletePushConfig
        | OperationKind::GetExtendedCard => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_and_version_tell_the_voice_to_refuse_in() {
        let guess = |versions: &[&'static str], under_v1| {
            let task = Some("t1".to_owned());
            let target = Target::Http { operation: OperationKind::GetTask, task, config: None, under_v1 };
            RequestFacts { versions: versions.to_vec(), ..RequestFacts::default() }.guess(&target)
        };
        for (version, plain, under_v1) in [
            (None, Dialect::PathRpc, Dialect::R3),
            (Some("0.3"), Dialect::PathRpc, Dialect::R3),
            (Some("1.0"), Dialect::R1, Dialect::R1),
            (Some("9.9"), Dialect::R1, Dialect::R1),
        ] {
            let versions: Vec<_> = version.into_iter().collect();
            assert_eq!((guess(&versions, false), guess(&versions, true)), (plain, under_v1), "{version:?}");
        }
    }
}
