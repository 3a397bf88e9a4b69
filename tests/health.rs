//! `lapidary health` against real servers.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::common::{Folder, Run, Server, command, key, run};

fn none() -> &'static [&'static str] {
    &[]
}

/// Asks at the address of a server.
fn health(server: &Server, options: &str) -> Run {
    let address = server.url.split("://").nth(1).expect("an address");
    run(&format!("health --listen {address} {options}"), none())
}

#[test]
fn a_running_server_is_healthy_until_it_stops() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let url = server.url.clone();
    assert_eq!(
        health(&server, "").expect(0).out,
        format!("{url} is running\n")
    );
    assert_eq!(
        health(&server, "--ready").expect(0).out,
        format!("{url} is ready\n")
    );
    let file = folder.file(
        "lapidary.toml",
        format!("listen = {:?}\n", &url["http://".len()..]),
    );
    run("health --config {}", &[&file]).expect(0);
    // With a certificate, HTTP is not tried.
    let told = health(&server, "--certificate any.pem").expect(1);
    assert!(
        told.out.starts_with("no answer from https://"),
        "{}",
        told.out
    );
    assert_eq!(server.stop(), Some(0));
    let stopped = run("health --config {}", &[&file]).expect(1);
    assert!(
        stopped.out.starts_with(&format!("no answer from {url}: ")),
        "{}",
        stopped.out
    );
    assert_eq!((stopped.out.lines().count(), stopped.err.as_str()), (1, ""));
}

/// The health checks of containers wait only so long.
#[test]
fn a_server_that_does_not_answer_is_given_up_once() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("an address");
    let port = silent.local_addr().expect("an address").port();
    let begun = Instant::now();
    // By both schemes, and at two addresses.
    let line = format!("health --listen localhost:{port}");
    let told = run(&line, none()).expect(1);
    assert!(
        told.out.starts_with("no answer from http://"),
        "{}",
        told.out
    );
    assert!(
        begun.elapsed() < Duration::from_secs(7),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_server_that_is_running_but_not_ready_says_why() {
    let folder = Folder::new();
    let server = Server::start_with("--min-free 1000000TB", &[], &folder.data());
    health(&server, "").expect(0);
    let full = health(&server, "--ready").expect(1);
    let begun = format!(
        "{} is not ready: the catalogue's disk is nearly full",
        server.url
    );
    assert!(full.out.starts_with(&begun), "{}", full.out);
}

/// As in a container: both read the address from the variable, and only the server knows a key.
#[test]
fn a_server_on_all_addresses_is_asked_on_loopback_without_a_key() {
    for (all, loopback) in [("0.0.0.0", "127.0.0.1"), ("[::]", "[::1]")] {
        let Ok(free) = TcpListener::bind((loopback.trim_matches(['[', ']']), 0)) else {
            println!("no {loopback} here: skipped");
            continue;
        };
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let folder = Folder::new();
        key(&folder.data(), "--role admin boss");
        let mut serve = command("serve --data {}", &[folder.data()]);
        serve.env("LAPIDARY_LISTEN", format!("{all}:{port}"));
        let server = Server::of(serve);
        let asked = command("health", none())
            .env("LAPIDARY_LISTEN", format!("{all}:{port}"))
            .env("http_proxy", "http://127.0.0.1:9")
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&asked.stdout).into_owned();
        assert_eq!(said, format!("http://{loopback}:{port} is running\n"));
        drop(server);
    }
}

/// Another program has the port.
#[test]
fn something_else_at_the_address_is_not_healthy() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in other.incoming().flatten() {
            let mut stream = stream;
            let mut request = [0; 4096];
            let _ = std::io::Read::read(&mut stream, &mut request);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
            let _ = std::io::Write::write_all(&mut stream, answer);
        }
    });
    let asked = run(&format!("health --listen {address}"), none()).expect(1);
    assert_eq!(
        asked.out,
        format!("http://{address} is not running: it does not answer as Lapidary does\n")
    );
}
