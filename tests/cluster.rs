//! Catalogues in a Redis Cluster, with the program as users run it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, mem, thread};

use crate::common::cluster::Nodes;
use crate::common::{Folder, Run, Server, command, prose, run, until};
use lapidary_catalogue::Catalogue;
use lapidary_store::Actor;
use lapidary_store_redis::ClusterAddress;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

/// Sends JSON. Returns the status, `Retry-After`, and the answer.
fn send(method: &str, url: &str, body: &Value) -> (u16, Option<String>, Value) {
    let agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_mins(1)))
        .build();
    let mut answer = send_with(&agent.new_agent(), method, url, body);
    let retry = answer
        .headers()
        .get("Retry-After")
        .map(|value| value.to_str().unwrap().to_owned());
    (
        answer.status().as_u16(),
        retry,
        answer.body_mut().read_json().unwrap(),
    )
}

fn send_with(agent: &Agent, method: &str, url: &str, body: &Value) -> Response<Body> {
    let request = if method == "PUT" {
        agent.put(url)
    } else {
        agent.post(url)
    };
    request.send_json(body).unwrap()
}

#[test]
fn commands_work_on_a_cluster_as_on_a_folder() {
    let Some(nodes) = Nodes::start(3, 1) else {
        return;
    };
    let store = format!("redis://{}/books", nodes.addresses);
    let folder = Folder::new();
    for i in 0..4 {
        folder.file(&format!("library/{i}.txt"), prose(i, 3000));
    }
    let copy = folder.file("copy.txt", prose(2, 3000));
    let (library, data) = (folder.path("library"), folder.data());
    let ingest = |flags: &str| {
        run(
            &format!("ingest {flags} --library lib --rights protected {{}}"),
            &[&library],
        )
        .expect(0)
    };
    // With a secret, they would have different gems.
    let recipes = "--recipe hardened --recipe released";
    ingest(&format!("--store {store} {recipes}"));
    run(
        &format!("ingest {recipes} --data {{}} --library lib --rights protected {{}}"),
        &[&data, &library],
    )
    .expect(0);
    let same = |line: &str, file: Option<&std::path::Path>| {
        let files: Vec<&std::path::Path> = file.into_iter().collect();
        let on_cluster = run(
            &format!("{line} --store {store} {}", "{} ".repeat(files.len())),
            &files,
        );
        let mut paths = vec![data.as_path()];
        paths.extend(&files);
        let on_folder = run(
            &format!("{line} --data {{}} {}", "{} ".repeat(files.len())),
            &paths,
        );
        assert_eq!(
            (on_cluster.status, on_cluster.out),
            (on_folder.status, on_folder.out),
            "{line}: {}",
            on_cluster.err
        );
    };
    same("check", Some(&copy));
    same("books find --identifier 123", None);
    run(
        &format!("books disable --store {store} --library lib 2"),
        &[] as &[&str],
    )
    .expect(0);
    run("books disable --data {} --library lib 2", &[&data]).expect(0);
    same("check", Some(&copy));
    // The variable, and the export of one as the import of the other.
    let export = folder.path("export.ndjson");
    let stats: Run = command("stats", &[] as &[&str])
        .env("LAPIDARY_STORE", &store)
        .output()
        .unwrap()
        .into();
    assert!(stats.expect(0).out.contains("lib"));
    run(&format!("export --store {store} {{}}"), &[&export]).expect(0);
    let other = format!("redis://{}/other", nodes.addresses);
    run(&format!("import --store {other} {{}}"), &[&export]).expect(0);
    // Its buckets are merged; those of books that were added otherwise have a field for each posting.
    let fields = |prefix: &str| -> [u32; 2] {
        let script = "local n, all = 0, redis.call('KEYS', ARGV[1])
            for _, key in ipairs(all) do n = n + redis.call('HLEN', key) end
            return n .. ' ' .. #all";
        let pattern = format!("{prefix}:p:*");
        let counts = (0..3).map(|node| nodes.ask(node, &["eval", script, "0", &pattern]));
        counts.fold([0; 2], |[fields, buckets], counts| {
            let (of_fields, of_buckets) = counts.split_once(' ').unwrap();
            [
                fields + of_fields.parse::<u32>().unwrap(),
                buckets + of_buckets.parse::<u32>().unwrap(),
            ]
        })
    };
    let ([added, buckets], [merged, same_buckets]) = (fields("books"), fields("other"));
    assert!(
        added > buckets && buckets > 0 && same_buckets == buckets,
        "{added} {buckets} {same_buckets}"
    );
    assert_eq!(merged, buckets);
    let again = folder.path("again.ndjson");
    run(&format!("export --store {other} {{}}"), &[&again]).expect(0);
    let lines = |path| {
        std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    assert!(lines(&export).len() > 4);
    assert_eq!(lines(&export), lines(&again));
    let duplicates = run(
        &format!("duplicates --json --store {store} --since 1h"),
        &[] as &[&str],
    )
    .expect(0);
    assert_eq!(duplicates.json().len(), 0, "four different books");
    // What only folders have.
    let backup = run(
        &format!("backup --store {store} --to {{}}"),
        &[folder.path("backups")],
    );
    assert!(
        backup
            .err
            .contains("the engine of this store has no backups"),
        "{}",
        backup.err
    );
    let both = run(&format!("stats --store {store} --data {{}}"), &[&data]);
    assert_eq!(both.status, 2);
    let wrong = run("stats --store redis://nowhere", &[] as &[&str]).expect(2);
    assert!(
        wrong.err.contains("each node needs a host and a port"),
        "{}",
        wrong.err
    );
}

#[test]
fn without_a_part_of_the_index_there_is_no_verdict() {
    let Some(nodes) = Nodes::start(3, 0) else {
        return;
    };
    let store = format!("redis://{}", nodes.addresses);
    let servers = [Server::start_on(&store), Server::start_on(&store)];
    let url = |server: &Server, path: &str| format!("{}{path}", server.url);
    let book = json!({ "rights": "protected", "text": prose(1, 3000) });
    let (status, _, answer) = send("PUT", &url(&servers[0], "/v1/libraries/lib/books/1"), &book);
    assert_eq!(status, 201, "{answer}");
    // Another server knows it at once.
    let check = json!({ "text": prose(1, 3000) });
    let (status, _, answer) = send("POST", &url(&servers[1], "/v1/checks"), &check);
    assert_eq!(
        (status, &answer["matches"][0]["book"]["id"]),
        (200, &json!("1")),
        "{answer}"
    );
    nodes.signal(1, "-KILL");
    for server in &servers {
        let (status, retry, answer) = send("POST", &url(server, "/v1/checks"), &check);
        assert_eq!(
            (status, &answer["code"]),
            (503, &json!("store_unavailable")),
            "{answer}"
        );
        assert!(retry.is_some() && answer.get("verdict").is_none());
    }
}

/// Of two clusters, each has its own part of no catalogue.
#[test]
fn nodes_of_two_clusters_are_refused() {
    let (Some(one), Some(other)) = (Nodes::start(3, 0), Nodes::start(3, 0)) else {
        return;
    };
    let first = |nodes: &Nodes| nodes.addresses.split(',').next().unwrap().to_owned();
    let store = format!("redis://{},{}/books", first(&one), first(&other));
    for line in ["stats", "doctor", "verify"] {
        let refused = run(&format!("{line} --store {store}"), &[] as &[&Path]);
        let named = format!(
            "{} and {} are of different clusters",
            first(&one),
            first(&other)
        );
        assert!(
            refused.status != 0 && refused.err.contains(&named),
            "{line}: {} {}",
            refused.out,
            refused.err
        );
    }
}

/// A primary that has lost what it kept on disk and is started again before anybody has taken its place.
#[test]
fn a_node_that_came_back_empty_is_not_believed() {
    for emptied in 0..3 {
        let Some(nodes) = Nodes::start(3, 0) else {
            return;
        };
        let store = format!("redis://{}/books", nodes.addresses);
        let server = Server::start_on(&store);
        let call = |method: &str, path: &str, body: &Value| {
            send(method, &format!("{}{path}", server.url), body)
        };
        let get = |path: &str| {
            let agent = Agent::config_builder()
                .http_status_as_error(false)
                .build()
                .new_agent();
            agent
                .get(format!("{}{path}", server.url))
                .call()
                .unwrap()
                .status()
                .as_u16()
        };
        let books = 0..12_u64;
        for i in books.clone() {
            let book = json!({ "rights": "protected", "text": prose(i, 3000) });
            assert_eq!(
                call("PUT", &format!("/v1/libraries/lib/books/{i}"), &book).0,
                201
            );
        }
        nodes.signal(emptied, "-KILL");
        nodes.lose_data(emptied);
        nodes.restart(emptied);
        let lost = |answer: &Value| answer.to_string().contains("has lost ");
        for i in books.clone() {
            let (status, _, answer) =
                call("POST", "/v1/checks", &json!({ "text": prose(i, 3000) }));
            assert_eq!(status, 503, "{emptied} {i}: {answer}");
            // Without the node of the keys, nothing is known of these after two seconds.
            assert!(
                answer["code"] == "store_emptied" && lost(&answer) || i > 0,
                "{emptied} {i}: {answer}"
            );
            // A short text may need no gem of that node, but then its book is found.
            let (status, _, answer) = call("POST", "/v1/checks", &json!({ "text": prose(i, 400) }));
            let is_found = answer["matches"][0]["book"]["id"] == json!(i.to_string());
            assert!(
                status == 503 || status == 200 && is_found,
                "{emptied} {i}: {answer}"
            );
            assert!(matches!(
                get(&format!("/v1/libraries/lib/books/{i}")),
                200 | 503
            ));
        }
        // Nothing is put into the place of keys and settings that are gone.
        let slot: usize = nodes
            .ask((emptied + 1) % 3, &["cluster", "keyslot", "books{meta}"])
            .parse()
            .unwrap();
        if slot / (16384 / 3 + 1) == emptied {
            let source = json!({ "kind": "list", "url": "https://example.org/list", "library": "lib", "rights": "free" });
            for (path, body) in [
                ("/v1/sources/it", source),
                ("/v1/allow-lists/it", json!({ "gems": [1, 2, 3] })),
            ] {
                let (status, _, answer) = call("PUT", path, &body);
                let code = answer["code"].as_str().unwrap_or_default();
                assert!(
                    status == 503 && code.starts_with("store_"),
                    "{path}: {answer}"
                );
            }
        }
        // Not even what all shards have a part of is shown without that of one.
        assert_eq!(get("/v1/libraries/lib/books"), 503);
        let folder = Folder::new();
        let copy = folder.file("copy.txt", prose(2, 3000));
        let checked = run(
            &format!("check --store {store} {{}}"),
            std::slice::from_ref(&copy),
        );
        assert!(
            checked.status != 0 && checked.err.contains("has lost "),
            "{}",
            checked.err
        );
        // A new catalogue on the same nodes works.
        let fresh = format!("redis://{}/fresh", nodes.addresses);
        run(
            &format!("ingest --store {fresh} --library lib --rights protected {{}}"),
            std::slice::from_ref(&copy),
        )
        .expect(0);
        let again = run(&format!("check --json --store {fresh} {{}}"), &[copy]);
        assert_eq!(again.json()[0]["verdict"], "protected");
    }
}

/// All nodes of a shard are gone: a check that needs it is refused, and says which node does not answer.
#[test]
fn without_a_shard_a_check_is_refused_and_says_which() {
    let Some(nodes) = Nodes::start(3, 1) else {
        return;
    };
    let store = format!("redis://{}/books", nodes.addresses);
    let server = Server::start_on(&store);
    let url = |path: &str| format!("{}{path}", server.url);
    let text = prose(1, 3000);
    let book = json!({ "rights": "protected", "text": text });
    assert_eq!(send("PUT", &url("/v1/libraries/lib/books/1"), &book).0, 201);

    // Recipes, keys and totals are on the node of this slot, without which nothing can be checked.
    let slot: usize = nodes
        .ask(0, &["cluster", "keyslot", "books{meta}"])
        .parse()
        .unwrap();
    let lost = (slot / (16384 / 3 + 1) + 1) % 3;
    nodes.signal(lost + 3, "-KILL");
    nodes.signal(lost, "-KILL");
    let asked = json!({ "text": text });
    let (checked, of_gems, error) = std::thread::scope(|scope| {
        let of_gems = scope.spawn(|| status_by_gems(&url("/copyright_check_by_gems/")));
        let command = scope.spawn(|| error_of_command(&store, &text));
        let checked = send("POST", &url("/v1/checks"), &asked);
        (checked, of_gems.join().unwrap(), command.join().unwrap())
    });
    let (status, _, answer) = checked;
    assert_eq!(
        (status, &answer["code"], of_gems),
        (503, &json!("store_unavailable"), 503),
        "{answer}"
    );
    // Until the nodes agree that it has failed, it is still asked. Clients of a server are told no addresses.
    let node = nodes.addresses.split(',').nth(lost).unwrap();
    assert!(
        error.contains(&format!("{node}: ")) || error.contains("is served by no node"),
        "{error}"
    );
}

/// The status of the endpoint for existing clients, for gems that are on all nodes.
fn status_by_gems(url: &str) -> u16 {
    let agent = Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    let gems: Vec<String> = (1..200).map(|gem| gem.to_string()).collect();
    let form = agent.post(url).send_form([("gems", gems.join(","))]);
    form.unwrap().status().as_u16()
}

/// What a command says whose store fails.
fn error_of_command(store: &str, text: &str) -> String {
    let folder = Folder::new();
    let file = folder.file("known.txt", text);
    run(&format!("check --store {store} {{}}"), &[file])
        .expect(3)
        .err
}

#[test]
fn doctor_and_metrics_tell_what_is_unhealthy_about_nodes() {
    let Some(nodes) = Nodes::start_with(2, 0, &[("VOLATILE", Path::new("1"))]) else {
        return;
    };
    let store = format!("redis://{}", nodes.addresses);
    // Nodes that lose their data when they stop are used only if that is said.
    for command in ["doctor", "serve --listen 127.0.0.1:0"] {
        let refused = run(&format!("{command} --store {store}"), &[] as &[&str]).expect(3);
        let named = nodes
            .addresses
            .split(',')
            .all(|node| refused.err.contains(node));
        assert!(
            named && refused.err.contains("--allow-volatile"),
            "{}",
            refused.err
        );
    }
    let findings = |status| -> Vec<(String, String)> {
        let doctor = format!("doctor --json --store {store} --allow-volatile");
        let run = run(&doctor, &[] as &[&str]).expect(status);
        let text = |finding: &Value, field: &str| finding[field].as_str().unwrap().to_owned();
        run.json()[0]["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| (text(f, "code"), text(f, "fix")))
            .collect()
    };
    let concerns = || {
        findings(1)
            .into_iter()
            .map(|(concern, _)| concern)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        concerns(),
        ["missing_replica", "not_persistent", "missing_catalogue"]
    );
    let folder = Folder::new();
    let book = folder.file("1.txt", prose(1, 3000));
    run(
        &format!("ingest --store {store} --allow-volatile --library lib --rights free {{}}"),
        &[&book],
    )
    .expect(0);
    assert_eq!(concerns(), ["missing_replica", "not_persistent"]);
    let fix = findings(1).swap_remove(1).1;
    let fixed = Command::new("sh")
        .args(["-c", &fix])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(fixed.success(), "{fix}");
    assert_eq!(concerns(), ["missing_replica"]);
    run(&format!("compact --store {store}"), &[] as &[&str]).expect(0);
    run(&format!("verify --store {store}"), &[] as &[&str]).expect(0);
    // While a server runs, someone changes the policy.
    let server = Server::start_on(&store);
    let get = |path: &str| {
        ureq::get(format!("{}{path}", server.url))
            .call()
            .unwrap()
            .body_mut()
            .read_to_string()
            .unwrap()
    };
    let first = nodes.addresses.split(',').next().unwrap();
    let set = |setting: &str, value: &str| {
        let args = [
            "-u",
            &format!("redis://{first}"),
            "config",
            "set",
            setting,
            value,
        ];
        assert!(
            Command::new("redis-cli")
                .args(args)
                .stdout(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
    };
    set("maxmemory", "1gb");
    set("maxmemory-policy", "allkeys-lru");
    let found = get("/v1/doctor");
    assert!(
        found.contains("evicting_node") && found.contains("config set maxmemory-policy noeviction"),
        "{found}"
    );
    let refused = run(&format!("stats --store {store}"), &[] as &[&str]).expect(3);
    assert!(
        refused
            .err
            .contains("config set maxmemory-policy noeviction"),
        "{}",
        refused.err
    );
    let metric = |name: &str| -> f64 {
        let all = get("/metrics");
        let line = all
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")))
            .unwrap_or_else(|| panic!("{name}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(
        (
            metric("lapidary_cluster_primaries"),
            metric("lapidary_cluster_unreplicated_primaries")
        ),
        (2.0, 2.0)
    );
    assert_eq!(
        (
            metric("lapidary_cluster_failovers_total"),
            metric("lapidary_cluster_pending_changes")
        ),
        (0.0, 0.0)
    );
    assert!(
        metric("lapidary_cluster_round_trips_total") > 10.0
            && metric("lapidary_cluster_memory_bytes") > 1e6
    );
}

/// Writes the certificates that `scripts/cluster` takes.
fn certify(folder: &Folder) {
    let mut about = CertificateParams::default();
    about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    about
        .distinguished_name
        .push(DnType::CommonName, "an authority of the test");
    let authority = CertifiedIssuer::self_signed(about, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    folder.file("tls/authority.pem", authority.pem());
    folder.file("tls/certificate.pem", certificate.pem());
    folder.file("tls/key.pem", key.serialize_pem());
}

/// Earlier versions did not count which recipes the books of a cluster have gems of.
#[test]
fn a_cluster_that_does_not_count_by_recipe_is_told_and_repaired() {
    let Some(nodes) = Nodes::start(1, 0) else {
        return;
    };
    let store = format!("redis://{}/books", nodes.addresses);
    let server = Server::start_on(&store);
    let gate = |id: u64| {
        let url = format!(
            "{}/v1/libraries/house/books/{id}?unless=protected",
            server.url
        );
        send(
            "PUT",
            &url,
            &json!({ "rights": "free", "text": prose(id, 600) }),
        )
    };
    assert_eq!(gate(1).0, 201);
    for (library, recipe, gem) in [
        ("one", "released", json!(1)),
        ("two", "hardened", json!("00000000000000ff")),
    ] {
        let url = format!("{}/v1/libraries/{library}/books/1", server.url);
        assert_eq!(
            send(
                "PUT",
                &url,
                &json!({ "rights": "free", "recipe": recipe, "gems": [gem] })
            )
            .0,
            201
        );
    }
    assert_eq!(gate(2).0, 201);
    let totals = "books{meta}totals";
    let counts: Vec<String> = nodes
        .ask(0, &["HKEYS", totals])
        .lines()
        .map(str::to_owned)
        .collect();
    let counts: Vec<&str> = counts
        .iter()
        .map(String::as_str)
        .filter(|key| key.starts_with("r:"))
        .collect();
    assert_eq!(
        nodes.ask(0, &[&["HDEL", totals], &counts[..]].concat()),
        "3"
    );
    let (status, _, problem) = gate(3);
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("check_incomplete")),
        "{problem}"
    );
    let none: &[&str] = &[];
    let found = run(&format!("doctor --json --store {store}"), none)
        .expect(1)
        .json()[0]["findings"]
        .take();
    let found = found
        .as_array()
        .unwrap()
        .iter()
        .find(|found| found["code"] == "inconsistent")
        .expect("a finding");
    let what = found["detail"].as_str().unwrap();
    assert!(
        what.ends_with("not counted by recipe: 'house', 'one', 'two'"),
        "{what}"
    );
    let fix = found["fix"].as_str().unwrap();
    assert_eq!(fix, format!("lapidary verify --store {store} --fix"));
    run(fix.strip_prefix("lapidary ").unwrap(), none).expect(0);
    assert!(
        !run(&format!("doctor --store {store}"), none)
            .expect(1)
            .out
            .contains("counted by recipe")
    );
    assert_eq!(gate(3).0, 201);
}

#[test]
fn changes_are_on_disk_if_they_must_be() {
    let Some(program) = Nodes::program_with_logs() else {
        return;
    };
    let variables = [
        ("REDIS_SERVER", program.as_path()),
        ("VOLATILE", Path::new("1")),
    ];
    let Some(nodes) = Nodes::start_with(2, 1, &variables) else {
        return;
    };
    let folder = Folder::new();
    let book = folder.file("1.txt", prose(1, 600));
    let ingest = |status| -> Run {
        let line = format!(
            "ingest --library lib --rights protected --store redis://{} {{}}",
            nodes.addresses
        );
        Run::from(
            command(&line, &[&book])
                .env("LAPIDARY_STORE_ON_DISK", "1")
                .env("LAPIDARY_ALLOW_VOLATILE", "true")
                .output()
                .unwrap(),
        )
        .expect(status)
    };
    let refused = ingest(3);
    assert!(refused.err.contains("appendonly"), "{}", refused.err);
    for node in 0..nodes.count() {
        for (name, value) in [("appendfsync", "always"), ("appendonly", "yes")] {
            assert_eq!(nodes.ask(node, &["config", "set", name, value]), "OK");
        }
    }
    ingest(0);
    let waited = |node| {
        nodes
            .ask(node, &["info", "commandstats"])
            .contains("cmdstat_waitaof:")
    };
    assert!((0..2).all(waited), "every primary was asked");
    // Without the log of a replica, nothing is acknowledged.
    assert_eq!(nodes.ask(2, &["config", "set", "appendonly", "no"]), "OK");
    assert_eq!(nodes.ask(3, &["config", "set", "appendonly", "no"]), "OK");
    let second = folder.file("2.txt", prose(2, 600));
    let line = format!(
        "ingest --library lib --rights protected --store redis://{} {{}}",
        nodes.addresses
    );
    let run = Run::from(
        command(&line, &[&second])
            .env("LAPIDARY_STORE_ON_DISK", "1")
            .env("LAPIDARY_ALLOW_VOLATILE", "true")
            .output()
            .unwrap(),
    );
    assert_ne!(run.status, 0, "{}", run.out);
}

#[test]
fn nodes_that_cannot_say_what_is_on_disk_are_refused() {
    let Some(nodes) = Nodes::start(1, 0) else {
        return;
    };
    let mut stats = command(
        &format!("stats --store redis://{}", nodes.addresses),
        &[] as &[&Path],
    );
    let refused: Run =
        Run::from(stats.env("LAPIDARY_STORE_ON_DISK", "1").output().unwrap()).expect(3);
    assert!(
        refused.err.contains("WAITAOF") || refused.err.contains("appendonly"),
        "{}",
        refused.err
    );
}

#[test]
fn what_is_on_disk_survives_the_end_of_all_nodes() {
    let Some(program) = Nodes::program_with_logs() else {
        return;
    };
    let variables = [
        ("REDIS_SERVER", program.as_path()),
        ("ON_DISK", Path::new("1")),
    ];
    let Some(nodes) = Nodes::start_with(2, 1, &variables) else {
        return;
    };
    let store = format!("redis://{}", nodes.addresses);
    let mut serve = command(
        &format!("serve --listen 127.0.0.1:0 --store {store}"),
        &[] as &[&Path],
    );
    serve.env("LAPIDARY_STORE_ON_DISK", "1");
    let server = Server::of(serve);
    let (url, added) = (server.url.clone(), Arc::new(AtomicU64::new(0)));
    let adding = {
        let added = Arc::clone(&added);
        thread::spawn(move || {
            let agent: Agent = Agent::config_builder()
                .http_status_as_error(false)
                .build()
                .into();
            for i in 0.. {
                let book = json!({ "rights": "protected", "text": prose(i, 600) });
                let answer = agent
                    .put(format!("{url}/v1/libraries/lib/books/{i}"))
                    .send_json(&book);
                if answer.is_ok_and(|answer| answer.status() == 201) {
                    added.store(i + 1, Ordering::SeqCst);
                } else {
                    break;
                }
            }
        })
    };
    while added.load(Ordering::SeqCst) < 20 {
        assert!(
            !adding.is_finished(),
            "after {} books, one was not added",
            added.load(Ordering::SeqCst)
        );
        thread::sleep(Duration::from_millis(10));
    }
    // All at once, while the next book is being added.
    (0..nodes.count()).for_each(|node| nodes.signal(node, "-KILL"));
    drop(server);
    adding.join().unwrap();
    (0..nodes.count()).for_each(|node| nodes.restart(node));
    let folder = Folder::new();
    let export = folder.path("export.ndjson");
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let exported = run(&format!("export --store {store} {{}}"), &[&export]);
        if exported.status == 0 {
            break;
        }
        assert!(
            Instant::now() < until,
            "the cluster does not come back: {}",
            exported.err
        );
        thread::sleep(Duration::from_millis(200));
    }
    let lines = fs::read_to_string(&export).unwrap();
    let books = lines.lines().filter_map(|line| {
        serde_json::from_str::<Value>(line).unwrap()["book"]["id"]
            .as_str()?
            .parse()
            .ok()
    });
    let books: BTreeSet<u64> = books.collect();
    let added = added.load(Ordering::SeqCst);
    assert!(
        (0..added).all(|book| books.contains(&book)),
        "{added} were added; {books:?}"
    );
    for i in [0, added - 1] {
        let text = folder.file(&format!("{i}.txt"), prose(i, 600));
        run(&format!("check --store {store} {{}}"), &[&text]).expect(1);
    }
}

/// Some are sent only after days, or by scripts.
#[test]
fn the_user_of_the_deployment_may_send_every_command() {
    let user = include_str!("../deploy/cluster/users.acl");
    let may = |name: &str| {
        let right = format!("+{}", name.to_lowercase());
        let mut rights = user.split_whitespace().map(|right| right.split('|').next());
        rights.any(|known| known == Some(right.as_str()))
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/store-redis/src");
    let mut found = 0;
    for folder in ["", "client", "lua", "verify"].map(|name| source.join(name)) {
        for file in fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
        {
            if file.ends_with("tests.rs") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap_or_default();
            let calls = [
                "redis.call(",
                "Command::new(",
                "Command::bare(",
                "redis::cmd(",
                ".recent(",
            ];
            for sent in calls.iter().flat_map(|call| text.split(call).skip(1)) {
                let Some(sent) = sent.trim_start().strip_prefix(['\'', '"']) else {
                    continue;
                };
                let name = sent.split(['\'', '"']).next().unwrap();
                // A setting needs it, and the docs say so.
                let is_exempt = name == "WAITAOF";
                assert!(is_exempt || may(name), "{name} of {}", file.display());
                found += 1;
            }
        }
    }
    assert!(found > 100, "{found}");
}

#[test]
fn tls_and_a_user_with_few_rights_are_enough() {
    let folder = Folder::new();
    certify(&folder);
    let (tls, authority) = (folder.path("tls"), folder.path("tls/authority.pem"));
    let Some(nodes) = Nodes::start_with(2, 1, &[("TLS", &tls)]) else {
        return;
    };
    let user = include_str!("../deploy/cluster/users.acl")
        .trim()
        .replace("PASSWORD", "secret");
    for node in nodes.addresses.split(',') {
        let mut redis = Command::new("redis-cli");
        redis
            .args(["-p", node.rsplit(':').next().unwrap(), "--tls", "--cacert"])
            .arg(&authority);
        let set = redis
            .args(["acl", "setuser"])
            .args(user.split(' ').skip(1))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&set.stdout).trim(), "OK");
    }
    let password = folder.file("password", "secret\n");
    let store = format!("rediss://lapidary@{}", nodes.addresses);
    let with = |line: &str, files: &[&Path]| -> Command {
        let mut command = command(
            &format!("{line} --store {store}{}", " {}".repeat(files.len())),
            files,
        );
        command
            .env("LAPIDARY_CA", &authority)
            .env("LAPIDARY_STORE_PASSWORD_FILE", &password);
        command
    };
    let run = |mut command: Command, status: i32| -> Run {
        Run::from(command.output().unwrap()).expect(status)
    };
    let (book, export) = (
        folder.file("1.txt", prose(1, 3000)),
        folder.path("export.ndjson"),
    );
    run(
        with(
            "ingest --library lib --rights protected --keep-texts --keep-folds",
            &[&book],
        ),
        0,
    );
    run(with("check", &[&book]), 1);
    for line in [
        "books find --title nothing",
        "books note --library lib --text seen 1",
        "keys add --role check someone",
        "keys revoke someone",
        "reindex --recipe released --from folds",
        "drop-recipe hardened",
        "compact",
        "verify",
        "verify --fix",
        "stats",
        "audit",
        "jobs list",
    ] {
        run(with(line, &[]), 0);
    }
    run(with("doctor", &[]), 1);
    run(with("export", &[&export]), 0);
    run(with("import", &[&export]), 0);
    run(with("books remove --library lib 1", &[]), 0);
    // Neither without the password, nor without the authority, nor outside the prefix.
    let mut wrong = with("stats", &[]);
    wrong.env("LAPIDARY_STORE_PASSWORD", "guess");
    assert!(run(wrong, 3).err.contains("authentication failed"));
    let mut unknown = with("stats", &[]);
    unknown.env_remove("LAPIDARY_CA");
    assert!(run(unknown, 3).err.contains("certificate"));
    let mut other = command(&format!("stats --store {store}/other"), &[] as &[&Path]);
    other
        .env("LAPIDARY_CA", &authority)
        .env("LAPIDARY_STORE_PASSWORD_FILE", &password);
    assert!(run(other, 3).err.contains("NOPERM"));
}

/// Servers that begin a catalogue at the same time agree on one secret.
#[test]
fn a_catalogue_that_several_begin_has_one_secret() {
    let Some(nodes) = Nodes::start(3, 0) else {
        return;
    };
    for round in 0..5 {
        let address: ClusterAddress = format!("redis://{}/begun-{round}", nodes.addresses)
            .parse()
            .expect("an address");
        let catalogues = [(); 4].map(|()| Catalogue::open_cluster(&address).expect("a catalogue"));
        thread::scope(|scope| {
            for catalogue in &catalogues {
                scope.spawn(|| {
                    let editor = catalogue.by(Actor::Local);
                    editor.recipes().ensure(&[]).expect("recipes");
                });
            }
        });
        let fresh = Catalogue::open_cluster(&address).expect("a catalogue");
        let recipes = fresh.recipes().list().expect("recipes");
        let names: Vec<_> = recipes.iter().map(|one| one.recipe.as_str()).collect();
        assert!(
            matches!(names[..], [own, "hardened", "released"] if own.starts_with("hardened-compact@")),
            "{names:?}"
        );
        assert!(recipes.iter().all(|recipe| recipe.ready), "{recipes:?}");
    }
}

/// A check of gems asks the nodes of their buckets, and then that of the book: nothing before, and nothing again.
#[test]
fn a_check_of_gems_takes_two_round_trips() {
    let Some(nodes) = Nodes::start(2, 0) else {
        return;
    };
    let store = format!("redis://{}", nodes.addresses);
    let gems: Vec<u64> = (1..=50).map(|number| number * 1_000_003).collect();
    let book = json!({ "id": "1", "rights": "protected", "recipe": "released", "gems": gems });
    let folder = Folder::new();
    let feed = folder.file("books.ndjson", book.to_string());
    let ingest = format!("ingest --store {store} --library lib --feed {{}}");
    run(&ingest, &[&feed]).expect(0);
    let server = Server::start_on(&store);
    let round_trips = || -> f64 {
        let mut answer = ureq::get(format!("{}/metrics", server.url)).call().unwrap();
        let all = answer.body_mut().read_to_string().unwrap();
        let name = "lapidary_cluster_round_trips_total ";
        let line = all.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().parse().unwrap()
    };
    let check = format!("{}/v1/checks", server.url);
    let asked = json!({ "gems": gems, "recipe": "released" });
    // The server counts anew every few seconds. Returns how many checks were made until then, and the count.
    let counted_anew = |count: f64| {
        let (mut checks, mut now) = (0, count);
        until("the round trips are counted", || {
            for _ in 0..20 {
                let (status, _, report) = send("POST", &check, &asked);
                assert_eq!((status, &report["verdict"]), (200, &json!("protected")));
            }
            checks += 20;
            now = round_trips();
            now > count
        });
        (f64::from(checks), now)
    };
    let (_, mut count) = counted_anew(round_trips());
    // It asks for other things meanwhile, so the fewest count.
    let of_a_check = (0..3).map(|_| {
        let (checks, now) = counted_anew(count);
        (now - mem::replace(&mut count, now)) / checks
    });
    let fewest = of_a_check.fold(f64::INFINITY, f64::min);
    assert!(
        (2.0..4.5).contains(&fewest),
        "{fewest} nodes were asked for each check"
    );
}
