//! Many files that are checked together.

use serde_json::{Value, json};

use super::running::{BYTES, JSON, Running, TEXT};
use crate::common::prose;

fn make(server: &Running, files: &[&str]) -> String {
    let made = server.post("/v1/batches", JSON, json!({ "files": files }).to_string());
    let made = made.expect(201);
    made["id"].as_str().expect("an id").to_owned()
}

fn shown(server: &Running, batch: &str) -> Value {
    server.get(&format!("/v1/batches/{batch}")).expect(200)
}

fn check_of(batch: &str, name: &str) -> String {
    format!("/v1/checks?record=true&batch={batch}&name={name}")
}

/// A batch says what became of its files, so that whatever is left can be sent again.
#[test]
fn a_batch_is_left_and_found_again() {
    let server = Running::start();
    server
        .put_text("/v1/libraries/house/books/1", "protected", &prose(1, 4_000))
        .expect(201);
    let batch = make(&server, &["one.txt", "two.pdf", "three.txt"]);
    let counts = |shown: &Value| ["total", "checked", "failed"].map(|name| shown[name].as_u64());
    assert_eq!(counts(&shown(&server, &batch)), [Some(3), Some(0), Some(0)]);
    let report = server.post(&check_of(&batch, "one.txt"), TEXT, prose(1, 4_000));
    let report = report.expect(200);
    server
        .post(&check_of(&batch, "two.pdf"), BYTES, "%PDF-1.4")
        .expect(422);
    let batch_is = shown(&server, &batch);
    assert_eq!(counts(&batch_is), [Some(3), Some(1), Some(1)]);
    let files = &batch_is["files"];
    assert_eq!(files[0]["check"]["id"], report["filed"], "{files}");
    assert_eq!(files[0]["check"]["state"], "open", "{files}");
    assert_eq!(files[1]["problem"]["code"], "damaged", "{files}");
    assert_eq!(files[2], json!({ "name": "three.txt" }));

    // What failed is sent again; what was checked stays so.
    let gems = json!({ "gems": [1, 2, 3], "record": true, "batch": batch, "name": "two.pdf" });
    server
        .post("/v1/checks", JSON, gems.to_string())
        .expect(200);
    server
        .post(&check_of(&batch, "one.txt"), BYTES, "%PDF-1.4")
        .expect(422);
    assert_eq!(counts(&shown(&server, &batch)), [Some(3), Some(2), Some(0)]);

    // Its checks are found by it.
    let open = format!("/v1/decisions?state=open&batch={batch}");
    let open = server.get(&open).expect(200);
    assert_eq!(open["decisions"][0]["id"], report["filed"], "{open}");
    assert_eq!(open["decisions"].as_array().map(Vec::len), Some(1));
    let audit = server.get("/v1/audit?limit=1000").expect(200).to_string();
    assert!(audit.contains(&batch), "{audit}");

    // Nothing else is checked in it.
    server
        .post(&check_of(&batch, "four.txt"), TEXT, "x")
        .problem(422, "bad_batch", "another file");
    let other = "01890a5d-ac96-774b-bcce-b302099a8057";
    server
        .post(&check_of(other, "one.txt"), TEXT, "x")
        .problem(404, "no_such_batch", "no batch");
    server
        .post(&format!("/v1/checks?batch={batch}&name=one.txt"), TEXT, "x")
        .problem(400, "bad_query", "a batch without record");
}

#[test]
fn batches_are_bounded() {
    let server = Running::start();
    let many: Vec<String> = (0..501).map(|number| number.to_string()).collect();
    let long = "x".repeat(1_001);
    let wrong: [&[&str]; 4] = [
        &[],
        &["a", "a"],
        &[&long],
        &many.iter().map(String::as_str).collect::<Vec<_>>(),
    ];
    for files in wrong {
        let body = json!({ "files": files }).to_string();
        server
            .post("/v1/batches", JSON, body)
            .problem(422, "bad_batch", "files");
    }
    let all: Vec<String> = (0..102).map(|_| make(&server, &["a.txt"])).collect();
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server
            .get(&format!("/v1/batches?limit=40{cursor}"))
            .expect(200);
        let batches = page["batches"].as_array().expect("a list").iter();
        listed.extend(batches.map(|batch| batch["id"].as_str().expect("an id").to_owned()));
        let Some(next) = page["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
    }
    let newest: Vec<String> = all[2..].iter().rev().cloned().collect();
    assert_eq!(listed, newest);
    server
        .get(&format!("/v1/batches/{}", all[0]))
        .problem(404, "no_such_batch", "it is forgotten");
}
