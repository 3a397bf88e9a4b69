//! The reader of MOBI: the record list and everything after it.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

/// The name, dates and type of a Palm database, of which only the type is read.
const START: &[u8; 68] = &{
    let mut start = [b'a'; 68];
    let kind = b"BOOKMOBI";
    let mut i = 0;
    while i < kind.len() {
        start[60 + i] = kind[i];
        i += 1;
    }
    start
};

fuzz_target!(|rest: &[u8]| read::behind(START, rest));
