//! Webhooks, which tell about new books that match others, and allow-lists.

use actix_web::HttpResponse;
use actix_web::web::{self, Form, Query, ServiceConfig};
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::keys::secret;
use super::layout::{
    Here, HtmlPage, button_to, form_to, main_button, required_field, see_other, table, terms, time,
};
use super::visitor::{Visitor, path, with};
use lapidary_catalogue::api::{AllowList, NewWebhook, Webhook};
use lapidary_language::Language;
use lapidary_operations::allow::{DeleteAllowList, ListAllowLists};
use lapidary_operations::webhooks::{DeleteWebhook, ListWebhooks, PutWebhook};
use lapidary_report::clean;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/webhooks", web::get().to(page))
        .route("/webhooks", web::post().to(set))
        .route("/webhooks/remove", web::post().to(remove))
        .route("/allow/remove", web::post().to(disallow));
}

async fn page(visitor: Visitor) -> Result<HttpResponse, PageFailure> {
    show(&visitor, &html! {}).await
}

async fn show(visitor: &Visitor, made: &Markup) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let webhooks = visitor.all::<ListWebhooks>(&[]).await?;
    Ok(HtmlPage::new(Here::Webhooks, language.c_webhooks(), language.c_webhooks_lead()).show(visitor, &html! {
        (made)
        @if webhooks.is_empty() { p { (language.c_no_webhooks()) } }
        @else { (webhooks_table(visitor, &webhooks)) }
        (form_to(visitor, "/console/webhooks", "card narrow", &html! {
            h2 { (language.c_new_webhook()) }
            (required_field("library", &language.c_library(), 512))
            label for="url" { (language.c_url()) }
            input id="url" name="url" type="url" required maxlength="2000" placeholder="https://" autocomplete="off";
            (main_button(&language.c_create()))
        }))
        (allowed(visitor).await?)
        (terms(language, [
            (language.c_term_webhook(), language.c_term_webhook_is()),
            (language.c_allow_lists(), language.c_term_allow_is()),
        ]))
    }))
}

/// The webhooks as a table.
fn webhooks_table(visitor: &Visitor, webhooks: &[Webhook]) -> Markup {
    let language = visitor.language();
    let heads = [
        language.c_library(),
        language.c_url(),
        language.c_since(),
        language.c_behind(),
        language.c_state(),
        language.c_actions(),
    ];
    let rows = html! {
        @for one in webhooks {
            tr {
                td { (clean(one.library.as_str())) }
                td { (clean(&one.url)) }
                td { (time(one.created_at)) }
                td { (language.number(one.pending_changes)) }
                td { @match &one.failure {
                    Some(failing) => { (language.c_failing(failing.attempts.into())) " " span lang="en" { (clean(&failing.error)) } }
                    None => (language.c_working()),
                } }
                td { (button_to(visitor, &with("/console/webhooks/remove", &[("name", one.library.as_str())]),
                    &language.c_remove(), Some(&language.c_sure_remove(&clean(one.library.as_str()))))) }
            }
        }
    };
    table(&language.c_webhooks(), &heads, &rows)
}

async fn allowed(visitor: &Visitor) -> Result<Markup, PageFailure> {
    let language = visitor.language();
    let allow = visitor.all::<ListAllowLists>(&[]).await?;
    let heads = [
        language.c_name(),
        language.c_what(),
        language.c_note(),
        language.c_since(),
        language.c_actions(),
    ];
    let rows = html! {
        @for list in &allow {
            tr {
                td { (clean(list.name.as_str())) }
                td { (content(language, list)) }
                td { @if let Some(note) = &list.note { (clean(note)) } }
                td { (time(list.created_at)) }
                td { (button_to(visitor, &with("/console/allow/remove", &[("name", list.name.as_str())]),
                    &language.c_remove(), Some(&language.c_sure_remove(&clean(list.name.as_str()))))) }
            }
        }
    };
    Ok(html! {
        section id="allow" {
            h2 { (language.c_allow_lists()) }
            p { (language.c_allow_lists_lead()) }
            @if !allow.is_empty() { (table(&language.c_allow_lists(), &heads, &rows)) }
        }
    })
}

#[derive(Deserialize)]
struct WebhookForm {
    library: String,
    url: String,
}

async fn set(visitor: Visitor, new: Form<WebhookForm>) -> Result<HttpResponse, PageFailure> {
    let Form(WebhookForm { library, url }) = new;
    let webhook = NewWebhook { url };
    let made = visitor.call::<PutWebhook>(&[&library], webhook).await?.item;
    show(
        &visitor,
        &secret(visitor.language(), &library, &made.secret),
    )
    .await
}

#[derive(Deserialize)]
struct Of {
    name: String,
}

async fn remove(visitor: Visitor, of: Query<Of>) -> Result<HttpResponse, PageFailure> {
    visitor.call::<DeleteWebhook>(&[&of.name], ()).await?;
    Ok(see_other("/console/webhooks"))
}

async fn disallow(visitor: Visitor, of: Query<Of>) -> Result<HttpResponse, PageFailure> {
    visitor.call::<DeleteAllowList>(&[&of.name], ()).await?;
    Ok(see_other("/console/webhooks#allow"))
}

/// What a list allows.
fn content(language: Language, list: &AllowList) -> Markup {
    html! {
        @match (&list.book, &list.gems) {
            (Some(book), _) => a href=(path("/console/books", [book.library.as_str(), book.id.as_str()])) {
                (clean(book.library.as_str())) "/" (clean(book.id.as_str()))
            },
            (None, gems) => (language.gems(gems.iter().flat_map(|gems| gems.values()).map(|gems| gems.len() as u64).sum())),
        }
    }
}
