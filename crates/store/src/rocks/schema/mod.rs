//! The column families, with all their keys and small values.
//!
//! Numbers in keys are big-endian, so the order of the bytes is the order of the numbers.

mod meta;
mod postings;

use serde::Serialize;

pub(super) use self::meta::MetaKey;
pub(super) use self::postings::{
    Bucket, DeltaKey, Postings, Sign, delta_key, gem_key, list_key, read_bucket_key, read_gem_key,
    rest_bits, rest_of, split_delta_key,
};
use super::owners::LibraryNo;
use crate::recipes::KnownRecipe;
use crate::{BookKey, BookNo, Field, Library, Term};

/// The version of everything in this module. Any change of a key, a value or an encoding needs a new version.
pub(super) const FORMAT_VERSION: u32 = 14;

/// A column family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Metadata of the store:
    ///
    /// ```text
    /// ┌────────────────────┐
    /// │ "version"          │ → format version, u32
    /// ├────────────────────┤
    /// │ "next"             │ → the next book's number, u32 (absent: 0); a number is never used again
    /// ├────────────────────┤
    /// │ "audited"          │ → the number of the last entry of the audit log, u64 (absent: 0)
    /// ├────────────────────┤
    /// │ "postings"         │ → number of postings in the main index, and in the delta, each u64 (absent: 0)
    /// ├────────────────────┤
    /// │ "default"          │ → the default recipe, u16 (absent: the recipe with the lowest number)
    /// ├────────────────────┤
    /// │ "folds"            │ → nothing; present if folds of added books are kept
    /// ├────────────┬───────┤
    /// │ "recipe\0" │recipe │ → the recipe's definition, JSON; its number, u16, represents it in keys
    /// │            │ u16   │
    /// ├────────────┼───────┤
    /// │ "sizes\0"  │recipe │ → distribution of gem counts under the recipe, JSON
    /// │            │ u16   │
    /// ├────────────┼───────┤
    /// │ "leaving\0"│recipe │ → nothing; present while the recipe is being dropped: records then stop naming it, one
    /// │            │ u16   │   after another, and its gem lists, postings and sizes stay until the end
    /// ├────────────┼───────┤
    /// │ "ready\0"  │recipe │ → nothing; present once the recipe was the default, or was made ready: checks may name it
    /// │            │ u16   │
    /// ├────────────┼───────┤
    /// │ "library\0"│ name  │ → the library's summary, JSON; absent if it holds no books
    /// ├────────────┼───────┤
    /// │ "owner\0"  │ book  │ → numbers from this one on belong to one library ([`super::owners`]): the number of
    /// │            │ u32   │   its first book, u32; if that is this one, its name follows
    /// ├────────────┼───────┴─────┐
    /// │ "setting\0"│ kind\0 name │ → a setting, in the form of its kind
    /// └────────────┴─────────────┘
    /// ```
    Meta,
    /// Records:
    ///
    /// ```text
    /// ┌──────────┐
    /// │ book u32 │ → record, JSON
    /// └──────────┘
    /// ```
    Books,
    /// Book ids, sorted by library and id. Names contain no control characters, so the keys of different libraries do
    /// not interleave:
    ///
    /// ```text
    /// ┌─────────┬──────┬────┐
    /// │ library │ 0x00 │ id │ → book u32
    /// └─────────┴──────┴────┘
    /// ```
    Ids,
    /// Each book's gems in order of first occurrence, with their positions ([`super::gem_list`]), whether or not they
    /// are posted ([`lapidary_gems::Recipe::posted`]):
    ///
    /// ```text
    /// ┌────────────┬──────────┐
    /// │ recipe u16 │ book u32 │ → gem list
    /// └────────────┴──────────┘
    /// ```
    Gems,
    /// The main index: the posting lists of neighbouring gems, packed into one bucket per key ([`super::postings`]).
    /// The bucket number is the upper 20 bits of its gems:
    ///
    /// ```text
    /// ┌────────────┬────────────┐
    /// │ recipe u16 │ bucket u24 │ → bucket: the lower bits of its gems, and their books
    /// └────────────┴────────────┘
    /// ```
    Postings,
    /// Posting lists that are too long for a bucket; the bucket only has their length. Each library's books are
    /// stored separately, so that a check reads none of a library that has too many:
    ///
    /// ```text
    /// ┌────────────┬────────────────────┐
    /// │ recipe u16 │ gem u32, or u48    │ → how many books each library has in the list
    /// │            │ by its recipe      │
    /// ├────────────┼────────────────────┼──────────────────────┐
    /// │ recipe u16 │ gem                │ library's number u32 │ → list of its books
    /// └────────────┴────────────────────┴──────────────────────┘
    /// ```
    Lists,
    /// The delta: exactly the postings in which the main index differs from what the books' gems require. With it,
    /// changing a book reads no list. It is merged into the main index step by step ([`super::merge`]):
    ///
    /// ```text
    /// ┌────────────┬────────────────────┬────────────┬──────────┐
    /// │ recipe u16 │ gem u32, or u48    │ removed: 0 │ book u32 │ → nothing
    /// │            │ by its recipe      │ added:   1 │          │
    /// └────────────┴────────────────────┴────────────┴──────────┘
    ///  └──────── prefix: one gem ──────┘
    /// ```
    Delta,
    /// Books by the digests of their texts ([`crate::Record::digest`],
    /// [`crate::Record::clean_digest`]):
    ///
    /// ```text
    /// ┌──────────────────────────┬──────────┐
    /// │ first 16 bytes of digest │ book u32 │ → nothing
    /// └──────────────────────────┴──────────┘
    /// ```
    Digests,
    /// Books by the words of their titles and authors, and by their identifiers ([`crate::Term`]):
    ///
    /// ```text
    /// ┌──────────────────────────────────────┬──────────────────────┬──────────┐
    /// │ first 8 bytes of the term's BLAKE3   │ library's number u32 │ book u32 │ → nothing
    /// └──────────────────────────────────────┴──────────────────────┴──────────┘
    /// ```
    Terms,
    /// Stored folds of books ([`lapidary_gems::PackedFold`]), by the name of the recipe that makes them:
    ///
    /// ```text
    /// ┌──────────┬──────┐
    /// │ book u32 │ base │ → packed fold
    /// └──────────┴──────┘
    /// ```
    Folds,
    /// Kept texts of books ([`crate::NewBook::text`]):
    ///
    /// ```text
    /// ┌──────────┐
    /// │ book u32 │ → the text, UTF-8
    /// └──────────┘
    /// ```
    Texts,
    /// Jobs, finished and running:
    ///
    /// ```text
    /// ┌─────────┐
    /// │ job u32 │ → job, JSON
    /// └─────────┘
    /// ```
    Jobs,
    /// Access keys of the server:
    ///
    /// ```text
    /// ┌────────┐
    /// │ key id │ → key, JSON, with the digest of its secret
    /// └────────┘
    /// ```
    Keys,
    /// Filed checks with their texts, and decisions about them, in the form of the catalogue (`catalogue/decisions.rs`).
    Decisions,
    /// The audit log. A long one loses its oldest entries ([`super::audit`]):
    ///
    /// ```text
    /// ┌────────────┐
    /// │ number u64 │ → entry, JSON
    /// └────────────┘
    /// ```
    Audit,
}

impl Family {
    /// All families. A folder without one of them is damaged.
    pub(super) const ALL: [Self; 15] = [
        Self::Meta,
        Self::Books,
        Self::Ids,
        Self::Gems,
        Self::Postings,
        Self::Lists,
        Self::Delta,
        Self::Digests,
        Self::Terms,
        Self::Folds,
        Self::Texts,
        Self::Jobs,
        Self::Keys,
        Self::Decisions,
        Self::Audit,
    ];

    /// The name in `RocksDB`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Books => "books",
            Self::Ids => "ids",
            Self::Gems => "gems",
            Self::Postings => "postings",
            Self::Lists => "lists",
            Self::Delta => "delta",
            Self::Digests => "digests",
            Self::Terms => "terms",
            Self::Folds => "folds",
            Self::Texts => "texts",
            Self::Jobs => "jobs",
            Self::Keys => "keys",
            Self::Decisions => "decisions",
            Self::Audit => "audit",
        }
    }
}

/// Serializes a value as JSON.
pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("these types have text keys only and write to memory")
}

/// Size of a recipe's number.
const RECIPE_BYTES: usize = 2;
/// Size of a book's number.
const BOOK_BYTES: usize = 4;
/// Size of a bucket's number.
const BUCKET_BYTES: usize = 3;
/// Number of upper bits of a gem that form its bucket number. With 2^20 buckets, each has 300 bytes for 100 million
/// postings, so the size of its key is negligible, and 4 KB for a billion, so a gem in it is found within a
/// microsecond.
const BUCKET_BITS: u32 = 20;
/// Size of the shortest key of the delta.
pub(super) const DELTA_BYTES: usize = RECIPE_BYTES + 4 + 1 + BOOK_BYTES;

/// Parses a recipe's number.
pub(super) fn read_recipe(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

pub(super) fn fold_key(book: BookNo, base: &str) -> Vec<u8> {
    [&book.0.to_be_bytes(), base.as_bytes()].concat()
}

/// Parses a key of [`Family::Folds`] into the book and the name of the base.
pub(super) fn read_fold_key(key: &[u8]) -> Option<(BookNo, &str)> {
    let (book, base) = key.split_first_chunk::<BOOK_BYTES>()?;
    Some((
        BookNo(u32::from_be_bytes(*book)),
        str::from_utf8(base).ok()?,
    ))
}

/// Number of bytes of a digest used in keys.
pub(super) const DIGEST_BYTES: usize = 16;

/// A key of [`Family::Digests`].
pub(super) type DigestKey = [u8; DIGEST_BYTES + BOOK_BYTES];

/// Key prefix of all books with a text of this digest; `None` if the digest is invalid.
pub(super) fn digest_prefix(digest: &str) -> Option<[u8; DIGEST_BYTES]> {
    let mut prefix = [0; DIGEST_BYTES];
    hex::decode_to_slice(digest.get(..2 * DIGEST_BYTES)?, &mut prefix).ok()?;
    Some(prefix)
}

pub(super) fn digest_key(digest: &str, book: BookNo) -> Option<DigestKey> {
    let mut key = DigestKey::default();
    key[..DIGEST_BYTES].copy_from_slice(&digest_prefix(digest)?);
    key[DIGEST_BYTES..].copy_from_slice(&book.0.to_be_bytes());
    Some(key)
}

/// Parses a key of [`Family::Digests`] into the start of the digest, in hexadecimal, and the book.
pub(super) fn read_digest_key(key: &[u8]) -> Option<(String, BookNo)> {
    let (digest, book) = key.split_first_chunk::<DIGEST_BYTES>()?;
    Some((hex::encode(digest), read_book(book)?))
}

/// Number of bytes of a term's hash used in keys. Different terms with the same hash are practically impossible.
pub(super) const TERM_BYTES: usize = 8;
/// Size of a library's number.
const LIBRARY_BYTES: usize = 4;

/// A key of [`Family::Terms`].
pub(super) type TermKey = [u8; TERM_BYTES + LIBRARY_BYTES + BOOK_BYTES];

/// Key prefix of all books with a term.
pub(super) fn term_prefix(term: &Term) -> [u8; TERM_BYTES] {
    let field = match term.field() {
        Field::Title => b't',
        Field::Author => b'a',
        Field::Identifier => b'i',
        Field::Beginning => b'b',
        Field::Rights => b'r',
        Field::Language => b'l',
        Field::State => b's',
    };
    let hash = blake3::hash(&[&[field], term.text().as_bytes()].concat());
    let mut prefix = [0; TERM_BYTES];
    prefix.copy_from_slice(&hash.as_bytes()[..TERM_BYTES]);
    prefix
}

pub(super) fn term_key(prefix: [u8; TERM_BYTES], library: LibraryNo, book: BookNo) -> TermKey {
    let mut key = TermKey::default();
    key[..TERM_BYTES].copy_from_slice(&prefix);
    key[TERM_BYTES..][..LIBRARY_BYTES].copy_from_slice(&library.0.to_be_bytes());
    key[TERM_BYTES + LIBRARY_BYTES..].copy_from_slice(&book.0.to_be_bytes());
    key
}

/// Parses a key of [`Family::Terms`] into the prefix of its term, the library's number and the book.
pub(super) fn read_term_key(key: &[u8]) -> Option<([u8; TERM_BYTES], LibraryNo, BookNo)> {
    let (prefix, rest) = key.split_first_chunk()?;
    let (library, book) = rest.split_first_chunk()?;
    Some((
        *prefix,
        LibraryNo(u32::from_be_bytes(*library)),
        read_book(book)?,
    ))
}

pub(super) fn audit_key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

pub(super) fn read_audit_key(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.try_into().ok()?))
}

pub(super) fn book_key(book: BookNo) -> [u8; BOOK_BYTES] {
    book.0.to_be_bytes()
}

/// Parses a book's number, as in a key of [`Family::Books`] or a value of [`Family::Ids`].
pub(super) fn read_book(bytes: &[u8]) -> Option<BookNo> {
    Some(BookNo(u32::from_be_bytes(bytes.try_into().ok()?)))
}

/// Key prefix of all ids of a library.
pub(super) fn ids_prefix(library: &Library) -> Vec<u8> {
    [library.as_str().as_bytes(), b"\0"].concat()
}

pub(super) fn id_key(key: &BookKey) -> Vec<u8> {
    [
        key.library.as_str().as_bytes(),
        b"\0",
        key.id.as_str().as_bytes(),
    ]
    .concat()
}

/// Formats a key of [`Family::Ids`] for users.
pub(super) fn show_id_key(key: &[u8]) -> String {
    String::from_utf8_lossy(key).replacen('\0', "/", 1)
}

pub(super) fn gems_key(recipe: &KnownRecipe, book: BookNo) -> Vec<u8> {
    [&recipe.number.to_be_bytes()[..], &book.0.to_be_bytes()].concat()
}

/// Parses a key of [`Family::Gems`] into the recipe's number and the book.
pub(super) fn read_gems_key(key: &[u8]) -> Option<(u16, BookNo)> {
    let (recipe, book) = key.split_first_chunk::<RECIPE_BYTES>()?;
    Some((u16::from_be_bytes(*recipe), read_book(book)?))
}
