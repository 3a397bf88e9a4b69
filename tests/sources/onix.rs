//! Feeds of ONIX as sources: they change the books that there are.

use super::served::{counted, ended, get, listed, put, send};
use super::*;
use crate::common::{Server, until};

fn product(isbn: &str, kind: &str, detail: &str) -> String {
    format!(
        "<Product><RecordReference>r{isbn}</RecordReference><NotificationType>{kind}</NotificationType>\
         <ProductIdentifier><ProductIDType>15</ProductIDType><IDValue>{isbn}</IDValue></ProductIdentifier>\
         {detail}</Product>"
    )
}

fn title(title: &str) -> String {
    format!(
        "<DescriptiveDetail><TitleDetail><TitleType>01</TitleType><TitleElement><TitleElementLevel>01</TitleElementLevel>\
         <TitleText>{title}</TitleText></TitleElement></TitleDetail></DescriptiveDetail>"
    )
}

fn message(products: &[String]) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<ONIXMessage release=\"3.0\">\n{}</ONIXMessage>",
        products.join("\n")
    )
}

const FIRST: &str = "9780306406157";
const SECOND: &str = "9785171183622";
const ABSENT: &str = "9783161484100";

/// A catalogue with two books and a source of feeds.
fn followed(address: &str, options: &str) -> Harvest {
    let harvest = Harvest::new("onix", address, options);
    for (seed, id) in [(1, FIRST), (2, SECOND)] {
        harvest
            .folder
            .file(&format!("books/{id}.txt"), prose(seed, 2_000));
    }
    let ingest = "ingest --data {} --library lib --rights free {}";
    run(
        ingest,
        &[harvest.folder.data(), harvest.folder.path("books")],
    )
    .expect(0);
    harvest
}

/// The title, the rights and whether it is disabled, of both books.
fn books(harvest: &Harvest) -> Vec<(Value, Value, bool)> {
    let books = run("books list --json --data {}", &[harvest.folder.data()]).json();
    let said = books.iter().map(|book| {
        let is_disabled = book["standing"]["disabled_at"].is_string();
        (book["title"].clone(), book["rights"].clone(), is_disabled)
    });
    said.collect()
}

#[test]
fn a_feed_changes_the_books_that_there_are() {
    let site = Site::new();
    let first = [
        product(FIRST, "03", &title("Emma")),
        product(SECOND, "04", &title("Persuasion")),
        product(ABSENT, "03", &title("Sanditon")),
    ];
    let tagged = |products: &[String], tag: &str| Answer {
        headers: format!("ETag: \"{tag}\"\r\n"),
        ..found(message(products))
    };
    site.set("/feed.xml", tagged(&first, "1"));
    let harvest = followed(&format!("{}/feed.xml", site.url), "--allow-private");
    assert_eq!(harvest.run(), (1, 2, 0, 0));
    let (emma, persuasion) = (json!("Emma"), json!("Persuasion"));
    let (free, protected) = (json!("free"), json!("protected"));
    assert_eq!(
        books(&harvest),
        [
            (emma.clone(), protected.clone(), false),
            (persuasion.clone(), free.clone(), false)
        ],
        "a whole record without rights gets those of the source, one that is partial does not"
    );
    assert_eq!(harvest.run(), (0, 0, 1, 0), "the feed is as it was");

    let gone = [
        product(FIRST, "05", ""),
        product(SECOND, "04", &title("Persuasion")),
    ];
    site.set("/feed.xml", tagged(&gone, "2"));
    assert_eq!(harvest.run(), (1, 1, 1, 0));
    assert_eq!(
        books(&harvest),
        [
            (emma.clone(), protected.clone(), true),
            (persuasion, free, false)
        ]
    );
    site.set("/feed.xml", tagged(&first[..1], "3"));
    assert_eq!(harvest.run(), (1, 1, 0, 0));
    assert_eq!(books(&harvest)[0], (emma, protected, false));

    site.set("/feed.xml", found("<html>Please sign in</html>"));
    assert_eq!(harvest.run(), (1, 0, 0, 1));
    let errors = run("sources errors --data {} it", &[harvest.folder.data()]);
    assert!(errors.out.contains("not an ONIX feed"), "{errors:?}");
}

/// A record without rights gets those of the source, with their days. A ban holds whatever the record says.
#[test]
fn a_source_says_what_records_do_not() {
    let licence = "<DescriptiveDetail><EpubLicense><EpubLicenseExpression><EpubLicenseExpressionLink>\
                   https://creativecommons.org/licenses/by/4.0/</EpubLicenseExpressionLink></EpubLicenseExpression>\
                   <EpubLicenseDate><EpubLicenseDateRole>24</EpubLicenseDateRole><Date>2030010120301231</Date></EpubLicenseDate>\
                   </EpubLicense></DescriptiveDetail>";
    let feeds = Folder::new();
    let feed = feeds.file(
        "feed.xml",
        message(&[
            product(FIRST, "03", licence),
            product(SECOND, "03", &title("Two")),
        ]),
    );
    let feed = feed.to_str().expect("UTF-8");
    let harvest = followed(feed, "--until 2027-12-31");
    assert_eq!(harvest.run(), (1, 2, 0, 0));
    let days = |book: &Value| book["standing"]["validity"].clone();
    let known = || run("books list --json --data {}", &[harvest.folder.data()]).json();
    assert_eq!(
        [days(&known()[0]), days(&known()[1])],
        [
            json!({ "from": "2030-01-01", "until": "2030-12-31", "otherwise": "protected" }),
            json!({ "until": "2027-12-31", "otherwise": "unknown" })
        ]
    );
    let ban = add("onix", feed, "").replace("protected", "forbidden");
    run(&ban, &[harvest.folder.data()]).expect(0);
    assert_eq!(harvest.run(), (1, 2, 0, 0));
    for book in known() {
        assert_eq!(
            (&book["rights"], days(&book)),
            (&json!("forbidden"), Value::Null)
        );
    }
}

#[test]
fn a_folder_of_feeds_is_followed() {
    let feeds = Folder::new();
    feeds.file(
        "feeds/1.xml",
        message(&[product(FIRST, "03", &title("One"))]),
    );
    let harvest = followed(feeds.path("feeds").to_str().expect("UTF-8"), "");
    assert_eq!(harvest.run(), (1, 1, 0, 0));
    let long = title(&"x".repeat(20_000));
    let two = [
        product(SECOND, "03", &title("Two")),
        product(FIRST, "03", &long),
    ];
    feeds.file("feeds/2.xml", message(&two));
    assert_eq!(harvest.run(), (1, 1, 1, 1));
    let titles = || -> Vec<Value> {
        let books = books(&harvest).into_iter();
        books.map(|(title, ..)| title).collect()
    };
    assert_eq!(titles(), ["One", "Two"]);
    let errors = || run("sources errors --data {} it", &[harvest.folder.data()]).out;
    assert!(errors().contains(&format!("record r{FIRST}")));

    // What is whole of a broken feed is followed, and the rest once it is there.
    let three = message(&[product(SECOND, "03", &title("Three"))]);
    feeds.file("feeds/3.xml", three.replace("</ONIXMessage>", "<Product>"));
    assert_eq!(harvest.run(), (1, 1, 2, 1));
    assert_eq!(titles(), ["One", "Three"]);
    assert!(errors().contains("truncated"));
    assert_eq!(harvest.run(), (0, 0, 2, 1), "it is as broken as it was");
    feeds.file("feeds/3.xml", three);
    assert_eq!(harvest.run(), (1, 0, 3, 0));
    let tested = run("sources test --data {} it", &[harvest.folder.data()]).expect(0);
    assert!(tested.out.contains("1.xml"), "{tested:?}");
    let none = add("onix", "/no/such/folder", "");
    run(&none, &[harvest.folder.data()]).expect(2);
}

/// A feed is followed to its end, though the servers that follow it are killed in its middle.
#[test]
fn a_feed_is_followed_to_its_end_whenever_servers_are_killed() {
    const BOOKS: u64 = 6_000;
    const KILLS: u64 = 4;
    let (site, folder) = (Site::new(), Folder::new());
    let isbn = |number: u64| {
        let body = format!("978{number:09}");
        let digits = body.bytes().map(|digit| u32::from(digit - b'0'));
        let sum: u32 = digits
            .zip([1, 3].iter().cycle())
            .map(|(digit, weight)| digit * weight)
            .sum();
        format!("{body}{}", (10 - sum % 10) % 10)
    };
    let lines = (0..BOOKS).map(|number| {
        let gems = json!([1_000 + 3 * number, 1_001 + 3 * number, 1_002 + 3 * number]);
        let id = isbn(number);
        json!({ "id": id, "rights": "free", "recipe": "released", "gems": gems }).to_string()
    });
    let feed = folder.file("books.ndjson", lines.collect::<Vec<_>>().join("\n"));
    let ingest = "ingest --data {} --library lib --feed {}";
    run(ingest, &[folder.data(), feed]).expect(0);
    let product = |number: u64| match number % 3 {
        0 => product(&isbn(number), "05", ""),
        _ => product(&isbn(number), "03", &title(&format!("Book {number}"))),
    };
    site.set(
        "/feed.xml",
        found(message(&(0..BOOKS).map(product).collect::<Vec<_>>())),
    );
    let mut source = listed(&site);
    (source["kind"], source["url"]) = (json!("onix"), json!(format!("{}/feed.xml", site.url)));
    let mut server = Server::start(&folder.data());
    put(&server, &source);
    send(&server, "POST", "/v1/sources/it/run", &Value::Null);
    let mut in_the_middle = 0;
    for kill in 1..=KILLS {
        // Not one of those that are deleted. Most of the feed is left, so that a fast machine does not end before the last.
        let reached = BOOKS / 60 * kill / 3 * 3 + 1;
        let book = format!("/v1/libraries/lib/books/{}", isbn(reached));
        until("it comes this far", || {
            get(&server, &book)["title"].is_string()
        });
        let run = &get(&server, "/v1/sources/it")["run"];
        in_the_middle += u64::from(run["finished_at"].is_null());
        // Killed by being dropped.
        drop(server);
        server = Server::start(&folder.data());
    }
    assert!(
        in_the_middle > KILLS / 2,
        "{in_the_middle} runs were killed"
    );
    let ended = ended(&server, 1);
    assert_eq!(counted(&ended)[3], 0, "{ended}");
    assert_eq!(server.stop(), Some(0));
    let books = run("books list --json --data {}", &[folder.data()]).json();
    let said = books.iter().map(|book| {
        let is_disabled = book["standing"]["disabled_at"].is_string();
        let title = book["title"].as_str().unwrap_or_default();
        (book["id"].as_str().expect("an id"), (title, is_disabled))
    });
    let said: BTreeMap<&str, (&str, bool)> = said.collect();
    for number in 0..BOOKS {
        let title = format!("Book {number}");
        let expected = if number % 3 == 0 {
            ("", true)
        } else {
            (title.as_str(), false)
        };
        assert_eq!(said[isbn(number).as_str()], expected, "{number}");
    }
}
