//! The names of signatures: a method, then each parameter that is not the usual one as `;key=value` in alphabetical order,
//! then `@` and the name of the lexicon.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::iter;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use super::hash::Charset;
use super::lexicon::Lexicon;
use super::method::{Method, Weight};
use super::selected::{IMatch, KeyWords};
use super::words::{Filter, Stem, Stop};
use super::{Signature, Size};

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
const ALL: Filter = Filter::new(Stop::None, 1);
/// All but those of closed word classes.
const OPEN: Filter = Filter::new(Stop::Closed, 1);

impl Signature {
    /// All but those of closed word classes and short ones.
    pub(super) const CONTENT: Filter = Filter::new(Stop::Closed, 3);

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
        let method = METHODS
            .into_iter()
            .find(|known| *known == method)
            .ok_or(SignatureError::Method)?;
        let mut parameters = Parameters::of(method, given)?;
        let members = match method {
            "set" => {
                parameters
                    .take("members", Members(vec!["sum", "tf", "long-sent"]), |_| true)?
                    .0
            }
            _ => Vec::new(),
        };
        let needs_lexicon = [method]
            .iter()
            .chain(&members)
            .any(|method| WEIGHED.contains(method));
        let lexicon = match (needs_lexicon, lexicon, asked) {
            (false, _, Some(_)) => {
                return Err(SignatureError::Parameter(format!(
                    "{method} needs no lexicon"
                )));
            }
            (false, ..) => None,
            (true, None, _) => return Err(SignatureError::NeedsLexicon),
            (true, Some(lexicon), Some(asked)) if asked != lexicon.name() => {
                let (asked, given) = (asked.to_owned(), lexicon.name().to_owned());
                return Err(SignatureError::OtherLexicon { asked, given });
            }
            (true, Some(lexicon), _) => Some(Arc::clone(lexicon)),
        };
        let of_lexicon = lexicon
            .as_ref()
            .filter(|_| method != "set")
            .map(|lexicon| lexicon.filter());
        let by_paragraph = parameters.take("unit", Unit::Document, |_| true)? == Unit::Paragraph;
        let bits = parameters.take("bits", u64::BITS, |bits| matches!(bits, 32 | 64))?;
        let charset = parameters.take("charset", Charset::Utf8, |_| true)?;
        let (method, min_words, filter) = if method == "set" {
            let unit = if by_paragraph { ";unit=paragraph" } else { "" };
            let member = |method: &&str| Self::named(&format!("{method}{unit}"), lexicon.as_ref());
            (
                Method::Set(members.iter().map(member).collect::<Result<_, _>>()?),
                1,
                ALL,
            )
        } else {
            let (method, filter) = parameters.method(method)?;
            let min_words =
                parameters.number("min_words", if by_paragraph { 8 } else { 1 }, 1..=MOST)?;
            let filter = of_lexicon.map_or_else(|| parameters.filter(filter), Ok)?;
            (method, min_words, filter)
        };
        let name = parameters.finish(lexicon.as_deref())?;
        let size = if bits == u32::BITS {
            Size::Short
        } else {
            Size::Long
        };
        Ok(Self {
            name,
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

    fn filter(
        &mut self,
        Filter {
            stop,
            stem,
            min_len,
        }: Filter,
    ) -> Result<Filter, SignatureError> {
        let stop: Stop = self.take("stop", stop, |_| true)?;
        let stem: Stem = self.take("stem", stem, |_| true)?;
        let min_len = self.number("min_len", min_len, 1..=1_000)?;
        Ok(Filter {
            stop,
            stem,
            min_len,
        })
    }

    /// The method with its own parameters, and the words that it takes if nothing else says it.
    fn method(&mut self, method: &'static str) -> Result<(Method, Filter), SignatureError> {
        let content = Signature::CONTENT;
        Ok(match method {
            "sum" => (Method::Sum, ALL),
            "tf" => (self.top(Weight::Tf)?, content),
            "tf-idf" => (self.top(Weight::TfIdf)?, content),
            "tf-ridf" => (self.top(Weight::TfRidf)?, content),
            "tf-idfopt" => {
                let Decimal(opt) = self.take("opt", Decimal(11.5), |opt| {
                    (0.001..=1_000.0).contains(&opt.0)
                })?;
                (self.top(Weight::TfIdfOpt { opt })?, content)
            }
            "long-sent" => (self.sentences(false)?, OPEN),
            "heavy-sent" => (self.sentences(true)?, content),
            "i-match" => (self.i_match()?, content),
            "mega-shingles" => (
                Method::MegaShingles {
                    k: self.words_of_run(5)?,
                },
                ALL,
            ),
            "key-words" => {
                let size = self.number("size", 4_000, 1..=MOST)?;
                let df_hi = self.number("df_hi", 50, 0..=100)? as u64;
                (
                    Method::KeyWords(KeyWords {
                        size,
                        df_hi,
                        chosen: OnceLock::new(),
                    }),
                    content,
                )
            }
            "winnow" => (
                Method::Winnow {
                    k: self.words_of_run(4)?,
                    w: self.number("w", 7, 1..=MOST)?,
                },
                OPEN,
            ),
            "full-text" => (
                Method::FullText {
                    n: self.number("n", 40, 1..=MOST)?,
                },
                OPEN,
            ),
            "n-blocks" => (
                Method::NBlocks {
                    n: self.number("n", 4, 1..=MOST)?,
                    k: self.number("k", 5, 1..=MOST)?,
                },
                OPEN,
            ),
            "shingles" => (
                Method::Shingles {
                    k: self.words_of_run(4)?,
                },
                OPEN,
            ),
            "mod-shingles" => (
                Method::ModShingles {
                    k: self.words_of_run(5)?,
                    m: self.number("m", 25, 1..=MOST)? as u64,
                },
                ALL,
            ),
            "min-shingles" => (
                Method::MinShingles {
                    k: self.words_of_run(5)?,
                    s: self.number("s", 400, 1..=MOST)?,
                },
                ALL,
            ),
            _ => return Err(SignatureError::Method),
        })
    }

    fn words_of_run(&mut self, usual: usize) -> Result<usize, SignatureError> {
        self.number("k", usual, 1..=MOST_IN_RUN)
    }

    fn top(&mut self, weight: Weight) -> Result<Method, SignatureError> {
        Ok(Method::Top {
            weight,
            n: self.number("n", 6, 1..=MOST)?,
        })
    }

    fn sentences(&mut self, heavy: bool) -> Result<Method, SignatureError> {
        Ok(Method::Sentences {
            heavy,
            n: self.number("n", 2, 1..=MOST)?,
            join: self.take("join", true, |_| true)?,
        })
    }

    fn i_match(&mut self) -> Result<Method, SignatureError> {
        Ok(Method::IMatch(IMatch {
            mid: self
                .take("mid", Decimal(0.4), |mid| {
                    mid.0 == 0.0 || (0.001..=1.0).contains(&mid.0)
                })?
                .0,
            size: self.number("size", 1_000, 1..=MOST)?,
            lexicons: self.number("lexicons", 10, 0..=1_000)? as u64,
            lack: self.number("lack", 330, 0..=1_000)? as u64,
            threshold: self.number("threshold", 20, 0..=MOST)?,
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
        let unusual = unusual
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"));
        let name = iter::once(method.to_owned())
            .chain(unusual)
            .collect::<Vec<_>>()
            .join(";");
        Ok(lexicon.map_or(name.clone(), |lexicon| format!("{name}@{}", lexicon.name())))
    }
}

/// What a signature is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Document,
    Paragraph,
}

impl Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Document {
            "document"
        } else {
            "paragraph"
        })
    }
}

impl FromStr for Unit {
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
struct Members(Vec<&'static str>);

impl Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("+"))
    }
}

impl FromStr for Members {
    type Err = ();

    fn from_str(names: &str) -> Result<Self, ()> {
        let member = |name: &str| {
            METHODS
                .into_iter()
                .find(|known| *known == name && name != "set")
                .ok_or(())
        };
        let members: Vec<&str> = names.split('+').map(member).collect::<Result<_, _>>()?;
        let is_distinct =
            (1..members.len()).all(|place| !members[..place].contains(&members[place]));
        if is_distinct {
            Ok(Self(members))
        } else {
            Err(())
        }
    }
}
