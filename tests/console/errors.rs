//! What a user sees when something goes wrong.

use crate::common::{Folder, Server, key, run};
use crate::console::browser::Browser;

#[test]
fn a_server_that_is_gone_is_told() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    browser.go(&format!("{}/console/check", server.url));
    browser.type_into("#text", "A text.");
    drop(server);
    browser.click("form:not([data-files]) button.main");
    browser.see("#told", "The server does not answer");
    // What was typed is still there.
    assert_eq!(
        browser.js("return document.querySelector('#text').value"),
        "A text."
    );
    let two = [folder.file("a.txt", "One."), folder.file("b.txt", "Two.")];
    browser.type_into(
        "#file",
        &two.map(|path| path.display().to_string()).join("\n"),
    );
    browser.click("form[data-files] button.main");
    browser.see("#told", "The server does not answer");
}

#[test]
fn a_revoked_key_leads_back_to_signing_in() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let data = folder.data();
    let boss = key(&data, "--role admin boss");
    let shop = key(&data, "--role check shop");
    let server = Server::start(&data);
    browser.sign_in(&server, &shop);
    browser.see("h1", "Check");
    browser.see(".who", "shop");
    browser.type_into("#text", "A text.");
    let revoked = run(
        &format!("keys revoke --server {} shop --key {boss}", server.url),
        &[] as &[&str],
    );
    if revoked.status != 0 {
        // The key is given by the environment or by an option.
        ureq::delete(format!("{}/v1/keys/shop", server.url))
            .header("X-Api-Key", &boss)
            .call()
            .expect("it is revoked");
    }
    browser.click("form:not([data-files]) button.main");
    browser.see("h1", "Sign in");
    browser.see(".problem", "its key was revoked");
}

#[test]
fn too_large_and_too_often() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let data = folder.data();
    let shop = key(&data, "--role check --rate 2/h shop");
    let server = Server::start_with("--max-body 10kB", &[], &data);
    browser.sign_in(&server, &shop);
    browser.see("h1", "Check");
    let large = folder.file("large.txt", "x".repeat(20_000));
    browser.type_into("#file", large.to_str().expect("a path"));
    browser.click("form[data-files] button.main");
    browser.see("#told", "the server takes at most 10");
    // Without the script, the server says so.
    browser.js("const area = document.querySelector('#text'); area.value = 'x'.repeat(20000);");
    browser.click("form:not([data-files]) button.main");
    browser.see("#result", "This is too large");
    browser.see("#result", "body_too_large");
    browser.js("document.querySelector('#text').value = 'A text.'");
    for _ in 0..3 {
        browser.click("form:not([data-files]) button.main");
        browser.settle();
    }
    browser.see("#result", "Too many requests");
}
