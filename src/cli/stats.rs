//! `lapidary stats`, `verify` and `compact`: what a catalogue holds, whether it fits together, and how large it is.

use std::io::{self, Write as _, stdout};
use std::path::PathBuf;

use clap::Args;
use indicatif::{HumanBytes, HumanCount};

use super::arguments::Target;
use super::failure::{Failure, Status};
use crate::catalogue::Catalogue;

/// Show what a catalogue holds.
#[derive(Args)]
pub(super) struct Stats {
    #[command(flatten)]
    target: Target,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Read a whole catalogue and say what does not fit together.
#[derive(Args)]
pub(super) struct Verify {
    /// The catalogue's folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

/// Bring a catalogue into the form that takes the least space and is read the fastest.
#[derive(Args)]
pub(super) struct Compact {
    /// The catalogue's folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl Stats {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let stats = self.target.open()?.stats()?;
        let mut out = stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &stats).map_err(io::Error::from)?;
            writeln!(out)?;
            return Ok(Status::Done);
        }
        let (disk, postings) = (HumanBytes(stats.disk_bytes), HumanBytes(stats.posting_bytes));
        writeln!(out, "{} books, {disk} on disk, {postings} of them posting lists", HumanCount(stats.books))?;
        for recipe in &stats.recipes {
            let default = if recipe.default { " (default)" } else { "" };
            let (books, gems) = (HumanCount(recipe.books), HumanCount(recipe.gems));
            writeln!(out, "  recipe {}{default}: {books} books, {gems} gems", recipe.recipe)?;
        }
        for library in &stats.libraries {
            let (books, bytes) = (HumanCount(library.books), HumanBytes(library.bytes));
            writeln!(
                out,
                "  library {}: {books} books, {bytes} of text, changed {}",
                library.library, library.changed
            )?;
        }
        Ok(Status::Done)
    }
}

impl Verify {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let faults = Catalogue::open(&self.data)?.verify()?;
        for fault in &faults {
            writeln!(stdout(), "{fault}")?;
        }
        if faults.is_empty() {
            writeln!(stdout(), "all fits together")?;
            return Ok(Status::Done);
        }
        let (count, folder) = (faults.len(), self.data.display());
        Err(Failure::Failed(format!("{folder}: {count} faults; restore a backup, or feed the books into a new folder")))
    }
}

impl Compact {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let catalogue = Catalogue::open(&self.data)?;
        let before = catalogue.stats()?.disk_bytes;
        catalogue.compact()?;
        let after = catalogue.stats()?.disk_bytes;
        writeln!(stdout(), "{} on disk before, {} now", HumanBytes(before), HumanBytes(after))?;
        Ok(Status::Done)
    }
}
