//! The `lapidary` program: HTTP ([`server`]) with the web console, the documentation ([`site`]), and the made-up shelf of the demo. The command line is compiled with the
//! program itself (`src/cli/`). All of it turns requests into operations of [`lapidary_catalogue`], and has no logic of its own.

mod console;
pub mod demo;
#[cfg(test)]
mod generated;
pub mod server;
pub mod site;
