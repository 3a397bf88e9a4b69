//! `lapidary doctor`: each finding is produced from outside, and the commands that it names fix it.

use std::path::Path;

use serde_json::{Value, json};
use ureq::Agent;

use crate::common::{Folder, Run, Server, prose, run, until, without_secret};

const NONE: &[&Path] = &[];

/// The findings of a catalogue (`--data DIR`) or server (`--server URL`), with the exit status that goes with them.
fn findings(target: &str) -> Vec<Value> {
    let said = run(&format!("doctor --json {target}"), NONE);
    let findings = said.json().remove(0)["findings"]
        .as_array()
        .expect("a list")
        .clone();
    assert_eq!(
        said.status,
        i32::from(!findings.is_empty()),
        "{}{}",
        said.out,
        said.err
    );
    findings
}

fn concerns(target: &str) -> Vec<String> {
    findings(target)
        .iter()
        .map(|finding| finding["code"].as_str().expect("a name").to_owned())
        .collect()
}

fn fix(target: &str, concern: &str) -> String {
    let findings = findings(target);
    let found = findings.iter().find(|finding| finding["code"] == concern);
    let found = found.unwrap_or_else(|| panic!("no {concern} in {findings:?}"));
    assert!(
        found["detail"].as_str().is_some_and(|what| what.len() > 20),
        "{found}"
    );
    assert!(
        found["reason"].as_str().is_some_and(|why| why.len() > 10),
        "{found}"
    );
    found["fix"].as_str().expect("text").to_owned()
}

/// Runs a command as it was said.
fn obey(fix: &str) -> Run {
    run(
        fix.strip_prefix("lapidary ")
            .unwrap_or_else(|| panic!("no command: {fix}")),
        NONE,
    )
}

fn shelf(folder: &Folder, options: &str) -> String {
    folder.file("books/one.txt", prose(1, 3_000));
    folder.file("books/two.txt", prose(2, 3_000));
    let line = format!("ingest --library l --rights protected {options} --data {{}} {{}}");
    run(&line, &[folder.data(), folder.path("books")]).expect(0);
    format!("--data {}", folder.data().display())
}

#[test]
fn a_healthy_catalogue_and_one_without_a_backup() {
    let folder = Folder::new();
    let target = shelf(&folder, "");
    let said = run(&format!("doctor {target}"), NONE).expect(1).out;
    assert_eq!(said.lines().count(), 1, "{said}");
    let command = format!("lapidary backup {target} --to DIR");
    assert!(
        said.starts_with("no backup ") && said.ends_with(&format!("; to fix it: {command}\n")),
        "{said}"
    );
    obey(&fix(&target, "no_backup").replace("DIR", &folder.path("backups").display().to_string()))
        .expect(0);
    assert_eq!(
        run(&format!("doctor {target}"), NONE).expect(0).out,
        "nothing unhealthy found\n"
    );
    assert_eq!(concerns(&target), [""; 0]);
    // An empty catalogue needs no backup.
    run(
        "keys add --data {} --role admin boss",
        &[folder.path("new")],
    )
    .expect(0);
    assert_eq!(
        concerns(&format!("--data {}", folder.path("new").display())),
        [""; 0]
    );
    run(
        &format!("doctor --data {}", folder.path("nowhere").display()),
        NONE,
    )
    .expect(2);
}

#[test]
fn a_weak_default() {
    let folder = Folder::new();
    let target = shelf(&folder, "--recipe documented");
    let command = fix(&target, "weak_default");
    assert_eq!(
        command,
        format!("lapidary reindex {target} --recipe hardened-compact@secret --from sources PATH")
    );
    obey(&command.replace("PATH", &folder.path("books").display().to_string())).expect(0);
    assert_eq!(concerns(&target), ["no_backup"]);
    // If every book has gems of it already, no texts are needed.
    run(&format!("reindex {target} --recipe documented"), NONE).expect(0);
    let command = fix(&target, "weak_default");
    assert_eq!(
        command,
        format!("lapidary reindex {target} --recipe hardened-compact@secret")
    );
    obey(&command).expect(0);
    assert_eq!(concerns(&target), ["no_backup"]);
    run(
        &format!(
            "reindex {target} --recipe hardened@secret --from sources {}",
            folder.path("books").display()
        ),
        NONE,
    )
    .expect(0);
    assert_eq!(concerns(&target), ["weak_default", "no_backup"]);
    // Everybody knows the constants of `hardened` alone.
    let public = Folder::new();
    let target = shelf(&public, "--recipe hardened");
    let command = fix(&target, "weak_default");
    obey(&command.replace("PATH", &public.path("books").display().to_string())).expect(0);
    assert_eq!(concerns(&target), ["no_backup"]);
}

#[test]
fn incomplete_recipes_and_jobs_that_wait() {
    let folder = Folder::new();
    without_secret(&folder.data());
    let server = Server::start(&folder.data());
    let target = format!("--server {}", server.url);
    let put = |id: &str, recipe: &str, gem: &str| {
        let url = format!("{}/v1/libraries/l/books/{id}", server.url);
        let gems: Value = serde_json::from_str(gem).expect("JSON");
        let book = json!({ "rights": "free", "gems": [gems], "recipe": recipe });
        assert_eq!(
            ureq::put(url).send_json(book).expect("an answer").status(),
            201
        );
    };
    put("narrow", "released", "1");
    assert_eq!(
        concerns(&target),
        ["weak_default", "missed_books", "no_backup"]
    );
    put("wide", "hardened", "\"00000000000000ff\"");
    assert_eq!(
        concerns(&target),
        [
            "weak_default",
            "missed_books",
            "incomplete_recipe",
            "no_backup"
        ]
    );
    let command = fix(&target, "incomplete_recipe");
    assert!(
        command.contains(&format!("lapidary drop-recipe {target} released")),
        "{command}"
    );

    let one = folder.file("one.txt", prose(1, 3_000));
    run(
        &format!(
            "reindex {target} --recipe hardened --from sources {}",
            one.display()
        ),
        NONE,
    )
    .expect(2);
    let command = fix(&target, "waiting_job");
    obey(&command[command.find("lapidary jobs").expect("another way")..]).expect(0);
    until("the job waits on", || {
        !concerns(&target).contains(&"waiting_job".to_owned())
    });
    // There is nowhere to put a backup.
    assert!(
        fix(&target, "no_backup").starts_with("run lapidary serve with --backups DIR"),
        "{:?}",
        findings(&target)
    );
}

#[test]
fn settings_that_weaken_and_a_disk_that_is_nearly_full() {
    let folder = Folder::new();
    let local = shelf(&folder, "");
    let options =
        "--min-free 1000000000000000 --min-common 50 --min-share 0.5 --client-recipe documented";
    let server = Server::start_with(options, &[], &folder.data());
    let target = format!("--server {}", server.url);
    assert_eq!(
        concerns(&target),
        [
            "weak_rule",
            "missing_client_recipe",
            "no_backup",
            "disk_nearly_full"
        ]
    );
    assert_eq!(
        fix(&target, "weak_rule"),
        "run lapidary serve without --min-common and --min-share"
    );
    // The server has the folder.
    let refused = run(&format!("doctor {local}"), NONE).expect(3);
    assert!(refused.err.contains("--server"), "{}", refused.err);
}

/// The sentences are in the language that the client prefers, and the commands in them are the same.
#[test]
fn findings_are_told_in_the_language_of_the_reader() {
    let folder = Folder::new();
    without_secret(&folder.data());
    let options = "--min-free 1000000000000000 --min-common 50 --client-recipe documented";
    let server = Server::start_with(options, &[], &folder.data());
    let url = format!("{}/v1/libraries/l/books/one", server.url);
    let book = json!({ "rights": "free", "gems": [1], "recipe": "released" });
    assert_eq!(
        ureq::put(url).send_json(book).expect("an answer").status(),
        201
    );
    let told = |language| {
        let doctor = ureq::get(format!("{}/v1/doctor", server.url));
        let answer = doctor.header("accept-language", language).call();
        let mut answer = answer.expect("an answer");
        assert_eq!(answer.headers()["content-language"], language);
        assert!(answer.headers().contains_key("vary"));
        let told: Value = answer.body_mut().read_json().expect("JSON");
        told["findings"].as_array().expect("a list").clone()
    };
    let (english, russian) = (told("en"), told("ru"));
    assert_eq!(english.len(), russian.len());
    let is_russian = |text: &str| text.contains(|c: char| ('а'..='я').contains(&c));
    for (english, russian) in english.iter().zip(&russian) {
        assert_eq!(english["code"], russian["code"]);
        for field in ["detail", "reason", "fix"] {
            let [english, russian] =
                [english, russian].map(|said| said[field].as_str().expect("text"));
            assert!(!is_russian(english), "{english}");
            let is_command = english == russian && english.starts_with("lapidary ");
            assert!(is_russian(russian) || is_command, "{russian}");
        }
    }
    let said = |code: &str| {
        let found = russian.iter().find(|found| found["code"] == code);
        found.map(|found| found["detail"].as_str().expect("text").to_owned())
    };
    assert_eq!(
        said("missed_books").as_deref(),
        Some("у 1 книги из 1 нет отпечатков рецепта по умолчанию «hardened»")
    );
    let lines = |target: &str| {
        let said = run(&format!("doctor --lang ru {target}"), NONE)
            .expect(1)
            .out;
        for line in said.lines() {
            let (what, fix) = line.split_once("; исправить: ").expect(line);
            assert!(is_russian(what) && !fix.is_empty(), "{line}");
        }
        said.lines().count()
    };
    assert_eq!(lines(&format!("--server {}", server.url)), russian.len());
    drop(server);
    assert!(lines(&format!("--data {}", folder.data().display())) > 0);
}

#[test]
fn keys_that_expire() {
    let folder = Folder::new();
    let target = format!("--data {}", folder.data().display());
    for (name, expires) in [
        ("past", "--expires 2020-01-01"),
        ("soon", "--expires 5d"),
        ("later", "--expires 90d"),
        ("never", ""),
    ] {
        run(
            &format!("keys add {target} --role ingest --trusted --library l {expires} {name}"),
            NONE,
        )
        .expect(0);
    }
    assert_eq!(concerns(&target), ["expired_key", "expiring_key"]);
    obey(&fix(&target, "expired_key")).expect(0);
    assert_eq!(concerns(&target), ["expiring_key"]);
    let command = fix(&target, "expiring_key");
    let (command, _) = command.split_once(", and").expect("advice");
    assert_eq!(
        command,
        format!("lapidary keys add {target} --role ingest --trusted --library l NEW-NAME")
    );
    obey(command).expect(0);
}

/// What older versions did not ask for.
#[test]
fn libraries_and_bans_of_which_nobody_has_decided() {
    let folder = Folder::new();
    let target = shelf(&folder, "");
    let made = "--role ingest --trusted --library";
    run(&format!("keys add {target} {made} other other"), NONE).expect(0);
    let before = concerns(&target);
    assert!(!before.contains(&"unstated_trust".to_owned()), "{before:?}");
    let file = folder.file("ban/ban.txt", prose(77, 3_000));
    run(
        &format!(
            "ingest {target} --library other --rights forbidden {}",
            file.display()
        ),
        NONE,
    )
    .expect(0);
    let command = fix(&target, "key_may_not_forbid");
    assert!(
        command.contains("keys revoke")
            && command.contains("--role ingest --permission ban --trusted --library other"),
        "{command}"
    );
}

#[test]
fn a_job_that_failed() {
    let folder = Folder::new();
    let target = shelf(&folder, "");
    let file = folder.file("file", "not a folder");
    run(&format!("backup {target} --to {}", file.display()), NONE).expect(3);
    assert_eq!(concerns(&target), ["failed_job", "no_backup"]);
    let command = fix(&target, "failed_job");
    let command = command
        .strip_prefix("fix the cause, then ")
        .expect("advice");
    obey(&command.replace("DIR", &folder.path("backups").display().to_string())).expect(0);
    assert_eq!(concerns(&target), [""; 0]);
}

#[test]
fn a_webhook_that_nobody_answers() {
    let folder = Folder::new();
    let server = Server::start_with("--private-webhooks", &[], &folder.data());
    let target = format!("--server {}", server.url);
    run(
        &format!("webhooks set {target} --library l http://127.0.0.1:1/"),
        NONE,
    )
    .expect(0);
    for name in ["one", "two"] {
        let book = folder.file(&format!("{name}.txt"), prose(1, 3_000));
        run(
            &format!(
                "ingest {target} --library l --rights protected {}",
                book.display()
            ),
            NONE,
        )
        .expect(0);
    }
    until("the webhook never fails", || {
        concerns(&target).contains(&"failing_webhook".to_owned())
    });
    let command = fix(&target, "failing_webhook");
    obey(&command[command.find("lapidary webhooks").expect("a command")..]).expect(0);
    assert_eq!(concerns(&target), ["no_backup"]);
}

/// The answer of a server has `TARGET` in place of itself, because it does not know under which address it was found.
#[test]
fn over_http() {
    let folder = Folder::new();
    shelf(&folder, "");
    let server = Server::start_with("", &[], &folder.data());
    let agent: Agent = Agent::new_with_defaults();
    let answer = agent
        .get(format!("{}/v1/doctor", server.url))
        .call()
        .expect("an answer")
        .body_mut()
        .read_json::<Value>();
    let findings = answer.expect("JSON")["findings"].clone();
    assert_eq!(
        findings[0]["fix"],
        "run lapidary serve with --backups DIR, then lapidary backup TARGET"
    );
}

#[test]
fn a_lexicon_that_the_library_has_outgrown() {
    let folder = Folder::new();
    let target = shelf(&folder, "--recipe hardened");
    let (books, lexicon) = (folder.path("books"), folder.path("lexicon.tsv"));
    let count = || {
        std::fs::write(&lexicon, run("lexicon count {}", &[&books]).expect(0).out)
            .expect("it can be written");
    };
    count();
    let reindex = || {
        let line = format!(
            "reindex {target} --recipe tf-idf --lexicon {{}} --drop-old --from sources {{}}"
        );
        run(&line, &[&lexicon, &books]).expect(0);
    };
    reindex();
    let is_old = || concerns(&target).contains(&"old_lexicon".to_owned());
    let add = |number: u64| {
        folder.file(&format!("books/{number}.txt"), prose(number, 3_000));
        run(
            &format!("ingest --library l --rights protected {target} {{}}"),
            &[&books],
        )
        .expect(0);
    };
    add(3);
    assert!(
        !is_old(),
        "three books are not twice the two that it counts"
    );
    add(4);
    let said = fix(&target, "old_lexicon");
    assert!(
        said.contains("lapidary lexicon drift FILE PATH") && said.contains("count a new"),
        "{said}"
    );
    let drift = run("lexicon drift {} {}", &[&lexicon, &books])
        .expect(0)
        .out;
    assert!(!drift.is_empty());
    count();
    reindex();
    assert!(!is_old(), "it counts all books now");
}
