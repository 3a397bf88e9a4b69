//! Where backups may be written.

use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::CatalogueError;

/// Where backups may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backups {
    /// Nowhere: no folder is configured.
    Nowhere,
    /// To folders directly below this one.
    Below(PathBuf),
    /// Anywhere: the caller could write there anyway.
    Anywhere,
}

impl Backups {
    /// # Errors
    /// [`CatalogueError::BadTask`] if there is no folder.
    pub(super) fn configured(&self) -> Result<(), CatalogueError> {
        let sentence = "no folder for backups is configured; set 'backups' in the server's settings (serve --backups DIR)";
        if *self == Self::Nowhere {
            Err(CatalogueError::BadTask(sentence.to_owned()))
        } else {
            Ok(())
        }
    }

    /// The folder for a backup. Below the configured one, nothing in it may lead elsewhere.
    pub(super) fn folder(&self, to: &Path) -> Result<PathBuf, CatalogueError> {
        self.configured()?;
        match self {
            Self::Nowhere | Self::Anywhere => Ok(to.to_owned()),
            Self::Below(folder) => {
                let name = to.to_str().unwrap_or_default();
                if (1..=64).contains(&name.len())
                    && name
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
                {
                    let folder = folder.join(name);
                    return link_in(&folder).map_or(Ok(folder), |link| {
                        let link = link.display();
                        let sentence = "is a symbolic link, which a backup does not follow; replace it with a folder";
                        Err(CatalogueError::BadTask(format!("{link} {sentence}")))
                    });
                }
                let sentence = "a backup's name must have 1 to 64 letters, digits, '-' and '_'";
                Err(CatalogueError::BadTask(sentence.to_owned()))
            }
        }
    }
}

/// What the names of folders begin with in which backups are verified.
const VERIFIED: &str = ".lapidary-";

/// A symbolic link at this path or below it, except those that a verification left.
fn link_in(path: &Path) -> Option<PathBuf> {
    let entries = WalkDir::new(path)
        .follow_root_links(false)
        .into_iter()
        .filter_entry(|entry| !is_of_verification(entry));
    entries
        .flatten()
        .find(DirEntry::path_is_symlink)
        .map(DirEntry::into_path)
}

fn is_of_verification(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with(VERIFIED)
}
