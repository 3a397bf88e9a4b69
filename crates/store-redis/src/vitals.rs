//! What the nodes say of themselves, and what this process has counted.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Shared;
use super::command::{Command, read};
use super::keys::SHARDS;
use super::topology::Topology;
use lapidary_store::{ClusterVitals, NodeVitals, StoreError};

/// Events that a client has counted.
#[derive(Debug, Default)]
pub(super) struct ClientCounters {
    pub(super) round_trips: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) redirects: AtomicU64,
    pub(super) failovers: AtomicU64,
}

impl ClientCounters {
    pub(super) fn count(counter: &AtomicU64, by: usize) {
        counter.fetch_add(by as u64, Ordering::Relaxed);
    }

    /// Counts the primaries that others have replaced.
    pub(super) fn compare(&self, before: &Topology, now: &Topology) {
        let present: HashSet<&str> = now.primaries().collect();
        let gone = before
            .primaries()
            .filter(|node| !present.contains(node))
            .count();
        Self::count(&self.failovers, gone);
    }

    fn vitals(&self, nodes: Vec<NodeVitals>, lost: Vec<String>, pending: u64) -> ClusterVitals {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ClusterVitals {
            nodes,
            lost,
            pending,
            round_trips: of(&self.round_trips),
            retries: of(&self.retries),
            redirects: of(&self.redirects),
            failovers: of(&self.failovers),
        }
    }
}

impl Shared {
    pub(super) fn vitals(&self) -> Result<ClusterVitals, StoreError> {
        let mut nodes = Vec::new();
        let topology = self.client.topology();
        for node in &topology.nodes {
            // A replica that does not answer is missed by its primary.
            let Ok(info) = self.client.on(node, redis::cmd("INFO").arg("all")) else {
                continue;
            };
            nodes.extend(read::<String>(info).map(|info| node_vitals(node, &info)));
        }
        let lost = self.client.witnesses().losses();
        if !lost.is_empty() {
            return Ok(self.client.counters.vitals(nodes, lost, 0));
        }
        let intents =
            (0..SHARDS).map(|shard| Command::bare("HLEN", &self.keys.shard(shard, "intents")));
        let lengths: Vec<u64> = self.ask_all(&intents.collect::<Vec<_>>())?;
        // One field is the last generation.
        let pending = lengths.iter().map(|length| length.saturating_sub(1)).sum();
        Ok(self.client.counters.vitals(nodes, lost, pending))
    }
}

/// What `INFO` says of each replica that is online.
fn online_replicas<'a>(fields: &HashMap<&str, &'a str>) -> Vec<&'a str> {
    let replicas = fields.iter().filter(|(field, value)| {
        let index = field.strip_prefix("slave").map(str::parse::<u32>);
        index.is_some_and(|index| index.is_ok()) && value.contains("state=online")
    });
    replicas.map(|(_, value)| *value).collect()
}

/// How much of what was sent to a replica it has.
fn offset_of(replica: &str) -> Option<u64> {
    let mut parts = replica.split(',');
    let offset = parts.find_map(|part| part.strip_prefix("offset="))?;
    offset.parse().ok()
}

/// Reads the answer of `INFO`.
fn node_vitals(address: &str, info: &str) -> NodeVitals {
    let fields: HashMap<&str, &str> = info
        .lines()
        .filter_map(|line| line.trim().split_once(':'))
        .collect();
    let number = |field: &str| {
        fields
            .get(field)
            .and_then(|value| value.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let is = |field: &str, value: &str| fields.get(field).is_some_and(|found| *found == value);
    let is_primary = is("role", "master");
    let sent = number("master_repl_offset");
    let replicas = online_replicas(&fields);
    let behind = replicas
        .iter()
        .filter_map(|replica| Some(sent.saturating_sub(offset_of(replica)?)));
    NodeVitals {
        address: address.to_owned(),
        is_primary,
        used: number("used_memory"),
        most: number("maxmemory"),
        evicts: fields
            .get("maxmemory_policy")
            .filter(|policy| **policy != "noeviction")
            .map(|policy| (*policy).to_owned()),
        is_saved: is("aof_enabled", "1"),
        cannot_save: is("aof_last_write_status", "err") || is("rdb_last_bgsave_status", "err"),
        replicas: replicas.len() as u64,
        lag: behind.max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_described() {
        let info = "# Memory\r\nused_memory:1000\r\nmaxmemory:4000\r\nmaxmemory_policy:allkeys-lru\r\n\
                    aof_enabled:1\r\naof_last_write_status:err\r\nrole:master\r\nmaster_repl_offset:90\r\n\
                    slave0:ip=h,port=1,state=online,offset=70,lag=0\r\nslave1:ip=h,port=2,state=online,offset=88,lag=1\r\n\
                    slave2:ip=h,port=3,state=wait_bgsave,offset=0,lag=1\r\nslave_expires_tracked_keys:0\r\n";
        let expected = NodeVitals {
            address: "h:1".to_owned(),
            is_primary: true,
            used: 1000,
            most: 4000,
            evicts: Some("allkeys-lru".to_owned()),
            is_saved: true,
            cannot_save: true,
            replicas: 2,
            lag: 20,
        };
        assert_eq!(node_vitals("h:1", info), expected);
    }
}
