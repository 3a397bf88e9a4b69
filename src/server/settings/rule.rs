//! Arguments that change the rule for a match.

use clap::Args;
use lapidary_checking::RuleChanges;
use lapidary_gems::Rule;
use serde::{Deserialize, Serialize};

/// Changes to the rule that defines a match.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = "Rule for a match")]
pub struct RuleArguments {
    /// Minimum number of common gems for a match [default: the recipe's, 3 or 2]
    #[arg(long, value_name = "N")]
    min_common: Option<u32>,
    /// Minimum share of common gems in either text for a match, from 0 to 1 [default: the recipe's, 0 or 0.03]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_share: Option<f64>,
    /// Ignore a gem for a library's books if more than this many of them have it: it is boilerplate [default: 10000;
    /// with `duplicates`, 500]
    #[arg(long, value_name = "BOOKS")]
    common_cap: Option<u32>,
    /// Minimum evidence for a match: a rare gem in order counts 1, a common or scattered one less [default: 0]
    #[arg(long, value_name = "EVIDENCE", value_parser = sum)]
    min_evidence: Option<f64>,
    /// Minimum support for a match: a common gem counts 1, or half if it is far from all others [default: the recipe's, 0 or 2]
    #[arg(long, value_name = "SUPPORT", value_parser = sum)]
    min_support: Option<f64>,
}

impl RuleArguments {
    /// Every value of a rule with these changes.
    #[must_use]
    pub fn on(&self, rule: Rule) -> Self {
        let rule = self.changes().on(rule);
        Self {
            min_common: Some(rule.min_common),
            min_share: Some(rule.min_share),
            common_cap: Some(rule.common_cap),
            min_evidence: Some(rule.min_evidence),
            min_support: Some(rule.min_support),
        }
    }

    pub(super) fn is_possible(&self) -> bool {
        self.min_share
            .is_none_or(|share| (0.0..=1.0).contains(&share))
    }

    /// The changes, if any are given.
    #[must_use]
    pub fn given(&self) -> Option<RuleChanges> {
        Some(self.changes()).filter(|changes| *changes != RuleChanges::default())
    }

    /// The changes that are given.
    #[must_use]
    pub fn changes(&self) -> RuleChanges {
        let Self {
            min_common,
            min_share,
            common_cap,
            min_evidence,
            min_support,
        } = *self;
        RuleChanges {
            min_common,
            min_share,
            common_cap,
            min_evidence,
            min_support,
        }
    }
}

fn sum(text: &str) -> Result<f64, String> {
    let sum = text
        .parse()
        .ok()
        .filter(|sum: &f64| sum.is_finite() && *sum >= 0.0);
    sum.ok_or_else(|| "give a number of 0 or more".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text
        .parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "give a number from 0 to 1".to_owned())
}
