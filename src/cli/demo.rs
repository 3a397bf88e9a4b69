//! `lapidary demo`: demonstrates Lapidary on a small made-up shelf.

use std::collections::HashSet;
use std::env;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use console::{Alignment, Style, pad_str};
use lapidary::demo::{Forgery, LIBRARY, SHELF, STRANGER, StorySetting, VICTIM};
use lapidary_catalogue::api::Report;
use lapidary_catalogue::{Catalogue, CatalogueError, CheckOptions, Content, NewEntry, Query};
use lapidary_common::count::grouped;
use lapidary_common::description::Description;
use lapidary_common::shell::quoted;
use lapidary_gems::Recipe;
use lapidary_language::Language;
use lapidary_report::{TerminalPage, clean, style, wrap};
use lapidary_store::{Actor, BookKey, Record};

/// How many lines of the original and the copy to show.
const SAMPLE_LINES: usize = 6;
/// The indentation of lists, the width of a book's rights and gems, and the column separator.
const INDENT: usize = 4;
const FIGURES: usize = 25;
const GUTTER: &str = " │ ";
/// The name of this program.
const PROGRAM: &str = "lapidary";

/// Why the demo failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// The catalogue in the temporary folder failed.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The temporary folder could not be created or removed.
    #[error("{}: {error}; set another folder for temporary files with TMPDIR", .folder.display())]
    Folder {
        /// The system's folder for temporary files.
        folder: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The output could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Runs the demo: fills a catalogue in a temporary folder with made-up books, checks a disguised copy of one and an unknown
/// book, and prints the results with timings. The folder is removed at the end.
pub fn run(out: &mut impl Write) -> Result<(), DemoError> {
    let folder_failed = |error| DemoError::Folder {
        folder: env::temp_dir(),
        error,
    };
    let folder = tempfile::tempdir().map_err(folder_failed)?;
    Demo::new(out, console::colors_enabled()).show(folder.path())?;
    folder.close().map_err(folder_failed)
}

/// The state of a running demo.
struct Demo<'o, W> {
    page: TerminalPage<'o, W>,
    plain: Style,
    strong: Style,
}

impl<'o, W: Write> Demo<'o, W> {
    fn new(out: &'o mut W, colour: bool) -> Self {
        Self {
            page: TerminalPage::new(out, colour),
            plain: Style::new(),
            strong: Style::new().bold(),
        }
    }

    fn show(&mut self, folder: &Path) -> Result<(), DemoError> {
        let catalogue = Catalogue::open_or_create(folder)?;
        self.fill(&catalogue)?;
        let copy = VICTIM.disguised();
        self.introduce(&copy, &VICTIM.text())?;
        self.page.gap()?;
        self.head("Does the catalogue find the copy?")?;
        self.check(&catalogue, "midnight.txt", copy.text)?;
        self.page.gap()?;
        self.head(&format!(
            "And \"{}\", which is on no shelf?",
            STRANGER.title
        ))?;
        self.check(&catalogue, "weathervane.txt", STRANGER.text())?;
        Ok(self.invite()?)
    }

    /// Adds the shelf to the catalogue.
    fn fill(&mut self, catalogue: &Catalogue) -> Result<(), DemoError> {
        self.head("A shelf of books that nobody wrote")?;
        let entries = SHELF.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        let texts = entries.iter().filter_map(|entry| entry.content.as_text());
        let (mut characters, mut bytes) = (0, 0);
        for text in texts {
            characters += text.chars().count();
            bytes += text.len();
        }
        // With a secret, it would print other figures to everybody.
        let recipes = [Recipe::hardened(), Recipe::released()];
        let recipes = catalogue.by(Actor::Local).recipes().ensure(&recipes)?;
        let start = Instant::now();
        let prepared = entries
            .into_iter()
            .map(|entry| catalogue.by(Actor::Local).books().prepare(entry, &recipes));
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        let fingerprinted = start.elapsed();
        let mut gems = 0;
        for book in &prepared {
            gems += self.list(book.record())?;
        }
        let start = Instant::now();
        catalogue.by(Actor::Local).books().commit(prepared)?;
        let committed = start.elapsed();
        let speed = bytes as f64 / 1e6 / fingerprinted.as_secs_f64();
        let sentence = format!(
            "{} characters ({:.1} MB) became {} gems in {}, which is {speed:.0} MB/s, and were safe on disk {} later. A gem \
             is a number that represents a passage of text; the catalogue stores gems, not texts.",
            grouped(characters as u64),
            bytes as f64 / 1e6,
            grouped(gems.into()),
            time(fingerprinted),
            time(committed),
        );
        Ok(self.page.say(0, &self.plain, &sentence)?)
    }

    /// Shows a book of the shelf. Returns its number of gems.
    fn list(&mut self, book: &Record) -> io::Result<u32> {
        let gems = book.gems.values().sum();
        let title = book.description.title.as_deref().unwrap_or_default();
        let title = pad_str(
            title,
            self.page.width() - INDENT - FIGURES,
            Alignment::Left,
            Some("…"),
        );
        let line = format!("{title}{:>15}{gems:5} gems", book.rights.as_str());
        self.page.line(INDENT, &style(book.rights), &line)?;
        Ok(gems)
    }

    /// Shows the disguised copy next to the original.
    fn introduce(&mut self, copy: &Forgery, original: &str) -> Result<(), DemoError> {
        self.page.gap()?;
        self.head(&format!("A disguised copy of \"{}\"", VICTIM.title))?;
        let lines: HashSet<&str> = original.lines().collect();
        let written = || copy.text.lines().filter(|line| !line.is_empty());
        let sentence = format!(
            "Its title page, first and last chapter are gone; another title and an advertisement were put in front; vowels \
             are mistyped, short words dropped and added, capitals, accents, quotes and line width changed. Of its {} \
             lines, {} are in the original.",
            grouped(written().count() as u64),
            grouped(written().filter(|line| lines.contains(line)).count() as u64),
        );
        self.page.say(0, &self.plain, &sentence)?;
        self.page.gap()?;
        let columns = (self.page.width() - INDENT - GUTTER.chars().count()) / 2;
        let [book, copy] = [&copy.sample.0, &copy.sample.1].map(|text| wrap(text, columns));
        for (left, right) in book.iter().zip(&copy).take(SAMPLE_LINES) {
            self.page.line(
                INDENT,
                &self.plain,
                &format!(
                    "{}{GUTTER}{right}",
                    pad_str(left, columns, Alignment::Left, None)
                ),
            )?;
        }
        Ok(())
    }

    /// Checks a text and shows the report.
    fn check(
        &mut self,
        catalogue: &Catalogue,
        name: &str,
        text: String,
    ) -> Result<Report, DemoError> {
        let bytes = text.len() as u64;
        let start = Instant::now();
        let report = catalogue
            .checks()
            .report(&Query::text(text), &CheckOptions::default())?;
        let took = start.elapsed();
        self.page
            .report(Language::English, name, &report, Some(bytes))?;
        self.page.say(
            0,
            &self.plain,
            &format!("Fingerprinted, looked up and reported in {}.", time(took)),
        )?;
        Ok(report)
    }

    /// Suggests what to run next.
    fn invite(&mut self) -> io::Result<()> {
        self.page.gap()?;
        self.head("Now with your books")?;
        let exe = env::current_exe().unwrap_or_else(|_| PROGRAM.into());
        let program = command(&exe, env::var_os("PATH").as_deref());
        for task in [
            "ingest --data ./catalogue --library mine --rights protected ~/books",
            "check --data ./catalogue FILE",
            "serve --data ./catalogue --open",
        ] {
            // Not wrapped, so that it can be copied.
            self.page
                .line(INDENT, &self.plain, &format!("{program} {task}"))?;
        }
        Ok(())
    }

    fn head(&mut self, words: &str) -> io::Result<()> {
        self.page.say(0, &self.strong, words)
    }
}

/// A book of the shelf as a catalogue entry.
fn entry(book: &StorySetting) -> Result<NewEntry, CatalogueError> {
    let key = BookKey {
        library: LIBRARY.parse()?,
        id: book.id.parse()?,
    };
    let description = Description {
        title: Some(book.title.to_owned()),
        authors: vec![book.author.to_owned()],
        language: Some(book.language.tag.to_owned()),
        ..Description::default()
    };
    Ok(NewEntry {
        description,
        ..NewEntry::new(key, book.rights, Content::text(book.text()))
    })
}

/// Formats a duration in milliseconds.
fn time(took: Duration) -> String {
    let milliseconds = took.as_secs_f64() * 1e3;
    if milliseconds < 10.0 {
        format!("{milliseconds:.1} ms")
    } else {
        format!("{milliseconds:.0} ms")
    }
}

/// The command that runs this program: its name if the shell finds it on `PATH`, otherwise its path.
fn command(exe: &Path, search: Option<&OsStr>) -> String {
    let found = search.and_then(|path| {
        env::split_paths(path)
            .map(|folder| folder.join(PROGRAM))
            .find(|p| p.is_file())
    });
    if exe == Path::new(PROGRAM) || found.is_some_and(|found| are_same_file(&found, exe)) {
        return PROGRAM.to_owned();
    }
    quoted(&clean(&exe.display().to_string()))
}

fn are_same_file(a: &Path, b: &Path) -> bool {
    let (a, b) = (a.canonicalize(), b.canonicalize());
    matches!((a, b), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Demo, command};
    use lapidary::demo::{SHELF, STRANGER, VICTIM};
    use lapidary_catalogue::Catalogue;
    use lapidary_catalogue::api::Report;
    use lapidary_checking::Relation;
    use lapidary_store::Rights;

    /// Checks texts against the shelf.
    fn checked(texts: Vec<String>) -> Vec<Report> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a new catalogue");
        let mut out = Vec::new();
        let mut demo = Demo::new(&mut out, false);
        demo.fill(&catalogue).expect("a shelf");
        texts
            .into_iter()
            .map(|text| demo.check(&catalogue, "it", text).expect("a report"))
            .collect()
    }

    #[test]
    fn disguised_copies_are_found() {
        let copies = SHELF.iter().map(|book| book.disguised().text).collect();
        for (book, report) in SHELF.iter().zip(checked(copies)) {
            // The two Russian stories have many phrases in common.
            assert!(
                report.total == 1 || book.language.tag == "ru",
                "{}: one match, not {report:?}",
                book.id
            );
            let found = &report.matches[0];
            assert_eq!(
                (found.book.id.as_str(), found.book.rights),
                (book.id, book.rights)
            );
            assert_eq!(found.relation, Some(Relation::SameText), "{}", book.id);
            assert!(
                found.score.share_of_query > 0.3,
                "{}: {:?}",
                book.id,
                found.score
            );
        }
        assert_eq!(VICTIM.rights, Rights::Protected);
    }

    #[test]
    fn a_disguise_hides_every_line() {
        for book in &SHELF {
            let (original, copy) = (book.text(), book.disguised().text);
            let kept = copy
                .lines()
                .filter(|line| !line.is_empty() && original.contains(line))
                .count();
            assert!(
                kept * 50 < copy.lines().count(),
                "{}: {kept} lines are still there",
                book.id
            );
        }
    }

    #[test]
    fn a_stranger_finds_nothing() {
        let [report] = checked(vec![STRANGER.text()]).try_into().expect("one");
        assert_eq!((report.verdict, report.total), (Rights::Unknown, 0));
        assert!(report.gems > 0);
    }

    #[test]
    fn it_fits_on_two_screens() {
        for (width, most) in [(80, 60), (40, 120)] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut out = Vec::new();
            let mut demo = Demo::new(&mut out, false);
            demo.page = demo.page.of_width(width);
            demo.show(folder.path()).expect("a demo");
            let text = String::from_utf8(out).expect("text");
            assert!(text.lines().count() < most, "{text}");
            let commands = |line: &&str| !line.contains("--data");
            let widest = text
                .lines()
                .filter(commands)
                .map(console::measure_text_width)
                .max();
            assert!(widest <= Some(width), "{text}");
            assert!(
                text.contains("PROTECTED")
                    && text.contains("demo/lighthouse")
                    && !text.contains('\u{1b}'),
                "{text}"
            );
        }
    }

    #[test]
    fn the_command_to_type() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let exe = folder.path().join("lapidary");
        std::fs::write(&exe, "").expect("a file");
        assert_eq!(command(&exe, Some(folder.path().as_os_str())), "lapidary");
        assert_eq!(
            command(&exe, Some("/nowhere".as_ref())),
            exe.display().to_string()
        );
        assert_eq!(
            command(Path::new("/it's my/lapidary"), None),
            r"'/it'\''s my/lapidary'"
        );
    }
}
