//! Any file: the detector, archives, and the readers that whole files lead to. What a parser of others panics about and a
//! reader catches is passed over here.

#![no_main]

mod read;

use std::panic;

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| read::behind(b"", bytes)
);
