//! The values of CSS properties, as far as they can hide text.

use cssparser::{ParseError, Parser, Token};

use super::super::colour::Colour;

/// The size of letters without any style, and of a viewport, in pixels.
pub(super) const USUAL_SIZE: f32 = 16.0;
const VIEWPORT: f32 = 1_280.0;
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
    Length(f32, String),
    Hash(String),
    Function(String, Vec<Word>),
    Comma,
    Slash,
    Other,
}

/// The parts of a value, and whether it is important.
pub(super) fn words(value: &str) -> (Vec<Word>, bool) {
    let mut parser = Parser::new(value);
    let mut all = read(&mut parser, DEPTH);
    let is_important = matches!(all.as_slice(), [.., Word::Other, Word::Ident(last)] if last == "important");
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
            Token::Dimension { value, unit, .. } => Word::Length(*value, unit.to_ascii_lowercase()),
            Token::Hash(digits) | Token::IDHash(digits) => Word::Hash(digits.to_string()),
            Token::Comma => Word::Comma,
            Token::Delim('/') => Word::Slash,
            Token::UnquotedUrl(_) => Word::Function("url".to_owned(), Vec::new()),
            Token::Function(name) => {
                let name = name.to_ascii_lowercase();
                let inner = parser.parse_nested_block(|inner| {
                    let words = if depth > 0 { read(inner, depth - 1) } else { Vec::new() };
                    while inner.next().is_ok() {}
                    Ok::<_, ParseError<()>>(words)
                });
                Word::Function(name, inner.unwrap_or_default())
            }
            _ => Word::Other,
        };
        all.push(word);
    }
    all
}

/// A length, of which some are relative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Length {
    Pixels(f32),
    /// Times the size of letters.
    Em(f32),
    /// Times the size of the box around it.
    Percent(f32),
}

impl Length {
    pub(super) fn of(word: &Word) -> Option<Self> {
        Some(match word {
            // Only zero may have no unit; browsers allow others in old pages.
            Word::Number(number) => Self::Pixels(*number),
            Word::Percent(share) => Self::Percent(*share),
            Word::Length(number, unit) => match unit.as_str() {
                "em" => Self::Em(*number),
                "ex" | "ch" => Self::Em(number / 2.0),
                "rem" => Self::Pixels(number * USUAL_SIZE),
                "px" => Self::Pixels(*number),
                "pt" => Self::Pixels(number * 4.0 / 3.0),
                "pc" => Self::Pixels(number * 16.0),
                "in" => Self::Pixels(number * 96.0),
                "cm" => Self::Pixels(number * 37.8),
                "mm" => Self::Pixels(number * 3.78),
                "q" => Self::Pixels(number * 0.945),
                unit if unit.ends_with("vw") || unit.ends_with("vh") || unit.starts_with("vm") => {
                    Self::Pixels(number * VIEWPORT / 100.0)
                }
                _ => return None,
            },
            Word::Function(name, inner) if name == "calc" => match inner.as_slice() {
                [one] => Self::of(one)?,
                _ => return None,
            },
            _ => return None,
        })
    }

    /// In pixels, at this size of letters, in a box as wide as a page.
    pub(super) fn pixels(self, size: f32) -> f32 {
        match self {
            Self::Pixels(pixels) => pixels,
            Self::Em(times) => times * size,
            Self::Percent(share) => share * VIEWPORT,
        }
    }

    /// The size of letters, within letters of this size.
    pub(super) fn size(self, around: f32) -> f32 {
        match self {
            Self::Percent(share) => share * around,
            length => length.pixels(around),
        }
    }
}

/// The size of letters that a word stands for.
pub(super) fn size_of(word: &Word) -> Option<Length> {
    let Word::Ident(name) = word else { return Length::of(word) };
    Some(match name.as_str() {
        "xx-small" => Length::Pixels(9.0),
        "x-small" => Length::Pixels(10.0),
        "small" => Length::Pixels(13.0),
        "medium" | "initial" => Length::Pixels(USUAL_SIZE),
        "large" | "x-large" | "xx-large" | "xxx-large" => Length::Pixels(20.0),
        "smaller" => Length::Em(0.83),
        "larger" => Length::Em(1.2),
        _ => return None,
    })
}

/// What letters or a background are painted with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Paint {
    Colour(Colour),
    Transparent,
    /// The colour of the letters.
    Current,
    /// A picture, a gradient or a colour that is not known.
    Unknown,
}

impl Paint {
    /// The paint that these words stand for, if they name any.
    pub(super) fn of(words: &[Word]) -> Option<Self> {
        let found: Vec<Self> = words.iter().filter_map(Self::of_word).collect();
        // A picture is in front of a colour.
        found.iter().copied().find(|paint| *paint == Self::Unknown).or(found.first().copied())
    }

    fn of_word(word: &Word) -> Option<Self> {
        match word {
            Word::Ident(name) if name == "transparent" => Some(Self::Transparent),
            Word::Ident(name) if name == "currentcolor" => Some(Self::Current),
            Word::Ident(name) => {
                let (red, green, blue) = cssparser::color::parse_named_color(name).ok()?;
                Some(Self::Colour(Colour { red, green, blue }))
            }
            Word::Hash(digits) => {
                let (red, green, blue, alpha) = cssparser::color::parse_hash_color(digits.as_bytes()).ok()?;
                Some(Self::with_opacity(Colour { red, green, blue }, alpha))
            }
            Word::Function(name, inner) => match name.as_str() {
                "rgb" | "rgba" => Some(Self::of_parts(inner, rgb)),
                "hsl" | "hsla" => Some(Self::of_parts(inner, hsl)),
                _ => Some(Self::Unknown),
            },
            _ => None,
        }
    }

    fn with_opacity(colour: Colour, alpha: f32) -> Self {
        if alpha < super::FAINTEST { Self::Transparent } else { Self::Colour(colour) }
    }

    fn of_parts(words: &[Word], colour: fn([f32; 3]) -> Colour) -> Self {
        let numbers: Vec<(f32, bool)> = words
            .iter()
            .filter_map(|word| match word {
                Word::Number(number) => Some((*number, false)),
                Word::Percent(share) => Some((*share, true)),
                Word::Length(number, unit) if unit == "deg" => Some((*number, false)),
                Word::Length(number, unit) if unit == "turn" => Some((number * 360.0, false)),
                _ => None,
            })
            .collect();
        let [a, b, c, rest @ ..] = numbers.as_slice() else { return Self::Unknown };
        let part = |(number, is_share): (f32, bool)| if is_share { number * 255.0 } else { number };
        let alpha = rest.first().map_or(1.0, |(number, _)| *number);
        Self::with_opacity(colour([part(*a), part(*b), part(*c)]), alpha)
    }
}

fn rgb([red, green, blue]: [f32; 3]) -> Colour {
    let part = |number: f32| number.round().clamp(0.0, 255.0) as u8;
    Colour { red: part(red), green: part(green), blue: part(blue) }
}

/// Saturation and lightness come as parts of 255.
fn hsl([hue, saturation, lightness]: [f32; 3]) -> Colour {
    let (saturation, lightness) = ((saturation / 255.0).clamp(0.0, 1.0), (lightness / 255.0).clamp(0.0, 1.0));
    let part = |n: f32| {
        let k = (n + hue / 30.0).rem_euclid(12.0);
        let amount = saturation * lightness.min(1.0 - lightness);
        255.0 * (lightness - amount * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0))
    };
    rgb([part(0.0), part(8.0), part(4.0)])
}

#[cfg(test)]
mod tests {
    use super::{Colour, Length, Paint, Word, size_of, words};

    #[test]
    fn paints() {
        let paint = |value: &str| Paint::of(&words(value).0);
        let colour = |hex| Some(Paint::Colour(Colour::of_hex(hex).expect("a colour")));
        for (value, expected) in [
            ("white", colour("ffffff")),
            ("White !important", colour("ffffff")),
            ("#fff", colour("ffffff")),
            ("#FFFFFF", colour("ffffff")),
            ("rgb(255, 255, 255)", colour("ffffff")),
            ("rgb(100% 100% 100%)", colour("ffffff")),
            ("rgb(1 2 3 / 100%)", colour("010203")),
            ("hsl(0, 0%, 100%)", colour("ffffff")),
            ("hsl(120deg 100% 50%)", colour("00ff00")),
            ("transparent", Some(Paint::Transparent)),
            ("rgba(0,0,0,0.01)", Some(Paint::Transparent)),
            ("#0000", Some(Paint::Transparent)),
            ("currentColor", Some(Paint::Current)),
            ("no-repeat url(a.png) white", Some(Paint::Unknown)),
            ("var(--a)", Some(Paint::Unknown)),
            ("none", None),
        ] {
            assert_eq!(paint(value), expected, "{value}");
        }
    }

    #[test]
    fn sizes() {
        let size = |value: &str| words(value).0.first().and_then(size_of).map(|length| length.size(20.0));
        for (value, expected) in [
            ("0", Some(0.0)),
            ("3pt", Some(4.0)),
            ("0.5em", Some(10.0)),
            ("50%", Some(10.0)),
            ("calc(1px)", Some(1.0)),
            ("small", Some(13.0)),
            ("inherit", None),
        ] {
            assert_eq!(size(value), expected, "{value}");
        }
        assert_eq!(Length::of(&Word::Percent(-1.0)).map(|length| length.pixels(16.0)), Some(-1_280.0));
    }
}
