//! The first run: an empty catalogue, the ways to fill it, and a demo shelf.

use actix_web::HttpResponse;
use actix_web::http::Method;
use actix_web::http::header::{CONTENT_DISPOSITION, HOST, HeaderValue};
use actix_web::web::{self, Bytes, ServiceConfig};
use maud::{Markup, PreEscaped, html};

use super::check;
use super::failure::PageFailure;
use super::layout::{
    Here, HtmlPage, button_to, choice_of_rights, required_field, rights, see_other, table,
};
use super::visitor::{ApiCall, Visitor, path};
use crate::demo::{LIBRARY, SHELF, STRANGER, StorySetting, VICTIM};
use lapidary_catalogue::api::NewBook;
use lapidary_language::Language;
use lapidary_store::Rights;

/// The names of the demo's files.
const COPY: &str = "midnight.txt";
const OTHER: &str = "weathervane.txt";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route(
        "/first",
        web::get().to(|visitor: Visitor| async move { page(&visitor) }),
    )
    .route("/demo", web::get().to(demo))
    .route("/demo", web::post().to(fill))
    .route("/demo/check", web::post().to(check_copy))
    .route("/demo/check-other", web::post().to(check_other))
    .route("/demo/midnight.txt", web::get().to(copy));
}

/// The page of an empty catalogue.
pub(super) fn page(visitor: &Visitor) -> HttpResponse {
    let language = visitor.language();
    let server = address(visitor);
    let key = if visitor
        .inside()
        .is_open_to(visitor.request())
        .unwrap_or_default()
    {
        ""
    } else {
        " -H 'X-Api-Key: KEY'"
    };
    HtmlPage::new(Here::Elsewhere, language.c_first(), language.c_first_lead()).show(visitor, &html! {
        section class="card accent" {
            h2 { (language.c_demo()) }
            p { (language.c_demo_lead()) }
            (button_to(visitor, "/console/demo", &language.c_demo_fill(), None))
        }
        div class="three" {
            section class="card" { h2 { (language.c_way_here()) } p { (language.c_way_here_is()) } (where_to(language)) }
            section class="card" {
                h2 { (language.c_way_folder()) }
                p { (language.c_way_folder_is()) }
                pre tabindex="0" { code { "lapidary ingest --server " (server) " \\\n  --library mine --rights protected ~/books" } }
                p { (language.c_way_program_is()) " " a href="/docs/api/" { (language.c_api()) } }
                pre tabindex="0" { code {
                    "curl -T book.epub" (key) " \\\n  '" (server) "/v1/libraries/mine/books/1?rights=protected'"
                } }
            }
            section class="card" {
                h2 { (language.c_way_source()) }
                p { (language.c_way_source_is()) }
                p { a class="button" href="/console/sources" { (language.c_sources()) } }
            }
        }
    })
}

/// The address of this server, as the visitor's browser knows it.
fn address(visitor: &Visitor) -> String {
    let server = visitor
        .request()
        .headers()
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or("127.0.0.1:8093");
    let scheme = if visitor.inside().has_tls() {
        "https"
    } else {
        "http"
    };
    format!("{scheme}://{server}")
}

/// A form that asks where new books belong.
pub(super) fn where_to(language: Language) -> Markup {
    html! {
        form method="get" action="/console/add" {
            (required_field("library", &language.c_library(), 512))
            label for="rights" { (language.c_rights()) }
            (choice_of_rights(language, Rights::Protected))
            label class="choice" { input type="checkbox" name="keep" value="true"; (language.c_keep()) }
            div class="buttons" {
                button type="submit" class="main" { (language.c_choose_files()) }
                button type="submit" formaction="/console/import" { (language.c_import()) }
            }
        }
    }
}

async fn demo(visitor: Visitor) -> HttpResponse {
    let language = visitor.language();
    let heads = [
        language.c_title(),
        language.c_authors(),
        language.c_rights(),
    ];
    let rows = html! {
        @for book in &SHELF {
            tr {
                td { a href=(path("/console/books", [LIBRARY, book.id])) { (book.title) } }
                td { (book.author) }
                td { (rights(language, book.rights)) }
            }
        }
    };
    let sample = VICTIM.disguised().sample;
    HtmlPage::new(Here::Elsewhere, language.c_demo(), language.c_demo_done()).show(
        &visitor,
        &html! {
            (table(&language.c_demo(), &heads, &rows))
            section class="card accent" {
                h2 { (language.c_demo_copy(VICTIM.title)) }
                p { (language.c_demo_copy_is()) }
                div class="two" {
                    figure { figcaption { (language.c_demo_original()) } blockquote lang="en" { (start(&sample.0)) } }
                    figure { figcaption { (language.c_demo_disguised()) } blockquote lang="en" { (start(&sample.1)) } }
                }
                div class="buttons" {
                    (button_to(&visitor, "/console/demo/check", &language.c_demo_check(), None))
                    (button_to(&visitor, "/console/demo/check-other", &language.c_demo_check_other(), None))
                    a class="button" href="/console/demo/midnight.txt" download=(COPY) { (language.c_demo_download()) }
                }
            }
        },
    )
}

/// The start of a paragraph.
fn start(paragraph: &str) -> Markup {
    let words: Vec<&str> = paragraph.split_whitespace().take(30).collect();
    html! { (words.join(" ")) (PreEscaped("&nbsp;…")) }
}

async fn fill(visitor: Visitor) -> Result<HttpResponse, PageFailure> {
    for book in &SHELF {
        let Ok(new) = web::block(|| new_book(book)).await else {
            continue;
        };
        let place = path("/v1/libraries", [LIBRARY, "books", book.id]);
        let json = serde_json::to_vec(&new).unwrap_or_default();
        visitor
            .perform(ApiCall::new(Method::PUT, &place).with_json(json))
            .await?;
    }
    Ok(see_other("/console/demo"))
}

/// A book of the shelf, with its text, so that passages can be shown side by side.
fn new_book(book: &StorySetting) -> NewBook {
    NewBook {
        rights: book.rights,
        validity: None,
        title: Some(book.title.to_owned()),
        authors: vec![book.author.to_owned()],
        language: Some(book.language.tag.to_owned()),
        identifiers: Vec::new(),
        published: None,
        text: Some(book.text()),
        url: None,
        clean: None,
        hidden: Vec::new(),
        gems: None,
        recipe: None,
        allow_empty: false,
        keep_text: true,
        unless: None,
        except: Vec::new(),
        id: None,
    }
}

async fn check_copy(visitor: Visitor) -> Result<HttpResponse, PageFailure> {
    check_text(&visitor, COPY, || VICTIM.disguised().text).await
}

async fn check_other(visitor: Visitor) -> Result<HttpResponse, PageFailure> {
    check_text(&visitor, OTHER, || STRANGER.text()).await
}

async fn check_text(
    visitor: &Visitor,
    name: &str,
    text: fn() -> String,
) -> Result<HttpResponse, PageFailure> {
    let text = web::block(text).await.unwrap_or_default();
    let asked = format!("/v1/checks?detail=true&record=true&name={name}");
    let call = ApiCall::new(Method::POST, &asked)
        .with(HeaderValue::from_static("text/plain"), Bytes::from(text));
    check::result(visitor, call).await
}

async fn copy(_: Visitor) -> HttpResponse {
    let text = web::block(|| VICTIM.disguised().text)
        .await
        .unwrap_or_default();
    let name = format!("attachment; filename=\"{COPY}\"");
    HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        .insert_header((CONTENT_DISPOSITION, name))
        .body(text)
}
