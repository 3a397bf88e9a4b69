//! Attacks: how copyists, scanners and forgers change a text. The same seed gives the same copy.
//!
//! An attack is not counted for a text that it does not change (such as circled letters for Cyrillic), because the result says
//! nothing about a detector.

mod informed;
mod layout;
mod letters;
mod parts;
mod script;
mod words;

use lapidary_common::random::Random;
use lapidary_gems::Recipe;

/// A way to disguise a text.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// The name on the command line and in tables.
    pub name: &'static str,
    /// A description of the copy, for tables.
    pub what: &'static str,
    /// The shares of candidates to change, from 0 to 1. An attack without strengths changes all of them.
    pub strengths: &'static [f64],
    /// The predominant alphabet of the texts it applies to.
    alphabet: Alphabet,
    /// Whether it applies only to whole books.
    pub whole: bool,
    /// Whether the book in the index is disguised and the copy is unchanged.
    pub mirrored: bool,
    /// Whether it is measured only if it is named.
    pub by_name: bool,
    apply: fn(&mut AttackScene<'_>, f64) -> String,
}

/// The predominant alphabet of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Any,
    /// Any but Cyrillic.
    Latin,
    Cyrillic,
}

/// A text to disguise, and the material for it.
pub(super) struct AttackScene<'a> {
    /// The text to disguise.
    pub(super) text: &'a str,
    /// All words of the book.
    pub(super) words: &'a [&'a str],
    /// Two other books, if the attack needs them.
    pub(super) others: &'a [String],
    pub(super) random: Random,
}

/// All attacks.
pub const ATTACKS: &[Attack] = &[
    attack("none", "an exact copy", &[], |scene, _| {
        scene.text.to_owned()
    }),
    attack(
        "letters",
        "letters replaced by random ones",
        &[0.01, 0.02, 0.05],
        letters::replaced,
    ),
    attack(
        "ocr",
        "letters misread by a scanner",
        &[0.01, 0.02, 0.05],
        letters::misread,
    ),
    attack(
        "words",
        "words replaced by other words of the book",
        &[0.03, 0.05, 0.1],
        words::replaced,
    ),
    attack(
        "reworded",
        "many words replaced by other words of the book",
        &[0.2, 0.3],
        words::replaced,
    )
    .by_name(),
    attack(
        "scrambled",
        "words with their inner letters in random order",
        &[],
        |scene, _| words::scrambled(scene),
    )
    .by_name(),
    attack(
        "doubled",
        "words with each letter twice",
        &[0.1, 1.0],
        words::doubled,
    )
    .by_name(),
    attack(
        "substituted",
        "one consonant replaced by another everywhere",
        &[],
        |scene, _| letters::substituted(scene),
    )
    .by_name(),
    attack(
        "shapes",
        "`rn` for `m`, `cl` for `d`, `vv` for `w`, `1` or `|` for `l`, `ɾ` for `r`, `ſ` for `s`",
        &[],
        |scene, _| letters::shaped(scene),
    )
    .of(Alphabet::Latin)
    .by_name(),
    attack(
        "zero-width",
        "an invisible character in long words",
        &[0.05, 0.5, 1.0],
        words::zero_width,
    ),
    attack(
        "thin-blanks",
        "a thin blank in long words",
        &[0.05, 0.5, 1.0],
        words::thin_blanks,
    )
    .by_name(),
    attack(
        "look-alikes",
        "letters replaced by look-alikes of the other script",
        &[0.1, 0.5, 1.0],
        script::look_alikes,
    ),
    attack(
        "hyphens",
        "a hyphen and a line break in long words",
        &[0.05, 0.5, 1.0],
        words::hyphenated,
    ),
    attack(
        "letter-spaced",
        "words with spaces between their letters",
        &[0.01, 0.05, 0.2],
        words::letter_spaced,
    ),
    attack(
        "full-width",
        "words in full-width letters",
        &[0.1, 1.0],
        script::full_width,
    )
    .of(Alphabet::Latin),
    attack(
        "mathematical",
        "words in mathematical letters",
        &[0.1, 1.0],
        script::mathematical,
    )
    .of(Alphabet::Latin),
    attack(
        "circled",
        "words in circled letters",
        &[0.1, 1.0],
        script::circled,
    )
    .of(Alphabet::Latin),
    attack(
        "flags",
        "words in regional indicators, the letters of flags",
        &[0.1, 1.0],
        script::flags,
    )
    .of(Alphabet::Latin)
    .by_name(),
    attack(
        "superscript",
        "words in superscript letters",
        &[0.1, 1.0],
        |scene, share| script::swapped(scene, share, script::SUPERSCRIPT),
    )
    .of(Alphabet::Latin)
    .by_name(),
    attack(
        "accented",
        "words with an accent on each letter",
        &[0.1, 1.0],
        |scene, share| script::swapped(scene, share, script::ACCENTED),
    )
    .of(Alphabet::Latin)
    .by_name(),
    attack(
        "marks",
        "combining marks on letters",
        &[0.1, 0.5, 1.0],
        letters::marked,
    ),
    attack(
        "leet",
        "words with digits for letters",
        &[0.01, 0.05, 0.2],
        words::leet,
    ),
    attack(
        "romanised",
        "Cyrillic text in Latin letters",
        &[],
        |scene, _| script::romanised(scene.text),
    )
    .of(Alphabet::Cyrillic),
    Attack {
        mirrored: true,
        ..attack(
            "from-romanised",
            "Cyrillic text, indexed in Latin letters",
            &[],
            |s, _| s.text.to_owned(),
        )
        .of(Alphabet::Cyrillic)
    },
    attack(
        "romanised-and-back",
        "Cyrillic text converted to Latin letters and back",
        &[],
        |scene, _| script::cyrillic_again(&script::romanised(scene.text)),
    )
    .of(Alphabet::Cyrillic),
    attack(
        "other-look-alikes",
        "letters replaced by Greek and Armenian look-alikes",
        &[0.1, 0.5, 1.0],
        |scene, share| script::replaced(scene, share, script::OTHER_TWINS),
    ),
    attack(
        "all-look-alikes",
        "letters replaced by any that Unicode lists as confusable with them",
        &[0.1, 0.5, 1.0],
        script::confused,
    )
    .by_name(),
    attack("lisu", "text in Lisu letters", &[], |scene, _| {
        script::lisu(scene)
    })
    .of(Alphabet::Latin)
    .by_name(),
    attack(
        "coptic",
        "letters replaced by Coptic look-alikes",
        &[],
        |scene, share| script::swapped(scene, share, script::COPTIC),
    )
    .of(Alphabet::Latin)
    .by_name(),
    attack(
        "volapuk",
        "Cyrillic text in ASCII characters that look like it",
        &[],
        |scene, _| script::volapuk(scene.text),
    )
    .of(Alphabet::Cyrillic)
    .by_name(),
    attack(
        "keyboard",
        "text typed in the other layout of a Russian keyboard",
        &[],
        |scene, _| script::retyped(scene.text),
    )
    .by_name(),
    attack(
        "upside-down",
        "text in letters that stand on their heads",
        &[],
        |scene, _| script::upside_down(scene.text),
    )
    .of(Alphabet::Latin),
    attack("turned", "text turned by half a turn", &[], |scene, _| {
        script::turned(scene.text)
    })
    .of(Alphabet::Latin),
    attack(
        "backwards",
        "words backwards, each under an override of the direction",
        &[],
        |scene, _| script::backwards(scene.text),
    ),
    attack(
        "markup",
        "tags after words",
        &[0.1, 0.5, 1.0],
        layout::marked_up,
    ),
    attack(
        "references",
        "letters as numeric character references",
        &[0.1, 1.0],
        layout::referred,
    ),
    attack(
        "joined",
        "blanks removed",
        &[0.1, 0.33, 1.0],
        layout::joined,
    ),
    attack(
        "split",
        "blanks inside words",
        &[0.1, 0.33, 1.0],
        layout::split,
    ),
    attack(
        "columns",
        "two columns read line by line across both",
        &[],
        |scene, _| layout::columns(scene.text),
    ),
    attack("upper-case", "text in capitals", &[], |scene, _| {
        scene.text.to_uppercase()
    }),
    attack(
        "advertising",
        "an advertising line after sentences",
        &[0.01, 0.05, 0.2],
        parts::advertised,
    ),
    attack(
        "every-second",
        "every second sentence left out",
        &[],
        |scene, _| parts::every_second(scene.text),
    )
    .by_name(),
    attack(
        "informed",
        "a consonant replaced in each gem of `hardened`",
        &[],
        |scene, _| informed::without_gems(scene, &Recipe::hardened()),
    )
    .by_name(),
    attack(
        "informed-fine",
        "a consonant replaced in each gem of `hardened-fine`",
        &[],
        |scene, _| informed::without_gems(scene, &Recipe::hardened_fine()),
    )
    .by_name(),
    attack(
        "fourteenth",
        "every fourteenth consonant replaced, so that one is in each gem",
        &[],
        |scene, _| informed::fourteenth(scene),
    )
    .by_name(),
    whole("shuffled", "paragraphs in random order", &[], |scene, _| {
        parts::shuffled(scene)
    }),
    whole(
        "tenth",
        "a tenth of the book, at a random position",
        &[],
        |scene, _| parts::tenth(scene),
    ),
    whole(
        "glued",
        "the book between two other books",
        &[],
        |scene, _| parts::glued(scene),
    ),
    whole(
        "fresh",
        "sentences replaced by new ones",
        &[0.05, 0.1, 0.2],
        parts::fresh,
    ),
];

const fn attack(
    name: &'static str,
    what: &'static str,
    strengths: &'static [f64],
    apply: fn(&mut AttackScene<'_>, f64) -> String,
) -> Attack {
    Attack {
        name,
        what,
        strengths,
        alphabet: Alphabet::Any,
        whole: false,
        mirrored: false,
        by_name: false,
        apply,
    }
}

const fn whole(
    name: &'static str,
    what: &'static str,
    strengths: &'static [f64],
    apply: fn(&mut AttackScene<'_>, f64) -> String,
) -> Attack {
    Attack {
        whole: true,
        ..attack(name, what, strengths, apply)
    }
}

impl Attack {
    const fn by_name(self) -> Self {
        Self {
            by_name: true,
            ..self
        }
    }

    const fn of(self, alphabet: Alphabet) -> Self {
        Self { alphabet, ..self }
    }

    /// The attack of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        ATTACKS.iter().find(|attack| attack.name == name)
    }

    /// The strengths; a single one for an attack without any.
    #[must_use]
    pub fn all_strengths(&self) -> &'static [f64] {
        if self.strengths.is_empty() {
            &[1.0]
        } else {
            self.strengths
        }
    }

    /// Formats a strength: `2 %`, or nothing for an attack without strengths.
    pub(super) fn strength(&self, strength: f64) -> String {
        if self.strengths.is_empty() {
            String::new()
        } else {
            format!("{} %", (strength * 1e3).round() / 10.0)
        }
    }

    /// A disguised copy of a text, made without other books; `None` if the attack does not apply to it.
    #[must_use]
    pub fn copy(&self, text: &str, strength: f64, seed: u64) -> Option<String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        self.disguise(
            AttackScene {
                text,
                words: &words,
                others: &[],
                random: Random::new(seed),
            },
            strength,
        )
    }

    /// The disguised text, or `None` if the attack does not apply to it.
    pub(super) fn disguise(&self, mut scene: AttackScene<'_>, strength: f64) -> Option<String> {
        let text = scene.text;
        let applies = match self.alphabet {
            Alphabet::Any => true,
            Alphabet::Latin => !script::is_cyrillic(text),
            Alphabet::Cyrillic => script::is_cyrillic(text),
        };
        if !applies {
            return None;
        }
        let copy = (self.apply)(&mut scene, strength);
        (copy != text || self.name == "none" || self.mirrored).then_some(copy)
    }
}

/// The text to index for the mirrored attacks, or `None` if they do not apply to it.
pub(super) fn mirror(text: &str) -> Option<String> {
    script::is_cyrillic(text).then(|| script::romanised(text))
}

impl AttackScene<'_> {
    /// Passes every run of letters to `change`, and keeps all other characters.
    fn map_words(&mut self, mut change: impl FnMut(&str, &mut String, &mut Random)) -> String {
        let mut changed = String::with_capacity(self.text.len() + self.text.len() / 8);
        let mut rest = self.text;
        while !rest.is_empty() {
            let word = rest
                .find(|c: char| !c.is_alphabetic())
                .unwrap_or(rest.len());
            if word > 0 {
                change(&rest[..word], &mut changed, &mut self.random);
            }
            rest = &rest[word..];
            let gap = rest.find(char::is_alphabetic).unwrap_or(rest.len());
            changed.push_str(&rest[..gap]);
            rest = &rest[gap..];
        }
        changed
    }

    /// Replaces the letters of this share of the words.
    fn map_letters(&mut self, share: f64, replace: impl Fn(char) -> char) -> String {
        self.map_words(|word, copy, random| {
            if random.happens(share) {
                copy.extend(word.chars().map(&replace));
            } else {
                copy.push_str(word);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use hashbrown::HashSet;

    use super::{ATTACKS, Attack, AttackScene};
    use lapidary_common::random::Random;
    use lapidary_gems::{Gem, Recipe};

    fn disguise(name: &str, strength: f64, text: &str, seed: u64) -> Option<String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let others = ["first other".to_owned(), "second other".to_owned()];
        let attack = Attack::named(name).expect("an attack");
        attack.disguise(
            AttackScene {
                text,
                words: &words,
                others: &others,
                random: Random::new(seed),
            },
            strength,
        )
    }

    /// A check by a recipe has nothing to find of a book from which the gems of that recipe were removed, although wrong letters
    /// are put right among so many frequent words.
    #[test]
    fn informed_copies_have_no_gem_of_the_text() {
        let russian = (
            "когда после через только перед между чтобы этого",
            "бвгдклмнпрст",
            "аеоуыя",
        );
        let english = (
            "which there their would could about these after",
            "bdfgklmnprst",
            "aeiou",
        );
        for (name, recipe) in [
            ("informed", Recipe::hardened()),
            ("informed-fine", Recipe::hardened_fine()),
        ] {
            for language in [russian, english] {
                let text = prose(language, 2_000);
                let copy = disguise(name, 1.0, &text, 1).expect("it applies");
                let gems: HashSet<Gem> = recipe.gems(&text).iter().map(|of| of.gem).collect();
                let probes = recipe.probes(&copy);
                let left = probes
                    .iter()
                    .filter(|probe| gems.contains(&probe.placed.gem));
                assert_eq!(left.count(), 0, "{name}: {language:?}");
            }
        }
    }

    /// Frequent words and invented ones by turns.
    fn prose((frequent, consonants, vowels): (&str, &str, &str), count: usize) -> String {
        let frequent: Vec<&str> = frequent.split(' ').collect();
        let letters = [consonants, vowels].map(|letters| letters.chars().collect::<Vec<_>>());
        let mut random = Random::new(7);
        let mut text = String::new();
        for _ in 0..count / 2 {
            text += frequent[random.below(frequent.len())];
            text.push(' ');
            for at in 0..4 + random.below(4) {
                let letters = &letters[at % 2];
                text.push(letters[random.below(letters.len())]);
            }
            text.push(' ');
        }
        text
    }

    #[test]
    fn exact_disguises() {
        let table = [
            ("none", "Он шёл.", Some("Он шёл.")),
            ("look-alikes", "copy", Some("сору")),
            ("look-alikes", "Расход", Some("Pacxoд")),
            ("hyphens", "short", None),
            ("full-width", "Gem 7", Some("Ｇｅｍ 7")),
            ("mathematical", "Gem", Some("𝐆𝐞𝐦")),
            ("circled", "Gem", Some("Ⓖⓔⓜ")),
            ("circled", "камень", None),
            ("other-look-alikes", "copy known", Some("cορy κηοwη")),
            ("upside-down", "Gem, a", Some("ƃǝɯ' ɐ")),
            ("turned", "Gem, a", Some("ɐ 'ɯǝƃ")),
            (
                "backwards",
                "Gem, a",
                Some("\u{202e},meG\u{202c} \u{202e}a\u{202c}"),
            ),
            ("joined", "a gem or two", Some("agemortwo")),
            ("columns", "a gem", Some("a gem \n")),
            ("leet", "toes", Some("7035")),
            ("letter-spaced", "пират", Some("п и р а т")),
            (
                "romanised",
                "Щука, Юла и чиж",
                Some("Shchuka, Yula i chizh"),
            ),
            ("romanised", "not Cyrillic", None),
            ("from-romanised", "Щука", Some("Щука")),
            ("romanised-and-back", "Щука, Юла и чиж", None),
            ("romanised-and-back", "объезд эха", Some("обезд еха")),
            ("upper-case", "Straße", Some("STRASSE")),
            ("thin-blanks", "short", None),
            ("doubled", "Gem or two", Some("GGeemm oorr ttwwoo")),
            ("shapes", "mid weeds", Some("rnicl vveeclſ")),
            ("flags", "Gem", Some("🇬🇪🇲")),
            ("superscript", "gem", Some("ᵍᵉᵐ")),
            ("accented", "gem", Some("ǵéḿ")),
            ("lisu", "gem", Some("ꓖꓰꓟ")),
            ("coptic", "gem", Some("gⲉⲙ")),
            ("volapuk", "Жил-был ёж", Some("}|{uJI-6bIJI e}|{")),
            ("keyboard", "Люблю, gem", Some("K.,k.? gem")),
            ("keyboard", "Gem.", Some("Пуью")),
            ("every-second", "One. Two. Three.", Some("One. Three.")),
            ("glued", "this", Some("first other\n\nthis\n\nsecond other")),
        ];
        for (name, text, expected) in table {
            assert_eq!(
                disguise(name, 1.0, text, 1).as_deref(),
                expected,
                "{name} of {text}"
            );
        }
    }

    #[test]
    fn one_seed_one_copy() {
        let sentences =
            (0..300).map(|i| format!("Sentence {i} tells of stones. Камень номер {i} блестит."));
        let text = sentences.collect::<Vec<_>>().join(
            "

",
        );
        for attack in ATTACKS {
            for &strength in attack.all_strengths() {
                let [once, again, other] =
                    [7, 7, 8].map(|seed| disguise(attack.name, strength, &text, seed));
                assert_eq!(once, again, "{}", attack.name);
                if strength < 1.0 || ["shuffled", "tenth"].contains(&attack.name) {
                    assert_ne!(once, other, "{} at {strength}", attack.name);
                }
            }
        }
    }

    #[test]
    fn as_strong_as_it_says() {
        let text = "самоцвет granite ".repeat(4_000);
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for name in ["letters", "look-alikes"] {
            let copy = disguise(name, 0.1, &text, 3).expect("it applies");
            let differ = copy
                .chars()
                .zip(text.chars())
                .filter(|(a, b)| a != b)
                .count() as f64;
            let twins = if name == "letters" {
                60_000.0
            } else {
                8.0 * 4_000.0
            };
            assert!((0.08..0.12).contains(&(differ / twins)), "{name}: {differ}");
        }
        for name in ["leet", "hyphens", "zero-width"] {
            let copy = disguise(name, 0.2, &text, 3).expect("it applies");
            let differ = words(&copy)
                .iter()
                .zip(words(&text))
                .filter(|(a, b)| *a != b)
                .count() as f64;
            assert!(
                (0.18..0.22).contains(&(differ / 8_000.0)),
                "{name}: {differ}"
            );
        }
    }

    #[test]
    fn nothing_panics_on_little() {
        for text in ["", " ", "a", ".", "\n\n", "é", "\u{301}", "猫。"] {
            for attack in ATTACKS {
                for &strength in attack.all_strengths() {
                    let _ = disguise(attack.name, strength, text, 5);
                }
            }
        }
    }
}
