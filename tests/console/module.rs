//! The npm package of gems in the console is that of the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::{Cursor, Read as _, Write as _};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::common::LAPIDARY;

const ARCHIVE: &str = "src/console/assets/gems.zip";
/// The files that a browser loads. The last two are made by compilers.
const FILES: [&str; 5] = ["worker.js", "index.js", "api.js", "gems.js", "gems_bg.wasm"];
/// In the archive: a digest of all that the last two are made of.
const SOURCES: &str = "SOURCES";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_package_of_gems_is_that_of_the_sources() {
    if env::var_os("UPDATE_GEMS").is_some() {
        update();
    }
    let mut archive =
        ZipArchive::new(File::open(root().join(ARCHIVE)).expect(ARCHIVE)).expect("an archive");
    let mut read = |name: &str| {
        let mut content = Vec::new();
        archive
            .by_name(name)
            .expect(name)
            .read_to_end(&mut content)
            .expect("a file");
        content
    };
    let remedy = "`make console-gems` builds the package anew";
    for script in &FILES[..3] {
        let source = fs::read(root().join("bindings/wasm/js").join(script)).expect("a source");
        assert!(
            read(script) == source,
            "{script} in {ARCHIVE} is another: {remedy}"
        );
    }
    assert_eq!(
        String::from_utf8_lossy(&read(SOURCES)),
        sources(),
        "{ARCHIVE} is of other sources: {remedy}"
    );
    assert!(read("gems_bg.wasm").starts_with(b"\0asm"));
}

/// Packs what `scripts/wasm` built.
fn update() {
    let target = Path::new(LAPIDARY)
        .parent()
        .and_then(Path::parent)
        .expect("a target folder");
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_level(Some(9));
    let built = FILES.map(|name| {
        (
            name,
            fs::read(target.join("npm/lapidary-gems").join(name)).expect(name),
        )
    });
    for (name, content) in built.into_iter().chain([(SOURCES, sources().into_bytes())]) {
        archive.start_file(name, options).expect("a file");
        archive.write_all(&content).expect("a file");
    }
    fs::write(
        root().join(ARCHIVE),
        archive.finish().expect("an archive").into_inner(),
    )
    .expect(ARCHIVE);
}

/// A digest of what the WebAssembly module is compiled from.
fn sources() -> String {
    let mut files = vec![
        root().join("crates/gems/Cargo.toml"),
        root().join("bindings/wasm/Cargo.toml"),
    ];
    for folder in ["crates/gems/src", "data", "bindings/wasm/src"] {
        collect(&root().join(folder), &mut files);
    }
    // What the crate does not package.
    files.retain(|file| {
        !file.starts_with(root().join("data/demo")) && !file.ends_with("data/calibration.tsv")
    });
    files.sort();
    let mut digest = blake3::Hasher::new();
    for file in &files {
        let name = file.strip_prefix(root()).expect("a path").to_string_lossy();
        digest.update(
            format!(
                "{name} {}\n",
                blake3::hash(&fs::read(file).expect("a file"))
            )
            .as_bytes(),
        );
    }
    let profile = &toml("Cargo.toml")["profile"]["wasm"];
    digest.update(profile.to_string().as_bytes());
    digest.update(locked().join("\n").as_bytes());
    digest.finalize().to_string()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
    {
        match path.is_dir() {
            true => collect(&path, files),
            false if path.file_name().is_some_and(|name| name != "tests.rs") => files.push(path),
            false => {}
        }
    }
}

fn toml(path: &str) -> toml::Table {
    fs::read_to_string(root().join(path))
        .expect(path)
        .parse()
        .expect("TOML")
}

/// The packages of the lock file that the module is made of, with their versions and checksums.
fn locked() -> Vec<String> {
    let lock = toml("Cargo.lock");
    let packages: BTreeMap<&str, Vec<&toml::Value>> = lock["package"]
        .as_array()
        .expect("packages")
        .iter()
        .fold(BTreeMap::new(), |mut all, package| {
            all.entry(package["name"].as_str().expect("a name"))
                .or_insert_with(Vec::new)
                .push(package);
            all
        });
    let (gems, wasm) = (
        toml("crates/gems/Cargo.toml"),
        toml("bindings/wasm/Cargo.toml"),
    );
    let needed = [&gems, &wasm]
        .into_iter()
        .flat_map(|manifest| manifest["dependencies"].as_table().expect("a table"));
    let is_used =
        |needs: &toml::Value| needs.get("optional").is_none() && needs.get("path").is_none();
    let mut left: Vec<String> = needed
        .filter(|(_, needs)| is_used(needs))
        .map(|(name, _)| name.clone())
        .collect();
    let mut found = BTreeSet::new();
    while let Some(name) = left.pop() {
        // A name that several versions have comes with one: `name 1.2.3`.
        let (name, version) = name
            .split_once(' ')
            .map_or((name.as_str(), None), |(name, version)| {
                (name, Some(version))
            });
        for package in &packages[name] {
            let this = package["version"].as_str().expect("a version");
            let checksum = package
                .get("checksum")
                .and_then(toml::Value::as_str)
                .unwrap_or_default();
            if version.is_none_or(|version| version == this)
                && found.insert(format!("{name} {this} {checksum}"))
            {
                let needs = package
                    .get("dependencies")
                    .and_then(toml::Value::as_array)
                    .into_iter()
                    .flatten();
                left.extend(
                    needs
                        .filter_map(|name| name.as_str())
                        .map(ToOwned::to_owned),
                );
            }
        }
    }
    found.into_iter().collect()
}
