//! Conditional requests (RFC 9110, section 13): the headers `If-Match` and `If-None-Match`, which calls on what can be changed take. All
//! other calls refuse them, because a client that sends one counts on it.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};

use crate::server::problem::Problem;
use lapidary_common::error::ErrorCode;
use lapidary_store::{Condition, Keeps, Versions};

/// The condition in the headers of a request.
pub(crate) fn of(headers: &HeaderMap) -> Result<Condition, Problem> {
    // A weak tag says that two versions are as good as equal, which is not enough to change one of them.
    let among = versions(headers, &IF_MATCH, |tag| !tag.is_weak)?;
    let not_among = versions(headers, &IF_NONE_MATCH, |_| true)?;
    Ok(Condition {
        among,
        not_among,
        keeps: Keeps::default(),
    })
}

/// A condition on versions alone, for a change: a tag may also name what was shown beside the version
/// ([`Answer::if_wanted`](crate::server::work::Answer::if_wanted)).
pub(crate) fn of_versions(condition: Condition) -> Condition {
    Condition {
        among: condition.among.map(without_shown),
        not_among: condition.not_among.map(without_shown),
        keeps: condition.keeps,
    }
}

fn without_shown(versions: Versions) -> Versions {
    match versions {
        Versions::Any => Versions::Any,
        Versions::Tagged(tags) => {
            Versions::Tagged(tags.iter().map(|tag| version_of(tag)).collect())
        }
    }
}

/// The version in a tag, without what was shown beside it.
fn version_of(tag: &str) -> String {
    tag.split('.').next().unwrap_or_default().to_owned()
}

/// Refuses a condition.
pub(crate) fn none(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(name) = [IF_MATCH, IF_NONE_MATCH]
        .into_iter()
        .find(|name| headers.contains_key(name))
    else {
        return Ok(());
    };
    let detail = format!(
        "this call takes no '{name}', only those on a single thing that can be changed do; leave the header out"
    );
    Err(Problem::new(ErrorCode::NoPreconditions, detail))
}

/// An entity tag.
struct Tag {
    is_weak: bool,
    opaque: String,
}

fn versions(
    headers: &HeaderMap,
    name: &HeaderName,
    counts: fn(&Tag) -> bool,
) -> Result<Option<Versions>, Problem> {
    let lines: Vec<&[u8]> = headers.get_all(name).map(HeaderValue::as_bytes).collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let joined = lines.join(&b","[..]);
    if joined.trim_ascii() == b"*" {
        return Ok(Some(Versions::Any));
    }
    let tags = tags(&joined)
        .filter(|tags| !tags.is_empty())
        .ok_or_else(|| {
            let detail = format!(
                "'{name}' is neither * nor a list of entity tags, such as \"5f2a\", \"77c1\""
            );
            Problem::new(ErrorCode::BadPrecondition, detail)
        })?;
    Ok(Some(Versions::Tagged(
        tags.into_iter()
            .filter(counts)
            .map(|tag| tag.opaque)
            .collect(),
    )))
}

/// The entity tags of a list, in which elements may be missing.
fn tags(mut rest: &[u8]) -> Option<Vec<Tag>> {
    let mut tags = Vec::new();
    loop {
        rest = rest.trim_ascii_start();
        match rest {
            [] => return Some(tags),
            [b',', after @ ..] => {
                rest = after;
                continue;
            }
            _ => {}
        }
        let (is_weak, quoted) = rest
            .strip_prefix(b"W/")
            .map_or((false, rest), |quoted| (true, quoted));
        let inside = quoted.strip_prefix(b"\"")?;
        let (opaque, after) = inside.split_at(memchr::memchr(b'"', inside)?);
        if opaque.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
            return None;
        }
        tags.push(Tag {
            is_weak,
            opaque: String::from_utf8_lossy(opaque).into_owned(),
        });
        rest = after[1..].trim_ascii_start();
        if !matches!(rest, [] | [b',', ..]) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    #[test]
    fn lists_of_tags_are_read() {
        let tagged = |tags: &[&str]| {
            Some(Versions::Tagged(
                tags.iter().map(|&tag| tag.to_owned()).collect(),
            ))
        };
        let table: [(&[&str], _, _); 9] = [
            (&["*"], Some(Versions::Any), Some(Versions::Any)),
            (&[" * "], Some(Versions::Any), Some(Versions::Any)),
            (&["\"a\""], tagged(&["a"]), tagged(&["a"])),
            (&["\"\""], tagged(&[""]), tagged(&[""])),
            (
                &["\"a,b\" , ,W/\"c\","],
                tagged(&["a,b"]),
                tagged(&["a,b", "c"]),
            ),
            (&["W/\"a\""], tagged(&[]), tagged(&["a"])),
            (
                &["\"a\"", "\"b\""],
                tagged(&["a", "b"]),
                tagged(&["a", "b"]),
            ),
            (&["\"*\""], tagged(&["*"]), tagged(&["*"])),
            (&[], None, None),
        ];
        for (lines, among, not_among) in table {
            let found = of(&headers(&IF_MATCH, lines)).unwrap();
            assert_eq!(
                found,
                Condition {
                    among,
                    ..Condition::default()
                },
                "{lines:?}"
            );
            let found = of(&headers(&IF_NONE_MATCH, lines)).unwrap();
            assert_eq!(
                found,
                Condition {
                    not_among,
                    ..Condition::default()
                },
                "{lines:?}"
            );
        }
    }

    #[test]
    fn what_is_no_list_of_tags_is_refused() {
        let table = [
            "",
            ",",
            "a",
            "\"a",
            "a\"",
            "\"a\"b",
            "\"a\" \"b\"",
            "w/\"a\"",
            "W/ \"a\"",
            "W/a",
            "*, \"a\"",
            "**",
            "\"a b\"",
        ];
        for line in table {
            for name in [IF_MATCH, IF_NONE_MATCH] {
                let found = of(&headers(&name, &[line])).err();
                assert_eq!(
                    found.as_ref().map(Problem::code),
                    Some("bad_precondition"),
                    "{line}"
                );
            }
        }
        let twice = of(&headers(&IF_MATCH, &["*", "*"]));
        assert_eq!(
            twice.err().as_ref().map(Problem::code),
            Some("bad_precondition")
        );
    }
}
