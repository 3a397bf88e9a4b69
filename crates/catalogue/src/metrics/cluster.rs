//! Metrics of a store on a cluster. All are 0 for a catalogue in a folder.

use prometheus::{IntCounter, IntGauge};

use super::{advance, gauge};
use lapidary_store::{ClusterVitals, NodeVitals};

metrics! {
    /// The metrics of a cluster.
    pub struct ClusterMetrics {
        round_trips: IntCounter = "lapidary_cluster_round_trips_total",
            "Pipelines sent to nodes of the cluster.";
        retries: IntCounter = "lapidary_cluster_retries_total",
            "Pipelines sent again, because a node failed or served another slot.";
        redirects: IntCounter = "lapidary_cluster_redirects_total",
            "Commands that a node has redirected (MOVED and ASK).";
        failovers: IntCounter = "lapidary_cluster_failovers_total",
            "Primaries that were replaced by others, as this process has seen it.";
        pending: IntGauge = "lapidary_cluster_pending_changes",
            "Changes of books that are being made, or were left half done.";
        primaries: IntGauge = "lapidary_cluster_primaries",
            "Nodes that serve slots and answer.";
        unreplicated: IntGauge = "lapidary_cluster_unreplicated_primaries",
            "Nodes that serve slots and have no replica.";
        lost: IntGauge = "lapidary_cluster_lost_nodes",
            "Nodes that have lost data. All answers that need them are refused.";
        lag: IntGauge = "lapidary_cluster_replication_lag_bytes",
            "Bytes that the slowest replica is behind its primary.";
        used: IntGauge = "lapidary_cluster_memory_bytes",
            "Memory used by the primaries, in bytes.";
        fullest: IntGauge = "lapidary_cluster_fullest_node_percent",
            "Used memory of the fullest primary, in percent of its maxmemory; 0 if none has one.";
    }
}

impl ClusterMetrics {
    /// Updates the metrics.
    pub fn set(&self, vitals: &ClusterVitals) {
        let ClusterVitals {
            nodes,
            lost,
            pending,
            round_trips,
            retries,
            redirects,
            failovers,
        } = vitals;
        advance(&self.round_trips, *round_trips);
        advance(&self.retries, *retries);
        advance(&self.redirects, *redirects);
        advance(&self.failovers, *failovers);
        self.pending.set(gauge(*pending));
        self.lost.set(gauge(lost.len() as u64));
        let primaries = || nodes.iter().filter(|node| node.is_primary);
        self.primaries.set(gauge(primaries().count() as u64));
        self.unreplicated.set(gauge(
            primaries().filter(|node| node.replicas == 0).count() as u64
        ));
        self.lag
            .set(gauge(primaries().map(|node| node.lag).max().unwrap_or(0)));
        self.used
            .set(gauge(primaries().map(|node| node.used).sum()));
        self.fullest.set(gauge(
            primaries().map(NodeVitals::fullness).max().unwrap_or(0),
        ));
    }
}
