//! The `lapidary` command. All its code is in `cli`; everything else is in the library.

mod cli;

use std::process::ExitCode;

use clap::Parser;
use tikv_jemallocator::Jemalloc;

/// For RocksDB too, whose blocks come and go on all threads: the system's allocator keeps twice of what is in use.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::Command::parse().run()
}
