//! `lapidary stats`, `verify` and `compact`: a catalogue's contents, consistency and size.

use std::io::Write as _;

use clap::Args;
use indicatif::HumanBytes;
use lapidary_catalogue::Catalogue;
use lapidary_catalogue::api::{Compacted, JobResult, LibraryListing, RecipeStats, Task, Verified};
use lapidary_common::count::count;

use super::arguments::{CataloguePlace, Target};
use super::failure::{Failure, Status};
use super::jobs::{other_result, perform};
use super::terminal::{json_line, out};
use lapidary_operations::status::ShowStats;

/// Show a catalogue's size, recipes and libraries.
#[derive(Args)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    target: Target,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Read a whole catalogue and report inconsistencies.
#[derive(Args)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    target: Target,
    /// Repair inconsistencies from the books' records and gems
    #[arg(long)]
    fix: bool,
}

/// Compact a catalogue, to save space and speed up reads.
#[derive(Args)]
pub(super) struct CompactArgs {
    #[command(flatten)]
    target: Target,
}

impl StatsArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let stats = self.target.open()?.call::<ShowStats>((), ())?;
        let mut out = out(self.json);
        if self.json {
            json_line(&mut out, &stats)?;
            return Ok(Status::Done);
        }
        let (disk, postings) = (
            HumanBytes(stats.disk_bytes),
            HumanBytes(stats.posting_bytes),
        );
        let books = count(stats.books, "book", "books");
        match self.target.place()? {
            CataloguePlace::Cluster(_) => {
                writeln!(out, "{books}; the primaries of the cluster use {disk}")?;
            }
            _ => writeln!(
                out,
                "{books}, {disk} on disk, {postings} of them posting lists"
            )?,
        }
        if stats.evidence.texts > 0 {
            let texts = count(stats.evidence.texts, "text", "texts");
            let bytes = HumanBytes(stats.evidence.bytes);
            writeln!(out, "  {texts} of filed checks, {bytes}")?;
        }
        if stats.watched.checks > 0 {
            let checks = count(stats.watched.checks, "filed check", "filed checks");
            writeln!(
                out,
                "  {checks} watched, {}",
                HumanBytes(stats.watched.bytes)
            )?;
        }
        for recipe in &stats.recipes {
            writeln!(out, "  {}", recipe_line(recipe))?;
        }
        for library in &stats.libraries {
            writeln!(out, "  {}", library_line(library))?;
        }
        Ok(Status::Done)
    }
}

fn recipe_line(recipe: &RecipeStats) -> String {
    let mark = match (recipe.default, recipe.ready) {
        (true, _) => " (default)",
        (false, true) => "",
        (false, false) => " (incomplete)",
    };
    let (books, gems) = (
        count(recipe.books, "book", "books"),
        count(recipe.gems, "gem", "gems"),
    );
    format!("recipe {}{mark}: {books}, {gems}", recipe.recipe)
}

fn library_line(library: &LibraryListing) -> String {
    let (books, bytes) = (
        count(library.books, "book", "books"),
        HumanBytes(library.bytes),
    );
    let mut kept = String::new();
    if library.kept_texts > 0 {
        let texts = count(library.kept_texts, "text", "texts");
        kept = format!(", {texts} kept ({})", HumanBytes(library.kept_bytes));
    }
    let trust = if library.trusted {
        ""
    } else {
        " (not trusted)"
    };
    format!(
        "library {}{trust}: {books}, {bytes} of text{kept}, changed {}",
        library.library, library.changed_at
    )
}

impl VerifyArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let Verified {
            faults,
            found,
            lost,
        } = self.verified()?;
        for sentence in faults.iter().chain(lost.iter().flatten()) {
            writeln!(out(false), "{sentence}")?;
        }
        if faults.is_empty() {
            match found.map_or(0, |found| found.len()) {
                0 => writeln!(out(false), "no inconsistencies found")?,
                found => writeln!(
                    out(false),
                    "repaired {}; no inconsistencies left",
                    count(found as u64, "fault", "faults")
                )?,
            }
            return Ok(Status::Done);
        }
        let (found, name) = (
            count(faults.len() as u64, "fault", "faults"),
            self.target.name(),
        );
        Err(Failure::Failed(format!(
            "{name}: {found}; repair them with --fix, restore a backup, or ingest the books into a new folder"
        )))
    }

    fn verified(&self) -> Result<Verified, Failure> {
        if let CataloguePlace::Cluster(address) = self.target.place()? {
            // A job would be kept where there may be nothing left.
            if let Some(verified) = Catalogue::recover_cluster(&address, self.fix)? {
                return Ok(verified);
            }
        }
        match perform(&self.target.open()?, Task::Verify { fix: self.fix })? {
            JobResult::Verified(verified) => Ok(verified),
            _ => Err(other_result()),
        }
    }
}

impl CompactArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let result = perform(&self.target.open()?, Task::Compact {})?;
        let JobResult::Compacted(Compacted {
            bytes,
            bytes_before,
        }) = result
        else {
            return Err(other_result());
        };
        let place = match self.target.place()? {
            CataloguePlace::Cluster(_) => "in the memory of the cluster",
            _ => "on disk",
        };
        writeln!(
            out(false),
            "{} {place} before, {} now",
            HumanBytes(bytes_before),
            HumanBytes(bytes)
        )?;
        Ok(Status::Done)
    }
}
