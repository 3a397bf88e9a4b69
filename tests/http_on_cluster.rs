//! The tests of the HTTP API (`tests/http/`) on catalogues in a cluster.
//!
//! Not the tests of a store that fails or is slow, which is made of one in a folder. Where there is no `redis-server`, this
//! says so and runs on folders.
#![allow(dead_code, reason = "some helpers are for those tests")]

mod common;

const ON_CLUSTER: bool = true;

#[path = "http/books.rs"]
mod books;
#[path = "http/checks.rs"]
mod checks;
#[path = "http/decisions.rs"]
mod decisions;
#[path = "http/find.rs"]
mod find;
#[path = "http/forbidden.rs"]
mod forbidden;
#[path = "http/gate.rs"]
mod gate;
#[path = "http/pages.rs"]
mod pages;
#[path = "http/running.rs"]
mod running;
#[path = "http/streams.rs"]
mod streams;
