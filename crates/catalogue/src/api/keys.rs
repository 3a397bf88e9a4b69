//! Access keys.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::permission::{Permission, Rate, Role, Unless};
use lapidary_store::{Actor, Library};

/// The beginning of the names of keys of people, who sign in with `OpenID` Connect. No other key has such a name.
pub const PERSON: &str = "oidc:";

/// A key to create.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// What it permits, as the name of a usual set of permissions. A key has a role, permissions, or both.
    pub role: Option<Role>,
    /// What it permits beside its role.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub permissions: BTreeSet<Permission>,
    /// The libraries for which it can ingest, read texts, follow or review. It must have some if it permits one of these.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub libraries: BTreeSet<Library>,
    /// For a key that can ingest, where it is required: whether its libraries are trusted. The books of a library that is not
    /// decide only in what its own keys are told, and are information for everybody else.
    pub trusted: Option<bool>,
    /// For a key that can ingest: the gate that each book must pass which it adds or replaces, whatever its requests ask for.
    /// Exceptions (`except`) do not count.
    pub must_gate: Option<Unless>,
    /// Rate limit. A burst of this many requests is allowed.
    #[schema(value_type = Option<String>, example = "50/s")]
    pub rate: Option<Rate>,
    /// Number of requests per day (UTC).
    #[schema(value_type = Option<String>, example = "100000/day")]
    pub quota: Option<Rate>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
}

impl NewKey {
    /// A key with this role, and without any limits.
    #[must_use]
    pub fn new(name: &str, role: Role) -> Self {
        Self {
            name: name.to_owned(),
            role: Some(role),
            permissions: BTreeSet::new(),
            libraries: BTreeSet::new(),
            trusted: None,
            must_gate: None,
            rate: None,
            quota: None,
            expires_at: None,
        }
    }

    /// Whether the key will have this permission.
    #[must_use]
    pub fn permits(&self, permission: Permission) -> bool {
        permits(self.role, &self.permissions, permission)
    }
}

fn permits(role: Option<Role>, further: &BTreeSet<Permission>, permission: Permission) -> bool {
    let has = |permission| {
        further.contains(&permission)
            || role.is_some_and(|role| role.permissions().contains(&permission))
    };
    has(permission) || has(Permission::Administer)
}

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Key {
    /// Its id, which is the first part of the secret.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it permits, as the name of a usual set of permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// What it permits beside its role.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub permissions: BTreeSet<Permission>,
    /// The libraries for which it can ingest, read texts, follow or review.
    pub libraries: BTreeSet<Library>,
    /// For a key that can ingest: the gate that each book must pass which it adds or replaces, whatever its requests ask for.
    /// Exceptions (`except`) do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_gate: Option<Unless>,
    /// Rate limit.
    #[schema(value_type = Option<String>, example = "50/s")]
    pub rate: Option<Rate>,
    /// Number of requests per day (UTC).
    #[schema(value_type = Option<String>, example = "100000/day")]
    pub quota: Option<Rate>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Key {
    /// Whether it has this permission.
    #[must_use]
    pub fn permits(&self, permission: Permission) -> bool {
        permits(self.role, &self.permissions, permission)
    }

    /// The libraries for which it has a permission; `None` for all.
    #[must_use]
    pub fn libraries_for(&self, permission: Permission) -> Option<BTreeSet<Library>> {
        if self.permits(Permission::Administer) {
            None
        } else if self.permits(permission) {
            Some(self.libraries.clone())
        } else {
            Some(BTreeSet::new())
        }
    }

    /// Whether it may see filed checks: those that it files or reviews.
    #[must_use]
    pub fn may_see_checks(&self) -> bool {
        self.permits(Permission::Check) || self.permits(Permission::Review)
    }

    /// As whom it sees them; `None` if it sees all.
    #[must_use]
    pub fn viewer(&self) -> Option<Actor> {
        (!self.permits(Permission::Administer)).then(|| Actor::Key(self.name.clone()))
    }

    /// Whether it is of a person, who has no secret and renews it by signing in.
    #[must_use]
    pub fn is_of_person(&self) -> bool {
        self.name.starts_with(PERSON)
    }

    /// Whether it has expired.
    #[must_use]
    pub fn has_expired(&self) -> bool {
        self.expires_at
            .is_some_and(|expires| expires <= Timestamp::now())
    }
}

/// A page of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Keys {
    /// Ordered by name.
    pub keys: Vec<Key>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
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
