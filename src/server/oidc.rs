//! An identity provider, asked who somebody is: `OpenID` Connect with the authorization code flow and PKCE.
//!
//! Whatever waits for the provider has a thread of its own, and there are few: a provider that is slow or down holds up nobody
//! who signs in with a key. What is known of it is read again from time to time, after a failure, and when it signs with a key
//! that is not known yet.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreErrorResponseType,
    CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm,
    CoreProviderMetadata, CoreRevocableToken, CoreRevocationErrorResponse,
    CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::http::{Method, Request};
use openidconnect::url::Url;
use openidconnect::{
    AdditionalClaims, AuthorizationCode, ClaimsVerificationError, Client, ClientId, ClientSecret,
    CsrfToken, DiscoveryError, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, IdTokenClaims, IdTokenFields, IssuerUrl, Nonce,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope,
    SignatureVerificationError, StandardErrorResponse, StandardTokenResponse, TokenResponse as _,
};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};
use ureq::Agent;

use super::ServerError;
use super::settings::{OidcArguments, is_safe};
use lapidary_catalogue::Person;
use lapidary_catalogue::addresses::Addresses;
use lapidary_catalogue::api::{Finding, FindingCode};
use lapidary_catalogue::client::unanswered;
use lapidary_language::Language;

/// The path to which the provider sends people back.
pub(crate) const CALLBACK: &str = "/console/oidc/callback";
/// Time limit for a request to the provider, with its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer that is read.
const MOST_BYTES: u64 = 1 << 20;
/// How many ask the provider at once.
const MOST: usize = 16;
/// How old what is known of the provider may be.
const FRESH: Duration = Duration::from_hours(1);
/// How often it is asked at most, after it failed or signed with an unknown key.
const PAUSE: Duration = Duration::from_secs(2);
/// The signatures that are believed: those that only the provider can make.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// All claims that are not standard ones, the groups among them.
#[derive(Debug, Serialize, Deserialize)]
struct OtherClaims {
    #[serde(flatten)]
    all: BTreeMap<String, Value>,
}

impl AdditionalClaims for OtherClaims {}

type Claims = IdTokenClaims<OtherClaims, CoreGenderClaim>;
type Tokens = StandardTokenResponse<
    IdTokenFields<
        OtherClaims,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm,
    >,
    CoreTokenType,
>;
type Provider = Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Why nobody was identified.
#[derive(Debug, Clone)]
pub(crate) enum OidcFailure {
    /// The provider cannot be asked now.
    Silent(String),
    /// It did not say who somebody is, or not in a way to be believed.
    Refused(String),
}

/// A sign-in that somebody begins: what the browser keeps until the provider has sent it back.
pub(crate) struct BegunSignIn {
    /// Where to send the browser.
    pub(crate) url: String,
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
}

/// The identity provider of a server.
pub(crate) struct Oidc {
    issuer: IssuerUrl,
    client_id: ClientId,
    secret: Option<ClientSecret>,
    redirect: RedirectUrl,
    name: String,
    scopes: Vec<String>,
    groups_claim: String,
    agent: Agent,
    permits: Arc<Semaphore>,
    known: Mutex<Option<Known>>,
}

/// What is known of a provider, or why nothing is.
struct Known {
    since: Instant,
    found: Result<Arc<Provider>, String>,
}

impl Known {
    /// Whether it is too early to ask again.
    fn is_current(&self) -> bool {
        let lasts = if self.found.is_ok() { FRESH } else { PAUSE };
        self.since.elapsed() < lasts
    }
}

impl Oidc {
    /// The provider that the settings name, if they name one.
    pub(super) fn new(settings: &OidcArguments) -> Result<Option<Arc<Self>>, ServerError> {
        let OidcArguments {
            issuer: Some(issuer),
            client_id: Some(client_id),
            public_url: Some(public_url),
            ..
        } = settings
        else {
            return Ok(None);
        };
        let redirect = format!("{}{CALLBACK}", public_url.trim_end_matches('/'));
        let (Ok(issuer), Ok(redirect)) =
            (IssuerUrl::new(issuer.clone()), RedirectUrl::new(redirect))
        else {
            // Settings that were not verified.
            return Ok(None);
        };
        let addresses = Addresses {
            private: true,
            allow: "",
        };
        let name = concat!("lapidary/", env!("CARGO_PKG_VERSION"));
        Ok(Some(Arc::new(Self {
            issuer,
            client_id: ClientId::new(client_id.clone()),
            secret: settings.secret()?.map(ClientSecret::new),
            redirect,
            name: settings.name.clone(),
            scopes: settings.scopes.clone(),
            groups_claim: settings.groups_claim.clone(),
            agent: addresses.agent(|config| config.timeout_global(Some(PATIENCE)).user_agent(name)),
            permits: Arc::new(Semaphore::new(MOST)),
            known: Mutex::default(),
        })))
    }

    /// What people call the provider.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether browsers reach this server over TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.redirect.url().scheme() == "https"
    }

    /// Does something that waits for the provider.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&Self) -> Result<T, OidcFailure> + Send + 'static,
    ) -> Result<T, OidcFailure> {
        let failed = |why: &str| OidcFailure::Silent(why.to_owned());
        let permit = Arc::clone(&self.permits)
            .try_acquire_owned()
            .map_err(|_| failed("too many sign in at once"))?;
        let (answer, answered) = oneshot::channel();
        let oidc = Arc::clone(self);
        let work = move || {
            let _ = answer.send(act(&oidc));
            drop(permit);
        };
        thread::Builder::new()
            .name("lapidary-oidc".to_owned())
            .spawn(work)
            .map_err(|error| failed(&error.to_string()))?;
        answered
            .await
            .unwrap_or_else(|_| Err(failed("the server failed in the middle of it")))
    }

    /// Begins a sign-in.
    pub(crate) fn begin(&self) -> Result<BegunSignIn, OidcFailure> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let provider = self.provider()?;
        let (url, state, nonce) = provider
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                CsrfToken::new_random,
                Nonce::new_random,
            )
            .add_scopes(self.scopes.iter().cloned().map(Scope::new))
            .set_pkce_challenge(challenge)
            .url();
        Ok(BegunSignIn {
            url: url.into(),
            state: state.secret().clone(),
            nonce: nonce.secret().clone(),
            verifier: verifier.secret().clone(),
        })
    }

    /// Who somebody is whom the provider has sent back with this code, and how long that holds.
    pub(crate) fn identify(
        &self,
        code: String,
        verifier: String,
        nonce: String,
        until: Timestamp,
    ) -> Result<Person, OidcFailure> {
        let provider = self.provider()?;
        let tokens = provider
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|error| OidcFailure::Refused(causes(&error)))?
            .set_pkce_verifier(PkceCodeVerifier::new(verifier))
            .request(&|request: HttpRequest| self.send(request))
            .map_err(|error| match error {
                RequestTokenError::Request(error) => OidcFailure::Silent(unanswered(&error)),
                error => OidcFailure::Refused(causes(&error)),
            })?;
        let nonce = Nonce::new(nonce);
        let claims = match claims_of(&provider, &tokens, &nonce) {
            Err(ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey,
            )) => {
                self.forget();
                let renewed = self.provider()?;
                claims_of(&renewed, &tokens, &nonce)
            }
            claims => claims,
        };
        let claims = claims.map_err(|error| OidcFailure::Refused(causes(&error)))?;
        Ok(self.person_of(claims, until))
    }

    fn person_of(&self, claims: &Claims, until: Timestamp) -> Person {
        let groups = match claims.additional_claims().all.get(&self.groups_claim) {
            Some(Value::Array(groups)) => groups.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(group)) => vec![group.as_str()],
            _ => {
                let claim = &self.groups_claim;
                tracing::warn!("the identity provider sends no claim '{claim}' in its ID tokens");
                Vec::new()
            }
        };
        let email = claims
            .email()
            .filter(|_| claims.email_verified() != Some(false))
            .map(|email| email.as_str());
        let username = claims.preferred_username().map(|name| name.as_str());
        let subject = Some(claims.subject().as_str());
        let named = [email, username, subject].into_iter().flatten();
        Person {
            subject: claims.subject().to_string(),
            names: named.map(str::to_owned).collect(),
            groups: groups.into_iter().map(str::to_owned).collect(),
            until,
        }
    }

    /// Why people cannot sign in with the provider, if they cannot.
    pub(super) fn fault(&self, language: Language) -> Option<Finding> {
        let why = self.discovered().err()?;
        Some(Finding::new(
            FindingCode::UnreachableProvider,
            language.d_unreachable_provider(&self.issuer, &why),
            language.d_unreachable_provider_why(),
            language.d_unreachable_provider_fix(),
        ))
    }

    fn provider(&self) -> Result<Arc<Provider>, OidcFailure> {
        self.discovered().map_err(OidcFailure::Silent)
    }

    /// What is known of the provider. Whoever comes first reads it, and the others wait.
    fn discovered(&self) -> Result<Arc<Provider>, String> {
        let mut known = self.known();
        if let Some(known) = known.as_ref().filter(|known| known.is_current()) {
            return known.found.clone();
        }
        let found = self.discover();
        if let Err(why) = &found {
            tracing::warn!("the identity provider cannot be used: {why}");
        }
        *known = Some(Known {
            since: Instant::now(),
            found: found.clone(),
        });
        found
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock()
    }

    /// Forgets what is known, because it may have changed, unless it was read just now.
    fn forget(&self) {
        self.known().take_if(|known| known.since.elapsed() >= PAUSE);
    }

    fn discover(&self) -> Result<Arc<Provider>, String> {
        let metadata = CoreProviderMetadata::discover(&self.issuer, &|request: HttpRequest| {
            self.send(request)
        })
        .map_err(|error| match error {
            DiscoveryError::Request(error) => unanswered(&error),
            error => causes(&error),
        })?;
        if !is_safe(metadata.authorization_endpoint().url()) {
            return Err("its authorization endpoint has no https:// address".to_owned());
        }
        let (id, secret) = (self.client_id.clone(), self.secret.clone());
        let provider = Provider::from_provider_metadata(metadata, id, secret);
        Ok(Arc::new(provider.set_redirect_uri(self.redirect.clone())))
    }

    /// Sends a request to the provider.
    fn send(&self, request: HttpRequest) -> Result<HttpResponse, ureq::Error> {
        let url = request.uri().to_string();
        if !Url::parse(&url).is_ok_and(|url| is_safe(&url)) {
            return Err(ureq::Error::BadUri(url));
        }
        let (parts, body) = request.into_parts();
        let answer = if parts.method == Method::GET {
            self.agent.run(Request::from_parts(parts, ()))
        } else {
            self.agent.run(Request::from_parts(parts, body))
        }?;
        let (parts, mut body) = answer.into_parts();
        let body = body.with_config().limit(MOST_BYTES).read_to_vec()?;
        Ok(HttpResponse::from_parts(parts, body))
    }
}

/// The claims of an ID token, which is for this server, of its provider, of this sign-in, signed, and not expired.
fn claims_of<'t>(
    provider: &Provider,
    tokens: &'t Tokens,
    nonce: &Nonce,
) -> Result<&'t Claims, ClaimsVerificationError> {
    let token = tokens.id_token().ok_or_else(|| {
        ClaimsVerificationError::Other("the provider sends no ID token".to_owned())
    })?;
    let verifier = provider.id_token_verifier().set_allowed_algs(ALGORITHMS);
    token.claims(&verifier, nonce)
}

/// An error with its causes.
fn causes(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told = format!("{told}: {error}");
        cause = error.source();
    }
    told
}
