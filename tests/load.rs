//! Tests that load the machine, or take something from it, and so do not run beside others: `cargo test --release --test load faults::`.

// A test tells a story from its beginning to its end.
#![allow(clippy::too_many_lines)]

mod common;
#[path = "common/makers.rs"]
mod makers;

mod attack;
mod crash;
mod fairness;
mod faults;
#[cfg(target_os = "linux")]
mod memory;
mod scarce;
mod servers;
