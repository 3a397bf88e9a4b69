//! The address of a cluster.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// The prefix of an address without one.
const PREFIX: &str = "lapidary";

/// `redis://[USER@]HOST:PORT[,HOST:PORT…][/PREFIX]`, or `rediss://` for TLS: some nodes of a Redis Cluster, and what all
/// keys of the catalogue start with, `lapidary` if it is not given. Catalogues with different prefixes can share a cluster.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct ClusterAddress {
    pub(super) tls: bool,
    pub(super) user: Option<String>,
    pub(super) nodes: Vec<String>,
    pub(super) prefix: String,
    /// Whether its nodes need not keep their data on disk. No part of what is written.
    pub(super) allows_volatile: bool,
}

impl ClusterAddress {
    /// Says whether nodes are accepted that do not keep their data on disk, which is lost when they stop.
    #[must_use]
    pub fn allowing_volatile(self, allows_volatile: bool) -> Self {
        Self {
            allows_volatile,
            ..self
        }
    }
}

/// Not the address of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the address of a store: {1}; write redis://HOST:PORT,HOST:PORT/PREFIX")]
pub struct BadAddress(String, &'static str);

impl FromStr for ClusterAddress {
    type Err = BadAddress;

    fn from_str(written: &str) -> Result<Self, BadAddress> {
        let bad = |why| BadAddress(written.to_owned(), why);
        let (tls, rest) = match (
            written.strip_prefix("redis://"),
            written.strip_prefix("rediss://"),
        ) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(bad("it does not start with redis:// or rediss://")),
        };
        let (nodes, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, nodes) = nodes
            .split_once('@')
            .map_or((None, nodes), |(user, nodes)| (Some(user), nodes));
        if user.is_some_and(|user| user.contains(':')) {
            // Not shown with the rest: messages end up in logs.
            let why =
                "a password in it could be read by others; put it into LAPIDARY_STORE_PASSWORD";
            return Err(BadAddress("…".to_owned(), why));
        }
        if user.is_some_and(|user| user.is_empty() || user.contains(char::is_whitespace)) {
            return Err(bad("the name of the user is empty or has spaces"));
        }
        let nodes: Vec<String> = nodes.split(',').map(str::to_owned).collect();
        if !nodes.iter().all(|node| is_node(node)) {
            return Err(bad("each node needs a host and a port"));
        }
        if !is_prefix(prefix) {
            return Err(bad("the prefix may have letters, digits, '-', '_' and '.'"));
        }
        let prefix = if prefix.is_empty() { PREFIX } else { prefix };
        Ok(Self {
            tls,
            user: user.map(str::to_owned),
            nodes,
            prefix: prefix.to_owned(),
            allows_volatile: false,
        })
    }
}

/// Whether keys can begin with it. A brace would change which part of a key decides where it is.
fn is_prefix(prefix: &str) -> bool {
    prefix
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn is_node(node: &str) -> bool {
    node.rsplit_once(':').is_some_and(|(host, port)| {
        let is_host = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '@');
        is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

impl fmt::Display for ClusterAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "rediss" } else { "redis" };
        let user = self
            .user
            .as_ref()
            .map(|user| format!("{user}@"))
            .unwrap_or_default();
        write!(
            f,
            "{scheme}://{user}{}/{}",
            self.nodes.join(","),
            self.prefix
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        let table = [
            ("redis://h:7000", Some("redis://h:7000/lapidary")),
            (
                "redis://h1:7000,10.0.0.2:7001,[::1]:7002/books",
                Some("redis://h1:7000,10.0.0.2:7001,[::1]:7002/books"),
            ),
            ("redis://h:7000/", Some("redis://h:7000/lapidary")),
            ("redis://h", None),
            ("redis://h:0", None),
            ("redis://h:7000,", None),
            ("redis://h:7000/{a}", None),
            ("redis://h:7000/a/b", None),
            ("redis://u:p@h:7000", None),
            ("redis://@h:7000", None),
            ("rediss://h:7000", Some("rediss://h:7000/lapidary")),
            (
                "rediss://u@h:7000,i:7000/p",
                Some("rediss://u@h:7000,i:7000/p"),
            ),
            ("./data", None),
        ];
        for (written, shown) in table {
            assert_eq!(
                written
                    .parse::<ClusterAddress>()
                    .ok()
                    .map(|read| read.to_string())
                    .as_deref(),
                shown,
                "{written}"
            );
        }
    }

    #[test]
    fn a_password_is_not_repeated() {
        let error = "redis://u:secret@h:7000"
            .parse::<ClusterAddress>()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("LAPIDARY_STORE_PASSWORD") && !error.contains("secret"),
            "{error}"
        );
    }
}
