//! Two texts side by side.

use super::running::{Running, TEXT};
use crate::common::prose;

fn form(texts: &[&str]) -> String {
    let part = "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n";
    let parts = texts.iter().map(|text| format!("{part}{text}\r\n"));
    parts.collect::<Vec<_>>().concat() + "--x--\r\n"
}

/// What two texts share is shown, and nothing is kept.
#[test]
fn two_texts_are_compared() {
    let server = Running::start();
    let audited = |server: &Running| server.get("/v1/audit").expect(200);
    let before = audited(&server);
    let (own, copied) = (prose(1, 2_000), prose(2, 2_000));
    let both = format!("{own} {}", &copied[2_000..9_000]);
    let kind = "multipart/form-data; boundary=x";
    // A field in which nothing was chosen is none.
    let page = server.post("/v1/compare", kind, form(&[&both, "", &copied]));
    assert_eq!(page.status, 200);
    let page = String::from_utf8_lossy(&page.body).into_owned();
    let word = copied[4_000..].split(' ').nth(1).expect("a word");
    assert!(
        page.contains("gems in common") && page.contains(word),
        "{page}"
    );
    server
        .post("/v1/compare", kind, form(&[&both]))
        .problem(400, "bad_form", "one text");
    server
        .post("/v1/compare", TEXT, "x")
        .problem(400, "bad_form", "no form");
    assert_eq!(audited(&server), before);
}
