//! The address on which a server listens.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// A host and a port, with all addresses that they resolve to: `localhost` has an IPv4 and an IPv6 address.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub(super) struct Listen {
    name: String,
    pub(super) addresses: Vec<SocketAddr>,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = name.to_socket_addrs().map_err(|e| {
            let why = if name.contains(':') { format!("{e}; ") } else { String::new() };
            format!(
                "{why}give an address or host name of this machine, and a port: 127.0.0.1:8093, localhost:8093, [::1]:8093"
            )
        })?;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in found {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        Ok(Self {
            name: name.to_owned(),
            addresses,
        })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
