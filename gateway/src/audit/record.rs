//! What one exchange leaves behind: the facts known when it opens, and those known when it closes.
//!
//! Takes facts from the trail, gives JSON for the spool. Every text is cut to 1 KiB and has control and bidirectional characters
//! written out, so that no record can forge another or repaint a terminal. Never holds message text or credentials: findings name a
//! detector and carry a keyed hash.
//!
//! Place kept for the hash chain: a frame's flag byte has a bit for a 32-byte hash before the JSON (see `spool/frame.rs`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::clock::Micros;

/// Longest text of a record, in bytes.
const TEXT_BYTES: usize = 1024;
/// Findings listed in one record; more are counted.
const FINDINGS: usize = 32;

/// The facts known when a principal is proven and a slot is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Opening {
    /// When the exchange began.
    pub at_us: Micros,
    /// Whose card was addressed.
    #[serde(serialize_with = "text")]
    pub tenant: String,
    /// Which card.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// Who called.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// Which credential proved it.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Which administrator asked, where no principal called.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub admin: Option<String>,
    /// From which address.
    #[serde(serialize_with = "text")]
    pub peer: String,
    /// The id that callers are told.
    #[serde(serialize_with = "text")]
    pub correlation_id: String,
    /// The gateway's own id, where `correlation_id` is the caller's: the root of chains that begin with this call.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub own_id: Option<String>,
    /// The id that the caller sent, where it was not taken over.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub caller_correlation_id: Option<String>,
    /// The trace that the caller said this belongs to.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The dialect as far as the head shows it.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// The HTTP method.
    #[serde(serialize_with = "text")]
    pub method: String,
    /// By which way it came in: `call`, `push`, `legacy`, `token`; `try` where an administrator tried a card.
    #[serde(serialize_with = "text")]
    pub entrance: String,
    /// The registry revision it is judged by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// On whose behalf, as proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation: Option<DelegationFact>,
    /// What the caller said about its run: names without their prefix.
    #[serde(serialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    pub said: BTreeMap<String, String>,
}

/// The proven chain of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DelegationFact {
    /// The id of the first call: its own id, or its correlation id where no caller chose that one.
    #[serde(serialize_with = "text")]
    pub root: String,
    /// The id of the call that caused this one.
    #[serde(serialize_with = "text")]
    pub parent: String,
    /// How many delegations there were.
    pub depth: u32,
    /// Who made the call that caused this one.
    #[serde(serialize_with = "text")]
    pub actor: String,
    /// Whom it is all for.
    #[serde(serialize_with = "text")]
    pub subject: String,
    /// The calls so far.
    #[serde(serialize_with = "text")]
    pub chain: String,
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The slot was dropped without a word: a defect of ours.
    #[default]
    Abandoned,
    /// The agent answered with a fault.
    AgentFault,
    /// The policy stopped it.
    Blocked,
    /// The caller went away first.
    CallerGone,
    /// It could not be inspected and the policy refuses that.
    CouldNotScan,
    /// The process was stopping.
    Draining,
    /// The process ended while it was open; written at the next start.
    Interrupted,
    /// It was answered.
    Ok,
    /// We refused: limit, permit, form.
    Refused,
    /// The stream ended without a terminal event.
    StreamIncomplete,
    /// The agent broke off after its answer had begun.
    UpstreamAbort,
    /// The agent could not be reached or did not answer properly.
    UpstreamError,
}

impl Outcome {
    /// As in records and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Abandoned => "abandoned",
            Outcome::AgentFault => "agent_fault",
            Outcome::Blocked => "blocked",
            Outcome::CallerGone => "caller_gone",
            Outcome::CouldNotScan => "could_not_scan",
            Outcome::Draining => "draining",
            Outcome::Interrupted => "interrupted",
            Outcome::Ok => "ok",
            Outcome::Refused => "refused",
            Outcome::StreamIncomplete => "stream_incomplete",
            Outcome::UpstreamAbort => "upstream_abort",
            Outcome::UpstreamError => "upstream_error",
        }
    }
}

/// One thing a detector saw, without the text it saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FindingFact {
    /// Which detector.
    #[serde(serialize_with = "text")]
    pub detector: String,
    /// On which surface.
    #[serde(serialize_with = "text")]
    pub surface: String,
    /// What was done about it.
    #[serde(serialize_with = "text")]
    pub action: String,
    /// How bad.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Where, as a JSON pointer of positions and known names only.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Keyed hash of the matched text.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub hmac: Option<String>,
    /// How many of this kind.
    pub count: u32,
    /// The policy that minded it, `name@version`.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How sure the detector was, out of 100, where that varies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<u8>,
    /// First byte of the match in the text at `pointer`, and one past the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
    /// The call of the chain whose caller it is about, from 1; none where that is who calls now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop: Option<u32>,
}

impl FindingFact {
    /// The detector's kind, without the name that its policy gives it.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.detector.split(':').next().unwrap_or_default()
    }

    /// Whether this is what `wanted` asks for: a kind, or a kind and a name.
    #[must_use]
    pub fn is_of(&self, wanted: &str) -> bool {
        self.detector == wanted || self.kind() == wanted
    }

    /// The name of the policy that minded it.
    #[must_use]
    pub fn policy(&self) -> Option<&str> {
        self.by.as_deref().map(|by| by.rsplit_once('@').map_or(by, |(name, _)| name))
    }
}

/// How long the parts of an exchange took, in microseconds. What took none, or was not come to, is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageTimes {
    /// Who calls, whether it may, and a place for it.
    #[serde(skip_serializing_if = "is_zero")]
    pub admit_us: u64,
    /// Reading and decoding the call; whose tasks it names.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_us: u64,
    /// Inspecting the call.
    #[serde(skip_serializing_if = "is_zero")]
    pub guard_in_us: u64,
    /// Until the first byte of the agent's answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub agent_us: u64,
    /// The rest of the agent's answer, at the pace of a caller that reads slowly.
    #[serde(skip_serializing_if = "is_zero")]
    pub rest_us: u64,
    /// Inspecting the answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub guard_out_us: u64,
    /// Writing the answer, and waiting for the opening record where the answer had to.
    #[serde(skip_serializing_if = "is_zero")]
    pub end_us: u64,
}

impl StageTimes {
    /// Whether nothing was measured, as in records from before.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field over by reference")]
fn is_zero(us: &u64) -> bool {
    *us == 0
}

/// The facts known at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Closing {
    /// When it ended.
    pub at_us: Micros,
    /// How it ended.
    pub outcome: Outcome,
    /// The operation, once decoded.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The dialect, once settled; wins over the opening's.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// The reason of the fault that was answered.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Why it was refused, where the caller was not told.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The HTTP status that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Which task.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Which context.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// `supplied`: the task waited for authorisation, and the agent was given the gateway's credential for it.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub in_task: Option<String>,
    /// Which policies judged it, as `name@version`, the tenant's floor first.
    #[serde(serialize_with = "some_text", skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// What the detectors saw.
    #[serde(serialize_with = "findings", skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingFact>,
    /// Stream events relayed.
    pub events: u64,
    /// Bytes of the caller's body.
    pub bytes_in: u64,
    /// Bytes of our answer's body.
    pub bytes_out: u64,
    /// From the request to the agent until its answer: a whole one's last byte, a stream's head.
    pub upstream_us: u64,
    /// Inspecting, both ways.
    pub guard_us: u64,
    /// The parts one by one, where measured.
    #[serde(skip_serializing_if = "StageTimes::is_empty")]
    pub stages: StageTimes,
}

fn text<S: Serializer>(value: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&clean(value))
}

#[expect(clippy::ref_option, reason = "serde hands the field over by reference")]
fn some_text<S: Serializer>(value: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => text(value, serializer),
        None => serializer.serialize_none(),
    }
}

fn texts<S: Serializer>(all: &BTreeMap<String, String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(all.iter().map(|(name, value)| (clean(name), clean(value))))
}

fn findings<S: Serializer>(all: &[FindingFact], serializer: S) -> Result<S::Ok, S::Error> {
    let listed = all.get(..FINDINGS).unwrap_or(all);
    let rest: u32 = all.iter().skip(FINDINGS).map(|finding| finding.count.max(1)).sum();
    let more = FindingFact { detector: "more".to_owned(), count: rest, ..FindingFact::default() };
    serializer.collect_seq(listed.iter().chain((rest > 0).then_some(&more)))
}

/// A text fit for a record: at most 1 KiB, control and bidirectional characters written as `\u{…}`.
#[must_use]
pub fn clean(value: &str) -> Cow<'_, str> {
    let plain = |byte: &u8| (0x20..0x7f).contains(byte);
    if value.len() <= TEXT_BYTES && value.as_bytes().iter().all(plain) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len().min(TEXT_BYTES));
    for letter in value.chars() {
        let before = out.len();
        if is_hidden(letter) {
            out.extend(letter.escape_unicode())
        } else {
            out.push(letter)
        }
        if out.len() > TEXT_BYTES - '…'.len_utf8() {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    Cow::Owned(out)
}

/// Characters that change how their neighbours are shown, or are not shown at all.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_forge_or_repaint() {
        assert_eq!(clean("plain {\"a\":1}"), "plain {\"a\":1}");
        assert_eq!(clean("a\r\nb\x1b[31m"), "a\\u{d}\\u{a}b\\u{1b}[31m");
        assert_eq!(clean("\u{202e}gpj.exe\u{2066}"), "\\u{202e}gpj.exe\\u{2066}");
        assert_eq!(clean("grüße 漢"), "grüße 漢");
        for long in ["x".repeat(1 << 20), "漢".repeat(2000), "\n".repeat(2000), format!("{}é", "x".repeat(1023))] {
            let cleaned = clean(&long);
            assert!(cleaned.len() <= TEXT_BYTES && cleaned.ends_with('…'), "{}", cleaned.len());
        }
        assert_eq!(clean(&"x".repeat(1024)).len(), 1024);
    }

    #[test]
    fn every_text_of_a_record_is_cleaned() {
        let bad = || "\n\u{202e}".to_owned();
        let some = || Some(bad());
        let opening = Opening {
            tenant: bad(),
            card: some(),
            principal: some(),
            key_id: some(),
            peer: bad(),
            correlation_id: bad(),
            own_id: some(),
            caller_correlation_id: some(),
            trace_id: some(),
            dialect: some(),
            method: bad(),
            entrance: bad(),
            delegation: Some(DelegationFact {
                root: bad(),
                parent: bad(),
                depth: 1,
                actor: bad(),
                subject: bad(),
                chain: bad(),
            }),
            said: BTreeMap::from([(bad(), bad())]),
            ..Opening::default()
        };
        let finding = FindingFact {
            detector: bad(),
            surface: bad(),
            action: bad(),
            severity: some(),
            pointer: some(),
            hmac: some(),
            count: 1,
            by: some(),
            score: None,
            span: None,
            hop: None,
        };
        let closing = Closing {
            operation: some(),
            dialect: some(),
            fault: some(),
            reason: some(),
            in_task: some(),
            task_id: some(),
            context_id: some(),
            policy: some(),
            findings: vec![finding; 40],
            ..Closing::default()
        };
        for json in [serde_json::to_string(&opening).unwrap(), serde_json::to_string(&closing).unwrap()] {
            assert!(!json.contains("\\n") && !json.contains('\u{202e}'), "{json}");
            assert!(json.contains("\\\\u{202e}"), "{json}");
        }
        let read: Closing = serde_json::from_slice(&serde_json::to_vec(&closing).unwrap()).unwrap();
        assert_eq!(read.findings.len(), FINDINGS + 1);
        assert_eq!(read.findings.iter().map(|finding| finding.count).sum::<u32>(), 40);
    }

    #[test]
    fn stages_are_kept_and_records_from_before_have_none() {
        let stages = StageTimes { admit_us: 3, agent_us: 40, ..StageTimes::default() };
        let closing = Closing { stages, ..Closing::default() };
        let json = serde_json::to_value(&closing).unwrap();
        assert_eq!(json["stages"], serde_json::json!({"admit_us": 3, "agent_us": 40}));
        assert_eq!(serde_json::from_value::<Closing>(json).unwrap(), closing);
        let before = serde_json::to_value(Closing::default()).unwrap();
        assert!(before.get("stages").is_none());
        assert!(serde_json::from_value::<Closing>(before).unwrap().stages.is_empty());
    }

    #[test]
    fn outcomes_are_named_alike_in_json_and_in_columns() {
        for outcome in [
            Outcome::Abandoned,
            Outcome::AgentFault,
            Outcome::Blocked,
            Outcome::CallerGone,
            Outcome::CouldNotScan,
            Outcome::Draining,
            Outcome::Interrupted,
            Outcome::Ok,
            Outcome::Refused,
            Outcome::StreamIncomplete,
            Outcome::UpstreamAbort,
            Outcome::UpstreamError,
        ] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
    }
}
