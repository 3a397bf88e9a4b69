//! Seeded random numbers: the same on every machine, and independent of the order in which books are generated.

/// What random numbers are for. Each purpose has its own sequence.
#[derive(Clone, Copy)]
pub enum Purpose {
    Book,
    Record,
    Query,
    Stranger,
    Arrival,
    Text,
    Zipf,
    Title,
    Shelf,
}

/// A random number generator (splitmix64).
pub struct Random(u64);

impl Random {
    /// The sequence for item `number` of this purpose.
    pub fn new(seed: u64, purpose: Purpose, number: u64) -> Self {
        Self(
            [seed, purpose as u64, number]
                .into_iter()
                .fold(0, |state, part| Self(state ^ part).next()),
        )
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// From 0 (inclusive) to 1 (exclusive).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Distinct numbers from a range.
    pub fn different(&mut self, count: usize, from: u64, end: u64) -> Vec<u64> {
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count {
            let number = from + self.below(end - from);
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        numbers
    }

    /// Distinct 32-bit numbers. A random permutation, so that no memory of earlier numbers is needed.
    pub fn permutation(mut self) -> impl Iterator<Item = u32> {
        let key = self.next();
        (0_u32..).map(move |i| scramble(scramble(i.wrapping_add(key as u32)) ^ (key >> 32) as u32))
    }
}

/// A pseudo-random bijection of the 32-bit numbers (C. Wellons, "lowbias32").
pub fn scramble(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}
