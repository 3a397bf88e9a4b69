//! Removes print artifacts from a text: drops what repeats on every page, and joins words hyphenated at line ends.

use std::iter::once;
use std::ops::Range;

use hashbrown::HashMap;
use memchr::{memchr_iter, memchr3_iter};

use super::gem::{Place, PlacedGem, Probe};
use super::traced::Traced;

/// How many lines at the top and at the bottom of a page can be a running head or foot.
const MARGIN: usize = 2;
/// A line that is the same except for numbers on this many pages, and on one in [`OFTEN`] of all pages, is a running
/// head or foot. With fewer pages there are none.
const FEWEST: usize = 3;
const OFTEN: usize = 8;
/// If fewer than one line in this many ends in a hyphen within a word, such hyphens belong to the spelling: “well-known”.
const RARE: usize = 50;
/// Invisible characters: the soft hyphen, zero-width blanks and joiners, the byte-order mark.
const INVISIBLE: [char; 6] = [
    '\u{AD}', '\u{200B}', '\u{200C}', '\u{200D}', '\u{2060}', '\u{FEFF}',
];

/// A text without print artifacts, made by [`clean`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clean<'a> {
    source: &'a str,
    /// The text as it is seen, if that differs from the source.
    visible: Option<Traced>,
    /// What remains of it, if that is not all.
    stays: Option<Traced>,
}

impl Clean<'_> {
    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.stays
            .as_ref()
            .or(self.visible.as_ref())
            .map_or(self.source, Traced::text)
    }

    /// Maps a part of the text to its place in the source, both in bytes, including anything removed inside of it.
    #[must_use]
    pub fn source(&self, part: Range<usize>) -> Range<usize> {
        let steps = [&self.stays, &self.visible];
        steps
            .into_iter()
            .flatten()
            .fold(part, |part, step| step.source(part))
    }

    /// Like [`source`](Self::source), for a gem's place.
    #[must_use]
    pub fn place(&self, place: Place) -> Place {
        let source = self.source(place.start as usize..place.end as usize);
        Place {
            start: source.start as u64,
            end: source.end as u64,
        }
    }

    /// Gems of the text, with their places in the source.
    #[must_use]
    pub fn placed(&self, mut gems: Vec<PlacedGem>) -> Vec<PlacedGem> {
        for gem in &mut gems {
            self.put(gem);
        }
        gems
    }

    /// Probes of the text, with their places in the source.
    #[must_use]
    pub fn placed_probes(&self, mut probes: Vec<Probe>) -> Vec<Probe> {
        for probe in &mut probes {
            self.put(&mut probe.placed);
        }
        probes
    }

    fn put(&self, gem: &mut PlacedGem) {
        gem.place = gem.place.map(|place| self.place(place));
    }
}

/// Removes soft hyphens and other invisible characters, ligatures, form feeds, running heads and page numbers, and
/// joins words that are hyphenated at line ends.
///
/// Pages end at form feeds and at page numbers: lines with only a number that is one more than that of the previous
/// page. Lines with letters that repeat at the top or bottom of pages, except for their numbers, are running heads or
/// feet. A hyphen at the end of a line before a lower-case letter is removed together with the line end. If such
/// lines are rare, the hyphen stays, since it then belongs to the spelling.
///
/// ```
/// let printed = "The trea\u{AD}sure lay in a bo-\nx of o\u{FB03}ce oak.";
/// let clean = lapidary_gems::clean(printed);
/// assert_eq!(clean.text(), "The treasure lay in a box of office oak.");
/// let office = clean.text().find("office").map(|start| clean.source(start..start + "office".len()));
/// assert_eq!(office.map(|place| &printed[place]), Some("o\u{FB03}ce"));
/// ```
#[must_use]
pub fn clean(source: &str) -> Clean<'_> {
    let visible = visible(source);
    let stays = stays(visible.as_ref().map_or(source, Traced::text));
    Clean {
        source,
        visible,
        stays,
    }
}

/// The text without what repeats on every page, and with hyphenated words joined; `None` if nothing changes.
fn stays(text: &str) -> Option<Traced> {
    let mut breaks = Breaks::default();
    let pages = pages(text, &mut breaks);
    if pages.len() == 1 && breaks.broken == 0 {
        return None;
    }
    let by = breaks.lines();
    let heads = RunningHeads::of(&pages);
    let mut stays = Traced::with_capacity(text.len());
    for page in &pages {
        add_page(&mut stays, text, page, &heads, &by);
    }
    Some(stays)
}

/// The lines that repeat at the margins of the pages.
struct RunningHeads {
    /// On how many pages each is, by its shape.
    on_pages: HashMap<String, usize>,
    /// The fewest pages of a running head.
    fewest: usize,
    /// Whether there are enough pages for page numbers.
    are_numbered: bool,
}

impl RunningHeads {
    fn of(pages: &[&str]) -> Self {
        let mut on_pages: HashMap<String, usize> = HashMap::new();
        for page in pages {
            let mut shapes: Vec<String> = margins(page).into_iter().map(shape).collect();
            shapes.sort_unstable();
            shapes.dedup();
            for shape in shapes.into_iter().filter(|shape| !shape.is_empty()) {
                *on_pages.entry(shape).or_default() += 1;
            }
        }
        Self {
            on_pages,
            fewest: FEWEST.max(pages.len() / OFTEN),
            are_numbered: pages.len() >= FEWEST,
        }
    }

    /// Whether a line with these margins around it is a running head or a page number.
    fn has(&self, margins: &[&str], line: &str) -> bool {
        let Some(place) = margins
            .iter()
            .position(|margin| margin.as_ptr() == line.as_ptr())
        else {
            return false;
        };
        let is_at_end = place == 0 || place == margins.len() - 1;
        self.repeats(line) || is_at_end && self.are_numbered && number(line.trim()).is_some()
    }

    fn repeats(&self, line: &str) -> bool {
        let pages = self.on_pages.get(&shape(line));
        pages.is_some_and(|pages| *pages >= self.fewest)
    }
}

/// Adds what stays of a page.
fn add_page(stays: &mut Traced, text: &str, page: &str, heads: &RunningHeads, by: &LineBreaks) {
    let margins = margins(page);
    // A page is not a paragraph: blank lines at its ends are not part of the text.
    let (mut is_first, mut blank) = (true, 0);
    for line in parts(page, b'\n').map(str::trim_end) {
        if line.is_empty() {
            blank += usize::from(!is_first);
            continue;
        }
        if heads.has(&margins, line) {
            continue;
        }
        for _ in 0..std::mem::take(&mut blank) {
            add(stays, text, "", by);
        }
        add(stays, text, line, by);
        is_first = false;
    }
}

/// Adds a line of a text.
fn add(stays: &mut Traced, text: &str, line: &str, by: &LineBreaks) {
    let line = match by.joint(stays.text(), line) {
        Joint::Nothing => line,
        Joint::Line => {
            stays.end_line(text);
            line
        }
        Joint::Word { hyphen } => {
            if !hyphen {
                stays.pop();
            }
            line.trim_start()
        }
    };
    stays.copy(text, line);
}

/// The text as it is seen; `None` if nothing changes.
fn visible(text: &str) -> Option<Traced> {
    let bytes = text.as_bytes();
    if !may_have_unseen(bytes) {
        return None;
    }
    // All of these characters begin with one of these bytes.
    let suspects = memchr3_iter(0xC2, 0xE2, 0xEF, bytes);
    let mut unseen = suspects.filter_map(|at| {
        text[at..]
            .chars()
            .next()
            .filter(|&char| is_unseen(char))
            .map(|c| (at, c))
    });
    let first = unseen.next()?;
    let mut visible = Traced::with_capacity(text.len());
    let mut from = 0;
    for (at, char) in once(first).chain(unseen) {
        visible.copy(text, &text[from..at]);
        from = at + char.len_utf8();
        let instead = match char {
            // At the end of a line it is visible, and acts like a hyphen there.
            '\u{AD}' if text[from..].starts_with(['\n', '\r']) => "-",
            '\u{FB00}' => "ff",
            '\u{FB01}' => "fi",
            '\u{FB02}' => "fl",
            '\u{FB03}' => "ffi",
            '\u{FB04}' => "ffl",
            '\u{FB05}' | '\u{FB06}' => "st",
            _ => continue,
        };
        visible.replace(at, char.len_utf8() as u16, instead);
    }
    visible.copy(text, &text[from..]);
    Some(visible)
}

/// Whether a text may have invisible characters or ligatures. Most texts have none; this takes many bytes at a time.
#[allow(
    clippy::needless_bitwise_bool,
    reason = "branches would keep the compiler from using vector instructions"
)]
fn may_have_unseen(bytes: &[u8]) -> bool {
    let (seconds, thirds) = (
        bytes.get(1..).unwrap_or_default(),
        bytes.get(2..).unwrap_or_default(),
    );
    // The last byte of a soft hyphen at the end, for which there is no third.
    let at_end = bytes.ends_with("\u{AD}".as_bytes());
    let threes = bytes
        .iter()
        .zip(seconds)
        .zip(thirds)
        .map(|((&first, &second), &third)| {
            (first == 0xC2) & (second == 0xAD)
                | (first == 0xE2) & (second == 0x80) & (third.wrapping_sub(0x8B) < 3)
                | (first == 0xE2) & (second == 0x81) & (third == 0xA0)
                | (first == 0xEF) & ((second == 0xAC) | (second == 0xBB))
        });
    threes.fold(at_end, |any, found| any | found)
}

fn is_unseen(char: char) -> bool {
    INVISIBLE.contains(&char) || ('\u{FB00}'..='\u{FB06}').contains(&char)
}

/// The pages. A page number is the last line of its page; without one, the form feed ends the page.
fn pages<'a>(text: &'a str, breaks: &mut Breaks<'a>) -> Vec<&'a str> {
    let mut pages = Vec::new();
    for leaf in parts(text, b'\x0C') {
        let leaf = leaf.strip_suffix('\x0C').unwrap_or(leaf);
        let (mut start, mut at) = (0, 0);
        // The previous number: where its line ends, and whether a page ends there.
        let mut before: Option<(u32, usize, bool)> = None;
        for line in parts(leaf, b'\n') {
            at += line.len();
            let line = line.trim();
            breaks.add(line);
            let Some(number) = number(line) else { continue };
            let follows = before.is_some_and(|(before, ..)| before.checked_add(1) == Some(number));
            if let Some((_, end, false)) = before.filter(|_| follows) {
                pages.push(&leaf[start..end]);
                start = end;
            }
            if follows {
                pages.push(&leaf[start..at]);
                start = at;
            }
            before = Some((number, at, follows));
        }
        pages.push(&leaf[start..]);
    }
    pages
}

/// The parts of a text that end in this ASCII character, and the rest, which may be empty.
fn parts(text: &str, end: u8) -> impl Iterator<Item = &str> {
    let mut start = 0;
    memchr_iter(end, text.as_bytes())
        .map(|at| at + 1)
        .chain(once(text.len()))
        .map(move |end| {
            let part = &text[start..end];
            start = end;
            part
        })
}

/// The non-blank lines at the top and the bottom of a page.
fn margins(page: &str) -> Vec<&str> {
    let written = page
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    let last = written.clone().rev().take(MARGIN);
    let mut lines: Vec<&str> = written.take(MARGIN).chain(last).collect();
    lines.sort_unstable_by_key(|line| line.as_ptr());
    lines.dedup_by_key(|line| line.as_ptr());
    lines
}

/// A line without its numbers.
fn shape(line: &str) -> String {
    line.chars().filter(|char| char.is_alphabetic()).collect()
}

/// The number of a page, without its decoration. The line has no blanks around it.
fn number(line: &str) -> Option<u32> {
    /// A longer line is not a page number.
    const LONGEST: usize = 16;
    if line.len() > LONGEST
        || !line.contains(|c: char| c.is_ascii_digit())
        || line.contains(char::is_alphabetic)
    {
        return None;
    }
    line.trim_matches(|char: char| !char.is_ascii_digit())
        .parse()
        .ok()
}

/// Counts the lines of a text, and those that end in the middle of a word.
#[derive(Default)]
struct Breaks<'a> {
    all: usize,
    broken: usize,
    before: &'a str,
}

impl<'a> Breaks<'a> {
    /// Adds a line without the blanks around it.
    fn add(&mut self, line: &'a str) {
        if !line.is_empty() {
            self.all += 1;
            self.broken += usize::from(is_broken(self.before) && goes_on(line));
            self.before = line;
        }
    }

    fn lines(&self) -> LineBreaks {
        LineBreaks {
            breaks: self.broken * RARE > self.all,
        }
    }
}

/// How a text hyphenates words at line ends.
#[derive(Debug)]
pub struct LineBreaks {
    /// Whether it hyphenates words at all. If not, hyphens at line ends belong to the spelling.
    breaks: bool,
}

impl LineBreaks {
    /// Finds out from the lines of a text.
    #[must_use]
    pub fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut breaks = Breaks::default();
        lines.for_each(|line| breaks.add(line.trim()));
        breaks.lines()
    }

    /// Adds a line, on a new line if `is_new`; continues a word that is hyphenated at the end of the previous line.
    pub fn add(&self, text: &mut String, line: &str, is_new: bool) {
        match self.joint(text, line) {
            Joint::Word { hyphen } if is_new => {
                if !hyphen {
                    text.pop();
                }
                text.push_str(line.trim_start());
                return;
            }
            Joint::Line if is_new => text.push('\n'),
            _ => {}
        }
        text.push_str(line);
    }

    /// How a new line continues a text. A hyphen before a capital or a digit belongs to the spelling.
    fn joint(&self, text: &str, line: &str) -> Joint {
        match text {
            "" => Joint::Nothing,
            text if is_broken(text) && goes_on(line) => Joint::Word {
                hyphen: !self.breaks,
            },
            _ => Joint::Line,
        }
    }
}

/// What joins two lines.
enum Joint {
    Nothing,
    Line,
    /// A word that continues, and whether its hyphen belongs to the spelling.
    Word {
        hyphen: bool,
    },
}

fn is_broken(line: &str) -> bool {
    line.strip_suffix(['-', '\u{AD}', '\u{2010}'])
        .is_some_and(|before| before.ends_with(char::is_alphabetic))
}

fn goes_on(line: &str) -> bool {
    line.trim_start().starts_with(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{clean as cleaned, is_unseen, may_have_unseen, parts};

    fn clean(text: &str) -> String {
        cleaned(text).text().to_owned()
    }

    #[test]
    fn heads_numbers_and_broken_words() {
        let page = |number: usize, body: &str| format!("The Lapidary\n\n{body}\n\n{number}\n");
        let pages = [
            page(7, "Granite and am-\nber lay"),
            page(8, "in a trea-"),
            page(9, "sure box of Anna-\nMaria.\n1812"),
        ];
        let clean_pages = "Granite and amber lay\nin a treasure box of Anna-\nMaria.\n1812";
        assert_eq!(clean(&pages.join("\x0C")), clean_pages);
        // Without form feeds, the page numbers separate the pages.
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
        assert_eq!(
            clean("The end\nis near\x0CThe end\nwas near\nof it"),
            "The end\nis near\nThe end\nwas near\nof it"
        );
    }

    #[test]
    fn what_nobody_sees_goes() {
        assert_eq!(
            clean("so\u{AD}ft\u{200B} \u{FB01}n a\u{AD}\nnd\u{FEFF}"),
            "soft fin and"
        );
    }
    #[test]
    fn places_in_the_source() {
        let page =
            |number: usize, body: &str| format!("The Lapidary\r\n\r\n{body}\r\n\r\n{number}\r\n");
        let source = [
            page(7, "Gra\u{AD}nite and am-\r\nber lay"),
            page(8, "in a trea-"),
            page(9, "sure o\u{FB03}ce."),
        ]
        .concat();
        let clean = cleaned(&source);
        assert_eq!(clean.text(), "Granite and amber lay\nin a treasure office.");
        let of = |word: &str| {
            let start = clean.text().find(word).expect("a word");
            &source[clean.source(start..start + word.len())]
        };
        assert_eq!(of("Granite"), "Gra\u{AD}nite");
        assert_eq!(of("amber"), "am-\r\nber");
        assert_eq!(of("treasure"), "trea-\r\n\r\n8\r\nThe Lapidary\r\n\r\nsure");
        assert_eq!(of("office."), "o\u{FB03}ce.");
        assert_eq!(of("ffi"), "\u{FB03}");
    }

    proptest! {
        #[test]
        fn no_unseen_character_is_missed(
            text in "[aй«—\u{AC}-\u{AE}\u{200A}-\u{200E}\u{205F}-\u{2061}\u{FAFF}-\u{FB08}\u{FEFE}-\u{FF00}]{0,9}",
        ) {
            prop_assert!(may_have_unseen(text.as_bytes()) || !text.contains(is_unseen));
        }

        #[test]
        fn parts_are_lines(text in "[a\n\r]{0,20}") {
            let parts: Vec<&str> = parts(&text, b'\n').filter(|part| !part.is_empty()).collect();
            prop_assert_eq!(parts, text.split_inclusive('\n').collect::<Vec<_>>());
        }

        #[test]
        fn what_stays_is_in_the_source(text in "([a-c]{1,3}[-\u{AD}]?(\r?\n| |\u{FB01}|\x0C|\n[1-4]\n)){0,40}") {
            let clean = cleaned(&text);
            let mut last = 0;
            for (at, char) in clean.text().char_indices().filter(|(_, char)| char.is_ascii_lowercase()) {
                let place = clean.source(at..at + 1);
                prop_assert!(place.start >= last);
                last = place.start;
                let of = &text[place];
                prop_assert!(of == char.to_string() || of == "\u{FB01}", "{of:?} for {char}");
            }
        }
    }
}
