//! Sources of several servers that share a cluster.

use super::served::{counted, ended, get, listed, put, send};
use super::*;
use crate::common::cluster::Nodes;
use crate::common::{Server, until};

#[test]
fn one_of_several_servers_runs_a_source_and_another_goes_on_with_it() {
    const BOOKS: u64 = 150;
    let Some(nodes) = Nodes::start(3, 1) else {
        return;
    };
    let store = format!("redis://{}/sources", nodes.addresses);
    let site = Site::new();
    site.books(0..BOOKS);
    site.set("/list.txt", site.list(0..BOOKS));
    let start = || Server::start_on(&store);
    let [first, second] = [start(), start()];
    put(&first, &listed(&site));
    for server in [&first, &second, &first] {
        assert_eq!(
            send(server, "POST", "/v1/sources/it/run", &Value::Null).0,
            202
        );
    }
    assert_eq!(counted(&ended(&second, 1)), [BOOKS, BOOKS, 0, 0]);
    let books = |site: &Site| -> Vec<usize> {
        site.count()
            .iter()
            .filter(|(path, _)| path.starts_with("/book"))
            .map(|(_, times)| *times)
            .collect()
    };
    assert_eq!(
        books(&site),
        vec![1; BOOKS as usize],
        "each was fetched once, by one server"
    );

    // Killed in the middle, one after the other. The run goes on while a server starts or another one than its own is
    // killed, so all are started before it, and it takes half a minute.
    let mut servers = vec![second, first, start(), start(), start()];
    let kills = 3;
    let others = Site::new();
    others.books(0..BOOKS);
    others.set("/list.txt", others.list(0..BOOKS));
    let mut slow = listed(&others);
    slow["rate"] = json!("5/s");
    put(&servers[0], &slow);
    let asked = || others.asked.lock().expect("no panic").len();
    send(&servers[0], "POST", "/v1/sources/it/run", &Value::Null);
    for _ in 0..kills {
        let before = asked();
        until("a server goes on with it", || asked() > before + 10);
        drop(servers.remove(0));
    }
    // A command does not run it beside them.
    let shown = || get(&servers[0], "/v1/sources/it");
    until("some server runs it", || shown()["state"] == "running");
    let refused = run(&format!("sources run --store {store} it"), &[] as &[&str]).expect(2);
    assert!(refused.err.contains("is being run"), "{refused:?}");
    assert_eq!(counted(&ended(&servers[0], 2))[3], 0);
    let times = books(&others);
    assert_eq!(times.len() as u64, BOOKS, "nothing is forgotten");
    let twice: usize = times.iter().map(|times| times - 1).sum();
    assert!(
        twice <= kills * 64,
        "{twice} were fetched again after {kills} kills"
    );
    // Removed through one server, it stops in the other.
    let third = send(&servers[0], "POST", "/v1/sources/it/run", &Value::Null);
    assert_eq!(third.0, 202);
    let before = asked();
    until("it is run a third time", || asked() > before + 5);
    for server in &servers {
        send(server, "DELETE", "/v1/sources/it", &Value::Null);
    }
    let mut before = asked();
    until("a removed source stops", || {
        thread::sleep(Duration::from_millis(300));
        before == std::mem::replace(&mut before, asked())
    });
    put(&servers[0], &listed(&others));
    assert_eq!(
        get(&servers[0], "/v1/sources/it")["run"],
        Value::Null,
        "nothing is left of it"
    );
}
