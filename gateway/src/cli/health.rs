//! `chancery health`: the probe for containers that have no curl.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;

use super::{Common, Failure, say};

/// Ask a running gateway whether it is ready (for container probes).
#[derive(Debug, Args)]
pub(super) struct Health {
    /// The address to ask.
    #[arg(long, default_value = "127.0.0.1:8101", value_name = "ADDRESS")]
    address: SocketAddr,
    /// How long to wait, in seconds.
    #[arg(long, default_value_t = 3, value_name = "SECONDS")]
    timeout: u64,
}

impl Health {
    pub(super) fn run(self, _common: &Common) -> Result<(), Failure> {
        let answer = self.ask().with_context(|| format!("{} does not answer", self.address))?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        say(&format!("{body}\n"))?;
        if head.starts_with("HTTP/1.1 200") {
            return Ok(());
        }
        Err(Failure::Failed(anyhow::anyhow!("the gateway is not ready")))
    }

    fn ask(&self) -> Result<String, anyhow::Error> {
        let patience = Duration::from_secs(self.timeout.max(1));
        let mut stream = TcpStream::connect_timeout(&self.address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        write!(stream, "GET /readyz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address)?;
        let mut answer = String::new();
        stream.take(64 * 1024).read_to_string(&mut answer)?;
        if answer.is_empty() {
            bail!("the connection was closed without an answer");
        }
        Ok(answer)
    }
}
