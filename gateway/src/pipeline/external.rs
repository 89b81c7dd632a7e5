//! Guards outside of this process: asked after our own detectors, over HTTP, each once, each for so long.
//!
//! *Takes* what our own detectors let pass. *Gives* it back as the guards let it pass. *Refuses* what they flag, and, as
//! the policy's `on_error` says, what they could not judge. *Never* follows redirects, never tries twice, never keeps an
//! answer; a guard that fails twenty times in ten seconds is not asked for five. Every question is signed, so that a
//! guard can tell whom it answers: [`TIMESTAMP`], and in [`SIGNATURE`] the HMAC-SHA256 over `timestamp.body` under the
//! tenant's key for guards ([`key_of`]).

use crate::clock::Clock;
use crate::pipeline::guard::GuardError;
use crate::seal::Seal;
use aws_lc_rs::hmac;
use bytes::{Bytes, BytesMut};
use egress::Client;
use guard::external::Format;
use guard::{Action, External, Mode, Pipeline, Surface};
use http::{Method, Request, header};
use http_body_util::BodyExt as _;
use json::{Json, Leaf, Number, Object, Path};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// When a question was written, in seconds.
pub const TIMESTAMP: &str = "x-chancery-timestamp";
/// What signs it: `v1=` and hexadecimal digits.
pub const SIGNATURE: &str = "x-chancery-signature";

/// The key that signs what guards outside are asked for a tenant.
#[must_use]
pub fn key_of(seal: &Seal, tenant: &str) -> Zeroizing<[u8; 32]> {
    seal.derive("guards outside", tenant)
}

/// What a question is about, besides its texts.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Whose policy asks.
    pub tenant: String,
    /// Which card.
    pub card: String,
    /// The id that the caller is told.
    pub request: String,
    /// What is asked for.
    pub operation: &'static str,
}

/// Most bytes of an answer.
const MOST_ANSWER: usize = 256 * 1024;
/// Most bytes of a question; more is not judged, and so treated as an error.
const MOST_QUESTION: usize = 256 * 1024;
/// Failures within [`WITHIN`] that open the breaker for [`OPEN`].
const FAILURES: u32 = 20;
const WITHIN: Duration = Duration::from_secs(10);
const OPEN: Duration = Duration::from_secs(5);

/// The way to guards outside, and how they have done lately.
#[derive(Clone, Debug)]
pub struct Outside {
    client: Client,
    seal: Arc<Seal>,
    clock: Clock,
    breakers: Arc<Mutex<HashMap<Arc<str>, Breaker>>>,
}

/// How one guard has done.
#[derive(Clone, Copy, Debug)]
struct Breaker {
    since: Instant,
    failures: u32,
    open: Option<Instant>,
}

/// What a guard said that something follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whose guard.
    pub policy: String,
    /// The policy's version.
    pub version: i64,
    /// Which guard.
    pub name: String,
    /// Where.
    pub surface: Surface,
    /// What follows.
    pub action: Action,
    /// Whether it is carried out.
    pub mode: Mode,
    /// Which text.
    pub pointer: String,
    /// Whether it could not judge.
    pub failed: bool,
}

/// One text in a question.
struct Text {
    pointer: String,
    text: String,
}

/// Why a guard gave no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum NoVerdict {
    #[error("it was not asked, because it failed too often")]
    Open,
    #[error("the texts are more than it is sent")]
    TooMuch,
    #[error("it did not answer in time, or not at all")]
    Silent,
    #[error("its answer is none")]
    Senseless,
}

/// What a guard found in one text; `spans` are Unicode scalar indexes.
#[derive(Debug, PartialEq, Eq)]
struct Flag {
    at: usize,
    spans: Vec<(usize, usize)>,
}

impl Outside {
    /// On this client, which obeys the list for fetched documents.
    #[must_use]
    pub fn new(client: Client, seal: Arc<Seal>, clock: Clock) -> Self {
        Self { client, seal, clock, breakers: Arc::default() }
    }

    /// Asks every guard of every policy of the surface; changes what is to be redacted.
    ///
    /// # Errors
    /// [`GuardError::Blocked`], [`GuardError::Unavailable`]
    pub(crate) async fn ask(
        &self,
        pipelines: &[Arc<Pipeline>],
        (surface, about, event): (Surface, &About, Option<u64>),
        tree: &mut Json,
        structural: &(dyn Fn(&Path<'_>) -> bool + Sync),
        told: &mut Vec<Told>,
    ) -> Result<(), GuardError> {
        for pipeline in pipelines.iter().filter(|pipeline| pipeline.guards(surface)) {
            for external in pipeline.externals() {
                let texts = texts(tree);
                if texts.is_empty() {
                    continue;
                }
                let tell = |pointer: &str, action: Action, failed: bool| Told {
                    policy: pipeline.name().to_owned(),
                    version: pipeline.version(),
                    name: external.name.to_string(),
                    surface,
                    action,
                    mode: pipeline.mode(),
                    pointer: pointer.to_owned(),
                    failed,
                };
                match self.judge(external, &Question { surface, about, event, texts: &texts }).await {
                    Ok(flags) => {
                        for flag in &flags {
                            let Some(text) = texts.get(flag.at) else { continue };
                            let action = follow(external.action, flag, text, tree, pipeline.mode(), structural);
                            told.push(tell(&text.pointer, action, false));
                            if action == Action::Block && pipeline.mode() == Mode::Enforce {
                                return Err(blocked(surface, pipeline, external));
                            }
                        }
                    }
                    Err(why) => {
                        tracing::warn!(guard = &*external.name, %why, "a guard outside gave no verdict");
                        let passes = external.passes_on_error.unwrap_or_else(|| pipeline.passes_on_error());
                        let action = if passes { Action::Monitor } else { Action::Block };
                        told.push(tell("", action, true));
                        if !passes && pipeline.mode() == Mode::Enforce {
                            return Err(GuardError::Unavailable { surface, rule: external.name.to_string() });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    async fn judge(&self, external: &External, asked: &Question<'_>) -> Result<Vec<Flag>, NoVerdict> {
        if self.is_open(&external.url) {
            return Err(NoVerdict::Open);
        }
        let verdict = self.question(external, asked).await;
        self.note(&external.url, verdict.is_ok());
        verdict
    }

    async fn question(&self, external: &External, asked: &Question<'_>) -> Result<Vec<Flag>, NoVerdict> {
        let texts = asked.texts;
        let body = match external.format {
            Format::Chancery => asked.written(),
            Format::OpenAi => {
                Json::from([("input", texts.iter().map(|one| Json::from(one.text.as_str())).collect::<Vec<_>>())])
            }
        };
        let body = json::write(&body);
        if body.len() > MOST_QUESTION {
            return Err(NoVerdict::TooMuch);
        }
        let timestamp = self.clock.now().div_euclid(1_000_000).to_string();
        let signature = sign(&key_of(&self.seal, &asked.about.tenant), &timestamp, &body);
        let work = async {
            let request = Request::builder()
                .method(Method::POST)
                .uri(&*external.url)
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::ACCEPT, "application/json")
                .header(TIMESTAMP, timestamp)
                .header(SIGNATURE, signature)
                .body(Bytes::from(body))
                .map_err(|_| NoVerdict::Silent)?;
            let response =
                self.client.request_within(request, external.timeout).await.map_err(|_| NoVerdict::Silent)?;
            if response.status() != http::StatusCode::OK {
                return Err(NoVerdict::Senseless);
            }
            read(response.into_body()).await
        };
        let answer = tokio::time::timeout(external.timeout, work).await.map_err(|_| NoVerdict::Silent)??;
        let answer = json::read(&answer, &json::Limits::default()).map_err(|_| NoVerdict::Senseless)?;
        flags(&answer, external.format, texts).ok_or(NoVerdict::Senseless)
    }

    fn is_open(&self, url: &Arc<str>) -> bool {
        let breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        breakers.get(url).and_then(|breaker| breaker.open).is_some_and(|since| since.elapsed() < OPEN)
    }

    fn note(&self, url: &Arc<str>, fine: bool) {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        if fine {
            breakers.remove(url);
            return;
        }
        let now = Instant::now();
        let breaker = breakers.entry(Arc::clone(url)).or_insert(Breaker { since: now, failures: 0, open: None });
        if breaker.since.elapsed() > WITHIN {
            *breaker = Breaker { since: now, failures: 0, open: None };
        }
        breaker.failures = breaker.failures.saturating_add(1);
        if breaker.failures >= FAILURES {
            breaker.open = Some(now);
        }
    }
}

async fn read(mut body: hyper::body::Incoming) -> Result<Bytes, NoVerdict> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(piece) = frame.map_err(|_| NoVerdict::Silent)?.into_data() {
            if bytes.len() + piece.len() > MOST_ANSWER {
                return Err(NoVerdict::Senseless);
            }
            bytes.extend_from_slice(&piece);
        }
    }
    Ok(bytes.freeze())
}

fn blocked(surface: Surface, pipeline: &Pipeline, external: &External) -> GuardError {
    GuardError::Blocked { surface, policy: pipeline.name().to_owned(), rule: external.name.to_string() }
}

/// Every string value that says something.
fn texts(tree: &Json) -> Vec<Text> {
    let mut texts = Vec::new();
    json::walk(tree, &mut |path, leaf| {
        if let Leaf::Text(text) = leaf
            && !text.trim().is_empty()
        {
            texts.push(Text { pointer: path.to_string(), text: text.to_owned() });
        }
    });
    texts
}

/// `v1=` and the HMAC-SHA256 over `timestamp.body`.
fn sign(key: &[u8; 32], timestamp: &str, body: &[u8]) -> String {
    let mut signing = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    signing.update(timestamp.as_bytes());
    signing.update(b".");
    signing.update(body);
    let digits = signing.sign().as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("v1={digits}")
}

/// What a guard is asked.
struct Question<'a> {
    surface: Surface,
    about: &'a About,
    /// Which event of a stream.
    event: Option<u64>,
    texts: &'a [Text],
}

impl Question<'_> {
    fn written(&self) -> Json {
        let one = |text: &Text| {
            Json::from([("pointer", text.pointer.as_str()), ("media_type", "text/plain"), ("text", text.text.as_str())])
        };
        let about = self.about;
        let mut question = Object::from([
            ("version", Json::from(1_i64)),
            ("request_id", Json::from(about.request.as_str())),
            ("tenant", Json::from(about.tenant.as_str())),
            ("surface", Json::from(self.surface.name())),
            ("operation", Json::from(about.operation)),
            ("card", Json::from(about.card.as_str())),
        ]);
        if let Some(event) = self.event {
            let event = i64::try_from(event).unwrap_or(i64::MAX);
            question.insert("stream", Json::from([("seq", Json::from(event))]));
        }
        question.insert("input", Json::from(self.texts.iter().map(one).collect::<Vec<_>>()));
        Json::Object(question)
    }
}

/// What an answer flags; none if it makes no sense: results that are missing, spans that lie outside.
fn flags(answer: &Json, format: Format, texts: &[Text]) -> Option<Vec<Flag>> {
    let results = answer.get("results")?.as_array()?;
    if format == Format::OpenAi && results.len() != texts.len() {
        return None;
    }
    let mut flags = Vec::new();
    for (nth, result) in results.iter().enumerate() {
        let at = match format {
            Format::OpenAi => nth,
            Format::Chancery => {
                let pointer = result.get("pointer")?.as_str()?;
                texts.iter().position(|text| text.pointer == pointer)?
            }
        };
        let length = texts.get(at)?.text.chars().count();
        let mut spans = Vec::new();
        for span in result.get("spans").and_then(Json::as_array).unwrap_or_default() {
            let index =
                |name: &str| usize::try_from(span.get(name).and_then(Json::as_number).and_then(Number::as_i64)?).ok();
            let (start, end) = (index("start")?, index("end")?);
            if start >= end || end > length {
                return None;
            }
            spans.push((start, end));
        }
        if result.get("flagged")?.as_bool()? {
            flags.push(Flag { at, spans });
        }
    }
    Some(flags)
}

/// Carries a flag out where that is possible; gives the action that was, or must be, taken.
fn follow(
    action: Action,
    flag: &Flag,
    text: &Text,
    tree: &mut Json,
    mode: Mode,
    structural: &(dyn Fn(&Path<'_>) -> bool + Sync),
) -> Action {
    if action <= Action::Monitor || action == Action::Block {
        return action;
    }
    let mut rigid = true;
    json::walk(tree, &mut |path, leaf| {
        if matches!(leaf, Leaf::Text(_)) && path.to_string() == text.pointer {
            rigid = structural(path);
        }
    });
    if rigid {
        return Action::Block;
    }
    if mode == Mode::Enforce
        && let Some(Json::String(leaf)) = tree.pointer_mut(&text.pointer)
    {
        *leaf = redacted(&text.text, &flag.spans);
    }
    action
}

/// The text without the spans; without any, without everything.
fn redacted(text: &str, spans: &[(usize, usize)]) -> String {
    const TOKEN: &str = "[REDACTED:external]";
    if spans.is_empty() {
        return TOKEN.to_owned();
    }
    let mut out = String::new();
    let mut inside = false;
    for (at, letter) in text.chars().enumerate() {
        let covered = spans.iter().any(|(start, end)| (*start..*end).contains(&at));
        if covered && !inside {
            out.push_str(TOKEN);
        }
        if !covered {
            out.push(letter);
        }
        inside = covered;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> Vec<Text> {
        vec![
            Text { pointer: "/a".to_owned(), text: "héllo".to_owned() },
            Text { pointer: "/b".to_owned(), text: "x".to_owned() },
        ]
    }

    fn read(source: &str) -> Json {
        json::read(source.as_bytes(), &json::Limits::default()).unwrap()
    }

    #[test]
    fn the_signature_is_over_time_and_body() {
        let key = [7; 32];
        // Python: hmac.new(bytes([7] * 32), b"1.{}", "sha256").hexdigest()
        assert_eq!(sign(&key, "1", b"{}"), "v1=ada964ae2054edfb8707e3c6e186d10e2c8248849db9d4d11a0544686e9fd874");
        assert_ne!(sign(&key, "1", b"{}"), sign(&key, "2", b"{}"));
        assert_ne!(sign(&key, "1", b"{}"), sign(&[8; 32], "1", b"{}"));
    }

    #[test]
    fn answers_that_make_no_sense_are_errors() {
        for answer in [
            "{}",
            r#"{"results":{}}"#,
            r#"{"results":[{"pointer":"/c","flagged":true}]}"#,
            r#"{"results":[{"pointer":"/a"}]}"#,
            r#"{"results":[{"pointer":"/a","flagged":"yes"}]}"#,
            r#"{"results":[{"pointer":"/a","flagged":true,"spans":[{"start":0,"end":6}]}]}"#,
            r#"{"results":[{"pointer":"/a","flagged":true,"spans":[{"start":3,"end":3}]}]}"#,
            r#"{"results":[{"pointer":"/a","flagged":true,"spans":[{"start":-1,"end":3}]}]}"#,
        ] {
            assert_eq!(flags(&read(answer), Format::Chancery, &given()), None, "{answer}");
        }
        assert_eq!(flags(&read(r#"{"results":[{"flagged":true}]}"#), Format::OpenAi, &given()), None);
    }

    #[test]
    fn flags_and_spans_are_read() {
        let answer = read(
            r#"{"results":[{"pointer":"/b","flagged":false},{"pointer":"/a","flagged":true,"spans":[{"start":1,"end":5}]}]}"#,
        );
        assert_eq!(flags(&answer, Format::Chancery, &given()), Some(vec![Flag { at: 0, spans: vec![(1, 5)] }]));
        let answer = read(r#"{"results":[{"flagged":false},{"flagged":true}]}"#);
        assert_eq!(flags(&answer, Format::OpenAi, &given()), Some(vec![Flag { at: 1, spans: Vec::new() }]));
    }

    #[test]
    fn spans_are_unicode_scalars() {
        assert_eq!(redacted("héllo wörld", &[(1, 5), (3, 7)]), "h[REDACTED:external]örld");
        assert_eq!(redacted("héllo", &[]), "[REDACTED:external]");
    }
}
