//! Reading, writing and the canonical form of messages of 1 KB and 64 KB.

use divan::{Bencher, counter::BytesCount};
use json::{Json, Limits, canonical, read, write};

const SIZES: [usize; 2] = [1 << 10, 64 << 10];

fn main() {
    divan::main();
}

/// A message of text parts, about `size` bytes long.
fn message(size: usize) -> Vec<u8> {
    let part = r#"{"text":"The quick brown fox said \"jump\" over the lazy dog.\n","metadata":{"n":12.50,"ok":true}}"#;
    let parts = vec![part; size / part.len()].join(",");
    format!(r#"{{"message":{{"messageId":"m-1","role":"ROLE_USER","parts":[{parts}]}}}}"#).into_bytes()
}

fn tree(size: usize) -> Json {
    read(&message(size), &Limits::default()).unwrap_or_default()
}

#[divan::bench(args = SIZES)]
fn reading(bencher: Bencher<'_, '_>, size: usize) {
    let bytes = message(size);
    bencher.counter(BytesCount::new(bytes.len())).bench(|| read(divan::black_box(&bytes), &Limits::default()));
}

#[divan::bench(args = SIZES)]
fn writing(bencher: Bencher<'_, '_>, size: usize) {
    let json = tree(size);
    bencher.counter(BytesCount::new(size)).bench(|| write(divan::black_box(&json)));
}

#[divan::bench(args = SIZES)]
fn canonicalising(bencher: Bencher<'_, '_>, size: usize) {
    let json = tree(size);
    bencher.counter(BytesCount::new(size)).bench(|| canonical(divan::black_box(&json)));
}
