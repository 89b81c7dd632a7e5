//! Runs `laws::credential` on whatever the fuzzer makes up.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::credential(bytes));
