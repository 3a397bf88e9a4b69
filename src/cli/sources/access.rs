//! The sources of a catalogue, whether in a folder or cluster, or behind a running server.

use std::thread::sleep;
use std::time::Duration;

use lapidary_catalogue::Catalogue;
use lapidary_catalogue::api::{
    Source, SourceDefinition, SourceErrors, SourceRuns, SourceTest, Sources,
};
use lapidary_harvest::Sources as _;
use lapidary_store::{Actor, BookId};
use serde_json::json;

use crate::cli::arguments::{Place, Target};
use crate::cli::failure::Failure;
use crate::cli::remote::{Remote, encoded};

/// What commands do with sources.
pub(super) trait SourceAccess {
    fn sources(&self) -> Result<Vec<Source>, Failure>;
    fn source(&self, name: &BookId) -> Result<Source, Failure>;
    /// Returns whether it replaced one.
    fn set_source(&self, name: &BookId, definition: SourceDefinition) -> Result<bool, Failure>;
    fn pause_source(&self, name: &BookId, paused: bool) -> Result<(), Failure>;
    fn test_source(&self, name: &BookId) -> Result<SourceTest, Failure>;
    /// Returns whether it existed.
    fn remove_source(&self, name: &BookId) -> Result<bool, Failure>;
    fn source_runs(
        &self,
        name: &BookId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<SourceRuns, Failure>;
    fn source_errors(
        &self,
        name: &BookId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<SourceErrors, Failure>;
}

/// Opens an existing catalogue, or one to add sources to.
pub(super) fn opened(target: &Target, create: bool) -> Result<Box<dyn SourceAccess>, Failure> {
    Ok(match target.place()? {
        Place::Server(url) => Box::new(Remote::new(&url)?),
        _ if create => Box::new(target.open_here()?),
        _ => Box::new(target.open_existing()?),
    })
}

impl SourceAccess for Catalogue {
    fn sources(&self) -> Result<Vec<Source>, Failure> {
        Ok(self.shown_sources(&|_| true)?)
    }

    fn source(&self, name: &BookId) -> Result<Source, Failure> {
        Ok(self.shown_source(name)?)
    }

    fn set_source(&self, name: &BookId, definition: SourceDefinition) -> Result<bool, Failure> {
        let source = lapidary_harvest::Source::try_from(definition)?
            .checked()?
            .checked_on_disk()?;
        let editor = self.by(Actor::Local);
        editor.ensure_recipes(&[])?;
        Ok(lapidary_harvest::set_source(
            &editor,
            name,
            &source,
            &|_| true,
        )?)
    }

    fn pause_source(&self, name: &BookId, paused: bool) -> Result<(), Failure> {
        let source = lapidary_harvest::Sources::source(self, name)?;
        lapidary_harvest::set_source(
            &self.by(Actor::Local),
            name,
            &lapidary_harvest::Source { paused, ..source },
            &|_| true,
        )?;
        Ok(())
    }

    fn test_source(&self, name: &BookId) -> Result<SourceTest, Failure> {
        Ok(lapidary_harvest::Sources::source(self, name)?.test())
    }

    fn remove_source(&self, name: &BookId) -> Result<bool, Failure> {
        let editor = self.by(Actor::Local);
        let existed = lapidary_harvest::remove_source(&editor, name, &|_| true)?;
        // A server may be clearing it, too.
        while !lapidary_harvest::clear_source(&editor, name)? {
            sleep(Duration::from_millis(1));
        }
        Ok(existed)
    }

    fn source_runs(
        &self,
        name: &BookId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<SourceRuns, Failure> {
        Ok(lapidary_harvest::Sources::source_runs(
            self, name, before, limit,
        )?)
    }

    fn source_errors(
        &self,
        name: &BookId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<SourceErrors, Failure> {
        Ok(lapidary_harvest::Sources::source_errors(
            self, name, cursor, limit,
        )?)
    }
}

fn path(name: &BookId) -> String {
    format!("/v1/sources/{}", encoded(name.as_str()))
}

impl SourceAccess for Remote {
    fn sources(&self) -> Result<Vec<Source>, Failure> {
        let Sources { sources } = self.get("/v1/sources")?;
        Ok(sources)
    }

    fn source(&self, name: &BookId) -> Result<Source, Failure> {
        self.get(&path(name))
    }

    fn set_source(&self, name: &BookId, definition: SourceDefinition) -> Result<bool, Failure> {
        self.put_new::<Source>(&path(name), &definition)
            .map(|(_, is_new)| !is_new)
    }

    fn pause_source(&self, name: &BookId, paused: bool) -> Result<(), Failure> {
        self.patch::<Source>(&path(name), &json!({ "paused": paused }))
            .map(drop)
    }

    fn test_source(&self, name: &BookId) -> Result<SourceTest, Failure> {
        self.post(&(path(name) + "/test"), &())
    }

    fn remove_source(&self, name: &BookId) -> Result<bool, Failure> {
        self.delete(&path(name))
    }

    fn source_runs(
        &self,
        name: &BookId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<SourceRuns, Failure> {
        let before = before.map(|number| ("before", number.to_string()));
        self.get_with(
            &(path(name) + "/runs"),
            before.into_iter().chain([("limit", limit.to_string())]),
        )
    }

    fn source_errors(
        &self,
        name: &BookId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<SourceErrors, Failure> {
        let cursor = cursor.map(|cursor| ("cursor", cursor.to_owned()));
        self.get_with(
            &(path(name) + "/errors"),
            cursor.into_iter().chain([("limit", limit.to_string())]),
        )
    }
}

impl Remote {
    /// Has the server run a source.
    pub(super) fn run_source(&self, name: &BookId) -> Result<Source, Failure> {
        self.post(&(path(name) + "/run"), &())
    }
}
