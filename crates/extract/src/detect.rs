//! Detects the encoding of bytes.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

use super::encoding::Encoding;
use super::{cyrillic, latin, wide};

/// The part of a long text that is examined: this many bytes at its start, and as many in its middle, because the
/// start may be a preface in another language, or a licence in ASCII.
pub(super) const PIECE: usize = 1 << 17;

/// Other encodings match the pattern of UTF-8 by chance in only a few of their non-ASCII characters. One broken
/// character among this many intact ones is damage, and does not indicate another encoding.
const WHOLE_PER_BROKEN: usize = 100;

const ESCAPE: u8 = 0x1B;

/// The most likely encoding of the bytes. There is always an answer: whether the bytes are text in that encoding is a
/// separate question.
pub(super) fn encoding(bytes: &[u8]) -> Encoding {
    let sample = lines(bytes);
    if let Some(encoding) = other_than_utf8(start(bytes), &sample) {
        encoding
    } else if simdutf8::basic::from_utf8(bytes).is_ok() || is_nearly_utf8(&sample) {
        Encoding::UTF_8
    } else {
        in_bytes(&sample)
    }
}

/// The encoding of a text that may be valid UTF-8 all the same.
pub(super) fn other_than_utf8(start: &[u8], sample: &[u8]) -> Option<Encoding> {
    // Japanese in 7 bits, recognised by its escape sequences, or else UTF-8.
    wide::detect(start).or_else(|| {
        (sample.is_ascii() && sample.contains(&ESCAPE))
            .then(|| Encoding::web(guess(sample, Iso2022JpDetection::Allow)))
    })
}

/// The encoding of a text that is not Unicode.
fn in_bytes(sample: &[u8]) -> Encoding {
    let guess = guess(sample, Iso2022JpDetection::Deny);
    cyrillic::detect(sample, guess).unwrap_or_else(|| Encoding::web(latin::refine(sample, guess)))
}

fn guess(sample: &[u8], iso_2022_jp: Iso2022JpDetection) -> &'static encoding_rs::Encoding {
    let mut detector = EncodingDetector::new(iso_2022_jp);
    // The sample may end in the middle of a character; treating that as the end would rule out the right encoding.
    detector.feed(sample, false);
    detector.guess(
        None,
        if iso_2022_jp == Iso2022JpDetection::Allow {
            Utf8Detection::Allow
        } else {
            Utf8Detection::Deny
        },
    )
}

/// A sample of a text in `encoding`, cut between characters.
pub(super) fn sample(bytes: &[u8], encoding: Encoding) -> Cow<'_, [u8]> {
    if encoding.is_wide() {
        Cow::Borrowed(start(bytes))
    } else {
        lines(bytes)
    }
}

/// The start of the bytes, cut at a multiple of four.
fn start(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(PIECE)]
}

/// The start and middle of the bytes, in whole lines: except in UTF-16 and UTF-32, a line feed is never part of
/// another character.
fn lines(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.len() <= 2 * PIECE {
        return Cow::Borrowed(bytes);
    }
    lines_of(start(bytes), &bytes[bytes.len() / 2..][..PIECE])
}

/// The whole lines of the start and middle of a text.
pub(super) fn lines_of<'t>(head: &'t [u8], middle: &[u8]) -> Cow<'t, [u8]> {
    let head = &head[..memchr::memrchr(b'\n', head).map_or(head.len(), |end| end + 1)];
    match (
        memchr::memchr(b'\n', middle),
        memchr::memrchr(b'\n', middle),
    ) {
        (Some(first), Some(last)) => Cow::Owned([head, &middle[first..last]].concat()),
        _ => Cow::Borrowed(head),
    }
}

/// Whether it is UTF-8 with a few stray bytes.
fn is_nearly_utf8(sample: &[u8]) -> bool {
    let mut whole = 0;
    let mut broken = 0;
    let mut chunks = sample.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        whole += chunk
            .valid()
            .chars()
            .filter(|char| !char.is_ascii())
            .count();
        // The sample may be cut in the middle of a character.
        broken += usize::from(!chunk.invalid().is_empty() && chunks.peek().is_some());
    }
    whole > 0 && whole >= broken * WHOLE_PER_BROKEN
}
