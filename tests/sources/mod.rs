//! `lapidary sources` from outside: a folder, and sites served by a small server of every kind of catalogue.

mod books;
mod buckets;
mod cluster;
mod exchange;
mod fetched;
mod hostile;
mod kills;
mod limits;
mod onix;
mod private;
mod reads;
mod served;
mod sites;
mod skipped;
mod software;
mod unchanged;
mod whose;

use crate::common;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Folder, command, prose, run};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// What a path answers: a status line, headers and a body.
#[derive(Clone)]
struct Answer {
    status: &'static str,
    headers: String,
    body: Vec<u8>,
}

fn found(body: impl Into<Vec<u8>>) -> Answer {
    Answer {
        status: "200 OK",
        headers: String::new(),
        body: body.into(),
    }
}

/// The status of an answer that never comes: the connection stays open until the other side closes it.
const NEVER: &str = "never";

/// A web server. Each path has its answers, of which the last one repeats; others are not found.
#[derive(Clone)]
struct Site {
    url: String,
    /// How many answers that never come were waited for, and how many of those were given up.
    waited: Arc<Mutex<(usize, usize)>>,
    answers: Arc<Mutex<BTreeMap<String, Vec<Answer>>>>,
    /// The heads of all requests.
    asked: Arc<Mutex<Vec<String>>>,
    /// When each was asked, and when it was answered.
    times: Arc<Mutex<Vec<(Instant, Instant)>>>,
    /// How many answers had a body, but for `robots.txt`.
    sent: Arc<Mutex<usize>>,
}

impl Site {
    fn new() -> Self {
        Self::at("127.0.0.1")
    }

    /// A server at an address of this machine.
    fn at(address: &str) -> Self {
        let listener = TcpListener::bind(format!("{address}:0")).expect("an address");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let site = Self {
            url,
            waited: Arc::default(),
            answers: Arc::default(),
            asked: Arc::default(),
            times: Arc::default(),
            sent: Arc::default(),
        };
        let serving = site.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let site = serving.clone();
                thread::spawn(move || site.serve(&stream));
            }
        });
        site
    }

    fn serve(&self, mut stream: &std::net::TcpStream) {
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if !matches!(reader.read_line(&mut head), Ok(1..)) {
                    return;
                }
            }
            let asked = Instant::now();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let condition = head.lines().find_map(|line| {
                let line = line.to_ascii_lowercase();
                let value = line
                    .strip_prefix("if-none-match: ")
                    .or_else(|| line.strip_prefix("if-modified-since: "))?;
                Some(value.to_owned())
            });
            self.asked.lock().expect("no panic").push(head);
            let mut answers = self.answers.lock().expect("no panic");
            let answer = match answers.get_mut(&path) {
                Some(all) if all.len() > 1 => all.remove(0),
                Some(all) => all[0].clone(),
                None => Answer {
                    status: "404 Not Found",
                    ..found("nothing")
                },
            };
            drop(answers);
            let same =
                condition.is_some_and(|value| answer.headers.to_ascii_lowercase().contains(&value));
            let answer = if same {
                Answer {
                    status: "304 Not Modified",
                    ..found("")
                }
            } else {
                answer
            };
            *self.sent.lock().expect("no panic") += usize::from(!same && path != "/robots.txt");
            let Answer {
                status,
                headers,
                body,
            } = answer;
            if status == NEVER {
                self.waited.lock().expect("no panic").0 += 1;
                let _ = stream.write_all(&body);
                while matches!(reader.read_line(&mut String::new()), Ok(1..)) {}
                self.waited.lock().expect("no panic").1 += 1;
                return;
            }
            self.times
                .lock()
                .expect("no panic")
                .push((asked, Instant::now()));
            let head = format!(
                "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n",
                body.len()
            );
            if stream
                .write_all(&[head.as_bytes(), &body].concat())
                .is_err()
            {
                return;
            }
        }
    }

    fn set(&self, path: &str, answer: Answer) {
        self.set_all(path, vec![answer]);
    }

    fn set_all(&self, path: &str, all: Vec<Answer>) {
        self.answers
            .lock()
            .expect("no panic")
            .insert(path.to_owned(), all);
    }

    /// A list of books, as a sitemap.
    fn list(&self, numbers: impl IntoIterator<Item = u64>) -> Answer {
        let lines: Vec<String> = numbers
            .into_iter()
            .map(|number| format!("{}/book{number}.txt", self.url))
            .collect();
        found(lines.join("\n"))
    }

    fn books(&self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            self.set(&format!("/book{number}.txt"), found(prose(number, 600)));
        }
    }

    /// How many answers that never come are being waited for.
    fn waiting(&self) -> usize {
        let waited = self.waited.lock().expect("no panic");
        waited.0 - waited.1
    }

    /// How often each path was asked for.
    fn count(&self) -> BTreeMap<String, usize> {
        let mut count = BTreeMap::new();
        for head in self.asked.lock().expect("no panic").iter() {
            *count
                .entry(head.split(' ').nth(1).unwrap_or_default().to_owned())
                .or_default() += 1;
        }
        count
    }
}

/// A catalogue with a source of this name and library.
struct Harvest {
    folder: Folder,
}

impl Harvest {
    fn new(kind: &str, address: &str, options: &str) -> Self {
        let folder = Folder::new();
        run(&add(kind, address, options), &[folder.data()]).expect(0);
        Self { folder }
    }

    /// The counts of a run, as (fetched, added, unchanged, refused).
    fn run(&self) -> (u64, u64, u64, u64) {
        counts(&run(
            "sources run --json --data {} it",
            &[self.folder.data()],
        ))
    }

    /// The ids of the books of its library.
    fn ids(&self) -> BTreeSet<String> {
        let books = run(
            "books list --json --data {} --library lib",
            &[self.folder.data()],
        )
        .json();
        books
            .iter()
            .map(|book| book["id"].as_str().expect("an id").to_owned())
            .collect()
    }

    fn summary(&self) -> Value {
        run("sources show --json --data {} it", &[self.folder.data()])
            .expect(0)
            .json()
            .remove(0)
    }
}

fn add(kind: &str, address: &str, options: &str) -> String {
    format!(
        "sources add --data {{}} --name it --library lib --rights protected --kind {kind} {options} {address}"
    )
}

fn counts(run: &common::Run) -> (u64, u64, u64, u64) {
    let last = run.json().pop().unwrap_or_else(|| panic!("{run:?}"));
    let [fetched, added, unchanged, refused] = ["fetched", "added", "unchanged", "refused"]
        .map(|name| last[name].as_u64().expect("a number"));
    (fetched, added, unchanged, refused)
}

fn ids<const N: usize>(ids: [&str; N]) -> BTreeSet<String> {
    ids.map(str::to_owned).into()
}

#[test]
fn a_folder_is_followed() {
    let folder = Folder::new();
    let books = folder.path("books");
    for (number, name) in (1..).zip(["a.txt", "deep/b.txt", "deep/er/c.html"]) {
        folder.file(&format!("books/{name}"), prose(number, 600));
    }
    folder.file("books/cover.jpg", [0xff, 0xd8, 0xff, 0xe0]);
    folder.file("books/.hidden/d.txt", prose(9, 600));
    let harvest = Harvest::new(
        "folder",
        books.to_str().expect("UTF-8"),
        "--disable-missing",
    );
    assert_eq!(harvest.run(), (3, 3, 0, 0));
    assert_eq!(
        harvest.ids(),
        ids(["a.txt", "deep/b.txt", "deep/er/c.html"])
    );
    assert_eq!(harvest.run(), (0, 0, 3, 0));

    let free = add(
        "folder",
        books.to_str().expect("UTF-8"),
        "--disable-missing",
    )
    .replace("protected", "free");
    run(&free, &[harvest.folder.data()]).expect(0);
    assert_eq!(
        harvest.run(),
        (3, 3, 0, 0),
        "other rights hold for books that are there"
    );
    run(
        &add(
            "folder",
            books.to_str().expect("UTF-8"),
            "--disable-missing",
        ),
        &[harvest.folder.data()],
    )
    .expect(0);
    assert_eq!(harvest.run(), (3, 3, 0, 0));

    folder.file("books/a.txt", prose(20, 700));
    fs::remove_file(books.join("deep/b.txt")).expect("it is there");
    assert_eq!(harvest.run(), (1, 1, 1, 0));
    let checked = |text: String| {
        let file = folder.file("upload.txt", text);
        run(
            "check --json --data {} {}",
            &[&harvest.folder.data(), &file],
        )
        .json()
        .remove(0)
    };
    assert_eq!(checked(prose(20, 700))["matches"][0]["book"]["id"], "a.txt");
    assert_eq!(
        checked(prose(2, 600))["verdict"],
        "unknown",
        "a book that is gone is disabled"
    );

    folder.file("books/deep/b.txt", prose(2, 600));
    harvest.run();
    assert_eq!(
        checked(prose(2, 600))["verdict"],
        "protected",
        "it is there again"
    );

    fs::rename(&books, folder.path("elsewhere")).expect("it is there");
    fs::create_dir(&books).expect("a folder");
    assert_eq!(harvest.run(), (0, 0, 0, 0));
    assert_eq!(
        checked(prose(2, 600))["verdict"],
        "protected",
        "an empty list disables nothing"
    );
}

#[test]
fn a_list_names_addresses_and_what_is_known_of_them() {
    let site = Site::new();
    site.books(0..3);
    let folder = Folder::new();
    let line = |number: u64| json!({"address": format!("{}/book{number}.txt", site.url), "id": format!("n{number}"), "title": "A"});
    let list = folder.file("list.ndjson", format!("{}\n{}\n", line(0), line(1)));
    let harvest = Harvest::new("list", list.to_str().expect("UTF-8"), "--allow-private");
    assert_eq!(harvest.run(), (2, 2, 0, 0));
    assert_eq!(harvest.ids(), ids(["n0", "n1"]));
    let of_site = format!(
        "books find --json --data {{}} --identifier {}/book1.txt",
        site.url
    );
    let book = run(&of_site, &[harvest.folder.data()])
        .expect(0)
        .json()
        .remove(0);
    assert_eq!(
        (&book["id"], &book["title"]),
        (&json!("n1"), &json!("A")),
        "a record has its address"
    );

    let csv = format!("title,address,authors\nB,{}/book2.txt,X Y; Z\n", site.url);
    let harvest = Harvest::new(
        "list",
        folder.file("list.csv", csv).to_str().expect("UTF-8"),
        "--allow-private",
    );
    assert_eq!(harvest.run(), (1, 1, 0, 0));
    let books = run(
        "books list --json --data {} --library lib",
        &[harvest.folder.data()],
    )
    .expect(0)
    .json();
    assert_eq!(
        (&books[0]["title"], &books[0]["authors"]),
        (&json!("B"), &json!(["X Y", "Z"]))
    );

    // A list must not reach files of this machine.
    let secret = folder.file("secret.txt", prose(3, 600));
    let list = folder.file("bad.ndjson", json!({"address": secret}).to_string());
    let harvest = Harvest::new("list", list.to_str().expect("UTF-8"), "--allow-private");
    assert_eq!(harvest.run(), (0, 0, 0, 1));
}

#[test]
fn sitemaps_may_be_nested_and_packed() {
    let site = Site::new();
    site.books(0..3);
    let urlset = |numbers: &[u64]| {
        let url = |number: &u64| {
            format!(
                "<url><loc>{}/book{number}.txt</loc><lastmod>2030-01-01</lastmod></url>",
                site.url
            )
        };
        format!(
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{}</urlset>",
            numbers.iter().map(url).collect::<String>()
        )
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed
        .write_all(urlset(&[1, 2]).as_bytes())
        .expect("memory");
    let index = "<sitemapindex><sitemap><loc>/a.xml</loc></sitemap><sitemap><loc>/b.xml.gz</loc></sitemap></sitemapindex>";
    site.set("/sitemap.xml", found(index));
    site.set("/a.xml", found(urlset(&[0, 1])));
    site.set("/b.xml.gz", found(packed.finish().expect("memory")));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/sitemap.xml", site.url),
        "--allow-private --contains book",
    );
    assert_eq!(harvest.run(), (3, 3, 0, 0));
    assert_eq!(harvest.run(), (0, 0, 3, 0));
    assert!(
        (0..3).all(|number| site.count()[&format!("/book{number}.txt")] == 1),
        "what did not change is not fetched"
    );
}

#[test]
fn feeds_of_each_kind() {
    let site = Site::new();
    site.books(0..3);
    let rss = "<rss version='2.0'><channel><title>t</title><link>/</link><description>d</description>\
               <item><title>One</title><link>/about</link><guid>g0</guid><enclosure url='/book0.txt' type='text/plain' length='1'/></item>\
               </channel></rss>";
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>t</title><updated>2030-01-01T00:00:00Z</updated>\
                <entry><id>g1</id><title>Two</title><updated>2030-01-01T00:00:00Z</updated><link href='/book1.txt'/></entry></feed>";
    let json = json!({"version": "https://jsonfeed.org/version/1.1", "title": "t",
                      "items": [{"id": "g2", "url": format!("{}/book2.txt", site.url), "title": "Three"}]});
    for (feed, body, id) in [
        ("/rss", rss.to_owned(), "g0"),
        ("/atom", atom.to_owned(), "g1"),
        ("/json", json.to_string(), "g2"),
    ] {
        site.set(feed, found(body));
        let harvest = Harvest::new("feed", &format!("{}{feed}", site.url), "--allow-private");
        assert_eq!(harvest.run(), (1, 1, 0, 0), "{feed}");
        assert_eq!(harvest.ids(), ids([id]));
    }
}

#[test]
fn opds_catalogues_are_followed_and_the_best_format_is_taken() {
    let site = Site::new();
    site.books(0..4);
    let entry = |number: u64, links: &str| {
        format!(
            "<entry><id>urn:{number}</id><title>T{number}</title><author><name>A</name></author>{links}</entry>"
        )
    };
    let file = |name: &str, kind: &str| {
        format!(
            "<link rel='http://opds-spec.org/acquisition/open-access' href='{name}' type='{kind}'/>"
        )
    };
    let feed = |inner: String| {
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>t</title>{inner}</feed>"
        )
    };
    let navigation = "<link href='/new' type='application/atom+xml;profile=opds-catalog;kind=acquisition' rel='subsection'/>";
    site.set("/opds", found(feed(entry(9, navigation))));
    let both = format!(
        "{}{}",
        file("/wrong.pdf", "application/pdf"),
        file("/book0.txt", "text/plain")
    );
    let next = "<link rel='next' href='/new?page=2' type='application/atom+xml'/>";
    site.set("/new", found(feed(format!("{next}{}", entry(0, &both)))));
    let buy =
        "<link rel='http://opds-spec.org/acquisition/buy' href='/book3.txt' type='text/plain'/>";
    site.set(
        "/new?page=2",
        found(feed(format!(
            "{}{}",
            entry(1, &file("book1.txt", "text/plain")),
            entry(3, buy)
        ))),
    );
    let harvest = Harvest::new("opds", &format!("{}/opds", site.url), "--allow-private");
    assert_eq!(harvest.run(), (2, 2, 0, 0));
    assert_eq!(harvest.ids(), ids(["urn:0", "urn:1"]));

    let publication = |number: u64| {
        json!({"metadata": {"title": {"en": "T"}, "author": [{"name": "A"}, "B"], "identifier": format!("urn:{number}"), "language": ["en"]},
               "links": [{"rel": ["http://opds-spec.org/acquisition"], "href": format!("/book{number}.txt"), "type": "text/plain"}]})
    };
    let start = json!({"metadata": {"title": "t"}, "links": [{"rel": "next", "href": "/v2?p=2"}], "publications": [publication(0)],
                       "groups": [{"metadata": {"title": "g"}, "links": [{"rel": "self", "href": "/group"}], "publications": [publication(1)]}]});
    site.set("/v2", found(start.to_string()));
    site.set(
        "/v2?p=2",
        found(json!({"publications": [publication(2)]}).to_string()),
    );
    site.set(
        "/group",
        found(json!({"publications": [publication(1), publication(3)]}).to_string()),
    );
    let harvest = Harvest::new("opds", &format!("{}/v2", site.url), "--allow-private");
    assert_eq!(harvest.run(), (4, 4, 0, 0));
    let books = run(
        "books list --json --data {} --library lib",
        &[harvest.folder.data()],
    )
    .expect(0)
    .json();
    assert_eq!(
        (&books[0]["title"], &books[0]["authors"]),
        (&json!("T"), &json!(["A", "B"]))
    );
}

#[test]
fn oai_repositories_are_listed_to_the_end_and_again_from_there() {
    let site = Site::new();
    site.books(0..3);
    let record = |number: u64| {
        format!(
            "<record><header><identifier>oai:x:{number}</identifier><datestamp>2030-01-02</datestamp></header><metadata>\
             <dc xmlns='http://purl.org/dc/elements/1.1/'><title>T{number}</title><creator>A</creator><identifier>isbn</identifier>\
             <identifier>{}/book{number}.txt</identifier></dc></metadata></record>",
            site.url
        )
    };
    let deleted = "<record><header status='deleted'><identifier>oai:x:0</identifier><datestamp>2030-02-01</datestamp></header></record>";
    let answer = |inner: String| {
        found(format!(
            "<OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/'><responseDate>2030-01-15T00:00:00Z</responseDate>{inner}</OAI-PMH>"
        ))
    };
    let list = |inner: String| answer(format!("<ListRecords>{inner}</ListRecords>"));
    let first = "/oai?verb=ListRecords&metadataPrefix=oai_dc";
    let second = "/oai?verb=ListRecords&resumptionToken=t%2F2";
    site.set(
        first,
        list(format!(
            "{}<resumptionToken>t/2</resumptionToken>",
            record(0)
        )),
    );
    let expired = answer("<error code='badResumptionToken'>expired</error>".to_owned());
    site.set_all(
        second,
        vec![
            expired,
            list(format!("{}{}<resumptionToken/>", record(1), record(2))),
        ],
    );
    let harvest = Harvest::new(
        "oai",
        &format!("{}/oai", site.url),
        "--allow-private --disable-missing",
    );
    let (fetched, added, _, refused) = harvest.run();
    assert_eq!((fetched, added, refused), (3, 3, 0), "{:?}", site.count());
    assert_eq!(harvest.ids(), ids(["oai:x:0", "oai:x:1", "oai:x:2"]));
    assert_eq!(
        site.count()[first],
        2,
        "an expired token begins the list again"
    );

    site.set(
        &format!("{first}&from=2030-01-15"),
        list(deleted.to_owned()),
    );
    assert_eq!(harvest.run(), (0, 0, 0, 0));
    let books = run(
        "books list --json --data {} --library lib",
        &[harvest.folder.data()],
    )
    .expect(0)
    .json();
    assert!(
        books[0]["standing"]["disabled_at"].is_string(),
        "{}",
        books[0]
    );
    site.set(
        &format!("{first}&from=2030-01-15"),
        answer("<error code='noRecordsMatch'/>".to_owned()),
    );
    assert_eq!(harvest.run(), (0, 0, 0, 0));
    site.set(
        &format!("{first}&from=2030-01-15"),
        answer("<error code='badArgument'>no</error>".to_owned()),
    );
    assert_eq!(harvest.run().3, 1);
    assert!(
        harvest.summary()["errors"]
            .to_string()
            .contains("badArgument")
    );
}

#[test]
fn a_site_is_followed_within_its_host_and_its_traps_are_bounded() {
    let site = Site::new();
    site.books(0..2);
    let page = |links: &str| {
        found(format!(
            "<html><body><p>{}</p>{links}</body></html>",
            prose(50, 300)
        ))
    };
    site.set(
        "/",
        page("<a href='/book0.txt'>0</a><a href='shelf/'>s</a><a href='http://other.invalid/book9.txt'>9</a>"),
    );
    site.set("/shelf/", page("<a href='../book1.txt#top'>1</a><a href='/'>up</a><a rel='nofollow' href='/no'>n</a><a href='/x.png'>x</a>"));
    let harvest = Harvest::new(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains book",
    );
    assert_eq!(harvest.run(), (2, 2, 0, 0));
    assert!(!site.count().contains_key("/no") && !site.count().contains_key("/x.png"));

    // A calendar without an end.
    for day in 0..200 {
        site.set(
            &format!("/day{day}"),
            page(&format!("<a href='/day{}'>next</a>", day + 1)),
        );
    }
    let harvest = Harvest::new(
        "site",
        &format!("{}/day0", site.url),
        "--allow-private --contains book --max-urls 20",
    );
    assert_eq!(harvest.run(), (0, 0, 0, 0));
    assert!(!site.count().contains_key("/day20"));
}

#[test]
fn manners() {
    let site = Site::new();
    site.books(0..5);
    site.set("/robots.txt", found("User-agent: *\nDisallow: /book1\n"));
    site.set("/list.txt", site.list(0..5));
    let with_etag = |number| Answer {
        headers: "ETag: \"one\"\r\n".to_owned(),
        ..found(prose(number, 600))
    };
    site.set("/book0.txt", with_etag(0));
    let busy = Answer {
        status: "503 Service Unavailable",
        headers: "Retry-After: 1\r\n".to_owned(),
        ..found("")
    };
    site.set_all("/book2.txt", vec![busy.clone(), found(prose(2, 600))]);
    let moved = |to: &str| Answer {
        status: "302 Found",
        headers: format!("Location: {to}\r\n"),
        ..found("")
    };
    site.set("/book3.txt", moved("/book3.txt"));
    site.set("/book4.txt", moved("file:///etc/passwd"));
    let options = "--allow-private --contact mail@example.org";
    let harvest = Harvest::new("sitemap", &format!("{}/list.txt", site.url), options);
    assert_eq!(harvest.run(), (2, 2, 0, 3));
    let refused = harvest.summary()["errors"].to_string();
    for why in [
        "robots.txt does not allow it",
        "redirects more than 5 times",
        "is not an address of the web",
    ] {
        assert!(refused.contains(why), "{refused}");
    }
    assert!(!site.count().contains_key("/book1.txt"));
    let heads = site.asked.lock().expect("no panic").clone();
    let named = |head: &String| {
        head.to_ascii_lowercase().contains("user-agent: lapidary/")
            && head.contains("(+mail@example.org)")
    };
    assert!(heads.iter().all(named), "{heads:?}");
    let (fetched, _, unchanged, _) = harvest.run();
    assert_eq!(
        (fetched, unchanged),
        (1, 2),
        "the server says that book 0 is as it was"
    );

    // Credentials go to the source itself, and to no other server.
    let other = Site::new();
    site.set("/other.txt", moved(&format!("{}/book9.txt", other.url)));
    other.set("/book9.txt", found(prose(9, 600)));
    site.set("/list.txt", found(format!("{}/other.txt", site.url)));
    let folder = Folder::new();
    let secret = folder.file("secret", "me:password");
    let options = format!("--allow-private --credentials {}", secret.display());
    let harvest = Harvest::new("sitemap", &format!("{}/list.txt", site.url), &options);
    assert_eq!(harvest.run(), (1, 1, 0, 0));
    let has = |site: &Site| {
        site.asked
            .lock()
            .expect("no panic")
            .iter()
            .any(|head| head.contains("Basic bWU6cGFzc3dvcmQ="))
    };
    assert!(has(&site) && !has(&other));
    assert!(!harvest.summary().to_string().contains("password"));
    site.set("/list.txt", site.list(0..5));

    // Without a contact, or at an address of this machine, nothing is sent.
    let folder = Folder::new();
    let refused = run(
        &add("feed", "https://example.org/feed", ""),
        &[folder.data()],
    )
    .expect(2);
    assert!(refused.err.contains("needs a contact"), "{}", refused.err);
    let before = site.asked.lock().expect("no panic").len();
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--contact mail@example.org",
    );
    assert_eq!(harvest.run(), (0, 0, 0, 1));
    assert!(
        harvest.summary()["errors"]
            .to_string()
            .contains("is not a public internet address")
    );
    assert_eq!(site.asked.lock().expect("no panic").len(), before);
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    const BOOKS: u64 = 150;
    let site = Site::new();
    site.books(0..BOOKS);
    site.set("/list.txt", site.list(0..BOOKS));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private",
    );
    let data = harvest.folder.data();
    let mut random = common::Random(7);
    let mut killed = 0;
    while site.count().len() < BOOKS as usize / 2 && killed < 50 {
        let mut child = command("sources run --data {} it", &[&data])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let before = site.asked.lock().expect("no panic").len();
        // Killed after some more requests, wherever it is then.
        let more = 1 + random.below(40) as usize;
        while site.asked.lock().expect("no panic").len() < before + more
            && child.try_wait().expect("a child").is_none()
        {
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        killed += 1;
    }
    assert!(killed > 0);
    run("sources run --json --data {} it", &[&data]).expect(0);
    assert_eq!(harvest.ids().len(), BOOKS as usize, "nothing is forgotten");
    let twice: usize = site
        .count()
        .iter()
        .filter(|(path, _)| path.starts_with("/book"))
        .map(|(_, times)| times - 1)
        .sum();
    // 64 are in flight.
    assert!(
        twice <= killed * 64,
        "{twice} were fetched again after {killed} kills"
    );
    assert_eq!(run("verify --data {}", &[&data]).status, 0);
    assert_eq!(
        harvest.run(),
        (BOOKS, 0, BOOKS, 0),
        "it is exhausted, so the next run begins again"
    );
}

#[test]
fn sources_are_listed_tested_paused_and_removed() {
    let site = Site::new();
    site.books(0..2);
    site.set("/list.txt", site.list(0..2));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private",
    );
    let data = harvest.folder.data();
    let tested = run("sources test --json --data {} it", &[&data])
        .expect(0)
        .json();
    assert_eq!(tested.len(), 2);
    assert!(harvest.ids().is_empty(), "a test adds nothing");
    run("sources pause --data {} it", &[&data]).expect(0);
    assert!(
        run("sources run --data {} it", &[&data])
            .expect(2)
            .err
            .contains("is paused")
    );
    run("sources resume --data {} it", &[&data]).expect(0);
    assert_eq!(harvest.run(), (2, 2, 0, 0));
    assert!(
        run("sources list --data {}", &[&data])
            .expect(0)
            .out
            .starts_with("it\tlib\t")
    );
    let entries = run("audit --json --data {}", &[&data]).expect(0).out;
    assert!(entries.contains("\"kind\":\"source\""), "{entries}");
    run("sources remove --data {} it", &[&data]).expect(0);
    assert!(
        run("sources show --data {} it", &[&data])
            .expect(2)
            .err
            .contains("there is no source")
    );
    assert_eq!(harvest.ids().len(), 2, "the books stay");
}

/// What can be known at once is refused at once, and nothing is added.
#[test]
fn a_source_that_cannot_be_there_is_not_added() {
    let (folder, there) = (Folder::new(), Folder::new());
    let file = there.file("book.txt", prose(1, 300));
    let bad_list = there.file("list.csv", "title,author\nA,B\n");
    let bad_lines = there.file("list.ndjson", "{\"title\": \"no address\"}\n");
    let paths = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let none = there.path("none");
    let table = [
        ("folder", paths(&none), "", "No such file"),
        ("folder", paths(&file), "", "it is a file, not a folder"),
        ("list", paths(&none), "", "No such file"),
        (
            "list",
            paths(&there.path(".")),
            "",
            "it is not a file with addresses",
        ),
        (
            "list",
            paths(&bad_list),
            "--allow-private",
            "one of them `address`",
        ),
        ("list", paths(&bad_lines), "--allow-private", "address"),
        (
            "list",
            "ftp://x.y/list".to_owned(),
            "--allow-private",
            "neither a path nor an address of the web",
        ),
        (
            "opds",
            "http://x.y/".to_owned(),
            "--allow-private --matches [",
            "is not a regular expression",
        ),
        (
            "opds",
            "http://x.y/".to_owned(),
            "--allow-private --rate 4/h",
            "at least one request in a minute",
        ),
        (
            "opds",
            "http://x.y/".to_owned(),
            "--allow-private --credentials /no/such/file",
            "/no/such/file: No such file",
        ),
    ];
    let server = common::Server::start(&there.data());
    for (kind, address, options, why) in table {
        let options = if kind == "list" && options.is_empty() {
            "--allow-private"
        } else {
            options
        };
        let refused = run(&add(kind, &address, options), &[folder.data()]).expect(2);
        assert!(
            refused.err.contains(why) && !refused.out.contains("added"),
            "{kind} {address}: {refused:?}"
        );
        // A server says the same of its own disk.
        if !options.contains("--credentials") && !address.starts_with("ftp:") {
            let line = add(kind, &address, options)
                .replace("--data {}", &format!("--server {}", server.url));
            let refused = run(&line, &[] as &[&str]).expect(2);
            assert!(
                refused.err.contains(why) && !refused.out.contains("added"),
                "{kind} {address}: {refused:?}"
            );
        }
    }
    assert!(
        run("sources list --data {}", &[folder.data()])
            .out
            .is_empty(),
        "nothing was added"
    );
    assert!(
        run(
            &format!("sources list --server {}", server.url),
            &[] as &[&str]
        )
        .expect(0)
        .out
        .is_empty()
    );
}

/// The guide gives up waiting, with an error, when what it waits for never comes.
#[test]
fn guides_do_not_wait_for_ever() {
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides");
    for guide in fs::read_dir(guides).expect("guides") {
        let path = guide.expect("a guide").path();
        let guide = fs::read_to_string(&path).expect("text");
        let blocks = guide.split("```sh\n").skip(1);
        let commands = blocks.filter_map(|rest| rest.split("```").next());
        for line in commands.flat_map(str::lines) {
            let is_loop = ["until ", "while "]
                .iter()
                .any(|word| line.trim_start().starts_with(word));
            assert!(
                !is_loop,
                "a loop without an end in {}: {line}",
                path.display()
            );
        }
    }
}

/// What somebody else disabled stays disabled, with its note, whatever the source does.
#[test]
fn a_source_enables_only_what_it_disabled() {
    let site = Site::new();
    site.books(0..3);
    site.set("/list.txt", site.list(0..3));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private --disable-missing",
    );
    let data = harvest.folder.data();
    assert_eq!(harvest.run(), (3, 3, 0, 0));
    let id = |number: u64| format!("{}/book{number}.txt", site.url);
    run(
        &format!(
            "books disable --data {{}} --library lib --note court {}",
            id(0)
        ),
        &[&data],
    )
    .expect(0);
    site.set("/list.txt", site.list(2..3));
    harvest.run();
    let notes = || {
        let books = run("books list --json --data {} --library lib", &[&data])
            .expect(0)
            .json();
        let note = |book: &Value| {
            (
                book["standing"]["disabled_at"].is_string(),
                book["standing"]["note"]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            )
        };
        books.iter().map(note).collect::<Vec<_>>()
    };
    let gone = notes();
    assert_eq!(gone[0], (true, "court".to_owned()), "the note stays");
    assert!(
        gone[1].0 && gone[1].1.starts_with("gone from the source it"),
        "{gone:?}"
    );
    site.set("/list.txt", site.list(0..3));
    harvest.run();
    assert_eq!(
        notes(),
        [
            (true, "court".to_owned()),
            (false, String::new()),
            (false, String::new())
        ]
    );
}
