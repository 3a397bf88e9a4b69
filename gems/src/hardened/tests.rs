//! Tests that disguises do not change gems, that the steps match a naive implementation, and that gems never change.

use proptest::prelude::*;

use super::{Hardened, Word, words};
use crate::{Gem, Place, PlacedGem, Probe, Recipe};

fn fold(text: &str) -> String {
    Hardened::fold(text)
}

fn gems(text: &str) -> Vec<Gem> {
    Recipe::hardened_fine().gems(text).iter().map(|placed| placed.gem).collect()
}

/// Invented sentences in two languages.
const RUSSIAN: &str = "Подъезжая к перекрёстку, возница придержал лошадей и обернулся: за холмами медленно поднимался дым. \
    Шестнадцать путников молчали, разглядывая щербатый мостик через обмелевшую речку. Никто не хотел первым спускаться \
    вниз, хотя хозяйка постоялого двора уверяла, что брод совершенно безопасен.";
const ENGLISH: &str = "Nobody at the harbour remembered who had painted the lighthouse green, although several captains \
    claimed the honour after supper. The keeper collected barometers, broken umbrellas and contradictory weather reports, \
    which he arranged by colour along the winding staircase.";

#[test]
fn what_words_are_left() {
    let table = [
        ("Подъезжая к перекрёстку", "PTS PRKR"),
        ("щука — Щука, ЩУКА", ""),
        ("счастье, щастье", "SST SST"),
        ("don't underestimate o'clock", "TNT NTRS SLSK"),
        ("photograph", "PTKR"),
        ("слово- слово", "SLVS"),
        ("какой-нибудь", "KKNP"),
        ("слово--слово", "SLV SLV"),
        ("жизнь в 1984 году", "SSN"),
        ("中文 текст", "中 文 TKST"),
    ];
    for (text, words) in table {
        assert_eq!(fold(text), words, "{text}");
    }
}

#[test]
fn disguises_that_change_nothing() {
    let table = [
        ("пиратские копии", "п и р а т с к и е  к о п и и", "letter-spaced"),
        ("пиратские копии", "п.и.р.а.т.с.к.и.е к-о-п-и-и", "with marks between letters"),
        ("пиратские копии", "пират\u{ad}ские ко\u{200b}п\u{2060}ии", "invisible"),
        ("пиратские копии", "пират-\nские ко-\r\n  пии", "hyphens and line ends"),
        ("пиратские копии", "п\u{336}и\u{301}р\u{336}а\u{336}тс\u{489}кие ко\u{300}\u{301}пии", "marks"),
        ("пиратские копии", "ПИРАТСКИЕ КОПИИ", "upper case"),
        ("пиратские копии", "пиpaтcкиe кoпии", "Latin letters that look alike"),
        ("пиратские копии", "пир4тские к0пии", "digits"),
        ("пиратские копии", "piratskie kopii", "transliterated"),
        ("щедрые хозяева цапли", "shchedrye khoziaeva tsapli", "transliterated, BGN"),
        ("щедрые хозяева цапли", "ščedrye hozjaeva capli", "transliterated, ISO 9"),
        ("жёлчь юность яхонт", "zhyolch' yunost' yahont", "transliterated by ear"),
        ("pirate copies", "ｐｉｒａｔｅ ｃｏｐｉｅｓ", "full width"),
        ("pirate copies", "𝓹𝓲𝓻𝓪𝓽𝓮 𝕔𝕠𝕡𝕚𝕖𝕤", "mathematical"),
        ("pirate copies", "ⓟⓘⓡⓐⓣⓔ 🅒🅞🅟🅘🅔🅢", "circled"),
        ("pirate copies", "🇵🇮🇷🇦🇹🇪 🄲🄾🄿🄸🄴🅂", "squared"),
        ("pirate copies", "рirаtе сорiеs", "Cyrillic letters that look alike"),
        ("pirate copies", "p1r4te c0p1e5s", "digits"),
        ("pirate copies", "ᴘɪʀᴀᴛᴇ ᴄᴏᴘɪᴇꜱ", "small capitals"),
        ("Ђорђевић и Џими Љубичић", "Đorđević i Džimi Ljubičić", "Serbian in Latin letters"),
    ];
    for (plain, disguised, how) in table {
        assert_eq!(fold(disguised), fold(plain), "{how}: {disguised}");
        assert!(!fold(plain).is_empty());
    }
}

/// A word whose letters could be of either script is read like the words before it.
#[test]
fn a_word_of_look_alikes_takes_the_script_before_it() {
    assert_eq!(fold("большая сосна, сестра"), fold("большая cocнa, cecтpa"));
    assert_eq!(fold("the greatest escape"), fold("the greatest еsсаре"));
}

/// These gems were recorded when the recipe was created; any change here makes the gems in every index worthless.
#[test]
fn gems_are_what_they_were() {
    let recorded = include_str!("../../tests/golden/hardened.tsv");
    let made = made();
    assert!(made == recorded, "the gems of hardened have changed; they are now\n{made}");
}

fn made() -> String {
    let texts = [RUSSIAN.to_owned(), ENGLISH.to_owned(), format!("{RUSSIAN}\n\n{ENGLISH} ").repeat(40), numbered()];
    let mut lines = String::new();
    for (i, text) in texts.iter().enumerate() {
        for recipe in [Recipe::hardened(), Recipe::hardened_fine()] {
            let gems = recipe.gems(text);
            let sum = gems.iter().fold(0_u64, |sum, gem| sum.rotate_left(5) ^ gem.gem.0);
            let first: Vec<String> = gems.iter().take(4).map(|gem| recipe.write(gem.gem).to_string()).collect();
            let (name, count, first) = (recipe.name(), gems.len(), first.join(","));
            lines.extend([format!("{i}\t{name}\t{count}\t{sum:016x}\t{first}\n")]);
        }
    }
    lines
}

/// A long text without repetitions.
fn numbered() -> String {
    const SYLLABLES: [&str; 16] =
        ["ба", "ре", "ко", "сти", "лу", "мно", "гра", "чё", "pa", "tro", "sil", "ven", "mur", "dek", "lo", "ghi"];
    let mut state = 1_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let from = if state >> 63 == 0 { 0 } else { 8 };
        (0..4).map(|i| SYLLABLES[from + (state >> (40 + 3 * i)) as usize % 8]).collect::<String>()
    };
    (0..5_000).map(|_| word() + " ").collect()
}

// ------------------------------------------------------------------------------------- naive implementation ----

/// Selection by its definition: from every window the last of the smallest ranks, and the sixteen smallest of all.
fn plainly(text: &str, window: usize) -> Vec<PlacedGem> {
    let mut all: Vec<Word> = Vec::new();
    words(text, |word| all.push(word));
    let mut shingles = Vec::new();
    let mut take = |some: &[Word]| {
        super::shingles(|take| some.iter().copied().for_each(take), |shingle| shingles.push(shingle));
    };
    if all.len() < 5 {
        take(&all);
    } else {
        all.windows(5).for_each(take);
    }
    let mut selected = vec![false; shingles.len()];
    for (from, some) in shingles.windows(window).enumerate() {
        let smallest = (0..window).rev().min_by_key(|i| some[*i].rank).expect("a window is not empty");
        selected[from + smallest] = true;
    }
    let mut ranks: Vec<u64> = shingles.iter().map(|shingle| shingle.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks.truncate(16);
    let mut gems: Vec<PlacedGem> = Vec::new();
    for (shingle, selected) in shingles.iter().zip(selected) {
        let gem = shingle.gem();
        let seen = gems.iter().any(|other| other.gem == gem.gem);
        // A gem has the place where it is first selected, or if it is among the smallest, its first place.
        if !seen && (selected || ranks.contains(&shingle.rank)) {
            gems.push(gem);
        }
    }
    gems
}

/// Texts of few different words, so that shingles repeat.
fn prose() -> impl Strategy<Value = String> {
    let word = prop_oneof![russian(), english()];
    proptest::collection::vec(word, 0..120).prop_map(|words| words.concat())
}

fn russian() -> impl Strategy<Value = String> {
    "(берег|поднос|стакан|граница|восток|мрамор|ветер) "
}

fn english() -> impl Strategy<Value = String> {
    "(harbour|lantern|staircase|mirror|orchard)[ ,.\n]"
}

proptest! {
    #[test]
    fn selection_is_as_defined(text in prose()) {
        for recipe in [Hardened::Coarse, Hardened::Fine] {
            prop_assert_eq!(recipe.gems(&text), plainly(&text, recipe.window()));
        }
    }

    #[test]
    fn no_text_panics_and_places_are_of_the_text(text in any::<String>()) {
        words(&text, |word| {
            let Place { start, end } = word.place;
            assert!(start < end && text.get(start as usize..end as usize).is_some(), "{word:?} of {text:?}");
        });
        fold(&text);
        gems(&text);
    }

    /// A gem's place covers exactly the words that it was made of.
    #[test]
    fn a_place_alone_has_its_gem(
        text in prop_oneof![
            proptest::collection::vec("(берег|поднос|граница|жемчуг) ", 5..60),
            proptest::collection::vec(english(), 5..60),
        ]
    ) {
        let text = text.concat();
        for PlacedGem { gem, place } in Recipe::hardened().gems(&text) {
            let Place { start, end } = place.expect("gems of texts have places");
            let part = &text[start as usize..end as usize];
            prop_assert_eq!(Recipe::hardened().gems(part).iter().map(|gem| gem.gem).collect::<Vec<_>>(), [gem], "{}", part);
        }
    }

    /// Wherever in a word they occur.
    #[test]
    fn disguised_letters_change_no_gem(
        text in prose(),
        noise in proptest::collection::vec(
            prop_oneof![3 => Just(""), 1 => Just("\u{200b}"), 1 => Just("\u{ad}"), 1 => Just("\u{301}\u{336}"), 1 => Just("-\n"), 1 => Just("-"), 1 => Just("'")],
            0..2000,
        ),
        alike in any::<u64>(),
    ) {
        let mut disguised = String::new();
        let mut noise = noise.into_iter().cycle();
        let mut letters = text.chars().peekable();
        let mut at = 0;
        while let Some(c) = letters.next() {
            at += 1;
            let alike = (alike >> (at % 64) & 1 == 1).then(|| look_alike(c)).flatten();
            disguised.push(alike.unwrap_or(c));
            if c.is_alphabetic() && letters.peek().is_some_and(|next| next.is_alphabetic()) {
                disguised.push_str(noise.next().unwrap_or_default());
            }
        }
        prop_assert_eq!(fold(&disguised), fold(&text));
        prop_assert_eq!(gems(&disguised), gems(&text));
    }

    #[test]
    fn finer_gems_are_all_and_more(text in prose()) {
        let fine = gems(&text);
        prop_assert!(Recipe::hardened().gems(&text).iter().all(|gem| fine.contains(&gem.gem)));
        for recipe in [Recipe::hardened(), Recipe::hardened_fine()] {
            let probes = recipe.probes(&text);
            let gems = recipe.gems(&text);
            // At the same place, or at an earlier occurrence of the same words that the wider window skipped.
            let start = |placed: &PlacedGem| placed.place.map(|place| place.start);
            let is_probed = |gem: &PlacedGem, probe: &Probe| probe.placed.gem == gem.gem && start(&probe.placed) <= start(gem);
            prop_assert!(gems.iter().all(|gem| probes.iter().any(|probe| is_probed(gem, probe))));
            prop_assert!(gems.is_empty() == probes.is_empty());
            let kept: Vec<Gem> = probes.iter().filter(|probe| probe.kept).map(|probe| probe.placed.gem).collect();
            prop_assert!(kept.iter().all(|kept| gems.iter().any(|gem| gem.gem == *kept)));
            prop_assert!(gems.is_empty() || !kept.is_empty());
        }
    }
}

/// A letter of the other script that looks the same.
fn look_alike(c: char) -> Option<char> {
    let pairs = "аaеeоoрpсcуyхxкkмmтt";
    let letters: Vec<char> = pairs.chars().collect();
    let at = letters.iter().position(|letter| *letter == c)?;
    letters.get(at ^ 1).copied()
}
