//! `lapidary keys`: manages API keys.

use std::io::Write as _;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use lapidary_catalogue::api::{Key, MadeKey, NewKey, Rotation};
use lapidary_catalogue::permission::{Permission, Rate, Role, Unless};
use lapidary_operations::keys::{ListKeys, MakeKey, RevokeKey, RotateKey};
use lapidary_store::Library;

use super::arguments::{Listing, Target};
use super::failure::{Failure, Status};
use super::terminal::{lines, out, tell};

/// Create, list, rotate or revoke API keys.
#[derive(Args)]
pub(super) struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Subcommand)]
enum KeysCommand {
    /// Create a key and print its secret, which is shown only once
    Add(Box<NewKeyArguments>),
    /// List all keys
    List(Listing),
    /// Create a new secret for a key and print it. The old one stays valid for the overlap time
    Rotate {
        #[command(flatten)]
        target: Target,
        /// How long the old secret stays valid, such as 1d, 12h or 0s
        #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "1d")]
        overlap: Duration,
        /// The key's name
        name: String,
    },
    /// Revoke a key immediately
    Revoke {
        #[command(flatten)]
        target: Target,
        /// The key's name
        name: String,
    },
}

#[derive(Args)]
struct NewKeyArguments {
    #[command(flatten)]
    target: Target,
    /// What the key permits, as a usual set of permissions: check; texts (check, read texts and review); ingest; or admin
    #[arg(long, required_unless_present = "permissions")]
    role: Option<Role>,
    /// What else the key permits. Can be given several times
    #[arg(long = "permission", value_name = "PERMISSION", value_parser = permission())]
    permissions: Vec<Permission>,
    /// A library for which the key can ingest, read texts, follow or review. Can be given several times
    #[arg(long = "library", value_name = "LIBRARY")]
    libraries: Vec<Library>,
    /// For a key that can ingest: the books of its libraries decide for everybody
    #[arg(long, conflicts_with = "untrusted")]
    trusted: bool,
    /// For a key that can ingest: the books of its libraries decide only for their own keys. For everybody else, they are
    /// information
    #[arg(long)]
    untrusted: bool,
    /// For a key that can ingest: each book that it adds or replaces must pass this gate, which is protected: it is refused if
    /// the verdict of its check is this, or stricter
    #[arg(long, value_name = "VERDICT")]
    must_gate: Option<Unless>,
    /// The maximum request rate, such as 50/s or 600/min
    #[arg(long)]
    rate: Option<Rate>,
    /// The maximum number of requests per day, such as 100000/day
    #[arg(long)]
    quota: Option<Rate>,
    /// When the key expires: a day (2027-01-31), a time (2027-01-31T12:00:00Z), or a time from now (90d)
    #[arg(long, value_name = "WHEN", value_parser = instant)]
    expires: Option<Timestamp>,
    /// The key's name
    name: String,
}

impl KeysArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            KeysCommand::Add(add) => {
                let catalogue = add.target.open_or_create()?;
                told(&catalogue.call::<MakeKey>((), add.key())?)
            }
            KeysCommand::List(Listing { target, json }) => {
                list(&target.open()?.all::<ListKeys>(&())?, json)
            }
            KeysCommand::Rotate {
                target,
                overlap,
                name,
            } => {
                let overlap_seconds = u32::try_from(overlap.as_secs())
                    .map_err(|_| Failure::Input("--overlap: give a shorter time".to_owned()))?;
                let rotation = Rotation { overlap_seconds };
                told(&target.open()?.call::<RotateKey>(name, rotation)?)
            }
            KeysCommand::Revoke { target, name } => {
                target.open()?.call::<RevokeKey>(name, ())?;
                Ok(Status::Done)
            }
        }
    }
}

impl NewKeyArguments {
    fn key(&self) -> NewKey {
        NewKey {
            name: self.name.clone(),
            role: self.role,
            permissions: self.permissions.iter().copied().collect(),
            libraries: self.libraries.iter().cloned().collect(),
            trusted: (self.trusted || self.untrusted).then_some(self.trusted),
            must_gate: self.must_gate,
            rate: self.rate,
            quota: self.quota,
            expires_at: self.expires,
        }
    }
}

fn permission() -> impl TypedValueParser<Value = Permission> {
    PossibleValuesParser::new(Permission::ALL.map(Permission::as_str))
        .try_map(|word| word.parse::<Permission>())
}

/// Prints a new key. Only the secret goes to standard output, so that a program can read it from there.
fn told(made: &MadeKey) -> Result<Status, Failure> {
    tell(line(&made.key));
    tell(
        "this secret is shown only once and is not stored; clients send it as 'Authorization: Bearer KEY':",
    );
    writeln!(out(false), "{}", made.secret)?;
    Ok(Status::Done)
}

fn list(keys: &[Key], json: bool) -> Result<Status, Failure> {
    let mut out = out(json);
    lines(&mut out, json, keys, line)?;
    Ok(Status::Done)
}

/// Describes a key in one line.
fn line(key: &Key) -> String {
    let role = key.role.iter().map(ToString::to_string);
    let permissions = key.permissions.iter().map(ToString::to_string);
    let permitted: Vec<String> = role.chain(permissions).collect();
    let mut words = vec![format!("{}: {}", key.name, permitted.join(", "))];
    words.extend(key.libraries.iter().map(|library| format!("of {library}")));
    words.extend(
        key.must_gate
            .map(|Unless::Protected| "must gate: protected".to_owned()),
    );
    words.extend(key.rate.iter().chain(&key.quota).map(ToString::to_string));
    words.extend(key.expires_at.map(|expires| {
        format!(
            "{} {expires}",
            if key.has_expired() {
                "expired"
            } else {
                "expires"
            }
        )
    }));
    format!(
        "{} (id {}, created {})",
        words.join(", "),
        key.id,
        key.created_at
    )
}

pub(super) fn instant(text: &str) -> Result<Timestamp, String> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    if let Ok(day) = text.parse::<Date>() {
        return day
            .to_zoned(TimeZone::UTC)
            .map(|start| start.timestamp())
            .map_err(|e| e.to_string());
    }
    let from_now = text
        .parse::<Span>()
        .and_then(|span| Timestamp::now().to_zoned(TimeZone::UTC).checked_add(span));
    from_now.map(|end| end.timestamp()).map_err(|_| {
        "give a day (2027-01-31), a time (2027-01-31T12:00:00Z), or a time from now (90d)"
            .to_owned()
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<Span>()
        .and_then(|span| span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()))
        .and_then(Duration::try_from)
        .map_err(|_| "give a time such as 1d, 12h or 0s".to_owned())
}
