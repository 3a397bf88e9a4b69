//! Compares the triples and gems of `rewriting` with known ones.

use lapidary_gems::{Place, Recipe};

/// Each gem of a text: its number, its triple, and its place in characters. `printf 'lay old treasur' | sha256sum` begins with the
/// number; the digits behind it are those of an even number.
fn is(text: &str, expected: &[(u64, &str, [usize; 2])]) {
    let recipe = Recipe::rewriting();
    let triples = recipe.fold(text);
    let gems = recipe.gems(text).into_iter().map(|placed| {
        let Place { start, end } = placed.place.expect("a text has places");
        let characters = |end: u64| text[..end as usize].chars().count();
        (placed.gem.0, [characters(start), characters(end)])
    });
    let found: Vec<_> = gems
        .zip(triples.lines())
        .map(|((gem, place), triple)| (gem, triple, place))
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn triples_of_stems() {
    is(
        "The treasures lay in an old box, and the box was hidden beneath the oldest tree.",
        &[
            (0x9d35_84e6_c535, "lay old treasur", [4, 27]),
            (0x2e03_83b4_2ea6, "box box old", [24, 44]),
            (0xc4d4_f916_0b3b, "box box hidden", [28, 55]),
            (0x0e40_ea3f_2e01, "beneath box hidden", [41, 63]),
            (0xa899_55fa_21fb, "beneath hidden oldest", [49, 74]),
        ],
    );
    is(
        "In the box there lay OLD treasure.",
        &[(0x9d35_84e6_c535, "lay old treasur", [17, 33])],
    );
    is("Two words", &[]);
}

#[test]
fn stems_in_the_language_of_the_text() {
    is(
        "Сокровища лежали в старом ящике под самым старым деревом в лесу.",
        &[
            (0xf8af_793f_f455, "лежа стар ящик", [10, 31]),
            (0x3599_5709_5e09, "дерев сам стар", [36, 56]),
            (0x6585_704d_a277, "дерев лес стар", [42, 63]),
        ],
    );
    is(
        "Staré poklady ležely ve skříni pod nejstarším stromem v hlubokém lese za městem.",
        &[
            (0xb3fd_2b5c_8816, "nejst skřín strom", [24, 53]),
            (0x436a_b5de_f428, "hlub nejst strom", [35, 64]),
            (0x342f_d00b_4756, "hlub les strom", [46, 69]),
        ],
    );
    is(
        "Stare skarby leżały w skrzyni pod najstarszym drzewem w głębokim lesie.",
        &[
            (0x125e_b694_01af, "leżał skarb star", [0, 19]),
            (0x29a4_f517_8942, "leżał najst skrz", [13, 45]),
            (0x6b00_53f9_235a, "drzew najst skrz", [22, 53]),
            (0x1f5e_a314_591c, "drzew głęb najst", [34, 64]),
            (0xcd6d_ca86_2d96, "drzew głęb les", [46, 70]),
        ],
    );
    is(
        "Скарби лежали в старій скрині під найстарішим деревом у глибокому лісі.",
        &[
            (0x0604_b2ad_579c, "найст скрин стар", [16, 45]),
            (0xad14_aefe_7161, "глиб дерев найст", [34, 65]),
        ],
    );
    is(
        "Старо благо је лежало у сандуку под најстаријим дрветом у дубокој шуми.",
        &[(0x303f_7102_4893, "дрвет најст санд", [24, 55])],
    );
}

#[test]
fn other_forms_of_letters_are_the_same() {
    let recipe = Recipe::rewriting();
    let gems = |text: &str| -> Vec<_> {
        let gems = recipe.gems(text).into_iter();
        gems.map(|placed| placed.gem).collect()
    };
    let composed = gems("The treasures lay in the café of an old town behind the forest");
    let other =
        gems("The TREA\u{ad}SURES lay in the cafe\u{301}, of an old Ｔｏｗｎ behind the “forest”");
    assert!(composed.len() >= 2, "{composed:?}");
    assert_eq!(composed, other);
}
