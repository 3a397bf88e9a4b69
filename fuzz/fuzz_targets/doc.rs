//! The reader of Word documents, on whole files. Panics of its third-party parser fail only one file and are ignored
//! here.

#![no_main]

mod read;

use std::panic;

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| read::behind(b"", bytes)
);
