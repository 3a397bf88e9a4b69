//! The token of a form, which shows that it comes from a page of its session.
//!
//! It is in the body of the form, or in a header where a script sends something else. It is never in an address, because addresses
//! are in logs and histories. It is the first field of its form, so that a body with files is passed on as it arrives.

use std::future::ready;
use std::time::Duration;

use actix_http::BoxedPayloadStream;
use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::mime::{self, Mime};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{Error, HttpMessage as _, HttpRequest, rt};
use futures_util::{StreamExt as _, stream};

/// The field of a form.
pub(super) const TOKEN: &str = "token";
/// The header of a script.
const HEADER: HeaderName = HeaderName::from_static("x-console-token");
/// A field of this name with a token, and what is around it, is shorter.
const BEGINNING: usize = 1 << 10;
/// How long to wait for the beginning of a body.
const PATIENCE: Duration = Duration::from_secs(10);

/// The token in the body of a request.
struct SentToken(String);

/// The token that a request came with.
pub(super) fn of(request: &HttpRequest) -> Option<String> {
    let in_body = request
        .extensions()
        .get::<SentToken>()
        .map(|sent| sent.0.clone());
    in_body.or_else(|| Some(request.headers().get(HEADER)?.to_str().ok()?.to_owned()))
}

/// Takes the token out of the body of a form. The page of the form gets the other fields.
pub(super) async fn take(
    mut request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let kind = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok()?.parse::<Mime>().ok());
    if request.method() == Method::POST
        && let Some(form) = kind.as_ref().and_then(FormKind::of)
    {
        take_from(&mut request, &form).await;
    }
    next.call(request).await
}

/// How a form is sent.
enum FormKind {
    Pairs,
    /// In parts, each after this line.
    Parts(String),
}

impl FormKind {
    fn of(kind: &Mime) -> Option<Self> {
        match kind.essence_str() {
            "application/x-www-form-urlencoded" => Some(Self::Pairs),
            "multipart/form-data" => Some(Self::Parts(format!(
                "--{}",
                kind.get_param(mime::BOUNDARY)?
            ))),
            _ => None,
        }
    }

    /// The first field of a form, if that is its token, and where the other fields begin. `ended` says that nothing follows.
    fn token(&self, begun: &[u8], ended: bool) -> Option<(String, usize)> {
        let find = |text: &str, from: usize| {
            Some(from + memchr::memmem::find(&begun[from..], text.as_bytes())?)
        };
        let (start, end, rest) = match self {
            Self::Pairs => {
                let start = begun.starts_with(b"token=").then_some("token=".len())?;
                let end = find("&", start);
                let end = if ended {
                    end.unwrap_or(begun.len())
                } else {
                    end?
                };
                (start, end, begun.len().min(end + 1))
            }
            Self::Parts(line) => {
                let line_end = format!("{line}\r\n");
                let head = begun
                    .starts_with(line_end.as_bytes())
                    .then_some(line_end.len())?;
                let start = find("\r\n\r\n", head)?;
                let is_token = std::str::from_utf8(&begun[head..start]).is_ok_and(|head| {
                    head.eq_ignore_ascii_case("content-disposition: form-data; name=\"token\"")
                });
                let start = is_token.then_some(start + 4)?;
                let end = find(&format!("\r\n{line}"), start)?;
                (start, end, end + 2)
            }
        };
        Some((String::from_utf8(begun[start..end].to_vec()).ok()?, rest))
    }
}

async fn take_from(request: &mut ServiceRequest, form: &FormKind) {
    let mut payload = request.take_payload();
    let (mut begun, mut ended, mut broken) = (BytesMut::new(), false, None);
    let reading = async {
        while begun.len() < BEGINNING && !ended && form.token(&begun, false).is_none() {
            match payload.next().await {
                Some(Ok(piece)) => begun.extend_from_slice(&piece),
                Some(Err(error)) => {
                    broken = Some(error);
                    ended = true;
                }
                None => ended = true,
            }
        }
    };
    // Whoever does not send more in time is refused for lack of a token.
    let _ = rt::time::timeout(PATIENCE, reading).await;
    if let Some((token, rest)) = form.token(&begun, ended) {
        request.extensions_mut().insert(SentToken(token));
        let _ = begun.split_to(rest);
        let length = request
            .headers()
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if let Some(length) = length.and_then(|length| length.checked_sub(rest)) {
            request
                .headers_mut()
                .insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
    }
    let before =
        stream::once(ready(Ok::<Bytes, _>(begun.freeze()))).chain(stream::iter(broken.map(Err)));
    let payload: BoxedPayloadStream = Box::pin(before.chain(payload));
    request.set_payload(Payload::Stream { payload });
}

#[cfg(test)]
mod tests {
    use super::FormKind;

    #[test]
    fn the_first_field_is_the_token() {
        let parts = FormKind::Parts("--x".to_owned());
        let part = |name: &str, value: &str| {
            format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let whole = part("token", "ab") + &part("file", "c") + "--x--\r\n";
        let (token, rest) = parts.token(whole.as_bytes(), true).unwrap();
        assert_eq!(
            (token.as_str(), &whole[rest..]),
            ("ab", (part("file", "c") + "--x--\r\n").as_str())
        );
        for end in 0..part("token", "ab").len() + 3 {
            assert_eq!(
                parts.token(&whole.as_bytes()[..end], false),
                None,
                "not complete"
            );
        }
        for other in [
            part("file", "token=ab"),
            part("tokens", "ab"),
            "token=ab&x".to_owned(),
            "--x".to_owned(),
        ] {
            assert_eq!(parts.token((other + "--x--").as_bytes(), true), None);
        }
        let pairs = |text: &str, ended| FormKind::Pairs.token(text.as_bytes(), ended);
        assert_eq!(pairs("token=ab&c=d", false), Some(("ab".to_owned(), 9)));
        assert_eq!(pairs("token=ab", true), Some(("ab".to_owned(), 8)));
        for (text, ended) in [
            ("token=ab", false),
            ("c=d&token=ab", true),
            ("tok", false),
            ("", true),
        ] {
            assert_eq!(pairs(text, ended), None, "{text}");
        }
    }
}
