//! `tck-agent ADDRESS [0.3]`: the agent for the official compatibility kit, until it is told to stop. Of A2A 1.0 alone, because the kit for
//! 1.0 takes no card that clients of 0.3 can read as well; with `0.3`, of both.

use anyhow::Context as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().context("an address is missing, such as 127.0.0.1:9999")?;
    let generations = match arguments.next().as_deref() {
        None => a2a_agent::Generations::V10,
        Some("0.3") => a2a_agent::Generations::Both,
        Some(other) => anyhow::bail!("0.3, or nothing; not {other}"),
    };
    let server = sample_agents::tck::server(generations)?;
    a2a_agent::serve(server, address.as_str()).await.with_context(|| format!("serving on {address}"))
}
