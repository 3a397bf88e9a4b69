//! CSS declarations that can hide text. One that a browser would not understand counts for nothing.

use super::paint::Paint;
use super::property::{Property, declared};
use super::setting::{CssValue, Display, Setting};
use super::shape::is_far;
use super::value::{HEIGHT, Length, USUAL_SIZE, Word, words};

/// A declaration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declaration {
    pub(super) says: Says,
    pub(super) is_important: bool,
}

/// What a declaration says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Says {
    Set(Property, Setting),
    /// A variable, and its value.
    Variable(String, String),
    /// A property, and a value with variables in it.
    Later(String, String),
}

/// What a declaration says, as far as it can hide text. `is_quirky`: whether lengths need no unit, as in old pages.
pub(super) fn declarations(name: &str, value: &str, is_quirky: bool) -> Vec<Declaration> {
    if name.starts_with("--") {
        return vec![variable(name, value)];
    }
    let name = name.to_ascii_lowercase();
    let Some((properties, syntax)) = declared(&name) else {
        return Vec::new();
    };
    let (words, is_important) = words(value);
    if has_variable(&words) {
        let value = if is_important {
            value.rsplit_once('!').map_or(value, |(value, _)| value)
        } else {
            value
        };
        return vec![Declaration {
            says: Says::Later(name, value.to_owned()),
            is_important,
        }];
    }
    let settings: Vec<Setting> = match words.as_slice() {
        [Word::Ident(word)] if is_wide(word) => properties
            .iter()
            .map(|property| wide(*property, word))
            .collect(),
        words => {
            let value = CssValue { words, is_quirky };
            value.settings(syntax).unwrap_or_default()
        }
    };
    properties
        .iter()
        .zip(settings)
        .map(|(&property, setting)| Declaration {
            says: Says::Set(property, setting),
            is_important,
        })
        .collect()
}

fn variable(name: &str, value: &str) -> Declaration {
    let (value, is_important) = match value.rsplit_once('!') {
        Some((rest, last)) if last.trim().eq_ignore_ascii_case("important") => (rest, true),
        _ => (value, false),
    };
    Declaration {
        says: Says::Variable(name.to_owned(), value.trim().to_owned()),
        is_important,
    }
}

fn has_variable(words: &[Word]) -> bool {
    words.iter().any(|word| match word {
        Word::Function(name, inner) => {
            matches!(name.as_str(), "var" | "env") || has_variable(inner)
        }
        _ => false,
    })
}

fn is_wide(word: &str) -> bool {
    matches!(
        word,
        "inherit" | "initial" | "unset" | "revert" | "revert-layer"
    )
}

/// What a keyword sets a property to that every property has.
pub(super) fn wide(property: Property, word: &str) -> Setting {
    use Property as P;
    match word {
        "revert" | "revert-layer" => Setting::Revert,
        "inherit" => Setting::Inherit,
        "unset" if property.is_inherited() => Setting::Inherit,
        _ => match property {
            P::Display => Setting::Display(Display::Inline),
            P::Visibility | P::Align => Setting::Is(false),
            P::FontSize => Setting::Size(Length::of_pixels(USUAL_SIZE)),
            P::Colour => Setting::Paint(Paint::BLACK),
            P::Fill | P::Stroke => Setting::Paint(Paint::Current),
            P::Shadow | P::Background => Setting::Paint(Paint::NONE),
            P::StrokeWidth | P::Indent => Setting::Length(Length::ZERO),
            _ => Setting::Usual,
        },
    }
}

impl Says {
    /// Whether it may hide text by itself. Sizes, colours and opacities depend on others: these are judged together.
    pub(super) fn may_hide(&self) -> bool {
        use Property as P;
        let (property, setting) = match self {
            Self::Set(property, setting) => (*property, *setting),
            Self::Variable(..) => return false,
            Self::Later(..) => return true,
        };
        let is_helper = matches!(
            property,
            P::Float
                | P::Overflow
                | P::BackgroundImage
                | P::BackgroundClip
                | P::Column
                | P::Align
                | P::Shadow
                | P::Stroke
        );
        if is_helper {
            return false;
        }
        match setting {
            Setting::Display(display) => display == Display::None,
            Setting::Is(hides) => hides,
            Setting::Length(length) => length_may_hide(property, length),
            Setting::Shape { scale, x, y } => {
                scale < 0.1 || [x, y].iter().any(|by| by.abs() > 100.0)
            }
            Setting::Paint(paint) => paint_may_hide(property, paint),
            _ => false,
        }
    }
}

fn length_may_hide(property: Property, length: Length) -> bool {
    use Property as P;
    let pixels = length.pixels(USUAL_SIZE);
    match property {
        P::Left | P::Top | P::MarginLeft | P::MarginTop | P::Indent => {
            pixels < -100.0 || is_far(pixels) || length.share() < 0.0
        }
        P::Right | P::Bottom => pixels.abs() > HEIGHT / 4.0,
        P::Width | P::Height | P::MaxWidth | P::MaxHeight => pixels < super::SMALLEST_BOX,
        _ => false,
    }
}

fn paint_may_hide(property: Property, paint: Paint) -> bool {
    let is_background = property == Property::Background;
    match paint {
        Paint::Colour(_, alpha) if is_background => alpha > 0.0 && alpha < 1.0,
        Paint::Colour(_, alpha) => alpha < 1.0,
        Paint::Current => is_background,
        Paint::Unknown => false,
    }
}
