//! The checks of an evaluation: unchanged books, and disguised copies of them, whole and in pieces.

use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashSet;
use parking_lot::Mutex;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::attacks::{Attack, AttackScene};
use super::detector::Detector;
use super::findings::{Attacks, CopyCount, CopyFindings, CopyKey, FalseAlarm, PairsFound};
use super::pairs::{Expected, Pairs};
use super::pieces::{CopyLength, piece};
use super::shelf::Shelf;
use super::{EvaluateError, Progress};
use lapidary_catalogue::Text;
use lapidary_common::random::Random;

/// The number of pieces of each length taken from a book.
const PIECES: u64 = 4;
/// The maximum number of reported unrelated pairs that are listed. All of them are counted.
const EXAMPLES: usize = 50;

/// The checks of one evaluation.
pub(super) struct EvaluationRun<'a> {
    pub(super) shelf: &'a Shelf,
    pub(super) pairs: &'a Pairs,
    pub(super) attacks: &'a Attacks,
    /// The lengths of copies.
    pub(super) lengths: &'a [CopyLength],
    /// The number of books that are copied.
    pub(super) copied: usize,
    pub(super) seed: u64,
    pub(super) detectors: &'a [Box<dyn Detector + 'a>],
}

/// By detector and book, the books that a check of the unchanged book reports.
type Named = Vec<Vec<Vec<usize>>>;

/// A book that copies are made of.
struct CopiedBook<'a> {
    number: usize,
    text: &'a str,
    words: Vec<&'a str>,
}

impl<'a> CopiedBook<'a> {
    fn new(number: usize, text: &'a str) -> Self {
        let words = text
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| !word.is_empty())
            .collect();
        Self {
            number,
            text,
            words,
        }
    }
}

impl EvaluationRun<'_> {
    pub(super) fn all(
        &self,
        progress: Progress<'_>,
    ) -> Result<(Vec<PairsFound>, CopyFindings), EvaluateError> {
        let findings = Mutex::new(CopyFindings::default());
        let named: Mutex<Named> = Mutex::new(vec![
            vec![Vec::new(); self.shelf.len()];
            self.detectors.len()
        ]);
        let disguises = self.attacks.with_strengths().count() as u64;
        let (done, all) = (AtomicU64::new(0), self.copied as u64 * disguises);
        (0..self.shelf.len())
            .into_par_iter()
            .with_max_len(1)
            .try_for_each(|book| {
                let (of_book, found) = self.book(book, &|| {
                    progress("checking", done.fetch_add(1, Ordering::Relaxed) + 1, all);
                })?;
                findings.lock().merge(found);
                let mut named = named.lock();
                for (detector, names) in of_book.into_iter().enumerate() {
                    named[detector][book] = names;
                }
                Ok::<(), EvaluateError>(())
            })?;
        let named = named.into_inner();
        let found = named.iter().map(|named| self.pairs_found(named)).collect();
        Ok((found, findings.into_inner()))
    }

    /// Checks a book and all its disguised copies. For the unchanged book, returns the reported books by detector.
    fn book(
        &self,
        number: usize,
        step: &dyn Fn(),
    ) -> Result<(Vec<Vec<usize>>, CopyFindings), EvaluateError> {
        let text = self.shelf.text(number)?;
        let unchanged = Text::new(&text, None);
        let as_it_is: Vec<Vec<usize>> = self
            .detectors
            .iter()
            .map(|detector| detector.check(&unchanged))
            .collect::<Result<_, _>>()?;
        let mut findings = CopyFindings::default();
        if !self.is_copied(number) {
            return Ok((as_it_is, findings));
        }
        let book = CopiedBook::new(number, &text);
        for (attack, strength, disguise, share) in self.attacks.with_strengths() {
            for &length in self.lengths {
                let key = CopyKey {
                    detector: 0,
                    attack,
                    strength,
                    length,
                    language: self.shelf.language(number).to_owned(),
                };
                for piece in 0..self.pieces(disguise, length) {
                    self.piece(&book, piece, disguise, share, &key, &mut findings)?;
                }
            }
            step();
        }
        Ok((as_it_is, findings))
    }

    /// How many copies of this length an attack makes of a book.
    fn pieces(&self, attack: &Attack, length: CopyLength) -> u64 {
        match length {
            CopyLength::Whole if attack.whole && self.shelf.has_passages() => 0,
            CopyLength::Whole => 1,
            CopyLength::Characters(_) if attack.whole => 0,
            CopyLength::Characters(_) => PIECES,
        }
    }

    /// Checks a copy of a piece of a book, if the attack can make one.
    fn piece(
        &self,
        book: &CopiedBook<'_>,
        number: u64,
        attack: &Attack,
        share: f64,
        key: &CopyKey,
        findings: &mut CopyFindings,
    ) -> Result<(), EvaluateError> {
        let name = self.shelf.name(book.number);
        let (length, number) = (key.length.name(), number.to_string());
        // Use the same pieces for every attack, so that attacks can be compared.
        let text = match key.length {
            CopyLength::Whole => Some(book.text),
            CopyLength::Characters(characters) => {
                let mut random = self.random(&[name, "piece", &length, &number]);
                piece(book.text, characters, &mut random)
            }
        };
        let Some(text) = text else { return Ok(()) };
        let purpose = format!("{} {}", attack.name, key.strength);
        let mut random = self.random(&[name, &purpose, &length, &number]);
        let glued = if attack.name == "glued" {
            self.others(book.number, &mut random)
        } else {
            Vec::new()
        };
        let others = glued
            .iter()
            .map(|other| self.shelf.text(*other))
            .collect::<Result<Vec<_>, _>>()?;
        let scene = AttackScene {
            text,
            words: &book.words,
            others: &others,
            random,
        };
        match attack.disguise(scene, share) {
            Some(copy) => self.copy(book.number, attack, &glued, &copy, key, findings),
            None => Ok(()),
        }
    }

    /// Whether copies of this book are made. As many books as asked for are, at equal distances.
    fn is_copied(&self, book: usize) -> bool {
        let books = self.shelf.len();
        (book * self.copied) / books != ((book + 1) * self.copied) / books
    }

    /// Checks one copy.
    fn copy(
        &self,
        book: usize,
        attack: &Attack,
        glued: &[usize],
        copy: &str,
        key: &CopyKey,
        findings: &mut CopyFindings,
    ) -> Result<(), EvaluateError> {
        let books = self.shelf.len();
        let strangers: HashSet<usize> = (0..books)
            .filter(|other| !self.is_related(book, glued, *other))
            .collect();
        let wanted = if attack.mirrored { books + book } else { book };
        let copy = Text::new(copy, None);
        for (number, detector) in self.detectors.iter().enumerate() {
            let named = detector.check(&copy)?;
            let mut false_alarms = 0;
            for &named in named.iter().filter(|other| strangers.contains(*other)) {
                false_alarms += 1;
                let alarm = FalseAlarm {
                    detector: number,
                    book,
                    named,
                };
                findings.false_alarm(alarm, 1);
            }
            let count = CopyCount {
                copies: 1,
                caught: u64::from(named.contains(&wanted)),
                accused: u64::from(false_alarms > 0),
                false_alarms,
                strangers: strangers.len() as u64,
            };
            let key = CopyKey {
                detector: number,
                ..key.clone()
            };
            findings.count(key, count);
        }
        Ok(())
    }

    /// Whether a copy of a book, glued together with others, may be taken for a copy of this one.
    fn is_related(&self, book: usize, glued: &[usize], other: usize) -> bool {
        let mut parts = glued.iter().chain([&book]);
        parts.any(|part| self.pairs.kin(*part, other))
    }

    /// Two other books.
    fn others(&self, book: usize, random: &mut Random) -> Vec<usize> {
        let mut others: Vec<usize> = (0..self.shelf.len())
            .filter(|other| *other != book)
            .collect();
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
        let rows = self.pairs.rows.iter().map(|pair| match pair.expected {
            Expected::NoMatch => is_either_named(named, pair.a, pair.b),
            _ => named[pair.a].contains(&pair.b),
        });
        let mut found = PairsFound {
            rows: rows.collect(),
            ..PairsFound::default()
        };
        for a in 0..named.len() {
            for b in a + 1..named.len() {
                let is_named = is_either_named(named, a, b);
                if self.pairs.kin(a, b) {
                    if !self.pairs.lists(a, b) {
                        found.through_others += 1;
                        found.through_others_named += u64::from(is_named);
                    }
                    continue;
                }
                found.unrelated += 1;
                if is_named {
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

/// Whether the check of one book reports the other.
fn is_either_named(named: &[Vec<usize>], a: usize, b: usize) -> bool {
    named[a].contains(&b) || named[b].contains(&a)
}
