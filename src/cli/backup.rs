//! `lapidary backup` and `lapidary restore`.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use indicatif::HumanBytes;
use lapidary_catalogue::api::{BackedUp, JobResult, Task};
use lapidary_catalogue::{Catalogue, restore};
use lapidary_common::count::count;

use super::arguments::Target;
use super::failure::{Failure, Status};
use super::jobs::{advance, bar, other_result, perform};
use super::terminal::out;

/// Back up a catalogue, even while it is in use.
///
/// Backups are incremental: only what has changed since the previous one is copied.
#[derive(Args)]
pub(super) struct BackupArgs {
    #[command(flatten)]
    target: Target,
    /// The folder for this catalogue's backups. With --server, the name of a folder below the server's --backups
    #[arg(
        long,
        value_name = "DIR",
        default_value_if("server", clap::builder::ArgPredicate::IsPresent, "catalogue")
    )]
    to: Option<PathBuf>,
    /// How many backups to keep there, including this one
    #[arg(long, value_name = "N", default_value_t = 7)]
    keep: u32,
}

/// Restore a catalogue from a backup.
///
/// The restored catalogue is read completely, to verify it.
#[derive(Args)]
pub(super) struct RestoreArgs {
    /// The folder with the backups
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The catalogue's folder, which must be empty or missing
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The number of the backup [default: the newest]
    #[arg(long, value_name = "N")]
    backup: Option<u32>,
}

impl BackupArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let Some(to) = self.to else {
            return Err(Failure::Input(
                "give a folder for this catalogue's backups with --to DIR".to_owned(),
            ));
        };
        let to = if self.target.server.is_none() {
            std::path::absolute(&to)?
        } else {
            to
        };
        let result = perform(
            &self.target.open()?,
            Task::Backup {
                to,
                keep: self.keep,
            },
        )?;
        let JobResult::BackedUp(BackedUp {
            backup,
            bytes,
            backups: kept,
        }) = result
        else {
            return Err(other_result());
        };
        writeln!(
            out(false),
            "backup {backup}: {}; {kept} kept",
            HumanBytes(bytes)
        )?;
        Ok(Status::Done)
    }
}

impl RestoreArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let bar = bar("reading");
        let number = restore(&self.from, &self.data, self.backup, &advance(&bar))?;
        bar.finish_and_clear();
        let books = Catalogue::open(&self.data)?.stats()?.books;
        writeln!(
            out(false),
            "restored backup {number}: {}, no inconsistencies found",
            count(books, "book", "books")
        )?;
        Ok(Status::Done)
    }
}
