//! Webhooks, which tell what libraries and keys wait for, and allow-lists.

use std::collections::{BTreeMap, BTreeSet};

use actix_web::HttpResponse;
use actix_web::web::{self, Form, Query, ServiceConfig};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::keys::secret;
use super::layout::{
    Here, HtmlPage, button_to, form_to, main_button, optional_field, required_field, see_other,
    table, terms, time,
};
use super::visitor::{Visitor, Who, path, with};
use lapidary_catalogue::api::{
    AllowList, DeliveryFailure, EventType, KeyWebhook, NewWebhook, Webhook,
};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::allow::{DeleteAllowList, ListAllowLists};
use lapidary_operations::webhooks::{
    DeleteKeyWebhook, DeleteOwnWebhook, DeleteWebhook, ListKeyWebhooks, ListWebhooks,
    PutOwnWebhook, PutWebhook, ShowOwnWebhook,
};
use lapidary_report::clean;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/webhooks", web::get().to(page))
        .route("/webhooks", web::post().to(set))
        .route("/webhooks/remove", web::post().to(remove))
        .route("/webhooks/own/remove", web::post().to(remove_own))
        .route("/webhooks/keys/remove", web::post().to(remove_of_key))
        .route("/allow/remove", web::post().to(disallow));
}

async fn page(visitor: Visitor) -> Result<HttpResponse, PageFailure> {
    show(&visitor, &html! {}).await
}

async fn show(visitor: &Visitor, made: &Markup) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let webhooks = if visitor.is_admin() {
        all(visitor).await?
    } else {
        own(visitor).await?
    };
    let allowed = if visitor.is_admin() {
        allowed(visitor).await?
    } else {
        html! {}
    };
    Ok(HtmlPage::new(
        Here::Webhooks,
        language.c_webhooks(),
        language.c_webhooks_lead(),
    )
    .show(
        visitor,
        &html! {
            (made)
            @if webhooks.is_empty() { p { (language.c_no_webhooks()) } }
            @else { (webhooks_table(visitor, &webhooks)) }
            (form(visitor))
            (allowed)
            (terms(language, [
                (language.c_term_webhook(), language.c_term_webhook_is()),
                (language.c_allow_lists(), language.c_term_allow_is()),
            ]))
        },
    ))
}

/// The webhooks of libraries and keys.
async fn all(visitor: &Visitor) -> Result<Vec<Row>, PageFailure> {
    let language = visitor.language();
    let of_libraries = visitor.all::<ListWebhooks>(&[]).await?;
    let of_keys = visitor.all::<ListKeyWebhooks>(&[]).await?;
    let mut rows: Vec<Row> = of_libraries.into_iter().map(Row::of_library).collect();
    rows.extend(of_keys.into_iter().map(|webhook| {
        let remove = with("/console/webhooks/keys/remove", &[("name", &webhook.key)]);
        Row::of_key(language, webhook, remove)
    }));
    Ok(rows)
}

/// The webhook of the visitor's key, if it has one.
async fn own(visitor: &Visitor) -> Result<Vec<Row>, PageFailure> {
    let found = visitor.call::<ShowOwnWebhook>(&[], ()).await;
    let nothing = ErrorCode::NoSuchWebhook.as_str();
    match found {
        Err(failure)
            if failure
                .detail()
                .is_some_and(|problem| problem.code == nothing) =>
        {
            Ok(Vec::new())
        }
        found => {
            let remove = "/console/webhooks/own/remove".to_owned();
            Ok(vec![Row::of_key(visitor.language(), found?, remove)])
        }
    }
}

/// A webhook in the table.
struct Row {
    owner: String,
    url: String,
    events: BTreeSet<EventType>,
    since: Timestamp,
    pending: u64,
    failure: Option<DeliveryFailure>,
    /// Where a form removes it.
    remove: String,
}

impl Row {
    fn of_library(webhook: Webhook) -> Self {
        let owner = webhook.library.to_string();
        Self {
            remove: with("/console/webhooks/remove", &[("name", &owner)]),
            owner,
            url: webhook.url,
            events: webhook.events,
            since: webhook.created_at,
            pending: webhook.pending_changes,
            failure: webhook.failure,
        }
    }

    fn of_key(language: Language, webhook: KeyWebhook, remove: String) -> Self {
        Self {
            owner: format!("{}: {}", language.c_key(), webhook.key),
            url: webhook.url,
            events: webhook.events,
            since: webhook.created_at,
            pending: webhook.pending_changes,
            failure: webhook.failure,
            remove,
        }
    }
}

/// The webhooks as a table.
fn webhooks_table(visitor: &Visitor, webhooks: &[Row]) -> Markup {
    let language = visitor.language();
    let heads = [
        language.c_owner(),
        language.c_url(),
        language.c_events(),
        language.c_since(),
        language.c_behind(),
        language.c_state(),
        language.c_actions(),
    ];
    let rows = html! {
        @for one in webhooks {
            tr {
                td { (clean(&one.owner)) }
                td { (clean(&one.url)) }
                td { @if one.events.len() == EventType::ALL.len() { (language.c_all_events()) }
                    @else { @for event in &one.events { code { (event.as_str()) } " " } } }
                td { (time(one.since)) }
                td { (language.number(one.pending)) }
                td { @match &one.failure {
                    Some(failing) => { (language.c_failing(failing.attempts.into())) " " span lang="en" { (clean(&failing.error)) } }
                    None => (language.c_working()),
                } }
                td { (button_to(visitor, &one.remove, &language.c_remove(), Some(&language.c_sure_remove(&clean(&one.owner))))) }
            }
        }
    };
    table(&language.c_webhooks(), &heads, &rows)
}

fn form(visitor: &Visitor) -> Markup {
    let language = visitor.language();
    let has_key = matches!(visitor.who(), Who::Key(..));
    form_to(
        visitor,
        "/console/webhooks",
        "card narrow",
        &html! {
            h2 { (language.c_new_webhook()) }
            @if visitor.is_admin() && has_key { (optional_field("library", &language.c_library_or_own(), Some(512), None)) }
            @else if visitor.is_admin() { (required_field("library", &language.c_library(), 512)) }
            label for="url" { (language.c_url()) }
            input id="url" name="url" type="url" required maxlength="2000" placeholder="https://" autocomplete="off";
            fieldset {
                legend { (language.c_events()) }
                p class="quiet" { (language.c_usual_events()) }
                @for event in EventType::ALL {
                    label class="choice" {
                        input type="checkbox" name=(event.as_str()) value="yes";
                        code { (event.as_str()) }
                    }
                }
            }
            (main_button(&language.c_create()))
        },
    )
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
    #[serde(default)]
    library: String,
    url: String,
    /// Events that were chosen are among their names.
    #[serde(flatten)]
    chosen: BTreeMap<String, String>,
}

async fn set(visitor: Visitor, new: Form<WebhookForm>) -> Result<HttpResponse, PageFailure> {
    let Form(WebhookForm {
        library,
        url,
        chosen,
    }) = new;
    let events: BTreeSet<EventType> = chosen.keys().filter_map(|name| name.parse().ok()).collect();
    let events = Some(events).filter(|events| !events.is_empty());
    let webhook = NewWebhook { url, events };
    let (owner, made) = if library.is_empty() {
        let made = visitor.call::<PutOwnWebhook>(&[], webhook).await?.item;
        (made.webhook.key, made.secret)
    } else {
        let made = visitor.call::<PutWebhook>(&[&library], webhook).await?.item;
        (library, made.secret)
    };
    show(&visitor, &secret(visitor.language(), &owner, &made)).await
}

#[derive(Deserialize)]
struct Of {
    name: String,
}

async fn remove(visitor: Visitor, of: Query<Of>) -> Result<HttpResponse, PageFailure> {
    visitor.call::<DeleteWebhook>(&[&of.name], ()).await?;
    Ok(see_other("/console/webhooks"))
}

async fn remove_own(visitor: Visitor) -> Result<HttpResponse, PageFailure> {
    visitor.call::<DeleteOwnWebhook>(&[], ()).await?;
    Ok(see_other("/console/webhooks"))
}

async fn remove_of_key(visitor: Visitor, of: Query<Of>) -> Result<HttpResponse, PageFailure> {
    visitor.call::<DeleteKeyWebhook>(&[&of.name], ()).await?;
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
