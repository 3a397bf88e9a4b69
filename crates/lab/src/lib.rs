//! Measures the hits and false alarms of a recipe: checks disguised copies of books against an index of these books.
//!
//! All copies depend only on a seed, so the same seed gives the same result. The index is an ordinary catalogue in a temporary
//! folder, and a check is an ordinary check with the recipe's default rule. Other programs can be measured too (`external`).
//!
//! A copy is *caught* if the check reports the book that the copy was made from. Reporting an unrelated book is a *false
//! alarm*. Reporting a book that the list of pairs relates to it, directly or via other books, is neither.

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
pub use shelf::{BookFile, Shelf};

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use self::attacks::mirror;
use self::detector::{ByRecipes, Detector, Index};
use self::external::External;
use self::findings::{Attacks, Cost, Detected, Findings, PairsFound};
use self::pairs::Pairs;
use self::pieces::Length;
use self::run::Run;
use lapidary_catalogue::CatalogueError;

/// The settings of an evaluation.
pub struct Plan {
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
    findings: Findings,
    /// By the length of the texts.
    short: Vec<(usize, Findings)>,
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
    plan: Plan,
    progress: Progress<'_>,
    so_far: &dyn Fn(&Evaluation) -> Result<(), EvaluateError>,
) -> Result<Evaluation, EvaluateError> {
    let Plan {
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
    let pairs = Pairs::parse(&pairs, &shelf)?;
    let attacks = Attacks(attacks);
    let costs = measure(&shelf, &recipes, progress)?;
    let compared = Compared {
        recipes: &recipes,
        commands: &detectors,
        pairs: &pairs,
        seed,
    };
    let copied = sample.unwrap_or(usize::MAX).clamp(1, shelf.len());
    let (found, findings) = compare(&compared, &shelf, &attacks, &Length::ALL, copied, progress)?;
    let costs = costs
        .into_iter()
        .map(Some)
        .chain(detectors.iter().map(|_| None));
    let detected = costs
        .zip(found)
        .map(|(cost, (name, pairs))| Detected { name, cost, pairs })
        .collect();
    let mut evaluation = Evaluation {
        shelf,
        pairs,
        attacks,
        seed,
        copied,
        detectors: detected,
        findings,
        short: Vec::new(),
    };
    for characters in texts {
        so_far(&evaluation)?;
        let Evaluation {
            shelf,
            pairs,
            attacks,
            ..
        } = &evaluation;
        let compared = Compared {
            recipes: &recipes,
            commands: &detectors,
            pairs,
            seed,
        };
        let passages = shelf.passages(characters, seed);
        let (_, findings) = compare(
            &compared,
            &passages,
            attacks,
            &[Length::Whole],
            shelf.len(),
            progress,
        )?;
        evaluation.short.push((characters, findings));
    }
    Ok(evaluation)
}

/// What is compared.
struct Compared<'a> {
    recipes: &'a [Vec<Recipe>],
    commands: &'a [String],
    pairs: &'a Pairs,
    seed: u64,
}

/// Indexes a shelf, and checks its texts and copies of so many of them. Returns the name of each detector with what it
/// found of the pairs.
fn compare(
    compared: &Compared<'_>,
    shelf: &Shelf,
    attacks: &Attacks,
    lengths: &[Length],
    copied: usize,
    progress: Progress<'_>,
) -> Result<(Vec<(String, PairsFound)>, Findings), EvaluateError> {
    let books = shelf.len();
    let mirrored = attacks.0.iter().any(|attack| attack.mirrored);
    let folder_failed = |error| EvaluateError::Output {
        path: env::temp_dir(),
        error,
    };
    let folder = tempfile::tempdir().map_err(folder_failed)?;
    // Numbers from `books` on stand for the books as the mirrored attacks disguise them in the index.
    let text = |number: usize| match number.checked_sub(books) {
        None => shelf.text(number).map(Some),
        Some(_) if !mirrored => Ok(None),
        Some(number) => shelf.text(number).map(|text| mirror(&text)),
    };
    let mut distinct: Vec<Recipe> = Vec::new();
    for recipe in compared.recipes.iter().flatten() {
        if !distinct.contains(recipe) {
            distinct.push(recipe.clone());
        }
    }
    let index = Index::create(folder.path(), &distinct)?;
    let mut numbers: Vec<usize> = (0..books).collect();
    for number in books..2 * books {
        if text(number)?.is_some() {
            numbers.push(number);
        }
    }
    if !distinct.is_empty() {
        let (done, all) = (AtomicU64::new(0), numbers.len() as u64);
        let added = || progress("indexing", done.fetch_add(1, Ordering::Relaxed) + 1, all);
        index.add(
            numbers,
            &distinct,
            |number| text(number).map(Option::unwrap_or_default),
            added,
        )?;
    }
    let mut detectors: Vec<Box<dyn Detector + '_>> = Vec::new();
    for recipes in compared.recipes {
        let names: Vec<&str> = recipes
            .iter()
            .map(|recipe| recipe.name().as_str())
            .collect();
        detectors.push(Box::new(ByRecipes {
            index: &index,
            name: names.join("+"),
            recipes,
        }));
    }
    for command in compared.commands {
        detectors.push(Box::new(External::start(command, 2 * books, text)?));
    }
    let Compared { pairs, seed, .. } = *compared;
    let run = Run {
        shelf,
        pairs,
        attacks,
        lengths,
        copied,
        seed,
        detectors: &detectors,
    };
    let (found, findings) = run.all(progress)?;
    let found = detectors
        .iter()
        .map(|detector| detector.name().to_owned())
        .zip(found)
        .collect();
    drop(detectors);
    drop(index);
    folder.close().map_err(folder_failed)?;
    Ok((found, findings))
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
        let failed = |path: &Path| {
            let path = path.to_owned();
            |error| EvaluateError::Output { path, error }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let files = [
            ("evaluation.md", self.markdown()),
            ("copies.csv", table::copies(self)),
            ("pairs.csv", table::pairs(self)),
        ];
        for (name, content) in files {
            let path = folder.join(name);
            fs::write(&path, content).map_err(failed(&path))?;
        }
        plot::draw(self, folder)
    }
}
