//! The sources of a catalogue: defined, shown, run and removed.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::frontier::{Frontier, RunRecord};
use super::plan::{self, RunPlan, drop_plan, drop_removed, is_removed, put_removed};
use super::trial::Trial;
use super::{Entry, HarvestError, Source, Tally};
use lapidary_catalogue::api::{
    self, SourceDefinition, SourceErrors, SourceItem, SourceRun, SourceRuns, SourceState,
    SourceTest,
};
use lapidary_catalogue::{Catalogue, CatalogueError, Editor, put};
use lapidary_store::{BookId, RowChange, Table};

/// The most sources of a library.
const MOST: usize = 1_000;
/// How many books a test shows.
const TESTED: usize = 10;
/// How long a new source waits until what is known of another one with its name is cleared, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);

/// The name of the lease of whoever runs a source.
pub(super) fn lease_of(name: &BookId) -> String {
    format!("source {name}")
}

/// The sources of a catalogue.
pub trait Sources {
    /// All sources, by name.
    fn sources(&self) -> Result<BTreeMap<BookId, Source>, HarvestError>;

    /// A source.
    ///
    /// # Errors
    /// [`HarvestError::NoSuchSource`].
    fn source(&self, name: &BookId) -> Result<Source, HarvestError>;

    /// All sources that `wanted` takes, with what they are doing.
    fn shown_sources(
        &self,
        wanted: &dyn Fn(&BookId, &Source) -> bool,
        most: usize,
    ) -> Result<Vec<api::Source>, HarvestError>;

    /// A source and what it is doing.
    fn shown_source(&self, name: &BookId) -> Result<api::Source, HarvestError>;

    /// A page of the history of a source: the newest runs, or those before one of them.
    fn source_runs(
        &self,
        name: &BookId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<SourceRuns, HarvestError>;

    /// A page of the addresses that failed.
    fn source_errors(
        &self,
        name: &BookId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<SourceErrors, HarvestError>;
}

impl Sources for Catalogue {
    fn sources(&self) -> Result<BTreeMap<BookId, Source>, HarvestError> {
        Ok(self.rows(Table::Sources)?)
    }

    fn source(&self, name: &BookId) -> Result<Source, HarvestError> {
        let row = self.row(Table::Sources, name.as_str().as_bytes())?;
        read(
            name,
            &row.ok_or_else(|| HarvestError::NoSuchSource(name.as_str().to_owned()))?,
        )
    }

    fn shown_sources(
        &self,
        wanted: &dyn Fn(&BookId, &Source) -> bool,
        most: usize,
    ) -> Result<Vec<api::Source>, HarvestError> {
        let mut plans = plan::plans(self)?;
        let sources = self
            .sources()?
            .into_iter()
            .filter(|(name, source)| wanted(name, source))
            .take(most);
        sources
            .map(|(name, source)| {
                let plan = plans.remove(name.as_str()).unwrap_or_default();
                shown(self, name, source, plan)
            })
            .collect()
    }

    fn shown_source(&self, name: &BookId) -> Result<api::Source, HarvestError> {
        shown(
            self,
            name.clone(),
            self.source(name)?,
            plan::plan(self, name)?,
        )
    }

    fn source_runs(
        &self,
        name: &BookId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<SourceRuns, HarvestError> {
        self.source(name)?;
        let mut runs = Frontier::new(self, name).runs(before, limit.saturating_add(1))?;
        let more = runs.len() > limit;
        runs.truncate(limit);
        let next = runs.last().filter(|_| more).map(|run| run.number);
        Ok(SourceRuns {
            runs: runs.into_iter().map(Into::into).collect(),
            next_cursor: next.map(|next| next.to_string()),
        })
    }

    fn source_errors(
        &self,
        name: &BookId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<SourceErrors, HarvestError> {
        self.source(name)?;
        let mut faults = Frontier::new(self, name).faults(cursor, limit.saturating_add(1))?;
        let more = faults.len() > limit;
        faults.truncate(limit);
        let next_cursor = faults
            .last()
            .filter(|_| more)
            .map(|(cursor, _)| cursor.clone());
        Ok(SourceErrors {
            errors: faults.into_iter().map(|(_, fault)| fault).collect(),
            next_cursor,
        })
    }
}

fn shown(
    catalogue: &Catalogue,
    name: BookId,
    source: Source,
    plan: RunPlan,
) -> Result<api::Source, HarvestError> {
    let now = Timestamp::now();
    let state = Frontier::new(catalogue, &name).state()?;
    let due = plan.due(&source).map(|due| due.max(now));
    let doing = match () {
        () if source.paused => SourceState::Paused,
        () if plan.is_running() => SourceState::Running,
        () if plan.planned.is_some() => SourceState::Waiting,
        () => SourceState::Idle,
    };
    let is_running = doing == SourceState::Running;
    let seconds_left = (is_running && state.per_second > 0.0)
        .then(|| (state.queued as f64 / state.per_second) as u64);
    Ok(api::Source {
        name,
        definition: source.into(),
        state: doing,
        queued: state.queued,
        urls_per_second: state.per_second,
        remaining_seconds: seconds_left,
        run: state.last.map(Into::into),
        next_run_at: due.filter(|_| !is_running),
        error: plan
            .planned
            .and_then(|planned| planned.error)
            .filter(|_| !is_running),
    })
}

impl From<RunRecord> for SourceRun {
    fn from(
        RunRecord {
            number,
            begun,
            ended,
            tally,
            refused_by,
            left_out,
            error,
        }: RunRecord,
    ) -> Self {
        let Tally {
            fetched,
            added,
            unchanged,
            refused,
            pages_unchanged,
            gone,
            skipped,
        } = tally;
        let (skipped_by, refused_by) = refused_by
            .into_iter()
            .partition(|(reason, _)| reason.is_skipped());
        Self {
            number,
            started_at: begun,
            finished_at: ended,
            fetched,
            added,
            unchanged,
            refused,
            pages_unchanged,
            missing: gone,
            skipped,
            refused_by,
            skipped_by,
            left_out,
            error,
        }
    }
}

impl Source {
    /// The first books that the source lists, or what is wrong with it. Nothing is changed.
    #[must_use]
    pub fn test(&self) -> SourceTest {
        let (mut items, mut begins, mut skipped) = (Vec::new(), None, 0);
        let tested = Trial::new(self).and_then(|trial| {
            let books = trial.books(TESTED, &mut skipped)?;
            items.extend(books.iter().cloned().map(
                |Entry {
                     address,
                     id,
                     description,
                     ..
                 }| SourceItem {
                    url: address,
                    id,
                    title: description.title,
                },
            ));
            begins = books
                .first()
                .map(|first| trial.beginning(first))
                .transpose()?
                .flatten();
            Ok(())
        });
        SourceTest {
            items,
            skipped,
            excerpt: begins,
            error: tested.err().map(|error| error.to_string()),
        }
    }

    /// The source with changes of its definition: fields that are `null` are removed.
    ///
    /// # Errors
    /// [`HarvestError::Input`].
    pub fn changed(self, changes: Map<String, Value>) -> Result<Self, HarvestError> {
        let (by, administrator) = (self.by.clone(), self.administrator);
        let changed_by_administrator = self.changed_by_administrator;
        let paused_by_administrator = self.paused_by_administrator;
        let mut definition =
            serde_json::to_value(SourceDefinition::from(self)).map_err(|error| wrong(&error))?;
        if let Some(fields) = definition.as_object_mut() {
            for (name, value) in changes {
                if value.is_null() {
                    drop(fields.remove(&name));
                } else {
                    drop(fields.insert(name, value));
                }
            }
        }
        let definition: SourceDefinition =
            serde_json::from_value(definition).map_err(|error| wrong(&error))?;
        Ok(Self {
            by,
            administrator,
            changed_by_administrator,
            paused_by_administrator,
            ..definition.try_into()?
        })
    }
}

fn wrong(error: &serde_json::Error) -> HarvestError {
    HarvestError::Input(error.to_string())
}

/// Whether a source may be changed by whoever asks for it.
pub type Permits<'a> = &'a dyn Fn(&Source) -> bool;

/// A definition as it is stored.
fn read(name: &BookId, row: &[u8]) -> Result<Source, HarvestError> {
    Ok(
        serde_json::from_slice(row).map_err(|_| CatalogueError::BadSetting {
            kind: Table::Sources.as_str(),
            name: name.as_str().to_owned(),
        })?,
    )
}

/// Whether the stored definition of a source may be changed.
fn permitted(
    name: &BookId,
    before: Option<&[u8]>,
    permits: Permits<'_>,
) -> Result<(), HarvestError> {
    let Some(before) = before else { return Ok(()) };
    let known = read(name, before)?;
    if permits(&known) {
        Ok(())
    } else {
        Err(HarvestError::NotYours(name.as_str().to_owned()))
    }
}

/// Adds a source, or replaces the definition of one, if it is one that `may_replace` permits. Returns whether it replaced one.
///
/// # Errors
/// [`HarvestError::Input`] if its library has too many; [`HarvestError::Clearing`] if one of this name was just removed;
/// [`HarvestError::NotYours`].
pub fn set_source(
    editor: &Editor<'_>,
    name: &BookId,
    source: &Source,
    may_replace: Permits<'_>,
) -> Result<bool, HarvestError> {
    let known = match editor.source(name) {
        Err(HarvestError::NoSuchSource(_)) => None,
        known => Some(known?),
    };
    // Only one more of a library has all of them counted.
    let is_one_more = known.is_none_or(|known| known.library != source.library);
    if is_one_more
        && editor
            .sources()?
            .into_values()
            .filter(|known| known.library == source.library)
            .count()
            >= MOST
    {
        return Err(HarvestError::Input(format!(
            "the library has {MOST} sources; remove some"
        )));
    }
    let asked = Instant::now();
    while !clear_source(editor, name)? {
        if asked.elapsed() > PATIENCE {
            return Err(HarvestError::Clearing(name.as_str().to_owned()));
        }
        thread::sleep(LOOK);
    }
    let definition = put(Table::Sources, name.as_str(), source);
    let replaced = editor.change_setting_if(definition, None, |before| {
        permitted(name, before, may_replace)
    })?;
    // It goes on with the new definition, unless it is paused.
    editor.runner().end(&lease_of(name));
    Ok(replaced)
}

/// Asks for a run of a source by a server. Nothing changes if it is running.
///
/// # Errors
/// [`HarvestError::NoSuchSource`], [`HarvestError::Paused`].
pub fn want_source(editor: &Editor<'_>, name: &BookId) -> Result<(), HarvestError> {
    if editor.source(name)?.paused {
        return Err(HarvestError::Paused(name.as_str().to_owned()));
    }
    let has_ended = || Ok(Frontier::new(editor, name).state()?.has_ended());
    if let Some(row) = plan::plan(editor, name)?.ask(name, has_ended)? {
        editor.apply_rows(&[row])?;
    }
    Ok(())
}

/// Removes a source. Its books stay; what is known of it is cleared bit by bit ([`clear_source`]), because it may be millions
/// of rows. Returns whether it existed.
///
/// # Errors
/// [`HarvestError::NotYours`] if it is one that `may_remove` does not permit.
pub fn remove_source(
    editor: &Editor<'_>,
    name: &BookId,
    may_remove: Permits<'_>,
) -> Result<bool, HarvestError> {
    let definition = RowChange::delete(Table::Sources, name.as_str());
    let existed = editor.change_setting_if(
        definition,
        Some(put_removed(name)),
        |before: Option<&[u8]>| permitted(name, before, may_remove),
    )?;
    let revoked = editor.runner().revoke(&lease_of(name));
    if existed {
        editor.apply_rows(&drop_plan(name))?;
        clear_source(editor, name)?;
    }
    revoked?;
    Ok(existed)
}

/// Clears some of what is known of a source that was removed. Returns whether nothing is left.
pub fn clear_source(editor: &Editor<'_>, name: &BookId) -> Result<bool, HarvestError> {
    if !is_removed(editor, name)? {
        return Ok(true);
    }
    // Nobody else may be clearing when it is done: from then on, another source can have the name.
    let Some(work) = editor.runner().begin(&format!("clear {name}"))? else {
        return Ok(false);
    };
    let editor = editor.under(&work)?;
    let done = is_removed(&editor, name)? && Frontier::new(&editor, name).clear(&work)?;
    Ok(done && work.apply(&[drop_removed(name)])?)
}
