//! Signing in with an identity provider: one that lies, and a real one.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use rcgen::{KeyPair, PKCS_ED25519};
use serde_json::{Value, json};

use crate::common::cluster::Nodes;
use crate::common::provider::{Manner, Provider, SECRET, Says, settings};
use crate::common::{Folder, Server, command, free_port, key, prose, run};
use crate::console::browser::{Browser, skip};
use crate::console::web::{Page, Web};

/// Where browsers reach the servers of these tests, as far as these know.
const PUBLIC: &str = "http://127.0.0.1:1/";
/// A server asks a provider again after this long.
const PAUSE: Duration = Duration::from_millis(2_100);
const GROUPS: [&str; 4] = [
    "readers: check",
    "editors: texts in fiction",
    "feeders: ingest in fiction",
    "it: admin",
];

/// A catalogue with a key, and a server for it at which people sign in.
fn serve(folder: &Folder, provider: &Provider) -> (Server, String) {
    let data = folder.data();
    let secret = key(&data, "--role admin boss");
    (restarted(folder, provider, &GROUPS), secret)
}

fn restarted(folder: &Folder, provider: &Provider, groups: &[&str]) -> Server {
    let file = provider.settings(folder, PUBLIC, groups);
    Server::start_with("--config {}", &[&file], &folder.data())
}

/// Somebody whom the server has sent to the provider.
struct Begun {
    web: Web,
    location: String,
}

impl Begun {
    fn at(server: &Server, next: &str) -> Self {
        let mut web = Web::of(server);
        let page = web.get(&format!("/console/oidc?next={next}")).expect(303);
        web.cookie = Some(cookie_of(&page).to_owned());
        let location = page.header("location").expect("a place").to_owned();
        Self { web, location }
    }

    /// A parameter that the provider gets.
    fn sent(&self, name: &str) -> String {
        let query = self.location.split_once('?').expect("a query").1;
        form_urlencoded::parse(query.as_bytes())
            .find_map(|(found, value)| (found == name).then(|| value.into_owned()))
            .unwrap_or_else(|| panic!("{name} in {query}"))
    }

    fn callback(&self) -> String {
        format!("/console/oidc/callback?code=c&state={}", self.sent("state"))
    }

    fn end(&self) -> Page {
        self.web.get(&self.callback())
    }
}

/// The first cookie that a page sets.
fn cookie_of(page: &Page) -> &str {
    let cookie = page.header("set-cookie").expect("a cookie");
    cookie.split(';').next().expect("a pair")
}

/// Signs in as a person.
fn signed_in(server: &Server, provider: &Provider, subject: &str, groups: &[&str]) -> Web {
    let begun = Begun::at(server, "/console/check");
    let email = format!("{subject}@mine.example");
    provider.knows(&begun.sent("nonce"), subject, &email, groups);
    let page = begun.end().expect(200);
    let mut web = Web::of(server);
    web.cookie = Some(cookie_of(&page).to_owned());
    web
}

/// Asserts that a page signs nobody in, and says why.
fn is_refused(page: &Page, says: &str) {
    assert_eq!(page.status, 403, "{says}: {}", page.body);
    assert!(page.body.contains(says), "{says}: {}", page.body);
    assert!(!page.head.contains("lapidary="), "{says}: {}", page.head);
}

#[test]
fn a_person_signs_in_and_does_what_the_groups_may() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let (server, secret) = serve(&folder, &provider);
    let page = Web::of(&server)
        .get("/console/sign-in?next=/console/keys")
        .expect(200);
    assert!(
        page.body
            .contains("href=\"/console/oidc?next=%2Fconsole%2Fkeys\"")
            && page.body.contains("Sign in with Mine &amp; Co")
    );
    let begun = Begun::at(&server, "/console/decisions");
    assert!(
        begun
            .location
            .starts_with(&format!("{}/authorize?", provider.url))
    );
    for (name, value) in [
        ("client_id", "lapidary"),
        ("response_type", "code"),
        ("code_challenge_method", "S256"),
        ("redirect_uri", "http://127.0.0.1:1/console/oidc/callback"),
        ("scope", "openid email groups"),
    ] {
        assert_eq!(begun.sent(name), value);
    }
    assert!(!begun.location.contains(SECRET));
    provider.knows(
        &begun.sent("nonce"),
        "ann",
        "ann@mine.example",
        &["editors", "others"],
    );
    let page = begun.end().expect(200);
    assert_eq!(page.header("refresh"), Some("0;url=/console/decisions"));
    let cookies: Vec<_> = page
        .head
        .lines()
        .filter_map(|line| line.strip_prefix("set-cookie: "))
        .collect();
    assert!(
        cookies[0].starts_with("lapidary=")
            && cookies[0].ends_with("; Path=/; HttpOnly; SameSite=Strict")
            && cookies[1].starts_with("lapidary-oidc=;")
            && cookies[1].contains("Max-Age=0"),
        "{cookies:?}"
    );
    let asked = provider.says().asked.join("\n");
    assert!(
        asked.contains("grant_type=authorization_code") && asked.contains("code_verifier="),
        "{asked}"
    );

    let mut ann = Web::of(&server);
    ann.cookie = Some(cookie_of(&page).to_owned());
    assert!(
        ann.get("/console/check")
            .expect(200)
            .body
            .contains("ann@mine.example")
    );
    ann.get("/console/keys").expect(403);
    ann.get("/console/catalogue").expect(403);
    // What is decided has a name.
    ann.upload(
        "/console/check",
        "/console/check?record=true",
        "a.txt",
        &prose(1, 300),
    );
    let filed = ann.get("/console/decisions?state=all").expect(200).body;
    let (_, rest) = filed.split_once("/console/checks/").expect("a filed check");
    let check = format!(
        "/console/checks/{}",
        rest.split('"').next().expect("its end")
    );
    ann.send(&check, &check, "ruling=refused&reason=ours")
        .expect(303);
    let boss = Web::signed_in(&server, &secret);
    let log = boss.get("/console/audit").expect(200).body;
    assert!(
        log.contains("key:oidc:ann@mine.example") && log.contains("signed in"),
        "{log}"
    );
    let told = run_with_key("audit --server {}", &server, &secret);
    for done in ["signed in, of editors", "recorded refused"] {
        let line = format!("key:oidc:ann@mine.example\t{done}");
        assert!(told.contains(&line), "{done}: {told}");
    }
    // Nobody can make a secret for a person, and whoever is revoked is out.
    let keys = boss.get("/console/keys").expect(200).body;
    assert!(
        keys.contains("oidc%3Aann%40mine.example/revoke")
            && !keys.contains("oidc%3Aann%40mine.example/rotate")
    );
    let refused = boss.send(
        "/console/keys",
        "/console/keys/oidc%3Aann%40mine.example/rotate",
        "",
    );
    refused.expect(422);
    boss.send(
        "/console/keys",
        "/console/keys",
        "name=oidc%3Abob&check=yes",
    )
    .expect(422);
    ann.send("/console/check", "/console/sign-out", "")
        .expect(303);
    ann.get("/console/check").expect(303);
    let feeder = signed_in(&server, &provider, "fay", &["feeders"]);
    feeder.get("/console/catalogue").expect(200);
    feeder.get("/console/decisions").expect(403);
    let added = |library: &str| {
        let place = format!("/console/add?library={library}&rights=free");
        feeder.upload(&place, &place, "a.txt", &prose(2, 300)).body
    };
    assert!(added("fiction").contains("added"));
    assert!(added("poetry").contains("not_your_library"));
    boss.send(
        "/console/keys",
        "/console/keys/oidc%3Afay%40mine.example/revoke",
        "",
    )
    .expect(303);
    feeder.get("/console/catalogue").expect(303);
    // Who has the name of another is another.
    let (begun, other) = (Begun::at(&server, "/"), "ann@mine.example");
    provider.knows(&begun.sent("nonce"), "not ann", other, &["it"]);
    is_refused(&begun.end(), "Somebody else is oidc:ann@mine.example");
}

/// What the command line prints.
fn run_with_key(line: &str, server: &Server, secret: &str) -> String {
    let mut command = command(line, &[Path::new(&server.url)]);
    let output = command
        .env("LAPIDARY_KEY", secret)
        .output()
        .expect("it runs");
    String::from_utf8(output.stdout).expect("a text")
}

#[test]
fn who_is_in_no_group_gets_nothing_and_a_change_of_groups_holds_at_once() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let (server, _) = serve(&folder, &provider);
    let begun = Begun::at(&server, "/");
    provider.knows(&begun.sent("nonce"), "eve", "eve@mine.example", &["guests"]);
    is_refused(
        &begun.end(),
        "knows you as eve@mine.example, but none of your groups",
    );
    let ann = signed_in(&server, &provider, "ann", &["readers", "it"]);
    ann.get("/console/keys").expect(200);
    server.stop();
    // The setting has changed, and sessions go on.
    let moved = |server: &Server, web: &Web| {
        let mut there = Web::of(server);
        there.cookie.clone_from(&web.cookie);
        there
    };
    let server = restarted(&folder, &provider, &["readers: check"]);
    let ann = moved(&server, &ann);
    ann.get("/console/check").expect(200);
    ann.get("/console/keys").expect(403);
    // Without the group at the next sign-in, nothing is left of what it gave.
    let begun = Begun::at(&server, "/");
    provider.knows(&begun.sent("nonce"), "ann", "ann@mine.example", &[]);
    is_refused(&begun.end(), "none of your groups");
    ann.get("/console/check").expect(303);
    let ann = signed_in(&server, &provider, "ann", &["readers"]);
    ann.get("/console/check").expect(200);
    server.stop();
    // Nobody signs in any more.
    let server = Server::start(&folder.data());
    let ann = moved(&server, &ann);
    ann.get("/console/check").expect(303);
    let page = Web::of(&server).get("/console/sign-in").expect(200);
    assert!(!page.body.contains("/console/oidc"));
    Web::of(&server).get("/console/oidc").expect(303);
}

#[test]
fn only_a_token_of_this_sign_in_for_this_server_is_believed() {
    type Change = fn(&mut Says);
    let lies: [(&str, Change, &str); 13] = [
        (
            "nonce",
            |says| says.claims["nonce"] = "another".into(),
            "nonce",
        ),
        (
            "no nonce",
            |says| says.claims["nonce"] = Value::Null,
            "nonce",
        ),
        (
            "audience",
            |says| says.claims["aud"] = "another".into(),
            "audience",
        ),
        (
            "two audiences",
            |says| says.claims["aud"] = json!(["lapidary", "another"]),
            "audience",
        ),
        (
            "issuer",
            |says| says.claims["iss"] = "http://127.0.0.1:2".into(),
            "issuer",
        ),
        (
            "expired",
            |says| says.claims["exp"] = 1_700_000_000.into(),
            "Expired",
        ),
        (
            "unknown key",
            |says| says.header["kid"] = "unknown".into(),
            "No matching key",
        ),
        (
            "none",
            |says| says.header = json!({ "alg": "none" }),
            "ignature",
        ),
        (
            "HMAC",
            |says| says.header = json!({ "alg": "HS256" }),
            "ignature",
        ),
        (
            "no token",
            |says| says.token = Some(Value::Null),
            "no ID token",
        ),
        (
            "nonsense",
            |says| says.token = Some("a.b.c".into()),
            "does not say who you are",
        ),
        (
            "no subject",
            |says| says.claims["sub"] = Value::Null,
            "does not say who you are",
        ),
        (
            "signature",
            |says| says.key = KeyPair::generate_for(&PKCS_ED25519).expect("a key"),
            "ignature",
        ),
    ];
    let (folder, provider) = (Folder::new(), Provider::start());
    let (server, _) = serve(&folder, &provider);
    let header = provider.says().header.clone();
    for (name, change, says) in lies {
        let begun = Begun::at(&server, "/");
        provider.knows(&begun.sent("nonce"), "ann", "ann@mine.example", &["it"]);
        change(&mut provider.says());
        let page = begun.end();
        is_refused(&page, says);
        assert!(
            page.body.contains("does not say who you are"),
            "{name}: {}",
            page.body
        );
        provider.says().token = None;
        provider.says().header = header.clone();
    }
    // The provider signs with a new key, which the server does not know yet.
    provider.says().rotate("new");
    sleep(PAUSE);
    signed_in(&server, &provider, "ann", &["it"])
        .get("/console/keys")
        .expect(200);
}

#[test]
fn a_sign_in_ends_once_in_the_browser_that_began_it() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let (server, _) = serve(&folder, &provider);
    let begun = Begun::at(&server, "/");
    provider.knows(&begun.sent("nonce"), "ann", "ann@mine.example", &["it"]);
    let stale = "not begun in this browser";
    is_refused(&Web::of(&server).get(&begun.callback()), stale);
    is_refused(&Begun::at(&server, "/").web.get(&begun.callback()), stale);
    is_refused(&begun.web.get("/console/oidc/callback?code=c"), stale);
    begun.end().expect(200);
    // The browser was told to forget it, and the provider would give a token again.
    is_refused(&begun.end(), stale);
    // Nothing of the provider becomes markup, and nobody is led elsewhere.
    let begun = Begun::at(&server, "//evil.example");
    let page = begun.web.get(&format!(
        "/console/oidc/callback?state={}&error=access_denied&error_description=%3Cscript%3E",
        begun.sent("state")
    ));
    is_refused(&page, "access_denied &lt;script&gt;");
    let begun = Begun::at(&server, "//evil.example");
    provider.knows(&begun.sent("nonce"), "ann", "ann@mine.example", &["it"]);
    assert_eq!(begun.end().expect(200).header("refresh"), Some("0;url=/"));
    // Behind TLS, cookies are of the host alone.
    server.stop();
    let file = provider.settings(&folder, "https://lapidary.example", &GROUPS);
    let server = Server::start_with("--config {}", &[&file], &folder.data());
    let page = Web::of(&server).get("/console/oidc").expect(303);
    let cookie = page.header("set-cookie").expect("a cookie");
    assert!(
        cookie.starts_with("__Host-lapidary-oidc=")
            && cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure"),
        "{cookie}"
    );
    let begun = Begun::at(&server, "/");
    provider.knows(&begun.sent("nonce"), "ann", "ann@mine.example", &["it"]);
    let page = begun.end().expect(200);
    assert!(
        page.header("set-cookie")
            .is_some_and(|cookie| cookie.starts_with("__Host-lapidary="))
    );
}

#[test]
fn a_sign_in_begun_at_one_server_ends_at_another_and_goes_on_at_the_first() {
    let Some(nodes) = Nodes::start(3, 0) else {
        return;
    };
    let (folder, provider) = (Folder::new(), Provider::start());
    let store = format!("redis://{}/people", nodes.addresses);
    let none: [&Path; 0] = [];
    run(
        &format!("keys add --store {store} --role admin boss"),
        &none,
    )
    .expect(0);
    let file = provider.settings(&folder, PUBLIC, &GROUPS);
    let options = format!("--config {}", file.display());
    let [first, second] = [(); 2].map(|()| Server::start_on_with(&options, &store));
    let at = |server: &Server, cookie: &str| {
        let mut web = Web::of(server);
        web.cookie = Some(cookie.to_owned());
        web
    };
    for subject in ["ann", "bob"] {
        let begun = Begun::at(&first, "/");
        let email = format!("{subject}@mine.example");
        provider.knows(&begun.sent("nonce"), subject, &email, &["readers"]);
        let begun_here = begun.web.cookie.as_deref().expect("a cookie");
        let page = at(&second, begun_here).get(&begun.callback()).expect(200);
        let web = at(&first, cookie_of(&page));
        assert!(web.get("/console/check").expect(200).body.contains(&email));
        at(&second, cookie_of(&page))
            .get("/console/check")
            .expect(200);
        is_refused(&begun.end(), "not begun in this browser");
        web.send("/console/check", "/console/sign-out", "")
            .expect(303);
        web.get("/console/check").expect(303);
    }
}

#[test]
fn a_provider_that_is_slow_or_down_holds_up_nobody_with_a_key() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.says().manner = Manner::Never;
    let (server, secret) = serve(&folder, &provider);
    let begun = Instant::now();
    scope(|scope| {
        let waiting: Vec<_> = (0..40)
            .map(|_| scope.spawn(|| Web::of(&server).get("/console/oidc")))
            .collect();
        for _ in 0..5 {
            let asked = Instant::now();
            Web::signed_in(&server, &secret)
                .get("/console/check")
                .expect(200);
            assert!(
                asked.elapsed() < Duration::from_secs(3),
                "{:?}",
                asked.elapsed()
            );
        }
        let told: Vec<Page> = waiting
            .into_iter()
            .map(|waiting| waiting.join().expect("an answer"))
            .collect();
        let says = |words: &str| told.iter().filter(|page| page.body.contains(words)).count();
        assert_eq!(says("cannot be asked who you are"), told.len());
        assert!(says("too many sign in at once") >= 20 && says("did not respond in time") > 0);
    });
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
    let doctor = || run_with_key("doctor --server {}", &server, &secret);
    for (manner, why) in [(Manner::Huge, "too large"), (Manner::Failing, "500")] {
        provider.says().manner = manner;
        sleep(PAUSE);
        is_refused(&Web::of(&server).get("/console/oidc"), why);
        let found = doctor();
        assert!(
            found.contains(&format!(
                "the identity provider {} cannot be used",
                provider.url
            )),
            "{found}"
        );
    }
    provider.says().manner = Manner::Usual;
    sleep(PAUSE);
    assert!(!doctor().contains("identity provider"));
    // It knows the provider, and then tokens are slow, or too large.
    for (manner, why) in [
        (Manner::Never, "did not respond in time"),
        (Manner::Huge, "too large"),
    ] {
        let begun = Begun::at(&server, "/");
        provider.says().manner = manner;
        is_refused(&begun.end(), why);
        provider.says().manner = Manner::Usual;
    }
    signed_in(&server, &provider, "ann", &["it"]);
    server.stop();
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let file = settings(&folder, &nobody, PUBLIC, &GROUPS);
    let server = Server::start_with("--config {}", &[&file], &folder.data());
    is_refused(
        &Web::of(&server).get("/console/oidc"),
        "cannot be asked who you are",
    );
    Web::signed_in(&server, &secret);
}

#[test]
fn settings_of_a_provider_are_checked() {
    let folder = Folder::new();
    let good =
        "issuer = \"https://a.example\"\nclient-id = \"l\"\npublic-url = \"https://l.example\"\n";
    let refusal = |lines: &str| {
        let file = folder.file("l.toml", format!("data = \"x\"\n[oidc]\n{lines}"));
        run("serve --check-config --config {}", &[&file])
            .expect(2)
            .err
    };
    for (lines, says) in [
        ("issuer = \"https://a.example\"\n".to_owned(), "client-id"),
        ("groups = [\"a: check\"]\n".to_owned(), "'issuer'"),
        (good.to_owned(), "oidc.groups"),
        (
            good.replace("https://a", "http://a") + "groups = [\"a: check\"]\n",
            "https://",
        ),
        (
            good.replace("https://l", "http://l") + "groups = [\"a: check\"]\n",
            "public-url",
        ),
        (
            format!("{good}groups = [\"a: texts\"]\n"),
            "must name its libraries",
        ),
        (format!("{good}groups = [\"a: rule\"]\n"), "a permission is"),
        (
            format!("{good}groups = [\"a: check\"]\nquota = \"5/h\"\n"),
            "per day",
        ),
        (
            format!("{good}groups = [\"a: check\"]\nclient-secret = \"/nowhere\"\n"),
            "/nowhere",
        ),
    ] {
        let err = refusal(&lines);
        assert!(err.contains(says), "{lines}: {err}");
    }
    let file = folder.file(
        "l.toml",
        format!("data = \"x\"\n[oidc]\n{good}name = \"Mine\"\n"),
    );
    let mut shown = command(
        "serve --check-config --config {} --oidc-name Ours",
        &[&file],
    );
    let shown = shown
        .env("LAPIDARY_OIDC_GROUPS", "a: check;b: texts in c, d")
        .output();
    let shown = String::from_utf8(shown.expect("it runs").stdout).expect("a text");
    for line in [
        "issuer = \"https://a.example\"",
        "name = \"Ours\"",
        "\"b: check, read_texts, review in c, d\"",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

/// A provider that others have written, stopped on drop.
struct RealProvider {
    node: Child,
    /// It stops if nobody can read what it says.
    _says: ChildStdout,
}

impl RealProvider {
    /// Returns it with its address, if there is one.
    fn start(public_url: &str) -> Option<(Self, String)> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/identity-provider");
        let mut command = Command::new(script);
        let started = command
            .args([public_url, "lapidary", SECRET])
            .stdout(Stdio::piped())
            .spawn();
        let mut node = started.ok()?;
        let mut says = BufReader::new(node.stdout.take()?);
        let mut lines = says.by_ref().lines().map_while(Result::ok);
        let issuer = lines.find(|line| line.starts_with("http://"));
        let provider = Self {
            node,
            _says: says.into_inner(),
        };
        Some((provider, issuer?))
    }
}

impl Drop for RealProvider {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

/// In a browser, with a provider that others have written. It is another site, as everywhere.
#[test]
fn somebody_signs_in_with_a_real_provider() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let (folder, port) = (Folder::new(), free_port());
    let public = format!("http://127.0.0.1:{port}");
    let Some((_provider, issuer)) = RealProvider::start(&public) else {
        return skip("there is no identity provider to sign in with (scripts/identity-provider)");
    };
    let data = folder.data();
    let secret = key(&data, "--role admin boss");
    let file = settings(&folder, &issuer, &public, &GROUPS);
    let line = format!("serve --config {{}} --listen 127.0.0.1:{port} --data {{}}");
    let server = Server::of(command(&line, &[&file, &data]));
    let text = prose(5, 4_000);
    let book = json!({ "rights": "protected", "title": "A lighthouse", "text": text });
    ureq::put(format!("{public}/v1/libraries/fiction/books/1"))
        .header("X-Api-Key", &secret)
        .send_json(&book)
        .expect("it is added");

    browser.go(&format!("{public}/console/decisions"));
    browser.click("a[href^='/console/oidc']");
    browser.type_into("input[name=login]", "ann@mine.example");
    browser.type_into("input[name=password]", "any");
    browser.click("button[type=submit]");
    // The provider asks whether the server may know who it is.
    browser.see("body", "Authorize");
    browser.click("button[type=submit]");
    browser.see("h1", "Decisions");
    browser.see("header", "oidc:ann@mine.example");
    assert!(
        browser
            .url()
            .starts_with(&format!("{public}/console/decisions"))
    );
    browser.go(&format!("{public}/console/check"));
    browser.type_into("#text", &text[3_000..8_000]);
    browser.click("form:not([data-files]) button.main");
    browser.see(".report h1", "Protected");
    browser.click("input[value=refused]");
    browser.type_into("#reason", "It is ours.");
    browser.click("form[action*='/console/checks/'] button.main");
    browser.see("#decisions", "It is ours.");
    let log = run_with_key("audit --server {}", &server, &secret);
    assert!(
        log.contains("key:oidc:ann@mine.example\trecorded refused"),
        "{log}"
    );
    browser.sign_out();
    browser.go(&format!("{public}/console/decisions"));
    browser.see("h1", "Sign in");
}
