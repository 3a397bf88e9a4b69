//! Errors of HTTP clients, in plain words.

use ureq::Error;

/// Says why a request was not answered.
#[must_use]
pub fn unanswered(error: &Error) -> String {
    match error {
        Error::Io(error) => error.to_string(),
        Error::Timeout(_) => "it did not respond in time".to_owned(),
        Error::HostNotFound => "the host name cannot be resolved".to_owned(),
        Error::ConnectionFailed => "the connection failed".to_owned(),
        Error::Rustls(rustls::Error::InvalidCertificate(_)) => {
            "its certificate is not trusted".to_owned()
        }
        Error::Tls(_) | Error::Rustls(_) => "the TLS connection failed".to_owned(),
        Error::BadUri(_) | Error::Http(_) => "the URL is invalid".to_owned(),
        Error::BodyExceedsLimit(_) => "the response is too large".to_owned(),
        _ => "it does not respond as a web server should".to_owned(),
    }
}
