//! A few parts of a text that tell how it is spelled, in a time that does not grow with it.

/// How many parts, and the bytes of each.
const PARTS: usize = 16;
const PART: usize = 128;

/// Parts of a text at equal distances, or all of it if it is short.
pub(crate) fn sample(text: &str) -> impl Iterator<Item = &str> {
    sample_of(text, PART)
}

/// The same with parts of so many bytes.
pub(crate) fn sample_of(text: &str, bytes: usize) -> impl Iterator<Item = &str> {
    let parts = text.len().div_ceil(bytes).clamp(1, PARTS);
    (0..parts).map(move |part| {
        let start = text.len() * part / parts;
        let [start, end] = [start, (start + bytes).min(text.len())].map(|at| boundary(text, at));
        &text[start..end]
    })
}

/// The start of the character at this position.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}
