//! Readers of e-book formats, on generated files: their text, their metadata, and malicious input.

#![allow(
    clippy::format_collect,
    reason = "bombs are put together as they are read"
)]

use crate::makers;
use std::io::Cursor;
use std::io::Write as _;
use std::panic;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::makers::{AUTHOR, Composite, ISBN, MAKERS, PUBLISHED, TITLE, gz, zip};
use lapidary_extract::{Book, ExtractError, Extracted, File, Limit, Limits, Met};
use zip::unstable::write::FileOptionsExt as _;
use zip::write::SimpleFileOptions;

const PARAGRAPHS: [&str; 4] = [
    "The old cutter of stones lived at the edge of the village, above the river.",
    "Every morning he laid out what the miners had brought him, and looked for a long time.",
    "Each stone knows where it was found, he told the children; one only has to ask.",
    "More he would not say.",
];

fn paragraphs() -> Vec<String> {
    PARAGRAPHS.map(str::to_owned).to_vec()
}

fn file(bytes: Vec<u8>) -> File {
    File {
        bytes: bytes.into(),
        name: None,
        encoding: None,
    }
}

fn one(bytes: Vec<u8>) -> Result<Extracted, ExtractError> {
    lapidary_extract::read_one(file(bytes), Limits::default())
}

fn books(bytes: Vec<u8>) -> Vec<Book> {
    lapidary_extract::read(file(bytes), Limits::default()).expect("an archive")
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn every_format_gives_its_text_and_nothing_else() {
    for (name, make) in MAKERS {
        let read = one(make(&paragraphs())).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(words(&read.text), words(&PARAGRAPHS.join(" ")), "{name}");
        if name != "pdf" {
            assert_eq!(read.text.trim_end(), PARAGRAPHS.join("\n\n"), "{name}");
        }
    }
}

#[test]
fn headings_of_books_are_known() {
    let text =
        "One story.\n\nThe first stone\n\nIt was granite.\n\nThe second: opal\n\nIt was lost.";
    let html = "<p>One story.</p><h2>The <i>first</i> stone</h2><p>It was granite.</p><h2>The second:<br> opal</h2><p>It was lost.</p>";
    let page = |body: &str| {
        format!("<html xmlns=\"http://www.w3.org/1999/xhtml\"><body>{body}</body></html>")
    };
    let parts = html.split_at(html.find("<h2>The second").unwrap());
    let epub = zip(&[
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", b"<container><rootfiles><rootfile full-path=\"p.opf\"/></rootfiles></container>"),
        (
            "p.opf",
            b"<package><manifest><item id=\"a\" href=\"a.xhtml\"/><item id=\"b\" href=\"b.xhtml\"/></manifest>\
              <spine><itemref idref=\"a\"/><itemref idref=\"b\"/></spine></package>",
        ),
        ("a.xhtml", page(parts.0).as_bytes()),
        ("b.xhtml", page(parts.1).as_bytes()),
    ]);
    let fb2 = "<?xml version=\"1.0\"?><FictionBook><body><p>One story.</p><section><title><p>The first</p><p>stone</p></title>\
               <p>It was granite.</p></section><section><title><p>The second: opal</p></title><p>It was lost.</p></section>\
               </body></FictionBook>";
    let tei = "<TEI><text><body><p>One story.</p><div><head>The first stone</head><p>It was granite.</p></div><div>\
               <head>The second: opal</head><p>It was lost.</p></div></body></text></TEI>";
    let word = |style: &str, text: &str| {
        format!(
            "<w:p><w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let body = [
        word("Normal", "One story."),
        word("Heading1", "The first stone"),
        word("a3", "It was granite."),
        word("1", "The second: opal"),
        word("Normal", "It was lost."),
    ];
    let relations =
        b"<Relationships><Relationship Id=\"r1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/\
                      relationships/officeDocument\" Target=\"word/document.xml\"/></Relationships>";
    let docx = zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", relations),
        (
            "word/document.xml",
            format!(
                "<w:document><w:body>{}</w:body></w:document>",
                body.concat()
            )
            .as_bytes(),
        ),
    ]);
    let odt = zip(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("META-INF/manifest.xml", b"<manifest/>"),
        (
            "content.xml",
            b"<office:document-content><office:body><office:text><text:p>One story.</text:p><text:h>The first stone</text:h>\
              <text:p>It was granite.</text:p><text:h>The second: opal</text:h><text:p>It was lost.</text:p></office:text>\
              </office:body></office:document-content>",
        ),
    ]);
    let files: [(&str, Vec<u8>); 6] = [
        ("html", page(html).into_bytes()),
        ("epub", epub),
        ("fb2", fb2.into()),
        ("tei", tei.into()),
        ("docx", docx),
        ("odt", odt),
    ];
    for (name, bytes) in files {
        let read = one(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(words(&read.text), words(text), "{name}");
        let headings: Vec<(&str, &str)> = read
            .headings
            .iter()
            .map(|heading| {
                (
                    heading.title.as_str(),
                    words(&read.text[heading.at as usize..])[1],
                )
            })
            .collect();
        assert_eq!(
            headings,
            [
                ("The first stone", "first"),
                ("The second: opal", "second:")
            ],
            "{name}"
        );
    }
}

#[test]
fn what_files_say_of_themselves() {
    for (name, make) in MAKERS {
        let metadata = one(make(&paragraphs())).expect("a book").metadata;
        let titled = !matches!(name, "txt" | "doc");
        assert_eq!(metadata.title.as_deref(), titled.then_some(TITLE), "{name}");
        assert_eq!(
            metadata.authors,
            if titled { vec![AUTHOR] } else { vec![] },
            "{name}"
        );
        let language =
            matches!(name, "html" | "fb2" | "fb3" | "epub" | "mobi" | "tei").then_some("en");
        assert_eq!(metadata.language.as_deref(), language, "{name}");
        let identified = matches!(name, "fb2" | "fb3" | "epub" | "mobi");
        assert_eq!(
            metadata.identifiers.iter().any(|id| id.contains(ISBN)),
            identified,
            "{name}"
        );
        let published = matches!(name, "fb2" | "epub").then(|| PUBLISHED.parse().expect("a date"));
        assert_eq!(metadata.published, published, "{name}");
    }
}

#[test]
fn word_documents_say_what_they_are_in_any_code_page() {
    let (title, author) = ("Старый гранильщик", "А. Втор");
    for (page, encoding) in [
        (65001, encoding_rs::UTF_8),
        (1251, encoding_rs::WINDOWS_1251),
        (20866, encoding_rs::KOI8_R),
        (28595, encoding_rs::ISO_8859_5),
        (936, encoding_rs::GBK),
    ] {
        let bytes = |text| encoding.encode(text).0;
        let metadata = one(makers::doc_with_summary(
            &paragraphs(),
            page,
            &bytes(title),
            &bytes(author),
        ));
        let metadata = metadata.expect("a document").metadata;
        assert_eq!(metadata.title.as_deref(), Some(title), "code page {page}");
        assert_eq!(metadata.authors, [author], "code page {page}");
    }
    // Characters below U+0100 that have another code in this code page.
    let metadata = one(makers::doc_with_summary(
        &paragraphs(),
        1257,
        b"S\xb8ren",
        b"A. Uthor",
    ))
    .expect("a document")
    .metadata;
    assert_eq!(metadata.title.as_deref(), Some("S\u{f8}ren"));
}

#[test]
fn what_files_say_is_no_longer_than_a_record() {
    let title = "Stone ".repeat(100_000);
    let page = format!("<html><head><title>{title}</title></head><body>A gem.</body></html>");
    let metadata = one(page.into_bytes()).expect("a page").metadata;
    assert_eq!(metadata.title.expect("a title").chars().count(), 1_000);
}

/// Converted files often keep the encoding declaration of the original.
#[test]
fn encodings_that_are_declared_wrongly() {
    let text = "Старый гранильщик жил на краю посёлка, у самой реки.";
    let fb2 = format!(
        "<?xml version=\"1.0\" encoding=\"windows-1251\"?><FictionBook><body><p>{text}</p></body></FictionBook>"
    );
    let html = format!(
        "<html><head><meta charset=\"windows-1251\"></head><body><p>{text}</p></body></html>"
    );
    for page in [fb2, html] {
        assert_eq!(one(page.clone().into_bytes()).expect("UTF-8").text, text);
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(&page);
        assert_eq!(
            one(bytes.clone().into_owned()).expect("windows-1251").text,
            text
        );
        let mut wrong = bytes.into_owned();
        replace(&mut wrong, b"windows-1251", b"utf-8       ");
        assert_eq!(
            one(wrong).expect("windows-1251, said to be UTF-8").text,
            text
        );
    }
}

#[test]
fn words_of_a_printed_page() {
    let justified = [
        "The  old   cutter of stones lived at the very",
        "edge of the village.",
        "More he would not say.",
    ];
    let read = one(makers::pdf(&justified.map(str::to_owned))).expect("a document");
    assert!(
        read.text.starts_with("The old cutter of stones"),
        "{}",
        read.text
    );
    let boxed = one(b"{\\rtf1 Text {\\shp{\\*\\shpinst{\\sp junk}{\\shptxt boxed}}}end}".to_vec());
    assert_eq!(
        words(&boxed.expect("a document").text).join(" "),
        "Text boxedend"
    );
}

/// Two bytes per character: its code plus 256.
fn shifted(text: &str) -> Vec<u8> {
    text.bytes().flat_map(|byte| [1, byte]).collect()
}

/// One byte per character: its code plus 128.
fn high(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| byte | 0x80).collect()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// Composite fonts in the variants that PDF writers produce.
fn composites() -> Vec<Composite> {
    let map = |lines: &str| {
        Err(format!(
            "/CIDInit /ProcSet findresource begin begincmap\n{lines}\nendcmap"
        ))
    };
    let range = || map("1 beginbfrange <0120> <017e> <0020> endbfrange");
    let letters = |digits: usize| -> String {
        (0x20..0x7f_u8)
            .map(|c| format!("<01{c:02x}> <{c:0digits$x}>\n"))
            .collect()
    };
    let array: String = (0x20..0x7f_u8).map(|c| format!("<{c:04x}>")).collect();
    let two_bytes = "1 begincodespacerange <0000> <ffff> endcodespacerange 1 begincidrange <0100> <01ff> 0 endcidrange";
    let one_byte =
        "1 begincodespacerange <00> <ff> endcodespacerange 1 begincidrange <80> <ff> 1 endcidrange";
    let of = |what, encoding, to_unicode, codes| Composite {
        what,
        encoding,
        to_unicode,
        descendant: "/FontDescriptor<<>>/W[288 382 500]/DW 1000.0".to_owned(),
        file: Vec::new(),
        codes,
    };
    let file = "/FontDescriptor<</FontFile2 8 0 R>>/CIDToGIDMap/Identity".to_owned();
    vec![
        of("a range", Ok("/Identity-H"), range(), shifted),
        of(
            "a range, written downwards",
            Ok("/Identity-V"),
            range(),
            shifted,
        ),
        of(
            "an array",
            Ok("/Identity-H"),
            map(&format!("1 beginbfrange <0120><017e>[{array}] endbfrange")),
            shifted,
        ),
        of(
            "characters",
            Ok("/Identity-H"),
            map(&format!("95 beginbfchar\n{}endbfchar", letters(4))),
            shifted,
        ),
        of(
            "one byte",
            Ok("/Identity-H"),
            map(&format!("95 beginbfchar\n{}endbfchar", letters(2))),
            shifted,
        ),
        of(
            "the wrong count",
            Ok("/Identity-H"),
            map(&format!("7 beginbfchar\n{}endbfchar", letters(4))),
            shifted,
        ),
        of("codes of two bytes", Err(two_bytes), range(), shifted),
        of(
            "codes of one byte",
            Err(one_byte),
            map("1 beginbfrange <a0> <fe> <0020> endbfrange"),
            high,
        ),
        of(
            "named as Unicode",
            Ok("/Identity-H"),
            Ok("/Identity-H"),
            utf16,
        ),
        of("Unicode", Ok("/UniGB-UCS2-H"), Ok(""), utf16),
        of("UTF-16", Ok("/UniJIS-UTF16-H"), Ok(""), utf16),
        of("Shift-JIS", Ok("/90ms-RKSJ-H"), Ok(""), |text| {
            encoding_rs::SHIFT_JIS.encode(text).0.into_owned()
        }),
        of("GBK", Ok("/GBK-EUC-H"), Ok(""), |text| {
            encoding_rs::GBK.encode(text).0.into_owned()
        }),
        of("Big5", Ok("/ETen-B5-H"), Ok(""), |text| {
            encoding_rs::BIG5.encode(text).0.into_owned()
        }),
        of("Korean", Ok("/KSCms-UHC-H"), Ok(""), |text| {
            encoding_rs::EUC_KR.encode(text).0.into_owned()
        }),
        Composite {
            descendant: String::new(),
            ..of("no descriptor", Ok("/Identity-H"), range(), shifted)
        },
        Composite {
            descendant: "/W[0 4294967295 500]/W2[0 4294967295 0 0 0]".to_owned(),
            ..of(
                "widths of too many glyphs",
                Ok("/Identity-H"),
                range(),
                shifted,
            )
        },
        Composite {
            descendant: file,
            file: makers::truetype(),
            ..of("a font's own", Ok("/Identity-H"), Ok(""), shifted)
        },
    ]
}

#[test]
fn composite_fonts_of_pdf_files_are_read() {
    for font in composites() {
        for show in ["{} Tj T*", "[{}] TJ T*", "{} '", "0 0 {} \""] {
            let read = one(makers::pdf_composite(&font, &PARAGRAPHS, show));
            let read = read.unwrap_or_else(|error| panic!("{}, {show}: {error}", font.what));
            assert_eq!(
                words(&read.text),
                words(&PARAGRAPHS.join(" ")),
                "{}, {show}",
                font.what
            );
        }
    }
    let of = |what| {
        composites()
            .into_iter()
            .find(|font| font.what == what)
            .expect("a font")
    };
    for (what, text) in [
        ("Shift-JIS", "宝石と花崗岩。"),
        ("GBK", "花岗岩和宝石。"),
        ("Korean", "화강암과 보석."),
        ("UTF-16", "Гранит"),
    ] {
        assert_eq!(
            one(makers::pdf_composite(&of(what), &[text], "{} Tj T*"))
                .expect(what)
                .text,
            text,
            "{what}"
        );
    }
}

/// A page whose text is all in nested forms, as some programs write every page. A font name refers to a different font
/// in each form.
#[test]
fn forms_of_pdf_files_are_read() {
    let map = |first: u8| {
        makers::stream(
            "",
            format!(
                "1 beginbfrange <{first:02x}> <{:02x}> <0041> endbfrange",
                first + 25
            )
            .as_bytes(),
            1,
        )
    };
    let font = |map: u8| {
        format!("<</Type/Font/Subtype/TrueType/BaseFont/Made/Encoding/WinAnsiEncoding/ToUnicode {map} 0 R>>")
            .into_bytes()
    };
    let form = |resources: &str, content: &str| {
        makers::stream(
            &format!("/Type/XObject/Subtype/Form/BBox[0 0 595 842]{resources}"),
            content.as_bytes(),
            1,
        )
    };
    // Every text is shown at the same place; the forms move it.
    let shown = |text: &str| format!("BT /F1 10 Tf 12 TL 50 750 Td ({text}) ' ET");
    let objects = [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<</F1 4 0 R>>/XObject<</X 8 0 R/Y 10 0 R/I 11 0 R>>>>>>"
            .to_vec(),
        b"<</Type/Page/Parent 2 0 R/Contents 9 0 R>>".to_vec(),
        font(6),
        font(7),
        map(b'a'),
        map(b'A'),
        form(
            "/Matrix[1 0 0 1 0 100]/Resources<</Font<</F1 5 0 R>>/XObject<</X 8 0 R/Y 10 0 R>>>>",
            &format!("{} /X Do q 1 0 0 1 0 -50 cm /Y Do Q Q Q", shown("FORM")),
        ),
        makers::stream("", format!("/X Do /None Do /I Do /G gs /P cs {} 3 Tm /F1 x Tf", shown("page")).as_bytes(), 1),
        form("", &shown("inner")),
        makers::stream("/Type/XObject/Subtype/Image", b"(image) Tj", 1),
    ];
    let read = one(makers::pdf_of(&objects, 1)).expect("a document");
    assert_eq!(words(&read.text), ["FORM", "inner", "PAGE"]);
}

#[test]
fn names_break_ties_only() {
    for (name, make) in MAKERS {
        for ending in ["pdf", "html", "txt"] {
            let named = File {
                bytes: make(&paragraphs()).into(),
                name: Some(format!("book.{ending}")),
                encoding: None,
            };
            let read = lapidary_extract::read_one(named, Limits::default()).expect("a book");
            assert_eq!(
                read.text,
                one(make(&paragraphs())).expect("a book").text,
                "{name} as {ending}"
            );
        }
    }
    let piece = b"<p>A piece of a page</p>".to_vec();
    let named = File {
        bytes: piece.clone().into(),
        name: Some("piece.HTML".to_owned()),
        encoding: None,
    };
    assert_eq!(
        lapidary_extract::read_one(named, Limits::default())
            .expect("a page")
            .text,
        "A piece of a page"
    );
    assert_eq!(one(piece).expect("a text").text, "<p>A piece of a page</p>");
}

#[test]
fn archives_hold_books() {
    for (name, make) in MAKERS {
        let book = make(&paragraphs());
        let alone = one(book.clone()).expect("a book");
        let packed = zip(&[
            ("folder/", b""),
            (&format!("folder/a.{name}"), &book),
            ("folder/cover.png", b"\x89PNG\r\n\x1a\n"),
        ]);
        assert_eq!(one(packed.clone()), Ok(alone.clone()), "{name} in zip");
        assert_eq!(one(gz(&book)), Ok(alone.clone()), "{name} in gz");
        assert_eq!(one(gz(&packed)), Ok(alone.clone()), "{name} in zip in gz");

        let many = zip(&[
            ("a.bin", &book),
            ("inner.zip", &packed),
            ("b.txt", b"Short."),
            ("__MACOSX/a", b"x"),
        ]);
        let names: Vec<Option<String>> = books(many.clone())
            .into_iter()
            .map(|book| book.name)
            .collect();
        let inner = Some(format!("inner.zip/folder/a.{name}"));
        assert_eq!(
            names,
            [
                Some("a.bin".to_owned()),
                inner.clone(),
                Some("b.txt".to_owned())
            ]
        );
        assert!(matches!(
            one(many.clone()),
            Err(ExtractError::Several { books: 3, .. })
        ));
        let whole = lapidary_extract::read_whole(file(many), Limits::default()).expect("one text");
        assert_eq!(
            whole.text,
            [alone.text.as_str(), &alone.text, "Short."].join("\n\n")
        );
        let starts: Vec<(u64, &str)> = whole
            .headings
            .iter()
            .map(|h| (h.at, h.title.as_str()))
            .collect();
        let length = alone.text.len() as u64 + 2;
        assert_eq!(
            starts,
            [
                (0, "a.bin"),
                (length, inner.as_deref().unwrap()),
                (2 * length, "b.txt")
            ],
            "{name}"
        );
    }
    // An unreadable book does not affect the others.
    let some = books(zip(&[
        ("a.txt", b"A stone."),
        ("b.djvu", b"AT&TFORM\0\0\0\x04"),
        ("c.txt", b"A gem."),
    ]));
    assert_eq!(
        some.iter()
            .map(|book| book.read.is_ok())
            .collect::<Vec<_>>(),
        [true, false, true]
    );
    assert!(matches!(one(zip(&[])), Err(ExtractError::NotText { .. })));
    // Old archives do not declare the code page of their file names.
    let (name, _, _) = encoding_rs::IBM866.encode("Шинель и другие повести.txt");
    let mut old = zip(&[
        ("Xxxxxx x xxxxxx xxxxxxx.txt", b"A stone."),
        ("b.txt", b"A gem."),
    ]);
    replace(&mut old, b"Xxxxxx x xxxxxx xxxxxxx.txt", &name);
    assert_eq!(
        books(old)[0].name.as_deref(),
        Some("Шинель и другие повести.txt")
    );
}

/// Replaces every occurrence of some bytes with others of the same length.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    for at in 0..=bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
    }
}

fn met(bytes: Vec<u8>) -> Option<Limit> {
    match lapidary_extract::read(file(bytes), Limits::default()) {
        Err(ExtractError::OverLimit(Met { limit, .. })) => Some(limit),
        _ => None,
    }
}

#[test]
fn bombs_meet_a_limit() {
    let zeros = vec![b' '; 300 << 20];
    let packed = zip(&[("a.txt", &zeros)]);
    assert_eq!(met(packed.clone()), Some(Limit::Ratio));
    assert_eq!(met(gz(&zeros)), Some(Limit::Ratio));
    assert_eq!(met(gz(&gz(&gz(&gz(&gz(b"deep")))))), Some(Limit::Archives));
    assert_eq!(
        met(zip(&[("a.zip", &packed), ("b.zip", &packed)])),
        Some(Limit::Ratio)
    );
    let nested = (0..5).fold(b"A stone.".to_vec(), |inner, _| {
        zip(&[("inner.zip", &inner)])
    });
    assert_eq!(met(nested), Some(Limit::Archives));
    // A false size: the number of unpacked bytes counts.
    let mut lying = packed;
    replace(
        &mut lying,
        &(300_u32 << 20).to_le_bytes(),
        &10_u32.to_le_bytes(),
    );
    assert!(one(lying).is_err());
    // Overlapping entries: the total counts.
    let kilobytes = vec![b' '; 1 << 20];
    let mut overlapping = Vec::new();
    for i in 0..300 {
        overlapping.push((format!("{i}.txt"), kilobytes.as_slice()));
    }
    let overlapping: Vec<(&str, &[u8])> = overlapping
        .iter()
        .map(|(name, bytes)| (name.as_str(), *bytes))
        .collect();
    assert_eq!(met(zip(&overlapping)), Some(Limit::Ratio));
    let limits = Limits {
        entries: 200,
        ..Limits::default()
    };
    let refused = lapidary_extract::read(file(zip(&overlapping)), limits);
    assert_eq!(
        refused,
        Err(ExtractError::OverLimit(Met {
            limit: Limit::Entries,
            at: 200
        }))
    );
    let limits = Limits {
        input: 10,
        ..Limits::default()
    };
    let refused = lapidary_extract::read(file(b"A text of more".to_vec()), limits);
    assert_eq!(
        refused,
        Err(ExtractError::OverLimit(Met {
            limit: Limit::Input,
            at: 10
        }))
    );
}

#[test]
fn nests_meet_a_limit() {
    let deep =
        |open: &str, close: &str| format!("{}x{}", open.repeat(100_000), close.repeat(100_000));
    let fb2 = format!(
        "<FictionBook><body>{}</body></FictionBook>",
        deep("<section>", "</section>")
    );
    let tei = format!("<TEI><text>{}</text></TEI>", deep("<div>", "</div>"));
    let rtf = format!("{{\\rtf1 {}}}", deep("{", "}"));
    for (name, bomb) in [("fb2", fb2), ("tei", tei), ("rtf", rtf)] {
        assert_eq!(met(bomb.into_bytes()), Some(Limit::Depth), "{name}");
    }
    // The HTML reader builds no tree, so nesting does not matter.
    assert_eq!(
        one(format!("<html>{}", deep("<div>", "</div>")).into_bytes())
            .expect("a page")
            .text,
        "x"
    );
}

#[test]
fn entities_are_never_resolved() {
    let laughs: String = (1..10)
        .map(|i| format!("<!ENTITY l{i} \"{}\">", format!("&l{};", i - 1).repeat(10)))
        .collect();
    for (root, inner) in [("FictionBook", "body"), ("TEI", "text")] {
        let bomb = format!(
            "<?xml version=\"1.0\"?><!DOCTYPE {root} [<!ENTITY l0 \"ha\">{laughs}<!ENTITY f SYSTEM \"file:///etc/passwd\">]>\
             <{root}><{inner}><p>A &l9; &f; stone &amp; a gem.</p></{inner}></{root}>"
        );
        assert_eq!(
            one(bomb.into_bytes()).expect("a book").text,
            "A stone & a gem."
        );
    }
}

#[test]
fn what_is_encrypted_is_said_to_be() {
    let encrypted = |bytes: Vec<u8>| {
        let error = one(bytes).expect_err("a refusal").to_string();
        assert!(error.starts_with("encrypted: "), "{error}");
    };
    let mut locked = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .with_deprecated_encryption(b"secret")
        .expect("a password");
    locked.start_file("book.txt", options).expect("a name");
    locked.write_all(b"A stone.").expect("memory");
    encrypted(locked.finish().expect("memory").into_inner());

    let container =
        b"<container><rootfiles><rootfile full-path=\"a.opf\"/></rootfiles></container>";
    let method =
        b"<encryption><EncryptedData><EncryptionMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#aes128-cbc\"/>\
                   </EncryptedData></encryption>";
    encrypted(zip(&[
        ("META-INF/container.xml", container),
        ("META-INF/encryption.xml", method),
    ]));

    let manifest = b"<manifest><encryption-data/></manifest>";
    encrypted(zip(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("META-INF/manifest.xml", manifest),
    ]));

    let mut mobi = makers::mobi(&paragraphs());
    let head = u32::from_be_bytes(mobi[78..82].try_into().expect("four bytes")) as usize;
    mobi[head + 13] = 2;
    encrypted(mobi);

    let mut office = cfb::CompoundFile::create(Cursor::new(Vec::new())).expect("memory");
    office
        .create_stream("EncryptedPackage")
        .and_then(|mut stream| stream.write_all(b"secret"))
        .expect("memory");
    encrypted(office.into_inner().into_inner());
    let mut doc = makers::doc(&paragraphs());
    let at = doc
        .windows(4)
        .position(|bytes| bytes == [0xEC, 0xA5, 0xC1, 0])
        .expect("its head");
    doc[at + 11] |= 1;
    encrypted(doc);

    let pdf = String::from_utf8_lossy(&makers::pdf_of(&[b"<</Type/Catalog>>".to_vec(), b"<</Filter/Standard/V 1/R 2/O(0123456789abcdef0123456789abcdef)/U(0123456789abcdef0123456789abcdef)/P -4>>".to_vec()], 2))
        .replace("/Info 2 0 R", "/Encrypt 2 0 R/ID[(0123456789abcdef)(0123456789abcdef)]");
    encrypted(pdf.into_bytes());
}

/// A font without a character mapping.
#[test]
fn pages_that_cannot_be_read() {
    let pdf = |fonts: &[&str]| {
        let mut objects = vec![b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), Vec::new()];
        let mut kids = String::new();
        for font in fonts {
            let page = objects.len() + 1;
            kids += &[" ", &page.to_string(), " 0 R"].concat();
            let content = page + 1;
            let resources = format!("<</Font<</F1 {font}>>>>");
            let about = format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources{resources}/Contents {content} 0 R>>"
            );
            objects.push(about.into_bytes());
            objects.push(makers::stream(
                "",
                b"BT /F1 10 Tf (A page that can be read.) Tj ET",
                1,
            ));
        }
        objects[1] = format!("<</Type/Pages/Kids[{kids}]/Count {}>>", fonts.len()).into_bytes();
        makers::pdf_of(&objects, 1)
    };
    let good = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";
    let nameless = "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H>>";
    let refused = one(pdf(&[good, nameless]))
        .expect_err("half of it is lost")
        .to_string();
    assert!(
        refused.contains("1 of 2 pages cannot be read, the first is page 2"),
        "{refused}"
    );
    let count = |fonts: &[&str], what: &str| {
        let text = one(pdf(fonts)).expect(what).text;
        text.matches("can be read").count()
    };
    let fonts: Vec<&str> = std::iter::repeat_n(good, 19).chain([nameless]).collect();
    assert_eq!(count(&fonts, "most of it"), 19);
    // A missing font, and one that cannot be read, are replaced by a common one.
    let unknown = "<</Type/Font/Subtype/Type9/FirstChar 0/LastChar 9/Widths[500]>>";
    assert_eq!(count(&[good, "17", unknown], "all of it"), 3);
}

/// Reads a file. Readers must not panic, but for a third-party one, which runs in a process of its own.
fn attempt(name: &str, what: &str, bytes: Vec<u8>) {
    let begun = Instant::now();
    let read = lapidary_extract::read(file(bytes), Limits::default());
    let panicked = |error: &ExtractError| matches!(error, ExtractError::Stopped { .. });
    let stopped = match &read {
        Err(error) => panicked(error),
        Ok(books) => books
            .iter()
            .any(|book| book.read.as_ref().is_err_and(panicked)),
    };
    assert!(
        !stopped || name == "doc",
        "{name}, {what}: its reader panicked"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{name}, {what}: took {:?}",
        begun.elapsed()
    );
}

/// Hides the messages of panics that are caught.
fn quietly(test: impl FnOnce() + panic::UnwindSafe) {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info
            .location()
            .is_some_and(|place| place.file().starts_with("tests"))
        {
            hook(info);
        }
    }));
    test();
}

#[test]
fn files_cut_off_at_any_byte() {
    quietly(|| {
        for (name, make) in MAKERS {
            let whole = make(&paragraphs());
            for end in 0..whole.len() {
                attempt(name, &format!("cut off at {end}"), whole[..end].to_vec());
            }
        }
    });
}

/// In a process of its own, whose memory is that of this test.
#[test]
fn files_with_bytes_changed() {
    const ALONE: &str = "LAPIDARY_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let test = std::thread::current()
            .name()
            .expect("the name of a test")
            .to_owned();
        let mut again = Command::new(std::env::current_exe().expect("this program"));
        let output = again
            .args(["--exact", &test, "--nocapture"])
            .env(ALONE, "")
            .output()
            .expect("it runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && printed.contains("1 passed"),
            "{printed}"
        );
        return;
    }
    quietly(|| {
        for (name, make) in MAKERS {
            let whole = make(&paragraphs());
            for seed in 0..2_000 {
                attempt(name, &format!("mutation {seed}"), mutated(&whole, seed));
            }
        }
        let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = peak.lines().find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .parse::<u64>()
                .ok()
        });
        assert!(
            peak.unwrap_or_default() < Limits::default().memory >> 10,
            "{peak:?} kB"
        );
    });
}

/// Mutates a file, deterministically per seed: changes, removes or duplicates bytes, or enlarges numbers.
fn mutated(whole: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % end.max(1)
    };
    let mut bytes = whole.to_vec();
    for _ in 0..=below(8) {
        let at = below(bytes.len());
        match below(6) {
            0 => bytes[at] = below(256) as u8,
            1 => bytes[at] ^= 1 << below(8),
            2 => {
                let end = bytes.len().min(at + below(64));
                bytes.drain(at..end);
            }
            3 => {
                let end = bytes.len().min(at + below(64));
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => bytes
                .iter_mut()
                .skip(at)
                .take(4)
                .for_each(|byte| *byte = 0xFF),
            _ => {
                let to = below(bytes.len());
                bytes.swap(at, to);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}
