//! Keys: created, listed, rotated, revoked.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use lapidary_catalogue::CatalogueError;
use lapidary_catalogue::api::{Key, Keys, MadeKey, NewKey, Rotation};
use serde_json::json;

use crate::{
    Done, Endpoint, Input, Needs, Operation, OperationError, PageQuery, SentAs, Session, VersionOf,
    excerpt, filled,
};

/// Lists all keys.
pub struct ListKeys;

impl Operation for ListKeys {
    type Path = ();
    type Input = PageQuery;
    type Answer = Keys;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/keys", Needs::Admin)
        .named("keys", "List all keys, without their secrets")
        .answers(&[(200, "A page of keys, by name")]);

    fn run(session: &Session<'_>, (): (), query: PageQuery) -> Result<Keys, OperationError> {
        let keys = session.keys().list()?;
        let page = query.of(keys, KeyPlace::of, Ordering::Greater)?;
        Ok(page.into())
    }
}

/// Shows a key.
pub struct ShowKey;

impl ShowKey {
    /// Where it shows a key that was made.
    fn place_of(made: &MadeKey) -> String {
        filled(Self::ENDPOINT.path, &[&made.key.name])
    }
}

impl Operation for ShowKey {
    type Path = String;
    type Input = ();
    type Answer = Key;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::get("/v1/keys/{name}", Needs::Admin)
        .named("key", "Show a key, without its secret")
        .about("Of a key that was rotated, it is the newest secret.")
        .answers(&[(200, "The key")]);

    fn run(session: &Session<'_>, name: String, (): ()) -> Result<Key, OperationError> {
        let key = session.keys().named(&name)?;
        let key = key.ok_or_else(|| CatalogueError::NoSuchKey(excerpt(&name)))?;
        Ok(Key::clone(&key))
    }
}

#[expect(clippy::ptr_arg, reason = "the path of these operations is a `String`")]
fn version(session: &Session<'_>, name: &String) -> Result<Option<String>, OperationError> {
    Ok(session.keys().version(name)?)
}

/// The place of a key in the list: several secrets of one name are there one by one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct KeyPlace {
    name: String,
    created: Timestamp,
}

impl KeyPlace {
    fn of(key: &Key) -> Self {
        Self {
            name: key.name.clone(),
            created: key.created_at,
        }
    }
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.created, self.name)
    }
}

impl FromStr for KeyPlace {
    type Err = ();

    fn from_str(cursor: &str) -> Result<Self, ()> {
        let (created, name) = cursor.split_once(' ').ok_or(())?;
        Ok(Self {
            name: name.to_owned(),
            created: created.parse().map_err(drop)?,
        })
    }
}

/// Creates a key.
pub struct MakeKey;

impl Input for NewKey {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({ "name": "me", "role": "admin" }))
    }
}

impl Operation for MakeKey {
    type Path = ();
    type Input = NewKey;
    type Answer = MadeKey;
    const CREATES: bool = true;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/keys", Needs::Admin)
        .named("make_key", "Create a key")
        .about(
            "The role is check, texts or ingest (these with `libraries`), or admin. The secret is shown only once. From the first \
             key on, every call needs one: make an admin's key first.",
        )
        .answers(&[(201, "The key and its secret")]);

    fn place(made: &MadeKey) -> Option<String> {
        Some(ShowKey::place_of(made))
    }

    fn run(session: &Session<'_>, (): (), new: NewKey) -> Result<MadeKey, OperationError> {
        Ok(session.keys().add(new)?)
    }
}

/// Gives a key a new secret. The former one stays valid for some time.
pub struct RotateKey;

impl Input for Rotation {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({ "overlap_seconds": 86_400 }))
    }
}

impl Operation for RotateKey {
    type Path = String;
    type Input = Rotation;
    type Answer = MadeKey;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const CREATES: bool = true;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/keys/{name}/rotate", Needs::Admin)
        .named("rotate_key", "Rotate a key: create a new secret")
        .answers(&[(201, "The key and its new secret")]);

    fn place(made: &MadeKey) -> Option<String> {
        Some(ShowKey::place_of(made))
    }

    fn run(
        session: &Session<'_>,
        name: String,
        rotation: Rotation,
    ) -> Result<MadeKey, OperationError> {
        let overlap = SignedDuration::from_secs(rotation.overlap_seconds.into());
        Ok(session.keys().rotate(&name, overlap)?)
    }
}

/// Revokes a key immediately.
pub struct RevokeKey;

impl Operation for RevokeKey {
    type Path = String;
    type Input = ();
    type Answer = Done;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::delete("/v1/keys/{name}", Needs::Admin)
        .named("revoke_key", "Revoke a key immediately")
        .about(
            "If that cannot be written, the answer is 507 `revoked_in_memory`: this server refuses the key from now on, and tries again \
             to write that. Until then, other servers of a cluster may accept the key, and so does this one if it is restarted.",
        )
        .answers(&[(204, "The key was revoked, and that is on disk")]);

    fn run(session: &Session<'_>, name: String, (): ()) -> Result<Done, OperationError> {
        if session.host.revoke_key(session, &name)? {
            return Ok(Done);
        }
        Err(CatalogueError::NoSuchKey(excerpt(&name)).into())
    }
}
