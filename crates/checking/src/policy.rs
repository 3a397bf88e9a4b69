//! From how much on a match decides.

use std::collections::BTreeSet;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::align::MUCH;
use super::{Relation, Score};

/// From how much on a match decides; one with less only informs. Identical texts always decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Relations that decide, however little is the same. Not `same_work`, which never does.
    #[serde(deserialize_with = "deciding")]
    #[schema(example = json!(["same_text", "part_of_book", "contains_book", "overlap"]))]
    pub relations: BTreeSet<Relation>,
    /// Other matches decide if together they are this share of the text, from 0 to 1.
    #[serde(deserialize_with = "share")]
    #[schema(minimum = 0, maximum = 1)]
    pub min_covered: f64,
    /// So does one with a passage of this many characters, as far as gems tell.
    pub min_passage: u32,
}

impl Default for Policy {
    /// Quotations decide if they are a twentieth of the text, or one is longer than the relation calls short.
    fn default() -> Self {
        Self {
            relations: BTreeSet::from([
                Relation::SameText,
                Relation::PartOfBook,
                Relation::ContainsBook,
                Relation::Overlap,
            ]),
            min_covered: 0.05,
            min_passage: 4_000,
        }
    }
}

impl Policy {
    /// Whether a match decides. `covered`: the share of the text that all matches cover which decide by it alone, or not at
    /// all, so that many books with a little each decide. `passage`: the characters of its longest passage.
    #[must_use]
    pub fn decides(&self, relation: Relation, covered: f64, passage: u32) -> bool {
        self.relations.contains(&relation)
            || covered >= self.min_covered
            || passage >= self.min_passage
    }

    /// Whether a match of this score decides in any case: it is more than quotations, and all but these decide.
    #[must_use]
    pub fn is_certain(&self, score: &Score) -> bool {
        score.share_of_query.max(score.share_of_book) >= MUCH
            && self.relations.is_superset(&Self::default().relations)
    }
}

fn deciding<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<Relation>, D::Error> {
    let relations = BTreeSet::deserialize(from)?;
    if relations.contains(&Relation::SameWork) {
        return Err(D::Error::custom("'same_work' never decides"));
    }
    Ok(relations)
}

fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(from)?;
    if (0.0..=1.0).contains(&share) {
        Ok(share)
    } else {
        Err(D::Error::custom("'min_covered' is a share from 0 to 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_decide_if_they_are_much() {
        let usual = Policy::default();
        assert!(!usual.decides(Relation::Quotations, 0.049, 3_999));
        assert!(usual.decides(Relation::Quotations, 0.05, 300));
        assert!(usual.decides(Relation::Quotations, 0.001, 4_000));
        assert!(usual.decides(Relation::PartOfBook, 0.0, 0));
    }

    #[test]
    fn reads_what_can_decide() {
        let read = serde_json::from_str::<Policy>;
        assert_eq!(read("{}").expect("the default"), Policy::default());
        let strict = read(r#"{"relations": ["same_text"], "min_covered": 1}"#).expect("valid");
        assert!(!strict.decides(Relation::Overlap, 0.9, 3_999));
        assert!(!strict.is_certain(&Score::new(90, 100, 100)));
        assert!(Policy::default().is_certain(&Score::new(13, 100, 1_000)));
        assert!(!Policy::default().is_certain(&Score::new(12, 100, 1_000)));
        for refused in [
            r#"{"relations": ["same_work"]}"#,
            r#"{"min_covered": 1.5}"#,
            r#"{"min_covered": -0.1}"#,
            r#"{"min_pages": 2}"#,
        ] {
            assert!(read(refused).is_err(), "{refused}");
        }
    }
}
