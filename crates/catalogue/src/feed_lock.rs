//! What keeps the set of recipes as it is while books are added.

use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How long a change of the recipes looks for a moment in which no books are being added.
const FEEDS: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(2);

/// Writers of books share it from choosing the recipes until the books are on disk. Adding or hiding a recipe holds it alone. So
/// no book is written with an outdated set of recipes.
#[derive(Default)]
pub(super) struct FeedLock(RwLock<()>);

impl FeedLock {
    /// Held while books are added.
    pub(super) fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read()
    }

    /// Runs a change of the set of recipes while no books are being added.
    pub(super) fn alone<T>(&self, change: impl FnOnce() -> T) -> T {
        let _alone = self.wait();
        change()
    }

    /// Waits until no books are being added. Those who begin to add some wait for whoever waits for the lock, as long as the
    /// longest of those who have begun. So this looks for a moment without any before it waits.
    fn wait(&self) -> RwLockWriteGuard<'_, ()> {
        let since = Instant::now();
        while since.elapsed() < FEEDS {
            if let Some(alone) = self.0.try_write() {
                return alone;
            }
            sleep(PAUSE);
        }
        self.0.write()
    }
}
