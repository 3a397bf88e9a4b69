//! Speed of text extraction by format, on a generated book with 1 MB of text, in this process.

#[path = "../tests/common/makers.rs"]
mod makers;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use lapidary_extract::{File, Limits};

const BYTES: usize = 1 << 20;

fn paragraphs() -> Vec<String> {
    let mut number = 0_u32;
    let mut paragraph = || {
        let words = (0..80).map(|_| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            [
                "stone", "granite", "a", "gem", "of", "opal", "lapidary", "light",
            ][number as usize >> 29]
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let mut paragraphs = Vec::new();
    let mut bytes = 0;
    while bytes < BYTES {
        paragraphs.push(paragraph());
        bytes += paragraphs[paragraphs.len() - 1].len() + 2;
    }
    paragraphs
}

fn extract(criterion: &mut Criterion) {
    let paragraphs = paragraphs();
    let mut group = criterion.benchmark_group("extract");
    group
        .throughput(Throughput::Bytes(BYTES as u64))
        .sample_size(10)
        .measurement_time(Duration::from_secs(3));
    for (name, make) in makers::MAKERS {
        let bytes = make(&paragraphs);
        let file = || File {
            bytes: bytes.clone().into(),
            name: None,
            encoding: None,
        };
        group.bench_function(name, |b| {
            b.iter_batched(
                file,
                |file| lapidary_extract::read_one(black_box(file), Limits::default()),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, extract);
criterion_main!(benches);
