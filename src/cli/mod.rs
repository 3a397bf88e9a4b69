//! The `lapidary` command: one file a command. No logic of its own; all of it is the catalogue's.
//!
//! Human output and JSON go to standard output, progress and errors to standard error. Exit status: 0 done, 1 a check
//! found protected text, whatever else happened, 2 wrong usage or input, 3 a failure.

mod access;
mod allow;
mod arguments;
mod audit;
mod backup;
mod books;
mod boundaries;
mod check;
mod compare;
mod demo;
mod evaluate;
mod failure;
mod files;
mod ingest;
mod jobs;
mod keys;
mod limits;
mod listen;
mod log;
mod manual;
mod reindex;
mod remote;
mod serve;
mod size;
mod stats;
mod terminal;
mod text;
mod tls;
mod transfer;
mod webhooks;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use self::failure::{Failure, Status};
use crate::extract::{isolate, worker};

/// How long a request waits for the readers of files.
const BUSY: Duration = Duration::from_secs(5);

/// A fingerprint index for books: which books share parts with this text, how much, which parts, and may it be published.
#[derive(Parser)]
#[command(name = "lapidary", version, about, max_term_width = 100)]
pub struct Command {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Answer checks and take books over HTTP
    Serve(serve::Serve),
    /// Add files, or all files of folders, to a catalogue
    Ingest(ingest::Ingest),
    /// Check texts against a catalogue (exit status 1: protected text found, 2: something could not be checked)
    Check(check::Check),
    /// Print a text's gems
    Gems(text::Gems),
    /// Print a text as digits
    Fold(text::Fold),
    /// Compare two texts with each other
    Compare(compare::Compare),
    /// List, show, disable, note or remove books
    Books(books::Books),
    /// Make, list, rotate or revoke the keys that a server's clients need
    Keys(keys::Keys),
    /// Allow gems or books, which then cause no block
    Allow(allow::Allow),
    /// Have an address told when a book that is put into a library matches others
    Webhooks(webhooks::Webhooks),
    /// Show what a catalogue holds
    Stats(stats::Stats),
    /// Give every book gems of another recipe, and check by that from then on
    Reindex(reindex::Reindex),
    /// Drop a recipe that is not the default, with all its gems and postings
    DropRecipe(reindex::DropRecipe),
    /// Make a backup, while the catalogue is in use
    Backup(backup::Backup),
    /// Make a catalogue of a backup
    Restore(backup::Restore),
    /// Write a catalogue to a file, as lines of JSON
    Export(transfer::Export),
    /// Read an export into a catalogue
    Import(transfer::Import),
    /// List, show or cancel jobs: re-indexing, verification, compaction
    Jobs(jobs::Jobs),
    /// Read a whole catalogue and say what does not fit together
    Verify(stats::Verify),
    /// Bring a catalogue into the form that takes the least space and is read the fastest
    Compact(stats::Compact),
    /// Show who changed what, and when
    Audit(audit::Audit),
    /// Print what a shell needs to complete command lines
    Completions(manual::Completions),
    /// Write a manual page for each command
    Man(manual::Man),
    /// Count 4-digit sequences of folded texts, and choose boundaries from the counts
    Boundaries(boundaries::BoundaryTool),
    /// Measure what a recipe finds, and whom it accuses, on books and disguised copies of them
    Evaluate(evaluate::Evaluate),
    /// See it work on a small shelf made up for the purpose
    Demo,
    /// Read one file, for another process of this program
    #[command(name = worker::SUBCOMMAND, hide = true)]
    ExtractWorker,
}

impl Command {
    /// Does what the command line says; returns the exit status.
    #[must_use]
    pub fn run(self) -> ExitCode {
        if matches!(self.command, Commands::ExtractWorker) {
            return if worker::work().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        // Who is at a command waits; a client of a server is told to come again.
        isolate_readers(if matches!(self.command, Commands::Serve(_)) { BUSY } else { Duration::MAX });
        // A server's log is as its settings say.
        if !matches!(self.command, Commands::Serve(_)) {
            log::begin(log::Format::Text, "warn");
        }
        let done = match self.command {
            Commands::Serve(task) => task.run(),
            Commands::Ingest(task) => task.run(),
            Commands::Check(task) => task.run(),
            Commands::Gems(task) => task.run(),
            Commands::Fold(task) => task.run(),
            Commands::Compare(task) => task.run(),
            Commands::Books(task) => task.run(),
            Commands::Keys(task) => task.run(),
            Commands::Allow(task) => task.run(),
            Commands::Webhooks(task) => task.run(),
            Commands::Stats(task) => task.run(),
            Commands::Reindex(task) => task.run(),
            Commands::DropRecipe(task) => task.run(),
            Commands::Backup(task) => task.run(),
            Commands::Restore(task) => task.run(),
            Commands::Export(task) => task.run(),
            Commands::Import(task) => task.run(),
            Commands::Jobs(task) => task.run(),
            Commands::Verify(task) => task.run(),
            Commands::Compact(task) => task.run(),
            Commands::Audit(task) => task.run(),
            Commands::Completions(task) => task.run(),
            Commands::Man(task) => task.run(),
            Commands::Boundaries(task) => task.run(),
            Commands::Evaluate(task) => task.run(),
            Commands::ExtractWorker => Ok(Status::Done),
            Commands::Demo => demo::run(&mut std::io::stdout().lock()).map(|()| Status::Done).map_err(Failure::from),
        };
        match done {
            Ok(status) => status.into(),
            Err(Failure::ReaderGone) => Status::Done.into(),
            Err(failure) => {
                terminal::tell(format_args!("lapidary: {failure}"));
                failure.status().into()
            }
        }
    }
}

/// Files are read in processes of this very program, even if another version has its path by now. `patience` is how long one
/// waits for others.
fn isolate_readers(patience: Duration) {
    let program = if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { env::current_exe() };
    if let Ok(program) = program {
        isolate(program, patience);
    }
}
