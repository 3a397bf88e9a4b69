//! Requests that take effect once, however often a client sends them (`Idempotency-Key`).
//!
//! What a request creates is written together with its answer, in one step; only the answer of a recipe is kept before the
//! recipe is added. A client that got no answer sends the request again, and gets that one. An answer can have a secret, so it is
//! kept encrypted by the client's name of the request and by the secret of its access key. Neither is kept.

use chacha20poly1305::aead::{Aead as _, KeyInit as _};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::settings::put;
use super::{Catalogue, CatalogueError, Editor};
use lapidary_store::{Action, Actor, RowChange, StoreError, Table};
use lapidary_work::LeasedWork;

/// How long an answer is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24);
/// How many answers that are older are forgotten with each new one, so that they do not add up.
const FORGOTTEN: usize = 16;
/// What the keys of rows begin with: those of answers, and those that name them in the order of time.
const ANSWERS: &str = "a";
const TIMES: &str = "t";
const TIME_DIGITS: usize = 20;
/// What the encryption of answers is derived for.
const CONTEXT: &str = "lapidary 2026-11 answers to requests with an Idempotency-Key";

/// An answer as stored.
#[derive(Serialize, Deserialize)]
struct StoredAnswer {
    /// The digest of the request.
    request: String,
    /// When it was given.
    at: Timestamp,
    #[serde(with = "hex")]
    encrypted: Vec<u8>,
}

/// Whether an answer of this time, in milliseconds, is kept no longer.
fn is_over(at: i64) -> bool {
    Timestamp::now().as_millisecond().saturating_sub(at) > KEPT.as_secs() * 1_000
}

/// The key of the row that names an answer in the order of time, in milliseconds.
fn time_key(at: i64, name: &str) -> String {
    format!("{TIMES}{at:0TIME_DIGITS$}{name}")
}

/// The key of the row of an answer. Of those with one name, the newest is first.
fn answer_key(at: i64, name: &str) -> String {
    let before_the_end = i64::MAX.saturating_sub(at);
    format!("{ANSWERS}{name}{before_the_end:0TIME_DIGITS$}")
}

/// A request that takes effect once, of which nobody else does anything until this is dropped.
pub struct OnceRequest {
    /// What names it among those of all clients.
    name: String,
    /// What its answer is encrypted by.
    passphrase: String,
    digest: String,
    work: LeasedWork,
}

impl OnceRequest {
    /// Begins a request that takes effect once. `key` is the client's name for it, `secret` that of the client's access key, if
    /// it has one, and `digest` that of all that it asks for.
    ///
    /// # Errors
    /// [`CatalogueError::RequestRuns`].
    pub fn begin(
        catalogue: &Catalogue,
        by: &Actor,
        key: &str,
        secret: &str,
        digest: &str,
    ) -> Result<Self, CatalogueError> {
        let name = blake3::hash(format!("{by}\n{key}").as_bytes()).to_string();
        let work = catalogue.runner.begin(&format!("request {name}"))?;
        let work = work.ok_or(CatalogueError::RequestRuns)?;
        Ok(Self {
            name,
            passphrase: format!("{secret}\n{key}"),
            digest: blake3::hash(format!("{secret}\n{digest}").as_bytes()).to_string(),
            work,
        })
    }

    /// Does `task`, and meanwhile keeps others from answering the request.
    pub(super) fn keep_during<T>(&self, task: impl FnOnce() -> T) -> T {
        self.work.keep_during(|| {}, || {}, task)
    }

    /// What the request was answered before, as JSON, if it was made before.
    ///
    /// # Errors
    /// [`CatalogueError::OtherRequest`] if the key was sent with another request or secret.
    fn answer(&self, catalogue: &Catalogue) -> Result<Option<Vec<u8>>, CatalogueError> {
        let Some(stored) = stored_answer(catalogue, &self.name)? else {
            return Ok(None);
        };
        if stored.request != self.digest {
            return Err(CatalogueError::OtherRequest);
        }
        let cipher = cipher(&self.passphrase, stored.at);
        let answer = cipher.decrypt(&Nonce::default(), &*stored.encrypted);
        answer.map(Some).map_err(|_| damaged())
    }
}

/// The answer of this name, if one is kept.
fn stored_answer(
    catalogue: &Catalogue,
    name: &str,
) -> Result<Option<StoredAnswer>, CatalogueError> {
    let of_name = format!("{ANSWERS}{name}");
    let newest = catalogue.page_of(Table::Requests, of_name.as_bytes(), None, 1)?;
    let newest = newest.first();
    let stored = newest.and_then(|(_, row)| serde_json::from_slice::<StoredAnswer>(row).ok());
    Ok(stored.filter(|stored| !is_over(stored.at.as_millisecond())))
}

/// What removes some answers that are kept no longer.
fn forget_answers(catalogue: &Catalogue) -> Result<Vec<RowChange>, CatalogueError> {
    let times = catalogue.page_of(Table::Requests, TIMES.as_bytes(), None, FORGOTTEN)?;
    let mut forgotten = Vec::new();
    for (time, _) in times {
        let Some((at, name)) = of_long_ago(&time) else {
            break;
        };
        // Only this one: the client may have sent its key again since.
        let answer = answer_key(at, name);
        forgotten.push(RowChange::delete(Table::Requests, answer));
        forgotten.push(RowChange::delete(Table::Requests, &time));
    }
    Ok(forgotten)
}

/// When an answer was given that is kept no longer, and its name, by its row of times.
fn of_long_ago(time: &[u8]) -> Option<(i64, &str)> {
    let time = std::str::from_utf8(time).ok()?.strip_prefix(TIMES)?;
    let (at, name) = time.split_at_checked(TIME_DIGITS)?;
    let at = at.parse().ok()?;
    is_over(at).then_some((at, name))
}

/// What an answer given at this time is encrypted by. Each has a key of its own, so the nonce does not matter.
fn cipher(passphrase: &str, at: Timestamp) -> ChaCha20Poly1305 {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(&at.as_nanosecond().to_le_bytes());
    hasher.update(passphrase.as_bytes());
    ChaCha20Poly1305::new(hasher.finalize().as_bytes().into())
}

fn damaged() -> CatalogueError {
    CatalogueError::BadSetting {
        kind: Table::Requests.as_str(),
        name: String::new(),
    }
}

impl Editor<'_> {
    /// The request, if it takes effect once.
    pub(super) fn once(&self) -> Option<&OnceRequest> {
        self.terms.once.as_ref()
    }

    /// What the request was answered before, if it was made before. In a turn, this is also what another server answered that
    /// had begun it and had the turn before.
    pub(super) fn answered_before<T: DeserializeOwned>(&self) -> Result<Option<T>, CatalogueError> {
        let Some(once) = self.once() else {
            return Ok(None);
        };
        let answer = once.answer(self)?;
        let answer = answer.map(|answer| serde_json::from_slice(&answer));
        answer.transpose().map_err(|_| damaged())
    }

    /// Keeps the answer of the request, in the step that makes its change.
    pub(super) fn keep_answer(
        &self,
        answer: &impl Serialize,
    ) -> Result<Vec<RowChange>, CatalogueError> {
        let Some(once) = self.once() else {
            return Ok(Vec::new());
        };
        let name = &once.name;
        let at = Timestamp::now();
        // What the API answers always serializes.
        let json = serde_json::to_vec(answer).unwrap_or_default();
        let encrypted = cipher(&once.passphrase, at).encrypt(&Nonce::default(), &*json);
        let stored = StoredAnswer {
            request: once.digest.clone(),
            at,
            encrypted: encrypted.map_err(|_| damaged())?,
        };
        let mut changes = forget_answers(self)?;
        let at = at.as_millisecond();
        changes.push(put(Table::Requests, answer_key(at, name), &stored));
        changes.push(RowChange::put(Table::Requests, time_key(at, name), ""));
        Ok(changes)
    }

    /// Changes rows and appends entries to the audit log in one step, unless another server has taken over the request.
    pub(super) fn apply_once(
        &self,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError> {
        match self.once() {
            Some(once) => once.work.apply_noting(&self.actor, changes, actions),
            None => self.store.apply(&self.actor, changes, actions),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Terms;
    use crate::api::{MadeKey, NewKey};
    use crate::permission::Role;

    const KEY: &str = "0b9e4a52-7f6c-4c8e-9d43-1f2f3a4b5c6d";
    const SECRET: &str = "lap_00000001_2d8c";

    #[test]
    fn a_request_is_answered_once_and_its_secret_is_not_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        let begin =
            |digest: &str| OnceRequest::begin(&catalogue, &Actor::Local, KEY, SECRET, digest);
        let send = |once: Result<OnceRequest, CatalogueError>| {
            let terms = Terms::default().once(once?);
            let editor = catalogue.by(Actor::Local).on(Arc::new(terms));
            editor.keys().add(NewKey::new("shop", Role::Check))
        };
        let made = send(begin("1")).expect("a key");
        assert_eq!(send(begin("1")).expect("the same key"), made);
        assert!(matches!(
            send(begin("2")),
            Err(CatalogueError::OtherRequest)
        ));
        let with_another_secret = OnceRequest::begin(&catalogue, &Actor::Local, KEY, "", "1");
        assert!(matches!(
            send(with_another_secret),
            Err(CatalogueError::OtherRequest)
        ));
        let running = begin("1").expect("nobody else does");
        assert!(matches!(begin("1"), Err(CatalogueError::RequestRuns)));
        drop(running);
        assert_eq!(catalogue.keys().list().expect("keys").len(), 1);
        let rows = catalogue
            .page_of(Table::Requests, b"", None, 9)
            .expect("rows");
        assert_eq!(rows.len(), 2);
        let random = made.secret.rsplit('_').next().expect("a part");
        for (_, value) in &rows {
            let value = String::from_utf8_lossy(value);
            assert!(
                !value.contains(random)
                    && !value.contains(&hex::encode(random))
                    && !value.contains(KEY)
            );
        }
        // Who reads the store and guesses what the client called its request learns nothing.
        let stored = rows
            .iter()
            .find_map(|(_, row)| serde_json::from_slice::<StoredAnswer>(row).ok());
        let StoredAnswer { at, encrypted, .. } = stored.expect("an answer");
        let is_answer = |passphrase: &str| {
            let answer = cipher(passphrase, at).decrypt(&Nonce::default(), &*encrypted);
            answer.is_ok_and(|answer| serde_json::from_slice::<MadeKey>(&answer).is_ok())
        };
        assert!(is_answer(&format!("{SECRET}\n{KEY}")));
        assert!(!is_answer(KEY) && !is_answer(&format!("\n{KEY}")));
    }

    #[test]
    fn an_answer_is_kept_for_a_day() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        let old = Timestamp::now() - SignedDuration::from_hours(25);
        let rows = (0..30).flat_map(|number| {
            let (name, stored) = (
                format!("{number:064}"),
                StoredAnswer {
                    request: String::new(),
                    at: old,
                    encrypted: Vec::new(),
                },
            );
            let at = old.as_millisecond();
            [
                put(Table::Requests, answer_key(at, &name), &stored),
                RowChange::put(Table::Requests, time_key(at, &name), ""),
            ]
        });
        let rows: Vec<RowChange> = rows.collect();
        catalogue.by(Actor::Local).apply_rows(&rows).expect("rows");
        let count = || {
            catalogue
                .page_of(Table::Requests, b"", None, 99)
                .expect("rows")
                .len()
        };
        let send = |number: u32| {
            let key = format!("{KEY}{number}");
            let once = OnceRequest::begin(&catalogue, &Actor::Local, &key, SECRET, "");
            let terms = Terms::default().once(once.expect("it is new"));
            let editor = catalogue.by(Actor::Local).on(Arc::new(terms));
            let made = editor
                .keys()
                .add(NewKey::new(&number.to_string(), Role::Check));
            made.expect("a key");
        };
        assert_eq!(count(), 60);
        send(1);
        assert_eq!(count(), 60 - 2 * FORGOTTEN + 2);
        send(2);
        assert_eq!(count(), 4);
    }
}
