//! Bulk load: builds or reuses an index, and measures its size.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use lapidary_gems::Recipe;
use lapidary_store::{Administration as _, RocksStore, Store as _, StoreError, UNWATCHED};
use tempfile::TempDir;

use crate::arguments::{Arguments, Rows};
use crate::data::{Data, Stock};
use crate::table::Table;
use crate::{Outcome, tell};

/// The number of books in which gems with a posting are counted.
const SAMPLE: u32 = 1000;

/// The folder of the indexes.
pub struct Workspace {
    path: PathBuf,
    /// Deleted on drop.
    _temporary: Option<TempDir>,
}

impl Workspace {
    /// The folder from the arguments if indexes are kept; otherwise a temporary one inside it.
    pub fn new(arguments: &Arguments) -> Outcome<Self> {
        let parent = arguments
            .dir
            .as_deref()
            .unwrap_or(Path::new(env!("CARGO_TARGET_TMPDIR")));
        fs::create_dir_all(parent)?;
        if arguments.keep {
            return Ok(Self {
                path: parent.to_owned(),
                _temporary: None,
            });
        }
        let temporary = TempDir::with_prefix_in("index-", parent)?;
        Ok(Self {
            path: temporary.path().to_owned(),
            _temporary: Some(temporary),
        })
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Opens the index of these books if it exists; otherwise builds it and records the time.
    pub fn index(
        &self,
        arguments: &Arguments,
        data: &dyn Data,
        recipes: &[Recipe],
        table: &mut Table,
    ) -> Outcome<PathBuf> {
        self.once(data.name(), recipes, |folder| {
            load(arguments, data, recipes, table, folder)
        })
    }

    /// Returns the folder of an index of these recipes. `build` is called with where to make it, unless it exists.
    pub fn once(
        &self,
        name: String,
        recipes: &[Recipe],
        build: impl FnOnce(&Path) -> Outcome<()>,
    ) -> Outcome<PathBuf> {
        let name = recipes
            .iter()
            .fold(name, |name, recipe| format!("{name}-{}", recipe.name()));
        let (folder, unfinished) = (self.join(&name), self.join(name + ".unfinished"));
        if folder.exists() {
            tell(format_args!(
                "the index in {} is used again",
                folder.display()
            ));
            return Ok(folder);
        }
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)?;
        }
        build(&unfinished)?;
        fs::rename(&unfinished, &folder)?;
        Ok(folder)
    }
}

/// Builds the index of these books in a folder, and records the time.
fn load(
    arguments: &Arguments,
    data: &dyn Data,
    recipes: &[Recipe],
    table: &mut Table,
    folder: &Path,
) -> Outcome<()> {
    tell(format_args!("bulk load of {} books", data.books()));
    let stock = Stock::new(data, arguments.seed, recipes)?;
    let bar = progress_bar(data.books())?;
    let postings = Cell::new(0);
    let books = (0..data.books()).map(|number| {
        let book = stock.book(number);
        postings.set(postings.get() + book.gems.values().map(Vec::len).sum::<usize>());
        bar.inc(1);
        Ok::<_, StoreError>(book)
    });
    let begun = Instant::now();
    let store = RocksStore::build(folder, recipes, books)?;
    let loaded = begun.elapsed().as_secs_f64();
    bar.finish_and_clear();

    tell("compaction");
    let begun = Instant::now();
    store.compact(UNWATCHED)?;
    let compacted = begun.elapsed().as_secs_f64();
    posted_shares(data, recipes, &stock, table);
    if arguments.wants(Rows::Load) {
        let rate = postings.get() as f64 / loaded;
        table.set(
            "bulk load, durable at the end",
            format_args!("{rate:.0} gems/s ({loaded:.1} s)"),
        );
        table.set("compaction behind it", format_args!("{compacted:.1} s"));
    }
    Ok(())
}

/// Which share of a book's gems has a posting, for recipes that do not post all.
fn posted_shares(data: &dyn Data, recipes: &[Recipe], stock: &Stock<'_>, table: &mut Table) {
    for recipe in recipes.iter().filter(|recipe| !recipe.posts_all()) {
        let sample = (0..data.books().min(SAMPLE))
            .filter_map(|number| stock.book(number).gems.remove(recipe.name()));
        let posted: Vec<bool> = sample.flat_map(|gems| recipe.posted(&gems)).collect();
        let share = posted.iter().filter(|posted| **posted).count() as f64 / posted.len() as f64;
        table.set(
            format!("gems of {} with a posting", recipe.name()),
            format_args!("{:.1} %", 100.0 * share),
        );
    }
}

pub fn progress_bar(books: u32) -> Outcome<ProgressBar> {
    let bar = ProgressBar::new(books.into());
    bar.set_style(ProgressStyle::with_template(
        "{bar:30} {human_pos} of {human_len} books, {eta} left",
    )?);
    Ok(bar)
}

/// Bytes on disk per gem.
#[derive(Clone, Copy)]
pub struct Footprint {
    /// Posting lists only.
    pub lists: f64,
    /// Including records, gem lists and ids.
    pub whole: f64,
    /// The information-theoretic minimum for posting lists of random gems.
    pub limit: f64,
}

/// Measures the size of an index.
pub fn footprint(folder: &Path, recipes: &[Recipe], table: &mut Table) -> Outcome<Footprint> {
    let store = RocksStore::open(folder)?;
    let (mut postings, mut information) = (0.0, 0.0);
    for recipe in recipes {
        let classes = store.snapshot().sizes(recipe.name())?.classes;
        let gems = classes.iter().map(|class| class.gems).sum::<u64>() as f64;
        let books = classes.iter().map(|class| class.books).sum::<u64>() as f64;
        postings += gems;
        information +=
            gems * information_limit(books * 2_f64.powf(recipe.gem_bits().into()), gems) / 8.0;
    }
    let disk = store.vitals()?.disk;
    let footprint = Footprint {
        lists: disk.postings as f64 / postings,
        whole: disk.used as f64 / postings,
        limit: information / postings,
    };
    table.set(
        "posting lists on disk",
        format_args!("{:.2} bytes a gem", footprint.lists),
    );
    table.set(
        "records, gem lists and ids beside them",
        format_args!("{:.2}", footprint.whole - footprint.lists),
    );
    Ok(footprint)
}

/// The minimum number of bits per posting if any pair of a gem and a book may be a posting: log2 of the number of ways
/// to choose the postings from all pairs, by Stirling's formula, divided by the number of postings.
fn information_limit(pairs: f64, postings: f64) -> f64 {
    (pairs / postings).log2() + std::f64::consts::LOG2_E
}
