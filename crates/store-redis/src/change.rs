//! Changes of books: what each needs, and its steps (`intent.rs`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use lapidary_gems::{PlacedGem, RecipeName};
use redis::Value;

use super::Shared;
use super::buckets::{Buckets, Posts};
use super::command::Command;
use super::intent::{Intent, Locked, Old, WINDOW, state_fields};
use super::keys::{BookState, SHARDS, split};
use super::meta::{RecipesThen, Sums, token};
use super::scripts::COMMIT;
use super::sharing::Fence;
use lapidary_store::gem_list;
use lapidary_store::recipes::Recipes;
use lapidary_store::{BookNo, Record, StoreError, Term};

/// How a change treats what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// The next state replaces the present one.
    Replace,
    /// Only the fields of the next state change.
    Patch,
    /// The book is removed.
    Remove,
}

/// A change of a locked book, ready to be made.
pub(super) struct Plan {
    pub(super) book: Locked,
    pub(super) change: BookChange,
}

/// What a change makes of a book.
pub(super) struct BookChange {
    pub(super) kind: ChangeKind,
    /// The next state.
    pub(super) fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// The postings that only the next state has.
    pub(super) added: Posts,
    /// The postings that only the present state has.
    pub(super) removed: Posts,
    /// The record before and after it.
    pub(super) records: [Option<Record>; 2],
    /// The entries of the audit log.
    pub(super) audit: Vec<String>,
}

/// What became of changes.
#[derive(Default)]
pub(super) struct Committed {
    /// Those that were made.
    pub(super) done: Vec<Plan>,
    /// Those that were planned with recipes that have changed since, or under a lease that another server has, or are of a
    /// shard that has lost its data.
    stale: Vec<Plan>,
    /// Such a shard.
    emptied: Option<u32>,
    /// A book whose change another server has taken over.
    lost: Option<String>,
    /// What was made, with its entries for the audit log: the shard, the number of the entry, and itself.
    pub(super) outgoing: Vec<(u32, u64, Vec<u8>)>,
}

/// Removes from `posts` what `others` has too.
pub(super) fn without(mut posts: Posts, others: &Posts) -> Posts {
    for (key, fields) in &mut posts {
        if let Some(other) = others.get(key) {
            fields.retain(|field| !other.contains(field));
        }
    }
    posts.retain(|_, fields| !fields.is_empty());
    posts
}

fn terms(record: Option<&Record>) -> BTreeSet<Term> {
    record.map(Term::of).unwrap_or_default()
}

/// Making planned changes of books.
pub(super) struct Changes<'s>(pub(super) &'s Shared);

impl Changes<'_> {
    /// The postings of a state.
    pub(super) fn posts(
        &self,
        recipes: &Recipes,
        book: BookNo,
        state: Option<&Old>,
    ) -> Result<Posts, StoreError> {
        let mut posts = Posts::new();
        let Some(Old { record, gems }) = state else {
            return Ok(posts);
        };
        self.0.buckets().post_digests(&mut posts, book, record);
        for (number, bytes) in gems {
            let Some(recipe) = recipes.numbered(*number) else {
                continue;
            };
            let gems = gem_list::decode(bytes, recipe.gem_bytes());
            let gems = gems.ok_or_else(|| {
                self.0
                    .damaged(format!("the gems of book {} cannot be read", book.0))
            })?;
            self.0.buckets().post_gems(&mut posts, recipe, book, &gems);
        }
        Ok(posts)
    }

    /// The postings of a record and gems that are to be stored.
    pub(super) fn new_posts(
        &self,
        recipes: &Recipes,
        book: BookNo,
        record: &Record,
        gems: &BTreeMap<RecipeName, Vec<PlacedGem>>,
    ) -> Result<Posts, StoreError> {
        let mut posts = Posts::new();
        self.0.buckets().post_digests(&mut posts, book, record);
        for (name, gems) in gems {
            self.0
                .buckets()
                .post_gems(&mut posts, recipes.named(name)?, book, gems);
        }
        Ok(posts)
    }

    /// Makes changes of books, under leases.
    pub(super) fn make(
        &self,
        recipes: &RecipesThen,
        fences: &[Fence],
        plans: Vec<Plan>,
    ) -> Result<(), StoreError> {
        if plans.is_empty() {
            return Ok(());
        }
        let grown = match self.stage(&plans).and_then(|()| self.add(&plans)) {
            Ok(grown) => grown,
            Err(error) => {
                self.take_back(plans);
                return Err(error);
            }
        };
        let Committed {
            done,
            stale,
            emptied,
            lost,
            outgoing,
        } = self.commit(recipes, fences, plans)?;
        self.tell(outgoing)?;
        self.doubt(&done)?;
        self.0
            .intents()
            .end(&done.into_iter().map(|plan| plan.book).collect::<Vec<_>>())?;
        let recipes_changed = (!stale.is_empty()).then(|| {
            StoreError::Changed(
                "the list of recipes, or a book that has to do with this one,".to_owned(),
            )
        });
        self.take_back(stale);
        self.0.merging().merge_full(recipes, &grown)?;
        let emptied = emptied.map(|shard| self.0.stamps().lost(shard));
        emptied
            .or(lost.map(StoreError::Changed))
            .or(recipes_changed)
            .map_or(Ok(()), Err)
    }

    /// Prepares the next states.
    pub(super) fn stage(&self, plans: &[Plan]) -> Result<(), StoreError> {
        let intents = self.0.intents();
        let stage = |plan: &Plan| intents.stage_command(&plan.book, &plan.change.fields);
        let commands: Vec<Command> = plans.iter().map(stage).collect();
        for (plan, staged) in plans.iter().zip(self.0.client.write(&commands)?) {
            if self.0.answer::<i64>(staged)? == 0 {
                return Err(StoreError::Changed(plan.book.key.to_string()));
            }
        }
        Ok(())
    }

    /// Adds the postings of the next states. Returns how many fields their buckets have.
    pub(super) fn add(&self, plans: &[Plan]) -> Result<Vec<(Vec<u8>, i64)>, StoreError> {
        let commands: Vec<Command> = plans
            .iter()
            .flat_map(|plan| Buckets::additions(&plan.change.added, plan.book.generation))
            .collect();
        let lengths = self.0.client.write(&commands)?;
        commands
            .into_iter()
            .zip(lengths)
            .map(|(command, length)| Ok((command.key, self.0.answer(length)?)))
            .collect()
    }

    /// Makes the next states visible.
    pub(super) fn commit(
        &self,
        recipes: &RecipesThen,
        fences: &[Fence],
        plans: Vec<Plan>,
    ) -> Result<Committed, StoreError> {
        let entries: Vec<Vec<u8>> = plans
            .iter()
            .map(|plan| Self::entry(recipes, plan))
            .collect();
        let commits: Vec<Command> = plans
            .iter()
            .zip(&entries)
            .map(|(plan, entry)| self.commit_command(plan, entry, recipes.version, fences))
            .collect();
        let mut committed = Committed::default();
        for ((plan, entry), number) in plans
            .into_iter()
            .zip(entries)
            .zip(self.0.client.write(&commits)?)
        {
            match self.0.answer::<i64>(number)? {
                -2 => {
                    committed.emptied = Some(plan.book.shard());
                    committed.stale.push(plan);
                }
                -1 => committed.stale.push(plan),
                0 => committed.lost = Some(plan.book.key.to_string()),
                number => {
                    committed
                        .outgoing
                        .push((plan.book.shard(), number.cast_unsigned(), entry));
                    committed.done.push(plan);
                }
            }
        }
        Ok(committed)
    }

    /// Doubts the postings of the former states.
    pub(super) fn doubt(&self, plans: &[Plan]) -> Result<(), StoreError> {
        self.doubt_posts(
            plans
                .iter()
                .map(|plan| (&plan.change.removed, plan.book.generation)),
        )
    }

    pub(super) fn doubt_posts<'a>(
        &self,
        posts: impl Iterator<Item = (&'a Posts, i64)>,
    ) -> Result<(), StoreError> {
        let commands: Vec<Command> = posts
            .flat_map(|(posts, generation)| Buckets::doubts(posts, generation))
            .collect();
        let lengths = self.0.client.write_loosely(&commands)?;
        let lengths = lengths
            .into_iter()
            .map(|length| self.0.answer(length))
            .collect::<Result<Vec<_>, _>>()?;
        self.0
            .merging()
            .merge_later(commands.into_iter().map(|command| command.key).zip(lengths));
        Ok(())
    }

    /// Takes back changes that were not committed, and cannot be any more. If this fails, others will do it.
    fn take_back(&self, plans: Vec<Plan>) {
        let doubted = self.doubt_posts(
            plans
                .iter()
                .map(|plan| (&plan.change.added, plan.book.generation)),
        );
        let books: Vec<Locked> = plans.into_iter().map(|plan| plan.book).collect();
        if let Err(error) = doubted.and_then(|()| self.0.intents().end(&books)) {
            tracing::warn!(
                "{}: a change is left half done for now: {error}",
                self.0.address()
            );
        }
    }

    /// The keys that every commit of a book changes, in the order in which the script takes them.
    fn commit_keys(&self, book: &Locked) -> Vec<Vec<u8>> {
        let (keys, shard, number) = (&self.0.keys, book.shard(), book.number);
        vec![
            keys.shard(shard, "intents"),
            keys.ids(shard, book.library),
            keys.shard(shard, "books"),
            keys.book(BookState::Present, number),
            keys.book(BookState::Next, number),
            keys.book(BookState::Former, number),
            keys.shard(shard, "outbox"),
            keys.shard(shard, "recipes"),
        ]
    }

    /// The sets and members of the terms that only the record before has, and of those that only the one after has.
    fn in_terms(&self, plan: &Plan) -> [Vec<(Vec<u8>, Vec<u8>)>; 2] {
        let Locked {
            library, number, ..
        } = plan.book;
        let [had, has] = plan
            .change
            .records
            .each_ref()
            .map(|record| terms(record.as_ref()));
        [had.difference(&has), has.difference(&had)].map(|terms| {
            terms
                .map(|term| self.0.keys.in_term(term, library, number))
                .collect()
        })
    }

    fn commit_command(&self, plan: &Plan, entry: &[u8], version: u64, fences: &[Fence]) -> Command {
        let book = &plan.book;
        let number = book.number;
        let mut keys = self.commit_keys(book);
        let of_lease = fences.iter().map(|fence| Fence::name(&fence.lease));
        keys.extend(of_lease.map(|name| self.0.keys.shard(book.shard(), &name)));
        let [lost, gained] = self.in_terms(plan);
        let count = lost.len();
        let (sets, members): (Vec<_>, Vec<_>) = lost.into_iter().chain(gained).unzip();
        keys.extend(sets);
        let kind: &[u8] = match plan.change.kind {
            ChangeKind::Replace => b"replace",
            ChangeKind::Patch => b"patch",
            ChangeKind::Remove => b"remove",
        };
        let (token, member) = (book.token.as_bytes(), book.member());
        let [number, count, version] = [
            split(number).1.to_string(),
            count.to_string(),
            version.to_string(),
        ];
        let [number, count, version] = [&number, &count, &version].map(String::as_bytes);
        let (field, window) = (book.field(), WINDOW.as_bytes());
        let leases = fences.len().to_string();
        let mut arguments: Vec<&[u8]> = vec![
            &field,
            token,
            window,
            kind,
            &member,
            number,
            count,
            entry,
            version,
            leases.as_bytes(),
        ];
        let tokens: Vec<String> = fences.iter().map(|fence| fence.token.to_string()).collect();
        arguments.extend(tokens.iter().map(String::as_bytes));
        arguments.extend(members.iter().map(Vec::as_slice));
        Command::script(&COMMIT, &keys, arguments)
    }

    /// The entry of a change in its outbox.
    fn entry(recipes: &Recipes, plan: &Plan) -> Vec<u8> {
        let mut sums = Sums::default();
        let library = plan.book.library;
        let [old, new] = &plan.change.records;
        if let Some(old) = old {
            sums.count(library, old, recipes, true);
        }
        match new {
            Some(new) => {
                sums.count(library, new, recipes, false);
                sums.touch(library, new.changed_at);
            }
            None => sums.touch(library, Timestamp::now()),
        }
        sums.entry(&plan.change.audit)
    }

    /// Moves entries to the audit log and the totals, and forgets them in their outboxes.
    pub(super) fn tell(&self, mut entries: Vec<(u32, u64, Vec<u8>)>) -> Result<(), StoreError> {
        entries.sort_unstable();
        let moved = self.0.meta().move_entries(&entries)?;
        let waiting: BTreeSet<u32> = entries
            .iter()
            .zip(&moved)
            .filter(|(_, moved)| !**moved)
            .map(|((shard, ..), _)| *shard)
            .collect();
        let sent = entries.iter().zip(&moved).filter(|(_, moved)| **moved);
        let forget: Vec<Command> = sent
            .map(|((shard, number, _), _)| {
                Command::new("HDEL", &self.0.keys.shard(*shard, "outbox"), *number)
            })
            .collect();
        self.0.client.write_loosely(&forget)?;
        for shard in waiting {
            self.empty_outbox(shard)?;
        }
        Ok(())
    }

    /// Moves everything in the outbox of a shard.
    pub(super) fn empty_outbox(&self, shard: u32) -> Result<(), StoreError> {
        let outbox = self.0.keys.shard(shard, "outbox");
        let entries: HashMap<String, Vec<u8>> = self.0.ask(Command::bare("HGETALL", &outbox))?;
        let mut entries: Vec<(u32, u64, Vec<u8>)> = entries
            .into_iter()
            .filter_map(|(number, entry)| Some((shard, number.parse().ok()?, entry)))
            .collect();
        if entries.is_empty() {
            return Ok(());
        }
        // Once a replica has this, it has the entries too, whoever wrote them.
        self.0.write_one(Command::new(
            "SET",
            &self.0.keys.shard(shard, "touched"),
            "",
        ))?;
        entries.sort_unstable();
        let moved = self.0.meta().move_entries(&entries)?;
        let forget = entries.iter().zip(moved).filter(|(_, moved)| *moved);
        let forget: Vec<Command> = forget
            .map(|((_, number, _), _)| Command::new("HDEL", &outbox, *number))
            .collect();
        self.0.client.write_loosely(&forget).map(drop)
    }

    /// Does what servers that are gone have left.
    pub(super) fn sweep(&self) -> Result<(), StoreError> {
        let intents: Vec<Command> = (0..SHARDS)
            .map(|shard| Command::bare("HLEN", &self.0.keys.shard(shard, "intents")))
            .collect();
        for (shard, intents) in (0..SHARDS).zip(self.0.client.read(&intents)?) {
            // One field is the last generation.
            if self.0.answer::<i64>(intents)? > 1 {
                self.take_over(shard)?;
            }
        }
        self.empty_outboxes()
    }

    /// Moves everything in the outboxes, so that the audit log has all that was committed before.
    pub(super) fn empty_outboxes(&self) -> Result<(), StoreError> {
        let outboxes: Vec<Command> = (0..SHARDS)
            .map(|shard| Command::bare("HLEN", &self.0.keys.shard(shard, "outbox")))
            .collect();
        for (shard, entries) in (0..SHARDS).zip(self.0.client.read(&outboxes)?) {
            if self.0.answer::<i64>(entries)? > 1 {
                self.empty_outbox(shard)?;
            }
        }
        Ok(())
    }

    /// Completes or takes back the changes of a shard that were not ended in time.
    pub(super) fn take_over(&self, shard: u32) -> Result<(), StoreError> {
        let key = self.0.keys.shard(shard, "intents");
        let intents: HashMap<Vec<u8>, String> = self.0.ask(Command::bare("HGETALL", &key))?;
        for (field, text) in intents {
            let Some(intent) = Intent::read(&text) else {
                continue;
            };
            let token = token();
            let intents = self.0.intents();
            let take = intents.take_command(intent.number, &field, &text, &token);
            if self.0.client.write_loosely(&[take])? != [Value::Int(0)] {
                tracing::warn!(
                    "{}: a change of book {} was left half done",
                    self.0.address(),
                    intent.number.0
                );
                // Once a replica has this, it has the intent, too.
                self.0.write_one(Command::new(
                    "SET",
                    &self.0.keys.shard(shard, "touched"),
                    "",
                ))?;
                self.settle(&intent)?;
                self.empty_outbox(shard)?;
                self.0.client.write_loosely(&[self.0.intents().end_command(
                    intent.number,
                    &field,
                    &token,
                )])?;
            }
        }
        Ok(())
    }

    /// Doubts the postings that the present state of a book does not have: those of the next state if the change was not
    /// committed, of the former state if it was.
    fn settle(&self, intent: &Intent) -> Result<(), StoreError> {
        let recipes = self.0.meta().recipes()?;
        let book = intent.number;
        let other = if intent.committed {
            BookState::Former
        } else {
            BookState::Next
        };
        let fields: Vec<Vec<u8>> = [b"g".to_vec()]
            .into_iter()
            .chain(state_fields(&recipes))
            .collect();
        let read = |state| Command::new("HMGET", &self.0.keys.book(state, book), &fields);
        let states = self
            .0
            .client
            .read(&[read(BookState::Present), read(other)])?;
        let mut posts = Vec::new();
        for state in states {
            let fields: Vec<Option<Vec<u8>>> = self.0.answer(state)?;
            let exists = fields.iter().any(Option::is_some);
            let state = if exists {
                Some(self.0.intents().read_old(&recipes, book, fields)?)
            } else {
                None
            };
            posts.push(self.posts(&recipes, book, state.as_ref())?);
        }
        let (Some(other), Some(present)) = (posts.pop(), posts.pop()) else {
            return Ok(());
        };
        self.doubt_posts(std::iter::once((
            &without(other, &present),
            intent.generation,
        )))
    }
}
