//! Many books in one request: `POST /v1/libraries/{library}/books`.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use parking_lot::{Mutex, MutexGuard};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::json;
use utoipa::openapi::path::HttpMethod::Post;
use utoipa::openapi::schema::{ArrayBuilder, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::access::Needs::Ingest;
use super::body::Raw;
use super::books::{AddingParameters, entry_of};
use super::calls::{Call, TEXT, form_of_files, lines as json_lines};
use super::forms::{self, FormFile};
use super::gates::{GateRequest, Gates};
use super::lines::{self, StreamLine};
use super::memory::Room;
use super::problem::{Problem, excerpt};
use super::{ServerState, body, language, parameters};
use lapidary_catalogue::api::{AddOutcome, Added, FeedAnswer, FeedOutcome, NewBook};
use lapidary_catalogue::{Content, Editor, Gate, NewEntry};
use lapidary_common::error::ErrorCode;
use lapidary_extract::Extracted;
use lapidary_store::{BookId, BookKey, Library, NAME_BYTES, Rights};

/// A line of the request, for the API description.
pub(super) struct BatchBook;

impl PartialSchema for BatchBook {
    fn schema() -> RefOr<Schema> {
        let id = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(NAME_BYTES))
            .pattern(Some(r"^[^\x00-\x1f\x7f-\x9f]+$"))
            .description(Some("The library's own id."));
        let mut line = lines::with_field::<NewBook>(
            "A line of the request: a book with its id, and its text or its gems.",
            "id",
            id,
        );
        line.required.push("id".to_owned());
        line.properties.remove("url");
        let unless = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(["protected"]))
            .description(Some(
                "Refuse the book if the verdict of its check is this, or stricter.",
            ));
        let book = ObjectBuilder::new().schema_type(Type::String);
        let except = ArrayBuilder::new().items(book).description(Some(
            "With `unless`: books of the same library that do not count, by id; `same-library` for all of them.",
        ));
        line.properties
            .insert("unless".to_owned(), RefOr::T(unless.into()));
        line.properties
            .insert("except".to_owned(), RefOr::T(except.into()));
        line.into()
    }
}

impl ToSchema for BatchBook {
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
                 results. Sending the same feed again changes nothing, and its results say so. Or a form with up to 100 \
                 files: they are added after all have arrived, with their names without extensions as ids, and the \
                 results are numbered and named like the files.",
            )
            .query::<AboutFiles>()
            .query::<AddingParameters>()
            .takes([
                json_lines::<BatchBook>().example(
                    json!({ "id": "evenings/preface", "rights": "protected", "text": TEXT }).to_string() + "\n",
                ),
                form_of_files(),
            ])
            .answers(200, "One result per line", [json_lines::<FeedAnswer>()]),
    ]
}

/// The query of a form with books.
#[derive(Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct AboutFiles {
    /// With a form, where it is required: the rights in the books
    #[param(required = false)]
    rights: Rights,
    /// With a form: whether to remove print artifacts, such as running heads; the default depends on the recipe
    clean: Option<bool>,
    /// With a form: whether a book with gems can be replaced by one without gems, which checks cannot find
    #[serde(default)]
    #[param(required = false)]
    allow_empty: bool,
}

async fn add(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let (feed, others) = Feed::of(&request)?;
    let language = feed.gates.language;
    let mut response = if forms::is_form(&request) {
        add_files(&request, payload, &state, feed, &others).await?
    } else {
        parameters::none(&others)?;
        lines::answer(&request, payload, &state, move |catalogue, lines, room| {
            feed.landed(catalogue, lines, room)
        })?
    };
    language::say(language, response.headers_mut());
    Ok(response)
}

/// Where the books of a stream or a form go.
#[derive(Clone)]
pub(super) struct Feed {
    pub(super) library: Library,
    gates: Gates,
    /// The gate for books without their own.
    all: Option<Gate>,
    /// Whether the texts of all books are kept.
    keep_text: bool,
}

/// Adds the files of a form.
async fn add_files(
    request: &HttpRequest,
    payload: Payload,
    state: &Data<ServerState>,
    feed: Feed,
    parameters: &str,
) -> Result<HttpResponse, Problem> {
    let known = "rights (forbidden, protected, free, public_domain or unknown), clean, allow_empty and keep_text (true or false) with a form";
    let AboutFiles {
        rights,
        clean,
        allow_empty,
    } = parameters::query(parameters, known)?;
    forms::answer(request, payload, state, move |catalogue, file, memory| {
        let (line, name) = (file.number, file.name().map(ToOwned::to_owned));
        let id = id_of(&file);
        let fate = id.clone().and_then(|id| {
            let key = BookKey {
                library: feed.library.clone(),
                id,
            };
            let text = Content::Text {
                text: String::new(),
                clean,
            };
            let entry = NewEntry {
                allow_empty,
                ..NewEntry::new(key, rights, text)
            };
            feed.add_file(catalogue, file.raw?, entry, memory)
        });
        FeedAnswer {
            file: name,
            ..answer(line, id.ok().map(Into::into), fate)
        }
    })
    .await
}

/// The id of the book in a file: its name without the extension.
fn id_of(file: &FormFile) -> Result<BookId, Problem> {
    let id = id_of_file(file.name().ok_or_else(|| {
        Problem::new(
            ErrorCode::BadName,
            "the file has no name, and its name is the book's id",
        )
    })?);
    if file.before().any(|name| id_of_file(name) == id) {
        let detail = format!(
            "the form has an earlier file with the id '{}'; rename one of them",
            excerpt(&id)
        );
        return Err(Problem::new(ErrorCode::Duplicate, detail));
    }
    Ok(id.try_into()?)
}

/// The id of a book by the name of its file: without the extension.
pub(crate) fn id_of_file(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

impl Feed {
    /// Where the books of a request go, and the rest of its query.
    pub(super) fn of(request: &HttpRequest) -> Result<(Self, String), Problem> {
        let library = parameters::library(request)?;
        let GateRequest {
            unless,
            except,
            keep_text,
            others,
        } = GateRequest::in_query(request.query_string())?;
        let gates = Gates::of(request);
        let all = gates.of_line(unless, except)?;
        let feed = Self {
            library,
            gates,
            all,
            keep_text,
        };
        Ok((feed, others))
    }

    /// Adds the book in a file. `entry` is without its text; the file describes it as far as the entry does not.
    pub(super) fn add_file(
        &self,
        catalogue: &Editor<'_>,
        file: Raw,
        entry: NewEntry,
        memory: &Mutex<Room>,
    ) -> Result<Added, Problem> {
        let (
            Extracted {
                text,
                metadata,
                hidden,
                ..
            },
            mut room,
        ) = file.book()?;
        room.grow_to_add(&text, catalogue)?;
        let clean = match entry.content {
            Content::Text { clean, .. } => clean,
            Content::Gems(_) => None,
        };
        let entry = NewEntry {
            description: entry.description.or(metadata),
            content: Content::Text { text, clean },
            hidden,
            keep_text: self.keep_text,
            gate: self.all.clone(),
            ..entry
        };
        room.grow_beyond(&entry, catalogue)?;
        catalogue
            .books()
            .add(entry)
            .map_err(|error| fitting(Problem::of_book(error), memory))
    }

    fn landed(
        &self,
        catalogue: &Editor<'_>,
        lines: Vec<StreamLine>,
        room: &Mutex<Room>,
    ) -> Vec<FeedAnswer> {
        let read: Vec<(u64, Option<String>, Result<NewEntry, Problem>)> = lines
            .into_par_iter()
            .map(|line| self.read(catalogue, line, room))
            .collect();
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
        let mut added = catalogue.ingest().add_some(entries).into_iter();
        let fates = refusals.into_iter().map(|refusal| match refusal {
            Some(problem) => Err(problem),
            None => match added.next() {
                Some(added) => added.map_err(|error| fitting(Problem::of_book(error), room)),
                None => Err(Problem::failed(
                    ErrorCode::Internal,
                    &"a book of a stream got no answer",
                )),
            },
        });
        names
            .into_iter()
            .zip(fates)
            .map(|((line, id), fate)| answer(line, id, fate))
            .collect()
    }

    fn read(
        &self,
        catalogue: &Editor<'_>,
        line: StreamLine,
        room: &Mutex<Room>,
    ) -> (u64, Option<String>, Result<NewEntry, Problem>) {
        #[derive(Deserialize)]
        struct NamedFile {
            id: String,
        }
        let bytes = match line.content {
            Ok(bytes) => bytes,
            Err(problem) => return (line.number, None, Err(problem)),
        };
        // Even if the rest of the line is invalid.
        let named = serde_json::from_slice::<NamedFile>(&bytes)
            .ok()
            .map(|named| named.id);
        (
            line.number,
            named.filter(|id| id.len() <= NAME_BYTES),
            self.entry(catalogue, &bytes, room),
        )
    }

    fn entry(
        &self,
        catalogue: &Editor<'_>,
        bytes: &[u8],
        room: &Mutex<Room>,
    ) -> Result<NewEntry, Problem> {
        let mut written: NewBook = body::json(bytes)?;
        let id = written
            .id
            .take()
            .ok_or_else(|| Problem::new(ErrorCode::BadJson, "the field 'id' is missing"))?;
        let (unless, except) = (written.unless.take(), std::mem::take(&mut written.except));
        let gate = if unless.is_none() && except.is_empty() {
            self.all.clone()
        } else {
            self.gates.of_line(unless, except)?
        };
        let entry = entry_of(
            BookKey {
                library: self.library.clone(),
                id: BookId::try_from(id)?,
            },
            written,
        )?;
        let entry = NewEntry {
            gate,
            keep_text: entry.keep_text || self.keep_text,
            ..entry
        };
        locked(room).grow_beyond(&entry, catalogue)?;
        Ok(entry)
    }
}

/// A refusal, without its report if there is no memory for that.
fn fitting(problem: Problem, room: &Mutex<Room>) -> Problem {
    // The report itself, and its JSON form.
    match locked(room).grow(2 * problem.report_length()) {
        Ok(()) => problem,
        Err(_) => problem.without_report(),
    }
}

pub(super) fn locked(room: &Mutex<Room>) -> MutexGuard<'_, Room> {
    room.lock()
}

fn answer(line: u64, id: Option<String>, fate: Result<Added, Problem>) -> FeedAnswer {
    match fate {
        Ok(Added {
            outcome,
            book,
            hidden,
            restriction,
            coverage,
            matches,
            unless,
            ..
        }) => {
            let outcome = match outcome {
                AddOutcome::Added => FeedOutcome::Added,
                AddOutcome::Replaced => FeedOutcome::Replaced,
                AddOutcome::Unchanged => FeedOutcome::Unchanged,
            };
            let gems = book.gems.values().max().copied();
            FeedAnswer {
                line,
                file: None,
                id,
                outcome,
                gems,
                hidden,
                restriction,
                coverage,
                matches,
                unless,
                problem: None,
            }
        }
        Err(problem) => FeedAnswer {
            line,
            file: None,
            id,
            outcome: FeedOutcome::Refused,
            gems: None,
            hidden: None,
            restriction: None,
            coverage: None,
            matches: Vec::new(),
            unless: None,
            problem: Some(problem.details()),
        },
    }
}
