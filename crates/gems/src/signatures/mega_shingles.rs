//! `mega-shingles`: pairs of super-shingles, each a hash of 14 min-hashes (Fetterly, Manasse and Najork 2003).

use std::fmt::Write as _;
use std::sync::LazyLock;

use super::hash::{Algorithm, PRIME, fingerprint, remainder};
use super::words::SignatureWords;

const GROUPS: usize = 6;
const OF_GROUP: usize = 14;

/// The factor and the summand of each permutation of fingerprints.
static PERMUTATIONS: LazyLock<Vec<(u64, u64)>> = LazyLock::new(|| {
    let mut permutations = Vec::new();
    for number in 0..GROUPS * OF_GROUP {
        let a = Algorithm::Sha256.hash(&format!("mega a {number}"));
        let b = Algorithm::Sha256.hash(&format!("mega b {number}"));
        permutations.push((1 + a % (PRIME - 1), b % PRIME));
    }
    permutations
});

pub(super) fn strings(words: &SignatureWords, k: usize, take: &mut dyn FnMut(&str)) {
    let mut fingerprints: Vec<u64> = words.runs(k).map(fingerprint).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let super_shingles = PERMUTATIONS.chunks(OF_GROUP).map(|group| {
        let mut least = String::new();
        for &(a, b) in group {
            let least_permuted = fingerprints
                .iter()
                .min_by_key(|x| remainder(u128::from(a) * u128::from(**x) + u128::from(b)));
            let x = least_permuted.copied().unwrap_or_default();
            let _ = write!(least, "{x:016x} ");
        }
        Algorithm::Sha256.hash(least.trim_end())
    });
    let super_shingles: Vec<u64> = super_shingles.collect();
    for (g, first) in super_shingles.iter().enumerate() {
        for (h, second) in super_shingles.iter().enumerate().skip(g + 1) {
            take(&format!("{g}{h} {first:016x} {second:016x}"));
        }
    }
}
