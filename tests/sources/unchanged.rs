//! Pages and books that did not change are not sent again, and nothing is lost by that.

use super::*;

fn tagged(answer: Answer, tag: &str) -> Answer {
    Answer {
        headers: format!("ETag: {tag}\r\n"),
        ..answer
    }
}

fn page(number: u64, links: &[&str]) -> Answer {
    let links: Vec<String> = links
        .iter()
        .map(|to| format!("<a href='{to}'>{to}</a>"))
        .collect();
    found(format!(
        "<html><body><p>{}</p>{}</body></html>",
        prose(number, 300),
        links.concat()
    ))
}

/// The last run: fetched, added, unchanged, refused, pages unchanged.
fn last(harvest: &Harvest) -> [u64; 5] {
    let run = run("sources run --json --data {} it", &[harvest.folder.data()])
        .json()
        .remove(0);
    [
        "fetched",
        "added",
        "unchanged",
        "refused",
        "pages_unchanged",
    ]
    .map(|name| run[name].as_u64().unwrap_or_default())
}

/// How many answers had a body since the last time.
fn sent(site: &Site) -> usize {
    std::mem::take(&mut *site.sent.lock().expect("no panic"))
}

#[test]
fn a_site_that_did_not_change_is_not_sent_again() {
    let site = Site::new();
    site.set(
        "/",
        tagged(page(50, &["/shelf/a", "/shelf/b"]), "\"start\""),
    );
    site.set(
        "/shelf/a",
        tagged(page(51, &["/book/x", "/book/y"]), "W/\"a\""),
    );
    site.set(
        "/shelf/b",
        tagged(page(52, &["/book/z", "/copy/of/book/z"]), "\"b\""),
    );
    for (number, name) in (0..).zip(["x", "y", "z"]) {
        site.set(
            &format!("/book/{name}"),
            tagged(page(number, &["/", "/more"]), &format!("\"{name}\"")),
        );
    }
    // What has no validator is sent again.
    site.set("/more", page(60, &[]));
    let harvest = Harvest::new(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains book/",
    );
    site.set(
        "/copy/of/book/z",
        Answer {
            status: "404 Not Found",
            ..found("")
        },
    );
    assert_eq!(last(&harvest), [3, 3, 0, 1, 0]);
    sent(&site);
    assert_eq!(last(&harvest), [0, 0, 3, 1, 3], "{}", harvest.summary());
    assert_eq!(sent(&site), 2, "/more, and what is not there");
    let shown = run("sources show --data {} it", &[harvest.folder.data()])
        .expect(0)
        .out;
    assert!(
        shown.contains("3 unchanged, 1 refused, 3 pages unchanged"),
        "{shown}"
    );

    // What is new behind a page that changed is found, and so is what changed behind pages that did not.
    site.set(
        "/shelf/a",
        tagged(page(51, &["/book/x", "/book/y", "/book/new"]), "W/\"a2\""),
    );
    site.set("/book/new", tagged(page(9, &[]), "\"new\""));
    site.set("/book/z", tagged(page(20, &[]), "\"z2\""));
    assert_eq!(last(&harvest), [2, 2, 2, 1, 2]);
    assert_eq!(harvest.ids().len(), 4);

    // Another choice of books is another list: what was kept does not hold.
    let other = add(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains book/ --contains shelf/",
    );
    run(&other, &[harvest.folder.data()]).expect(0);
    let [_, added, unchanged, ..] = last(&harvest);
    assert_eq!((added, unchanged), (2, 4), "{}", harvest.summary());
    assert_eq!(harvest.ids().len(), 6);

    // A server that says so without being asked is wrong.
    site.set(
        "/more",
        Answer {
            status: "304 Not Modified",
            ..found("")
        },
    );
    assert_eq!(last(&harvest)[3], 2);
    assert!(
        harvest.summary()["errors"]
            .to_string()
            .contains("304 to a request without conditions")
    );
}

#[test]
fn lists_that_did_not_change_lose_no_book() {
    let site = Site::new();
    site.books(0..6);
    let link = |number: u64| {
        format!(
            "<link rel='http://opds-spec.org/acquisition' href='/book{number}.txt' type='text/plain'/>"
        )
    };
    let entry = |number: u64| {
        format!(
            "<entry><id>urn:{number}</id><title>T</title><updated>2030-01-01T00:00:00Z</updated>{}</entry>",
            link(number)
        )
    };
    let feed = |inner: String| {
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>t</title><updated>2030-01-01T00:00:00Z</updated>{inner}</feed>"
        )
    };
    let next = "<link rel='next' href='/opds2' type='application/atom+xml'/>";
    site.set(
        "/opds",
        tagged(found(feed(format!("{next}{}", entry(0)))), "\"1\""),
    );
    site.set("/opds2", tagged(found(feed(entry(1) + &entry(2))), "\"2\""));
    let index = "<sitemapindex><sitemap><loc>/map.txt</loc></sitemap></sitemapindex>";
    site.set("/index.xml", tagged(found(index), "\"i\""));
    let map = site.list(0..3);
    site.set(
        "/map.txt",
        Answer {
            headers: "Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT\r\n".to_owned(),
            ..map
        },
    );
    site.set(
        "/list.csv",
        tagged(
            found(format!(
                "address\n{0}/book0.txt\n{0}/book1.txt\n{0}/book2.txt\n",
                site.url
            )),
            "\"l\"",
        ),
    );
    let item = |number: u64| {
        format!(
            "<entry><id>{number}</id><title>T</title><updated>2030-01-01T00:00:00Z</updated><link href='/book{number}.txt'/></entry>"
        )
    };
    site.set(
        "/atom",
        tagged(found(feed((0..3).map(item).collect())), "\"a\""),
    );
    for (kind, path, pages) in [
        ("opds", "/opds", 2),
        ("sitemap", "/index.xml", 2),
        ("list", "/list.csv", 1),
        ("feed", "/atom", 1),
    ] {
        let harvest = Harvest::new(
            kind,
            &format!("{}{path}", site.url),
            "--allow-private --disable-missing",
        );
        assert_eq!(last(&harvest), [3, 3, 0, 0, 0], "{kind}");
        let [_, added, unchanged, refused, same] = last(&harvest);
        assert_eq!(
            (added, unchanged, refused, same),
            (0, 3, 0, pages),
            "{kind}"
        );
        let gone = harvest.summary()["runs"][0]["missing"].as_u64();
        assert_eq!(
            gone,
            Some(0),
            "{kind}: what an unchanged list has is not gone"
        );
    }
}

/// What is kept of the pages of a source takes a bounded place: a page that is too large for it is sent again.
#[test]
fn a_page_with_too_many_links_is_sent_again() {
    let site = Site::new();
    // Names that cannot be packed.
    let names = (0..60_000_u64).map(|n| {
        format!(
            "{}/{:032x}\n",
            site.url,
            u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834)
        )
    });
    site.set(
        "/list.txt",
        tagged(found(names.collect::<String>()), "\"1\""),
    );
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private --max-urls 3",
    );
    last(&harvest);
    sent(&site);
    assert_eq!(last(&harvest)[4], 0);
    assert!(sent(&site) > 0);
}
