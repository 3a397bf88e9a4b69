//! The reader of PDF: whole files. Its parser is of others, and panics, which costs a file and is passed over here.

#![no_main]

mod read;

use std::panic;

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| read::behind(b"", bytes)
);
