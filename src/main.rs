//! The `lapidary` command. All its code is in `cli`; everything else is in the library.

mod cli;

use std::process::ExitCode;

use clap::Parser;
use tikv_jemallocator::Jemalloc;

/// Also used by RocksDB, which allocates and frees blocks on all threads. With the system's allocator, the process takes
/// twice the memory in use.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::Command::parse().run()
}
