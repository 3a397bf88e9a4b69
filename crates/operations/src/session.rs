//! On what, for whom and where an operation runs.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use lapidary_catalogue::api::{Finding, History};
use lapidary_catalogue::{Catalogue, CatalogueError, Editor, Terms};
use lapidary_language::Language;
use lapidary_store::{Actor, Library, Table, tag_of};

use crate::OperationError;

/// A catalogue, and for whom an operation works on it.
pub struct Session<'c> {
    /// The catalogue, for what may outlive the operation.
    pub catalogue: &'c Arc<Catalogue>,
    /// The libraries that the caller may see; `None` for all.
    pub libraries: Option<BTreeSet<Library>>,
    /// The process in which it runs.
    pub host: &'c dyn Host,
    /// The language of sentences in its answer.
    pub language: Language,
    editor: Editor<'c>,
}

impl<'c> Session<'c> {
    /// For a caller who may see these libraries; `None` for all.
    #[must_use]
    pub fn new(
        catalogue: &'c Arc<Catalogue>,
        actor: Actor,
        libraries: Option<BTreeSet<Library>>,
        host: &'c dyn Host,
    ) -> Self {
        Self {
            catalogue,
            libraries,
            host,
            language: Language::default(),
            editor: catalogue.by(actor),
        }
    }

    /// For whoever can change the catalogue's folder as well.
    #[must_use]
    pub fn local(catalogue: &'c Arc<Catalogue>, host: &'c dyn Host) -> Self {
        Self::new(catalogue, Actor::Local, None, host)
    }

    /// The version of a record, which is stored as a row.
    pub(crate) fn version(
        &self,
        table: Table,
        key: &str,
    ) -> Result<Option<String>, OperationError> {
        let row = self.row(table, key.as_bytes())?;
        Ok(row.as_deref().map(tag_of))
    }

    /// The same session, whose changes are made on these terms.
    #[must_use]
    pub fn on(self, terms: Arc<Terms>) -> Self {
        Self {
            editor: self.editor.on(terms),
            ..self
        }
    }

    /// The same session, whose answer is in this language.
    #[must_use]
    pub fn in_language(self, language: Language) -> Self {
        Self { language, ..self }
    }

    /// For whom filed checks are shown; `None` for whoever sees all.
    #[must_use]
    pub fn viewer(&self) -> Option<&Actor> {
        self.libraries.as_ref().map(|_| self.actor())
    }
}

impl<'c> Deref for Session<'c> {
    type Target = Editor<'c>;

    fn deref(&self) -> &Editor<'c> {
        &self.editor
    }
}

/// The usual minimum of free disk space, in bytes: room for everything in memory, and the same again to compact it.
pub const MIN_FREE: u64 = 256 << 20;

/// The process in which operations run.
pub trait Host: Send + Sync {
    /// Whether it answers others.
    fn is_server(&self) -> bool {
        false
    }

    /// The free disk space below which a catalogue is unhealthy, in bytes.
    fn min_free(&self) -> u64 {
        MIN_FREE
    }

    /// When its TLS certificate expires, if it has one.
    fn certificate_until(&self) -> Option<Timestamp> {
        None
    }

    /// Why people cannot sign in with their identity provider, if they cannot.
    fn sign_in_fault(&self, _language: Language) -> Option<Finding> {
        None
    }

    /// The figures of its last hour, if it keeps them.
    fn last_hour(&self) -> History {
        History {
            interval_seconds: 0,
            samples: Vec::new(),
        }
    }

    /// Revokes a key immediately. Returns whether it existed.
    fn revoke_key(&self, editor: &Editor<'_>, name: &str) -> Result<bool, CatalogueError> {
        editor.keys().revoke(name)
    }
}

/// A command that works on a catalogue without a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommandLine;

impl Host for CommandLine {}
