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

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use redis::{Connection, Script, ServerError, Value};

use super::address::ClusterAddress;
use super::command::{Command, read};
use super::login::Login;
use super::topology::Topology;
use super::vitals::Counters;
use crate::index::StoreError;

/// How long a node may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(1);
/// How long a node may take for an answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a replica may take to acknowledge.
const ACKNOWLEDGE: Duration = Duration::from_secs(2);
/// How long to try again: longer than a replica takes to become the primary, with the usual timeouts of nodes.
const PATIENCE: Duration = Duration::from_secs(12);
/// The pause before the next try, which doubles up to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(200)];
/// The number of idle connections to keep for each node.
const IDLE: usize = 16;

/// A client of a cluster, for any number of threads.
pub(super) struct Client {
    address: ClusterAddress,
    login: Login,
    scripts: Vec<&'static Script>,
    topology: RwLock<Arc<Topology>>,
    idle: Mutex<HashMap<String, Vec<Connection>>>,
    /// Whether there has ever been a replica: then, every change must be on one.
    replicated: AtomicBool,
    pub(super) counters: Counters,
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

/// Commands for one node.
struct Pipeline {
    connection: Connection,
    /// Which they are.
    commands: Vec<usize>,
}

/// Why a command has no answer yet.
enum Trouble {
    /// It may work with another try.
    Again(String),
    /// It will not.
    Final(StoreError),
}

impl Client {
    /// Connects to a cluster. Scripts are loaded into every node that is used.
    pub(super) fn connect(address: &ClusterAddress, scripts: Vec<&'static Script>) -> Result<Self, StoreError> {
        let client = Self {
            address: address.clone(),
            login: Login::to(address)?,
            scripts,
            topology: RwLock::new(Arc::new(Topology::unknown(&address.nodes))),
            idle: Mutex::default(),
            replicated: AtomicBool::new(false),
            counters: Counters::default(),
        };
        client.refresh(0).map_err(|why| unavailable(address, &why))?;
        Ok(client)
    }

    pub(super) fn address(&self) -> &ClusterAddress {
        &self.address
    }

    /// Reads.
    pub(super) fn read(&self, commands: &[Command]) -> Result<Vec<Value>, StoreError> {
        self.run(commands, false)
    }

    /// Writes. The answers are returned once a replica has what was written too, if there are replicas. Each command must
    /// write something.
    pub(super) fn write(&self, commands: &[Command]) -> Result<Vec<Value>, StoreError> {
        self.run(commands, true)
    }

    /// Writes what may be lost.
    pub(super) fn write_loosely(&self, commands: &[Command]) -> Result<Vec<Value>, StoreError> {
        self.run(commands, false)
    }

    /// Sends a command to every node that serves slots.
    pub(super) fn on_each_primary(&self, command: &redis::Cmd) -> Result<Vec<(String, Value)>, StoreError> {
        let nodes: Vec<String> = self.topology().primaries().map(str::to_owned).collect();
        let mut answers = Vec::new();
        for node in nodes {
            answers.push((node.clone(), self.on(&node, command)?));
        }
        Ok(answers)
    }

    /// Sends a command to a node.
    pub(super) fn on(&self, node: &str, command: &redis::Cmd) -> Result<Value, StoreError> {
        let failed = |why: redis::RedisError| unavailable(&self.address, &format!("{node}: {why}"));
        let mut connection = self.take(node).map_err(|why| unavailable(&self.address, &why))?;
        connection.send_packed_command(&command.get_packed_command()).map_err(failed)?;
        let answer = connection.recv_response().map_err(failed)?;
        self.give_back(node, connection);
        match answer {
            Value::ServerError(error) => Err(unavailable(&self.address, &format!("{node}: {}", shown(&error)))),
            answer => Ok(answer),
        }
    }

    pub(super) fn topology(&self) -> Arc<Topology> {
        self.topology.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn run(&self, commands: &[Command], acknowledged: bool) -> Result<Vec<Value>, StoreError> {
        let until = Instant::now() + PATIENCE;
        let mut answers: Vec<Option<Value>> = commands.iter().map(|_| None).collect();
        let mut routes = vec![Route::Slot; commands.len()];
        let mut pause = PAUSES[0];
        let acknowledged = acknowledged && self.replicated.load(Ordering::Relaxed);
        for tries in 0.. {
            let trouble = match self.round(commands, &mut routes, &mut answers, acknowledged) {
                None => return Ok(answers.into_iter().flatten().collect()),
                Some(Trouble::Final(error)) => return Err(error),
                Some(Trouble::Again(why)) => why,
            };
            Counters::count(&self.counters.retries, 1);
            if Instant::now() + pause > until {
                return Err(unavailable(&self.address, &trouble));
            }
            if routes.iter().zip(&answers).any(|(route, answer)| answer.is_none() && *route == Route::Slot) {
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
    fn round(
        &self,
        commands: &[Command],
        routes: &mut [Route],
        answers: &mut [Option<Value>],
        acknowledged: bool,
    ) -> Option<Trouble> {
        let topology = self.topology();
        let mut trouble = None;
        let mut nodes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for at in (0..commands.len()).filter(|at| answers[*at].is_none()) {
            match (&routes[at], topology.node(commands[at].slot)) {
                (Route::Ask(node), _) => nodes.entry(node.clone()).or_default().push(at),
                (Route::Slot, Some(node)) => nodes.entry(node.to_owned()).or_default().push(at),
                (Route::Slot, None) => trouble = Some(Trouble::Again("some slots are served by no node".to_owned())),
            }
        }
        let mut sent = Vec::new();
        Counters::count(&self.counters.round_trips, nodes.len());
        for (node, chosen) in nodes {
            match self.send(&node, commands, &chosen, routes, acknowledged) {
                Ok(connection) => sent.push((node, Pipeline { connection, commands: chosen })),
                Err(why) => {
                    self.start_again(&node, &chosen, routes);
                    trouble = Some(Trouble::Again(why));
                }
            }
        }
        for (node, pipeline) in sent {
            let met = self.receive(&node, pipeline, routes, answers, acknowledged);
            if !matches!(trouble, Some(Trouble::Final(_))) {
                trouble = met.or(trouble);
            }
        }
        trouble
    }

    /// Sends commands to a node.
    fn send(
        &self,
        node: &str,
        commands: &[Command],
        chosen: &[usize],
        routes: &[Route],
        acknowledged: bool,
    ) -> Result<Connection, String> {
        let mut bytes = Vec::with_capacity(chosen.iter().map(|at| commands[*at].bytes.len() + 32).sum());
        for at in chosen {
            if routes[*at] != Route::Slot {
                redis::cmd("ASKING").write_packed_command(&mut bytes);
            }
            bytes.extend(&commands[*at].bytes);
        }
        if acknowledged {
            redis::cmd("WAIT").arg(1).arg(ACKNOWLEDGE.as_millis() as u64).write_packed_command(&mut bytes);
        }
        let mut connection = self.take(node)?;
        connection.send_packed_command(&bytes).map_err(|why| format!("{node}: {why}"))?;
        Ok(connection)
    }

    /// Receives the answers of a node. Says where commands that it does not serve are to be sent instead.
    fn receive(
        &self,
        node: &str,
        pipeline: Pipeline,
        routes: &mut [Route],
        answers: &mut [Option<Value>],
        acknowledged: bool,
    ) -> Option<Trouble> {
        let Pipeline { mut connection, commands } = pipeline;
        let mut got = Vec::with_capacity(commands.len());
        let mut trouble = None;
        let mut next = || connection.recv_response().map_err(|why| format!("{node}: {why}"));
        let mut receive_all = || {
            for at in &commands {
                let asked = std::mem::take(&mut routes[*at]) != Route::Slot;
                if asked {
                    next()?;
                }
                match next()? {
                    Value::ServerError(error) => match self.judge(node, &error) {
                        Ok(route) => {
                            let is_redirected = ["ASK", "MOVED"].contains(&error.code());
                            Counters::count(&self.counters.redirects, usize::from(is_redirected));
                            routes[*at] = route;
                            trouble.get_or_insert(Trouble::Again(format!("{node}: {}", shown(&error))));
                        }
                        Err(error) => trouble = Some(Trouble::Final(error)),
                    },
                    answer => got.push((*at, answer)),
                }
            }
            if acknowledged { next().map(Some) } else { Ok(None) }
        };
        let waited = match receive_all() {
            Ok(waited) => waited,
            Err(why) => {
                self.start_again(node, &commands, routes);
                return Some(Trouble::Again(why));
            }
        };
        self.give_back(node, connection);
        let is_missing = waited.is_some_and(|replicas| read::<i64>(replicas).is_none_or(|replicas| replicas < 1));
        if is_missing && !got.is_empty() {
            let store = self.address.to_string();
            return Some(Trouble::Final(StoreError::NotReplicated { store, node: node.to_owned() }));
        }
        for (at, answer) in got {
            answers[at] = Some(answer);
        }
        trouble
    }

    /// Sends commands to the nodes of their slots at the next try, because this node has failed.
    fn start_again(&self, node: &str, commands: &[usize], routes: &mut [Route]) {
        for at in commands {
            routes[*at] = Route::Slot;
        }
        self.forget(node);
    }

    /// Drops the idle connections to a node, which are likely of no use.
    fn forget(&self, node: &str) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).remove(node);
    }

    /// What to do after an error: where to send the command.
    fn judge(&self, node: &str, error: &ServerError) -> Result<Route, StoreError> {
        let asked = || error.details()?.split(' ').nth(1).map(str::to_owned);
        match error.code() {
            "ASK" => Ok(asked().map_or(Route::Slot, Route::Ask)),
            "MOVED" | "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "BUSY" => Ok(Route::Slot),
            "NOSCRIPT" => {
                // Somebody emptied the cache of scripts: they are loaded with the next connection.
                self.forget(node);
                Ok(Route::Slot)
            }
            "OOM" => Err(StoreError::Full { store: self.address.to_string(), node: node.to_owned() }),
            _ => Err(unavailable(&self.address, &format!("{node}: {}", shown(error)))),
        }
    }

    /// Takes an idle connection to a node, or makes one.
    fn take(&self, node: &str) -> Result<Connection, String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).get_mut(node).and_then(Vec::pop);
        if let Some(connection) = idle {
            return Ok(connection);
        }
        let failed = |why: redis::RedisError| format!("{node}: {why}");
        let client = self.login.client(node).map_err(failed)?;
        let mut connection = client.get_connection_with_timeout(CONNECT).map_err(failed)?;
        connection.set_read_timeout(Some(ANSWER)).map_err(failed)?;
        connection.set_write_timeout(Some(ANSWER)).map_err(failed)?;
        for script in &self.scripts {
            script.prepare_invoke().load(&mut connection).map_err(failed)?;
        }
        Ok(connection)
    }

    fn give_back(&self, node: &str, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = idle.entry(node.to_owned()).or_default();
        if idle.len() < IDLE {
            idle.push(connection);
        }
    }

    /// Asks a node for the topology, first another one with each try.
    fn refresh(&self, tries: usize) -> Result<(), String> {
        let known = self.topology();
        let all: Vec<&String> = known.nodes.iter().chain(&self.address.nodes).collect();
        let mut why = String::new();
        for node in all.iter().cycle().skip(tries % all.len()).take(all.len()) {
            let answer = self.on(node, redis::cmd("CLUSTER").arg("NODES")).map_err(|error| error.to_string());
            match answer.map(|answer| read::<String>(answer).and_then(|answer| Topology::read(&answer, node))) {
                Ok(Some(topology)) => {
                    if topology.has_replicas {
                        self.replicated.store(true, Ordering::Relaxed);
                    }
                    self.counters.compare(&known, &topology);
                    *self.topology.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(topology);
                    return Ok(());
                }
                Ok(None) => why = format!("{node} does not say which nodes there are"),
                Err(error) => {
                    self.forget(node);
                    why = error;
                }
            }
        }
        Err(why)
    }
}

fn shown(error: &ServerError) -> String {
    [error.code(), error.details().unwrap_or_default()].join(" ")
}

fn unavailable(address: &ClusterAddress, detail: &str) -> StoreError {
    StoreError::Unavailable { store: address.to_string(), detail: detail.to_owned() }
}
