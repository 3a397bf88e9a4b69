//! Which node serves which slot, as the cluster says it.

use std::collections::HashMap;

use super::keys::{SHARDS, SLOTS, slot_of_shard};

/// The flags of nodes that cannot be asked.
const UNREACHABLE: [&str; 3] = ["fail", "noaddr", "handshake"];

/// The nodes of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Topology {
    /// The addresses of all nodes, first those that serve slots.
    pub(super) nodes: Vec<String>,
    /// The index of the node that serves each slot, `u16::MAX` if none does.
    slots: Vec<u16>,
    /// How many of the nodes serve slots.
    serving: usize,
    /// A shard of each node that has one, by the index of the node.
    shards: HashMap<u16, u32>,
    /// Whether any node is a replica, even of a failed one.
    pub(super) has_replicas: bool,
    /// The number of replicas of each node that are not known to have failed.
    replicas: HashMap<String, usize>,
    /// The number of the last election that the node knew of that said all this.
    pub(super) epoch: u64,
}

impl Topology {
    /// Before any of these nodes was asked.
    pub(super) fn unknown(nodes: &[String]) -> Self {
        Self {
            nodes: nodes.to_vec(),
            ..Self::default()
        }
    }

    /// Asks a node. `ask` gets the answer of `CLUSTER` with a word.
    pub(super) fn of(
        node: &str,
        ask: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        // In this order, the nodes are as they are after the elections that the epoch counts, or later.
        let epoch = current_epoch(&ask("INFO")?);
        let topology = epoch.zip(Self::read(&ask("NODES")?, node));
        let (epoch, topology) =
            topology.ok_or_else(|| format!("{node} does not say which nodes there are"))?;
        Ok(Self { epoch, ..topology })
    }

    /// Reads the answer of `CLUSTER NODES` from the node at `asked`. A node that does not know its own address has that. It
    /// does not say the epoch.
    pub(super) fn read(answer: &str, asked: &str) -> Option<Self> {
        let mut topology = Self {
            slots: vec![u16::MAX; usize::from(SLOTS)],
            ..Self::unknown(&[])
        };
        let (mut idle, mut addresses, mut primaries) = (Vec::new(), HashMap::new(), Vec::new());
        for line in answer.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [id, address, flags, primary, _, _, _, _, slots @ ..] = words.as_slice() else {
                return None;
            };
            let mut flags = flags.split(',');
            let is_replica = flags.clone().any(|flag| flag == "slave");
            topology.has_replicas |= is_replica;
            if flags.any(|flag| UNREACHABLE.contains(&flag)) {
                continue;
            }
            let address = client_address(address, asked);
            addresses.insert(*id, address.to_owned());
            primaries.extend(is_replica.then_some(*primary));
            let node = u16::try_from(topology.nodes.len()).ok()?;
            let nodes = if topology.give(node, slots)? {
                &mut topology.nodes
            } else {
                &mut idle
            };
            nodes.push(address.to_owned());
        }
        topology.serving = topology.nodes.len();
        topology.nodes.append(&mut idle);
        topology.find_shards();
        topology.count_replicas(&primaries, &addresses);
        (!topology.nodes.is_empty()).then_some(topology)
    }

    /// `primaries`: that of each replica.
    fn count_replicas(&mut self, primaries: &[&str], addresses: &HashMap<&str, String>) {
        for address in primaries.iter().filter_map(|id| addresses.get(id)) {
            *self.replicas.entry(address.clone()).or_default() += 1;
        }
    }

    fn find_shards(&mut self) {
        for shard in 0..SHARDS {
            let node = self.slots[usize::from(slot_of_shard(shard))];
            if node != u16::MAX {
                self.shards.insert(node, shard);
            }
        }
    }

    /// Gives ranges of slots to a node. Returns whether there are any.
    fn give(&mut self, node: u16, ranges: &[&str]) -> Option<bool> {
        let mut has_any = false;
        // What a slot is being moved to or from is in brackets.
        for range in ranges.iter().filter(|range| !range.starts_with('[')) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
            self.slots.get_mut(first..=last)?.fill(node);
            has_any = true;
        }
        Some(has_any)
    }

    /// The index of the node that serves a slot.
    pub(super) fn index(&self, slot: u16) -> Option<u16> {
        self.slots
            .get(usize::from(slot))
            .copied()
            .filter(|node| *node != u16::MAX)
    }

    /// The node that serves a slot.
    pub(super) fn node(&self, slot: u16) -> Option<&str> {
        self.nodes
            .get(usize::from(self.index(slot)?))
            .map(String::as_str)
    }

    /// A shard of the node with this index, if it has one.
    pub(super) fn a_shard(&self, node: u16) -> Option<u32> {
        self.shards.get(&node).copied()
    }

    /// A shard of the node at this address, if it has one.
    pub(super) fn shard_at(&self, address: &str) -> Option<u32> {
        let node = self.nodes.iter().position(|node| node == address)?;
        self.a_shard(u16::try_from(node).ok()?)
    }

    /// The number of replicas of a node that are not known to have failed.
    pub(super) fn replicas(&self, node: &str) -> usize {
        self.replicas.get(node).copied().unwrap_or(0)
    }

    /// The nodes that serve slots.
    pub(super) fn primaries(&self) -> impl Iterator<Item = &str> {
        self.nodes[..self.serving].iter().map(String::as_str)
    }
}

/// The epoch in the answer of `CLUSTER INFO`.
pub(super) fn current_epoch(info: &str) -> Option<u64> {
    info.lines().find_map(|line| {
        line.strip_prefix("cluster_current_epoch:")?
            .trim()
            .parse()
            .ok()
    })
}

/// The address for clients, before that of the bus and the name. A node that does not know its own has the one that was asked.
fn client_address<'a>(address: &'a str, asked: &'a str) -> &'a str {
    match address.split(['@', ',']).next().unwrap_or_default() {
        address if address.starts_with(':') => asked,
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = "\
a 127.0.0.1:7000@17000 myself,master - 0 1 1 connected 0-5460 [5461->-c] 16383
b 127.0.0.1:7003@17003,host.example slave a 0 1 1 connected
c 10.0.0.3:7001@17001 master - 0 1 2 connected 5461-16382 [5461-<-a]
d 10.0.0.4:7001@17001 master,fail - 0 1 2 connected
e :0@0 slave,fail,noaddr c 0 1 2 disconnected
f 10.0.0.6:7001@17001 slave,fail? a 0 1 1 disconnected
";

    #[test]
    fn the_nodes_of_slots_are_read() {
        let topology = Topology::read(NODES, "asked:1").unwrap();
        assert!(topology.has_replicas);
        assert_eq!(
            topology.nodes,
            [
                "127.0.0.1:7000",
                "10.0.0.3:7001",
                "127.0.0.1:7003",
                "10.0.0.6:7001"
            ]
        );
        // One that is only suspected counts: it may be promoted.
        assert_eq!(
            ["127.0.0.1:7000", "10.0.0.3:7001"].map(|node| topology.replicas(node)),
            [2, 0]
        );
        assert_eq!(
            topology.primaries().collect::<Vec<_>>(),
            ["127.0.0.1:7000", "10.0.0.3:7001"]
        );
        assert!((0..2).all(
            |node| topology.index(slot_of_shard(topology.a_shard(node).unwrap())) == Some(node)
        ));
        assert_eq!((topology.a_shard(2), topology.index(SLOTS)), (None, None));
        let table = [
            (0, 7000),
            (5460, 7000),
            (5461, 7001),
            (16382, 7001),
            (16383, 7000),
        ];
        for (slot, port) in table {
            assert!(
                topology.node(slot).unwrap().ends_with(&format!(":{port}")),
                "{slot}"
            );
        }
        let alone = Topology::read(
            "a :7000@17000 myself,master - 0 0 1 connected 0-3\n",
            "asked:1",
        )
        .unwrap();
        assert_eq!(
            (alone.node(3), alone.node(4), alone.has_replicas),
            (Some("asked:1"), None, false)
        );
        assert_eq!(Topology::read("", "asked:1"), None);
        assert_eq!(Topology::read("a b c", "asked:1"), None);
        assert_eq!(
            Topology::read("a h:1@2 master - 0 0 1 connected 0-16384\n", "asked:1"),
            None
        );
    }
}
