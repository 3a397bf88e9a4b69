//! The formats: one file for each, with what there is to know of it ([`FormatSpec`]) and its reader.
//!
//! A new format is such a file, and a line of `formats!`.

mod doc;
mod docx;
mod docx_format;
mod epub;
mod fb2;
mod fb3;
pub(crate) mod html;
mod mobi;
mod odt;
mod odt_format;
mod office;
mod pdf;
pub(crate) mod plain;
mod rtf;
mod tei;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::encoding::Encoding;
use crate::limits::Budget;
use crate::sniff::Markup;
use crate::{Bytes, ExtractError, Extracted, MainText};

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident = $module:ident,)*) => {
        /// A supported format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            pub(crate) const ALL: &[Self] = &[$(Self::$format,)*];

            pub(crate) const fn spec(self) -> &'static FormatSpec {
                match self {
                    $(Self::$format => &$module::FORMAT,)*
                }
            }
        }
    };
}

// The best for the text of a book first: of the files of a book, a source reads that one. A file is of the first format
// whose signs it shows.
formats! {
    /// EPUB 2 and 3.
    Epub = epub,
    /// FictionBook 2.
    Fb2 = fb2,
    /// FictionBook 3.
    Fb3 = fb3,
    /// TEI XML.
    Tei = tei,
    /// HTML and XHTML.
    Html = html,
    /// Plain text.
    Text = plain,
    /// Office Open XML.
    Docx = docx,
    /// OpenDocument, and StarOffice's SXW.
    Odt = odt,
    /// Word 6 to 2003.
    Doc = doc,
    /// Rich Text Format.
    Rtf = rtf,
    /// MOBI, AZW and AZW3.
    Mobi = mobi,
    /// PDF.
    Pdf = pdf,
}

/// What there is to know of a format.
pub(crate) struct FormatSpec {
    /// In one word.
    pub(crate) name: &'static str,
    /// For people, with an article.
    pub(crate) title: &'static str,
    /// How the names of its files end.
    pub(crate) extensions: &'static [&'static str],
    /// How its media types begin.
    pub(crate) media_types: &'static [&'static str],
    /// How much of a book it loses: 0 if it keeps structure, notes, pictures and metadata, 6 if it is a bare text.
    pub(crate) loss: u8,
    pub(crate) reader: FormatReader,
}

/// How a format is recognised and read.
pub(crate) enum FormatReader {
    /// Files that show any of these signs.
    File(&'static [FormatSign], ReadFile),
    /// ZIP archives that have all entries of any of these lists.
    Zip(&'static [&'static [&'static str]], ReadZip),
}

pub(crate) type ReadFile = fn(BookFile<'_>, &mut Budget) -> Result<Extracted, ExtractError>;
pub(crate) type ReadZip = fn(&mut Archive<'_>, &mut Budget) -> Result<Extracted, ExtractError>;

/// How a file shows its format.
pub(crate) enum FormatSign {
    /// By its first bytes, behind a byte-order mark and blanks.
    Start(&'static [u8]),
    /// By the bytes at an offset.
    At(usize, &'static [u8]),
    /// By the beginning of its markup.
    Markup(fn(&Markup<'_>) -> bool),
}

/// A file to read, of a known format.
pub(crate) struct BookFile<'a> {
    pub(crate) bytes: Bytes,
    /// The encoding of its text, as the caller says.
    pub(crate) encoding: Option<Encoding>,
    /// Where the main text of a page is, if nothing else is to be read.
    pub(crate) main: Option<&'a MainText>,
}

impl Format {
    /// Its name in one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.spec().name
    }

    /// How much of a book it loses: 0 if it keeps structure, notes, pictures and metadata, 6 if it is a bare text.
    #[must_use]
    pub fn loss(self) -> u8 {
        self.spec().loss
    }
}

/// For people, with an article.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec().title)
    }
}
