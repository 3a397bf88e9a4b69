//! Every message with its arguments. Its wording in each language is in the `.ftl` files.

use fluent_bundle::FluentValue;

use super::{Language, declare};

declare! { REPORTS:
    // General.
    and(several: &str, last: &str);
    quoted(name: &str);
    gems(number: u64);
    bytes(number: u64);
    millions(number: f64);
    billions(number: f64);
    trillions(number: f64);
    place_bytes(start: u64, end: u64);
    place_gems(start: u64, end: u64);
    between(from: &str, to: &str);
    chapter(title: &str);
    page(number: u64);
    paragraph(number: u64);

    // The verdict and its reason.
    verdict_forbidden(covered: &str);
    verdict_protected(covered: &str);
    verdict_forbidden_match();
    verdict_protected_match();
    verdict_free();
    verdict_public_domain();
    verdict_unknown(why: &str);
    verdict_not_checked(why: &str);
    why_only_allowed();
    why_none_decides();
    why_rights_unknown();
    why_nothing_to_compare();
    why_too_short();
    why_mostly_common();
    why_no_match();

    // What was checked.
    name_text();
    name_gems();
    common_gems(number: u64);
    allowed_gems(number: u64);
    error_below(odds: &str);
    error_unknown();
    error_not_measured(recipe: &str);
    disabled_books(number: u64);
    informing_books(number: u64);

    // Signs of disguise.
    disguised(tricks: &str, share: &str);
    disguised_word(trick: &str, place: &str, context: &str);
    invisible(number: u64);
    look_alikes(number: u64);
    marks(number: u64);
    letter_spaced(number: u64);
    digits(number: u64);
    hyphens(number: u64);
    hidden_words(number: u64, share: &str, ways: &str);
    hidden_way(how: &str, number: u64);
    hidden_attribute();
    hidden_not_displayed();
    hidden_invisible();
    hidden_transparent();
    hidden_same_colour();
    hidden_tiny();
    hidden_clipped();
    hidden_off_page();
    hidden_covered();
    hidden_layer();
    hidden_deleted();
    hidden_rejected();
    trick_invisible();
    trick_look_alikes();
    trick_marks();
    trick_letter_spaced();
    trick_digits();
    trick_hyphens();

    // A match.
    no_title();
    on_allow_list();
    informs_untrusted();
    informs_quarantined();
    is_disputed();
    valid_from(day: &str);
    valid_until(day: &str);
    another_edition(number: u64);
    shares(common: u64, text: &str, book: &str);
    rights_forbidden();
    rights_protected();
    rights_free();
    rights_public_domain();
    rights_unknown();
    same_text();
    same_signature();
    part_of_book();
    contains_book();
    overlap();
    quotations();
    text();
    book();
    passage(number: u64);
    passage_goes_on(bytes: u64);
    more_passages(number: u64);
    legend();
    legend_added();
    legend_missing();
    legend_respelled();
    legend_invisible();
    aloud_added();
    aloud_missing();
    aloud_respelled();
    head_passages();
    head_compared();
    head_in(name: &str);
    comparison_of(a: &str, b: &str);
    at_least(share: &str);
    identical(share: &str, characters: u64);
    identical_as_read(identical: &str, share: &str);

    // The method.
    recipe(names: &str, number: u64);
    rule(common: u64);
    rule_support();
    rule_share(share: &str);
    rule_score(share: &str);
    rule_share_of_few(few: u64, share: &str);
    by_chance_books(number: u64);
    by_chance_once(odds: &str);
    by_chance_never();
    evidence(evidence: &str);
    evidence_of(recipes: &str, evidence: &str);
    evidence_rare(evidence: &str, odds: &str);
    evidence_usual(evidence: &str);

    // Caveats.
    note_no_gems(recipe: &str, characters: u64);
    note_few_gems(recipe: &str, gems: u64, fewest: u64, characters: u64);
    note_boilerplate(common: u64, gems: u64, cap: u64);
    note_missed(lacking: u64, books: u64, recipes: &str, number: u64);
    note_unused(recipes: &str, number: u64);
    note_uncompared(books: u64);
    note_reindex();
    note_left_out(matches: u64, spans: u64, mebibytes: u64);
    note_must_gate();
    note_hidden(matches: u64);

    // On a terminal.
    not_counted(what: &str);
    note(note: &str);
    method_in_short(method: &str);
    not_shown(number: u64);
    more(number: u64);

    // On a page.
    check_of(name: &str);
    head_checked();
    head_when();
    head_certainty();
    head_matches();
    head_disguise();
    head_not_counted();
    head_note();
    head_method();
    head_disguised_words();
    head_hidden();
    head_gems();
    head_in_text();
    head_in_book();
    rights_as_of(when: &str, day: &str);
    map_shows();
    more_in_map(number: u64);
    more_matches(number: u64);

    // An index of reports.
    head_file();
    head_verdict();
    head_covered();
    files(number: u64);
    checked_on(when: &str);
    is_forbidden();
    is_protected();
    is_free();
    is_public_domain();
    is_unknown();
    is_not_checked();
    forbidden_of(number: u64);
    protected_of(number: u64);
    free_of(number: u64);
    public_domain_of(number: u64);
    unknown_of(number: u64);
    not_checked_of(number: u64);
    not_checked(why: &str);

    // A comparison of two texts.
    compared(letter: &str, file: &str, gems: u64);
    compared_match(common: u64, recipe: &str);
    compared_no_match(common: u64, recipe: &str);
    compared_shares(a: &str, b: &str);
    compared_span(common: u64, a: &str, b: &str);
    compared_exactly(passages: u64, identity: &str);
    compared_passage(a: &str, b: &str, identity: &str);
    compared_same_text();
    compared_part_of_book();
    compared_contains_book();
    compared_overlap();
    compared_quotations();

    // Groups of duplicates.
    head_duplicates();
    head_number();
    head_to_best();
    duplicates(number: u64, texts: u64);
    duplicates_picture();
    is_best();
    best_complete();
    best_format();
    best_metadata();
    best_first();
    to_best_identical();
    to_best_same(of_text: &str, of_best: &str);
    to_best_part(of_text: &str, of_best: &str);
    to_best_whole(of_text: &str, of_best: &str);
    to_best_overlap(of_text: &str, of_best: &str);
    to_best_indirect();
    head_overlaps();
    and_overlaps(groups: &str, overlaps: u64);
    overlap_part(of_a: &str, of_b: &str);
    overlap_whole(of_a: &str, of_b: &str);
    overlap_passages(of_a: &str, of_b: &str);
    left_out_many(texts: u64);
    left_out_common(texts: u64);
    left_out_pairs(pairs: u64);

    // Where passages came from.
    head_history();
    history_note();
    history_first();
    history_none();
    history_share(share: &str);
    history_place(start: &str, end: &str, bytes: u64);
    head_here();
    head_from();
    head_there();
    head_begins();
}
