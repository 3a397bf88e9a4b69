//! What becomes of the books of sources.

use super::*;
use crate::common;
use crate::makers;

#[test]
fn an_archive_is_as_many_books_as_it_has() {
    let site = Site::new();
    let archive = |books: &[(&str, Vec<u8>)]| {
        let files: Vec<(&str, &[u8])> = books
            .iter()
            .map(|(name, bytes)| (*name, bytes.as_slice()))
            .collect();
        found(makers::zip(&files))
    };
    let text = |number| prose(number, 600).into_bytes();
    let broken = b"%PDF-1.4 broken".to_vec();
    site.set(
        "/shelf.zip",
        archive(&[("a.txt", text(0)), ("b.txt", text(1)), ("c.pdf", broken)]),
    );
    site.set("/list.txt", found(format!("{}/shelf.zip", site.url)));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private --disable-missing",
    );
    assert_eq!(harvest.run(), (1, 2, 0, 1));
    let id = |name: &str| format!("{}/shelf.zip/{name}", site.url);
    assert_eq!(harvest.ids(), [id("a.txt"), id("b.txt")].into());
    assert!(
        harvest.summary()["errors"]
            .to_string()
            .contains("1 of its books were refused: c.pdf")
    );
    site.set(
        "/shelf.zip",
        archive(&[("b.txt", text(1)), ("d.txt", text(3))]),
    );
    assert_eq!(harvest.run(), (1, 1, 1, 0));
    assert_eq!(harvest.summary()["errors"], json!([]));
    let books = run(
        "books list --json --data {} --library lib",
        &[harvest.folder.data()],
    )
    .expect(0)
    .json();
    let disabled: Vec<bool> = books
        .iter()
        .map(|book| book["standing"]["disabled_at"].is_string())
        .collect();
    assert_eq!(
        disabled,
        [true, false, false],
        "what is no longer in the archive is gone"
    );
}

#[test]
fn what_was_removed_by_hand_comes_back_only_if_it_changes() {
    let site = Site::new();
    site.books(0..2);
    site.set("/list.txt", site.list(0..2));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private",
    );
    assert_eq!(harvest.run(), (2, 2, 0, 0));
    let data = harvest.folder.data();
    let of = |number| format!("{}/book{number}.txt", site.url);
    run(
        &format!("books remove --data {{}} --library lib {}", of(0)),
        &[&data],
    )
    .expect(0);
    assert_eq!(harvest.run(), (2, 0, 2, 0));
    assert_eq!(harvest.ids(), [of(1)].into());
    site.set("/book0.txt", found(prose(9, 600)));
    assert_eq!(harvest.run(), (2, 1, 1, 0));
    assert_eq!(harvest.ids(), [of(0), of(1)].into());
}

#[test]
fn a_gate_keeps_protected_books_out() {
    let site = Site::new();
    site.books(0..3);
    site.set("/list.txt", site.list(0..3));
    let folder = Folder::new();
    let book = folder.file("theirs.txt", prose(1, 600));
    run(
        "ingest --data {} --library theirs --rights protected {}",
        &[&folder.data(), &book],
    )
    .expect(0);
    let add = add(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private --unless protected",
    );
    run(
        &add.replace("--rights protected", "--rights free"),
        &[folder.data()],
    )
    .expect(0);
    let harvest = Harvest { folder };
    assert_eq!(harvest.run(), (3, 2, 0, 1));
    let errors = &harvest.summary()["errors"];
    assert_eq!(
        (
            &errors[0]["reason"],
            errors[0]["detail"].to_string().contains("theirs")
        ),
        (&json!("matches"), false)
    );
}

#[test]
fn credentials_may_be_in_a_variable() {
    let site = Site::new();
    site.books(0..1);
    site.set("/list.txt", site.list(0..1));
    let options = "--allow-private --credentials env:LAPIDARY_SOURCE_IT";
    let harvest = Harvest::new("sitemap", &format!("{}/list.txt", site.url), options);
    let data = harvest.folder.data();
    assert!(
        run("sources run --data {} it", &[&data])
            .expect(2)
            .err
            .contains("no such variable")
    );
    let mut command = command("sources run --json --data {} it", &[&data]);
    let output = command
        .env("LAPIDARY_SOURCE_IT", "token")
        .output()
        .expect("the program runs");
    assert_eq!(counts(&common::Run::from(output)), (1, 1, 0, 0));
    assert!(
        site.asked
            .lock()
            .expect("no panic")
            .iter()
            .all(|head| head.to_lowercase().contains("authorization: bearer token"))
    );
    let refused = run(
        &add(
            "sitemap",
            "https://x.invalid/",
            "--contact a@b.invalid --credentials env:HOME",
        ),
        &[&data],
    )
    .expect(2);
    assert!(refused.err.contains("LAPIDARY_SOURCE_"), "{}", refused.err);
}

#[test]
fn a_page_that_takes_too_much_memory_harms_only_itself() {
    let site = Site::new();
    site.books(0..1);
    site.set("/sitemap.xml", found("<sitemapindex><sitemap><loc>/bad.xml</loc></sitemap><sitemap><loc>/good.txt</loc></sitemap></sitemapindex>"));
    site.set(
        "/bad.xml",
        found(format!("<urlset>{}</urlset>", "<a/>".repeat(3_900_000))),
    );
    site.set("/good.txt", site.list(0..1));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/sitemap.xml", site.url),
        "--allow-private",
    );
    let run = run(
        "sources run --json --limit-memory 400MiB --data {} it",
        &[harvest.folder.data()],
    )
    .expect(2);
    assert_eq!(counts(&run), (1, 1, 0, 1), "{run:?}");
    let error = &harvest.summary()["errors"][0];
    assert_eq!(error["reason"], "bad_list");
    assert!(
        error["detail"]
            .as_str()
            .is_some_and(|why| why.contains("memory")),
        "{error}"
    );
}

#[test]
fn books_have_the_rights_and_days_of_their_source() {
    let site = Site::new();
    site.books(0..4);
    site.set("/list.txt", site.list(0..4));
    let address = format!("{}/list.txt", site.url);
    let days = "--from 2001-01-01 --until 2001-12-31 --otherwise free";
    let options = format!("--allow-private --contains book0 --matches book[2-9][.]txt$ {days}");
    let harvest = Harvest::new("sitemap", &address, &options);
    assert_eq!(
        harvest.run(),
        (3, 3, 0, 0),
        "what contains one or matches the other"
    );
    let data = harvest.folder.data();
    let of = |number| format!("{}/book{number}.txt", site.url);
    assert_eq!(harvest.ids(), [of(0), of(2), of(3)].into());
    let book = || {
        run(
            &format!("books show --json --data {{}} --library lib {}", of(2)),
            &[&data],
        )
        .expect(0)
        .json()
        .remove(0)
    };
    let first = book();
    assert_eq!(
        first["standing"]["validity"],
        json!({"from": "2001-01-01", "until": "2001-12-31", "otherwise": "free"})
    );
    assert!(
        first["fetched_at"].is_string() && first["identifiers"] == json!([of(2)]),
        "{first}"
    );
    let upload = harvest.folder.file("upload.txt", prose(2, 600));
    let verdict = || {
        run("check --json --data {} {}", &[&data, &upload])
            .json()
            .remove(0)["verdict"]
            .clone()
    };
    assert_eq!(verdict(), "free");

    // Other days hold from the next run on.
    run(
        &add("sitemap", &address, &options.replace("2001", "2999")),
        &[&data],
    )
    .expect(0);
    assert_eq!(harvest.run().1, 3);
    assert_eq!(book()["standing"]["validity"]["until"], "2999-12-31");
    run(
        &add(
            "sitemap",
            &address,
            "--allow-private --contains book0 --contains book2 --contains book3",
        ),
        &[&data],
    )
    .expect(0);
    assert_eq!(harvest.run().1, 3);
    assert_eq!(
        (&book()["standing"]["validity"], verdict()),
        (&json!(null), json!("protected"))
    );
    assert_eq!(harvest.run(), (3, 0, 3, 0));

    for (wrong, why) in [
        ("--matches ([a-z]", "is not a regular expression"),
        (
            "--matches ((((a{200}){200}){200}){200})",
            "is not a regular expression",
        ),
        (&"--matches a ".repeat(11), "at most 10 patterns"),
        ("--from 2030-02-01 --until 2030-01-01", "2030-01-01"),
    ] {
        let refused = run(
            &add("sitemap", &address, &format!("--allow-private {wrong}")),
            &[&data],
        )
        .expect(2);
        assert!(refused.err.contains(why), "{refused:?}");
    }
}
