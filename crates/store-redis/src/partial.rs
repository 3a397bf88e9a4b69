//! Reading on without what does not answer, and keeping account of it.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary_gems::Gem;
use redis::Value;

use super::client::{Client, GivenUp};
use super::command::Command;
use lapidary_store::{BookNo, StoreError, Unread};

/// Something that a check looks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Sought {
    /// A gem of the recipe with this number.
    Gem(u16, Gem),
    /// The first half of a digest.
    Digest(String),
    /// A book that may match.
    Book(BookNo),
}

/// What a partial snapshot has asked for.
#[derive(Default)]
pub(super) struct Partial(Mutex<Account>);

#[derive(Default)]
struct Account {
    given_up: GivenUp,
    asked: HashSet<Sought>,
    unread: HashSet<Sought>,
}

impl Partial {
    fn account(&self) -> MutexGuard<'_, Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what can be read.
    pub(super) fn read(
        &self,
        client: &Client,
        commands: &[Command],
    ) -> Result<Vec<Option<Value>>, StoreError> {
        client.read_partly(commands, &mut self.account().given_up)
    }

    /// Notes that something was asked for, and whether it was read.
    pub(super) fn note(&self, sought: Sought, is_read: bool) {
        let mut account = self.account();
        if !is_read {
            account.unread.insert(sought.clone());
        }
        account.asked.insert(sought);
    }

    /// What could not be read, if anything.
    pub(super) fn unread(&self) -> Option<Unread> {
        let account = self.account();
        let mut unread = Unread {
            asked: account.asked.len(),
            ..Unread::default()
        };
        for sought in &account.unread {
            *match sought {
                Sought::Gem(..) => &mut unread.gems,
                Sought::Digest(_) => &mut unread.digests,
                Sought::Book(_) => &mut unread.books,
            } += 1;
        }
        (!account.unread.is_empty()).then_some(unread)
    }
}
