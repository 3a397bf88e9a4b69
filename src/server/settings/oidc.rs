//! Arguments for sign-in with an identity provider.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use lapidary_catalogue::permission::{Rate, Unit};
use lapidary_catalogue::{GroupGrant, Members};
use openidconnect::url::{Host, Url};
use serde::{Deserialize, Serialize};

use super::defaults;
use crate::server::ServerError;

/// Sign-in to the web console with an identity provider, beside keys.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Sign-in with OpenID Connect")]
pub struct OidcArguments {
    /// The identity provider, whose discovery document is at this address and `/.well-known/openid-configuration`. Without it,
    /// people sign in with keys alone
    #[arg(
        id = "oidc_issuer",
        long = "oidc-issuer",
        value_name = "URL",
        env = "LAPIDARY_OIDC_ISSUER"
    )]
    pub issuer: Option<String>,
    /// The id of this server at the provider
    #[arg(
        id = "oidc_client_id",
        long = "oidc-client-id",
        value_name = "ID",
        env = "LAPIDARY_OIDC_CLIENT_ID",
        hide_short_help = true
    )]
    pub client_id: Option<String>,
    /// The file with the secret of this server at the provider, if it has one
    #[arg(
        id = "oidc_client_secret",
        long = "oidc-client-secret",
        value_name = "FILE",
        env = "LAPIDARY_OIDC_CLIENT_SECRET",
        hide_short_help = true
    )]
    pub client_secret: Option<PathBuf>,
    /// The address of this server in browsers. The provider must allow redirects to this and `/console/oidc/callback`
    #[arg(
        id = "oidc_public_url",
        long = "oidc-public-url",
        value_name = "URL",
        env = "LAPIDARY_OIDC_PUBLIC_URL",
        hide_short_help = true
    )]
    pub public_url: Option<String>,
    /// The name of the provider on the button
    #[arg(
        id = "oidc_name",
        long = "oidc-name",
        value_name = "NAME",
        env = "LAPIDARY_OIDC_NAME",
        default_value = "OpenID Connect",
        hide_short_help = true
    )]
    pub name: String,
    /// What to ask the provider for, besides `openid`
    #[arg(
        id = "oidc_scopes",
        long = "oidc-scopes",
        value_name = "SCOPE,…",
        env = "LAPIDARY_OIDC_SCOPES",
        value_delimiter = ',',
        default_values = ["email", "profile"],
        hide_short_help = true
    )]
    pub scopes: Vec<String>,
    /// The claim of the ID token that has the groups of a person
    #[arg(
        id = "oidc_groups_claim",
        long = "oidc-groups-claim",
        value_name = "CLAIM",
        env = "LAPIDARY_OIDC_GROUPS_CLAIM",
        default_value = "groups",
        hide_short_help = true
    )]
    pub groups_claim: String,
    /// What the members of groups may do: each is a group, its permissions or roles, and their libraries, such as `editors: texts
    /// in fiction, poetry`. Who is in two has the permissions and the libraries of both together. Who is in none is not let in
    #[arg(
        id = "oidc_groups",
        long = "oidc-groups",
        value_name = "GROUP;…",
        env = "LAPIDARY_OIDC_GROUPS",
        value_delimiter = ';',
        hide_short_help = true
    )]
    pub groups: Vec<GroupGrant>,
    /// The rate of each person
    #[arg(
        id = "oidc_rate",
        long = "oidc-rate",
        value_name = "RATE",
        env = "LAPIDARY_OIDC_RATE",
        hide_short_help = true
    )]
    pub rate: Option<Rate>,
    /// The quota of each person
    #[arg(
        id = "oidc_quota",
        long = "oidc-quota",
        value_name = "RATE",
        env = "LAPIDARY_OIDC_QUOTA",
        hide_short_help = true
    )]
    pub quota: Option<Rate>,
}

impl Default for OidcArguments {
    fn default() -> Self {
        defaults()
    }
}

impl OidcArguments {
    /// Who may sign in, and what for.
    #[must_use]
    pub fn members(&self) -> Members {
        Members {
            issuer: self.issuer.clone().unwrap_or_default(),
            grants: self.groups.clone(),
            rate: self.rate,
            quota: self.quota,
        }
    }

    /// The secret of this server at the provider, if it has one.
    ///
    /// # Errors
    /// [`ServerError::ClientSecret`].
    pub fn secret(&self) -> Result<Option<String>, ServerError> {
        let Some(file) = &self.client_secret else {
            return Ok(None);
        };
        let failed = |why: String| ServerError::ClientSecret {
            file: file.clone(),
            why,
        };
        let secret = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        match secret.trim() {
            "" => Err(failed("it is empty".to_owned())),
            secret => Ok(Some(secret.to_owned())),
        }
    }

    /// Says what is wrong with them, if anything is.
    pub(super) fn verify(&self) -> Result<(), String> {
        let given = [&self.issuer, &self.client_id, &self.public_url];
        if given.iter().all(|one| one.is_none()) && self.groups.is_empty() {
            return Ok(());
        }
        let [Some(issuer), Some(_), Some(public_url)] = given else {
            return Err("'oidc' needs 'issuer', 'client-id' and 'public-url'".to_owned());
        };
        for (name, url) in [("issuer", issuer), ("public-url", public_url)] {
            if !Url::parse(url).is_ok_and(|url| is_safe(&url)) {
                return Err(format!(
                    "'oidc.{name}' is an address with https://, or with http:// on this machine, not '{url}'"
                ));
            }
        }
        if self.groups.is_empty() {
            return Err(
                "'oidc.groups' must say what the members of groups may do: nobody else is let in"
                    .to_owned(),
            );
        }
        if self.quota.is_some_and(|quota| quota.per != Unit::Day) {
            return Err("'oidc.quota' is per day, such as 10000/day".to_owned());
        }
        Ok(())
    }
}

/// Whether nobody between two programs can read what they send.
pub(in crate::server) fn is_safe(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || url.scheme() == "http" && is_here
}
