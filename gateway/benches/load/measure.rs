//! The rounds: each peer in turn, the same load, then the next round.

use crate::client::{self, Load, Times};
use crate::parts::Stage;
use crate::peer::{Kind, Peer};
use crate::spoken::{Binding, Said};
use anyhow::{Context as _, bail};
use std::path::Path;
use std::time::Duration;

/// How much.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) requests: usize,
    pub(crate) connections: usize,
    pub(crate) kinds: Vec<Kind>,
}

/// Artifact events of the short and the long stream; what lies between them is the cost of events alone.
pub(crate) const EVENTS: (usize, usize) = (2, 102);
/// Streams in a round.
pub(crate) const STREAMS: usize = 128;

impl Plan {
    pub(crate) fn of(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut plan = Self { rounds: 7, requests: 3_000, connections: 64, kinds: Kind::ALL.to_vec() };
        let mut arguments = arguments.iter().copied();
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let text = arguments.next().with_context(|| format!("{argument} needs a number"))?;
                text.parse::<usize>().with_context(|| format!("{argument} {text} is no number"))
            };
            match argument {
                "--bench" => {}
                "--rounds" => plan.rounds = number()?.max(1),
                "--requests" => plan.requests = number()?.max(100),
                "--connections" => plan.connections = number()?.max(1),
                // For profiling, and to see what the parts cost: not the page's comparison, so nothing is written.
                "--only" => match arguments.next() {
                    Some("gateway") => plan.kinds = vec![Kind::Gateway],
                    Some("parts") => {
                        let parts = Stage::ALL.map(Kind::Parts);
                        plan.kinds = [Kind::Proxy].into_iter().chain(parts).chain([Kind::Gateway]).collect();
                    }
                    other => bail!("--only gateway or --only parts, not {other:?}"),
                },
                _ => bail!("{argument} is unknown"),
            }
        }
        Ok(plan)
    }

    /// Whether it is the comparison of the page.
    pub(crate) fn compares(&self) -> bool {
        self.kinds == Kind::ALL
    }

    fn measures_parts(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind, Kind::Parts(_)))
    }
}

/// One peer's part of one round, for one kind of call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Processor time of the peer's process for one request, in microseconds.
    pub(crate) cpu: f64,
    /// Until the end of the answer, in microseconds: median and 99th percentile.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Until the first bytes of the body: median.
    pub(crate) first: f64,
    /// Requests a second.
    pub(crate) rate: f64,
}

/// All rounds of one kind of call: `parts[round][peer]`, peers as in the plan.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) binding: Binding,
    pub(crate) said: Said,
    pub(crate) parts: Vec<Vec<Part>>,
}

pub(crate) async fn run(plan: &Plan) -> anyhow::Result<Vec<Series>> {
    let dir = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let agent = Peer::agent()?;
    let address = agent.address;
    let mut peers = vec![agent, Peer::proxy(address)?, Peer::gateway(address, dir.path()).await?];
    if plan.measures_parts() {
        for (at, stage) in Stage::ALL.into_iter().enumerate() {
            peers.insert(2 + at, Peer::parts(stage, address, dir.path())?);
        }
    }
    peers.retain(|peer| plan.kinds.contains(&peer.kind) || peer.kind == Kind::Agent);
    let mut measured = Vec::new();
    for binding in Binding::ALL {
        for said in [Said::Send, Said::Stream(EVENTS.0), Said::Stream(EVENTS.1)] {
            if plan.measures_parts() && said != Said::Send {
                continue;
            }
            let requests = if said == Said::Send { plan.requests } else { STREAMS };
            let load = Load { binding, said, connections: plan.connections, requests };
            let peers: Vec<&Peer> = peers.iter().filter(|peer| plan.kinds.contains(&peer.kind)).collect();
            measured.push(series(plan, &peers, load).await?);
        }
    }
    for peer in peers {
        peer.end()?;
    }
    Ok(measured)
}

async fn series(plan: &Plan, peers: &[&Peer], load: Load) -> anyhow::Result<Series> {
    for peer in peers {
        let warm = Load { requests: load.requests.min(500), ..load };
        client::run(peer, warm).await.with_context(|| format!("warming up {:?} {load:?}", peer.kind))?;
    }
    let mut parts = Vec::with_capacity(plan.rounds);
    for _ in 0..plan.rounds {
        let mut round = Vec::with_capacity(peers.len());
        for peer in peers {
            round.push(part(peer, load).await.with_context(|| format!("{:?} {load:?}", peer.kind))?);
        }
        parts.push(round);
    }
    Ok(Series { binding: load.binding, said: load.said, parts })
}

async fn part(peer: &Peer, load: Load) -> anyhow::Result<Part> {
    peer.rests().await?;
    let (before, began) = (peer.used()?, std::time::Instant::now());
    let mut times = client::run(peer, load).await?;
    let took = began.elapsed();
    peer.rests().await?;
    let used = peer.used()?.saturating_sub(before);
    let Times { whole, first } = &mut times;
    whole.sort_unstable();
    first.sort_unstable();
    let count = whole.len() as f64;
    Ok(Part {
        cpu: micros(used) / count,
        p50: at(whole, 50),
        p99: at(whole, 99),
        first: at(first, 50),
        rate: count / took.as_secs_f64(),
    })
}

fn at(sorted: &[Duration], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).map_or(0.0, |time| micros(*time))
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
