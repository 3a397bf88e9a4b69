//! What letters and boxes are painted with.

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

/// The whole of each part of a colour, by the function that makes it.
const FUNCTIONS: &[(&str, [f32; 3])] = &[
    ("rgb", [255.0, 255.0, 255.0]),
    ("rgba", [255.0, 255.0, 255.0]),
    ("hsl", [360.0, 100.0, 100.0]),
    ("hsla", [360.0, 100.0, 100.0]),
    ("hwb", [360.0, 100.0, 100.0]),
    ("lab", [100.0, 125.0, 125.0]),
    ("lch", [100.0, 150.0, 360.0]),
    ("oklab", [1.0, 0.4, 0.4]),
    ("oklch", [1.0, 0.4, 360.0]),
    ("color", [1.0, 1.0, 1.0]),
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
                name => {
                    let (_, wholes) = FUNCTIONS.iter().find(|(function, _)| *function == name)?;
                    of_parts(name, *wholes, inner)
                }
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
                let part =
                    |one: u8, other: u8| alpha * f32::from(one) + (1.0 - alpha) * f32::from(other);
                Some(of_bytes([
                    part(colour.red, below.red),
                    part(colour.green, below.green),
                    part(colour.blue, below.blue),
                ]))
            }
            _ => None,
        }
    }
}

/// A colour by its parts.
fn of_parts(function: &str, wholes: [f32; 3], words: &[Word]) -> Option<Paint> {
    let (space, words) = match words {
        [Word::Ident(first), ..] if first == "from" => return Some(Paint::Unknown),
        [Word::Ident(space), rest @ ..] if function == "color" => (space.as_str(), rest),
        words => (function, words),
    };
    let parts: Vec<&Word> = words
        .iter()
        .filter(|word| !matches!(word, Word::Delim(',' | '/')))
        .collect();
    if parts.len() != 3 && parts.len() != 4 {
        return None;
    }
    if parts.iter().any(|word| matches!(word, Word::Function(..))) {
        return Some(Paint::Unknown);
    }
    let number = |word: &Word, whole: f32| match word {
        Word::Number(number) => Some(*number),
        Word::Percent(share) => Some(share * whole),
        Word::Angle(degrees) if whole > 255.0 => Some(*degrees),
        Word::Ident(name) if name == "none" => Some(0.0),
        _ => None,
    };
    let [a, b, c] = [0, 1, 2].map(|i| number(parts[i], wholes[i]));
    let (a, b, c) = (a?, b?, c?);
    let alpha = parts.get(3).map_or(Some(1.0), |word| number(word, 1.0))?;
    let colour = match space {
        "rgb" | "rgba" => of_bytes([a, b, c]),
        "hsl" | "hsla" => of_bytes(hsl(a, b, c).map(|part| part * 255.0)),
        "hwb" => {
            let (white, black) = (b.max(0.0) / 100.0, c.max(0.0) / 100.0);
            let both = (white + black).max(1.0);
            of_bytes(
                hsl(a, 100.0, 50.0)
                    .map(|part| 255.0 * (part * (1.0 - (white + black) / both) + white / both)),
            )
        }
        "lab" => of_lab(a, b, c),
        "lch" => of_lab(a, b * c.to_radians().cos(), b * c.to_radians().sin()),
        "oklab" => of_oklab(a, b, c),
        "oklch" => of_oklab(a, b * c.to_radians().cos(), b * c.to_radians().sin()),
        "srgb-linear" => of_linear([a, b, c]),
        space if space.starts_with("xyz") => of_xyz(a, b, c),
        // Others differ little in what can be seen.
        _ => of_bytes([a * 255.0, b * 255.0, c * 255.0]),
    };
    Some(Paint::Colour(colour, alpha.clamp(0.0, 1.0)))
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
    let mix = |a: u8, b: u8| (alpha * f32::from(a) + beta * f32::from(b)) / all;
    let colour = of_bytes([
        mix(one.red, other.red),
        mix(one.green, other.green),
        mix(one.blue, other.blue),
    ]);
    Some(Paint::Colour(
        colour,
        (alpha + beta) / (of_one + of_other).max(1.0),
    ))
}

fn of_bytes(parts: [f32; 3]) -> Colour {
    let [red, green, blue] = parts.map(|part| part.round().clamp(0.0, 255.0) as u8);
    Colour { red, green, blue }
}

/// The parts are from 0 to 1.
fn hsl(hue: f32, saturation: f32, lightness: f32) -> [f32; 3] {
    let (saturation, lightness) = (
        (saturation / 100.0).clamp(0.0, 1.0),
        (lightness / 100.0).clamp(0.0, 1.0),
    );
    [0.0, 8.0, 4.0].map(|n| {
        let k = (n + hue / 30.0).rem_euclid(12.0);
        let amount = saturation * lightness.min(1.0 - lightness);
        lightness - amount * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0)
    })
}

fn of_linear(parts: [f32; 3]) -> Colour {
    of_bytes(parts.map(|part| {
        255.0
            * if part <= 0.003_130_8 {
                part * 12.92
            } else {
                1.055 * part.powf(1.0 / 2.4) - 0.055
            }
    }))
}

fn of_xyz(x: f32, y: f32, z: f32) -> Colour {
    of_linear([
        3.2410 * x - 1.5374 * y - 0.4986 * z,
        -0.9692 * x + 1.8760 * y + 0.0416 * z,
        0.0556 * x - 0.2040 * y + 1.0570 * z,
    ])
}

fn of_lab(lightness: f32, a: f32, b: f32) -> Colour {
    let y = (lightness + 16.0) / 116.0;
    let part = |f: f32| {
        if f > 6.0 / 29.0 {
            f.powi(3)
        } else {
            (116.0 * f - 16.0) / 903.3
        }
    };
    // The white of a screen.
    of_xyz(
        0.9505 * part(y + a / 500.0),
        part(y),
        1.089 * part(y - b / 200.0),
    )
}

fn of_oklab(lightness: f32, a: f32, b: f32) -> Colour {
    let long = (lightness + 0.396_338 * a + 0.215_804 * b).powi(3);
    let medium = (lightness - 0.105_561 * a - 0.063_854 * b).powi(3);
    let short = (lightness - 0.089_484 * a - 1.291_486 * b).powi(3);
    of_linear([
        4.076_742 * long - 3.307_712 * medium + 0.230_97 * short,
        -1.268_438 * long + 2.609_757 * medium - 0.341_319 * short,
        -0.004_196 * long - 0.703_419 * medium + 1.707_615 * short,
    ])
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
