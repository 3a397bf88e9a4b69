//! Plain text. Unknown markup is read as plain text.

use super::encoding::Encoding;
use super::{Bytes, ExtractError, Text, detect, format, noise};

/// Reads a plain text; see [`super::text`].
pub(super) fn text(bytes: Bytes, given: Option<Encoding>) -> Result<Text, ExtractError> {
    match format::name(&bytes) {
        Some(what) => Err(ExtractError::NotText { what: what.to_owned() }),
        None => read(bytes, given),
    }
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
    let refuse =
        |what| ExtractError::NotText { what: if given { format!("read as {encoding}, {what}") } else { what } };

    // A sample is enough to refuse noise before much is spent on it.
    let sample = detect::sample(&bytes[start..], encoding);
    if let Some(complaint) = noise::complaint(&encoding.decode_part(&sample), encoding) {
        return Err(refuse(complaint));
    }
    let text = match bytes.into_text() {
        Ok(mut text) if encoding == Encoding::UTF_8 => {
            text.drain(..start);
            text
        }
        bytes => {
            let mut bytes = bytes.map_or_else(|bytes| bytes, String::into_bytes);
            bytes.drain(..start);
            if given {
                let undecodable = |offset| ExtractError::Undecodable { encoding, offset: start + offset };
                encoding.decode(bytes).map_err(undecodable)?
            } else {
                encoding.decode_lossy(bytes)
            }
        }
    };
    match noise::controls(&text, encoding) {
        Some(complaint) => Err(refuse(complaint)),
        None => Ok(Text { text, encoding }),
    }
}
