//! The job that finds duplicates.
//!
//! What it finds is kept in [`Table::Duplicates`]: first the pairs of each batch of books, so that it resumes after the last
//! batch and what it left out, then the groups and overlaps. The next job of this kind removes them.
//!
//! What somebody said of a group is in [`Table::DuplicateGroups`], and holds for the groups of later jobs, too.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

use super::job::StoredJob;
use super::{JobProgress, put};
use crate::add::StoredBook;
use crate::api::{
    BookRef, DuplicateGroup, DuplicateGroups, DuplicateOverlap, DuplicateOverlaps, DuplicatePair,
    DuplicateResolution, Grouped, JobResult,
};
use crate::check::today;
use crate::copy::rows;
use crate::duplicate_groups::{Copy, Group, GroupedPairs, Grouping, LeftOut, Pair, best};
use crate::duplicates::{DuplicateScope, DuplicateSearch, FoundPairs};
use crate::pages::GrowingBatches;
use crate::{Catalogue, CatalogueError, DuplicateOptions, Duplicates, Editor};
use lapidary_gems::RecipeName;
use lapidary_store::{BookKey, BookNo, Library, Record, Row, RowChange, Table};

/// Number of rows read or written at a time.
const BATCH: usize = 1_000;
/// Number of pairs in a row. A book has at most a hundred, so the books of a batch have fewer rows than numbers.
const PAIRS_IN_ROW: usize = 10_000;
/// Number of such rows read at a time.
const ROWS_READ: usize = 10;
/// Most books of a group that are kept by name, with the pairs between them.
const MOST_KEPT: usize = 1_000;
/// What the keys of rows have after the number of the job.
const PAIRS: u8 = b'p';
const LEFT_OUT: u8 = b'l';
const GROUPS: u8 = b'g';
const OVERLAPS: u8 = b'o';

/// A group, as kept.
#[derive(Serialize, Deserialize)]
struct StoredGroup {
    size: u32,
    #[serde(flatten)]
    group: Group,
}

/// What was said of a group.
#[derive(Serialize, Deserialize)]
struct StoredResolution {
    resolution: DuplicateResolution,
    /// Its books, each with the digest of its text.
    books: Vec<(BookKey, String)>,
}

impl StoredResolution {
    /// Whether it was said of all of these books, as they are.
    fn is_of(&self, books: &[Record]) -> bool {
        books.iter().all(|book| {
            let mut of = self.books.iter();
            of.any(|(key, digest)| (key, digest) == (&book.key, &book.digest))
        })
    }
}

fn prefix(job: u32, kind: u8) -> Vec<u8> {
    let mut prefix = job.to_be_bytes().to_vec();
    prefix.push(kind);
    prefix
}

fn key(job: u32, kind: u8, number: u32) -> Vec<u8> {
    [prefix(job, kind), number.to_be_bytes().to_vec()].concat()
}

/// What jobs find of duplicates in a catalogue ([`Catalogue::duplicate_jobs`]).
#[derive(Debug, Clone)]
pub struct DuplicateJobs<C>(pub(crate) C);

impl<C: Deref<Target = Catalogue>> DuplicateJobs<C> {
    /// Checks whether such a job can be run at all.
    pub(super) fn approve(
        &self,
        library: Option<&Library>,
        recipe: Option<&RecipeName>,
    ) -> Result<(), CatalogueError> {
        if let Some(library) = library
            && self.0.store.snapshot().library(library)?.is_none()
        {
            return Err(CatalogueError::NoSuchLibrary(library.to_string()));
        }
        if let Some(recipe) = recipe {
            self.0.recipes().get(Some(recipe))?;
        }
        Ok(())
    }

    /// A page of the groups that a job found, from the first after the group of number `after` on.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`], and [`CatalogueError::BadTask`] if the job has no groups to show.
    pub fn groups(
        &self,
        id: u32,
        after: Option<u32>,
        limit: usize,
    ) -> Result<DuplicateGroups, CatalogueError> {
        let (rows, next) = self.found_rows(id, GROUPS, after, limit, |found| found.groups)?;
        let groups = rows
            .iter()
            .map(|row| self.shown(row))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(DuplicateGroups {
            groups: groups.into_iter().flatten().collect(),
            next_cursor: next.map(|next| next.to_string()),
        })
    }

    /// A page of the overlaps that a job found, from the first after the one of number `after` on.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`], and [`CatalogueError::BadTask`] if the job has none to show.
    pub fn overlaps(
        &self,
        id: u32,
        after: Option<u32>,
        limit: usize,
    ) -> Result<DuplicateOverlaps, CatalogueError> {
        let (rows, next) = self.found_rows(id, OVERLAPS, after, limit, |found| found.overlaps)?;
        let pairs: Vec<Pair<u32>> = rows
            .iter()
            .map(|(_, value)| read(value))
            .collect::<Result<_, _>>()?;
        let numbers: Vec<BookNo> = pairs
            .iter()
            .flat_map(|pair| [pair.a, pair.b])
            .map(BookNo)
            .collect();
        let mut records = self.0.store.snapshot().fetch(&numbers)?.into_iter();
        let (mut overlaps, day) = (Vec::new(), today());
        for pair in pairs {
            let (a, b) = (records.next().flatten(), records.next().flatten());
            // Books that are gone overlap with none.
            let there = a.zip(b).filter(|(a, b)| {
                a.standing.removed_at.is_none() && b.standing.removed_at.is_none()
            });
            let Some((a, b)) = there else { continue };
            overlaps.push(DuplicateOverlap {
                a: BookRef::on(day, a),
                b: BookRef::on(day, b),
                relation: pair.relation_name().into(),
                share_of_a: pair.share_of_a,
                share_of_b: pair.share_of_b,
            });
        }
        Ok(DuplicateOverlaps {
            overlaps,
            next_cursor: next.map(|next| next.to_string()),
        })
    }

    /// A page of the rows that a job has kept of a kind, and the number behind which the next one begins. `count` says how many
    /// it found.
    fn found_rows(
        &self,
        id: u32,
        kind: u8,
        after: Option<u32>,
        limit: usize,
        count: impl Fn(&Grouped) -> u64,
    ) -> Result<(Vec<Row>, Option<u32>), CatalogueError> {
        let Some(JobResult::Grouped(found)) = self.0.jobs().get(id)?.result else {
            return Err(CatalogueError::BadTask(format!(
                "job {id} has not found duplicates"
            )));
        };
        let after = after.map(|after| key(id, kind, after));
        let mut rows = self.0.store.page(
            Table::Duplicates,
            &prefix(id, kind),
            after.as_deref(),
            limit.saturating_add(1),
        )?;
        if rows.is_empty() && after.is_none() && count(&found) > 0 {
            return Err(CatalogueError::BadTask(format!(
                "a later job replaced the groups of job {id}"
            )));
        }
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|(key, _)| number(key));
        Ok((rows, next))
    }

    /// A group as it is now; `None` if all its books are gone.
    fn shown(&self, (_, value): &Row) -> Result<Option<DuplicateGroup>, CatalogueError> {
        let StoredGroup { size, group } = read(value)?;
        let Duplicates { books, pairs } = Duplicates::read(&*self.0.store.snapshot(), group)?;
        let copies = books.iter().map(|book| {
            let (bytes, description) = (book.bytes, &book.description);
            Copy {
                bytes,
                format: None,
                description,
            }
        });
        let Some((best, merit)) = best(&copies.collect::<Vec<_>>()) else {
            return Ok(None);
        };
        let resolution = self.resolution(&books)?;
        let (pairs, day) = (
            pairs
                .iter()
                .map(|pair| DuplicatePair {
                    a: pair.a,
                    b: pair.b,
                    relation: pair.relation_name().into(),
                    share_of_a: pair.share_of_a,
                    share_of_b: pair.share_of_b,
                })
                .collect(),
            today(),
        );
        let books = books
            .into_iter()
            .map(|record| BookRef::on(day, record))
            .collect();
        Ok(Some(DuplicateGroup {
            size,
            books,
            best: best as u32,
            reason: merit.as_str().into(),
            pairs,
            resolution,
        }))
    }

    /// What was said of the books of a group.
    fn resolution(&self, books: &[Record]) -> Result<Option<DuplicateResolution>, CatalogueError> {
        let Some(first) = books.first() else {
            return Ok(None);
        };
        let name = first.key.to_string();
        let Some(row) = self.0.row(Table::DuplicateGroups, name.as_bytes())? else {
            return Ok(None);
        };
        let stored: StoredResolution = read(&row)?;
        Ok(stored.is_of(books).then_some(stored.resolution))
    }
}

impl DuplicateJobs<Editor<'_>> {
    /// Says something of the books of a group, or takes it back. Returns one of them that is not there, if any.
    pub fn resolve(
        &self,
        books: &[BookKey],
        resolution: Option<DuplicateResolution>,
    ) -> Result<Option<BookKey>, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let mut found = Vec::with_capacity(books.len());
        for key in books {
            match StoredBook::find(&*snapshot, key)? {
                Some(book) => found.push(book),
                None => return Ok(Some(key.clone())),
            }
        }
        found.sort_by_key(|book| book.number);
        let Some(first) = found.first() else {
            return Ok(None);
        };
        let name = first.record.key.to_string();
        let books = found
            .into_iter()
            .map(|StoredBook { record, .. }| (record.key, record.digest));
        let change = match resolution {
            Some(resolution) => put(
                Table::DuplicateGroups,
                name,
                &StoredResolution {
                    resolution,
                    books: books.collect(),
                },
            ),
            None => RowChange::delete(Table::DuplicateGroups, name),
        };
        self.0.change_setting(change, None)?;
        Ok(None)
    }

    /// Forgets rows of an earlier search, or of a batch that was interrupted. Returns how many books are done.
    fn begin_search(
        &self,
        StoredJob { job, checkpoint }: &StoredJob,
        work: &JobProgress<'_>,
    ) -> Result<u64, CatalogueError> {
        let Some(before) = checkpoint.book.checked_sub(1) else {
            self.forget(work, b"", None)?;
            return Ok(0);
        };
        let last = key(job.id, PAIRS, before);
        self.forget(work, &prefix(job.id, PAIRS), Some(&last))?;
        Ok(checkpoint.done.unwrap_or(job.done))
    }

    pub(super) fn find(
        &self,
        options: &DuplicateOptions,
        begun: &StoredJob,
        work: &JobProgress<'_>,
    ) -> Result<Grouped, CatalogueError> {
        let StoredJob { job, checkpoint } = begun;
        let mut done = self.begin_search(begun, work)?;
        let wanted = DuplicateScope::new(&*self.0.store.snapshot(), options)?;
        let mut batches = GrowingBatches::from(BookNo(checkpoint.book));
        while let (Some(wanted), Some(BookNo(from))) = (&wanted, batches.next()) {
            let (snapshot, there) = (self.0.store.snapshot(), self.0.jobs().books_there()?);
            let Some(books) = batches.read(&*snapshot)? else {
                break;
            };
            let snapshot = &*snapshot;
            let found = DuplicateSearch { snapshot, wanted }.pairs(&books, &|of_batch| {
                work.step(done + of_batch, there.max(done + of_batch))
            })?;
            keep_pairs(work, job.id, from, &found)?;
            done += books.len() as u64;
            if let Some(BookNo(book)) = batches.next() {
                work.checkpoint(false, |job| {
                    job.checkpoint.book = book;
                    (job.checkpoint.done, job.job.done) = (Some(done), done);
                })?;
            }
            work.step(done, there.max(done))?;
        }
        self.group(job.id, work)
    }

    /// Makes groups of the pairs that were found.
    fn group(&self, job: u32, work: &JobProgress<'_>) -> Result<Grouped, CatalogueError> {
        let (mut grouping, mut left_out) = (Grouping::default(), LeftOut::default());
        self.each_row(job, PAIRS, |pairs: Vec<Pair<u32>>| {
            for pair in pairs {
                grouping.add(pair);
            }
        })?;
        self.each_row(job, LEFT_OUT, |of_batch: LeftOut| left_out += of_batch)?;
        let GroupedPairs {
            groups,
            overlaps,
            left_out: pairs,
        } = grouping.grouped();
        left_out.pairs += pairs;
        let duplicates = groups.iter().map(|group| group.members.len() as u64).sum();
        keep_found(work, job, GROUPS, &groups, kept)?;
        keep_found(work, job, OVERLAPS, &overlaps, |pair| *pair)?;
        let (groups, overlaps) = (groups.len() as u64, overlaps.len() as u64);
        Ok(Grouped {
            groups,
            duplicates,
            overlaps,
            left_out,
        })
    }

    /// Reads the rows of a kind.
    fn each_row<T: DeserializeOwned>(
        &self,
        job: u32,
        kind: u8,
        mut each: impl FnMut(T),
    ) -> Result<(), CatalogueError> {
        let prefix = prefix(job, kind);
        for row in rows(&*self.0.store, Table::Duplicates, &prefix, ROWS_READ) {
            let (_, value) = row?;
            each(read(&value)?);
        }
        Ok(())
    }

    /// Removes the rows with a prefix, or those behind a key.
    fn forget(
        &self,
        work: &JobProgress<'_>,
        prefix: &[u8],
        after: Option<&[u8]>,
    ) -> Result<(), CatalogueError> {
        loop {
            let rows = self.0.store.page(Table::Duplicates, prefix, after, BATCH)?;
            if rows.is_empty() {
                return Ok(());
            }
            let rows: Vec<RowChange> = rows
                .iter()
                .map(|(key, _)| RowChange::delete(Table::Duplicates, key))
                .collect();
            work.apply(&rows)?;
        }
    }
}

/// Keeps what was found of a batch of books that begins with this one.
fn keep_pairs(
    work: &JobProgress<'_>,
    job: u32,
    from: u32,
    FoundPairs { pairs, left_out }: &FoundPairs,
) -> Result<(), CatalogueError> {
    work.apply(&[put(Table::Duplicates, key(job, LEFT_OUT, from), left_out)])?;
    for (pairs, row) in pairs.chunks(PAIRS_IN_ROW).zip(from..) {
        work.apply(&[put(Table::Duplicates, key(job, PAIRS, row), &pairs)])?;
    }
    Ok(())
}

/// Keeps each of what was found in a row.
fn keep_found<T, K: Serialize>(
    work: &JobProgress<'_>,
    job: u32,
    kind: u8,
    found: &[T],
    kept: impl Fn(&T) -> K,
) -> Result<(), CatalogueError> {
    for (batch, first) in found.chunks(BATCH).zip((0_u32..).step_by(BATCH)) {
        let rows = batch.iter().zip(first..);
        let rows =
            rows.map(|(one, number)| put(Table::Duplicates, key(job, kind, number), &kept(one)));
        work.apply(&rows.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn kept(group: &Group) -> StoredGroup {
    let members: Vec<u32> = group.members.iter().take(MOST_KEPT).copied().collect();
    let is_kept = |number: &u32| members.binary_search(number).is_ok();
    let pairs = group
        .pairs
        .iter()
        .filter(|pair| is_kept(&pair.a) && is_kept(&pair.b))
        .take(10 * MOST_KEPT);
    let pairs = pairs.copied().collect();
    StoredGroup {
        size: group.members.len() as u32,
        group: Group { members, pairs },
    }
}

/// The number at the end of a key.
fn number(key: &[u8]) -> u32 {
    key.last_chunk()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

fn read<T: DeserializeOwned>(value: &[u8]) -> Result<T, CatalogueError> {
    serde_json::from_slice(value).map_err(|e| CatalogueError::BadSetting {
        kind: Table::Duplicates.as_str(),
        name: format!("a row: {e}"),
    })
}

#[cfg(test)]
#[path = "../../../../tests/common/cluster.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod nodes;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use lapidary_gems::Recipe;

    use super::super::{JobProgress, lease_of};
    use super::nodes::Nodes;
    use super::{
        BATCH, DuplicateOptions, GROUPS, PAIRS, Pair, StoredJob, Table, keep_found, key, put,
    };
    use crate::api::{JobState, Task};
    use crate::{Catalogue, CatalogueError, Content, NewEntry};
    use lapidary_checking::Relation;
    use lapidary_store::{Actor, BookKey, Rights, StoreError};

    const BOOKS: usize = 2 * BATCH + BATCH / 2;

    /// A catalogue in which each text is that of two books, far apart.
    fn shelf() -> (tempfile::TempDir, Catalogue) {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        let recipes = [Recipe::signature("sum", None).expect("a signature")];
        catalogue
            .by(Actor::Local)
            .recipes()
            .ensure(&recipes)
            .expect("recipes");
        let entry = |book: usize| {
            let key = BookKey {
                library: "l".parse()?,
                id: format!("{book:05}").parse()?,
            };
            let text = format!("text number {}", book % (BOOKS / 2));
            Ok::<_, CatalogueError>(NewEntry::new(key, Rights::Free, Content::text(text)))
        };
        let added = catalogue.by(Actor::Local).ingest().add_all(
            (0..BOOKS).collect(),
            &recipes,
            |book| vec![((), entry(book))],
            |(), landed| assert!(landed.is_ok()),
        );
        added.expect("books");
        (folder, catalogue)
    }

    /// A server that was stopped for longer than its lease, while another one has done its job, changes none of the results.
    #[test]
    fn a_server_that_has_lost_its_job_writes_nothing_of_it() {
        let Some(nodes) = Nodes::start(3, 0) else {
            return;
        };
        let address = format!("redis://{}/books", nodes.addresses)
            .parse()
            .expect("an address");
        let [stalled, other] =
            [(); 2].map(|()| Arc::new(Catalogue::open_cluster(&address).expect("a catalogue")));
        let task = Task::Duplicates {
            library: None,
            recipe: None,
            since: None,
        };
        let job = StoredJob::new(1, task);
        let options = DuplicateOptions::default();
        let stalled_work = stalled
            .runner()
            .begin(&lease_of(1))
            .expect("a lease")
            .expect("it is free");
        let work = JobProgress {
            job: &job.clone().into(),
            work: &stalled_work,
            saved: Instant::now().into(),
        };
        let row = |kind: u8| put(Table::Duplicates, key(1, kind, 0), &Vec::<Pair<u32>>::new());
        work.apply(&[row(PAIRS)]).expect("it has the lease");
        other.runner().revoke(&lease_of(1)).expect("a store");
        let _others = other
            .runner()
            .begin(&lease_of(1))
            .expect("a lease")
            .expect("it is free again");
        let before = other.store.table(Table::Duplicates).expect("rows");
        let duplicates = stalled.by(Actor::Local).duplicate_jobs();
        let ended = [
            work.apply(&[row(GROUPS)]),
            duplicates.forget(&work, b"", None),
            duplicates.find(&options, &job, &work).map(drop),
            keep_found(&work, 1, GROUPS, &[1, 2], |one| *one),
        ];
        for ended in ended {
            assert!(
                matches!(ended, Err(CatalogueError::Store(StoreError::Stopped))),
                "{ended:?}"
            );
        }
        assert_eq!(other.store.table(Table::Duplicates).expect("rows"), before);
        assert!(before.len() == 1 && stalled_work.stop().is_dropped());
    }

    #[test]
    fn a_stopped_job_goes_on_where_it_was() {
        let (folder, catalogue) = shelf();
        let catalogue = Arc::new(catalogue);
        let task = Task::Duplicates {
            library: None,
            recipe: None,
            since: None,
        };
        let id = crate::start_job(&catalogue, &catalogue.by(Actor::Local), task)
            .expect("it starts")
            .id;
        catalogue.jobs().stop();
        let stopped = catalogue.jobs().get(id).expect("the job");
        assert_eq!(stopped.state, JobState::Running);
        assert!(stopped.done < BOOKS as u64, "{stopped:?}");
        // As if it had been killed within a batch behind the first book, which is a copy of none before, with a row written.
        let (number, value) = catalogue.store.table(Table::Jobs).expect("jobs").remove(0);
        let mut killed: serde_json::Value = serde_json::from_slice(&value).expect("JSON");
        (killed["stand"]["book"], killed["stand"]["done"]) = (1.into(), 1.into());
        let (relation, identical) = (Relation::SameText, false);
        let gone = Pair {
            a: 0_u32,
            b: 1,
            identical,
            relation,
            share_of_a: 1.0,
            share_of_b: 1.0,
        };
        let rows = [
            put(Table::Jobs, number, &killed),
            put(Table::Duplicates, key(id, PAIRS, 2), &[gone]),
        ];
        catalogue
            .store
            .apply(&Actor::Local, &rows, &[])
            .expect("written");
        drop(catalogue);
        let catalogue = Arc::new(Catalogue::open(folder.path()).expect("the catalogue"));
        crate::resume_jobs(&catalogue);
        let ended = loop {
            let job = catalogue.jobs().get(id).expect("the job");
            if job.state != JobState::Running {
                break job;
            }
            sleep(Duration::from_millis(10));
        };
        assert_eq!(
            (ended.state, ended.done),
            (JobState::Done, BOOKS as u64),
            "{ended:?}"
        );
        let (mut found, mut after) = (0, None);
        loop {
            let page = catalogue
                .duplicate_jobs()
                .groups(id, after, 1_000)
                .expect("groups");
            for group in &page.groups {
                let books: Vec<usize> = group
                    .books
                    .iter()
                    .map(|book| book.id.parse().expect("a number"))
                    .collect();
                assert_eq!(books.len(), 2);
                assert_eq!(books[0] % (BOOKS / 2), books[1] % (BOOKS / 2));
                assert!(group.pairs.len() == 1 && group.pairs[0].relation == "identical");
            }
            found += page.groups.len();
            after = page.next_cursor.map(|next| next.parse().expect("a number"));
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, BOOKS / 2);
    }
}
