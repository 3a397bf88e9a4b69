//! `lapidary books list|find|show|text|disable|enable|note|rights|remove`.

use std::io::{self, Write as _, stdout};

use clap::{ArgGroup, Args, Subcommand};
use lapidary_catalogue::api::{Amendment, Record};
use lapidary_common::description::Description;
use lapidary_operations::books::{AmendBook, DeleteBook, ShowBook};
use lapidary_operations::find::{FindBooks, FindQuery};
use lapidary_operations::libraries::ListBooks;
use lapidary_operations::status::ShowStats;
use lapidary_report::clean;
use lapidary_store::{BookId, BookKey, BookState, Library, Quarantine, Rights, Standing, Validity};

use super::arguments::{Days, Target};
use super::client::CatalogueClient;
use super::failure::{Failure, Status, if_there};
use super::terminal::{json_line, lines, out, tell};

/// How many records to read at a time.
const PAGE: usize = 1_000;

/// List, find, show, disable, annotate or remove books, or print their kept texts.
#[derive(Args)]
pub(super) struct BooksArgs {
    #[command(subcommand)]
    command: BooksCommand,
}

#[derive(Subcommand)]
enum BooksCommand {
    /// List books
    List {
        #[command(flatten)]
        target: Target,
        /// List only books of this library
        #[arg(long)]
        library: Option<Library>,
        /// List only books in quarantine
        #[arg(long)]
        quarantined: bool,
        /// Print JSON Lines
        #[arg(long)]
        json: bool,
    },
    /// Find books by title, author, identifier, rights or state
    #[command(group = ArgGroup::new("sought").required(true).multiple(true))]
    Find {
        #[command(flatten)]
        target: Target,
        /// Beginnings of words of the title, the authors, the id and the identifiers, in any order, or an ISBN; case and accents
        /// are ignored
        #[arg(group = "sought", value_name = "WORDS")]
        words: Option<String>,
        /// An ISBN, of 10 or 13 characters, or another identifier
        #[arg(long, group = "sought", value_name = "ID")]
        identifier: Option<String>,
        /// Words of the title, in any order; case and accents are ignored
        #[arg(long, group = "sought", value_name = "WORDS")]
        title: Option<String>,
        /// Words of the authors' names, likewise
        #[arg(long, group = "sought", value_name = "WORDS")]
        author: Option<String>,
        /// Only books with these rights: forbidden, protected, free, `public_domain` or unknown
        #[arg(long, group = "sought")]
        rights: Option<Rights>,
        /// Only books in this language, such as ru; pt finds pt-BR, too
        #[arg(long, group = "sought", value_name = "TAG")]
        language: Option<String>,
        /// Only books in this state: disabled, quarantined, expired or removed
        #[arg(long, group = "sought")]
        state: Option<BookState>,
        /// Find only books of this library
        #[arg(long)]
        library: Option<Library>,
        /// Print JSON Lines
        #[arg(long)]
        json: bool,
    },
    /// Show a book's record
    Show {
        #[command(flatten)]
        target: Target,
        /// The library
        #[arg(long)]
        library: Library,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// The book's id
        id: BookId,
    },
    /// Print the kept text of a book
    Text {
        #[command(flatten)]
        target: Target,
        /// The library
        #[arg(long)]
        library: Library,
        /// The book's id
        id: BookId,
    },
    /// Disable books: they are kept, but checks ignore them
    Disable {
        #[command(flatten)]
        books: NamedBooks,
        /// Why, stored as the books' note
        #[arg(long, value_name = "WORDS")]
        note: Option<String>,
    },
    /// Enable disabled books again
    Enable {
        #[command(flatten)]
        books: NamedBooks,
    },
    /// Confirm books in quarantine: from now on they decide for others
    Confirm {
        #[command(flatten)]
        books: NamedBooks,
    },
    /// Set a note on books; without --text, remove it
    Note {
        #[command(flatten)]
        books: NamedBooks,
        /// The note
        #[arg(long = "text", value_name = "WORDS", default_value = "")]
        note: String,
    },
    /// Change the rights of books, or the days on which they are valid
    Rights {
        #[command(flatten)]
        books: NamedBooks,
        /// The rights: forbidden, protected, free, `public_domain` or unknown
        #[arg(long)]
        rights: Option<Rights>,
        #[command(flatten)]
        days: Days,
        /// Make the rights valid on all days
        #[arg(long, conflicts_with_all = ["from", "until", "otherwise"])]
        always: bool,
    },
    /// Remove books
    Remove {
        #[command(flatten)]
        books: NamedBooks,
    },
}

/// Books of one library.
#[derive(Args)]
struct NamedBooks {
    #[command(flatten)]
    target: Target,
    /// The library
    #[arg(long)]
    library: Library,
    /// The books' ids
    #[arg(required = true, value_name = "ID")]
    ids: Vec<BookId>,
}

impl BooksArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            BooksCommand::List {
                target,
                library,
                quarantined,
                json,
            } => list(&target, library, quarantined, json),
            BooksCommand::Find {
                target,
                words,
                identifier,
                title,
                author,
                rights,
                language,
                state,
                library,
                json,
            } => find(
                &target,
                FindQuery {
                    q: words,
                    rights,
                    language,
                    state,
                    identifier,
                    title,
                    author,
                    library: library.map(Into::into),
                    cursor: None,
                    limit: Some(PAGE),
                },
                json,
            ),
            BooksCommand::Show {
                target,
                library,
                json,
                id,
            } => show(&target, &BookKey { library, id }, json),
            BooksCommand::Text {
                target,
                library,
                id,
            } => text(&target, &BookKey { library, id }),
            BooksCommand::Disable { books, note } => {
                books.amend("disabled", &disabling(true, note))
            }
            BooksCommand::Enable { books } => books.amend("enabled", &disabling(false, None)),
            BooksCommand::Confirm { books } => books.amend(
                "confirmed",
                &Amendment {
                    confirmed: Some(true),
                    ..Amendment::default()
                },
            ),
            BooksCommand::Note { books, note } => books.amend(
                "noted",
                &Amendment {
                    note: Some(note),
                    ..Amendment::default()
                },
            ),
            BooksCommand::Rights {
                books,
                rights,
                days,
                always,
            } => books.amend("changed", &new_rights(rights, days, always)?),
            BooksCommand::Remove { books } => books.remove(),
        }
    }
}

fn disabling(disabled: bool, note: Option<String>) -> Amendment {
    Amendment {
        disabled: Some(disabled),
        note,
        ..Amendment::default()
    }
}

fn new_rights(rights: Option<Rights>, days: Days, always: bool) -> Result<Amendment, Failure> {
    let given = always || days.are_given();
    if rights.is_none() && !given {
        let why = "give --rights, --from, --until or --always";
        return Err(Failure::Input(why.to_owned()));
    }
    Ok(Amendment {
        rights,
        validity: given.then(|| days.into()),
        ..Amendment::default()
    })
}

impl NamedBooks {
    fn amend(self, done: &str, amendment: &Amendment) -> Result<Status, Failure> {
        self.each(done, |catalogue, key| {
            catalogue
                .call::<AmendBook>(key, amendment.clone())
                .map(drop)
        })
    }

    fn remove(self) -> Result<Status, Failure> {
        self.each("removed", |catalogue, key| {
            catalogue.call::<DeleteBook>(key, ()).map(drop)
        })
    }

    /// Changes each book, and goes on if one does not exist.
    fn each(
        self,
        done: &str,
        change: impl Fn(&CatalogueClient, BookKey) -> Result<(), Failure>,
    ) -> Result<Status, Failure> {
        let catalogue = self.target.open()?;
        let mut status = Status::Done;
        for id in self.ids {
            let key = BookKey {
                library: self.library.clone(),
                id,
            };
            if if_there(change(&catalogue, key.clone()))?.is_some() {
                writeln!(out(false), "{done} {key}")?;
            } else {
                tell(format_args!("lapidary: {}", missing(&key)));
                status = Status::WrongInput;
            }
        }
        Ok(status)
    }
}

fn list(
    target: &Target,
    library: Option<Library>,
    quarantined: bool,
    json: bool,
) -> Result<Status, Failure> {
    let catalogue = target.open()?;
    let libraries = match library {
        Some(library) => vec![library],
        None => catalogue
            .call::<ShowStats>((), ())?
            .libraries
            .into_iter()
            .map(|summary| summary.library)
            .collect(),
    };
    let mut out = io::BufWriter::new(out(json));
    for library in libraries {
        catalogue.each_page::<ListBooks>(&library, |mut books| {
            books.retain(|record| !quarantined || record.standing.is_quarantined());
            Ok(lines(&mut out, json, &books, line)?)
        })?;
    }
    out.flush()?;
    Ok(Status::Done)
}

fn find(target: &Target, mut query: FindQuery, json: bool) -> Result<Status, Failure> {
    let catalogue = target.open()?;
    let mut out = io::BufWriter::new(out(json));
    let mut found = 0;
    loop {
        let page = catalogue.call::<FindBooks>((), query.clone())?;
        lines(&mut out, json, &page.books, line)?;
        found += page.books.len();
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    out.flush()?;
    if found == 0 {
        tell("lapidary: no book was found");
    }
    Ok(Status::Done)
}

fn line(record: &Record) -> String {
    let gems: Vec<String> = record
        .gems
        .iter()
        .map(|(recipe, gems)| format!("{gems} {recipe}"))
        .collect();
    let title = clean(record.description.title.as_deref().unwrap_or_default());
    let disabled = if record.standing.disabled_at.is_some() {
        " (disabled)"
    } else {
        ""
    };
    let quarantined = if record.standing.is_quarantined() {
        " (in quarantine)"
    } else {
        ""
    };
    format!(
        "{}\t{}{disabled}{quarantined}\t{}\t{title}",
        record.key,
        record.rights,
        gems.join(", ")
    )
}

/// What describes a book, each under its name.
fn description(record: &Record) -> [(&'static str, Option<String>); 5] {
    let Description {
        title,
        authors,
        language,
        identifiers,
        published,
    } = &record.description;
    [
        ("title", title.clone()),
        ("authors", (!authors.is_empty()).then(|| authors.join("; "))),
        ("language", language.clone()),
        (
            "other ids",
            (!identifiers.is_empty()).then(|| identifiers.join("; ")),
        ),
        (
            "published",
            published.map(|published| published.to_string()),
        ),
    ]
}

/// What else is known of a book, each under its name.
fn state(record: &Record) -> [(&'static str, Option<String>); 12] {
    let Standing {
        disabled_at: disabled_since,
        note,
        validity,
        quarantine,
        ..
    } = &record.standing;
    [
        ("rights", Some(record.rights.to_string())),
        ("valid", validity.as_ref().map(days)),
        (
            "disabled",
            disabled_since.map(|since| format!("since {since}")),
        ),
        ("quarantine", quarantine.as_ref().map(quarantined)),
        (
            "note",
            note.as_ref()
                .map(|note| format!("{} ({})", note.text, note.created_at)),
        ),
        ("length", Some(format!("{} bytes of UTF-8", record.bytes))),
        ("text", record.text_kept.then(|| "kept".to_owned())),
        (
            "read",
            record
                .clean
                .map(|clean| if clean { "clean" } else { "exact" }.to_owned()),
        ),
        ("digest", Some(record.digest.clone())),
        ("clean digest", record.clean_digest.clone()),
        ("changed", Some(record.changed_at.to_string())),
        (
            "fetched",
            record.fetched_at.map(|fetched| fetched.to_string()),
        ),
    ]
}

fn show(target: &Target, key: &BookKey, json: bool) -> Result<Status, Failure> {
    let found = target.open()?.call::<ShowBook>(key.clone(), ());
    let Some(record) = if_there(found)? else {
        return Err(missing(key));
    };
    let mut out = out(json);
    if json {
        json_line(&mut out, &record)?;
        return Ok(Status::Done);
    }
    writeln!(out, "{}", record.key)?;
    for (name, value) in description(&record).into_iter().chain(state(&record)) {
        if let Some(value) = value {
            writeln!(out, "  {name:<9} {}", clean(&value))?;
        }
    }
    for (recipe, gems) in &record.gems {
        writeln!(out, "  {:<9} {gems} of recipe {recipe}", "gems")?;
    }
    Ok(Status::Done)
}

fn text(target: &Target, key: &BookKey) -> Result<Status, Failure> {
    stdout().write_all(target.open()?.text(key)?.as_bytes())?;
    Ok(Status::Done)
}

fn quarantined(quarantine: &Quarantine) -> String {
    let Quarantine {
        started_at: since,
        works,
        confirmed_at: confirmed,
    } = quarantine;
    let state = confirmed.map_or("not confirmed yet".to_owned(), |at| {
        format!("confirmed {at}")
    });
    format!("since {since}: it shares passages with {works} works of other libraries; {state}")
}

fn days(validity: &Validity) -> String {
    let Validity {
        from,
        until,
        otherwise,
    } = validity;
    let from = from.map(|from| format!("from {from} ")).unwrap_or_default();
    let until = until
        .map(|until| format!("until {until} "))
        .unwrap_or_default();
    format!("{from}{until}(otherwise {otherwise})")
}

fn missing(key: &BookKey) -> Failure {
    Failure::Input(format!(
        "there is no book {:?} in library {:?}",
        key.id.as_str(),
        key.library.as_str()
    ))
}
