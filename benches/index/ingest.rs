//! Adding books one at a time, each durable when acknowledged, with and without concurrent checks.

use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use lapidary_gems::{Gem, Recipe, WrittenGem};
use lapidary_store::{
    Actor, Administration as _, Condition, Library, RocksStore, Store as _, UNWATCHED,
};
use serde_json::json;

use crate::data::{self, GEMS};
use crate::http::{self, Connection};
use crate::latency::Latencies;
use crate::query::{Query, Right};
use crate::random::{Purpose, Random};
use crate::server::Server;
use crate::table::Table;
use crate::traffic::{Pace, Traffic};
use crate::{Index, Outcome, tell};

/// The number of clients that check concurrently.
const CLIENTS: u32 = 4;
/// The library to which books are added.
const LIBRARY: &str = "arrivals";

/// The rows, measured with a separate server. The index is restored afterwards.
pub fn rows(index: &Index<'_>, table: &mut Table) -> Outcome<()> {
    let Index {
        arguments,
        folder,
        recipe,
        queries,
    } = *index;
    // An interrupted run may have left some books.
    remove_arrivals(folder)?;
    let server = Server::start(arguments, folder)?;
    let traffic = Traffic::new(server.address, queries);
    traffic.warm_up(arguments.warm_up.0, arguments.duration())?;
    let mut arrivals = Arrivals {
        seed: arguments.seed,
        recipe,
        address: server.address,
        count: 0,
    };
    let checks = Pace::Open {
        rate: arguments.rate,
    };
    let paced = format!("{}/s each", arguments.rate);
    let scenes = [
        (Pace::Closed, Pace::Closed, "as fast as answered".to_owned()),
        (
            checks,
            Pace::Closed,
            format!("{paced}, books as fast as taken"),
        ),
        (
            checks,
            Pace::Open {
                rate: arguments.arrivals,
            },
            format!("{paced}, {} books/s", arguments.arrivals),
        ),
    ];
    for (pace, arriving, name) in scenes {
        tell(format_args!(
            "checks of {CLIENTS} clients, {name}: in quiet, then while books come in"
        ));
        let quiet = traffic.measure(CLIENTS, pace, arguments.duration())?;
        let (busy, books) = thread::scope(|scope| {
            let feeding = scope.spawn(|| arrivals.feed(arriving, arguments.duration()));
            let busy = traffic.measure(CLIENTS, pace, arguments.duration());
            Outcome::Ok((
                busy?,
                feeding
                    .join()
                    .map_err(|_| "the feeding client panicked")??,
            ))
        })?;
        let ratio = busy.p99().as_secs_f64() / quiet.p99().as_secs_f64();
        table.set(
            format!("{CLIENTS} clients, {name}, in quiet: p50 / p99"),
            quiet,
        );
        table.set(
            format!("{CLIENTS} clients, {name}, while books come in: p50 / p99"),
            busy,
        );
        table.set(
            format!("{CLIENTS} clients, {name}: p99 while books come in over p99 in quiet"),
            format_args!("{ratio:.1}"),
        );
        table.set(
            format!("{CLIENTS} clients, {name}: books put in meanwhile: p50 / p99"),
            books,
        );
    }
    arrivals.verify()?;
    table.set("server's memory after books came in, MiB", server.memory()?);
    server.stop()?;
    remove_arrivals(folder)
}

/// The books added so far.
struct Arrivals<'a> {
    seed: u64,
    recipe: &'a Recipe,
    address: SocketAddr,
    count: u32,
}

impl Arrivals<'_> {
    /// Adds one book after another for this long.
    fn feed(&mut self, pace: Pace, duration: Duration) -> Outcome<Latencies> {
        let mut connection = Connection::open(self.address)?;
        let mut times = Vec::new();
        let begun = Instant::now();
        while begun.elapsed() < duration {
            if let Pace::Open { rate } = pace {
                let due = begun + Duration::from_secs_f64(times.len() as f64 / rate);
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            let gems = self
                .gems(self.count)
                .into_iter()
                .map(|gem| self.recipe.write(data::of_recipe(gem, self.recipe)));
            let gems: Vec<WrittenGem> = gems.collect();
            let body = json!({ "rights": "protected", "title": "Just arrived", "gems": gems });
            let path = format!("/v1/libraries/{LIBRARY}/books/{}", data::id(self.count));
            let request = http::request(
                "PUT",
                &path,
                "application/json",
                body.to_string().as_bytes(),
            );
            let sent = Instant::now();
            let (status, body) = connection.exchange(&request)?;
            times.push(sent.elapsed());
            if status != 201 {
                return Err(format!(
                    "a new book was not added: {status}: {}",
                    String::from_utf8_lossy(body)
                )
                .into());
            }
            self.count += 1;
        }
        Latencies::new(times, begun.elapsed())
    }

    fn gems(&self, book: u32) -> Vec<Gem> {
        data::gems(Random::new(self.seed, Purpose::Arrival, book.into()))
    }

    /// Verifies that each acknowledged book is found.
    fn verify(&self) -> Outcome<()> {
        let mut connection = Connection::open(self.address)?;
        for book in 0..self.count {
            let query = Query::of_gems(
                self.gems(book),
                self.recipe,
                Right::Book {
                    id: data::id(book),
                    common: GEMS as u32,
                },
            );
            let (status, body) = connection.exchange(&query.request)?;
            query.right.verify(status, body)?;
        }
        Ok(())
    }
}

fn remove_arrivals(folder: &Path) -> Outcome<()> {
    let store = RocksStore::open(folder)?;
    let library: Library = LIBRARY.parse()?;
    let there = store.snapshot().walk(&library, None, usize::MAX)?;
    if there.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = there.into_iter().map(|(_, record)| record.key).collect();
    store.remove(&Actor::Local, &keys, &Condition::default())?;
    Ok(store.compact(UNWATCHED)?)
}
