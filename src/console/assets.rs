//! What pages load: one stylesheet, htmx, and a script of our own; and, where a text is to stay in the browser, the npm package of
//! gems. Each has its digest in its name, so that browsers keep it for good.

use std::io::{self, Cursor, Read};
use std::sync::LazyLock;

use actix_web::dev::HttpServiceFactory;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::web::{self, Path};
use actix_web::{HttpResponse, Scope};
use flate2::Compression;
use flate2::read::GzEncoder;
use zip::ZipArchive;
use zip::read::ZipFile;

use super::layout;
use lapidary_language::Language;
use lapidary_report::TOKENS;

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
        Self {
            path: format!("{FOLDER}/{stem}.{digest}.{extension}"),
            kind,
            content,
        }
    }

    /// Where pages find it.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

const FOLDER: &str = "/console/assets";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const MODULE: &str = "application/wasm";
/// The npm package as browsers load it; `make console-gems` writes it.
const GEMS: &[u8] = include_bytes!("assets/gems.zip");
pub(super) const CONSOLE: &str = include_str!("assets/console.css");
/// A Worker has a policy of its own. It runs WebAssembly, which no page does, and loads it from here.
const WORKER_POLICY: &str =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("console.css", CSS, [TOKENS, CONSOLE].concat()));
pub(super) static HTMX: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("htmx.js", SCRIPT, include_str!("assets/htmx.min.js")));
pub(super) static OWN: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "console.js",
        SCRIPT,
        shortened(include_str!("assets/console.js")),
    )
});
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")));
static REPORTS: LazyLock<[Asset; 2]> = LazyLock::new(|| {
    // Reports are written as whole pages; here they are parts of one.
    Language::ALL.map(|language| {
        let style = lapidary_report::stylesheet(language);
        Asset::new(
            &format!("report.{language}.css"),
            CSS,
            format!(".report {{\n{style}\n}}\n"),
        )
    })
});

/// A script without indentation and comments. No string of it has several lines.
fn shortened(script: &str) -> String {
    let lines = script.lines().map(str::trim_start);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

/// The script of the Worker that computes gems. The files of the package name each other, so their folder has the digest.
static WORKER: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{FOLDER}/gems.{}/worker.js",
        &blake3::hash(GEMS).to_hex()[..16]
    )
});
/// The package of gems, compressed with gzip. That takes a while, so no page waits for it.
static OF_GEMS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let folder = WORKER.trim_end_matches("/worker.js");
    unpacked(folder)
        .unwrap_or_else(|error| unreachable!("the package of gems is part of the program: {error}"))
});

fn unpacked(folder: &str) -> io::Result<Vec<Asset>> {
    let mut archive = ZipArchive::new(Cursor::new(GEMS))?;
    (0..archive.len())
        .map(|at| compressed(&mut archive.by_index(at)?, folder))
        .collect()
}

/// A file of the package, compressed with gzip.
fn compressed(file: &mut ZipFile<'_, impl Read>, folder: &str) -> io::Result<Asset> {
    let path = format!("{folder}/{}", file.name()?);
    let kind = if path.ends_with("gems_bg.wasm") {
        MODULE
    } else {
        SCRIPT
    };
    let (mut plain, mut content) = (Vec::new(), Vec::new());
    file.read_to_end(&mut plain)?;
    GzEncoder::new(plain.as_slice(), Compression::default()).read_to_end(&mut content)?;
    Ok(Asset {
        path,
        kind,
        content,
    })
}

/// Where pages find the Worker that computes gems.
pub(super) fn worker() -> &'static str {
    &WORKER
}

/// The stylesheet of reports.
pub(super) fn of_reports(language: Language) -> &'static Asset {
    let at = Language::ALL
        .iter()
        .position(|known| *known == language)
        .unwrap_or_default();
    &REPORTS[at]
}

/// The route of all of them, which are no secret.
pub(super) fn routes() -> impl HttpServiceFactory {
    Scope::new("/assets").route("/{name:.*}", web::get().to(serve))
}

async fn serve(name: Path<String>) -> HttpResponse {
    let all = [&*STYLE, &*HTMX, &*OWN, &*ICON]
        .into_iter()
        .chain(&*REPORTS);
    let path = format!("{FOLDER}/{name}");
    let mut response = HttpResponse::Ok();
    response
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"));
    let found = all
        .into_iter()
        .find(|asset| asset.path == path)
        .or_else(|| {
            let found = OF_GEMS.iter().find(|asset| asset.path == path)?;
            // Whatever runs WebAssembly reads gzip.
            response
                .insert_header((CONTENT_ENCODING, "gzip"))
                .insert_header((CONTENT_SECURITY_POLICY, WORKER_POLICY));
            Some(found)
        });
    match found {
        Some(Asset { kind, content, .. }) => response.content_type(*kind).body(content.as_slice()),
        None => layout::plain_not_found(),
    }
}
