//! The text of a page that its readers see, and what is left out.

use super::area::Point;
use super::letters::TextRun;
use super::lines::TextLines;
use super::scene::{Letter, Measured, Scene, Unseen};
use crate::hidden::{HiddenWords, Hiding};

/// How many times unseen text may follow visible text on a page on which the unseen text is that of a picture.
/// Hidden words that break up a text follow it much more often; stamps on scanned pages are few.
const MOST_TURNS: usize = 5;

/// The text that is seen of a page.
#[derive(Default)]
pub(super) struct SeenText {
    pub(super) text: String,
    pub(super) hidden: HiddenWords,
    /// Whether the unseen text is that of a picture: a scan whose text was recognised.
    pub(super) is_scan: bool,
}

/// Passes on the letters that are seen.
pub(super) struct Eye<'a> {
    scene: &'a Scene<'a>,
    lines: TextLines,
    /// Whether the unseen text is that of a picture.
    reads_pictures: bool,
    hidden: HiddenWords,
    tally: LetterCounts,
    /// The number of the style of the last string.
    style: Option<usize>,
    /// The last answer, for letters of which only the first has a known place.
    last: Option<Unseen>,
    is_first: bool,
    was_hidden: bool,
    /// Where the last hidden letter ended.
    end: Point,
}

/// The letters of a page.
#[derive(Default)]
struct LetterCounts {
    seen: usize,
    of_picture: usize,
    on_picture: usize,
    turns: usize,
    was_of_picture: bool,
}

impl<'a> Eye<'a> {
    /// Reads what is seen of a page, and the text of a picture if it is one.
    pub(super) fn read(scene: &'a Scene<'a>, reads_pictures: bool) -> SeenText {
        let mut eye = Self {
            scene,
            lines: TextLines::default(),
            reads_pictures,
            hidden: HiddenWords::default(),
            tally: LetterCounts::default(),
            style: None,
            last: None,
            is_first: true,
            was_hidden: false,
            end: (0.0, 0.0),
        };
        for run in scene.runs() {
            eye.lines.begin_string();
            eye.is_first |= eye.style.replace(run.style) != Some(run.style);
            run.letters(|letter, text| eye.look(run, letter, text.unwrap_or_default()));
        }
        SeenText {
            is_scan: eye.saw_scan(),
            text: eye.lines.text,
            hidden: eye.hidden,
        }
    }

    /// Whether the unseen text is that of a picture. It covers most of that text, or nothing else is on the page; and
    /// it does not break up a text that is seen.
    fn saw_scan(&self) -> bool {
        let LetterCounts {
            seen,
            of_picture,
            on_picture,
            turns,
            ..
        } = self.tally;
        let is_all = seen == 0 && self.scene.painted() > 0;
        of_picture > 0 && turns <= MOST_TURNS && (2 * on_picture >= of_picture || is_all)
    }

    fn unseen(&mut self, run: &TextRun<'_>, letter: &Letter) -> Option<Unseen> {
        let style = self.scene.style(run.style);
        if self.is_first || style.measured == Measured::All {
            let unseen = self.scene.unseen(style, letter);
            let before = self
                .last
                .filter(|last| style.measured == Measured::Follows && last.how == Hiding::OffPage);
            self.last = unseen.or(before);
        }
        self.is_first = false;
        self.last
    }

    fn count(&mut self, unseen: Option<Unseen>) {
        let tally = &mut self.tally;
        match unseen {
            None => tally.seen += 1,
            Some(unseen) if unseen.is_of_picture => {
                tally.of_picture += 1;
                tally.on_picture += usize::from(unseen.is_on_picture);
                tally.turns += usize::from(!tally.was_of_picture && tally.seen > 0);
            }
            Some(_) => return,
        }
        tally.was_of_picture = unseen.is_some();
    }

    fn look(&mut self, run: &TextRun<'_>, letter: &Letter, text: &str) {
        let unseen = self.unseen(run, letter);
        if !text.trim().is_empty() {
            self.count(unseen);
        }
        if let Some(unseen) = unseen
            && !(self.reads_pictures && unseen.is_of_picture)
        {
            return self.hide(unseen, letter, text);
        }
        if self.was_hidden {
            // There may be a gap where something is hidden.
            self.lines.begin_string();
            self.was_hidden = false;
        }
        self.lines.add(letter, text);
    }

    fn hide(&mut self, unseen: Unseen, letter: &Letter, text: &str) {
        let (start, end) = (letter.start(), letter.end());
        let reach = letter.matrix.scaled(letter.size).0 * 0.1;
        if !self.was_hidden
            || (start.0 - self.end.0).hypot(start.1 - self.end.1) > reach.max(f64::MIN_POSITIVE)
        {
            self.hidden.end_word();
        }
        self.hidden.add(unseen.how, text);
        (self.was_hidden, self.end) = (true, end);
    }
}
