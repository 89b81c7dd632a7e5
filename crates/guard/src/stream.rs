//! The same verdict for text that arrives in events.
//!
//! Every event is inspected whole, and redacted as if it stood alone. Besides, the end of what each channel has had is
//! kept, as far as a match can reach, and a match that spans it and the new event is *detected*: with action `redact` or
//! `block` the event is blocked and the stream must be cut, because the first piece of the match is already out.
//!
//! So nothing that a rule minds is ever completed on the wire, but a piece of it may be seen, and a secret that a model
//! happens to cut over two tokens ends the stream instead of being redacted. Exact redaction over events (holding back
//! only the undecided tail) is the full engine's. A whole-word rule takes the end of an event for the end of a word.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use json::{Json, Path};

use crate::finding::{Action, Finding, Mode, Place};
use crate::pipeline::{Examined, Masks, Pipeline, Rule, examine, finding};
use crate::scan::{Hit, Look, escalate, look};
use crate::surface::Surface;
use crate::verdict::{Outcome, Verdict};

/// Most open channels of one stream; more is refused, because each keeps text.
const MOST_CHANNELS: usize = 256;

/// The rule that blocks a stream with too many channels.
const CHANNELS: &str = "stream.channels";

/// How a piece of text belongs to its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It follows what the channel had before (`append: true`).
    Continues,
    /// The channel starts anew with it (`append: false`).
    Begins,
    /// It follows, and by what is said nothing will follow it (`lastChunk`). What follows all the same is still joined.
    Ends,
    /// A complete unit: it starts and ends its channel. What follows all the same is still joined.
    Whole,
}

/// The text one event adds to one channel.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// Names the channel within the stream, for example the task and artifact id.
    pub channel: &'a str,
    /// RFC 6901 pointers of the string leaves that continue the channel's text, in order.
    pub leaves: &'a [String],
    /// How they continue it.
    pub extent: Extent,
}

/// One stream under inspection.
pub struct Inspector {
    pipelines: Vec<Arc<Pipeline>>,
    surface: Surface,
    /// The end of each channel's text, as it went out, and whether more is to come.
    tails: HashMap<String, (String, bool)>,
    reach: usize,
}

impl Inspector {
    /// An inspector under several policies at once (see [`crate::inspect_all`]).
    #[must_use]
    pub fn new(pipelines: Vec<Arc<Pipeline>>, surface: Surface) -> Self {
        let pipelines: Vec<_> = pipelines.into_iter().filter(|pipeline| pipeline.guards(surface)).collect();
        let reach = pipelines.iter().map(|pipeline| pipeline.reach()).max().unwrap_or(0);
        Self { pipelines, surface, tails: HashMap::new(), reach }
    }

    /// Looks at one event: whole, and together with the end of what its channels had before. After a verdict of
    /// `Blocked` the event is as it came in, and the stream must be cut.
    pub fn event(
        &mut self,
        json: &mut Json,
        structural: &dyn Fn(&Path<'_>) -> bool,
        passages: &[Passage<'_>],
    ) -> Verdict {
        let pipelines: Vec<&Pipeline> = self.pipelines.iter().map(|pipeline| &**pipeline).collect();
        let Examined { mut verdict, redacted, masks } = examine(&pipelines, self.surface, json, structural);
        for passage in passages {
            if verdict.blocked_by().is_some() {
                return verdict;
            }
            self.passage(passage, redacted.as_ref().unwrap_or(json), &masks, &mut verdict);
        }
        if verdict.blocked_by().is_none()
            && let Some(redacted) = redacted
        {
            *json = redacted;
        }
        verdict
    }

    fn passage(&mut self, passage: &Passage<'_>, json: &Json, masks: &Masks, verdict: &mut Verdict) {
        let leaves = passage.leaves.iter().filter_map(|pointer| json.pointer(pointer).and_then(Json::as_str));
        let fresh: String = leaves.collect();
        let tail = self.tails.remove(passage.channel).map(|(tail, _)| tail).unwrap_or_default();
        let tail = match passage.extent {
            Extent::Continues | Extent::Ends => tail,
            Extent::Begins | Extent::Whole => String::new(),
        };
        if !tail.is_empty() && !fresh.is_empty() {
            self.joint(passage, &tail, &fresh, masks, verdict);
        }
        let open = match passage.extent {
            Extent::Continues | Extent::Begins => true,
            Extent::Ends | Extent::Whole => false,
        };
        self.keep(passage.channel, tail + &fresh, open, verdict);
    }

    /// Looks at both sides of the joint between what a channel had and what it gets.
    fn joint(&self, passage: &Passage<'_>, tail: &str, fresh: &str, masks: &Masks, verdict: &mut Verdict) {
        let pointer: Arc<str> = passage.leaves.first().map(String::as_str).unwrap_or_default().into();
        for pipeline in &self.pipelines {
            for (index, rule) in pipeline.rules.iter().enumerate() {
                let reach = rule.detector.reach();
                let window = format!("{}{}", last(tail, reach), first(fresh, reach));
                let joint = last(tail, reach).len();
                let Some((span, action)) = crossing(pipeline, rule, &window, joint) else { continue };
                let hash = pipeline.key.hash(window.get(span.clone()).unwrap_or_default());
                let span = 0..span.end.saturating_sub(joint);
                let pointer = Arc::clone(&pointer);
                let hit = Hit { rule: Some(index), ordinal: 0, pointer, place: Place::Stream, span, action, hash };
                add(verdict, finding(pipeline, &hit, self.surface, masks));
            }
        }
    }

    /// Keeps the end of a channel's text. A channel that was said to be over makes room for another.
    fn keep(&mut self, channel: &str, text: String, open: bool, verdict: &mut Verdict) {
        if self.reach == 0 {
            return;
        }
        if self.tails.len() >= MOST_CHANNELS {
            let over = self.tails.iter().find(|(_, (_, open))| !open).map(|(channel, _)| channel.clone());
            over.map(|channel| self.tails.remove(&channel));
        }
        if self.tails.len() < MOST_CHANNELS {
            self.tails.insert(channel.to_owned(), (last(&text, self.reach).to_owned(), open));
            return;
        }
        if !open {
            return;
        }
        // Under shadow policies alone the stream goes on; what is not kept is not looked at.
        if self.pipelines.iter().any(|pipeline| pipeline.mode == Mode::Enforce) {
            verdict.outcome = Outcome::Blocked { rule: CHANNELS.to_owned() };
        }
    }
}

/// A match that needs both sides of the joint, and what follows.
fn crossing(pipeline: &Pipeline, rule: &Rule, window: &str, joint: usize) -> Option<(Range<usize>, Action)> {
    let action = escalate(rule.action, true);
    match look(&*rule.detector, window) {
        Look::Seen(spans) => {
            let span = spans.into_iter().find(|span| span.start < joint && joint < span.end)?;
            Some((span, action))
        }
        Look::Flooded => Some((0..window.len(), action)),
        Look::Failed => Some((0..window.len(), pipeline.on_error.action())),
    }
}

/// Adds a finding and what follows from it.
fn add(verdict: &mut Verdict, finding: Finding) {
    if finding.action == Action::Block && finding.mode == Mode::Enforce && verdict.blocked_by().is_none() {
        verdict.outcome = Outcome::Blocked { rule: finding.name.to_string() };
    }
    if verdict.findings.len() >= Verdict::MOST {
        verdict.omitted = verdict.omitted.saturating_add(1);
        verdict.findings.pop();
    }
    verdict.findings.push(finding);
}

/// The last `count` characters.
fn last(text: &str, count: usize) -> &str {
    let start = text.char_indices().rev().take(count).last().map_or(text.len(), |(at, _)| at);
    text.get(start..).unwrap_or_default()
}

/// The first `count` characters.
fn first(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
