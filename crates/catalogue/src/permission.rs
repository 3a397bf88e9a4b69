//! What a key permits: its role, how often it may be used, and which gate its books must pass.

use std::fmt;
use std::str::FromStr;

use lapidary_common::words;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use utoipa::ToSchema;

words! {
    /// One of the things that a key permits.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Permission {
        /// Check texts, file checks and decide about them.
        Check = "check",
        /// Add, change, remove and find the books of the key's libraries, and manage their sources.
        Ingest = "ingest",
        /// Read the kept texts of the key's libraries.
        ReadTexts = "read_texts",
        /// Read the books of the key's libraries, with their gems of public recipes.
        Follow = "follow",
        /// Decide about filed checks that matched books of the key's libraries.
        Review = "review",
        /// Add, change and remove books that are `forbidden`. It needs `ingest`.
        Ban = "ban",
        /// Everything.
        Administer = "administer",
    }
}

impl FromStr for Permission {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, &'static str> {
        Self::named(word)
            .ok_or("a permission is check, ingest, read_texts, follow, review, ban or administer")
    }
}

words! {
    /// A name of a usual set of permissions.
    #[derive(Hash)]
    pub enum Role {
        /// `check`.
        Check = "check",
        /// `check`, `read_texts` and `review`.
        Texts = "texts",
        /// `ingest`.
        Ingest = "ingest",
        /// `administer`.
        Admin = "admin",
    }
}

impl Role {
    /// The permissions that it names.
    #[must_use]
    pub fn permissions(self) -> &'static [Permission] {
        match self {
            Self::Check => &[Permission::Check],
            Self::Texts => &[Permission::Check, Permission::ReadTexts, Permission::Review],
            Self::Ingest => &[Permission::Ingest],
            Self::Admin => &[Permission::Administer],
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::named(word).ok_or_else(|| "a role is check, texts, ingest or admin".to_owned())
    }
}

/// The verdict that keeps a book from being added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unless {
    /// Others may not publish the text.
    Protected,
}

impl FromStr for Unless {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, &'static str> {
        if word == "protected" {
            Ok(Self::Protected)
        } else {
            Err("it must be protected")
        }
    }
}

/// A rate limit, such as `50/s`, `600/min`, `1000/h` or `100000/day`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct Rate {
    /// Number of requests, at least 1.
    pub count: u32,
    /// The unit of time.
    pub per: Unit,
}

impl Rate {
    /// How many requests in a second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        f64::from(self.count) / f64::from(self.per.seconds())
    }

    /// So many requests in a second: a whole number in the shortest unit of time that has one, or else in a day.
    #[must_use]
    pub fn of_per_second(requests: f64) -> Self {
        let in_unit = |per: Unit| requests * f64::from(per.seconds());
        let is_whole = |per: &Unit| {
            let count = in_unit(*per);
            count >= 0.5 && (count - count.round()).abs() < 1e-6 * count
        };
        let mut units = Unit::ALL.into_iter().map(|(unit, ..)| unit);
        let per = units.find(is_whole).unwrap_or(Unit::Day);
        Self {
            count: in_unit(per).round().max(1.0) as u32,
            per,
        }
    }
}

/// The unit of time of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Per second.
    Second,
    /// Per minute.
    Minute,
    /// Per hour.
    Hour,
    /// Per day.
    Day,
}

impl Unit {
    const ALL: [(Self, &str, u32); 4] = [
        (Self::Second, "s", 1),
        (Self::Minute, "min", 60),
        (Self::Hour, "h", 3_600),
        (Self::Day, "day", 86_400),
    ];

    /// Its length in seconds.
    #[must_use]
    pub fn seconds(self) -> u32 {
        Self::ALL
            .iter()
            .find(|(unit, ..)| *unit == self)
            .map_or(1, |(.., seconds)| *seconds)
    }
}

/// An invalid rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a rate; write a whole number from 1 to 4294967295 and a unit of time, such as 50/s, 600/min, 1000/h or \
     100000/day"
)]
pub struct RateError(String);

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let parsed = text.split_once('/').and_then(|(count, per)| {
            let (per, ..) = Unit::ALL.into_iter().find(|(_, name, _)| *name == per)?;
            Some(Self {
                count: count.parse().ok().filter(|count| *count > 0)?,
                per,
            })
        });
        parsed.ok_or_else(|| RateError(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Unit::ALL
            .iter()
            .find(|(unit, ..)| *unit == self.per)
            .map_or("s", |(_, name, _)| *name);
        write!(f, "{}/{name}", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn rates() {
        for text in ["50/s", "601/min", "1000/h", "100000/day"] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate.to_string(), text);
            assert_eq!(Rate::of_per_second(rate.per_second()), rate);
        }
        for text in [
            "",
            "50",
            "/s",
            "0/s",
            "-1/s",
            "1/week",
            "4294967296/s",
            "1 / s",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
