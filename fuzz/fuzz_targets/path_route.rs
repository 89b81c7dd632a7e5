//! Runs `laws::path_route` on whatever the fuzzer makes up.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::path_route(bytes));
