//! How `RocksDB` is set, and why.

use rocksdb::statistics::StatsLevel;
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType, DBRecoveryMode, DEFAULT_COLUMN_FAMILY_NAME,
    DataBlockIndexType, LogLevel, Options, SliceTransform,
};

use super::schema::{self, Family};

/// One memtable. Larger ones make fewer and longer flushes.
const MEMTABLE_BYTES: usize = 32 << 20;
/// All memtables together: two full ones of the postings and one each of the families that grow with them.
const ALL_MEMTABLES_BYTES: usize = 128 << 20;
/// The write-ahead log: beyond this, all that it has goes into tables. It bounds what is read again after a crash, but for what
/// is written while those tables are made (`docs/measurements.md` has what it costs).
const WAL_BYTES: u64 = 16 << 20;
/// What was read again from the log after a crash stays in memory, so that the store is open sooner. It goes into tables as
/// other changes do.
const NO_FLUSH_IN_RECOVERY: &str = "avoid_flush_during_recovery=true";
/// Open files: half of what Linux gives a process without being asked, so that connections have the other half.
const OPEN_FILES: i32 = 512;
/// `RocksDB`'s own log: enough for the last incidents.
const LOG_FILES: usize = 3;
const LOG_BYTES: usize = 1 << 20;
/// Threads for flushes and compactions; more would compete with the checks.
const MOST_JOBS: i32 = 4;
/// Bloom filters of 10 bits a key let 1 in 100 absent keys through.
const BLOOM_BITS: f64 = 10.0;
/// The part of a memtable of changes that its filter takes.
const MEMTABLE_BLOOM_RATIO: f64 = 0.05;
/// A memtable of changes remembers of each recipe, by the first 2 bytes of its keys, where it put the last key: the next one,
/// which follows it in a batch, is looked for from there, and not from the top.
const INSERT_HINTS: &str = "memtable_insert_with_hint_prefix_extractor=fixed:2";
/// Blocks of records and gem lists, which are read whole and by the book: larger ones compress better.
const LARGE_BLOCK_BYTES: usize = 16 << 10;

/// Blocks of postings: a check reads as many as it has gems, each for one bucket. With what belongs to them they take a
/// page.
const POSTINGS_BLOCK_BYTES: usize = 3840;

/// The options of the whole database.
pub(super) fn database() -> Options {
    // The binding has no function for this one.
    let mut options =
        Options::default().get_options_from_string(NO_FLUSH_IN_RECOVERY).expect("RocksDB knows this option");
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
    // For the metrics: counts of the cache and of compactions, and no times, which cost more.
    options.enable_statistics();
    options.set_statistics_level(StatsLevel::ExceptHistogramOrTimers);
    options
}

/// Every family with its options.
pub(super) fn families(cache: &Cache) -> Vec<ColumnFamilyDescriptor> {
    // `RocksDB` always has this one. It stays empty, but its memtable counts: after a full disk, writing begins again
    // when the largest memtable of all has room on the disk.
    let mut unused = Options::default();
    unused.set_write_buffer_size(MEMTABLE_BYTES);
    let unused = ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY_NAME, unused);
    let used = Family::ALL.map(|family| ColumnFamilyDescriptor::new(family.name(), of_family(family, cache)));
    used.into_iter().chain([unused]).collect()
}

/// The options of a family.
pub(super) fn of_family(family: Family, cache: &Cache) -> Options {
    let mut options = Options::default();
    if family == Family::Delta {
        // The binding has no function for this one.
        options = options.get_options_from_string(INSERT_HINTS).expect("RocksDB knows this option");
    }
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
        Family::Meta | Family::Jobs | Family::Keys => {}
        Family::Folds => {
            // A fold is large and read once in its life: outside of the tables, no compaction copies it.
            options.set_enable_blob_files(true);
            options.set_min_blob_size(LARGE_BLOCK_BYTES as u64);
            options.set_blob_compression_type(DBCompressionType::Zstd);
            options.set_enable_blob_gc(true);
        }
        Family::Audit | Family::Books | Family::Gems => table.set_block_size(LARGE_BLOCK_BYTES),
        // Most ids asked for while a catalogue is fed are not there yet.
        Family::Ids => table.set_bloom_filter(BLOOM_BITS, false),
        // Most texts that are checked have a digest that no book has.
        Family::Digests => {
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(schema::DIGEST_BYTES));
            table.set_bloom_filter(BLOOM_BITS, false);
            table.set_whole_key_filtering(false);
            options.set_compression_type(DBCompressionType::None);
            options.set_bottommost_compression_type(DBCompressionType::None);
        }
        // Hashes and numbers in few bytes: nothing is left to compress.
        Family::Postings | Family::Lists => {
            table.set_block_size(POSTINGS_BLOCK_BYTES);
            // A bucket is found by its hash and not by reading through its block; and index entries lie close together,
            // since a check's time is that of the memory it touches.
            table.set_block_restart_interval(1);
            table.set_index_block_restart_interval(8);
            table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
            table.set_data_block_hash_ratio(0.75);
            options.set_compression_type(DBCompressionType::None);
            options.set_bottommost_compression_type(DBCompressionType::None);
        }
        Family::Delta => {
            // Most gems asked for have not changed: the filter knows gems, not postings.
            options.set_prefix_extractor(SliceTransform::create("lapidary.gem", gem_of_delta, Some(is_delta)));
            options.set_memtable_prefix_bloom_ratio(MEMTABLE_BLOOM_RATIO);
            table.set_bloom_filter(BLOOM_BITS, false);
            table.set_whole_key_filtering(false);
        }
    }
    options.set_block_based_table_factory(&table);
    options
}

fn gem_of_delta(key: &[u8]) -> &[u8] {
    schema::split_delta_key(key).map_or(key, |(gem, ..)| gem)
}

fn is_delta(key: &[u8]) -> bool {
    key.len() >= schema::DELTA_BYTES
}
