//! Generates `gems/data/readings.txt`: how the recipe `hardened` reads each character.
//!
//! `cargo run --release -p lapidary-gems --example readings -- gems/data/readings.txt`. The table is part of the
//! recipe, and a change to it would make a new recipe. It was therefore generated once; this program documents how.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;

use deunicode::deunicode_char;
use icu_properties::props::{Alphabetic, DefaultIgnorableCodePoint, GeneralCategory, Script, WhiteSpace};
use icu_properties::{CodePointMapData, CodePointSetData};
use unicode_normalization::UnicodeNormalization as _;
use unicode_security::confusable_detection::skeleton;

/// The sounds of Cyrillic letters, in Latin letters. An empty sound is a vowel or silent.
const SOUNDS: &str = "а: б:b в:v г:g д:d е: ё: ж:z з:z и: й: к:k л:l м:m н:n о: п:p р:r с:s т:t у: ф:f х:k ц:c ч:c \
    ш:s щ:s ъ: ы: ь: э: ю: я: ѐ: ђ:d ѓ:g є: ѕ:s і: ї: ј: љ:l њ:n ћ:c ќ:k ѝ: ў: џ:c ѡ: ѣ: ѥ: ѧ: ѩ: \
    ѫ: ѭ: ѯ:x ѱ:ps ѳ:f ѵ: ѷ: ѹ: ґ:g ғ:g җ:z ҙ:z қ:k ң:n ү: ұ: ҳ:k ҷ:c ҹ:c һ:k ә: ө: ԁ:d ԛ:q ԝ:v ӏ:";
/// Cyrillic letters that look like Latin ones in upper or lower case (UTS #39, and letters with similar shapes).
const CYRILLIC_LOOKS: &str = "а:a в:b е:e ё:e к:k м:m н:h о:o р:p с:c т:t у:y х:x і:i ї:i ј:j ѕ:s һ:h ԁ:d ԛ:q ԝ:w ӏ:l ѵ:v \
    ѐ:e ў:y ь:b г:r п:n и:u ѝ:u ш:w щ:w я:r";
/// Those that are Cyrillic in any context, because nobody would mistake a Latin letter for one.
const CYRILLIC_ALL_THE_SAME: &str = "ьгпиѝшщя";
/// Latin letters that look like Cyrillic ones, with the sounds of those.
const LATIN_LOOKS: &str = "a: b:v c:s e: h:n i: j: k:k m:m o: p:r s:s t:t x:k y: u: n:p r:g w:s";
/// Those that are Latin in any context.
const LATIN_ALL_THE_SAME: &str = "unrw";
/// Greek letters, with their sounds in words of Latin letters and in words of Cyrillic letters.
const GREEK: &str = "Α:: Β:b:v Γ:g:g Δ:d:d Ε:: Ζ:z:z Η:h:n Θ:t:t Ι:: Κ:k:k Λ:l:l Μ:m:m Ν:n:n Ξ:x:x Ο:: Π:p:p Ρ:p:r \
    Σ:s:s Τ:t:t Υ:: Φ:f:f Χ:x:k Ψ:ps:ps Ω:: α:: β:b:v γ:g:g δ:d:d ε:: ζ:z:z η:: θ:t:t ι:: κ:k:k \
    λ:l:l μ:m:m ν:v:v ξ:x:x ο:: π:p:p ρ:p:r σ:s:s ς:s:s τ:t:t υ:: φ:f:f χ:x:k ψ:ps:ps ω:: ϲ:c:s \
    Ϲ:c:s ϳ::";
/// The sounds of digits inside words, among Latin letters and among Cyrillic ones.
const DIGITS: [[&str; 2]; 10] =
    [["", ""], ["", ""], ["z", "z"], ["", "z"], ["", "c"], ["s", "s"], ["b", "b"], ["t", "t"], ["b", "v"], ["g", ""]];
/// Signs that replace letters inside words.
const SIGNS: [(char, &str); 4] = [('@', ""), ('$', "s"), ('€', ""), ('£', "l")];
/// Characters that are ignored inside a word.
const JOINTS: &str = "'’‘`´ʹʺʼʻʽʾʿˈ′_*·•‧・~^|+¨¯˙¸";
/// Characters that may hyphenate a word at the end of a line.
const HYPHENS: &str = "-‐‑‒–−¬=⸗⹀֊⁃﹣－";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).ok_or("usage: readings FILE")?;
    let rows: Vec<(u32, String)> =
        ('\0'..=char::MAX).filter_map(|c| Some((c.into(), Unicode::default().row(c)?))).collect();
    let mut table = String::from(
        "# What each character is to the recipe hardened, made by examples/readings.rs of UTS #39 and Unicode 16.\n\
         # code point or range, what it is; of a letter: its sound among Latin letters, its sound among Cyrillic ones (`-` is\n\
         # a vowel or none), and L or C where it can be of that script only; of a digit: its sounds inside a word.\n\
         # What is not named ends a word.\n",
    );
    for same in rows.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 == b.1) {
        let (first, last) = (same[0].0, same[same.len() - 1].0);
        match last - first {
            0 => writeln!(table, "{first:04X}\t{}", same[0].1)?,
            _ => writeln!(table, "{first:04X}..{last:04X}\t{}", same[0].1)?,
        }
    }
    Ok(fs::write(path, table)?)
}

/// The Unicode properties used.
struct Unicode {
    category: icu_properties::CodePointMapDataBorrowed<'static, GeneralCategory>,
    script: icu_properties::CodePointMapDataBorrowed<'static, Script>,
    ignorable: icu_properties::CodePointSetDataBorrowed<'static>,
    blank: icu_properties::CodePointSetDataBorrowed<'static>,
    alphabetic: icu_properties::CodePointSetDataBorrowed<'static>,
}

impl Default for Unicode {
    fn default() -> Self {
        Self {
            category: CodePointMapData::<GeneralCategory>::new(),
            script: CodePointMapData::<Script>::new(),
            ignorable: CodePointSetData::new::<DefaultIgnorableCodePoint>(),
            blank: CodePointSetData::new::<WhiteSpace>(),
            alphabetic: CodePointSetData::new::<Alphabetic>(),
        }
    }
}

impl Unicode {
    /// The table entry of a character.
    fn row(&self, c: char) -> Option<String> {
        use GeneralCategory as Category;
        let category = self.category.get(c);
        if matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}') {
            return Some("line".to_owned());
        }
        if self.blank.contains(c) || c == '\u{2800}' {
            return Some("blank".to_owned());
        }
        let mut plain = Some(c).into_iter().nfkc();
        let plain = plain.next().filter(|_| plain.next().is_none()).unwrap_or(c);
        if HYPHENS.contains(c) || HYPHENS.contains(plain) {
            return Some("hyphen".to_owned());
        }
        if JOINTS.contains(c) || JOINTS.contains(plain) {
            return Some("joint".to_owned());
        }
        if self.ignorable.contains(c)
            || matches!(
                category,
                Category::NonspacingMark
                    | Category::SpacingMark
                    | Category::EnclosingMark
                    | Category::Format
                    | Category::Control
                    | Category::PrivateUse
                    | Category::Unassigned
            )
        {
            return Some("ignored".to_owned());
        }
        if let Some((_, sound)) = SIGNS.iter().find(|(sign, _)| *sign == c) {
            return Some(format!("digit\t{}\t{}", shown(sound), shown(sound)));
        }
        let simple: String = c.nfkd().filter(|c| !self.is_mark(*c)).flat_map(char::to_lowercase).collect();
        let simple: String = simple.nfkd().filter(|c| !self.is_mark(*c)).collect();
        if let Some(digit) = digit(&simple).filter(|_| !self.alphabetic.contains(c)) {
            let [latin, cyrillic] = DIGITS[digit].map(shown);
            return Some(format!("digit\t{latin}\t{cyrillic}"));
        }
        let enclosed =
            matches!(u32::from(c), 0x24b6..=0x24e9 | 0x249c..=0x24b5 | 0x1f110..=0x1f189 | 0x1f1e6..=0x1f1ff);
        if !enclosed && !self.alphabetic.contains(c) {
            return None;
        }
        let enclosed_letter = || {
            let from = [0x1f150, 0x1f170, 0x1f1e6, 0x1f130, 0x1f110]
                .into_iter()
                .find(|from| (*from..from + 26).contains(&c.into()))?;
            char::from_u32(u32::from(c) - from + u32::from('a'))
        };
        if enclosed && let Some(letter) = enclosed_letter().or_else(|| simple.chars().find(char::is_ascii_lowercase)) {
            return Some(latin(&letter.to_string()));
        }
        if let Some(row) = greek(c) {
            return Some(row);
        }
        if let Some(row) = simple.chars().next().filter(|_| simple.chars().count() == 1).and_then(greek) {
            return Some(row);
        }
        if !simple.is_empty() && simple.chars().all(|c| c.is_ascii_lowercase()) {
            return Some(latin(&simple));
        }
        if self.script.get(c) == Script::Cyrillic {
            return Some(cyrillic(&simple));
        }
        if wordless(self.script.get(c)) {
            return Some("sign".to_owned());
        }
        let alike: String =
            skeleton(&c.to_string()).filter(|c| !self.is_mark(*c)).flat_map(char::to_lowercase).collect();
        if !alike.is_empty() && alike.chars().all(|c| c.is_ascii_lowercase()) {
            return Some(latin(&alike.replace("rn", "m")));
        }
        let letters: String =
            deunicode_char(c).unwrap_or_default().to_lowercase().chars().filter(char::is_ascii_lowercase).collect();
        match self.script.get(c) {
            Script::Latin if !letters.is_empty() => Some(latin(&letters)),
            _ if deunicode_char(c).is_none() => Some("sign".to_owned()),
            // A letter of another script, read by its sound.
            _ => Some(format!("letter\t{}\t{}", shown(&sounds(&letters)), shown(&sounds(&letters)))),
        }
    }

    fn is_mark(&self, c: char) -> bool {
        use GeneralCategory as Category;
        matches!(
            self.category.get(c),
            Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark | Category::ModifierSymbol
        ) || c == '\u{2044}'
            || self.ignorable.contains(c)
    }
}

fn digit(simple: &str) -> Option<usize> {
    let first = simple.chars().next().filter(|_| simple.chars().all(char::is_numeric))?;
    let digit = first.to_digit(10).or_else(|| deunicode_char(first)?.chars().next()?.to_digit(10))?;
    usize::try_from(digit).ok()
}

/// Scripts without spaces between words, or with syllabic characters. Each of their characters is taken as a word.
fn wordless(script: Script) -> bool {
    [
        Script::Han,
        Script::Hangul,
        Script::Hiragana,
        Script::Katakana,
        Script::Bopomofo,
        Script::Yi,
        Script::Thai,
        Script::Lao,
        Script::Khmer,
        Script::Myanmar,
        Script::Tibetan,
        Script::Javanese,
        Script::Balinese,
        Script::TaiLe,
        Script::NewTaiLue,
        Script::TaiTham,
        Script::TaiViet,
        Script::Cuneiform,
        Script::EgyptianHieroglyphs,
        Script::Tangut,
        Script::Nushu,
    ]
    .contains(&script)
}

/// The sounds of Latin letters. Vowels have none.
fn sounds(letters: &str) -> String {
    letters.chars().filter(|c| !"aeiouyj".contains(*c)).collect()
}

fn shown(sounds: &str) -> &str {
    if sounds.is_empty() { "-" } else { sounds }
}

/// The entry of a letter in a list such as `а: б:b`.
fn listed(list: &'static str, letter: char) -> Option<&'static str> {
    list.split_whitespace().find_map(|entry| entry.strip_prefix(letter)?.strip_prefix(':'))
}

fn latin(letters: &str) -> String {
    let own = sounds(letters);
    let among_cyrillic: String =
        letters.chars().map(|c| listed(LATIN_LOOKS, c).map_or_else(|| sounds(&c.to_string()), str::to_owned)).collect();
    let definite = letters.chars().any(|c| listed(LATIN_LOOKS, c).is_none() || LATIN_ALL_THE_SAME.contains(c));
    format!("letter\t{}\t{}{}", shown(&own), shown(&among_cyrillic), if definite { "\tL" } else { "" })
}

fn cyrillic(simple: &str) -> String {
    let own = |c: char| match listed(SOUNDS, c) {
        Some(sound) => sound.to_owned(),
        None => sounds(&deunicode_char(c).unwrap_or_default().to_lowercase()),
    };
    let among_latin = |c: char| listed(CYRILLIC_LOOKS, c).map_or_else(|| own(c), sounds);
    let definite = simple.chars().any(|c| listed(CYRILLIC_LOOKS, c).is_none() || CYRILLIC_ALL_THE_SAME.contains(c));
    let (latin, cyrillic): (String, String) =
        (simple.chars().map(among_latin).collect(), simple.chars().map(own).collect());
    let letters = |sounds: String| sounds.chars().filter(char::is_ascii_lowercase).collect::<String>();
    let (latin, cyrillic) = (letters(latin), letters(cyrillic));
    format!("letter\t{}\t{}{}", shown(&latin), shown(&cyrillic), if definite { "\tC" } else { "" })
}

/// A Greek letter: read as the Latin or Cyrillic letter it looks like, otherwise by its sound.
fn greek(c: char) -> Option<String> {
    let (latin, cyrillic) = listed(GREEK, c)?.split_once(':')?;
    Some(format!("letter\t{}\t{}", shown(latin), shown(cyrillic)))
}
