//! Buckets of postings: the lists of neighbouring gems, in one hash.
//!
//! ```text
//! m                       the main list (`postings.rs`)
//! l, rest u64             a list that is too long for it
//! rest u64, book u32      a posting that was changed since the last merge: `+` or `-`, and the generation of the book
//! ```
//!
//! `rest` is what is left of a gem without the bits that number its bucket. The books of a digest are such a hash too, of
//! changes alone, whose fields are only a book.
//!
//! A bucket may have more postings than the books' gems require: of a change that is being made, or was given up. It never
//! has fewer, and that is all that checks rely on, because they count a posting only if the book has its gem. Hence a change
//! first adds postings, then becomes visible, then removes postings; and a removal can neither overrule the change of a
//! later generation nor happen after its deadline, when such a change may already be merged.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lapidary_gems::{Gem, PlacedGem};
use sha1_smol::Sha1;

use super::Shared;
use super::command::Command;
use super::error::{answer, damaged};
use super::keys::BUCKET_BITS;
use super::scripts::{MERGE, POST};
use crate::index::postings::{LONG, List, Reader, Unreadable, Writer, decode_list, encode_list};
use crate::index::recipes::KnownRecipe;
use crate::index::{BookNo, Record, StoreError};

/// The field of the main list.
const MAIN: &[u8] = b"m";
/// What the field of a long list starts with.
const LONG_LIST: u8 = b'l';
/// The number of fields from which a bucket is merged.
const MANY: i64 = 48;

/// Postings by bucket: the fields that change.
pub(super) type Posts = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

/// The bucket of a gem, and the rest of it.
pub(super) fn place(recipe: &KnownRecipe, gem: Gem) -> (u64, u64) {
    let bits = rest_bits(recipe);
    (gem.0 >> bits, gem.0 & ((1 << bits) - 1))
}

/// The gem of a bucket with this rest.
pub(super) fn gem(recipe: &KnownRecipe, bucket: u64, rest: u64) -> Gem {
    Gem(bucket << rest_bits(recipe) | rest)
}

fn rest_bits(recipe: &KnownRecipe) -> u32 {
    recipe.gem_bits - BUCKET_BITS
}

/// The part of a digest that books are found by.
pub(super) fn half(digest: &str) -> Option<&str> {
    digest.get(..32).filter(|half| half.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What postings are removed by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Removal {
    pub(super) generation: i64,
    /// In ms, by the clock of the cluster.
    pub(super) deadline: i64,
}

/// The lists of neighbouring gems.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    main: Vec<u8>,
    long: HashMap<u64, Vec<u8>>,
    /// By the rest of the gem: which books were added or removed, each with its field and value.
    changes: BTreeMap<u64, BTreeMap<BookNo, (bool, Vec<u8>)>>,
}

impl Bucket {
    /// Reads the fields of a hash.
    pub(super) fn read(fields: HashMap<Vec<u8>, Vec<u8>>) -> Option<Self> {
        let mut bucket = Self::default();
        for (field, value) in fields {
            match field.as_slice() {
                MAIN => bucket.main = value,
                [LONG_LIST, rest @ ..] if rest.len() == 8 => {
                    bucket.long.insert(u64::from_be_bytes(rest.try_into().ok()?), value);
                }
                posting => {
                    let (rest, book) = posting.split_first_chunk::<8>()?;
                    let book = BookNo(u32::from_be_bytes(book.try_into().ok()?));
                    let of_gem = bucket.changes.entry(u64::from_be_bytes(*rest)).or_default();
                    of_gem.insert(book, (value.first() == Some(&b'+'), value));
                }
            }
        }
        Some(bucket)
    }

    /// The books of a list of the main index.
    fn listed(&self, rest: u64, list: Option<List<'_>>) -> Result<Vec<BookNo>, Unreadable> {
        match list {
            None => Ok(Vec::new()),
            Some(List::Short(books)) => Ok(books.collect()),
            Some(List::Long(count)) => {
                let books = self.long.get(&rest).and_then(|bytes| decode_list(bytes));
                books.filter(|books| books.len() == count as usize).ok_or(Unreadable)
            }
        }
    }

    /// The books with a posting of a gem, sorted.
    pub(super) fn books(&self, recipe: &KnownRecipe, rest: u64) -> Result<Vec<BookNo>, Unreadable> {
        let list = if self.main.is_empty() { None } else { Reader::new(&self.main, rest_bits(recipe))?.find(rest)? };
        let books = self.listed(rest, list)?;
        Ok(self.changed(rest, books))
    }

    fn changed(&self, rest: u64, books: Vec<BookNo>) -> Vec<BookNo> {
        let Some(changes) = self.changes.get(&rest) else { return books };
        let mut books: BTreeSet<BookNo> = books.into_iter().collect();
        for (book, (added, _)) in changes {
            if *added {
                books.insert(*book);
            } else {
                books.remove(book);
            }
        }
        books.into_iter().collect()
    }

    /// All lists, by the rest of their gems.
    fn lists(&self, recipe: &KnownRecipe) -> Result<BTreeMap<u64, Vec<BookNo>>, Unreadable> {
        let mut lists: BTreeMap<u64, Vec<BookNo>> = BTreeMap::new();
        if !self.main.is_empty() {
            for list in Reader::new(&self.main, rest_bits(recipe))? {
                let (rest, list) = list?;
                lists.insert(rest, self.listed(rest, Some(list))?);
            }
        }
        for rest in self.changes.keys() {
            let books = lists.remove(rest).unwrap_or_default();
            lists.insert(*rest, self.changed(*rest, books));
        }
        Ok(lists)
    }

    /// All postings, as fields.
    pub(super) fn postings(&self, recipe: &KnownRecipe) -> Result<BTreeSet<Vec<u8>>, Unreadable> {
        let lists = self.lists(recipe)?.into_iter();
        Ok(lists.flat_map(|(rest, books)| books.into_iter().map(move |book| posting(rest, book))).collect())
    }

    /// What a merge of all changes writes: arguments of the script.
    fn merged(&self, recipe: &KnownRecipe) -> Result<Vec<Vec<u8>>, Unreadable> {
        let sha = if self.main.is_empty() { String::new() } else { Sha1::from(&self.main).digest().to_string() };
        let count: usize = self.changes.values().map(BTreeMap::len).sum();
        let mut arguments = vec![sha.into_bytes(), count.to_string().into_bytes()];
        for (rest, changes) in &self.changes {
            for (book, (_, value)) in changes {
                arguments.extend([posting(*rest, *book), value.clone()]);
            }
        }
        arguments.extend(packed(recipe, self.lists(recipe)?, &self.long));
        Ok(arguments)
    }
}

/// The fields of lists, sorted by the rest of their gems, and their values: nothing for a long list that is one no more.
pub(super) fn packed(
    recipe: &KnownRecipe,
    lists: impl IntoIterator<Item = (u64, Vec<BookNo>)>,
    long: &HashMap<u64, Vec<u8>>,
) -> Vec<Vec<u8>> {
    let mut fields = Vec::new();
    let mut writer = Writer::new(rest_bits(recipe));
    for (rest, books) in lists {
        let is_long = books.len() > LONG as usize;
        if is_long {
            writer.long(rest, books.len() as u32);
        } else {
            writer.short(rest, books.iter().copied());
        }
        if is_long || long.contains_key(&rest) {
            let field = [&[LONG_LIST][..], &rest.to_be_bytes()].concat();
            fields.extend([field, if is_long { encode_list(&books) } else { Vec::new() }]);
        }
    }
    fields.extend([MAIN.to_vec(), writer.finish().unwrap_or_default()]);
    fields
}

/// The field of a posting.
fn posting(rest: u64, book: BookNo) -> Vec<u8> {
    [&rest.to_be_bytes()[..], &book.0.to_be_bytes()].concat()
}

impl Shared {
    /// Adds the postings of gems to `posts`.
    pub(super) fn post_gems(&self, posts: &mut Posts, recipe: &KnownRecipe, book: BookNo, gems: &[PlacedGem]) {
        for gem in recipe.posted(gems) {
            let (bucket, rest) = place(recipe, gem);
            posts.entry(self.keys.bucket(recipe.number, bucket)).or_default().insert(posting(rest, book));
        }
    }

    /// Adds the digests of a book to `posts`.
    pub(super) fn post_digests(&self, posts: &mut Posts, book: BookNo, record: &Record) {
        for half in
            [Some(&record.digest), record.clean_digest.as_ref()].into_iter().flatten().filter_map(|digest| half(digest))
        {
            posts.entry(self.keys.digest(half)).or_default().insert(book.0.to_be_bytes().to_vec());
        }
    }

    /// The commands that add postings.
    pub(super) fn additions(posts: &Posts, generation: i64) -> Vec<Command> {
        posts.iter().map(|(key, fields)| Self::post(key, fields, "+", Removal { generation, deadline: 0 })).collect()
    }

    /// The commands that remove postings.
    pub(super) fn removals(posts: &Posts, removal: Removal) -> Vec<Command> {
        let is_digest = |fields: &BTreeSet<Vec<u8>>| fields.first().is_some_and(|field| field.len() == 4);
        let sign = |fields| if is_digest(fields) { "!" } else { "-" };
        posts.iter().map(|(key, fields)| Self::post(key, fields, sign(fields), removal)).collect()
    }

    fn post(key: &[u8], fields: &BTreeSet<Vec<u8>>, sign: &str, removal: Removal) -> Command {
        let Removal { generation, deadline } = removal;
        let mut arguments =
            [deadline.to_string(), sign.to_owned(), generation.to_string()].map(String::into_bytes).to_vec();
        arguments.extend(fields.iter().cloned());
        Command::script(&POST, &[key.to_vec()], arguments)
    }

    /// Merges the buckets that have many fields now, according to the answers to changes of `posts`. A bucket that is
    /// changed meanwhile is merged another time.
    pub(super) fn merge_full(
        &self,
        recipe_of: impl Fn(&[u8]) -> Option<KnownRecipe>,
        lengths: &[(Vec<u8>, i64)],
    ) -> Result<(), StoreError> {
        let full = lengths.iter().filter(|(_, length)| *length >= MANY);
        let full: Vec<_> = full.filter_map(|(key, _)| Some((key.clone(), recipe_of(key)?))).collect();
        self.merge(&full)
    }

    /// Merges buckets.
    pub(super) fn merge(&self, buckets: &[(Vec<u8>, KnownRecipe)]) -> Result<(), StoreError> {
        let reads: Vec<Command> = buckets.iter().map(|(key, _)| Command::bare("HGETALL", key)).collect();
        let read = self.client.read(&reads)?;
        let mut merges = Vec::new();
        for ((key, recipe), fields) in buckets.iter().zip(read) {
            let unreadable =
                || damaged(self.address(), format!("the bucket {} cannot be read", String::from_utf8_lossy(key)));
            let bucket = Bucket::read(answer(self.address(), fields)?).ok_or_else(unreadable)?;
            if !bucket.changes.is_empty() {
                let arguments = bucket.merged(recipe).map_err(|Unreadable| unreadable())?;
                merges.push(Command::script(&MERGE, std::slice::from_ref(key), arguments));
            }
        }
        self.client.write_loosely(&merges).map(drop)
    }
}
