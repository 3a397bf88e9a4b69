//! Word 97 to 2003, and Word 6 and 95.

use std::io::Cursor;

use office_oxide::doc::DocDocument;

use super::prose::{Prose, phrase};
use super::{ExtractError, Extracted, Format, Metadata};

/// Reads a Word document in an OLE2 container.
pub(super) fn read(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    // The name of a stream, in UTF-16: what is encrypted is wrapped in such a container.
    let encrypted: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    if memchr::memmem::find(bytes, &encrypted).is_some() {
        return Err(ExtractError::Encrypted { what: "an Office document that needs a password".to_owned() });
    }
    let document = DocDocument::from_reader(Cursor::new(bytes.to_vec())).map_err(|error| {
        let why = error.to_string();
        if why.to_ascii_lowercase().contains("encrypt") {
            ExtractError::Encrypted { what: "a Word document that needs a password".to_owned() }
        } else {
            ExtractError::damaged(format!("the OLE2 file is no Word document that can be read: {why}"))
        }
    })?;
    let mut text = Prose::default();
    for paragraph in document.plain_text().split('\n') {
        text.text(paragraph);
        text.paragraph();
    }
    Ok(Extracted { format: Format::Doc, text: text.into_text(), metadata: about(&document), encoding: None })
}

fn about(document: &DocDocument) -> Metadata {
    let Some(summary) = document.summary_properties() else { return Metadata::default() };
    Metadata {
        title: summary.title.as_deref().and_then(phrase),
        authors: summary.author.as_deref().and_then(phrase).into_iter().collect(),
        ..Metadata::default()
    }
}
