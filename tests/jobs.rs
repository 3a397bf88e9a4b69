//! Long work from outside: a catalogue gets another recipe while it is used, stops, is killed, and lacks what it needs.

mod common;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use common::{Folder, Server, prose, run};
use serde_json::{Value, json};
use ureq::Agent;

const BOOKS: u64 = 40;
/// The recipe of [`boundaries`].
const FINE: &str = "documented@8f965bee";

fn text(book: u64) -> String {
    prose(book, 3_000)
}

/// A folder of texts, a file of other boundaries, and a catalogue of the texts.
fn shelf(options: &str) -> Folder {
    let folder = Folder::new();
    for book in 0..BOOKS {
        folder.file(&format!("books/{book}.txt"), text(book));
    }
    folder.file("fine.txt", "[fine]\nshortest = 60\n3856 5842 4136 8526 1482 4825 1528 2852 8341\n");
    let line = format!("ingest --library l --rights free {options} --data {{}} {{}}");
    run(&line, &[folder.data(), folder.path("books")]).expect(0);
    folder
}

/// What a catalogue answers to a check of each book by this recipe, but for what differs between any two catalogues.
fn answers(folder: &Folder, data: &str, recipe: &str) -> Vec<String> {
    let mut answers = Vec::new();
    for book in 0..BOOKS {
        let paths = [folder.path(data), folder.path(&format!("books/{book}.txt"))];
        let report = run(&format!("check --json --recipe {recipe} --data {{}} {{}}"), &paths).expect(0).json();
        let mut matches = report[0]["matches"].clone();
        matches.as_array_mut().expect("matches").iter_mut().for_each(|found| found["chance"] = Value::Null);
        assert_eq!(matches[0]["book"]["id"], book.to_string(), "{report:?}");
        answers.push(matches.to_string());
    }
    answers
}

fn default_recipe(folder: &Folder) -> Vec<Value> {
    let stats = run("stats --json --data {}", &[folder.data()]).expect(0).json();
    stats[0]["recipes"].as_array().expect("recipes").clone()
}

#[test]
fn cut_from_folds_is_as_cut_from_texts() {
    let folder = shelf("--keep-folds");
    let fresh = [folder.path("fine.txt"), folder.path("fresh"), folder.path("books")];
    run("ingest --library l --rights free --boundaries {} --data {} {}", &fresh).expect(0);
    let paths = [folder.path("fine.txt"), folder.data()];
    let said = run("reindex --boundaries {} --data {}", &paths).expect(0).out;
    assert_eq!(said, format!("checks go by recipe {FINE} now\n"));
    let recipes = default_recipe(&folder);
    assert_eq!((recipes[0]["recipe"].as_str(), recipes[1]["recipe"].as_str()), (Some(FINE), Some("documented")));
    assert_eq!(answers(&folder, "catalogue", FINE), answers(&folder, "fresh", FINE));
    run("verify --data {}", &[folder.data()]).expect(0);

    // A book put in now has both, and the one before can go.
    folder.file("new.txt", text(1000));
    run("ingest --library l --rights free --data {} {}", &[folder.data(), folder.path("new.txt")]).expect(0);
    let shown = run("books show --json --library l --data {} new", &[folder.data()]).expect(0).json();
    assert_eq!(shown[0]["gems"].as_object().expect("gems").len(), 2);
    let refused = run(&format!("drop-recipe --data {{}} {FINE}"), &[folder.data()]).expect(2);
    assert!(refused.err.contains("is the default recipe"), "{}", refused.err);
    run("drop-recipe --data {} documented", &[folder.data()]).expect(0);
    run("verify --data {}", &[folder.data()]).expect(0);
    assert_eq!(default_recipe(&folder).len(), 1);
    assert_eq!(answers(&folder, "catalogue", FINE), answers(&folder, "fresh", FINE));
    let shown = run("books show --json --library l --data {} 0", &[folder.data()]).expect(0).json();
    assert_eq!(shown[0]["gems"].as_object().expect("gems").len(), 1);
    // The way back, dropping at once.
    run("reindex --drop-old --data {}", &[folder.data()]).expect(0);
    assert_eq!(default_recipe(&folder)[0]["recipe"], "documented");
    assert_eq!(default_recipe(&folder).len(), 1);
    run("verify --data {}", &[folder.data()]).expect(0);
}

#[test]
fn without_folds_it_asks_for_texts() {
    let folder = shelf("");
    let paths = [folder.path("fine.txt"), folder.data()];
    let refused = run("reindex --boundaries {} --data {}", &paths).expect(3);
    assert!(
        refused.err.contains("40 books have no gems of recipe") && refused.err.contains("--from sources"),
        "{refused:?}"
    );
    assert_eq!(default_recipe(&folder)[0]["recipe"], "documented");

    // All texts but one, under other names and with others among them.
    for book in 1..BOOKS {
        folder.file(&format!("sources/renamed-{book}"), text(book));
    }
    folder.file("sources/unknown.txt", "another text");
    let sources = [folder.path("fine.txt"), folder.data(), folder.path("sources")];
    let waits = run("reindex --from sources --boundaries {} --data {} {}", &sources).expect(2);
    assert!(waits.err.contains("1 books were not among these files"), "{}", waits.err);
    assert_eq!(default_recipe(&folder)[0]["recipe"], "documented");
    let other = run("reindex --recipe released --data {}", &[folder.data()]).expect(2);
    assert!(other.err.contains("(reindex) has not ended"), "{}", other.err);
    folder.file("sources/last", text(0));
    run("reindex --from sources --boundaries {} --data {} {}", &sources).expect(0);
    assert_eq!(default_recipe(&folder)[0]["recipe"], FINE);
    run("verify --data {}", &[folder.data()]).expect(0);
}

#[test]
fn books_left_behind_are_counted() {
    let folder = shelf("");
    run("reindex --recipe released --drop-old --allow-missing --data {}", &[folder.data()]).expect(2);
    let said = run("reindex --recipe released --allow-missing --data {}", &[folder.data()]).expect(0).out;
    assert_eq!(said, "checks go by recipe released now; 40 books have no gems of it\n");
    let jobs = run("jobs list --json --data {}", &[folder.data()]).expect(0).json();
    assert_eq!((jobs.len(), &jobs[0]["state"], &jobs[0]["task"]["kind"]), (1, &json!("done"), &json!("reindex")));
}

fn agent() -> Agent {
    Agent::config_builder().http_status_as_error(false).build().into()
}

fn get(url: &str, path: &str) -> Value {
    agent().get(format!("{url}{path}")).call().expect("an answer").body_mut().read_json().expect("JSON")
}

fn post(url: &str, path: &str, body: &Value) -> (u16, Value) {
    let mut answer = agent().post(format!("{url}{path}")).send_json(body).expect("an answer");
    (answer.status().as_u16(), answer.body_mut().read_json().expect("JSON"))
}

fn fine() -> Value {
    let boundaries = ["1482", "1528", "2852", "3856", "4136", "4825", "5842", "8341", "8526"];
    json!({ "name": FINE, "base": "documented", "shortest": 60, "boundaries": boundaries })
}

fn ended(url: &str, id: &Value) -> Value {
    loop {
        let job = get(url, &format!("/v1/jobs/{id}"));
        if job["state"] != "running" {
            return job;
        }
        sleep(Duration::from_millis(20));
    }
}

/// Says that it is over when it goes, be it by a panic, which would else be waited for for ever.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Every answer is whole by the one recipe or by the other, and none goes back.
#[test]
fn the_recipe_changes_under_load() {
    let folder = shelf("--keep-folds");
    let server = Server::start(&folder.data());
    let url = server.url.as_str();
    let (over, checks, puts) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let check = || {
            let mut changed = false;
            while !over.load(Ordering::Relaxed) {
                let book = checks.fetch_add(1, Ordering::Relaxed) % BOOKS;
                let (status, report) = post(url, "/v1/checks", &json!({ "text": text(book) }));
                assert_eq!(status, 200, "{report}");
                assert_eq!(report["matches"][0]["book"]["id"], book.to_string(), "{report}");
                assert_eq!(report["matches"][0]["share_of_book"], 1.0, "{report}");
                let fine = report["recipe"] == FINE;
                assert!(fine || !changed, "an answer by the old recipe after one by the new");
                changed = fine;
            }
            changed
        };
        let put = || {
            while !over.load(Ordering::Relaxed) {
                let number = puts.fetch_add(1, Ordering::Relaxed);
                let book = json!({ "rights": "free", "text": prose(5_000 + number % 30, 3_000) });
                let mut path = format!("{url}/v1/libraries/l/books/");
                write!(path, "put-{}", number % 20).expect("to memory");
                assert!(agent().put(path).send_json(book).expect("an answer").status().is_success());
            }
        };
        let checkers = [(); 2].map(|()| scope.spawn(check));
        scope.spawn(put);
        let end = Over(&over);
        sleep(Duration::from_millis(300));
        let (status, job) = post(url, "/v1/jobs", &json!({ "kind": "reindex", "recipe": fine() }));
        assert_eq!(status, 202, "{job}");
        let job = ended(url, &job["id"]);
        assert_eq!((&job["state"], &job["result"]["books_without"]), (&json!("done"), &json!(0)), "{job}");
        sleep(Duration::from_millis(500));
        drop(end);
        for checker in checkers {
            assert!(checker.join().expect("no wrong answer"), "no answer by the new recipe");
        }
    });
    let (status, job) = post(url, "/v1/jobs", &json!({ "kind": "verify" }));
    assert_eq!(status, 202);
    assert_eq!(ended(url, &job["id"])["result"]["faults"], json!([]));
    let (_, job) = post(url, "/v1/jobs", &json!({ "kind": "drop_recipe", "recipe": "documented" }));
    assert_eq!(ended(url, &job["id"])["state"], "done");
    assert_eq!(server.stop(), Some(0));
    run("verify --data {}", &[folder.data()]).expect(0);
    assert!(checks.into_inner() > 10 && puts.into_inner() > 3);
}

#[test]
fn one_job_of_a_kind_at_a_time_and_any_can_be_cancelled() {
    let folder = shelf("");
    let server = Server::start(&folder.data());
    let url = server.url.as_str();
    // It waits for texts, so that it does not end by itself.
    let waits = json!({ "kind": "reindex", "recipe": fine(), "from": "sources" });
    let (status, job) = post(url, "/v1/jobs", &waits);
    assert_eq!((status, &job["state"]), (202, &json!("running")));
    let (status, problem) = post(url, "/v1/jobs", &json!({ "kind": "reindex", "recipe": "released" }));
    assert_eq!((status, &problem["code"]), (409, &json!("job_runs")), "{problem}");
    assert!(problem["detail"].as_str().expect("a sentence").contains("job 1 (reindex)"), "{problem}");
    let seen = run("jobs list --server {}", &[url]).expect(0).out;
    assert!(seen.starts_with("1\treindex\trunning\t"), "{seen}");
    run("jobs cancel --server {} 1", &[url]).expect(0);
    assert_eq!(ended(url, &json!(1))["state"], "cancelled");
    let again = run("jobs cancel --server {} 1", &[url]).expect(2);
    assert!(again.err.contains("job 1 has ended: cancelled"), "{}", again.err);

    for (body, status, code) in [
        (json!({ "kind": "reindex", "recipe": "other" }), 422, "unknown_recipe"),
        (json!({ "kind": "reindex", "recipe": "released", "drop_old": true, "allow_missing": true }), 422, "bad_task"),
        (json!({ "kind": "drop_recipe", "recipe": "documented" }), 409, "is_default"),
        (json!({ "kind": "drop_recipe", "recipe": "released" }), 422, "unknown_recipe"),
        (json!({ "kind": "dance" }), 400, "bad_json"),
        (json!({ "kind": "reindex", "recipe": "released", "form": "folds" }), 400, "bad_json"),
    ] {
        let (got, problem) = post(url, "/v1/jobs", &body);
        assert_eq!((got, problem["code"].as_str()), (status, Some(code)), "{body}: {problem}");
    }
    assert_eq!(get(url, "/v1/jobs/77")["code"], "no_such_job");
    assert_eq!(get(url, "/v1/jobs/x")["code"], "no_such_job");

    // The texts, handed in by hand.
    post(url, "/v1/jobs", &waits);
    let recut = |book: u64, text: String| {
        let request = agent().post(format!("{url}/v1/libraries/l/recut/{book}")).content_type("text/plain");
        let mut answer = request.send(text).expect("an answer");
        (answer.status().as_u16(), answer.body_mut().read_json::<Value>().expect("JSON"))
    };
    assert_eq!(recut(0, text(1)).1["code"], "other_text");
    assert_eq!(recut(BOOKS, text(1)).1["code"], "no_such_book");
    for book in 0..BOOKS {
        assert_eq!(recut(book, text(book)), (200, json!({ "added": [FINE] })));
    }
    assert_eq!(recut(0, text(0)), (200, json!({ "added": [] })));
    assert_eq!(ended(url, &json!(2))["state"], "done");
    assert_eq!(get(url, "/v1/stats")["recipes"][0]["recipe"], FINE);
}

#[test]
fn what_a_crash_interrupts_goes_on() {
    let folder = shelf("--keep-folds");
    let mut server = Server::start(&folder.data());
    let (_, job) = post(&server.url, "/v1/jobs", &json!({ "kind": "reindex", "recipe": fine(), "drop_old": true }));
    for pause in [0, 1, 3, 10, 30] {
        sleep(Duration::from_millis(pause));
        // Dropping it kills it.
        drop(server);
        server = Server::start(&folder.data());
    }
    let job = ended(&server.url, &job["id"]);
    assert_eq!((&job["state"], &job["result"]["dropped"]), (&json!("done"), &json!("documented")), "{job}");
    let stats = get(&server.url, "/v1/stats");
    assert_eq!((&stats["recipes"][0]["recipe"], &stats["recipes"][0]["books"]), (&json!(FINE), &json!(BOOKS)));
    assert_eq!(stats["recipes"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.stop(), Some(0));
    run("verify --data {}", &[folder.data()]).expect(0);
}
