//! In how many books a gem is taken to be, where a recipe posts only some of a text's gems.

/// What the posting lists say of a gem, the rarest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listed {
    /// Nothing: the query or every list lacks it.
    Not,
    /// It is in so many books.
    In(u32),
    /// It is in more books than the rule's cap.
    Common,
}

/// In how many books each gem of a text is taken to be, from what the lists say of it and which of the text's gems are posted.
///
/// Of a gem without a posting, the lists know only the other books that have one of it. A phrase that many books have is
/// posted in some of them. Of a passage that many books have, other gems are posted in each where it begins and ends, as what
/// stands around it decides, and further in the same ones in most of them. So a gem is taken to be as frequent as the most
/// frequent of itself and the two posted ones around it. One that is posted and that the query lacks is in no book.
#[must_use]
pub fn spread(gems: &[(Listed, bool)]) -> Vec<Listed> {
    fn posted_before<'a>(gems: impl Iterator<Item = &'a (Listed, bool)>) -> Vec<Listed> {
        let last = gems.scan(Listed::In(1), |last, (listed, posted)| {
            let before = *last;
            *last = if *posted { *listed } else { before };
            Some(before)
        });
        last.collect()
    }

    let behind = posted_before(gems.iter().rev()).into_iter().rev();
    let around = posted_before(gems.iter()).into_iter().zip(behind);
    let taken = gems.iter().zip(around).map(|((own, posted), (before, behind))| match own {
        Listed::Not if *posted => Listed::Not,
        own => (*own).max(before).max(behind).max(Listed::In(1)),
    });
    taken.collect()
}

#[cfg(test)]
mod tests {
    use super::Listed::{Common, In, Not};
    use super::spread;

    #[test]
    fn a_gem_without_a_posting_is_as_frequent_as_what_is_known_around_it() {
        let posted = |listed| (listed, true);
        let (unknown, elsewhere) = ((Not, false), |books| (In(books), false));
        let one = [unknown, posted(In(3)), unknown, elsewhere(4), posted(In(5)), elsewhere(9), posted(Not), unknown];
        assert_eq!(spread(&one), [In(3), In(5), In(5), In(5), In(5), In(9), Not, In(1)]);
        let passage = [posted(Not), unknown, posted(Common), unknown, elsewhere(7), posted(Common), unknown];
        assert_eq!(spread(&passage), [Not, Common, Common, Common, Common, Common, Common]);
        let seldom_posted =
            [posted(Common), unknown, posted(In(2)), unknown, posted(Common), posted(In(3)), posted(In(9))];
        assert_eq!(spread(&seldom_posted), [Common, Common, Common, Common, Common, Common, In(9)]);
        let phrase = [posted(In(1)), (Common, false), unknown, posted(In(1))];
        assert_eq!(spread(&phrase), [In(1), Common, In(1), In(1)]);
        assert_eq!(spread(&[unknown, elsewhere(2)]), [In(1), In(2)]);
        assert_eq!(spread(&[]), []);
    }
}
