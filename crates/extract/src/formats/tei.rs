//! TEI: the content of `text`, without the header.

use quick_xml::events::BytesStart;

use super::{BookFile, FormatReader, FormatSign, FormatSpec};
use crate::hidden::Hiding;
use crate::limits::Budget;
use crate::prose::{Prose, phrase};
use crate::xml::{self, Visitor, attribute};
use crate::{ExtractError, Extracted, Format};
use lapidary_common::description::Description;

/// Elements that begin and end a line.
const LINES: &[&str] = &["l", "lb", "cell", "label"];
/// Elements that begin and end a paragraph.
const BLOCKS: &[&str] = &[
    "p",
    "ab",
    "lg",
    "head",
    "div",
    "front",
    "body",
    "back",
    "q",
    "sp",
    "stage",
    "speaker",
    "item",
    "list",
    "row",
    "note",
    "titlePart",
    "docTitle",
    "byline",
    "docAuthor",
    "docImprint",
    "trailer",
    "closer",
    "opener",
    "signed",
    "salute",
    "dateline",
    "epigraph",
    "quote",
    "argument",
    "table",
    "figure",
    "titlePage",
    "milestone",
];
/// Of two alternative readings, these are the ones that readers do not see. Outside of a `choice` they see them.
const ALTERNATIVES: &[&str] = &["sic", "orig", "abbr"];
/// Deleted text, and running heads.
const SKIPPED: &[&str] = &[DELETED, "fw"];
const DELETED: &str = "del";

/// The names of the root element.
const ROOTS: &[&str] = &["TEI", "TEI.2", "teiCorpus"];

#[derive(Default)]
struct TeiReader {
    prose: Prose,
    metadata: Description,
    path: Vec<String>,
    /// The nesting depth within a skipped element.
    skipped: usize,
    captured: String,
}

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "tei",
    title: "a TEI document",
    extensions: &["tei"],
    media_types: &["application/tei"],
    loss: 1,
    reader: FormatReader::File(
        &[FormatSign::Markup(|markup| ROOTS.contains(&markup.root))],
        read,
    ),
};

/// Reads a TEI file.
pub(super) fn read(file: BookFile<'_>, budget: &mut Budget) -> Result<Extracted, ExtractError> {
    let BookFile {
        bytes, encoding, ..
    } = file;
    let mut reader = TeiReader::default();
    xml::walk(&xml::decode(&bytes, encoding), budget, &mut reader)?;
    Ok(Extracted {
        metadata: reader.metadata,
        ..reader.prose.finish(Format::Tei)
    })
}

impl TeiReader {
    /// Handles the start or end of an element.
    fn border(&mut self, name: &str) {
        if LINES.contains(&name) {
            self.prose.line();
        } else if BLOCKS.contains(&name) {
            self.prose.paragraph();
        }
    }

    fn is_in(&self, element: &str) -> bool {
        self.path.iter().any(|other| other == element)
    }

    fn meta(&mut self, element: &str) {
        let Some(value) = phrase(&std::mem::take(&mut self.captured)) else {
            return;
        };
        match element {
            "title" if self.is_in("titleStmt") && self.metadata.title.is_none() => {
                self.metadata.title = Some(value);
            }
            "author" if self.is_in("titleStmt") => self.metadata.authors.push(value),
            "idno" if value.to_ascii_lowercase().contains("isbn") => {
                self.metadata.identifiers.push(value);
            }
            _ => {}
        }
    }
}

impl Visitor for TeiReader {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        if self.metadata.language.is_none() && (self.path.is_empty() || name == "text") {
            self.metadata.language = attribute(tag, "lang");
        }
        let is_choice = self.path.last().is_some_and(|parent| parent == "choice");
        let is_skipped = SKIPPED.contains(&name) || is_choice && ALTERNATIVES.contains(&name);
        self.skipped += usize::from(self.skipped > 0 || is_skipped);
        self.path.push(name.to_owned());
        if self.is_in("teiHeader") {
            if matches!(name, "title" | "author" | "idno") {
                self.captured.clear();
            }
        } else {
            self.border(name);
            if name == "head" {
                self.prose.begin_heading();
            }
        }
    }

    fn end(&mut self, name: &str) {
        if self.is_in("teiHeader") {
            self.meta(name);
        } else {
            if name == "head" {
                self.prose.end_heading();
            }
            self.border(name);
        }
        if let Some(place) = self.path.iter().rposition(|element| element == name) {
            self.skipped = self.skipped.saturating_sub(self.path.len() - place);
            self.path.truncate(place);
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_in("teiHeader") {
            self.captured.push_str(text);
        } else if self.is_in("text") {
            if self.skipped == 0 {
                self.prose.text(text);
            } else if self.is_in(DELETED) {
                self.prose.hide(Hiding::Deleted, text);
            }
        }
    }
}
