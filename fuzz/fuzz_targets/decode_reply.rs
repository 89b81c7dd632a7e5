//! Runs `laws::decode_reply` on whatever the fuzzer makes up.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::decode_reply(bytes));
