//! One-time links, which sign in whoever started the server.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use subtle::ConstantTimeEq as _;

use super::sessions::random;

/// How long a link can be used.
const TIME: Duration = Duration::from_mins(2);

/// The link that was made last, until it is used.
#[derive(Default)]
pub(super) struct Links(Mutex<Option<(String, Instant)>>);

impl Links {
    /// Makes a link, which replaces the one before.
    pub(super) fn make(&self, now: Instant) -> String {
        let link = random();
        *self.0.lock() = Some((link.clone(), now));
        link
    }

    /// Uses the link up. Returns whether it was good.
    pub(super) fn take(&self, link: &str, now: Instant) -> bool {
        let mut made = self.0.lock();
        made.take_if(|(made, at)| {
            bool::from(made.as_bytes().ct_eq(link.as_bytes())) && now.duration_since(*at) < TIME
        })
        .is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_works_once_and_not_for_long() {
        let (links, now) = (Links::default(), Instant::now());
        assert!(!links.take("", now));
        let link = links.make(now);
        assert!(!links.take("another", now) && links.take(&link, now) && !links.take(&link, now));
        let late = links.make(now);
        assert!(!links.take(&late, now + TIME));
        let (old, new) = (links.make(now), links.make(now));
        assert!(!links.take(&old, now) && links.take(&new, now));
    }
}
