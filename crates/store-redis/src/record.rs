//! The record of a book as it is stored: JSON, compressed with a dictionary, which takes about half the memory.

use std::cell::RefCell;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe;

use lapidary_store::Record;

/// What most records have in common. Records that are stored can only be read with the same text.
const DICTIONARY: &str = concat!(
    r#""standing":{"disabled_at":"2026-01-01T12:00:00Z","note":{"text":"","created_at":""},"amended_at":""},"#,
    r#"{"library":"books","id":"9780000000000","rights":"protected","title":"The ","authors":["John "],"#,
    r#""language":"en","identifiers":["9780000000000"],"published":"2020","digest":"0123456789abcdef","#,
    r#""clean_digest":"0123456789abcdef","bytes":400000,"text_kept":true,"gems":{"hardened":1000,"#,
    r#""hardened-compact":5000},"changed_at":"2026-01-01T12:00:00.000000000Z"}"#,
);
const LEVEL: i32 = 9;
/// The most bytes that a record can have.
const LONGEST: usize = 16 << 20;

static ENCODER: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY.as_bytes(), LEVEL));
static DECODER: LazyLock<DecoderDictionary<'static>> =
    LazyLock::new(|| DecoderDictionary::copy(DICTIONARY.as_bytes()));

thread_local! {
    // To make one takes several times as long as to read a record.
    static DECOMPRESSOR: RefCell<Decompressor<'static>> =
        RefCell::new(Decompressor::with_prepared_dictionary(&DECODER).expect("the dictionary is one"));
}

/// What is stored of a record.
pub(super) fn encode(record: &Record) -> Vec<u8> {
    let json = serde_json::to_vec(record).expect("a record is written to memory");
    let compressor = Compressor::with_prepared_dictionary(&ENCODER);
    let stored = compressor.and_then(|mut compressor| compressor.compress(&json));
    stored.expect("the dictionary is one, and the buffer as long as needed")
}

/// Reads what is stored of a record, or some of its fields; `None` if it cannot be read.
pub(super) fn decode<T: DeserializeOwned>(stored: &[u8]) -> Option<T> {
    let length = zstd_safe::get_frame_content_size(stored).ok()??;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= LONGEST)?;
    let json = DECOMPRESSOR.with_borrow_mut(|decompressor| decompressor.decompress(stored, length));
    serde_json::from_slice(&json.ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(book: serde_json::Value) -> Record {
        serde_json::from_value(book).expect("a record")
    }

    /// Of an API client and of a publisher.
    fn records() -> [Record; 2] {
        let digests = ["a", "b"].map(|text| blake3::hash(text.as_bytes()).to_string());
        let bare = json!({
            "library": "a", "id": "17/4711", "rights": "protected", "digest": digests[0], "bytes": 10_000,
            "gems": { "hardened@5f1c": 41, "hardened-compact@5f1c": 163 },
            "changed_at": "2026-11-30T16:37:15.482910534Z",
        });
        let full = json!({
            "library": "классика", "id": "978-5-17-118366-0", "rights": "forbidden", "title": "Шинель",
            "authors": ["Николай Гоголь"], "language": "ru", "identifiers": ["978-5-17-118366-0"], "published": "1843",
            "digest": digests[0], "clean_digest": digests[1], "bytes": 77_000, "clean": true, "text_kept": true,
            "gems": {}, "changed_at": "2026-11-30T16:37:15Z", "fetched_at": "2026-11-29T16:37:15Z",
            "standing": { "note": { "text": "\u{1}\u{1f426}".repeat(100), "created_at": "2026-11-30T16:37:15Z" } },
        });
        [bare, full].map(record)
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        for record in records() {
            assert_eq!(decode::<Record>(&encode(&record)), Some(record));
        }
    }

    #[test]
    fn records_take_little_memory() {
        for record in records() {
            let json = serde_json::to_vec(&record).unwrap();
            let stored = encode(&record);
            let (stored, json) = (stored.len(), json.len());
            assert!(stored * 100 < json * 55, "{stored} of {json}");
        }
    }

    #[test]
    fn what_is_damaged_is_not_read() {
        let [stored, _] = records().map(|record| encode(&record));
        for length in 0..stored.len() {
            assert_eq!(decode::<Record>(&stored[..length]), None, "{length}");
        }
        assert_eq!(decode::<Record>(b"{}"), None);
        // Longer than any record, and of unknown length.
        let spaces = vec![b' '; LONGEST + 1];
        let known = zstd::bulk::compress(&spaces, 1).unwrap();
        let unknown = zstd::encode_all(b"{}".as_slice(), 1).unwrap();
        for stored in [known, unknown] {
            assert_eq!(decode::<serde_json::Value>(&stored), None);
        }
    }
}
