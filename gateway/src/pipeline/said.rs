//! What callers of the legacy wire say about a call: run, turn, step, agent. Recorded as said, never believed.
//!
//! Takes the head; gives names and values for the record. Refuses values that are over-long, not printable, or there
//! twice. Nothing decides by them and no agent is told them.

use http::{HeaderMap, HeaderName, HeaderValue};

/// What follows the prefix of our headers, and how long the value may be.
const NAMES: [(&str, usize); 8] = [
    ("run-id", 128),
    ("turn-id", 64),
    ("turn-seq", 20),
    ("step-id", 64),
    ("step-name", 128),
    ("agent-name", 128),
    ("agent-version", 128),
    ("agent-build", 128),
];

/// A value that cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a header that describes the run cannot be recorded")]
pub struct SaidError;

/// What a caller says about its call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Name (without the prefix) and value, in a fixed order.
    pub facts: Vec<(&'static str, String)>,
}

impl Said {
    /// What the headers that begin with `prefix` say.
    ///
    /// # Errors
    /// [`SaidError`]
    pub fn read(headers: &HeaderMap, prefix: &str) -> Result<Self, SaidError> {
        let mut facts = Vec::new();
        for (name, value) in headers {
            let Some(rest) = name.as_str().strip_prefix(prefix) else { continue };
            let Some((known, most)) = NAMES.iter().find(|(known, _)| *known == rest) else { continue };
            let text = printable(value).filter(|text| text.len() <= *most).ok_or(SaidError)?;
            if facts.iter().any(|(other, _)| other == known) {
                return Err(SaidError);
            }
            facts.push((*known, text.to_owned()));
        }
        facts.sort_unstable();
        Ok(Self { facts })
    }

    /// The run's id, which is told back.
    #[must_use]
    pub fn told_back(&self, prefix: &str) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = self.facts.iter().find(|(name, _)| *name == RUN_ID)?;
        let name = HeaderName::from_bytes(format!("{prefix}{name}").as_bytes()).ok()?;
        Some((name, HeaderValue::from_str(value).ok()?))
    }
}

/// The one that is told back.
const RUN_ID: &str = "run-id";

fn printable(value: &HeaderValue) -> Option<&str> {
    let bytes = value.as_bytes();
    bytes.iter().all(|byte| (0x20..0x7f).contains(byte)).then(|| value.to_str().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &str)]) -> Result<Said, SaidError> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        Said::read(&headers, "x-brutor-")
    }

    #[test]
    fn what_is_said_is_taken_within_its_bounds() {
        let said = read(&[("x-brutor-step-name", "plan"), ("x-brutor-run-id", "r-1"), ("x-other", "x")]).unwrap();
        assert_eq!(said.facts, [("run-id", "r-1".to_owned()), ("step-name", "plan".to_owned())]);
        let (name, value) = said.told_back("x-brutor-").unwrap();
        assert_eq!((name.as_str(), value.as_bytes()), ("x-brutor-run-id", b"r-1".as_slice()));
        for (name, most) in NAMES {
            let name: &'static str = format!("x-brutor-{name}").leak();
            assert!(read(&[(name, &"a".repeat(most))]).is_ok(), "{name}");
            assert_eq!(read(&[(name, &"a".repeat(most + 1))]), Err(SaidError), "{name}");
            assert_eq!(read(&[(name, "caf\u{e9}")]), Err(SaidError), "{name}");
            assert_eq!(read(&[(name, "a\tb")]), Err(SaidError), "{name}");
            assert_eq!(read(&[(name, "a"), (name, "a")]), Err(SaidError), "{name}");
        }
    }
}
