//! What a key permits, for a client that tests its connection.

use std::collections::BTreeSet;

use jiff::Timestamp;
use lapidary_gems::RecipeName;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::permission::{Permission, Rate, Role, Unless};
use lapidary_store::Library;

/// What the caller may do, and what the server offers.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// The name of the key; absent if none is needed.
    pub name: Option<String>,
    /// The role of the key, if it has one.
    pub role: Option<Role>,
    /// All that it permits.
    pub permissions: BTreeSet<Permission>,
    /// The libraries for which it can ingest, read texts, follow or review.
    pub libraries: BTreeSet<Library>,
    /// For a key that can ingest: the gate that each book must pass which it adds or replaces.
    pub must_gate: Option<Unless>,
    /// When the secret that was sent expires.
    pub expires_at: Option<Timestamp>,
    /// What bounds its requests.
    pub limits: RequestLimits,
    /// The recipes of the catalogue, the default first.
    pub recipes: Vec<UsableRecipe>,
    /// What this server has that others may not have.
    pub features: BTreeSet<Feature>,
    /// The version of the program.
    pub version: String,
}

/// What bounds the requests of a client.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RequestLimits {
    /// Rate limit of the key. The header `RateLimit-Remaining` of each answer says what is left.
    #[schema(value_type = Option<String>, example = "50/s")]
    pub rate: Option<Rate>,
    /// Number of requests of the key per day (UTC).
    #[schema(value_type = Option<String>, example = "100000/day")]
    pub quota: Option<Rate>,
    /// The largest body of a request, in bytes.
    pub max_body_bytes: u64,
    /// The largest number of gems of a text.
    pub max_gems: u64,
}

/// A recipe that a client may compute gems of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsableRecipe {
    /// The recipe.
    #[schema(value_type = String)]
    pub recipe: RecipeName,
    /// Whether checks use it by default.
    pub default: bool,
    /// Whether a check can name it without `allow_incomplete`.
    pub ready: bool,
}

/// What a server may have or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Jobs of the kind `backup`.
    Backups,
    /// Other servers share the catalogue.
    Cluster,
    /// The web console.
    Console,
}
