//! The options.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, ValueEnum};

/// The index under load: built from random gems, asked over HTTP, and fed meanwhile.
#[derive(Parser)]
#[command(name = "cargo bench --bench index --", bin_name = "cargo bench --bench index --")]
pub struct Arguments {
    /// How many postings: an index for each size, of books with 200 gems
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1M,10M,100M")]
    pub postings: Vec<Size>,
    /// How many postings by a Zipf law, the commonest hundredth of the gems being in more books than the cap
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "10M")]
    pub zipf: Vec<Size>,
    /// A gem in more books than this is common, and not counted
    #[arg(long, value_name = "BOOKS", default_value_t = 10_000)]
    pub common_cap: u32,
    /// What the server may keep in memory of what it read of the index, in bytes [default: as it has it]
    #[arg(long, value_name = "BYTES")]
    pub cache: Option<u64>,
    /// Time the ingest of this folder of texts too
    #[arg(long, value_name = "DIR")]
    pub corpus: Option<PathBuf>,
    /// How many ingests of it, of which the best counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub repeats: u32,
    /// Only these groups of rows
    #[arg(long, value_name = "ROWS,…", value_delimiter = ',')]
    pub only: Vec<Rows>,
    /// What all random numbers begin with
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many different checks are prepared, in turns sent
    #[arg(long, value_name = "N", default_value = "20K")]
    pub queries: Size,
    /// How many checks to send before a measurement, unless its time runs out
    #[arg(long, value_name = "N", default_value = "3K")]
    pub warm_up: Size,
    /// How long one measurement takes
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    seconds: f64,
    /// How many checks a second each client sends where it does not wait for the answer before
    #[arg(long, value_name = "N", default_value_t = 50.0, value_parser = positive)]
    pub rate: f64,
    /// How many books a second come in where they come at a steady rate
    #[arg(long, value_name = "N", default_value_t = 300.0, value_parser = positive)]
    pub arrivals: f64,
    /// Where the indexes are built [default: in the target folder]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Leave the indexes in --dir, and use those of the same size and seed that are there
    #[arg(long, requires = "dir")]
    pub keep: bool,
    /// Draw check times and bytes a posting by size
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// What `cargo bench` adds, and `cargo test` does not
    #[arg(long, hide = true)]
    pub bench: bool,
}

impl Arguments {
    /// Whether these rows are wanted.
    pub fn wants(&self, rows: Rows) -> bool {
        self.only.is_empty() || self.only.contains(&rows)
    }

    /// How long one measurement takes.
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// A group of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rows {
    /// How fast an index is built
    Load,
    /// How large it is
    Disk,
    /// Checks of 200 gems in process and over HTTP, and the server's memory
    Check,
    /// Checks of texts of a megabyte
    Text,
    /// Checks while books come in
    Ingest,
    /// Checks with very common gems
    Zipf,
    /// Ingest of real texts
    Folder,
}

/// A count, such as `200`, `5K`, `10M` or `1B`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

const UNITS: [(char, u64); 3] = [('B', 1_000_000_000), ('M', 1_000_000), ('K', 1_000)];

impl FromStr for Size {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let unit = UNITS.iter().find_map(|(name, unit)| Some((written.strip_suffix(*name)?, *unit)));
        let (number, unit) = unit.unwrap_or((written, 1));
        let count = number.parse().ok().and_then(|number: u64| number.checked_mul(unit)).filter(|count| *count > 0);
        count.map(Self).ok_or_else(|| "a size is a number from 1 on, such as 200, 5K, 10M or 1B".to_owned())
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
    let number = written.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "this is a number above 0".to_owned())
}
