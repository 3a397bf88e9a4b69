//! The server itself: whether it is up, and the transfer of whole catalogues.

use serde::{Deserialize, Serialize};
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
        Self { status: status.to_owned() }
    }
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Imported {
    /// The number of books imported.
    pub books: u64,
}
