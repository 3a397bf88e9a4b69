//! The server from outside: what it answers to what is right, what is wrong, and what is meant to break it.

#[path = "../common/mod.rs"]
mod common;

mod books;
mod checks;
mod pages;
mod refusals;
mod running;
mod serving;
mod streams;
