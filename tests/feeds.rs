//! End-to-end tests of feeds: JSON Lines, and ONIX matched to files.

use crate::common::{Folder, Server, prose, run};
use lapidary_gems::Recipe;
use serde_json::{Value, json};

fn product(reference: &str, isbn: &str, title: &str, sales: &str) -> String {
    format!(
        "<product><a001>{reference}</a001><productidentifier><b221>15</b221><b244>{isbn}</b244></productidentifier>\
         <descriptivedetail><titledetail><b202>01</b202><titleelement><x409>01</x409><b203>{title}</b203></titleelement>\
         </titledetail></descriptivedetail><publishingdetail><salesrights><b089>{sales}</b089><territory>\
         <x449>DE</x449></territory></salesrights></publishingdetail></product>\n"
    )
}

#[test]
fn onix_records_find_their_files() {
    let folder = Folder::new();
    folder.file("books/978-0-306-40615-7.txt", prose(1, 4_000));
    folder.file("books/deep/080442957X (final).txt", prose(2, 4_000));
    folder.file("books/stranger.txt", prose(3, 4_000));
    let products = [
        product("r1", "9780306406157", "First &amp; best", "01"),
        product("r2", "978-0-8044-2957-3", "Second", "06"),
        product("r3", "9783161484100", "Third", "01"),
    ];
    let feed = folder.file(
        "feed.xml",
        format!(
            "<ONIXmessage release=\"3.0\">\n{}</ONIXmessage>",
            products.concat()
        ),
    );
    let ingest = |line: &str| run(line, &[folder.data(), feed.clone(), folder.path("books")]);
    let done = ingest("ingest --json --data {} --library l --onix {} --territory DE {}").expect(2);
    assert!(
        done.err
            .contains("2 added, 0 replaced, 0 unchanged, 2 refused"),
        "{}",
        done.err
    );
    assert!(
        done.err
            .contains("refused record r3: no file's name has its ISBN 9783161484100"),
        "{}",
        done.err
    );
    assert!(
        done.err
            .contains("stranger.txt: no record of the feed has its ISBN"),
        "{}",
        done.err
    );
    let books = run("books list --json --data {}", &[folder.data()])
        .expect(0)
        .json();
    let said: Vec<_> = books
        .iter()
        .map(|book| (&book["id"], &book["title"], &book["rights"]))
        .collect();
    let (first, second) = (json!("9780306406157"), json!("9780804429573"));
    let expected = [
        (&first, &json!("First & best"), &json!("protected")),
        (&second, &json!("Second"), &json!("unknown")),
    ];
    assert_eq!(said, expected);
    let again = ingest("ingest --data {} --library l --onix {} --territory DE {}").expect(2);
    assert!(again.out.contains("2 unchanged"), "{}", again.out);
    let elsewhere = ingest("ingest --data {} --library l --onix {} --territory FR {}").expect(2);
    assert!(
        elsewhere.err.contains("no rights: give --rights"),
        "{}",
        elsewhere.err
    );

    folder.file(
        "feed.xml",
        format!("<ONIXmessage release=\"3.0\">\n{}<product>", products[0]),
    );
    let broken = run(
        "ingest --data {} --library l --onix {} {}",
        &[folder.path("new"), feed, folder.path("books")],
    );
    let broken = broken.expect(2);
    assert!(
        broken
            .err
            .contains("feed.xml, line 3: the feed is truncated"),
        "{}",
        broken.err
    );
    assert!(
        !folder.path("new").exists(),
        "nothing is made of a feed that cannot be read"
    );
}

/// Releases before 3.0 say rights and titles with other elements; a feed of one adds nothing.
#[test]
fn feeds_of_other_releases_of_onix_are_refused() {
    let folder = Folder::new();
    folder.file("books/9780306406157.txt", prose(1, 4_000));
    let product = "<Product><RecordReference>1</RecordReference><ProductIdentifier><ProductIDType>15</ProductIDType>\
                   <IDValue>9780306406157</IDValue></ProductIdentifier><Title><TitleType>01</TitleType><TitleText>Old</TitleText>\
                   </Title><SalesRights><SalesRightsType>01</SalesRightsType></SalesRights></Product>";
    let ingest = |attributes: &str| {
        let feed = folder.file(
            "feed.xml",
            format!("<ONIXMessage {attributes}>\n{product}</ONIXMessage>"),
        );
        let line = "ingest --data {} --library l --rights unknown --onix {} {}";
        run(line, &[folder.data(), feed, folder.path("books")])
    };
    for (attributes, found) in [
        ("release=\"2.1\"", "\"2.1\""),
        ("release=\"9.9\"", "\"9.9\""),
        ("", "says no release"),
    ] {
        let refused = ingest(attributes).expect(2);
        let said = refused.err.contains("only ONIX 3.0 and 3.1 can be read")
            && refused.err.contains(found);
        assert!(
            said && refused.out.is_empty(),
            "{attributes}: {}",
            refused.err
        );
        assert!(!folder.data().exists(), "{attributes}: nothing is added");
    }
    ingest("release=\"3.1\"").expect(0);
}

/// An invalid territory code, in the command or in the feed, leaves no book unprotected.
#[test]
fn a_territory_that_is_none_is_an_error() {
    let folder = Folder::new();
    folder.file("books/9780306406157.txt", prose(1, 4_000));
    let feed = |codes: &str| {
        let product = product("r1", "9780306406157", "First", "01")
            .replace("<x449>DE", &format!("<x449>{codes}"));
        folder.file(
            "feed.xml",
            format!("<ONIXmessage release=\"3.0\">\n{product}</ONIXmessage>"),
        )
    };
    let ingest = |territory: &str, feed: std::path::PathBuf| {
        let line = format!(
            "ingest --data {{}} --library l --rights unknown --onix {{}} --territory {territory} {{}}"
        );
        run(&line, &[folder.data(), feed, folder.path("books")])
    };
    for (word, meant) in [
        ("ZZ", ""),
        ("UK", "GB is meant?"),
        ("de", "DE is meant?"),
        ("Germany", ""),
        ("ROW", ""),
    ] {
        let refused = ingest(word, feed("DE")).expect(2);
        assert!(
            refused.err.contains("is not a territory") && refused.err.contains(meant),
            "{word}: {}",
            refused.err
        );
    }
    assert!(!folder.data().exists());
    let rights = || {
        run("books list --json --data {}", &[folder.data()])
            .expect(0)
            .json()[0]["rights"]
            .clone()
    };
    for (codes, territory, expected) in [
        ("DE", "DE", "protected"),
        ("DE", "FR", "unknown"),
        ("GB", "GB-SCT", "protected"),
        ("UK", "GB", "protected"),
    ] {
        let done = ingest(territory, feed(codes)).expect(0);
        assert_eq!(rights(), expected, "{codes} in {territory}");
        let warned = done
            .err
            .contains("record r1: \"UK\" is not an ONIX territory");
        assert_eq!(warned, codes == "UK", "{}", done.err);
    }
}

/// Invalid ISBNs are reported, not skipped silently.
#[test]
fn isbns_with_wrong_check_digits_are_named() {
    let folder = Folder::new();
    folder.file("books/9780306406157.txt", prose(1, 4_000));
    folder.file("books/978-0-8044-2957-4.txt", prose(2, 4_000));
    let products = [
        product("r1", "9780306406157", "First", "01"),
        product("r2", "9780804429574", "Second", "01"),
    ];
    let feed = folder.file(
        "feed.xml",
        format!(
            "<ONIXmessage release=\"3.0\">\n{}</ONIXmessage>",
            products.concat()
        ),
    );
    let paths = [folder.data(), feed, folder.path("books")];
    let done = run("ingest --data {} --library l --onix {} {}", &paths).expect(2);
    assert!(
        done.err
            .contains("refused record r2: 9780804429574 is not an ISBN: its check digit is wrong"),
        "{}",
        done.err
    );
    assert!(
        done.err
            .contains("978-0-8044-2957-4 in its name is not an ISBN: its check digit is wrong"),
        "{}",
        done.err
    );
    assert!(done.out.contains("1 added"), "{}", done.out);
}

#[test]
fn a_feed_of_lines_goes_into_a_folder_or_a_server() {
    let folder = Folder::new();
    folder.file("feeds/books/file.txt", prose(1, 4_000));
    let gems: Vec<u64> = Recipe::released()
        .gems(&prose(2, 4_000))
        .iter()
        .map(|g| g.gem.0)
        .collect();
    let mut lines: Vec<Value> = (0..600)
        .map(|i| json!({ "id": format!("n{i}"), "gems": [i, i + 1_000] }))
        .collect();
    lines.push(json!({ "id": "text", "rights": "free", "title": "T", "text": prose(3, 4_000) }));
    lines.push(json!({ "id": "file", "file": "books/file.txt", "library": "other" }));
    lines.push(json!({ "id": "gems", "gems": gems, "recipe": "released" }));
    lines.push(json!({ "id": "text", "rights": "free", "title": "T", "text": prose(3, 4_000) }));
    lines.push(json!({ "id": "gone", "file": "books/gone.txt" }));
    lines.push(json!({ "id": "both", "text": "a", "gems": [1] }));
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let feed = folder.file(
        "feeds/feed.ndjson",
        format!("\u{feff}{}\n\nnonsense\n", lines.join("\n")),
    );
    let line = "ingest --data {} --library l --rights protected --feed {}";
    let done = run(line, &[folder.data(), feed.clone()]).expect(2);
    assert!(
        done.out
            .contains("603 added, 0 replaced, 1 unchanged, 3 refused"),
        "{}",
        done.out
    );
    let name = feed.display();
    for (line, why) in [
        (605, "books/gone.txt: No such file"),
        (606, "give exactly one"),
        (608, ""),
    ] {
        assert!(
            done.err
                .contains(&format!("refused {name}, line {line}: {why}")),
            "{line}: {}",
            done.err
        );
    }
    let again = run(line, &[folder.data(), feed.clone()]).expect(2);
    assert!(
        again
            .out
            .contains("0 added, 0 replaced, 604 unchanged, 3 refused"),
        "{}",
        again.out
    );
    let check = |seed: u64, status: i32| {
        let text = folder.file("query.txt", prose(seed, 4_000));
        run("check --json --data {} {}", &[folder.data(), text])
            .expect(status)
            .json()
            .remove(0)
    };
    assert_eq!(check(1, 1)["matches"][0]["book"]["library"], "other");
    assert_eq!(check(2, 1)["matches"][0]["book"]["id"], "gems");
    assert_eq!(check(3, 0)["matches"][0]["book"]["title"], "T");
    run("verify --data {}", &[folder.data()]).expect(0);

    let server = Server::start(&folder.data());
    let line = format!(
        "ingest --server {} --library l --rights protected --feed {{}}",
        server.url
    );
    let on_server = run(&line, &[feed]).expect(2);
    assert!(on_server.out.contains("604 unchanged"), "{}", on_server.out);
}

#[test]
fn a_report_is_a_page_that_can_be_filed() {
    let folder = Folder::new();
    let book = folder.file("book.txt", prose(1, 6_000));
    run(
        "ingest --data {} --library l --rights protected {}",
        &[&folder.data(), &book],
    )
    .expect(0);
    let page = folder.path("report.html");
    run(
        "check --data {} --html {} {}",
        &[&folder.data(), &page, &book],
    )
    .expect(1);
    let written = std::fs::read_to_string(&page).expect("a page");
    assert!(
        written.contains("Protected") && written.contains("l/book") && written.contains("<svg"),
        "{written}"
    );
    let two = run(
        "check --data {} --html {} {} {}",
        &[&folder.data(), &page, &book, &page],
    )
    .expect(2);
    assert!(
        two.err.contains("is a page for one file, not 2"),
        "{}",
        two.err
    );
    // A folder has a page for each file, and an index.
    let other = folder.file("<other> & more.txt", prose(90, 3_000));
    let pages = folder.path("pages");
    let paths = [
        &folder.data(),
        &pages,
        &book,
        &other,
        &folder.path("gone.txt"),
    ];
    let said = run("check --data {} --html {} {} {} {}", &paths)
        .expect(1)
        .out;
    let summary = "3 files: 1 protected, 1 could not be read, 1 without a match";
    assert!(said.ends_with(&format!("{summary}\n")), "{said}");
    let index = std::fs::read_to_string(pages.join("index.html")).expect("an index");
    assert!(
        index.contains(summary) && index.contains("Could not be read: No such file"),
        "{index}"
    );
    assert!(
        index.contains("&lt;other&gt; &amp; more.txt") && !index.contains("<other>"),
        "{index}"
    );
    let links: Vec<&str> = index
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(links.len(), 2, "{links:?}");
    for (link, verdict) in links.iter().zip(["Protected<", "No match<"]) {
        let page = std::fs::read_to_string(pages.join(link)).expect("a page");
        assert!(page.contains(verdict), "{link}: {page}");
    }
    // In Russian, the index, the pages and the summary are.
    let said = run("check --lang ru --data {} --html {} {} {} {}", &paths)
        .expect(1)
        .out;
    let summary = "3 файла: охраняется — 1, не удалось прочитать — 1, без совпадений — 1";
    assert!(
        said.contains("ОХРАНЯЕТСЯ: 100\u{a0}% этого текста")
            && said.ends_with(&format!("{summary}\n")),
        "{said}"
    );
    let index = std::fs::read_to_string(pages.join("index.html")).expect("an index");
    assert!(
        index.contains("<html lang=\"ru\">") && index.contains(summary),
        "{index}"
    );
    let page = std::fs::read_to_string(pages.join(links[0])).expect("a page");
    assert!(
        page.contains("<html lang=\"ru\">") && page.contains("Охраняется<"),
        "{page}"
    );
    let gone = run(
        "check --data {} --html {} {}",
        &[
            &folder.data(),
            &folder.path("report.html"),
            &folder.path("gone.txt"),
        ],
    )
    .expect(2);
    assert!(gone.err.contains("gone.txt: No such file"), "{}", gone.err);
}
