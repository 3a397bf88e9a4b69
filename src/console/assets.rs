//! What pages load: one stylesheet, htmx, and a script of our own. Each has its digest in its name, so that browsers keep it for
//! good.

use std::sync::LazyLock;

use actix_web::dev::HttpServiceFactory;
use actix_web::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::{self, Path};
use actix_web::{HttpResponse, Scope};

use super::layout;
use crate::language::Language;
use crate::report;

/// A file that pages load.
pub(super) struct Asset {
    path: String,
    kind: &'static str,
    content: Vec<u8>,
}

impl Asset {
    fn new(name: &str, kind: &'static str, content: impl Into<Vec<u8>>) -> Self {
        let content = content.into();
        let digest = &blake3::hash(&content).to_hex()[..16];
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        Self { path: format!("{FOLDER}/{stem}.{digest}.{extension}"), kind, content }
    }

    /// Where pages find it.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

const FOLDER: &str = "/console/assets";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("console.css", CSS, include_str!("assets/console.css")));
pub(super) static HTMX: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("htmx.js", SCRIPT, include_str!("assets/htmx.min.js")));
pub(super) static OWN: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("console.js", SCRIPT, include_str!("assets/console.js")));
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")));
static REPORTS: LazyLock<[Asset; 2]> = LazyLock::new(|| {
    // Reports are written as whole pages; here they are parts of one.
    Language::ALL.map(|language| {
        let style = report::stylesheet(language);
        Asset::new(&format!("report.{language}.css"), CSS, format!(".report {{\n{style}\n}}\n"))
    })
});

/// The stylesheet of reports.
pub(super) fn of_reports(language: Language) -> &'static Asset {
    let at = Language::ALL.iter().position(|known| *known == language).unwrap_or_default();
    &REPORTS[at]
}

/// The route of all of them, which are no secret.
pub(super) fn routes() -> impl HttpServiceFactory {
    Scope::new("/assets").route("/{name}", web::get().to(serve))
}

async fn serve(name: Path<String>) -> HttpResponse {
    let all = [&*STYLE, &*HTMX, &*OWN, &*ICON].into_iter().chain(&*REPORTS);
    let path = format!("{FOLDER}/{name}");
    match all.into_iter().find(|asset| asset.path == path) {
        Some(Asset { kind, content, .. }) => HttpResponse::Ok()
            .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
            .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .content_type(*kind)
            .body(content.as_slice()),
        None => layout::plain_not_found(),
    }
}
