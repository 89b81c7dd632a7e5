//! The facts of one exchange while it is open, and its one record.
//!
//! *Takes* facts from `run` as they become known. *Gives* the audit an opening when a principal is proven and a closing
//! when the exchange ends, also when the caller vanishes: dropping an open trail closes it. Refusals before a
//! principal is proven are counted, not recorded (product.md D19). *Never* holds message text; no stage reads it.

use crate::app::App;
use crate::audit::{
    Audit, AuditFull, AuditLost, Closing, DelegationFact, FindingFact, OpenRecord, Opening, Outcome, Slot,
};
use crate::clock::{Clock, Micros};
use crate::live::{Live, Mark};
use crate::pipeline::authenticate::Identity;
use crate::pipeline::delegation::Chain;
use crate::pipeline::guard::Findings;
use crate::pipeline::head::Head;
use crate::pipeline::route::Route;
use crate::pipeline::said::Said;
use crate::pipeline::stopwatch::{FirstByte, Stage, Stopwatch, micros};
use crate::registry::conditions::Ruling;
use crate::registry::{Grant, Snapshot};
use crate::reject::Reject;
use crate::telemetry::Metrics;
use crate::upstream::credential::Carried;
use a2a::{Answer, Call, Dialect, Event, FaultKind};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One exchange, from its head to its last byte.
#[derive(Debug)]
pub struct Trail {
    audit: Audit,
    metrics: Arc<Metrics>,
    clock: Clock,
    peer: SocketAddr,
    opening: Opening,
    closing: Closing,
    tenant_is_ours: bool,
    proven: bool,
    closed: bool,
    slot: Option<Slot>,
    live: Arc<Live>,
    stream: Option<Mark>,
    watch: Stopwatch,
}

impl Trail {
    /// Nothing is known but the head.
    #[must_use]
    pub fn new(app: &App, peer: SocketAddr, head: &Head, now: Micros) -> Self {
        let opening = Opening {
            at_us: now,
            peer: peer.ip().to_string(),
            correlation_id: head.correlation_id.clone(),
            own_id: head.own_id.clone(),
            caller_correlation_id: head.refused_correlation_id.clone(),
            trace_id: head.trace_id(),
            method: head.method.to_string(),
            entrance: "call".to_owned(),
            ..Opening::default()
        };
        Self {
            audit: app.audit.clone(),
            metrics: Arc::clone(&app.metrics),
            clock: app.clock.clone(),
            peer,
            opening,
            closing: Closing::default(),
            tenant_is_ours: false,
            proven: false,
            closed: false,
            slot: None,
            live: Arc::clone(&app.live),
            stream: None,
            watch: Stopwatch::begin(Instant::now()),
        }
    }

    /// The next part of the exchange begins.
    pub fn enter(&mut self, stage: Stage) {
        self.watch.enter(stage, Instant::now());
    }

    /// It came in by another way than a call.
    pub fn entered_by(&mut self, entrance: &'static str) {
        entrance.clone_into(&mut self.opening.entrance);
    }

    /// The id that the caller is told.
    #[must_use]
    pub fn correlation_id(&self) -> &str {
        &self.opening.correlation_id
    }

    /// What is addressed.
    pub fn routed(&mut self, route: &Route, world: &Snapshot) {
        self.tenant_is_ours = world.tenants.contains_key(&route.tenant);
        self.opening.tenant.clone_from(&route.tenant);
        self.opening.card = Some(route.card.clone()).filter(|card| !card.is_empty());
        self.opening.revision = Some(world.revision);
    }

    /// Who calls. The record belongs to the caller's tenant, also where it asks for another's card.
    pub fn identified(&mut self, identity: &Identity) {
        let principal = identity.principal();
        self.proven = true;
        if self.opening.tenant.is_empty() {
            self.opening.tenant.clone_from(&principal.tenant);
        }
        if principal.tenant != self.opening.tenant {
            let asked = format!("{}/{}", self.opening.tenant, self.opening.card.as_deref().unwrap_or_default());
            self.opening.card = Some(asked);
            self.opening.tenant.clone_from(&principal.tenant);
        }
        self.opening.principal = Some(principal.id.clone());
        self.opening.key_id = Some(identity.credential_id().to_owned());
    }

    /// What it says about its run; recorded as said.
    pub fn said(&mut self, said: &Said) {
        self.opening.said = said.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    }

    /// On whose behalf, as proven.
    pub fn delegated(&mut self, chain: Option<&Arc<Chain>>) {
        self.opening.delegation = chain.map(|chain| DelegationFact {
            root: chain.root().to_owned(),
            parent: chain.parent().to_owned(),
            depth: chain.depth(),
            actor: chain.actor().to_owned(),
            subject: chain.subject().to_owned(),
            chain: chain.text(),
        });
    }

    /// The card, where only the message named it.
    pub fn addressed(&mut self, route: &Route) {
        if self.opening.card.is_none() && !route.card.is_empty() {
            self.opening.card = Some(route.card.clone());
        }
    }

    /// Takes the slot: the opening record is written. Without it there is no service.
    ///
    /// # Errors
    /// [`AuditFull`]
    pub fn open(&mut self) -> Result<(), AuditFull> {
        // One exchange has one record, also if its closing could not be brought to disk.
        if self.slot.is_none() && !self.closed {
            self.slot = Some(self.audit.open(&self.opening)?);
        }
        Ok(())
    }

    /// Waits until the opening record is on disk.
    pub fn opened(&self) -> impl Future<Output = Result<(), AuditLost>> + Send + 'static {
        let opened = self.slot.as_ref().map(Slot::opened);
        async move {
            match opened {
                Some(opened) => opened.await,
                None => Ok(()),
            }
        }
    }

    /// Waits for the opening record to be on disk, where that is to be before the agent is called.
    ///
    /// # Errors
    /// [`AuditLost`]
    pub async fn opened_before_forward(&self) -> Result<(), AuditLost> {
        match self.audit.open_mode() {
            OpenRecord::Overlap => Ok(()),
            OpenRecord::BeforeForward => self.opened().await,
        }
    }

    /// The dialect of the answer, as far as it is known.
    pub fn spoken(&mut self, dialect: Dialect) {
        self.closing.dialect = Some(dialect.name().to_owned());
    }

    /// What is asked.
    pub fn called(&mut self, call: &Call, bytes: usize) {
        self.closing.operation = Some(call.kind.name().to_owned());
        self.closing.bytes_in = count(bytes);
        self.named(call.task_id(), call.context_id());
    }

    /// What is in shadow mode and would have had the operation denied.
    pub fn shadowed(&mut self, grant: Option<&Arc<Grant>>) {
        let Some(grant) = grant else { return };
        self.closing.findings.push(FindingFact {
            detector: format!("authz:{}", grant.name),
            action: "deny/shadow".to_owned(),
            count: 1,
            ..FindingFact::default()
        });
    }

    /// The policies that judge it, as `name@version`.
    pub fn judged_by(&mut self, policies: Option<String>) {
        self.closing.policy = policies;
    }

    /// What the tenant's conditions have denied, or would have.
    pub fn ruled(&mut self, ruling: Option<&Ruling>) {
        let (cause, mode) = match ruling {
            None | Some(Ruling::Allowed) => return,
            Some(Ruling::Denied(cause)) => (cause, "enforce"),
            Some(Ruling::WouldDeny(cause)) => (cause, "shadow"),
        };
        let of = format!("condition:{}@{}", cause.conditions, cause.version);
        let each = cause.policies.iter().take(MOST_RULINGS).map(|policy| format!("{of}/{policy}"));
        let detectors = if cause.policies.is_empty() { vec![of.clone()] } else { each.collect() };
        let action = format!("{}/{mode}", cause.why.name());
        self.closing.findings.extend(detectors.into_iter().map(|detector| FindingFact {
            detector,
            action: action.clone(),
            count: 1,
            hop: cause.earlier.as_ref().map(|earlier| earlier.hop),
            ..FindingFact::default()
        }));
    }

    /// What the detectors saw, and how long they looked.
    pub fn inspected(&mut self, findings: Findings) {
        self.closing.guard_us = self.closing.guard_us.saturating_add(micros(findings.took));
        // Events are inspected while the agent goes on.
        if self.watch.stage() == Stage::Rest {
            self.watch.lend(Stage::GuardOut, findings.took);
        }
        for finding in &findings.list {
            let labels = [finding.detector, finding.action.name(), finding.surface.name(), finding.mode.name()];
            self.metrics.findings.with_label_values(&labels).inc();
            let by = format!("{}@{}", finding.policy, finding.version);
            self.closing.policy.get_or_insert_with(|| by.clone());
            self.closing.findings.push(FindingFact {
                detector: format!("{}:{}", finding.detector, finding.name),
                surface: finding.surface.name().to_owned(),
                action: format!("{}/{}", finding.action.name(), finding.mode.name()),
                severity: None,
                pointer: Some(finding.pointer.clone()),
                hmac: Some(finding.hash.clone()),
                count: 1,
                by: Some(by),
                score: (finding.detector == "injection").then_some(finding.score),
                span: Some((finding.start, finding.end)),
                hop: None,
            });
        }
        for told in &findings.outside {
            let detector = if told.failed { "external.could_not_scan" } else { "external" };
            let labels = [detector, told.action.name(), told.surface.name(), told.mode.name()];
            self.metrics.findings.with_label_values(&labels).inc();
            let by = format!("{}@{}", told.policy, told.version);
            self.closing.policy.get_or_insert_with(|| by.clone());
            self.closing.findings.push(FindingFact {
                detector: format!("{detector}:{}", told.name),
                surface: told.surface.name().to_owned(),
                action: format!("{}/{}", told.action.name(), told.mode.name()),
                pointer: Some(told.pointer.clone()),
                count: 1,
                by: Some(by),
                ..FindingFact::default()
            });
        }
        if findings.omitted > 0 {
            let count = u32::try_from(findings.omitted).unwrap_or(u32::MAX);
            self.closing.findings.push(FindingFact { detector: "more".to_owned(), count, ..FindingFact::default() });
        }
    }

    /// How long the agent took to its answer: to a whole one's last byte, to a stream's head.
    pub fn waited(&mut self, took: Duration, first: &FirstByte) {
        self.metrics.upstream_seconds.observe(took.as_secs_f64());
        self.closing.upstream_us = micros(took);
        if let Some(at) = first.at() {
            self.watch.enter(Stage::Rest, at);
        }
    }

    /// Whether the task was given the credential that it waited for.
    pub(crate) fn authorised(&mut self, given: Option<&Carried>) {
        self.closing.in_task = given.map(|_| "supplied".to_owned());
    }

    /// What is answered.
    pub fn answered(&mut self, answer: &Answer) {
        self.named(answer.task_id(), answer.context_id());
    }

    /// One event on its way to the caller.
    pub fn told(&mut self, event: &Event) {
        self.closing.events = self.closing.events.saturating_add(1);
        if self.stream.is_none() {
            self.stream = Some(self.live.streaming(&self.opening, self.closing.operation.as_deref()));
        }
        self.named(event.task_id(), event.context_id());
    }

    /// Bytes on their way to the caller.
    pub fn sent(&mut self, bytes: usize) {
        self.closing.bytes_out = self.closing.bytes_out.saturating_add(count(bytes));
    }

    /// The fault that is answered.
    pub fn faulted(&mut self, kind: FaultKind) {
        self.closing.fault = Some(match (kind.reason(), kind) {
            (None, FaultKind::Agent { code }) => format!("AGENT_ERROR {code}"),
            (reason, _) => reason.unwrap_or_default().to_owned(),
        });
    }

    /// Writes the closing record and waits until it is on disk.
    ///
    /// # Errors
    /// [`AuditLost`]
    pub async fn close(&mut self, outcome: Outcome, status: u16) -> Result<(), AuditLost> {
        self.closed = true;
        self.closing.outcome = outcome;
        self.closing.status = Some(status);
        self.closing.at_us = self.clock.now();
        self.closing.stages = self.watch.read(Instant::now());
        self.tally();
        self.stream = None;
        match self.slot.take() {
            Some(slot) => {
                self.live.ended(&self.opening, &self.closing);
                slot.close(&self.closing).await
            }
            None => Ok(()),
        }
    }

    /// Records a refusal: one record if a principal is proven, else a count.
    pub async fn refuse(&mut self, reject: &Reject, status: u16) {
        self.metrics.refusals.with_label_values(&[reject.name()]).inc();
        if !self.proven {
            let tenant = if self.tenant_is_ours { self.opening.tenant.as_str() } else { "" };
            self.audit.refused(tenant, reject.name(), self.peer.ip(), self.opening.at_us);
            return;
        }
        self.faulted(reject.fault().kind);
        self.closing.reason = reject.reason().map(str::to_owned);
        if self.open().is_ok() {
            // The refusal is answered either way: nothing was done that a lost record would hide.
            let _ = self.close(reject.outcome(), status).await;
        }
    }

    /// Counts a finished exchange under closed sets of labels.
    fn tally(&self) {
        let (dialect, operation) = (self.closing.dialect.as_deref(), self.closing.operation.as_deref());
        let labels = [self.closing.outcome.as_str(), dialect.unwrap_or("unknown"), operation.unwrap_or("unknown")];
        self.metrics.requests.with_label_values(&labels).inc();
        self.metrics.guard_seconds.observe(Duration::from_micros(self.closing.guard_us).as_secs_f64());
        if matches!(self.closing.outcome, Outcome::UpstreamError | Outcome::UpstreamAbort | Outcome::StreamIncomplete) {
            self.metrics.upstream_failures.with_label_values(&[self.closing.outcome.as_str()]).inc();
        }
        // What was decoded had a permit, so the tenant and the card exist.
        if let (Some(operation), Some(card)) = (operation, self.opening.card.as_deref()) {
            self.metrics.calls.count(&self.opening.tenant, card, operation, self.closing.outcome.as_str());
            let took = u64::try_from(self.closing.at_us.saturating_sub(self.opening.at_us)).unwrap_or(0);
            let took = Duration::from_micros(took).as_secs_f64();
            self.metrics.call_seconds.with_label_values(&[operation]).observe(took);
        }
    }

    /// Ids are free text of whoever made them up: what a guard refused is not kept by way of them.
    pub fn forget_names(&mut self) {
        self.closing.task_id = None;
        self.closing.context_id = None;
    }

    fn named(&mut self, task: Option<&str>, context: Option<&str>) {
        if let Some(task) = task {
            self.closing.task_id = Some(task.to_owned());
        }
        if let Some(context) = context {
            self.closing.context_id = Some(context.to_owned());
        }
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        // A gRPC message is read before there is a slot; who is proven and vanishes in the middle is recorded all the same.
        let late = self.proven && !self.closed;
        let slot = self.slot.take().or_else(|| if late { self.audit.open(&self.opening).ok() } else { None });
        let Some(slot) = slot else { return };
        self.closing.at_us = self.clock.now();
        self.closing.stages = self.watch.read(Instant::now());
        self.closing.outcome = if std::thread::panicking() { Outcome::Abandoned } else { Outcome::CallerGone };
        self.tally();
        self.live.ended(&self.opening, &self.closing);
        slot.close_detached(&self.closing);
    }
}

/// Most policies that one record names.
const MOST_RULINGS: usize = 8;

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
