//! Links that show a filed check to somebody without a key.

use actix_web::http::StatusCode;
use actix_web::web::{self, Form, Path, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::layout::{
    Here, HtmlPage, button_to, main_button, see_other, table, terms, time, token_field,
};
use super::visitor::{Visitor, path};
use lapidary_catalogue::api::{NewReportLink, ReportLink};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::PageQuery;
use lapidary_operations::links::{DeleteReportLink, ListReportLinks, MakeReportLink};
use lapidary_report::clean;

const HOURS_OF_DAY: i64 = 24;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/checks/{id}/links", web::get().to(list))
        .route("/checks/{id}/links", web::post().to(make))
        .route("/checks/{id}/links/{link}/delete", web::post().to(delete));
}

async fn list(visitor: Visitor, id: Path<String>) -> Result<HttpResponse, PageFailure> {
    show(&visitor, &id, &html! {}).await
}

/// The links to a check, below what was just done.
async fn show(visitor: &Visitor, id: &str, done: &Markup) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    // A check has at most one page of links.
    let links = visitor
        .call::<ListReportLinks>(&[id], PageQuery::default())
        .await?
        .links;
    let page = HtmlPage::new(Here::Decisions, language.c_links(), language.c_links_lead());
    Ok(page.show(
        visitor,
        &html! {
            (done)
            p { a class="button" href=(path("/console/checks", [id])) { (language.c_back_to_check()) } }
            @if !links.is_empty() { (links_table(visitor, id, &links)) }
            (form(visitor, id))
            (terms(language, [(language.c_link_texts(), language.c_link_texts_is())]))
        },
    ))
}

fn links_table(visitor: &Visitor, id: &str, links: &[ReportLink]) -> Markup {
    let language = visitor.language();
    let heads = [
        language.c_who(),
        language.c_since(),
        language.c_expires(),
        language.c_link_texts(),
        language.c_actions(),
    ];
    let rows = html! {
        @for link in links {
            tr {
                td { (clean(&link.actor)) }
                td { (time(link.created_at)) }
                td { (time(link.expires_at)) }
                td { @if link.book_texts { (language.c_yes()) } @else { (language.c_no()) } }
                td { (button_to(visitor, &path("/console/checks", [id, "links", &link.id, "delete"]), &language.c_delete_link(),
                    Some(&language.c_sure_delete_link()))) }
            }
        }
    };
    table(&language.c_links(), &heads, &rows)
}

fn form(visitor: &Visitor, id: &str) -> Markup {
    let language = visitor.language();
    html! {
        form method="post" action=(path("/console/checks", [id, "links"])) class="card narrow" {
            (token_field(visitor))
            h2 { (language.c_new_link()) }
            label for="days" { (language.c_link_days()) }
            input type="number" id="days" name="days" min="1" max="366" value="30" required;
            label class="choice" { input type="checkbox" name="book_texts" value="true"; (language.c_link_texts()) }
            (main_button(&language.c_create()))
        }
    }
}

#[derive(Deserialize)]
struct LinkForm {
    days: u32,
    #[serde(default)]
    book_texts: bool,
}

async fn make(
    visitor: Visitor,
    request: HttpRequest,
    id: Path<String>,
    new: Form<LinkForm>,
) -> Result<HttpResponse, PageFailure> {
    let time = SignedDuration::from_hours(HOURS_OF_DAY * i64::from(new.days));
    let Ok(until) = Timestamp::now().checked_add(time) else {
        return Err(visitor.problem(ErrorCode::BadLink, StatusCode::UNPROCESSABLE_ENTITY, ""));
    };
    let new = NewReportLink {
        expires_at: Some(until),
        book_texts: new.book_texts,
    };
    let made = visitor.call::<MakeReportLink>(&[&id], new).await?;
    let address = address_at(&request, &made.url);
    show(&visitor, &id, &address_of(visitor.language(), &address)).await
}

/// The whole address of a path, as whoever sent a request reaches it.
fn address_at(request: &HttpRequest, path: &str) -> String {
    let origin = request.connection_info();
    format!("{}://{}{path}", origin.scheme(), origin.host())
}

/// The address of a new link, for the only time.
fn address_of(language: Language, address: &str) -> Markup {
    html! {
        section class="card accent" role="status" {
            h2 { (language.c_link_made()) }
            p { (language.c_once()) }
            p { code class="secret" id="secret" { (address) } }
            div class="buttons" { button type="button" data-copy="secret" { (language.c_copy()) } }
        }
    }
}

async fn delete(
    visitor: Visitor,
    asked: Path<(String, String)>,
) -> Result<HttpResponse, PageFailure> {
    let (id, link) = &*asked;
    visitor.call::<DeleteReportLink>(&[id, link], ()).await?;
    Ok(see_other(&path("/console/checks", [id, "links"])))
}
