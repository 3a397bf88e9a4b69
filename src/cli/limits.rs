//! Arguments for what a file may cost.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::extract::Limits;

/// What a file may cost; what costs more is refused.
#[derive(Args, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Limits on files")]
pub(super) struct LimitArguments {
    /// The largest file, in bytes [default: 268435456]
    #[arg(
        id = "limit-input",
        long = "limit-input",
        value_name = "BYTES",
        env = "LAPIDARY_LIMIT_INPUT",
        hide_short_help = true
    )]
    input: Option<u64>,
    /// The most that a file may unpack to, all its parts together, in bytes [default: 268435456]
    #[arg(
        id = "limit-unpacked",
        long = "limit-unpacked",
        value_name = "BYTES",
        env = "LAPIDARY_LIMIT_UNPACKED",
        hide_short_help = true
    )]
    unpacked: Option<u64>,
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
    /// The memory of the process that reads a file, in bytes [default: 1073741824]
    #[arg(
        id = "limit-memory",
        long = "limit-memory",
        value_name = "BYTES",
        env = "LAPIDARY_LIMIT_MEMORY",
        hide_short_help = true
    )]
    memory: Option<u64>,
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
            input: self.input.unwrap_or(default.input),
            unpacked: self.unpacked.unwrap_or(default.unpacked),
            ratio: self.ratio.unwrap_or(default.ratio),
            entries: self.entries.unwrap_or(default.entries),
            depth: self.depth.unwrap_or(default.depth),
            archives: self.archives.unwrap_or(default.archives),
            memory: self.memory.unwrap_or(default.memory),
            time: self.time.unwrap_or(default.time),
        }
    }
}
