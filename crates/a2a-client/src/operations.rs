//! The eleven operations, typed.

use a2a::Answer;
use futures_util::Stream;
use futures_util::stream::{iter, try_unfold};
use futures_util::{StreamExt as _, TryStreamExt as _};
use json::{Json, Object};

use crate::error::{CallError, object, shapeless};
use crate::tree::all;
use crate::{Agent, Card, Events, Message, PushConfig, Reply, Task, TaskFilter, TaskPage, calls};

/// How a message is to be worked on.
///
/// ```
/// use a2a_client::{PushConfig, Sending};
/// let sending = Sending::new().return_immediately().history(3).notify(PushConfig::to("https://me.example/hook"));
/// # let _ = sending;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    configuration: Object,
    metadata: Option<Object>,
}

impl Sending {
    /// As agents do it by default: the answer comes when the task is done or waits for somebody.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The task comes back as soon as it exists; read it or follow it from there.
    #[must_use]
    pub fn return_immediately(mut self) -> Self {
        self.configuration.insert("returnImmediately", true);
        self
    }

    /// With so many messages of the task.
    #[must_use]
    pub fn history(mut self, length: u32) -> Self {
        self.configuration.insert("historyLength", i64::from(length));
        self
    }

    /// Media types that the caller can read.
    #[must_use]
    pub fn accepting<'a>(mut self, media_types: impl IntoIterator<Item = &'a str>) -> Self {
        let types: Vec<Json> = media_types.into_iter().map(Json::from).collect();
        self.configuration.insert("acceptedOutputModes", types);
        self
    }

    /// With a webhook for the task.
    #[must_use]
    pub fn notify(mut self, config: PushConfig) -> Self {
        self.configuration.insert("taskPushNotificationConfig", config.into_object());
        self
    }

    /// With a fact beside the message.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.metadata.get_or_insert_default().insert(key, value);
        self
    }

    fn add_to(self, params: &mut Object) {
        if !self.configuration.is_empty() {
            params.insert("configuration", self.configuration);
        }
        if let Some(metadata) = self.metadata {
            params.insert("metadata", metadata);
        }
    }
}

impl Agent {
    /// Sends a message and waits until the agent has an answer, or asks back.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn send(&self, message: impl Into<Message>) -> Result<Reply, CallError> {
        self.send_with(message, Sending::new()).await
    }

    /// The same with more to say about how.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn send_with(&self, message: impl Into<Message>, sending: Sending) -> Result<Reply, CallError> {
        let mut call = calls::send(message.into().into_object());
        sending.add_to(&mut call.params);
        Ok(Reply::read(self.call(&call).await?.body)?)
    }

    /// Sends a message and streams what happens.
    ///
    /// # Errors
    /// [`CallError`]: there is no stream. Later errors come out of the stream.
    pub async fn stream(&self, message: impl Into<Message>) -> Result<Events, CallError> {
        self.stream_with(message, Sending::new()).await
    }

    /// The same with more to say about how.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn stream_with(&self, message: impl Into<Message>, sending: Sending) -> Result<Events, CallError> {
        let mut call = calls::stream(message.into().into_object());
        sending.add_to(&mut call.params);
        self.open(&call).await
    }

    /// Reads a task, with all of its messages that the agent gives out.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn get_task(&self, id: &str) -> Result<Task, CallError> {
        task(self.call(&calls::get_task(id, None)).await?)
    }

    /// Reads a task, with its last `history` messages.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn get_task_with_history(&self, id: &str, history: u32) -> Result<Task, CallError> {
        task(self.call(&calls::get_task(id, Some(i64::from(history)))).await?)
    }

    /// One page of the caller's tasks. Agents of 0.3 cannot list.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn list_tasks(&self, filter: TaskFilter) -> Result<TaskPage, CallError> {
        Ok(object(self.call(&calls::list_tasks(filter.into_object())).await?.body)?.into())
    }

    /// The caller's tasks, page after page, each asked for when it is needed.
    pub fn all_tasks(&self, filter: TaskFilter) -> impl Stream<Item = Result<Task, CallError>> + Send + use<> {
        let agent = self.clone();
        let pages = try_unfold(Some(filter), move |filter| {
            let agent = agent.clone();
            async move {
                let Some(filter) = filter else { return Ok(None) };
                let page = agent.list_tasks(filter.clone()).await?;
                let next = page.next_page_token().map(|token| filter.clone().page(token));
                if next.as_ref() == Some(&filter) {
                    // The same page for ever.
                    return Err(CallError::Protocol(a2a::dialect::BadAnswer::Shape {
                        member: "nextPageToken",
                        problem: "leads to the same page",
                    }));
                }
                Ok(Some((page.tasks(), next)))
            }
        });
        pages.map_ok(|tasks| iter(tasks).map(Ok)).try_flatten()
    }

    /// Asks the agent to give a task up; gives the task as it then is.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn cancel_task(&self, id: &str) -> Result<Task, CallError> {
        task(self.call(&calls::cancel_task(id)).await?)
    }

    /// Streams what happens to a task from now on.
    ///
    /// # Errors
    /// [`CallError`]; agents refuse it for tasks that are over.
    pub async fn subscribe(&self, id: &str) -> Result<Events, CallError> {
        self.open(&calls::subscribe(id)).await
    }

    /// Has what happens to a task sent to a webhook; gives the configuration as the agent keeps it.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn create_push_config(&self, task: &str, config: PushConfig) -> Result<PushConfig, CallError> {
        let created = self.call(&calls::create_push_config(task, config.into_object())).await?;
        Ok(object(created.body)?.into())
    }

    /// Reads one webhook of a task.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn push_config(&self, task: &str, id: &str) -> Result<PushConfig, CallError> {
        Ok(object(self.call(&calls::get_push_config(task, id)).await?.body)?.into())
    }

    /// The webhooks of a task.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn push_configs(&self, task: &str) -> Result<Vec<PushConfig>, CallError> {
        let found = object(self.call(&calls::list_push_configs(task)).await?.body)?;
        Ok(all(&found, "configs"))
    }

    /// Forgets one webhook of a task.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn delete_push_config(&self, task: &str, id: &str) -> Result<(), CallError> {
        self.call(&calls::delete_push_config(task, id)).await.map(drop)
    }

    /// The card that only authenticated callers see. Its signatures are not looked at.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn extended_card(&self) -> Result<Card, CallError> {
        Ok(object(self.call(&calls::extended_card()).await?.body)?.into())
    }
}

fn task(answer: Answer) -> Result<Task, CallError> {
    let task = Task::from(object(answer.body)?);
    if task.id().is_empty() { Err(shapeless("id")) } else { Ok(task) }
}
