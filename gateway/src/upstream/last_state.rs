//! The state that an agent's stream did not tell.
//!
//! Some agents end a stream in order although its last event left the task at work: those of the Python SDK 0.3 tell a
//! cancellation to the canceller alone. The agent is then asked for the task, once; what it says becomes the stream's
//! last event, if the task is at rest. Takes what a call needs, gives an event that has passed nothing yet. Never asks
//! twice, never waits long, never says what the agent did not.

use crate::app::App;
use crate::pipeline::authorize::Permit;
use crate::pipeline::forward::{self, Reply};
use crate::pipeline::head::Head;
use crate::pipeline::limit::Slot;
use a2a::{Call, Event, OperationKind, TaskState, Version};
use json::{Json, Object};
use std::sync::Arc;
use std::time::Duration;

/// How long a stream that has ended is kept open for the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What asking needs. The head has no credential of the caller's.
pub(crate) struct LastState {
    pub(crate) app: Arc<App>,
    pub(crate) permit: Permit,
    pub(crate) head: Head,
}

impl LastState {
    /// The state of `task`, as an event, and the bytes it was told in. Nothing, unless the agent says that it is at rest.
    pub(crate) async fn ask(&self, task: &str, slot: &mut Slot) -> Option<(Event, usize)> {
        // One message of history: some agents take 0 for "all".
        let params = Object::from([("id", Json::from(task)), ("historyLength", 1_i64.into())]);
        let call = Call { kind: OperationKind::GetTask, params, origin: Version::V10 };
        let way = self.app.calls.way(&self.permit, &self.head, &self.app.settings);
        let asked = tokio::time::timeout(PATIENCE, Box::pin(forward::send(&call, slot, way)));
        let Ok(Ok(Reply::Answer(answer, size))) = asked.await else { return None };
        let rests = answer.state().is_some_and(TaskState::rests) && answer.task_id() == Some(task);
        Some((answer.state_update().filter(|_| rests)?, size))
    }
}
