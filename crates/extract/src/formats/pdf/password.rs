//! Opens documents, those that are encrypted with an empty password, too.

use pdf_extract::{Dictionary, Document, Error, IncrementalDocument, Object, StringFormat};

use super::damaged;
use crate::ExtractError;

/// The length of keys in bits, if a document with crypt filters does not say it.
const KEY: i64 = 128;

/// Opens a document. Many that anybody can open are encrypted with the empty password.
pub(super) fn open(bytes: &[u8]) -> Result<Document, ExtractError> {
    let document = load(bytes)?;
    let Ok(encryption) = document.trailer.get(b"Encrypt") else {
        return Ok(document);
    };
    let is_apart = encryption.as_reference().is_ok();
    let Ok((_, Object::Dictionary(encryption))) = document.dereference(encryption) else {
        return Err(locked());
    };
    // What other readers accept, and the parser does not.
    let version = encryption.get(b"V").and_then(Object::as_i64);
    let has_length = encryption.has(b"Length") || version.ok() != Some(4);
    if is_apart && has_length && document.trailer.has(b"ID") {
        return Err(locked());
    }
    let mut encryption = encryption.clone();
    if !has_length {
        encryption.set("Length", KEY);
    }
    let document = load(&amended(bytes, document, encryption).ok_or_else(locked)?)?;
    if document.trailer.has(b"Encrypt") {
        Err(locked())
    } else {
        Ok(document)
    }
}

fn load(bytes: &[u8]) -> Result<Document, ExtractError> {
    Document::load_mem(bytes).map_err(|error| match error {
        Error::Decryption(_) | Error::InvalidPassword | Error::UnsupportedSecurityHandler(_) => {
            locked()
        }
        _ => damaged("it is incomplete or invalid"),
    })
}

fn locked() -> ExtractError {
    ExtractError::Encrypted {
        what: "a PDF document that needs a password".to_owned(),
    }
}

/// The document with an update at its end: this encryption dictionary as an object of its own, and a file identifier.
fn amended(bytes: &[u8], document: Document, encryption: Dictionary) -> Option<Vec<u8>> {
    let mut update = IncrementalDocument::create_from(bytes.to_vec(), document);
    let id = update.new_document.add_object(encryption);
    let trailer = &mut update.new_document.trailer;
    trailer.set("Encrypt", id);
    if !trailer.has(b"ID") {
        trailer.set(
            "ID",
            vec![Object::String(Vec::new(), StringFormat::Hexadecimal); 2],
        );
    }
    let mut amended = Vec::new();
    update.save_to(&mut amended).ok()?;
    Some(amended)
}
