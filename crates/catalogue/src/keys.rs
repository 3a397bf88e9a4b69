//! Access keys: who may call a server, in which role, and how often.
//!
//! A key is a secret of 256 random bits. It is shown once, when it is created; the catalogue stores only its SHA-256.
//! A random secret this long needs no slow hash because it cannot be guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::members::{Membership, NotAdmitted, Person};
use super::settings::put;
use super::sharing::{CachedSetting, SETTINGS, Turn};
use super::{Catalogue, CatalogueError, Editor, WebhookOwner};
use crate::api::{Key, MadeKey, NewKey, PERSON};
use crate::permission::{Permission, Unit};
use lapidary_store::{Action, Actor, Library, RowChange, StoreError, Table, tag_of};

/// Prefix of every key, so that scanners can find keys that were published by mistake.
const PREFIX: &str = "lap_";
/// Length in bytes of a key's id and of its secret. Both are written in hexadecimal.
const ID_BYTES: usize = 4;
const SECRET_BYTES: usize = 32;
/// Maximum length of a key's name in bytes.
const NAME_BYTES: usize = 100;
/// The row of [`Table::Access`] that records that keys have existed.
const HAS_HAD_KEYS: &str = "has-had-keys";

/// A key as stored.
#[skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
struct StoredKey {
    key: Arc<Key>,
    /// SHA-256 of the whole secret.
    #[serde(with = "hex")]
    digest: [u8; 32],
    /// Last recorded usage.
    #[serialize_always]
    used: Option<Usage>,
    /// When a key of this name was added, if it was rotated since.
    since: Option<Timestamp>,
    /// What makes it the key of a person, who signs in without a secret.
    membership: Option<Membership>,
}

impl StoredKey {
    /// When a key of this name was added.
    fn since(&self) -> Timestamp {
        self.since.unwrap_or(self.key.created_at)
    }
}

/// Usage of a daily quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The day, in UTC.
    pub day: Date,
    /// Number of requests.
    pub count: u64,
}

/// Why a secret was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessDenied {
    /// No such key.
    Unknown,
    /// The key has expired.
    Expired,
}

/// The keys by id.
struct KeysById {
    keys: BTreeMap<String, StoredKey>,
    /// Whether there has ever been one.
    had_any: bool,
}

impl Deref for KeysById {
    type Target = BTreeMap<String, StoredKey>;

    fn deref(&self) -> &BTreeMap<String, StoredKey> {
        &self.keys
    }
}

/// A key that was revoked and could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwrittenRevocation {
    name: String,
    ids: BTreeSet<String>,
    by: Actor,
}

/// The keys of a catalogue.
#[derive(Default)]
pub(super) struct Keyring {
    known: CachedSetting<KeysById>,
    /// Held from reading the keys until a change that depends on them is written. Requests that need a key do not
    /// wait for it.
    changing: Mutex<()>,
    /// Keys that are refused although the store still has them.
    unwritten: Mutex<Vec<UnwrittenRevocation>>,
}

impl Keyring {
    pub(super) fn unwritten(&self) -> MutexGuard<'_, Vec<UnwrittenRevocation>> {
        self.unwritten.lock()
    }
}

/// The keys of a catalogue ([`Catalogue::keys`]). Who has an [`Editor`] makes and revokes them.
#[derive(Debug, Clone)]
pub struct Keys<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Keys<C> {
    /// All keys, by name.
    pub fn list(&self) -> Result<Vec<Key>, CatalogueError> {
        let mut keys: Vec<Key> = self
            .known()?
            .values()
            .map(|kept| (*kept.key).clone())
            .collect();
        keys.sort_by(|a, b| (&a.name, a.created_at).cmp(&(&b.name, b.created_at)));
        Ok(keys)
    }

    /// Whether there are no keys at all, not even expired ones.
    pub fn is_empty(&self) -> Result<bool, CatalogueError> {
        Ok(self.known()?.is_empty())
    }

    /// Whether requests without a key may do everything. This is so until the first key is created, and never again,
    /// even if all keys are removed.
    pub fn is_open(&self) -> Result<bool, CatalogueError> {
        let known = self.known()?;
        Ok(known.is_empty() && !known.had_any)
    }

    /// The key with this id, if it is valid now.
    pub fn valid(&self, id: &str) -> Result<Option<Arc<Key>>, CatalogueError> {
        let kept = self.known()?;
        Ok(kept
            .get(id)
            .map(|kept| &kept.key)
            .filter(|key| !key.has_expired())
            .cloned())
    }

    /// The key with this name; if it has several secrets, that of the newest. It may have expired.
    pub fn named(&self, name: &str) -> Result<Option<Arc<Key>>, CatalogueError> {
        let known = self.known()?;
        Ok(newest(&known, name).map(|kept| Arc::clone(&kept.key)))
    }

    /// The libraries whose filed checks an actor reviews, unless it is an administrator.
    pub(super) fn reviewed_by(&self, actor: &Actor) -> Result<BTreeSet<Library>, CatalogueError> {
        let Actor::Key(name) = actor else {
            return Ok(BTreeSet::new());
        };
        let key = self.named(name)?;
        let key = key.filter(|key| key.permits(Permission::Review));
        Ok(key.map(|key| key.libraries.clone()).unwrap_or_default())
    }

    /// The version of the key with this name.
    pub fn version(&self, name: &str) -> Result<Option<String>, CatalogueError> {
        Ok(self.named(name)?.map(|key| version_of(&key)))
    }

    /// When the key with this name was added, with whatever secret.
    pub(super) fn since(&self, name: &str) -> Result<Option<Timestamp>, CatalogueError> {
        let known = self.known()?;
        let of_name = known.values().filter(|kept| kept.key.name == name);
        Ok(of_name.map(StoredKey::since).max())
    }

    /// When each key was added, by name.
    pub(super) fn all_since(&self) -> Result<BTreeMap<String, Timestamp>, CatalogueError> {
        let known = self.known()?;
        let mut all = BTreeMap::new();
        for kept in known.values() {
            let since = all.entry(kept.key.name.clone()).or_insert(kept.since());
            *since = kept.since().max(*since);
        }
        Ok(all)
    }

    /// Finds the key of a secret.
    ///
    /// # Errors
    /// The inner error says why the secret was rejected.
    pub fn of_secret(
        &self,
        secret: &str,
    ) -> Result<Result<Arc<Key>, AccessDenied>, CatalogueError> {
        let keys = self.known()?;
        let id = secret
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('_').next());
        let Some(kept) = id.and_then(|id| keys.get(id)) else {
            return Ok(Err(AccessDenied::Unknown));
        };
        let digest: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let same = bool::from(digest.ct_eq(&kept.digest));
        Ok(match same {
            false => Err(AccessDenied::Unknown),
            true if kept.key.has_expired() => Err(AccessDenied::Expired),
            true => Ok(Arc::clone(&kept.key)),
        })
    }

    /// The last recorded usage of a key, over all of its secrets.
    pub fn usage(&self, name: &str) -> Result<Option<Usage>, CatalogueError> {
        let kept = self.known()?;
        let used = kept
            .values()
            .filter(|kept| kept.key.name == name)
            .filter_map(|kept| kept.used);
        Ok(used.max_by_key(|used| (used.day, used.count)))
    }

    /// Records the usage of keys by name, so that quotas survive a restart. Keys that no longer exist are ignored.
    pub fn note_usage(&self, used: &[(String, Usage)]) -> Result<(), CatalogueError> {
        // Others that share the store may have revoked one since the keys were read, and this would write it again.
        if self.0.store.sharing().is_some() {
            return Ok(());
        }
        // A key is being created or revoked right now: skip this time.
        let Some(_changing) = self.0.keyring.changing.try_lock() else {
            return Ok(());
        };
        let kept = self.known()?;
        let noted = kept.values().filter_map(|kept| {
            let (_, used) = used.iter().find(|(name, _)| *name == kept.key.name)?;
            Some(StoredKey {
                used: Some(*used),
                ..kept.clone()
            })
        });
        let noted = rows(&noted.collect::<Vec<_>>());
        self.change(noted, |changes| {
            self.0.store.apply(&Actor::Local, changes, &[])
        })
    }

    /// Notes in the audit log that a key has used up its daily quota.
    pub fn note_quota(&self, name: &str) -> Result<(), CatalogueError> {
        let name = name.to_owned();
        let actor = Actor::Key(name.clone());
        let noted = [Action::QuotaReached { name }];
        Ok(self.0.store.apply(&actor, &[], &noted)?)
    }

    /// The turn of changing keys, with the keys as they are.
    fn changing(&self) -> Result<(Turn<'_>, KeysById), CatalogueError> {
        let turn = self.0.turn(&self.0.keyring.changing, SETTINGS)?;
        Ok((turn, self.read()?))
    }

    /// Reads the keys again, because others may have changed them.
    pub fn learn(&self) -> Result<(), CatalogueError> {
        self.0.keyring.known.learn(|| self.read())
    }

    /// Writes changes of keys, and records that keys have existed. The caller holds the lock since it read them.
    fn change(
        &self,
        mut changes: Vec<RowChange>,
        apply: impl FnOnce(&[RowChange]) -> Result<(), StoreError>,
    ) -> Result<(), CatalogueError> {
        if changes.is_empty() {
            return Ok(());
        }
        changes.push(put(Table::Access, HAS_HAD_KEYS, &true));
        let done = apply(&changes);
        // Drop the cache whether or not the write succeeded.
        self.0.keyring.known.forget();
        Ok(done?)
    }

    /// Tries again to write revocations that could not be written.
    pub fn write_revocations(&self) -> Result<(), CatalogueError> {
        if self.0.keyring.unwritten().is_empty() {
            return Ok(());
        }
        let (turn, known) = self.changing()?;
        let unwritten = self.0.keyring.unwritten().clone();
        for revoked in unwritten {
            let ids = revoked.ids.iter();
            let mut changes: Vec<RowChange> =
                ids.map(|id| RowChange::delete(Table::Keys, id)).collect();
            if newest(&known, &revoked.name).is_none() {
                changes.extend(WebhookOwner::Key(revoked.name.clone()).removal());
            }
            let action = Action::KeyRevoked {
                name: revoked.name.clone(),
            };
            self.change(changes, |changes| {
                turn.apply(&revoked.by, changes, &[action])
            })?;
            self.0.keyring.unwritten().retain(|other| *other != revoked);
        }
        Ok(())
    }

    /// The revocations that could not be written, for [`Catalogue::with_revocations`].
    #[must_use]
    pub fn unwritten_revocations(&self) -> Vec<UnwrittenRevocation> {
        self.0.keyring.unwritten().clone()
    }

    fn read(&self) -> Result<KeysById, CatalogueError> {
        let mut keys: BTreeMap<String, StoredKey> = self.0.rows(Table::Keys)?;
        let unwritten = self.0.keyring.unwritten();
        keys.retain(|id, _| !unwritten.iter().any(|revoked| revoked.ids.contains(id)));
        if let Some(members) = &self.0.members {
            for kept in keys.values_mut() {
                if let Some(membership) = &kept.membership {
                    kept.key = Arc::new(members.applied(membership, &kept.key));
                }
            }
        }
        Ok(KeysById {
            keys,
            had_any: !self.0.store.table(Table::Access)?.is_empty(),
        })
    }

    fn known(&self) -> Result<Arc<KeysById>, CatalogueError> {
        self.0.keyring.known.get(&self.0, || self.read())
    }
}

/// The key of this name; if it has several secrets, that of the newest.
fn newest<'k>(known: &'k KeysById, name: &str) -> Option<&'k StoredKey> {
    let of_name = known.values().filter(|kept| kept.key.name == name);
    of_name.max_by_key(|kept| kept.key.created_at)
}

/// Whether a key may have this name.
pub(super) fn is_key_name(name: &str) -> bool {
    (1..=NAME_BYTES).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// The version of a key is its newest secret, which its id names.
fn version_of(newest: &Key) -> String {
    tag_of(newest.id.as_bytes())
}

/// Why a revocation is not written, which takes effect in this process all the same.
fn revoked_in_memory(name: &str, why: &StoreError) -> CatalogueError {
    CatalogueError::RevokedInMemory {
        name: name.to_owned(),
        why: why.to_string(),
    }
}

impl NewKey {
    /// What is wrong with it, if anything is.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let permits = |permission| self.permits(permission);
        let is_admin = permits(Permission::Administer);
        let is_ingest = permits(Permission::Ingest) && !is_admin;
        let is_of_libraries = is_ingest
            || !is_admin
                && [
                    Permission::ReadTexts,
                    Permission::Follow,
                    Permission::Review,
                ]
                .into_iter()
                .any(permits);
        if !is_key_name(&self.name) {
            Some("a key's name must have 1 to 100 bytes and no control characters")
        } else if self.name.starts_with(PERSON) {
            Some("names with 'oidc:' are of people who sign in with OpenID Connect; choose another")
        } else if self.role.is_none() && self.permissions.is_empty() {
            Some("a key must have a role or permissions")
        } else if is_of_libraries == self.libraries.is_empty() {
            Some(
                "a key that can ingest, read texts, follow or review must name its libraries, and other keys must not",
            )
        } else if self.quota.is_some_and(|quota| quota.per != Unit::Day) {
            Some("a quota is per day, such as 100000/day; for shorter times, set a rate")
        } else if is_ingest != self.trusted.is_some() {
            Some(
                "a key that can ingest must say whether its libraries are trusted (--trusted or --untrusted; 'trusted': true or \
                 false), and other keys must not",
            )
        } else if !is_ingest
            && (self.permissions.contains(&Permission::Ban) || self.must_gate.is_some())
        {
            Some("only a key that can ingest can ban or must pass a gate: other keys add no books")
        } else {
            None
        }
    }
}

impl Keys<Editor<'_>> {
    /// Creates a key.
    ///
    /// # Errors
    /// [`CatalogueError::KeyExists`], [`CatalogueError::BadKey`], [`CatalogueError::TrustStated`].
    pub fn add(&self, new: NewKey) -> Result<MadeKey, CatalogueError> {
        if let Some(wrong) = new.fault() {
            return Err(CatalogueError::BadKey(wrong));
        }
        // Statements about libraries are settings. Whoever takes both locks takes this one first.
        let _settings = self.0.changing_settings();
        let (turn, kept) = self.changing()?;
        if let Some(made) = self.0.answered_before()? {
            return Ok(made);
        }
        if kept.values().any(|kept| kept.key.name == new.name) {
            return Err(CatalogueError::KeyExists(new.name));
        }
        let trust = new.trusted.map_or(Ok(Vec::new()), |trusted| {
            self.0.libraries().trust_of_new_key(&new.libraries, trusted)
        })?;
        let made = self.make(&turn, new, None, Vec::new(), trust);
        self.0.libraries().forget();
        made
    }

    /// Lets in somebody whom the identity provider has identified: makes or renews the key of this person. Who is in no group
    /// that may do something is let in no longer.
    ///
    /// # Errors
    /// The inner error says why the person is not let in.
    pub fn admit(&self, person: &Person) -> Result<Result<Key, NotAdmitted>, CatalogueError> {
        let Some(members) = &self.0.members else {
            return Ok(Err(NotAdmitted::NoGroup));
        };
        let (turn, kept) = self.changing()?;
        let (id, groups) = (person.id(&members.issuer), members.groups_of(person));
        let before = kept.get(&id);
        let name = before.map_or_else(|| person.key_name(&id), |before| before.key.name.clone());
        if kept
            .values()
            .any(|other| other.key.name == name && other.key.id != id)
        {
            return Ok(Err(NotAdmitted::NameTaken(name)));
        }
        if groups.is_empty() && before.is_none() {
            return Ok(Err(NotAdmitted::NoGroup));
        }
        let membership = Membership {
            issuer: members.issuer.clone(),
            groups,
        };
        let created_at = before.map_or_else(Timestamp::now, |before| before.key.created_at);
        let key = person.key(id, name, created_at);
        let key = members.applied(&membership, &key);
        let action = Action::SignedIn {
            name: key.name.clone(),
            groups: membership.groups.iter().cloned().collect(),
        };
        let stored = StoredKey {
            key: Arc::new(key.clone()),
            digest: Sha256::digest(random::<SECRET_BYTES>()?.as_bytes()).into(),
            used: before.and_then(|before| before.used),
            since: None,
            membership: Some(membership),
        };
        self.change(rows(&[stored]), |changes| {
            turn.apply(&Actor::Key(key.name.clone()), changes, &[action])
        })?;
        Ok(if key.has_expired() {
            Err(NotAdmitted::NoGroup)
        } else {
            Ok(key)
        })
    }

    /// Revokes a key immediately. Returns whether it existed.
    pub fn revoke(&self, name: &str) -> Result<bool, CatalogueError> {
        let (turn, kept) = self.changing()?;
        self.expects_newest(&kept, name)?;
        let revoked = kept.values().filter(|kept| kept.key.name == name);
        let mut changes: Vec<_> = revoked
            .map(|kept| RowChange::delete(Table::Keys, &kept.key.id))
            .collect();
        let was_there = !changes.is_empty();
        if was_there {
            changes.extend(WebhookOwner::Key(name.to_owned()).removal());
            let action = Action::KeyRevoked {
                name: name.to_owned(),
            };
            self.change(changes, |changes| {
                turn.apply(&self.0.actor, changes, &[action])
            })?;
        }
        Ok(was_there)
    }

    /// Revokes a key immediately, also if that cannot be written: it is then refused by this process, which tries again until it
    /// is written ([`Keys::write_revocations`]). Others that share the store accept it until then. Returns whether it existed.
    ///
    /// # Errors
    /// [`CatalogueError::RevokedInMemory`] as long as it is not written.
    pub fn revoke_at_once(&self, name: &str) -> Result<bool, CatalogueError> {
        let was_held = self
            .0
            .keyring
            .unwritten()
            .iter()
            .any(|revoked| revoked.name == name);
        if was_held {
            match self.write_revocations() {
                Err(CatalogueError::Store(why)) => return Err(revoked_in_memory(name, &why)),
                written => written?,
            }
        }
        let kept = self.known()?;
        // Asked again in the turn. Here it keeps a refused condition from becoming a revocation in memory.
        self.expects_newest(&kept, name)?;
        let of_name = kept.values().filter(|kept| kept.key.name == name);
        let ids: BTreeSet<String> = of_name.map(|kept| kept.key.id.clone()).collect();
        match self.revoke(name) {
            Err(CatalogueError::Store(why)) => {
                self.0.keyring.unwritten().push(UnwrittenRevocation {
                    name: name.to_owned(),
                    ids,
                    by: self.0.actor.clone(),
                });
                self.0.keyring.known.forget();
                Err(revoked_in_memory(name, &why))
            }
            done => Ok(done? || was_held),
        }
    }

    /// Creates a new secret for a key. The old secret stays valid for `overlap`.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchKey`].
    pub fn rotate(&self, name: &str, overlap: SignedDuration) -> Result<MadeKey, CatalogueError> {
        let (turn, kept) = self.changing()?;
        if let Some(made) = self.0.answered_before()? {
            return Ok(made);
        }
        self.expects_newest(&kept, name)?;
        let Some(newest) = newest(&kept, name) else {
            return Err(CatalogueError::NoSuchKey(name.to_owned()));
        };
        if newest.membership.is_some() {
            return Err(CatalogueError::BadKey(
                "whoever signs in with OpenID Connect has no secret; make a key of another name",
            ));
        }
        let end = Timestamp::now()
            .checked_add(overlap)
            .map_err(|_| CatalogueError::BadKey("the overlap is too long; give a shorter one"))?;
        let of_name = kept.values().filter(|kept| kept.key.name == name);
        let shortened =
            of_name.filter(|kept| kept.key.expires_at.is_none_or(|expires| expires > end));
        let shortened: Vec<StoredKey> = shortened
            .map(|kept| {
                let key = Key {
                    expires_at: Some(end),
                    ..(*kept.key).clone()
                };
                StoredKey {
                    key: Arc::new(key),
                    ..kept.clone()
                }
            })
            .collect();
        let since = Some(newest.since());
        let Key {
            name,
            role,
            permissions,
            libraries,
            must_gate,
            rate,
            quota,
            expires_at: expires,
            ..
        } = (*newest.key).clone();
        let new = NewKey {
            name,
            role,
            permissions,
            libraries,
            trusted: None,
            must_gate,
            rate,
            quota,
            expires_at: expires,
        };
        self.make(&turn, new, since, shortened, Vec::new())
    }

    /// Makes sure that the newest secret of a key is the one that a change is for.
    fn expects_newest(&self, kept: &KeysById, name: &str) -> Result<(), CatalogueError> {
        let version = newest(kept, name).map(|kept| version_of(&kept.key));
        self.0.terms.expect(version.as_deref())
    }

    /// Makes a key, whose name has been in use `since` then, in the same step as changes of other `keys` and statements about
    /// libraries.
    fn make(
        &self,
        turn: &Turn<'_>,
        new: NewKey,
        since: Option<Timestamp>,
        mut keys: Vec<StoredKey>,
        trust: Vec<(Library, bool)>,
    ) -> Result<MadeKey, CatalogueError> {
        let id = random::<ID_BYTES>()?;
        let secret = format!("{PREFIX}{id}_{}", random::<SECRET_BYTES>()?);
        let NewKey {
            name,
            role,
            permissions,
            libraries,
            trusted: _,
            must_gate,
            rate,
            quota,
            expires_at: expires,
        } = new;
        let created = Timestamp::now();
        let key = Key {
            id,
            name,
            role,
            permissions,
            libraries,
            must_gate,
            rate,
            quota,
            expires_at: expires,
            created_at: created,
        };
        let digest = Sha256::digest(secret.as_bytes()).into();
        keys.push(StoredKey {
            key: Arc::new(key.clone()),
            digest,
            used: None,
            since,
            membership: None,
        });
        let mut actions = vec![Action::KeyMade {
            name: key.name.clone(),
            id: key.id.clone(),
        }];
        let mut changes = rows(&keys);
        for (library, trusted) in trust {
            changes.push(self.0.libraries().trust_row(&library, trusted)?);
            actions.push(Action::LibraryTrust {
                library: library.into(),
                trusted,
            });
        }
        let made = MadeKey { key, secret };
        changes.extend(self.0.keep_answer(&made)?);
        self.change(changes, |changes| {
            turn.apply(&self.0.actor, changes, &actions)
        })?;
        self.0.terms.wrote(|| version_of(&made.key));
        Ok(made)
    }
}

fn rows(keys: &[StoredKey]) -> Vec<RowChange> {
    keys.iter()
        .map(|kept| put(Table::Keys, &kept.key.id, kept))
        .collect()
}

/// Returns `N` random bytes in hexadecimal.
pub(super) fn random<const N: usize>() -> Result<String, CatalogueError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(CatalogueError::NoRandom)?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::{Role, Unless};

    fn new(name: &str, role: Role, libraries: &[&str]) -> NewKey {
        let libraries = libraries
            .iter()
            .map(|name| name.parse().expect("a name"))
            .collect();
        let trusted = (role == Role::Ingest).then_some(true);
        NewKey {
            libraries,
            trusted,
            ..NewKey::new(name, role)
        }
    }

    fn of(permissions: &[Permission], libraries: &[&str]) -> NewKey {
        NewKey {
            role: None,
            permissions: permissions.iter().copied().collect(),
            ..new("of", Role::Check, libraries)
        }
    }

    fn catalogue() -> (tempfile::TempDir, Catalogue) {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        (folder, catalogue)
    }

    #[test]
    fn a_secret_opens_until_it_is_revoked_and_is_kept_nowhere() {
        let (folder, catalogue) = catalogue();
        assert!(catalogue.keys().is_empty().unwrap() && catalogue.keys().is_open().unwrap());
        let made = catalogue
            .by(Actor::Local)
            .keys()
            .add(new("shop", Role::Ingest, &["mine"]))
            .unwrap();
        let known = catalogue.keys().of_secret(&made.secret).unwrap().unwrap();
        assert_eq!(*known, made.key);
        for wrong in [
            "",
            "lap_",
            "shop",
            &made.secret[..made.secret.len() - 1],
            &made.secret.replace("lap", "lop"),
        ] {
            assert_eq!(
                catalogue.keys().of_secret(wrong).unwrap(),
                Err(AccessDenied::Unknown),
                "{wrong}"
            );
        }
        catalogue.flush().unwrap();
        drop(catalogue);
        let random = made.secret.rsplit('_').next().unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(memchr::memmem::find(&bytes, random.as_bytes()).is_none());
        }
        let catalogue = Catalogue::open(folder.path()).unwrap();
        assert_eq!(catalogue.keys().list().unwrap(), [made.key]);
        assert!(catalogue.keys().of_secret(&made.secret).unwrap().is_ok());
        let editor = catalogue.by(Actor::Local);
        assert!(editor.keys().revoke("shop").unwrap() && !editor.keys().revoke("shop").unwrap());
        assert_eq!(
            catalogue.keys().of_secret(&made.secret).unwrap(),
            Err(AccessDenied::Unknown)
        );
    }

    #[test]
    fn a_rotated_key_has_two_secrets_for_a_while() {
        let (_folder, catalogue) = catalogue();
        let editor = catalogue.by(Actor::Local);
        let old = editor.keys().add(new("a", Role::Check, &[])).unwrap();
        let both = editor
            .keys()
            .rotate("a", SignedDuration::from_hours(1))
            .unwrap();
        assert!(
            catalogue.keys().of_secret(&old.secret).unwrap().is_ok()
                && catalogue.keys().of_secret(&both.secret).unwrap().is_ok()
        );
        let alone = editor.keys().rotate("a", SignedDuration::ZERO).unwrap();
        assert_eq!(
            catalogue.keys().of_secret(&old.secret).unwrap(),
            Err(AccessDenied::Expired)
        );
        assert_eq!(
            catalogue.keys().of_secret(&both.secret).unwrap(),
            Err(AccessDenied::Expired)
        );
        assert_eq!(
            catalogue
                .keys()
                .of_secret(&alone.secret)
                .unwrap()
                .unwrap()
                .expires_at,
            None
        );
        assert!(matches!(
            editor.keys().rotate("b", SignedDuration::ZERO),
            Err(CatalogueError::NoSuchKey(_))
        ));
        assert!(editor.keys().revoke("a").unwrap() && catalogue.keys().is_empty().unwrap());
        assert!(!catalogue.keys().is_open().unwrap());
    }

    #[test]
    fn keys_that_cannot_be() {
        let (_folder, catalogue) = catalogue();
        let editor = catalogue.by(Actor::Local);
        editor.keys().add(new("a", Role::Admin, &[])).unwrap();
        assert!(matches!(
            editor.keys().add(new("a", Role::Check, &[])),
            Err(CatalogueError::KeyExists(_))
        ));
        let hourly = NewKey {
            quota: "5/h".parse().ok(),
            ..new("d", Role::Check, &[])
        };
        let bad = [
            new("", Role::Check, &[]),
            new("b", Role::Ingest, &[]),
            new("t", Role::Texts, &[]),
            new("c", Role::Check, &["l"]),
            NewKey {
                trusted: None,
                ..new("i", Role::Ingest, &["l"])
            },
            NewKey {
                trusted: Some(true),
                ..new("t", Role::Texts, &["l"])
            },
            NewKey {
                permissions: [Permission::Ban].into(),
                ..new("t", Role::Texts, &["l"])
            },
            of(&[], &[]),
            of(&[Permission::Check], &["l"]),
            of(&[Permission::Review], &[]),
            of(&[Permission::ReadTexts], &[]),
            of(&[Permission::Follow], &[]),
            of(&[Permission::Ban], &["l"]),
            of(&[Permission::Administer, Permission::Ban], &[]),
            of(&[Permission::Administer, Permission::Ingest], &["l"]),
            of(&[Permission::Check, Permission::Ingest], &["l"]),
            NewKey {
                must_gate: Some(Unless::Protected),
                ..new("c", Role::Check, &[])
            },
            hourly,
        ];
        for new in bad {
            assert!(matches!(
                editor.keys().add(new),
                Err(CatalogueError::BadKey(_))
            ));
        }
    }
}
