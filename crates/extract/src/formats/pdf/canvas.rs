//! Follows what the operations of a page paint, and records it as a scene.

use std::cell::Cell;
use std::rc::Rc;

use hashbrown::HashMap;
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};
use hayro_syntax::page::{Page, Resources};

use super::area::{Bounds, Clip, FillRule, Matrix, PageArea, Path};
use super::colour::{Blend, PdfPaint, Space};
use super::fonts::Font;
use super::layers::PdfLayers;
use super::letters::{TextPlace, TextRun, TextState};
use super::picture::{self, PictureLook};
use super::scene::{FontMetrics, Measured, Painted, Scene, Stencil, TextStyle};

/// The maximum number of points in the paths of a page with text.
const MOST_POINTS: usize = 2_000_000;

/// An operation of a page or a form.
pub(super) struct Operation<'o, 'c> {
    pub(super) operator: &'o [u8],
    pub(super) operands: Vec<&'o Object<'c>>,
    /// The numbers that the operands begin with.
    pub(super) values: Vec<f64>,
}

/// The names that a page or a form has for what its operations refer to.
pub(super) struct Names<'a> {
    pub(super) resources: Resources<'a>,
    /// Colour spaces that have been read.
    read: HashMap<Vec<u8>, Space>,
}

impl<'a> Names<'a> {
    pub(super) fn of(resources: Resources<'a>) -> Self {
        Self {
            resources,
            read: HashMap::new(),
        }
    }

    fn spaces(&self) -> &Dict<'a> {
        &self.resources.color_spaces
    }

    fn space(&mut self, name: &[u8]) -> Space {
        if let Some(space) = self.read.get(name) {
            return space.clone();
        }
        let object = Object::Name(Name::new_unescaped(name));
        let space = Space::read(&object, self.spaces());
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
#[derive(Clone)]
struct GraphicsState<'a> {
    matrix: Matrix,
    text: TextState<'a>,
    place: TextPlace,
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
}

/// A page being painted.
pub(super) struct Canvas<'a> {
    scene: Scene<'a>,
    layers: Rc<PdfLayers<'a>>,
    state: GraphicsState<'a>,
    outer: Vec<GraphicsState<'a>>,
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
    pictures: HashMap<ObjectIdentifier, PictureLook>,
    /// Whether the next string may have another style than the last one.
    is_changed: bool,
    /// Whether the place of the next string is given.
    is_placed: bool,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(page: &Page<'a>, layers: Rc<PdfLayers<'a>>) -> Self {
        let ink = Ink {
            space: Space::Gray,
            paint: Space::Gray.initial(),
            alpha: 1.0,
        };
        let state = GraphicsState {
            matrix: Matrix::IDENTITY,
            text: TextState::START,
            place: TextPlace::START,
            clip: Clip::NONE,
            stencil: None,
            fill: ink.clone(),
            line: ink,
            line_width: 1.0,
            group: 1.0,
            blend: Blend::Normal,
            is_masked: false,
            overprints: false,
        };
        let (outer, path, points, clip) = (Vec::new(), Path::default(), 0, None);
        let (marks, hidden, stencil, is_changed, is_placed) = (Vec::new(), 0, None, true, true);
        let scene = Scene::new(shown(page), page.raw().get("UserUnit").unwrap_or(1.0));
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

    pub(super) fn into_scene(self) -> Scene<'a> {
        self.scene
    }

    /// How many states are saved.
    pub(super) fn saved(&self) -> usize {
        self.outer.len()
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

    /// Begins a form: what it shows is transformed, clipped, and may be on a layer.
    pub(super) fn enter(&mut self, form: &Dict<'a>) {
        let hidden = self.layers.hides(form, b"OC");
        self.save();
        self.mark(hidden);
        if let Some(matrix) = form.get("Matrix") {
            self.state.matrix = Matrix(matrix).then(&self.state.matrix);
        }
        let bounds = form
            .get("BBox")
            .and_then(|[left, bottom, right, top]: [f64; 4]| {
                Bounds::around([(left, bottom), (right, top)])
            });
        if let Some(bounds) = bounds {
            self.state
                .clip
                .add(PageArea::of_square(&self.state.matrix, bounds));
        }
        if form.contains_key("Group") {
            self.state.group *= self.state.fill.alpha;
            (self.state.fill.alpha, self.state.line.alpha) = (1.0, 1.0);
        }
        self.is_changed = true;
    }

    /// Follows an operation, other than those that show text or begin and end a graphics state.
    pub(super) fn operate(&mut self, operation: &Operation<'_, '_>, names: &mut Names<'a>) {
        let (operands, values) = (&operation.operands[..], &operation.values[..]);
        match operation.operator {
            operator @ (b"m" | b"l" | b"c" | b"v" | b"y" | b"h" | b"re") => {
                return self.extend_path(operator, values);
            }
            b"BMC" => return self.mark(false),
            b"BDC" => {
                let is_hidden = self.is_layer_off(operands, names);
                return self.mark(is_hidden);
            }
            b"EMC" => return self.end_mark(),
            b"W" => self.clip = Some(FillRule::NonZero),
            b"W*" => self.clip = Some(FillRule::EvenOdd),
            operator @ (b"f" | b"F" | b"f*" | b"S" | b"s" | b"B" | b"B*" | b"b" | b"b*" | b"n") => {
                self.paint_path(operator);
            }
            b"sh" => self.paint_shading(operands, names),
            b"BI" => self.inline_picture(operands, names),
            b"ET" => {
                if let Some(stencil) = self.stencil.take() {
                    self.state.stencil = Some(stencil);
                }
            }
            operator if self.set_place(operator, values) => return,
            _ if self.change_state(operation, names) => {}
            _ => return,
        }
        self.is_changed = true;
    }

    /// Follows an operation that sets where text is shown, if it is one.
    fn set_place(&mut self, operator: &[u8], values: &[f64]) -> bool {
        let GraphicsState { place, text, .. } = &mut self.state;
        let is_set = place.follow(operator, values, text);
        self.is_placed |= is_set;
        if operator == b"BT" {
            self.stencil = None;
        }
        is_set
    }

    /// Follows an operation that changes the graphics state, if it is one.
    fn change_state(&mut self, operation: &Operation<'_, '_>, names: &mut Names<'a>) -> bool {
        match (operation.operator, &operation.values[..]) {
            (b"cm", values) if let Ok(matrix) = values.try_into() => {
                self.state.matrix = Matrix(matrix).then(&self.state.matrix);
            }
            (b"w", &[width]) => self.state.line_width = width,
            (b"gs", _) => self.extended(&operation.operands, names),
            (b"g" | b"rg" | b"k" | b"cs" | b"sc" | b"scn", _) => {
                set_colour(&mut self.state.fill, operation, names);
            }
            (b"G" | b"RG" | b"K" | b"CS" | b"SC" | b"SCN", _) => {
                set_colour(&mut self.state.line, operation, names);
            }
            (operator, values) => return self.state.text.set(operator, values),
        }
        true
    }

    /// Whether a marked part of the content is on a layer that is switched off.
    fn is_layer_off(&self, operands: &[&Object<'_>], names: &Names<'a>) -> bool {
        let [Object::Name(tag), Object::Name(name)] = operands else {
            return false;
        };
        tag.as_ref() == b"OC" && self.layers.hides(&names.resources.properties, name)
    }

    fn paint_shading(&mut self, operands: &[&Object<'_>], names: &Names<'a>) {
        let area = PageArea::of_box(self.state.clip.bounds);
        let shading = match operands {
            [Object::Name(name), ..] => names.resources.get_shading(name),
            _ => None,
        };
        let paint = shading.map_or(PdfPaint::Unknown, |object| {
            picture::shading(&object, names.spaces())
        });
        self.paint(area, paint, self.state.fill.alpha, false, true);
    }

    fn extended(&mut self, operands: &[&Object<'_>], names: &Names<'a>) {
        let [Object::Name(name), ..] = operands else {
            return;
        };
        let Some(set) = names.resources.get_ext_g_state(name) else {
            return;
        };
        let state = &mut self.state;
        state.fill.alpha = set.get("ca").unwrap_or(state.fill.alpha);
        state.line.alpha = set.get("CA").unwrap_or(state.line.alpha);
        state.line_width = set.get("LW").unwrap_or(state.line_width);
        for key in ["OP", "op"] {
            state.overprints = set.get(key).unwrap_or(state.overprints);
        }
        if let Some(mask) = set.get::<Object<'_>>("SMask") {
            state.is_masked = mask.into_name().is_none_or(|name| name.as_ref() != b"None");
        }
        if let Some(array) = set.get::<Array<'_>>("BM") {
            let first = array.iter::<Name<'_>>().next();
            state.blend = first.map_or(Blend::Normal, |name| Blend::of(&name));
        } else if let Some(name) = set.get::<Name<'_>>("BM") {
            state.blend = Blend::of(&name);
        }
    }

    fn extend_path(&mut self, operator: &[u8], values: &[f64]) {
        if self.points > MOST_POINTS {
            return self.scene.fill();
        }
        let before = self.path.points;
        let (matrix, path) = (self.state.matrix, &mut self.path);
        let point = |x: f64, y: f64| matrix.point((x, y));
        match (operator, values) {
            (b"m", &[x, y]) => path.move_to(point(x, y)),
            (b"l", &[x, y]) => path.line_to(point(x, y)),
            (b"c", &[x1, y1, x2, y2, x, y]) => {
                path.curve_to(point(x1, y1), point(x2, y2), point(x, y));
            }
            (b"v", &[c, d, x, y]) => {
                let from = path.end().unwrap_or(point(c, d));
                path.curve_to(from, point(c, d), point(x, y));
            }
            (b"y", &[a, b, x, y]) => path.curve_to(point(a, b), point(x, y), point(x, y)),
            (b"h", _) => path.close(),
            (b"re", &[x, y, width, height]) => {
                path.rectangle(&matrix, (x, y), (x + width, y + height));
            }
            _ => {}
        }
        self.points += self.path.points - before;
    }

    fn paint_path(&mut self, operator: &[u8]) {
        let (path, clip) = (std::mem::take(&mut self.path), self.clip.take());
        let rule = if operator.ends_with(b"*") {
            FillRule::EvenOdd
        } else {
            FillRule::NonZero
        };
        if b"fFbB".contains(&operator[0]) {
            let GraphicsState {
                fill: Ink { paint, alpha, .. },
                ..
            } = self.state;
            if let Some(area) = path.clone().area(rule) {
                self.paint(area, paint, alpha, false, true);
            }
        }
        if b"SsbB".contains(&operator[0]) {
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

    fn inline_picture(&mut self, operands: &[&Object<'_>], names: &Names<'a>) {
        match operands {
            [Object::Stream(picture)] => self.picture(None, picture, names),
            _ => self.look(PictureLook::UNKNOWN),
        }
    }

    /// Paints a picture into the square of one unit.
    pub(super) fn picture(
        &mut self,
        id: Option<ObjectIdentifier>,
        picture: &Stream<'_>,
        names: &Names<'a>,
    ) {
        if self.layers.hides(picture.dict(), b"OC") {
            return;
        }
        let known = id.and_then(|id| self.pictures.get(&id).copied());
        let look = known.unwrap_or_else(|| picture::look(picture, names.spaces()));
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

    /// Sets the font of the strings that follow.
    pub(super) fn set_font(&mut self, font: Rc<Font<'a>>, size: f64) {
        (self.state.text.font, self.state.text.size) = (Some(font), size);
    }

    /// The font of the strings that follow, if one is set: they are shown together.
    pub(super) fn begin_strings(&mut self) -> Option<Rc<Font<'a>>> {
        let font = self.state.text.font.clone()?;
        if self.is_changed || !font.metrics.has_widths {
            let style = self.style(font.metrics);
            self.scene.add_style(style);
            self.is_changed = !font.metrics.has_widths;
        }
        self.is_placed = false;
        Some(font)
    }

    /// Shows a string, and calls a function with the characters of each letter, if they are known.
    pub(super) fn show(&mut self, string: &[u8], mut each: impl FnMut(Option<&str>)) {
        let run = TextRun {
            state: self.state.text.clone(),
            string: string.into(),
            matrix: self.state.place.next.then(&self.state.matrix),
            style: self.scene.last_style(),
        };
        let length = run.letters(|_, text| each(text));
        self.state.place.advance(length);
        self.scene.show(run);
    }

    /// Moves the next string to the left.
    pub(super) fn adjust(&mut self, by: f64) {
        let GraphicsState { text, place, .. } = &mut self.state;
        place.advance(-by / 1000.0 * text.size * text.stretch);
    }

    /// Begins the next line.
    pub(super) fn next_line(&mut self) {
        self.set_place(b"T*", &[]);
    }

    /// Sets the distances between words and letters.
    pub(super) fn set_distances(&mut self, blank: f64, spacing: f64) {
        (self.state.text.blank, self.state.text.spacing) = (blank, spacing);
    }

    fn style(&mut self, metrics: FontMetrics) -> TextStyle {
        let clips = (4..=7).contains(&self.state.text.mode);
        let stencil = clips.then(|| {
            self.stencil
                .get_or_insert_with(|| Rc::new(Cell::new(None)))
                .clone()
        });
        let state = &self.state;
        let ink = |ink: &Ink| Some((ink.paint, ink.alpha * state.group));
        let inks = match state.text.mode {
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
fn set_colour(ink: &mut Ink, operation: &Operation<'_, '_>, names: &mut Names<'_>) {
    match (operation.operator, operation.operands.last()) {
        (b"cs" | b"CS", Some(Object::Name(space))) => {
            ink.space = names.space(space);
            ink.paint = ink.space.initial();
            return;
        }
        (b"g" | b"G", _) => ink.space = Space::Gray,
        (b"rg" | b"RG", _) => ink.space = Space::Rgb,
        (b"k" | b"K", _) => ink.space = Space::Cmyk,
        // The name of a pattern.
        (_, Some(Object::Name(name))) => {
            let pattern = names.resources.get_pattern(name);
            ink.paint = pattern.map_or(PdfPaint::Unknown, |object| {
                picture::pattern(&object, names.spaces())
            });
            return;
        }
        _ => {}
    }
    let values: Vec<f32> = operation.values.iter().map(|value| *value as f32).collect();
    ink.paint = ink.space.paint(&values);
}

/// What is shown of a page.
fn shown(page: &Page<'_>) -> Option<Bounds> {
    let [media, crop] = [page.media_box(), page.crop_box()].map(|bounds| Bounds {
        from: (bounds.x0, bounds.y0),
        to: (bounds.x1, bounds.y1),
    });
    [media.within(&crop), media]
        .into_iter()
        .find(|bounds| !bounds.is_empty())
}
