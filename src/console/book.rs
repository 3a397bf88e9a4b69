//! A book: its record, what it shares with others, its history, and what can be changed about it.

use actix_web::http::StatusCode;
use actix_web::web::{self, Form, Query, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use jiff::civil::Date;
use maud::{Markup, html};
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use super::audit;
use super::catalogue::{expired, to_library};
use super::failure::PageFailure;
use super::layout::{
    Here, HtmlPage, choice_of_rights, form_to, more, outcome, rights, see_other, size, terms, time,
};
use super::visitor::{Visitor, path, with};
use lapidary_catalogue::REMOVED_FOR;
use lapidary_catalogue::api::{Amendment, AuditPage, BookRef, NewAllowList, Record, Report};
use lapidary_common::description::{Description, PartialDate};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::allow::PutAllowList;
use lapidary_operations::audit::ShowAudit;
use lapidary_operations::books::{AmendBook, ShowBook, ShowMatches};
use lapidary_report::{CheckedReport, Outcome, PageTexts, clean, report_part, why_not_checked};
use lapidary_store::{Rights, Standing, Validity};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/books/{book:.*}", web::get().to(page))
        .route("/books/{book:.*}", web::post().to(change))
        .route("/matches/{book:.*}", web::get().to(matches));
}

/// The library and the id in the path, whose routing form is already partly decoded.
fn book_of(visitor: &Visitor, request: &HttpRequest) -> Result<[String; 2], PageFailure> {
    let mut segments = request
        .uri()
        .path()
        .splitn(5, '/')
        .skip(3)
        .map(|raw| percent_decode_str(raw).decode_utf8());
    if let (Some(Ok(library)), Some(Ok(id))) = (segments.next(), segments.next()) {
        return Ok([library.into_owned(), id.into_owned()]);
    }
    Err(visitor.problem(ErrorCode::NotFound, StatusCode::NOT_FOUND, ""))
}

/// What was just done to the book.
#[derive(Deserialize)]
struct JustDone {
    #[serde(default)]
    done: String,
}

async fn page(
    visitor: Visitor,
    request: HttpRequest,
    just: Query<JustDone>,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let [library, id] = book_of(&visitor, &request)?;
    let record = visitor.call::<ShowBook>(&[&library, &id], ()).await?;
    let matches = path("/console/matches", [&library, &id]);
    let title = record
        .description
        .title
        .clone()
        .unwrap_or_else(|| language.no_title());
    let shown = HtmlPage::new(Here::Catalogue, title, language.c_book_lead()).with_report();
    Ok(shown.show(
        &visitor,
        &html! {
            @if just.done == "disable" && record.standing.disabled_at.is_some() {
                div class="notice buttons" role="status" {
                    (language.c_now_disabled()) " " (one(&visitor, &record, "enable", &language.c_undo()))
                }
            }
            @match record.standing.removed_at {
                Some(since) => (removed(&visitor, &record, since)),
                None => {}
            }
            (facts(language, &record))
            @if record.standing.removed_at.is_none() { (changes(&visitor, &record)) }
            @if visitor.is_admin() {
                section hx-get=(matches) hx-trigger="load" hx-select="#shared" hx-swap="innerHTML" {
                    h2 { (language.c_shares()) }
                    p { a href=(matches) { (language.c_show()) } }
                }
                (history(&visitor, &record, &library, &id).await?)
            }
            (fingerprints(language, &record))
            (terms(language, [
                (language.c_rights(), language.c_term_rights_is()),
                (language.c_is_disabled(), language.c_term_disabled_is()),
                (language.c_allow(), language.c_term_allow_is()),
                (language.c_term_gem(), language.c_term_gem_is()),
            ]))
        },
    ))
}

/// That a book was removed, and how to take that back.
fn removed(visitor: &Visitor, record: &Record, since: Timestamp) -> Markup {
    let until = since.saturating_add(REMOVED_FOR).unwrap_or(Timestamp::MAX);
    let day = until.strftime("%Y-%m-%d").to_string();
    let language = visitor.language();
    html! {
        div class="notice buttons" role="status" {
            (language.c_now_removed(&day)) " " (one(visitor, record, "restore", &language.c_undo()))
        }
        p { (to_library(record.key.library.as_str())) }
    }
}

/// The facts about a book that decide whether it may be published, as a part of a list.
fn standing(language: Language, record: &Record) -> Markup {
    let standing = &record.standing;
    html! {
        dt { (language.c_rights()) }
        dd {
            (rights(language, record.rights))
            (expired(language, record))
            @if let Some(days) = &standing.validity {
                @if let Some(from) = days.from { " " (language.valid_from(&from.to_string())) }
                @if let Some(until) = days.until { " " (language.valid_until(&until.to_string())) }
                " " (language.c_otherwise()) " " (rights(language, days.otherwise))
            }
        }
        @if let Some(since) = standing.disabled_at { dt { (language.c_is_disabled()) } dd { (time(since)) } }
        @if standing.is_quarantined() { dt { (language.c_in_quarantine()) } dd { (language.informs_quarantined()) } }
        @if let Some(note) = &standing.note {
            dt { (language.c_note()) }
            dd { (clean(&note.text)) " " span class="quiet" { (time(note.created_at)) } }
        }
    }
}

fn facts(language: Language, record: &Record) -> Markup {
    let description = &record.description;
    html! {
        dl class="facts" {
            dt { (language.c_book()) } dd { (clean(record.key.library.as_str())) "/" (clean(record.key.id.as_str())) }
            @if !description.authors.is_empty() {
                dt { (language.c_authors()) } dd { (clean(&description.authors.join(", "))) }
            }
            @if let Some(date) = &description.published { dt { (language.c_published()) } dd { (date) } }
            @if let Some(tag) = &description.language { dt { (language.c_language()) } dd { (clean(tag)) } }
            @if !description.identifiers.is_empty() {
                dt { (language.c_identifier()) } dd { (clean(&description.identifiers.join(", "))) }
            }
            (standing(language, record))
            (content(language, record))
        }
    }
}

/// The facts about the book's text, as a part of a list.
fn content(language: Language, record: &Record) -> Markup {
    html! {
        dt { (language.c_length()) } dd { (size(language, record.bytes)) }
        dt { (language.c_kept_texts()) }
        dd { @if record.text_kept { (language.c_yes()) } @else { (language.c_no()) } }
        dt { (language.c_changed()) } dd { (time(record.changed_at)) }
    }
}

/// What is compared when texts are checked, for who looks for a fault.
fn fingerprints(language: Language, record: &Record) -> Markup {
    html! {
        details class="terms" {
            summary { (language.c_fingerprints()) }
            dl {
                @for (recipe, gems) in &record.gems {
                    dt { (recipe.as_str()) } dd { (language.gems((*gems).into())) }
                }
                dt { (language.c_digest()) } dd { code { (record.digest) } }
                @if let Some(digest) = &record.clean_digest {
                    dt { (language.c_clean_digest()) } dd { code { (digest) } }
                }
            }
        }
    }
}

fn place_of(record: &Record) -> String {
    let key = &record.key;
    path("/console/books", [key.library.as_str(), key.id.as_str()])
}

/// A form that changes the book. It sends what it is for.
fn form(visitor: &Visitor, record: &Record, what: &str, class: &str, fields: &Markup) -> Markup {
    let fields = html! { input type="hidden" name="what" value=(what); (fields) };
    form_to(visitor, &place_of(record), class, &fields)
}

fn one(visitor: &Visitor, record: &Record, what: &str, label: &str) -> Markup {
    let button = html! { button type="submit" { (label) } };
    form(visitor, record, what, "one", &button)
}

/// The forms that change the book.
fn changes(visitor: &Visitor, record: &Record) -> Markup {
    let language = visitor.language();
    html! {
        section {
            h2 { (language.c_change()) }
            div class="buttons" {
                @if record.standing.disabled_at.is_some() {
                    (one(visitor, record, "enable", &language.c_enable()))
                } @else {
                    (one(visitor, record, "disable", &language.c_disable()))
                }
                @if visitor.is_admin() && record.standing.is_quarantined() {
                    (one(visitor, record, "confirm", &language.c_confirm_book()))
                }
                @if visitor.is_admin() {
                    (one(visitor, record, "allow", &language.c_allow()))
                }
                (one(visitor, record, "remove", &language.c_remove()))
            }
            div class="three" {
                (form(visitor, record, "describe", "card", &description_fields(language, record)))
                (form(visitor, record, "rights", "card", &rights_fields(language, record)))
                (form(visitor, record, "note", "card", &note_fields(language, record)))
            }
        }
    }
}

fn description_fields(language: Language, record: &Record) -> Markup {
    let Description {
        title,
        authors,
        language: tag,
        identifiers,
        published,
    } = &record.description;
    html! {
        label for="title" { (language.c_title()) }
        input id="title" name="title" value=[title.as_deref()] autocomplete="off";
        label for="authors" { (language.c_authors_by_line()) }
        textarea id="authors" name="authors" rows="2" { (authors.join("\n")) }
        label for="language" { (language.c_language()) }
        input id="language" name="language" value=[tag.as_deref()] autocomplete="off";
        label for="identifiers" { (language.c_identifiers_by_line()) }
        textarea id="identifiers" name="identifiers" rows="2" { (identifiers.join("\n")) }
        label for="published" { (language.c_published()) }
        input id="published" name="published" value=[published.map(|date| date.to_string())] placeholder="1886-05"
            autocomplete="off";
        div class="buttons" { button type="submit" { (language.c_save()) } }
    }
}

fn rights_fields(language: Language, record: &Record) -> Markup {
    let days = record.standing.validity.as_ref();
    html! {
        label for="rights" { (language.c_rights()) }
        (choice_of_rights(language, record.rights))
        label for="from" { (language.c_from_day()) }
        input type="date" id="from" name="from" value=[shown_day(days.and_then(|days| days.from))];
        label for="until" { (language.c_until_day()) }
        input type="date" id="until" name="until" value=[shown_day(days.and_then(|days| days.until))];
        div class="buttons" { button type="submit" { (language.c_save()) } }
    }
}

fn note_fields(language: Language, record: &Record) -> Markup {
    let note = record.standing.note.as_ref();
    html! {
        label for="note" { (language.c_note()) }
        textarea id="note" name="note" rows="4" maxlength="4000" {
            @if let Some(note) = note { (note.text) }
        }
        div class="buttons" { button type="submit" { (language.c_save()) } }
    }
}

fn shown_day(date: Option<Date>) -> Option<String> {
    date.map(|date| date.to_string())
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BookChange {
    what: String,
    title: String,
    authors: String,
    language: String,
    identifiers: String,
    published: String,
    note: String,
    rights: Option<Rights>,
    from: String,
    until: String,
}

async fn change(
    visitor: Visitor,
    request: HttpRequest,
    sent: Form<BookChange>,
) -> Result<HttpResponse, PageFailure> {
    let [library, id] = book_of(&visitor, &request)?;
    let book: &[&str] = &[&library, &id];
    let amendment = match sent.what.as_str() {
        what @ ("disable" | "enable") => Amendment {
            disabled: Some(what == "disable"),
            ..Amendment::default()
        },
        what @ ("remove" | "restore") => Amendment {
            removed: Some(what == "remove"),
            ..Amendment::default()
        },
        "confirm" => Amendment {
            confirmed: Some(true),
            ..Amendment::default()
        },
        "note" => Amendment {
            note: Some(sent.note.clone()),
            ..Amendment::default()
        },
        "allow" => {
            let what = NewAllowList {
                book: Some(visitor.call::<ShowBook>(book, ()).await?.key),
                ..NewAllowList::default()
            };
            let name = format!("{library}/{id}");
            visitor.call::<PutAllowList>(&[&name], what).await?;
            return Ok(see_other("/console/webhooks#allow"));
        }
        "rights" => new_rights(&visitor, book, &sent).await?,
        "describe" => new_description(&visitor, &sent)?,
        other => return Err(bad(&visitor, &format!("{other:?} is no change of a book"))),
    };
    visitor.call::<AmendBook>(book, amendment).await?;
    let page = path("/console/books", [&library, &id]);
    let done = if sent.what == "disable" {
        "disable"
    } else {
        ""
    };
    Ok(see_other(&with(&page, &[("done", done)])))
}

fn new_description(visitor: &Visitor, sent: &BookChange) -> Result<Amendment, PageFailure> {
    let published = match sent.published.trim() {
        "" => None,
        written => match written.parse::<PartialDate>() {
            Ok(date) => Some(date),
            Err(error) => return Err(bad(visitor, &error.to_string())),
        },
    };
    Ok(Amendment {
        title: Some(sent.title.trim().to_owned()),
        authors: Some(filled_lines(&sent.authors)),
        language: Some(sent.language.trim().to_owned()),
        identifiers: Some(filled_lines(&sent.identifiers)),
        published: Some(published),
        ..Amendment::default()
    })
}

/// The lines of a field that are not blank.
fn filled_lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}

async fn new_rights(
    visitor: &Visitor,
    book: &[&str],
    sent: &BookChange,
) -> Result<Amendment, PageFailure> {
    let (from, until) = (day(visitor, &sent.from)?, day(visitor, &sent.until)?);
    // The form does not ask for the rights on other days: they stay.
    let record = visitor.call::<ShowBook>(book, ()).await?;
    let days = record.standing.validity;
    Ok(Amendment {
        rights: sent.rights,
        validity: Some(Validity {
            from,
            until,
            otherwise: days.map_or(Rights::Unknown, |days| days.otherwise),
        }),
        ..Amendment::default()
    })
}

fn bad(visitor: &Visitor, detail: &str) -> PageFailure {
    visitor.problem(ErrorCode::BadQuery, StatusCode::BAD_REQUEST, detail)
}

/// That a book shares nothing with others, or that it could not be compared.
fn nothing_shared(language: Language, report: &Report) -> Option<Markup> {
    let found = Outcome::of(report);
    if !report.matches.is_empty() {
        return None;
    }
    Some(html! {
        @if found.is_answer() { (language.c_shares_nothing()) }
        @else {
            (outcome(language, found)) @if let Some(why) = why_not_checked(language, report) { ": " (why) }
        }
    })
}

/// The report on what a book shares with others. `only`: the library whose books the reader may open, if not all.
fn shared_part(
    language: Language,
    name: &str,
    report: &Report,
    bytes: Option<u64>,
    only: Option<&str>,
) -> Markup {
    let checked = CheckedReport {
        name,
        report,
        bytes,
        texts: &PageTexts::default(),
        when: Timestamp::now(),
        standing: None,
        in_console: true,
        of_book: true,
        book_page: &|found| {
            let BookRef { library, id, .. } = &found.book;
            let is_opened = only.is_none_or(|only| only == library);
            is_opened.then(|| path("/console/books", [library, id]))
        },
    };
    report_part(language, &checked)
}

/// What the book shares with others.
async fn matches(visitor: Visitor, request: HttpRequest) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let [library, id] = book_of(&visitor, &request)?;
    let book: &[&str] = &[&library, &id];
    let record = visitor.call::<ShowBook>(book, ()).await?;
    let report = visitor.call::<ShowMatches>(book, ()).await?;
    let bytes = Some(record.bytes).filter(|bytes| *bytes > 0);
    let title = record.description.title;
    let title = title.unwrap_or_else(|| language.no_title());
    let nothing = nothing_shared(language, &report);
    let (name, own) = (title.clone(), library.clone());
    let only = (!visitor.is_admin()).then_some(own);
    let part =
        web::block(move || shared_part(language, &name, &report, bytes, only.as_deref())).await;
    let page = HtmlPage::new(Here::Catalogue, title, language.c_shares_lead()).with_report();
    Ok(page.show(
        &visitor,
        &html! {
            div id="shared" {
                h2 { (language.c_shares()) }
                @if let Some(nothing) = nothing { p { (nothing) } }
                @else { div class="report" { (part.unwrap_or_default()) } }
            }
            p { a href=(path("/console/books", [&library, &id])) { (language.c_book()) } }
        },
    ))
}

/// The times of those entries of the audit log that a book's record tells.
fn known_changes(record: &Record) -> impl Iterator<Item = Timestamp> {
    let Standing {
        disabled_at: disabled_since,
        note,
        amended_at: amended,
        ..
    } = &record.standing;
    let noted = note.as_ref().map(|note| note.created_at);
    let known = [Some(record.changed_at), *amended, *disabled_since, noted];
    known.into_iter().flatten()
}

/// What happened to the book, as far as the audit log tells.
async fn history(
    visitor: &Visitor,
    record: &Record,
    library: &str,
    id: &str,
) -> Result<Markup, PageFailure> {
    let language = visitor.language();
    let of_book = [("library", library), ("book", id)];
    let page = visitor.list::<ShowAudit>(&[], &of_book).await?;
    let AuditPage {
        mut entries,
        next_cursor,
    } = page;
    if next_cursor.is_some() {
        // The log is too long for one page; the record tells when some of its entries were written.
        for since in known_changes(record) {
            let since = since.to_string();
            let asked = [&of_book[..], &[("since", &since), ("limit", "1")]].concat();
            let page = visitor.list::<ShowAudit>(&[], &asked).await?;
            entries.extend(page.entries);
        }
        entries.sort_by_key(|entry| entry.number);
        entries.dedup_by_key(|entry| entry.number);
    }
    Ok(html! {
        section {
            h2 { (language.c_history()) }
            @if entries.is_empty() { p { (language.c_changed()) ": " (time(record.changed_at)) } }
            @else { (audit::entries_table(language, &language.c_history(), &entries)) }
            @if let Some(next) = next_cursor {
                (more(language, &with(&format!("/console/audit?from={next}"), &of_book)))
            }
        }
    })
}

fn day(visitor: &Visitor, written: &str) -> Result<Option<Date>, PageFailure> {
    if written.is_empty() {
        return Ok(None);
    }
    let day = written.parse().map(Some);
    day.map_err(|error: jiff::Error| bad(visitor, &error.to_string()))
}
