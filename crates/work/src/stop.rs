//! Telling work to stop.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Tells work to stop.
#[derive(Debug, Default)]
pub struct StopSignal {
    told: Mutex<StopRequest>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum StopRequest {
    #[default]
    GoOn,
    /// End soon, and keep what was done.
    End,
    /// Change nothing any more.
    Drop,
}

impl StopSignal {
    fn tell(&self, what: StopRequest) {
        let mut told = self.told.lock();
        *told = what.max(*told);
        self.changed.notify_all();
    }

    /// Tells it to end soon. It may still write down what it has done.
    pub fn end(&self) {
        self.tell(StopRequest::End);
    }

    /// Once this returns, it changes nothing any more.
    pub fn drop_it(&self) {
        self.tell(StopRequest::Drop);
    }

    /// Whether it was told to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.told.lock() != StopRequest::GoOn
    }

    /// Whether it may change nothing any more.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        *self.told.lock() == StopRequest::Drop
    }

    /// Waits this long, or until it is stopped. Returns whether it goes on.
    pub fn sleep(&self, time: Duration) -> bool {
        let goes_on = |told: &mut StopRequest| *told == StopRequest::GoOn;
        let mut told = self.told.lock();
        self.changed.wait_while_for(&mut told, goes_on, time);
        goes_on(&mut told)
    }

    /// Makes a change, unless nothing may be changed any more.
    pub(crate) fn unless_dropped<T>(&self, change: impl FnOnce() -> T) -> Option<T> {
        let told = self.told.lock();
        (*told != StopRequest::Drop).then(change)
    }
}
