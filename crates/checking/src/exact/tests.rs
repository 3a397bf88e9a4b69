use lapidary_gems::{Place, Recipe};
use proptest::prelude::*;

use super::{Exact, Identity, Likeness, Passage, Piece, exact, exact_in_other_words};
use crate::{Extent, Range, Span, align, of_both};

/// A text of this many words, of which no two are alike.
fn words(seed: u64, number: u64) -> Vec<String> {
    (0..number)
        .map(|i| {
            format!(
                "{:x}stone",
                (i + 1 + seed * 1_000_003).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
            )
        })
        .collect()
}

fn span(query: (usize, usize), book: (usize, usize)) -> Span {
    let extent = |(start, end): (usize, usize)| Extent {
        gems: Range { start: 0, end: 1 },
        bytes: Some(Place {
            start: start as u64,
            end: end as u64,
        }),
    };
    Span {
        common: 1,
        query: extent(query),
        book: extent(book),
        query_position: None,
        book_position: None,
    }
}

fn kinds(exact: &Exact) -> Vec<Likeness> {
    let mut kinds: Vec<_> = exact
        .passages
        .iter()
        .flat_map(|passage| passage.pieces.iter().map(|piece| piece.likeness))
        .collect();
    kinds.dedup();
    kinds
}

fn text_at(text: &str, place: Place) -> &str {
    &text[place.start as usize..place.end as usize]
}

/// The pieces of a passage, as one of the texts has them.
fn side(text: &str, passage: &Passage, place: fn(&Piece) -> Place) -> String {
    let pieces = passage
        .pieces
        .iter()
        .map(|piece| text_at(text, place(piece)));
    let words: Vec<&str> = pieces.filter(|words| !words.is_empty()).collect();
    words.join(" ")
}

/// Each piece as it stands in the query and in the book.
fn shown<'a>(query: &'a str, book: &'a str, exact: &Exact) -> Vec<(&'a str, &'a str)> {
    exact
        .passages
        .iter()
        .flat_map(|passage| &passage.pieces)
        .map(|p| (text_at(query, p.query), text_at(book, p.book)))
        .collect()
}

#[test]
fn what_is_identical_respelled_and_different() {
    let book =
        "The treasure lay in a very old box, under the harbour wall; nobody had seen it for years.";
    let query = "The trеasurе lay in an old box, under the har bour wall (so they say); nobody had SEEN it for years.";
    let found = exact(query, book, &[span((0, query.len()), (0, book.len()))]);
    assert_eq!(
        shown(query, book, &found),
        [
            ("The", "The"),
            ("trеasurе", "treasure"),
            ("lay in", "lay in"),
            ("an", "a very"),
            ("old box, under the", "old box, under the"),
            ("har bour", "harbour"),
            ("wall", "wall"),
            ("so they say", ""),
            ("nobody had", "nobody had"),
            ("SEEN", "seen"),
            ("it for years", "it for years"),
        ]
    );
    // Different: an, so they say. Respelled: the treasure, the harbour, seen.
    let total = Identity {
        characters: 75,
        identical: 75 - 11 - 19,
        respelled: 19,
        lower_bound: false,
    };
    assert_eq!((found.total, found.passages[0].identity), (total, total));
}

#[test]
fn scrambled_words_are_respelled() {
    let book = "There would be three of their ships behind the island, which could never return with them. ";
    let query = "Trehe wulod be trhee of tiehr spihs bnihed the ilnasd, wchih cloud nveer rreutn wtih tehm. ";
    let whole = span((0, query.len()), (0, book.len()));
    let Identity {
        characters,
        identical,
        respelled,
        ..
    } = exact(query, book, &[whole]).total;
    // As they are: be, of, the.
    assert_eq!((characters, identical, respelled), (73, 7, 66));
    // A text that is not scrambled has the words that it has.
    let whole = span((0, book.len()), (0, query.len()));
    assert_eq!(exact(book, query, &[whole]).total.respelled, 0);
}

#[test]
fn a_passage_goes_on_as_far_as_the_texts_agree() {
    let [before, shared, behind, other] =
        [(1, 900), (2, 700), (3, 900), (4, 900)].map(|(seed, n)| words(seed, n).join(" "));
    let (query, book) = (
        format!("{before} {shared} {behind}"),
        format!("{other} {shared} {other}"),
    );
    let at = |text: &str| text.find(&shared).unwrap();
    // The span is only what lies around its gems.
    let (q, b) = (at(&query), at(&book));
    let found = exact(
        &query,
        &book,
        &[span((q + 3_000, q + 3_700), (b + 3_000, b + 3_700))],
    );
    assert_eq!(found.passages.len(), 1);
    let place = |start: usize| Place {
        start: start as u64,
        end: (start + shared.len()) as u64,
    };
    assert_eq!(
        (found.passages[0].query, found.passages[0].book),
        (place(q), place(b))
    );
    assert_eq!(kinds(&found), [Likeness::Identical]);
    assert!((found.total.share() - 1.0).abs() < f64::EPSILON);
}

#[test]
fn passages_do_not_overlap_and_no_word_counts_twice() {
    let text = words(5, 2_000).join(" ");
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count() as u64;
    let all = Identity {
        characters: letters,
        identical: letters,
        ..Identity::default()
    };
    let spans: Vec<Span> = (0..20)
        .map(|i| span((i * 900, i * 900 + 400), (i * 900, i * 900 + 400)))
        .collect();
    let found = exact(&text, &text, &spans);
    assert_eq!(
        (found.passages.len(), found.total),
        (1, all),
        "they are one"
    );
    let twice = exact(
        &text,
        &text,
        &[
            span((0, text.len()), (0, text.len())),
            span((0, 900), (0, 900)),
        ],
    );
    assert_eq!((twice.passages.len(), twice.total), (1, all));
    // The halves in the other order stay two passages.
    let half = text[..text.len() / 2].rfind(' ').unwrap();
    let turned = format!("{} {}", &text[half + 1..], &text[..half]);
    let other = text.len() - half;
    let spans = [
        span((9_000, 9_500), (half + 9_001, half + 9_501)),
        span((other + 900, other + 990), (900, 990)),
    ];
    let found = exact(&turned, &text, &spans);
    assert_eq!((found.passages.len(), found.total), (2, all));
    assert!(found.passages[0].query.end < found.passages[1].query.start);
}

/// A passage in other words: every third word is another one, and each two that follow one another change places.
#[test]
fn a_passage_in_other_words_goes_on_in_any_order() {
    let [before, shared, behind, other, new] =
        [(1, 300), (2, 120), (3, 300), (4, 300), (5, 120)].map(|(seed, n)| words(seed, n));
    let mut reworded = shared.clone();
    for (at, word) in new.into_iter().enumerate().step_by(3) {
        reworded[at] = word;
    }
    reworded.chunks_exact_mut(2).for_each(|two| two.swap(0, 1));
    let (shared, reworded) = (shared.join(" "), reworded.join(" "));
    let query = [before.join(" "), reworded.clone(), behind.join(" ")].join(" ");
    let book = [other.join(" "), shared.clone(), other.join(" ")].join(" ");
    let (q, b) = (query.find(&reworded).unwrap(), book.find(&shared).unwrap());
    let spans = [500, 1_000].map(|at| {
        let part = |from: usize| (from + at, from + at + 90);
        span(part(q), part(b))
    });
    let found = exact_in_other_words(&query, &book, &spans);
    assert_eq!(found.passages.len(), 1, "they are one");
    let passage = &found.passages[0];
    for (place, start, of) in [(passage.query, q, &reworded), (passage.book, b, &shared)] {
        let missing = [
            place.start.abs_diff(start as u64),
            place.end.abs_diff((start + of.len()) as u64),
        ];
        // The first and the last word may be other ones.
        assert!(missing.iter().all(|bytes| *bytes < 60), "{missing:?}");
    }
    // Read as the same words, it ends where these do.
    let same = exact(&query, &book, &spans);
    assert!(same.passages[0].query.end - same.passages[0].query.start < 1_000);
    assert_eq!(exact_in_other_words(&query, "", &spans), Exact::default());
}

#[test]
fn phrases_are_left_out_beside_a_passage() {
    let [before, between, other, here, there] =
        [1, 2, 3, 4, 5].map(|seed| words(seed, 90).join(" "));
    let (phrase, words) = (
        "seven captains buried their treasure",
        "a harbour wall ".repeat(11),
    );
    assert_eq!(phrase.replace(' ', "").len(), 32);
    // 128 letters, and 127.
    for (passage, expected) in [(&words[..159], 1), (&words[..158], 2)] {
        let query = format!("{before} {phrase} {between} {passage}");
        let book = format!("{passage} {other} {phrase}");
        let spans = [phrase, passage].map(|of| {
            let at = |text: &str| {
                text.find(of)
                    .map(|start| (start, start + of.len()))
                    .unwrap()
            };
            span(at(&query), at(&book))
        });
        assert_eq!(exact(&query, &book, &spans).passages.len(), expected);
        // Another one makes them too much to leave out.
        let another = "captains buried seven brothers";
        let more = format!("{query} {here} {another}");
        let of_more = format!("{book} {there} {another}");
        let at = |text: &str| (text.len() - another.len(), text.len());
        let spans_of_more = [&spans[..], &[span(at(&more), at(&of_more))]].concat();
        assert_eq!(exact(&more, &of_more, &spans_of_more).passages.len(), 3);
        // Nor are single words shown beside phrases.
        let word = "stone";
        let (more, of_more) = (
            format!("{query} {here} {word}"),
            format!("{book} {there} {word}"),
        );
        let at = |text: &str| (text.len() - word.len(), text.len());
        let spans_of_more = [&spans[..], &[span(at(&more), at(&of_more))]].concat();
        assert_eq!(exact(&more, &of_more, &spans_of_more).passages.len(), 2);
        // Alone, it is all there is.
        assert_eq!(exact(&query, &book, &spans[..1]).passages.len(), 1);
    }
}

/// Of 600 words, the book has some again elsewhere; of those beside them, none.
#[test]
fn what_a_passage_shows_is_not_shown_again() {
    let [story, other] = [(1, 600), (2, 600)].map(|(seed, n)| words(seed, n));
    let again = |of: &[String]| {
        let repeated = [&other[..300], of, &other[300..]].concat().join(" ");
        let (query, book) = (story.join(" "), format!("{} {repeated}", story.join(" ")));
        let (first, phrase) = (of[0].as_str(), of.join(" "));
        assert_eq!(query.matches(first).count(), 1);
        let at = |text: &str| text.rfind(&phrase).unwrap();
        // The span has a gem around it, most of which differs.
        let around = |at: usize| (at - 200, at + phrase.len() + 200);
        let spans = [
            span((0, query.len()), (0, query.len())),
            span(around(at(&query)), around(at(&book))),
        ];
        exact(&query, &book, &spans)
    };
    for words in [4, 100] {
        let found = again(&story[200..200 + words]);
        assert_eq!(found.passages.len(), 1, "{words} words");
        assert_eq!(found.total.identical, found.total.characters);
    }
}

/// A span is as wide as its gems, and two of them can be joined.
#[test]
fn passages_are_what_is_alike() {
    let [one, other, query, book] =
        [(1, 60), (2, 60), (3, 300), (4, 300)].map(|(seed, n)| words(seed, n));
    let of = |around: &[String], shared: [&[String]; 2]| {
        [
            &around[..60],
            shared[0],
            &around[60..240],
            shared[1],
            &around[240..],
        ]
        .concat()
        .join(" ")
    };
    let whole = |shared: [&[String]; 2]| {
        let [query, book] = [&query, &book].map(|around| of(around, shared));
        exact(&query, &book, &[span((0, query.len()), (0, book.len()))])
    };
    let found = whole([&one, &other]);
    assert_eq!(found.passages.len(), 2);
    assert_eq!(kinds(&found), [Likeness::Identical]);
    let letters = |of: &[String]| of.concat().len() as u64;
    assert_eq!(found.total.characters, letters(&one) + letters(&other));
    // Stray words beside a passage are none of it, but alone they are all there is.
    let found = whole([&one, &other[..2]]);
    assert_eq!(found.total.characters, letters(&one));
    let found = whole([&one[..1], &other[..2]]);
    assert_eq!(found.total.characters, letters(&other[..2]));
    assert_eq!(whole([&[], &[]]).total.identical, 0);
}

#[test]
fn spans_that_point_nowhere_are_left_out() {
    let no_bytes = Span {
        query: Extent {
            bytes: None,
            ..span((0, 1), (0, 1)).query
        },
        ..span((0, 1), (0, 1))
    };
    for (query, book, span) in [
        ("stone", "stone", no_bytes),
        ("", "", span((0, 0), (0, 0))),
        ("stone", "", span((0, 5), (0, 5))),
        ("stone", "stone", span((90, 99), (5, 2))),
    ] {
        assert_eq!(
            exact(query, book, &[span]),
            Exact::default(),
            "{query}, {book}"
        );
    }
}

/// Texts with which a plain comparison would take minutes.
#[test]
fn hostile_texts_take_bounded_work_and_say_so() {
    let long = 40_000;
    let (a, b) = (words(6, long).join(" "), words(7, long).join(" "));
    let whole = |a: &str, b: &str| exact(a, b, &[span((0, a.len()), (0, b.len()))]).total;
    assert_eq!(whole(&a, &b).identical, 0, "nothing in common");
    let letter = "a".repeat(1_000_000);
    assert_eq!(whole(&letter, &letter).identical, 1_000_000, "one letter");
    let (ab, ba) = ("a b b a b ".repeat(12_000), "c b a a b b b ".repeat(10_000));
    let all = [span((0, ab.len()), (0, ba.len()))];
    let repetitive = exact_in_other_words(&ab, &ba, &all).total;
    assert!(
        repetitive.lower_bound && repetitive.characters == 60_000,
        "{repetitive:?}"
    );
    let parts = exact(&ab, &ba, &all).total;
    assert_eq!(parts.identical, repetitive.identical);
    assert!(parts.lower_bound && parts.characters < 60_000, "{parts:?}");
    // Anchors far apart with nothing in common between them, again and again.
    let gaps = |seed: u64| -> String {
        (0..50)
            .map(|i| words(1_000 + i, 8).join(" ") + " " + &words(seed + i, 1_000).join(" ") + " ")
            .collect()
    };
    let (a, b) = (gaps(2_000), gaps(3_000));
    let all = [span((0, a.len()), (0, b.len()))];
    let kept = exact_in_other_words(&a, &b, &all).total;
    assert!(kept.identical > 4_000, "{kept:?}");
    let parts = exact(&a, &b, &all);
    assert_eq!(parts.total.identical, kept.identical);
    assert_eq!(
        parts.total.characters, parts.total.identical,
        "and only those"
    );
    // Passages as long as the text, each a little further.
    let each = |i: usize| span((i * 90, a.len()), (a.len() - i * 90, a.len()));
    let many: Vec<Span> = (0..5_000).map(each).collect();
    let found = exact_in_other_words(&a, &a, &many);
    assert!(found.total.characters > 0 && found.passages.len() < many.len());
}

proptest! {
    #[test]
    fn any_texts_and_spans(
        query in "[ab\u{301}\u{200b}\u{430}宝 .-]{0,40}",
        book in "[ab\u{301}\u{200b}\u{430}宝 .-]{0,40}",
        places in prop::collection::vec((0..60_usize, 0..60_usize, 0..60_usize, 0..60_usize), 0..4),
    ) {
        let spans: Vec<Span> = places.iter().map(|(a, b, c, d)| span((*a, *b), (*c, *d))).collect();
        for compare in [exact, exact_in_other_words] {
            let found = compare(&query, &book, &spans);
            for ((a, b), piece) in shown(&query, &book, &found).into_iter().zip(found.passages.iter().flat_map(|p| &p.pieces)) {
                let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
                prop_assert!(piece.likeness != Likeness::Identical || letters(a) == letters(b), "{a:?} {b:?}");
            }
            for passage in &found.passages {
                let Identity { characters, identical, respelled, .. } = passage.identity;
                prop_assert!(identical + respelled <= characters);
            }
        }
    }

    /// However a text was edited, the pieces of a passage put together are all of it.
    #[test]
    fn pieces_make_up_both_texts(edits in prop::collection::vec((0..300_usize, 0..3_u8), 0..60)) {
        let book = words(8, 400);
        let mut query = book.clone();
        for (i, (at, how)) in edits.into_iter().enumerate() {
            match how {
                0 => query[at.min(200)] = format!("changed{i}"),
                1 => query.insert(at.min(200), format!("new{i}")),
                _ => drop(query.remove(at.min(200))),
            }
        }
        let (query, book) = (query.join(" "), book.join(" "));
        let spans = [span((0, query.len()), (0, book.len()))];
        let whole = exact_in_other_words(&query, &book, &spans);
        prop_assert_eq!(side(&query, &whole.passages[0], |piece| piece.query), query.as_str());
        prop_assert_eq!(side(&book, &whole.passages[0], |piece| piece.book), book.as_str());
        let parts = exact(&query, &book, &spans);
        for passage in &parts.passages {
            prop_assert_eq!(side(&query, passage, |piece| piece.query), text_at(&query, passage.query));
            prop_assert_eq!(side(&book, passage, |piece| piece.book), text_at(&book, passage.book));
        }
        prop_assert!(parts.total.identical <= whole.total.identical);
        prop_assert!(parts.total.identical > whole.total.identical * 9 / 10);
    }
}

#[test]
fn spans_of_a_comparison_lead_to_the_passages() {
    let story = words(9, 3_000);
    let around = |seed| words(seed, 3_000).join(" ");
    let mut copy = story.clone();
    for at in (10..3_000).step_by(20) {
        copy[at] = "changed".to_owned();
    }
    let (a, b) = (
        format!("{} {} {}", around(10), copy.join(" "), around(11)),
        story.join(" "),
    );
    let recipe = Recipe::hardened();
    let gems = recipe.gems(&b);
    let alignment = align(&of_both(&recipe.probes(&a), &gems), &gems, &recipe, |_| {
        Some(1.0)
    });
    let exact = exact(&a, &b, &alignment.spans);
    let share = exact.total.share();
    assert!(
        (0.97..0.98).contains(&share),
        "one short word in twenty is new: {:?}",
        exact.total
    );
    assert!(
        exact.total.characters as f64 > 0.97 * b.len() as f64 * 0.9,
        "{:?}",
        exact.total
    );
}
