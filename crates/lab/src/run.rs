//! The checks of an evaluation: unchanged books, and disguised copies of them, whole and in pieces.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::attacks::{Attack, Scene};
use super::detector::Detector;
use super::findings::{Attacks, Count, FalseAlarm, Findings, Key, PairsFound};
use super::pairs::{Expected, Pairs};
use super::pieces::{Length, piece};
use super::shelf::Shelf;
use super::{EvaluateError, Progress};
use lapidary_catalogue::Text;
use lapidary_common::random::Random;

/// The number of pieces of each length taken from a book.
const PIECES: u64 = 4;
/// The maximum number of reported unrelated pairs that are listed. All of them are counted.
const EXAMPLES: usize = 50;

/// The checks of one evaluation.
pub(super) struct Run<'a> {
    pub(super) shelf: &'a Shelf,
    pub(super) pairs: &'a Pairs,
    pub(super) attacks: &'a Attacks,
    /// The lengths of copies.
    pub(super) lengths: &'a [Length],
    /// The number of books that are copied.
    pub(super) copied: usize,
    pub(super) seed: u64,
    pub(super) detectors: &'a [Box<dyn Detector + 'a>],
}

/// By detector and book, the books that a check of the unchanged book reports.
type Named = Vec<Vec<Vec<usize>>>;

impl Run<'_> {
    pub(super) fn all(
        &self,
        progress: Progress<'_>,
    ) -> Result<(Vec<PairsFound>, Findings), EvaluateError> {
        let findings = Mutex::new(Findings::default());
        let named: Mutex<Named> = Mutex::new(vec![
            vec![Vec::new(); self.shelf.len()];
            self.detectors.len()
        ]);
        let disguises = self.attacks.with_strengths().count() as u64;
        let (done, all) = (AtomicU64::new(0), self.copied as u64 * disguises);
        let step = || progress("checking", done.fetch_add(1, Ordering::Relaxed) + 1, all);
        (0..self.shelf.len())
            .into_par_iter()
            .with_max_len(1)
            .try_for_each(|book| {
                let (of_book, found) = self.book(book, &step)?;
                findings
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .merge(found);
                let mut named = named.lock().unwrap_or_else(PoisonError::into_inner);
                for (detector, names) in of_book.into_iter().enumerate() {
                    named[detector][book] = names;
                }
                Ok::<(), EvaluateError>(())
            })?;
        let named = named.into_inner().unwrap_or_else(PoisonError::into_inner);
        let found = named.iter().map(|named| self.pairs_found(named)).collect();
        Ok((
            found,
            findings
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner),
        ))
    }

    /// Checks a book and all its disguised copies. For the unchanged book, returns the reported books by detector.
    fn book(
        &self,
        book: usize,
        step: &dyn Fn(),
    ) -> Result<(Vec<Vec<usize>>, Findings), EvaluateError> {
        let text = self.shelf.text(book)?;
        let words: Vec<&str> = text
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| !word.is_empty())
            .collect();
        let unchanged = Text::new(&text, None);
        let as_it_is = self
            .detectors
            .iter()
            .map(|detector| detector.check(&unchanged));
        let as_it_is = as_it_is.collect::<Result<Vec<_>, _>>()?;
        let mut findings = Findings::default();
        if !self.is_copied(book) {
            return Ok((as_it_is, findings));
        }
        for (attack, strength, disguise, share) in self.attacks.with_strengths() {
            for &length in self.lengths {
                let pieces = match length {
                    Length::Whole if disguise.whole && self.shelf.has_passages() => 0,
                    Length::Whole => 1,
                    Length::Characters(_) if disguise.whole => 0,
                    Length::Characters(_) => PIECES,
                };
                for number in 0..pieces {
                    let seeded = |what: &str| {
                        self.random(&[
                            self.shelf.name(book),
                            what,
                            &length.name(),
                            &number.to_string(),
                        ])
                    };
                    // Use the same pieces for every attack, so that attacks can be compared.
                    let text = match length {
                        Length::Whole => Some(text.as_str()),
                        Length::Characters(characters) => {
                            piece(&text, characters, &mut seeded("piece"))
                        }
                    };
                    let Some(text) = text else { continue };
                    let mut random = seeded(&format!("{} {strength}", disguise.name));
                    let glued = if disguise.name == "glued" {
                        self.others(book, &mut random)
                    } else {
                        Vec::new()
                    };
                    let others = glued
                        .iter()
                        .map(|other| self.shelf.text(*other))
                        .collect::<Result<Vec<_>, _>>()?;
                    let Some(copy) = disguise.disguise(
                        Scene {
                            text,
                            words: &words,
                            others: &others,
                            random,
                        },
                        share,
                    ) else {
                        continue;
                    };
                    let language = self.shelf.language(book).to_owned();
                    let key = Key {
                        detector: 0,
                        attack,
                        strength,
                        length,
                        language,
                    };
                    self.copy(book, disguise, &glued, &copy, &key, &mut findings)?;
                }
            }
            step();
        }
        Ok((as_it_is, findings))
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
        key: &Key,
        findings: &mut Findings,
    ) -> Result<(), EvaluateError> {
        let books = self.shelf.len();
        let related = |other: usize| {
            self.pairs.kin(book, other) || glued.iter().any(|glued| self.pairs.kin(*glued, other))
        };
        let strangers = (0..books).filter(|other| !related(*other)).count() as u64;
        let wanted = if attack.mirrored { books + book } else { book };
        let copy = Text::new(copy, None);
        for (number, detector) in self.detectors.iter().enumerate() {
            let named = detector.check(&copy)?;
            let mut false_alarms = 0;
            for &other in named
                .iter()
                .filter(|other| **other < books && !related(**other))
            {
                false_alarms += 1;
                findings.false_alarm(
                    FalseAlarm {
                        detector: number,
                        book,
                        named: other,
                    },
                    1,
                );
            }
            let count = Count {
                copies: 1,
                caught: u64::from(named.contains(&wanted)),
                accused: u64::from(false_alarms > 0),
                false_alarms,
                strangers,
            };
            findings.count(
                Key {
                    detector: number,
                    ..key.clone()
                },
                count,
            );
        }
        Ok(())
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
        let taken = |a: usize, b: usize| named[a].contains(&b);
        let rows = self.pairs.rows.iter().map(|pair| match pair.expected {
            Expected::NoMatch => taken(pair.a, pair.b) || taken(pair.b, pair.a),
            _ => taken(pair.a, pair.b),
        });
        let mut found = PairsFound {
            rows: rows.collect(),
            ..PairsFound::default()
        };
        for a in 0..named.len() {
            for b in a + 1..named.len() {
                let is_named = taken(a, b) || taken(b, a);
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
