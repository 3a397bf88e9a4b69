//! Attacks on what is between words: blanks, lines, markup.

use std::fmt::Write as _;

use super::AttackScene;
use lapidary_common::random::Random;

const TAGS: &[&str] = &[
    "<b>",
    "</b>",
    "<i class=\"x\">",
    "</i>",
    "<span style='color: #222'>",
    "</span>",
    "<br/>",
];
/// The width of a column, and the number of lines in it.
const WIDTH: usize = 50;
const HEIGHT: usize = 40;

/// Adds a tag after this share of the words.
pub(super) fn marked_up(scene: &mut AttackScene<'_>, share: f64) -> String {
    scene.map_words(|word, copy, random| {
        copy.push_str(word);
        if random.happens(share) {
            copy.push_str(random.pick(TAGS).unwrap_or_default());
        }
    })
}

/// Writes this share of the letters as numeric character references.
pub(super) fn referred(scene: &mut AttackScene<'_>, share: f64) -> String {
    let mut copy = String::with_capacity(4 * scene.text.len());
    for c in scene.text.chars() {
        if !c.is_alphabetic() || !scene.random.happens(share) {
            copy.push(c);
        } else if scene.random.happens(0.5) {
            let _ = write!(copy, "&#{};", u32::from(c));
        } else {
            let _ = write!(copy, "&#x{:x};", u32::from(c));
        }
    }
    copy
}

/// Removes this share of the blanks.
pub(super) fn joined(scene: &mut AttackScene<'_>, share: f64) -> String {
    let random = &mut scene.random;
    scene
        .text
        .chars()
        .filter(|c| *c != ' ' || !random.happens(share))
        .collect()
}

/// Puts a blank into this share of the words, at a random position.
pub(super) fn split(scene: &mut AttackScene<'_>, share: f64) -> String {
    scene.map_words(|word, copy, random| {
        let at = random
            .happens(share)
            .then(|| random_place(word, random))
            .flatten();
        let (first, second) = word.split_at(at.unwrap_or(0));
        copy.extend([first, if at.is_some() { " " } else { "" }, second]);
    })
}

/// Between two letters of a word.
fn random_place(word: &str, random: &mut Random) -> Option<usize> {
    let letters = word.chars().count();
    let inside = (letters > 1).then(|| 1 + random.below(letters - 1))?;
    word.char_indices().nth(inside).map(|(at, _)| at)
}

/// Sets the text in pages of two columns, and reads them line by line across both.
pub(super) fn columns(text: &str) -> String {
    let mut lines = vec![String::new()];
    let mut width = 0;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        if width + letters > WIDTH {
            lines.push(String::new());
            width = 0;
        }
        if let Some(line) = lines.last_mut() {
            line.extend([if width > 0 { " " } else { "" }, word]);
        }
        width += letters + 1;
    }
    let mut copy = String::with_capacity(text.len());
    for page in lines.chunks(2 * HEIGHT) {
        let (left, right) = page.split_at(page.len().div_ceil(2));
        for (i, line) in left.iter().enumerate() {
            let beside = right.get(i).map_or("", String::as_str);
            copy.extend([line.as_str(), " ", beside, "\n"]);
        }
    }
    copy
}
