//! A stream of typed events; where the caller wants it, over more than one connection.
//!
//! A stream that breaks is taken up again only if the caller said so, if the task is known, and so many times. The task
//! as it is comes first, as [`Event::Resumed`]: from the subscription itself where that begins with it, as in 1.0; else it
//! is read, behind the opened subscription, so that nothing can happen unseen between the two. The message is never sent
//! again. Dropping the stream hangs up.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use a2a::TaskState;
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::time::{sleep, timeout};

use crate::error::CallError;
use crate::raw_events::RawEvents;
use crate::{Agent, Event, Task, calls};

/// How a broken stream is taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// Most tries for the whole stream.
    pub tries: u32,
    /// Before the first try; twice as long before each further one, ten seconds at most.
    pub pause: Duration,
}

impl Default for Resume {
    fn default() -> Self {
        Self { tries: 5, pause: Duration::from_millis(250) }
    }
}

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(10);

type Result<T> = std::result::Result<T, CallError>;

/// What happens to a task, as it happens: a [`Stream`] that ends when the agent closes it, or after an error.
pub struct Events {
    stream: Pin<Box<dyn Stream<Item = Result<Event>> + Send>>,
    task: Option<String>,
    state: Option<TaskState>,
}

impl Events {
    pub(crate) fn new(agent: Agent, raw: RawEvents) -> Self {
        let (tries, pause) = agent.resume().map_or((0, Duration::ZERO), |resume| (resume.tries, resume.pause));
        let following = Following { agent, raw: Some(raw), task: None, rests: false, tries, pause };
        Self { stream: Box::pin(unfold(following, Following::step)), task: None, state: None }
    }

    /// The next event; `None` once the agent has closed the stream, or after an error.
    pub async fn next(&mut self) -> Option<Result<Event>> {
        poll_fn(|context| self.as_next(context)).await
    }

    /// The task that the events so far are about.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// The state that was heard of last.
    #[must_use]
    pub const fn state(&self) -> Option<TaskState> {
        self.state
    }

    fn as_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Event>>> {
        let next = self.stream.as_mut().poll_next(context);
        if let Poll::Ready(Some(Ok(event))) = &next {
            if let Some(task) = event.task_id().filter(|id| self.task.as_deref() != Some(*id)) {
                self.task = Some(task.to_owned());
            }
            self.state = event.state().or(self.state);
        }
        next
    }
}

impl Stream for Events {
    type Item = Result<Event>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().as_next(context)
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("task", &self.task).field("state", &self.state).finish_non_exhaustive()
    }
}

/// A stream and what is needed to take it up again.
struct Following {
    agent: Agent,
    /// `None` once it is over.
    raw: Option<RawEvents>,
    task: Option<String>,
    /// Whether the protocol lets the agent end the stream here.
    rests: bool,
    tries: u32,
    pause: Duration,
}

impl Following {
    async fn step(mut self) -> Option<(Result<Event>, Self)> {
        let next = match self.raw.as_mut()?.next().await {
            Some(Ok(event)) => {
                self.note(&event);
                Event::read(event).map_err(CallError::Protocol)
            }
            Some(Err(error)) if !error.is_break() => Err(error),
            Some(Err(error)) => self.resumed(Some(error)).await?,
            None if self.rests => return None,
            None => self.resumed(None).await?,
        };
        if next.is_err() {
            self.raw = None;
        }
        Some((next, self))
    }

    fn note(&mut self, event: &a2a::Event) {
        if let Some(task) = event.task_id() {
            self.task = Some(task.to_owned());
        }
        self.rests = event.is_terminal() || event.state().map_or(self.rests, TaskState::rests);
    }

    /// The task as it is now, with a new stream behind it if it goes on; `None` if it ended in order and that is all.
    async fn resumed(&mut self, why: Option<CallError>) -> Option<Result<Event>> {
        self.raw = None;
        let mut last = why;
        let Some(task) = self.task.clone() else { return last.map(Err) };
        while self.tries > 0 {
            self.tries -= 1;
            sleep(self.pause).await;
            self.pause = (self.pause * 2).min(LONGEST);
            match self.try_once(&task).await {
                Ok(task) => {
                    self.rests = task.state().rests();
                    return Some(Ok(Event::Resumed(task)));
                }
                Err(error) if error.is_break() => last = Some(error),
                Err(error) => return Some(Err(error)),
            }
        }
        last.map(Err)
    }

    async fn try_once(&mut self, task: &str) -> Result<Task> {
        let mut subscribed = self.agent.open_raw(&calls::subscribe(task)).await;
        if let Ok(raw) = &mut subscribed
            && raw.begins_with_task()
        {
            match timeout(FIRST, raw.next()).await {
                Ok(Some(Ok(first))) if first.body.get("task").is_some() => {
                    if let Event::Task(task) = Event::read(first)? {
                        self.raw = subscribed.ok();
                        return Ok(task);
                    }
                }
                Ok(Some(Ok(other))) => raw.give_back(other),
                Ok(Some(Err(error))) => subscribed = Err(error),
                Ok(None) | Err(_) => {}
            }
        }
        // What happens from here on is in the task, or in the stream, or in both.
        let read = self.agent.get_task(task).await?;
        if !read.state().rests() {
            self.raw = Some(subscribed?);
        }
        Ok(read)
    }
}

/// How long a subscription may take to begin with the task.
const FIRST: Duration = Duration::from_secs(2);
