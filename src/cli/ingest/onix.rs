//! Metadata for the books of an ingest from an ONIX feed, matched to files by the ISBN in their names.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use hashbrown::HashMap;
use lapidary_catalogue::onix::{Product, Products, Territory};
use lapidary_common::isbn::{Isbn, bad_isbns_in, isbns_in};

use super::super::failure::Failure;
use super::super::files::InputFile;
use super::super::terminal::tell;
use super::metadata::KnownMetadata;

/// Why an apparent ISBN is refused.
const WRONG_DIGIT: &str = "its check digit is wrong, or digits are missing; correct it";

/// A record or a file, and why it is refused.
pub(super) type Refused = (String, String);

/// The files that have a record, with their metadata; and what is refused.
pub(super) type Matched = (Vec<(InputFile, KnownMetadata)>, Vec<Refused>);

/// Streams a feed and finds the file of each product. Only products with a file are kept in memory.
pub(super) fn matched(
    feed: &Path,
    territory: Option<&Territory>,
    files: Vec<InputFile>,
) -> Result<Matched, Failure> {
    let wrong = |why: String| Failure::Input(format!("{}, {why}", feed.display()));
    let opened =
        File::open(feed).map_err(|e| Failure::Input(format!("{}: {e}", feed.display())))?;
    let mut of_isbn: HashMap<Isbn, usize> = HashMap::new();
    let mut refused = Vec::new();
    let mut known: Vec<Option<KnownMetadata>> = vec![None; files.len()];
    let mut twice = vec![false; files.len()];
    for (i, file) in files.iter().enumerate() {
        let name = file.path.file_stem().unwrap_or_default().to_string_lossy();
        for isbn in isbns_in(&name) {
            twice[i] |= of_isbn
                .try_insert(isbn, i)
                .is_err_and(|taken| *taken.entry.get() != i);
        }
    }
    for product in Products::new(BufReader::new(opened)) {
        let product = product.map_err(|error| wrong(error.to_string()))?;
        let record = || format!("record {}", product.reference);
        for unknown in product.unknown_territories() {
            tell(format_args!(
                "lapidary: {}, {}: {unknown:?} is not an ONIX territory: its sales rights are taken to apply anywhere",
                feed.display(),
                record()
            ));
        }
        for isbn in product
            .bad_isbns
            .iter()
            .filter(|_| !product.isbns.is_empty())
        {
            tell(format_args!(
                "lapidary: {}, {}: {isbn:?} is not an ISBN: {WRONG_DIGIT}",
                feed.display(),
                record()
            ));
        }
        let file = product.isbns.iter().find_map(|isbn| of_isbn.get(isbn));
        match file {
            _ if product.deleted => refused.push((
                record(),
                "the record is a deletion: see `lapidary books disable` and `remove`".to_owned(),
            )),
            None if product.isbns.is_empty() => {
                let why = match product.bad_isbns.as_slice() {
                    [] => "it has no ISBN, so no file can be found for it".to_owned(),
                    bad => format!("{} is not an ISBN: {WRONG_DIGIT}", bad.join(", ")),
                };
                refused.push((record(), why));
            }
            None => {
                let isbns: Vec<String> = product.isbns.iter().map(ToString::to_string).collect();
                refused.push((
                    record(),
                    format!("no file's name has its ISBN {}", isbns.join(" or ")),
                ));
            }
            Some(i) if known[*i].is_some() => {
                let file = files[*i].path.display();
                refused.push((
                    record(),
                    format!("{file} already belongs to another record"),
                ));
            }
            Some(i) => known[*i] = Some(of(&product, territory).map_err(wrong)?),
        }
    }
    let mut found = Vec::new();
    for ((file, known), twice) in files.into_iter().zip(known).zip(twice) {
        match known {
            Some(known) => found.push((file, known)),
            None if twice => refused.push((
                file.path.display().to_string(),
                "another file has its ISBN".to_owned(),
            )),
            None => refused.push((file.path.display().to_string(), without_record(&file))),
        }
    }
    Ok((found, refused))
}

fn without_record(file: &InputFile) -> String {
    let name = file.path.file_stem().unwrap_or_default().to_string_lossy();
    match bad_isbns_in(&name).as_slice() {
        [] => "no record of the feed has its ISBN".to_owned(),
        bad => format!(
            "{} in its name is not an ISBN: {WRONG_DIGIT}",
            bad.join(", ")
        ),
    }
}

fn of(product: &Product, territory: Option<&Territory>) -> Result<KnownMetadata, String> {
    let id = product.id();
    let id = id
        .parse()
        .map_err(|error| format!("record {}: {error}", product.reference))?;
    Ok(KnownMetadata {
        id: Some(id),
        rights: product.rights(territory),
        description: product.description.clone(),
        ..KnownMetadata::default()
    })
}
