//! Attacks that use other scripts and other forms of letters.

use super::{Scene, map_words};

/// Latin and Cyrillic letters that look the same.
const TWINS: &[(char, char)] = &[
    ('a', 'а'),
    ('c', 'с'),
    ('e', 'е'),
    ('i', 'і'),
    ('j', 'ј'),
    ('o', 'о'),
    ('p', 'р'),
    ('s', 'ѕ'),
    ('x', 'х'),
    ('y', 'у'),
    ('A', 'А'),
    ('B', 'В'),
    ('C', 'С'),
    ('E', 'Е'),
    ('H', 'Н'),
    ('I', 'І'),
    ('J', 'Ј'),
    ('K', 'К'),
    ('M', 'М'),
    ('O', 'О'),
    ('P', 'Р'),
    ('S', 'Ѕ'),
    ('T', 'Т'),
    ('X', 'Х'),
    ('Y', 'У'),
];
/// Common romanisation of Cyrillic letters. Longer ones come first, so that the conversion back tries them first.
const ROMAN: &[(char, &str)] = &[
    ('щ', "shch"),
    ('ж', "zh"),
    ('х', "kh"),
    ('ц', "ts"),
    ('ч', "ch"),
    ('ш', "sh"),
    ('ю', "yu"),
    ('я', "ya"),
    ('ё', "yo"),
    ('є', "ye"),
    ('ї', "yi"),
    ('џ', "dz"),
    ('ђ', "dj"),
    ('љ', "lj"),
    ('њ', "nj"),
    ('ћ', "cj"),
    ('а', "a"),
    ('б', "b"),
    ('в', "v"),
    ('г', "g"),
    ('д', "d"),
    ('е', "e"),
    ('з', "z"),
    ('и', "i"),
    ('й', "j"),
    ('к', "k"),
    ('л', "l"),
    ('м', "m"),
    ('н', "n"),
    ('о', "o"),
    ('п', "p"),
    ('р', "r"),
    ('с', "s"),
    ('т', "t"),
    ('у', "u"),
    ('ф', "f"),
    ('ы', "y"),
    ('э', "e"),
    ('і', "i"),
    ('ґ', "g"),
    ('ј', "j"),
    ('ъ', ""),
    ('ь', ""),
];

pub(super) fn look_alikes(scene: &mut Scene<'_>, share: f64) -> String {
    let random = &mut scene.random;
    let twin = |c: char| {
        let twins = TWINS.iter().find(|(latin, cyrillic)| c == *latin || c == *cyrillic);
        twins.map(|(latin, cyrillic)| if c == *latin { *cyrillic } else { *latin })
    };
    scene.text.chars().map(|c| twin(c).filter(|_| random.happens(share)).unwrap_or(c)).collect()
}

/// Moves the ASCII letters of this share of the words to other ranges, which start at the given code points.
fn moved(scene: &mut Scene<'_>, share: f64, capital_a: u32, small_a: u32) -> String {
    let random = &mut scene.random;
    let letter = |c: char| match c {
        'A'..='Z' => char::from_u32(capital_a + (u32::from(c) - u32::from('A'))).unwrap_or(c),
        'a'..='z' => char::from_u32(small_a + (u32::from(c) - u32::from('a'))).unwrap_or(c),
        _ => c,
    };
    map_words(scene.text, |word, copy| {
        if random.happens(share) { copy.extend(word.chars().map(letter)) } else { copy.push_str(word) }
    })
}

pub(super) fn full_width(scene: &mut Scene<'_>, share: f64) -> String {
    moved(scene, share, 0xff21, 0xff41)
}

pub(super) fn mathematical(scene: &mut Scene<'_>, share: f64) -> String {
    moved(scene, share, 0x1d400, 0x1d41a)
}

pub(super) fn circled(scene: &mut Scene<'_>, share: f64) -> String {
    moved(scene, share, 0x24b6, 0x24d0)
}

/// Whether most of the first 10,000 letters are Cyrillic.
pub(super) fn is_cyrillic(text: &str) -> bool {
    let letters = || text.chars().filter(|c| c.is_alphabetic()).take(10_000);
    2 * letters().filter(|c| ('\u{400}'..'\u{530}').contains(c)).count() > letters().count()
}

pub(super) fn romanised(text: &str) -> String {
    let mut copy = String::with_capacity(text.len());
    for c in text.chars() {
        let lower = c.to_lowercase().next().unwrap_or(c);
        let Some((_, roman)) = ROMAN.iter().find(|(letter, _)| *letter == lower) else {
            copy.push(c);
            continue;
        };
        let mut letters = roman.chars();
        if c == lower {
            copy.push_str(roman);
        } else {
            copy.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            copy.extend(letters);
        }
    }
    copy
}

pub(super) fn cyrillic_again(text: &str) -> String {
    let mut copy = String::with_capacity(2 * text.len());
    let lower = text.to_ascii_lowercase();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let fits = |(_, roman): &&(char, &str)| !roman.is_empty() && lower[at..].starts_with(roman);
        let Some((letter, roman)) = ROMAN.iter().find(fits) else {
            copy.push(c);
            at += c.len_utf8();
            continue;
        };
        if c.is_ascii_uppercase() {
            copy.extend(letter.to_uppercase());
        } else {
            copy.push(*letter);
        }
        at += roman.len();
    }
    copy
}
