//! What readers of PDF files see, and what they do not: hidden words are left out and counted, in whatever way they
//! are hidden; whatever can be seen is read. And documents that are encrypted.

use crate::words;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::makers::{pdf_of, stream};
use lapidary_extract::{ExtractError, Extracted, File, HiddenCount, Hiding, Limit, Limits, Met};
use lopdf::encryption::crypt_filters::{Aes128CryptFilter, Aes256CryptFilter, CryptFilter};
use lopdf::{Dictionary, Document, EncryptionState, EncryptionVersion, Object, Permissions};

/// The width of a letter of the font, and the height of a line, in points.
const LETTER: usize = 6;
const LINE: usize = 14;

fn prose(seed: u64, words: usize) -> String {
    let mut state = seed;
    let below = |most| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    words::text_of_words(below, words)
}

fn read(what: &str, bytes: Vec<u8>) -> Extracted {
    let file = File {
        bytes: bytes.into(),
        name: None,
        encoding: None,
    };
    lapidary_extract::read_one(file, Limits::default())
        .unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// A document whose pages have this content, and these further entries.
fn document(pages: &[String], entries: &str) -> Vec<u8> {
    document_with("6 0 R", pages, entries)
}

/// A document in which these layers are switched off.
fn document_with(off: &str, pages: &[String], entries: &str) -> Vec<u8> {
    let layers = format!("/OCProperties<</OCGs[6 0 R 7 0 R]/D<</Order[6 0 R 7 0 R]/OFF[{off}]>>>>");
    let function =
        |from: &str, to: &str| format!("<</FunctionType 2/Domain[0 1]/C0[{from}]/C1[{to}]/N 1>>");
    let axial = |function: &str, more: &str| {
        format!(
            "<</ShadingType 2/ColorSpace/DeviceRGB/Coords[0 0 595 0]/Function {function}{more}>>"
        )
    };
    let [all_white, dark, open] = [
        axial(&function("1 1 1", "1 1 1"), "/Extend[true true]"),
        axial(&function("0 0 0", "1 0 0"), "/Extend[true true]"),
        axial(&function("1 1 1", "1 1 1"), ""),
    ];
    let composite = |encoding: &str| {
        format!(
            "<</Type/Font/Subtype/Type0/BaseFont/Made/Encoding/{encoding}/ToUnicode/Identity-H\
             /DescendantFonts[<</Type/Font/Subtype/CIDFontType2/BaseFont/Made>>]>>"
        )
    };
    let members = |policy: &str| format!("<</Type/OCMD/OCGs[7 0 R]/P/{policy}>>");
    let page_tree = |kids: &str| format!("<</Type/Pages/Kids[{kids}]/Count {}>>", pages.len());
    let tint = "<</FunctionType 2/Domain[0 1]/C0[0 0 0 0]/C1[0 0 0 1]/N 1>>";
    let resources = format!(
        "<</Font<</F1 3 0 R/Wide {}/Bytes {}>>/XObject<</Scan 4 0 R/Off 5 0 R/White 10 0 R/Veil 11 0 R/Dot 13 0 R/Black 14 0 R>>\
         /Properties<</Off 6 0 R/On 7 0 R/Both 8 0 R/AllOff {}/AnyOff {}/Not<</Type/OCMD/VE[/Not 7 0 R]>>>>\
         /ExtGState<</Clear<</ca 0/CA 0>>/Multiply<</BM/Multiply>>/Half<</ca 0.5>>>>\
         /ColorSpace<</Black[/Separation/Black/DeviceCMYK {tint}]/Icc[/ICCBased 9 0 R]>>\
         /Shading<</Fade {open}/AllWhite {all_white}/Dark {dark}>>\
         /Pattern<</AllWhite<</PatternType 2/Shading {all_white}>>/Dark<</PatternType 2/Shading {dark}>>>>>>",
        composite("Identity-H"),
        composite("90ms-RKSJ-H"),
        members("AllOff"),
        members("AnyOff"),
    );
    let picture = "/Type/XObject/Subtype/Image/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray";
    let mut objects = vec![
        format!("<</Type/Catalog/Pages 2 0 R{layers}>>").into_bytes(),
        Vec::new(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>".to_vec(),
        stream(&format!("{picture}/Width 2"), b"\xd0\x10", 1),
        stream(
            "/Type/XObject/Subtype/Form/BBox[0 0 595 842]/OC 6 0 R/Resources<</Font<</F1 3 0 R>>>>",
            b"BT /F1 10 Tf 50 50 Td (opal) Tj ET",
            1,
        ),
        b"<</Type/OCG/Name(Off)>>".to_vec(),
        b"<</Type/OCG/Name(On)>>".to_vec(),
        b"<</Type/OCMD/OCGs[6 0 R 7 0 R]/P/AllOn>>".to_vec(),
        stream("/N 3", b"", 1),
        stream(&format!("{picture}/Width 3"), b"\xff\xfe\xff", 1),
        stream(&format!("{picture}/Width 2/SMask 12 0 R"), b"\xd0\x10", 1),
        stream(&format!("{picture}/Width 1"), b"\xff", 1),
        stream(
            "/Type/XObject/Subtype/Image/Width 1/Height 1/ImageMask true/BitsPerComponent 1",
            b"\0",
            1,
        ),
        stream(&format!("{picture}/Width 1"), b"\x10", 1),
    ];
    let mut kids = String::new();
    for page in pages {
        let number = objects.len() + 1;
        let _ = write!(kids, "{number} 0 R ");
        let about = format!(
            "/MediaBox[0 0 595 842]/Resources{resources}{entries}/Contents {} 0 R",
            number + 1
        );
        objects.push(format!("<</Type/Page/Parent 2 0 R{about}>>").into_bytes());
        objects.push(stream("", page.as_bytes(), 1));
    }
    objects[1] = page_tree(&kids).into_bytes();
    pdf_of(&objects, 1)
}

/// How something is shown at a place.
type Show = fn(usize, usize, &str) -> String;

fn shown(x: usize, y: usize, text: &str) -> String {
    format!("BT /F1 10 Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n")
}

/// A box around what is shown at this place.
fn around(x: usize, y: usize, text: &str) -> String {
    format!("{x} {} {} {LINE} re\n", y - 4, text.len() * LETTER)
}

/// A picture, or what else fills a unit of space, in place of what is shown here.
fn instead(x: usize, y: usize, text: &str, what: &str) -> String {
    format!(
        "q {} 0 0 {LINE} {x} {} cm {what} Q\n",
        text.len() * LETTER,
        y - 4
    )
}

/// Shown in a font of two-byte codes, each letter of which is as wide as it is high.
fn wide(x: usize, y: usize, text: &str) -> String {
    let codes = text.chars().fold(String::new(), |codes, char| {
        codes + &format!("{:04x}", u32::from(char))
    });
    format!("BT /Wide {LETTER} Tf 1 0 0 1 {x} {y} Tm <0020> Tj <{codes}> Tj ET\n")
}

/// Shown in a font of codes of which the widths are not known.
fn bytes(x: usize, y: usize, text: &str) -> String {
    format!("BT /Bytes {LETTER} Tf 1 0 0 1 {x} {y} Tm ( ) Tj ({text}) Tj ET\n")
}

/// A way to hide words: how they are shown, what is painted at the end, and how it is called.
struct Way {
    name: &'static str,
    how: Hiding,
    junk: Show,
    later: Show,
}

const fn way(name: &'static str, how: Hiding, junk: Show) -> Way {
    Way {
        name,
        how,
        junk,
        later: |_, _, _| String::new(),
    }
}

const WAYS: [Way; 39] = [
    way("render mode 3", Hiding::InvisibleRendering, |x, y, junk| {
        format!("q 3 Tr {} Q\n", shown(x, y, junk))
    }),
    way("render mode 7", Hiding::InvisibleRendering, |x, y, junk| {
        format!("q 7 Tr {} Q\n", shown(x, y, junk))
    }),
    way("white", Hiding::SameColour, |x, y, junk| {
        format!("1 g {} 0 g\n", shown(x, y, junk))
    }),
    way("nearly white", Hiding::SameColour, |x, y, junk| {
        format!("0.98 0.97 1 rg {} 0 g\n", shown(x, y, junk))
    }),
    way("white in CMYK", Hiding::SameColour, |x, y, junk| {
        format!("0 0 0 0 k {} 0 g\n", shown(x, y, junk))
    }),
    way(
        "white in an ICC profile",
        Hiding::SameColour,
        |x, y, junk| format!("/Icc cs 1 1 1 sc {} 0 g\n", shown(x, y, junk)),
    ),
    way("no ink", Hiding::SameColour, |x, y, junk| {
        format!("/Black cs 0 scn {} 0 g\n", shown(x, y, junk))
    }),
    way("white lines", Hiding::SameColour, |x, y, junk| {
        format!("q 1 Tr 1 G {} Q\n", shown(x, y, junk))
    }),
    way("black on black", Hiding::SameColour, |x, y, junk| {
        format!("0 g {} f {}\n", around(x, y, junk), shown(x, y, junk))
    }),
    way("multiplied white", Hiding::SameColour, |x, y, junk| {
        format!("q /Multiply gs 1 g {} Q\n", shown(x, y, junk))
    }),
    way("white on a clear box", Hiding::SameColour, |x, y, junk| {
        format!(
            "q q /Clear gs 0 g {} f Q 1 g {} Q\n",
            around(x, y, junk),
            shown(x, y, junk)
        )
    }),
    way("off the page", Hiding::OffPage, |_, y, junk| {
        shown(700, y, junk)
    }),
    way("moved off the page", Hiding::OffPage, |x, y, junk| {
        format!("q 1 0 0 1 0 -900 cm {} Q\n", shown(x, y, junk))
    }),
    way("tiny", Hiding::Tiny, |x, y, junk| {
        format!("BT /F1 0.5 Tf {x} {y} Td ({junk}) Tj ET\n")
    }),
    way("tiny by its matrix", Hiding::Tiny, |x, y, junk| {
        format!("BT /F1 10 Tf .05 0 0 .05 {x} {y} Tm ({junk}) Tj ET\n")
    }),
    way("squeezed", Hiding::Tiny, |x, y, junk| {
        format!("q 1 Tz {} Q\n", shown(x, y, junk))
    }),
    Way {
        name: "under a box",
        how: Hiding::Covered,
        junk: shown,
        later: |x, y, junk| format!("1 g {} f 0 g\n", around(x, y, junk)),
    },
    Way {
        name: "under a picture",
        how: Hiding::Covered,
        junk: shown,
        later: |x, y, junk| {
            format!(
                "q {} 0 0 {LINE} {x} {} cm /Scan Do Q\n",
                junk.len() * LETTER,
                y - 4
            )
        },
    },
    way("clipped to nothing", Hiding::Clipped, |x, y, junk| {
        format!("q 0 0 0 0 re W n {} Q\n", shown(x, y, junk))
    }),
    way("clipped elsewhere", Hiding::Clipped, |x, y, junk| {
        format!("q 10 10 m 20 10 l 10 20 l h W* n {} Q\n", shown(x, y, junk))
    }),
    way("transparent", Hiding::Transparent, |x, y, junk| {
        format!("q /Clear gs {} Q\n", shown(x, y, junk))
    }),
    way(
        "on a layer that is off",
        Hiding::HiddenLayer,
        |x, y, junk| format!("/OC /Off BDC {} EMC\n", shown(x, y, junk)),
    ),
    way(
        "on several layers, one of them off",
        Hiding::HiddenLayer,
        |x, y, junk| format!("/OC /Both BDC {} EMC\n", shown(x, y, junk)),
    ),
    way(
        "on layers, none of which is off",
        Hiding::HiddenLayer,
        |x, y, junk| format!("/OC /AllOff BDC {} EMC\n", shown(x, y, junk)),
    ),
    way(
        "on a layer that is not off",
        Hiding::HiddenLayer,
        |x, y, junk| format!("/OC /AnyOff BDC {} EMC\n", shown(x, y, junk)),
    ),
    way(
        "on a layer that is on, turned around",
        Hiding::HiddenLayer,
        |x, y, junk| format!("/OC /Not BDC {} EMC\n", shown(x, y, junk)),
    ),
    way(
        "white on a white picture",
        Hiding::SameColour,
        |x, y, junk| {
            format!(
                "{} 1 g {} 0 g\n",
                instead(x, y, junk, "/White Do"),
                shown(x, y, junk)
            )
        },
    ),
    way(
        "grey on a grey picture in the text",
        Hiding::SameColour,
        |x, y, junk| {
            // The byte is a grey of about one half.
            let picture = "BI /W 1 /H 1 /BPC 8 /CS /DeviceGray ID ~ EI";
            format!(
                "{} 0.49 g {} 0 g\n",
                instead(x, y, junk, picture),
                shown(x, y, junk)
            )
        },
    ),
    way(
        "white on a white shading",
        Hiding::SameColour,
        |x, y, junk| {
            format!(
                "q {} W n /AllWhite sh Q 1 g {} 0 g\n",
                around(x, y, junk),
                shown(x, y, junk)
            )
        },
    ),
    way(
        "white on a white pattern",
        Hiding::SameColour,
        |x, y, junk| {
            format!(
                "/Pattern cs /AllWhite scn {} f 1 g {} 0 g\n",
                around(x, y, junk),
                shown(x, y, junk)
            )
        },
    ),
    way(
        "white in a font without widths",
        Hiding::SameColour,
        |x, y, junk| format!("1 g {} 0 g\n", wide(x, y, junk)),
    ),
    way(
        "white in a font of unknown widths",
        Hiding::SameColour,
        |x, y, junk| format!("1 g {} 0 g\n", bytes(x, y, junk)),
    ),
    way(
        "tiny in a font of unknown widths",
        Hiding::Tiny,
        |x, y, junk| bytes(x, y, junk).replace("1 0 0 1", ".1 0 0 .1"),
    ),
    Way {
        name: "under a picture with a full mask",
        how: Hiding::Covered,
        junk: shown,
        later: |x, y, junk| instead(x, y, junk, "/Veil Do"),
    },
    Way {
        name: "under a stencil",
        how: Hiding::Covered,
        junk: shown,
        later: |x, y, junk| format!("1 g {} 0 g\n", instead(x, y, junk, "/Dot Do")),
    },
    Way {
        name: "under a shading",
        how: Hiding::Covered,
        junk: shown,
        later: |x, y, junk| format!("q {} W n /Dark sh Q\n", around(x, y, junk)),
    },
    Way {
        name: "under a pattern",
        how: Hiding::Covered,
        junk: shown,
        later: |x, y, junk| format!("/Pattern cs /Dark scn {} f 0 g\n", around(x, y, junk)),
    },
    Way {
        name: "under clips in clips",
        how: Hiding::Covered,
        junk: shown,
        later: |x, y, junk| {
            let clips = "0 0 m 600 0 l 600 900 l 0 900 l 1 450 l h W n ".repeat(20);
            format!("q {clips} 1 g {} f Q\n", around(x, y, junk))
        },
    },
    way(
        "in a form on a layer that is off",
        Hiding::HiddenLayer,
        |_, _, junk| "/Off Do\n".repeat(junk.split(' ').count()),
    ),
];

/// Pages of words. After every four, there is room for one or two others, which are shown in this way.
fn broken_up(words: &[&str], way: Option<&Way>) -> (Vec<String>, u64) {
    let (mut pages, mut page, mut later, mut hidden) =
        (Vec::new(), String::new(), String::new(), 0);
    let (mut x, mut y) = (50, 780);
    for (place, four) in words.chunks(4).enumerate() {
        let junk = ["opal", "opal beryl"][place % 2];
        let text = four.join(" ");
        let width = (text.len() + junk.len() + 2) * LETTER;
        if x + width > 560 {
            (x, y) = (50, y - LINE);
        }
        if y < 60 {
            pages.push(std::mem::take(&mut page) + &std::mem::take(&mut later));
            y = 780;
        }
        page.push_str(&shown(x, y, &text));
        let at = x + (text.len() + 1) * LETTER;
        if let Some(Way {
            junk: show,
            later: cover,
            ..
        }) = way
        {
            page.push_str(&show(at, y, junk));
            later.push_str(&cover(at, y, junk));
            hidden += junk.split(' ').count() as u64;
        }
        x += width;
    }
    pages.push(page + &later);
    (pages, hidden)
}

#[test]
fn hidden_words_are_left_out_and_counted() {
    let text = prose(7, 1_000);
    let words: Vec<&str> = text.split_whitespace().collect();
    let as_if = read("nothing", document(&broken_up(&words, None).0, ""));
    assert!(as_if.hidden.is_empty() && as_if.text.len() > 5_000);
    assert_eq!(as_if.text.split_whitespace().collect::<Vec<_>>(), words);
    for way in &WAYS {
        let (pages, words) = broken_up(&words, Some(way));
        let read = read(way.name, document(&pages, ""));
        assert!(read.text == as_if.text, "{}: {:.300}", way.name, read.text);
        let counts: Vec<HiddenCount> = read.hidden.counts().collect();
        assert_eq!(
            counts,
            [HiddenCount {
                method: way.how,
                words
            }],
            "{}",
            way.name
        );
    }
}

/// A way to show a text that can be seen: what is before and after it, and entries of the page.
const SEEN: [(&str, &str, &str, &str); 28] = [
    (
        "a scan whose text was recognised",
        "q 595 0 0 842 0 0 cm /Scan Do Q 3 Tr",
        "",
        "",
    ),
    (
        "a scan over its text",
        "",
        "q 595 0 0 842 0 0 cm /Scan Do Q",
        "",
    ),
    (
        "a stamped scan",
        "BT /F1 8 Tf 50 20 Td (Stamp) Tj ET q 595 0 0 842 0 0 cm /Scan Do Q 3 Tr",
        "",
        "",
    ),
    ("white on a dark box", "0.1 g 0 0 595 842 re f 1 g", "", ""),
    (
        "white on a dark circle",
        "0 g 300 2000 m 2300 2000 2300 -1500 300 -1500 c -1700 -1500 -1700 2000 300 2000 c f 1 g",
        "",
        "",
    ),
    (
        "white on a broad line",
        "0 0 0.5 RG 900 w 0 400 m 595 400 l S 1 g",
        "",
        "",
    ),
    (
        "white on a picture",
        "q 595 0 0 842 0 0 cm /Scan Do Q 1 g",
        "",
        "",
    ),
    (
        "white on a dark picture",
        "q 595 0 0 842 0 0 cm /Black Do Q 1 g",
        "",
        "",
    ),
    (
        "white on a picture in the text",
        "q 595 0 0 842 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID ~ EI Q 1 g",
        "",
        "",
    ),
    ("white on a dark shading", "/Dark sh 1 g", "", ""),
    (
        "white on a dark pattern",
        "/Pattern cs /Dark scn 0 0 595 842 re f 1 g",
        "",
        "",
    ),
    (
        "under a shading that ends",
        "",
        "q 0 0 m 1 0 l 0 1 l h W n /Fade sh Q",
        "",
    ),
    (
        "under a clear stencil",
        "",
        "q /Clear gs 595 0 0 842 0 0 cm /Dot Do Q",
        "",
    ),
    (
        "under a small picture",
        "",
        "q 20 0 0 20 0 0 cm /White Do Q",
        "",
    ),
    (
        "white on a box in a darkening colour",
        "q /Half gs 0 g 0 0 595 842 re f Q 1 g",
        "",
        "",
    ),
    ("grey", "0.5 g", "", ""),
    ("a rotated page", "", "", "/Rotate 90"),
    ("a cropped page", "", "", "/CropBox[40 50 570 800]"),
    ("a box upside down", "", "", "/CropBox[595 842 0 0]"),
    ("a layer that is on", "/OC /On BDC", "EMC", ""),
    (
        "a part that is marked",
        "/P <</MCID 0>> BDC /Span BMC",
        "EMC EMC",
        "",
    ),
    ("lines around letters", "2 Tr 1 g 0 G", "", ""),
    (
        "a highlighted text",
        "",
        "q /Multiply gs 1 1 0 rg 0 0 595 842 re f Q",
        "",
    ),
    (
        "under a thin veil",
        "",
        "q /Half gs 1 g 0 0 595 842 re f Q",
        "",
    ),
    ("under a frame", "", "0 G 2 w 20 20 550 800 re S", ""),
    ("under a thin frame", "", "0 G 0 w 20 20 550 800 re S", ""),
    ("in a clip", "10 10 570 820 re W n", "", ""),
    (
        "a small text in large units",
        "0.05 0 0 0.05 0 0 cm",
        "",
        "/UserUnit 20",
    ),
];

#[test]
fn what_can_be_seen_is_read() {
    let text = prose(8, 400);
    let words: Vec<&str> = text.split_whitespace().collect();
    let (pages, _) = broken_up(&words, None);
    for (what, before, after, entries) in SEEN {
        let wrapped: Vec<String> = pages
            .iter()
            .map(|page| format!("{before}\n{page}\n{after}"))
            .collect();
        let read = read(what, document(&wrapped, entries));
        let without_stamps: Vec<&str> = read
            .text
            .split_whitespace()
            .filter(|word| *word != "Stamp")
            .collect();
        let hidden: Vec<HiddenCount> = read.hidden.counts().collect();
        assert!(hidden.is_empty(), "{what}: {hidden:?}");
        assert_eq!(without_stamps, words, "{what}");
    }
    let faded = format!("q 7 Tr {} /Fade sh Q", shown(50, 500, "granite"));
    let faded = read("letters as a clip", document(&[faded], ""));
    assert!(faded.text == "granite" && faded.hidden.is_empty());
    // Letters that are drawn twice to look bold hide nothing.
    let twice: Vec<String> = pages
        .iter()
        .map(|page| format!("{page}q 1 0 0 1 0.3 0 cm {page} Q"))
        .collect();
    assert!(read("bold", document(&twice, "")).hidden.is_empty());
}

/// Parsers of fonts that call themselves for each bracket overflow their stack.
#[test]
fn deeply_nested_fonts_are_read() {
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Deep/FontDescriptor<</FontFile 5 0 R>>>>";
    let page = format!(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</Font<</F {font}>>>>/Contents 4 0 R>>"
    );
    let objects = [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        page.into_bytes(),
        stream("", b"BT /F 1 Tf (A stone.) Tj ET", 1),
        stream("", &b"{".repeat(1_000_000), 1),
    ];
    assert_eq!(read("deep", pdf_of(&objects, 1)).text, "A stone.");
}

/// Viewers skip what they cannot parse, and show what follows.
#[test]
fn what_follows_a_fault_is_read() {
    let faults = [")", "]", "}", "> ]", &"0 ".repeat(400), "BI /W 1 ID )( EI"];
    for fault in faults {
        let pages = [0, 1].map(|page| {
            let lines = [1, 2]
                .map(|line| shown(50, 800 - LINE * line, &format!("page {page} line {line}")));
            format!("{fault}\n{}\n{fault}\n{}", lines[0], lines[1])
        });
        let text = read(fault, document(&pages, "")).text;
        for line in [
            "page 0 line 1",
            "page 0 line 2",
            "page 1 line 1",
            "page 1 line 2",
        ] {
            assert!(text.contains(line), "{fault}: {text}");
        }
    }
    let many = "0 ".repeat(40_000);
    let pages = [format!("{many}{}", shown(50, 700, "unread"))];
    let file = File {
        bytes: document(&pages, "").into(),
        name: None,
        encoding: None,
    };
    let lost = lapidary_extract::read_one(file, Limits::default());
    assert!(
        matches!(lost, Err(ExtractError::Damaged { .. })),
        "{lost:?}"
    );
}

#[test]
fn letters_of_unknown_widths_are_seen_on_a_dark_box() {
    let page = "0 g 200 490 100 20 re f BT /Bytes 10 Tf 50 500 Td (granite ) Tj 1 g (opal) Tj ET"
        .to_owned();
    let read = read("unknown widths", document(&[page], ""));
    assert!(
        read.text == "granite opal" && read.hidden.is_empty(),
        "{read:?}"
    );
}

#[test]
fn layers_hide_though_all_are_on() {
    for layer in ["AllOff", "AnyOff", "Not"] {
        let page = format!(
            "{} /OC /{layer} BDC {} EMC",
            shown(50, 500, "granite"),
            shown(50, 400, "opal")
        );
        let read = read(layer, document_with("", &[page], ""));
        assert!(
            read.text == "granite" && read.hidden.words() == 1,
            "{layer}: {read:?}"
        );
    }
}

/// However many shapes are painted, white letters on white are found; a page with too many of them is refused.
#[test]
fn many_shapes_hide_nothing() {
    let page = |shape: &str, count: usize| {
        format!(
            "{} 1 g {} 0 g {}",
            shape.repeat(count),
            shown(50, 500, "white"),
            shown(50, 400, "black")
        )
    };
    let found = read(
        "many",
        document(&[page("0 0 1 rg 5 5 3 3 re f\n", 25_000)], ""),
    );
    assert!(
        found.text == "black" && found.hidden.words() == 1,
        "{found:?}"
    );
    for (shape, count) in [("5 5 3 3 re f\n", 200_001), ("0 0 m\n", 2_000_002)] {
        let bytes = document(&[page(shape, count)], "").into();
        let limits = Limits {
            ratio: 10_000,
            ..Limits::default()
        };
        let error = lapidary_extract::read_one(
            File {
                bytes,
                name: None,
                encoding: None,
            },
            limits,
        )
        .expect_err("a refusal");
        assert!(
            matches!(
                error,
                ExtractError::OverLimit(Met {
                    limit: Limit::Time,
                    ..
                })
            ),
            "{shape}: {error}"
        );
    }
}

/// A document that is encrypted in this way for this user, changed before it is written.
fn encrypted(version: u8, user: &str, change: impl Fn(&mut Document, Dictionary)) -> Vec<u8> {
    let mut document =
        Document::load_mem(&document(&[shown(50, 500, "granite")], "")).expect("a document");
    document
        .trailer
        .set("ID", vec![Object::string_literal(""); 2]);
    let filters = |filter: Arc<dyn CryptFilter>| BTreeMap::from([(b"StdCF".to_vec(), filter)]);
    let (owner_password, user_password, permissions, name) =
        ("owner", user, Permissions::all(), b"StdCF".to_vec());
    let key = [7; 32];
    let version = match version {
        1 => EncryptionVersion::V1 {
            document: &document,
            owner_password,
            user_password,
            permissions,
        },
        2 => EncryptionVersion::V2 {
            document: &document,
            owner_password,
            user_password,
            key_length: 128,
            permissions,
        },
        4 => EncryptionVersion::V4 {
            document: &document,
            encrypt_metadata: true,
            crypt_filters: filters(Arc::new(Aes128CryptFilter)),
            stream_filter: name.clone(),
            string_filter: name,
            owner_password,
            user_password,
            permissions,
        },
        _ => EncryptionVersion::V5 {
            encrypt_metadata: true,
            crypt_filters: filters(Arc::new(Aes256CryptFilter)),
            file_encryption_key: &key,
            stream_filter: name.clone(),
            string_filter: name,
            owner_password,
            user_password,
            permissions,
        },
    };
    let state = EncryptionState::try_from(version).expect("a key");
    document.encrypt(&state).expect("encryption");
    let encryption = document.get_encrypted().expect("a dictionary").clone();
    change(&mut document, encryption);
    let mut file = Vec::new();
    document.save_to(&mut file).expect("memory");
    file
}

/// A change of an encrypted document, and its name.
type Change = (&'static str, fn(&mut Document, Dictionary));

#[test]
fn documents_without_a_password_are_decrypted() {
    let changes: [Change; 4] = [
        ("as it should be", |_, _| {}),
        ("a dictionary in the trailer", |document, encryption| {
            document.trailer.set("Encrypt", encryption);
        }),
        ("no identifier", |document, _| {
            _ = document.trailer.remove(b"ID");
        }),
        ("no length of the key", |document, mut encryption| {
            if encryption.get(b"V").and_then(Object::as_i64).ok() == Some(4) {
                encryption.remove(b"Length");
                document.trailer.set("Encrypt", encryption);
            }
        }),
    ];
    for version in [1, 2, 4, 5] {
        for (what, change) in changes {
            let what = format!("{version}, {what}");
            assert_eq!(
                read(&what, encrypted(version, "", change)).text,
                "granite",
                "{what}"
            );
            let file = File {
                bytes: encrypted(version, "secret", change).into(),
                name: None,
                encoding: None,
            };
            let error = lapidary_extract::read_one(file, Limits::default())
                .expect_err("a refusal")
                .to_string();
            assert_eq!(
                error,
                "encrypted: a PDF document that needs a password; remove the protection first",
                "{what}"
            );
        }
    }
}
