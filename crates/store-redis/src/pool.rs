//! Connections to nodes, and which nodes are silent.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use redis::{Connection, Script};

use super::login::Login;
use super::topology::Topology;

/// How long a node may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(1);
/// How long a node may take for an answer.
pub(super) const ANSWER: Duration = Duration::from_secs(5);
/// How long a node that did not answer is not asked for the epoch, if enough others say it.
const SILENT: Duration = Duration::from_secs(5);
/// The number of idle connections to keep for each node.
const IDLE: usize = 16;

/// A connection to a node.
pub(super) struct PooledConnection {
    pub(super) connection: Connection,
    /// Whether the clock of its node was compared with the witnesses since it was made (`clock`).
    pub(super) is_admitted: bool,
}

/// The connections of a client.
pub(super) struct Pool {
    login: Login,
    scripts: Vec<&'static Script>,
    idle: Mutex<HashMap<String, Vec<PooledConnection>>>,
    /// The nodes that did not answer, and when.
    silent: Mutex<HashMap<String, Instant>>,
}

impl Pool {
    /// Connections that log in like this. The scripts are loaded into every node that is used.
    pub(super) fn new(login: Login, scripts: Vec<&'static Script>) -> Self {
        Self {
            login,
            scripts,
            idle: Mutex::default(),
            silent: Mutex::default(),
        }
    }

    /// Takes an idle connection to a node, or makes one.
    pub(super) fn take(&self, node: &str) -> Result<PooledConnection, String> {
        let idle = self.idle.lock().get_mut(node).and_then(Vec::pop);
        if let Some(connection) = idle {
            return Ok(connection);
        }
        let failed = |why: redis::RedisError| format!("{node}: {why}");
        let client = self.login.client(node).map_err(failed)?;
        let mut connection = client
            .get_connection_with_timeout(CONNECT)
            .map_err(failed)?;
        connection.set_read_timeout(Some(ANSWER)).map_err(failed)?;
        connection.set_write_timeout(Some(ANSWER)).map_err(failed)?;
        for script in &self.scripts {
            script
                .prepare_invoke()
                .load(&mut connection)
                .map_err(failed)?;
        }
        Ok(PooledConnection {
            connection,
            is_admitted: false,
        })
    }

    pub(super) fn give_back(&self, node: &str, connection: PooledConnection) {
        let mut idle = self.idle.lock();
        let idle = idle.entry(node.to_owned()).or_default();
        if idle.len() < IDLE {
            idle.push(connection);
        }
    }

    /// Drops the idle connections to a node, which are likely of no use.
    pub(super) fn forget(&self, node: &str) {
        self.idle.lock().remove(node);
    }

    /// Notes that a node was silent.
    pub(super) fn hush(&self, node: &str) {
        self.silent.lock().insert(node.to_owned(), Instant::now());
    }

    /// The primaries to ask for the epoch: those that have not been silent lately, or all.
    pub(super) fn voters<'t>(
        &self,
        topology: &'t Topology,
        all: bool,
    ) -> impl Iterator<Item = &'t str> {
        let mut silent = self.silent.lock();
        silent.retain(|_, since| since.elapsed() < SILENT);
        topology
            .primaries()
            .filter(move |node| all || !silent.contains_key(*node))
    }
}
