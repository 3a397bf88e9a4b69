//! The inputs and answers that Google published with its parser, as far as they concern what is allowed, and some of our own.

use proptest::prelude::*;
use url::Url;

use super::{Robots, encoded, fits};

/// A file, and for robots and paths whether they are allowed.
type Case = (&'static str, &'static [(&'static str, &'static str, bool)]);

const CASES: &[Case] = &[
    // Lines.
    (
        "user-agent: FooBot\ndisallow: /\n",
        &[("FooBot", "/x/y", false)],
    ),
    ("foo: FooBot\nbar: /\n", &[("FooBot", "/x/y", true)]),
    (
        "user-agent FooBot\ndisallow /\n",
        &[("FooBot", "/x/y", false)],
    ),
    ("User-Agent: foo\r\nDisallow: /\r\n", &[("foo", "/", false)]),
    (
        "User-Agent: foo\rAllow: /a\rUser-Agent: bar\r\rDisallow: /",
        &[("foo", "/b", true), ("bar", "/a", false)],
    ),
    (
        "\u{FEFF}User-Agent: foo\nDisallow: /",
        &[("foo", "/", false)],
    ),
    // Groups.
    (
        "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: BarBot\ndisallow: /\nallow: /y/\n\n\nallow: /w/\n\
         user-agent: BazBot\n\nuser-agent: FooBot\nallow: /z/\ndisallow: /\n",
        &[
            ("FooBot", "/x/b", true),
            ("FooBot", "/z/d", true),
            ("FooBot", "/y/c", false),
            ("BarBot", "/y/c", true),
            ("BarBot", "/w/a", true),
            ("BarBot", "/z/d", false),
            ("BazBot", "/z/d", true),
            ("FooBot", "/foo/bar/", false),
            ("BarBot", "/foo/bar/", false),
            ("BazBot", "/foo/bar/", false),
        ],
    ),
    (
        "User-agent: BarBot\nSitemap: https://foo.bar/sitemap\nUser-agent: *\nDisallow: /\n",
        &[("FooBot", "/", false), ("BarBot", "/", false)],
    ),
    (
        "User-agent: FooBot\nInvalid-Unknown-Line: unknown\nUser-agent: *\nDisallow: /\n",
        &[("FooBot", "/", false), ("BarBot", "/", false)],
    ),
    ("", &[("FooBot", "/x/y", true)]),
    (
        "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n",
        &[("FooBot", "/x/y", false), ("BarBot", "/x/y", true)],
    ),
    (
        "user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /\nuser-agent: BazBot\ndisallow: /\n",
        &[("QuxBot", "/x/y", true)],
    ),
    // Names.
    (
        "USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /\n",
        &[("FooBot", "/x/y", true), ("FooBot", "/a/b", false)],
    ),
    (
        "uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /\n",
        &[("FooBot", "/x/y", true), ("FooBot", "/a/b", false)],
    ),
    (
        "User-Agent: FOO BAR\nAllow: /x/\nDisallow: /\n",
        &[("Foo", "/x/y", true), ("foo", "/a/b", false)],
    ),
    (
        "User-Agent: FoO bAr\nAllow: /x/\nDisallow: /\n",
        &[("Foo", "/x/y", true), ("foo", "/a/b", false)],
    ),
    (
        "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n",
        &[("Foo", "/x/y", true), ("Foo Bar", "/x/y", false)],
    ),
    (
        "user-agent: FooBot/2.1\ndisallow: /\n",
        &[("FooBot", "/", false), ("Foo", "/", true)],
    ),
    (
        "useragent: foo\ndissallow: /a\ndisalow: /b\n",
        &[
            ("foo", "/a", false),
            ("foo", "/b", false),
            ("foo", "/c", true),
        ],
    ),
    // Paths.
    (
        "user-agent: FooBot\ndisallow: /x/\n",
        &[("FooBot", "/x/y", false)],
    ),
    (
        "user-agent: FooBot\ndisallow: /X/\n",
        &[("FooBot", "/x/y", true)],
    ),
    (
        "user-agent: FooBot\ndisallow: /x/page.html\nallow: /x/\n",
        &[("FooBot", "/x/page.html", false)],
    ),
    (
        "user-agent: FooBot\nallow: /x/page.html\ndisallow: /x/\n",
        &[("FooBot", "/x/page.html", true), ("FooBot", "/x/", false)],
    ),
    (
        "user-agent: FooBot\ndisallow: \nallow: \n",
        &[("FooBot", "/x/page.html", true)],
    ),
    (
        "user-agent: FooBot\ndisallow: /\nallow: /\n",
        &[("FooBot", "/x/page.html", true)],
    ),
    (
        "user-agent: FooBot\ndisallow: /x\nallow: /x/\n",
        &[("FooBot", "/x", false), ("FooBot", "/x/", true)],
    ),
    (
        "user-agent: FooBot\ndisallow: /x/page.html\nallow: /x/page.html\n",
        &[("FooBot", "/x/page.html", true)],
    ),
    (
        "user-agent: FooBot\nallow: /page\ndisallow: /*.html\n",
        &[("FooBot", "/page.html", false), ("FooBot", "/page", true)],
    ),
    (
        "user-agent: FooBot\nallow: /x/page.\ndisallow: /*.html\n",
        &[
            ("FooBot", "/x/page.html", true),
            ("FooBot", "/x/y.html", false),
        ],
    ),
    (
        "User-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/\n",
        &[("FooBot", "/x/page", true), ("FooBot", "/y/page", false)],
    ),
    // Encoded; addresses always are.
    (
        "User-agent: FooBot\nDisallow: /\nAllow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par\n",
        &[(
            "FooBot",
            "/foo/bar?qux=taz&baz=http://foo.bar?tar&par",
            true,
        )],
    ),
    (
        "User-agent: FooBot\nDisallow: /\nAllow: /foo/bar/ツ\n",
        &[("FooBot", "/foo/bar/%E3%83%84", true)],
    ),
    (
        "User-agent: FooBot\nDisallow: /\nAllow: /foo/bar/%E3%83%84\n",
        &[
            ("FooBot", "/foo/bar/%E3%83%84", true),
            ("FooBot", "/foo/bar/%e3%83%84", true),
        ],
    ),
    (
        "User-agent: FooBot\nDisallow: /\nAllow: /foo/bar/%62%61%7A\n",
        &[
            ("FooBot", "/foo/bar/baz", false),
            ("FooBot", "/foo/bar/%62%61%7A", true),
        ],
    ),
    // Characters with a meaning.
    (
        "User-agent: FooBot\nDisallow: /foo/bar/quz\nAllow: /foo/*/qux\n",
        &[
            ("FooBot", "/foo/bar/quz", false),
            ("FooBot", "/foo/quz", true),
            ("FooBot", "/foo//quz", true),
            ("FooBot", "/foo/bax/quz", true),
        ],
    ),
    (
        "User-agent: FooBot\nDisallow: /foo/bar$\nAllow: /foo/bar/qux\n",
        &[
            ("FooBot", "/foo/bar", false),
            ("FooBot", "/foo/bar/qux", true),
            ("FooBot", "/foo/bar/", true),
            ("FooBot", "/foo/bar/baz", true),
        ],
    ),
    (
        "User-agent: FooBot\n# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n",
        &[("FooBot", "/foo/bar", true), ("FooBot", "/foo/quz", false)],
    ),
    (
        "User-Agent: *\nAllow: /allowed-slash/index.html\nDisallow: /\n",
        &[
            ("foobot", "/allowed-slash/", true),
            ("foobot", "/allowed-slash/index.htm", false),
            ("foobot", "/allowed-slash/index.html", true),
            ("foobot", "/anyother-url", false),
        ],
    ),
    // Google's documentation.
    (
        "user-agent: FooBot\ndisallow: /\nallow: /fish\n",
        &[
            ("FooBot", "/bar", false),
            ("FooBot", "/fish", true),
            ("FooBot", "/fish.html", true),
            ("FooBot", "/fish/salmon.html", true),
            ("FooBot", "/fishheads", true),
            ("FooBot", "/fishheads/yummy.html", true),
            ("FooBot", "/fish.html?id=anything", true),
            ("FooBot", "/Fish.asp", false),
            ("FooBot", "/catfish", false),
            ("FooBot", "/?id=fish", false),
        ],
    ),
    (
        "user-agent: FooBot\ndisallow: /\nallow: /fish*\n",
        &[
            ("FooBot", "/bar", false),
            ("FooBot", "/fish", true),
            ("FooBot", "/fish/salmon.html", true),
            ("FooBot", "/fishheads/yummy.html", true),
            ("FooBot", "/fish.html?id=anything", true),
            ("FooBot", "/Fish.bar", false),
            ("FooBot", "/catfish", false),
            ("FooBot", "/?id=fish", false),
        ],
    ),
    (
        "user-agent: FooBot\ndisallow: /\nallow: /fish/\n",
        &[
            ("FooBot", "/bar", false),
            ("FooBot", "/fish/", true),
            ("FooBot", "/fish/salmon", true),
            ("FooBot", "/fish/?salmon", true),
            ("FooBot", "/fish/?id=anything", true),
            ("FooBot", "/fish", false),
            ("FooBot", "/fish.html", false),
            ("FooBot", "/Fish/Salmon.html", false),
        ],
    ),
    (
        "user-agent: FooBot\ndisallow: /\nallow: /*.php\n",
        &[
            ("FooBot", "/bar", false),
            ("FooBot", "/filename.php", true),
            ("FooBot", "/folder/filename.php?parameters", true),
            ("FooBot", "//folder/any.php.file.html", true),
            ("FooBot", "/filename.php/", true),
            ("FooBot", "/index?f=filename.php/", true),
            ("FooBot", "/php/", false),
            ("FooBot", "/index?php", false),
            ("FooBot", "/windows.PHP", false),
        ],
    ),
    (
        "user-agent: FooBot\ndisallow: /\nallow: /*.php$\n",
        &[
            ("FooBot", "/filename.php", true),
            ("FooBot", "/folder/filename.php", true),
            ("FooBot", "/filename.php?parameters", false),
            ("FooBot", "/filename.php/", false),
            ("FooBot", "/filename.php5", false),
            ("FooBot", "/php/", false),
            ("FooBot", "/filename?php", false),
            ("FooBot", "/aaaphpaaa", false),
            ("FooBot", "//windows.PHP", false),
        ],
    ),
    (
        "user-agent: FooBot\ndisallow: /\nallow: /fish*.php\n",
        &[
            ("FooBot", "/bar", false),
            ("FooBot", "/fish.php", true),
            ("FooBot", "/fishheads/catfish.php?parameters", true),
            ("FooBot", "/Fish.PHP", false),
        ],
    ),
    (
        "user-agent: FooBot\nallow: /p\ndisallow: /\n",
        &[("FooBot", "/page", true)],
    ),
    (
        "user-agent: FooBot\nallow: /folder\ndisallow: /folder\n",
        &[("FooBot", "/folder/page", true)],
    ),
    (
        "user-agent: FooBot\nallow: /page\ndisallow: /*.htm\n",
        &[("FooBot", "/page.htm", false)],
    ),
    (
        "user-agent: FooBot\nallow: /$\ndisallow: /\n",
        &[("FooBot", "/", true), ("FooBot", "/page.html", false)],
    ),
];

fn allowed(file: &str, robot: &str, path: &str) -> bool {
    let url: Url = format!("http://foo.bar{path}").parse().expect("an address");
    Robots::read(robot, file.as_bytes()).allow(&url)
}

#[test]
fn as_google_reads_them() {
    for (file, answers) in CASES {
        for (robot, path, expected) in *answers {
            assert_eq!(
                allowed(file, robot, path),
                *expected,
                "{robot} at {path} with\n{file}"
            );
        }
    }
}

#[test]
fn long_lines_are_cut_off() {
    let long = format!(
        "/x/{}",
        "a".repeat(8 * 2083 - "/x/".len() - "disallow: ".len() + 1)
    );
    let file = format!("user-agent: FooBot\ndisallow: {long}/qux\n");
    assert!(allowed(&file, "FooBot", "/fux"));
    assert!(!allowed(&file, "FooBot", &format!("{long}/fux")));
}

#[test]
fn delays() {
    let delay = |file: &str| Robots::read("lapidary", file.as_bytes()).delay;
    assert_eq!(
        delay("user-agent: *\ncrawl-delay: 2.5\ndisallow: /x"),
        Some(2.5)
    );
    assert_eq!(
        delay("user-agent: lapidary\ncrawl-delay: 1\nuser-agent: *\ndisallow:\ncrawl-delay: 9"),
        Some(1.0)
    );
    assert_eq!(
        delay("crawl-delay: 3\nuser-agent: other\ndisallow: /"),
        Some(3.0)
    );
    assert_eq!(
        delay("user-agent: other\ndisallow: /\ncrawl-delay: 3"),
        None
    );
    assert_eq!(delay("user-agent: *\ncrawl-delay: soon"), None);
}

/// The definition of patterns, one character after the other.
fn fits_plainly(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        b"$" => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|at| fits_plainly(rest, &path[at..])),
        [first, rest @ ..] => path.first() == Some(first) && fits_plainly(rest, &path[1..]),
    }
}

proptest! {
    #[test]
    fn patterns_fit_as_they_are_defined(pattern in "/[ab*]{0,6}[$]?", path in "/[ab]{0,8}") {
        prop_assert_eq!(fits(pattern.as_bytes(), path.as_bytes()), fits_plainly(pattern.as_bytes(), path.as_bytes()));
    }

    #[test]
    fn any_bytes_can_be_read(text: Vec<u8>, path in "/\\PC{0,20}") {
        let url: Url = format!("http://foo.bar{path}").parse().expect("an address");
        Robots::read("lapidary", &text).allow(&url);
        encoded(&text);
    }
}
