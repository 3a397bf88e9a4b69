//! ODT (ISO/IEC 26300), and its predecessor SXW. Footnotes and endnotes follow the text.

use super::odt_format::{HiddenParagraphs, OdtFormat};
use super::office::{DocumentBody, Elements, about};
use super::{FormatReader, FormatSpec};
use crate::archive::Archive;
use crate::limits::Budget;
use crate::xml;
use crate::{ExtractError, Extracted, Format};

const MANIFEST: &str = "META-INF/manifest.xml";
const CONTENT: &str = "content.xml";

const ELEMENTS: Elements = Elements {
    runs: &[],
    paragraphs: &["p", "h"],
    lines: &["line-break"],
    blanks: &["s", "tab", "tab-stop"],
    skipped: &[
        "note-citation",
        "footnote-citation",
        "endnote-citation",
        "annotation",
        "tracked-changes",
        "table-of-content",
        "styles",
        "automatic-styles",
        "font-face-decls",
        "scripts",
        "forms",
        "sequence-decls",
        "title",
        "desc",
        "binary-data",
        "script",
    ],
    notes: &["note", "footnote", "endnote"],
    headings: &["h"],
};

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "odt",
    title: "an OpenDocument text",
    extensions: &["odt", "sxw"],
    media_types: &[
        "application/vnd.oasis.opendocument.text",
        "application/vnd.sun.xml.writer",
    ],
    loss: 2,
    reader: FormatReader::Zip(&[&[MANIFEST, CONTENT], &[MANIFEST, "mimetype"]], read),
};

/// Reads an ODT or SXW file.
pub(super) fn read(
    archive: &mut Archive<'_>,
    budget: &mut Budget,
) -> Result<Extracted, ExtractError> {
    if let Some(manifest) = archive.read(MANIFEST, budget)?
        && memchr::memmem::find(&manifest, b"encryption-data").is_some()
    {
        return Err(ExtractError::Encrypted {
            what: "an OpenDocument file that needs a password".to_owned(),
        });
    }
    let mut format = OdtFormat::default();
    if let Some(styles) = archive.read("styles.xml", budget)? {
        xml::walk_bytes(&styles, budget, &mut format)?;
    }
    let content = archive.need(CONTENT, budget)?;
    if memchr::memmem::find(&content, b"hidden-paragraph").is_some() {
        let mut hidden = HiddenParagraphs::default();
        xml::walk_bytes(&content, budget, &mut hidden)?;
        format.hide_paragraphs(hidden.found);
    }
    let mut body = DocumentBody::new(ELEMENTS, format);
    body.read(&content, budget)?;
    let metadata = about(archive, "meta.xml", budget)?;
    Ok(Extracted {
        metadata,
        ..body.finish(Format::Odt)
    })
}
