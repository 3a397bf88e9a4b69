//! Arguments that limit the resources used to read a file.

use clap::Args;
use lapidary_extract::Limits;
use serde::{Deserialize, Serialize};

use super::{Size, defaults};

/// Limits on the resources used to read a file. A file that exceeds one is refused.
#[derive(Debug, Clone, Copy, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Limits on files")]
pub struct LimitArguments {
    /// The maximum file size, in bytes or with a unit
    #[arg(
        id = "limit_input",
        long = "limit-input",
        value_name = "SIZE",
        env = "LAPIDARY_LIMIT_INPUT",
        default_value_t = Size(Limits::default().input),
        hide_short_help = true
    )]
    input: Size,
    /// The maximum unpacked size of a file, all its parts together
    #[arg(
        id = "limit_unpacked",
        long = "limit-unpacked",
        value_name = "SIZE",
        env = "LAPIDARY_LIMIT_UNPACKED",
        default_value_t = Size(Limits::default().unpacked),
        hide_short_help = true
    )]
    unpacked: Size,
    /// The maximum ratio of unpacked size to file size, applied from 8 MiB unpacked
    #[arg(
        id = "limit_ratio",
        long = "limit-ratio",
        value_name = "N",
        env = "LAPIDARY_LIMIT_RATIO",
        default_value_t = Limits::default().ratio,
        hide_short_help = true
    )]
    ratio: u64,
    /// The maximum number of entries in an archive
    #[arg(
        id = "limit_entries",
        long = "limit-entries",
        value_name = "N",
        env = "LAPIDARY_LIMIT_ENTRIES",
        default_value_t = Limits::default().entries,
        hide_short_help = true
    )]
    entries: u64,
    /// The maximum nesting depth of elements or groups
    #[arg(
        id = "limit_depth",
        long = "limit-depth",
        value_name = "N",
        env = "LAPIDARY_LIMIT_DEPTH",
        default_value_t = Limits::default().depth,
        hide_short_help = true
    )]
    depth: u64,
    /// The maximum nesting depth of archives
    #[arg(
        id = "limit_archives",
        long = "limit-archives",
        value_name = "N",
        env = "LAPIDARY_LIMIT_ARCHIVES",
        default_value_t = Limits::default().archives,
        hide_short_help = true
    )]
    archives: u64,
    /// The maximum memory of the process that reads a file
    #[arg(
        id = "limit_memory",
        long = "limit-memory",
        value_name = "SIZE",
        env = "LAPIDARY_LIMIT_MEMORY",
        default_value_t = Size(Limits::default().memory),
        hide_short_help = true
    )]
    memory: Size,
    /// The maximum CPU time to read a file, in seconds
    #[arg(
        id = "limit_time",
        long = "limit-time",
        value_name = "SECONDS",
        env = "LAPIDARY_LIMIT_TIME",
        default_value_t = Limits::default().time,
        hide_short_help = true
    )]
    time: u64,
}

impl Default for LimitArguments {
    fn default() -> Self {
        defaults()
    }
}

impl LimitArguments {
    /// The limits, as readers take them.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            input: self.input.0,
            unpacked: self.unpacked.0,
            ratio: self.ratio,
            entries: self.entries,
            depth: self.depth,
            archives: self.archives,
            memory: self.memory.0,
            time: self.time,
        }
    }
}
