//! What is unhealthy about the nodes of a cluster.

use crate::api::Finding;
use crate::api::FindingCode::{
    EvictingNode, LostData, MissingCatalogue, MissingReplica, NodeNearlyFull, NotPersistent,
};
use lapidary_language::Language;
use lapidary_store::{ClusterVitals, NodeVitals};

/// From this share of its maximum memory on, in percent, a node is nearly full.
const NEARLY_FULL: u64 = 85;

/// The finding about nodes that have lost data, if any have.
pub(super) fn of_losses(language: Language, vitals: &ClusterVitals) -> Option<Finding> {
    (!vitals.lost.is_empty()).then(|| {
        Finding::new(
            LostData,
            language.d_lost_data(&vitals.lost.join("; ")),
            language.d_lost_data_why(),
            language.d_lost_data_fix(),
        )
    })
}

/// Finds what is unhealthy. `untouched`: there has never been anything in the catalogue.
pub(super) fn of_cluster(
    language: Language,
    vitals: &ClusterVitals,
    untouched: bool,
) -> Vec<Finding> {
    let those = |is_unhealthy: &dyn Fn(&NodeVitals) -> bool| those(vitals, is_unhealthy);
    let evicting = those(&|node| node.evicts.is_some()).map(|nodes| {
        Finding::new(
            EvictingNode,
            language.d_evicting_node(&nodes),
            language.d_evicting_node_why(),
            configure(&nodes, "maxmemory-policy noeviction"),
        )
    });
    let alone = those(&|node| node.is_primary && node.replicas == 0)
        .map(|nodes| missing_replica(language, vitals, &nodes));
    let full = those(&|node| node.is_primary && node.fullness() >= NEARLY_FULL).map(|nodes| {
        Finding::new(
            NodeNearlyFull,
            language.d_node_nearly_full(NEARLY_FULL, &nodes),
            language.d_node_nearly_full_why(),
            language.d_node_nearly_full_fix(),
        )
    });
    let missing = untouched.then(|| {
        Finding::new(
            MissingCatalogue,
            language.d_missing_catalogue(),
            language.d_missing_catalogue_why(),
            language.d_missing_catalogue_fix(),
        )
    });
    let [unsaved, failing] = not_persistent(language, vitals);
    [evicting, alone, unsaved, failing, full, missing]
        .into_iter()
        .flatten()
        .collect()
}

fn missing_replica(language: Language, vitals: &ClusterVitals, nodes: &str) -> Finding {
    let why = if vitals.nodes.iter().any(|node| node.replicas > 0) {
        language.d_missing_replica_of_some_why()
    } else {
        language.d_missing_replica_why()
    };
    let first = nodes.split(' ').next().unwrap_or_default();
    let add = format!("redis-cli --cluster add-node HOST:PORT {first} --cluster-slave");
    Finding::new(
        MissingReplica,
        language.d_missing_replica(nodes),
        why,
        language.d_missing_replica_fix(&add),
    )
}

/// The addresses of unhealthy nodes; `None` if there are none.
fn those(vitals: &ClusterVitals, is_unhealthy: &dyn Fn(&NodeVitals) -> bool) -> Option<String> {
    let nodes = vitals.nodes.iter().filter(|node| is_unhealthy(node));
    let nodes: Vec<&str> = nodes.map(|node| node.address.as_str()).collect();
    (!nodes.is_empty()).then(|| nodes.join(" "))
}

/// Nodes whose data is not on disk: by their settings, and because a disk failed.
fn not_persistent(language: Language, vitals: &ClusterVitals) -> [Option<Finding>; 2] {
    let unsaved = those(vitals, &|node| !node.is_saved).map(|nodes| {
        Finding::new(
            NotPersistent,
            language.d_not_persistent(&nodes),
            language.d_not_persistent_why(),
            configure(&nodes, "appendonly yes"),
        )
    });
    let failing = those(vitals, &|node| node.cannot_save).map(|nodes| {
        Finding::new(
            NotPersistent,
            language.d_cannot_save(&nodes),
            language.d_cannot_save_why(),
            language.d_cannot_save_fix(),
        )
    });
    [unsaved, failing]
}

fn configure(nodes: &str, what: &str) -> String {
    let redis = "redis-cli -u redis://$node config";
    format!("for node in {nodes}; do {redis} set {what}; {redis} rewrite; done")
}

#[cfg(test)]
mod tests {
    use lapidary_language::Language;
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
            let findings = of_cluster(Language::English, &vitals, false);
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
