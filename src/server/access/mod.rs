//! Access control: keys, their roles, and limits per key or address.
//!
//! Every route declares what it [`Needs`] beside its method. A request passes through here before its handler runs
//! and before its body is read.

mod clients;
mod hosts;
mod meter;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::{HttpServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{
    AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpRequest, Resource};
use governor::Quota;
use hashbrown::HashMap;
use parking_lot::RwLock;

pub(crate) use self::clients::ClientLimit;
use self::hosts::Hosts;
pub(crate) use self::hosts::is_from_own_page;
use self::meter::Allowance;
pub(super) use self::meter::Meter;
use super::inside::Insider;
use super::parameters;
use super::problem::Problem;
use super::requests::{caller, is_work_of, made_by};
use super::turns::{Client, Lane};
use super::{ServerState, conditions};
use lapidary_catalogue::api::Key;
use lapidary_catalogue::permission::{Permission, Rate};
use lapidary_catalogue::{AccessDenied, Catalogue, CatalogueError, Usage};
use lapidary_common::error::ErrorCode;
pub(super) use lapidary_operations::Needs;
use lapidary_store::Library;

/// The header for clients that cannot send `Authorization`.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The challenge sent with a refusal (RFC 6750).
const CHALLENGE: &str = "Bearer realm=\"lapidary\"";

/// What a call is admitted by.
#[derive(Debug, Clone, Copy)]
pub(super) struct AccessRule {
    pub(super) needs: Needs,
    /// Whether it takes `If-Match` and `If-None-Match`.
    pub(super) conditional: bool,
}

/// The access rules.
pub(super) struct Access {
    /// Only this machine can connect.
    loopback: bool,
    hosts: Hosts,
    /// The limits by address for clients without a key; `None` if they may not check.
    keyless: Option<ClientLimit>,
    /// By key name.
    meters: RwLock<HashMap<String, Arc<Meter>>>,
}

/// Who is admitted to a request.
enum Admitted<'a> {
    /// Whoever sends it.
    Anyone,
    /// Any client without a key, within the limit of its address.
    Keyless(&'a ClientLimit),
    /// A key, with its meter.
    Key(Arc<Key>, Arc<Meter>),
}

impl Access {
    pub(super) fn new(loopback: bool, hosts: &[String], keyless: Option<Rate>) -> Self {
        let keyless = keyless.map(|rate| ClientLimit::new("checks", rate));
        Self {
            loopback,
            hosts: Hosts::new(hosts),
            keyless,
            meters: RwLock::default(),
        }
    }

    /// Admits a request, or says why not.
    fn admit(
        &self,
        catalogue: &Arc<Catalogue>,
        request: &ServiceRequest,
        needs: Needs,
    ) -> Result<Admitted<'_>, AccessRefusal> {
        if needs == Needs::Nothing {
            return Ok(Admitted::Anyone);
        }
        let insider = request.extensions().get::<Insider>().cloned();
        if insider == Some(Insider::Local) {
            say_of_everybody(request);
            request.extensions_mut().insert(Guest::Local);
            made_by(Client::Local);
            return Ok(Admitted::Anyone);
        }
        if self.is_open_to(request.peer_addr(), catalogue)? {
            self.approve(request.headers())?;
            say_of_everybody(request);
            return Ok(Admitted::Anyone);
        }
        let key = match (insider, presented(request.headers())) {
            (Some(Insider::Key(id)), _) => catalogue.keys().valid(&id)?.ok_or_else(|| {
                let detail =
                    "the key of this session was revoked or has expired; sign in with another";
                unauthorized(ErrorCode::BadKey, detail)
            })?,
            (_, Some(secret)) => key_of(catalogue, secret)?,
            (_, None) => return self.without_key(catalogue, needs),
        };
        may(&key, request, needs)?;
        say_of_key(request, needs, &key);
        let meter = self.meter(catalogue, &key)?;
        request.extensions_mut().insert(Arc::clone(&meter));
        Ok(Admitted::Key(key, meter))
    }

    /// Whether calls of this client need no key: it is on this machine, and there are no keys.
    pub(super) fn is_open_to(
        &self,
        client: Option<SocketAddr>,
        catalogue: &Catalogue,
    ) -> Result<bool, CatalogueError> {
        Ok(self.loopback && is_here(client) && catalogue.keys().is_open()?)
    }

    /// Refuses requests without a key that a page of another site may have sent.
    pub(super) fn approve(&self, headers: &HeaderMap) -> Result<(), Problem> {
        self.hosts.approve(headers)
    }

    fn without_key(
        &self,
        catalogue: &Catalogue,
        needs: Needs,
    ) -> Result<Admitted<'_>, AccessRefusal> {
        let Some(limit) = self
            .keyless
            .as_ref()
            .filter(|_| needs == Needs::CheckUnlessOpen)
        else {
            let detail = if catalogue.keys().is_open()? {
                "this server has no keys, and is open to clients on its own machine only; add a key (lapidary keys add)"
            } else if catalogue.keys().is_empty()? {
                "the last key was revoked, and this call needs one; stop the server and add a key (lapidary keys add \
                 --data DIR --role admin NAME)"
            } else {
                "this call needs a key: send it as 'Authorization: Bearer KEY' or 'X-Api-Key: KEY'"
            };
            return Err(unauthorized(ErrorCode::NoKey, detail).into());
        };
        Ok(Admitted::Keyless(limit))
    }

    /// The meter of a key, shared by all of its successive secrets.
    fn meter(&self, catalogue: &Arc<Catalogue>, key: &Key) -> Result<Arc<Meter>, CatalogueError> {
        let holds = |meter: &Arc<Meter>| meter.limits() == (key.rate, key.quota);
        let known = self.meters.read().get(&key.name).cloned();
        if let Some(known) = known.filter(holds) {
            return Ok(known);
        }
        let new = Arc::new(Meter::new(
            key,
            catalogue.keys().usage(&key.name)?,
            catalogue,
        ));
        let mut meters = self.meters.write();
        let meter = meters
            .entry(key.name.clone())
            .or_insert_with(|| Arc::clone(&new));
        if !holds(meter) {
            *meter = new;
        }
        Ok(Arc::clone(meter))
    }

    /// Counts books that a server fetched in the daily quota of the key that asked for them, however many they are. Returns whether there is
    /// room for more; for a key that no longer exists, there always is.
    pub(super) fn count_books(
        &self,
        catalogue: &Arc<Catalogue>,
        name: &str,
        books: usize,
    ) -> Result<bool, CatalogueError> {
        let id = catalogue
            .keys()
            .list()?
            .into_iter()
            .rfind(|key| key.name == name)
            .map(|key| key.id);
        let key = id
            .map(|id| catalogue.keys().valid(&id))
            .transpose()?
            .flatten();
        key.map_or(Ok(true), |key| {
            self.meter(catalogue, &key)?.count_books(books)
        })
    }

    /// Forgets the usage of a key that no longer exists.
    pub(super) fn forget(&self, name: &str) {
        self.meters.write().remove(name);
    }

    /// Notes in the audit log whose quotas are used up.
    pub(super) fn note_quotas(&self, catalogue: &Catalogue) -> Result<(), CatalogueError> {
        let meters = self.meters.read().clone();
        let mut meters = meters.iter();
        meters
            .try_for_each(|(name, meter)| meter.tell_used_up(|| catalogue.keys().note_quota(name)))
    }

    /// Saves to disk how much of their quotas keys have used.
    pub(super) fn note_usage(&self, catalogue: &Catalogue) -> Result<(), CatalogueError> {
        let meters = self.meters.read();
        let changed = meters
            .iter()
            .filter_map(|(name, meter)| Some((name.clone(), meter.unnoted()?)));
        let changed: Vec<(String, Usage)> = changed.collect();
        drop(meters);
        if changed.is_empty() {
            Ok(())
        } else {
            catalogue.keys().note_usage(&changed)
        }
    }
}

/// Who was admitted. The request can be a stream that outlives the key.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) enum Guest {
    /// Anyone, because the server asks for no key.
    #[default]
    Anyone,
    /// The holder of the key with this id.
    Key(String),
    /// Whoever started the server.
    Local,
}

impl Guest {
    pub(super) fn of(request: &HttpRequest) -> Self {
        request
            .extensions()
            .get::<Self>()
            .cloned()
            .unwrap_or_default()
    }

    /// Whether the request would still be admitted now.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn is_still_let_in(&self, catalogue: &Catalogue) -> Result<(), Problem> {
        let detail = "the key of this request was revoked or has expired; ask the administrator for a new one";
        let is_good = match self {
            Self::Key(id) => catalogue.keys().valid(id)?.is_some(),
            Self::Anyone => catalogue.keys().is_open()?,
            Self::Local => true,
        };
        if is_good {
            Ok(())
        } else {
            Err(unauthorized(ErrorCode::BadKey, detail))
        }
    }
}

/// The libraries that a request can see, or for a check or an exported book, whose kept texts it can read; `None` for all.
#[derive(Clone)]
pub(super) struct Visible(Option<BTreeSet<Library>>);

impl Visible {
    pub(super) fn to(request: &HttpRequest) -> Option<BTreeSet<Library>> {
        request
            .extensions()
            .get::<Self>()
            .map_or(Some(BTreeSet::new()), |visible| visible.0.clone())
    }
}

/// The libraries whose books whoever sent a request can change; `None` for all.
#[derive(Clone)]
pub(super) struct Editable(Option<BTreeSet<Library>>);

impl Editable {
    pub(super) fn by(request: &HttpRequest) -> Option<BTreeSet<Library>> {
        request
            .extensions()
            .get::<Self>()
            .map_or(Some(BTreeSet::new()), |editable| editable.0.clone())
    }
}

/// Tells the handlers of a request without a key that it may see and change all.
fn say_of_everybody(request: &ServiceRequest) {
    let mut told = request.extensions_mut();
    told.insert(Visible(None));
    told.insert(Editable(None));
}

/// Tells the handlers of a request what its key may see and must do.
fn say_of_key(request: &ServiceRequest, needs: Needs, key: &Key) {
    let mut told = request.extensions_mut();
    told.insert(Guest::Key(key.id.clone()));
    let seen = match needs {
        Needs::Check | Needs::Decisions | Needs::Follow => Permission::ReadTexts,
        _ => Permission::Ingest,
    };
    told.insert(Visible(key.libraries_for(seen)));
    told.insert(Editable(key.libraries_for(Permission::Ingest)));
    if key.must_gate.is_some() {
        told.insert(GateRequired);
    }
}

/// The key of the request requires a gate for each book.
#[derive(Clone, Copy)]
pub(super) struct GateRequired;

/// Why a request was refused.
struct AccessRefusal {
    problem: Box<Problem>,
    allowance: Option<Box<Allowance>>,
}

impl<P: Into<Problem>> From<P> for AccessRefusal {
    fn from(problem: P) -> Self {
        Self {
            problem: Box::new(problem.into()),
            allowance: None,
        }
    }
}

/// A resource with the access that its calls need. The resource itself refuses methods that are not listed.
pub(super) fn guarded(
    resource: Resource,
    rules: Vec<(Method, AccessRule)>,
) -> impl HttpServiceFactory {
    let rules: Arc<[(Method, AccessRule)]> = rules.into();
    resource.wrap(from_fn(
        move |request: ServiceRequest, next: Next<BoxBody>| {
            let found = rules
                .iter()
                .find(|(method, _)| method == request.method())
                .map(|(_, rule)| *rule);
            enter(request, next, found)
        },
    ))
}

/// Counts a request without a key, if it is within the limit of its address.
async fn count_keyless(
    limit: &ClientLimit,
    catalogue: &Arc<Catalogue>,
) -> Result<(), AccessRefusal> {
    let Some(wait) = limit.count(catalogue, &caller().client).await? else {
        return Ok(());
    };
    let detail = format!(
        "more than {} from this address; wait, or ask the administrator for a key",
        limit.rate
    );
    Err(too_many(&detail, wait).into())
}

async fn enter(
    request: ServiceRequest,
    next: Next<BoxBody>,
    rule: Option<AccessRule>,
) -> Result<ServiceResponse, Error> {
    let (Some(AccessRule { needs, conditional }), Some(state)) =
        (rule, request.app_data::<Data<ServerState>>().cloned())
    else {
        return next.call(request).await;
    };
    if !conditional && let Err(problem) = conditions::none(request.headers()) {
        return Ok(request.error_response(problem));
    }
    is_work_of(lane_of(needs, request.method()));
    let admitted = match state.access.admit(&state.catalogue, &request, needs) {
        Ok(Admitted::Anyone) => return next.call(request).await,
        Ok(Admitted::Keyless(limit)) => match count_keyless(limit, &state.catalogue).await {
            Ok(()) => return next.call(request).await,
            Err(refusal) => Err(refusal),
        },
        Ok(Admitted::Key(key, meter)) => counted(&key, &meter)
            .await
            .map(|allowance| (key, allowance)),
        Err(refusal) => Err(refusal),
    };
    let (mut response, allowance) = match admitted {
        Ok((key, allowance)) => {
            made_by(Client::Key(key.name.clone()));
            (next.call(request).await?, Some(allowance))
        }
        Err(AccessRefusal { problem, allowance }) => (request.error_response(*problem), allowance),
    };
    if let Some(allowance) = allowance {
        allowance.tell(response.headers_mut());
    }
    Ok(response)
}

/// Counts a request of a key, if it is within its limits.
async fn counted(key: &Key, meter: &Meter) -> Result<Box<Allowance>, AccessRefusal> {
    let allowance = Box::new(meter.count().await?);
    let Some(wait) = allowance.refused_for else {
        return Ok(allowance);
    };
    let what = if allowance.of_day {
        "the day's quota"
    } else {
        "the rate"
    };
    let detail = format!(
        "{what} of the key '{}' is used up ({}); wait, or ask the administrator for more",
        key.name, allowance.limit
    );
    Err(AccessRefusal {
        problem: Box::new(too_many(&detail, wait)),
        allowance: Some(allowance),
    })
}

/// The key of a secret.
fn key_of(catalogue: &Catalogue, secret: &str) -> Result<Arc<Key>, AccessRefusal> {
    match catalogue.keys().of_secret(secret)? {
        Ok(key) => Ok(key),
        Err(AccessDenied::Unknown) => Err(unauthorized(
            ErrorCode::BadKey,
            "unknown key; ask the administrator for one",
        )
        .into()),
        Err(AccessDenied::Expired) => {
            let detail = "this key has expired; ask the administrator for a new one";
            Err(unauthorized(ErrorCode::KeyExpired, detail).into())
        }
    }
}

/// The key that a request came with.
pub(super) fn presented(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
    });
    bearer.or_else(|| headers.get(API_KEY)?.to_str().ok())
}

/// Checks that a key permits a call.
fn may(key: &Key, request: &ServiceRequest, needs: Needs) -> Result<(), Problem> {
    let needed = needs.permissions().unwrap_or_default();
    if !needed.is_empty() && !needed.iter().any(|one| key.permits(*one)) {
        let needed: Vec<_> = needed.iter().map(ToString::to_string).collect();
        let detail = format!(
            "the key '{}' does not permit this call, which needs the permission {}",
            key.name,
            needed.join(" or ")
        );
        return Err(Problem::new(ErrorCode::NotAllowed, detail));
    }
    if needs.library_of_path() && !key.permits(Permission::Administer) {
        let library = parameters::library(request.request())?;
        if !key.libraries.contains(&library) {
            return Err(not_your_library(&format!("the key '{}'", key.name)));
        }
    }
    Ok(())
}

/// Whether a client is on this machine.
pub(crate) fn is_here(client: Option<SocketAddr>) -> bool {
    client.is_some_and(|client| client.ip().to_canonical().is_loopback())
}

/// The problem for a key that is not for the library in question.
pub(super) fn not_your_library(key: &str) -> Problem {
    Problem::new(
        ErrorCode::NotYourLibrary,
        format!("{key} is not for this library"),
    )
}

fn unauthorized(code: ErrorCode, detail: &str) -> Problem {
    Problem::new(code, detail).with(WWW_AUTHENTICATE, CHALLENGE)
}

/// The problem for a client over its limit.
pub(super) fn too_many(detail: &str, wait: Duration) -> Problem {
    let seconds = whole_seconds(wait).max(1).to_string();
    Problem::new(ErrorCode::TooManyRequests, detail).with(RETRY_AFTER, seconds)
}

/// Seconds, rounded up.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// A rate for the limiter: a full burst first, and then one at a time.
fn quota(rate: Rate) -> Quota {
    let count = NonZeroU32::new(rate.count).unwrap_or(NonZeroU32::MIN);
    let each = Duration::from_secs(rate.per.seconds().into()) / count.get();
    Quota::with_period(each).map_or(Quota::per_second(count), |quota| quota.allow_burst(count))
}

fn header(name: &'static str, value: impl std::fmt::Display) -> Option<(HeaderName, HeaderValue)> {
    Some((
        HeaderName::from_static(name),
        HeaderValue::from_str(&value.to_string()).ok()?,
    ))
}

fn lane_of(needs: Needs, method: &Method) -> Lane {
    match needs {
        Needs::Admin => Lane::Administration,
        Needs::Texts | Needs::Follow => Lane::Heavy,
        Needs::Ingest | Needs::AnyIngest if *method != Method::GET && *method != Method::HEAD => {
            Lane::Changes
        }
        _ => Lane::Reads,
    }
}
