//! Streams: what is cut over events is caught before its last piece is out.

use json::{Limits, read, write};
use proptest::prelude::*;

use super::*;
use crate::policy::Options;

fn pipeline(mode: &str, action: &str) -> Arc<Pipeline> {
    let source = format!(
        r#"{{"surfaces":["a2a_outbound"],"mode":"{mode}","detectors":[
            {{"id":"pattern","name":"aws","pattern":"AKIA[0-9A-Z]{{16}}","action":"{action}"}},
            {{"id":"words","name":"phrase","words":["blue heron"],"action":"{action}"}}]}}"#
    );
    let document = read(source.as_bytes(), &Limits::default()).unwrap();
    let options = Options { key: b"key", policy: "p", version: 1 };
    Arc::new(Pipeline::compile(&document, &options).unwrap())
}

/// Sends one text on one channel; the verdict and the text that goes out.
fn send(inspector: &mut Inspector, channel: &str, text: &str, extent: Extent) -> (Verdict, String) {
    let parts = Json::from(vec![Json::from([("text", text)])]);
    let mut event = Json::from([("artifact", Json::from([("parts", parts)]))]);
    let leaves = ["/artifact/parts/0/text".to_owned()];
    let verdict = inspector.event(&mut event, &|_| false, &[Passage { channel, leaves: &leaves, extent }]);
    let out = event.pointer(&leaves[0]).and_then(Json::as_str).unwrap_or_default().to_owned();
    (verdict, out)
}

fn send_all(inspector: &mut Inspector, texts: &[&str]) -> Vec<Outcome> {
    texts.iter().map(|text| send(inspector, "a", text, Extent::Continues).0.outcome).collect()
}

fn blocked(rule: &str) -> Outcome {
    Outcome::Blocked { rule: rule.to_owned() }
}

#[test]
fn a_secret_cut_over_events_blocks_the_event_that_completes_it() {
    let mut inspector = pipeline("enforce", "redact").inspector(Surface::Outbound);
    let outcomes = send_all(&mut inspector, &["my key is AK", "IAIOSF", "ODNN7EXAM", "PLE ok"]);
    assert_eq!(outcomes, [Outcome::Allowed, Outcome::Allowed, Outcome::Allowed, blocked("aws")]);
}

#[test]
fn the_finding_lies_in_the_event_that_completes_it() {
    let mut inspector = pipeline("enforce", "block").inspector(Surface::Outbound);
    send(&mut inspector, "a", "the blue ", Extent::Begins);
    let (verdict, out) = send(&mut inspector, "a", "heron flies", Extent::Continues);
    assert_eq!((verdict.outcome, out.as_str()), (blocked("phrase"), "heron flies"));
    let [finding] = &verdict.findings[..] else { panic!() };
    assert_eq!((finding.place, finding.pointer.as_str()), (Place::Stream, "/artifact/parts/0/text"));
    assert_eq!((finding.start, finding.end, finding.action), (0, 5, Action::Block));
}

#[test]
fn a_secret_inside_one_event_is_redacted_and_does_not_linger() {
    let mut inspector = pipeline("enforce", "redact").inspector(Surface::Outbound);
    let (verdict, out) = send(&mut inspector, "a", "see AKIAIOSFODNN7EXAMPLE", Extent::Continues);
    assert_eq!((verdict.outcome, out.as_str()), (Outcome::Redacted, "see [REDACTED:aws]"));
    assert_eq!(send_all(&mut inspector, &[" and more", " text"]), [Outcome::Allowed, Outcome::Allowed]);
}

#[test]
fn channels_are_separate_and_begin_and_end() {
    let mut inspector = pipeline("enforce", "block").inspector(Surface::Outbound);
    for (channel, text, extent, outcome) in [
        ("a", "blue ", Extent::Continues, Outcome::Allowed),
        ("b", "heron", Extent::Continues, Outcome::Allowed),
        ("a", "heron", Extent::Begins, Outcome::Allowed),
        ("a", "blue ", Extent::Continues, Outcome::Allowed),
        ("a", "heron", Extent::Whole, Outcome::Allowed),
        ("a", "heron", Extent::Continues, Outcome::Allowed),
        ("a", " blue", Extent::Continues, Outcome::Allowed),
        ("a", " heron", Extent::Ends, blocked("phrase")),
    ] {
        assert_eq!(send(&mut inspector, channel, text, extent).0.outcome, outcome, "{channel} {text}");
    }
}

/// Who says where a text ends is the agent, which may say it in the middle of a match.
#[test]
fn what_follows_an_announced_end_is_joined_all_the_same() {
    for extent in [Extent::Ends, Extent::Whole] {
        let mut inspector = pipeline("enforce", "block").inspector(Surface::Outbound);
        assert_eq!(send(&mut inspector, "a", "blue ", extent).0.outcome, Outcome::Allowed);
        assert_eq!(send(&mut inspector, "a", "heron", Extent::Continues).0.outcome, blocked("phrase"));
    }
}

/// Channels that are over make room; only open ones count.
#[test]
fn many_finished_channels_do_not_block_a_stream() {
    let mut inspector = pipeline("enforce", "block").inspector(Surface::Outbound);
    for at in 0..2 * MOST_CHANNELS {
        assert_eq!(send(&mut inspector, &at.to_string(), "fine", Extent::Whole).0.outcome, Outcome::Allowed);
    }
    assert!(inspector.tails.len() <= MOST_CHANNELS);
}

#[test]
fn monitoring_and_shadow_record_and_let_pass() {
    for (mode, action) in [("enforce", "monitor"), ("shadow", "block")] {
        let mut inspector = pipeline(mode, action).inspector(Surface::Outbound);
        send(&mut inspector, "a", "blue", Extent::Continues);
        let (verdict, _) = send(&mut inspector, "a", " heron", Extent::Continues);
        assert_eq!(verdict.outcome, Outcome::Allowed);
        assert_eq!(verdict.findings.len(), 1);
        assert_eq!(verdict.findings[0].mode.name(), mode);
    }
}

#[test]
fn several_policies_inspect_one_stream() {
    let pipelines = vec![pipeline("shadow", "block"), pipeline("enforce", "redact")];
    let mut inspector = Inspector::new(pipelines, Surface::Outbound);
    send(&mut inspector, "a", "blue", Extent::Continues);
    let (verdict, _) = send(&mut inspector, "a", " heron", Extent::Continues);
    assert_eq!((verdict.outcome, verdict.findings.len()), (blocked("phrase"), 2));
}

#[test]
fn another_surface_is_not_looked_at() {
    let mut inspector = pipeline("enforce", "block").inspector(Surface::Inbound);
    assert_eq!(send_all(&mut inspector, &["blue heron", "blue", " heron"]), [const { Outcome::Allowed }; 3]);
    assert!(inspector.tails.is_empty());
}

#[test]
fn too_many_open_channels_are_refused() {
    let mut inspector = pipeline("enforce", "redact").inspector(Surface::Outbound);
    for channel in 0..MOST_CHANNELS {
        assert_eq!(send(&mut inspector, &channel.to_string(), "x", Extent::Continues).0.outcome, Outcome::Allowed);
    }
    assert_eq!(send(&mut inspector, "3", "x", Extent::Continues).0.outcome, Outcome::Allowed);
    assert_eq!(send(&mut inspector, "whole", "x", Extent::Whole).0.outcome, Outcome::Allowed);
    assert_eq!(send(&mut inspector, "more", "x", Extent::Continues).0.outcome, blocked(CHANNELS));
}

#[test]
fn what_is_kept_of_a_channel_is_bounded() {
    let mut inspector = pipeline("enforce", "redact").inspector(Surface::Outbound);
    for _ in 0..100 {
        send(&mut inspector, "a", &"é".repeat(1_000), Extent::Continues);
    }
    assert!(inspector.tails.values().all(|(tail, _)| tail.chars().count() <= inspector.reach));
}

#[test]
fn a_blocked_event_is_as_it_came() {
    let mut inspector = pipeline("enforce", "redact").inspector(Surface::Outbound);
    send(&mut inspector, "a", "blue", Extent::Continues);
    let source = r#"{"t":" heron","u":"AKIAIOSFODNN7EXAMPLE"}"#;
    let mut event = read(source.as_bytes(), &Limits::default()).unwrap();
    let leaves = ["/t".to_owned()];
    let passages = [Passage { channel: "a", leaves: &leaves, extent: Extent::Continues }];
    assert_eq!(inspector.event(&mut event, &|_| false, &passages).outcome, blocked("phrase"));
    assert_eq!(String::from_utf8_lossy(&write(&event)), source);
}

proptest! {
    #[test]
    fn no_cutting_lets_a_secret_out(before in "[a-z ]{0,9}", after in "[a-z ]{0,9}", cuts in prop::collection::vec(0_usize..40, 0..12)) {
        let secret = "AKIAIOSFODNN7EXAMPLE";
        let text = format!("{before}{secret}{after}");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
        cuts.sort_unstable();
        let mut inspector = pipeline("enforce", "redact").inspector(Surface::Outbound);
        let mut out = String::new();
        for pair in cuts.windows(2) {
            let (verdict, piece) = send(&mut inspector, "a", &text[pair[0]..pair[1]], Extent::Continues);
            if verdict.blocked_by().is_some() {
                break;
            }
            out.push_str(&piece);
        }
        prop_assert!(!out.contains(secret), "{}", out);
    }

    #[test]
    fn harmless_text_passes_however_it_is_cut(text in "[a-zA-Z0-9 .é]{0,80}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| bounds[cut.index(bounds.len())]).chain([0, text.len()]).collect();
        cuts.sort_unstable();
        let mut inspector = pipeline("enforce", "block").inspector(Surface::Outbound);
        let mut out = String::new();
        for pair in cuts.windows(2) {
            let (verdict, piece) = send(&mut inspector, "a", &text[pair[0]..pair[1]], Extent::Continues);
            prop_assert_eq!(verdict, Verdict::allowed());
            out.push_str(&piece);
        }
        prop_assert_eq!(out, text);
    }
}
