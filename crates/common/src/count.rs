//! Numbers in messages.

/// A number with its noun: `1 book`, `1,234 books`.
#[must_use]
pub fn count(number: u64, one: &str, several: &str) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { one } else { several }
    )
}

/// A number with thousands separators.
#[must_use]
pub fn grouped(number: u64) -> String {
    separated(number, ',')
}

/// A number with this separator of thousands.
#[must_use]
pub fn separated(number: u64, separator: char) -> String {
    let digits = number.to_string();
    let mut written = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            written.push(separator);
        }
        written.push(digit);
    }
    written
}
