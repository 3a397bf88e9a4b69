//! The command-line options.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use lapidary_gems::Recipe;

/// Benchmarks an index under load: building it from random gems, and checking over HTTP while books are added
#[derive(Parser)]
#[command(
    name = "cargo bench --bench index --",
    bin_name = "cargo bench --bench index --"
)]
pub struct Arguments {
    /// Numbers of gems of a recipe. Builds an index of each size, from books with 200 gems
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "1M,10M,100M"
    )]
    pub postings: Vec<Size>,
    /// The recipes of the catalogue, each with gems of its own. Checks use the first
    #[arg(
        long,
        value_name = "RECIPE,…",
        value_delimiter = ',',
        default_value = "documented"
    )]
    pub recipes: Vec<Recipe>,
    /// Numbers of postings with a Zipf distribution, in which 1% of the gems exceed the cap
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "10M")]
    pub zipf: Vec<Size>,
    /// Numbers of books to find by title, author and ISBN
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1M")]
    pub titled: Vec<Size>,
    /// Numbers of made-up books of 400,000 characters
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1K")]
    pub shelves: Vec<Size>,
    /// Numbers of primaries of the clusters to copy an index to
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "1,3,6"
    )]
    pub primaries: Vec<u32>,
    /// A gem in more books than this is common and is not counted
    #[arg(long, value_name = "BOOKS", default_value_t = 10_000)]
    pub common_cap: u32,
    /// The size of the server's index cache in bytes [default: the server's]
    #[arg(long, value_name = "BYTES")]
    pub cache: Option<u64>,
    /// Also benchmark ingesting this folder of texts
    #[arg(long, value_name = "DIR")]
    pub corpus: Option<PathBuf>,
    /// Number of ingests, of which the fastest counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub repeats: u32,
    /// Run only these groups of measurements
    #[arg(long, value_name = "ROWS,…", value_delimiter = ',')]
    pub only: Vec<Rows>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of distinct checks, which are sent in turn
    #[arg(long, value_name = "N", default_value = "20K")]
    pub queries: Size,
    /// Number of checks to send before a measurement, within its time limit
    #[arg(long, value_name = "N", default_value = "3K")]
    pub warm_up: Size,
    /// Duration of each measurement, in seconds
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    seconds: f64,
    /// Checks per second sent by each client in an open loop
    #[arg(long, value_name = "N", default_value_t = 50.0, value_parser = positive)]
    pub rate: f64,
    /// Books per second added at a steady rate
    #[arg(long, value_name = "N", default_value_t = 300.0, value_parser = positive)]
    pub arrivals: f64,
    /// The folder for indexes [default: in the target folder]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Keep the indexes in --dir, and reuse those with the same size and seed
    #[arg(long, requires = "dir")]
    pub keep: bool,
    /// Plot check times and bytes per posting by index size; with `cluster`, check times and work by the number of primaries
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Passed by `cargo bench`, but not by `cargo test`
    #[arg(long, hide = true)]
    pub bench: bool,
}

impl Arguments {
    /// Whether this group of rows was requested.
    pub fn wants(&self, rows: Rows) -> bool {
        self.only.is_empty() || self.only.contains(&rows)
    }

    /// The duration of each measurement.
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// A group of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rows {
    /// Building speed
    Load,
    /// Index size
    Disk,
    /// Checks of 200 gems in process and over HTTP, and the server's memory
    Check,
    /// Checks of texts of 1 MB
    Text,
    /// Checks while books are added
    Ingest,
    /// Checks with very common gems
    Zipf,
    /// Finding books by title, author and ISBN
    Find,
    /// Checks of whole books and of pages, and the disk that books take
    Shelf,
    /// The same on a cluster of three nodes, too; only if it is named
    ShelfOnCluster,
    /// Ingest of real texts
    Folder,
    /// The same index on clusters of Redis nodes; only if it is named
    Cluster,
}

/// A count, such as `200`, `5K`, `10M` or `1B`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

const UNITS: [(char, u64); 3] = [('B', 1_000_000_000), ('M', 1_000_000), ('K', 1_000)];

impl FromStr for Size {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let unit = UNITS
            .iter()
            .find_map(|(name, unit)| Some((written.strip_suffix(*name)?, *unit)));
        let (number, unit) = unit.unwrap_or((written, 1));
        let count = number
            .parse()
            .ok()
            .and_then(|number: u64| number.checked_mul(unit))
            .filter(|count| *count > 0);
        count
            .map(Self)
            .ok_or_else(|| "a size is a number from 1 on, such as 200, 5K, 10M or 1B".to_owned())
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, unit)| self.0.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => self.0.fmt(f),
        }
    }
}

fn positive(written: &str) -> Result<f64, String> {
    let number = written
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "this is a number above 0".to_owned())
}
