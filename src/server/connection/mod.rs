//! Connections: accepted, encrypted, through proxies, and answered before the catalogue is open.

pub(crate) mod connections;
pub(crate) mod opening;
pub(crate) mod proxies;
pub(crate) mod tls;
