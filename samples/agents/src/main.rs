//! `sample-agents`: runs every sample agent on one address until it is told to stop.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use a2a_agent::Bounds;
use anyhow::Context;
use clap::{Parser, ValueEnum};
use sample_agents::{Forwarding, PushReach, Root, Settings, sink};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Sample A2A agents below /a2a: echo, weather, travel-planner, approval, flaky, secure, reject.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:9100")]
    listen: SocketAddr,
    /// The URL that callers use; without it, cards name the host that a request names.
    #[arg(long)]
    public_url: Option<String>,
    /// Whose card is at /.well-known/agent-card.json (hello-world-a2a is at /hello, else).
    #[arg(long, value_enum, default_value = "echo")]
    root: RootArgument,
    /// Believe Forwarded and X-Forwarded-* headers.
    #[arg(long, env = "RUSTYBIN_TRUST_FORWARD")]
    trust_forward: bool,
    /// Webhook hosts besides the built-in sink: host or host:port, with commas between.
    #[arg(long, env = "RUSTYBIN_A2A_PUSH_ALLOWLIST", value_delimiter = ',')]
    push_allow: Vec<String>,
    /// Take any webhook URL, also of private addresses. Never in public mode.
    #[arg(long, env = "RUSTYBIN_A2A_PUSH_ALLOW_ALL")]
    push_allow_all: bool,
    /// For the open internet: fewer tasks, for a shorter time, and no webhooks but the listed ones.
    #[arg(long)]
    public_mode: bool,
    /// How many tasks each agent keeps, instead of the mode's number.
    #[arg(long)]
    tasks: Option<usize>,
    /// How many of them one session may have.
    #[arg(long)]
    tasks_per_session: Option<usize>,
    /// Keep tasks in a database in this folder.
    #[arg(long)]
    data: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RootArgument {
    Echo,
    Hello,
}

impl Arguments {
    fn settings(self) -> Settings {
        let usual = if self.public_mode {
            Bounds { tasks: 2_000, tasks_per_owner: 50, idle: Duration::from_mins(15) }
        } else {
            Bounds { tasks: 5_000, tasks_per_owner: 1_000, idle: Duration::from_hours(1) }
        };
        let bounds = Bounds {
            tasks: self.tasks.unwrap_or(usual.tasks),
            tasks_per_owner: self.tasks_per_session.unwrap_or(usual.tasks_per_owner),
            ..usual
        };
        let anything = self.push_allow_all && !self.public_mode;
        Settings {
            public_url: self.public_url,
            root: match self.root {
                RootArgument::Echo => Root::Echo,
                RootArgument::Hello => Root::Hello,
            },
            forwarding: if self.trust_forward { Forwarding::Trusted } else { Forwarding::Ignored },
            push_allow: self.push_allow.into_iter().filter(|entry| !entry.is_empty()).collect(),
            push_reach: if anything { PushReach::Anything } else { PushReach::Listed },
            bounds,
            sinks: if self.public_mode { sink::PUBLIC_SINKS } else { sink::SINKS },
            data: self.data,
            ..Settings::at(self.listen)
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let filter = EnvFilter::builder().with_default_directive(tracing::Level::INFO.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let listen = arguments.listen;
    let running = sample_agents::start(arguments.settings()).await;
    let running = running.with_context(|| format!("the sample agents cannot start on {listen}"))?;
    tracing::info!(directory = %format!("{}/a2a", running.base_url), hello = running.hello_url, "sample agents are up");
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        stopped = tokio::signal::ctrl_c() => stopped?,
        _ = terminate.recv() => {}
    }
    running.shutdown().await;
    Ok(())
}
