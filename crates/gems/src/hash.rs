//! Bob Jenkins' 1996 hash of a chunk ("lookup2", <https://burtleburtle.net/bob/c/lookup2.c>), as the reference uses it.

const GOLDEN_RATIO: u32 = 0x9e37_79b9;

/// The hash of `key` with initial value 0.
///
/// As in the reference, there are two differences from the published function: the empty key hashes to 0, and bytes
/// are signed, which matters only for digits outside ASCII.
pub(super) fn jenkins(key: &[u8]) -> u32 {
    if key.is_empty() {
        return 0;
    }
    let (mut a, mut b, mut c) = (GOLDEN_RATIO, GOLDEN_RATIO, 0_u32);
    let mut blocks = key.chunks_exact(12);
    for block in &mut blocks {
        a = a.wrapping_add(word(&block[..4]));
        b = b.wrapping_add(word(&block[4..8]));
        c = c.wrapping_add(word(&block[8..]));
        mix(&mut a, &mut b, &mut c);
    }
    let rest = blocks.remainder();
    let (first, rest) = rest.split_at(rest.len().min(4));
    let (second, third) = rest.split_at(rest.len().min(4));
    a = a.wrapping_add(word(first));
    b = b.wrapping_add(word(second));
    // The lowest byte of c is reserved for the length.
    c = c
        .wrapping_add(key.len() as u32)
        .wrapping_add(word(third) << 8);
    mix(&mut a, &mut b, &mut c);
    c
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().enumerate().fold(0, |word: u32, (i, byte)| {
        let signed = i32::from(byte.cast_signed()).cast_unsigned();
        word.wrapping_add(signed << (8 * i))
    })
}

fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    fn step(x: &mut u32, y: u32, z: u32, shifted: u32) {
        *x = x.wrapping_sub(y).wrapping_sub(z) ^ shifted;
    }
    for [right, left, last] in [[13, 8, 13], [12, 16, 5], [3, 10, 15]] {
        step(a, *b, *c, *c >> right);
        step(b, *c, *a, *a << left);
        step(c, *a, *b, *b >> last);
    }
}

#[cfg(test)]
mod tests {
    use super::jenkins;

    #[test]
    fn the_reference_hashes() {
        let digits: Vec<u8> = b"0123456781234567"
            .iter()
            .copied()
            .cycle()
            .take(10_000)
            .collect();
        let table = include_str!("../tests/golden/jenkins.tsv");
        for line in table.lines() {
            let (n, hash) = line.split_once('\t').expect("two columns");
            let n: usize = n.parse().expect("a length");
            assert_eq!(
                jenkins(&digits[..n]),
                hash.parse::<u32>().expect("a hash"),
                "{n} digits"
            );
        }
    }
}
