//! State after the program is killed or the disk is full: every acknowledged book, complete, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::common::{Folder, LAPIDARY, Random, Server, command, prose, run};
use lapidary_catalogue::api::JobState;
use lapidary_catalogue::{Catalogue, CheckOptions, Query, SoughtDecisions, Text};
use lapidary_gems::{Boundaries, Recipe};
use lapidary_store::{Action, Actor, AuditFrom, BookId, BookKey, Library};
use serde_json::{Value, json};

const BOOKS: u64 = 24;
const ROUNDS: u64 = 50;

/// The text of one version of a book.
fn text(book: u64, version: u64) -> String {
    prose(1_000 * version + book, 3_000)
}

/// What is in the log takes more space than in tables, and the next start has to read it.
#[test]
fn a_catalogue_that_is_closed_has_no_long_log() {
    let folder = Folder::new();
    for book in 0..12 {
        folder.file(&format!("books/{book}.txt"), prose(book, 60_000));
    }
    let paths = [folder.data(), folder.path("books")];
    run("ingest --data {} --library l --rights protected {}", &paths).expect(0);
    let files = fs::read_dir(folder.data()).expect("the catalogue");
    let files = files.map(|entry| entry.expect("a file").path());
    let logs = files.filter(|path| path.extension().is_some_and(|kind| kind == "log"));
    let lengths: Vec<u64> = logs
        .map(|log| log.metadata().expect("a log").len())
        .collect();
    assert!(!lengths.is_empty() && lengths.iter().all(|length| *length < 1 << 20));
    let report = run(
        "check --json --data {} {}",
        &[folder.data(), folder.path("books/7.txt")],
    );
    let report = report.expect(1).json().remove(0);
    assert_eq!(report["matches"][0]["identical"], true, "{report}");
}

#[test]
fn killed_fifty_times_at_random() {
    let folder = Folder::new();
    for version in 0..2 {
        for book in 0..BOOKS {
            folder.file(&format!("{version}/{book}.txt"), text(book, version));
        }
    }
    // Measure how long an ingest takes here, so that most runs are killed before they finish.
    let takes = (0..3).map(|i| {
        let begun = Instant::now();
        let paths = [folder.path(&format!("timed-{i}")), folder.path("0")];
        run(
            "ingest --json --data {} --library l --rights free {}",
            &paths,
        )
        .expect(0);
        begun.elapsed().as_micros() as u64
    });
    let takes = takes.min().expect("three runs");
    let mut random = Random(50);
    // The version last acknowledged and any version attempted since are both possible.
    let mut may_be: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let (mut acknowledged, mut cut_short) = (0, 0);
    for round in 0..ROUNDS {
        let version = round % 2;
        let paths = [folder.data(), folder.path(&version.to_string())];
        let keep = if version == 0 { "--keep-texts" } else { "" };
        let mut ingest = command(
            &format!("ingest --json --data {{}} --library l --rights free {keep} {{}}"),
            &paths,
        );
        let mut child = ingest
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut said = String::new();
        // Every third one once books are acknowledged, however long that takes.
        if round % 3 == 2 {
            out.read_line(&mut said).expect("UTF-8");
        }
        sleep(Duration::from_micros(random.below(takes)));
        child.kill().expect("SIGKILL");
        child.wait().expect("it ends");
        out.read_to_string(&mut said).expect("UTF-8");
        let lines: Vec<&str> = said
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .collect();
        for book in 0..BOOKS {
            may_be.entry(book).or_default().push(version);
        }
        for line in &lines {
            let line: Value = serde_json::from_str(line).expect("a whole line");
            let book = line["book"]["id"]
                .as_str()
                .and_then(|id| id.parse().ok())
                .expect("a number");
            // Now only this version is possible.
            may_be.insert(book, vec![version, u64::MAX]);
            acknowledged += 1;
        }
        cut_short += u64::from(lines.len() < BOOKS as usize);
        if folder.data().exists() {
            inspect(&folder, &mut may_be);
        }
    }
    println!("{acknowledged} books acknowledged, {cut_short} of {ROUNDS} ingests cut short");
    assert!(
        acknowledged >= BOOKS && cut_short >= ROUNDS / 10,
        "killed too early or too late to show anything"
    );
}

/// Every book is complete and has a possible version. No book that was acknowledged or seen before is missing, and the
/// store is consistent.
fn inspect(folder: &Folder, may_be: &mut BTreeMap<u64, Vec<u64>>) {
    let catalogue = match Catalogue::open(&folder.data()) {
        Ok(catalogue) => catalogue,
        // The process was killed before it created the catalogue, so nothing can have been acknowledged.
        Err(error) => {
            assert!(
                may_be
                    .values()
                    .all(|versions| !versions.contains(&u64::MAX)),
                "{error}"
            );
            return;
        }
    };
    assert_eq!(catalogue.verify().expect("it can be read"), [""; 0]);
    in_step(&catalogue);
    let library: Library = "l".parse().expect("a name");
    for (&book, versions) in may_be.iter_mut() {
        let id: BookId = book.to_string().parse().expect("a name");
        let record = catalogue
            .books()
            .get(&BookKey {
                library: library.clone(),
                id: id.clone(),
            })
            .expect("it can be read");
        let Some(record) = record else {
            assert!(
                !versions.contains(&u64::MAX),
                "book {book} was acknowledged"
            );
            continue;
        };
        let found = |version: u64| {
            let options = CheckOptions::default();
            let report = catalogue
                .checks()
                .report(&Query::text(text(book, version)), &options)
                .expect("a report");
            report
                .matches
                .iter()
                .any(|m| m.book.id == id.as_str() && m.score.share_of_book >= 1.0)
        };
        let is: Vec<u64> = (0..2).filter(|&version| found(version)).collect();
        assert_eq!(is.len(), 1, "book {book} is one text, whole: {is:?}");
        assert!(
            versions.contains(&is[0]),
            "book {book}: {is:?} of {versions:?}"
        );
        let text = text(book, is[0]);
        for (name, &count) in &record.gems {
            let recipe = catalogue.recipes().get(Some(name)).expect("a recipe");
            assert_eq!(
                count as usize,
                Text::new(&text, None).gems(&recipe).len(),
                "{name}"
            );
        }
        // A version found on disk stays until it is replaced.
        *versions = vec![is[0], u64::MAX];
    }
}

/// Replaying the audit log gives exactly the books in the catalogue.
fn in_step(catalogue: &Catalogue) {
    let mut told: BTreeMap<(String, String), String> = BTreeMap::new();
    for entry in catalogue
        .audit()
        .page(AuditFrom::Behind(0), usize::MAX - 1)
        .expect("it can be read")
        .entries
    {
        match entry.action {
            Action::Added(book) => {
                assert_eq!(told.insert((book.library, book.id), book.digest), None);
            }
            Action::Replaced(book) => {
                assert!(told.insert((book.library, book.id), book.digest).is_some());
            }
            Action::Removed(book) => {
                assert_eq!(told.remove(&(book.library, book.id)), Some(book.digest));
            }
            _ => {}
        }
    }
    let mut there = BTreeMap::new();
    for summary in catalogue.libraries().list().expect("it can be read") {
        for book in catalogue
            .books()
            .page(&summary.library, None, usize::MAX - 1)
            .expect("it can be read")
            .books
        {
            there.insert(
                (book.key.library.to_string(), book.key.id.to_string()),
                book.digest,
            );
        }
    }
    assert_eq!(told, there);
}

/// How many times the server is killed. Set `LAPIDARY_KILLS=200` for a thorough run.
fn kills() -> u64 {
    std::env::var("LAPIDARY_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(20)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    version: u64,
    disabled: bool,
}

/// The possible states of each book, by number. `None`: the book is absent. The last state is the last one requested.
type MayBe = Mutex<BTreeMap<u64, Vec<Option<State>>>>;

/// Adds, replaces, disables, enables and removes books until the server is killed. An acknowledged state becomes the
/// only possible one.
fn feed(url: &str, books: &[u64], random: &mut Random, may_be: &MayBe) -> u64 {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let mut acknowledged = 0;
    loop {
        let book = books[random.below(books.len() as u64) as usize];
        // As long as the server is alive, each response leaves one possible state.
        let before = may_be
            .lock()
            .expect("no panic")
            .get(&book)
            .and_then(|states| *states.last().expect("a way"));
        let (version, disabled) = (random.below(3), random.below(2) == 0);
        let (now, method, body) = match random.below(8) {
            0..2 => (None, "DELETE", None),
            2..4 => (
                before.map(|state| State { disabled, ..state }),
                "PATCH",
                Some(json!({ "disabled": disabled })),
            ),
            _ => {
                let now = State {
                    version,
                    disabled: before.is_some_and(|state| state.disabled),
                };
                let keep = random.below(2) == 0;
                (
                    Some(now),
                    "PUT",
                    Some(
                        json!({ "rights": "free", "text": text(book, version), "keep_text": keep }),
                    ),
                )
            }
        };
        may_be
            .lock()
            .expect("no panic")
            .entry(book)
            .or_insert_with(|| vec![None])
            .push(now);
        let path = format!("{url}/v1/libraries/l/books/{book}");
        let answer = match (method, body) {
            ("PUT", Some(body)) => agent.put(path).send_json(body),
            ("PATCH", Some(body)) => agent.patch(path).send_json(body),
            _ => agent.delete(path).call(),
        };
        let Ok(mut answer) = answer else {
            return acknowledged;
        };
        match answer.status().as_u16() {
            200 | 201 | 204 | 404 => may_be.lock().expect("no panic").insert(book, vec![now]),
            status => panic!("{status}: {:?}", answer.body_mut().read_to_string()),
        };
        acknowledged += 1;
    }
}

fn ask(url: &str, path: &str, body: Option<Value>) -> Option<Value> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let answer = match body {
        Some(body) => agent.post(format!("{url}{path}")).send_json(body),
        None => agent.get(format!("{url}{path}")).call(),
    };
    answer.ok()?.body_mut().read_json().ok()
}

/// Kills the server while books change and the catalogue switches between two recipes.
#[test]
fn a_server_killed_under_load_loses_nothing_it_acknowledged() {
    let folder = Folder::new();
    let may_be = MayBe::default();
    let mut random = Random(77);
    let (mut acknowledged, mut reindexed, mut slowest) = (0, 0, Duration::ZERO);
    {
        let catalogue = Catalogue::open_or_create(&folder.data()).expect("a catalogue");
        catalogue
            .by(Actor::Local)
            .recipes()
            .ensure(&[Recipe::documented()])
            .expect("a recipe");
    }
    for round in 0..kills() {
        let begun = Instant::now();
        let server = Server::start_with("--keep-folds", &[], &folder.data());
        slowest = slowest.max(begun.elapsed());
        let url = server.url.clone();

        // The states found after the restart are now the only possible ones.
        for (book, versions) in may_be.lock().expect("no panic").iter_mut() {
            let record =
                ask(&url, &format!("/v1/libraries/l/books/{book}"), None).expect("an answer");
            let digest = record["digest"].as_str();
            let of = |version| {
                digest
                    == Some(
                        blake3::hash(text(*book, version).as_bytes())
                            .to_string()
                            .as_str(),
                    )
            };
            let disabled = !record["standing"]["disabled_at"].is_null();
            let found = (0..3)
                .find(|version| of(*version))
                .map(|version| State { version, disabled });
            assert!(
                found.is_some() || record["code"] == "no_such_book",
                "round {round}: {record}"
            );
            assert!(
                versions.contains(&found),
                "round {round}: book {book} is {found:?}, not of {versions:?}"
            );
            if let Some(State { version, disabled }) = found {
                let report = ask(
                    &url,
                    "/v1/checks",
                    Some(json!({ "text": text(*book, version) })),
                );
                let report = report.expect("an answer");
                let name = Some(book.to_string());
                let named = |found: &Value| found["book"]["id"].as_str() == name.as_deref();
                let whole = |found: &Value| named(found) && found["share_of_book"] == 1.0;
                let matches = report["matches"].as_array().expect("matches");
                assert_eq!(
                    matches.iter().any(whole),
                    !disabled,
                    "round {round}: book {book}, {found:?}: {report}"
                );
                assert!(
                    !disabled || report["disabled"] == 1,
                    "round {round}: book {book}, {found:?}: {report}"
                );
            }
            *versions = vec![found];
        }
        let jobs = ask(&url, "/v1/jobs", None).expect("an answer");
        let done = jobs["jobs"]
            .as_array()
            .expect("jobs")
            .iter()
            .filter(|job| job["state"] == "done")
            .count();
        assert!(
            !jobs.to_string().contains("\"failed\""),
            "round {round}: {jobs}"
        );
        reindexed = reindexed.max(done);

        thread::scope(|scope| {
            let feeders: Vec<_> = (0..3)
                .map(|feeder| {
                    let books: Vec<u64> = (0..BOOKS).filter(|book| book % 3 == feeder).collect();
                    let (url, may_be, mut random) = (&url, &may_be, Random(random.below(u64::MAX)));
                    scope.spawn(move || feed(url, &books, &mut random, may_be))
                })
                .collect();
            // An interrupted job resumes, and this request is then refused. The recipes differ only in their
            // boundaries, because stored folds are valid for only one set of letters.
            let fine =
                Boundaries::new(Boundaries::standard().sequences(), 100).expect("boundaries");
            let fine = Recipe::documented().with_boundaries(fine);
            let recipe = if round % 2 == 0 {
                fine
            } else {
                Recipe::documented()
            };
            let task = json!({ "kind": "reindex", "recipe": recipe, "drop_old": round % 3 == 0 });
            ask(&url, "/v1/jobs", Some(task)).expect("an answer");
            sleep(Duration::from_millis(random.below(400)));
            drop(server);
            acknowledged += feeders
                .into_iter()
                .map(|feeder| feeder.join().expect("no wrong answer"))
                .sum::<u64>();
        });
        if folder.data().exists() && round % 4 == 3 {
            let catalogue = Catalogue::open(&folder.data()).expect("a catalogue");
            assert_eq!(
                catalogue.verify().expect("it can be read"),
                [""; 0],
                "round {round}"
            );
        }
    }
    println!(
        "{acknowledged} changes acknowledged, {reindexed} re-indexes done; the slowest start took {slowest:?}"
    );
    assert!(
        acknowledged > 3 * kills() && reindexed > 0,
        "{acknowledged} {reindexed}"
    );
}

/// Paths that an administrator can create and remove, and whether each exists.
type Made = BTreeMap<String, bool>;

/// Creates, changes and removes keys, allow-lists, webhooks and jobs until the server is killed. Acknowledged changes
/// are recorded in `made`. Returns the path of the unfinished change and the number of acknowledged calls.
fn administer(
    url: &str,
    secret: &str,
    lane: u64,
    random: &mut Random,
    made: &mut Made,
) -> (Option<String>, u64) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let bearer = format!("Bearer {secret}");
    let mut acknowledged = 0;
    loop {
        let name = format!("{lane}-{}", random.below(3));
        let (path, method, at, body) = match random.below(9) {
            0..2 => (
                format!("keys/{name}"),
                "POST",
                "keys".to_owned(),
                json!({ "name": name, "role": "check" }),
            ),
            2 => (
                format!("keys/{name}"),
                "POST",
                format!("keys/{name}/rotate"),
                json!({ "overlap_seconds": 60 }),
            ),
            3 => (
                format!("keys/{name}"),
                "DELETE",
                format!("keys/{name}"),
                Value::Null,
            ),
            4 => (
                format!("allow-lists/{name}"),
                "PUT",
                format!("allow-lists/{name}"),
                json!({ "gems": [random.below(9)] }),
            ),
            5 => (
                format!("allow-lists/{name}"),
                "DELETE",
                format!("allow-lists/{name}"),
                Value::Null,
            ),
            6 => {
                let path = format!("libraries/{name}/webhook");
                (
                    path.clone(),
                    "PUT",
                    path,
                    json!({ "url": "https://books.example/told" }),
                )
            }
            7 => {
                let path = format!("libraries/{name}/webhook");
                (path.clone(), "DELETE", path, Value::Null)
            }
            _ => {
                let kind = ["verify", "compact"][random.below(2) as usize];
                (
                    String::new(),
                    "POST",
                    "jobs".to_owned(),
                    json!({ "kind": kind }),
                )
            }
        };
        let send = |method: &str, at: &str, body: &Value| {
            let url = format!("{url}/v1/{at}");
            match method {
                "POST" => agent
                    .post(url)
                    .header("Authorization", &bearer)
                    .send_json(body),
                "PUT" => agent
                    .put(url)
                    .header("Authorization", &bearer)
                    .send_json(body),
                _ => agent.delete(url).header("Authorization", &bearer).call(),
            }
        };
        let Ok(mut answer) = send(method, &at, &body) else {
            return (Some(path), acknowledged);
        };
        let (status, answer) = (
            answer.status().as_u16(),
            answer.body_mut().read_json::<Value>().unwrap_or_default(),
        );
        assert!(status < 500, "{method} {at}: {status} {answer}");
        acknowledged += 1;
        if path.is_empty() {
            // Cancel every other job.
            if let Some(job) = answer["id"].as_u64().filter(|job| job % 2 == 0)
                && send("POST", &format!("jobs/{job}/cancel"), &Value::Null).is_err()
            {
                return (None, acknowledged);
            }
        } else if !(at.ends_with("/rotate") && status == 404) {
            made.insert(path, method != "DELETE");
        }
    }
}

/// Asserts that keys, allow-lists, webhooks and jobs match the audit log, and returns the paths of the first three.
fn administered_in_step(catalogue: &Catalogue) -> BTreeSet<String> {
    let (mut keys, mut settings) = (BTreeSet::new(), BTreeSet::new());
    let (mut started, mut cancelled) = (BTreeSet::new(), BTreeSet::new());
    for entry in catalogue
        .audit()
        .page(AuditFrom::Behind(0), usize::MAX - 1)
        .expect("it can be read")
        .entries
    {
        match entry.action {
            Action::KeyMade { name, id } => assert!(keys.insert((name, id))),
            Action::KeyRevoked { name } => keys.retain(|(of, _)| *of != name),
            Action::Setting {
                kind,
                name,
                removed: false,
            } => _ = settings.insert((kind, name)),
            Action::Setting {
                kind,
                name,
                removed: true,
            } => assert!(settings.remove(&(kind, name))),
            Action::JobStarted { job, .. } => _ = started.insert(job),
            Action::JobCancelled { job } => assert!(cancelled.insert(job)),
            _ => {}
        }
    }
    let there: BTreeSet<_> = catalogue
        .keys()
        .list()
        .expect("they can be read")
        .into_iter()
        .map(|key| (key.name, key.id))
        .collect();
    assert_eq!(there, keys);
    let allowed = catalogue
        .allow_lists()
        .list()
        .expect("they can be read")
        .into_iter();
    let allowed = allowed.map(|list| ("allow".to_owned(), list.name.to_string()));
    let webhooks = catalogue
        .webhooks()
        .of_libraries()
        .expect("they can be read")
        .into_iter();
    let webhooks = webhooks.map(|webhook| ("webhook".to_owned(), webhook.library.to_string()));
    assert_eq!(allowed.chain(webhooks).collect::<BTreeSet<_>>(), settings);
    let jobs = catalogue.jobs().all().expect("they can be read");
    // Old jobs are deleted when there are many.
    assert!(
        jobs.iter().all(|job| started.contains(&job.id)) && jobs.len() >= started.len().min(100)
    );
    for job in jobs {
        assert_eq!(
            job.state == JobState::Cancelled,
            cancelled.contains(&job.id),
            "{job:?}"
        );
    }
    let path = |(kind, name): (String, String)| match kind.as_str() {
        "allow" => format!("allow-lists/{name}"),
        _ => format!("libraries/{name}/webhook"),
    };
    keys.into_iter()
        .map(|(name, _)| format!("keys/{name}"))
        .chain(settings.into_iter().map(path))
        .collect()
}

/// An administrative change and its audit entry are atomic, whenever the server is killed.
#[test]
fn a_server_killed_while_it_is_administered_is_in_step_with_its_audit_log() {
    let folder = Folder::new();
    let made = run("keys add --data {} --role admin boss", &[folder.data()]).expect(0);
    let boss = made.out.lines().last().expect("a secret").to_owned();
    let mut random = Random(15);
    let mut lanes: Vec<Made> = vec![Made::new(); 4];
    let mut acknowledged = 0;
    for round in 0..kills() {
        let server = Server::start(&folder.data());
        let url = server.url.clone();
        let tried = thread::scope(|scope| {
            let (url, boss) = (&url, &boss);
            let running: Vec<_> = (0..)
                .zip(&mut lanes)
                .map(|(lane, made)| {
                    let mut random = Random(random.below(u64::MAX));
                    scope.spawn(move || administer(url, boss, lane, &mut random, made))
                })
                .collect();
            sleep(Duration::from_millis(20 + random.below(300)));
            drop(server);
            running
                .into_iter()
                .map(|lane| lane.join().expect("no wrong answer"))
                .collect::<Vec<_>>()
        });
        let catalogue = Catalogue::open(&folder.data()).expect("a catalogue");
        let there = administered_in_step(&catalogue);
        for (made, (tried, count)) in lanes.iter_mut().zip(tried) {
            acknowledged += count;
            for (path, is_there) in made
                .iter()
                .filter(|(path, _)| Some(*path) != tried.as_ref())
            {
                assert_eq!(there.contains(path), *is_there, "round {round}: {path}");
            }
            // The unfinished change has either happened or not; keep what was found.
            made.extend(tried.map(|path| (path.clone(), there.contains(&path))));
        }
    }
    println!("{acknowledged} changes acknowledged");
    assert!(acknowledged > 3 * kills(), "{acknowledged}");
}

#[test]
fn a_full_disk_is_said_and_leaves_nothing_half_written() {
    let folder = Folder::new();
    for book in 0..200 {
        folder.file(&format!("books/{book}.txt"), text(book, 0));
    }
    // A file size limit interrupts writes just as a full disk does, without filling one.
    let script = "trap '' XFSZ; ulimit -f 100; exec \"$0\" ingest --json --library l --rights free --data \"$1\" \"$2\"";
    let mut ingest = Command::new("sh");
    ingest
        .args(["-c", script, LAPIDARY])
        .args([folder.data(), folder.path("books")]);
    let mut child = ingest
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    let acknowledged: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(&line.expect("UTF-8")).expect("a line of JSON"))
        .collect();
    let mut err = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut err)
        .expect("UTF-8");
    assert_eq!(child.wait().expect("it ends").code(), Some(3), "{err}");
    assert!(err.contains("is full"), "{err}");
    assert!(acknowledged.len() < 200);
    let mut may_be: BTreeMap<u64, Vec<u64>> = (0..200).map(|book| (book, vec![0])).collect();
    for line in acknowledged {
        let book = line["book"]["id"]
            .as_str()
            .and_then(|id| id.parse().ok())
            .expect("a number");
        may_be.insert(book, vec![0, u64::MAX]);
    }
    inspect(&folder, &mut may_be);
    run(
        "ingest --library l --rights free --data {} {}",
        &[folder.data(), folder.path("books")],
    )
    .expect(0);
    run("verify --data {}", &[folder.data()]).expect(0);
}

/// A gated book is there with all its parts or not at all, never twice; a filed check is there with its report and its audit
/// log entry, and a decision with its check.
#[test]
fn a_killed_server_leaves_no_half_of_a_gated_book_or_a_decision() {
    let folder = Folder::new();
    let mut random = Random(17);
    let mut acknowledged: BTreeSet<String> = BTreeSet::new();
    let mut added: BTreeSet<u64> = BTreeSet::new();
    // On a slow machine, the first rounds may be too short to add anything.
    for round in 0..60_u64 {
        if round >= 10 && added.len() > 3 && acknowledged.len() > 10 {
            break;
        }
        let server = Server::start(&folder.data());
        let (decisions, books) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for client in 0..4_u64 {
                let (url, decisions, books) = (server.url.clone(), &decisions, &books);
                scope.spawn(move || {
                    let agent: ureq::Agent = ureq::Agent::config_builder()
                        .http_status_as_error(false)
                        .build()
                        .into();
                    for step in 0_u64.. {
                        // Every text is sent by all clients.
                        let number = 100 * round + step;
                        let text = prose(number, 2_000);
                        let path = format!(
                            "{url}/v1/libraries/l/books/{number}-{client}?unless=protected"
                        );
                        let book = json!({ "rights": "protected", "text": text });
                        let Ok(answer) = agent.put(path).send_json(&book) else {
                            return;
                        };
                        if answer.status() == 201 {
                            books.lock().expect("alive").push(number);
                        }
                        let Ok(mut answer) = agent
                            .post(format!("{url}/v1/checks"))
                            .send_json(json!({ "text": text, "record": true }))
                        else {
                            return;
                        };
                        let Ok(report) = answer.body_mut().read_json::<Value>() else {
                            return;
                        };
                        let id = report["filed"].as_str().expect("an id").to_owned();
                        decisions.lock().expect("alive").push(id.clone());
                        let new = json!({ "check": id, "ruling": "accepted", "reason": "a test" });
                        let Ok(mut answer) =
                            agent.post(format!("{url}/v1/decisions")).send_json(new)
                        else {
                            return;
                        };
                        let Ok(made) = answer.body_mut().read_json::<Value>() else {
                            return;
                        };
                        decisions
                            .lock()
                            .expect("alive")
                            .push(made["id"].as_str().expect("an id").to_owned());
                    }
                });
            }
            sleep(Duration::from_millis(50 + 20 * round + random.below(250)));
            let killed = Command::new("kill")
                .args(["-KILL", &server.pid().to_string()])
                .status()
                .expect("kill runs");
            assert!(killed.success());
        });
        drop(server);
        acknowledged.extend(decisions.into_inner().expect("alive"));
        for number in books.into_inner().expect("alive") {
            assert!(added.insert(number), "text {number} was added twice");
        }
        let catalogue = Catalogue::open(&folder.data()).expect("it opens");
        assert_eq!(catalogue.verify().expect("it can be read"), [""; 0]);
        in_step(&catalogue);
        decisions_in_step(&catalogue, &acknowledged);
        let library: Library = "l".parse().expect("a name");
        let page = catalogue.books().page(&library, None, usize::MAX - 1);
        let digests: Vec<String> = page
            .map(|page| page.books.into_iter().map(|book| book.digest).collect())
            .unwrap_or_default();
        assert_eq!(
            digests.iter().collect::<BTreeSet<_>>().len(),
            digests.len(),
            "no text is there twice"
        );
        assert!(
            digests.len() >= added.len(),
            "{} of {} books",
            digests.len(),
            added.len()
        );
    }
    assert!(
        added.len() > 3 && acknowledged.len() > 10,
        "killed too early to show anything"
    );
}

/// Entries and the audit log agree, and every acknowledged entry is there, with its report.
fn decisions_in_step(catalogue: &Catalogue, acknowledged: &BTreeSet<String>) {
    let mut there = BTreeSet::new();
    let mut cursor = None;
    loop {
        let page = catalogue
            .decisions()
            .page(&SoughtDecisions::default(), None, cursor.as_deref(), 1_000)
            .expect("a page");
        for entry in page.decisions {
            let check = catalogue
                .decisions()
                .get(&entry.check, None)
                .expect("the check of every decision");
            let digest = check.filed.map(|_| check.digest);
            assert_eq!(digest, Some(entry.digest), "{}", entry.id);
            there.insert(entry.id);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let entries = catalogue
        .audit()
        .page(AuditFrom::Behind(0), usize::MAX - 1)
        .expect("it can be read")
        .entries;
    let told: BTreeSet<String> = entries
        .into_iter()
        .filter_map(|entry| match entry.action {
            Action::Decided { decision, .. } => Some(decision),
            _ => None,
        })
        .collect();
    assert_eq!(told, there);
    assert!(
        acknowledged.is_subset(&there),
        "an acknowledged decision is missing"
    );
}
