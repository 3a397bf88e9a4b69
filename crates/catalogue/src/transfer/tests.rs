use serde_json::{Value, json};

use super::*;

const STANDING: &str = "/book/standing";
const NOTE: &str = "/book/standing/note";
const QUARANTINE: &str = "/book/standing/quarantine";
const FILED: &str = "/decision/filed";
const COVERAGE: &str = "/decision/filed/report/coverage";
const POSITION: &str = "/decision/filed/report/disguise/examples/0/position";
const EXAMPLE: &str = "/decision/filed/report/disguise/examples/0";
const METHOD: &str = "/decision/filed/report/disguise/hidden/methods/0";
const HIDDEN: &str = "/decision/filed/report/disguise/hidden";
const EXACT: &str = "/decision/filed/report/matches/0/exact";
const SPAN: &str = "/decision/filed/report/matches/0/spans/0";
const PASSAGE: &str = "/decision/filed/report/matches/0/passages/0";
const REPORT: &str = "/decision/filed/report";
const MATCH: &str = "/decision/filed/report/matches/0";

/// Fields of exports that were renamed: where they are, and their names now and before.
const RENAMED: [(&str, &str, &str); 26] = [
    ("/book", "changed_at", "changed"),
    ("/book", "fetched_at", "fetched"),
    (STANDING, "disabled_at", "disabled_since"),
    (STANDING, "amended_at", "amended"),
    (NOTE, "created_at", "since"),
    (NOTE, "created_by", "by"),
    (QUARANTINE, "started_at", "since"),
    (QUARANTINE, "confirmed_at", "confirmed"),
    ("/decision", "created_at", "at"),
    (FILED, "catalogue_id", "catalogue"),
    (FILED, "catalogue_digest", "state"),
    (FILED, "book_digests", "books"),
    (REPORT, "informational", "informing"),
    (COVERAGE, "total", "of"),
    (POSITION, "start", "from"),
    (POSITION, "end", "to"),
    (EXAMPLE, "position", "at"),
    (METHOD, "method", "how"),
    (HIDDEN, "methods", "ways"),
    (MATCH, "informational", "informs"),
    (EXACT, "lower_bound", "at_least"),
    (SPAN, "query_position", "query_at"),
    (SPAN, "book_position", "book_at"),
    (PASSAGE, "query_position", "query_at"),
    (PASSAGE, "book_position", "book_at"),
    (PASSAGE, "lower_bound", "at_least"),
];

#[test]
fn exports_with_earlier_names_are_imported() {
    let lines = [header(), book(), decision(), json!({ "end": 1 })];
    let mut earlier = lines.clone();
    for (place, now, before) in RENAMED {
        let line = usize::from(place.starts_with("/decision")) + 1;
        let object = earlier[line].pointer_mut(place);
        let object = object.and_then(Value::as_object_mut).expect(place);
        let value = object.remove(now).expect(now);
        object.insert(before.to_owned(), value);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("catalogue");
    let export = earlier.map(|line| format!("{line}\n")).concat();
    import(&folder, &mut export.as_bytes(), UNWATCHED).expect("an import");
    let mut again = Vec::new();
    let catalogue = Catalogue::open(&folder).expect("a catalogue");
    let export = catalogue.transfer().export(&mut again, UNWATCHED);
    export.expect("an export");
    let again = serde_json::Deserializer::from_slice(&again).into_iter();
    let again: Vec<Value> = again.collect::<Result<_, _>>().expect("JSON");
    assert_eq!(again, lines);
}

fn header() -> Value {
    json!({ "lapidary_export": 1, "recipes": [Recipe::documented()], "keeps_folds": false, "books": 1 })
}

fn book() -> Value {
    let record = json!({
        "library": "l", "id": "1", "rights": "protected", "digest": "00", "bytes": 0,
        "gems": { "documented": 1 },
        "changed_at": "2026-01-01T00:00:00Z", "fetched_at": "2026-01-02T00:00:00Z",
        "standing": {
            "disabled_at": "2026-01-03T00:00:00Z", "disabled_by": "library",
            "note": { "text": "why", "created_at": "2026-01-04T00:00:00Z", "created_by": "library" },
            "quarantine": {
                "started_at": "2026-01-05T00:00:00Z", "works": 3, "confirmed_at": "2026-01-06T00:00:00Z",
            },
            "amended_at": "2026-01-07T00:00:00Z",
        },
    });
    json!({ "book": record, "gems": { "documented": [[772_109_542]] } })
}

fn decision() -> Value {
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    let filed = json!({
        "report": report(), "catalogue_id": "c", "catalogue_digest": "d", "version": "0.1.0", "limit": 10,
        "detail": true, "book_digests": ["00"],
    });
    json!({ "decision": {
        "id": id, "check": id, "created_at": "2026-01-08T00:00:00Z", "actor": "local", "ruling": "checked",
        "digest": "01", "verdict": "unknown", "filed": filed,
    } })
}

fn report() -> Value {
    let rule = Recipe::documented().rule();
    json!({
        "verdict": "unknown", "reason": "none_decides", "recipe": "documented", "recipes": ["documented"],
        "coverage": { "books": 1, "total": 2 }, "gems": 1, "looked_up": 1, "common_gems": 0, "allowed_gems": 0,
        "day": "2026-01-08", "rule": rule, "total": 0, "informational": 1, "disabled": 0,
        "matches": [found()],
        "disguise": {
            "disguised": true, "share": 0.5, "invisible": 1, "look_alikes": 0, "marks": 0, "letter_spaced": 0,
            "digits": 0, "hyphens": 0, "markup": 0, "misspelled": 0,
            "examples": [{
                "trick": "invisible", "bytes": { "start": 0, "end": 4 }, "position": position(), "before": "",
                "word": "word", "after": "",
            }],
            "hidden": { "words": 1, "share": 0.5, "methods": [{ "method": "transparent", "words": 1 }] },
        },
    })
}

fn found() -> Value {
    let extent = json!({ "gems": { "start": 0, "end": 1 }, "bytes": { "start": 0, "end": 4 } });
    json!({
        "book": {
            "library": "l", "id": "1", "rights": "protected", "title": null, "authors": [], "language": null,
            "bytes": 0,
        },
        "recipes": ["documented"], "work": 1, "common": 1, "share_of_query": 1.0, "share_of_book": 1.0,
        "score": 1.0, "evidence": 1.0, "informational": "untrusted_library",
        "spans": [{
            "common": 1, "query": extent, "book": extent, "query_position": position(),
            "book_position": position(),
        }],
        "exact": { "characters": 4, "identical": 4, "respelled": 0, "lower_bound": true },
        "passages": [{
            "query": { "start": 0, "end": 4 }, "book": { "start": 0, "end": 4 }, "query_position": position(),
            "book_position": position(), "characters": 4, "identical": 4, "respelled": 0, "lower_bound": true,
        }],
    })
}

fn position() -> Value {
    json!({ "start": { "percent": 0.0 }, "end": { "percent": 100.0 } })
}
