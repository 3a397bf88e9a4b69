//! The addresses on which a server listens.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// A host and a port, with all addresses that they resolve to: `localhost` has an IPv4 and an IPv6 address.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct Listen {
    name: String,
    pub(in crate::server) addresses: Vec<SocketAddr>,
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

impl Listen {
    /// The addresses at which a client on this machine reaches a server that listens here.
    pub fn reachable(&self) -> impl Iterator<Item = SocketAddr> {
        self.addresses.iter().copied().map(|mut address| {
            if address.ip().is_unspecified() {
                address.set_ip(match address.ip() {
                    IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                    IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
                });
            }
            address
        })
    }
}

impl From<Vec<SocketAddr>> for Listen {
    fn from(addresses: Vec<SocketAddr>) -> Self {
        let name = addresses
            .first()
            .map_or_else(String::new, SocketAddr::to_string);
        Self { name, addresses }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// An address, or the path of a Unix socket, which has a slash.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub enum SocketAddress {
    /// An address.
    Tcp(Listen),
    /// The path of a socket.
    Unix(PathBuf),
}

impl FromStr for SocketAddress {
    type Err = String;

    fn from_str(address: &str) -> Result<Self, String> {
        if address.contains('/') {
            return Ok(Self::Unix(address.into()));
        }
        address.parse().map(Self::Tcp)
    }
}

impl fmt::Display for SocketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}
