//! Programs that are told to stop (SIGTERM): what is going on ends in good order, and so does the process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Client, Response};

const DEADLINE: Duration = Duration::from_secs(30);

/// Ends the process when the test fails.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// `sample-agents` on a free port, and the URL of echo.
    fn agents() -> (Self, String) {
        let mut process = Command::new(env!("CARGO_BIN_EXE_sample-agents"))
            .args(["--listen", "127.0.0.1:0"])
            .env("NO_COLOR", "1")
            .env("RUST_LOG", "info")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.filter_map(|line| Some(line.split_once("directory=")?.1.split_whitespace().next()?.to_owned()));
        let url = url.map(|url| format!("{}/echo", url.trim_matches('"'))).next().unwrap();
        (Self(process), url)
    }

    /// `tck-agent`, which is nothing but `a2a_agent::serve`.
    async fn served() -> (Self, String) {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let process = Command::new(env!("CARGO_BIN_EXE_tck-agent")).arg(&address).spawn().unwrap();
        let (program, url) = (Self(process), format!("http://{address}"));
        let begun = Instant::now();
        while client().get(format!("{url}/health")).send().await.is_err() {
            assert!(begun.elapsed() < DEADLINE, "it does not answer");
            tokio::task::yield_now().await;
        }
        (program, url)
    }

    fn terminate(&self) {
        let told = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().unwrap();
        assert!(told.success());
    }

    async fn ends_well(mut self) {
        let ended = tokio::task::spawn_blocking(move || self.0.wait().unwrap());
        assert!(tokio::time::timeout(DEADLINE, ended).await.unwrap().unwrap().success());
    }
}

fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

async fn post(url: &str, id: &str, text: &str) -> Response {
    let body = format!(r#"{{"message":{{"messageId":"{id}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#);
    let request = client().post(url).header("a2a-version", "1.0").header("content-type", "application/json");
    request.body(body).send().await.unwrap()
}

#[tokio::test]
async fn a_stream_that_goes_on_is_told_that_its_task_is_cancelled() {
    let (program, url) = Program::agents();
    let mut stream = post(&format!("{url}/message:stream"), "m", "slow").await;
    let mut told = String::new();
    while !told.contains("TASK_STATE_WORKING") {
        told += str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap();
    }
    program.terminate();
    let rest = tokio::time::timeout(DEADLINE, stream.text()).await.unwrap().unwrap();
    assert!(rest.contains("TASK_STATE_CANCELED") && rest.contains("the agent is shutting down"), "{rest}");
    program.ends_well().await;
}

#[tokio::test]
async fn a_send_that_waits_is_answered_before_the_agent_ends() {
    let (program, url) = Program::served().await;
    // Four seconds of work: more than the drain allows.
    let mut stream = post(&format!("{url}/message:stream"), "test-resubscribe-message-id-1", "x").await;
    stream.chunk().await.unwrap().unwrap();
    let send = format!("{url}/message:send");
    let waiting = post(&send, "test-resubscribe-message-id-2", "x");
    let stopping = async {
        let begun = Instant::now();
        loop {
            let tasks = client().get(format!("{url}/tasks")).header("a2a-version", "1.0").send().await.unwrap();
            if tasks.text().await.unwrap().contains("\"totalSize\":2") {
                break;
            }
            assert!(begun.elapsed() < DEADLINE, "the second task does not begin");
        }
        program.terminate();
    };
    let (answer, ()) = tokio::join!(waiting, stopping);
    let answer = answer.text().await.unwrap();
    assert!(answer.contains("TASK_STATE_CANCELED") && answer.contains("the agent is shutting down"), "{answer}");
    assert!(stream.text().await.unwrap().contains("TASK_STATE_CANCELED"));
    program.ends_well().await;
}
