//! Attacks that use other scripts and other forms of letters.

use std::sync::LazyLock;

use hashbrown::HashMap;
use unicode_security::confusable_detection::skeleton;

use super::AttackScene;

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
/// Letters of both alphabets, and Greek and Armenian ones that look the same.
pub(super) const OTHER_TWINS: &[(char, char)] = &[
    ('a', 'α'),
    ('e', 'ε'),
    ('i', 'ι'),
    ('k', 'κ'),
    ('n', 'η'),
    ('o', 'ο'),
    ('p', 'ρ'),
    ('t', 'τ'),
    ('u', 'ս'),
    ('v', 'ν'),
    ('x', 'χ'),
    ('h', 'հ'),
    ('g', 'ց'),
    ('A', 'Α'),
    ('B', 'Β'),
    ('E', 'Ε'),
    ('H', 'Η'),
    ('I', 'Ι'),
    ('K', 'Κ'),
    ('M', 'Μ'),
    ('N', 'Ν'),
    ('O', 'Ο'),
    ('P', 'Ρ'),
    ('S', 'Տ'),
    ('T', 'Τ'),
    ('U', 'Ս'),
    ('X', 'Χ'),
    ('Z', 'Ζ'),
    ('а', 'α'),
    ('е', 'ε'),
    ('к', 'κ'),
    ('о', 'օ'),
    ('р', 'ρ'),
    ('у', 'υ'),
    ('х', 'χ'),
    ('п', 'π'),
    ('А', 'Α'),
    ('В', 'Β'),
    ('Е', 'Ε'),
    ('К', 'Κ'),
    ('М', 'Μ'),
    ('Н', 'Η'),
    ('О', 'Ο'),
    ('Р', 'Ρ'),
    ('Т', 'Τ'),
    ('Х', 'Χ'),
    ('П', 'Π'),
];
/// Letters and marks, and the characters that look like them upside down.
const UPSIDE_DOWN: [&str; 2] = [
    "abcdefghijklmnopqrstuvwxyz.,'!?",
    "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz˙',¡¿",
];
/// Latin letters, and superscript ones.
pub(super) const SUPERSCRIPT: [&str; 2] =
    ["abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"];
/// Latin letters, and the same with accents.
pub(super) const ACCENTED: [&str; 2] = ["abcdefghijklmnoprstuvwxyz", "áḃćḋéḟǵḣíĵḱĺḿńóṕŕśťúṽẃẋýź"];
/// Latin letters, and Coptic ones that look the same.
pub(super) const COPTIC: [&str; 2] = [
    "ABCEHIKMNOPTXYabcehikmnoprtxyw",
    "ⲀⲂⲤⲈⲎⲒⲔⲘⲚⲞⲢⲦⲬⲨⲁⲃⲥⲉⲏⲓⲕⲙⲛⲟⲣⲅⲧⲭⲩⲱ",
];
/// Latin capitals, and the Lisu letters that look the same.
const LISU: [&str; 2] = ["ABCDEFGHIJKLMNOPRSTUVWXYZ", "ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ"];
/// The keys of a Russian keyboard, in its Latin layout and in its Cyrillic one.
const KEYS: [&str; 2] = [
    "`qwertyuiop[]asdfghjkl;'zxcvbnm,./~QWERTYUIOP{}ASDFGHJKL:\"ZXCVBNM<>?",
    "ёйцукенгшщзхъфывапролджэячсмитьбю.ЁЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭЯЧСМИТЬБЮ,",
];
/// Cyrillic letters in ASCII characters that look like them.
const VOLAPUK: &[(char, &str)] = &[
    ('а', "a"),
    ('б', "6"),
    ('в', "B"),
    ('г', "r"),
    ('д', "g"),
    ('е', "e"),
    ('ё', "e"),
    ('ж', "}|{"),
    ('з', "3"),
    ('и', "u"),
    ('й', "u"),
    ('к', "K"),
    ('л', "JI"),
    ('м', "M"),
    ('н', "H"),
    ('о', "o"),
    ('п', "n"),
    ('р', "p"),
    ('с', "c"),
    ('т', "T"),
    ('у', "y"),
    ('ф', "qp"),
    ('х', "x"),
    ('ц', "LL"),
    ('ч', "4"),
    ('ш', "LLI"),
    ('щ', "LLL"),
    ('ъ', "'b"),
    ('ы', "bI"),
    ('ь', "b"),
    ('э', "-)"),
    ('ю', "IO"),
    ('я', "9"),
    ('і', "i"),
    ('ї', "i"),
    ('є', "e"),
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

/// Replaces this share of the letters that have a twin in the list.
pub(super) fn replaced(scene: &mut AttackScene<'_>, share: f64, twins: &[(char, char)]) -> String {
    with_twins(scene, share, |c| {
        let twin = twins.iter().find(|(letter, _)| *letter == c);
        twin.map(|(_, twin)| *twin)
    })
}

/// Replaces this share of the letters that have a twin.
fn with_twins(
    scene: &mut AttackScene<'_>,
    share: f64,
    twin: impl Fn(char) -> Option<char>,
) -> String {
    let random = &mut scene.random;
    let letters = scene.text.chars();
    letters
        .map(|c| twin(c).filter(|_| random.happens(share)).unwrap_or(c))
        .collect()
}

/// In lower case, because few capitals have a form upside down.
pub(super) fn upside_down(text: &str) -> String {
    with(&text.to_lowercase(), UPSIDE_DOWN)
}

/// The text with the second characters in place of the first ones.
fn with(text: &str, twins: [&str; 2]) -> String {
    text.chars().map(replacement(twins)).collect()
}

fn replacement([from, to]: [&str; 2]) -> impl Fn(char) -> char {
    let by: HashMap<char, char> = from.chars().zip(to.chars()).collect();
    move |c| by.get(&c).copied().unwrap_or(c)
}

/// Writes this share of the words with the second characters in place of the first ones.
pub(super) fn swapped(scene: &mut AttackScene<'_>, share: f64, twins: [&str; 2]) -> String {
    scene.map_letters(share, replacement(twins))
}

/// In capitals, because Lisu has only these.
pub(super) fn lisu(scene: &AttackScene<'_>) -> String {
    with(&scene.text.to_uppercase(), LISU)
}

/// Writes each letter with the same key in the other layout.
pub(super) fn retyped(text: &str) -> String {
    let [latin, cyrillic] = KEYS;
    let from_cyrillic = is_cyrillic(text);
    with(
        text,
        if from_cyrillic {
            [cyrillic, latin]
        } else {
            KEYS
        },
    )
}

pub(super) fn volapuk(text: &str) -> String {
    let mut copy = String::with_capacity(text.len());
    for c in text.chars() {
        let lower = c.to_lowercase().next().unwrap_or(c);
        match VOLAPUK.iter().find(|(letter, _)| *letter == lower) {
            Some((_, shape)) => copy.push_str(shape),
            None => copy.push(c),
        }
    }
    copy
}

/// Letters by what they look like, as Unicode lists it (UTS #39).
static CONFUSABLES: LazyLock<HashMap<String, Vec<char>>> = LazyLock::new(|| {
    let mut alike: HashMap<String, Vec<char>> = HashMap::new();
    for c in ('\0'..='\u{1ffff}').filter(|c| c.is_alphabetic()) {
        alike.entry(skeleton_of(c)).or_default().push(c);
    }
    alike
});

fn skeleton_of(c: char) -> String {
    skeleton(c.encode_utf8(&mut [0; 4])).collect()
}

/// Replaces this share of the letters by any that look the same.
pub(super) fn confused(scene: &mut AttackScene<'_>, share: f64) -> String {
    let random = &mut scene.random;
    let mut copy = String::with_capacity(2 * scene.text.len());
    for c in scene.text.chars() {
        let is_replaced = c.is_alphabetic() && random.happens(share);
        let alike = is_replaced.then(|| CONFUSABLES.get(&skeleton_of(c)));
        let other = alike.flatten().and_then(|alike| random.pick(alike));
        copy.push(other.unwrap_or(c));
    }
    copy
}

/// The last line first, and in each the last letter.
pub(super) fn turned(text: &str) -> String {
    upside_down(text).chars().rev().collect()
}

pub(super) fn backwards(text: &str) -> String {
    let mut copy = String::with_capacity(2 * text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let letters = word.trim_end();
        if !letters.is_empty() {
            copy.push('\u{202e}');
            copy.extend(letters.chars().rev());
            copy.push('\u{202c}');
        }
        copy.push_str(&word[letters.len()..]);
    }
    copy
}

pub(super) fn look_alikes(scene: &mut AttackScene<'_>, share: f64) -> String {
    with_twins(scene, share, |c| {
        let (latin, cyrillic) = TWINS
            .iter()
            .find(|(latin, cyrillic)| c == *latin || c == *cyrillic)?;
        Some(if c == *latin { *cyrillic } else { *latin })
    })
}

/// Moves the ASCII letters of this share of the words to other ranges, which start at the given code points.
fn moved(scene: &mut AttackScene<'_>, share: f64, capital_a: u32, small_a: u32) -> String {
    scene.map_letters(share, |c| match c {
        'A'..='Z' => from(capital_a, 'A', c),
        'a'..='z' => from(small_a, 'a', c),
        _ => c,
    })
}

/// The character as far from `start` as `c` is from `first`.
fn from(start: u32, first: char, c: char) -> char {
    char::from_u32(start + (u32::from(c) - u32::from(first))).unwrap_or(c)
}

pub(super) fn full_width(scene: &mut AttackScene<'_>, share: f64) -> String {
    moved(scene, share, 0xff21, 0xff41)
}

pub(super) fn mathematical(scene: &mut AttackScene<'_>, share: f64) -> String {
    moved(scene, share, 0x1d400, 0x1d41a)
}

pub(super) fn flags(scene: &mut AttackScene<'_>, share: f64) -> String {
    moved(scene, share, 0x1f1e6, 0x1f1e6)
}

pub(super) fn circled(scene: &mut AttackScene<'_>, share: f64) -> String {
    moved(scene, share, 0x24b6, 0x24d0)
}

/// Whether most of the first 10,000 letters are Cyrillic.
pub(super) fn is_cyrillic(text: &str) -> bool {
    let (mut cyrillic, mut all) = (0, 0);
    for c in text.chars().filter(|c| c.is_alphabetic()).take(10_000) {
        all += 1;
        cyrillic += usize::from(('\u{400}'..'\u{530}').contains(&c));
    }
    2 * cyrillic > all
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
        let mut known = ROMAN.iter();
        let Some((letter, roman)) =
            known.find(|(_, roman)| !roman.is_empty() && lower[at..].starts_with(roman))
        else {
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
