//! The supported encodings, their names, and decoding.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use super::{cp855, utf32};

/// A text encoding: one of the WHATWG Encoding Standard, UTF-32 or cp855.
///
/// Parsed from a name, ignoring case: all labels of the standard (`windows-1251`, `cp1251`, `koi8-r`, `cp866`,
/// `latin1`, `utf-16le` …), `utf-32`, `utf-32le`, `utf-32be`, `cp855`, `ibm855`, and other common spellings
/// (`mac-cyrillic`, `win-1251`, `utf_16_le`). Following the standard, `iso-8859-1` and `ascii` are names of
/// `windows-1252`, and `iso-8859-9` of `windows-1254`: supersets that differ only in control characters. `utf-16` and
/// `utf-32` are little-endian unless a byte-order mark says otherwise.
///
/// ```
/// use lapidary_extract::Encoding;
///
/// assert_eq!("CP1251".parse::<Encoding>()?.to_string(), "windows-1251");
/// # Ok::<(), lapidary_extract::UnknownEncoding>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct Encoding(Decoder);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decoder {
    Web(&'static encoding_rs::Encoding),
    Utf32Le,
    Utf32Be,
    Cp855,
}

/// Names that the standard lacks, and their equivalents in it. Underscores have already been replaced by hyphens.
const ALIASES: &[(&str, &str)] = &[
    ("mac-cyrillic", "x-mac-cyrillic"),
    ("maccyrillic", "x-mac-cyrillic"),
    ("mac-roman", "macintosh"),
    ("macroman", "macintosh"),
    ("koi8r", "koi8-r"),
    ("koi8u", "koi8-u"),
    ("latin-1", "latin1"),
    ("latin-2", "latin2"),
    ("utf-16-le", "utf-16le"),
    ("utf-16-be", "utf-16be"),
    ("utf16", "utf-16"),
    ("utf16le", "utf-16le"),
    ("utf16be", "utf-16be"),
];

/// Prefixes of the Windows code pages that are common but not in the standard.
const WINDOWS_PREFIXES: &[&str] = &["win-", "win", "windows", ""];

/// The amount decoded at a time: small enough to avoid allocating the worst case of `encoding_rs`'s estimate (three
/// bytes of UTF-8 per byte) for a whole book.
const STEP: usize = 1 << 16;

/// UTF-8 of up to this many bytes is copied, which takes a fraction of the time that the standard library needs to
/// validate it; a longer text would need its memory twice.
const COPIED: usize = 4 << 20;

impl Encoding {
    /// UTF-8.
    pub const UTF_8: Self = Self(Decoder::Web(encoding_rs::UTF_8));
    pub(super) const UTF_16LE: Self = Self(Decoder::Web(encoding_rs::UTF_16LE));
    pub(super) const UTF_16BE: Self = Self(Decoder::Web(encoding_rs::UTF_16BE));
    pub(super) const UTF_32LE: Self = Self(Decoder::Utf32Le);
    pub(super) const UTF_32BE: Self = Self(Decoder::Utf32Be);
    pub(super) const CP855: Self = Self(Decoder::Cp855);

    pub(super) const fn web(encoding: &'static encoding_rs::Encoding) -> Self {
        Self(Decoder::Web(encoding))
    }

    /// Whether it is UTF-8, UTF-16 or UTF-32.
    pub(super) fn is_unicode(self) -> bool {
        self == Self::UTF_8 || self.is_wide()
    }

    /// Whether it is UTF-16 or UTF-32.
    pub(super) fn is_wide(self) -> bool {
        [
            Self::UTF_16LE,
            Self::UTF_16BE,
            Self::UTF_32LE,
            Self::UTF_32BE,
        ]
        .contains(&self)
    }

    /// The encoding and length of the byte-order mark at the start of `bytes`. The mark of UTF-32LE begins with that
    /// of UTF-16LE.
    pub(super) fn of_mark(bytes: &[u8]) -> Option<(Self, usize)> {
        const MARKS: [(&[u8], Encoding); 5] = [
            (b"\xef\xbb\xbf", Encoding::UTF_8),
            (b"\xff\xfe\0\0", Encoding::UTF_32LE),
            (b"\0\0\xfe\xff", Encoding::UTF_32BE),
            (b"\xff\xfe", Encoding::UTF_16LE),
            (b"\xfe\xff", Encoding::UTF_16BE),
        ];
        let (mark, encoding) = MARKS.iter().find(|(mark, _)| bytes.starts_with(mark))?;
        Some((*encoding, mark.len()))
    }

    /// Decodes; the error is the offset of the first invalid byte.
    pub(super) fn decode(self, bytes: Vec<u8>) -> Result<String, usize> {
        if self != Self::UTF_8 {
            return self.decode_with(&bytes, Err);
        }
        if bytes.len() <= COPIED {
            let valid = simdutf8::compat::from_utf8(&bytes).map_err(|error| error.valid_up_to())?;
            return Ok(valid.to_owned());
        }
        String::from_utf8(bytes).map_err(|error| error.utf8_error().valid_up_to())
    }

    /// Decodes, replacing invalid bytes by U+FFFD.
    pub(super) fn decode_lossy(self, bytes: Vec<u8>) -> String {
        if self == Self::UTF_8 && bytes.len() > COPIED {
            return String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        }
        self.decode_part(&bytes).into_owned()
    }

    /// Like [`Self::decode_lossy`], for a part that is only examined.
    pub(super) fn decode_part(self, bytes: &[u8]) -> Cow<'_, str> {
        if self == Self::UTF_8 {
            return simdutf8::basic::from_utf8(bytes)
                .map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
        }
        let Ok(text) = self.decode_with::<Infallible>(bytes, |_| Ok(char::REPLACEMENT_CHARACTER));
        Cow::Owned(text)
    }

    /// Decodes; calls `invalid` with the offset of invalid bytes to get their replacement.
    fn decode_with<E>(
        self,
        bytes: &[u8],
        invalid: impl FnMut(usize) -> Result<char, E>,
    ) -> Result<String, E> {
        match self.0 {
            Decoder::Web(encoding) => decode_web(encoding, bytes, invalid),
            Decoder::Utf32Le => utf32::decode(bytes, u32::from_le_bytes, invalid),
            Decoder::Utf32Be => utf32::decode(bytes, u32::from_be_bytes, invalid),
            Decoder::Cp855 => Ok(bytes.iter().map(|&byte| cp855::char(byte)).collect()),
        }
    }
}

fn decode_web<E>(
    encoding: &'static encoding_rs::Encoding,
    bytes: &[u8],
    mut invalid: impl FnMut(usize) -> Result<char, E>,
) -> Result<String, E> {
    use encoding_rs::DecoderResult;

    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(bytes.len());
    let mut done = 0;
    loop {
        let end = bytes.len().min(done + STEP);
        // The estimate is `None` only on overflow, which STEP rules out.
        text.reserve(
            decoder
                .max_utf8_buffer_length_without_replacement(end - done)
                .unwrap_or(STEP),
        );
        let last = end == bytes.len();
        let (result, read) =
            decoder.decode_to_string_without_replacement(&bytes[done..end], &mut text, last);
        done += read;
        match result {
            DecoderResult::InputEmpty if last => return Ok(text),
            DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
            DecoderResult::Malformed(length, after) => {
                text.push(invalid(
                    done.saturating_sub(usize::from(length) + usize::from(after)),
                )?);
            }
        }
    }
}

/// An unknown encoding name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown encoding “{name}”; known encodings: utf-8, utf-16, utf-32 (also with le, be), windows-1250 to \
     windows-1258, iso-8859-1 to iso-8859-16, koi8-r, koi8-u, cp866, cp855, mac-cyrillic, macintosh, gb18030, big5, \
     shift_jis, euc-jp, iso-2022-jp, euc-kr, and the other labels of the WHATWG Encoding Standard"
)]
pub struct UnknownEncoding {
    name: String,
}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let label = name.trim().to_ascii_lowercase();
        by_label(&label)
            .or_else(|| by_label(&label.replace('_', "-")))
            .ok_or_else(|| UnknownEncoding {
                name: name.to_owned(),
            })
    }
}

fn by_label(label: &str) -> Option<Encoding> {
    match label {
        "utf-32" | "utf32" | "utf-32le" | "utf-32-le" | "utf32le" => {
            return Some(Encoding::UTF_32LE);
        }
        "utf-32be" | "utf-32-be" | "utf32be" => return Some(Encoding::UTF_32BE),
        "cp855" | "ibm855" | "855" => return Some(Encoding::CP855),
        // Made for binary data, not for text.
        "x-user-defined" => return None,
        _ => {}
    }
    let label = ALIASES
        .iter()
        .find(|(alias, _)| *alias == label)
        .map_or(label, |(_, label)| label);
    encoding_rs::Encoding::for_label_no_replacement(label.as_bytes())
        .or_else(|| {
            let page = WINDOWS_PREFIXES
                .iter()
                .find_map(|prefix| label.strip_prefix(prefix).filter(|page| page.len() == 4))?;
            encoding_rs::Encoding::for_label_no_replacement(format!("windows-{page}").as_bytes())
        })
        .map(Encoding::web)
}

/// The name in the WHATWG Encoding Standard, or `UTF-32LE`, `UTF-32BE`, `IBM855`.
impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self.0 {
            Decoder::Web(encoding) => encoding.name(),
            Decoder::Utf32Le => "UTF-32LE",
            Decoder::Utf32Be => "UTF-32BE",
            Decoder::Cp855 => "IBM855",
        })
    }
}

/// The encoding of a Windows code page.
pub(super) fn code_page(number: u16) -> Option<&'static encoding_rs::Encoding> {
    let label = match number {
        866 => "ibm866".to_owned(),
        874 => "windows-874".to_owned(),
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 | 51949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        10000 => "macintosh".to_owned(),
        10007 => "x-mac-cyrillic".to_owned(),
        20866 => "koi8-r".to_owned(),
        21866 => "koi8-u".to_owned(),
        20127 => "us-ascii".to_owned(),
        28591..=28605 => format!("iso-8859-{}", number - 28590),
        51932 => "euc-jp".to_owned(),
        54936 => "gb18030".to_owned(),
        65001 => "utf-8".to_owned(),
        number => format!("windows-{number}"),
    };
    encoding_rs::Encoding::for_label(label.as_bytes())
}
