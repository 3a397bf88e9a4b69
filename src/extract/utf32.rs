//! UTF-32, which `encoding_rs` leaves out because browsers do.

/// Bytes a character.
const WIDTH: usize = 4;

/// The character of four bytes, whose numbers `order` makes; `None` if there is no such character.
pub(super) fn char(bytes: &[u8], order: fn([u8; WIDTH]) -> u32) -> Option<char> {
    let bytes: [u8; WIDTH] = bytes.try_into().ok()?;
    char::from_u32(order(bytes))
}

/// Decodes; `invalid` is called with the offset of whatever is no character, and gives what stands for it.
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
