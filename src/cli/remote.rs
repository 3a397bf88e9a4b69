//! A client for a running server: makes the HTTP calls, and turns the server's problems into messages.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;
use std::{env, thread};

use lapidary_gems::RecipeName;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::http::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use ureq::http::{Request, StatusCode};
use ureq::middleware::MiddlewareNext;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body, SendBody};

use super::access::Access;
use super::failure::Failure;
use super::tls;
use crate::api::{AuditPage, Job, Key, MadeKey, NewKey, Task};
use crate::catalogue::{
    Added, AllowList, Allowable, Amendment, CheckOptions, Content, MadeWebhook, NewEntry, Page, Query, Report, Stats,
    Webhook,
};
use crate::index::{AuditFrom, BookId, BookKey, Library, Record, Watch};

/// The largest response to read: a report may name many books.
const ANSWER_BYTES: u64 = 256 << 20;

/// The environment variable with the API key. It is not an argument, because other users of the machine can read those.
const KEY_VARIABLE: &str = "LAPIDARY_KEY";

/// The environment variable with a file of certificates to trust instead of the public authorities: those that sign the
/// server's certificate, or the certificate itself.
const AUTHORITY_VARIABLE: &str = "LAPIDARY_CA";

/// How often to resend a book when the server asks to wait, and the longest wait.
const ATTEMPTS: u32 = 20;
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A running server.
pub(super) struct Remote {
    /// Without a trailing slash.
    url: String,
    agent: Agent,
}

#[derive(Deserialize)]
struct Jobs {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Recut {
    added: Vec<RecipeName>,
}

type Answer = Result<ureq::http::Response<Body>, ureq::Error>;

impl Remote {
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let sentence =
                format!("--server {url}: give the server's address as http://HOST:PORT or https://HOST:PORT");
            return Err(Failure::Input(sentence));
        }
        let mut config = Agent::config_builder().http_status_as_error(false);
        if let Ok(key) = env::var(KEY_VARIABLE) {
            let bearer = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut bearer = bearer.map_err(|_| Failure::Input(format!("{KEY_VARIABLE} is not a valid key")))?;
            bearer.set_sensitive(true);
            config = config.middleware(move |mut request: Request<SendBody>, next: MiddlewareNext| {
                request.headers_mut().insert(AUTHORIZATION, bearer.clone());
                next.handle(request)
            });
        }
        let agent = match env::var_os(AUTHORITY_VARIABLE) {
            None => config.build().into(),
            Some(file) => {
                let wrong = |why| Failure::Input(format!("{AUTHORITY_VARIABLE}: {why}"));
                let connector = tls::connector(Path::new(&file)).map_err(wrong)?;
                Agent::with_parts(config.build(), connector, DefaultResolver::default())
            }
        };
        Ok(Self { url: url.trim_end_matches('/').to_owned(), agent })
    }

    fn path(&self, library: &Library, id: Option<&BookId>) -> String {
        let encoded = |name: &str| utf8_percent_encode(name, NON_ALPHANUMERIC).to_string();
        let id = id.map(|id| format!("/{}", encoded(id.as_str()))).unwrap_or_default();
        format!("{}/v1/libraries/{}/books{id}", self.url, encoded(library.as_str()))
    }

    /// Imports an export into the server. Returns its number of books.
    pub(super) fn import(&self, export: &mut dyn Read) -> Result<u64, Failure> {
        #[derive(Deserialize)]
        struct Imported {
            books: u64,
        }
        let request = self.agent.post(format!("{}/v1/import", self.url)).content_type("application/x-ndjson");
        let sent = request.send(SendBody::from_reader(&mut { export }));
        let Imported { books } = self.parsed(self.read(sent)?)?;
        Ok(books)
    }

    fn webhook_path(&self, library: &Library) -> String {
        format!("{}/v1/libraries/{}/webhook", self.url, utf8_percent_encode(library.as_str(), NON_ALPHANUMERIC))
    }

    fn allow_path(&self, name: &BookId) -> String {
        format!("{}/v1/allow/{}", self.url, utf8_percent_encode(name.as_str(), NON_ALPHANUMERIC))
    }

    /// The status and body of a response, or why there is none.
    fn read(&self, answer: Answer) -> Result<(StatusCode, String), Failure> {
        let failed = |e: ureq::Error| {
            Failure::Failed(format!("no answer from {}: {e}; is `lapidary serve` running there?", self.url))
        };
        let mut answer = answer.map_err(failed)?;
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_string().map_err(failed)?;
        Ok((answer.status(), body))
    }

    fn parsed<T: DeserializeOwned>(&self, (status, body): (StatusCode, String)) -> Result<T, Failure> {
        if status.is_success() {
            let parsed = serde_json::from_str(&body);
            return parsed
                .map_err(|e| Failure::Failed(format!("{} is not a Lapidary server of this version: {e}", self.url)));
        }
        let problem: Value = serde_json::from_str(&body).unwrap_or_default();
        if status == StatusCode::UNAUTHORIZED {
            return Err(Failure::Input(self.unauthorized(problem["code"].as_str().unwrap_or_default())));
        }
        let detail = problem["detail"].as_str().map_or_else(|| status.to_string(), str::to_owned);
        Err(if status.is_client_error() { Failure::Input(detail) } else { Failure::Failed(detail) })
    }

    /// Why the server refused access. The server's own message is about headers, which users of this command do not set.
    fn unauthorized(&self, code: &str) -> String {
        let why = match code {
            "no_key" => "requires a key, and none is set",
            "key_expired" => "says that the key has expired",
            _ => "does not know the key",
        };
        format!("{} {why}: set {KEY_VARIABLE} to a key from its administrator (lapidary keys add)", self.url)
    }

    /// Like [`Remote::parsed`], with `None` for 404.
    fn found<T: DeserializeOwned>(&self, answer: Answer) -> Result<Option<T>, Failure> {
        let read = self.read(answer)?;
        if read.0 == StatusCode::NOT_FOUND { Ok(None) } else { self.parsed(read).map(Some) }
    }
}

/// How long the server asks to wait when it is overloaded or a rate limit is exceeded; `None` if that is too long.
fn retry_after(answer: &ureq::http::Response<Body>) -> Option<Duration> {
    let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&answer.status());
    let seconds = answer.headers().get(RETRY_AFTER).filter(|_| busy)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds)).filter(|wait| *wait <= LONGEST_WAIT)
}

/// Adds the `clean` option to a body with a text, if it is given.
fn with_clean(mut body: Value, clean: Option<bool>) -> Value {
    if let Some(clean) = clean {
        body["clean"] = clean.into();
    }
    body
}

impl Access for Remote {
    fn check(&self, query: &Query, options: &CheckOptions) -> Result<Report, Failure> {
        let mut body = match query {
            Query::Text { text, clean } => with_clean(json!({ "text": text }), *clean),
            Query::Gems(gems) => json!({ "gems": gems }),
        };
        body["limit"] = options.limit.into();
        body["detail"] = options.detail.into();
        if let Some(recipe) = &options.recipe {
            body["recipe"] = recipe.as_str().into();
        }
        if let Some(day) = options.day {
            body["day"] = json!(day);
        }
        if let Some(library) = &options.library {
            body["library"] = library.as_str().into();
        }
        if options.allow_incomplete {
            body["allow_incomplete"] = true.into();
        }
        self.parsed(self.read(self.agent.post(format!("{}/v1/checks", self.url)).send_json(body))?)
    }

    fn add(&self, entry: NewEntry) -> Result<Added, Failure> {
        let mut body = json!({ "rights": entry.rights, "authors": entry.authors, "identifiers": entry.identifiers });
        if let Some(title) = entry.title {
            body["title"] = title.into();
        }
        if let Some(validity) = entry.validity {
            body["validity"] = json!(validity);
        }
        if let Some(language) = entry.language {
            body["language"] = language.into();
        }
        if entry.allow_empty {
            body["allow_empty"] = true.into();
        }
        match entry.content {
            Content::Text { text, clean } => {
                body["text"] = text.into();
                body = with_clean(body, clean);
            }
            Content::Gems { recipe, gems } => {
                body["gems"] = json!(gems);
                if let Some(recipe) = recipe {
                    body["recipe"] = recipe.as_str().into();
                }
            }
        }
        let path = self.path(&entry.key.library, Some(&entry.key.id));
        for _ in 0..ATTEMPTS {
            let answer = self.agent.put(&path).send_json(&body);
            match answer.as_ref().ok().and_then(retry_after) {
                Some(wait) => thread::sleep(wait),
                None => return self.parsed(self.read(answer)?),
            }
        }
        self.parsed(self.read(self.agent.put(path).send_json(body))?)
    }

    fn book(&self, key: &BookKey) -> Result<Option<Record>, Failure> {
        self.found(self.agent.get(self.path(&key.library, Some(&key.id))).call())
    }

    fn amend(&self, key: &BookKey, amendment: &Amendment) -> Result<Option<Record>, Failure> {
        self.found(self.agent.patch(self.path(&key.library, Some(&key.id))).send_json(amendment))
    }

    fn allow(&self, name: BookId, what: Allowable, note: Option<String>) -> Result<AllowList, Failure> {
        let mut body = match what {
            Allowable::Book(book) => json!({ "book": book }),
            Allowable::Gems(Content::Text { text, clean }) => with_clean(json!({ "text": text }), clean),
            Allowable::Gems(Content::Gems { recipe, gems }) => match recipe {
                Some(recipe) => json!({ "gems": gems, "recipe": recipe }),
                None => json!({ "gems": gems }),
            },
        };
        if let Some(note) = note {
            body["note"] = note.into();
        }
        self.parsed(self.read(self.agent.put(self.allow_path(&name)).send_json(body))?)
    }

    fn allow_lists(&self) -> Result<Vec<AllowList>, Failure> {
        #[derive(Deserialize)]
        struct Lists {
            allow: Vec<AllowList>,
        }
        let Lists { allow } = self.parsed(self.read(self.agent.get(format!("{}/v1/allow", self.url)).call())?)?;
        Ok(allow)
    }

    fn disallow(&self, name: &BookId) -> Result<bool, Failure> {
        let (status, body) = self.read(self.agent.delete(self.allow_path(name)).call())?;
        match status {
            StatusCode::NO_CONTENT => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => self.parsed((status, body)),
        }
    }

    fn remove(&self, key: &BookKey) -> Result<bool, Failure> {
        let (status, body) = self.read(self.agent.delete(self.path(&key.library, Some(&key.id))).call())?;
        match status {
            StatusCode::NO_CONTENT => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => self.parsed((status, body)),
        }
    }

    fn books(&self, library: &Library, cursor: Option<&BookId>, limit: usize) -> Result<Page, Failure> {
        let mut request = self.agent.get(self.path(library, None)).query("limit", limit.to_string());
        if let Some(cursor) = cursor {
            request = request.query("cursor", cursor.as_str());
        }
        self.parsed(self.read(request.call())?)
    }

    fn keys(&self) -> Result<Vec<Key>, Failure> {
        #[derive(Deserialize)]
        struct All {
            keys: Vec<Key>,
        }
        let all: All = self.parsed(self.read(self.agent.get(format!("{}/v1/keys", self.url)).call())?)?;
        Ok(all.keys)
    }

    fn add_key(&self, new: NewKey) -> Result<MadeKey, Failure> {
        self.parsed(self.read(self.agent.post(format!("{}/v1/keys", self.url)).send_json(new))?)
    }

    fn rotate_key(&self, name: &str, overlap_seconds: u32) -> Result<MadeKey, Failure> {
        let path = format!("{}/v1/keys/{}/rotate", self.url, utf8_percent_encode(name, NON_ALPHANUMERIC));
        let body = json!({ "overlap_seconds": overlap_seconds });
        self.parsed(self.read(self.agent.post(path).send_json(body))?)
    }

    fn revoke_key(&self, name: &str) -> Result<bool, Failure> {
        let path = format!("{}/v1/keys/{}", self.url, utf8_percent_encode(name, NON_ALPHANUMERIC));
        let (status, body) = self.read(self.agent.delete(path).call())?;
        match status {
            StatusCode::NO_CONTENT => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => self.parsed((status, body)),
        }
    }

    fn webhooks(&self) -> Result<Vec<Webhook>, Failure> {
        #[derive(Deserialize)]
        struct All {
            webhooks: Vec<Webhook>,
        }
        let all: All = self.parsed(self.read(self.agent.get(format!("{}/v1/webhooks", self.url)).call())?)?;
        Ok(all.webhooks)
    }

    fn set_webhook(&self, library: Library, url: String) -> Result<MadeWebhook, Failure> {
        self.parsed(self.read(self.agent.put(self.webhook_path(&library)).send_json(json!({ "url": url })))?)
    }

    fn remove_webhook(&self, library: &Library) -> Result<bool, Failure> {
        let (status, body) = self.read(self.agent.delete(self.webhook_path(library)).call())?;
        match status {
            StatusCode::NO_CONTENT => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => self.parsed((status, body)),
        }
    }

    fn audit(&self, from: AuditFrom, limit: usize) -> Result<AuditPage, Failure> {
        let request = self.agent.get(format!("{}/v1/audit", self.url)).query("limit", limit.to_string());
        let request = match from {
            AuditFrom::Behind(number) => request.query("after", number.to_string()),
            AuditFrom::Time(time) => request.query("since", time.to_string()),
        };
        self.parsed(self.read(request.call())?)
    }

    fn stats(&self) -> Result<Stats, Failure> {
        self.parsed(self.read(self.agent.get(format!("{}/v1/stats", self.url)).call())?)
    }

    fn start(&self, task: Task) -> Result<Job, Failure> {
        self.parsed(self.read(self.agent.post(format!("{}/v1/jobs", self.url)).send_json(task))?)
    }

    fn jobs(&self) -> Result<Vec<Job>, Failure> {
        let Jobs { jobs } = self.parsed(self.read(self.agent.get(format!("{}/v1/jobs", self.url)).call())?)?;
        Ok(jobs)
    }

    fn job(&self, id: u32) -> Result<Job, Failure> {
        self.parsed(self.read(self.agent.get(format!("{}/v1/jobs/{id}", self.url)).call())?)
    }

    fn cancel(&self, id: u32) -> Result<Job, Failure> {
        self.parsed(self.read(self.agent.delete(format!("{}/v1/jobs/{id}", self.url)).call())?)
    }

    fn recut(&self, key: &BookKey, text: &str) -> Result<Vec<RecipeName>, Failure> {
        let path = self.path(&key.library, Some(&key.id)).replacen("/books/", "/recut/", 1);
        let request = self.agent.post(path).content_type("text/plain; charset=utf-8");
        let Recut { added } = self.parsed(self.read(request.send(text))?)?;
        Ok(added)
    }

    fn export(&self, out: &mut dyn Write, _: Watch<'_>) -> Result<(), Failure> {
        let failed = |e: ureq::Error| {
            Failure::Failed(format!("no answer from {}: {e}; is `lapidary serve` running there?", self.url))
        };
        let mut answer = self.agent.get(format!("{}/v1/export", self.url)).call().map_err(failed)?;
        if !answer.status().is_success() {
            return self.parsed(self.read(Ok(answer))?);
        }
        let copied = io::copy(&mut answer.body_mut().as_reader(), out);
        copied.and_then(|_| out.flush()).map_err(|e| match e.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::Failed(format!("the export was interrupted: {e}")),
        })
    }

    fn settle(&self) {}
}
