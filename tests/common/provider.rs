//! An identity provider that says whatever a test wants.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rcgen::{KeyPair, PKCS_ED25519, SigningKey as _};
use serde_json::{Value, json};

use super::Folder;

/// The secret of the server at the provider.
pub const SECRET: &str = "a secret of the client";

/// How a provider answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Usual,
    /// Not within a test.
    Never,
    /// With far more than anybody needs.
    Huge,
    /// With an error.
    Failing,
}

/// What a provider says.
pub struct Says {
    pub manner: Manner,
    /// The header and the claims of its ID tokens.
    pub header: Value,
    pub claims: Value,
    /// What it signs with.
    pub key: KeyPair,
    /// What others know of that: its id, and the public part.
    pub published: (String, Vec<u8>),
    /// The token as it is, in place of one of these.
    pub token: Option<Value>,
    /// The bodies of requests for tokens.
    pub asked: Vec<String>,
}

impl Says {
    /// Signs with another key from now on.
    pub fn rotate(&mut self, id: &str) {
        self.key = KeyPair::generate_for(&PKCS_ED25519).expect("a key");
        self.published = (id.to_owned(), self.key.public_key_raw().to_vec());
        self.header["kid"] = id.into();
    }

    fn id_token(&self) -> Value {
        if let Some(token) = &self.token {
            return token.clone();
        }
        let encoded = |part: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(part);
        let signed = format!(
            "{}.{}",
            encoded(self.header.to_string().as_bytes()),
            encoded(self.claims.to_string().as_bytes())
        );
        let signature = self.key.sign(signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", encoded(&signature)).into()
    }
}

/// A provider.
pub struct Provider {
    pub url: String,
    says: Arc<Mutex<Says>>,
}

impl Provider {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let key = KeyPair::generate_for(&PKCS_ED25519).expect("a key");
        let says = Arc::new(Mutex::new(Says {
            manner: Manner::Usual,
            header: json!({ "alg": "EdDSA" }),
            claims: json!({}),
            published: (String::new(), Vec::new()),
            key,
            token: None,
            asked: Vec::new(),
        }));
        let provider = Self { url, says };
        provider.says().rotate("first");
        let (url, says) = (provider.url.clone(), Arc::clone(&provider.says));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (url, says) = (url.clone(), Arc::clone(&says));
                thread::spawn(move || answer(stream, &url, &says));
            }
        });
        provider
    }

    pub fn says(&self) -> MutexGuard<'_, Says> {
        self.says.lock().expect("no test failed")
    }

    /// Says of whoever signs in with this nonce that it is this person.
    pub fn knows(&self, nonce: &str, subject: &str, email: &str, groups: &[&str]) {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a time")
            .as_secs();
        self.says().claims = json!({
            "iss": self.url, "aud": "lapidary", "sub": subject, "iat": now, "exp": now + 60, "nonce": nonce,
            "email": email, "email_verified": true, "groups": groups,
        });
    }

    /// A file of settings for a server that browsers reach at `public_url`.
    pub fn settings(&self, folder: &Folder, public_url: &str, groups: &[&str]) -> PathBuf {
        settings(folder, &self.url, public_url, groups)
    }
}

/// A file of settings for a server at which people sign in.
pub fn settings(folder: &Folder, issuer: &str, public_url: &str, groups: &[&str]) -> PathBuf {
    let secret = folder.file("client-secret", format!("{SECRET}\n"));
    let lines = format!(
        "[oidc]\nissuer = {issuer:?}\nclient-id = \"lapidary\"\nclient-secret = \"{}\"\npublic-url = {public_url:?}\n\
         name = \"Mine & Co\"\ngroups = {groups:?}\nscopes = [\"email\", \"groups\"]\n",
        secret.display()
    );
    folder.file("lapidary.toml", lines)
}

fn answer(mut stream: TcpStream, url: &str, says: &Mutex<Says>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a connection"));
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let before = head.len();
        if !matches!(reader.read_line(&mut head), Ok(read) if read > 0) {
            return;
        }
        let line = head[before..].to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let path = head.split(' ').nth(1).expect("a path").to_owned();
    let mut says = says.lock().expect("no test failed");
    if path == "/token" {
        says.asked
            .push(head.clone() + &String::from_utf8(body).expect("a form"));
    }
    let (id, public) = &says.published;
    let told = match path.as_str() {
        "/.well-known/openid-configuration" => json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "jwks_uri": format!("{url}/jwks"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["EdDSA", "RS256", "HS256", "none"],
        }),
        "/jwks" => json!({ "keys": [{
            "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": id,
            "x": BASE64_URL_SAFE_NO_PAD.encode(public),
        }] }),
        _ => json!({ "access_token": "a", "token_type": "Bearer", "id_token": says.id_token() }),
    };
    let manner = says.manner;
    drop(says);
    let (status, told) = match manner {
        Manner::Usual => ("200 OK", told.to_string()),
        Manner::Never => return thread::sleep(Duration::from_mins(1)),
        Manner::Huge => ("200 OK", format!("\"{}\"", "x".repeat(2 << 20))),
        Manner::Failing => ("500 Internal Server Error", "{}".to_owned()),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{told}",
        told.len()
    );
}
