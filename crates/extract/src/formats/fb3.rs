//! FB3: FictionBook 3, an archive with separate description and body.

use quick_xml::events::BytesStart;

use super::{FormatReader, FormatSpec, fb2};
use crate::archive::Archive;
use crate::limits::Budget;
use crate::prose::phrase;
use crate::xml::{self, Visitor};
use crate::{ExtractError, Extracted};
use lapidary_common::description::Description;

const DESCRIPTION: &str = "fb3/description.xml";
/// The name of the body in every FB3 archive; its folder differs.
pub(super) const BODY: &str = "fb3/body.xml";

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "fb3",
    title: "an FB3 e-book",
    extensions: &["fb3"],
    media_types: &["application/fb3", "application/x-fb3"],
    loss: 0,
    reader: FormatReader::Zip(&[&[BODY]], read),
};

/// Reads an FB3 file.
pub(super) fn read(
    archive: &mut Archive<'_>,
    budget: &mut Budget,
) -> Result<Extracted, ExtractError> {
    let body = archive.need(BODY, budget)?;
    let read = fb2::body(&body, budget)?;
    let mut part = DescriptionPart::default();
    if let Some(bytes) = archive.read(DESCRIPTION, budget)? {
        xml::walk_bytes(&bytes, budget, &mut part)?;
    }
    Ok(Extracted {
        metadata: part.metadata,
        ..read
    })
}

#[derive(Default)]
struct DescriptionPart {
    metadata: Description,
    path: Vec<String>,
    /// Whether the current person is an author, and the parts of the name.
    author: Option<Vec<String>>,
    captured: String,
}

impl Visitor for DescriptionPart {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.captured.clear();
        if name == "subject" && xml::attribute(tag, "link").as_deref() == Some("author") {
            self.author = Some(Vec::new());
        }
        self.path.push(name.to_owned());
    }

    fn end(&mut self, name: &str) {
        let value = phrase(&std::mem::take(&mut self.captured));
        match (name, value, &mut self.author) {
            ("first-name" | "middle-name" | "last-name", Some(value), Some(author)) => {
                author.push(value);
            }
            ("subject", _, author) => {
                self.metadata.authors.extend(
                    author
                        .take()
                        .filter(|name| !name.is_empty())
                        .map(|name| name.join(" ")),
                );
            }
            // Persons and series have titles too.
            ("main", Some(value), None) if self.path.len() == 3 => {
                self.metadata.title = Some(value);
            }
            ("lang", Some(value), None) => self.metadata.language = Some(value),
            ("isbn", Some(value), None) => self.metadata.identifiers.push(value),
            _ => {}
        }
        if let Some(place) = self.path.iter().rposition(|element| element == name) {
            self.path.truncate(place);
        }
    }

    fn text(&mut self, text: &str) {
        self.captured.push_str(text);
    }
}
