//! The corpus of the fuzz target `jcs`, replayed without a fuzzer. Walked, not listed.

#![expect(clippy::expect_used, clippy::panic, reason = "a law that is broken says so")]

mod laws;

#[test]
fn every_document_of_the_corpus_obeys_the_laws() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/jcs");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is there") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("readable");
        assert!(std::panic::catch_unwind(|| laws::jcs(&bytes)).is_ok(), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 20, "only {seen} documents found");
}
