//! What is unhealthy about the nodes of a cluster.

use crate::api::Finding;
use crate::api::FindingCode::{
    EvictingNode, LostData, MissingCatalogue, MissingReplica, NodeNearlyFull, NotPersistent,
};
use lapidary_store::{ClusterVitals, NodeVitals};

/// From this share of its maximum memory on, in percent, a node is nearly full.
const NEARLY_FULL: u64 = 85;

/// The finding about nodes that have lost data, if any have.
pub(super) fn of_losses(vitals: &ClusterVitals) -> Option<Finding> {
    let lost = vitals.lost.join("; ");
    let why = "all answers that need such a node are refused, because they would miss books";
    let fix = "start each of them with its data, or see what is lost and repair the rest: lapidary verify TARGET --fix";
    (!lost.is_empty()).then(|| Finding::new(LostData, lost, why, fix))
}

/// Finds what is unhealthy. `untouched`: there has never been anything in the catalogue.
pub(super) fn of_cluster(vitals: &ClusterVitals, untouched: bool) -> Vec<Finding> {
    let those = |is_unhealthy: &dyn Fn(&NodeVitals) -> bool| those(vitals, is_unhealthy);
    let evicting = those(&|node| node.evicts.is_some()).map(|nodes| {
        let what = format!("these nodes may drop keys when their memory is full: {nodes}");
        let fix = configure(&nodes, "maxmemory-policy noeviction");
        Finding::new(
            EvictingNode,
            what,
            "checks would miss books, and nobody would know",
            fix,
        )
    });
    let is_replicated = vitals.nodes.iter().any(|node| node.replicas > 0);
    let alone = those(&|node| node.is_primary && node.replicas == 0).map(|nodes| {
        let (what, first) =
            (format!("these nodes have no replica: {nodes}"), nodes.split(' ').next().unwrap_or_default());
        let why = if is_replicated {
            "other nodes have replicas, so changes of what these hold are refused, and slots that are moved to them take no more"
        } else {
            "if one is lost, its books are, and checks fail until it is back"
        };
        let fix =
            format!("start a new node for each, then redis-cli --cluster add-node HOST:PORT {first} --cluster-slave");
        Finding::new(MissingReplica, what, why, fix)
    });
    let full = those(&|node| node.is_primary && node.fullness() >= NEARLY_FULL).map(|nodes| {
        let what = format!("these nodes use {NEARLY_FULL} % of their memory or more: {nodes}");
        let fix = "lapidary compact TARGET, then add a node with a replica, and move slots to it: redis-cli --cluster rebalance HOST:PORT \
                   --cluster-use-empty-masters";
        Finding::new(NodeNearlyFull, what, "books are refused when a node is full", fix)
    });
    let missing = untouched.then(|| {
        let fix = "name the right nodes and prefix, or lapidary copy --from DIR --to URL";
        let what = "there is no catalogue in the cluster under this prefix";
        Finding::new(MissingCatalogue, what, "checks find nothing", fix)
    });
    let [unsaved, failing] = not_persistent(vitals);
    [evicting, alone, unsaved, failing, full, missing]
        .into_iter()
        .flatten()
        .collect()
}

/// The addresses of unhealthy nodes; `None` if there are none.
fn those(vitals: &ClusterVitals, is_unhealthy: &dyn Fn(&NodeVitals) -> bool) -> Option<String> {
    let nodes = vitals.nodes.iter().filter(|node| is_unhealthy(node));
    let nodes: Vec<&str> = nodes.map(|node| node.address.as_str()).collect();
    (!nodes.is_empty()).then(|| nodes.join(" "))
}

/// Nodes whose data is not on disk: by their settings, and because a disk failed.
fn not_persistent(vitals: &ClusterVitals) -> [Option<Finding>; 2] {
    let unsaved = those(vitals, &|node| !node.is_saved).map(|nodes| {
        let what = format!("these nodes do not keep their data on disk: {nodes}");
        let why = "if all copies of a part lose power, its books are lost";
        let fix = configure(&nodes, "appendonly yes");
        Finding::new(NotPersistent, what, why, fix)
    });
    let failing = those(vitals, &|node| node.cannot_save).map(|nodes| {
        let what = format!("these nodes could not write to their disk: {nodes}");
        let why = "what is in their memory only is lost when they stop";
        let fix = "free some space on their disks, and see their logs";
        Finding::new(NotPersistent, what, why, fix)
    });
    [unsaved, failing]
}

fn configure(nodes: &str, what: &str) -> String {
    let redis = "redis-cli -u redis://$node config";
    format!("for node in {nodes}; do {redis} set {what}; {redis} rewrite; done")
}

#[cfg(test)]
mod tests {
    use lapidary_store::{ClusterVitals, NodeVitals};

    use super::of_cluster;

    fn primary(address: &str, replicas: u64) -> NodeVitals {
        NodeVitals {
            address: address.to_owned(),
            is_primary: true,
            used: 0,
            most: 0,
            evicts: None,
            is_saved: true,
            cannot_save: false,
            replicas,
            lag: 0,
        }
    }

    /// A new primary gets slots only once it has a replica: without one, it takes no changes.
    #[test]
    fn a_primary_without_a_replica_is_named_before_it_gets_slots() {
        let told = |replicas: [u64; 2]| {
            let [a, b] = replicas;
            let vitals = ClusterVitals {
                nodes: vec![primary("a:1", a), primary("b:1", b)],
                lost: Vec::new(),
                pending: 0,
                round_trips: 0,
                retries: 0,
                redirects: 0,
                failovers: 0,
            };
            let findings = of_cluster(&vitals, false);
            findings
                .first()
                .map(|found| (found.detail.clone(), found.reason.clone()))
        };
        assert_eq!(told([1, 1]), None);
        let (what, why) = told([1, 0]).expect("a finding");
        assert!(
            what.ends_with(": b:1") && why.contains("refused"),
            "{what} {why}"
        );
        let (what, why) = told([0, 0]).expect("a finding");
        assert!(
            what.ends_with(": a:1 b:1") && !why.contains("refused"),
            "{what} {why}"
        );
    }
}
