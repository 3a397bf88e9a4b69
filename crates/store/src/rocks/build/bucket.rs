//! Buckets of sorted postings.

use super::super::long_list::long_list;
use crate::BookNo;
use crate::postings::{LONG, Writer};
use crate::recipes::KnownRecipe;
use crate::rocks::owners::Owners;
use crate::rocks::schema::{self, Bucket};
use crate::runs::Posting;

/// A bucket in stored form.
pub(in crate::rocks) struct StoredBucket {
    pub(in crate::rocks) key: Vec<u8>,
    pub(in crate::rocks) value: Option<Vec<u8>>,
    /// Keys and values of the long lists.
    pub(in crate::rocks) lists: Vec<(Vec<u8>, Vec<u8>)>,
}

impl StoredBucket {
    /// Builds the bucket from all of its postings, in ascending order.
    pub(in crate::rocks) fn new(
        recipe: &KnownRecipe,
        bucket: Bucket,
        postings: &[Posting],
        owners: &Owners,
    ) -> Self {
        let mut writer = Writer::new(schema::rest_bits(recipe));
        let mut lists = Vec::new();
        for list in postings.chunk_by(|a, b| a.0 == b.0) {
            let gem = list[0].0;
            let rest = schema::rest_of(recipe, gem);
            let books = list.iter().map(|(_, book)| *book);
            if list.len() > LONG as usize {
                let books: Vec<BookNo> = books.collect();
                lists.extend(long_list(recipe, gem, &books, owners));
                writer.long(rest, books.len() as u32);
            } else {
                writer.short(rest, books);
            }
        }
        Self {
            key: bucket.key(recipe).to_vec(),
            value: writer.finish(),
            lists,
        }
    }
}
