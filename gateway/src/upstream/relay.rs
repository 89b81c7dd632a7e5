//! An agent's event stream → the caller's, until one of many ends.
//!
//! Takes open [`Events`] and everything an event passes; runs as a task of its own and feeds the caller's body through
//! a bounded channel, so a slow caller slows the agent. Every ending closes the trail, which is on disk before the
//! body ends: the agent's end, a break, silence, a guardrail, a revoked permit, a stopping process, a vanished caller.
//! The agent's connection is dropped, and its call so cancelled, in all of them. Never invents a state of a task.

use crate::audit::Outcome;
use crate::pipeline::audit::Trail;
use crate::pipeline::encode::trailer_map;
use crate::pipeline::event::{EventError, EventPath};
use crate::pipeline::limit::Slot;
use crate::pipeline::refusal::{Refusals, rejected_event};
use crate::registry::conditions::Ruling;
use crate::reject::Reject;
use crate::upstream::events::{Events, EventsError, Happened};
use crate::upstream::last_state::LastState;
use a2a::{Fault, FaultKind};
use bytes::Bytes;
use http_body::Frame;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// Frames that wait for the caller; more, and the agent waits.
pub(crate) const WAITING: usize = 4;
/// Silence towards the caller before a ping.
const PING: Duration = Duration::from_secs(15);
/// How long an ending waits for a caller that does not read.
const LAST_WORD: Duration = Duration::from_secs(5);

/// What may be taken away while the stream is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// The card or its tenant.
    Card,
    /// Something that a caller earlier in the chain rests on.
    Chain,
    /// The tenant's conditions have come to deny it.
    Condition(Box<Ruling>),
    /// The credential or its principal.
    Credential,
    /// The grant.
    Grant,
}

/// Completes when something is withdrawn.
pub type Withdrawal = Pin<Box<dyn Future<Output = Withdrawn> + Send>>;

/// How long a stream may be silent, and how long it may last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
}

/// One stream being relayed.
pub(crate) struct Relay {
    pub(crate) events: Events,
    pub(crate) path: EventPath,
    pub(crate) trail: Trail,
    pub(crate) slot: Slot,
    pub(crate) out: mpsc::Sender<Frame<Bytes>>,
    pub(crate) withdrawal: Withdrawal,
    pub(crate) stopping: CancellationToken,
    /// The caller has sent its last byte: a ping finds out whether it still listens.
    pub(crate) half_closed: CancellationToken,
    pub(crate) timing: Timing,
    pub(crate) refusals: Refusals,
    pub(crate) last_state: LastState,
}

/// Why the stream ended.
enum End {
    /// The caller went away, or does not read.
    CallerGone,
    /// The agent ended it where it may end.
    Finished,
    /// With this fault, recorded as this.
    Told(Fault, Outcome),
    /// We refuse to go on.
    Refused(Reject),
}

impl Relay {
    /// Relays to the end.
    pub(crate) async fn run(mut self) {
        let end = self.relay().await;
        let Self { events, path, mut trail, slot, out, refusals, .. } = self;
        drop(events);
        let (voice, domain) = (path.voice(), &refusals.own_domain);
        let (last, mut fault, outcome) = match end {
            End::CallerGone => (Vec::new(), None, Outcome::CallerGone),
            End::Finished => (Vec::new(), None, Outcome::Ok),
            End::Told(fault, outcome) => (voice.fault_event(&fault, domain), Some(fault), outcome),
            End::Refused(reject) => {
                let fault = refusals.fault(&reject);
                match rejected_event(&reject, &refusals, path.progress()) {
                    Some(task) => {
                        trail.faulted(fault.kind);
                        (voice.event(task), None, reject.outcome())
                    }
                    None => (voice.fault_event(&fault, domain), Some(fault), reject.outcome()),
                }
            }
        };
        if let Some(fault) = &fault {
            trail.faulted(fault.kind);
        }
        let tell = |bytes: Vec<u8>| async {
            if !bytes.is_empty() {
                let _ = timeout(LAST_WORD, out.send(Frame::data(bytes.into()))).await;
            }
        };
        trail.sent(last.len());
        tell(last).await;
        // On disk before the body ends (D6); a stream without its record does not end as if it had one.
        if trail.close(outcome, 200).await.is_err() {
            let lost = Reject::Audit.fault();
            tell(voice.fault_event(&lost, domain)).await;
            fault = Some(lost);
        }
        let trailers = voice.trailers(fault.as_ref(), domain);
        if !trailers.is_empty() {
            let _ = timeout(LAST_WORD, out.send(Frame::trailers(trailer_map(&trailers)))).await;
        }
        drop(out);
        drop(slot);
    }

    async fn relay(&mut self) -> End {
        let total = Instant::now() + self.timing.total;
        let mut idle = Instant::now() + self.timing.idle;
        let mut ping = Instant::now() + PING;
        let mut asked = false;
        loop {
            let next = total.min(idle).min(ping);
            let happened = tokio::select! {
                biased;
                withdrawn = &mut self.withdrawal => return self.taken_away(withdrawn),
                () = self.stopping.cancelled() => return End::Refused(Reject::Draining),
                () = self.out.closed() => return End::CallerGone,
                () = self.half_closed.cancelled(), if !asked => {
                    (asked, ping) = (true, Instant::now());
                    continue;
                }
                happened = self.events.next() => happened,
                () = sleep_until(next) => {
                    if next == ping {
                        ping = Instant::now() + PING;
                        let sign = self.path.voice().ping();
                        match sign {
                            Some(sign) => match self.deliver(Bytes::from_static(sign)).await {
                                Ok(()) => continue,
                                Err(end) => return end,
                            },
                            None => continue,
                        }
                    }
                    return match self.rest().await {
                        Ok(()) => self.silent(),
                        Err(end) => end,
                    };
                }
            };
            let told = match self.take(happened).await {
                Ok(told) => told,
                Err(end) => return end,
            };
            idle = Instant::now() + self.timing.idle;
            if told {
                ping = Instant::now() + PING;
            }
        }
    }

    /// What happened at the agent; `true` if the caller was told something.
    async fn take(&mut self, happened: Result<Happened, EventsError>) -> Result<bool, End> {
        match happened {
            Ok(Happened::Alive) => Ok(false),
            Ok(Happened::Event(event, size)) => {
                let closes = event.payload().is_some_and(|(_, payload)| closes(payload));
                self.slot.grow(size).map_err(|limit| End::Refused(limit.into()))?;
                let bytes = self.path.pass(event, size, &mut self.trail).await.map_err(refused)?;
                self.deliver(bytes.into()).await?;
                self.slot.shrink(size);
                if closes { Err(End::Finished) } else { Ok(true) }
            }
            Ok(Happened::Fault(fault, size)) => {
                self.rest().await?;
                Err(self.agent_fault(fault, size).await)
            }
            Ok(Happened::Ended) => {
                self.rest().await?;
                self.complete().await?;
                Err(self.ended())
            }
            Err(error) => {
                self.rest().await?;
                Err(self.broken(&error))
            }
        }
    }

    /// A stream that ended in order with its task at work: tells the state that the agent has left out, if it says one now.
    async fn complete(&mut self) -> Result<(), End> {
        let Some(task) = self.path.task().filter(|_| !self.path.progress().may_end()).map(str::to_owned) else {
            return Ok(());
        };
        let asked = tokio::select! {
            biased;
            withdrawn = &mut self.withdrawal => return Err(self.taken_away(withdrawn)),
            () = self.stopping.cancelled() => return Err(End::Refused(Reject::Draining)),
            () = self.out.closed() => return Err(End::CallerGone),
            asked = self.last_state.ask(&task, &mut self.slot) => asked,
        };
        let Some((event, size)) = asked else { return Ok(()) };
        let bytes = self.path.pass(event, size, &mut self.trail).await.map_err(refused)?;
        self.deliver(bytes.into()).await
    }

    /// Tells what the guard held back to see how it goes on: it does not.
    async fn rest(&mut self) -> Result<(), End> {
        let bytes = self.path.finish(&mut self.trail).map_err(refused)?;
        if bytes.is_empty() { Ok(()) } else { self.deliver(bytes.into()).await }
    }

    /// Hands bytes to the caller, who may be slow but not for ever.
    async fn deliver(&mut self, bytes: Bytes) -> Result<(), End> {
        tokio::select! {
            biased;
            sent = self.out.send(Frame::data(bytes)) => sent.map_err(|_| End::CallerGone),
            withdrawn = &mut self.withdrawal => Err(self.taken_away(withdrawn)),
            () = self.stopping.cancelled() => Err(End::Refused(Reject::Draining)),
            () = tokio::time::sleep(self.timing.idle) => Err(End::CallerGone),
        }
    }

    fn taken_away(&mut self, withdrawn: Withdrawn) -> End {
        let kind = match withdrawn {
            Withdrawn::Card => FaultKind::AgentNotFound,
            Withdrawn::Chain => FaultKind::DelegationInvalid,
            Withdrawn::Condition(ruling) => {
                self.trail.ruled(Some(&ruling));
                FaultKind::PermissionDenied
            }
            Withdrawn::Credential => FaultKind::Unauthenticated,
            Withdrawn::Grant => FaultKind::PermissionDenied,
        };
        End::Told(Fault::of(kind), Outcome::Refused)
    }

    async fn agent_fault(&mut self, fault: Fault, size: usize) -> End {
        match self.path.fault(fault, size, &mut self.trail).await {
            Ok(fault) => End::Told(fault, Outcome::AgentFault),
            Err(error) => refused(error),
        }
    }

    /// The agent ended the stream in order (F19): no state is invented, and an unfinished task is not called finished.
    fn ended(&self) -> End {
        if self.path.progress().may_end() {
            return End::Finished;
        }
        let fault =
            Fault::new(FaultKind::UpstreamUnavailable, "the agent ended the stream before the task was finished");
        End::Told(self.about(fault), Outcome::StreamIncomplete)
    }

    /// The agent's connection broke or what it sends is no stream (F16). After the last event that is only an end.
    fn broken(&self, error: &EventsError) -> End {
        match error {
            EventsError::Broken if self.path.progress().may_end() => End::Finished,
            EventsError::Broken => {
                let fault = Fault::new(FaultKind::UpstreamUnavailable, "the agent's stream broke off");
                End::Told(self.about(fault), Outcome::UpstreamAbort)
            }
            EventsError::Bad(_) | EventsError::Framing(_) => {
                End::Told(self.about(Fault::of(FaultKind::InvalidAgentResponse)), Outcome::UpstreamAbort)
            }
        }
    }

    fn silent(&self) -> End {
        if self.path.progress().may_end() {
            return End::Finished;
        }
        End::Told(self.about(Fault::of(FaultKind::UpstreamTimeout)), Outcome::UpstreamAbort)
    }

    /// A fault that names the task, so that the caller can ask for it later.
    fn about(&self, fault: Fault) -> Fault {
        match self.path.task() {
            Some(task) => fault.with("taskId", task),
            None => fault,
        }
    }
}

/// v0.3 agents close a stream with `final` on a state that is no end (protocol 2.5).
fn closes(payload: &json::Object) -> bool {
    payload.get("final").and_then(json::Json::as_bool) == Some(true)
}

fn refused(error: EventError) -> End {
    End::Refused(error.into())
}
