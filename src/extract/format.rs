//! Which format a file has, by the bytes that it begins with.

/// Where a Palm database (MOBI, AZW3) names its type, and where tar and bzip2 have marks longer than their first bytes.
const PALM_TYPE: usize = 60;
const BZIP2_MAGIC: usize = 4;
const TAR_MAGIC: usize = 257;

/// `(offset, bytes, what a file with these bytes there is)`; the first that fits counts.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"%PDF-", "a PDF document, which is not read yet"),
    (0, b"{\\rtf", "an RTF document, which is not read yet"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an OLE2 file, such as a Word .doc, which is not read yet"),
    (0, b"\xdb\xa5\x2d\x00", "a Word 2 document, which is not read"),
    (0, b"\xffWPC", "a WordPerfect document, which is not read"),
    (PALM_TYPE, b"BOOKMOBI", "a MOBI or AZW3 e-book, which is not read yet"),
    (PALM_TYPE, b"TEXtREAd", "a PalmDOC e-book, which is not read yet"),
    (0, b"TPZ0", "a Topaz e-book, which is not read"),
    (0, b"AT&TFORM", "a DjVu document, which is not read"),
    (0, b"ITSF\x03", "a CHM help file, which is not read"),
    (0, b"ITOLITLS", "a Microsoft LIT e-book, which is not read"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (0, b"Rar!\x1a\x07", "a RAR archive; unpack it first"),
    (0, b"\x1f\x8b", "a gzip archive; unpack it first"),
    (BZIP2_MAGIC, b"1AY&SY", "a bzip2 archive; unpack it first"),
    (0, b"\xfd7zXZ\x00", "an xz archive; unpack it first"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive; unpack it first"),
    (TAR_MAGIC, b"ustar", "a tar archive; unpack it first"),
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

/// The first bytes of a ZIP archive: with files in it, or empty.
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// What stands near the start of a ZIP archive of each e-book format that is one. EPUB, ODT and SXW store their media
/// type first, as plain text; Office Open XML begins with one of few file names.
const IN_ZIP: &[(&[u8], &str)] = &[
    (b"mimetypeapplication/epub+zip", "an EPUB e-book, which is not read yet"),
    (b"mimetypeapplication/vnd.oasis.opendocument", "an OpenDocument file (.odt), which is not read yet"),
    (b"mimetypeapplication/vnd.sun.xml", "a StarOffice document (.sxw), which is not read yet"),
    (b"[Content_Types].xml", "an Office Open XML document (.docx), which is not read yet"),
    (b"word/", "an Office Open XML document (.docx), which is not read yet"),
    (b".fb2", "a ZIP archive with an FB2 e-book, which is not read yet; unpack it first"),
];

/// How much of a ZIP archive is searched for [`IN_ZIP`].
const ZIP_START: usize = 2048;

/// What the file is, for people, if it is a known format that is not text.
pub(super) fn name(bytes: &[u8]) -> Option<&'static str> {
    if ZIP.iter().any(|magic| bytes.starts_with(magic)) {
        return Some(name_in_zip(&bytes[..bytes.len().min(ZIP_START)]));
    }
    let found =
        MAGIC.iter().find(|(offset, magic, _)| bytes.get(*offset..).is_some_and(|rest| rest.starts_with(magic)));
    found.map(|(_, _, what)| *what)
}

fn name_in_zip(start: &[u8]) -> &'static str {
    let found = IN_ZIP.iter().find(|(mark, _)| memchr::memmem::find(start, mark).is_some());
    found.map_or("a ZIP archive (e-book formats are not read yet)", |(_, what)| what)
}
