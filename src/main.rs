//! The `lapidary` command.

use std::process::ExitCode;

use clap::Parser;
use lapidary::cli::Command;
use tikv_jemallocator::Jemalloc;

/// For RocksDB too, whose blocks come and go on all threads: the system's allocator keeps twice of what is in use.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    Command::parse().run()
}
