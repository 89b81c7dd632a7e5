//! The corpus of the fuzz targets of who calls, replayed without a fuzzer. Walked, not listed.

use crate::laws;
use std::path::Path;

#[test]
fn every_credential_of_the_corpus_obeys_the_laws() {
    replay("credential", laws::credential);
}

#[test]
fn every_token_of_the_corpus_obeys_the_laws() {
    replay("jwt_verify", laws::jwt_verify);
}

#[test]
fn every_chain_of_the_corpus_obeys_the_laws() {
    replay("header_chain", laws::header_chain);
}

fn replay(target: &str, law: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).expect("the corpus is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "only {} files in {}", paths.len(), folder.display());
    for path in paths {
        let bytes = std::fs::read(&path).expect("readable");
        assert!(std::panic::catch_unwind(|| law(&bytes)).is_ok(), "{}", path.display());
    }
}
