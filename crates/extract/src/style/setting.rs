//! What properties are set to, and how values are read.

use super::paint::Paint;
use super::property::{LengthKind, Syntax};
use super::value::{Length, USUAL_SIZE, WIDTH, Word, size_of};

/// What a property is set to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Setting {
    /// A usual value, such as `auto`.
    Usual,
    /// As in the element around it.
    Inherit,
    /// As if nothing were said.
    Revert,
    Display(Display),
    /// Of a property that only does something, or not: `visibility: hidden`, `clip-path: inset(50%)`, `float: left`.
    Is(bool),
    Number(f32),
    Size(Length),
    Paint(Paint),
    Length(Length),
    /// How many times larger a box is, and by how many pixels it is moved.
    Shape {
        scale: f32,
        x: f32,
        y: f32,
    },
    Position(Positioning),
}

/// How a box is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Display {
    None,
    Inline,
    Block,
    Flex,
    /// Tables and their parts, which are at least as large as what is in them.
    Table,
    /// There is no box, only what is in it.
    Contents,
}

/// How a box is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Positioning {
    Static,
    Relative,
    /// Out of the flow of the text.
    Absolute,
    /// The same, wherever the page is scrolled to.
    Fixed,
}

/// The value of a declaration.
#[derive(Clone, Copy)]
pub(super) struct CssValue<'a> {
    pub(super) words: &'a [Word],
    /// Whether lengths need no unit.
    pub(super) is_quirky: bool,
}

impl<'a> CssValue<'a> {
    /// What the properties of a declaration are set to, in their order.
    pub(super) fn settings(self, syntax: &Syntax) -> Option<Vec<Setting>> {
        match syntax {
            Syntax::Switch(on, off) => Some(vec![self.switch(on, off)?]),
            Syntax::Lengths(kind, most, places) => self.lengths(*kind, *most, places),
            Syntax::One(read) => Some(vec![read(self)?]),
            Syntax::Several(read) => read(self),
            Syntax::Keyword => None,
        }
    }

    /// Whether the only word is one of those that do something, if it is one of those that the property has.
    fn switch(self, on: &[&str], off: &[&str]) -> Option<Setting> {
        let word = self.only_ident()?;
        if on.contains(&word) {
            Some(Setting::Is(true))
        } else {
            off.contains(&word).then_some(Setting::Is(false))
        }
    }

    /// Lengths at these places of a box: top, right, bottom and left, or start and end.
    fn lengths(self, kind: LengthKind, most: usize, places: &[usize]) -> Option<Vec<Setting>> {
        let all: Vec<Setting> = self
            .words
            .iter()
            .map(|word| self.length(kind, word))
            .collect::<Option<_>>()?;
        if all.is_empty() || all.len() > most {
            return None;
        }
        Some(places.iter().map(|place| of_side(&all, *place)).collect())
    }

    /// The length that a property is set to.
    fn length(self, kind: LengthKind, word: &Word) -> Option<Setting> {
        match word {
            Word::Ident(word) => named_length(kind, word),
            // Others than `calc()` are rare.
            Word::Function(function, _) if Paint::of(word).is_none() && function != "url" => {
                Some(Setting::Usual)
            }
            word => {
                let length = Length::of(&self.with_unit(word))?;
                let is_allowed = kind == LengthKind::Offset || length.pixels(USUAL_SIZE) >= 0.0;
                is_allowed.then_some(Setting::Length(length))
            }
        }
    }

    fn with_unit(self, word: &Word) -> Word {
        match word {
            Word::Number(number) if self.is_quirky => Word::Length(Length::of_pixels(*number)),
            word => word.clone(),
        }
    }

    fn only_ident(self) -> Option<&'a str> {
        match self.words {
            [Word::Ident(word)] => Some(word),
            _ => None,
        }
    }

    fn only_number(self) -> Option<f32> {
        only_number(self.words)
    }

    fn only_paint(self) -> Option<Paint> {
        match self.words {
            [word] => Paint::of(word),
            _ => None,
        }
    }
}

/// The length of a side, counted from the top on: one that is not given is that of the side opposite, or of the top.
fn of_side(all: &[Setting], side: usize) -> Setting {
    let opposite = usize::from(side == 3);
    let given = all.get(side).or(all.get(opposite));
    given.copied().unwrap_or(all[0])
}

fn named_length(kind: LengthKind, name: &str) -> Option<Setting> {
    match name {
        "auto" | "none" => Some(Setting::Usual),
        "min-content"
        | "max-content"
        | "fit-content"
        | "-webkit-fill-available"
        | "stretch"
        | "content" => Some(if kind == LengthKind::LeastSize {
            Setting::Length(Length::of_pixels(WIDTH))
        } else {
            Setting::Usual
        }),
        "thin" | "medium" | "thick" if kind == LengthKind::Stroke => {
            Some(Setting::Length(Length::of_pixels(1.0)))
        }
        _ => None,
    }
}

pub(super) fn only_number(words: &[Word]) -> Option<f32> {
    match words {
        [Word::Number(number) | Word::Percent(number)] => Some(*number),
        _ => None,
    }
}

pub(super) fn opacity(value: CssValue<'_>) -> Option<Setting> {
    Some(Setting::Number(value.only_number()?.clamp(0.0, 1.0)))
}

pub(super) fn zoom(value: CssValue<'_>) -> Option<Setting> {
    if value.only_ident() == Some("normal") {
        return Some(Setting::Usual);
    }
    // Browsers take zero for one.
    let zoom = value.only_number().filter(|zoom| *zoom > 0.0)?;
    Some(Setting::Number(zoom))
}

pub(super) fn flex_grow(value: CssValue<'_>) -> Option<Setting> {
    let grow = value.only_number().filter(|grow| *grow >= 0.0)?;
    Some(Setting::Number(grow))
}

pub(super) fn flex_flow(value: CssValue<'_>) -> Setting {
    Setting::Is(
        value
            .words
            .iter()
            .any(|word| matches!(word, Word::Ident(name) if name.starts_with("column"))),
    )
}

pub(super) const OVERFLOW: Syntax = Syntax::Switch(
    &["hidden", "clip", "auto", "scroll", "overlay"],
    &["visible"],
);

/// Across and down, or both at once.
pub(super) fn overflow(value: CssValue<'_>) -> Option<Setting> {
    if value.words.is_empty() || value.words.len() > 2 {
        return None;
    }
    let mut hides = false;
    for words in value.words.chunks(1) {
        let one = CssValue { words, ..value }.settings(&OVERFLOW)?;
        hides |= one.contains(&Setting::Is(true));
    }
    Some(Setting::Is(hides))
}

pub(super) fn position(value: CssValue<'_>) -> Option<Setting> {
    Some(Setting::Position(match value.only_ident()? {
        "absolute" => Positioning::Absolute,
        "fixed" => Positioning::Fixed,
        "relative" | "sticky" | "-webkit-sticky" => Positioning::Relative,
        "static" => Positioning::Static,
        _ => return None,
    }))
}

pub(super) fn display(value: CssValue<'_>) -> Option<Setting> {
    let mut names = Vec::new();
    for word in value.words {
        let Word::Ident(name) = word else {
            return None;
        };
        names.push(name.as_str());
    }
    let display = match names[..] {
        [name] => display_named(name)?,
        [outer @ ("block" | "inline"), inner] => match (outer, inner) {
            (_, "flex") => Display::Flex,
            (_, "table") => Display::Table,
            ("inline", "flow" | "ruby") => Display::Inline,
            (_, "flow" | "flow-root" | "grid" | "ruby") => Display::Block,
            _ => return None,
        },
        _ => return None,
    };
    Some(Setting::Display(display))
}

fn display_named(name: &str) -> Option<Display> {
    Some(match name {
        "none" => Display::None,
        "contents" => Display::Contents,
        "inline" | "ruby" | "ruby-text" | "ruby-base" | "math" => Display::Inline,
        "flex"
        | "inline-flex"
        | "-webkit-flex"
        | "-webkit-inline-flex"
        | "-webkit-box"
        | "-webkit-inline-box" => Display::Flex,
        "block" | "inline-block" | "flow-root" | "list-item" | "grid" | "inline-grid" | "flow"
        | "run-in" => Display::Block,
        name if name == "inline-table" || name.starts_with("table") => Display::Table,
        _ => return None,
    })
}

pub(super) fn font_size(value: CssValue<'_>) -> Option<Setting> {
    match value.words {
        [word] => size_of(&value.with_unit(word)).map(Setting::Size),
        _ => None,
    }
}

/// The size in `font`, which is followed by a family.
pub(super) fn font(value: CssValue<'_>) -> Option<Setting> {
    if let Some(name) = value.only_ident() {
        let is_of_system = matches!(
            name,
            "caption" | "icon" | "menu" | "message-box" | "small-caption" | "status-bar"
        );
        return is_of_system.then_some(Setting::Size(Length::of_pixels(13.0)));
    }
    let words = value.words;
    let at = words.iter().position(|word| {
        let is_weight = matches!(word, Word::Number(number) if *number != 0.0);
        !is_weight && size_of(word).is_some()
    })?;
    let before_is_known = words[..at]
        .iter()
        .all(|word| matches!(word, Word::Ident(_) | Word::Number(_) | Word::Angle(_)));
    let family = match &words[at + 1..] {
        [Word::Delim('/'), _, family @ ..] | family => family,
    };
    let is_family = matches!(family, [Word::Ident(_) | Word::Text, ..]);
    let size = size_of(&words[at]).filter(|_| before_is_known && is_family)?;
    Some(Setting::Size(size))
}

/// Such as `text-indent: 1em hanging`.
pub(super) fn indent(value: CssValue<'_>) -> Option<Setting> {
    match value.words {
        [word] | [word, Word::Ident(_)] => value.length(LengthKind::Offset, word),
        _ => None,
    }
}

/// Width and colour of the lines around letters.
pub(super) fn stroke(value: CssValue<'_>) -> Option<Vec<Setting>> {
    let words = value.words;
    let width = words
        .iter()
        .find_map(|word| value.length(LengthKind::Stroke, word));
    let paint = words.iter().find_map(Paint::of);
    let found = usize::from(width.is_some()) + usize::from(paint.is_some());
    (found == words.len()).then(|| {
        vec![
            width.unwrap_or(Setting::Length(Length::ZERO)),
            Setting::Paint(paint.unwrap_or(Paint::Current)),
        ]
    })
}

pub(super) fn flex(value: CssValue<'_>) -> Option<Vec<Setting>> {
    match value.only_ident() {
        Some("none") => return Some(vec![Setting::Number(0.0), Setting::Usual]),
        Some("auto") => return Some(vec![Setting::Number(1.0), Setting::Usual]),
        Some(_) => return None,
        None => {}
    }
    let (mut grow, mut basis) = (None, None);
    for word in value.words {
        match word {
            Word::Number(number) => _ = grow.get_or_insert(*number),
            word if basis.is_none() => {
                let value = CssValue {
                    is_quirky: false,
                    ..value
                };
                basis = Some(value.length(LengthKind::LeastSize, word)?);
            }
            _ => return None,
        }
    }
    (value.words.len() <= 3).then(|| {
        vec![
            Setting::Number(grow.unwrap_or(1.0)),
            basis.unwrap_or(Setting::Length(Length::ZERO)),
        ]
    })
}

pub(super) fn colour(value: CssValue<'_>) -> Option<Setting> {
    value.only_paint().map(Setting::Paint)
}

pub(super) fn background_image(value: CssValue<'_>) -> Option<Setting> {
    let mut is_picture = false;
    for word in value.words {
        match word {
            Word::Delim(',') => {}
            Word::Ident(name) if name == "none" => {}
            word if Paint::is_picture(word) => is_picture = true,
            _ => return None,
        }
    }
    Some(Setting::Is(is_picture))
}

/// What a background is said to be besides its colour and its picture.
const OF_BACKGROUNDS: &[&str] = &[
    "none",
    "repeat",
    "no-repeat",
    "repeat-x",
    "repeat-y",
    "space",
    "round",
    "scroll",
    "fixed",
    "local",
    "left",
    "right",
    "top",
    "bottom",
    "center",
    "cover",
    "contain",
    "auto",
    "border-box",
    "padding-box",
    "content-box",
];

/// Colour, picture and clip of a background.
pub(super) fn background(value: CssValue<'_>) -> Option<Vec<Setting>> {
    let (mut colours, mut is_picture, mut is_text) = (Vec::new(), false, false);
    for word in value.words {
        match word {
            word if Paint::is_picture(word) => is_picture = true,
            Word::Ident(name) if name == "text" => is_text = true,
            Word::Ident(name) if OF_BACKGROUNDS.contains(&name.as_str()) => {}
            Word::Delim(',' | '/') => {}
            word => match Paint::of(word) {
                Some(paint) => colours.push(paint),
                None => _ = Length::of(word)?,
            },
        }
    }
    let colour = match colours[..] {
        [] if !value.words.is_empty() => Paint::NONE,
        [colour] => colour,
        _ => return None,
    };
    Some(vec![
        Setting::Paint(colour),
        Setting::Is(is_picture),
        Setting::Is(is_text),
    ])
}

/// The colour of the first shadow that shows letters.
pub(super) fn shadow(value: CssValue<'_>) -> Option<Setting> {
    if let Some(name) = value.only_ident() {
        return (name == "none").then_some(Setting::Paint(Paint::NONE));
    }
    let mut first = Paint::NONE;
    for shadow in value.words.split(|word| *word == Word::Delim(',')) {
        let paint = shadow_paint(shadow)?;
        if first == Paint::NONE {
            first = paint;
        }
    }
    Some(Setting::Paint(first))
}

/// The colour of a shadow, or none if it does not show letters.
fn shadow_paint(words: &[Word]) -> Option<Paint> {
    /// How far it may be from the letters, and how blurred, in pixels.
    const FARTHEST: f32 = 50.0;
    const MOST_BLURRED: f32 = 8.0;
    let lengths: Vec<f32> = words
        .iter()
        .filter_map(Length::of)
        .map(|length| length.pixels(USUAL_SIZE))
        .collect();
    let paint = words.iter().find_map(Paint::of);
    let is_understood = (2..=3).contains(&lengths.len())
        && lengths.len() + usize::from(paint.is_some()) == words.len();
    if !is_understood {
        return None;
    }
    let is_near = lengths[..2].iter().all(|length| length.abs() <= FARTHEST);
    let is_sharp = lengths.get(2).is_none_or(|blur| *blur <= MOST_BLURRED);
    Some(if is_near && is_sharp {
        paint.unwrap_or(Paint::Current)
    } else {
        Paint::NONE
    })
}

/// The opacity that filters leave.
pub(super) fn filter(value: CssValue<'_>) -> Option<Setting> {
    if value.only_ident() == Some("none") {
        return Some(Setting::Number(1.0));
    }
    let mut opacity = 1.0;
    for word in value.words {
        let Word::Function(name, inner) = word else {
            return None;
        };
        match name.as_str() {
            "opacity" => opacity *= only_number(inner)?.clamp(0.0, 1.0),
            "blur" | "brightness" | "contrast" | "drop-shadow" | "grayscale" | "hue-rotate"
            | "invert" | "saturate" | "sepia" | "url" => {}
            _ => return None,
        }
    }
    Some(Setting::Number(opacity))
}
