//! Long-running jobs: changing the recipe of a catalogue in use, stopping, crashes and missing inputs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::common::watched::{Call, Stop, Watched};
use crate::common::{Folder, Server, database, prose, run, until};
use lapidary_catalogue::api::{RecipeChoice, ReindexInput, Task};
use lapidary_catalogue::{Catalogue, Content, NewEntry, start_job};
use lapidary_gems::Recipe;
use lapidary_store::{Actor, BookKey, Rights, RocksStore};
use serde_json::{Value, json};
use ureq::Agent;

const BOOKS: u64 = 40;
/// The recipe with the boundaries of [`boundaries`].
const FINE: &str = "documented@8f965bee";

fn text(book: u64) -> String {
    prose(book, 3_000)
}

/// A folder with texts, a file of other boundaries, and a catalogue of the texts.
fn shelf(options: &str) -> Folder {
    let folder = Folder::new();
    for book in 0..BOOKS {
        folder.file(&format!("books/{book}.txt"), text(book));
    }
    folder.file(
        "fine.txt",
        "[fine]\nshortest = 60\n3856 5842 4136 8526 1482 4825 1528 2852 8341\n",
    );
    let recipe = if options.contains("--recipe") {
        ""
    } else {
        "--recipe documented"
    };
    let line = format!("ingest --library l --rights free {recipe} {options} --data {{}} {{}}");
    run(&line, &[folder.data(), folder.path("books")]).expect(0);
    folder
}

/// The responses to a check of each book with this recipe, without the fields that differ between any two catalogues.
fn answers(folder: &Folder, data: &str, recipe: &str) -> Vec<String> {
    let mut answers = Vec::new();
    for book in 0..BOOKS {
        let paths = [folder.path(data), folder.path(&format!("books/{book}.txt"))];
        let report = run(
            &format!("check --json --allow-incomplete --recipe {recipe} --data {{}} {{}}"),
            &paths,
        )
        .expect(0)
        .json();
        let mut matches = report[0]["matches"].clone();
        matches
            .as_array_mut()
            .expect("matches")
            .iter_mut()
            .for_each(|found| found["e_value"] = Value::Null);
        assert_eq!(matches[0]["book"]["id"], book.to_string(), "{report:?}");
        answers.push(matches.to_string());
    }
    answers
}

fn default_recipe(folder: &Folder) -> Vec<Value> {
    let stats = run("stats --json --data {}", &[folder.data()])
        .expect(0)
        .json();
    stats[0]["recipes"].as_array().expect("recipes").clone()
}

#[test]
fn cut_from_folds_is_as_cut_from_texts() {
    let folder = shelf("--keep-folds");
    let fresh = [
        folder.path("fine.txt"),
        folder.path("fresh"),
        folder.path("books"),
    ];
    run(
        "ingest --library l --rights free --boundaries {} --data {} {}",
        &fresh,
    )
    .expect(0);
    let paths = [folder.path("fine.txt"), folder.data()];
    let said = run("reindex --boundaries {} --data {}", &paths)
        .expect(0)
        .out;
    assert_eq!(said, format!("checks now use recipe {FINE}\n"));
    let recipes = default_recipe(&folder);
    assert_eq!(
        (recipes[0]["recipe"].as_str(), recipes[1]["recipe"].as_str()),
        (Some(FINE), Some("documented"))
    );
    assert_eq!(
        answers(&folder, "catalogue", FINE),
        answers(&folder, "fresh", FINE)
    );
    run("verify --data {}", &[folder.data()]).expect(0);

    // A book added now has gems of both recipes, and the old recipe can be dropped.
    folder.file("new.txt", text(1000));
    run(
        "ingest --library l --rights free --data {} {}",
        &[folder.data(), folder.path("new.txt")],
    )
    .expect(0);
    let shown = run(
        "books show --json --library l --data {} new",
        &[folder.data()],
    )
    .expect(0)
    .json();
    assert_eq!(shown[0]["gems"].as_object().expect("gems").len(), 2);
    let refused = run(&format!("drop-recipe --data {{}} {FINE}"), &[folder.data()]).expect(2);
    assert!(
        refused.err.contains("is the default recipe"),
        "{}",
        refused.err
    );
    run("drop-recipe --data {} documented", &[folder.data()]).expect(0);
    run("verify --data {}", &[folder.data()]).expect(0);
    assert_eq!(default_recipe(&folder).len(), 1);
    assert_eq!(
        answers(&folder, "catalogue", FINE),
        answers(&folder, "fresh", FINE)
    );
    let shown = run(
        "books show --json --library l --data {} 0",
        &[folder.data()],
    )
    .expect(0)
    .json();
    assert_eq!(shown[0]["gems"].as_object().expect("gems").len(), 1);
    // Back to the old recipe, dropping the new one in the same step.
    run(
        "reindex --recipe documented --drop-old --data {}",
        &[folder.data()],
    )
    .expect(0);
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
        refused.err.contains("40 books cannot get gems of recipe")
            && refused.err.contains("from sources"),
        "{refused:?}"
    );
    assert_eq!(default_recipe(&folder)[0]["recipe"], "documented");

    // All texts but one, renamed and among unrelated files.
    for book in 1..BOOKS {
        folder.file(&format!("sources/renamed-{book}"), text(book));
    }
    folder.file("sources/unknown.txt", "another text");
    let sources = [
        folder.path("fine.txt"),
        folder.data(),
        folder.path("sources"),
    ];
    let waits = run(
        "reindex --from sources --boundaries {} --data {} {}",
        &sources,
    )
    .expect(2);
    assert!(
        waits.err.contains("1 book is missing from these files"),
        "{}",
        waits.err
    );
    assert_eq!(default_recipe(&folder)[0]["recipe"], "documented");
    let other = run("reindex --recipe released --data {}", &[folder.data()]).expect(2);
    assert!(
        other.err.contains("(reindex) is still running"),
        "{}",
        other.err
    );
    folder.file("sources/last", text(0));
    run(
        "reindex --from sources --boundaries {} --data {} {}",
        &sources,
    )
    .expect(0);
    assert_eq!(default_recipe(&folder)[0]["recipe"], FINE);
    run("verify --data {}", &[folder.data()]).expect(0);
}

#[test]
fn books_left_behind_are_counted() {
    let folder = shelf("");
    run(
        "reindex --recipe released --drop-old --allow-missing --data {}",
        &[folder.data()],
    )
    .expect(2);
    let said = run(
        "reindex --recipe released --allow-missing --data {}",
        &[folder.data()],
    )
    .expect(0)
    .out;
    assert_eq!(
        said,
        "checks now use recipe released; 40 books have no gems of it\n"
    );
    let jobs = run("jobs list --json --data {}", &[folder.data()])
        .expect(0)
        .json();
    assert_eq!(
        (jobs.len(), &jobs[0]["state"], &jobs[0]["task"]["kind"]),
        (1, &json!("done"), &json!("reindex"))
    );
}

fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into()
}

fn get(url: &str, path: &str) -> Value {
    agent()
        .get(format!("{url}{path}"))
        .call()
        .expect("an answer")
        .body_mut()
        .read_json()
        .expect("JSON")
}

fn post(url: &str, path: &str, body: &Value) -> (u16, Value) {
    let mut answer = agent()
        .post(format!("{url}{path}"))
        .send_json(body)
        .expect("an answer");
    (
        answer.status().as_u16(),
        answer.body_mut().read_json().expect("JSON"),
    )
}

fn fine() -> Value {
    let boundaries = [
        "1482", "1528", "2852", "3856", "4136", "4825", "5842", "8341", "8526",
    ];
    json!({ "name": FINE, "base": "documented", "shortest": 60, "boundaries": boundaries })
}

fn ended(url: &str, id: &Value) -> Value {
    let mut job = Value::Null;
    until("the job does not end", || {
        job = get(url, &format!("/v1/jobs/{id}"));
        job["state"] != "running"
    });
    job
}

/// Sets the flag on drop, so that other threads stop waiting after a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Every response uses one recipe throughout, and none goes back to the old one after the switch.
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
                assert_eq!(
                    report["matches"][0]["book"]["id"],
                    book.to_string(),
                    "{report}"
                );
                assert_eq!(report["matches"][0]["share_of_book"], 1.0, "{report}");
                let fine = report["recipe"] == FINE;
                assert!(
                    fine || !changed,
                    "an answer by the old recipe after one by the new"
                );
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
                assert!(
                    agent()
                        .put(path)
                        .send_json(book)
                        .expect("an answer")
                        .status()
                        .is_success()
                );
            }
        };
        let checkers = [(); 2].map(|()| scope.spawn(check));
        scope.spawn(put);
        let end = Over(&over);
        sleep(Duration::from_millis(300));
        let (status, job) = post(
            url,
            "/v1/jobs",
            &json!({ "kind": "reindex", "recipe": fine() }),
        );
        assert_eq!(status, 202, "{job}");
        let job = ended(url, &job["id"]);
        assert_eq!(
            (&job["state"], &job["result"]["books_without"]),
            (&json!("done"), &json!(0)),
            "{job}"
        );
        sleep(Duration::from_millis(500));
        drop(end);
        for checker in checkers {
            assert!(
                checker.join().expect("no wrong answer"),
                "no answer by the new recipe"
            );
        }
    });
    let (status, job) = post(url, "/v1/jobs", &json!({ "kind": "verify" }));
    assert_eq!(status, 202);
    assert_eq!(ended(url, &job["id"])["result"]["faults"], json!([]));
    let (_, job) = post(
        url,
        "/v1/jobs",
        &json!({ "kind": "drop_recipe", "recipe": "documented" }),
    );
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
    // The job waits for texts, so it does not end by itself.
    let waits = json!({ "kind": "reindex", "recipe": fine(), "from": "sources" });
    let (status, job) = post(url, "/v1/jobs", &waits);
    assert_eq!((status, &job["state"]), (202, &json!("running")));
    let (status, problem) = post(
        url,
        "/v1/jobs",
        &json!({ "kind": "reindex", "recipe": "released" }),
    );
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("job_runs")),
        "{problem}"
    );
    assert!(
        problem["detail"]
            .as_str()
            .expect("a sentence")
            .contains("job 1 (reindex)"),
        "{problem}"
    );
    let seen = run("jobs list --server {}", &[url]).expect(0).out;
    assert!(seen.starts_with("1\treindex\trunning\t"), "{seen}");
    run("jobs cancel --server {} 1", &[url]).expect(0);
    assert_eq!(ended(url, &json!(1))["state"], "cancelled");
    let again = run("jobs cancel --server {} 1", &[url]).expect(2);
    assert!(
        again.err.contains("job 1 has already ended: cancelled"),
        "{}",
        again.err
    );

    for (body, status, code) in [
        (
            json!({ "kind": "reindex", "recipe": "other" }),
            422,
            "unknown_recipe",
        ),
        (
            json!({ "kind": "reindex", "recipe": "released", "drop_old": true, "allow_missing": true }),
            422,
            "bad_task",
        ),
        (
            json!({ "kind": "drop_recipe", "recipe": "documented" }),
            409,
            "is_default",
        ),
        (
            json!({ "kind": "drop_recipe", "recipe": "released" }),
            422,
            "unknown_recipe",
        ),
        (json!({ "kind": "dance" }), 400, "bad_json"),
        (json!({ "kind": "backup", "keep": 0 }), 422, "bad_task"),
        (json!({ "kind": "backup", "keep": 1001 }), 422, "bad_task"),
        (
            json!({ "kind": "backup", "keep": 1_u64 << 32 }),
            400,
            "bad_json",
        ),
        (
            json!({ "kind": "reindex", "recipe": "released", "form": "folds" }),
            400,
            "bad_json",
        ),
    ] {
        let (got, problem) = post(url, "/v1/jobs", &body);
        assert_eq!(
            (got, problem["code"].as_str()),
            (status, Some(code)),
            "{body}: {problem}"
        );
    }
    assert_eq!(get(url, "/v1/jobs/77")["code"], "no_such_job");
    assert_eq!(get(url, "/v1/jobs/x")["code"], "no_such_job");

    // Supply the texts one by one.
    post(url, "/v1/jobs", &waits);
    let recut = |book: u64, text: String| {
        let request = agent()
            .post(format!("{url}/v1/libraries/l/recut/{book}"))
            .content_type("text/plain");
        let mut answer = request.send(text).expect("an answer");
        (
            answer.status().as_u16(),
            answer.body_mut().read_json::<Value>().expect("JSON"),
        )
    };
    assert_eq!(recut(0, text(1)).1["code"], "other_text");
    assert_eq!(recut(BOOKS, text(1)).1["code"], "no_such_book");
    assert_eq!(recut(0, String::new()).1["code"], "no_text");
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
    let (_, job) = post(
        &server.url,
        "/v1/jobs",
        &json!({ "kind": "reindex", "recipe": fine(), "drop_old": true }),
    );
    for pause in [0, 1, 3, 10, 30] {
        sleep(Duration::from_millis(pause));
        // Dropping the server kills it.
        drop(server);
        server = Server::start(&folder.data());
    }
    let job = ended(&server.url, &job["id"]);
    assert_eq!(
        (&job["state"], &job["result"]["dropped"]),
        (&json!("done"), &json!("documented")),
        "{job}"
    );
    let stats = get(&server.url, "/v1/stats");
    assert_eq!(
        (
            &stats["recipes"][0]["recipe"],
            &stats["recipes"][0]["books"]
        ),
        (&json!(FINE), &json!(BOOKS))
    );
    assert_eq!(stats["recipes"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.stop(), Some(0));
    run("verify --data {}", &[folder.data()]).expect(0);
}

/// All files in a folder and its subfolders, with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.insert(path.clone(), fs::read(path).expect("a file"));
        }
    }
    files
}

#[test]
fn a_backup_comes_back() {
    let folder = shelf("--keep-folds");
    let (data, backups, export) = (
        folder.data(),
        folder.path("backups"),
        folder.path("export.ndjson"),
    );
    run("export --data {} {}", &[&data, &export]).expect(0);
    let first = fs::read(&export).expect("an export");
    let said = run("backup --data {} --to {}", &[&data, &backups])
        .expect(0)
        .out;
    assert!(
        said.starts_with("backup 1: ") && said.ends_with("; 1 kept\n"),
        "{said}"
    );
    folder.file("new.txt", text(1000));
    run(
        "ingest --library l --rights protected --data {} {}",
        &[&data, &folder.path("new.txt")],
    )
    .expect(0);
    run("books remove --library l --data {} 3", &[&data]).expect(0);
    run("export --data {} {}", &[&data, &export]).expect(0);
    let second = fs::read(&export).expect("an export");
    let large = |files: &BTreeMap<PathBuf, Vec<u8>>| {
        files
            .keys()
            .filter(|path| path.to_string_lossy().contains("shared"))
            .count()
    };
    let before = files(&backups);
    run("backup --data {} --to {}", &[&data, &backups]).expect(0);
    let after = files(&backups);
    // Earlier files are kept, and only new ones were copied.
    assert!(
        before
            .iter()
            .filter(|(path, _)| path.to_string_lossy().contains("shared"))
            .all(|(path, file)| after.get(path) == Some(file))
    );
    assert!(large(&after) > large(&before));

    for (number, expected) in [
        ("", &second),
        ("--backup 1", &first),
        ("--backup 2", &second),
    ] {
        let restored = folder.path("restored");
        let said = run(
            &format!("restore {number} --from {{}} --data {{}}"),
            &[&backups, &restored],
        )
        .expect(0)
        .out;
        assert!(
            said.contains("40 books, no inconsistencies found"),
            "{said}"
        );
        run("export --data {} {}", &[&restored, &export]).expect(0);
        assert_eq!(&fs::read(&export).expect("an export"), expected);
        // A restore never overwrites a catalogue.
        let refused = run("restore --from {} --data {}", &[&backups, &restored]).expect(2);
        assert!(
            refused.err.contains("there is already a catalogue here"),
            "{}",
            refused.err
        );
        fs::remove_dir_all(restored).expect("a folder");
    }
    // An invalid number removes no backup.
    for keep in ["0", "1001", "4294967296"] {
        run(
            &format!("backup --keep {keep} --data {{}} --to {{}}"),
            &[&data, &backups],
        )
        .expect(2);
    }
    assert_eq!(files(&backups), after);
    let restored = folder.path("restored");
    run("restore --from {} --data {}", &[&data, &restored]).expect(2);
    run(
        "restore --backup 9 --from {} --data {}",
        &[&backups, &restored],
    )
    .expect(3);
    let inside = data.join("inside");
    let refused = run("backup --data {} --to {}", &[&data, &inside]).expect(3);
    assert!(
        refused.err.contains("inside the catalogue's folder"),
        "{}",
        refused.err
    );
    let other = folder.path("other");
    run(
        "ingest --library l --rights free --data {} {}",
        &[&other, &folder.path("new.txt")],
    )
    .expect(0);
    let refused = run("backup --data {} --to {}", &[&other, &backups]).expect(3);
    assert!(
        refused.err.contains("backups of another catalogue"),
        "{}",
        refused.err
    );
    let refused = run("backup --data {} --to {}", &[&other, &folder.path("books")]).expect(3);
    assert!(refused.err.contains("holds other files"), "{}", refused.err);

    // Corrupt a file of the backup.
    let (broken, content) = after
        .iter()
        .filter(|(path, _)| path.to_string_lossy().contains("shared"))
        .max_by_key(|(_, file)| file.len())
        .expect("a file");
    let mut content = content.clone();
    let middle = content.len() / 2;
    content[middle] ^= 0x10;
    fs::write(broken, content).expect("a file");
    let refused = run("restore --from {} --data {}", &[&backups, &restored]).expect(3);
    assert!(refused.err.contains("damaged"), "{}", refused.err);
    assert!(!restored.exists());
}

#[test]
fn a_server_makes_backups_where_it_may() {
    let folder = shelf("");
    let server = Server::start(&folder.data());
    let (status, problem) = post(&server.url, "/v1/jobs", &json!({ "kind": "backup" }));
    assert_eq!(
        (status, problem["code"].as_str()),
        (422, Some("bad_task")),
        "{problem}"
    );
    assert_eq!(server.stop(), Some(0));

    let backups = folder.path("backups");
    let server = Server::start_with("--backups {}", &[&backups], &folder.data());
    let url = server.url.as_str();
    for to in ["../out", "/tmp/out", "a/b", "..", ""] {
        let (status, problem) = post(url, "/v1/jobs", &json!({ "kind": "backup", "to": to }));
        assert_eq!(
            (status, problem["code"].as_str()),
            (422, Some("bad_task")),
            "{to}: {problem}"
        );
    }
    // Back up while books are added and removed.
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..10).cycle() {
                let book = json!({ "rights": "free", "text": prose(7_000 + number, 3_000) });
                let put = agent()
                    .put(format!("{url}/v1/libraries/more/books/{number}"))
                    .send_json(book);
                assert!(put.expect("an answer").status().is_success());
                if over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let _end = Over(&over);
        for _ in 0..4 {
            run("backup --keep 2 --server {}", &[url]).expect(0);
        }
    });
    let said = run("backup --keep 2 --server {} --to nightly", &[url])
        .expect(0)
        .out;
    assert!(said.ends_with("; 1 kept\n"), "{said}");
    let exported = run("export --server {} -", &[url]).expect(0).out;
    assert_eq!(server.stop(), Some(0));
    for (name, books) in [("catalogue", None), ("nightly", Some(BOOKS + 10))] {
        let restored = folder.path(&format!("restored-{name}"));
        run(
            "restore --from {} --data {}",
            &[&backups.join(name), &restored],
        )
        .expect(0);
        let counted = run("stats --json --data {}", &[&restored]).expect(0).json();
        assert!(
            books.is_none_or(|books| counted[0]["books"] == books),
            "{counted:?}"
        );
        // The backup job recorded in the copy is not resumed.
        let jobs = run("jobs list --json --data {}", &[&restored])
            .expect(0)
            .json();
        assert_eq!(
            (&jobs[0]["task"]["kind"], &jobs[0]["state"]),
            (&json!("backup"), &json!("cancelled"))
        );
    }
    assert_eq!(
        run("export --data {} -", &[&folder.path("restored-nightly")])
            .expect(0)
            .out,
        exported
    );
}

/// The published client names no recipe. Its gems keep the recipe it was made for, whatever the default becomes.
#[test]
fn existing_clients_keep_their_recipe() {
    let folder = shelf("--keep-folds");
    let recipe = |options: &str| {
        let server = Server::start_with(options, &[], &folder.data());
        let mut answer = agent()
            .post(format!("{}/copyright_check_by_gems/", server.url))
            .send_form([("gems", "1,2,3")])
            .expect("an answer");
        let report: Value = answer.body_mut().read_json().expect("JSON");
        report["recipe"]
            .as_str()
            .or(report["code"].as_str())
            .expect("a word")
            .to_owned()
    };
    assert_eq!(recipe(""), "documented");
    run(
        "reindex --data {} --boundaries {}",
        &[folder.data(), folder.path("fine.txt")],
    )
    .expect(0);
    assert_eq!(default_recipe(&folder)[0]["recipe"], FINE);
    assert_eq!(recipe(""), "documented");
    run(
        "ingest --recipe released --library l --rights free --data {} {}",
        &[folder.data(), folder.path("books")],
    )
    .expect(0);
    assert_eq!(recipe(""), "released");
    assert_eq!(recipe("--client-recipe documented"), "documented");
    assert_eq!(
        recipe("--client-recipe documented@00000000"),
        "unknown_recipe"
    );
}

/// An incomplete recipe is used only on explicit request, whether its job is running, cancelled or deleted.
#[test]
fn an_incomplete_recipe_answers_nobody() {
    let folder = shelf("");
    let server = Server::start(&folder.data());
    let url = server.url.as_str();
    let gems = |recipe: &Recipe| -> Vec<String> {
        recipe
            .gems(&text(0))
            .iter()
            .map(|g| recipe.write(g.gem).to_string())
            .collect()
    };
    let by_form = |recipe: &Recipe| -> Value {
        let path = format!("{url}/copyright_check_by_gems/");
        let mut answer = agent()
            .post(path)
            .send_form([("gems", gems(recipe).join(","))])
            .expect("an answer");
        answer.body_mut().read_json().expect("JSON")
    };
    let check = |more: Value| {
        let mut asked = json!({ "text": text(0) });
        asked
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        post(url, "/v1/checks", &asked)
    };
    let before = (by_form(&Recipe::documented()), check(json!({})));
    assert_eq!(
        (&before.0["verdict"], &before.1.1["verdict"]),
        (&json!("free"), &json!("free"))
    );
    assert_eq!(
        check(json!({ "recipe": "released" })).1["code"],
        "unknown_recipe"
    );

    let (_, job) = post(
        url,
        "/v1/jobs",
        &json!({ "kind": "reindex", "recipe": "released", "from": "sources" }),
    );
    let recut = |book: u64| {
        let request = agent()
            .post(format!("{url}/v1/libraries/l/recut/{book}"))
            .content_type("text/plain");
        assert!(
            request
                .send(text(book))
                .expect("an answer")
                .status()
                .is_success()
        );
    };
    recut(0);
    let answers_as_before = |lacking: u64| {
        assert_eq!((by_form(&Recipe::documented()), check(json!({}))), before);
        let (status, problem) = check(json!({ "recipe": "released" }));
        assert_eq!(
            (status, &problem["code"]),
            (409, &json!("recipe_incomplete")),
            "{problem}"
        );
        let said = problem["detail"].as_str().expect("a sentence");
        assert!(
            said.starts_with(&format!("{} of {BOOKS} books", BOOKS - lacking)),
            "{said}"
        );
        let (status, report) = check(json!({ "recipe": "released", "allow_incomplete": true }));
        assert_eq!(
            (status, &report["coverage"]),
            (200, &json!({ "books": BOOKS - lacking, "total": BOOKS })),
            "{report}"
        );
        let said = report["note"].as_str().expect("a note");
        assert!(
            said.contains(&format!(
                "{lacking} of {BOOKS} books have no gems of recipe 'released'"
            )),
            "{said}"
        );
        let refused = run(
            "check --recipe released --server {} {}",
            &[Path::new(url), &folder.path("books/1.txt")],
        );
        assert!(
            refused
                .expect(2)
                .err
                .contains("books have gems of recipe 'released', so a check")
        );
        let shown = run("stats --server {}", &[url]).expect(0).out;
        assert!(shown.contains("recipe released (incomplete): "), "{shown}");
        let allowed = "check --json --recipe released --allow-incomplete --server {} {}";
        let report = run(allowed, &[Path::new(url), &folder.path("books/1.txt")])
            .expect(0)
            .json()
            .remove(0);
        assert_eq!(report["coverage"]["total"], BOOKS, "{report}");
    };
    answers_as_before(BOOKS - 1);
    run("jobs cancel --server {} 1", &[url]).expect(0);
    assert_eq!(ended(url, &job["id"])["state"], "cancelled");
    answers_as_before(BOOKS - 1);
    // Completing it through a library's feed does not enable it either: only administrators can.
    for book in 1..BOOKS {
        let sent = json!({ "rights": "free", "text": text(book) });
        let put = agent()
            .put(format!("{url}/v1/libraries/l/books/{book}"))
            .send_json(sent)
            .expect("an answer");
        assert!(put.status().is_success());
    }
    assert_eq!(
        by_form(&Recipe::documented())["matches"],
        before.0["matches"]
    );
    assert_eq!(check(json!({ "recipe": "released" })).0, 200);
    drop(server);

    let server = Server::start(&folder.data());
    let url = server.url.as_str();
    let (_, job) = post(
        url,
        "/v1/jobs",
        &json!({ "kind": "reindex", "recipe": "released" }),
    );
    assert_eq!(ended(url, &job["id"])["state"], "done");
    let path = format!("{url}/copyright_check_by_gems/");
    let mut answer = agent()
        .post(path)
        .send_form([("gems", gems(&Recipe::released()).join(","))])
        .expect("an answer");
    let report: Value = answer.body_mut().read_json().expect("JSON");
    assert_eq!(
        (&report["recipe"], &report["verdict"]),
        (&json!("released"), &json!("free"))
    );
}

/// If some books lack gems of the default recipe, checks use the other recipes too. A check with the default alone says
/// what it lacks.
#[test]
fn no_book_is_missed_for_lack_of_the_default_recipe() {
    let folder = shelf("");
    run(
        "reindex --recipe released --allow-missing --data {}",
        &[folder.data()],
    )
    .expect(0);
    let paths = [folder.data(), folder.path("books/0.txt")];
    let report = run("check --json --data {} {}", &paths)
        .expect(0)
        .json()
        .remove(0);
    assert_eq!(
        (&report["coverage"], &report["recipes"]),
        (&Value::Null, &json!(["released", "documented"]))
    );
    assert_eq!(
        (&report["total"], &report["recipe"]),
        (&json!(1), &json!("documented"))
    );
    // Both find an exact copy, by its digest, and one finds gems in common.
    assert_eq!(
        report["matches"][0]["recipes"],
        json!(["documented", "released"])
    );
    let alone = run("check --json --recipe released --data {} {}", &paths)
        .expect(0)
        .json()
        .remove(0);
    assert_eq!(alone["coverage"], json!({ "books": 0, "total": BOOKS }));
    assert_eq!(
        (&alone["verdict"], &alone["reason"]),
        (&json!("free"), &json!("match")),
        "it is an exact copy"
    );
    let said = run("check --recipe released --data {} {}", &paths)
        .expect(0)
        .out;
    assert!(
        said.contains("40 of 40 books have no gems of recipe 'released'"),
        "{said}"
    );
    // The previous recipe is complete and can still be selected.
    let report = run("check --json --recipe documented --data {} {}", &paths)
        .expect(0)
        .json()
        .remove(0);
    assert_eq!(
        (&report["coverage"], &report["total"]),
        (&Value::Null, &json!(1))
    );
}

/// Catalogues of older versions do not record which recipes are ready. There, every complete recipe is ready.
#[test]
fn recipes_of_before_there_were_marks_are_ready_when_complete() {
    let folder = shelf("--recipe documented --recipe released");
    folder.file("one/0.txt", text(0));
    let one = [folder.path("fine.txt"), folder.data(), folder.path("one")];
    run("reindex --from sources --boundaries {} --data {} {}", &one).expect(2);
    run("jobs cancel --data {} 1", &[folder.data()]).expect(0);
    {
        let db = database(&folder.data());
        let meta = db.cf_handle("meta").expect("a family");
        let keys = db
            .iterator_cf(meta, rocksdb::IteratorMode::Start)
            .map(|entry| entry.expect("an entry").0);
        let marks: Vec<_> = keys.filter(|key| key.starts_with(b"ready\0")).collect();
        assert_eq!(marks.len(), 2, "those that the new catalogue began with");
        for mark in marks {
            db.delete_cf(meta, mark).expect("it can be written");
        }
    }
    for (recipe, status) in [("documented", 0), ("released", 0), (FINE, 2)] {
        let paths = [folder.data(), folder.path("books/0.txt")];
        run(&format!("check --recipe {recipe} --data {{}} {{}}"), &paths).expect(status);
    }
    run("verify --data {}", &[folder.data()]).expect(0);
    run("drop-recipe --data {} released", &[folder.data()]).expect(0);
    run("verify --data {}", &[folder.data()]).expect(0);
}

/// A recipe that is incomplete in an export stays so after import, and an empty server adopts the recipes of an
/// import.
#[test]
fn an_import_makes_no_recipe_ready() {
    let folder = shelf("");
    let [half, whole] = ["half.ndjson", "whole.ndjson"].map(|name| folder.path(name));
    folder.file("one/0.txt", text(0));
    let one = [folder.path("fine.txt"), folder.data(), folder.path("one")];
    run("reindex --from sources --boundaries {} --data {} {}", &one).expect(2);
    run("jobs cancel --data {} 1", &[folder.data()]).expect(0);
    run("export --data {} {}", &[&folder.data(), &half]).expect(0);
    let copy = folder.path("copy");
    run("import --data {} {}", &[&copy, &half]).expect(0);
    let named = format!("check --recipe {FINE} --data {{}} {{}}");
    for data in [folder.data(), copy] {
        let refused = run(&named, &[data, folder.path("books/0.txt")]).expect(2);
        assert!(
            refused
                .err
                .starts_with("lapidary: 1 of 40 books have gems of recipe"),
            "{}",
            refused.err
        );
    }
    let fresh = [
        folder.path("fine.txt"),
        folder.path("fresh"),
        folder.path("books"),
    ];
    run(
        "ingest --library l --rights free --boundaries {} --data {} {}",
        &fresh,
    )
    .expect(0);
    run("export --data {} {}", &[&fresh[1], &whole]).expect(0);
    let server = Server::start(&folder.path("served"));
    let own = get(&server.url, "/v1/stats")["recipes"][0]["recipe"].clone();
    run("import --server {} {}", &[Path::new(&server.url), &whole]).expect(0);
    let recipes = get(&server.url, "/v1/stats")["recipes"].clone();
    assert_eq!(
        [&recipes[0]["recipe"], &recipes[1]["recipe"], &recipes[2]],
        [&own, &json!(FINE), &Value::Null]
    );
    let (status, report) = post(&server.url, "/v1/checks", &json!({ "text": text(0) }));
    assert_eq!(
        (status, &report["total"], &report["coverage"]),
        (200, &json!(1), &Value::Null)
    );
}

/// A catalogue with books of every kind, and its export in `first.ndjson`.
fn exported() -> (Folder, Vec<u8>) {
    let folder = shelf("--keep-folds --recipe documented --recipe released");
    folder.file("short.txt", "too short for a gem");
    let metadata = folder.file(
        "known.ndjson",
        r#"{"file": "short.txt", "id": "Книга/1", "title": "Ж", "authors": ["A", "B"], "language": "ru"}"#,
    );
    let paths = [folder.data(), metadata, folder.path("short.txt")];
    run(
        "ingest --library Я --rights public_domain --data {} --metadata {} {}",
        &paths,
    )
    .expect(0);
    let server = Server::start(&folder.data());
    for (id, gems) in [("gems", json!([1, 5, 3])), ("none", json!([]))] {
        let path = format!("{}/v1/libraries/a/books/{id}", server.url);
        agent()
            .put(path)
            .send_json(json!({ "rights": "free", "gems": gems }))
            .expect("an answer");
    }
    drop(server);
    run(
        "reindex --allow-missing --recipe released --data {}",
        &[folder.data()],
    )
    .expect(0);
    let first = export(&folder, "catalogue", "first.ndjson");
    (folder, first)
}

/// Exports the catalogue `data`.
fn export(folder: &Folder, data: &str, name: &str) -> Vec<u8> {
    run(
        "export --data {} {}",
        &[folder.path(data), folder.path(name)],
    )
    .expect(0);
    fs::read(folder.path(name)).expect("an export")
}

#[test]
fn an_export_makes_the_same_catalogue_and_the_same_export() {
    let (folder, first) = exported();
    let compressed = export(&folder, "catalogue", "first.ndjson.zst");
    assert!(compressed.len() < first.len());
    let all = BOOKS + 3;
    let again = format!(", {all} of them there already");
    for (name, into, already) in [
        ("first.ndjson", "built", ""),
        ("first.ndjson.zst", "unpacked", ""),
        ("first.ndjson", "built", again.as_str()),
    ] {
        let data = folder.path(into);
        let said = run("import --data {} {}", &[&data, &folder.path(name)])
            .expect(0)
            .out;
        assert_eq!(said, format!("{all} books{already}\n"));
        run("verify --data {}", &[&data]).expect(0);
        assert!(export(&folder, into, "again.ndjson") == first, "{into}");
        assert!(
            export(&folder, into, "again.ndjson.zst") == compressed,
            "{into}"
        );
    }
    assert_eq!(
        answers(&folder, "built", "released"),
        answers(&folder, "catalogue", "released")
    );
}

/// A book is left as it is only if all of it is there: an export brings back what an older one did not have.
#[test]
fn an_import_writes_what_differs_in_any_part() {
    let (folder, first) = exported();
    let lines: Vec<&str> = std::str::from_utf8(&first)
        .expect("UTF-8")
        .lines()
        .collect();
    let at = lines
        .iter()
        .position(|line| line.contains("\"folds\":{\""))
        .expect("a book with a fold");
    let import = |name: &str| {
        run(
            "import --data {} {}",
            &[folder.path("some"), folder.path(name)],
        )
        .expect(0)
        .out
    };
    let all = BOOKS + 3;
    let one_written = format!("{all} books, {} of them there already\n", all - 1);
    for part in ["folds", "gems"] {
        let mut book: Value = serde_json::from_str(lines[at]).expect("a book");
        match part {
            "folds" => book["folds"] = json!({}),
            _ => book["gems"]["documented"]
                .as_array_mut()
                .expect("gems")
                .swap(0, 1),
        }
        let book = book.to_string();
        let mut older = lines.clone();
        older[at] = &book;
        folder.file("older.ndjson", older.join("\n") + "\n");
        let _ = fs::remove_dir_all(folder.path("some"));
        assert_eq!(import("older.ndjson"), format!("{all} books\n"), "{part}");
        assert!(export(&folder, "some", "again.ndjson") != first, "{part}");
        assert_eq!(import("first.ndjson"), one_written, "{part}");
        assert!(export(&folder, "some", "again.ndjson") == first, "{part}");
    }
    // Of two books with one id, the last one counts, also if it is there already.
    let mut other: Value = serde_json::from_str(lines[at]).expect("a book");
    other["book"]["title"] = json!("Another");
    let other = other.to_string();
    let mut twice = lines.clone();
    twice.insert(at, &other);
    let twice = twice.join("\n") + "\n";
    let count = |end: &str, books: u64| format!("\"{end}\":{books}");
    let twice = twice
        .replace(&count("books", all), &count("books", all + 1))
        .replace(&count("end", all), &count("end", all + 1));
    folder.file("twice.ndjson", twice);
    import("twice.ndjson");
    assert!(export(&folder, "some", "again.ndjson") == first);
}

#[test]
fn an_import_joins_other_books() {
    let (folder, first) = exported();
    // Other books, and other versions of the same books.
    let other = folder.path("other");
    folder.file("others/0.txt", text(77));
    folder.file("others/more.txt", text(78));
    run(
        "ingest --library l --rights free --data {} {}",
        &[&other, &folder.path("others")],
    )
    .expect(0);
    run(
        "import --data {} {}",
        &[&other, &folder.path("first.ndjson")],
    )
    .expect(0);
    run("verify --data {}", &[&other]).expect(0);
    run("books remove --library l --data {} more", &[&other]).expect(0);
    assert_eq!(
        answers(&folder, "other", "released"),
        answers(&folder, "catalogue", "released")
    );

    // Import into a server. Errors are reported, and the books before an error are kept.
    export(&folder, "catalogue", "first.ndjson.zst");
    let of_server = folder.path("served");
    run(
        "ingest --library l --rights free --data {} {}",
        &[&of_server, &folder.path("others")],
    )
    .expect(0);
    let server = Server::start(&of_server);
    let import = |name: &str| {
        run(
            &format!("import --server {} {{}}", server.url),
            &[folder.path(name)],
        )
    };
    let all = BOOKS + 3;
    assert_eq!(
        import("first.ndjson").expect(0).out,
        format!("{all} books\n")
    );
    let again = format!("{all} books, {all} of them there already\n");
    assert_eq!(import("first.ndjson.zst").expect(0).out, again);
    let broken = folder.file("broken.ndjson", [first.as_slice(), b"{}\n"].concat());
    assert!(
        import("broken.ndjson")
            .expect(2)
            .err
            .contains("there is data after the end"),
        "{broken:?}"
    );
    folder.file(
        "broken.ndjson",
        [&b"no export\n"[..], &first.repeat(50)].concat(),
    );
    assert!(
        import("broken.ndjson")
            .expect(2)
            .err
            .contains("line 1: this is not an export")
    );
    folder.file("broken.ndjson", &first[..first.len() / 2]);
    assert!(import("broken.ndjson").expect(2).err.contains("line "));
    run(
        &format!("books remove --library l --server {} more", server.url),
        &[] as &[&Path],
    )
    .expect(0);
    assert_eq!(server.stop(), Some(0));
    run("verify --data {}", &[&of_server]).expect(0);
    assert_eq!(
        answers(&folder, "served", "released"),
        answers(&folder, "catalogue", "released")
    );
}

#[test]
fn what_is_no_whole_export_creates_nothing() {
    let (folder, first) = exported();
    let lines: Vec<&[u8]> = first.split_inclusive(|byte| *byte == b'\n').collect();
    let swapped = [lines[0], lines[3], lines[2]].concat();
    let newer =
        String::from_utf8(first.clone())
            .expect("UTF-8")
            .replacen("_export\":1", "_export\":2", 1);
    let (from, to) = {
        let second = str::from_utf8(lines[1]).expect("UTF-8");
        let from = second.find("\"bytes\":").expect("a length");
        (
            from,
            from + second[from..].find(',').expect("more behind it"),
        )
    };
    let long = [
        lines[0],
        &lines[1][..from],
        b"\"bytes\":18446744073709551615",
        &lines[1][to..],
    ]
    .concat();
    let long = String::from_utf8(long).expect("UTF-8");
    for (content, says) in [
        (
            &first[..first.len() - lines[lines.len() - 1].len()],
            "incomplete",
        ),
        (&first[..first.len() / 2], "line "),
        (lines[0], "line 2: the end is missing"),
        (b"{}\n", "line 1: this is not an export"),
        (b"", "line 1: this is not an export"),
        (
            newer.as_bytes(),
            "version 2, but this program supports up to 1; update it",
        ),
        (&swapped, "is out of order"),
        (&[lines[0], lines[2], lines[2]].concat(), "occurs twice"),
        (
            &[lines[0], lines[2], lines[lines.len() - 1]].concat(),
            "the export has 1 book, but its last line says 43",
        ),
        (&[&first, lines[2]].concat(), "there is data after the end"),
        (
            long.as_bytes(),
            "line 2: the text is longer than 4294967295 bytes",
        ),
    ] {
        let bad = folder.file("bad.ndjson", content);
        let data = folder.path("bad");
        let refused = run("import --data {} {}", &[&data, &bad]);
        assert!(
            refused.status == 2 && refused.err.contains(says),
            "{says}: {refused:?}"
        );
        assert!(!data.exists());
    }
}

/// Such as one with `hardened` as it was before the first release.
#[test]
fn an_export_with_a_recipe_that_nobody_knows_is_refused() {
    let folder = Folder::new();
    folder.file("books/one.txt", prose(1, 3_000));
    run(
        "ingest --library l --rights protected --data {} {}",
        &[folder.data(), folder.path("books")],
    )
    .expect(0);
    let export = folder.path("export.ndjson");
    run("export --data {} {}", &[folder.data(), export.clone()]).expect(0);
    let written = fs::read_to_string(&export).expect("an export");
    let earlier = written.replacen("\"window\":184,\"bits\":48", "\"window\":110", 1);
    assert_ne!(earlier, written);
    fs::write(&export, earlier).expect("it can be written");
    let data = folder.path("imported");
    let refused = run("import --data {} {}", &[data.clone(), export]).expect(2);
    assert!(
        refused.err.contains("line 1: ") && refused.err.contains("hardened"),
        "{}",
        refused.err
    );
    assert!(!data.exists());
}

#[test]
fn what_verify_finds_can_be_mended() {
    let folder = shelf("--keep-folds");
    let export = folder.path("export.ndjson");
    run("export --data {} {}", &[folder.data(), export.clone()]).expect(0);
    let before = fs::read(&export).expect("an export");
    {
        let db = database(&folder.data());
        let family = |name| db.cf_handle(name).expect("a family");
        for (name, every) in [
            ("postings", 2),
            ("delta", 3),
            ("ids", 4),
            ("gems", 5),
            ("terms", 2),
        ] {
            let keys = db
                .iterator_cf(family(name), rocksdb::IteratorMode::Start)
                .step_by(every);
            for key in keys
                .map(|entry| entry.expect("an entry").0)
                .collect::<Vec<_>>()
            {
                db.delete_cf(family(name), key).expect("it can be written");
            }
        }
        db.put_cf(family("meta"), b"library\0ghosts", b"{}")
            .expect("it can be written");
        db.delete_cf(family("meta"), b"next")
            .expect("it can be written");
    }
    let found = run("verify --data {}", &[folder.data()]).expect(3);
    assert!(
        found.err.contains("repair them with --fix"),
        "{}",
        found.err
    );
    let mended = run("verify --fix --data {}", &[folder.data()]).expect(0);
    assert!(
        mended.out.contains("fault") && mended.out.contains("; no inconsistencies left"),
        "{}",
        mended.out
    );
    run("verify --data {}", &[folder.data()]).expect(0);
    // Rebuilding from stored folds loses nothing.
    run("export --data {} {}", &[folder.data(), export.clone()]).expect(0);
    assert!(fs::read(&export).expect("an export") == before);
}

/// Only one in three gems of `hardened` has a posting.
#[test]
fn a_catalogue_without_a_recipe_it_had_is_whole() {
    let folder = Folder::new();
    for book in 0..6 {
        folder.file(&format!("books/{book}.txt"), text(book));
    }
    let (data, backups) = (folder.data(), folder.path("backups"));
    let ingest =
        "ingest --recipe documented --recipe hardened --library l --rights protected --data {} {}";
    run(ingest, &[&data, &folder.path("books")]).expect(0);
    run("compact --data {}", &[&data]).expect(0);
    run("drop-recipe --data {} hardened", &[&data]).expect(0);
    run("verify --data {}", &[&data]).expect(0);
    run("backup --data {} --to {}", &[&data, &backups]).expect(0);
    run(
        "restore --from {} --data {}",
        &[&backups, &folder.path("restored")],
    )
    .expect(0);
    run("verify --data {}", &[&folder.path("restored")]).expect(0);
}

/// A link that somebody left below the folder for backups leads nowhere: not a backup's folder, and nothing in it.
#[test]
fn a_backup_follows_no_link_below_its_folder() {
    let folder = Folder::new();
    let (data, backups, elsewhere) = (
        folder.data(),
        folder.path("backups"),
        folder.path("elsewhere"),
    );
    let book = folder.file("book.txt", text(1));
    run(
        "ingest --data {} --library l --rights free {}",
        &[&data, &book],
    )
    .expect(0);
    for folder in [&backups, &elsewhere] {
        fs::create_dir(folder).expect("a folder");
    }
    let server = Server::start_with("--backups {}", &[&backups], &data);
    let backup = |name: &str| {
        post(
            &server.url,
            "/v1/jobs",
            &json!({ "kind": "backup", "to": name }),
        )
    };
    let (status, job) = backup("good");
    assert_eq!(status, 202, "{job}");
    assert_eq!(ended(&server.url, &job["id"])["state"], "done");
    std::os::unix::fs::symlink(&elsewhere, backups.join("linked")).expect("a link");
    let inside = backups.join("good/private");
    fs::rename(&inside, elsewhere.join("private")).expect("it is moved");
    std::os::unix::fs::symlink(elsewhere.join("private"), &inside).expect("a link");
    for name in ["linked", "good"] {
        let before = fs::read_dir(elsewhere.join("private"))
            .expect("a folder")
            .count();
        let (status, problem) = backup(name);
        assert_eq!(
            (status, &problem["code"]),
            (422, &json!("bad_task")),
            "{name}: {problem}"
        );
        assert!(
            problem["detail"]
                .as_str()
                .expect("why")
                .contains("is a symbolic link"),
            "{problem}"
        );
        assert_eq!(
            fs::read_dir(elsewhere.join("private"))
                .expect("a folder")
                .count(),
            before
        );
    }
    assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 1);
}

/// A catalogue whose calls of the store can be stopped.
fn stoppable(folder: &Folder) -> (Catalogue, Arc<Stop>) {
    let stop = Arc::new(Stop::default());
    let on_call = Arc::clone(&stop);
    let store = RocksStore::open_or_create(&folder.data()).unwrap();
    let catalogue = Catalogue::with_store(Box::new(Watched(Box::new(store), move |call| {
        on_call.on(call);
        Ok(())
    })));
    (catalogue, stop)
}

/// Whoever lists jobs does not wait for what one of them writes, however long a node takes to acknowledge it.
#[test]
fn jobs_are_listed_while_one_of_them_writes() {
    let folder = Folder::new();
    let (catalogue, stop) = stoppable(&folder);
    let catalogue = Arc::new(catalogue);
    let editor = catalogue.by(Actor::Local);
    editor.recipes().ensure(&[]).unwrap();
    // Not the change that starts the job, but the next one.
    stop.at(Call::Apply, 1);
    let task = Task::Reindex {
        recipe: RecipeChoice::Named("documented".to_owned()),
        from: ReindexInput::Folds,
        drop_old: false,
        allow_missing: false,
    };
    start_job(&catalogue, &editor, task).unwrap();
    stop.reached();
    let (tell, told) = mpsc::channel();
    let of = Arc::clone(&catalogue);
    thread::spawn(move || tell.send(of.jobs().all().unwrap().len()));
    let listed = told.recv_timeout(Duration::from_secs(5));
    stop.release();
    catalogue.jobs().stop();
    assert_eq!(listed, Ok(1));
}

/// A change of the recipes waits for books that are being added, and nobody waits for that.
#[test]
fn books_are_added_while_a_change_of_the_recipes_waits_for_one() {
    let folder = Folder::new();
    let (catalogue, stop) = stoppable(&folder);
    let add = |book: u64| {
        let key = BookKey {
            library: "l".parse().unwrap(),
            id: book.to_string().parse().unwrap(),
        };
        catalogue
            .by(Actor::Local)
            .books()
            .add(NewEntry::new(key, Rights::Free, Content::text(text(book))))
            .unwrap();
    };
    add(1);
    stop.at(Call::Put, 0);
    thread::scope(|scope| {
        let slow = scope.spawn(|| add(2));
        stop.reached();
        let change = scope.spawn(|| {
            catalogue
                .by(Actor::Local)
                .recipes()
                .ensure(&[Recipe::documented()])
                .unwrap()
        });
        // It waits by now, unless this machine is very slow. Then the test proves nothing.
        sleep(Duration::from_millis(500));
        let quick = scope.spawn(|| add(3));
        let since = Instant::now();
        while !quick.is_finished() && since.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(10));
        }
        let (was_added, waits) = (quick.is_finished(), !change.is_finished());
        stop.release();
        assert!(was_added, "another book waits");
        assert!(waits, "recipes are changed while a book is being added");
        slow.join().unwrap();
        assert_eq!(change.join().unwrap().len(), 4);
    });
}
