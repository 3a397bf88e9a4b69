//! Tests that disguises do not change gems, that the steps match a naive implementation, and that gems never change.

use hashbrown::HashSet;
use proptest::prelude::*;

use super::constants::{PUBLIC, mix};
use super::grams::{Gram, Grams, is_eligible};
use super::mended::mend_sounds;
use super::misspelled::{Misspelling, misspelling, with_inner_letters_sorted};
use super::readings::{ReadingKind, Readings, Script, Votes};
use super::respell::respelled;
use super::scrambled::{in_all_orders, unscrambled};
use super::selection::Selection;
use super::sounds::{Symbol, code_of};
use super::symbols::symbols;
use super::undo::undone;
use super::{Density, Hardened};
use crate::{Gem, Place, PlacedGem, Probe, Recipe, Secret};

fn fold(text: &str) -> String {
    Hardened::fold(text)
}

fn gems(text: &str) -> Vec<Gem> {
    Recipe::hardened_fine()
        .gems(text)
        .iter()
        .map(|placed| placed.gem)
        .collect()
}

/// Invented sentences in two languages.
const RUSSIAN: &str = include_str!("../../tests/golden/hardened.ru.txt");
const ENGLISH: &str = include_str!("../../tests/golden/hardened.en.txt");

#[test]
fn what_sounds_are_left() {
    let table = [
        ("Подъезжая к перекрёстку", "PTSKPRKRSTK"),
        ("щука — Щука, ЩУКА", "SKSKSK"),
        ("счастье, щастье", "SSTSST"),
        ("от сестры отцу", "SSTRS"),
        ("photograph", "PTKRP"),
        ("a hat, with heat", "KTVTT"),
        ("жизнь в 1984 году", "SSNVKT"),
        ("st st s", "S"),
        ("中文 текст", "中文TKST"),
        ("text", "TKST"),
    ];
    for (text, sounds) in table {
        assert_eq!(fold(text), sounds, "{text}");
    }
}

// A table is read as a whole.
#[allow(clippy::too_many_lines)]
#[test]
fn disguises_that_change_nothing() {
    let table = [
        (
            "пиратские копии",
            "п и р а т с к и е  к о п и и",
            "letter-spaced",
        ),
        (
            "пиратские копии",
            "п.и.р.а.т.с.к.и.е к-о-п-и-и",
            "with marks between letters",
        ),
        (
            "пиратские копии",
            "пират\u{ad}ские ко\u{200b}п\u{2060}ии",
            "invisible",
        ),
        (
            "пиратские копии",
            "пират-\nские ко-\r\n  пии",
            "hyphens and line ends",
        ),
        (
            "пиратские копии",
            "п\u{336}и\u{301}р\u{336}а\u{336}тс\u{489}кие ко\u{300}\u{301}пии",
            "marks",
        ),
        ("пиратские копии", "ПИРАТСКИЕ КОПИИ", "upper case"),
        (
            "пиратские копии",
            "пиpaтcкиe кoпии",
            "Latin letters that look alike",
        ),
        ("пиратские копии", "пир4тские к0пии", "digits"),
        ("пиратские копии", "piratskie kopii", "transliterated"),
        (
            "щедрые хозяева цапли",
            "shchedrye khoziaeva tsapli",
            "transliterated, BGN",
        ),
        (
            "щедрые хозяева цапли",
            "ščedrye hozjaeva capli",
            "transliterated, ISO 9",
        ),
        (
            "жёлчь юность яхонт",
            "zhyolch' yunost' yahont",
            "transliterated by ear",
        ),
        ("pirate copies", "ｐｉｒａｔｅ ｃｏｐｉｅｓ", "full width"),
        ("pirate copies", "𝓹𝓲𝓻𝓪𝓽𝓮 𝕔𝕠𝕡𝕚𝕖𝕤", "mathematical"),
        ("pirate copies", "ⓟⓘⓡⓐⓣⓔ 🅒🅞🅟🅘🅔🅢", "circled"),
        ("pirate copies", "🇵🇮🇷🇦🇹🇪 🄲🄾🄿🄸🄴🅂", "squared"),
        (
            "pirate copies",
            "рirаtе сорiеs",
            "Cyrillic letters that look alike",
        ),
        ("pirate copies", "p1r4te c0p1e5s", "digits"),
        ("pirate copies", "ᴘɪʀᴀᴛᴇ ᴄᴏᴘɪᴇꜱ", "small capitals"),
        (
            "Ђорђевић и Џими Љубичић",
            "Đorđević i Džimi Ljubičić",
            "Serbian in Latin letters",
        ),
        ("pirate copies", "piratecopies", "without blanks"),
        ("pirate copies", "pi rat ec opi es", "with other blanks"),
        (
            "pirate copies",
            "<p class='x'>pir<b>ate</b> co<br/>pies</p>",
            "markup",
        ),
        (
            "pirate copies",
            "p&#105;rate&nbsp;c&#x6F;pi&eacute;s",
            "character references",
        ),
        (
            "пиратские копии",
            "&amp;#1087;ират&shy;ские копии",
            "character references, escaped",
        ),
        (
            "pirate copies",
            "\u{202e}etarip\u{202c} \u{202e}seipoc\u{202c}",
            "backwards",
        ),
        (
            "pirate copies, more",
            "\u{202e}seipoc etarip\nmore",
            "a line backwards",
        ),
        (
            "pirate copies unpublished",
            "dᴉɹɐʇǝ ɔodᴉǝs nudnqlᴉsɥǝp",
            "upside down",
        ),
        (
            "and then, pirate copies. Published",
            "pǝɥsᴉlqnԀ .sǝᴉdoɔ ǝʇɐɹᴉd ,uǝɥʇ puɐ",
            "turned by half a turn",
        ),
        (
            "pirate copies known",
            "ριrαtε cορiεs κηονn",
            "Greek letters that look alike",
        ),
        (
            "pirate union",
            "pirate սոiօո",
            "Armenian letters that look alike",
        ),
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
/// A copy in another spelling is looked up by the gems of the book.
#[test]
fn a_query_is_respelled() {
    let russian = "Старый мельник запер дверь, взял фонарь и пошёл вдоль реки к далёкому городу, где жил его младший брат, большой любитель цирка и чая";
    let english = "The old miller locked his door, took a lamp and walked along the river to a distant town, where his younger brother was fond of a warm bed";
    let table = [
        (
            russian,
            "Cnfhsq vtkmybr pfgth ldthm? dpzk ajyfhm b gji`k dljkm htrb r lfk`rjve ujhjle? ult ;bk tuj vkflibq ,hfn? ,jkmijq k.,bntkm wbhrf b xfz",
        ),
        (
            english,
            "Еру щдв ьшддук дщслув ршы вщщкб ещщл ф дфьз фтв цфдлув фдщтп еру кшмук ещ ф вшыефте ещцтб цруку ршы нщгтпук икщерук цфы ащтв ща ф цфкь иув",
        ),
        (
            russian,
            "cTapbIu MeJIbHuK 3anep gBepb, B39JI qpoHapb u noLLIeJI BgoJIb peKu K gaJIeKoMy ropogy, rge }|{uJI ero MJIagLLIuu 6paT, 6oJIbLLIou JIIO6uTeJIb LLupKa u 4a9",
        ),
        (
            english,
            "The o1cl rni|1er |ockecl his cloor, took a 1arnp ancl vva|kecl a1ong the river to a clistant tovvn, vvhere his younger brother vvas foncl of a vvarrn becl",
        ),
        (
            english,
            "ꓔꓧꓰ ꓳꓡꓓ ꓟꓲꓡꓡꓰꓣ ꓡꓳꓚꓗꓰꓓ ꓧꓲꓢ ꓓꓳꓳꓣ, ꓔꓳꓳꓗ ꓮ ꓡꓮꓟꓑ ꓮꓠꓓ ꓪꓮꓡꓗꓰꓓ ꓮꓡꓳꓠꓖ ꓔꓧꓰ ꓣꓲꓦꓰꓣ ꓔꓳ ꓮ ꓓꓲꓢꓔꓮꓠꓔ ꓔꓳꓪꓠ, ꓪꓧꓰꓣꓰ ꓧꓲꓢ ꓬꓳꓴꓠꓖꓰꓣ ꓐꓣꓳꓔꓧꓰꓣ ꓪꓮꓢ ꓝꓳꓠꓓ ꓳꓝ ꓮ ꓪꓮꓣꓟ ꓐꓰꓓ",
        ),
        (
            english,
            "Tһ℮ ဝⅼd ⅿiⅼⅼeг lဝck℮ԁ һıs ԁoဝг, 𝚝oဝ𝓀 ɑ lɑⅿp ɑnԁ wɑⅼk℮ԁ ɑⅼoոg 𝚝һe гiѵ℮r 𝚝o ɑ ԁıs𝚝ɑn𝚝 tဝԝn, wһ℮r℮ hıꜱ yဝuոgeг bгဝtһ℮r ԝaꜱ fဝոd ဝf ɑ ԝɑrⅿ b℮ԁ",
        ),
        (
            russian,
            "Стaрый мҽльниκ зaпеρ двҽрь, взял ф𐐬наρь u п𐐬шёл вд𐐬ль рҽκи κ дaлёκомỿ г𐐬р𐐬ду, гдҽ жuл ҽг𐐬 млaдшuй брaт, больш𐐬й любuтель цuрκa u чaя",
        ),
    ];
    for (text, copy) in table {
        let again = undone(copy);
        let again = respelled(&again).expect("another spelling");
        assert_eq!(fold(again.text()), fold(text), "{copy}");
    }
}

#[test]
fn ordinary_texts_have_one_spelling() {
    let greek =
        "Και το τραγούδι της ήταν όμορφο, όταν ο άνεμος περνούσε από το παλιό χωριό. ".repeat(9);
    let polish =
        "Chrząszcz brzmi w trzcinie, a jeż i ważka idą wzdłuż ścieżki do młyna. ".repeat(9);
    let croatian =
        "Stari mlinar je zaključao vrata i krenuo uz rijeku prema dalekom gradu, gdje živi njegov brat. ".repeat(9);
    for text in [ENGLISH, RUSSIAN, &greek, &polish, &croatian] {
        assert!(respelled(&undone(text)).is_none(), "{text}");
    }
}

#[test]
fn gems_are_what_they_were() {
    let recorded = include_str!("../../tests/golden/hardened.tsv");
    let made = made();
    assert!(
        made == recorded,
        "the gems of hardened have changed; they are now\n{made}"
    );
}

fn made() -> String {
    let texts = [
        RUSSIAN.to_owned(),
        ENGLISH.to_owned(),
        format!("{RUSSIAN}\n\n{ENGLISH} ").repeat(40),
        numbered(),
    ];
    let mut lines = String::new();
    for (i, text) in texts.iter().enumerate() {
        for recipe in [
            Recipe::hardened(),
            Recipe::hardened_fine(),
            Recipe::hardened_compact(),
        ] {
            let gems = recipe.gems(text);
            let sum = gems
                .iter()
                .fold(0_u64, |sum, gem| sum.rotate_left(5) ^ gem.gem.0);
            let first: Vec<String> = gems
                .iter()
                .take(4)
                .map(|gem| recipe.write(gem.gem).to_string())
                .collect();
            let (name, count, first) = (recipe.name(), gems.len(), first.join(","));
            lines.extend([format!("{i}\t{name}\t{count}\t{sum:016x}\t{first}\n")]);
        }
    }
    lines
}

/// A long text without repetitions.
fn numbered() -> String {
    const SYLLABLES: [&str; 16] = [
        "ба", "ре", "ко", "сти", "лу", "мно", "гра", "чё", "pa", "tro", "sil", "ven", "mur", "dek",
        "lo", "ghi",
    ];
    let mut state = 1_u64;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let from = if state >> 63 == 0 { 0 } else { 8 };
        (0..4)
            .map(|i| SYLLABLES[from + (state >> (40 + 3 * i)) as usize % 8])
            .collect::<String>()
    };
    (0..5_000).map(|_| word() + " ").collect()
}

/// Different grams may have the same gem, of 32 bits; a query counts it once.
#[test]
fn no_gem_is_asked_for_twice() {
    let mut state = 1_u64;
    let mut word = || {
        state = mix(state);
        (0..8)
            .map(|i| char::from(b"blkmnrst"[(state >> (8 * i)) as usize % 8]))
            .chain([' '])
            .collect::<String>()
    };
    let text: String = (0..400_000).map(|_| word()).collect();
    let hardened = Hardened::new(Density::Compact, None);
    let gems = hardened.gems(&text);
    let distinct: HashSet<Gem> = gems.iter().map(|placed| placed.gem).collect();
    assert!(distinct.len() < gems.len(), "{} gems", gems.len());
    assert_eq!(hardened.probes_of(&undone(&text)).len(), distinct.len());
}

// ------------------------------------------------------------------------------------- naive implementation ----

/// The sounds of a text by their definition, with the ends of their letters: word by word, each in the script of most of
/// its letters.
fn sounds_plainly(text: &str) -> Vec<(char, usize)> {
    let readings = Readings::get();
    let all: Vec<(usize, char)> = text.char_indices().collect();
    let kind = |at: usize| {
        all.get(at)
            .map_or(ReadingKind::End, |(_, c)| readings.of(*c).kind())
    };
    let mut script = all
        .iter()
        .find_map(|(_, c)| readings.of(*c).script())
        .unwrap_or(Script::Latin);
    let mut sounds = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let (start, first) = all[at];
        match kind(at) {
            // A sign, and no sound next to it.
            ReadingKind::Sign => sounds.extend([(first, start + first.len_utf8()), (' ', 0)]),
            ReadingKind::Letter => {
                let (mut word, mut votes, mut hyphenated) = (Vec::new(), Votes::default(), false);
                while all.get(at).is_some_and(|(at, _)| at - start < 256) {
                    let was_hyphenated = std::mem::take(&mut hyphenated);
                    match kind(at) {
                        ReadingKind::Letter => votes.add(readings.of(all[at].1)),
                        ReadingKind::Ignored | ReadingKind::Joint => {}
                        ReadingKind::Hyphen => hyphenated = true,
                        ReadingKind::Blank | ReadingKind::Line if was_hyphenated => {
                            hyphenated = true;
                        }
                        ReadingKind::Digit => {
                            let digits = (at..all.len())
                                .take_while(|at| kind(*at) == ReadingKind::Digit)
                                .count();
                            if digits > 3 || kind(at + digits) != ReadingKind::Letter {
                                break;
                            }
                            // The last one is added below.
                            word.extend(&all[at..at + digits - 1]);
                            at += digits - 1;
                        }
                        _ => break,
                    }
                    word.push(all[at]);
                    at += 1;
                }
                script = votes.decide(script);
                for (at, c) in word {
                    let reading = readings.of(c);
                    if matches!(reading.kind(), ReadingKind::Letter | ReadingKind::Digit) {
                        let mut rest = reading.sounds(script);
                        // At least one, a vowel.
                        loop {
                            sounds.push((
                                char::from(b" PVKTSLMNRH"[(rest & 0xf) as usize]),
                                at + c.len_utf8(),
                            ));
                            rest >>= 4;
                            if rest == 0 {
                                break;
                            }
                        }
                    }
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    heard(sounds)
}

fn heard(mut sounds: Vec<(char, usize)>) -> Vec<(char, usize)> {
    // `h` is part of the consonant before it.
    let mut last = ' ';
    for (sound, _) in &mut sounds {
        last = match (*sound, last) {
            ('H', ' ') => 'K',
            ('H', last) => last,
            (sound, _) => sound,
        };
        *sound = last;
    }
    // Equal ones in a row are one, `ts` is `s`, and so is `sts`.
    let once = |sounds: &mut Vec<(char, usize)>| sounds.dedup_by_key(|(sound, _)| *sound);
    let first_of_ts = |sounds: &[(char, usize)]| {
        sounds
            .windows(2)
            .position(|two| two[0].0 == 'T' && two[1].0 == 'S')
    };
    once(&mut sounds);
    while let Some(at) = first_of_ts(&sounds) {
        sounds.remove(at);
    }
    once(&mut sounds);
    sounds.retain(|(sound, _)| *sound != ' ');
    sounds
}

/// The gems by their definition: for each symbol, the gram of the last ones that are enough; from every window of grams
/// the last of the smallest ranks, and the sixteen smallest of all, among those that can be selected.
fn plainly(text: &str, density: Density) -> Vec<PlacedGem> {
    let sounds = sounds_plainly(text);
    let symbols: Vec<Symbol> = sounds
        .iter()
        .map(|(sound, end)| Symbol::new(code_of(*sound), *end))
        .collect();
    let weight = |symbols: &[Symbol]| {
        symbols
            .iter()
            .map(|symbol| if symbol.code() < 16 { 1 } else { 3 })
            .sum::<usize>()
    };
    let mut grams = Vec::new();
    for end in 1..=symbols.len() {
        if let Some(start) = (0..end)
            .rev()
            .find(|start| weight(&symbols[*start..end]) >= 15)
        {
            let (mut of_part, mut last) = (Grams::new(&PUBLIC), None);
            of_part.take(&symbols[start..end], |grams| last = grams.last().copied());
            // Signs weigh more than sounds, so a gram may already end before the last symbol, even at the same letter.
            grams.push(last.filter(|gram: &Gram| gram.number + 1 == of_part.count()));
        }
    }
    let gem = |gram: Gram| {
        let start = text[..gram.first as usize]
            .char_indices()
            .next_back()
            .map_or(0, |(start, _)| start as u64);
        PlacedGem {
            gem: gram.gem(&PUBLIC, density.gem_bits()),
            place: Some(Place {
                start,
                end: gram.last,
            }),
        }
    };
    selected_plainly(&grams, density.window() as usize)
        .into_iter()
        .map(gem)
        .collect()
}

/// Those selected of some grams; of those that cannot be selected nothing is known.
fn selected_plainly(grams: &[Option<Gram>], window: usize) -> Vec<Gram> {
    let mut selected = vec![false; grams.len()];
    for (from, some) in grams.windows(window).enumerate() {
        let ranks = some
            .iter()
            .enumerate()
            .rev()
            .filter_map(|(i, gram)| Some((i, gram.as_ref()?.rank)));
        if let Some((smallest, _)) = ranks.min_by_key(|(_, rank)| *rank) {
            selected[from + smallest] = true;
        }
    }
    let mut ranks: Vec<u64> = grams.iter().flatten().map(|gram| gram.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks.truncate(16);
    let mut all: Vec<Gram> = Vec::new();
    for (gram, selected) in grams.iter().zip(selected) {
        let Some(gram) = gram else { continue };
        let seen = all.iter().any(|other| other.rank == gram.rank);
        // A gem has the place where it is first selected, or if it is among the smallest, its first place.
        if !seen && (selected || ranks.contains(&gram.rank)) {
            all.push(Gram { number: 0, ..*gram });
        }
    }
    all
}

/// Texts of all that matters to the sounds, with runs long enough for each way of reading.
fn mixed() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-z ,.]{0,60}",
        4 => "[а-яё ,.]{0,60}",
        2 => "[a-zа-я]{0,3}[0-9@$]{1,4}[a-zа-я]{0,3} ?",
        1 => "[\u{200b}\u{ad}\u{301}'-]{0,20}",
        1 => "([a-zа-я]{1,9}(-\r?\n|\u{ad}|-| -) ?){0,9}",
        1 => "[ａｂｃ𝓹𝕔ⓟ🄲중あａж\u{200c}\u{2060}\u{feff}⁴ ]{0,30}",
        1 => "[a-zа-яά-ω中ոɐǝxщ—“”é]{0,30}",
        1 => "(sts|tts|shch|hh|тс|stsh| ){0,9}",
        1 => "[a-z-]{500,700}",
        1 => "[а-яa]{500,700}",
        1 => "[-'\u{ad}]{4000,5000}",
        1 => any::<String>(),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

/// The gems of a text and of its end are the same, whatever signs and letters there are before.
#[test]
fn what_is_before_changes_no_gem() {
    let end = numbered();
    let all = Recipe::hardened_fine().gems(&end);
    for before in [
        "中",
        "中文 word",
        "中文字 слово 中文字中文 word",
        "word 中 letters and more letters of words 中文字",
    ] {
        let after: HashSet<Gem> = Recipe::hardened_fine()
            .gems(&format!("{before} {end}"))
            .iter()
            .map(|gem| gem.gem)
            .collect();
        let kept = all.iter().filter(|gem| after.contains(&gem.gem)).count();
        assert!(kept + 2 >= all.len(), "{before}: {kept} of {}", all.len());
    }
}

/// Texts of few different words, so that grams repeat.
fn prose() -> impl Strategy<Value = String> {
    let word = prop_oneof![russian(), english()];
    proptest::collection::vec(word, 0..400).prop_map(|words| words.concat())
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
        for recipe in Density::ALL.map(|density| Hardened::new(density, None)) {
            prop_assert_eq!(recipe.gems(&text), plainly(&text, recipe.density()));
        }
    }

    /// Even if there are few small ranks, or equal ones.
    #[test]
    fn any_grams_are_selected_as_defined(
        ranks in proptest::collection::vec(
            prop_oneof![4 => Just(None), 1 => (0..u64::MAX).prop_map(Some), 2 => (u64::MAX - 30..u64::MAX).prop_map(Some)],
            0..500,
        ),
        large in proptest::collection::vec(u64::MAX / 3 * 2..u64::MAX, 0..500),
        at_once in 1_usize..99,
    ) {
        for ranks in [ranks, large.into_iter().map(Some).collect()] {
            let place = |i: usize| i as u64 + 1;
            let gram = |(i, rank): (usize, &Option<u64>)| {
                rank.map(|rank| Gram { number: i as u64, rank, first: place(i), last: place(i) })
            };
            let grams: Vec<Option<Gram>> = ranks.iter().enumerate().map(gram).collect();
            let eligible: Vec<Gram> = grams.iter().flatten().copied().collect();
            for window in [184, 60, 15] {
                let mut selection = Selection::new(window, 16);
                eligible.chunks(at_once).for_each(|grams| selection.take(grams));
                let selected = selection.finish(grams.len() as u64).into_iter().map(|gram| Gram { number: 0, ..gram });
                prop_assert_eq!(selected.collect::<Vec<_>>(), selected_plainly(&grams, window as usize));
            }
        }
    }

    #[test]
    fn no_text_panics_and_places_are_of_the_text(text in any::<String>()) {
        for (symbol, Place { start, end }) in Hardened::folded(&text) {
            assert!(start < end && text.get(start as usize..end as usize).is_some(), "{symbol} at {start} of {text:?}");
        }
        let recipe = Hardened::new(Density::Fine, None);
        let undone = undone(&text);
        let guessed = unscrambled(undone.text(), 1, &PUBLIC).into_iter();
        let guessed = guessed.map(|gram| recipe.gem(gram, &undone));
        for gem in Recipe::hardened_fine().gems(&text).into_iter().chain(guessed) {
            let Place { start, end } = gem.place.expect("gems of texts have places");
            assert!(start < end && text.get(start as usize..end as usize).is_some(), "{start}..{end} of {text:?}");
        }
    }

    /// Whatever is read many characters at a time, one by one, or again.
    #[test]
    fn sounds_are_as_defined(text in mixed()) {
        let mut all = Vec::new();
        symbols(&text, |symbols| all.extend(symbols.iter().map(|symbol| (symbol.shown(), symbol.end() as usize))));
        prop_assert_eq!(all, sounds_plainly(&text));
    }

    #[test]
    fn gems_are_as_defined(text in mixed()) {
        let undone = undone(&text);
        prop_assume!(undone.text() == text);
        for recipe in Density::ALL.map(|density| Hardened::new(density, None)) {
            prop_assert_eq!(recipe.gems(&text), plainly(&text, recipe.density()));
        }
    }

    #[test]
    fn one_sound_is_put_right(text in "[bvgdslmnr ]{15,60}") {
        let mut sounds = Vec::new();
        symbols(&text, |symbols| sounds.extend_from_slice(symbols));
        let codes: Vec<u32> = sounds.iter().map(|symbol| symbol.code()).collect();
        let mut found = HashSet::new();
        mend_sounds(&sounds, u64::MAX, &PUBLIC, |gram| {
            found.insert(gram.rank);
        });
        prop_assert_eq!(found, mended_plainly(&codes));
    }

    #[test]
    fn words_are_read_in_all_orders(
        words in proptest::collection::vec("[bplmnrvgao]{1,4}|[bdlmnraoe]{5}|[aolm]{2}t|s[aolm]{2}|h[ao]l", 6..9),
    ) {
        let text = words.join(" ");
        let found = in_all_orders(&text, 1, &PUBLIC, 1 << 40, 720);
        let found: HashSet<u64> = found.iter().map(|gram| gram.rank).collect();
        prop_assert_eq!(found, unscrambled_plainly(&words));
    }

    /// Another spelling adds probes: nothing that is put into a copy takes those away that find the book.
    #[test]
    fn respelling_takes_no_probe_away(text in "([a-zа-я1|. ꓮ-ꓴaаoоjfщф]{1,9}|[A-Z][a-z][A-Z]3 ){0,200}") {
        let hardened = Hardened::new(Density::Fine, None);
        let as_it_is = hardened.probes_of(&undone(&text));
        let all: HashSet<Gem> = hardened.probes(&text).iter().map(|probe| probe.placed.gem).collect();
        prop_assert!(as_it_is.iter().all(|probe| all.contains(&probe.placed.gem)));
        for Probe { placed, .. } in hardened.probes(&text) {
            let place = placed.place.expect("a place");
            prop_assert!(text.get(place.start as usize..place.end as usize).is_some());
        }
    }

    #[test]
    fn undone_disguises_have_places(text in "([a-c<>/&#;x0-9ǝɐ\u{202e}\u{202c}é .]|&#[0-9]{2,4};|<[a-z/]{1,3}>){0,300}") {
        for (_, Place { start, end }) in Hardened::folded(&text) {
            prop_assert!(start < end && text.get(start as usize..end as usize).is_some());
        }
    }

    /// A gem's place covers exactly the sounds that it was made of.
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
            let alone = Recipe::hardened().gems(part);
            prop_assert_eq!(alone.iter().map(|gem| gem.gem).collect::<Vec<_>>(), [gem], "{}", part);
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
        prop_assume!(respelled(&undone(&text)).is_none());
        let fine = gems(&text);
        prop_assert!(Recipe::hardened().gems(&text).iter().all(|gem| fine.contains(&gem.gem)));
        for recipe in [Recipe::hardened(), Recipe::hardened_fine(), Recipe::hardened_compact()] {
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

/// The ranks of the grams with one sound put right, of all but the last gram.
fn mended_plainly(codes: &[u32]) -> HashSet<u64> {
    let mut variants = Vec::new();
    for gram in codes.windows(16) {
        for at in 0..15 {
            for code in 1..=9 {
                let mut replaced = gram[..15].to_vec();
                replaced[at] = code;
                if code != gram[at] {
                    variants.push(replaced);
                }
                let mut inserted = gram[..14].to_vec();
                inserted.insert(at.clamp(1, 13), code);
                variants.push(inserted);
            }
            let mut left_out = gram.to_vec();
            left_out.remove(at.max(1));
            variants.push(left_out);
        }
    }
    let is_heard = |variant: &Vec<u32>| variant.is_sorted_by(|one, next| one != next);
    let sum = |variant: Vec<u32>| {
        variant.iter().fold(0_u64, |sum, code| {
            sum.wrapping_mul(PUBLIC.base)
                .wrapping_add(PUBLIC.number(*code))
        })
    };
    let variants = variants.into_iter().filter(is_heard).map(sum);
    variants.filter(|sum| is_eligible(*sum)).map(mix).collect()
}

/// With each so-manieth consonant wrong.
pub(super) fn with_wrong_letters(text: &str, each: usize) -> String {
    let mut count = 0;
    let wrong = |letter: char| {
        let alphabet = if letter.is_ascii() {
            "bdfgklmnprstv"
        } else {
            "бдфгклмнпрств"
        };
        let Some(at) = alphabet.chars().position(|one| one == letter) else {
            return letter;
        };
        count += 1;
        let others = alphabet.chars().cycle().skip(at + 1 + count / each % 9);
        if count % each == 0 {
            others.take(1).collect::<Vec<_>>()[0]
        } else {
            letter
        }
    };
    text.chars().map(wrong).collect()
}

#[test]
fn wrong_letters_are_put_right() {
    let hardened = Hardened::new(Density::Coarse, None);
    for name in [
        "the-tell-tale-heart",
        "the-masque-of-the-red-death",
        "the-cask-of-amontillado",
    ] {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/case/");
        let text = std::fs::read_to_string(format!("{path}{name}.txt")).expect("a text");
        assert_eq!(misspelling(&text), None, "{name}");
        let wrong = with_wrong_letters(&text, 11);
        let alike = misspelling(&wrong.replace('a', "а"));
        assert_eq!(alike, None, "{name}: look-alikes");
        let of_book = hardened.gems(&text);
        let count = |probes: Vec<Probe>| {
            let probes: HashSet<Gem> = probes.iter().map(|probe| probe.placed.gem).collect();
            of_book
                .iter()
                .filter(|gem| probes.contains(&gem.gem))
                .count()
        };
        for (wrong, is) in [
            (wrong, Misspelling::WrongLetters),
            (scrambled(&text), Misspelling::ScrambledLetters),
        ] {
            assert_eq!(misspelling(&wrong), Some(is), "{name}");
            let [before, now] =
                [hardened.probes_of(&undone(&wrong)), hardened.probes(&wrong)].map(count);
            assert!(
                6 * before < of_book.len() && 3 * now > of_book.len(),
                "{name}, {is:?}: {before}, {now} of {}",
                of_book.len()
            );
        }
        let of_book: Vec<Gem> = of_book.iter().map(|placed| placed.gem).collect();
        let more = |text: &str| hardened.probes_of_books(text, || Ok::<_, ()>(of_book.clone()));
        let found = more(&with_wrong_letters(&text, 11)).map(count);
        assert!(found > Ok(of_book.len() / 2), "{name}: {found:?}");
        let of_right = hardened.probes_of_books(&text, || Err("called"));
        assert_eq!(of_right, Ok(Vec::new()), "{name}");
    }
}

#[test]
fn names_and_common_words_are_not_misspelled() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/case/the-tell-tale-heart.txt"
    );
    let text = std::fs::read_to_string(path).expect("a text");
    let words: Vec<&str> = text.split_whitespace().collect();
    let with = |word: &str| {
        let parts: Vec<String> = words.chunks(10).map(|some| some.join(" ")).collect();
        misspelling(&parts.join(&format!(" {word} ")))
    };
    // They look like “might”, “what”, and “with”, but for a vowel.
    for right in ["night", "Whas", "wath"] {
        assert_eq!(with(right), None, "{right}");
    }
    assert_eq!(with("whas"), Some(Misspelling::WrongLetters));

    let mut before = ' ';
    let capitalized: String = with_wrong_letters(&text, 14)
        .chars()
        .map(|c| {
            let is_first = !before.is_alphabetic();
            before = c;
            if is_first { c.to_ascii_uppercase() } else { c }
        })
        .collect();
    assert_eq!(
        misspelling(&capitalized),
        Some(Misspelling::WrongLetters),
        "words that all begin with a capital are no names"
    );
}

/// Languages whose frequent words are in no list have some that look like those of another.
#[test]
fn words_of_other_languages_are_not_misspelled() {
    let table = [
        (
            "Latin",
            "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae, aliam Aquitani, tertiam qui ipsorum lingua \
             Celtae, nostra Galli appellantur. Hi omnes lingua, institutis, legibus inter se differunt. Gallos ab Aquitanis \
             Garumna flumen, a Belgis Matrona et Sequana dividit. Horum omnium fortissimi sunt Belgae, propterea quod a cultu \
             atque humanitate provinciae longissime absunt, minimeque ad eos mercatores saepe commeant atque ea quae ad \
             effeminandos animos pertinent important, proximique sunt Germanis, qui trans Rhenum incolunt, quibuscum continenter \
             bellum gerunt.",
        ),
        (
            "Dutch",
            "Ik ben makelaar in koffi, en woon op de Lauriergracht, No 37. Het is mijn gewoonte niet, romans te schrijven, of \
             zulke dingen, en het heeft dan ook lang geduurd, voor ik er toe overging een paar riem papier extra te bestellen, \
             en het werk aan te vangen, dat gij, lieve lezer, zoo-even in de hand hebt genomen, en dat ge lezen moet als ge \
             makelaar in koffi zijt, of als ge wat anders zijt.",
        ),
        (
            "Afrikaans",
            "Die kinders het onder die groot boom gesit en gewag tot die son weg was. Hulle het nie geweet waar die pad heen \
             loop nie, maar die oudste het gesê dat hulle eers moet eet. Daar was brood, melk en ’n bietjie heuning. Toe dit \
             donker word, kon hulle die see hoor, en een van hulle het begin sing, want sonder ’n lied sou niemand slaap nie.",
        ),
    ];
    for (language, text) in table {
        assert_eq!(misspelling(&text.repeat(20)), None, "{language}");
    }
}

/// A text with the inner letters of each word in another order.
fn scrambled(text: &str) -> String {
    let mut scrambled = String::new();
    for word in text.split_inclusive(|c: char| !c.is_alphabetic()) {
        let letters = word.trim_end_matches(|c: char| !c.is_alphabetic());
        scrambled += &with_inner_letters_sorted(letters);
        scrambled += &word[letters.len()..];
    }
    scrambled
}

/// The ranks of the grams of these words with the inner letters of each in all orders.
fn unscrambled_plainly(words: &[String]) -> HashSet<u64> {
    let mut texts = vec![String::new()];
    for word in words {
        let letters: Vec<char> = word.chars().collect();
        let orders = orders_of(&letters[1..letters.len().max(2) - 1]);
        let with = |text: &String| -> Vec<String> {
            let spelled = orders.iter().map(|inner| {
                let last = letters[1..].last().copied();
                let word = letters[..1].iter().chain(inner).copied().chain(last);
                format!("{text}{} ", word.collect::<String>())
            });
            spelled.collect()
        };
        texts = texts.iter().flat_map(with).collect();
    }
    let mut ranks = HashSet::new();
    for text in texts {
        let mut grams = Grams::new(&PUBLIC);
        symbols(&text, |symbols| {
            grams.take(symbols, |grams| {
                ranks.extend(grams.iter().map(|gram| gram.rank));
            });
        });
    }
    ranks
}

fn orders_of(letters: &[char]) -> HashSet<Vec<char>> {
    if letters.is_empty() {
        return HashSet::from_iter([Vec::new()]);
    }
    let mut orders = HashSet::new();
    for at in 0..letters.len() {
        let mut rest = letters.to_vec();
        let first = rest.remove(at);
        for mut order in orders_of(&rest) {
            order.insert(0, first);
            orders.insert(order);
        }
    }
    orders
}

/// A letter of the other script that looks the same.
fn look_alike(c: char) -> Option<char> {
    let pairs = "аaеeоoрpсcуyхxкkмmтt";
    let letters: Vec<char> = pairs.chars().collect();
    let at = letters.iter().position(|letter| *letter == c)?;
    letters.get(at ^ 1).copied()
}

/// Two texts have the same gems in common with a secret as without, and no gem is that of another secret.
#[test]
fn a_secret_changes_the_numbers_only() {
    let secret = |byte| Secret::new([byte; 32]);
    let recipes = [7, 8].map(|byte| {
        let recipe = Recipe::hardened_fine().with_secret(&secret(byte));
        recipe.expect("it is hardened")
    });
    let of = |recipe: &Recipe, text: &str| -> HashSet<Gem> {
        recipe.gems(text).iter().map(|placed| placed.gem).collect()
    };
    let disguised = ENGLISH.to_uppercase().replace(' ', "-");
    for recipe in &recipes {
        assert_eq!(of(recipe, ENGLISH), of(recipe, &disguised));
        let folded = recipe.folded(ENGLISH, |place| place).expect("it folds");
        assert_eq!(recipe.recut(&folded), Some(recipe.gems(ENGLISH)));
    }
    let [one, other] = &recipes;
    assert!(of(one, ENGLISH).is_disjoint(&of(other, ENGLISH)));
    assert!(of(one, ENGLISH).is_disjoint(&of(&Recipe::hardened_fine(), ENGLISH)));
    let coarse = Recipe::hardened()
        .with_secret(&secret(7))
        .expect("it is hardened");
    assert!(of(&coarse, RUSSIAN).is_subset(&of(one, RUSSIAN)));
}

/// What a secret means never changes: catalogues have gems of it.
#[test]
fn the_gems_of_a_secret() {
    let recipe = Recipe::hardened()
        .with_secret(&Secret::new([7; 32]))
        .expect("it is hardened");
    assert_eq!(recipe.name().as_str(), "hardened@11a0f6fa");
    let first: Vec<String> = recipe
        .gems(ENGLISH)
        .iter()
        .take(3)
        .map(|placed| recipe.write(placed.gem).to_string())
        .collect();
    assert_eq!(
        first,
        ["0000b9fde99327d3", "0000b995a35b1cf7", "00006c9868287a49"]
    );
    let written = serde_json::to_string(&recipe).expect("plain data");
    assert_eq!(
        serde_json::from_str::<Recipe>(&written).expect("as written"),
        recipe
    );
    assert!(written.contains(&"07".repeat(32)));
    assert!(format!("{recipe:?}").contains("(Secret(…), Constants(…))"));
    assert_eq!(
        Recipe::documented().with_secret(&Secret::new([7; 32])),
        None
    );
}
