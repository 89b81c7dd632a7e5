//! A real agent behind a line that breaks in the middle of an event: in every dialect the stream goes on, and nothing is
//! missing or doubled.

#![expect(clippy::disallowed_methods, reason = "the line of these tests has no task list to be drained with")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use a2a_client::{CallError, Dialect, Event, Message, Options, Resume, TaskState};
use json::Json;
use sample_agents::{Root, Running, Settings, start};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Stands alone in a piece of the answer; in the message it is between letters.
const MARK: &[u8] = b"BREAK";
const TEXT: &str = "aaaaaBREAKccccc";

/// A line to `agent`. The first time the mark comes along, it breaks within it.
async fn line_to(agent: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let broken = Arc::new(AtomicBool::new(false));
    tokio::task::spawn(async move {
        while let Ok((caller, _)) = listener.accept().await {
            let server = TcpStream::connect(agent).await.unwrap();
            tokio::task::spawn(carry(caller, server, Arc::clone(&broken)));
        }
    });
    address
}

async fn carry(mut caller: TcpStream, mut server: TcpStream, broken: Arc<AtomicBool>) {
    let (mut from_caller, mut to_caller) = caller.split();
    let (mut from_server, mut to_server) = server.split();
    let forth = tokio::io::copy(&mut from_caller, &mut to_server);
    let back = async {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from_server.read(&mut bytes).await {
            if let Some(at) = lone_mark(&bytes[..read]).filter(|_| !broken.swap(true, Ordering::SeqCst)) {
                let _ = to_caller.write_all(&bytes[..at + 2]).await;
                return;
            }
            if to_caller.write_all(&bytes[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = forth => {}
        () = back => {}
    }
}

fn lone_mark(bytes: &[u8]) -> Option<usize> {
    let letter = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphabetic);
    let found = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    found.map(|(at, _)| at).find(|at| !letter(at.checked_sub(1)) && !letter(Some(at + MARK.len())))
}

async fn agents() -> Running {
    let settings = Settings { root: Root::Echo, ..Settings::at(([127, 0, 0, 1], 0).into()) };
    start(settings).await.unwrap()
}

fn message() -> Message {
    // Slow enough that the last piece is not out before the break was noticed.
    Message::from(format!("stream 3 {TEXT}").as_str()).with_metadata("stepDelayMs", Json::from(600))
}

async fn goes_on(dialect: Dialect) {
    let agents = agents().await;
    let line = line_to(agents.address).await;
    let resume = Resume { tries: 3, pause: Duration::from_millis(10) };
    let url = format!("http://{line}/a2a/echo");
    let agent = Options::new().only([dialect]).resume(resume).connect(&url).await.unwrap();
    assert!(agent.interface().address.base.contains(&line.to_string()), "through the line");
    let mut events = agent.stream(message()).await.unwrap();
    let (mut text, mut resumed) = (String::new(), 0);
    while let Some(event) = events.next().await {
        match event.unwrap() {
            Event::Resumed(task) => {
                resumed += 1;
                text = task.text();
            }
            Event::Artifact(update) => text += &update.artifact().text(),
            Event::Task(_) | Event::Status(_) | Event::Message(_) => {}
        }
    }
    assert_eq!((text.as_str(), resumed, events.state()), (TEXT, 1, Some(TaskState::Completed)));
}

#[tokio::test]
async fn json_rpc_goes_on() {
    goes_on(Dialect::J1).await;
}

#[tokio::test]
async fn http_json_goes_on() {
    goes_on(Dialect::R1).await;
}

#[tokio::test]
async fn json_rpc_of_0_3_goes_on() {
    goes_on(Dialect::J3).await;
}

#[tokio::test]
async fn http_json_of_0_3_goes_on() {
    goes_on(Dialect::R3).await;
}

#[cfg(feature = "grpc")]
#[tokio::test]
async fn grpc_goes_on() {
    goes_on(Dialect::G1).await;
}

#[tokio::test]
async fn without_leave_to_go_on_the_break_is_told_in_every_dialect() {
    for dialect in [Dialect::J1, Dialect::R1, Dialect::J3, Dialect::R3, Dialect::G1] {
        if dialect == Dialect::G1 && !cfg!(feature = "grpc") {
            continue;
        }
        let agents = agents().await;
        let url = format!("http://{}/a2a/echo", line_to(agents.address).await);
        let agent = Options::new().only([dialect]).connect(&url).await.unwrap();
        let mut events = agent.stream(message()).await.unwrap();
        let mut end = None;
        while let Some(event) = events.next().await {
            end = event.err();
        }
        assert!(matches!(end, Some(CallError::Cut(_) | CallError::Stream(_))), "{dialect:?}: {end:?}");
    }
}
