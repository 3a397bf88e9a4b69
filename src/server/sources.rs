//! Sources: defined, shown, run, tested and removed.
//!
//! A library's own key manages the sources of its libraries, and sees no others. What reaches the machine or its network
//! needs an administrator ([`Source::needs_administrator`]).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, rt};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::{Delete, Get, Patch, Post, Put};

use super::State;
use super::access::Needs::AnyIngest;
use super::access::{Guest, Visible, not_your_library};
use super::calls::{Call, json};
use super::problem::{Problem, overloaded};
use super::work::{Answer, work};
use super::{body, parameters};
use lapidary_catalogue::api::{
    self, SourceChange, SourceDefinition, SourceErrors, SourceRuns, SourceTest,
};
use lapidary_catalogue::{Catalogue, Editor};
use lapidary_common::error::ErrorCode;
use lapidary_harvest::{HarvestError, Source, Sources as _};
use lapidary_store::{BookId, Library, StoreError};

/// The default number of runs or errors per page.
const PAGE: usize = 100;
/// How many tests run at once: each has a thread, and a page in memory.
const MOST_TESTS: usize = 4;

pub(super) fn calls() -> Vec<Call> {
    let definition = json!({
        "kind": "opds", "address": "https://books.example/opds", "library": "theirs", "rights": "protected",
        "contact": "me@books.example", "every": "7d"
    });
    vec![
        Call::new(Get, "/v1/sources", AnyIngest, all)
            .named("sources", "List all sources and what they are doing")
            .about("An ingest key sees the sources of its libraries that it may manage, an admin key all.")
            .answers(200, "The sources, by name", [json::<api::Sources>()]),
        Call::new(Get, "/v1/sources/{source}", AnyIngest, one)
            .named("source", "Show a source and what it is doing")
            .answers(200, "The source", [json::<api::Source>()]),
        Call::new(Put, "/v1/sources/{source}", AnyIngest, put)
            .named("put_source", "Add a source, or replace its definition")
            .about(
                "Without `every`, it runs only when told to. A run that is under way goes on with the new definition. Paths, \
                 `allow_private`, `ignore_robots`, `credentials`, rates over 1 and more than 100,000 addresses of a run need an admin key. What \
                 an administrator defined, changed or paused, only an admin key changes.",
            )
            .takes([json::<SourceDefinition>().example(definition)])
            .answers(200, "It replaced one", [json::<api::Source>()])
            .answers(201, "It was added", [json::<api::Source>()]),
        Call::new(Patch, "/v1/sources/{source}", AnyIngest, change)
            .named("change_source", "Change a source: pause it, resume it, or change other parts of its definition")
            .takes([json::<SourceChange>().example(json!({ "paused": false }))])
            .answers(200, "The source", [json::<api::Source>()]),
        Call::new(Delete, "/v1/sources/{source}", AnyIngest, remove)
            .named("delete_source", "Remove a source and what is known of it; its books stay")
            .answers(204, "It was removed", []),
        Call::new(Post, "/v1/sources/{source}/run", AnyIngest, run)
            .named("run_source", "Run a source now, or go on with its run")
            .about("If it is running, nothing changes.")
            .answers(202, "The source", [json::<api::Source>()]),
        Call::new(Post, "/v1/sources/{source}/test", AnyIngest, test)
            .named("test_source", "Show the first ten books that a source lists; nothing is changed")
            .about("Takes at most 30 seconds. Each key runs one test at a time, all together four.")
            .answers(200, "The books, or what is wrong with the source", [json::<SourceTest>()]),
        Call::new(Get, "/v1/sources/{source}/runs", AnyIngest, runs)
            .named("source_runs", "List the runs of a source, one page at a time")
            .query::<WantedRuns>()
            .answers(200, "A page of runs, the newest first", [json::<SourceRuns>()]),
        Call::new(Get, "/v1/sources/{source}/errors", AnyIngest, errors)
            .named("source_errors", "List the addresses of a source that failed, one page at a time")
            .query::<WantedErrors>()
            .answers(200, "A page of addresses, with the reasons", [json::<SourceErrors>()]),
    ]
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct WantedRuns {
    /// `next` of the page before
    before: Option<u64>,
    /// The maximum number of runs
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct WantedErrors {
    /// The `next_cursor` of the previous page
    cursor: Option<String>,
    /// The maximum number of addresses
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The sources that a request may manage.
#[derive(Clone)]
struct Managed(Option<BTreeSet<Library>>);

impl Managed {
    fn by(request: &HttpRequest) -> Self {
        Self(Visible::to(request))
    }

    fn has(&self, source: &Source) -> bool {
        self.0.as_ref().is_none_or(|libraries| {
            libraries.contains(&source.library) && source.needs_administrator().is_none()
        })
    }

    /// Whether the request is an administrator's.
    fn is_administrator(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a source may be changed or removed: what an administrator defined, changed or paused stays as it is.
    fn may_change(&self, known: &Source) -> Result<(), Problem> {
        let is_paused = known.paused && known.paused_by_administrator;
        if self.is_administrator() || !(known.is_of_administrator() || is_paused) {
            return Ok(());
        }
        let what = if is_paused { "paused" } else { "defined" };
        let detail = format!("an administrator {what} this source; changing it needs an admin key");
        Err(Problem::new(ErrorCode::NotAllowed, detail))
    }

    /// Whether a source may be replaced or removed, at the moment when that is written.
    fn may_replace(&self, known: &Source) -> bool {
        self.has(known) && self.may_change(known).is_ok()
    }

    /// A source, if there is one that the request may manage. Of others, nothing is said.
    fn find(&self, catalogue: &Catalogue, name: &BookId) -> Result<Source, Problem> {
        let source = catalogue.source(name)?;
        if self.has(&source) {
            Ok(source)
        } else {
            Err(HarvestError::NoSuchSource(name.as_str().to_owned()).into())
        }
    }

    /// Whether a source may be defined like this.
    fn may_define(&self, source: &Source) -> Result<(), Problem> {
        let Some(libraries) = &self.0 else {
            return Ok(());
        };
        if !libraries.contains(&source.library) {
            return Err(not_your_library("this key"));
        }
        match source
            .needs_administrator()
            .or_else(|| source.asks_for_more())
        {
            None => Ok(()),
            Some(why) => Err(Problem::new(
                ErrorCode::NotAllowed,
                format!("this source needs an admin key: {why}"),
            )),
        }
    }
}

/// The name of the source in the path, and whether the request may manage it.
fn asked(request: &HttpRequest) -> Result<(BookId, Managed), Problem> {
    let name = parameters::segment(request, 3)?.into_owned().try_into()?;
    Ok((name, Managed::by(request)))
}

async fn all(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let managed = Managed::by(&request);
    work(&state, move |catalogue| {
        let sources = catalogue.shown_sources(&|source| managed.has(source))?;
        Answer::ok(&api::Sources { sources })
    })
    .await
}

async fn one(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let (name, managed) = asked(&request)?;
    work(&state, move |catalogue| {
        managed.find(catalogue, &name)?;
        Answer::ok(&catalogue.shown_source(&name)?)
    })
    .await
}

async fn put(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let (name, managed) = asked(&request)?;
    parameters::none(request.query_string())?;
    let definition: SourceDefinition = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        let by = catalogue.key().map(str::to_owned);
        let administrator = managed.is_administrator();
        let source = Source::try_from(definition)?.checked_for_server()?;
        let paused_by_administrator = administrator && source.paused;
        let source = Source {
            by,
            administrator,
            paused_by_administrator,
            ..source
        };
        managed.may_define(&source)?;
        let source = permitted(catalogue, source)?.checked_on_disk()?;
        if let Ok(known) = catalogue.source(&name)
            && managed.has(&known)
        {
            managed.may_change(&known)?;
        }
        let replaced = lapidary_harvest::set_source(catalogue, &name, &source, &|known| {
            managed.may_replace(known)
        })?;
        let status = if replaced {
            StatusCode::OK
        } else {
            StatusCode::CREATED
        };
        Answer::json(status, &catalogue.shown_source(&name)?)
    })
    .await
}

async fn change(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let (name, managed) = asked(&request)?;
    parameters::none(request.query_string())?;
    let changes: Map<String, Value> = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        let known = managed.find(catalogue, &name)?;
        managed.may_change(&known)?;
        let before = known.clone();
        let is_pause = changes.keys().all(|name| name == "paused");
        let mut source = known.changed(changes)?;
        source.paused_by_administrator = source.paused && managed.is_administrator();
        // What was defined on the server itself can be paused from elsewhere.
        if !is_pause {
            source = source.checked_for_server()?;
            managed.may_define(&source)?;
            if managed.is_administrator() {
                // Its books stay those of whoever defined it, who must be able to add them.
                source = permitted(&source.editor_of_definer(catalogue), source)?;
                source.changed_by_administrator = true;
            } else {
                source = permitted(catalogue, source)?;
                // Whoever changes what it reaches answers for it.
                source.by = catalogue.key().map(str::to_owned);
            }
            source = source.checked_on_disk()?;
        }
        match lapidary_harvest::set_source(catalogue, &name, &source, &|known| *known == before) {
            Err(HarvestError::NotYours(_)) => {
                return Err(StoreError::Changed(format!("the source '{name}'")).into());
            }
            replaced => replaced?,
        };
        Answer::ok(&catalogue.shown_source(&name)?)
    })
    .await
}

/// A source as the key may define it: with the gate that it requires.
fn permitted(catalogue: &Editor<'_>, source: Source) -> Result<Source, Problem> {
    catalogue.may_define(source.rights, source.validity.as_ref())?;
    Ok(Source {
        gated: source.gated || catalogue.must_gate()?,
        ..source
    })
}

async fn remove(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let (name, managed) = asked(&request)?;
    work(&state, move |catalogue| {
        managed.may_change(&managed.find(catalogue, &name)?)?;
        match lapidary_harvest::remove_source(catalogue, &name, &|known| managed.may_replace(known))
        {
            Ok(true) => Ok(Answer::done()),
            Ok(false) | Err(HarvestError::NotYours(_)) => {
                Err(HarvestError::NoSuchSource(name.as_str().to_owned()).into())
            }
            Err(error) => Err(error.into()),
        }
    })
    .await
}

async fn run(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let (name, managed) = asked(&request)?;
    work(&state, move |catalogue| {
        managed.find(catalogue, &name)?;
        lapidary_harvest::want_source(catalogue, &name)?;
        Answer::json(StatusCode::ACCEPTED, &catalogue.shown_source(&name)?)
    })
    .await
}

/// The tests of sources that are running, by whom.
#[derive(Default)]
pub(super) struct Tests(Mutex<Vec<Guest>>);

impl Tests {
    fn lock(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a test, unless this client runs one: so no key keeps others waiting.
    fn begin(self: &Arc<Self>, by: Guest) -> Result<Testing, Problem> {
        let mut running = self.lock();
        if running.contains(&by) {
            return Err(overloaded(
                "another test of a source with this key is running; try again in some seconds",
            ));
        }
        if running.len() >= MOST_TESTS {
            return Err(overloaded("others test sources; try again in some seconds"));
        }
        running.push(by.clone());
        Ok(Testing {
            tests: Arc::clone(self),
            by,
        })
    }
}

/// A test that is running, until dropped.
struct Testing {
    tests: Arc<Tests>,
    by: Guest,
}

impl Drop for Testing {
    fn drop(&mut self) {
        self.tests.lock().retain(|by| *by != self.by);
    }
}

/// A test waits for other people's servers, so it takes none of the threads that requests share.
async fn test(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let (name, managed) = asked(&request)?;
    let testing = state.tests.begin(Guest::of(&request))?;
    let catalogue = Arc::clone(&state.catalogue);
    let tested = rt::task::spawn_blocking(move || {
        let _testing = testing;
        managed.find(&catalogue, &name).map(|source| source.test())
    });
    let tested = tested
        .await
        .map_err(|error| Problem::failed(ErrorCode::Internal, &error))??;
    work(&state, move |_| Answer::ok(&tested)).await
}

async fn runs(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let (name, managed) = asked(&request)?;
    let WantedRuns { before, limit } =
        parameters::query(request.query_string(), "before and limit")?;
    let limit = parameters::limit(limit.unwrap_or(PAGE), 1)?;
    work(&state, move |catalogue| {
        managed.find(catalogue, &name)?;
        Answer::ok(&catalogue.source_runs(&name, before, limit)?)
    })
    .await
}

async fn errors(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let (name, managed) = asked(&request)?;
    let WantedErrors { cursor, limit } =
        parameters::query(request.query_string(), "cursor and limit")?;
    let limit = parameters::limit(limit.unwrap_or(PAGE), 1)?;
    work(&state, move |catalogue| {
        managed.find(catalogue, &name)?;
        Answer::ok(&catalogue.source_errors(&name, cursor.as_deref(), limit)?)
    })
    .await
}
