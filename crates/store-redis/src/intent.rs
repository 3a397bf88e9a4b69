//! Changes of books that are being made.
//!
//! | step | what happens | if it ends here |
//! |---|---|---|
//! | begin | the book is locked by an intent; its present state is read | the intent is dropped |
//! | stage | the next state is written beside it | it is removed again |
//! | add | postings are added | they are doubted, and the next state is removed |
//! | commit | the next state becomes the present one, with ids, terms and an entry of the outbox | the rest is done |
//! | tell | the entry goes to the audit log and the totals | the rest is done |
//! | doubt | postings of the former state are doubted (`buckets.rs`) | the rest is done |
//! | end | the intent and the former state are dropped | |
//!
//! An intent has a deadline by the clock of its node. Its server renews it until the change has ended. After the deadline, any
//! server takes the intent over and does what the last column says. Whoever had it can do nothing more then but to add and to
//! doubt postings, which is always harmless. Stage and commit are acknowledged by replicas before the next step, so no step is
//! made without those before it.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use redis::Value;

use super::Shared;
use super::command::Command;
use super::keys::{BookState, gem_field, join, shard_of_key, split};
use super::meta::token;
use super::record;
use super::scripts::{BEGIN, END, STAGE};
use lapidary_store::recipes::Recipes;
use lapidary_store::{BookKey, BookNo, Record, StoreError};

/// How long a server may take from one step to the next, in ms.
pub(super) const WINDOW: &str = "10000";
/// How often to give a change more time that takes long.
const RENEWAL: Duration = Duration::from_secs(3);
/// How long to wait for a book that another change has locked.
const PATIENCE: Duration = Duration::from_secs(20);
/// When to look whether that change was abandoned.
const SUSPICION: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// A book locked by an intent.
pub(super) struct Locked {
    pub(super) key: BookKey,
    pub(super) library: u32,
    pub(super) number: BookNo,
    pub(super) token: String,
    pub(super) generation: i64,
    /// Its present state, if it exists.
    pub(super) old: Option<Old>,
}

/// The present state of a book.
pub(super) struct Old {
    pub(super) record: Record,
    /// Its gem lists by recipe, as they are stored.
    pub(super) gems: Vec<(u16, Vec<u8>)>,
}

/// A book whose change could not begin.
type Refused = (Refusal, BookKey);

/// Why a change could not begin.
enum Refusal {
    /// Another change is being made.
    Busy,
    /// The book was added or removed meanwhile.
    Moved,
}

impl Locked {
    pub(super) fn shard(&self) -> u32 {
        split(self.number).0
    }

    /// Its field in the intents.
    pub(super) fn field(&self) -> Vec<u8> {
        field(self.library, &self.key)
    }

    /// Its member in the ids.
    pub(super) fn member(&self) -> Vec<u8> {
        member(&self.key, self.number)
    }
}

fn field(library: u32, key: &BookKey) -> Vec<u8> {
    [
        library.to_string().as_bytes(),
        b"\0",
        key.id.as_str().as_bytes(),
    ]
    .concat()
}

pub(super) fn member(key: &BookKey, number: BookNo) -> Vec<u8> {
    [key.id.as_str().as_bytes(), b"\0", &number.0.to_be_bytes()].concat()
}

/// The number in a member of the ids, and the id before it.
pub(super) fn read_member(member: &[u8]) -> Option<(&str, BookNo)> {
    let (id, number) = member.split_last_chunk()?;
    Some((
        str::from_utf8(id.strip_suffix(b"\0")?).ok()?,
        BookNo(u32::from_be_bytes(*number)),
    ))
}

/// Announcing changes of books, and ending them.
pub(super) struct Intents<'s>(pub(super) &'s Shared);

impl Intents<'_> {
    /// The command that finds a book by its id.
    pub(super) fn find_command(&self, library: u32, key: &BookKey) -> Command {
        let id = key.id.as_str().as_bytes();
        let range = [[b"[", id, b"\0"].concat(), [b"(", id, b"\x01"].concat()];
        Command::new(
            "ZRANGEBYLEX",
            &self.0.keys.ids(shard_of_key(key), library),
            &range[..],
        )
    }

    /// The numbers of books by their ids.
    pub(super) fn find_all(
        &self,
        keys: &[(u32, &BookKey)],
    ) -> Result<Vec<Option<BookNo>>, StoreError> {
        let found = self.0.client.read(
            &keys
                .iter()
                .map(|(library, key)| self.find_command(*library, key))
                .collect::<Vec<_>>(),
        )?;
        let read = found.into_iter().map(|found| {
            let found: Vec<Vec<u8>> = self.0.answer(found)?;
            let number = found
                .first()
                .map(|member| read_member(member).map(|(_, number)| number));
            number
                .map(|number| {
                    number.ok_or_else(|| self.0.damaged("the number of a book cannot be read"))
                })
                .transpose()
        });
        read.collect()
    }

    /// Locks books, all or none of them. Those that do not exist are left out, or get a number if `create` is set. The keys
    /// are all different.
    pub(super) fn lock(
        &self,
        recipes: &Recipes,
        keys: &[BookKey],
        create: bool,
    ) -> Result<Vec<Locked>, StoreError> {
        let since = Instant::now();
        loop {
            let (locked, refused) = self.try_lock(recipes, keys, create)?;
            let Some((refusal, key)) = refused else {
                return Ok(locked);
            };
            self.end(&locked)?;
            if since.elapsed() > PATIENCE {
                return Err(StoreError::Changed(key.to_string()));
            }
            if matches!(refusal, Refusal::Busy) {
                if since.elapsed() > SUSPICION {
                    self.0.changes().take_over(shard_of_key(&key))?;
                }
                // Two changes that each wait for the other's book try again at different times.
                sleep(
                    PAUSE + PAUSE * u32::from(blake3::hash(token().as_bytes()).as_bytes()[0]) / 64,
                );
            }
        }
    }

    fn try_lock(
        &self,
        recipes: &Recipes,
        keys: &[BookKey],
        create: bool,
    ) -> Result<(Vec<Locked>, Option<Refused>), StoreError> {
        let begun = self.numbered(keys, create)?;
        let commands: Vec<Command> = begun
            .iter()
            .map(|(locked, exists)| self.begin(recipes, locked, *exists))
            .collect();
        let answers = self.0.client.write_loosely(&commands)?;
        let (mut all, mut refused, mut failed) = (Vec::new(), None, None);
        for ((mut locked, exists), answered) in begun.into_iter().zip(answers) {
            match self.read_lock(recipes, &mut locked, exists, answered) {
                Ok(None) => all.push(locked),
                Ok(Some(refusal)) => refused = Some((refusal, locked.key)),
                Err(error) => {
                    failed = Some(error);
                    all.push(locked);
                }
            }
        }
        let Some(failed) = failed else {
            return Ok((all, refused));
        };
        self.end(&all)?;
        Err(failed)
    }

    /// Books with their numbers, ready to be locked, and whether each is there. New ones get a number if `create` is set.
    fn numbered(&self, keys: &[BookKey], create: bool) -> Result<Vec<(Locked, bool)>, StoreError> {
        let mut wanted = Vec::new();
        for key in keys {
            let library = if create {
                Some(self.0.numbering().number_library(&key.library)?)
            } else {
                self.0.numbering().library(&key.library)?
            };
            wanted.extend(library.map(|library| (library, key)));
        }
        let known = self.find_all(&wanted)?;
        let mut new = Vec::new();
        for ((library, key), known) in wanted.iter().zip(&known) {
            if create && known.is_none() {
                new.push((shard_of_key(key), *library));
            }
        }
        let mut numbers = self.0.numbering().number_books(&new)?.into_iter();
        let mut begun = Vec::new();
        for ((library, key), known) in wanted.into_iter().zip(known) {
            let Some(number) = known.or_else(|| numbers.next()) else {
                continue;
            };
            let locked = Locked {
                key: key.clone(),
                library,
                number,
                token: token(),
                generation: 0,
                old: None,
            };
            begun.push((locked, known.is_some()));
        }
        Ok(begun)
    }

    /// Reads why a book was not locked, or its state.
    fn read_lock(
        &self,
        recipes: &Recipes,
        locked: &mut Locked,
        exists: bool,
        answered: Value,
    ) -> Result<Option<Refusal>, StoreError> {
        let answered: Vec<Value> = self.0.answer(answered)?;
        let mut answered = answered.into_iter();
        let said: String = self.0.answer(answered.next().unwrap_or_default())?;
        match said.as_str() {
            "ok" => {}
            "busy" => return Ok(Some(Refusal::Busy)),
            _ => return Ok(Some(Refusal::Moved)),
        }
        locked.generation = self.0.answer(answered.next().unwrap_or_default())?;
        let fields = self.0.answer(answered.next().unwrap_or_default())?;
        if exists {
            locked.old = Some(self.read_old(recipes, locked.number, fields)?);
        }
        Ok(None)
    }

    fn begin(&self, recipes: &Recipes, locked: &Locked, exists: bool) -> Command {
        let shard = locked.shard();
        let keys = [
            self.0.keys.shard(shard, "intents"),
            self.0.keys.ids(shard, locked.library),
            self.0.keys.book(BookState::Present, locked.number),
        ];
        let member = if exists { locked.member() } else { Vec::new() };
        let mut arguments = vec![
            locked.field(),
            locked.token.clone().into_bytes(),
            WINDOW.into(),
            locked.key.id.as_str().into(),
            member,
            locked.number.0.to_string().into_bytes(),
        ];
        arguments.extend(state_fields(recipes));
        Command::script(&BEGIN, &keys, arguments)
    }

    /// Reads a state: the generation, the record, and the gems of each recipe.
    pub(super) fn read_old(
        &self,
        recipes: &Recipes,
        book: BookNo,
        fields: Vec<Option<Vec<u8>>>,
    ) -> Result<Old, StoreError> {
        let mut fields = fields.into_iter().skip(1);
        let record = fields
            .next()
            .flatten()
            .and_then(|record| record::decode(&record));
        let record = record.ok_or_else(|| {
            self.0
                .damaged(format!("the record of book {} cannot be read", book.0))
        })?;
        let gems = recipes
            .0
            .iter()
            .zip(fields)
            .filter_map(|(recipe, gems)| Some((recipe.number, gems?)));
        Ok(Old {
            record,
            gems: gems.collect(),
        })
    }

    /// Does `task` with locked books, and meanwhile keeps others from taking them for abandoned.
    pub(super) fn keep_during<T>(
        &self,
        locked: Vec<Locked>,
        task: impl FnOnce(Vec<Locked>) -> T,
    ) -> T {
        let renewals = locked.iter().map(|book| self.stage_command(book, &[]));
        let renewals: Vec<Command> = renewals.collect();
        thread::scope(|scope| {
            // Dropped when the task is done, also if it panics.
            let (_done, is_done) = mpsc::channel::<()>();
            scope.spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(RENEWAL) {
                    if let Err(error) = self.0.client.write_loosely(&renewals) {
                        tracing::warn!("{}: a change may take too long: {error}", self.0.address());
                    }
                }
            });
            task(locked)
        })
    }

    /// The command that writes the next state of a book, or gives its change more time if there are no fields.
    pub(super) fn stage_command(&self, book: &Locked, fields: &[(Vec<u8>, Vec<u8>)]) -> Command {
        let token = book.token.as_bytes();
        self.stage(book.number, [&book.field(), token, token], false, fields)
    }

    /// The command that takes over a change that was not ended in time.
    pub(super) fn take_command(
        &self,
        book: BookNo,
        field: &[u8],
        intent: &str,
        token: &str,
    ) -> Command {
        self.stage(
            book,
            [field, intent.as_bytes(), token.as_bytes()],
            true,
            &[],
        )
    }

    fn stage(
        &self,
        book: BookNo,
        intent: [&[u8]; 3],
        is_overdue: bool,
        fields: &[(Vec<u8>, Vec<u8>)],
    ) -> Command {
        let keys = [
            self.0.keys.shard(split(book).0, "intents"),
            self.0.keys.book(BookState::Next, book),
        ];
        let mut arguments = intent.to_vec();
        arguments.extend([WINDOW, if is_overdue { "1" } else { "0" }].map(str::as_bytes));
        for (field, value) in fields {
            arguments.extend([field.as_slice(), value]);
        }
        Command::script(&STAGE, &keys, arguments)
    }

    /// Ends changes.
    pub(super) fn end(&self, changes: &[Locked]) -> Result<(), StoreError> {
        let ends = changes
            .iter()
            .map(|change| self.end_command(change.number, &change.field(), &change.token));
        self.0
            .client
            .write_loosely(&ends.collect::<Vec<_>>())
            .map(drop)
    }

    pub(super) fn end_command(&self, number: BookNo, field: &[u8], token: &str) -> Command {
        let keys = [
            self.0.keys.shard(split(number).0, "intents"),
            self.0.keys.book(BookState::Next, number),
            self.0.keys.book(BookState::Former, number),
        ];
        Command::script(&END, &keys, &[field, token.as_bytes()][..])
    }
}

/// The fields of a state that say which postings it has.
pub(super) fn state_fields(recipes: &Recipes) -> Vec<Vec<u8>> {
    let gems = recipes.0.iter().map(|recipe| gem_field(recipe.number));
    [b"r".to_vec()].into_iter().chain(gems).collect()
}

/// An intent as it is stored.
pub(super) struct Intent {
    pub(super) generation: i64,
    pub(super) committed: bool,
    pub(super) number: BookNo,
}

impl Intent {
    /// Reads `TOKEN DEADLINE GENERATION a|c NUMBER ENTRY`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ').skip(2);
        let generation = words.next()?.parse().ok()?;
        let committed = words.next()? == "c";
        let number = words.next()?.parse::<u32>().ok()?;
        let (shard, number) = split(BookNo(number));
        Some(Self {
            generation,
            committed,
            number: join(shard, number),
        })
    }
}
