//! Finding books by identifier, title and author, and what the index for it costs.

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use lapidary_common::description::Description;
use lapidary_gems::{Place, PlacedGem, Recipe};
use lapidary_store::{
    Actor, Administration as _, BookId, BookKey, Library, NewBook, Record, Rights, RocksStore,
    Standing, Store as _, StoreError, UNWATCHED,
};
use memchr::memmem;
use rocksdb::{DB, Options, properties};

use crate::arguments::{Arguments, Size};
use crate::data::{self, id};
use crate::http::{self, Connection};
use crate::latency::Latencies;
use crate::load::Workspace;
use crate::random::{Purpose, Random, scramble};
use crate::server::Server;
use crate::table::Table;
use crate::{Outcome, tell};

/// The number of words, and of given names, that titles and authors are made of.
const WORDS: u32 = 100_000;
const GIVEN_NAMES: u32 = 2_000;
/// A word of this rank or less is common, and one of this rank or more is rare.
const COMMON: u32 = 10;
const RARE: u32 = 50_000;
/// The number of distinct requests of each kind.
const REQUESTS: u64 = 2_000;
/// The books added to measure the rate of an ingest, and how many of them are one change.
const ADDED: u32 = 20_000;
const AT_ONCE: usize = 256;

/// Books with titles, authors and ISBNs. The word of rank r is as frequent as 1/(r + 1.5), which is Mandelbrot's law.
struct TitledBooks {
    seed: u64,
    books: u32,
    library: Library,
    /// The sum of the frequencies up to each rank.
    frequencies: Vec<f64>,
}

/// A book's words, by rank.
struct Words {
    title: Vec<u32>,
    given: u32,
    surname: u32,
}

impl TitledBooks {
    fn new(seed: u64, books: u32) -> Outcome<Self> {
        let frequencies = (0..WORDS).scan(0.0, |sum, rank| {
            *sum += 1.0 / (f64::from(rank) + 1.5);
            Some(*sum)
        });
        Ok(Self {
            seed,
            books,
            library: "bench".parse()?,
            frequencies: frequencies.collect(),
        })
    }

    /// A word of a rank below `end`, by frequency.
    fn rank(&self, random: &mut Random, end: u32) -> u32 {
        let at = random.unit() * self.frequencies[end as usize - 1];
        self.frequencies.partition_point(|sum| *sum <= at) as u32
    }

    fn words(&self, book: u32) -> Words {
        let mut random = Random::new(self.seed, Purpose::Title, book.into());
        let length = 1 + random.below(8);
        let title = (0..length).map(|_| self.rank(&mut random, WORDS)).collect();
        let (given, surname) = (
            self.rank(&mut random, GIVEN_NAMES),
            self.rank(&mut random, WORDS),
        );
        Words {
            title,
            given,
            surname,
        }
    }

    fn description(&self, book: u32) -> Description {
        let Words {
            title,
            given,
            surname,
        } = self.words(book);
        Description {
            title: Some(title.into_iter().map(word).collect::<Vec<_>>().join(" ")),
            authors: vec![format!("{} {}", word(WORDS + given), word(surname))],
            language: Some("en".to_owned()),
            identifiers: vec![isbn(book)],
            published: None,
        }
    }

    fn record(&self, book: u32, description: Description) -> Record {
        let mut random = Random::new(self.seed, Purpose::Record, book.into());
        Record {
            key: BookKey {
                library: self.library.clone(),
                id: BookId::try_from(id(book)).expect("a short word"),
            },
            rights: Rights::Protected,
            description,
            digest: [(); 4].map(|()| format!("{:016x}", random.next())).concat(),
            clean_digest: None,
            bytes: 350_000,
            clean: None,
            text_kept: false,
            gems: [].into(),
            changed_at: Timestamp::UNIX_EPOCH,
            fetched_at: None,
            standing: Standing::default(),
        }
    }

    /// The number of a book.
    fn any(&self, random: &mut Random) -> u32 {
        random.below(self.books.into()) as u32
    }

    /// A book with a rare word in its title, and the rarest.
    fn rare_word(&self, random: &mut Random) -> (u32, String) {
        loop {
            let book = self.any(random);
            let rarest = self.words(book).title.into_iter().max();
            if let Some(rarest) = rarest.filter(|rank| *rank >= RARE) {
                return (book, word(rarest));
            }
        }
    }

    /// A book without gems.
    fn book(&self, book: u32) -> NewBook {
        NewBook::without_gems(self.record(book, self.description(book)), true)
    }

    /// A book with random gems.
    fn book_of_gems(&self, recipe: &Recipe, book: u32, description: Description) -> NewBook {
        let gems = data::gems(Random::new(self.seed, Purpose::Book, book.into())).into_iter();
        let places = (0..).step_by(3_000).map(|start| Place {
            start,
            end: start + 3_000,
        });
        let gems: Vec<PlacedGem> = gems
            .zip(places.map(Some))
            .map(|(gem, place)| PlacedGem { gem, place })
            .collect();
        NewBook {
            gems: [(recipe.name().clone(), gems)].into(),
            ..NewBook::without_gems(self.record(book, description), true)
        }
    }
}

/// A word that can be pronounced.
fn word(rank: u32) -> String {
    let (mut rest, mut word) = (scramble(rank), String::new());
    // A bijection of ranks to words: all bits are spelled.
    while word.is_empty() || rest > 0 {
        word.push(char::from(b"bdfgklmnprstvzhj"[rest as usize % 16]));
        word.push(char::from(b"aeio"[rest as usize / 16 % 4]));
        rest /= 64;
    }
    word
}

fn isbn(book: u32) -> String {
    let digits = format!("978{book:09}");
    let sum: u32 = digits
        .bytes()
        .zip([1, 3].into_iter().cycle())
        .map(|(d, weight)| u32::from(d - b'0') * weight)
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

/// The rows for this number of books.
pub fn rows(
    arguments: &Arguments,
    size: Size,
    workspace: &Workspace,
    table: &mut Table,
) -> Outcome<()> {
    let catalogue = TitledBooks::new(arguments.seed, u32::try_from(size.0)?)?;
    let recipe = Recipe::documented();
    table.column(format_args!("{size} books"));
    let folder = workspace.join(format!("titled-{}-books-seed-{}", size.0, arguments.seed));
    if !folder.exists() {
        tell(format_args!("bulk load of {size} books"));
        let begun = Instant::now();
        let books = (0..catalogue.books).map(|book| Ok::<_, StoreError>(catalogue.book(book)));
        RocksStore::build(&folder, std::slice::from_ref(&recipe), books)?.compact(UNWATCHED)?;
        table.set(
            "bulk load and compaction of books without gems",
            format_args!("{:.1} s", begun.elapsed().as_secs_f64()),
        );
    }
    sizes(&folder, f64::from(catalogue.books), table)?;
    ingest(&catalogue, &recipe, workspace, table)?;

    let server = Server::start(arguments, &folder)?;
    for (row, ask) in KINDS {
        tell(format_args!("finding {row}"));
        let queries = queries(&catalogue, ask);
        let mut connection = Connection::open(server.address)?;
        for query in queries.iter().take(arguments.warm_up.0 as usize) {
            answered(&mut connection, query)?;
        }
        table.set(
            format!("by {row}: p50 / p99"),
            Latencies::of(&queries, arguments.duration(), |query| {
                answered(&mut connection, query)
            })?,
        );
    }
    table.set("server's memory afterwards, MiB", server.memory()?);
    server.stop()
}

/// A request, and a book that the answer must have.
type FindQuery = (Vec<u8>, Option<u32>);

/// Makes the query of a request, and says which book the answer must have.
type Ask = fn(&TitledBooks, &mut Random) -> (String, Option<u32>);

/// The kinds of requests.
const KINDS: [(&str, Ask); 6] = [
    ("ISBN", |books, random| {
        let book = books.any(random);
        (format!("identifier={}", isbn(book)), Some(book))
    }),
    ("a rare word of a title", |books, random| {
        let (book, word) = books.rare_word(random);
        (format!("title={word}"), Some(book))
    }),
    ("one of the ten commonest words", |_, random| {
        let rank = random.below(COMMON.into()) as u32;
        (format!("title={}", word(rank)), None)
    }),
    (
        "two words of a title and the surname of its author",
        |books, random| {
            let Words { title, surname, .. } = books.words(books.any(random));
            let [first, last] = [0, title.len() - 1].map(|at| word(title[at]));
            let surname = word(surname);
            (format!("title={first}+{last}&author={surname}"), None)
        },
    ),
    (
        "a word of about 1,000 titles and one of the ten commonest given names",
        |_, random| {
            let rank = 300 + random.below(300) as u32;
            let given = WORDS + random.below(COMMON.into()) as u32;
            (format!("title={}&author={}", word(rank), word(given)), None)
        },
    ),
    ("three of the twenty commonest words", |_, random| {
        let words: Vec<String> = random
            .different(3, 0, 2 * u64::from(COMMON))
            .into_iter()
            .map(|rank| word(rank as u32))
            .collect();
        (format!("title={}", words.join("+")), None)
    }),
];

fn queries(books: &TitledBooks, ask: Ask) -> Vec<FindQuery> {
    let query = |number| {
        let (query, expected) = ask(books, &mut Random::new(books.seed, Purpose::Query, number));
        let path = format!("/v1/books?{query}");
        (
            http::request("GET", &path, "application/json", b""),
            expected,
        )
    };
    (0..REQUESTS).map(query).collect()
}

/// Sends a request, and returns how long the right answer took.
fn answered(connection: &mut Connection, (request, expected): &FindQuery) -> Outcome<Duration> {
    let begun = Instant::now();
    let (status, body) = connection.exchange(request)?;
    let took = begun.elapsed();
    let right = expected.is_none_or(|book| memmem::find(body, id(book).as_bytes()).is_some());
    if status == 200 && right {
        Ok(took)
    } else {
        Err(format!("a wrong answer: {status}").into())
    }
}

/// The size of the index of terms, next to all files.
fn sizes(folder: &Path, books: f64, table: &mut Table) -> Outcome<()> {
    let store = RocksStore::open(folder)?;
    let all = store.vitals()?.disk.used as f64;
    drop(store);
    let db = DB::open_cf_for_read_only(&Options::default(), folder, ["terms"], false)?;
    let family = db.cf_handle("terms").ok_or("there are no terms")?;
    let terms = db
        .property_int_value_cf(family, properties::LIVE_SST_FILES_SIZE)?
        .unwrap_or_default() as f64;
    let entries = db
        .property_int_value_cf(family, properties::ESTIMATE_NUM_KEYS)?
        .unwrap_or_default() as f64;
    table.set("terms of a book", format_args!("{:.1}", entries / books));
    table.set(
        "their size on disk, bytes a book",
        format_args!("{:.0}", terms / books),
    );
    table.set(
        "of all files but gems and postings, bytes a book",
        format_args!("{:.0}", all / books),
    );
    Ok(())
}

/// Adds books of random gems with titles, and without: by turns, so that both have the same machine.
fn ingest(
    catalogue: &TitledBooks,
    recipe: &Recipe,
    workspace: &Workspace,
    table: &mut Table,
) -> Outcome<()> {
    tell("adding books");
    let folders = ["without titles, authors and ids", "with them"]
        .map(|row| (row, workspace.join(format!("added {row}"))));
    let mut stores = Vec::new();
    for (_, folder) in &folders {
        let store = RocksStore::open_or_create(folder)?;
        store.add_recipe(&Actor::Local, recipe)?;
        stores.push((store, Duration::ZERO));
    }
    let numbers: Vec<u32> = (0..ADDED).collect();
    for some in numbers.chunks(AT_ONCE) {
        for (titled, (store, took)) in [false, true].into_iter().zip(&mut stores) {
            let description = |book| {
                if titled {
                    catalogue.description(book)
                } else {
                    Description::default()
                }
            };
            let books = some
                .iter()
                .map(|book| catalogue.book_of_gems(recipe, *book, description(*book)))
                .collect();
            let begun = Instant::now();
            store.put(&Actor::Local, books)?;
            *took += begun.elapsed();
        }
    }
    for ((row, folder), (store, took)) in folders.into_iter().zip(stores) {
        drop(store);
        std::fs::remove_dir_all(&folder)?;
        let rate = f64::from(ADDED) / took.as_secs_f64();
        table.set(
            format!("adding books of 200 gems, {AT_ONCE} a change, {row}"),
            format_args!("{rate:.0} books/s"),
        );
    }
    Ok(())
}
