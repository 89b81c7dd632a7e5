//! `sample-agents`: runs every sample agent on one address until it is told to stop.

use std::net::SocketAddr;

use anyhow::Context;
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Sample A2A agents: hello at `/`, echo at `/a2a/echo`.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:9100")]
    listen: SocketAddr,
    /// The URL that callers use, if it is another one.
    #[arg(long)]
    public_url: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let filter = EnvFilter::builder().with_default_directive(tracing::Level::INFO.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let running = sample_agents::start_all(arguments.listen, arguments.public_url.as_deref())
        .await
        .with_context(|| format!("cannot listen on {}", arguments.listen))?;
    tracing::info!(hello = running.hello_url, echo = running.echo_url, "sample agents are up");
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        stopped = tokio::signal::ctrl_c() => stopped?,
        _ = terminate.recv() => {}
    }
    running.shutdown().await;
    Ok(())
}
