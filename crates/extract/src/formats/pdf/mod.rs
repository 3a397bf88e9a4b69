//! PDF: the characters of each page in drawing order, as lines, with a form feed between pages. Line ends are not
//! part of the text: hyphenated words are joined.

mod area;
mod canvas;
mod cmap;
mod colour;
mod eye;
mod fonts;
mod layers;
mod mend;
mod password;
mod picture;
mod scene;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lapidary_gems::LineBreaks;
use pdf_extract::{Dictionary, Document, Object, ObjectId, decode_text_string, output_doc_page};

use self::eye::Eye;
use self::mend::{DocumentParts, Mended, Unread};
use super::{BookFile, FormatReader, FormatSign, FormatSpec};
use crate::limits::{Budget, Limit};
use crate::prose::phrase;
use crate::{ExtractError, Extracted, Format, HiddenWords};
use lapidary_common::description::Description;

/// One page in this many may be unreadable; if more were allowed, half of a book might go unseen.
const MOST_LOST: usize = 10;

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
    let bytes = file.bytes;
    let mut document = password::open(&bytes)?;
    let (room, met) = budget.room();
    let numbers = document.get_pages();
    let (mut pages, mut lost, mut size) = (Vec::new(), Vec::new(), 0);
    let (mut shared, mut hidden) = (DocumentParts::of(&document), HiddenWords::default());
    for (&number, &id) in &numbers {
        let page = match page(&mut document, &mut shared, number, id, room) {
            Ok((page, hidden_there)) => {
                hidden.extend(&hidden_there);
                page
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
        && lost.len() * MOST_LOST > numbers.len()
    {
        return Err(damaged(&format!(
            "{} of {} pages cannot be read, the first is page {first}",
            lost.len(),
            numbers.len()
        )));
    }
    Ok(Extracted {
        format: Format::Pdf,
        text: text(&pages),
        headings: Vec::new(),
        hidden,
        metadata: about(&document),
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

/// The text of a page, and what is hidden on it. If the parser panics, as it does on much unexpected input, only that
/// page is lost.
fn page(
    document: &mut Document,
    shared: &mut DocumentParts,
    number: u32,
    id: ObjectId,
    room: u64,
) -> Result<(String, HiddenWords), Unread> {
    let page = Mended::page(document, shared, id, room)?;
    let read = |reads_pictures: bool| {
        let mut text = String::new();
        let mut eye = Eye::new(page.scene(), &mut text, reads_pictures);
        match catch_unwind(AssertUnwindSafe(|| {
            output_doc_page(page.document(), &mut eye, number)
        })) {
            Ok(read) => read.map_err(|_| Unread::Page)?,
            Err(_) => return Err(Unread::Page),
        }
        if page.scene().is_over() {
            return Err(Unread::TooLong);
        }
        let (is_scan, hidden) = (eye.saw_scan(), eye.hidden);
        Ok((text, hidden, is_scan))
    };
    let (text, hidden, is_scan) = read(false)?;
    if !is_scan {
        return Ok((text, hidden));
    }
    read(true).map(|(text, hidden, _)| (text, hidden))
}

fn damaged(why: &str) -> ExtractError {
    ExtractError::damaged(format!("the PDF document: {why}"))
}

fn about(document: &Document) -> Description {
    let info = document
        .trailer
        .get(b"Info")
        .ok()
        .and_then(|info| match info {
            Object::Reference(id) => document.get_object(*id).ok()?.as_dict().ok(),
            info => info.as_dict().ok(),
        });
    let Some(info) = info else {
        return Description::default();
    };
    Description {
        title: info_value(info, b"Title"),
        authors: info_value(info, b"Author").into_iter().collect(),
        ..Description::default()
    }
}

fn info_value(info: &Dictionary, key: &[u8]) -> Option<String> {
    phrase(&decode_text_string(info.get(key).ok()?).ok()?)
}
