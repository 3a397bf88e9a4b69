//! The same index on a Redis Cluster of real nodes on this machine: how fast it is copied there, its memory, the times of
//! checks beside those of the folder, the work of each node, and how fast single books are added.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lapidary_gems::WrittenGem;
use lapidary_store::{RocksStore, StoreError};
use redis::Connection as Node;
use serde_json::json;
use tempfile::TempDir;

use crate::data::{self, GEMS};
use crate::http::{self, Connection};
use crate::latency::Latencies;
use crate::plot::OnCluster;
use crate::random::{Purpose, Random};
use crate::server::{LAPIDARY, Server};
use crate::table::Table;
use crate::{CLIENTS, Index, Outcome, check, tell};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/cluster");
/// The number of times that folder and cluster take turns.
const ROUNDS: usize = 5;
/// The number of nodes, and of replicas of each, that single books are added to.
const ACKNOWLEDGED_BY: (u32, u32) = (3, 1);

/// A cluster. Its nodes are stopped on drop.
pub struct Cluster {
    folder: TempDir,
    pub url: String,
    primaries: Vec<Node>,
}

impl Cluster {
    pub fn start(primaries: u32, replicas: u32) -> Outcome<Self> {
        let folder = TempDir::new()?;
        let mut command = Command::new(SCRIPT);
        command
            .arg(folder.path())
            .args([primaries.to_string(), replicas.to_string()])
            .stderr(Stdio::inherit());
        let nodes = String::from_utf8(command.output()?.stdout)?;
        let nodes: Vec<&str> = nodes.split_whitespace().collect();
        if nodes.len() != (primaries * (replicas + 1)) as usize {
            return Err("the cluster did not start; is redis-server installed?".into());
        }
        let url = format!("redis://{}", nodes.join(","));
        let mut cluster = Self {
            folder,
            url,
            primaries: Vec::new(),
        };
        for node in nodes {
            let mut node = redis::Client::open(format!("redis://{node}"))?.get_connection()?;
            let info: String = redis::cmd("INFO").arg("replication").query(&mut node)?;
            if info.contains("role:master") {
                cluster.primaries.push(node);
            }
        }
        Ok(cluster)
    }

    /// A figure of `INFO`, summed over the primaries.
    fn info(&mut self, name: &str) -> Outcome<u64> {
        let mut sum = 0;
        for node in &mut self.primaries {
            let info: String = redis::cmd("INFO").arg("everything").query(node)?;
            let figure = info.lines().find_map(|line| {
                line.strip_prefix(name)?
                    .strip_prefix(':')?
                    .parse::<u64>()
                    .ok()
            });
            sum += figure.ok_or_else(|| format!("a node tells no {name}"))?;
        }
        Ok(sum)
    }

    /// Commands, and bytes received and sent, by all primaries.
    fn work(&mut self) -> Outcome<[u64; 2]> {
        let bytes = self.info("total_net_input_bytes")? + self.info("total_net_output_bytes")?;
        Ok([self.info("total_commands_processed")?, bytes])
    }

    /// Deletes all keys that match one of these patterns. Returns how many bytes of memory they took.
    fn delete(&mut self, patterns: &[&str]) -> Outcome<u64> {
        let before = self.info("used_memory")?;
        for pattern in patterns {
            self.primaries
                .iter_mut()
                .try_for_each(|node| delete(node, pattern))?;
        }
        // The table of keys shrinks little by little.
        let mut after = self.info("used_memory")?;
        loop {
            thread::sleep(Duration::from_secs(1));
            let now = self.info("used_memory")?;
            if now >= after {
                return Ok(before.saturating_sub(now));
            }
            after = now;
        }
    }
}

/// Deletes the keys of a node that match a pattern.
fn delete(node: &mut Node, pattern: &str) -> Outcome<()> {
    let mut cursor = 0_u64;
    loop {
        let scan = redis::cmd("SCAN")
            .arg(cursor)
            .arg(&["MATCH", pattern, "COUNT", "10000"])
            .clone();
        let (next, keys): (u64, Vec<Vec<u8>>) = scan.query(node)?;
        let mut all = redis::pipe();
        for key in &keys {
            all.cmd("DEL").arg(key).ignore();
        }
        if !keys.is_empty() {
            all.query::<()>(node)?;
        }
        if next == 0 {
            return Ok(());
        }
        cursor = next;
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new(SCRIPT)
            .arg(self.folder.path())
            .arg("stop")
            .status();
    }
}

/// Measures the index on clusters of these numbers of primaries.
pub fn rows(
    index: &Index<'_>,
    postings: u64,
    sizes: &[u32],
    table: &mut Table,
) -> Outcome<Vec<OnCluster>> {
    let clusters = sizes
        .iter()
        .map(|primaries| on(index, postings, *primaries, table))
        .collect::<Outcome<_>>()?;
    single_books(index, table)?;
    Ok(clusters)
}

fn on(index: &Index<'_>, postings: u64, primaries: u32, table: &mut Table) -> Outcome<OnCluster> {
    let mut cluster = Cluster::start(primaries, 0)?;
    let name = if primaries == 1 {
        "1 primary".to_owned()
    } else {
        format!("{primaries} primaries")
    };
    let empty = cluster.info("used_memory")?;

    tell(format_args!("copy to {name}"));
    let [stored, verified] = copy(index.folder, &cluster.url)?;
    let rate = postings as f64 / stored;
    table.set(
        format!("{name}: copy"),
        format_args!("{rate:.0} gems/s ({stored:.1} s), verified in {verified:.1} s"),
    );
    let server = Server::on_cluster(index.arguments, &cluster.url)?;
    let [p50_of_folder, p50] = checks_beside_folder(index, &server, &name, table)?;
    let [commands, bytes] = work_of_a_check(index, &server, &mut cluster, table, &name)?;
    server.stop()?;
    let whole = cluster.info("used_memory")?.saturating_sub(empty);
    memory_of_copy(&mut cluster, whole, postings, &name, table)?;
    Ok(OnCluster {
        primaries,
        p50,
        p50_of_folder,
        commands,
        bytes,
    })
}

/// Checks on the folder and on the cluster by turns. Returns the median time of each.
fn checks_beside_folder(
    index: &Index<'_>,
    server: &Server,
    name: &str,
    table: &mut Table,
) -> Outcome<[Duration; 2]> {
    let Index {
        arguments, queries, ..
    } = *index;
    let beside = Server::start(arguments, index.folder)?;
    let (mut of_folder, mut of_cluster, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let here = check::over_http(arguments, beside.address, queries, 1)?;
        let there = check::over_http(arguments, server.address, queries, 1)?;
        ratios.push(there.p50().as_secs_f64() / here.p50().as_secs_f64());
        of_folder.push(here);
        of_cluster.push(there);
    }
    beside.stop()?;
    let (of_folder, of_cluster) = (median(of_folder), median(of_cluster));
    let medians = [of_folder.p50(), of_cluster.p50()];
    table.set(
        format!("{name}: check of 200 gems over HTTP, folder, p50 / p99"),
        of_folder,
    );
    table.set(format!("{name}: the same, cluster"), of_cluster);
    ratios.sort_by(f64::total_cmp);
    let (least, middle, most) = (ratios[0], ratios[ROUNDS / 2], ratios[ROUNDS - 1]);
    table.set(
        format!("{name}: ratio of the p50"),
        format_args!("{middle:.2} ({least:.2} to {most:.2})"),
    );
    Ok(medians)
}

/// The commands and bytes of a check at each node.
fn work_of_a_check(
    index: &Index<'_>,
    server: &Server,
    cluster: &mut Cluster,
    table: &mut Table,
    name: &str,
) -> Outcome<[f64; 2]> {
    let before = cluster.work()?;
    let mut connection = Connection::open(server.address)?;
    let checks = index.queries.len().min(1_000);
    for query in &index.queries[..checks] {
        let (status, body) = connection.exchange(&query.request)?;
        query.right.verify(status, body)?;
    }
    let after = cluster.work()?;
    let nodes = cluster.primaries.len() as f64;
    let [commands, bytes] = [0, 1].map(|i| (after[i] - before[i]) as f64 / checks as f64 / nodes);
    table.set(
        format!("{name}: work per node and check"),
        format_args!("{commands:.1} commands, {bytes:.0} bytes"),
    );
    Ok([commands, bytes])
}

/// What the memory of a copy is for. Deletes the copy.
fn memory_of_copy(
    cluster: &mut Cluster,
    whole: u64,
    postings: u64,
    name: &str,
    table: &mut Table,
) -> Outcome<()> {
    let lists = cluster.delete(&["*:p:*"])?;
    let books = cluster.delete(&["*}b:*", "*}ids:*", "*}books"])?;
    let rest = whole.saturating_sub(lists + books);
    let [lists, books, rest] = [lists, books, rest].map(|bytes| bytes as f64 / postings as f64);
    table.set(
        format!("{name}: memory of a copy"),
        format_args!(
            "postings {lists:.2}; records, gem lists and ids {books:.2}; titles, authors, digests, audit log {rest:.2} bytes a gem"
        ),
    );
    Ok(())
}

/// Copies a folder with the real program. Returns how many seconds it took to store it, and to compare and verify it.
pub fn copy(folder: &Path, url: &str) -> Outcome<[f64; 2]> {
    let copied = Command::new(LAPIDARY)
        .args(["copy", "--to", url, "--from"])
        .arg(folder)
        .output()?;
    let said = String::from_utf8(copied.stdout)?;
    let seconds = said
        .lines()
        .filter_map(|line| line.strip_suffix(" s")?.rsplit(' ').next()?.parse().ok());
    let seconds: Vec<f64> = seconds.collect();
    seconds
        .try_into()
        .map_err(|_| format!("the index was not copied: {said}").into())
}

/// The measurement with the median p50.
fn median(mut measured: Vec<Latencies>) -> Latencies {
    measured.sort_by_key(Latencies::p50);
    measured.swap_remove(measured.len() / 2)
}

/// Adds books one by one from several clients, each acknowledged by a replica.
fn single_books(index: &Index<'_>, table: &mut Table) -> Outcome<()> {
    let Index {
        arguments, recipe, ..
    } = *index;
    let (primaries, replicas) = ACKNOWLEDGED_BY;
    let cluster = Cluster::start(primaries, replicas)?;
    // A new catalogue would have other recipes.
    let place = TempDir::new()?;
    let empty = place.path().join("empty");
    RocksStore::build(
        &empty,
        std::slice::from_ref(recipe),
        std::iter::empty::<Result<_, StoreError>>(),
    )?;
    copy(&empty, &cluster.url)?;
    let server = Server::on_cluster(arguments, &cluster.url)?;
    tell(format_args!("single books, clients: {CLIENTS}"));
    let adding = AddingBooks {
        index,
        address: server.address,
        next: AtomicU32::new(0),
        end: Instant::now() + arguments.duration(),
    };
    let began = Instant::now();
    let added = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| adding.client()))
            .collect();
        let added = clients
            .into_iter()
            .map(|client| client.join().map_err(|_| "a client panicked")?);
        added.sum::<Outcome<u32>>()
    })?;
    let rate = f64::from(added) / began.elapsed().as_secs_f64();
    let row = format!(
        "single books of {GEMS} gems, {primaries} primaries with a replica each, {CLIENTS} clients"
    );
    table.set(row, format_args!("{rate:.0} books/s"));
    server.stop()
}

/// Books that several clients add.
struct AddingBooks<'a> {
    index: &'a Index<'a>,
    address: SocketAddr,
    /// The number of the next book.
    next: AtomicU32,
    end: Instant,
}

impl AddingBooks<'_> {
    /// Adds books until the end. Returns how many.
    fn client(&self) -> Outcome<u32> {
        let mut connection = Connection::open(self.address)?;
        let mut added = 0;
        while Instant::now() < self.end {
            let (status, answer) = connection.exchange(&self.next_request())?;
            if status != 201 {
                let answer = String::from_utf8_lossy(answer);
                return Err(format!("a book was not added: {status} {answer}").into());
            }
            added += 1;
        }
        Ok(added)
    }

    fn next_request(&self) -> Vec<u8> {
        let Index {
            arguments, recipe, ..
        } = *self.index;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let gems = data::gems(Random::new(arguments.seed, Purpose::Book, number.into()));
        let gems: Vec<WrittenGem> = gems
            .into_iter()
            .map(|gem| recipe.write(data::of_recipe(gem, recipe)))
            .collect();
        let body = json!({ "rights": "protected", "gems": gems, "recipe": recipe.name() });
        http::request(
            "PUT",
            &format!("/v1/libraries/bench/books/{number}"),
            "application/json",
            body.to_string().as_bytes(),
        )
    }
}
