//! Permits for work that waits for other people's servers, and so has threads of its own.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::access::Guest;
use super::problem::{Problem, overloaded};

/// The permits for a kind of work.
pub(super) struct Permits {
    what: &'static str,
    all: usize,
    of_one: usize,
    taken: Mutex<Vec<Guest>>,
}

/// A permit, until dropped.
pub(super) struct Permit {
    permits: Arc<Permits>,
    by: Guest,
}

impl Permits {
    /// So many permits in all, and so many of them for one client.
    pub(super) fn new(what: &'static str, all: usize, of_one: usize) -> Arc<Self> {
        Arc::new(Self {
            what,
            all,
            of_one,
            taken: Mutex::default(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.taken.lock()
    }

    /// # Errors
    /// If this client, or all together, have no more.
    pub(super) fn take(self: &Arc<Self>, by: Guest) -> Result<Permit, Problem> {
        let mut taken = self.taken();
        let of_client = taken.iter().filter(|other| **other == by).count();
        let whose = match (of_client < self.of_one, taken.len() < self.all) {
            (true, true) => None,
            (false, _) => Some("with this key"),
            (true, false) => Some("of all clients"),
        };
        if let Some(whose) = whose {
            let what = self.what;
            return Err(overloaded(&format!(
                "no more {what} {whose} can run at once; try again in some seconds"
            )));
        }
        taken.push(by.clone());
        drop(taken);
        Ok(Permit {
            permits: Arc::clone(self),
            by,
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.permits.taken();
        if let Some(at) = taken.iter().position(|by| *by == self.by) {
            taken.swap_remove(at);
        }
    }
}
