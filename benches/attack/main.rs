//! A server under attack: measures how long good clients wait for checks and gates, whether any of them or an administrator is
//! ever refused, and the memory used.
//!
//! ```sh
//! scripts/attack                               # 40 hostile clients for 10 minutes, in 1 GiB
//! scripts/attack --minutes 1 --large 4194304
//! ```
//!
//! The server is the real program in its own process, with settings for 1 GiB of memory. Where cgroups can be created
//! (as root on Linux), it runs with its child processes in one of that size; elsewhere only the memory of the server
//! itself is measured.

mod bucket;
mod cgroup;
mod hostile;
#[path = "../../tests/common/makers.rs"]
mod makers;
#[path = "../process/mod.rs"]
mod process;
#[path = "../../tests/common/words.rs"]
mod words;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Parser;
use lapidary_catalogue::api::NewKey;
use lapidary_catalogue::permission::{Permission, Role};
use lapidary_catalogue::{Catalogue, Content, NewEntry};
use lapidary_gems::{Recipe, WrittenGem};
use lapidary_store::{Actor, BookKey, Rights};
use tempfile::TempDir;

use self::cgroup::Cgroup;
use self::hostile::{Calls, KIND_COUNT, Outcome, Target, attack};
use self::process::Process;
use self::words::text_of_words;

/// The result of a step that may fail for any reason.
type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The limits for the 99th percentile of a check, and of a book that is added through the gate.
const CHECK_P99: Duration = Duration::from_millis(100);
const GATE_P99: Duration = Duration::from_millis(500);
/// Settings that fit the memory: two concurrent file readers, bodies and the cache.
const SETTINGS: [&str; 6] = [
    "--cache",
    "67108864",
    "--body-memory",
    "268435456",
    "--limit-memory",
    "167772160",
];
/// The number of books in the catalogue, and of words in each.
const BOOKS: u64 = 500;
const WORDS: usize = 20_000;
/// The number of words of the texts that good clients check and publish.
const FEW_WORDS: usize = 2_000;

/// A server under attack.
#[derive(Parser)]
#[command(name = "scripts/attack")]
struct Arguments {
    /// Duration of the attack
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Number of hostile clients, each with its own keys
    #[arg(long, default_value_t = 40)]
    clients: usize,
    /// Size of large bodies, in bytes
    #[arg(long, default_value_t = 60 << 20)]
    large: usize,
    /// Memory limit for all processes of the server, in bytes
    #[arg(long, default_value_t = 1 << 30)]
    memory: u64,
    /// Passed by `cargo bench`, but not by `cargo test`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.bench {
        eprintln!("nothing is attacked in a test; run scripts/attack");
        return ExitCode::SUCCESS;
    }
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the attack and returns whether all limits held.
fn run(arguments: &Arguments) -> Fallible<bool> {
    let folder = TempDir::with_prefix_in("attack-", env!("CARGO_TARGET_TMPDIR"))?;
    let data = folder.path().join("catalogue");
    eprintln!("making a catalogue of {BOOKS} books and the keys");
    let target = prepare(&data, arguments)?;
    let cgroup = Cgroup::new(arguments.memory);
    match &cgroup {
        Ok(_) => eprintln!(
            "the server has {} MiB for all its processes",
            arguments.memory >> 20
        ),
        Err(error) => eprintln!("no cgroup ({error}): the memory of the server alone is looked at"),
    }
    let mut server = start(&data, &target, cgroup.as_ref().ok())?;
    eprintln!(
        "{} hostile clients of {KIND_COUNT} kinds for {} minutes",
        arguments.clients, arguments.minutes
    );
    let outcome = attack(&target, Duration::from_secs_f64(60.0 * arguments.minutes));

    tell_answers(&outcome);
    let good = [
        ("a check of one gem", &outcome.good, Some(CHECK_P99)),
        (
            "a check of the flooded text",
            &outcome.checks,
            Some(CHECK_P99),
        ),
        ("a book through the gate", &outcome.gates, Some(GATE_P99)),
        ("administration", &outcome.admin, None),
    ];
    println!(
        "\n| calls that must succeed | made | failed | p50, ms | p99, ms | longest, ms |\n|---|---|---|---|---|---|"
    );
    for (name, calls, _) in &good {
        tell(name, calls);
    }
    let lives = server.0.try_wait()?.is_none();
    let within = is_memory_within(&server, cgroup.as_ref().ok(), arguments.memory);
    if !lives {
        println!("the server ended");
    }
    let failed: Vec<&String> = good
        .iter()
        .flat_map(|(_, calls, _)| &calls.failed)
        .collect();
    for wrong in failed.iter().take(20) {
        println!("failed: {wrong}");
    }
    let mut quick = true;
    for (name, calls, limit) in good {
        quick &= limit.is_none_or(|limit| is_quick(name, calls, limit));
    }
    server.stop()?;
    Ok(lives && quick && within && failed.is_empty())
}

/// Prints what hostile requests were answered.
fn tell_answers(outcome: &Outcome) {
    println!("| hostile requests | answers |\n|---|---|");
    for (kind, answers) in &outcome.answers {
        let answers: Vec<String> = answers
            .iter()
            .map(|(answer, count)| format!("{count} × {answer}"))
            .collect();
        println!("| {kind} | {} |", answers.join(", "));
    }
}

/// Prints the memory that the server took. Returns whether it was less than this.
fn is_memory_within(server: &Process, cgroup: Option<&Cgroup>, most: u64) -> bool {
    let own = peak_of(server.0.id());
    println!(
        "\nmost memory of the server's own process: {} MiB",
        own.unwrap_or_default() >> 20
    );
    let killed = cgroup.and_then(Cgroup::killed).unwrap_or_default();
    if let Some(all) = cgroup.and_then(Cgroup::peak) {
        println!(
            "most memory of all its processes, files in the system's cache included: {} MiB",
            all >> 20
        );
        println!("processes that were killed for want of memory: {killed}");
    }
    own.is_some_and(|own| own < most) && killed == 0
}

/// Prints the time of calls. Returns whether they kept to their limit.
fn is_quick(name: &str, calls: &Calls, limit: Duration) -> bool {
    let p99 = calls.quantile(0.99);
    let within = p99 <= limit;
    let than = if within { "within" } else { "MORE THAN" };
    println!(
        "{name}: p99 is {} ms, {than} {}",
        p99.as_millis(),
        limit.as_millis()
    );
    within
}

fn tell(name: &str, calls: &Calls) {
    let (made, failed) = (calls.took.len(), calls.failed.len());
    let [p50, p99, longest] = [0.5, 0.99, 1.0].map(|part| calls.quantile(part).as_secs_f64() * 1e3);
    println!("| {name} | {made} | {failed} | {p50:.1} | {p99:.1} | {longest:.1} |");
}

/// Creates a catalogue with books and keys.
fn prepare(data: &Path, arguments: &Arguments) -> Fallible<Target> {
    let catalogue = Catalogue::open_or_create(data)?;
    let gem = add_books(&catalogue)?;
    let text = prose(0, FEW_WORDS);
    let mut hostile = Vec::new();
    for client in 0..arguments.clients {
        let library = Some(format!("hostile-{client}"));
        hostile.push([
            add_key(&catalogue, &format!("check-{client}"), Role::Check, None)?,
            add_key(
                &catalogue,
                &format!("ingest-{client}"),
                Role::Ingest,
                library,
            )?,
        ]);
    }
    let recipe = Recipe::hardened();
    let gems: Vec<WrittenGem> = recipe
        .gems(&text)
        .iter()
        .map(|placed| recipe.write(placed.gem))
        .collect();
    let library = Some("good".to_owned());
    Ok(Target {
        address: free_address()?,
        clamd: free_address()?,
        hostile,
        publisher: add_key(&catalogue, "publisher", Role::Ingest, library)?,
        careless: add_key(&catalogue, "careless", Role::Admin, None)?,
        good: add_key(&catalogue, "good", Role::Check, None)?,
        admin: add_key(&catalogue, "boss", Role::Admin, None)?,
        follower: add_follower(&catalogue)?,
        large: arguments.large,
        gem: serde_json::to_string(&gem)?,
        gems: serde_json::to_string(&gems)?,
        text,
        new_text: |seed| prose(seed, FEW_WORDS),
    })
}

/// Adds the books; returns one of their gems.
fn add_books(catalogue: &Catalogue) -> Fallible<WrittenGem> {
    let recipe = Recipe::released();
    let mut gem = None;
    for book in 0..BOOKS {
        let text = prose(book, WORDS);
        if gem.is_none() {
            gem = recipe.gems(&text).first().map(|placed| placed.gem);
        }
        let key = BookKey {
            library: "books".parse()?,
            id: book.to_string().parse()?,
        };
        let entry = NewEntry::new(key, Rights::Protected, Content::text(text));
        catalogue.by(Actor::Local).books().add(entry)?;
    }
    Ok(recipe.write(gem.ok_or("a book without gems")?))
}

/// An address that is free now.
fn free_address() -> Fallible<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.to_string())
}

/// Makes a key; returns its secret.
fn add_key(
    catalogue: &Catalogue,
    name: &str,
    role: Role,
    library: Option<String>,
) -> Fallible<String> {
    let library = library.map(|library| library.parse()).transpose()?;
    let trusted = (role == Role::Ingest).then_some(name == "publisher");
    let key = NewKey {
        libraries: library.into_iter().collect(),
        trusted,
        ..NewKey::new(name, role)
    };
    Ok(catalogue.by(Actor::Local).keys().add(key)?.secret)
}

/// Makes a key that may follow the library with the books; returns its secret.
fn add_follower(catalogue: &Catalogue) -> Fallible<String> {
    let key = NewKey {
        role: None,
        permissions: BTreeSet::from([Permission::Follow]),
        libraries: BTreeSet::from(["books".parse()?]),
        ..NewKey::new("follower", Role::Check)
    };
    Ok(catalogue.by(Actor::Local).keys().add(key)?.secret)
}

/// A generated text.
fn prose(seed: u64, words: usize) -> String {
    let mut state = seed;
    let below = |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    text_of_words(below, words)
}

fn start(data: &Path, target: &Target, cgroup: Option<&Cgroup>) -> Fallible<Process> {
    let address = &target.address;
    let mut command = match cgroup {
        None => Command::new(env!("CARGO_BIN_EXE_lapidary")),
        Some(cgroup) => {
            // The shell joins the group before it becomes the server.
            let mut shell = Command::new("sh");
            shell
                .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
                .arg(cgroup.processes());
            shell.arg(env!("CARGO_BIN_EXE_lapidary"));
            shell
        }
    };
    let endpoint = bucket::serve(&target.text)?;
    command
        .args(["serve", "--listen", address])
        .args(["--clamd", &target.clamd, "--clamd-key", "check-0"])
        .args(["--s3-buckets", bucket::BUCKET, "--s3-endpoint", &endpoint])
        .args(["--s3-key", "check-0"])
        .env("AWS_ACCESS_KEY_ID", "id")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .args(SETTINGS)
        .arg("--data")
        .arg(data);
    let child = command
        .env("RUST_LOG", "error")
        .stdout(Stdio::null())
        .spawn()?;
    Process::ready(child, &format!("http://{address}"))
}

/// The peak memory of a process.
fn peak_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}
