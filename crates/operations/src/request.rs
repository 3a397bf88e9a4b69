//! An operation as a request over HTTP.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use utoipa::openapi::path::HttpMethod;

use crate::{Endpoint, Input, Operation, SentAs};

/// An operation as a request over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: &'static str,
    /// The path and the query.
    pub target: String,
    /// The JSON body.
    pub body: Option<Vec<u8>>,
}

impl Request {
    /// The request that calls an operation, with these segments in place of the placeholders of its path.
    #[must_use]
    pub fn of<O: Operation>(segments: &[impl AsRef<str>], input: &O::Input) -> Self {
        let endpoint = O::ENDPOINT;
        let (mut target, mut body) = (filled(endpoint.path, segments), None);
        match O::Input::sent_as() {
            SentAs::Nothing => {}
            // Flat structures of strings and numbers always serialize.
            SentAs::Query { .. } => {
                let query = serde_urlencoded::to_string(input).unwrap_or_default();
                if !query.is_empty() {
                    target = format!("{target}?{query}");
                }
            }
            SentAs::Json(_) => body = Some(serde_json::to_vec(input).unwrap_or_default()),
        }
        Self {
            method: endpoint.method_name(),
            target,
            body,
        }
    }
}

/// A path with these segments in place of its placeholders.
#[must_use]
pub fn filled(template: &str, segments: &[impl AsRef<str>]) -> String {
    let mut segments = segments.iter();
    let mut filled = String::new();
    for part in template.split('/').skip(1) {
        filled.push('/');
        if part.starts_with('{') {
            let segment = segments.next().map_or("", AsRef::as_ref);
            filled.extend(utf8_percent_encode(segment, NON_ALPHANUMERIC));
        } else {
            filled.push_str(part);
        }
    }
    filled
}

impl Endpoint {
    /// The name of its method.
    #[must_use]
    pub fn method_name(&self) -> &'static str {
        match self.method {
            HttpMethod::Post => "POST",
            HttpMethod::Put => "PUT",
            HttpMethod::Patch => "PATCH",
            HttpMethod::Delete => "DELETE",
            _ => "GET",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn names_are_encoded_as_a_whole() {
        let expected = "/v1/libraries/a%2Fb/books/%2E%2E%2F%D0%B6%3F";
        assert_eq!(
            filled("/v1/libraries/{library}/books/{id:.*}", &["a/b", "../ж?"]),
            expected
        );
    }
}
