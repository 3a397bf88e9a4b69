//! DOCX: Office Open XML (ECMA-376). Footnotes and endnotes follow the text.

use quick_xml::events::BytesStart;

use super::docx_format::{Behind, DocxFormat, Settings, Styles};
use super::office::{Body, Elements, about};
use super::{FormatReader, FormatSpec};
use crate::archive::Archive;
use crate::limits::Budget;
use crate::xml::{self, Visitor, attribute};
use crate::{ExtractError, Extracted, Format};

/// The file that says which part is the document.
pub(super) const RELATIONS: &str = "_rels/.rels";

const ELEMENTS: Elements = Elements {
    runs: &["t", "delText"],
    paragraphs: &["p", "tr"],
    lines: &["br", "cr"],
    blanks: &["tab", "ptab"],
    // `Fallback` repeats newer drawings for older programs; `moveFrom` holds moved text if changes are tracked.
    skipped: &["Fallback", "moveFrom"],
    notes: &[],
    headings: &[],
};

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "docx",
    title: "an Office Open XML document",
    extensions: &["docx"],
    media_types: &[
        "application/vnd.openxmlformats-officedocument.wordprocessingml",
        "application/docx",
    ],
    loss: 2,
    reader: FormatReader::Zip(&[&["[Content_Types].xml", RELATIONS]], read),
};

/// Reads a DOCX file.
pub(super) fn read(
    archive: &mut Archive<'_>,
    budget: &mut Budget,
) -> Result<Extracted, ExtractError> {
    let main = related(archive, RELATIONS, "/officeDocument", budget)?;
    let main = main
        .first()
        .ok_or_else(|| ExtractError::damaged(format!("{RELATIONS} names no document")))?;
    let (folder, file) = main.rsplit_once('/').unwrap_or(("", main));
    if let Some((_, what)) = [("xl", "an Excel"), ("ppt", "a PowerPoint")]
        .iter()
        .find(|(other, _)| *other == folder)
    {
        return Err(ExtractError::NotText {
            what: format!("{what} file, which is not supported"),
        });
    }
    let mut notes = Vec::new();
    let relations = format!("{folder}/_rels/{file}.rels");
    for kind in ["/footnotes", "/endnotes"] {
        let related = related(archive, relations.trim_start_matches('/'), kind, budget)?;
        notes.extend(related.into_iter().map(|part| {
            format!("{folder}/{part}")
                .trim_start_matches('/')
                .to_owned()
        }));
    }
    // Relations can also point to external files: those are never fetched.
    let mut visit = |kind, visitor: &mut dyn Visitor| {
        for part in related(archive, relations.trim_start_matches('/'), kind, budget)? {
            if let Some(bytes) =
                archive.read(format!("{folder}/{part}").trim_start_matches('/'), budget)?
            {
                xml::walk(&xml::decode(&bytes, None), budget, visitor)?;
            }
        }
        Ok::<_, ExtractError>(())
    };
    let (mut styles, mut settings) = (Styles::default(), Settings::default());
    visit("/theme", &mut styles.theme)?;
    visit("/settings", &mut settings)?;
    visit("/styles", &mut styles)?;
    styles.finish();
    styles.shows_page = settings.shows_page;
    let text = archive
        .read(main, budget)?
        .ok_or_else(|| ExtractError::damaged(format!("it has no {main:?}")))?;
    let mut behind = Behind::default();
    if ["behindDoc", "z-index"]
        .iter()
        .any(|mark| memchr::memmem::find(&text, mark.as_bytes()).is_some())
    {
        xml::walk(&xml::decode(&text, None), budget, &mut behind)?;
    }
    let mut body = Body::new(ELEMENTS, DocxFormat::new(styles, !behind.found));
    body.read(&text, budget)?;
    for part in notes {
        if let Some(bytes) = archive.read(&part, budget)? {
            body.read(&bytes, budget)?;
        }
    }
    let metadata = about(archive, "docProps/core.xml", budget)?;
    Ok(Extracted {
        metadata,
        ..body.finish(Format::Docx)
    })
}

/// The parts of a kind in a list of relations.
fn related(
    archive: &mut Archive<'_>,
    list: &str,
    kind: &'static str,
    budget: &mut Budget,
) -> Result<Vec<String>, ExtractError> {
    let mut relations = Relations {
        kind,
        targets: Vec::new(),
    };
    if let Some(bytes) = archive.read(list, budget)? {
        xml::walk(&xml::decode(&bytes, None), budget, &mut relations)?;
    }
    Ok(relations.targets)
}

struct Relations {
    /// How the names of the kind end; their beginning depends on the edition of the standard.
    kind: &'static str,
    targets: Vec<String>,
}

impl Visitor for Relations {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        if name == "Relationship"
            && attribute(tag, "Type").is_some_and(|kind| kind.ends_with(self.kind))
        {
            self.targets.extend(
                attribute(tag, "Target").map(|path| path.trim_start_matches('/').to_owned()),
            );
        }
    }

    fn end(&mut self, _: &str) {}

    fn text(&mut self, _: &str) {}
}
