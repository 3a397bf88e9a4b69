//! Watches folders, so that a server sees within seconds what changes in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, recommended_watcher,
};
use parking_lot::Mutex;

use super::Source;
use lapidary_store::BookId;

/// How long a folder must be at rest, so that its files are whole, and how long to wait for that.
const REST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);
/// How often to try to watch a folder that cannot be watched.
const AGAIN: Duration = Duration::from_secs(10);

/// The folders of sources that are watched.
#[derive(Default)]
pub(super) struct Folders {
    watcher: Option<RecommendedWatcher>,
    watched: Arc<Mutex<BTreeMap<PathBuf, Folder>>>,
    /// Folders that cannot be watched, and since when.
    failed: BTreeMap<PathBuf, Instant>,
}

/// A folder that is watched.
struct Folder {
    /// When it was first changed, and last, since it was last read.
    changed: Option<(Instant, Instant)>,
    /// Whether it was removed or moved itself, and with it the watch.
    is_lost: bool,
}

impl Folder {
    fn change(&mut self) {
        let now = Instant::now();
        self.changed = Some((self.changed.map_or(now, |(first, _)| first), now));
    }
}

impl Folders {
    /// Watches the folders of these sources, and no others. One that is new counts as changed.
    pub(super) fn follow(&mut self, sources: &BTreeMap<BookId, Source>) {
        let folders = sources
            .values()
            .filter(|source| source.is_local() && !source.paused);
        let wanted: BTreeSet<PathBuf> = folders
            .map(|source| PathBuf::from(&source.address))
            .collect();
        let mut over = Vec::new();
        self.watched.lock().retain(|path, folder| {
            let stays = wanted.contains(path) && !folder.is_lost;
            if !stays {
                over.push(path.clone());
            }
            stays
        });
        for path in over {
            // One that is gone is not watched any more.
            let _ = self.watcher.as_mut().map(|watcher| watcher.unwatch(&path));
        }
        self.failed
            .retain(|path, since| wanted.contains(path) && since.elapsed() < AGAIN);
        for path in wanted {
            if !self.watched.lock().contains_key(&path) && !self.failed.contains_key(&path) {
                self.watch(path);
            }
        }
    }

    fn watch(&mut self, path: PathBuf) {
        if let Err(error) = self
            .watcher()
            .and_then(|watcher| watcher.watch(&path, RecursiveMode::Recursive))
        {
            tracing::warn!("the folder {} is not watched: {error}", path.display());
            self.failed.insert(path, Instant::now());
            return;
        }
        let mut folder = Folder {
            changed: None,
            is_lost: false,
        };
        folder.change();
        self.watched.lock().insert(path, folder);
    }

    fn watcher(&mut self) -> notify::Result<&mut RecommendedWatcher> {
        if self.watcher.is_none() {
            let watched = Arc::clone(&self.watched);
            self.watcher = Some(recommended_watcher(move |event| note(&watched, event))?);
        }
        self.watcher
            .as_mut()
            .ok_or_else(|| notify::Error::generic("there is no watcher"))
    }

    /// Whether the folder of a source has changed, and is at rest.
    pub(super) fn has_changed(&self, source: &Source) -> bool {
        let watched = self.watched.lock();
        let folder = watched
            .get(Path::new(&source.address))
            .filter(|_| source.is_local());
        let changed = folder.and_then(|folder| folder.changed);
        changed.is_some_and(|(first, last)| last.elapsed() > REST || first.elapsed() > LONGEST)
    }

    /// Forgets a change, because the run that begins now sees it.
    pub(super) fn forget(&self, source: &Source) {
        if let Some(folder) = self.watched.lock().get_mut(Path::new(&source.address)) {
            folder.changed = None;
        }
    }
}

/// Notes what happened. That files are read is no change.
fn note(watched: &Mutex<BTreeMap<PathBuf, Folder>>, event: notify::Result<Event>) {
    let mut watched = watched.lock();
    let event = match event {
        Ok(event) if !event.need_rescan() => event,
        // Something was missed.
        _ => return watched.values_mut().for_each(Folder::change),
    };
    let is_change = match event.kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        EventKind::Modify(ModifyKind::Metadata(_)) => false,
        _ => true,
    };
    for (path, folder) in watched.iter_mut().filter(|_| is_change) {
        if event.paths.iter().any(|changed| changed.starts_with(path)) {
            folder.change();
        }
        let is_end = matches!(
            event.kind,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
        );
        folder.is_lost |= is_end && event.paths.iter().any(|changed| changed == path);
    }
}
