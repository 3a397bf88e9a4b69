//! The `lapidary` command. All its code is in `cli`; everything else is in the library.

mod cli;

use std::process::ExitCode;

use clap::Parser;
use tikv_jemallocator::Jemalloc;

/// Also used by RocksDB, which allocates and frees blocks on all threads. With the system's allocator, the process takes
/// twice the memory in use.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// The allocator's options. Blocks of 1 MiB or more, such as texts and bodies, go back to the system as soon as they are freed;
/// by default, each arena keeps some of up to 8 MiB for a while.
#[expect(unsafe_code, reason = "the allocator looks for this name")]
#[unsafe(export_name = "malloc_conf")]
static OPTIONS: &[u8; 27] = b"oversize_threshold:1048576\0";

fn main() -> ExitCode {
    cli::Command::parse().run()
}
