//! Generates stories from sentence templates. The same seed gives the same story.

use std::collections::HashMap;

use lapidary_common::random::Random;
use lapidary_report::wrap;

/// The number of chapters, and of paragraphs in each.
const CHAPTERS: usize = 12;
const PARAGRAPHS: usize = 14;

/// A generated story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Story {
    pub(super) title: &'static str,
    pub(super) author: &'static str,
    pub(super) chapters: Vec<Chapter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chapter {
    pub(super) heading: String,
    pub(super) paragraphs: Vec<String>,
}

impl Story {
    /// The whole book, wrapped to this many columns.
    pub(super) fn text(&self, columns: usize) -> String {
        page(&[self.author, self.title], columns) + &chapters(&self.chapters, columns)
    }
}

/// Paragraphs wrapped to this many columns, each followed by an empty line.
pub(super) fn page(paragraphs: &[impl AsRef<str>], columns: usize) -> String {
    paragraphs
        .iter()
        .map(|paragraph| wrap(paragraph.as_ref(), columns).join("\n") + "\n\n")
        .collect()
}

/// Chapters wrapped to this many columns.
pub(super) fn chapters(chapters: &[Chapter], columns: usize) -> String {
    chapters
        .iter()
        .map(|c| page(&[&c.heading], columns) + &page(&c.paragraphs, columns))
        .collect()
}

/// Generates text from the templates of a vocabulary.
///
/// A vocabulary has sections with a `[name]` header. Each line of a section is an alternative for `{name}`; `{Name}` capitalizes
/// it. All alternatives are used before one is used again, so that words do not repeat in a sentence by chance.
pub(super) struct Teller<'v> {
    sections: HashMap<&'v str, VocabularySection<'v>>,
    random: Random,
}

struct VocabularySection<'v> {
    ways: Vec<&'v str>,
    used: usize,
}

impl<'v> Teller<'v> {
    pub(super) fn new(vocabulary: &'v str, seed: u64) -> Self {
        let mut teller = Self {
            sections: HashMap::new(),
            random: Random::new(seed),
        };
        let mut name = "";
        let mut ways = Vec::new();
        for line in vocabulary
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            match line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(']'))
            {
                Some(next) => {
                    teller.learn(name, &ways);
                    ways.clear();
                    name = next;
                }
                None => ways.push(line),
            }
        }
        teller.learn(name, &ways);
        teller
    }

    /// Sets the alternatives for a name.
    pub(super) fn learn(&mut self, name: &'v str, ways: &[&'v str]) {
        let used = ways.len();
        self.sections.insert(
            name,
            VocabularySection {
                ways: ways.to_vec(),
                used,
            },
        );
    }

    /// Generates a story.
    pub(super) fn tell(&mut self, title: &'static str, author: &'static str) -> Story {
        let chapters = (1..=CHAPTERS).map(|number| self.chapter(number)).collect();
        Story {
            title,
            author,
            chapters,
        }
    }

    fn chapter(&mut self, number: usize) -> Chapter {
        let heading = format!("{} {number}. {}", self.say("chapter"), self.say("heading"));
        let mut paragraphs = vec![self.paragraph("opening", 4)];
        for _ in 0..PARAGRAPHS {
            let spoken = self.random.once_in(3);
            let sentences = self.random.below(4);
            let paragraph = if spoken {
                self.paragraph("dialogue", sentences / 2)
            } else {
                self.paragraph("sentence", 3 + sentences)
            };
            paragraphs.push(paragraph);
        }
        paragraphs.push(self.say("closing"));
        Chapter {
            heading,
            paragraphs,
        }
    }

    /// A paragraph of one sentence of this kind, and `more` plain ones.
    fn paragraph(&mut self, first: &str, more: usize) -> String {
        let mut sentences = vec![self.say(first)];
        sentences.extend((0..more).map(|_| self.say("sentence")));
        sentences.join(" ")
    }

    /// Expands a name. Names that are not in the vocabulary stay in braces.
    pub(super) fn say(&mut self, name: &str) -> String {
        let mut said = String::new();
        self.write(name, &mut said);
        with_articles(&said)
    }

    fn write(&mut self, name: &str, said: &mut String) {
        let start = said.len();
        let lower = name.to_lowercase();
        let Some(way) = self.way(&lower) else {
            said.extend(["{", name, "}"]);
            return;
        };
        let mut rest = way;
        while let Some((before, name, after)) = next_name(rest) {
            said.push_str(before);
            self.write(name, said);
            rest = after;
        }
        said.push_str(rest);
        if lower != name {
            let written = said.split_off(start);
            said.push_str(&capital(&written));
        }
    }

    fn way(&mut self, name: &str) -> Option<&'v str> {
        let section = self.sections.get_mut(name)?;
        if section.used == section.ways.len() {
            self.random.shuffle(&mut section.ways);
            section.used = 0;
        }
        section.used += 1;
        section.ways.get(section.used - 1).copied()
    }
}

/// Splits a template into the text before the first name in braces, the name, and the text after it.
fn next_name(template: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = template.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(chars)
        .collect()
}

/// Replaces `a` with `an` where the next word needs it.
fn with_articles(text: &str) -> String {
    let mut words = text.split(' ').peekable();
    let mut written = Vec::new();
    while let Some(word) = words.next() {
        let vowel = words.peek().is_some_and(|next| {
            next.starts_with(['a', 'e', 'i', 'o', 'u']) || next.starts_with("hour")
        });
        written.push(match word {
            "a" if vowel => "an",
            "A" if vowel => "An",
            _ => word,
        });
    }
    written.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Teller, page};

    const VOCABULARY: &str =
        "# how to say it\n\n[greeting]\n{Kind}, a {thing}!\n\n[kind]\nold\n\n[thing]\nbat\nowl\n";

    #[test]
    fn a_teller_says_what_it_knows() {
        let mut teller = Teller::new(VOCABULARY, 1);
        let mut said = [teller.say("greeting"), teller.say("greeting")];
        said.sort();
        assert_eq!(
            said,
            ["Old, a bat!", "Old, an owl!"],
            "each way once before one comes again"
        );
        assert_eq!(teller.say("weather"), "{weather}");
        teller.learn("weather", &["fog"]);
        assert_eq!(teller.say("Weather"), "Fog");
    }

    #[test]
    fn pages() {
        assert_eq!(page(&["one two", "three"], 5), "one\ntwo\n\nthree\n\n");
    }
}
