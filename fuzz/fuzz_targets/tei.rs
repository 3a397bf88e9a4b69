//! The reader of TEI.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|rest: &[u8]| read::behind(b"<TEI ", rest));
