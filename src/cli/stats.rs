//! `lapidary stats` and `lapidary verify`: what a catalogue holds, and whether it fits together.

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

impl Stats {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let stats = self.target.open()?.stats()?;
        let mut out = stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, &stats).map_err(io::Error::from)?;
            writeln!(out)?;
            return Ok(Status::Done);
        }
        writeln!(out, "{} books, {} on disk", HumanCount(stats.books), HumanBytes(stats.disk_bytes))?;
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
