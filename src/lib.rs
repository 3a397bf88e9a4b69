//! Lapidary: a fingerprint index for books.

pub mod catalogue;
pub mod cli;
pub mod extract;
pub mod fingerprint;
pub mod index;
pub mod matching;
pub mod server;
