//! Judges texts for the evaluation: JSON strings in, one a line; the kinds that were found and the score of injection
//! out, one a line. `judge FILE` takes a policy document; `judge --stream FILE` cuts each text into events first.

use guard::{Extent, Options, Passage, Pipeline, Surface};
use json::{Json, Limits, read, write};
use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let first = args.next().ok_or("give a policy document")?;
    let (stream, file) =
        if first == "--stream" { (true, args.next().ok_or("give a policy document")?) } else { (false, first) };
    let document = read(&std::fs::read(file)?, &Limits::default())?;
    let options = Options { key: b"evaluation", policy: "evaluation", version: 1 };
    let pipeline = Arc::new(Pipeline::compile(&document, &options).map_err(|error| format!("{:?}", error.problems))?);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let text = read(line?.as_bytes(), &Limits::default())?;
        let text = text.as_str().ok_or("each line is a JSON string")?;
        let judged = if stream { streamed(&pipeline, text) } else { whole(&pipeline, text) };
        out.write_all(&write(&judged))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn whole(pipeline: &Pipeline, text: &str) -> Json {
    let mut json = Json::from(vec![Json::from(text)]);
    let verdict = pipeline.inspect(Surface::Inbound, &mut json, &|_| false);
    let kinds = verdict.findings.iter().map(|finding| Json::from(finding.detector)).collect::<Vec<_>>();
    let injection = verdict.findings.iter().filter(|finding| finding.detector == "injection");
    let score = injection.map(|finding| i64::from(finding.score)).max().unwrap_or(0);
    Json::from([("kinds", Json::from(kinds)), ("score", Json::from(score))])
}

/// Cut at every fourth character, as a model's tokens would be: what goes out, and how much was held back on average.
fn streamed(pipeline: &Arc<Pipeline>, text: &str) -> Json {
    let letters: Vec<char> = text.chars().collect();
    let mut inspector = pipeline.inspector(Surface::Inbound);
    let (mut out, mut held, mut events) = (String::new(), 0_usize, 0_usize);
    for piece in letters.chunks(4) {
        let piece: String = piece.iter().collect();
        let mut event = Json::from([("text", piece.as_str())]);
        let leaves = ["/text".to_owned()];
        let passage = Passage { channel: "a", leaves: &leaves, extent: Extent::Continues };
        let judged = inspector.event(&mut event, &|_| false, &[passage], false);
        if judged.verdict.blocked_by().is_some() {
            return Json::from([("out", Json::from(out)), ("cut", Json::from(true))]);
        }
        out.push_str(event.pointer("/text").and_then(Json::as_str).unwrap_or_default());
        held = held.saturating_add(inspector.held());
        events = events.saturating_add(1);
    }
    out.extend(inspector.finish().flushes.into_iter().map(|flush| flush.text));
    let number = |count: usize| Json::from(i64::try_from(count).unwrap_or(i64::MAX));
    Json::from([("out", Json::from(out)), ("held", number(held)), ("events", number(events))])
}
