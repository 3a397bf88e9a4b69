//! The scripts, each of which is atomic.

use std::sync::LazyLock;

use redis::Script;

macro_rules! scripts {
    ($($name:ident = $($file:literal)+;)*) => {
        $(pub(super) static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(concat!($(include_str!(concat!("lua/", $file, ".lua"))),+)));)*

        /// All scripts.
        pub(super) fn all() -> Vec<&'static Script> {
            vec![$(&*$name),*]
        }
    };
}

scripts! {
    APPLY = "append" "rows" "apply";
    APPLY_APART = "rows" "apply_apart";
    BEGIN = "begin";
    COMMIT = "commit";
    CORRECT = "total" "correct";
    END = "end";
    FENCE = "fence";
    LEASE = "lease";
    LIBRARY = "library";
    MERGE = "merge";
    MOVE = "append" "total" "move";
    NUMBER = "number";
    PAGE = "page";
    POST = "post";
    SEARCH = "search";
    SPARE = "spare";
    SPEND = "spend";
    STAGE = "stage";
    WITNESS = "witness";
}
