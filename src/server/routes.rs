//! All calls of the API, by subject. The routes, the API description and the answers to unknown paths and methods follow
//! from their declarations.

use std::collections::BTreeMap;
use std::future::ready;

use actix_web::dev::HttpServiceFactory;
use actix_web::http::Method;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use utoipa::openapi::path::HttpMethod;

use super::access::{AccessRule, guarded};
use super::calls::Call;
use super::{
    batch, books, checks, compare, export, feed, filed, health, import, index, me, metrics,
    objects, openapi, outside, problem, recipes, recut, shared, site, tables, texts,
};
use lapidary_operations::Operation;
use lapidary_operations::sources::TestSource;
use lapidary_operations::webhooks::{TestOwnWebhook, TestWebhook};

/// Calls on one subject.
pub(super) struct Section {
    /// Its name in the API description.
    pub(super) tag: &'static str,
    pub(super) about: &'static str,
    pub(super) calls: Vec<Call>,
}

/// Calls of declared operations, of a module.
macro_rules! calls {
    ($module:ident: $($Operation:ident),+) => {
        vec![$(Call::of::<lapidary_operations::$module::$Operation>()),+]
    };
}

/// All calls.
pub(super) fn all() -> [Section; 9] {
    [
        section(
            "checks",
            "May this text be published?",
            [
                checks::calls(),
                batch::calls(),
                calls![batches: ListBatches, MakeBatch, ShowBatch],
                compare::calls(),
                objects::calls(),
            ],
        ),
        section(
            "books",
            "The books in the catalogue",
            [
                calls![libraries:
                    ListLibraries, ListBooks, ShowTrust, TrustLibrary, ShowPolicy, SetPolicy
                ],
                calls![find: FindBooks],
                feed::calls(),
                tables::calls(),
                books::calls(),
                texts::calls(),
            ],
        ),
        section(
            "decisions",
            "Filed checks, and what was decided about them",
            [
                calls![decisions: ListDecisions, Decide, ShowDecision, DeleteEvidence],
                calls![links: ListReportLinks, MakeReportLink, ShowReportLink, DeleteReportLink],
                filed::calls(),
                shared::calls(),
            ],
        ),
        section(
            "allow-lists",
            "Content that never blocks publication",
            [calls![allow: ListAllowLists, ShowAllowList, PutAllowList, DeleteAllowList]],
        ),
        section(
            "sources",
            "Where books are fetched from",
            [
                calls![sources: ListSources, ShowSource, PutSource, ChangeSource, DeleteSource, RunSource],
                test_call::<TestSource>(),
                calls![sources: ListSourceRuns, ListSourceErrors],
            ],
        ),
        section(
            "webhooks",
            "Notifications about what libraries and keys wait for",
            [
                calls![webhooks: ListWebhooks, ShowWebhook, PutWebhook, DeleteWebhook, ReplayWebhook],
                test_call::<TestWebhook>(),
                calls![webhooks: ShowOwnWebhook, PutOwnWebhook, DeleteOwnWebhook, ReplayOwnWebhook],
                test_call::<TestOwnWebhook>(),
                calls![webhooks: ListKeyWebhooks, DeleteKeyWebhook],
            ],
        ),
        section(
            "jobs",
            "Long-running operations",
            [
                calls![jobs:
                    ListJobs, StartJob, ShowJob, CancelJob, ListDuplicateGroups,
                    ListDuplicateOverlaps, ResolveDuplicates
                ],
                recut::calls(),
            ],
        ),
        section(
            "keys",
            "API keys",
            [calls![keys: ListKeys, MakeKey, ShowKey, RotateKey, RevokeKey]],
        ),
        of_server(),
    ]
}

fn of_server() -> Section {
    section(
        "server",
        "Server status and administration",
        [
            index::calls(),
            me::calls(),
            calls![audit: ShowAudit],
            export::calls(),
            import::calls(),
            calls![status: ShowStats, ListRecipes, ShowRecipe],
            recipes::calls(),
            calls![status: ShowHistory, ShowCheckStatistics, Diagnose],
            health::calls(),
            metrics::calls(),
            openapi::calls(),
        ],
    )
}

fn test_call<O: Operation<Input = ()>>() -> Vec<Call> {
    vec![Call::handled::<O, _, _>(outside::test::<O>)]
}

fn section<const N: usize>(
    tag: &'static str,
    about: &'static str,
    calls: [Vec<Call>; N],
) -> Section {
    let calls = calls.into_iter().flatten().collect();
    Section { tag, about, calls }
}

/// The routes of all calls.
pub(super) fn configure(app: &mut ServiceConfig) {
    let mut resources = BTreeMap::<&str, Vec<Call>>::new();
    for call in all().into_iter().flat_map(|section| section.calls) {
        resources.entry(call.path).or_default().push(call);
    }
    let paths: Vec<&str> = resources
        .keys()
        .copied()
        .filter(|path| !path.contains('{') && path.matches('/').count() <= 2)
        .collect();
    let paths = paths.join(", ");
    for (path, calls) in resources {
        app.service(resource(path, calls));
    }
    app.configure(site::configure)
        .default_service(web::to(move |request: HttpRequest| {
            ready(Err::<HttpResponse, _>(problem::nothing_here(
                &request, &paths,
            )))
        }));
}

/// The calls of one path. Any other method is refused with the list of allowed methods. A path that ends in a slash
/// works without it, too.
fn resource(path: &str, calls: Vec<Call>) -> impl HttpServiceFactory + use<> {
    // A list of one path would be looked up by a regular expression, even if it has no parameters.
    let mut resource = match path.strip_suffix('/') {
        Some(without) => web::resource(vec![path, without]),
        None => web::resource(path),
    };
    let (mut allowed, mut rules) = (Vec::new(), Vec::new());
    for Call {
        method,
        needs,
        conditional,
        route,
        ..
    } in calls
    {
        let method = match method {
            HttpMethod::Put => Method::PUT,
            HttpMethod::Post => Method::POST,
            HttpMethod::Patch => Method::PATCH,
            HttpMethod::Delete => Method::DELETE,
            _ => Method::GET,
        };
        allowed.push(method.to_string());
        if method == Method::GET {
            allowed.push(Method::HEAD.to_string());
        }
        rules.push((method.clone(), AccessRule { needs, conditional }));
        resource = resource.route(route.method(method));
    }
    let allowed = allowed.join(", ");
    let refused = web::to(move || ready(Err::<HttpResponse, _>(problem::wrong_method(&allowed))));
    guarded(resource.default_service(refused), rules)
}
