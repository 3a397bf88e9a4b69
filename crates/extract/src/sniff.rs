//! Decides from a file's content how to read it.

use super::encoding::Encoding;
use super::formats::{Format, FormatReader, FormatSign, ReadFile, ReadZip, plain};

/// How many bytes of a file are examined.
pub(super) const START: usize = 8 << 10;

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileKind {
    Zip,
    Gzip,
    /// Plain text is also what an unsupported file is taken for.
    Book(Format, ReadFile),
}

impl FileKind {
    pub(super) fn is_plain(self) -> bool {
        matches!(self, Self::Book(Format::Text, _))
    }
}

/// The kind of a file. `name` is used only where the content is ambiguous: whether markup without a root is HTML.
pub(super) fn kind(bytes: &[u8], name: Option<&str>) -> FileKind {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return FileKind::Zip;
    }
    if bytes.starts_with(b"\x1f\x8b\x08") {
        return FileKind::Gzip;
    }
    let (format, read) = by_bytes(bytes)
        .or_else(|| by_markup(bytes, name))
        .unwrap_or((Format::Text, plain::read_book));
    FileKind::Book(format, read)
}

/// The format that a file shows by bytes at a certain offset.
pub(super) fn by_bytes(bytes: &[u8]) -> Option<(Format, ReadFile)> {
    let trimmed = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .trim_ascii_start();
    with_sign(|sign| match sign {
        FormatSign::Start(start) => trimmed.starts_with(start),
        FormatSign::At(offset, mark) => bytes
            .get(*offset..)
            .is_some_and(|rest| rest.starts_with(mark)),
        FormatSign::Markup(_) => false,
    })
}

fn by_markup(bytes: &[u8], name: Option<&str>) -> Option<(Format, ReadFile)> {
    let start = &bytes[..bytes.len().min(START)];
    let text = match Encoding::of_mark(start) {
        Some((encoding, mark)) => encoding.decode_part(&start[mark..]),
        None if !start.contains(&b'<') => return None,
        None => String::from_utf8_lossy(start),
    };
    let markup = Markup::at_start_of(&text, name)?;
    with_sign(|sign| matches!(sign, FormatSign::Markup(is) if is(&markup)))
}

fn with_sign(shows: impl Fn(&FormatSign) -> bool) -> Option<(Format, ReadFile)> {
    Format::ALL
        .iter()
        .find_map(|&format| match format.spec().reader {
            FormatReader::File(signs, read) => signs.iter().any(&shows).then_some((format, read)),
            FormatReader::Zip(..) => None,
        })
}

/// How a ZIP archive with these entries is read; `None` for an archive of files.
pub(super) fn in_zip(names: &[String]) -> Option<ReadZip> {
    Format::ALL
        .iter()
        .find_map(|format| match format.spec().reader {
            FormatReader::Zip(lists, read) => lists
                .iter()
                .any(|entries| {
                    entries
                        .iter()
                        .all(|name| names.iter().any(|other| other.eq_ignore_ascii_case(name)))
                })
                .then_some(read),
            FormatReader::File(..) => None,
        })
}

/// The beginning of a page or of an XML document.
pub(super) struct Markup<'a> {
    /// The name of the root element without a prefix, unless its document type says what it is.
    pub(super) root: &'a str,
    /// Whether its document type is HTML.
    pub(super) is_html: bool,
    pub(super) is_xml: bool,
    /// The name of the file.
    pub(super) file_name: Option<&'a str>,
}

impl<'a> Markup<'a> {
    fn at_start_of(text: &'a str, file_name: Option<&'a str>) -> Option<Self> {
        let mut rest = text.trim_start();
        let is_xml = rest.starts_with("<?xml");
        while let Some(end) = end_of_prolog(rest) {
            if is_html_type(rest) {
                return Some(Self {
                    root: "",
                    is_html: true,
                    is_xml,
                    file_name,
                });
            }
            let at = rest.find(end)?;
            rest = rest[at + end.len()..].trim_start();
        }
        let root = rest
            .strip_prefix('<')?
            .split(|char: char| char.is_whitespace() || matches!(char, '>' | '/'))
            .next()?;
        Some(Self {
            root: root.rsplit(':').next()?,
            is_html: false,
            is_xml,
            file_name,
        })
    }
}

/// What ends the instruction, comment or definition that begins here, if one does.
fn end_of_prolog(rest: &str) -> Option<&'static str> {
    if rest.starts_with("<?") {
        return Some("?>");
    }
    if rest.starts_with("<!--") {
        return Some("-->");
    }
    if !rest.starts_with("<!") {
        return None;
    }
    // Definitions internal to the document are in brackets.
    match (rest.find('['), rest.find('>')) {
        (Some(open), Some(close)) if open < close => Some("]>"),
        _ => Some(">"),
    }
}

/// Whether this is the document type of HTML.
fn is_html_type(rest: &str) -> bool {
    let mut words = rest
        .strip_prefix("<!")
        .unwrap_or_default()
        .split_ascii_whitespace();
    let (Some(keyword), Some(root)) = (words.next(), words.next()) else {
        return false;
    };
    keyword.eq_ignore_ascii_case("doctype")
        && root.trim_end_matches('>').eq_ignore_ascii_case("html")
}
