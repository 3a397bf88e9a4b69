//! Many books in one request: `POST /v1/libraries/{library}/books`.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::json;
use utoipa::openapi::path::HttpMethod::Post;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::access::Needs::Ingest;
use super::books::entry_of;
use super::calls::{Call, TEXT, lines as json_lines};
use super::lines::{self, StreamLine};
use super::problem::Problem;
use super::{State, body, parameters};
use crate::api::{Added, FeedAnswer, FeedOutcome, NewBook, Outcome};
use crate::catalogue::{Editor, NewEntry};
use crate::error::ErrorCode;
use crate::index::{BookId, BookKey, Library, NAME_BYTES};

/// A line of the request, for the API description.
pub(super) struct Fed;

impl PartialSchema for Fed {
    fn schema() -> RefOr<Schema> {
        let id = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(NAME_BYTES))
            .pattern(Some(r"^[^\x00-\x1f\x7f-\x9f]+$"))
            .description(Some("The library's own id."));
        let mut line = lines::with_field::<NewBook>("A line of the request: a book with its id.", "id", id);
        line.required.push("id".to_owned());
        line.into()
    }
}

impl ToSchema for Fed {
    fn schemas(all: &mut Vec<(String, RefOr<Schema>)>) {
        NewBook::schemas(all);
    }
}

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Post, "/v1/libraries/{library}/books", Ingest, add)
            .named("add_books", "Add many books, one per line")
            .about(
                "A stream of any length, each line a JSON object. Results are sent in the order of the lines, each as \
                 soon as its book is on disk. The server stops reading the request while the client does not read the \
                 results. Sending the same feed again changes nothing, and its results say so.",
            )
            .takes([json_lines::<Fed>()
                .example(json!({ "id": "evenings/preface", "rights": "protected", "text": TEXT }).to_string() + "\n")])
            .answers(200, "One result per line", [json_lines::<FeedAnswer>()]),
    ]
}

async fn add(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let library = parameters::library(&request)?;
    parameters::none(request.query_string())?;
    lines::answer(&request, payload, &state, move |catalogue, lines, _| landed(catalogue, &library, lines))
}

fn landed(catalogue: &Editor<'_>, library: &Library, lines: Vec<StreamLine>) -> Vec<FeedAnswer> {
    let read: Vec<(u64, Option<String>, Result<NewEntry, Problem>)> =
        lines.into_par_iter().map(|line| read(library, line)).collect();
    let mut names = Vec::with_capacity(read.len());
    let mut refusals = Vec::new();
    let mut entries = Vec::new();
    for (line, id, entry) in read {
        names.push((line, id));
        match entry {
            Ok(entry) => {
                refusals.push(None);
                entries.push(entry);
            }
            Err(problem) => refusals.push(Some(problem)),
        }
    }
    let mut added = catalogue.add_some(entries).into_iter();
    let fates = refusals.into_iter().map(|refusal| match refusal {
        Some(problem) => Err(problem),
        None => match added.next() {
            Some(added) => added.map_err(Problem::from),
            None => Err(Problem::failed(ErrorCode::Internal, &"a book of a stream got no answer")),
        },
    });
    names.into_iter().zip(fates).map(|((line, id), fate)| answer(line, id, fate)).collect()
}

fn answer(line: u64, id: Option<String>, fate: Result<Added, Problem>) -> FeedAnswer {
    match fate {
        Ok(Added { outcome, book }) => {
            let outcome = match outcome {
                Outcome::Added => FeedOutcome::Added,
                Outcome::Replaced => FeedOutcome::Replaced,
                Outcome::Unchanged => FeedOutcome::Unchanged,
            };
            FeedAnswer { line, id, outcome, gems: book.gems.values().max().copied(), problem: None }
        }
        Err(problem) => {
            FeedAnswer { line, id, outcome: FeedOutcome::Refused, gems: None, problem: Some(problem.details()) }
        }
    }
}

fn read(library: &Library, line: StreamLine) -> (u64, Option<String>, Result<NewEntry, Problem>) {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let bytes = match line.content {
        Ok(bytes) => bytes,
        Err(problem) => return (line.number, None, Err(problem)),
    };
    // Even if the rest of the line is invalid.
    let named = serde_json::from_slice::<Named>(&bytes).ok().map(|named| named.id);
    let entry = || {
        let mut written: NewBook = body::json(&bytes)?;
        let id = written.id.take().ok_or_else(|| Problem::new(ErrorCode::BadJson, "the field 'id' is missing"))?;
        entry_of(BookKey { library: library.clone(), id: BookId::try_from(id)? }, written)
    };
    (line.number, named.filter(|id| id.len() <= NAME_BYTES), entry())
}
