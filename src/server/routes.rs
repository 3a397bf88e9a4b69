//! All calls of the API, by subject. The routes, the API description and the answers to unknown paths and methods follow
//! from their declarations.

use std::collections::BTreeMap;
use std::future::ready;

use actix_web::dev::HttpServiceFactory;
use actix_web::http::Method;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use utoipa::openapi::path::HttpMethod;

use super::access::{Rule, guarded};
use super::calls::Call;
use super::{
    allow, audit, batch, books, checks, decisions, doctor, export, feed, find, health, history,
    import, index,
};
use super::{jobs, libraries, metrics, openapi, problem, recipes, sources, stats, texts, webhooks};
use lapidary_operations::keys::{ListKeys, MakeKey, RevokeKey, RotateKey};

/// Calls on one subject.
pub(super) struct Section {
    /// Its name in the API description.
    pub(super) tag: &'static str,
    pub(super) about: &'static str,
    pub(super) calls: Vec<Call>,
}

/// All calls.
pub(super) fn all() -> [Section; 9] {
    let section = |tag, about, calls: Vec<Vec<Call>>| Section {
        tag,
        about,
        calls: calls.into_iter().flatten().collect(),
    };
    [
        section(
            "checks",
            "May this text be published?",
            vec![checks::calls(), batch::calls()],
        ),
        section(
            "books",
            "The books in the catalogue",
            vec![
                libraries::calls(),
                find::calls(),
                feed::calls(),
                books::calls(),
                texts::calls(),
            ],
        ),
        section(
            "decisions",
            "Filed checks, and what was decided about them",
            vec![decisions::calls()],
        ),
        section(
            "allow-lists",
            "Content that never blocks publication",
            vec![allow::calls()],
        ),
        section(
            "sources",
            "Where books are fetched from",
            vec![sources::calls()],
        ),
        section(
            "webhooks",
            "Notifications about new books that match others",
            vec![webhooks::calls()],
        ),
        section("jobs", "Long-running operations", vec![jobs::calls()]),
        section(
            "keys",
            "API keys",
            vec![vec![
                Call::of::<ListKeys>(),
                Call::of::<MakeKey>(),
                Call::of::<RotateKey>(),
                Call::of::<RevokeKey>(),
            ]],
        ),
        section(
            "server",
            "Server status and administration",
            vec![
                index::calls(),
                audit::calls(),
                export::calls(),
                import::calls(),
                stats::calls(),
                recipes::calls(),
                history::calls(),
                doctor::calls(),
                health::calls(),
                metrics::calls(),
                openapi::calls(),
            ],
        ),
    ]
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
        .filter(|path| !path.contains('{'))
        .collect();
    let paths = paths.join(", ");
    for (path, calls) in resources {
        app.service(resource(path, calls));
    }
    app.service(web::redirect("/docs", "/docs/"))
        .service(openapi::page())
        .default_service(web::to(move |request: HttpRequest| {
            ready(Err::<HttpResponse, _>(problem::nothing_here(
                &request, &paths,
            )))
        }));
}

/// The calls of one path. Any other method is refused with the list of allowed methods. A path that ends in a slash
/// works without it, too.
fn resource(path: &str, calls: Vec<Call>) -> impl HttpServiceFactory + use<> {
    let mut resource = web::resource(vec![path, path.trim_end_matches('/')]);
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
        rules.push((method.clone(), Rule { needs, conditional }));
        resource = resource.route(route.method(method));
    }
    let allowed = allowed.join(", ");
    let refuse = move || ready(Err::<HttpResponse, _>(problem::wrong_method(&allowed)));
    guarded(resource.default_service(web::to(refuse)), rules)
}
