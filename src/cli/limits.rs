//! Arguments that limit the resources used to read a file.

use clap::Args;
use lapidary_extract::Limits;
use serde::{Deserialize, Serialize};

use super::size::Size;

/// Limits on the resources used to read a file. A file that exceeds one is refused.
#[derive(Args, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Limits on files")]
pub(super) struct LimitArguments {
    /// The maximum file size, in bytes or with a unit [default: 256MiB]
    #[arg(
        id = "limit-input",
        long = "limit-input",
        value_name = "SIZE",
        env = "LAPIDARY_LIMIT_INPUT",
        hide_short_help = true
    )]
    input: Option<Size>,
    /// The maximum unpacked size of a file, all its parts together [default: 256MiB]
    #[arg(
        id = "limit-unpacked",
        long = "limit-unpacked",
        value_name = "SIZE",
        env = "LAPIDARY_LIMIT_UNPACKED",
        hide_short_help = true
    )]
    unpacked: Option<Size>,
    /// The maximum ratio of unpacked size to file size, applied from 8 MiB unpacked [default: 200]
    #[arg(
        id = "limit-ratio",
        long = "limit-ratio",
        value_name = "N",
        env = "LAPIDARY_LIMIT_RATIO",
        hide_short_help = true
    )]
    ratio: Option<u64>,
    /// The maximum number of entries in an archive [default: 20000]
    #[arg(
        id = "limit-entries",
        long = "limit-entries",
        value_name = "N",
        env = "LAPIDARY_LIMIT_ENTRIES",
        hide_short_help = true
    )]
    entries: Option<u64>,
    /// The maximum nesting depth of elements or groups [default: 1000]
    #[arg(
        id = "limit-depth",
        long = "limit-depth",
        value_name = "N",
        env = "LAPIDARY_LIMIT_DEPTH",
        hide_short_help = true
    )]
    depth: Option<u64>,
    /// The maximum nesting depth of archives [default: 3]
    #[arg(
        id = "limit-archives",
        long = "limit-archives",
        value_name = "N",
        env = "LAPIDARY_LIMIT_ARCHIVES",
        hide_short_help = true
    )]
    archives: Option<u64>,
    /// The maximum memory of the process that reads a file [default: 1GiB]
    #[arg(
        id = "limit-memory",
        long = "limit-memory",
        value_name = "SIZE",
        env = "LAPIDARY_LIMIT_MEMORY",
        hide_short_help = true
    )]
    memory: Option<Size>,
    /// The maximum CPU time to read a file, in seconds [default: 20]
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

/// Sets all of the limits.
impl From<Limits> for LimitArguments {
    fn from(limits: Limits) -> Self {
        let Limits {
            input,
            unpacked,
            ratio,
            entries,
            depth,
            archives,
            memory,
            time,
        } = limits;
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
