//! Links that show a filed check to somebody without a key.
//!
//! A link has a secret of 256 random bits, which is shown once. The catalogue stores only its digest, by which the link is found. A link
//! shows what its maker would see at that moment, so it ends with the maker's key.
//!
//! Links are in [`Table::Decisions`], with these keys:
//!
//! ```text
//! h check link → the link, JSON; its id is the first half of the SHA-256 of its secret
//! ```

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::decisions::{key, parsed, read};
use super::keys::random;
use super::settings::put;
use super::sharing::EVIDENCE;
use super::{Catalogue, CatalogueError, Editor};
use crate::api::{Key, MadeReportLink, NewReportLink, ReportLink};
use crate::permission::Permission;
use lapidary_store::{Action, Actor, Library, RowChange, Table};

const SECRET_BYTES: usize = 32;
const ID_BYTES: usize = 16;
/// The kind of the setting in the audit log.
const KIND: &str = "report-link";
/// Maximum number of links of a check.
const MOST: usize = 100;
const USUAL_TIME: SignedDuration = SignedDuration::from_hours(30 * 24);
const LONGEST_TIME: SignedDuration = SignedDuration::from_hours(366 * 24);

/// A link as stored.
#[derive(Serialize, Deserialize)]
struct StoredLink {
    actor: String,
    since: Timestamp,
    until: Timestamp,
    book_texts: bool,
}

impl StoredLink {
    fn shown(self, check: Uuid, id: String) -> ReportLink {
        ReportLink {
            id,
            check: check.to_string(),
            created_at: self.since,
            actor: self.actor,
            expires_at: self.until,
            book_texts: self.book_texts,
        }
    }
}

/// What whoever follows a link may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// The id of the link.
    pub link: String,
    /// For whom filed checks are shown; `None` for whoever sees all.
    pub viewer: Option<Actor>,
    /// The libraries whose kept texts are shown; `None` for all.
    pub readable: Option<BTreeSet<Library>>,
}

/// Links to filed checks ([`Catalogue::report_links`]). Who has an [`Editor`] makes and deletes them.
#[derive(Debug, Clone)]
pub struct ReportLinks<C>(pub(super) C);

impl ReportLinks<Editor<'_>> {
    /// Makes a link to a filed check. `by`: only if this actor sees the check.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchDecision`] and [`CatalogueError::BadLink`].
    pub fn make(
        &self,
        check: &str,
        new: &NewReportLink,
        by: Option<&Actor>,
    ) -> Result<MadeReportLink, CatalogueError> {
        let check = self.0.decisions().seen_check(check, by)?;
        let now = Timestamp::now();
        let stored = StoredLink {
            actor: self.0.actor.to_string(),
            since: now,
            until: end_of(new, now)?,
            book_texts: new.book_texts,
        };
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        if let Some(made) = self.0.answered_before()? {
            return Ok(made);
        }
        let (over, left): (Vec<_>, Vec<_>) = self
            .of(check)?
            .into_iter()
            .partition(|link| link.expires_at <= now);
        if left.len() >= MOST {
            return Err(CatalogueError::BadLink(
                "a check has at most 100 links; delete one first",
            ));
        }
        let secret = random::<SECRET_BYTES>()?;
        let id = id_of(&secret);
        let mut changes = over
            .iter()
            .map(|link| {
                Ok(RowChange::delete(
                    Table::Decisions,
                    row_key(check, &link.id)?,
                ))
            })
            .collect::<Result<Vec<_>, CatalogueError>>()?;
        changes.push(put(Table::Decisions, row_key(check, &id)?, &stored));
        let made = MadeReportLink {
            url: format!("/shared/{check}/{secret}"),
            link: stored.shown(check, id),
        };
        changes.extend(self.0.keep_answer(&made)?);
        turn.apply(
            &self.0.actor,
            &changes,
            &[noted(check, &made.link.id, false)],
        )?;
        Ok(made)
    }

    /// Deletes a link. `by`: only if this actor made it.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchDecision`] and [`CatalogueError::NoSuchLink`].
    pub fn delete(&self, check: &str, id: &str, by: Option<&Actor>) -> Result<(), CatalogueError> {
        let check = self.0.decisions().seen_check(check, by)?;
        let row = row_key(check, id)?;
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        match self.stored(&row)? {
            Some(link) if by.is_none_or(|by| link.actor == by.to_string()) => {}
            _ => return Err(CatalogueError::NoSuchLink),
        }
        let change = RowChange::delete(Table::Decisions, row);
        turn.apply(&self.0.actor, &[change], &[noted(check, id, true)])?;
        Ok(())
    }
}

impl<C: Deref<Target = Catalogue>> ReportLinks<C> {
    /// The links to a filed check, by id, expired ones included. `by`: only those that this actor made.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchDecision`].
    pub fn list(&self, check: &str, by: Option<&Actor>) -> Result<Vec<ReportLink>, CatalogueError> {
        let check = self.0.decisions().seen_check(check, by)?;
        let mut links = self.of(check)?;
        links.retain(|link| by.is_none_or(|by| link.actor == by.to_string()));
        Ok(links)
    }

    /// What whoever has the secret of a link may see of its check.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchLink`] if there is no such link, not any more, or its maker's key has ended.
    pub fn follow(&self, check: &str, secret: &str) -> Result<Followed, CatalogueError> {
        let check = parsed(check).map_err(|_| CatalogueError::NoSuchLink)?;
        let id = id_of(secret);
        let link = self.stored(&row_key(check, &id)?)?;
        let link = link.filter(|link| Timestamp::now() < link.until);
        let followed = link.map(|link| self.followed(id, &link)).transpose()?;
        followed.flatten().ok_or(CatalogueError::NoSuchLink)
    }

    /// What the maker of a link would see by it; `None` if that is nothing any more.
    fn followed(&self, id: String, link: &StoredLink) -> Result<Option<Followed>, CatalogueError> {
        let (viewer, readable) = match Actor::written(&link.actor) {
            Some(Actor::Local) => (None, None),
            Some(Actor::Anonymous) if self.0.keys().is_open()? => (None, None),
            Some(Actor::Key(name)) => {
                let Some(key) = self.maker(&name, link.since)? else {
                    return Ok(None);
                };
                (key.viewer(), key.libraries_for(Permission::ReadTexts))
            }
            _ => return Ok(None),
        };
        let readable = if link.book_texts {
            readable
        } else {
            Some(BTreeSet::new())
        };
        Ok(Some(Followed {
            link: id,
            viewer,
            readable,
        }))
    }

    /// The key that made a link at this time, if it may still see filed checks. Another key of the same name is not the maker.
    fn maker(&self, name: &str, made: Timestamp) -> Result<Option<Arc<Key>>, CatalogueError> {
        let keys = self.0.keys();
        let is_successor = keys.since(name)?.is_some_and(|since| made < since);
        let key = keys.named(name)?;
        Ok(key.filter(|key| !is_successor && !key.has_expired() && key.may_see_checks()))
    }

    fn of(&self, check: Uuid) -> Result<Vec<ReportLink>, CatalogueError> {
        let prefix = key(b"h", check);
        let rows = self.0.page_of(Table::Decisions, &prefix, None, MOST)?;
        let mut links = Vec::with_capacity(rows.len());
        for (row, value) in rows {
            let id = hex::encode(row.get(prefix.len()..).unwrap_or_default());
            links.push(read::<StoredLink>(&value, check)?.shown(check, id));
        }
        Ok(links)
    }

    fn stored(&self, row: &[u8]) -> Result<Option<StoredLink>, CatalogueError> {
        let value = self.0.row(Table::Decisions, row)?;
        value.map(|value| read(&value, Uuid::nil())).transpose()
    }
}

/// When a new link is to expire.
fn end_of(new: &NewReportLink, now: Timestamp) -> Result<Timestamp, CatalogueError> {
    let until = new.expires_at.unwrap_or(now + USUAL_TIME);
    if until <= now || until > now + LONGEST_TIME {
        return Err(CatalogueError::BadLink(
            "a link expires between now and in 366 days; give another `expires_at`",
        ));
    }
    Ok(until)
}

/// The id of the link with this secret.
fn id_of(secret: &str) -> String {
    hex::encode(&Sha256::digest(secret.as_bytes())[..ID_BYTES])
}

fn row_key(check: Uuid, id: &str) -> Result<Vec<u8>, CatalogueError> {
    let mut bytes = [0; ID_BYTES];
    hex::decode_to_slice(id, &mut bytes).map_err(|_| CatalogueError::NoSuchLink)?;
    Ok([&key(b"h", check)[..], &bytes].concat())
}

/// The entry of the audit log about a link.
fn noted(check: Uuid, id: &str, removed: bool) -> Action {
    Action::Setting {
        kind: KIND.to_owned(),
        name: format!("{check}/{id}"),
        removed,
    }
}
