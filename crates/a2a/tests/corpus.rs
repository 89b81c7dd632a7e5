//! The corpus of the fuzz targets, replayed without a fuzzer. Walked, not listed.

#![expect(clippy::expect_used, clippy::panic, reason = "a law that is broken says so")]

mod laws;

use std::path::Path;

#[test]
fn every_request_of_the_corpus_obeys_the_laws() {
    replay("decode_call", laws::decode_call);
}

#[test]
fn every_reply_of_the_corpus_obeys_the_laws() {
    replay("decode_reply", laws::decode_reply);
}

#[test]
fn every_stream_of_the_corpus_obeys_the_laws() {
    replay("sse_frames", laws::sse_frames);
}

#[test]
fn every_path_of_the_corpus_obeys_the_laws() {
    replay("path_route", laws::path_route);
}

#[test]
fn every_card_of_the_corpus_obeys_the_laws() {
    replay("card_parse", laws::card_parse);
}

fn replay(target: &str, law: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut entries: Vec<_> =
        std::fs::read_dir(&folder).expect("the corpus is there").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    assert!(entries.len() >= 10, "only {} files in {}", entries.len(), folder.display());
    for path in entries {
        let bytes = std::fs::read(&path).expect("readable");
        assert!(std::panic::catch_unwind(|| law(&bytes)).is_ok(), "{}", path.display());
    }
}
