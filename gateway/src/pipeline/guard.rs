//! May it be said, may it be heard: trees → the same trees, redacted, or a refusal.
//!
//! *Takes* the card's policies and a call, an answer, a fault or an event. *Gives* it back as it may go on, and the
//! findings. *Refuses* with [`GuardError::Blocked`]. *Never* logs or keeps matched text, never lets a tree pass that
//! could not be inspected to its end.

use crate::pipeline::authorize::Permit;
use crate::pipeline::external::{About, Outside, Told};
use crate::pipeline::head::Head;
use crate::pipeline::legacy::{Entrance, Side};
use crate::registry::Direction;
use a2a::{Answer, Call, Event, Fault, TaskState, Version};
use guard::{Action, Extent, Finding, Flush, Inspector, Judged, Mode, Passage, Pipeline, Surface, Verdict};
use json::{Json, Object, Path};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why something may not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// A detector said no.
    #[error("blocked on {} by {rule}", surface.name())]
    Blocked {
        /// Where.
        surface: Surface,
        /// Whose policy.
        policy: String,
        /// Which detector.
        rule: String,
    },
    /// A guard outside gave no verdict; what was not judged does not pass.
    #[error("no verdict on {} from {rule}", surface.name())]
    Unavailable {
        /// Where.
        surface: Surface,
        /// Which guard.
        rule: String,
    },
    /// The engine failed; what was not inspected does not pass.
    #[error("inspection failed on {}", surface.name())]
    Failed {
        /// Where.
        surface: Surface,
    },
}

/// What was found, in order.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// At most [`Verdict::MOST`] of each inspection.
    pub list: Vec<Finding>,
    /// How many more there were.
    pub omitted: usize,
    /// What guards outside said, or that they did not.
    pub outside: Vec<Told>,
    /// How long was looked.
    pub took: Duration,
}

impl Findings {
    fn add(&mut self, verdict: &Verdict) {
        self.list.extend_from_slice(&verdict.findings);
        self.omitted = self.omitted.saturating_add(verdict.omitted);
    }
}

/// The policies of one card, for one call.
#[derive(Clone)]
pub struct Guards {
    pipelines: Arc<[Arc<Pipeline>]>,
    asked: Surface,
    answered: Surface,
    inline: usize,
    outside: Outside,
    about: Arc<About>,
    /// The surfaces that lie nearer to the agent, where a call crosses those of two doors.
    beyond: Option<Arc<Self>>,
}

impl std::fmt::Debug for Guards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guards").field("asked", &self.asked).field("answered", &self.answered).finish_non_exhaustive()
    }
}

impl Guards {
    /// The guards of the permit's card, for one call. Trees written in more than `inline` bytes are inspected off the
    /// reactor, the earlier the more rules a policy's author wrote.
    #[must_use]
    pub fn of(permit: &Permit, (head, call): (&Head, &Call), inline: usize, outside: &Outside) -> Self {
        let card = permit.card();
        let (asked, answered) = match card.direction {
            Direction::Inbound => (Surface::Inbound, Surface::Outbound),
            Direction::Outbound => (Surface::Outbound, Surface::Inbound),
        };
        let weight = card.policies.iter().map(|policy| policy.weight()).max().unwrap_or(1).max(1);
        let about = About {
            tenant: card.tenant.clone(),
            card: card.name.clone(),
            request: head.correlation_id.clone(),
            operation: call.kind.name(),
        };
        Self {
            pipelines: card.policies.clone().into(),
            asked,
            answered,
            inline: inline / weight,
            outside: outside.clone(),
            about: Arc::new(about),
            beyond: None,
        }
    }

    /// The policies' names and versions, for the record; none if there is none.
    #[must_use]
    pub fn names(&self) -> Option<String> {
        let names = self.pipelines.iter().map(|policy| format!("{}@{}", policy.name(), policy.version()));
        names.reduce(|all, one| format!("{all}, {one}"))
    }

    /// The same for a call that came by `entrance`. The legacy proxy's routes say which way a call goes, and a call of a card
    /// of ours over `/outbound` leaves one agent and enters another: it is judged as both, so that no caller chooses which
    /// policy applies.
    #[must_use]
    pub fn through(self, entrance: Entrance) -> Self {
        let (asked, answered) = match entrance {
            Entrance::Call => return self,
            Entrance::Legacy(Side::Inbound) => (Surface::Inbound, Surface::Outbound),
            Entrance::Legacy(Side::Outbound) => (Surface::Outbound, Surface::Inbound),
        };
        if self.asked == asked {
            return self;
        }
        let beyond = Some(Arc::new(self.clone()));
        Self { asked, answered, beyond, ..self }
    }

    /// What the caller says, in its headers too. `size` is the number of bytes the body was written in.
    ///
    /// # Errors
    /// [`GuardError`]
    pub async fn request(
        &self,
        call: Call,
        size: usize,
        head: &Head,
        findings: &mut Findings,
    ) -> Result<Call, GuardError> {
        let state = head.tracestate.as_ref().and_then(|value| value.to_str().ok());
        let relayed: Vec<Json> = head.extensions.iter().map(String::as_str).chain(state).map(Json::from).collect();
        if !relayed.is_empty() {
            Box::pin(self.tree(self.asked, Json::from(relayed), 0, Tree::Fixed, findings)).await?;
        }
        let call = self.call(call, size, findings).await?;
        match &self.beyond {
            Some(beyond) => Box::pin(beyond.request(call, size, head, findings)).await,
            None => Ok(call),
        }
    }

    async fn call(&self, mut call: Call, size: usize, findings: &mut Findings) -> Result<Call, GuardError> {
        let tree = Json::Object(std::mem::take(&mut call.params));
        call.params = object(self.tree(self.asked, tree, size, Tree::Protocol, findings).await?);
        Ok(call)
    }

    /// What the agent answers.
    ///
    /// # Errors
    /// [`GuardError`]
    pub async fn answer(&self, answer: Answer, size: usize, findings: &mut Findings) -> Result<Answer, GuardError> {
        let answer = match &self.beyond {
            Some(beyond) => Box::pin(beyond.answer(answer, size, findings)).await?,
            None => answer,
        };
        let body = self.tree(self.answered, answer.body, size, Tree::Protocol, findings).await?;
        Ok(Answer { body, origin: answer.origin })
    }

    /// How the agent says no: its text, facts and details.
    ///
    /// # Errors
    /// [`GuardError`]
    pub async fn fault(&self, mut fault: Fault, size: usize, findings: &mut Findings) -> Result<Fault, GuardError> {
        if let Some(beyond) = &self.beyond {
            fault = Box::pin(beyond.fault(fault, size, findings)).await?;
        }
        let metadata: Object = fault.metadata.drain(..).collect();
        let tree = Json::from([
            ("message", Json::String(std::mem::take(&mut fault.message))),
            ("metadata", Json::Object(metadata)),
            ("data", fault.data.take().unwrap_or_default()),
        ]);
        let mut tree = object(self.tree(self.answered, tree, size, Tree::Content, findings).await?);
        fault.message = tree.str("message").unwrap_or_default().to_owned();
        fault.data = tree.remove("data").filter(|data| !data.is_null());
        let facts = tree.remove("metadata").map(object).unwrap_or_default();
        fault.metadata = facts.into_iter().filter_map(|(key, value)| Some((key, value.as_str()?.to_owned()))).collect();
        Ok(fault)
    }

    /// An inspector for the events of one stream.
    #[must_use]
    pub fn stream(&self) -> StreamGuard {
        let guarding = self.pipelines.iter().any(|pipeline| pipeline.guards(self.answered));
        let inspector = guarding.then(|| Inspector::new(self.pipelines.to_vec(), self.answered));
        let outside = self.pipelines.iter().any(|pipeline| !pipeline.externals().is_empty());
        let lookback = self.pipelines.iter().map(|pipeline| pipeline.lookback()).max().unwrap_or(0);
        StreamGuard {
            surface: self.answered,
            lookback,
            inline: self.inline,
            inspector,
            guarding,
            artifacts: HashMap::new(),
            outside: outside.then(|| (self.outside.clone(), Arc::clone(&self.pipelines), Arc::clone(&self.about))),
            events: 0,
            nearer: self.beyond.as_ref().map(|beyond| Box::new(beyond.stream())),
        }
    }

    async fn tree(
        &self,
        surface: Surface,
        mut tree: Json,
        size: usize,
        kind: Tree,
        findings: &mut Findings,
    ) -> Result<Json, GuardError> {
        if !self.pipelines.iter().any(|pipeline| pipeline.guards(surface)) {
            return Ok(tree);
        }
        let pipelines = Arc::clone(&self.pipelines);
        let inspect = move || {
            let all: Vec<&Pipeline> = pipelines.iter().map(Arc::as_ref).collect();
            let verdict = guard::inspect_all(&all, surface, &mut tree, kind.structural());
            (tree, verdict)
        };
        let began = Instant::now();
        let inspected = run(inspect, size > self.inline).await;
        findings.took += began.elapsed();
        let (mut tree, verdict) = inspected.ok_or(GuardError::Failed { surface })?;
        findings.add(&verdict);
        judge(surface, &verdict)?;
        let began = Instant::now();
        let about = (surface, &*self.about, None);
        let asked = self.outside.ask(&self.pipelines, about, &mut tree, kind.structural(), &mut findings.outside).await;
        findings.took += began.elapsed();
        asked?;
        Ok(tree)
    }
}

/// The guard of one stream; holds back the undecided ends of texts that go on.
pub struct StreamGuard {
    surface: Surface,
    /// Bytes that may be looked at with each event, its own not counted.
    lookback: usize,
    inline: usize,
    inspector: Option<Inspector>,
    guarding: bool,
    /// Which artifact a channel's text belongs to.
    artifacts: HashMap<String, Artifact>,
    /// Guards outside, asked event by event.
    outside: Option<Asked>,
    events: u64,
    /// The guard that an event passes first, where there are two.
    nearer: Option<Box<StreamGuard>>,
}

/// Whom to ask, by which policies, and about whose stream.
type Asked = (Outside, Arc<[Arc<Pipeline>]>, Arc<About>);

/// Names an artifact.
#[derive(Clone, Debug)]
struct Artifact {
    task: String,
    context: Option<String>,
    id: String,
}

impl Artifact {
    /// An update that appends `text` to it.
    fn append(&self, text: &str) -> Event {
        let mut update = Object::from([("taskId", Json::from(self.task.as_str()))]);
        if let Some(context) = &self.context {
            update.insert("contextId", context.as_str());
        }
        let parts = Json::from(vec![Json::from([("text", text)])]);
        update.insert("artifact", Json::from([("artifactId", Json::from(self.id.as_str())), ("parts", parts)]));
        update.insert("append", true);
        Event { body: Json::from([("artifactUpdate", Json::Object(update))]), origin: Version::V10 }
    }
}

impl std::fmt::Debug for StreamGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamGuard").field("surface", &self.surface).finish_non_exhaustive()
    }
}

impl StreamGuard {
    /// One event, together with what its texts continue: the events to tell in its place, itself the last. After an
    /// error the stream must be cut.
    ///
    /// # Errors
    /// [`GuardError`]
    pub async fn event(
        &mut self,
        event: Event,
        size: usize,
        findings: &mut Findings,
    ) -> Result<Vec<Event>, GuardError> {
        let Some(nearer) = &mut self.nearer else { return self.one(event, size, findings).await };
        let passed = Box::pin(nearer.event(event, size, findings)).await?;
        let mut events = Vec::new();
        for event in passed {
            events.extend(self.one(event, size, findings).await?);
        }
        Ok(events)
    }

    async fn one(&mut self, event: Event, size: usize, findings: &mut Findings) -> Result<Vec<Event>, GuardError> {
        if !self.guarding {
            return Ok(vec![event]);
        }
        let surface = self.surface;
        let Some(mut inspector) = self.inspector.take() else { return Err(GuardError::Failed { surface }) };
        let text = Continued::of(&event);
        for one in &text {
            if let Some(artifact) = &one.artifact {
                self.artifacts.entry(one.channel.clone()).or_insert_with(|| artifact.clone());
            }
        }
        // Behind these the agent may say nothing more, and the caller may not listen any more.
        let ends = event.is_terminal() || event.state().is_some_and(TaskState::rests);
        let Event { mut body, origin } = event;
        let inspect = move || {
            let passages: Vec<Passage<'_>> = text.iter().map(Continued::passage).collect();
            let judged = inspector.event(&mut body, Tree::Protocol.structural(), &passages, ends);
            (inspector, body, judged)
        };
        let began = Instant::now();
        let inspected = run(inspect, size.saturating_add(self.lookback) > self.inline).await;
        findings.took += began.elapsed();
        let (inspector, body, Judged { verdict, flushes }) = inspected.ok_or(GuardError::Failed { surface })?;
        self.inspector = Some(inspector);
        findings.add(&verdict);
        judge(surface, &verdict)?;
        let mut events = self.appends(&flushes);
        events.push(Event { body, origin });
        self.events = self.events.saturating_add(1);
        if let Some((outside, pipelines, about)) = &self.outside {
            let began = Instant::now();
            for event in &mut events {
                let structural = Tree::Protocol.structural();
                let asked = (surface, &**about, Some(self.events));
                outside.ask(pipelines, asked, &mut event.body, structural, &mut findings.outside).await?;
            }
            findings.took += began.elapsed();
        }
        Ok(events)
    }

    /// What is still held back when the agent says no more.
    ///
    /// # Errors
    /// [`GuardError`]
    pub fn finish(&mut self, findings: &mut Findings) -> Result<Vec<Event>, GuardError> {
        let mut events = Vec::new();
        if let Some(nearer) = &mut self.nearer {
            for event in nearer.finish(findings)? {
                events.extend(self.at_once(event, findings)?);
            }
        }
        events.extend(self.rest(findings)?);
        Ok(events)
    }

    /// One event without a pause, for what is little: the end of a text that the nearer guard held back.
    fn at_once(&mut self, event: Event, findings: &mut Findings) -> Result<Vec<Event>, GuardError> {
        let surface = self.surface;
        let Some(inspector) = &mut self.inspector else { return Ok(vec![event]) };
        let text = Continued::of(&event);
        let Event { mut body, origin } = event;
        let passages: Vec<Passage<'_>> = text.iter().map(Continued::passage).collect();
        let structural = Tree::Protocol.structural();
        let inspect = || inspector.event(&mut body, structural, &passages, false);
        let judged = catch_unwind(AssertUnwindSafe(inspect)).map_err(|_| GuardError::Failed { surface })?;
        findings.add(&judged.verdict);
        judge(surface, &judged.verdict)?;
        let mut events = self.appends(&judged.flushes);
        events.push(Event { body, origin });
        Ok(events)
    }

    fn rest(&mut self, findings: &mut Findings) -> Result<Vec<Event>, GuardError> {
        let Some(inspector) = &mut self.inspector else { return Ok(Vec::new()) };
        let surface = self.surface;
        let judged = catch_unwind(AssertUnwindSafe(|| inspector.finish()));
        let Judged { verdict, flushes } = judged.map_err(|_| GuardError::Failed { surface })?;
        findings.add(&verdict);
        judge(surface, &verdict)?;
        Ok(self.appends(&flushes))
    }

    fn appends(&self, flushes: &[Flush]) -> Vec<Event> {
        flushes.iter().filter_map(|flush| Some(self.artifacts.get(&flush.channel)?.append(&flush.text))).collect()
    }
}

/// What a tree is, as far as rewriting goes.
#[derive(Clone, Copy)]
enum Tree {
    /// Ids, enums and such must stay as they are.
    Protocol,
    /// Everything is content.
    Content,
    /// Nothing can be rewritten: what would be redacted is blocked.
    Fixed,
}

impl Tree {
    fn structural(self) -> &'static (dyn Fn(&Path<'_>) -> bool + Sync) {
        match self {
            Self::Protocol => &a2a::structural,
            Self::Content => &|_| false,
            Self::Fixed => &|_| true,
        }
    }
}

/// The text that an artifact event adds to its artifact (threat-model Annex D 1); other texts are whole by themselves.
struct Continued {
    channel: String,
    artifact: Option<Artifact>,
    leaves: Vec<String>,
    extent: Extent,
}

impl Continued {
    /// An artifact's update continues its artifact; a task's snapshot is where later updates continue from.
    fn of(event: &Event) -> Vec<Self> {
        let named = |id: &str| Artifact {
            task: event.task_id().unwrap_or_default().to_owned(),
            context: event.context_id().map(str::to_owned),
            id: id.to_owned(),
        };
        match event.payload() {
            Some(("artifactUpdate", update)) => {
                let flag = |name: &str| update.get(name).and_then(Json::as_bool).unwrap_or(false);
                let extent = match (flag("append"), flag("lastChunk")) {
                    (true, true) => Extent::Ends,
                    (true, false) => Extent::Continues,
                    (false, true) => Extent::Whole,
                    (false, false) => Extent::Begins,
                };
                let artifact = update.get("artifact");
                artifact.map(|one| Self::artifact(named, one, "/artifactUpdate/artifact", extent)).into_iter().collect()
            }
            Some(("task", snapshot)) => {
                let artifacts = snapshot.get("artifacts").and_then(Json::as_array).unwrap_or_default();
                let at = |at: usize| format!("/task/artifacts/{at}");
                artifacts.iter().enumerate().map(|(n, one)| Self::artifact(named, one, &at(n), Extent::Whole)).collect()
            }
            Some(("statusUpdate", update)) => {
                let message = update.get("status").and_then(|status| status.get("message"));
                message.map(|one| Self::message(one, "/statusUpdate/status/message")).into_iter().collect()
            }
            Some(("message", message)) => vec![Self::message(&Json::Object(message.clone()), "/message")],
            Some(_) | None => Vec::new(),
        }
    }

    /// A message is a channel of its own, and whole.
    fn message(message: &Json, at: &str) -> Self {
        Self { channel: at.to_owned(), artifact: None, leaves: texts(message, at), extent: Extent::Whole }
    }

    fn artifact(named: impl Fn(&str) -> Artifact, artifact: &Json, at: &str, extent: Extent) -> Self {
        let id = artifact.get("artifactId").and_then(Json::as_str).unwrap_or_default();
        let named = named(id);
        let channel = format!("{}/{id}", named.task);
        Self { channel, artifact: Some(named), leaves: texts(artifact, at), extent }
    }

    fn passage(&self) -> Passage<'_> {
        Passage { channel: &self.channel, leaves: &self.leaves, extent: self.extent }
    }
}

/// The text parts of a message or artifact at `at`.
fn texts(holder: &Json, at: &str) -> Vec<String> {
    let parts = holder.get("parts").and_then(Json::as_array).unwrap_or_default();
    let texts = parts.iter().enumerate().filter(|(_, part)| part.get("text").is_some());
    texts.map(|(part, _)| format!("{at}/parts/{part}/text")).collect()
}

/// Runs an inspection, off the reactor if it is `long`; `None` if it panicked.
async fn run<T: Send + 'static>(inspect: impl FnOnce() -> T + Send + 'static, long: bool) -> Option<T> {
    if long {
        return tokio::task::spawn_blocking(inspect).await.ok();
    }
    catch_unwind(AssertUnwindSafe(inspect)).ok()
}

fn judge(surface: Surface, verdict: &Verdict) -> Result<(), GuardError> {
    let Some(rule) = verdict.blocked_by() else { return Ok(()) };
    let decided = |finding: &&Finding| finding.action == Action::Block && finding.mode == Mode::Enforce;
    let policy = verdict.findings.iter().find(decided).map_or_else(String::new, |finding| finding.policy.to_string());
    Err(GuardError::Blocked { surface, policy, rule: rule.to_owned() })
}

fn object(tree: Json) -> Object {
    match tree {
        Json::Object(object) => object,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => Object::new(),
    }
}
