//! `lapidary check FILE…`.

use std::io::{self, Write as _, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use lapidary::api::Report;
use lapidary::catalogue::{CheckOptions, Query, Recipes};
use lapidary::index::{Library, Rights};
use lapidary::report::{html_report, print_report};
use rayon::prelude::*;
use serde::Serialize;

use super::access::Access;
use super::arguments::{BoundariesArgument, RuleArguments, Target};
use super::failure::{Failure, Status};
use super::files::{Choice, TextArguments, Usually, Walk};
use super::terminal::tell;

/// How many files are checked in parallel before their reports are printed in order.
const AT_ONCE: usize = 16;

/// Check texts against a catalogue.
///
/// Exit status: 0 no protected text was found; 1 protected text was found, whatever else happened; 2 something could not be
/// checked, such as a missing file; 3 the catalogue or the server failed.
#[derive(Args)]
pub(super) struct Check {
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
    #[command(flatten)]
    input: TextArguments,
    #[command(flatten)]
    choice: Choice,
    /// Check only against books of this library
    #[arg(long)]
    library: Option<Library>,
    /// Use the rights as of this day [default: today, in UTC]
    #[arg(long, value_name = "YYYY-MM-DD")]
    day: Option<jiff::civil::Date>,
    /// The maximum number of matches to show per file
    #[arg(long, value_name = "N", default_value_t = CheckOptions::default().limit)]
    limit: usize,
    /// Print JSON Lines: one object per file
    #[arg(long)]
    json: bool,
    /// Check a single FILE and write the report as a self-contained HTML page
    #[arg(long, value_name = "REPORT.html", conflicts_with = "json")]
    html: Option<PathBuf>,
    /// Files, or folders to read recursively; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// A line of `--json`: the file, and the report as in the HTTP API.
#[derive(Serialize)]
struct FileLine<'a> {
    file: String,
    #[serde(flatten)]
    report: Option<&'a Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Check {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let catalogue = self.target.open_with(self.rule.given())?;
        let options = CheckOptions {
            recipes: self.boundaries.recipes(self.recipes.as_ref())?,
            library: self.library.clone(),
            limit: self.limit,
            detail: true,
            day: self.day,
            allow_incomplete: self.allow_incomplete,
        };
        let (stdin, paths): (Vec<_>, Vec<_>) = self.files.iter().cloned().partition(|path| path.as_os_str() == "-");
        let Walk { found, refused, .. } = Walk::of(&paths, &self.choice, Usually::All);
        let files: Vec<PathBuf> = stdin.into_iter().take(1).chain(found.into_iter().map(|f| f.path)).collect();
        let count = files.len() + refused.len();
        if self.html.is_some() && count != 1 {
            return Err(Failure::Input(format!("--html takes one file, not {count}")));
        }
        let mut status = Status::Done;
        match self.check_all(&*catalogue, &files, refused, &options, &mut status) {
            // Protected text was found, whatever failed later.
            Err(failure @ (Failure::Input(_) | Failure::Failed(_))) if status == Status::ProtectedFound => {
                tell(format_args!("lapidary: {failure}"));
                Ok(status)
            }
            checked => checked.map(|()| status),
        }
    }

    fn check_all(
        &self,
        catalogue: &dyn Access,
        files: &[PathBuf],
        refused: Vec<(PathBuf, String)>,
        options: &CheckOptions,
        status: &mut Status,
    ) -> Result<(), Failure> {
        let mut add = |one: Status| {
            if *status != Status::ProtectedFound {
                *status = if one == Status::ProtectedFound { one } else { one.max(*status) };
            }
        };
        for some in files.chunks(AT_ONCE) {
            let checked: Vec<_> = some.par_iter().map(|path| self.check(catalogue, path, options)).collect();
            for (path, report) in some.iter().zip(checked) {
                add(self.show(path, &report?)?);
            }
        }
        for (path, why) in refused {
            add(self.show(&path, &Err(why))?);
        }
        Ok(())
    }

    /// The report on a file and the text's length, or why the file cannot be checked. A failed catalogue ends the command.
    fn check(
        &self,
        catalogue: &dyn Access,
        path: &Path,
        options: &CheckOptions,
    ) -> Result<Result<(Report, u64), String>, Failure> {
        let text = match self.input.reading.text(path) {
            Ok(text) => text,
            Err(why) => return Ok(Err(why)),
        };
        let bytes = text.len() as u64;
        match catalogue.check(&Query::Text { text, clean: self.input.clean }, options) {
            // Distinguish a text that cannot be checked from options with which no text can be checked.
            Err(Failure::Input(why)) => catalogue.check(&Query::Gems(Vec::new()), options).map(|_| Err(why)),
            checked => Ok(Ok((checked?, bytes))),
        }
    }

    fn show(&self, path: &Path, checked: &Result<(Report, u64), String>) -> Result<Status, Failure> {
        let mut out = stdout().lock();
        let file = path.display().to_string();
        if let Err(why) = checked {
            tell(format_args!("lapidary: {file}: {why}"));
        }
        let (report, error) = (checked.as_ref().ok(), checked.as_ref().err());
        if self.json {
            let line = FileLine { file, report: report.map(|(report, _)| report), error: error.map(String::as_str) };
            serde_json::to_writer(&mut out, &line).map_err(io::Error::from)?;
            writeln!(out)?;
        } else if let Some((report, bytes)) = report {
            if let Some(page) = &self.html {
                let written = html_report(&file, report, Some(*bytes), Timestamp::now());
                let failed = |e| Failure::Failed(format!("cannot write {}: {e}", page.display()));
                std::fs::write(page, written).map_err(failed)?;
            }
            print_report(&mut out, &file, report, Some(*bytes), console::colors_enabled())?;
        }
        Ok(match report {
            None => Status::WrongInput,
            Some((report, _)) if report.verdict == Rights::Protected => Status::ProtectedFound,
            Some(_) => Status::Done,
        })
    }
}
