//! Checks that the posting lists match the books.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lapidary_gems::PlacedGem;

use super::super::buckets::{BucketPosting, PackedBucket, place, posting};
use super::super::command::Command;
use super::super::keys::KeyName;
use super::suspicion::Suspicion;
use super::{ClusterVerification, PAGE, book_at_end};
use lapidary_store::faults::Sum;
use lapidary_store::recipes::KnownRecipe;
use lapidary_store::{BookNo, StoreError};

/// Number of groups of buckets.
const GROUPS: usize = 1 << 12;
/// Number of postings compared at a time: about 200 MB.
const COMPARED: u64 = 2_000_000;

/// The key of a bucket, and its postings.
type ComparedPostings = (Vec<u8>, BTreeSet<BucketPosting>);

/// The postings of some buckets.
#[derive(Default)]
pub(super) struct BucketGroup {
    needed: Sum,
    found: Sum,
    /// The buckets that were read: recipe and number.
    buckets: BTreeSet<(u16, u32)>,
    postings: u64,
}

pub(super) fn groups() -> Vec<BucketGroup> {
    std::iter::repeat_with(BucketGroup::default)
        .take(GROUPS)
        .collect()
}

/// The recipe, the number and the group of a bucket.
fn bucket_of(key: &[u8]) -> Option<(u16, u32, usize)> {
    let mut parts = str::from_utf8(key).ok()?.rsplit(':');
    let (bucket, recipe) = (
        parts.next()?.parse::<u32>().ok()?,
        parts.next()?.parse().ok()?,
    );
    (parts.next()? == "p").then_some((recipe, bucket, bucket as usize % GROUPS))
}

/// Adds the postings that a book needs for its gems of a recipe.
pub(super) fn count(
    groups: &mut [BucketGroup],
    recipe: &KnownRecipe,
    book: BookNo,
    gems: &[PlacedGem],
) {
    for gem in recipe.posted(gems) {
        let (bucket, rest) = place(recipe, gem);
        let Ok(bucket) = u32::try_from(bucket) else {
            continue;
        };
        let group = &mut groups[bucket as usize % GROUPS];
        group.needed.add((recipe.number, bucket, rest, book));
        group.postings += 1;
    }
}

impl ClusterVerification<'_> {
    /// Reads buckets, and adds their postings.
    pub(super) fn buckets(&mut self, keys: &[Vec<u8>]) -> Result<(), StoreError> {
        // A scan can return a key twice.
        let groups = &mut self.groups;
        let mut is_new = |key: &[u8]| {
            bucket_of(key).is_some_and(|(recipe, bucket, group)| {
                groups[group].buckets.insert((recipe, bucket))
            })
        };
        let new: Vec<Vec<u8>> = keys.iter().filter(|key| is_new(key)).cloned().collect();
        for (key, postings) in self.read_buckets(&new)? {
            let Some((recipe, bucket, group)) = bucket_of(&key) else {
                continue;
            };
            for (rest, book) in postings {
                self.groups[group].found.add((recipe, bucket, rest, book));
            }
        }
        Ok(())
    }

    /// Reads the postings of buckets. Reports those that cannot be read.
    fn read_buckets(&mut self, keys: &[Vec<u8>]) -> Result<Vec<ComparedPostings>, StoreError> {
        let reads: Vec<Command> = keys
            .iter()
            .map(|key| Command::bare("HGETALL", key))
            .collect();
        let mut read = Vec::new();
        for (key, fields) in keys.iter().zip(self.shared.client.read(&reads)?) {
            let shown = || String::from_utf8_lossy(key);
            let Some(KeyName::PackedBucket(recipe, _)) = self.shared.keys.read(key) else {
                continue;
            };
            let Some(recipe) = self.recipes.numbered(recipe) else {
                self.faults.add(format!(
                    "the bucket {} belongs to an unknown recipe",
                    shown()
                ));
                continue;
            };
            let fields: HashMap<Vec<u8>, Vec<u8>> = self.shared.answer(fields)?;
            match PackedBucket::read(fields).and_then(|bucket| bucket.postings(recipe).ok()) {
                _ if recipe.leaving => {}
                Some(postings) => read.push((key.clone(), postings)),
                None => self
                    .faults
                    .add(format!("the bucket {} cannot be read", shown())),
            }
        }
        Ok(read)
    }

    /// Compares the postings of the groups whose checksums differ.
    pub(super) fn postings(&mut self) -> Result<(), StoreError> {
        let groups = std::mem::take(&mut self.groups);
        let mut differing: Vec<usize> = (0..GROUPS)
            .filter(|at| groups[*at].needed != groups[*at].found)
            .collect();
        while !differing.is_empty() && !self.faults.are_many() {
            let mut some = BTreeSet::new();
            let mut postings = 0;
            while let Some(group) = differing.pop() {
                postings += groups[group].postings;
                some.insert(group);
                if postings > COMPARED {
                    break;
                }
            }
            let buckets = some.iter().flat_map(|group| groups[*group].buckets.iter());
            let buckets: Vec<Vec<u8>> = buckets
                .map(|(recipe, bucket)| self.shared.keys.bucket(*recipe, u64::from(*bucket)))
                .collect();
            self.compare(&some, buckets)?;
        }
        Ok(())
    }

    fn compare(
        &mut self,
        groups: &BTreeSet<usize>,
        buckets: Vec<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let mut needed: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> = buckets
            .into_iter()
            .map(|key| (key, BTreeSet::new()))
            .collect();
        // What is wrong with the books themselves was reported.
        let faults = std::mem::take(&mut self.faults);
        let doubts = std::mem::take(&mut self.doubts);
        self.each_book(|check, book| {
            for (key, fields) in check.postings_of(book)? {
                if bucket_of(&key).is_some_and(|(.., group)| groups.contains(&group)) {
                    needed.entry(key).or_default().extend(fields);
                }
            }
            Ok(())
        })?;
        let keys: Vec<Vec<u8>> = needed.keys().cloned().collect();
        let mut found = Vec::new();
        for some in keys.chunks(PAGE) {
            found.extend(self.read_buckets(some)?);
        }
        (self.faults, self.doubts) = (faults, doubts);
        self.doubt_differences(found, needed);
        Ok(())
    }

    /// Doubts the postings that books need and that are not there, and those that are there and that no book needs.
    fn doubt_differences(
        &mut self,
        found: Vec<ComparedPostings>,
        mut needed: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    ) {
        for (key, postings) in found {
            let needed = needed.remove(&key).unwrap_or_default();
            let postings = postings
                .into_iter()
                .map(|(rest, book)| posting(rest, book))
                .collect();
            for field in needed.symmetric_difference(&postings) {
                let reference = (key.clone(), field.clone());
                let book = book_at_end(field);
                let doubt = book.map(|book| Suspicion::Reference { book, reference });
                self.doubts.extend(doubt);
            }
        }
    }
}
