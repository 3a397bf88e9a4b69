//! The values of CSS properties, as far as they can hide text.

use cssparser::{Delimiters, ParseError, Parser, Token};

/// The size of letters without any style, and of a viewport, in pixels.
pub(super) const USUAL_SIZE: f32 = 16.0;
pub(super) const WIDTH: f32 = 1_280.0;
pub(super) const HEIGHT: f32 = 800.0;
/// How deep functions are read.
const DEPTH: usize = 8;

/// A part of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// In lower case.
    Ident(String),
    Number(f32),
    /// 1 is 100 %.
    Percent(f32),
    Length(Length),
    /// In degrees.
    Angle(f32),
    /// In dots per pixel.
    Resolution(f32),
    Hash(String),
    Function(String, Vec<Word>),
    Delim(char),
    Text,
    Other,
}

/// The parts of a value, and whether it is important.
pub(super) fn words(value: &str) -> (Vec<Word>, bool) {
    let mut all = read(&mut Parser::new(value), DEPTH);
    let is_important =
        matches!(all.as_slice(), [.., Word::Delim('!'), Word::Ident(last)] if last == "important");
    if is_important {
        all.truncate(all.len() - 2);
    }
    (all, is_important)
}

fn read(parser: &mut Parser<'_>, depth: usize) -> Vec<Word> {
    let mut all = Vec::new();
    while let Ok(token) = parser.next() {
        let word = match token {
            Token::Ident(name) => Word::Ident(name.to_ascii_lowercase()),
            Token::Number { value, .. } => Word::Number(*value),
            Token::Percentage { unit_value, .. } => Word::Percent(*unit_value),
            Token::Dimension { value, unit, .. } => dimension(*value, unit),
            Token::Hash(digits) | Token::IDHash(digits) => Word::Hash(digits.to_string()),
            Token::Comma => Word::Delim(','),
            Token::Colon => Word::Delim(':'),
            Token::Delim(char) => Word::Delim(*char),
            Token::QuotedString(_) => Word::Text,
            Token::UnquotedUrl(_) => Word::Function("url".to_owned(), Vec::new()),
            Token::Function(name) => {
                let name = name.to_ascii_lowercase();
                in_block(parser, |inner| function(name, inner, depth)).unwrap_or(Word::Other)
            }
            _ => Word::Other,
        };
        all.push(word);
    }
    all
}

/// Reads the block that begins here, and all that is left of it.
pub(super) fn in_block<'i, T>(
    parser: &mut Parser<'i>,
    read: impl FnOnce(&mut Parser<'i>) -> T,
) -> Option<T> {
    let found = parser.parse_nested_block(|inner| {
        let found = read(inner);
        rest(inner);
        Ok::<_, ParseError<()>>(found)
    });
    found.ok()
}

/// Reads all that is left.
pub(super) fn rest<'i>(parser: &mut Parser<'i>) -> &'i str {
    let from = parser.position();
    while parser.next().is_ok() {}
    parser.slice_from(from)
}

pub(super) fn skip_to(parser: &mut Parser<'_>, until: Delimiters) {
    let _ = parser.parse_until_before(until, |inner| {
        rest(inner);
        Ok::<_, ParseError<()>>(())
    });
}

fn function(name: String, parser: &mut Parser<'_>, depth: usize) -> Word {
    let start = parser.state();
    if let Some(result) = calculation(&name, parser) {
        return result;
    }
    parser.reset(&start);
    let inner = if depth > 0 {
        read(parser, depth - 1)
    } else {
        Vec::new()
    };
    Word::Function(name, inner)
}

/// Units of length, in pixels, and others in sizes of letters.
const PIXELS: &[(&str, f32)] = &[
    ("px", 1.0),
    ("pt", 4.0 / 3.0),
    ("pc", 16.0),
    ("in", 96.0),
    ("cm", 37.8),
    ("mm", 3.78),
    ("q", 0.945),
    ("rem", USUAL_SIZE),
    ("rlh", 1.2 * USUAL_SIZE),
    ("rex", 0.5 * USUAL_SIZE),
    ("rch", 0.5 * USUAL_SIZE),
];
const EMS: &[(&str, f32)] = &[
    ("em", 1.0),
    ("ic", 1.0),
    ("ex", 0.5),
    ("ch", 0.5),
    ("cap", 0.5),
    ("lh", 1.2),
];
/// The ends of units of a viewport or a container, in pixels.
const OF_VIEWPORT: &[(&[&str], f32)] = &[
    (&["vw", "vi", "vmax", "cqw", "cqi", "cqmax"], WIDTH / 100.0),
    (&["vh", "vb", "vmin", "cqh", "cqb", "cqmin"], HEIGHT / 100.0),
];
/// Units of angles in degrees, and of resolutions in dots per pixel.
const DEGREES: &[(&str, f32)] = &[
    ("deg", 1.0),
    ("turn", 360.0),
    ("rad", 180.0 / std::f32::consts::PI),
    ("grad", 0.9),
];
const DOTS: &[(&str, f32)] = &[
    ("dppx", 1.0),
    ("x", 1.0),
    ("dpi", 1.0 / 96.0),
    ("dpcm", 1.0 / 37.8),
];

fn dimension(number: f32, unit: &str) -> Word {
    let unit = unit.to_ascii_lowercase();
    if let Some(factor) = factor(PIXELS, &unit).or_else(|| factor_of_viewport(&unit)) {
        Word::Length(Length::of_pixels(number * factor))
    } else if let Some(factor) = factor(EMS, &unit) {
        Word::Length(Length::of_em(number * factor))
    } else if let Some(factor) = factor(DEGREES, &unit) {
        Word::Angle(number * factor)
    } else if let Some(factor) = factor(DOTS, &unit) {
        Word::Resolution(number * factor)
    } else {
        Word::Other
    }
}

fn factor(units: &[(&str, f32)], unit: &str) -> Option<f32> {
    units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor)
}

fn factor_of_viewport(unit: &str) -> Option<f32> {
    OF_VIEWPORT
        .iter()
        .find(|(ends, _)| ends.iter().any(|end| unit.ends_with(end)))
        .map(|(_, factor)| *factor)
}

/// The result of `calc(…)`, `min(…)`, `max(…)` or `clamp(…)`.
fn calculation(name: &str, parser: &mut Parser<'_>) -> Option<Word> {
    if !matches!(name, "calc" | "-webkit-calc" | "min" | "max" | "clamp") {
        return None;
    }
    let arguments = parser
        .parse_comma_separated(|one| sum(one).ok_or_else(|| one.new_error_for_next_token::<()>()));
    let mut arguments = arguments.ok()?.into_iter();
    match name {
        "min" => arguments.reduce(smaller),
        "max" => arguments.reduce(larger),
        "clamp" => {
            let (least, usual, most) = (arguments.next()?, arguments.next()?, arguments.next()?);
            Some(larger(least, smaller(usual, most)))
        }
        _ => arguments.next(),
    }
}

fn magnitude(word: &Word) -> f32 {
    match word {
        Word::Number(number) | Word::Angle(number) => *number,
        word => Length::of(word).map_or(0.0, |length| length.pixels(USUAL_SIZE)),
    }
}

fn smaller(a: Word, b: Word) -> Word {
    if magnitude(&b) < magnitude(&a) { b } else { a }
}

fn larger(a: Word, b: Word) -> Word {
    if magnitude(&b) > magnitude(&a) { b } else { a }
}

fn sum(parser: &mut Parser<'_>) -> Option<Word> {
    let mut all = product(parser)?;
    loop {
        let sign = match parser.next() {
            Err(_) => return Some(all),
            Ok(Token::Delim('+')) => 1.0,
            Ok(Token::Delim('-')) => -1.0,
            Ok(_) => return None,
        };
        all = added(&all, &times(&product(parser)?, sign))?;
    }
}

fn product(parser: &mut Parser<'_>) -> Option<Word> {
    let mut all = operand(parser)?;
    loop {
        let start = parser.state();
        match parser.next() {
            Ok(Token::Delim('*')) => {
                all = match (all, operand(parser)?) {
                    (Word::Number(factor), other) | (other, Word::Number(factor)) => {
                        times(&other, factor)
                    }
                    _ => return None,
                };
            }
            Ok(Token::Delim('/')) => {
                let Word::Number(divisor) = operand(parser)? else {
                    return None;
                };
                all = times(&all, 1.0 / divisor);
            }
            _ => {
                parser.reset(&start);
                return Some(all);
            }
        }
    }
}

fn operand(parser: &mut Parser<'_>) -> Option<Word> {
    match parser.next().ok()? {
        Token::Number { value, .. } => Some(Word::Number(*value)),
        Token::Percentage { unit_value, .. } => Some(Word::Percent(*unit_value)),
        Token::Dimension { value, unit, .. } => Some(dimension(*value, unit)),
        Token::ParenthesisBlock => in_block(parser, sum)?,
        Token::Function(name) => {
            let name = name.to_ascii_lowercase();
            in_block(parser, |inner| calculation(&name, inner))?
        }
        _ => None,
    }
}

fn times(word: &Word, factor: f32) -> Word {
    match word {
        Word::Number(number) => Word::Number(number * factor),
        Word::Percent(share) => Word::Percent(share * factor),
        Word::Angle(angle) => Word::Angle(angle * factor),
        Word::Length(Length { pixels, em, share }) => Word::Length(Length {
            pixels: pixels * factor,
            em: em * factor,
            share: share * factor,
        }),
        _ => Word::Other,
    }
}

fn added(one: &Word, other: &Word) -> Option<Word> {
    Some(match (one, other) {
        (Word::Number(a), Word::Number(b)) => Word::Number(a + b),
        (Word::Angle(a), Word::Angle(b)) => Word::Angle(a + b),
        (Word::Percent(a), Word::Percent(b)) => Word::Percent(a + b),
        (Word::Number(_), _) | (_, Word::Number(_)) => return None,
        (a, b) => {
            let (a, b) = (Length::of(a)?, Length::of(b)?);
            Word::Length(Length {
                pixels: a.pixels + b.pixels,
                em: a.em + b.em,
                share: a.share + b.share,
            })
        }
    })
}

/// A length: the sum of pixels, of some times the size of letters, and of a share of the box around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Length {
    pixels: f32,
    em: f32,
    share: f32,
}

impl Length {
    pub(super) const ZERO: Self = Self::of_pixels(0.0);

    pub(super) const fn of_pixels(pixels: f32) -> Self {
        Self {
            pixels,
            em: 0.0,
            share: 0.0,
        }
    }

    /// So many times the size of letters.
    pub(super) const fn of_em(em: f32) -> Self {
        Self {
            pixels: 0.0,
            em,
            share: 0.0,
        }
    }

    /// The length that a word stands for. Only zero needs no unit.
    pub(super) fn of(word: &Word) -> Option<Self> {
        Some(match word {
            Word::Number(0.0) => Self::ZERO,
            Word::Percent(share) => Self {
                share: *share,
                ..Self::ZERO
            },
            Word::Length(length) => *length,
            _ => return None,
        })
    }

    /// In pixels, at this size of letters, in a box as wide as a page.
    pub(super) fn pixels(self, size: f32) -> f32 {
        self.pixels + self.em * size + self.share * WIDTH
    }

    /// The size of letters, within letters of this size.
    pub(super) fn size(self, around: f32) -> f32 {
        self.pixels + (self.em + self.share) * around
    }

    /// Without the share of a box whose size is not known.
    pub(super) fn without_share(self) -> Self {
        Self { share: 0.0, ..self }
    }

    pub(super) fn share(self) -> f32 {
        self.share
    }

    /// Whether it depends on nothing.
    pub(super) fn is_absolute(self) -> bool {
        self.em == 0.0 && self.share == 0.0
    }
}

/// The size of letters that a word stands for.
pub(super) fn size_of(word: &Word) -> Option<Length> {
    let Word::Ident(name) = word else {
        return Length::of(word).filter(|length| length.size(USUAL_SIZE) >= 0.0);
    };
    Some(match name.as_str() {
        "xx-small" => Length::of_pixels(9.0),
        "x-small" => Length::of_pixels(10.0),
        "small" => Length::of_pixels(13.0),
        "medium" => Length::of_pixels(USUAL_SIZE),
        "large" => Length::of_pixels(18.0),
        "x-large" => Length::of_pixels(24.0),
        "xx-large" => Length::of_pixels(32.0),
        "xxx-large" => Length::of_pixels(48.0),
        "smaller" => Length::of_em(0.83),
        "larger" => Length::of_em(1.2),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Length, Word, size_of, words};

    #[test]
    fn sizes() {
        let size = |value: &str| {
            words(value)
                .0
                .first()
                .and_then(size_of)
                .map(|length| length.size(20.0))
        };
        for (value, expected) in [
            ("0", Some(0.0)),
            ("3pt", Some(4.0)),
            ("0.5em", Some(10.0)),
            ("50%", Some(10.0)),
            ("calc(1px)", Some(1.0)),
            ("calc(1px*0)", Some(0.0)),
            ("calc(2 * (1em - 5px) / 3)", Some(10.0)),
            ("max(1px, min(3px, 2em), 2px)", Some(3.0)),
            ("clamp(0px, 1em, calc(0px))", Some(0.0)),
            ("calc(1px + 1)", None),
            ("small", Some(13.0)),
            ("-1px", None),
            ("12", None),
            ("inherit", None),
        ] {
            assert_eq!(size(value), expected, "{value}");
        }
        assert_eq!(
            Length::of(&Word::Percent(-1.0)).map(|length| length.pixels(16.0)),
            Some(-1_280.0)
        );
    }
}
