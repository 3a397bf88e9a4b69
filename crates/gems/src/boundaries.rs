//! Boundary sequences: the 4-digit sequences at which a fold is cut, and the minimum length of a chunk.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The length of a boundary sequence in digits.
pub(super) const SEQUENCE: usize = 4;
/// A bit for every value of four 4-bit digits, 64 per word.
const WORDS: usize = (1 << (4 * SEQUENCE)) / 64;

/// Where folds are cut: a set of 4-digit sequences, and the minimum number of digits for a chunk to become a gem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundaries {
    /// Four decimal digits each, of four bits; never empty.
    sequences: BTreeSet<u16>,
    /// At least 1.
    shortest: usize,
    /// A bit for every four digits of four bits each: whether they are one of `sequences`.
    ends: Box<[u64; WORDS]>,
}

/// Why a set of boundary sequences is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundariesError {
    /// A sequence is not four digits.
    #[error("'{0}' is not a boundary sequence: four digits 0 to 9")]
    Sequence(String),
    /// There are no sequences.
    #[error("no boundary sequences; list them as four digits each, separated by spaces")]
    Empty,
    /// The minimum length is invalid.
    #[error(
        "'shortest = {0}': the minimum number of digits in a chunk must be a whole number from 1 to 1000000"
    )]
    Shortest(String),
    /// The file has more than one set.
    #[error("this file contains several sets ({0}); put the one to use in its own file")]
    Several(String),
}

impl Boundaries {
    /// The set that both exact recipes use: 23 sequences, chunks of at least 150 digits.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: LazyLock<Boundaries> = LazyLock::new(|| {
            Boundaries::parse(include_str!("../data/boundaries.txt"))
                .expect("data/boundaries.txt is part of the program and read by its tests")
        });
        &STANDARD
    }

    /// The set of the recipe `documented-second`. It has no sequence in common with the standard set.
    #[must_use]
    pub fn second() -> &'static Self {
        static SECOND: LazyLock<Boundaries> = LazyLock::new(|| {
            Boundaries::parse(include_str!("../data/boundaries.second.txt"))
                .expect("data/boundaries.second.txt is part of the program and read by its tests")
        });
        &SECOND
    }

    /// A set of sequences, and the minimum number of digits in a chunk.
    ///
    /// # Errors
    /// If a sequence is not four digits, if there are no sequences, or if `shortest` is out of range.
    pub fn new<S: AsRef<str>>(
        sequences: impl IntoIterator<Item = S>,
        shortest: usize,
    ) -> Result<Self, BoundariesError> {
        let mut set = BTreeSet::new();
        let mut ends = Box::new([0; WORDS]);
        for sequence in sequences {
            let sequence = sequence.as_ref();
            if sequence.len() != SEQUENCE || !sequence.bytes().all(|b| b.is_ascii_digit()) {
                return Err(BoundariesError::Sequence(
                    sequence.chars().take(40).collect(),
                ));
            }
            let value = sequence
                .bytes()
                .fold(0, |n, b| n << 4 | u16::from(b - b'0'));
            set.insert(value);
            ends[usize::from(value / 64)] |= 1 << (value % 64);
        }
        if set.is_empty() {
            return Err(BoundariesError::Empty);
        }
        if !(1..=1_000_000).contains(&shortest) {
            return Err(BoundariesError::Shortest(shortest.to_string()));
        }
        Ok(Self {
            sequences: set,
            shortest,
            ends,
        })
    }

    /// Reads a file with one set. `#` starts a comment, `[name]` starts a set, and `shortest = N` is the minimum
    /// number of digits in a chunk (150 by default). Everything else is sequences, separated by blanks.
    ///
    /// # Errors
    /// The errors of [`Boundaries::new`], and an error if the file has several sets.
    pub fn parse(file: &str) -> Result<Self, BoundariesError> {
        let mut names = Vec::new();
        let mut sequences = Vec::new();
        let mut shortest = 150;
        for line in file.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                names.push(name.trim());
            } else if let Some((key, value)) = line.split_once('=')
                && key.trim() == "shortest"
            {
                let value = value.trim();
                shortest = value
                    .parse()
                    .map_err(|_| BoundariesError::Shortest(value.to_owned()))?;
            } else {
                sequences.extend(line.split_whitespace());
            }
        }
        if names.len() > 1 {
            return Err(BoundariesError::Several(names.join(", ")));
        }
        Self::new(sequences, shortest)
    }

    /// The sequences in ascending order, four digits each.
    pub fn sequences(&self) -> impl Iterator<Item = String> {
        self.sequences.iter().map(|s| format!("{s:04x}"))
    }

    /// How many chunks of a fold are long enough for a gem, and their total number of digits. The last chunk is not
    /// counted, because it does not end with a sequence.
    #[must_use]
    pub fn chunks(&self, fold: &str) -> (u64, u64) {
        let (mut chunks, mut digits) = (0, 0);
        let (mut tail, mut length, mut in_tail) = (0_u16, 0, 0);
        for character in fold.chars() {
            length += 1;
            in_tail = if character.is_ascii_digit() {
                in_tail + 1
            } else {
                0
            };
            tail = tail << 4 | (character.to_digit(10).unwrap_or_default() as u16);
            if in_tail >= SEQUENCE && self.ends_at(tail) {
                if length - SEQUENCE >= self.shortest {
                    chunks += 1;
                    digits += (length - SEQUENCE) as u64;
                }
                (length, in_tail) = (0, 0);
            }
        }
        (chunks, digits)
    }

    /// The minimum number of digits for a chunk to become a gem.
    #[must_use]
    pub fn shortest(&self) -> usize {
        self.shortest
    }

    /// Whether four digits, of four bits each, end a chunk.
    #[inline]
    pub(super) fn ends_at(&self, digits: u16) -> bool {
        self.ends[usize::from(digits / 64)] >> (digits % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Boundaries, BoundariesError};

    #[test]
    fn the_standard_set() {
        let standard = Boundaries::standard();
        assert_eq!(standard.sequences().count(), 23);
        assert_eq!(standard.shortest(), 150);
        assert!(standard.ends_at(0x3856) && standard.ends_at(0x5842) && !standard.ends_at(0x3857));
    }

    #[test]
    fn chunks_that_count() {
        let set = Boundaries::new(["1212", "3434"], 2).expect("good");
        let table = [
            ("", (0, 0)),
            ("121212", (0, 0)),
            ("55121212345", (1, 2)),
            ("555121251212", (1, 3)),
            ("5٣551212773434", (2, 6)),
            ("55512٣12", (0, 0)),
        ];
        for (fold, expected) in table {
            assert_eq!(set.chunks(fold), expected, "{fold}");
        }
    }

    #[test]
    fn the_second_set_cuts_elsewhere() {
        let (standard, second) = (Boundaries::standard(), Boundaries::second());
        assert_eq!(second.shortest(), standard.shortest());
        assert!(second.sequences().count() > 8);
        assert!(
            second
                .sequences()
                .all(|sequence| standard.sequences().all(|other| other != sequence))
        );
    }

    #[test]
    fn files() {
        let ok = |file| Boundaries::parse(file).expect("a good file");
        assert_eq!(
            ok("1234 0042"),
            Boundaries::new(["0042", "1234"], 150).expect("good")
        );
        assert_eq!(
            ok("\u{feff}# what\n[fine]\nshortest = 60\n1234 # why\n"),
            Boundaries::new(["1234"], 60).expect("good")
        );
        let bad = |file| Boundaries::parse(file).expect_err("a bad file");
        assert_eq!(bad("# nothing"), BoundariesError::Empty);
        assert_eq!(bad("123"), BoundariesError::Sequence("123".into()));
        assert_eq!(bad("12345"), BoundariesError::Sequence("12345".into()));
        assert_eq!(bad("١٢٣٤"), BoundariesError::Sequence("١٢٣٤".into()));
        assert_eq!(
            bad("shortest = -1\n1234"),
            BoundariesError::Shortest("-1".into())
        );
        assert_eq!(
            bad("shortest = 0\n1234"),
            BoundariesError::Shortest("0".into())
        );
        assert_eq!(
            bad("[a]\n1234\n[b]\n4321"),
            BoundariesError::Several("a, b".into())
        );
    }
}
