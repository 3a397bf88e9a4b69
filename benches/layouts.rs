//! Compares three ways to store posting lists in RocksDB: their size and the speed of loading, reading and updating.
//!
//! `cargo bench --bench layouts [-- POSTINGS]` uses 10 million random postings by default, 200 per book.
//! `docs/lab/README.md` describes the choice made from it.

use std::path::Path;
use std::time::Instant;

use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, CompactOptions, DB,
    IngestExternalFileOptions, MergeOperands, Options, ReadOptions, SliceTransform, SstFileWriter,
    WriteBatch,
};

const GEMS: usize = 200;
const ASKED: usize = 2_000;
const CHANGED: usize = 5_000;

/// A gem and a book that contains it.
type Posting = (u32, u32);

/// A layout of posting lists.
#[derive(Clone, Copy)]
enum Layout {
    /// One key per gem. A merge operator appends its books.
    Gem,
    /// One key per posting.
    Posting,
    /// One key for all gems with the same upper 20 bits. A merge operator appends their postings.
    Bucket,
}

impl Layout {
    const ALL: [Self; 3] = [Self::Gem, Self::Posting, Self::Bucket];

    fn name(self) -> &'static str {
        match self {
            Self::Gem => "a key a gem, merge operator",
            Self::Posting => "a key a posting",
            Self::Bucket => "a key a bucket of gems, merge operator",
        }
    }

    fn options(self) -> Options {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_compression_type(rocksdb::DBCompressionType::Lz4);
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&Cache::new_hyper_clock_cache(1 << 30, 0));
        match self {
            Self::Gem => {
                options.set_merge_operator_associative("append", append);
                table.set_bloom_filter(10.0, false);
            }
            Self::Posting => {
                options.set_prefix_extractor(SliceTransform::create_fixed_prefix(4));
                table.set_bloom_filter(10.0, false);
                table.set_whole_key_filtering(false);
            }
            Self::Bucket => options.set_merge_operator_associative("append", append),
        }
        options.set_block_based_table_factory(&table);
        options
    }

    /// The key and value of a single posting. Values with the same key are appended.
    fn entry(self, (gem, book): Posting) -> (Vec<u8>, Vec<u8>) {
        let (gem_bytes, book_bytes) = (gem.to_be_bytes(), book.to_be_bytes());
        match self {
            Self::Gem => (gem_bytes.to_vec(), book_bytes[1..].to_vec()),
            Self::Posting => ([gem_bytes, book_bytes].concat(), Vec::new()),
            Self::Bucket => {
                let rest = (gem as u16 & 0xfff).to_be_bytes();
                (
                    (gem >> 12).to_be_bytes()[1..].to_vec(),
                    [&rest[..], &book_bytes[1..]].concat(),
                )
            }
        }
    }

    /// The number of books with this gem.
    fn count(self, db: &DB, gem: u32) -> usize {
        let read = |key: &[u8]| db.get_pinned(key).expect("a database that can be read");
        match self {
            Self::Gem => read(&gem.to_be_bytes()).map_or(0, |books| books.len() / 3),
            Self::Posting => {
                let mut options = ReadOptions::default();
                options.set_prefix_same_as_start(true);
                let mut postings = db.raw_iterator_opt(options);
                postings.seek([gem.to_be_bytes(), [0; 4]].concat());
                std::iter::from_fn(|| {
                    let found = postings.valid();
                    found.then(|| postings.next())
                })
                .count()
            }
            Self::Bucket => {
                let rest = (gem as u16 & 0xfff).to_be_bytes();
                let bucket = read(&(gem >> 12).to_be_bytes()[1..]);
                bucket.map_or(0, |bucket| {
                    bucket
                        .chunks_exact(5)
                        .filter(|posting| posting[..2] == rest)
                        .count()
                })
            }
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what RocksDB calls")]
fn append(_: &[u8], before: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut value = before.unwrap_or_default().to_vec();
    operands.iter().for_each(|operand| value.extend(operand));
    Some(value)
}

/// A gem of a book, the same in every run.
fn gem(book: usize, i: usize) -> u32 {
    let mut x = ((book * GEMS + i) as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) as u32
}

/// Looks up the gems of books, half of which are in no book. Returns the median time per book in milliseconds.
fn ask(layout: Layout, db: &DB, books: usize) -> f64 {
    let mut times: Vec<f64> = (0..ASKED)
        .map(|i| {
            let begun = Instant::now();
            let book = i.wrapping_mul(7919) % books;
            let found: usize = (0..GEMS)
                .map(|i| layout.count(db, gem(book, i) ^ (i as u32 % 2) << 31))
                .sum();
            assert!(found >= GEMS / 2, "{found} of {GEMS} gems found");
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ASKED / 2]
}

fn measure(layout: Layout, folder: &Path, postings: &[Posting]) {
    let books = postings.len() / GEMS;
    let db = DB::open(&layout.options(), folder.join("db")).expect("a new database");

    let begun = Instant::now();
    load(layout, &db, &folder.join("table.sst"), postings);
    let load = postings.len() as f64 / begun.elapsed().as_secs_f64() / 1e6;
    let size = db.property_int_value(rocksdb::properties::TOTAL_SST_FILES_SIZE);
    let bytes = size.ok().flatten().unwrap_or_default() as f64 / postings.len() as f64;
    ask(layout, &db, books);
    let asked = ask(layout, &db, books);

    let begun = Instant::now();
    put(layout, &db, books);
    let put = CHANGED as f64 / begun.elapsed().as_secs_f64();
    let after = ask(layout, &db, books);
    let mut compact = CompactOptions::default();
    compact.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    let begun = Instant::now();
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &compact);
    let compaction = begun.elapsed().as_secs_f64();
    println!(
        "| {} | {load:.1} M/s | {bytes:.2} | {asked:.2} ms | {put:.0}/s | {after:.2} ms | {compaction:.1} s |",
        layout.name()
    );
}

/// Writes sorted postings to a file that becomes the database's.
fn load(layout: Layout, db: &DB, file: &Path, postings: &[Posting]) {
    let options = layout.options();
    let mut writer = SstFileWriter::create(&options);
    writer.open(file).expect("a new table");
    for list in postings.chunk_by(|a, b| layout.entry(*a).0 == layout.entry(*b).0) {
        let value: Vec<u8> = list
            .iter()
            .flat_map(|posting| layout.entry(*posting).1)
            .collect();
        writer
            .put(layout.entry(list[0]).0, value)
            .expect("keys in order");
    }
    writer.finish().expect("a table");
    let mut ingest = IngestExternalFileOptions::default();
    ingest.set_move_files(true);
    db.ingest_external_file_opts(&ingest, vec![file])
        .expect("a table of this database");
}

/// Adds books one by one, the first of this number.
fn put(layout: Layout, db: &DB, first: usize) {
    for book in first..first + CHANGED {
        let mut batch = WriteBatch::default();
        for i in 0..GEMS {
            let (key, value) = layout.entry((gem(book, i), book as u32));
            match layout {
                Layout::Posting => batch.put(key, value),
                Layout::Gem | Layout::Bucket => batch.merge(key, value),
            }
        }
        db.write(batch).expect("a batch");
    }
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let count = arguments
        .next()
        .map_or(10_000_000, |n| n.parse().expect("a number of postings"));
    let mut postings: Vec<Posting> = (0..count / GEMS)
        .flat_map(|book| (0..GEMS).map(move |i| (gem(book, i), book as u32)))
        .collect();
    postings.sort_unstable();
    println!(
        "{count} postings\n\n| layout | load of sorted postings | bytes a posting | {GEMS} gems | books put in singly | \
         {GEMS} gems then | compaction |\n|---|---|---|---|---|---|---|"
    );
    for layout in Layout::ALL {
        let folder = tempfile::tempdir_in(
            std::env::var_os("CARGO_TARGET_TMPDIR").unwrap_or_else(|| ".".into()),
        );
        measure(layout, folder.expect("a folder").path(), &postings);
    }
}
