//! Filed checks as pages, with the passages of their texts while these are kept, or when they are sent again.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use utoipa::openapi::path::HttpMethod::{Get, Post};

use super::ServerState;
use super::access::{Needs, Visible};
use super::body::{self, Raw, RequestBody};
use super::calls::{Call, TEXT, file, form_of_file, text};
use super::language;
use super::memory::Room;
use super::operations::path;
use super::problem::Problem;
use super::report_page::{CheckStanding, ReportPage, ShownReport};
use super::requests::is_work_of;
use super::texts::{COPIES, fits};
use super::turns::Lane;
use super::work::{Answer, work_shared};
use lapidary_catalogue::api::{Decision, Filed};
use lapidary_catalogue::{Catalogue, CatalogueError, CheckedText, is_evidence};
use lapidary_common::error::ErrorCode;
use lapidary_extract::Whole;
use lapidary_operations::Session;
use lapidary_operations::decisions::ShowDecision;

const PATH: &str = "/v1/decisions/{decision}/page";
const PASSAGES: &str = "/v1/decisions/{decision}/passages";
/// The most memory that the headings of a text take.
const HEADINGS: usize = 4 << 20;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, PATH, Needs::Decisions, kept)
            .named("filed_page", "Show a filed check as a page")
            .about(
                "It is the page that `/v1/checks` answers with `Accept: text/html`. It has passages while the checked text \
                 is kept; that the text was read is then in the audit log.",
            )
            .answers(200, "The page", [text("text/html")]),
        Call::new(Get, PASSAGES, Needs::Decisions, passages)
            .named("filed_passages", "List the passages of a filed check")
            .about("One a line, with their words while the checked text is kept.")
            .answers(200, "The passages", [text("text/csv")]),
        Call::new(Post, PATH, Needs::Decisions, sent_again)
            .named(
                "filed_page_of_text",
                "Show a filed check as a page, with passages of its text",
            )
            .about(
                "For a text that is not kept. It must be the one that was checked, otherwise the answer is `other_text`. It \
                 is not kept now either.",
            )
            .takes([text("text/plain").example(TEXT), file(), form_of_file()])
            .answers(200, "The page", [text("text/html")]),
    ]
}

async fn kept(request: HttpRequest, state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    is_work_of(Lane::Heavy);
    let room = state.memory.room();
    show(request, state, TextOfCheck::Kept(room), Shape::Page).await
}

async fn passages(request: HttpRequest, state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    is_work_of(Lane::Heavy);
    let room = state.memory.room();
    show(request, state, TextOfCheck::Kept(room), Shape::Passages).await
}

async fn sent_again(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let body = body::json_or_raw(&request, payload, &state).await?;
    body::is_small_work_of(Lane::Heavy);
    let RequestBody::Raw(raw) = body else {
        return Err(Problem::new(
            ErrorCode::UnknownContentType,
            "this call takes the text or the file that was checked, not JSON",
        ));
    };
    show(request, state, TextOfCheck::Sent(raw), Shape::Page).await
}

async fn show(
    request: HttpRequest,
    state: Data<ServerState>,
    text: TextOfCheck,
    shape: Shape,
) -> Result<HttpResponse, Problem> {
    let id = path::<ShowDecision>(&request)?;
    let libraries = Visible::to(&request);
    let language = language::preferred(&request);
    let page = ReportPage::of(&request, language);
    let host = Data::clone(&state);
    work_shared(&state, move |catalogue, actor| {
        let session = Session::new(catalogue, actor, libraries, &**host);
        let entry = session.decisions().get(&id, session.viewer())?;
        let checked = text.of(&session, &entry)?;
        let decision = entry.decision_id.as_ref();
        let decision = decision
            .map(|decision| session.decisions().get(decision, session.viewer()))
            .transpose()?;
        let answer = shown(catalogue, entry, decision, checked, &page, shape)?;
        Ok(answer.in_language(language))
    })
    .await
}

/// A filed check with the decision about it, and its text as far as it is there.
pub(super) fn shown(
    catalogue: &Catalogue,
    entry: Decision,
    decision: Option<Decision>,
    (checked, mut room): (Option<CheckedText>, Room),
    page: &ReportPage,
    shape: Shape,
) -> Result<Answer, Problem> {
    let Decision {
        id,
        created_at: at,
        name,
        filed,
        state,
        matched_later,
        ..
    } = entry;
    let Some(Filed {
        mut report,
        book_digests: books,
        bytes,
        ..
    }) = filed
    else {
        return Err(CatalogueError::NoSuchDecision(id).into());
    };
    let headings = checked
        .as_ref()
        .map_or(&[][..], |checked| &checked.headings);
    let text = checked.as_ref().map(|checked| checked.text.as_str());
    report.locate_in(text, headings);
    let shown = ShownReport {
        name,
        text,
        headings,
        books: Some(&books),
        bytes: text.map(|text| text.len() as u64).or(bytes),
        at,
        standing: state.map(|state| CheckStanding {
            state,
            decision,
            later: matched_later,
        }),
        is_of_sender: false,
    };
    Ok(match shape {
        Shape::Page => Answer::page(page.render(catalogue, report, shown, &mut room)?),
        Shape::Passages => Answer::csv(page.passages(catalogue, report, &shown, &mut room)?),
    })
}

/// How a filed check is shown.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Page,
    Passages,
}

/// Where the text of a filed check is.
enum TextOfCheck {
    /// With the check, if it is kept.
    Kept(Room),
    /// It was sent again.
    Sent(Raw),
}

impl TextOfCheck {
    /// The text of this check, if it is there, with the memory that is reserved for it.
    fn of(
        self,
        session: &Session<'_>,
        entry: &Decision,
    ) -> Result<(Option<CheckedText>, Room), Problem> {
        match self {
            Self::Kept(room) => kept_text(entry, room, || {
                session.evidence().read(&entry.id, session.viewer())
            }),
            Self::Sent(raw) => {
                let (Whole { text, headings, .. }, room) = raw.text()?;
                is_evidence(&entry.digest, &text)?;
                Ok((Some(CheckedText { text, headings }), room))
            }
        }
    }
}

/// The kept text of a check, if it is kept and a single client may have that much memory, which is reserved.
pub(super) fn kept_text(
    entry: &Decision,
    mut room: Room,
    read: impl FnOnce() -> Result<Option<CheckedText>, CatalogueError>,
) -> Result<(Option<CheckedText>, Room), Problem> {
    let Some(kept) = entry.text else {
        return Ok((None, room));
    };
    let needed = COPIES.saturating_mul(kept.bytes as usize);
    if !fits(&mut room, needed.saturating_add(HEADINGS))? {
        return Ok((None, room));
    }
    Ok((read()?, room))
}
