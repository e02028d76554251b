//! Owns a text during parsing, with the locations of its parts: page, headings, sheet.

use crate::store::knowledge::passages::Place;

/// The most bytes of text of one document.
pub(super) const TEXT: usize = 32 << 20;
/// The most places that are remembered; what follows the last of them stands there too.
const MARKS: usize = 100_000;
/// The most characters of a heading in a path.
const TITLE: usize = 120;
/// Bytes of the headings above a passage.
const PATH: usize = 400;
/// Between the headings of a path.
const BETWEEN: &str = " > ";

/// From here on the text stands somewhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The byte of the text.
    pub at: usize,
    /// Where it stands.
    pub place: Place,
    /// Another page or sheet: no passage goes over it.
    pub ends: bool,
}

/// The text of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// All of it.
    pub text: String,
    /// Where its parts stand, in their order; what is before the first stands nowhere.
    pub marks: Vec<Mark>,
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self { text, marks: Vec::new() }
    }
}

/// A text while it is written.
#[derive(Default)]
pub(super) struct Outline {
    pub(super) text: String,
    marks: Vec<Mark>,
    place: Place,
    headings: Vec<(u8, String)>,
    /// Something was left out, because there was too much.
    pub(super) full: bool,
}

impl Outline {
    /// Appends to the text, as far as there is room.
    pub(super) fn push(&mut self, text: &str) {
        if self.text.len() + text.len() > TEXT {
            self.full = true;
        } else {
            self.text.push_str(text);
        }
    }

    /// The next text begins a line.
    pub(super) fn line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// The next text begins a paragraph.
    pub(super) fn paragraph(&mut self) {
        self.line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Appends what people read: blanks and line breaks become one blank.
    pub(super) fn words(&mut self, text: &str) {
        if self.text.len() + text.len() > TEXT {
            self.full = true;
            return;
        }
        for letter in text.chars() {
            if letter == '\u{a0}' {
                self.text.push(' ');
            } else if !letter.is_whitespace() {
                self.text.push(letter);
            } else if !self.text.ends_with(char::is_whitespace) {
                self.text.push(' ');
            }
        }
    }

    /// A page, a slide or a chapter begins.
    pub(super) fn page(&mut self, page: Option<u32>) {
        self.begin(Place { page, ..Place::default() });
    }

    /// A sheet begins.
    pub(super) fn sheet(&mut self, name: &str) {
        self.begin(Place { sheet: Some(short(name).into()), ..Place::default() });
    }

    fn begin(&mut self, place: Place) {
        self.paragraph();
        self.headings.clear();
        self.place = place;
        self.mark(self.text.len(), true);
    }

    /// The text from `at` on is a heading of a level, 1 the highest.
    pub(super) fn heading(&mut self, at: usize, level: u8) {
        let title = self.text.get(at..).unwrap_or_default().to_owned();
        self.heading_named(at, level, &title);
    }

    /// The same with a title of its own.
    pub(super) fn heading_named(&mut self, at: usize, level: u8, title: &str) {
        let title = short(title);
        if title.is_empty() {
            return;
        }
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, title));
        let path: Vec<&str> = self.headings.iter().map(|(_, title)| title.as_str()).collect();
        let mut path = path.join(BETWEEN);
        path.truncate(path.floor_char_boundary(PATH));
        self.place.heading = Some(path.into());
        self.mark(at, false);
    }

    fn mark(&mut self, at: usize, ends: bool) {
        if self.marks.len() < MARKS {
            self.marks.push(Mark { at, place: self.place.clone(), ends });
        }
    }

    /// The whole text, without the blanks around it.
    pub(super) fn end(self) -> Text {
        let (mut text, mut marks) = (self.text, self.marks);
        text.truncate(text.trim_end().len());
        let blanks = text.len() - text.trim_start().len();
        text.drain(..blanks);
        marks.iter_mut().for_each(|mark| mark.at = mark.at.saturating_sub(blanks));
        Text { text, marks }
    }
}

/// A heading or a name on one line, not too long.
fn short(title: &str) -> String {
    let words = title.split_whitespace().flat_map(|word| [" ", word]).skip(1);
    words.flat_map(str::chars).take(TITLE).filter(|letter| !letter.is_control()).collect()
}
