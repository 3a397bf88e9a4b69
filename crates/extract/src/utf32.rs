//! UTF-32, which `encoding_rs` omits because browsers do.

/// Bytes per character.
const WIDTH: usize = 4;

/// The character of four bytes, converted to a number by `order`; `None` if there is no such character.
pub(super) fn char(bytes: &[u8], order: fn([u8; WIDTH]) -> u32) -> Option<char> {
    let bytes: [u8; WIDTH] = bytes.try_into().ok()?;
    char::from_u32(order(bytes))
}

/// Decodes; calls `invalid` with the offset of invalid bytes to get their replacement.
pub(super) fn decode<E>(
    bytes: &[u8],
    order: fn([u8; WIDTH]) -> u32,
    mut invalid: impl FnMut(usize) -> Result<char, E>,
) -> Result<String, E> {
    let mut text = String::with_capacity(bytes.len() / 2);
    for (n, unit) in bytes.chunks(WIDTH).enumerate() {
        text.push(match char(unit, order) {
            Some(char) => char,
            None => invalid(n * WIDTH)?,
        });
    }
    Ok(text)
}
