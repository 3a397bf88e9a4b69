//! The files of the repository that the site has.

/// A file of the repository, by its path.
macro_rules! sources {
    ($($path:literal,)*) => {
        /// Files by their paths in the repository.
        pub(super) const SOURCES: &[(&str, &[u8])] =
            &[$(($path, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path))),)*];
    };
}

// A test compares this with the folder.
sources! {
    "README.md",
    "docs/README.md",
    "docs/attacks.svg",
    "docs/case/README.md",
    "docs/case/report.html",
    "docs/case/the-cask-of-amontillado.txt",
    "docs/case/the-masque-of-the-red-death.txt",
    "docs/case/the-tell-tale-heart.txt",
    "docs/cluster.svg",
    "docs/comparison.md",
    "docs/components.html",
    "docs/console-book.webp",
    "docs/console-check.webp",
    "docs/console-duplicates.webp",
    "docs/console-library.webp",
    "docs/console-statistics.webp",
    "docs/console.webp",
    "docs/evaluation.md",
    "docs/explanation/cluster.md",
    "docs/explanation/evidence.md",
    "docs/explanation/recipes.md",
    "docs/explanation/store.md",
    "docs/guides/administrator.md",
    "docs/guides/clamav.md",
    "docs/guides/console.md",
    "docs/guides/exchange.md",
    "docs/guides/onix.md",
    "docs/guides/methods.md",
    "docs/guides/monitor.md",
    "docs/guides/partner.md",
    "docs/guides/publisher.md",
    "docs/guides/reviewer.md",
    "docs/guides/s3.md",
    "docs/guides/scaling.md",
    "docs/index.svg",
    "docs/lab/README.md",
    "docs/lab/unrelated-books.txt",
    "docs/limits.md",
    "docs/measurements.md",
    "docs/openapi.json",
    "docs/reference/api.md",
    "docs/reference/books.md",
    "docs/reference/command-line.md",
    "docs/reference/export.md",
    "docs/reference/formats.md",
    "docs/reference/http.md",
    "docs/reference/onix.md",
    "docs/reference/operations.md",
    "docs/reference/releases.md",
    "docs/reference/security.md",
    "docs/reference/settings.md",
    "docs/reference/signatures.md",
    "docs/reference/sources.md",
    "docs/reference/versioning.md",
    "docs/ru.md",
    "docs/short-texts.svg",
}
