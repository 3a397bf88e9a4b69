//! The tests of the program, in one program, because linking is most of the wait: `cargo test --release --test program http::`.

// A test tells a story from its beginning to its end.
#![allow(clippy::too_many_lines)]

mod common;
#[path = "common/makers.rs"]
mod makers;

mod access;
mod boundaries;
mod check;
mod clamd;
mod cli;
mod cluster;
mod codes;
mod console;
mod copy;
mod corpus;
mod doctor;
mod duplicates;
mod errors;
mod evaluate;
mod evidence;
mod feeds;
mod forms;
mod harm;
mod health;
mod hidden;
mod http;
#[allow(clippy::duplicate_mod, reason = "the same tests on another store")]
mod http_on_cluster;
mod jobs;
mod key_webhooks;
mod once;
mod openapi;
mod policy;
mod quarantine;
mod rewriting;
mod s3;
mod secret;
mod signatures;
mod sources;
mod statistics;
mod store;
mod tenants;
mod texts;
mod tls;
mod trust;
mod untrusted;
mod watch;
mod watches;
mod webhooks;
