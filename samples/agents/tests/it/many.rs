//! Many tasks and many streams on one agent: what they cost in memory, and that they cost no more for being repeated.
//!
//! 1 000 tasks and 100 streams, times `SCALE`; the numbers are printed (`cargo nextest run --no-capture`), and those of `SCALE=10` are
//! in docs/reliability.md.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use futures_util::future::join_all;
use reqwest::{Client, Response};

use crate::client::{parse, text_at};

/// Tasks kept at `SCALE` 1.
const TASKS: usize = 1_000;
/// Streams open at once at `SCALE` 1.
const STREAMS: usize = 100;
/// How often as many streams are opened and left.
const ROUNDS: usize = 6;
/// What the allocator may keep more from one round to another, in KiB, besides a tenth.
const SLACK: usize = 4 * 1024;

/// The program in a process of its own, so that its memory is its own.
struct Program {
    process: Child,
    echo: String,
    clients: Vec<Client>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Program {
    fn start(tasks: usize) -> Self {
        let count = tasks.to_string();
        let mut process = Command::new(env!("CARGO_BIN_EXE_sample-agents"))
            .args(["--listen", "127.0.0.1:0", "--tasks", &count, "--tasks-per-session", &count])
            .env("NO_COLOR", "1")
            .env("RUST_LOG", "info")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = said.filter_map(|line| Some(line.split_once("directory=")?.1.split_whitespace().next()?.to_owned()));
        let directory = url.map(|url| url.trim_matches('"').to_owned()).next().unwrap();
        // HTTP/2 in clear: many streams on few connections.
        let client = |_| Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
        Self { process, echo: format!("{directory}/echo"), clients: (0..10).map(client).collect() }
    }

    /// Resident memory, in KiB.
    fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    async fn post(&self, at: usize, path: &str, body: String) -> Response {
        let client = &self.clients[at % self.clients.len()];
        let request = client.post(format!("{}{path}", self.echo)).header("a2a-version", "1.0");
        request.header("content-type", "application/json").body(body).send().await.unwrap()
    }

    async fn finish_tasks(&self, count: usize) {
        for begin in (0..count).step_by(50) {
            let sends = (begin..count.min(begin + 50)).map(|at| async move {
                let answer = self.post(at, "/message:send", says(&format!("task {at}"))).await;
                assert_eq!(answer.status(), 200, "{:?}", answer.text().await);
            });
            join_all(sends).await;
        }
    }

    /// Opens streams on tasks that go on, each at its first event; gives them with the tasks' ids.
    async fn open_streams(&self, count: usize) -> Vec<(String, Response)> {
        let mut open = Vec::new();
        for begin in (0..count).step_by(50) {
            let opening = (begin..count.min(begin + 50)).map(|at| async move {
                let mut stream = self.post(at, "/message:stream", says("slow")).await;
                let first = stream.chunk().await.unwrap().unwrap();
                let first = String::from_utf8(first.to_vec()).unwrap();
                let first = first.lines().next().unwrap().strip_prefix("data: ").unwrap().to_owned();
                (text_at(&parse(&first), "/task/id"), stream)
            });
            open.extend(join_all(opening).await);
        }
        open
    }

    /// Every second caller leaves; then all tasks are cancelled, which ends the other streams.
    async fn end(&self, streams: Vec<(String, Response)>) {
        let mut left = Vec::new();
        for (at, (id, stream)) in streams.into_iter().enumerate() {
            let stream = (at % 2 == 0).then_some(stream);
            let canceled = self.post(at, &format!("/tasks/{id}:cancel"), String::new()).await;
            assert_eq!(canceled.status(), 200, "{:?}", canceled.text().await);
            left.extend(stream);
        }
        for stream in left {
            assert!(stream.text().await.unwrap().contains("TASK_STATE_CANCELED"));
        }
    }
}

fn says(text: &str) -> String {
    format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#)
}

#[expect(clippy::disallowed_methods, reason = "the tests' own setting")]
fn scale() -> usize {
    std::env::var("SCALE").ok().map_or(1, |scale| scale.parse().unwrap())
}

fn not_more(later: usize, earlier: usize, what: &str) {
    assert!(later <= earlier + earlier / 10 + SLACK, "{what}: {earlier} KiB, then {later} KiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_bounded_and_nothing_is_left_when_streams_end() {
    let (tasks, streams) = (TASKS * scale(), STREAMS * scale());
    let program = Program::start(tasks);
    let mut told = vec![("at the start".to_owned(), program.memory())];
    program.finish_tasks(tasks).await;
    told.push((format!("with {tasks} tasks"), program.memory()));
    let full = told[1].1;
    program.finish_tasks(tasks).await;
    told.push((format!("after another {tasks}"), program.memory()));
    not_more(told[2].1, full, "as many tasks again");
    let mut ended = Vec::new();
    for round in 1..=ROUNDS {
        let open = program.open_streams(streams).await;
        told.push((format!("round {round}, {streams} streams open"), program.memory()));
        program.end(open).await;
        ended.push(program.memory());
        told.push((format!("round {round}, all ended"), program.memory()));
    }
    for (when, memory) in &told {
        println!("{:>5} MiB {when}", memory / 1024);
    }
    // The allocator takes a few rounds to settle; from then on, what ended is gone.
    not_more(ended[ROUNDS - 1], ended[ROUNDS - 3], "as many streams again");
}
