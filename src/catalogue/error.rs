//! Errors of catalogue operations.

use jiff::civil::Date;
use lapidary_gems::{Costly, Recipe, RecipeError, RecipeName, WrittenGem};

use crate::api::JobState;
use crate::index::{BadName, BookKey, Coverage, NOTE_BYTES, StoreError, TooLong};

/// Why a catalogue operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// An invalid library name or book id.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The catalogue does not have the recipe.
    #[error(
        "this catalogue has no recipe '{asked}'; it has: {known}; use one of these, or have an administrator add it \
         (lapidary reindex)"
    )]
    NoSuchRecipe {
        /// The recipe asked for.
        asked: String,
        /// The known recipes.
        known: String,
    },
    /// Not every book has gems of the recipe yet, so a check with it could miss the book that matters.
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
    /// A job of the same kind is still running.
    #[error("job {id} ({kind}) has not ended, and there is one {kind} at a time: wait for it, or cancel it")]
    JobRuns {
        /// Its number.
        id: u32,
        /// Its kind.
        kind: &'static str,
    },
    /// No such job.
    #[error("there is no job {0}")]
    NoSuchJob(u32),
    /// A finished job cannot be cancelled.
    #[error("job {id} has ended: {state}")]
    JobEnded {
        /// Its number.
        id: u32,
        /// Its final state.
        state: JobState,
    },
    /// A job that cannot be run.
    #[error("{0}")]
    BadTask(String),
    /// An export could not be written.
    #[error("cannot write the export: {0}")]
    Output(std::io::Error),
    /// The input of an import is not an export, or is incomplete.
    #[error("line {line}: {why}")]
    BadExport {
        /// The line number.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Some books have no gems of the recipe that was to become the default.
    #[error(
        "{without} books have no gems of recipe '{recipe}', as no fold is kept of them ({examples}): checks go on by the \
         recipe before; give their texts (--from sources), or leave those books behind (--allow-missing)"
    )]
    NotRecut {
        /// The recipe.
        recipe: RecipeName,
        /// Number of books without gems of it.
        without: u64,
        /// Some of these books.
        examples: String,
    },
    /// No such book.
    #[error("there is no book {0}")]
    NoSuchBook(BookKey),
    /// The text is not the one that the book was added with.
    #[error("this is not the text that {0} was made of; put the book in again")]
    OtherText(BookKey),
    /// The library holds no books.
    #[error("there is no library {0:?}: names are exact, upper and lower case too")]
    NoSuchLibrary(String),
    /// No such key.
    #[error("there is no key named {0:?}; `lapidary keys list` shows all")]
    NoSuchKey(String),
    /// The name is already used by another key.
    #[error("there is a key named {0:?} already; rotate or revoke it, or choose another name")]
    KeyExists(String),
    /// An invalid key.
    #[error("{0}")]
    BadKey(String),
    /// A book without a text.
    #[error("there is no text in it")]
    NoText,
    /// No text can have this gem under the recipe.
    #[error("gem {gem} is not one of recipe '{recipe}': its gems are {are}")]
    BadGem {
        /// The gem.
        gem: WrittenGem,
        /// The recipe.
        recipe: RecipeName,
        /// What gems of the recipe look like.
        are: &'static str,
    },
    /// The metadata of a book is too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The note is too long.
    #[error("the note is longer than {NOTE_BYTES} bytes; say it in fewer words")]
    LongNote,
    /// The rights end before they start.
    #[error("rights cannot hold from {from} until {until}: the last day is before the first")]
    BadValidity {
        /// The first day.
        from: Date,
        /// The last day.
        until: Date,
    },
    /// A text or list for an allow-list has no gems.
    #[error("there are no gems in it, so that there is nothing to allow; give a longer text, or the book itself")]
    NothingToAllow,
    /// Events cannot be posted to this address.
    #[error("this is no address for a webhook; give one such as https://books.example/lapidary, without a user's name")]
    BadWebhook,
    /// A setting is stored in a format that this version cannot read.
    #[error("the {kind} setting {name:?} cannot be read; remove it and make it anew")]
    BadSetting {
        /// The kind of setting.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A text that takes far longer to read than its length suggests.
    #[error("too costly to read: {0}")]
    Costly(#[from] Costly),
    /// A query or book has too many gems.
    #[error("{found} gems are too many: the limit is {limit}, more than any book has")]
    TooManyGems {
        /// Number of gems.
        found: usize,
        /// The limit.
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
