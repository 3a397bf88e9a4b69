//! Shared by the targets: builds files from the fuzzer's input and reads them in this process.
#![allow(dead_code, reason = "each target uses a part")]

use std::io::{Cursor, Write as _};

use lapidary_extract::{File, Limits};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Reads a file with this start.
pub fn behind(start: &[u8], rest: &[u8]) {
    read([start, rest].concat());
}

/// Reads an archive of these entries.
pub fn archive(entries: &[(&str, &[u8])]) {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file(*name, options).and_then(|()| Ok(zip.write_all(content)?)).expect("memory");
    }
    read(zip.finish().expect("memory").into_inner());
}

fn read(bytes: Vec<u8>) {
    let _ = lapidary_extract::read(File { bytes: bytes.into(), name: None, encoding: None }, Limits::default());
}
