//! `lapidary serve`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use lapidary::server::{
    self, CertificateError, CertificateFiles, ProxyNetwork, ServerError, Settings,
};
use lapidary_catalogue::parse;
use lapidary_catalogue::permission::Rate;
use lapidary_catalogue::{Backups, Catalogue};
use lapidary_gems::{Recipe, RecipeName, Rule};
use lapidary_store::CACHE_BYTES;
use lapidary_store_redis::ClusterAddress;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::arguments::{FoldsArgument, RuleArguments};
use super::failure::{Failure, Status};
use super::limits::LimitArguments;
use super::listen::Listen;
use super::log::{self, Format};
use super::size::Size;
use super::terminal::out;

/// Serve the HTTP API.
#[derive(Args)]
pub(super) struct Serve {
    /// Read settings from this file. Flags and environment variables override it
    #[arg(long, value_name = "FILE.toml", env = "LAPIDARY_CONFIG")]
    config: Option<PathBuf>,
    /// Print the effective settings, including defaults, or what is wrong with them, and exit
    #[arg(long)]
    check_config: bool,
    /// Open the web console in a browser of this machine, signed in as an administrator. Only on a loopback address
    #[arg(long, conflicts_with = "no_console")]
    open: bool,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    folds: FoldsArgument,
}

/// The settings. A flag overrides an environment variable, which overrides a key in the file.
#[derive(Args, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Options {
    /// The catalogue's folder, created if missing
    #[arg(long, value_name = "DIR", env = "LAPIDARY_DATA")]
    data: Option<PathBuf>,
    /// The Redis Cluster that holds the catalogue, instead of a folder (experimental): redis://HOST:PORT,HOST:PORT…, and
    /// /PREFIX if it is not `lapidary`. Any number of servers can share it
    #[arg(long, value_name = "URL", env = "LAPIDARY_STORE")]
    store: Option<ClusterAddress>,
    /// Listen on this address or host name, and port. A name may stand for several addresses, as localhost does
    /// [default: 127.0.0.1:8093]
    #[arg(long, value_name = "HOST:PORT", env = "LAPIDARY_LISTEN")]
    listen: Option<Listen>,
    /// While there are no keys, accept these host names too, besides localhost and the machine's addresses
    #[arg(
        long,
        value_name = "HOST,…",
        env = "LAPIDARY_ALLOWED_HOSTS",
        value_delimiter = ','
    )]
    allowed_hosts: Option<Vec<String>>,
    /// Believe these proxies, addresses or networks, whom a request comes from (X-Forwarded-For or Forwarded). Limits by address
    /// then count the client, not the proxy [default: none]
    #[arg(
        long,
        value_name = "ADDRESS,…",
        env = "LAPIDARY_TRUSTED_PROXIES",
        value_delimiter = ','
    )]
    trusted_proxies: Option<Vec<ProxyNetwork>>,
    /// Expect a header of the PROXY protocol, version 1 or 2, at the beginning of each connection of a trusted proxy
    #[arg(long, value_name = "BOOL", env = "LAPIDARY_PROXY_PROTOCOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    proxy_protocol: Option<bool>,
    /// Serve HTTPS with the certificate chain in this PEM file. It is reloaded when it changes
    #[arg(long, value_name = "FILE.pem", env = "LAPIDARY_CERTIFICATE")]
    certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE.pem", env = "LAPIDARY_PRIVATE_KEY")]
    private_key: Option<PathBuf>,
    /// The size of the index cache, in bytes or with a unit. The system may cache more in free memory [default: 300MiB]
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_CACHE")]
    cache: Option<Size>,
    /// The largest request body [default: 64MiB]
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_MAX_BODY")]
    max_body: Option<Size>,
    /// Memory limit for all requests together: their bodies and the data built from them. Requests beyond it get a 503
    /// [default: 512MiB]
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_BODY_MEMORY")]
    body_memory: Option<Size>,
    /// How many small requests to process at once, and half as many large ones [default: four per core]
    #[arg(long, value_name = "N", env = "LAPIDARY_CONCURRENT")]
    concurrent: Option<usize>,
    /// How many more requests of each kind may wait. Requests beyond that get a 503 [default: 256]
    #[arg(long, value_name = "N", env = "LAPIDARY_QUEUE")]
    queue: Option<usize>,
    /// Let clients without a key check by gems (`/copyright_check_by_gems/`), up to this rate per address, such as 5/s
    #[arg(long, value_name = "RATE", env = "LAPIDARY_KEYLESS_RATE")]
    keyless_rate: Option<Rate>,
    /// The recipe of gems sent to `/copyright_check_by_gems/`, and of others without a recipe's name that fit it [default:
    /// released once every book has gems of it, else documented]
    #[arg(long, value_name = "RECIPE", env = "LAPIDARY_CLIENT_RECIPE")]
    client_recipe: Option<RecipeName>,
    /// The format of the log on standard error. `RUST_LOG` sets the level [default: text]
    #[arg(long, value_name = "FORMAT", env = "LAPIDARY_LOG_FORMAT", value_enum)]
    log_format: Option<Format>,
    /// Log requests that take this many seconds as warnings [default: 5]
    #[arg(long, value_name = "SECONDS", env = "LAPIDARY_SLOW")]
    slow: Option<f64>,
    /// Report not ready at /readyz with less free disk space than this [default: 256MiB]
    #[arg(long, value_name = "SIZE", env = "LAPIDARY_MIN_FREE")]
    min_free: Option<Size>,
    /// Allow backup jobs, which write to folders directly below this one [default: no backups]
    #[arg(long, value_name = "DIR", env = "LAPIDARY_BACKUPS")]
    backups: Option<PathBuf>,
    /// Allow webhooks to private addresses, such as this machine's and its network's
    #[arg(long, value_name = "BOOL", env = "LAPIDARY_PRIVATE_WEBHOOKS", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    private_webhooks: Option<bool>,
    /// Serve no web console
    #[arg(long, value_name = "BOOL", env = "LAPIDARY_NO_CONSOLE", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    no_console: Option<bool>,
    /// How many sources to fetch at once; with 0, this server fetches none [default: 8]
    #[arg(long, value_name = "N", env = "LAPIDARY_SOURCES")]
    sources: Option<usize>,
    /// The most addresses that may wait for all sources of an ingest key [default: 500000]
    #[arg(long, value_name = "N", env = "LAPIDARY_SOURCES_QUEUE")]
    sources_queue: Option<u64>,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    rule: RuleArguments,
}

impl Serve {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let options = match self.settled() {
            Ok(settled) => settled,
            Err(failure) => {
                log::begin(Format::Text, "warn");
                return Err(failure);
            }
        };
        if self.open && options.no_console == Some(true) {
            return Err(Failure::Input(
                "the settings: --open needs the console, which 'no-console' turns off".to_owned(),
            ));
        }
        let settings = Settings {
            open: self.open,
            ..options.settings()
        };
        if self.check_config {
            let wrong = |error: CertificateError| Failure::Input(error.to_string());
            settings
                .tls
                .as_ref()
                .map_or(Ok(()), CertificateFiles::verify)
                .map_err(wrong)?;
            write!(
                out(false),
                "{}",
                options
                    .effective()
                    .map_err(|e| Failure::Failed(e.to_string()))?
            )?;
            return Ok(Status::Done);
        }
        log::begin(
            options.log_format.unwrap_or_default(),
            "info,actix_server=warn",
        );
        if Timestamp::now() < Timestamp::UNIX_EPOCH {
            // HTTP cannot express such a date.
            let sentence = "the system clock is set to before 1970; correct it and start again";
            return Err(Failure::Failed(sentence.to_owned()));
        }
        log::take_panics();
        let (rule, cache) = (
            options.rule.changes(),
            options.cache.map_or(CACHE_BYTES, Size::in_memory),
        );
        let folder = options.data.clone().unwrap_or_default();
        let open = || {
            let catalogue = match &options.store {
                Some(address) => Catalogue::open_cluster(address)?,
                None => Catalogue::open_or_create_with_cache(&folder, cache)?,
            };
            let catalogue = catalogue.with_rule(rule);
            let backups = options
                .backups
                .clone()
                .map_or(Backups::Nowhere, Backups::Below);
            let catalogue = catalogue
                .with_backups(backups)
                .with_private_webhooks(options.private_webhooks.unwrap_or_default())
                .with_client_recipe(options.client_recipe.clone());
            self.folds.apply(&catalogue)?;
            Ok(catalogue)
        };
        match server::run(open, settings) {
            Ok(()) => Ok(Status::Done),
            Err(ServerError::Catalogue(error)) => Err(error.into()),
            Err(
                error @ (ServerError::Open(_)
                | ServerError::OpenToOthers(_)
                | ServerError::Certificate(_)),
            ) => Err(Failure::Input(error.to_string())),
            Err(error) => Err(Failure::Failed(error.to_string())),
        }
    }

    /// The settings from flags, variables and the file, merged.
    fn settled(&self) -> Result<Options, Failure> {
        let mut table = self
            .config
            .as_deref()
            .map(read)
            .transpose()?
            .unwrap_or_default();
        let stronger = Table::try_from(&self.options)
            .map_err(|e| Failure::Input(format!("the settings: {e}")))?;
        lay_over(&mut table, stronger);
        let options: Options = table
            .try_into()
            .map_err(|e| Failure::Input(format!("the settings: {e}")))?;
        options.verify()?;
        match (&options.data, &options.store) {
            (Some(_), Some(_)) => Err(Failure::Input("the settings: give 'data' or 'store', not both".to_owned())),
            (None, None) => Err(Failure::Input(
                "no catalogue: give --data DIR, set LAPIDARY_DATA, or set data = … in the file; for a Redis Cluster, --store \
                 URL, LAPIDARY_STORE or store = …"
                    .to_owned(),
            )),
            _ => Ok(options),
        }
    }
}

/// Reads a settings file.
fn read(file: &Path) -> Result<Table, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Input(format!("{}: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|e| wrong(&e))?;
    // Parsed as `Options` first, for errors that name the line.
    parse::toml::<Options>(&text).map_err(|e| wrong(&e))?;
    parse::toml(&text).map_err(|e| wrong(&e))
}

/// Overrides the values in `table` with those in `stronger`.
fn lay_over(table: &mut Table, stronger: Table) {
    for (key, value) in stronger {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay_over(below, above),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

impl Options {
    fn verify(&self) -> Result<(), Failure> {
        let wrong = |sentence: &str| Err(Failure::Input(format!("the settings: {sentence}")));
        if self
            .slow
            .is_some_and(|slow| Duration::try_from_secs_f64(slow).is_err())
        {
            return wrong("'slow' is a number of seconds, such as 0.5");
        }
        if self.certificate.is_some() != self.private_key.is_some() {
            return wrong(
                "'certificate' and 'private-key' belong together; give both, or none for plain HTTP",
            );
        }
        if self.proxy_protocol == Some(true)
            && self.trusted_proxies.as_ref().is_none_or(Vec::is_empty)
        {
            return wrong("'proxy-protocol' needs 'trusted-proxies': nobody else is believed");
        }
        if self
            .rule
            .min_share
            .is_some_and(|share| !(0.0..=1.0).contains(&share))
        {
            return wrong("'min-share' is a number from 0 to 1");
        }
        let max_body = self.max_body.map(Size::in_memory);
        for (name, value) in [("max-body", max_body), ("concurrent", self.concurrent)] {
            if value == Some(0) {
                return wrong(&format!("'{name}' must be 1 or more"));
            }
        }
        let Settings {
            max_body,
            body_memory,
            ..
        } = self.settings();
        if body_memory < max_body {
            return wrong(&format!(
                "'body-memory' ({body_memory}) must have room for 'max-body' ({max_body})"
            ));
        }
        Ok(())
    }

    fn settings(&self) -> Settings {
        let default = Settings::default();
        let tls = self.certificate.clone().zip(self.private_key.clone());
        let tls = tls.map(|(certificate, private_key)| CertificateFiles {
            certificate,
            private_key,
        });
        let max_body = self.max_body.map_or(default.max_body, Size::in_memory);
        Settings {
            listen: self
                .listen
                .clone()
                .map_or(default.listen, |listen| listen.addresses),
            allowed_hosts: self.allowed_hosts.clone().unwrap_or_default(),
            trusted_proxies: self.trusted_proxies.clone().unwrap_or_default(),
            proxy_protocol: self.proxy_protocol.unwrap_or_default(),
            tls,
            max_body,
            body_memory: self
                .body_memory
                .map_or_else(|| default.body_memory.max(max_body), Size::in_memory),
            concurrent: self.concurrent.unwrap_or(default.concurrent),
            queue: self.queue.unwrap_or(default.queue),
            keyless_rate: self.keyless_rate.or(default.keyless_rate),
            slow: self
                .slow
                .and_then(|slow| Duration::try_from_secs_f64(slow).ok())
                .unwrap_or(default.slow),
            min_free: self.min_free.map_or(default.min_free, |size| size.0),
            sources: self.sources.unwrap_or(default.sources),
            sources_queue: self.sources_queue.unwrap_or(default.sources_queue),
            limits: self.limits.limits(),
            console: !self.no_console.unwrap_or_default(),
            open: false,
        }
    }

    /// The effective settings as TOML. Settings that are off by default are left out.
    fn effective(self) -> Result<String, toml::ser::Error> {
        let settings = self.settings();
        let default = || {
            settings
                .listen
                .first()
                .and_then(|address| address.to_string().parse().ok())
        };
        let rule = self.rule;
        let all = Self {
            listen: self.listen.or_else(default),
            allowed_hosts: Some(settings.allowed_hosts.clone()),
            trusted_proxies: Some(settings.trusted_proxies.clone()),
            proxy_protocol: Some(settings.proxy_protocol),
            cache: Some(self.cache.unwrap_or(CACHE_BYTES.into())),
            max_body: Some(settings.max_body.into()),
            body_memory: Some(settings.body_memory.into()),
            concurrent: Some(settings.concurrent),
            queue: Some(settings.queue),
            log_format: Some(self.log_format.unwrap_or_default()),
            slow: Some(settings.slow.as_secs_f64()),
            min_free: Some(Size(settings.min_free)),
            private_webhooks: Some(self.private_webhooks.unwrap_or_default()),
            no_console: Some(self.no_console.unwrap_or_default()),
            sources: Some(settings.sources),
            sources_queue: Some(settings.sources_queue),
            limits: settings.limits.into(),
            rule: RuleArguments::default(),
            ..self
        };
        // `rule` is the last table, so its values can be appended.
        Ok(toml::to_string(&all)? + &rule_lines(&rule))
    }
}

/// The values of the rule. Those that differ by recipe are comments.
fn rule_lines(rule: &RuleArguments) -> String {
    let recipes: Vec<Recipe> = Recipe::built_in().collect();
    let values = |recipe: &Recipe| {
        let Rule {
            min_common,
            min_share,
            common_cap,
            min_evidence,
            min_support,
            ..
        } = rule.changes().on(recipe.rule());
        [
            ("min-common", min_common.to_string()),
            ("min-share", format!("{min_share:?}")),
            ("common-cap", common_cap.to_string()),
            ("min-evidence", format!("{min_evidence:?}")),
            ("min-support", format!("{min_support:?}")),
        ]
    };
    let of_each: Vec<_> = recipes.iter().map(values).collect();
    let line = |(i, (name, first)): (usize, &(&str, String))| {
        if of_each.iter().all(|values| values[i].1 == *first) {
            return format!("{name} = {first}\n");
        }
        let of = |(recipe, values): (&Recipe, &[(&str, String); 5])| {
            format!("{} ({})", values[i].1, recipe.name())
        };
        let of_each: Vec<String> = recipes.iter().zip(&of_each).map(of).collect();
        format!("# {name}, by recipe: {}\n", of_each.join(", "))
    };
    of_each
        .first()
        .into_iter()
        .flatten()
        .enumerate()
        .map(line)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Command;

    use super::*;

    /// Every setting is documented. Every documented setting is valid, and its documented value is the default.
    #[test]
    fn the_documented_file_has_the_defaults() {
        let file = include_str!("../../deploy/lapidary.toml");
        let uncommented: Vec<&str> = file
            .lines()
            .map(|line| line.strip_prefix("#: ").unwrap_or(line))
            .collect();
        let options: Options = toml::from_str(&uncommented.join("\n")).expect("settings");
        let default = Settings::default();
        // Settings that are off by default have an example value.
        let Settings {
            keyless_rate, tls, ..
        } = options.settings();
        assert_eq!(
            options.settings(),
            Settings {
                concurrent: 8,
                keyless_rate,
                tls,
                ..default
            }
        );
        let rule = options.rule.changes().on(Rule::default());
        assert_eq!(
            (rule, options.cache),
            (Rule::default(), Some(CACHE_BYTES.into()))
        );
        let flags = |(name, value): (String, Value)| match (name.as_str(), value) {
            ("limits", Value::Table(limits)) => limits
                .into_iter()
                .map(|(name, _)| format!("limit-{name}"))
                .collect(),
            (_, Value::Table(inner)) => inner.into_iter().map(|(name, _)| name).collect(),
            _ => vec![name],
        };
        let documented: BTreeSet<String> = Table::try_from(&options)
            .expect("a table")
            .into_iter()
            .flat_map(flags)
            .collect();
        let command = Options::augment_args(Command::new("serve"));
        let every: BTreeSet<String> = command
            .get_arguments()
            .filter_map(|flag| flag.get_long())
            .map(str::to_owned)
            .collect();
        assert_eq!(documented, every, "every key is documented");
    }
}
