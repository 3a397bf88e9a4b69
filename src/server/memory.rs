//! The memory shared by all requests: their bodies, the data built from them during processing, and large responses.
//!
//! Shared by dynamic thresholds (Choudhury and Hahne, 1998): a client, which is a key or an address, may hold twice
//! as much as is still free. A single client gets two thirds of the total, forty clients get two 81sts each, and half
//! that share remains free for the next client. A separate part is reserved for administration.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::{Mutex, MutexGuard};

use super::problem::{Problem, overloaded};
use super::requests::caller;
use super::turns::{Client, Lane};
use lapidary_catalogue::{Catalogue, NewEntry};
use lapidary_common::error::ErrorCode;
use lapidary_gems::{Misspelling, misspelling};

/// One part in this many is reserved for administration.
const RESERVE: usize = 8;
/// A client may hold this many times the amount that is still free.
const THRESHOLD: usize = 2;
/// The step in which memory is requested, so that a large body does not request it for every packet.
const STEP: usize = 256 << 10;
/// How many copies of a text exist while it is written: with others of a stream, in a batch, and in the store's memory.
const COPIES: usize = 3;
/// What is looked up of each byte of a misspelled query, in bytes, and of how many bytes at most: with wrong letters, and with
/// scrambled ones.
const PROBES: usize = 256;
const PROBED: [usize; 2] = [32 << 10, 96 << 10];
/// What the gems of books take that wrong letters are compared with, or the orders of scrambled words.
const COMPARED: usize = 24 << 20;
const MIB: f64 = (1 << 20) as f64;

/// The memory shared by all requests.
pub(super) struct Memory {
    all: usize,
    held: Mutex<HeldMemory>,
}

#[derive(Default)]
struct HeldMemory {
    all: usize,
    by: HashMap<Client, usize>,
}

impl Memory {
    pub(super) fn new(all: usize) -> Arc<Self> {
        Arc::new(Self {
            all,
            held: Mutex::default(),
        })
    }

    fn held(&self) -> MutexGuard<'_, HeldMemory> {
        self.held.lock()
    }

    /// An empty reservation for the current request.
    pub(super) fn room(self: &Arc<Self>) -> Room {
        let by = caller();
        self.room_of(by.client, by.lane == Lane::Administration)
    }

    fn room_of(self: &Arc<Self>, client: Client, is_administration: bool) -> Room {
        Room {
            memory: Arc::clone(self),
            client,
            is_administration,
            bytes: 0,
        }
    }

    /// The part that is not reserved for administration.
    fn common(&self) -> usize {
        self.all - self.all / RESERVE
    }
}

/// The memory reserved for a request, released on drop. It is kept together with the data that fills it, because work
/// can outlive the connection of the client.
pub(super) struct Room {
    memory: Arc<Memory>,
    client: Client,
    is_administration: bool,
    bytes: usize,
}

impl Room {
    /// Another, empty reservation for the same request.
    pub(super) fn another(&self) -> Self {
        self.memory
            .room_of(self.client.clone(), self.is_administration)
    }

    /// The maximum when nobody else holds any.
    fn most(&self) -> usize {
        if self.is_administration {
            self.memory.all
        } else {
            self.memory.common() / (THRESHOLD + 1) * THRESHOLD
        }
    }

    /// Whether `more` bytes are available for this client.
    fn is_free(&self, held: &HeldMemory, more: usize) -> bool {
        let all = held.all.saturating_add(more);
        if self.is_administration {
            return all <= self.memory.all;
        }
        let of_client = held
            .by
            .get(&self.client)
            .copied()
            .unwrap_or_default()
            .saturating_add(more);
        of_client <= THRESHOLD * self.memory.common().saturating_sub(all)
    }

    /// Reserves `more` additional bytes.
    ///
    /// # Errors
    /// If the memory is in use, or a single client may not have that much.
    pub(super) fn grow(&mut self, more: usize) -> Result<(), Problem> {
        if more == 0 {
            return Ok(());
        }
        let most = self.most();
        if self.bytes.saturating_add(more) > most {
            let mib = most as f64 / MIB;
            let detail = format!(
                "this request needs more memory than one client may use ({mib:.1} MiB); send less, or ask the \
                 administrator to raise body-memory"
            );
            return Err(Problem::new(ErrorCode::TooMuchMemory, detail));
        }
        let mut held = self.memory.held();
        if !self.is_free(&held, more) {
            return Err(overloaded("all memory for requests is in use; try again"));
        }
        held.all += more;
        *held.by.entry(self.client.clone()).or_default() += more;
        self.bytes += more;
        Ok(())
    }

    /// Grows to `bytes` bytes in total; for large amounts, reserves some more in advance.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        let more = bytes.saturating_sub(self.bytes);
        match more {
            0 => Ok(()),
            _ if bytes < STEP => self.grow(more),
            _ => self
                .grow(more.next_multiple_of(STEP))
                .or_else(|_| self.grow(more)),
        }
    }

    /// Releases all but `bytes` bytes.
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

    /// Reserves what fingerprinting a text needs in addition to the text itself.
    pub(super) fn grow_to_add(&mut self, text: &str, catalogue: &Catalogue) -> Result<(), Problem> {
        self.grow(catalogue.books().memory_to_add(text.as_bytes())?)
    }

    /// Reserves what checking a text needs in addition to the text itself. Where a text has wrong letters only once it is cleaned, less is
    /// reserved than it looks up; of these, only as many are held as checks run at a time.
    pub(super) fn grow_to_check(
        &mut self,
        text: &str,
        catalogue: &Catalogue,
    ) -> Result<(), Problem> {
        self.grow(catalogue.books().memory_to_check(text.as_bytes())?)?;
        let [wrong, scrambled] = PROBED.map(|most| PROBES * text.len().min(most));
        match misspelling(text) {
            None => Ok(()),
            Some(Misspelling::WrongLetters) => self.grow(wrong + COMPARED),
            Some(Misspelling::ScrambledLetters) => self.grow(scrambled + COMPARED),
        }
    }

    /// Reserves what checking a book and keeping its text needs in addition to fingerprinting it.
    pub(super) fn grow_beyond(
        &mut self,
        entry: &NewEntry,
        catalogue: &Catalogue,
    ) -> Result<(), Problem> {
        self.grow(entry.text_to_keep().map_or(0, |text| COPIES * text.len()))?;
        match (&entry.gate, entry.content.as_text()) {
            (Some(_), Some(text)) => self.grow_to_check(text, catalogue),
            _ => Ok(()),
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
        /// Whatever clients reserve and release, the total is never exceeded, some is left for one more client, and
        /// administration keeps its reserve.
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
