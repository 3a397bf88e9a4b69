//! Resource exhaustion while the server works: file descriptors, disk space and a steady clock. The server reports it,
//! loses nothing, and recovers by itself where it can.

use crate::common;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Folder, Server, prose, run, until};
use serde_json::{Value, json};
use ureq::Agent;

/// Words per book.
const WORDS: usize = 12_000;

fn agent() -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(20)));
    config.build().into()
}

/// The status and body of the response, if there was one.
fn answer(sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Option<(u16, Value)> {
    let mut answer = sent.ok()?;
    let body = answer.body_mut().read_to_string().ok()?;
    Some((
        answer.status().as_u16(),
        serde_json::from_str(&body).unwrap_or_default(),
    ))
}

fn put(server: &Server, book: u64) -> Option<(u16, Value)> {
    let body = json!({ "rights": "protected", "text": prose(book, WORDS) });
    answer(
        agent()
            .put(format!("{}/v1/libraries/l/books/{book}", server.url))
            .send_json(body),
    )
}

fn get(server: &Server, path: &str) -> Option<(u16, Value)> {
    answer(agent().get(format!("{}{path}", server.url)).call())
}

/// Runs a job and returns its final state.
fn job(server: &Server, task: &Value) -> Value {
    let (mut status, mut started) = (409, Value::Null);
    // A job whose end could not be recorded for lack of space runs again first.
    until("the job before it does not end", || {
        let sent = agent()
            .post(format!("{}/v1/jobs", server.url))
            .send_json(task);
        (status, started) = answer(sent).expect("an answer");
        status != 409
    });
    assert!([200, 201, 202].contains(&status), "{started}");
    let mut job = Value::Null;
    until("the job does not end", || {
        job = get(server, &format!("/v1/jobs/{}", started["id"]))
            .expect("an answer")
            .1;
        job["state"] != "running"
    });
    job
}

/// Asserts that all books up to this one are present and found by their texts, and that the folder passes `verify`.
fn all_there(data: &Path, books: u64, folder: &Folder) {
    run("verify --data {}", &[data]).expect(0);
    for book in 0..books {
        let text = folder.file("text.txt", prose(book, WORDS));
        let report = run("check --json --data {} {}", &[data, &text])
            .expect(1)
            .json();
        assert_eq!(report[0]["matches"][0]["book"]["id"], book.to_string());
    }
}

#[test]
fn out_of_files_it_waits_for_some_and_goes_on() {
    let folder = Folder::new();
    let data = folder.data();
    let server = Server::start_by_shell("ulimit -n 90; exec $SERVE", &data);
    assert_eq!(put(&server, 0).expect("an answer").0, 201);
    // One open connection, and then more than there are descriptors for, up to the system's backlog.
    let mut inside =
        TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    inside
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a time-out");
    let mut ask = || {
        inside
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .expect("sent");
        let (mut answer, mut piece) = (Vec::new(), [0; 4_096]);
        while !answer.ends_with(b"}") {
            let length = inside.read(&mut piece).expect("an answer");
            assert!(length > 0, "the connection is closed");
            answer.extend_from_slice(&piece[..length]);
        }
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    };
    ask();
    let connect =
        || TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    let outside: Vec<TcpStream> = (0..140).map(|_| connect()).collect();
    let files = || {
        std::fs::read_dir(format!("/proc/{}/fd", server.pid()))
            .expect("a process")
            .count()
    };
    // The open connection is still served.
    until("there are files left", || {
        ask();
        files() >= 90
    });
    drop(outside);
    until("it does not go on", || {
        get(&server, "/readyz").is_some_and(|(status, _)| status == 200)
    });
    assert_eq!(put(&server, 1).expect("an answer").0, 201);
    assert_eq!(job(&server, &json!({ "kind": "compact" }))["state"], "done");
    assert_eq!(put(&server, 2).expect("an answer").0, 201);
    assert_eq!(server.stop(), Some(0));
    all_there(&data, 3, &folder);
}

/// A file size limit interrupts writes just as a full disk does.
#[test]
fn a_full_disk_in_the_middle_of_a_backup_or_a_job() {
    let folder = Folder::new();
    let data = folder.data();
    for book in 0..120 {
        folder.file(&format!("books/{book}.txt"), prose(book, WORDS));
    }
    let ingest =
        "ingest --recipe documented --keep-folds --library l --rights protected --data {} {}";
    run(ingest, &[&data, &folder.path("books")]).expect(0);
    run("compact --data {}", &[&data]).expect(0);
    let backups = folder.path("backups");
    let script = format!(
        "trap '' XFSZ; ulimit -f 200; exec $SERVE --backups {}",
        backups.display()
    );
    let server = Server::start_by_shell(&script, &data);
    let failed = job(&server, &json!({ "kind": "backup", "to": "nightly" }));
    assert_eq!(failed["state"], "failed", "{failed}");
    assert!(
        failed["error"].as_str().expect("why").contains("is full"),
        "{failed}"
    );
    assert_eq!(failed["error_code"], "disk_full");
    let page = agent().get(format!("{}/console/jobs", server.url));
    let mut page = page.header("Accept-Language", "ru").call().expect("a page");
    let page = page.body_mut().read_to_string().expect("a page");
    assert!(page.contains("Диск сервера заполнен"), "{page}");
    // Reads continue, and the failure is reported.
    let report = answer(
        agent()
            .post(format!("{}/v1/checks", server.url))
            .send_json(json!({ "text": prose(7, 3_000) })),
    );
    assert_eq!(report.expect("an answer").1["verdict"], "protected");
    let boundaries = [
        "1482", "1528", "2852", "3856", "4136", "4825", "5842", "8341", "8526",
    ];
    let recipe = json!({ "name": "documented@8f965bee", "base": "documented", "shortest": 60, "boundaries": boundaries });
    let fine = json!({ "kind": "reindex", "recipe": recipe });
    let failed = job(&server, &fine);
    assert_eq!(failed["state"], "failed", "{failed}");
    assert!(
        failed["error"].as_str().expect("why").contains("is full"),
        "{failed}"
    );
    drop(server);

    // Restart with enough space.
    let server = Server::start_with("--backups {}", &[&backups], &data);
    assert_eq!(get(&server, "/readyz").expect("an answer").0, 200);
    let done = job(&server, &json!({ "kind": "backup", "to": "nightly" }));
    assert_eq!(
        (&done["state"], &done["result"]["backups"]),
        (&json!("done"), &json!(1)),
        "{done}"
    );
    let done = job(&server, &fine);
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(server.stop(), Some(0));
    let restored = folder.path("restored");
    run(
        "restore --from {} --data {}",
        &[&backups.join("nightly"), &restored],
    )
    .expect(0);
    all_there(&restored, 120, &folder);
    all_there(&data, 120, &folder);
}

/// A preloaded library that shifts the wall clock of a process by the number of seconds in the file `JUMP`.
#[cfg(target_os = "linux")]
const JUMPING_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int done = syscall(SYS_clock_gettime, clock, time);
    if (clock != CLOCK_REALTIME) return done;
    char seconds[32] = "";
    int file = syscall(SYS_openat, AT_FDCWD, getenv("JUMP"), O_RDONLY);
    if (file >= 0) {
        syscall(SYS_read, file, seconds, sizeof seconds - 1);
        syscall(SYS_close, file);
    }
    time->tv_sec += atol(seconds);
    return done;
}
"#;

#[cfg(target_os = "linux")]
#[test]
fn a_clock_that_jumps_ends_no_more_than_it_must() {
    const DAY: i64 = 86_400;
    let folder = Folder::new();
    let (data, jump, library) = (
        folder.data(),
        folder.file("jump", "0"),
        folder.path("clock.so"),
    );
    let source = folder.file("clock.c", JUMPING_CLOCK);
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(
        compiled
            .expect("a C compiler, which building RocksDB takes too")
            .success()
    );
    let key = |line: &str| {
        run(line, &[&data])
            .expect(0)
            .out
            .lines()
            .last()
            .expect("a key")
            .to_owned()
    };
    let boss = key("keys add --data {} --role admin boss");
    let shop =
        key("keys add --data {} --role check --rate 1000/s --quota 3/day --expires 30d shop");
    let script = format!(
        "JUMP={} LD_PRELOAD={} exec $SERVE",
        jump.display(),
        library.display()
    );
    let server = Server::start_by_shell(&script, &data);
    let keyed = |key: &str, path: &str, body: Option<Value>| {
        let url = format!("{}{path}", server.url);
        let sent = match body {
            Some(body) if path.starts_with("/v1/checks") => {
                agent().post(url).header("X-Api-Key", key).send_json(body)
            }
            Some(body) => agent().put(url).header("X-Api-Key", key).send_json(body),
            None => agent().get(url).header("X-Api-Key", key).call(),
        };
        answer(sent).expect("an answer")
    };
    let check = || keyed(&shop, "/v1/checks", Some(json!({ "gems": [1, 2, 3] })));
    for (book, (days, status)) in [
        (0, 200),
        (1, 200),
        (-1, 200),
        (-3_650, 200),
        (-40_000, 200),
        (29, 200),
        (31, 401),
        (0, 200),
    ]
    .iter()
    .enumerate()
    {
        folder.file("jump", (days * DAY).to_string());
        let put = json!({ "rights": "protected", "gems": [1, 2, 3] });
        assert_eq!(
            keyed(&boss, &format!("/v1/libraries/l/books/{book}"), Some(put)).0,
            201,
            "{days} days off"
        );
        assert_eq!(keyed(&boss, "/readyz", None).0, 200, "{days} days off");
        let (found, report) = check();
        assert_eq!(found, *status, "{days} days off: {report}");
        if found == 200 {
            assert_eq!(report["total"], book + 1);
        }
    }
    // A new day resets the quota, and so does returning to an earlier day.
    assert_eq!([(); 3].map(|()| check().0), [200, 200, 429]);
    drop(server);
    run("verify --data {}", &[&data]).expect(0);
    let numbers: Vec<u64> = run("audit --json --data {}", &[&data])
        .expect(0)
        .json()
        .iter()
        .map(|entry| entry["number"].as_u64().expect("a number"))
        .collect();
    assert!(numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_is_not_started_by_a_clock_before_1970() {
    let folder = Folder::new();
    let (jump, library) = (
        folder.file("jump", (-60 * 366 * 86_400_i64).to_string()),
        folder.path("clock.so"),
    );
    let source = folder.file("clock.c", JUMPING_CLOCK);
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(
        compiled
            .expect("a C compiler, which building RocksDB takes too")
            .success()
    );
    let mut serve = common::command("serve --listen 127.0.0.1:0 --data {}", &[folder.data()]);
    let ended = serve
        .env("JUMP", jump)
        .env("LD_PRELOAD", library)
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.code() == Some(3) && said.contains("before 1970"),
        "{said}"
    );
}

/// Starts a server on its own small disk, if the system allows unprivileged mounts. Returns the disk's path as seen
/// from here.
#[cfg(target_os = "linux")]
fn server_on_a_disk(
    folder: &Folder,
    size: &str,
    options: &str,
) -> Option<(Server, std::path::PathBuf)> {
    let unshare = "unshare --mount --map-root-user sh -c";
    let disk = folder.path("disk");
    std::fs::create_dir(&disk).expect("a folder");
    let mount = format!("mount -t tmpfs -o size={size} none {}", disk.display());
    if !Command::new("sh")
        .args(["-c", &format!("{unshare} '{mount}'")])
        .status()
        .is_ok_and(|status| status.success())
    {
        println!("cannot mount");
        return None;
    }
    let script = format!("exec {unshare} '{mount} && exec $SERVE {options}' \"$0\" \"$1\"");
    let server = Server::start_by_shell(&script, &disk.join("data"));
    let seen = format!("/proc/{}/root{}", server.pid(), disk.display());
    Some((server, seen.into()))
}

#[cfg(target_os = "linux")]
#[test]
fn a_key_is_revoked_on_a_full_disk() {
    let folder = Folder::new();
    let Some((server, disk)) = server_on_a_disk(&folder, "300m", "--min-free 1000000") else {
        return;
    };
    let call = |key: &str, method: &str, path: &str, body: Option<Value>| {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", server.url));
        let request = request
            .header("X-Api-Key", key)
            .header("Content-Type", "application/json");
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        answer(agent().run(request.body(body).expect("a request"))).expect("an answer")
    };
    let make = |by: &str, name: &str, role: &str| {
        let (status, made) = call(
            by,
            "POST",
            "/v1/keys",
            Some(json!({ "name": name, "role": role })),
        );
        assert_eq!(status, 201, "{made}");
        made["secret"].as_str().expect("a secret").to_owned()
    };
    let boss = make("", "boss", "admin");
    let shop = make(&boss, "shop", "check");
    let put = |book: u64| {
        let body = json!({ "rights": "protected", "text": prose(book, WORDS) });
        call(
            &boss,
            "PUT",
            &format!("/v1/libraries/l/books/{book}"),
            Some(body),
        )
        .0
    };
    let check = || call(&shop, "POST", "/v1/checks", Some(json!({ "gems": [1] }))).0;
    assert_eq!((put(0), check()), (201, 200));
    until("room is set aside", || {
        disk.join("data/lapidary.reserve").exists()
    });

    let mut ballast = std::fs::File::create(disk.join("ballast")).expect("a file");
    while ballast.write_all(&[0; 4_096]).is_ok() {}
    // The log of RocksDB has preallocated space, which many gems fill quickly.
    let mut book = 0;
    until("the disk is full", || {
        book += 1;
        let gems: Vec<u64> = (0..50_000).map(|gem| book * 50_000 + gem).collect();
        let body = json!({ "rights": "protected", "gems": gems });
        call(
            &boss,
            "PUT",
            &format!("/v1/libraries/l/books/{book}"),
            Some(body),
        )
        .0 == 507
    });
    // Revoking a key takes effect at once; the reserved space is not available for books.
    assert_eq!(call(&boss, "DELETE", "/v1/keys/shop", None).0, 204);
    assert_eq!(check(), 401);
    assert_eq!(put(book), 507);
    let last = make(&boss, "last", "check");
    assert_eq!(call(&boss, "DELETE", "/v1/keys/last", None).0, 204);
    assert_eq!(
        call(&last, "POST", "/v1/checks", Some(json!({ "gems": [1] }))).0,
        401
    );

    drop(ballast);
    std::fs::remove_file(disk.join("ballast")).expect("it is removed");
    until("it goes on", || put(book) == 201);
    until("it is ready", || {
        get(&server, "/readyz").is_some_and(|(status, _)| status == 200)
    });
    until("room is set aside again", || {
        disk.join("data/lapidary.reserve").exists()
    });
    assert_eq!(check(), 401);
}

/// Without space for a reserve, a revocation holds in memory until it can be written.
#[cfg(target_os = "linux")]
#[test]
fn a_key_is_revoked_on_a_full_disk_without_a_reserve() {
    let folder = Folder::new();
    let Some((server, disk)) = server_on_a_disk(&folder, "110m", "--min-free 1000000") else {
        return;
    };
    let call = |key: &str, method: &str, path: &str, body: Option<Value>| {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", server.url));
        let request = request
            .header("X-Api-Key", key)
            .header("Content-Type", "application/json");
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        answer(agent().run(request.body(body).expect("a request"))).expect("an answer")
    };
    let make = |by: &str, name: &str, role: &str| {
        let (status, made) = call(
            by,
            "POST",
            "/v1/keys",
            Some(json!({ "name": name, "role": role })),
        );
        assert_eq!(status, 201, "{made}");
        made["secret"].as_str().expect("a secret").to_owned()
    };
    let boss = make("", "boss", "admin");
    let shop = make(&boss, "shop", "check");
    let check = || call(&shop, "POST", "/v1/checks", Some(json!({ "gems": [1] }))).0;
    assert_eq!(check(), 200);
    let findings = call(&boss, "GET", "/v1/doctor", None).1;
    assert!(
        findings.to_string().contains("\"no_reserve\""),
        "{findings}"
    );

    let mut ballast = std::fs::File::create(disk.join("ballast")).expect("a file");
    while ballast.write_all(&[0; 4_096]).is_ok() {}
    let mut book = 0;
    until("the disk is full", || {
        book += 1;
        let gems: Vec<u64> = (0..50_000).map(|gem| book * 50_000 + gem).collect();
        let body = json!({ "rights": "protected", "gems": gems });
        call(
            &boss,
            "PUT",
            &format!("/v1/libraries/l/books/{book}"),
            Some(body),
        )
        .0 == 507
    });
    // It is refused at once, and the answer says that this is not on disk; asked again, it still is not.
    for _ in 0..2 {
        let (status, problem) = call(&boss, "DELETE", "/v1/keys/shop", None);
        assert_eq!(
            (status, &problem["code"]),
            (507, &json!("revoked_in_memory")),
            "{problem}"
        );
        assert!(
            problem["detail"]
                .as_str()
                .expect("why")
                .contains("is refused from now on, but that is not on disk")
        );
        assert_eq!(check(), 401);
    }
    let keys = || call(&boss, "GET", "/v1/keys", None).1.to_string();
    assert!(!keys().contains("\"shop\""));
    let revoked = || {
        call(&boss, "GET", "/v1/audit", None)
            .1
            .to_string()
            .contains("key_revoked")
    };
    assert!(!revoked());

    drop(ballast);
    std::fs::remove_file(disk.join("ballast")).expect("it is removed");
    until("it is written", revoked);
    assert_eq!(call(&boss, "DELETE", "/v1/keys/shop", None).0, 404);
    assert_eq!(check(), 401);
    assert!(!keys().contains("\"shop\""));
}

/// A server without a reserve says so when it starts.
#[cfg(target_os = "linux")]
#[test]
fn a_server_says_that_it_has_no_reserve() {
    let folder = Folder::new();
    let (disk, log) = (folder.path("disk"), folder.path("log"));
    std::fs::create_dir(&disk).expect("a folder");
    let (disk, log_file) = (disk.display(), log.display());
    let serve = format!(
        "exec timeout 20 \"$0\" serve --listen 127.0.0.1:0 --data {disk}/data 2> {log_file}"
    );
    let script = format!(
        "unshare --mount --map-root-user sh -c 'mount -t tmpfs -o size=110m none {disk} && {serve}' \"$0\""
    );
    let mut started = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_lapidary")])
        .spawn()
        .expect("a shell");
    let begun = Instant::now();
    let mut said = String::new();
    while !said.contains("110 MiB are free")
        && !said.contains("cannot reserve disk space")
        && begun.elapsed().as_secs() < 30
    {
        said = std::fs::read_to_string(&log).unwrap_or_default();
        if started
            .try_wait()
            .expect("a status")
            .is_some_and(|status| status.code() == Some(1) && said.is_empty())
        {
            println!("cannot mount");
            let _ = started.wait();
            return;
        }
        sleep(Duration::from_millis(50));
    }
    let _ = started.kill();
    let _ = started.wait();
    assert!(
        said.contains("cannot reserve disk space") && said.contains("and 128 MiB are needed"),
        "{said}"
    );
}

/// After reaching a file size limit, `RocksDB` stops writing until it is reopened.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_could_not_write_goes_on_when_it_can() {
    let folder = Folder::new();
    let server = Server::start_by_shell(
        "trap '' XFSZ; ulimit -S -f 1000; exec $SERVE",
        &folder.data(),
    );
    let mut books = 0;
    until("it can write no more", || {
        let status = put(&server, books).expect("an answer").0;
        books += u64::from(status == 201);
        status == 507
    });
    until("it says so", || {
        get(&server, "/readyz").is_some_and(|(_, problem)| problem["code"] == "no_disk_space")
    });
    until("the diagnosis says so", || {
        let (_, found) = get(&server, "/v1/doctor").expect("an answer");
        let findings = found["findings"].as_array().expect("a list");
        let finding = findings
            .iter()
            .find(|finding| finding["code"] == "not_writable");
        finding.is_some_and(|finding| {
            let says = |field: &str, what: &str| {
                finding[field]
                    .as_str()
                    .is_some_and(|said| said.contains(what))
            };
            says("detail", "is full") && says("fix", "free some space")
        })
    });
    let lifted = Command::new("prlimit")
        .args(["--fsize=unlimited", "--pid", &server.pid().to_string()])
        .status();
    assert!(lifted.expect("prlimit").success());
    until("it goes on", || {
        put(&server, books).is_some_and(|(status, _)| status == 201)
    });
    until("it is ready", || {
        get(&server, "/readyz").is_some_and(|(status, _)| status == 200)
    });
    assert_eq!(server.stop(), Some(0));
    all_there(&folder.data(), books + 1, &folder);
}
