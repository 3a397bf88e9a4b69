//! CSS declarations that can hide text. One that a browser would not understand counts for nothing.

use super::paint::Paint;
use super::value::{HEIGHT, Length, USUAL_SIZE, WIDTH, Word, size_of, words};

/// A property that can hide text, or keep it from being hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    Display,
    Float,
    Visibility,
    ContentVisibility,
    Opacity,
    Filter,
    FontSize,
    Zoom,
    Colour,
    /// What letters are filled with, instead of their colour.
    Fill,
    Shadow,
    Stroke,
    StrokeWidth,
    /// The colour of links in a page of old HTML.
    Links,
    Background,
    BackgroundImage,
    /// Whether the background is seen through the letters only.
    BackgroundClip,
    Clip,
    ClipPath,
    Transform,
    Scale,
    Translate,
    Rotate,
    Position,
    Left,
    Right,
    Top,
    Bottom,
    MarginLeft,
    MarginTop,
    PaddingLeft,
    PaddingRight,
    PaddingTop,
    PaddingBottom,
    Indent,
    /// Whether lines end at the right border of their box.
    Align,
    Width,
    Height,
    MinWidth,
    MinHeight,
    MaxWidth,
    MaxHeight,
    Grow,
    Basis,
    /// Whether the parts of a flexible box are below each other.
    Column,
    Overflow,
}

/// How many properties there are.
pub(super) const PROPERTIES: usize = Property::Overflow as usize + 1;

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
    Position(Position),
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
pub(super) enum Position {
    Static,
    Relative,
    /// Out of the flow of the text.
    Absolute,
    /// The same, wherever the page is scrolled to.
    Fixed,
}

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
        let (value, is_important) = match value.rsplit_once('!') {
            Some((rest, last)) if last.trim().eq_ignore_ascii_case("important") => (rest, true),
            _ => (value, false),
        };
        let says = Says::Variable(name.to_owned(), value.trim().to_owned());
        return vec![Declaration { says, is_important }];
    }
    let name = name.to_ascii_lowercase();
    let properties = longhands(&name);
    if properties.is_empty() {
        return Vec::new();
    }
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
    let settings = match words.as_slice() {
        [Word::Ident(word)] if is_wide(word) => Some(
            properties
                .iter()
                .map(|property| wide(*property, word))
                .collect(),
        ),
        words => {
            settings(&name, words, is_quirky).filter(|settings| settings.len() == properties.len())
        }
    };
    let set = |(property, setting)| Declaration {
        says: Says::Set(property, setting),
        is_important,
    };
    properties
        .iter()
        .copied()
        .zip(settings.unwrap_or_default())
        .map(set)
        .collect()
}

fn has_variable(words: &[Word]) -> bool {
    words.iter().any(|word| match word {
        Word::Function(name, inner) => {
            matches!(name.as_str(), "var" | "env") || has_variable(inner)
        }
        _ => false,
    })
}

/// The properties that a declaration sets.
pub(super) fn longhands(name: &str) -> &'static [Property] {
    use Property as P;
    match name {
        "display" => &[P::Display],
        "float" => &[P::Float],
        "visibility" => &[P::Visibility],
        "content-visibility" => &[P::ContentVisibility],
        "opacity" => &[P::Opacity],
        "filter" | "-webkit-filter" => &[P::Filter],
        "font-size" | "font" => &[P::FontSize],
        "zoom" => &[P::Zoom],
        "color" => &[P::Colour],
        "-webkit-text-fill-color" => &[P::Fill],
        "text-shadow" => &[P::Shadow],
        "-webkit-text-stroke" => &[P::StrokeWidth, P::Stroke],
        "-webkit-text-stroke-width" => &[P::StrokeWidth],
        "-webkit-text-stroke-color" => &[P::Stroke],
        "background" => &[P::Background, P::BackgroundImage, P::BackgroundClip],
        "background-color" => &[P::Background],
        "background-image" => &[P::BackgroundImage],
        "background-clip" | "-webkit-background-clip" => &[P::BackgroundClip],
        "clip" => &[P::Clip],
        "clip-path" | "-webkit-clip-path" => &[P::ClipPath],
        "transform" | "-webkit-transform" => &[P::Transform],
        "scale" => &[P::Scale],
        "translate" => &[P::Translate],
        "rotate" => &[P::Rotate],
        "position" => &[P::Position],
        "left" | "inset-inline-start" => &[P::Left],
        "right" | "inset-inline-end" => &[P::Right],
        "top" | "inset-block-start" => &[P::Top],
        "bottom" | "inset-block-end" => &[P::Bottom],
        "inset" => &[P::Top, P::Right, P::Bottom, P::Left],
        "inset-inline" => &[P::Left, P::Right],
        "inset-block" => &[P::Top, P::Bottom],
        "margin-left" | "margin-inline-start" | "margin-inline" => &[P::MarginLeft],
        "margin-top" | "margin-block-start" | "margin-block" => &[P::MarginTop],
        "margin" => &[P::MarginTop, P::MarginLeft],
        "padding-left" | "padding-inline-start" => &[P::PaddingLeft],
        "padding-right" | "padding-inline-end" => &[P::PaddingRight],
        "padding-top" | "padding-block-start" => &[P::PaddingTop],
        "padding-bottom" | "padding-block-end" => &[P::PaddingBottom],
        "padding" => &[
            P::PaddingTop,
            P::PaddingRight,
            P::PaddingBottom,
            P::PaddingLeft,
        ],
        "padding-inline" => &[P::PaddingLeft, P::PaddingRight],
        "padding-block" => &[P::PaddingTop, P::PaddingBottom],
        "text-indent" => &[P::Indent],
        "text-align" | "direction" => &[P::Align],
        "width" | "inline-size" => &[P::Width],
        "height" | "block-size" => &[P::Height],
        "min-width" | "min-inline-size" => &[P::MinWidth],
        "min-height" | "min-block-size" => &[P::MinHeight],
        "max-width" | "max-inline-size" => &[P::MaxWidth],
        "max-height" | "max-block-size" => &[P::MaxHeight],
        "flex" => &[P::Grow, P::Basis],
        "flex-grow" => &[P::Grow],
        "flex-basis" => &[P::Basis],
        "flex-direction" | "flex-flow" => &[P::Column],
        "overflow" | "overflow-x" | "overflow-y" | "overflow-inline" | "overflow-block" => {
            &[P::Overflow]
        }
        "all" => &[
            P::Display,
            P::Float,
            P::Visibility,
            P::ContentVisibility,
            P::Opacity,
            P::Filter,
            P::FontSize,
            P::Colour,
            P::Fill,
            P::Background,
            P::BackgroundImage,
            P::BackgroundClip,
            P::Clip,
            P::ClipPath,
            P::Transform,
            P::Position,
            P::MarginLeft,
            P::Indent,
            P::Width,
            P::Height,
            P::MaxWidth,
            P::MaxHeight,
            P::Overflow,
        ],
        _ => &[],
    }
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
    let is_inherited = matches!(
        property,
        P::Visibility
            | P::FontSize
            | P::Colour
            | P::Fill
            | P::Shadow
            | P::Stroke
            | P::StrokeWidth
            | P::Links
            | P::Align
            | P::Indent
    );
    match word {
        "revert" | "revert-layer" => Setting::Revert,
        "inherit" => Setting::Inherit,
        "unset" if is_inherited => Setting::Inherit,
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

/// What the properties of a declaration are set to, in their order.
fn settings(name: &str, words: &[Word], is_quirky: bool) -> Option<Vec<Setting>> {
    let lengths = |least: usize, most: usize| {
        let all: Option<Vec<Setting>> = words
            .iter()
            .map(|word| length(name, word, is_quirky))
            .collect();
        all.filter(|all| (least..=most).contains(&all.len()))
    };
    // Top, right, bottom and left of a box.
    let sides = || {
        let all = lengths(1, 4)?;
        let at = |n: usize, other: usize| all.get(n).or(all.get(other)).copied().unwrap_or(all[0]);
        Some([all[0], at(1, 0), at(2, 0), at(3, 1)])
    };
    let pair = || lengths(1, 2).map(|all| vec![all[0], all.get(1).copied().unwrap_or(all[0])]);
    Some(match name {
        "margin" => sides().map(|[top, _, _, left]| vec![top, left])?,
        "margin-inline" | "margin-block" => vec![pair()?[0]],
        "padding" | "inset" => sides()?.to_vec(),
        "padding-inline" | "padding-block" | "inset-inline" | "inset-block" => pair()?,
        "background" => background(words)?,
        "-webkit-text-stroke" => {
            let width = words.iter().find_map(|word| length(name, word, is_quirky));
            let paint = words.iter().find_map(Paint::of);
            let found = usize::from(width.is_some()) + usize::from(paint.is_some());
            let both = [
                width.unwrap_or(Setting::Length(Length::ZERO)),
                Setting::Paint(paint.unwrap_or(Paint::Current)),
            ];
            if found != words.len() {
                return None;
            }
            both.to_vec()
        }
        "flex" => flex(words)?,
        "font" => vec![Setting::Size(font(words)?)],
        "overflow" if words.len() == 2 => {
            let both = [&words[..1], &words[1..]].map(|word| setting(name, word, is_quirky));
            vec![
                Setting::Is(both.contains(&Some(Setting::Is(true))));
                usize::from(!both.contains(&None))
            ]
        }
        _ => vec![setting(name, words, is_quirky)?],
    })
}

/// The setting of one property.
fn setting(name: &str, words: &[Word], is_quirky: bool) -> Option<Setting> {
    // Whether the only word is one of those that do something, if it is one of those that the property has.
    let is = |doing: &[&str], others: &[&str]| match words {
        [Word::Ident(word)] if doing.contains(&word.as_str()) => Some(Setting::Is(true)),
        [Word::Ident(word)] if others.contains(&word.as_str()) => Some(Setting::Is(false)),
        _ => None,
    };
    match name {
        "display" => display(words).map(Setting::Display),
        "float" => is(&["left", "right", "inline-start", "inline-end"], &["none"]),
        "visibility" => is(&["hidden", "collapse"], &["visible"]),
        "content-visibility" => is(&["hidden"], &["visible", "auto"]),
        "overflow" | "overflow-x" | "overflow-y" | "overflow-inline" | "overflow-block" => is(
            &["hidden", "clip", "auto", "scroll", "overlay"],
            &["visible"],
        ),
        "text-align" => is(
            &["right", "end", "-webkit-right"],
            &[
                "left",
                "start",
                "center",
                "justify",
                "-webkit-left",
                "-webkit-center",
            ],
        ),
        "direction" => is(&["rtl"], &["ltr"]),
        "flex-direction" => is(&["column", "column-reverse"], &["row", "row-reverse"]),
        "flex-flow" => {
            Some(Setting::Is(words.iter().any(
                |word| matches!(word, Word::Ident(w) if w.starts_with("column")),
            )))
        }
        "position" => match words {
            [Word::Ident(word)] => Some(Setting::Position(match word.as_str() {
                "absolute" => Position::Absolute,
                "fixed" => Position::Fixed,
                "relative" | "sticky" | "-webkit-sticky" => Position::Relative,
                "static" => Position::Static,
                _ => return None,
            })),
            _ => None,
        },
        "opacity" => Some(Setting::Number(only_number(words)?.clamp(0.0, 1.0))),
        "zoom" => match words {
            [Word::Ident(word)] if word == "normal" => Some(Setting::Usual),
            // Browsers take zero for one.
            words => only_number(words)
                .filter(|zoom| *zoom > 0.0)
                .map(Setting::Number),
        },
        "flex-grow" => only_number(words)
            .filter(|number| *number >= 0.0)
            .map(Setting::Number),
        "filter" | "-webkit-filter" => filter(words),
        "font-size" => match words {
            [word] => size_of(&with_unit(word, is_quirky)).map(Setting::Size),
            _ => None,
        },
        "color" | "-webkit-text-fill-color" | "-webkit-text-stroke-color" | "background-color" => {
            match words {
                [word] => Paint::of(word).map(Setting::Paint),
                _ => None,
            }
        }
        "text-shadow" => shadow(words).map(Setting::Paint),
        "background-image" => {
            let is_known = |word: &Word| {
                matches!(word, Word::Ident(word) if word == "none")
                    || *word == Word::Delim(',')
                    || Paint::is_picture(word)
            };
            words
                .iter()
                .all(is_known)
                .then(|| Setting::Is(words.iter().any(Paint::is_picture)))
        }
        "background-clip" | "-webkit-background-clip" => is(
            &["text"],
            &["border-box", "padding-box", "content-box", "border-area"],
        ),
        "clip" => match words {
            [Word::Ident(word)] if word == "auto" => Some(Setting::Is(false)),
            [Word::Function(rect, inner)] if rect == "rect" => Some(Setting::Is(is_nothing(inner))),
            _ => None,
        },
        "clip-path" | "-webkit-clip-path" => match words {
            [Word::Ident(_)] => Some(Setting::Is(false)),
            _ => words.iter().find_map(clips_all).map(Setting::Is),
        },
        "transform" | "-webkit-transform" | "rotate" | "scale" | "translate" => {
            transform(name, words)
        }
        _ => match words {
            [word] => length(name, word, is_quirky),
            // Such as `text-indent: 1em hanging`.
            [word, Word::Ident(_)] if name == "text-indent" => length(name, word, is_quirky),
            _ => None,
        },
    }
}

fn only_number(words: &[Word]) -> Option<f32> {
    match words {
        [Word::Number(number) | Word::Percent(number)] => Some(*number),
        _ => None,
    }
}

fn with_unit(word: &Word, is_quirky: bool) -> Word {
    match word {
        Word::Number(number) if is_quirky => Word::Length(Length::of_pixels(*number)),
        word => word.clone(),
    }
}

/// The length that a property is set to.
fn length(name: &str, word: &Word, is_quirky: bool) -> Option<Setting> {
    let is_size = [
        "width", "height", "size", "padding", "basis", "stroke", "flex",
    ]
    .iter()
    .any(|part| name.contains(part));
    match word {
        Word::Ident(word) => match word.as_str() {
            "min-content"
            | "max-content"
            | "fit-content"
            | "-webkit-fill-available"
            | "stretch"
            | "content"
                if name.starts_with("min-") || name.contains("basis") =>
            {
                Some(Setting::Length(Length::of_pixels(WIDTH)))
            }
            "thin" | "medium" | "thick" if name.contains("stroke") => {
                Some(Setting::Length(Length::of_pixels(1.0)))
            }
            "auto"
            | "none"
            | "min-content"
            | "max-content"
            | "fit-content"
            | "-webkit-fill-available"
            | "stretch"
            | "content" => Some(Setting::Usual),
            _ => None,
        },
        // Others than `calc()` are rare.
        Word::Function(function, _) if Paint::of(word).is_none() && function != "url" => {
            Some(Setting::Usual)
        }
        word => {
            let length = Length::of(&with_unit(word, is_quirky))?;
            (!is_size || length.pixels(USUAL_SIZE) >= 0.0).then_some(Setting::Length(length))
        }
    }
}

fn display(words: &[Word]) -> Option<Display> {
    let names: Option<Vec<&str>> = words
        .iter()
        .map(|word| {
            if let Word::Ident(name) = word {
                Some(name.as_str())
            } else {
                None
            }
        })
        .collect();
    Some(match names?[..] {
        ["none"] => Display::None,
        ["contents"] => Display::Contents,
        ["inline" | "ruby" | "ruby-text" | "ruby-base" | "math"] => Display::Inline,
        [
            "flex"
            | "inline-flex"
            | "-webkit-flex"
            | "-webkit-inline-flex"
            | "-webkit-box"
            | "-webkit-inline-box",
        ] => Display::Flex,
        [name] if name == "inline-table" || name.starts_with("table") => Display::Table,
        [
            "block" | "inline-block" | "flow-root" | "list-item" | "grid" | "inline-grid" | "flow"
            | "run-in",
        ] => Display::Block,
        [outer, inner]
            if matches!(outer, "block" | "inline")
                && matches!(
                    inner,
                    "flow" | "flow-root" | "table" | "flex" | "grid" | "ruby"
                ) =>
        {
            match (outer, inner) {
                (_, "flex") => Display::Flex,
                (_, "table") => Display::Table,
                ("inline", "flow" | "ruby") => Display::Inline,
                _ => Display::Block,
            }
        }
        _ => return None,
    })
}

/// The size in `font`, which is followed by a family.
fn font(words: &[Word]) -> Option<Length> {
    if let [Word::Ident(name)] = words {
        let is_of_system = matches!(
            name.as_str(),
            "caption" | "icon" | "menu" | "message-box" | "small-caption" | "status-bar"
        );
        return is_of_system.then_some(Length::of_pixels(13.0));
    }
    let is_size = |word: &&Word| !matches!(word, Word::Number(number) if *number != 0.0);
    let at = words
        .iter()
        .position(|word| is_size(&word) && size_of(word).is_some())?;
    let before_is_known = words[..at]
        .iter()
        .all(|word| matches!(word, Word::Ident(_) | Word::Number(_) | Word::Angle(_)));
    let family = match &words[at + 1..] {
        [Word::Delim('/'), _, family @ ..] | family => family,
    };
    let is_family = matches!(family, [Word::Ident(_) | Word::Text, ..]);
    (before_is_known && is_family).then(|| size_of(&words[at]))?
}

fn flex(words: &[Word]) -> Option<Vec<Setting>> {
    if let [Word::Ident(name)] = words {
        return match name.as_str() {
            "none" => Some(vec![Setting::Number(0.0), Setting::Usual]),
            "auto" => Some(vec![Setting::Number(1.0), Setting::Usual]),
            _ => None,
        };
    }
    let mut numbers = words.iter().filter_map(|word| {
        if let Word::Number(n) = word {
            Some(*n)
        } else {
            None
        }
    });
    let grow = numbers.next().unwrap_or(1.0);
    let basis = words.iter().filter(|word| !matches!(word, Word::Number(_)));
    let basis: Option<Vec<Setting>> = basis
        .map(|word| length("flex-basis", word, false))
        .collect();
    let basis = basis.filter(|basis| basis.len() <= 1 && words.len() <= 3)?;
    Some(vec![
        Setting::Number(grow),
        basis
            .first()
            .copied()
            .unwrap_or(Setting::Length(Length::ZERO)),
    ])
}

/// Colour, picture and clip of a background.
fn background(words: &[Word]) -> Option<Vec<Setting>> {
    const OTHERS: &[&str] = &[
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
    let (mut colours, mut is_picture, mut is_text) = (Vec::new(), false, false);
    for word in words {
        match word {
            word if Paint::is_picture(word) => is_picture = true,
            Word::Ident(name) if name == "text" => is_text = true,
            Word::Ident(name) if OTHERS.contains(&name.as_str()) => {}
            Word::Delim(',' | '/') => {}
            word => match Paint::of(word) {
                Some(paint) => colours.push(paint),
                None => drop(Length::of(word)?),
            },
        }
    }
    let colour = match colours[..] {
        [] if !words.is_empty() => Paint::NONE,
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
fn shadow(words: &[Word]) -> Option<Paint> {
    /// How far it may be from the letters, and how blurred, in pixels.
    const FARTHEST: f32 = 50.0;
    const MOST_BLURRED: f32 = 8.0;
    if let [Word::Ident(name)] = words {
        return (name == "none").then_some(Paint::NONE);
    }
    let mut all = Paint::NONE;
    for one in words.split(|word| *word == Word::Delim(',')) {
        let lengths: Vec<f32> = one
            .iter()
            .filter_map(Length::of)
            .map(|length| length.pixels(USUAL_SIZE))
            .collect();
        let paint = one.iter().find_map(Paint::of);
        if !(2..=3).contains(&lengths.len())
            || lengths.len() + usize::from(paint.is_some()) != one.len()
        {
            return None;
        }
        let is_near = lengths[..2].iter().all(|length| length.abs() <= FARTHEST);
        if is_near && lengths.get(2).is_none_or(|blur| *blur <= MOST_BLURRED) && all == Paint::NONE
        {
            all = paint.unwrap_or(Paint::Current);
        }
    }
    Some(all)
}

/// The opacity that filters leave.
fn filter(words: &[Word]) -> Option<Setting> {
    if matches!(words, [Word::Ident(name)] if name == "none") {
        return Some(Setting::Number(1.0));
    }
    let mut opacity = 1.0;
    for word in words {
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

/// Whether `rect(…)` has no area, or hardly any.
fn is_nothing(inner: &[Word]) -> bool {
    let sides: Vec<f32> = inner
        .iter()
        .filter_map(Length::of)
        .map(|length| length.pixels(USUAL_SIZE))
        .collect();
    let [top, right, bottom, left] = sides[..] else {
        return false;
    };
    right - left < super::SMALLEST_BOX || bottom - top < super::SMALLEST_BOX
}

/// Whether a shape leaves nothing to see, if it is one.
fn clips_all(word: &Word) -> Option<bool> {
    let Word::Function(name, inner) = word else {
        return None;
    };
    let rounded = inner
        .iter()
        .position(|word| matches!(word, Word::Ident(name) if name == "round" || name == "at"));
    let all: Vec<Length> = inner[..rounded.unwrap_or(inner.len())]
        .iter()
        .filter_map(Length::of)
        .collect();
    // Whether two sides meet, whatever the size of the box, which is no larger than a page.
    let meet = |a: Length, b: Length| {
        a.share() + b.share() >= 1.0 || a.pixels(USUAL_SIZE) + b.pixels(USUAL_SIZE) >= WIDTH
    };
    let is_none = |length: &Length| length.pixels(USUAL_SIZE) < 1.0;
    let is_line = |numbers: &mut dyn Iterator<Item = f32>| {
        let (least, most) = numbers.fold((f32::MAX, f32::MIN), |(least, most), n| {
            (least.min(n), most.max(n))
        });
        most - least < 1.0
    };
    Some(match name.as_str() {
        "inset" => {
            let at =
                |n: usize, other: usize| all.get(n).or(all.get(other)).or(all.first()).copied();
            let (Some(top), Some(right), Some(bottom), Some(left)) =
                (at(0, 0), at(1, 0), at(2, 0), at(3, 1))
            else {
                return None;
            };
            meet(top, bottom) || meet(left, right)
        }
        "circle" | "ellipse" => all.iter().any(is_none),
        "polygon" => {
            let pixels = || all.iter().map(|length| length.pixels(USUAL_SIZE));
            all.len() < 6
                || is_line(&mut pixels().step_by(2))
                || is_line(&mut pixels().skip(1).step_by(2))
        }
        "rect" => is_nothing(inner),
        "xywh" => all.iter().skip(2).any(is_none),
        "path" | "shape" | "url" => false,
        _ => return None,
    })
}

/// How a transformation moves a box and changes its size.
fn transform(property: &str, words: &[Word]) -> Option<Setting> {
    if matches!(words, [Word::Ident(name)] if name == "none") {
        return Some(Setting::Usual);
    }
    let (mut scale, mut x, mut y) = (1.0, 0.0, 0.0);
    let mut add = |(by, right, down): (f32, f32, f32)| {
        (x, y) = (x + scale * right, y + scale * down);
        scale *= by;
    };
    if property.ends_with("transform") {
        for word in words {
            let Word::Function(name, inner) = word else {
                return None;
            };
            add(transformed(name, inner)?);
        }
    } else {
        let is_on_edge = matches!(words, [Word::Ident(axis), ..] if axis == "x" || axis == "y");
        add(transformed(
            if is_on_edge { "rotatex" } else { property },
            words,
        )?);
    }
    Some(Setting::Shape { scale, x, y })
}

/// How many times larger a function makes a box, and by how many pixels it moves it.
fn transformed(name: &str, inner: &[Word]) -> Option<(f32, f32, f32)> {
    let numbers: Vec<f32> = inner
        .iter()
        .filter_map(|word| only_number(std::slice::from_ref(word)))
        .collect();
    let arguments: Vec<&Word> = inner
        .iter()
        .filter(|word| **word != Word::Delim(','))
        .collect();
    // A share is one of the box itself, which is not known, but smaller than a page.
    let shift = |n: usize| {
        let length = arguments
            .get(n)
            .and_then(|word| Length::of(word))
            .unwrap_or(Length::ZERO);
        if length.share().abs() >= 10.0 {
            length.pixels(USUAL_SIZE)
        } else {
            length.without_share().pixels(USUAL_SIZE)
        }
    };
    Some(match name {
        "scale" | "scalex" | "scaley" | "scale3d" => {
            let numbers = &numbers[..numbers.len().min(2)];
            (
                numbers.iter().map(|number| number.abs()).reduce(f32::min)?,
                0.0,
                0.0,
            )
        }
        "matrix" | "matrix3d" => match numbers[..] {
            [xx, xy, yx, yy, right, down]
            | [xx, xy, _, _, yx, yy, _, _, _, _, _, _, right, down, _, _] => {
                ((xx * yy - xy * yx).abs().sqrt(), right, down)
            }
            _ => return None,
        },
        "translate" | "translate3d" | "translatex" => {
            arguments.first().and_then(|word| Length::of(word))?;
            (
                1.0,
                shift(0),
                if name == "translatex" { 0.0 } else { shift(1) },
            )
        }
        "translatey" => (1.0, 0.0, shift(0)),
        // Turned on its edge, nothing is left of it.
        "rotatex" | "rotatey" => {
            let is_edge = |word: &Word| matches!(word, Word::Angle(turn) if (turn.abs() % 180.0 - 90.0).abs() < 1.0);
            (if inner.iter().any(is_edge) { 0.0 } else { 1.0 }, 0.0, 0.0)
        }
        "rotate" | "rotatez" | "rotate3d" | "skew" | "skewx" | "skewy" | "translatez"
        | "scalez" | "perspective" => (1.0, 0.0, 0.0),
        _ => return None,
    })
}

/// Whether something that is moved by so many pixels is off the screen, whatever its size.
pub(super) fn is_far(pixels: f32) -> bool {
    !(-1_500.0..=5_000.0).contains(&pixels)
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
        match (property, setting) {
            (
                P::Float
                | P::Overflow
                | P::BackgroundImage
                | P::BackgroundClip
                | P::Column
                | P::Align
                | P::Shadow
                | P::Stroke,
                _,
            ) => false,
            (_, Setting::Display(display)) => display == Display::None,
            (_, Setting::Is(hides)) => hides,
            (
                P::Left | P::Top | P::MarginLeft | P::MarginTop | P::Indent,
                Setting::Length(length),
            ) => {
                let pixels = length.pixels(USUAL_SIZE);
                pixels < -100.0 || is_far(pixels) || length.share() < 0.0
            }
            (P::Right | P::Bottom, Setting::Length(length)) => {
                length.pixels(USUAL_SIZE).abs() > HEIGHT / 4.0
            }
            (P::Width | P::Height | P::MaxWidth | P::MaxHeight, Setting::Length(length)) => {
                length.pixels(USUAL_SIZE) < super::SMALLEST_BOX
            }
            (_, Setting::Shape { scale, x, y }) => {
                scale < 0.1 || [x, y].iter().any(|by| by.abs() > 100.0)
            }
            (P::Background, Setting::Paint(Paint::Colour(_, alpha))) => alpha > 0.0 && alpha < 1.0,
            (P::Background, Setting::Paint(paint)) => paint == Paint::Current,
            (_, Setting::Paint(Paint::Colour(_, alpha))) => alpha < 1.0,
            _ => false,
        }
    }
}
