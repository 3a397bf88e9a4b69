//! What `lapidary --version` says.

use std::sync::LazyLock;

use jiff::Timestamp;

/// The version, with the commit that it was built from and the day of that commit if the build had them from
/// variables, which `scripts/build` sets. Only this file depends on them, so a commit compiles nothing but the command line again.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("LAPIDARY_COMMIT").filter(|commit| !commit.is_empty());
    let seconds = option_env!("LAPIDARY_COMMIT_TIME").or(option_env!("SOURCE_DATE_EPOCH"));
    let day = seconds
        .and_then(|seconds| seconds.parse().ok())
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map(|time| time.strftime("%F").to_string());
    let version = env!("CARGO_PKG_VERSION");
    match (commit, day) {
        (Some(commit), Some(day)) => format!("{version} ({commit}, {day})"),
        (Some(commit), None) => format!("{version} ({commit})"),
        (None, _) => version.to_owned(),
    }
});
