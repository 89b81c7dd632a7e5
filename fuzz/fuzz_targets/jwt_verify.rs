//! Runs `laws::jwt_verify` on whatever the fuzzer makes up.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::jwt_verify(bytes));
