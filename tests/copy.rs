//! `lapidary copy`, between folders and clusters.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::cluster::Nodes;
use crate::common::{Folder, Run, Server, command, key, prose, run, until};
use lapidary_store::Store as _;
use lapidary_store_redis::{ClusterAddress, ClusterStore};

const NONE: &[&Path] = &[];

/// The lines of an export: libraries come in any order.
fn export(place: &str, folder: &Folder) -> BTreeSet<String> {
    let file = folder.path("export.ndjson");
    run(&format!("export {place} {{}}"), &[&file]).expect(0);
    fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn copy(from: &str, to: &str) -> Run {
    run(&format!("copy --from {from} --to {to}"), NONE)
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Fills a catalogue with all that a catalogue can have.
fn fill(folder: &Folder, data: &Path) {
    for i in 0..70 {
        folder.file(&format!("library/{i}.txt"), prose(i, 600));
    }
    folder.file("other/x.txt", prose(500, 3000));
    let (library, other) = (folder.path("library"), folder.path("other"));
    let ingest = "ingest --data {} --library lib --rights protected --keep-texts --keep-folds {}";
    run(ingest, &[data, &library]).expect(0);
    run(
        "ingest --data {} --library new --rights free {}",
        &[data, &other],
    )
    .expect(0);
    run("books disable --data {} --library lib 3", &[data]).expect(0);
    run("books note --data {} --library lib --text seen 4", &[data]).expect(0);
    run(
        "reindex --data {} --recipe released --from folds --allow-missing",
        &[data],
    )
    .expect(0);
    run("allow add --data {} --library lib --book 5 quoted", &[data]).expect(0);
    run(
        "webhooks set --data {} --library lib https://books.example/hook",
        &[data],
    )
    .expect(0);
    run(
        "check --record --data {} {}",
        &[data, &library.join("2.txt")],
    )
    .expect(1);
}

#[test]
fn a_catalogue_moves_to_a_cluster_and_back_while_it_is_served() {
    let Some(nodes) = Nodes::start(3, 1) else {
        return;
    };
    let (folder, store) = (Folder::new(), format!("redis://{}/books", nodes.addresses));
    let data = folder.data();
    fill(&folder, &data);
    let secret = key(&data, "--role admin boss");
    let before = export(&format!("--data {}", shown(&data)), &folder);
    let server = Server::start(&data);
    let copied = copy(&shown(&data), &store).expect(0);
    assert!(
        copied.out.starts_with("71 books copied in "),
        "{}",
        copied.out
    );
    assert!(
        copied
            .out
            .contains(" s\nsource and copy are equal: 71 books, "),
        "{}",
        copied.out
    );
    assert_eq!(export(&format!("--store {store}"), &folder), before);
    // The source goes on, and the copy catches up.
    let through_it = |line: &str| {
        let mut command = command(&format!("{line} --server {}", server.url), NONE);
        Run::from(command.env("LAPIDARY_KEY", &secret).output().unwrap()).expect(0)
    };
    through_it("books remove --library lib 6");
    through_it("books enable --library lib 3");
    // Webhooks of a copy begin anew.
    until("the webhook stays behind", || {
        let listed = through_it("webhooks list").out;
        listed.contains("\t0 changes behind")
    });
    let copied = copy(&shown(&data), &store).expect(0);
    assert!(
        copied
            .out
            .starts_with("1 book copied, 69 there already, 1 removed in "),
        "{}",
        copied.out
    );
    server.stop();
    let leftovers = fs::read_dir(&data)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir())
        .count();
    assert_eq!(leftovers, 0, "links to a folder are temporary");
    let after = export(&format!("--data {}", shown(&data)), &folder);
    assert_eq!(export(&format!("--store {store}"), &folder), after);
    // And back, to where nothing is yet.
    let back = folder.path("back");
    copy(&store, &shown(&back)).expect(0);
    assert_eq!(export(&format!("--data {}", shown(&back)), &folder), after);
    let places = [
        format!("--data {}", shown(&back)),
        format!("--store {store}"),
    ];
    for place in &places {
        let text = folder.path("library/9.txt");
        for line in ["check", "check --recipe hardened --allow-incomplete"] {
            let of = |place: &str| run(&format!("{line} {place} {{}}"), &[&text]).expect(1).out;
            assert_eq!(of(place), of(&format!("--data {}", shown(&data))));
        }
        for line in [
            "keys list",
            "allow list",
            "webhooks list",
            "decisions list",
            "books text --library lib 9",
        ] {
            let of = |place: &str| run(&format!("{line} {place}"), NONE).expect(0).out;
            assert_eq!(of(place), of(&format!("--data {}", shown(&data))), "{line}");
        }
    }
    // Verified and compacted, it is still a copy.
    for line in ["verify", "compact"] {
        run(&format!("{line} --store {store}"), NONE).expect(0);
    }
    let again = copy(&shown(&data), &store).expect(0);
    assert!(
        again
            .out
            .starts_with("0 books copied, 70 there already in "),
        "{}",
        again.out
    );
}

#[test]
fn what_is_there_is_not_overwritten() {
    let Some(nodes) = Nodes::start(1, 0) else {
        return;
    };
    let (folder, store) = (Folder::new(), format!("redis://{}", nodes.addresses));
    let text = folder.file("library/1.txt", prose(1, 600));
    let (data, other) = (folder.data(), folder.path("other"));
    run(
        "ingest --data {} --library lib --rights free {}",
        &[&data, &text],
    )
    .expect(0);
    copy(&shown(&data), &store).expect(0);
    run(
        &format!("books note --store {store} --library lib --text changed 1"),
        NONE,
    )
    .expect(0);
    let refused = copy(&shown(&data), &store).expect(2);
    assert!(
        refused.err.contains("that was changed since"),
        "{}",
        refused.err
    );
    run(
        "ingest --data {} --library lib --rights free {}",
        &[&other, &text],
    )
    .expect(0);
    let refused = copy(&store, &shown(&other)).expect(2);
    assert!(
        refused.err.contains("there is already a catalogue here"),
        "{}",
        refused.err
    );
    let missing = copy(&format!("{store}/nothing"), &shown(&folder.path("new"))).expect(2);
    assert!(
        missing.err.contains("there is no catalogue here"),
        "{}",
        missing.err
    );
    let same = copy(&store, &store).expect(2);
    assert!(same.err.contains("are the same"), "{}", same.err);
    let server = copy("http://127.0.0.1:1", &store).expect(2);
    assert!(
        server.err.contains("for a server, use export and import"),
        "{}",
        server.err
    );
}

#[test]
fn a_copy_that_was_killed_goes_on() {
    let Some(nodes) = Nodes::start(3, 0) else {
        return;
    };
    let (folder, store) = (Folder::new(), format!("redis://{}", nodes.addresses));
    for i in 0..600 {
        folder.file(&format!("library/{i}.txt"), prose(i, 300));
    }
    let (data, back) = (folder.data(), folder.path("back"));
    run(
        "ingest --data {} --library lib --rights free --keep-texts {}",
        &[&data, &folder.path("library")],
    )
    .expect(0);
    let before = export(&format!("--data {}", shown(&data)), &folder);
    let address: ClusterAddress = store.parse().unwrap();
    let there = || {
        ClusterStore::open(&address)
            .unwrap()
            .snapshot()
            .libraries()
            .unwrap()
            .first()
            .map_or(0, |l| l.books)
    };
    killed_once(&shown(&data), &store, || there() > 100);
    let kept = there();
    assert!((100..600).contains(&kept), "{kept} books");
    let unfinished = run(&format!("stats --store {store}"), NONE).expect(2);
    assert!(
        unfinished.err.contains("this is an unfinished copy of"),
        "{}",
        unfinished.err
    );
    let copied = copy(&shown(&data), &store).expect(0);
    assert!(
        copied.out.starts_with(&format!(
            "{} books copied, {kept} there already in ",
            600 - kept
        )),
        "{}",
        copied.out
    );
    assert_eq!(export(&format!("--store {store}"), &folder), before);
    // To a folder.
    let bytes = || {
        fs::read_dir(&back).map_or(0, |files| {
            files
                .map(|f| f.unwrap().metadata().map_or(0, |m| m.len()))
                .sum()
        })
    };
    // An empty catalogue takes 230 kB; a batch of 64 books adds 430 kB.
    killed_once(&store, &shown(&back), || bytes() > 800_000_u64);
    let unfinished = run("stats --data {}", &[&back]).expect(2);
    assert!(
        unfinished.err.contains("this is an unfinished copy of"),
        "{}",
        unfinished.err
    );
    let copied = copy(&store, &shown(&back)).expect(0);
    assert!(copied.out.contains("there already"), "{}", copied.out);
    assert_eq!(export(&format!("--data {}", shown(&back)), &folder), before);
}

/// Starts a copy and kills it when `is_time`.
fn killed_once(from: &str, to: &str, is_time: impl Fn() -> bool) {
    let mut copying: Command = command(&format!("copy --from {from} --to {to}"), NONE);
    let mut copying: Child = copying
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !is_time() {
        assert!(
            copying.try_wait().unwrap().is_none(),
            "it was finished too soon"
        );
        sleep(Duration::from_millis(2));
    }
    copying.kill().unwrap();
    copying.wait().unwrap();
}
