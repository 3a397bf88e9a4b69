//! Why a store operation failed.

use lapidary_gems::{RecipeName, WrittenGem};

use super::BookKey;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the folder open.
    #[error("{path} is in use by {owner}; use --server URL to work with that process, or stop it")]
    InUse {
        /// The data folder.
        path: String,
        /// `process 1234`, or `another process` if it is unknown.
        owner: String,
    },
    /// The folder has another format version.
    #[error("{path} has format version {found}, this program reads version {supported}; {advice}")]
    Version {
        /// The data folder.
        path: String,
        /// The version found.
        found: String,
        /// The version that this program reads and writes.
        supported: u32,
        /// What to do.
        advice: &'static str,
    },
    /// The folder does not exist or holds no store.
    #[error("{0}: no catalogue here; `lapidary ingest --data {0} …` makes one")]
    Missing(String),
    /// A catalogue exists where a new one was to be created.
    #[error("{0}: there is a catalogue here already; name an empty or a new folder")]
    Occupied(String),
    /// The folder holds unrelated files.
    #[error("{0} holds files that are not a Lapidary catalogue; name an empty or a new folder")]
    Foreign(String),
    /// The data on disk is inconsistent.
    #[error("the data in {path} is damaged ({detail}); restore a backup, or feed the books again into a new folder")]
    Damaged {
        /// The data folder.
        path: String,
        /// What was found.
        detail: String,
    },
    /// The disk is full.
    #[error("no space left on the disk of {0}: nothing of this change was kept; free some space and try again")]
    DiskFull(String),
    /// No permission to read or write the folder.
    #[error("{path}: {detail}; check the folder's owner and permissions")]
    Denied {
        /// The data folder.
        path: String,
        /// The system's message.
        detail: String,
    },
    /// The store does not know the recipe.
    #[error("there are no gems of recipe '{asked}' here; there are: {known}")]
    UnknownRecipe {
        /// The recipe asked for.
        asked: RecipeName,
        /// The known recipes, or `none yet`.
        known: String,
    },
    /// A recipe of the same name has another definition.
    #[error("there is another recipe '{0}' here already; give this one another name")]
    RecipeDiffers(RecipeName),
    /// A gem has more bits than its recipe allows.
    #[error(
        "{book} has the gem {gem}, but gems of recipe '{recipe}' have {bits} bits; name the recipe it was made with"
    )]
    GemTooLarge {
        /// The book.
        book: BookKey,
        /// The recipe.
        recipe: RecipeName,
        /// The gem.
        gem: WrittenGem,
        /// Number of bits of the recipe's gems.
        bits: u32,
    },
    /// Replacing the book would make it impossible to find.
    #[error(
        "{book} has gems of {recipes}, and would have none, so that no check could find it any more; send all of its text, \
         disable or remove the book, or replace it all the same with allow_empty"
    )]
    WouldBeEmpty {
        /// The book.
        book: BookKey,
        /// The recipes that it would have no gems of.
        recipes: String,
    },
    /// Several books have the same key where keys must be unique.
    #[error("{0} is there twice; give each book an id of its own")]
    Duplicate(String),
    /// A book is out of order.
    #[error("{0} does not come in the order of libraries and ids; sort the books")]
    Unordered(String),
    /// The default recipe cannot be dropped.
    #[error("'{0}' is the default recipe; make another one the default before it is dropped")]
    IsDefault(RecipeName),
    /// The folder contains no backup.
    #[error("{0}: no backup of a catalogue here; `lapidary backup` makes one")]
    NoBackup(String),
    /// The engine of the store has no such operation.
    #[error("the engine of this store has no {0}; use the tools of its database")]
    NotOffered(&'static str),
    /// The operation was stopped early.
    #[error("stopped before the end")]
    Stopped,
    /// Any other error from `RocksDB`.
    #[error("{path}: {detail}")]
    Io {
        /// The data folder.
        path: String,
        /// The message from `RocksDB`.
        detail: String,
    },
}
