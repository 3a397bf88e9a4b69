//! Adds, shows and removes a single book.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use lapidary_gems::WrittenGem;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use utoipa::ToSchema;

use super::State;
use super::body::{self, AnyBytes, Body};
use super::memory::Room;
use super::parameters;
use super::problem::{Details, Problem, excerpt};
use super::work::{Answer, work};
use crate::catalogue::{Added, Content, NewEntry, Outcome};
use crate::extract::{Extracted, Metadata};
use crate::index::{BookKey, Record, Rights, Validity};
use crate::object;

#[utoipa::path(put, path = "/v1/libraries/{library}/books/{id}", tag = "books", operation_id = "put_book",
    summary = "Add or replace a book",
    description = "With a JSON body, all fields are in the body, and `allow_empty` is the only query parameter accepted. A replaced book stays disabled if it was, and keeps its note. Updates made to the book in the meantime are kept, too.",
    params(("library" = String, Path, description = "The library", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"), ("id" = String, Path, description = "The library's own id; slashes need no escaping", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"),
        ("rights" = Option<Rights>, Query, description = "With a raw body, where it is required: the rights in the book"),
        ("title" = Option<String>, Query, description = "With a raw body: the title"),
        ("author" = Option<Vec<String>>, Query, description = "With a raw body: an author; can be given several times"),
        ("language" = Option<String>, Query, description = "With a raw body: the language"),
        ("identifier" = Option<Vec<String>>, Query, description = "With a raw body: an ISBN or another identifier; can be given several times"),
        ("clean" = Option<bool>, Query, description = "With a raw body: whether to remove print artifacts, such as running heads; the default depends on the recipe"),
        ("allow_empty" = Option<bool>, Query, description = "Whether a book with gems can be replaced by one without gems, which checks cannot find")),
    request_body(content((Written = "application/json"), (inline(AnyBytes) = "text/plain"), (inline(AnyBytes) = "application/octet-stream"))),
    responses((status = 200, description = "The book already existed", body = Added), (status = 201, description = "The book was added", body = Added), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn put(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let parameters = request.query_string().to_owned();
    let body = body::json_or_raw(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        let (entry, mut room) = entry(key, body, &parameters)?;
        room.grow_for(entry.content.as_text(), catalogue)?;
        let added = catalogue.add(entry)?;
        let status = if added.outcome == Outcome::Added { StatusCode::CREATED } else { StatusCode::OK };
        Answer::json(status, &added)
    })
    .await
}

#[utoipa::path(get, path = "/v1/libraries/{library}/books/{id}", tag = "books", operation_id = "book", summary = "Show a book",
    params(("library" = String, Path, description = "The library", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"), ("id" = String, Path, description = "The library's own id; slashes need no escaping", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")),
    responses((status = 200, description = "The book's record", body = Record), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn get(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    work(&state, move |catalogue| match catalogue.book(&key)? {
        Some(record) => Answer::ok(&record),
        None => Err(no_such_book(&key)),
    })
    .await
}

#[utoipa::path(delete, path = "/v1/libraries/{library}/books/{id}", tag = "books", operation_id = "delete_book", summary = "Remove a book",
    params(("library" = String, Path, description = "The library", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"), ("id" = String, Path, description = "The library's own id; slashes need no escaping", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")),
    responses((status = 204, description = "It was removed"), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn delete(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    work(&state, move |catalogue| match catalogue.remove(std::slice::from_ref(&key))?.as_slice() {
        [true] => Ok(Answer::done()),
        _ => Err(no_such_book(&key)),
    })
    .await
}

/// The problem for an unknown book.
pub(super) fn no_such_book(key: &BookKey) -> Problem {
    let (library, id) = (excerpt(key.library.as_str()), excerpt(key.id.as_str()));
    Problem::missing("no_such_book", format!("library '{library}' has no book '{id}'"))
}

/// A book to add: exactly one of `text` and `gems`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewBook)]
pub(super) struct Written {
    /// The rights in the book.
    rights: Rights,
    /// The period in which its rights apply; by default always.
    #[serde(default, deserialize_with = "object::optional")]
    validity: Option<Validity>,
    /// The title, if known.
    title: Option<String>,
    /// The authors.
    #[serde(default)]
    authors: Vec<String>,
    /// The language as a BCP 47 tag, if known.
    language: Option<String>,
    /// ISBNs and other identifiers.
    #[serde(default)]
    identifiers: Vec<String>,
    /// Its text. Gems of every recipe of the catalogue are computed from it; the text itself is not stored.
    text: Option<String>,
    /// Whether to remove print artifacts from the text; the default depends on the recipe.
    clean: Option<bool>,
    /// Its gems, instead of a text.
    #[schema(max_items = 100_000)]
    gems: Option<Vec<WrittenGem>>,
    /// The recipe of `gems`.
    recipe: Option<String>,
    /// Whether a book with gems can be replaced by one without gems, which checks cannot find.
    #[serde(default)]
    allow_empty: bool,
    /// The library's own id, for a line of a stream. In a request for one book, the id is in the path.
    #[schema(ignore)]
    pub(super) id: Option<String>,
}

/// The query parameters allowed with a JSON body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Beside {
    #[serde(default)]
    allow_empty: bool,
}

fn entry(key: BookKey, body: Body, parameters: &str) -> Result<(NewEntry, Room), Problem> {
    Ok(match body {
        Body::Json(sent) => {
            let known = "allow_empty (true or false) beside a JSON body, where everything else stands in the body";
            let Beside { allow_empty } = parameters::query(parameters, known)?;
            let (written, room) = sent.json::<Written>()?;
            if written.id.is_some() {
                return Err(Problem::bad("bad_json", "the 'id' stands in the path; leave it out of the body"));
            }
            (entry_of(key, Written { allow_empty: written.allow_empty || allow_empty, ..written })?, room)
        }
        Body::Raw(raw) => {
            let about = About::parse(parameters)?;
            let (Extracted { text, metadata, .. }, room) = raw.book()?;
            let content = Content::Text { text, clean: about.clean };
            (about.or(metadata).entry(key, content), room)
        }
    })
}

/// Converts a request into a catalogue entry.
pub(super) fn entry_of(key: BookKey, written: Written) -> Result<NewEntry, Problem> {
    let Written {
        rights,
        validity,
        title,
        authors,
        language,
        identifiers,
        text,
        clean,
        gems,
        recipe,
        allow_empty,
        id: _,
    } = written;
    let content = match (text, gems, recipe) {
        (Some(text), None, None) => Content::Text { text, clean },
        (None, Some(_), _) if clean.is_some() => {
            return Err(Problem::bad("bad_json", "'clean' says how a text is read: leave it out with gems"));
        }
        (None, Some(gems), recipe) => Content::Gems { recipe: recipe.map(TryInto::try_into).transpose()?, gems },
        (Some(_), None, Some(_)) => {
            let detail =
                "a 'recipe' says what gems were made by; a text gets those of every recipe here, so leave it out";
            return Err(Problem::bad("bad_json", detail));
        }
        _ => return Err(Problem::bad("bad_json", "give exactly one of 'text' and 'gems'")),
    };
    Ok(About { rights, validity, title, authors, language, identifiers, clean, allow_empty }.entry(key, content))
}

/// A book's metadata.
struct About {
    rights: Rights,
    validity: Option<Validity>,
    title: Option<String>,
    authors: Vec<String>,
    language: Option<String>,
    identifiers: Vec<String>,
    clean: Option<bool>,
    allow_empty: bool,
}

impl About {
    fn parse(query: &str) -> Result<Self, Problem> {
        let known = "rights (protected, free, public_domain or unknown), title, author (once for each), language, \
                     identifier (once for each), clean and allow_empty (true or false)";
        let bad = |reason: String| Problem::bad("bad_query", format!("{}; this call takes {known}", excerpt(&reason)));
        let (mut rights, mut title, mut language, mut clean, mut allow_empty) = (None, None, None, None, None);
        let (mut authors, mut identifiers) = (Vec::new(), Vec::new());
        for (name, value) in parameters::query::<Vec<(String, String)>>(query, known)? {
            let once = match name.as_str() {
                "rights" => &mut rights,
                "title" => &mut title,
                "language" => &mut language,
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
                _ => return Err(bad(format!("unknown parameter '{name}'"))),
            };
            if once.replace(value).is_some() {
                return Err(bad(format!("'{name}' is given twice")));
            }
        }
        let rights = rights.ok_or_else(|| bad("'rights' is missing".to_owned()))?;
        let words = rights.as_str().into_deserializer();
        let rights = Rights::deserialize(words).map_err(|error: serde::de::value::Error| bad(error.to_string()))?;
        let flag = |name: &str, value: Option<String>| match value.as_deref() {
            None => Ok(None),
            Some("false") => Ok(Some(false)),
            Some("true") => Ok(Some(true)),
            Some(other) => Err(bad(format!("'{name}' is true or false, not '{other}'"))),
        };
        let (clean, allow_empty) = (flag("clean", clean)?, flag("allow_empty", allow_empty)?.unwrap_or_default());
        Ok(Self { rights, validity: None, title, authors, language, identifiers, clean, allow_empty })
    }

    /// Fills in missing metadata from the file.
    fn or(self, metadata: Metadata) -> Self {
        let (title, language) = (self.title.or(metadata.title), self.language.or(metadata.language));
        let authors = if self.authors.is_empty() { metadata.authors } else { self.authors };
        let identifiers = if self.identifiers.is_empty() { metadata.identifiers } else { self.identifiers };
        Self { title, authors, language, identifiers, ..self }
    }

    fn entry(self, key: BookKey, content: Content) -> NewEntry {
        let Self { rights, validity, title, authors, language, identifiers, allow_empty, .. } = self;
        NewEntry { key, rights, title, authors, language, identifiers, validity, content, allow_empty }
    }
}
