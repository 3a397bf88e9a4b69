//! Whether the nodes of an address are of one cluster.

use std::collections::HashSet;

use super::client::Client;
use super::command::read;
use lapidary_store::StoreError;

/// The nodes of the cluster of a node, as it knows them, by their ids.
#[derive(Debug)]
struct Members {
    own: String,
    all: HashSet<String>,
}

impl Members {
    /// Reads the answer of `CLUSTER NODES`.
    fn read(answer: &str) -> Option<Self> {
        let lines: Vec<Vec<String>> = answer
            .lines()
            .map(|line| {
                line.split(' ')
                    .take(3)
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        let own = lines
            .iter()
            .find(|line| {
                line.get(2)
                    .is_some_and(|flags| flags.split(',').any(|flag| flag == "myself"))
            })?
            .first()?
            .clone();
        Some(Self {
            own,
            all: lines
                .into_iter()
                .filter_map(|line| line.into_iter().next())
                .collect(),
        })
    }

    /// Whether one of two nodes knows the other.
    fn know(&self, other: &Self) -> bool {
        self.all.contains(&other.own) || other.all.contains(&self.own)
    }
}

impl Client {
    /// # Errors
    /// [`StoreError::TwoClusters`] if two of the named nodes that answer do not know each other.
    pub(super) fn confirm_one_cluster(&self) -> Result<(), StoreError> {
        let mut first: Option<(&String, Members)> = None;
        for node in &self.address().nodes {
            let Ok(said) = self.on(node, redis::cmd("CLUSTER").arg("NODES")) else {
                continue;
            };
            let Some(members) = read::<String>(said).and_then(|said| Members::read(&said)) else {
                continue;
            };
            match &first {
                None => first = Some((node, members)),
                Some((one, known)) if !known.know(&members) => {
                    let (store, nodes) =
                        (self.address().to_string(), [(*one).clone(), node.clone()]);
                    return Err(StoreError::TwoClusters { store, nodes });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
