//! Networks of their own for tests: what they do to the network is not seen outside, and nothing outlives them.

use std::io::Write as _;
use std::process::Command;

/// Set in the run of a test that has its own network.
const INSIDE: &str = "LAPIDARY_OWN_NETWORK";
/// What `unshare` makes for that run.
const OWN: [&str; 5] = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Runs a test again, in a network and with processes of its own, which takes root. `programs` are those it needs. Returns
/// whether this is that run.
pub fn is_own(programs: &[&str]) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let works =
        |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let absent = programs
        .iter()
        .find(|program| !works(Command::new(program).arg("--version")));
    let missing = if let Some(program) = absent {
        Some(format!("there is no {program}"))
    } else if !works(
        Command::new("unshare")
            .args(OWN)
            .args(["ip", "link", "add", "br0", "type", "bridge"]),
    ) {
        Some("networks of their own take root, and the program ip (iproute2)".to_owned())
    } else {
        None
    };
    if let Some(missing) = missing {
        assert!(std::env::var_os("LAPIDARY_REQUIRE").is_none(), "{missing}");
        // Written directly, because the test harness hides the output of tests that pass.
        let _ = writeln!(std::io::stderr(), "skipped: {missing}");
        return false;
    }
    // A test runs in a thread of its name.
    let test = std::thread::current()
        .name()
        .expect("the name of a test")
        .to_owned();
    let mut again = Command::new("unshare");
    again
        .args(OWN)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(INSIDE, "");
    let output = again.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        printed.contains("1 passed"),
        "{test} did not run: {printed}"
    );
    false
}

pub fn ip(arguments: &str) {
    let ip = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(
        ip.status.success(),
        "ip {arguments}: {}",
        String::from_utf8_lossy(&ip.stderr)
    );
}
