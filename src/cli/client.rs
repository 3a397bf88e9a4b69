//! Calls of operations on a catalogue, in this process or through a running server.

use std::io::Write;
use std::sync::Arc;

use lapidary_catalogue::api::Report;
use lapidary_catalogue::{Catalogue, CatalogueError, CheckOptions, Query};
use lapidary_extract::Heading;
use lapidary_gems::Recipe;
use lapidary_language::Language;
use lapidary_operations::{CommandLine, ListPage, Operation, PageQuery, Session};
use lapidary_store::{Actor, BookKey, Watch};

use super::failure::Failure;
use super::remote::Remote;

/// An item of a list.
type Item<O> = <<O as Operation>::Answer as ListPage>::Item;

/// Where operations are called.
pub(super) enum CatalogueClient {
    /// On a catalogue that this process has opened.
    Local(Arc<Catalogue>),
    /// On a running server.
    Remote(Remote),
}

impl CatalogueClient {
    /// Calls an operation.
    pub(super) fn call<O: Operation>(
        &self,
        path: O::Path,
        input: O::Input,
    ) -> Result<O::Answer, Failure> {
        self.call_in::<O>(Language::default(), path, input)
    }

    /// Calls an operation whose answer has sentences in this language.
    pub(super) fn call_in<O: Operation>(
        &self,
        language: Language,
        path: O::Path,
        input: O::Input,
    ) -> Result<O::Answer, Failure> {
        match self {
            Self::Local(catalogue) => {
                let session = Session::local(catalogue, &CommandLine).in_language(language);
                Ok(O::run(&session, path, input)?)
            }
            Self::Remote(server) => server.call_in::<O>(language, &path, &input),
        }
    }

    /// Passes on the items of a list, a page at a time.
    pub(super) fn each_page<O>(
        &self,
        path: &O::Path,
        mut take: impl FnMut(Vec<Item<O>>) -> Result<(), Failure>,
    ) -> Result<(), Failure>
    where
        O: Operation<Path: Clone, Input = PageQuery, Answer: ListPage>,
    {
        let mut query = PageQuery::largest(None);
        loop {
            let page = self.call::<O>(path.clone(), query)?.listed();
            take(page.items)?;
            if page.next_cursor.is_none() {
                return Ok(());
            }
            query = PageQuery::largest(page.next_cursor);
        }
    }

    /// All items of a list.
    pub(super) fn all<O>(&self, path: &O::Path) -> Result<Vec<Item<O>>, Failure>
    where
        O: Operation<Path: Clone, Input = PageQuery, Answer: ListPage>,
    {
        let mut all = Vec::new();
        self.each_page::<O>(path, |items| {
            all.extend(items);
            Ok(())
        })?;
        Ok(all)
    }

    /// Checks a text with its headings, or gems.
    pub(super) fn check(
        &self,
        query: &Query,
        headings: &[Heading],
        options: &CheckOptions,
    ) -> Result<Report, Failure> {
        match self {
            Self::Local(catalogue) => Ok(catalogue
                .by(Actor::Local)
                .decisions()
                .check(query, headings, options)?),
            Self::Remote(server) => server.check(query, options),
        }
    }

    /// Returns the kept text of a book.
    pub(super) fn text(&self, key: &BookKey) -> Result<String, Failure> {
        match self {
            Self::Local(catalogue) => {
                if catalogue.books().get(key)?.is_none() {
                    return Err(CatalogueError::NoSuchBook(key.clone()).into());
                }
                let text = catalogue.books().text(key)?;
                Ok(text.ok_or_else(|| CatalogueError::NoSuchText(key.clone()))?)
            }
            Self::Remote(server) => server.text(key),
        }
    }

    /// Adds a recipe, unless it is there.
    pub(super) fn add_recipe(&self, recipe: &Recipe) -> Result<(), Failure> {
        match self {
            Self::Local(catalogue) => {
                let editor = catalogue.by(Actor::Local);
                editor.recipes().ensure(std::slice::from_ref(recipe))?;
                Ok(())
            }
            Self::Remote(server) => server.add_recipe(recipe),
        }
    }

    /// Computes a book's missing gems from its text.
    pub(super) fn recut(&self, key: &BookKey, text: &str) -> Result<(), Failure> {
        match self {
            Self::Local(catalogue) => {
                catalogue.by(Actor::Local).jobs().recut(key, text)?;
                Ok(())
            }
            Self::Remote(server) => server.recut(key, text),
        }
    }

    /// Exports the catalogue to `out`.
    pub(super) fn export(&self, out: &mut dyn Write, watch: Watch<'_>) -> Result<(), Failure> {
        match self {
            Self::Local(catalogue) => {
                catalogue.transfer().export(out, watch)?;
                Ok(())
            }
            Self::Remote(server) => server.export(out),
        }
    }

    /// Stops the jobs that this process runs for the catalogue. An unfinished job resumes later.
    pub(super) fn settle(&self) {
        if let Self::Local(catalogue) = self {
            catalogue.jobs().stop();
        }
    }
}
