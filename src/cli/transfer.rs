//! `lapidary export` and `lapidary import`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use lapidary_catalogue::api::Imported;
use lapidary_catalogue::{Catalogue, import};
use lapidary_common::count::count;
use lapidary_store::Watch;

use super::arguments::{CataloguePlace, Target};
use super::client::CatalogueClient;
use super::failure::{Failure, Status};
use super::jobs::{advance, bar};
use super::remote::Remote;
use super::terminal;

/// The buffer size for reading and writing files.
const BUFFER: usize = 1 << 20;
/// The extension of compressed files.
const COMPRESSED: &str = "zst";

/// Export a catalogue as JSON Lines, readable by any version and by other programs.
///
/// An export has the books' metadata, their gems with positions, and their folds and texts where kept.
#[derive(Args)]
pub(super) struct ExportArgs {
    #[command(flatten)]
    target: Target,
    /// The file to write, compressed if its name ends in .zst; `-` is standard output
    #[arg(value_name = "FILE.ndjson[.zst]")]
    file: PathBuf,
}

/// Import an export into a catalogue.
///
/// A missing catalogue is created, completely or not at all. In an existing one, books with the same library and id are
/// replaced, unless they are exactly like this already.
#[derive(Args)]
pub(super) struct ImportArgs {
    #[command(flatten)]
    target: Target,
    /// The file to read, compressed if its name ends in .zst; `-` is standard input
    #[arg(value_name = "FILE.ndjson[.zst]")]
    file: PathBuf,
}

fn is_compressed(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == COMPRESSED)
}

/// Words an error of a file.
fn error_of(file: &Path, failure: fn(String) -> Failure) -> impl Fn(io::Error) -> Failure + Copy {
    move |error| failure(format!("{}: {error}", file.display()))
}

impl ExportArgs {
    fn folder(&self) -> &Path {
        let folder = self.file.parent();
        let folder = folder.filter(|folder| *folder != Path::new(""));
        folder.unwrap_or(Path::new("."))
    }

    pub(super) fn run(self) -> Result<Status, Failure> {
        let catalogue = self.target.open()?;
        let bar = bar("books");
        let watch = advance(&bar);
        if self.file == Path::new("-") {
            catalogue.export(
                &mut BufWriter::with_capacity(BUFFER, stdout().lock()),
                &watch,
            )?;
            bar.finish_and_clear();
            return Ok(Status::Done);
        }
        let failed = error_of(&self.file, Failure::Failed);
        if self.file.metadata().is_ok_and(|known| !known.is_file()) {
            // A device or a pipe is not replaced.
            let file = File::options().write(true).open(&self.file);
            self.write(&catalogue, &file.map_err(failed)?, &watch)?;
            bar.finish_and_clear();
            return Ok(Status::Done);
        }
        // Written to a temporary file, which is renamed once complete.
        let unfinished = tempfile::NamedTempFile::new_in(self.folder()).map_err(failed)?;
        self.write(&catalogue, unfinished.as_file(), &watch)?;
        unfinished.as_file().sync_all().map_err(failed)?;
        let file = unfinished
            .persist(&self.file)
            .map_err(|e| failed(e.error))?;
        bar.finish_and_clear();
        let bytes = indicatif::HumanBytes(file.metadata().map_err(failed)?.len());
        writeln!(terminal::out(false), "{}: {bytes}", self.file.display())?;
        Ok(Status::Done)
    }

    /// Exports the catalogue to a file, compressed if the name of the export says so.
    fn write(
        &self,
        catalogue: &CatalogueClient,
        file: &File,
        watch: Watch<'_>,
    ) -> Result<(), Failure> {
        let failed = error_of(&self.file, Failure::Failed);
        let mut out = BufWriter::with_capacity(BUFFER, file);
        if is_compressed(&self.file) {
            let mut encoder = zstd::Encoder::new(out, 0).map_err(failed)?;
            catalogue.export(&mut encoder, watch)?;
            out = encoder.finish().map_err(failed)?;
        } else {
            catalogue.export(&mut out, watch)?;
        }
        out.flush().map_err(failed)
    }
}

impl ImportArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let wrong = error_of(&self.file, Failure::Input);
        let input: Box<dyn Read> = if self.file == Path::new("-") {
            Box::new(stdin().lock())
        } else {
            Box::new(File::open(&self.file).map_err(wrong)?)
        };
        let mut input: Box<dyn BufRead> = Box::new(BufReader::with_capacity(BUFFER, input));
        if is_compressed(&self.file) {
            input = Box::new(BufReader::with_capacity(
                BUFFER,
                zstd::Decoder::with_buffer(input).map_err(wrong)?,
            ));
        }
        let bar = bar("books");
        let watch = advance(&bar);
        let Imported { books, written } = match self.target.place()? {
            CataloguePlace::Folder(folder) => import(&folder, &mut input, &watch)?,
            CataloguePlace::Cluster(address) => Catalogue::open_cluster(&address)?
                .transfer()
                .import_more(&mut input, &watch)?,
            CataloguePlace::Server(url) => Remote::new(&url)?.import(&mut input)?,
        };
        bar.finish_and_clear();
        let all = count(books, "book", "books");
        let mut out = terminal::out(false);
        match books.saturating_sub(written) {
            0 => writeln!(out, "{all}")?,
            same => writeln!(out, "{all}, {same} of them there already")?,
        }
        Ok(Status::Done)
    }
}
