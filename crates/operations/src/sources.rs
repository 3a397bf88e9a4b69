//! Sources: defined, shown, run, tested and removed.
//!
//! A library's own key manages the sources of its libraries, and sees no others. What reaches the machine or its network
//! needs an administrator ([`Source::needs_administrator`]).

use std::cmp::Ordering;

use lapidary_catalogue::Editor;
use lapidary_catalogue::api::{
    self, SourceChange, SourceDefinition, SourceErrors, SourceRuns, SourceTest,
};
use lapidary_common::error::ErrorCode;
use lapidary_harvest::{
    HarvestError, Source, Sources as _, remove_source, set_source, want_source,
};
use lapidary_store::{BookId, StoreError, Table};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Done, Endpoint, Input, Needs, Operation, OperationError, PageQuery, SentAs, Session, Upserted,
    VersionOf, filled,
};

impl Session<'_> {
    fn is_administrator(&self) -> bool {
        self.libraries.is_none()
    }

    /// Whether the caller may manage a source.
    fn manages(&self, source: &Source) -> bool {
        self.libraries.as_ref().is_none_or(|libraries| {
            libraries.contains(&source.library) && source.needs_administrator().is_none()
        })
    }

    /// A source, if there is one that the caller may manage. Of others, nothing is said.
    fn managed(&self, name: &BookId) -> Result<Source, OperationError> {
        let source = self.source(name)?;
        if self.manages(&source) {
            return Ok(source);
        }
        Err(no_such_source(name))
    }

    /// Whether a source may be changed or removed: what an administrator defined, changed or paused stays as it is.
    fn may_change(&self, known: &Source) -> Result<(), OperationError> {
        let is_paused = known.paused && known.paused_by_administrator;
        if self.is_administrator() || !(known.is_of_administrator() || is_paused) {
            return Ok(());
        }
        let what = if is_paused { "paused" } else { "defined" };
        let detail = format!("an administrator {what} this source; changing it needs an admin key");
        Err(OperationError::refused(ErrorCode::NotAllowed, detail))
    }

    /// Whether a source may be replaced or removed, at the moment when that is written.
    fn may_replace(&self, known: &Source) -> bool {
        self.manages(known) && self.may_change(known).is_ok()
    }

    /// Whether a source may be defined like this.
    fn may_define_source(&self, source: &Source) -> Result<(), OperationError> {
        let Some(libraries) = &self.libraries else {
            return Ok(());
        };
        if !libraries.contains(&source.library) {
            return Err(OperationError::not_your_library());
        }
        let reason = source
            .needs_administrator()
            .or_else(|| source.asks_for_more());
        let Some(why) = reason else { return Ok(()) };
        let detail = format!("this source needs an admin key: {why}");
        Err(OperationError::refused(ErrorCode::NotAllowed, detail))
    }

    /// A source without what only a command on this machine may ask for.
    fn checked(&self, source: Source) -> Result<Source, HarvestError> {
        if self.host.is_server() {
            source.checked_for_server()
        } else {
            source.checked()
        }
    }
}

/// The version of the definition of a source that the caller may manage.
fn version(session: &Session<'_>, name: &BookId) -> Result<Option<String>, OperationError> {
    if session.managed(name).is_err() {
        return Ok(None);
    }
    session.version(Table::Sources, name.as_str())
}

fn no_such_source(name: &BookId) -> OperationError {
    HarvestError::NoSuchSource(name.as_str().to_owned()).into()
}

/// A source as the key may define it: with the gate that it requires.
fn permitted(editor: &Editor<'_>, source: Source) -> Result<Source, OperationError> {
    editor.may_define(source.rights, source.validity.as_ref())?;
    Ok(Source {
        gated: source.gated || editor.must_gate()?,
        ..source
    })
}

/// Lists all sources.
pub struct ListSources;

impl Operation for ListSources {
    type Path = ();
    type Input = PageQuery;
    type Answer = api::Sources;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/sources", Needs::AnyIngest)
        .named("sources", "List all sources and what they are doing")
        .about(
            "An ingest key sees the sources of its libraries that it may manage, an admin key all.",
        )
        .answers(&[(200, "A page of sources, by name")]);

    fn run(
        session: &Session<'_>,
        (): (),
        query: PageQuery,
    ) -> Result<api::Sources, OperationError> {
        let (cursor, limit) = (query.place::<BookId>()?, query.limit()?);
        let wanted = |name: &BookId, source: &Source| {
            session.manages(source) && cursor.as_ref().is_none_or(|cursor| name > cursor)
        };
        // One more tells whether others follow.
        let sources = session.shown_sources(&wanted, limit.saturating_add(1))?;
        let page = query.of(sources, |source| source.name.clone(), Ordering::Greater)?;
        Ok(page.into())
    }
}

/// Shows a source.
pub struct ShowSource;

impl Operation for ShowSource {
    type Path = BookId;
    type Input = ();
    type Answer = api::Source;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::get("/v1/sources/{source}", Needs::AnyIngest)
        .named("source", "Show a source and what it is doing")
        .answers(&[(200, "The source")]);

    fn run(session: &Session<'_>, name: BookId, (): ()) -> Result<api::Source, OperationError> {
        session.managed(&name)?;
        Ok(session.shown_source(&name)?)
    }
}

/// Adds a source, or replaces its definition.
pub struct PutSource;

impl Input for SourceDefinition {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({
            "kind": "opds", "url": "https://books.example/opds", "library": "theirs", "rights": "protected",
            "contact": "me@books.example", "interval_seconds": 604_800
        }))
    }
}

impl Operation for PutSource {
    type Path = BookId;
    type Input = SourceDefinition;
    type Answer = Upserted<api::Source>;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::put("/v1/sources/{source}", Needs::AnyIngest)
        .named("put_source", "Add a source, or replace its definition")
        .about(
            "Without `interval_seconds`, it runs only when told to. A run that is under way goes on with the new definition. Paths, \
             `allow_private`, `ignore_robots`, `credentials`, rates over 1 and more than 100,000 addresses of a run need an admin key. What \
             an administrator defined, changed or paused, only an admin key changes.",
        )
        .answers(&[(200, "It replaced one"), (201, "It was added")]);

    fn run(
        session: &Session<'_>,
        name: BookId,
        definition: SourceDefinition,
    ) -> Result<Upserted<api::Source>, OperationError> {
        let source = session.checked(Source::try_from(definition)?)?;
        let administrator = session.is_administrator();
        let source = Source {
            by: session.key().map(str::to_owned),
            administrator,
            paused_by_administrator: administrator && source.paused,
            ..source
        };
        session.may_define_source(&source)?;
        let source = permitted(session, source)?.checked_on_disk()?;
        if let Ok(known) = session.source(&name)
            && session.manages(&known)
        {
            session.may_change(&known)?;
        }
        let replaced = set_source(session, &name, &source, &|known| session.may_replace(known))?;
        Ok(Upserted {
            item: session.shown_source(&name)?,
            is_new: !replaced,
        })
    }
}

/// Changes parts of a source's definition.
pub struct ChangeSource;

/// Fields of a source's definition; those that are `null` are removed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceChanges(pub Map<String, Value>);

impl SourceChanges {
    /// Pauses the source, or lets it go on.
    #[must_use]
    pub fn paused(paused: bool) -> Self {
        Self(Map::from_iter([("paused".to_owned(), paused.into())]))
    }

    fn is_pause(&self) -> bool {
        self.0.keys().all(|name| name == "paused")
    }
}

impl Input for SourceChanges {
    fn sent_as() -> SentAs {
        SentAs::json::<SourceChange>(json!({ "paused": false }))
    }
}

impl Operation for ChangeSource {
    type Path = BookId;
    type Input = SourceChanges;
    type Answer = api::Source;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::patch("/v1/sources/{source}", Needs::AnyIngest)
        .named(
            "change_source",
            "Change a source: pause it, resume it, or change other parts of its definition",
        )
        .answers(&[(200, "The source")]);

    fn run(
        session: &Session<'_>,
        name: BookId,
        changes: SourceChanges,
    ) -> Result<api::Source, OperationError> {
        let known = session.managed(&name)?;
        session.may_change(&known)?;
        let is_pause = changes.is_pause();
        let mut source = known.clone().changed(changes.0)?;
        source.paused_by_administrator = source.paused && session.is_administrator();
        // What was defined on the server itself can be paused from elsewhere.
        if !is_pause {
            source = redefined(session, source)?;
        }
        match set_source(session, &name, &source, &|now| *now == known) {
            Err(HarvestError::NotYours(_)) => {
                Err(StoreError::Changed(format!("the source '{name}'")).into())
            }
            replaced => {
                replaced?;
                Ok(session.shown_source(&name)?)
            }
        }
    }
}

/// A source whose definition the caller has changed.
fn redefined(session: &Session<'_>, source: Source) -> Result<Source, OperationError> {
    let source = session.checked(source)?;
    session.may_define_source(&source)?;
    let source = if session.is_administrator() {
        // Its books stay those of whoever defined it, who must be able to add them.
        Source {
            changed_by_administrator: true,
            ..permitted(&source.editor_of_definer(session), source)?
        }
    } else {
        // Whoever changes what it reaches answers for it.
        Source {
            by: session.key().map(str::to_owned),
            ..permitted(session, source)?
        }
    };
    Ok(source.checked_on_disk()?)
}

/// Removes a source.
pub struct DeleteSource;

impl Operation for DeleteSource {
    type Path = BookId;
    type Input = ();
    type Answer = Done;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::delete("/v1/sources/{source}", Needs::AnyIngest)
        .named(
            "delete_source",
            "Remove a source and what is known of it; its books stay",
        )
        .answers(&[(204, "It was removed")]);

    fn run(session: &Session<'_>, name: BookId, (): ()) -> Result<Done, OperationError> {
        session.may_change(&session.managed(&name)?)?;
        match remove_source(session, &name, &|known| session.may_replace(known)) {
            Ok(true) => Ok(Done),
            Ok(false) | Err(HarvestError::NotYours(_)) => Err(no_such_source(&name)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Has a server run a source.
pub struct RunSource;

impl Operation for RunSource {
    type Path = BookId;
    type Input = ();
    type Answer = api::Source;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/sources/{source}/run", Needs::AnyIngest)
        .named("run_source", "Run a source now, or go on with its run")
        .about("If it is running, nothing changes.")
        .answers(&[(202, "The source")]);

    fn place(source: &api::Source) -> Option<String> {
        Some(filled(ShowSource::ENDPOINT.path, &[source.name.as_str()]))
    }

    fn run(session: &Session<'_>, name: BookId, (): ()) -> Result<api::Source, OperationError> {
        session.managed(&name)?;
        want_source(session, &name)?;
        Ok(session.shown_source(&name)?)
    }
}

/// Shows the first books that a source lists. It waits for other people's servers.
pub struct TestSource;

impl Operation for TestSource {
    type Path = BookId;
    type Input = ();
    type Answer = SourceTest;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/sources/{source}/test", Needs::AnyIngest)
        .named(
            "test_source",
            "Show the first ten books that a source lists; nothing is changed",
        )
        .about("Takes at most 30 seconds. Each key runs one test at a time, all together four.")
        .answers(&[(200, "The books, or what is wrong with the source")]);

    fn run(session: &Session<'_>, name: BookId, (): ()) -> Result<SourceTest, OperationError> {
        Ok(session.managed(&name)?.test())
    }
}

/// Lists the runs of a source.
pub struct ListSourceRuns;

impl Operation for ListSourceRuns {
    type Path = BookId;
    type Input = PageQuery;
    type Answer = SourceRuns;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/sources/{source}/runs", Needs::AnyIngest)
        .named(
            "source_runs",
            "List the runs of a source, one page at a time",
        )
        .answers(&[(200, "A page of runs, the newest first")]);

    fn run(
        session: &Session<'_>,
        name: BookId,
        query: PageQuery,
    ) -> Result<SourceRuns, OperationError> {
        let limit = query.limit()?;
        session.managed(&name)?;
        Ok(session.source_runs(&name, query.place()?, limit)?)
    }
}

/// Lists the addresses of a source that failed.
pub struct ListSourceErrors;

impl Operation for ListSourceErrors {
    type Path = BookId;
    type Input = PageQuery;
    type Answer = SourceErrors;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/sources/{source}/errors", Needs::AnyIngest)
        .named(
            "source_errors",
            "List the addresses of a source that failed, one page at a time",
        )
        .answers(&[(200, "A page of addresses, with the reasons")]);

    fn run(
        session: &Session<'_>,
        name: BookId,
        query: PageQuery,
    ) -> Result<SourceErrors, OperationError> {
        let limit = query.limit()?;
        session.managed(&name)?;
        Ok(session.source_errors(&name, query.cursor.as_deref(), limit)?)
    }
}
