//! The catalogue: its libraries, and a search.

use std::cmp::Reverse;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Path, Query, ServiceConfig};
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::first::where_to;
use super::layout::{Here, HtmlPage, button_to, more, rights, see_other, size, table, terms, time};
use super::visitor::{Visitor, Who, path, with};
use lapidary_catalogue::api::{FoundBooks, Libraries, LibraryListing, LibraryTrust, Record};
use lapidary_catalogue::permission::Permission;
use lapidary_catalogue::today;
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::find::FindBooks;
use lapidary_operations::libraries::{ListBooks, ListLibraries, TrustLibrary};
use lapidary_report::{clean, rights_word};
use lapidary_store::{BookState, Rights};

/// How many books a page has.
const BOOKS: usize = 50;
/// The most books that are sorted. No index has them in such an order, so all that were found are read for it.
const MOST_SORTED: usize = 10_000;
/// The most calls for that: a page may have few books, or none, although more follow.
const MOST_PAGES: usize = 100;
/// How many books a call answers with at most.
const MAX_PAGE: usize = 1_000;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/catalogue", web::get().to(page)).route(
        "/libraries/{library}/{choice:trust|distrust}",
        web::post().to(set_trust),
    );
}

/// What the page shows of the catalogue.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CatalogueSearch {
    q: String,
    library: String,
    rights: String,
    language: String,
    state: String,
    sort: String,
    from: String,
    /// Where the page of libraries begins.
    libraries: String,
}

impl CatalogueSearch {
    /// The parameters of the page that has the same books.
    fn sought(&self) -> [(&str, &str); 6] {
        let [words, language] = [&self.q, &self.language].map(|written| written.trim());
        [
            ("q", words),
            ("rights", &self.rights),
            ("language", language),
            ("state", &self.state),
            ("library", &self.library),
            ("sort", &self.sort),
        ]
    }

    /// What the books must meet, besides their library.
    fn conditions(&self) -> [(&str, &str); 4] {
        let [words, rights, language, state, ..] = self.sought();
        [words, rights, language, state]
    }
}

async fn page(
    visitor: Visitor,
    wanted: Query<CatalogueSearch>,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    if !visitor.may(Permission::Ingest) {
        return Err(visitor.problem(
            ErrorCode::NotAllowed,
            StatusCode::FORBIDDEN,
            &language.c_not_for_key(),
        ));
    }
    let found = if wanted.sort.is_empty() {
        let page = find(&visitor, &wanted, BOOKS, &wanted.from).await?;
        page.map(|page| found_books(language, page, &wanted))
    } else {
        find_sorted(&visitor, &wanted).await?
    };
    let (names, libraries) = libraries(&visitor, &wanted.libraries).await?;
    let body = html! {
        (search_form(language, &wanted, names.as_deref()))
        section id="found" aria-live="polite" {
            @if let Some(found) = found { (found) }
        }
        (libraries)
        section class="card narrow" { h2 { (language.c_add()) } (where_to(language)) }
        (terms_of_catalogue(language))
    };
    Ok(HtmlPage::new(
        Here::Catalogue,
        language.c_catalogue(),
        language.c_catalogue_lead(),
    )
    .show(&visitor, &body))
}

/// A page of the books that are sought, or of those of a library; `None` if the visitor asks for nothing.
async fn find(
    visitor: &Visitor,
    wanted: &CatalogueSearch,
    limit: usize,
    cursor: &str,
) -> Result<Option<FoundBooks>, PageFailure> {
    let limit = limit.to_string();
    let page = [("limit", limit.as_str()), ("cursor", cursor)];
    let (conditions, library) = (wanted.conditions(), wanted.library.as_str());
    let mut found = if conditions.iter().any(|(_, value)| !value.is_empty()) {
        let asked = [&conditions[..], &[("library", library)], &page].concat();
        visitor.list::<FindBooks>(&[], &asked).await?
    } else if library.is_empty() {
        return Ok(None);
    } else {
        let books = visitor.list::<ListBooks>(&[library], &page).await?;
        FoundBooks {
            books: books.books,
            next_cursor: books.next_cursor.map(Into::into),
        }
    };
    if wanted.state != BookState::Removed.as_str() {
        let is_there = |book: &Record| book.standing.removed_at.is_none();
        found.books.retain(is_there);
    }
    Ok(Some(found))
}

/// A page of all books that are sought, in an order. They are read anew for each page, whose place is a number.
async fn find_sorted(
    visitor: &Visitor,
    wanted: &CatalogueSearch,
) -> Result<Option<Markup>, PageFailure> {
    let language = visitor.language();
    let (mut books, mut cursor) = (Vec::new(), String::new());
    for _ in 0..MOST_PAGES {
        let Some(page) = find(visitor, wanted, MAX_PAGE, &cursor).await? else {
            return Ok(None);
        };
        books.extend(page.books);
        cursor = page.next_cursor.unwrap_or_default();
        if cursor.is_empty() || books.len() > MOST_SORTED {
            break;
        }
    }
    if !cursor.is_empty() {
        return Ok(Some(
            html! { p class="notice" { (language.c_too_many_to_sort(MOST_SORTED as u64)) } },
        ));
    }
    sort(&mut books, &wanted.sort);
    let from: usize = wanted.from.parse().unwrap_or_default();
    let end = from.saturating_add(BOOKS);
    let next_cursor = (end < books.len()).then(|| end.to_string());
    let books = books.into_iter().skip(from).take(BOOKS).collect();
    let page = FoundBooks { books, next_cursor };
    Ok(Some(found_books(language, page, wanted)))
}

fn found_books(language: Language, found: FoundBooks, wanted: &CatalogueSearch) -> Markup {
    let FoundBooks { books, next_cursor } = found;
    html! {
        h2 { (language.c_found()) }
        @if books.is_empty() && next_cursor.is_none() { p { (language.c_nothing_found()) } }
        @else { (books_table(language, &language.c_found(), &books)) }
        @if let Some(next) = &next_cursor {
            (more(language, &with(&with("/console/catalogue", &[("from", next)]), &wanted.sought())))
        }
    }
}

fn sort(books: &mut [Record], by: &str) {
    match by {
        "title" => books.sort_by_cached_key(|book| {
            book.description
                .title
                .as_ref()
                .map(|title| title.to_lowercase())
        }),
        "authors" => {
            books.sort_by_cached_key(|book| book.description.authors.join(" ").to_lowercase());
        }
        "changed" => books.sort_by_key(|book| Reverse(book.changed_at)),
        _ => {}
    }
}

fn terms_of_catalogue(language: Language) -> Markup {
    terms(
        language,
        [
            (language.c_library(), language.c_term_library_is()),
            (language.c_rights(), language.c_term_rights_is()),
            (language.c_keep(), language.c_term_keep_is()),
            (language.c_trust(), language.c_term_trust_is()),
        ],
    )
}

/// The form, with a choice among the libraries if they are given.
fn search_form(
    language: Language,
    wanted: &CatalogueSearch,
    libraries: Option<&[String]>,
) -> Markup {
    let rights = Rights::ALL.map(|rights| (rights.as_str(), rights_word(language, rights)));
    let states = [
        (BookState::Disabled, language.c_is_disabled()),
        (BookState::Quarantined, language.c_in_quarantine()),
        (BookState::Expired, language.c_expired_rights()),
        (BookState::Removed, language.c_is_removed()),
    ]
    .map(|(state, word)| (state.as_str(), word));
    let orders = [
        ("title", language.c_title()),
        ("authors", language.c_authors()),
        ("changed", language.c_changed()),
    ];
    html! {
        form method="get" action="/console/catalogue" class="card search" role="search" hx-get="/console/catalogue"
            hx-trigger="submit, input changed delay:400ms" hx-target="#found" hx-select="#found" hx-swap="outerHTML"
            hx-push-url="true" {
            (search_field("q", &language.c_search_words(), &wanted.q))
            (library_field(language, &wanted.library, libraries))
            (choice("rights", &language.c_rights(), &wanted.rights, rights, &language.c_all()))
            (search_field("language", &language.c_language(), &wanted.language))
            (choice("state", &language.c_state(), &wanted.state, states, &language.c_all()))
            (choice("sort", &language.c_sort(), &wanted.sort, orders, &language.c_as_found()))
            button type="submit" class="main" { (language.c_search()) }
        }
    }
}

fn library_field(language: Language, chosen: &str, libraries: Option<&[String]>) -> Markup {
    let label = language.c_library();
    let Some(names) = libraries else {
        return search_field("library", &label, chosen);
    };
    let names = names.iter().map(|name| (name.as_str(), clean(name)));
    choice("library", &label, chosen, names, &language.c_all())
}

fn search_field(name: &str, label: &str, value: &str) -> Markup {
    html! {
        div { label for={"find-" (name)} { (label) } input type="search" id={"find-" (name)} name=(name) value=(value); }
    }
}

/// A choice of one of some values, or none of them.
fn choice<'a>(
    name: &str,
    label: &str,
    chosen: &str,
    values: impl IntoIterator<Item = (&'a str, String)>,
    none: &str,
) -> Markup {
    html! {
        div {
            label for={"find-" (name)} { (label) }
            select id={"find-" (name)} name=(name) {
                option value="" { (none) }
                @for (value, word) in values { option value=(value) selected[value == chosen] { (word) } }
            }
        }
    }
}

/// Whether a library is trusted, and a button to change that.
fn trust(visitor: &Visitor, library: &LibraryListing) -> Markup {
    let (language, name) = (visitor.language(), library.library.as_str());
    html! {
        div class="buttons" {
            @if library.trusted {
                (language.c_trusted()) " "
                (button_to(visitor, &path("/console/libraries", [name, "distrust"]), &language.c_do_distrust(),
                    Some(&language.c_sure_distrust(&clean(name)))))
            } @else {
                (language.c_not_trusted()) " "
                (button_to(visitor, &path("/console/libraries", [name, "trust"]), &language.c_do_trust(), None))
            }
        }
    }
}

async fn set_trust(
    visitor: Visitor,
    of: Path<(String, String)>,
) -> Result<HttpResponse, PageFailure> {
    let (library, choice) = of.into_inner();
    let said = LibraryTrust {
        trusted: choice == "trust",
    };
    visitor.call::<TrustLibrary>(&[&library], said).await?;
    Ok(see_other("/console/catalogue"))
}

/// The libraries that the visitor may see, by name if they are few, and as a part of the page.
async fn libraries(
    visitor: &Visitor,
    from: &str,
) -> Result<(Option<Vec<String>>, Markup), PageFailure> {
    let language = visitor.language();
    if let Who::Key(key, _) = visitor.who()
        && !visitor.is_admin()
    {
        let names = key.libraries.iter().map(|name| name.as_str().to_owned());
        let names: Vec<String> = names.collect();
        let part = html! {
            section {
                h2 { (language.c_libraries()) }
                ul { @for name in &names { li { (to_library(name)) } } }
            }
        };
        return Ok((Some(names), part));
    }
    let Libraries {
        libraries,
        next_cursor,
    } = visitor
        .list::<ListLibraries>(&[], &[("cursor", from)])
        .await?;
    let names = libraries.iter().map(|one| one.library.as_str().to_owned());
    let names = (from.is_empty() && next_cursor.is_none()).then(|| names.collect());
    let part = html! {
        (libraries_table(visitor, &libraries))
        @if let Some(next) = next_cursor {
            (more(language, &with("/console/catalogue", &[("libraries", &next)])))
        }
    };
    Ok((names, part))
}

fn libraries_table(visitor: &Visitor, libraries: &[LibraryListing]) -> Markup {
    let language = visitor.language();
    let heads = [
        language.c_library(),
        language.c_books(),
        language.c_disabled(),
        language.c_length(),
        language.c_kept_texts(),
        language.c_changed(),
        language.c_trust(),
    ];
    let rows = html! {
        @for one in libraries {
            tr {
                td { (to_library(one.library.as_str())) }
                td { (language.number(one.books)) }
                td { (language.number(one.disabled)) }
                td { (size(language, one.bytes)) }
                td { (language.number(one.kept_texts)) }
                td { (time(one.changed_at)) }
                td { (trust(visitor, one)) }
            }
        }
    };
    html! {
        section {
            h2 { (language.c_libraries()) }
            @if libraries.is_empty() { p { (language.c_empty()) " " a href="/console/first" { (language.c_first()) } } }
            @else {
                (table(&language.c_libraries(), &heads, &rows))
                p { a href="/console/duplicates" { (language.c_duplicates()) } }
            }
        }
    }
}

pub(super) fn to_library(library: &str) -> Markup {
    html! { a href=(with("/console/catalogue", &[("library", library)])) { (clean(library)) } }
}

/// Whether the last day of a book's rights is over.
pub(super) fn expired(language: Language, book: &Record) -> Markup {
    html! {
        @if book.standing.is_expired_on(today(), book.rights) { " " span class="tag" { (language.c_expired_rights()) } }
    }
}

fn books_table(language: Language, label: &str, books: &[Record]) -> Markup {
    let heads = [
        language.c_title(),
        language.c_authors(),
        language.c_book(),
        language.c_rights(),
        language.c_changed(),
    ];
    let rows = html! {
        @for book in books {
            @let (library, id) = (book.key.library.as_str(), book.key.id.as_str());
            tr {
                td {
                    a href=(path("/console/books", [library, id])) {
                        (book.description.title.as_deref().map_or_else(|| language.no_title(), clean))
                    }
                    @if book.standing.removed_at.is_some() { " " span class="tag" { (language.c_is_removed()) } }
                    @else if book.standing.disabled_at.is_some() { " " span class="tag" { (language.c_is_disabled()) } }
                    @if book.standing.is_quarantined() { " " span class="tag" { (language.c_in_quarantine()) } }
                }
                td { (clean(&book.description.authors.join(", "))) }
                td { (clean(library)) "/" (clean(id)) }
                td { (rights(language, book.rights)) (expired(language, book)) }
                td { (time(book.changed_at)) }
            }
        }
    };
    table(label, &heads, &rows)
}
