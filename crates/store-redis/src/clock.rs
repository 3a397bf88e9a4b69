//! How far each node has come, by which one that has lost data is known.
//!
//! A node that is started again without its data, or with an old copy of them, answers as if what it lost had never been. So
//! each node counts the changes that it is sent: after them, in the same pipeline, the clock of one of its shards is raised.
//! Before a change is acknowledged, what the clocks said is noted on two other nodes, the witnesses. Every answer comes with
//! the clock of its node. If it says less than a witness, the node has lost something, and nothing that it says counts.
//!
//! No loss is missed:
//!
//! - A node executes, saves and copies what it is sent in order. If it lost a change, it lost what the clock said after it,
//!   and a witness had that before the change was acknowledged.
//! - A node loses data by being another process: the same one started again, or a replica that takes its place. The former
//!   has new connections, the latter another topology. With both, the witnesses are read before anything is sent.
//! - A node that is emptied while it runs has no clock. Clocks begin with the time at which the catalogue was made, in µs, so
//!   that one that begins anew never catches up.
//!
//! If a node and both witnesses of a change are set back together, nobody knows. A catalogue on one primary has no witness.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::command::Command;
use super::keys::{KeySpace, SHARDS};
use super::scripts::WITNESS;
use super::topology::Topology;

/// The least that a clock says once it has begun: a time in µs, in the year 2001.
const FIRST: u64 = 1_000_000_000_000_000;

/// What commands do with the clocks of the nodes that they go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockUse {
    /// Nothing: what witnesses note must not need to be witnessed.
    Ignore,
    Read,
    Raise,
}

/// A clock that is read or raised.
pub(super) struct Reading {
    pub(super) shard: u32,
    pub(super) command: Command,
    /// What it must say at least, or exceed if it is raised.
    least: u64,
}

/// A clock that says less than it said once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SetBack {
    pub(super) shard: u32,
    pub(super) said: u64,
    pub(super) known: u64,
}

/// What is known of the clocks of all shards.
pub(super) struct Clocks {
    keys: KeySpace,
    /// What each has said at a time that is acknowledged.
    known: Vec<AtomicU64>,
    /// What the witnesses do not know yet.
    untold: Mutex<BTreeMap<u32, u64>>,
    /// Held while they are told.
    telling: Mutex<()>,
    /// Whether the nodes have changed: the witnesses are to be read, and others to be told.
    pub(super) must_learn: AtomicBool,
    pub(super) must_tell_again: AtomicBool,
}

impl Clocks {
    pub(super) fn new(keys: KeySpace) -> Self {
        Self {
            keys,
            known: (0..SHARDS).map(|_| AtomicU64::new(0)).collect(),
            untold: Mutex::default(),
            telling: Mutex::default(),
            must_learn: AtomicBool::new(false),
            must_tell_again: AtomicBool::new(false),
        }
    }

    pub(super) fn key(&self, shard: u32) -> Vec<u8> {
        self.keys.shard(shard, "clock")
    }

    /// Where the first witness notes what it knows.
    pub(super) fn first_witness(&self) -> Vec<u8> {
        self.keys.meta("witness")
    }

    /// Where a node that has this shard does.
    pub(super) fn witness(&self, shard: u32) -> Vec<u8> {
        self.keys.shard(shard, "witness")
    }

    /// The clocks of the nodes that serve slots.
    pub(super) fn of(
        &self,
        topology: &Topology,
        slots: impl Iterator<Item = u16>,
        uses: ClockUse,
    ) -> Vec<Reading> {
        if uses == ClockUse::Ignore {
            return Vec::new();
        }
        let mut shards: Vec<u32> = slots
            .filter_map(|slot| topology.a_shard(topology.index(slot)?))
            .collect();
        shards.sort_unstable();
        shards.dedup();
        let readings = shards.into_iter().map(|shard| Reading {
            shard,
            command: match uses {
                ClockUse::Raise => Command::new("INCRBY", &self.key(shard), 1),
                ClockUse::Ignore | ClockUse::Read => Command::bare("GET", &self.key(shard)),
            },
            least: self.known(shard),
        });
        readings.collect()
    }

    pub(super) fn known(&self, shard: u32) -> u64 {
        self.known[shard as usize].load(Ordering::Acquire)
    }

    /// Whether clocks have begun. What was written before there was a catalogue raises them only a little.
    pub(super) fn have_begun(&self) -> bool {
        (0..SHARDS).any(|shard| self.known(shard) >= FIRST)
    }

    /// Compares what a clock says with what was known when it was asked. A raised one is to be told to the witnesses.
    pub(super) fn compare(&self, reading: &Reading, said: u64, uses: ClockUse) -> Option<SetBack> {
        let is_raised = uses == ClockUse::Raise;
        if said < reading.least + u64::from(is_raised) {
            let (shard, known) = (reading.shard, reading.least);
            return Some(SetBack { shard, said, known });
        }
        if is_raised {
            self.note(reading.shard, said);
            self.say(reading.shard, said);
        }
        None
    }

    /// Notes what a clock said once.
    pub(super) fn note(&self, shard: u32, said: u64) {
        if let Some(known) = self.known.get(shard as usize) {
            known.fetch_max(said, Ordering::AcqRel);
        }
    }

    pub(super) fn note_all(&self, said: HashMap<u32, u64>) {
        for (shard, said) in said {
            self.note(shard, said);
        }
    }

    /// Notes that the witnesses must know what a clock said.
    pub(super) fn say(&self, shard: u32, said: u64) {
        let mut untold = self.untold.lock();
        let known = untold.entry(shard).or_default();
        *known = said.max(*known);
    }

    /// Notes that the witnesses must know everything that is known, because others may be asked.
    pub(super) fn say_all(&self) {
        for shard in 0..SHARDS {
            match self.known(shard) {
                0 => {}
                said => self.say(shard, said),
            }
        }
    }

    /// Waits until it is this thread's turn to tell the witnesses. Whoever told them before told them of all changes that were
    /// made before.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.telling.lock()
    }

    pub(super) fn take_untold(&self) -> BTreeMap<u32, u64> {
        std::mem::take(&mut *self.untold.lock())
    }

    /// The command that tells a witness.
    pub(super) fn tell_command(witness: Vec<u8>, said: &BTreeMap<u32, u64>) -> Command {
        let arguments: Vec<String> = said
            .iter()
            .flat_map(|(shard, said)| [shard.to_string(), said.to_string()])
            .collect();
        Command::script(&WITNESS, &[witness], arguments)
    }
}
