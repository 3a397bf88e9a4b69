//! `lapidary export` and `lapidary import`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use lapidary_catalogue::api::Imported;
use lapidary_catalogue::{Catalogue, import};
use lapidary_common::count::count;

use super::arguments::{CataloguePlace, Target};
use super::failure::{Failure, Status};
use super::jobs::bar;
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
/// replaced.
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

impl ExportArgs {
    fn folder(&self) -> &Path {
        let folder = self.file.parent();
        let folder = folder.filter(|folder| *folder != Path::new(""));
        folder.unwrap_or(Path::new("."))
    }

    pub(super) fn run(self) -> Result<Status, Failure> {
        let catalogue = self.target.open()?;
        let bar = bar("books");
        let watch = |done, total| {
            bar.set_length(total);
            bar.set_position(done);
            Ok(())
        };
        if self.file == Path::new("-") {
            catalogue.export(
                &mut BufWriter::with_capacity(BUFFER, stdout().lock()),
                &watch,
            )?;
            bar.finish_and_clear();
            return Ok(Status::Done);
        }
        let named = |e: io::Error| Failure::Failed(format!("{}: {e}", self.file.display()));
        // Written to a temporary file, which is renamed once complete.
        let unfinished = tempfile::NamedTempFile::new_in(self.folder()).map_err(named)?;
        let mut out = BufWriter::with_capacity(BUFFER, unfinished.as_file());
        if is_compressed(&self.file) {
            let mut out = zstd::Encoder::new(out, 0).map_err(named)?;
            catalogue.export(&mut out, &watch)?;
            out.finish()
                .and_then(|mut out| out.flush())
                .map_err(named)?;
        } else {
            catalogue.export(&mut out, &watch)?;
            out.flush().map_err(named)?;
            drop(out);
        }
        unfinished.as_file().sync_all().map_err(named)?;
        let file = unfinished.persist(&self.file).map_err(|e| named(e.error))?;
        bar.finish_and_clear();
        let bytes = indicatif::HumanBytes(file.metadata().map_err(named)?.len());
        writeln!(terminal::out(false), "{}: {bytes}", self.file.display())?;
        Ok(Status::Done)
    }
}

impl ImportArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let named = |e: io::Error| Failure::Input(format!("{}: {e}", self.file.display()));
        let input: Box<dyn Read> = if self.file == Path::new("-") {
            Box::new(stdin().lock())
        } else {
            Box::new(File::open(&self.file).map_err(named)?)
        };
        let mut input: Box<dyn BufRead> = Box::new(BufReader::with_capacity(BUFFER, input));
        if is_compressed(&self.file) {
            input = Box::new(BufReader::with_capacity(
                BUFFER,
                zstd::Decoder::with_buffer(input).map_err(named)?,
            ));
        }
        let bar = bar("books");
        let watch = |done, total| {
            bar.set_length(total);
            bar.set_position(done);
            Ok(())
        };
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
        match books - written {
            0 => writeln!(out, "{all}")?,
            same => writeln!(out, "{all}, {same} of them there already")?,
        }
        Ok(Status::Done)
    }
}
