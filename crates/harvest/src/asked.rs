//! What a catalogue asks for that lets nobody in without credentials: an Authentication Document for OPDS 1.0.

use serde::Deserialize;

/// The media type of such a document.
pub(super) const MEDIA_TYPE: &str = "application/opds-authentication+json";
/// How much of one is read.
pub(super) const MOST: u64 = 64 << 10;
/// How many characters of its own words are shown.
const SHOWN: usize = 200;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    title: String,
    description: Option<String>,
    authentication: Vec<Way>,
}

#[derive(Deserialize)]
struct Way {
    #[serde(rename = "type")]
    kind: String,
}

/// What the catalogue asks for, in words.
pub(super) fn asked(document: &[u8]) -> Option<String> {
    let Document {
        title,
        description,
        authentication,
    } = serde_json::from_slice(document).ok()?;
    let ways: Vec<String> = authentication.iter().map(Way::words).collect();
    let ways = if ways.is_empty() {
        "it does not say what".to_owned()
    } else {
        ways.join(", or ")
    };
    let said = description
        .map(|said| format!(" ({:?})", shown(&said)))
        .unwrap_or_default();
    Some(format!(
        "{:?} asks for credentials{said}: {ways}",
        shown(&title)
    ))
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

impl Way {
    fn words(&self) -> String {
        match self.kind.strip_prefix("http://opds-spec.org/auth/") {
            Some("basic") => "a user name and a password, as USER:PASSWORD".to_owned(),
            Some("oauth/implicit" | "oauth/password") => "a token (OAuth)".to_owned(),
            Some("local") => "to be in its own network".to_owned(),
            _ => format!("{:?}, which is not supported", shown(&self.kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::asked;

    #[test]
    fn what_a_catalogue_asks_for() {
        let way = |kind: &str| json!({"type": kind, "labels": {"login": "Card"}});
        let basic = way("http://opds-spec.org/auth/basic");
        let implicit = way("http://opds-spec.org/auth/oauth/implicit");
        let document = json!({"id": "x", "title": "Public Library", "description": "Enter your card", "authentication": [basic, implicit]});
        let words = "\"Public Library\" asks for credentials (\"Enter your card\"): a user name and a password, as USER:PASSWORD, or a token (OAuth)";
        assert_eq!(
            asked(document.to_string().as_bytes()).as_deref(),
            Some(words)
        );
        let other = json!({"title": "L\u{1b}", "authentication": [way("urn:other")]});
        let words = "\"L\\u{1b}\" asks for credentials: \"urn:other\", which is not supported";
        assert_eq!(asked(other.to_string().as_bytes()).as_deref(), Some(words));
        assert_eq!(asked(b"<html>"), None);
    }
}
