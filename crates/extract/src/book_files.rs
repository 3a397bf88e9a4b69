//! Which files are books, by what they are called: their names, and the media types that others give them.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::formats::Format;
use super::magic;

/// Archives, which may have books of all formats.
const ARCHIVES: [&str; 2] = ["zip", "gz"];

/// How the media types begin of what is surely no text: sounds, pictures, comics, and licences to get a book elsewhere.
const NO_TEXTS: [&str; 14] = [
    "audio/",
    "video/",
    "image/",
    "font/",
    "model/",
    "application/vnd.readium.lcp",
    "application/vnd.adobe.adept",
    "application/audiobook",
    "application/divina",
    "application/vnd.comicbook",
    "application/x-cb",
    "application/djvu",
    "application/x-djvu",
    "application/x-ms-reader",
];

/// How the names end of what is surely no text.
pub const OTHER_ENDINGS: [&str; 17] = [
    "css", "js", "json", "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "woff", "woff2", "mp3",
    "mp4", "ogg", "avi", "djvu",
];

/// How good a file is for the text of a book that is offered in several formats: the lower the better. `None` if it surely cannot be
/// read. Where neither the media type nor the address says what it is, its content will.
#[must_use]
pub fn rank(media_type: Option<&str>, address: &str) -> Option<usize> {
    let media_type = media_type.unwrap_or_default().trim().to_ascii_lowercase();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|begin| media_type.starts_with(begin));
    if begins(&NO_TEXTS) {
        return None;
    }
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let ending = ending(Path::new(path)).unwrap_or_default();
    let by_type = Format::ALL
        .iter()
        .position(|format| begins(format.spec().media_types));
    by_type.or_else(|| by_extension(&ending)).or_else(|| {
        // Its content will say.
        (!OTHER_ENDINGS.contains(&ending.as_str())).then_some(Format::ALL.len())
    })
}

/// The place of the format whose files are called so.
fn by_extension(ending: &str) -> Option<usize> {
    Format::ALL
        .iter()
        .position(|format| format.spec().extensions.contains(&ending))
}

/// A name's extension in lower case, if it looks like one: the `2` in `Vol. 2` does not.
#[must_use]
pub fn ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let is_one = ending.len() <= 10 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_one && ending.bytes().any(|byte| byte.is_ascii_alphabetic())).then_some(ending)
}

/// Whether a file in a folder is a book, judging by its name or its first bytes.
#[must_use]
pub fn is_book(path: &Path) -> bool {
    why_no_book(path).is_none()
}

/// Why a file in a folder is no book, judging by its name or its first bytes; `None` if it is one.
#[must_use]
pub fn why_no_book(path: &Path) -> Option<String> {
    let ending = ending(path)?;
    if ARCHIVES.contains(&ending.as_str()) || by_extension(&ending).is_some() {
        return None;
    }
    let mut start = Vec::new();
    // An unreadable file counts as a book, so that the error is reported when it is read again.
    fs::File::open(path)
        .and_then(|file| file.take(super::START as u64).read_to_end(&mut start))
        .ok()?;
    if super::is_marked(&start) {
        return None;
    }
    Some(match magic::name(&start) {
        Some(what) => format!("it is {what}"),
        None => format!("no book is called .{ending}"),
    })
}

#[cfg(test)]
mod tests {
    use super::{Format, rank};

    /// What catalogues say of the formats that calibre, COPS and others serve.
    #[test]
    fn media_types_of_books() {
        let format = |media_type: &str, address: &str| {
            let rank = rank(Some(media_type).filter(|given| !given.is_empty()), address)?;
            Some(Format::ALL.get(rank).map(|format| format.as_str()))
        };
        let table = [
            ("application/epub+zip;v=3", "epub"),
            ("text/fb2+xml", "fb2"),
            ("application/fb2+zip", "fb2"),
            ("text/rtf", "rtf"),
            ("Application/RTF", "rtf"),
            ("application/x-mobi8-ebook", "mobi"),
            ("application/x-mobipocket-ebook", "mobi"),
            ("application/vnd.amazon.mobi8-ebook", "mobi"),
            ("application/msword", "doc"),
            ("application/vnd.oasis.opendocument.text", "odt"),
            ("application/pdf", "pdf"),
            ("application/tei+xml", "tei"),
        ];
        for (media_type, expected) in table {
            assert_eq!(
                format(media_type, "http://x/get/1"),
                Some(Some(expected)),
                "{media_type}"
            );
        }
        assert_eq!(format("", "http://x/a.azw3?dl=1"), Some(Some("mobi")));
        assert_eq!(
            format("application/octet-stream", "http://x/a.fb2"),
            Some(Some("fb2"))
        );
        assert_eq!(
            format("application/octet-stream", "http://x/get/7"),
            Some(None),
            "its content will say"
        );
        for none in [
            "audio/mpeg",
            "image/vnd.djvu",
            "application/vnd.readium.lcp.license.v1.0+json",
            "application/x-cbz",
        ] {
            assert_eq!(format(none, "http://x/a.epub"), None, "{none}");
        }
    }
}
