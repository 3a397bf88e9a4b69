//! Keys: listed, created, rotated, revoked. A secret is shown once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Form, Path, ServiceConfig};
use maud::{Markup, html};
use serde::Deserialize;

use super::At;
use super::failure::PageFailure;
use super::layout::{
    Here, HtmlPage, button_to, form_to, main_button, more, optional_field, permission, permissions,
    required_field, see_other, table, terms, time,
};
use super::visitor::{Visitor, path, with};
use lapidary_catalogue::api::{Key, Keys, NewKey, Rotation};
use lapidary_catalogue::permission::{Permission, Rate, Unless};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::keys::{ListKeys, MakeKey, RevokeKey, RotateKey};
use lapidary_report::clean;
use lapidary_store::Library;

/// How long the previous secret of a rotated key stays valid.
const OVERLAP_SECONDS: u32 = 24 * 60 * 60;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/keys", web::get().to(page))
        .route("/keys", web::post().to(make))
        .route("/keys/{name}/rotate", web::post().to(rotate))
        .route("/keys/{name}/revoke", web::post().to(revoke));
}

async fn page(visitor: Visitor, at: At) -> Result<HttpResponse, PageFailure> {
    show(&visitor, &at.from, &html! {}).await
}

/// A page of the keys, below the secret of one that was made.
async fn show(visitor: &Visitor, from: &str, made: &Markup) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let Keys { keys, next_cursor } = visitor.list::<ListKeys>(&[], &[("cursor", from)]).await?;
    Ok(
        HtmlPage::new(Here::Keys, language.c_keys(), language.c_keys_lead()).show(
            visitor,
            &html! {
                (made)
                @if keys.is_empty() { p class="notice" { (language.c_no_keys()) } }
                @else { (keys_table(visitor, &keys)) }
                @if let Some(next) = next_cursor { (more(language, &with("/console/keys", &[("from", &next)]))) }
                (form(visitor))
                (terms(language, [
                    (language.c_permissions(), language.c_term_permissions_is()),
                    (language.c_trust(), language.c_term_trust_is()),
                    (language.c_limits(), language.c_term_limits_is()),
                    (language.c_rotate(), language.c_term_rotate_is()),
                ]))
            },
        ),
    )
}

/// The keys as a table.
fn keys_table(visitor: &Visitor, keys: &[Key]) -> Markup {
    let language = visitor.language();
    let heads = [
        language.c_name(),
        language.c_permissions(),
        language.c_libraries(),
        language.c_limits(),
        language.c_since(),
        language.c_expires(),
        language.c_actions(),
    ];
    let rows = html! {
        @for key in keys { (row(visitor, key)) }
    };
    table(&language.c_keys(), &heads, &rows)
}

fn form(visitor: &Visitor) -> Markup {
    let language = visitor.language();
    form_to(
        visitor,
        "/console/keys",
        "card narrow",
        &html! {
            h2 { (language.c_new_key()) }
            (required_field("name", &language.c_name(), 100))
            fieldset {
                legend { (language.c_permissions()) }
                @for one in Permission::ALL {
                    label class="choice" {
                        input type="checkbox" name=(one.as_str()) value="yes";
                        (permission(language, one))
                    }
                }
            }
            (optional_field("libraries", &language.c_libraries_of_key(), None, None))
            label for="trusted" { (language.c_trusted_key()) }
            select id="trusted" name="trusted" {
                option value="" {}
                option value="yes" { (language.c_trusted()) }
                option value="no" { (language.c_not_trusted()) }
            }
            label class="choice" { input type="checkbox" name="must_gate" value="yes"; (language.c_must_gate_books()) }
            (optional_field("rate", &language.c_rate(), None, Some("50/s")))
            (optional_field("quota", &language.c_quota(), None, Some("100000/day")))
            (main_button(&language.c_create()))
        },
    )
}

/// A secret, for the only time.
pub(super) fn secret(language: Language, name: &str, secret: &str) -> Markup {
    html! {
        section class="card accent" role="status" {
            h2 { (language.c_secret_of(&clean(name))) }
            p { (language.c_once()) }
            p { code class="secret" id="secret" { (secret) } }
            div class="buttons" { button type="button" data-copy="secret" { (language.c_copy()) } }
        }
    }
}

#[derive(Deserialize)]
struct KeyForm {
    name: String,
    #[serde(default)]
    libraries: String,
    #[serde(default)]
    trusted: String,
    #[serde(default)]
    must_gate: String,
    #[serde(default)]
    rate: String,
    #[serde(default)]
    quota: String,
    /// Permissions that were chosen are among their names.
    #[serde(flatten)]
    chosen: BTreeMap<String, String>,
}

/// The libraries of a list with commas.
fn named(libraries: &str) -> Result<BTreeSet<Library>, String> {
    let names = libraries.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    names.map(parsed).collect()
}

fn limit(written: &str) -> Result<Option<Rate>, String> {
    match written.trim() {
        "" => Ok(None),
        written => parsed(written).map(Some),
    }
}

fn parsed<T: FromStr<Err: Display>>(written: &str) -> Result<T, String> {
    written.parse().map_err(|error: T::Err| error.to_string())
}

async fn make(visitor: Visitor, new: Form<KeyForm>) -> Result<HttpResponse, PageFailure> {
    let bad = |detail: String| {
        visitor.problem(
            ErrorCode::BadKeyRequest,
            StatusCode::UNPROCESSABLE_ENTITY,
            &detail,
        )
    };
    let Form(KeyForm {
        name,
        libraries,
        trusted,
        must_gate,
        rate,
        quota,
        chosen,
    }) = new;
    let libraries = named(&libraries).map_err(bad)?;
    let (rate, quota) = (limit(&rate).map_err(bad)?, limit(&quota).map_err(bad)?);
    let trusted = match trusted.as_str() {
        "" => None,
        chosen => Some(chosen == "yes"),
    };
    let must_gate = (!must_gate.is_empty()).then_some(Unless::Protected);
    let new = NewKey {
        name,
        role: None,
        permissions: chosen.keys().filter_map(|name| name.parse().ok()).collect(),
        libraries,
        trusted,
        must_gate,
        rate,
        quota,
        expires_at: None,
    };
    let was_open = visitor
        .inside()
        .is_open_to(visitor.request())
        .unwrap_or_default();
    let made = visitor.call::<MakeKey>(&[], new).await?;
    let shown = secret(visitor.language(), &made.key.name, &made.secret);
    if !was_open {
        return show(&visitor, "", &shown).await;
    }
    // From the first key on, everybody signs in.
    let language = visitor.language();
    Ok(super::layout::for_anyone(
        language,
        language.c_keys(),
        language.c_first_key(),
        &html! {
            (shown)
            p { a class="button" href="/console/sign-in" { (language.c_sign_in()) } }
        },
    ))
}

async fn rotate(visitor: Visitor, name: Path<String>) -> Result<HttpResponse, PageFailure> {
    let rotation = Rotation {
        overlap_seconds: OVERLAP_SECONDS,
    };
    let made = visitor.call::<RotateKey>(&[&name], rotation).await?;
    show(
        &visitor,
        "",
        &secret(visitor.language(), &made.key.name, &made.secret),
    )
    .await
}

async fn revoke(visitor: Visitor, name: Path<String>) -> Result<HttpResponse, PageFailure> {
    visitor.call::<RevokeKey>(&[&name], ()).await?;
    Ok(see_other("/console/keys"))
}

fn row(visitor: &Visitor, key: &Key) -> Markup {
    let language = visitor.language();
    html! {
        tr {
            td { (clean(&key.name)) }
            td {
                (permissions(language, key))
                @if key.must_gate.is_some() { " " span class="tag" { (language.c_must_gate()) } }
            }
            td { (clean(&key.libraries.iter().map(Library::as_str).collect::<Vec<_>>().join(", "))) }
            td { @for rate in [key.rate, key.quota].into_iter().flatten() { (rate) " " } }
            td { (time(key.created_at)) }
            td { @if let Some(expires) = key.expires_at { (time(expires)) } @else { (language.c_never()) } }
            td { div class="buttons" {
                @if !key.is_of_person() {
                    (button_to(visitor, &path("/console/keys", [&key.name, "rotate"]), &language.c_rotate(),
                        Some(&language.c_sure_rotate(&clean(&key.name)))))
                }
                (button_to(visitor, &path("/console/keys", [&key.name, "revoke"]), &language.c_revoke(),
                    Some(&language.c_sure_revoke(&clean(&key.name)))))
            } }
        }
    }
}
