//! The tests of the HTTP API (`tests/http/`) on catalogues in a cluster.
//!
//! All of them: only `an_address_in_use_is_named_with_the_way_out` has a folder here too, since no store matters to it. Where there
//! is no `redis-server`, this says so and runs on folders.

const ON_CLUSTER: bool = true;

#[path = "http/batches.rs"]
mod batches;
#[path = "http/books.rs"]
mod books;
#[path = "http/checks.rs"]
mod checks;
#[path = "http/codings.rs"]
mod codings;
#[path = "http/compare.rs"]
mod compare;
#[path = "http/conditions.rs"]
mod conditions;
#[path = "http/decisions.rs"]
mod decisions;
#[path = "http/find.rs"]
mod find;
#[path = "http/forbidden.rs"]
mod forbidden;
#[path = "http/gate.rs"]
mod gate;
#[path = "http/links.rs"]
mod links;
#[path = "http/lists.rs"]
mod lists;
#[path = "http/pages.rs"]
mod pages;
#[path = "http/refusals.rs"]
mod refusals;
#[path = "http/running.rs"]
mod running;
#[path = "http/serving.rs"]
mod serving;
#[path = "http/streams.rs"]
mod streams;
#[path = "http/tables.rs"]
mod tables;
