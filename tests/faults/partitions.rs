//! Partitions of the network: between nodes, and between a server and nodes.
//!
//! Each node and each server is in a network namespace of its own. A partition makes them send to an address of the link
//! layer that nobody has, so what they send is lost without a word.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};
use ureq::Agent;
use ureq::http::header::AUTHORIZATION;

use super::load::{Servers, admin_key, faults, heal, is_primary, print_delays, under_load};
use crate::common::cluster::Nodes;
use crate::common::network::{ip, is_own};
use crate::common::{Random, Server, command, prose};

/// The address of the link layer that nobody has.
const NOWHERE: &str = "02:00:00:00:00:01";
const PORT: u16 = 7000;
const PRIMARIES: usize = 3;

/// A machine of the network: a namespace, which exists as long as this process.
struct Host {
    holder: Child,
    address: String,
}

impl Host {
    fn new(number: usize) -> Self {
        let mut holder = Command::new("unshare");
        holder
            .args(["--net", "sh", "-c", "echo; cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut holder = holder.spawn().unwrap();
        // It is in its namespace once it says something.
        BufReader::new(holder.stdout.take().unwrap())
            .read_line(&mut String::new())
            .unwrap();
        let host = Self {
            address: format!("10.77.0.{}", number + 1),
            holder,
        };
        ip(&format!(
            "link add v{number} type veth peer name eth0 netns {}",
            host.holder.id()
        ));
        ip(&format!("link set v{number} master br0 up"));
        host.ip(&format!(
            "addr add {}/24 dev eth0\nlink set eth0 up\nlink set lo up\n",
            host.address
        ));
        host
    }

    /// A command that runs on this machine.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.holder.id().to_string(), program]);
        command
    }

    /// Runs commands of `ip`, one in each line.
    fn ip(&self, lines: &str) {
        let mut ip = self
            .command("ip")
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        ip.stdin
            .take()
            .unwrap()
            .write_all(lines.as_bytes())
            .unwrap();
        assert!(ip.wait().unwrap().success(), "{lines}");
    }
}

/// Machines with the nodes of a cluster, and after them two with a server each. The test reaches all of them, always.
struct Network {
    hosts: Vec<Host>,
    nodes: Nodes,
    store: String,
    /// The servers can be reached from other machines, so they need one.
    key: String,
    _running: Vec<Child>,
    _folder: TempDir,
}

impl Network {
    /// Three primaries with so many replicas each.
    fn start(replicas: usize) -> Self {
        let folder = tempdir().unwrap();
        ip("link set lo up");
        ip("link add br0 type bridge");
        ip("addr add 10.77.0.254/24 dev br0");
        ip("link set br0 up");
        let count = PRIMARIES * (1 + replicas);
        let hosts: Vec<Host> = (0..count + 2).map(Host::new).collect();
        let start = |host: &Host| {
            let dir = folder.path().join(&host.address);
            std::fs::create_dir(&dir).unwrap();
            let mut server = host.command("redis-server");
            server
                .args([
                    "--bind",
                    &host.address,
                    "--port",
                    &PORT.to_string(),
                    "--protected-mode",
                    "no",
                    "--dir",
                ])
                .arg(&dir);
            server
                .args("--logfile log --cluster-enabled yes --cluster-node-timeout 2000".split(' '));
            server.args(
                "--cluster-require-full-coverage no --cluster-allow-replica-migration no"
                    .split(' '),
            );
            server.args(
                "--repl-diskless-sync-delay 0 --maxmemory-policy noeviction --appendonly yes"
                    .split(' '),
            );
            server
                .args(["--save", ""])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let running = hosts[..count].iter().map(start).collect();
        let addresses: Vec<String> = hosts[..count]
            .iter()
            .map(|host| format!("{}:{PORT}", host.address))
            .collect();
        let nodes = Nodes::at(addresses.join(","));
        let since = Instant::now();
        while (0..count).any(|node| nodes.ask(node, &["ping"]) != "PONG") {
            assert!(
                since.elapsed() < Duration::from_secs(30),
                "the nodes do not start"
            );
        }
        let mut create = Command::new("redis-cli");
        create.args(["--cluster", "create"]).args(&addresses);
        let created = create
            .args(["--cluster-yes", "--cluster-replicas", &replicas.to_string()])
            .output()
            .unwrap();
        assert!(
            created.status.success(),
            "{}",
            String::from_utf8_lossy(&created.stdout)
        );
        heal(&nodes);
        let store = format!("redis://{}", nodes.addresses);
        let key = admin_key(&store);
        Self {
            hosts,
            nodes,
            store,
            key,
            _running: running,
            _folder: folder,
        }
    }

    fn servers(&self) -> [Server; 2] {
        [0, 1].map(|server| {
            let host = &self.hosts[self.nodes.count() + server];
            let line = format!("serve --listen {}:0 --store {}", host.address, self.store);
            let serve = command(&line, &[] as &[&str]);
            let mut on_host = host.command(&serve.get_program().to_string_lossy());
            on_host.args(serve.get_args());
            Server::of(on_host)
        })
    }

    /// The index of a server among the machines.
    fn server(&self, server: usize) -> usize {
        self.nodes.count() + server
    }

    /// The machines that are not among these.
    fn others(&self, some: &[usize]) -> Vec<usize> {
        (0..self.hosts.len())
            .filter(|host| !some.contains(host))
            .collect()
    }

    /// Cuts every machine of one side off every machine of the other, until the answer is dropped.
    fn cut(&self, side: &[usize], other: &[usize]) -> Cut<'_> {
        let mut lost: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (a, b) in side
            .iter()
            .flat_map(|a| other.iter().map(move |b| (*a, *b)))
        {
            lost.entry(a).or_default().push(b);
            lost.entry(b).or_default().push(a);
        }
        for (host, lost) in &lost {
            let line = |to: &usize| {
                format!(
                    "neigh replace {} lladdr {NOWHERE} nud permanent dev eth0\n",
                    self.hosts[*to].address
                )
            };
            self.hosts[*host].ip(&lost.iter().map(line).collect::<String>());
        }
        Cut {
            network: self,
            lost,
        }
    }

    fn primaries(&self) -> Vec<usize> {
        (0..self.nodes.count())
            .filter(|node| is_primary(&self.nodes, *node))
            .collect()
    }

    fn replicas(&self, primary: usize) -> Vec<usize> {
        let of = format!("master_host:{}\r", self.hosts[primary].address);
        let follows = |node: &usize| {
            self.nodes
                .ask(*node, &["info", "replication"])
                .contains(&of)
        };
        (0..self.nodes.count()).filter(follows).collect()
    }
}

/// A partition of a network.
struct Cut<'a> {
    network: &'a Network,
    lost: BTreeMap<usize, Vec<usize>>,
}

impl Drop for Cut<'_> {
    fn drop(&mut self) {
        for (host, lost) in &self.lost {
            let line =
                |to: &usize| format!("neigh del {} dev eth0\n", self.network.hosts[*to].address);
            self.network.hosts[*host].ip(&lost.iter().map(line).collect::<String>());
        }
    }
}

/// Sends JSON. Returns the status and the answer.
fn send(key: &str, method: &str, url: &str, body: &Value) -> (u16, Value) {
    let agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(90)));
    let agent = agent.build().new_agent();
    let request = if method == "PUT" {
        agent.put(url)
    } else {
        agent.post(url)
    };
    let mut answer = request
        .header(AUTHORIZATION, format!("Bearer {key}"))
        .send_json(body)
        .unwrap();
    let status = answer.status().as_u16();
    assert_eq!(
        answer.headers().contains_key("Retry-After"),
        status == 503,
        "{method} {url}: {status}"
    );
    let body: Value = answer.body_mut().read_json().unwrap();
    assert!(status == 200 || body.get("verdict").is_none(), "{body}");
    (status, body)
}

/// Repeats what is refused with 503, as clients should.
fn in_the_end(mut send: impl FnMut() -> (u16, Value)) -> (u16, Value) {
    let since = Instant::now();
    loop {
        let answer = send();
        if answer.0 != 503 {
            return answer;
        }
        assert!(since.elapsed() < Duration::from_mins(1), "{}", answer.1);
        sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_partition_loses_nothing_that_was_acknowledged() {
    if !is_own(&["redis-server"]) {
        return;
    }
    let network = Network::start(2);
    let servers = Servers::of(network.store.clone(), network.servers(), &network.key);
    let mut random = Random(11);
    let mut at = Vec::new();
    let delayed = under_load(&servers, || {
        for round in 0..faults(4) {
            sleep(Duration::from_millis(300 + random.below(500)));
            let primaries = network.primaries();
            let primary = primaries[random.below(primaries.len() as u64) as usize];
            let replicas = network.replicas(primary);
            let server = network.server(random.below(2) as usize);
            at.push(Instant::now());
            let (side, other) = match round % 4 {
                // A primary and a server, without its replicas: one of those takes its place.
                0 => (vec![primary, server], network.others(&[primary, server])),
                // A primary with all its replicas and a server: most primaries are on the other side.
                1 => {
                    let side: Vec<usize> =
                        replicas.iter().copied().chain([primary, server]).collect();
                    let other = network.others(&side);
                    (side, other)
                }
                // A server and some nodes, which the other server reaches.
                2 => (
                    vec![server],
                    replicas.iter().copied().chain([primary]).collect(),
                ),
                // A primary and one of its replicas, which all others reach.
                _ => (vec![primary], vec![replicas[0]]),
            };
            let cut = network.cut(&side, &other);
            sleep(Duration::from_millis(3500 + random.below(3000)));
            drop(cut);
            heal(&network.nodes);
        }
    });
    print_delays(&at, delayed);
}

#[test]
fn a_server_that_is_cut_off_gives_no_verdict() {
    if !is_own(&["redis-server"]) {
        return;
    }
    let network = Network::start(2);
    let [cut_off, other] = network.servers();
    let text = |i: u64| prose(i, 600);
    let put = |server: &Server, i: u64| {
        let url = format!("{}/v1/libraries/lib/books/{i}", server.url);
        send(
            &network.key,
            "PUT",
            &url,
            &json!({ "rights": "protected", "text": text(i) }),
        )
    };
    let check = |server: &Server, i: u64| {
        send(
            &network.key,
            "POST",
            &format!("{}/v1/checks", server.url),
            &json!({ "text": text(i) }),
        )
    };
    let is_found = |(status, report): (u16, Value), i: u64| {
        assert_eq!(status, 200, "{report}");
        assert_eq!(
            (&report["verdict"], &report["matches"][0]["book"]["id"]),
            (&json!("protected"), &json!(i.to_string()))
        );
    };
    for i in 0..3 {
        assert_eq!(put(&other, i).0, 201);
    }
    is_found(check(&cut_off, 0), 0);

    // Some nodes are out of its reach. Not those with the recipes and keys.
    let slot: usize = network
        .nodes
        .ask(0, &["cluster", "keyslot", "lapidary{meta}"])
        .parse()
        .unwrap();
    let primary = network.primaries()[(slot / (16384 / PRIMARIES + 1) + 1) % PRIMARIES];
    let some: Vec<usize> = network
        .replicas(primary)
        .into_iter()
        .chain([primary])
        .collect();
    assert_eq!(some.len(), 3);
    let cut = network.cut(&[network.server(0)], &some);
    scope(|scope| {
        let checked = scope.spawn(|| check(&cut_off, 1));
        let new = scope.spawn(|| put(&cut_off, 7));
        is_found(check(&other, 1), 1);
        assert_eq!(put(&other, 3).0, 201);
        for (status, problem) in [checked.join().unwrap(), new.join().unwrap()] {
            assert_eq!(
                (status, &problem["code"]),
                (503, &json!("store_unavailable")),
                "{problem}"
            );
        }
    });
    drop(cut);
    is_found(in_the_end(|| check(&cut_off, 3)), 3);

    // It is with a primary that most nodes have replaced.
    let side = [network.server(0), primary];
    let cut = network.cut(&side, &network.others(&side));
    scope(|scope| {
        let checked = scope.spawn(|| check(&cut_off, 1));
        let new = scope.spawn(|| put(&cut_off, 8));
        assert_eq!(in_the_end(|| put(&other, 4)).0, 201);
        is_found(in_the_end(|| check(&other, 4)), 4);
        for refused in [checked, new] {
            let (status, problem) = refused.join().unwrap();
            assert_eq!(status, 503, "{problem}");
        }
        assert_eq!(in_the_end(|| put(&other, 5)).0, 201);
    });
    drop(cut);
    heal(&network.nodes);
    for i in [3, 4, 5] {
        is_found(in_the_end(|| check(&cut_off, i)), i);
    }
    // What was refused may be repeated.
    for i in [7, 8] {
        assert!(matches!(in_the_end(|| put(&cut_off, i)).0, 200 | 201));
        is_found(in_the_end(|| check(&other, i)), i);
    }
}
