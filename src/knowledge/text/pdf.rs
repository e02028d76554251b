//! Owns the text of PDF files: read on a thread of its own, which bounds time, pages and characters, and whose end harms nobody.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
use super::stuck::Stuck;
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

/// Thrown to end a reading that takes too long; no fault.
struct Enough;

/// The text of a file of a tenant.
pub(super) async fn text(file: Vec<u8>, stuck: &Stuck, tenant: &str) -> Result<String, String> {
    within(TIME + GRACE, stuck, tenant, move || read(file, Instant::now() + TIME)).await
}

/// What a reading gives within a time. Its thread goes on behind that, and counts as stuck until it ends.
async fn within(
    time: Duration,
    stuck: &Stuck,
    tenant: &str,
    read: impl FnOnce() -> Result<String, String> + Send + 'static,
) -> Result<String, String> {
    stuck.check(tenant)?;
    let (sender, answer) = oneshot::channel();
    let left = Arc::new(AtomicBool::new(false));
    let (ended, counted, owner) = (Arc::clone(&left), stuck.clone(), tenant.to_owned());
    let work = move || {
        let text = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("the PDF is damaged; it could not be read".to_owned()));
        if ended.swap(true, Ordering::SeqCst) {
            counted.remove(&owner);
        }
        let _nobody_waits = sender.send(text);
    };
    let thread = std::thread::Builder::new().name("studio-pdf".to_owned()).stack_size(STACK).spawn(work);
    thread.map_err(|error| format!("the PDF was not read: no thread can be started ({error}); reindex it later"))?;
    let waits = Waits { left, stuck, tenant };
    let text = tokio::time::timeout(time, answer).await;
    drop(waits);
    text.unwrap_or_else(|_| Ok(Err(too_long()))).unwrap_or_else(|_| Err("the PDF could not be read".to_owned()))
}

/// Somebody who waits for a thread. Who goes away first leaves it stuck.
struct Waits<'a> {
    left: Arc<AtomicBool>,
    stuck: &'a Stuck,
    tenant: &'a str,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        // Counted before it is left: the thread may end at any moment.
        self.stuck.add(self.tenant);
        if self.left.swap(true, Ordering::SeqCst) {
            self.stuck.remove(self.tenant);
        }
    }
}

fn too_long() -> String {
    format!("the PDF could not be read within {} seconds; split it, or send its text", TIME.as_secs())
}

fn read(mut file: Vec<u8>, until: Instant) -> Result<String, String> {
    weight::check(&file).map_err(|unfit| match unfit {
        Unfit::Heavy => "the PDF unpacks to more than is read at once; split it, or send its text",
        Unfit::Hidden => "the PDF is protected, or built in a way that is not read here; save it anew without protection, or send its text",
    })?;
    names::hide_pictures(&mut file);
    let pdf = Pdf::new(file).map_err(|_| "the file is no PDF that can be opened: it is damaged, or protected by a password".to_owned())?;
    let mut pages = Vec::new();
    let cache = InterpreterCache::new();
    for page in pdf.pages().iter().take(PAGES) {
        // A page that draws nothing looks at no time.
        if Instant::now() >= until {
            return Err(too_long());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_does_not_end_stops_no_other_tenant() {
        let (stuck, soon) = (Stuck::default(), Duration::from_millis(10));
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let endless = move || {
            let _until_it_may_end = wait.recv();
            Ok(String::new())
        };
        assert_eq!(within(soon, &stuck, "a", endless).await, Err(too_long()));
        let read = |tenant| within(TIME, &stuck, tenant, || Ok("text".to_owned()));
        assert!(read("a").await.expect_err("it has its share").contains("does not end"));
        for _ in 0..20 {
            assert_eq!(read("b").await.as_deref(), Ok("text"));
        }
        drop(end);
        while stuck.check("a").is_err() {
            tokio::task::yield_now().await;
        }
        assert_eq!(read("a").await.as_deref(), Ok("text"), "the thread has ended");
    }

    #[tokio::test]
    async fn many_files_that_do_not_end_stop_at_a_bound() {
        let (stuck, soon) = (Stuck::default(), Duration::from_millis(1));
        let mut ends = Vec::new();
        for tenant in 0..9 {
            let (end, wait) = std::sync::mpsc::channel::<()>();
            ends.push(end);
            let endless = move || wait.recv().map(|()| String::new()).map_err(|_| "ended".to_owned());
            let told = within(soon, &stuck, &tenant.to_string(), endless).await.expect_err("it does not end");
            assert_eq!(told == too_long(), tenant < 8, "{tenant}: {told}");
        }
    }

    #[test]
    fn a_reading_ends_with_its_time() {
        let pages = "<</Type/Page/MediaBox[0 0 9 9]>>";
        let file = format!("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[{pages}]>>endobj\ntrailer<</Root 1 0 R>>");
        assert_eq!(read(file.clone().into_bytes(), Instant::now() + TIME).as_deref(), Ok(""));
        assert_eq!(read(file.into_bytes(), Instant::now()), Err(too_long()));
    }
}
