//! `lapidary duplicates` from outside: files, a catalogue, and what it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::cluster::Nodes;
use crate::common::{Folder, Server, command, prose, run, until};
use serde_json::{Value, json};
use ureq::Agent;

const NOTHING: &[&str] = &[];

/// The words of a text with every `each`th one replaced.
fn revised(text: &str, each: usize) -> String {
    let words = text.split(' ').enumerate();
    words
        .map(|(i, word)| {
            if i % each == each - 1 {
                "otherwise"
            } else {
                word
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// A novel as text and as HTML, a revision and a collection with it, a copy of an essay, and a text of its own.
fn shelf(folder: &Folder) -> PathBuf {
    let (novel, essay) = (prose(1, 3_000), prose(2, 2_000));
    folder.file("books/a/novel.txt", &novel);
    folder.file(
        "books/b/novel.html",
        format!("<html><body><p>{novel}</p></body></html>"),
    );
    folder.file("books/c/revised it's.txt", revised(&novel, 60));
    folder.file(
        "books/collection.txt",
        format!("{}\n\n{novel}\n\n{}", prose(3, 4_000), prose(4, 4_000)),
    );
    folder.file("books/essay.txt", &essay);
    folder.file("books/essay (1).txt", &essay);
    folder.file("books/alone.txt", prose(5, 3_000));
    folder.path("books")
}

/// The files of each group, by their names below the folder.
fn groups(folder: &Path, lines: &[Value]) -> Vec<BTreeSet<String>> {
    lines
        .iter()
        .filter(|line| line["files"].is_array())
        .map(|line| names(folder, &line["files"]))
        .collect()
}

/// The lines of overlaps.
fn overlaps(lines: &[Value]) -> Vec<&Value> {
    lines
        .iter()
        .filter(|line| line["overlap"].is_array())
        .collect()
}

fn names(folder: &Path, files: &Value) -> BTreeSet<String> {
    files
        .as_array()
        .unwrap()
        .iter()
        .map(|file| name(folder, file))
        .collect()
}

fn name(folder: &Path, file: &Value) -> String {
    Path::new(file.as_str().unwrap())
        .strip_prefix(folder)
        .unwrap()
        .display()
        .to_string()
}

#[test]
fn files_with_common_text_are_groups() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let lines = run("duplicates --json {}", &[&books]).expect(0).json();
    let set = |names: &[&str]| {
        names
            .iter()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>()
    };
    let novel = set(&["a/novel.txt", "b/novel.html", "c/revised it's.txt"]);
    let essay = set(&["essay.txt", "essay (1).txt"]);
    assert_eq!(groups(&books, &lines), [novel.clone(), essay]);
    assert_eq!(name(&books, &lines[1]["best"]), "essay (1).txt");

    let pairs: BTreeMap<(String, String), &Value> = lines[0]["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| ((name(&books, &pair["a"]), name(&books, &pair["b"])), pair))
        .collect();
    assert_eq!(pairs.len(), 3, "{pairs:?}");
    let pair = |a: &str, b: &str| pairs[&(a.to_owned(), b.to_owned())];
    assert_eq!(pair("a/novel.txt", "b/novel.html")["relation"], "same_text");
    let same = &lines[1]["pairs"][0];
    assert_eq!(
        (&same["relation"], &same["share_of_a"], &same["share_of_b"]),
        (&"identical".into(), &1.0.into(), &1.0.into())
    );
    assert_eq!(
        pair("a/novel.txt", "c/revised it's.txt")["relation"],
        "same_text"
    );
    // The collection has the novel, but is no copy of it. Of the group, the text with which it has most in common stands for it.
    let overlaps = overlaps(&lines);
    assert_eq!(overlaps.len(), 1, "{overlaps:?}");
    let part = overlaps[0];
    let texts = names(&books, &part["overlap"]);
    assert!(
        texts.contains("collection.txt") && texts.intersection(&novel).count() == 1,
        "{part}"
    );
    let is_first = name(&books, &part["overlap"][0]) == "collection.txt";
    assert_eq!(
        part["relation"],
        if is_first {
            "contains_book"
        } else {
            "part_of_book"
        }
    );
    let shares = ["share_of_a", "share_of_b"].map(|share| part[share].as_f64().unwrap());
    let [of_novel, of_collection] = if is_first {
        [shares[1], shares[0]]
    } else {
        shares
    };
    assert!(
        of_novel > 0.95 && (0.2..0.35).contains(&of_collection),
        "{part}"
    );

    let text = run("duplicates {}", &[&books]).expect(0).out;
    assert!(
        text.contains("Text in common without being the same\n"),
        "{text}"
    );
    assert!(
        text.ends_with("2 groups of 5 texts that are the same, and 1 overlap\n"),
        "{text}"
    );
}

#[test]
fn a_table_has_a_line_for_each_text() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let written = run("duplicates --csv {}", &[&books]).expect(0).out;
    let mut table = csv::Reader::from_reader(written.as_bytes());
    assert_eq!(
        table.headers().unwrap().iter().collect::<Vec<_>>(),
        [
            "group",
            "text",
            "bytes",
            "best",
            "relation",
            "share_of_text",
            "share_of_other",
            "other"
        ]
    );
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 6);
    let row = |end: &str| rows.iter().find(|row| row[1].ends_with(end)).unwrap();
    assert_eq!(
        (&row("b/novel.html")[3], &row("b/novel.html")[4]),
        ("true", "")
    );
    let novel = row("a/novel.txt");
    assert_eq!(
        (&novel[0], &novel[3], &novel[4]),
        ("1", "false", "same_text")
    );
    assert!(novel[7].ends_with("b/novel.html"), "{novel:?}");
    let overlap = &rows[5];
    assert!(
        overlap[0].is_empty()
            && (overlap[1].ends_with("collection.txt") || overlap[7].ends_with("collection.txt"))
    );
    assert_eq!(
        (
            &row("essay.txt")[0],
            &row("essay.txt")[4],
            &row("essay.txt")[5]
        ),
        ("2", "identical", "1.0000")
    );
}

#[test]
fn a_page_shows_each_group() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let page = folder.path("groups.html");
    let printed = run("duplicates --html {} --lang ru {}", &[&page, &books])
        .expect(0)
        .out;
    assert!(
        printed.ends_with("2 группы из 5 текстов с одинаковым содержанием и 1 пересечение\n"),
        "{printed}"
    );
    let page = fs::read_to_string(page).unwrap();
    // The first group has a picture of three texts and three pairs; a pair needs none.
    let count = |what: &str| page.matches(what).count();
    assert_eq!(
        [
            count("<svg"),
            count("<circle"),
            count("<line"),
            count("class=\"best\"")
        ],
        [1, 3, 3, 1]
    );
    assert!(
        page.contains("revised it's.txt") && !page.contains("<script"),
        "{page}"
    );
    folder.file("books/<b>&.txt", prose(2, 2_000));
    let page = folder.path("hostile.html");
    run("duplicates --html {} {}", &[&page, &books]).expect(0);
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains("&lt;b&gt;&amp;.txt")
    );
}

#[test]
fn the_script_would_delete_copies_only() {
    let folder = Folder::new();
    let books = shelf(&folder);
    fs::remove_file(books.join("collection.txt")).unwrap();
    let script = run("duplicates --script {}", &[&books]).expect(0).out;
    assert!(
        books.join("essay.txt").exists(),
        "it deletes nothing itself"
    );
    let file = folder.file("script.sh", script);
    assert!(Command::new("sh").arg(file).status().unwrap().success());
    let mut left: Vec<String> = walkdir::WalkDir::new(&books)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            entry
                .path()
                .strip_prefix(&books)
                .unwrap()
                .display()
                .to_string()
        })
        .collect();
    left.sort();
    // HTML keeps more of a book than plain text.
    assert_eq!(left, ["alone.txt", "b/novel.html", "essay (1).txt"]);
}

#[test]
fn a_file_that_cannot_be_read_does_not_stop_the_others() {
    let folder = Folder::new();
    let books = shelf(&folder);
    folder.file("books/broken.epub", "PK\u{3}\u{4}no archive");
    let done = run("duplicates --json {}", &[&books]).expect(2);
    assert_eq!(groups(&books, &done.json()).len(), 2);
    assert!(done.err.contains("broken.epub"), "{}", done.err);
}

#[test]
fn a_passage_that_many_texts_share_does_not_connect_them() {
    let folder = Folder::new();
    let notice = prose(100, 1_500);
    for i in 0..8 {
        folder.file(
            &format!("books/{i}.txt"),
            format!("{notice}\n\n{}", prose(i, 3_000)),
        );
    }
    let books = folder.path("books");
    // They overlap, each with each, but none is the same as another.
    let lines = run("duplicates --json {}", &[&books]).expect(0).json();
    assert_eq!((lines.len(), overlaps(&lines).len()), (28, 28));
    // What was not looked for is told.
    let lines = run("duplicates --json --common-cap 5 {}", &[&books])
        .expect(0)
        .json();
    let left_out = json!({ "texts_with_many": 0, "texts_with_common_gems": 8, "pairs": 0 });
    assert_eq!(lines, [json!({ "left_out": left_out })]);
    let told = run("duplicates --common-cap 5 {}", &[&books]).expect(0).out;
    assert!(
        told.contains("8 texts have passages that too many texts share (see --common-cap)."),
        "{told}"
    );
    let script = run("duplicates --script --common-cap 5 {}", &[&books]).expect(0);
    assert!(
        script.err.contains("8 texts have passages") && !script.out.contains("passages"),
        "{}",
        script.err
    );
}

/// Two works that share an eighth, each with copies, are two groups.
#[test]
fn groups_do_not_chain_through_overlap() {
    let folder = Folder::new();
    let shared = prose(100, 600);
    for work in 0..2 {
        for copy in 0..2 {
            let text = format!(
                "{}\n\n{shared}",
                revised(&prose(work, 4_000), 200 + 100 * copy)
            );
            folder.file(&format!("books/{work}{copy}.txt"), text);
        }
    }
    let books = folder.path("books");
    let lines = run("duplicates --json {}", &[&books]).expect(0).json();
    let set = |names: [&str; 2]| {
        names
            .iter()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(
        groups(&books, &lines),
        [set(["00.txt", "01.txt"]), set(["10.txt", "11.txt"])]
    );
    let overlaps = overlaps(&lines);
    assert!(
        overlaps.len() == 1 && overlaps[0]["relation"] == "overlap",
        "{overlaps:?}"
    );
}

/// Books of gems that are all in many others cost no more than so many others, and requests go on meanwhile.
#[test]
fn crafted_books_are_compared_within_bounds() {
    const BOOKS: u64 = 160;
    let folder = Folder::new();
    let data = folder.data();
    let gems = |book: u64| -> Vec<u64> {
        (0..120)
            .map(|i| 1 + (book * 7_919 + i * (2 * book + 1)) % 241)
            .collect()
    };
    let line = |book: u64| {
        json!({ "id": format!("{book:03}"), "rights": "free", "gems": gems(book) }).to_string()
    };
    let feed = folder.file(
        "feed.ndjson",
        (0..BOOKS).map(line).collect::<Vec<_>>().join("\n"),
    );
    run(
        "ingest --data {} --library l --recipe documented --feed {}",
        &[&data, &feed],
    )
    .expect(0);
    let server = Server::start(&data);
    let job = start(&server, &json!({ "kind": "duplicates" }));
    let (mut seen, mut checked) = (BTreeSet::new(), 0);
    let state = loop {
        let state = get(&server, &job);
        if state["state"] != "running" {
            break state;
        }
        seen.insert(state["done"].as_u64().unwrap());
        let check = agent()
            .post(format!("{}/v1/checks", server.url))
            .send_json(json!({ "gems": [1, 2, 3] }));
        checked += u64::from(check.unwrap().status() == 200);
    };
    assert_eq!(state["state"], "done", "{state}");
    assert!(
        seen.iter().any(|done| (1..BOOKS).contains(done)),
        "{seen:?}"
    );
    assert!(checked > 1);
    // Nearly all but the first 33 have gems of more books than one is compared with.
    let many = state["result"]["left_out"]["texts_with_many"]
        .as_u64()
        .unwrap();
    assert!((BOOKS - 40..=BOOKS - 33).contains(&many), "{state}");
    drop(server);
    let told = run("duplicates --data {}", &[&data]).expect(0).out;
    assert!(
        told.contains(&format!("{many} texts have passages of very many texts")),
        "{told}"
    );
    let lines = run("duplicates --json --data {}", &[&data])
        .expect(0)
        .json();
    let pairs = |line: &Value| line["pairs"].as_array().map_or(0, Vec::len);
    assert!(lines.iter().map(pairs).sum::<usize>() + overlaps(&lines).len() <= 32 * BOOKS as usize);
}

#[test]
fn very_many_copies_are_one_group() {
    let folder = Folder::new();
    let text = prose(1, 300);
    for i in 0..250 {
        folder.file(&format!("books/{i}.txt"), &text);
    }
    let lines = run("duplicates --json {}", &[folder.path("books")])
        .expect(0)
        .json();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["files"].as_array().unwrap().len(), 250);
    // All pairs of the first hundred or so, and one for each of the others.
    assert!(lines[0]["pairs"].as_array().unwrap().len() < 6_000);
}

#[test]
fn a_catalogue_is_searched_across_libraries() {
    let folder = Folder::new();
    shelf(&folder);
    let data = folder.data();
    for library in ["one", "two"] {
        let line =
            format!("ingest --data {{}} --library {library} --rights protected --id path {{}}");
        run(&line, &[&data, &folder.path("books/a")]).expect(0);
    }
    let lines = run("duplicates --json --data {}", &[&data])
        .expect(0)
        .json();
    assert_eq!(lines[0]["files"], json!(["one/novel.txt", "two/novel.txt"]));
    assert_eq!(lines[0]["pairs"][0]["relation"], "identical");
    // Only the duplicates of what is new.
    run(
        "ingest --data {} --library three --rights protected {}",
        &[&data, &folder.path("books/b")],
    )
    .expect(0);
    let last = run(
        "books show --data {} --library three --json novel",
        &[&data],
    )
    .expect(0)
    .json()
    .remove(0);
    let last = last["changed_at"].as_str().unwrap();
    let lines = run(
        &format!("duplicates --json --data {{}} --since {last}"),
        &[&data],
    )
    .expect(0)
    .json();
    assert_eq!(lines.len(), 1);
    let pairs: Vec<_> = lines[0]["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| [&pair["a"], &pair["b"]])
        .collect();
    assert_eq!(
        pairs,
        [
            ["one/novel.txt", "three/novel"],
            ["three/novel", "two/novel.txt"]
        ]
    );
    assert_eq!(
        run(
            "duplicates --json --data {} --since 2100-01-01T00:00:00Z",
            &[&data]
        )
        .expect(0)
        .json()
        .len(),
        0
    );
    // It would name books, not files.
    run("duplicates --script --data {}", &[&data]).expect(2);
    let of_variable = command("duplicates --script", NOTHING)
        .env("LAPIDARY_STORE", "redis://127.0.0.1:1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&of_variable.stderr).into_owned();
    assert!(
        of_variable.status.code() == Some(2) && said.contains("--script is about files"),
        "{said}"
    );
    let refused = run("duplicates --json --data {} --recipe documented", &[&data]).expect(2);
    assert!(
        refused.err.contains("no recipe 'documented'"),
        "{}",
        refused.err
    );
}

/// By a signature that weighs words: of files with the lexicon, of a catalogue with the one it has; and in one library.
#[test]
fn by_a_lexicon_and_in_one_library() {
    let folder = Folder::new();
    let (books, data) = (shelf(&folder), folder.data());
    let counted = run("lexicon count {}", &[&books]).expect(0);
    let name = counted
        .err
        .trim()
        .strip_prefix("lexicon ")
        .unwrap()
        .to_owned();
    let lexicon = folder.file("lexicon.tsv", counted.out);
    let essays = |lines: &[Value]| {
        lines
            .iter()
            .any(|line| line["files"].to_string().contains("essay (1)"))
    };
    let of_files = run(
        "duplicates --json --recipe tf-idf --lexicon {} {}",
        &[&lexicon, &books],
    )
    .expect(0)
    .json();
    assert!(essays(&of_files), "{of_files:?}");
    let refused = run("duplicates --recipe tf-idf {}", &[&books]).expect(2);
    assert!(
        refused.err.contains("it needs a lexicon"),
        "{}",
        refused.err
    );

    let line = "ingest --data {} --id path --library one --rights protected --recipe tf-idf --lexicon {} {}";
    run(line, &[&data, &lexicon, &books]).expect(0);
    let copy = folder.file("copy/novel-copy.txt", prose(1, 3_000));
    run(
        "ingest --data {} --library two --rights protected {}",
        &[&data, &copy],
    )
    .expect(0);
    let of_catalogue = |options: &str| {
        run(
            &format!("duplicates --json --data {{}} {options}"),
            &[&data],
        )
        .expect(0)
        .json()
    };
    let all = of_catalogue(&format!("--recipe tf-idf@{name}"));
    assert!(
        essays(&all)
            && all
                .iter()
                .any(|line| line["files"].to_string().contains("two/")),
        "{all:?}"
    );
    run("duplicates --data {} --library three", &[&data]).expect(2);
    let one = of_catalogue("--library one");
    assert!(
        essays(&one)
            && !one
                .iter()
                .any(|line| line["files"].to_string().contains("two/")),
        "{one:?}"
    );
}

/// A disabled book is nobody's duplicate, also among so many copies that they are only paired with the first.
#[test]
fn disabled_books_are_left_out() {
    let folder = Folder::new();
    let data = folder.data();
    let text = prose(1, 300);
    let line = |i: usize| {
        json!({ "id": format!("{i:03}"), "rights": "protected", "text": text }).to_string()
    };
    let feed = folder.file(
        "feed.ndjson",
        (0..110).map(line).collect::<Vec<_>>().join("\n"),
    );
    run("ingest --data {} --library many --feed {}", &[&data, &feed]).expect(0);
    run("books disable --data {} --library many 000 001", &[&data]).expect(0);
    let lines = run("duplicates --json --data {}", &[&data])
        .expect(0)
        .json();
    assert_eq!(lines.len(), 1);
    let names: Vec<&str> = lines[0]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(
        (names.len(), names[0], names[107]),
        (108, "many/002", "many/109")
    );
}

/// Catalogues of each engine: the flag that names one, and a server for it.
struct Engine {
    flag: String,
    folder: Folder,
}

impl Engine {
    fn folder() -> Self {
        let folder = Folder::new();
        Self {
            flag: format!("--data {}", folder.data().display()),
            folder,
        }
    }

    /// A catalogue of its own in a cluster. Where there is no `redis-server`, says so and returns `None`.
    fn cluster() -> Option<Self> {
        static NODES: OnceLock<Option<Nodes>> = OnceLock::new();
        static CATALOGUES: AtomicU32 = AtomicU32::new(0);
        let nodes = NODES.get_or_init(|| Nodes::start(3, 1)).as_ref()?;
        let number = CATALOGUES.fetch_add(1, Ordering::Relaxed);
        Some(Self {
            flag: format!("--store redis://{}/duplicates{number}", nodes.addresses),
            folder: Folder::new(),
        })
    }

    fn server(&self) -> Server {
        Server::of(command(
            &format!("serve --listen 127.0.0.1:0 {}", self.flag),
            NOTHING,
        ))
    }
}

fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into()
}

fn get(server: &Server, path: &str) -> Value {
    agent()
        .get(format!("{}{path}", server.url))
        .call()
        .unwrap()
        .body_mut()
        .read_json()
        .unwrap()
}

/// Starts a job, and returns its path.
fn start(server: &Server, task: &Value) -> String {
    let started = agent()
        .post(format!("{}/v1/jobs", server.url))
        .send_json(task)
        .unwrap();
    let job: Value = started.into_body().read_json().unwrap();
    format!("/v1/jobs/{}", job["id"])
}

/// Waits until a job has ended.
fn ended(server: &Server, job: &str) -> Value {
    let mut state = Value::Null;
    until("the job does not end", || {
        state = get(server, job);
        state["state"] != "running"
    });
    state
}

/// The names of the books of a group.
fn books_of(group: &Value) -> BTreeSet<String> {
    let books = group["books"].as_array().unwrap().iter();
    books
        .map(|book| {
            format!(
                "{}/{}",
                book["library"].as_str().unwrap(),
                book["id"].as_str().unwrap()
            )
        })
        .collect()
}

/// A job on a server finds what the command finds, in all libraries or in one.
fn a_job_finds_the_groups(engine: &Engine) {
    let Engine { flag, folder } = engine;
    let books = shelf(folder);
    run(
        &format!("ingest {flag} --id path --library one --rights protected {{}}"),
        &[&books],
    )
    .expect(0);
    let copy = folder.file("copy/novel-copy.txt", prose(1, 3_000));
    run(
        &format!("ingest {flag} --library two --rights protected {{}}"),
        &[&copy],
    )
    .expect(0);
    let expected = run(&format!("duplicates --json {flag}"), NOTHING)
        .expect(0)
        .json();
    let server = engine.server();
    let found = |task: Value| {
        let job = start(&server, &task);
        (ended(&server, &job), get(&server, &format!("{job}/groups")))
    };
    let (job, page) = found(json!({ "kind": "duplicates" }));
    let nothing = json!({ "texts_with_many": 0, "texts_with_common_gems": 0, "pairs": 0 });
    let result = |duplicates: u64| json!({ "groups": 2, "duplicates": duplicates, "overlaps": 1, "left_out": nothing });
    assert_eq!(
        (&job["state"], &job["result"]),
        (&json!("done"), &result(6))
    );
    let overlapping = get(&server, &format!("/v1/jobs/{}/overlaps", job["id"]));
    let names = |of: &str| {
        overlapping["overlaps"][0][of]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(
        [names("a"), names("b")].contains(&"collection.txt".to_owned()),
        "{overlapping}"
    );
    let groups: BTreeSet<BTreeSet<String>> = page["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(books_of)
        .collect();
    let wanted = |line: &Value| {
        let files = line["files"].as_array().unwrap().iter();
        files
            .map(|file| file.as_str().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
    };
    let expected: Vec<Value> = expected
        .into_iter()
        .filter(|line| line["files"].is_array())
        .collect();
    assert_eq!(groups, expected.iter().map(wanted).collect());
    let pairs = |group: &Value, of: &str| group[of].as_array().unwrap().len();
    let all = |groups: &[Value]| {
        groups
            .iter()
            .map(|group| pairs(group, "pairs"))
            .sum::<usize>()
    };
    assert_eq!(all(page["groups"].as_array().unwrap()), all(&expected));

    let (later, page) = found(json!({ "kind": "duplicates", "library": "one" }));
    assert_eq!(later["result"], result(5));
    assert!(!page.to_string().contains("novel-copy"), "{page}");
    let replaced = get(&server, &format!("/v1/jobs/{}/groups", job["id"]));
    assert!(
        replaced["detail"]
            .as_str()
            .unwrap()
            .contains("a later job replaced the groups"),
        "{replaced}"
    );
    let (_, none) = found(json!({ "kind": "duplicates", "since": "2100-01-01T00:00:00Z" }));
    assert_eq!(none["groups"], json!([]));
}

/// What is said of a group holds for later jobs, until another book joins it or one gets another text.
fn what_is_said_of_a_group_stays(engine: &Engine) {
    let server = engine.server();
    let put = |id: &str, text: &str| {
        let book = json!({ "rights": "free", "text": text });
        let place = format!("{}/v1/libraries/one/books/{id}", server.url);
        agent().put(place).send_json(&book).unwrap();
    };
    let say = |books: &[&str], resolution: Value| {
        let books: Vec<Value> = books
            .iter()
            .map(|id| json!({ "library": "one", "id": id }))
            .collect();
        let said = json!({ "books": books, "resolution": resolution });
        let place = format!("{}/v1/duplicates", server.url);
        agent().post(place).send_json(&said).unwrap().status()
    };
    let resolution = || {
        let job = start(&server, &json!({ "kind": "duplicates" }));
        assert_eq!(ended(&server, &job)["result"]["groups"], 1);
        let groups = get(&server, &format!("{job}/groups"));
        groups["groups"][0]["resolution"].clone()
    };
    let text = prose(1, 3_000);
    for id in ["a", "b"] {
        put(id, &text);
    }
    put("other", &prose(2, 3_000));
    assert_eq!(resolution(), Value::Null);
    assert_eq!(say(&["a", "none"], json!("editions")), 404);
    assert_eq!(say(&["a"], json!("editions")), 400);
    assert_eq!(say(&["a"; 101], json!("editions")), 400);
    assert_eq!(say(&["b", "a"], json!("editions")), 204);
    assert_eq!(resolution(), json!("editions"));
    let log = get(&server, "/v1/audit");
    assert!(log.to_string().contains("duplicate-group"), "{log}");
    put("c", &text);
    assert_eq!(resolution(), Value::Null, "another book has joined it");
    assert_eq!(say(&["a", "b", "c"], json!("dismissed")), 204);
    assert_eq!(resolution(), json!("dismissed"));
    put("c", &format!("{text} And a new end of it."));
    assert_eq!(resolution(), Value::Null, "one has another text");
    assert_eq!(say(&["a", "b", "c"], json!("dismissed")), 204);
    assert_eq!(say(&["a", "b", "c"], Value::Null), 204);
    assert_eq!(resolution(), Value::Null);
}

#[test]
fn what_is_said_of_a_group_stays_in_a_folder() {
    what_is_said_of_a_group_stays(&Engine::folder());
}

#[test]
fn what_is_said_of_a_group_stays_in_a_cluster() {
    if let Some(engine) = Engine::cluster() {
        what_is_said_of_a_group_stays(&engine);
    }
}

#[test]
fn a_job_finds_the_groups_of_a_catalogue() {
    a_job_finds_the_groups(&Engine::folder());
}

#[test]
fn a_job_finds_the_groups_of_a_catalogue_in_a_cluster() {
    let Some(engine) = Engine::cluster() else {
        return;
    };
    a_job_finds_the_groups(&engine);
}

/// A job whose server is killed goes on in the next one, and finds every pair.
fn a_job_survives_its_server(engine: &Engine) {
    const BOOKS: usize = 3_000;
    const TEXTS: usize = BOOKS / 2;
    let Engine { flag, folder } = engine;
    // Each text is that of two books, far apart.
    let line = |book: usize| {
        let text = format!("the text of number {}", book % TEXTS);
        json!({ "id": format!("{book:04}"), "rights": "free", "text": text }).to_string()
    };
    let feed = folder.file(
        "feed.ndjson",
        (0..BOOKS).map(line).collect::<Vec<_>>().join("\n"),
    );
    run(
        &format!("ingest {flag} --library l --recipe sum --feed {{}}"),
        &[&feed],
    )
    .expect(0);
    let server = engine.server();
    let job = start(&server, &json!({ "kind": "duplicates" }));
    let before = loop {
        let state = get(&server, &job);
        if state["done"] != 0 || state["state"] != "running" {
            break state;
        }
    };
    // This kills it.
    drop(server);
    assert!(
        before["state"] == "running" && before["done"].as_u64() < Some(BOOKS as u64),
        "{before}"
    );
    let server = engine.server();
    let state = ended(&server, &job);
    assert_eq!(
        (&state["state"], &state["done"]),
        (&json!("done"), &json!(BOOKS)),
        "{state}"
    );
    let (mut found, mut from) = (0, String::new());
    loop {
        let page = get(&server, &format!("{job}/groups?limit=1000{from}"));
        for group in page["groups"].as_array().unwrap() {
            let books: Vec<usize> = books_of(group)
                .iter()
                .map(|name| name[2..].parse().unwrap())
                .collect();
            assert!(
                books.len() == 2 && books[0] % TEXTS == books[1] % TEXTS,
                "{books:?}"
            );
            assert_eq!(group["pairs"][0]["relation"], "identical");
            found += 1;
        }
        match page["next_cursor"].as_str() {
            Some(next) => from = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found, TEXTS);
}

#[test]
fn a_job_goes_on_after_a_kill() {
    a_job_survives_its_server(&Engine::folder());
}

#[test]
fn a_job_in_a_cluster_goes_on_after_a_kill() {
    let Some(engine) = Engine::cluster() else {
        return;
    };
    a_job_survives_its_server(&engine);
}

/// Each passage came from the earliest text of the group that has it, whatever the order of names.
#[test]
fn a_page_shows_where_passages_came_from() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let page = folder.path("history.html");
    let name = |file: &str| books.join(file).display().to_string();
    let dates = [
        ("a/novel.txt", "1886"),
        ("collection.txt", "1901-05"),
        ("c/revised it's.txt", "1893-02-01"),
    ];
    let lines = dates
        .map(|(file, date)| format!("{}\t{date}\n", name(file)))
        .concat();
    let list = folder.file("dates.tsv", format!("# When they appeared\n{lines}"));
    run(
        "duplicates --history {} --dates {} {}",
        &[&page, &list, &books],
    )
    .expect(0);
    let written = fs::read_to_string(&page).unwrap();
    let order: Vec<usize> = ["1. ", "2. ", "3. ", "4. "]
        .iter()
        .zip([
            "a/novel.txt",
            "c/revised it's.txt",
            "collection.txt",
            "b/novel.html",
        ])
        .map(|(number, file)| {
            written
                .find(&format!("<h3>{number}{}", name(file)))
                .unwrap_or_else(|| panic!("{file}: {written}"))
        })
        .collect();
    assert!(order.is_sorted(), "{written}");
    let of = |text: usize| {
        &written[order[text]..order.get(text + 1).map_or(written.len(), |next| *next)]
    };
    assert!(
        of(0).contains("1886</span>") && of(0).contains("The earliest of the group."),
        "{}",
        of(0)
    );
    // All that the collection has of the others is in the oldest, and the beginning is shown.
    let collection = of(2);
    assert!(
        collection.contains(&format!("1. {}", name("a/novel.txt")))
            && !collection.contains("</svg>2. "),
        "{collection}"
    );
    let share: f64 = collection
        .split("<p>")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((22.0..32.0).contains(&share), "{share}");
    let begins = collection
        .split("<td dir=\"auto\">")
        .nth(1)
        .unwrap()
        .split("</td>")
        .next()
        .unwrap();
    let begins: Vec<&str> = begins.split_whitespace().take(4).collect();
    assert!(
        prose(1, 3_000).contains(&begins[1..].join(" ")),
        "{begins:?}"
    );
    // Without a list, a catalogue's books are dated by when they changed.
    let data = folder.data();
    for (library, file) in [("old", "c/revised it's.txt"), ("new", "a/novel.txt")] {
        let line = format!("ingest --data {{}} --library {library} --rights protected {{}}");
        run(&line, &[&data, &books.join(file)]).expect(0);
    }
    run(
        "duplicates --lang ru --history {} --data {}",
        &[&page, &data],
    )
    .expect(0);
    let written = fs::read_to_string(&page).unwrap();
    assert!(
        written.contains("<h3>1. old/") && written.contains("<h3>2. new/novel"),
        "{written}"
    );
    assert!(
        written.contains("Откуда взяты отрывки")
            && written.contains("<td>")
            && !written.contains("<script"),
        "{written}"
    );
    // What a record says of when a book was published goes before that.
    let metadata = folder.file(
        "dates.ndjson",
        "{\"file\":\"novel.txt\",\"published\":\"1886\"}",
    );
    let line = "ingest --data {} --library new --rights protected --metadata {} {}";
    run(line, &[&data, &metadata, &books.join("a/novel.txt")]).expect(0);
    run("duplicates --history {} --data {}", &[&page, &data]).expect(0);
    let written = fs::read_to_string(&page).unwrap();
    assert!(
        written.contains("<h3>1. new/novel") && written.contains("1886</span>"),
        "{written}"
    );
    let bad = folder.file("bad.tsv", "a\tMay 1886\n");
    let refused = run(
        "duplicates --history {} --dates {} {}",
        &[&page, &bad, &books],
    )
    .expect(2);
    assert!(
        refused
            .err
            .contains("bad.tsv: line 1: it takes a name, a tab, and a date"),
        "{}",
        refused.err
    );
}
