//! DOCX: Office Open XML (ECMA-376). Footnotes and endnotes follow the text.

use quick_xml::events::BytesStart;

use super::docx_format::{BehindText, DocxFormat, DocxSettings, DocxStyles};
use super::office::{DocumentBody, Elements, about};
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
    let main = MainPart::find(archive, budget)?;
    let mut notes = main.related(archive, "/footnotes", budget)?;
    notes.extend(main.related(archive, "/endnotes", budget)?);
    let (mut styles, mut settings) = (DocxStyles::default(), DocxSettings::default());
    main.visit(archive, "/theme", &mut styles.theme, budget)?;
    main.visit(archive, "/settings", &mut settings, budget)?;
    main.visit(archive, "/styles", &mut styles, budget)?;
    styles.finish();
    styles.shows_page = settings.shows_page;
    let text = archive
        .read(&main.path, budget)?
        .ok_or_else(|| ExtractError::damaged(format!("it has no {:?}", main.path)))?;
    let format = DocxFormat::new(styles, !has_drawing_behind(&text, budget)?);
    let mut body = DocumentBody::new(ELEMENTS, format);
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

/// The part that is the document.
struct MainPart {
    path: String,
    folder: String,
    /// The list of the parts that it refers to.
    relations: String,
}

impl MainPart {
    fn find(archive: &mut Archive<'_>, budget: &mut Budget) -> Result<Self, ExtractError> {
        let mut documents = related(archive, RELATIONS, "/officeDocument", budget)?.into_iter();
        let path = documents
            .next()
            .ok_or_else(|| ExtractError::damaged(format!("{RELATIONS} names no document")))?;
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", &path));
        let what = match folder {
            "xl" => "an Excel file, which is not supported",
            "ppt" => "a PowerPoint file, which is not supported",
            folder => {
                return Ok(Self {
                    folder: folder.to_owned(),
                    relations: in_folder(folder, &format!("_rels/{file}.rels")),
                    path,
                });
            }
        };
        Err(ExtractError::NotText {
            what: what.to_owned(),
        })
    }

    /// The parts of a kind. Relations can also point to external files: those are never fetched.
    fn related(
        &self,
        archive: &mut Archive<'_>,
        kind: &'static str,
        budget: &mut Budget,
    ) -> Result<Vec<String>, ExtractError> {
        let parts = related(archive, &self.relations, kind, budget)?;
        Ok(parts
            .iter()
            .map(|part| in_folder(&self.folder, part))
            .collect())
    }

    /// Reads the parts of a kind.
    fn visit(
        &self,
        archive: &mut Archive<'_>,
        kind: &'static str,
        visitor: &mut dyn Visitor,
        budget: &mut Budget,
    ) -> Result<(), ExtractError> {
        for part in self.related(archive, kind, budget)? {
            if let Some(bytes) = archive.read(&part, budget)? {
                xml::walk_bytes(&bytes, budget, visitor)?;
            }
        }
        Ok(())
    }
}

/// Whether a large drawing lies behind the text of a document.
fn has_drawing_behind(text: &[u8], budget: &Budget) -> Result<bool, ExtractError> {
    let mut behind = BehindText::default();
    if ["behindDoc", "z-index"]
        .iter()
        .any(|mark| memchr::memmem::find(text, mark.as_bytes()).is_some())
    {
        xml::walk_bytes(text, budget, &mut behind)?;
    }
    Ok(behind.found)
}

fn in_folder(folder: &str, part: &str) -> String {
    format!("{folder}/{part}")
        .trim_start_matches('/')
        .to_owned()
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
        xml::walk_bytes(&bytes, budget, &mut relations)?;
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
}
