//! The real `chancery` program as a process of its own: started, found by its log, killed.
//!
//! Takes the folder of its data and the store's address; gives the addresses that it listens on. Its log is read to
//! the end and kept for failures. Dropping it is `kill -9`, of that process alone.

use anyhow::{Context as _, bail, ensure};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::world::MASTER_KEY;

/// How long the program may take to serve, and to end.
const PATIENCE: Duration = Duration::from_secs(40);
/// Log lines kept.
const LINES: usize = 200;

/// A gateway that serves.
#[derive(Debug)]
pub(crate) struct Gateway {
    child: Child,
    log: Log,
    /// Its public listener.
    pub(crate) public: SocketAddr,
}

type Log = Arc<Mutex<Vec<String>>>;

impl Gateway {
    /// Starts `chancery serve` with its audit below `dir` and waits until it serves. Agents may be on any loopback port.
    pub(crate) fn start(program: &str, dir: &Path, store: &str, more: &[(&str, &str)]) -> anyhow::Result<Self> {
        let audit = dir.join("audit");
        let mut child = Command::new(program)
            .arg("serve")
            .current_dir(dir)
            .env_clear()
            .env("CHANCERY__PUBLIC__LISTEN", "127.0.0.1:0")
            .env("CHANCERY__PUBLIC__PUBLIC_URLS", "http://gateway.test")
            .env("CHANCERY__PUBLIC__UNSAFE_HTTP_URLS", "true")
            .env("CHANCERY__ADMIN__LISTEN", "127.0.0.1:0")
            .env("CHANCERY__STORE__URL", store)
            .env("CHANCERY__AUDIT__DIR", &audit)
            .env("CHANCERY__EGRESS__ALLOW", "127.0.0.0/8")
            .env("CHANCERY__SECRETS__MASTER_KEY", MASTER_KEY)
            .envs(more.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {program}"))?;
        let log = Log::default();
        let (tell, told) = mpsc::channel();
        let stderr = child.stderr.take().context("the log is piped")?;
        let kept = Arc::clone(&log);
        std::thread::spawn(move || read_log(stderr, &kept, &tell));
        let mut gateway = Self { child, log, public: SocketAddr::from(([127, 0, 0, 1], 0)) };
        match told.recv_timeout(PATIENCE) {
            Ok(address) => gateway.public = address,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                bail!("the gateway does not serve:\n{}", gateway.log())
            }
        }
        Ok(gateway)
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it logged last.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// Asks it to end, as an operator would.
    pub(crate) fn terminate(&self) -> anyhow::Result<()> {
        let told = Command::new("kill").arg("-TERM").arg(self.pid().to_string()).status()?;
        ensure!(told.success(), "the signal could not be sent");
        Ok(())
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "the gateway does not end:\n{}", self.log());
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the log to its end, so that the program never waits for us; tells the address once.
fn read_log(stderr: ChildStderr, kept: &Log, tell: &mpsc::Sender<SocketAddr>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if let Some(address) = serving(&line) {
            // Nobody listens after the first.
            let _ = tell.send(address);
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == LINES {
            kept.remove(0);
        }
        kept.push(line);
    }
}

/// The public address in the log line that says so.
fn serving(line: &str) -> Option<SocketAddr> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    if line["message"] != "serving" {
        return None;
    }
    line["public"].as_str()?.strip_prefix("Some(")?.strip_suffix(')')?.parse().ok()
}
