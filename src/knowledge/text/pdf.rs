//! Owns the text of PDF files: read on a thread of its own, which bounds time, pages and characters, and whose end harms nobody.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache, InterpreterSettings, SoftMask,
    interpret_page,
};
use tokio::sync::oneshot;

use super::names;
use super::weight::{self, Unfit};

/// The thread's stack: the reader's own limits of depth fit into a part of it.
const STACK: usize = 64 << 20;
/// How long a file may take.
const TIME: Duration = Duration::from_secs(60);
/// How much longer its thread is waited for.
const GRACE: Duration = Duration::from_secs(5);
/// The most pages that are read.
const PAGES: usize = 5_000;
/// The most bytes of text.
const TEXT: usize = 32 << 20;
/// Threads that may be busy with a file that nobody waits for.
const STUCK: usize = 2;

/// Thrown to end a reading that takes too long; no fault.
struct Enough;

/// The text of a file.
pub(super) async fn text(file: Vec<u8>, stuck: &Arc<AtomicUsize>) -> Result<String, String> {
    if stuck.load(Ordering::Relaxed) >= STUCK {
        return Err("the readers of PDF files are busy with files that do not end; restart the host, then reindex this document".to_owned());
    }
    let (sender, answer) = oneshot::channel();
    let (waited, counted) = (Arc::new(AtomicUsize::new(0)), Arc::clone(stuck));
    let left = Arc::clone(&waited);
    let work = move || {
        let text = catch_unwind(AssertUnwindSafe(|| read(file))).unwrap_or_else(|_| Err("the PDF is damaged; it could not be read".to_owned()));
        if left.swap(1, Ordering::SeqCst) == 1 {
            counted.fetch_sub(1, Ordering::Relaxed);
        }
        let _nobody_waits = sender.send(text);
    };
    let thread = std::thread::Builder::new().name("studio-pdf".to_owned()).stack_size(STACK).spawn(work);
    thread.map_err(|error| format!("the PDF was not read: no thread can be started ({error}); reindex it later"))?;
    match tokio::time::timeout(TIME + GRACE, answer).await {
        Ok(text) => text.unwrap_or_else(|_| Err("the PDF could not be read".to_owned())),
        Err(_) => {
            if waited.swap(1, Ordering::SeqCst) == 0 {
                stuck.fetch_add(1, Ordering::Relaxed);
            }
            Err(too_long())
        }
    }
}

fn too_long() -> String {
    format!("the PDF could not be read within {} seconds; split it, or send its text", TIME.as_secs())
}

fn read(mut file: Vec<u8>) -> Result<String, String> {
    weight::check(&file).map_err(|unfit| match unfit {
        Unfit::Heavy => "the PDF unpacks to more than is read at once; split it, or send its text",
        Unfit::Hidden => "the PDF is protected, or built in a way that is not read here; save it anew without protection, or send its text",
    })?;
    names::hide_pictures(&mut file);
    let pdf = Pdf::new(file).map_err(|_| "the file is no PDF that can be opened: it is damaged, or protected by a password".to_owned())?;
    let until = Instant::now() + TIME;
    let mut pages = Vec::new();
    let cache = InterpreterCache::new();
    for page in pdf.pages().iter().take(PAGES) {
        let area = Rect::new(0.0, 0.0, 1.0, 1.0);
        let mut context = Context::new(Affine::IDENTITY, area, &cache, pdf.xref(), InterpreterSettings::default());
        let mut writer = Writer { text: String::new(), place: None, until, left: TEXT - pages.iter().map(String::len).sum::<usize>().min(TEXT) };
        match catch_unwind(AssertUnwindSafe(|| interpret_page(page, &mut context, &mut writer))) {
            Ok(()) => pages.push(writer.text),
            Err(thrown) if thrown.is::<Enough>() => {
                if Instant::now() >= until {
                    return Err(too_long());
                }
                pages.push(writer.text);
                break;
            }
            // A page that cannot be drawn may still have given most of its text.
            Err(_) => pages.push(writer.text),
        }
    }
    Ok(pages.join("\n\n"))
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
