//! Buckets of S3 as sources.

use super::*;
use crate::common::moto::Moto;

/// A source of the objects of `uploads/novels/`, with an access key if there is one.
fn harvest(moto: &Moto, key: Option<&str>) -> (Folder, Harvest) {
    let keys = Folder::new();
    let options = key.map(|key| {
        let file = keys.file("key", key);
        format!("--credentials {}", file.display())
    });
    let options = options.unwrap_or_default() + " --allow-private --disable-missing";
    let harvest = Harvest::new("s3", &format!("{}/uploads/novels/", moto.url), &options);
    (keys, harvest)
}

#[test]
fn a_bucket_is_followed() {
    let moto = Moto::start();
    moto.put("novels/a.txt", prose(1, 600));
    moto.put("novels/deep/%D0%96%20%2B.txt", prose(2, 600));
    moto.put("novels/cover.jpg", b"\xff\xd8\xff\xe0");
    moto.put("novels/folder/", "");
    moto.put("others/c.txt", prose(3, 600));
    let (_keys, source) = harvest(&moto, Some("id:secret"));
    assert_eq!(source.run(), (2, 2, 0, 0));
    let both = ids(["novels/a.txt", "novels/deep/Ж +.txt"]);
    assert_eq!(source.ids(), both);
    assert_eq!(source.run(), (0, 0, 2, 0));

    moto.put("novels/a.txt", prose(4, 600));
    moto.send("DELETE", "uploads/novels/deep/%D0%96%20%2B.txt", "");
    assert_eq!(source.run(), (1, 1, 0, 0));
    let data = source.folder.data();
    let books = run("books list --json --data {} --library lib", &[&data]).json();
    let gone = |book: &Value| book["standing"]["disabled_at"].is_string();
    let gone: Vec<bool> = books.iter().map(gone).collect();
    assert_eq!(gone, [false, true]);
}

#[test]
fn all_pages_of_a_bucket_are_read() {
    let moto = Moto::start();
    // A page has 1,000 objects.
    for number in 0..1_003 {
        moto.put(&format!("novels/{number:04}.txt"), format!("{number}"));
    }
    moto.put("novels/z.txt", prose(1, 600));
    let (_keys, source) = harvest(&moto, Some("id:secret"));
    source.run();
    assert!(source.ids().contains("novels/z.txt"));
}

#[test]
fn a_bucket_that_lets_nobody_in_is_no_empty_one() {
    let moto = Moto::start();
    moto.put("novels/a.txt", prose(1, 600));
    for (key, why) in [
        (Some("id:wrong"), "does not accept the source's credentials"),
        (None, "needs credentials"),
    ] {
        let (_keys, source) = harvest(&moto, key);
        assert_eq!(source.run(), (0, 0, 0, 1));
        let errors = source.summary()["errors"].to_string();
        assert!(errors.contains(why), "{errors}");
    }
    let line = add("s3", "https://s3.example", "--contact me@books.example");
    let refused = run(&line, &[Folder::new().data()]).expect(2);
    assert!(refused.err.contains("names no bucket"), "{refused:?}");
}
