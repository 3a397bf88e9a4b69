//! XML, one event at a time. Entities defined by a document are never expanded, and no external resources are read.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::{resolve_html5_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::encoding::Encoding;
use super::limits::Budget;
use super::{ExtractError, detect};

/// The maximum extent of the declaration at the start of a document.
const DECLARATION: usize = 200;

/// Receives the events of a document.
pub(super) trait Visitor {
    /// Start of an element; its name has no prefix.
    fn start(&mut self, name: &str, tag: &BytesStart<'_>);
    /// End of an element.
    fn end(&mut self, _: &str) {}
    /// Characters.
    fn text(&mut self, _: &str) {}
    /// An instruction, such as `xml-stylesheet`.
    fn instruction(&mut self, _: &str) {}
}

fn lenient_reader(document: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(document);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    reader
}

/// Like [`walk`], for a document that [`decode`] makes a string.
pub(super) fn walk_bytes(
    bytes: &[u8],
    budget: &Budget,
    visitor: &mut (impl Visitor + ?Sized),
) -> Result<(), ExtractError> {
    walk(&decode(bytes, None), budget, visitor)
}

/// Reads a document. Errors that do not hide text are ignored, as e-book readers do: unclosed elements, or an `&`
/// without an entity.
///
/// # Errors
/// If its elements are nested too deeply, or it is cut off within a tag.
pub(super) fn walk(
    document: &str,
    budget: &Budget,
    visitor: &mut (impl Visitor + ?Sized),
) -> Result<(), ExtractError> {
    let mut reader = lenient_reader(document);
    let mut depth = 0_usize;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                depth += 1;
                budget.depth(depth)?;
                visitor.start(tag.local_name().into_inner(), &tag);
            }
            Ok(Event::Empty(tag)) => {
                let name = tag.local_name();
                visitor.start(name.into_inner(), &tag);
                visitor.end(name.into_inner());
            }
            Ok(Event::End(tag)) => {
                depth = depth.saturating_sub(1);
                visitor.end(tag.local_name().into_inner());
            }
            Ok(Event::Text(text)) => visitor.text(&text.into_inner()),
            Ok(Event::CData(text)) => visitor.text(&text.into_inner()),
            Ok(Event::GeneralRef(reference)) => refer(&reference, visitor),
            Ok(Event::Eof) => return Ok(()),
            Ok(Event::PI(instruction)) => visitor.instruction(&instruction.into_inner()),
            Ok(Event::Comment(_) | Event::Decl(_) | Event::DocType(_)) => {}
            Err(_) => {
                let at = reader.error_position();
                return Err(ExtractError::damaged(format!(
                    "the XML is not well-formed at byte {at}"
                )));
            }
        }
    }
}

/// The characters that a reference such as `&amp;` stands for, if it is known.
fn refer(reference: &BytesRef<'_>, visitor: &mut (impl Visitor + ?Sized)) {
    match reference.resolve_char_ref() {
        Ok(Some(char)) => visitor.text(char.encode_utf8(&mut [0; 4])),
        Ok(None) => {
            if let Some(characters) = resolve_html5_entity(reference) {
                visitor.text(characters);
            }
        }
        Err(_) => {}
    }
}

/// The value of an attribute, by its name without a prefix.
pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag
        .attributes()
        .with_checks(false)
        .flatten()
        .find(|a| a.key.local_name().into_inner() == name)?;
    Some(unescaped(&found.value).into_owned())
}

/// The unescaped value of an attribute, or the raw value if it cannot be unescaped.
pub(super) fn unescaped(value: &str) -> Cow<'_, str> {
    unescape(value).unwrap_or(Cow::Borrowed(value))
}

/// A document as a string, decoded by its byte-order mark, its declaration, or else by detection.
pub(super) fn decode(bytes: &[u8], given: Option<Encoding>) -> String {
    let (encoding, mark) = match Encoding::of_mark(bytes) {
        Some(marked) => marked,
        None => (
            given.or_else(|| declared(bytes)).unwrap_or(Encoding::UTF_8),
            0,
        ),
    };
    let bytes = &bytes[mark..];
    let encoding = if given.is_none() && is_utf8(bytes, encoding) {
        Encoding::UTF_8
    } else {
        encoding
    };
    if encoding == Encoding::UTF_8
        && let Err(error) = simdutf8::compat::from_utf8(bytes)
        && error.error_len().is_some()
    {
        return detect::encoding(bytes).decode_part(bytes).into_owned();
    }
    encoding.decode_part(bytes).into_owned()
}

/// Whether it is UTF-8, whatever it declares. Text in a single-byte encoding is never valid UTF-8 by accident.
pub(super) fn is_utf8(bytes: &[u8], declared: Encoding) -> bool {
    declared != Encoding::UTF_8
        && !declared.is_wide()
        && !bytes.is_ascii()
        && simdutf8::basic::from_utf8(bytes).is_ok()
}

/// The declared encoding. A declaration of a wide encoding that is itself readable as bytes is wrong.
fn declared(bytes: &[u8]) -> Option<Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION)]).into_owned();
    let declaration = start.strip_prefix("<?xml")?.split("?>").next()?;
    let value = declaration
        .split("encoding")
        .nth(1)?
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let name = value.get(1..)?.split(['"', '\'']).next()?;
    name.parse::<Encoding>()
        .ok()
        .filter(|encoding| !encoding.is_wide())
}
