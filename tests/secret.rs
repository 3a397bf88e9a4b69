//! Recipes with a secret: what someone who has read the source cannot do, and what never leaves the catalogue.

use std::fs;
use std::path::PathBuf;

use crate::common::{Folder, Server, key, prose, run};
use lapidary_gems::Recipe;
use lapidary_lab::Attack;
use serde_json::{Value, json};

const BOOKS: u64 = 6;

/// A folder with a catalogue of a few books, as old ones are: without a secret.
fn catalogue(options: &str) -> Folder {
    let folder = Folder::new();
    for book in 0..BOOKS {
        folder.file(&format!("books/{book}.txt"), prose(book, 6_000));
    }
    let recipes = "--recipe hardened --recipe released";
    let line =
        format!("ingest --library l --rights protected {recipes} {options} --data {{}} {{}}");
    run(&line, &[folder.data(), folder.path("books")]).expect(0);
    folder
}

/// Adds a book of which nothing but the gems is known.
fn add_gems(folder: &Folder) {
    let released = Recipe::released();
    let gems = released.gems(&prose(100, 6_000)).into_iter();
    let gems: Vec<u64> = gems.map(|placed| placed.gem.0).collect();
    let of_gems =
        json!({ "id": "gems", "rights": "protected", "gems": gems, "recipe": "released" });
    let feed = folder.file("feed.ndjson", of_gems.to_string());
    run(
        "ingest --data {} --library l --feed {}",
        &[folder.data(), feed],
    )
    .expect(0);
}

fn reindex(folder: &Folder, recipe: &str) -> String {
    let line = format!("reindex --recipe {recipe} --data {{}}");
    let said = run(&line, &[folder.data()]).expect(0).out;
    let said = said.strip_prefix("checks now use recipe ").expect(&said);
    said.split([';', '\n']).next().expect("a name").to_owned()
}

fn check(folder: &Folder, file: &PathBuf, options: &str) -> Value {
    let line = format!("check --json {options} --data {{}} {{}}");
    let mut reports = run(&line, &[&folder.data(), file]).json();
    reports.remove(0)
}

/// Someone who may check, and nothing else.
struct Stranger {
    server: Server,
    key: String,
}

impl Stranger {
    fn of(folder: &Folder) -> Self {
        let key = key(&folder.data(), "--role check stranger");
        let server = Server::start(&folder.data());
        Self { server, key }
    }

    fn check(&self, text: &str) -> Value {
        let request = ureq::post(format!("{}/v1/checks", self.server.url));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let answer = request.header("content-type", "text/plain").send(text);
        let report = answer.expect("an answer").into_body().read_to_string();
        serde_json::from_str(&report.expect("a report")).expect("JSON")
    }
}

/// The book as someone would publish it who has read how gems are computed.
fn informed_copy(folder: &Folder) -> PathBuf {
    let attack = Attack::named("informed").expect("an attack");
    let text = prose(1, 6_000);
    let copy = attack.copy(&text, 1.0, 1).expect("it applies");
    let edits = text.chars().zip(copy.chars()).filter(|(a, b)| a != b);
    let edits = edits.count() * 1_000 / text.split(' ').count();
    println!("{edits} letters in 1,000 words");
    assert!((10..50).contains(&edits), "{edits}");
    folder.file("copy.txt", copy)
}

/// A new catalogue has a secret of its own.
#[test]
fn each_catalogue_has_its_own_secret() {
    let names = [1, 2].map(|_| {
        let folder = Folder::new();
        folder.file("books/1.txt", prose(1, 6_000));
        let line = "ingest --library l --rights protected --data {} {}";
        run(line, &[folder.data(), folder.path("books")]).expect(0);
        let found = check(&folder, &informed_copy(&folder), "");
        assert_eq!(found["verdict"], "protected", "{found}");
        found["recipe"].as_str().expect("a name").to_owned()
    });
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("hardened-compact@")),
        "{names:?}"
    );
    assert_ne!(names[0], names[1]);
}

/// Who has no secret can still try edits until nothing is found.
#[test]
fn who_tries_edits_is_told_of() {
    let folder = Folder::new();
    folder.file("books/1.txt", prose(1, 6_000));
    let line = "ingest --library l --rights protected --data {} {}";
    run(line, &[folder.data(), folder.path("books")]).expect(0);
    let keys = ["thief", "shop"].map(|name| key(&folder.data(), &format!("--role check {name}")));
    let boss = key(&folder.data(), "--role admin boss");
    let server = Server::start(&folder.data());
    let check = |key: &str, text: String| {
        let request = ureq::post(format!("{}/v1/checks", server.url));
        let request = request.header("authorization", format!("Bearer {key}"));
        let request = request.header("content-type", "text/plain");
        request.send(text).expect("an answer");
    };
    let found = || {
        let request = ureq::get(format!("{}/v1/doctor", server.url));
        let request = request.header("authorization", format!("Bearer {boss}"));
        let answer = request
            .call()
            .expect("an answer")
            .into_body()
            .read_to_string();
        let answer: Value = serde_json::from_str(&answer.expect("a text")).expect("JSON");
        let findings = answer["findings"].as_array().expect("findings").clone();
        findings
            .into_iter()
            .filter(|finding| finding["code"] == "probing_key")
            .map(|finding| finding["detail"].as_str().expect("text").to_owned())
            .collect::<Vec<_>>()
    };
    let [thief, shop] = &keys;
    let text = prose(1, 6_000);
    for version in 0..50 {
        assert_eq!(found(), [""; 0], "{version}");
        // A piece of the book, padded with what is in no book.
        let edited = format!("{} {}", &text[..12_000], prose(1_000 + version, 500));
        check(thief, edited);
        check(shop, text.clone());
        check(shop, prose(2_000 + version, 1_000));
        check(&boss, format!("{text} {version}"));
    }
    let found = found();
    assert!(
        found.len() == 1 && found[0].starts_with("the key thief has checked 50 texts"),
        "{found:?}"
    );
}

#[test]
fn who_reads_the_source_cannot_hide_a_copy() {
    let folder = catalogue("--keep-folds");
    add_gems(&folder);
    let copy = informed_copy(&folder);
    assert_eq!(check(&folder, &copy, "")["verdict"], "unknown");
    let recipe = reindex(&folder, "hardened@secret --allow-missing");
    assert!(recipe.starts_with("hardened@"), "{recipe}");
    let found = check(&folder, &copy, "");
    assert_eq!(
        (
            &found["verdict"],
            &found["matches"][0]["book"]["id"],
            &found["matches"][0]["recipes"][0]
        ),
        (&json!("protected"), &json!("1"), &json!(recipe))
    );
    // By its name without digits, and with gems that are a part of the others.
    let named = check(&folder, &copy, "--recipe hardened@secret");
    assert_eq!(named["matches"], found["matches"]);
    let fine = reindex(&folder, "hardened-fine@secret --allow-missing");
    assert_eq!(
        fine.strip_prefix("hardened-fine"),
        recipe.strip_prefix("hardened")
    );
    // A book of which nothing but gems is known is found by those.
    let of_gems = folder.file("gems.txt", prose(100, 6_000));
    assert_eq!(check(&folder, &of_gems, "")["verdict"], "protected");
    // Another secret makes other gems of the same book.
    let other = reindex(&folder, "hardened@new-secret --allow-missing");
    assert!(other.starts_with("hardened@") && other != recipe, "{other}");
    for old in ["hardened", "hardened@secret", "hardened-fine@secret"] {
        run(&format!("drop-recipe --data {{}} {old}"), &[folder.data()]).expect(0);
    }
    assert_eq!(check(&folder, &copy, "")["verdict"], "protected");
    run("verify --data {}", &[folder.data()]).expect(0);
}

#[test]
fn places_tell_nothing_of_single_gems() {
    let folder = catalogue("--keep-folds --keep-texts");
    let recipe = reindex(&folder, "hardened@secret");
    let text = [prose(500, 700), prose(2, 6_000), prose(501, 700)].join("\n\n");
    let is_coarse = |found: &Value| {
        let spans = found["matches"][0]["spans"].as_array().expect("spans");
        assert!(!spans.is_empty() && found["recipe"] == recipe, "{found}");
        spans.iter().all(|span| {
            let place = &span["query"]["bytes"];
            let [start, end] = ["start", "end"].map(|of| place[of].as_u64().expect("a number"));
            start % 512 == 0 && (end % 512 == 0 || end == text.len() as u64)
        })
    };
    // Whoever has the catalogue has its secret.
    let file = folder.file("text.txt", &text);
    assert!(!is_coarse(&check(&folder, &file, "")));
    // Others will see what is filed.
    assert!(is_coarse(&check(&folder, &file, "--record")));
    let found = Stranger::of(&folder).check(&text);
    assert!(is_coarse(&found), "{found}");
    let covered = found["covered"].as_f64().expect("a share") * 100.0;
    assert!((covered - covered.round()).abs() < 1e-9, "{covered}");
}

#[test]
fn no_gem_leaves_the_catalogue() {
    let folder = catalogue("--keep-folds");
    let recipe = reindex(&folder, "hardened@secret --drop-old");
    let boilerplate = folder.file("boilerplate.txt", prose(300, 3_000));
    run(
        "allow add --data {} --text {} boilerplate",
        &[folder.data(), boilerplate],
    )
    .expect(0);
    let secret = key(&folder.data(), "--role admin boss");
    let server = Server::start(&folder.data());
    let get = |path: &str| {
        let request = ureq::get(format!("{}{path}", server.url));
        let request = request.header("authorization", format!("Bearer {secret}"));
        request
            .call()
            .expect("an answer")
            .into_body()
            .read_to_string()
            .expect("a text")
    };
    let told = [
        "/v1/allow-lists",
        "/v1/jobs",
        "/v1/export",
        "/v1/recipes",
        "/v1/stats",
        "/v1/audit",
    ]
    .map(get);
    for told in &told {
        assert!(
            !told.contains("\"secret\"") && !told.contains("window"),
            "{told}"
        );
    }
    let [allow, jobs, export, recipes, ..] = &told;
    assert!(jobs.contains(&recipe) && recipes.contains(&recipe));
    assert!(
        !allow.contains("hardened") && !export.contains("hardened"),
        "{allow} {export}"
    );
    // Nobody can send gems of it, whether they name the recipe or not.
    let gems = json!(["0000b9fde99327d3", "0000b995a35b1cf7"]);
    let bodies = [
        json!({ "gems": gems, "recipe": recipe }),
        json!({ "gems": gems }),
    ];
    for (body, code) in bodies.iter().zip(["secret_recipe", "bad_gem"]) {
        for (method, path) in [
            ("POST", "/v1/checks"),
            ("PUT", "/v1/libraries/l/books/guessed"),
        ] {
            let request = ureq::http::Request::builder()
                .method(method)
                .uri(format!("{}{path}", server.url));
            let request = request.header("authorization", format!("Bearer {secret}"));
            let request = request.header("content-type", "application/json");
            let mut body = body.clone();
            if method == "PUT" {
                body["rights"] = json!("protected");
            }
            let agent: ureq::Agent = ureq::Agent::config_builder()
                .http_status_as_error(false)
                .build()
                .into();
            let answer = agent
                .run(request.body(body.to_string()).expect("a request"))
                .expect("an answer");
            let answer: Value =
                serde_json::from_str(&answer.into_body().read_to_string().expect("a text"))
                    .expect("JSON");
            assert_eq!(answer["code"], code, "{method} {path}: {answer}");
        }
    }
}

/// What is told of a text depends on its length, not on where its gems are.
#[test]
fn counts_tell_nothing_of_single_gems() {
    let folder = catalogue("--keep-folds");
    let recipe = reindex(&folder, "hardened@secret --drop-old");
    // Some gems are not counted, which is not told either.
    let allowed = folder.file("allowed.txt", &prose(2, 6_000)[..4_000]);
    run(
        "allow add --data {} --text {} part",
        &[folder.data(), allowed],
    )
    .expect(0);
    // Two texts of one length, of which one has no sounds and so no gems but at its end.
    let text = prose(2, 6_000);
    let text_bytes = text.len();
    let end = text.floor_char_boundary(text.len() / 2);
    let silent = format!("{}{}", "a ".repeat(end / 2), &text[end / 2 * 2..]);
    let stranger = Stranger::of(&folder);
    let told = [text, silent].map(|text| {
        let report = stranger.check(&text);
        assert_eq!(report["matches"][0]["recipes"][0], recipe, "{report}");
        ["gems", "looked_up", "common_gems", "allowed_gems"].map(|count| report[count].clone())
    });
    assert_eq!(told[0], told[1]);
    assert_eq!(
        told[0],
        [text_bytes / 240, text_bytes / 240, 0, 0].map(|count| json!(count))
    );
    drop(stranger);
    let shown = run(
        "books show --json --library l --data {} 2",
        &[folder.data()],
    );
    let shown = shown.expect(0).json().remove(0);
    let usual = shown["bytes"].as_u64().expect("a length") / 240;
    assert_eq!(shown["gems"][&recipe], usual);
}

/// A catalogue whose books are gone takes them from an export, and keeps its secret.
#[test]
fn an_import_into_an_emptied_catalogue_keeps_the_secret() {
    let folder = catalogue("--keep-folds");
    let recipe = reindex(&folder, "hardened@secret");
    let export = folder.path("export.ndjson");
    run("export --data {} {}", &[folder.data(), export.clone()]).expect(0);
    let lines = fs::read_to_string(&export).expect("an export");
    for book in 0..BOOKS {
        let line = format!("books remove --library l --data {{}} {book}");
        run(&line, &[folder.data()]).expect(0);
    }
    run("import --data {} {}", &[folder.data(), export.clone()]).expect(0);
    let copy = informed_copy(&folder);
    let found = check(&folder, &copy, "");
    assert_eq!(
        (&found["recipe"], &found["verdict"]),
        (&json!(recipe), &json!("protected"))
    );
    // Gems that an export brings are made up. The book is not there any more, and has no fold to compute them from.
    run("books remove --library l --data {} 1", &[folder.data()]).expect(0);
    let forged = lines.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        if line["book"]["id"] == "1" {
            line["book"]["gems"][&recipe] = json!(1);
            line["gems"][&recipe] = json!([["0000b9fde99327d3"]]);
            line.as_object_mut().expect("a book").remove("folds");
        }
        format!("{line}\n")
    });
    let forged: String = forged.collect();
    assert!(forged.contains("0000b9fde99327d3"));
    fs::write(&export, forged).expect("written");
    run("import --data {} {}", &[folder.data(), export.clone()]).expect(0);
    let shown = run(
        "books show --json --library l --data {} 1",
        &[folder.data()],
    );
    assert_eq!(shown.expect(0).json()[0]["gems"][&recipe], Value::Null);
    // So is a secret.
    let secret = "07".repeat(32);
    let definition = format!(
        r#""recipes":[{{"name":"hardened@11a0f6fa","window":184,"bits":48,"secret":"{secret}"}},"#
    );
    fs::write(&export, lines.replacen(r#""recipes":["#, &definition, 1)).expect("written");
    let refused = run("import --data {} {}", &[folder.data(), export]).expect(2);
    assert!(
        refused.err.contains("a recipe with a secret"),
        "{}",
        refused.err
    );
}

/// An export has no gems of a secret recipe. A catalogue that has the secret computes them again, from folds or texts, or keeps
/// those that it has; copies and backups have all.
#[test]
fn the_secret_goes_where_the_catalogue_goes() {
    let folder = catalogue("--keep-folds");
    let recipe = reindex(&folder, "hardened@secret");
    let copy = informed_copy(&folder);
    let export = folder.path("export.ndjson");
    run("export --data {} {}", &[folder.data(), export.clone()]).expect(0);
    run("books remove --library l --data {} 1", &[folder.data()]).expect(0);
    assert_eq!(check(&folder, &copy, "")["verdict"], "unknown");
    run("import --data {} {}", &[folder.data(), export]).expect(0);
    assert_eq!(
        check(&folder, &copy, "")["matches"][0]["recipes"][0],
        recipe
    );
    run("verify --data {}", &[folder.data()]).expect(0);

    run(
        "backup --data {} --to {}",
        &[folder.data(), folder.path("backups")],
    )
    .expect(0);
    run(
        "restore --data {} --from {}",
        &[folder.path("restored"), folder.path("backups")],
    )
    .expect(0);
    run(
        "copy --from {} --to {}",
        &[folder.data(), folder.path("copied")],
    )
    .expect(0);
    for place in ["restored", "copied"] {
        let line = "check --json --data {} {}";
        let found = run(line, &[folder.path(place), copy.clone()])
            .json()
            .remove(0);
        assert_eq!(found["matches"][0]["recipes"][0], recipe, "{place}");
    }
}
