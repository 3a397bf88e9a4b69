//! MOBI, AZW and AZW3 (KF8): records of HTML, compressed with PalmDOC or Huffman codes. Implemented here because the
//! `mobi` crate decodes each record separately, which destroys Russian books. Based on the format's description in
//! the MobileRead wiki.

mod huffman;
mod palmdoc;

use std::ops::Range;
use std::rc::Rc;

use self::huffman::Huffman;
use super::{BookFile, FormatReader, FormatSign, FormatSpec, html};
use crate::encoding::Encoding;
use crate::limits::Budget;
use crate::prose::phrase;
use crate::{ExtractError, Extracted, Format};
use lapidary_common::description::Description;

/// The offset of the record list, and the length of its entries.
const RECORDS: usize = 78;
const RECORD: usize = 8;

const UNPACKED: u16 = 1;
const PALMDOC: u16 = 2;
const HUFFMAN: u16 = 17_480;
const UTF_8: u32 = 65_001;
/// This bit in the header indicates a block of metadata.
const HAS_EXTH: u32 = 0x40;

/// What there is to know of it.
pub(super) const FORMAT: FormatSpec = FormatSpec {
    name: "mobi",
    title: "a MOBI e-book",
    extensions: &["mobi", "prc", "azw", "azw3"],
    media_types: &[
        "application/x-mobi",
        "application/vnd.amazon",
        "application/mobi",
        "application/azw",
    ],
    loss: 2,
    reader: FormatReader::File(&[FormatSign::At(60, b"BOOKMOBI")], read),
};

/// Reads a MOBI file without DRM.
pub(super) fn read(file: BookFile<'_>, budget: &mut Budget) -> Result<Extracted, ExtractError> {
    let bytes = file.bytes;
    let palm = Palm {
        bytes: &bytes,
        count: usize::from(short(&bytes, 76)?),
    };
    let head = palm.record(0)?;
    if short(head, 12)? != 0 {
        return Err(ExtractError::Encrypted {
            what: "a MOBI or Kindle e-book protected by DRM".to_owned(),
        });
    }
    let mut text = unpacked(&palm, head, budget)?;
    let encoding = if long(head, 28)? == UTF_8 {
        Encoding::UTF_8
    } else {
        Encoding::web(encoding_rs::WINDOWS_1252)
    };
    let flows = flows(&palm, head);
    let sheets: Vec<Rc<str>> = flows
        .iter()
        .skip(1)
        .map(|flow| text.get(flow.clone()).unwrap_or_default())
        .map(|sheet| encoding.decode_part(sheet).into())
        .collect();
    if let Some(flow) = flows.first() {
        text.truncate(flow.end);
    }
    let mut linked = html::Linked::new(Box::new(|address, _, _| {
        Ok(flow_number(address)
            .and_then(|n| sheets.get(n.checked_sub(1)?))
            .cloned())
    }));
    let metadata = about(head, encoding);
    Ok(Extracted {
        format: Format::Mobi,
        metadata,
        ..html::page(&encoding.decode_part(&text), &mut linked, budget)?
    })
}

/// The text of all records.
fn unpacked(palm: &Palm<'_>, head: &[u8], budget: &Budget) -> Result<Vec<u8>, ExtractError> {
    let (packing, records) = (short(head, 0)?, usize::from(short(head, 8)?));
    let huffman = match packing {
        UNPACKED | PALMDOC => None,
        HUFFMAN => Some(Huffman::read(
            palm,
            long(head, 112)? as usize,
            long(head, 116)? as usize,
        )?),
        other => return Err(damaged(&format!("its packing {other} is not known"))),
    };
    // The data after the text of each record; older headers are too short to describe it.
    let trailers = if long(head, 20)? >= 228 {
        short(head, 242)?
    } else {
        0
    };
    let (room, met) = budget.room();
    let mut text = Vec::new();
    for number in 1..=records {
        let record = without_trailers(palm.record(number)?, trailers);
        match (packing, &huffman) {
            (_, Some(huffman)) => huffman.unpack(record, &mut text, room)?,
            (PALMDOC, _) => palmdoc::unpack(record, &mut text),
            _ => text.extend_from_slice(record),
        }
        if text.len() as u64 > room {
            return Err(met.into());
        }
    }
    Ok(text)
}

/// Where the pages are in the text of an AZW3 file, and the style sheets that follow.
fn flows(palm: &Palm<'_>, head: &[u8]) -> Vec<Range<usize>> {
    /// More are not numbered.
    const MOST: usize = 1_000;
    let is_kf8 = long(head, 36).is_ok_and(|version| version == 8);
    let number = long(head, 192).ok().filter(|_| is_kf8);
    let Some(list) =
        number.and_then(|number| palm.record(number as usize).ok()?.strip_prefix(b"FDST"))
    else {
        return Vec::new();
    };
    let place = |at: usize| Some(long(list, at).ok()? as usize);
    (0..MOST)
        .map_while(|flow| Some(place(8 + 8 * flow)?..place(12 + 8 * flow)?))
        .collect()
}

/// The number of a flow in an address such as `kindle:flow:000A?mime=text/css`.
fn flow_number(address: &str) -> Option<usize> {
    let number = address.strip_prefix("kindle:flow:")?.split('?').next()?;
    usize::from_str_radix(number, 32).ok()
}

fn damaged(why: &str) -> ExtractError {
    ExtractError::damaged(format!("the MOBI e-book: {why}"))
}

fn cut_off() -> ExtractError {
    damaged("it is incomplete")
}

/// A Palm database: a sequence of records.
struct Palm<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Palm<'a> {
    fn record(&self, number: usize) -> Result<&'a [u8], ExtractError> {
        if number >= self.count {
            return Err(cut_off());
        }
        let start = long(self.bytes, RECORDS + number * RECORD)? as usize;
        let end = match number + 1 {
            next if next < self.count => long(self.bytes, RECORDS + next * RECORD)? as usize,
            _ => self.bytes.len(),
        };
        self.bytes.get(start..end).ok_or_else(cut_off)
    }
}

fn short(bytes: &[u8], at: usize) -> Result<u16, ExtractError> {
    let two = bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .ok_or_else(cut_off)?;
    Ok(u16::from_be_bytes(*two))
}

fn long(bytes: &[u8], at: usize) -> Result<u32, ExtractError> {
    let four = bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .ok_or_else(cut_off)?;
    Ok(u32::from_be_bytes(*four))
}

/// A record without the trailing data after its text. Each kind has a bit in `trailers`, and stores its length at its
/// own end; the lowest bit is for the rest of a character that continues in the next record.
fn without_trailers(record: &[u8], trailers: u16) -> &[u8] {
    let mut length = record.len();
    for _ in 0..(trailers >> 1).count_ones() {
        let tail = &record[length.saturating_sub(4)..length];
        let size = tail.iter().fold(0_usize, |size, &byte| {
            let size = if byte & 0x80 == 0 { size } else { 0 };
            size << 7 | usize::from(byte & 0x7F)
        });
        length = length.saturating_sub(size);
    }
    if trailers & 1 == 1
        && let Some(last) = length.checked_sub(1)
    {
        length = length.saturating_sub(usize::from(record[last] & 3) + 1);
    }
    &record[..length]
}

/// The metadata in the header.
fn about(head: &[u8], encoding: Encoding) -> Description {
    read_about(head, encoding).unwrap_or_default()
}

fn read_about(head: &[u8], encoding: Encoding) -> Result<Description, ExtractError> {
    let string = |at: usize, length: usize| {
        let bytes = at
            .checked_add(length)
            .and_then(|end| head.get(at..end))
            .ok_or_else(cut_off)?;
        Ok::<_, ExtractError>(phrase(&encoding.decode_part(bytes)))
    };
    let title = string(long(head, 84)? as usize, long(head, 88)? as usize)?;
    let mut metadata = Description {
        title,
        ..Description::default()
    };
    if long(head, 128)? & HAS_EXTH == 0 {
        return Ok(metadata);
    }
    let exth = 16 + long(head, 20)? as usize;
    let mut at = exth.saturating_add(12);
    for _ in 0..long(head, exth.saturating_add(8))? {
        let (kind, length) = (long(head, at)?, long(head, at.saturating_add(4))? as usize);
        let Some(size) = length.checked_sub(8) else {
            break;
        };
        let value = string(at + 8, size)?;
        match kind {
            100 => metadata.authors.extend(value),
            104 => metadata.identifiers.extend(value),
            503 => metadata.title = value.or(metadata.title),
            524 => metadata.language = value,
            _ => {}
        }
        at = at.saturating_add(length);
    }
    Ok(metadata)
}
