//! What sets how strings are shown on a page, and where; and the strings with their letters.

use std::rc::Rc;

use super::area::Matrix;
use super::fonts::Font;
use super::scene::Letter;

/// What is set for the strings that follow.
#[derive(Clone)]
pub(super) struct TextState<'a> {
    pub(super) font: Option<Rc<Font<'a>>>,
    pub(super) size: f64,
    /// Between letters.
    pub(super) spacing: f64,
    /// At blanks, in addition.
    pub(super) blank: f64,
    pub(super) leading: f64,
    pub(super) rise: f64,
    /// How much wider than usual letters are.
    pub(super) stretch: f64,
    /// The rendering mode.
    pub(super) mode: i64,
}

impl TextState<'_> {
    pub(super) const START: Self = Self {
        font: None,
        size: 0.0,
        spacing: 0.0,
        blank: 0.0,
        leading: 0.0,
        rise: 0.0,
        stretch: 1.0,
        mode: 0,
    };

    /// Follows an operation that sets something, if it is one.
    pub(super) fn set(&mut self, operator: &[u8], values: &[f64]) -> bool {
        match (operator, values) {
            (b"Tc", &[spacing]) => self.spacing = spacing,
            (b"Tw", &[blank]) => self.blank = blank,
            (b"TL", &[leading]) => self.leading = leading,
            (b"Ts", &[rise]) => self.rise = rise,
            (b"Tz", &[percent]) => self.stretch = percent / 100.0,
            (b"Tr", &[mode]) => self.mode = mode as i64,
            _ => return false,
        }
        true
    }
}

/// Where strings are shown.
#[derive(Clone)]
pub(super) struct TextPlace {
    /// The start of the line.
    line: Matrix,
    /// The start of the next string.
    pub(super) next: Matrix,
}

impl TextPlace {
    pub(super) const START: Self = Self {
        line: Matrix::IDENTITY,
        next: Matrix::IDENTITY,
    };

    fn set(&mut self, matrix: Matrix) {
        (self.line, self.next) = (matrix, matrix);
    }

    /// Follows an operation that sets the place, if it is one.
    pub(super) fn follow(
        &mut self,
        operator: &[u8],
        values: &[f64],
        state: &mut TextState<'_>,
    ) -> bool {
        match (operator, values) {
            (b"BT", _) => self.set(Matrix::IDENTITY),
            (b"Tm", values) if let Ok(matrix) = values.try_into() => self.set(Matrix(matrix)),
            (b"Td", &[across, up]) => self.next_line(across, up),
            (b"TD", &[across, up]) => {
                state.leading = -up;
                self.next_line(across, up);
            }
            (b"T*", _) => self.next_line(0.0, -state.leading),
            _ => return false,
        }
        true
    }

    fn next_line(&mut self, across: f64, up: f64) {
        self.set(Matrix::shift(across, up).then(&self.line));
    }

    /// Moves along the line.
    pub(super) fn advance(&mut self, by: f64) {
        self.next = Matrix::shift(by, 0.0).then(&self.next);
    }
}

/// A string on a page.
pub(super) struct TextRun<'a> {
    pub(super) state: TextState<'a>,
    pub(super) string: Box<[u8]>,
    /// From its start to the page.
    pub(super) matrix: Matrix,
    /// The number of its style.
    pub(super) style: usize,
}

impl TextRun<'_> {
    /// Calls a function with each letter and its characters, if they are known, and returns how long the string is.
    pub(super) fn letters(&self, mut each: impl FnMut(&Letter, Option<&str>)) -> f64 {
        let (state, mut rest, mut length) = (&self.state, &self.string[..], 0.0);
        let Some(font) = &state.font else {
            return length;
        };
        while !rest.is_empty() {
            let (code, bytes) = font.code(rest);
            let place = Matrix([state.stretch, 0.0, 0.0, 1.0, length, state.rise]);
            let letter = Letter {
                matrix: place.then(&self.matrix),
                size: state.size,
                width: code.width,
            };
            each(&letter, code.text.as_deref());
            let is_blank = bytes == 1 && rest[0] == b' ';
            let gap = state.spacing + if is_blank { state.blank } else { 0.0 };
            length += state.stretch * (code.width * state.size + gap);
            rest = rest.get(bytes..).unwrap_or_default();
        }
        length
    }
}
