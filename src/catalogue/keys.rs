//! Keys: who may call a server, in which role, and how much.
//!
//! A key is a secret of 256 random bits that is shown once, when it is made. The catalogue keeps its SHA-256 alone: a
//! random secret needs no slow hash, for nobody can try enough of them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use hashbrown::HashMap;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Catalogue, CatalogueError};
use crate::index::{Action, Library, Small};

/// What every key begins with, so that one that was published by mistake can be found by programs.
const PREFIX: &str = "lap_";
/// Bytes of a key's id, and of its secret, which are written in hexadecimal.
const ID_BYTES: usize = 4;
const SECRET_BYTES: usize = 32;
/// The longest name of a key in bytes.
const NAME_BYTES: usize = 100;
/// The setting that says that there have been keys.
const HAS_HAD_KEYS: (&str, &str) = ("access", "has-had-keys");

/// What a key lets its owner do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Check texts.
    Check,
    /// Put in, show and remove the books of some libraries.
    Ingest,
    /// All there is.
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

/// How many requests in a time, such as `50/s`, `600/min`, `1000/h` or `100000/day`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    /// At least 1.
    pub count: u32,
    /// The time.
    pub per: Unit,
}

/// A time that requests are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

impl Unit {
    const ALL: [(Self, &str, u32); 4] =
        [(Self::Second, "s", 1), (Self::Minute, "min", 60), (Self::Hour, "h", 3_600), (Self::Day, "day", 86_400)];

    /// Its length.
    #[must_use]
    pub fn seconds(self) -> u32 {
        Self::ALL.iter().find(|(unit, ..)| *unit == self).map_or(1, |(.., seconds)| *seconds)
    }
}

/// What is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no rate; write a whole number from 1 to 4294967295 and a time, such as 50/s, 600/min, 1000/h or 100000/day"
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

/// A key to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// What people call it.
    pub name: String,
    /// What it lets its owner do.
    pub role: Role,
    /// The libraries of a key to ingest.
    #[serde(default)]
    pub libraries: BTreeSet<Library>,
    /// How many requests in a short time; as many may come at once.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// How many requests in a day (UTC).
    #[serde(default)]
    pub quota: Option<Rate>,
    /// From when on it is void.
    #[serde(default)]
    pub expires: Option<Timestamp>,
}

/// A key as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Names it in the store and at the beginning of the secret.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it lets its owner do.
    pub role: Role,
    /// The libraries of a key to ingest.
    pub libraries: BTreeSet<Library>,
    /// How many requests in a short time.
    pub rate: Option<Rate>,
    /// How many requests in a day (UTC).
    pub quota: Option<Rate>,
    /// From when on it is void.
    pub expires: Option<Timestamp>,
    /// When it was made.
    pub created: Timestamp,
}

impl Key {
    /// Whether it is void.
    #[must_use]
    pub fn has_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= Timestamp::now())
    }
}

/// A key that was just made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeKey {
    /// The key.
    #[serde(flatten)]
    pub key: Key,
    /// What its owner sends, told this once.
    pub secret: String,
}

/// A key as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    key: Arc<Key>,
    /// Of the whole secret, SHA-256.
    #[serde(with = "hex")]
    digest: [u8; 32],
    /// As far as it was noted.
    #[serde(default)]
    used: Option<Usage>,
}

/// How much of a day's quota is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The day, by UTC.
    pub day: Date,
    /// How many requests.
    pub count: u64,
}

/// Why a secret opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessDenied {
    /// There is no such key.
    Unknown,
    /// It is void by now.
    Expired,
}

/// The keys of a catalogue.
#[derive(Default)]
pub(super) struct Keyring {
    /// In memory once they were asked for.
    known: RwLock<Option<Arc<HashMap<String, Kept>>>>,
    /// Held from the reading of the keys to the end of a change that depends on it. Requests that need a key do not wait
    /// for it.
    changing: Mutex<()>,
}

impl Catalogue {
    /// All keys, by name.
    pub fn keys(&self) -> Result<Vec<Key>, CatalogueError> {
        let mut keys: Vec<Key> = self.kept_keys()?.values().map(|kept| (*kept.key).clone()).collect();
        keys.sort_by(|a, b| (&a.name, a.created).cmp(&(&b.name, b.created)));
        Ok(keys)
    }

    /// Whether there is no key at all, not even a void one.
    pub fn has_no_keys(&self) -> Result<bool, CatalogueError> {
        Ok(self.kept_keys()?.is_empty())
    }

    /// Whether those without a key may do all: until the first key is made, and never again, be there any left or not.
    pub fn is_open(&self) -> Result<bool, CatalogueError> {
        let (kind, _) = HAS_HAD_KEYS;
        Ok(self.has_no_keys()? && self.store.settings(kind)?.is_empty())
    }

    /// Makes a key.
    ///
    /// # Errors
    /// [`CatalogueError::KeyExists`], [`CatalogueError::BadKey`].
    pub fn add_key(&self, new: NewKey) -> Result<MadeKey, CatalogueError> {
        let bad = |sentence: &str| Err(CatalogueError::BadKey(sentence.to_owned()));
        if new.name.is_empty() || new.name.len() > NAME_BYTES || new.name.chars().any(char::is_control) {
            return bad("a key's name has 1 to 100 bytes and no control characters");
        }
        if (new.role == Role::Ingest) == new.libraries.is_empty() {
            return bad("a key to ingest names its libraries, and no other key does");
        }
        if new.quota.is_some_and(|quota| quota.per != Unit::Day) {
            return bad("a quota is for a day, such as 100000/day; a shorter time is a rate");
        }
        let _changing = self.changing_keys();
        if self.kept_keys()?.values().any(|kept| kept.key.name == new.name) {
            return Err(CatalogueError::KeyExists(new.name));
        }
        self.make_key(new, Vec::new())
    }

    /// Takes a key's right away at once, and says whether there was one.
    pub fn revoke_key(&self, name: &str) -> Result<bool, CatalogueError> {
        let _changing = self.changing_keys();
        let kept = self.kept_keys()?;
        let revoked = kept.values().filter(|kept| kept.key.name == name);
        let changes: Vec<_> = revoked.map(|kept| (Small::Key(&kept.key.id), None)).collect();
        let was_there = !changes.is_empty();
        if was_there {
            self.change_keys(changes, &[Action::KeyRevoked { name: name.to_owned() }])?;
        }
        Ok(was_there)
    }

    /// Makes a new secret for a key; the one before is good for `overlap` yet.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchKey`].
    pub fn rotate_key(&self, name: &str, overlap: SignedDuration) -> Result<MadeKey, CatalogueError> {
        let _changing = self.changing_keys();
        let kept = self.kept_keys()?;
        let of_name = || kept.values().filter(|kept| kept.key.name == name);
        let newest = of_name().max_by_key(|kept| kept.key.created);
        let Some(newest) = newest else { return Err(CatalogueError::NoSuchKey(name.to_owned())) };
        let too_long = |_| CatalogueError::BadKey("that overlap ends beyond all time; give a shorter one".to_owned());
        let end = Timestamp::now().checked_add(overlap).map_err(too_long)?;
        let shortened = of_name().filter(|kept| kept.key.expires.is_none_or(|expires| expires > end));
        let void_at_end = |kept: &Kept| {
            let key = Key { expires: Some(end), ..(*kept.key).clone() };
            Kept { key: Arc::new(key), digest: kept.digest, used: kept.used }
        };
        let shortened: Vec<Kept> = shortened.map(void_at_end).collect();
        let Key { name, role, libraries, rate, quota, expires, .. } = (*newest.key).clone();
        self.make_key(NewKey { name, role, libraries, rate, quota, expires }, shortened)
    }

    /// Whether the key with this id opens something now.
    pub fn is_good_key(&self, id: &str) -> Result<bool, CatalogueError> {
        Ok(self.kept_keys()?.get(id).is_some_and(|kept| !kept.key.has_expired()))
    }

    /// Whose secret this is.
    ///
    /// # Errors
    /// The inner one says why it opens nothing.
    pub fn key_of(&self, secret: &str) -> Result<Result<Arc<Key>, AccessDenied>, CatalogueError> {
        let keys = self.kept_keys()?;
        let id = secret.strip_prefix(PREFIX).and_then(|rest| rest.split('_').next());
        let Some(kept) = id.and_then(|id| keys.get(id)) else { return Ok(Err(AccessDenied::Unknown)) };
        let digest: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let same = bool::from(digest.ct_eq(&kept.digest));
        Ok(match same {
            false => Err(AccessDenied::Unknown),
            true if kept.key.has_expired() => Err(AccessDenied::Expired),
            true => Ok(Arc::clone(&kept.key)),
        })
    }

    fn make_key(&self, new: NewKey, mut changed: Vec<Kept>) -> Result<MadeKey, CatalogueError> {
        let id = random::<ID_BYTES>()?;
        let secret = format!("{PREFIX}{id}_{}", random::<SECRET_BYTES>()?);
        let NewKey { name, role, libraries, rate, quota, expires } = new;
        let key = Key { id, name, role, libraries, rate, quota, expires, created: Timestamp::now() };
        let digest = Sha256::digest(secret.as_bytes()).into();
        changed.push(Kept { key: Arc::new(key.clone()), digest, used: None });
        self.change_keys(written(&changed)?, &[Action::KeyMade { name: key.name.clone(), id: key.id.clone() }])?;
        Ok(MadeKey { key, secret })
    }

    /// What was noted last of a key's use, whichever of its secrets was used.
    pub fn key_usage(&self, name: &str) -> Result<Option<Usage>, CatalogueError> {
        let kept = self.kept_keys()?;
        let used = kept.values().filter(|kept| kept.key.name == name).filter_map(|kept| kept.used);
        Ok(used.max_by_key(|used| (used.day, used.count)))
    }

    /// Notes how much keys were used, by their names, so that a quota outlives the process. Those that are gone stay so.
    pub fn note_usage(&self, used: &[(String, Usage)]) -> Result<(), CatalogueError> {
        // A key is being made or revoked at this moment: the next time will do.
        let Ok(_changing) = self.keyring.changing.try_lock() else { return Ok(()) };
        let kept = self.kept_keys()?;
        let noted = kept.values().filter_map(|kept| {
            let (_, used) = used.iter().find(|(name, _)| *name == kept.key.name)?;
            Some(Kept { key: Arc::clone(&kept.key), digest: kept.digest, used: Some(*used) })
        });
        self.change_keys(written(&noted.collect::<Vec<_>>())?, &[])
    }

    fn changing_keys(&self) -> MutexGuard<'_, ()> {
        self.keyring.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes keys, and keeps that there have been some; the caller holds the lock from its reading of them.
    fn change_keys(&self, mut changes: Written<'_>, actions: &[Action]) -> Result<(), CatalogueError> {
        if changes.is_empty() {
            return Ok(());
        }
        let (kind, name) = HAS_HAD_KEYS;
        changes.push((Small::Setting(kind, name), Some(b"true".to_vec())));
        let done = self.store.apply(&changes, actions);
        // Read anew whatever came of it.
        *self.keyring.known.write().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(done?)
    }

    fn kept_keys(&self) -> Result<Arc<HashMap<String, Kept>>, CatalogueError> {
        let known = self.keyring.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let mut keyring = self.keyring.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut keys = HashMap::new();
        for json in self.store.keys()? {
            let kept: Kept = serde_json::from_slice(&json)
                .map_err(|e| CatalogueError::BadKey(format!("a key of this catalogue cannot be read: {e}")))?;
            keys.insert(kept.key.id.clone(), kept);
        }
        Ok(Arc::clone(keyring.insert(Arc::new(keys))))
    }
}

/// Keys by their ids, as they are written; `None` for one that goes.
type Written<'a> = Vec<(Small<'a>, Option<Vec<u8>>)>;

fn written(keys: &[Kept]) -> Result<Written<'_>, CatalogueError> {
    let json =
        |kept| serde_json::to_vec(kept).map_err(|e| CatalogueError::BadKey(format!("a key cannot be kept: {e}")));
    keys.iter().map(|kept| Ok((Small::Key(&kept.key.id), Some(json(kept)?)))).collect()
}

/// So many random bytes in hexadecimal.
fn random<const N: usize>() -> Result<String, CatalogueError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|e| CatalogueError::BadKey(format!("the system has no random numbers for a key: {e}")))?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str, role: Role, libraries: &[&str]) -> NewKey {
        let libraries = libraries.iter().map(|name| name.parse().expect("a name")).collect();
        NewKey { name: name.to_owned(), role, libraries, rate: None, quota: None, expires: None }
    }

    fn catalogue() -> (tempfile::TempDir, Catalogue) {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        (folder, catalogue)
    }

    #[test]
    fn a_secret_opens_until_it_is_revoked_and_is_kept_nowhere() {
        let (folder, catalogue) = catalogue();
        assert!(catalogue.has_no_keys().unwrap() && catalogue.is_open().unwrap());
        let made = catalogue.add_key(new("shop", Role::Ingest, &["mine"])).unwrap();
        assert_eq!(*catalogue.key_of(&made.secret).unwrap().unwrap(), made.key);
        for wrong in ["", "lap_", "shop", &made.secret[..made.secret.len() - 1], &made.secret.replace("lap", "lop")] {
            assert_eq!(catalogue.key_of(wrong).unwrap(), Err(AccessDenied::Unknown), "{wrong}");
        }
        catalogue.flush().unwrap();
        drop(catalogue);
        let random = made.secret.rsplit('_').next().unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(memchr::memmem::find(&bytes, random.as_bytes()).is_none());
        }
        let catalogue = Catalogue::open(folder.path()).unwrap();
        assert_eq!(catalogue.keys().unwrap(), [made.key]);
        assert!(catalogue.key_of(&made.secret).unwrap().is_ok());
        assert!(catalogue.revoke_key("shop").unwrap() && !catalogue.revoke_key("shop").unwrap());
        assert_eq!(catalogue.key_of(&made.secret).unwrap(), Err(AccessDenied::Unknown));
    }

    #[test]
    fn a_rotated_key_has_two_secrets_for_a_while() {
        let (_folder, catalogue) = catalogue();
        let old = catalogue.add_key(new("a", Role::Check, &[])).unwrap();
        let both = catalogue.rotate_key("a", SignedDuration::from_hours(1)).unwrap();
        assert!(catalogue.key_of(&old.secret).unwrap().is_ok() && catalogue.key_of(&both.secret).unwrap().is_ok());
        let alone = catalogue.rotate_key("a", SignedDuration::ZERO).unwrap();
        assert_eq!(catalogue.key_of(&old.secret).unwrap(), Err(AccessDenied::Expired));
        assert_eq!(catalogue.key_of(&both.secret).unwrap(), Err(AccessDenied::Expired));
        assert_eq!(catalogue.key_of(&alone.secret).unwrap().unwrap().expires, None);
        assert!(matches!(catalogue.rotate_key("b", SignedDuration::ZERO), Err(CatalogueError::NoSuchKey(_))));
        assert!(catalogue.revoke_key("a").unwrap() && catalogue.has_no_keys().unwrap());
        assert!(!catalogue.is_open().unwrap());
    }

    #[test]
    fn keys_that_cannot_be() {
        let (_folder, catalogue) = catalogue();
        catalogue.add_key(new("a", Role::Admin, &[])).unwrap();
        assert!(matches!(catalogue.add_key(new("a", Role::Check, &[])), Err(CatalogueError::KeyExists(_))));
        let hourly = NewKey { quota: "5/h".parse().ok(), ..new("d", Role::Check, &[]) };
        let bad = [new("", Role::Check, &[]), new("b", Role::Ingest, &[]), new("c", Role::Check, &["l"]), hourly];
        for new in bad {
            assert!(matches!(catalogue.add_key(new), Err(CatalogueError::BadKey(_))));
        }
    }

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
