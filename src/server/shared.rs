//! Filed checks as pages for whoever has a link, without a key.

use std::sync::Arc;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use lapidary_catalogue::permission::{Rate, Unit};
use lapidary_catalogue::{Catalogue, CatalogueError, Followed};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_report::notice_page;
use lapidary_store::Actor;
use utoipa::openapi::path::HttpMethod::Get;

use super::ServerState;
use super::access::{ClientLimit, Needs, too_many};
use super::calls::{Call, text};
use super::filed::{Shape, kept_text, shown};
use super::language;
use super::memory::Room;
use super::parameters;
use super::problem::Problem;
use super::report_page::ReportPage;
use super::requests::{caller, is_work_of};
use super::turns::{Client, Lane, Patience};
use super::work::{Answer, work_shared};

/// How often a link may be followed: each time may add an entry to the audit log.
const FOLLOWED: Rate = Rate {
    count: 60,
    per: Unit::Hour,
};

pub(super) fn limit() -> ClientLimit {
    ClientLimit::new("shared reports", FOLLOWED)
}

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/shared/{decision}/{secret}", Needs::Nothing, page)
            .named("shared_report", "Show a filed check by a link")
            .about(
                "No key is needed. It is the page that the maker of the link would get from `/v1/decisions/{decision}/page`, with \
                 texts of books only if the link permits that. That the text was read is in the audit log.",
            )
            .answers(200, "The page", [text("text/html")])
            .answers(404, "There is no such link, or not any more", [text("text/html")]),
    ]
}

async fn page(request: HttpRequest, state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    let check = parameters::segment(&request, 2)?.into_owned();
    let secret = parameters::segment(&request, 3)?.into_owned();
    let language = language::preferred(&request);
    let catalogue = Arc::clone(&state.catalogue);
    let of_check = check.clone();
    let follow = move || catalogue.report_links().follow(&of_check, &secret);
    let client = caller().client;
    let followed = state
        .turns
        .take(Lane::Reads, client, Patience::Refusable, follow)
        .await?;
    let followed = match followed {
        Err(CatalogueError::NoSuchLink) => return no_such_link(&state, language).await,
        followed => followed?,
    };
    let link = Client::Key(format!("link {}", followed.link));
    if let Some(wait) = state.links.count(&state.catalogue, &link).await? {
        let detail = format!("this link was followed more than {FOLLOWED}; wait");
        return Err(too_many(&detail, wait));
    }
    is_work_of(Lane::Heavy);
    let room = state.memory.room();
    work_shared(&state, move |catalogue, _| {
        let answer = shown_by(catalogue, &check, &followed, room, language)?;
        Ok(answer.of_secret_address().in_language(language))
    })
    .await
}

/// A filed check as a link shows it.
fn shown_by(
    catalogue: &Arc<Catalogue>,
    check: &str,
    followed: &Followed,
    room: Room,
    language: Language,
) -> Result<Answer, Problem> {
    let Followed {
        link,
        viewer,
        readable,
    } = followed;
    let (editor, viewer) = (catalogue.by(Actor::Anonymous), viewer.as_ref());
    let entry = editor.decisions().get(check, viewer)?;
    let checked = kept_text(&entry, room, || {
        editor
            .evidence()
            .read_through(Some(link), &entry.id, viewer)
    })?;
    let decision = entry.decision_id.as_ref();
    let decision = decision
        .map(|decision| editor.decisions().get(decision, viewer))
        .transpose()?;
    let page = ReportPage::of_link(readable.clone(), language);
    shown(catalogue, entry, decision, checked, &page, Shape::Page)
}

/// The page for a link that is not there, or not any more.
async fn no_such_link(
    state: &Data<ServerState>,
    language: Language,
) -> Result<HttpResponse, Problem> {
    work_shared(state, move |_, _| {
        let told = language.problem(ErrorCode::NoSuchLink.as_str());
        let page = Answer::page(notice_page(language, &told));
        Ok(page.missing().of_secret_address().in_language(language))
    })
    .await
}
