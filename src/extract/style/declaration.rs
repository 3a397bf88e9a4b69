//! CSS declarations that can hide text.

use super::value::{Length, Paint, Word, size_of, words};

/// A property that can hide text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    Display,
    Float,
    Visibility,
    ContentVisibility,
    Opacity,
    FontSize,
    Colour,
    /// What letters are filled with, instead of their colour.
    Fill,
    Background,
    Clip,
    ClipPath,
    Transform,
    Position,
    Left,
    Right,
    Top,
    MarginLeft,
    Indent,
    Width,
    Height,
    MaxWidth,
    MaxHeight,
    Overflow,
}

/// How many properties there are.
pub(super) const PROPERTIES: usize = Property::Overflow as usize + 1;

/// What a property is set to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Setting {
    /// Its usual value, or that of the element around it.
    Usual,
    Display(Display),
    /// Whether it hides, out of itself: `visibility: hidden`, `clip-path: inset(50%)`.
    Hides(bool),
    Opacity(f32),
    Size(Length),
    Paint(Paint),
    Length(Length),
    /// Whether the box leaves the flow of the text.
    Floats(bool),
    Position(Position),
}

/// How a box is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Display {
    None,
    Inline,
    Block,
}

/// How a box is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Static,
    Relative,
    /// Out of the flow of the text.
    Absolute,
}

/// A declaration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Declaration {
    pub(super) property: Property,
    pub(super) setting: Setting,
    pub(super) is_important: bool,
}

/// What a declaration says, as far as it can hide text.
pub(super) fn declarations(name: &str, value: &str) -> Vec<Declaration> {
    let Some(property) = property(&name.to_ascii_lowercase()) else { return Vec::new() };
    let (words, is_important) = words(value);
    let setting = if is_usual(&words) { Some(Setting::Usual) } else { setting(property, &words) };
    setting.map(|setting| Declaration { property, setting, is_important }).into_iter().collect()
}

fn property(name: &str) -> Option<Property> {
    Some(match name {
        "display" => Property::Display,
        "float" => Property::Float,
        "visibility" => Property::Visibility,
        "content-visibility" => Property::ContentVisibility,
        "opacity" => Property::Opacity,
        "font-size" | "font" => Property::FontSize,
        "color" => Property::Colour,
        "-webkit-text-fill-color" => Property::Fill,
        "background" | "background-color" | "background-image" => Property::Background,
        "clip" => Property::Clip,
        "clip-path" | "-webkit-clip-path" => Property::ClipPath,
        "transform" | "-webkit-transform" | "scale" | "translate" => Property::Transform,
        "position" => Property::Position,
        "left" | "inset-inline-start" => Property::Left,
        "right" => Property::Right,
        "top" => Property::Top,
        "margin-left" => Property::MarginLeft,
        "text-indent" => Property::Indent,
        "width" => Property::Width,
        "height" => Property::Height,
        "max-width" => Property::MaxWidth,
        "max-height" => Property::MaxHeight,
        "overflow" | "overflow-x" | "overflow-y" => Property::Overflow,
        _ => return None,
    })
}

fn is_usual(words: &[Word]) -> bool {
    matches!(words, [Word::Ident(word)] if matches!(word.as_str(), "inherit" | "initial" | "unset" | "revert" | "revert-layer"))
}

fn setting(property: Property, words: &[Word]) -> Option<Setting> {
    let first = words.first()?;
    let name = match first {
        Word::Ident(name) | Word::Function(name, _) => name.as_str(),
        _ => "",
    };
    Some(match property {
        Property::Display => Setting::Display(match name {
            "none" => Display::None,
            "inline" | "contents" | "ruby" | "ruby-text" => Display::Inline,
            _ => Display::Block,
        }),
        Property::Float => Setting::Floats(name != "none"),
        Property::Visibility => Setting::Hides(matches!(name, "hidden" | "collapse")),
        Property::ContentVisibility => Setting::Hides(name == "hidden"),
        Property::Overflow => Setting::Hides(matches!(name, "hidden" | "clip")),
        Property::Opacity => Setting::Opacity(match first {
            Word::Number(number) | Word::Percent(number) => *number,
            _ => return None,
        }),
        // The size is the first length of `font`, before a slash.
        Property::FontSize => Setting::Size(words.iter().find_map(font_size)?),
        Property::Colour | Property::Fill => Setting::Paint(Paint::of(words)?),
        Property::Background => match Paint::of(words) {
            Some(paint) => Setting::Paint(paint),
            None if name == "none" => Setting::Usual,
            None => return None,
        },
        Property::Clip => Setting::Hides(name == "rect" && is_nothing(first)),
        Property::ClipPath => Setting::Hides(clips_all(first)),
        Property::Transform => Setting::Hides(words.iter().any(moves_away)),
        Property::Position => Setting::Position(match name {
            "absolute" | "fixed" => Position::Absolute,
            "relative" | "sticky" => Position::Relative,
            _ => Position::Static,
        }),
        Property::Left
        | Property::Right
        | Property::Top
        | Property::MarginLeft
        | Property::Indent
        | Property::Width
        | Property::Height
        | Property::MaxWidth
        | Property::MaxHeight => match Length::of(first) {
            Some(length) => Setting::Length(length),
            None => Setting::Usual,
        },
    })
}

fn font_size(word: &Word) -> Option<Length> {
    // A number without a unit is a weight, unless it is zero.
    match word {
        Word::Number(number) if *number != 0.0 => None,
        word => size_of(word),
    }
}

/// Whether `rect(…)` has no area, or hardly any.
fn is_nothing(word: &Word) -> bool {
    let Word::Function(_, inner) = word else { return false };
    let sides: Vec<f32> = inner.iter().filter_map(Length::of).map(|length| length.pixels(16.0)).collect();
    let [top, right, bottom, left] = sides[..] else { return false };
    right - left < 2.0 || bottom - top < 2.0
}

/// Whether a shape leaves nothing to see.
fn clips_all(word: &Word) -> bool {
    let Word::Function(name, inner) = word else { return false };
    let share = |word: &Word| match word {
        Word::Percent(share) => Some(*share),
        _ => None,
    };
    match name.as_str() {
        "inset" => inner.first().and_then(share).is_some_and(|share| share >= 0.5),
        "circle" | "ellipse" => inner.first().and_then(Length::of).is_some_and(|length| length.pixels(16.0) < 1.0),
        "polygon" => {
            let mut numbers = inner.iter().filter_map(Length::of).map(|length| length.pixels(16.0));
            numbers.all(|number| number == 0.0)
        }
        "rect" => is_nothing(word),
        _ => false,
    }
}

/// Whether a transformation shrinks a box to nothing, or moves it off the screen.
fn moves_away(word: &Word) -> bool {
    let Word::Function(name, inner) = word else { return false };
    let numbers = || {
        inner.iter().filter_map(|word| match word {
            Word::Number(number) | Word::Percent(number) => Some(*number),
            _ => None,
        })
    };
    let is_small = |number: f32| number.abs() < 0.05;
    match name.as_str() {
        "scale" | "scalex" | "scaley" => numbers().any(is_small),
        "scale3d" => numbers().take(2).any(is_small),
        "matrix" => matches!(numbers().collect::<Vec<_>>()[..], [a, b, c, d, ..] if is_small(a * d - b * c)),
        "translate" | "translatex" | "translatey" | "translate3d" => {
            inner.iter().filter_map(Length::of).any(|length| is_far(length.pixels(16.0)))
        }
        "rotatex" | "rotatey" => inner.iter().any(
            |word| matches!(word, Word::Length(turn, unit) if unit == "deg" && (turn.abs() % 180.0 - 90.0).abs() < 1.0),
        ),
        _ => false,
    }
}

/// Whether something that is moved by so many pixels is off the screen.
pub(super) fn is_far(pixels: f32) -> bool {
    !(-500.0..=5_000.0).contains(&pixels)
}

impl Declaration {
    /// Whether it may hide text. Sizes and colours depend on others: these are judged together.
    pub(super) fn may_hide(&self) -> bool {
        match (self.property, self.setting) {
            (_, Setting::Display(display)) => display == Display::None,
            (Property::Overflow, Setting::Hides(_)) => false,
            (_, Setting::Hides(hides)) => hides,
            (_, Setting::Opacity(opacity)) => opacity < 0.8,
            (
                Property::Left | Property::Right | Property::Top | Property::MarginLeft | Property::Indent,
                Setting::Length(length),
            ) => {
                is_far(length.pixels(super::value::USUAL_SIZE))
                    || matches!(length, Length::Percent(share) if share < 0.0)
            }
            (_, Setting::Length(length)) => length.pixels(super::value::USUAL_SIZE) < super::SMALLEST_BOX,
            (_, Setting::Paint(paint)) => self.property != Property::Background && paint == Paint::Transparent,
            _ => false,
        }
    }
}
