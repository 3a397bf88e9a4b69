//! Sending an event, signed according to [Standard Webhooks](https://www.standardwebhooks.com/), for which receivers
//! can use existing libraries.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;
use ureq::Agent;
use ureq::http::StatusCode;

use crate::addresses::Addresses;
use crate::client::unanswered;

/// Time limit for a delivery, from the name lookup to the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Prefix of every secret.
const PREFIX: &str = "whsec_";
/// Length of a secret in bytes, the same as that of the hash.
const SECRET_BYTES: usize = 32;

/// Sends events.
pub(super) struct Sender(Agent);

/// Why an event was not delivered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Undelivered {
    /// The receiver refused it.
    #[error("the receiver refused it with status {0}")]
    Refused(StatusCode),
    /// Delivery failed and can be retried.
    #[error("{0}")]
    Failed(String),
}

impl Sender {
    /// Creates a sender for public addresses, and for private ones if allowed.
    pub(super) fn new(private: bool) -> Self {
        let addresses = addresses(private);
        let name = concat!("lapidary/", env!("CARGO_PKG_VERSION"));
        Self(addresses.agent(|config| {
            config
                .timeout_global(Some(PATIENCE))
                .user_agent(name)
                .max_idle_connections(0)
        }))
    }

    /// Sends an event under its id. Only the status of the response is read.
    pub(super) fn send(
        &self,
        url: &str,
        secret: &str,
        id: &str,
        body: &[u8],
    ) -> Result<(), Undelivered> {
        let at = Timestamp::now().as_second();
        let sent = self
            .0
            .post(url)
            .content_type("application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", at.to_string())
            .header("webhook-signature", signature(secret, id, at, body))
            .send(body);
        match sent.map(|answer| answer.status()) {
            Ok(status) if status.is_success() => Ok(()),
            Ok(
                StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS,
            ) => Err(Undelivered::Failed(
                "the receiver asks to try again".to_owned(),
            )),
            Ok(status) if status.is_client_error() => Err(Undelivered::Refused(status)),
            Ok(status) => Err(Undelivered::Failed(format!(
                "the receiver answered {status}"
            ))),
            Err(error) => Err(Undelivered::Failed(unanswered(&error))),
        }
    }
}

/// The addresses that events are sent to.
pub(super) fn addresses(private: bool) -> Addresses {
    Addresses {
        private,
        allow: "the server's setting private-webhooks allows others",
    }
}

/// Creates a secret.
pub(super) fn new_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{PREFIX}{}", BASE64_STANDARD.encode(bytes)))
}

/// HMAC-SHA256 of id, time and body, in Base64.
fn signature(secret: &str, id: &str, at: i64, body: &[u8]) -> String {
    let key = secret
        .strip_prefix(PREFIX)
        .and_then(|key| BASE64_STANDARD.decode(key).ok())
        .unwrap_or_default();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key of HMAC has any length");
    mac.update(format!("{id}.{at}.").as_bytes());
    mac.update(body);
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's reference libraries.
    #[test]
    fn the_signature_is_the_standard_one() {
        let signed = signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn private_addresses_are_not_connected_to() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
            let sent =
                Sender::new(false).send(&format!("http://{host}:{port}/"), "whsec_", "id", b"{}");
            let Err(Undelivered::Failed(why)) = sent else {
                panic!("{host}: {sent:?}")
            };
            assert!(
                why.contains("is not a public internet address"),
                "{host}: {why}"
            );
        }
        listener.set_nonblocking(true).unwrap();
        assert_eq!(
            listener.accept().unwrap_err().kind(),
            std::io::ErrorKind::WouldBlock
        );
    }
}
