//! Searching for books by their terms.
//!
//! Books are ordered by the number of their library and by their own, and thereby by shard. Each shard looks for some books
//! and says how far it has looked. What all of them have looked at is the page.

use std::collections::BTreeSet;

use super::Shared;
use super::command::Command;
use super::keys::{SHARDS, join, split};
use super::scripts::SEARCH;
use super::snapshot::ClusterSnapshot;
use lapidary_store::{BookNo, Cursor, Found, Library, Record, Search, StoreError, Term};

/// The number of books of the shortest list that a shard looks at for one page.
const LOOKS: u32 = 300;

/// A place in the order of books.
type Place = (u32, BookNo);

/// Where a page begins; `None` if its library is gone.
fn start(shared: &Shared, search: &Search<'_>) -> Result<Option<Place>, StoreError> {
    let Some(Cursor { library, passed }) = search.from else {
        return Ok(Some((0, BookNo(0))));
    };
    let Some(number) = shared.numbering().library(library)? else {
        return Ok(None);
    };
    shared.numbering().learn_all_owners()?;
    let owners = shared.read_owners();
    Ok(Some((number, owners.ranked(number, *passed))))
}

/// The places that shards find, and the first of those that they have reached. The page ends there.
fn places(
    snapshot: &ClusterSnapshot<'_>,
    commands: &[Command],
) -> Result<(Vec<Place>, Option<Place>), StoreError> {
    let (mut found, mut reached): (Vec<Place>, Option<Place>) = (Vec::new(), None);
    for page in snapshot.shared.client.read(commands)? {
        let (books, next): (Vec<Vec<u8>>, Vec<u8>) = snapshot.shared.answer(page)?;
        for book in books {
            let place = place(&book);
            found.push(place.ok_or_else(|| snapshot.damaged("a term has an invalid entry"))?);
        }
        // Each shard is at another place.
        reached = match (reached, place(&next)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    Ok((found, reached))
}

pub(super) fn search(
    snapshot: &ClusterSnapshot<'_>,
    search: &Search<'_>,
) -> Result<Found, StoreError> {
    let shared = snapshot.shared;
    if search.terms.is_empty() {
        return Ok(Found::default());
    }
    let Some(from) = start(shared, search)? else {
        return Ok(Found::default());
    };
    let allowed = match search.libraries {
        Some(libraries) => Some(numbers(snapshot, libraries)?),
        None => None,
    };
    let limit = search.limit.min(i32::MAX as usize);
    let commands: Vec<Command> = (0..SHARDS)
        .map(|shard| command(snapshot, search.terms, allowed.as_ref(), from, shard, limit))
        .collect();
    let (mut found, reached) = places(snapshot, &commands)?;
    found.sort_unstable();
    if let Some(reached) = reached {
        found.retain(|place| *place < reached);
    }
    let next = found.get(limit).copied().or(reached);
    found.truncate(limit);
    let books = matching(snapshot, &found, search.terms)?;
    Ok(Found {
        books,
        next: next.map(|next| cursor(snapshot, next)).transpose()?,
    })
}

fn numbers(
    snapshot: &ClusterSnapshot<'_>,
    libraries: &BTreeSet<Library>,
) -> Result<BTreeSet<u32>, StoreError> {
    let mut numbers = BTreeSet::new();
    for library in libraries {
        numbers.extend(snapshot.shared.numbering().library(library)?);
    }
    Ok(numbers)
}

/// The search of a shard from a place on.
fn command(
    snapshot: &ClusterSnapshot<'_>,
    terms: &BTreeSet<Term>,
    allowed: Option<&BTreeSet<u32>>,
    from: Place,
    shard: u32,
    limit: usize,
) -> Command {
    let of_terms = terms
        .iter()
        .map(|term| snapshot.shared.keys.term(shard, term));
    let (keys, starts): (Vec<_>, Vec<_>) = of_terms.unzip();
    let (library, book) = from;
    // In the library of the place, shards before that of the book are done.
    let start = match shard.cmp(&split(book).0) {
        std::cmp::Ordering::Less => [library.saturating_add(1).to_be_bytes(), [0; 4]],
        std::cmp::Ordering::Equal => [library.to_be_bytes(), book.0.to_be_bytes()],
        std::cmp::Ordering::Greater => [library.to_be_bytes(), [0; 4]],
    };
    let start = start.concat();
    let mut arguments = vec![
        limit.to_string().into_bytes(),
        LOOKS.to_string().into_bytes(),
    ];
    arguments.extend(starts.iter().map(|start| start.to_vec()));
    match allowed {
        None => arguments.extend([start, vec![0xff; 8]]),
        Some(libraries) => {
            for number in libraries.range(library..) {
                let first = number.to_be_bytes().to_vec();
                let last = [number.to_be_bytes(), [0xff; 4]].concat();
                if last >= start {
                    arguments.extend([first.max(start.clone()), last]);
                }
            }
        }
    }
    Command::script(&SEARCH, &keys, arguments)
}

/// Reads a member of the books of a term.
fn place(member: &[u8]) -> Option<Place> {
    let (library, book) = member.split_first_chunk()?;
    Some((
        u32::from_be_bytes(*library),
        BookNo(u32::from_be_bytes(book.try_into().ok()?)),
    ))
}

/// The books that have the terms in the state that the snapshot has of them.
fn matching(
    snapshot: &ClusterSnapshot<'_>,
    found: &[Place],
    terms: &BTreeSet<Term>,
) -> Result<Vec<BookNo>, StoreError> {
    let books: Vec<BookNo> = found.iter().map(|(_, book)| *book).collect();
    let states = snapshot.states(&books, &[])?;
    let mut matching = Vec::new();
    for (book, state) in books.into_iter().zip(states) {
        let Some((state, _)) = state else { continue };
        let record: Record = snapshot.parse(book, &state)?;
        if terms.is_subset(&Term::of(&record)) {
            matching.push(book);
        }
    }
    Ok(matching)
}

fn cursor(snapshot: &ClusterSnapshot<'_>, (library, book): Place) -> Result<Cursor, StoreError> {
    let shared = snapshot.shared;
    shared
        .numbering()
        .learn_owners([book, join(split(book).0, 0)])?;
    let owners = shared.read_owners();
    let name = owners.name(library).cloned();
    let name =
        name.ok_or_else(|| snapshot.damaged(format!("the name of library {library} is lost")))?;
    Ok(Cursor {
        library: name,
        passed: owners.rank(library, book),
    })
}
