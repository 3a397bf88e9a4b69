//! End-to-end tests of TLS with generated certificates.

use crate::common;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::common::{Folder, command, prose, run};
use lapidary::server::{CertificateFiles, Opening, Settings};
use lapidary_catalogue::Catalogue;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    date_time_ymd,
};
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A certificate authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut about = CertificateParams::default();
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        about
            .distinguished_name
            .push(DnType::CommonName, "an authority of the test");
        Self(
            CertifiedIssuer::self_signed(about, KeyPair::generate().expect("a key"))
                .expect("an authority"),
        )
    }

    /// Writes a new certificate for this machine, and its private key.
    fn sign(&self, files: &CertificateFiles, until: i32) {
        self.sign_until(files, (until, 1, 1));
    }

    fn sign_until(&self, files: &CertificateFiles, (year, month, day): (i32, u8, u8)) {
        let key = KeyPair::generate().expect("a key");
        let mut about = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        about.not_after = date_time_ymd(year, month, day);
        let certificate = about.signed_by(&key, &self.0).expect("a certificate");
        fs::write(&files.certificate, certificate.pem()).expect("written");
        fs::write(&files.private_key, key.serialize_pem()).expect("written");
    }

    /// A client that trusts only this authority.
    fn client(&self) -> Agent {
        let root = Certificate::from_pem(self.0.pem().as_bytes()).expect("a certificate");
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::from([root]))
            .build();
        Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .build()
            .into()
    }
}

fn files(folder: &Folder) -> CertificateFiles {
    CertificateFiles {
        certificate: folder.path("certificate.pem"),
        private_key: folder.path("key.pem"),
    }
}

const OPTIONS: &str = "--data {} --certificate {} --private-key {}";

fn paths<'a>(folder: &'a Folder, data: &'a Path) -> [PathBuf; 3] {
    let CertificateFiles {
        certificate,
        private_key,
    } = files(folder);
    [data.to_owned(), certificate, private_key]
}

/// A TLS server, stopped on drop.
struct Server {
    address: String,
    child: Child,
    log: mpsc::Receiver<String>,
}

impl Server {
    fn start(folder: &Folder) -> Self {
        let data = folder.data();
        let mut command = command(
            &format!("serve --listen 127.0.0.1:0 {OPTIONS}"),
            &paths(folder, &data),
        );
        let mut child = command
            .env_remove("RUST_LOG")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let (sender, log) = mpsc::channel();
        thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let mut server = Self {
            address: String::new(),
            child,
            log,
        };
        let line = server.line_with("listens on ");
        let url = line.rsplit(' ').next().expect("an address");
        url.strip_prefix("https://")
            .expect("an address of TLS")
            .clone_into(&mut server.address);
        server
    }

    fn line_with(&self, part: &str) -> String {
        let next = || {
            self.log
                .recv_timeout(Duration::from_mins(1))
                .expect("a line of the log")
        };
        std::iter::repeat_with(next)
            .find(|line| line.contains(part))
            .expect("endless")
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether it is told of the certificate or not, and whoever signed that.
#[test]
fn the_health_of_a_server_is_asked_over_tls() {
    let folder = Folder::new();
    Authority::new().sign(&files(&folder), 4096);
    let server = Server::start(&folder);
    let running = format!("https://{} is running\n", server.address);
    let certificate = files(&folder).certificate;
    for (options, paths) in [("", vec![]), ("--certificate {}", vec![&certificate])] {
        let line = format!("health --listen {} {options}", server.address);
        assert_eq!(run(&line, &paths).expect(0).out, running);
    }
}

#[test]
fn a_check_goes_over_tls_and_nothing_goes_without() {
    let folder = Folder::new();
    let authority = Authority::new();
    authority.sign(&files(&folder), 4096);
    let server = Server::start(&folder);

    // The program as a client, with the authority in a file.
    let book = folder.file("books/gems.txt", prose(1, 3_000));
    let trusted = folder.file("authority.pem", authority.0.pem());
    let client = |line: &str, authority: &Path, paths: &[&Path]| {
        let url = server.url("");
        let mut command = command(&line.replace("URL", &url), paths);
        common::Run::from(
            command
                .env("LAPIDARY_CA", authority)
                .output()
                .expect("the program runs"),
        )
    };
    client(
        "ingest --server URL --library mine --rights protected {}",
        &trusted,
        &[&book],
    )
    .expect(0);
    client("check --server URL {}", &trusted, &[&book]).expect(1);

    let stranger = folder.file("stranger.pem", Authority::new().0.pem());
    let refused = client("check --server URL {}", &stranger, &[&book]).expect(3);
    assert!(refused.err.contains("certificate"), "{}", refused.err);
    let none = folder.file("none.pem", "no certificate");
    let refused = client("check --server URL {}", &none, &[&book]).expect(2);
    assert!(
        refused.err.contains("none.pem: no certificate"),
        "{}",
        refused.err
    );
    let public = run(&format!("check --server {} {{}}", server.url("")), &[&book]).expect(3);
    assert!(public.err.contains("certificate"), "{}", public.err);
    let plain = run(
        &format!("check --server http://{} {{}}", server.address),
        &[&book],
    )
    .expect(3);
    assert!(
        plain.err.contains("no answer from http://"),
        "{}",
        plain.err
    );

    let mut stream = TcpStream::connect(&server.address).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .expect("a time-out");
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(
        !answer.starts_with(b"HTTP"),
        "a request without TLS is answered: {}",
        String::from_utf8_lossy(&answer)
    );
    let mut answer = authority
        .client()
        .get(server.url("/metrics"))
        .call()
        .expect("an answer");
    let metrics = answer.body_mut().read_to_string().expect("text");
    assert!(
        metrics.contains("\nlapidary_certificate_expiry_timestamp_seconds 67090"),
        "{metrics}"
    );
}

/// A certificate as made by `openssl req -x509`: self-signed, marked as an authority, and without an address.
#[test]
fn a_certificate_that_is_itself_trusted_is_enough() {
    let folder = Folder::new();
    let sign = |files: &CertificateFiles, until: i32| {
        let mut about = CertificateParams::default();
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        about.distinguished_name = DistinguishedName::new();
        about
            .distinguished_name
            .push(DnType::CommonName, "books.example");
        about.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().expect("a key");
        fs::write(
            &files.certificate,
            about.self_signed(&key).expect("a certificate").pem(),
        )
        .expect("written");
        fs::write(&files.private_key, key.serialize_pem()).expect("written");
    };
    sign(&files(&folder), 4096);
    let server = Server::start(&folder);
    let client = |certificate: &Path| {
        let mut command = command(
            &format!("stats --server {}", server.url("")),
            &[] as &[&Path],
        );
        common::Run::from(
            command
                .env("LAPIDARY_CA", certificate)
                .output()
                .expect("the program runs"),
        )
    };
    client(&files(&folder).certificate).expect(0);
    // A different certificate with the same name is rejected.
    let other = CertificateFiles {
        certificate: folder.path("other.pem"),
        private_key: folder.path("other-key.pem"),
    };
    sign(&other, 4096);
    let refused = client(&other.certificate).expect(3);
    assert!(refused.err.contains("certificate"), "{}", refused.err);
}

#[test]
fn a_renewed_certificate_is_served_without_a_restart() {
    let folder = Folder::new();
    let (first, second) = (Authority::new(), Authority::new());
    first.sign(&files(&folder), 4096);
    let server = Server::start(&folder);
    let reaches = |authority: &Authority| {
        authority
            .client()
            .get(server.url("/healthz"))
            .call()
            .is_ok()
    };
    assert!(reaches(&first) && !reaches(&second));

    // An invalid certificate or an incomplete replacement does no harm.
    let elsewhere = CertificateFiles {
        certificate: folder.path("new.pem"),
        private_key: folder.path("new-key.pem"),
    };
    second.sign(&elsewhere, 4096);
    let CertificateFiles {
        certificate,
        private_key,
    } = files(&folder);
    fs::write(&certificate, "no certificate").expect("written");
    server.line_with("still serving the old certificate");
    fs::copy(&elsewhere.certificate, &certificate).expect("copied");
    server.line_with("does not belong to the first certificate");
    assert!(reaches(&first) && !reaches(&second));

    fs::copy(&elsewhere.private_key, &private_key).expect("copied");
    server.line_with("serving a certificate that is valid until");
    assert!(!reaches(&first) && reaches(&second));
}

#[test]
fn the_doctor_says_that_a_certificate_expires_soon() {
    let folder = Folder::new();
    let authority = Authority::new();
    let day = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date()
        .saturating_add(jiff::Span::new().days(5));
    let until = (
        day.year().into(),
        day.month().unsigned_abs(),
        day.day().unsigned_abs(),
    );
    authority.sign_until(&files(&folder), until);
    let server = Server::start(&folder);
    let trusted = folder.file("authority.pem", authority.0.pem());
    let doctor = |status: i32| {
        let mut command = command(
            &format!("doctor --server {}", server.url("")),
            &[] as &[&Path],
        );
        common::Run::from(
            command
                .env("LAPIDARY_CA", &trusted)
                .output()
                .expect("the program runs"),
        )
        .expect(status)
        .out
    };
    assert!(
        doctor(1).starts_with(&format!("the TLS certificate expires on {day}: ")),
        "{}",
        doctor(1)
    );
    authority.sign(&files(&folder), 4096);
    server.line_with("valid until 4096");
    assert_eq!(doctor(0), "nothing unhealthy found\n");
}

#[test]
fn a_handshake_that_does_not_end_is_cut_and_stops_nobody() {
    let folder = Folder::new();
    let authority = Authority::new();
    authority.sign(&files(&folder), 4096);
    let server = Server::start(&folder);
    let connect = || TcpStream::connect(&server.address).expect("a connection");
    // More than the default limit of the TLS library for concurrent handshakes.
    let mut silent: Vec<TcpStream> = (0..800).map(|_| connect()).collect();
    let begun = Instant::now();
    assert_eq!(
        authority
            .client()
            .get(server.url("/healthz"))
            .call()
            .expect("an answer")
            .status(),
        200
    );
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "others wait for those who say nothing"
    );
    let mut slow = connect();
    // A ClientHello sent byte by byte.
    for byte in [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3].iter().cycle().take(60) {
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
        sleep(Duration::from_millis(250));
    }
    for stream in silent.iter_mut().take(3).chain([&mut slow]) {
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .expect("a time-out");
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        assert!(ended.is_ok_and(|bytes| bytes < 100) || begun.elapsed() < Duration::from_mins(1));
    }
    assert!(
        begun.elapsed() < Duration::from_mins(1),
        "who says nothing is waited for for ever"
    );
}

#[test]
fn what_is_wrong_with_the_files_is_said_before_it_serves() {
    let folder = Folder::new();
    let authority = Authority::new();
    let CertificateFiles {
        certificate,
        private_key,
    } = files(&folder);
    let data = folder.data();
    let checked = || {
        run(
            &format!("serve --check-config {OPTIONS}"),
            &paths(&folder, &data),
        )
    };
    let said = |words: &str| {
        let refused = checked().expect(2);
        assert!(refused.err.contains(words), "{words}: {}", refused.err);
    };
    said("certificate.pem: No such file");
    authority.sign(&files(&folder), 4096);
    let shown = checked().expect(0).out;
    assert!(
        shown.contains("certificate.pem\"\n") && shown.contains("key.pem\"\n"),
        "{shown}"
    );
    let (good, key) = (
        fs::read(&certificate).expect("read"),
        fs::read(&private_key).expect("read"),
    );

    fs::write(&certificate, &key).expect("written");
    said("certificate.pem: contains no certificate");
    fs::write(
        &certificate,
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    )
    .expect("written");
    said("certificate.pem: not a valid X.509 certificate");
    fs::write(&certificate, &good).expect("written");
    fs::write(&private_key, &good).expect("written");
    said("key.pem: contains no private key");
    fs::write(
        &private_key,
        KeyPair::generate().expect("a key").serialize_pem(),
    )
    .expect("written");
    said("does not belong to the first certificate");
    authority.sign(&files(&folder), 2001);
    said("until 2001-01-01T00:00:00Z, which is not now");

    fs::remove_file(&private_key).expect("removed");
    let refused = run(&format!("serve {OPTIONS}"), &paths(&folder, &data)).expect(2);
    assert!(
        refused.err.contains("key.pem: No such file"),
        "{}",
        refused.err
    );
    assert!(
        !data.exists(),
        "a catalogue was made before the settings were looked at"
    );
    let half = run(
        "serve --check-config --data {} --certificate {}",
        &[&data, &certificate],
    )
    .expect(2);
    assert!(half.err.contains("belong together"), "{}", half.err);
    let variable = command("serve --check-config --data {}", &[&data])
        .env("LAPIDARY_CERTIFICATE", &certificate)
        .env("LAPIDARY_PRIVATE_KEY", &private_key)
        .output()
        .expect("the program runs");
    assert!(
        common::Run::from(variable)
            .expect(2)
            .err
            .contains("key.pem: No such file")
    );
}

/// TLS is also used while the catalogue is being opened.
#[test]
fn a_server_that_starts_speaks_tls_too() {
    let folder = Folder::new();
    let authority = Authority::new();
    authority.sign(&files(&folder), 4096);
    let CertificateFiles {
        certificate,
        private_key,
    } = files(&folder);
    let settings = Settings {
        listen: vec![([127, 0, 0, 1], 0).into()].into(),
        certificate: Some(certificate),
        private_key: Some(private_key),
        ..Settings::default()
    };
    let opening = Opening::bind(settings).expect("an address");
    let url = format!("https://{}/readyz", opening.addresses()[0]);
    let client = authority.client();
    let server = opening
        .open(|| {
            let mut answer = client.get(&url).call().expect("an answer");
            assert_eq!(answer.status(), 503);
            assert!(
                answer
                    .body_mut()
                    .read_to_string()
                    .expect("text")
                    .contains("\"starting\"")
            );
            Catalogue::open_or_create(&folder.data())
        })
        .expect("a server");
    assert_eq!(
        server.addresses()[0].port().to_string(),
        url.rsplit([':', '/']).nth(1).expect("a port")
    );
}

/// Over TLS, the cookie of the console is bound to the host, and a browser sends it nowhere else.
#[test]
fn signing_in_over_tls_makes_a_cookie_of_the_host() {
    let folder = Folder::new();
    let authority = Authority::new();
    authority.sign(&files(&folder), 4096);
    let made = run("keys add --data {} --role admin boss", &[&folder.data()])
        .expect(0)
        .out;
    let secret = made.split_whitespace().last().expect("a secret").to_owned();
    let server = Server::start(&folder);
    let get = |cookie: &str| {
        let get = authority
            .client()
            .get(server.url("/console/keys"))
            .config()
            .max_redirects(0)
            .build();
        get.header("Accept", "text/html")
            .header("Cookie", cookie)
            .call()
            .expect("an answer")
    };
    let post = |path: &str, cookie: &str, origin: &str, form: (&str, &str)| {
        let post = authority
            .client()
            .post(server.url(path))
            .config()
            .max_redirects(0)
            .build();
        let answer = post
            .header("Origin", origin)
            .header("Cookie", cookie)
            .send_form([form]);
        answer.expect("an answer")
    };
    let own = server.url("");
    let answer = post("/console/sign-in", "", &own, ("key", &secret));
    let cookie = answer.headers()["set-cookie"].to_str().expect("a text");
    let (pair, attributes) = cookie.split_once("; ").expect("attributes");
    assert_eq!(
        (answer.status().as_u16(), attributes),
        (303, "Path=/; HttpOnly; SameSite=Strict; Secure")
    );
    let value = pair
        .strip_prefix("__Host-lapidary=")
        .expect("a cookie of the host");

    let mut page = get(pair);
    assert_eq!(page.status(), 200);
    // A cookie that could have come without TLS, or from a neighbour of the host, opens nothing.
    assert_eq!(get(&format!("lapidary={value}")).status(), 303);
    let page = page.body_mut().read_to_string().expect("a page");
    let token = &page
        .split_once("name=\"token\" value=\"")
        .expect("a form")
        .1[..64];
    let out = post("/console/sign-out", pair, &own, ("token", token));
    let ended = out.headers()["set-cookie"].to_str().expect("a text");
    assert_eq!(
        ended,
        "__Host-lapidary=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0; Secure"
    );
    assert_eq!(get(pair).status(), 303);
}
