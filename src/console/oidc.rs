//! Signing in with an identity provider.
//!
//! What a sign-in has begun with is in a cookie of the browser, so that any server of a catalogue can end it.

use std::sync::Arc;

use actix_web::http::header::{HeaderValue, REFRESH};
use actix_web::web::{self, Query, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use maud::html;
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use super::failure::PageFailure;
use super::layout::{for_anyone, see_other};
use super::sessions::{WHOLE, same};
use super::sign_in::{NextPage, begin, cookie, count_attempt, here, refused, set_cookie};
use super::visitor::{encoded, shared};
use crate::server::inside::{Client, ClientLimit, Insider, of_address};
use crate::server::language::preferred;
use crate::server::oidc::{BegunSignIn, Oidc, OidcFailure};
use lapidary_catalogue::permission::{Rate, Unit};
use lapidary_catalogue::{NotAdmitted, Person};
use lapidary_language::Language;
use lapidary_operations::excerpt;
use lapidary_report::clean;
use lapidary_store::Actor;

/// Where a sign-in begins.
pub(super) const BEGIN: &str = "/console/oidc";
/// The cookie of a sign-in that has begun.
const COOKIE: &str = "lapidary-oidc";
/// Longer ways back are not kept.
const NEXT_BYTES: usize = 1_000;
/// How often a sign-in that has begun can end.
const ONCE: Rate = Rate {
    count: 1,
    per: Unit::Hour,
};

/// The sign-ins that have ended, each by its state.
pub(super) fn ended() -> ClientLimit {
    ClientLimit::new("ends of sign-ins", ONCE)
}

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/oidc", web::get().to(start))
        .route("/oidc/callback", web::get().to(end));
}

/// Sends a browser to the provider.
async fn start(request: HttpRequest, query: Query<NextPage>) -> Result<HttpResponse, PageFailure> {
    let Some(oidc) = offered(&request)? else {
        return Ok(see_other("/"));
    };
    let next = Some(here(&query.next)).filter(|next| next.len() <= NEXT_BYTES);
    let next = next.unwrap_or("/");
    let begun = match oidc.ask(Oidc::begin).await {
        Ok(begun) => begun,
        Err(failure) => return Ok(failed(&request, &oidc, next, failure)),
    };
    let BegunSignIn {
        url,
        state,
        nonce,
        verifier,
    } = begun;
    let value = format!("{state}.{nonce}.{verifier}.{}", encoded(next));
    let mut response = see_other(&url);
    set_begun(&mut response, &oidc, &value, "; Max-Age=600");
    Ok(response)
}

/// Sets the cookie of a sign-in that has begun. The browser sends it when another site, the provider, sends it back.
fn set_begun(response: &mut HttpResponse, oidc: &Oidc, value: &str, lasts: &str) {
    let attributes = format!("; SameSite=Lax{lasts}");
    set_cookie(response, COOKIE, value, oidc.has_tls(), &attributes);
}

/// What the provider sends a browser back with.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Callback {
    code: String,
    state: String,
    error: String,
    error_description: String,
}

/// What a sign-in has begun with.
struct Begun {
    state: String,
    nonce: String,
    verifier: String,
    next: String,
}

impl Begun {
    /// The sign-in that the browser of a request has begun.
    fn of(request: &HttpRequest, has_tls: bool) -> Option<Self> {
        let parts: Vec<&str> = cookie(request, COOKIE, has_tls)?.splitn(4, '.').collect();
        let [state, nonce, verifier, next] = parts[..] else {
            return None;
        };
        let next = percent_decode_str(next).decode_utf8_lossy();
        Some(Self {
            state: state.to_owned(),
            nonce: nonce.to_owned(),
            verifier: verifier.to_owned(),
            next: here(&next).to_owned(),
        })
    }
}

/// Signs in whom the provider has sent back.
async fn end(request: HttpRequest, came: Query<Callback>) -> Result<HttpResponse, PageFailure> {
    let Some(oidc) = offered(&request)? else {
        return Ok(see_other("/"));
    };
    let mut response = ended_with(&request, &oidc, came.into_inner()).await?;
    set_begun(&mut response, &oidc, "", "; Max-Age=0");
    Ok(response)
}

async fn ended_with(
    request: &HttpRequest,
    oidc: &Arc<Oidc>,
    came: Callback,
) -> Result<HttpResponse, PageFailure> {
    let language = preferred(request);
    let begun = Begun::of(request, oidc.has_tls());
    let begun = begun.filter(|begun| !came.state.is_empty() && same(&begun.state, &came.state));
    let Some(begun) = begun else {
        return Ok(refused(request, "/", &language.c_stale_sign_in()));
    };
    count_attempt(request, &of_address(request.peer_addr())).await?;
    if !is_first(request, &begun.state).await? {
        return Ok(refused(request, &begun.next, &language.c_stale_sign_in()));
    }
    if !came.error.is_empty() {
        let why = excerpt(&format!("{} {}", came.error, came.error_description));
        return Ok(failed(
            request,
            oidc,
            &begun.next,
            OidcFailure::Refused(why),
        ));
    }
    let (until, nonce, verifier) = (Timestamp::now() + WHOLE, begun.nonce, begun.verifier);
    let identify = move |oidc: &Oidc| oidc.identify(came.code, verifier, nonce, until);
    match oidc.ask(identify).await {
        Ok(person) => let_in(request, oidc, person, &begun.next).await,
        Err(failure) => Ok(failed(request, oidc, &begun.next, failure)),
    }
}

/// Whether a sign-in with this state has not ended before, on any server.
async fn is_first(request: &HttpRequest, state: &str) -> Result<bool, PageFailure> {
    let (console, inside) = shared(request);
    let state = Client::Key(blake3::hash(state.as_bytes()).to_string());
    let counted = inside.is_within(&console.ended, &state).await;
    counted.map_err(|problem| PageFailure::problem_of(request, problem))
}

/// Begins the session of somebody whom the provider has identified.
async fn let_in(
    request: &HttpRequest,
    oidc: &Oidc,
    person: Person,
    next: &str,
) -> Result<HttpResponse, PageFailure> {
    let (language, (_, inside)) = (preferred(request), shared(request));
    let name = clean(person.names.first().unwrap_or(&person.subject));
    let admitted = inside.ask(move |catalogue| catalogue.by(Actor::Local).keys().admit(&person));
    let admitted = admitted
        .await
        .map_err(|problem| PageFailure::problem_of(request, problem))?;
    let told = match admitted {
        Ok(key) => {
            let by = Insider::Key(key.id);
            return begin(request, by, arrived(language, next), oidc.has_tls()).await;
        }
        Err(NotAdmitted::NoGroup) => language.c_no_group(&clean(oidc.name()), &name),
        Err(NotAdmitted::NameTaken(key)) => language.c_name_taken(&clean(&key)),
    };
    Ok(refused(request, next, &told))
}

/// A page that leads to the next. The provider has led to it, and a browser would not send the session's cookie on a way that
/// began at another site.
fn arrived(language: Language, next: &str) -> HttpResponse {
    let link = html! { p { a class="button" href=(next) { (language.c_continue()) } } };
    let mut page = for_anyone(language, language.c_sign_in(), String::new(), &link);
    if let Ok(refresh) = HeaderValue::from_str(&format!("0;url={next}")) {
        page.headers_mut().insert(REFRESH, refresh);
    }
    page
}

/// The provider, unless nobody has to sign in.
fn offered(request: &HttpRequest) -> Result<Option<Arc<Oidc>>, PageFailure> {
    let (_, inside) = shared(request);
    let is_open = inside
        .is_open_to(request)
        .map_err(|problem| PageFailure::problem_of(request, problem))?;
    Ok(inside.oidc().filter(|_| !is_open).cloned())
}

/// The page for somebody whom the provider has not identified.
fn failed(request: &HttpRequest, oidc: &Oidc, next: &str, failure: OidcFailure) -> HttpResponse {
    let (language, provider) = (preferred(request), clean(oidc.name()));
    let (told, why) = match failure {
        OidcFailure::Silent(why) => (language.c_provider_silent(&provider), why),
        OidcFailure::Refused(why) => (language.c_provider_refused(&provider), why),
    };
    tracing::warn!("nobody could sign in with the identity provider: {why:?}");
    refused(request, next, &format!("{told} ({})", clean(&why)))
}
