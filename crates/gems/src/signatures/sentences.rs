//! Sentences, without lists of abbreviations: both copies of a text are cut alike.

use super::characters::{is_letter, is_letter_or_number, is_lower_case, is_of_word};

const IDEOGRAPHIC: char = '。';

fn is_end(c: char) -> bool {
    matches!(
        c,
        '.' | '!' | '?' | '\u{589}' | '\u{61f}' | '\u{6d4}' | '\u{964}'
    )
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | ')'
            | ']'
            | '}'
            | '«'
            | '»'
            | '‘'
            | '’'
            | '“'
            | '”'
            | '‹'
            | '›'
            | '_'
            | '*'
    )
}

/// The sentences of a paragraph, with what is between them.
pub(super) fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    let mut rest = Ends {
        paragraph,
        from: 0,
        next: NextLetter::default(),
    };
    let mut start = 0;
    std::iter::from_fn(move || {
        if start == paragraph.len() {
            return None;
        }
        let end = rest.next().unwrap_or(paragraph.len());
        let sentence = &paragraph[start..end];
        start = end;
        Some(sentence)
    })
}

/// Where sentences end.
struct Ends<'a> {
    paragraph: &'a str,
    from: usize,
    next: NextLetter,
}

/// The first letter or number from some place on, remembered because many ends may come before it.
#[derive(Default)]
struct NextLetter {
    place: usize,
    is_lower_case: bool,
}

impl NextLetter {
    fn is_lower_case(&mut self, paragraph: &str, from: usize) -> bool {
        if self.place < from {
            let found = paragraph[from..]
                .char_indices()
                .find(|(_, c)| is_letter_or_number(*c));
            self.place = found.map_or(paragraph.len(), |(place, _)| from + place);
            self.is_lower_case = found.is_some_and(|(_, c)| is_lower_case(c));
        }
        self.is_lower_case
    }
}

impl Iterator for Ends<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let found = self.paragraph[self.from..].find(|c| is_end(c) || c == IDEOGRAPHIC)?;
            let place = self.from + found;
            let marked = &self.paragraph[place..];
            if marked.starts_with(IDEOGRAPHIC) {
                let rest = marked
                    .trim_start_matches(IDEOGRAPHIC)
                    .trim_start_matches(is_closer);
                self.from = self.paragraph.len() - rest.len();
                return Some(self.from);
            }
            let unmarked = marked.trim_start_matches(is_end);
            let rest = unmarked.trim_start_matches(is_closer);
            if !(rest.is_empty() || rest.starts_with([' ', '\n'])) {
                self.from = self.paragraph.len() - unmarked.len();
                continue;
            }
            self.from = self.paragraph.len() - rest.len();
            let is_initial = marked.len() - unmarked.len() == 1
                && marked.starts_with('.')
                && self.is_initial(place);
            if !is_initial && !self.next.is_lower_case(self.paragraph, self.from) {
                return Some(self.from);
            }
        }
    }
}

impl Ends<'_> {
    /// Whether a single letter comes before this place.
    fn is_initial(&self, place: usize) -> bool {
        let mut before = self.paragraph[..place].chars().rev();
        before.next().is_some_and(is_letter) && !before.next().is_some_and(is_of_word)
    }
}
