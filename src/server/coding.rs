//! Compressed bodies (RFC 9110, section 8.4): requests that are sent as gzip or zstd, and answers to clients that take these.

use std::io::{self, Read, Write as _};

use actix_web::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use lapidary_common::error::ErrorCode;

use super::body::{Sent, reserve, too_large};
use super::problem::{Problem, excerpt};

/// The codings of requests, for clients that send others.
pub(super) const CODINGS: &str = "gzip, zstd";
/// How much is decompressed at a time.
const STEP: usize = 64 << 10;
/// The largest window of zstd, as a power of two: that of RFC 9659.
const WINDOW_LOG: u32 = 23;
/// Answers that are shorter fit into a few packets as they are.
const WORTHWHILE: usize = 4 << 10;
/// The level of zstd that costs least.
const ZSTD_LEVEL: i32 = 1;

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Zstd,
}

impl Coding {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    fn named(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The coding of a request; `None` if it is not compressed.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let Some(coding) = headers.get(CONTENT_ENCODING) else {
            return Ok(None);
        };
        let name = coding.to_str().unwrap_or_default();
        if name.eq_ignore_ascii_case("identity") {
            return Ok(None);
        }
        Self::named(name).map(Some).ok_or_else(|| {
            let detail = format!(
                "bodies with the Content-Encoding '{}' are not supported; send one of {CODINGS}, or uncompressed",
                excerpt(name)
            );
            unknown(&detail, CODINGS)
        })
    }

    /// The coding that a client prefers for its answer, if it takes one.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Self> {
        let accepted = headers.get(ACCEPT_ENCODING)?.to_str().ok()?;
        let accepted = accepted.split(',').filter_map(|one| {
            let (name, quality) = one.split_once(';').unwrap_or((one, ""));
            let quality = quality.trim().strip_prefix("q=").map(str::parse::<f32>);
            let is_wanted = !matches!(quality, Some(Ok(0.0) | Err(_)));
            Self::named(name).filter(|_| is_wanted)
        });
        // It costs less than gzip.
        accepted.max_by_key(|coding| *coding == Self::Zstd)
    }

    /// Decompresses a body within its limit, and within the memory of its client.
    pub(super) fn decoded(
        self,
        sent: &Sent,
        limit: usize,
        is_max_body: bool,
    ) -> Result<Sent, Problem> {
        let mut window = sent.room.another();
        let mut decoder: Box<dyn Read + '_> = match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(&*sent.bytes)),
            Self::Zstd => {
                window.grow(1 << WINDOW_LOG)?;
                Box::new(zstd_decoder(&sent.bytes).map_err(|error| self.broken(&error))?)
            }
        };
        let mut whole = Sent {
            bytes: Vec::new(),
            room: sent.room.another(),
        };
        let mut piece = vec![0; STEP];
        loop {
            let read = decoder
                .read(&mut piece)
                .map_err(|error| self.broken(&error))?;
            if read == 0 {
                return Ok(whole);
            }
            let length = whole.bytes.len() + read;
            if length > limit {
                return Err(too_large("body", limit, is_max_body));
            }
            whole.room.grow_to(length)?;
            reserve(&mut whole.bytes, read, limit);
            whole.bytes.extend_from_slice(&piece[..read]);
        }
    }

    fn broken(self, error: &io::Error) -> Problem {
        let detail = format!("the body is not {}: {error}; send it again", self.as_str());
        Problem::new(ErrorCode::BrokenBody, detail)
    }

    /// Compresses an answer; `None` if that is not worthwhile.
    pub(super) fn encoded(self, body: &[u8]) -> Option<Vec<u8>> {
        if body.len() < WORTHWHILE {
            return None;
        }
        let encoded = match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(body).and_then(|()| encoder.finish())
            }
            Self::Zstd => zstd::bulk::compress(body, ZSTD_LEVEL),
        };
        let mut encoded = encoded.ok().filter(|encoded| encoded.len() < body.len())?;
        encoded.shrink_to_fit();
        Some(encoded)
    }
}

fn zstd_decoder(bytes: &[u8]) -> io::Result<impl Read + use<'_>> {
    let mut decoder = zstd::Decoder::with_buffer(bytes)?;
    decoder.window_log_max(WINDOW_LOG)?;
    Ok(decoder)
}

/// Refuses a body that is compressed otherwise than the call takes it.
pub(super) fn unknown(detail: &str, codings: &str) -> Problem {
    Problem::new(ErrorCode::UnknownContentEncoding, detail).with(ACCEPT_ENCODING, codings)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn a_compressed_answer_takes_less_memory() {
        let body = [b'a'; 2 * WORTHWHILE];
        for coding in [Coding::Gzip, Coding::Zstd] {
            let encoded = coding.encoded(&body).expect("it is worthwhile");
            assert!(
                encoded.capacity() < WORTHWHILE,
                "{coding:?}: {}",
                encoded.capacity()
            );
        }
    }

    #[test]
    fn clients_choose_how_answers_are_compressed() {
        let table = [
            ("", None),
            ("identity", None),
            ("br, deflate", None),
            ("gzip", Some(Coding::Gzip)),
            ("GZIP;q=0.5, br", Some(Coding::Gzip)),
            ("gzip, zstd", Some(Coding::Zstd)),
            ("zstd;q=0, gzip", Some(Coding::Gzip)),
            ("zstd; q=0.0", None),
            ("gzip;q=x", None),
        ];
        for (accepted, coding) in table {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(Coding::accepted(&headers), coding, "{accepted}");
        }
        assert_eq!(Coding::accepted(&HeaderMap::new()), None);
    }
}
