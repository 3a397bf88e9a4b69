//! Speed of the exact comparison of two texts of 1 MB each.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use lapidary_catalogue::{Text, compare};
use lapidary_checking::{Span, exact};
use lapidary_gems::Recipe;

const BYTES: usize = 1 << 20;

/// Words of which, as in a language, a few are frequent and most are rare.
fn text(mut seed: u64) -> Vec<String> {
    let (mut words, mut bytes) = (Vec::new(), 0);
    while bytes < BYTES {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let rank = 30_000_f64.powf((seed >> 11) as f64 / (1_u64 << 53) as f64) as u64;
        let word = format!(
            "{:x}",
            rank.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 4 * (2 + rank.ilog2() / 2))
        );
        bytes += word.len() + 1;
        words.push(word);
    }
    words
}

/// Where two texts match.
fn spans(a: &str, b: &str) -> Vec<Span> {
    let recipe = Recipe::hardened();
    let [a, b] = [a, b].map(|text| Text::new(text, None));
    compare(&recipe, recipe.rule(), &a, &b).spans
}

fn bench(criterion: &mut Criterion) {
    let book = text(1);
    let mut copy = book.clone();
    for at in (7..copy.len()).step_by(25) {
        "changed".clone_into(&mut copy[at]);
    }
    // Each paragraph of the book with as much between them that is not of the book.
    let other = text(2);
    let mixed: Vec<String> = book
        .chunks(200)
        .zip(other.chunks(200))
        .step_by(2)
        .flat_map(|(a, b)| [a, b].concat())
        .collect();
    let repetitive =
        ["a b b a b ", "c b a a b b b "].map(|words| words.repeat(BYTES / words.len()));
    let mut group = criterion.benchmark_group("exact");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3));
    let joined = book.join(" ");
    for (name, query) in [
        ("a copy with 4 % of the words changed", copy),
        ("half of it, in pieces", mixed),
    ] {
        let query = query.join(" ");
        let spans = spans(&query, &joined);
        group.bench_function(name, |b| {
            b.iter(|| exact(black_box(&query), &joined, &spans));
        });
        let share = exact(&query, &joined, &spans).total;
        println!("{name}: {} spans, {share:?}", spans.len());
    }
    let spans = spans(&joined, &joined);
    let unrelated = other.join(" ");
    group.bench_function("nothing in common", |b| {
        b.iter(|| exact(black_box(&unrelated), &joined, &spans));
    });
    let [a, b] = repetitive;
    group.bench_function("two words only", |bench| {
        bench.iter(|| exact(black_box(&a), &b, &spans));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
