//! Buckets as sources: a page lists up to 1,000 objects (`ListObjectsV2`), and each object is a book.

use percent_encoding::percent_decode_str;
use roxmltree::Node;
use rusty_s3::{Bucket, UrlStyle};
use url::Url;

use super::super::kind::{Entries, Page};
use super::super::{Entry, Reason, Source};
use super::{INEXPRESSIBLE, child, is_expressible, named};
use lapidary_extract::rank;

/// The objects of a bucket whose keys begin alike, as the address of a source names them: `https://HOST/BUCKET/PREFIX`.
pub(in super::super) struct Prefix {
    bucket: Bucket,
    prefix: String,
}

impl Prefix {
    /// What a source names, or what is wrong with its address.
    pub(in super::super) fn of(source: &Source) -> Result<Self, String> {
        let address = &source.address;
        let wrong = || format!("{address:?} names no bucket: give https://HOST/BUCKET/PREFIX");
        let url = Url::parse(address).map_err(|_| wrong())?;
        let path = percent_decode_str(url.path());
        let path = path.decode_utf8().map_err(|_| wrong())?;
        let path = path.trim_start_matches('/');
        let (name, prefix) = path.split_once('/').unwrap_or((path, ""));
        if name.is_empty() || url.query().is_some() {
            return Err(wrong());
        }
        let (name, prefix) = (name.to_owned(), prefix.to_owned());
        let region = region_of(&url);
        let endpoint = url.join("/").map_err(|_| wrong())?;
        let bucket = Bucket::new(endpoint, UrlStyle::Path, name, region);
        Ok(Self {
            bucket: bucket.map_err(|_| wrong())?,
            prefix,
        })
    }

    pub(in super::super) fn region(&self) -> &str {
        self.bucket.region()
    }

    /// The address of the page that lists the objects behind a key, in the order of their keys.
    fn page(&self, after: Option<&str>) -> Entry {
        let mut url = self.bucket.base_url().clone();
        url.query_pairs_mut()
            .append_pair("encoding-type", "url")
            .append_pair("list-type", "2")
            .append_pair("prefix", &self.prefix)
            .extend_pairs(after.map(|key| ("start-after", key)));
        Entry::page(url)
    }

    /// An object that a page lists. What ends with `/` is a folder of a console.
    fn object(&self, node: Node<'_, '_>, key: String, page: &Page<'_>) -> Option<Entry> {
        if !is_expressible(&key) {
            return Some(Entry::unusable(key, Reason::Address, INEXPRESSIBLE));
        }
        let address = self.bucket.object_url(&key);
        if key.ends_with('/') || !page.source.takes(address.as_str()) {
            return None;
        }
        let Some(_) = rank(None, &key) else {
            let why = "nothing that is called so is a book";
            return Some(Entry::unusable(address, Reason::Format, why));
        };
        Some(Entry {
            id: Some(key),
            version: child(node, "ETag").map(ToOwned::to_owned),
            ..Entry::book(address)
        })
    }
}

pub(in super::super) fn begin(source: &Source) -> Result<Entry, String> {
    Ok(Prefix::of(source)?.page(None))
}

pub(in super::super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let prefix = Prefix::of(page.source)?;
    let document = page.document()?;
    let listed = document.root_element();
    let kind = listed.tag_name().name();
    if kind != "ListBucketResult" {
        return Err(format!("it is not a list of objects, but <{kind}>"));
    }
    let is_encoded = child(listed, "EncodingType") == Some("url");
    let (mut entries, mut end) = (Vec::new(), None);
    for object in named(listed, "Contents") {
        let key = child(object, "Key").ok_or("it lists an object without a key")?;
        let key = if is_encoded {
            decoded_key(key)
        } else {
            key.to_owned()
        };
        entries.extend(prefix.object(object, key.clone(), page));
        end = Some(key);
    }
    if child(listed, "IsTruncated") == Some("true") {
        let end = end.ok_or("it is not the whole list, and lists nothing")?;
        entries.push(prefix.page(Some(&end)));
    }
    Ok(Box::new(entries.into_iter().map(Ok)))
}

/// A key that is encoded as in a form.
#[must_use]
pub fn decoded_key(key: &str) -> String {
    let key = key.replace('+', " ");
    percent_decode_str(&key).decode_utf8_lossy().into_owned()
}

/// The region in the name of a host, such as `s3.eu-central-1.amazonaws.com`. Servers whose names have none take the usual one.
fn region_of(url: &Url) -> String {
    let parts: Vec<&str> = url.host_str().unwrap_or_default().split('.').collect();
    match parts[..] {
        ["s3", region, _, _, ..] => region.to_owned(),
        _ => "us-east-1".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::SourceKind;
    use super::super::super::kind::tests::source;
    use super::*;

    fn listed(address: &str, xml: &str) -> Result<Vec<Entry>, String> {
        let source = source(SourceKind::S3, address);
        let page = Page {
            source: &source,
            address,
            bytes: xml.as_bytes(),
            since: None,
        };
        entries(&page)?.collect()
    }

    #[test]
    fn a_list_leads_to_objects_and_to_the_next_page() {
        let xml = r#"<?xml version="1.0"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
            <Contents><Key>n/</Key><ETag>"0"</ETag></Contents>
            <Contents><Key>n/a+b%2B%D0%96.epub</Key><ETag>"1"</ETag></Contents>
            <Contents><Key>n/cover.jpg</Key><ETag>"2"</ETag></Contents>
            </ListBucketResult>"#;
        let found = listed("https://s3.example/books/n/", xml).expect("a list");
        let address = "https://s3.example/books/n/a%20b%2B%D0%96.epub";
        assert_eq!(found[0].address, address);
        assert_eq!(found[0].id.as_deref(), Some("n/a b+Ж.epub"));
        assert_eq!(found[0].version.as_deref(), Some("\"1\""));
        assert!(found[1].unusable.is_some());
        let next = "https://s3.example/books/?encoding-type=url&list-type=2&prefix=n%2F&start-after=n%2Fcover.jpg";
        assert!(found[2].page);
        assert_eq!(found[2].address, next);
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn no_key_leads_out_of_the_bucket() {
        for key in [
            "../other/secret.txt",
            "n/../../other/secret.txt",
            "n/./a.txt",
        ] {
            let xml = format!(
                "<ListBucketResult><Contents><Key>{key}</Key></Contents></ListBucketResult>"
            );
            let found = listed("https://s3.example/books", &xml).expect("a list");
            let why = found[0].unusable.as_ref().expect("a reason");
            assert_eq!(why.reason, Reason::Address, "{key}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let address = "https://s3.example/books";
        for xml in [
            "<Error><Code>AccessDenied</Code></Error>",
            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
            "<ListBucketResult><Contents/></ListBucketResult>",
            "a page",
        ] {
            assert!(listed(address, xml).is_err(), "{xml}");
        }
        assert_eq!(listed(address, "<ListBucketResult/>"), Ok(Vec::new()));
        for address in [
            "https://s3.example",
            "https://s3.example/",
            "https://s3.example/b?prefix=n",
        ] {
            assert!(
                Prefix::of(&source(SourceKind::S3, address)).is_err(),
                "{address}"
            );
        }
    }

    #[test]
    fn keys_are_encoded_as_in_a_form() {
        for (key, expected) in [
            ("a+b%2Bc", "a b+c"),
            ("%D0%96/1.txt", "Ж/1.txt"),
            ("100%", "100%"),
        ] {
            assert_eq!(decoded_key(key), expected);
        }
    }

    #[test]
    fn regions_are_read_from_hosts() {
        for (host, region) in [
            ("s3.eu-central-1.amazonaws.com", "eu-central-1"),
            ("s3.us-west-004.backblazeb2.com", "us-west-004"),
            ("s3.amazonaws.com", "us-east-1"),
            ("minio.example.org", "us-east-1"),
            ("127.0.0.1", "us-east-1"),
        ] {
            let url = Url::parse(&format!("https://{host}/b")).expect("a URL");
            assert_eq!(region_of(&url), region, "{host}");
        }
    }
}
