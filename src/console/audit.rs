//! The audit log: who changed what, and when.

use actix_web::HttpResponse;
use actix_web::web::{self, Query, ServiceConfig};
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, more, rights, search_by_book, table, terms, time};
use super::visitor::{Visitor, path, with};
use lapidary_catalogue::api::{AuditEntry, AuditPage};
use lapidary_language::Language;
use lapidary_operations::audit::ShowAudit;
use lapidary_report::clean;
use lapidary_store::{Action, Amended, AuditedBook};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/audit", web::get().to(page));
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AuditSearch {
    from: String,
    since: String,
    library: String,
    book: String,
}

async fn page(visitor: Visitor, wanted: Query<AuditSearch>) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let AuditSearch {
        from,
        since,
        library,
        book,
    } = &*wanted;
    let of_book = [("library", library.trim()), ("book", book.trim())];
    let since_midnight = if since.is_empty() || !from.is_empty() {
        String::new()
    } else {
        format!("{since}T00:00:00Z")
    };
    let [of_library, of_id] = of_book;
    let asked = [
        ("cursor", from.as_str()),
        ("since", &since_midnight),
        of_library,
        of_id,
    ];
    let AuditPage {
        entries,
        next_cursor,
    } = visitor.list::<ShowAudit>(&[], &asked).await?;
    Ok(
        HtmlPage::new(Here::Audit, language.c_audit(), language.c_audit_lead()).show(
            &visitor,
            &html! {
                (search_by_book(language, ("since", &language.c_since(), since), library, book))
                @if entries.is_empty() { p { (language.c_nothing_found()) } }
                @else { (entries_table(language, &language.c_audit(), &entries)) }
                @if let Some(next) = next_cursor {
                    (more(language, &with(&format!("/console/audit?from={next}"), &of_book)))
                }
                (terms(language, [(language.c_who(), language.c_term_who_is())]))
            },
        ),
    )
}

pub(super) fn entries_table(language: Language, title: &str, entries: &[AuditEntry]) -> Markup {
    let heads = [
        language.head_when(),
        language.c_who(),
        language.c_what(),
        language.c_details(),
    ];
    let rows = html! {
        @for entry in entries {
            tr {
                td { (time(entry.created_at)) }
                td { (clean(&entry.actor)) }
                td { (what(language, &entry.action)) }
                td { (about(language, &entry.action)) }
            }
        }
    };
    table(title, &heads, &rows)
}

fn what(language: Language, action: &Action) -> String {
    match action {
        Action::Added(_) => language.c_did_add(),
        Action::Replaced(_) => language.c_did_replace(),
        Action::Removed(_) => language.c_did_remove(),
        Action::Amended(_) => language.c_did_amend(),
        Action::Setting { removed: false, .. } => language.c_did_set(),
        Action::Setting { removed: true, .. } => language.c_did_unset(),
        Action::KeyMade { .. } => language.c_did_make_key(),
        Action::KeyRevoked { .. } => language.c_did_revoke_key(),
        Action::QuotaReached { .. } => language.c_did_use_up_quota(),
        Action::SignedIn { .. } => language.c_did_sign_in(),
        Action::LibraryTrust { trusted: true, .. } => language.c_did_trust(),
        Action::LibraryTrust { trusted: false, .. } => language.c_did_distrust(),
        Action::Built { .. } => language.c_did_build(),
        Action::RecipeAdded { .. } => language.c_did_add_recipe(),
        Action::RecipeDefault { .. } => language.c_did_choose_recipe(),
        Action::RecipeDropped { .. } => language.c_did_drop_recipe(),
        Action::FoldsKept { kept: true } => language.c_did_keep_folds(),
        Action::FoldsKept { kept: false } => language.c_did_drop_folds(),
        Action::JobStarted { .. } => language.c_did_start_job(),
        Action::JobCancelled { .. } => language.c_did_cancel_job(),
        Action::JobEnded { .. } => language.c_did_end_job(),
        Action::SourceRun { error: None, .. } => language.c_did_end_run(),
        Action::SourceRun { error: Some(_), .. } => language.c_did_fail_run(),
        Action::Decided { .. } => language.c_did_decide(),
        Action::EvidenceRead { .. } => language.c_did_read_text(),
        Action::EvidenceExpired { .. } => language.c_did_expire_text(),
        Action::EvidenceDeleted { .. } => language.c_did_delete_text(),
        Action::WatchExpired { .. } => language.c_did_end_watch(),
    }
}

fn about(language: Language, action: &Action) -> Markup {
    match action {
        Action::Added(book) | Action::Replaced(book) | Action::Amended(book) => {
            about_book(language, book)
        }
        Action::Removed(book) => html! { (name(book)) " " (rights(language, book.rights)) },
        Action::Setting { kind, name, .. } => html! { (clean(kind)) " " (clean(name)) },
        Action::KeyMade { name, .. }
        | Action::KeyRevoked { name }
        | Action::QuotaReached { name }
        | Action::LibraryTrust { library: name, .. } => html! { (clean(name)) },
        Action::SignedIn { groups, .. } => html! { (clean(&groups.join(", "))) },
        Action::Built { books } => html! { (language.c_number_of_books(*books)) },
        Action::RecipeAdded { recipe }
        | Action::RecipeDefault { recipe }
        | Action::RecipeDropped { recipe } => {
            html! { (recipe.as_str()) }
        }
        Action::FoldsKept { .. } => html! {},
        Action::JobStarted { job, kind } => html! { (clean(kind)) " " (job) },
        Action::JobEnded { job, kind, state } => {
            html! { (clean(kind)) " " (job) " " (clean(state)) }
        }
        Action::SourceRun { source, error, .. } => html! {
            a href=(path("/console/sources", [source])) { (clean(source)) }
            @if let Some(error) = error { " " span lang="en" { (clean(error)) } }
        },
        Action::JobCancelled { job } => html! { (job) },
        Action::Decided { check, .. }
        | Action::EvidenceRead { check, .. }
        | Action::EvidenceExpired { check }
        | Action::EvidenceDeleted { check }
        | Action::WatchExpired { check } => {
            html! { a href=(path("/console/checks", [check])) { (clean(check)) } }
        }
    }
}

fn about_book(language: Language, book: &AuditedBook) -> Markup {
    html! {
        a href=(path("/console/books", [&book.library, &book.id])) { (name(book)) }
        " " (rights(language, book.rights))
        @for change in &book.changes { " " span class="tag" { (amended(language, *change)) } }
    }
}

fn name(book: &AuditedBook) -> String {
    clean(&format!("{}/{}", book.library, book.id))
}

fn amended(language: Language, change: Amended) -> String {
    match change {
        Amended::Disabled => language.c_did_disable(),
        Amended::Enabled => language.c_did_enable(),
        Amended::Removed => language.c_is_removed(),
        Amended::Restored => language.c_did_restore(),
        Amended::Noted => language.c_did_note(),
        Amended::NoteForgotten => language.c_did_unnote(),
        Amended::Rights => language.c_did_change_rights(),
        Amended::Validity => language.c_did_change_days(),
        Amended::Confirmed => language.c_did_confirm(),
        Amended::Described => language.c_did_describe(),
    }
}
