//! Disguises a copy of a book, using only changes that the recipe `documented` sees through.

use lapidary_common::random::Random;

use super::shelf::StorySetting;
use super::story::{Chapter, Story, chapters, page};

/// The line width of a copy, shorter than the original's.
const COLUMNS: usize = 54;
/// The maximum number of letters in a short word, which the recipe drops. Longer words are kept, with mistyped vowels.
const SHORT: usize = 5;
const LATIN: &[char] = &['a', 'e', 'i', 'o', 'u'];
const CYRILLIC: &[char] = &['а', 'е', 'ё', 'и', 'о', 'у', 'ы', 'э', 'ю', 'я'];
/// Letters that readers and the recipe treat as equal.
const ACCENTS: [(char, char); 8] = [
    ('a', 'á'),
    ('e', 'é'),
    ('i', 'ï'),
    ('o', 'ö'),
    ('u', 'ü'),
    ('c', 'ç'),
    ('n', 'ñ'),
    ('е', 'ё'),
];

/// A disguised copy.
pub struct Forgery {
    /// The full text of the copy.
    pub text: String,
    /// A paragraph of the original, and the same paragraph of the copy.
    pub sample: (String, String),
}

/// Disguises a book: changes the title page, puts an advertisement in front, removes the first and last chapters, and
/// retypes the rest.
pub(super) fn disguise(setting: &StorySetting, story: &Story) -> Forgery {
    let mut typist = Typist {
        random: Random::new(11),
        fillers: Vec::new(),
    };
    let mut teller = setting.teller(13);
    typist.fillers.extend((0..20).map(|_| teller.say("filler")));
    let front = [teller.say("title page"), teller.say("advertisement")];
    let kept = story
        .chapters
        .get(1..story.chapters.len() - 1)
        .unwrap_or_default();
    let retyped = kept.iter().map(|chapter| Chapter {
        heading: typist.retype(&chapter.heading),
        paragraphs: chapter
            .paragraphs
            .iter()
            .map(|paragraph| typist.retype(paragraph))
            .collect(),
    });
    let retyped: Vec<Chapter> = retyped.collect();
    Forgery {
        text: page(&front, COLUMNS) + &chapters(&retyped, COLUMNS),
        sample: (first_paragraph(kept), first_paragraph(&retyped)),
    }
}

fn first_paragraph(chapters: &[Chapter]) -> String {
    chapters
        .first()
        .and_then(|chapter| chapter.paragraphs.first().cloned())
        .unwrap_or_default()
}

/// Retypes text with changes that hide the copy.
struct Typist {
    random: Random,
    fillers: Vec<String>,
}

impl Typist {
    fn retype(&mut self, paragraph: &str) -> String {
        let words: Vec<&str> = paragraph.split(' ').collect();
        let mut typed: Vec<String> = Vec::new();
        for (i, word) in words.iter().enumerate() {
            // Only between words without punctuation: the recipe treats some words with punctuation as ornaments.
            let inside = i > 0
                && words.get(i - 1..i + 2).is_some_and(|three| {
                    three
                        .iter()
                        .all(|word| word.chars().all(char::is_alphabetic))
                });
            if inside && word.chars().count() <= SHORT && self.random.once_in(4) {
                continue;
            }
            typed.push(self.dress(word));
            if inside && self.random.once_in(6) {
                let filler = self.random.below(self.fillers.len());
                typed.extend(self.fillers.get(filler).cloned());
            }
        }
        typed.join(" ")
    }

    /// Changes a word's vowels, accents, case and punctuation.
    fn dress(&mut self, word: &str) -> String {
        let long = word.chars().filter(|c| c.is_alphabetic()).count() > SHORT;
        let letters = word.chars().map(|c| match c {
            '"' => '“',
            '\'' => '’',
            '—' => '–',
            c if long && self.random.once_in(3) => self.mistype(c),
            c => c,
        });
        let typed: String = letters.collect();
        match self.random.below(10) {
            0 => typed.to_uppercase(),
            1 => typed.to_lowercase(),
            _ => typed,
        }
    }

    fn mistype(&mut self, letter: char) -> char {
        let accent = ACCENTS
            .iter()
            .find(|(plain, _)| *plain == letter)
            .filter(|_| self.random.once_in(3));
        let vowels = [LATIN, CYRILLIC]
            .into_iter()
            .find(|vowels| vowels.contains(&letter));
        match (accent, vowels) {
            (Some((_, accented)), _) => *accented,
            (None, Some(vowels)) => self.random.pick(vowels).unwrap_or(letter),
            (None, None) => letter,
        }
    }
}
