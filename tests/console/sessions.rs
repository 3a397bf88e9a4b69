//! Signing in and out, and when a session ends.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::common::{Folder, Server, command, key, run};
use crate::console::web::Web;

#[test]
fn a_key_opens_a_session_and_its_cookie_is_safe() {
    let folder = Folder::new();
    let data = folder.data();
    let secret = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let nobody = Web::of(&server);
    let away = nobody.get("/console/keys?x=1&y=2").expect(303);
    assert_eq!(
        away.header("location"),
        Some("/console/sign-in?next=%2Fconsole%2Fkeys%3Fx%3D1%26y%3D2")
    );
    assert_eq!(
        nobody.get("/").expect(303).header("location"),
        Some("/console/sign-in?next=%2F")
    );
    for wrong in ["", "lap_", "x", &secret[..secret.len() - 1]] {
        let page = nobody.sign_in(wrong).expect(403);
        assert!(
            page.header("set-cookie").is_none() && page.body.contains("There is no such key"),
            "{}",
            page.body
        );
    }
    let page = nobody
        .form(
            "/console/sign-in?next=/console/keys",
            &format!("key={secret}"),
        )
        .expect(303);
    assert_eq!(page.header("location"), Some("/console/keys"));
    let cookie = page.header("set-cookie").expect("a cookie");
    let (pair, attributes) = cookie.split_once(';').expect("attributes");
    assert_eq!(attributes, " Path=/; HttpOnly; SameSite=Strict");
    assert!(
        pair.starts_with("lapidary=") && !cookie.contains(&secret),
        "{cookie}"
    );
    let elsewhere = nobody
        .form(
            "/console/sign-in?next=//evil.example",
            &format!("key={secret}"),
        )
        .expect(303);
    assert_eq!(elsewhere.header("location"), Some("/"));
    // Behind a proxy with TLS, the browser is to send the cookie to nobody else.
    let host = server.url.trim_start_matches("http://");
    let proxied = format!(
        "Host: {host}\r\nOrigin: https://{host}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    );
    let page = nobody
        .bare(
            "POST",
            "/console/sign-in",
            &proxied,
            format!("key={secret}").as_bytes(),
        )
        .expect(303);
    let cookie = page.header("set-cookie").expect("a cookie");
    assert!(
        cookie.starts_with("__Host-lapidary=") && cookie.ends_with("; SameSite=Strict; Secure"),
        "{cookie}"
    );
    let mut web = nobody.clone();
    web.cookie = cookie.split(';').next().map(str::to_owned);
    web.get("/console/keys").expect(200);
}

#[test]
fn a_session_ends_by_itself_or_with_its_key() {
    let folder = Folder::new();
    let data = folder.data();
    let secret = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let boss = Web::signed_in(&server, &secret);
    // The secret of a new key is shown once.
    let made = boss
        .send(
            "/console/keys",
            "/console/keys",
            "name=shop&check=yes&rate=50%2Fs",
        )
        .expect(200);
    let shop_secret = made
        .body
        .split_once("id=\"secret\">")
        .expect("a secret")
        .1
        .split('<')
        .next()
        .expect("its end");
    assert!(
        shop_secret.starts_with("lap_") && !boss.get("/console/keys").body.contains(shop_secret)
    );
    let [shop, again] = [(); 2].map(|()| Web::signed_in(&server, shop_secret));
    shop.get("/console/check").expect(200);
    // Signing out ends one session.
    let out = shop
        .send("/console/check", "/console/sign-out", "")
        .expect(303);
    assert!(
        out.header("set-cookie")
            .is_some_and(|cookie| cookie.contains("Max-Age=0"))
    );
    shop.get("/console/check").expect(303);
    again.get("/console/check").expect(200);
    // A revoked key ends all of its sessions at once, and the page says why.
    boss.send("/console/keys", "/console/keys/shop/revoke", "")
        .expect(303);
    let ended = again.get("/console/check").expect(303);
    let place = ended.header("location").expect("a place").to_owned();
    assert!(
        again
            .get(&place)
            .expect(200)
            .body
            .contains("revoked or has expired")
    );
    assert!(boss.get("/console/keys").expect(200).body.contains("boss"));
    // A restart ends none.
    server.stop();
    let server = Server::start(&data);
    let [boss, again] = [boss, again].map(|before| {
        let mut web = Web::of(&server);
        web.cookie = before.cookie;
        web
    });
    boss.get("/console/keys").expect(200);
    again.get("/console/check").expect(303);
}

#[test]
fn sessions_are_listed_and_ended_by_those_who_may() {
    let folder = Folder::new();
    let data = folder.data();
    let [boss, shop, other] = ["admin boss", "check shop", "check other"]
        .map(|role| key(&data, &format!("--role {role}")));
    let server = Server::start(&data);
    let [boss, shop, other] = [boss, shop, other].map(|secret| Web::signed_in(&server, &secret));
    let id_of = |page: &str| {
        page.split_once("/console/sessions/")
            .map(|(_, rest)| rest[..16].to_owned())
    };
    let seen = boss.get("/console/sessions").expect(200).body;
    assert!(
        seen.contains("shop") && seen.contains("other") && seen.contains("127.0.0.1"),
        "{seen}"
    );
    let own = shop.get("/console/sessions").expect(200).body;
    assert!(
        own.contains("shop") && !own.contains(">other<") && id_of(&own).is_none(),
        "{own}"
    );
    // Nobody but an administrator ends a session of another key.
    let id = id_of(&seen).expect("a session that can be ended");
    // The newest is listed first.
    shop.send(
        "/console/sessions",
        &format!("/console/sessions/{id}/end"),
        "",
    )
    .expect(303);
    assert_eq!(
        [&shop, &other].map(|web| web.get("/console/check").status),
        [200, 200]
    );
    boss.send(
        "/console/sessions",
        &format!("/console/sessions/{id}/end"),
        "",
    )
    .expect(303);
    assert_eq!(
        [&shop, &other].map(|web| web.get("/console/check").status),
        [200, 303]
    );
}

#[test]
fn attempts_to_sign_in_are_limited_and_lock_nobody_out() {
    let folder = Folder::new();
    let data = folder.data();
    let secret = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let web = Web::of(&server);
    let statuses: Vec<u16> = (0..25)
        .map(|_| web.sign_in("lap_00000000_0").status)
        .collect();
    assert!(
        statuses.iter().filter(|status| **status == 429).count() >= 4,
        "{statuses:?}"
    );
    assert_eq!(&statuses[..20], [403; 20]);
    // What others have tried does not concern whoever has a key.
    web.sign_in(&secret).expect(303);
    web.sign_in("lap_00000000_0").expect(429);
}

/// Each session is written to the store, so a key does not begin as many as it likes. That concerns no other key, and no address.
#[test]
fn a_key_signs_in_only_so_often() {
    let folder = Folder::new();
    let data = folder.data();
    let [shop, boss] =
        ["check shop", "admin boss"].map(|role| key(&data, &format!("--role {role}")));
    let server = Server::start(&data);
    let web = Web::of(&server);
    let statuses: Vec<u16> = (0..25).map(|_| web.sign_in(&shop).status).collect();
    assert_eq!(&statuses[..20], [303; 20]);
    assert!(
        statuses.iter().filter(|status| **status == 429).count() >= 4,
        "{statuses:?}"
    );
    web.sign_in(&boss).expect(303);
    web.sign_in("lap_00000000_0").expect(403);
}

/// Behind a proxy, the attempts of one client do not count for the others.
#[test]
fn attempts_behind_a_proxy_are_those_of_each_client() {
    let folder = Folder::new();
    let data = folder.data();
    key(&data, "--role admin boss");
    let server = Server::start_with("--trusted-proxies 127.0.0.1", &[], &data);
    let web = Web::of(&server);
    let from = |client: &str| {
        let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
        let headers = format!("{}X-Forwarded-For: 6.6.6.6, {client}\r\n{kind}", web.own());
        web.bare("POST", "/console/sign-in", &headers, b"key=lap_00000000_0")
            .status
    };
    let statuses: Vec<u16> = (0..22).map(|_| from("192.0.2.1")).collect();
    assert_eq!((statuses[0], statuses[21]), (403, 429), "{statuses:?}");
    assert_eq!(from("192.0.2.2"), 403);
}

#[test]
fn the_way_back_after_signing_in_is_of_this_server() {
    let folder = Folder::new();
    let data = folder.data();
    let secret = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let web = Web::of(&server);
    for (next, place) in [
        ("/console/keys", "/console/keys"),
        ("/%00x", "/"),
        ("/%0d%0aX-Evil:1", "/"),
        ("/%d1%8f", "/"),
        ("//evil.example", "/"),
        ("%ff", "/"),
    ] {
        web.get(&format!("/console/sign-in?next={next}"))
            .expect(200);
        let page = web
            .form(
                &format!("/console/sign-in?next={next}"),
                &format!("key={secret}"),
            )
            .expect(303);
        assert_eq!(page.header("location"), Some(place), "{next}");
    }
}

#[test]
fn the_first_key_closes_an_open_server() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    let made = web
        .send("/console/keys", "/console/keys", "name=boss&administer=yes")
        .expect(200);
    let secret = made
        .body
        .split_once("id=\"secret\">")
        .expect("a secret")
        .1
        .split('<')
        .next()
        .expect("its end");
    web.get("/").expect(303);
    Web::signed_in(&server, secret).get("/").expect(200);
}

/// The link is printed, and works once. The program that opens it is not there.
#[test]
fn a_one_time_link_signs_in_whoever_started_the_server() {
    let folder = Folder::new();
    let data = folder.data();
    key(&data, "--role admin boss");
    let mut serve = command(
        "serve --open --listen 127.0.0.1:0 --trusted-proxies 127.0.0.1 --data {}",
        &[&data],
    );
    let mut child = serve
        .env("PATH", "/nowhere")
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let link = lines.map_while(Result::ok).find_map(|line| {
        let rest = line.split_once("the console is at ")?.1;
        rest.split(' ').next().map(str::to_owned)
    });
    let link = link.expect("a link");
    let (address, path) = link
        .trim_start_matches("http://")
        .split_once('/')
        .expect("a path");
    let web = Web::at(address);
    // A proxy on this machine does not make others stand before it.
    let elsewhere = format!("Host: {address}\r\nX-Forwarded-For: 192.0.2.1\r\n");
    let page = web
        .bare("GET", &format!("/{path}"), &elsewhere, b"")
        .expect(200);
    assert!(page.header("set-cookie").is_none());
    let page = web.get(&format!("/{path}")).expect(303);
    let cookie = page.header("set-cookie").expect("a cookie");
    let again = web.get(&format!("/{path}")).expect(200);
    assert!(
        again.header("set-cookie").is_none() && again.body.contains("used already"),
        "{}",
        again.body
    );
    let mut signed_in = web.clone();
    signed_in.cookie = cookie.split(';').next().map(str::to_owned);
    signed_in.send("/", "/console/demo", "").expect(303);
    let log = signed_in.get("/console/audit").expect(200).body;
    assert!(log.contains("<td>local</td>"), "{log}");
    // Files in a form take another way.
    let added = signed_in.upload(
        "/console/add?library=mine&rights=free",
        "/console/add?library=mine&rights=free",
        "a.txt",
        "A text.",
    );
    assert!(added.expect(200).body.contains("added"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn a_link_is_for_this_machine_alone() {
    let folder = Folder::new();
    let data = folder.data();
    key(&data, "--role admin boss");
    let refused = run("serve --open --listen 0.0.0.0:0 --data {}", &[&data]).expect(2);
    assert!(
        refused.err.contains("listen on 127.0.0.1"),
        "{}",
        refused.err
    );
    run(
        "serve --open --no-console --listen 127.0.0.1:0 --data {}",
        &[&data],
    )
    .expect(2);
}
