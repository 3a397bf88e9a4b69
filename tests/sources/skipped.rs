//! What sources list and cannot use is counted and told; what can be read is taken, whatever it is called.

use super::served::get;
use super::*;
use crate::common::{Server, until};
use crate::makers;

fn paragraphs(seed: u64) -> Vec<String> {
    (0..8).map(|part| prose(100 * seed + part, 120)).collect()
}

fn link(rel: &str, href: &str, kind: &str) -> String {
    let kind = if kind.is_empty() {
        String::new()
    } else {
        format!(" type='{kind}'")
    };
    format!("<link rel='http://opds-spec.org/acquisition{rel}' href='{href}'{kind}/>")
}

fn opds(entries: &[String]) -> Answer {
    let entries = entries.iter().enumerate();
    let entries = entries
        .map(|(n, links)| format!("<entry><id>urn:{n}</id><title>T{n}</title>{links}</entry>"));
    let entries: String = entries.collect();
    found(format!(
        "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>t</title>{entries}</feed>"
    ))
}

/// What is skipped by a reason, in the last run.
fn skipped(summary: &Value, reason: &str) -> u64 {
    summary["runs"][0]["skipped_by"][reason]
        .as_u64()
        .unwrap_or_default()
}

#[test]
fn books_of_a_catalogue_are_taken_whatever_their_type_says() {
    let site = Site::new();
    let files = [
        ("/1", "text/rtf", makers::rtf(&paragraphs(1))),
        (
            "/2",
            "application/x-mobi8-ebook",
            makers::mobi(&paragraphs(2)),
        ),
        ("/3", "application/msword", makers::doc(&paragraphs(3))),
        (
            "/4",
            "application/vnd.oasis.opendocument.text",
            makers::odt(&paragraphs(4)),
        ),
        ("/5", "application/tei+xml", makers::tei(&paragraphs(5))),
        (
            "/6",
            "application/octet-stream",
            makers::epub(&paragraphs(6)),
        ),
        (
            "/7",
            "application/x-never-heard-of",
            makers::docx(&paragraphs(7)),
        ),
        ("/8", "", makers::pdf(&paragraphs(8))),
        // Its type says something else than its content, which counts.
        ("/9", "application/epub+zip", makers::rtf(&paragraphs(9))),
    ];
    let entries: Vec<String> = files
        .iter()
        .map(|(path, kind, _)| link("", path, kind))
        .collect();
    site.set("/opds", opds(&entries));
    for (path, _, bytes) in &files {
        site.set(path, found(bytes.clone()));
    }
    let harvest = Harvest::new("opds", &format!("{}/opds", site.url), "--allow-private");
    assert_eq!(harvest.run(), (9, 9, 0, 0), "{}", harvest.summary());
    assert_eq!(harvest.ids().len(), 9);
}

#[test]
fn books_that_a_catalogue_does_not_give_are_told() {
    let site = Site::new();
    site.books(0..1);
    let entries = [
        link("", "/book0.txt", "text/plain"),
        link("", "/1.mp3", "audio/mpeg"),
        link(
            "/open-access",
            "/2.lcpl",
            "application/vnd.readium.lcp.license.v1.0+json",
        ),
        link("/buy", "/3.epub", "application/epub+zip"),
        link("/borrow", "/4.epub", "application/epub+zip"),
        // No book: it only leads on.
        "<link rel='subsection' href='/more' type='application/atom+xml'/>".to_owned(),
    ];
    site.set("/opds", opds(&entries));
    let publication = |rel: &str, kind: &str| {
        json!({"metadata": {"title": rel, "identifier": format!("urn:{rel}")},
               "links": [{"rel": format!("http://opds-spec.org/acquisition{rel}"), "href": format!("/x{rel}"), "type": kind}]})
    };
    let more = json!({"metadata": {"title": "t"}, "publications": [publication("/subscribe", "application/epub+zip"), publication("", "video/mp4")]});
    site.set("/more", found(more.to_string()));
    let harvest = Harvest::new("opds", &format!("{}/opds", site.url), "--allow-private");
    let data = harvest.folder.data();
    let tested = run("sources test --data {} it", &[&data]).expect(0);
    assert!(tested.err.contains("6 others cannot be used"), "{tested:?}");
    let done = run("sources run --data {} it", &[&data]).expect(0);
    assert_eq!(
        done.out.trim(),
        "1 fetched, 1 added, 0 unchanged, 0 refused, 6 skipped"
    );
    assert!(
        done.err.contains("skipped 3 in no format that can be read"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("skipped 3 without a file"),
        "{}",
        done.err
    );
    let summary = harvest.summary();
    assert_eq!(
        (skipped(&summary, "format"), skipped(&summary, "no_file")),
        (3, 3),
        "{summary}"
    );
    assert_eq!(summary["runs"][0]["refused_by"], json!({}));
    let shown = run("sources show --data {} it", &[&data]).expect(0).out;
    assert!(
        shown.contains("6 skipped") && shown.contains("    skipped 3 in no format"),
        "{shown}"
    );
    let errors = run("sources errors --json --data {} it", &[&data])
        .expect(0)
        .json();
    assert_eq!(errors.len(), 6, "{errors:?}");
    let why = |address: &str| {
        let of = errors.iter().find(|error| {
            error["url"]
                .as_str()
                .is_some_and(|at| at.ends_with(address))
        });
        of.unwrap_or_else(|| panic!("{address} in {errors:?}"))["detail"]
            .as_str()
            .expect("words")
            .to_owned()
    };
    assert!(
        why("/1.mp3").contains("audio/mpeg") && why("/2.lcpl").contains("readium.lcp"),
        "{errors:?}"
    );
    assert!(why("urn:3").contains("bought, borrowed"), "{errors:?}");
    let words = run("sources errors --data {} it", &[&data]).expect(0).out;
    assert!(
        words.lines().all(|line| line.starts_with("skipped\t")),
        "{words}"
    );
    // Each run counts them, and what comes to be offered is taken.
    assert_eq!(
        run("sources run --json --data {} it", &[&data])
            .expect(0)
            .json()[0]["skipped"],
        6
    );
    site.set("/1.txt", found(prose(7, 600)));
    let entries = [
        vec![link("", "/1.txt", "text/plain") + &entries[1]],
        entries[2..].to_vec(),
    ]
    .concat();
    site.set("/opds", opds(&entries));
    let again = run("sources run --json --data {} it", &[&data])
        .expect(0)
        .json();
    assert_eq!(
        (&again[0]["added"], &again[0]["skipped"]),
        (&json!(1), &json!(5))
    );

    let server = Server::start(&data);
    let run = get(&server, "/v1/sources/it/runs")["runs"][0].clone();
    assert_eq!(
        (&run["skipped"], &run["skipped_by"]["no_file"]),
        (&json!(5), &json!(3)),
        "{run}"
    );
    until("the errors are there", || {
        get(&server, "/v1/sources/it/errors")["errors"]
            .as_array()
            .is_some_and(|all| all.len() == 5)
    });
}

#[test]
fn every_kind_of_source_tells_what_it_skips() {
    let site = Site::new();
    site.books(0..3);
    let summary = |kind: &str, path: &str, options: &str, expected: (u64, u64, u64, u64)| {
        let harvest = Harvest::new(
            kind,
            &format!("{}{path}", site.url),
            &format!("--allow-private {options}"),
        );
        assert_eq!(harvest.run(), expected, "{kind}: {}", harvest.summary());
        harvest.summary()
    };
    // A picture that comes with an article is not the article; a recording is no text.
    let item = |id: u64, inner: &str| {
        format!("<item><title>T{id}</title><guid isPermaLink='false'>g{id}</guid>{inner}</item>")
    };
    let rss = [
        item(
            0,
            "<link>/book0.txt</link><enclosure url='/cover.jpg' type='image/jpeg' length='1'/>",
        ),
        item(
            1,
            "<enclosure url='/talk.mp3' type='audio/mpeg' length='1'/>",
        ),
        item(2, ""),
    ];
    let rss = format!(
        "<rss version='2.0'><channel><title>t</title><link>/</link><description>d</description>{}</channel></rss>",
        rss.concat()
    );
    site.set("/rss", found(rss));
    let told = summary("feed", "/rss", "", (1, 1, 0, 0));
    assert_eq!(
        (skipped(&told, "format"), skipped(&told, "no_file")),
        (1, 1),
        "{told}"
    );

    let record = |id: u64, inner: &str| {
        format!(
            "<record><header><identifier>oai:{id}</identifier><datestamp>2030-01-02</datestamp></header>{inner}</record>"
        )
    };
    let dc = |inner: &str| {
        format!(
            "<metadata><dc xmlns='http://purl.org/dc/elements/1.1/'><title>T</title>{inner}</dc></metadata>"
        )
    };
    let book = format!("<identifier>{}/book1.txt</identifier>", site.url);
    let records = [
        record(0, &dc(&book)),
        record(1, &dc("<identifier>isbn</identifier>")),
        record(2, ""),
    ]
    .concat();
    let answer = format!(
        "<OAI-PMH><responseDate>2030-01-15T00:00:00Z</responseDate><ListRecords>{records}</ListRecords></OAI-PMH>"
    );
    site.set("/oai?verb=ListRecords&metadataPrefix=oai_dc", found(answer));
    let told = summary("oai", "/oai", "", (1, 1, 0, 0));
    assert_eq!(skipped(&told, "no_file"), 2, "{told}");

    // What is no address is a fault of the list.
    site.set(
        "/sitemap.txt",
        found(format!("{}/book2.txt\n\nmailto:a@b.c\n", site.url)),
    );
    let told = summary("sitemap", "/sitemap.txt", "", (1, 1, 0, 1));
    assert_eq!(told["runs"][0]["refused_by"]["address"], 1, "{told}");
    let urlset = format!(
        "<urlset><url><loc>{}/book2.txt</loc></url><url><loc>ftp://x.y/b</loc></url></urlset>",
        site.url
    );
    site.set("/sitemap.xml", found(urlset));
    summary("sitemap", "/sitemap.xml", "", (1, 1, 0, 1));
    site.set(
        "/list.csv",
        found(format!("address\n{}/book2.txt\nftp://x.y/b\n", site.url)),
    );
    summary("list", "/list.csv", "", (1, 1, 0, 1));

    site.set("/", found(format!("<html><body><p>{}</p><a href='/book/0'>0</a><a href='/book/0.mp3'>0</a><a href='/logo.png'>0</a></body></html>", prose(50, 300))));
    site.set(
        "/book/0",
        found(format!(
            "<html><body><p>{}</p></body></html>",
            prose(51, 300)
        )),
    );
    let told = summary("site", "/", "--contains book/", (1, 1, 0, 0));
    assert_eq!(
        skipped(&told, "format"),
        1,
        "a picture that is not called as books are is none: {told}"
    );

    let folder = Folder::new();
    folder.file("books/a.txt", prose(1, 600));
    folder.file("books/cover.jpg", [0xff, 0xd8, 0xff, 0xe0]);
    folder.file("books/b.djvu", b"AT&TFORMxxxxDJVM");
    folder.file("elsewhere.txt", prose(2, 600));
    std::os::unix::fs::symlink(folder.path("elsewhere.txt"), folder.path("books/c.txt"))
        .expect("a link");
    let harvest = Harvest::new("folder", folder.path("books").to_str().expect("UTF-8"), "");
    let data = harvest.folder.data();
    assert_eq!(
        run("sources run --data {} it", &[&data])
            .expect(0)
            .out
            .trim(),
        "1 fetched, 1 added, 0 unchanged, 0 refused, 3 skipped"
    );
    let told = harvest.summary();
    assert_eq!(
        (skipped(&told, "format"), skipped(&told, "link")),
        (2, 1),
        "{told}"
    );
    assert!(
        told["errors"]
            .to_string()
            .contains("it is a DjVu document, which is not supported"),
        "{told}"
    );
    assert!(
        told["errors"]
            .to_string()
            .contains("a link, which is not followed"),
        "{told}"
    );
}
