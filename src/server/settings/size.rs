//! Sizes in settings.

use std::fmt;
use std::str::FromStr;

use bytesize::ByteSize;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A number of bytes, parsed with or without a unit: `300MiB`, `1GB`, `4096`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Size(pub u64);

impl Size {
    /// The size as a `usize`, capped at its maximum.
    #[must_use]
    pub fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl From<usize> for Size {
    fn from(bytes: usize) -> Self {
        Self(bytes as u64)
    }
}

impl fmt::Display for Size {
    /// With the largest unit of which it is a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units
            .iter()
            .find(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit))
        {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = text.parse::<ByteSize>();
        size.map(|size| Self(size.0))
            .map_err(|_| "give a number of bytes, or one with a unit: 300MiB, 1GB, 1.5GiB")
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;

        impl Visitor<'_> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, or a string with a unit, such as \"300MiB\"")
            }

            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }

            fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
                u64::try_from(bytes)
                    .map(Size)
                    .map_err(|_| E::custom("a size cannot be negative"))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(SizeVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn sizes_with_and_without_units() {
        let table = [
            ("0", 0),
            ("314572800", 314_572_800),
            ("1GB", 1_000_000_000),
            ("1 GiB", 1 << 30),
            ("1.5GiB", 3 << 29),
            ("64kB", 64_000),
            ("64KiB", 64 << 10),
            ("300mib", 300 << 20),
            ("12 MB", 12_000_000),
            ("7B", 7),
        ];
        for (text, bytes) in table {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
            assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "GB", "-1", "1XB", "1 GB x", "ten"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
