//! A message comes in: check it, hand it to the author's code, and find out what the caller is answered with first.
//!
//! Takes a send in either form; gives the direct message or the task with everything that will happen to it. The author's
//! code runs as a task of its own, so a caller who leaves does not stop it, and a panic in it fails one task only.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use a2a::{Call, Fault, FaultKind, Version};
use futures_util::FutureExt;
use json::{Json, Object};
use tokio_util::sync::CancellationToken;

use crate::list::history_length;
use crate::push::Config;
use crate::request::Asker;
use crate::server::Shared;
use crate::task::View;
use crate::tasks::Further;
use crate::turn::{First, Outcome, Slot, Turn};

/// A streaming send, or one that returns at once, waits this long to learn whether there will be a task at all; then
/// there is one.
const UNDECIDED: Duration = Duration::from_millis(250);

/// How long the author's code may tidy up after its task was cancelled.
const LAST_STEPS: Duration = Duration::from_secs(5);

impl Shared {
    /// A send that is answered whole.
    pub(crate) async fn send(self: &Arc<Self>, asker: &Asker, call: Call) -> Result<Json, Fault> {
        let configuration = call.params.get("configuration");
        let at_once = configuration.and_then(|asked| asked.get("returnImmediately")).and_then(Json::as_bool);
        let at_once = at_once.unwrap_or(false);
        let view = view_of(&call)?;
        match self.begin(asker, call, if at_once { UNDECIDED } else { self.patience }).await? {
            First::Message(message) => Ok([("message", message)].into()),
            First::Task(mut subscription) => {
                if !at_once {
                    // Out of patience: the task as it is.
                    let _ = tokio::time::timeout(self.patience, subscription.settled()).await;
                }
                self.tasks.stored(subscription.task_id()).await?;
                let task = self.tasks.document(&asker.caller, subscription.task_id(), view).await?;
                Ok([("task", task)].into())
            }
        }
    }

    /// A send that is answered with a stream.
    pub(crate) async fn stream(self: &Arc<Self>, asker: &Asker, call: Call) -> Result<First, Fault> {
        self.begin(asker, call, UNDECIDED).await
    }

    async fn begin(self: &Arc<Self>, asker: &Asker, mut call: Call, undecided: Duration) -> Result<First, Fault> {
        let view = view_of(&call)?;
        let push = call.inline_push_config().map(|asked| self.admit_push(asker, asked, call.origin)).transpose()?;
        let Some(Json::Object(message)) = call.params.remove("message") else {
            return Err(Fault::invalid_params("message is missing"));
        };
        check(&message)?;
        match message.str("taskId").filter(|id| !id.is_empty()).map(str::to_owned) {
            Some(id) => self.go_on(asker, &id, Opened { message, push, view }).await,
            None => self.start(asker, Opened { message, push, view }, undecided).await,
        }
    }

    /// Reads and judges a push notification configuration.
    pub(crate) fn admit_push(&self, asker: &Asker, asked: &Object, version: Version) -> Result<Config, Fault> {
        let post = self.post.as_ref().ok_or(FaultKind::PushNotSupported)?;
        post.admit(asked, &asker.head, version)
    }

    async fn go_on(self: &Arc<Self>, asker: &Asker, id: &str, opened: Opened) -> Result<First, Fault> {
        let Opened { message, push, view } = opened;
        let cancel = CancellationToken::new();
        let further = Further { message: message.clone(), cancel: cancel.clone(), push };
        let before = self.tasks.document(&asker.caller, id, View::WHOLE).await?;
        let subscription = self.tasks.resume(&asker.caller, id, further, view).await?;
        let slot = Slot::of_task(&self.tasks, asker.caller.clone(), id, cancel);
        self.run(Turn::new(message, Arc::clone(&slot), Some(before)), slot);
        Ok(First::Task(subscription))
    }

    async fn start(self: &Arc<Self>, asker: &Asker, opened: Opened, undecided: Duration) -> Result<First, Fault> {
        self.tasks.make_room(&asker.caller).await?;
        let message = opened.message.clone();
        let (slot, mut first) = Slot::open(&self.tasks, asker.caller.clone(), opened);
        self.run(Turn::new(message, Arc::clone(&slot), None), Arc::clone(&slot));
        let known = tokio::select! {
            first = &mut first => first,
            () = tokio::time::sleep(undecided) => {
                slot.task();
                first.await
            }
        };
        // Every turn ends in `finish`, which tells.
        known.map_err(|_| FaultKind::Internal.into())
    }

    /// Runs the author's code to its end, whatever becomes of the caller.
    fn run(self: &Arc<Self>, turn: Turn, slot: Arc<Slot>) {
        let author = Arc::clone(&self.author);
        self.turns.spawn(async move {
            let work = AssertUnwindSafe(async move { author(turn).await }).catch_unwind();
            let dropped = async {
                slot.cancel.cancelled().await;
                tokio::time::sleep(LAST_STEPS).await;
            };
            let outcome = tokio::select! {
                outcome = work => outcome.unwrap_or_else(|_| {
                    tracing::error!("the author's code panicked");
                    Outcome::Failed("the agent failed".to_owned())
                }),
                () = dropped => Outcome::Failed("cancelled".to_owned()),
            };
            slot.finish(outcome);
        });
    }
}

/// A send that was checked.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) message: Object,
    pub(crate) push: Option<Config>,
    pub(crate) view: View,
}

/// What every message must have (A2A 1.0 §4.1.4).
fn check(message: &Object) -> Result<(), Fault> {
    if message.str("messageId").is_none_or(str::is_empty) {
        return Err(Fault::invalid_params("message.messageId is missing"));
    }
    if message.str("role") != Some("ROLE_USER") {
        return Err(Fault::invalid_params("message.role must be the user's"));
    }
    if message.get("parts").and_then(Json::as_array).is_none_or(<[Json]>::is_empty) {
        return Err(Fault::invalid_params("message.parts must have at least one part"));
    }
    Ok(())
}

fn view_of(call: &Call) -> Result<View, Fault> {
    let configuration = call.params.get("configuration").and_then(Json::as_object);
    let history = configuration.map(history_length).transpose()?.flatten();
    Ok(View { history, artifacts: true })
}
