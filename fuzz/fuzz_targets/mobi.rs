//! The reader of MOBI: the list of records and all behind it.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

/// The name, the dates and the type of a Palm database, which nobody reads but the type.
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
