//! Dispatches to the readers of the formats.

use super::archive::{Archive, gunzip};
use super::encoding::Encoding;
use super::formats::BookFile;
use super::limits::{Budget, Limit, Limits};
use super::sniff::{self, FileKind};
use super::{Book, ExtractError, Extracted, File, Format, MainText, magic};
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

/// Whether a file is read in a separate process.
#[must_use]
pub fn reads_apart(bytes: &[u8], name: Option<&str>) -> bool {
    !sniff::kind(bytes, name).is_plain()
}

/// Whether what the caller says of the encoding of a file counts, because the file may not say it itself: it is plain text or HTML.
#[must_use]
pub fn takes_encoding(bytes: &[u8], name: Option<&str>) -> bool {
    matches!(
        sniff::kind(bytes, name),
        FileKind::Book(Format::Text | Format::Html, _)
    )
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
    if depth > budget.limits.archives {
        return Err(budget.limits.met(Limit::Archives).into());
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
        FileKind::Book(_, read) => {
            let file = BookFile {
                bytes,
                encoding,
                main,
            };
            read(file, budget)
        }
    };
    single(read?)
}

/// A file that is a book itself. One without text, such as a picture book, is an error; plain text may be empty.
fn single(read: Extracted) -> Result<Vec<Book>, ExtractError> {
    if read.format != Format::Text && !read.text.contains(char::is_alphanumeric) {
        return Err(ExtractError::NoText(read.format));
    }
    let metadata = bounded(read.metadata);
    Ok(vec![Book {
        name: None,
        read: Ok(Extracted { metadata, ..read }),
    }])
}

/// Limits the metadata of a file to the size of a record, because a file may have a title of any length. Long values are
/// cut, and excess values are left out.
fn bounded(found: Description) -> Description {
    /// The maximum bytes of a value, of a list, and of a language.
    const MOST: (usize, usize, usize) = (1_000, 3_000, 64);
    let values = |values: Vec<String>| {
        let mut left = MOST.1;
        values
            .into_iter()
            .map(|one| shortened(one, MOST.0))
            .take_while(|shortened| {
                let fits = shortened.len() <= left;
                left = left.saturating_sub(shortened.len().max(MOST.1 / 100));
                fits
            })
            .collect()
    };
    Description {
        title: found.title.map(|title| shortened(title, MOST.0)),
        authors: values(found.authors),
        language: found.language.filter(|language| language.len() <= MOST.2),
        identifiers: values(found.identifiers),
        published: found.published,
    }
}

fn shortened(mut value: String, most: usize) -> String {
    let end = (0..=most.min(value.len()))
        .rev()
        .find(|end| value.is_char_boundary(*end));
    value.truncate(end.unwrap_or(0));
    value
}

fn zip(
    bytes: &[u8],
    encoding: Option<Encoding>,
    budget: &mut Budget,
    depth: u64,
) -> Result<Vec<Book>, ExtractError> {
    let mut archive = Archive::open(bytes, budget)?;
    match sniff::in_zip(archive.names()) {
        Some(read) => single(read(&mut archive, budget)?),
        None => members(&mut archive, encoding, budget, depth),
    }
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
            Ok(bytes) if magic::is_picture(&bytes) => continue,
            bytes => bytes,
        };
        let read = bytes.and_then(|bytes| {
            let file = File {
                bytes: bytes.into(),
                name: Some(member.clone()),
                encoding,
            };
            books(file, None, budget, depth + 1)
        });
        match read {
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
