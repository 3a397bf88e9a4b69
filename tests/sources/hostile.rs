//! A site that means harm, or does not know better.

use super::*;
use crate::common::Folder;
use crate::makers::{gz, zip};

fn page(body: &str) -> Answer {
    found(format!("<html><body>{body}</body></html>"))
}

fn with(headers: &str, answer: Answer) -> Answer {
    Answer {
        headers: format!("{headers}\r\n"),
        ..answer
    }
}

fn status(status: &'static str, headers: &str) -> Answer {
    with(
        headers,
        Answer {
            status,
            ..found("no")
        },
    )
}

/// The reason and the words that an address was refused with.
fn refused(harvest: &Harvest, path: &str) -> (String, String) {
    let errors = harvest.summary()["errors"]
        .as_array()
        .expect("errors")
        .clone();
    let error = errors.iter().find(|error| {
        error["url"]
            .as_str()
            .is_some_and(|address| address.ends_with(path))
    });
    let error = error.unwrap_or_else(|| panic!("{path}: {errors:?}"));
    let words = |name: &str| error[name].as_str().expect("words").to_owned();
    (words("reason"), words("detail"))
}

#[test]
fn each_address_of_a_hostile_site_harms_only_itself() {
    let site = Site::new();
    site.books(0..1);
    site.set("/a", status("302 Found", "Location: /b"));
    site.set("/b", status("301 Moved Permanently", "Location: /a"));
    site.set("/nowhere", status("307 Temporary Redirect", "X: y"));
    site.set(
        "/file",
        status("302 Found", "Location: file:///etc/hostname"),
    );
    site.set(
        "/script",
        status("302 Found", "Location: javascript:alert(1)"),
    );
    site.set_all(
        "/busy.txt",
        vec![
            status("429 Too Many Requests", "Retry-After: 1"),
            found(prose(1, 600)),
        ],
    );
    site.set("/huge.txt", found("word ".repeat(500_000)));
    let text = |size: usize| vec![b'a'; size];
    site.set(
        "/bomb.zip",
        found(zip(&[
            ("a.txt", &text(60 << 20)),
            ("b.txt", &text(60 << 20)),
        ])),
    );
    site.set("/bomb.txt.gz", found(gz(&gz(&gz(&text(60 << 20))))));
    site.set(
        "/packed.txt",
        with("Content-Encoding: gzip", found(gz(&text(60 << 20)))),
    );
    site.set("/empty.html", page(""));
    // Russian in windows-1251, whatever the server and the page say that it is.
    let russian: String = (0..60)
        .map(|_| "Гранит и самоцветы лежали в одном сундуке, и никто не знал об этом. ")
        .collect();
    let windows = encoding_rs::WINDOWS_1251.encode(&russian).0.into_owned();
    let lies = [
        b"<html><head><meta charset='utf-8'></head><body><p>".as_slice(),
        &windows,
        b"</p></body></html>",
    ]
    .concat();
    site.set(
        "/lies.html",
        with("Content-Type: text/html; charset=koi8-r", found(lies)),
    );
    site.set(
        "/nonsense.txt",
        with("Content-Type: text/plain; charset=nonsense", found(windows)),
    );
    let paths = "book0.txt a nowhere file script busy.txt huge.txt bomb.zip bomb.txt.gz packed.txt empty.html lies.html nonsense.txt";
    let listed: Vec<String> = paths
        .split(' ')
        .map(|path| format!("{}/{path}", site.url))
        .collect();
    site.set("/list.txt", found(listed.join("\n")));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private",
    );
    let line = "sources run --json --limit-input 2MiB --limit-unpacked 40MiB --data {} it";
    let run = run(line, &[harvest.folder.data()]).expect(2);
    let added = ["book0.txt", "busy.txt", "lies.html", "nonsense.txt"]
        .map(|path| format!("{}/{path}", site.url));
    assert_eq!(harvest.ids(), added.into(), "{run:?}");
    for (path, reason, why) in [
        ("/a", "status", "redirects more than 5 times"),
        ("/nowhere", "status", "without a usable address"),
        ("/file", "address", "is not an address of the web"),
        ("/script", "address", "is not an address of the web"),
        ("/huge.txt", "too_large", "larger than 2097152 bytes"),
        ("/bomb.zip", "bad_book", "too expensive"),
        ("/bomb.txt.gz", "bad_book", "too expensive"),
        ("/packed.txt", "bad_book", "too expensive"),
        ("/empty.html", "bad_book", "no text"),
    ] {
        let (of, words) = refused(&harvest, path);
        assert!(of == reason && words.contains(why), "{path}: {of}, {words}");
    }
    let upload = harvest.folder.file("upload.txt", russian);
    let checked = super::run(
        "check --json --data {} {}",
        &[&harvest.folder.data(), &upload],
    )
    .json()
    .remove(0);
    assert_eq!(
        checked["matches"][0]["relation"], "same_text",
        "the encoding was found"
    );
}

#[test]
fn lists_that_are_traps() {
    let site = Site::new();
    site.books(0..1);
    // Each folder has another in it.
    let deeper = |depth: usize| format!("/{}", "x/".repeat(depth));
    for depth in 0..80 {
        site.set(&deeper(depth), page("<a href='x/'>deeper</a>"));
    }
    let harvest = Harvest::new(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains book",
    );
    assert_eq!(harvest.run(), (0, 0, 0, 0));
    assert!(site.count().contains_key(&deeper(50)) && !site.count().contains_key(&deeper(51)));

    // Sitemaps that list each other, unpack to more than they may, define entities in entities, and nest without end.
    let sitemap = |name: &str| format!("<sitemap><loc>/{name}</loc></sitemap>");
    let names = [
        "index.xml",
        "bomb.xml.gz",
        "laughs.xml",
        "deep.xml",
        "good.txt",
    ];
    let index = format!(
        "<sitemapindex>{}</sitemapindex>",
        names.map(sitemap).concat()
    );
    site.set("/index.xml", found(index));
    site.set("/bomb.xml.gz", found(gz(&vec![b' '; 51 << 20])));
    let entity = |i: u32| format!("<!ENTITY e{i} '&e{};&e{};'>", i - 1, i - 1);
    let entities = (1..30).map(entity).collect::<Vec<_>>().concat();
    site.set(
        "/laughs.xml",
        found(format!(
            "<!DOCTYPE u [<!ENTITY e0 'ha'>{entities}]><urlset>&e29;</urlset>"
        )),
    );
    site.set("/deep.xml", found("<urlset>".repeat(1_000_000)));
    site.set("/good.txt", site.list(0..1));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/index.xml", site.url),
        "--allow-private",
    );
    assert_eq!(harvest.run(), (1, 1, 0, 3), "{}", harvest.summary());
    for path in ["/bomb.xml.gz", "/laughs.xml", "/deep.xml"] {
        assert_eq!(refused(&harvest, path).0, "bad_list");
    }
    assert_eq!(
        site.count()["/index.xml"],
        1,
        "what lists itself is read once"
    );

    // A feed that nests without end, in a catalogue.
    site.set("/opds", found("{\"groups\":[".repeat(100_000)));
    let harvest = Harvest::new("opds", &format!("{}/opds", site.url), "--allow-private");
    assert_eq!(harvest.run(), (0, 0, 0, 1));
}

#[test]
fn a_site_that_wants_to_be_left_alone_is() {
    let site = Site::new();
    site.books(0..1);
    site.set(
        "/book1.txt",
        status("429 Too Many Requests", "Retry-After: 3600"),
    );
    site.set("/list.txt", site.list(0..2));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private",
    );
    let run = || super::run("sources run --json --data {} it", &[harvest.folder.data()]).expect(3);
    assert!(run().err.contains("asks to come back at"));
    assert!(run().err.contains("1 addresses are left"));
    assert_eq!(
        (site.count()["/book0.txt"], site.count()["/book1.txt"]),
        (1, 1),
        "it is not asked before"
    );
    assert_eq!(harvest.ids().len(), 1);

    // Slower than anyone waits: a test of a source gives a request ten seconds.
    site.set(
        "/slow",
        Answer {
            status: NEVER,
            ..found("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        },
    );
    site.set(
        "/garbage",
        Answer {
            status: NEVER,
            ..found("SSH-2.0-OpenSSH_9.9\r\n\r\n")
        },
    );
    for (path, why) in [
        ("/slow", "did not respond in time"),
        ("/garbage", "does not respond as a web server should"),
    ] {
        let harvest = Harvest::new("sitemap", &format!("{}{path}", site.url), "--allow-private");
        let tested = super::run("sources test --data {} it", &[harvest.folder.data()]).expect(2);
        assert!(tested.err.contains(why), "{tested:?}");
    }
}

#[test]
fn a_catalogue_says_what_credentials_it_wants() {
    let site = Site::new();
    let document = json!({"id": "x", "title": "A Library", "authentication": [{"type": "http://opds-spec.org/auth/basic"}]});
    let asks = |kind: &str, body: String| {
        with(
            &format!("Content-Type: {kind}"),
            Answer {
                status: "401 Unauthorized",
                ..found(body)
            },
        )
    };
    site.set(
        "/opds",
        asks(
            "application/opds-authentication+json;charset=utf-8",
            document.to_string(),
        ),
    );
    let tested = |options: &str| {
        let harvest = Harvest::new(
            "opds",
            &format!("{}/opds", site.url),
            &format!("--allow-private {options}"),
        );
        super::run("sources test --data {} it", &[harvest.folder.data()])
            .expect(2)
            .err
    };
    let said = tested("");
    assert!(
        said.contains("\"A Library\" asks for credentials: a user name and a password"),
        "{said}"
    );
    site.set("/opds", asks("text/html", "<p>Card?</p>".to_owned()));
    assert!(tested("").contains("the source needs credentials"));
    let folder = Folder::new();
    let secret = folder.file("secret", "me:wrong");
    let said = tested(&format!("--credentials {}", secret.display()));
    assert!(
        said.contains("does not accept the source's credentials"),
        "{said}"
    );
}
