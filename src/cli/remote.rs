//! A client for a running server: makes the HTTP calls, and turns the server's problems into messages.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;
use std::{env, thread};

use lapidary_catalogue::api::{
    Added, Check, Imported, NewBook, Problem, RecipeStats, RecutResult, Report,
};
use lapidary_catalogue::client::unanswered;
use lapidary_catalogue::{BookGems, CheckOptions, Content, NewEntry, Query, Recipes, TextGems};
use lapidary_common::description::Description;
use lapidary_common::error::ErrorCode;
use lapidary_gems::{Recipe, WrittenGem};
use lapidary_language::Language;
use lapidary_operations::{
    self as operations, Answer as _, Operation, PathParameters as _, filled,
};
use lapidary_store::BookKey;
use serde::de::DeserializeOwned;
use ureq::http::header::{ACCEPT_LANGUAGE, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use ureq::http::{Request, StatusCode};
use ureq::middleware::MiddlewareNext;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body, SendBody};

use super::failure::Failure;
use super::tls;

/// The largest response to read: a report may name many books.
const ANSWER_BYTES: u64 = 256 << 20;

/// The environment variable with the API key. It is not an argument, because other users of the machine can read those.
const KEY_VARIABLE: &str = "LAPIDARY_KEY";

/// The environment variable with a file of certificates to trust instead of the public authorities: those that sign the
/// server's certificate, or the certificate itself.
const AUTHORITY_VARIABLE: &str = "LAPIDARY_CA";

/// How often to resend a request when the server asks to wait, and the longest wait.
const ATTEMPTS: u32 = 20;
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// A running server.
pub(super) struct Remote {
    /// Without a trailing slash.
    url: String,
    agent: Agent,
}

type Answer = Result<ureq::http::Response<Body>, ureq::Error>;

impl Remote {
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let sentence = format!(
                "--server {url}: give the server's address as http://HOST:PORT or https://HOST:PORT"
            );
            return Err(Failure::Input(sentence));
        }
        let mut config = Agent::config_builder().http_status_as_error(false);
        if let Ok(key) = env::var(KEY_VARIABLE) {
            let bearer = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut bearer =
                bearer.map_err(|_| Failure::Input(format!("{KEY_VARIABLE} is not a valid key")))?;
            bearer.set_sensitive(true);
            config = config.middleware(
                move |mut request: Request<SendBody>, next: MiddlewareNext| {
                    request.headers_mut().insert(AUTHORIZATION, bearer.clone());
                    next.handle(request)
                },
            );
        }
        let agent = match env::var_os(AUTHORITY_VARIABLE) {
            None => config.build().into(),
            Some(file) => {
                let connector = tls::connector(Path::new(&file))
                    .map_err(|why| Failure::Input(format!("{AUTHORITY_VARIABLE}: {why}")))?;
                Agent::with_parts(config.build(), connector, DefaultResolver::default())
            }
        };
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            agent,
        })
    }

    /// Imports an export into the server.
    pub(super) fn import(&self, export: &mut dyn Read) -> Result<Imported, Failure> {
        let request = self
            .agent
            .post(self.at("/v1/import"))
            .content_type("application/x-ndjson");
        let sent = request.send(SendBody::from_reader(&mut { export }));
        self.parsed(self.read(sent)?)
    }

    /// Calls an operation.
    pub(super) fn call<O: Operation>(
        &self,
        path: &O::Path,
        input: &O::Input,
    ) -> Result<O::Answer, Failure> {
        self.call_in::<O>(Language::default(), path, input)
    }

    /// Calls an operation whose answer has sentences in this language.
    pub(super) fn call_in<O: Operation>(
        &self,
        language: Language,
        path: &O::Path,
        input: &O::Input,
    ) -> Result<O::Answer, Failure> {
        let operations::Request {
            method,
            target,
            body,
        } = operations::Request::of::<O>(&path.segments(), input);
        let request = Request::builder()
            .method(method)
            .uri(self.at(&target))
            .header(ACCEPT_LANGUAGE, language.tag());
        let sent = if let Some(json) = body {
            let request = request.header(CONTENT_TYPE, "application/json").body(json);
            request
                .map_err(Into::into)
                .and_then(|it| self.agent.run(it))
        } else {
            let request = request.body(());
            request
                .map_err(Into::into)
                .and_then(|it| self.agent.run(it))
        };
        let (status, body) = self.read(sent)?;
        if status.is_success() {
            let answer = O::Answer::of_response(status.as_u16(), body.as_bytes());
            return answer.map_err(|_| self.unreadable());
        }
        Err(self.refused(status, &body))
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn unanswered(&self, error: &ureq::Error) -> Failure {
        let (url, why) = (&self.url, unanswered(error));
        Failure::Failed(format!(
            "no answer from {url}: {why}; is `lapidary serve` running there?"
        ))
    }

    /// The status and body of a response, or why there is none.
    fn read(&self, answer: Answer) -> Result<(StatusCode, String), Failure> {
        let mut answer = answer.map_err(|error| self.unanswered(&error))?;
        let body = answer
            .body_mut()
            .with_config()
            .limit(ANSWER_BYTES)
            .read_to_string();
        let body = body.map_err(|error| self.unanswered(&error))?;
        Ok((answer.status(), body))
    }

    fn parsed<T: DeserializeOwned>(
        &self,
        (status, body): (StatusCode, String),
    ) -> Result<T, Failure> {
        if status.is_success() {
            return serde_json::from_str(&body).map_err(|_| self.unreadable());
        }
        Err(self.refused(status, &body))
    }

    fn unreadable(&self) -> Failure {
        Failure::Failed(format!(
            "{} does not answer like a Lapidary server of this version",
            self.url
        ))
    }

    /// Why the server refused a request.
    fn refused(&self, status: StatusCode, body: &str) -> Failure {
        let Ok(problem) = serde_json::from_str::<Problem>(body) else {
            return match status {
                StatusCode::UNAUTHORIZED => Failure::Input(self.unauthorized("")),
                StatusCode::NOT_FOUND => Failure::Missing(status.to_string()),
                _ if status.is_client_error() => Failure::Input(status.to_string()),
                _ => Failure::Failed(status.to_string()),
            };
        };
        let Problem {
            code,
            detail,
            report,
            ..
        } = problem;
        if status == StatusCode::UNAUTHORIZED {
            return Failure::Input(self.unauthorized(&code));
        }
        match (report, ErrorCode::named(&code)) {
            (Some(report), _) => Failure::Matches {
                message: detail,
                report,
            },
            (None, Some(code)) => Failure::new(code, detail),
            (None, None) if status.is_client_error() => Failure::Input(detail),
            (None, None) => Failure::Failed(detail),
        }
    }

    /// Why the server refused access. The server's own message is about headers, which users of this command do not set.
    fn unauthorized(&self, code: &str) -> String {
        let why = match code {
            "no_key" => "requires a key, and none is set",
            "key_expired" => "says that the key has expired",
            _ => "does not know the key",
        };
        format!(
            "{} {why}: set {KEY_VARIABLE} to a key from its administrator (lapidary keys add)",
            self.url
        )
    }
}

/// Sends a request again while the server asks to wait.
fn patiently(send: impl Fn() -> Answer) -> Answer {
    for _ in 0..ATTEMPTS {
        let answer = send();
        match answer.as_ref().ok().and_then(retry_after) {
            Some(wait) => thread::sleep(wait),
            None => return answer,
        }
    }
    send()
}

/// How long the server asks to wait when it is overloaded or a rate limit is exceeded; `None` if that is too long.
fn retry_after(answer: &ureq::http::Response<Body>) -> Option<Duration> {
    let busy = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::SERVICE_UNAVAILABLE,
    ]
    .contains(&answer.status());
    let seconds = answer
        .headers()
        .get(RETRY_AFTER)
        .filter(|_| busy)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds)).filter(|wait| *wait <= LONGEST_WAIT)
}

/// The fields of a body that say what a content is: text, whether it is cleaned, gems and their recipe.
fn parts(
    content: Content,
) -> (
    Option<String>,
    Option<bool>,
    Option<Vec<WrittenGem>>,
    Option<String>,
) {
    match content {
        Content::Text { text, clean } => (Some(text), clean, None, None),
        Content::Gems(BookGems { recipe, gems }) => {
            (None, None, Some(gems), recipe.map(Into::into))
        }
    }
}

impl Remote {
    pub(super) fn check(&self, query: &Query, options: &CheckOptions) -> Result<Report, Failure> {
        let CheckOptions {
            recipes,
            library,
            limit,
            detail,
            day,
            allow_incomplete,
            policy,
            record,
            language,
            text_language,
            hidden,
            // The server knows its keys.
            by: _,
            exactly: _,
            own: _,
        } = options.clone();
        let (text, clean, gems, indexed) = match query.clone() {
            Query::Text { text, clean } => (Some(text), clean, None, None),
            Query::Gems(TextGems { gems, indexed }) => (None, None, Some(gems), indexed),
        };
        let recipes = match recipes {
            Recipes::Usual => None,
            Recipes::Named(names) => Some(names.into_iter().map(Into::into).collect()),
            Recipes::All => Some(vec!["all".to_owned()]),
        };
        let check = Check {
            gems,
            indexed,
            text,
            url: None,
            clean,
            recipe: None,
            recipes,
            library: library.map(Into::into),
            limit: Some(limit),
            detail: Some(detail),
            day,
            hidden: hidden.into(),
            language: text_language,
            allow_incomplete: allow_incomplete.then_some(true),
            policy,
            record: record.is_some(),
            name: record.as_ref().and_then(|case| case.name.clone()),
            batch: record.as_ref().and_then(|case| case.batch.clone()),
            case: record.and_then(|case| case.reference),
            mark: None,
        };
        let request = self
            .agent
            .post(self.at("/v1/checks"))
            .header(ACCEPT_LANGUAGE, language.tag());
        self.parsed(self.read(request.send_json(&check))?)
    }

    pub(super) fn add(&self, entry: NewEntry) -> Result<Added, Failure> {
        let NewEntry {
            key,
            rights,
            description,
            validity,
            content,
            hidden,
            allow_empty,
            keep_text,
            gate,
            ..
        } = entry;
        let Description {
            title,
            authors,
            language,
            identifiers,
            published,
        } = description;
        let (text, clean, gems, recipe) = parts(content);
        let book = NewBook {
            rights,
            validity,
            title,
            authors,
            language,
            identifiers,
            published,
            text,
            url: None,
            clean,
            hidden: hidden.into(),
            gems,
            recipe,
            allow_empty,
            keep_text,
            unless: None,
            except: Vec::new(),
            id: None,
        };
        let path = self.at(&filled(
            "/v1/libraries/{library}/books/{id}",
            &key.segments(),
        ));
        self.parsed(self.read(patiently(|| {
            let mut request = self.agent.put(&path);
            if let Some(gate) = &gate {
                request = request.query("unless", "protected");
                request = request.query_pairs(gate.exceptions().map(|book| ("except", book)));
            }
            request.send_json(&book)
        }))?)
    }

    pub(super) fn text(&self, key: &BookKey) -> Result<String, Failure> {
        let path = self.at(&filled(
            "/v1/libraries/{library}/texts/{id}",
            &key.segments(),
        ));
        match self.read(patiently(|| self.agent.get(&path).call()))? {
            (StatusCode::OK, text) => Ok(text),
            refused => self.parsed(refused),
        }
    }

    pub(super) fn add_recipe(&self, recipe: &Recipe) -> Result<(), Failure> {
        let lexicon = recipe.lexicon().map_or("", |lexicon| lexicon.written());
        let request = self
            .agent
            .post(self.at("/v1/recipes"))
            .query("recipe", recipe.name().as_str());
        let sent = request
            .content_type("text/plain; charset=utf-8")
            .send(lexicon);
        let RecipeStats { .. } = self.parsed(self.read(sent)?)?;
        Ok(())
    }

    pub(super) fn recut(&self, key: &BookKey, text: &str) -> Result<(), Failure> {
        let path = self.at(&filled(
            "/v1/libraries/{library}/recut/{id}",
            &key.segments(),
        ));
        let request = self
            .agent
            .post(path)
            .content_type("text/plain; charset=utf-8");
        let RecutResult { .. } = self.parsed(self.read(request.send(text))?)?;
        Ok(())
    }

    pub(super) fn export(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let answer = self.agent.get(self.at("/v1/export")).call();
        let mut answer = answer.map_err(|error| self.unanswered(&error))?;
        if !answer.status().is_success() {
            return self.parsed(self.read(Ok(answer))?);
        }
        let copied = io::copy(&mut answer.body_mut().as_reader(), out);
        copied
            .and_then(|_| out.flush())
            .map_err(|e| match e.kind() {
                io::ErrorKind::BrokenPipe => Failure::ReaderGone,
                _ => Failure::Failed(format!("the export was interrupted: {e}")),
            })
    }
}
