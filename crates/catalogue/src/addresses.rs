//! Restricts requests on behalf of others to addresses on the internet, so that they cannot reach what only this machine
//! can. The check is made on the very addresses that are then connected to, so a name cannot resolve to something else afterwards.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::config::{Config, ConfigBuilder};
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::time::Duration;
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

/// How long to wait for the addresses of a name that is only looked at.
const RESOLVED_WITHIN: Duration = Duration::from_secs(5);

/// A resolver that returns only public addresses, unless private ones are allowed.
#[derive(Debug)]
pub struct Addresses {
    /// Whether private ones are allowed.
    pub private: bool,
    /// What to say about how to allow them.
    pub allow: &'static str,
}

impl Addresses {
    /// Why a request to this address would be refused now. A name that cannot be resolved is not: it may be there later.
    pub fn refusal(&self, uri: &Uri) -> Option<String> {
        let timeout = NextTimeout {
            after: RESOLVED_WITHIN,
            ..NextTimeout::default()
        };
        match self.resolve(uri, &Config::default(), timeout) {
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Some(error.to_string())
            }
            _ => None,
        }
    }

    /// A client for these addresses, with further settings. It follows no redirects, which could lead to an unchecked
    /// address, and uses no proxy, which would resolve names itself.
    pub fn agent(self, configured: impl FnOnce(Builder) -> Builder) -> Agent {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false);
        Agent::with_parts(
            configured(config.proxy(None)).build(),
            DefaultConnector::default(),
            self,
        )
    }
}

type Builder = ConfigBuilder<ureq::typestate::AgentScope>;

impl Resolver for Addresses {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        match found
            .iter()
            .find(|address| !self.private && !is_public(address.ip()))
        {
            None => Ok(found),
            Some(address) => {
                let sentence = format!(
                    "{} is not a public internet address; {}",
                    address.ip(),
                    self.allow
                );
                Err(io::Error::new(io::ErrorKind::PermissionDenied, sentence).into())
            }
        }
    }
}

/// Whether an address is on the public internet. Special addresses are those of IANA's registries (RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.segments() {
            // IPv4 addresses embedded in IPv6: mapped, translated (NAT64), and 6to4.
            [0, 0, 0, 0, 0, 0xffff, a, b]
            | [0x64, 0xff9b, 0, 0, 0, 0, a, b]
            | [0x2002, a, b, ..] => {
                is_public_v4(Ipv4Addr::from_bits(u32::from(a) << 16 | u32::from(b)))
            }
            _ => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        // This network; carrier-grade NAT; protocol assignments; benchmarks; the reserved rest with broadcast.
        [0 | 240..=255, ..] | [100, 64..=127, ..] | [192, 0, 0, _] | [198, 18..=19, ..] => true,
        _ => {
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_documentation()
        }
    };
    !special
}

/// Global unicast is all of `2000::/3` except Teredo, ORCHID, benchmarks and documentation.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn addresses_that_only_this_machine_or_its_network_reach() {
        let public = [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::8",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ];
        let special = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "3fff::1",
        ];
        for address in public {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in special {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
