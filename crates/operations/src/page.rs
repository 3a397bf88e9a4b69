//! Lists, a page at a time: each takes `limit` and `cursor`, and answers the cursor of the next page.

use std::cmp::Ordering;
use std::fmt::Display;
use std::str::FromStr;

use lapidary_catalogue::CatalogueError;
use lapidary_catalogue::api::{
    self, AllowList, AllowLists, Job, Jobs, Key, KeyWebhook, KeyWebhooks, Keys, Libraries,
    LibraryListing, RecipeList, RecipeStats, ReportLink, ReportLinks, Source, SourceError,
    SourceErrors, Sources, Webhook, Webhooks,
};
use lapidary_common::error::ErrorCode;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::error::OperationError;
use crate::input::{Input, SentAs};

/// The default number of items on a page.
const PAGE: usize = 100;
/// The largest number of items on a page.
const LARGEST_PAGE: usize = 1_000;

/// Which page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// The `next_cursor` of the previous page
    pub cursor: Option<String>,
    /// The maximum number of items
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<usize>,
}

impl Input for PageQuery {
    fn sent_as() -> SentAs {
        SentAs::query::<Self>(
            "cursor (the 'next_cursor' of the previous page) and limit (a number)",
        )
    }
}

impl PageQuery {
    /// The first page, with at most this many items.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self {
            cursor: None,
            limit: Some(limit),
        }
    }

    /// As many items as a page can have, from the cursor on.
    #[must_use]
    pub fn largest(cursor: Option<String>) -> Self {
        Self {
            cursor,
            limit: Some(LARGEST_PAGE),
        }
    }

    /// The number of items that were asked for.
    pub fn limit(&self) -> Result<usize, OperationError> {
        page_limit(self.limit)
    }

    /// What the cursor stands for.
    pub fn place<P: FromStr>(&self) -> Result<Option<P>, OperationError> {
        place_of(self.cursor.as_deref())
    }

    /// The page of a list that is sorted by `place`, which is `Greater` from item to item, or `Less`: of the items behind
    /// the cursor, the first.
    pub fn of<T, P: Ord + FromStr + Display>(
        &self,
        items: impl IntoIterator<Item = T>,
        place: fn(&T) -> P,
        direction: Ordering,
    ) -> Result<Listed<T>, OperationError> {
        let (limit, cursor) = (self.limit()?, self.place::<P>()?);
        let mut rest = items.into_iter().filter(|item| {
            let cursor = cursor.as_ref();
            cursor.is_none_or(|cursor| place(item).cmp(cursor) == direction)
        });
        let items: Vec<T> = rest.by_ref().take(limit).collect();
        let last = items.last().filter(|_| rest.next().is_some());
        Ok(Listed {
            next_cursor: last.map(|last| place(last).to_string()),
            items,
        })
    }
}

/// The items of a page, and the cursor of the next.
pub struct Listed<T> {
    /// The items.
    pub items: Vec<T>,
    /// The place of the last item, if others follow.
    pub next_cursor: Option<String>,
}

/// What a cursor stands for.
pub(crate) fn place_of<P: FromStr>(cursor: Option<&str>) -> Result<Option<P>, OperationError> {
    let place = cursor.map(str::parse).transpose();
    Ok(place.map_err(|_| CatalogueError::BadCursor)?)
}

/// The number of items that were asked for on one page.
pub(crate) fn page_limit(asked: Option<usize>) -> Result<usize, OperationError> {
    let limit = asked.unwrap_or(PAGE);
    if (1..=LARGEST_PAGE).contains(&limit) {
        return Ok(limit);
    }
    let detail = format!("the limit is {limit}, and must be from 1 to {LARGEST_PAGE}");
    Err(OperationError::refused(ErrorCode::BadLimit, detail))
}

/// A page as it is answered.
pub trait ListPage {
    /// What it lists.
    type Item;

    /// Its items, and the cursor of the next page.
    fn listed(self) -> Listed<Self::Item>;
}

macro_rules! pages {
    ($($page:ident { $items:ident: $item:ident })*) => {$(
        impl ListPage for $page {
            type Item = $item;

            fn listed(self) -> Listed<$item> {
                let Self { $items: items, next_cursor } = self;
                Listed { items, next_cursor }
            }
        }

        impl From<Listed<$item>> for $page {
            fn from(Listed { items, next_cursor }: Listed<$item>) -> Self {
                Self { $items: items, next_cursor }
            }
        }
    )*};
}

pages! {
    AllowLists { allow_lists: AllowList }
    Jobs { jobs: Job }
    KeyWebhooks { webhooks: KeyWebhook }
    Keys { keys: Key }
    Libraries { libraries: LibraryListing }
    RecipeList { recipes: RecipeStats }
    ReportLinks { links: ReportLink }
    SourceErrors { errors: SourceError }
    Sources { sources: Source }
    Webhooks { webhooks: Webhook }
}

impl ListPage for api::Page {
    type Item = api::Record;

    fn listed(self) -> Listed<api::Record> {
        Listed {
            items: self.books,
            next_cursor: self.next_cursor.map(Into::into),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whoever follows the cursors sees each item once, in its order, even if the item of a cursor is removed.
        #[test]
        fn pages_together_are_the_list(items in prop::collection::btree_set("[a-c]{1,3}", 0..40), limit in 1_usize..9, remove: bool) {
            let (mut left, mut seen, mut query) = (items.clone(), Vec::new(), PageQuery::first(limit));
            loop {
                let page = query.of(left.iter().cloned(), String::clone, Ordering::Greater).unwrap();
                prop_assert!(page.items.len() <= limit);
                prop_assert_eq!(page.next_cursor.is_none(), seen.len() + page.items.len() == items.len());
                seen.extend(page.items);
                query.cursor = page.next_cursor;
                let Some(cursor) = &query.cursor else { break };
                if remove {
                    left.remove(cursor);
                }
            }
            prop_assert_eq!(seen, items.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_no_cursor_or_no_limit_is_refused() {
        assert!(place_of::<u32>(Some("x")).is_err() && place_of::<u32>(Some("7")).is_ok());
        for limit in [0, LARGEST_PAGE + 1] {
            assert!(PageQuery::first(limit).limit().is_err());
        }
    }
}
