//! Malicious files. Each costs one error response and affects nothing else.

use crate::common;
use crate::makers;
use std::fs;
use std::thread;

use crate::common::{Folder, Server, command, prose, run};
use crate::makers::{exhausts_memory, form, loops, pdf_that_draws, stream, zip};

/// A form that draws itself twice.
fn draws_itself() -> Vec<u8> {
    pdf_that_draws(stream("", b"/A Do", 1), vec![form(5, 2)])
}

const LIMITS: &str = "--limit-time 2 --limit-memory 536870912";

#[test]
fn a_reader_that_dies_costs_one_file() {
    let folder = Folder::new();
    for (name, bytes, limit, why) in [
        (
            "loop",
            loops(),
            "--limit-time 1",
            "reading it takes more than 1 seconds, the limit here (--limit-time)",
        ),
        (
            "memory",
            exhausts_memory(),
            "--limit-memory 268435456",
            "reading it needs more than 268435456 bytes of memory",
        ),
    ] {
        let file = folder.file(&format!("shelf/{name}.pdf"), bytes);
        let said = run(&format!("gems {limit} {{}}"), &[file]).expect(2).err;
        assert!(said.contains(why), "{name}: {said}");
    }
    // Among other files, they stop none of them.
    folder.file("shelf/b.txt", prose(1, 5_000));
    folder.file(
        "shelf/a.zip",
        zip(&[
            ("one.txt", prose(2, 5_000).as_bytes()),
            ("two.txt", prose(3, 5_000).as_bytes()),
        ]),
    );
    let line = format!("ingest --data {{}} --library l --rights protected {LIMITS} {{}}");
    let said = run(&line, &[folder.data(), folder.path("shelf")]).expect(2);
    assert!(
        said.out.contains("3 added") && said.out.contains("2 refused"),
        "{}{}",
        said.out,
        said.err
    );
    let report = run(
        "check --data {} --json {}",
        &[folder.data(), folder.path("shelf/a.zip")],
    )
    .expect(1)
    .json();
    let ids: Vec<&str> = report[0]["matches"]
        .as_array()
        .expect("matches")
        .iter()
        .filter_map(|m| m["book"]["id"].as_str())
        .collect();
    assert!(
        ids.len() == 2 && ids.contains(&"a/one") && ids.contains(&"a/two"),
        "{ids:?}"
    );
}

fn number(file: &[u8], at: usize) -> usize {
    u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Word documents whose container has a cycle in a chain of sectors or in the directory.
fn chains_without_end() -> Vec<Vec<u8>> {
    let paragraphs: Vec<String> = (0..40).map(|seed| prose(seed, 60)).collect();
    let whole = makers::doc(&paragraphs);
    // Offsets from [MS-CFB]: the sector size, the FAT, the mini FAT and the directory.
    let size = 1 << u16::from_le_bytes([whole[30], whole[31]]);
    let sector = |at: usize| (number(&whole, at) + 1) * size;
    let links = |table: usize| {
        (table..table + size)
            .step_by(4)
            .filter(|&at| number(&whole, at) < 1_000)
    };
    let names = (sector(48)..sector(48) + size)
        .step_by(128)
        .flat_map(|entry| [entry + 68, entry + 72, entry + 76]);
    let linked = links(sector(76))
        .chain(links(sector(60)).filter(|_| number(&whole, 60) < 1_000))
        .chain(names);
    let with = |at: usize, to: usize| {
        let mut file = whole.clone();
        file[at..at + 4].copy_from_slice(&(to as u32).to_le_bytes());
        file
    };
    linked
        .flat_map(|at| [0, 1, 2, (at % size) / 4].map(|to| with(at, to)))
        .collect()
}

#[test]
fn chains_without_end_do_end() {
    let folder = Folder::new();
    let files = chains_without_end();
    assert!(files.len() > 20, "{}", files.len());
    for (i, file) in files.into_iter().enumerate() {
        let path = folder.file("chain.doc", file);
        let said = run("gems --limit-time 5 {}", &[&path]);
        assert!(
            [0, 2].contains(&said.status)
                && !said.err.contains("needs more than")
                && !said.err.contains("takes more than"),
            "{i}: {}",
            said.err
        );
    }
}

#[test]
fn a_server_outlives_them() {
    let folder = Folder::new();
    let server = Server::start_with(LIMITS, &[], &folder.data());
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    let post = |bytes: &[u8], kind: &str| {
        loop {
            let request = agent
                .post(format!("{}/v1/checks", server.url))
                .content_type(kind);
            let mut answer = request.send(bytes).expect("an answer");
            // If all readers are busy for long, the server asks clients to try again.
            if answer.status() != 503 {
                return (
                    answer.status().as_u16(),
                    answer.body_mut().read_to_string().expect("a body"),
                );
            }
        }
    };
    let harmful = [
        (draws_itself(), "no_text"),
        (loops(), "over_limit"),
        (exhausts_memory(), "over_limit"),
        (makers::gz(&vec![b' '; 64 << 20]), "over_limit"),
        (b"PK\x03\x04".to_vec(), "damaged"),
        (b"%PDF-1.7".to_vec(), "damaged"),
    ];
    thread::scope(|scope| {
        for (bytes, code) in &harmful {
            let post = &post;
            scope.spawn(move || {
                let (status, said) = post(bytes, "application/octet-stream");
                assert_eq!(status, 422, "{said}");
                assert!(
                    said.contains(&format!("\"code\":\"{code}\"")),
                    "{code}: {said}"
                );
            });
        }
        // Meanwhile, other requests are served.
        for seed in 0..20 {
            assert_eq!(post(prose(seed, 500).as_bytes(), "text/plain").0, 200);
        }
    });
    let paragraphs = vec![prose(1, 3_000)];
    for (name, make) in makers::MAKERS {
        let (status, said) = post(&make(&paragraphs), "application/octet-stream");
        assert_eq!(status, 200, "{name}: {said}");
    }
    assert_eq!(
        post(&makers::epub(&paragraphs), "application/epub+zip").0,
        200
    );
    let put = agent
        .put(format!("{}/v1/libraries/l/books/a?rights=free", server.url))
        .content_type("application/epub+zip");
    let book = put
        .send(&makers::epub(&paragraphs)[..])
        .expect("an answer")
        .body_mut()
        .read_to_string()
        .expect("a body");
    assert!(
        book.contains(makers::TITLE) && book.contains(makers::AUTHOR),
        "{book}"
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_file_of_two_gigabytes_is_not_read() {
    let folder = Folder::new();
    let path = folder.file("sparse.epub", "");
    fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(2 << 30))
        .expect("a sparse file");
    let mut limited = command("gems {}", &[&path]);
    let said = common::Run::from(limited.output().expect("the program runs"))
        .expect(2)
        .err;
    assert!(
        said.contains("the file has more than 268435456 bytes, the limit here (--limit-input)"),
        "{said}"
    );
}

/// Path traversal: names in an archive are only names, and nothing is written outside.
#[test]
fn names_lead_nowhere() {
    let folder = Folder::new();
    let text = prose(4, 5_000);
    let archive = zip(&[
        ("../../escaped.txt", text.as_bytes()),
        ("/etc/escaped.txt", text.as_bytes()),
    ]);
    let file = folder.file("shelf/deep/a.zip", archive);
    let line = "ingest --data {} --library l --rights free --json {}";
    let lines = run(line, &[folder.data(), file]).expect(0).json();
    let ids: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["book"]["id"].as_str())
        .collect();
    assert!(
        ids.contains(&"a/../../escaped") && ids.contains(&"a//etc/escaped"),
        "{ids:?}"
    );
    assert!(!folder.path("escaped.txt").exists() && !folder.path("shelf/escaped.txt").exists());
}
