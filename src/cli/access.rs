//! The operations of commands on a catalogue, whether a folder or a running server.

use std::io::Write;
use std::sync::Arc;

use lapidary::server::Settings;
use lapidary_catalogue::api::{
    Added, AllowList, Amendment, AuditPage, Decision, DecisionPage, Finding, FoundBooks, Job,
    LibraryListing, MadeWebhook, NewDecision, Page, Record, Report, Stats, Task, Webhook,
};
use lapidary_catalogue::{
    Allowable, Catalogue, CatalogueError, CheckOptions, NewEntry, Query, Sought, SoughtDecisions,
};
use lapidary_gems::{Recipe, RecipeName};
use lapidary_store::{Actor, AuditFrom, BookId, BookKey, Library, Watch};

use super::failure::Failure;

/// A catalogue to work on.
pub(super) trait Access: Sync {
    fn check(&self, query: &Query, options: &CheckOptions) -> Result<Report, Failure>;
    fn decision(&self, id: &str) -> Result<Decision, Failure>;
    fn decisions(
        &self,
        sought: &SoughtDecisions,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<DecisionPage, Failure>;
    fn decide(&self, new: &NewDecision) -> Result<Decision, Failure>;
    fn add(&self, entry: NewEntry) -> Result<Added, Failure>;
    fn book(&self, key: &BookKey) -> Result<Option<Record>, Failure>;
    /// Returns the kept text of a book.
    fn text(&self, key: &BookKey) -> Result<String, Failure>;
    /// Returns the new record, or `None` if there is no such book.
    fn amend(&self, key: &BookKey, amendment: &Amendment) -> Result<Option<Record>, Failure>;
    fn allow(
        &self,
        name: BookId,
        what: Allowable,
        note: Option<String>,
    ) -> Result<AllowList, Failure>;
    fn allow_lists(&self) -> Result<Vec<AllowList>, Failure>;
    /// Returns whether the list existed.
    fn disallow(&self, name: &BookId) -> Result<bool, Failure>;
    /// Returns whether the book existed.
    fn remove(&self, key: &BookKey) -> Result<bool, Failure>;
    fn books(
        &self,
        library: &Library,
        cursor: Option<&BookId>,
        limit: usize,
    ) -> Result<Page, Failure>;
    fn find(
        &self,
        sought: &Sought,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<FoundBooks, Failure>;
    fn libraries(&self) -> Result<Vec<LibraryListing>, Failure>;
    fn set_trust(&self, library: &Library, trusted: bool) -> Result<(), Failure>;
    fn stats(&self) -> Result<Stats, Failure>;
    fn diagnose(&self) -> Result<Vec<Finding>, Failure>;
    fn webhooks(&self) -> Result<Vec<Webhook>, Failure>;
    fn set_webhook(&self, library: Library, url: String) -> Result<MadeWebhook, Failure>;
    /// Returns whether the webhook existed.
    fn remove_webhook(&self, library: &Library) -> Result<bool, Failure>;
    fn audit(&self, from: AuditFrom, limit: usize) -> Result<AuditPage, Failure>;
    /// Adds a recipe, unless it is there.
    fn add_recipe(&self, recipe: &Recipe) -> Result<(), Failure>;
    fn start(&self, task: Task) -> Result<Job, Failure>;
    fn jobs(&self) -> Result<Vec<Job>, Failure>;
    fn job(&self, id: u32) -> Result<Job, Failure>;
    fn cancel(&self, id: u32) -> Result<Job, Failure>;
    /// Computes a book's missing gems from its text. Returns the recipes of the added gems.
    fn recut(&self, key: &BookKey, text: &str) -> Result<Vec<RecipeName>, Failure>;
    /// Exports the catalogue to `out`.
    fn export(&self, out: &mut dyn Write, watch: Watch<'_>) -> Result<(), Failure>;
    /// Stops the jobs that this process runs for the catalogue. An unfinished job resumes later.
    fn settle(&self);
}

impl Access for Arc<Catalogue> {
    fn check(&self, query: &Query, options: &CheckOptions) -> Result<Report, Failure> {
        Ok(self.by(Actor::Local).check_and_file(query, options)?)
    }

    fn decision(&self, id: &str) -> Result<Decision, Failure> {
        Ok(Catalogue::decision(self, id, None)?)
    }

    fn decisions(
        &self,
        sought: &SoughtDecisions,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<DecisionPage, Failure> {
        Ok(Catalogue::decisions(self, sought, None, cursor, limit)?)
    }

    fn decide(&self, new: &NewDecision) -> Result<Decision, Failure> {
        Ok(self.by(Actor::Local).decide(new, None)?)
    }

    fn add(&self, entry: NewEntry) -> Result<Added, Failure> {
        Ok(self.by(Actor::Local).add(entry)?)
    }

    fn book(&self, key: &BookKey) -> Result<Option<Record>, Failure> {
        Ok(Catalogue::book(self, key)?.map(Into::into))
    }

    fn text(&self, key: &BookKey) -> Result<String, Failure> {
        if Catalogue::book(self, key)?.is_none() {
            return Err(CatalogueError::NoSuchBook(key.clone()).into());
        }
        Ok(self
            .kept_text(key)?
            .ok_or_else(|| CatalogueError::NoSuchText(key.clone()))?)
    }

    fn amend(&self, key: &BookKey, amendment: &Amendment) -> Result<Option<Record>, Failure> {
        Ok(self.by(Actor::Local).amend(key, amendment)?.map(Into::into))
    }

    fn allow(
        &self,
        name: BookId,
        what: Allowable,
        note: Option<String>,
    ) -> Result<AllowList, Failure> {
        Ok(self.by(Actor::Local).allow(name, what, note)?.0)
    }

    fn allow_lists(&self) -> Result<Vec<AllowList>, Failure> {
        Ok(Catalogue::allow_lists(self)?)
    }

    fn disallow(&self, name: &BookId) -> Result<bool, Failure> {
        Ok(self.by(Actor::Local).disallow(name)?)
    }

    fn remove(&self, key: &BookKey) -> Result<bool, Failure> {
        Ok(self
            .by(Actor::Local)
            .remove(std::slice::from_ref(key))?
            .contains(&true))
    }

    fn books(
        &self,
        library: &Library,
        cursor: Option<&BookId>,
        limit: usize,
    ) -> Result<Page, Failure> {
        Ok(Catalogue::books(self, library, cursor, limit)?)
    }

    fn find(
        &self,
        sought: &Sought,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<FoundBooks, Failure> {
        Ok(Catalogue::find(self, sought, None, cursor, limit)?)
    }

    fn libraries(&self) -> Result<Vec<LibraryListing>, Failure> {
        Ok(Catalogue::libraries(self)?)
    }

    fn set_trust(&self, library: &Library, trusted: bool) -> Result<(), Failure> {
        self.by(Actor::Local).set_trust(library, trusted)?;
        Ok(())
    }

    fn stats(&self) -> Result<Stats, Failure> {
        Ok(Catalogue::stats(self)?)
    }

    fn diagnose(&self) -> Result<Vec<Finding>, Failure> {
        Ok(Catalogue::diagnose(self, Settings::default().min_free)?)
    }

    fn webhooks(&self) -> Result<Vec<Webhook>, Failure> {
        Ok(Catalogue::webhooks(self)?)
    }

    fn set_webhook(&self, library: Library, url: String) -> Result<MadeWebhook, Failure> {
        Ok(self.by(Actor::Local).set_webhook(library, url)?.0)
    }

    fn remove_webhook(&self, library: &Library) -> Result<bool, Failure> {
        Ok(self.by(Actor::Local).remove_webhook(library)?)
    }

    fn audit(&self, from: AuditFrom, limit: usize) -> Result<AuditPage, Failure> {
        Ok(Catalogue::audit(self, from, limit)?)
    }

    fn add_recipe(&self, recipe: &Recipe) -> Result<(), Failure> {
        self.by(Actor::Local)
            .ensure_recipes(std::slice::from_ref(recipe))?;
        Ok(())
    }

    fn start(&self, task: Task) -> Result<Job, Failure> {
        Ok(Catalogue::start(self, Actor::Local, task)?)
    }

    fn jobs(&self) -> Result<Vec<Job>, Failure> {
        Ok(Catalogue::jobs(self)?)
    }

    fn job(&self, id: u32) -> Result<Job, Failure> {
        Ok(Catalogue::job(self, id)?)
    }

    fn cancel(&self, id: u32) -> Result<Job, Failure> {
        Ok(self.by(Actor::Local).cancel(id)?)
    }

    fn recut(&self, key: &BookKey, text: &str) -> Result<Vec<RecipeName>, Failure> {
        Ok(self.by(Actor::Local).recut(key, text)?)
    }

    fn export(&self, out: &mut dyn Write, watch: Watch<'_>) -> Result<(), Failure> {
        Catalogue::export(self, out, watch)?;
        Ok(())
    }

    fn settle(&self) {
        self.stop_jobs();
    }
}
