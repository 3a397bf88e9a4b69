//! Decides from a file's content how to read it.

use super::encoding::Encoding;

/// How many bytes of a file are examined.
pub(super) const START: usize = 8 << 10;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Zip,
    Gzip,
    Rtf,
    Pdf,
    Ole,
    Palm,
    Html,
    Fb2,
    Tei,
    /// Plain text, or an unsupported file.
    Plain,
}

/// The kind of a file. `name` is used only where the content is ambiguous: whether markup without a root is HTML.
pub(super) fn kind(bytes: &[u8], name: Option<&str>) -> FileKind {
    let trimmed = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .trim_ascii_start();
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        FileKind::Zip
    } else if bytes.starts_with(b"\x1f\x8b\x08") {
        FileKind::Gzip
    } else if trimmed.starts_with(b"{\\rtf") {
        FileKind::Rtf
    } else if trimmed.starts_with(b"%PDF-") {
        FileKind::Pdf
    } else if bytes.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        FileKind::Ole
    } else if bytes.get(60..68) == Some(b"BOOKMOBI") {
        FileKind::Palm
    } else {
        markup(&bytes[..bytes.len().min(START)], name)
    }
}

fn markup(start: &[u8], name: Option<&str>) -> FileKind {
    let text = match Encoding::of_mark(start) {
        Some((encoding, mark)) => encoding.decode_part(&start[mark..]).into_owned(),
        None if !start.contains(&b'<') => return FileKind::Plain,
        None => String::from_utf8_lossy(start).into_owned(),
    };
    let mut rest = text.trim_start();
    let is_xml = rest.starts_with("<?xml");
    loop {
        let end = if rest.starts_with("<?") {
            "?>"
        } else if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<!") {
            let doctype = rest
                .get(2..)
                .unwrap_or_default()
                .split_ascii_whitespace()
                .take(2)
                .collect::<Vec<_>>();
            if let [keyword, root] = doctype[..]
                && keyword.eq_ignore_ascii_case("doctype")
                && root.trim_end_matches('>').eq_ignore_ascii_case("html")
            {
                return FileKind::Html;
            }
            // Definitions internal to the document are in brackets.
            let subset = rest
                .find('[')
                .is_some_and(|open| rest.find('>').is_some_and(|close| open < close));
            if subset { "]>" } else { ">" }
        } else {
            break;
        };
        let Some(at) = rest.find(end) else {
            return FileKind::Plain;
        };
        rest = rest[at + end.len()..].trim_start();
    }
    let Some(root) = rest.strip_prefix('<') else {
        return FileKind::Plain;
    };
    let root = root
        .split(|char: char| char.is_whitespace() || matches!(char, '>' | '/'))
        .next()
        .unwrap_or_default();
    match root.rsplit(':').next().unwrap_or_default() {
        "FictionBook" => FileKind::Fb2,
        "TEI" | "TEI.2" | "teiCorpus" => FileKind::Tei,
        root if ["html", "head", "body"]
            .iter()
            .any(|name| root.eq_ignore_ascii_case(name)) =>
        {
            FileKind::Html
        }
        _ if !is_xml && name.is_some_and(is_name_of_html) => FileKind::Html,
        _ => FileKind::Plain,
    }
}

fn is_name_of_html(name: &str) -> bool {
    let ending = name
        .rsplit_once('.')
        .map_or("", |(_, ending)| ending)
        .to_ascii_lowercase();
    matches!(ending.as_str(), "html" | "htm" | "xhtml")
}

/// A book format that is a ZIP archive itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    Epub,
    Fb3,
    /// Office Open XML, which includes other documents than texts.
    Office,
    OpenDocument,
}

/// What a ZIP archive with these entries is; `None` for an archive of files.
pub(super) fn in_zip(names: &[String]) -> Option<Packed> {
    let has = |name: &str| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    if has("META-INF/container.xml") {
        Some(Packed::Epub)
    } else if has(super::fb3::BODY) {
        Some(Packed::Fb3)
    } else if has("[Content_Types].xml") && has(super::docx::RELATIONS) {
        Some(Packed::Office)
    } else if has("META-INF/manifest.xml") && (has("content.xml") || has("mimetype")) {
        Some(Packed::OpenDocument)
    } else {
        None
    }
}
