//! `lapidary completions` and `lapidary man`: shell completions and manual pages.

use std::io::{Write as _, stdout};
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::failure::{Failure, Status};

/// Print a shell completion script.
#[derive(Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

/// Write a manual page for each command.
#[derive(Args)]
pub(super) struct Man {
    /// The folder to write them to
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Completions {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        // `generate` panics if it cannot write, so it gets a buffer.
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut super::Command::command(),
            "lapidary",
            &mut script,
        );
        stdout().write_all(&script)?;
        Ok(Status::Done)
    }
}

impl Man {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let failed = |e| {
            Failure::Input(format!(
                "{}: {e}; give a writable folder",
                self.folder.display()
            ))
        };
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        clap_mangen::generate_to(super::Command::command(), &self.folder).map_err(failed)?;
        Ok(Status::Done)
    }
}
