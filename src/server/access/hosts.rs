//! Restricts administration without a key to programs on this machine, and excludes web pages in a browser on it. A
//! page can make its own name resolve to this machine (DNS rebinding), or send cross-site requests.

use std::net::IpAddr;

use actix_web::http::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use actix_web::http::uri::{Authority, Uri};

use super::super::problem::{Problem, excerpt};
use lapidary_common::error::ErrorCode;

/// Browsers set this header to say whether a request comes from a page of the same origin.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names that the server can be called by without a key.
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    /// `allowed` adds to `localhost` and the addresses of this machine, which nobody else can claim.
    pub(super) fn new(allowed: &[String]) -> Self {
        Self(
            allowed
                .iter()
                .map(|name| name.to_ascii_lowercase())
                .collect(),
        )
    }

    /// Refuses requests that a web page may have sent.
    pub(super) fn approve(&self, headers: &HeaderMap) -> Result<(), Problem> {
        for host in headers.get_all(HOST) {
            let host = host.to_str().unwrap_or_default();
            if !self.know(host) {
                let detail = format!(
                    "this server has no keys and accepts only requests to localhost, not to '{}'; use localhost, \
                     allow the name (serve --allowed-hosts), or add a key (lapidary keys add)",
                    excerpt(host)
                );
                return Err(Problem::new(ErrorCode::UnknownHost, detail));
            }
        }
        if is_of_another_site(headers) {
            let detail = "this server has no keys and refuses requests from pages of other sites; add a key (lapidary \
                          keys add)";
            return Err(Problem::new(ErrorCode::CrossSite, detail));
        }
        Ok(())
    }

    fn know(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        let name = authority.host().to_ascii_lowercase();
        let address = name
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        name == "localhost"
            || address.is_ok_and(|address| address.is_loopback())
            || self.0.contains(&name)
    }
}

/// Whether a browser says that a page of this server sent the request.
pub(crate) fn is_from_own_page(headers: &HeaderMap) -> bool {
    let is_said = headers.contains_key(ORIGIN)
        || headers
            .get(FETCH_SITE)
            .is_some_and(|site| site == "same-origin");
    is_said && !is_of_another_site(headers)
}

fn is_of_another_site(headers: &HeaderMap) -> bool {
    let text = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    if text(FETCH_SITE).is_some_and(|site| !["same-origin", "none"].contains(&site)) {
        return true;
    }
    let Some(origin) = text(ORIGIN) else {
        return false;
    };
    let origin = origin.parse::<Uri>().ok();
    let origin = origin
        .as_ref()
        .and_then(Uri::authority)
        .map(Authority::as_str);
    !origin
        .zip(text(HOST))
        .is_some_and(|(origin, host)| origin.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::Hosts;

    type Headers = &'static [(&'static str, &'static str)];

    #[test]
    fn pages_of_the_web_are_told_from_programs() {
        let hosts = Hosts::new(&["Books.example".to_owned()]);
        let table: [(Headers, Option<&str>); 21] = [
            (&[], None),
            (&[("host", "localhost:8093")], None),
            (&[("host", "LOCALHOST")], None),
            (&[("host", "127.0.0.1:8093")], None),
            (&[("host", "127.1.2.3")], None),
            (&[("host", "[::1]:8093")], None),
            (&[("host", "books.EXAMPLE:8093")], None),
            (&[("host", "evil.example:8093")], Some("unknown_host")),
            (&[("host", "localhost.evil.example")], Some("unknown_host")),
            (&[("host", "127.0.0.1.evil.example")], Some("unknown_host")),
            (&[("host", "192.0.2.1")], Some("unknown_host")),
            (&[("host", "")], Some("unknown_host")),
            (&[("host", "a b")], Some("unknown_host")),
            (
                &[("host", "localhost:1"), ("sec-fetch-site", "same-origin")],
                None,
            ),
            (&[("host", "localhost:1"), ("sec-fetch-site", "none")], None),
            (
                &[("host", "localhost:1"), ("sec-fetch-site", "cross-site")],
                Some("cross_site"),
            ),
            (
                &[("host", "localhost:1"), ("sec-fetch-site", "same-site")],
                Some("cross_site"),
            ),
            (
                &[("host", "localhost:1"), ("origin", "http://localhost:1")],
                None,
            ),
            (
                &[("host", "localhost:1"), ("origin", "http://localhost:2")],
                Some("cross_site"),
            ),
            (
                &[("host", "localhost:1"), ("origin", "https://evil.example")],
                Some("cross_site"),
            ),
            (
                &[("host", "localhost:1"), ("origin", "null")],
                Some("cross_site"),
            ),
        ];
        for (headers, refused) in table {
            let request = headers.iter().fold(TestRequest::get(), |request, header| {
                request.insert_header(*header)
            });
            let found = hosts.approve(request.to_srv_request().headers()).err();
            assert_eq!(
                found.as_ref().map(super::Problem::code),
                refused,
                "{headers:?}"
            );
        }
    }
}
