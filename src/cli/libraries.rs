//! `lapidary libraries list|trust|distrust`.

use std::io::Write as _;

use clap::{Args, Subcommand};
use indicatif::HumanBytes;
use lapidary_catalogue::api::{LibraryListing, LibraryTrust};
use lapidary_common::count::count;
use lapidary_operations::libraries::{ListLibraries, TrustLibrary};
use lapidary_store::Library;

use super::arguments::{Listing, Target};
use super::failure::{Failure, Status};
use super::terminal::{lines, out};

/// List libraries, and say whose books count for others.
///
/// The books of a library that is not trusted decide only in what its own keys are told. For everybody else, they are
/// information.
#[derive(Args)]
pub(super) struct LibrariesArgs {
    #[command(subcommand)]
    command: LibrariesCommand,
}

#[derive(Subcommand)]
enum LibrariesCommand {
    /// List all libraries that have books
    List(Listing),
    /// Trust a library: its books decide for everybody
    Trust(NamedLibrary),
    /// Distrust a library: its books decide only for its own keys
    Distrust(NamedLibrary),
}

#[derive(Args)]
struct NamedLibrary {
    #[command(flatten)]
    target: Target,
    /// The library. It may have no books yet
    library: Library,
}

impl LibrariesArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            LibrariesCommand::List(Listing { target, json }) => {
                let mut out = out(json);
                lines(
                    &mut out,
                    json,
                    &target.open()?.all::<ListLibraries>(&())?,
                    line,
                )?;
            }
            LibrariesCommand::Trust(named) => named.set_trust(true)?,
            LibrariesCommand::Distrust(named) => named.set_trust(false)?,
        }
        Ok(Status::Done)
    }
}

impl NamedLibrary {
    fn set_trust(&self, trusted: bool) -> Result<(), Failure> {
        let said = LibraryTrust { trusted };
        self.target
            .open()?
            .call::<TrustLibrary>(self.library.clone(), said)?;
        let meaning = if trusted {
            "decide for everybody"
        } else {
            "decide only for its own keys"
        };
        writeln!(out(false), "the books of {} {meaning}", self.library)?;
        Ok(())
    }
}

fn line(library: &LibraryListing) -> String {
    let LibraryListing {
        library,
        trusted,
        books,
        bytes,
        changed_at: changed,
        ..
    } = library;
    let trust = if *trusted { "trusted" } else { "not trusted" };
    format!(
        "{library}\t{trust}\t{}\t{} of text\tchanged {changed}",
        count(*books, "book", "books"),
        HumanBytes(*bytes)
    )
}
