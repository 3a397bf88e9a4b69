//! Objects in buckets of S3, and of servers that speak its protocol: as sources, and by name.

pub(super) mod listing;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use roxmltree::{Document, Node};
use rusty_s3::signing::sign;
use rusty_s3::{Bucket, Method, UrlStyle};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use ureq::http::header::{ETAG, HeaderValue, IF_MATCH};
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};
use url::Url;

pub use self::listing::decoded_key;
use super::web::{CONNECTING, PATIENCE, hand_on};
use lapidary_catalogue::addresses::Addresses;
use lapidary_catalogue::client::unanswered;
use lapidary_common::error::{Classified, ErrorCode};

const SCHEME: &str = "s3://";
/// The longest key of an object, in bytes.
const KEY_BYTES: usize = 1_024;
/// How long a signature is valid.
const VALID: Duration = Duration::from_mins(5);
/// More than ten tags of the greatest length.
const TAGS_BYTES: u64 = 64 << 10;
/// How many tags an object can have.
const MOST_TAGS: usize = 10;
/// What the names of tags written here begin with.
const OWN_TAGS: &str = "lapidary-";

/// The server with the buckets, and how to be let in.
pub struct S3Access {
    /// Its address; without one, that of AWS in the region.
    pub endpoint: Option<String>,
    /// The region.
    pub region: String,
    /// The access key: `ID:SECRET`.
    pub key: String,
    /// The buckets that may be named.
    pub buckets: Vec<String>,
}

/// The object at `s3://BUCKET/KEY`, perhaps as it is in one version, or while it has one `ETag`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    bucket: String,
    key: String,
    version: Option<String>,
    etag: Option<String>,
}

/// Why an object cannot be had, or not be tagged.
#[derive(Debug, Error)]
pub enum S3Error {
    /// It is not there, or may not be named. Asking again would not help.
    #[error("{0}")]
    Refused(String),
    /// The server does not answer, or does not let this one in.
    #[error("{0}; try again later, or ask the administrator to look at the settings of s3")]
    Unavailable(String),
}

impl Classified for S3Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(_) => ErrorCode::NotFetched,
            Self::Unavailable(_) => ErrorCode::SourceUnreachable,
        }
    }
}

impl ObjectName {
    /// Whether an address is one of an object.
    #[must_use]
    pub fn is_named_by(address: &str) -> bool {
        address.starts_with(SCHEME)
    }

    /// # Errors
    /// [`S3Error::Refused`] for keys that addresses cannot express: with `.` or `..` between slashes, empty or too long.
    pub fn new(bucket: impl Into<String>, key: impl Into<String>) -> Result<Self, S3Error> {
        let (bucket, key) = (bucket.into(), key.into());
        if bucket.is_empty() || !is_expressible(&key) {
            return Err(S3Error::Refused(INEXPRESSIBLE.to_owned()));
        }
        Ok(Self {
            bucket,
            key,
            version: None,
            etag: None,
        })
    }

    /// The object in this version, if the bucket keeps versions.
    #[must_use]
    pub fn in_version(self, version: Option<String>) -> Self {
        Self { version, ..self }
    }

    /// The object while this is its `ETag`, with or without quotes.
    #[must_use]
    pub fn with_etag(self, etag: Option<&str>) -> Self {
        let etag = etag.map(|etag| format!("\"{}\"", etag.trim_matches('"')));
        Self { etag, ..self }
    }
}

impl FromStr for ObjectName {
    type Err = S3Error;

    fn from_str(address: &str) -> Result<Self, S3Error> {
        let named = address
            .strip_prefix(SCHEME)
            .and_then(|rest| rest.split_once('/'));
        let (bucket, key) = named
            .ok_or_else(|| S3Error::Refused("an object is named s3://BUCKET/KEY".to_owned()))?;
        Self::new(bucket, key)
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.bucket, self.key)
    }
}

/// Whether an address leads to the key. One with `.` or `..` would lead to another key, or to another bucket.
fn is_expressible(key: &str) -> bool {
    let mut parts = key.split(['/', '\\']);
    (1..=KEY_BYTES).contains(&key.len()) && !parts.any(|part| part == "." || part == "..")
}

/// Why a key is not taken.
const INEXPRESSIBLE: &str =
    "the key of an object has 1 to 1,024 bytes, and no '.' or '..' between slashes";

/// What signs requests (AWS Signature Version 4), so that they are let in.
pub(super) struct AccessKey {
    id: String,
    secret: String,
    region: String,
}

impl AccessKey {
    /// From `ID:SECRET`, or why that is none.
    pub(super) fn of(pair: &str, region: &str) -> Result<Self, &'static str> {
        let (id, secret) = pair
            .trim()
            .split_once(':')
            .ok_or("give ID:SECRET of an access key")?;
        Ok(Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
            region: region.to_owned(),
        })
    }

    /// The address with a signature, for a request with these headers besides others.
    pub(super) fn signed(&self, method: Method, url: &Url, headers: &[(&str, &str)]) -> Url {
        let mut pairs: Vec<_> = url.query_pairs().into_owned().collect();
        pairs.sort_unstable();
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let headers = headers.iter().copied();
        sign(
            &Timestamp::now(),
            method,
            url.clone(),
            &self.id,
            &self.secret,
            None,
            &self.region,
            VALID.as_secs(),
            pairs,
            headers,
        )
    }
}

/// Reads objects, and writes their tags. An administrator names the server and the buckets, so the server may be on a private
/// network, and no other bucket is reached.
pub struct ObjectStore {
    agent: Agent,
    buckets: BTreeMap<String, Bucket>,
    key: AccessKey,
}

impl ObjectStore {
    /// # Errors
    /// Why the address, the access key or the name of a bucket cannot be used.
    pub fn new(access: S3Access) -> Result<Self, String> {
        let S3Access {
            endpoint,
            region,
            key,
            buckets,
        } = access;
        let style = match &endpoint {
            Some(_) => UrlStyle::Path,
            None => UrlStyle::VirtualHost,
        };
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let url = Url::parse(&endpoint).map_err(|error| format!("'{endpoint}': {error}"))?;
        let named = buckets.into_iter().map(|name| {
            let bucket = Bucket::new(url.clone(), style, name.clone(), region.clone());
            let bucket =
                bucket.map_err(|error| format!("bucket '{name}' at '{endpoint}': {error}"))?;
            Ok((name, bucket))
        });
        let addresses = Addresses {
            private: true,
            allow: "",
        };
        Ok(Self {
            buckets: named.collect::<Result<_, String>>()?,
            agent: addresses.agent(|config| {
                config
                    .timeout_global(Some(PATIENCE))
                    .timeout_resolve(Some(CONNECTING))
                    .timeout_connect(Some(CONNECTING))
                    .user_agent(concat!("lapidary/", env!("CARGO_PKG_VERSION")))
            }),
            key: AccessKey::of(&key, &region)?,
        })
    }

    /// The bucket of an object.
    ///
    /// # Errors
    /// [`S3Error::Refused`] if the administrator has not listed it.
    pub fn bucket_of(&self, object: &ObjectName) -> Result<&Bucket, S3Error> {
        self.buckets.get(&object.bucket).ok_or_else(|| {
            let bucket = &object.bucket;
            S3Error::Refused(format!(
                "the bucket '{bucket}' is not in the server's setting s3.buckets; name one that is, or ask the administrator"
            ))
        })
    }

    /// Fetches an object, and hands on its pieces until told to stop.
    ///
    /// # Errors
    /// [`S3Error`].
    pub fn fetch(
        &self,
        object: &ObjectName,
        take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), S3Error> {
        let mut answer = self.get(object, None)?;
        hand_on(answer.body_mut(), take).map_err(|_| incomplete())
    }

    /// Writes these tags, whose names begin with `lapidary-`, in place of others with such names. Other tags stay. An object that is
    /// replaced meanwhile loses them again: what they say is not of its content.
    ///
    /// # Errors
    /// [`S3Error::Refused`] if the object has too many other tags, is not there any more, or was replaced.
    pub fn tag(&self, object: &ObjectName, tags: &[(&str, &str)]) -> Result<(), S3Error> {
        self.verify(object)?;
        self.put_tags(object, tags)?;
        let verified = self.verify(object);
        if verified.is_err() && self.has_tags(object, tags)? {
            self.put_tags(object, &[])?;
        }
        verified
    }

    /// Whether these are the tags with names of our own, and not those that the next event has written meanwhile.
    fn has_tags(&self, object: &ObjectName, tags: &[(&str, &str)]) -> Result<bool, S3Error> {
        let found = self.tags(object)?;
        let own: BTreeSet<(&str, &str)> = found
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| name.starts_with(OWN_TAGS))
            .collect();
        Ok(own == tags.iter().copied().collect())
    }

    /// Makes sure that the object has its `ETag`. A version always has it.
    fn verify(&self, object: &ObjectName) -> Result<(), S3Error> {
        let (Some(etag), None) = (&object.etag, &object.version) else {
            return Ok(());
        };
        let url = self.signed(Method::Head, object, None, &[])?;
        let answer = self.agent.head(url.as_str()).call();
        let answer = accepted(object, answer.map_err(|error| silent(&error))?)?;
        let now = answer.headers().get(ETAG).map(HeaderValue::as_bytes);
        if now != Some(etag.as_bytes()) {
            return Err(replaced(object));
        }
        Ok(())
    }

    fn put_tags(&self, object: &ObjectName, tags: &[(&str, &str)]) -> Result<(), S3Error> {
        let mut all = self.tags(object)?;
        all.retain(|(name, _)| !name.starts_with(OWN_TAGS));
        all.extend(
            tags.iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned())),
        );
        if all.len() > MOST_TAGS {
            let why = format!(
                "{object} would have more than {MOST_TAGS} tags; remove some of the others"
            );
            return Err(S3Error::Refused(why));
        }
        let body = tagging(&all);
        // S3 asks for a checksum of these requests, and for a signature of such headers.
        let checksum = BASE64_STANDARD.encode(Sha256::digest(&body));
        let header = ("x-amz-checksum-sha256", checksum.as_str());
        let url = self.signed(Method::Put, object, Some("tagging"), &[header])?;
        let request = self.agent.put(url.as_str()).header(header.0, header.1);
        let answer = request.send(&body).map_err(|error| silent(&error))?;
        accepted(object, answer).map(drop)
    }

    fn tags(&self, object: &ObjectName) -> Result<Vec<(String, String)>, S3Error> {
        let mut answer = self.get(object, Some("tagging"))?;
        let body = answer.body_mut().with_config().limit(TAGS_BYTES);
        let xml = body.read_to_string().map_err(|_| incomplete())?;
        tags_in(&xml)
            .ok_or_else(|| S3Error::Unavailable("it answers with no list of tags".to_owned()))
    }

    fn get(&self, object: &ObjectName, of: Option<&str>) -> Result<Response<Body>, S3Error> {
        let url = self.signed(Method::Get, object, of, &[])?;
        let mut request = self.agent.get(url.as_str());
        if let (Some(etag), None) = (&object.etag, of) {
            request = request.header(IF_MATCH, etag);
        }
        let answer = request.call();
        accepted(object, answer.map_err(|error| silent(&error))?)
    }

    /// The address of a request about an object, or about a part `of` it, with its signature.
    fn signed(
        &self,
        method: Method,
        object: &ObjectName,
        of: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Result<Url, S3Error> {
        let mut url = self.bucket_of(object)?.object_url(&object.key);
        url.query_pairs_mut()
            .extend_pairs(of.map(|of| (of, "")))
            .extend_pairs(
                object
                    .version
                    .as_ref()
                    .map(|version| ("versionId", version)),
            );
        Ok(self.key.signed(method, &url, headers))
    }
}

/// An answer that has what was asked for.
fn accepted(object: &ObjectName, answer: Response<Body>) -> Result<Response<Body>, S3Error> {
    match answer.status() {
        status if status.is_success() => Ok(answer),
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            Err(S3Error::Refused(format!("there is no {object}")))
        }
        StatusCode::PRECONDITION_FAILED => Err(replaced(object)),
        status => Err(S3Error::Unavailable(format!(
            "the server of {object} answers {status}"
        ))),
    }
}

fn replaced(object: &ObjectName) -> S3Error {
    S3Error::Refused(format!(
        "{object} was replaced since; what it is now is checked when its own event comes"
    ))
}

fn silent(error: &ureq::Error) -> S3Error {
    S3Error::Unavailable(format!("the server of the bucket: {}", unanswered(error)))
}

fn incomplete() -> S3Error {
    S3Error::Unavailable("it did not arrive completely in time".to_owned())
}

/// The tags of an answer, if it is one.
fn tags_in(xml: &str) -> Option<Vec<(String, String)>> {
    let document = Document::parse(xml).ok()?;
    let set = named(document.root_element(), "TagSet").next()?;
    let tags = named(set, "Tag").map(|tag| {
        let text = |name| {
            let field = named(tag, name).next()?;
            Some(field.text().unwrap_or_default().to_owned())
        };
        Some((text("Key")?, text("Value")?))
    });
    tags.collect()
}

/// The children of an element that are called so, in any namespace.
fn named<'d, 'x>(node: Node<'d, 'x>, name: &'static str) -> impl Iterator<Item = Node<'d, 'x>> {
    let children = node.children();
    children.filter(move |child| child.tag_name().name() == name)
}

fn child<'d>(node: Node<'d, '_>, name: &'static str) -> Option<&'d str> {
    named(node, name).next()?.text()
}

fn tagging(tags: &[(String, String)]) -> String {
    let tags = tags.iter().map(|(name, value)| {
        let (name, value) = (escaped(name), escaped(value));
        format!("<Tag><Key>{name}</Key><Value>{value}</Value></Tag>")
    });
    let tags: String = tags.collect();
    format!(
        r#"<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet>{tags}</TagSet></Tagging>"#
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread::{self, JoinHandle};

    use super::{ObjectName, ObjectStore, S3Access, S3Error, tagging, tags_in};

    const VERDICT: (&str, &str) = ("lapidary-verdict", "free");

    /// A server that gives these answers, `ETag` and body, and tells what it was asked: the method, and the body.
    fn scripted(answers: Vec<(&'static str, String)>) -> (ObjectStore, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let serve = move || {
            let mut asked = Vec::new();
            for (etag, body) in answers {
                let (mut stream, _) = listener.accept().expect("a request");
                let mut reader = BufReader::new(stream.try_clone().expect("the same"));
                let (mut method, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).expect("a line");
                    let line = line.trim().to_ascii_lowercase();
                    if line.is_empty() {
                        break;
                    }
                    if let Some(value) = line.strip_prefix("content-length: ") {
                        length = value.parse().expect("a number");
                    }
                    if method.is_empty() {
                        method = line.split(' ').next().unwrap_or_default().to_owned();
                    }
                }
                let mut sent = vec![0; length];
                reader.read_exact(&mut sent).expect("a body");
                asked.push(format!("{method} {}", String::from_utf8_lossy(&sent)));
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nETag: \"{etag}\"\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                stream.write_all(answer.as_bytes()).expect("an answer");
            }
            asked
        };
        let store = ObjectStore::new(S3Access {
            endpoint: Some(endpoint),
            region: "us-east-1".to_owned(),
            key: "id:secret".to_owned(),
            buckets: vec!["b".to_owned()],
        });
        (store.expect("a store"), thread::spawn(serve))
    }

    fn set_of(tags: &[(&str, &str)]) -> String {
        let tags = tags.iter();
        let tags: Vec<_> = tags
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        tagging(&tags)
    }

    fn tag(store: &ObjectStore) -> Result<(), S3Error> {
        let object = ObjectName::new("b", "k").expect("a name");
        store.tag(&object.with_etag(Some("a")), &[VERDICT])
    }

    #[test]
    fn a_verdict_is_taken_back_from_what_replaced_an_object() {
        let owner = ("owner", "me");
        let (store, server) = scripted(vec![
            ("a", String::new()),
            ("a", set_of(&[owner])),
            ("a", String::new()),
            // Now it is another.
            ("b", String::new()),
            ("b", set_of(&[VERDICT, owner])),
            ("b", set_of(&[VERDICT, owner])),
            ("b", String::new()),
        ]);
        let error = tag(&store).expect_err("it was replaced").to_string();
        assert!(error.contains("replaced"), "{error}");
        let asked = server.join().expect("all was asked for");
        assert_eq!(asked[2], format!("put {}", set_of(&[owner, VERDICT])));
        assert_eq!(asked[6], format!("put {}", set_of(&[owner])));
    }

    #[test]
    fn the_verdict_of_the_next_event_stays() {
        let (store, server) = scripted(vec![
            ("a", String::new()),
            ("a", set_of(&[])),
            ("a", String::new()),
            ("b", String::new()),
            ("b", set_of(&[("lapidary-verdict", "protected")])),
        ]);
        tag(&store).expect_err("it was replaced");
        assert_eq!(server.join().expect("all was asked for").len(), 5);
    }

    #[test]
    fn an_object_that_was_replaced_before_gets_no_tags() {
        let (store, server) = scripted(vec![("b", String::new())]);
        tag(&store).expect_err("it was replaced");
        assert_eq!(server.join().expect("all was asked for"), ["head "]);
    }

    #[test]
    fn tags_are_read_as_they_were_written() {
        let tags = [
            ("of", "a & b"),
            ("<none>", ""),
            ("lapidary-verdict", "free"),
        ];
        let tags = tags.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(tags_in(&tagging(&tags)), Some(tags.to_vec()));
        assert_eq!(tags_in("<Tagging><TagSet/></Tagging>"), Some(Vec::new()));
        assert_eq!(tags_in("no list"), None);
    }

    #[test]
    fn names_of_objects() {
        for name in [
            "s3://b/k",
            "s3://b/a//k",
            "s3://b/.k",
            "s3://b/a b/Ж.txt",
            "s3://b/..a",
        ] {
            let named = name.parse::<ObjectName>().expect(name);
            assert_eq!(named.to_string(), name);
        }
        for name in [
            "s3://b",
            "s3://b/",
            "s3:///k",
            "s3://b/../c/k",
            "s3://b/./k",
            "s3://b/a\\..\\k",
        ] {
            assert!(name.parse::<ObjectName>().is_err(), "{name}");
        }
        let long = format!("s3://b/{}", "k".repeat(1_025));
        assert!(long.parse::<ObjectName>().is_err());
    }
}
