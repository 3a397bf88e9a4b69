//! `lapidary duplicates`: groups of files, or of books of a catalogue, with the same text or parts of it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::{ArgGroup, Args};
use jiff::Timestamp;
use lapidary::server::settings::RuleArguments;
use lapidary_catalogue::duplicate_groups::{Copy, LeftOut, Pair, best};
use lapidary_catalogue::{
    Catalogue, CatalogueError, Content, DuplicateOptions, Duplicates as Found, FoundDuplicates,
    NewEntry,
};
use lapidary_common::shell::quoted;
use lapidary_extract::{Book, Extracted, Format};
use lapidary_gems::{Recipe, RecipeError, RecipeName};
use lapidary_report::{
    Copies, DuplicatesReport, Lineage, Overlaps, duplicates_left_out, html_duplicates,
    html_history, print_duplicates,
};
use lapidary_store::{Actor, BookId, BookKey, Library, Record, Rights};
use lapidary_store_redis::ClusterAddress;
use parking_lot::Mutex;
use serde::Serialize;

use super::arguments::{LanguageArgument, LexiconArgument, STORE, Target, VolatileArgument};
use super::audit::time;
use super::failure::{Failure, Status};
use super::files::{FileArguments, FileWalk, InputFile, Usually};
use super::history::{Dates, lineage};
use super::jobs::{advance, bar};
use super::terminal::{json_line, out, tell, write_page};

/// The library of the temporary catalogue.
const LIBRARY: &str = "files";

/// Find groups of files with the same text, copies and editions, and list what else has text in common, such as works in
/// collections.
///
/// Files are compared by their text, in whatever format. A group has all texts that are the same, directly or through others. Texts
/// that only share quotations are not mentioned. Nothing is deleted.
///
/// For each group, the copy to keep is proposed: the longest; among those at most 1 % shorter, the one whose format keeps most of a
/// book (EPUB before FB2, and plain text last); then the one with most metadata; then the first by name. `reason` in JSON says which of
/// these decided: `most_complete`, `best_format`, `most_metadata` or `first`.
///
/// In JSON, a line is a group with `files`, `best`, `reason` and `pairs`, of which `relation` says how `a` relates to `b`: `identical`
/// (to the letter, perhaps after removing print artifacts), `same_text`, `part_of_book`, `contains_book` or `overlap`. A line with
/// `overlap` names two texts of different groups that have text in common. The shares are of gems.
///
/// A passage that more than 500 texts share, such as a licence, does not connect them (`--common-cap`). A text is compared with at
/// most 32 earlier ones, those that have most of its passages, and one with 100 earlier copies to the letter only with the first of
/// them. What that leaves out is told, in JSON as `left_out`.
///
/// In a history, a passage belongs to the earliest text that has it and is paired with this one. A text is as old as `--dates` says,
/// else as its record or its file says (`published`), else as its file. Of each group, the earliest 100 texts are traced. Most
/// signatures have no places, so there is nothing to trace with their gems.
///
/// The comparison takes place in the temporary folder (`TMPDIR`), which takes as much space as a catalogue of these books.
#[derive(Args)]
#[command(group(ArgGroup::new("compared").required(env::var_os(STORE).is_none()).args(["data", "store", "paths"])))]
pub(super) struct DuplicatesArgs {
    /// Compare the books of this catalogue instead of files
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Compare the books of a catalogue in this Redis Cluster (experimental) instead of files. With neither this, --data nor a
    /// PATH, the variable `LAPIDARY_STORE` is read
    #[arg(long, value_name = "URL")]
    store: Option<ClusterAddress>,
    #[command(flatten)]
    volatile: VolatileArgument,
    /// In a catalogue: find only duplicates of the books added or replaced since this time: 2030-01-31T08:00:00Z, or how long ago, such as
    /// 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "paths")]
    since: Option<Timestamp>,
    /// In a catalogue: compare only the books of this library
    #[arg(long, conflicts_with = "paths")]
    library: Option<Library>,
    /// The recipe to compare by [default: hardened; of a catalogue, its default]
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,
    #[command(flatten)]
    lexicon: LexiconArgument,
    #[command(flatten)]
    rule: RuleArguments,
    #[command(flatten)]
    input: FileArguments,
    /// Print one JSON object per group, then one per overlap
    #[arg(long, conflicts_with_all = ["csv", "script"])]
    json: bool,
    /// Print a table with a line per text: group, text, bytes, whether it is the best, and how it relates to the best; then a line
    /// per overlap
    #[arg(long, conflicts_with = "script")]
    csv: bool,
    /// Print a shell script that would delete all copies of the best text but the best one. Parts, collections and revised
    /// editions stay
    #[arg(long, conflicts_with_all = ["data", "store"])]
    script: bool,
    /// Also write an HTML page with a picture of each group
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write an HTML page that shows which passages of each text came from which earlier one of its group. Texts are dated by
    /// when they were published, if the record or the file says so; else books of a catalogue by when they last changed, and
    /// files by when they were last modified; --dates goes before both
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// When texts appeared: a file with the name of a text, as this command prints it, a tab, and a date in each line: 1886,
    /// 1886-05 or 1886-05-31
    #[arg(long, value_name = "FILE", requires = "history")]
    dates: Option<PathBuf>,
    #[command(flatten)]
    language: LanguageArgument,
    /// Files, or folders to read recursively
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// What is known of a text besides its record.
#[derive(Clone)]
struct KnownBooks {
    /// The name of the file, with the name of the book in it if it is an archive; of a book, its library and id.
    name: String,
    /// Its format, if known.
    format: Option<Format>,
    /// When it was last changed.
    changed: Timestamp,
}

/// What was read of files, by their ids in the temporary catalogue: names are too long for ids.
type ReadFiles = Mutex<BTreeMap<BookId, KnownBooks>>;

/// A group, as JSON.
#[derive(Serialize)]
struct GroupLine<'a> {
    files: Vec<&'a str>,
    best: &'a str,
    reason: &'static str,
    pairs: Vec<PairLine<'a>>,
}

/// Two texts that overlap, as JSON.
#[derive(Serialize)]
struct OverlapLine<'a> {
    overlap: [&'a str; 2],
    relation: &'static str,
    share_of_a: f64,
    share_of_b: f64,
}

/// What was left out, as JSON.
#[derive(Serialize)]
struct LeftOutLine {
    left_out: LeftOut,
}

#[derive(Serialize)]
struct PairLine<'a> {
    a: &'a str,
    b: &'a str,
    relation: &'static str,
    share_of_a: f64,
    share_of_b: f64,
}

impl DuplicatesArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let (mut found, status) = if self.paths.is_empty() {
            if self.script {
                return Err(Failure::Input(
                    "--script is about files: give their PATHs".to_owned(),
                ));
            }
            let target = Target {
                data: self.data.clone(),
                store: self.store.clone(),
                volatile: self.volatile,
                server: None,
            };
            if self.lexicon.lexicon.is_some() {
                return Err(Failure::Input(
                    "--lexicon is for files: a catalogue has its lexicons".to_owned(),
                ));
            }
            let name = self.recipe.as_deref().map(str::parse).transpose();
            let name = name.map_err(|e: RecipeError| Failure::Input(format!("--recipe: {e}")))?;
            (
                self.found(&target.open_existing()?, name, |record: &Record| {
                    KnownBooks::book(record)
                })?,
                Status::Done,
            )
        } else {
            self.of_files()?
        };
        found.groups.sort_by(|a, b| a.names.cmp(&b.names));
        self.print(&found)?;
        Ok(status)
    }

    /// The groups of files. They are compared in a temporary catalogue, so that their gems need no memory.
    fn of_files(&self) -> Result<(DuplicatesReport, Status), Failure> {
        let folder = tempfile::tempdir();
        let folder = folder
            .map_err(|e| Failure::Failed(format!("cannot create a temporary folder: {e}")))?;
        let catalogue = Catalogue::open_or_create(folder.path())?;
        let recipe = self
            .lexicon
            .recipe("--recipe", self.recipe.as_deref().unwrap_or("hardened"))?;
        let name = recipe.name().clone();
        let (known, is_incomplete) = self.add_files(&catalogue, recipe)?;
        let found = self.found(&catalogue, Some(name), |record| {
            known
                .get(&record.key.id)
                .cloned()
                .unwrap_or_else(|| KnownBooks::book(record))
        })?;
        Ok((found, Status::of_input(is_incomplete)))
    }

    /// Adds the books of all files to the temporary catalogue. Returns what is known of them, and whether some could not be read.
    fn add_files(
        &self,
        catalogue: &Catalogue,
        recipe: Recipe,
    ) -> Result<(BTreeMap<BookId, KnownBooks>, bool), Failure> {
        let recipes = catalogue.by(Actor::Local).recipes().ensure(&[recipe])?;
        let FileWalk { found, refused, .. } = self.input.walk(&self.paths, Usually::Books);
        for (path, why) in &refused {
            tell(format_args!("lapidary: {}: {why}", path.display()));
        }
        let bar = bar("reading");
        bar.set_length(found.len() as u64);
        let read = ReadFiles::default();
        let mut is_incomplete = !refused.is_empty();
        catalogue.by(Actor::Local).ingest().add_all(
            found.into_iter().enumerate().collect(),
            &recipes,
            |(number, file): (usize, InputFile)| {
                bar.inc(1);
                self.entries(number, &file.path, &read)
            },
            |name: String, added| {
                if let Err(why) = added {
                    is_incomplete = true;
                    bar.suspend(|| tell(format_args!("lapidary: {name}: {why}")));
                }
            },
        )?;
        bar.finish_and_clear();
        let known = read.into_inner();
        Ok((known, is_incomplete))
    }

    /// The books of a file, each with its name.
    fn entries(
        &self,
        number: usize,
        path: &Path,
        read: &ReadFiles,
    ) -> Vec<(String, Result<NewEntry, Failure>)> {
        let modified = fs::metadata(path).and_then(|of| of.modified()).ok();
        let changed = modified
            .and_then(|at| Timestamp::try_from(at).ok())
            .unwrap_or_default();
        let shown = path.display().to_string();
        let books = match self.input.text.reading.books(path) {
            Ok(books) => books,
            Err(why) => return vec![(shown, Err(Failure::Input(why)))],
        };
        let mut entries = Vec::new();
        for (member, book) in books.into_iter().enumerate() {
            let name = match &book.name {
                Some(member) => format!("{shown}/{member}"),
                None => shown.clone(),
            };
            let known = KnownBooks {
                name: name.clone(),
                format: None,
                changed,
            };
            let id = format!("{number}.{member}");
            entries.push((name, self.entry(&id, known, book, read)));
        }
        entries
    }

    /// A book of a file, to be compared.
    fn entry(
        &self,
        id: &str,
        known: KnownBooks,
        book: Book,
        read: &ReadFiles,
    ) -> Result<NewEntry, Failure> {
        let Extracted {
            text,
            format,
            metadata,
            ..
        } = book.read.map_err(|e| Failure::Input(e.to_string()))?;
        let id: BookId = id.parse().map_err(CatalogueError::from)?;
        let known = KnownBooks {
            format: Some(format),
            ..known
        };
        read.lock().insert(id.clone(), known);
        let content = Content::Text {
            text,
            clean: self.input.text.clean,
        };
        let key = BookKey {
            library: LIBRARY.parse().map_err(CatalogueError::from)?,
            id,
        };
        let keep_text = self.history.is_some();
        Ok(NewEntry {
            description: metadata,
            keep_text,
            ..NewEntry::new(key, Rights::Unknown, content)
        })
    }

    fn found(
        &self,
        catalogue: &Catalogue,
        recipe: Option<RecipeName>,
        known_of: impl Fn(&Record) -> KnownBooks,
    ) -> Result<DuplicatesReport, Failure> {
        let options = DuplicateOptions {
            recipe,
            rule: self.rule.changes(),
            since: self.since,
            library: self.library.clone(),
            connected: self.history.is_some(),
        };
        let bar = bar("comparing");
        let found = catalogue.checks().duplicates(&options, &advance(&bar));
        bar.finish_and_clear();
        let FoundDuplicates {
            groups,
            overlaps,
            connected,
            left_out,
        } = found?;
        let connected = by_name(connected, &known_of);
        self.write_history(catalogue, &options, &connected, &known_of)?;
        let overlaps = Overlaps {
            names: overlaps
                .books
                .iter()
                .map(|record| known_of(record).name)
                .collect(),
            pairs: overlaps.pairs,
        };
        let groups = by_name(groups, &known_of).into_iter();
        Ok(DuplicatesReport {
            groups: groups
                .filter_map(|found| with_best(found, &known_of))
                .collect(),
            overlaps,
            left_out,
        })
    }

    /// Writes the page of `--history`.
    fn write_history(
        &self,
        catalogue: &Catalogue,
        options: &DuplicateOptions,
        found: &[Found],
        known_of: impl Fn(&Record) -> KnownBooks,
    ) -> Result<(), Failure> {
        let Some(file) = &self.history else {
            return Ok(());
        };
        let dates = self
            .dates
            .as_ref()
            .map(|path| Dates::read(path))
            .transpose()?
            .unwrap_or_default();
        let groups = found.iter().map(|group| {
            lineage(catalogue, options, group, |record: &Record| {
                let KnownBooks { name, changed, .. } = known_of(record);
                let (at, written) = dates.of(&name, record.description.published, changed);
                (name, at, written)
            })
        });
        let groups: Vec<Lineage> = groups.collect::<Result<_, _>>()?;
        write_page(
            file,
            &html_history(self.language.lang, &groups, Timestamp::now()),
        )
    }

    fn print(&self, found: &DuplicatesReport) -> Result<(), Failure> {
        let language = self.language.lang;
        if let Some(file) = &self.html {
            write_page(file, &html_duplicates(language, found, Timestamp::now()))?;
        }
        let DuplicatesReport {
            groups,
            overlaps,
            left_out,
        } = found;
        let mut out = out(self.json);
        if self.json {
            for group in groups {
                json_line(&mut out, &line(group))?;
            }
            for (names, pair) in overlaps.named() {
                let line = OverlapLine {
                    overlap: names,
                    relation: pair.relation_name(),
                    share_of_a: pair.share_of_a,
                    share_of_b: pair.share_of_b,
                };
                json_line(&mut out, &line)?;
            }
            if !left_out.is_nothing() {
                let left_out = *left_out;
                json_line(&mut out, &LeftOutLine { left_out })?;
            }
        } else if self.csv {
            csv(&mut out, found)?;
        } else if self.script {
            writeln!(
                out,
                "#!/bin/sh\n# Deletes the copies that `lapidary duplicates` found. Read it before you run it.\nset -eu"
            )?;
            for group in groups {
                script(&mut out, group)?;
            }
        } else {
            print_duplicates(&mut out, language, found)?;
        }
        if self.csv || self.script {
            for sentence in duplicates_left_out(language, *left_out) {
                tell(format_args!("lapidary: {sentence}"));
            }
        }
        Ok(())
    }
}

impl KnownBooks {
    fn book(record: &Record) -> Self {
        Self {
            name: record.key.to_string(),
            format: None,
            changed: record.changed_at,
        }
    }
}

fn line(group: &Copies) -> GroupLine<'_> {
    GroupLine {
        files: group.names.iter().map(String::as_str).collect(),
        best: &group.names[group.best],
        reason: group.merit.as_str(),
        pairs: group
            .pairs
            .iter()
            .map(|pair| PairLine {
                a: &group.names[pair.a as usize],
                b: &group.names[pair.b as usize],
                relation: pair.relation_name(),
                share_of_a: pair.share_of_a,
                share_of_b: pair.share_of_b,
            })
            .collect(),
    }
}

/// Writes the lines of a script that deletes the copies of the best text of a group.
fn script(out: &mut impl Write, group: &Copies) -> io::Result<()> {
    for (i, text) in (0..group.names.len())
        .filter(|text| {
            let pair = group.to_best(*text).filter(|_| *text != group.best);
            pair.is_some_and(|pair| pair.is_of_same())
        })
        .enumerate()
    {
        if i == 0 {
            writeln!(
                out,
                "\n# kept: {} ({})",
                quoted(&group.names[group.best]),
                group.merit.as_str()
            )?;
        }
        writeln!(out, "rm -- {}", quoted(&group.names[text]))?;
    }
    Ok(())
}

fn csv(out: &mut impl Write, found: &DuplicatesReport) -> Result<(), Failure> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "group",
        "text",
        "bytes",
        "best",
        "relation",
        "share_of_text",
        "share_of_other",
        "other",
    ])?;
    for (group, number) in found.groups.iter().zip(1_u64..) {
        for (text, (name, bytes)) in group.names.iter().zip(&group.bytes).enumerate() {
            let pair = group.to_best(text).filter(|_| text != group.best);
            let [of_text, of_best] = pair.as_ref().map(shares).unwrap_or_default();
            let (relation, best) = match &pair {
                Some(pair) => (pair.relation_name(), group.names[group.best].as_str()),
                None => ("", ""),
            };
            table.write_record([
                &number.to_string(),
                name,
                &bytes.to_string(),
                &(text == group.best).to_string(),
                relation,
                &of_text,
                &of_best,
                best,
            ])?;
        }
    }
    for ([text, other], pair) in found.overlaps.named() {
        let [of_text, of_other] = shares(pair);
        let relation = pair.relation_name();
        table.write_record(["", text, "", "", relation, &of_text, &of_other, other])?;
    }
    Ok(table.flush()?)
}

/// The shares of the gems of both texts.
fn shares(pair: &Pair<u32>) -> [String; 2] {
    [pair.share_of_a, pair.share_of_b].map(|share| format!("{share:.4}"))
}

/// Groups with their texts in the order of their names.
fn by_name(groups: Vec<Found>, known_of: impl Fn(&Record) -> KnownBooks) -> Vec<Found> {
    let groups = groups.into_iter();
    groups
        .map(|group| group.ordered_by(|record| known_of(record).name))
        .collect()
}

/// A group of copies with the best of them.
fn with_best(found: Found, known_of: impl Fn(&Record) -> KnownBooks) -> Option<Copies> {
    let known = found
        .books
        .iter()
        .map(known_of)
        .map(|known| (known.name, known.format));
    let (names, formats): (Vec<String>, Vec<Option<Format>>) = known.unzip();
    let copies = found.books.iter().zip(formats).map(|(book, format)| Copy {
        bytes: book.bytes,
        format,
        description: &book.description,
    });
    let (best, merit) = best(&copies.collect::<Vec<_>>())?;
    let bytes = found.books.iter().map(|book| book.bytes).collect();
    Some(Copies {
        names,
        bytes,
        best,
        merit,
        pairs: found.pairs,
    })
}
