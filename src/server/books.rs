//! Adds, shows, updates and removes a single book.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::Put;

use super::ServerState;
use super::access::Needs::Ingest;
use super::body::{self, Raw, RequestBody};
use super::calls::{Call, NOT_MODIFIED, TEXT, file, form_of_file, json, text};
use super::fetch;
use super::gates::{GateRequest, Gates};
use super::memory::Room;
use super::problem::Problem;
use super::turns::Lane;
use super::work::{Answer, work};
use super::{conditions, parameters};
use lapidary_catalogue::api::{AddOutcome, Added, Amendment, NewBook, Record, Unless};
use lapidary_catalogue::{BookGems, CatalogueError, Content, NewEntry};
use lapidary_common::description::{BadDate, Description, PartialDate};
use lapidary_common::error::ErrorCode;
use lapidary_extract::Extracted;
use lapidary_operations::books::{AmendBook, DeleteBook, ShowBook, ShowMatches, no_such_book};
use lapidary_store::{BookKey, Rights};

/// Why gems are refused with `keep_text`.
const KEEPS_GEMS: &str = "'keep_text' applies only to a text; leave it out with gems";

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::handled::<ShowBook, _, _>(get)
            .conditional()
            .answers(304, NOT_MODIFIED, []),
        Call::new(Put, "/v1/libraries/{library}/books/{id:.*}", Ingest, put)
            .named("put_book", "Add or replace a book")
            .about(
                "With a JSON body, all fields are in the body, only `allow_empty`, `keep_text`, `unless` and `except` are in the query. \
                 A replaced book stays disabled if it was, and keeps its note. Updates made to the book in the \
                 meantime are kept, too.",
            )
            .query::<About>()
            .query::<AddingParameters>()
            .takes([
                json::<NewBook>().example(json!({
                    "rights": "protected", "title": "Evenings on a Farm near Dikanka", "authors": ["N. Gogol"],
                    "language": "en", "text": TEXT
                })),
                text("text/plain").example(TEXT),
                file(),
                form_of_file(),
            ])
            .answers(200, "The book already existed", [json::<Added>()])
            .answers(201, "The book was added", [json::<Added>()])
            .conditional()
            .answers(409, "The book was refused (`matches`), or conflicts with what is there", [json::<lapidary_catalogue::api::Problem>()
                .with_type("application/problem+json")]),
        Call::handled::<AmendBook, _, _>(amend).conditional(),
        Call::of::<ShowMatches>(),
        Call::handled::<DeleteBook, _, _>(delete).conditional(),
    ]
}

async fn put(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let condition = conditions::of(request.headers())?;
    let parameters = request.query_string().to_owned();
    let body = body::json_or_raw(&request, payload, &state).await?;
    let fetched = fetch::named(&body, &request, &state).await?;
    let asked = GateRequest::in_query(&parameters)?;
    let gates = Gates::of(&request);
    let language = gates.language;
    let own_path = request.uri().path().to_owned();
    let gate = gates.gate(asked.unless, asked.except)?;
    if gate.is_some() {
        body::is_small_work_of(Lane::Gates);
    }
    work(&state, move |catalogue| {
        let (entry, mut room) = match fetched {
            Some((book, file)) => entry_of_file(key, book, file, &asked.others)?,
            None => entry(key, body, &asked.others)?,
        };
        let entry = NewEntry {
            gate,
            condition,
            keep_text: entry.keep_text || asked.keep_text,
            ..entry
        };
        if entry.keep_text && entry.content.as_text().is_none() {
            return Err(Problem::new(ErrorCode::BadQuery, KEEPS_GEMS));
        }
        if let Some(text) = entry.content.as_text() {
            room.grow_to_add(text, catalogue)?;
        }
        room.grow_beyond(&entry, catalogue)?;
        match catalogue.books().add(entry) {
            Err(error @ CatalogueError::Matches(_)) => {
                Ok(Answer::problem(&Problem::of_book(error))?.in_language(language))
            }
            added => Ok(answer(&added?)?.at(own_path)),
        }
    })
    .await
}

fn answer(added: &Added) -> Result<Answer, Problem> {
    let status = if added.outcome == AddOutcome::Added {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let tag = lapidary_store::Record::from(added.book.clone()).tag();
    Ok(Answer::json(status, added)?.of_version(tag))
}

async fn get(request: HttpRequest, state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let condition = conditions::of(request.headers())?;
    work(&state, move |catalogue| {
        let mut record = catalogue
            .books()
            .get(&key)?
            .ok_or_else(|| no_such_book(&key))?;
        if condition.finds(Some(&record)) && condition.excludes(Some(&record)) {
            return Ok(Answer::not_modified().of_version(record.tag()));
        }
        condition.holds(&key, Some(&record))?;
        let tag = record.tag();
        catalogue.hide_notes([&mut record.standing])?;
        in_version(record, tag)
    })
    .await
}

async fn amend(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    parameters::none(request.query_string())?;
    let condition = conditions::of(request.headers())?;
    let amendment: Amendment = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        let amended = catalogue.books().amend_if(&key, &amendment, &condition)?;
        shown(amended.ok_or_else(|| no_such_book(&key))?)
    })
    .await
}

async fn delete(request: HttpRequest, state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let condition = conditions::of(request.headers())?;
    work(&state, move |catalogue| {
        match catalogue
            .books()
            .remove_if(std::slice::from_ref(&key), &condition)?
            .as_slice()
        {
            [true] => Ok(Answer::done()),
            _ => Err(no_such_book(&key).into()),
        }
    })
    .await
}

/// A record, with the tag of its version.
fn shown(record: lapidary_store::Record) -> Result<Answer, Problem> {
    let tag = record.tag();
    in_version(record, tag)
}

fn in_version(record: lapidary_store::Record, tag: String) -> Result<Answer, Problem> {
    Ok(Answer::ok(&Record::from(record))?.of_version(tag))
}

/// The query parameters allowed with a JSON body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Beside {
    #[serde(default)]
    allow_empty: bool,
}

fn entry(key: BookKey, body: RequestBody, parameters: &str) -> Result<(NewEntry, Room), Problem> {
    Ok(match body {
        RequestBody::Json(sent) => {
            let beside = Beside::parse(parameters)?;
            let (written, room) = sent.json::<NewBook>()?;
            (entry_of(key, beside.with(written)?)?, room)
        }
        RequestBody::Raw(raw) => {
            let about = About::parse(parameters)?;
            let About {
                rights,
                title,
                authors,
                language,
                identifiers,
                published,
                clean,
                allow_empty,
            } = about;
            let (
                Extracted {
                    text,
                    metadata,
                    hidden,
                    ..
                },
                room,
            ) = raw.book()?;
            let description = Description {
                title,
                authors,
                language,
                identifiers,
                published,
            }
            .or(metadata);
            let content = Content::Text { text, clean };
            (
                NewEntry {
                    description,
                    hidden,
                    allow_empty,
                    ..NewEntry::new(key, rights, content)
                },
                room,
            )
        }
    })
}

/// The book of a request, whose body names the file.
fn entry_of_file(
    key: BookKey,
    book: NewBook,
    file: Raw,
    parameters: &str,
) -> Result<(NewEntry, Room), Problem> {
    let book = Beside::parse(parameters)?.with(book)?;
    let (extracted, room) = file.book()?;
    let Extracted {
        text,
        metadata,
        hidden,
        ..
    } = extracted;
    let text = Some(text);
    let entry = entry_of(key, NewBook { text, ..book })?;
    let description = entry.description.or(metadata);
    let entry = NewEntry {
        description,
        hidden,
        ..entry
    };
    Ok((entry, room))
}

impl Beside {
    fn parse(query: &str) -> Result<Self, Problem> {
        let known = "allow_empty and keep_text (true or false), unless and except with a JSON body; all else is in the body";
        parameters::query(query, known)
    }

    /// The book that is alone in the body, with what the query says of it.
    fn with(self, written: NewBook) -> Result<NewBook, Problem> {
        if written.id.is_some() {
            return Err(Problem::new(
                ErrorCode::BadJson,
                "the id is in the path; leave 'id' out of the body",
            ));
        }
        if written.unless.is_some() || !written.except.is_empty() {
            let detail = "'unless' and 'except' are in the query; leave them out of the body";
            return Err(Problem::new(ErrorCode::BadJson, detail));
        }
        Ok(NewBook {
            allow_empty: written.allow_empty || self.allow_empty,
            ..written
        })
    }
}

/// Converts a request into a catalogue entry.
pub(super) fn entry_of(key: BookKey, mut written: NewBook) -> Result<NewEntry, Problem> {
    let description = written.take_description();
    if written.url.is_some() {
        let detail =
            "'url' is for a book that is added alone; send the text, or have a source fetch a list";
        return Err(Problem::new(ErrorCode::BadJson, detail));
    }
    let content = match (written.text, written.gems, written.recipe) {
        (Some(text), None, None) => Content::Text {
            text,
            clean: written.clean,
        },
        (None, Some(_), _) if written.clean.is_some() => {
            return Err(Problem::new(
                ErrorCode::BadJson,
                "'clean' applies only to a text; leave it out with gems",
            ));
        }
        (None, Some(_), _) if !written.hidden.is_empty() => {
            return Err(Problem::new(
                ErrorCode::BadJson,
                "'hidden' was left out of a text; leave it out with gems",
            ));
        }
        (None, Some(_), _) if written.keep_text => {
            return Err(Problem::new(ErrorCode::BadJson, KEEPS_GEMS));
        }
        (None, Some(gems), recipe) => Content::Gems(BookGems {
            recipe: recipe.map(TryInto::try_into).transpose()?,
            gems,
        }),
        (Some(_), None, Some(_)) => {
            let detail = "'recipe' applies only to gems; a text gets the gems of every recipe, so leave it out";
            return Err(Problem::new(ErrorCode::BadJson, detail));
        }
        _ => {
            return Err(Problem::new(
                ErrorCode::BadJson,
                "give exactly one of 'text', 'gems' and 'url'",
            ));
        }
    };
    let NewBook {
        rights,
        validity,
        hidden,
        allow_empty,
        keep_text,
        ..
    } = written;
    let hidden = hidden.into();
    Ok(NewEntry {
        description,
        validity,
        hidden,
        allow_empty,
        keep_text,
        ..NewEntry::new(key, rights, content)
    })
}

/// The parameters that all calls that add books take.
#[derive(IntoParams)]
#[allow(dead_code, reason = "only its description is used")]
pub(super) struct AddingParameters {
    /// Keep the text, so that reports can show it to keys with `read_texts`. Without this, a replaced book loses its kept
    /// text
    #[param(required = false)]
    keep_text: bool,
    /// Refuse the book with 409 `matches` if the verdict of its check is this, or stricter
    #[param(inline)]
    unless: Option<Unless>,
    /// With `unless`: a book of the same library that does not count, or `same-library` for all of them; can be given
    /// several times
    #[param(required = false)]
    except: Vec<String>,
}

/// A book's metadata. With a raw body, it is in the query.
#[derive(IntoParams)]
struct About {
    /// With a raw body or a form, where it is required: the rights in the book
    #[param(required = false)]
    rights: Rights,
    /// With a raw body or a form: the title
    title: Option<String>,
    /// With a raw body or a form: an author; can be given several times
    #[param(rename = "author", required = false)]
    authors: Vec<String>,
    /// With a raw body or a form: the language
    language: Option<String>,
    /// With a raw body or a form: an ISBN or another identifier; can be given several times
    #[param(rename = "identifier", required = false)]
    identifiers: Vec<String>,
    /// With a raw body or a form: when it was first published: a year, a month or a day, such as 1886-05
    #[param(inline)]
    published: Option<PartialDate>,
    /// With a raw body or a form: whether to remove print artifacts, such as running heads; the default depends on the recipe
    clean: Option<bool>,
    /// Whether a book with gems can be replaced by one without gems, which checks cannot find
    #[param(required = false)]
    allow_empty: bool,
}

/// The parameters of the call, for error messages.
const KNOWN: &str = "rights (forbidden, protected, free, public_domain or unknown), title, author (once for each), language, \
     identifier (once for each), published, clean, allow_empty and keep_text (true or false), unless and except";

impl About {
    fn parse(query: &str) -> Result<Self, Problem> {
        let (mut rights, mut title, mut language, mut published) = (None, None, None, None);
        let (mut clean, mut allow_empty) = (None, None);
        let (mut authors, mut identifiers) = (Vec::new(), Vec::new());
        for (name, value) in parameters::query::<Vec<(String, String)>>(query, KNOWN)? {
            let once = match name.as_str() {
                "rights" => &mut rights,
                "title" => &mut title,
                "language" => &mut language,
                "published" => &mut published,
                "clean" => &mut clean,
                "allow_empty" => &mut allow_empty,
                "author" => {
                    authors.push(value);
                    continue;
                }
                "identifier" => {
                    identifiers.push(value);
                    continue;
                }
                _ => return Err(bad(&format!("there is no parameter '{name}'"))),
            };
            if once.replace(value).is_some() {
                return Err(bad(&format!("'{name}' is given twice")));
            }
        }
        let rights = rights.ok_or_else(|| bad("'rights' is missing"))?;
        Ok(Self {
            rights: rights.parse().map_err(|why: String| bad(&why))?,
            title,
            authors,
            language,
            identifiers,
            published: published.as_deref().map(date).transpose()?,
            clean: flag("clean", clean.as_deref())?,
            allow_empty: flag("allow_empty", allow_empty.as_deref())?.unwrap_or_default(),
        })
    }
}

fn bad(reason: &str) -> Problem {
    parameters::bad(reason, KNOWN)
}

fn date(written: &str) -> Result<PartialDate, Problem> {
    written
        .parse()
        .map_err(|why: BadDate| bad(&why.to_string()))
}

fn flag(name: &str, value: Option<&str>) -> Result<Option<bool>, Problem> {
    match value {
        None => Ok(None),
        Some("false") => Ok(Some(false)),
        Some("true") => Ok(Some(true)),
        Some(other) => Err(bad(&format!(
            "'{name}' must be true or false, not '{other}'"
        ))),
    }
}
