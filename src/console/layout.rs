//! What all pages have: head, navigation, headers, and how problems, times and terms look.

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, HeaderName,
    LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, html};

use super::assets::{self, HTMX, ICON, OWN, STYLE};
use super::failure::{PageFailure, problem as problem_of};
use super::tokens::TOKEN;
use super::visitor::{Visitor, Who};
use lapidary_catalogue::api::Key;
use lapidary_catalogue::api::Problem;
use lapidary_catalogue::permission::Permission;
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_report::{Outcome, clean, rights_word};
use lapidary_store::Rights;

/// Pages load nothing from elsewhere and run only the scripts of this program.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// What htmx may do: no code from attributes, no styles of its own, no copies of pages, and every answer is shown.
const HTMX_SETTINGS: &str = r#"{"allowEval":false,"includeIndicatorStyles":false,"historyCacheSize":0,"refreshOnHistoryMiss":true,"selfRequestsOnly":true,"responseHandling":[{"code":"204","swap":false},{"code":".*","swap":true}]}"#;

/// The start page of the documentation.
fn documentation(language: Language) -> &'static str {
    match language {
        Language::English => "/docs/",
        Language::Russian => "/docs/ru.html",
    }
}

/// The page that a visitor is on, in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Here {
    Check,
    Catalogue,
    Sources,
    Decisions,
    Jobs,
    Keys,
    Webhooks,
    Audit,
    Statistics,
    Sessions,
    Elsewhere,
}

impl Here {
    /// The pages that a visitor may see, with their addresses.
    fn of(visitor: &Visitor) -> Vec<(Self, &'static str, String)> {
        use Permission::{Administer, Check, Ingest, Review};
        let language = visitor.language();
        let all: [(_, _, _, &[Permission]); _] = [
            (Self::Check, "/console/check", language.c_check(), &[Check]),
            (
                Self::Decisions,
                "/console/decisions",
                language.c_decisions(),
                &[Check, Review],
            ),
            (
                Self::Catalogue,
                "/console/catalogue",
                language.c_catalogue(),
                &[Ingest],
            ),
            (
                Self::Sources,
                "/console/sources",
                language.c_sources(),
                &[Ingest],
            ),
            (
                Self::Jobs,
                "/console/jobs",
                language.c_jobs(),
                &[Administer],
            ),
            (
                Self::Webhooks,
                "/console/webhooks",
                language.c_webhooks(),
                &Permission::ALL,
            ),
            (
                Self::Statistics,
                "/console/statistics",
                language.c_statistics(),
                &[Administer],
            ),
            (
                Self::Audit,
                "/console/audit",
                language.c_audit(),
                &[Administer],
            ),
            (
                Self::Keys,
                "/console/keys",
                language.c_keys(),
                &[Administer],
            ),
        ];
        all.into_iter()
            .filter(|(.., any)| any.iter().any(|one| visitor.may(*one)))
            .map(|(here, path, name, _)| (here, path, name))
            .collect()
    }
}

/// A page.
pub(super) struct HtmlPage {
    here: Here,
    status: StatusCode,
    title: String,
    lead: String,
    /// Whether it has a report.
    has_report: bool,
    /// Whether its title is a heading, or the body has one.
    is_titled: bool,
}

impl HtmlPage {
    /// A page with this title, and a sentence on what it is for.
    pub(super) fn new(here: Here, title: String, lead: String) -> Self {
        Self {
            here,
            status: StatusCode::OK,
            title,
            lead,
            has_report: false,
            is_titled: true,
        }
    }

    pub(super) fn with_report(self) -> Self {
        Self {
            has_report: true,
            ..self
        }
    }

    pub(super) fn untitled(self) -> Self {
        Self {
            is_titled: false,
            ..self
        }
    }

    /// The page for a visitor.
    pub(super) fn show(&self, visitor: &Visitor, body: &Markup) -> HttpResponse {
        self.respond(visitor.language(), Some(visitor), body)
    }

    fn head(&self, language: Language) -> Markup {
        html! {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="htmx-config" content=(HTMX_SETTINGS);
                title { (clean(&self.title)) " · Lapidary" }
                link rel="icon" href=(ICON.path());
                link rel="stylesheet" href=(STYLE.path());
                @if self.has_report { link rel="stylesheet" href=(assets::of_reports(language).path()); }
                script src=(HTMX.path()) defer {}
                script src=(OWN.path()) defer {}
            }
        }
    }

    fn respond(
        &self,
        language: Language,
        visitor: Option<&Visitor>,
        body: &Markup,
    ) -> HttpResponse {
        let page = html! {
            (DOCTYPE)
            html lang=(language) {
                (self.head(language))
                body data-gone=(language.c_gone()) {
                    a class="skip" href="#main" { (language.c_skip()) }
                    (header(language, visitor, self.here))
                    main id="main" tabindex="-1" {
                        @if self.is_titled { h1 { (clean(&self.title)) } }
                        @if !self.lead.is_empty() { p class="lead" { (self.lead) } }
                        (body)
                    }
                    footer {
                        span { "Lapidary " (env!("CARGO_PKG_VERSION")) }
                        a href=(documentation(language)) { (language.c_documentation()) }
                        a href="/docs/api/" { (language.c_api()) }
                        @if visitor.is_some() { a href="/console/sessions" { (language.c_sessions()) } }
                    }
                    div id="told" role="alert" {}
                }
            }
        };
        let page = page.into_string();
        let body = match visitor {
            None => BoxBody::new(page),
            Some(visitor) => match visitor.inside().body(page) {
                Ok(body) => body,
                Err(refused) => return problem(language, None, &refused),
            },
        };
        headers(HttpResponse::build(self.status), language)
            .content_type("text/html; charset=utf-8")
            .body(body)
    }
}

fn headers(
    mut response: actix_web::HttpResponseBuilder,
    language: Language,
) -> actix_web::HttpResponseBuilder {
    response
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        // Forms say where they come from, but only to this server.
        .insert_header((REFERRER_POLICY, "same-origin"))
        .insert_header((OPENER_POLICY, "same-origin"))
        .insert_header((RESOURCE_POLICY, "same-origin"))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((VARY, "accept, accept-language, cookie"))
        .insert_header((CONTENT_LANGUAGE, language.tag()));
    response
}

fn header(language: Language, visitor: Option<&Visitor>, here: Here) -> Markup {
    html! {
        header {
            a class="brand" href="/" { img src=(ICON.path()) alt="" width="24" height="24"; "Lapidary" }
            @if let Some(visitor) = visitor {
                nav aria-label=(language.c_pages()) {
                    ul {
                        @for (page, path, name) in Here::of(visitor) {
                            li { a href=(path) aria-current=[(page == here).then_some("page")] { (name) } }
                        }
                    }
                }
                @match visitor.who() {
                    Who::Anyone => {}
                    Who::Local(_) => (sign_out(visitor, &language.c_local(), &language.c_permission_administer()))
                    Who::Key(key, _) => (sign_out(visitor, &clean(&key.name), &permissions(language, key)))
                }
            }
        }
    }
}

fn sign_out(visitor: &Visitor, name: &str, permissions: &str) -> Markup {
    let language = visitor.language();
    form_to(
        visitor,
        "/console/sign-out",
        "who",
        &html! {
            span { (name) " " small { (permissions) } }
            button type="submit" class="plain" { (language.c_sign_out()) }
        },
    )
}

/// A page for nobody in particular.
pub(super) fn for_anyone(
    language: Language,
    title: String,
    lead: String,
    body: &Markup,
) -> HttpResponse {
    HtmlPage::new(Here::Elsewhere, title, lead).respond(language, None, body)
}

/// A problem as a page.
pub(super) fn problem(
    language: Language,
    visitor: Option<&Visitor>,
    problem: &Problem,
) -> HttpResponse {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let page = HtmlPage::new(Here::Elsewhere, headline(language, status), String::new());
    HtmlPage {
        status,
        is_titled: false,
        ..page
    }
    .respond(language, visitor, &problem_part(language, problem))
}

/// A problem as a part of a page.
fn problem_part(language: Language, problem: &Problem) -> Markup {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    html! {
        section id="result" class="problem" role="alert" {
            h1 { (headline(language, status)) }
            p { (language.problem(&problem.code)) }
            p class="quiet" {
                (detail(&problem.detail)) @if !problem.detail.is_empty() { br; }
                code { (problem.code) } " · " (problem.status)
                @if let Some(id) = &problem.request_id { " · " code { (clean(id)) } }
            }
        }
    }
}

/// What exactly happened, which the API tells in English.
fn detail(words: &str) -> Markup {
    html! { span lang=[words.is_ascii().then_some("en")] { (clean(words)) } }
}

/// A problem in a cell of a table.
pub(super) fn problem_told(language: Language, problem: &Problem) -> Markup {
    failure_told(language, Some(&problem.code), &problem.detail)
}

/// What the code of a failure means, if it is known, and what exactly happened.
pub(super) fn failure_told(language: Language, code: Option<&str>, words: &str) -> Markup {
    html! {
        @if let Some(code) = code { (language.problem(code)) " " small { (detail(words)) } }
        @else { (detail(words)) }
    }
}

/// What a status means to people.
fn headline(language: Language, status: StatusCode) -> String {
    match status.as_u16() {
        401 => language.c_error_key(),
        403 => language.c_error_role(),
        404 => language.c_error_missing(),
        408 | 503 | 507 => language.c_error_busy(),
        409 => language.c_error_conflict(),
        413 => language.c_error_large(),
        415 => language.c_error_kind(),
        421 => language.c_error_host(),
        429 => language.c_error_often(),
        400..500 => language.c_error_input(),
        _ => language.c_error_server(),
    }
}

/// There is no such page.
pub(super) async fn nothing_here(request: HttpRequest) -> Result<HttpResponse, PageFailure> {
    let visitor = Visitor::of(&request).await?;
    let problem = problem_of(ErrorCode::NotFound, StatusCode::NOT_FOUND, String::new());
    Err(visitor.failed(problem))
}

pub(super) fn plain_not_found() -> HttpResponse {
    HttpResponse::NotFound()
        .content_type("text/plain; charset=utf-8")
        .body("not found\n")
}

/// A file that the browser saves.
pub(super) fn download(
    visitor: &Visitor,
    kind: &'static str,
    name: &str,
    content: impl Into<Vec<u8>>,
) -> Result<HttpResponse, PageFailure> {
    let body = visitor.inside().body(content);
    let attachment = format!("attachment; filename=\"{name}\"");
    Ok(HttpResponse::Ok()
        .content_type(kind)
        .insert_header((CONTENT_DISPOSITION, attachment))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(body.map_err(|problem| visitor.failed(problem))?))
}

/// Goes to another page after a form.
pub(super) fn see_other(path: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((LOCATION, path))
        .insert_header((CACHE_CONTROL, "no-store"))
        .finish()
}

/// The field of a form that proves that it is one of ours. It is the first one.
pub(super) fn token_field(visitor: &Visitor) -> Markup {
    html! { input type="hidden" name=(TOKEN) value=(visitor.token()); }
}

/// A form that changes something.
pub(super) fn form_to(visitor: &Visitor, path: &str, class: &str, body: &Markup) -> Markup {
    html! { form method="post" action=(path) class=(class) { (token_field(visitor)) (body) } }
}

/// A form of a single button that asks before it does something.
pub(super) fn button_to(visitor: &Visitor, path: &str, label: &str, sure: Option<&str>) -> Markup {
    html! {
        form method="post" action=(path) class="one" data-sure=[sure] {
            (token_field(visitor))
            button type="submit" class=(if sure.is_some() { "danger" } else { "" }) { (label) }
        }
    }
}

/// A time as people and programs read it.
pub(super) fn time(when: Timestamp) -> Markup {
    let shown = when
        .to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%d %H:%M UTC")
        .to_string();
    html! { time datetime=(when) { (shown) } }
}

/// What a key permits, in words.
pub(super) fn permissions(language: Language, key: &Key) -> String {
    if key.permits(Permission::Administer) {
        return language.c_permission_administer();
    }
    let permitted = Permission::ALL.into_iter().filter(|one| key.permits(*one));
    let words: Vec<String> = permitted.map(|one| permission(language, one)).collect();
    words.join(", ")
}

pub(super) fn permission(language: Language, permission: Permission) -> String {
    match permission {
        Permission::Check => language.c_permission_check(),
        Permission::Ingest => language.c_permission_ingest(),
        Permission::ReadTexts => language.c_permission_read_texts(),
        Permission::Follow => language.c_permission_follow(),
        Permission::Review => language.c_permission_review(),
        Permission::Ban => language.c_permission_ban(),
        Permission::Administer => language.c_permission_administer(),
    }
}

/// Rights, in colour.
pub(super) fn rights(language: Language, rights: Rights) -> Markup {
    html! { span class={"tag " (rights.as_str())} { (rights_word(language, rights)) } }
}

/// What became of a check, in colour.
pub(super) fn outcome(language: Language, outcome: Outcome) -> Markup {
    html! { span class={"tag " (outcome.class())} { (outcome.name(language)) } }
}

/// A text field that must be filled.
pub(super) fn required_field(name: &str, label: &str, longest: u32) -> Markup {
    html! {
        label for=(name) { (label) }
        input id=(name) name=(name) required maxlength=(longest) autocomplete="off";
    }
}

/// A text field that may stay empty.
pub(super) fn optional_field(
    name: &str,
    label: &str,
    longest: Option<u32>,
    example: Option<&str>,
) -> Markup {
    html! {
        label for=(name) { (label) }
        input id=(name) name=(name) maxlength=[longest] autocomplete="off" placeholder=[example];
    }
}

/// The link to the next page of a list.
pub(super) fn more(language: Language, href: &str) -> Markup {
    html! { p { a href=(href) { (language.c_more()) } } }
}

/// The button that sends a form.
pub(super) fn main_button(label: &str) -> Markup {
    html! { div class="buttons" { button type="submit" class="main" { (label) } } }
}

/// A choice of rights.
pub(super) fn choice_of_rights(language: Language, chosen: Rights) -> Markup {
    html! {
        select name="rights" id="rights" {
            @for one in Rights::ALL {
                option value=(one.as_str()) selected[one == chosen] {
                    (rights_word(language, one))
                }
            }
        }
    }
}

/// Words of a page that need explaining, with what they mean.
pub(super) fn terms<const N: usize>(language: Language, terms: [(String, String); N]) -> Markup {
    html! {
        details class="terms" {
            summary { (language.c_terms()) }
            dl { @for (term, meaning) in terms { dt { (term) } dd { (meaning) } } }
        }
    }
}

/// A table that scrolls by itself where the page is narrow.
pub(super) fn table(label: &str, heads: &[String], rows: &Markup) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(label) {
            table {
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { (rows) }
            }
        }
    }
}

/// A size in bytes as people read it.
pub(super) fn size(language: Language, bytes: u64) -> String {
    let units = language.c_units();
    let units: Vec<&str> = units.split(' ').collect();
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let places = usize::from(unit > 0 && value < 100.0);
    format!("{} {}", language.decimal(value, places), units[unit])
}

/// A form to search by a day, whose field has this name and this label, and by a book.
pub(super) fn search_by_book(
    language: Language,
    (name, label, day): (&str, &str, &str),
    library: &str,
    book: &str,
) -> Markup {
    html! {
        form method="get" class="card search" {
            div { label for=(name) { (label) } input type="date" id=(name) name=(name) value=(day); }
            div { label for="library" { (language.c_library()) } input type="search" id="library" name="library" value=(library); }
            div { label for="book" { (language.c_book()) } input type="search" id="book" name="book" value=(book); }
            button type="submit" class="main" { (language.c_search()) }
        }
    }
}
