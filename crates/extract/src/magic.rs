//! Names files by their first bytes, also those that are not supported.

use super::sniff;

/// The offset of the type in a Palm database (MOBI, AZW3), and the offsets of marks in tar and bzip2 beyond their
/// first bytes.
const PALM_TYPE: usize = 60;
const BZIP2_MAGIC: usize = 4;
const TAR_MAGIC: usize = 257;

/// `(offset, bytes, what a file with these bytes there is)`; the first match counts.
type Magic = &'static [(usize, &'static [u8], &'static str)];

const MAGIC: Magic = &[
    (0, b"PK\x03\x04", "a ZIP archive"),
    (0, b"PK\x05\x06", "a ZIP archive"),
    (
        0,
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an OLE2 file, such as a Word .doc",
    ),
    (PALM_TYPE, b"BOOKMOBI", "a MOBI or AZW3 e-book"),
    (PALM_TYPE, b"TEXtREAd", "a PalmDOC e-book"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF87a", "a GIF image"),
    (0, b"GIF89a", "a GIF image"),
    (0, b"II*\x00", "a TIFF image"),
    (0, b"MM\x00*", "a TIFF image"),
    (0, b"\x7fELF", "a program (ELF)"),
    (0, b"SQLite format 3\x00", "a SQLite database"),
    (0, b"OggS\x00", "an Ogg recording"),
    (0, b"ID3\x02", "an MP3 recording"),
    (0, b"ID3\x03", "an MP3 recording"),
    (0, b"ID3\x04", "an MP3 recording"),
];

/// Formats of books and archives that are not read.
const UNSUPPORTED: Magic = &[
    (
        0,
        b"\xdb\xa5\x2d\x00",
        "a Word 2 document, which is not supported; convert it first",
    ),
    (
        0,
        b"\xffWPC",
        "a WordPerfect document, which is not supported; convert it first",
    ),
    (
        0,
        b"TPZ0",
        "a Topaz e-book, which is not supported; convert it first",
    ),
    (
        0,
        b"AT&TFORM",
        "a DjVu document, which is not supported; convert it first",
    ),
    (
        0,
        b"ITSF\x03",
        "a CHM help file, which is not supported; convert it first",
    ),
    (
        0,
        b"ITOLITLS",
        "a Microsoft LIT e-book, which is not supported; convert it first",
    ),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (0, b"Rar!\x1a\x07", "a RAR archive; unpack it first"),
    (BZIP2_MAGIC, b"1AY&SY", "a bzip2 archive; unpack it first"),
    (0, b"\xfd7zXZ\x00", "an xz archive; unpack it first"),
    (
        0,
        b"\x28\xb5\x2f\xfd",
        "a Zstandard archive; unpack it first",
    ),
    (TAR_MAGIC, b"ustar", "a tar archive; unpack it first"),
];

/// The name of the format for people, if it is a known format that is not text.
pub(super) fn name(bytes: &[u8]) -> Option<&'static str> {
    of(MAGIC, bytes)
        .or_else(|| unsupported(bytes))
        .or_else(|| sniff::by_bytes(bytes).map(|(format, _)| format.spec().title))
}

/// The name of a format that a book may have, and that is not read.
pub(super) fn unsupported(bytes: &[u8]) -> Option<&'static str> {
    of(UNSUPPORTED, bytes)
}

fn of(table: Magic, bytes: &[u8]) -> Option<&'static str> {
    let found = table.iter().find(|(offset, magic, _)| {
        bytes
            .get(*offset..)
            .is_some_and(|rest| rest.starts_with(magic))
    });
    found.map(|(_, _, what)| *what)
}

/// Whether it is a picture, such as a cover stored beside a book.
pub(super) fn is_picture(bytes: &[u8]) -> bool {
    name(bytes).is_some_and(|what| what.ends_with(" image"))
}
