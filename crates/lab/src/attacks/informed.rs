//! Attacks by those who have read how gems are computed.

use hashbrown::HashSet;
use lapidary_gems::{Gem, Place, Recipe};

use super::AttackScene;
use lapidary_common::random::Random;

/// A spoilt gem may let others of the book be found in its place, so it takes a few passes.
const PASSES: usize = 32;
const LATIN: &[char] = &['b', 'd', 'f', 'k', 'l', 'm', 'n', 'r', 's'];
const CYRILLIC: &[char] = &['б', 'д', 'ф', 'к', 'л', 'м', 'н', 'р', 'с'];

/// Replaces a consonant in each gem of a recipe until a query has none of those that the text had.
pub(super) fn without_gems(scene: &mut AttackScene<'_>, recipe: &Recipe) -> String {
    let book: HashSet<Gem> = recipe.gems(scene.text).iter().map(|of| of.gem).collect();
    let mut text = scene.text.to_owned();
    for _ in 0..PASSES {
        let probes = recipe.probes(&text).into_iter().map(|probe| probe.placed);
        let left = probes.filter(|placed| book.contains(&placed.gem));
        let places: Vec<Place> = left.filter_map(|placed| placed.place).collect();
        if places.is_empty() {
            break;
        }
        text = spoilt(&text, &places, &mut scene.random);
    }
    text
}

/// The text with one consonant replaced in each of these places, which are in the order of their starts: another one each time,
/// because a single wrong one is put right.
fn spoilt(text: &str, places: &[Place], random: &mut Random) -> String {
    let (mut copy, mut copied) = (String::with_capacity(text.len()), 0);
    for Place { start, end } in places {
        let (start, end) = (*start as usize, *end as usize);
        if start < copied {
            continue;
        }
        let Some(of) = text.get(start..end) else {
            continue;
        };
        let letters = of.char_indices();
        let consonants: Vec<(usize, char)> = letters
            .filter(|(_, letter)| sound(*letter).len() == 1)
            .collect();
        if consonants.is_empty() {
            continue;
        }
        let (at, letter) = consonants[random.below(consonants.len())];
        copy.push_str(&text[copied..start + at]);
        copy.push(other(letter, random));
        copied = start + at + letter.len_utf8();
    }
    copy.push_str(&text[copied..]);
    copy
}

/// Replaces every fourteenth consonant. A gem has fifteen.
pub(super) fn fourteenth(scene: &mut AttackScene<'_>) -> String {
    let mut consonants = 0_u32;
    let mut copy = String::with_capacity(scene.text.len());
    for letter in scene.text.chars() {
        let is_consonant = letter.is_lowercase() && sound(letter).len() == 1;
        consonants += u32::from(is_consonant);
        copy.push(if is_consonant && consonants.is_multiple_of(14) {
            other(letter, &mut scene.random)
        } else {
            letter
        });
    }
    copy
}

fn sound(letter: char) -> String {
    Recipe::hardened().fold(letter.encode_utf8(&mut [0; 4]))
}

/// A consonant with another sound.
fn other(letter: char, random: &mut Random) -> char {
    let is_cyrillic = matches!(letter, '\u{400}'..='\u{4ff}');
    let letters = if is_cyrillic { CYRILLIC } else { LATIN };
    loop {
        let other = letters[random.below(letters.len())];
        if sound(other) != sound(letter) {
            return other;
        }
    }
}
