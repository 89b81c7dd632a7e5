//! Authorisation in the middle of a task (A2A 1.0 §7.6): the credential that the gateway gives an agent whose task waits
//! for one.
//!
//! *Takes* a follow-up of a task on a card that names a client for it. *Gives* a header for this one call, if the agent
//! itself says that the task stands in AUTH_REQUIRED. *Refuses* the call when the credential cannot be had: without it
//! the task would only wait again. *Never* gives it to a call that begins a task, to a task in another state, or to the
//! caller; never sends it before the caller has followed up, because only the caller can say that the task is to go on.
//!
//! The agent is asked and not a memory of ours: any replica may get the follow-up, and the agent alone knows whether
//! somebody else has authorised, answered or cancelled the task meanwhile.

use super::{Carried, CredentialError, Place, sensitive};
use crate::pipeline::forward::{self, Reply, Way};
use crate::pipeline::limit::Slot;
use crate::registry::InTask;
use a2a::{Call, OperationKind, TaskState, Version};
use json::{Json, Object};
use secrecy::ExposeSecret as _;
use std::time::Duration;

/// How long the agent may take to say how the task stands.
const PATIENCE: Duration = Duration::from_secs(5);

/// The credential for `call`, if it follows up a task that waits for one.
///
/// # Errors
/// [`CredentialError::InTask`], [`CredentialError::Unwritable`]
pub(crate) async fn carried(call: &Call, slot: &mut Slot, way: Way<'_>) -> Result<Option<Carried>, CredentialError> {
    let upstream = &way.permit.card().upstream;
    let (Some(client), Some(task)) = (&upstream.in_task, followed_up(call)) else { return Ok(None) };
    if !waits(task, slot, way).await {
        return Ok(None);
    }
    let tokens = &way.upstream.tokens;
    let place = Place::new(upstream.fingerprint, "in-task");
    if way.upstream.was_given(Place::new(upstream.fingerprint, &format!("task {task}"))) {
        // It waits again although it had the token: that one is not good enough any more.
        tokens.forget(place);
    }
    let InTask { header, endpoint } = client;
    let token = tokens.get(place, endpoint, endpoint.client_credentials()).await.map_err(CredentialError::InTask)?;
    let value = sensitive(&format!("Bearer {}", token.expose_secret()))?;
    Ok(Some(Carried { header: (header.clone(), value), kept: Some(place) }))
}

/// The task that a message goes on with.
fn followed_up(call: &Call) -> Option<&str> {
    match call.kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => call.task_id(),
        OperationKind::GetTask
        | OperationKind::ListTasks
        | OperationKind::CancelTask
        | OperationKind::SubscribeToTask
        | OperationKind::CreatePushConfig
        | OperationKind::GetPushConfig
        | OperationKind::ListPushConfigs
        | OperationKind::DeletePushConfig
        | OperationKind::GetExtendedCard => None,
    }
}

/// Whether the agent says that the task waits for authorisation. Whatever else it says, it gets no credential.
async fn waits(task: &str, slot: &mut Slot, way: Way<'_>) -> bool {
    // One message of history: some agents take 0 for "all".
    let params = Object::from([("id", Json::from(task)), ("historyLength", 1_i64.into())]);
    let call = Call { kind: OperationKind::GetTask, params, origin: Version::V10 };
    let asked = tokio::time::timeout(PATIENCE, Box::pin(forward::send(&call, slot, way))).await;
    let Ok(Ok(Reply::Answer(answer, size))) = asked else { return false };
    slot.shrink(size);
    answer.state() == Some(TaskState::AuthRequired) && answer.task_id() == Some(task)
}
