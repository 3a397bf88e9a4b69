//! Territories: countries (ISO 3166-1 alpha-2, ONIX list 91) and regions (ONIX list 49).

use std::fmt;
use std::str::FromStr;

/// The countries of ISO 3166-1, in code order.
const COUNTRIES: &str = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR \
                         BS BT BV BW BY \
    BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK \
    FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR \
    IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK \
    ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM \
    PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF \
    TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW";
/// Codes of former countries that are still on list 91.
const FORMER: [&str; 3] = ["AN", "CS", "YU"];
/// Common mistakes, and the correct code.
const MEANT: [(&str, &str); 8] = [
    ("UK", "GB"),
    ("EN", "GB"),
    ("GBR", "GB"),
    ("EL", "GR"),
    ("USA", "US"),
    ("GER", "DE"),
    ("DEU", "DE"),
    ("RUS", "RU"),
];

/// A country, or a region of one, such as `DE` or `GB-SCT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Territory(String);

/// The word is not a territory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{word:?} is not a territory{}: give an ISO 3166 country such as DE, or a region of ONIX list 49 such as GB-SCT",
    meant.map(|code| format!(" ({code} is meant?)")).unwrap_or_default()
)]
pub struct BadTerritory {
    word: String,
    meant: Option<&'static str>,
}

impl FromStr for Territory {
    type Err = BadTerritory;

    fn from_str(word: &str) -> Result<Self, BadTerritory> {
        match Code::read(word) {
            Code::Country(_) | Code::Region(..) => Ok(Self(word.to_owned())),
            Code::World | Code::Rest | Code::Unknown => {
                let upper = word.to_ascii_uppercase();
                let meant = MEANT
                    .iter()
                    .find(|(written, _)| *written == upper)
                    .map(|(_, code)| *code);
                Err(BadTerritory {
                    word: word.chars().take(80).collect(),
                    meant: meant.or_else(|| COUNTRIES.split(' ').find(|country| *country == upper)),
                })
            }
        }
    }
}

impl fmt::Display for Territory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A territory code in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code<'a> {
    World,
    /// The world, except the other territories that the record names.
    Rest,
    Country(&'a str),
    /// A region, and its country.
    Region(&'a str, &'a str),
    /// An unknown code, or one whose countries change over time (`ECZ`).
    Unknown,
}

impl<'a> Code<'a> {
    pub(super) fn read(word: &'a str) -> Self {
        match word.split_once('-') {
            _ if word == "WORLD" => Self::World,
            _ if word == "ROW" => Self::Rest,
            None if is_country(word) => Self::Country(word),
            Some((country, part)) if is_country(country) && is_part(part) => {
                Self::Region(word, country)
            }
            _ => Self::Unknown,
        }
    }
}

fn is_country(word: &str) -> bool {
    word.len() == 2
        && COUNTRIES
            .split(' ')
            .chain(FORMER)
            .any(|known| known == word)
}

/// Whether it is the code of a subdivision in ISO 3166-2: one to three letters or digits.
fn is_part(word: &str) -> bool {
    (1..=3).contains(&word.len())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Where a statement of a record applies, as lists of codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) included: Vec<String>,
    pub(super) excluded: Vec<String>,
}

/// Whether a statement applies in a territory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Yes,
    No,
    /// It applies where no other statement does.
    AsRest,
    /// It cannot be interpreted, or applies in a part of the territory.
    Perhaps,
}

impl Area {
    pub(super) fn holds(&self, territory: &Territory) -> Holds {
        let (here, country) = match Code::read(&territory.0) {
            Code::Region(region, country) => (region, country),
            _ => (territory.0.as_str(), territory.0.as_str()),
        };
        let included: Vec<Code<'_>> = self.included.iter().map(|word| Code::read(word)).collect();
        let excluded: Vec<Code<'_>> = self.excluded.iter().map(|word| Code::read(word)).collect();
        let is_here = |code: &Code<'_>| match *code {
            Code::Country(code) => code == country,
            Code::Region(code, _) => code == here,
            Code::World | Code::Rest | Code::Unknown => false,
        };
        // A part of the country, if the query is for the whole country.
        let is_part = |code: &Code<'_>| matches!(*code, Code::Region(_, of) if here == country && of == country);
        if excluded.iter().any(is_here) {
            Holds::No
        } else if included.contains(&Code::World) || included.iter().any(is_here) {
            if has_unknown(&excluded) {
                Holds::Perhaps
            } else {
                Holds::Yes
            }
        } else if included.is_empty() || has_unknown(&included) || included.iter().any(is_part) {
            Holds::Perhaps
        } else if included.contains(&Code::Rest) {
            Holds::AsRest
        } else {
            Holds::No
        }
    }

    /// The unknown codes in it.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &str> {
        let words = self
            .included
            .iter()
            .chain(&self.excluded)
            .map(String::as_str);
        words.filter(|word| Code::read(word) == Code::Unknown)
    }
}

fn has_unknown(codes: &[Code<'_>]) -> bool {
    codes.contains(&Code::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_iso_3166() {
        let countries: Vec<&str> = COUNTRIES.split(' ').collect();
        assert_eq!(countries.len(), 249);
        assert!(countries.is_sorted() && countries.iter().all(|code| code.len() == 2));
    }

    #[test]
    fn what_is_a_territory() {
        for word in ["DE", "GB", "RU", "US-NY", "GB-SCT", "CN-11", "FR-H"] {
            assert_eq!(
                word.parse::<Territory>()
                    .map(|territory| territory.to_string())
                    .as_deref(),
                Ok(word)
            );
        }
        let table = [
            ("ZZ", None),
            ("UK", Some("GB")),
            ("uk", Some("GB")),
            ("de", Some("DE")),
            ("USA", Some("US")),
            ("Germany", None),
            ("DE-", None),
            ("DE-12345", None),
            ("ZZ-1", None),
            ("", None),
            ("ROW", None),
            ("WORLD", None),
        ];
        for (word, meant) in table {
            let error = word.parse::<Territory>().expect_err(word);
            assert_eq!(error.meant, meant, "{word}");
            let said = error.to_string();
            assert!(
                meant.is_none_or(|code| said.contains(&format!("({code} is meant?)"))),
                "{said}"
            );
        }
    }

    #[test]
    fn where_a_statement_holds() {
        use Holds::{AsRest, No, Perhaps, Yes};
        let words = |list: &str| list.split_whitespace().map(str::to_owned).collect();
        let table = [
            ("DE AT", "", "DE", Yes),
            ("DE AT", "", "FR", No),
            ("WORLD", "DE AT", "DE", No),
            ("WORLD", "DE AT", "FR", Yes),
            ("GB", "", "GB-SCT", Yes),
            ("GB", "GB-SCT", "GB-SCT", No),
            ("GB", "GB-SCT", "GB", Yes),
            ("GB-SCT", "", "GB-SCT", Yes),
            ("GB-SCT", "", "GB-WLS", No),
            ("GB-SCT", "", "GB", Perhaps),
            ("ROW", "", "GB", AsRest),
            ("ROW", "GB", "GB", No),
            ("UK", "", "GB", Perhaps),
            ("UK", "", "DE", Perhaps),
            ("DE UK", "", "DE", Yes),
            ("DE UK", "", "GB", Perhaps),
            ("WORLD", "UK", "GB", Perhaps),
            ("WORLD", "UK DE", "DE", No),
            ("ECZ", "", "DE", Perhaps),
            ("", "", "DE", Perhaps),
        ];
        for (included, excluded, territory, holds) in table {
            let area = Area {
                included: words(included),
                excluded: words(excluded),
            };
            let territory = territory.parse().expect("a territory");
            assert_eq!(
                area.holds(&territory),
                holds,
                "{included:?} without {excluded:?} in {territory}"
            );
        }
    }
}
