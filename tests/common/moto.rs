//! Moto, which speaks the protocol of S3. `scripts/moto` gets it.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::free_port;

/// A server with the bucket `uploads` and the bucket `other`, until dropped.
pub struct Moto {
    process: Child,
    pub url: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Moto {
    /// Starts it, with the access key `id:secret`.
    pub fn start() -> Self {
        let port = free_port();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/moto");
        let mut command = Command::new(script);
        command.arg(port.to_string());
        // A line for each request.
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.expect("it runs");
        let since = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                since.elapsed() < Duration::from_mins(3),
                "moto does not start"
            );
            thread::sleep(Duration::from_millis(100));
        }
        let url = format!("http://127.0.0.1:{port}");
        let moto = Self { process, url };
        moto.send("PUT", "uploads", "");
        moto.send("PUT", "other", "");
        moto
    }

    pub fn send(&self, method: &str, path: &str, body: impl AsRef<[u8]>) -> String {
        let agent = ureq::Agent::new_with_defaults();
        // It takes whoever sends such a header for somebody, and other requests for public ones.
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/{path}", self.url))
            .header(
                "authorization",
                "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request",
            );
        let request = request.body(body.as_ref()).expect("a request");
        let mut answer = agent.run(request).expect("an answer");
        answer.body_mut().read_to_string().expect("a text")
    }

    pub fn put(&self, key: &str, content: impl AsRef<[u8]>) {
        self.send("PUT", &format!("uploads/{key}"), content);
    }

    pub fn tags(&self, key: &str) -> String {
        self.send("GET", &format!("uploads/{key}?tagging"), "")
    }
}
