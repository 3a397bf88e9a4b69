//! `lapidary completions` and `lapidary man`: shell completions and manual pages.

#[cfg(test)]
mod tests;

use std::io::{Write as _, stdout};
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::failure::{Failure, Status};

/// What the environment says to more than one command.
pub(super) const VARIABLES: &str = "\
Environment variables:

- `LAPIDARY_KEY`: the key of commands with --server. There is no flag, because other users of the machine can read command lines.

- `LAPIDARY_CA`: with --server https://…, and for a cluster at rediss://…, a PEM file of certificates to trust instead of the public \
authorities: those of the issuing authority, or the server's own.

- `LAPIDARY_STORE_PASSWORD`, `LAPIDARY_STORE_PASSWORD_FILE`: the password of the nodes of a cluster, or the file that has it.

- `LAPIDARY_STORE_ON_DISK`: with 1, a change in a cluster is acknowledged only when it is on disk.

- `LAPIDARY_LIMIT_…`: limits of every command that reads files, as in the settings of serve.

- `RUST_LOG`: the log level of serve, and of warnings of commands, such as info or debug.

- `NO_COLOR`: if set to any value, reports have no colours.";

/// Print a shell completion script.
#[derive(Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Write a manual page for each command.
#[derive(Args)]
pub(super) struct ManArgs {
    /// The folder to write them to
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl CompletionsArgs {
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

impl ManArgs {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let folder = &self.folder;
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(super::Command::command(), folder))
            .map_err(|e| {
                Failure::Input(format!("{}: {e}; give a writable folder", folder.display()))
            })?;
        Ok(Status::Done)
    }
}
