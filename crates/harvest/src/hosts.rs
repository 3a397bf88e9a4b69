//! What is known of the hosts that are asked, by all sources of this process together: their `robots.txt`, and when each may
//! be asked next. A host is asked one thing at a time.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::robots::Robots;
use lapidary_work::StopSignal;

/// How long a `robots.txt` is believed, as RFC 9309 asks.
const BELIEVED: Duration = Duration::from_hours(24);
/// Above this number, hosts that nobody asks are forgotten.
const MANY: usize = 1_000;
/// How often to look whether a host is free.
const LOOK: Duration = Duration::from_millis(20);

static HOSTS: LazyLock<Mutex<HashMap<String, Arc<Mutex<Host>>>>> = LazyLock::new(Mutex::default);

/// The rules of a host.
pub(super) struct Rules {
    pub(super) robots: Robots,
    /// The pause that it asks for.
    pub(super) delay: Duration,
    pub(super) read: Instant,
}

struct Host {
    rules: Option<Arc<Rules>>,
    is_asked: bool,
    next: Instant,
}

/// The right to ask a host, until dropped.
pub(super) struct HostTurn {
    host: Arc<Mutex<Host>>,
    /// How long nobody asks it afterwards; `None` if it was not asked.
    pub(super) pause: Option<Duration>,
}

impl HostTurn {
    /// Waits for the turn to ask a host; `None` if told to stop, or if it is not free by then.
    pub(super) fn take(origin: &str, stop: &StopSignal, until: Option<Instant>) -> Option<Self> {
        let host = {
            let mut all = HOSTS.lock();
            if all.len() > MANY {
                let now = Instant::now();
                all.retain(|_, host| Arc::strong_count(host) > 1 || host.lock().next > now);
            }
            Arc::clone(all.entry(origin.to_owned()).or_insert_with(|| {
                Arc::new(Mutex::new(Host {
                    rules: None,
                    is_asked: false,
                    next: Instant::now(),
                }))
            }))
        };
        loop {
            let now = Instant::now();
            let wait = {
                let mut found = host.lock();
                if !found.is_asked && found.next <= now {
                    found.is_asked = true;
                    drop(found);
                    return Some(Self { host, pause: None });
                }
                if found.is_asked {
                    LOOK
                } else {
                    found.next.saturating_duration_since(now)
                }
            };
            if until.is_some_and(|until| now + wait > until) || !stop.sleep(wait) {
                return None;
            }
        }
    }

    /// The host's rules, if they are known.
    pub(super) fn rules(&self) -> Option<Arc<Rules>> {
        self.host
            .lock()
            .rules
            .clone()
            .filter(|rules| rules.read.elapsed() < BELIEVED)
    }

    pub(super) fn learn(&self, rules: Rules) {
        self.host.lock().rules = Some(Arc::new(rules));
    }
}

impl Drop for HostTurn {
    fn drop(&mut self) {
        let mut host = self.host.lock();
        host.is_asked = false;
        if let Some(pause) = self.pause {
            host.next = Instant::now() + pause;
        }
    }
}
