//! Benchmarks of an index: how fast it is built, its size, and the times of checks, both alone and while books are
//! added.
//!
//! ```sh
//! cargo bench --bench index                                         # 1M, 10M and 100M postings
//! cargo bench --bench index -- --postings 1M --only load,disk,check # a part, quickly
//! cargo bench --bench index -- --help                               # all options
//! ```
//!
//! All data is generated from a seed. The server is the real program in its own process. Its clients are threads of
//! this process on the same cores, and they verify every response; a wrong one aborts the run. The results are printed
//! to standard output as a Markdown table, with times as p50 / p99.

#[path = "../process/mod.rs"]
#[allow(dead_code, reason = "a part is for the other benches")]
mod process;

mod arguments;
mod check;
mod cluster;
mod corpus;
mod data;
mod find;
mod http;
mod ingest;
mod latency;
mod load;
mod plot;
mod query;
mod random;
mod server;
mod shelf;
mod table;
mod text;
mod traffic;
mod zipf;

use std::error::Error;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use lapidary_gems::Recipe;

use self::arguments::{Arguments, Rows, Size};
use self::data::{GEMS, Uniform};
use self::latency::Latencies;
use self::load::Workspace;
use self::plot::Point;
use self::query::Query;
use self::server::Server;
use self::table::Table;
use self::zipf::{Others, Zipf};

/// The number of concurrent clients while no books are added.
const CLIENTS: u32 = 8;

/// The result of a step that may fail for any reason.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// An index to measure, and what to measure it with.
#[derive(Clone, Copy)]
struct Index<'i> {
    arguments: &'i Arguments,
    folder: &'i Path,
    recipe: &'i Recipe,
    queries: &'i [Query],
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.bench {
        tell("nothing is measured in a test; run `cargo bench --bench index`");
        return ExitCode::SUCCESS;
    }
    let titles = [
        "Random gems",
        "Zipf gems",
        "Finding books",
        "Real texts",
        "Made-up books",
    ];
    let mut tables = titles.map(Table::new);
    let measured = measure(&arguments, &mut tables);
    for table in tables {
        print!("{table}");
    }
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments, tables: &mut [Table; 5]) -> Outcome<()> {
    let [uniform, zipf, titles, texts, shelves] = tables;
    let workspace = Workspace::new(arguments)?;
    let (_, recipe) = recipes(arguments)?;
    if [
        Rows::Load,
        Rows::Disk,
        Rows::Check,
        Rows::Text,
        Rows::Ingest,
        Rows::Cluster,
    ]
    .into_iter()
    .any(|rows| arguments.wants(rows))
    {
        let mut points = Vec::new();
        for size in &arguments.postings {
            points.push(measure_uniform(arguments, *size, &workspace, uniform)?);
        }
        if let Some(file) = &arguments.svg {
            plot::draw(file, &points)?;
        }
    }
    if arguments.wants(Rows::Zipf) {
        for size in &arguments.zipf {
            measure_zipf(arguments, *size, &workspace, zipf)?;
        }
    }
    if arguments.wants(Rows::Find) {
        for size in &arguments.titled {
            find::rows(arguments, *size, &workspace, titles)?;
        }
    }
    if [Rows::Shelf, Rows::ShelfOnCluster]
        .into_iter()
        .any(|rows| arguments.wants(rows))
    {
        for size in &arguments.shelves {
            shelf::rows(arguments, *size, &workspace, shelves)?;
        }
    }
    if let Some(corpus) = arguments
        .corpus
        .as_ref()
        .filter(|_| arguments.wants(Rows::Folder))
    {
        corpus::rows(corpus, &workspace, recipe, arguments.repeats, texts)?;
    }
    Ok(())
}

/// Measures an index of books with random gems.
fn measure_uniform(
    arguments: &Arguments,
    size: Size,
    workspace: &Workspace,
    table: &mut Table,
) -> Outcome<Point> {
    let (recipes, recipe) = recipes(arguments)?;
    tell(format_args!("{size} gems of each recipe"));
    table.column(format_args!("{size} postings"));
    let books = Uniform {
        seed: arguments.seed,
        books: u32::try_from(size.0.div_ceil(GEMS))?,
    };
    let folder = workspace.index(arguments, &books, recipes, table)?;
    let mut point = Point {
        postings: size.0,
        check: None,
        footprint: None,
        clusters: Vec::new(),
    };
    if arguments.wants(Rows::Disk) {
        let footprint = load::footprint(&folder, recipes, table)?;
        table.set(
            "information limit of the lists",
            format_args!("{:.2}", footprint.limit),
        );
        point.footprint = Some(footprint);
    }
    let queries: Vec<Query> = (0..arguments.queries.0)
        .map(|number| Query::of_books(&books, recipe, number))
        .collect();
    let index = Index {
        arguments,
        folder: &folder,
        recipe,
        queries: &queries,
    };
    if arguments.wants(Rows::Check) {
        point.check = Some(measure_checks(&index, table)?);
    }
    if arguments.wants(Rows::Text) {
        let server = Server::start(arguments, &folder)?;
        check::texts(arguments, server.address, recipe, table)?;
        server.stop()?;
    }
    if arguments.wants(Rows::Ingest) {
        ingest::rows(&index, table)?;
    }
    // Not without being asked: it needs redis-server, and memory for the whole index.
    if arguments.only.contains(&Rows::Cluster) {
        point.clusters = cluster::rows(
            &index,
            u64::from(books.books) * GEMS,
            &arguments.primaries,
            table,
        )?;
    }
    Ok(point)
}

/// Measures checks of the index. Returns those of a single client over HTTP.
fn measure_checks(index: &Index<'_>, table: &mut Table) -> Outcome<Latencies> {
    let Index {
        arguments, queries, ..
    } = *index;
    check::tally(index, table)?;
    let in_process = check::in_process(index)?;
    table.set("check of 200 gems, in process: p50 / p99", in_process);
    let server = Server::start(arguments, index.folder)?;
    let alone = check::over_http(arguments, server.address, queries, 1)?;
    table.set("check of 200 gems over HTTP, 1 client: p50 / p99", &alone);
    let together = check::over_http(arguments, server.address, queries, CLIENTS)?;
    table.set(
        format!("check of 200 gems over HTTP, {CLIENTS} clients: p50 / p99"),
        together,
    );
    table.set("server's memory after these checks, MiB", server.memory()?);
    server.stop()?;
    Ok(alone)
}

/// Measures an index of books whose gems follow a Zipf distribution.
fn measure_zipf(
    arguments: &Arguments,
    size: Size,
    workspace: &Workspace,
    table: &mut Table,
) -> Outcome<()> {
    let (recipes, recipe) = recipes(arguments)?;
    tell(format_args!("{size} postings by a Zipf law"));
    let books = Zipf::new(arguments.seed, size.0, arguments.common_cap)?;
    table.column(format_args!("{size} postings"));
    table.set("different gems", books.distinct());
    table.set(
        format!("of these in more than {} books", arguments.common_cap),
        books.common(),
    );
    let folder = workspace.index(arguments, &books, recipes, table)?;
    load::footprint(&folder, recipes, table)?;
    for (others, name) in [
        (Others::InNoBook, "in no book"),
        (Others::InBooks, "less common"),
    ] {
        let queries: Vec<Query> = (0..arguments.queries.0)
            .map(|number| books.query(number, recipe, others))
            .collect();
        let row = format!("check of 50 common gems and 150 {name}");
        let index = Index {
            arguments,
            folder: &folder,
            recipe,
            queries: &queries,
        };
        table.set(
            format!("{row}, in process: p50 / p99"),
            check::in_process(&index)?,
        );
        let server = Server::start(arguments, &folder)?;
        let over_http = check::over_http(arguments, server.address, &queries, 1)?;
        table.set(format!("{row}, over HTTP: p50 / p99"), over_http);
        server.stop()?;
    }
    Ok(())
}

/// The recipes of the catalogue, and the one of the checks.
fn recipes(arguments: &Arguments) -> Outcome<(&[Recipe], &Recipe)> {
    let first = arguments.recipes.first().ok_or("--recipes names none")?;
    Ok((&arguments.recipes, first))
}

/// Reports progress on standard error.
fn tell(what: impl Display) {
    eprintln!("{what}");
}
