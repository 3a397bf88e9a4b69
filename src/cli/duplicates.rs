//! `lapidary duplicates`: groups of files, or of books of a catalogue, with the same text or parts of it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use lapidary::catalogue::{Catalogue, CatalogueError, Content, Duplicates as Found, NewEntry};
use lapidary::count::count;
use lapidary::duplicates::{Copy, Merit, Pair, best};
use lapidary::extract::{Book, Extracted, Format};
use lapidary::index::{Actor, BookId, BookKey, Record, Rights};
use lapidary::matching::Relation;
use lapidary::shell::quoted;
use lapidary_gems::Recipe;
use serde::Serialize;

use super::arguments::RuleArguments;
use super::failure::{Failure, Status};
use super::files::{Choice, TextArguments, Usually, Walk};
use super::jobs::bar;
use super::terminal::{out, tell};

/// The library of the temporary catalogue.
const LIBRARY: &str = "files";

/// Find groups of files with the same text, or with parts of it: copies, editions, and works in collections.
///
/// Files are compared by their text, in whatever format. For each group, the copy to keep is proposed: the most complete one; of
/// equally complete ones, the one whose format keeps most of a book; then the one with most metadata. Nothing is deleted.
/// Texts that only share quotations are no group.
#[derive(Args)]
pub(super) struct Duplicates {
    /// Compare the books of this catalogue instead of files
    #[arg(long, value_name = "DIR", conflicts_with = "paths", required_unless_present = "paths")]
    data: Option<PathBuf>,
    /// The recipe to compare by [default: hardened; with --data, the catalogue's default]
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<Recipe>,
    #[command(flatten)]
    rule: RuleArguments,
    #[command(flatten)]
    input: TextArguments,
    #[command(flatten)]
    choice: Choice,
    /// Print one JSON object per group
    #[arg(long, conflicts_with_all = ["csv", "script"])]
    json: bool,
    /// Print a table with a line per text: group, text, bytes, whether it is the best, and how it relates to the best
    #[arg(long, conflicts_with = "script")]
    csv: bool,
    /// Print a shell script that would delete all copies of the best text but the best one. Parts, collections and revised
    /// editions stay
    #[arg(long, conflicts_with = "data")]
    script: bool,
    /// Files, or folders to read recursively
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// The name of a file, with the name of the book in it if it is an archive, and its format if known.
type FileName = (String, Option<Format>);

/// A group, as JSON.
#[derive(Serialize)]
struct GroupLine<'a> {
    files: Vec<&'a str>,
    best: &'a str,
    reason: &'static str,
    pairs: Vec<PairLine<'a>>,
}

#[derive(Serialize)]
struct PairLine<'a> {
    a: &'a str,
    b: &'a str,
    relation: &'static str,
    share_of_a: f64,
    share_of_b: f64,
}

/// A group with the names of its texts.
struct Named {
    found: Found,
    names: Vec<String>,
    best: usize,
    merit: Merit,
}

impl Duplicates {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let (mut groups, status) = match &self.data {
            Some(folder) => {
                let catalogue = Catalogue::open(folder)?;
                let name_of = |record: &Record| (record.key.to_string(), None);
                (self.groups(&catalogue, name_of)?, Status::Done)
            }
            None => self.of_files()?,
        };
        groups.sort_by(|a, b| a.names.cmp(&b.names));
        self.print(&groups)?;
        Ok(status)
    }

    /// The groups of files. They are compared in a temporary catalogue, so that their gems need no memory.
    fn of_files(&self) -> Result<(Vec<Named>, Status), Failure> {
        let folder = tempfile::tempdir();
        let folder = folder.map_err(|e| Failure::Failed(format!("cannot create a temporary folder: {e}")))?;
        let catalogue = Catalogue::open_or_create(folder.path())?;
        let recipe = self.recipe.clone().unwrap_or_else(Recipe::hardened);
        let recipes = catalogue.by(Actor::Local).ensure_recipes(&[recipe])?;
        let Walk { found, refused, .. } = Walk::of(&self.paths, &self.choice, Usually::Books);
        for (path, why) in &refused {
            tell(format_args!("lapidary: {}: {why}", path.display()));
        }
        let bar = bar("reading");
        bar.set_length(found.len() as u64);
        let read: Mutex<BTreeMap<BookId, FileName>> = Mutex::default();
        let unread = AtomicBool::new(!refused.is_empty());
        catalogue.by(Actor::Local).add_all(
            found.into_iter().enumerate().collect(),
            &recipes,
            |(number, file)| {
                bar.inc(1);
                let path = file.path.display().to_string();
                let books = match self.input.reading.books(&file.path) {
                    Ok(books) => books,
                    Err(why) => return vec![(path, Err(Failure::Input(why)))],
                };
                let entry = |(member, book)| self.entry(number, &path, member, book, &read);
                books.into_iter().enumerate().map(entry).collect()
            },
            |name, added| {
                if let Err(why) = added {
                    unread.store(true, Ordering::Relaxed);
                    bar.suspend(|| tell(format_args!("lapidary: {name}: {why}")));
                }
            },
        )?;
        bar.finish_and_clear();
        let names = read.into_inner().unwrap_or_else(PoisonError::into_inner);
        let name_of = |record: &Record| names.get(&record.key.id).cloned().unwrap_or_default();
        let groups = self.groups(&catalogue, name_of)?;
        Ok((groups, if unread.into_inner() { Status::WrongInput } else { Status::Done }))
    }

    /// A book of a file, to be compared. Its name and format are noted in `read`: names are too long for ids.
    fn entry(
        &self,
        number: usize,
        path: &str,
        member: usize,
        book: Book,
        read: &Mutex<BTreeMap<BookId, FileName>>,
    ) -> (String, Result<NewEntry, Failure>) {
        let name = book.name.map_or_else(|| path.to_owned(), |member| format!("{path}/{member}"));
        let entry = || {
            let Extracted { text, format, metadata, .. } = book.read.map_err(|e| Failure::Input(e.to_string()))?;
            let id: BookId = format!("{number}.{member}").parse().map_err(CatalogueError::from)?;
            read.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), (name.clone(), Some(format)));
            let content = Content::Text { text, clean: self.input.clean };
            let key = BookKey { library: LIBRARY.parse().map_err(CatalogueError::from)?, id };
            Ok(NewEntry { description: metadata, ..NewEntry::new(key, Rights::Unknown, content) })
        };
        let entry = entry();
        (name, entry)
    }

    fn groups(&self, catalogue: &Catalogue, name_of: impl Fn(&Record) -> FileName) -> Result<Vec<Named>, Failure> {
        let bar = bar("comparing");
        let found = catalogue.duplicates(self.recipe.as_ref().map(Recipe::name), self.rule.changes(), &|done, all| {
            bar.set_length(all);
            bar.set_position(done);
            Ok(())
        });
        bar.finish_and_clear();
        let with_best = |found: Found| {
            let found = found.ordered_by(|record| name_of(record).0);
            let (names, formats): (Vec<String>, Vec<Option<Format>>) = found.books.iter().map(&name_of).unzip();
            let copies: Vec<Copy<'_>> = found
                .books
                .iter()
                .zip(formats)
                .map(|(book, format)| Copy { bytes: book.bytes, format, description: &book.description })
                .collect();
            let (best, merit) = best(&copies)?;
            Some(Named { found, names, best, merit })
        };
        Ok(found?.into_iter().filter_map(with_best).collect())
    }

    fn print(&self, groups: &[Named]) -> Result<(), Failure> {
        let mut out = out(self.json);
        if self.csv {
            return csv(&mut out, groups);
        }
        if self.script {
            writeln!(
                out,
                "#!/bin/sh\n# Deletes the copies that `lapidary duplicates` found. Read it before you run it.\nset -eu"
            )?;
        }
        for (group, number) in groups.iter().zip(1..) {
            if self.json {
                serde_json::to_writer(&mut out, &group.line()).map_err(io::Error::from)?;
                writeln!(out)?;
            } else if self.script {
                group.script(&mut out)?;
            } else {
                group.sentences(&mut out, number)?;
            }
        }
        if !self.json && !self.script {
            let texts = groups.iter().map(|group| group.names.len() as u64).sum();
            let groups = count(groups.len() as u64, "group", "groups");
            writeln!(out, "{groups}, {} in them", count(texts, "text", "texts"))?;
        }
        Ok(())
    }
}

impl Named {
    fn name(&self, member: u32) -> &str {
        &self.names[member as usize]
    }

    fn line(&self) -> GroupLine<'_> {
        let pair = |pair: &Pair<u32>| PairLine {
            a: self.name(pair.a),
            b: self.name(pair.b),
            relation: pair.relation_name(),
            share_of_a: pair.share_of_a,
            share_of_b: pair.share_of_b,
        };
        GroupLine {
            files: self.names.iter().map(String::as_str).collect(),
            best: &self.names[self.best],
            reason: self.merit.reason(),
            pairs: self.found.group.pairs.iter().map(pair).collect(),
        }
    }

    /// How a text relates to the best one, seen from the text, if they were compared.
    fn to_best(&self, member: usize) -> Option<Pair<u32>> {
        let (member, best) = (member as u32, self.best as u32);
        let pair =
            self.found.group.pairs.iter().find(|pair| (pair.a, pair.b) == (member.min(best), member.max(best)))?;
        // Numbered so that the text comes first.
        Some(pair.renumbered(|number| u32::from(number == best)))
    }

    fn sentences(&self, out: &mut impl Write, number: usize) -> io::Result<()> {
        writeln!(out, "{number}. {}", self.names[self.best])?;
        writeln!(out, "   the best: {}", self.merit.reason())?;
        for (member, name) in self.names.iter().enumerate().filter(|(member, _)| *member != self.best) {
            let relation = match self.to_best(member) {
                None => "related to others of the group".to_owned(),
                Some(Pair { identical: true, .. }) => "the same text".to_owned(),
                Some(Pair { relation, share_of_a, share_of_b, .. }) => {
                    let shares = format!("{} of it, {} of the best", percent(share_of_a), percent(share_of_b));
                    format!("{} ({shares})", said(relation))
                }
            };
            writeln!(out, "   {name}\n      {relation}")?;
        }
        Ok(())
    }

    fn script(&self, out: &mut impl Write) -> io::Result<()> {
        let copies = (0..self.names.len()).filter(|member| {
            let pair = self.to_best(*member).filter(|_| *member != self.best);
            pair.is_some_and(|pair| pair.identical || pair.relation == Relation::SameText)
        });
        for (i, member) in copies.enumerate() {
            if i == 0 {
                writeln!(out, "\n# kept: {} ({})", quoted(&self.names[self.best]), self.merit.reason())?;
            }
            writeln!(out, "rm -- {}", quoted(&self.names[member]))?;
        }
        Ok(())
    }
}

fn csv(out: &mut impl Write, groups: &[Named]) -> Result<(), Failure> {
    let mut table = csv::Writer::from_writer(out);
    let header = ["group", "text", "bytes", "best", "relation_to_best", "share_of_text", "share_of_best"];
    let failed = |e: csv::Error| Failure::Failed(e.to_string());
    table.write_record(header).map_err(failed)?;
    for (group, number) in groups.iter().zip(1_u64..) {
        for (member, (name, book)) in group.names.iter().zip(&group.found.books).enumerate() {
            let pair = group.to_best(member).filter(|_| member != group.best);
            let share = |of: fn(&Pair<u32>) -> f64| pair.as_ref().map(|pair| format!("{:.4}", of(pair)));
            table
                .write_record([
                    number.to_string(),
                    name.clone(),
                    book.bytes.to_string(),
                    (member == group.best).to_string(),
                    pair.as_ref().map(Pair::relation_name).unwrap_or_default().to_owned(),
                    share(|pair| pair.share_of_a).unwrap_or_default(),
                    share(|pair| pair.share_of_b).unwrap_or_default(),
                ])
                .map_err(failed)?;
        }
    }
    Ok(table.flush()?)
}

fn said(relation: Relation) -> &'static str {
    match relation {
        Relation::SameText => "nearly the same text",
        Relation::PartOfBook => "a part of the best",
        Relation::ContainsBook => "contains the best",
        Relation::Overlap | Relation::Quotations => "has passages of the best",
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
