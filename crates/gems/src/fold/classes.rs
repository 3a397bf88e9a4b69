//! Character classes as the reference's regular expressions see them, frozen at Unicode 14.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use icu_properties::props::{Alphabetic, BinaryProperty, GeneralCategory, JoinControl, WhiteSpace};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Replaces every character that Unicode 14 does not define. It is a private-use character, so it is neither a word
/// character nor blank, and normalisation does not change it.
pub(super) const UNKNOWN: char = '\u{e000}';

const WORD: u8 = 1;
const BLANK: u8 = 2;
const DIGIT: u8 = 4;
const KNOWN: u8 = 8;

/// `\w`: Alphabetic, marks, decimal digits, connector punctuation, joiners.
pub(super) fn is_word(c: char) -> bool {
    has(c, WORD)
}

/// `\s`: `White_Space`.
pub(super) fn is_blank(c: char) -> bool {
    has(c, BLANK)
}

/// ASCII `\s`.
pub(super) fn is_ascii_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// `\d`: decimal digits of any script.
pub(super) fn is_digit(c: char) -> bool {
    has(c, DIGIT)
}

/// The character itself, or [`UNKNOWN`] if it was added after Unicode 14.
pub(crate) fn known(c: char) -> char {
    if has(c, KNOWN) { c } else { UNKNOWN }
}

fn has(c: char, class: u8) -> bool {
    static CLASSES: LazyLock<Vec<u8>> = LazyLock::new(classes);
    CLASSES[c as usize] & class != 0
}

fn classes() -> Vec<u8> {
    use GeneralCategory as Category;
    fn set<P: BinaryProperty>() -> impl Iterator<Item = RangeInclusive<u32>> {
        CodePointSetData::new::<P>().iter_ranges()
    }
    let mut classes = vec![0; char::MAX as usize + 1];
    mark(&mut classes, set::<Alphabetic>(), WORD);
    mark(&mut classes, set::<JoinControl>(), WORD);
    mark(&mut classes, set::<WhiteSpace>(), BLANK);
    let categories = CodePointMapData::<Category>::new();
    for category in [
        Category::NonspacingMark,
        Category::SpacingMark,
        Category::EnclosingMark,
        Category::ConnectorPunctuation,
    ] {
        mark(
            &mut classes,
            categories.iter_ranges_for_value(category),
            WORD,
        );
    }
    mark(
        &mut classes,
        categories.iter_ranges_for_value(Category::DecimalNumber),
        WORD | DIGIT,
    );
    mark(&mut classes, assigned(), KNOWN);
    // Entries without a class are not written to: most code points are unassigned, so their pages are never allocated.
    for class in classes
        .iter_mut()
        .filter(|class| **class != 0 && **class & KNOWN == 0)
    {
        *class = 0;
    }
    classes
}

fn mark(classes: &mut [u8], ranges: impl Iterator<Item = RangeInclusive<u32>>, class: u8) {
    for range in ranges {
        for c in &mut classes[*range.start() as usize..=*range.end() as usize] {
            *c |= class;
        }
    }
}

fn assigned() -> impl Iterator<Item = RangeInclusive<u32>> {
    let lines = include_str!("../../data/assigned.txt").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (first, last) = line.split_once('\t')?;
            Some(u32::from_str_radix(first, 16).ok()?..=u32::from_str_radix(last, 16).ok()?)
        })
}
