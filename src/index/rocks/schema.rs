//! The column families: their keys, values and options, all in this one place.
//!
//! Numbers in keys are big-endian, so that the order of the bytes is the order of the numbers.

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType, DBRecoveryMode,
    DEFAULT_COLUMN_FAMILY_NAME, LogLevel, Options, SliceTransform,
};

use super::recipes::KnownRecipe;
use crate::fingerprint::Gem;
use crate::index::{BookKey, BookNo, Library};

/// The version of everything in this file. A change of a key, a value or a codec is a new version.
pub(super) const FORMAT_VERSION: u32 = 1;

/// A column family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// What the store knows of itself:
    ///
    /// ```text
    /// ┌────────────────────┐
    /// │ "version"          │ → format version, u32
    /// ├────────────────────┤
    /// │ "next"             │ → the next book's number, u32 (absent: 0); a number is never used again
    /// ├───────────┬────────┤
    /// │ "recipe\0"│ recipe │ → the recipe's definition, JSON; its number, u16, is its place in the order of adding
    /// │           │ u16    │
    /// ├───────────┼────────┤
    /// │ "sizes\0" │ recipe │ → how many books have how many gems of the recipe, JSON
    /// │           │ u16    │
    /// ├───────────┴┬───────┴┐
    /// │ "library\0"│ name   │ → the library's summary, JSON; absent when it holds no book
    /// └────────────┴────────┘
    /// ```
    Meta,
    /// The records:
    ///
    /// ```text
    /// ┌──────────┐
    /// │ book u32 │ → record, JSON
    /// └──────────┘
    /// ```
    Books,
    /// The books' names, in the order of libraries and ids. A name has no control characters, so that no library's
    /// keys lie among those of another:
    ///
    /// ```text
    /// ┌─────────┬──────┬────┐
    /// │ library │ 0x00 │ id │ → book u32
    /// └─────────┴──────┴────┘
    /// ```
    Ids,
    /// Each book's gems in order of first place, with their places ([`super::codec`]):
    ///
    /// ```text
    /// ┌────────────┬──────────┐
    /// │ recipe u16 │ book u32 │ → gem list
    /// └────────────┴──────────┘
    /// ```
    Gems,
    /// The posting lists, a key a posting. So a book's change needs no list to be read first, and a removal is a
    /// plain deletion:
    ///
    /// ```text
    /// ┌────────────┬────────────────────┬──────────┐
    /// │ recipe u16 │ gem u32, or u64    │ book u32 │ → nothing
    /// │            │ by its recipe      │          │
    /// └────────────┴────────────────────┴──────────┘
    ///  └──────── prefix: one list ─────┘
    /// ```
    Postings,
}

impl Family {
    pub(super) const ALL: [Self; 5] = [Self::Meta, Self::Books, Self::Ids, Self::Gems, Self::Postings];

    /// The name in `RocksDB`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Books => "books",
            Self::Ids => "ids",
            Self::Gems => "gems",
            Self::Postings => "postings",
        }
    }
}

/// [`Family::Meta`]: the format version.
pub(super) const VERSION: &[u8] = b"version";
/// [`Family::Meta`]: the next book's number.
pub(super) const NEXT: &[u8] = b"next";
/// [`Family::Meta`]: begins the key of a recipe's definition.
pub(super) const RECIPE: &[u8] = b"recipe\0";
/// [`Family::Meta`]: begins the key of a recipe's sizes.
pub(super) const SIZES: &[u8] = b"sizes\0";
/// [`Family::Meta`]: begins the key of a library's summary.
pub(super) const LIBRARY: &[u8] = b"library\0";

/// Bytes of a recipe's number.
const RECIPE_BYTES: usize = 2;
/// Bytes of a book's number.
const BOOK_BYTES: usize = 4;
/// Bytes of the shortest posting key.
const POSTING_BYTES: usize = RECIPE_BYTES + 4 + BOOK_BYTES;

pub(super) fn recipe_key(recipe: u16) -> Vec<u8> {
    [RECIPE, &recipe.to_be_bytes()].concat()
}

pub(super) fn sizes_key(recipe: u16) -> Vec<u8> {
    [SIZES, &recipe.to_be_bytes()].concat()
}

pub(super) fn library_key(library: &Library) -> Vec<u8> {
    [LIBRARY, library.as_str().as_bytes()].concat()
}

pub(super) fn book_key(book: BookNo) -> [u8; BOOK_BYTES] {
    book.0.to_be_bytes()
}

/// Reads a book's number, as a key of [`Family::Books`] or a value of [`Family::Ids`].
pub(super) fn read_book(bytes: &[u8]) -> Option<BookNo> {
    Some(BookNo(u32::from_be_bytes(bytes.try_into().ok()?)))
}

/// What the keys of all the library's ids begin with.
pub(super) fn ids_prefix(library: &Library) -> Vec<u8> {
    [library.as_str().as_bytes(), b"\0"].concat()
}

pub(super) fn id_key(key: &BookKey) -> Vec<u8> {
    [key.library.as_str().as_bytes(), b"\0", key.id.as_str().as_bytes()].concat()
}

pub(super) fn gems_key(recipe: &KnownRecipe, book: BookNo) -> Vec<u8> {
    [&recipe.number.to_be_bytes()[..], &book.0.to_be_bytes()].concat()
}

/// Reads a key of [`Family::Gems`] into the recipe's number and the book.
pub(super) fn read_gems_key(key: &[u8]) -> Option<(u16, BookNo)> {
    let (recipe, book) = key.split_first_chunk::<RECIPE_BYTES>()?;
    Some((u16::from_be_bytes(*recipe), read_book(book)?))
}

/// What the keys of all postings of a gem begin with. The gem fits into its recipe's bits.
pub(super) fn postings_prefix(recipe: &KnownRecipe, gem: Gem) -> Vec<u8> {
    let gem = gem.0.to_be_bytes();
    let mut key = Vec::with_capacity(RECIPE_BYTES + gem.len() + BOOK_BYTES);
    key.extend(recipe.number.to_be_bytes());
    key.extend(&gem[gem.len() - recipe.gem_bytes()..]);
    key
}

pub(super) fn posting_key(recipe: &KnownRecipe, gem: Gem, book: BookNo) -> Vec<u8> {
    let mut key = postings_prefix(recipe, gem);
    key.extend(book.0.to_be_bytes());
    key
}

/// Splits a key of [`Family::Postings`] into what is common to its list and the book.
pub(super) fn split_posting(key: &[u8]) -> Option<(&[u8], BookNo)> {
    let (list, book) = key.split_last_chunk::<BOOK_BYTES>()?;
    Some((list, BookNo(u32::from_be_bytes(*book))))
}

/// Reads what is common to the keys of a list into the recipe's number and the gem's bytes.
pub(super) fn read_postings_prefix(list: &[u8]) -> Option<(u16, &[u8])> {
    let (recipe, gem) = list.split_first_chunk::<RECIPE_BYTES>()?;
    Some((u16::from_be_bytes(*recipe), gem))
}

/// Uncompressed blocks, indexes and filters in memory, of all families together.
const CACHE_BYTES: usize = 128 << 20;
/// One memtable. Larger ones make fewer and longer flushes, but every memtable is read again after a crash.
const MEMTABLE_BYTES: usize = 32 << 20;
/// All memtables together: two full ones of the postings and one each of the families that grow with them.
const ALL_MEMTABLES_BYTES: usize = 128 << 20;
/// The write-ahead log: the bound on what is read again after a crash.
const WAL_BYTES: u64 = 256 << 20;
/// Open files: half of what Linux gives a process without being asked, so that connections have the other half.
const OPEN_FILES: i32 = 512;
/// `RocksDB`'s own log: enough for the last incidents.
const LOG_FILES: usize = 3;
const LOG_BYTES: usize = 1 << 20;
/// Threads for flushes and compactions; more would compete with the checks.
const MOST_JOBS: i32 = 4;
/// Bloom filters of 10 bits a key let 1 in 100 absent keys through.
const BLOOM_BITS: f64 = 10.0;
/// Blocks of records and gem lists, which are read whole and by the book: larger ones compress better.
const LARGE_BLOCK_BYTES: usize = 16 << 10;

/// The options of the whole database.
pub(super) fn database() -> Options {
    let mut options = Options::default();
    options.set_paranoid_checks(true);
    // A torn record at the end is a change that was never acknowledged and is dropped. A broken one elsewhere was
    // acknowledged: the default would drop it and all behind it without a word.
    options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    options.set_track_and_verify_wals_in_manifest(true);
    options.set_max_total_wal_size(WAL_BYTES);
    options.set_db_write_buffer_size(ALL_MEMTABLES_BYTES);
    options.set_max_open_files(OPEN_FILES);
    let processors = std::thread::available_parallelism().map_or(1, |n| i32::try_from(n.get()).unwrap_or(i32::MAX));
    options.set_max_background_jobs(processors.clamp(2, MOST_JOBS));
    options.set_keep_log_file_num(LOG_FILES);
    options.set_max_log_file_size(LOG_BYTES);
    options.set_log_level(LogLevel::Warn);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options
}

/// Every family with its options.
pub(super) fn families() -> Vec<ColumnFamilyDescriptor> {
    let cache = Cache::new_lru_cache(CACHE_BYTES);
    // `RocksDB` always has this one. It stays empty, but its memtable counts: after a full disk, writing begins again
    // when the largest memtable of all has room on the disk.
    let mut unused = Options::default();
    unused.set_write_buffer_size(MEMTABLE_BYTES);
    let unused = ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY_NAME, unused);
    let used = Family::ALL.map(|family| ColumnFamilyDescriptor::new(family.name(), family_options(family, &cache)));
    used.into_iter().chain([unused]).collect()
}

fn family_options(family: Family, cache: &Cache) -> Options {
    let mut options = Options::default();
    options.set_write_buffer_size(MEMTABLE_BYTES);
    // Most data lies on the last level, where it is written seldom: there size counts, above it speed.
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_bottommost_compression_type(DBCompressionType::Zstd);

    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    // In the cache, so that memory stays bounded however large the index grows.
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    match family {
        Family::Meta => {}
        Family::Books | Family::Gems => table.set_block_size(LARGE_BLOCK_BYTES),
        // Most ids asked for while a catalogue is fed are not there yet.
        Family::Ids => table.set_bloom_filter(BLOOM_BITS, false),
        Family::Postings => {
            // Most gems asked for are in no book: the filter knows lists, not postings. It is as large as the cache
            // in an index of some 100 000 books, so that it comes in parts, of which few are used at a time.
            options.set_prefix_extractor(SliceTransform::create("lapidary.list", posting_list, Some(is_posting)));
            table.set_bloom_filter(BLOOM_BITS, false);
            table.set_whole_key_filtering(false);
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
        }
    }
    options.set_block_based_table_factory(&table);
    options
}

fn posting_list(key: &[u8]) -> &[u8] {
    split_posting(key).map_or(key, |(list, _)| list)
}

fn is_posting(key: &[u8]) -> bool {
    key.len() >= POSTING_BYTES
}
