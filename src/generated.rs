//! Files of the documentation that tests generate.

use std::path::Path;
use std::{env, fs};

/// Asserts that a file has this text, or writes it if `UPDATE_REFERENCE` is set.
pub(crate) fn assert_is_up_to_date(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(&path, text).expect("a file");
    }
    let is_current = fs::read_to_string(&path).is_ok_and(|written| written == text);
    assert!(is_current, "{file} is stale: make reference writes it anew");
}
