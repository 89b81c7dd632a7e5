//! Rounds → medians of ratios, for people: standard output, and the marked part of `docs/performance.md`.
//!
//! Ratios are taken inside a round and then their median, so that a slow minute of the machine does not count as a
//! difference.

use crate::machine;
use crate::measure::{EVENTS, Part, Plan, STREAMS, Series};
use crate::peer::Kind;
use crate::spoken::{Binding, Said};
use anyhow::Context as _;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

pub(crate) fn write(plan: &Plan, measured: &[Series]) -> anyhow::Result<()> {
    let text = render(plan, measured)?;
    std::io::stdout().write_all(text.as_bytes())?;
    if !plan.compares() {
        return Ok(());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
    let page = std::fs::read_to_string(&path).context("docs/performance.md")?;
    let (head, rest) = page.split_once(BEGIN).context("docs/performance.md has no place for the numbers")?;
    let (_, tail) = rest.split_once(END).context("docs/performance.md has no end of the numbers")?;
    std::fs::write(&path, format!("{head}{BEGIN}\n{text}{END}{tail}")).context("docs/performance.md")
}

const BEGIN: &str = "<!-- numbers of `make bench` begin -->";
const END: &str = "<!-- numbers of `make bench` end -->";

fn render(plan: &Plan, measured: &[Series]) -> anyhow::Result<String> {
    let mut text = String::new();
    let Plan { rounds, requests, connections, .. } = plan;
    writeln!(
        text,
        "`make bench`: {rounds} rounds of {requests} sends and {STREAMS} streams over {connections} connections\n"
    )?;
    writeln!(text, "{}", machine::describe()?)?;
    if plan.compares() {
        ratios(&mut text, measured)?;
    }
    absolute(&mut text, plan, measured)?;
    if measured.iter().any(|series| series.said != Said::Send) {
        events(&mut text, plan, measured)?;
    }
    Ok(text)
}

fn ratios(text: &mut String, measured: &[Series]) -> anyhow::Result<()> {
    writeln!(text, "Median ratios of `message:send` with 1 KB each way:\n")?;
    writeln!(text, "| binding | what | Chancery ÷ bare proxy | bare proxy ÷ agent alone |")?;
    writeln!(text, "|---|---|---|---|")?;
    for series in measured.iter().filter(|series| series.said == Said::Send) {
        let name = series.binding.name();
        for (what, value) in [("CPU time per request", CPU), ("p50", P50), ("p99", P99)] {
            let (gateway, proxy) = (series.ratio(2, 1, value), series.ratio(1, 0, value));
            writeln!(text, "| {name} | {what} | {gateway} | {proxy} |")?;
        }
    }
    writeln!(text)?;
    Ok(())
}

fn absolute(text: &mut String, plan: &Plan, measured: &[Series]) -> anyhow::Result<()> {
    writeln!(
        text,
        "Medians of `message:send`; times are of the process named, the caller's and the agent's not included:\n"
    )?;
    writeln!(text, "| binding | process | CPU µs per request | ÷ first row | p50 µs | p99 µs | requests per second |")?;
    writeln!(text, "|---|---|---|---|---|---|---|")?;
    for series in measured.iter().filter(|series| series.said == Said::Send) {
        for (at, kind) in plan.kinds.iter().enumerate() {
            let value = |value: Value| series.median(at, value);
            let (cpu, p50, p99, rate) = (value(CPU), value(P50), value(P99), value(RATE));
            writeln!(
                text,
                "| {} | {} | {cpu:.0} | {} | {p50:.0} | {p99:.0} | {rate:.0} |",
                series.binding.name(),
                name(*kind),
                series.ratio(at, 0, CPU)
            )?;
        }
    }
    writeln!(text)?;
    Ok(())
}

/// The first event from the short streams; the cost of one event from the difference between long and short ones.
fn events(text: &mut String, plan: &Plan, measured: &[Series]) -> anyhow::Result<()> {
    writeln!(text, "Streams, events 1 ms apart:\n")?;
    writeln!(
        text,
        "| binding | process | first event p50 µs | CPU µs per stream of 4 events | CPU µs per further event |"
    )?;
    writeln!(text, "|---|---|---|---|---|")?;
    for binding in Binding::ALL {
        let of =
            |events| measured.iter().find(|series| series.binding == binding && series.said == Said::Stream(events));
        let (Some(short), Some(long)) = (of(EVENTS.0), of(EVENTS.1)) else { continue };
        for (at, kind) in plan.kinds.iter().enumerate() {
            let (first, cpu) = (short.median(at, FIRST), short.median(at, CPU));
            let further = (long.median(at, CPU) - cpu) / (EVENTS.1 - EVENTS.0) as f64;
            writeln!(text, "| {} | {} | {first:.0} | {cpu:.0} | {further:.1} |", binding.name(), name(*kind))?;
        }
    }
    writeln!(text)?;
    Ok(())
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Agent => "agent alone",
        Kind::Proxy => "bare proxy",
        Kind::Gateway => "Chancery",
        Kind::Parts(stage) => stage.what(),
    }
}

type Value = fn(&Part) -> f64;
const CPU: Value = |part| part.cpu;
const P50: Value = |part| part.p50;
const P99: Value = |part| part.p99;
const FIRST: Value = |part| part.first;
const RATE: Value = |part| part.rate;

impl Series {
    fn median(&self, peer: usize, value: Value) -> f64 {
        median(self.parts.iter().filter_map(|round| round.get(peer)).map(value).collect()).1
    }

    /// Median of the rounds' ratios, with the least and the greatest.
    fn ratio(&self, of: usize, to: usize, value: Value) -> String {
        let pairs = self.parts.iter().filter_map(|round| Some((round.get(of)?, round.get(to)?)));
        let (least, median, most) = median(pairs.map(|(of, to)| value(of) / value(to)).collect());
        format!("**{median:.2}** ({least:.2}…{most:.2})")
    }
}

fn median(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    (at(0), at(values.len() / 2), at(values.len().saturating_sub(1)))
}
