//! `lapidary books list|show|remove`.

use std::io::{self, Write as _, stdout};

use clap::{Args, Subcommand};

use super::arguments::Target;
use super::failure::{Failure, Status};
use super::report::clean;
use crate::index::{BookId, BookKey, Library, Record};

/// How many records are read at a time.
const PAGE: usize = 1_000;

/// List, show or remove books.
#[derive(Args)]
pub(super) struct Books {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// List the books of one library, or of all
    List {
        #[command(flatten)]
        target: Target,
        /// Only this library
        #[arg(long)]
        library: Option<Library>,
        /// Print one JSON object a line
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
    /// Remove books
    Remove {
        #[command(flatten)]
        target: Target,
        /// The library
        #[arg(long)]
        library: Library,
        /// The books' ids
        #[arg(required = true, value_name = "ID")]
        ids: Vec<BookId>,
    },
}

impl Books {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.task {
            Task::List { target, library, json } => list(&target, library, json),
            Task::Show { target, library, json, id } => show(&target, &BookKey { library, id }, json),
            Task::Remove { target, library, ids } => remove(&target, &library, ids),
        }
    }
}

fn list(target: &Target, library: Option<Library>, json: bool) -> Result<Status, Failure> {
    let catalogue = target.open()?;
    let libraries = match library {
        Some(library) => vec![library],
        None => catalogue.stats()?.libraries.into_iter().map(|summary| summary.library).collect(),
    };
    let mut out = io::BufWriter::new(stdout().lock());
    for library in libraries {
        let mut cursor = None;
        loop {
            let page = catalogue.books(&library, cursor.as_ref(), PAGE)?;
            for record in &page.books {
                if json {
                    serde_json::to_writer(&mut out, record).map_err(io::Error::from)?;
                    writeln!(out)?;
                } else {
                    writeln!(out, "{}", line(record))?;
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
    }
    out.flush()?;
    Ok(Status::Done)
}

fn line(record: &Record) -> String {
    let gems: Vec<String> = record.gems.iter().map(|(recipe, gems)| format!("{gems} {recipe}")).collect();
    let title = clean(record.title.as_deref().unwrap_or_default());
    format!("{}\t{}\t{}\t{title}", record.key, record.rights, gems.join(", "))
}

fn show(target: &Target, key: &BookKey, json: bool) -> Result<Status, Failure> {
    let Some(record) = target.open()?.book(key)? else {
        return Err(missing(key));
    };
    let mut out = stdout().lock();
    if json {
        serde_json::to_writer(&mut out, &record).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(Status::Done);
    }
    writeln!(out, "{}", record.key)?;
    let rows = [
        ("title", record.title.clone()),
        ("authors", (!record.authors.is_empty()).then(|| record.authors.join("; "))),
        ("language", record.language.clone()),
        ("rights", Some(record.rights.to_string())),
        ("length", Some(format!("{} bytes of UTF-8", record.bytes))),
        ("SHA-256", Some(record.digest.clone())),
        ("changed", Some(record.changed.to_string())),
    ];
    for (name, value) in rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        writeln!(out, "  {name:<9} {}", clean(value))?;
    }
    for (recipe, gems) in &record.gems {
        writeln!(out, "  {:<9} {gems} of recipe {recipe}", "gems")?;
    }
    Ok(Status::Done)
}

fn remove(target: &Target, library: &Library, ids: Vec<BookId>) -> Result<Status, Failure> {
    let catalogue = target.open()?;
    let mut status = Status::Done;
    for id in ids {
        let key = BookKey { library: library.clone(), id };
        if catalogue.remove(&key)? {
            writeln!(stdout(), "removed {key}")?;
        } else {
            eprintln!("lapidary: {}", missing(&key));
            status = Status::WrongInput;
        }
    }
    Ok(status)
}

fn missing(key: &BookKey) -> Failure {
    Failure::Input(format!("there is no book {:?} in library {:?}", key.id.as_str(), key.library.as_str()))
}
