//! Metrics of the store: size, cache, disk, and background work.

use prometheus::core::Collector as _;
use prometheus::proto::MetricFamily;
use prometheus::{Counter, IntCounter, IntGauge, IntGaugeVec};

use super::{advance, gauge};
use lapidary_store::Vitals;

metrics! {
    /// The metrics of the store.
    pub struct StoreMetrics {
        books: IntGaugeVec["recipe"] = "lapidary_books",
            "Books with gems of a recipe.";
        gems: IntGaugeVec["recipe"] = "lapidary_gems",
            "Gems of all books under a recipe.";
        postings: IntGaugeVec["part"] = "lapidary_index_postings",
            "Postings in the main index, and changes in the delta not merged yet.";
        merged_postings: IntCounter = "lapidary_index_merged_postings_total",
            "Postings of the main index that were rewritten to merge the delta into it.";
        tables: IntGaugeVec["family"] = "lapidary_store_bytes",
            "Bytes of the store's tables, by column family.";
        disk_used: IntGauge = "lapidary_store_disk_bytes",
            "Bytes of all files of the data folder.";
        disk_free: IntGauge = "lapidary_disk_free_bytes",
            "Free bytes of the data folder's file system.";
        disk_size: IntGauge = "lapidary_disk_size_bytes",
            "Size of the data folder's file system.";
        memtables: IntGauge = "lapidary_store_memtable_bytes",
            "Memory for data that is not in tables yet.";
        cache_capacity: IntGauge = "lapidary_store_cache_capacity_bytes",
            "Size of the block cache.";
        cache_used: IntGauge = "lapidary_store_cache_used_bytes",
            "Bytes of blocks in the cache.";
        cache_pinned: IntGauge = "lapidary_store_cache_pinned_bytes",
            "Bytes of pinned blocks in the cache.";
        cache_hits: IntCounter = "lapidary_store_cache_hits_total",
            "Blocks found in the cache.";
        cache_misses: IntCounter = "lapidary_store_cache_misses_total",
            "Blocks read from a file.";
        compactions: IntGauge = "lapidary_store_compactions_running",
            "Running compactions.";
        flushes: IntGauge = "lapidary_store_flushes_running",
            "Running flushes.";
        compaction_pending: IntGauge = "lapidary_store_compaction_pending_bytes",
            "Bytes that compactions still have to rewrite.";
        compaction_read: IntCounter = "lapidary_store_compaction_read_bytes_total",
            "Bytes read by compactions.";
        compaction_written: IntCounter = "lapidary_store_compaction_written_bytes_total",
            "Bytes written by compactions.";
        flush_written: IntCounter = "lapidary_store_flush_written_bytes_total",
            "Bytes written by flushes.";
        stalled: Counter = "lapidary_store_stalled_seconds_total",
            "Total time that writes were stalled, in seconds.";
        write_stopped: IntGauge = "lapidary_store_write_stopped",
            "1 while writes are stopped, else 0.";
        background_errors: IntCounter = "lapidary_store_background_errors_total",
            "Flushes and compactions that failed.";
    }
}

impl StoreMetrics {
    /// The number of books, which all have gems of some recipe.
    pub(crate) fn most_books(&self) -> u64 {
        let families = self.books.collect();
        let counts = families
            .iter()
            .flat_map(MetricFamily::get_metric)
            .map(|metric| metric.get_gauge().get_value());
        counts.fold(0.0, f64::max) as u64
    }

    /// The bytes of all files.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.disk_used.get().try_into().unwrap_or_default()
    }

    /// Updates how many books have gems of a recipe, and how many gems.
    pub fn set_recipe(&self, recipe: &str, books: u64, gems: u64) {
        self.books.with_label_values(&[recipe]).set(gauge(books));
        self.gems.with_label_values(&[recipe]).set(gauge(gems));
    }

    /// Updates the metrics from the store's current state.
    pub fn set(&self, vitals: &Vitals) {
        let Vitals {
            tables,
            postings,
            merged_postings,
            disk,
            cache,
            background,
            memtables,
        } = vitals;
        for (family, bytes) in tables {
            self.tables.with_label_values(&[*family]).set(gauge(*bytes));
        }
        self.postings
            .with_label_values(&["main"])
            .set(gauge(postings.main));
        self.postings
            .with_label_values(&["delta"])
            .set(gauge(postings.delta));
        advance(&self.merged_postings, *merged_postings);
        self.disk_used.set(gauge(disk.used));
        self.disk_free.set(gauge(disk.free));
        self.disk_size.set(gauge(disk.size));
        self.memtables.set(gauge(*memtables));
        self.cache_capacity.set(gauge(cache.capacity));
        self.cache_used.set(gauge(cache.used));
        self.cache_pinned.set(gauge(cache.pinned));
        advance(&self.cache_hits, cache.hits);
        advance(&self.cache_misses, cache.misses);
        self.compactions.set(gauge(background.compactions));
        self.flushes.set(gauge(background.flushes));
        self.compaction_pending.set(gauge(background.pending));
        advance(&self.compaction_read, background.compaction_read);
        advance(&self.compaction_written, background.compaction_written);
        advance(&self.flush_written, background.flush_written);
        self.stalled
            .inc_by((background.stalled.as_secs_f64() - self.stalled.get()).max(0.0));
        self.write_stopped.set(background.write_stopped.into());
        advance(&self.background_errors, background.errors);
    }
}
