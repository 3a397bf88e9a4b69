//! Unpacks ZIP and gzip within the budget. Nothing is written to disk, so malicious names in an archive have no effect.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::limits::{Budget, Limit};
use super::{ExtractError, detect};

/// A ZIP archive in memory.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    names: Vec<String>,
}

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8], budget: &Budget) -> Result<Self, ExtractError> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|e| damaged(&e))?;
        if zip.len() as u64 > budget.limits.entries {
            return Err(budget.limits.met(Limit::Entries).into());
        }
        let names = names(zip.file_names_raw());
        Ok(Self { zip, names })
    }

    /// The names of all entries, in the archive's order.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// The index of an entry by its name, or else by its name ignoring case, because people repack archives on
    /// case-insensitive systems.
    fn place(&self, name: &str) -> Option<usize> {
        self.names
            .iter()
            .position(|other| other == name)
            .or_else(|| self.names.iter().position(|n| n.eq_ignore_ascii_case(name)))
    }

    /// Unpacks the entry with this name, if there is one.
    pub(super) fn read(
        &mut self,
        name: &str,
        budget: &mut Budget,
    ) -> Result<Option<Vec<u8>>, ExtractError> {
        self.place(name)
            .map(|place| self.read_at(place, budget))
            .transpose()
    }

    /// Unpacks the entry with this name.
    pub(super) fn need(
        &mut self,
        name: &str,
        budget: &mut Budget,
    ) -> Result<Vec<u8>, ExtractError> {
        self.read(name, budget)?
            .ok_or_else(|| ExtractError::damaged(format!("the archive has no file {name:?}")))
    }

    /// Unpacks an entry.
    pub(super) fn read_at(
        &mut self,
        place: usize,
        budget: &mut Budget,
    ) -> Result<Vec<u8>, ExtractError> {
        let entry = self.zip.by_index(place).map_err(|e| damaged(&e))?;
        read_all(entry, budget)
    }
}

/// Names are in UTF-8, or else in the code page of the system that packed them, which archives do not record.
fn names<'a>(raw: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let raw: Vec<&[u8]> = raw.collect();
    let others: Vec<&[u8]> = raw
        .iter()
        .copied()
        .filter(|name| str::from_utf8(name).is_err())
        .collect();
    let other = detect::encoding(&others.join(&b'\n'));
    raw.into_iter()
        .map(|raw| match str::from_utf8(raw) {
            Ok(name) => name.to_owned(),
            Err(_) => other.decode_part(raw).into_owned(),
        })
        .collect()
}

fn damaged(error: &ZipError) -> ExtractError {
    match error {
        ZipError::UnsupportedArchive(why) if why.contains("assword") || why.contains("ncrypt") => {
            ExtractError::Encrypted {
                what: "a ZIP archive that needs a password".to_owned(),
            }
        }
        ZipError::UnsupportedArchive(_) => ExtractError::NotText {
            what: "a ZIP archive with a compression or feature that is not supported".to_owned(),
        },
        _ => ExtractError::damaged("the ZIP archive is incomplete or invalid".to_owned()),
    }
}

/// Unpacks a gzip file with one or more members.
pub(super) fn gunzip(bytes: &[u8], budget: &mut Budget) -> Result<Vec<u8>, ExtractError> {
    read_all(flate2::read::MultiGzDecoder::new(bytes), budget)
}

/// Reads to the actual end, ignoring the size in the header.
fn read_all(packed: impl Read, budget: &mut Budget) -> Result<Vec<u8>, ExtractError> {
    let (room, met) = budget.room();
    let mut bytes = Vec::new();
    let read = packed.take(room.saturating_add(1)).read_to_end(&mut bytes);
    budget.spend(bytes.len() as u64);
    if bytes.len() as u64 > room {
        return Err(met.into());
    }
    read.map_err(|_| {
        ExtractError::damaged("the compressed data is incomplete or invalid".to_owned())
    })?;
    Ok(bytes)
}
