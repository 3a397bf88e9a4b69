use proptest::prelude::*;

use super::characters::CharacterClass;
use super::scan::{Suspect, scan};
use super::word::read;
use super::{Signs, Trick};

/// The counts in the order of [`Trick::ALL`].
fn counts(text: &str) -> [u64; Trick::ALL.len()] {
    let signs = Signs::of(text);
    Trick::ALL.map(|trick| signs.count(trick))
}

#[test]
fn what_ordinary_texts_have_is_not_counted() {
    let texts = [
        "soft hyphens of an e-book: Schiff\u{ad}fahrts\u{ad}ge\u{ad}sell\u{ad}schaft, пе\u{ad}ре\u{ad}нос",
        "word joiners and zero-width blanks outside words: word\u{2060}— and\u{200b} \u{feff}so on",
        "joiners of Persian, Hindi and emoji: می\u{200c}خواهم क्\u{200d}ष 👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}",
        "non-joiners between the parts of German compounds: Auf\u{200c}lage, Schilf\u{200c}insel",
        "a Greek quotation: μῆνιν ἄειδε θεὰ, and a Russian one: великий могучий язык",
        "old spelling: Исторiя Россiи, мiръ",
        "decomposed: cafe\u{301} nin\u{303}o и\u{306}од е\u{308}лка Vie\u{323}\u{302}t C\u{327}a",
        "stress: за\u{301}мок и замо\u{301}к, э\u{301}то; of Lithuanian: ą\u{301}, i\u{307}\u{301}; of Yoruba: o\u{323}\u{300}ro\u{323}\u{300}",
        "old German: U\u{364}berzu\u{364}ge, Church Slavonic: бг\u{483}ъ; one on a consonant: g\u{303}, m\u{304}",
        "marks of other scripts: كِتَابٌ שָׁלוֹם हिन्दी ไทย",
        "numbers: 1st, 2-го, H2O, C6H12O6, Al2O3, 1914–1918, MP3, 12 345 678, A4, г1ала",
        "compounds: well-known, mother-in-law, кто-нибудь, donnez-le-moi, IT-отдел, co-\noperate, Vor- und Nachname",
        "stammered: b-b-b-but, П-п-п-пожалуйста",
        "initials, capitals, lists: J. R. R. Tolkien, U.S.S.R., C H A P T E R, а я и ты, a, b, c, d",
        "units and symbols: kΩ, μm, 5 µm, ℝ, Ⓐ, 🇩🇪🇫🇷, № 5, ﬁne, Mᵐᵉ, 1ᵉʳ",
        "phonetics: [ˈfaːtɐ], [ˈθɪŋ]; letters of Africa: ɓɔŋgɔ",
        "wide letters of Chinese texts: ＯＫ 宝物は一つの箱の中に",
        "a digit misread by a scanner: t0gether, c1ean, and m0re",
        "knitting: k2tog, yo, *k1, p1; rep from * to end, sl1-k1-psso, (k2, p2) twice, m1l, m1r, ssk",
        "chess: 1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O Nxe4 5. Qe7# 1-0, 1. е4 е5 2. Кf3 Кc6 3. Сb5 Лd1",
        "phonetics: [ˈkʰɹɔːɹɪ], [ɹɐʃɯʌ], [ˈtʰekʷʰatʰ], ɥ and ʍ, [ɟʝʎɐ], [bəˈnɑːnə]",
        "Church Slavonic: гдⷭ҇ь бг҃ъ и҆ сп҃се, ст҃ы́й, а҆́нг҃лъ, ѿ ѻ҆́тче, хрⷭ҇то́съ, мл҃твꙋ",
        "thin blanks: Louis\u{202f}XIV, 10\u{202f}000, «\u{202f}oui\u{202f}», z.\u{2009}B.",
        "flags: 🇩🇪🇫🇷🇮🇹; Roman numbers: xxii, ccxx; Vietnamese: Người Việt ở đường; Sanskrit: kṛṣṇaṭīkā",
        "markup: <i>Hamlet</i>, A&amp;P, caf&#233;, x<y",
    ];
    for text in texts {
        let text = format!("{text} {}", "and other words ".repeat(50));
        assert_eq!(counts(&text), [0; Trick::ALL.len()], "{text}");
        assert!(!Signs::of(&text).is_any(), "{text}");
    }
}

#[test]
fn tricks_are_counted() {
    let [
        invisible,
        look_alikes,
        marks,
        spaced,
        digits,
        hyphens,
        markup,
        _,
    ] = Trick::ALL.map(|trick| move |count: u64| (trick, count));
    let table = [
        ("tre\u{200b}as\u{2060}ure", invisible(2)),
        ("сун\u{200d}дук \u{200c}и ключ\u{feff}ик", invisible(2)),
        ("s\u{ad}e\u{ad}c\u{ad}ret", invisible(3)),
        ("\u{202e}erusaert", invisible(1)),
        ("trеаsure", look_alikes(2)),
        ("Pacход", look_alikes(3)),
        ("trε\u{301}asure", look_alikes(1)),
        ("ｔｒｅａｓｕｒｅ", look_alikes(8)),
        ("𝐭𝐫𝐞𝐚𝐬𝐮𝐫𝐞 Ⓑⓞⓧ", look_alikes(11)),
        ("ǝɹnsɐǝɹʇ", look_alikes(6)),
        ("ʇǝxʇ 🇬🇪🇲 ᵍᵉᵐ", look_alikes(9)),
        ("ťŕéáśúŕé", marks(8)),
        ("trea<b>sure", markup(1)),
        ("t&#114;ea&#x73;ure", markup(1)),
        ("t\u{336}r\u{336}e\u{336}asure", marks(3)),
        ("кл\u{20dd}ад", marks(1)),
        ("t\u{301}r\u{308}f\u{304}d\u{302}", marks(3)),
        ("the t r e a s u r e lay", spaced(1)),
        ("к\u{a0}л\u{a0}а\u{a0}д и c.l.u.e", spaced(2)),
        ("tr3a5ure", digits(2)),
        ("п1р6т4в", digits(2)),
        ("s3cr3t p@$sword", digits(4)),
        ("t-r-e-a-s-u-r-e", hyphens(7)),
        ("к-л-а-д", hyphens(3)),
    ];
    for (text, (trick, count)) in table {
        let expected = Trick::ALL.map(|other| if other == trick { count } else { 0 });
        assert_eq!(counts(text), expected, "{text}");
    }
}

#[test]
fn digits_and_hyphens_are_ordinary_up_to_a_point() {
    let text = |odd: &str, plain: usize| {
        let line = |letter| format!("{odd}{letter} {}", "treasure ".repeat(plain));
        ('a'..='t').map(line).collect::<String>()
    };
    for (odd, trick, ordinary, beyond) in [
        ("tr3asure", Trick::Digits, 20, 10),
        ("trea-sure", Trick::Hyphens, 9, 6),
        ("trea-\nsure", Trick::Hyphens, 9, 6),
    ] {
        let signs = Signs::of(&text(odd, ordinary));
        assert_eq!(
            (signs.count(trick), signs.is_disguised()),
            (0, false),
            "{odd}"
        );
        assert!(
            (signs.ordinary(trick) - 1.0 / (ordinary + 1) as f64).abs() < 1e-9,
            "{odd}"
        );
        let signs = Signs::of(&text(odd, beyond));
        assert_eq!(
            (signs.count(trick), signs.is_disguised()),
            (20, true),
            "{odd}"
        );
        assert!(
            (signs.share() - 1.0 / (beyond + 1) as f64).abs() < 1e-9,
            "{odd}"
        );
    }
}

#[test]
fn what_is_ordinary_in_every_line_is_no_disguise() {
    let texts = [
        "F a u s t. Es klopft? Herein! Wer will mich wieder plagen?\n\n  D e r  G e i s t. Ich bin's.\n",
        "Row 3: k2tog, yo, k1, p2tog; k3tog, sl1-k1-psso, k2tog to the end, m1l.\n",
        "12. Ng1f3 d7d5 13. e2e4 Bc8g4 14. h2h3 Bg4f3 15. Qd1f3, и белые выигрывают.\n",
        "Гдⷭ҇ь бг҃ъ на́шъ, сп҃си́тель ми́ра, хрⷭ҇то́съ воскре́се и҆з̾ ме́ртвыхъ, а҆́нг҃льскїй соно́мъ.\n",
        "[ˈkʰɹɔːɹɪ] or [ɹɐʃɯʌ], with [ɥ] and [ʍ]; the same in [ɟʝʎɐ] and [bəˈnɑːnə].\n",
        "Réponds\u{202f}! Il a dit\u{202f}: «\u{202f}oui\u{202f}», à Louis\u{202f}XIV, le 5\u{202f}mai.\n",
        "the\u{2009}words\u{2009}of\u{2009}a\u{2009}page\u{2009}with\u{2009}thin\u{2009}blanks, all\u{2009}of\u{2009}them.\n",
    ];
    for text in texts {
        let signs = Signs::of(&text.repeat(100));
        assert!(!signs.is_disguised(), "{text}: {signs:?}");
    }
}

#[test]
fn misspelled_words_are_counted_if_there_are_many() {
    let plain = "There would be three of their ships behind the island, which could never return. ";
    let scrambled =
        "Trehe wulod be there of teihr spihs bnehid the inlsad, wchih cuold neevr ruretn. ";
    let doubled = "tthheerree wwoouulldd bbee tthhrreeee of their ships. ";
    let count = |text: &str| Signs::of(&text.repeat(20)).count(Trick::Misspelled);
    assert_eq!([plain, scrambled, doubled].map(count), [0, 100, 80]);
    // Few among many are ordinary.
    let few = format!("{scrambled}{}", plain.repeat(20));
    assert_eq!(count(&few), 0);
}

#[test]
fn a_share_of_the_words_decides_and_examples_say_where() {
    let text = format!(
        "{}{}",
        "плохо спрятанный клад. ".repeat(300),
        "сунд\u{200b}ук ".repeat(20)
    );
    let signs = Signs::of(&text);
    assert!(signs.is_disguised());
    assert!(
        (signs.share() - 20.0 / 920.0).abs() < 1e-9,
        "{}",
        signs.share()
    );
    let examples: Vec<_> = signs.examples().collect();
    assert_eq!(examples.len(), 3);
    for (trick, place) in examples {
        assert_eq!(trick, Trick::Invisible);
        assert_eq!(
            &text[place.start as usize..place.end as usize],
            "сунд\u{200b}ук"
        );
    }
    // Not in a few words of a long text, and not in a few words at all.
    assert!(!Signs::of(&text[..text.len() - 16 * "сунд\u{200b}ук ".len()]).is_disguised());
    assert!(!Signs::of(&"сунд\u{200b}ук ".repeat(4)).is_disguised());
    assert!(Signs::of(&"сунд\u{200b}ук ".repeat(5)).is_disguised());
}

/// The words of a text one character at a time: their number, and what is found when each of them is looked at.
fn naive(text: &str) -> Signs {
    let (mut signs, mut words, mut is_word, mut read_to) = (Signs::default(), 0, false, 0);
    for (at, c) in text.char_indices() {
        let class = CharacterClass::of(c);
        words += u64::from(class == CharacterClass::Sign || class.is_letter() && !is_word);
        is_word = class.is_letter() || class.is_within() && is_word;
        if at >= read_to
            && (class.is_letter() || class.is_within() || class == CharacterClass::Digit)
        {
            let word = read(text, at);
            words -= word.runs.saturating_sub(1);
            signs.add(&word, at, &text[at..word.end]);
            read_to = word.end;
        }
    }
    signs.words = words;
    signs.finish();
    signs
}

/// The number of letter-spaced words, looked for from each letter on.
fn naively_spaced(text: &str) -> u64 {
    let text: Vec<char> = text.chars().collect();
    let is_letter = |at: usize| {
        let letter = text.get(at);
        letter.is_some_and(|c| CharacterClass::of(*c).is_plain_letter())
    };
    let is_single =
        |at: usize| is_letter(at) && !is_letter(at + 1) && (at == 0 || !is_letter(at - 1));
    let (mut count, mut at) = (0, 0);
    while at < text.len() {
        let mut letters = usize::from(is_single(at));
        while letters > 0
            && is_single(at + 2 * letters)
            && text[at + 2 * letters - 1] == text[at + 1]
        {
            letters += 1;
        }
        let differ = (0..letters).any(|i| text[at + 2 * i] != text[at]);
        let is_trick = letters >= 4 && differ;
        count += u64::from(is_trick);
        at += if is_trick { 2 * letters - 1 } else { 1 };
    }
    count
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_scan_misses_nothing(
        text in "(([abсоéΩ]|[\u{301}\u{336}\u{200b}\u{ad}\u{202e}]|[-0-9@Ａʇ字]){1,9}[ .\n—]{1,3}|[a-zа-я ]{60,70}){0,8}"
    ) {
        let (found, expected) = (Signs::of(&text), naive(&text));
        // Letter-spaced words are merged, and those of speakers are not counted.
        prop_assume!(naively_spaced(&text) == 0);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn letter_spaced_words_are_found_anywhere(
        text in "([a-zа-я]{1,3}[ \u{a0}\u{2009}.]|[abвг] [abвг] [abвг] [abвг] |[a-zа-я ]{50,70}){0,12}"
    ) {
        prop_assert_eq!(Signs::of(&text).count(Trick::LetterSpaced), naively_spaced(&text));
    }

    #[test]
    fn any_text_is_scanned(text in "(\\PC|[a\u{300}-\u{36f}\u{200b}-\u{202e}0 -]){0,200}") {
        let signs = Signs::of(&text);
        prop_assert!(signs.share() <= 1.0);
        for (_, place) in signs.examples() {
            prop_assert!(text.get(place.start as usize..place.end as usize).is_some());
        }
        let mut last = 0;
        scan(&text, |at, _: Suspect| {
            assert!(at >= last && text.is_char_boundary(at));
            last = at;
        });
    }
}
