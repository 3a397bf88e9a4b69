//! Buckets of postings: the lists of neighbouring gems, in one hash.
//!
//! ```text
//! m                       the main list (`postings.rs`)
//! l, rest u64             a list that is too long for it
//! rest u64, book u32      a posting that was changed since the last merge: `+` and the generation of the book, or
//!                         `-`, the generation and the time: the book may have lost the gem
//! ```
//!
//! `rest` is what is left of a gem without the bits that number its bucket. The books of a digest are such a hash too, of
//! changes alone, whose fields are only a book.
//!
//! A bucket may have more postings than the books' gems require: of a change that is being made, or was given up. It never
//! has fewer, and that is all that checks rely on, because they count a posting only if the book has its gem. Hence a change
//! first adds postings, then becomes visible, then says which postings may go. That is only a hint, which may arrive twice
//! or too late: a check still looks at such books. A merge (`merge.rs`) drops the posting, once the book does not have it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lapidary_gems::{Gem, PlacedGem};
use sha1_smol::Sha1;

use super::Shared;
use super::command::Command;
use super::keys::{listed, unlisted};
use super::scripts::POST;
use lapidary_store::postings::{LONG, List, Reader, Unreadable, Writer, decode_list, encode_list};
use lapidary_store::recipes::KnownRecipe;
use lapidary_store::{BookNo, Record};

/// The field of the main list.
const MAIN: &[u8] = b"m";
/// What the field of a long list starts with.
const LONG_LIST: u8 = b'l';
/// Postings by bucket: the fields that change.
pub(super) type Posts = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

/// The bucket of a gem, and the rest of it.
pub(super) fn place(recipe: &KnownRecipe, gem: Gem) -> (u64, u64) {
    let bits = rest_bits(recipe);
    (gem.0 >> bits, gem.0 & ((1 << bits) - 1))
}

/// The gem with a rest, in a bucket.
pub(super) fn gem_in(recipe: &KnownRecipe, bucket: u64, rest: u64) -> Gem {
    Gem(bucket << rest_bits(recipe) | rest)
}

fn rest_bits(recipe: &KnownRecipe) -> u32 {
    recipe.gem_bits - recipe.bucket_bits
}

/// The part of a digest that books are found by.
pub(super) fn half(digest: &str) -> Option<&str> {
    digest
        .get(..32)
        .filter(|half| half.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The lists of neighbouring gems.
#[derive(Debug, Default)]
pub(super) struct PackedBucket {
    main: Vec<u8>,
    long: HashMap<u64, Vec<u8>>,
    /// The postings that changed since the last merge.
    pub(super) changes: BTreeMap<BucketPosting, PostingChange>,
}

/// A posting of a bucket: the rest of its gem, and its book.
pub(super) type BucketPosting = (u64, BookNo);

/// How a posting changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostingChange {
    /// The generation of the book.
    pub(super) generation: i64,
    /// When it was said that the book may have lost the gem, in seconds, by the clock of the node; `None` if it was added.
    pub(super) doubted: Option<i64>,
    /// The value of its field.
    value: Vec<u8>,
}

impl PostingChange {
    fn read(value: Vec<u8>) -> Option<Self> {
        let text = str::from_utf8(&value).ok()?;
        let (sign, rest) = text.split_at_checked(1)?;
        let (generation, time) = match sign {
            "+" => (rest, None),
            "-" => rest
                .split_once(' ')
                .map(|(generation, time)| (generation, Some(time)))?,
            _ => return None,
        };
        let doubted = time.map(|time| time.parse().ok());
        let (generation, doubted) = (
            generation.parse().ok()?,
            if let Some(time) = doubted {
                Some(time?)
            } else {
                None
            },
        );
        Some(Self {
            generation,
            doubted,
            value,
        })
    }
}

/// The books of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BucketBooks {
    /// Those with a posting, sorted.
    pub(super) books: Vec<BookNo>,
    /// Those that may have lost it, sorted.
    pub(super) doubtful: Vec<BookNo>,
}

impl PackedBucket {
    /// Reads the fields of a hash.
    pub(super) fn read(fields: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Option<Self> {
        let mut bucket = Self::default();
        for (field, value) in fields {
            match field.as_slice() {
                MAIN => bucket.main = value,
                [LONG_LIST, rest @ ..] if rest.len() == 8 => {
                    bucket
                        .long
                        .insert(u64::from_be_bytes(rest.try_into().ok()?), value);
                }
                posting => {
                    let (rest, book) = posting.split_first_chunk::<8>()?;
                    let book = BookNo(u32::from_be_bytes(book.try_into().ok()?));
                    bucket.changes.insert(
                        (u64::from_be_bytes(*rest), book),
                        PostingChange::read(value)?,
                    );
                }
            }
        }
        Some(bucket)
    }

    /// The books of a list of the main index.
    fn listed(&self, rest: u64, list: Option<List<'_>>) -> Result<Vec<BookNo>, Unreadable> {
        let entries: Vec<BookNo> = match list {
            None => Vec::new(),
            Some(List::Short(entries)) => entries.collect(),
            Some(List::Long(count)) => {
                let entries = self.long.get(&rest).and_then(|bytes| decode_list(bytes));
                entries
                    .filter(|entries| entries.len() == count as usize)
                    .ok_or(Unreadable)?
            }
        };
        let mut books: Vec<BookNo> = entries.into_iter().map(unlisted).collect();
        books.sort_unstable();
        Ok(books)
    }

    /// The books of a gem.
    pub(super) fn books(&self, recipe: &KnownRecipe, rest: u64) -> Result<BucketBooks, Unreadable> {
        let list = if self.main.is_empty() {
            None
        } else {
            Reader::new(&self.main, rest_bits(recipe))?.find(rest)?
        };
        let mut books = self.listed(rest, list)?;
        let mut doubtful = Vec::new();
        let (mut added, mut changed) = (Vec::new(), BTreeSet::new());
        for ((_, book), change) in self
            .changes
            .range((rest, BookNo(0))..=(rest, BookNo(u32::MAX)))
        {
            changed.insert(*book);
            if change.doubted.is_some() {
                doubtful.push(*book);
            } else {
                added.push(*book);
            }
        }
        if !changed.is_empty() {
            books.retain(|book| !changed.contains(book));
            books.extend(added);
            books.sort_unstable();
        }
        Ok(BucketBooks { books, doubtful })
    }

    /// All lists of the main index, by the rest of their gems.
    fn lists(&self, recipe: &KnownRecipe) -> Result<BTreeMap<u64, BTreeSet<BookNo>>, Unreadable> {
        let mut lists = BTreeMap::new();
        if !self.main.is_empty() {
            for list in Reader::new(&self.main, rest_bits(recipe))? {
                let (rest, list) = list?;
                lists.insert(rest, self.listed(rest, Some(list))?.into_iter().collect());
            }
        }
        Ok(lists)
    }

    /// All postings, without those that are doubted.
    pub(super) fn postings(
        &self,
        recipe: &KnownRecipe,
    ) -> Result<BTreeSet<BucketPosting>, Unreadable> {
        let mut postings = Vec::new();
        if !self.main.is_empty() {
            for list in Reader::new(&self.main, rest_bits(recipe))? {
                let (rest, list) = list?;
                postings.extend(
                    self.listed(rest, Some(list))?
                        .into_iter()
                        .map(|book| (rest, book)),
                );
            }
        }
        let mut postings = BTreeSet::from_iter(postings);
        for (posting, change) in &self.changes {
            if change.doubted.is_some() {
                postings.remove(posting);
            } else {
                postings.insert(*posting);
            }
        }
        Ok(postings)
    }

    /// What a merge of some changes writes: arguments of the script. Each change says whether its book has the gem.
    pub(super) fn merged(
        &self,
        recipe: &KnownRecipe,
        changes: &BTreeMap<BucketPosting, bool>,
    ) -> Result<Vec<Vec<u8>>, Unreadable> {
        let mut lists = self.lists(recipe)?;
        let mut arguments = vec![changes.len().to_string().into_bytes()];
        for ((rest, book), has) in changes {
            let list = lists.entry(*rest).or_default();
            if *has {
                list.insert(*book);
            } else {
                list.remove(book);
            }
            let value = self
                .changes
                .get(&(*rest, *book))
                .map(|change| change.value.clone());
            arguments.extend([posting(*rest, *book), value.unwrap_or_default()]);
        }
        let lists = lists
            .into_iter()
            .map(|(rest, books)| (rest, books.into_iter().collect()));
        for (field, value) in packed(recipe, lists, &self.long) {
            let before = match field.as_slice() {
                [LONG_LIST, rest @ ..] => rest
                    .try_into()
                    .ok()
                    .and_then(|rest| self.long.get(&u64::from_be_bytes(rest))),
                _ => Some(&self.main),
            };
            arguments.extend([field, sha1(before.map_or(&[], Vec::as_slice)), value]);
        }
        Ok(arguments)
    }
}

/// The fields of lists, sorted by the rest of their gems, and their values: nothing for a long list that is one no more.
/// The main list comes last.
pub(super) fn packed(
    recipe: &KnownRecipe,
    lists: impl IntoIterator<Item = (u64, Vec<BookNo>)>,
    long: &HashMap<u64, Vec<u8>>,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut fields = Vec::new();
    let mut writer = Writer::new(rest_bits(recipe));
    for (rest, books) in lists {
        let mut books: Vec<BookNo> = books.into_iter().map(listed).collect();
        books.sort_unstable();
        let is_long = books.len() > LONG as usize;
        if is_long {
            writer.long(rest, books.len() as u32);
        } else {
            writer.short(rest, books.iter().copied());
        }
        if is_long || long.contains_key(&rest) {
            let field = [&[LONG_LIST][..], &rest.to_be_bytes()].concat();
            fields.push((
                field,
                if is_long {
                    encode_list(&books)
                } else {
                    Vec::new()
                },
            ));
        }
    }
    fields.push((MAIN.to_vec(), writer.finish().unwrap_or_default()));
    fields
}

/// The SHA-1 of what a field has, as a script compares it; nothing for nothing.
fn sha1(value: &[u8]) -> Vec<u8> {
    if value.is_empty() {
        Vec::new()
    } else {
        Sha1::from(value).digest().to_string().into_bytes()
    }
}

/// The field of a posting.
pub(super) fn posting(rest: u64, book: BookNo) -> Vec<u8> {
    [&rest.to_be_bytes()[..], &book.0.to_be_bytes()].concat()
}

/// Changes of buckets of postings.
pub(super) struct Buckets<'s>(pub(super) &'s Shared);

impl Buckets<'_> {
    /// Adds the postings of gems to `posts`.
    pub(super) fn post_gems(
        &self,
        posts: &mut Posts,
        recipe: &KnownRecipe,
        book: BookNo,
        gems: &[PlacedGem],
    ) {
        for gem in recipe.posted(gems) {
            let (bucket, rest) = place(recipe, gem);
            posts
                .entry(self.0.keys.bucket(recipe.number, bucket))
                .or_default()
                .insert(posting(rest, book));
        }
    }

    /// Adds the digests of a book to `posts`.
    pub(super) fn post_digests(&self, posts: &mut Posts, book: BookNo, record: &Record) {
        for half in [Some(&record.digest), record.clean_digest.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|digest| half(digest))
        {
            posts
                .entry(self.0.keys.digest(half))
                .or_default()
                .insert(book.0.to_be_bytes().to_vec());
        }
    }

    /// The commands that add postings.
    pub(super) fn additions(posts: &Posts, generation: i64) -> Vec<Command> {
        posts
            .iter()
            .map(|(key, fields)| Self::post(key, fields, "+", generation))
            .collect()
    }

    /// The commands that say that a book may not have postings any more. They do no harm if it has.
    pub(super) fn doubts(posts: &Posts, generation: i64) -> Vec<Command> {
        let doubts = posts.iter().map(|(key, fields)| {
            let sign = if is_digest(fields) { "!" } else { "-" };
            Self::post(key, fields, sign, generation)
        });
        doubts.collect()
    }

    fn post(key: &[u8], fields: &BTreeSet<Vec<u8>>, sign: &str, generation: i64) -> Command {
        let mut arguments = [sign.to_owned(), generation.to_string()]
            .map(String::into_bytes)
            .to_vec();
        arguments.extend(fields.iter().cloned());
        Command::script(&POST, &[key.to_vec()], arguments)
    }
}

fn is_digest(fields: &BTreeSet<Vec<u8>>) -> bool {
    fields.first().is_some_and(|field| field.len() == 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read() {
        let read = |value: &str| {
            PostingChange::read(value.into()).map(|change| (change.generation, change.doubted))
        };
        assert_eq!(read("+7"), Some((7, None)));
        assert_eq!(read("-7 99"), Some((7, Some(99))));
        for damaged in ["", "+", "-7", "-7 x", "!7", "7", "é"] {
            assert_eq!(read(damaged), None, "{damaged}");
        }
    }
}
