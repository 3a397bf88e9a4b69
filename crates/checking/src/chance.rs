//! How many books share a given number of gems with a query by chance alone.

use lapidary_store::Sizes;

/// The expected number of unrelated books in the index that have at least `common` gems in common with a query of
/// `query` gems, where a gem has `bits` bits.
///
/// Gems of unrelated texts are random numbers, so the number of common gems of a query and a book of `n` gems has a
/// Poisson distribution with mean `query · n / 2^bits`. Each book counts with the mean size of its class in `sizes`.
#[must_use]
pub fn chance(sizes: &Sizes, query: u32, common: u32, bits: u32) -> f64 {
    let gems = 2_f64.powi(bits.cast_signed());
    let classes = sizes.classes.iter().filter(|class| class.books > 0);
    let expected = classes.map(|class| {
        let books = class.books as f64;
        let mean = f64::from(query) * (class.gems as f64 / books) / gems;
        books * at_least(common, mean)
    });
    // Start from 0.0: the sum of nothing is -0.0.
    expected.fold(0.0, |sum, books| sum + books)
}

/// The probability that a Poisson variable with this mean is at least `count`.
fn at_least(count: u32, mean: f64) -> f64 {
    if count == 0 {
        return 1.0;
    }
    // Use logarithms: mean^count / count! overflows f64 in both directions.
    let log_factorial: f64 = (1..=count).map(|i| f64::from(i).ln()).sum();
    let mut term = (f64::from(count) * mean.ln() - mean - log_factorial).exp();
    if f64::from(count) <= mean {
        // The sum from below is shorter.
        let mut below = 0.0;
        for i in (1..=count).rev() {
            term *= f64::from(i) / mean;
            below += term;
        }
        return (1.0 - below).clamp(0.0, 1.0);
    }
    let mut sum = 0.0;
    let mut i = f64::from(count);
    while term > sum * 1e-12 {
        sum += term;
        i += 1.0;
        term *= mean / i;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{at_least, chance};
    use lapidary_store::{SizeClass, Sizes};

    #[test]
    fn poisson_tails() {
        // P(X >= k) = 1 - sum of the first k terms, by hand.
        let table = [
            (0, 0.5, 1.0),
            (1, 0.5, 1.0 - (-0.5_f64).exp()),
            (2, 3.0, 1.0 - 4.0 * (-3.0_f64).exp()),
            (3, 1.0, 1.0 - 2.5 * (-1.0_f64).exp()),
        ];
        for (count, mean, expected) in table {
            assert!(
                (at_least(count, mean) - expected).abs() < 1e-12,
                "{count} at {mean}: {}",
                at_least(count, mean)
            );
        }
        assert!((at_least(3, 1e-4) / (1e-12 / 6.0) - 1.0).abs() < 1e-3);
        assert!(at_least(3, 0.0) < f64::MIN_POSITIVE);
        assert!(at_least(1_000_000, 1.0) < f64::MIN_POSITIVE);
    }

    /// Random gems of few bits in many small books agree with the formula.
    #[test]
    fn as_counted_on_random_gems() {
        let (bits, books, size) = (12, 20_000_u64, 60);
        let mut state = 7_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> (64 - bits)
        };
        let query: std::collections::HashSet<u64> =
            std::iter::repeat_with(&mut random).take(200).collect();
        let shared: Vec<usize> = (0..books)
            .map(|_| {
                let book: std::collections::HashSet<u64> =
                    std::iter::repeat_with(&mut random).take(size).collect();
                book.intersection(&query).count()
            })
            .collect();
        let sizes = Sizes {
            classes: vec![SizeClass {
                books,
                gems: books * size as u64,
            }],
        };
        for common in 3..8 {
            let counted = shared.iter().filter(|&&c| c >= common).count() as f64;
            let expected = chance(&sizes, query.len() as u32, common as u32, bits as u32);
            assert!(
                (counted - expected).abs() < 5.0 * expected.sqrt() + 0.03 * expected,
                "{common}: {counted} for {expected}"
            );
        }
    }

    #[test]
    fn an_empty_index_has_no_chance_matches() {
        assert_eq!(chance(&Sizes::default(), 100, 3, 32).to_string(), "0");
    }
}
