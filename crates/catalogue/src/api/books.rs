//! Books and libraries.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lapidary_gems::{RecipeName, Rule, WrittenGem};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::checks::is_zero;
use super::{BookRef, EvidenceStats, HiddenText, Problem, WatchStats};
use crate::object;
use crate::permission::Unless;
use crate::table::TableRow;
use crate::told::told_gems;
use lapidary_checking::Policy;
use lapidary_common::described;
use lapidary_common::description::{Description, PartialDate};
use lapidary_common::words;
use lapidary_extract::HiddenCount;
use lapidary_store::record;
use lapidary_store::{
    self, BookId, BookKey, ClusterVitals, Coverage, Library, LibrarySummary, Rights, Standing,
    Validity,
};

described! {
    /// A book to add: exactly one of `text`, `gems` and `url`.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct NewBook {
        /// The rights in the book.
        pub rights: Rights,
        /// The period in which its rights apply; by default always.
        #[serde(default, deserialize_with = "object::optional")]
        pub validity: Option<Validity>,
        /// Its text. Gems of every recipe of the catalogue are computed from it; the text itself is only stored with `keep_text`.
        pub text: Option<String>,
        /// The address of its file, as in a check. What the book does not say of itself is taken from the file.
        #[schema(max_length = 2_000)]
        pub url: Option<String>,
        /// Whether to remove print artifacts from the text; the default depends on the recipe.
        pub clean: Option<bool>,
        /// With `text`: what was left out of it when it was read from a file, because no reader sees it. The answer repeats it.
        #[schema(max_items = 12)]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub hidden: Vec<HiddenCount>,
        /// Its gems, instead of a text.
        #[schema(max_items = 100_000)]
        pub gems: Option<Vec<WrittenGem>>,
        /// The recipe of `gems`.
        pub recipe: Option<String>,
        /// Whether a book with gems can be replaced by one without gems, which checks cannot find.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub allow_empty: bool,
        /// Whether its text is kept, so that reports can show it to keys with `read_texts`. Without this, a replaced book
        /// loses its kept text.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub keep_text: bool,
        /// For a line of a stream: refuse the book if the verdict of its check is this, or stricter. In a request for one
        /// book, it is in the query.
        #[schema(ignore)]
        pub unless: Option<Unless>,
        /// With `unless`: books of the same library that do not count, by id; `same-library` for all of them.
        #[schema(ignore)]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub except: Vec<String>,
        /// The library's own id, for a line of a stream. In a request for one book, the id is in the path.
        #[schema(ignore)]
        pub id: Option<String>,
    }
}

record! {
    /// A book: everything except its gems.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    pub struct Record { #[schema(value_type = BTreeMap<String, u32>)] gems }
}

impl From<lapidary_store::Record> for Record {
    /// As it is told: the numbers of gems of recipes with a secret are the usual ones.
    fn from(stored: lapidary_store::Record) -> Self {
        Self {
            gems: told_gems(&stored),
            key: stored.key,
            rights: stored.rights,
            description: stored.description,
            digest: stored.digest,
            clean_digest: stored.clean_digest,
            bytes: stored.bytes,
            clean: stored.clean,
            text_kept: stored.text_kept,
            changed_at: stored.changed_at,
            fetched_at: stored.fetched_at,
            standing: stored.standing,
        }
    }
}

impl From<Record> for lapidary_store::Record {
    fn from(told: Record) -> Self {
        Self {
            key: told.key,
            rights: told.rights,
            description: told.description,
            digest: told.digest,
            clean_digest: told.clean_digest,
            bytes: told.bytes,
            clean: told.clean,
            text_kept: told.text_kept,
            gems: told.gems,
            changed_at: told.changed_at,
            fetched_at: told.fetched_at,
            standing: told.standing,
        }
    }
}

/// The changes to make. Fields that are left out keep their value.
#[skip_serializing_none]
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Amendment {
    /// Whether the book is disabled. A disabled book is kept, but checks do not count it.
    pub disabled: Option<bool>,
    /// `true` removes the book: checks no longer count it, and it is deleted after 30 days. `false` restores it.
    pub removed: Option<bool>,
    /// The new note; empty to remove the note.
    #[schema(max_length = 4000)]
    pub note: Option<String>,
    /// `true` ends the book's quarantine. Only for administrators.
    pub confirmed: Option<bool>,
    /// The new rights.
    pub rights: Option<Rights>,
    /// The days on which its rights are in effect; `{}` for all days.
    #[serde(default, deserialize_with = "object::optional")]
    pub validity: Option<Validity>,
    /// The new title; empty to remove it.
    pub title: Option<String>,
    /// The new list of authors.
    pub authors: Option<Vec<String>>,
    /// The new language; empty to remove it.
    pub language: Option<String>,
    /// The new list of ISBNs and other identifiers.
    pub identifiers: Option<Vec<String>>,
    /// The new date of publication; `null` to remove it.
    #[serde(default, with = "serde_with::rust::double_option")]
    #[schema(value_type = Option<PartialDate>)]
    pub published: Option<Option<PartialDate>>,
}

impl Amendment {
    /// Whether it changes nothing but the note, or whether the book is confirmed.
    pub(crate) fn is_of_notes(&self) -> bool {
        let others = Self {
            note: None,
            confirmed: None,
            ..self.clone()
        };
        others == Self::default()
    }
}

words! {
    /// The effect of adding a book.
    pub enum AddOutcome {
        /// The book is new.
        Added = "added",
        /// The book replaced an earlier version: another text, other metadata, fewer recipes, no fold, or
        /// its text was kept and is not any more, or the other way round. A disabled book
        /// stays disabled.
        Replaced = "replaced",
        /// An identical book was already there.
        Unchanged = "unchanged",
    }
}

/// The result of adding a book.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Added {
    /// What was done.
    pub outcome: AddOutcome,
    /// The book's record.
    pub book: Record,
    /// Words of its file that no reader sees, if there are any. They were left out of its text.
    pub hidden: Option<HiddenText>,
    /// Why the book decides only in what keys of its library are told, if it does.
    pub restriction: Option<Restriction>,
    /// How many books the check of its gate could compare it with, if not all: those of other libraries that are known only by
    /// gems of another recipe. Books of libraries that only inform are not counted.
    pub coverage: Option<Coverage>,
    /// Number of books with gems of the text that the check of its gate did not compare with it, because there were too many of
    /// their library.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncompared: usize,
    /// Books that the check of its gate found and that did not keep it out, such as a free edition: the best ones, of the
    /// libraries that the key can see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<BookRef>,
    /// The gate that it passed, because the request or the key asked for it: the verdict that would have kept it out.
    pub unless: Option<Unless>,
}

/// A line of the response.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FeedAnswer {
    /// The line of the request that this answers, or the number of the file in a form, starting at 1.
    pub line: u64,
    /// The name of the file, if it came with a form.
    pub file: Option<String>,
    /// The book's id, if it could be read.
    pub id: Option<String>,
    /// The outcome for this book.
    pub outcome: FeedOutcome,
    /// The number of gems under the recipe that produced the most; if 0, checks cannot find the book. Those of a
    /// recipe with a secret are estimated from the length.
    pub gems: Option<u32>,
    /// Words of its file that no reader sees, if there are any. They were left out of its text.
    pub hidden: Option<HiddenText>,
    /// Why the book decides only in what keys of its library are told, if it does.
    pub restriction: Option<Restriction>,
    /// How many books the check of its gate could compare it with, if not all.
    pub coverage: Option<Coverage>,
    /// Books that the check of its gate found and that did not keep it out: the best ones, of the libraries that the key can
    /// see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<BookRef>,
    /// The gate that it passed, because the request or the key asked for it: the verdict that would have kept it out.
    pub unless: Option<Unless>,
    /// Why the book was refused.
    pub problem: Option<Problem>,
}

/// The outcome for a book. Unless it was refused, the book is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedOutcome {
    /// The book is new.
    Added,
    /// The book replaced one with another text or other metadata.
    Replaced,
    /// An identical book was already in the catalogue.
    Unchanged,
    /// The book was not added, or the existing one was left as it was.
    Refused,
}

/// What became of a row of a table, or what would become of it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImportAnswer {
    /// The line of the table, or in a feed the number of the record, starting at 1; 0 for a file that no row is for.
    pub line: u64,
    /// The book's id, if it could be read.
    pub id: Option<String>,
    /// The file of the book, if it came with the table.
    pub file: Option<String>,
    /// The outcome.
    pub outcome: RowOutcome,
    /// What differs from the record that was there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldChange>,
    /// What the row says, unless it was refused: as a line of JSON Lines, it is the same row.
    pub row: Option<TableRow>,
    /// Why the row was refused.
    pub problem: Option<Problem>,
}

/// What became of the book of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowOutcome {
    /// The book is new: its file came with the table.
    Added,
    /// The text or the metadata of the book was replaced: its file came with the table.
    Replaced,
    /// The metadata of the book was changed.
    Changed,
    /// The book was as the row says.
    Unchanged,
    /// There is no such book, and no file for it.
    Missing,
    /// The row was refused, and the book was left as it was.
    Refused,
}

/// A field of a book, before and after a change. A list has semicolons, and what is missing is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    /// Its name.
    pub field: String,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
}

/// A page of a library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Page {
    /// The records.
    pub books: Vec<Record>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<BookId>,
}

/// A page of the books found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FoundBooks {
    /// The records. There may be fewer than the limit, or none, although more pages follow.
    pub books: Vec<Record>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// A library.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LibraryListing {
    /// The library.
    pub library: Library,
    /// Whether its books decide in what others are told. The books of a library that is not trusted decide only in what its
    /// own keys are told, and are information for everybody else.
    #[serde(default = "yes")]
    pub trusted: bool,
    /// From how much on a match with one of its books decides, if an administrator said so.
    pub policy: Option<Policy>,
    /// Number of books.
    pub books: u64,
    /// Number of disabled books.
    #[serde(default)]
    pub disabled: u64,
    /// Number of books in quarantine: they decide nothing for others until an administrator confirms them.
    #[serde(default)]
    pub quarantined: u64,
    /// Total length of the texts, in bytes of UTF-8.
    pub bytes: u64,
    /// Number of books whose text is kept.
    #[serde(default)]
    pub kept_texts: u64,
    /// Total length of the kept texts, in bytes of UTF-8.
    #[serde(default)]
    pub kept_bytes: u64,
    /// Number of books by the recipes that they have gems of: the names, separated by spaces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub recipes: BTreeMap<String, u64>,
    /// When one of its books was last added, replaced (both by the books' own `changed_at`), amended or removed.
    pub changed_at: Timestamp,
}

fn yes() -> bool {
    true
}

impl LibraryListing {
    /// A library, whether it is trusted, and its policy.
    #[must_use]
    pub fn new(summary: LibrarySummary, trusted: bool, policy: Option<Policy>) -> Self {
        let LibrarySummary {
            library,
            books,
            disabled,
            quarantined,
            bytes,
            kept_texts,
            kept_bytes,
            recipes,
            changed_at,
        } = summary;
        Self {
            library,
            trusted,
            policy,
            books,
            disabled,
            quarantined,
            bytes,
            kept_texts,
            kept_bytes,
            recipes,
            changed_at,
        }
    }
}

/// Whether a library is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LibraryTrust {
    /// Whether its books decide in what others are told.
    pub trusted: bool,
}

/// Why a book decides only in what keys of its own library are told. For everybody else, it is information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restriction {
    /// Its library is not trusted.
    UntrustedLibrary,
    /// It shares passages with several unrelated works of other libraries, and waits until an administrator confirms it.
    Quarantined,
}

/// A page of libraries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Libraries {
    /// Ordered by name.
    pub libraries: Vec<LibraryListing>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// Statistics of a catalogue.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Stats {
    /// Number of books.
    pub books: u64,
    /// Number of disabled books, which checks do not count.
    #[serde(default)]
    pub disabled: u64,
    /// Statistics per recipe, the default first.
    pub recipes: Vec<RecipeStats>,
    /// The libraries.
    pub libraries: Vec<LibraryListing>,
    /// Size of all files, in bytes; 0 if the store's engine does not know.
    pub disk_bytes: u64,
    /// Size of the posting lists, in bytes; part of `disk_bytes`.
    pub posting_bytes: u64,
    /// The kept texts of filed checks.
    #[serde(default)]
    pub evidence: EvidenceStats,
    /// The filed checks that are watched.
    #[serde(default)]
    pub watched: WatchStats,
    /// The rule that checks use with the default recipe.
    pub rule: Rule,
    /// The state of the cluster, if the catalogue is in one that answers.
    pub cluster: Option<ClusterStats>,
}

/// The state of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterStats {
    /// The nodes that answer.
    pub nodes: Vec<NodeStats>,
    /// Number of primaries that others have replaced, as this server has seen it.
    pub failovers: u64,
    /// Number of changes of books that are being made, or were left half done.
    pub pending_changes: u64,
}

/// The state of a node of a cluster.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeStats {
    /// Host and port.
    pub address: String,
    /// Whether it is no replica.
    pub primary: bool,
    /// Used memory, in bytes.
    pub memory_bytes: u64,
    /// Maximum memory, in bytes; missing if it has no limit.
    pub max_memory_bytes: Option<u64>,
    /// Number of its replicas that are in sync.
    pub replicas: u64,
    /// How far the slowest of these is behind, in bytes.
    pub lag_bytes: u64,
}

impl From<ClusterVitals> for ClusterStats {
    fn from(
        ClusterVitals {
            nodes,
            pending,
            failovers,
            ..
        }: ClusterVitals,
    ) -> Self {
        let nodes = nodes.into_iter().map(|node| NodeStats {
            address: node.address,
            primary: node.is_primary,
            memory_bytes: node.used,
            max_memory_bytes: Some(node.most).filter(|most| *most > 0),
            replicas: node.replicas,
            lag_bytes: node.lag,
        });
        let mut nodes: Vec<NodeStats> = nodes.collect();
        nodes.sort_by(|a, b| (!a.primary, &a.address).cmp(&(!b.primary, &b.address)));
        Self {
            nodes,
            failovers,
            pending_changes: pending,
        }
    }
}

/// Statistics of one recipe.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecipeStats {
    /// The recipe.
    #[schema(value_type = String)]
    pub recipe: RecipeName,
    /// Whether checks use it by default.
    pub default: bool,
    /// Whether a check can name it without `allow_incomplete`. A recipe is ready once it has been the default or
    /// every book has had gems of it.
    #[serde(default)]
    pub ready: bool,
    /// Number of books that have gems of it, or are too short to have any.
    pub books: u64,
    /// Total number of gems of those books, which is the number of postings in the index.
    pub gems: u64,
    /// The lexicon that it weighs words by, if it is a signature that does.
    pub lexicon: Option<LexiconStats>,
}

/// A lexicon of a recipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LexiconStats {
    /// Its name: the first 16 hexadecimal digits of its SHA-256.
    pub name: String,
    /// The number of documents that it counts.
    pub documents: u64,
    /// The number of words in it.
    pub words: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A page of recipes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecipeList {
    /// Ordered by name.
    pub recipes: Vec<RecipeStats>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}
