//! `lapidary allow add|list|remove`.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use lapidary_catalogue::api::{AllowList, NewAllowList};
use lapidary_common::count::count;
use lapidary_gems::{RecipeName, WrittenGem};
use lapidary_operations::allow::{DeleteAllowList, ListAllowLists, PutAllowList};
use lapidary_report::clean;
use lapidary_store::{BookId, BookKey, Library};

use super::arguments::{Listing, Removal, Target};
use super::failure::{Failure, Status};
use super::files::TextArguments;
use super::terminal::{lines, out};
use super::text::read;

/// Manage allow-lists: gems or books that checks ignore.
#[derive(Args)]
pub(super) struct AllowArgs {
    #[command(subcommand)]
    command: AllowCommand,
}

#[derive(Subcommand)]
enum AllowCommand {
    /// Create an allow-list, or replace the one with this name
    Add(Box<AllowArguments>),
    /// List all allow-lists
    List(Listing),
    /// Remove allow-lists
    Remove(Removal),
}

#[derive(Args)]
struct AllowArguments {
    #[command(flatten)]
    target: Target,
    /// Ignore the gems of this text in checks. The text is not kept
    #[arg(long, value_name = "FILE", required_unless_present_any = ["gems", "book"])]
    text: Option<PathBuf>,
    #[command(flatten)]
    input: TextArguments,
    /// Ignore these gems in checks
    #[arg(
        long,
        value_name = "N,N…",
        value_delimiter = ',',
        conflicts_with = "text"
    )]
    gems: Option<Vec<WrittenGem>>,
    /// The recipe of the gems [default: the catalogue's]
    #[arg(long, value_name = "RECIPE", requires = "gems")]
    recipe: Option<RecipeName>,
    /// Ignore this book in verdicts
    #[arg(long, value_name = "ID", requires = "library", conflicts_with_all = ["text", "gems"])]
    book: Option<BookId>,
    /// The book's library
    #[arg(long, requires = "book")]
    library: Option<Library>,
    /// Why they are allowed
    #[arg(long, value_name = "WORDS")]
    note: Option<String>,
    /// The list's name
    name: BookId,
}

impl AllowArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            AllowCommand::Add(add) => add.run(),
            AllowCommand::List(Listing { target, json }) => list(&target, json),
            AllowCommand::Remove(removal) => {
                let catalogue = removal.target.open()?;
                removal.each("allow-list", |name| {
                    catalogue.call::<DeleteAllowList>(name.clone(), ())
                })
            }
        }
    }
}

impl AllowArguments {
    fn run(self) -> Result<Status, Failure> {
        let mut list = NewAllowList {
            note: self.note,
            ..NewAllowList::default()
        };
        match (self.text, self.gems, self.library, self.book) {
            (Some(path), ..) => {
                list.text = Some(read(self.input.reading, &path)?);
                list.clean = self.input.clean;
            }
            (_, Some(gems), ..) => {
                list.gems = Some(gems);
                list.recipe = self.recipe.map(Into::into);
            }
            (.., Some(library), Some(id)) => list.book = Some(BookKey { library, id }),
            _ => {
                return Err(Failure::Input(
                    "give --text, --gems, or --library and --book".to_owned(),
                ));
            }
        }
        let catalogue = self.target.open()?;
        let list = catalogue.call::<PutAllowList>(self.name, list)?.item;
        writeln!(out(false), "{}", line(&list))?;
        Ok(Status::Done)
    }
}

fn list(target: &Target, json: bool) -> Result<Status, Failure> {
    let mut out = out(json);
    lines(
        &mut out,
        json,
        &target.open()?.all::<ListAllowLists>(&())?,
        line,
    )?;
    Ok(Status::Done)
}

fn line(list: &AllowList) -> String {
    let gems =
        list.gems.iter().flatten().map(|(recipe, gems)| {
            format!("{} of {recipe}", count(gems.len() as u64, "gem", "gems"))
        });
    let book = list.book.iter().map(|book| format!("book {book}"));
    let allowed = gems.chain(book).collect::<Vec<_>>().join(", ");
    let note = clean(list.note.as_deref().unwrap_or_default());
    format!(
        "{}\t{allowed}\tsince {}\t{note}",
        list.name, list.created_at
    )
}
