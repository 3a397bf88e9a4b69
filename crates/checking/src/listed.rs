//! Estimates how many books have a gem, for recipes that post only some of a text's gems.

/// What the posting lists say about a gem, rarest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listed {
    /// Nothing: the gem is not in the query or not in any list.
    Not,
    /// It is in this many books.
    In(u32),
    /// It is in more books than the rule's cap.
    Common,
}

/// Estimates the number of books that have each gem of a text, from the posting lists and from which of the gems are
/// posted.
///
/// For a gem without a posting, the lists show only those other books that do post it. A phrase found in many books
/// is posted in some of them. In a passage found in many books, the posted gems differ between books at the start and
/// end, where the surrounding text decides, and are the same in most books further inside. So a gem is assumed to be
/// as frequent as the most frequent of itself and the two posted gems around it. A posted gem that is not in the
/// query is in no book.
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
    let taken = gems
        .iter()
        .zip(around)
        .map(|((own, posted), (before, behind))| match own {
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
        let one = [
            unknown,
            posted(In(3)),
            unknown,
            elsewhere(4),
            posted(In(5)),
            elsewhere(9),
            posted(Not),
            unknown,
        ];
        assert_eq!(
            spread(&one),
            [In(3), In(5), In(5), In(5), In(5), In(9), Not, In(1)]
        );
        let passage = [
            posted(Not),
            unknown,
            posted(Common),
            unknown,
            elsewhere(7),
            posted(Common),
            unknown,
        ];
        assert_eq!(
            spread(&passage),
            [Not, Common, Common, Common, Common, Common, Common]
        );
        let seldom_posted = [
            posted(Common),
            unknown,
            posted(In(2)),
            unknown,
            posted(Common),
            posted(In(3)),
            posted(In(9)),
        ];
        assert_eq!(
            spread(&seldom_posted),
            [Common, Common, Common, Common, Common, Common, In(9)]
        );
        let phrase = [posted(In(1)), (Common, false), unknown, posted(In(1))];
        assert_eq!(spread(&phrase), [In(1), Common, In(1), In(1)]);
        assert_eq!(spread(&[unknown, elsewhere(2)]), [In(1), In(2)]);
        assert_eq!(spread(&[]), []);
    }
}
