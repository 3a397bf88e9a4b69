//! Posting lists as bytes: the values of the families `postings` and `lists`.
//!
//! A bucket has the lists of neighbouring gems:
//!
//! ```text
//! ┌────────────────┬───────┬─────────────────────────────────────────────────┬────────────────────┐
//! │ bytes of heads │ width │ heads: for each gem, rising                     │ books: those of    │
//! │ varint         │ u8    │   varint of 2 × (gem − the gem before − 1)      │ each list, rising, │
//! │                │       │          + 1 if it has several books            │ `width` bits each, │
//! │                │       │   how many, varint, if several                  │ the lowest first   │
//! └────────────────┴───────┴─────────────────────────────────────────────────┴────────────────────┘
//! ```
//!
//! Gems are hashes, so that a gap takes little more than a byte, and a book as many bits as the number of books. The heads
//! are apart so that a gem is found, and known to be a common one, without a look at the books. A list of more than
//! [`LONG`] books stands by itself: varints of book − the book before − 1.

use super::varint;
use crate::index::BookNo;

/// The longest list of a bucket. Longer ones are few, and would have to be read with every neighbour.
pub(super) const LONG: u32 = 1024;

/// Bytes that are not what the writer makes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// A bucket to read: all its lists in rising order of gems, each with the lower bits of its gem. Ends behind an error.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    heads: &'a [u8],
    books: Bits<'a>,
    /// One more than the gem before.
    least: u64,
}

/// A list of a bucket.
#[derive(Debug, Clone)]
pub(super) enum List<'a> {
    /// It stands here.
    Short(Books<'a>),
    /// It stands by itself, and has so many books.
    Long(u32),
}

/// The books of a list, in rising order.
#[derive(Debug, Clone)]
pub(super) struct Books<'a> {
    bits: Bits<'a>,
    count: usize,
}

/// Numbers of equal width.
#[derive(Debug, Clone, Copy)]
struct Bits<'a> {
    bytes: &'a [u8],
    width: usize,
    /// How many numbers are behind.
    taken: usize,
}

impl Bits<'_> {
    /// Whether so many more numbers stand here.
    fn has(self, count: usize) -> bool {
        (self.taken + count) * self.width <= 8 * self.bytes.len()
    }

    /// The number in front; what stands behind the end is 0.
    #[inline]
    fn first(self) -> u32 {
        let bit = self.taken * self.width;
        let rest = self.bytes.get(bit / 8..).unwrap_or_default();
        let word = rest.first_chunk().map_or_else(
            || rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
            |eight| u64::from_le_bytes(*eight),
        );
        (word >> (bit % 8) & ((1 << self.width) - 1)) as u32
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(mut bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let mut parts = || {
            let heads = usize::try_from(varint::take(&mut bytes)?).ok()?;
            let width = usize::from(*bytes.split_off_first()?);
            let heads = bytes.split_off(..heads)?;
            let books = Bits { bytes, width, taken: 0 };
            (1..=32).contains(&width).then_some(Self { heads, books, least: 0 })
        };
        parts().ok_or(Unreadable)
    }

    /// The list of the gem with these lower bits. Reads no further than to it.
    pub(super) fn find(&self, rest: u64) -> Result<Option<List<'a>>, Unreadable> {
        let mut lists = self.clone();
        while !lists.heads.is_empty() {
            let (gem, list) = lists.read().ok_or(Unreadable)?;
            if gem >= rest {
                return Ok((gem == rest).then_some(list));
            }
        }
        Ok(None)
    }

    /// The next list, if there is one that can be read.
    #[inline]
    fn read(&mut self) -> Option<(u64, List<'a>)> {
        let head = varint::take(&mut self.heads)?;
        let gem = self.least.checked_add(head >> 1)?;
        self.least = gem.checked_add(1)?;
        let count = if head & 1 == 0 { 1 } else { u32::try_from(varint::take(&mut self.heads)?).ok()? };
        if count > LONG {
            return Some((gem, List::Long(count)));
        }
        let books = Books { bits: self.books, count: count as usize };
        self.books.taken += books.count;
        books.bits.has(books.count).then_some((gem, List::Short(books)))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u64, List<'a>), Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.heads.is_empty() {
            // Books that belong to no gem are damage too.
            let rest = std::mem::take(&mut self.books.bytes);
            let unread = rest.len() > (self.books.taken * self.books.width).div_ceil(8);
            return unread.then_some(Err(Unreadable));
        }
        let next = self.read().ok_or(Unreadable);
        if next.is_err() {
            (self.heads, self.books.bytes) = (&[], &[]);
        }
        Some(next)
    }
}

impl List<'_> {
    /// How many books it has.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Short(books) => books.len() as u32,
            Self::Long(count) => *count,
        }
    }
}

impl Iterator for Books<'_> {
    type Item = BookNo;

    #[inline]
    fn next(&mut self) -> Option<BookNo> {
        self.count = self.count.checked_sub(1)?;
        let book = self.bits.first();
        self.bits.taken += 1;
        Some(BookNo(book))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Books<'_> {}

/// A bucket in the making.
#[derive(Default)]
pub(super) struct Writer {
    heads: Vec<u8>,
    books: Vec<BookNo>,
    least: u64,
}

impl Writer {
    /// Adds a list of at most [`LONG`] books, in rising order; gems rise from call to call.
    pub(super) fn short(&mut self, rest: u64, books: impl IntoIterator<Item = BookNo>) {
        let before = self.books.len();
        self.books.extend(books);
        let count = (self.books.len() - before) as u64;
        if count > 0 {
            self.head(rest, count);
        }
    }

    /// Adds a list that stands by itself.
    pub(super) fn long(&mut self, rest: u64, count: u32) {
        self.head(rest, u64::from(count));
    }

    fn head(&mut self, rest: u64, count: u64) {
        varint::put(&mut self.heads, (rest - self.least) << 1 | u64::from(count > 1));
        if count > 1 {
            varint::put(&mut self.heads, count);
        }
        self.least = rest + 1;
    }

    /// The bucket; `None` when it has no list. The writer is as new then.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        if self.heads.is_empty() {
            return None;
        }
        let largest = self.books.iter().max().map_or(0, |book| book.0);
        let width = (u32::BITS - largest.leading_zeros()).max(1);
        let mut bytes = Vec::with_capacity(self.heads.len() + self.books.len() * width as usize / 8 + 12);
        varint::put(&mut bytes, self.heads.len() as u64);
        bytes.push(width as u8);
        bytes.append(&mut self.heads);
        let (mut word, mut bits) = (0_u64, 0);
        for book in self.books.drain(..) {
            word |= u64::from(book.0) << bits;
            bits += width;
            while bits >= 8 {
                bytes.push(word as u8);
                word >>= 8;
                bits -= 8;
            }
        }
        if bits > 0 {
            bytes.push(word as u8);
        }
        self.least = 0;
        Some(bytes)
    }
}

/// Encodes a list that stands by itself: books in rising order.
pub(super) fn encode_list(books: &[BookNo]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(books.len() * 2);
    let mut least = 0;
    for book in books {
        varint::put(&mut bytes, u64::from(book.0 - least));
        least = book.0.wrapping_add(1);
    }
    bytes
}

/// Decodes a list that stands by itself; `None` when these bytes are none.
pub(super) fn decode_list(mut bytes: &[u8]) -> Option<Vec<BookNo>> {
    let mut books = Vec::with_capacity(bytes.len());
    let mut least = 0_u64;
    while !bytes.is_empty() {
        let book = least.checked_add(varint::take(&mut bytes)?)?;
        books.push(BookNo(u32::try_from(book).ok()?));
        least = book + 1;
    }
    Some(books)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    type Lists = BTreeMap<u64, BTreeSet<u32>>;

    fn any_lists() -> impl Strategy<Value = Lists> {
        let gem = prop_oneof![0..40_u64, Just((1 << 44) - 1), 0..1_u64 << 44];
        let book = prop_oneof![0..300_u32, any::<u32>(), Just(u32::MAX)];
        proptest::collection::btree_map(gem, proptest::collection::btree_set(book, 1..5), 0..40)
    }

    fn write(lists: &Lists) -> Option<Vec<u8>> {
        let mut writer = Writer::default();
        for (gem, books) in lists {
            writer.short(*gem, books.iter().copied().map(BookNo));
        }
        writer.finish()
    }

    fn read(bytes: &[u8]) -> Option<Lists> {
        let lists = Reader::new(bytes).ok()?.map(|list| match list.ok()? {
            (gem, List::Short(books)) => Some((gem, books.map(|book| book.0).collect())),
            (_, List::Long(_)) => None,
        });
        lists.collect()
    }

    proptest! {
        #[test]
        fn a_bucket_comes_back(lists in any_lists(), asked in 0..45_u64) {
            let Some(bytes) = write(&lists) else {
                prop_assert!(lists.is_empty());
                return Ok(());
            };
            prop_assert_eq!(read(&bytes), Some(lists.clone()));
            for gem in lists.keys().copied().chain([asked]) {
                let found = Reader::new(&bytes).unwrap().find(gem).unwrap().map(|list| match list {
                    List::Short(books) => books.map(|book| book.0).collect(),
                    List::Long(_) => BTreeSet::new(),
                });
                prop_assert_eq!(found.as_ref(), lists.get(&gem));
            }
        }

        #[test]
        fn a_cut_bucket_is_refused(lists in any_lists(), cut in any::<prop::sample::Index>()) {
            if let Some(bytes) = write(&lists) {
                prop_assert_eq!(read(&bytes[..cut.index(bytes.len())]), None);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), gem in any::<u64>()) {
            let _ = (read(&bytes), Reader::new(&bytes).map(|bucket| bucket.find(gem)), decode_list(&bytes));
        }

        #[test]
        fn a_list_comes_back(books in proptest::collection::btree_set(prop_oneof![0..300_u32, any::<u32>()], 0..60)) {
            let books: Vec<BookNo> = books.into_iter().map(BookNo).collect();
            prop_assert_eq!(decode_list(&encode_list(&books)), Some(books));
        }
    }

    #[test]
    fn a_long_list_is_told_by_its_length_alone() {
        let mut writer = Writer::default();
        writer.short(3, [BookNo(7)]);
        writer.long(4, 5_000);
        writer.short(9, (0..LONG).map(BookNo));
        let bytes = writer.finish().unwrap();
        assert_eq!(bytes.len(), 2 + (1 + 3 + 3) + (10 * (1 + LONG as usize)).div_ceil(8));
        let lists: Vec<_> = Reader::new(&bytes).unwrap().map(|list| list.unwrap()).map(|(g, l)| (g, l.len())).collect();
        assert_eq!(lists, [(3, 1), (4, 5_000), (9, LONG)]);
        assert!(matches!(Reader::new(&bytes).unwrap().find(4), Ok(Some(List::Long(5_000)))));
    }

    #[test]
    fn the_last_book_of_all_ends_a_list() {
        let books = [BookNo(0), BookNo(u32::MAX)];
        assert_eq!(decode_list(&encode_list(&books)).unwrap(), books);
        assert_eq!(decode_list(&[0xff; 9]), None);
    }
}
