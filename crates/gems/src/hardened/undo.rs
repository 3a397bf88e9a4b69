//! Undoes what changes a whole text without changing how it reads: markup, character references, letters in reverse order
//! under an override of the writing direction, and lines that stand on their heads.

use std::ops::Range;

use memchr::{memchr, memchr2_iter, memmem};

use crate::gem::Place;

/// Letters after this are written from right to left, until the end of the line or one of [`ENDS`].
const OVERRIDE: char = '\u{202e}';
const ENDS: [char; 3] = ['\u{202c}', '\u{202d}', OVERRIDE];
/// The most frequent letter of a turned text.
const TURNED_E: char = 'ǝ';
/// The longest tag, in bytes.
const LONGEST_TAG: usize = 400;
/// The longest character reference, in bytes.
const LONGEST_REFERENCE: usize = 12;
/// Places are exact within about this many bytes.
const STEP: usize = 64;

/// A text, and the one that its readers see.
pub(super) struct Undone<'a> {
    source: &'a str,
    /// What they see, if it is not the text itself.
    seen: Option<UndoneText>,
}

/// The text as its readers see it.
pub(super) fn undone(source: &str) -> Undone<'_> {
    let plain = has_markup(source).then(|| without_markup(source));
    let text = plain.as_ref().map_or(source, |plain| &plain.text);
    if !has(text, OVERRIDE) && !has(text, TURNED_E) {
        return Undone {
            source,
            seen: plain,
        };
    }
    let mut seen = forward(text);
    if let Some(plain) = plain {
        seen.trace_through(&plain);
    }
    Undone {
        source,
        seen: Some(seen),
    }
}

/// The first of these positions that is between two characters.
fn boundary(text: &str, mut positions: impl Iterator<Item = usize>) -> Option<usize> {
    positions.find(|at| text.is_char_boundary(*at))
}

fn has(text: &str, c: char) -> bool {
    memmem::find(text.as_bytes(), c.encode_utf8(&mut [0; 4]).as_bytes()).is_some()
}

impl Undone<'_> {
    /// What its readers see.
    pub(super) fn text(&self) -> &str {
        self.seen.as_ref().map_or(self.source, |seen| &seen.text)
    }

    /// The same with these steps after it, each of which makes a text from the one before, or leaves it as it is. `None` if all
    /// do.
    pub(super) fn then(&self, steps: &[fn(&str) -> Option<UndoneText>]) -> Option<Self> {
        let mut last: Option<UndoneText> = None;
        for step in steps {
            let before = last.as_ref().or(self.seen.as_ref());
            let Some(mut seen) = step(before.map_or(self.source, |seen| &seen.text)) else {
                continue;
            };
            if let Some(before) = before {
                seen.trace_through(before);
            }
            last = Some(seen);
        }
        last.map(|seen| Self {
            source: self.source,
            seen: Some(seen),
        })
    }

    /// The place in the source, to the nearest characters, of a part of the text: from the letter that ends at `first` to
    /// the one that ends at `last`.
    pub(super) fn source(&self, first: u64, last: u64) -> Place {
        let text = self.text();
        let start = boundary(text, (0..first as usize).rev()).unwrap_or(0) as u64;
        let place = Place { start, end: last };
        let Some(seen) = &self.seen else { return place };
        let last = self.source.len() - 1;
        let [a, b] = [place.start, place.end - 1].map(|at| seen.position(at as usize).min(last));
        let start = boundary(self.source, (0..=a.min(b)).rev()).unwrap_or(0);
        let end = boundary(self.source, a.max(b) + 1..=self.source.len());
        let end = end.unwrap_or(self.source.len());
        Place {
            start: start as u64,
            end: end as u64,
        }
    }
}

/// A text made from another one.
pub(super) struct UndoneText {
    pub(super) text: String,
    /// Positions in this text and in the other, at most one for every [`STEP`] bytes of either.
    anchors: Vec<(usize, usize)>,
}

impl UndoneText {
    pub(super) fn new(length: usize) -> Self {
        Self {
            text: String::with_capacity(length),
            anchors: vec![(0, 0)],
        }
    }

    /// Notes that the next character comes from this position, if the last note does not say so or is too old.
    fn from(&mut self, source: usize) {
        let here = self.text.len();
        let (at, of) = self.anchors[self.anchors.len() - 1];
        let expected = of + (here - at);
        if source != expected && (here >= at + STEP || source.abs_diff(of) >= STEP) {
            self.anchors.push((here, source));
        }
    }

    pub(super) fn push_str(&mut self, part: &str, source: usize) {
        self.from(source);
        self.text.push_str(part);
    }

    /// Makes positions those in the text that its source was made from.
    fn trace_through(&mut self, source: &Self) {
        for (_, at) in &mut self.anchors {
            *at = source.position(*at);
        }
    }

    /// The position in the source.
    fn position(&self, at: usize) -> usize {
        let next = self.anchors.partition_point(|(here, _)| *here <= at);
        let (here, source) = self.anchors[next.saturating_sub(1)];
        source + (at - here)
    }
}

// ----------------------------------------------------------------------------------------------- markup -------------

fn has_markup(text: &str) -> bool {
    memchr2_iter(b'<', b'&', text.as_bytes())
        .any(|at| tag(text, at).is_some() || reference(text, at).is_some())
}

/// The text without tags, and with the characters that are referred to.
fn without_markup(text: &str) -> UndoneText {
    let mut plain = UndoneText::new(text.len());
    let mut copied = 0;
    for at in memchr2_iter(b'<', b'&', text.as_bytes()) {
        if at < copied {
            continue;
        }
        let (end, c) = match (tag(text, at), reference(text, at)) {
            (Some(end), _) => (end, None),
            (_, Some((end, c))) => (end, Some(c)),
            _ => continue,
        };
        plain.push_str(&text[copied..at], copied);
        if let Some(c) = c {
            plain.push_str(c.encode_utf8(&mut [0; 4]), at);
        }
        copied = end;
    }
    plain.push_str(&text[copied..], copied);
    plain
}

/// The end of the tag that begins here.
pub(crate) fn tag(text: &str, at: usize) -> Option<usize> {
    let bytes = &text.as_bytes()[at..];
    let bytes = &bytes[..bytes.len().min(LONGEST_TAG)];
    let begins = match bytes {
        [b'<', b'/', c, ..] => c.is_ascii_alphabetic(),
        [b'<', c, ..] => c.is_ascii_alphabetic() || matches!(c, b'!' | b'?'),
        _ => false,
    };
    let end = 1 + memchr(b'>', bytes.get(1..)?)?;
    (begins && memchr(b'<', &bytes[1..end]).is_none()).then_some(at + end + 1)
}

/// The end of the character reference that begins here, and the character, or one that reads like it.
pub(crate) fn reference(text: &str, at: usize) -> Option<(usize, char)> {
    let rest = text.as_bytes()[at..].strip_prefix(b"&")?;
    // `&amp;` may stand for the first character of a reference.
    let escaped = rest
        .strip_prefix(b"amp;")
        .filter(|rest| rest.starts_with(b"#"))
        .unwrap_or(rest);
    let length = memchr(b';', &escaped[..escaped.len().min(LONGEST_REFERENCE)])?;
    let name = std::str::from_utf8(&escaped[..length]).ok()?;
    let end = at + 1 + (rest.len() - escaped.len()) + length + 1;
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return Some((end, char::from_u32(code.ok()?)?));
    }
    Some((end, named(name)?))
}

/// The character of a named reference of HTML. Accents make no difference, nor which mark stands between words.
fn named(name: &str) -> Option<char> {
    const ACCENTS: [&str; 9] = [
        "acute", "grave", "circ", "uml", "tilde", "cedil", "ring", "caron", "slash",
    ];
    const MARKS: [&str; 18] = [
        "amp", "lt", "gt", "quot", "nbsp", "mdash", "ndash", "hellip", "laquo", "raquo", "lsquo",
        "rsquo", "ldquo", "rdquo", "bdquo", "ensp", "emsp", "thinsp",
    ];
    const OTHERS: [(&str, char); 10] = [
        ("shy", '\u{ad}'),
        ("zwj", '\u{200d}'),
        ("zwnj", '\u{200c}'),
        ("apos", '\''),
        ("szlig", 'ß'),
        ("aelig", 'æ'),
        ("AElig", 'Æ'),
        ("oelig", 'œ'),
        ("OElig", 'Œ'),
        ("eth", 'ð'),
    ];
    if MARKS.contains(&name) {
        return Some(' ');
    }
    if let Some((_, character)) = OTHERS.iter().find(|(of, _)| *of == name) {
        return Some(*character);
    }
    let letter = name.chars().next().filter(char::is_ascii_alphabetic)?;
    ACCENTS.contains(&&name[1..]).then_some(letter)
}

// -------------------------------------------------------------------------------------------- direction -------------

/// The text with all letters in the order in which they are read.
fn forward(text: &str) -> UndoneText {
    let backwards = is_backwards(text);
    let mut read = UndoneText::new(text.len());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if backwards && line.contains(is_turned) {
            push_backwards(&mut read, text, start..start + line.len());
        } else {
            without_overrides(&mut read, text, start..start + line.len());
        }
        start += line.len();
    }
    read
}

/// Adds a line with the letters under overrides in reverse.
fn without_overrides(read: &mut UndoneText, text: &str, line: Range<usize>) {
    let mut at = line.start;
    while let Some(found) = text[at..line.end].find(OVERRIDE) {
        let first = at + found + OVERRIDE.len_utf8();
        let end = text[first..line.end]
            .find(ENDS)
            .map_or(line.end, |length| first + length);
        read.push_str(&text[at..first], at);
        push_backwards(read, text, first..end);
        at = end;
    }
    read.push_str(&text[at..line.end], at);
}

fn push_backwards(read: &mut UndoneText, text: &str, part: Range<usize>) {
    for (at, c) in text[part.clone()].char_indices().rev() {
        read.from(part.start + at);
        read.text.push(c);
    }
}

/// A letter that is turned for certain.
fn is_turned(c: char) -> bool {
    matches!(
        c,
        'ǝ' | 'ɐ' | 'ɟ' | 'ɥ' | 'ᴉ' | 'ʞ' | 'ɯ' | 'ɹ' | 'ʇ' | 'ʍ' | 'ʎ'
    )
}

/// Whether the turned words of a text stand in reverse order, as they do if the page was turned: more of their
/// punctuation marks stand before a letter, behind a blank, than the other way round.
fn is_backwards(text: &str) -> bool {
    let mut balance = 0_i64;
    let (mut before_last, mut last) = (' ', ' ');
    let mut turned = false;
    for c in text.chars() {
        if matches!(
            last,
            '.' | ',' | '˙' | '\'' | '‘' | '؛' | ';' | '⸵' | '¡' | '!' | '¿' | '?'
        ) && turned
        {
            if before_last.is_whitespace() && c.is_alphabetic() {
                balance += 1;
            } else if before_last.is_alphabetic() && c.is_whitespace() {
                balance -= 1;
            }
        }
        // The turned letters of the last words tell which words are.
        turned = if c.is_alphabetic() {
            turned || is_turned(c)
        } else {
            turned && c != '\n'
        };
        (before_last, last) = (last, c);
    }
    balance > 0
}
