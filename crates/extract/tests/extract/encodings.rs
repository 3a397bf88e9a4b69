//! Decoding bytes to text: detected and given encodings, and refusal of noise.

use std::io::Write as _;

use lapidary_extract::{Encoding, ExtractError};
use proptest::prelude::*;

const RUSSIAN: &str = "Старый гранильщик жил на краю посёлка, у самой реки. По утрам он раскладывал на столе камни, \
    которые приносили ему рудокопы, и долго смотрел, как свет проходит сквозь грани. «Каждый камень помнит, где его \
    нашли, — говорил он внукам. — Надо только спросить». Объяснять дальше он не любил: щурился, гладил бороду и молчал.\n";
const UKRAINIAN: &str = "Її дідусь працював у майстерні біля річки і знав про каміння все. Щоранку він розкладав на \
    столі знайдені скарби, дивився крізь них на сонце й усміхався. «Кожен камінь пам'ятає свою гору», — казав він \
    онукам, а ті вірили йому, бо ще не вміли не вірити. Є такі люди, яким хочеться вірити завжди.\n";
const SERBIAN: &str = "Стари каменорезац живео је на крају села, поред реке. Сваког јутра слагао је на сто камење које \
    су му доносили рудари и дуго гледао како светлост пролази кроз њега. Говорио је унуцима да сваки камен памти где су \
    га нашли, само га треба питати. Ћутљив човек беше, али кад би се насмејао, цела кућа би оживела, чак и џак брашна.\n";
const CZECH: &str = "Starý brusič kamenů žil na kraji vesnice u řeky. Každé ráno rozkládal na stole kameny, které mu \
    přinášeli horníci, a dlouho se díval, jak jimi prochází světlo. Říkal vnoučatům, že si každý kámen pamatuje, kde \
    ho našli, stačí se ho zeptat. Dál už nic nevysvětloval, jen přivřel oči, hladil si vousy a mlčel až do večera.\n";
const POLISH: &str = "Stary szlifierz kamieni mieszkał na skraju wsi, nad rzeką. Co rano rozkładał na stole kamienie, \
    które przynosili mu górnicy, i długo patrzył, jak przechodzi przez nie światło. Mówił wnukom, że każdy kamień \
    pamięta, gdzie go znaleziono, trzeba tylko zapytać. Więcej nie tłumaczył, mrużył oczy, gładził brodę i milczał.\n";
const FRENCH: &str = "Le vieux lapidaire habitait à l'orée du village, près de la rivière. Chaque matin, il étalait sur \
    la table les pierres que lui apportaient les mineurs, et regardait longuement la lumière les traverser. « Leur cœur \
    se souvient, disait-il à ses petits-enfants, il suffit de l'interroger. » Sa sœur haussait les épaules, et l'œuvre \
    avançait.\n";
const GERMAN: &str = "Der alte Steinschleifer wohnte am Rand des Dorfes, gleich über dem Fluß. Jeden Morgen breitete er \
    auf dem Tisch die Steine aus, die ihm die Bergleute brachten, und sah lange zu, wie das Licht durch sie fiel. Jeder \
    Stein wüßte noch, wo er gefunden worden sei, erzählte er den Enkeln; man müsse ihn nur höflich fragen.\n";
const GREEK: &str = "Ο γέρος λιθοξόος ζούσε στην άκρη του χωριού, δίπλα στο ποτάμι. Κάθε πρωί άπλωνε στο τραπέζι τις \
    πέτρες που του έφερναν οι μεταλλωρύχοι και κοίταζε ώρα πολλή πώς περνάει το φως από μέσα τους. Έλεγε στα εγγόνια \
    του πως κάθε πέτρα θυμάται πού τη βρήκαν, αρκεί να τη ρωτήσεις.\n";
const JAPANESE: &str = "川のそばの村はずれに、年老いた石切り職人が住んでいました。毎朝、鉱夫たちが持ってくる石を机に並べ、\
    光が石を通りぬけるのを長いあいだ眺めていました。石はどれも、見つかった場所を覚えているのだと孫たちに話しました。\n";
const CHINESE: &str = "村边的河岸上住着一位老石匠。每天早晨，他把矿工们送来的石头摆在桌子上，久久地看着光线穿过它们。\
    他对孙子们说，每一块石头都记得自己是在哪里被找到的，只要去问它就行了。\n";

/// Texts, each with the encodings that can represent all of it.
const TEXTS: &[(&str, &[&str])] = &[
    (RUSSIAN, &["windows-1251", "x-mac-cyrillic"]),
    (UKRAINIAN, &["windows-1251", "x-mac-cyrillic"]),
    (
        SERBIAN,
        &["windows-1251", "x-mac-cyrillic", "ISO-8859-5", "IBM855"],
    ),
    (CZECH, &["windows-1250", "ISO-8859-2"]),
    (POLISH, &["windows-1250", "ISO-8859-2"]),
    (FRENCH, &["windows-1252", "ISO-8859-15", "macintosh"]),
    (GERMAN, &["windows-1252"]),
    (GREEK, &["windows-1253"]),
    (JAPANESE, &["Shift_JIS", "EUC-JP", "ISO-2022-JP"]),
    (CHINESE, &["GBK"]),
];

/// Encodings that can represent the text except its typographic dashes or quotation marks.
const PLAIN_TEXTS: &[(&str, &[&str])] = &[
    (RUSSIAN, &["KOI8-R", "IBM866", "ISO-8859-5", "IBM855"]),
    (UKRAINIAN, &["KOI8-U", "ISO-8859-5", "IBM855"]),
];

const UNICODE: &[&str] = &["UTF-8", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"];

/// Bytes 0x80 to 0xFF of cp855.
const CP855: &str = "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐└┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀\
    ЯрРсСтТуУжЖвВьЬ№\u{AD}ыЫзЗшШэЭщЩчЧ§■\u{A0}";

fn encode(text: &str, encoding: &str) -> Vec<u8> {
    match encoding {
        "UTF-16LE" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "UTF-16BE" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        "UTF-32LE" => text
            .chars()
            .flat_map(|char| u32::from(char).to_le_bytes())
            .collect(),
        "UTF-32BE" => text
            .chars()
            .flat_map(|char| u32::from(char).to_be_bytes())
            .collect(),
        "IBM855" => {
            let byte = |char: char| {
                0x80 + u8::try_from(CP855.chars().position(|other| other == char).unwrap()).unwrap()
            };
            text.chars()
                .map(|char| {
                    if char.is_ascii() {
                        char as u8
                    } else {
                        byte(char)
                    }
                })
                .collect()
        }
        _ => {
            let (bytes, _, lossy) = encoding_rs::Encoding::for_label(encoding.as_bytes())
                .unwrap()
                .encode(text);
            assert!(!lossy, "{encoding} cannot hold {text}");
            bytes.into_owned()
        }
    }
}

fn plain(text: &str) -> String {
    text.replace('—', "-").replace(['«', '»'], "\"")
}

/// Every text in each of its encodings, as (text, bytes, encoding).
fn samples() -> Vec<(String, Vec<u8>, &'static str)> {
    let mut samples = Vec::new();
    for (text, encodings) in TEXTS {
        for encoding in encodings.iter().chain(UNICODE) {
            samples.push(((*text).to_owned(), encode(text, encoding), *encoding));
        }
    }
    for (text, encodings) in PLAIN_TEXTS {
        for encoding in *encodings {
            samples.push((plain(text), encode(&plain(text), encoding), *encoding));
        }
    }
    samples
}

fn refusal(bytes: impl Into<Vec<u8>>) -> String {
    lapidary_extract::text(bytes.into(), None)
        .expect_err("a refusal")
        .to_string()
}

/// Noise, the same in every run.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(next).collect()
}

#[test]
fn encodings_are_detected() {
    for (text, bytes, encoding) in samples() {
        let found = lapidary_extract::text(bytes, None)
            .unwrap_or_else(|error| panic!("{encoding}: {error}: {text}"));
        assert_eq!(
            (found.encoding.to_string().as_str(), found.text.as_str()),
            (encoding, text.as_str())
        );
    }
}

#[test]
fn encodings_are_detected_in_long_texts() {
    for (text, bytes, encoding) in samples() {
        let times = 1_000_000 / bytes.len();
        let found = lapidary_extract::text(bytes.repeat(times), None).unwrap();
        assert_eq!(found.encoding.to_string(), encoding);
        assert_eq!(found.text, text.repeat(times));
    }
}

#[test]
fn encodings_are_used_as_given() {
    for (text, bytes, encoding) in samples() {
        let found = lapidary_extract::text(bytes, Some(encoding.parse().unwrap())).unwrap();
        assert_eq!(
            (found.encoding.to_string().as_str(), found.text.as_str()),
            (encoding, text.as_str())
        );
    }
}

#[test]
fn short_texts_are_detected() {
    for text in [
        "Привет, мир!",
        "Война и мир",
        "Глава первая",
        "граненый камень",
    ] {
        for encoding in [
            "windows-1251",
            "KOI8-R",
            "IBM866",
            "ISO-8859-5",
            "IBM855",
            "x-mac-cyrillic",
            "UTF-16LE",
            "UTF-8",
        ] {
            assert_eq!(
                lapidary_extract::text(encode(text, encoding), None)
                    .unwrap()
                    .text,
                text,
                "in {encoding}"
            );
        }
    }
    for text in ["à la carte", "Größe", "mañana", "£100 a year"] {
        assert_eq!(
            lapidary_extract::text(encode(text, "windows-1252"), None)
                .unwrap()
                .text,
            text
        );
    }
}

#[test]
fn a_dash_in_mac_cyrillic_is_no_letter_in_windows_1251() {
    let text = "Слово за слово. \n".repeat(1000);
    assert_eq!(
        lapidary_extract::text(encode(&text, "windows-1251"), None)
            .unwrap()
            .text,
        text
    );
}

#[test]
fn hebrew_is_not_cyrillic() {
    let text = "לפני שנים רבות חי בכפר קטן ליד הנהר מלטש אבנים זקן. בכל בוקר היה פורש על השולחן את האבנים שהביאו לו הכורים.";
    assert_eq!(
        lapidary_extract::text(encode(text, "windows-1255"), None)
            .unwrap()
            .text,
        text
    );
}

#[test]
fn a_byte_order_mark_is_taken_off_and_wins() {
    for given in [None, Some("cp1251".parse().unwrap())] {
        for encoding in UNICODE {
            for text in [RUSSIAN, CHINESE, "a", ""] {
                let bytes = [encode("\u{FEFF}", encoding), encode(text, encoding)].concat();
                let found = lapidary_extract::text(bytes, given).unwrap();
                assert_eq!(
                    (found.encoding.to_string().as_str(), found.text.as_str()),
                    (*encoding, text)
                );
            }
        }
    }
    let marked = [b"\xEF\xBB\xBF".to_vec(), encode(RUSSIAN, "windows-1251")].concat();
    assert_eq!(
        lapidary_extract::text(marked, None).unwrap().text,
        RUSSIAN,
        "the mark of UTF-8 before another encoding"
    );
}

#[test]
fn no_bytes_are_an_empty_text() {
    let found = lapidary_extract::text(Vec::new(), None).unwrap();
    assert_eq!((found.text.as_str(), found.encoding), ("", Encoding::UTF_8));
    let given = "koi8-r".parse().unwrap();
    assert_eq!(
        lapidary_extract::text(Vec::new(), Some(given))
            .unwrap()
            .encoding,
        given
    );
}

#[test]
fn long_utf8_keeps_its_memory() {
    let bytes = RUSSIAN.repeat((8 << 20) / RUSSIAN.len()).into_bytes();
    let place = bytes.as_ptr();
    assert_eq!(
        lapidary_extract::text(bytes, None).unwrap().text.as_ptr(),
        place
    );
}

#[test]
fn a_stray_byte_does_not_change_the_encoding() {
    let mut bytes = RUSSIAN.repeat(3).into_bytes();
    bytes.insert(RUSSIAN.len(), 0xFF);
    let found = lapidary_extract::text(bytes, None).unwrap();
    assert_eq!(found.encoding, Encoding::UTF_8);
    assert_eq!(found.text.replacen('\u{FFFD}', "", 1), RUSSIAN.repeat(3));
}

#[test]
fn a_text_may_be_cut_inside_a_character() {
    for (text, bytes, encoding) in samples() {
        for cut in 1..4 {
            let found =
                lapidary_extract::text(bytes[..bytes.len() / 2 / 4 * 4 + cut].to_vec(), None)
                    .unwrap();
            let whole = found.text.trim_end_matches('\u{FFFD}');
            // A truncated last character may decode to a different one.
            let whole = whole.trim_end_matches(|last| !text.contains(last));
            assert!(text.starts_with(whole), "{encoding}: {whole}");
        }
    }
}

#[test]
fn what_is_invalid_in_the_encoding_given_is_an_error_that_says_where() {
    for (bytes, encoding, at) in [
        (b"caf\xE9 au lait".to_vec(), "utf-8", 3),
        (b"\xEF\xBB\xBFcaf\xE9".to_vec(), "utf-8", 6),
        (vec![b'a', 0, 0x00, 0xD8, b'b', 0], "utf-16le", 2),
        (vec![b'a', 0, b'b'], "utf-16le", 2),
        (b"a\0\0\0\0\0\x11\0".to_vec(), "utf-32le", 4),
        (
            [vec![b'a'; 100_000], vec![0x81, 0x20]].concat(),
            "shift_jis",
            100_000,
        ),
        (vec![b'a', 0xFF], "windows-1253", 1),
    ] {
        let encoding: Encoding = encoding.parse().unwrap();
        match lapidary_extract::text(bytes, Some(encoding)) {
            Err(ExtractError::Undecodable {
                encoding: named,
                offset,
            }) => assert_eq!((named, offset), (encoding, at)),
            other => panic!("{encoding}: {other:?}"),
        }
    }
    let message = lapidary_extract::text(b"caf\xE9".to_vec(), Some(Encoding::UTF_8))
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("not valid UTF-8") && message.contains("offset 3"),
        "{message}"
    );
}

#[test]
fn known_formats_are_refused_by_name() {
    let palm = [&[b'b'; 60], b"BOOKMOBI".as_slice()].concat();
    for (bytes, name) in [
        (
            b"PK\x03\x04\x14\0\0\0\0\0notes.txt".to_vec(),
            "a ZIP archive",
        ),
        (b"%PDF-1.7\n".to_vec(), "a PDF document"),
        (b"{\\rtf1\\ansi Text}".to_vec(), "an RTF document"),
        (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec(), "an OLE2 file"),
        (palm, "a MOBI or AZW3 e-book"),
        (b"\x1F\x8B\x08\0".to_vec(), "a gzip archive"),
        (b"\x89PNG\r\n\x1A\n".to_vec(), "a PNG image"),
        (b"\xFF\xD8\xFF\xE0".to_vec(), "a JPEG image"),
        (b"GIF89a".to_vec(), "a GIF image"),
        (b"\x7FELF\x02\x01".to_vec(), "a program"),
        (b"SQLite format 3\0".to_vec(), "a SQLite database"),
    ] {
        let message = refusal(bytes.clone());
        assert!(
            message.starts_with(&format!("not a text: {name}")),
            "{name}: {message}"
        );
        let given = lapidary_extract::text(bytes, Some("cp1251".parse().unwrap()));
        assert!(matches!(given, Err(ExtractError::NotText { .. })), "{name}");
    }
    // These may well be books.
    for (bytes, name) in [
        (b"AT&TFORM\0\0\0\x4DDJVM".to_vec(), "a DjVu document"),
        (b"ITSF\x03\0\0\0".to_vec(), "a CHM help file"),
        (b"Rar!\x1A\x07\x01\0".to_vec(), "a RAR archive"),
        (b"7z\xBC\xAF\x27\x1C".to_vec(), "a 7z archive"),
    ] {
        let message = refusal(bytes);
        assert!(
            message.starts_with(&format!("not read: {name}")),
            "{name}: {message}"
        );
    }
}

#[test]
fn noise_is_refused() {
    for length in [64, 1000, 100_000, 3_000_000] {
        let message = refusal(noise(length));
        assert!(
            message.contains("of its characters are control characters"),
            "{length}: {message}"
        );
        let marked = [b"\xFF\xFE".to_vec(), noise(length)].concat();
        assert!(
            lapidary_extract::text(marked, None).is_err(),
            "{length} bytes behind a mark of UTF-16"
        );
    }
    let printable: Vec<u8> = noise(10_000)
        .into_iter()
        .filter(|byte| matches!(byte, 0x20..=0x7E | 0xA0..))
        .collect();
    assert!(refusal(printable).contains("do not belong together"));
    assert_eq!(
        refusal(vec![0; 1000]),
        "not a text: 100 % of its characters are control characters"
    );
}

#[test]
fn a_text_may_have_a_few_control_characters() {
    let text = format!("{RUSSIAN}\x0C{RUSSIAN}\x1B\tthe end\r\n\x1A\x1A\0\0\0\0\0\0");
    assert_eq!(
        lapidary_extract::text(text.clone().into_bytes(), None)
            .unwrap()
            .text,
        text
    );
    for text in [
        "\u{1}text",
        "te\u{81}xt",
        "\u{7}\u{7}\u{7}\u{7}\u{7}\u{7}\u{7}",
    ] {
        assert_eq!(
            lapidary_extract::text(text.into(), None).unwrap().text,
            text
        );
    }
    let given = lapidary_extract::text(
        b"\x01\x02\x03 text".to_vec(),
        Some("cp1251".parse().unwrap()),
    )
    .unwrap_err();
    assert_eq!(
        given.to_string(),
        "not a text: read as windows-1251, 38 % of its characters are control characters"
    );
}

/// Bytes taken for Latin-1, in UTF-8: those from 0x80 to 0x9F become control characters.
fn as_latin_1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Quotation marks, dashes and letters that a wrong conversion made control characters leave a text readable.
#[test]
fn a_text_in_windows_1252_that_was_taken_for_latin_1_is_read() {
    let nine = format!(
        "\u{96} {}{}",
        "\u{93}No\u{94}, said the cutter \u{97} \u{92}tis stone.".repeat(2),
        "a word. ".repeat(99)
    );
    let nine: String = nine.chars().take(877).collect();
    assert_eq!(
        nine.chars()
            .filter(|char| ('\u{80}'..'\u{a0}').contains(char))
            .count(),
        9
    );
    let quotes = "“Don’t,” said she – “it’s a stone…” She weighed it in her hand, and gave it back to the old cutter. ";
    for (text, encoding) in [
        (nine.as_str(), encoding_rs::UTF_8),
        (quotes, encoding_rs::WINDOWS_1252),
        (FRENCH, encoding_rs::WINDOWS_1252),
        (CZECH, encoding_rs::WINDOWS_1250),
        (POLISH, encoding_rs::WINDOWS_1250),
    ] {
        for times in [1, 5, 4_000] {
            let text = if encoding == encoding_rs::UTF_8 {
                text.to_owned()
            } else {
                as_latin_1(&encoding.encode(text).0)
            };
            let text = text.repeat(times);
            assert_eq!(
                lapidary_extract::text(text.clone().into_bytes(), None)
                    .unwrap()
                    .text,
                text
            );
        }
    }
    // Noise is still noise.
    for length in [1_000, 100_000] {
        let message = refusal(as_latin_1(&noise(length)).into_bytes());
        assert!(
            message.contains("control characters"),
            "{length}: {message}"
        );
    }
    let mostly = "a\u{93}\u{94}\u{97}".repeat(300);
    assert!(refusal(mostly.into_bytes()).contains("control characters"));
}

#[test]
fn markup_is_text() {
    for text in [
        "<?xml version=\"1.0\"?><FictionBook>",
        "<!DOCTYPE html><p>Text</p>",
        "{\"a\": 1}",
    ] {
        assert_eq!(
            lapidary_extract::text(text.into(), None).unwrap().text,
            text
        );
    }
}

#[test]
fn names_of_encodings() {
    for (name, encoding) in [
        ("utf-8", "UTF-8"),
        ("UTF8", "UTF-8"),
        ("cp1251", "windows-1251"),
        ("win-1251", "windows-1251"),
        ("1251", "windows-1251"),
        ("cp866", "IBM866"),
        ("IBM855", "IBM855"),
        ("cp855", "IBM855"),
        ("koi8-r", "KOI8-R"),
        ("koi8_u", "KOI8-U"),
        ("mac-cyrillic", "x-mac-cyrillic"),
        ("mac_cyrillic", "x-mac-cyrillic"),
        ("x-mac-cyrillic", "x-mac-cyrillic"),
        ("latin1", "windows-1252"),
        ("iso8859_5", "ISO-8859-5"),
        ("utf-16", "UTF-16LE"),
        ("utf_16_be", "UTF-16BE"),
        ("utf-32", "UTF-32LE"),
        ("utf-32be", "UTF-32BE"),
        (" Shift_JIS ", "Shift_JIS"),
    ] {
        let parsed: Encoding = name.parse().unwrap();
        assert_eq!(parsed.to_string(), encoding);
        assert_eq!(
            encoding.parse(),
            Ok(parsed),
            "a name that is displayed is known"
        );
    }
    for name in [
        "",
        "cp9999",
        "iso-2022-kr",
        "x-user-defined",
        "утф-8",
        "windows-",
    ] {
        let message = name.parse::<Encoding>().unwrap_err().to_string();
        assert!(
            message.contains(&format!("“{name}”")) && message.contains("koi8-r"),
            "{message}"
        );
    }
}

#[test]
fn all_bytes_of_cp855() {
    let bytes: Vec<u8> = (0x80..=0xFF).collect();
    let found = lapidary_extract::text(bytes, Some("cp855".parse().unwrap()));
    // The text is nonsense, but a given encoding is only required to yield letters.
    assert!(found.is_err() || found.unwrap().text == CP855);
    for char in CP855.chars() {
        let found = lapidary_extract::text(
            encode(&char.to_string(), "IBM855"),
            Some("cp855".parse().unwrap()),
        )
        .unwrap();
        assert_eq!(found.text, char.to_string());
    }
}

/// Uses real books if they are present.
#[test]
fn books_survive_every_encoding_that_holds_them() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let Ok(languages) = std::fs::read_dir(&corpus) else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: there are no books at {}",
            corpus.display()
        );
        return;
    };
    let folders = languages
        .flatten()
        .filter_map(|language| std::fs::read_dir(language.path()).ok());
    for file in folders.flat_map(Iterator::flatten) {
        let book = plain(&std::fs::read_to_string(file.path()).unwrap());
        for encoding in [
            "windows-1251",
            "KOI8-U",
            "IBM866",
            "ISO-8859-5",
            "x-mac-cyrillic",
            "windows-1252",
            "windows-1250",
        ] {
            let (bytes, _, lossy) = encoding_rs::Encoding::for_label(encoding.as_bytes())
                .unwrap()
                .encode(&book);
            // Texts without non-ASCII letters, such as English ones, fit all encodings.
            if !lossy {
                let taken_for_latin_1 = as_latin_1(&bytes);
                let found = lapidary_extract::text(bytes.into_owned(), None).unwrap();
                assert!(
                    found.text == book,
                    "{} in {encoding}: read as {}",
                    file.path().display(),
                    found.encoding
                );
                if encoding == "windows-1252" {
                    let found =
                        lapidary_extract::text(taken_for_latin_1.clone().into_bytes(), None)
                            .unwrap();
                    assert!(
                        found.text == taken_for_latin_1,
                        "{} in {encoding} as Latin-1",
                        file.path().display()
                    );
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300), mark in 0..6_usize, given in 0..9_usize) {
        let marks: [&[u8]; 6] = [b"", b"\xEF\xBB\xBF", b"\xFF\xFE", b"\xFE\xFF", b"\xFF\xFE\0\0", b"\0\0\xFE\xFF"];
        let names =
            ["utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "cp855", "gb18030", "iso-2022-jp", "shift_jis"];
        let bytes = [marks[mark].to_vec(), bytes].concat();
        for encoding in [None, Some(names[given].parse().unwrap())] {
            if let Err(ExtractError::Undecodable { offset, .. }) = lapidary_extract::text(bytes.clone(), encoding) {
                prop_assert!(encoding.is_some() && offset < bytes.len());
            }
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 200..2000)) {
        prop_assert!(lapidary_extract::text(bytes, None).is_err());
    }

    #[test]
    fn utf8_is_never_taken_for_anything_else(text in "[а-яёіїєa-z ,.—«»一-龠]{1,200}") {
        prop_assert_eq!(lapidary_extract::text(text.clone().into_bytes(), None).unwrap().text, text);
    }
}

#[test]
fn a_text_is_read_the_same_however_long() {
    // Long texts are decoded on a different path.
    for lines in [10, 200_000] {
        let mut bytes = "Гранит и самоцветы лежали в сундуке.\n"
            .repeat(lines)
            .into_bytes();
        let text = lapidary_extract::text(bytes.clone(), None)
            .expect("a text")
            .text;
        assert_eq!(text.as_bytes(), bytes);
        let middle = bytes.len() / 2 / 67 * 67;
        bytes[middle] = 0xff;
        let lossy = lapidary_extract::text(bytes.clone(), None)
            .expect("a text")
            .text;
        assert_eq!(lossy, String::from_utf8_lossy(&bytes));
        let given = "utf-8".parse().ok();
        let error = lapidary_extract::text(bytes, given).expect_err("a broken byte");
        assert!(
            error.to_string().contains(&format!("offset {middle} ")),
            "{error}"
        );
    }
}
