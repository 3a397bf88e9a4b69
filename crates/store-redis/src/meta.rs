//! What belongs to the catalogue as a whole, in one slot: recipes and totals, and what is added to the audit log.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use lapidary_gems::Recipe;
use redis::{FromRedisValue, Value};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Shared;
use super::address::ClusterAddress;
use super::audit::KEPT;
use super::command::Command;
use super::error::damaged;
use super::keys::SHARDS;
use super::scripts::{CORRECT, MOVE};
use super::sharing::Fence;
use super::totals::{self, Totals};
use lapidary_store::recipes::{KnownRecipe, Recipes};
use lapidary_store::summary::counts;
use lapidary_store::{Action, Actor, Library, LibrarySummary, Record, Sizes, StoreError};

/// How often to start again, when others change the recipes too.
const TRIES: usize = 20;
/// The version of everything that is stored. Any change of a key, a value or an encoding needs a new version.
pub(super) const FORMAT_VERSION: u32 = 6;

/// What all versions of the stored recipes have. The first ones did not name theirs.
#[derive(Deserialize)]
struct StoredFormat {
    #[serde(default)]
    format: u32,
}

/// The recipes as they are stored, the default first.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredRecipes {
    /// The version of the catalogue.
    format: u32,
    /// How often they changed.
    #[serde(default)]
    version: u64,
    /// The number of the next recipe. Numbers are not used again: something of a dropped recipe may have been left.
    next: u16,
    recipes: Vec<StoredRecipe>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRecipe {
    number: u16,
    recipe: Recipe,
    ready: bool,
    leaving: bool,
    bucket_bits: u32,
}

impl From<KnownRecipe> for StoredRecipe {
    fn from(known: KnownRecipe) -> Self {
        let KnownRecipe {
            number,
            recipe,
            ready,
            leaving,
            bucket_bits,
            ..
        } = known;
        Self {
            number,
            recipe,
            ready,
            leaving,
            bucket_bits,
        }
    }
}

fn refuse_other(address: &ClusterAddress, format: u32) -> Result<(), StoreError> {
    let advice = match format.cmp(&FORMAT_VERSION) {
        Ordering::Equal => return Ok(()),
        Ordering::Greater => "update lapidary",
        Ordering::Less => {
            "run `lapidary export --store URL books.ndjson` of the older program, and then `lapidary import --store \
             URL-WITH-NEW-PREFIX books.ndjson` of this one"
        }
    };
    Err(StoreError::Version {
        path: address.to_string(),
        found: format.to_string(),
        supported: FORMAT_VERSION,
        advice,
    })
}

/// The recipes at some time.
#[derive(Debug, Default)]
pub(super) struct RecipesThen {
    recipes: Recipes,
    /// How often they had changed.
    pub(super) version: u64,
    /// The number of the next recipe.
    next: u16,
    /// What they were stored as.
    text: String,
}

impl RecipesThen {
    /// Reads what they are stored as.
    ///
    /// # Errors
    /// [`StoreError::Version`] if the catalogue is of another version, and [`StoreError::Damaged`].
    pub(super) fn read(address: &ClusterAddress, text: String) -> Result<Self, StoreError> {
        let unreadable = |_| damaged(address, "the recipes cannot be read");
        let StoredFormat { format } = serde_json::from_str(&text).map_err(unreadable)?;
        refuse_other(address, format)?;
        let StoredRecipes {
            format: _,
            version,
            next,
            recipes,
        } = serde_json::from_str(&text).map_err(unreadable)?;
        let known = recipes.into_iter().map(|stored| {
            let StoredRecipe {
                number,
                recipe,
                ready,
                leaving,
                bucket_bits,
            } = stored;
            KnownRecipe {
                leaving,
                bucket_bits,
                ..KnownRecipe::new(number, recipe, ready)
            }
        });
        Ok(Self {
            recipes: Recipes(known.collect()),
            version,
            next,
            text,
        })
    }

    /// Whether all shards have been told a version of them.
    pub(super) fn is_stamped(&self) -> bool {
        self.version > 0
    }

    /// What they are stored as.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Deref for RecipesThen {
    type Target = Recipes;

    fn deref(&self) -> &Recipes {
        &self.recipes
    }
}

/// The totals that do not match the books.
#[derive(Debug, Default)]
pub(super) struct WrongTotals {
    pub(super) all: Vec<WrongTotal>,
    /// The last correction before they were compared.
    pub(super) corrected: String,
}

/// A total that does not match the books.
#[derive(Debug)]
pub(super) enum WrongTotal {
    /// By how much a sum is too small.
    Sum { key: String, by: i64 },
    /// When a library changed last.
    Time { key: String, at: String },
}

impl WrongTotal {
    pub(super) fn key(&self) -> &str {
        match self {
            Self::Sum { key, .. } | Self::Time { key, .. } => key,
        }
    }
}

/// What a change adds to the totals.
#[derive(Debug, Default)]
pub(super) struct Sums {
    sums: BTreeMap<String, i64>,
    /// When each library changed, as text that sorts like the time.
    most: BTreeMap<String, String>,
}

/// An entry of an outbox.
#[derive(Serialize)]
struct OutboxEntry<'a> {
    audit: &'a [String],
    /// The sums as text, because a script's numbers are not exact.
    sums: Vec<(&'a String, String)>,
    most: Vec<(&'a String, &'a String)>,
}

impl Sums {
    /// Adds a book, or takes it away.
    pub(super) fn count(&mut self, library: u32, record: &Record, recipes: &Recipes, taken: bool) {
        let sign = if taken { -1 } else { 1 };
        for (i, count) in counts(record).into_iter().enumerate() {
            *self.sums.entry(format!("l:{library}:{i}")).or_default() += sign * count.cast_signed();
        }
        let mut numbers: Vec<String> = Vec::new();
        for (name, gems) in &record.gems {
            let Ok(recipe) = recipes.named(name) else {
                continue;
            };
            numbers.push(recipe.number.to_string());
            let class = format!("s:{}:{}", recipe.number, Sizes::class(*gems));
            *self.sums.entry(format!("{class}:0")).or_default() += sign;
            *self.sums.entry(format!("{class}:1")).or_default() += sign * i64::from(*gems);
        }
        numbers.sort_unstable();
        *self
            .sums
            .entry(format!("r:{library}:{}", numbers.join(".")))
            .or_default() += sign;
    }

    /// Notes when the library changed.
    pub(super) fn touch(&mut self, library: u32, at: Timestamp) {
        let at = format!("{:032}", at.as_nanosecond() + (1 << 100));
        let known = self.most.entry(format!("c:{library}")).or_default();
        *known = at.max(std::mem::take(known));
    }

    /// Compares these, as sums of all books, with the totals. Returns what is wrong.
    pub(super) fn compared(&self, totals: &Totals) -> WrongTotals {
        let corrected = totals.corrected();
        let totals = &totals.sums;
        let kept = |key: &String| {
            totals
                .get(key)
                .and_then(|sum| sum.parse().ok())
                .unwrap_or(0)
        };
        let of_books = totals
            .keys()
            .filter(|key| ["l:", "s:", "r:"].iter().any(|kind| key.starts_with(kind)));
        let all: BTreeSet<&String> = of_books.chain(self.sums.keys()).collect();
        let wrong = all
            .into_iter()
            .map(|key| (key.clone(), self.sums.get(key).unwrap_or(&0) - kept(key)));
        let mut wrong: Vec<WrongTotal> = wrong
            .filter(|(_, by)| *by != 0)
            .map(|(key, by)| WrongTotal::Sum { key, by })
            .collect();
        let earlier = self
            .most
            .iter()
            .filter(|(key, at)| totals.get(*key).is_none_or(|known| known < *at));
        wrong.extend(earlier.map(|(key, at)| WrongTotal::Time {
            key: key.clone(),
            at: at.clone(),
        }));
        WrongTotals {
            all: wrong,
            corrected,
        }
    }

    /// The entry of an outbox with these sums.
    pub(super) fn entry(&self, audit: &[String]) -> Vec<u8> {
        let sums = self.sums.iter().filter(|(_, sum)| **sum != 0);
        let outgoing = OutboxEntry {
            audit,
            sums: sums.map(|(key, sum)| (key, sum.to_string())).collect(),
            most: self.most.iter().collect(),
        };
        serde_json::to_vec(&outgoing).unwrap_or_default()
    }
}

/// Recipes, totals and the audit log.
pub(super) struct Meta<'s>(pub(super) &'s Shared);

impl Meta<'_> {
    /// The recipes as they are now.
    pub(super) fn recipes(&self) -> Result<Arc<RecipesThen>, StoreError> {
        self.recipes_in(self.0.read_now(self.recipes_command())?)
    }

    /// The recipes when they were last read.
    pub(super) fn last_recipes(&self) -> Arc<RecipesThen> {
        self.0.last_recipes.read().clone()
    }

    pub(super) fn recipes_command(&self) -> Command {
        Command::bare("GET", &self.0.keys.meta("recipes"))
    }

    /// The recipes that the command has read.
    pub(super) fn recipes_in(&self, read: Value) -> Result<Arc<RecipesThen>, StoreError> {
        let text = self.0.answer::<Option<String>>(read)?.unwrap_or_default();
        let last = self.last_recipes();
        if last.text == text {
            return Ok(last);
        }
        if text.is_empty() {
            return Err(self.0.stamps().lost_recipes());
        }
        let recipes = Arc::new(RecipesThen::read(self.0.address(), text)?);
        // They change when numbers were lost, too.
        self.0.numbering().doubt();
        *self.0.last_recipes.write() = recipes.clone();
        Ok(recipes)
    }

    /// Changes the recipes. `change` gets them and an unused number; it returns the entries of the audit log, or `None` to
    /// change nothing. Afterwards, nobody can change a book according to the recipes as they were.
    pub(super) fn change_recipes(
        &self,
        by: &Actor,
        fences: &[Fence],
        mut change: impl FnMut(&mut Recipes, u16) -> Result<Option<Vec<Action>>, StoreError>,
    ) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            let then = self.recipes()?;
            let (mut recipes, version, next) = (then.recipes.clone(), then.version, then.next);
            let count = recipes.0.len();
            if !then.is_stamped() && self.0.client.witnesses().has_no_clocks()? {
                self.0.client.witnesses().begin_clocks()?;
            }
            // Whoever made the change before may have been stopped before this was done.
            self.0.stamp(version)?;
            self.copy_recipes(&then.text)?;
            let Some(actions) = change(&mut recipes, next)? else {
                return Ok(());
            };
            let version = version + 1;
            let next = if recipes.0.len() > count {
                next + 1
            } else {
                next
            };
            let after = serde_json::to_string(&StoredRecipes {
                format: FORMAT_VERSION,
                version,
                next,
                recipes: recipes.0.into_iter().map(StoredRecipe::from).collect(),
            });
            let after = after.map_err(|why| self.0.damaged(why.to_string()))?;
            let rows = self.0.rows();
            if rows.apply_with(by, fences, &[], &actions, Some((&then.text, &after)))? {
                self.0.stamp(version)?;
                return self.copy_recipes(&after);
            }
        }
        Err(StoreError::Changed("the list of recipes".to_owned()))
    }

    /// Leaves copies of the recipes in all shards, for the day on which their own node loses them.
    fn copy_recipes(&self, text: &str) -> Result<(), StoreError> {
        if text.is_empty() {
            return Ok(());
        }
        let copies: Vec<Command> = (0..SHARDS)
            .map(|shard| Command::new("SET", &self.0.keys.shard(shard, "recipes:copy"), text))
            .collect();
        self.0.client.write(&copies).map(drop)
    }

    /// Reads something of the catalogue as a whole, from a node that has its data still.
    pub(super) fn read_meta<T: FromRedisValue>(&self, command: Command) -> Result<T, StoreError> {
        let mut answers = self.0.client.read_now(&[command, self.recipes_command()])?;
        self.recipes_in(answers.pop().unwrap_or_default())?;
        self.0.answer(answers.pop().unwrap_or_default())
    }

    /// Moves entries of outboxes to the audit log and the totals: for each its shard, its number, and itself. Returns which
    /// were moved; the others wait for those before them.
    pub(super) fn move_entries(
        &self,
        entries: &[(u32, u64, Vec<u8>)],
    ) -> Result<Vec<bool>, StoreError> {
        let keys = ["audit", "totals", "moved"].map(|name| self.0.keys.meta(name));
        let commands: Vec<Command> = entries
            .iter()
            .map(|(shard, number, entry)| {
                let version = token();
                let numbers = [KEPT.to_string(), shard.to_string(), number.to_string()];
                let [kept, shard, number] = numbers.each_ref().map(String::as_bytes);
                let arguments = [kept, shard, number, entry.as_slice(), version.as_bytes()];
                Command::script(&MOVE, &keys, &arguments[..])
            })
            .collect();
        let moved = self.0.client.write(&commands)?;
        moved
            .into_iter()
            .map(|moved| Ok(self.0.answer::<i64>(moved)? == 1))
            .collect()
    }

    /// The totals as they are now.
    pub(super) fn totals(&self) -> Result<Arc<Totals>, StoreError> {
        let totals = Command::bare("HGETALL", &self.0.keys.meta("totals"));
        let totals = Arc::new(Totals::read(self.read_meta(totals)?));
        *self.0.last_totals.write() = Arc::clone(&totals);
        Ok(totals)
    }

    /// Reads their version, which says whether they must be read.
    pub(super) fn totals_version_command(&self) -> Command {
        let totals = self.0.keys.meta("totals");
        Command::new("HGET", &totals, totals::VERSION)
    }

    /// The totals of this version, if it is the one that was last read.
    pub(super) fn totals_of(&self, version: Value) -> Result<Option<Arc<Totals>>, StoreError> {
        let version: Option<String> = self.0.answer(version)?;
        let last = self.0.last_totals.read();
        let is_last = version.is_some() && last.version() == version.as_ref();
        Ok(is_last.then(|| Arc::clone(&last)))
    }

    /// Corrects totals, in one step. Returns whether it did: not if somebody else has since they were compared.
    pub(super) fn correct_totals(&self, wrong: WrongTotals) -> Result<bool, StoreError> {
        if wrong.all.is_empty() {
            return Ok(true);
        }
        let mut sums = Sums::default();
        for total in wrong.all {
            match total {
                WrongTotal::Sum { key, by } => drop(sums.sums.insert(key, by)),
                WrongTotal::Time { key, at } => drop(sums.most.insert(key, at)),
            }
        }
        let keys = [self.0.keys.meta("totals")];
        let arguments = (sums.entry(&[]), wrong.corrected, token());
        let answer = self
            .0
            .write_one(Command::script(&CORRECT, &keys, arguments))?;
        Ok(self.0.answer::<u8>(answer)? == 1)
    }

    /// The summaries of all libraries that hold books, sorted by name.
    pub(super) fn summaries(
        &self,
        totals: &Totals,
        recipes: &RecipesThen,
    ) -> Result<Vec<Arc<LibrarySummary>>, StoreError> {
        if let Some((version, summaries)) = totals.summaries.get()
            && *version == recipes.version
        {
            return Ok(summaries.clone());
        }
        let mut by_recipes = by_recipes(totals, recipes);
        let mut summaries = Vec::new();
        for number in totals.sums.keys().filter_map(|key| {
            key.strip_prefix("l:")?
                .strip_suffix(":0")?
                .parse::<u32>()
                .ok()
        }) {
            let [books, disabled, bytes, kept_texts, kept_bytes, quarantined] =
                [0, 1, 2, 3, 4, 5].map(|i| totals.sum(&format!("l:{number}:{i}")));
            if books == 0 {
                continue;
            }
            let at = totals.sums.get(&format!("c:{number}"));
            let at = at.and_then(|at| at.parse::<i128>().ok());
            let changed = at.and_then(|at| Timestamp::from_nanosecond(at - (1 << 100)).ok());
            summaries.push(Arc::new(LibrarySummary {
                library: self.library_named(number)?,
                books,
                disabled,
                quarantined,
                bytes,
                kept_texts,
                kept_bytes,
                recipes: by_recipes.remove(&number).unwrap_or_default(),
                changed_at: changed.unwrap_or(Timestamp::UNIX_EPOCH),
            }));
        }
        summaries.sort_by(|a, b| a.library.cmp(&b.library));
        let _ = totals.summaries.set((recipes.version, summaries.clone()));
        Ok(summaries)
    }

    /// The distribution of gem counts under a recipe.
    pub(super) fn sizes(&self, totals: &Totals, recipe: &KnownRecipe) -> Result<Sizes, StoreError> {
        let sizes = totals.sizes(recipe);
        sizes.ok_or_else(|| self.0.damaged("the totals cannot be read"))
    }

    fn library_named(&self, number: u32) -> Result<Library, StoreError> {
        let name = || {
            let owners = self.0.read_owners();
            owners.name(number).cloned()
        };
        if name().is_none() {
            self.0.numbering().learn_libraries()?;
        }
        name().ok_or_else(|| self.0.damaged(format!("library {number} has no name")))
    }
}

/// How many books of each library have gems of which recipes, as in [`LibrarySummary::recipes`].
fn by_recipes(totals: &Totals, recipes: &Recipes) -> HashMap<u32, BTreeMap<String, u64>> {
    let mut all: HashMap<u32, BTreeMap<String, u64>> = HashMap::new();
    for (key, sum) in &totals.sums {
        let of = key.strip_prefix("r:").and_then(|rest| rest.split_once(':'));
        let Some((library, numbers)) =
            of.and_then(|(library, numbers)| Some((library.parse().ok()?, numbers)))
        else {
            continue;
        };
        let Some(sum) = sum.parse::<u64>().ok().filter(|sum| *sum > 0) else {
            continue;
        };
        let mut names: Vec<&str> = numbers
            .split('.')
            .filter_map(|number| {
                recipes
                    .numbered(number.parse().ok()?)
                    .map(|recipe| recipe.name().as_str())
            })
            .collect();
        names.sort_unstable();
        *all.entry(library)
            .or_default()
            .entry(names.join(" "))
            .or_default() += sum;
    }
    all
}

/// A new token or id: 32 hexadecimal digits.
pub(super) fn token() -> String {
    Uuid::now_v7().simple().to_string()
}
