//! A text without the marks of its printing: what stands on every page goes, words broken at the ends of lines are joined.

use std::borrow::Cow;

use hashbrown::HashMap;

/// How many lines at the top and at the bottom of a page may be a running head or foot.
const MARGIN: usize = 2;
/// A line that is the same but for numbers on so many pages, and on one in [`OFTEN`] of all, is a running head or foot. With
/// fewer pages nothing is.
const FEWEST: usize = 3;
const OFTEN: usize = 8;
/// Where fewer than one line in so many ends in a hyphen within a word, it is one that is written: “well-known”.
const RARE: usize = 50;
/// Characters that nobody sees: the soft hyphen, blanks and joiners without width, the byte-order mark.
const INVISIBLE: [char; 6] = ['\u{AD}', '\u{200B}', '\u{200C}', '\u{200D}', '\u{2060}', '\u{FEFF}'];

/// A text without soft hyphens and other characters that nobody sees, without ligatures, without form feeds, without running
/// heads and page numbers, and with the words joined that are broken at the ends of lines.
///
/// Pages end at form feeds and at page numbers: lines of nothing but a number that is one more than that of the page before.
/// Where lines with letters repeat at the top or bottom of pages, but for their numbers, they are running heads or feet. A
/// hyphen at the end of a line before a small letter goes with the line end; where such lines are rare it stays, since then it
/// is one that is written.
///
/// ```
/// let printed = "The trea\u{AD}sure lay in a bo-\nx of o\u{FB03}ce oak.";
/// assert_eq!(lapidary::extract::clean(printed), "The treasure lay in a box of office oak.");
/// ```
#[must_use]
pub fn clean(text: &str) -> String {
    let visible = visible(text);
    let pages = pages(&visible);
    let mut on_pages: HashMap<String, usize> = HashMap::new();
    for page in &pages {
        let mut seen = Vec::new();
        for shape in margins(page).into_iter().map(|place| shape(page[place])).filter(|shape| !shape.is_empty()) {
            if !seen.contains(&shape) {
                *on_pages.entry(shape.clone()).or_default() += 1;
                seen.push(shape);
            }
        }
    }
    let fewest = FEWEST.max(pages.len() / OFTEN);
    let runs = |line: &str| on_pages.get(&shape(line)).is_some_and(|&pages| pages >= fewest);
    let is_number = |line: &str| pages.len() >= FEWEST && number(line).is_some();
    let by = Lines::of(visible.split(['\n', '\x0C']));
    let mut cleaned = String::with_capacity(visible.len());
    for page in &pages {
        let margins = margins(page);
        let ends = [margins.first(), margins.last()];
        let is_printed = |place: usize, line: &str| {
            (margins.contains(&place) && runs(line)) || (ends.contains(&Some(&place)) && is_number(line))
        };
        let kept: Vec<&str> =
            page.iter().enumerate().filter(|(place, line)| !is_printed(*place, line)).map(|(_, line)| *line).collect();
        // A page is no paragraph: what is blank at its ends is none of the text.
        let blank = |line: &&&str| line.trim().is_empty();
        let start = kept.iter().take_while(blank).count();
        let end = kept.len() - kept[start..].iter().rev().take_while(blank).count();
        for line in &kept[start..end] {
            by.add(&mut cleaned, line.trim_end(), true);
        }
    }
    cleaned
}

/// The text as it is seen.
fn visible(text: &str) -> Cow<'_, str> {
    let is_ligature = |char: char| ('\u{FB00}'..='\u{FB06}').contains(&char);
    if !text.contains(|char| INVISIBLE.contains(&char) || is_ligature(char)) {
        return Cow::Borrowed(text);
    }
    let mut visible = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            // At the end of a line it is seen, and means what a hyphen does there.
            '\u{AD}' if matches!(rest.peek(), Some('\n' | '\r')) => visible.push('-'),
            '\u{FB00}' => visible.push_str("ff"),
            '\u{FB01}' => visible.push_str("fi"),
            '\u{FB02}' => visible.push_str("fl"),
            '\u{FB03}' => visible.push_str("ffi"),
            '\u{FB04}' => visible.push_str("ffl"),
            '\u{FB05}' | '\u{FB06}' => visible.push_str("st"),
            char if INVISIBLE.contains(&char) => {}
            char => visible.push(char),
        }
    }
    Cow::Owned(visible)
}

/// The lines of each page. A page number is the last line of its page, and where there is none the form feed ends it.
fn pages(text: &str) -> Vec<Vec<&str>> {
    let mut pages: Vec<Vec<&str>> = Vec::new();
    for leaf in text.split('\x0C') {
        let lines: Vec<&str> = leaf.lines().collect();
        let numbers: Vec<(usize, u32)> =
            lines.iter().enumerate().filter_map(|(place, line)| Some((place, number(line)?))).collect();
        let follows = |(i, &(place, number)): (usize, &(usize, u32))| {
            let before = i.checked_sub(1).is_some_and(|i| numbers[i].1.checked_add(1) == Some(number));
            let after = numbers.get(i + 1).is_some_and(|&(_, after)| number.checked_add(1) == Some(after));
            (before || after).then_some(place)
        };
        let mut start = 0;
        for end in numbers.iter().enumerate().filter_map(follows) {
            pages.push(lines[start..=end].to_vec());
            start = end + 1;
        }
        pages.push(lines[start..].to_vec());
    }
    pages
}

/// The places of the lines at the top and the bottom of a page that are not blank.
fn margins(page: &[&str]) -> Vec<usize> {
    let written = || page.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(place, _)| place);
    let mut places: Vec<usize> = written().take(MARGIN).chain(written().rev().take(MARGIN)).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// A line without its numbers.
fn shape(line: &str) -> String {
    line.chars().filter(|char| char.is_alphabetic()).collect()
}

/// The number of a page, with what may stand around it.
fn number(line: &str) -> Option<u32> {
    /// More than this is no line of a number.
    const LONGEST: usize = 16;
    let line = line.trim();
    if line.len() > LONGEST || line.contains(char::is_alphabetic) {
        return None;
    }
    line.trim_matches(|char: char| !char.is_ascii_digit()).parse().ok()
}

/// How a text breaks its words at the ends of lines.
pub(super) struct Lines {
    /// Does it break words at all, or are the hyphens there those of words that are written with one?
    breaks: bool,
}

impl Lines {
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let (mut all, mut broken, mut before) = (0, 0, "");
        for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
            all += 1;
            broken += usize::from(is_broken(before) && goes_on(line));
            before = line;
        }
        Self { breaks: broken * RARE > all }
    }

    /// Adds a line, on a new line if `is_new`; a word that is broken at the end of the one before goes on. A hyphen before a
    /// capital or a digit is one that is written.
    pub(super) fn add(&self, text: &mut String, line: &str, is_new: bool) {
        if is_new && is_broken(text) && goes_on(line) {
            if self.breaks {
                text.pop();
            }
            text.push_str(line.trim_start());
            return;
        }
        if is_new && !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    }
}

fn is_broken(line: &str) -> bool {
    line.strip_suffix(['-', '\u{AD}', '\u{2010}']).is_some_and(|before| before.ends_with(char::is_alphabetic))
}

fn goes_on(line: &str) -> bool {
    line.trim_start().starts_with(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn heads_numbers_and_broken_words() {
        let page = |number: usize, body: &str| format!("The Lapidary\n\n{body}\n\n{number}\n");
        let pages =
            [page(7, "Granite and am-\nber lay"), page(8, "in a trea-"), page(9, "sure box of Anna-\nMaria.\n1812")];
        let clean_pages = "Granite and amber lay\nin a treasure box of Anna-\nMaria.\n1812";
        assert_eq!(clean(&pages.join("\x0C")), clean_pages);
        // Where there are no form feeds, the numbers tell the pages.
        assert_eq!(clean(&pages.concat()), clean_pages);
    }

    #[test]
    fn what_may_be_a_part_of_the_text_stays() {
        for text in [
            "The end\nis near\n12\nsaid he\n\nand went\nThe end\nwas near",
            "1812\n\nA year.\n\n1914\n\nAnother.",
            "a\n\n\nb",
            "",
        ] {
            assert_eq!(clean(text), text);
        }
        assert_eq!(clean("The end\nis near\x0CThe end\nwas near\nof it"), "The end\nis near\nThe end\nwas near\nof it");
    }

    #[test]
    fn what_nobody_sees_goes() {
        assert_eq!(clean("so\u{AD}ft\u{200B} \u{FB01}n a\u{AD}\nnd\u{FEFF}"), "soft fin and");
    }
}
