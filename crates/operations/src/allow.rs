//! Allow-lists: gems that checks ignore, and books that do not affect the verdict.

use std::cmp::Ordering;

use lapidary_catalogue::api::{AllowList, AllowLists, NewAllowList};
use lapidary_catalogue::{Allowable, BookGems, Content};
use lapidary_common::error::ErrorCode;
use lapidary_store::{BookId, Table};
use serde_json::json;

use crate::{
    Done, Endpoint, Input, Needs, Operation, OperationError, PageQuery, SentAs, Session, Upserted,
    VersionOf, excerpt,
};

/// Lists all allow-lists.
pub struct ListAllowLists;

impl Operation for ListAllowLists {
    type Path = ();
    type Input = PageQuery;
    type Answer = AllowLists;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/allow-lists", Needs::Admin)
        .named("allow_lists", "List all allow-lists")
        .answers(&[(200, "A page of allow-lists, by name")]);

    fn run(session: &Session<'_>, (): (), query: PageQuery) -> Result<AllowLists, OperationError> {
        let lists = session.allow_lists().list()?;
        let page = query.of(lists, |list| list.name.clone(), Ordering::Greater)?;
        Ok(page.into())
    }
}

/// Shows an allow-list.
pub struct ShowAllowList;

impl Operation for ShowAllowList {
    type Path = BookId;
    type Input = ();
    type Answer = AllowList;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::get("/v1/allow-lists/{name:.*}", Needs::Admin)
        .named("allow_list", "Show an allow-list")
        .answers(&[(200, "The allow-list")]);

    fn run(session: &Session<'_>, name: BookId, (): ()) -> Result<AllowList, OperationError> {
        let list = session.allow_lists().get(&name)?;
        list.ok_or_else(|| no_such_allow_list(&name))
    }
}

fn version(session: &Session<'_>, name: &BookId) -> Result<Option<String>, OperationError> {
    session.version(Table::AllowLists, name.as_str())
}

fn no_such_allow_list(name: &BookId) -> OperationError {
    let detail = format!("there is no allow-list '{}'", excerpt(name.as_str()));
    OperationError::refused(ErrorCode::NoSuchAllowList, detail)
}

/// Adds or replaces an allow-list. Only administrators can: allow-lists weaken every verdict.
pub struct PutAllowList;

impl Input for NewAllowList {
    const IS_LARGE: bool = true;

    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({
            "gems": [2_054_203_394, 772_109_542, 3_170_125_001_u32], "note": "the imprint of all our books"
        }))
    }

    fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

impl Operation for PutAllowList {
    type Path = BookId;
    type Input = NewAllowList;
    type Answer = Upserted<AllowList>;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::put("/v1/allow-lists/{name:.*}", Needs::Admin)
        .named(
            "put_allow_list",
            "Add or replace an allow-list: a text, gems, or a book",
        )
        .about(
            "Checks ignore gems in an allow-list. A book in an allow-list is still shown as a match, but does not \
             affect the verdict.",
        )
        .answers(&[
            (200, "It replaced an existing one"),
            (201, "It was created"),
        ]);

    fn run(
        session: &Session<'_>,
        name: BookId,
        mut list: NewAllowList,
    ) -> Result<Upserted<AllowList>, OperationError> {
        let note = list.note.take();
        let (item, replaced) = session.allow_lists().put(name, allowable(list)?, note)?;
        Ok(Upserted {
            item,
            is_new: !replaced,
        })
    }
}

fn allowable(list: NewAllowList) -> Result<Allowable, OperationError> {
    let refused = |detail| Err(OperationError::refused(ErrorCode::BadJson, detail));
    let clean = list.clean;
    match (list.text, list.gems, list.book, list.recipe) {
        (Some(text), None, None, None) => Ok(Allowable::Gems(Content::Text { text, clean })),
        (None, ..) if clean.is_some() => refused("'clean' applies only to a text"),
        (None, Some(gems), None, recipe) => {
            let recipe = recipe.map(TryInto::try_into).transpose();
            let recipe = recipe.map_err(lapidary_catalogue::CatalogueError::from)?;
            Ok(Allowable::Gems(Content::Gems(BookGems { recipe, gems })))
        }
        (None, None, Some(book), None) => Ok(Allowable::Book(book)),
        _ => {
            refused("give exactly one of 'text', 'gems' and 'book', and a 'recipe' only with gems")
        }
    }
}

/// Removes an allow-list.
pub struct DeleteAllowList;

impl Operation for DeleteAllowList {
    type Path = BookId;
    type Input = ();
    type Answer = Done;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::delete("/v1/allow-lists/{name:.*}", Needs::Admin)
        .named("delete_allow_list", "Remove an allow-list")
        .answers(&[(204, "It was removed")]);

    fn run(session: &Session<'_>, name: BookId, (): ()) -> Result<Done, OperationError> {
        if session.allow_lists().remove(&name)? {
            return Ok(Done);
        }
        Err(no_such_allow_list(&name))
    }
}
