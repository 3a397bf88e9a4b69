//! `lapidary evaluate`: what a recipe finds, and whom it accuses.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use indicatif::ProgressBar;
use lapidary_gems::Recipe;

use super::failure::{Failure, Status};
use super::files::{Choice, Usually, Walk};
use super::jobs::bar;
use super::terminal::out;
use crate::evaluate::{ATTACKS, Attack, BookFile, EvaluateError, Plan, Shelf, calibrate, evaluate};

/// Measure what a recipe finds, and whom it accuses, on books and disguised copies of them.
///
/// All books are put into an index in a temporary folder. Then copies of them are disguised, whole and in pieces, and
/// checked. The tables go to standard output; --out writes them with all counts (CSV) and plots (SVG) into a folder. The
/// same seed gives the same copies.
#[derive(Args)]
pub(super) struct Evaluate {
    /// A folder of books; the first folder below it is a book's language. Files that end in .tsv, .csv, .md or .json are
    /// no books
    #[arg(long, value_name = "DIR")]
    books: PathBuf,
    /// A list of books that are related, or only seem so: lines of two paths below DIR and a relation, with tabs between.
    /// May be given several times. Without it other editions of a book count as strangers, and naming them as false alarms.
    /// To be found: same-work-other-source, contained, revised-edition, partial-overlap. Not to be named:
    /// different-translation, unrelated. Either is right: related. More columns are ignored, as are empty lines, those that
    /// begin with '#', and a first line that begins with `file_a`
    #[arg(long, value_name = "FILE")]
    pairs: Vec<PathBuf>,
    /// The recipes, with commas between; two with '+' between them find what either finds; `none` for none
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["documented", "released"])]
    recipes: Vec<String>,
    /// The attacks, with commas between [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    attacks: Vec<String>,
    /// Where all randomness comes from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Another program that takes part, as a command line of the shell. It reads lines of JSON: {"add": 17, "text": "…"} for
    /// each book, then {"check": "…"}, and answers each of these with a line such as [17, 4], the books that match. May be
    /// given several times
    #[arg(long, value_name = "CMD")]
    detector: Vec<String>,
    /// Instead of all else, count how much evidence unrelated texts and books reach, and print the table by which reports
    /// bound the probability of an error: recipe, pairs of gems compared, evidence, how often it was reached
    #[arg(long, conflicts_with_all = ["attacks", "seed", "detector", "out"])]
    calibrate: bool,
    /// Write evaluation.md, copies.csv, pairs.csv and plots into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Evaluate {
    pub(super) fn run(self) -> Result<Status, Failure> {
        if self.calibrate {
            return self.calibrated();
        }
        let plan = Plan {
            shelf: self.shelf()?,
            pairs: self.pairs()?,
            recipes: self.recipes()?,
            attacks: self.attacks()?,
            seed: self.seed,
            detectors: self.detector.clone(),
        };
        let bar = bar("");
        let evaluated = evaluate(plan, &|what, done, all| show(&bar, what, done, all));
        bar.finish_and_clear();
        let evaluation = evaluated?;
        if let Some(folder) = &self.out {
            evaluation.write(folder)?;
        }
        out(false).write_all(evaluation.markdown().as_bytes())?;
        Ok(Status::Done)
    }

    fn calibrated(&self) -> Result<Status, Failure> {
        let recipes: Vec<Recipe> = self.recipes()?.into_iter().flatten().collect();
        let bar = bar("");
        let progress = |what, done, all| show(&bar, what, done, all);
        let counted = calibrate(&self.shelf()?, &self.pairs()?, &recipes, &progress);
        bar.finish_and_clear();
        out(false).write_all(counted?.written().as_bytes())?;
        Ok(Status::Done)
    }

    fn shelf(&self) -> Result<Shelf, Failure> {
        let Walk { found, refused, .. } =
            Walk::of(std::slice::from_ref(&self.books), &Choice::default(), Usually::Books);
        if let Some((path, why)) = refused.into_iter().next() {
            return Err(Failure::Input(format!("--books: {}: {why}", path.display())));
        }
        let books = found.into_iter().map(|file| {
            let parts: Vec<_> = file.relative.iter().map(|part| part.to_string_lossy()).collect();
            BookFile { name: parts.join("/"), path: file.path }
        });
        Ok(Shelf::new(books.collect()))
    }

    fn pairs(&self) -> Result<Vec<(String, String)>, Failure> {
        let read = |path: &PathBuf| {
            let list = fs::read_to_string(path);
            let list = list.map_err(|e| Failure::Input(format!("--pairs {}: {e}", path.display())))?;
            Ok((path.display().to_string(), list))
        };
        self.pairs.iter().map(read).collect()
    }

    fn recipes(&self) -> Result<Vec<Vec<Recipe>>, Failure> {
        if self.recipes == ["none"] {
            return Ok(Vec::new());
        }
        let recipe = |name: &str| name.parse().map_err(|e| Failure::Input(format!("--recipes: {e}")));
        self.recipes.iter().map(|names| names.split('+').map(recipe).collect()).collect()
    }

    fn attacks(&self) -> Result<Vec<&'static Attack>, Failure> {
        if self.attacks.is_empty() {
            return Ok(ATTACKS.iter().collect());
        }
        let attack = |name: &String| {
            Attack::named(name).ok_or_else(|| {
                let known: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
                Failure::Input(format!("--attacks: there is no attack '{name}'; there are: {}", known.join(", ")))
            })
        };
        self.attacks.iter().map(attack).collect()
    }
}

fn show(bar: &ProgressBar, what: &'static str, done: u64, all: u64) {
    bar.set_prefix(what);
    bar.set_length(all);
    bar.set_position(done);
}

impl From<EvaluateError> for Failure {
    fn from(error: EvaluateError) -> Self {
        match error {
            EvaluateError::Catalogue(error) => error.into(),
            EvaluateError::Output { .. } | EvaluateError::Plot { .. } | EvaluateError::Internal(_) => {
                Self::Failed(error.to_string())
            }
            _ => Self::Input(error.to_string()),
        }
    }
}
