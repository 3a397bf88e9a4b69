//! Code page 855 (IBM855): Cyrillic under DOS before cp866, mainly in Serbia and Bulgaria. `encoding_rs` lacks it.

/// The characters of the bytes 0x80 to 0xFF, from the Unicode Consortium's mapping table CP855.TXT.
const HIGH: [char; 128] = [
    'ђ', 'Ђ', 'ѓ', 'Ѓ', 'ё', 'Ё', 'є', 'Є', 'ѕ', 'Ѕ', 'і', 'І', 'ї', 'Ї', 'ј', 'Ј', 'љ', 'Љ', 'њ',
    'Њ', 'ћ', 'Ћ', 'ќ', 'Ќ', 'ў', 'Ў', 'џ', 'Џ', 'ю', 'Ю', 'ъ', 'Ъ', 'а', 'А', 'б', 'Б', 'ц', 'Ц',
    'д', 'Д', 'е', 'Е', 'ф', 'Ф', 'г', 'Г', '«', '»', '░', '▒', '▓', '│', '┤', 'х', 'Х', 'и', 'И',
    '╣', '║', '╗', '╝', 'й', 'Й', '┐', '└', '┴', '┬', '├', '─', '┼', 'к', 'К', '╚', '╔', '╩', '╦',
    '╠', '═', '╬', '¤', 'л', 'Л', 'м', 'М', 'н', 'Н', 'о', 'О', 'п', '┘', '┌', '█', '▄', 'П', 'я',
    '▀', 'Я', 'р', 'Р', 'с', 'С', 'т', 'Т', 'у', 'У', 'ж', 'Ж', 'в', 'В', 'ь', 'Ь', '№', '\u{AD}',
    'ы', 'Ы', 'з', 'З', 'ш', 'Ш', 'э', 'Э', 'щ', 'Щ', 'ч', 'Ч', '§', '■', '\u{A0}',
];

/// The character of a byte. All bytes have one.
pub(super) fn char(byte: u8) -> char {
    match byte.checked_sub(0x80) {
        Some(high) => HIGH[usize::from(high)],
        None => char::from(byte),
    }
}
