//! The address of a client behind proxies.
//!
//! Only the proxies that the settings name are believed: what anyone else sends in `X-Forwarded-For` or `Forwarded` (RFC 7239) means
//! nothing. Each proxy adds to the end of the list whom it was asked by, so the list is read from its end, as far as the proxies in
//! it are trusted. The first address of anybody else is the client.
//!
//! A loopback address is of this machine only if all that passed it on are on this machine too: another machine's is not, and whoever is
//! trusted there could make it up.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use actix_web::http::header::{FORWARDED, HeaderMap, HeaderName, X_FORWARDED_FOR};
use ipnet::{IpNet, Ipv4Net};
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// An address, or a network such as `10.0.0.0/8`, of proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct ProxyNetwork(IpNet);

/// Not an address or a network.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is neither an address nor a network, such as 10.1.2.3, fd00::1 or 10.0.0.0/8")]
pub struct BadNetwork(String);

impl FromStr for ProxyNetwork {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let text = text.trim();
        let network = text
            .parse::<IpNet>()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        let network = network.map_err(|_| BadNetwork(text.to_owned()))?.trunc();
        Ok(Self(match network {
            // Addresses are compared as IPv4 wherever they can be.
            IpNet::V6(mapped) if mapped.prefix_len() >= 96 => mapped
                .addr()
                .to_ipv4_mapped()
                .and_then(|address| Ipv4Net::new(address, mapped.prefix_len() - 96).ok())
                .map_or(network, IpNet::V4),
            network => network,
        }))
    }
}

impl std::fmt::Display for ProxyNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_address = self.0.prefix_len() == self.0.max_prefix_len();
        if is_address {
            self.0.addr().fmt(f)
        } else {
            self.0.fmt(f)
        }
    }
}

/// Whether one of the proxies has this address.
pub(crate) fn is_trusted(trusted: &[ProxyNetwork], address: IpAddr) -> bool {
    trusted
        .iter()
        .any(|network| network.0.contains(&address.to_canonical()))
}

/// The address of whoever sent a request, as far as it is known.
pub(crate) fn client(
    trusted: &[ProxyNetwork],
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Option<SocketAddr> {
    let direct = SocketAddr::new(peer.ip().to_canonical(), peer.port());
    let trusts = |address| is_trusted(trusted, address);
    if !trusts(direct.ip()) {
        return Some(direct);
    }
    let found = [
        listed(headers, &X_FORWARDED_FOR)
            .map(|list| first(&forwarded_for(&list), direct.ip(), trusts)),
        listed(headers, &FORWARDED)
            .map(|list| first(&forwarded(&list).unwrap_or_default(), direct.ip(), trusts)),
    ];
    let found = match found {
        [None, None] => return Some(direct),
        [Some(one), None] | [None, Some(one)] => one,
        // A proxy writes one of them, and perhaps passes on the other as the client sent it.
        [Some(one), Some(other)] => one.filter(|_| one == other),
    };
    found.map(|address| SocketAddr::new(address, 0))
}

/// All lines of a header as one list.
fn listed(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let lines: Vec<_> = headers
        .get_all(name)
        .map(|line| String::from_utf8_lossy(line.as_bytes()))
        .collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

/// The last address that is not a trusted proxy's, or else the first one. `None` is whoever is not named by an address. Loopback that
/// came through another machine is that machine's, and stands for it.
fn first(hops: &[Option<IpAddr>], peer: IpAddr, trusts: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
    let at = hops
        .iter()
        .rposition(|hop| hop.is_none_or(|address| !trusts(address)))
        .unwrap_or(0);
    let client = (*hops.get(at)?)?;
    let mut passed_on = hops[at..].iter().flatten().copied().chain([peer]);
    passed_on
        .find(|address| !address.is_loopback())
        .filter(|_| client.is_loopback())
        .or(Some(client))
}

/// The hops in `X-Forwarded-For`.
fn forwarded_for(list: &str) -> Vec<Option<IpAddr>> {
    let hops = list.split(',').map(str::trim).filter(|hop| !hop.is_empty());
    hops.map(|hop| address(hop.trim_matches('"'))).collect()
}

/// The hops in `Forwarded`, or `None` if it is malformed: what is quoted in it may have commas.
fn forwarded(list: &str) -> Option<Vec<Option<IpAddr>>> {
    let (mut hops, mut rest) = (Vec::new(), list);
    loop {
        let mut by = None;
        loop {
            rest = rest.trim_start();
            let end = rest.find([',', ';', '=']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            rest = after;
            if let Some(value) = rest.strip_prefix('=') {
                let (value, after) = value_of(value)?;
                if name.trim_end().eq_ignore_ascii_case("for") && by.replace(value).is_some() {
                    return None;
                }
                rest = after.trim_start();
            } else if !name.trim_end().is_empty() {
                return None;
            }
            match rest.strip_prefix(';') {
                Some(after) => rest = after,
                None => break,
            }
        }
        hops.push(by.and_then(|by| address(&by)));
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => return rest.is_empty().then_some(hops),
        }
    }
}

/// A token or a quoted string, and what follows it.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ';', ' ', '\t']).unwrap_or(text.len());
        let (token, rest) = text.split_at(end);
        return (!token.contains(['"', '='])).then(|| (token.to_owned(), rest));
    };
    let (mut value, mut characters) = (String::new(), quoted.char_indices());
    loop {
        match characters.next()? {
            (end, '"') => return Some((value, &quoted[end + 1..])),
            (_, '\\') => value.push(characters.next()?.1),
            (_, character) => value.push(character),
        }
    }
}

/// The address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`. Others say nothing: `unknown`, `_hidden`, `unix:`.
fn address(node: &str) -> Option<IpAddr> {
    let bare = match node.strip_prefix('[') {
        Some(rest) => {
            rest.split_once(']')
                .filter(|(_, port)| port.is_empty() || port.starts_with(':'))?
                .0
        }
        None if node.matches(':').count() == 1 => node.split_once(':')?.0,
        None => node,
    };
    let bare = bare.split_once('%').map_or(bare, |(bare, _)| bare);
    bare.parse::<IpAddr>()
        .ok()
        .map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderMap, HeaderValue};

    use super::*;

    fn found(peer: &str, lines: &[(&HeaderName, &str)]) -> String {
        let trusted = [
            "10.0.0.0/8",
            "fd00::/64",
            "::ffff:192.168.0.0/112",
            "127.0.0.1",
        ]
        .map(|n| n.parse().unwrap());
        let mut headers = HeaderMap::new();
        for (name, line) in lines {
            headers.append(
                (*name).clone(),
                HeaderValue::from_bytes(line.as_bytes()).unwrap(),
            );
        }
        let client = client(&trusted, peer.parse().unwrap(), &headers);
        client.map_or_else(|| "nobody".to_owned(), |client| client.ip().to_string())
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let (xff, fwd) = (&X_FORWARDED_FOR, &FORWARDED);
        for lines in [&[(xff, "192.0.2.1")][..], &[(fwd, "for=192.0.2.1")], &[]] {
            assert_eq!(found("203.0.113.9:1", lines), "203.0.113.9");
            assert_eq!(found("[::ffff:203.0.113.9]:1", lines), "203.0.113.9");
            assert_eq!(found("[fd00:0:0:1::1]:1", lines), "fd00:0:0:1::1");
        }
        for peer in [
            "10.1.2.3:9",
            "[::ffff:10.1.2.3]:9",
            "[fd00::7]:9",
            "192.168.3.4:1",
            "127.0.0.1:1",
        ] {
            assert_eq!(found(peer, &[(xff, "192.0.2.1")]), "192.0.2.1", "{peer}");
            assert_eq!(
                found(peer, &[(fwd, "for=192.0.2.1")]),
                "192.0.2.1",
                "{peer}"
            );
        }
        assert_eq!(
            found("10.0.0.1:1", &[]),
            "10.0.0.1",
            "the proxy itself asks"
        );
    }

    #[test]
    fn the_last_stranger_is_the_client() {
        let (xff, fwd) = (&X_FORWARDED_FOR, &FORWARDED);
        let long = format!(
            "{}192.0.2.1{}",
            "6.6.6.6, ".repeat(3_000),
            ", 10.0.0.9".repeat(3_000)
        );
        let table: [(&[(&HeaderName, &str)], &str); 34] = [
            (&[(xff, "6.6.6.6, 192.0.2.1")], "192.0.2.1"),
            (
                &[(xff, "6.6.6.6, 192.0.2.1, 10.0.0.7, fd00::2")],
                "192.0.2.1",
            ),
            (
                &[(xff, "6.6.6.6"), (xff, "192.0.2.1, 10.0.0.7")],
                "192.0.2.1",
            ),
            (&[(xff, "10.0.0.3, 10.0.0.4")], "10.0.0.3"),
            (&[(xff, " , 192.0.2.1 ,, ")], "192.0.2.1"),
            (&[(xff, "192.0.2.1:4711")], "192.0.2.1"),
            (&[(xff, "[2001:db8::1]:4711")], "2001:db8::1"),
            (&[(xff, "[2001:db8::1]")], "2001:db8::1"),
            (&[(xff, "2001:DB8::1")], "2001:db8::1"),
            (&[(xff, "fe80::1%eth0")], "fe80::1"),
            (&[(xff, "::ffff:192.0.2.1")], "192.0.2.1"),
            (&[(xff, "192.0.2.1, ::ffff:10.0.0.7")], "192.0.2.1"),
            (&[(xff, "6.6.6.6, unknown")], "nobody"),
            (&[(xff, "6.6.6.6, unix:")], "nobody"),
            (&[(xff, "6.6.6.6, evil, 10.0.0.7")], "nobody"),
            (&[(xff, "[2001:db8::1]x")], "nobody"),
            (&[(xff, "")], "nobody"),
            (&[(xff, &long)], "192.0.2.1"),
            (
                &[(
                    fwd,
                    "for=6.6.6.6, for=192.0.2.1;proto=https;by=10.0.0.1, for=\"[fd00::2]:80\"",
                )],
                "192.0.2.1",
            ),
            (
                &[(fwd, "For=\"[2001:db8::1]:4711\";Host=books.example")],
                "2001:db8::1",
            ),
            (&[(fwd, "for=\"192.0.2.1:_obf\"")], "192.0.2.1"),
            (
                &[(fwd, "for=6.6.6.6"), (fwd, "proto=http ; for=192.0.2.1")],
                "192.0.2.1",
            ),
            (
                &[(fwd, "for=192.0.2.1;host=\"a, for=6.6.6.6\"")],
                "192.0.2.1",
            ),
            (
                &[(fwd, "for=192.0.2.1;host=\"a\\\", for=6.6.6.6\"")],
                "192.0.2.1",
            ),
            (&[(fwd, "for=6.6.6.6;x=\", for=192.0.2.1")], "nobody"),
            (&[(fwd, "for=6.6.6.6, for=_hidden")], "nobody"),
            (&[(fwd, "for=6.6.6.6, for=unknown, for=10.0.0.2")], "nobody"),
            (&[(fwd, "for=6.6.6.6, proto=https")], "nobody"),
            (&[(fwd, "for=192.0.2.1;for=6.6.6.6")], "nobody"),
            (&[(fwd, "6.6.6.6")], "nobody"),
            (&[(fwd, "for=\"192.0.2.1\"x, for=6.6.6.6")], "nobody"),
            (&[(fwd, "")], "nobody"),
            (&[(fwd, "for=192.0.2.1"), (xff, "192.0.2.1")], "192.0.2.1"),
            (&[(fwd, "for=6.6.6.6"), (xff, "192.0.2.1")], "nobody"),
        ];
        for (lines, client) in table {
            assert_eq!(found("10.0.0.1:1", lines), client, "{lines:?}");
        }
    }

    /// What is for this machine only is for no other one's loopback.
    #[test]
    fn loopback_of_another_machine_is_that_machine() {
        let (xff, fwd) = (&X_FORWARDED_FOR, &FORWARDED);
        let table: [(&str, &HeaderName, &str, &str); 9] = [
            ("127.0.0.1:1", xff, "127.0.0.1", "127.0.0.1"),
            ("127.0.0.1:1", xff, "127.0.0.5, 127.0.0.1", "127.0.0.5"),
            ("10.5.5.5:1", xff, "127.0.0.1", "10.5.5.5"),
            ("10.5.5.5:1", fwd, "for=127.0.0.1", "10.5.5.5"),
            ("10.5.5.5:1", xff, "127.0.0.5", "10.5.5.5"),
            ("10.5.5.5:1", xff, "::1", "10.5.5.5"),
            ("127.0.0.1:1", xff, "127.0.0.1, 10.5.5.5", "10.5.5.5"),
            (
                "127.0.0.1:1",
                fwd,
                "for=127.0.0.1, for=\"[fd00::7]\", for=10.5.5.5",
                "fd00::7",
            ),
            ("10.0.0.1:1", xff, "6.6.6.6, ::1, 127.0.0.1", "10.0.0.1"),
        ];
        for (peer, name, line, client) in table {
            assert_eq!(found(peer, &[(name, line)]), client, "{peer} {line}");
        }
    }

    #[test]
    fn networks_are_written_as_addresses_or_with_a_prefix() {
        let table = [
            ("10.1.2.3", "10.1.2.3"),
            (" 10.1.2.3/8 ", "10.0.0.0/8"),
            ("fd00::1", "fd00::1"),
            ("fd00::1/64", "fd00::/64"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ];
        for (text, shown) in table {
            assert_eq!(text.parse::<ProxyNetwork>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "localhost",
            "10.0.0.0/33",
            "10.0.0",
            "fd00::/129",
            "10.0.0.1:80",
        ] {
            assert!(text.parse::<ProxyNetwork>().is_err(), "{text}");
        }
    }
}
