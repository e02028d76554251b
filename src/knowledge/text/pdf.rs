//! Owns the text of PDF files, page by page, with limits on time, pages and characters.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache, InterpreterSettings, SoftMask,
    interpret_page,
};
use super::bounded::Bounds;
use super::names;
use super::outline::{Outline, TEXT, Text};
use super::weight::{self, Unfit};

/// The most pages of a file that is read.
const PAGES: usize = 5_000;
/// Thrown to end a reading that takes too long; no fault.
struct Enough;

/// The text of a file, page by page.
pub(super) fn read(mut file: Vec<u8>, bounds: &Bounds) -> Result<Text, String> {
    weight::check(&file, bounds.limits.bytes).map_err(|unfit| match unfit {
        Unfit::Heavy => bounds.too_much(),
        Unfit::Hidden => bounds.protected(),
    })?;
    names::hide_pictures(&mut file);
    let pdf = Pdf::new(file).map_err(|_| "the file is no PDF that can be opened: it is damaged, or protected by a password".to_owned())?;
    let count = pdf.pages().len();
    if count > PAGES {
        return Err(format!("the PDF has {count} pages, and at most {PAGES} are read; split it, or send its text"));
    }
    let mut outline = Outline::default();
    let cache = InterpreterCache::new();
    for (number, page) in (1..).zip(pdf.pages().iter()) {
        // A page that draws nothing looks at no time.
        bounds.check()?;
        let area = Rect::new(0.0, 0.0, 1.0, 1.0);
        let mut context = Context::new(Affine::IDENTITY, area, &cache, pdf.xref(), InterpreterSettings::default());
        let mut writer = Writer { text: String::new(), place: None, until: bounds.until, left: TEXT.saturating_sub(outline.text.len()) };
        let ended = catch_unwind(AssertUnwindSafe(|| interpret_page(page, &mut context, &mut writer)));
        outline.page(Some(number));
        outline.push(writer.text.trim_end());
        if outline.full {
            return Err(bounds.too_much());
        }
        // A page that cannot be drawn may still have given most of its text.
        if ended.is_err_and(|thrown| thrown.is::<Enough>()) {
            bounds.check()?;
            break;
        }
    }
    Ok(outline.end())
}

/// How far the next glyph is, in thousandths of the size.
fn width(glyph: &Glyph<'_>) -> f32 {
    let width = match glyph {
        Glyph::Outline(glyph) => glyph.advance_width(),
        Glyph::Type3(glyph) => glyph.advance_width(),
    };
    width.unwrap_or(500.0)
}

/// Where the last glyph ended.
#[derive(Clone, Copy)]
struct Place {
    start: Point,
    end: Point,
    size: f64,
}

/// Puts glyphs together to lines.
struct Writer {
    text: String,
    place: Option<Place>,
    until: Instant,
    /// Bytes that may still be written.
    left: usize,
}

impl Writer {
    fn check(&self) {
        if self.text.len() >= self.left || Instant::now() >= self.until {
            resume_unwind(Box::new(Enough));
        }
    }

    /// Looks at where a glyph stands: on another line, apart from the one before, or next to it.
    fn move_to(&mut self, start: Point, end: Point, size: f64) {
        if let Some(before) = self.place {
            let (down, right) = (start.y - before.end.y, start.x - before.end.x);
            let line = before.size.max(size).max(0.01);
            if start == before.start {
                // The same glyph drawn again, for a shadow or to make it bold.
            } else if down.abs() > line * 0.5 {
                self.break_line(down.abs() > line * 1.6);
            } else if right > line * 0.15 || right < -line {
                self.blank();
            }
        }
        self.place = Some(Place { start, end, size });
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }

    fn break_line(&mut self, paragraph: bool) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        if paragraph && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn write(&mut self, letter: char) {
        if letter.is_whitespace() {
            self.blank();
        } else if !letter.is_control() && letter != '\u{fffd}' {
            self.text.push(letter);
        }
    }
}

impl Device<'_> for Writer {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, '_>, props: DrawProps<'_>, _: &DrawMode) {
        self.check();
        for glyph in run.glyphs() {
            let transform = props.transform * glyph.transform();
            let (start, up) = (transform * Point::ZERO, transform * Point::new(0.0, 1000.0));
            let end = transform * Point::new(f64::from(width(glyph)), 0.0);
            let size = (up - start).hypot();
            if ![start.x, start.y, end.x, end.y, size].iter().all(|number| number.is_finite()) {
                continue;
            }
            self.move_to(start, end, size);
            match glyph.as_unicode() {
                Some(BfString::Char(letter)) => self.write(letter),
                Some(BfString::String(letters)) => letters.chars().take(16).for_each(|letter| self.write(letter)),
                None => {}
            }
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'_>, _: &DrawMode) {
        self.check();
    }

    fn push_clip_path(&mut self, _: &ClipPath) {
        self.check();
    }

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'_>>, _: BlendMode) {
        self.check();
    }

    fn draw_image(&mut self, _: Image<'_, '_>, _: ImageDrawProps<'_>) {
        self.check();
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::knowledge::text::bounded::Limits;

    const TIME: Duration = Duration::from_secs(60);

    fn bounds(time: Duration) -> Bounds {
        Bounds { until: Instant::now() + time, limits: Limits::default(), what: "PDF" }
    }

    #[test]
    fn a_reading_ends_with_its_time() {
        let pages = "<</Type/Page/MediaBox[0 0 9 9]>>";
        let file = format!("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[{pages}]>>endobj\ntrailer<</Root 1 0 R>>");
        assert_eq!(read(file.clone().into_bytes(), &bounds(TIME)).map(|text| text.text).as_deref(), Ok(""));
        assert_eq!(read(file.into_bytes(), &bounds(Duration::ZERO)).map(drop), Err(bounds(TIME).too_long()));
    }
}
