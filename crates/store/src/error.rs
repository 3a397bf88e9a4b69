//! Why a store operation failed.

use lapidary_gems::{RecipeName, WrittenGem};

use super::BookKey;
use lapidary_common::description::TooLong;
use lapidary_common::error::{Classified, ErrorCode};

/// Why a store operation failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another process has the folder open.
    #[error("{path} is in use by {owner}")]
    InUse {
        /// The data folder.
        path: String,
        /// `process 1234`, or `another process` if it is unknown.
        owner: String,
    },
    /// The catalogue has another format version.
    #[error(
        "{path} has format version {found}, but this program supports version {supported}; {advice}"
    )]
    Version {
        /// The data folder, or the address of the cluster.
        path: String,
        /// The version found.
        found: String,
        /// The version that this program reads and writes.
        supported: u32,
        /// What to do.
        advice: &'static str,
    },
    /// The folder does not exist or holds no store.
    #[error("{0}: there is no catalogue here")]
    Missing(String),
    /// A catalogue exists where a new one was to be created.
    #[error("{0}: there is already a catalogue here; name an empty or a new folder")]
    Occupied(String),
    /// The folder holds unrelated files.
    #[error(
        "{0}: this folder is not a Lapidary catalogue and not empty; name an empty or a new folder"
    )]
    Foreign(String),
    /// The data on disk is inconsistent.
    #[error(
        "the data in {path} is damaged ({detail}); restore a backup, or ingest the books into a new folder"
    )]
    Damaged {
        /// The data folder.
        path: String,
        /// What was found.
        detail: String,
    },
    /// The disk is full.
    #[error(
        "the disk of {0} is full: nothing of this change was kept; free some space and try again"
    )]
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
    #[error("there are no gems of recipe '{asked}' here; recipes here: {known}")]
    UnknownRecipe {
        /// The recipe asked for.
        asked: RecipeName,
        /// The known recipes, or `none yet`.
        known: String,
    },
    /// A recipe of the same name has another definition.
    #[error("there is already a different recipe named '{0}'; give this one another name")]
    RecipeDiffers(RecipeName),
    /// A gem has more bits than its recipe allows.
    #[error(
        "{book} has the gem {gem}, but gems of recipe '{recipe}' have {bits} bits; name the recipe that the gems were computed with"
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
        "{book} has gems of {recipes} and would have none at all, so that checks could no longer find it; send its whole \
         text, or disable or remove the book"
    )]
    WouldBeEmpty {
        /// The book.
        book: BookKey,
        /// The recipes that it has gems of.
        recipes: String,
    },
    /// A book is not in a version that a change is for.
    #[error("{book} {}, so nothing was changed; get it again, and decide anew", if *is_there { "is there in another version than the request is for" } else { "is not there" })]
    OtherVersion {
        /// The book.
        book: BookKey,
        /// Whether there is such a book.
        is_there: bool,
    },
    /// A ban by a key that may not forbid texts.
    #[error(
        "{0}: this key may not add, change or remove texts that nobody may publish (forbidden); ask an administrator for a key \
         that may (keys add --permission ban)"
    )]
    MayNotForbid(String),
    /// Something that an administrator did, and a library's key would undo.
    #[error(
        "{book} was {what} by an administrator, and only an administrator may change that; nothing was changed"
    )]
    SetByAdministrator {
        /// The book.
        book: BookKey,
        /// What was done.
        what: &'static str,
    },
    /// A library's key would end the quarantine of a book.
    #[error("only an administrator may confirm {0}; nothing was changed")]
    MayNotConfirm(BookKey),
    /// Several books have the same key where keys must be unique.
    #[error("{0} occurs twice; give each book its own id")]
    Duplicate(String),
    /// A book is out of order.
    #[error("{0} is out of order; sort the books by library and id")]
    Unordered(String),
    /// The default recipe cannot be dropped.
    #[error(
        "'{0}' is the default recipe and cannot be dropped; make another recipe the default first"
    )]
    IsDefault(RecipeName),
    /// The folder contains no backup.
    #[error("{0}: there is no backup of a catalogue here")]
    NoBackup(String),
    /// The store has no files to back up.
    #[error(
        "the engine of this store has no backups; use lapidary export, or what the cluster has for snapshots of its nodes"
    )]
    NotOffered,
    /// Some node of the store does not answer, so the question has no complete answer.
    #[error("{store} is not available ({detail}); try again in some seconds")]
    Unavailable {
        /// The address of the store.
        store: String,
        /// What a node said, or why it could not be asked.
        detail: String,
    },
    /// A node has lost what it had, so the question has no complete answer.
    #[error(
        "{store}: {node} has lost {what}, so answers would miss books; start it with its data, or see what is lost and \
         repair the rest: lapidary verify --store {store} --fix"
    )]
    Emptied {
        /// The address of the store.
        store: String,
        /// The node.
        node: String,
        /// What is missing.
        what: String,
    },
    /// The address names nodes that do not belong together.
    #[error("{store}: {} and {} are of different clusters; name nodes of one cluster", .nodes[0], .nodes[1])]
    TwoClusters {
        /// The address of the store.
        store: String,
        /// A node of each.
        nodes: [String; 2],
    },
    /// A change is not on all replicas yet.
    #[error(
        "{store}: not all replicas of {node} have acknowledged the change, so it may be lost or not; try again, and check the replicas"
    )]
    NotReplicated {
        /// The address of the store.
        store: String,
        /// The node.
        node: String,
    },
    /// A node has no memory left.
    #[error(
        "{store}: the memory of {node} is full, so the change may not have been made; add nodes or raise its maxmemory, and \
         repeat it"
    )]
    Full {
        /// The address of the store.
        store: String,
        /// The node.
        node: String,
    },
    /// Something changed too often, or in the middle of an answer.
    #[error("{0} was changed by someone else meanwhile; try again")]
    Changed(String),
    /// A node may drop keys.
    #[error(
        "{node} may drop keys when its memory is full (maxmemory-policy {policy}), so that checks would miss books; set \
         noeviction on every node, in its configuration and with: redis-cli -u redis://{node} config set maxmemory-policy \
         noeviction"
    )]
    Evicts {
        /// The node.
        node: String,
        /// Its policy.
        policy: String,
    },
    /// Nodes do not keep their data on disk.
    #[error(
        "these nodes do not keep their data on disk, so it is lost when they stop: {nodes}; set appendonly yes on each, in its \
         configuration and with: redis-cli -u redis://{node} config set appendonly yes, or allow it: --allow-volatile"
    )]
    Volatile {
        /// One of them.
        node: String,
        /// All of them.
        nodes: String,
    },
    /// A book's record would be longer than it may be.
    #[error(transparent)]
    TooLong(TooLong),
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

impl Classified for StoreError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::InUse { .. } => ErrorCode::InUse,
            Self::Missing(_) => ErrorCode::NoCatalogue,
            Self::Occupied(_) => ErrorCode::CatalogueExists,
            Self::Foreign(_) => ErrorCode::NotACatalogue,
            Self::NoBackup(_) => ErrorCode::NoBackup,
            Self::DiskFull(_) => ErrorCode::DiskFull,
            Self::UnknownRecipe { .. } => ErrorCode::UnknownRecipe,
            Self::RecipeDiffers(_) => ErrorCode::RecipeDiffers,
            Self::GemTooLarge { .. } => ErrorCode::BadGem,
            Self::WouldBeEmpty { .. } => ErrorCode::WouldBeEmpty,
            Self::OtherVersion { .. } => ErrorCode::PreconditionFailed,
            Self::MayNotForbid(_) => ErrorCode::MayNotForbid,
            Self::SetByAdministrator { .. } | Self::MayNotConfirm(_) => {
                ErrorCode::SetByAdministrator
            }
            Self::Duplicate(_) | Self::Unordered(_) => ErrorCode::Duplicate,
            Self::IsDefault(_) => ErrorCode::IsDefault,
            Self::NotOffered => ErrorCode::NotOffered,
            Self::Unavailable { .. } => ErrorCode::StoreUnavailable,
            Self::Emptied { .. } => ErrorCode::StoreEmptied,
            Self::NotReplicated { .. } => ErrorCode::NotReplicated,
            Self::Full { .. } => ErrorCode::StoreFull,
            Self::Changed(_) => ErrorCode::ChangedMeanwhile,
            Self::TooLong(_) => ErrorCode::TooLong,
            Self::Evicts { .. }
            | Self::Volatile { .. }
            | Self::TwoClusters { .. }
            | Self::Version { .. }
            | Self::Damaged { .. }
            | Self::Denied { .. }
            | Self::Stopped
            | Self::Io { .. } => ErrorCode::StoreFailed,
        }
    }
}
