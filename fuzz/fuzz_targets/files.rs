//! Any file: the detector, archives, and the readers that whole files lead to.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read::behind(b"", bytes));
