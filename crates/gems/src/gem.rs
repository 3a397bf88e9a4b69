//! Gems, and where their chunks lie in the source text.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The hash of one piece of a text: 32, 48 or 64 bits, depending on the recipe. Its written form is a [`WrittenGem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gem(pub u64);

/// The written form of a gem: a number with the exact recipes, 16 hexadecimal digits if it has more than 32 bits, and 8 if
/// it is a 32-bit signature, so that they cannot be confused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WrittenGem {
    /// A JSON number.
    Number(u64),
    /// A JSON string of 16 digits.
    Digits(u64),
    /// A JSON string of 8 digits.
    ShortDigits(u32),
}

impl From<WrittenGem> for Gem {
    fn from(written: WrittenGem) -> Self {
        match written {
            WrittenGem::Number(gem) | WrittenGem::Digits(gem) => Self(gem),
            WrittenGem::ShortDigits(gem) => Self(gem.into()),
        }
    }
}

impl fmt::Display for WrittenGem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(gem) => write!(f, "{gem}"),
            Self::Digits(gem) => write!(f, "{gem:016x}"),
            Self::ShortDigits(gem) => write!(f, "{gem:08x}"),
        }
    }
}

/// The text is not a gem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a gem is a whole number, or 16 hexadecimal digits if its recipe is a hardened one or a signature"
)]
pub struct WrittenGemError;

impl FromStr for WrittenGem {
    type Err = WrittenGemError;

    /// Sixteen hexadecimal digits are never a 32-bit gem: no such number is that long. Eight digits are a number, as they may
    /// be one; a signature of 32 bits is read from JSON, where it is a string.
    fn from_str(written: &str) -> Result<Self, WrittenGemError> {
        let bytes = written.as_bytes();
        let gem = if bytes.len() == 16 && bytes.iter().all(u8::is_ascii_hexdigit) {
            u64::from_str_radix(written, 16).map(Self::Digits)
        } else if bytes.iter().all(u8::is_ascii_digit) {
            written.parse().map(Self::Number)
        } else {
            return Err(WrittenGemError);
        };
        gem.map_err(|_| WrittenGemError)
    }
}

impl Serialize for WrittenGem {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(gem) => to.serialize_u64(*gem),
            Self::Digits(_) | Self::ShortDigits(_) => to.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for WrittenGem {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct GemVisitor;

        impl Visitor<'_> for GemVisitor {
            type Value = WrittenGem;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a gem: a whole number, or a string of 16 or 8 hexadecimal digits")
            }

            fn visit_u64<E>(self, number: u64) -> Result<WrittenGem, E> {
                Ok(WrittenGem::Number(number))
            }

            fn visit_str<E: de::Error>(self, written: &str) -> Result<WrittenGem, E> {
                if written.len() == 8 && written.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    let gem = u32::from_str_radix(written, 16).map(WrittenGem::ShortDigits);
                    return gem.map_err(E::custom);
                }
                match written.parse() {
                    Ok(gem @ WrittenGem::Digits(_)) => Ok(gem),
                    _ => Err(E::invalid_value(Unexpected::Str(written), &self)),
                }
            }
        }

        from.deserialize_any(GemVisitor)
    }
}

/// A byte range `start..end` of the UTF-8 source text, not counting a byte-order mark.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
pub struct Place {
    /// The first byte of the range.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
}

/// A gem to look up for a query text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The gem and its place.
    pub placed: PlacedGem,
    /// Whether a longer text that contains this one is expected to have this gem. The other gems are looked up
    /// because the longer text may have selected them instead if it was edited around here.
    pub kept: bool,
}

/// A gem and its place in a text. A gem from a list of gems has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedGem {
    /// The gem.
    pub gem: Gem,
    /// Where the chunk lies in the source; `None` when only the gems are known.
    pub place: Option<Place>,
}
