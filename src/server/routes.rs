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
    openapi, outside, problem, recipes, recut, shared, site, tables, texts,
};
use lapidary_operations::allow::{DeleteAllowList, ListAllowLists, PutAllowList, ShowAllowList};
use lapidary_operations::audit::ShowAudit;
use lapidary_operations::batches::{ListBatches, MakeBatch, ShowBatch};
use lapidary_operations::decisions::{Decide, DeleteEvidence, ListDecisions, ShowDecision};
use lapidary_operations::find::FindBooks;
use lapidary_operations::jobs::{
    CancelJob, ListDuplicateGroups, ListDuplicateOverlaps, ListJobs, ResolveDuplicates, ShowJob,
    StartJob,
};
use lapidary_operations::keys::{ListKeys, MakeKey, RevokeKey, RotateKey, ShowKey};
use lapidary_operations::libraries::{
    ListBooks, ListLibraries, SetPolicy, ShowPolicy, ShowTrust, TrustLibrary,
};
use lapidary_operations::links::{
    DeleteReportLink, ListReportLinks, MakeReportLink, ShowReportLink,
};
use lapidary_operations::sources::{
    ChangeSource, DeleteSource, ListSourceErrors, ListSourceRuns, ListSources, PutSource,
    RunSource, ShowSource, TestSource,
};
use lapidary_operations::status::{
    Diagnose, ListRecipes, ShowCheckStatistics, ShowHistory, ShowRecipe, ShowStats,
};
use lapidary_operations::webhooks::{
    DeleteKeyWebhook, DeleteOwnWebhook, DeleteWebhook, ListKeyWebhooks, ListWebhooks,
    PutOwnWebhook, PutWebhook, ReplayOwnWebhook, ReplayWebhook, ShowOwnWebhook, ShowWebhook,
    TestOwnWebhook, TestWebhook,
};

/// Calls on one subject.
pub(super) struct Section {
    /// Its name in the API description.
    pub(super) tag: &'static str,
    pub(super) about: &'static str,
    pub(super) calls: Vec<Call>,
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
                of_batches(),
                compare::calls(),
            ],
        ),
        section(
            "books",
            "The books in the catalogue",
            [
                of_libraries(),
                feed::calls(),
                tables::calls(),
                books::calls(),
                texts::calls(),
            ],
        ),
        section(
            "decisions",
            "Filed checks, and what was decided about them",
            [of_decisions(), filed::calls(), shared::calls()],
        ),
        section(
            "allow-lists",
            "Content that never blocks publication",
            [of_allow_lists()],
        ),
        section("sources", "Where books are fetched from", [of_sources()]),
        section(
            "webhooks",
            "Notifications about what libraries and keys wait for",
            [of_webhooks()],
        ),
        section(
            "jobs",
            "Long-running operations",
            [of_jobs(), recut::calls()],
        ),
        section("keys", "API keys", [of_keys()]),
        section(
            "server",
            "Server status and administration",
            [
                index::calls(),
                me::calls(),
                vec![Call::of::<ShowAudit>()],
                export::calls(),
                import::calls(),
                vec![
                    Call::of::<ShowStats>(),
                    Call::of::<ListRecipes>(),
                    Call::of::<ShowRecipe>(),
                ],
                recipes::calls(),
                vec![
                    Call::of::<ShowHistory>(),
                    Call::of::<ShowCheckStatistics>(),
                    Call::of::<Diagnose>(),
                ],
                health::calls(),
                metrics::calls(),
                openapi::calls(),
            ],
        ),
    ]
}

fn of_batches() -> Vec<Call> {
    vec![
        Call::of::<ListBatches>(),
        Call::of::<MakeBatch>(),
        Call::of::<ShowBatch>(),
    ]
}

fn of_libraries() -> Vec<Call> {
    vec![
        Call::of::<ListLibraries>(),
        Call::of::<ListBooks>(),
        Call::of::<ShowTrust>(),
        Call::of::<TrustLibrary>(),
        Call::of::<ShowPolicy>(),
        Call::of::<SetPolicy>(),
        Call::of::<FindBooks>(),
    ]
}

fn of_decisions() -> Vec<Call> {
    vec![
        Call::of::<ListDecisions>(),
        Call::of::<Decide>(),
        Call::of::<ShowDecision>(),
        Call::of::<DeleteEvidence>(),
        Call::of::<ListReportLinks>(),
        Call::of::<MakeReportLink>(),
        Call::of::<ShowReportLink>(),
        Call::of::<DeleteReportLink>(),
    ]
}

fn of_allow_lists() -> Vec<Call> {
    vec![
        Call::of::<ListAllowLists>(),
        Call::of::<ShowAllowList>(),
        Call::of::<PutAllowList>(),
        Call::of::<DeleteAllowList>(),
    ]
}

fn of_sources() -> Vec<Call> {
    vec![
        Call::of::<ListSources>(),
        Call::of::<ShowSource>(),
        Call::of::<PutSource>(),
        Call::of::<ChangeSource>(),
        Call::of::<DeleteSource>(),
        Call::of::<RunSource>(),
        Call::handled::<TestSource, _, _>(outside::test::<TestSource>),
        Call::of::<ListSourceRuns>(),
        Call::of::<ListSourceErrors>(),
    ]
}

fn of_webhooks() -> Vec<Call> {
    vec![
        Call::of::<ListWebhooks>(),
        Call::of::<ShowWebhook>(),
        Call::of::<PutWebhook>(),
        Call::of::<DeleteWebhook>(),
        Call::of::<ReplayWebhook>(),
        Call::handled::<TestWebhook, _, _>(outside::test::<TestWebhook>),
        Call::of::<ShowOwnWebhook>(),
        Call::of::<PutOwnWebhook>(),
        Call::of::<DeleteOwnWebhook>(),
        Call::of::<ReplayOwnWebhook>(),
        Call::handled::<TestOwnWebhook, _, _>(outside::test::<TestOwnWebhook>),
        Call::of::<ListKeyWebhooks>(),
        Call::of::<DeleteKeyWebhook>(),
    ]
}

fn of_jobs() -> Vec<Call> {
    vec![
        Call::of::<ListJobs>(),
        Call::of::<StartJob>(),
        Call::of::<ShowJob>(),
        Call::of::<CancelJob>(),
        Call::of::<ListDuplicateGroups>(),
        Call::of::<ListDuplicateOverlaps>(),
        Call::of::<ResolveDuplicates>(),
    ]
}

fn of_keys() -> Vec<Call> {
    vec![
        Call::of::<ListKeys>(),
        Call::of::<MakeKey>(),
        Call::of::<ShowKey>(),
        Call::of::<RotateKey>(),
        Call::of::<RevokeKey>(),
    ]
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
