//! Lines of text, from the letters of a page in the order in which they are shown.

use super::area::{Matrix, Point};
use super::scene::Letter;

/// A string that begins farther to the right than this share of the size of its letters is another word.
const GAP: f64 = 0.1;
/// A string that begins to the left is on another line if it is also higher or lower by this share of the size.
const LINE: f64 = 0.5;
/// A string that is higher or lower by this share of the size is on another line wherever it begins.
const APART: f64 = 1.5;

/// Text under construction.
#[derive(Default)]
pub(super) struct TextLines {
    pub(super) text: String,
    /// Where the last letter ended.
    end: Option<Point>,
    /// Whether the next letter begins a string.
    is_start: bool,
}

impl TextLines {
    /// The next letter may be elsewhere.
    pub(super) fn begin_string(&mut self) {
        self.is_start = true;
    }

    /// Adds a letter. An empty line shows where a paragraph may end.
    pub(super) fn add(&mut self, letter: &Letter, text: &str) {
        let Matrix([along_x, along_y, ..]) = letter.matrix;
        let (width, height) = letter.matrix.scaled(letter.size);
        let (size, stretch) = ((width * height).sqrt(), along_x.hypot(along_y));
        let start = letter.start();
        if let Some(end) = self.end.filter(|_| self.is_start) {
            // In the direction of the text, which may be turned.
            let (x, y) = (start.0 - end.0, start.1 - end.1);
            let across = (x * along_x + y * along_y) / stretch;
            let up = ((y * along_x - x * along_y) / stretch).abs();
            if up > APART * size {
                self.text.push('\n');
            }
            if across < 0.0 && up > LINE * size {
                self.text.push('\n');
            }
            if across > GAP * size {
                self.text.push(' ');
            }
        }
        self.text.push_str(text);
        self.end = Some(letter.end());
        self.is_start = false;
    }
}
