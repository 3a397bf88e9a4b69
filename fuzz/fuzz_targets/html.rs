//! The reader of HTML and XHTML.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|rest: &[u8]| read::behind(b"<!DOCTYPE html><html ", rest));
