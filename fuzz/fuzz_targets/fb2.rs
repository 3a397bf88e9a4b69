//! The reader of FB2.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|rest: &[u8]| read::behind(b"<FictionBook ", rest));
