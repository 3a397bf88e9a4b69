//! Who is signed in, on all servers that share the store.
//!
//! Rows of [`Table::Sessions`]. A session never changes, so that no server revives one that another has ended:
//! ```text
//! digest      → the session of the cookie with this digest
//! digest 'u'  → when it was used last, now and then
//! "forms"     → what forms send on a server where nobody signs in
//! ```
//! Sessions of one-time links, and those begun while the store takes no changes, are in the memory of the server.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::server::inside::Insider;
use lapidary_catalogue::{Catalogue, CatalogueError, put};
use lapidary_store::{Actor, Row, RowChange, Table};

/// A session ends when it was not used for this long.
const IDLE: SignedDuration = SignedDuration::from_hours(1);
/// A session ends after this long in any case.
pub(super) const WHOLE: SignedDuration = SignedDuration::from_hours(12);
/// How often it is noted that a session is used.
const NOTED: SignedDuration = SignedDuration::from_mins(1);
/// How old what is known of a session may be. Another server may have ended it.
const FRESH: Duration = Duration::from_secs(1);
/// The most sessions of one key; a further one ends the one that was used longest ago.
const MOST_OF_ONE: usize = 20;
/// The most sessions of all keys.
const MOST: usize = 10_000;
const TOKEN_BYTES: usize = 32;
/// The longest name of a browser that is kept.
const BROWSER: usize = 200;
const USED: char = 'u';
const FORMS: &str = "forms";

/// A session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WebSession {
    /// What others call it: it does not open the session.
    pub(super) id: String,
    pub(super) by: Insider,
    pub(super) begun: Timestamp,
    pub(super) from: Option<IpAddr>,
    pub(super) browser: String,
    #[serde(skip)]
    used: Timestamp,
    /// What forms of its pages have to send. It follows from the cookie.
    #[serde(skip)]
    pub(super) token: String,
}

impl WebSession {
    fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.used) >= IDLE || now.duration_since(self.begun) >= WHOLE
    }

    /// Whether a form came from a page of this session.
    pub(super) fn has_sent(&self, token: &str) -> bool {
        same(&self.token, token)
    }
}

/// Compares secrets in constant time.
pub(super) fn same(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// Random bytes in hexadecimal.
pub(super) fn random() -> String {
    let mut bytes = [0; TOKEN_BYTES];
    // Without random numbers there are no keys and no TLS either.
    getrandom::fill(&mut bytes)
        .unwrap_or_else(|error| panic!("the system has no random numbers: {error}"));
    hex::encode(bytes)
}

fn digest_of(cookie: &str) -> String {
    blake3::hash(cookie.as_bytes()).to_string()
}

fn token_of(cookie: &str) -> String {
    hex::encode(blake3::derive_key(
        "lapidary console, token of forms",
        cookie.as_bytes(),
    ))
}

/// What a server knows of the sessions, by the digests of what their cookies say.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<String, KnownSessions>>);

#[derive(Clone)]
struct KnownSessions {
    session: WebSession,
    /// When it was read from the store; `None` if only this server has it.
    read: Option<Instant>,
}

impl KnownSessions {
    fn is_current(&self) -> bool {
        self.read.is_none_or(|read| read.elapsed() < FRESH)
    }
}

impl Sessions {
    fn known(&self) -> MutexGuard<'_, HashMap<String, KnownSessions>> {
        self.0.lock()
    }

    /// Begins a session. Returns what its cookie says.
    pub(super) fn begin(
        &self,
        catalogue: &Catalogue,
        by: Insider,
        from: Option<IpAddr>,
        browser: &str,
        now: Timestamp,
    ) -> String {
        let (cookie, browser) = (random(), browser.chars().take(BROWSER).collect());
        let (id, token, digest) = (
            random()[..16].to_owned(),
            token_of(&cookie),
            digest_of(&cookie),
        );
        let session = WebSession {
            id,
            by,
            begun: now,
            from,
            browser,
            used: now,
            token,
        };
        let is_for_all = matches!(session.by, Insider::Key(_));
        let kept = if is_for_all {
            self.keep(catalogue, &digest, &session, now)
        } else {
            Ok(())
        };
        if let Err(error) = &kept {
            tracing::warn!("a session is known to this server alone: {error}");
        }
        let read = (is_for_all && kept.is_ok()).then(Instant::now);
        let mut known = self.known();
        let alone = |known: &KnownSessions| known.read.is_none() && known.session.by == session.by;
        if known.values().filter(|known| alone(known)).count() >= MOST_OF_ONE {
            let oldest = known
                .iter()
                .filter(|(_, known)| alone(known))
                .min_by_key(|(_, known)| known.session.used);
            let oldest = oldest.map(|(digest, _)| digest.clone()).unwrap_or_default();
            known.remove(&oldest);
        }
        known.insert(digest, KnownSessions { session, read });
        cookie
    }

    /// Writes a session to the store, in place of those that are over or too many.
    fn keep(
        &self,
        catalogue: &Catalogue,
        digest: &str,
        session: &WebSession,
        now: Timestamp,
    ) -> Result<(), CatalogueError> {
        let (over, mut all): (Vec<_>, Vec<_>) = self
            .all(catalogue)?
            .into_iter()
            .partition(|(_, session)| session.is_over(now));
        let mut ended: Vec<String> = over.into_iter().map(|(digest, _)| digest).collect();
        all.sort_by_key(|(_, session)| session.used);
        let of_one = |(_, other): &&(String, WebSession)| other.by == session.by;
        if all.iter().filter(of_one).count() >= MOST_OF_ONE {
            ended.extend(all.iter().find(of_one).map(|(digest, _)| digest.clone()));
        } else if all.len() >= MOST {
            ended.extend(all.first().map(|(digest, _)| digest.clone()));
        }
        self.forget(catalogue, &ended)?;
        let rows = [
            put(Table::Sessions, digest, session),
            put(Table::Sessions, format!("{digest}{USED}"), &now),
        ];
        catalogue.by(Actor::Local).apply_rows(&rows)
    }

    /// The session of a cookie. `is_used` is whether somebody uses it now, and not just a page that looks for news.
    pub(super) fn of(
        &self,
        catalogue: &Catalogue,
        cookie: &str,
        is_used: bool,
        now: Timestamp,
    ) -> Result<Option<WebSession>, CatalogueError> {
        let digest = digest_of(cookie);
        let found = self.find(catalogue, cookie, &digest)?;
        let Some(mut found) = found.filter(|found| !found.session.is_over(now)) else {
            self.known().remove(&digest);
            return Ok(None);
        };
        if is_used && (found.read.is_none() || now.duration_since(found.session.used) >= NOTED) {
            found.session.used = now;
            let row = put(Table::Sessions, format!("{digest}{USED}"), &now);
            let noted = found
                .read
                .map_or(Ok(()), |_| catalogue.by(Actor::Local).apply_rows(&[row]));
            if let Err(error) = noted {
                tracing::warn!("a session ends earlier than it should: {error}");
            }
        }
        let session = found.session.clone();
        let mut known = self.known();
        if known.len() > MOST {
            known.retain(|_, known| known.is_current() && !known.session.is_over(now));
        }
        // One that only this server has was ended meanwhile if it is gone.
        if found.read.is_some() || known.contains_key(&digest) {
            known.insert(digest, found);
        }
        Ok(Some(session))
    }

    /// The session of a cookie with this digest, from the store unless it was read lately.
    fn find(
        &self,
        catalogue: &Catalogue,
        cookie: &str,
        digest: &str,
    ) -> Result<Option<KnownSessions>, CatalogueError> {
        if let Some(known) = self.known().get(digest)
            && known.is_current()
        {
            return Ok(Some(known.clone()));
        }
        let rows = catalogue.page_of(Table::Sessions, digest.as_bytes(), None, 2)?;
        Ok(read(rows).pop().map(|(_, session)| KnownSessions {
            session: WebSession {
                token: token_of(cookie),
                ..session
            },
            read: Some(Instant::now()),
        }))
    }

    /// All sessions with their digests.
    fn all(&self, catalogue: &Catalogue) -> Result<Vec<(String, WebSession)>, CatalogueError> {
        let mut all = read(catalogue.page_of(Table::Sessions, b"", None, usize::MAX)?);
        let known = self.known();
        let alone = known.iter().filter(|(_, known)| known.read.is_none());
        all.extend(alone.map(|(digest, known)| (digest.clone(), known.session.clone())));
        Ok(all)
    }

    /// The sessions that meet a condition, the newest first.
    pub(super) fn list(
        &self,
        catalogue: &Catalogue,
        which: impl Fn(&WebSession) -> bool,
        now: Timestamp,
    ) -> Result<Vec<WebSession>, CatalogueError> {
        let all = self.all(catalogue)?.into_iter().map(|(_, session)| session);
        let mut listed: Vec<WebSession> = all
            .filter(|session| !session.is_over(now) && which(session))
            .collect();
        listed.sort_by_key(|session| std::cmp::Reverse(session.begun));
        Ok(listed)
    }

    /// Ends the sessions that meet a condition.
    pub(super) fn end(
        &self,
        catalogue: &Catalogue,
        which: impl Fn(&WebSession) -> bool,
    ) -> Result<(), CatalogueError> {
        let all = self
            .all(catalogue)?
            .into_iter()
            .filter(|(_, session)| which(session));
        self.forget(
            catalogue,
            &all.map(|(digest, _)| digest).collect::<Vec<_>>(),
        )
    }

    fn forget(&self, catalogue: &Catalogue, digests: &[String]) -> Result<(), CatalogueError> {
        if digests.is_empty() {
            return Ok(());
        }
        self.known().retain(|digest, _| !digests.contains(digest));
        catalogue.by(Actor::Local).apply_rows(
            &digests
                .iter()
                .flat_map(|digest| {
                    [digest.clone(), format!("{digest}{USED}")]
                        .map(|key| RowChange::delete(Table::Sessions, key))
                })
                .collect::<Vec<_>>(),
        )
    }
}

/// What forms send on servers where nobody signs in; `None` if the store takes no changes.
pub(super) fn token_of_forms(catalogue: &Catalogue) -> Option<String> {
    let stored = || {
        catalogue
            .row(Table::Sessions, FORMS.as_bytes())
            .ok()
            .flatten()
    };
    let token = stored().or_else(|| {
        catalogue
            .by(Actor::Local)
            .apply_rows(&[put(Table::Sessions, FORMS, &random())])
            .ok()?;
        // Another server may have been later.
        stored()
    });
    serde_json::from_slice(&token?).ok()
}

/// The sessions of these rows, which are in the order of their keys.
fn read(rows: Vec<Row>) -> Vec<(String, WebSession)> {
    let mut sessions: Vec<(String, WebSession)> = Vec::new();
    for (key, value) in rows {
        let Ok(key) = String::from_utf8(key) else {
            continue;
        };
        match (key.strip_suffix(USED), sessions.last_mut()) {
            (Some(digest), Some((last, session))) if last == digest => {
                session.used = serde_json::from_slice(&value).unwrap_or_default();
            }
            _ => {
                if let Ok(session) = serde_json::from_slice::<WebSession>(&value) {
                    sessions.push((
                        key,
                        WebSession {
                            used: session.begun,
                            ..session
                        },
                    ));
                }
            }
        }
    }
    sessions
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const SECOND: SignedDuration = SignedDuration::from_secs(1);

    fn key(name: &str) -> Insider {
        Insider::Key(name.to_owned())
    }

    fn catalogue() -> (tempfile::TempDir, Catalogue) {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        (folder, catalogue)
    }

    #[test]
    fn a_session_ends_when_idle_and_after_a_day_of_work() {
        let (_folder, catalogue) = catalogue();
        for by in [key("a"), Insider::Local] {
            let (sessions, start) = (Sessions::default(), Timestamp::now());
            let of = |cookie: &str, is_used, now| {
                sessions
                    .of(&catalogue, cookie, is_used, now)
                    .expect("an answer")
            };
            let cookie = sessions.begin(&catalogue, by.clone(), None, "", start);
            assert!(of("", true, start).is_none() && of(&random(), true, start).is_none());
            assert!(of(&cookie, true, start + IDLE / 2).is_some());
            assert!(
                of(&cookie, true, start + IDLE).is_some(),
                "it was used in the meantime"
            );
            assert!(of(&cookie, false, start + IDLE + IDLE / 2).is_some());
            assert!(
                of(&cookie, true, start + IDLE * 2).is_none(),
                "a page that looks for news does not use it"
            );
            let cookie = sessions.begin(&catalogue, by, None, "", start);
            let mut now = start;
            while now + IDLE / 2 < start + WHOLE {
                now += IDLE / 2;
                assert!(of(&cookie, true, now).is_some());
            }
            assert!(
                of(&cookie, true, start + WHOLE).is_none(),
                "however busy it was"
            );
            assert!(
                sessions
                    .list(&catalogue, |_| true, start + WHOLE)
                    .expect("a list")
                    .is_empty()
            );
        }
    }

    #[test]
    fn nobody_ends_the_sessions_of_others() {
        let (_folder, catalogue) = catalogue();
        let (sessions, start) = (Sessions::default(), Timestamp::now());
        let of = |cookie: &str, now| {
            sessions
                .of(&catalogue, cookie, true, now)
                .expect("an answer")
        };
        let mine = sessions.begin(&catalogue, key("mine"), None, "", start);
        let begin = |second: i32| {
            sessions.begin(&catalogue, key("theirs"), None, "", start + SECOND * second)
        };
        let theirs: Vec<String> = (0..25).map(begin).collect();
        let now = start + SECOND * 60;
        assert!(of(&mine, now).is_some());
        let open = theirs
            .iter()
            .map(|cookie| of(cookie, now).is_some())
            .collect::<Vec<_>>();
        assert_eq!(
            open.iter().position(|open| *open),
            Some(5),
            "the oldest were ended"
        );
        let of_them = sessions
            .list(&catalogue, |session| session.by == key("theirs"), now)
            .expect("a list");
        assert_eq!(of_them.len(), MOST_OF_ONE);
        sessions
            .end(&catalogue, |session| session.by == key("theirs"))
            .expect("they end");
        assert!(of(&mine, now).is_some() && of(&theirs[10], now).is_none());
        // What is over makes room in the store.
        sessions.begin(&catalogue, key("mine"), None, "", start + WHOLE);
        assert_eq!(
            catalogue
                .page_of(Table::Sessions, b"", None, 100)
                .expect("rows")
                .len(),
            2
        );
    }

    #[test]
    fn a_request_in_flight_does_not_bring_back_a_session_that_ends() {
        let (_folder, catalogue) = catalogue();
        let (sessions, now) = (Sessions::default(), Timestamp::now());
        for _ in 0..200 {
            let cookie = sessions.begin(&catalogue, Insider::Local, None, "", now);
            let of = || {
                sessions
                    .of(&catalogue, &cookie, true, now)
                    .expect("an answer")
            };
            thread::scope(|scope| {
                scope.spawn(|| (0..100).filter(|_| of().is_some()).count());
                sessions.end(&catalogue, |_| true).expect("it ends");
            });
            assert!(of().is_none());
        }
    }

    #[test]
    fn cookies_and_tokens_are_not_kept_as_they_are() {
        let (_folder, catalogue) = catalogue();
        let (sessions, now) = (Sessions::default(), Timestamp::now());
        let cookies = ["x".repeat(9_999), String::new()]
            .map(|browser| sessions.begin(&catalogue, key("a"), None, &browser, now));
        // As another server finds them.
        let others = Sessions::default();
        let [one, two] = cookies.each_ref().map(|cookie| {
            others
                .of(&catalogue, cookie, true, now)
                .expect("an answer")
                .expect("a session")
        });
        assert!(
            one.token != two.token
                && one.id != two.id
                && one.has_sent(&one.token)
                && !one.has_sent(&two.token)
        );
        assert_eq!(
            (one.token.len(), one.browser.len()),
            (2 * TOKEN_BYTES, BROWSER)
        );
        let rows = catalogue
            .page_of(Table::Sessions, b"", None, 100)
            .expect("rows");
        let kept: String = rows
            .iter()
            .flat_map(|(key, value)| [key, value])
            .map(|s| String::from_utf8_lossy(s))
            .collect();
        assert!(kept.contains(&one.id));
        for secret in [&cookies[0], &cookies[1], &one.token, &two.token] {
            assert!(!kept.contains(secret.as_str()));
        }
        assert_eq!(token_of_forms(&catalogue), token_of_forms(&catalogue));
        assert!(token_of_forms(&catalogue).is_some_and(|token| token.len() == 2 * TOKEN_BYTES));
    }
}
