//! Arguments for what a file may cost.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::size::Size;
use crate::extract::Limits;

/// What a file may cost; what costs more is refused.
#[derive(Args, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Limits on files")]
pub(super) struct LimitArguments {
    /// The largest file, in bytes or with a unit [default: 256MiB]
    #[arg(
        id = "limit-input",
        long = "limit-input",
        value_name = "SIZE",
        env = "LAPIDARY_LIMIT_INPUT",
        hide_short_help = true
    )]
    input: Option<Size>,
    /// The most that a file may unpack to, all its parts together [default: 256MiB]
    #[arg(
        id = "limit-unpacked",
        long = "limit-unpacked",
        value_name = "SIZE",
        env = "LAPIDARY_LIMIT_UNPACKED",
        hide_short_help = true
    )]
    unpacked: Option<Size>,
    /// How many times larger than the file that may be, from 8 MiB on [default: 200]
    #[arg(
        id = "limit-ratio",
        long = "limit-ratio",
        value_name = "N",
        env = "LAPIDARY_LIMIT_RATIO",
        hide_short_help = true
    )]
    ratio: Option<u64>,
    /// The most entries of an archive [default: 20000]
    #[arg(
        id = "limit-entries",
        long = "limit-entries",
        value_name = "N",
        env = "LAPIDARY_LIMIT_ENTRIES",
        hide_short_help = true
    )]
    entries: Option<u64>,
    /// How deep elements or groups may lie in each other [default: 1000]
    #[arg(
        id = "limit-depth",
        long = "limit-depth",
        value_name = "N",
        env = "LAPIDARY_LIMIT_DEPTH",
        hide_short_help = true
    )]
    depth: Option<u64>,
    /// How deep archives may lie in each other [default: 3]
    #[arg(
        id = "limit-archives",
        long = "limit-archives",
        value_name = "N",
        env = "LAPIDARY_LIMIT_ARCHIVES",
        hide_short_help = true
    )]
    archives: Option<u64>,
    /// The memory of the process that reads a file [default: 1GiB]
    #[arg(
        id = "limit-memory",
        long = "limit-memory",
        value_name = "SIZE",
        env = "LAPIDARY_LIMIT_MEMORY",
        hide_short_help = true
    )]
    memory: Option<Size>,
    /// The processor time that reading a file may take, in seconds [default: 20]
    #[arg(
        id = "limit-time",
        long = "limit-time",
        value_name = "SECONDS",
        env = "LAPIDARY_LIMIT_TIME",
        hide_short_help = true
    )]
    time: Option<u64>,
}

impl LimitArguments {
    pub(super) fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits {
            input: self.input.map_or(default.input, |size| size.0),
            unpacked: self.unpacked.map_or(default.unpacked, |size| size.0),
            ratio: self.ratio.unwrap_or(default.ratio),
            entries: self.entries.unwrap_or(default.entries),
            depth: self.depth.unwrap_or(default.depth),
            archives: self.archives.unwrap_or(default.archives),
            memory: self.memory.map_or(default.memory, |size| size.0),
            time: self.time.unwrap_or(default.time),
        }
    }
}

/// All of them set.
impl From<Limits> for LimitArguments {
    fn from(limits: Limits) -> Self {
        let Limits { input, unpacked, ratio, entries, depth, archives, memory, time } = limits;
        Self {
            input: Some(Size(input)),
            unpacked: Some(Size(unpacked)),
            ratio: Some(ratio),
            entries: Some(entries),
            depth: Some(depth),
            archives: Some(archives),
            memory: Some(Size(memory)),
            time: Some(time),
        }
    }
}
