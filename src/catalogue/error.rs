//! What an operation on a catalogue can fail with.

use jiff::civil::Date;
use lapidary_gems::{Costly, Recipe, RecipeError, RecipeName, WrittenGem};

use super::jobs::JobState;
use crate::index::{BadName, BookKey, Coverage, NOTE_BYTES, StoreError, TooLong};

/// Why a catalogue did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A recipe is wrong.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// A library or book id is wrong.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A recipe that the catalogue does not have.
    #[error(
        "this catalogue has no recipe '{asked}'; it has: {known}; use one of these, or have an administrator add it \
         (lapidary reindex)"
    )]
    NoSuchRecipe {
        /// The recipe asked for.
        asked: String,
        /// The recipes there are.
        known: String,
    },
    /// A recipe that not every book has gems of yet, so that a check by it could miss the book that counts.
    #[error(
        "{} of {} books have gems of recipe '{recipe}' so far, and a check by it would miss the others: name another recipe, \
         give every book gems of it (lapidary reindex; lapidary jobs list), or allow that with allow_incomplete",
        coverage.books, coverage.of
    )]
    RecipeIncomplete {
        /// The recipe.
        recipe: RecipeName,
        /// How many books have gems of it.
        coverage: Coverage,
    },
    /// A job of the kind has not ended.
    #[error("job {id} ({kind}) has not ended, and there is one {kind} at a time: wait for it, or cancel it")]
    JobRuns {
        /// Its number.
        id: u32,
        /// Its kind.
        kind: &'static str,
    },
    /// There is no such job.
    #[error("there is no job {0}")]
    NoSuchJob(u32),
    /// A job that has ended cannot be cancelled.
    #[error("job {id} has ended: {state}")]
    JobEnded {
        /// Its number.
        id: u32,
        /// What became of it.
        state: JobState,
    },
    /// A job that cannot be done.
    #[error("{0}")]
    BadTask(String),
    /// An export cannot be written.
    #[error("cannot write the export: {0}")]
    Output(std::io::Error),
    /// What was to be imported is no export, or not all of one.
    #[error("line {line}: {why}")]
    BadExport {
        /// The line.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Some books have no gems of a recipe that was to be the default.
    #[error(
        "{without} books have no gems of recipe '{recipe}', as no fold is kept of them ({examples}): checks go on by the \
         recipe before; give their texts (--from sources), or leave those books behind (--allow-missing)"
    )]
    NotRecut {
        /// The recipe.
        recipe: RecipeName,
        /// How many books.
        without: u64,
        /// Some of them.
        examples: String,
    },
    /// There is no such book.
    #[error("there is no book {0}")]
    NoSuchBook(BookKey),
    /// The text of a book was another one.
    #[error("this is not the text that {0} was made of; put the book in again")]
    OtherText(BookKey),
    /// A library that holds no book.
    #[error("there is no library {0:?}: names are exact, upper and lower case too")]
    NoSuchLibrary(String),
    /// A key that is not there.
    #[error("there is no key named {0:?}; `lapidary keys list` shows all")]
    NoSuchKey(String),
    /// A name that a key has already.
    #[error("there is a key named {0:?} already; rotate or revoke it, or choose another name")]
    KeyExists(String),
    /// A key that cannot be.
    #[error("{0}")]
    BadKey(String),
    /// A book without a text.
    #[error("there is no text in it")]
    NoText,
    /// A gem that no text can have under the recipe.
    #[error("gem {gem} is not one of recipe '{recipe}': its gems are {are}")]
    BadGem {
        /// The gem.
        gem: WrittenGem,
        /// The recipe.
        recipe: RecipeName,
        /// What its gems are.
        are: &'static str,
    },
    /// What is said of a book is too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// A note that is too long.
    #[error("the note is longer than {NOTE_BYTES} bytes; say it in fewer words")]
    LongNote,
    /// Rights that end before they begin.
    #[error("rights cannot hold from {from} until {until}: the last day is before the first")]
    BadValidity {
        /// The first day.
        from: Date,
        /// The last day.
        until: Date,
    },
    /// A text or list for an allow-list that has no gems.
    #[error("there are no gems in it, so that there is nothing to allow; give a longer text, or the book itself")]
    NothingToAllow,
    /// An address that events cannot be posted to.
    #[error("this is no address for a webhook; give one such as https://books.example/lapidary, without a user's name")]
    BadWebhook,
    /// A setting that is kept in another form than this program's.
    #[error("the {kind} setting {name:?} cannot be read; remove it and make it anew")]
    BadSetting {
        /// The kind of setting.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A text that takes much longer to read than its length says.
    #[error("too costly to read: {0}")]
    Costly(#[from] Costly),
    /// More gems than one query or book may have.
    #[error("{found} gems are too many: the limit is {limit}, more than any book has")]
    TooManyGems {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
}

impl CatalogueError {
    pub(super) fn no_such_recipe(asked: &RecipeName, known: &[Recipe]) -> Self {
        let known: Vec<&str> = known.iter().map(|recipe| recipe.name().as_str()).collect();
        Self::NoSuchRecipe {
            asked: asked.to_string(),
            known: if known.is_empty() { "none yet".to_owned() } else { known.join(", ") },
        }
    }
}
