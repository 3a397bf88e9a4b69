//! `RocksDB` settings and the reasons for them.

use rocksdb::statistics::StatsLevel;
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType, DBRecoveryMode,
    DEFAULT_COLUMN_FAMILY_NAME, DataBlockIndexType, LogLevel, Options, SliceTransform,
};

use super::schema::{self, Family};

/// Size of one memtable. Larger ones make fewer and longer flushes.
const MEMTABLE_BYTES: usize = 32 << 20;
/// Size of all memtables: two full ones of the postings and one each of the families that grow with them.
const ALL_MEMTABLES_BYTES: usize = 128 << 20;
/// Maximum size of the write-ahead log; beyond it, everything in it is flushed to tables. It bounds what is replayed
/// after a crash, except for what is written during that flush. With 256 MiB a folder took six times as long to open,
/// and an ingest was 1.02 times as fast.
const WAL_BYTES: u64 = 12 << 20;
/// Keeps what was replayed from the log after a crash in memory, so that the store opens sooner. It is flushed to
/// tables like other changes.
const NO_FLUSH_IN_RECOVERY: &str = "avoid_flush_during_recovery=true";
/// Maximum number of open files: half of Linux's default limit for a process, to leave the other half to connections.
const OPEN_FILES: i32 = 512;
/// Number of `RocksDB`'s own log files: enough for the latest incidents.
const LOG_FILES: usize = 3;
const LOG_BYTES: usize = 1 << 20;
/// Threads for flushes and compactions. More would compete with checks.
const MOST_JOBS: i32 = 4;
/// Bloom filters of 10 bits per key have a false positive rate of 1 %.
const BLOOM_BITS: f64 = 10.0;
/// Share of a memtable of the delta that its filter takes.
const MEMTABLE_BLOOM_RATIO: f64 = 0.05;
/// A memtable of the delta remembers, per recipe (the first 2 bytes of its keys), where it inserted the last key. The
/// search for the next one, which follows it in a batch, starts from there instead of the top.
const INSERT_HINTS: &str = "memtable_insert_with_hint_prefix_extractor=fixed:2";
/// Block size for records and gem lists. These are read whole, one book at a time; larger blocks compress better.
const LARGE_BLOCK_BYTES: usize = 16 << 10;

/// Block size for postings. A check reads about one block per gem, each for one bucket. With its overhead a block
/// fills one page.
const POSTINGS_BLOCK_BYTES: usize = 3840;

/// The options of the whole database.
pub(super) fn database() -> Options {
    // The binding has no function for this one.
    let mut options = Options::default()
        .get_options_from_string(NO_FLUSH_IN_RECOVERY)
        .expect("RocksDB knows this option");
    options.set_paranoid_checks(true);
    // A torn record at the end of the log belongs to a change that was never acknowledged; it is dropped. A broken
    // record elsewhere was acknowledged: by default, it and everything after it would be dropped silently.
    options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    options.set_track_and_verify_wals_in_manifest(true);
    options.set_max_total_wal_size(WAL_BYTES);
    options.set_db_write_buffer_size(ALL_MEMTABLES_BYTES);
    options.set_max_open_files(OPEN_FILES);
    let processors = std::thread::available_parallelism()
        .map_or(1, |n| i32::try_from(n.get()).unwrap_or(i32::MAX));
    options.set_max_background_jobs(processors.clamp(2, MOST_JOBS));
    options.set_keep_log_file_num(LOG_FILES);
    options.set_max_log_file_size(LOG_BYTES);
    options.set_log_level(LogLevel::Warn);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    // Statistics for the metrics: counts of the cache and of compactions. Times are left out because they cost more.
    options.enable_statistics();
    options.set_statistics_level(StatsLevel::ExceptHistogramOrTimers);
    options
}

/// Every column family with its options.
pub(super) fn families(cache: &Cache) -> Vec<ColumnFamilyDescriptor> {
    // `RocksDB` always has this family. It stays empty, but its memtable counts: after a full disk, writes resume
    // when there is room for the largest memtable.
    let mut unused = Options::default();
    unused.set_write_buffer_size(MEMTABLE_BYTES);
    let unused = ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY_NAME, unused);
    let used = Family::ALL
        .map(|family| ColumnFamilyDescriptor::new(family.name(), of_family(family, cache)));
    used.into_iter().chain([unused]).collect()
}

/// Filters what a table has by a prefix of its keys.
fn filter_prefixes(options: &mut Options, table: &mut BlockBasedOptions, prefix: SliceTransform) {
    options.set_prefix_extractor(prefix);
    table.set_bloom_filter(BLOOM_BITS, false);
    table.set_whole_key_filtering(false);
}

fn enable_blobs(options: &mut Options) {
    options.set_enable_blob_files(true);
    options.set_min_blob_size(LARGE_BLOCK_BYTES as u64);
    options.set_blob_compression_type(DBCompressionType::Zstd);
    options.set_enable_blob_gc(true);
}

/// The options of tables with this cache.
fn table_options(cache: &Cache) -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    // Keep these in the cache, so that memory stays bounded as the index grows.
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table
}

/// The options of a column family.
pub(super) fn of_family(family: Family, cache: &Cache) -> Options {
    let mut options = Options::default();
    if family == Family::Delta {
        // The binding has no function for this one.
        options = options
            .get_options_from_string(INSERT_HINTS)
            .expect("RocksDB knows this option");
    }
    options.set_write_buffer_size(MEMTABLE_BYTES);
    // Most data is on the last level, which is rarely written: there size matters, above it speed.
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_bottommost_compression_type(DBCompressionType::Zstd);

    let mut table = table_options(cache);
    match family {
        Family::Meta | Family::Jobs | Family::Keys => {}
        // A fold or a text is large and rarely read. In a blob file, no compaction copies it.
        Family::Folds | Family::Texts => enable_blobs(&mut options),
        Family::Audit | Family::Books | Family::Gems => {
            table.set_block_size(LARGE_BLOCK_BYTES);
        }
        // Beside the texts of filed checks are small rows.
        Family::Decisions => {
            table.set_block_size(LARGE_BLOCK_BYTES);
            enable_blobs(&mut options);
        }
        // Most ids looked up while adding books do not exist yet.
        Family::Ids => table.set_bloom_filter(BLOOM_BITS, false),
        // Most texts that are checked have a digest that no book has.
        Family::Digests => {
            let digest = SliceTransform::create_fixed_prefix(schema::DIGEST_BYTES);
            filter_prefixes(&mut options, &mut table, digest);
            options.set_compression_type(DBCompressionType::None);
            options.set_bottommost_compression_type(DBCompressionType::None);
        }
        Family::Lists => table.set_block_size(POSTINGS_BLOCK_BYTES),
        // In a small index most buckets hold one posting, and what surrounds it compresses. In a large one, buckets are
        // long and do not compress; then RocksDB stores them as they are.
        Family::Postings => {
            table.set_block_size(POSTINGS_BLOCK_BYTES);
            // A bucket is found by its hash, not by reading through its block, and index entries lie close together: the
            // time of a check is that of the memory it touches.
            table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
            table.set_data_block_hash_ratio(0.75);
            table.set_block_restart_interval(1);
            table.set_index_block_restart_interval(8);
        }
        // A search reads all of a term's list in order, or seeks in it.
        Family::Terms => {
            let term = SliceTransform::create_fixed_prefix(schema::TERM_BYTES);
            filter_prefixes(&mut options, &mut table, term);
        }
        Family::Delta => {
            // Most gems looked up have not changed: the filter holds gems, not postings.
            let gem = SliceTransform::create("lapidary.gem", gem_of_delta, Some(is_delta));
            filter_prefixes(&mut options, &mut table, gem);
            options.set_memtable_prefix_bloom_ratio(MEMTABLE_BLOOM_RATIO);
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
