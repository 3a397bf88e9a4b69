//! People who sign in with an identity provider: which of its groups may do what.
//!
//! A person is a key whose secret nobody has. It is made or renewed at each sign-in, permits what the person's groups do, and
//! expires. So whatever holds for keys holds for people: limits, sessions, the audit log, webhooks, sources, filed checks.
//! What the groups may do is a setting of the server, and is looked up whenever keys are read.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use sha2::{Digest, Sha256};

use super::keys::is_key_name;
use crate::api::{Key, NewKey, PERSON};
use crate::permission::{Permission, Rate, Role};
use lapidary_store::Library;

/// Length in bytes of the id of a person, which is written in hexadecimal.
const ID_BYTES: usize = 16;

/// What the members of a group of the identity provider may do, such as `editors: texts in fiction, poetry`.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct GroupGrant {
    group: String,
    permissions: BTreeSet<Permission>,
    libraries: BTreeSet<Library>,
}

impl FromStr for GroupGrant {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("'{written}': {why}");
        let Some((group, grant)) = written.split_once(": ") else {
            return Err(wrong(
                "write the group, its permissions or roles, and their libraries: editors: texts in fiction, poetry",
            ));
        };
        let (permissions, libraries) = grant.split_once(" in ").unwrap_or((grant, ""));
        let grant = Self {
            group: group.trim().to_owned(),
            permissions: permitted(permissions).map_err(|why| wrong(&why))?,
            libraries: words(libraries)
                .map(str::parse)
                .collect::<Result<_, _>>()
                .map_err(|error| wrong(&format!("{error}")))?,
        };
        match grant.as_key().fault() {
            Some(fault) => Err(wrong(fault)),
            None => Ok(grant),
        }
    }
}

impl fmt::Display for GroupGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let permissions: Vec<_> = self.permissions.iter().map(|one| one.as_str()).collect();
        let libraries: Vec<_> = self.libraries.iter().map(Library::as_str).collect();
        write!(f, "{}: {}", self.group, permissions.join(", "))?;
        if libraries.is_empty() {
            return Ok(());
        }
        write!(f, " in {}", libraries.join(", "))
    }
}

impl GroupGrant {
    /// A key that permits the same.
    fn as_key(&self) -> NewKey {
        let mut key = NewKey {
            role: None,
            permissions: self.permissions.clone(),
            libraries: self.libraries.clone(),
            ..NewKey::new("group", Role::Check)
        };
        let ingests = key.permits(Permission::Ingest) && !key.permits(Permission::Administer);
        // Whether its libraries are trusted is said of them, not of people.
        key.trusted = ingests.then_some(true);
        key
    }
}

/// The words of a list with commas.
fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

/// The permissions of a list of permissions and roles.
fn permitted(list: &str) -> Result<BTreeSet<Permission>, String> {
    let mut permitted = BTreeSet::new();
    for word in words(list) {
        match (word.parse::<Role>(), word.parse::<Permission>()) {
            (Ok(role), _) => permitted.extend(role.permissions()),
            (Err(_), Ok(permission)) => _ = permitted.insert(permission),
            (Err(role), Err(permission)) => return Err(format!("{permission}; {role}")),
        }
    }
    Ok(permitted)
}

/// Who may sign in with the identity provider of a server, and what for.
#[derive(Debug, Clone, Default)]
pub struct Members {
    /// The identity provider.
    pub issuer: String,
    /// What its groups may do. Several join: who is in two has the permissions and the libraries of both.
    pub grants: Vec<GroupGrant>,
    /// The rate of each person.
    pub rate: Option<Rate>,
    /// The daily quota of each person.
    pub quota: Option<Rate>,
}

impl Members {
    /// Those of a person's groups that may do something.
    pub(super) fn groups_of(&self, person: &Person) -> BTreeSet<String> {
        let mapped = self.grants.iter().map(|grant| &grant.group);
        mapped
            .filter(|group| person.groups.contains(*group))
            .cloned()
            .collect()
    }

    /// The key of a person, with what the groups permit now.
    pub(super) fn applied(&self, membership: &Membership, key: &Key) -> Key {
        let (mut permissions, mut libraries) = (BTreeSet::new(), BTreeSet::new());
        let is_of = |grant: &&GroupGrant| {
            membership.issuer == self.issuer && membership.groups.contains(&grant.group)
        };
        for grant in self.grants.iter().filter(is_of) {
            permissions.extend(&grant.permissions);
            libraries.extend(grant.libraries.iter().cloned());
        }
        if permissions.contains(&Permission::Administer) {
            libraries.clear();
        }
        Key {
            // Who may nothing is let in no longer.
            expires_at: key.expires_at.map(|until| {
                if permissions.is_empty() {
                    key.created_at
                } else {
                    until
                }
            }),
            permissions,
            libraries,
            rate: self.rate,
            quota: self.quota,
            ..key.clone()
        }
    }
}

/// Somebody whom the identity provider has identified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// What the provider always calls this person, and nobody else.
    pub subject: String,
    /// The names by which others know the person, such as an e-mail address, the best first.
    pub names: Vec<String>,
    /// The groups.
    pub groups: BTreeSet<String>,
    /// When the provider has to be asked again.
    pub until: Timestamp,
}

impl Person {
    /// The id of the person's key.
    pub(super) fn id(&self, issuer: &str) -> String {
        // An address has no line break.
        let digest = Sha256::digest(format!("{issuer}\n{}", self.subject));
        hex::encode(&digest[..ID_BYTES])
    }

    /// The name of the person's key, which has this id.
    pub(super) fn key_name(&self, id: &str) -> String {
        let named = self.names.iter().map(|name| format!("{PERSON}{name}"));
        let mut named = named.filter(|name| is_key_name(name));
        named.next().unwrap_or_else(|| format!("{PERSON}{id}"))
    }

    /// The person's key, before anything is permitted by the groups.
    pub(super) fn key(&self, id: String, name: String, created_at: Timestamp) -> Key {
        Key {
            id,
            name,
            role: None,
            permissions: BTreeSet::new(),
            libraries: BTreeSet::new(),
            must_gate: None,
            rate: None,
            quota: None,
            expires_at: Some(self.until),
            created_at,
        }
    }
}

/// The membership of a person, as stored with the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Membership {
    pub(super) issuer: String,
    pub(super) groups: BTreeSet<String>,
}

/// Why somebody whom the identity provider knows is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAdmitted {
    /// None of the groups may do anything.
    NoGroup,
    /// There is a key of this name that is not this person's.
    NameTaken(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccessDenied, Catalogue, CatalogueError};
    use jiff::SignedDuration;
    use lapidary_store::{Action, Actor, AuditFrom};

    const ISSUER: &str = "https://login.example";

    fn members(grants: &[&str]) -> Members {
        Members {
            issuer: ISSUER.to_owned(),
            grants: grants
                .iter()
                .map(|grant| grant.parse().expect("a grant"))
                .collect(),
            ..Members::default()
        }
    }

    fn person(subject: &str, name: &str, groups: &[&str]) -> Person {
        Person {
            subject: subject.to_owned(),
            names: vec![name.to_owned()],
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            until: Timestamp::now() + SignedDuration::from_hours(1),
        }
    }

    #[test]
    fn what_groups_may_do_is_written_in_words() {
        for (written, shown) in [
            ("staff: check", "staff: check"),
            (
                "editors: texts in fiction,poetry",
                "editors: check, read_texts, review in fiction, poetry",
            ),
            (
                "urn:g:1: ban,ingest in a: b in c",
                "urn:g:1: ingest, ban in a: b in c",
            ),
            ("it: admin", "it: administer"),
        ] {
            let grant: GroupGrant = written.parse().expect(written);
            assert_eq!(grant.to_string(), shown);
            assert_eq!(shown.parse(), Ok(grant));
        }
        for (wrong, says) in [
            ("editors", "write the group"),
            ("editors: ", "a role or permissions"),
            ("editors: rule", "a permission is"),
            ("editors: texts", "must name its libraries"),
            ("editors: check in fiction", "must name its libraries"),
            ("editors: ban in fiction", "must name its libraries"),
            ("editors: review, ban in fiction", "can ingest can ban"),
            ("editors: texts in a\u{7}b", "a library's name"),
        ] {
            let why = wrong.parse::<GroupGrant>().expect_err(wrong);
            assert!(why.contains(says), "{wrong}: {why}");
        }
    }

    #[test]
    fn a_person_may_what_the_groups_may_now() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |grants: &[&str]| {
            let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
            catalogue.with_members(members(grants))
        };
        let both = ["readers: texts in fiction", "feeders: ingest in poetry"];
        let catalogue = open(&both);
        let keys = catalogue.by(Actor::Local).keys();
        let ann = person("1", "ann@x.example", &["readers", "feeders", "other"]);
        let key = keys
            .admit(&ann)
            .expect("it is written")
            .expect("she is let in");
        let id = key.id.clone();
        assert_eq!(key.name, "oidc:ann@x.example");
        assert!(key.permits(Permission::Review) && key.permits(Permission::Ingest));
        assert_eq!(key.libraries.len(), 2);
        // Another name is still the same person; another person has another name.
        let renamed = person("1", "new@x.example", &["readers"]);
        let again = keys.admit(&renamed).expect("it is written").expect("in");
        assert_eq!((&again.id, &again.name), (&id, &key.name));
        assert!(!again.permits(Permission::Ingest) && again.created_at == key.created_at);
        let other = person("2", "ann@x.example", &["readers"]);
        assert_eq!(
            keys.admit(&other).expect("an answer"),
            Err(NotAdmitted::NameTaken(key.name.clone()))
        );
        // Nobody has a secret, and none can be made.
        assert_eq!(
            catalogue
                .keys()
                .of_secret(&format!("lap_{id}_"))
                .expect("an answer"),
            Err(AccessDenied::Unknown)
        );
        assert!(matches!(
            keys.rotate(&key.name, SignedDuration::ZERO),
            Err(CatalogueError::BadKey(_))
        ));
        let log = catalogue
            .audit()
            .page(AuditFrom::Behind(0), 100)
            .expect("entries");
        let groups: Vec<_> = log
            .entries
            .iter()
            .filter(|entry| entry.actor == "key:oidc:ann@x.example")
            .filter_map(|entry| match &entry.action {
                Action::SignedIn { groups, .. } => Some(groups.join(" ")),
                _ => None,
            })
            .collect();
        assert_eq!(groups, ["feeders readers", "readers"]);
        drop(keys);
        drop(catalogue);
        // A change of the setting holds without another sign-in.
        let catalogue = open(&["readers: check"]);
        let key = catalogue.keys().valid(&id).expect("keys").expect("a key");
        assert!(key.permits(Permission::Check) && !key.permits(Permission::Review));
        drop(catalogue);
        let catalogue = open(&["others: check"]);
        assert_eq!(catalogue.keys().valid(&id).expect("keys"), None);
        drop(catalogue);
        // Who is in no group any more is not let in with what the groups gave before.
        let catalogue = open(&both);
        assert!(catalogue.keys().valid(&id).expect("keys").is_some());
        let left = person("1", "ann@x.example", &["other"]);
        let keys = catalogue.by(Actor::Local).keys();
        assert_eq!(
            keys.admit(&left).expect("an answer"),
            Err(NotAdmitted::NoGroup)
        );
        assert_eq!(catalogue.keys().valid(&id).expect("keys"), None);
        let stranger = person("3", "bob@x.example", &[]);
        assert_eq!(
            keys.admit(&stranger).expect("an answer"),
            Err(NotAdmitted::NoGroup)
        );
        assert_eq!(catalogue.keys().list().expect("keys").len(), 1);
    }
}
