//! Arguments shared by several commands.

use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::{env, fs};

use clap::{ArgAction, ArgGroup, Args};
use jiff::civil::Date;
use lapidary_catalogue::api::RecipeChoice;
use lapidary_catalogue::{Backups, Catalogue, CatalogueError, Recipes, parse};
use lapidary_checking::{Policy, RuleChanges};
use lapidary_common::shell::quoted;
use lapidary_gems::{Boundaries, Lexicon, Recipe};
use lapidary_language::Language;
use lapidary_operations::Done;
use lapidary_store::{Actor, BookId, Rights, Validity};
use lapidary_store_redis::{BadAddress, ClusterAddress};

use super::client::CatalogueClient;
use super::failure::{Failure, Status, if_there};
use super::remote::Remote;
use super::terminal::{out, tell};

/// The variable that names a cluster where no flag names a catalogue.
pub(super) const STORE: &str = "LAPIDARY_STORE";

/// The catalogue to work on.
// Not the derived group: that would hold `allow_volatile` too, which goes with `store`.
#[derive(Args)]
#[group(skip)]
#[command(group(ArgGroup::new("catalogue").required(env::var_os(STORE).is_none()).args(["data", "store", "server"])))]
pub(super) struct Target {
    /// The catalogue's folder
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// The Redis Cluster that holds the catalogue instead (experimental): redis://HOST:PORT,HOST:PORT…, or rediss:// for TLS,
    /// and /PREFIX if it is not `lapidary`. Without any of these, the variable `LAPIDARY_STORE` is read
    #[arg(long, value_name = "URL")]
    pub(super) store: Option<ClusterAddress>,
    #[command(flatten)]
    pub(super) volatile: VolatileArgument,
    /// The URL of a running server to use instead, such as `http://127.0.0.1:8093`
    #[arg(long, value_name = "URL")]
    pub(super) server: Option<String>,
}

/// Whether a cluster may lose its data.
#[derive(Args, Debug, Clone, Copy)]
pub(super) struct VolatileArgument {
    /// Accept a cluster whose nodes do not keep their data on disk, so that it is lost when they stop
    #[arg(long, value_name = "BOOL", env = "LAPIDARY_ALLOW_VOLATILE", action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    allow_volatile: bool,
}

impl VolatileArgument {
    /// The place, used as this argument says.
    pub(super) fn apply(self, place: CataloguePlace) -> CataloguePlace {
        match place {
            CataloguePlace::Cluster(address) => {
                CataloguePlace::Cluster(address.allowing_volatile(self.allow_volatile))
            }
            place => place,
        }
    }
}

/// What every command that lists things takes.
#[derive(Args)]
pub(super) struct Listing {
    #[command(flatten)]
    pub(super) target: Target,
    /// Print JSON Lines
    #[arg(long)]
    pub(super) json: bool,
}

/// Things to remove, by name.
#[derive(Args)]
pub(super) struct Removal {
    #[command(flatten)]
    pub(super) target: Target,
    /// Their names
    #[arg(required = true, value_name = "NAME")]
    pub(super) names: Vec<BookId>,
}

impl Removal {
    /// Removes each, and goes on if one does not exist.
    pub(super) fn each(
        &self,
        kind: &str,
        mut remove: impl FnMut(&BookId) -> Result<Done, Failure>,
    ) -> Result<Status, Failure> {
        let mut status = Status::Done;
        for name in &self.names {
            if if_there(remove(name))?.is_some() {
                writeln!(out(false), "removed {name}")?;
            } else {
                tell(format_args!(
                    "lapidary: there is no {kind} {:?}",
                    name.as_str()
                ));
                status = Status::WrongInput;
            }
        }
        Ok(status)
    }
}

/// Where a catalogue is.
#[derive(Debug, Clone)]
pub(super) enum CataloguePlace {
    /// In a folder.
    Folder(PathBuf),
    /// In a Redis Cluster.
    Cluster(ClusterAddress),
    /// Behind a running server.
    Server(String),
}

impl CataloguePlace {
    /// The folder, or the address of the cluster or the server.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Folder(folder) => folder
                .canonicalize()
                .unwrap_or_else(|_| folder.clone())
                .display()
                .to_string(),
            Self::Cluster(address) => address.to_string(),
            Self::Server(url) => url.clone(),
        }
    }
}

impl FromStr for CataloguePlace {
    type Err = BadAddress;

    fn from_str(written: &str) -> Result<Self, BadAddress> {
        match written.split_once("://") {
            Some(("http" | "https", _)) => Ok(Self::Server(written.to_owned())),
            Some(_) => written.parse().map(Self::Cluster),
            None => Ok(Self::Folder(written.into())),
        }
    }
}

impl Target {
    /// Where it is.
    pub(super) fn place(&self) -> Result<CataloguePlace, Failure> {
        if let Some(folder) = &self.data {
            return Ok(CataloguePlace::Folder(folder.clone()));
        }
        if let Some(url) = &self.server {
            return Ok(CataloguePlace::Server(url.clone()));
        }
        if let Some(address) = &self.store {
            return Ok(self
                .volatile
                .apply(CataloguePlace::Cluster(address.clone())));
        }
        let Ok(written) = env::var(STORE) else {
            return Err(Failure::Input(
                "give a catalogue with --data DIR, --store URL or --server URL".to_owned(),
            ));
        };
        let address = written
            .parse()
            .map_err(|e: BadAddress| Failure::Input(format!("{STORE}: {e}")))?;
        Ok(self.volatile.apply(CataloguePlace::Cluster(address)))
    }

    /// The folder, or the address of the cluster or the server.
    pub(super) fn name(&self) -> String {
        match self.place() {
            Ok(CataloguePlace::Folder(folder)) => folder.display().to_string(),
            Ok(CataloguePlace::Cluster(address)) => address.to_string(),
            Ok(CataloguePlace::Server(url)) => url,
            Err(_) => String::new(),
        }
    }

    /// The flags that name it, for a command to type.
    pub(super) fn flags(&self) -> String {
        let flag = match self.place() {
            Ok(CataloguePlace::Folder(_)) => "--data",
            Ok(CataloguePlace::Cluster(_)) => "--store",
            Ok(CataloguePlace::Server(_)) | Err(_) => "--server",
        };
        format!("{flag} {}", quoted(&self.name()))
    }

    /// Opens an existing catalogue.
    pub(super) fn open(&self) -> Result<CatalogueClient, Failure> {
        self.open_with(None)
    }

    /// Opens a catalogue, or creates one in the folder.
    pub(super) fn open_or_create(&self) -> Result<CatalogueClient, Failure> {
        if self.server.is_some() {
            self.open()
        } else {
            Ok(CatalogueClient::Local(Arc::new(self.open_here()?)))
        }
    }

    /// Opens a catalogue that is not behind a server, or creates one.
    pub(super) fn open_here(&self) -> Result<Catalogue, Failure> {
        match self.place()? {
            CataloguePlace::Folder(folder) => Ok(Catalogue::open_or_create(&folder)?),
            CataloguePlace::Cluster(address) => Ok(Catalogue::open_cluster(&address)?),
            CataloguePlace::Server(_) => Err(Failure::Input(
                "give a catalogue with --data DIR or --store URL".to_owned(),
            )),
        }
    }

    /// Opens an existing catalogue that is not behind a server.
    pub(super) fn open_existing(&self) -> Result<Catalogue, Failure> {
        match self.place()? {
            CataloguePlace::Folder(folder) => Ok(Catalogue::open(&folder)?),
            CataloguePlace::Cluster(_) | CataloguePlace::Server(_) => self.open_here(),
        }
    }

    /// Like [`Target::open`], but checks apply this rule instead of the default.
    pub(super) fn open_with(&self, rule: Option<RuleChanges>) -> Result<CatalogueClient, Failure> {
        match (self.place()?, rule) {
            (CataloguePlace::Server(_), Some(_)) => {
                let sentence =
                    "a server applies its own rule: give these options to `serve` instead";
                return Err(Failure::Input(sentence.to_owned()));
            }
            (CataloguePlace::Server(url), None) => {
                return Ok(CatalogueClient::Remote(Remote::new(&url)?));
            }
            _ => {}
        }
        let catalogue = self
            .open_existing()?
            .with_rule(rule.unwrap_or_default())
            .with_backups(Backups::Anywhere);
        Ok(CatalogueClient::Local(Arc::new(catalogue)))
    }
}

/// The recipe of a command that needs no catalogue.
#[derive(Args)]
pub(super) struct RecipeArguments {
    /// The recipe: documented, released, hardened, hardened-compact, hardened-fine or a signature, such as `tf` or `winnow;k=5` [default:
    /// hardened; with --boundaries, documented]
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,
    #[command(flatten)]
    lexicon: LexiconArgument,
    #[command(flatten)]
    boundaries: BoundariesArgument,
}

impl RecipeArguments {
    /// The recipe as a job takes it. A name with `@` is that of a recipe that only the catalogue knows, unless a file defines it.
    pub(super) fn choice(&self) -> Result<RecipeChoice, Failure> {
        let is_defined = self.lexicon.lexicon.is_some() || self.boundaries.boundaries.is_some();
        match &self.recipe {
            Some(name) if name.contains('@') && !is_defined => {
                Ok(RecipeChoice::Named(name.clone()))
            }
            _ => Ok(RecipeChoice::Defined(self.recipe()?)),
        }
    }

    pub(super) fn recipe(&self) -> Result<Recipe, Failure> {
        let usual = if self.boundaries.boundaries.is_some() {
            "documented"
        } else {
            "hardened"
        };
        self.boundaries.apply(
            self.lexicon
                .recipe("--recipe", self.recipe.as_deref().unwrap_or(usual))?,
        )
    }
}

/// Reads the file that an argument names, and parses it.
pub(super) fn read_argument<T, E: Display>(
    argument: &str,
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Failure> {
    let file = fs::read_to_string(path).map_err(|error| error.to_string());
    file.and_then(|file| parse(&file).map_err(|error| error.to_string()))
        .map_err(|why| Failure::Input(format!("{argument} {}: {why}", path.display())))
}

/// The lexicon of recipes that need one.
#[derive(Args, Default)]
pub(super) struct LexiconArgument {
    /// The lexicon of a signature that weighs words, such as tf-idf: a file that `lexicon count` wrote
    #[arg(long, value_name = "FILE")]
    pub(super) lexicon: Option<PathBuf>,
}

impl LexiconArgument {
    /// The lexicon, if one was given.
    pub(super) fn read(&self) -> Result<Option<Arc<Lexicon>>, Failure> {
        let Some(path) = &self.lexicon else {
            return Ok(None);
        };
        let lexicon = read_argument("--lexicon", path, str::parse)?;
        Ok(Some(Arc::new(lexicon)))
    }

    /// The recipe of a name that was given with a flag.
    pub(super) fn recipe(&self, flag: &str, name: &str) -> Result<Recipe, Failure> {
        Recipe::named(name, self.read()?.as_ref())
            .map_err(|e| Failure::Input(format!("{flag}: {e}")))
    }
}

/// Custom boundary sequences.
#[derive(Args)]
pub(super) struct BoundariesArgument {
    /// Cut at the boundary sequences in this file. This makes a different recipe
    #[arg(long, value_name = "FILE")]
    pub(super) boundaries: Option<PathBuf>,
}

impl BoundariesArgument {
    /// The recipe, with the boundaries from the file if one is given.
    pub(super) fn apply(&self, recipe: Recipe) -> Result<Recipe, Failure> {
        let Some(path) = &self.boundaries else {
            return Ok(recipe);
        };
        if recipe.boundaries().is_none() {
            return Err(Failure::Input(format!(
                "--boundaries: recipe {} does not cut at boundaries",
                recipe.name()
            )));
        }
        let boundaries = read_argument("--boundaries", path, Boundaries::parse)?;
        Ok(recipe.with_boundaries(boundaries))
    }

    /// The requested recipes: given directly, or as a base recipe and boundaries.
    pub(super) fn recipes(&self, given: Option<&Recipes>) -> Result<Recipes, Failure> {
        let base = match (&self.boundaries, given) {
            (None, given) => return Ok(given.cloned().unwrap_or_default()),
            (Some(_), None | Some(Recipes::Usual)) => "documented",
            (Some(_), Some(Recipes::Named(names))) if names.len() == 1 => names[0].as_str(),
            (Some(_), Some(_)) => {
                return Err(Failure::Input(
                    "--boundaries: name one recipe to cut with them".to_owned(),
                ));
            }
        };
        let base = LexiconArgument::default().recipe("--recipe", base)?;
        Ok(Recipes::Named(vec![self.apply(base)?.name().clone()]))
    }
}

/// The language of reports.
#[derive(Args)]
pub(super) struct LanguageArgument {
    /// The language of the report: en or ru
    #[arg(long, value_name = "LANGUAGE", default_value_t)]
    pub(super) lang: Language,
}

/// Whether to keep folds.
#[derive(Args)]
pub(super) struct FoldsArgument {
    /// Keep the folds of books added from now on, so that `reindex` does not need their texts. The catalogue remembers the
    /// setting, true or false
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) keep_folds: Option<bool>,
}

impl FoldsArgument {
    pub(super) fn apply(&self, catalogue: &Catalogue) -> Result<(), CatalogueError> {
        self.keep_folds
            .map_or(Ok(()), |keep| catalogue.by(Actor::Local).keep_folds(keep))
    }
}

/// The days on which rights are in effect.
#[derive(Args)]
pub(super) struct Days {
    /// The first day on which the rights are valid, in UTC
    #[arg(long, value_name = "YYYY-MM-DD")]
    from: Option<Date>,
    /// The last day on which the rights are valid, in UTC
    #[arg(long, value_name = "YYYY-MM-DD")]
    until: Option<Date>,
    /// The rights on all other days
    #[arg(long, value_name = "RIGHTS", default_value = "unknown")]
    otherwise: Rights,
}

impl Days {
    /// Whether they are limited.
    pub(super) fn are_given(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }
}

impl From<Days> for Validity {
    fn from(
        Days {
            from,
            until,
            otherwise,
        }: Days,
    ) -> Self {
        Self {
            from,
            until,
            otherwise,
        }
    }
}

/// Reads a policy in JSON.
pub(super) fn policy(json: &str) -> Result<Policy, String> {
    parse::json(json.as_bytes())
}
