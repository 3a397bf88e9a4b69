//! Requests to other people's servers, with the manners of a guest: `robots.txt` (RFC 9309) and its `Crawl-delay`, one
//! connection per host, pauses between requests, `Retry-After`, conditional requests, and a name with an address to
//! complain to. Sizes, redirects and times are bounded, and addresses of this machine and its network are refused
//! unless allowed, after resolution and on every redirect.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use rusty_s3::Method;
use ureq::http::header::{
    AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    LOCATION, RETRY_AFTER,
};
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};
use url::{Origin, Url};

use super::asked;
use super::hosts::{HostTurn, Rules};
use super::robots::Robots;
use super::s3::AccessKey;
use super::s3::listing::Prefix;
use super::source::{Credentials, is_of_web};
use super::{HarvestError, Reason, Source, SourceKind};
use lapidary_catalogue::addresses::Addresses;
use lapidary_catalogue::client::unanswered;
use lapidary_work::StopSignal;

/// The name in `robots.txt`.
const ROBOT: &str = "lapidary";
/// Time limit for a request, with its answer.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);
/// How much of it finding a host's addresses may take, and connecting to one: neither can be interrupted.
pub(super) const CONNECTING: Duration = Duration::from_secs(10);
/// How long an idle connection stays open.
const IDLE: Duration = Duration::from_secs(10);
const REDIRECTS: usize = 5;
/// Longer validators are not kept.
const VALIDATOR_BYTES: usize = 1_000;
/// How much of a `robots.txt` is read, as RFC 9309 asks.
const ROBOTS_BYTES: u64 = 512 << 10;
/// The pause between requests to a host of the internet, unless the source has a rate.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause that a `robots.txt` can ask for.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The most that is read at a time of a file that somebody else keeps.
const PIECE: usize = 64 << 10;

/// Fetches one file, without a source, and hands on its pieces until told to stop. Nobody crawls a site in this way, so its
/// `robots.txt` is not asked for.
///
/// # Errors
/// Why it cannot be had.
pub fn fetch(
    address: &str,
    allows_private: bool,
    take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), String> {
    let mut url = Url::parse(address).map_err(|_| "this is not a URL".to_owned())?;
    let addresses = Addresses {
        private: allows_private,
        allow: "the server fetches no files from others (setting check-urls)",
    };
    let agent = addresses.agent(|config| {
        config
            .timeout_resolve(Some(CONNECTING))
            .timeout_connect(Some(CONNECTING))
            .user_agent(format!("{ROBOT}/{}", env!("CARGO_PKG_VERSION")))
    });
    let until = Instant::now() + PATIENCE;
    for _ in 0..=REDIRECTS {
        if !is_of_web(&url) {
            return Err(format!("{url} is not an address of the web"));
        }
        let left = until.saturating_duration_since(Instant::now());
        let request = agent.get(url.as_str()).config();
        let request = request.timeout_global(Some(left)).build();
        let mut answer = request.call().map_err(|error| unanswered(&error))?;
        match answer.status() {
            status if status.is_redirection() => {
                url = target(&answer, &url)
                    .ok_or_else(|| format!("it answers {status} without a usable address"))?;
            }
            status if status.is_success() => {
                return hand_on(answer.body_mut(), take)
                    .map_err(|_| "it did not arrive completely in time".to_owned());
            }
            status => return Err(format!("the server answers {status}")),
        }
    }
    Err(format!("it redirects more than {REDIRECTS} times"))
}

pub(super) fn hand_on(
    body: &mut Body,
    take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut reader = body.as_reader();
    let mut piece = vec![0; PIECE];
    loop {
        let length = io::Read::read(&mut reader, &mut piece)?;
        if length == 0 || take(&piece[..length]).is_break() {
            return Ok(());
        }
    }
}

/// Sends requests for a source.
pub(super) struct Web {
    agent: Agent,
    /// What lets requests in, and the origin that it is for.
    credentials: Option<(Origin, Pass)>,
    pause: Duration,
    ignores_robots: bool,
    /// Whether it reads a bucket, whose server answers 403 where others answer 401.
    is_of_bucket: bool,
    stop: Arc<StopSignal>,
    /// When to give up waiting for a host's turn.
    until: Option<Instant>,
}

/// What lets requests in.
enum Pass {
    /// The header `Authorization`.
    Header(String),
    /// A signature in the address.
    Signature(AccessKey),
}

/// The answer to a request.
#[derive(Debug)]
pub(super) enum Fetched {
    /// The content.
    Found(Download),
    /// It is as it was.
    Unmodified,
    /// It cannot be had, and asking again would not help.
    Refused(Reason, String),
    /// It is not there any more.
    Missing,
    /// It may be had later; after this time, if the server said so.
    Failed(String, Option<Duration>),
    /// It was not asked for, because the run is to stop.
    Stopped,
}

#[derive(Debug)]
pub(super) struct Download {
    /// Its address after redirects.
    pub(super) address: String,
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: Option<String>,
    pub(super) validators: Validators,
}

/// What a server knows a version by.
#[derive(Debug, Clone, Default)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
}

impl Web {
    /// With a time to be done `within`, requests are given less time, too.
    pub(super) fn new(
        source: &Source,
        stop: Arc<StopSignal>,
        within: Option<Duration>,
    ) -> Result<Self, HarvestError> {
        let contact = source
            .contact
            .as_ref()
            .map_or_else(String::new, |contact| format!(" (+{contact})"));
        let name = format!("{ROBOT}/{}{contact}", env!("CARGO_PKG_VERSION"));
        let addresses = Addresses {
            private: source.allow_private,
            allow: "allow them with --allow-private",
        };
        let credentials = source
            .credentials
            .as_ref()
            .map(|place| pass(source, place))
            .transpose()?;
        let origin = Url::parse(&source.address).ok().map(|url| url.origin());
        let usual = if source.allow_private {
            Duration::ZERO
        } else {
            PAUSE
        };
        Ok(Self {
            agent: addresses.agent(|config| {
                let patience = within.map_or(PATIENCE, |within| within / 2);
                config
                    .timeout_global(Some(patience))
                    .timeout_resolve(Some(CONNECTING))
                    .timeout_connect(Some(CONNECTING))
                    .user_agent(name)
                    .max_idle_connections_per_host(1)
                    .max_idle_age(IDLE)
            }),
            credentials: origin.zip(credentials),
            ignores_robots: source.ignore_robots,
            is_of_bucket: source.kind == SourceKind::S3,
            pause: source
                .rate
                .map_or(usual, |rate| Duration::from_secs_f64(1.0 / rate)),
            stop,
            until: within.map(|within| Instant::now() + within),
        })
    }

    /// What ends its requests.
    pub(super) fn agent(&self) -> Agent {
        self.agent.clone()
    }

    /// Fetches at most `most` bytes, if they are not those of `validators`.
    pub(super) fn get(&self, address: &str, validators: &Validators, most: u64) -> Fetched {
        let fetched = self.ask(address, validators, most);
        // An answer that was cut off can look like a whole one.
        if self.stop.is_stopped() {
            Fetched::Stopped
        } else {
            fetched
        }
    }

    /// Why a server asks for credentials.
    fn lacks(&self, url: &Url) -> &'static str {
        let had = self
            .credentials
            .as_ref()
            .is_some_and(|(origin, _)| url.origin() == *origin);
        if had {
            "it does not accept the source's credentials"
        } else {
            "the source needs credentials"
        }
    }

    fn ask(&self, address: &str, validators: &Validators, most: u64) -> Fetched {
        let Ok(mut url) = Url::parse(address) else {
            return Fetched::Refused(Reason::Address, "this is not a URL".to_owned());
        };
        for _ in 0..=REDIRECTS {
            // Held until the answer was read.
            let _turn = match self.may_fetch(&url) {
                Ok(turn) => turn,
                Err(no) => return no,
            };
            let answer = match self.send(&url, validators) {
                Ok(answer) => answer,
                Err(error) => return failed(&error),
            };
            match answer.status() {
                StatusCode::NOT_MODIFIED => return Fetched::Unmodified,
                status if status.is_redirection() => match target(&answer, &url) {
                    Some(to) => url = to,
                    None => {
                        return refused(format!("it answers {status} without a usable address"));
                    }
                },
                status if status.is_success() => return read(url.into(), answer, most),
                StatusCode::NOT_FOUND | StatusCode::GONE => return Fetched::Missing,
                status if is_temporary(status) => {
                    return Fetched::Failed(
                        format!("the server answers {status}"),
                        retry_after(&answer),
                    );
                }
                status @ StatusCode::UNAUTHORIZED => {
                    let why = asked_for(answer).unwrap_or_else(|| self.lacks(&url).to_owned());
                    return refused(format!("the server answers {status}: {why}"));
                }
                status @ StatusCode::FORBIDDEN if self.is_of_bucket => {
                    let why = self.lacks(&url);
                    return refused(format!("the server answers {status}: {why}"));
                }
                status => return refused(format!("the server answers {status}")),
            }
        }
        refused(format!("it redirects more than {REDIRECTS} times"))
    }

    /// Waits for the turn to ask the host, if its `robots.txt` allows it.
    fn may_fetch(&self, url: &Url) -> Result<HostTurn, Fetched> {
        if !is_of_web(url) {
            return Err(Fetched::Refused(
                Reason::Address,
                format!("{url} is not an address of the web"),
            ));
        }
        let origin = url.origin().ascii_serialization();
        loop {
            let Some(mut turn) = HostTurn::take(&origin, &self.stop, self.until) else {
                return Err(if self.stop.is_stopped() {
                    Fetched::Stopped
                } else {
                    Fetched::Failed(format!("it is not the turn of {origin} in time"), None)
                });
            };
            if self.ignores_robots {
                turn.pause = Some(self.pause);
                return Ok(turn);
            }
            let Some(rules) = turn.rules() else {
                turn.pause = Some(self.pause);
                turn.learn(self.rules(url)?);
                continue;
            };
            if !rules.robots.allow(url) {
                return Err(Fetched::Refused(
                    Reason::Robots,
                    "the site's robots.txt does not allow it".to_owned(),
                ));
            }
            turn.pause = Some(self.pause.max(rules.delay));
            return Ok(turn);
        }
    }

    /// Reads a host's `robots.txt`. Without one, everything is allowed; one that cannot be read allows nothing for now.
    fn rules(&self, url: &Url) -> Result<Rules, Fetched> {
        let mut at = url
            .join("/robots.txt")
            .map_err(|_| Fetched::Refused(Reason::Address, "this is not a URL".to_owned()))?;
        let mut rules = Vec::new();
        for _ in 0..=REDIRECTS {
            let mut answer = self
                .send(&at, &Validators::default())
                .map_err(|error| failed(&error))?;
            match answer.status() {
                status if status.is_redirection() => match target(&answer, &at) {
                    Some(to) if is_of_web(&to) => at = to,
                    _ => break,
                },
                status if status.is_success() => {
                    let limited = io::Read::take(answer.body_mut().as_reader(), ROBOTS_BYTES);
                    let read = io::Read::read_to_end(&mut { limited }, &mut rules);
                    read.map_err(|error| Fetched::Failed(format!("robots.txt: {error}"), None))?;
                    break;
                }
                status if is_temporary(status) => {
                    return Err(Fetched::Failed(
                        format!("robots.txt: the server answers {status}"),
                        retry_after(&answer),
                    ));
                }
                _ => break,
            }
        }
        let robots = Robots::read(ROBOT, &rules);
        // What is not a number becomes 0, too.
        let seconds = robots.delay.unwrap_or_default().max(0.0);
        let delay = Duration::from_secs_f32(seconds.min(LONGEST_PAUSE.as_secs_f32()));
        Ok(Rules {
            robots,
            delay,
            read: Instant::now(),
        })
    }

    fn send(&self, url: &Url, validators: &Validators) -> Result<Response<Body>, ureq::Error> {
        let pass = self.credentials.as_ref();
        let pass = pass.filter(|(origin, _)| url.origin() == *origin);
        let mut request = match pass {
            Some((_, Pass::Signature(key))) => {
                self.agent.get(key.signed(Method::Get, url, &[]).as_str())
            }
            Some((_, Pass::Header(value))) => {
                self.agent.get(url.as_str()).header(AUTHORIZATION, value)
            }
            None => self.agent.get(url.as_str()),
        };
        // An object that is replaced within a second has the same date.
        let modified = validators.modified.as_ref().filter(|_| !self.is_of_bucket);
        for (name, value) in [
            (IF_NONE_MATCH, validators.etag.as_ref()),
            (IF_MODIFIED_SINCE, modified),
        ] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        request.call()
    }
}

/// A signature for buckets, from `ID:SECRET`. For others the header, from `USER:PASSWORD` or a token.
fn pass(source: &Source, place: &Credentials) -> Result<Pass, HarvestError> {
    let wrong = |why: &str| HarvestError::Input(format!("the credentials in {}: {why}", place.0));
    let found = match place.variable() {
        Some(name) => env::var(name).map_err(|_| wrong("this process has no such variable"))?,
        None => fs::read_to_string(&place.0).map_err(|error| wrong(&error.to_string()))?,
    };
    let found = found.trim();
    if source.kind == SourceKind::S3 {
        let prefix = Prefix::of(source).map_err(HarvestError::Input)?;
        return AccessKey::of(found, prefix.region())
            .map(Pass::Signature)
            .map_err(wrong);
    }
    Ok(Pass::Header(match found {
        "" => return Err(wrong("there are none")),
        pair if pair.contains(':') => format!("Basic {}", BASE64_STANDARD.encode(pair)),
        token => format!("Bearer {token}"),
    }))
}

/// Whether the same request may be answered later.
fn is_temporary(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        )
}

/// What a server answers that gives nothing.
fn refused(why: String) -> Fetched {
    Fetched::Refused(Reason::Status, why)
}

fn failed(error: &ureq::Error) -> Fetched {
    let why = unanswered(error);
    match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Fetched::Refused(Reason::Private, why)
        }
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => Fetched::Refused(Reason::Address, why),
        _ => Fetched::Failed(why, None),
    }
}

fn read(address: String, mut answer: Response<Body>, most: u64) -> Fetched {
    let validator = |name| header(&answer, name).filter(|value| value.len() <= VALIDATOR_BYTES);
    let validators = Validators {
        etag: validator(&ETAG),
        modified: validator(&LAST_MODIFIED),
    };
    let content_type = header(&answer, &CONTENT_TYPE);
    match answer.body_mut().with_config().limit(most).read_to_vec() {
        Ok(bytes) => Fetched::Found(Download {
            address,
            bytes,
            content_type,
            validators,
        }),
        Err(ureq::Error::BodyExceedsLimit(_)) => {
            Fetched::Refused(Reason::TooLarge, format!("it is larger than {most} bytes"))
        }
        Err(error) => failed(&error),
    }
}

/// What an answer asks for that lets nobody in, if it says so.
fn asked_for(mut answer: Response<Body>) -> Option<String> {
    header(&answer, &CONTENT_TYPE).filter(|kind| kind.starts_with(asked::MEDIA_TYPE))?;
    asked::asked(
        &answer
            .body_mut()
            .with_config()
            .limit(asked::MOST)
            .read_to_vec()
            .ok()?,
    )
}

fn header(answer: &Response<Body>, name: &HeaderName) -> Option<String> {
    answer.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// Where an answer to a request for this address redirects to.
fn target(answer: &Response<Body>, from: &Url) -> Option<Url> {
    from.join(&header(answer, &LOCATION)?).ok()
}

/// Seconds, or a date.
fn retry_after(answer: &Response<Body>) -> Option<Duration> {
    let written = header(answer, &RETRY_AFTER)?;
    if let Ok(seconds) = written.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::parse(written.trim()).ok()?.timestamp();
    Duration::try_from(at.duration_since(Timestamp::now())).ok()
}
