//! The keys of a catalogue, and where they are.
//!
//! Every key starts with the catalogue's prefix. What changes together is in one slot, because a script can only touch
//! one. So there are three kinds of keys, by their hash tags:
//!
//! - `{meta}`: recipes, most tables, totals, the names of libraries, the end of the audit log.
//! - `{T}`, for one of 256 tags: a shard, with the books whose key hashes to it, and what is known of the addresses of
//!   sources whose name does. The tag of shard *i* is the least number whose slot is 64 *i*, so the shards are spread
//!   evenly over the slots, and a node has as many as it has slots.
//! - none: a bucket of postings, or the books of a digest. Each has its own slot.

use std::sync::LazyLock;

use crc16::{State, XMODEM};

use lapidary_store::{BookKey, BookNo, Table, Term};

/// The number of slots of every Redis Cluster.
pub(super) const SLOTS: u16 = 16384;
/// The number of shards. The upper bits of a book's number are its shard, so it can never change.
pub(super) const SHARDS: u32 = 256;
/// How far the slots of two shards are apart.
const SLOTS_OF_SHARD: u16 = SLOTS / SHARDS as u16;
/// The bits of a book's number within its shard.
pub(super) const NUMBER_BITS: u32 = 24;

static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut tags = vec![String::new(); SHARDS as usize];
    let mut left = SHARDS;
    for tag in 0_u64.. {
        let tag = tag.to_string();
        let slot = slot(tag.as_bytes());
        let shard = usize::from(slot / SLOTS_OF_SHARD);
        if slot.is_multiple_of(SLOTS_OF_SHARD) && tags[shard].is_empty() {
            tags[shard] = tag;
            left -= 1;
            if left == 0 {
                break;
            }
        }
    }
    tags
});

/// The slot of a key: CRC-16/XMODEM of its hash tag, or of all of it if it has none.
pub(super) fn slot(key: &[u8]) -> u16 {
    let find = |from: usize, byte| {
        key[from..]
            .iter()
            .position(|found| *found == byte)
            .map(|at| from + at)
    };
    let tag = find(0, b'{').and_then(|open| {
        find(open, b'}')
            .filter(|close| *close > open + 1)
            .map(|close| open + 1..close)
    });
    State::<XMODEM>::calculate(tag.map_or(key, |tag| &key[tag])) % SLOTS
}

/// The slot of a shard.
pub(super) fn slot_of_shard(shard: u32) -> u16 {
    shard as u16 * SLOTS_OF_SHARD
}

/// The shard that has this slot.
pub(super) fn shard_of_slot(slot: u16) -> Option<u32> {
    slot.is_multiple_of(SLOTS_OF_SHARD)
        .then_some(u32::from(slot / SLOTS_OF_SHARD))
}

/// The shard of a book's key.
pub(super) fn shard_of_key(key: &BookKey) -> u32 {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(key.library.as_str().as_bytes())
        .update(&[0])
        .update(key.id.as_str().as_bytes());
    u32::from(hasher.finalize().as_bytes()[0])
}

/// Where small records are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Shard(u32),
    /// With the catalogue as a whole.
    Meta,
}

impl Place {
    pub(super) fn shard(self) -> Option<u32> {
        match self {
            Self::Shard(shard) => Some(shard),
            Self::Meta => None,
        }
    }
}

/// The place of the row with this key. What is known of a source begins with its name and a zero byte.
pub(super) fn place_of_row(table: Table, key: &[u8]) -> Place {
    place_of_rows(table, key).unwrap_or(Place::Meta)
}

/// The place of all rows whose keys start with `prefix`, if it is one.
pub(super) fn place_of_rows(table: Table, prefix: &[u8]) -> Option<Place> {
    if table != Table::Harvests {
        return Some(Place::Meta);
    }
    let name = &prefix[..prefix.iter().position(|byte| *byte == 0)?];
    Some(if name.is_empty() {
        Place::Meta
    } else {
        Place::Shard(u32::from(blake3::hash(name).as_bytes()[0]))
    })
}

/// The shard of a book, and its number there.
pub(super) fn split(book: BookNo) -> (u32, u32) {
    (book.0 >> NUMBER_BITS, book.0 & ((1 << NUMBER_BITS) - 1))
}

/// The book with a number in a shard.
pub(super) fn join(shard: u32, number: u32) -> BookNo {
    BookNo(shard << NUMBER_BITS | number)
}

/// A book as lists have it: with the bits of its shard last, the numbers of so many books take as few bits as they can.
pub(super) fn listed(book: BookNo) -> BookNo {
    BookNo(book.0.rotate_right(NUMBER_BITS))
}

/// The book of an entry of a list.
pub(super) fn unlisted(entry: BookNo) -> BookNo {
    BookNo(entry.0.rotate_left(NUMBER_BITS))
}

/// What is known of a book: three keys of its shard, each a hash. Its fields are `r`, the record, `g`, the generation,
/// `G` and the number of a recipe, its gems (`gem_list.rs`), `F` and a base, a fold, and `X`, the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BookState {
    /// As everyone sees it.
    Present,
    /// As a change is about to make it.
    Next,
    /// As it was, until its postings are removed.
    Former,
}

/// The field of the gems of the recipe with this number.
pub(super) fn gem_field(recipe: u16) -> Vec<u8> {
    format!("G{recipe}").into_bytes()
}

/// The field of a fold.
pub(super) fn fold_field(base: &str) -> Vec<u8> {
    [b"F", base.as_bytes()].concat()
}

/// How many sets the terms of a shard are in. With fewer, those of a million books with titles would have more than the 512 members
/// that Redis keeps compact. With more, most of those of a hundred thousand would have a single one.
const TERM_SETS: u16 = 1_024;
/// How many bytes a member of the books of a term begins with.
pub(super) const TERM_BYTES: usize = 7;
/// The field of the text.
pub(super) const TEXT: &[u8] = b"X";

/// What a key is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyName<'a> {
    /// The recipe and the number of a bucket.
    PackedBucket(u16, u64),
    /// The first half of a digest.
    Digest(&'a str),
    /// The letter of a state, and the book.
    Book(char, BookNo),
    /// What an access key has used.
    Usage,
    /// Something else of a shard.
    Shard(u32, &'a str),
    /// Something of the catalogue as a whole.
    Meta(&'a str),
}

/// The keys of a catalogue.
#[derive(Debug, Clone)]
pub(super) struct KeySpace {
    prefix: String,
}

impl KeySpace {
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
        }
    }

    fn tagged(&self, tag: &str, name: &[u8]) -> Vec<u8> {
        let tag = format!("{}{{{tag}}}", self.prefix);
        [tag.as_bytes(), name].concat()
    }

    /// A key of the catalogue as a whole.
    pub(super) fn meta(&self, name: &str) -> Vec<u8> {
        self.tagged("meta", name.as_bytes())
    }

    /// A key of a place.
    pub(super) fn at(&self, place: Place, name: &str) -> Vec<u8> {
        match place {
            Place::Shard(shard) => self.shard(shard, name),
            Place::Meta => self.meta(name),
        }
    }

    /// A key of a shard:
    ///
    /// ```text
    /// books         sorted set of the numbers of all books
    /// ids:LIBRARY   sorted set of id, 0x00, number u32
    /// next          hash: library → the number of its next book
    /// owners        string: the library (u32) of each 64 numbers
    /// clock         how many changes the node of the shard was sent (`clock.rs`)
    /// witness       hash: shard → what its clock has said; `{meta}witness` is the first witness
    /// recipes       the version of the recipes that changes of books must know; never missing (`stamp.rs`)
    /// recipes:copy  a copy of the recipes
    /// audit:SEGMENT old entries of the audit log (`audit.rs`)
    /// fence:LEASE   the least token of the lease under which a book may be changed
    /// intents       hash: library, 0x00, id → the change of this book that is being made
    /// outbox        hash: number → what is not in the audit log and the totals yet; `n` → the last number
    /// keys:TABLE    sorted set of the keys of rows (`rows.rs`)
    /// rows:TABLE    hash: key → row
    /// done          sorted set of the ids of changes of rows, by their times
    /// v:ID          a large value of a row (`large.rs`)
    /// ```
    pub(super) fn shard(&self, shard: u32, name: &str) -> Vec<u8> {
        self.tagged(&TAGS[shard as usize % TAGS.len()], name.as_bytes())
    }

    /// The ids of a library in a shard.
    pub(super) fn ids(&self, shard: u32, library: u32) -> Vec<u8> {
        self.shard(shard, &format!("ids:{library}"))
    }

    /// A state of a book.
    pub(super) fn book(&self, state: BookState, book: BookNo) -> Vec<u8> {
        let name = match state {
            BookState::Present => 'b',
            BookState::Next => 'n',
            BookState::Former => 'f',
        };
        self.shard(split(book).0, &format!("{name}:{}", book.0))
    }

    /// The books of a shard with a term: a sorted set, and what its members of this term begin with. Library u32 and number u32
    /// follow. A set has many terms, because most terms are of a single book.
    pub(super) fn term(&self, shard: u32, term: &Term) -> (Vec<u8>, [u8; TERM_BYTES]) {
        let hash = blake3::hash(format!("{:?} {}", term.field(), term.text()).as_bytes());
        let [high, low, member @ ..] = *hash.as_bytes();
        let set = u16::from_be_bytes([high, low]) % TERM_SETS;
        let member = member.first_chunk().copied().unwrap_or_default();
        (self.shard(shard, &format!("t:{set}")), member)
    }

    /// The set of a term, and the member that a book of this library has there.
    pub(super) fn in_term(&self, term: &Term, library: u32, book: BookNo) -> (Vec<u8>, Vec<u8>) {
        let (set, start) = self.term(split(book).0, term);
        let [library, number] = [library, book.0].map(u32::to_be_bytes);
        (set, [start.as_slice(), &library, &number].concat())
    }

    /// What an access key has used: a hash.
    pub(super) fn usage(&self, who: &str) -> Vec<u8> {
        format!(
            "{}:u:{}",
            self.prefix,
            blake3::hash(who.as_bytes()).to_hex()
        )
        .into_bytes()
    }

    /// A bucket of postings: a hash of its main list, its long lists and its latest changes (`buckets.rs`).
    pub(super) fn bucket(&self, recipe: u16, bucket: u64) -> Vec<u8> {
        format!("{}:p:{recipe}:{bucket}", self.prefix).into_bytes()
    }

    /// What the keys of all buckets of a recipe match.
    pub(super) fn buckets(&self, recipe: u16) -> String {
        format!("{}:p:{recipe}:*", self.prefix)
    }

    /// What all keys match.
    pub(super) fn all(&self) -> String {
        format!("{}[:{{]*", self.prefix)
    }

    /// Reads a key; `None` for an unknown one.
    pub(super) fn read<'a>(&self, key: &'a [u8]) -> Option<KeyName<'a>> {
        let rest = str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?;
        if let Some(half) = rest.strip_prefix(":d:") {
            return Some(KeyName::Digest(half));
        }
        if rest.starts_with(":u:") {
            return Some(KeyName::Usage);
        }
        if let Some(bucket) = rest.strip_prefix(":p:") {
            let (recipe, bucket) = bucket.split_once(':')?;
            return Some(KeyName::PackedBucket(
                recipe.parse().ok()?,
                bucket.parse().ok()?,
            ));
        }
        let (tag, name) = rest.strip_prefix('{')?.split_once('}')?;
        if tag == "meta" {
            return Some(KeyName::Meta(name));
        }
        let shard = TAGS.iter().position(|known| known == tag)? as u32;
        match name.split_once(':') {
            Some((state @ ("b" | "n" | "f"), number)) => Some(KeyName::Book(
                state.chars().next()?,
                BookNo(number.parse().ok()?),
            )),
            _ => Some(KeyName::Shard(shard, name)),
        }
    }

    /// The books with a digest, by its first half: a hash like a bucket, which has only changes.
    pub(super) fn digest(&self, half: &str) -> Vec<u8> {
        format!("{}:d:{half}", self.prefix).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        // From the specification of Redis Cluster, and from CLUSTER KEYSLOT.
        let table = [
            ("123456789", 0x31C3),
            ("foo", 12182),
            ("{user1000}.following", 3443),
            ("user1000", 3443),
        ];
        for (key, expected) in table {
            assert_eq!(slot(key.as_bytes()), expected % SLOTS, "{key}");
        }
        assert_eq!(
            slot(b"foo{}{bar}"),
            State::<XMODEM>::calculate(b"foo{}{bar}") % SLOTS
        );
        assert_eq!(slot(b"foo{{bar}}zap"), slot(b"{bar"));
        assert_eq!(slot(b"foo{bar}{zap}"), slot(b"bar"));
    }

    #[test]
    fn keys_are_read() {
        let keys = KeySpace::new("p");
        let book = join(3, 7);
        let table = [
            (keys.bucket(2, 99), Some(KeyName::PackedBucket(2, 99))),
            (keys.digest("00ff"), Some(KeyName::Digest("00ff"))),
            (
                keys.book(BookState::Next, book),
                Some(KeyName::Book('n', book)),
            ),
            (keys.ids(255, 4), Some(KeyName::Shard(255, "ids:4"))),
            (keys.meta("audit"), Some(KeyName::Meta("audit"))),
            (b"p:x".to_vec(), None),
            (b"p{x}b:1".to_vec(), None),
            (b"other:p:1:1".to_vec(), None),
        ];
        for (key, name) in table {
            assert_eq!(keys.read(&key), name, "{}", String::from_utf8_lossy(&key));
        }
    }

    #[test]
    fn what_is_known_of_a_source_is_in_one_place() {
        let place = |key: &[u8]| place_of_rows(Table::Harvests, key);
        assert_eq!(place(b"it\0kone"), place(b"it\0"));
        assert!(matches!(place(b"it\0"), Some(Place::Shard(_))));
        assert_eq!([place(b"\0wit"), place(b"\0")], [Some(Place::Meta); 2]);
        assert_eq!([place(b"it"), place(b"")], [None; 2]);
        assert_eq!(place_of_rows(Table::Decisions, b"a\0b"), Some(Place::Meta));
    }

    #[test]
    fn lists_have_small_numbers() {
        for (shard, number) in [
            (0, 0),
            (0, 1),
            (255, 0),
            (7, 300),
            (255, (1 << NUMBER_BITS) - 1),
        ] {
            let book = join(shard, number);
            assert_eq!(
                (listed(book).0, unlisted(listed(book))),
                (number << 8 | shard, book)
            );
        }
    }

    #[test]
    fn shards_are_spread_evenly() {
        let keys = KeySpace::new("p");
        for shard in 0..SHARDS {
            assert_eq!(u32::from(slot(&keys.shard(shard, "books"))), 64 * shard);
            assert_eq!(
                slot(&keys.book(BookState::Former, join(shard, 7))),
                slot(&keys.ids(shard, 3))
            );
        }
    }
}
