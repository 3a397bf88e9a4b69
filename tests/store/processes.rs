//! Other processes, killed ones, and full disks.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use lapidary_store::{
    Actor, Administration as _, Condition, RocksStore, Store as _, StoreError, UNWATCHED,
};
use tempfile::tempdir;

use crate::store::support::{copy, create, keeping, key, raw, refusal, simple};

/// This program again, in one of the roles of [`child_process`].
fn child(role: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "store::processes::child_process",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    command
        .env("LAPIDARY_ROLE", role)
        .env("LAPIDARY_DIR", dir)
        .stderr(Stdio::inherit());
    command
}

#[test]
#[ignore = "other tests start it as a second process"]
fn child_process() {
    let Some(dir) = std::env::var_os("LAPIDARY_DIR") else {
        return;
    };
    let dir = Path::new(&dir);
    match std::env::var("LAPIDARY_ROLE").unwrap().as_str() {
        "open" => println!("{}", refusal(RocksStore::open(dir))),
        "feed" => {
            let store = create(dir);
            for i in 0.. {
                store
                    .put(
                        &Actor::Local,
                        vec![
                            simple("lib", &i.to_string(), i..i + 50),
                            simple("last", "1", i..i + 5),
                        ],
                    )
                    .unwrap();
                println!("\nput {i}");
            }
        }
        "fill" => fill(dir),
        role => panic!("{role} is no role"),
    }
}

#[test]
fn a_second_opening_is_told_who_has_the_folder() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let me = format!("process {}", std::process::id());
    for error in [
        refusal(RocksStore::open(dir.path())),
        refusal(RocksStore::open_or_create(dir.path())),
    ] {
        assert!(
            matches!(&error, StoreError::InUse { owner, .. } if *owner == me),
            "{error}"
        );
    }
    let other = child("open", dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&other.stdout);
    assert!(said.contains(&format!("in use by {me}")), "{said}");
    drop(store);

    // A number left behind, be it one that runs, locks nobody out.
    fs::write(dir.path().join("lapidary.lock"), "1").unwrap();
    drop(RocksStore::open(dir.path()).unwrap());
    raw(dir.path(), |_| {
        let error = refusal(RocksStore::open(dir.path()));
        assert!(
            matches!(&error, StoreError::InUse { owner, .. } if owner == "another process"),
            "{error}"
        );
    });
}

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    let dir = tempdir().unwrap();
    let mut feeder = child("feed", dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(feeder.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let mut acknowledged =
        lines.filter_map(|line| line.strip_prefix("put ").map(|i| i.parse::<u64>().unwrap()));
    let last = acknowledged.by_ref().find(|i| *i == 60).unwrap();
    feeder.kill().unwrap();
    feeder.wait().unwrap();
    let last = acknowledged.last().unwrap_or(last);

    let store = RocksStore::open(dir.path()).unwrap();
    let snapshot = store.snapshot();
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    for i in 0..=last {
        assert!(
            snapshot
                .find(&key("lib", &i.to_string()))
                .unwrap()
                .is_some(),
            "book {i} of {last} is lost"
        );
    }
}

#[test]
fn a_lost_end_of_the_log_is_noticed() {
    let dir = tempdir().unwrap();
    let mut feeder = child("feed", dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(feeder.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    lines.find(|line| line == "put 20").unwrap();
    feeder.kill().unwrap();
    feeder.wait().unwrap();
    let newest = || {
        let files = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|kind| kind == "log"))
            .max()
            .unwrap()
    };
    let lost = fs::read(newest()).unwrap();
    for damage in [None, Some(&lost[..lost.len() / 2])] {
        let copied = copy(dir.path());
        let log = copied.path().join(newest().file_name().unwrap());
        match damage {
            None => fs::remove_file(log).unwrap(),
            Some(rest) => fs::write(log, rest).unwrap(),
        }
        for _ in 0..2 {
            let refused = refusal(RocksStore::open(copied.path()));
            assert!(
                matches!(&refused, StoreError::Damaged { detail, .. } if detail.contains("acknowledged")),
                "{refused}"
            );
        }
        // Whoever can do without goes on.
        fs::remove_file(copied.path().join("lapidary.sequence")).unwrap();
        let store = RocksStore::open(copied.path()).unwrap();
        assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    }
    // What was not damaged opens.
    assert!(RocksStore::open(dir.path()).is_ok());
}

/// Fills a disk, of which a file `ballast` takes a part, then deletes that.
fn fill(dir: &Path) {
    let data = dir.join("data");
    let store = create(&data);
    let big = |i: u64| simple("lib", &i.to_string(), i * 100_000..(i + 1) * 100_000);
    let (full, error) = (0..)
        .find_map(|i| Some((i, store.put(&Actor::Local, vec![big(i)]).err()?)))
        .unwrap();
    assert!(matches!(error, StoreError::DiskFull(_)), "{error}");
    let state = |store: &RocksStore| {
        let snapshot = store.snapshot();
        assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
        assert_eq!(snapshot.find(&key("lib", &full.to_string())).unwrap(), None);
        assert_eq!(snapshot.libraries().unwrap()[0].books, full);
    };
    state(&store);
    let again = store.put(&Actor::Local, vec![big(full)]).unwrap_err();
    assert!(matches!(again, StoreError::DiskFull(_)), "{again}");

    let store = if dir.join("ballast").exists() {
        fs::remove_file(dir.join("ballast")).unwrap();
        let start = Instant::now();
        while let Err(error) = store.put(&Actor::Local, vec![simple("lib", "small", 0..9)]) {
            assert!(start.elapsed() < Duration::from_mins(1), "{error}");
            std::thread::sleep(Duration::from_millis(100));
        }
        println!("wrote again after {:?}", start.elapsed());
        store
            .remove(&Actor::Local, &[key("lib", "small")], &Condition::default())
            .unwrap();
        store
    } else {
        drop(store);
        RocksStore::open(&data).unwrap()
    };
    state(&store);
    drop(store);
    state(&RocksStore::open(&data).unwrap());
    println!("filled and freed");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_takes_nothing_half() {
    // A disk of its own, where the system lets its users mount one.
    let dir = tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=72m none "$LAPIDARY_DIR" || { echo "cannot mount"; exit 0; }
        head -c 44M /dev/zero > "$LAPIDARY_DIR/ballast" && exec "$0" "$@""#;
    let test = child("fill", dir.path());
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--map-root-user", "sh", "-c", script])
        .arg(test.get_program())
        .args(test.get_args());
    command.envs(
        test.get_envs()
            .filter_map(|(key, value)| Some((key, value?))),
    );
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    println!("{said}{problem}");
    if said.contains("cannot mount") || problem.contains("unshare") {
        return;
    }
    assert!(said.contains("filled and freed"), "{said}{problem}");
}

#[cfg(unix)]
#[test]
fn a_limit_on_file_size_takes_nothing_half() {
    let dir = tempdir().unwrap();
    let test = child("fill", dir.path());
    let mut command = Command::new("sh");
    // In blocks of 512 or 1024 bytes, by the shell.
    command
        .args(["-c", r#"trap "" XFSZ; ulimit -f 8000; exec "$0" "$@""#])
        .arg(test.get_program())
        .args(test.get_args());
    command.envs(
        test.get_envs()
            .filter_map(|(key, value)| Some((key, value?))),
    );
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("filled and freed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_folder_that_is_open_is_read_as_it_is_at_one_moment() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let (written, enough) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0_u64.. {
                store
                    .put(
                        &Actor::Local,
                        vec![keeping(
                            simple("lib", &i.to_string(), i..i + 9),
                            format!("text {i}"),
                        )],
                    )
                    .unwrap();
                written.store(i + 1, Ordering::SeqCst);
                // Logs are replaced and tables deleted meanwhile.
                match i % 40 {
                    39 => store.compact(UNWATCHED).unwrap(),
                    9 | 19 => store.flush().unwrap(),
                    _ => {}
                }
                if enough.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        for _ in 0..25 {
            let acknowledged = written.load(Ordering::SeqCst);
            let frozen = RocksStore::open_frozen(dir.path()).unwrap();
            let books = || {
                frozen
                    .snapshot()
                    .libraries()
                    .unwrap()
                    .first()
                    .map_or(0, |library| library.books)
            };
            let there = books();
            assert!(
                there >= acknowledged,
                "{there} books, but {acknowledged} were acknowledged"
            );
            sleep(Duration::from_millis(20));
            assert_eq!(frozen.verify(UNWATCHED).unwrap(), [] as [&str; 0]);
            assert_eq!(books(), there);
        }
        enough.store(true, Ordering::SeqCst);
    });
    let folders = fs::read_dir(dir.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(folders.count(), 0);
    assert!(written.load(Ordering::SeqCst) > 25);
}
