//! `lapidary check FILE…`.

mod pages;
mod texts;

use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use lapidary::server::settings::RuleArguments;
use lapidary_catalogue::api::Report;
use lapidary_catalogue::{Case, CheckOptions, Query, Recipes, TextGems};
use lapidary_checking::Policy;
use lapidary_extract::Whole;
use lapidary_extract::position::Locator;
use lapidary_language::Language;
use lapidary_report::{
    Checked, Outcome, PageTexts, Summary, print_report, summary, why_not_checked,
};
use lapidary_store::Library;
use rayon::prelude::*;
use serde::Serialize;

use self::pages::Pages;
use self::texts::TextSource;
use super::arguments::{BoundariesArgument, LanguageArgument, Target, policy};
use super::client::CatalogueClient;
use super::failure::{Failure, Status};
use super::files::{FileArguments, FileWalk, LanguageOfText, Usually};
use super::terminal::{json_line, out, tell};

/// How many files are checked in parallel before their reports are printed in order.
const AT_ONCE: usize = 16;

/// Check texts against a catalogue.
///
/// Reports say where passages are as readers know it: chapter, page, paragraph of the chapter, and percent of the text. Chapters are
/// the headings of HTML, EPUB, MOBI, FB2, FB3, DOCX, ODT and TEI files; in other texts, short lines between empty ones that begin with
/// a word such as Chapter or Глава and a number. Pages are those of PDF files, and of texts with form feeds. Of a book in the
/// catalogue, only the percentage is known, unless its text is kept or given.
///
/// Reports are in English, or with `--lang ru` in Russian: on the terminal, in pages, and in the `note` of `--json`. The language of
/// the system does not matter, so that scripts and filed reports read the same on every machine.
///
/// Exit status: 0 no protected or forbidden text was found; 1 such text was found, whatever else happened; 2 something could not be
/// checked; 3 the catalogue or the server failed. A missing file cannot be checked, nor can a text that is too short.
#[derive(Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    target: Target,
    /// The recipes to check with, such as hardened,released, or all. A book matches if it does under any of them
    /// [default: the catalogue's default]
    #[arg(long = "recipe", value_name = "RECIPES")]
    recipes: Option<Recipes>,
    #[command(flatten)]
    boundaries: BoundariesArgument,
    /// Use the recipe even if some books do not have gems of it yet. The report says how many do
    #[arg(long)]
    allow_incomplete: bool,
    #[command(flatten)]
    rule: RuleArguments,
    /// From how much on a match decides, as in `lapidary libraries policy`, in place of the policies of the libraries
    #[arg(long, value_name = "JSON", value_parser = policy)]
    policy: Option<Policy>,
    #[command(flatten)]
    input: FileArguments,
    #[command(flatten)]
    of: LanguageOfText,
    /// Check only against books of this library
    #[arg(long)]
    library: Option<Library>,
    /// Use the rights as of this day [default: today, in UTC]
    #[arg(long, value_name = "YYYY-MM-DD")]
    day: Option<jiff::civil::Date>,
    /// The maximum number of matches to show per file
    #[arg(long, value_name = "N", default_value_t = CheckOptions::default().limit)]
    limit: usize,
    /// File each report, with the file's name, so that decisions about it can be recorded (`lapidary decisions`)
    #[arg(long)]
    record: bool,
    /// With --record: the reference of the case
    #[arg(long, value_name = "REF", requires = "record")]
    case: Option<String>,
    #[command(flatten)]
    language: LanguageArgument,
    /// Print JSON Lines: one object per file
    #[arg(long)]
    json: bool,
    /// Write the reports as self-contained HTML pages: to REPORT.html for a single FILE, or to a folder with an index
    #[arg(long, value_name = "REPORT.html|DIR", conflicts_with = "json")]
    html: Option<PathBuf>,
    /// Compare word by word with the texts of the books that match: a folder with files named like the books' ids, an address
    /// such as `https://HOST/{library}/{id}.txt`, or a file with the text of the best match. For the 100 best matches, up to 64
    /// MiB of texts. Without this, pages of --html show the texts that the catalogue keeps
    #[arg(long, value_name = "DIR|URL|FILE")]
    text_from: Option<TextSource>,
    /// Files, or folders to read recursively; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// A line of `--json`: the file, and the report as in the HTTP API.
#[derive(Serialize)]
struct CheckedFileLine<'a> {
    file: String,
    #[serde(flatten)]
    report: Option<&'a Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl CheckArgs {
    fn options(&self) -> Result<CheckOptions, Failure> {
        Ok(CheckOptions {
            recipes: self.boundaries.recipes(self.recipes.as_ref())?,
            library: self.library.clone(),
            // A page is for others, too.
            exactly: self.html.is_none(),
            limit: self.limit,
            detail: true,
            day: self.day,
            allow_incomplete: self.allow_incomplete,
            policy: self.policy.clone(),
            text_language: self.of.language.clone(),
            record: self.record.then(|| Case {
                name: None,
                reference: self.case.clone(),
                ..Case::default()
            }),
            language: self.language.lang,
            ..CheckOptions::default()
        })
    }

    pub(super) fn run(self) -> Result<Status, Failure> {
        let catalogue = self.target.open_with(self.rule.given())?;
        let options = self.options()?;
        let (stdin, paths): (Vec<_>, Vec<_>) = self
            .files
            .iter()
            .cloned()
            .partition(|path| path.as_os_str() == "-");
        let FileWalk { found, refused, .. } = self.input.walk(&paths, Usually::All);
        let files: Vec<PathBuf> = stdin
            .into_iter()
            .take(1)
            .chain(found.into_iter().map(|f| f.path))
            .collect();
        let count = files.len() + refused.len();
        let pages = self
            .html
            .as_deref()
            .map(|path| Pages::at(path, count))
            .transpose()?;
        let mut shown = Output {
            json: self.json,
            language: self.language.lang,
            pages,
            rows: Vec::new(),
        };
        let checked = self.check_all(&catalogue, &files, refused, &options, &mut shown);
        let finished = checked.and_then(|()| shown.finish());
        match (finished, shown.status()) {
            // Protected text was found, whatever failed later.
            (
                Err(failure @ (Failure::Input(_) | Failure::Missing(_) | Failure::Failed(_))),
                Status::Found,
            ) => {
                tell(format_args!("lapidary: {failure}"));
                Ok(Status::Found)
            }
            (finished, status) => finished.map(|()| status),
        }
    }

    fn check_all(
        &self,
        catalogue: &CatalogueClient,
        files: &[PathBuf],
        refused: Vec<(PathBuf, String)>,
        options: &CheckOptions,
        output: &mut Output,
    ) -> Result<(), Failure> {
        for some in files.chunks(AT_ONCE) {
            let checked: Vec<_> = some
                .par_iter()
                .map(|path| self.check(catalogue, path, options))
                .collect();
            for (path, report) in some.iter().zip(checked) {
                output.show(path, report?)?;
            }
        }
        for (path, why) in refused {
            output.show(&path, Err(why))?;
        }
        Ok(())
    }

    /// The report on a file with its texts, or why the file cannot be checked. A failed catalogue ends the command.
    fn check(
        &self,
        catalogue: &CatalogueClient,
        path: &Path,
        options: &CheckOptions,
    ) -> Result<Result<CheckedFile, String>, Failure> {
        let Whole {
            text,
            headings,
            hidden,
        } = match self.input.text.reading.whole(path) {
            Ok(whole) => whole,
            Err(why) => return Ok(Err(why)),
        };
        let query = Query::Text {
            text,
            clean: self.input.text.clean,
        };
        let name = path.display().to_string();
        let mut of_file = CheckOptions {
            hidden,
            ..options.clone()
        };
        if let Some(case) = &mut of_file.record {
            case.name = Some(name.clone());
        }
        let mut report = match catalogue.check(&query, &headings, &of_file) {
            // Distinguish a text that cannot be checked from options with which no text can be checked.
            Err(Failure::Input(why)) => {
                check_options(catalogue, options)?;
                return Ok(Err(why));
            }
            report => report?,
        };
        let Query::Text { text, .. } = query else {
            return Ok(Err("it is not a text".to_owned()));
        };
        if let Some(id) = &report.filed {
            tell(format_args!("lapidary: {name}: filed as {id}"));
        }
        let locator = Locator::new(&text, &headings);
        report.locate(&locator);
        let reading = self.input.text.reading;
        let books = self
            .text_source()
            .map(|from| from.add_to(catalogue, &mut report, &text, &locator, reading));
        Ok(Ok(CheckedFile {
            report,
            text,
            books: books.unwrap_or_default(),
        }))
    }

    /// Where the texts of the books that match are.
    fn text_source(&self) -> Option<&TextSource> {
        let kept = self.html.as_ref().map(|_| &TextSource::Kept);
        self.text_from.as_ref().or(kept)
    }
}

/// Fails if no text can be checked with these options.
fn check_options(catalogue: &CatalogueClient, options: &CheckOptions) -> Result<(), Failure> {
    let unfiled = CheckOptions {
        record: None,
        ..options.clone()
    };
    catalogue.check(&Query::Gems(TextGems::default()), &[], &unfiled)?;
    Ok(())
}

/// The report on a text, and the texts of the books that match, as far as they are known.
struct CheckedFile {
    report: Report,
    text: String,
    books: Vec<Option<String>>,
}

/// Shows reports as they come, and collects what an index shows of them.
struct Output {
    json: bool,
    language: Language,
    pages: Option<Pages>,
    rows: Vec<Checked>,
}

impl Output {
    fn show(&mut self, path: &Path, checked: Result<CheckedFile, String>) -> Result<(), Failure> {
        let mut out = stdout().lock();
        let file = path.display().to_string();
        if let Err(why) = &checked {
            tell(format_args!("lapidary: {file}: {why}"));
        }
        // Recorded first: a page that cannot be written does not hide that a text is protected.
        let found = checked.as_ref().map_err(Clone::clone);
        self.rows.push(Checked {
            name: file.clone(),
            summary: found.map(|found| of(self.language, &found.report)),
        });
        if self.json {
            let (report, error) = match &checked {
                Ok(found) => (Some(&found.report), None),
                Err(why) => (None, Some(why.as_str())),
            };
            let line = CheckedFileLine {
                file,
                report,
                error,
            };
            json_line(&mut out, &line)?;
        } else if let Ok(CheckedFile {
            report,
            text,
            books,
        }) = checked
        {
            let texts = PageTexts {
                text: Some(&text),
                adds_passages: false,
                books,
            };
            if let Some(pages) = &self.pages {
                let page = pages.write(self.language, self.rows.len(), &file, &report, &texts)?;
                if let Some(Checked {
                    summary: Ok(summary),
                    ..
                }) = self.rows.last_mut()
                {
                    summary.page = page;
                }
            }
            print_report(
                &mut out,
                self.language,
                &file,
                &report,
                Some(text.len() as u64),
                console::colors_enabled(),
            )?;
        }
        Ok(())
    }

    /// Ends the output: the index of a folder of pages, and a summary if there was more than one file.
    fn finish(&self) -> Result<(), Failure> {
        if let Some(pages) = &self.pages {
            pages.finish(self.language, &self.rows)?;
        }
        if !self.json && self.rows.len() > 1 {
            writeln!(out(false), "{}", summary(self.language, &self.rows))?;
        }
        Ok(())
    }

    /// The exit status: protected text was found, or else the worst that happened.
    fn status(&self) -> Status {
        let mut outcomes = self.rows.iter().map(Checked::outcome);
        if outcomes.clone().any(Outcome::forbids) {
            return Status::Found;
        }
        Status::of_input(outcomes.any(|outcome| !outcome.is_answer()))
    }
}

/// What an index shows of a report.
fn of(language: Language, report: &Report) -> Summary {
    Summary {
        page: String::new(),
        outcome: Outcome::of(report),
        not_checked: why_not_checked(language, report),
        covered: report.covered,
        matches: report.total,
    }
}
