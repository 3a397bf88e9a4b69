//! The names of signatures: a method, then each parameter that is not the usual one as `;key=value` in alphabetical order,
//! then `@` and the name of the lexicon.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use super::hash::Charset;
use super::lexicon::Lexicon;
use super::method::{SignatureMethod, Weight};
use super::selected::{IMatch, KeyWords};
use super::words::{Filter, StopList};
use super::{GemSize, Signature};

/// All methods.
pub(crate) const METHODS: [&str; 17] = [
    "sum",
    "tf",
    "tf-idf",
    "tf-ridf",
    "tf-idfopt",
    "long-sent",
    "heavy-sent",
    "i-match",
    "mega-shingles",
    "key-words",
    "winnow",
    "full-text",
    "n-blocks",
    "shingles",
    "mod-shingles",
    "min-shingles",
    "set",
];

/// Why a name is not that of a signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SignatureError {
    #[error("no such method")]
    Method,
    #[error("{0}")]
    Parameter(String),
    #[error("it needs a lexicon, the file that `lapidary lexicon count` wrote (--lexicon FILE)")]
    NeedsLexicon,
    #[error("it needs the lexicon {asked}, but the given one is {given}")]
    OtherLexicon { asked: String, given: String },
}

/// Counts that no parameter exceeds.
const MOST: usize = 1_000_000;
/// The most words in a run: each word is hashed so many times.
const MOST_IN_RUN: usize = 100;

/// All words.
const ALL: Filter = Filter::new(StopList::None, 1);
/// All but those of closed word classes.
const OPEN: Filter = Filter::new(StopList::Closed, 1);

impl Signature {
    /// All but those of closed word classes and short ones.
    pub(super) const CONTENT: Filter = Filter::new(StopList::Closed, 3);

    /// The signature of this name. A lexicon that it does not need is ignored.
    pub(crate) fn named(
        name: &str,
        lexicon: Option<&Arc<Lexicon>>,
    ) -> Result<Self, SignatureError> {
        let (rest, asked) = name
            .split_once('@')
            .map_or((name, None), |(rest, asked)| (rest, Some(asked)));
        let (method, given) = rest
            .split_once(';')
            .map_or((rest, None), |(method, given)| (method, Some(given)));
        let mut known = METHODS.into_iter();
        let method = known
            .find(|known| *known == method)
            .ok_or(SignatureError::Method)?;
        let mut parameters = Parameters::of(method, given)?;
        let members = parameters.members()?;
        let lexicon = lexicon_of(method, &members, lexicon, asked)?;
        let by_paragraph = parameters.by_paragraph()?;
        let size = parameters.size()?;
        let charset = parameters.take("charset", Charset::Utf8, |_| true)?;
        let (method, min_words, filter) = if method == "set" {
            let members = members_named(&members, by_paragraph, lexicon.as_ref())?;
            (SignatureMethod::Set(members), 1, ALL)
        } else {
            let (method, usual) = parameters.method()?;
            let min_words = parameters.min_words(by_paragraph)?;
            let filter = match &lexicon {
                Some(lexicon) => lexicon.filter(),
                None => parameters.filter(usual)?,
            };
            (method, min_words, filter)
        };
        Ok(Self {
            name: parameters.finish(lexicon.as_deref())?,
            method,
            filter,
            by_paragraph,
            min_words,
            size,
            charset,
            lexicon,
        })
    }
}

/// The lexicon of a signature, if it needs one; `asked` is what its name ends with.
fn lexicon_of(
    method: &str,
    members: &[&str],
    given: Option<&Arc<Lexicon>>,
    asked: Option<&str>,
) -> Result<Option<Arc<Lexicon>>, SignatureError> {
    let mut methods = members.iter().chain([&method]);
    if !methods.any(|method| WEIGHED.contains(method)) {
        return match asked {
            None => Ok(None),
            Some(_) => Err(SignatureError::Parameter(format!(
                "{method} needs no lexicon"
            ))),
        };
    }
    let given = given.ok_or(SignatureError::NeedsLexicon)?;
    match asked {
        Some(asked) if asked != given.name() => Err(SignatureError::OtherLexicon {
            asked: asked.to_owned(),
            given: given.name().to_owned(),
        }),
        _ => Ok(Some(Arc::clone(given))),
    }
}

/// The signatures that make a set.
fn members_named(
    methods: &[&str],
    by_paragraph: bool,
    lexicon: Option<&Arc<Lexicon>>,
) -> Result<Vec<Signature>, SignatureError> {
    let unit = if by_paragraph { ";unit=paragraph" } else { "" };
    methods
        .iter()
        .map(|method| Signature::named(&format!("{method}{unit}"), lexicon))
        .collect()
}

/// The names of the signatures that weigh words by a [`Lexicon`], which also says which words count.
pub const WEIGHED: [&str; 6] = [
    "tf-idf",
    "tf-ridf",
    "tf-idfopt",
    "heavy-sent",
    "i-match",
    "key-words",
];

/// The parameters of a name, of which each is taken once.
struct Parameters<'a> {
    method: &'static str,
    given: BTreeMap<&'a str, &'a str>,
    known: Vec<&'static str>,
    /// Those that are not the usual ones, as in names.
    unusual: BTreeMap<&'static str, String>,
}

impl<'a> Parameters<'a> {
    fn of(method: &'static str, given: Option<&'a str>) -> Result<Self, SignatureError> {
        let mut of = Self {
            method,
            given: BTreeMap::new(),
            known: Vec::new(),
            unusual: BTreeMap::new(),
        };
        for parameter in given.into_iter().flat_map(|given| given.split(';')) {
            let Some((key, value)) = parameter.split_once('=') else {
                return Err(SignatureError::Parameter(format!(
                    "'{parameter}' is not a parameter, such as n=4"
                )));
            };
            if of.given.insert(key, value).is_some() {
                return Err(SignatureError::Parameter(format!("'{key}' is given twice")));
            }
        }
        Ok(of)
    }

    fn take<T: FromStr + Display + PartialEq>(
        &mut self,
        key: &'static str,
        usual: T,
        is_valid: impl Fn(&T) -> bool,
    ) -> Result<T, SignatureError> {
        self.known.push(key);
        let Some(given) = self.given.remove(key) else {
            return Ok(usual);
        };
        let value = given.parse().ok().filter(is_valid);
        let value: T =
            value.ok_or_else(|| SignatureError::Parameter(format!("there is no {key}={given}")))?;
        if value != usual {
            self.unusual.insert(key, value.to_string());
        }
        Ok(value)
    }

    fn number(
        &mut self,
        key: &'static str,
        usual: usize,
        range: RangeInclusive<usize>,
    ) -> Result<usize, SignatureError> {
        self.take(key, usual, |number| range.contains(number))
    }

    fn filter(&mut self, usual: Filter) -> Result<Filter, SignatureError> {
        Ok(Filter {
            stop: self.take("stop", usual.stop, |_| true)?,
            stem: self.take("stem", usual.stem, |_| true)?,
            min_len: self.number("min_len", usual.min_len, 1..=1_000)?,
        })
    }

    /// The methods of a set; none of any other signature.
    fn members(&mut self) -> Result<Vec<&'static str>, SignatureError> {
        if self.method != "set" {
            return Ok(Vec::new());
        }
        let usual = SetMembers(vec!["sum", "tf", "long-sent"]);
        Ok(self.take("members", usual, |_| true)?.0)
    }

    fn by_paragraph(&mut self) -> Result<bool, SignatureError> {
        Ok(self.take("unit", SignatureUnit::Document, |_| true)? == SignatureUnit::Paragraph)
    }

    fn size(&mut self) -> Result<GemSize, SignatureError> {
        let bits = self.take("bits", u64::BITS, |bits| matches!(bits, 32 | 64))?;
        Ok(if bits == u32::BITS {
            GemSize::Short
        } else {
            GemSize::Long
        })
    }

    fn min_words(&mut self, by_paragraph: bool) -> Result<usize, SignatureError> {
        let usual = if by_paragraph { 8 } else { 1 };
        self.number("min_words", usual, 1..=MOST)
    }

    /// The method with its own parameters, and the words that it takes if nothing else says it.
    fn method(&mut self) -> Result<(SignatureMethod, Filter), SignatureError> {
        let content = Signature::CONTENT;
        Ok(match self.method {
            "sum" => (SignatureMethod::Sum, ALL),
            "tf" => (self.top(Weight::Tf)?, content),
            "tf-idf" => (self.top(Weight::TfIdf)?, content),
            "tf-ridf" => (self.top(Weight::TfRidf)?, content),
            "tf-idfopt" => {
                let opt = self.decimal("opt", 11.5, |opt| (0.001..=1_000.0).contains(&opt))?;
                (self.top(Weight::TfIdfOpt { opt })?, content)
            }
            "long-sent" => (self.sentences(false)?, OPEN),
            "heavy-sent" => (self.sentences(true)?, content),
            "i-match" => (self.i_match()?, content),
            "key-words" => (self.key_words()?, content),
            "full-text" => {
                let n = self.number("n", 40, 1..=MOST)?;
                (SignatureMethod::FullText { n }, OPEN)
            }
            "n-blocks" => {
                let n = self.number("n", 4, 1..=MOST)?;
                let k = self.number("k", 5, 1..=MOST)?;
                (SignatureMethod::NBlocks { n, k }, OPEN)
            }
            _ => self.runs()?,
        })
    }

    /// A method that takes runs of words.
    fn runs(&mut self) -> Result<(SignatureMethod, Filter), SignatureError> {
        Ok(match self.method {
            "mega-shingles" => {
                let k = self.words_of_run(5)?;
                (SignatureMethod::MegaShingles { k }, ALL)
            }
            "winnow" => {
                let k = self.words_of_run(4)?;
                let w = self.number("w", 7, 1..=MOST)?;
                (SignatureMethod::Winnow { k, w }, OPEN)
            }
            "shingles" => {
                let k = self.words_of_run(4)?;
                (SignatureMethod::Shingles { k }, OPEN)
            }
            "mod-shingles" => {
                let k = self.words_of_run(5)?;
                let m = self.number("m", 25, 1..=MOST)? as u64;
                (SignatureMethod::ModShingles { k, m }, ALL)
            }
            "min-shingles" => {
                let k = self.words_of_run(5)?;
                let s = self.number("s", 400, 1..=MOST)?;
                (SignatureMethod::MinShingles { k, s }, ALL)
            }
            _ => return Err(SignatureError::Method),
        })
    }

    fn words_of_run(&mut self, usual: usize) -> Result<usize, SignatureError> {
        self.number("k", usual, 1..=MOST_IN_RUN)
    }

    fn decimal(
        &mut self,
        key: &'static str,
        usual: f64,
        is_valid: impl Fn(f64) -> bool,
    ) -> Result<f64, SignatureError> {
        Ok(self.take(key, Decimal(usual), |given| is_valid(given.0))?.0)
    }

    fn top(&mut self, weight: Weight) -> Result<SignatureMethod, SignatureError> {
        Ok(SignatureMethod::Top {
            weight,
            n: self.number("n", 6, 1..=MOST)?,
        })
    }

    fn sentences(&mut self, heavy: bool) -> Result<SignatureMethod, SignatureError> {
        Ok(SignatureMethod::Sentences {
            heavy,
            n: self.number("n", 2, 1..=MOST)?,
            join: self.take("join", true, |_| true)?,
        })
    }

    fn i_match(&mut self) -> Result<SignatureMethod, SignatureError> {
        Ok(SignatureMethod::IMatch(IMatch {
            mid: self.decimal("mid", 0.4, |mid| mid == 0.0 || (0.001..=1.0).contains(&mid))?,
            size: self.number("size", 1_000, 1..=MOST)?,
            lexicons: self.number("lexicons", 10, 0..=1_000)? as u64,
            lack: self.number("lack", 330, 0..=1_000)? as u64,
            threshold: self.number("threshold", 20, 0..=MOST)?,
            chosen: OnceLock::new(),
        }))
    }

    fn key_words(&mut self) -> Result<SignatureMethod, SignatureError> {
        Ok(SignatureMethod::KeyWords(KeyWords {
            size: self.number("size", 4_000, 1..=MOST)?,
            df_hi: self.number("df_hi", 50, 0..=100)? as u64,
            chosen: OnceLock::new(),
        }))
    }

    /// The name, if nothing was given that the method does not have.
    fn finish(self, lexicon: Option<&Lexicon>) -> Result<String, SignatureError> {
        let Self {
            method,
            given,
            mut known,
            unusual,
        } = self;
        if let Some(key) = given.into_keys().next() {
            known.sort_unstable();
            let fixed = matches!(key, "stop" | "stem" | "min_len") && lexicon.is_some();
            let why = if fixed {
                "; the lexicon determines the words"
            } else {
                ""
            };
            return Err(SignatureError::Parameter(format!(
                "{method} has no parameter '{key}', only {}{why}",
                known.join(", ")
            )));
        }
        let mut name = method.to_owned();
        for (key, value) in unusual {
            name.extend([";", key, "=", &value]);
        }
        if let Some(lexicon) = lexicon {
            name.extend(["@", lexicon.name()]);
        }
        Ok(name)
    }
}

/// What a signature is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignatureUnit {
    Document,
    Paragraph,
}

impl Display for SignatureUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Document {
            "document"
        } else {
            "paragraph"
        })
    }
}

impl FromStr for SignatureUnit {
    type Err = ();

    fn from_str(unit: &str) -> Result<Self, ()> {
        [Self::Document, Self::Paragraph]
            .into_iter()
            .find(|known| known.to_string() == unit)
            .ok_or(())
    }
}

/// A number that is written with a point, as Python does.
#[derive(PartialEq)]
struct Decimal(f64);

impl Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for Decimal {
    type Err = std::num::ParseFloatError;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        written.parse().map(Self)
    }
}

/// The methods of a set.
#[derive(PartialEq)]
struct SetMembers(Vec<&'static str>);

impl Display for SetMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("+"))
    }
}

impl FromStr for SetMembers {
    type Err = ();

    fn from_str(names: &str) -> Result<Self, ()> {
        let mut members = Vec::new();
        for name in names.split('+') {
            let known = METHODS.into_iter().find(|known| *known == name);
            let member = known.filter(|known| *known != "set" && !members.contains(known));
            members.push(member.ok_or(())?);
        }
        Ok(Self(members))
    }
}
