//! What browsers and other clients are told, and what they may send.

use serde_json::{Value, json};

use crate::common::{Folder, Server, key};
use crate::console::web::Web;

/// Every page of an administrator.
pub const PAGES: [&str; 21] = [
    "/",
    "/console/check",
    "/console/decisions",
    "/console/decisions?state=decided&q=midnight&share=1",
    "/console/decisions?state=all",
    "/console/decisions?state=all&q=midnight",
    "/console/batches",
    "/console/compare",
    "/console/catalogue",
    "/console/catalogue?library=demo",
    "/console/duplicates",
    "/console/sources",
    "/console/jobs",
    "/console/webhooks",
    "/console/statistics",
    "/console/audit",
    "/console/keys",
    "/console/sessions",
    "/console/demo",
    "/console/add?library=demo&rights=free",
    "/console/import?library=demo&rights=free",
];

#[test]
fn browsers_get_the_console_and_programs_an_index() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    let host = format!("Host: {}\r\n", server.url.trim_start_matches("http://"));
    for accept in [
        "text/html",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "application/json;q=0.5, text/html",
    ] {
        let page = web
            .bare("GET", "/", &format!("{host}Accept: {accept}\r\n"), b"")
            .expect(200);
        assert!(
            page.body.starts_with("<!DOCTYPE html>"),
            "{accept}: {}",
            page.body
        );
    }
    for accept in [
        "*/*",
        "application/json",
        "application/json, text/html",
        "nonsense",
    ] {
        let page = web
            .bare("GET", "/", &format!("{host}Accept: {accept}\r\n"), b"")
            .expect(200);
        let index: Value = serde_json::from_str(&page.body).expect("JSON");
        assert_eq!(
            (&index["name"], &index["version"]),
            (&"lapidary".into(), &env!("CARGO_PKG_VERSION").into())
        );
        assert_eq!(page.header("vary"), Some("accept"));
        for (name, path) in index["links"].as_object().expect("links") {
            let path = path.as_str().expect("a path");
            // Some take other methods only.
            let status = web.bare("GET", path, &host, b"").status;
            assert!(
                [200, 303, 400, 405].contains(&status),
                "{name}: {path} is {status}"
            );
        }
    }
    let off = Server::start_with("--no-console", &[], &Folder::new().data());
    let page = Web::of(&off).get("/").expect(200);
    assert!(
        page.body.starts_with('{') && !page.body.contains("console"),
        "{}",
        page.body
    );
    Web::of(&off).get("/console/check").expect(404);
}

#[test]
fn no_page_loads_or_runs_anything_else() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    web.send("/", "/console/demo", "").expect(303);
    for path in PAGES {
        let page = web.get(path).expect(200);
        let policy = page.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
            "{path}: {policy}"
        );
        assert!(
            !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert_eq!(
            page.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert_eq!(
            page.header("referrer-policy"),
            Some("same-origin"),
            "{path}"
        );
        assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
        let tags = page.body.split('<').skip(1);
        for tag in tags {
            let tag = tag.split('>').next().unwrap_or_default();
            let is_styled = tag.contains(" style=") || tag.starts_with("style");
            let is_code = tag
                .split(' ')
                .any(|part| part.starts_with("on") && part.contains('='));
            assert!(
                !is_styled && !is_code && !tag.contains("javascript:"),
                "{path}: <{tag}>"
            );
            for attribute in ["src=\"", "href=\"", "action=\""] {
                if let Some((_, value)) = tag.split_once(attribute) {
                    assert!(
                        value.starts_with('/') || value.starts_with('#'),
                        "{path}: <{tag}>"
                    );
                }
            }
        }
    }
}

#[test]
fn the_first_page_is_small_and_its_files_are_kept() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    web.send("/", "/console/demo", "").expect(303);
    let page = web.get("/").expect(200);
    let mut size = page.head.len() + page.body.len();
    let files: Vec<&str> = page
        .body
        .split('"')
        .filter(|part| part.starts_with("/console/assets/"))
        .collect();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let asset = web
            .bare("GET", file, "Host: anything.example\r\n", b"")
            .expect(200);
        assert_eq!(
            asset.header("cache-control"),
            Some("public, max-age=31536000, immutable"),
            "{file}"
        );
        size += asset.head.len() + asset.body.len();
    }
    assert!(size < 100_000, "{size} bytes");
    web.get("/console/assets/console.0000000000000000.js")
        .expect(404);
}

#[test]
fn pages_are_in_the_language_of_the_reader() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    web.send("/", "/console/demo", "").expect(303);
    let host = format!(
        "Host: {}\r\nAccept: text/html\r\n",
        server.url.trim_start_matches("http://")
    );
    for path in PAGES {
        let page = web
            .bare(
                "GET",
                path,
                &format!("{host}Accept-Language: ru-RU,ru;q=0.9,en;q=0.5\r\n"),
                b"",
            )
            .expect(200);
        assert!(page.body.contains("<html lang=\"ru\">"), "{path}");
        let has_russian = |text: &str| text.contains(|c: char| ('а'..='я').contains(&c));
        for tag in ["<title>", "<p class=\"lead\">", "<h1>"] {
            if let Some((_, rest)) = page.body.split_once(tag) {
                assert!(
                    has_russian(rest.split('<').next().unwrap_or_default()),
                    "{path}: {tag}"
                );
            }
        }
        assert!(
            !page.body.contains(">c_"),
            "{path}: a message without words"
        );
        if path == "/console/statistics" {
            assert!(
                page.body.contains("<h3>Нет резервной копии</h3>"),
                "what is wrong is said in the same language"
            );
        }
        assert!(web.get(path).body.contains("<html lang=\"en\">"), "{path}");
    }
}

/// A page of another site makes the browser send the cookie in no case, but the console does not rely on that.
#[test]
fn other_sites_change_nothing() {
    let folder = Folder::new();
    let data = folder.data();
    let boss = key(&data, "--role admin boss");
    let other = key(&data, "--role admin other");
    let server = Server::start(&data);
    let (web, theirs) = (
        Web::signed_in(&server, &boss),
        Web::signed_in(&server, &other),
    );
    let token = web.get("/console/keys").expect(200).token().to_owned();
    let their_token = theirs.get("/console/keys").expect(200).token().to_owned();
    let host = server.url.trim_start_matches("http://");
    let cookie = format!(
        "Host: {host}\r\nCookie: {}\r\n",
        web.cookie.as_ref().expect("a cookie")
    );
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    let post = |headers: &str, token: &str| {
        let headers = format!("{cookie}{kind}{headers}");
        web.bare(
            "POST",
            "/console/jobs?kind=verify",
            &headers,
            token.as_bytes(),
        )
        .status
    };
    let own = format!("Origin: http://{host}\r\n");
    let with = |token: &str| format!("token={token}");
    for (headers, token, status) in [
        ("", with(&token), 403),
        (own.as_str(), String::new(), 403),
        (own.as_str(), with("0"), 403),
        (own.as_str(), with(&their_token), 403),
        ("Origin: http://evil.example\r\n", with(&token), 403),
        ("Origin: null\r\n", with(&token), 403),
        ("Sec-Fetch-Site: cross-site\r\n", with(&token), 403),
        ("Sec-Fetch-Site: same-site\r\n", with(&token), 403),
        ("Sec-Fetch-Site: none\r\n", with(&token), 403),
        (
            &format!("{own}Sec-Fetch-Site: cross-site\r\n"),
            with(&token),
            403,
        ),
        ("Sec-Fetch-Site: same-origin\r\n", with(&token), 303),
    ] {
        assert_eq!(post(headers, &token), status, "{headers}{token}");
    }
    // A script sends it in a header. In an address, where logs and histories have it, it proves nothing.
    let by_script =
        format!("{cookie}{own}Content-Type: application/json\r\nX-Console-Token: {token}\r\n");
    web.bare("POST", "/console/check", &by_script, b"{\"gems\":[1]}")
        .expect(200);
    let in_address = format!("/console/jobs?kind=compact&token={token}");
    web.bare("POST", &in_address, &format!("{cookie}{kind}{own}"), b"")
        .expect(403);
    // Nor does a page of another site sign anybody in.
    let evil = format!("Host: {host}\r\n{kind}Origin: http://evil.example\r\n");
    let page = web
        .bare(
            "POST",
            "/console/sign-in",
            &evil,
            format!("key={boss}").as_bytes(),
        )
        .expect(403);
    assert_eq!(page.header("set-cookie"), None);
}

/// A name that resolves to this machine does not make a web page of another site one of its users.
/// No address of a page has the token of its forms: addresses are in logs and histories.
#[test]
fn no_address_has_a_token() {
    let folder = Folder::new();
    let secret = key(&folder.data(), "--role admin boss");
    let server = Server::start(&folder.data());
    let web = Web::signed_in(&server, &secret);
    web.send("/", "/console/demo", "").expect(303);
    for path in PAGES {
        let page = web.get(path).expect(200);
        let tokens = page.body.matches(page.token()).count();
        let fields = page
            .body
            .matches("<input type=\"hidden\" name=\"token\" value=\"")
            .count();
        assert!(
            tokens == fields && !page.body.contains("token="),
            "{path}: {}",
            page.body
        );
        // Each form that changes something has one, first.
        let forms = page.body.split("<form method=\"post\"").skip(1);
        let lacking = forms.filter(|form| {
            !form
                .split_once('>')
                .is_some_and(|(_, rest)| rest.starts_with("<input type=\"hidden\" name=\"token\""))
        });
        assert_eq!(lacking.count(), 0, "{path}: {}", page.body);
    }
}

#[test]
fn a_server_without_keys_is_for_this_machine_alone() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    let token = web.get("/").expect(200).token().to_owned();
    for path in PAGES {
        let page = web.bare(
            "GET",
            path,
            "Host: evil.example\r\nAccept: text/html\r\n",
            b"",
        );
        assert_eq!(
            (page.status, page.body.contains(&token)),
            (421, false),
            "{path}"
        );
        let cross = "Host: localhost:1\r\nAccept: text/html\r\nSec-Fetch-Site: cross-site\r\n";
        assert_eq!(web.bare("GET", path, cross, b"").status, 403, "{path}");
    }
    let rebound = "Host: evil.example\r\nOrigin: http://evil.example\r\n";
    let sent = format!("{rebound}Content-Type: application/x-www-form-urlencoded\r\n");
    assert_eq!(
        web.bare(
            "POST",
            "/console/demo",
            &sent,
            format!("token={token}").as_bytes()
        )
        .status,
        421
    );
    assert!(
        web.get("/console/catalogue")
            .body
            .contains("/console/first"),
        "nothing was added"
    );
}

#[test]
fn a_role_sees_and_does_its_own() {
    let folder = Folder::new();
    let data = folder.data();
    let roles = [
        "check",
        "texts --library demo",
        "ingest --trusted --library demo",
        "admin",
    ];
    let keys = roles.map(|role| key(&data, &format!("--role {role} key-{}", &role[..2])));
    let server = Server::start(&data);
    let [check, texts, ingest, admin] = keys
        .each_ref()
        .map(|secret| Web::signed_in(&server, secret));
    admin.send("/", "/console/demo", "").expect(303);
    let book = "/console/books/demo/lighthouse";
    let table = [
        ("/console/check", [200, 200, 200, 200]),
        ("/console/decisions", [200, 200, 403, 200]),
        ("/console/catalogue", [403, 403, 200, 200]),
        ("/console/catalogue?q=lighthouse", [403, 403, 200, 200]),
        ("/console/catalogue?library=demo", [403, 403, 200, 200]),
        (book, [403, 403, 200, 200]),
        ("/console/matches/demo/lighthouse", [403, 403, 403, 200]),
        ("/console/books/demo/nothing", [403, 403, 404, 404]),
        ("/console/sources", [403, 403, 200, 200]),
        ("/console/sources/nothing", [403, 403, 404, 404]),
        ("/console/jobs", [403, 403, 403, 200]),
        ("/console/keys", [403, 403, 403, 200]),
        ("/console/webhooks", [200, 200, 200, 200]),
        ("/console/audit", [403, 403, 403, 200]),
        ("/console/statistics", [403, 403, 403, 200]),
        ("/console/sessions", [200, 200, 200, 200]),
        ("/console/nowhere", [404, 404, 404, 404]),
    ];
    let all = [&check, &texts, &ingest, &admin];
    for (path, expected) in table {
        assert_eq!(all.map(|web| web.get(path).status), expected, "{path}");
    }
    assert_eq!(all.map(|web| web.get("/").status), [200, 200, 303, 200]);
    // What a page does not offer, a form that is sent anyway does not do.
    let disable = |web: &Web| {
        let token = web.get("/console/sessions").expect(200).token().to_owned();
        web.form(book, &format!("token={token}&what=disable"))
            .status
    };
    assert_eq!(all.map(disable), [403, 403, 303, 303]);
    let revoke = |web: &Web| {
        let token = web.get("/console/sessions").expect(200).token().to_owned();
        web.form("/console/keys/nobody/revoke", &format!("token={token}"))
            .status
    };
    assert_eq!(all.map(revoke), [403, 403, 403, 404]);
    // The change is the key's, in the audit log, too.
    let log = admin
        .get("/console/audit?library=demo&book=lighthouse")
        .expect(200)
        .body;
    assert!(
        log.contains("key:key-in") && log.contains("key:key-ad"),
        "{log}"
    );
}

#[test]
fn the_limits_of_a_key_hold_in_the_console() {
    let folder = Folder::new();
    let data = folder.data();
    let secret = key(&data, "--role check --rate 3/h shop");
    let server = Server::start(&data);
    let web = Web::signed_in(&server, &secret);
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(
            web.upload("/console/check", "/console/check", "a.txt", "A short text.")
                .status,
        );
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
}

/// A form changes what it names and nothing else; one that names nothing known changes nothing.
#[test]
fn a_form_changes_only_what_it_names() {
    let folder = Folder::new();
    let data = folder.data();
    let secret = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let host = server.url.trim_start_matches("http://");
    let headers = format!(
        "Host: {host}\r\nAuthorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
    );
    let api = |method: &str, path: &str, body: &str| {
        Web::of(&server).bare(method, path, &headers, body.as_bytes())
    };
    let record = |path: &str| {
        serde_json::from_str::<Value>(&api("GET", path, "").expect(200).body).expect("JSON")
    };
    let web = Web::signed_in(&server, &secret);
    web.send("/", "/console/demo", "").expect(303);
    let (page, book) = (
        "/console/books/demo/lighthouse",
        "/v1/libraries/demo/books/lighthouse",
    );
    let days = json!({ "validity": { "until": "2030-01-31", "otherwise": "free" } });
    api("PATCH", book, &days.to_string()).expect(200);
    web.send(
        page,
        page,
        "what=rights&rights=protected&from=&until=2031-12-31",
    )
    .expect(303);
    let before = record(book);
    assert_eq!(before["rights"], "protected");
    assert_eq!(
        before["standing"]["validity"],
        json!({ "until": "2031-12-31", "otherwise": "free" })
    );
    for body in [
        "what=",
        "what=vanish",
        "what=right&rights=free&from=&until=",
    ] {
        web.send(page, page, body).expect(400);
    }
    assert_eq!(record(book), before);

    let address = folder.file("list.csv", "address\n").display().to_string();
    let list = format!(
        "name=shelf&kind=list&address={address}&library=demo&rights=free&contains=book&text=.page&contact=me@example.org&every="
    );
    web.send("/console/sources", "/console/sources", &list)
        .expect(303);
    for what in ["nothing", "removed", "Remove"] {
        web.send(
            "/console/sources/shelf",
            &format!("/console/sources/shelf/{what}"),
            "",
        )
        .expect(404);
    }
    let definition = record("/v1/sources/shelf")["definition"].clone();
    assert_eq!(
        (&definition["url_contains"], &definition["text_selector"]),
        (&json!(["book"]), &json!(".page"))
    );
    web.send(
        "/console/sources/shelf",
        "/console/sources/shelf/remove",
        "",
    )
    .expect(303);
    api("GET", "/v1/sources/shelf", "").expect(404);
}

#[test]
fn a_problem_is_told_in_the_language_of_the_reader() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    let host = format!(
        "Host: {}\r\nAccept: text/html\r\n",
        server.url.trim_start_matches("http://")
    );
    let get = |language: &str| {
        web.bare(
            "GET",
            "/console/books/house/1",
            &format!("{host}Accept-Language: {language}\r\n"),
            b"",
        )
        .expect(404)
        .body
    };
    for (language, message) in [("en", "There is no such book"), ("ru", "Такой книги нет")]
    {
        let page = get(language);
        let part = page.split_once("class=\"problem\"").expect("a problem").1;
        assert!(part.contains(&format!("<p>{message}")), "{part}");
        // What exactly is for those who look into it.
        assert!(
            part.contains("<span lang=\"en\">") && part.contains("no_such_book"),
            "{part}"
        );
    }
}

#[test]
fn what_is_unhealthy_is_told_in_the_language_of_the_reader() {
    let folder = Folder::new();
    let server = Server::start_with("--min-free 1000000000000000", &[], &folder.data());
    let web = Web::of(&server);
    let host = format!(
        "Host: {}\r\nAccept: text/html\r\n",
        server.url.trim_start_matches("http://")
    );
    for (language, sentence) in [
        ("en", "changes fail when the disk is full"),
        ("ru", "когда диск заполнится, изменения будут отклоняться"),
    ] {
        let headers = format!("{host}Accept-Language: {language}\r\n");
        let page = web
            .bare("GET", "/console/statistics", &headers, b"")
            .expect(200);
        assert!(page.body.contains(sentence), "{}", page.body);
    }
}

/// Each button of the page of jobs starts its job. What the server cannot do has no button, and the page says why.
#[test]
fn every_button_of_jobs_does_what_it_says() {
    let folder = Folder::new();
    let backups = folder.path("backups");
    for (options, offers_backups) in [
        (format!("--backups {}", backups.display()), true),
        (String::new(), false),
    ] {
        let server = Server::start_with(&options, &[], &folder.data());
        let web = Web::of(&server);
        let page = web.get("/console/jobs").expect(200);
        let kinds: Vec<String> = page
            .body
            .split("/console/jobs?kind=")
            .skip(1)
            .map(first_word)
            .collect();
        assert_eq!(
            kinds.contains(&"backup".to_owned()),
            offers_backups,
            "{kinds:?}"
        );
        assert_eq!(
            page.body.contains("backups = "),
            !offers_backups,
            "{}",
            page.body
        );
        assert!(kinds.len() >= 3, "{kinds:?}");
        for kind in kinds {
            let fields = if kind == "reindex" {
                "recipe=released"
            } else {
                ""
            };
            web.send(
                "/console/jobs",
                &format!("/console/jobs?kind={kind}"),
                fields,
            )
            .expect(303);
            let job = || {
                ureq::get(format!("{}/v1/jobs", server.url))
                    .call()
                    .expect("jobs")
                    .into_body()
                    .read_json::<Value>()
            };
            let done =
                std::iter::repeat_with(|| job().expect("JSON")["jobs"][0].clone()).find(|job| {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    job["state"] != "running"
                });
            let done = done.expect("endless");
            assert_eq!(
                (&done["task"]["kind"], &done["state"]),
                (&kind.as_str().into(), &"done".into()),
                "{done}"
            );
        }
        assert_eq!(server.stop(), Some(0));
    }
    assert!(backups.is_dir());
}

fn first_word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_ascii_alphabetic() || *c == '_')
        .collect()
}
