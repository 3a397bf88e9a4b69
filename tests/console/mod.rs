//! End-to-end tests of the web console: by plain HTTP, and in a real browser.
//!
//! Where there is no Chromium with its driver, the tests in a browser say so and are skipped. With `LAPIDARY_REQUIRE` set, that
//! is a failure.

mod browser;
mod catalogue;
mod errors;
mod evidence;
mod hostile;
mod look;
mod module;
mod oidc;
mod protocol;
mod queue;
mod report;
mod sessions;
mod site;
mod stays;
mod story;
mod uploads;
mod web;
