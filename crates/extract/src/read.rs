//! Dispatches to the readers of the formats.

use super::archive::{Archive, gunzip};
use super::encoding::Encoding;
use super::hidden::HiddenWords;
use super::limits::{Budget, Limit, Limits, Met};
use super::sniff::{self, FileKind, Packed};
use super::{Book, ExtractError, Extracted, File, Format, MainText};
use super::{doc, docx, epub, fb2, fb3, format, html, mobi, odt, pdf, plain, rtf, tei};
use lapidary_common::description::Description;

/// Files that packers add.
const LITTER: [&str; 4] = ["__MACOSX/", ".DS_Store", "Thumbs.db", "desktop.ini"];

/// Reads a file in this process; of a page only its main text, if it is said where that is.
pub(super) fn read(
    file: File,
    main: Option<&MainText>,
    limits: Limits,
) -> Result<Vec<Book>, ExtractError> {
    let mut budget = Budget::new(limits, file.bytes.len() as u64)?;
    books(file, main, &mut budget, 0)
}

/// Whether it is one of the formats that need no third-party parser.
pub(super) fn is_plain(file: &File) -> bool {
    !reads_apart(&file.bytes, file.name.as_deref())
}

/// Whether a file is read in a separate process.
#[must_use]
pub fn reads_apart(bytes: &[u8], name: Option<&str>) -> bool {
    sniff::kind(bytes, name) != FileKind::Plain
}

/// Whether what the caller says of the encoding of a file counts, because the file may not say it itself: it is plain text or HTML.
#[must_use]
pub fn takes_encoding(bytes: &[u8], name: Option<&str>) -> bool {
    matches!(sniff::kind(bytes, name), FileKind::Plain | FileKind::Html)
}

fn books(
    file: File,
    main: Option<&MainText>,
    budget: &mut Budget,
    depth: u64,
) -> Result<Vec<Book>, ExtractError> {
    let File {
        bytes,
        name,
        encoding,
    } = file;
    let at = budget.limits.archives;
    if depth > at {
        return Err(Met {
            limit: Limit::Archives,
            at,
        }
        .into());
    }
    let read = match sniff::kind(&bytes, name.as_deref()) {
        FileKind::Zip => return zip(&bytes, encoding, budget, depth),
        FileKind::Gzip => {
            let name = name.map(|name| name.strip_suffix(".gz").map(str::to_owned).unwrap_or(name));
            let bytes = gunzip(&bytes, budget)?.into();
            return books(
                File {
                    bytes,
                    name,
                    encoding,
                },
                main,
                budget,
                depth + 1,
            );
        }
        FileKind::Rtf => rtf::read(&bytes, budget),
        FileKind::Pdf => pdf::read(&bytes, budget),
        FileKind::Ole => doc::read(&bytes, budget.limits),
        FileKind::Palm => mobi::read(&bytes, budget),
        FileKind::Html => html::read(bytes.into_vec(), encoding, main, budget),
        FileKind::Fb2 => fb2::read(&bytes, encoding, budget),
        FileKind::Tei => tei::read(&bytes, encoding, budget),
        FileKind::Plain => plain::text(bytes, encoding).map(|read| Extracted {
            format: Format::Text,
            text: read.text,
            headings: Vec::new(),
            hidden: HiddenWords::default(),
            metadata: Description::default(),
            encoding: Some(read.encoding),
        }),
    };
    Ok(vec![Book {
        name: None,
        read: Ok(with_text(read?)?),
    }])
}

/// A book without text, such as a picture book, is an error. Plain text may be empty.
fn with_text(read: Extracted) -> Result<Extracted, ExtractError> {
    if read.format != Format::Text && !read.text.contains(char::is_alphanumeric) {
        return Err(ExtractError::NoText(read.format));
    }
    Ok(Extracted {
        metadata: bounded(read.metadata),
        ..read
    })
}

/// Limits the metadata of a file to the size of a record, because a file may have a title of any length. Long values are
/// cut, and excess values are left out.
fn bounded(found: Description) -> Description {
    /// The maximum bytes of a value, of a list, and of a language.
    const MOST: (usize, usize, usize) = (1_000, 3_000, 64);
    let value = |mut value: String, most: usize| {
        let end = (0..=most.min(value.len()))
            .rev()
            .find(|end| value.is_char_boundary(*end));
        value.truncate(end.unwrap_or(0));
        value
    };
    let values = |values: Vec<String>| {
        let mut left = MOST.1;
        let fits = |value: &String| {
            let fits = value.len() <= left;
            left = left.saturating_sub(value.len().max(MOST.1 / 100));
            fits
        };
        values
            .into_iter()
            .map(|one| value(one, MOST.0))
            .take_while(fits)
            .collect()
    };
    Description {
        title: found.title.map(|title| value(title, MOST.0)),
        authors: values(found.authors),
        language: found.language.filter(|language| language.len() <= MOST.2),
        identifiers: values(found.identifiers),
        published: found.published,
    }
}

fn zip(
    bytes: &[u8],
    encoding: Option<Encoding>,
    budget: &mut Budget,
    depth: u64,
) -> Result<Vec<Book>, ExtractError> {
    let mut archive = Archive::open(bytes, budget)?;
    let read = match sniff::in_zip(archive.names()) {
        Some(Packed::Epub) => epub::read(&mut archive, budget),
        Some(Packed::Office) => docx::read(&mut archive, budget),
        Some(Packed::Fb3) => fb3::read(&mut archive, budget),
        Some(Packed::OpenDocument) => odt::read(&mut archive, budget),
        None => return members(&mut archive, encoding, budget, depth),
    };
    Ok(vec![Book {
        name: None,
        read: Ok(with_text(read?)?),
    }])
}

/// The books in an archive, without pictures and the files that packers add.
fn members(
    archive: &mut Archive<'_>,
    encoding: Option<Encoding>,
    budget: &mut Budget,
    depth: u64,
) -> Result<Vec<Book>, ExtractError> {
    let mut found = Vec::new();
    for (place, member) in archive.names().to_vec().into_iter().enumerate() {
        if member.ends_with('/')
            || LITTER
                .iter()
                .any(|litter| member.starts_with(litter) || member.ends_with(litter))
        {
            continue;
        }
        let bytes = match archive.read_at(place, budget) {
            Ok(bytes) if format::is_picture(&bytes) => continue,
            bytes => bytes,
        };
        let file = |bytes: Vec<u8>| File {
            bytes: bytes.into(),
            name: Some(member.clone()),
            encoding,
        };
        match bytes.and_then(|bytes| books(file(bytes), None, budget, depth + 1)) {
            Ok(books) => found.extend(books.into_iter().map(|book| {
                let name = book
                    .name
                    .map_or_else(|| member.clone(), |inner| format!("{member}/{inner}"));
                Book {
                    name: Some(name),
                    ..book
                }
            })),
            Err(error @ ExtractError::OverLimit(_)) => return Err(error),
            Err(error) => found.push(Book {
                name: Some(member),
                read: Err(error),
            }),
        }
    }
    if found.is_empty() {
        return Err(ExtractError::NotText {
            what: "a ZIP archive without a book".to_owned(),
        });
    }
    Ok(found)
}
