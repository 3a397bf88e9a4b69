//! Where an operation is, who may call it, and what there is to know about it.

use lapidary_catalogue::permission::Permission;
use utoipa::openapi::path::HttpMethod;

/// What a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: the call is public.
    Nothing,
    /// Any valid key.
    AnyKey,
    /// A key that can check.
    Check,
    /// The same, unless the settings open it to all: existing clients send no key.
    CheckUnlessOpen,
    /// A key that can check or review.
    Decisions,
    /// A key that can read the kept texts of the library in the path.
    Texts,
    /// A key that can follow the library in the path.
    Follow,
    /// A key that can ingest into the library in the path, or follow it.
    Read,
    /// A key that can ingest into the library in the path.
    Ingest,
    /// A key that can ingest. The call shows only what its libraries have.
    AnyIngest,
    /// An administrator's key.
    Admin,
}

impl Needs {
    /// The permissions of which a key needs one; none if any key will do. `None` if no key is needed.
    #[must_use]
    pub fn permissions(self) -> Option<&'static [Permission]> {
        match self {
            Self::Nothing => None,
            Self::AnyKey => Some(&[]),
            Self::Check | Self::CheckUnlessOpen => Some(&[Permission::Check]),
            Self::Decisions => Some(&[Permission::Check, Permission::Review]),
            Self::Texts => Some(&[Permission::ReadTexts]),
            Self::Follow => Some(&[Permission::Follow]),
            Self::Read => Some(&[Permission::Ingest, Permission::Follow]),
            Self::Ingest | Self::AnyIngest => Some(&[Permission::Ingest]),
            Self::Admin => Some(&[Permission::Administer]),
        }
    }

    /// Whether the library in the path must be one of the key.
    #[must_use]
    pub fn library_of_path(self) -> bool {
        matches!(self, Self::Texts | Self::Follow | Self::Read | Self::Ingest)
    }
}

/// The declaration of an operation.
#[derive(Clone)]
pub struct Endpoint {
    /// Its HTTP method.
    pub method: HttpMethod,
    /// Its path, as the router matches it: `{name:.*}` is the rest of the path, which may contain slashes.
    pub path: &'static str,
    /// Who may call it.
    pub needs: Needs,
    /// Its name in generated clients.
    pub id: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// What else there is to know about it.
    pub about: Option<&'static str>,
    /// The statuses of its answers, with what they say; the usual one first.
    pub answers: &'static [(u16, &'static str)],
}

impl Endpoint {
    /// A call that shows something.
    #[must_use]
    pub const fn get(path: &'static str, needs: Needs) -> Self {
        Self::new(HttpMethod::Get, path, needs)
    }

    /// A call that creates or starts something.
    #[must_use]
    pub const fn post(path: &'static str, needs: Needs) -> Self {
        Self::new(HttpMethod::Post, path, needs)
    }

    /// A call that sets something.
    #[must_use]
    pub const fn put(path: &'static str, needs: Needs) -> Self {
        Self::new(HttpMethod::Put, path, needs)
    }

    /// A call that changes parts of something.
    #[must_use]
    pub const fn patch(path: &'static str, needs: Needs) -> Self {
        Self::new(HttpMethod::Patch, path, needs)
    }

    /// A call that removes or ends something.
    #[must_use]
    pub const fn delete(path: &'static str, needs: Needs) -> Self {
        Self::new(HttpMethod::Delete, path, needs)
    }

    const fn new(method: HttpMethod, path: &'static str, needs: Needs) -> Self {
        Self {
            method,
            path,
            needs,
            id: "",
            summary: "",
            about: None,
            answers: &[],
        }
    }

    /// Its name in generated clients, and what it does.
    #[must_use]
    pub const fn named(mut self, id: &'static str, summary: &'static str) -> Self {
        self.id = id;
        self.summary = summary;
        self
    }

    /// What else there is to know about it.
    #[must_use]
    pub const fn about(mut self, about: &'static str) -> Self {
        self.about = Some(about);
        self
    }

    /// The statuses of its answers, with what they say; the usual one first.
    #[must_use]
    pub const fn answers(mut self, answers: &'static [(u16, &'static str)]) -> Self {
        self.answers = answers;
        self
    }

    /// The segments of a path, still encoded, that the placeholders stand for.
    #[must_use]
    pub fn segments<'p>(&self, path: &'p str) -> Vec<&'p str> {
        let (mut rest, mut found) = (path, Vec::new());
        for part in self.path.split('/') {
            if part.ends_with(":.*}") {
                found.push(rest);
                break;
            }
            let (segment, after) = rest.split_once('/').unwrap_or((rest, ""));
            if part.starts_with('{') {
                found.push(segment);
            }
            rest = after;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_stand_for_segments() {
        let table: [(&str, &str, &[&str]); 5] = [
            ("/v1/keys", "/v1/keys", &[]),
            (
                "/v1/keys/{name}/rotate",
                "/v1/keys/a%2Fb/rotate",
                &["a%2Fb"],
            ),
            ("/v1/allow-lists/{name:.*}", "/v1/allow-lists/a/b", &["a/b"]),
            ("/v1/allow-lists/{name:.*}", "/v1/allow-lists/", &[""]),
            (
                "/v1/libraries/{library}/books/{id:.*}",
                "/v1/libraries/mine/books/1/2/",
                &["mine", "1/2/"],
            ),
        ];
        for (template, path, segments) in table {
            let endpoint = Endpoint::get(template, Needs::Nothing);
            assert_eq!(endpoint.segments(path), segments, "{template} {path}");
        }
    }
}
