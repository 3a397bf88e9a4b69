//! Prepared checks and the expected response to each.

use lapidary_gems::{Gem, Recipe, WrittenGem};
use serde::Deserialize;
use serde_json::json;

use crate::Outcome;
use crate::data::{self, Data, Uniform};
use crate::http;
use crate::random::{Purpose, Random};

/// In queries, one in this many gems of a book is replaced.
const CHANGED: usize = 10;

/// A prepared check.
pub struct Query {
    pub gems: Vec<Gem>,
    pub request: Vec<u8>,
    pub right: Right,
}

/// The expected response.
pub enum Right {
    /// Only this book, with this many gems in common.
    Book { id: String, common: u32 },
    /// This book first, or none.
    Copy(Option<String>),
    /// No book. The query has this many gems, of which this many are common.
    Nothing { gems: u32, common: u32 },
    /// Any books, with this many gems not counted.
    Common(u32),
}

impl Query {
    /// A check of these 32-bit gems, as gems of a recipe.
    pub fn of_gems(gems: Vec<Gem>, recipe: &Recipe, right: Right) -> Self {
        let gems: Vec<Gem> = gems
            .into_iter()
            .map(|gem| data::of_recipe(gem, recipe))
            .collect();
        let written: Vec<WrittenGem> = gems.iter().map(|gem| recipe.write(*gem)).collect();
        let body = json!({ "gems": written }).to_string();
        Self {
            request: http::request("POST", "/v1/checks", "application/json", body.as_bytes()),
            gems,
            right,
        }
    }

    pub fn of_text(text: &str, right: Right) -> Self {
        let request = http::request(
            "POST",
            "/v1/checks",
            "text/plain; charset=utf-8",
            text.as_bytes(),
        );
        Self {
            gems: Vec::new(),
            request,
            right,
        }
    }

    /// Half of the queries are books with a tenth of their gems changed; the other half match no book.
    pub fn of_books(books: &Uniform, recipe: &Recipe, number: u64) -> Self {
        let mut random = Random::new(books.seed, Purpose::Query, number);
        let strangers = data::gems(Random::new(books.seed, Purpose::Stranger, number));
        if number.is_multiple_of(2) {
            let right = Right::Nothing {
                gems: strangers.len() as u32,
                common: 0,
            };
            return Self::of_gems(strangers, recipe, right);
        }
        let book = random.below(books.books.into()) as u32;
        let mut gems = books.gems(book);
        let mut others = strangers
            .into_iter()
            .filter(|gem| !gems.contains(gem))
            .collect::<Vec<_>>()
            .into_iter();
        let common = gems.len() - gems.len() / CHANGED;
        for some in gems.chunks_exact_mut(CHANGED) {
            some[random.below(CHANGED as u64) as usize] =
                others.next().expect("there are as many others as gems");
        }
        Self::of_gems(
            gems,
            recipe,
            Right::Book {
                id: data::id(book),
                common: common as u32,
            },
        )
    }
}

#[derive(Deserialize)]
struct Answer {
    gems: u32,
    common_gems: u32,
    total: usize,
    matches: Vec<Match>,
}

#[derive(Deserialize)]
struct Match {
    book: Book,
    common: u32,
}

#[derive(Deserialize)]
struct Book {
    id: String,
}

impl Right {
    /// Fails unless the response is the expected one.
    pub fn verify(&self, status: u16, body: &[u8]) -> Outcome<()> {
        let wrong = |expected: String| {
            format!(
                "expected {expected}; answer {status}: {}",
                String::from_utf8_lossy(body)
            )
        };
        if status != 200 {
            return Err(wrong("200".to_owned()).into());
        }
        let Answer {
            gems,
            common_gems,
            total,
            matches,
        } = serde_json::from_slice(body)?;
        let (right, expected) = match self {
            Self::Book { id, common } => {
                let found = matches
                    .first()
                    .is_some_and(|found| found.book.id == *id && found.common == *common);
                (
                    total == 1 && found,
                    format!("{id} alone with {common} gems in common"),
                )
            }
            Self::Copy(id) => (
                matches.first().map(|found| &found.book.id) == id.as_ref(),
                format!("{id:?} first"),
            ),
            Self::Nothing { gems: all, common } => (
                total == 0 && (gems, common_gems) == (*all, *common),
                format!("no match of a query with {all} gems, {common} of them common"),
            ),
            Self::Common(common) => (common_gems == *common, format!("{common} common gems")),
        };
        if right {
            Ok(())
        } else {
            Err(wrong(expected).into())
        }
    }
}
