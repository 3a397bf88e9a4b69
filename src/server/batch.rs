//! Many checks in one request: `POST /v1/checks:batch`.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use parking_lot::Mutex;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::openapi::path::HttpMethod::Post;
use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::access::Needs;
use super::calls::{Call, TEXT, form_of_files, lines as json_lines};
use super::checks::{options_in, question, unfiled};
use super::lines::{self, StreamLine};
use super::memory::Room;
use super::problem::Problem;
use super::{ServerState, body, forms, language, parameters};
use lapidary_catalogue::api::{Check, CheckAnswer, CheckParameters, Report};
use lapidary_catalogue::{CheckOptions, Editor, Query};
use lapidary_common::error::ErrorCode;
use lapidary_extract::Whole;
use lapidary_language::Language;

/// The maximum number of lines per request.
const MOST_CHECKS: u64 = 10_000;
/// The maximum size of a `ref`, in bytes of JSON.
const REF_BYTES: usize = 1_000;

/// A line of the request, for the API description.
pub(super) struct BatchCheck;

impl PartialSchema for BatchCheck {
    fn schema() -> RefOr<Schema> {
        let mark = "A value of the client's choice, repeated in the answer.";
        let mark = ObjectBuilder::new()
            .schema_type(SchemaType::AnyValue)
            .description(Some(mark));
        lines::with_field::<Check>(
            "A line of the request: a check with an optional `ref`.",
            "ref",
            mark,
        )
        .into()
    }
}

impl ToSchema for BatchCheck {
    fn schemas(all: &mut Vec<(String, RefOr<Schema>)>) {
        Check::schemas(all);
    }
}

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Post, "/v1/checks:batch", Needs::Check, check)
            .named("check_batch", "Run many checks, one per line")
            .about(
                "Up to 10,000 lines, each a JSON object. Results are streamed in the order of the lines, while the \
                 request is still being sent. An invalid line gets a problem as its result and does not affect other \
                 lines. Or a form with up to 100 files: they are checked after all have arrived, and the results are \
                 numbered and named like the files.",
            )
            .query::<CheckParameters>()
            .takes([
                json_lines::<BatchCheck>().example(format!(
                    "{}\n{}\n",
                    json!({ "ref": "upload 1", "text": TEXT }),
                    json!({ "ref": "upload 2", "gems": [2_054_203_394, 772_109_542, 3_170_125_001_u32] })
                )),
                form_of_files(),
            ])
            .answers(200, "One result per line", [json_lines::<CheckAnswer>()]),
    ]
}

async fn check(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let language = language::preferred(&request);
    if forms::is_form(&request) {
        return check_files(&request, payload, &state, language).await;
    }
    parameters::none(request.query_string())?;
    let mut response = lines::answer(&request, payload, &state, move |catalogue, lines, room| {
        lines
            .into_par_iter()
            .map(|line| answered(catalogue, language, line, room))
            .collect::<Vec<_>>()
    })?;
    language::say(language, response.headers_mut());
    Ok(response)
}

/// Checks the files of a form.
async fn check_files(
    request: &HttpRequest,
    payload: Payload,
    state: &Data<ServerState>,
    language: Language,
) -> Result<HttpResponse, Problem> {
    let (options, clean) = options_in(request.query_string())?;
    let options = CheckOptions {
        language,
        ..unfiled(options)?
    };
    let mut response = forms::answer(request, payload, state, move |catalogue, file, room| {
        let (number, name) = (file.number, file.name().map(ToOwned::to_owned));
        let report = file.raw.and_then(|raw| {
            let (
                Whole {
                    text,
                    headings,
                    hidden,
                },
                mut room,
            ) = raw.text()?;
            room.grow_to_check(&text, catalogue)?;
            let query = Query::Text { text, clean };
            let options = catalogue.asking(CheckOptions {
                hidden,
                ..options.clone()
            })?;
            let mut report = catalogue.checks().report(&query, &options)?;
            report.locate_in(query.as_text(), &headings);
            Ok(report)
        });
        answer(number, name, None, report, room)
    })
    .await?;
    language::say(language, response.headers_mut());
    Ok(response)
}

fn answered(
    catalogue: &Editor<'_>,
    language: Language,
    line: StreamLine,
    room: &Mutex<Room>,
) -> CheckAnswer {
    let number = line.number;
    let (mark, report) = match line.content {
        _ if number > MOST_CHECKS => (None, Err(too_many())),
        Err(problem) => (None, Err(problem)),
        Ok(bytes) => match mark(&bytes) {
            Ok(mark) => (mark, checked(catalogue, language, &bytes)),
            Err(problem) => (None, Err(problem)),
        },
    };
    answer(number, None, mark, report, room)
}

fn answer(
    line: u64,
    file: Option<String>,
    mark: Option<Value>,
    report: Result<Report, Problem>,
    room: &Mutex<Room>,
) -> CheckAnswer {
    // The report itself, and its JSON form.
    let report = report.and_then(|report| {
        room.lock()
            .grow(2 * lapidary_catalogue::json::length(&report))?;
        Ok(report)
    });
    let (report, problem) = match report {
        Ok(report) => (Some(report), None),
        Err(problem) => (None, Some(problem.details())),
    };
    CheckAnswer {
        line,
        file,
        mark,
        report,
        problem,
    }
}

fn checked(catalogue: &Editor<'_>, language: Language, line: &[u8]) -> Result<Report, Problem> {
    let (query, options) = question(body::json(line)?)?;
    let mut options = catalogue.asking(unfiled(options)?)?;
    options.language = language;
    let mut report = catalogue.checks().report(&query, &options)?;
    report.locate_in(query.as_text(), &[]);
    Ok(report)
}

/// The `ref` of a line, even if the rest of the line is invalid.
fn mark(line: &[u8]) -> Result<Option<Value>, Problem> {
    #[derive(Deserialize)]
    struct Marked {
        #[serde(default, rename = "ref")]
        mark: Option<Value>,
    }
    body::measure(line)?;
    let mark = serde_json::from_slice::<Marked>(line)
        .ok()
        .and_then(|marked| marked.mark);
    match mark {
        Some(mark) if lapidary_catalogue::json::length(&mark) > REF_BYTES => Err(Problem::new(
            ErrorCode::BadRef,
            format!("'ref' may have at most {REF_BYTES} bytes of JSON"),
        )),
        mark => Ok(mark),
    }
}

fn too_many() -> Problem {
    let detail = format!(
        "a request may have at most {MOST_CHECKS} lines; send this line and the rest in another \
                          request"
    );
    Problem::new(ErrorCode::TooManyChecks, detail)
}
