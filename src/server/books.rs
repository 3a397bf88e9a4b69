//! One book: put in, shown, removed.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde::de::IntoDeserializer;

use super::State;
use super::body::{self, Body};
use super::parameters;
use super::problem::{Problem, excerpt};
use super::work::{Answer, work};
use crate::catalogue::{Content, NewEntry, Outcome};
use crate::fingerprint::Gem;
use crate::index::{BookKey, Rights};

/// `PUT /v1/libraries/{library}/books/{id}`
pub(super) async fn put(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let parameters = request.query_string().to_owned();
    let body = body::json_or_raw(&request, payload, state.max_body).await?;
    work(&state, move |catalogue| {
        let added = catalogue.add(entry(key, body, &parameters)?)?;
        let status = if added.outcome == Outcome::Added { StatusCode::CREATED } else { StatusCode::OK };
        Answer::json(status, &added)
    })
    .await
}

/// `GET /v1/libraries/{library}/books/{id}`
pub(super) async fn get(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    work(&state, move |catalogue| match catalogue.book(&key)? {
        Some(record) => Answer::ok(&record),
        None => Err(no_such_book(&key)),
    })
    .await
}

/// `DELETE /v1/libraries/{library}/books/{id}`
pub(super) async fn delete(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    work(&state, move |catalogue| match catalogue.remove(std::slice::from_ref(&key))?.as_slice() {
        [true] => Ok(Answer::done()),
        _ => Err(no_such_book(&key)),
    })
    .await
}

fn no_such_book(key: &BookKey) -> Problem {
    let (library, id) = (excerpt(key.library.as_str()), excerpt(key.id.as_str()));
    Problem::missing("no_such_book", format!("library '{library}' has no book '{id}'"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    rights: Rights,
    title: Option<String>,
    #[serde(default)]
    authors: Vec<String>,
    language: Option<String>,
    text: Option<String>,
    gems: Option<Vec<Gem>>,
    recipe: Option<String>,
}

fn entry(key: BookKey, body: Body, parameters: &str) -> Result<NewEntry, Problem> {
    let bytes = match body {
        Body::Json(bytes) => bytes,
        Body::Raw(raw) => {
            let about = About::parse(parameters)?;
            return Ok(about.entry(key, Content::Text(raw.text()?)));
        }
    };
    parameters::none(parameters)?;
    let Written { rights, title, authors, language, text, gems, recipe } = body::json(&bytes)?;
    let content = match (text, gems, recipe) {
        (Some(text), None, None) => Content::Text(text),
        (None, Some(gems), recipe) => Content::Gems { recipe: recipe.map(TryInto::try_into).transpose()?, gems },
        (Some(_), None, Some(_)) => {
            let detail =
                "a 'recipe' says what gems were made by; a text gets those of every recipe here, so leave it out";
            return Err(Problem::bad("bad_json", detail));
        }
        _ => return Err(Problem::bad("bad_json", "give exactly one of 'text' and 'gems'")),
    };
    Ok(About { rights, title, authors, language }.entry(key, content))
}

/// What is said of a book beside its content.
struct About {
    rights: Rights,
    title: Option<String>,
    authors: Vec<String>,
    language: Option<String>,
}

impl About {
    fn parse(query: &str) -> Result<Self, Problem> {
        let known = "rights (protected, free, public_domain or unknown), title, author (once for each) and language";
        let bad = |reason: String| Problem::bad("bad_query", format!("{}; this call takes {known}", excerpt(&reason)));
        let (mut rights, mut title, mut authors, mut language) = (None, None, Vec::new(), None);
        for (name, value) in parameters::query::<Vec<(String, String)>>(query, known)? {
            let once = match name.as_str() {
                "rights" => &mut rights,
                "title" => &mut title,
                "language" => &mut language,
                "author" => {
                    authors.push(value);
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
        Ok(Self { rights, title, authors, language })
    }

    fn entry(self, key: BookKey, content: Content) -> NewEntry {
        let Self { rights, title, authors, language } = self;
        NewEntry { key, rights, title, authors, language, content }
    }
}
