//! Speed of computing gems, compared with splitting the same text into words.
//!
//! `cargo bench` uses the Russian and the English books of `../shared/corpus`, one after the other, or a generated text if they are not
//! present. `LAPIDARY_BENCH_TEXTS` names other UTF-8 texts, separated by spaces.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lapidary_catalogue::Text;
use lapidary_gems::{Recipe, Signs, clean};

/// Texts, and what they are.
fn texts() -> Vec<(String, Vec<String>)> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    if let Ok(files) = env::var("LAPIDARY_BENCH_TEXTS") {
        let named = |file: &str| read(Path::new(file)).map(|text| (file.to_owned(), vec![text]));
        return files.split_whitespace().filter_map(named).collect();
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let of_language = |language: &str| {
        let mut files: Vec<_> = fs::read_dir(corpus.join(language))
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        files.sort();
        Some((
            language.to_owned(),
            files.iter().filter_map(|file| read(file)).collect(),
        ))
    };
    let books: Vec<_> = ["ru", "en"].into_iter().filter_map(of_language).collect();
    if books.is_empty() {
        let words = (0..1_000_000_u32).map(|i| {
            format!(
                "word{} {} ",
                i % 7,
                i.wrapping_mul(2_654_435_761) % 1_000_003
            )
        });
        return vec![("made up".to_owned(), vec![words.collect()])];
    }
    books
}

fn fingerprint(criterion: &mut Criterion) {
    for (name, texts) in texts() {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(
            texts.iter().map(|text| text.len() as u64).sum(),
        ));
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(5));
        let mut measure = |what: &str, of: &dyn Fn(&str)| {
            group.bench_function(what, |b| b.iter(|| texts.iter().for_each(|text| of(text))));
        };
        measure("split_whitespace", &|text| {
            _ = black_box(text.split_whitespace().count());
        });
        measure("clean", &|text| _ = black_box(clean(text)));
        measure("signs of disguise", &|text| _ = black_box(Signs::of(text)));
        for recipe in Recipe::built_in() {
            // Cleaned if the recipe reads texts clean.
            measure(recipe.name().as_str(), &|text| {
                _ = black_box(Text::new(text, None).gems(&recipe));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, fingerprint);
criterion_main!(benches);
