//! The reader of RTF.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|rest: &[u8]| read::behind(b"{\\rtf1", rest));
