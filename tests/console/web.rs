//! A user of the console without scripts: pages and forms by plain HTTP.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::Server;

/// A response: status, head in lower case, and body.
pub struct Page {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Page {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.body);
        self
    }

    /// What the forms of the page send to show that they are of the page.
    pub fn token(&self) -> &str {
        let rest = self
            .body
            .split_once("name=\"token\" value=\"")
            .expect("a form")
            .1;
        &rest[..rest.find(|c: char| !c.is_ascii_hexdigit()).expect("an end")]
    }
}

/// A visitor.
#[derive(Clone)]
pub struct Web {
    address: String,
    pub cookie: Option<String>,
}

impl Web {
    pub fn of(server: &Server) -> Self {
        Self::at(&server.url)
    }

    pub fn at(url: &str) -> Self {
        Self {
            address: url.trim_start_matches("http://").to_owned(),
            cookie: None,
        }
    }

    /// Signs in, which is to succeed.
    pub fn signed_in(server: &Server, secret: &str) -> Self {
        let mut web = Self::of(server);
        let page = web.sign_in(secret).expect(303);
        let cookie = page.header("set-cookie").expect("a cookie");
        web.cookie = Some(cookie.split(';').next().expect("a pair").to_owned());
        web
    }

    pub fn sign_in(&self, secret: &str) -> Page {
        self.form("/console/sign-in", &format!("key={secret}"))
    }

    /// Sends a request with these headers and nothing else.
    pub fn bare(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Page {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .expect("a time-out");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        // A server that refuses early may close the connection before the whole request is sent.
        let _ = stream.write_all(&[head.as_bytes(), body].concat());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or_default();
        // Names of headers are lower case; values stay as they are.
        let lower = |line: &str| match line.split_once(": ") {
            Some((name, value)) => format!("{}: {value}\n", name.to_lowercase()),
            None => line.to_owned() + "\n",
        };
        Page {
            status,
            head: head.lines().map(lower).collect(),
            body: body.to_owned(),
        }
    }

    fn headers(&self) -> String {
        let cookie = self
            .cookie
            .as_ref()
            .map(|cookie| format!("Cookie: {cookie}\r\n"))
            .unwrap_or_default();
        format!("Host: {0}\r\nAccept: text/html\r\n{cookie}", self.address)
    }

    /// The headers of a form on a page of the console.
    pub fn own(&self) -> String {
        format!(
            "{}Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n",
            self.headers(),
            self.address
        )
    }

    pub fn get(&self, path: &str) -> Page {
        self.bare("GET", path, &self.headers(), b"")
    }

    /// Sends a form, as its page does.
    pub fn form(&self, path: &str, body: &str) -> Page {
        let headers = self.own() + "Content-Type: application/x-www-form-urlencoded\r\n";
        self.bare("POST", path, &headers, body.as_bytes())
    }

    /// Sends a form of a page with its token.
    pub fn send(&self, page: &str, path: &str, body: &str) -> Page {
        let page = self.get(page).expect(200);
        self.form(path, &format!("token={}&{body}", page.token()))
    }

    /// Sends a file in a form of a page.
    pub fn upload(&self, page: &str, path: &str, name: &str, content: &str) -> Page {
        let page = self.get(page).expect(200);
        let body = format!(
            "--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n{}\r\n\
             --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: text/plain\r\n\r\n\
             {content}\r\n--x--\r\n",
            page.token()
        );
        let headers = self.own() + "Content-Type: multipart/form-data; boundary=x\r\n";
        self.bare("POST", path, &headers, body.as_bytes())
    }
}
