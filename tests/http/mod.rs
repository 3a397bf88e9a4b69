//! End-to-end tests of the HTTP API: valid, invalid and malicious requests.

/// Whether the catalogues are in a cluster: `tests/http_on_cluster.rs` runs the same tests there.
const ON_CLUSTER: bool = false;

mod batches;
mod books;
mod checks;
mod codings;
mod compare;
mod conditions;
mod decisions;
mod find;
mod forbidden;
mod gate;
mod links;
mod lists;
mod pages;
mod refusals;
mod running;
mod serving;
mod streams;
mod tables;
