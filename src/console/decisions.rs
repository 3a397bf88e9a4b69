//! Filed checks and the decisions about them.

use actix_web::HttpResponse;
use actix_web::web::{self, Query, ServiceConfig};
use maud::{Markup, html};
use serde::Deserialize;

use super::check::ruling;
use super::layout::{Here, HtmlPage, more, search_by_book, table, terms, time, verdict};
use super::visitor::{PageFailure, Visitor, path, with};
use lapidary_catalogue::api::{Decision, DecisionPage};
use lapidary_language::Language;
use lapidary_operations::decisions::ListDecisions;
use lapidary_report::clean;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/decisions", web::get().to(list));
}

#[derive(Deserialize)]
struct DecisionSearch {
    #[serde(default)]
    day: String,
    #[serde(default)]
    library: String,
    #[serde(default)]
    book: String,
    #[serde(default)]
    from: String,
}

async fn list(
    visitor: Visitor,
    wanted: Query<DecisionSearch>,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let DecisionSearch {
        day,
        library,
        book,
        from,
    } = &*wanted;
    let sought = [
        ("day", day.as_str()),
        ("library", library.trim()),
        ("book", book.trim()),
    ];
    let [of_day, of_library, of_book] = sought;
    let asked = [of_day, of_library, of_book, ("cursor", from)];
    let DecisionPage {
        decisions,
        next_cursor,
    } = visitor.list::<ListDecisions>(&[], &asked).await?;
    Ok(HtmlPage::new(
        Here::Decisions,
        language.c_decisions(),
        language.c_decisions_lead(),
    )
    .show(
        &visitor,
        &html! {
            (search_by_book(language, ("day", &language.c_day(), day), library, book))
            @if decisions.is_empty() { p { (language.c_nothing_found()) } }
            @else { (decisions_table(language, &decisions)) }
            @if let Some(next) = next_cursor {
                (more(language, &with(&with("/console/decisions", &[("from", &next)]), &sought)))
            }
            (terms(language, [
                (language.c_term_filed(), language.c_term_filed_is()),
                (language.c_appealed(), language.c_term_appealed_is()),
            ]))
        },
    ))
}

/// The entries of a page as a table.
fn decisions_table(language: Language, decisions: &[Decision]) -> Markup {
    let heads = [
        language.head_when(),
        language.c_who(),
        language.c_entry(),
        language.head_checked(),
        language.head_verdict(),
        language.c_reason(),
    ];
    let rows = html! {
        @for one in decisions {
            tr {
                td { (time(one.created_at)) }
                td { (clean(&one.actor)) }
                td { (ruling(language, one.ruling)) }
                td {
                    a href=(path("/console/checks", [&one.check])) {
                        (clean(one.name.as_deref().unwrap_or(&one.check)))
                    }
                    @if let Some(case) = &one.case { " (" (clean(case)) ")" }
                }
                td { (verdict(language, one.verdict, one.is_about_answer())) }
                td { @if let Some(reason) = &one.reason { (clean(reason)) } }
            }
        }
    };
    table(&language.c_decisions(), &heads, &rows)
}
