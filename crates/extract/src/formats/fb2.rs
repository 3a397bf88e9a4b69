//! FictionBook 2: all bodies, including notes, but neither the description nor the pictures. Also the body of an FB3
//! container, whose elements are much the same.

use quick_xml::events::BytesStart;

use super::{BookFile, FormatReader, FormatSign, FormatSpec};
use crate::limits::Budget;
use crate::prose::{Prose, phrase};
use crate::xml::{self, Visitor, attribute};
use crate::{ExtractError, Extracted, Format};
use lapidary_common::description::{Description, PartialDate};

/// Elements that begin and end a line, but not a paragraph.
const LINES: &[&str] = &["v", "br", "td", "th"];
/// Inline elements.
const INLINE: &[&str] = &[
    "a",
    "strong",
    "emphasis",
    "em",
    "style",
    "strikethrough",
    "sub",
    "sup",
    "code",
    "span",
    "underline",
    "spacing",
    "note",
];

#[derive(Default)]
struct Fb2Reader {
    prose: Prose,
    metadata: Description,
    /// The elements from the root on.
    path: Vec<String>,
    name: Vec<String>,
    captured: String,
    /// The date being read, as its attribute says.
    date: Option<PartialDate>,
}

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "fb2",
    title: "an FB2 e-book",
    extensions: &["fb2"],
    media_types: &[
        "application/x-fictionbook",
        "application/fb2",
        "text/fb2",
        "application/x-zip-compressed-fb2",
    ],
    loss: 1,
    reader: FormatReader::File(
        &[FormatSign::Markup(|markup| markup.root == "FictionBook")],
        read,
    ),
};

/// Reads an FB2 file.
pub(super) fn read(file: BookFile<'_>, budget: &mut Budget) -> Result<Extracted, ExtractError> {
    let BookFile {
        bytes, encoding, ..
    } = file;
    let mut reader = Fb2Reader::default();
    xml::walk(&xml::decode(&bytes, encoding), budget, &mut reader)?;
    Ok(Extracted {
        metadata: reader.metadata,
        ..reader.prose.finish(Format::Fb2)
    })
}

/// The content of an FB3 file with this body, without metadata.
pub(super) fn body(bytes: &[u8], budget: &Budget) -> Result<Extracted, ExtractError> {
    let mut reader = Fb2Reader::default();
    xml::walk_bytes(bytes, budget, &mut reader)?;
    Ok(reader.prose.finish(Format::Fb3))
}

impl Fb2Reader {
    /// Whether this is in the description, in a picture or in a style sheet.
    fn is_outside(&self) -> bool {
        !self
            .path
            .iter()
            .any(|element| matches!(element.as_str(), "body" | "fb3-body" | "notes-body"))
    }

    /// Handles the start or end of an element.
    fn border(&mut self, name: &str) {
        if LINES.contains(&name) {
            self.prose.line();
        } else if !INLINE.contains(&name) {
            self.prose.paragraph();
        }
    }

    fn is_in(&self, parent: &str) -> bool {
        self.path.iter().any(|element| element == parent)
    }

    fn meta(&mut self, element: &str) {
        let captured = std::mem::take(&mut self.captured);
        let Some(value) = phrase(&captured) else {
            if element == "author" && self.is_in("title-info") && !self.name.is_empty() {
                self.metadata
                    .authors
                    .push(std::mem::take(&mut self.name).join(" "));
            }
            return;
        };
        match element {
            "book-title" if self.is_in("title-info") => self.metadata.title = Some(value),
            "lang" if self.is_in("title-info") => self.metadata.language = Some(value),
            "isbn" => self.metadata.identifiers.push(value),
            // When it was written goes before when this edition was printed; the date of the file says neither.
            "date" if self.is_in("title-info") => {
                self.metadata.published = self.date.take().or_else(|| PartialDate::of_file(&value));
            }
            "year" if self.metadata.published.is_none() => {
                self.metadata.published = PartialDate::of_file(&value);
            }
            "first-name" | "middle-name" | "last-name"
                if self.is_in("title-info") && self.is_in("author") =>
            {
                self.name.push(value);
            }
            _ => {}
        }
    }
}

impl Visitor for Fb2Reader {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.path.push(name.to_owned());
        self.captured.clear();
        if self.is_outside() {
            if name == "date" {
                self.date = attribute(tag, "value").and_then(|value| PartialDate::of_file(&value));
            }
            return;
        }
        // The number of a note follows a word, and is not part of it.
        if name == "a" && attribute(tag, "type").as_deref() == Some("note") {
            self.prose.blank();
        } else {
            self.border(name);
            if name == "title" {
                self.prose.begin_heading();
            }
        }
    }

    fn end(&mut self, name: &str) {
        if self.is_outside() {
            self.meta(name);
        } else {
            if name == "title" {
                self.prose.end_heading();
            }
            self.border(name);
        }
        // An unclosed element is closed together with its parent.
        if let Some(place) = self.path.iter().rposition(|element| element == name) {
            self.path.truncate(place);
        }
    }

    fn text(&mut self, text: &str) {
        if !self.is_outside() {
            self.prose.text(text);
        } else if self.is_in("description") {
            self.captured.push_str(text);
        }
    }
}
