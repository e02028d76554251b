//! Owns the parsing of a document on a separate thread, with limits on time and unpacked size.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::outline::Text;
use super::stuck::Stuck;

/// The thread's stack: the readers' own limits of depth fit into a part of it.
const STACK: usize = 64 << 20;
/// How much longer than it may take a thread is waited for.
const GRACE: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 5 });

/// What one reading may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time.
    pub time: Duration,
    /// Bytes that it may unpack.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(60), bytes: 512 << 20 }
    }
}

/// A reading under way: when it has to end, and how much it may unpack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) until: Instant,
    pub(super) limits: Limits,
    /// What the file is called.
    pub(super) what: &'static str,
}

impl Bounds {
    pub(super) fn too_long(&self) -> String {
        format!("the {} could not be read within {} seconds (`rag.reader_seconds`); split it, or send its text", self.what, self.limits.time.as_secs())
    }

    pub(super) fn too_much(&self) -> String {
        format!("the {} unpacks to more than is read at once (`rag.reader_mb`); split it, or send its text", self.what)
    }

    pub(super) fn damaged(&self) -> String {
        format!("the {} is damaged; it could not be read", self.what)
    }

    pub(super) fn protected(&self) -> String {
        format!("the {} is protected, or built in a way that is not read here; save it anew without protection, or send its text", self.what)
    }

    /// Is there time left?
    pub(super) fn check(&self) -> Result<(), String> {
        if Instant::now() >= self.until { Err(self.too_long()) } else { Ok(()) }
    }
}

/// Readers of this kind look at their time only now and then, and may not end; the others do.
const MAY_HANG: &str = "PDF";

/// What a reading gives in its time. Its thread goes on behind that, and counts as stuck until it ends.
pub(super) async fn within(
    limits: Limits,
    what: &'static str,
    stuck: &Stuck,
    tenant: &str,
    read: impl FnOnce(&Bounds) -> Result<Text, String> + Send + 'static,
) -> Result<Text, String> {
    if what == MAY_HANG {
        stuck.check(tenant)?;
    }
    let bounds = Bounds { until: Instant::now() + limits.time, limits, what };
    let (sender, answer) = oneshot::channel();
    let left = Arc::new(AtomicBool::new(false));
    let (ended, counted, owner) = (Arc::clone(&left), stuck.clone(), tenant.to_owned());
    let work = move || {
        let text = catch_unwind(AssertUnwindSafe(|| read(&bounds))).unwrap_or_else(|_| Err(bounds.damaged()));
        if ended.swap(true, Ordering::SeqCst) {
            counted.remove(&owner);
        }
        let _nobody_waits = sender.send(text);
    };
    let thread = std::thread::Builder::new().name("studio-reader".to_owned()).stack_size(STACK).spawn(work);
    thread.map_err(|error| format!("the {what} was not read: no thread can be started ({error}); reindex it later"))?;
    let waits = Waits { left, stuck, tenant };
    let text = tokio::time::timeout(limits.time + GRACE, answer).await;
    drop(waits);
    text.unwrap_or_else(|_| Ok(Err(bounds.too_long()))).unwrap_or_else(|_| Err(bounds.damaged()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(millis: u64) -> Limits {
        Limits { time: Duration::from_millis(millis), ..Limits::default() }
    }

    fn too_long(limits: Limits) -> String {
        Bounds { until: Instant::now(), limits, what: "PDF" }.too_long()
    }

    #[tokio::test]
    async fn a_file_that_does_not_end_stops_no_other_tenant() {
        let (stuck, soon) = (Stuck::default(), brief(10));
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let endless = move |_: &Bounds| {
            let _until_it_may_end = wait.recv();
            Ok(Text::default())
        };
        assert_eq!(within(soon, "PDF", &stuck, "a", endless).await, Err(too_long(soon)));
        let read = |tenant| within(Limits::default(), "PDF", &stuck, tenant, |_| Ok(Text::from("text".to_owned())));
        assert!(read("a").await.expect_err("it has its share").contains("does not end"));
        for _ in 0..20 {
            assert_eq!(read("b").await.map(|text| text.text).as_deref(), Ok("text"));
        }
        drop(end);
        while stuck.check("a").is_err() {
            tokio::task::yield_now().await;
        }
        assert_eq!(read("a").await.map(|text| text.text).as_deref(), Ok("text"), "the thread has ended");
    }

    #[tokio::test]
    async fn many_files_that_do_not_end_stop_at_a_bound() {
        let (stuck, soon) = (Stuck::default(), brief(1));
        let mut ends = Vec::new();
        for tenant in 0..9 {
            let (end, wait) = std::sync::mpsc::channel::<()>();
            ends.push(end);
            let endless = move |_: &Bounds| wait.recv().map(|()| Text::default()).map_err(|_| "ended".to_owned());
            let told = within(soon, "PDF", &stuck, &tenant.to_string(), endless).await.expect_err("it does not end");
            assert_eq!(told == too_long(soon), tenant < 8, "{tenant}: {told}");
        }
    }
}
