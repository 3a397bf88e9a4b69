//! What pages listed, kept so that a page that did not change (304) need not be sent again and loses nothing.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::mem;

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};

use super::frontier::{KnownAddress, QueuedEntry};
use super::run::{Harvest, ROWS};
use super::web::Validators;
use super::{Entry, HarvestError, Source, SourceKind};
use lapidary_store::RowChange;

/// How many bytes are kept of a page, of all pages of a source, and of all sources of an ingest key.
const PAGE_BYTES: usize = 1 << 20;
const SOURCE_BYTES: u64 = 64 << 20;
const KEY_BYTES: u64 = 16 * SOURCE_BYTES;
/// Changes when pages are read otherwise.
const READING: u32 = 1;

/// What is known of the entries that are kept of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptLinks {
    /// Their size.
    bytes: u64,
    /// What decided which entries those are ([`reading_of`]).
    reading: String,
    /// Whether the page says that it is a copy of another.
    pub(super) copy: bool,
}

/// Changes with what decides about the entries of a page.
pub(super) fn reading_of(source: &Source) -> String {
    let Source {
        kind,
        address,
        contains,
        matches,
        ..
    } = source;
    let decisive =
        serde_json::to_vec(&(READING, kind, address, contains, matches)).unwrap_or_default();
    blake3::hash(&decisive).to_hex().as_str()[..32].to_owned()
}

impl KeptLinks {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Packs the entries of a page, as long as they are not too many to be kept.
pub(super) struct Packing(Option<ZlibEncoder<Vec<u8>>>);

impl Packing {
    pub(super) fn new() -> Self {
        Self(Some(ZlibEncoder::new(Vec::new(), Compression::fast())))
    }

    pub(super) fn push(&mut self, entry: &Entry) {
        let Some(packer) = &mut self.0 else { return };
        let is_written =
            serde_json::to_writer(&mut *packer, entry).is_ok() && packer.write_all(b"\n").is_ok();
        if !is_written || packer.get_ref().len() > PAGE_BYTES {
            self.0 = None;
        }
    }

    /// The packed entries; `None` if they were too many.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        self.0?
            .finish()
            .ok()
            .filter(|packed| packed.len() <= PAGE_BYTES)
    }
}

/// Whether a source may keep so many bytes, while the other sources of its key keep these.
fn has_room(bytes: u64, of_others: u64) -> bool {
    bytes <= SOURCE_BYTES && bytes + of_others <= KEY_BYTES
}

fn unpacked(packed: &[u8]) -> impl Iterator<Item = io::Result<Entry>> {
    BufReader::new(ZlibDecoder::new(packed))
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
}

/// What is kept of pages, to list them again.
pub(super) struct PageLinks<'h, 'c>(pub(super) &'h mut Harvest<'c>);

impl PageLinks<'_, '_> {
    /// The packed entries of a page that an earlier run has read, if those are what it would list today, and whatever else it is
    /// would be the same.
    pub(super) fn kept_links(
        &self,
        queued: &QueuedEntry,
        known: &KnownAddress,
    ) -> Result<Option<Vec<u8>>, HarvestError> {
        let Some(kept) = known
            .links
            .as_ref()
            .filter(|kept| kept.reading == self.0.reading && queued.read_before)
        else {
            return Ok(None);
        };
        if queued.entry.book && !kept.copy && !self.0.is_as_defined(known) {
            return Ok(None);
        }
        self.0.frontier.links(&known.address)
    }

    /// Keeps the entries of a page that was read, if its server will say whether it changed and there is room for them.
    pub(super) fn keep_links(
        &mut self,
        known: &mut KnownAddress,
        (packed, copy): (Option<Vec<u8>>, bool),
        validators: &Validators,
        rows: &mut Vec<RowChange>,
    ) {
        let before = known.links.take();
        self.0.state.kept_bytes = self
            .0
            .state
            .kept_bytes
            .saturating_sub(before.as_ref().map_or(0, KeptLinks::bytes));
        let of_others = self
            .0
            .of_key
            .as_ref()
            .map_or(0, |of_key| of_key.held.kept_bytes);
        // The pages of a repository are answers to questions that cannot be asked twice.
        let packed = packed.filter(|packed| {
            let is_known = validators.etag.is_some() || validators.modified.is_some();
            is_known
                && self.0.source.kind != SourceKind::Oai
                && has_room(self.0.state.kept_bytes + packed.len() as u64, of_others)
        });
        if let Some(packed) = packed {
            let bytes = packed.len() as u64;
            self.0.state.kept_bytes += bytes;
            known.links = Some(KeptLinks {
                bytes,
                reading: self.0.reading.clone(),
                copy,
            });
            (known.etag, known.modified) = (validators.etag.clone(), validators.modified.clone());
            rows.push(self.0.frontier.put_links(&known.address, packed));
        } else if before.is_some() {
            rows.push(self.0.frontier.drop_links(&known.address));
        }
    }

    /// Queues the entries that are kept of a page. Returns whether it came to the end.
    pub(super) fn list_kept(
        &mut self,
        queued: &QueuedEntry,
        packed: &[u8],
    ) -> Result<bool, HarvestError> {
        let mut some = Vec::new();
        // They were packed here; what cannot be unpacked is read from the page by the next run.
        for entry in unpacked(packed).map_while(Result::ok) {
            some.push(entry);
            if some.len() >= ROWS {
                self.0.listing().queue(mem::take(&mut some), queued)?;
                if self.0.work.stop().is_stopped() {
                    return Ok(false);
                }
            }
        }
        self.0.listing().queue(some, queued)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::{KEY_BYTES, PAGE_BYTES, Packing, SOURCE_BYTES, has_room, unpacked};

    #[test]
    fn the_sources_of_a_key_share_its_room() {
        assert!(has_room(SOURCE_BYTES, 0) && !has_room(SOURCE_BYTES + 1, 0));
        assert!(
            has_room(SOURCE_BYTES, KEY_BYTES - SOURCE_BYTES) && !has_room(SOURCE_BYTES, KEY_BYTES)
        );
    }

    #[test]
    fn what_is_packed_is_unpacked_and_bounded() {
        let mut packing = Packing::new();
        let entries: Vec<Entry> = (0..1_000)
            .map(|number| Entry::page(format!("http://x.y/{number}")))
            .collect();
        for entry in &entries {
            packing.push(entry);
        }
        let packed = packing.finish().expect("few entries");
        assert!(packed.len() < 10_000, "{}", packed.len());
        assert_eq!(
            unpacked(&packed)
                .map(|entry| entry.expect("an entry"))
                .collect::<Vec<_>>(),
            entries
        );
        let mut packing = Packing::new();
        for number in 0_u64..PAGE_BYTES as u64 / 32 {
            packing.push(&Entry::page(
                blake3::hash(&number.to_be_bytes()).to_hex().to_string(),
            ));
        }
        assert!(packing.finish().is_none(), "too many to be kept");
    }
}
