//! Which copy of a text to keep.

use std::cmp::Reverse;

use lapidary_common::description::Description;
use lapidary_extract::Format;

/// Copies whose length differs by less than this part are equally complete.
const AS_COMPLETE: f64 = 0.01;

/// A copy of a text.
#[derive(Debug, Clone, Copy)]
pub struct Copy<'a> {
    /// The length of its text in bytes.
    pub bytes: u64,
    /// The format of its file, if known.
    pub format: Option<Format>,
    /// What is known of it.
    pub description: &'a Description,
}

/// Why a copy is the best of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merit {
    /// It is the longest.
    Complete,
    /// Others are as complete, but their formats keep less of a book.
    Format,
    /// Others are as complete, but have less metadata.
    Metadata,
    /// Nothing tells it from others, and it is the first.
    First,
}

impl Merit {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "most_complete",
            Self::Format => "best_format",
            Self::Metadata => "most_metadata",
            Self::First => "first",
        }
    }
}

/// The best of several copies, and why. `None` if there are none.
#[must_use]
pub fn best(copies: &[Copy<'_>]) -> Option<(usize, Merit)> {
    let longest = copies.iter().map(|copy| copy.bytes).max()?;
    let shortest = (1.0 - AS_COMPLETE) * longest as f64;
    let complete: Vec<usize> = (0..copies.len())
        .filter(|i| copies[*i].bytes as f64 >= shortest)
        .collect();
    let merits = |i: &usize| {
        let Copy {
            format,
            description,
            ..
        } = copies[*i];
        (
            Reverse(format.map_or(Format::Text.loss(), Format::loss)),
            fields(description),
        )
    };
    // Of equal ones, the first.
    let best = *complete.iter().max_by_key(|i| (merits(i), Reverse(**i)))?;
    let others = || complete.iter().filter(|i| **i != best).map(&merits);
    let (format, metadata) = merits(&best);
    let merit = if others().next().is_none() {
        Merit::Complete
    } else if others().all(|(other, _)| other < format) {
        Merit::Format
    } else if others().all(|other| other < (format, metadata)) {
        Merit::Metadata
    } else {
        Merit::First
    };
    Some((best, merit))
}

/// Number of filled fields.
fn fields(description: &Description) -> usize {
    let Description {
        title,
        authors,
        language,
        identifiers,
        published,
    } = description;
    let filled = [
        title.is_some(),
        !authors.is_empty(),
        language.is_some(),
        !identifiers.is_empty(),
        published.is_some(),
    ];
    filled.into_iter().filter(|filled| *filled).count()
}

#[cfg(test)]
mod tests {
    use super::{Copy, Description, Format, Merit, best};

    #[test]
    fn the_longest_then_the_best_format_then_the_best_described() {
        let bare = Description::default();
        let titled = Description {
            title: Some("Viy".to_owned()),
            ..Description::default()
        };
        let copy = |bytes, format, description| Copy {
            bytes,
            format,
            description,
        };
        let (text, epub) = (Some(Format::Text), Some(Format::Epub));
        let chosen = |copies: &[Copy<'_>]| best(copies).expect("there are copies");
        assert_eq!(
            chosen(&[copy(900, epub, &titled), copy(1_000, text, &bare)]),
            (1, Merit::Complete)
        );
        assert_eq!(
            chosen(&[copy(1_000, text, &titled), copy(995, epub, &bare)]),
            (1, Merit::Format)
        );
        assert_eq!(
            chosen(&[copy(1_000, text, &bare), copy(995, text, &titled)]),
            (1, Merit::Metadata)
        );
        assert_eq!(
            chosen(&[
                copy(5, text, &bare),
                copy(5, None, &bare),
                copy(1, epub, &titled)
            ]),
            (0, Merit::First)
        );
        assert_eq!(best(&[]), None);
    }
}
