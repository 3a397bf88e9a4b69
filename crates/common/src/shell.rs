//! Commands for people to type.

/// A word of a command, in quotes if a shell would change it.
#[must_use]
pub fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "/._-+:\\".contains(c)
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_changes_nothing() {
        let table = [
            ("lapidary", "lapidary"),
            ("./catalogue", "./catalogue"),
            ("http://127.0.0.1:8093", "http://127.0.0.1:8093"),
            ("Мир", "Мир"),
            ("", "''"),
            ("my books", "'my books'"),
            ("$(reboot)", "'$(reboot)'"),
            ("it's", r"'it'\''s'"),
        ];
        for (word, typed) in table {
            assert_eq!(quoted(word), typed);
        }
    }
}
