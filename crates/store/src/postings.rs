//! Posting lists as bytes.
//!
//! A bucket contains the lists of neighbouring gems. Their lower bits are an ascending sequence of numbers below
//! 2^`rest_bits`:
//!
//! ```text
//! ┌────────┬─────────────┬──────────────────────────┬───────────┬────────────┬──────────────────────┐
//! │ gems   │ width, +128 │ if several: bytes; then  │ highs:    │ lows:      │ books: those of each │
//! │ varint │ if several  │ for each gem of several  │ a bit for │ `low` bits │ list, rising,        │
//! │        │ u8          │ books: varint of gems    │ each gem  │ for each   │ `width` bits each,   │
//! │        │             │ passed over, how many    │ and high  │ gem        │ the lowest first     │
//! └────────┴─────────────┴──────────────────────────┴───────────┴────────────┴──────────────────────┘
//! ```
//!
//! Gems are hashes, so no encoding gains over that of Elias and Fano (Elias 1974, "Efficient storage and retrieval by
//! content and address of static files"): the lower bits of each gem as they are, and the higher bits in unary, a 1 for
//! each gem and a 0 where the next higher value begins. This takes about two bits more than the gap between two gems,
//! and finds a gem without reading those before it. A book takes as many bits as the number of books needs. Most gems
//! have one book; the counts of the others are stored apart from the books, so that a common gem is recognised without
//! reading them. A list of more than [`LONG`] books is stored separately, in one part per library: varints of
//! book − previous book − 1.

use lapidary_gems::varint;

use super::BookNo;
use super::bits::{Numbers, pack, word};

/// Maximum length of a list inside a bucket. Longer ones are few, and would have to be read along with every
/// neighbour.
pub const LONG: u32 = 1024;

/// Flag in the width byte: some gems have several books.
const SEVERAL: u8 = 0x80;

/// The bytes were not produced by the writer.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable;

/// A bucket being read.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    gems: usize,
    several: &'a [u8],
    highs: Highs<'a>,
    lows: Numbers<'a>,
    books: Numbers<'a>,
}

/// A list of a bucket.
#[derive(Debug, Clone)]
pub enum List<'a> {
    /// The list is in the bucket.
    Short(Books<'a>),
    /// The list is stored separately and has this many books.
    Long(u32),
}

/// The books of a list, in ascending order.
#[derive(Debug, Clone)]
pub struct Books<'a> {
    all: Numbers<'a>,
    at: usize,
    count: usize,
}

/// The higher bits of all gems, in unary.
#[derive(Clone, Copy)]
struct Highs<'a>(&'a [u8]);

impl Highs<'_> {
    /// Whether this bit stands for a gem.
    #[inline]
    fn has(self, bit: usize) -> bool {
        self.0
            .get(bit / 8)
            .is_some_and(|byte| byte >> (bit % 8) & 1 != 0)
    }

    /// The position after the zero that `before` other zeros precede.
    #[inline]
    fn behind_zero(self, mut before: usize) -> usize {
        for at in (0..self.0.len()).step_by(8) {
            let mut zeros = !word(self.0, at);
            let count = zeros.count_ones() as usize;
            if before < count {
                (0..before).for_each(|_| zeros &= zeros - 1);
                return 8 * at + zeros.trailing_zeros() as usize + 1;
            }
            before -= count;
        }
        8 * self.0.len()
    }
}

/// The gems of several books, in ascending order.
#[derive(Clone, Copy)]
struct Several<'a> {
    bytes: &'a [u8],
    /// The index of the next such gem; `usize::MAX` after the last.
    gem: usize,
}

impl<'a> Several<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut several = Self { bytes, gem: 0 };
        several.pass(0)?;
        Some(several)
    }

    fn pass(&mut self, gem: usize) -> Option<()> {
        self.gem = usize::MAX;
        if !self.bytes.is_empty() {
            self.gem = gem.checked_add(usize::try_from(varint::take(&mut self.bytes)?).ok()?)?;
        }
        Some(())
    }

    /// The number of books of the next such gem.
    fn take(&mut self) -> Option<u32> {
        let count = u32::try_from(varint::take(&mut self.bytes)?)
            .ok()
            .filter(|count| *count > 1)?;
        self.pass(self.gem.checked_add(1)?)?;
        Some(count)
    }

    /// The number of books of this gem, which must not be after the next such gem.
    fn of(&mut self, gem: usize) -> Option<u32> {
        if gem == self.gem {
            self.take()
        } else {
            Some(1)
        }
    }
}

/// How many books of a list are stored in its bucket.
fn stored(count: u32) -> usize {
    if count > LONG { 0 } else { count as usize }
}

/// The number of low bits of a gem in a bucket of `gems` gems.
fn low_bits(rest_bits: u32, gems: usize) -> Option<u32> {
    rest_bits.checked_sub(gems.checked_next_power_of_two()?.ilog2())
}

/// The number of bits taken by the high parts.
fn high_bits(rest_bits: u32, low: u32, gems: usize) -> usize {
    gems + (1 << (rest_bits - low))
}

impl<'a> Reader<'a> {
    /// Reads a bucket whose gems have lower bits of this width.
    pub fn new(bytes: &'a [u8], rest_bits: u32) -> Result<Self, Unreadable> {
        Self::parse(bytes, rest_bits).ok_or(Unreadable)
    }

    fn parse(mut bytes: &'a [u8], rest_bits: u32) -> Option<Self> {
        let gems = usize::try_from(varint::take(&mut bytes)?)
            .ok()
            .filter(|gems| *gems > 0)?;
        let width = *bytes.split_off_first()?;
        let mut several: &[u8] = &[];
        if width & SEVERAL != 0 {
            let length = usize::try_from(varint::take(&mut bytes)?).ok()?;
            several = bytes.split_off(..length)?;
        }
        let width = usize::from(width & !SEVERAL);
        let low = low_bits(rest_bits, gems)?;
        // A count too large for the remaining bytes fails here.
        let highs = Highs(bytes.split_off(..high_bits(rest_bits, low, gems).div_ceil(8))?);
        let lows = Numbers::take(&mut bytes, gems, low as usize)?;
        let mut stored_books = gems;
        let mut each = Several::new(several)?;
        while each.gem < gems {
            stored_books = (stored_books - 1).checked_add(stored(each.take()?))?;
        }
        let books = Numbers::take(&mut bytes, stored_books, width)?;
        let all = bytes.is_empty() && each.gem == usize::MAX && (1..=32).contains(&width);
        all.then_some(Self {
            gems,
            several,
            highs,
            lows,
            books,
        })
    }

    /// The list of the gem with these lower bits. Reads no other list.
    pub fn find(&self, rest: u64) -> Result<Option<List<'a>>, Unreadable> {
        let high = usize::try_from(rest >> self.lows.width()).map_err(|_| Unreadable)?;
        let low = rest & ((1 << self.lows.width()) - 1);
        let mut bit = if high == 0 {
            0
        } else {
            self.highs.behind_zero(high - 1)
        };
        while self.highs.has(bit) {
            // The bits before it are one for each gem, plus the zeros.
            let gem = bit - high;
            let found = self.lows.get(gem);
            if found == low {
                return self.list(gem).map(Some).ok_or(Unreadable);
            }
            if found > low {
                break;
            }
            bit += 1;
        }
        Ok(None)
    }

    fn list(&self, gem: usize) -> Option<List<'a>> {
        let mut books_before = gem;
        let mut several = Several::new(self.several)?;
        while several.gem < gem {
            books_before = books_before - 1 + stored(several.take()?);
        }
        several.of(gem).map(|count| self.at(books_before, count))
    }

    fn at(&self, books_before: usize, count: u32) -> List<'a> {
        if count > LONG {
            return List::Long(count);
        }
        List::Short(Books {
            all: self.books,
            at: books_before,
            count: count as usize,
        })
    }
}

impl<'a> IntoIterator for Reader<'a> {
    type Item = Result<(u64, List<'a>), Unreadable>;
    type IntoIter = Lists<'a>;

    fn into_iter(self) -> Lists<'a> {
        let several = Several::new(self.several).unwrap_or(Several {
            bytes: &[],
            gem: usize::MAX,
        });
        Lists {
            bucket: self,
            several,
            gem: 0,
            bit: 0,
            books: 0,
            least: 0,
        }
    }
}

/// All lists of a bucket in ascending order of gems, each with the lower bits of its gem. Ends after an error.
pub struct Lists<'a> {
    bucket: Reader<'a>,
    several: Several<'a>,
    /// Index of the next gem.
    gem: usize,
    /// Position in the high bits from which to look for it.
    bit: usize,
    /// Number of books of the gems before it.
    books: usize,
    /// One more than the previous gem.
    least: u64,
}

impl<'a> Lists<'a> {
    fn read(&mut self) -> Option<(u64, List<'a>)> {
        let Reader { highs, lows, .. } = self.bucket;
        while !highs.has(self.bit) {
            if self.bit >= 8 * highs.0.len() {
                return None;
            }
            self.bit += 1;
        }
        let rest = ((self.bit - self.gem) as u64) << lows.width() | lows.get(self.gem);
        let count = self.several.of(self.gem)?;
        let list = self.bucket.at(self.books, count);
        self.books += stored(count);
        self.bit += 1;
        self.gem += 1;
        let rises = rest >= self.least;
        self.least = rest + 1;
        rises.then_some((rest, list))
    }
}

impl<'a> Iterator for Lists<'a> {
    type Item = Result<(u64, List<'a>), Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.gem >= self.bucket.gems {
            return None;
        }
        let next = self.read().ok_or(Unreadable);
        if next.is_err() {
            self.gem = self.bucket.gems;
        }
        Some(next)
    }
}

impl List<'_> {
    /// Number of books.
    #[must_use]
    pub fn books(&self) -> u32 {
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
        let book = self.all.get(self.at) as u32;
        self.at += 1;
        Some(BookNo(book))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Books<'_> {}

/// A bucket being written.
pub struct Writer {
    rest_bits: u32,
    gems: Vec<u64>,
    several: Vec<u8>,
    /// Number of gems up to and including the last one with several books.
    passed: usize,
    books: Vec<BookNo>,
}

impl Writer {
    /// Creates a writer for gems with lower bits of this width.
    #[must_use]
    pub fn new(rest_bits: u32) -> Self {
        Self {
            rest_bits,
            gems: Vec::new(),
            several: Vec::new(),
            passed: 0,
            books: Vec::new(),
        }
    }

    /// Adds a list of at most [`LONG`] books, in ascending order. Gems must be ascending over all calls.
    pub fn short(&mut self, rest: u64, books: impl IntoIterator<Item = BookNo>) {
        let before = self.books.len();
        self.books.extend(books);
        let count = (self.books.len() - before) as u64;
        if count > 0 {
            self.gem(rest, count);
        }
    }

    /// Adds a list that is stored separately.
    pub fn long(&mut self, rest: u64, count: u32) {
        self.gem(rest, u64::from(count));
    }

    fn gem(&mut self, rest: u64, count: u64) {
        if count > 1 {
            varint::put(&mut self.several, (self.gems.len() - self.passed) as u64);
            varint::put(&mut self.several, count);
            self.passed = self.gems.len() + 1;
        }
        self.gems.push(rest);
    }

    /// Returns the bucket, or `None` if it has no lists, and resets the writer.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        let low = low_bits(self.rest_bits, self.gems.len()).filter(|_| !self.gems.is_empty())?;
        let largest = self.books.iter().max().map_or(0, |book| book.0);
        let width = (u32::BITS - largest.leading_zeros()).max(1);
        let bits = self.gems.len() * (low as usize + 3) + self.books.len() * width as usize;
        let mut bytes = Vec::with_capacity(self.several.len() + bits / 8 + 12);
        varint::put(&mut bytes, self.gems.len() as u64);
        if self.several.is_empty() {
            bytes.push(width as u8);
        } else {
            bytes.push(width as u8 | SEVERAL);
            varint::put(&mut bytes, self.several.len() as u64);
            bytes.append(&mut self.several);
        }
        self.put_highs(&mut bytes, low);
        pack(
            &mut bytes,
            self.gems.drain(..).map(|rest| rest & ((1 << low) - 1)),
            low,
        );
        pack(
            &mut bytes,
            self.books.drain(..).map(|book| u64::from(book.0)),
            width,
        );
        self.passed = 0;
        Some(bytes)
    }

    /// Appends the high parts of the gems.
    fn put_highs(&self, bytes: &mut Vec<u8>, low: u32) {
        let start = bytes.len();
        let bits = high_bits(self.rest_bits, low, self.gems.len());
        bytes.resize(start + bits.div_ceil(8), 0);
        for (gem, rest) in self.gems.iter().enumerate() {
            let bit = gem + (rest >> low) as usize;
            bytes[start + bit / 8] |= 1 << (bit % 8);
        }
    }
}

/// Encodes a separate list; the books must be in ascending order.
#[must_use]
pub fn encode_list(books: &[BookNo]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(books.len() * 2);
    let mut least = 0;
    for book in books {
        varint::put(&mut bytes, u64::from(book.0 - least));
        least = book.0.wrapping_add(1);
    }
    bytes
}

/// Decodes a separate list. Returns `None` if the bytes are invalid.
#[must_use]
pub fn decode_list(mut bytes: &[u8]) -> Option<Vec<BookNo>> {
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

    fn any_lists(rest_bits: u32) -> impl Strategy<Value = Lists> {
        let gem = prop_oneof![0..40_u64, Just((1 << rest_bits) - 1), 0..1_u64 << rest_bits];
        let book = prop_oneof![0..300_u32, any::<u32>(), Just(u32::MAX)];
        let books = prop_oneof![4 => 1..2_usize, 1 => 2..5_usize]
            .prop_flat_map(move |count| proptest::collection::btree_set(book.clone(), count));
        proptest::collection::btree_map(gem, books, 0..200)
    }

    fn any_bucket() -> impl Strategy<Value = (u32, Lists)> {
        prop_oneof![Just(6), Just(12), Just(44)]
            .prop_flat_map(|rest_bits| (Just(rest_bits), any_lists(rest_bits)))
    }

    fn write(rest_bits: u32, lists: &Lists) -> Option<Vec<u8>> {
        let mut writer = Writer::new(rest_bits);
        for (gem, books) in lists {
            writer.short(*gem, books.iter().copied().map(BookNo));
        }
        writer.finish()
    }

    fn read(rest_bits: u32, bytes: &[u8]) -> Option<Lists> {
        let lists =
            Reader::new(bytes, rest_bits)
                .ok()?
                .into_iter()
                .map(|list| match list.ok()? {
                    (gem, List::Short(books)) => Some((gem, books.map(|book| book.0).collect())),
                    (_, List::Long(_)) => None,
                });
        lists.collect()
    }

    proptest! {
        #[test]
        fn a_bucket_comes_back((rest_bits, lists) in any_bucket(), asked in 0..45_u64) {
            let Some(bytes) = write(rest_bits, &lists) else {
                prop_assert!(lists.is_empty());
                return Ok(());
            };
            prop_assert_eq!(read(rest_bits, &bytes), Some(lists.clone()));
            for gem in lists.keys().copied().chain([asked]) {
                let found = Reader::new(&bytes, rest_bits).unwrap().find(gem).unwrap().map(|list| match list {
                    List::Short(books) => books.map(|book| book.0).collect(),
                    List::Long(_) => BTreeSet::new(),
                });
                prop_assert_eq!(found.as_ref(), lists.get(&gem));
            }
        }

        #[test]
        fn a_cut_bucket_is_refused((rest_bits, lists) in any_bucket(), cut in any::<prop::sample::Index>()) {
            if let Some(bytes) = write(rest_bits, &lists) {
                prop_assert_eq!(read(rest_bits, &bytes[..cut.index(bytes.len())]), None);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), gem in any::<u64>()) {
            for rest_bits in [6, 12, 44] {
                let found = Reader::new(&bytes, rest_bits).map(|bucket| bucket.find(gem));
                let _ = (read(rest_bits, &bytes), found, decode_list(&bytes));
            }
        }

        #[test]
        fn a_list_comes_back(books in proptest::collection::btree_set(prop_oneof![0..300_u32, any::<u32>()], 0..60)) {
            let books: Vec<BookNo> = books.into_iter().map(BookNo).collect();
            prop_assert_eq!(decode_list(&encode_list(&books)), Some(books));
        }
    }

    #[test]
    fn a_long_list_is_told_by_its_length_alone() {
        let mut writer = Writer::new(12);
        writer.short(3, [BookNo(7)]);
        writer.long(4, 5_000);
        writer.short(9, (0..LONG).map(BookNo));
        let bytes = writer.finish().unwrap();
        let heads = 2 + 1 + 2 * (1 + 2) + (3_usize + 4).div_ceil(8) + (3_usize * 10).div_ceil(8);
        assert_eq!(bytes.len(), heads + (10 * (1 + LONG as usize)).div_ceil(8));
        let bucket = Reader::new(&bytes, 12).unwrap();
        let lists: Vec<_> = bucket
            .into_iter()
            .map(|list| list.unwrap())
            .map(|(g, l)| (g, l.books()))
            .collect();
        assert_eq!(lists, [(3, 1), (4, 5_000), (9, LONG)]);
        assert!(matches!(bucket.find(4), Ok(Some(List::Long(5_000)))));
    }

    #[test]
    fn the_last_book_of_all_ends_a_list() {
        let books = [BookNo(0), BookNo(u32::MAX)];
        assert_eq!(decode_list(&encode_list(&books)).unwrap(), books);
        assert_eq!(decode_list(&[0xff; 9]), None);
    }
}
