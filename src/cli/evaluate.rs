//! `lapidary evaluate`: measures a recipe's hits and false alarms.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use indicatif::ProgressBar;
use lapidary_common::random::Random;
use lapidary_gems::{Recipe, Secret};
use lapidary_lab::{
    ATTACKS, Attack, EvaluateError, Evaluation, EvaluationPlan, Progress, Shelf, ShelfFile,
    calibrate, evaluate, every_recipe,
};

use super::arguments::LexiconArgument;
use super::failure::{Failure, Status};
use super::files::{Choice, FileWalk, Usually};
use super::jobs::bar;
use super::terminal::{out, tell};

/// Measure a recipe's hits and false alarms on books and disguised copies.
///
/// Adds all books to an index in a temporary folder, then checks disguised copies of them, whole and in pieces. Prints tables
/// of the results. The same seed gives the same copies.
#[derive(Args)]
#[command(after_long_help = attacks())]
pub(super) struct EvaluateArgs {
    /// A folder of books. The first folder level below it is the language. Files ending in .tsv, .csv, .md or .json are
    /// skipped
    #[arg(long, value_name = "DIR")]
    books: PathBuf,
    /// A list of pairs of books and how they are related. Each line has two paths relative to DIR and a relation, separated by
    /// tabs. Can be given several times. Without it, a match with another edition of the book counts as a false alarm.
    /// Relations that must match: same-work-other-source, contained, revised-edition, partial-overlap. Relations that must not
    /// match: different-translation, unrelated. Both results are correct for: related. Further columns are ignored, as are
    /// empty lines, lines that start with '#', and a first line that starts with `file_a`
    #[arg(long, value_name = "FILE")]
    pairs: Vec<PathBuf>,
    /// Recipes to measure, separated by commas. Recipes joined by '+' are measured together: a book counts as found if one of
    /// them finds it. A set's name can stand only alone. `none` measures no recipe, only the programs given with --detector.
    /// `all` measures every built-in recipe and the signatures of the literature; without --lexicon, the words of the books
    /// are counted for those that need a lexicon
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["hardened", "released"])]
    recipes: Vec<String>,
    #[command(flatten)]
    lexicon: LexiconArgument,
    /// Attacks to apply, separated by commas [default: all but those that are measured only if named]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    attacks: Vec<String>,
    /// Seed for the random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Make copies of only N of the books, taken at equal distances from the list sorted by name. All books are indexed, and
    /// all pairs compared
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Also measure short texts of these lengths in characters, separated by commas: a passage of each book is indexed in its
    /// place, and copies of the passages are checked
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    texts: Vec<usize>,
    /// Also measure another program, given as a shell command. It reads JSON Lines: {"add": 17, "text": "…"} for each book, then
    /// {"check": "…"} for each check. It answers each check with a line of matching books such as [17, 4]. Can be given several
    /// times
    #[arg(long, value_name = "CMD")]
    detector: Vec<String>,
    /// Measure instead how often unrelated books align as well as matches do. Prints the calibration table, from which reports
    /// get their E-values, and how it fares on the half of the books that it is not fitted to
    #[arg(long, conflicts_with_all = ["attacks", "seed", "sample", "texts", "detector", "out"])]
    calibrate: bool,
    /// Also write the tables (evaluation.md), all counts (copies.csv, pairs.csv) and plots (SVG) to this folder. With --texts,
    /// the results so far are written before each length
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What `--attacks` can name.
fn attacks() -> String {
    let lines = ATTACKS.iter().map(|attack| {
        let strengths = attack
            .strengths
            .iter()
            .map(|share| (share * 100.0).to_string());
        let strengths: Vec<String> = strengths.collect();
        let of = match strengths.join(", ") {
            none if none.is_empty() => none,
            shares => format!(" ({shares} %)"),
        };
        let condition = if attack.by_name {
            "; only if named"
        } else {
            ""
        };
        format!("- `{}`: {}{of}{condition}", attack.name, attack.what)
    });
    let lines: Vec<String> = lines.collect();
    format!("Attacks:\n\n{}", lines.join("\n"))
}

impl EvaluateArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        if self.calibrate {
            return self.calibrated();
        }
        let (bar, books) = (bar(""), self.shelf()?);
        let progress = |what, done, all| show(&bar, what, done, all);
        let plan = EvaluationPlan {
            pairs: self.pairs()?,
            recipes: self.recipes(&books, &progress)?,
            attacks: self.attacks()?,
            seed: self.seed,
            sample: self.sample,
            texts: self.texts.clone(),
            detectors: self.detector.clone(),
            shelf: books,
        };
        let write = |evaluation: &Evaluation| {
            self.out
                .as_ref()
                .map_or(Ok(()), |folder| evaluation.write(folder))
        };
        let evaluated = evaluate(plan, &progress, &write);
        bar.finish_and_clear();
        let evaluation = evaluated?;
        write(&evaluation)?;
        out(false).write_all(evaluation.markdown().as_bytes())?;
        Ok(Status::Done)
    }

    fn calibrated(&self) -> Result<Status, Failure> {
        let (bar, books) = (bar(""), self.shelf()?);
        let progress = |what, done, all| show(&bar, what, done, all);
        let recipes: Vec<Recipe> = self
            .recipes(&books, &progress)?
            .into_iter()
            .flatten()
            .collect();
        let counted = calibrate(&books, &self.pairs()?, &recipes, &progress);
        bar.finish_and_clear();
        out(false).write_all(counted?.as_bytes())?;
        Ok(Status::Done)
    }

    fn shelf(&self) -> Result<Shelf, Failure> {
        let found = FileWalk::of(
            std::slice::from_ref(&self.books),
            &Choice::default(),
            Usually::Books,
        );
        let found = found
            .all()
            .map_err(|why| Failure::Input(format!("--books: {why}")))?;
        let books = found.into_iter().map(|file| {
            let parts: Vec<_> = file
                .relative
                .iter()
                .map(|part| part.to_string_lossy())
                .collect();
            ShelfFile {
                name: parts.join("/"),
                path: file.path,
            }
        });
        Ok(Shelf::new(books.collect()))
    }

    fn pairs(&self) -> Result<Vec<(String, String)>, Failure> {
        self.pairs
            .iter()
            .map(|path| {
                let list = fs::read_to_string(path);
                let list =
                    list.map_err(|e| Failure::Input(format!("--pairs {}: {e}", path.display())))?;
                Ok((path.display().to_string(), list))
            })
            .collect()
    }

    fn recipes(&self, books: &Shelf, progress: Progress<'_>) -> Result<Vec<Vec<Recipe>>, Failure> {
        if self.recipes == ["none"] {
            return Ok(Vec::new());
        }
        if self.recipes == ["all"] {
            let lexicon = match self.lexicon.read()? {
                Some(lexicon) => lexicon,
                None => Arc::new(books.lexicon(progress)?),
            };
            let recipes = every_recipe(&lexicon).map_err(|e| Failure::Failed(e.to_string()))?;
            return Ok(recipes.into_iter().map(|recipe| vec![recipe]).collect());
        }
        self.recipes
            .iter()
            .map(|names| {
                // The members of a set are joined by '+', too.
                let names = if names.starts_with("set;") {
                    vec![names.as_str()]
                } else {
                    names.split('+').collect()
                };
                names.into_iter().map(|name| self.recipe(name)).collect()
            })
            .collect()
    }

    /// The recipe of a name; behind `@secret`, with a secret that the seed decides.
    fn recipe(&self, name: &str) -> Result<Recipe, Failure> {
        let public = name.strip_suffix("@secret");
        let recipe = self.lexicon.recipe("--recipes", public.unwrap_or(name))?;
        if public.is_none() {
            return Ok(recipe);
        }
        let mut random = Random::new(self.seed);
        let secret = Secret::new([(); 32].map(|()| random.below(256) as u8));
        recipe.with_secret(&secret).ok_or_else(|| {
            Failure::Input(format!("--recipes: recipe {} has no secret", recipe.name()))
        })
    }

    fn attacks(&self) -> Result<Vec<&'static Attack>, Failure> {
        if self.attacks.is_empty() {
            return Ok(ATTACKS.iter().filter(|attack| !attack.by_name).collect());
        }
        self.attacks
            .iter()
            .map(|name| {
                Attack::named(name).ok_or_else(|| {
                    let known: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
                    Failure::Input(format!(
                        "--attacks: unknown attack '{name}'; known attacks: {}",
                        known.join(", ")
                    ))
                })
            })
            .collect()
    }
}

fn show(bar: &ProgressBar, what: &'static str, done: u64, all: u64) {
    bar.set_prefix(what);
    bar.set_length(all);
    bar.set_position(done);
    // Where there is no terminal, and so no bar, a line for each tenth.
    let tenths = |done: u64| 10 * done / all.max(1);
    if bar.is_hidden() && tenths(done) > tenths(done.saturating_sub(1)) {
        tell(format_args!("{what}: {done} of {all}"));
    }
}

impl From<EvaluateError> for Failure {
    fn from(error: EvaluateError) -> Self {
        match error {
            EvaluateError::Catalogue(error) => error.into(),
            EvaluateError::Output { .. }
            | EvaluateError::Plot { .. }
            | EvaluateError::Internal(_) => Self::Failed(error.to_string()),
            _ => Self::Input(error.to_string()),
        }
    }
}
