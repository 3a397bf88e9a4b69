//! What letters and boxes are painted with.

use color::ColorSpaceTag;

use super::super::colour::Colour;
use super::value::Word;

/// What letters or a background are painted with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Paint {
    /// A colour and its opacity.
    Colour(Colour, f32),
    /// The colour of the letters.
    Current,
    /// A picture, or a colour that is not known.
    Unknown,
}

/// The functions that make colours, the whole of each part, and the space that they are in.
const FUNCTIONS: &[(&str, [f32; 3], ColorSpaceTag)] = &[
    ("rgb", [255.0, 255.0, 255.0], ColorSpaceTag::Srgb),
    ("rgba", [255.0, 255.0, 255.0], ColorSpaceTag::Srgb),
    ("hsl", [360.0, 100.0, 100.0], ColorSpaceTag::Hsl),
    ("hsla", [360.0, 100.0, 100.0], ColorSpaceTag::Hsl),
    ("hwb", [360.0, 100.0, 100.0], ColorSpaceTag::Hwb),
    ("lab", [100.0, 125.0, 125.0], ColorSpaceTag::Lab),
    ("lch", [100.0, 150.0, 360.0], ColorSpaceTag::Lch),
    ("oklab", [1.0, 0.4, 0.4], ColorSpaceTag::Oklab),
    ("oklch", [1.0, 0.4, 360.0], ColorSpaceTag::Oklch),
    ("color", [1.0, 1.0, 1.0], ColorSpaceTag::Srgb),
];

/// The spaces of `color(…)`.
const SPACES: &[(&str, ColorSpaceTag)] = &[
    ("srgb", ColorSpaceTag::Srgb),
    ("srgb-linear", ColorSpaceTag::LinearSrgb),
    ("display-p3", ColorSpaceTag::DisplayP3),
    ("a98-rgb", ColorSpaceTag::A98Rgb),
    ("prophoto-rgb", ColorSpaceTag::ProphotoRgb),
    ("rec2020", ColorSpaceTag::Rec2020),
    ("xyz", ColorSpaceTag::XyzD65),
    ("xyz-d65", ColorSpaceTag::XyzD65),
    ("xyz-d50", ColorSpaceTag::XyzD50),
];

/// The colours of a browser's own parts, as they usually are.
const OF_SYSTEM: &[(&str, &str)] = &[
    ("canvas", "ffffff"),
    ("field", "ffffff"),
    ("window", "ffffff"),
    ("base", "ffffff"),
    ("highlighttext", "ffffff"),
    ("infobackground", "ffffff"),
    ("background", "ffffff"),
    ("canvastext", "000000"),
    ("fieldtext", "000000"),
    ("windowtext", "000000"),
    ("buttontext", "000000"),
    ("marktext", "000000"),
    ("menutext", "000000"),
    ("infotext", "000000"),
    ("captiontext", "000000"),
    ("selecteditemtext", "ffffff"),
    ("accentcolortext", "ffffff"),
    ("buttonface", "efefef"),
    ("threedface", "efefef"),
    ("menu", "f7f7f7"),
    ("buttonborder", "000000"),
    ("graytext", "808080"),
    ("highlight", "0078d7"),
    ("selecteditem", "0078d7"),
    ("accentcolor", "0078d7"),
    ("mark", "ffff00"),
    ("linktext", "0000ee"),
    ("visitedtext", "551a8b"),
    ("activetext", "ff0000"),
];

impl Paint {
    pub(super) const BLACK: Self = Self::Colour(Colour::BLACK, 1.0);
    /// Nothing is painted.
    pub(super) const NONE: Self = Self::Colour(Colour::BLACK, 0.0);

    /// A colour of six hexadecimal digits.
    pub(super) fn of_hex(digits: &str) -> Self {
        Colour::of_hex(digits).map_or(Self::Unknown, |colour| Self::Colour(colour, 1.0))
    }

    /// The colour that a word names, if it names any.
    pub(super) fn of(word: &Word) -> Option<Self> {
        match word {
            Word::Ident(name) => match name.as_str() {
                "transparent" => Some(Self::NONE),
                "currentcolor" => Some(Self::Current),
                name => {
                    if let Some((_, digits)) =
                        OF_SYSTEM.iter().find(|(of_system, _)| *of_system == name)
                    {
                        return Some(Self::of_hex(digits));
                    }
                    let (red, green, blue) = cssparser::color::parse_named_color(name).ok()?;
                    Some(Self::Colour(Colour { red, green, blue }, 1.0))
                }
            },
            Word::Hash(digits) => {
                let (red, green, blue, alpha) =
                    cssparser::color::parse_hash_color(digits.as_bytes()).ok()?;
                Some(Self::Colour(Colour { red, green, blue }, alpha))
            }
            Word::Function(name, inner) => match name.as_str() {
                "color-mix" => mixture(inner),
                "light-dark" => Self::of(inner.first()?),
                name => of_parts(name, inner),
            },
            _ => None,
        }
    }

    /// Whether a word stands for a picture or a gradient.
    pub(super) fn is_picture(word: &Word) -> bool {
        let Word::Function(name, _) = word else {
            return false;
        };
        let is_known = [
            "url",
            "src",
            "image",
            "image-set",
            "-webkit-image-set",
            "cross-fade",
            "-webkit-cross-fade",
            "element",
        ];
        name.ends_with("gradient") || is_known.contains(&name.as_str())
    }

    /// On a background that has this colour, if it has one.
    pub(super) fn over(self, below: Option<Colour>) -> Option<Colour> {
        match (self, below) {
            (Self::Colour(_, alpha), below) if alpha <= 0.0 => below,
            (Self::Colour(colour, alpha), _) if alpha >= 1.0 => Some(colour),
            (Self::Colour(colour, alpha), Some(below)) => {
                Some(colour.combined(below, |one, other| alpha * one + (1.0 - alpha) * other))
            }
            _ => None,
        }
    }
}

/// A colour space by its name. Unknown ones differ little in what can be seen.
fn space_of(name: &str, usual: ColorSpaceTag) -> ColorSpaceTag {
    let known = SPACES.iter().find(|(space, _)| *space == name);
    known.map_or(usual, |(_, space)| *space)
}

/// A colour by its parts.
fn of_parts(function: &str, words: &[Word]) -> Option<Paint> {
    let &(_, wholes, usual) = FUNCTIONS.iter().find(|(name, ..)| *name == function)?;
    let (space, words) = match words {
        [Word::Ident(first), ..] if first == "from" => return Some(Paint::Unknown),
        [Word::Ident(name), rest @ ..] if function == "color" => (space_of(name, usual), rest),
        words => (usual, words),
    };
    let parts: Vec<&Word> = words
        .iter()
        .filter(|word| !matches!(word, Word::Delim(',' | '/')))
        .collect();
    if parts.iter().any(|word| matches!(word, Word::Function(..))) {
        return matches!(parts.len(), 3 | 4).then_some(Paint::Unknown);
    }
    let (&words, alpha) = parts.split_first_chunk()?;
    let alpha = match *alpha {
        [] => 1.0,
        [alpha] => part(alpha, 1.0)?,
        _ => return None,
    };
    let colour = on_screen(space, numbers(space, words, wholes)?);
    Some(Paint::Colour(colour, alpha.clamp(0.0, 1.0)))
}

/// The parts of a colour as its space counts them.
fn numbers(space: ColorSpaceTag, words: [&Word; 3], wholes: [f32; 3]) -> Option<[f32; 3]> {
    let [first, second, third] = [
        part(words[0], wholes[0])?,
        part(words[1], wholes[1])?,
        part(words[2], wholes[2])?,
    ];
    Some(match space {
        ColorSpaceTag::Srgb => [first / wholes[0], second / wholes[1], third / wholes[2]],
        ColorSpaceTag::Hsl | ColorSpaceTag::Hwb => {
            [first, second.clamp(0.0, 100.0), third.clamp(0.0, 100.0)]
        }
        _ => [first, second, third],
    })
}

/// A colour of some space, as a screen shows it.
fn on_screen(space: ColorSpaceTag, parts: [f32; 3]) -> Colour {
    Colour::of_parts(
        space
            .convert(ColorSpaceTag::Srgb, parts)
            .map(|part| 255.0 * part),
    )
}

/// A part of a colour, as a number.
fn part(word: &Word, whole: f32) -> Option<f32> {
    match word {
        Word::Number(number) => Some(*number),
        Word::Percent(share) => Some(share * whole),
        Word::Angle(degrees) if whole > 255.0 => Some(*degrees),
        Word::Ident(name) if name == "none" => Some(0.0),
        _ => None,
    }
}

/// A mixture of two colours. In which space they are mixed matters little.
fn mixture(words: &[Word]) -> Option<Paint> {
    let mut parts = words.split(|word| *word == Word::Delim(',')).skip(1);
    let mut part = || {
        let words = parts.next()?;
        let share = words.iter().find_map(|word| {
            if let Word::Percent(share) = word {
                Some(*share)
            } else {
                None
            }
        });
        Some((words.iter().find_map(Paint::of)?, share))
    };
    let ((one, of_one), (other, of_other)) = (part()?, part()?);
    let of_one = of_one.or(of_other.map(|share| 1.0 - share)).unwrap_or(0.5);
    let of_other = of_other.unwrap_or(1.0 - of_one);
    let (Paint::Colour(one, alpha), Paint::Colour(other, beta)) = (one, other) else {
        return Some(Paint::Unknown);
    };
    let (alpha, beta) = (alpha * of_one, beta * of_other);
    let all = (alpha + beta).max(f32::MIN_POSITIVE);
    Some(Paint::Colour(
        one.combined(other, |a, b| (alpha * a + beta * b) / all),
        (alpha + beta) / (of_one + of_other).max(1.0),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::value::words;
    use super::{Colour, Paint};

    #[test]
    fn paints() {
        let paint = |value: &str| words(value).0.first().and_then(Paint::of);
        let colour = |hex| Some(Paint::Colour(Colour::of_hex(hex).expect("a colour"), 1.0));
        for (value, expected) in [
            ("white", colour("ffffff")),
            ("White !important", colour("ffffff")),
            ("#fff", colour("ffffff")),
            ("#FFFFFF", colour("ffffff")),
            ("rgb(255, 255, 255)", colour("ffffff")),
            ("rgb(100% 100% 100%)", colour("ffffff")),
            ("rgb(calc(250 + 5) 255 255)", colour("ffffff")),
            ("rgb(1 2 3 / 100%)", colour("010203")),
            ("hsl(0, 0%, 100%)", colour("ffffff")),
            ("hsl(120deg 100% 50%)", colour("00ff00")),
            ("hwb(0 100% 0%)", colour("ffffff")),
            ("hwb(120 0% 0%)", colour("00ff00")),
            ("lab(100 0 0)", colour("ffffff")),
            ("lch(100% 0 0)", colour("ffffff")),
            ("oklab(1 0 0)", colour("ffffff")),
            ("oklch(100% 0 0deg)", colour("ffffff")),
            ("oklch(0.628 0.2577 29.23)", colour("ff0000")),
            ("color(srgb 1 1 1)", colour("ffffff")),
            ("color(xyz 0.9505 1 1.089)", colour("ffffff")),
            ("color-mix(in srgb, white, white 20%)", colour("ffffff")),
            ("color-mix(in srgb, black 100%, white)", colour("000000")),
            ("Canvas", colour("ffffff")),
            ("rgba(0,0,0,0.5)", Some(Paint::Colour(Colour::BLACK, 0.5))),
            ("transparent", Some(Paint::NONE)),
            ("#0000", Some(Paint::NONE)),
            ("currentColor", Some(Paint::Current)),
            ("rgb(from white r g b)", Some(Paint::Unknown)),
            ("foo(1)", None),
            ("rgb(1)", None),
            ("none", None),
        ] {
            assert_eq!(paint(value), expected, "{value}");
        }
        let half = Paint::Colour(Colour::BLACK, 0.5).over(Some(Colour::WHITE));
        assert_eq!(half, Colour::of_hex("808080"));
    }
}
