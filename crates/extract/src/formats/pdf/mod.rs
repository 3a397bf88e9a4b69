//! PDF: the characters of each page in drawing order, as lines, with a form feed between pages. Line ends are not
//! part of the text: hyphenated words are joined.

mod area;
mod canvas;
mod cmap;
mod colour;
mod eye;
mod fonts;
mod layers;
mod letters;
mod lines;
mod page;
mod picture;
mod scene;

use std::panic::{AssertUnwindSafe, catch_unwind};

use encoding_rs::Encoding;
use hayro_syntax::metadata::Metadata;
use hayro_syntax::page::Page;
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use lapidary_gems::LineBreaks;
use memchr::memmem;

use self::eye::{Eye, SeenText};
use self::fonts::char_of_byte;
use self::page::{DocumentParts, PageReader, Unread};
use super::{BookFile, FormatReader, FormatSign, FormatSpec};
use crate::limits::{Budget, Limit};
use crate::prose::phrase;
use crate::{ExtractError, Extracted, Format, HiddenWords};
use lapidary_common::description::Description;

/// One page in this many may be unreadable; if more were allowed, half of a book might go unseen.
const MOST_LOST: usize = 10;

/// A file that is whole says in so many bytes at its end where its table of objects is.
const END: usize = 1024;

/// The last line of a paragraph is shorter than the longest line by more than one part in this many.
const SHORTER: usize = 4;

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "pdf",
    title: "a PDF document",
    extensions: &["pdf"],
    media_types: &["application/pdf", "application/x-pdf"],
    loss: 5,
    reader: FormatReader::File(&[FormatSign::Start(b"%PDF-")], read),
};

/// Reads a PDF file.
pub(super) fn read(file: BookFile<'_>, budget: &mut Budget) -> Result<Extracted, ExtractError> {
    let document = open(file.bytes.into_vec())?;
    let (room, met) = budget.room();
    let leaves = document.pages();
    let (mut pages, mut lost, mut size) = (Vec::new(), Vec::new(), 0);
    let (mut parts, mut hidden) = (DocumentParts::of(document.xref()), HiddenWords::default());
    for (number, page) in (1..).zip(leaves.iter()) {
        let page = match read_page(&mut parts, page, room) {
            Ok(seen) => {
                hidden.extend(&seen.hidden);
                seen.text
            }
            Err(Unread::TooMuch) => return Err(met.into()),
            Err(Unread::TooLong) => {
                return Err(budget.limits.met(Limit::Time).into());
            }
            Err(Unread::Page) => {
                lost.push(number);
                String::new()
            }
        };
        size += page.len() as u64;
        if size > room {
            return Err(met.into());
        }
        pages.push(page);
    }
    if let Some(first) = lost.first()
        && lost.len() * MOST_LOST > leaves.len()
    {
        return Err(damaged(&format!(
            "{} of {} pages cannot be read, the first is page {first}",
            lost.len(),
            leaves.len()
        )));
    }
    Ok(Extracted {
        format: Format::Pdf,
        text: text(&pages),
        headings: Vec::new(),
        hidden,
        metadata: about(document.metadata()),
        encoding: None,
    })
}

/// The pages as a text. PDFs draw blanks at line ends, and several between words in justified lines; step 7 of the
/// exact recipes would see them.
fn text(pages: &[String]) -> String {
    let by = LineBreaks::of(pages.iter().flat_map(|page| page.lines()));
    let mut text = String::new();
    for page in pages {
        let lines: Vec<String> = page
            .trim_matches('\n')
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for (place, line) in lines.iter().enumerate() {
            by.add(&mut text, line, place > 0);
        }
        // A paragraph that ends with its page ends in a shorter line.
        let lengths = || lines.iter().map(|line| line.chars().count());
        if lengths().next_back() < lengths().max().map(|longest| longest - longest / SHORTER) {
            text.push('\n');
        }
        text.push('\x0C');
    }
    text.truncate(text.trim_end_matches(['\n', '\x0C']).len());
    text
}

/// Opens a document. Many that anybody can open are encrypted with the empty password.
fn open(bytes: Vec<u8>) -> Result<Pdf, ExtractError> {
    let end = &bytes[bytes.len().saturating_sub(END)..];
    // The parser would repair a file that is cut off, and say nothing of the pages that are missing.
    if memmem::find(end, b"startxref").is_none() {
        return Err(incomplete());
    }
    Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => ExtractError::Encrypted {
            what: "a PDF document that needs a password".to_owned(),
        },
        LoadPdfError::Decryption(_) => damaged("its encryption is invalid or not supported"),
        LoadPdfError::Invalid => incomplete(),
    })
}

/// The text of a page, and what is hidden on it. No file is known on which the parser panics; if one does, only that page is
/// lost.
fn read_page<'a>(
    parts: &mut DocumentParts<'a>,
    page: &Page<'a>,
    room: u64,
) -> Result<SeenText, Unread> {
    let read = AssertUnwindSafe(|| {
        let scene = PageReader::read(parts, page, room)?;
        let mut seen = Eye::read(&scene, false);
        if seen.is_scan {
            seen = Eye::read(&scene, true);
        }
        if scene.is_over() {
            return Err(Unread::TooLong);
        }
        Ok(seen)
    });
    catch_unwind(read).unwrap_or(Err(Unread::Page))
}

fn incomplete() -> ExtractError {
    damaged("it is incomplete or invalid")
}

fn damaged(why: &str) -> ExtractError {
    ExtractError::damaged(format!("the PDF document: {why}"))
}

/// A string about the document: Unicode with a mark, or in the encoding of PDF.
fn text_string(bytes: &[u8]) -> String {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0.into_owned();
    }
    bytes
        .iter()
        .filter_map(|&byte| char_of_byte(byte))
        .collect()
}

fn about(document: &Metadata) -> Description {
    let value = |value: &Option<Box<[u8]>>| phrase(&text_string(value.as_deref()?));
    Description {
        title: value(&document.title),
        authors: value(&document.author).into_iter().collect(),
        ..Description::default()
    }
}
