//! Long plain texts in UTF-8, read in pieces and not held.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::detect::PIECE;
use super::encoding::Encoding;
use super::formats::plain;
use super::{noise, sniff};

/// How much is read beyond a piece's length, to find its end.
const MARGIN: usize = 4 << 10;
/// The most bytes of a piece: a text in which a piece finds no end is read whole.
const LONGEST: usize = 8 << 20;

/// A long plain text in UTF-8, in pieces that several threads may read. It is what [`read`](super::read) would return:
/// if that is in doubt, there are no pieces, and the file is to be read whole.
#[derive(Debug)]
pub struct Pieces<R> {
    source: Mutex<PieceSource<R>>,
    /// What the control characters count, and the length in bytes, so far.
    controls: AtomicUsize,
    length: AtomicUsize,
}

#[derive(Debug)]
struct PieceSource<R> {
    file: R,
    /// Where a piece may end, behind some bytes.
    end: fn(&[u8], usize) -> Option<usize>,
    /// What was read behind the last piece, and its offset.
    rest: Vec<u8>,
    offset: u64,
}

impl<R: Read + Seek> Pieces<R> {
    /// Starts to read a file from its start. `name` is used only where the content is ambiguous; `end` is where a piece
    /// of these bytes may end, behind so many of them.
    ///
    /// # Errors
    /// Those of `source`.
    pub fn new(
        mut source: R,
        name: Option<&str>,
        end: fn(&[u8], usize) -> Option<usize>,
    ) -> io::Result<Option<Self>> {
        let length = source.seek(SeekFrom::End(0))?;
        if length <= 2 * PIECE as u64 {
            return Ok(None);
        }
        let (head, middle) = (
            piece_at(&mut source, 0)?,
            piece_at(&mut source, length / 2)?,
        );
        if !sniff::kind(&head, name).is_plain() || !plain::is_utf8(&head, &middle) {
            return Ok(None);
        }
        source.rewind()?;
        let source = PieceSource {
            file: source,
            end,
            rest: Vec::new(),
            offset: 0,
        };
        Ok(Some(Self {
            source: Mutex::new(source),
            controls: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
        }))
    }

    /// Reads the next piece into `buffer`. Returns it and its offset in bytes, or `None` behind the last.
    ///
    /// # Errors
    /// Those of the source; [`io::ErrorKind::InvalidData`] if the text is not UTF-8, or if a piece has no end.
    pub fn next<'p>(&self, buffer: &'p mut Vec<u8>) -> io::Result<Option<(&'p str, u64)>> {
        let offset = self.source.lock().next(buffer)?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let piece = simdutf8::basic::from_utf8(buffer)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        self.controls.fetch_add(
            noise::count_controls(piece.as_bytes(), Encoding::UTF_8),
            Ordering::Relaxed,
        );
        self.length.fetch_add(piece.len(), Ordering::Relaxed);
        Ok(Some((piece, offset)))
    }

    /// Whether what was read is text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        let [controls, length] =
            [&self.controls, &self.length].map(|count| count.load(Ordering::Relaxed));
        noise::allows(controls, length, Encoding::UTF_8)
    }
}

fn piece_at(source: &mut (impl Read + Seek), start: u64) -> io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(PIECE);
    source.seek(SeekFrom::Start(start))?;
    source.take(PIECE as u64).read_to_end(&mut piece)?;
    Ok(piece)
}

impl<R: Read> PieceSource<R> {
    /// Reads the next piece, and returns its offset.
    fn next(&mut self, piece: &mut Vec<u8>) -> io::Result<u64> {
        piece.clear();
        piece.append(&mut self.rest);
        let (mut from, mut to) = (PIECE, PIECE + MARGIN);
        while from < LONGEST {
            let more = to.saturating_sub(piece.len()) as u64;
            let is_last = self.file.by_ref().take(more).read_to_end(piece)? == 0;
            let end = if is_last {
                Some(piece.len())
            } else {
                (self.end)(piece, from)
            };
            if let Some(end) = end {
                self.rest.extend_from_slice(&piece[end..]);
                piece.truncate(end);
                let offset = self.offset;
                self.offset += end as u64;
                return Ok(offset);
            }
            (from, to) = (piece.len(), piece.len() + PIECE);
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::super::Bytes;
    use super::{Pieces, plain};

    /// A piece may end behind any full stop.
    fn end(bytes: &[u8], from: usize) -> Option<usize> {
        memchr::memchr(b'.', bytes.get(from..)?).map(|at| from + at + 1)
    }

    /// The text of the pieces, if there are any.
    fn in_pieces(bytes: &[u8]) -> Option<(String, usize)> {
        let pieces = Pieces::new(Cursor::new(bytes), None, end).expect("no errors")?;
        let (mut buffer, mut all, mut count) = (Vec::new(), String::new(), 0);
        while let Some((piece, offset)) = pieces.next(&mut buffer).ok()? {
            assert_eq!(offset, all.len() as u64);
            all.push_str(piece);
            count += 1;
        }
        pieces.is_text().then_some((all, count))
    }

    #[test]
    fn a_long_text_has_pieces() {
        let text = "Гранит, и самоцветы. ".repeat(20_000);
        assert!(in_pieces(text.as_bytes()) == Some((text, 6)));
        assert_eq!(
            in_pieces("Гранит. ".repeat(9).as_bytes()),
            None,
            "it is short"
        );
        // One that has no end is one piece.
        let text = "Гранит, и самоцветы, ".repeat(20_000);
        assert!(in_pieces(text.as_bytes()) == Some((text, 1)));
        assert!(
            in_pieces("Гранит, и самоцветы, ".repeat(250_000).as_bytes()).is_none(),
            "it is too long"
        );
    }

    #[test]
    fn what_is_not_plainly_a_text_has_none() {
        let text = "Гранит, и самоцветы. ".repeat(20_000);
        let japanese = "短い言葉の本。".repeat(50_000);
        let (windows, ..) = encoding_rs::WINDOWS_1251.encode(&text);
        let (escaped, ..) = encoding_rs::ISO_2022_JP.encode(&japanese);
        let english = "Granite and gems. ".repeat(20_000);
        let wide: Vec<u8> = english.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let with = |what: &str| [what, &text].concat().into_bytes();
        let controls = [&text, &*"\u{1}\u{2}.".repeat(9_000)].concat().into_bytes();
        for bytes in [
            windows.into_owned(),
            wide,
            controls,
            with("\u{feff}"),
            with("%PDF-1.4"),
            with("<html><body>"),
            escaped.into_owned(),
            [text.as_bytes(), b"\xff", text.as_bytes()].concat(),
            [text.as_bytes(), b"\xd0"].concat(),
        ] {
            assert!(
                in_pieces(&bytes).is_none(),
                "{:?}",
                String::from_utf8_lossy(&bytes[..20])
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn pieces_are_the_text(
            line in "[aéж中.\u{1}\u{85}\u{92}\u{e000}\u{1b}\n ]{1,40}",
            odd in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            length in 300_000_usize..500_000,
        ) {
            let mut bytes = line.repeat(length / line.len()).into_bytes();
            for (at, byte) in odd {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some((text, _)) = in_pieces(&bytes) {
                let whole = plain::text(Bytes::from(bytes), None).expect("a text");
                prop_assert!(whole.text == text && whole.encoding == super::Encoding::UTF_8);
            }
        }
    }
}
