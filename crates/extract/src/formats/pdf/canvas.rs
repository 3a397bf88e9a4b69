//! Follows what the operations of a page paint, and records it as a scene.

use std::cell::Cell;
use std::rc::Rc;

use hashbrown::HashMap;
use pdf_extract::content::Operation;
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

use super::area::{Bounds, Clip, FillRule, Matrix, PageArea, Path};
use super::colour::{Blend, PdfPaint, Space};
use super::fonts::resolve;
use super::layers::PdfLayers;
use super::mend::sub_dictionary;
use super::picture::{self, PictureLook};
use super::scene::{FontMetrics, Measured, Painted, Scene, Stencil, TextStyle};

/// The maximum number of points in the paths of a page with text.
const MOST_POINTS: usize = 2_000_000;

/// The names that a page or a form has for what its operations refer to.
pub(super) struct Names {
    states: Dictionary,
    spaces: Dictionary,
    properties: Dictionary,
    patterns: Dictionary,
    shadings: Dictionary,
    /// Colour spaces that have been read.
    read: HashMap<Vec<u8>, Space>,
}

impl Names {
    pub(super) fn of(document: &Document, resources: &Dictionary) -> Self {
        let part = |key: &[u8]| sub_dictionary(document, resources, key);
        let (states, spaces, properties) =
            (part(b"ExtGState"), part(b"ColorSpace"), part(b"Properties"));
        let (patterns, shadings) = (part(b"Pattern"), part(b"Shading"));
        Self {
            states,
            spaces,
            properties,
            patterns,
            shadings,
            read: HashMap::new(),
        }
    }

    fn space(&mut self, document: &Document, object: &Object) -> Space {
        let name = object.as_name().unwrap_or_default();
        if let Some(space) = self.read.get(name) {
            return space.clone();
        }
        let space = Space::read(document, object, &self.spaces);
        self.read.insert(name.to_vec(), space.clone());
        space
    }
}

/// A colour to fill or to draw lines with.
#[derive(Clone, Debug)]
struct Ink {
    space: Space,
    paint: PdfPaint,
    alpha: f32,
}

/// The graphics state.
#[derive(Clone, Debug)]
struct GraphicsState {
    matrix: Matrix,
    clip: Clip,
    stencil: Option<Stencil>,
    fill: Ink,
    line: Ink,
    line_width: f64,
    /// The opacity of the group that this is part of.
    group: f32,
    blend: Blend,
    is_masked: bool,
    overprints: bool,
    /// The text rendering mode.
    mode: i64,
}

/// A page being painted.
pub(super) struct Canvas {
    scene: Scene,
    layers: Rc<PdfLayers>,
    state: GraphicsState,
    outer: Vec<GraphicsState>,
    path: Path,
    points: usize,
    clip: Option<FillRule>,
    /// Whether each marked part of the content that is open is hidden.
    marks: Vec<bool>,
    /// How many of them are, and how many forms.
    hidden: usize,
    /// Letters of the current text that will be a clip.
    stencil: Option<Stencil>,
    /// Pictures that have been looked at.
    pictures: HashMap<ObjectId, PictureLook>,
    /// Whether the next string may have another style than the last one.
    is_changed: bool,
    /// Whether the place of the next string is given.
    is_placed: bool,
}

impl Canvas {
    pub(super) fn new(document: &Document, page: &Dictionary, layers: Rc<PdfLayers>) -> Self {
        let ink = Ink {
            space: Space::Gray,
            paint: Space::Gray.initial(),
            alpha: 1.0,
        };
        let state = GraphicsState {
            matrix: Matrix::IDENTITY,
            clip: Clip::NONE,
            stencil: None,
            fill: ink.clone(),
            line: ink,
            line_width: 1.0,
            group: 1.0,
            blend: Blend::Normal,
            is_masked: false,
            overprints: false,
            mode: 0,
        };
        let unit = page
            .get(b"UserUnit")
            .and_then(Object::as_float)
            .map_or(1.0, f64::from);
        let (outer, path, points, clip) = (Vec::new(), Path::default(), 0, None);
        let (marks, hidden, stencil, is_changed, is_placed) = (Vec::new(), 0, None, true, true);
        let scene = Scene::new(shown(document, page), unit);
        let pictures = HashMap::new();
        Self {
            scene,
            layers,
            state,
            outer,
            path,
            points,
            clip,
            marks,
            hidden,
            stencil,
            pictures,
            is_changed,
            is_placed,
        }
    }

    pub(super) fn scene(&self) -> &Scene {
        &self.scene
    }

    pub(super) fn save(&mut self) {
        self.outer.push(self.state.clone());
    }

    pub(super) fn restore(&mut self) {
        if let Some(state) = self.outer.pop() {
            self.state = state;
            self.is_changed = true;
        }
    }

    /// How many parts of the content are marked.
    pub(super) fn marks(&self) -> usize {
        self.marks.len()
    }

    /// Ends the marked parts of a form.
    pub(super) fn end_marks(&mut self, from: usize) {
        while self.marks.len() > from {
            self.end_mark();
        }
    }

    fn mark(&mut self, is_hidden: bool) {
        self.marks.push(is_hidden);
        self.hidden += usize::from(is_hidden);
        self.is_changed |= is_hidden;
    }

    fn end_mark(&mut self) {
        let was_hidden = self.marks.pop().unwrap_or_default();
        self.hidden -= usize::from(was_hidden);
        self.is_changed |= was_hidden;
    }

    /// Whether a form or a picture is on a layer that is switched off.
    fn is_off(&self, document: &Document, dictionary: &Dictionary) -> bool {
        dictionary
            .get(b"OC")
            .is_ok_and(|layer| self.layers.hides(document, layer))
    }

    /// Begins a form: what it shows is transformed, clipped, and may be on a layer.
    pub(super) fn enter(&mut self, document: &Document, form: &Dictionary) {
        let hidden = self.is_off(document, form);
        self.save();
        self.mark(hidden);
        let matrix = form.get(b"Matrix").ok();
        if let Some(matrix) = matrix.and_then(|matrix| numbers(document, matrix)) {
            self.state.matrix = Matrix(matrix).then(&self.state.matrix);
        }
        let bounds = form.get(b"BBox").ok();
        if let Some(bounds) = bounds.and_then(|bounds| rectangle(document, bounds)) {
            self.state
                .clip
                .add(PageArea::of_square(&self.state.matrix, bounds));
        }
        if form.has(b"Group") {
            self.state.group *= self.state.fill.alpha;
            (self.state.fill.alpha, self.state.line.alpha) = (1.0, 1.0);
        }
        self.is_changed = true;
    }

    /// Follows an operation, other than those that show text or begin and end a graphics state.
    pub(super) fn operate(
        &mut self,
        document: &Document,
        operation: &Operation,
        names: &mut Names,
    ) {
        let operands = &operation.operands[..];
        let values = first_numbers(operands);
        match operation.operator.as_str() {
            operator @ ("m" | "l" | "c" | "v" | "y" | "h" | "re") => {
                return self.extend_path(operator, &values);
            }
            "BMC" => return self.mark(false),
            "BDC" => {
                let is_hidden = self.is_layer_off(document, operands, names);
                return self.mark(is_hidden);
            }
            "EMC" => return self.end_mark(),
            "Td" | "TD" | "Tm" | "T*" => {
                self.is_placed = true;
                return;
            }
            "W" => self.clip = Some(FillRule::NonZero),
            "W*" => self.clip = Some(FillRule::EvenOdd),
            operator @ ("f" | "F" | "f*" | "S" | "s" | "B" | "B*" | "b" | "b*" | "n") => {
                self.paint_path(operator);
            }
            "sh" => self.paint_shading(document, operands, names),
            "BI" => self.inline_picture(document, operands, names),
            "BT" => (self.stencil, self.is_placed) = (None, true),
            "ET" => {
                if let Some(stencil) = self.stencil.take() {
                    self.state.stencil = Some(stencil);
                }
            }
            _ if self.change_state(document, operation, &values, names) => {}
            _ => return,
        }
        self.is_changed = true;
    }

    /// Follows an operation that changes the graphics state, if it is one.
    fn change_state(
        &mut self,
        document: &Document,
        operation: &Operation,
        values: &[f64],
        names: &mut Names,
    ) -> bool {
        match (operation.operator.as_str(), values) {
            ("cm", values) if let Ok(matrix) = values.try_into() => {
                self.state.matrix = Matrix(matrix).then(&self.state.matrix);
            }
            ("w", &[width]) => self.state.line_width = width,
            ("Tr", &[mode]) => self.state.mode = mode as i64,
            ("gs", _) => self.extended(document, &operation.operands, names),
            ("g" | "rg" | "k" | "cs" | "sc" | "scn", _) => {
                set_colour(&mut self.state.fill, document, operation, values, names);
            }
            ("G" | "RG" | "K" | "CS" | "SC" | "SCN", _) => {
                set_colour(&mut self.state.line, document, operation, values, names);
            }
            _ => return false,
        }
        true
    }

    /// Whether a marked part of the content is on a layer that is switched off.
    fn is_layer_off(&self, document: &Document, operands: &[Object], names: &Names) -> bool {
        let [Object::Name(tag), Object::Name(name)] = operands else {
            return false;
        };
        tag == b"OC"
            && names
                .properties
                .get(name)
                .is_ok_and(|layer| self.layers.hides(document, layer))
    }

    fn paint_shading(&mut self, document: &Document, operands: &[Object], names: &Names) {
        let area = PageArea::of_box(self.state.clip.bounds);
        let shading = operands
            .first()
            .and_then(|name| names.shadings.get(name.as_name().ok()?).ok());
        let paint = shading.map_or(PdfPaint::Unknown, |object| {
            picture::shading(document, object, &names.spaces)
        });
        self.paint(area, paint, self.state.fill.alpha, false, true);
    }

    fn extended(&mut self, document: &Document, operands: &[Object], names: &Names) {
        let state = operands
            .first()
            .and_then(|name| names.states.get(name.as_name().ok()?).ok());
        let Some(Ok(state)) = state.map(|state| resolve(document, state).as_dict()) else {
            return;
        };
        for (key, value) in state {
            let value = resolve(document, value);
            match (&key[..], value) {
                (b"ca", value) => self.state.fill.alpha = value.as_float().unwrap_or(1.0),
                (b"CA", value) => self.state.line.alpha = value.as_float().unwrap_or(1.0),
                (b"LW", value) => self.state.line_width = value.as_float().map_or(1.0, f64::from),
                (b"SMask", value) => self.state.is_masked = value.as_name().ok() != Some(b"None"),
                (b"OP" | b"op", Object::Boolean(overprints)) => self.state.overprints = *overprints,
                (b"BM", Object::Name(name)) => self.state.blend = Blend::of(name),
                (b"BM", Object::Array(some)) => {
                    let first = some
                        .first()
                        .map(|name| resolve(document, name).as_name().unwrap_or_default());
                    self.state.blend = Blend::of(first.unwrap_or(b"Normal"));
                }
                _ => {}
            }
        }
    }

    fn extend_path(&mut self, operator: &str, values: &[f64]) {
        if self.points > MOST_POINTS {
            return self.scene.fill();
        }
        let before = self.path.points;
        let (matrix, path) = (self.state.matrix, &mut self.path);
        let point = |x: f64, y: f64| matrix.point((x, y));
        match (operator, values) {
            ("m", &[x, y]) => path.move_to(point(x, y)),
            ("l", &[x, y]) => path.line_to(point(x, y)),
            ("c", &[x1, y1, x2, y2, x, y]) => {
                path.curve_to(point(x1, y1), point(x2, y2), point(x, y));
            }
            ("v", &[c, d, x, y]) => {
                let from = path.end().unwrap_or(point(c, d));
                path.curve_to(from, point(c, d), point(x, y));
            }
            ("y", &[a, b, x, y]) => path.curve_to(point(a, b), point(x, y), point(x, y)),
            ("h", _) => path.close(),
            ("re", &[x, y, width, height]) => {
                path.rectangle(&matrix, (x, y), (x + width, y + height));
            }
            _ => {}
        }
        self.points += self.path.points - before;
    }

    fn paint_path(&mut self, operator: &str) {
        let (path, clip) = (std::mem::take(&mut self.path), self.clip.take());
        let rule = if operator.ends_with('*') {
            FillRule::EvenOdd
        } else {
            FillRule::NonZero
        };
        if "fFbB".contains(&operator[..1]) {
            let GraphicsState {
                fill: Ink { paint, alpha, .. },
                ..
            } = self.state;
            if let Some(area) = path.clone().area(rule) {
                self.paint(area, paint, alpha, false, true);
            }
        }
        if "SsbB".contains(&operator[..1]) {
            let GraphicsState {
                line: Ink { paint, alpha, .. },
                line_width,
                ..
            } = self.state;
            let (width, height) = self.state.matrix.scaled(line_width);
            if let Some(area) = path.clone().area(FillRule::Line(width.max(height) / 2.0)) {
                self.paint(area, paint, alpha, false, true);
            }
        }
        if let Some(area) = clip.and_then(|rule| path.area(rule)) {
            self.state.clip.add(area);
            if !self.state.clip.is_exact {
                self.scene.fill();
            }
        }
    }

    fn inline_picture(&mut self, document: &Document, operands: &[Object], names: &Names) {
        match operands.first() {
            Some(Object::Stream(picture)) => self.picture(document, None, picture, names),
            // The parser does not know all of them.
            _ => self.look(PictureLook::UNKNOWN),
        }
    }

    /// Paints a picture into the square of one unit.
    pub(super) fn picture(
        &mut self,
        document: &Document,
        id: Option<ObjectId>,
        picture: &Stream,
        names: &Names,
    ) {
        if self.is_off(document, &picture.dict) {
            return;
        }
        let known = id.and_then(|id| self.pictures.get(&id).copied());
        let look = known.unwrap_or_else(|| picture::look(document, picture, &names.spaces));
        if let Some(id) = id {
            self.pictures.insert(id, look);
        }
        self.look(look);
    }

    /// Paints what looks like this into the square of one unit.
    fn look(&mut self, look: PictureLook) {
        let paint = look.paint.unwrap_or(self.state.fill.paint);
        let paint = if look.is_whole {
            paint
        } else {
            PdfPaint::Unknown
        };
        let unit = Bounds {
            from: (0.0, 0.0),
            to: (1.0, 1.0),
        };
        let area = PageArea::of_square(&self.state.matrix, unit);
        self.paint(
            area,
            paint,
            look.alpha * self.state.fill.alpha,
            look.has_parts,
            look.is_whole,
        );
        self.is_changed = true;
    }

    fn paint(
        &mut self,
        area: PageArea,
        paint: PdfPaint,
        alpha: f32,
        is_picture: bool,
        covers: bool,
    ) {
        let state = &self.state;
        let is_simple = state.blend == Blend::Normal && !state.is_masked && state.clip.is_exact;
        let is_lost = matches!(paint, PdfPaint::Colour(colour) if state.blend.ignores(colour));
        let alpha = alpha * state.group;
        if self.hidden > 0 || is_lost || alpha <= 0.0 || paint == PdfPaint::Nothing {
            return;
        }
        if let Some(stencil) = &state.stencil {
            stencil.set(Some(stencil.get().map_or(paint, |_| PdfPaint::Unknown)));
            return;
        }
        let mut clip = state.clip.clone();
        clip.bounds = clip.bounds.within(&area.bounds);
        if clip.bounds.from.0 > clip.bounds.to.0 || clip.bounds.from.1 > clip.bounds.to.1 {
            return;
        }
        let covers = covers && is_simple && !state.overprints && paint != PdfPaint::Unknown;
        let paint = if is_simple { paint } else { PdfPaint::Unknown };
        self.scene.paint(Painted {
            area,
            clip,
            paint,
            alpha,
            is_picture,
            covers,
        });
        self.is_changed = true;
    }

    /// Strings are shown, in letters of which the widths are known or not.
    pub(super) fn show(&mut self, strings: usize, metrics: FontMetrics) {
        if self.is_changed || !metrics.has_widths {
            let style = self.style(metrics);
            self.scene.style(style);
            self.is_changed = !metrics.has_widths;
        }
        self.is_placed = false;
        self.scene.strings += strings;
    }

    fn style(&mut self, metrics: FontMetrics) -> TextStyle {
        let clips = (4..=7).contains(&self.state.mode);
        let stencil = clips.then(|| {
            self.stencil
                .get_or_insert_with(|| Rc::new(Cell::new(None)))
                .clone()
        });
        let state = &self.state;
        let ink = |ink: &Ink| Some((ink.paint, ink.alpha * state.group));
        let inks = match state.mode {
            1 | 5 => [None, ink(&state.line)],
            2 | 6 => [ink(&state.fill), ink(&state.line)],
            3 | 7 => [None, None],
            _ => [ink(&state.fill), None],
        };
        let measured = match (metrics.has_widths, self.is_placed) {
            (true, _) => Measured::All,
            (false, true) => Measured::Start,
            (false, false) => Measured::Follows,
        };
        TextStyle {
            inks,
            stencil,
            blend: state.blend,
            clip: state.clip.clone(),
            is_off: self.hidden > 0,
            painted: self.scene.painted(),
            measured,
            metrics,
        }
    }
}

/// Sets the colour or the colour space of an ink.
fn set_colour(
    ink: &mut Ink,
    document: &Document,
    operation: &Operation,
    values: &[f64],
    names: &mut Names,
) {
    match (operation.operator.as_str(), operation.operands.last()) {
        ("cs" | "CS", Some(space)) => {
            ink.space = names.space(document, space);
            ink.paint = ink.space.initial();
            return;
        }
        ("g" | "G", _) => ink.space = names.space(document, &Object::Name(b"DeviceGray".to_vec())),
        ("rg" | "RG", _) => ink.space = names.space(document, &Object::Name(b"DeviceRGB".to_vec())),
        ("k" | "K", _) => ink.space = names.space(document, &Object::Name(b"DeviceCMYK".to_vec())),
        // The name of a pattern.
        (_, Some(Object::Name(name))) => {
            let pattern = names.patterns.get(name).ok();
            ink.paint = pattern.map_or(PdfPaint::Unknown, |object| {
                picture::pattern(document, object, &names.spaces)
            });
            return;
        }
        _ => {}
    }
    let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    ink.paint = ink.space.paint(&values);
}

/// The numbers that an operation begins with.
fn first_numbers(operands: &[Object]) -> Vec<f64> {
    operands
        .iter()
        .map_while(|operand| Some(f64::from(operand.as_float().ok()?)))
        .take(32)
        .collect()
}

/// An array of this many numbers.
fn numbers<const COUNT: usize>(document: &Document, object: &Object) -> Option<[f64; COUNT]> {
    let numbers = resolve(document, object).as_array().ok()?.iter();
    let numbers: Option<Vec<f64>> = numbers
        .map(|number| Some(f64::from(resolve(document, number).as_float().ok()?)))
        .collect();
    numbers?.try_into().ok()
}

fn rectangle(document: &Document, object: &Object) -> Option<Bounds> {
    let [left, bottom, right, top] = numbers(document, object)?;
    Bounds::around([(left, bottom), (right, top)])
}

/// What is shown of a page.
fn shown(document: &Document, page: &Dictionary) -> Option<Bounds> {
    match (
        page_box(document, page, b"MediaBox"),
        page_box(document, page, b"CropBox"),
    ) {
        (Some(media), Some(crop)) => Some(media.within(&crop))
            .filter(|shown| !shown.is_empty())
            .or(Some(media)),
        (media, crop) => media.or(crop),
    }
}

/// A box of a page, or of its nearest ancestor that has it.
fn page_box<'d>(document: &'d Document, mut page: &'d Dictionary, key: &[u8]) -> Option<Bounds> {
    for _ in 0..super::mend::DEEPEST {
        if let Ok(object) = page.get(key) {
            return rectangle(document, object).filter(|bounds| !bounds.is_empty());
        }
        let parent = page.get(b"Parent").and_then(Object::as_reference).ok()?;
        page = document.get_dictionary(parent).ok()?;
    }
    None
}
