//! Measures the hits and false alarms of a recipe: checks disguised copies of books against an index of these books.
//!
//! All copies depend only on a seed, so the same seed gives the same result. The index is an ordinary catalogue in a temporary
//! folder, and a check is an ordinary check with the recipe's default rule. Other programs can be measured too (`external`).
//!
//! A copy is *caught* if the check reports the book that the copy was made from. Reporting an unrelated book is a *false
//! alarm*. Reporting a book that the list of pairs relates to it, directly or via other books, is neither.
//!
//! ```
//! use lapidary_gems::Recipe;
//! use lapidary_lab::{ATTACKS, ShelfFile, EvaluationPlan, Shelf, evaluate};
//!
//! # let folder = tempfile::tempdir()?;
//! # let mut files = Vec::new();
//! # for name in ["a.txt", "b.txt", "c.txt"] {
//! #     let text: String = (0..2_000_u64).map(|i| format!("{name}{:x} ", i * 2_654_435_761 % 999_983)).collect();
//! #     let path = folder.path().join(name);
//! #     std::fs::write(&path, text)?;
//! #     files.push(ShelfFile { name: name.to_owned(), path });
//! # }
//! let plan = EvaluationPlan {
//!     shelf: Shelf::new(files),
//!     pairs: Vec::new(),
//!     recipes: vec![vec![Recipe::hardened()]],
//!     detectors: Vec::new(),
//!     attacks: ATTACKS.iter().filter(|attack| attack.name == "none").collect(),
//!     seed: 1,
//!     sample: None,
//!     texts: Vec::new(),
//! };
//! let evaluation = evaluate(plan, &|_step, _done, _all| (), &|_so_far| Ok(()))?;
//! assert!(evaluation.markdown().starts_with("# Evaluation"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attacks;
mod calibrate;
mod detector;
mod external;
mod findings;
mod pairs;
mod pieces;
mod plot;
mod recipes;
mod run;
mod shelf;
mod table;

pub use attacks::{ATTACKS, Attack};
pub use calibrate::calibrate;
use lapidary_gems::{PlacedGem, Recipe};
pub use recipes::every_recipe;
pub use shelf::{Shelf, ShelfFile};

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use self::attacks::mirror;
use self::detector::{BookIndex, ByRecipes, Detector};
use self::external::External;
use self::findings::{Attacks, CopyFindings, Cost, Detected, PairsFound};
use self::pairs::Pairs;
use self::pieces::CopyLength;
use self::run::EvaluationRun;
use lapidary_catalogue::CatalogueError;

/// The settings of an evaluation.
pub struct EvaluationPlan {
    /// The books.
    pub shelf: Shelf,
    /// Lists of pairs: the name and content of each.
    pub pairs: Vec<(String, String)>,
    /// The recipes. Recipes in one group are measured together: a book counts as found if one of them finds it.
    pub recipes: Vec<Vec<Recipe>>,
    /// Other programs, as shell commands.
    pub detectors: Vec<String>,
    /// The attacks.
    pub attacks: Vec<&'static Attack>,
    /// The seed of all random choices.
    pub seed: u64,
    /// Make copies of only so many of the books, taken at equal distances from the list.
    pub sample: Option<usize>,
    /// Also measure short texts of these lengths in characters: a passage of each book, indexed and copied in its place.
    pub texts: Vec<usize>,
}

/// The result of an evaluation.
pub struct Evaluation {
    shelf: Shelf,
    pairs: Pairs,
    attacks: Attacks,
    seed: u64,
    /// The number of books that were copied.
    copied: usize,
    detectors: Vec<Detected>,
    findings: CopyFindings,
    /// By the length of the texts.
    short: Vec<(usize, CopyFindings)>,
}

/// Receives the current step, how much of it is done, and the total.
pub type Progress<'a> = &'a (dyn Fn(&'static str, u64, u64) + Sync);

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// There are too few books.
    #[error(
        "an evaluation needs at least three books, not {0}: one attack puts a copy between two other books"
    )]
    FewBooks(usize),
    /// A book cannot be read.
    #[error("{name}: {why}; remove it from the folder of books")]
    Book {
        /// The name of the book.
        name: String,
        /// The reason.
        why: String,
    },
    /// A book could not be added to the index.
    #[error("a book was refused: {0}; remove it from the folder of books")]
    Refused(String),
    /// A list of pairs is invalid.
    #[error("{list}: line {line}: {why}")]
    Pair {
        /// The name of the list.
        list: String,
        /// The line number, starting at 1.
        line: usize,
        /// The reason.
        why: String,
    },
    /// Another program failed.
    #[error("the detector '{command}': {why}")]
    Detector {
        /// The shell command.
        command: String,
        /// The reason.
        why: String,
    },
    /// The catalogue failed.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A folder or a file could not be written.
    #[error("{}: {error}", .path.display())]
    Output {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A plot could not be drawn.
    #[error("{}: {why}", .path.display())]
    Plot {
        /// The file of the plot.
        path: PathBuf,
        /// The error of the plotting library.
        why: String,
    },
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
}

/// Runs an evaluation and reports progress to `progress`. What is known so far is passed to `so_far` before each part of the
/// rest, so that a long evaluation that is interrupted is not lost.
pub fn evaluate(
    plan: EvaluationPlan,
    progress: Progress<'_>,
    so_far: &dyn Fn(&Evaluation) -> Result<(), EvaluateError>,
) -> Result<Evaluation, EvaluateError> {
    let EvaluationPlan {
        shelf,
        pairs,
        recipes,
        detectors,
        attacks,
        seed,
        sample,
        texts,
    } = plan;
    if shelf.len() < 3 {
        return Err(EvaluateError::FewBooks(shelf.len()));
    }
    let mut evaluation = Evaluation {
        copied: sample.unwrap_or(usize::MAX).clamp(1, shelf.len()),
        pairs: Pairs::parse(&pairs, &shelf)?,
        shelf,
        attacks: Attacks(attacks),
        seed,
        detectors: Vec::new(),
        findings: CopyFindings::default(),
        short: Vec::new(),
    };
    let mut costs = measure(&evaluation.shelf, &recipes, progress)?.into_iter();
    let comparison = DetectorComparison {
        recipes: &recipes,
        commands: &detectors,
        progress,
    };
    let copied = evaluation.copied;
    let (found, findings) =
        comparison.run(&evaluation, &evaluation.shelf, &CopyLength::ALL, copied)?;
    evaluation.findings = findings;
    for (name, pairs) in found {
        // The recipes come first, then the other programs.
        let cost = costs.next();
        evaluation.detectors.push(Detected { name, cost, pairs });
    }
    for characters in texts {
        so_far(&evaluation)?;
        let passages = evaluation.shelf.passages(characters, seed);
        let lengths = [CopyLength::Whole];
        let (_, findings) = comparison.run(&evaluation, &passages, &lengths, passages.len())?;
        evaluation.short.push((characters, findings));
    }
    Ok(evaluation)
}

fn output_failed(path: &Path, error: io::Error) -> EvaluateError {
    let path = path.to_owned();
    EvaluateError::Output { path, error }
}

fn folder_failed(error: io::Error) -> EvaluateError {
    output_failed(&env::temp_dir(), error)
}

/// What is compared.
struct DetectorComparison<'a> {
    recipes: &'a [Vec<Recipe>],
    commands: &'a [String],
    progress: Progress<'a>,
}

/// The texts of the books that are indexed. Numbers after those of the books stand for the same books as the mirrored
/// attacks disguise them.
struct IndexedTexts<'a> {
    shelf: &'a Shelf,
    mirrored: bool,
}

impl IndexedTexts<'_> {
    fn text(&self, number: usize) -> Result<Option<String>, EvaluateError> {
        match number.checked_sub(self.shelf.len()) {
            None => self.shelf.text(number).map(Some),
            Some(_) if !self.mirrored => Ok(None),
            Some(number) => self.shelf.text(number).map(|text| mirror(&text)),
        }
    }

    /// The numbers that have a text.
    fn numbers(&self) -> Result<Vec<usize>, EvaluateError> {
        let books = self.shelf.len();
        let mut numbers: Vec<usize> = (0..books).collect();
        for number in books..2 * books {
            if self.text(number)?.is_some() {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }
}

impl DetectorComparison<'_> {
    /// Indexes a shelf, and checks its texts and copies of so many of them. Returns the name of each detector with what it
    /// found of the pairs.
    fn run(
        &self,
        evaluation: &Evaluation,
        books: &Shelf,
        lengths: &[CopyLength],
        copied: usize,
    ) -> Result<(Vec<(String, PairsFound)>, CopyFindings), EvaluateError> {
        let attacks = &evaluation.attacks;
        let folder = tempfile::tempdir().map_err(folder_failed)?;
        let texts = IndexedTexts {
            shelf: books,
            mirrored: attacks.0.iter().any(|attack| attack.mirrored),
        };
        let index = self.index(folder.path(), &texts)?;
        let detectors = self.detectors(&index, &texts)?;
        let run = EvaluationRun {
            shelf: books,
            pairs: &evaluation.pairs,
            attacks,
            lengths,
            copied,
            seed: evaluation.seed,
            detectors: &detectors,
        };
        let (found, findings) = run.all(self.progress)?;
        let names = detectors.iter().map(|detector| detector.name().to_owned());
        let found = names.zip(found).collect();
        drop(detectors);
        drop(index);
        folder.close().map_err(folder_failed)?;
        Ok((found, findings))
    }

    /// Indexes texts with all recipes.
    fn index(&self, folder: &Path, texts: &IndexedTexts<'_>) -> Result<BookIndex, EvaluateError> {
        let mut distinct: Vec<Recipe> = Vec::new();
        for recipe in self.recipes.iter().flatten() {
            if !distinct.contains(recipe) {
                distinct.push(recipe.clone());
            }
        }
        let index = BookIndex::create(folder, &distinct)?;
        if distinct.is_empty() {
            return Ok(index);
        }
        let numbers = texts.numbers()?;
        let (done, all) = (AtomicU64::new(0), numbers.len() as u64);
        index.add(
            numbers,
            &distinct,
            |number| texts.text(number).map(Option::unwrap_or_default),
            || (self.progress)("indexing", done.fetch_add(1, Ordering::Relaxed) + 1, all),
        )?;
        Ok(index)
    }

    fn detectors<'d>(
        &'d self,
        index: &'d BookIndex,
        texts: &IndexedTexts<'_>,
    ) -> Result<Vec<Box<dyn Detector + 'd>>, EvaluateError> {
        let mut detectors: Vec<Box<dyn Detector + 'd>> = Vec::new();
        for recipes in self.recipes {
            let names: Vec<&str> = recipes
                .iter()
                .map(|recipe| recipe.name().as_str())
                .collect();
            detectors.push(Box::new(ByRecipes {
                index,
                name: names.join("+"),
                recipes,
            }));
        }
        for command in self.commands {
            let numbers = 2 * texts.shelf.len();
            let external = External::start(command, numbers, |number| texts.text(number))?;
            detectors.push(Box::new(external));
        }
        Ok(detectors)
    }
}

/// Measures the cost of each group of recipes on one core.
fn measure(
    shelf: &Shelf,
    recipes: &[Vec<Recipe>],
    progress: Progress<'_>,
) -> Result<Vec<Cost>, EvaluateError> {
    let mut costs = vec![Cost::default(); recipes.len()];
    for book in 0..shelf.len() {
        let text = shelf.text(book)?;
        for (recipes, cost) in recipes.iter().zip(&mut costs) {
            let begun = Instant::now();
            let gems: Vec<Vec<PlacedGem>> =
                recipes.iter().map(|recipe| recipe.gems(&text)).collect();
            cost.seconds += begun.elapsed().as_secs_f64();
            for (recipe, gems) in recipes.iter().zip(&gems) {
                cost.gems += gems.len() as u64;
                cost.postings += recipe
                    .posted(gems)
                    .into_iter()
                    .filter(|posted| *posted)
                    .count() as u64;
            }
            cost.without += u64::from(gems.iter().all(Vec::is_empty));
            cost.characters += text.chars().count() as u64;
            cost.bytes += text.len() as u64;
        }
        progress("measuring", book as u64 + 1, shelf.len() as u64);
    }
    Ok(costs)
}

impl Evaluation {
    /// Whether copies of this attack are exact.
    fn is_unchanged(&self, attack: usize) -> bool {
        self.attacks
            .0
            .get(attack)
            .is_some_and(|attack| attack.name == "none")
    }

    /// The tables in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        table::markdown(self)
    }

    /// Writes `evaluation.md`, `copies.csv`, `pairs.csv` and the plots to a folder, which is created if necessary.
    pub fn write(&self, folder: &Path) -> Result<(), EvaluateError> {
        fs::create_dir_all(folder).map_err(|error| output_failed(folder, error))?;
        let files = [
            ("evaluation.md", self.markdown()),
            ("copies.csv", table::copies(self)),
            ("pairs.csv", table::pairs(self)),
        ];
        for (name, content) in files {
            let path = folder.join(name);
            fs::write(&path, content).map_err(|error| output_failed(&path, error))?;
        }
        plot::draw(self, folder)
    }
}
