//! The server itself: a failing store, load, shutdown and its address.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lapidary::server::{Server, Settings};
use lapidary_catalogue::Catalogue;
use lapidary_store::{StoreError, Table};
use serde_json::json;

use super::running::{Answer, JSON, Running, TEXT};
use crate::common::prose;
use crate::common::watched::{Call, Watched};

/// Allow-lists are read once, not for each check, and a change of one reads no other.
#[test]
fn filed_checks_and_settings_read_no_whole_table() {
    static READ: AtomicUsize = AtomicUsize::new(0);
    let count = |call| {
        let is_counted = matches!(
            call,
            Call::Page {
                table: Table::AllowLists,
                ..
            }
        );
        READ.fetch_add(usize::from(is_counted), Ordering::Relaxed);
        Ok(())
    };
    let server = Running::with(|store| Box::new(Watched(store, count)));
    let text = prose(1, 2_000);
    server
        .put_text("/v1/libraries/l/books/1", "protected", &text)
        .expect(201);
    let file = || {
        server
            .post("/v1/checks?record=true", TEXT, &text)
            .expect(200)["filed"]
            .clone()
    };
    let allow = |name: &str| {
        let list = json!({ "text": prose(2, 500) }).to_string();
        server
            .put(&format!("/v1/allow-lists/{name}"), JSON, list)
            .expect(201);
    };
    allow("first");
    assert!(file().is_string());
    let (before, since) = (READ.load(Ordering::Relaxed), Instant::now());
    // On a cluster, it is looked every second whether others have changed them.
    let assert_read = |times: usize, why: &str| {
        let read = READ.load(Ordering::Relaxed) - before;
        let looks = if super::ON_CLUSTER {
            2 * (1 + since.elapsed().as_secs() as usize)
        } else {
            0
        };
        let expected = times..=times + looks;
        assert!(expected.contains(&read), "{why}: {read}, not {expected:?}");
    };
    (0..20).for_each(|_| assert!(file().is_string()));
    assert_read(0, "they are known");
    allow("second");
    assert_read(0, "only the one that changes is read");
    let state = |id: &serde_json::Value| {
        server
            .get(&format!("/v1/decisions/{}", id.as_str().unwrap()))
            .expect(200)
    };
    let [one, other] = [file(), file()].map(|id| state(&id)["filed"]["catalogue_digest"].clone());
    assert!(one.is_string() && one == other, "{one}");
    assert_read(1, "read again once, because they changed");
}

#[test]
fn a_store_that_fails_is_a_problem_of_the_server() {
    const SECRET: &str = "/srv/secret";
    type Put = fn() -> Result<(), StoreError>;
    let damaged = || {
        Err(StoreError::Damaged {
            path: SECRET.into(),
            detail: "a block".into(),
        })
    };
    let table: [(Put, u16, &str); 3] = [
        (
            || Err(StoreError::DiskFull(SECRET.into())),
            507,
            "disk_full",
        ),
        (damaged, 500, "store_failed"),
        (|| panic!("on purpose"), 500, "internal"),
    ];
    for (put, status, code) in table {
        let server = Running::with(|store| {
            Box::new(Watched(store, move |call| match call {
                Call::Put => put(),
                _ => Ok(()),
            }))
        });
        for _ in 0..100 {
            let detail = server
                .put_text("/v1/libraries/l/books/1", "free", "a")
                .problem(status, code, code);
            assert!(!detail.contains(SECRET), "{detail}");
        }
        assert_eq!(server.get("/v1/stats").expect(200)["books"], 0);
    }
}

#[test]
fn checks_are_answered_while_books_are_put_in() {
    let server = Running::start();
    let text = prose(1, 4_000);
    server
        .put_text("/v1/libraries/house/books/small", "protected", &text)
        .expect(201);
    let big: Vec<String> = (10..14).map(|seed| prose(seed, 300_000)).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let puts: Vec<_> = big
            .iter()
            .enumerate()
            .map(|(i, text)| {
                let target = format!("/v1/libraries/house/books/big{i}?rights=free");
                let server = &server;
                scope.spawn(move || server.put(&target, TEXT, text).expect(201))
            })
            .collect();
        let checks: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut longest = Duration::ZERO;
                    while !done.load(Ordering::Relaxed) {
                        let start = Instant::now();
                        assert_eq!(server.check_text(&text)["verdict"], "protected");
                        longest = longest.max(start.elapsed());
                    }
                    longest
                })
            })
            .collect();
        for put in puts {
            put.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        for check in checks {
            let longest = check.join().unwrap();
            assert!(longest < Duration::from_secs(5), "a check took {longest:?}");
        }
    });
    assert_eq!(server.get("/v1/stats").expect(200)["books"], 5);
    let same: Vec<u16> = thread::scope(|scope| {
        let put = || {
            server
                .put_text("/v1/libraries/house/books/contended", "free", &text)
                .status
        };
        let puts: Vec<_> = (0..16).map(|_| scope.spawn(put)).collect();
        puts.into_iter().map(|put| put.join().unwrap()).collect()
    });
    assert!(
        same.iter().all(|status| [200, 201].contains(status)),
        "{same:?}"
    );
    assert_eq!(server.get("/v1/stats").expect(200)["books"], 6);
}

/// A cluster has tools of its own for that.
#[test]
fn a_store_on_a_cluster_has_no_backups() {
    if !super::ON_CLUSTER {
        return;
    }
    let server = Running::start();
    let job = json!({ "kind": "backup" }).to_string();
    let detail = server
        .post("/v1/jobs", JSON, job)
        .problem(409, "not_offered", "backup");
    assert!(detail.contains("has no backups"), "{detail}");
}

/// A shutdown accepts no new requests, finishes those in progress, and does not wait for idle connections.
#[test]
fn a_stop_finishes_what_runs() {
    const SLOW: Duration = Duration::from_millis(700);
    let mut server = Running::with(|store| {
        Box::new(Watched(store, |call| {
            if call == Call::Snapshot {
                thread::sleep(SLOW);
            }
            Ok(())
        }))
    });
    assert_eq!(
        server.get("/readyz").expect(200),
        json!({ "status": "ready" })
    );
    let mut idle = server.connect();
    idle.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut first = [0; 15];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let mut slow = server.connect();
    slow.write_all(b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    let answer = thread::spawn(move || Answer::read(slow));
    server.stop().unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(answer.join().unwrap().expect(200)["books"], 0);
    assert!(TcpStream::connect(server.address).is_err());
}

#[test]
fn an_address_in_use_is_named_with_the_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Arc::new(Catalogue::open_or_create(folder.path()).unwrap());
    let table = [
        (listen, "--listen"),
        (
            "192.0.2.1:80".parse().unwrap(),
            "an address of this machine",
        ),
    ];
    for (listen, advice) in table {
        let settings = Settings {
            listen: vec![listen].into(),
            ..Settings::default()
        };
        let error = Server::bind(Arc::clone(&catalogue), settings)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains(&listen.to_string()) && error.contains(advice),
            "{error}"
        );
    }
}

/// Java's client asks for HTTP/2 with each request, and sends the next one on a connection that it thinks is kept.
#[test]
fn an_upgrade_is_declined() {
    let server = Running::start();
    let ask = |target: &str| {
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"
        );
        server.raw(request.as_bytes())
    };
    for (target, status) in [("/healthz", 200), ("/v1/nothing", 404)] {
        let answer = ask(target);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.head.contains("connection: close"), "{answer:?}");
    }
}
