//! A gem, and where in the source text its chunk lies.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The hash of one piece of a text, of 32 or 64 bits by its recipe. Written down it is a [`WrittenGem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gem(pub u64);

/// A gem as people and programs write it: a number if it has 32 bits, and 16 hexadecimal digits if it has 64, since the
/// numbers of JavaScript do not hold those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WrittenGem {
    /// In JSON a number.
    Number(u64),
    /// In JSON a string.
    Digits(u64),
}

impl From<WrittenGem> for Gem {
    fn from((WrittenGem::Number(gem) | WrittenGem::Digits(gem)): WrittenGem) -> Self {
        Self(gem)
    }
}

impl fmt::Display for WrittenGem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(gem) => write!(f, "{gem}"),
            Self::Digits(gem) => write!(f, "{gem:016x}"),
        }
    }
}

/// What is no gem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("gems are whole numbers, and those of a recipe of 64 bits 16 hexadecimal digits each")]
pub struct WrittenGemError;

impl FromStr for WrittenGem {
    type Err = WrittenGemError;

    /// 16 hexadecimal digits are a gem of 64 bits: no number of 32 bits is as long.
    fn from_str(written: &str) -> Result<Self, WrittenGemError> {
        let all = |allowed: fn(&u8) -> bool| written.bytes().all(|byte| allowed(&byte));
        if written.len() == 16 && all(u8::is_ascii_hexdigit) {
            return u64::from_str_radix(written, 16).map(Self::Digits).map_err(|_| WrittenGemError);
        }
        let number = Some(written).filter(|_| all(u8::is_ascii_digit)).and_then(|number| number.parse().ok());
        number.map(Self::Number).ok_or(WrittenGemError)
    }
}

impl Serialize for WrittenGem {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(gem) => to.serialize_u64(*gem),
            Self::Digits(_) => to.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for WrittenGem {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Gem;

        impl Visitor<'_> for Gem {
            type Value = WrittenGem;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a gem: a whole number, or a string of 16 hexadecimal digits")
            }

            fn visit_u64<E>(self, number: u64) -> Result<WrittenGem, E> {
                Ok(WrittenGem::Number(number))
            }

            fn visit_str<E: de::Error>(self, written: &str) -> Result<WrittenGem, E> {
                match written.parse() {
                    Ok(gem @ WrittenGem::Digits(_)) => Ok(gem),
                    _ => Err(E::invalid_value(Unexpected::Str(written), &self)),
                }
            }
        }

        from.deserialize_any(Gem)
    }
}

/// A range of bytes of the source text in UTF-8, without a byte-order mark: `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
pub struct Place {
    /// The first byte of the range.
    pub start: u64,
    /// The byte behind its last.
    pub end: u64,
}

/// A gem of a text that is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The gem.
    pub placed: PlacedGem,
    /// Whether a long text that has this one in it would be expected to have the gem; the others are looked up since, of a text
    /// that was changed around here, it may have kept another.
    pub kept: bool,
}

/// A gem as it came from a text, or, without a place, from a list of gems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedGem {
    /// The gem.
    pub gem: Gem,
    /// Where the chunk lies in the source; `None` when only the gems are known.
    pub place: Option<Place>,
}
