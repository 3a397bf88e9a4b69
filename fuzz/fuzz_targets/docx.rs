//! The reader of DOCX.

#![no_main]

mod read;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (&[u8], &[u8], &[u8], &[u8])| {
    let (document, notes, core, relations) = parts;
    let main = b"<Relationship Type=\"/officeDocument\" Target=\"word/a.xml\"/>";
    read::archive(&[
        ("[Content_Types].xml", b""),
        ("_rels/.rels", main),
        ("word/_rels/a.xml.rels", relations),
        ("word/a.xml", document),
        ("word/footnotes.xml", notes),
        ("docProps/core.xml", core),
    ]);
});
