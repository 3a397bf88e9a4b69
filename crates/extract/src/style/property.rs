//! The properties that can hide text, and how their values are written.

use super::setting::{self, CssValue, Setting};
use super::shape::{clip, clip_path, transform};

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

use Property as P;

/// How many properties there are.
pub(super) const PROPERTIES: usize = P::Overflow as usize + 1;

impl Property {
    /// Whether elements take it over from the one around them.
    pub(super) fn is_inherited(self) -> bool {
        matches!(
            self,
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
        )
    }
}

/// How the value of a declaration is written.
pub(super) enum Syntax {
    /// One of the words that do something, or one of the others.
    Switch(&'static [&'static str], &'static [&'static str]),
    /// Up to two or four lengths, for the sides of a box from the top on. Those at these places count.
    Lengths(LengthKind, usize, &'static [usize]),
    /// As a function reads it.
    One(fn(CssValue<'_>) -> Option<Setting>),
    /// As a function reads it, for each of the properties.
    Several(fn(CssValue<'_>) -> Option<Vec<Setting>>),
    /// A keyword that all properties have.
    Keyword,
}

/// What lengths a property has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LengthKind {
    /// Any.
    Offset,
    /// None below zero.
    Size,
    /// The same, and those of what is inside.
    LeastSize,
    /// The same as `Size`, and names of widths.
    Stroke,
}

use LengthKind::{LeastSize, Offset, Size};
use Syntax::{Keyword, Lengths, One, Several, Switch};

/// The names of a declaration, the properties that it sets, and how its value is written.
type Row = (&'static [&'static str], &'static [Property], Syntax);

const fn offset(names: &'static [&'static str], property: &'static [Property]) -> Row {
    (names, property, Lengths(Offset, 1, &[0]))
}

const fn size(names: &'static [&'static str], property: &'static [Property]) -> Row {
    (names, property, Lengths(Size, 1, &[0]))
}

const fn least(names: &'static [&'static str], property: &'static [Property]) -> Row {
    (names, property, Lengths(LeastSize, 1, &[0]))
}

const DECLARATIONS: &[Row] = &[
    (&["display"], &[P::Display], One(setting::display)),
    (
        &["float"],
        &[P::Float],
        Switch(&["left", "right", "inline-start", "inline-end"], &["none"]),
    ),
    (
        &["visibility"],
        &[P::Visibility],
        Switch(&["hidden", "collapse"], &["visible"]),
    ),
    (
        &["content-visibility"],
        &[P::ContentVisibility],
        Switch(&["hidden"], &["visible", "auto"]),
    ),
    (&["opacity"], &[P::Opacity], One(setting::opacity)),
    (
        &["filter", "-webkit-filter"],
        &[P::Filter],
        One(setting::filter),
    ),
    (&["font-size"], &[P::FontSize], One(setting::font_size)),
    (&["font"], &[P::FontSize], One(setting::font)),
    (&["zoom"], &[P::Zoom], One(setting::zoom)),
    (&["color"], &[P::Colour], One(setting::colour)),
    (
        &["-webkit-text-fill-color"],
        &[P::Fill],
        One(setting::colour),
    ),
    (&["text-shadow"], &[P::Shadow], One(setting::shadow)),
    (
        &["-webkit-text-stroke"],
        &[P::StrokeWidth, P::Stroke],
        Several(setting::stroke),
    ),
    (
        &["-webkit-text-stroke-width"],
        &[P::StrokeWidth],
        Lengths(LengthKind::Stroke, 1, &[0]),
    ),
    (
        &["-webkit-text-stroke-color"],
        &[P::Stroke],
        One(setting::colour),
    ),
    (
        &["background"],
        &[P::Background, P::BackgroundImage, P::BackgroundClip],
        Several(setting::background),
    ),
    (
        &["background-color"],
        &[P::Background],
        One(setting::colour),
    ),
    (
        &["background-image"],
        &[P::BackgroundImage],
        One(setting::background_image),
    ),
    (
        &["background-clip", "-webkit-background-clip"],
        &[P::BackgroundClip],
        Switch(
            &["text"],
            &["border-box", "padding-box", "content-box", "border-area"],
        ),
    ),
    (&["clip"], &[P::Clip], One(clip)),
    (
        &["clip-path", "-webkit-clip-path"],
        &[P::ClipPath],
        One(clip_path),
    ),
    (
        &["transform", "-webkit-transform"],
        &[P::Transform],
        One(|value| transform("transform", value.words)),
    ),
    (
        &["scale"],
        &[P::Scale],
        One(|value| transform("scale", value.words)),
    ),
    (
        &["translate"],
        &[P::Translate],
        One(|value| transform("translate", value.words)),
    ),
    (
        &["rotate"],
        &[P::Rotate],
        One(|value| transform("rotate", value.words)),
    ),
    (&["position"], &[P::Position], One(setting::position)),
    offset(&["left", "inset-inline-start"], &[P::Left]),
    offset(&["right", "inset-inline-end"], &[P::Right]),
    offset(&["top", "inset-block-start"], &[P::Top]),
    offset(&["bottom", "inset-block-end"], &[P::Bottom]),
    (
        &["inset"],
        &[P::Top, P::Right, P::Bottom, P::Left],
        Lengths(Offset, 4, &[0, 1, 2, 3]),
    ),
    (
        &["inset-inline"],
        &[P::Left, P::Right],
        Lengths(Offset, 2, &[0, 1]),
    ),
    (
        &["inset-block"],
        &[P::Top, P::Bottom],
        Lengths(Offset, 2, &[0, 1]),
    ),
    offset(&["margin-left", "margin-inline-start"], &[P::MarginLeft]),
    offset(&["margin-top", "margin-block-start"], &[P::MarginTop]),
    (
        &["margin-inline"],
        &[P::MarginLeft],
        Lengths(Offset, 2, &[0]),
    ),
    (&["margin-block"], &[P::MarginTop], Lengths(Offset, 2, &[0])),
    (
        &["margin"],
        &[P::MarginTop, P::MarginLeft],
        Lengths(Offset, 4, &[0, 3]),
    ),
    size(&["padding-left", "padding-inline-start"], &[P::PaddingLeft]),
    size(&["padding-right", "padding-inline-end"], &[P::PaddingRight]),
    size(&["padding-top", "padding-block-start"], &[P::PaddingTop]),
    size(
        &["padding-bottom", "padding-block-end"],
        &[P::PaddingBottom],
    ),
    (
        &["padding"],
        &[
            P::PaddingTop,
            P::PaddingRight,
            P::PaddingBottom,
            P::PaddingLeft,
        ],
        Lengths(Size, 4, &[0, 1, 2, 3]),
    ),
    (
        &["padding-inline"],
        &[P::PaddingLeft, P::PaddingRight],
        Lengths(Size, 2, &[0, 1]),
    ),
    (
        &["padding-block"],
        &[P::PaddingTop, P::PaddingBottom],
        Lengths(Size, 2, &[0, 1]),
    ),
    (&["text-indent"], &[P::Indent], One(setting::indent)),
    (
        &["text-align"],
        &[P::Align],
        Switch(
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
    ),
    (&["direction"], &[P::Align], Switch(&["rtl"], &["ltr"])),
    size(&["width", "inline-size"], &[P::Width]),
    size(&["height", "block-size"], &[P::Height]),
    least(&["min-width", "min-inline-size"], &[P::MinWidth]),
    least(&["min-height", "min-block-size"], &[P::MinHeight]),
    size(&["max-width", "max-inline-size"], &[P::MaxWidth]),
    size(&["max-height", "max-block-size"], &[P::MaxHeight]),
    (&["flex"], &[P::Grow, P::Basis], Several(setting::flex)),
    (&["flex-grow"], &[P::Grow], One(setting::flex_grow)),
    least(&["flex-basis"], &[P::Basis]),
    (
        &["flex-direction"],
        &[P::Column],
        Switch(&["column", "column-reverse"], &["row", "row-reverse"]),
    ),
    (
        &["flex-flow"],
        &[P::Column],
        One(|value| Some(setting::flex_flow(value))),
    ),
    (&["overflow"], &[P::Overflow], One(setting::overflow)),
    (
        &[
            "overflow-x",
            "overflow-y",
            "overflow-inline",
            "overflow-block",
        ],
        &[P::Overflow],
        setting::OVERFLOW,
    ),
    (
        &["all"],
        &[
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
        Keyword,
    ),
];

/// The properties that a declaration sets, and how its value is written. `None` if it can hide nothing.
pub(super) fn declared(name: &str) -> Option<(&'static [Property], &'static Syntax)> {
    DECLARATIONS
        .iter()
        .find(|(names, ..)| names.contains(&name))
        .map(|(_, properties, syntax)| (*properties, syntax))
}
