//! Readers of e-book formats, on files that are made here: what is text, what a file says of itself, and what no file can do.

#![allow(clippy::format_collect, reason = "bombs are put together as they are read")]

#[path = "common/makers.rs"]
mod makers;

use std::io::Cursor;
use std::io::Write as _;
use std::panic;
use std::time::{Duration, Instant};

use lapidary::extract::{self, Book, ExtractError, Extracted, File, Limit, Limits, Met};
use makers::{AUTHOR, ISBN, MAKERS, TITLE, gz, zip};
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
    File { bytes, name: None, encoding: None }
}

fn one(bytes: Vec<u8>) -> Result<Extracted, ExtractError> {
    extract::read_one(file(bytes), Limits::default())
}

fn books(bytes: Vec<u8>) -> Vec<Book> {
    extract::read(file(bytes), Limits::default()).expect("an archive")
}

/// The words of a text, whatever stands between them.
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
fn what_files_say_of_themselves() {
    for (name, make) in MAKERS {
        let metadata = one(make(&paragraphs())).expect("a book").metadata;
        let titled = !matches!(name, "txt" | "doc");
        assert_eq!(metadata.title.as_deref(), titled.then_some(TITLE), "{name}");
        assert_eq!(metadata.authors, if titled { vec![AUTHOR] } else { vec![] }, "{name}");
        let language = matches!(name, "html" | "fb2" | "fb3" | "epub" | "mobi" | "tei").then_some("en");
        assert_eq!(metadata.language.as_deref(), language, "{name}");
        let identified = matches!(name, "fb2" | "fb3" | "epub" | "mobi");
        assert_eq!(metadata.identifiers.iter().any(|id| id.contains(ISBN)), identified, "{name}");
    }
}

#[test]
fn what_files_say_is_no_longer_than_a_record() {
    let title = "Stone ".repeat(100_000);
    let page = format!("<html><head><title>{title}</title></head><body>A gem.</body></html>");
    let metadata = one(page.into_bytes()).expect("a page").metadata;
    assert_eq!(metadata.title.expect("a title").chars().count(), 1_000);
}

/// Many a file says of itself what it was before it was converted.
#[test]
fn encodings_that_are_declared_wrongly() {
    let text = "Старый гранильщик жил на краю посёлка, у самой реки.";
    let fb2 = format!(
        "<?xml version=\"1.0\" encoding=\"windows-1251\"?><FictionBook><body><p>{text}</p></body></FictionBook>"
    );
    let html = format!("<html><head><meta charset=\"windows-1251\"></head><body><p>{text}</p></body></html>");
    for page in [fb2, html] {
        assert_eq!(one(page.clone().into_bytes()).expect("UTF-8").text, text);
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(&page);
        assert_eq!(one(bytes.clone().into_owned()).expect("windows-1251").text, text);
        let mut wrong = bytes.into_owned();
        replace(&mut wrong, b"windows-1251", b"utf-8       ");
        assert_eq!(one(wrong).expect("windows-1251, said to be UTF-8").text, text);
    }
}

#[test]
fn words_of_a_printed_page() {
    let justified = ["The  old   cutter of stones lived at the very", "edge of the village.", "More he would not say."];
    let read = one(makers::pdf(&justified.map(str::to_owned))).expect("a document");
    assert!(read.text.starts_with("The old cutter of stones"), "{}", read.text);
    let boxed = one(b"{\\rtf1 Text {\\shp{\\*\\shpinst{\\sp junk}{\\shptxt boxed}}}end}".to_vec());
    assert_eq!(words(&boxed.expect("a document").text).join(" "), "Text boxedend");
}

#[test]
fn names_break_ties_only() {
    for (name, make) in MAKERS {
        for ending in ["pdf", "html", "txt"] {
            let named = File { bytes: make(&paragraphs()), name: Some(format!("book.{ending}")), encoding: None };
            let read = extract::read_one(named, Limits::default()).expect("a book");
            assert_eq!(read.text, one(make(&paragraphs())).expect("a book").text, "{name} as {ending}");
        }
    }
    let piece = b"<p>A piece of a page</p>".to_vec();
    let named = File { bytes: piece.clone(), name: Some("piece.HTML".to_owned()), encoding: None };
    assert_eq!(extract::read_one(named, Limits::default()).expect("a page").text, "A piece of a page");
    assert_eq!(one(piece).expect("a text").text, "<p>A piece of a page</p>");
}

#[test]
fn archives_hold_books() {
    for (name, make) in MAKERS {
        let book = make(&paragraphs());
        let alone = one(book.clone()).expect("a book");
        let packed =
            zip(&[("folder/", b""), (&format!("folder/a.{name}"), &book), ("folder/cover.png", b"\x89PNG\r\n\x1a\n")]);
        assert_eq!(one(packed.clone()), Ok(alone.clone()), "{name} in zip");
        assert_eq!(one(gz(&book)), Ok(alone.clone()), "{name} in gz");
        assert_eq!(one(gz(&packed)), Ok(alone.clone()), "{name} in zip in gz");

        let many = zip(&[("a.bin", &book), ("inner.zip", &packed), ("b.txt", b"Short."), ("__MACOSX/a", b"x")]);
        let names: Vec<Option<String>> = books(many.clone()).into_iter().map(|book| book.name).collect();
        let inner = Some(format!("inner.zip/folder/a.{name}"));
        assert_eq!(names, [Some("a.bin".to_owned()), inner, Some("b.txt".to_owned())]);
        assert!(matches!(one(many.clone()), Err(ExtractError::Several { books: 3, .. })));
        let whole = extract::read_whole(file(many), Limits::default()).expect("one text");
        assert_eq!(whole, [alone.text.as_str(), &alone.text, "Short."].join("\n\n"));
    }
    // A book that cannot be read stops no other.
    let some = books(zip(&[("a.txt", b"A stone."), ("b.djvu", b"AT&TFORM\0\0\0\x04"), ("c.txt", b"A gem.")]));
    assert_eq!(some.iter().map(|book| book.read.is_ok()).collect::<Vec<_>>(), [true, false, true]);
    assert!(matches!(one(zip(&[])), Err(ExtractError::NotText { .. })));
    // Names of old archives, which say no code page.
    let (name, _, _) = encoding_rs::IBM866.encode("Шинель и другие повести.txt");
    let mut old = zip(&[("Xxxxxx x xxxxxx xxxxxxx.txt", b"A stone."), ("b.txt", b"A gem.")]);
    replace(&mut old, b"Xxxxxx x xxxxxx xxxxxxx.txt", &name);
    assert_eq!(books(old)[0].name.as_deref(), Some("Шинель и другие повести.txt"));
}

/// Puts bytes in the place of others of the same length, wherever they stand.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    for at in 0..=bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
    }
}

fn met(bytes: Vec<u8>) -> Option<Limit> {
    match extract::read(file(bytes), Limits::default()) {
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
    assert_eq!(met(zip(&[("a.zip", &packed), ("b.zip", &packed)])), Some(Limit::Ratio));
    let nested = (0..5).fold(b"A stone.".to_vec(), |inner, _| zip(&[("inner.zip", &inner)]));
    assert_eq!(met(nested), Some(Limit::Archives));
    // A size that lies: what is unpacked counts.
    let mut lying = packed;
    replace(&mut lying, &(300_u32 << 20).to_le_bytes(), &10_u32.to_le_bytes());
    assert!(one(lying).is_err());
    // All entries are one and the same: the sum counts.
    let kilobytes = vec![b' '; 1 << 20];
    let mut overlapping = Vec::new();
    for i in 0..300 {
        overlapping.push((format!("{i}.txt"), kilobytes.as_slice()));
    }
    let overlapping: Vec<(&str, &[u8])> = overlapping.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    assert_eq!(met(zip(&overlapping)), Some(Limit::Ratio));
    let limits = Limits { entries: 200, ..Limits::default() };
    let refused = extract::read(file(zip(&overlapping)), limits);
    assert_eq!(refused, Err(ExtractError::OverLimit(Met { limit: Limit::Entries, at: 200 })));
    let limits = Limits { input: 10, ..Limits::default() };
    let refused = extract::read(file(b"A text of more".to_vec()), limits);
    assert_eq!(refused, Err(ExtractError::OverLimit(Met { limit: Limit::Input, at: 10 })));
}

#[test]
fn nests_meet_a_limit() {
    let deep = |open: &str, close: &str| format!("{}x{}", open.repeat(100_000), close.repeat(100_000));
    let fb2 = format!("<FictionBook><body>{}</body></FictionBook>", deep("<section>", "</section>"));
    let tei = format!("<TEI><text>{}</text></TEI>", deep("<div>", "</div>"));
    let rtf = format!("{{\\rtf1 {}}}", deep("{", "}"));
    for (name, bomb) in [("fb2", fb2), ("tei", tei), ("rtf", rtf)] {
        assert_eq!(met(bomb.into_bytes()), Some(Limit::Depth), "{name}");
    }
    // The reader of HTML makes no tree.
    assert_eq!(one(format!("<html>{}", deep("<div>", "</div>")).into_bytes()).expect("a page").text, "x");
}

#[test]
fn entities_are_never_resolved() {
    let laughs: String =
        (1..10).map(|i| format!("<!ENTITY l{i} \"{}\">", format!("&l{};", i - 1).repeat(10))).collect();
    for (root, inner) in [("FictionBook", "body"), ("TEI", "text")] {
        let bomb = format!(
            "<?xml version=\"1.0\"?><!DOCTYPE {root} [<!ENTITY l0 \"ha\">{laughs}<!ENTITY f SYSTEM \"file:///etc/passwd\">]>\
             <{root}><{inner}><p>A &l9; &f; stone &amp; a gem.</p></{inner}></{root}>"
        );
        assert_eq!(one(bomb.into_bytes()).expect("a book").text, "A stone & a gem.");
    }
}

#[test]
fn what_is_encrypted_is_said_to_be() {
    let encrypted = |bytes: Vec<u8>| {
        let error = one(bytes).expect_err("a refusal").to_string();
        assert!(error.starts_with("encrypted: "), "{error}");
    };
    let mut locked = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().with_deprecated_encryption(b"secret").expect("a password");
    locked.start_file("book.txt", options).expect("a name");
    locked.write_all(b"A stone.").expect("memory");
    encrypted(locked.finish().expect("memory").into_inner());

    let container = b"<container><rootfiles><rootfile full-path=\"a.opf\"/></rootfiles></container>";
    let method =
        b"<encryption><EncryptedData><EncryptionMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#aes128-cbc\"/>\
                   </EncryptedData></encryption>";
    encrypted(zip(&[("META-INF/container.xml", container), ("META-INF/encryption.xml", method)]));

    let manifest = b"<manifest><encryption-data/></manifest>";
    encrypted(zip(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("META-INF/manifest.xml", manifest)]));

    let mut mobi = makers::mobi(&paragraphs());
    let head = u32::from_be_bytes(mobi[78..82].try_into().expect("four bytes")) as usize;
    mobi[head + 13] = 2;
    encrypted(mobi);

    let mut office = cfb::CompoundFile::create(Cursor::new(Vec::new())).expect("memory");
    office.create_stream("EncryptedPackage").and_then(|mut stream| stream.write_all(b"secret")).expect("memory");
    encrypted(office.into_inner().into_inner());
    let mut doc = makers::doc(&paragraphs());
    let at = doc.windows(4).position(|bytes| bytes == [0xEC, 0xA5, 0xC1, 0]).expect("its head");
    doc[at + 11] |= 1;
    encrypted(doc);

    let pdf = String::from_utf8_lossy(&makers::pdf_of(&[b"<</Type/Catalog>>".to_vec(), b"<</Filter/Standard/V 1/R 2/O(0123456789abcdef0123456789abcdef)/U(0123456789abcdef0123456789abcdef)/P -4>>".to_vec()], 2))
        .replace("/Info 2 0 R", "/Encrypt 2 0 R/ID[(0123456789abcdef)(0123456789abcdef)]");
    encrypted(pdf.into_bytes());
}

/// What a fuzzer found: a font of parts that has none, and one that is no dictionary. The parser panics at both.
#[test]
fn pages_that_a_parser_panics_at() {
    let pdf = |fonts: &[&str]| {
        let mut objects = vec![b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), Vec::new()];
        let mut kids = String::new();
        for font in fonts {
            let page = objects.len() + 1;
            kids += &[" ", &page.to_string(), " 0 R"].concat();
            let content = page + 1;
            let resources = format!("<</Font<</F1 {font}>>>>");
            let about =
                format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources{resources}/Contents {content} 0 R>>");
            objects.push(about.into_bytes());
            objects.push(makers::stream("", b"BT /F1 10 Tf (A page that can be read.) Tj ET", 1));
        }
        objects[1] = format!("<</Type/Pages/Kids[{kids}]/Count {}>>", fonts.len()).into_bytes();
        makers::pdf_of(&objects, 1)
    };
    let good = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";
    quietly(move || {
        for bad in ["<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H>>", "17"] {
            let refused = one(pdf(&[good, bad])).expect_err("half of it is lost").to_string();
            assert!(refused.contains("1 of 2 pages cannot be read; page 2"), "{refused}");
            let fonts: Vec<&str> = std::iter::repeat_n(good, 19).chain([bad]).collect();
            assert_eq!(one(pdf(&fonts)).expect("most of it").text.matches("can be read").count(), 19);
        }
    });
}

/// Reads, and refuses what a reader of ours must never do. Those of others may panic: they run in processes of their own.
fn attempt(name: &str, what: &str, bytes: Vec<u8>) {
    let begun = Instant::now();
    let read = extract::read(file(bytes), Limits::default());
    let panicked = |error: &ExtractError| matches!(error, ExtractError::Stopped { .. });
    let stopped = match &read {
        Err(error) => panicked(error),
        Ok(books) => books.iter().any(|book| book.read.as_ref().is_err_and(panicked)),
    };
    assert!(!stopped || matches!(name, "pdf" | "doc"), "{name}, {what}: its reader panicked");
    assert!(begun.elapsed() < Duration::from_secs(20), "{name}, {what}: took {:?}", begun.elapsed());
}

/// Panics that are caught need not be told.
fn quietly(test: impl FnOnce() + panic::UnwindSafe) {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.location().is_some_and(|place| place.file().starts_with("tests")) {
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

#[test]
fn files_with_bytes_changed() {
    quietly(|| {
        for (name, make) in MAKERS {
            let whole = make(&paragraphs());
            for seed in 0..2_000 {
                attempt(name, &format!("mutation {seed}"), mutated(&whole, seed));
            }
        }
        let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak =
            peak.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        assert!(peak.unwrap_or_default() < Limits::default().memory >> 10, "{peak:?} kB");
    });
}

/// A file with a few changes, always the same for a seed: bytes changed, removed, doubled, or numbers made large.
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
            4 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xFF),
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
