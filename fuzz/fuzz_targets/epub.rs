//! The reader of EPUB: its package and one page.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (&[u8], &[u8], &[u8])| {
    let container = b"<container><rootfiles><rootfile full-path=\"a/b.opf\"/></rootfiles></container>";
    let (package, page, encryption) = parts;
    read::archive(&[
        ("META-INF/container.xml", container),
        ("a/b.opf", package),
        ("a/c.xhtml", page),
        ("META-INF/encryption.xml", encryption),
    ]);
});
