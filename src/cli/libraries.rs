//! `lapidary libraries list|trust|distrust|policy`.

use std::io::Write as _;

use clap::{Args, Subcommand};
use indicatif::HumanBytes;
use lapidary_catalogue::api::{LibraryListing, LibraryTrust};
use lapidary_checking::Policy;
use lapidary_common::count::count;
use lapidary_operations::libraries::{ListLibraries, SetPolicy, TrustLibrary};
use lapidary_store::Library;

use super::arguments::{Listing, Target, policy};
use super::failure::{Failure, Status};
use super::terminal::{lines, out};

/// List libraries, and say whose books count for others, and from how much on.
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
    /// Set from how much on a match with a book of a library decides
    ///
    /// A match decides if its relation is one of `relations`: by default `same_text`, `part_of_book`, `contains_book` and
    /// `overlap`. Others decide together if they are `min_covered` of the text (0.05), and each if it has a passage of
    /// `min_passage` characters (4000). The rest only inform. An identical text always decides, and `same_work` never does. Exact
    /// recipes and signatures have no policy.
    Policy {
        #[command(flatten)]
        library: NamedLibrary,
        /// The policy, such as `{"min_covered": 0.1}`. What it leaves out is as by default: `{}` is the default
        #[arg(value_name = "JSON", value_parser = policy)]
        policy: Policy,
    },
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
            LibrariesCommand::Policy { library, policy } => {
                let target = library.target.open()?;
                target.call::<SetPolicy>(library.library.clone(), policy)?;
                writeln!(out(false), "set the policy of {}", library.library)?;
            }
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
        policy,
        books,
        bytes,
        changed_at: changed,
        ..
    } = library;
    let trust = match (trusted, policy) {
        (true, None) => "trusted",
        (true, Some(_)) => "trusted, with a policy",
        (false, _) => "not trusted",
    };
    format!(
        "{library}\t{trust}\t{}\t{} of text\tchanged {changed}",
        count(*books, "book", "books"),
        HumanBytes(*bytes)
    )
}
