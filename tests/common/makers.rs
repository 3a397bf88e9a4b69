//! Small generated books of every format, so that tests need no external files.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "files are put together as they are read"
)]

use std::io::{Cursor, Write as _};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Every format: its name and the function that makes a file from paragraphs.
pub const MAKERS: [(&str, Maker); 12] = [
    ("txt", txt),
    ("html", html),
    ("fb2", fb2),
    ("fb3", fb3),
    ("epub", epub),
    ("docx", docx),
    ("odt", odt),
    ("rtf", rtf),
    ("pdf", pdf),
    ("mobi", mobi),
    ("tei", tei),
    ("doc", doc),
];

/// Makes a file from ASCII paragraphs without `<`, `&`, brackets and backslashes.
pub type Maker = fn(&[String]) -> Vec<u8>;

/// The metadata of the files, where the format can hold it.
pub const TITLE: &str = "The Lapidary";
pub const AUTHOR: &str = "A. Uthor";
pub const ISBN: &str = "9780306406157";
pub const PUBLISHED: &str = "1842-03-01";

pub fn txt(paragraphs: &[String]) -> Vec<u8> {
    paragraphs.join("\n\n").into_bytes()
}

/// Wraps each paragraph in an element.
fn elements(paragraphs: &[String], open: &str, close: &str) -> String {
    paragraphs
        .iter()
        .map(|paragraph| format!("{open}{paragraph}{close}\n"))
        .collect()
}

pub fn html(paragraphs: &[String]) -> Vec<u8> {
    html_with("", paragraphs)
}

/// A page with this style sheet.
pub fn html_with(style: &str, paragraphs: &[String]) -> Vec<u8> {
    let body = elements(paragraphs, "<p>", "</p>");
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><title>{TITLE}</title><meta name=\"author\" content=\"{AUTHOR}\">\
         <style>p {{}} {style}</style></head><body><nav><a href=\"#1\">navigation</a></nav><script>var script;</script>{body}</body></html>"
    )
    .into_bytes()
}

pub fn fb2(paragraphs: &[String]) -> Vec<u8> {
    let body = elements(paragraphs, "<p>", "</p>");
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><FictionBook xmlns=\"http://www.gribuser.ru/xml/fictionbook/2.0\">\
         <description><title-info><author><first-name>A.</first-name><last-name>Uthor</last-name></author>\
         <book-title>{TITLE}</book-title><annotation><p>annotation</p></annotation><date value=\"{PUBLISHED}\">spring</date><lang>en</lang></title-info>\
         <document-info><date value=\"2020-02-02\">2020</date></document-info><publish-info><year>1901</year><isbn>{ISBN}</isbn></publish-info></description><body><section>{body}</section></body>\
         <binary id=\"a\" content-type=\"image/png\">binary</binary></FictionBook>"
    )
    .into_bytes()
}

pub fn fb3(paragraphs: &[String]) -> Vec<u8> {
    let body = elements(paragraphs, "<p>", "</p>");
    let body =
        format!("<?xml version=\"1.0\"?><fb3-body><section id=\"a\">{body}</section></fb3-body>");
    let description = format!(
        "<fb3-description><title><main>{TITLE}</main></title><fb3-relations><subject link=\"author\"><title><main>{AUTHOR}\
         </main></title><first-name>A.</first-name><last-name>Uthor</last-name></subject></fb3-relations><lang>en</lang>\
         <document-info><isbn>{ISBN}</isbn></document-info></fb3-description>"
    );
    zip(&[
        ("fb3/description.xml", description.as_bytes()),
        ("fb3/body.xml", body.as_bytes()),
    ])
}

pub fn epub(paragraphs: &[String]) -> Vec<u8> {
    epub_with("", paragraphs)
}

/// An e-book whose pages link to a style sheet that imports this one.
pub fn epub_with(style: &str, paragraphs: &[String]) -> Vec<u8> {
    let page = |some: &[String]| {
        let body = elements(some, "<p>", "</p>");
        let link = "<link rel=\"stylesheet\" type=\"text/css\" href=\"../style/all.css\"/>";
        let head = format!("<head><title>{TITLE}</title>{link}<style>p {{}}</style></head>");
        format!(
            "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\">{head}<body>{body}</body></html>"
        )
    };
    epub_of(style, paragraphs.chunks(40).map(page))
}

/// An e-book of these pages, with a style sheet in `../style/more.css`.
pub fn epub_of(style: &str, pages: impl Iterator<Item = String>) -> Vec<u8> {
    let container =
        "<container><rootfiles><rootfile full-path=\"OEBPS/book.opf\"/></rootfiles></container>";
    let chapters: Vec<(String, String)> = pages
        .enumerate()
        .map(|(i, page)| (format!("c{i}.xhtml"), page))
        .collect();
    let items: String = chapters
        .iter()
        .map(|(name, _)| format!("<item id=\"{name}\" href=\"text/{name}\"/>"))
        .collect();
    let spine: String = chapters
        .iter()
        .map(|(name, _)| format!("<itemref idref=\"{name}\"/>"))
        .collect();
    let package = format!(
        "<package xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><metadata><dc:title>{TITLE}</dc:title><dc:creator>{AUTHOR}\
         </dc:creator><dc:language>en</dc:language><dc:identifier>urn:isbn:{ISBN}</dc:identifier>\
         <dc:date opf:event=\"modification\">2020-02-02</dc:date><dc:date>{PUBLISHED}T00:00:00Z</dc:date></metadata>\
         <manifest>{items}</manifest><spine>{spine}</spine></package>"
    );
    let mut entries = vec![
        ("mimetype".to_owned(), "application/epub+zip".to_owned()),
        ("META-INF/container.xml".to_owned(), container.to_owned()),
        ("OEBPS/book.opf".to_owned(), package),
        (
            "OEBPS/style/all.css".to_owned(),
            "@import url('more.css');".to_owned(),
        ),
        ("OEBPS/style/more.css".to_owned(), style.to_owned()),
    ];
    entries.extend(
        chapters
            .into_iter()
            .map(|(name, page)| (format!("OEBPS/text/{name}"), page)),
    );
    let entries: Vec<(&str, &[u8])> = entries
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_bytes()))
        .collect();
    zip(&entries)
}

pub fn docx(paragraphs: &[String]) -> Vec<u8> {
    docx_with("", paragraphs)
}

/// A document with these styles.
pub fn docx_with(styles: &str, paragraphs: &[String]) -> Vec<u8> {
    docx_of(&[("styles", styles)], paragraphs)
}

/// A document with these further parts: the kind of each, and its content.
pub fn docx_of(parts: &[(&str, &str)], paragraphs: &[String]) -> Vec<u8> {
    let body = elements(
        paragraphs,
        "<w:p><w:r><w:t xml:space=\"preserve\">",
        "</w:t></w:r></w:p>",
    );
    let document = format!(
        "<w:document><w:background w:color=\"000000\"/><w:body>{body}</w:body></w:document>"
    );
    let core = format!(
        "<cp:coreProperties><dc:title>{TITLE}</dc:title><dc:creator>{AUTHOR}</dc:creator></cp:coreProperties>"
    );
    let relation = |kind: &str, target: &str| {
        let kind =
            format!("http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}");
        format!("<Relationship Id=\"{target}\" Type=\"{kind}\" Target=\"{target}\"/>")
    };
    let relations = |inner: String| format!("<Relationships>{inner}</Relationships>");
    let main = relations(relation("officeDocument", "word/document.xml"));
    let further = relations(
        parts
            .iter()
            .map(|(kind, _)| relation(kind, &format!("{kind}.xml")))
            .collect(),
    );
    let parts: Vec<(String, String)> = parts
        .iter()
        .map(|(kind, content)| {
            (
                format!("word/{kind}.xml"),
                format!("<w:{kind}>{content}</w:{kind}>"),
            )
        })
        .collect();
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", main.as_bytes()),
        ("word/document.xml", document.as_bytes()),
        ("word/_rels/document.xml.rels", further.as_bytes()),
        ("docProps/core.xml", core.as_bytes()),
    ];
    entries.extend(
        parts
            .iter()
            .map(|(name, content)| (name.as_str(), content.as_bytes())),
    );
    zip(&entries)
}

pub fn odt(paragraphs: &[String]) -> Vec<u8> {
    odt_with("", paragraphs)
}

/// A text with these styles.
pub fn odt_with(styles: &str, paragraphs: &[String]) -> Vec<u8> {
    odt_of(styles, "", paragraphs)
}

/// A text with these styles of its own, and these in a part for styles.
pub fn odt_of(styles: &str, common: &str, paragraphs: &[String]) -> Vec<u8> {
    let common = format!("<office:document-styles>{common}</office:document-styles>");
    let body = elements(paragraphs, "<text:p>", "</text:p>");
    let content = format!(
        "<office:document-content><office:automatic-styles>{styles}</office:automatic-styles><office:body><office:text>{body}</office:text></office:body></office:document-content>"
    );
    let meta = format!(
        "<office:document-meta><office:meta><dc:title>{TITLE}</dc:title><dc:creator>{AUTHOR}</dc:creator></office:meta></office:document-meta>"
    );
    zip(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("META-INF/manifest.xml", b"<manifest/>"),
        ("content.xml", content.as_bytes()),
        ("styles.xml", common.as_bytes()),
        ("meta.xml", meta.as_bytes()),
    ])
}

pub fn rtf(paragraphs: &[String]) -> Vec<u8> {
    rtf_with("", paragraphs)
}

/// A document with these tables in its head.
pub fn rtf_with(head: &str, paragraphs: &[String]) -> Vec<u8> {
    let body = elements(paragraphs, "\\pard ", "\\par");
    format!(
        "{{\\rtf1\\ansi\\ansicpg1252{{\\fonttbl{{\\f0 Font;}}}}{head}{{\\info{{\\title {TITLE}}}{{\\author {AUTHOR}}}}}\n{body}}}"
    )
    .into_bytes()
}

pub fn tei(paragraphs: &[String]) -> Vec<u8> {
    let body = elements(paragraphs, "<p>", "</p>");
    format!(
        "<?xml version=\"1.0\"?><TEI xmlns=\"http://www.tei-c.org/ns/1.0\" xml:lang=\"en\"><teiHeader><fileDesc><titleStmt>\
         <title>{TITLE}</title><author>{AUTHOR}</author></titleStmt><publicationStmt><p>header</p></publicationStmt>\
         </fileDesc></teiHeader><text><body><div>{body}</div></body></text></TEI>"
    )
    .into_bytes()
}

/// Breaks paragraphs into lines about as long as those of a printed book.
fn lines(paragraphs: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in paragraphs {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if line.len() + word.len() > 80 {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
        lines.push(String::new());
    }
    lines
}

pub fn pdf(paragraphs: &[String]) -> Vec<u8> {
    let lines = lines(paragraphs);
    let pages: Vec<&[String]> = lines.chunks(50).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".into(),
        Vec::new(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".into(),
        format!("<</Title({TITLE})/Author({AUTHOR})>>").into_bytes(),
    ];
    let mut kids = String::new();
    for page in &pages {
        let number = objects.len() + 1;
        kids.push_str(&format!("{number} 0 R "));
        let mut content = "BT /F1 10 Tf 12 TL 50 750 Td\n".to_owned();
        for line in *page {
            content.push_str(&format!("({line}) Tj T*\n"));
        }
        content.push_str("ET");
        objects.push(
            format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>",
                number + 1
            )
            .into_bytes(),
        );
        objects.push(stream("", content.as_bytes(), 1));
    }
    objects[1] = format!("<</Type/Pages/Kids[{kids}]/Count {}>>", pages.len()).into_bytes();
    pdf_of(&objects, 4)
}

/// A stream object, compressed `times` times over.
pub fn stream(dictionary: &str, content: &[u8], times: usize) -> Vec<u8> {
    let mut packed = content.to_vec();
    for _ in 0..times {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&packed).expect("memory");
        packed = encoder.finish().expect("memory");
    }
    let filters = "/FlateDecode".repeat(times);
    let mut object = format!(
        "<<{dictionary}/Length {}/Filter[{filters}]>>stream\n",
        packed.len()
    )
    .into_bytes();
    object.extend(packed);
    object.extend(b"\nendstream");
    object
}

/// A PDF file of these objects. The first is the catalogue; `info` is the number of the information dictionary.
pub fn pdf_of(objects: &[Vec<u8>], info: usize) -> Vec<u8> {
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    file.extend(
        format!("trailer<</Size {size}/Root 1 0 R/Info {info} 0 R>>\nstartxref\n{start}\n%%EOF\n")
            .bytes(),
    );
    file
}

/// One page with this content and the forms it can draw. `/A` is object 5.
pub fn pdf_that_draws(content: Vec<u8>, forms: Vec<Vec<u8>>) -> Vec<u8> {
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</XObject<</A 5 0 R>>>>/Contents 4 0 R>>".to_vec(),
        content,
    ];
    objects.extend(forms);
    pdf_of(&objects, 1)
}

/// A form that draws another one `times` times.
pub fn form(drawn: usize, times: usize) -> Vec<u8> {
    let resources =
        format!("/Type/XObject/Subtype/Form/BBox[0 0 1 1]/Resources<</XObject<</A {drawn} 0 R>>>>");
    stream(&resources, &b"/A Do ".repeat(times), 1)
}

/// Twenty nested forms that each draw the next ten times: rendering never ends.
pub fn loops() -> Vec<u8> {
    pdf_that_draws(
        stream("", b"/A Do", 1),
        (0..20)
            .map(|i| form(6 + i, 10))
            .chain([form(0, 0)])
            .collect(),
    )
}

/// An uncompressed MOBI file in UTF-8.
pub fn mobi(paragraphs: &[String]) -> Vec<u8> {
    let body = elements(paragraphs, "<p>", "</p>");
    let text = format!("<html><head></head><body>{body}</body></html>").into_bytes();
    let records: Vec<&[u8]> = text.chunks(4096).collect();
    let exth: Vec<u8> = [(100_u32, AUTHOR), (104, ISBN), (524, "en")]
        .into_iter()
        .flat_map(|(kind, value)| {
            [
                &kind.to_be_bytes()[..],
                &(8 + value.len() as u32).to_be_bytes(),
                value.as_bytes(),
            ]
            .concat()
        })
        .collect();
    let header_length = 232_u32;
    let mut head = vec![0; 16 + header_length as usize];
    let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &1_u16.to_be_bytes());
    put(4, &(text.len() as u32).to_be_bytes());
    put(8, &(records.len() as u16).to_be_bytes());
    put(10, &4096_u16.to_be_bytes());
    put(16, b"MOBI");
    put(20, &header_length.to_be_bytes());
    put(28, &65001_u32.to_be_bytes());
    let title = 16 + header_length as usize + 12 + exth.len();
    put(84, &(title as u32).to_be_bytes());
    put(88, &(TITLE.len() as u32).to_be_bytes());
    put(128, &0x40_u32.to_be_bytes());
    head.extend(b"EXTH");
    head.extend((12 + exth.len() as u32).to_be_bytes());
    head.extend(3_u32.to_be_bytes());
    head.extend(exth);
    head.extend(TITLE.bytes());
    let all: Vec<&[u8]> = [&head[..]].into_iter().chain(records).collect();
    let mut file = vec![0; 60];
    file.extend(b"BOOKMOBI");
    file.extend([0; 8]);
    file.extend((all.len() as u16).to_be_bytes());
    let mut at = file.len() + 8 * all.len() + 2;
    for record in &all {
        file.extend((at as u32).to_be_bytes());
        file.extend([0; 4]);
        at += record.len();
    }
    file.extend([0; 2]);
    file.extend(all.concat());
    file
}

/// A Word 97 document: a file information block, the text as one 8-bit piece, and the piece table.
pub fn doc(paragraphs: &[String]) -> Vec<u8> {
    doc_with(0, paragraphs)
}

/// A document in which the text between `{` and `}` has a property: the operation that sets it to 1.
pub fn doc_with(property: u16, paragraphs: &[String]) -> Vec<u8> {
    /// The number of runs on a page of properties: it has their borders, where the properties of each are, and at its end
    /// this number.
    const RUNS: usize = 60;
    let marked = elements(paragraphs, "", "\r").replace('\n', "");
    let text = marked.replace(['{', '}'], "");
    let start = 0x600;
    // Where the property changes, in bytes of the stream.
    let changes: Vec<u32> = marked
        .match_indices(['{', '}'])
        .enumerate()
        .map(|(place, (at, _))| (start + at - place) as u32)
        .collect();
    let mut borders = vec![start as u32];
    borders.extend(changes);
    borders.push((start + text.len()) as u32);
    let mut pages: Vec<Vec<u8>> = Vec::new();
    let mut first_borders: Vec<u32> = Vec::new();
    for (number, run) in (0..borders.len() - 1)
        .collect::<Vec<_>>()
        .chunks(RUNS)
        .enumerate()
    {
        let mut page = vec![0; 512];
        for (place, &border) in borders[run[0]..=run[run.len() - 1] + 1].iter().enumerate() {
            page[4 * place..4 * place + 4].copy_from_slice(&border.to_le_bytes());
        }
        for place in 0..run.len() {
            let is_marked = (number * RUNS + place) % 2 == 1;
            page[4 * (run.len() + 1) + place] = if is_marked && property != 0 { 250 } else { 0 };
        }
        page[500] = 3;
        page[501..503].copy_from_slice(&property.to_le_bytes());
        page[503] = 1;
        page[511] = run.len() as u8;
        pages.push(page);
        first_borders.push(borders[run[0]]);
    }
    first_borders.push(borders[borders.len() - 1]);
    let first_page = (start + text.len()).div_ceil(512);
    let mut table: Vec<u8> = first_borders
        .iter()
        .flat_map(|border| border.to_le_bytes())
        .collect();
    table.extend(
        (first_page..first_page + pages.len()).flat_map(|page| (page as u32).to_le_bytes()),
    );
    let mut document = vec![0; start];
    let mut put = |at: usize, bytes: &[u8]| document[at..at + bytes.len()].copy_from_slice(bytes);
    let count = text.len() as u32;
    let pieces: Vec<u8> = [
        &[2][..],
        &16_u32.to_le_bytes(),
        &0_u32.to_le_bytes(),
        &count.to_le_bytes(),
        &[0, 0],
        &((start as u32 * 2) | 0x4000_0000).to_le_bytes(),
        &[0, 0],
    ]
    .concat();
    put(0, &0xA5EC_u16.to_le_bytes());
    put(2, &0xC1_u16.to_le_bytes());
    put(0x0A, &0x0200_u16.to_le_bytes());
    put(0x18, &(start as u32).to_le_bytes());
    put(0x1C, &(start as u32 + count).to_le_bytes());
    put(0x20, &14_u16.to_le_bytes());
    put(0x3E, &22_u16.to_le_bytes());
    put(0x4C, &count.to_le_bytes());
    put(0x98, &93_u16.to_le_bytes());
    // The offset and size of the piece table in the table stream: the 34th pair.
    put(0x9A + 8 * 33, &0_u32.to_le_bytes());
    put(0x9A + 8 * 33 + 4, &(pieces.len() as u32).to_le_bytes());
    // The table of pages of properties: the 13th pair.
    put(0x9A + 8 * 12, &(pieces.len() as u32).to_le_bytes());
    put(0x9A + 8 * 12 + 4, &(table.len() as u32).to_le_bytes());
    let pieces = [pieces, table].concat();
    document.extend(text.bytes());
    document.resize(512 * first_page, 0);
    document.extend(pages.concat());
    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).expect("memory");
    for (name, content) in [("WordDocument", document), ("1Table", pieces)] {
        file.create_stream(name)
            .and_then(|mut stream| stream.write_all(&content))
            .expect("memory");
    }
    file.flush().expect("memory");
    file.into_inner().into_inner()
}

pub fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(*name, SimpleFileOptions::default())
            .expect("a name");
        zip.write_all(content).expect("memory");
    }
    zip.finish().expect("memory").into_inner()
}

pub fn gz(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

/// A composite font of a PDF file, as various programs write it.
pub struct Composite {
    pub what: &'static str,
    /// The value of `/Encoding`, or the content of the stream it refers to.
    pub encoding: Result<&'static str, &'static str>,
    /// The value of `/ToUnicode`, or the content of the stream it refers to. Omitted if empty.
    pub to_unicode: Result<&'static str, String>,
    /// Further entries of the descendant font.
    pub descendant: String,
    /// The embedded font file.
    pub file: Vec<u8>,
    /// Encodes a text as character codes.
    pub codes: fn(&str) -> Vec<u8>,
}

/// A PDF file with one page of these lines. `show` holds the operators for a line, with `{}` in place of the line.
pub fn pdf_composite(font: &Composite, lines: &[&str], show: &str) -> Vec<u8> {
    let shown: String = lines
        .iter()
        .map(|line| {
            let codes: String = (font.codes)(line)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            show.replace("{}", &format!("<{codes}>")) + "\n"
        })
        .collect();
    let content = format!("BT /F1 10 Tf 12 TL 50 750 Td\n{shown}ET");
    let encoding = font.encoding.unwrap_or("7 0 R");
    let to_unicode = match &font.to_unicode {
        Ok("") => String::new(),
        Ok(name) => format!("/ToUnicode {name}"),
        Err(_) => "/ToUnicode 6 0 R".to_owned(),
    };
    pdf_of(
        &[
            b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 1190 842]/Resources<</Font<</F1 4 0 R>>>>/Contents 9 0 R>>"
                .to_vec(),
            format!(
                "<</Type/Font/Subtype/Type0/BaseFont/Made/Encoding {encoding}{to_unicode}/DescendantFonts[5 0 R]>>"
            )
            .into_bytes(),
            format!("<</Type/Font/Subtype/CIDFontType2/BaseFont/Made{}>>", font.descendant).into_bytes(),
            stream("", font.to_unicode.as_ref().err().map_or("", String::as_str).as_bytes(), 1),
            stream("", font.encoding.err().unwrap_or_default().as_bytes(), 1),
            stream("", &font.file, 1),
            stream("", content.as_bytes(), 1),
        ],
        1,
    )
}

/// A TrueType font without outlines that maps each character to the glyph 256 above its number.
pub fn truetype() -> Vec<u8> {
    let mut head = vec![0; 54];
    head[18..20].copy_from_slice(&1000_u16.to_be_bytes());
    let mut hhea = vec![0; 36];
    hhea[34..36].copy_from_slice(&1_u16.to_be_bytes());
    let mut maxp = vec![0, 0, 0x50, 0];
    maxp.extend(1000_u16.to_be_bytes());
    let mut cmap = Vec::new();
    for half in [
        0, 1, 3, 10, 0, 12, 12, 0, 0, 28, 0, 0, 0, 1, 0, 0x20, 0, 0x7e, 0, 0x120_u16,
    ] {
        cmap.extend(half.to_be_bytes());
    }
    let tables = [
        (b"cmap", cmap),
        (b"head", head),
        (b"hhea", hhea),
        (b"maxp", maxp),
    ];
    let mut file = vec![0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0];
    let mut at = 12 + 16 * tables.len();
    for (name, table) in &tables {
        file.extend(*name);
        file.extend([0; 4]);
        file.extend((at as u32).to_be_bytes());
        file.extend((table.len() as u32).to_be_bytes());
        at += table.len();
    }
    file.extend(tables.into_iter().flat_map(|(_, table)| table));
    file
}

/// A Word document made by [`doc`], with a summary in the given code page.
pub fn doc_with_summary(
    paragraphs: &[String],
    code_page: u16,
    title: &[u8],
    author: &[u8],
) -> Vec<u8> {
    let string = |bytes: &[u8]| {
        let mut value = [
            &30_u32.to_le_bytes()[..],
            &(bytes.len() as u32 + 1).to_le_bytes(),
            bytes,
            &[0],
        ]
        .concat();
        value.resize(value.len().next_multiple_of(4), 0);
        value
    };
    let values = [
        [2_u32.to_le_bytes(), u32::from(code_page).to_le_bytes()].concat(),
        string(title),
        string(author),
    ];
    let (mut index, mut at) = (Vec::new(), 8 + 8 * values.len());
    for (id, value) in [1_u32, 2, 4].into_iter().zip(&values) {
        index.extend(id.to_le_bytes());
        index.extend((at as u32).to_le_bytes());
        at += value.len();
    }
    let mut set = [&(at as u32).to_le_bytes()[..], &3_u32.to_le_bytes(), &index].concat();
    set.extend(values.concat());
    let mut summary = vec![0xfe, 0xff, 0, 0];
    summary.resize(24, 0);
    summary.extend(1_u32.to_le_bytes());
    summary.extend([
        0xE0, 0x85, 0x9F, 0xF2, 0xF9, 0x4F, 0x68, 0x10, 0xAB, 0x91, 0x08, 0x00, 0x2B, 0x27, 0xB3,
        0xD9,
    ]);
    summary.extend(48_u32.to_le_bytes());
    summary.extend(set);
    let mut file = cfb::CompoundFile::open(Cursor::new(doc(paragraphs))).expect("a document");
    file.create_stream("\u{5}SummaryInformation")
        .and_then(|mut stream| stream.write_all(&summary))
        .expect("memory");
    file.flush().expect("memory");
    file.into_inner().into_inner()
}

/// A gigabyte of spaces compressed twice to a few kilobytes, which the parser decompresses in full.
pub fn exhausts_memory() -> Vec<u8> {
    pdf_that_draws(stream("", &vec![b' '; 1 << 30], 2), Vec::new())
}
