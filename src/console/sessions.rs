//! Who is signed in. Sessions are in the memory of the server: they end with it.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use jiff::Timestamp;
use subtle::ConstantTimeEq as _;

use crate::server::inside::Insider;

/// A session ends when it was not used for this long.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// A session ends after this long in any case.
const WHOLE: Duration = Duration::from_secs(12 * 60 * 60);
/// The most sessions of one key; a further one ends the one that was used longest ago.
const MOST_OF_ONE: usize = 20;
/// The most sessions of all keys.
const MOST: usize = 10_000;
const TOKEN_BYTES: usize = 32;
/// The longest name of a browser that is kept.
const BROWSER: usize = 200;

/// A session.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// What others call it: it does not open the session.
    pub(super) id: String,
    pub(super) by: Insider,
    /// What forms of its pages have to send.
    pub(super) token: String,
    pub(super) begun: Timestamp,
    pub(super) from: Option<IpAddr>,
    pub(super) browser: String,
    started: Instant,
    used: Instant,
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.used) >= IDLE || now.duration_since(self.started) >= WHOLE
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
    getrandom::fill(&mut bytes).unwrap_or_else(|error| panic!("the system has no random numbers: {error}"));
    hex::encode(bytes)
}

/// All sessions, by the digest of what their cookies say.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<blake3::Hash, Session>>);

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<blake3::Hash, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session. Returns what its cookie says.
    pub(super) fn begin(&self, by: Insider, from: Option<IpAddr>, browser: &str, now: Instant) -> String {
        let cookie = random();
        let mut all = self.all();
        all.retain(|_, session| !session.is_over(now));
        let of_one = |session: &Session| session.by == by;
        if all.values().filter(|session| of_one(session)).count() >= MOST_OF_ONE {
            remove_oldest(&mut all, of_one);
        } else if all.len() >= MOST {
            remove_oldest(&mut all, |_| true);
        }
        let session = Session {
            id: random()[..16].to_owned(),
            by,
            token: random(),
            begun: Timestamp::now(),
            from,
            browser: browser.chars().take(BROWSER).collect(),
            started: now,
            used: now,
        };
        all.insert(blake3::hash(cookie.as_bytes()), session);
        cookie
    }

    /// The session of a cookie. `is_used` is whether somebody uses it now, and not just a page that looks for news.
    pub(super) fn of(&self, cookie: &str, is_used: bool, now: Instant) -> Option<Session> {
        let (mut all, digest) = (self.all(), blake3::hash(cookie.as_bytes()));
        let session = all.get_mut(&digest)?;
        if session.is_over(now) {
            all.remove(&digest);
            return None;
        }
        if is_used {
            session.used = now;
        }
        Some(session.clone())
    }

    /// The sessions that meet a condition, the newest first.
    pub(super) fn list(&self, which: impl Fn(&Session) -> bool, now: Instant) -> Vec<Session> {
        let all = self.all();
        let mut listed: Vec<Session> =
            all.values().filter(|session| !session.is_over(now) && which(session)).cloned().collect();
        listed.sort_by_key(|session| std::cmp::Reverse(session.started));
        listed
    }

    /// Ends the sessions that meet a condition. Returns whether there were any.
    pub(super) fn end(&self, which: impl Fn(&Session) -> bool) -> bool {
        let mut all = self.all();
        let before = all.len();
        all.retain(|_, session| !which(session));
        all.len() < before
    }
}

fn remove_oldest(all: &mut HashMap<blake3::Hash, Session>, which: impl Fn(&Session) -> bool) {
    let oldest = all.iter().filter(|(_, session)| which(session)).min_by_key(|(_, session)| session.used);
    if let Some(digest) = oldest.map(|(digest, _)| *digest) {
        all.remove(&digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn key(name: &str) -> Insider {
        Insider::Key(name.to_owned())
    }

    #[test]
    fn a_session_ends_when_idle_and_after_a_day_of_work() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let cookie = sessions.begin(key("a"), None, "", start);
        assert!(sessions.of("", true, start).is_none() && sessions.of(&random(), true, start).is_none());
        assert!(sessions.of(&cookie, true, start + IDLE / 2).is_some());
        assert!(sessions.of(&cookie, true, start + IDLE).is_some(), "it was used in the meantime");
        assert!(sessions.of(&cookie, false, start + IDLE + IDLE / 2).is_some());
        assert!(sessions.of(&cookie, true, start + 2 * IDLE).is_none(), "a page that looks for news does not use it");
        let cookie = sessions.begin(key("a"), None, "", start);
        let mut now = start;
        while now + IDLE / 2 < start + WHOLE {
            now += IDLE / 2;
            assert!(sessions.of(&cookie, true, now).is_some());
        }
        assert!(sessions.of(&cookie, true, start + WHOLE).is_none(), "however busy it was");
        assert!(sessions.list(|_| true, start + WHOLE).is_empty());
    }

    #[test]
    fn nobody_ends_the_sessions_of_others() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let mine = sessions.begin(key("mine"), None, "", start);
        let theirs: Vec<String> = (0..MOST_OF_ONE + 5)
            .map(|i| sessions.begin(key("theirs"), None, "", start + SECOND * u32::try_from(i).unwrap()))
            .collect();
        let now = start + SECOND * 60;
        assert!(sessions.of(&mine, true, now).is_some());
        let open = theirs.iter().map(|cookie| sessions.of(cookie, true, now).is_some()).collect::<Vec<_>>();
        assert_eq!(open.iter().position(|open| *open), Some(5), "the oldest were ended");
        assert_eq!(sessions.list(|session| session.by == key("theirs"), now).len(), MOST_OF_ONE);
        assert!(sessions.end(|session| session.by == key("theirs")));
        assert!(sessions.of(&mine, true, now).is_some() && sessions.of(&theirs[10], true, now).is_none());
    }

    #[test]
    fn cookies_and_tokens_are_not_kept_as_they_are() {
        let sessions = Sessions::default();
        let (a, b) = (Instant::now(), Instant::now());
        let cookies = [sessions.begin(key("a"), None, &"x".repeat(9_999), a), sessions.begin(key("a"), None, "", b)];
        let [one, two] = cookies.each_ref().map(|cookie| sessions.of(cookie, true, b).expect("a session"));
        assert!(one.token != two.token && one.id != two.id && one.has_sent(&one.token) && !one.has_sent(&two.token));
        assert!(!format!("{one:?}{two:?}").contains(&cookies[0]) && one.browser.len() == BROWSER);
    }
}
