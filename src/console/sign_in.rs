//! Signing in with a key or a one-time link, signing out, and who else is signed in.

use std::time::Instant;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderValue, ORIGIN, SET_COOKIE, USER_AGENT};
use actix_web::web::{self, Form, Path, Query, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::{PageFailure, problem};
use super::layout::{Here, HtmlPage, button_to, for_anyone, see_other, time};
use super::oidc;
use super::sessions::WebSession;
use super::visitor::{Visitor, Who, cookie_named, shared, with};
use crate::server::inside::{Client, ClientLimit, Insider, is_from_own_page, is_here, of_address};
use crate::server::language::preferred;
use lapidary_catalogue::AccessDenied;
use lapidary_catalogue::api::Problem;
use lapidary_catalogue::permission::{Rate, Unit};
use lapidary_common::error::ErrorCode;
use lapidary_report::clean;

/// The cookie of a session.
const COOKIE: &str = "lapidary";
const STRICT: &str = "; SameSite=Strict";
/// Where it came over TLS, a browser keeps a cookie with such a name for this host alone.
const OF_HOST: &str = "__Host-";
/// How often a key may sign in, and how often an address may try to without one.
const ATTEMPTS: Rate = Rate {
    count: 20,
    per: Unit::Minute,
};

/// Attempts to sign in, by key or else by address.
pub(super) fn attempts() -> ClientLimit {
    ClientLimit::new("sign-ins", ATTEMPTS)
}

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/sign-in", web::get().to(page))
        .route("/sign-in", web::post().to(sign_in))
        .route("/open", web::get().to(open))
        .route("/sign-out", web::post().to(sign_out))
        .route("/sessions", web::get().to(sessions))
        .route("/sessions/{id}/end", web::post().to(end));
}

/// What the cookie of a session says.
pub(super) fn session_cookie(request: &HttpRequest, has_tls: bool) -> Option<&str> {
    cookie(request, COOKIE, has_tls)
}

/// What a cookie of a request says.
pub(super) fn cookie<'a>(request: &'a HttpRequest, name: &str, has_tls: bool) -> Option<&'a str> {
    cookie_named(request, &format!("{OF_HOST}{name}"))
        .or_else(|| cookie_named(request, name).filter(|_| !has_tls))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NextPage {
    pub(super) next: String,
    ended: bool,
}

async fn page(request: HttpRequest, query: Query<NextPage>) -> Result<HttpResponse, PageFailure> {
    let (_, inside) = shared(&request);
    if inside
        .is_open_to(&request)
        .map_err(|problem| PageFailure::problem_of(&request, problem))?
    {
        return Ok(see_other("/"));
    }
    let told = query.ended.then(|| preferred(&request).c_session_ended());
    Ok(form(&request, &query.next, told.as_deref()))
}

/// The page for signing in.
fn form(request: &HttpRequest, next: &str, told: Option<&str>) -> HttpResponse {
    let (language, (_, inside)) = (preferred(request), shared(request));
    let next = [("next", here(next))];
    let action = with("/console/sign-in", &next);
    for_anyone(
        language,
        language.c_sign_in(),
        language.c_sign_in_lead(),
        &html! {
            @if let Some(told) = told { p class="problem" role="alert" { (told) } }
            form method="post" action=(action) class="card narrow" {
                label for="key" { (language.c_key()) }
                input type="password" id="key" name="key" required autocomplete="current-password" spellcheck="false" autofocus;
                div class="buttons" {
                    button type="submit" class="main" { (language.c_sign_in()) }
                    @if let Some(oidc) = inside.oidc() {
                        a class="button" href=(with(oidc::BEGIN, &next)) { (language.c_sign_in_with(&clean(oidc.name()))) }
                    }
                }
                p class="quiet" { (language.c_sign_in_no_key()) " " code { "lapidary keys add --data DIR --role admin NAME" } }
            }
        },
    )
}

/// A path of this server.
pub(super) fn here(next: &str) -> &str {
    // Addresses have no other characters, and neither has a header.
    let is_plain = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_here = is_plain && next.starts_with('/') && !next.starts_with("//");
    if is_here { next } else { "/" }
}

#[derive(Deserialize)]
struct Given {
    key: String,
}

async fn sign_in(
    request: HttpRequest,
    query: Query<NextPage>,
    given: Form<Given>,
) -> Result<HttpResponse, PageFailure> {
    let ((_, inside), language) = (shared(&request), preferred(&request));
    let failed = |problem: Box<Problem>| PageFailure::problem_of(&request, problem);
    if !is_from_own_page(request.headers()) {
        return Err(failed(
            problem(ErrorCode::CrossSite, StatusCode::FORBIDDEN, String::new()).into(),
        ));
    }
    // A valid key opens a session, whatever others at its address have tried: its own attempts count for it alone. None can be
    // guessed: they are 256 random bits.
    let (who, key) = match inside.key_of(given.key.trim()).map_err(failed)? {
        Ok(key) => (Client::Key(key.name.clone()), Ok(key)),
        Err(denied) => (of_address(request.peer_addr()), Err(denied)),
    };
    count_attempt(&request, &who).await?;
    let told = match key {
        Ok(key) => {
            let (by, page) = (Insider::Key(key.id.clone()), see_other(here(&query.next)));
            return begin(&request, by, page, is_secure(&request)).await;
        }
        Err(AccessDenied::Unknown) => language.c_unknown_key(),
        Err(AccessDenied::Expired) => language.c_expired_key(),
    };
    Ok(refused(&request, &query.next, &told))
}

/// The page for signing in again, with why that failed.
pub(super) fn refused(request: &HttpRequest, next: &str, told: &str) -> HttpResponse {
    let mut page = form(request, next, Some(told));
    *page.status_mut() = StatusCode::FORBIDDEN;
    page
}

/// Counts an attempt to sign in.
///
/// # Errors
/// If there were too many.
pub(super) async fn count_attempt(request: &HttpRequest, who: &Client) -> Result<(), PageFailure> {
    let (console, inside) = shared(request);
    let failed = |problem: Box<Problem>| PageFailure::problem_of(request, problem);
    let counted = inside.is_within(&console.attempts, who).await;
    if counted.map_err(failed)? {
        return Ok(());
    }
    let (status, detail) = (
        StatusCode::TOO_MANY_REQUESTS,
        preferred(request).c_too_many_attempts(),
    );
    Err(failed(
        problem(ErrorCode::TooManyRequests, status, detail).into(),
    ))
}

#[derive(Deserialize)]
struct SignInLink {
    link: String,
}

async fn open(request: HttpRequest, link: Query<SignInLink>) -> Result<HttpResponse, PageFailure> {
    let (console, inside) = shared(&request);
    let failed = |problem| PageFailure::problem_of(&request, problem);
    inside.approve(request.headers()).map_err(failed)?;
    if is_here(request.peer_addr()) && console.links.take(&link.link, Instant::now()) {
        return begin(
            &request,
            Insider::Local,
            see_other("/"),
            is_secure(&request),
        )
        .await;
    }
    if inside.is_open_to(&request).map_err(failed)? {
        return Ok(see_other("/"));
    }
    Ok(form(
        &request,
        "/",
        Some(&preferred(&request).c_used_link()),
    ))
}

/// Begins a session, whose cookie goes with this page.
pub(super) async fn begin(
    request: &HttpRequest,
    by: Insider,
    mut page: HttpResponse,
    is_secure: bool,
) -> Result<HttpResponse, PageFailure> {
    let (console, inside) = shared(request);
    let browser = request
        .headers()
        .get(USER_AGENT)
        .and_then(|name| name.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let from = request.peer_addr().map(|peer| peer.ip());
    let before = session_cookie(request, inside.has_tls()).map(ToOwned::to_owned);
    let begun = inside.ask(move |catalogue| {
        let (sessions, now) = (&console.sessions, Timestamp::now());
        // The session that the browser had before is over.
        let before = before
            .map(|cookie| sessions.of(catalogue, &cookie, false, now))
            .transpose();
        if let Ok(Some(Some(before))) = before {
            sessions.end(catalogue, |session| session.id == before.id)?;
        }
        Ok(sessions.begin(catalogue, by, from, &browser, now))
    });
    let cookie = begun
        .await
        .map_err(|problem| PageFailure::problem_of(request, problem))?;
    set_cookie(&mut page, COOKIE, &cookie, is_secure, STRICT);
    Ok(page)
}

/// The page came over TLS, be it from this server or from a proxy before it.
fn is_secure(request: &HttpRequest) -> bool {
    let origin = request
        .headers()
        .get(ORIGIN)
        .map(HeaderValue::as_bytes)
        .unwrap_or_default();
    shared(request).1.has_tls() || origin.starts_with(b"https://")
}

/// Sets a cookie that no script reads.
pub(super) fn set_cookie(
    response: &mut HttpResponse,
    name: &str,
    value: &str,
    is_secure: bool,
    attributes: &str,
) {
    let (of, secure) = if is_secure {
        (OF_HOST, "; Secure")
    } else {
        ("", "")
    };
    let cookie = format!("{of}{name}={value}; Path=/; HttpOnly{attributes}{secure}");
    if let Ok(cookie) = cookie.try_into() {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

async fn sign_out(visitor: Visitor) -> Result<HttpResponse, PageFailure> {
    if let Who::Local(session) | Who::Key(_, session) = visitor.who() {
        let id = session.id.clone();
        visitor
            .sessions(move |sessions, catalogue| sessions.end(catalogue, |other| other.id == id))
            .await?;
    }
    let mut response = see_other("/console/sign-in");
    let attributes = format!("{STRICT}; Max-Age=0");
    set_cookie(
        &mut response,
        COOKIE,
        "",
        is_secure(visitor.request()),
        &attributes,
    );
    Ok(response)
}

/// Whether a visitor may see a session: administrators see all, others their own key's.
fn seen_by(visitor: &Visitor) -> impl Fn(&WebSession) -> bool + Send + 'static {
    let own = match visitor.who() {
        Who::Key(key, _) if !visitor.is_admin() => Some(Insider::Key(key.id.clone())),
        _ => None,
    };
    move |session| own.as_ref().is_none_or(|own| session.by == *own)
}

async fn sessions(visitor: Visitor) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let own = match visitor.who() {
        Who::Anyone => None,
        Who::Local(session) | Who::Key(_, session) => Some(session.id.clone()),
    };
    let sees = seen_by(&visitor);
    let all = visitor
        .sessions(|sessions, catalogue| sessions.list(catalogue, sees, Timestamp::now()))
        .await?;
    let rows = html! {
        @for session in &all { (row(&visitor, session, own.as_ref() == Some(&session.id))?) }
    };
    let heads = [
        language.c_key(),
        language.c_since(),
        language.c_address(),
        language.c_browser(),
        language.c_actions(),
    ];
    let page = HtmlPage::new(
        Here::Sessions,
        language.c_sessions(),
        language.c_sessions_lead(),
    );
    Ok(page.show(
        &visitor,
        &html! {
            @if all.is_empty() { p { (language.c_no_sessions()) } }
            @else { (super::layout::table(&language.c_sessions(), &heads, &rows)) }
        },
    ))
}

fn row(visitor: &Visitor, session: &WebSession, is_own: bool) -> Result<Markup, PageFailure> {
    let language = visitor.language();
    Ok(html! {
        tr {
            td { (name(visitor, session)?) }
            td { (time(session.begun)) }
            td { @if let Some(from) = session.from { (from) } }
            td { (clean(&session.browser)) }
            td {
                @if is_own { (language.c_this_session()) }
                @else { (button_to(visitor, &format!("/console/sessions/{}/end", session.id), &language.c_end(), None)) }
            }
        }
    })
}

fn name(visitor: &Visitor, session: &WebSession) -> Result<Markup, PageFailure> {
    Ok(match &session.by {
        Insider::Key(id) => {
            let key = visitor
                .inside()
                .key(id)
                .map_err(|problem| visitor.failed(problem))?;
            html! { (clean(key.as_ref().map_or(id, |key| &key.name))) }
        }
        Insider::Local | Insider::Anyone => html! { (visitor.language().c_local()) },
    })
}

async fn end(visitor: Visitor, id: Path<String>) -> Result<HttpResponse, PageFailure> {
    let sees = seen_by(&visitor);
    visitor
        .sessions(move |sessions, catalogue| {
            sessions.end(catalogue, |session| session.id == *id && sees(session))
        })
        .await?;
    Ok(see_other("/console/sessions"))
}

#[cfg(test)]
mod tests {
    use super::here;

    #[test]
    fn nobody_is_led_elsewhere() {
        for path in ["/", "/console/check", "/console/books/a/b%2Fc?x=1"] {
            assert_eq!(here(path), path);
        }
        for path in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "evil",
            "/\n/evil",
            "javascript:x",
            "/\0x",
            "/я",
            "/ ",
        ] {
            assert_eq!(here(path), "/");
        }
    }
}
