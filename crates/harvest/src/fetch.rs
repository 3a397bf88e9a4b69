//! Fetches pages and books from the web, and from this machine where a source may.

use std::fs;
use std::io::{self, Read};

use url::Url;

use super::source::is_of_web;
use super::web::{Download, Fetched, Validators, Web};
use super::{Entry, Reason, Source, SourceKind};

/// Fetches an entry from wherever its source is.
pub(super) fn fetch(
    web: &Web,
    source: &Source,
    entry: &Entry,
    validators: &Validators,
    most: u64,
) -> Fetched {
    let address = &entry.address;
    let is_web = Url::parse(address).is_ok_and(|url| is_of_web(&url));
    // Only the list itself can be a file: a list or a page from elsewhere must not reach files of this machine.
    let is_list = source.kind == SourceKind::List && entry.page;
    if is_web && !source.is_local() {
        return web.get(address, validators, most);
    }
    if !source.is_local() && !is_list {
        return Fetched::Refused(Reason::Address, "this is no address of the web".to_owned());
    }
    let read = match address.as_str() {
        path if entry.page && source.is_folder(path) => Ok(Vec::new()),
        "-" if is_list => read_some(io::stdin().lock(), most + 1),
        path => fs::File::open(path).and_then(|file| read_some(file, most + 1)),
    };
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Fetched::Missing,
        Err(error) => Fetched::Refused(Reason::Unanswered, error.to_string()),
        Ok(bytes) if bytes.len() as u64 > most => {
            Fetched::Refused(Reason::TooLarge, format!("it is larger than {most} bytes"))
        }
        Ok(bytes) => Fetched::Found(Download {
            address: address.clone(),
            bytes,
            content_type: None,
            validators: Validators::default(),
        }),
    }
}

/// At most `most` bytes.
fn read_some(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
