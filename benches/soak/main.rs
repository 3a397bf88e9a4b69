//! A server under mixed traffic for a long time: measures failures, memory growth, response times, and how soon the
//! server responds again after it was killed.
//!
//! ```sh
//! scripts/soak                                 # 30 minutes on an index of 10M postings
//! scripts/soak --minutes 2 --postings 1000000
//! ```
//!
//! The server is the real program in its own process. Its clients are threads of this process, on the same cores. Each
//! client adds, replaces, disables and removes only its own books, so it knows the expected response to each of its
//! checks. All data is generated from a seed.

#[path = "../index/data.rs"]
#[allow(dead_code, reason = "a part is for the other bench")]
mod data;
#[path = "../index/random.rs"]
#[allow(dead_code, reason = "a part is for the other bench")]
mod random;

#[path = "../process/mod.rs"]
mod process;
#[path = "../../tests/common/words.rs"]
mod words;

mod client;
mod server;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use lapidary_gems::Recipe;
use lapidary_store::{Administration as _, RocksStore, StoreError, UNWATCHED};
use tempfile::TempDir;

use self::client::{Client, Timed};
use self::data::{GEMS, Stock, Uniform};
use self::server::{Memory, Server};

/// The result of a step that may fail for any reason.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How often the server's memory is sampled.
const LOOK: Duration = Duration::from_secs(2);
/// The share of the time after which memory should no longer grow.
const WARM_UP: f64 = 0.2;
/// The largest ratio of the memory at the end to that after the warm-up that does not count as growth.
const NO_GROWTH: f64 = 1.15;

/// A server under mixed traffic for a long time.
#[derive(Parser)]
#[command(name = "scripts/soak")]
struct Arguments {
    /// Duration of the test
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,
    /// Size of the initial index, in postings
    #[arg(long, default_value_t = 10_000_000)]
    postings: u64,
    /// Number of clients, each with one request at a time
    #[arg(long, default_value_t = 4)]
    clients: u64,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Passed by `cargo bench`, but not by `cargo test`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.bench {
        eprintln!("nothing is measured in a test; run scripts/soak");
        return ExitCode::SUCCESS;
    }
    match soak(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the test and returns whether it succeeded.
fn soak(arguments: &Arguments) -> Outcome<bool> {
    let folder = TempDir::with_prefix_in("soak-", env!("CARGO_TARGET_TMPDIR"))?;
    let data = folder.path().join("catalogue");
    let shelf = Uniform {
        seed: arguments.seed,
        books: u32::try_from(arguments.postings.div_ceil(GEMS))?,
    };
    eprintln!("building {} postings", arguments.postings);
    build(&data, &shelf)?;
    let server = Server::start(&data)?;
    let duration = Duration::from_secs_f64(60.0 * arguments.minutes);

    let (timed, memory) = traffic(&server, &shelf, arguments, duration)?;
    let is_right = tell_calls(timed, duration);
    let flat = memory.tell();

    let (server, restarted) = killed_under_load(server, arguments, &shelf, &data)?;
    println!(
        "killed with SIGKILL under this load, it answered /readyz with 200 {:.2} s after its start",
        restarted.as_secs_f64()
    );
    server.stop()?;
    let store = RocksStore::open(&data)?;
    let faults = store.verify(UNWATCHED)?;
    println!("faults that verify finds at the end: {}", faults.len());
    Ok(is_right && flat && faults.is_empty())
}

/// The calls of all clients, by route.
type AllTimed = BTreeMap<&'static str, Timed>;

/// Runs all clients for this long, and samples the server's memory meanwhile.
fn traffic(
    server: &Server,
    shelf: &Uniform,
    arguments: &Arguments,
    duration: Duration,
) -> Outcome<(AllTimed, Course)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut clients = Vec::new();
        for number in 0..arguments.clients {
            let mut client = Client::new(&server.url, shelf, arguments.seed, number);
            let over = &over;
            clients.push(scope.spawn(move || {
                client.run(over);
                client.timed
            }));
        }
        let memory = watch(server, duration);
        over.store(true, Ordering::Relaxed);
        let mut timed = AllTimed::new();
        for client in clients {
            for (route, of_client) in client.join().map_err(|_| "a client panicked")? {
                timed.entry(route).or_default().add(of_client);
            }
        }
        Ok((timed, memory?))
    })
}

/// Prints the times of the calls. Returns whether all answers were right.
fn tell_calls(timed: AllTimed, duration: Duration) -> bool {
    println!(
        "| call | answered | wrong | per second | p50, ms | p99, ms | longest, ms |\n|---|---|---|---|---|---|---|"
    );
    let (mut wrong, mut first_wrong) = (0, None);
    for (route, mut timed) in timed {
        let row = timed.row(duration);
        println!("| {route} | {row} |");
        wrong += timed.wrong;
        first_wrong = first_wrong.or(timed.first_wrong);
    }
    if let Some(first) = first_wrong {
        println!("\nthe first wrong answer: {first}");
    }
    wrong == 0
}

fn build(data: &std::path::Path, shelf: &Uniform) -> Outcome<()> {
    let recipes = [Recipe::documented()];
    let books = Stock::new(shelf, shelf.seed, &recipes)?;
    let books = (0..shelf.books).map(|number| Ok::<_, StoreError>(books.book(number)));
    RocksStore::build(data, &recipes, books)?.compact(UNWATCHED)?;
    Ok(())
}

/// Samples of the server's memory, with the time since the traffic began.
struct Course(Vec<(Duration, Memory)>);

/// Samples the server's memory for this long.
fn watch(server: &Server, duration: Duration) -> Outcome<Course> {
    let begun = Instant::now();
    let mut looks = vec![(Duration::ZERO, server.memory()?)];
    while begun.elapsed() < duration {
        thread::sleep(LOOK);
        looks.push((begun.elapsed(), server.memory()?));
    }
    Ok(Course(looks))
}

impl Course {
    /// Prints the samples. Returns whether memory without the store's buffers stayed flat after the warm-up.
    fn tell(&self) -> bool {
        let Self(looks) = self;
        let end = looks.last().map_or(Duration::ZERO, |(at, _)| *at);
        // Compare maxima, because memory use fluctuates with the requests in progress.
        let most = |from: f64, to: f64, of: fn(Memory) -> f64| {
            let within = looks
                .iter()
                .filter(|(at, _)| (from..=to).contains(&at.div_duration_f64(end)));
            within.map(|(_, memory)| of(*memory)).fold(0.0, f64::max)
        };
        let all: fn(Memory) -> f64 = |memory| memory.anonymous;
        let store: fn(Memory) -> f64 = |memory| memory.store;
        let rest: fn(Memory) -> f64 = |memory| (memory.anonymous - memory.store).max(0.0);
        println!("\n| the server's memory, MiB, the most in each tenth of the time | |\n|---|---|");
        for (name, of) in [
            ("all (RssAnon)", all),
            ("cache and memtables", store),
            ("the rest", rest),
        ] {
            let tenths = (0..10).map(|i| {
                format!(
                    "{:.0}",
                    most(f64::from(i) / 10.0, f64::from(i + 1) / 10.0, of)
                )
            });
            println!("| {name} | {} |", tenths.collect::<Vec<_>>().join(", "));
        }
        let (warm, end) = (most(WARM_UP, 0.6, rest), most(0.6, 1.0, rest));
        let flat = end <= warm * NO_GROWTH;
        let verdict = if flat { "flat" } else { "it grows" };
        println!(
            "\nthe rest, from the warm-up on {warm:.0}, in the last four tenths {end:.0}: {verdict}"
        );
        flat
    }
}

/// Kills the server while all clients write, restarts it, and returns it with the time until it is ready.
fn killed_under_load(
    server: Server,
    arguments: &Arguments,
    shelf: &Uniform,
    data: &std::path::Path,
) -> Outcome<(Server, Duration)> {
    let (over, url) = (AtomicBool::new(false), server.url.clone());
    thread::scope(|scope| {
        for number in 0..arguments.clients {
            let (mut client, over) = (Client::new(&url, shelf, arguments.seed ^ 1, number), &over);
            scope.spawn(move || client.run(over));
        }
        thread::sleep(Duration::from_secs(10));
        over.store(true, Ordering::Relaxed);
        drop(server);
    });
    let begun = Instant::now();
    let server = Server::start(data)?;
    Ok((server, begun.elapsed()))
}
