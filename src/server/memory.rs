//! The memory that requests may take together: what they send, what is made of it while they are worked on, and large answers.
//!
//! Shared by dynamic thresholds (Choudhury and Hahne, 1998): a client, which is a key or an address, may hold twice as much as is
//! still free. So one alone gets two thirds of all, forty get two 81sts each, and half as much is left for whoever comes next.
//! Beside that a part is kept for administration.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::http::StatusCode;
use hashbrown::HashMap;

use super::problem::{Problem, overloaded};
use super::requests::caller;
use super::turns::{Client, Lane};
use crate::catalogue::Catalogue;

/// One part in so many is for administration alone.
const RESERVE: usize = 8;
/// How many times as much as is still free a client may hold.
const THRESHOLD: usize = 2;
/// What is asked for at a time, so that a large body does not ask for each packet.
const STEP: usize = 256 << 10;
const MIB: f64 = (1 << 20) as f64;

/// The memory of all requests.
pub(super) struct Memory {
    all: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    all: usize,
    by: HashMap<Client, usize>,
}

impl Memory {
    pub(super) fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, held: Mutex::default() })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None of it yet, for the request that is being answered.
    pub(super) fn room(self: &Arc<Self>) -> Room {
        let by = caller();
        self.room_of(by.client, by.lane == Lane::Administration)
    }

    fn room_of(self: &Arc<Self>, client: Client, is_administration: bool) -> Room {
        Room { memory: Arc::clone(self), client, is_administration, bytes: 0 }
    }

    /// What is not kept for administration.
    fn common(&self) -> usize {
        self.all - self.all / RESERVE
    }
}

/// The memory that a request has, given back when this is dropped. It goes with what fills it, since work goes on when the
/// client is gone.
pub(super) struct Room {
    memory: Arc<Memory>,
    client: Client,
    is_administration: bool,
    bytes: usize,
}

impl Room {
    /// Other room for the same request, none of it yet.
    pub(super) fn another(&self) -> Self {
        self.memory.room_of(self.client.clone(), self.is_administration)
    }

    /// What it may be when nobody else has any.
    fn most(&self) -> usize {
        if self.is_administration { self.memory.all } else { self.memory.common() / (THRESHOLD + 1) * THRESHOLD }
    }

    /// Whether there is so much more for it.
    fn is_free(&self, held: &Held, more: usize) -> bool {
        let all = held.all.saturating_add(more);
        if self.is_administration {
            return all <= self.memory.all;
        }
        let of_client = held.by.get(&self.client).copied().unwrap_or_default().saturating_add(more);
        of_client <= THRESHOLD * self.memory.common().saturating_sub(all)
    }

    /// Takes so many bytes more.
    ///
    /// # Errors
    /// When others have them, or when they are more than one client may have.
    pub(super) fn grow(&mut self, more: usize) -> Result<(), Problem> {
        if more == 0 {
            return Ok(());
        }
        let most = self.most();
        if self.bytes.saturating_add(more) > most {
            let mib = most as f64 / MIB;
            let detail = format!(
                "this takes more memory than one client may have here ({mib:.1} MiB); send less, or have --body-memory raised"
            );
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_much_memory", detail));
        }
        let mut held = self.memory.held();
        if !self.is_free(&held, more) {
            return Err(overloaded("other requests take the memory that is set aside for them; try again"));
        }
        held.all += more;
        *held.by.entry(self.client.clone()).or_default() += more;
        self.bytes += more;
        Ok(())
    }

    /// Takes so many bytes in all, and for many some more ahead.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        let more = bytes.saturating_sub(self.bytes);
        match more {
            0 => Ok(()),
            _ if bytes < STEP => self.grow(more),
            _ => self.grow(more.next_multiple_of(STEP)).or_else(|_| self.grow(more)),
        }
    }

    /// Gives back all but so many bytes.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        if less > 0 {
            let mut held = self.memory.held();
            held.all -= less;
            if let Some(mine) = held.by.get_mut(&self.client) {
                *mine -= less;
                if *mine == 0 {
                    held.by.remove(&self.client);
                }
            }
            self.bytes -= less;
        }
    }

    /// Takes what working on a text takes beside it.
    pub(super) fn grow_for(&mut self, text: Option<&str>, catalogue: &Catalogue) -> Result<(), Problem> {
        match text {
            Some(text) => self.grow(catalogue.memory_for(text.as_bytes())?),
            None => Ok(()),
        }
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;

    fn client(memory: &Arc<Memory>, number: u8) -> Room {
        memory.room_of(Client::Address(IpAddr::from([10, 0, 0, number])), false)
    }

    fn administrator(memory: &Arc<Memory>) -> Room {
        memory.room_of(Client::Key("boss".to_owned()), true)
    }

    #[test]
    fn one_gets_a_part_and_the_rest_is_for_others() {
        let memory = Memory::new(1_200);
        let (mut first, mut second) = (client(&memory, 1), client(&memory, 2));
        first.grow(700).unwrap();
        assert!(first.grow(1).is_err());
        second.grow(233).unwrap();
        assert!(second.grow(1).is_err());
        let mut third = client(&memory, 3);
        third.grow(78).unwrap();
        let mut boss = administrator(&memory);
        boss.grow(189).unwrap();
        assert!(boss.grow(1).is_err());
        drop((first, second, boss));
        third.grow(10).unwrap();
        assert_eq!(third.bytes(), 88);
    }

    proptest! {
        /// Whatever clients take and give back: there is never more than there is, some is left for one more, and
        /// administration has its reserve.
        #[test]
        fn there_is_always_some_left(steps in prop::collection::vec((0_u8..40, 0_usize..5_000, any::<bool>()), 1..300)) {
            let memory = Memory::new(8_000);
            let mut rooms: Vec<Room> = (0..40).map(|number| client(&memory, number)).collect();
            for (who, bytes, give) in steps {
                let room = &mut rooms[usize::from(who)];
                if give {
                    room.shrink_to(bytes);
                } else {
                    let _ = room.grow(bytes);
                }
                let held: usize = rooms.iter().map(Room::bytes).sum();
                prop_assert_eq!(memory.held().all, held);
                prop_assert!(held <= 7_000);
                prop_assert!(client(&memory, 200).grow((7_000 - held) / 2).is_ok());
                prop_assert!(administrator(&memory).grow(1_000).is_ok());
            }
            drop(rooms);
            prop_assert_eq!(memory.held().by.len(), 0);
        }
    }
}
