//! A client of a server, with a key.

use serde_json::Value;

use super::Server;

pub struct Client {
    agent: ureq::Agent,
    pub url: String,
    pub secret: String,
}

impl Client {
    pub fn new(server: &Server, secret: &str) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        Self {
            agent,
            url: server.url.clone(),
            secret: secret.to_owned(),
        }
    }

    /// A client of the same server with another key.
    pub fn with_key(&self, secret: &str) -> Self {
        Self {
            agent: self.agent.clone(),
            url: self.url.clone(),
            secret: secret.to_owned(),
        }
    }

    /// Sends a request and returns the status and body of the response.
    pub fn call(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: impl Into<String>,
    ) -> (u16, String) {
        self.answered(method, path, kind, body.into())
            .expect("an answer")
    }

    /// The same with JSON, or nothing if the server is killed meanwhile.
    pub fn tried(&self, method: &str, path: &str, body: String) -> Option<(u16, String)> {
        self.answered(method, path, "application/json", body).ok()
    }

    fn answered(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: String,
    ) -> Result<(u16, String), ureq::Error> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.secret))
            .header("content-type", kind);
        let mut answer = self.agent.run(request.body(body)?)?;
        let status = answer.status().as_u16();
        Ok((status, answer.body_mut().read_to_string()?))
    }

    /// The same with JSON; `null` is no body.
    pub fn json(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let (status, answer) = self.call(method, path, "application/json", body);
        (status, serde_json::from_str(&answer).unwrap_or_default())
    }

    pub fn check(&self, body: &Value) -> Value {
        let (status, report) = self.json("POST", "/v1/checks", body);
        assert_eq!(status, 200, "{report}");
        report
    }
}
