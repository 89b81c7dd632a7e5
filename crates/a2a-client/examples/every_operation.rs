//! Calls every operation of an agent over every interface of its card, and checks the answers.
//!
//! Takes the URLs of agents that play the part of the sample agent `echo`: `hello` comes back as an artifact, `msg:` as a
//! message, `stream N` in pieces, `slow` works until it is cancelled, `ask` asks. Prints a line an interface; ends with
//! code 1 if an answer is not what it should be. Before a URL, about its agent's HTTP+JSON of 0.3: `--r3-double`, it encodes files
//! twice, as Python does; `--r3-without-push`, it has webhooks in a form of its own, or not all of their operations.
//!
//! `cargo run -p a2a-client --example every_operation -- http://127.0.0.1:9100/a2a/echo`

use a2a_client::{
    Agent, CallError, Card, Content, Dialect, Event, FaultKind, Message, Options, Part, PushConfig, R3Bytes, Reply,
    Sending, TaskFilter, TaskState, connect,
};
use futures_util::TryStreamExt as _;

/// What is wrong, in words.
type Checked<T> = Result<T, String>;

#[tokio::main(flavor = "current_thread")]
#[cfg_attr(
    test,
    expect(dead_code, reason = "the crate's tests take the checks from this file and have a main of their own")
)]
async fn main() -> std::process::ExitCode {
    let (mut passed, mut failed) = (0, 0);
    let mut habits = Habits { bytes: R3Bytes::Auto, push: Push::Whole };
    for url in std::env::args().skip(1) {
        match url.as_str() {
            "--r3-double" => habits.bytes = R3Bytes::Double,
            "--r3-without-push" => habits.push = Push::Left,
            _ => {}
        }
        if url.starts_with("--") {
            continue;
        }
        for (name, outcome) in at_every_interface(&url, habits).await {
            match outcome {
                Ok(()) => {
                    passed += 1;
                    tell(&format!("ok   {name}"));
                }
                Err(problem) => {
                    failed += 1;
                    tell(&format!("FAIL {name}: {problem}"));
                }
            }
        }
    }
    tell(&format!("{passed} passed, {failed} failed"));
    std::process::ExitCode::from(u8::from(failed > 0 || passed == 0))
}

/// What is known of an agent's HTTP+JSON of 0.3.
#[derive(Clone, Copy, Debug)]
struct Habits {
    bytes: R3Bytes,
    push: Push,
}

/// Whether webhooks are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// All four operations.
    Whole,
    /// None.
    Left,
}

#[expect(clippy::print_stdout, reason = "a program for a terminal")]
fn tell(line: &str) {
    println!("{line}");
}

async fn at_every_interface(url: &str, habits: Habits) -> Vec<(String, Checked<()>)> {
    let agent = match connect(url).await {
        Ok(agent) => agent,
        Err(error) => return vec![(url.to_owned(), Err(chain(&error)))],
    };
    let mut outcomes = Vec::new();
    for interface in agent.interfaces() {
        let push = if interface.dialect == Dialect::R3 { habits.push } else { Push::Whole };
        let less = if push == Push::Left { ", without push" } else { "" };
        let name = format!("{} {}{less}", agent.card().name(), interface.dialect.name());
        outcomes.push((name, at_one(url, interface.dialect, Habits { push, ..habits }).await));
    }
    outcomes
}

async fn at_one(url: &str, dialect: Dialect, habits: Habits) -> Checked<()> {
    let agent =
        Options::new().only([dialect]).r3_bytes(habits.bytes).connect(url).await.map_err(|error| chain(&error))?;
    let hook = format!("{}/a2a/webhook-sink/every-operation", agent.card_url().origin().ascii_serialization());
    every_operation(&agent, &hook, habits.push).await
}

/// Calls all eleven operations over the interface that `agent` calls; `hook` is a webhook that it accepts.
pub(crate) async fn every_operation(agent: &Agent, hook: &str, push: Push) -> Checked<()> {
    send(agent).await.map_err(at("send"))?;
    parts(agent).await.map_err(at("parts"))?;
    stream(agent).await.map_err(at("stream"))?;
    follow_up(agent).await.map_err(at("follow-up"))?;
    long_work(agent, hook, push).await.map_err(at("long work"))?;
    list(agent).await.map_err(at("list"))?;
    extended_card(agent).await.map_err(at("extended card"))
}

async fn send(agent: &Agent) -> Checked<()> {
    let task = task(agent.send("hello").await)?;
    same("state", task.state(), TaskState::Completed)?;
    same("text", task.text().as_str(), "hello")?;
    let read = agent.get_task_with_history(task.id(), 1).await.map_err(said)?;
    same("the task read again", (read.id(), read.state()), (task.id(), task.state()))?;
    holds("at most one message of history", read.history().len() <= 1)?;
    fault(agent.get_task("no-such-task").await, FaultKind::TaskNotFound)?;
    fault(agent.cancel_task(task.id()).await, FaultKind::TaskNotCancelable)?;
    // Before the stream, or as its first event.
    let followed = match agent.subscribe("no-such-task").await {
        Ok(mut events) => events.next().await.map_or(Ok(()), |event| event.map(drop)),
        Err(error) => Err(error),
    };
    if agent.interface().dialect == Dialect::R3 {
        // The Python SDK has no word for it there and breaks the connection off.
        holds("a missing task is not followed", followed.is_err())?;
    } else {
        fault(followed, FaultKind::TaskNotFound)?;
    }
    match agent.send("msg: hi").await.map_err(said)? {
        Reply::Message(message) => same("message", message.text().as_str(), "msg: hi"),
        Reply::Task(task) => Err(format!("a message was asked for, a task came: {}", task.id())),
    }
}

async fn parts(agent: &Agent) -> Checked<()> {
    let data = json::read(br#"{"k":[1,"two"]}"#, &json::Limits::default()).map_err(|error| error.to_string())?;
    let file = Part::bytes(b"\x00\xffbytes", "application/octet-stream").named("a.bin");
    let link = Part::link("https://example.com/a.png", "image/png");
    let message = Message::from("parts").with(Part::data(data.clone())).with(file).with(link);
    let task = task(agent.send(message).await)?;
    let parts: Vec<Part> = task.artifacts().iter().flat_map(a2a_client::Artifact::parts).collect();
    let contents: Vec<Content<'_>> = parts.iter().map(Part::content).collect();
    let [text, object, bytes, url] = contents.as_slice() else { return Err(format!("four parts, not {contents:?}")) };
    same("text part", text, &Content::Text("parts"))?;
    let Content::Data(found) = object else { return Err(format!("a data part, not {object:?}")) };
    same("data part", json::canonical(found).ok(), json::canonical(&data).ok())?;
    same("file", bytes, &Content::Bytes(b"\x00\xffbytes".to_vec()))?;
    same("link", url, &Content::Link("https://example.com/a.png"))?;
    // The JavaScript SDK loses names in its HTTP+JSON of 0.3.
    let name = parts.get(2).and_then(Part::filename);
    holds("the file's name", name == Some("a.bin") || name.is_none() && agent.interface().dialect == Dialect::R3)
}

async fn stream(agent: &Agent) -> Checked<()> {
    let mut events = agent.stream("stream 3 abcdef").await.map_err(said)?;
    let mut text = String::new();
    while let Some(event) = events.next().await {
        if let Event::Artifact(update) = event.map_err(said)? {
            text.push_str(&update.artifact().text());
        }
    }
    same("pieces", text.as_str(), "abcdef")?;
    same("last state", events.state(), Some(TaskState::Completed))?;
    holds("the stream named its task", events.task_id().is_some())
}

async fn follow_up(agent: &Agent) -> Checked<()> {
    let asked = task(agent.send("ask").await)?;
    same("state", asked.state(), TaskState::InputRequired)?;
    holds("a question", asked.status_message().is_some())?;
    let answer = Message::from("an answer").in_task(asked.id()).in_context(asked.context_id().unwrap_or_default());
    let done = task(agent.send(answer).await)?;
    same("the same task, done", (done.id(), done.state()), (asked.id(), TaskState::Completed))?;
    same("text", done.text().as_str(), "an answer")
}

async fn long_work(agent: &Agent, hook: &str, webhooks: Push) -> Checked<()> {
    let slow = task(agent.send_with("slow", Sending::new().return_immediately()).await)?;
    holds("the task is not done", !slow.state().is_terminal())?;
    let mut events = agent.subscribe(slow.id()).await.map_err(said)?;
    if webhooks == Push::Whole {
        push(agent, slow.id(), hook).await.map_err(at("push"))?;
    }
    let canceled = agent.cancel_task(slow.id()).await.map_err(said)?;
    same("the task after cancelling", (canceled.id(), canceled.state()), (slow.id(), TaskState::Canceled))?;
    while let Some(event) = events.next().await {
        same("the subscription's task", event.map_err(said)?.task_id(), Some(slow.id()))?;
    }
    same("the subscription's last state", events.state(), Some(TaskState::Canceled))?;
    same("the task read", agent.get_task(slow.id()).await.map_err(said)?.state(), TaskState::Canceled)
}

async fn push(agent: &Agent, task: &str, hook: &str) -> Checked<()> {
    let wanted = PushConfig::to(hook).with_id("hook-1").with_token("token");
    let created = agent.create_push_config(task, wanted).await.map_err(said)?;
    same("created", (created.url(), created.id()), (hook, Some("hook-1")))?;
    let read = agent.push_config(task, "hook-1").await.map_err(said)?;
    same("read", (read.url(), read.id()), (hook, Some("hook-1")))?;
    let all = agent.push_configs(task).await.map_err(said)?;
    same("listed", all.iter().map(PushConfig::id).collect::<Vec<_>>(), vec![Some("hook-1")])?;
    agent.delete_push_config(task, "hook-1").await.map_err(said)?;
    same("left", agent.push_configs(task).await.map_err(said)?.len(), 0)
}

async fn list(agent: &Agent) -> Checked<()> {
    let one = task(agent.send("one").await)?;
    let filter = TaskFilter::new().in_context(one.context_id().unwrap_or_default());
    let listed = agent.list_tasks(filter.clone().page_size(5)).await;
    if agent.interface().dialect.version() == a2a::Version::V03 {
        return holds("0.3 cannot list, and nothing is sent", listed.is_err_and(|error| error.nothing_was_sent()));
    }
    let listed = listed.map_err(said)?;
    same("the context's tasks", listed.tasks().iter().map(a2a_client::Task::id).collect::<Vec<_>>(), vec![one.id()])?;
    let two = task(agent.send(Message::from("two").in_context(one.context_id().unwrap_or_default())).await)?;
    let paged: Vec<_> = agent.all_tasks(filter.page_size(1)).try_collect().await.map_err(said)?;
    let mut ids: Vec<&str> = paged.iter().map(a2a_client::Task::id).collect();
    let mut expected = vec![one.id(), two.id()];
    ids.sort_unstable();
    expected.sort_unstable();
    same("both, page by page", ids, expected)
}

async fn extended_card(agent: &Agent) -> Checked<()> {
    let card: Card = agent.extended_card().await.map_err(said)?;
    same("name", card.name(), agent.card().name())?;
    holds("a skill", card.skills().next().is_some())
}

fn task(reply: Result<Reply, CallError>) -> Checked<a2a_client::Task> {
    match reply.map_err(said)? {
        Reply::Task(task) => Ok(task),
        Reply::Message(message) => Err(format!("a task was asked for, a message came: {}", message.text())),
    }
}

fn fault<T>(outcome: Result<T, CallError>, kind: FaultKind) -> Checked<()> {
    match outcome {
        Err(error) => same("fault", error.fault().map(a2a_client::AgentFault::kind), Some(kind)),
        Ok(_) => Err(format!("{kind:?} was expected")),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Checked<()> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

fn holds(what: &str, truth: bool) -> Checked<()> {
    if truth { Ok(()) } else { Err(format!("not so: {what}")) }
}

fn at(step: &'static str) -> impl Fn(String) -> String {
    move |problem| format!("{step}: {problem}")
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn said(error: CallError) -> String {
    chain(&error)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        text = format!("{text}: {one}");
        cause = one.source();
    }
    text
}
