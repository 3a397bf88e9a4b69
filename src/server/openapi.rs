//! The API description (`OpenAPI` 3.1), generated from the declared calls, and a page for trying them.

mod events;
#[cfg(test)]
mod released;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use actix_web::HttpResponse;
use utoipa::openapi::path::HttpMethod::Get;
use utoipa::openapi::path::{Operation, PathItem, Paths};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    Components, Info, InfoBuilder, License, OpenApi, Ref, RefOr, ResponseBuilder, Server,
};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::access::Needs;
use super::calls::{self, Body, Call};
use super::routes;
use lapidary_catalogue::api::Problem;

/// The name of the answer of a call that failed.
const PROBLEM: &str = "Problem";

/// The headers of a problem.
const OF_PROBLEMS: [(&str, &str); 4] = [
    (
        "Retry-After",
        "After how many seconds to send the request again (429, 503)",
    ),
    (
        "RateLimit-Remaining",
        "How many requests the limit of the key still allows, if it has one",
    ),
    ("WWW-Authenticate", "How to send a key (401)"),
    (
        "X-Request-Id",
        "The id of the request, by which it is in the log",
    ),
];

/// How a key is sent.
const SCHEMES: [&str; 2] = ["bearer", "key"];

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/openapi.json", Needs::Nothing, json)
            .named("description", "Show this description of the API")
            .answers(200, "The description", [calls::object()]),
    ]
}

/// The API description as JSON, identical to `docs/openapi.json`.
#[must_use]
pub fn openapi() -> String {
    // It consists of text, numbers and lists, so serialization does not fail.
    let json = document().to_pretty_json().unwrap_or_default() + "\n";
    // The names in OpenAPI's registry of formats; utoipa writes them with a hyphen.
    json.replace(r#""format": "u-int"#, r#""format": "uint"#)
}

fn document() -> OpenApi {
    let (mut paths, mut tags) = (Paths::new(), Vec::<Tag>::new());
    let mut components = components();
    for section in routes::all() {
        tags.push(
            TagBuilder::new()
                .name(section.tag)
                .description(Some(section.about))
                .build(),
        );
        for mut call in section.calls {
            components.schemas.extend(std::mem::take(&mut call.schemas));
            let (path, method) = (call.public_path(), call.method.clone());
            let item = PathItem::new(method, operation(call, section.tag));
            match paths.paths.get_mut(&path) {
                Some(known) => known.merge_operations(item),
                None => drop(paths.paths.insert(path, item)),
            }
        }
    }
    let mut api = OpenApi::new(info(), paths);
    api.servers = Some(vec![Server::new("/")]);
    api.webhooks = Some(events::webhooks(&mut components));
    api.components = Some(components);
    api.tags = Some(tags);
    api
}

fn info() -> Info {
    let mut license = License::new(env!("CARGO_PKG_LICENSE"));
    license.identifier = Some(env!("CARGO_PKG_LICENSE").to_owned());
    InfoBuilder::new()
        .title("Lapidary")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Finds the books that share passages with a text, shows which passages and how much they share, and says \
             whether the text may be published\n\nEvery call has an example that can be executed as it stands, once \
             `put_book` has added the book of the examples. Those of keys need a key: `make_key` makes one. Without keys, a \
             server takes every call of its own machine without one.",
        ))
        .license(Some(license))
        .build()
}

/// What all calls share: how a key is sent, and how a failure is answered.
fn components() -> Components {
    let mut components = Components::new();
    let header = ApiKey::Header(ApiKeyValue::new("X-Api-Key"));
    let schemes = [
        SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
        SecurityScheme::ApiKey(header),
    ];
    for (name, scheme) in SCHEMES.into_iter().zip(schemes) {
        components.add_security_scheme(name, scheme);
    }
    let Body {
        kind,
        content,
        schemas,
    } = calls::json::<Problem>().with_type("application/problem+json");
    let mut problem = ResponseBuilder::new()
        .description("A problem (RFC 9457)")
        .content(kind, content);
    for (name, about) in OF_PROBLEMS {
        problem = problem.header(name, calls::described(about));
    }
    let problem = problem.build();
    components
        .responses
        .insert(PROBLEM.to_owned(), problem.into());
    components.schemas.extend(schemas);
    components
}

/// The operation of a call, with what follows from its section and its role.
fn operation(call: Call, tag: &str) -> Operation {
    let mut operation = call.operation;
    operation.tags = Some(vec![tag.to_owned()]);
    operation.responses.responses.insert(
        "default".to_owned(),
        RefOr::Ref(Ref::from_response_name(PROBLEM)),
    );
    let alternatives = match call.needs.permissions() {
        Some([]) => vec![None],
        Some(permissions) => permissions.iter().map(|one| Some(one.as_str())).collect(),
        None => Vec::new(),
    };
    let keys = alternatives
        .into_iter()
        .flat_map(|permission| SCHEMES.map(|scheme| SecurityRequirement::new(scheme, permission)));
    operation.security = Some(keys.collect());
    operation
}

async fn json() -> HttpResponse {
    static DOCUMENT: LazyLock<String> = LazyLock::new(openapi);
    HttpResponse::Ok()
        .content_type("application/json")
        .body(DOCUMENT.as_str())
}

/// `GET /docs/api/`: the explorer of the API.
pub(super) fn page() -> SwaggerUi {
    SwaggerUi::new("/docs/api/{_:.*}").config(Config::from("/openapi.json").use_base_layout())
}
