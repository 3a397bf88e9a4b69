//! EPUB 2 and 3: the pages of the spine, in order. A table of contents among them is a `nav` element, and skipped.

use std::cell::RefCell;
use std::rc::Rc;

use hashbrown::HashMap;
use percent_encoding::percent_decode_str;
use quick_xml::events::BytesStart;

use super::{FormatReader, FormatSpec, html};
use crate::archive::Archive;
use crate::limits::Budget;
use crate::prose::{Prose, phrase};
use crate::xml::{self, Visitor, attribute};
use crate::{ExtractError, Extracted, Format, headings};
use lapidary_common::description::{Description, PartialDate};

const CONTAINER: &str = "META-INF/container.xml";
const ENCRYPTION: &str = "META-INF/encryption.xml";
/// The rights files of protected books: Adobe's, Apple's and Readium's.
const DRM: [(&str, &str); 3] = [
    ("META-INF/rights.xml", "Adobe ADEPT"),
    ("META-INF/sinf.xml", "Apple FairPlay"),
    ("META-INF/license.lcpl", "Readium LCP"),
];
/// Algorithms that obfuscate only fonts, in books that anybody can read.
const OBFUSCATION: [&str; 2] = [
    "http://www.idpf.org/2008/embedding",
    "http://ns.adobe.com/pdf/enc#RC",
];

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "epub",
    title: "an EPUB e-book",
    extensions: &["epub"],
    media_types: &["application/epub"],
    loss: 0,
    reader: FormatReader::Zip(&[&[CONTAINER]], read),
};

/// Reads an EPUB file.
pub(super) fn read(
    archive: &mut Archive<'_>,
    budget: &mut Budget,
) -> Result<Extracted, ExtractError> {
    refuse_encrypted(archive, budget)?;
    let path = package_path(archive, budget)?;
    let mut package = Package::default();
    let bytes = archive.need(&path, budget)?;
    xml::walk_bytes(&bytes, budget, &mut package)?;
    let pages = package
        .spine
        .iter()
        .filter_map(|id| package.manifest.get(id));
    let read = read_pages(archive, pages.map(|page| resolve(&path, page)), budget)?;
    Ok(Extracted {
        metadata: package.metadata,
        ..read
    })
}

fn package_path(archive: &mut Archive<'_>, budget: &mut Budget) -> Result<String, ExtractError> {
    let mut container = Container::default();
    let bytes = archive.need(CONTAINER, budget)?;
    xml::walk_bytes(&bytes, budget, &mut container)?;
    container
        .0
        .ok_or_else(|| ExtractError::damaged(format!("{CONTAINER} names no package")))
}

/// The pages of these paths, one after the other.
fn read_pages(
    archive: &mut Archive<'_>,
    pages: impl Iterator<Item = String>,
    budget: &mut Budget,
) -> Result<Extracted, ExtractError> {
    let mut all = Prose::default().finish(Format::Epub);
    let (archive, current) = (RefCell::new(archive), RefCell::new(String::new()));
    let mut sheets: HashMap<String, Option<Rc<str>>> = HashMap::new();
    let mut linked = html::Linked::new(Box::new(|address, imported_by, budget| {
        let page = current.borrow();
        let path = match imported_by {
            Some(sheet) => resolve(&resolve(&page, sheet), address),
            None => resolve(&page, address),
        };
        if let Some(sheet) = sheets.get(&path) {
            return Ok(sheet.clone());
        }
        let bytes = archive.borrow_mut().read(&path, budget)?;
        let sheet: Option<Rc<str>> = bytes.map(|bytes| xml::decode(&bytes, None).into());
        sheets.insert(path, sheet.clone());
        Ok(sheet)
    }));
    for page in pages {
        let Some(bytes) = archive.borrow_mut().read(&page, budget)? else {
            continue;
        };
        current.replace(page);
        let page = html::page(&xml::decode(&bytes, None), &mut linked, budget)?;
        append(&mut all, page);
    }
    Ok(all)
}

/// Appends a page to those before it.
fn append(all: &mut Extracted, page: Extracted) {
    if !all.text.is_empty() && !page.text.is_empty() {
        all.text.push_str("\n\n");
    }
    headings::append(&mut all.headings, all.text.len(), page.headings);
    all.text.push_str(&page.text);
    all.hidden.extend(&page.hidden);
}

fn refuse_encrypted(archive: &mut Archive<'_>, budget: &mut Budget) -> Result<(), ExtractError> {
    let Some(bytes) = archive.read(ENCRYPTION, budget)? else {
        return Ok(());
    };
    let mut algorithms = Algorithms::default();
    xml::walk_bytes(&bytes, budget, &mut algorithms)?;
    if algorithms
        .0
        .iter()
        .all(|name| OBFUSCATION.iter().any(|start| name.starts_with(start)))
    {
        return Ok(());
    }
    let by = DRM
        .iter()
        .find(|(name, _)| archive.has(name))
        .map_or("digital rights management", |(_, by)| by);
    Err(ExtractError::Encrypted {
        what: format!("an EPUB e-book protected by {by}"),
    })
}

/// The path in the archive of a reference in the file at `base`. A reference that leads out of the archive resolves
/// to nothing, and so is not found.
fn resolve(base: &str, reference: &str) -> String {
    let reference =
        percent_decode_str(reference.split('#').next().unwrap_or_default()).decode_utf8_lossy();
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folder = if reference.starts_with('/') {
        ""
    } else {
        folder
    };
    let mut path: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(reference.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    path.join("/")
}

/// The path of the package.
#[derive(Default)]
struct Container(Option<String>);

impl Visitor for Container {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        if name == "rootfile" && self.0.is_none() {
            self.0 = attribute(tag, "full-path");
        }
    }
}

/// The encryption algorithms of parts of the book.
#[derive(Default)]
struct Algorithms(Vec<String>);

impl Visitor for Algorithms {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        if name == "EncryptionMethod" {
            self.0.extend(attribute(tag, "Algorithm"));
        }
    }
}

/// The package document.
#[derive(Default)]
struct Package {
    metadata: Description,
    manifest: HashMap<String, String>,
    spine: Vec<String>,
    captured: String,
    /// Whether the date being read is one of the file, not of the book.
    is_of_file: bool,
}

impl Visitor for Package {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.captured.clear();
        match name {
            "date" => {
                self.is_of_file =
                    attribute(tag, "event").is_some_and(|event| event != "publication");
            }
            "item" => {
                if let (Some(id), Some(href)) = (attribute(tag, "id"), attribute(tag, "href")) {
                    self.manifest.insert(id, href);
                }
            }
            "itemref" => self.spine.extend(attribute(tag, "idref")),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        let Some(value) = phrase(&std::mem::take(&mut self.captured)) else {
            return;
        };
        match name {
            "title" if self.metadata.title.is_none() => self.metadata.title = Some(value),
            "creator" => self.metadata.authors.push(value),
            "language" if self.metadata.language.is_none() => self.metadata.language = Some(value),
            "identifier" => self.metadata.identifiers.push(value),
            "date" if self.metadata.published.is_none() && !self.is_of_file => {
                self.metadata.published = PartialDate::of_file(&value);
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.captured.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn references() {
        for (base, reference, path) in [
            ("content.opf", "a.xhtml", "a.xhtml"),
            (
                "OEBPS/content.opf",
                "text/a%20b.xhtml#c",
                "OEBPS/text/a b.xhtml",
            ),
            ("OEBPS/content.opf", "../a.xhtml", "a.xhtml"),
            ("OEBPS/content.opf", "../../../../etc/passwd", "etc/passwd"),
            ("OEBPS/content.opf", "/a.xhtml", "a.xhtml"),
        ] {
            assert_eq!(resolve(base, reference), path);
        }
    }
}
