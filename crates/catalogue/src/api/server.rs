//! The server itself: whether it is up, and the transfer of whole catalogues.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// Whether a server is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok` for liveness, `ready` for readiness.
    pub status: String,
}

impl Health {
    /// With this status.
    #[must_use]
    pub fn of(status: &str) -> Self {
        Self {
            status: status.to_owned(),
        }
    }
}

/// What there is on a server, for programs that know only its address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Index {
    /// `lapidary`.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// Where things are, by what they are.
    #[schema(example = json!({ "check": "/v1/checks", "description": "/openapi.json", "manual": "/docs/" }))]
    pub links: BTreeMap<String, String>,
}

impl Index {
    /// Of this program.
    #[must_use]
    pub fn new(has_console: bool) -> Self {
        let links = [
            ("check", "/v1/checks"),
            ("libraries", "/v1/libraries"),
            ("books", "/v1/books"),
            ("decisions", "/v1/decisions"),
            ("sources", "/v1/sources"),
            ("jobs", "/v1/jobs"),
            ("me", "/v1/me"),
            ("stats", "/v1/stats"),
            ("description", "/openapi.json"),
            ("manual", "/docs/"),
            ("health", "/healthz"),
            ("readiness", "/readyz"),
            ("metrics", "/metrics"),
        ];
        let console = has_console.then_some(("console", "/console/"));
        let links = links
            .into_iter()
            .chain(console)
            .map(|(name, path)| (name.to_owned(), path.to_owned()));
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self {
            name: "lapidary".to_owned(),
            version,
            links: links.collect(),
        }
    }
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Imported {
    /// The number of books in the export.
    pub books: u64,
    /// How many of them were written. The others were there already, exactly like this.
    pub written: u64,
}

/// Which figures over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// Of the last hour.
    Hour,
    /// Of the last week.
    Week,
}

/// Figures over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The length of an interval.
    pub interval_seconds: u32,
    /// The intervals, the oldest first. Those in which nothing ran are missing.
    pub samples: Vec<Sample>,
}

/// Figures of an interval.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sample {
    /// Its end.
    pub timestamp: Timestamp,
    /// Number of checks, by verdict.
    pub checks: BTreeMap<String, u64>,
    /// Half of the checks took at most this long, in seconds. Absent if there were none.
    pub median_seconds: Option<f64>,
    /// 99 of 100 checks took at most this long, in seconds.
    pub p99_seconds: Option<f64>,
    /// Number of books at its end.
    pub books: u64,
    /// Size of all files in bytes; 0 if the store's engine does not know.
    pub disk_bytes: u64,
    /// Memory of the process in bytes; 0 if the system does not tell.
    pub memory_bytes: u64,
}

/// How many checks were answered, and books refused by the gate, on some days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckStatistics {
    /// The first day, in UTC.
    pub since: Date,
    /// The last day.
    pub until: Date,
    /// The days with checks, the oldest first.
    pub days: Vec<DayChecks>,
    /// Who asked, by name.
    pub actors: Vec<ActorChecks>,
    /// The libraries of the books because of which texts were protected or forbidden.
    pub libraries: Vec<LibraryChecks>,
}

/// The checks of a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayChecks {
    /// The day.
    pub day: Date,
    /// Number of checks, by verdict.
    pub checks: BTreeMap<String, u64>,
    /// Number of characters of the checked texts. Gems that were sent count none.
    pub characters: u64,
}

/// The checks of a key, or of those without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActorChecks {
    /// Who asked, as in the audit log.
    pub actor: String,
    /// Number of checks, by verdict.
    pub checks: BTreeMap<String, u64>,
    /// Number of characters of the checked texts. Gems that were sent count none.
    pub characters: u64,
}

/// The checks that a library decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibraryChecks {
    /// The library.
    pub library: String,
    /// Number of checks, by verdict.
    pub checks: BTreeMap<String, u64>,
    /// Number of characters of the checked texts. Gems that were sent count none.
    pub characters: u64,
}
