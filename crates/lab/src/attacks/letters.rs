//! Attacks on single letters.

use super::AttackScene;
use super::script::is_cyrillic;
use lapidary_common::random::Random;

const LATIN: &[char] = &[
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's',
    't', 'u', 'v', 'w', 'x', 'y', 'z',
];
const CYRILLIC: &[char] = &[
    'а', 'б', 'в', 'г', 'д', 'е', 'ж', 'з', 'и', 'й', 'к', 'л', 'м', 'н', 'о', 'п', 'р', 'с', 'т',
    'у', 'ф', 'х', 'ц', 'ч', 'ш', 'щ', 'ъ', 'ы', 'ь', 'э', 'ю', 'я',
];
/// How scanners misread letters.
const MISREAD: &[(char, &str)] = &[
    ('a', "o"),
    ('b', "h"),
    ('c', "e"),
    ('d', "cl"),
    ('e', "c"),
    ('f', "t"),
    ('g', "q"),
    ('h', "b"),
    ('i', "l"),
    ('j', "i"),
    ('k', "lc"),
    ('l', "1"),
    ('m', "rn"),
    ('n', "u"),
    ('o', "0"),
    ('p', "q"),
    ('q', "g"),
    ('r', "t"),
    ('s', "5"),
    ('t', "f"),
    ('u', "n"),
    ('v', "y"),
    ('w', "vv"),
    ('x', "z"),
    ('y', "v"),
    ('z', "2"),
    ('B', "8"),
    ('G', "6"),
    ('I', "l"),
    ('O', "0"),
    ('S', "5"),
    ('а', "я"),
    ('б', "6"),
    ('в', "з"),
    ('г', "т"),
    ('д', "л"),
    ('е', "с"),
    ('ж', "х"),
    ('з', "3"),
    ('и', "н"),
    ('й', "и"),
    ('к', "н"),
    ('л', "п"),
    ('м', "лл"),
    ('н', "п"),
    ('о', "0"),
    ('п', "л"),
    ('р', "о"),
    ('с', "е"),
    ('т', "г"),
    ('у', "ч"),
    ('ф', "о"),
    ('х', "ж"),
    ('ц', "и"),
    ('ч', "у"),
    ('ш', "щ"),
    ('щ', "ш"),
    ('ъ', "ь"),
    ('ы', "ьг"),
    ('ь', "ъ"),
    ('э', "з"),
    ('ю', "го"),
    ('я', "а"),
    ('О', "0"),
    ('З', "3"),
    ('Б', "6"),
];

pub(super) fn replaced(scene: &mut AttackScene<'_>, share: f64) -> String {
    let random = &mut scene.random;
    let letters = scene.text.chars();
    letters
        .map(|c| {
            if c.is_alphabetic() && random.happens(share) {
                other_letter(c, random)
            } else {
                c
            }
        })
        .collect()
}

/// Replaces one consonant by another everywhere.
pub(super) fn substituted(scene: &mut AttackScene<'_>) -> String {
    const LATIN: &[char] = &[
        'b', 'c', 'd', 'f', 'g', 'k', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v',
    ];
    const CYRILLIC: &[char] = &[
        'б', 'в', 'г', 'д', 'ж', 'з', 'к', 'л', 'м', 'н', 'п', 'р', 'с', 'т',
    ];
    let is_cyrillic = is_cyrillic(scene.text);
    let mut consonants = if is_cyrillic { CYRILLIC } else { LATIN }.to_vec();
    scene.random.shuffle(&mut consonants);
    scene
        .text
        .replace(consonants[0], consonants[1].encode_utf8(&mut [0; 4]))
}

/// Writes letters as others of the same shape.
pub(super) fn shaped(scene: &mut AttackScene<'_>) -> String {
    let mut copy = String::with_capacity(scene.text.len());
    for letter in scene.text.chars() {
        let mut same = [0; 4];
        let as_this = match letter {
            'm' => "rn",
            'd' => "cl",
            'w' => "vv",
            'l' => scene.random.pick(&["1", "|"]).unwrap_or_default(),
            'r' => "ɾ",
            's' => "ſ",
            _ => letter.encode_utf8(&mut same),
        };
        copy.push_str(as_this);
    }
    copy
}

/// A random letter of the same alphabet and case.
fn other_letter(letter: char, random: &mut Random) -> char {
    let alphabet = if ('\u{400}'..'\u{530}').contains(&letter) {
        CYRILLIC
    } else {
        LATIN
    };
    let lower = letter.to_lowercase().next().unwrap_or(letter);
    let other = loop {
        match random.pick(alphabet) {
            Some(same) if same == lower => {}
            other => break other.unwrap_or(letter),
        }
    };
    if letter.is_uppercase() {
        other.to_uppercase().next().unwrap_or(other)
    } else {
        other
    }
}

pub(super) fn misread(scene: &mut AttackScene<'_>, share: f64) -> String {
    let mut copy = String::with_capacity(scene.text.len());
    for letter in scene.text.chars() {
        if !(letter.is_alphabetic() && scene.random.happens(share)) {
            copy.push(letter);
            continue;
        }
        match MISREAD.iter().find(|(read, _)| *read == letter) {
            Some((_, as_this)) => copy.push_str(as_this),
            // All other letters get a space after them.
            None => copy.extend([letter, ' ']),
        }
    }
    copy
}

/// Adds a random combining diacritical mark to this share of the letters.
pub(super) fn marked(scene: &mut AttackScene<'_>, share: f64) -> String {
    let mut copy = String::with_capacity(2 * scene.text.len());
    for letter in scene.text.chars() {
        copy.push(letter);
        if letter.is_alphabetic() && scene.random.happens(share) {
            let mark = 0x300 + scene.random.below(0x70) as u32;
            copy.extend(char::from_u32(mark));
        }
    }
    copy
}
