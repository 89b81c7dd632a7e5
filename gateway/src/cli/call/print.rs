//! What an agent says, on a terminal: parts as they come, pieces of text on one line.
//!
//! An agent's text must not drive the terminal: control characters are left out.

use a2a_client::{Content, Event, Message, Part, Reply, Task, TaskState};
use json::Json;

use crate::cli::output;

/// Prints replies and events: for people, or as JSON, one a line.
#[derive(Debug)]
pub(super) struct Printer {
    raw: bool,
    /// Whether the last line has no end yet.
    within_line: bool,
}

impl Printer {
    pub(super) const fn new(raw: bool) -> Self {
        Self { raw, within_line: false }
    }

    pub(super) fn reply(&mut self, reply: &Reply) -> anyhow::Result<()> {
        if self.raw {
            return json(&reply.to_json());
        }
        match reply {
            Reply::Task(task) => self.task(task),
            Reply::Message(message) => self.message(message),
        }
    }

    pub(super) fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if self.raw {
            return json(&event.to_json());
        }
        match event {
            Event::Task(task) => self.task(task),
            Event::Resumed(task) => {
                self.end()?;
                output::note("the stream broke and goes on; the task so far:");
                self.task(task)
            }
            Event::Message(message) => self.message(message),
            Event::Status(update) => {
                self.line(&format!("[{}]", name(update.state())))?;
                update.message().map_or(Ok(()), |message| self.message(&message))
            }
            Event::Artifact(update) => {
                for part in update.artifact().parts() {
                    self.part(&part)?;
                }
                if update.is_last() { self.end() } else { Ok(()) }
            }
        }
    }

    /// Ends the line that text stands on.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.within_line) { output::line("") } else { Ok(()) }
    }

    fn task(&mut self, task: &Task) -> anyhow::Result<()> {
        self.line(&format!("[task {}: {}]", plain(task.id()), name(task.state())))?;
        if let Some(message) = task.status_message() {
            self.message(&message)?;
        }
        for artifact in task.artifacts() {
            for part in artifact.parts() {
                self.part(&part)?;
            }
            self.end()?;
        }
        Ok(())
    }

    fn message(&mut self, message: &Message) -> anyhow::Result<()> {
        for part in message.parts() {
            self.part(&part)?;
            self.end()?;
        }
        Ok(())
    }

    fn part(&mut self, part: &Part) -> anyhow::Result<()> {
        let media_type = plain(part.media_type().unwrap_or("file"));
        let filename = plain(part.filename().unwrap_or_default());
        match part.content() {
            Content::Text(text) => {
                self.within_line = true;
                output::piece(&plain(text))
            }
            Content::Data(data) => self.line(&plain(&String::from_utf8_lossy(&json::write(data)))),
            Content::Bytes(bytes) => self.line(&format!("[{media_type} {filename}: {} bytes]", bytes.len())),
            Content::Link(url) => self.line(&format!("[{media_type} {filename}: {}]", plain(url))),
            Content::Unreadable => self.line("[a part that cannot be shown; see it with --json]"),
        }
    }

    fn line(&mut self, text: &str) -> anyhow::Result<()> {
        self.end()?;
        output::line(text)
    }
}

fn json(body: &Json) -> anyhow::Result<()> {
    output::line(&String::from_utf8_lossy(&json::write(body)))
}

/// As people say it.
fn name(state: TaskState) -> &'static str {
    state.v03_name()
}

fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}
