//! Commands to the nodes of a cluster: one pipeline for each node, all nodes at once.
//!
//! The connections are those of the crate `redis` (BSD-3-Clause, the client with the most users in Rust, with TLS and
//! ACL users); the routing is here. Neither its cluster client nor `fred` (MIT, asynchronous only) fits:
//!
//! - `WAIT` counts only what its own connection wrote. Both route each command by itself, reconnect behind the caller's
//!   back and share connections among threads, so the answer to a `WAIT` would say nothing about a write.
//! - A store is synchronous, and called by threads that do nothing else meanwhile. To send to all nodes before the first
//!   answer is awaited takes no asynchronous runtime.
//!
//! Here, writes and their `WAIT` are one pipeline on one connection. If any of it fails, nothing in it counts as done, and
//! it is sent again, to whichever node then serves the slot. So all that is sent must be allowed to happen twice.
//!
//! A write waits for all replicas of its node but those that most primaries hold to be failed. With fewer, a replica that
//! does not have it could be promoted by the primaries that it can reach. `WAITAOF` does the same for the logs on disk.
//!
//! A primary that was stopped, or cut off, may answer before it learns that a replica has taken its place. To be promoted, a
//! replica needs the votes of most primaries, which know the number of the election from then on: the epoch. So a read of
//! what is true now ([`Client::read_now`]) asks all primaries for the epoch too. If most of them know of no election since
//! the topology was read, the nodes in it were the right ones when the read began.

mod witnesses;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use redis::{Script, ServerError, Value};

use self::witnesses::Witnesses;
use super::address::ClusterAddress;
use super::clock::{ClockUse, Clocks, Reading, SetBack};
use super::command::{Command, read};
use super::keys::{KeySpace, slot_of_shard};
use super::login::{Login, must_be_on_disk};
use super::pool::{ANSWER, Pool, PooledConnection};
use super::topology::{Topology, current_epoch};
use super::vitals::ClientCounters;
use lapidary_store::StoreError;

/// How long a node may take that is only asked for the epoch.
const VOTE: Duration = Duration::from_millis(500);
/// How long replicas may take to acknowledge, and how often to ask.
const ACKNOWLEDGE: Duration = Duration::from_secs(2);
const ACKNOWLEDGE_TRIES: u32 = 3;
/// How often to ask for clocks, while slots are moved.
const CLOCK_TRIES: u32 = 20;
/// How long to try again: longer than a replica takes to become the primary, with the usual timeouts of nodes.
const PATIENCE: Duration = Duration::from_secs(12);
/// The pause before the next try, which doubles up to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(200)];

/// A client of a cluster, for any number of threads.
pub(super) struct Client {
    address: ClusterAddress,
    pool: Pool,
    topology: RwLock<Arc<Topology>>,
    /// Whether there has ever been a replica: then, every change must be on one.
    replicated: AtomicBool,
    /// Whether a change must be on disk, too.
    on_disk: bool,
    clocks: Clocks,
    /// The clocks that were set back, if nodes are believed nevertheless, to see what they still have.
    set_back: Option<Mutex<BTreeMap<u32, SetBack>>>,
    pub(super) counters: ClientCounters,
}

/// Which nodes a client believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belief {
    /// Those that have lost nothing.
    Whole,
    /// All, to see what those that have lost something still have, and to repair it.
    All,
}

/// Where a command is to be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Route {
    /// To the node that serves its slot.
    #[default]
    Slot,
    /// To the node that the slot is being moved to.
    Ask(String),
}

/// What commands are sent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To read, or to write what may be lost.
    Loosely,
    /// To read what is true now.
    Now,
    /// To write, acknowledged by this many replicas at least.
    Write,
}

/// Commands on their way.
struct Exchange<'a> {
    commands: &'a [Command],
    /// Sent after them.
    clocks: &'a [Reading],
    purpose: Purpose,
    /// Whether nodes must be admitted before anything is sent to them.
    is_checked: bool,
    routes: Vec<Route>,
    answers: Vec<Option<Value>>,
    /// The greatest epoch that a node has said, and how many said one.
    epoch: (u64, usize),
    /// Whether to ask also nodes for it that have been silent.
    asks_all: bool,
    /// The nodes that were asked, if the first try had all answers.
    at_once: Option<Arc<Topology>>,
}

impl<'a> Exchange<'a> {
    fn new(
        commands: &'a [Command],
        clocks: &'a [Reading],
        purpose: Purpose,
        uses: ClockUse,
    ) -> Self {
        let count = commands.len() + clocks.len();
        let (routes, answers) = (0..count).map(|_| (Route::Slot, None)).unzip();
        Self {
            commands,
            clocks,
            purpose,
            is_checked: uses != ClockUse::Ignore,
            routes,
            answers,
            epoch: (0, 0),
            asks_all: false,
            at_once: None,
        }
    }
}

impl Exchange<'_> {
    fn command(&self, at: usize) -> &Command {
        match at.checked_sub(self.commands.len()) {
            Some(clock) => &self.clocks[clock].command,
            None => &self.commands[at],
        }
    }

    /// Notes the epoch in the answer to `CLUSTER INFO`.
    fn note_epoch(&mut self, info: Option<Value>) {
        let info = info.and_then(read::<String>);
        if let Some(epoch) = info.and_then(|info| current_epoch(&info)) {
            self.epoch = (self.epoch.0.max(epoch), self.epoch.1 + 1);
        }
    }

    /// Whether most primaries know of no later election. Otherwise, no answer counts, and all are asked at the next try.
    fn confirm_nodes(&mut self, topology: &Topology) -> bool {
        let (epoch, voters) = self.epoch;
        if epoch > topology.epoch || 2 * voters <= topology.primaries().count() {
            self.answers.fill_with(|| None);
            self.asks_all = true;
            return false;
        }
        // Whichever node answers the rest has all that was acknowledged when this began.
        self.purpose = Purpose::Loosely;
        true
    }
}

/// What a node answered.
struct NodeAnswer {
    /// The answers that are no errors, and to which commands.
    answers: Vec<(usize, Value)>,
    /// The answer to what confirms them.
    last: Option<Value>,
    trouble: Option<Trouble>,
}

/// Commands for one node.
struct Pipeline {
    connection: PooledConnection,
    /// Which they are.
    commands: Vec<usize>,
    /// The number of replicas that must acknowledge them.
    replicas: usize,
}

/// Why a command has no answer yet.
enum Trouble {
    /// It may work with another try.
    Again(String),
    /// The replicas of a node have not acknowledged a write.
    NotReplicated(String),
    /// It will not.
    Final(StoreError),
}

impl Client {
    /// Connects to a cluster. Scripts are loaded into every node that is used.
    pub(super) fn connect(
        address: &ClusterAddress,
        scripts: Vec<&'static Script>,
        belief: Belief,
    ) -> Result<Self, StoreError> {
        let client = Self {
            address: address.clone(),
            pool: Pool::new(Login::to(address)?, scripts),
            topology: RwLock::new(Arc::new(Topology::unknown(&address.nodes))),
            replicated: AtomicBool::new(false),
            on_disk: must_be_on_disk(),
            clocks: Clocks::new(KeySpace::new(&address.prefix)),
            set_back: (belief == Belief::All).then(Mutex::default),
            counters: ClientCounters::default(),
        };
        client
            .refresh(0)
            .map_err(|why| unavailable(address, &why))?;
        client.confirm_one_cluster()?;
        if client.on_disk {
            for (node, answer) in
                client.on_each_primary(redis::cmd("WAITAOF").arg(1).arg(0).arg(1))?
            {
                read::<(usize, usize)>(answer)
                    .ok_or_else(|| unavailable(address, &format!("{node} keeps no log")))?;
            }
        }
        Ok(client)
    }

    pub(super) fn address(&self) -> &ClusterAddress {
        &self.address
    }

    /// Reads. The answers may be old if a node has been replaced without noticing.
    pub(super) fn read(&self, commands: &[Command]) -> Result<Vec<Value>, StoreError> {
        self.run(commands, Purpose::Loosely, ClockUse::Read)
    }

    /// Reads everything that was acknowledged before. What is read later of the same nodes has it too.
    pub(super) fn read_now(&self, commands: &[Command]) -> Result<Vec<Value>, StoreError> {
        Ok(self.read_in_order(commands, true)?.0)
    }

    /// Reads like [`Client::read_now`], or like [`Client::read`]. Returns also the nodes by which it was read, if each
    /// answered all its commands in their order.
    pub(super) fn read_in_order(
        &self,
        commands: &[Command],
        now: bool,
    ) -> Result<(Vec<Value>, Option<Arc<Topology>>), StoreError> {
        let purpose = if now { Purpose::Now } else { Purpose::Loosely };
        self.exchange(commands, purpose, ClockUse::Read)
    }

    /// Writes. The answers are returned once the replicas have what was written too, if there are any. Each command must
    /// write something.
    pub(super) fn write(&self, commands: &[Command]) -> Result<Vec<Value>, StoreError> {
        // Where nodes are believed that have lost something, a clock must not come closer to what it said.
        let uses = match self.set_back {
            Some(_) => ClockUse::Ignore,
            None => ClockUse::Raise,
        };
        self.run(commands, self.writing(), uses)
    }

    fn writing(&self) -> Purpose {
        if self.on_disk || self.replicated.load(Ordering::Relaxed) {
            Purpose::Write
        } else {
            Purpose::Loosely
        }
    }

    /// Writes what may be lost.
    pub(super) fn write_loosely(&self, commands: &[Command]) -> Result<Vec<Value>, StoreError> {
        self.run(commands, Purpose::Loosely, ClockUse::Read)
    }

    /// Reads the topology again.
    pub(super) fn look_around(&self) -> Result<(), StoreError> {
        self.refresh(0)
            .map_err(|why| unavailable(&self.address, &why))
    }

    /// Sends a command to every node that serves slots.
    pub(super) fn on_each_primary(
        &self,
        command: &redis::Cmd,
    ) -> Result<Vec<(String, Value)>, StoreError> {
        let topology = self.topology();
        topology
            .primaries()
            .map(|node| Ok((node.to_owned(), self.on(node, command)?)))
            .collect()
    }

    /// Sends a command to a node.
    pub(super) fn on(&self, node: &str, command: &redis::Cmd) -> Result<Value, StoreError> {
        let failed = |why: redis::RedisError| unavailable(&self.address, &format!("{node}: {why}"));
        let mut connection = self
            .pool
            .take(node)
            .map_err(|why| unavailable(&self.address, &why))?;
        connection
            .connection
            .send_packed_command(&command.get_packed_command())
            .map_err(failed)?;
        let answer = connection.connection.recv_response().map_err(failed)?;
        self.pool.give_back(node, connection);
        match answer {
            Value::ServerError(error) => Err(unavailable(
                &self.address,
                &format!("{node}: {}", shown(&error)),
            )),
            answer => Ok(answer),
        }
    }

    pub(super) fn witnesses(&self) -> Witnesses<'_> {
        Witnesses(self)
    }

    pub(super) fn topology(&self) -> Arc<Topology> {
        self.topology.read().clone()
    }

    fn run(
        &self,
        commands: &[Command],
        purpose: Purpose,
        uses: ClockUse,
    ) -> Result<Vec<Value>, StoreError> {
        Ok(self.exchange(commands, purpose, uses)?.0)
    }

    /// Sends commands, then reads or raises the clocks of the nodes that they went to.
    fn exchange(
        &self,
        commands: &[Command],
        purpose: Purpose,
        uses: ClockUse,
    ) -> Result<(Vec<Value>, Option<Arc<Topology>>), StoreError> {
        let topology = self.topology();
        let slots = || commands.iter().map(|command| command.slot);
        let clocks = self.clocks.of(&topology, slots(), uses);
        let mut run = Exchange::new(commands, &clocks, purpose, uses);
        self.complete(&mut run)?;
        let at_once = run.at_once.filter(|then| Arc::ptr_eq(then, &topology));
        let mut answers: Vec<Value> = run.answers.into_iter().flatten().collect();
        self.compare(&clocks, answers.split_off(commands.len()), uses)?;
        if at_once.is_none() && uses != ClockUse::Ignore {
            self.ask_clocks(slots, uses)?;
        }
        Ok((answers, at_once))
    }

    /// Reads or raises the clocks of the nodes that serve slots.
    fn ask_clocks<S: Iterator<Item = u16>>(
        &self,
        slots: impl Fn() -> S,
        uses: ClockUse,
    ) -> Result<(), StoreError> {
        for _ in 0..CLOCK_TRIES {
            let topology = self.topology();
            let clocks = self.clocks.of(&topology, slots(), uses);
            let purpose = match uses {
                ClockUse::Raise => self.writing(),
                ClockUse::Ignore | ClockUse::Read => Purpose::Loosely,
            };
            let mut run = Exchange::new(&[], &clocks, purpose, uses);
            self.complete(&mut run)?;
            self.compare(&clocks, run.answers.into_iter().flatten(), uses)?;
            if run
                .at_once
                .is_some_and(|then| Arc::ptr_eq(&then, &topology))
            {
                return Ok(());
            }
        }
        Err(unavailable(
            &self.address,
            "the nodes of the slots change all the time",
        ))
    }

    /// # Errors
    /// [`StoreError::Emptied`] if a clock says less than it said once.
    fn compare(
        &self,
        clocks: &[Reading],
        said: impl IntoIterator<Item = Value>,
        uses: ClockUse,
    ) -> Result<(), StoreError> {
        for (clock, said) in clocks.iter().zip(said) {
            let said = read::<Option<u64>>(said).flatten().unwrap_or(0);
            if let Some(set_back) = self.clocks.compare(clock, said, uses) {
                if let Some(all) = &self.set_back {
                    let mut all = all.lock();
                    all.insert(set_back.shard, set_back);
                    continue;
                }
                // Before anything else is sent to the node.
                self.clocks.must_learn.store(true, Ordering::Release);
                let (node, what) = self.loss(set_back);
                let store = self.address.to_string();
                return Err(StoreError::Emptied { store, node, what });
            }
        }
        Ok(())
    }

    /// The clocks that were set back, of a client that believes all nodes.
    pub(super) fn set_back(&self) -> Vec<SetBack> {
        let all = self.set_back.iter().flat_map(|all| {
            let all = all.lock();
            all.values().copied().collect::<Vec<_>>()
        });
        all.collect()
    }

    /// The node whose clock was set back, and what it has lost.
    fn loss(&self, set_back: SetBack) -> (String, String) {
        let SetBack { shard, said, known } = set_back;
        let topology = self.topology();
        let node = topology.node(slot_of_shard(shard)).unwrap_or("a node");
        let what = match (said, known.saturating_sub(said)) {
            (0, _) => "all its data".to_owned(),
            (_, 0 | 1) => "its last change".to_owned(),
            (_, lost) => format!("its last {lost} changes"),
        };
        (node.to_owned(), what)
    }

    /// A sentence of what a node has lost.
    pub(super) fn said_of(&self, set_back: SetBack) -> String {
        let (node, what) = self.loss(set_back);
        format!("{node} has lost {what}")
    }

    /// Sends commands until all have an answer.
    fn complete(&self, run: &mut Exchange<'_>) -> Result<(), StoreError> {
        let until = Instant::now() + PATIENCE;
        let (mut pause, mut unacknowledged) = (PAUSES[0], 0);
        for tries in 0.. {
            let topology = self.topology();
            run.at_once = (tries == 0).then(|| topology.clone());
            let trouble = match self.round(run, &topology) {
                None => return Ok(()),
                Some(Trouble::Final(error)) => return Err(error),
                Some(Trouble::NotReplicated(node)) => {
                    unacknowledged += 1;
                    if unacknowledged == ACKNOWLEDGE_TRIES {
                        return Err(StoreError::NotReplicated {
                            store: self.address.to_string(),
                            node,
                        });
                    }
                    format!("the replicas of {node} do not acknowledge")
                }
                Some(Trouble::Again(why)) => why,
            };
            ClientCounters::count(&self.counters.retries, 1);
            if Instant::now() + pause > until {
                return Err(unavailable(&self.address, &trouble));
            }
            if run.purpose == Purpose::Now
                || run
                    .routes
                    .iter()
                    .zip(&run.answers)
                    .any(|(route, answer)| answer.is_none() && *route == Route::Slot)
            {
                if tries > 0 {
                    sleep(pause);
                    pause = (pause * 2).min(PAUSES[1]);
                }
                // If no node answers now, one may answer at the next try.
                let _ = self.refresh(tries);
            }
        }
        Err(unavailable(&self.address, "too many tries"))
    }

    /// Sends all commands that have no answer yet. Returns `None` if all have one then.
    fn round(&self, run: &mut Exchange<'_>, topology: &Topology) -> Option<Trouble> {
        let (nodes, mut trouble) = self.assign(run, topology);
        ClientCounters::count(&self.counters.round_trips, nodes.len());
        let mut ready = Vec::new();
        for (node, commands) in nodes {
            match self.pool.take(&node) {
                Ok(connection) => ready.push((node, commands, connection)),
                Err(why) => {
                    self.start_again(&node, &commands, &mut run.routes);
                    trouble = Some(Trouble::Again(why));
                }
            }
        }
        if let Err(trouble) = self.admit_new(run, &ready, topology) {
            return Some(trouble);
        }
        let mut sent = Vec::new();
        for (node, commands, connection) in ready {
            match self.send(&node, run, commands, connection, topology) {
                Ok(pipeline) => sent.push((node, pipeline)),
                Err(why) => trouble = Some(Trouble::Again(why)),
            }
        }
        trouble = self.receive_from_all(sent, run, trouble);
        if matches!(trouble, Some(Trouble::Final(_))) {
            return trouble;
        }
        if run.purpose == Purpose::Now && !run.confirm_nodes(topology) {
            return Some(Trouble::Again(
                "most primaries do not confirm which nodes serve".to_owned(),
            ));
        }
        trouble.filter(|_| run.answers.iter().any(Option::is_none))
    }

    /// Receives the answers of all nodes. Returns the last trouble, or the first that is final.
    fn receive_from_all(
        &self,
        mut sent: Vec<(String, Pipeline)>,
        run: &mut Exchange<'_>,
        mut trouble: Option<Trouble>,
    ) -> Option<Trouble> {
        // Who only votes comes last, and does not hold up the others.
        sent.sort_by_key(|(_, pipeline)| pipeline.commands.is_empty());
        for (node, pipeline) in sent {
            let met = self.receive(&node, pipeline, run);
            if !matches!(trouble, Some(Trouble::Final(_))) {
                trouble = met.or(trouble);
            }
        }
        trouble
    }

    /// Admits nodes with new connections, or all of them if the topology has changed.
    fn admit_new(
        &self,
        run: &Exchange<'_>,
        ready: &[(String, Vec<usize>, PooledConnection)],
        topology: &Topology,
    ) -> Result<(), Trouble> {
        // Who only votes is not asked for anything that could be lost.
        let asked = || ready.iter().filter(|(_, commands, _)| !commands.is_empty());
        let is_new = asked().any(|(.., connection)| !connection.is_admitted);
        if !run.is_checked || !(is_new || self.clocks.must_learn.load(Ordering::Acquire)) {
            return Ok(());
        }
        self.clocks.must_learn.store(false, Ordering::Release);
        let admitted = self
            .witnesses()
            .admit(asked().map(|(node, ..)| node.as_str()), topology);
        if admitted.is_err() {
            self.clocks.must_learn.store(true, Ordering::Release);
        }
        admitted
    }

    /// The nodes to ask, and which commands each gets: those that have no answer yet.
    fn assign(
        &self,
        run: &mut Exchange<'_>,
        topology: &Topology,
    ) -> (BTreeMap<String, Vec<usize>>, Option<Trouble>) {
        let mut trouble = None;
        let mut nodes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        if run.purpose == Purpose::Now {
            run.epoch = (0, 0);
            let voters = self.pool.voters(topology, run.asks_all);
            nodes.extend(voters.map(|node| (node.to_owned(), Vec::new())));
        }
        for at in (0..run.answers.len()).filter(|at| run.answers[*at].is_none()) {
            let slot = run.command(at).slot;
            let node = match &run.routes[at] {
                Route::Ask(node) => Some(node.as_str()),
                Route::Slot => topology.node(slot),
            };
            let Some(node) = node else {
                let why = format!("slot {slot} is served by no node");
                trouble = Some(Trouble::Again(why));
                continue;
            };
            match nodes.get_mut(node) {
                Some(commands) => commands.push(at),
                None => drop(nodes.insert(node.to_owned(), vec![at])),
            }
        }
        (nodes, trouble)
    }

    /// Sends commands to a node. If that fails, they begin anew at the next try.
    fn send(
        &self,
        node: &str,
        run: &mut Exchange<'_>,
        commands: Vec<usize>,
        mut connection: PooledConnection,
        topology: &Topology,
    ) -> Result<Pipeline, String> {
        let fewest = usize::from(self.replicated.load(Ordering::Relaxed));
        let replicas = topology.replicas(node).max(fewest);
        let bytes = self.packed(run, &commands, replicas);
        connection.is_admitted |= run.is_checked && !commands.is_empty();
        match connection.connection.send_packed_command(&bytes) {
            Ok(()) => Ok(Pipeline {
                connection,
                commands,
                replicas,
            }),
            Err(why) => {
                self.start_again(node, &commands, &mut run.routes);
                Err(format!("{node}: {why}"))
            }
        }
    }

    /// Commands to a node as they are sent, with what confirms them.
    fn packed(&self, run: &Exchange<'_>, chosen: &[usize], replicas: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(
            chosen
                .iter()
                .map(|at| run.command(*at).bytes.len() + 32)
                .sum(),
        );
        for at in chosen {
            if run.routes[*at] != Route::Slot {
                redis::cmd("ASKING").write_packed_command(&mut bytes);
            }
            bytes.extend(&run.command(*at).bytes);
        }
        match run.purpose {
            Purpose::Loosely => {}
            Purpose::Now => redis::cmd("CLUSTER")
                .arg("INFO")
                .write_packed_command(&mut bytes),
            Purpose::Write => {
                let time = ACKNOWLEDGE.as_millis() as u64;
                redis::cmd("WAIT")
                    .arg(replicas)
                    .arg(time)
                    .write_packed_command(&mut bytes);
                // A replica that is asked together with the change, before its log is synced, says so only a second later.
                if self.on_disk {
                    redis::cmd("WAITAOF")
                        .arg(1)
                        .arg(replicas)
                        .arg(time)
                        .write_packed_command(&mut bytes);
                }
            }
        }
        bytes
    }

    /// Receives the answers of a node. Says where commands that it does not serve are to be sent instead.
    fn receive(&self, node: &str, pipeline: Pipeline, run: &mut Exchange<'_>) -> Option<Trouble> {
        let Pipeline {
            mut connection,
            commands,
            replicas,
        } = pipeline;
        let only_votes = commands.is_empty();
        if only_votes && connection.connection.set_read_timeout(Some(VOTE)).is_err() {
            return None;
        }
        let NodeAnswer {
            answers,
            last,
            trouble,
        } = match self.receive_all(node, &mut connection, &commands, run) {
            Ok(received) => received,
            Err(why) => {
                self.start_again(node, &commands, &mut run.routes);
                return Some(Trouble::Again(why));
            }
        };
        if !only_votes || connection.connection.set_read_timeout(Some(ANSWER)).is_ok() {
            self.pool.give_back(node, connection);
        }
        match run.purpose {
            Purpose::Loosely => {}
            Purpose::Now => run.note_epoch(last),
            Purpose::Write => {
                if !self.is_acknowledged(last, replicas) && !answers.is_empty() {
                    return trouble
                        .filter(|trouble| matches!(trouble, Trouble::Final(_)))
                        .or(Some(Trouble::NotReplicated(node.to_owned())));
                }
            }
        }
        for (at, answer) in answers {
            run.answers[at] = Some(answer);
        }
        trouble
    }

    /// Receives the answer to each command, and to what confirms them.
    fn receive_all(
        &self,
        node: &str,
        connection: &mut PooledConnection,
        commands: &[usize],
        run: &mut Exchange<'_>,
    ) -> Result<NodeAnswer, String> {
        let mut next = || {
            let answer = connection.connection.recv_response();
            answer.map_err(|why| format!("{node}: {why}"))
        };
        let (mut answers, mut trouble) = (Vec::with_capacity(commands.len()), None);
        for at in commands {
            if std::mem::take(&mut run.routes[*at]) != Route::Slot {
                // That to ASKING.
                next()?;
            }
            match next()? {
                Value::ServerError(error) => match self.judge(node, &error) {
                    Ok(route) => {
                        run.routes[*at] = route;
                        let why = format!("{node}: {}", shown(&error));
                        trouble.get_or_insert(Trouble::Again(why));
                    }
                    Err(error) => trouble = Some(Trouble::Final(error)),
                },
                answer => answers.push((*at, answer)),
            }
        }
        if run.purpose == Purpose::Write && self.on_disk {
            // That to WAIT, which WAITAOF follows.
            next()?;
        }
        let last = if run.purpose == Purpose::Loosely {
            None
        } else {
            Some(next()?)
        };
        Ok(NodeAnswer {
            answers,
            last,
            trouble,
        })
    }

    /// Whether a write is on enough replicas, and on disk if it must be, by the answer to `WAIT` or `WAITAOF`.
    fn is_acknowledged(&self, last: Option<Value>, replicas: usize) -> bool {
        if self.on_disk {
            last.and_then(read::<(usize, usize)>)
                .is_some_and(|(own, others)| own > 0 && others >= replicas)
        } else {
            last.and_then(read::<usize>)
                .is_some_and(|others| others >= replicas)
        }
    }

    /// Sends commands to the nodes of their slots at the next try, because this node has failed.
    fn start_again(&self, node: &str, commands: &[usize], routes: &mut [Route]) {
        for at in commands {
            routes[*at] = Route::Slot;
        }
        self.pool.forget(node);
        self.pool.hush(node);
    }

    /// What to do after an error: where to send the command.
    fn judge(&self, node: &str, error: &ServerError) -> Result<Route, StoreError> {
        let asked = || error.details()?.split(' ').nth(1).map(str::to_owned);
        let is_redirected = ["ASK", "MOVED"].contains(&error.code());
        ClientCounters::count(&self.counters.redirects, usize::from(is_redirected));
        match error.code() {
            "ASK" => Ok(asked().map_or(Route::Slot, Route::Ask)),
            "MOVED" | "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY"
            | "BUSY" => Ok(Route::Slot),
            "NOSCRIPT" => {
                // Somebody emptied the cache of scripts: they are loaded with the next connection.
                self.pool.forget(node);
                Ok(Route::Slot)
            }
            "OOM" => Err(StoreError::Full {
                store: self.address.to_string(),
                node: node.to_owned(),
            }),
            _ => Err(unavailable(
                &self.address,
                &format!("{node}: {}", shown(error)),
            )),
        }
    }

    /// Asks a node for the topology, first another one with each try.
    fn refresh(&self, tries: usize) -> Result<(), String> {
        let known = self.topology();
        let all: Vec<&String> = known.nodes.iter().chain(&self.address.nodes).collect();
        let mut why = String::new();
        for node in all.iter().cycle().skip(tries % all.len()).take(all.len()) {
            match self.topology_of(node) {
                // A node that was cut off knows less than what is known.
                Ok(topology) if topology.epoch < known.epoch => {
                    why = format!("{node} does not know the last election");
                }
                Ok(topology) => {
                    if topology.has_replicas {
                        self.replicated.store(true, Ordering::Relaxed);
                    }
                    self.counters.compare(&known, &topology);
                    if *known != topology {
                        self.clocks.must_learn.store(true, Ordering::Release);
                        self.clocks.must_tell_again.store(true, Ordering::Release);
                    }
                    *self.topology.write() = Arc::new(topology);
                    return Ok(());
                }
                Err(error) => {
                    self.pool.forget(node);
                    why = error;
                }
            }
        }
        Err(why)
    }

    fn topology_of(&self, node: &str) -> Result<Topology, String> {
        Topology::of(node, |what: &str| {
            let answer = self
                .on(node, redis::cmd("CLUSTER").arg(what))
                .map_err(|error| error.to_string())?;
            read::<String>(answer)
                .ok_or_else(|| format!("{node} does not say which nodes there are"))
        })
    }
}

fn shown(error: &ServerError) -> String {
    [error.code(), error.details().unwrap_or_default()].join(" ")
}

fn unavailable(address: &ClusterAddress, detail: &str) -> StoreError {
    StoreError::Unavailable {
        store: address.to_string(),
        detail: detail.to_owned(),
    }
}
