//! End-to-end tests of the HTTP API: valid, invalid and malicious requests.

#[path = "../common/mod.rs"]
mod common;

mod books;
mod checks;
mod decisions;
mod find;
mod forbidden;
mod gate;
mod pages;
mod refusals;
mod running;
mod serving;
mod streams;
