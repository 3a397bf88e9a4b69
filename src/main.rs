//! The `lapidary` command.

use std::process::ExitCode;

use clap::Parser;
use lapidary::cli::Command;

fn main() -> ExitCode {
    Command::parse().run()
}
