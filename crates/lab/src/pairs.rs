//! Lists of pairs of books and how they are related.

use hashbrown::HashSet;

use super::EvaluateError;
use super::shelf::Shelf;

/// The expected result for a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A detector must report it.
    Match,
    /// A detector must not report it.
    NoMatch,
    /// Both results are correct.
    Either,
}

/// The relations that a list may contain.
const RELATIONS: &[(&str, Expected)] = &[
    ("same-work-other-source", Expected::Match),
    ("contained", Expected::Match),
    ("revised-edition", Expected::Match),
    ("partial-overlap", Expected::Match),
    ("different-translation", Expected::NoMatch),
    ("unrelated", Expected::NoMatch),
    ("related", Expected::Either),
];

/// A row of a list of pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BookPair {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) relation: &'static str,
    pub(super) expected: Expected,
}

/// The relations between the books of a shelf.
#[derive(Debug)]
pub(super) struct Pairs {
    pub(super) rows: Vec<BookPair>,
    /// For each book, the lowest number among the books it is related to, directly or via others, and itself.
    kin: Vec<usize>,
    /// Pairs that must not match, even if they are related via other books.
    apart: HashSet<(usize, usize)>,
}

impl BookPair {
    /// Parses a line of a list; the error says what is wrong with it.
    fn read(line: &str, shelf: &Shelf) -> Result<Self, String> {
        let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
        let [a, b, relation, ..] = columns[..] else {
            return Err(format!(
                "{} columns, but two books and their relation are required, separated by tabs",
                columns.len()
            ));
        };
        let (a, b) = (number_of(a, shelf)?, number_of(b, shelf)?);
        if a == b {
            return Err(format!(
                "a pair needs two different books, but both are '{}'",
                shelf.name(a)
            ));
        }
        let Some(&(relation, expected)) = RELATIONS.iter().find(|(name, _)| *name == relation)
        else {
            let known: Vec<&str> = RELATIONS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "unknown relation '{relation}'; known relations: {}",
                known.join(", ")
            ));
        };
        Ok(Self {
            a,
            b,
            relation,
            expected,
        })
    }
}

fn number_of(book: &str, shelf: &Shelf) -> Result<usize, String> {
    shelf
        .number(book)
        .ok_or_else(|| format!("the folder of books has no '{book}'"))
}

impl Pairs {
    /// Parses lists of pairs, given with their names. Each line has two books and their relation, separated by tabs. Further
    /// columns are ignored, as are empty lines, lines that start with `#`, and a first line that starts with `file_a`.
    pub(super) fn parse(lists: &[(String, String)], shelf: &Shelf) -> Result<Self, EvaluateError> {
        let mut rows = Vec::new();
        for (name, list) in lists {
            Self::read(name, list, shelf, &mut rows)?;
        }
        Ok(Self::new(rows, shelf.len()))
    }

    fn read(
        list_name: &str,
        list: &str,
        shelf: &Shelf,
        rows: &mut Vec<BookPair>,
    ) -> Result<(), EvaluateError> {
        for (number, line) in (1..).zip(list.trim_start_matches('\u{feff}').lines()) {
            if line.trim().is_empty()
                || line.starts_with('#')
                || number == 1 && line.starts_with("file_a")
            {
                continue;
            }
            let pair = BookPair::read(line, shelf).map_err(|why| EvaluateError::Pair {
                list: list_name.to_owned(),
                line: number,
                why,
            })?;
            rows.push(pair);
        }
        Ok(())
    }

    fn new(rows: Vec<BookPair>, books: usize) -> Self {
        let mut kin: Vec<usize> = (0..books).collect();
        for pair in rows
            .iter()
            .filter(|pair| pair.expected != Expected::NoMatch)
        {
            let (a, b) = (kin[pair.a], kin[pair.b]);
            kin.iter_mut()
                .filter(|least| **least == a.max(b))
                .for_each(|least| *least = a.min(b));
        }
        let apart = rows
            .iter()
            .filter(|pair| pair.expected == Expected::NoMatch);
        let apart = apart
            .flat_map(|pair| [(pair.a, pair.b), (pair.b, pair.a)])
            .collect();
        Self { rows, kin, apart }
    }

    /// Whether two books are the same, or related directly or via others, in whatever way.
    pub(super) fn is_related(&self, a: usize, b: usize) -> bool {
        self.kin[a] == self.kin[b] || self.apart.contains(&(a, b))
    }

    /// The group of related books that a book belongs to, identified by the lowest book number in it.
    pub(super) fn group(&self, book: usize) -> usize {
        self.kin[book]
    }

    /// Whether the lists have a row of these books.
    pub(super) fn lists(&self, a: usize, b: usize) -> bool {
        self.rows
            .iter()
            .any(|pair| (pair.a, pair.b) == (a, b) || (pair.a, pair.b) == (b, a))
    }

    /// Whether reporting one for the other is no false alarm: they are the same book, or related directly or via others.
    pub(super) fn kin(&self, a: usize, b: usize) -> bool {
        self.kin[a] == self.kin[b] && !self.apart.contains(&(a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::super::shelf::ShelfFile;
    use super::{Pairs, Shelf};

    fn shelf() -> Shelf {
        let file = |name: &str| ShelfFile {
            name: name.to_owned(),
            path: name.into(),
        };
        Shelf::new(["a", "b", "c", "d", "e"].map(file).to_vec())
    }

    #[test]
    fn kin_over_others() {
        let list = "file_a\tfile_b\trelation\tshare\nc\tb\tcontained\t0.5\n\n# a\tb\nb\ta\tsame-work-other-source\nd\te\tdifferent-translation\n";
        let pairs = Pairs::parse(&[("list.tsv".to_owned(), list.to_owned())], &shelf())
            .expect("a good list");
        assert_eq!(pairs.rows.len(), 3);
        let kin: Vec<(usize, usize)> = (0..5)
            .flat_map(|a| (a + 1..5).map(move |b| (a, b)))
            .filter(|&(a, b)| pairs.kin(a, b))
            .collect();
        assert_eq!(kin, [(0, 1), (0, 2), (1, 2)]);
    }

    #[test]
    fn what_is_wrong_and_where() {
        let table = [
            ("a\tb", "list.tsv: line 1: 2 columns"),
            (
                "a\tb\tcontained\nx\tb\tcontained",
                "line 2: the folder of books has no 'x'",
            ),
            (
                "# comment\n\na\tb\tsimilar",
                "line 3: unknown relation 'similar'; known relations: same-work",
            ),
            (
                "a\ta\tcontained",
                "line 1: a pair needs two different books",
            ),
        ];
        for (list, expected) in table {
            let error = Pairs::parse(&[("list.tsv".to_owned(), list.to_owned())], &shelf())
                .expect_err("a bad list")
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
