//! Colours, and which of them a reader cannot tell apart.

/// A colour without its opacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour {
    pub(super) red: u8,
    pub(super) green: u8,
    pub(super) blue: u8,
}

impl Colour {
    pub(super) const BLACK: Self = Self {
        red: 0,
        green: 0,
        blue: 0,
    };
    pub(super) const WHITE: Self = Self {
        red: 255,
        green: 255,
        blue: 255,
    };

    /// Six hexadecimal digits, with or without `#`.
    pub(super) fn of_hex(digits: &str) -> Option<Self> {
        let digits = digits.trim().trim_start_matches('#');
        if digits.len() != 6 || !digits.is_ascii() {
            return None;
        }
        let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        Some(Self {
            red: part(0)?,
            green: part(2)?,
            blue: part(4)?,
        })
    }

    /// This colour, with a share of the other one.
    pub(super) fn mixed(self, other: Self, share: f32) -> Self {
        self.combined(other, |a, b| a + share.clamp(0.0, 1.0) * (b - a))
    }

    /// Each part of this colour with that of the other one.
    pub(super) fn combined(self, other: Self, combine: impl Fn(f32, f32) -> f32) -> Self {
        let pairs = self.pairs(other);
        Self::of_parts(pairs.map(|(a, b)| combine(a.into(), b.into())))
    }

    /// A colour of parts from 0 to 255; others are clamped.
    pub(super) fn of_parts(parts: [f32; 3]) -> Self {
        let [red, green, blue] = parts.map(|part| part.round() as u8);
        Self { red, green, blue }
    }

    fn pairs(self, other: Self) -> [(u8, u8); 3] {
        [
            (self.red, other.red),
            (self.green, other.green),
            (self.blue, other.blue),
        ]
    }

    /// Whether letters in this colour cannot be seen on the other one.
    pub(super) fn is_lost_on(self, other: Self) -> bool {
        /// The largest difference in each part, and the smallest contrast that can be seen: `#e6e6e6` is lost on white, light
        /// yellow is not.
        const LARGEST: u8 = 32;
        const SMALLEST: f64 = 1.25;
        let mut pairs = self.pairs(other).into_iter();
        if pairs.any(|(a, b)| a.abs_diff(b) > LARGEST) {
            return false;
        }
        let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
        a.max(b) / a.min(b) < SMALLEST
    }

    /// The relative luminance, as WCAG 2 defines it.
    fn luminance(self) -> f64 {
        0.2126 * linear(self.red) + 0.7152 * linear(self.green) + 0.0722 * linear(self.blue)
    }
}

fn linear(part: u8) -> f64 {
    let part = f64::from(part) / 255.0;
    if part <= 0.04045 {
        part / 12.92
    } else {
        ((part + 0.055) / 1.055).powf(2.4)
    }
}

#[cfg(test)]
mod tests {
    use super::Colour;

    #[test]
    fn colours_that_cannot_be_told_apart() {
        let colour = |hex| Colour::of_hex(hex).expect("a colour");
        for (letters, paper, is_lost) in [
            ("ffffff", "#FFFFFF", true),
            ("f0f0f0", "ffffff", true),
            ("000000", "0a0a0a", true),
            ("ffff00", "ffffff", false),
            ("cccccc", "ffffff", false),
            ("000000", "ffffff", false),
            ("333333", "000000", false),
        ] {
            assert_eq!(
                colour(letters).is_lost_on(colour(paper)),
                is_lost,
                "{letters} on {paper}"
            );
        }
        assert_eq!(
            [Colour::of_hex("auto"), Colour::of_hex("ффф")],
            [None, None]
        );
    }
}
