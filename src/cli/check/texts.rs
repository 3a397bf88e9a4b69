//! The texts of the books that match, so that a report can show them next to the text that was checked.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use lapidary_catalogue::api::{Match, Report};
use lapidary_catalogue::{compared, side_by_side};
use lapidary_extract::Whole;
use lapidary_extract::position::Locator;
use lapidary_store::{BadName, BookKey};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rayon::prelude::*;

use super::super::client::CatalogueClient;
use super::super::failure::Failure;
use super::super::files::Reading;
use super::super::terminal::tell;

/// How long a server may take to send a text.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the texts of books are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextSource {
    /// In a folder: files named like the ids of books.
    Folder(PathBuf),
    /// The text of the best match.
    File(PathBuf),
    /// Kept in the catalogue.
    Kept,
    /// At addresses with `{id}` and perhaps `{library}`.
    Address(String),
}

impl FromStr for TextSource {
    type Err = String;

    fn from_str(from: &str) -> Result<Self, String> {
        if from.starts_with("http://") || from.starts_with("https://") {
            let has_id = from
                .contains("{id}")
                .then(|| Self::Address(from.to_owned()));
            return has_id
                .ok_or_else(|| "write {id} where the book's id belongs in the address".to_owned());
        }
        match fs::metadata(from) {
            Ok(found) if found.is_dir() => Ok(Self::Folder(from.into())),
            Ok(_) => Ok(Self::File(from.into())),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl TextSource {
    /// Reads the texts of the best matches, and compares them with the text. Texts that cannot be read are named on standard
    /// error.
    pub(super) fn add_to(
        &self,
        catalogue: &CatalogueClient,
        report: &mut Report,
        text: &str,
        locator: &Locator,
        reading: Reading,
    ) -> Vec<Option<String>> {
        let most = if matches!(self, Self::File(_)) {
            1
        } else {
            compared(&report.matches)
        };
        let read: Vec<Option<String>> = report
            .matches
            .par_iter_mut()
            .take(most)
            .map(|found| {
                let whole = match self.text(catalogue, found, reading) {
                    Ok(whole) => whole?,
                    Err(why) => {
                        tell(format_args!(
                            "lapidary: no text of {}/{}: {why}",
                            found.book.library, found.book.id
                        ));
                        return None;
                    }
                };
                side_by_side(found, text, locator, &whole);
                Some(whole.text)
            })
            .collect();
        read
    }

    /// The text of a book; `None` if there is none.
    fn text(
        &self,
        catalogue: &CatalogueClient,
        found: &Match,
        reading: Reading,
    ) -> Result<Option<Whole>, String> {
        let (library, id) = (found.book.library.as_str(), found.book.id.as_str());
        match self {
            Self::File(file) => reading.whole(file).map(Some),
            Self::Kept => kept(catalogue, library, id),
            Self::Folder(folder) => {
                let below = [Path::new(library).join(id), PathBuf::from(id)];
                let file = below.iter().find_map(|path| named(folder, path));
                file.map(|file| reading.whole(&file)).transpose()
            }
            Self::Address(address) => {
                let [id, library] = [id, library]
                    .map(|name| utf8_percent_encode(name, NON_ALPHANUMERIC).to_string());
                let address = address.replace("{id}", &id).replace("{library}", &library);
                fetched(&address, reading).map(Some)
            }
        }
    }
}

/// The text of a book that the catalogue keeps. A key that may not read texts is told of none.
fn kept(catalogue: &CatalogueClient, library: &str, id: &str) -> Result<Option<Whole>, String> {
    let key = BookKey {
        library: library
            .parse()
            .map_err(|error: BadName| error.to_string())?,
        id: id.parse().map_err(|error: BadName| error.to_string())?,
    };
    match catalogue.text(&key) {
        Ok(text) => Ok(Some(Whole {
            text,
            ..Whole::default()
        })),
        Err(Failure::Input(_) | Failure::Missing(_)) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The file in a folder at this path, with any ending. Ids come from a catalogue: none leads out of the folder.
fn named(folder: &Path, path: &Path) -> Option<PathBuf> {
    if !path
        .components()
        .all(|component| matches!(component, Component::Normal(_)))
    {
        return None;
    }
    let path = folder.join(path);
    if path.is_file() {
        return Some(path);
    }
    let name = path.file_name()?;
    let mut files: Vec<PathBuf> = fs::read_dir(path.parent()?)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort_unstable();
    files
        .into_iter()
        .find(|file| file.file_stem() == Some(name) && file.is_file())
}

/// The text at an address. The key of the catalogue's server is not sent there.
fn fetched(address: &str, reading: Reading) -> Result<Whole, String> {
    let agent = ureq::Agent::new_with_config(
        ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .build(),
    );
    let mut answer = agent
        .get(address)
        .call()
        .map_err(|error| error.to_string())?;
    let bytes = answer
        .body_mut()
        .with_config()
        .limit(reading.most_bytes())
        .read_to_vec();
    reading.whole_of(bytes.map_err(|error| error.to_string())?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{TextSource, named};

    #[test]
    fn files_of_books() {
        let folder = tempfile::tempdir().expect("a folder");
        let secret = folder.path().join("secret.txt");
        std::fs::write(&secret, "x").expect("written");
        let books = folder.path().join("books");
        std::fs::create_dir_all(books.join("north")).expect("made");
        for file in ["a.epub", "b", "north/c.fb2"] {
            std::fs::write(books.join(file), "x").expect("written");
        }
        let found = |path: &str| {
            named(&books, Path::new(path)).map(|file| file.strip_prefix(&books).unwrap().to_owned())
        };
        assert_eq!(found("a").as_deref(), Some(Path::new("a.epub")));
        assert_eq!(found("b").as_deref(), Some(Path::new("b")));
        assert_eq!(found("north/c").as_deref(), Some(Path::new("north/c.fb2")));
        let absolute = secret.display().to_string();
        for path in [
            "d",
            "../secret",
            "../secret.txt",
            "north/../../secret",
            &absolute,
            "",
            "north",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn sources() {
        assert!(matches!(
            "https://x.example/{library}/{id}.txt".parse(),
            Ok(TextSource::Address(_))
        ));
        assert!("https://x.example/".parse::<TextSource>().is_err());
        assert!("/no/such/folder".parse::<TextSource>().is_err());
    }
}
