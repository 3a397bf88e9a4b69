//! International Standard Book Numbers (ISO 2108).

use std::fmt;

/// A 13-digit ISBN. An ISBN of 10 characters is an older form of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Isbn(u64);

impl fmt::Display for Isbn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:013}", self.0)
    }
}

impl Isbn {
    /// Parses an ISBN of 10 or 13 characters, with or without hyphens and blanks; `None` if its check digit is wrong.
    #[must_use]
    pub fn parse(written: &str) -> Option<Self> {
        let characters: Vec<u8> = written
            .bytes()
            .filter(|byte| !b"- ".contains(byte))
            .collect();
        Self::of(&characters)
    }

    fn of(characters: &[u8]) -> Option<Self> {
        match characters.len() {
            13 if characters.starts_with(b"978") || characters.starts_with(b"979") => {
                let digits = digits(characters)?;
                let sum: u64 = (0..)
                    .zip(&digits)
                    .map(|(i, digit)| if i % 2 == 0 { *digit } else { 3 * digit })
                    .sum();
                sum.is_multiple_of(10).then(|| Self(number(&digits)))
            }
            10 => {
                let (check, body) = characters.split_last()?;
                let digits = digits(body)?;
                let check = if b"xX".contains(check) {
                    10
                } else {
                    u64::from(check.checked_sub(b'0')?)
                };
                let sum: u64 = (0..).zip(&digits).map(|(i, digit)| (10 - i) * digit).sum();
                (check <= 10 && (sum + check).is_multiple_of(11)).then(|| Self::from_10(&digits))
            }
            _ => None,
        }
    }

    fn from_10(nine: &[u64]) -> Self {
        let digits: Vec<u64> = [9, 7, 8].into_iter().chain(nine.iter().copied()).collect();
        let sum: u64 = (0..)
            .zip(&digits)
            .map(|(i, digit)| if i % 2 == 0 { *digit } else { 3 * digit })
            .sum();
        Self(number(&digits) * 10 + (10 - sum % 10) % 10)
    }
}

fn digits(characters: &[u8]) -> Option<Vec<u64>> {
    characters
        .iter()
        .map(|c| c.is_ascii_digit().then(|| u64::from(c - b'0')))
        .collect()
}

fn number(digits: &[u64]) -> u64 {
    digits.iter().fold(0, |number, digit| number * 10 + digit)
}

/// The ISBNs in a file name, with or without hyphens.
#[must_use]
pub fn isbns_in(name: &str) -> Vec<Isbn> {
    let mut found: Vec<Isbn> = Vec::new();
    for run in name.split(|c: char| !(c.is_ascii_digit() || "-xX".contains(c))) {
        let characters: Vec<u8> = run.bytes().filter(|byte| *byte != b'-').collect();
        let long = characters.windows(13).filter_map(Isbn::of);
        let short = Isbn::of(&characters);
        for isbn in long.chain(short) {
            if !found.contains(&isbn) {
                found.push(isbn);
            }
        }
    }
    found
}

/// Invalid ISBNs in a file name: 13 digits that start like an ISBN, but have a wrong check digit.
#[must_use]
pub fn bad_isbns_in(name: &str) -> Vec<String> {
    let runs = name.split(|c: char| !(c.is_ascii_digit() || c == '-'));
    let bad = runs.filter(|run| {
        let digits: String = run.chars().filter(char::is_ascii_digit).collect();
        let begins_so = digits.starts_with("978") || digits.starts_with("979");
        digits.len() == 13 && begins_so && Isbn::parse(&digits).is_none()
    });
    bad.map(|run| run.trim_matches('-').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Isbn, bad_isbns_in, isbns_in};

    #[test]
    fn both_lengths_are_one_number() {
        let table = [
            ("9780306406157", Some("9780306406157")),
            ("978-0-306-40615-7", Some("9780306406157")),
            ("0-306-40615-2", Some("9780306406157")),
            ("0 8044 2957 X", Some("9780804429573")),
            ("080442957x", Some("9780804429573")),
            ("9790000000001", Some("9790000000001")),
            ("9780306406158", None),
            ("0306406153", None),
            ("1234567890123", None),
            ("97803064061577", None),
            ("X306406152", None),
            ("", None),
        ];
        for (written, expected) in table {
            assert_eq!(
                Isbn::parse(written).map(|isbn| isbn.to_string()).as_deref(),
                expected,
                "{written}"
            );
        }
    }

    #[test]
    fn names_of_files() {
        let table: [(&str, &[&str]); 8] = [
            ("978-0-306-40615-7.epub", &["9780306406157"]),
            ("9780306406157_ebook", &["9780306406157"]),
            ("0306406152.txt", &["9780306406157"]),
            ("Имя 0-306-40615-2 (2)", &["9780306406157"]),
            ("2021-978-0-306-40615-7", &["9780306406157"]),
            (
                "9780306406157 and 0-8044-2957-X",
                &["9780306406157", "9780804429573"],
            ),
            ("war-and-peace-1869", &[]),
            ("9780306406158", &[]),
        ];
        for (name, expected) in table {
            let found: Vec<String> = isbns_in(name).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(
            bad_isbns_in("978-0-306-40615-8 (final), 9780306406157"),
            ["978-0-306-40615-8"]
        );
        assert_eq!(bad_isbns_in("1869-12-31 and 1234567890123"), [""; 0]);
    }
}
