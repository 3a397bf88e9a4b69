//! The API description (`OpenAPI` 3.1), generated from the handlers, and a page for trying the calls.

use actix_web::HttpResponse;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::{allow, amend, audit, batch, books, checks, export, feed, health, import, jobs, keys, libraries, webhooks};

/// All calls.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Lapidary",
        description = "Which books share parts with a text, how much, which parts, and may it be published",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    paths(
        checks::check,
        batch::check,
        checks::check_by_gems,
        libraries::all,
        libraries::books,
        feed::add,
        books::get,
        books::put,
        amend::patch,
        books::delete,
        allow::all,
        allow::put,
        allow::delete,
        webhooks::all,
        webhooks::put,
        webhooks::delete,
        jobs::all,
        jobs::start,
        jobs::get,
        jobs::cancel,
        jobs::recut,
        keys::all,
        keys::make,
        keys::rotate,
        keys::revoke,
        audit::page,
        export::export,
        import::import,
        libraries::stats,
        health::alive,
        health::ready,
    ),
    tags(
        (name = "checks", description = "May this text be published?"),
        (name = "books", description = "The books in the catalogue"),
        (name = "allow-lists", description = "Content that never blocks publication"),
        (name = "webhooks", description = "Notifications about new books that match others"),
        (name = "jobs", description = "Long-running operations"),
        (name = "keys", description = "API keys"),
        (name = "server", description = "Server status and administration"),
    ),
    security((), ("bearer" = []), ("key" = [])),
    modifiers(&Secured)
)]
struct Api;

/// How a key is sent. If the catalogue has no keys, none is needed.
struct Secured;

impl Modify for Secured {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        let header = ApiKey::Header(ApiKeyValue::new("X-Api-Key"));
        components.add_security_scheme("key", SecurityScheme::ApiKey(header));
    }
}

/// The API description as JSON, identical to `docs/openapi.json`.
#[must_use]
pub fn openapi() -> String {
    // It consists of text, numbers and lists, so serialization does not fail.
    Api::openapi().to_pretty_json().unwrap_or_default() + "\n"
}

/// `GET /openapi.json`
pub(super) async fn json() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(openapi())
}

/// `GET /docs/`: loads nothing from the network.
pub(super) fn page() -> SwaggerUi {
    SwaggerUi::new("/docs/{_:.*}").config(Config::from("/openapi.json").use_base_layout())
}
