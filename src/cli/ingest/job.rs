//! A file, a text or a list of gems to ingest, and the books in it.

use std::path::Path;

use hashbrown::{HashMap, HashSet};
use lapidary_catalogue::{BookGems, Content, Gate, NewEntry};
use lapidary_common::description::Description;
use lapidary_extract::{Book, Format};
use lapidary_gems::{RecipeName, WrittenGem};
use lapidary_store::{BadName, BookId, BookKey, Rights, Validity};

use super::super::files::{InputFile, Reading};

/// A source of one or more books, with their metadata.
pub(super) struct IngestJob {
    pub(super) source: BookSource,
    /// Whether to ignore print artifacts in its texts, if given.
    pub(super) clean: Option<bool>,
    pub(super) key: BookKey,
    pub(super) rights: Rights,
    pub(super) description: Description,
    pub(super) validity: Option<Validity>,
    /// Whether it may replace a book that has gems with one that has none.
    pub(super) allow_empty: bool,
    /// Whether its texts are kept.
    pub(super) keep_text: bool,
    /// Unless this refuses it.
    pub(super) gate: Option<Gate>,
}

/// Where a book's content is.
pub(super) enum BookSource {
    File(InputFile),
    Text(String),
    Gems {
        recipe: Option<RecipeName>,
        gems: Vec<WrittenGem>,
    },
}

/// The display name of a file or a book, and the format it was read from.
pub(super) struct BookLabel {
    pub(super) name: String,
    pub(super) format: Option<Format>,
}

impl BookLabel {
    pub(super) fn of(path: &Path) -> Self {
        Self::from(path.display().to_string())
    }
}

impl From<String> for BookLabel {
    fn from(name: String) -> Self {
        Self { name, format: None }
    }
}

/// A book or the reason why it is refused, with its display name.
pub(super) type Loaded = (BookLabel, Result<NewEntry, String>);

impl IngestJob {
    /// Loads the book, or all books of an archive.
    pub(super) fn load(self, name: String, reading: Reading) -> Vec<Loaded> {
        let Self {
            source,
            clean,
            key,
            rights,
            description,
            validity,
            allow_empty,
            keep_text,
            gate,
        } = self;
        let entry = |content| NewEntry {
            description,
            validity,
            allow_empty,
            keep_text,
            gate,
            ..NewEntry::new(key, rights, content)
        };
        let content = match source {
            BookSource::Text(text) => Content::Text { text, clean },
            BookSource::Gems { recipe, gems } => Content::Gems(BookGems { recipe, gems }),
            BookSource::File(file) => {
                // Given metadata overrides the file's own.
                let known = entry(Content::Text {
                    text: String::new(),
                    clean,
                });
                return match reading.books(&file.path) {
                    // For a line of a feed, the name is not the path, so add the path.
                    Err(why) if name != file.path.display().to_string() => {
                        let why = format!("{}: {why}", file.relative.display());
                        vec![(name.into(), Err(why))]
                    }
                    Err(why) => vec![(name.into(), Err(why))],
                    Ok(books) => match <[Book; 1]>::try_from(books) {
                        Ok([book]) => vec![filled(name, known, book, clean)],
                        Err(books) => members(&name, &known, books, clean),
                    },
                };
            }
        };
        vec![(name.into(), Ok(entry(content)))]
    }
}

/// A book with its text. The file's own metadata fills what is not given.
fn filled(name: String, known: NewEntry, book: Book, clean: Option<bool>) -> Loaded {
    let read = match book.read {
        Ok(read) => read,
        Err(error) => return (name.into(), Err(error.to_string())),
    };
    let entry = NewEntry {
        description: known.description.or(read.metadata),
        content: Content::Text {
            text: read.text,
            clean,
        },
        hidden: read.hidden,
        ..known
    };
    (
        BookLabel {
            name,
            format: Some(read.format),
        },
        Ok(entry),
    )
}

/// The books of an archive. Their ids are the archive's id and their paths in it, without extensions unless these tell books
/// apart. They inherit the archive's rights but not its title.
fn members(archive: &str, known: &NewEntry, books: Vec<Book>, clean: Option<bool>) -> Vec<Loaded> {
    let mut count: HashMap<String, usize> = HashMap::new();
    for member in books.iter().filter_map(|book| book.name.as_deref()) {
        *count.entry(stem(member)).or_default() += 1;
    }
    let mut ids = HashSet::new();
    let mut loaded = Vec::with_capacity(books.len());
    for book in books {
        let member = book.name.clone().unwrap_or_default();
        let of_member = Some(stem(&member))
            .filter(|stem| count[stem] == 1)
            .unwrap_or_else(|| member.clone());
        let name = format!("{archive}/{member}");
        let id = format!("{}/{of_member}", known.key.id)
            .parse()
            .map_err(|error: BadName| error.to_string());
        let id = id.and_then(|id: BookId| {
            if ids.insert(id.clone()) {
                return Ok(id);
            }
            Err(format!(
                "the id {:?} is already used by another book in the archive",
                id.as_str()
            ))
        });
        loaded.push(match id {
            Err(why) => (name.into(), Err(why)),
            Ok(id) => {
                let key = BookKey {
                    id,
                    library: known.key.library.clone(),
                };
                let of_archive = NewEntry {
                    key,
                    description: Description::default(),
                    ..known.clone()
                };
                filled(name, of_archive, book, clean)
            }
        });
    }
    loaded
}

fn stem(member: &str) -> String {
    Path::new(member)
        .with_extension("")
        .to_string_lossy()
        .into_owned()
}
