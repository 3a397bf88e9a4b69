//! Word 97 to 2003, and Word 6 and 95.

use std::io::Cursor;

use office_oxide::cfb::CfbReader;
use office_oxide::doc::DocDocument;
use office_oxide::options::ParseOptions;
use office_oxide::{Document, DocumentFormat};

use super::{BookFile, FormatReader, FormatSign, FormatSpec};
use crate::encoding::code_page;
use crate::hidden::{HiddenCount, HiddenWords, Hiding};
use crate::limits::{Budget, Limit};
use crate::prose::{Prose, phrase};
use crate::{ExtractError, Extracted, Format};
use lapidary_common::description::Description;

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "doc",
    title: "a Word document",
    extensions: &["doc"],
    media_types: &["application/msword", "application/doc"],
    loss: 4,
    reader: FormatReader::File(
        &[FormatSign::At(0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")],
        read,
    ),
};

/// Reads a Word document in an OLE2 container.
pub(super) fn read(file: BookFile<'_>, budget: &mut Budget) -> Result<Extracted, ExtractError> {
    let bytes = file.bytes;
    // The name of a stream, in UTF-16: encrypted documents are wrapped in such a container.
    let encrypted: Vec<u8> = "EncryptedPackage"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    if memchr::memmem::find(&bytes, &encrypted).is_some() {
        return Err(ExtractError::Encrypted {
            what: "an Office document that needs a password".to_owned(),
        });
    }
    let document = DocDocument::from_reader(Cursor::new(bytes.to_vec())).map_err(|error| {
        let why = error.to_string();
        if why.to_ascii_lowercase().contains("encrypt") {
            ExtractError::Encrypted {
                what: "a Word document that needs a password".to_owned(),
            }
        } else {
            ExtractError::damaged("the OLE2 file is not a readable Word document".to_owned())
        }
    })?;
    // Hidden and deleted text is left out, unless the file is made so that finding it takes too long.
    if document
        .warnings()
        .iter()
        .any(|warning| warning.contains("was not excluded"))
    {
        return Err(budget.limits.met(Limit::Time).into());
    }
    let mut text = Prose::default();
    let plain = document.plain_text();
    for paragraph in plain.split('\n') {
        text.text(paragraph);
        text.paragraph();
    }
    let hidden = left_out(&bytes, words(&plain));
    Ok(Extracted {
        metadata: about(&document, &bytes),
        hidden,
        ..text.finish(Format::Doc)
    })
}

fn words(text: &str) -> u64 {
    text.split_whitespace()
        .filter(|word| word.contains(char::is_alphanumeric))
        .count() as u64
}

/// The words that the parser left out of a document in which it found so many: it is asked for them, and they are counted.
fn left_out(bytes: &[u8], seen: u64) -> HiddenWords {
    let found = |hidden, deleted| {
        let mut options = ParseOptions::default();
        (options.include_hidden_text, options.include_deleted_text) = (hidden, deleted);
        let document =
            Document::from_reader_with(Cursor::new(bytes.to_vec()), DocumentFormat::Doc, &options);
        document.map_or(seen, |document| words(&document.plain_text()))
    };
    let all = found(true, true);
    if all <= seen {
        return HiddenWords::default();
    }
    let marked = found(true, false).clamp(seen, all);
    HiddenWords::from(vec![
        HiddenCount {
            method: Hiding::HiddenAttribute,
            words: marked - seen,
        },
        HiddenCount {
            method: Hiding::Deleted,
            words: all - marked,
        },
    ])
}

fn about(document: &DocDocument, bytes: &[u8]) -> Description {
    let Some(summary) = document.summary_properties() else {
        return Description::default();
    };
    // The parser handles these itself.
    let encoding = summary_code_page(bytes)
        .filter(|page| is_unknown_page(*page))
        .and_then(code_page);
    let value = |value: &Option<String>| {
        let value = value.as_deref()?;
        phrase(
            &encoding
                .and_then(|encoding| decoded(value, encoding))
                .unwrap_or_else(|| value.to_owned()),
        )
    };
    Description {
        title: value(&summary.title),
        authors: value(&summary.author).into_iter().collect(),
        ..Description::default()
    }
}

fn is_unknown_page(page: u16) -> bool {
    !matches!(page, 866 | 874 | 1200 | 1250..=1258 | 10000)
}

/// A value whose bytes the parser interpreted as characters, because it does not know the code page.
fn decoded(value: &str, encoding: &'static encoding_rs::Encoding) -> Option<String> {
    let bytes: Vec<u8> = value
        .chars()
        .map(u8::try_from)
        .collect::<Result<_, _>>()
        .ok()?;
    let decoded = encoding.decode_without_bom_handling_and_without_replacement(&bytes)?;
    Some(decoded.into_owned())
}

/// The code page of the file's metadata: the property 1 of its first set (\[MS-OLEPS\] 2.21, 2.20).
fn summary_code_page(bytes: &[u8]) -> Option<u16> {
    /// The position of the offset of the first property set, and the number of that property.
    const FIRST_SET: usize = 44;
    const CODE_PAGE: u32 = 1;
    let summary = CfbReader::new(Cursor::new(bytes))
        .and_then(|mut file| file.open_stream("\u{5}SummaryInformation"))
        .ok()?;
    let number = |at: usize| Some(u32::from_le_bytes(*summary.get(at..)?.first_chunk()?));
    let set = number(FIRST_SET)? as usize;
    let properties = (0..number(set + 4)? as usize).map_while(|i| {
        let property = set + 8 + 8 * i;
        Some((number(property)?, number(property + 4)? as usize))
    });
    let (_, value) = properties.into_iter().find(|(id, _)| *id == CODE_PAGE)?;
    Some(number(set + value + 4)? as u16)
}
