//! The language of an answer's sentences.

use actix_web::HttpRequest;
use actix_web::http::header::{
    AcceptLanguage, CONTENT_LANGUAGE, Header as _, HeaderMap, HeaderValue, Preference, Quality,
    VARY,
};

use lapidary_language::Language;

/// The language that the client prefers of those that reports are written in.
pub(crate) fn preferred(request: &HttpRequest) -> Language {
    let mut accepted = AcceptLanguage::parse(request)
        .map(|accepted| accepted.0)
        .unwrap_or_default();
    accepted.retain(|accepted| accepted.quality > Quality::ZERO);
    let known = AcceptLanguage(accepted)
        .ranked()
        .into_iter()
        .find_map(|accepted| match accepted {
            Preference::Any => Some(Language::default()),
            Preference::Specific(tag) => tag.primary_language().parse().ok(),
        });
    known.unwrap_or_default()
}

/// Says that the client chose the language.
pub(crate) fn say(language: Language, headers: &mut HeaderMap) {
    headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static(language.tag()));
    headers.insert(VARY, HeaderValue::from_static("accept, accept-language"));
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::ACCEPT_LANGUAGE;
    use actix_web::test::TestRequest;

    use super::preferred;

    #[test]
    fn languages_of_clients() {
        let table = [
            ("ru", "ru"),
            ("ru-RU,ru;q=0.9,en-US;q=0.8,en;q=0.7", "ru"),
            ("RU", "ru"),
            ("en,ru", "en"),
            ("en;q=0.5, ru", "ru"),
            ("de, ru;q=0.1", "ru"),
            ("de", "en"),
            ("*", "en"),
            ("de, *;q=0.5, ru;q=0.1", "en"),
            ("ru;q=0", "en"),
            ("ru;q=0, de", "en"),
            ("", "en"),
            ("ru;q=nonsense", "en"),
            (";;,,", "en"),
        ];
        for (accepted, language) in table {
            let request = TestRequest::default()
                .insert_header((ACCEPT_LANGUAGE, accepted))
                .to_http_request();
            assert_eq!(preferred(&request).tag(), language, "{accepted}");
        }
        assert_eq!(
            preferred(&TestRequest::default().to_http_request()).tag(),
            "en"
        );
    }
}
