//! What a refusal looks like for one caller: a fault, or a legal task in state `REJECTED` (D10).
//!
//! *Takes* a [`Reject`] and what is known of the exchange. *Gives* the fault or the task. *Never* quotes what was
//! refused.

use crate::pipeline::event::Progress;
use crate::pipeline::guard::GuardError;
use crate::pipeline::head::{self, Head};
use crate::pipeline::legacy::{self, Entrance};
use crate::pipeline::route::Route;
use crate::registry::{Card, OnBlock, is_name};
use crate::reject::Reject;
use a2a::dialect::Wire;
use a2a::{Answer, Call, Event, Fault, OperationKind, TaskState, Version, Voice};
use json::{Json, Object};

/// How refusals are told to one caller.
#[derive(Clone, Debug)]
pub struct Refusals {
    /// The domain of reasons that A2A does not define.
    pub own_domain: String,
    /// The id that the caller is told.
    pub correlation_id: String,
    /// How a guardrail block is told.
    pub on_block: OnBlock,
}

impl Refusals {
    /// The fault of `reject`; a guardrail's names the exchange, so that an operator can find the record.
    #[must_use]
    pub fn fault(&self, reject: &Reject) -> Fault {
        let fault = reject.fault();
        match reject {
            Reject::Guard(_) | Reject::Internal => fault.with("request_id", &self.correlation_id),
            Reject::Audit
            | Reject::Authenticate { .. }
            | Reject::Authorize(_)
            | Reject::Decode(_)
            | Reject::Delegation(_)
            | Reject::Draining
            | Reject::Forward(_)
            | Reject::Legacy(_)
            | Reject::Limit(_)
            | Reject::Owner(_)
            | Reject::Route(_) => fault,
        }
    }
}

/// How to speak to one caller, as far as it is known.
#[derive(Clone, Debug)]
pub struct Manner {
    /// The dialect.
    pub voice: Voice,
    /// How refusals are told.
    pub refusals: Refusals,
    /// The realm of challenges: a tenant's name or nothing that needs quoting.
    pub realm: String,
    /// By which door the caller came.
    pub entrance: Entrance,
    asked: Option<Asked>,
}

/// The ids a refusal's task takes over.
#[derive(Clone, Debug)]
struct Asked {
    kind: OperationKind,
    task: Option<String>,
    context: Option<String>,
}

impl Manner {
    /// Before anything is known: plain HTTP+JSON errors.
    #[must_use]
    pub fn unknown(head: &Head, own_domain: &str) -> Self {
        let voice = Voice { errors: head.facts().error_media(), ..Voice::unknown() };
        let refusals = Refusals {
            own_domain: own_domain.to_owned(),
            correlation_id: head.correlation_id.clone(),
            on_block: OnBlock::Error,
        };
        Self { voice, refusals, realm: "a2a".to_owned(), entrance: Entrance::Call, asked: None }
    }

    /// The path is known.
    pub fn routed(&mut self, route: &Route, head: &Head) {
        if let Ok(target) = &route.target {
            self.voice = Voice::detect(target, &head.facts());
        }
        self.entrance = route.entrance;
        if is_name(&route.tenant) {
            self.realm = format!("a2a/{}", route.tenant);
        }
    }

    /// The card is known.
    pub fn permitted(&mut self, card: &Card) {
        self.refusals.on_block = match self.entrance {
            Entrance::Call => card.on_block,
            // That wire has an answer of its own for a block.
            Entrance::Legacy(_) => OnBlock::Error,
        };
    }

    /// The body is decoded: from now on the caller is spoken to as its wire wants it.
    pub fn decoded(&mut self, card: &Card) {
        if let Entrance::Legacy(_) = self.entrance {
            self.voice = legacy::voice(&self.voice, card);
        }
    }

    /// How a whole answer is written.
    #[must_use]
    pub fn answer(&self, kind: OperationKind, answer: Answer) -> Wire {
        match self.entrance {
            Entrance::Call => self.voice.answer(kind, answer),
            Entrance::Legacy(_) => legacy::answer(&self.voice, kind, answer),
        }
    }

    /// How a refusal is written.
    #[must_use]
    pub fn refusal(&self, reject: &Reject, fault: &Fault) -> Wire {
        match self.entrance {
            Entrance::Call => self.voice.fault(fault, &self.refusals.own_domain),
            Entrance::Legacy(_) => legacy::refusal(reject, fault, &self.refusals),
        }
    }

    /// The call is known.
    pub fn called(&mut self, call: &Call) {
        let owned = |id: Option<&str>| id.map(str::to_owned);
        self.asked = Some(Asked { kind: call.kind, task: owned(call.task_id()), context: owned(call.context_id()) });
    }
}

/// The answer in place of a block, where the card wants one and the operation has one.
#[must_use]
pub fn rejected_answer(reject: &Reject, manner: &Manner) -> Option<(OperationKind, Answer)> {
    let asked = manner.asked.as_ref()?;
    let sends = match asked.kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => true,
        OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::CreatePushConfig
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::DeletePushConfig
        | OperationKind::GetExtendedCard => false,
    };
    if !sends || !wants_task(reject, &manner.refusals) {
        return None;
    }
    let mut task = Object::new();
    task.insert("id", asked.task.clone().unwrap_or_else(head::new_id));
    task.insert("contextId", asked.context.clone().unwrap_or_else(head::new_id));
    task.insert("status", status());
    let answer = Answer { body: Json::from([("task", Json::Object(task))]), origin: Version::V10 };
    Some((asked.kind, answer))
}

/// The last event in place of a block, where the card wants one and the task is known.
#[must_use]
pub fn rejected_event(reject: &Reject, refusals: &Refusals, progress: &Progress) -> Option<Event> {
    if !wants_task(reject, refusals) {
        return None;
    }
    let task = progress.task.as_ref()?;
    let mut update = Object::new();
    update.insert("taskId", task.as_str());
    update.insert("contextId", progress.context.as_deref().unwrap_or(task));
    update.insert("status", status());
    Some(Event { body: Json::from([("statusUpdate", Json::Object(update))]), origin: Version::V10 })
}

fn wants_task(reject: &Reject, refusals: &Refusals) -> bool {
    matches!(reject, Reject::Guard(GuardError::Blocked { .. })) && refusals.on_block == OnBlock::RejectedTask
}

fn status() -> Json {
    let text = Json::from([("text", "blocked by a guardrail")]);
    let message = Json::from([
        ("messageId", Json::from(head::new_id())),
        ("role", Json::from("ROLE_AGENT")),
        ("parts", Json::from(vec![text])),
    ]);
    Json::from([("state", Json::from(TaskState::Rejected.name())), ("message", message)])
}
