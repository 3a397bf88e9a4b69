//! `lapidary docs DIR`.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use lapidary::site;
use lapidary_common::count::count;

use super::failure::{Failure, Status};
use super::terminal::out;

/// Write the documentation as a web site
///
/// It is that of this version, and needs no network: open DIR/index.html, or serve the folder. A server has it at /docs/.
#[derive(Args)]
pub(super) struct DocsArgs {
    /// The folder to write to. Files with the same names are replaced
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl DocsArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let files =
            site::write(&self.folder).map_err(|error| Failure::unwritable(&self.folder, &error))?;
        let files = count(files as u64, "file", "files");
        writeln!(out(false), "wrote {files} to {}", self.folder.display())?;
        Ok(Status::Done)
    }
}
