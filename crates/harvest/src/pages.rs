//! Pages are read by worker processes, as books are: other people wrote them.

use super::kind::ReadsPages as _;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::{Entries, Page};
use super::{Entry, Source, SourceKind, oai};
use lapidary_extract::{Limits, Readers};

/// How many entries a worker passes on at a time.
const PART: usize = 200;

/// A page, for a worker.
#[derive(Serialize, Deserialize)]
struct PageOrder {
    source: Source,
    address: String,
    since: Option<String>,
}

/// What a worker finds in a page.
#[derive(Serialize, Deserialize)]
enum PagePart {
    /// When the source says that it answers.
    Answered(String),
    Entries(Vec<Result<Entry, String>>),
}

/// The worker's side.
///
/// # Errors
/// If `tell` fails, or the order is nonsense.
pub fn read_page(
    order: &Value,
    bytes: &[u8],
    tell: &mut dyn FnMut(Value) -> io::Result<()>,
) -> io::Result<()> {
    let PageOrder {
        source,
        address,
        since,
    } = PageOrder::deserialize(order)?;
    let page = Page {
        source: &source,
        address: &address,
        bytes,
        since: since.as_deref(),
    };
    let mut tell = |part: PagePart| tell(serde_json::to_value(part)?);
    if let Some(answered) = answered(&page) {
        tell(PagePart::Answered(answered))?;
    }
    match source.kind.entries(&page) {
        Err(why) => tell(PagePart::Entries(vec![Err(why)])),
        Ok(mut entries) => loop {
            let part: Vec<_> = entries.by_ref().take(PART).collect();
            if part.is_empty() {
                return Ok(());
            }
            tell(PagePart::Entries(part))?;
        },
    }
}

/// What a page lists, and when the source says that it answers.
pub(super) fn entries<'p>(
    readers: &'p Readers,
    page: &'p Page<'p>,
    limits: Limits,
) -> Result<(Option<String>, Entries<'p>), String> {
    // A folder is read by whoever may read it.
    if page.source.is_local() || !Readers::read_pages() {
        return Ok((answered(page), page.source.kind.entries(page)?));
    }
    let order = serde_json::to_value(PageOrder {
        source: page.source.clone(),
        address: page.address.to_owned(),
        since: page.since.map(str::to_owned),
    })
    .map_err(|error| error.to_string())?;
    let parts = readers
        .page(order, page.bytes, limits)
        .map_err(|error| error.to_string())?;
    let mut parts = parts.map(|part| {
        let part = part.map_err(|error| error.to_string())?;
        serde_json::from_value(part).map_err(|error| error.to_string())
    });
    let (answered, first) = match parts.next() {
        Some(Ok(PagePart::Answered(answered))) => (Some(answered), None),
        first => (None, first),
    };
    let entries = first.into_iter().chain(parts).flat_map(|part| match part {
        Ok(PagePart::Entries(entries)) => entries,
        Ok(PagePart::Answered(_)) => Vec::new(),
        Err(why) => vec![Err(why)],
    });
    Ok((answered, Box::new(entries)))
}

fn answered(page: &Page<'_>) -> Option<String> {
    (page.source.kind == SourceKind::Oai)
        .then(|| oai::answered(page.bytes))
        .flatten()
}
