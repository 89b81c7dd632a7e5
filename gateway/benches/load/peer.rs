//! One process under test: started, called, and asked what processor time it has used.

use crate::parts::Stage;
use crate::process::Gateway;
use crate::world::{self, CardOf};
use anyhow::{Context as _, ensure};
use chancery::clock::Clock;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use store::{Pools, Store};
use tokio::time::Instant;

use crate::spoken::{Binding, Said};

/// What a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// (a)
    Agent,
    /// (b)
    Proxy,
    /// (c)
    Gateway,
    /// (b) with parts of (c)
    Parts(Stage),
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Agent, Self::Proxy, Self::Gateway];
}

/// A process under test.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    pub(crate) address: SocketAddr,
    key: String,
    process: Process,
}

#[derive(Debug)]
enum Process {
    Gateway(Gateway),
    Stub(Stub),
}

/// This program in another role; its standard input is held open, and it ends when that ends.
#[derive(Debug)]
struct Stub(Child);

impl Drop for Stub {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Peer {
    pub(crate) fn agent() -> anyhow::Result<Self> {
        Self::stub(Kind::Agent, &["--role", "agent"])
    }

    pub(crate) fn proxy(agent: SocketAddr) -> anyhow::Result<Self> {
        Self::stub(Kind::Proxy, &["--role", "proxy", &agent.to_string()])
    }

    /// The bare proxy with the parts of a gateway up to `stage`, with a store and a spool below `dir`.
    pub(crate) fn parts(stage: Stage, agent: SocketAddr, dir: &Path) -> anyhow::Result<Self> {
        let dir = dir.join(stage.name());
        std::fs::create_dir(&dir)?;
        let dir = dir.to_str().context("the folder's name is text")?;
        Self::stub(Kind::Parts(stage), &["--role", "parts", stage.name(), &agent.to_string(), dir])
    }

    fn stub(kind: Kind, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a stub")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("the stub's output is piped")?).read_line(&mut line)?;
        let stub = Stub(child);
        let address = line.trim().parse().context("the stub says its address")?;
        Ok(Self { kind, address, key: UNREAD_KEY.to_owned(), process: Process::Stub(stub) })
    }

    /// The gateway with a store and a spool below `dir`.
    pub(crate) async fn gateway(agent: SocketAddr, dir: &Path) -> anyhow::Result<Self> {
        let url = format!("sqlite://{}/chancery.db", dir.display());
        let store = Store::open(&url, Pools::default()).await?;
        store.migrate().await?;
        let agent = format!("http://{agent}");
        let cards = [
            CardOf { name: "rest", agent: &agent, binding: "HTTP+JSON" },
            CardOf { name: "rpc", agent: &agent, binding: "JSONRPC" },
        ];
        let key = world::furnish(&store, &cards, Clock::System.now()).await?;
        store.close().await;
        let gateway = Gateway::start(env!("CARGO_BIN_EXE_chancery"), dir, &url, &[])?;
        Ok(Self { kind: Kind::Gateway, address: gateway.public, key, process: Process::Gateway(gateway) })
    }

    /// Where a call goes.
    pub(crate) fn path(&self, binding: Binding, said: Said) -> String {
        let base = match (self.kind, binding) {
            (Kind::Gateway, Binding::HttpJson) => "/a2a/acme/rest",
            (Kind::Gateway, Binding::JsonRpc) => "/a2a/acme/rpc",
            (Kind::Agent | Kind::Proxy | Kind::Parts(_), _) => "",
        };
        match (binding, said) {
            (Binding::HttpJson, Said::Send) => format!("{base}/message:send"),
            (Binding::HttpJson, Said::Stream(_)) => format!("{base}/message:stream"),
            (Binding::JsonRpc, _) => format!("{base}/"),
        }
    }

    /// The caller's key; the stubs get one of the same length.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn pid(&self) -> u32 {
        match &self.process {
            Process::Gateway(gateway) => gateway.pid(),
            Process::Stub(stub) => stub.0.id(),
        }
    }

    /// Processor time of all its threads so far.
    pub(crate) fn used(&self) -> anyhow::Result<Duration> {
        let mut nanoseconds = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.pid()))? {
            // "time on the processor, time waiting for it, slices"
            let Ok(line) = std::fs::read_to_string(thread?.path().join("schedstat")) else { continue };
            let first = line.split(' ').next().context("schedstat has three numbers")?;
            nanoseconds += first.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    /// Ends it; the gateway must end in order.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        if let Process::Gateway(mut gateway) = self.process {
            gateway.terminate()?;
            let status = gateway.ended()?;
            ensure!(status.success(), "the gateway ended with {status}:\n{}", gateway.log());
        }
        Ok(())
    }

    /// Waits until the process rests: what a call leaves to be done afterwards (records to be shipped) is part of its cost.
    pub(crate) async fn rests(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut before = self.used()?;
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.used()?;
            if now.saturating_sub(before) < RESTING {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "{:?} does not come to rest", self.kind);
            before = now;
        }
    }
}

const UNREAD_KEY: &str = "sk_brutor_api_0000000000000000000000000000000000000000000000000";

/// How long a process may be busy after the last answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The look longer than the shipper's tick, and what a process uses at most in one when it rests.
const LOOK: Duration = Duration::from_millis(300);
const RESTING: Duration = Duration::from_millis(6);
