//! The text of a page that its readers see, and what is left out.

use pdf_extract::{MediaBox, OutputDev, OutputError, PlainTextOutput, Transform};

use super::area::{Matrix, Point};
use super::scene::{Letter, Measured, Scene, Unseen};
use crate::hidden::{HiddenWords, Hiding};

/// How many times unseen text may follow visible text on a page on which the unseen text is that of a picture.
/// Hidden words that break up a text follow it much more often; stamps on scanned pages are few.
const MOST_TURNS: usize = 5;

/// Passes on the letters that are seen.
pub(super) struct Eye<'a> {
    scene: &'a Scene,
    text: PlainTextOutput<&'a mut String>,
    /// Whether the unseen text is that of a picture.
    reads_pictures: bool,
    pub(super) hidden: HiddenWords,
    tally: LetterCounts,
    /// How many strings were shown, and the number of the style of the last one.
    strings: usize,
    style: usize,
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
    pub(super) fn new(scene: &'a Scene, text: &'a mut String, reads_pictures: bool) -> Self {
        Self {
            scene,
            text: PlainTextOutput::new(text),
            reads_pictures,
            hidden: HiddenWords::default(),
            tally: LetterCounts::default(),
            strings: 0,
            style: 0,
            last: None,
            is_first: true,
            was_hidden: false,
            end: (0.0, 0.0),
        }
    }

    /// Whether the unseen text is that of a picture: a scan whose text was recognised. It covers most of that text, or
    /// nothing else is on the page; and it does not break up a text that is seen.
    pub(super) fn saw_scan(&self) -> bool {
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

    fn unseen(&mut self, letter: &Letter) -> Option<Unseen> {
        let styles = self.scene.styles();
        while styles
            .get(self.style + 1)
            .is_some_and(|(first, _)| *first < self.strings)
        {
            self.style += 1;
            self.is_first = true;
        }
        let (_, style) = styles.get(self.style)?;
        let is_new = self.is_first || style.measured == Measured::All;
        if is_new {
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
}

impl OutputDev for Eye<'_> {
    fn begin_page(
        &mut self,
        page: u32,
        media_box: &MediaBox,
        art_box: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        self.text.begin_page(page, media_box, art_box)
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        self.text.end_page()
    }

    fn output_character(
        &mut self,
        transform: &Transform,
        width: f64,
        spacing: f64,
        size: f64,
        char: &str,
    ) -> Result<(), OutputError> {
        let Transform {
            m11,
            m12,
            m21,
            m22,
            m31,
            m32,
            ..
        } = *transform;
        let letter = Letter {
            matrix: Matrix([m11, m12, m21, m22, m31, m32]),
            size,
            width,
        };
        let unseen = self.unseen(&letter);
        if !char.trim().is_empty() {
            self.count(unseen);
        }
        let Some(unseen) = unseen.filter(|unseen| !(self.reads_pictures && unseen.is_of_picture))
        else {
            if self.was_hidden {
                // There may be a gap where something is hidden.
                self.text.begin_word()?;
                self.was_hidden = false;
            }
            return self
                .text
                .output_character(transform, width, spacing, size, char);
        };
        let (start, end) = (
            letter.matrix.point((0.0, 0.0)),
            letter.matrix.point((width * size, 0.0)),
        );
        let reach = letter.matrix.scaled(size).0 * 0.1;
        if !self.was_hidden
            || (start.0 - self.end.0).hypot(start.1 - self.end.1) > reach.max(f64::MIN_POSITIVE)
        {
            self.hidden.end_word();
        }
        self.hidden.add(unseen.how, char);
        (self.was_hidden, self.end) = (true, end);
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.strings += 1;
        self.text.begin_word()
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        self.text.end_word()
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        self.text.end_line()
    }
}
