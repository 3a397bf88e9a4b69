//! `lapidary copy`.

use std::io::Write as _;

use clap::Args;
use lapidary_catalogue::{Catalogue, CatalogueError, Copied};
use lapidary_common::count::count;
use lapidary_store::{RocksStore, Store, StoreError};
use lapidary_store_redis::ClusterStore;

use super::arguments::{CataloguePlace, VolatileArgument};
use super::failure::{Failure, Status};
use super::jobs::{advance, bar};
use super::terminal::out;

/// Copy a catalogue to another place: from a folder to a Redis Cluster, back, or to another of the same kind.
///
/// The source stays in use. A folder may even be open in a server: it is copied as it was at the start, through links to its files
/// made inside it (`lapidary.frozen-…`). If this is interrupted, run it again, and it goes on; until it has finished, the copy cannot
/// be opened. Run again later, it brings the copy up to date, unless that was changed. In the end, both are read and compared.
///
/// Recipes, books with their gems, folds and kept texts, decisions, keys, allow-lists, webhooks and settings are copied, and jobs as a
/// history. The audit log stays behind: that of the copy says when it was made. Webhooks are told of nothing that happened before.
///
/// A new copy in a cluster is filled without postings. These are sorted in the temporary folder (`TMPDIR`) and written at the end.
///
/// To switch over: copy, stop the changes, and copy again, which takes only what has changed since. Then start the new server.
#[derive(Args)]
pub(super) struct CopyArgs {
    /// The catalogue to copy: its folder, or the URL of its cluster
    #[arg(long, value_name = "DIR|URL")]
    from: CataloguePlace,
    /// Where to copy it to: a new folder, or the URL of a cluster, with a prefix that is not in use
    #[arg(long, value_name = "DIR|URL")]
    to: CataloguePlace,
    #[command(flatten)]
    volatile: VolatileArgument,
}

impl CopyArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let names = [self.from.name(), self.to.name()];
        if names[0] == names[1] {
            return Err(Failure::Input(
                "--from and --to are the same; name another place".to_owned(),
            ));
        }
        let from = open_source(&self.volatile.apply(self.from))?;
        let to = open_target(&self.volatile.apply(self.to))?;
        let bar = bar("books");
        let Copied {
            copied,
            kept,
            removed,
            books,
            gems,
            storing,
            verifying,
        } = from.copying().run(
            &to.copying(),
            names.each_ref().map(String::as_str),
            &advance(&bar),
        )?;
        bar.finish_and_clear();
        let mut said = vec![format!("{} copied", count(copied, "book", "books"))];
        said.extend((kept > 0).then(|| format!("{kept} there already")));
        said.extend((removed > 0).then(|| format!("{removed} removed")));
        let (books, gems) = (count(books, "book", "books"), count(gems, "gem", "gems"));
        let [storing, verifying] =
            [storing, verifying].map(|time| format!("{:.1} s", time.as_secs_f64()));
        writeln!(out(false), "{} in {storing}", said.join(", "))?;
        writeln!(
            out(false),
            "source and copy are equal: {books}, {gems}; compared and verified in {verifying}"
        )?;
        Ok(Status::Done)
    }
}

fn open_source(place: &CataloguePlace) -> Result<Catalogue, Failure> {
    let catalogue = match place {
        CataloguePlace::Folder(folder) => Catalogue::open_frozen(folder)?,
        CataloguePlace::Cluster(address) => Catalogue::open_cluster(address)?,
        CataloguePlace::Server(_) => return Err(not_a_server()),
    };
    if catalogue.copying().is_untouched()? {
        return Err(CatalogueError::from(StoreError::Missing(place.name())).into());
    }
    Ok(catalogue)
}

/// Opens the target, also if it is an unfinished copy.
fn open_target(place: &CataloguePlace) -> Result<Catalogue, Failure> {
    let store: Result<Box<dyn Store>, StoreError> = match place {
        CataloguePlace::Folder(folder) => {
            RocksStore::open_or_create(folder).map(|store| Box::new(store) as _)
        }
        CataloguePlace::Cluster(address) => {
            ClusterStore::open(address).map(|store| Box::new(store) as _)
        }
        CataloguePlace::Server(_) => return Err(not_a_server()),
    };
    Ok(Catalogue::with_store(store.map_err(CatalogueError::from)?))
}

fn not_a_server() -> Failure {
    Failure::Input(
        "copy reads and writes folders and clusters; for a server, use export and import"
            .to_owned(),
    )
}
