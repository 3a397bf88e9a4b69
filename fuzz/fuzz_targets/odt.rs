//! The reader of ODT.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (&[u8], &[u8], &[u8])| {
    read::archive(&[("content.xml", parts.0), ("meta.xml", parts.1), ("META-INF/manifest.xml", parts.2)]);
});
