//! Text that the readers of a file do not see: it is left out, counted and told. Text that they see never is.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "files are put together as they are read"
)]

use crate::common;
use crate::common::{Folder, Random, Server, run};
use crate::makers::{
    doc_with, docx, docx_of, docx_with, epub_of, epub_with, fb2, fb3, html_with, mobi, odt, odt_of,
    odt_with, rtf, rtf_with, tei,
};
use lapidary_extract::{ExtractError, Extracted, File, HiddenCount, Hiding, Limit, Limits, Met};
use lapidary_gems::Recipe;
use serde_json::{Value, json};

/// A text of more than 6,000 characters, in paragraphs.
fn honest() -> Vec<String> {
    let words = common::prose(35, 1_100);
    let words: Vec<&str> = words.split_whitespace().collect();
    words.chunks(110).map(|words| words.join(" ")).collect()
}

/// One or two words of junk after every four, each time between `open` and `close`, and how many they are.
fn with_junk(paragraphs: &[String], open: &str, close: &str) -> (Vec<String>, u64) {
    let (mut random, mut count) = (Random(7), 0);
    let mut paragraph = |paragraph: &String| {
        let mut mixed = String::new();
        for four in paragraph.split(' ').collect::<Vec<_>>().chunks(4) {
            let junk = 1 + random.below(2);
            let words: String = (0..junk)
                .map(|_| format!("zq{} ", random.below(1_000_000)))
                .collect();
            count += junk;
            mixed.push_str(&format!("{} {open}{words}{close}", four.join(" ")));
        }
        mixed
    };
    let mixed = paragraphs.iter().map(&mut paragraph).collect();
    (mixed, count)
}

fn read(bytes: Vec<u8>) -> Extracted {
    let file = File {
        bytes: bytes.into(),
        name: None,
        encoding: None,
    };
    lapidary_extract::read_one(file, Limits::default()).expect("a book")
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The text is found as if nothing were hidden, and what is hidden is counted.
fn assert_seen_through(
    what: &str,
    how: Hiding,
    make: &dyn Fn(&[String]) -> Vec<u8>,
    (open, close): (&str, &str),
) {
    let honest = honest();
    let (mixed, count) = with_junk(&honest, open, close);
    let (clean, found) = (read(make(&honest)), read(make(&mixed)));
    assert!(
        words(&clean.text) == words(&found.text),
        "{what}: {:.300}\n{:.300}",
        clean.text,
        found.text
    );
    for recipe in [Recipe::documented(), Recipe::hardened()] {
        let gems = |text: &str| {
            recipe
                .gems(text)
                .iter()
                .map(|placed| placed.gem)
                .collect::<Vec<_>>()
        };
        assert!(
            gems(&clean.text) == gems(&found.text),
            "{what}, {}",
            recipe.name()
        );
    }
    assert_eq!(
        found.hidden.counts().collect::<Vec<_>>(),
        [HiddenCount {
            method: how,
            words: count
        }],
        "{what}"
    );
    assert!(clean.hidden.is_empty(), "{what}: {:?}", clean.hidden);
}

/// All of the text is seen, and nothing is told.
fn assert_seen(what: &str, make: &dyn Fn(&[String]) -> Vec<u8>, (open, close): (&str, &str)) {
    let (mixed, count) = with_junk(&honest(), open, close);
    let found = read(make(&mixed));
    let seen = words(&found.text)
        .iter()
        .filter(|word| word.starts_with("zq"))
        .count() as u64;
    assert_eq!((seen, found.hidden.words()), (count, 0), "{what}");
}

/// Attributes of an element that hide what is in it.
const ATTRIBUTES: &[(&str, Hiding)] = &[
    ("hidden=\"\"", Hiding::HiddenAttribute),
    ("style=\"display:none\"", Hiding::DisplayNone),
    (
        "style=\"DISPLAY: none !important; display: block\"",
        Hiding::DisplayNone,
    ),
    ("style=\"visibility:hidden\"", Hiding::InvisibleRendering),
    ("style=\"visibility:collapse\"", Hiding::InvisibleRendering),
    ("style=\"opacity:0\"", Hiding::Transparent),
    ("style=\"opacity:1%\"", Hiding::Transparent),
    ("style=\"color:transparent\"", Hiding::Transparent),
    ("style=\"color:rgba(0,0,0,0)\"", Hiding::Transparent),
    ("style=\"color:white\"", Hiding::SameColour),
    ("style=\"color:#FeFeFe\"", Hiding::SameColour),
    ("style=\"color:rgb(100%, 100%, 100%)\"", Hiding::SameColour),
    ("style=\"color:hsl(0 0% 98%)\"", Hiding::SameColour),
    ("style=\"background:black\"", Hiding::SameColour),
    (
        "style=\"color:red;background-color:#f00\"",
        Hiding::SameColour,
    ),
    ("style=\"font-size:0\"", Hiding::Tiny),
    ("style=\"font-size:1px\"", Hiding::Tiny),
    ("style=\"font-size:.01em\"", Hiding::Tiny),
    ("style=\"font:0/0 a\"", Hiding::Tiny),
    ("style=\"position:absolute;left:-9999px\"", Hiding::OffPage),
    ("style=\"position:fixed;top:-100em\"", Hiding::OffPage),
    (
        "style=\"display:inline-block;text-indent:-9999px\"",
        Hiding::OffPage,
    ),
    (
        "style=\"position:absolute;clip:rect(0,0,0,0)\"",
        Hiding::Clipped,
    ),
    ("style=\"clip-path:inset(50%)\"", Hiding::Clipped),
    (
        "style=\"display:inline-block;transform:scale(0)\"",
        Hiding::Clipped,
    ),
    (
        "style=\"display:inline-block;transform:translateX(-200vw)\"",
        Hiding::OffPage,
    ),
    (
        "style=\"display:inline-block;width:0;height:0;overflow:hidden\"",
        Hiding::Clipped,
    ),
    (
        "style=\"display:inline-block;content-visibility:hidden\"",
        Hiding::DisplayNone,
    ),
    // Values that browsers do not understand count for nothing.
    ("style=\"display:none;display:x\"", Hiding::DisplayNone),
    (
        "style=\"visibility:hidden;visibility:x\"",
        Hiding::InvisibleRendering,
    ),
    ("style=\"color:white;color:foo(1)\"", Hiding::SameColour),
    ("style=\"font-size:0;font:12px\"", Hiding::Tiny),
    ("style=\"font-size:0;font-size:-1px\"", Hiding::Tiny),
    ("popover=\"\"", Hiding::HiddenAttribute),
    ("style=\"color:rgba(255,255,255,.5)\"", Hiding::SameColour),
    ("style=\"background:currentcolor\"", Hiding::SameColour),
    ("style=\"color:oklch(1 0 0)\"", Hiding::SameColour),
    ("style=\"color:Canvas\"", Hiding::SameColour),
    (
        "style=\"color:color-mix(in srgb, white, white)\"",
        Hiding::SameColour,
    ),
    (
        "style=\"color:transparent;text-shadow:0 0 white\"",
        Hiding::Transparent,
    ),
    (
        "style=\"-webkit-text-fill-color:transparent\"",
        Hiding::Transparent,
    ),
    (
        "style=\"color:transparent;-webkit-background-clip:text\"",
        Hiding::Transparent,
    ),
    ("style=\"filter:opacity(0)\"", Hiding::Transparent),
    ("style=\"font-size:calc(1px*0)\"", Hiding::Tiny),
    ("style=\"zoom:.05\"", Hiding::Tiny),
    (
        "style=\"display:inline-block;transform:scale(.05)\"",
        Hiding::Tiny,
    ),
    ("style=\"display:inline-block;scale:0\"", Hiding::Clipped),
    (
        "style=\"display:inline-block;inline-size:0;overflow:auto\"",
        Hiding::Clipped,
    ),
    ("style=\"clip-path:inset(0 50%)\"", Hiding::Clipped),
    (
        "style=\"clip-path:polygon(0 0, 100% 0, 50% 0)\"",
        Hiding::Clipped,
    ),
    (
        "style=\"display:inline-block;translate:-9999px\"",
        Hiding::OffPage,
    ),
    ("style=\"position:absolute;left:-400px\"", Hiding::OffPage),
    ("style=\"position:absolute;right:1300px\"", Hiding::OffPage),
    ("style=\"position:absolute;bottom:9999px\"", Hiding::OffPage),
    (
        "style=\"position:absolute;inset:0 auto auto -9999px\"",
        Hiding::OffPage,
    ),
    ("style=\"float:left;margin:0 0 0 -9999px\"", Hiding::OffPage),
    ("style=\"--a:none;display:var(--a)\"", Hiding::DisplayNone),
    ("style=\"display:var(--b, none)\"", Hiding::DisplayNone),
];

/// Style sheets that hide what is in a `span` of the class `j`.
const SHEETS: &[(&str, Hiding)] = &[
    (".j { display: none }", Hiding::DisplayNone),
    ("p > span.j:not(.k) { display: none }", Hiding::DisplayNone),
    (
        "body p .j { font-size: 0 } .j { font-size: 1em }",
        Hiding::Tiny,
    ),
    (
        ".j { color: #fff !important } .j { color: black }",
        Hiding::SameColour,
    ),
    (
        "p { background: #222; color: #eee } .j { color: #232323 }",
        Hiding::SameColour,
    ),
    ("@media screen { .j { opacity: 0 } }", Hiding::Transparent),
    (
        "@supports (display: grid) { .j { visibility: hidden } }",
        Hiding::InvisibleRendering,
    ),
    (
        "p { color: white; background: black } .j { background: white }",
        Hiding::SameColour,
    ),
    ("span:nth-child(n) { display: none }", Hiding::DisplayNone),
    ("[class~=j] { display: none }", Hiding::DisplayNone),
    (
        "@media screen\nand/**/(min-width:1px) { .j { display: none } }",
        Hiding::DisplayNone,
    ),
    (
        "@media (width>=1px) and (orientation:landscape) { .j { display: none } }",
        Hiding::DisplayNone,
    ),
    (
        ".j { &:hover { color: red } display: none }",
        Hiding::DisplayNone,
    ),
    ("p { & > .j { display: none } }", Hiding::DisplayNone),
    (
        "p { @media screen { .j { display: none } } }",
        Hiding::DisplayNone,
    ),
    (
        ":root { --h: none } .j { display: var(--h) }",
        Hiding::DisplayNone,
    ),
    (
        "p { --c: white } .j { color: var(--d, var(--c)) }",
        Hiding::SameColour,
    ),
    (
        ".j:defined:not(:target):read-only { display: none }",
        Hiding::DisplayNone,
    ),
    (".j, .k::before { display: none }", Hiding::DisplayNone),
    (":is(.j, :bogus) { display: none }", Hiding::DisplayNone),
    (
        "@layer a, b; @layer b { .j { display: none } } @layer a { p .j { display: inline } }",
        Hiding::DisplayNone,
    ),
    ("@scope (p) { .j { display: none } }", Hiding::DisplayNone),
];

/// Old and new pages of which the words `zq` are seen, and nothing is hidden.
const SEEN: &[&str] = &[
    "<body background=dark.gif text=white>zq",
    "<body text=white bgcolor=black>zq",
    "<p bgcolor=black>zq",
    "<noscript><style>p {display:none}</style></noscript><p>zq",
    "<template><style>p {display:none}</style></template><p>zq",
    "<style type=x>p {display:none}</style><p>zq",
    "<style title=a>b {}</style><style title=b>p {display:none}</style><p>zq",
    "<link rel=stylesheet disabled href='data:text/css,p{display:none}'><p>zq",
    "<style>a {} @import url(\"data:text/css,p{display:none}\");</style><p>zq",
    "<body text=white><a href=b>zq</a>",
    "<body text=white><mark>zq</mark>",
    "<div style='font-size:0'><font size=3>zq</font></div>",
    "<p style='font-size:1'>zq",
    "<div style='overflow:hidden;height:0'><p style='position:absolute'>zq</p></div>",
    "<div style='display:flex'><div style='width:0;flex:1;overflow:hidden'>zq</div></div>",
    "<div style='position:relative;left:-9999px'><p style='position:relative;left:9999px'>zq</div>",
    "<div style='margin-left:-9999px;padding-left:9999px'>zq</div>",
    "<p style='margin-left:-9999px;text-align:right'>zq",
    "<a epub:type=noteref href=#n>1</a><aside id=n hidden>zq</aside>",
    "<button popovertarget=n>more</button><div id=n popover>zq</div>",
    "<img src=a.png><p style='color:transparent'>zq zq",
    "<svg style='color:transparent'><text>zq</text></svg>",
    "<svg><defs><text id=t>zq</text></defs><use href=#t></svg>",
    "<p style='opacity:.99'><desc>zq</desc>",
];

/// Pages of which the words `zq` are not seen, but `seen` is.
const UNSEEN: &[&str] = &[
    "<link rel=stylesheet href='data:text/css,.j%7Bdisplay:none%7D'><p>seen <b class=j>zq</b>",
    "<link rel=stylesheet href='data:text/css;base64,LmoKe2Rpc3BsYXk6bm9uZX0='><p>seen <b class=j>zq</b>",
    "<style>@import url(\"data:text/css,.j{display:none}\");</style><p>seen <b class=j>zq</b>",
    "<canvas>zq</canvas><p>seen",
    "<p><video>zq</p><p>seen",
    "<p>seen <meter>zq</meter> <progress>zq</progress>",
    "<ruby>seen<rp>zq<rt>seen<rp>zq</ruby> seen",
    "<svg><desc>zq</desc><text>seen</text></svg>",
    "<svg><defs><text>zq</text></defs><text>seen</text></svg>",
    "<math><semantics><mi>seen</mi><annotation>zq</annotation></semantics></math>",
    "<body link=white>seen <a href=b>zq</a>",
    "seen <a epub:type=noteref href=#n hidden>1</a><aside id=n hidden>zq</aside>",
    "<img src=a.png>seen <p style='color:transparent'>zq zq",
    "seen <span style='font-size:3px'><span style='font-size:.6em'>zq</span></span>",
];

#[test]
fn pages_hide_text_by_attributes_and_sheets() {
    for (attributes, how) in ATTRIBUTES {
        let open = format!("<span {attributes}>");
        for (format, make) in [
            ("html", html_with as fn(&str, &[String]) -> Vec<u8>),
            ("epub", epub_with),
        ] {
            assert_seen_through(
                &format!("{format}, {attributes}"),
                *how,
                &|text| make("", text),
                (&open, "</span>"),
            );
        }
        assert_seen_through(
            &format!("mobi, {attributes}"),
            *how,
            &mobi,
            (&open, "</span>"),
        );
    }
    for (sheet, how) in SHEETS {
        for (format, make) in [
            ("html", html_with as fn(&str, &[String]) -> Vec<u8>),
            ("epub", epub_with),
        ] {
            let open_close = ("<span class=\"j\">", "</span>");
            assert_seen_through(
                &format!("{format}, {sheet}"),
                *how,
                &|text| make(sheet, text),
                open_close,
            );
        }
    }
    // As browsers read unclosed elements, and old HTML.
    let html = |text: &[String]| html_with("", text);
    assert_seen_through(
        "font",
        Hiding::SameColour,
        &html,
        ("<font color=ffffff>", "</font>"),
    );
    assert_seen_through(
        "unclosed",
        Hiding::Transparent,
        &html,
        ("<b style='opacity:0'><i>", "</b></i>"),
    );
    assert_seen_through(
        "nested",
        Hiding::Tiny,
        &html,
        (&"<small>".repeat(13), &"</small>".repeat(13)),
    );
    let faint = (
        "<span style='opacity:.85'>".repeat(15),
        "</span>".repeat(15),
    );
    assert_seen_through("faint", Hiding::Transparent, &html, (&faint.0, &faint.1));
    // However many classes, and however deep the rule.
    let classes: String = (0..150).map(|i| format!("c{i} ")).collect();
    let sheet = format!(
        "{}.j {{display:none}}{}",
        "@media all {".repeat(20),
        "}".repeat(20)
    );
    let open = format!("<span class='{classes}j'>");
    assert_seen_through(
        "many",
        Hiding::DisplayNone,
        &|text| html_with(&sheet, text),
        (&open, "</span>"),
    );
    assert_seen_through(
        "many",
        Hiding::DisplayNone,
        &|text| epub_with(&sheet, text),
        (&open, "</span>"),
    );
}

#[test]
fn whole_pages_show_what_a_browser_shows() {
    let read_page =
        |body: &str| read(format!("<!DOCTYPE html><html><head></head>{body}").into_bytes());
    for body in SEEN {
        let found = read_page(body);
        assert!(
            found.text.contains("zq") && found.hidden.is_empty(),
            "{body}: {:?} {:?}",
            found.text,
            found.hidden
        );
    }
    for body in UNSEEN {
        let text = read_page(body).text;
        assert!(
            !text.contains("zq") && text.contains("seen"),
            "{body}: {text:?}"
        );
    }
    // Old pages need no units.
    let old = read(b"<html><p>seen <span style='font-size:1'>zq</span>".to_vec());
    assert_eq!((old.text.as_str(), old.hidden.words()), ("seen", 1));
}

#[test]
fn pages_of_books_show_what_their_readers_show() {
    let read_page = |before: &str, head: &str, body: &str| {
        let page = format!(
            "<?xml version=\"1.0\"?>{before}<html xmlns=\"http://www.w3.org/1999/xhtml\" xmlns:x=\"x\" \
             xmlns:epub=\"http://www.idpf.org/2007/ops\"><head>{head}</head><body><p>seen {body}</p></body></html>"
        );
        let read = read(epub_of(".j {display:none}", std::iter::once(page)));
        (
            read.text.split_whitespace().collect::<Vec<_>>().join(" "),
            read.hidden.words(),
        )
    };
    let (junk, instruction) = (
        "<b class=\"j\">zq</b>",
        "<?xml-stylesheet type=\"text/css\" href=\"../style/more.css\"?>",
    );
    let data = "<link rel=\"stylesheet\" href=\"data:text/css,.j{display:none}\"/>";
    for (before, head, body, expected) in [
        (instruction, "", junk, ("seen", 1)),
        ("", data, junk, ("seen", 1)),
        (
            "",
            "<noscript><style>.j {display:none}</style></noscript>",
            junk,
            ("seen", 1),
        ),
        (
            "",
            "<template><style>.j {display:none}</style></template>",
            junk,
            ("seen zq", 0),
        ),
        (
            "",
            "",
            "<b x:style=\"display:none\" x:hidden=\"\">zq</b>",
            ("seen zq", 0),
        ),
        ("", "", "<b style=\"font-size:1\">zq</b>", ("seen zq", 0)),
        (
            "",
            "",
            "<a epub:type=\"noteref\" href=\"c0.xhtml#n\">1</a><i id=\"n\" style=\"display:none\">zq</i>",
            ("seen 1zq", 0),
        ),
    ] {
        let found = read_page(before, head, body);
        assert_eq!(
            (found.0.as_str(), found.1),
            expected,
            "{before}{head}{body}"
        );
    }
}

#[test]
fn pages_show_what_only_looks_hidden() {
    for attributes in [
        "aria-hidden=\"true\"",
        "class=\"hidden\"",
        "style=\"color:#333;background:#eee\"",
        "style=\"color:white;background:#333\"",
        "style=\"color:white;background:url(dark.png)\"",
        "style=\"opacity:.7;font-size:60%\"",
        "style=\"text-indent:-9999px\"",
        "style=\"width:0;height:0;overflow:hidden\"",
        "style=\"left:-9999px\"",
        "style=\"transform:scale(0)\"",
        "style=\"margin-left:-2em\"",
        "hidden=\"\" style=\"display:inline\"",
        "bgcolor=\"black\"",
        "color=\"white\"",
        "text=\"white\"",
        "style=\"background:rgba(0,0,0,.15)\"",
        "style=\"background-color:black;background-image:none;color:white\"",
        "style=\"background:linear-gradient(red, blue);-webkit-background-clip:text;color:transparent\"",
        "style=\"color:transparent;text-shadow:0 0 1px black\"",
        "style=\"color:white;-webkit-text-stroke:1px black\"",
        "style=\"color:transparent;-webkit-text-fill-color:red\"",
        "style=\"display:none none\"",
        "style=\"opacity:0 0\"",
        "style=\"font-size:-1px\"",
        "style=\"font:0\"",
        "style=\"display:none;display:initial\"",
        "style=\"display:none;display:var(--a)\"",
        "style=\"display:contents;opacity:0\"",
        "style=\"display:inline-block;width:0;overflow:hidden;padding-left:90px\"",
        "style=\"display:inline-block;height:0;overflow:hidden;min-height:2em\"",
        "style=\"display:inline-block;font-size:1px;transform:scale(16)\"",
        "style=\"display:inline-block;position:relative;left:-9999px;transform:translateX(9999px)\"",
        "style=\"position:absolute;left:50%;top:50%;transform:translate(-50%, -50%)\"",
    ] {
        let open = format!("<span {attributes}>");
        assert_seen(attributes, &|text| html_with("", text), (&open, "</span>"));
        assert_seen(attributes, &|text| epub_with("", text), (&open, "</span>"));
    }
    for sheet in [
        "@media print { .j { display: none } }",
        "@media (max-width: 600px) { .j { display: none } }",
        ".j::before { display: none } .j:hover { display: none }",
        ".k, .j:unknown { display: none }",
        ".j { display: none } p .j { display: inline }",
        "p { visibility: hidden } .j { visibility: visible }",
        "@starting-style { .j { display: none } }",
        "@supports (bogus: x) { .j { display: none } } @supports not (bogus: x) { .j { display: none } }",
        "@scope (.x) { .j { display: none } }",
        "@layer a { p .j { display: none } } .j { display: inline }",
        "@media not (bogus) { .j { display: none } }",
        "p { color: white; background: black } .j { background: white; color: initial }",
        "p { font-size: 0 } .j { font-size: initial }",
        ".k { .j { display: none } } .j { &.k { display: none } }",
    ] {
        let find = |text: &str| {
            words(text)
                .iter()
                .filter(|word| word.starts_with("zq"))
                .count() as u64
        };
        let (mixed, count) = with_junk(&honest(), "<span class=\"j\">", "</span>");
        for make in [html_with as fn(&str, &[String]) -> Vec<u8>, epub_with] {
            assert_eq!(find(&read(make(sheet, &mixed)).text), count, "{sheet}");
        }
    }
    assert_seen(
        "details",
        &|text| html_with("", text),
        ("<details>", "</details>"),
    );
}

/// A run of a DOCX file with these properties, within another one.
fn run_of(properties: &str) -> (String, String) {
    let open = format!("</w:t></w:r><w:r><w:rPr>{properties}</w:rPr><w:t xml:space=\"preserve\">");
    (
        open,
        "</w:t></w:r><w:r><w:t xml:space=\"preserve\">".to_owned(),
    )
}

#[test]
fn word_documents_hide_text() {
    let styles = "<w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val=\"22\"/></w:rPr></w:rPrDefault></w:docDefaults>\
                  <w:style w:type=\"character\" w:styleId=\"a\"><w:rPr><w:vanish/></w:rPr></w:style>\
                  <w:style w:type=\"character\" w:styleId=\"b\"><w:basedOn w:val=\"a\"/></w:style>\
                  <w:style w:type=\"character\" w:styleId=\"c\"><w:rPr><w:color w:val=\"FEFEFE\"/></w:rPr></w:style>";
    let make = |text: &[String]| docx_with(styles, text);
    for (properties, how) in [
        ("<w:vanish/>", Hiding::HiddenAttribute),
        ("<w:rStyle w:val=\"b\"/>", Hiding::HiddenAttribute),
        ("<w:rStyle w:val=\"c\"/>", Hiding::SameColour),
        (
            "<w:color w:val=\"FFFFFF\"/><w:sz w:val=\"2\"/>",
            Hiding::SameColour,
        ),
        (
            "<w:color w:val=\"000000\" w:themeColor=\"background1\"/>",
            Hiding::SameColour,
        ),
        (
            "<w:color w:val=\"FF0000\"/><w:highlight w:val=\"red\"/>",
            Hiding::SameColour,
        ),
        (
            "<w:color w:val=\"101010\"/><w:shd w:val=\"clear\" w:fill=\"000000\"/>",
            Hiding::SameColour,
        ),
        ("<w:sz w:val=\"2\"/>", Hiding::Tiny),
    ] {
        let (open, close) = run_of(properties);
        assert_seen_through(properties, how, &make, (&open, &close));
    }
    let (open, close) = run_of("");
    let (deleted, drawn) = (
        "<w:del w:id=\"1\">",
        "<wp:anchor><wp:positionH><wp:posOffset>-99000000</wp:posOffset></wp:positionH>",
    );
    let in_run = |before: &str, after: &str| {
        (
            open.replacen("<w:r>", &format!("{before}<w:r>"), 1),
            close.replacen("</w:r>", &format!("</w:r>{after}"), 1),
        )
    };
    let (open, close) = in_run(deleted, "</w:del>");
    assert_seen_through("deleted", Hiding::Deleted, &make, (&open, &close));
    let (open, close) = in_run(drawn, "</wp:anchor>");
    assert_seen_through("off the page", Hiding::OffPage, &make, (&open, &close));

    for properties in [
        "<w:vanish w:val=\"0\"/>",
        "<w:webHidden/>",
        "<w:color w:val=\"auto\"/>",
        "<w:color w:val=\"FFFFFF\"/><w:highlight w:val=\"black\"/>",
        "<w:sz w:val=\"8\"/>",
        "<w:rPr><w:ins w:id=\"1\"/></w:rPr>",
    ] {
        let (open, close) = run_of(properties);
        assert_seen(properties, &make, (&open, &close));
    }
    // A hidden row, and a style for all paragraphs.
    let row = "<w:tbl><w:tr><w:trPr><w:hidden/></w:trPr><w:tc><w:p><w:r><w:t>zq zq</w:t></w:r></w:p></w:tc></w:tr></w:tbl>";
    let read_row = read(docx(&[
        "One stone.".to_owned(),
        format!("</w:t></w:r></w:p>{row}<w:p><w:r><w:t>"),
    ]));
    assert_eq!(
        (read_row.text.trim(), read_row.hidden.words()),
        ("One stone.", 2)
    );
    let white = "<w:style w:type=\"paragraph\" w:default=\"1\" w:styleId=\"n\"><w:rPr><w:vanish/></w:rPr></w:style>";
    let (open, close) = run_of("<w:vanish w:val=\"false\"/>");
    let some = read(docx_with(white, &[format!("two words{open}seen{close}")]));
    assert_eq!((some.text.trim(), some.hidden.words()), ("seen", 2));
}

/// A paragraph of its own between those of a DOCX file.
fn apart(content: &str) -> String {
    format!("</w:t></w:r></w:p>{content}<w:p><w:r><w:t>")
}

const THEME: &str = "<a:clrScheme><a:lt1><a:sysClr val=\"window\" lastClr=\"FFFFFF\"/></a:lt1>\
                     <a:lt2><a:srgbClr val=\"FAFAFA\"/></a:lt2><a:accent1><a:srgbClr val=\"203864\"/></a:accent1></a:clrScheme>";

/// Further ways to hide a run of a DOCX file, each of which once was read as visible.
#[test]
fn word_documents_hide_text_in_clever_ways() {
    let chain: String = (1..100)
        .map(|place| {
            format!(
                "<w:style w:styleId=\"s{place}\"><w:basedOn w:val=\"s{}\"/></w:style>",
                place - 1
            )
        })
        .collect();
    let styles = format!("<w:style w:styleId=\"s0\"><w:rPr><w:vanish/></w:rPr></w:style>{chain}");
    let make = |text: &[String]| {
        docx_of(
            &[("styles", &styles), ("theme", THEME), ("settings", "")],
            text,
        )
    };
    for (properties, how) in [
        (
            "<w:vanish/><w:rPrChange><w:rPr><w:vanish w:val=\"0\"/></w:rPr></w:rPrChange>",
            Hiding::HiddenAttribute,
        ),
        ("<w:rStyle w:val=\"s99\"/>", Hiding::HiddenAttribute),
        (
            "<w:color w:val=\"000000\" w:themeColor=\"background2\"/>",
            Hiding::SameColour,
        ),
        (
            "<w:color w:val=\"000000\" w:themeColor=\"accent1\" w:themeTint=\"08\"/>",
            Hiding::SameColour,
        ),
        (
            "<w:color w:val=\"000000\" w:themeColor=\"background1\" w:themeShade=\"F2\"/>",
            Hiding::SameColour,
        ),
        (
            "<w:color w:themeColor=\"accent1\"/><w:shd w:val=\"clear\" w:themeFill=\"accent1\"/>",
            Hiding::SameColour,
        ),
        (
            "<w:color w:val=\"808080\"/><w:shd w:val=\"pct50\" w:color=\"000000\" w:fill=\"FFFFFF\"/>",
            Hiding::SameColour,
        ),
        (
            "<w14:textFill><w14:noFill/></w14:textFill>",
            Hiding::Transparent,
        ),
        (
            "<w14:textFill><w14:solidFill><w14:srgbClr w14:val=\"FFFFFF\"/></w14:solidFill></w14:textFill>",
            Hiding::SameColour,
        ),
        (
            "<w14:textFill><w14:solidFill><w14:srgbClr w14:val=\"000000\"><w14:alpha w14:val=\"100000\"/></w14:srgbClr>\
             </w14:solidFill></w14:textFill>",
            Hiding::Transparent,
        ),
        ("<w:w w:val=\"1\"/>", Hiding::Tiny),
    ] {
        let (open, close) = run_of(properties);
        assert_seen_through(properties, how, &make, (&open, &close));
    }
    // A box within the run, and a paragraph whose mark is shaded.
    let (open, close) = run_of("<w:vanish/>");
    let boxed = open.replace(
        "<w:t ",
        "<w:drawing><w:txbxContent><w:p><w:r></w:r></w:p></w:txbxContent></w:drawing><w:t ",
    );
    assert_seen_through(
        "after a box",
        Hiding::HiddenAttribute,
        &make,
        (&boxed, &close),
    );
    let (open, close) = run_of("<w:color w:val=\"FFFFFF\"/>");
    let mark = "<w:pPr><w:rPr><w:shd w:val=\"clear\" w:fill=\"000000\"/></w:rPr></w:pPr>";
    let marked = |text: &[String]| {
        make(
            &text
                .iter()
                .map(|text| apart(&format!("<w:p>{mark}<w:r><w:t>{text}</w:t></w:r></w:p>")))
                .collect::<Vec<_>>(),
        )
    };
    assert_seen_through(
        "a shaded mark",
        Hiding::SameColour,
        &marked,
        (&open, &close),
    );
    let around = |before: &str, after: &str| {
        let (open, close) = run_of("");
        (
            open.replacen("<w:r>", &format!("{before}<w:r>"), 1),
            close.replacen("</w:r>", &format!("</w:r>{after}"), 1),
        )
    };
    for (before, after, how) in [
        (
            "<w:ins w:id=\"1\"><w:del w:id=\"2\">",
            "</w:del></w:ins>",
            Hiding::RejectedInsertion,
        ),
        (
            "<wp:inline><wp:extent cx=\"0\" cy=\"0\"/>",
            "</wp:inline>",
            Hiding::Clipped,
        ),
        (
            "<wp:inline><wp:docPr/><wps:cNvPr hidden=\"1\"/>",
            "</wp:inline>",
            Hiding::HiddenAttribute,
        ),
    ] {
        let (open, close) = around(before, after);
        assert_seen_through(before, how, &make, (&open, &close));
    }
}

/// Tables, pages and changes of a DOCX file, with how many of the words `zq zq` are hidden.
#[test]
fn word_documents_show_text_on_dark_places() {
    let white = "<w:r><w:rPr><w:color w:val=\"FFFFFF\"/></w:rPr><w:t>zq zq</w:t></w:r>";
    let dark = "<w:tcPr><w:shd w:val=\"clear\" w:fill=\"203864\"/></w:tcPr>";
    let clear = "<w:tcPr><w:shd w:val=\"clear\" w:fill=\"auto\"/></w:tcPr>";
    let cell = |properties: &str, content: &str| format!("<w:tc>{properties}{content}</w:tc>");
    let paragraph = format!("<w:p>{white}</w:p>");
    let table = |properties: &str, cell: String| {
        format!("<w:tbl><w:tblPr>{properties}</w:tblPr><w:tr>{cell}</w:tr></w:tbl>")
    };
    let change = |kind: &str, now: &str, before: &str| {
        format!(
            "<w:{kind}>{now}<w:{kind}Change><w:{kind}>{before}</w:{kind}></w:{kind}Change></w:{kind}>"
        )
    };
    let run = |properties: &str| format!("<w:p><w:r>{properties}<w:t>zq zq</w:t></w:r></w:p>");
    let styles = "<w:style w:type=\"table\" w:styleId=\"Plain\"><w:tblPr/></w:style>\
                  <w:style w:type=\"table\" w:styleId=\"Dark\"><w:tcPr><w:shd w:fill=\"000000\"/></w:tcPr></w:style>\
                  <w:style w:type=\"table\" w:styleId=\"Head\"><w:tblStylePr w:type=\"firstRow\"><w:tcPr><w:shd w:fill=\"000000\"/>\
                  </w:tcPr></w:tblStylePr></w:style>\
                  <w:style w:type=\"table\" w:styleId=\"Gone\"><w:rPr><w:vanish/></w:rPr></w:style>";
    let table_of = |name: &str, properties: &str| {
        table(
            &format!("<w:tblStyle w:val=\"{name}\"/>"),
            cell(properties, &paragraph),
        )
    };
    let nested = table("", cell(dark, &table("", cell("", &paragraph))));
    let behind = |size: u32| {
        format!(
            "<w:p><w:r><wp:anchor behindDoc=\"1\"><wp:extent cx=\"{size}\" cy=\"{size}\"/></wp:anchor></w:r></w:p>{paragraph}"
        )
    };
    let shows_page = [("settings", "<w:displayBackgroundShape/>")];
    for (what, settings, content, hidden) in [
        ("nested in a dark cell", &[][..], nested, 0),
        ("in a dark cell", &[], table("", cell(dark, &paragraph)), 0),
        ("in a cell", &[], table("", cell("", &paragraph)), 2),
        ("in a table without shades", &[], table_of("Plain", ""), 2),
        (
            "in a table of a style that there is not",
            &[],
            table_of("None", ""),
            2,
        ),
        ("in a dark table", &[], table_of("Dark", ""), 0),
        ("in a table with dark rows", &[], table_of("Head", ""), 0),
        (
            "in a cell without the shade of its table",
            &[],
            table_of("Dark", clear),
            2,
        ),
        (
            "in a table whose style hides it",
            &[],
            table_of("Gone", ""),
            2,
        ),
        (
            "on a page whose colour is not shown",
            &[],
            paragraph.clone(),
            2,
        ),
        ("on a black page", &shows_page, paragraph.clone(), 0),
        ("on a picture", &[], behind(2_000_000), 0),
        ("near a dot behind the text", &[], behind(10_000), 2),
        (
            "hidden before a change",
            &[],
            run(&change("rPr", "", "<w:vanish/>")),
            0,
        ),
        (
            "indented before a change",
            &[],
            format!(
                "<w:p>{}<w:r><w:t>zq zq</w:t></w:r></w:p>",
                change("pPr", "", "<w:ind w:left=\"-30000\"/>")
            ),
            0,
        ),
        (
            "in a cell that was white",
            &[],
            table(
                "",
                cell(
                    &change(
                        "tcPr",
                        "<w:shd w:fill=\"000000\"/>",
                        "<w:shd w:fill=\"FFFFFF\"/>",
                    ),
                    &paragraph,
                ),
            ),
            0,
        ),
        (
            "in a row that was hidden",
            &[],
            format!(
                "<w:tbl><w:tr>{}{}</w:tr></w:tbl>",
                change("trPr", "", "<w:hidden/>"),
                cell("", &run(""))
            ),
            0,
        ),
        (
            "outlined",
            &[],
            run(
                "<w:rPr><w14:textOutline><w14:solidFill/></w14:textOutline><w14:textFill><w14:noFill/></w14:textFill></w:rPr>",
            ),
            0,
        ),
    ] {
        let parts: Vec<(&str, &str)> = [("styles", styles)]
            .into_iter()
            .chain(settings.iter().copied())
            .collect();
        let found = read(docx_of(&parts, &["One stone.".to_owned(), apart(&content)]));
        assert_eq!(
            (words(&found.text).len() as u64, found.hidden.words()),
            (4 - hidden, hidden),
            "{what}: {found:?}"
        );
    }
}

#[test]
fn old_word_documents_hide_text() {
    const HIDDEN: u16 = 0x083C;
    const DELETED: u16 = 0x0800;
    const BOLD: u16 = 0x0835;
    for (property, how) in [
        (HIDDEN, Hiding::HiddenAttribute),
        (DELETED, Hiding::Deleted),
    ] {
        let make = |text: &[String]| doc_with(property, text);
        assert_seen_through(&format!("{property:x}"), how, &make, ("{", "}"));
    }
    assert_seen("bold", &|text| doc_with(BOLD, text), ("{", "}"));
}

/// These have no way to hide a text, but for what an edition deletes.
#[test]
fn books_in_plain_markup_hide_little() {
    for (open, close) in [
        ("<strikethrough>", "</strikethrough>"),
        ("<sup>", "</sup>"),
        ("<style name=\"hidden\">", "</style>"),
    ] {
        assert_seen(open, &fb2, (open, close));
        assert_seen(open, &fb3, (open, close));
    }
    assert_seen_through(
        "del",
        Hiding::Deleted,
        &tei,
        ("<subst><del>", "</del></subst>"),
    );
    for (open, close) in [
        ("<sic>", "</sic>"),
        ("<choice><sic>a</sic><corr>", "</corr></choice>"),
        ("<add>", "</add>"),
    ] {
        assert_seen(open, &tei, (open, close));
    }
}

#[test]
fn open_documents_hide_text() {
    let style = |properties: &str| {
        format!(
            "<style:style style:name=\"P\" style:family=\"text\"><style:text-properties {properties}/></style:style>\
             <style:style style:name=\"T\" style:family=\"text\" style:parent-style-name=\"P\"/>"
        )
    };
    for (properties, how) in [
        ("text:display=\"none\"", Hiding::DisplayNone),
        ("fo:color=\"#ffffff\"", Hiding::SameColour),
        (
            "fo:color=\"#ff0000\" fo:background-color=\"#ff0000\"",
            Hiding::SameColour,
        ),
        ("fo:font-size=\"1pt\"", Hiding::Tiny),
        ("fo:font-size=\"5%\"", Hiding::Tiny),
        (
            "fo:color=\"#000000\" loext:opacity=\"0%\"",
            Hiding::Transparent,
        ),
        ("style:text-scale=\"1%\"", Hiding::Tiny),
        ("style:text-position=\"0% 1%\"", Hiding::Tiny),
        (
            "text:display=\"condition\" text:condition=\"none\"",
            Hiding::DisplayNone,
        ),
    ] {
        let styles = style(properties);
        let deep: String = (0..100)
            .map(|place| {
                let parent = if place == 0 { "T".to_owned() } else { format!("D{}", place - 1) };
                format!(
                    "<style:style style:name=\"D{place}\" style:family=\"text\" style:parent-style-name=\"{parent}\"/>"
                )
            })
            .collect();
        for (open, close) in [
            ("<text:span text:style-name=\"T\">", "</text:span>"),
            ("<text:a text:style-name=\"T\">", "</text:a>"),
            ("<text:span text:style-name=\"D99\">", "</text:span>"),
        ] {
            let all = format!("{styles}{deep}");
            assert_seen_through(properties, how, &|text| odt_with(&all, text), (open, close));
            assert_seen_through(
                properties,
                how,
                &|text| odt_of("", &all, text),
                (open, close),
            );
        }
    }
    for (open, close, how) in [
        (
            "<text:hidden-text text:is-hidden=\"true\">",
            "</text:hidden-text>",
            Hiding::HiddenAttribute,
        ),
        (
            "<text:section text:display=\"none\">",
            "</text:section>",
            Hiding::DisplayNone,
        ),
        (
            "<draw:frame svg:x=\"-100cm\">",
            "</draw:frame>",
            Hiding::OffPage,
        ),
        (
            "<text:hidden-text text:condition=\"ooow:1==1\">",
            "</text:hidden-text>",
            Hiding::HiddenAttribute,
        ),
        (
            "<text:section text:display=\"condition\" text:condition=\"ooow:1\">",
            "</text:section>",
            Hiding::DisplayNone,
        ),
        (
            "<draw:frame svg:width=\"0cm\" svg:height=\"0cm\"><draw:text-box>",
            "</draw:text-box></draw:frame>",
            Hiding::Clipped,
        ),
        (
            "<text:tracked-changes><text:changed-region><text:deletion><office:change-info><dc:creator>A B</dc:creator>\
             </office:change-info>",
            "</text:deletion></text:changed-region></text:tracked-changes>",
            Hiding::Deleted,
        ),
    ] {
        assert_seen_through(open, how, &odt, (open, close));
    }
    for (open, close) in [
        (
            "<text:hidden-text text:condition=\"ooow:page==7\">",
            "</text:hidden-text>",
        ),
        (
            "<text:section text:display=\"condition\" text:condition=\"ooow:1==2\">",
            "</text:section>",
        ),
        (
            "<draw:frame svg:height=\"0.01cm\"><draw:text-box fo:min-height=\"0.5cm\">",
            "</draw:text-box></draw:frame>",
        ),
    ] {
        assert_seen(open, &odt, (open, close));
    }
    for properties in [
        "fo:color=\"#333333\"",
        "style:use-window-font-color=\"true\"",
        "loext:opacity=\"0%\" style:use-window-font-color=\"true\"",
        "fo:font-size=\"70%\"",
        "style:text-position=\"super 58%\"",
    ] {
        let styles = style(properties);
        let open_close = ("<text:span text:style-name=\"T\">", "</text:span>");
        assert_seen(properties, &|text| odt_with(&styles, text), open_close);
    }
    let hidden = "zq zq<text:hidden-paragraph text:is-hidden=\"true\"/>".to_owned();
    let some = read(odt(&["One stone.".to_owned(), hidden]));
    assert_eq!((some.text.as_str(), some.hidden.words()), ("One stone.", 2));
}

/// Tables, sections and pages of an ODT file, with how many of the words `zq zq` are hidden.
#[test]
fn open_documents_show_text_on_dark_places() {
    let style = |name: &str, family: &str, more: &str, properties: &str| {
        format!(
            "<style:style style:name=\"{name}\" style:family=\"{family}\" {more}>{properties}</style:style>"
        )
    };
    let dark = |family: &str| {
        style(
            "Dark",
            family,
            "",
            &format!("<style:{family}-properties fo:background-color=\"#203864\"/>"),
        )
    };
    let image = "<style:section-properties><style:background-image xlink:href=\"a.png\"/></style:section-properties>";
    let styles = [
        style(
            "White",
            "text",
            "",
            "<style:text-properties fo:color=\"#ffffff\"/>",
        ),
        style("First", "paragraph", "style:master-page-name=\"Black\"", ""),
        style(
            "Behind",
            "graphic",
            "",
            "<style:graphic-properties style:run-through=\"background\"/>",
        ),
        style("Image", "section", "", image),
        ["table", "table-row", "table-cell", "section", "paragraph"]
            .map(dark)
            .concat(),
    ]
    .concat();
    let page = |name: &str, colour: &str| {
        format!(
            "<style:page-layout style:name=\"{name}\"><style:page-layout-properties fo:background-color=\"{colour}\"/></style:page-layout>\
             <style:master-page style:name=\"{name}\" style:page-layout-name=\"{name}\"/>"
        )
    };
    let pages = [page("Standard", "#ffffff"), page("Black", "#000000")].concat();
    let black = page("Standard", "#000000");
    let white = "<text:p><text:span text:style-name=\"White\">zq zq</text:span></text:p>";
    let table = |table: &str, row: &str, cell: &str| {
        let name = |name: &str| format!("table:style-name=\"{name}\"");
        format!(
            "<table:table {}><table:table-row {}><table:table-cell {}>{white}</table:table-cell></table:table-row></table:table>",
            name(table),
            name(row),
            name(cell)
        )
    };
    let section =
        |name: &str| format!("<text:section text:style-name=\"{name}\">{white}</text:section>");
    let image = format!("<draw:frame draw:style-name=\"Behind\"><draw:image/></draw:frame>{white}");
    for (what, pages, content, hidden) in [
        (
            "on a white page, while a black one is not used",
            &pages,
            white.to_owned(),
            2,
        ),
        ("on a black page", &black, white.to_owned(), 0),
        (
            "on the page of a paragraph",
            &pages,
            white.replace("<text:p>", "<text:p text:style-name=\"First\">"),
            0,
        ),
        ("in a table", &pages, table("", "", ""), 2),
        ("in a dark table", &pages, table("Dark", "", ""), 0),
        ("in a dark row", &pages, table("", "Dark", ""), 0),
        ("in a dark cell", &pages, table("", "", "Dark"), 0),
        ("in a dark section", &pages, section("Dark"), 0),
        ("in a section with a picture", &pages, section("Image"), 0),
        ("on a picture", &pages, image, 0),
    ] {
        let found = read(odt_of(
            &styles,
            pages,
            &[
                "One stone.".to_owned(),
                format!("</text:p>{content}<text:p>"),
            ],
        ));
        assert_eq!(
            (words(&found.text).len() as u64, found.hidden.words()),
            (4 - hidden, hidden),
            "{what}: {found:?}"
        );
    }
}

#[test]
fn rich_texts_hide_text() {
    let head = "{\\colortbl;\\red255\\green255\\blue255;\\red255\\green0\\blue0;\\red0\\green0\\blue0;}\
                {\\stylesheet{\\s0 Normal;}{\\*\\cs1 \\additive\\v Hidden;}}";
    let make = |text: &[String]| rtf_with(head, text);
    for (open, close, how) in [
        ("{\\v ", "}", Hiding::HiddenAttribute),
        ("\\v ", "\\v0 ", Hiding::HiddenAttribute),
        ("\\v ", "\\plain ", Hiding::HiddenAttribute),
        ("{\\cs1 ", "}", Hiding::HiddenAttribute),
        ("{\\cf1 ", "}", Hiding::SameColour),
        ("{\\cf1\\fs2 ", "}", Hiding::SameColour),
        ("{\\cf2\\highlight2 ", "}", Hiding::SameColour),
        ("{\\fs0 ", "}", Hiding::Tiny),
        ("{\\fs3 ", "}", Hiding::Tiny),
        ("{\\deleted ", "}", Hiding::Deleted),
        ("{\\mvf ", "}", Hiding::Deleted),
        ("{\\revised\\deleted ", "}", Hiding::RejectedInsertion),
        ("{\\charscalex1 ", "}", Hiding::Tiny),
        (
            "{\\cf1\\chshdng10000\\chcfpat1\\chcbpat3 ",
            "}",
            Hiding::SameColour,
        ),
        (
            "{\\shp{\\*\\shpinst\\shpleft-30000{\\sp{\\sn a}{\\sv 0}}{\\shptxt ",
            "}}}",
            Hiding::OffPage,
        ),
        (
            "{\\shp{\\*\\shpinst{\\sp{\\sn fHidden}{\\sv 1}}{\\shptxt ",
            "}}}",
            Hiding::HiddenAttribute,
        ),
    ] {
        assert_seen_through(open, how, &make, (open, close));
    }
    for (open, close) in [
        ("{\\v0 ", "}"),
        ("{\\cf3 ", "}"),
        ("{\\cf1\\cb3 ", "}"),
        ("{\\fs8 ", "}"),
        ("{\\revised ", "}"),
        ("{\\charscalex66 ", "}"),
        ("{\\cf1\\chshdng5000\\chcfpat3 ", "}"),
        (
            "{\\shp{\\*\\shpinst\\shpleft300{\\sp{\\sn fHidden}{\\sv 0}}{\\shptxt ",
            "}}}",
        ),
    ] {
        assert_seen(open, &make, (open, close));
    }
    let off_page = "zq zq\\par\\pard\\li-30000 zq zq".to_owned();
    assert_eq!(read(rtf(&[off_page])).hidden.words(), 2);
}

#[test]
fn reports_and_ingests_tell_what_is_hidden() {
    let (folder, honest) = (Folder::new(), honest());
    let (open, close) = run_of("<w:vanish/>");
    let (mixed, count) = with_junk(&honest, &open, &close);
    folder.file("shelf/book.txt", honest.join("\n\n"));
    let copy = folder.file("copy.docx", docx(&mixed));
    run(
        "ingest --data {} --library l --rights protected {}",
        &[folder.data(), folder.path("shelf")],
    )
    .expect(0);

    let report = &run("check --data {} --json {}", &[folder.data(), copy.clone()])
        .expect(1)
        .json()[0];
    let hidden = &report["disguise"]["hidden"];
    assert_eq!(report["matches"][0]["relation"], "same_text", "{report}");
    assert_eq!(
        hidden["methods"],
        json!([{"method": "hidden_attribute", "words": count}])
    );
    let share = count as f64 / (count + honest.join(" ").split(' ').count() as u64) as f64;
    assert!(
        (hidden["share"].as_f64().expect("a share") - share).abs() < 1e-9
            && hidden["words"] == count,
        "{hidden}"
    );
    let said = run("check --data {} {}", &[folder.data(), copy.clone()])
        .expect(1)
        .out
        .replace("\n    ", " ");
    assert!(
        said.contains(
            "of this file are hidden from its readers and were left out: marked as hidden ("
        ),
        "{said}"
    );
    let said = run("text {}", std::slice::from_ref(&copy)).expect(0);
    assert!(
        said.err.contains("are hidden from its readers"),
        "{}",
        said.err
    );
    assert_eq!(words(&said.out), words(&honest.join(" ")));

    let said = run(
        "ingest --data {} --library m --rights free {}",
        &[folder.data(), copy],
    )
    .expect(0)
    .out;
    assert!(
        said.contains("1 have words that their readers do not see") && said.contains("copy.docx: "),
        "{said}"
    );
}

#[test]
fn servers_tell_what_is_hidden() {
    let (folder, honest) = (Folder::new(), honest());
    let (mixed, count) = with_junk(&honest, "<span hidden>", "</span>");
    let (book, copy) = (
        folder.file("shelf/book.txt", honest.join("\n\n")),
        html_with("", &mixed),
    );
    let file = folder.file("copy.html", &copy);
    let server = Server::start(&folder.data());
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    let put = |query: &str| {
        let request = agent
            .put(format!("{}/v1/libraries/l/books/a?{query}", server.url))
            .content_type("text/html");
        let mut answer = request.send(&copy[..]).expect("an answer");
        (
            answer.status().as_u16(),
            answer.body_mut().read_json::<Value>().expect("JSON"),
        )
    };
    let (status, added) = put("rights=free");
    assert_eq!(
        (status, &added["hidden"]["words"]),
        (201, &json!(count)),
        "{added}"
    );
    run(
        &format!(
            "ingest --server {} --library m --rights protected {{}}",
            server.url
        ),
        &[book],
    )
    .expect(0);
    let (status, refused) = put("rights=free&unless=protected");
    assert_eq!(
        (status, &refused["report"]["disguise"]["hidden"]["words"]),
        (409, &json!(count)),
        "{refused}"
    );
    // The file is read here, and checked there.
    let report = &run(
        &format!("check --server {} --json {{}}", server.url),
        &[file],
    )
    .expect(1)
    .json()[0];
    assert_eq!(
        report["disguise"]["hidden"]["methods"],
        json!([{"method": "hidden_attribute", "words": count}]),
        "{report}"
    );
}

#[test]
fn style_bombs_meet_a_limit() {
    let attempt = |page: String| {
        let file = File {
            bytes: page.into_bytes().into(),
            name: None,
            encoding: None,
        };
        match lapidary_extract::read_one(file, Limits::default()) {
            Ok(read) => Ok(read.hidden.words()),
            Err(ExtractError::NoText(_)) => Ok(0),
            Err(ExtractError::OverLimit(Met { limit, .. })) => Err(limit),
            Err(error) => panic!("{error}"),
        }
    };
    let rules = |selector: &str, count: usize| {
        (0..count)
            .map(|i| format!("{selector}{i} {{display:none}}"))
            .collect::<String>()
    };
    let page = |style: &str, body: &str| {
        format!("<html><head><style>{style}</style></head><body>{body}</body></html>")
    };
    // Rules of other classes cost nothing.
    assert_eq!(
        attempt(page(
            &rules(".a", 50_000),
            &"<p class=b>x</p>".repeat(20_000)
        )),
        Ok(0)
    );
    assert_eq!(
        attempt(page(
            &rules("p ~ *:not(#a) > .b", 2),
            &"<p class=b1>x</p>".repeat(9_000)
        )),
        Ok(0)
    );
    // Each of these is compared with all elements.
    assert_eq!(
        attempt(page(
            &rules("* > [a] *#x ~ p:not(.a)", 40_000).replace("p:not(.a)", "p.z"),
            "<p class=z0>x</p>"
        )),
        Ok(0)
    );
    let all = (0..40_000)
        .map(|i| format!("p:not(p):not(#a{i}) {{display:none}}"))
        .collect::<String>();
    assert_eq!(
        attempt(page(&all, &"<p>x</p>".repeat(20_000))),
        Err(Limit::Time)
    );
    assert_eq!(
        attempt(page(&".a {opacity:0}".repeat(100_001), "<p>x</p>")),
        Err(Limit::Time)
    );
    // Nests of a page whose styles matter.
    let nest = |depth: usize| format!("{}x{}", "<div>".repeat(depth), "</div>".repeat(depth));
    assert_eq!(attempt(page(".a {opacity:0}", &nest(5_000))), Ok(0));
    assert_eq!(
        attempt(page(".a {opacity:0}", &nest(50_000))),
        Err(Limit::Depth)
    );
    let sheet = format!("{}{}", "@media all {".repeat(10_000), "p {display:none}");
    assert_eq!(
        attempt(page(&sheet, "<p>x</p>")),
        Err(Limit::Time),
        "what is not read is not guessed"
    );
    let xhtml = |attributes: &str| {
        let root = "<html xmlns=\"http://www.w3.org/1999/xhtml\">";
        format!(
            "<?xml version=\"1.0\"?>{root}<body><p>x <b {attributes}hidden=\"\">y</b></p></body></html>"
        )
    };
    let attributes = |count: usize| {
        (0..count)
            .map(|i| format!("a{i}=\"\" "))
            .collect::<String>()
    };
    assert_eq!(
        (
            attempt(xhtml(&attributes(90))),
            attempt(xhtml(&attributes(200)))
        ),
        (Ok(1), Err(Limit::Time))
    );
    // Variables in variables.
    let more: String = (1..40)
        .map(|i| format!("--a{i}: var(--a{0}) var(--a{0});", i - 1))
        .collect();
    assert_eq!(
        attempt(page(
            &format!("p {{--a0: none; {more} display: var(--a39)}}"),
            "<p>x</p>"
        )),
        Err(Limit::Time)
    );
    let circle = "p {--a: var(--b); --b: var(--a); display: none; display: var(--a)}";
    assert_eq!(attempt(page(circle, "<p>x</p>")), Ok(0));
    let _ = attempt(page(
        &format!("{} {{display:none}}", ":is(".repeat(50_000)),
        "<p>x</p>",
    ));
    assert_eq!(
        attempt(page(&"a {& & ".repeat(50), "<p>x</p>")),
        Err(Limit::Time)
    );
    let list = "a, ".repeat(3_000);
    assert_eq!(
        attempt(page(
            &format!("{list}b {{ {list}b {{display:none}} }}"),
            "<p>x</p>"
        )),
        Err(Limit::Time)
    );
    let _ = attempt(page(
        &format!("p {{color:{}", "rgb(".repeat(50_000)),
        "<p>x</p>",
    ));
    let _ = attempt(format!(
        "<html><p style='{}'>x",
        "color:white;".repeat(50_000)
    ));
}
