//! Attacks on words.

use std::iter;

use super::AttackScene;
use lapidary_common::random::Random;

/// The minimum number of letters of a long word.
const LONG: usize = 6;
const LEET: &[(char, char)] = &[
    ('a', '4'),
    ('b', '8'),
    ('e', '3'),
    ('g', '9'),
    ('i', '1'),
    ('l', '1'),
    ('o', '0'),
    ('s', '5'),
    ('t', '7'),
    ('z', '2'),
    ('б', '6'),
    ('в', '8'),
    ('з', '3'),
    ('о', '0'),
    ('т', '7'),
    ('ч', '4'),
    ('д', '9'),
];

pub(super) fn replaced(scene: &mut AttackScene<'_>, share: f64) -> String {
    let words = scene.words;
    scene.map_words(|word, copy, random| {
        let other = random.happens(share).then(|| random.pick(words)).flatten();
        copy.push_str(other.unwrap_or(word));
    })
}

/// Puts the letters between the first and the last of each word into random order.
pub(super) fn scrambled(scene: &mut AttackScene<'_>) -> String {
    scene.map_words(|word, copy, random| {
        let mut letters: Vec<char> = word.chars().collect();
        if let [_, inner @ .., _] = letters.as_mut_slice() {
            random.shuffle(inner);
        }
        copy.extend(letters);
    })
}

/// Writes each letter of this share of the words twice.
pub(super) fn doubled(scene: &mut AttackScene<'_>, share: f64) -> String {
    scene.map_words(|word, copy, random| {
        let times = if random.happens(share) { 2 } else { 1 };
        copy.extend(word.chars().flat_map(|c| iter::repeat_n(c, times)));
    })
}

/// Inserts a string into this share of the long words, at a random position.
fn insert_into_long(
    scene: &mut AttackScene<'_>,
    share: f64,
    pick: impl Fn(&mut Random) -> &'static str,
) -> String {
    scene.map_words(|word, copy, random| {
        let letters = word.chars().count();
        if letters < LONG || !random.happens(share) {
            copy.push_str(word);
            return;
        }
        let inside = 2 + random.below(letters - 3);
        let at = word
            .char_indices()
            .nth(inside)
            .map_or(word.len(), |(at, _)| at);
        copy.push_str(&word[..at]);
        copy.push_str(pick(random));
        copy.push_str(&word[at..]);
    })
}

pub(super) fn zero_width(scene: &mut AttackScene<'_>, share: f64) -> String {
    const AS_TEXT: [&str; 7] = [
        "\u{200b}", "\u{200c}", "\u{200d}", "\u{2060}", "\u{feff}", "\u{ad}", "\u{180e}",
    ];
    insert_into_long(scene, share, |random| {
        random.pick(&AS_TEXT).unwrap_or_default()
    })
}

pub(super) fn thin_blanks(scene: &mut AttackScene<'_>, share: f64) -> String {
    const BLANKS: [&str; 4] = ["\u{2009}", "\u{200a}", "\u{202f}", "\u{2006}"];
    insert_into_long(scene, share, |random| {
        random.pick(&BLANKS).unwrap_or_default()
    })
}

pub(super) fn hyphenated(scene: &mut AttackScene<'_>, share: f64) -> String {
    insert_into_long(scene, share, |_| "-\n")
}

pub(super) fn letter_spaced(scene: &mut AttackScene<'_>, share: f64) -> String {
    scene.map_words(|word, copy, random| {
        let spaced = random.happens(share);
        for (i, letter) in word.chars().enumerate() {
            if spaced && i > 0 {
                copy.push(' ');
            }
            copy.push(letter);
        }
    })
}

pub(super) fn leet(scene: &mut AttackScene<'_>, share: f64) -> String {
    scene.map_letters(share, leet_digit)
}

fn leet_digit(c: char) -> char {
    let digit = LEET.iter().find(|(letter, _)| *letter == c);
    digit.map_or(c, |(_, digit)| *digit)
}
