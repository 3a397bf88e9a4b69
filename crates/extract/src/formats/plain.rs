//! Plain text. Unknown markup is read as plain text.

use super::{BookFile, FormatReader, FormatSpec};
use crate::encoding::Encoding;
use crate::hidden::HiddenWords;
use crate::limits::Budget;
use crate::{Bytes, ExtractError, Extracted, Format, Text, detect, magic, noise};
use lapidary_common::description::Description;

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "text",
    title: "a plain text",
    extensions: &["txt", "text"],
    media_types: &[
        "text/plain",
        "text/markdown",
        "text/x-markdown",
        "application/txt",
    ],
    loss: 6,
    reader: FormatReader::File(&[], read_book),
};

/// Reads a plain text as a book.
pub(crate) fn read_book(file: BookFile<'_>, _: &mut Budget) -> Result<Extracted, ExtractError> {
    let read = text(file.bytes, file.encoding)?;
    Ok(Extracted {
        format: Format::Text,
        text: read.text,
        headings: Vec::new(),
        hidden: HiddenWords::default(),
        metadata: Description::default(),
        encoding: Some(read.encoding),
    })
}

/// Reads a plain text; see [`crate::text`].
pub(crate) fn text(bytes: Bytes, given: Option<Encoding>) -> Result<Text, ExtractError> {
    if let Some(what) = magic::unsupported(&bytes) {
        let what = what.to_owned();
        return Err(ExtractError::Unsupported { what });
    }
    match magic::name(&bytes) {
        Some(what) => Err(ExtractError::NotText {
            what: what.to_owned(),
        }),
        None => read(bytes, given),
    }
}

/// Whether a long file with this start and middle is a plain text in UTF-8 if its bytes are valid in it.
pub(crate) fn is_utf8(head: &[u8], middle: &[u8]) -> bool {
    let sample = detect::lines_of(head, middle);
    magic::name(head).is_none()
        && Encoding::of_mark(head).is_none()
        && detect::other_than_utf8(head, &sample).is_none_or(|other| other == Encoding::UTF_8)
        && noise::complaint(&Encoding::UTF_8.decode_part(&sample), Encoding::UTF_8).is_none()
}

/// Reads bytes that are known to be text.
pub(super) fn read(bytes: Bytes, given: Option<Encoding>) -> Result<Text, ExtractError> {
    let mark = Encoding::of_mark(&bytes);
    let start = mark.map_or(0, |(_, length)| length);
    let (encoding, given) = match (mark, given) {
        (Some((marked, _)), Some(given)) if marked == given => (given, true),
        // The UTF-8 mark is only a strong hint: some editors also put it before other text.
        (Some((marked, _)), _) if marked != Encoding::UTF_8 => (marked, false),
        (None, Some(given)) => (given, true),
        _ => (detect::encoding(&bytes), false),
    };
    let refuse = |what| ExtractError::NotText {
        what: if given {
            format!("read as {encoding}, {what}")
        } else {
            what
        },
    };

    // A sample is enough to refuse noise before much is spent on it.
    let sample = detect::sample(&bytes[start..], encoding);
    if let Some(complaint) = noise::complaint(&encoding.decode_part(&sample), encoding) {
        return Err(refuse(complaint));
    }
    let text = decoded(bytes, start, encoding, given)?;
    match noise::controls(&text, encoding) {
        Some(complaint) => Err(refuse(complaint)),
        None => Ok(Text { text, encoding }),
    }
}

/// The text after a mark of this length. It must fit an encoding that is given.
fn decoded(
    bytes: Bytes,
    start: usize,
    encoding: Encoding,
    given: bool,
) -> Result<String, ExtractError> {
    let mut bytes = match bytes.into_text() {
        Ok(mut text) if encoding == Encoding::UTF_8 => {
            text.drain(..start);
            return Ok(text);
        }
        bytes => bytes.map_or_else(|bytes| bytes, String::into_bytes),
    };
    bytes.drain(..start);
    if !given {
        return Ok(encoding.decode_lossy(bytes));
    }
    let text = encoding.decode(bytes);
    text.map_err(|offset| ExtractError::Undecodable {
        encoding,
        offset: start + offset,
    })
}
