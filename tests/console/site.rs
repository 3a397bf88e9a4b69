//! The documentation in a browser.

use crate::common::{Folder, Server};
use crate::console::browser::{Browser, ENTER};

#[test]
fn what_is_sought_is_found_in_the_documentation() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    browser.go(&format!("{}/docs/guides/partner.html", server.url));
    browser.see("h1", "Partner");
    browser.click("#search");
    browser.type_into("#search", "collage quarantine confirms");
    browser.see("#found li:first-child a", "Quarantine");
    browser.press(ENTER);
    browser.see("h1", "Books and libraries");
    assert!(
        browser
            .url()
            .ends_with("/docs/reference/books.html#quarantine")
    );
    browser.click("#search");
    browser.type_into("#search", "no such word anywhere");
    browser.find("#found[data-matches='0']");
    browser.click("header a[lang=ru]");
    browser.see("h1", "по-русски");
    browser.click("header a[lang=en]");
    browser.see(".contents a[href='api/']", "Try the API");
    browser.click(".contents a[href='api/']");
    browser.find(".swagger-ui .opblock");
}
