//! The same verdict for text that arrives in events (threat-model Annex D).
//!
//! Every event leaves at once, minus the end of its text that more text could still turn into a match; that tail is put
//! in front of the channel's next text, or is given out when the channel ends. So however an agent cuts its text, what
//! the caller can join is what redacting the whole would have given, and a match is never seen half. No clock releases
//! a tail.
//!
//! A match that is spread over several channels is detected and cuts the stream; so does one that began in text that was
//! told before the stream was under inspection. Signals of injection add up over a channel and are not held back.

mod channel;

use std::collections::HashMap;
use std::sync::Arc;

use json::{Json, Path};

use crate::finding::{Action, Finding, Mode, Place};
use crate::pipeline::{Examined, Hold, Masks, Pipeline, examine, finding};
use crate::scan::{Apart, Hit, Piece};
use crate::surface::Surface;
use crate::verdict::{Outcome, Verdict};
use channel::{Channel, Pushed, Told};

/// Most open channels of one stream; more is refused, because each keeps text.
const MOST_CHANNELS: usize = 256;

/// The rule that blocks a stream with too many channels.
const CHANNELS: &str = "stream.channels";
/// The rule that blocks a match over several channels, or over what was told already.
const ACROSS: &str = "stream.across";

/// How a piece of text belongs to its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It follows what the channel had before (`append: true`).
    Continues,
    /// The channel starts anew with it (`append: false`).
    Begins,
    /// It follows, and nothing will follow it (`lastChunk`). What follows all the same is joined to it, but what was told
    /// is told.
    Ends,
    /// A complete unit, looked at as such. What follows all the same is joined to it.
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

/// The end of a channel's text that no event of its own brings: it must be told before the event it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flush {
    /// The channel.
    pub channel: String,
    /// What is left of its text.
    pub text: String,
}

/// What an event comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// What happened to the event.
    pub verdict: Verdict,
    /// What to tell before it.
    pub flushes: Vec<Flush>,
}

/// One stream under inspection.
pub struct Inspector {
    pipelines: Vec<Arc<Pipeline>>,
    surface: Surface,
    channels: HashMap<String, Channel>,
    /// The end of all text, whatever its channel, and the channel it was of.
    across: Channel,
    last: String,
    hold: Hold,
}

impl Inspector {
    /// An inspector under several policies at once (see [`crate::inspect_all`]).
    #[must_use]
    pub fn new(pipelines: Vec<Arc<Pipeline>>, surface: Surface) -> Self {
        let pipelines: Vec<_> = pipelines.into_iter().filter(|pipeline| pipeline.guards(surface)).collect();
        let holds = |pipeline: &Arc<Pipeline>| pipeline.hold == Hold::Message && pipeline.mode == Mode::Enforce;
        let hold = if pipelines.iter().any(holds) { Hold::Message } else { Hold::Exact };
        Self { pipelines, surface, channels: HashMap::new(), across: Channel::new(), last: String::new(), hold }
    }

    /// How many characters are held back, over all channels.
    #[must_use]
    pub fn held(&self) -> usize {
        self.channels.values().map(Channel::held).sum()
    }

    /// Looks at one event. `ends` says that no channel goes on behind it. After a verdict of `Blocked` the event is as it
    /// came in, and the stream must be cut.
    pub fn event(
        &mut self,
        json: &mut Json,
        structural: &dyn Fn(&Path<'_>) -> bool,
        passages: &[Passage<'_>],
        ends: bool,
    ) -> Judged {
        let pipelines: Vec<&Pipeline> = self.pipelines.iter().map(|pipeline| &**pipeline).collect();
        let pieces = passages.iter().filter(|passage| passage.extent != Extent::Whole);
        let apart = Apart::new(pieces.flat_map(|passage| passage.leaves));
        let Examined { verdict, redacted, masks } = examine(&pipelines, self.surface, json, structural, &apart);
        let mut judged = Judged { verdict, flushes: Vec::new() };
        let mut told: Vec<(&str, String)> = Vec::new();
        for passage in passages {
            if judged.verdict.blocked_by().is_some() {
                return Judged { flushes: Vec::new(), ..judged };
            }
            self.passage(passage, json, &mut told, &masks, &mut judged);
        }
        if ends && judged.verdict.blocked_by().is_none() {
            self.flush(&mut judged);
        }
        if judged.verdict.blocked_by().is_some() {
            judged.flushes.clear();
            return judged;
        }
        if let Some(redacted) = redacted {
            *json = redacted;
        }
        for (pointer, text) in told {
            if let Some(Json::String(leaf)) = json.pointer_mut(pointer) {
                *leaf = text;
            }
        }
        judged
    }

    /// The stream is over: what is held back can be told.
    pub fn finish(&mut self) -> Judged {
        let mut judged = Judged { verdict: Verdict::allowed(), flushes: Vec::new() };
        self.flush(&mut judged);
        judged
    }

    fn passage<'a>(
        &mut self,
        passage: &Passage<'a>,
        json: &Json,
        out: &mut Vec<(&'a str, String)>,
        masks: &Masks,
        judged: &mut Judged,
    ) {
        let text = |pointer: &String| json.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
        let texts: Vec<&str> = passage.leaves.iter().map(text).collect();
        self.cross(passage, &texts, masks, &mut judged.verdict);
        if judged.verdict.blocked_by().is_some() || self.pipelines.is_empty() {
            return;
        }
        if matches!(passage.extent, Extent::Begins | Extent::Whole) {
            self.reset(passage.channel, judged);
        }
        if !self.make_room(passage, &mut judged.verdict) {
            return;
        }
        let hold = self.hold;
        if !self.channels.contains_key(passage.channel) {
            self.channels.insert(passage.channel.to_owned(), Channel::new());
        }
        let Some(channel) = self.channels.get_mut(passage.channel) else { return };
        match passage.extent {
            Extent::Whole => channel.seed(&self.pipelines, &texts),
            Extent::Continues | Extent::Begins | Extent::Ends => {
                let done = passage.extent == Extent::Ends;
                let mut pushed = channel.push(&self.pipelines, &texts, done, hold);
                let texts = std::mem::take(&mut pushed.out);
                out.extend(passage.leaves.iter().map(String::as_str).zip(texts));
                self.take(pushed, passage.leaves, masks, &mut judged.verdict);
            }
        }
    }

    /// A channel that starts anew tells its old end first.
    fn reset(&mut self, name: &str, judged: &mut Judged) {
        if let Some(mut channel) = self.channels.remove(name) {
            self.drain(name, &mut channel, judged);
        }
    }

    fn flush(&mut self, judged: &mut Judged) {
        let mut names: Vec<String> = self.channels.keys().cloned().collect();
        names.sort_unstable();
        for name in names {
            if judged.verdict.blocked_by().is_some() {
                return;
            }
            if let Some(mut channel) = self.channels.remove(&name) {
                self.drain(&name, &mut channel, judged);
                channel.close();
                self.channels.insert(name, channel);
            }
        }
    }

    fn drain(&self, name: &str, channel: &mut Channel, judged: &mut Judged) {
        if channel.held() == 0 && !channel.is_replaced() {
            return;
        }
        let pushed = channel.push(&self.pipelines, &[], true, self.hold);
        let text = pushed.out.concat();
        self.take(pushed, &[], &Masks::default(), &mut judged.verdict);
        if judged.verdict.blocked_by().is_none() && !text.is_empty() {
            judged.flushes.push(Flush { channel: name.to_owned(), text });
        }
    }

    /// Looks for matches that begin in one text and end in another.
    fn cross(&mut self, passage: &Passage<'_>, texts: &[&str], masks: &Masks, verdict: &mut Verdict) {
        if texts.iter().all(|text| text.is_empty()) || self.pipelines.is_empty() {
            return;
        }
        // A complete unit is another text, whatever its channel is called: messages share one name.
        if passage.extent == Extent::Whole || self.last != passage.channel {
            if !self.last.is_empty() {
                self.across.joint();
            }
            passage.channel.clone_into(&mut self.last);
        }
        let found = self.across.crossing(&self.pipelines, texts);
        for told in found {
            let hit = hit(&told, passage.leaves, Action::Block);
            let Some(pipeline) = self.pipelines.get(told.pipeline) else { continue };
            add(verdict, finding(pipeline, &hit, self.surface, masks), ACROSS);
        }
    }

    /// Channels that are over make room; more open ones than there may be block the stream.
    fn make_room(&mut self, passage: &Passage<'_>, verdict: &mut Verdict) -> bool {
        if self.channels.contains_key(passage.channel) || self.channels.len() < MOST_CHANNELS {
            return true;
        }
        // What a complete unit could be joined to is given up then.
        if passage.extent == Extent::Whole {
            return false;
        }
        let over = self.channels.iter().find(|(_, channel)| channel.is_over()).map(|(name, _)| name.clone());
        if let Some(over) = over {
            self.channels.remove(&over);
            return true;
        }
        if self.pipelines.iter().any(|pipeline| pipeline.mode == Mode::Enforce) {
            verdict.outcome = Outcome::Blocked { rule: CHANNELS.to_owned() };
        }
        false
    }

    fn take(&self, pushed: Pushed, leaves: &[String], masks: &Masks, verdict: &mut Verdict) {
        for told in &pushed.told {
            let Some(pipeline) = self.pipelines.get(told.pipeline) else { continue };
            let action = told.action;
            let finding = finding(pipeline, &hit(told, leaves, action), self.surface, masks);
            if pipeline.mode == Mode::Enforce && action > Action::Monitor && verdict.outcome == Outcome::Allowed {
                verdict.outcome = Outcome::Redacted;
            }
            let name = finding.name.to_string();
            add(verdict, finding, &name);
        }
        if let Some(rule) = pushed.cut {
            verdict.outcome = Outcome::Blocked { rule };
        }
    }
}

fn hit(told: &Told, leaves: &[String], action: Action) -> Hit {
    let pointer = leaves.get(told.leaf).or_else(|| leaves.last()).map(String::as_str).unwrap_or_default();
    Hit {
        rule: Some(told.rule),
        kind: told.kind,
        pieces: vec![Piece { ordinal: 0, pointer: pointer.into(), span: told.span.clone() }],
        place: if told.earlier { Place::Stream } else { Place::Text },
        action,
        hash: told.hash,
        view: told.view,
        score: told.score,
        keep: 0,
    }
}

/// Adds a finding and what follows from it.
fn add(verdict: &mut Verdict, finding: Finding, rule: &str) {
    if finding.action == Action::Block && finding.mode == Mode::Enforce && verdict.blocked_by().is_none() {
        let rule = if rule == ACROSS { finding.name.to_string() } else { rule.to_owned() };
        verdict.outcome = Outcome::Blocked { rule };
    }
    if verdict.findings.len() >= Verdict::MOST {
        verdict.omitted = verdict.omitted.saturating_add(1);
        verdict.findings.pop();
    }
    verdict.findings.push(finding);
}

#[cfg(test)]
mod tests;
