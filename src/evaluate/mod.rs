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
mod shelf;
mod table;

pub use attacks::{ATTACKS, Attack};
pub use calibrate::calibrate;
use lapidary_gems::{PlacedGem, Recipe};
pub use shelf::{BookFile, Shelf};

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use self::attacks::{Scene, mirror};
use self::detector::{ByRecipes, Detector, Index};
use self::external::External;
use self::findings::{Attacks, Cost, Count, Detected, FalseAlarm, Findings, Key, PairsFound};
use self::pairs::{Expected, Pairs};
use self::pieces::{Length, piece};
use crate::catalogue::CatalogueError;
use crate::random::Random;

/// The number of pieces of each length taken from a book.
const PIECES: u64 = 4;
/// The maximum number of reported unrelated pairs that are listed. All of them are counted.
const EXAMPLES: usize = 50;

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
}

/// The result of an evaluation.
pub struct Evaluation {
    shelf: Shelf,
    pairs: Pairs,
    attacks: Attacks,
    seed: u64,
    detectors: Vec<Detected>,
    findings: Findings,
}

/// Receives the current step, how much of it is done, and the total.
pub type Progress<'a> = &'a (dyn Fn(&'static str, u64, u64) + Sync);

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// There are too few books.
    #[error("an evaluation needs at least three books, not {0}: one attack puts a copy between two other books")]
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

/// Runs an evaluation and reports progress to `progress`.
pub fn evaluate(plan: Plan, progress: Progress<'_>) -> Result<Evaluation, EvaluateError> {
    let Plan { shelf, pairs, recipes, detectors, attacks, seed } = plan;
    let books = shelf.len();
    if books < 3 {
        return Err(EvaluateError::FewBooks(books));
    }
    let pairs = Pairs::parse(&pairs, &shelf)?;
    let mirrored = attacks.iter().any(|attack| attack.mirrored);
    let folder_failed = |error| EvaluateError::Output { path: env::temp_dir(), error };
    let folder = tempfile::tempdir().map_err(folder_failed)?;
    // Numbers from `books` on stand for the books as the mirrored attacks disguise them in the index.
    let text = |number: usize| match number.checked_sub(books) {
        None => shelf.text(number).map(Some),
        Some(_) if !mirrored => Ok(None),
        Some(number) => shelf.text(number).map(|text| mirror(&text)),
    };

    let mut distinct: Vec<Recipe> = Vec::new();
    for recipe in recipes.iter().flatten() {
        if !distinct.contains(recipe) {
            distinct.push(recipe.clone());
        }
    }
    let index = Index::create(folder.path(), &distinct)?;
    let costs = measure(&shelf, &recipes, progress)?;
    let mut numbers: Vec<usize> = (0..books).collect();
    for number in books..2 * books {
        if text(number)?.is_some() {
            numbers.push(number);
        }
    }
    if !distinct.is_empty() {
        let (done, all) = (AtomicU64::new(0), numbers.len() as u64);
        let added = || progress("indexing", done.fetch_add(1, Ordering::Relaxed) + 1, all);
        index.add(numbers, &distinct, |number| text(number).map(Option::unwrap_or_default), added)?;
    }
    let mut all: Vec<Box<dyn Detector + '_>> = Vec::new();
    for recipes in recipes {
        let names: Vec<&str> = recipes.iter().map(|recipe| recipe.name().as_str()).collect();
        all.push(Box::new(ByRecipes { index: &index, name: names.join("+"), recipes }));
    }
    for command in &detectors {
        all.push(Box::new(External::start(command, 2 * books, text)?));
    }

    let attacks = Attacks(attacks);
    let run = Run { shelf: &shelf, pairs: &pairs, attacks: &attacks, seed, detectors: &all };
    let (found, findings) = run.all(progress)?;
    let costs = costs.into_iter().map(Some).chain(detectors.iter().map(|_| None));
    let detected = all.iter().zip(costs).zip(found);
    let detected =
        detected.map(|((detector, cost), pairs)| Detected { name: detector.name().to_owned(), cost, pairs }).collect();
    drop(all);
    drop(index);
    folder.close().map_err(folder_failed)?;
    Ok(Evaluation { shelf, pairs, attacks, seed, detectors: detected, findings })
}

/// Measures the cost of each group of recipes on one core.
fn measure(shelf: &Shelf, recipes: &[Vec<Recipe>], progress: Progress<'_>) -> Result<Vec<Cost>, EvaluateError> {
    let mut costs = vec![Cost::default(); recipes.len()];
    for book in 0..shelf.len() {
        let text = shelf.text(book)?;
        for (recipes, cost) in recipes.iter().zip(&mut costs) {
            let begun = Instant::now();
            let gems: Vec<Vec<PlacedGem>> = recipes.iter().map(|recipe| recipe.gems(&text)).collect();
            cost.seconds += begun.elapsed().as_secs_f64();
            for (recipe, gems) in recipes.iter().zip(&gems) {
                cost.gems += gems.len() as u64;
                cost.postings += recipe.posted(gems).into_iter().filter(|posted| *posted).count() as u64;
            }
            cost.without += u64::from(gems.iter().all(Vec::is_empty));
            cost.characters += text.chars().count() as u64;
            cost.bytes += text.len() as u64;
        }
        progress("measuring", book as u64 + 1, shelf.len() as u64);
    }
    Ok(costs)
}

/// The checks of one evaluation.
struct Run<'a> {
    shelf: &'a Shelf,
    pairs: &'a Pairs,
    attacks: &'a Attacks,
    seed: u64,
    detectors: &'a [Box<dyn Detector + 'a>],
}

/// By detector and book, the books that a check of the unchanged book reports.
type Named = Vec<Vec<Vec<usize>>>;

impl Run<'_> {
    fn all(&self, progress: Progress<'_>) -> Result<(Vec<PairsFound>, Findings), EvaluateError> {
        let findings = Mutex::new(Findings::default());
        let named: Mutex<Named> = Mutex::new(vec![vec![Vec::new(); self.shelf.len()]; self.detectors.len()]);
        let disguises = self.attacks.with_strengths().count() as u64;
        let (done, all) = (AtomicU64::new(0), self.shelf.len() as u64 * disguises);
        let step = || progress("checking", done.fetch_add(1, Ordering::Relaxed) + 1, all);
        (0..self.shelf.len()).into_par_iter().with_max_len(1).try_for_each(|book| {
            let (of_book, found) = self.book(book, &step)?;
            findings.lock().unwrap_or_else(PoisonError::into_inner).merge(found);
            let mut named = named.lock().unwrap_or_else(PoisonError::into_inner);
            for (detector, names) in of_book.into_iter().enumerate() {
                named[detector][book] = names;
            }
            Ok::<(), EvaluateError>(())
        })?;
        let named = named.into_inner().unwrap_or_else(PoisonError::into_inner);
        let found = named.iter().map(|named| self.pairs_found(named)).collect();
        Ok((found, findings.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Checks a book and all its disguised copies. For the unchanged book, returns the reported books by detector.
    fn book(&self, book: usize, step: &dyn Fn()) -> Result<(Vec<Vec<usize>>, Findings), EvaluateError> {
        let text = self.shelf.text(book)?;
        let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
        let as_it_is = self.detectors.iter().map(|detector| detector.check(&text));
        let as_it_is = as_it_is.collect::<Result<Vec<_>, _>>()?;
        let mut findings = Findings::default();
        for (attack, strength, disguise, share) in self.attacks.with_strengths() {
            for length in Length::ALL {
                let pieces = match length {
                    Length::Whole => 1,
                    Length::Characters(_) if disguise.whole => 0,
                    Length::Characters(_) => PIECES,
                };
                for number in 0..pieces {
                    let seeded =
                        |what: &str| self.random(&[self.shelf.name(book), what, &length.name(), &number.to_string()]);
                    // Use the same pieces for every attack, so that attacks can be compared.
                    let text = match length {
                        Length::Whole => Some(text.as_str()),
                        Length::Characters(characters) => piece(&text, characters, &mut seeded("piece")),
                    };
                    let Some(text) = text else { continue };
                    let mut random = seeded(&format!("{} {strength}", disguise.name));
                    let glued = if disguise.name == "glued" { self.others(book, &mut random) } else { Vec::new() };
                    let others = glued.iter().map(|other| self.shelf.text(*other)).collect::<Result<Vec<_>, _>>()?;
                    let Some(copy) = disguise.disguise(Scene { text, words: &words, others: &others, random }, share)
                    else {
                        continue;
                    };
                    let language = self.shelf.language(book).to_owned();
                    let key = Key { detector: 0, attack, strength, length, language };
                    self.copy(book, disguise, &glued, &copy, &key, &mut findings)?;
                }
            }
            step();
        }
        Ok((as_it_is, findings))
    }

    /// Checks one copy.
    fn copy(
        &self,
        book: usize,
        attack: &Attack,
        glued: &[usize],
        copy: &str,
        key: &Key,
        findings: &mut Findings,
    ) -> Result<(), EvaluateError> {
        let books = self.shelf.len();
        let related =
            |other: usize| self.pairs.kin(book, other) || glued.iter().any(|glued| self.pairs.kin(*glued, other));
        let strangers = (0..books).filter(|other| !related(*other)).count() as u64;
        let wanted = if attack.mirrored { books + book } else { book };
        for (number, detector) in self.detectors.iter().enumerate() {
            let named = detector.check(copy)?;
            let mut false_alarms = 0;
            for &other in named.iter().filter(|other| **other < books && !related(**other)) {
                false_alarms += 1;
                findings.false_alarm(FalseAlarm { detector: number, book, named: other }, 1);
            }
            let count = Count {
                copies: 1,
                caught: u64::from(named.contains(&wanted)),
                accused: u64::from(false_alarms > 0),
                false_alarms,
                strangers,
            };
            findings.count(Key { detector: number, ..key.clone() }, count);
        }
        Ok(())
    }

    /// Two other books.
    fn others(&self, book: usize, random: &mut Random) -> Vec<usize> {
        let mut others: Vec<usize> = (0..self.shelf.len()).filter(|other| *other != book).collect();
        random.shuffle(&mut others);
        others.truncate(2);
        others
    }

    /// A random number generator of its own for the purpose identified by these words.
    fn random(&self, words: &[&str]) -> Random {
        let mut sha = Sha256::new_with_prefix(self.seed.to_le_bytes());
        for word in words {
            sha.update((word.len() as u64).to_le_bytes());
            sha.update(word);
        }
        let mut seed = [0; 8];
        seed.copy_from_slice(&sha.finalize()[..8]);
        Random::new(u64::from_le_bytes(seed))
    }

    fn pairs_found(&self, named: &[Vec<usize>]) -> PairsFound {
        let taken = |a: usize, b: usize| named[a].contains(&b);
        let rows = self.pairs.rows.iter().map(|pair| match pair.expected {
            Expected::NoMatch => taken(pair.a, pair.b) || taken(pair.b, pair.a),
            _ => taken(pair.a, pair.b),
        });
        let mut found = PairsFound { rows: rows.collect(), ..PairsFound::default() };
        for a in 0..named.len() {
            for b in (a + 1..named.len()).filter(|b| !self.pairs.kin(a, *b)) {
                found.unrelated += 1;
                if taken(a, b) || taken(b, a) {
                    found.unrelated_named += 1;
                    if found.examples.len() < EXAMPLES {
                        found.examples.push((a, b));
                    }
                }
            }
        }
        found
    }
}

impl Evaluation {
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
