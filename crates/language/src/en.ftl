# The messages of reports in English. The comment above a message declares its arguments, in the order of its method.

## General

# $several (String), $last (String)
and = { $several } and { $last }
# $name (String)
quoted = '{ $name }'
# $number (Number)
gems = { $number } { $number ->
    [one] gem
   *[other] gems
}
# $number (Number)
bytes = { $number } { $number ->
    [one] byte
   *[other] bytes
}
# $start (Number), $end (Number)
place_bytes = bytes { $start } to { $end }
# $start (Number), $end (Number)
place_gems = gems { $start } to { $end }
# $from (String), $to (String)
between = { $from } – { $to }
# $title (String)
chapter = “{ $title }”
# $number (Number)
page = page { $number }
# $number (Number)
paragraph = paragraph { $number }

## The verdict and its reason

# $covered (String)
verdict_forbidden = nobody may publish this; { $covered } of this text is in protected or forbidden books
# $covered (String)
verdict_protected = { $covered } of this text is in protected books
verdict_forbidden_match = nobody may publish this; this text matches a protected or forbidden book
verdict_protected_match = this text matches a protected book
verdict_free = this text, or part of it, is in a book that is free to publish
verdict_public_domain = this text, or part of it, is in a book in the public domain
verdict_only_allowed = this text matches only books on an allow-list
verdict_none_decides = this text matches only books that do not decide
verdict_rights_unknown = this text matches a book whose rights are unknown
verdict_no_match = No match in the catalogue
why_nothing_to_compare = the catalogue has nothing to compare it with
why_mostly_common = most of this text is in too many books to tell

## What was checked

name_text = text
name_gems = gems
# $number (Number)
common_gems = { $number } of them in too many books of a library to count
# $number (Number)
allowed_gems = { $number } of them allowed
# $number (Number)
disabled_books = { $number } { $number ->
    [one] disabled book
   *[other] disabled books
} would match
# $number (Number)
informing_books = { $number } matching { $number ->
    [one] book that is
   *[other] books that are
} only information

## Signs of disguise

# $tricks (String), $share (String)
disguised = This text is disguised: { $tricks } in { $share } of the words
# $trick (String), $place (String), $context (String)
disguised_word = { $trick }, { $place }: { $context }
# $number (Number)
invisible = { $number } { $number ->
    [one] invisible character
   *[other] invisible characters
}
# $number (Number)
look_alikes = { $number } { $number ->
    [one] letter of another script
   *[other] letters of another script
}
# $number (Number)
marks = { $number } { $number ->
    [one] combining mark
   *[other] combining marks
}
# $number (Number)
letter_spaced = { $number } { $number ->
    [one] letter-spaced word
   *[other] letter-spaced words
}
# $number (Number)
digits = { $number } { $number ->
    [one] digit for a letter
   *[other] digits for letters
}
# $number (Number)
hyphens = { $number } { $number ->
    [one] hyphen inside a word
   *[other] hyphens inside words
}
# $number (Number)
markup = markup inside { $number } { $number ->
    [one] word
   *[other] words
}
# $number (Number)
misspelled = { $number } { $number ->
    [one] word with doubled or scrambled letters
   *[other] words with doubled or scrambled letters
}
# $number (Number), $share (String), $ways (String)
hidden_words = { $number } { $number ->
    [one] word
   *[other] words
} ({ $share }) of this file { $number ->
    [one] is hidden from its readers and was
   *[other] are hidden from its readers and were
} left out: { $ways }
# $how (String), $number (Number)
hidden_way = { $how } ({ $number })
hidden_attribute = marked as hidden
hidden_not_displayed = not displayed
hidden_invisible = drawn invisibly
hidden_transparent = transparent
hidden_same_colour = in the colour of the background
hidden_tiny = in tiny letters
hidden_clipped = clipped away
hidden_off_page = beyond the page
hidden_covered = covered
hidden_layer = on a hidden layer
hidden_deleted = deleted, with changes tracked
hidden_rejected = rejected insertions
trick_invisible = invisible characters
trick_look_alikes = letters of another script
trick_marks = combining marks
trick_letter_spaced = letter-spacing
trick_digits = digits for letters
trick_hyphens = hyphens inside words
trick_markup = markup inside words
trick_misspelled = doubled or scrambled letters

## A match

no_title = (no title)
on_allow_list = on an allow-list: not part of the verdict
informs_untrusted = only information: its library is not trusted
is_disputed = disputed: its text is not known, and a book of another library has this passage too
informs_quarantined = only information: it may be a collage of other books, and waits for an administrator
informs_quoted = only information: a quotation, a small share of either
informs_scattered = only information: too little of it is literally the same
informs_reworded = only information: found by what it says, not by its wording
informs_too_little = only information: too little to count, by the policy of the library or the check
# $day (String)
valid_from = assigned rights valid from { $day }
# $day (String)
valid_until = assigned rights valid until { $day }
# $number (Number)
another_edition = another edition of { $number }
# $common (Number), $text (String), $book (String)
shares = { $common } { $common ->
    [one] gem
   *[other] gems
} in common: { $text } of the text's gems, { $book } of the book's
rights_forbidden = forbidden to publish
rights_protected = protected
rights_free = free to publish
rights_public_domain = public domain
rights_unknown = rights unknown
same_signature = text and book have a signature in common, which does not tell how much they share
same_text = text and book are mostly the same
part_of_book = most of the text is in this book
contains_book = most of this book is in the text
overlap = text and book share passages
quotations = text and book share only quotations or other short passages
same_work = text and book are the same work in other words, such as two translations
# $relation (String)
with_changes = { $relation }, with changes
text = text
book = book
# $number (Number)
passage = Passage { $number }
# $characters (Number)
passage_goes_on = It goes on for { $characters } { $characters ->
    [one] character
   *[other] characters
}, not shown here
# $number (Number)
more_passages = { $number } { $number ->
    [one] more passage
   *[other] more passages
}, not shown here
legend = Marked:
legend_added = only in the text on the left
legend_missing = only in the text on the right
legend_respelled = spelled differently
legend_invisible = an invisible character
aloud_added = only here:
aloud_missing = only in the other text:
aloud_respelled = spelled differently:
head_passages = Passages
head_compared = Compared
# $name (String)
head_in = In { $name }
# $a (String), $b (String)
comparison_of = { $a } compared with { $b }
# $share (String)
at_least = at least { $share }
# $share (String), $characters (Number)
identical = { $share } of { $characters } { $characters ->
    [one] character
   *[other] characters
} are identical
# $identical (String), $share (String)
identical_as_read = { $identical }, { $share } apart from case, accents and disguise

## The method

# $names (String), $number (Number)
recipe = { $number ->
    [one] recipe
   *[other] recipes
} { $names }
# $common (Number)
rule = a match takes { $common } { $common ->
    [one] gem
   *[other] gems
} in common
rule_support = (an isolated one counts half)
# $share (String)
rule_share = and { $share } of the text or the book
# $share (String)
rule_score = and { $share } of both texts together
# $few (Number), $share (String)
rule_share_of_few = ({ $share } with fewer than { $few })
# $number (Number)
accident_in_this = by accident, about { $number } unrelated { $number ->
    [one] book
   *[other] books
} would match like this in an index of this size
# $indexes (Number)
accident_once = a match like this by accident is to be expected once in { $indexes } indexes of this size
accident_never = a match like this by accident is not to be expected in a million indexes of this size
# $evidence (String)
evidence = evidence { $evidence }
# $recipes (String), $evidence (String)
evidence_of = { $recipes }: evidence { $evidence }

## Caveats

# $recipe (String), $characters (Number)
note_no_gems = no gems with recipe { $recipe }: the text is too short, or not prose, so the check says nothing about it; check at least { $characters } characters
# $recipe (String), $gems (Number), $fewest (Number), $characters (Number)
note_few_gems = { $gems } { $gems ->
    [one] gem
   *[other] gems
} with recipe { $recipe }, but a match needs { $fewest } in common; check at least { $characters } characters
# $common (Number), $gems (Number), $cap (Number)
note_boilerplate = { $common } of { $gems } gems were not counted, because each is in more than { $cap } books of a library: this text is mostly boilerplate, or was added very often, so the check says little about it
# $lacking (Number), $books (Number), $recipes (String), $number (Number)
note_missed = { $number ->
    [one] { $lacking } of { $books } books have no gems of recipe { $recipes }
   *[other] { $lacking } of { $books } books have no gems of recipes { $recipes }
}, so this check could not find them
# $recipes (String), $number (Number)
note_unused = no book has gems of { $number ->
    [one] recipe { $recipes }, so this check did without it
   *[other] recipes { $recipes }, so this check did without them
}
# $books (Number)
note_uncompared = { $books } { $books ->
    [one] book of a library with very many similar ones was
   *[other] books of libraries with very many similar ones were
} not compared with this text
note_reindex = the gems must be computed: `lapidary doctor` shows the command
# $matches (Number), $spans (Number), $mebibytes (Number)
note_left_out = { $matches } { $matches ->
    [one] match
   *[other] matches
} and { $spans } { $spans ->
    [one] span
   *[other] spans
} are not shown, because a report has at most { $mebibytes } MiB; ask for fewer matches, or for no spans
note_must_gate = this key must pass the gate with every book, and nothing is excepted
# $matches (Number)
note_hidden = { $matches } { $matches ->
    [one] match is in a library
   *[other] matches are in libraries
} that this key may not see

## On a terminal

# $what (String)
not_counted = not counted: { $what }
# $note (String)
note = note: { $note }
# $method (String)
method_in_short = method: { $method }
# $number (Number)
not_shown = { $number } { $number ->
    [one] match
   *[other] matches
}, not shown
# $number (Number)
more = … and { $number } more

## On a page

# $name (String)
check_of = Check of { $name }
head_checked = Checked
head_when = When
head_certainty = Certainty
head_matches = Matches
head_disguise = Disguise
head_not_counted = Not counted
head_note = Note
text_not_kept = The text was not kept with this report.
head_method = Method
head_disguised_words = Disguised words
head_gems = Gems
head_in_text = In the text
head_in_book = In the book
# $when (String), $day (String)
rights_as_of = { $when }; rights as of { $day }
map_shows = The parts of the text that match
# $title (String), $number (Number), $place (String)
map_part = { $title }, passage { $number }: { $place }
zoom = Zoom
zoom_whole = Whole text
head_contents = Contents
head_map = Where it matches
head_works = Books
head_how = How the verdict came about
# $number (Number)
characters = { $number } { $number ->
    [one] character
   *[other] characters
}
# $name (String), $recipes (String)
only_gems = { $name }: the text was not sent, only its fingerprints ({ $recipes })
# $ruling (String), $actor (String), $day (String)
decided = Decision: { $ruling }, { $actor }, { $day }
needs_no_decision = No decision needed
# $libraries (String)
waits_for = Not decided yet. Reviewers of { $libraries } decide
# $title (String), $library (String)
matched_later = “{ $title }” of { $library }, added later
# $book (String)
waits_again = Not decided yet. It matches { $book }
# $number (Number)
more_works = { $number } more
# $number (Number)
other_editions = { $number } other { $number ->
    [one] edition
   *[other] editions
}
# $number (Number)
passages = { $number } { $number ->
    [one] passage
   *[other] passages
}
head_library = Library
head_rights = Rights
head_identical = Identical
head_words_of_text = Words of the text
head_words_of_book = Words of the book
# $place (String)
in_text_at = in the text: { $place }
# $characters (String), $share (String)
likeness = { $characters }, { $share } the same
# $place (String)
in_book_at = in the book: { $place }
next_passage = Next passage
previous_passage = Previous passage
# $number (Number)
more_matches = { $number } { $number ->
    [one] more match
   *[other] more matches
}, not shown here

## An index of reports

head_file = File
head_verdict = Verdict
head_covered = In protected books
# $number (Number)
files = { $number } { $number ->
    [one] file
   *[other] files
}
# $when (String)
checked_on = Checked on { $when }
is_forbidden = forbidden
is_protected = protected
is_free = free
is_public_domain = public domain
is_unknown = unknown
outcome_forbidden = Forbidden
outcome_protected = Protected
outcome_undecided = Undecided
outcome_too_short = Too short to check
outcome_not_checked = Not checked
outcome_unreadable = Could not be read
outcome_free = Free to publish
outcome_no_match = No match
# $number (Number)
forbidden_of = { $number } forbidden
# $number (Number)
protected_of = { $number } protected
# $number (Number)
undecided_of = { $number } undecided
# $number (Number)
too_short_of = { $number } too short to check
# $number (Number)
not_checked_of = { $number } not checked
# $number (Number)
unreadable_of = { $number } could not be read
# $number (Number)
free_of = { $number } free to publish
# $number (Number)
no_match_of = { $number } without a match

## A comparison of two texts

# $letter (String), $file (String), $gems (Number)
compared = { $letter }  { $file }: { $gems } { $gems ->
    [one] gem
   *[other] gems
}
# $common (Number), $recipe (String)
compared_match = { $common } { $common ->
    [one] gem
   *[other] gems
} in common under { $recipe }: a match
# $common (Number), $recipe (String)
compared_no_match = { $common } { $common ->
    [one] gem
   *[other] gems
} in common under { $recipe }: no match
# $a (String), $b (String)
compared_shares = { $a } of A, { $b } of B
# $common (Number), $a (String), $b (String)
compared_span = { $common } { $common ->
    [one] gem
   *[other] gems
}: { $a } of A match { $b } of B
# $passages (Number), $identity (String)
compared_exactly = Word for word, in { $passages } { $passages ->
    [one] passage
   *[other] passages
}: { $identity }
# $a (String), $b (String), $identity (String)
compared_passage = { $a } of A, { $b } of B: { $identity }
compared_same_text = A and B are mostly the same
compared_part_of_book = most of A is in B
compared_contains_book = most of B is in A
compared_overlap = A and B share passages
compared_quotations = A and B share only quotations or other short passages
compared_same_work = A and B are the same work in other words, such as two translations

## Groups of duplicates

head_duplicates = Duplicates
head_number = #
head_to_best = Compared with the best
# $number (Number), $texts (Number)
duplicates = { $number } { $number ->
    [one] group
   *[other] groups
} of { $texts } { $texts ->
    [one] text
   *[other] texts
} that are the same
duplicates_picture = Each circle is a text, the longer the larger; the best is filled. Lines connect texts with common text, the more the thicker.
is_best = the best
best_complete = The best: no other is as complete.
best_format = The best: others are as complete, but its format keeps more of a book.
best_metadata = The best: others are as complete, but it has more metadata.
best_first = The best: others are as good, and it is the first by name.
to_best_identical = the same text
# $of_text (String), $of_best (String)
to_best_same = nearly the same text: { $of_text } of it, { $of_best } of the best
# $of_text (String), $of_best (String)
to_best_part = part of the best: { $of_text } of it, { $of_best } of the best
# $of_text (String), $of_best (String)
to_best_whole = contains the best: { $of_text } of it, { $of_best } of the best
# $of_text (String), $of_best (String)
to_best_overlap = has passages of the best: { $of_text } of it, { $of_best } of the best
to_best_indirect = nearly the same text as others of the group only
head_overlaps = Text in common without being the same
# $groups (String), $overlaps (Number)
and_overlaps = { $groups }, and { $overlaps } { $overlaps ->
    [one] overlap
   *[other] overlaps
}
# $of_a (String), $of_b (String)
overlap_part = A is part of B: { $of_a } of A, { $of_b } of B
# $of_a (String), $of_b (String)
overlap_whole = A contains B: { $of_a } of A, { $of_b } of B
# $of_a (String), $of_b (String)
overlap_passages = A and B share passages: { $of_a } of A, { $of_b } of B
# $texts (Number)
left_out_many = { $texts } { $texts ->
    [one] text has
   *[other] texts have
} passages of very many texts, and { $texts ->
    [one] was
   *[other] were
} compared only with those that have most in common.
# $texts (Number)
left_out_common = { $texts } { $texts ->
    [one] text has
   *[other] texts have
} passages that too many texts share (see --common-cap). Copies by these passages alone were not looked for.
# $pairs (Number)
left_out_pairs = { $pairs } more { $pairs ->
    [one] pair was
   *[other] pairs were
} found, and { $pairs ->
    [one] is
   *[other] are
} not listed.

## Where passages came from

head_history = Where passages came from
history_note = The texts of each group in the order of their dates. A passage belongs to the earliest text of the group that has it; texts outside it may be older. Each colour is a source. That a text is earlier here does not prove who copied from whom.
history_first = The earliest of the group.
history_none = No passage is in an earlier text.
# $share (String)
history_share = { $share } of it is in earlier texts:
# $start (String), $end (String), $bytes (Number)
history_place = { $start }–{ $end } % ({ $bytes } bytes)
head_here = Passage
head_from = From
head_there = There
head_begins = Begins
