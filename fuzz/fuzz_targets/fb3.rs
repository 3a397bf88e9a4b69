//! The reader of FB3.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (&[u8], &[u8])| {
    read::archive(&[("fb3/description.xml", parts.0), ("fb3/body.xml", parts.1)]);
});
