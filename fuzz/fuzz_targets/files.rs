//! Any file: format detection, archives, and the readers of whole files. Panics of third-party parsers that a reader
//! catches are ignored here.

#![no_main]

mod read;

use std::panic;

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| read::behind(b"", bytes)
);
