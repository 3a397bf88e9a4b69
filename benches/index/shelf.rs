//! Made-up books of the length of a novel, by the recipes of a new catalogue: the disk they take, and the times of checks of whole
//! books and of pages.

use std::path::{Path, PathBuf};

use lapidary_catalogue::Text;
use lapidary_gems::Recipe;
use lapidary_store::{Administration as _, NewBook, RocksStore, StoreError, UNWATCHED};
use rayon::prelude::*;

use crate::arguments::{Arguments, Rows, Size};
use crate::check::over_http;
use crate::cluster::{Cluster, copy};
use crate::data::{Stock, Uniform, id};
use crate::load::{Workspace, progress_bar};
use crate::query::{Query, Right};
use crate::random::{Purpose, Random};
use crate::server::Server;
use crate::table::Table;
use crate::text::{SCRIPTS, text_of};
use crate::{Outcome, tell};

/// The length of a book, in bytes of one character each.
const BOOK: usize = 400_000;
const PAGE: usize = 2_000;
/// The number of words that all books are written in.
const WORDS: usize = 30_000;
/// The number of different checks of each kind, which are sent in turn.
const CHECKS: u32 = 200;
/// How many books are made up at a time, on all cores.
const BATCH: u32 = 64;
/// The number of primaries of a cluster.
const NODES: u32 = 3;

/// Books made up from a seed, each independently of the others.
struct Shelf {
    seed: u64,
    books: u32,
    words: Vec<String>,
}

impl Shelf {
    fn text(&self, book: u32) -> String {
        let mut random = Random::new(self.seed, Purpose::Shelf, book.into());
        text_of(&self.words, BOOK, &mut random)
    }

    fn book(&self, number: u32, stock: &Stock<'_>, recipes: &[Recipe]) -> NewBook {
        let (text, mut book) = (self.text(number), stock.book(number));
        let text = Text::new(&text, None);
        for recipe in recipes {
            book.gems.insert(recipe.name().clone(), text.gems(recipe));
        }
        let counts = book
            .gems
            .iter()
            .map(|(name, gems)| (name.clone(), gems.len() as u32));
        book.record.gems = counts.collect();
        book.record.bytes = BOOK as u64;
        book
    }

    /// Checks of books that are there, or of others, each from byte `from` on.
    fn checks(&self, there: bool, from: usize, bytes: usize) -> Vec<Query> {
        let check = |number: u32| {
            let book = if there {
                (u64::from(number) * u64::from(self.books) / u64::from(CHECKS)) as u32
            } else {
                self.books + number
            };
            let text = &self.text(book)[from..from + bytes];
            let right = Right::Copy(there.then(|| id(book)));
            Query::of_text(text, right)
        };
        (0..CHECKS).into_par_iter().map(check).collect()
    }

    /// Opens the index if it exists; otherwise builds it.
    fn index(&self, workspace: &Workspace, recipes: &[Recipe]) -> Outcome<PathBuf> {
        let name = format!("shelf-{}-books-seed-{}", self.books, self.seed);
        workspace.once(name, recipes, |folder| self.build(recipes, folder))
    }

    fn build(&self, recipes: &[Recipe], folder: &Path) -> Outcome<()> {
        tell(format_args!("{} books of {BOOK} bytes", self.books));
        let records = Uniform {
            seed: self.seed,
            books: self.books,
        };
        let stock = Stock::new(&records, self.seed, &[])?;
        let bar = progress_bar(self.books)?;
        let books = (0..self.books).step_by(BATCH as usize).flat_map(|from| {
            let batch = from..self.books.min(from + BATCH);
            bar.inc(batch.len() as u64);
            let books = batch
                .into_par_iter()
                .map(|number| self.book(number, &stock, recipes));
            books.collect::<Vec<_>>()
        });
        let store = RocksStore::build(folder, recipes, books.map(Ok::<_, StoreError>))?;
        bar.finish_and_clear();
        store.compact(UNWATCHED)?;
        Ok(())
    }
}

/// The rows of a shelf of so many books.
pub fn rows(
    arguments: &Arguments,
    size: Size,
    workspace: &Workspace,
    table: &mut Table,
) -> Outcome<()> {
    // Those of a new catalogue; a secret takes no more time.
    let recipes = [
        Recipe::hardened_compact(),
        Recipe::hardened(),
        Recipe::released(),
    ];
    let words = SCRIPTS[0].words(
        WORDS,
        &mut Random::new(arguments.seed, Purpose::Shelf, u64::MAX),
    );
    let shelf = Shelf {
        seed: arguments.seed,
        books: u32::try_from(size.0)?,
        words,
    };
    table.column(format_args!("{size} books of {BOOK} characters"));
    let folder = shelf.index(workspace, &recipes)?;
    table.set("disk, bytes for 1,000 characters", disk(&folder, &shelf)?);
    let mut servers = vec![("folder", Server::start(arguments, &folder)?)];
    let mut nodes = None;
    if arguments.only.contains(&Rows::ShelfOnCluster) {
        let cluster = nodes.insert(Cluster::start(NODES, 0)?);
        tell(format_args!("copy to {NODES} nodes"));
        copy(&folder, &cluster.url)?;
        servers.push(("cluster", Server::on_cluster(arguments, &cluster.url)?));
    }
    for (what, from, bytes) in [("book", 0, BOOK), ("page", BOOK / 2, PAGE)] {
        for (there, known) in [(true, "of the index"), (false, "of no book there")] {
            let checks = shelf.checks(there, from, bytes);
            for (name, server) in &servers {
                let times = over_http(arguments, server.address, &checks, 1)?;
                table.set(
                    format!("{name}: check of a {what} {known}, over HTTP: p50 / p99"),
                    times,
                );
            }
        }
    }
    for (name, server) in servers {
        table.set(format!("{name}: server's memory, MiB"), server.memory()?);
        server.stop()?;
    }
    Ok(())
}

fn disk(folder: &Path, shelf: &Shelf) -> Outcome<String> {
    let disk = RocksStore::open(folder)?.vitals()?.disk;
    let thousands = f64::from(shelf.books) * BOOK as f64 / 1e3;
    let (lists, all) = (
        disk.postings as f64 / thousands,
        disk.used as f64 / thousands,
    );
    Ok(format!("{all:.0}, of which {lists:.0} posting lists"))
}
