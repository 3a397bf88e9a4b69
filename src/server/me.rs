//! `GET /v1/me`: what the caller may do, and what the server offers.

use std::collections::BTreeSet;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use utoipa::openapi::path::HttpMethod::Get;

use super::ServerState;
use super::access::{Guest, Needs};
use super::calls::{Call, json};
use super::problem::Problem;
use super::work::{Answer, work};
use crate::console;
use lapidary_catalogue::api::{Feature, Key, Me, RequestLimits};
use lapidary_catalogue::permission::{Permission, Role};
use lapidary_catalogue::{Catalogue, MAX_GEMS};

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/me", Needs::AnyKey, me)
            .named(
                "me",
                "Show what the key permits, and what the server offers",
            )
            .about("For clients that test their connection.")
            .answers(
                200,
                "What the key permits, its limits, the recipes of the catalogue",
                [json::<Me>()],
            ),
    ]
}

async fn me(request: HttpRequest, state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    let guest = Guest::of(&request);
    let key = match &guest {
        Guest::Key(id) => state.catalogue.keys().valid(id)?,
        Guest::Anyone | Guest::Local => None,
    };
    if key.is_none() {
        // Otherwise one whose key was revoked a moment ago would be told to be an administrator.
        guest.is_still_let_in(&state.catalogue)?;
    }
    let has_console = console::is_there(&request);
    let body_bytes = state.max_body as u64;
    work(&state, move |catalogue| {
        let mut features = features(catalogue);
        if has_console {
            features.insert(Feature::Console);
        }
        Answer::ok(&told(key.as_deref(), body_bytes, features, catalogue))
    })
    .await
}

/// What the catalogue offers.
fn features(catalogue: &Catalogue) -> BTreeSet<Feature> {
    let backups = catalogue.jobs().offers_backups().is_ok();
    let offered = [
        (Feature::Backups, backups),
        (Feature::Cluster, catalogue.is_shared()),
    ];
    let offered = offered.into_iter().filter(|(_, is_offered)| *is_offered);
    offered.map(|(feature, _)| feature).collect()
}

fn told(
    key: Option<&Key>,
    body_bytes: u64,
    features: BTreeSet<Feature>,
    catalogue: &Catalogue,
) -> Me {
    Me {
        name: key.map(|key| key.name.clone()),
        role: key.map_or(Some(Role::Admin), |key| key.role),
        permissions: Permission::ALL
            .into_iter()
            .filter(|one| key.is_none_or(|key| key.permits(*one)))
            .collect(),
        libraries: key.map(|key| key.libraries.clone()).unwrap_or_default(),
        must_gate: key.and_then(|key| key.must_gate),
        expires_at: key.and_then(|key| key.expires_at),
        limits: RequestLimits {
            rate: key.and_then(|key| key.rate),
            quota: key.and_then(|key| key.quota),
            max_body_bytes: body_bytes,
            max_gems: MAX_GEMS as u64,
        },
        recipes: catalogue.recipes().usable(),
        features,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
