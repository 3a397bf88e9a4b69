//! Attacks on sentences, paragraphs and books.

use std::fmt::Write as _;

use super::AttackScene;

/// The minimum number of paragraphs. With fewer between blank lines, each line is a paragraph; with too few lines, each
/// sentence.
const PARAGRAPHS: usize = 8;
/// Advertising lines as inserted by pirate libraries.
const LINES: &[&str] = &[
    "Read more books free of charge at www.best-library.example",
    "This copy was made for reading at home only. Buy the book!",
    "*** Downloaded from BOOKS-FOR-ALL.example, the library where all is free ***",
    "Скачано с сайта knigi.example: книги бесплатно и без регистрации",
    "Больше книг на нашем сайте. Поддержите автора, купите книгу!",
];

/// The sentences of a text, each with the whitespace character after it.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut from = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && matches!(before, '.' | '!' | '?' | '…') {
            let end = at + c.len_utf8();
            sentences.push(&text[from..end]);
            from = end;
        }
        before = c;
    }
    sentences.push(&text[from..]);
    sentences
}

pub(super) fn every_second(text: &str) -> String {
    sentences(text).into_iter().step_by(2).collect()
}

pub(super) fn advertised(scene: &mut AttackScene<'_>, share: f64) -> String {
    let mut copy = String::with_capacity(scene.text.len() * 5 / 4);
    for sentence in sentences(scene.text) {
        copy.push_str(sentence);
        if scene.random.happens(share) {
            let line = scene.random.pick(LINES).unwrap_or_default();
            let _ = writeln!(copy, "\n{line} ({})", scene.random.below(100_000));
        }
    }
    copy
}

pub(super) fn shuffled(scene: &mut AttackScene<'_>) -> String {
    let by_blank_lines: Vec<&str> = scene
        .text
        .split("\n\n")
        .filter(|p| !p.trim().is_empty())
        .collect();
    let by_lines: Vec<&str> = scene
        .text
        .lines()
        .filter(|p| !p.trim().is_empty())
        .collect();
    let mut paragraphs = [by_blank_lines, by_lines]
        .into_iter()
        .find(|p| p.len() >= PARAGRAPHS)
        .unwrap_or_else(|| sentences(scene.text));
    scene.random.shuffle(&mut paragraphs);
    paragraphs.join("\n\n")
}

/// The last character boundary at or before this position.
fn floor(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}

pub(super) fn tenth(scene: &mut AttackScene<'_>) -> String {
    let text = scene.text;
    let length = text.len() / 10;
    let start = floor(text, scene.random.below(text.len() - length + 1));
    text[start..floor(text, start + length)].to_owned()
}

pub(super) fn glued(scene: &mut AttackScene<'_>) -> String {
    let mut others = scene.others.iter().map(String::as_str);
    let first = others.next().unwrap_or_default();
    let last = others.next().unwrap_or_default();
    [first, scene.text, last].join("\n\n")
}

/// Replaces sentences by random words of the book, as many as they had. Such sentences are as likely as any to match the book
/// by mistake.
pub(super) fn fresh(scene: &mut AttackScene<'_>, share: f64) -> String {
    let mut copy = String::with_capacity(scene.text.len());
    for sentence in sentences(scene.text) {
        if !scene.random.happens(share) {
            copy.push_str(sentence);
            continue;
        }
        for _ in sentence.split_whitespace() {
            copy.push_str(scene.random.pick(scene.words).unwrap_or_default());
            copy.push(' ');
        }
        copy.push_str(".\n");
    }
    copy
}
