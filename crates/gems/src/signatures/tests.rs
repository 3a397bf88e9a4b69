//! What shows only from inside, and what holds for any text.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde_json::Value;

use super::hash::Charset;
use super::method::SignatureMethod;
use super::runs::winnowed;
use super::sentences::sentences;
use super::text::cleaned;
use super::words::{Filter, SignatureWords, StopList, TextWords, words};
use super::{Lexicon, LexiconCount, LexiconWords, METHODS, Signature};
use crate::Recipe;

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    fs::read(path).expect("the golden file is part of the project")
}

fn lexicon() -> Arc<Lexicon> {
    let written = String::from_utf8(golden("signatures.lexicon.tsv")).expect("UTF-8");
    Arc::new(written.parse().expect("a lexicon"))
}

/// Each method as it is named, by paragraph, and with 32 bits.
fn all(lexicon: &Arc<Lexicon>) -> Vec<Signature> {
    let names = METHODS.iter().flat_map(|method| {
        ["", ";unit=paragraph", ";bits=32"].map(|more| format!("{method}{more}"))
    });
    names
        .map(|name| Signature::named(&name, Some(lexicon)).expect("a signature"))
        .collect()
}

#[test]
fn sentences_are_as_in_the_reference() {
    let mut lines = String::new();
    GzDecoder::new(&golden("signatures.jsonl.gz")[..])
        .read_to_string(&mut lines)
        .expect("gzip of UTF-8");
    let cases = lines.split('\n').filter(|line| !line.is_empty());
    let cases = cases.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut compared = 0;
    for case in cases.filter(|case| case["method"] == "sentences") {
        let joined = |sentence: &str| {
            let mut all: Vec<String> = Vec::new();
            words(sentence, |word, _| all.push(word.to_owned()));
            (!all.is_empty()).then(|| all.join(" "))
        };
        let text = cleaned(case["text"].as_str().expect("a text"));
        let of = |paragraph: &&str| sentences(paragraph).filter_map(joined).collect::<Vec<_>>();
        let is: Vec<Vec<String>> = text
            .paragraphs()
            .map(|(paragraph, _)| of(&paragraph))
            .collect();
        assert_eq!(serde_json::json!(is), case["signature"], "{case}");
        compared += 1;
    }
    assert!(compared > 20);
}

#[test]
fn characters_newer_than_unicode_14_are_not_of_words() {
    let sum = Signature::named("sum", None).expect("a signature");
    // A format character and a letter of Unicode 15, one of Unicode 14, and one that stays unassigned and ignorable.
    for (text, strings) in [
        ("a\u{13439}b", "a b"),
        ("a\u{1b132}b", "a b"),
        ("a\u{1dfb}b", "a\u{1dfb}b"),
        ("a\u{e0002}b", "ab"),
    ] {
        assert_eq!(sum.strings(text), [strings], "{text:?}");
    }
}

/// Of every window the least hash, the last of several, as the definition says.
fn winnowed_plainly(words: &SignatureWords, k: usize, w: usize) -> Vec<String> {
    let runs: Vec<&str> = words.runs(k).collect();
    let windows = if runs.is_empty() {
        0
    } else {
        runs.len().saturating_sub(w) + 1
    };
    let least = |start: usize| {
        let window = start..(start + w).min(runs.len());
        window.min_by_key(|place| (Charset::Utf8.crc32(runs[*place]), usize::MAX - place))
    };
    let mut places: Vec<usize> = (0..windows).filter_map(least).collect();
    places.dedup();
    places
        .into_iter()
        .map(|place| runs[place].to_owned())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_a_bounded_number_of_distinct_gems(
        text in "([a-zа-я]{0,7}['ё\u{301}\u{ad}-]{0,2}[ \n.!?。»(]{0,2}|\\PC{0,3}){0,150}",
    ) {
        let lexicon = lexicon();
        let characters = cleaned(&text).text().chars().count();
        for signature in all(&lexicon) {
            let gems = signature.gems(&TextWords::of(&text));
            let strings = signature.strings(&text);
            prop_assert_eq!(&gems, &signature.gems(&TextWords::of(&text)));
            prop_assert!(gems.len() <= strings.len() && strings.is_empty() == gems.is_empty());
            let mut distinct: Vec<u64> = gems.iter().map(|placed| placed.gem.0).collect();
            prop_assert!(distinct.iter().all(|gem| signature.gem_bits() == 64 || gem >> 32 == 0));
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), gems.len());
            let most = match signature.method {
                SignatureMethod::Sum | SignatureMethod::Top { .. } | SignatureMethod::Sentences { .. } | SignatureMethod::FullText { .. } => 1,
                SignatureMethod::NBlocks { .. } => 4,
                SignatureMethod::IMatch(_) => 11,
                SignatureMethod::MegaShingles { .. } => 15,
                SignatureMethod::Set(_) => 3,
                _ => characters,
            };
            let texts = if signature.by_paragraph { cleaned(&text).paragraphs().count() } else { 1 };
            prop_assert!(gems.len() <= most * texts, "{}: {}", signature.name(), gems.len());
        }
    }

    #[test]
    fn any_text_at_all(text in any::<String>()) {
        let lexicon = lexicon();
        for signature in all(&lexicon) {
            prop_assert_eq!(signature.gems(&TextWords::of(&text)), signature.gems(&TextWords::of(&text)));
        }
    }

    #[test]
    fn winnowing_is_as_defined(text in "([ab] ){0,60}", k in 1..4_usize, w in 1..9_usize) {
        let all = TextWords::of(&text);
        let words = all.kept(all.whole(), Filter::new(StopList::None, 1));
        let mut is = Vec::new();
        winnowed(&words, k, w, Charset::Utf8, &mut |run| is.push(run.to_owned()));
        prop_assert_eq!(is, winnowed_plainly(&words, k, w));
    }

    #[test]
    fn any_words_have_stems(text in "([a-zäöüßàéèçñøåа-яа-яα-ωάέή\u{600}-\u{6ff}\u{b80}-\u{bff}]{1,9} ){1,20}|\\PC{0,40}") {
        for language in "ar da de el en es fi fr hu it nl no pt ro ru sv ta tr".split(' ') {
            let name = format!("sum;stem=snowball:{language}");
            Signature::named(&name, None).expect("a language").gems(&TextWords::of(&text));
        }
    }

    #[test]
    fn any_lexicon_and_any_name_are_read_or_refused(written in "\\PC{0,60}", name in "[a-z=;@+0-9-]{0,30}") {
        let _ = written.parse::<Lexicon>();
        let head = "lapidary-lexicon 1\ndocuments 3\nwords 40\nstem none\nstop none\nmin_len 1\n";
        let _ = format!("{head}{}", written.replace(' ', "\t").replace('x', "\n")).parse::<Lexicon>();
        let _ = name.parse::<Recipe>();
    }
}

#[test]
fn a_name_has_each_unusual_parameter_once_in_alphabetical_order() {
    let lexicon = lexicon();
    let table = [
        ("tf", "tf"),
        ("tf;n=6", "tf"),
        ("winnow;w=7;k=05", "winnow;k=5"),
        (
            "winnow;stop=none;charset=windows-1251;bits=32",
            "winnow;bits=32;charset=windows-1251;stop=none",
        ),
        ("long-sent;n=16;join=false", "long-sent;join=false;n=16"),
        ("tf-idf", "tf-idf@46b"),
        ("tf-idfopt;opt=2", "tf-idfopt;opt=2.0@46b"),
        ("set;members=tf+i-match", "set;members=tf+i-match@46b"),
        ("set;members=sum+tf+long-sent", "set"),
        ("tf;unit=paragraph;min_words=8", "tf;unit=paragraph"),
        ("tf;stem=snowball:ru", "tf;stem=snowball:ru"),
    ];
    for (given, expected) in table {
        let expected = expected.replace("46b", lexicon.name());
        let signature = Signature::named(given, Some(&lexicon)).expect(given);
        assert_eq!(signature.name(), expected);
        assert_eq!(
            Signature::named(&expected, Some(&lexicon)).expect("its own name"),
            signature
        );
    }
}

#[test]
fn names_that_mean_nothing_are_refused() {
    let lexicon = lexicon();
    let table = [
        ("tff", "no such method"),
        ("tf;", "'' is not a parameter"),
        ("tf;n", "'n' is not a parameter"),
        ("tf;n=0", "there is no n=0"),
        ("tf;n=4;n=4", "'n' is given twice"),
        (
            "tf;k=4",
            "tf has no parameter 'k', only bits, charset, min_len, min_words, n, stem, stop, unit",
        ),
        ("tf;stem=snowball:uk", "there is no stem=snowball:uk"),
        ("tf;stem=prefix:0", "there is no stem=prefix:0"),
        ("tf-idfopt;opt=nan", "there is no opt=nan"),
        ("tf@0123456789abcdef", "tf needs no lexicon"),
        (
            "tf-idf@0123456789abcdef",
            "it needs the lexicon 0123456789abcdef, but the given one is",
        ),
        ("tf-idf;stop=none", "the lexicon determines the words"),
        ("set;members=tf+set", "there is no members=tf+set"),
        ("set;members=tf+tf", "there is no members=tf+tf"),
        ("set;stop=closed", "set has no parameter 'stop', only"),
    ];
    for (name, why) in table {
        let refused = Signature::named(name, Some(&lexicon))
            .expect_err(name)
            .to_string();
        assert!(refused.contains(why), "{name}: {refused}");
    }
    let without = Signature::named("heavy-sent", None)
        .expect_err("no lexicon")
        .to_string();
    assert!(without.contains("--lexicon FILE"), "{without}");
}

#[test]
fn a_lexicon_is_refused_with_its_line() {
    let head = "lapidary-lexicon 1\ndocuments 3\nwords 9\nstem none\nstop none\nmin_len 1\n";
    let table = [
        (String::new(), "line 1"),
        (head.replace("documents 3", "documents 0"), "line 2"),
        (head.replace("words 9", "words +9"), "line 3"),
        (head.replace("stem none", "stem snowball:xx"), "line 4"),
        (head.replace("min_len 1", "min_len x"), "line 6"),
        (head.trim_end().to_owned(), "line 6"),
        (format!("{head}b\t2\t2\na\t2\t2\n"), "line 8"),
        (format!("{head}a\t4\t4\n"), "line 7"),
        (format!("{head}a\t2\n"), "line 7"),
        (format!("{head}a\t2\t2"), "line 7"),
    ];
    for (written, line) in table {
        let refused = written.parse::<Lexicon>().expect_err(&written).to_string();
        assert!(refused.contains(line), "{written:?}: {refused}");
    }
    assert!(format!("{head}a\t2\t2\n").parse::<Lexicon>().is_ok());
}

#[test]
fn a_definition_comes_back_with_its_lexicon() {
    let words = LexiconWords::new("none", "prefix:4", 2).expect("words");
    let mut count = LexiconCount::new(words);
    count.add(words.of("one treasure lay here"));
    count.add(words.of("another treasure lay there"));
    let lexicon: Arc<Lexicon> = Arc::new(count.finish().parse().expect("a lexicon"));
    for name in ["tf-ridf", "winnow;bits=32"] {
        let recipe = Recipe::signature(name, Some(&lexicon)).expect("a recipe");
        let written = serde_json::to_string(&recipe).expect("plain data");
        let read: Recipe = serde_json::from_str(&written).expect("what was written");
        let text = "the treasure lay over there, treasure of one";
        assert_eq!((read.gems(text), &read), (recipe.gems(text), &recipe));
    }
    let bare = format!("{{\"name\":\"tf-ridf@{}\"}}", lexicon.name());
    assert!(
        serde_json::from_str::<Recipe>(&bare).is_err(),
        "a lexicon is part of the definition"
    );
}

#[test]
fn stems_of_the_texts_own_language() {
    let gems = |name: &str, text: &str, language: Option<&str>| {
        let recipe = Recipe::signature(name, None).expect("a recipe");
        recipe
            .gems_of_words(&TextWords::of(text).in_language(language))
            .expect("a signature")
    };
    let (own, none) = ("sum;stem=snowball", "sum");
    let german = "Die Häuser und die Gärten der alten Stadt waren nicht für alle.";
    let russian = "Старые дома и сады города были не для всех.";
    // Detected, by the words of closed classes.
    assert_eq!(
        gems(own, german, None),
        gems("sum;stem=snowball:de", german, None)
    );
    assert_eq!(
        gems(own, russian, None),
        gems("sum;stem=snowball:ru", russian, None)
    );
    assert_ne!(gems(own, german, None), gems(none, german, None));
    assert_eq!(
        gems(own, "Häuser Gärten", None),
        gems(none, "Häuser Gärten", None),
        "nothing shows the language"
    );
    assert_eq!(gems(own, "", None), []);
    // What is known goes before, however it is written.
    let swedish = gems("sum;stem=snowball:sv", german, None);
    for tag in ["sv", "SV", "sv-SE", "sv_FI", "swe"] {
        assert_eq!(gems(own, german, Some(tag)), swedish, "{tag}");
    }
    for tag in ["ger", "deu", "de-AT", "und", "mul", "", "German", "-"] {
        assert_eq!(
            gems(own, german, Some(tag)),
            gems(own, german, None),
            "{tag}"
        );
    }
    assert_eq!(
        gems(own, russian, Some("uk")),
        gems(none, russian, None),
        "Ukrainian has no stemmer"
    );
    for language in ["no", "nb", "nno"] {
        assert_eq!(
            gems(own, german, Some(language)),
            gems("sum;stem=snowball:no", german, None)
        );
    }
    // Others do not depend on it.
    assert_eq!(
        gems("sum;stem=snowball:en", german, Some("de")),
        gems("sum;stem=snowball:en", german, None)
    );
    assert_eq!(
        Recipe::signature(own, None)
            .expect("a recipe")
            .name()
            .as_str(),
        own
    );
}

/// Texts of a language with a closed class in the list, and a stemmer, are found to be of it.
#[test]
fn languages_are_detected() {
    for (language, text) in [
        ("en", "It was the best of times, it was the worst of times."),
        (
            "fr",
            "Longtemps, je me suis couché de bonne heure, et il y avait dans la maison une chambre.",
        ),
        (
            "es",
            "En un lugar de la Mancha, de cuyo nombre no quiero acordarme, no ha mucho tiempo que vivía un hidalgo.",
        ),
        (
            "it",
            "Nel mezzo del cammin di nostra vita mi ritrovai per una selva oscura, ché la diritta via era smarrita.",
        ),
        (
            "pt",
            "Não consultes médicos, nem os que já o são, porque ele não sabe o que você tem.",
        ),
        (
            "el",
            "Και όταν ήρθε η ώρα, δεν είχε κανείς να του πει για το σπίτι.",
        ),
    ] {
        let gems = |stem: &str| {
            let recipe = Recipe::signature(&format!("sum;stem={stem}"), None).expect("a recipe");
            recipe.gems(text)
        };
        assert_eq!(
            gems("snowball"),
            gems(&format!("snowball:{language}")),
            "{language}"
        );
        assert_ne!(gems("snowball"), gems("none"), "{language}");
    }
}

/// The words of a text, without its sentences.
fn words_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (paragraph, _) in cleaned(text).paragraphs() {
        for sentence in sentences(paragraph) {
            words(sentence, |word, _| found.push(word.to_owned()));
        }
    }
    found
}

proptest! {
    /// What is where a paragraph is said to be has its words, whatever was removed in it.
    #[test]
    fn paragraphs_are_where_they_are_said_to_be(
        text in "([aé中]{1,5}[ .-]{0,2}|\\PC|\n|\r|\r\n|\u{2028}|\u{c}|\n12\n|-\n|\u{ad}\n\n|[a-z ]{130}|\u{200b}){0,40}",
    ) {
        let mut end = 0;
        for (paragraph, place) in cleaned(&text).paragraphs() {
            let mut is = Vec::new();
            sentences(paragraph).for_each(|sentence| words(sentence, |word, _| is.push(word.to_owned())));
            prop_assert!(end <= place.start && place.start < place.end);
            end = place.end;
            prop_assert_eq!(words_of(&text[place.start as usize..place.end as usize]), is);
        }
    }
}

#[test]
fn the_only_gem_of_a_paragraph_has_its_place() {
    let one = "One two three four five six seven eight nine.";
    let two = "Ten eleven twelve thir-\nteen fourteen fifteen six-\r\n17\r\nteen seventeen.";
    let text = format!("{one}\n\n\n{two}\nshort\n\n{one}\n");
    let places = |name: &str| -> Vec<Option<&str>> {
        let recipe = Recipe::signature(name, None).expect("a recipe");
        let of = |place: crate::Place| &text[place.start as usize..place.end as usize];
        recipe
            .gems(&text)
            .iter()
            .map(|placed| placed.place.map(of))
            .collect()
    };
    let second = format!("{two}\nshort");
    assert_eq!(
        places("sum;unit=paragraph"),
        [Some(one), Some(second.as_str())]
    );
    assert_eq!(places("sum"), [None]);
    assert!(
        places("shingles;k=3;unit=paragraph")
            .iter()
            .all(Option::is_none)
    );
    assert!(
        places("set;members=sum+tf;unit=paragraph")
            .iter()
            .all(Option::is_none)
    );
}
