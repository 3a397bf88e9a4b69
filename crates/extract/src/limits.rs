//! Resource limits for reading a file.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ExtractError;

const MIB: u64 = 1 << 20;
/// Up to this size any ratio is harmless: a page of blanks shrinks a thousandfold.
const RATIO_FREE: u64 = 8 * MIB;

/// Resource limits for reading a file, so that no file can take a machine down. Each has a default, and a refusal
/// names the limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The size of the file, in bytes.
    pub input: u64,
    /// The total size of everything unpacked from it, in bytes.
    pub unpacked: u64,
    /// The maximum ratio of unpacked size to file size; applies from 8 MiB on.
    pub ratio: u64,
    /// The number of entries in an archive.
    pub entries: u64,
    /// The nesting depth of elements or groups.
    pub depth: u64,
    /// The nesting depth of archives.
    pub archives: u64,
    /// The memory of the process that reads it, in bytes.
    pub memory: u64,
    /// The processor time for reading it, in seconds.
    pub time: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            input: 256 * MIB,
            unpacked: 256 * MIB,
            ratio: 200,
            entries: 20_000,
            depth: 1_000,
            archives: 3,
            memory: 1024 * MIB,
            time: 20,
        }
    }
}

impl Limits {
    /// That this limit was exceeded.
    pub(super) fn met(self, limit: Limit) -> Met {
        let at = match limit {
            Limit::Input => self.input,
            Limit::Unpacked => self.unpacked,
            Limit::Ratio => self.ratio,
            Limit::Entries => self.entries,
            Limit::Depth => self.depth,
            Limit::Archives => self.archives,
            Limit::Memory => self.memory,
            Limit::Time => self.time,
        };
        Met { limit, at }
    }

    pub(super) fn seconds(self) -> Duration {
        Duration::from_secs(self.time.max(1))
    }
}

/// A limit that a file exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// [`Limits::input`]
    Input,
    /// [`Limits::unpacked`]
    Unpacked,
    /// [`Limits::ratio`]
    Ratio,
    /// [`Limits::entries`]
    Entries,
    /// [`Limits::depth`]
    Depth,
    /// [`Limits::archives`]
    Archives,
    /// [`Limits::memory`]
    Memory,
    /// [`Limits::time`]
    Time,
}

/// An exceeded limit, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Met {
    /// Which limit.
    pub limit: Limit,
    /// Its value, in its unit.
    pub at: u64,
}

impl fmt::Display for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        let name = match self.limit {
            Limit::Input => write!(f, "the file has more than {at} bytes").map(|()| "input"),
            Limit::Unpacked => write!(f, "it unpacks to more than {at} bytes").map(|()| "unpacked"),
            Limit::Ratio => {
                write!(f, "it unpacks to more than {at} times its size").map(|()| "ratio")
            }
            Limit::Entries => write!(f, "it has more than {at} entries").map(|()| "entries"),
            Limit::Depth => {
                write!(f, "its elements are nested more than {at} deep").map(|()| "depth")
            }
            Limit::Archives => {
                write!(f, "its archives are nested more than {at} deep").map(|()| "archives")
            }
            Limit::Memory => {
                write!(f, "reading it needs more than {at} bytes of memory").map(|()| "memory")
            }
            Limit::Time => write!(f, "reading it takes more than {at} seconds").map(|()| "time"),
        }?;
        write!(f, ", the limit here (--limit-{name})")
    }
}

impl From<Met> for ExtractError {
    fn from(met: Met) -> Self {
        Self::OverLimit(met)
    }
}

/// What remains of the limits while a file is read.
pub(super) struct Budget {
    pub(super) limits: Limits,
    input: u64,
    unpacked: u64,
}

impl Budget {
    pub(super) fn new(limits: Limits, input: u64) -> Result<Self, Met> {
        if input > limits.input {
            return Err(limits.met(Limit::Input));
        }
        Ok(Self {
            limits,
            input,
            unpacked: 0,
        })
    }

    /// How much more can be unpacked, and the limit that would be exceeded beyond that.
    pub(super) fn room(&self) -> (u64, Met) {
        let unpacked = self.limits.unpacked;
        let by_ratio = self.input.saturating_mul(self.limits.ratio).max(RATIO_FREE);
        let limit = if by_ratio < unpacked {
            Limit::Ratio
        } else {
            Limit::Unpacked
        };
        let room = unpacked.min(by_ratio).saturating_sub(self.unpacked);
        (room, self.limits.met(limit))
    }

    /// Records that `bytes` bytes were unpacked.
    pub(super) fn spend(&mut self, bytes: u64) {
        self.unpacked = self.unpacked.saturating_add(bytes);
    }

    pub(super) fn depth(&self, depth: usize) -> Result<(), Met> {
        if depth as u64 > self.limits.depth {
            Err(self.limits.met(Limit::Depth))
        } else {
            Ok(())
        }
    }
}
