//! Access keys.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::index::Library;

/// What a key permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Check texts.
    Check,
    /// Add, show and remove the books of some libraries.
    Ingest,
    /// Everything.
    Admin,
}

impl Role {
    /// The word used in JSON and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Ingest => "ingest",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let all = [Self::Check, Self::Ingest, Self::Admin];
        all.into_iter().find(|role| role.as_str() == word).ok_or_else(|| "a role is check, ingest or admin".to_owned())
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A rate limit, such as `50/s`, `600/min`, `1000/h` or `100000/day`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    /// Number of requests, at least 1.
    pub count: u32,
    /// The unit of time.
    pub per: Unit,
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
    const ALL: [(Self, &str, u32); 4] =
        [(Self::Second, "s", 1), (Self::Minute, "min", 60), (Self::Hour, "h", 3_600), (Self::Day, "day", 86_400)];

    /// Its length in seconds.
    #[must_use]
    pub fn seconds(self) -> u32 {
        Self::ALL.iter().find(|(unit, ..)| *unit == self).map_or(1, |(.., seconds)| *seconds)
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
            Some(Self { count: count.parse().ok().filter(|count| *count > 0)?, per })
        });
        parsed.ok_or_else(|| RateError(text.chars().take(40).collect()))
    }
}

impl TryFrom<String> for Rate {
    type Error = RateError;

    fn try_from(text: String) -> Result<Self, RateError> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Unit::ALL.iter().find(|(unit, ..)| *unit == self.per).map_or("s", |(_, name, _)| *name);
        write!(f, "{}/{name}", self.count)
    }
}

/// A key to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// What it permits.
    pub role: Role,
    /// The libraries of an ingest key.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub libraries: BTreeSet<Library>,
    /// Rate limit. A burst of this many requests is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "50/s")]
    pub rate: Option<Rate>,
    /// Number of requests per day (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "100000/day")]
    pub quota: Option<Rate>,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Key {
    /// Its id, which is the first part of the secret.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it permits.
    pub role: Role,
    /// The libraries of an ingest key.
    pub libraries: BTreeSet<Library>,
    /// Rate limit.
    #[schema(value_type = Option<String>, example = "50/s")]
    pub rate: Option<Rate>,
    /// Number of requests per day (UTC).
    #[schema(value_type = Option<String>, example = "100000/day")]
    pub quota: Option<Rate>,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// When it was created.
    pub created: Timestamp,
}

impl Key {
    /// Whether it has expired.
    #[must_use]
    pub fn has_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= Timestamp::now())
    }
}

/// All keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Keys {
    /// Ordered by name.
    pub keys: Vec<Key>,
}

/// How to rotate a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// How long the previous secret stays valid, in seconds.
    pub overlap_seconds: u32,
}

/// A new key with its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeKey {
    /// The key.
    #[serde(flatten)]
    pub key: Key,
    /// The secret that its owner sends. It is shown only once.
    pub secret: String,
}

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn rates() {
        for text in ["50/s", "600/min", "1000/h", "100000/day"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["", "50", "/s", "0/s", "-1/s", "1/week", "4294967296/s", "1 / s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
