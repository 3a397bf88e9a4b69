//! `lapidary serve`.

use std::fmt::Display;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use jiff::Timestamp;
use lapidary::server::settings::{LogFormat, RuleArguments, Settings, Size};
use lapidary::server::{self, CertificateFiles, ServerError};
use lapidary_catalogue::parse;
use lapidary_catalogue::{Backups, Catalogue, CatalogueError, EvidenceLimits};
use lapidary_gems::{Recipe, RecipeName};
use toml::{Table, Value};

use super::arguments::FoldsArgument;
use super::failure::{Failure, Status};
use super::log;
use super::terminal::out;

/// Serve the HTTP API.
#[derive(Args)]
pub(super) struct ServeArgs {
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
    given: GivenSettings,
    #[command(flatten)]
    folds: FoldsArgument,
}

/// The settings that flags and environment variables give, without defaults.
struct GivenSettings(Table);

impl Args for GivenSettings {
    fn augment_args(command: Command) -> Command {
        Settings::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Settings::augment_args_for_update(command)
    }
}

impl FromArgMatches for GivenSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let settings = Settings::from_arg_matches(matches)?;
        let all = Table::try_from(settings)
            .map_err(|e| clap::Error::raw(ErrorKind::ValueValidation, format!("{e}\n")))?;
        Ok(Self(given(all, "", matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The values of a table that a flag or a variable gives. Flags of some tables have a prefix.
fn given(table: Table, prefix: &str, matches: &ArgMatches) -> Table {
    let mut given_values = Table::new();
    for (key, value) in table {
        let id = format!("{prefix}{key}").replace('-', "_");
        match value {
            Value::Table(inner) => {
                let prefix = match key.as_str() {
                    "limits" => "limit_",
                    "oidc" => "oidc_",
                    "s3" => "s3_",
                    _ => "",
                };
                given_values.insert(key, Value::Table(given(inner, prefix, matches)));
            }
            value => {
                let source = matches.value_source(&id);
                if source.is_some_and(|source| source != ValueSource::DefaultValue) {
                    given_values.insert(key, value);
                }
            }
        }
    }
    given_values
}

impl ServeArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        let settings = match self.settings() {
            Ok(settings) => settings,
            Err(failure) => {
                log::begin(LogFormat::Text, "warn");
                return Err(failure);
            }
        };
        if self.check_config {
            return print_effective(&settings);
        }
        log::begin(settings.log_format, "info,actix_server=warn");
        if Timestamp::now() < Timestamp::UNIX_EPOCH {
            // HTTP cannot express such a date.
            let sentence = "the system clock is set to before 1970; correct it and start again";
            return Err(Failure::Failed(sentence.to_owned()));
        }
        log::take_panics();
        match server::run(|| open(&settings, &self.folds), settings.clone()) {
            Ok(()) => Ok(Status::Done),
            Err(ServerError::Catalogue(error)) => Err(error.into()),
            Err(
                error @ (ServerError::Open(_)
                | ServerError::OpenToOthers(_)
                | ServerError::ClientSecret { .. }
                | ServerError::Buckets(_)
                | ServerError::Certificate(_)),
            ) => Err(Failure::Input(error.to_string())),
            Err(error) => Err(Failure::Failed(error.to_string())),
        }
    }

    /// The settings from flags, variables and the file, merged.
    fn settings(&self) -> Result<Settings, Failure> {
        let mut table = match &self.config {
            Some(file) => read(file)?,
            None => Table::new(),
        };
        lay_over(&mut table, self.given.0.clone());
        let settings = Settings {
            open: self.open,
            ..table.try_into().map_err(|e| wrong(&e))?
        };
        settings.verify().map_err(|e| wrong(&e))?;
        if settings.open && settings.no_console {
            return Err(wrong(
                &"--open needs the console, which 'no-console' turns off",
            ));
        }
        match (&settings.data, &settings.store) {
            (Some(_), Some(_)) => Err(wrong(&"give 'data' or 'store', not both")),
            (None, None) => Err(Failure::Input(
                "no catalogue: give --data DIR, set LAPIDARY_DATA, or set data = … in the file; for a Redis Cluster, --store \
                 URL, LAPIDARY_STORE or store = …"
                    .to_owned(),
            )),
            _ => Ok(settings),
        }
    }
}

fn wrong(why: &dyn Display) -> Failure {
    Failure::Input(format!("the settings: {why}"))
}

/// Reads a settings file.
fn read(file: &Path) -> Result<Table, Failure> {
    fs::read_to_string(file)
        .map_err(|error| error.to_string())
        .and_then(|text| {
            // Parsed as `Settings` first, for errors that name the line.
            parse::toml::<Settings>(&text)?;
            parse::toml(&text)
        })
        .map_err(|why| Failure::Input(format!("{}: {why}", file.display())))
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

/// Opens the catalogue that the settings name.
fn open(settings: &Settings, folds: &FoldsArgument) -> Result<Catalogue, CatalogueError> {
    let catalogue = match (&settings.store, &settings.data) {
        (Some(address), _) => {
            let address = address.clone().allowing_volatile(settings.allow_volatile);
            Catalogue::open_cluster(&address)?
        }
        (None, folder) => {
            let folder = folder.as_deref().unwrap_or(Path::new(""));
            Catalogue::open_or_create_with_cache(folder, settings.cache.in_memory())?
        }
    };
    let backups = match &settings.backups {
        Some(folder) => Backups::Below(folder.clone()),
        None => Backups::Nowhere,
    };
    let catalogue = catalogue
        .with_rule(settings.rule.changes())
        .with_backups(backups)
        .with_private_webhooks(settings.private_webhooks)
        .with_client_recipe(settings.client_recipe.clone())
        .with_evidence(EvidenceLimits {
            days: settings.keep_evidence_days,
            bytes: settings.max_evidence(),
        })
        .with_watching(settings.watching())
        .with_members(settings.oidc.members());
    folds.apply(&catalogue)?;
    Ok(catalogue)
}

/// Prints the settings as TOML. Those that are off by default are left out.
fn print_effective(settings: &Settings) -> Result<Status, Failure> {
    settings
        .tls()
        .as_ref()
        .map_or(Ok(()), CertificateFiles::verify)
        .map_err(|e| Failure::Input(e.to_string()))?;
    settings
        .oidc
        .secret()
        .map_err(|e| Failure::Input(e.to_string()))?;
    let effective = Settings {
        body_memory: Some(settings.body_memory().into()),
        max_evidence: Some(Size(settings.max_evidence())),
        max_watched: Some(Size(settings.watching().bytes)),
        rule: RuleArguments::default(),
        ..settings.clone()
    };
    // `rule` is the last table, so its values can be appended.
    let text = toml::to_string(&effective)
        .and_then(|text| Ok(text + &rule_lines(&settings.rule)?))
        .map_err(|e| Failure::Failed(e.to_string()))?;
    write!(out(false), "{text}")?;
    Ok(Status::Done)
}

/// The values of the rule. Those that differ by recipe are comments.
fn rule_lines(changes: &RuleArguments) -> Result<String, toml::ser::Error> {
    let mut of_recipes = Vec::new();
    for recipe in Recipe::built_in() {
        let rule = Table::try_from(changes.on(recipe.rule()))?;
        of_recipes.push((recipe.name().clone(), rule));
    }
    let keys = of_recipes.iter().take(1).flat_map(|(_, rule)| rule.keys());
    Ok(keys.map(|key| rule_line(key, &of_recipes)).collect())
}

fn rule_line(key: &str, of_recipes: &[(RecipeName, Table)]) -> String {
    let mut values = of_recipes.iter().map(|(name, rule)| (name, &rule[key]));
    match values.next() {
        Some((_, value)) if values.clone().all(|(_, other)| other == value) => {
            format!("{key} = {value}\n")
        }
        first => {
            let values = first.into_iter().chain(values);
            let values: Vec<_> = values
                .map(|(name, value)| format!("{value} ({name})"))
                .collect();
            format!("# {key}, by recipe: {}\n", values.join(", "))
        }
    }
}
