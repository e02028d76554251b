//! Owns fair time: it passes as fast as two threads get their turns that do next to nothing, and no faster than the clock. What a starved machine takes
//! from everybody is nobody's fault; what an engine takes for itself is.

use std::future::Future;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// One goes to sleep for so long, asks the other one, and waits for its answer: three turns, as a small write of an engine takes.
const SLEEP: Duration = Duration::from_millis(1);
/// What may pass in that time.
const MOST: Duration = Duration::from_micros(2500);

/// Fair microseconds since the first look.
static PASSED: LazyLock<&'static AtomicU64> = LazyLock::new(|| {
    let passed: &'static AtomicU64 = Box::leak(Box::default());
    let ((ask, asked), (answer, answered)) = (mpsc::channel(), mpsc::channel());
    thread::spawn(move || {
        while asked.recv().is_ok() && answer.send(work()).is_ok() {}
    });
    thread::spawn(move || {
        let mut began = Instant::now();
        loop {
            thread::sleep(SLEEP);
            let _both_live_as_long_as_the_process = ask.send(()).is_ok() && answered.recv().is_ok();
            let took = began.elapsed();
            began += took;
            passed.fetch_add(u64::try_from(took.min(MOST).as_micros()).unwrap_or(0), Ordering::SeqCst);
        }
    });
    passed
});

fn work() -> u64 {
    (0..2000_u64).fold(0, |sum, number| black_box(sum ^ number).wrapping_mul(0x100_0000_01b3))
}

/// A moment of fair time.
#[derive(Clone, Copy, Debug)]
pub struct Moment(u64);

impl Moment {
    pub fn now() -> Self {
        Self(PASSED.load(Ordering::SeqCst))
    }

    /// The fair time that passed since.
    pub fn elapsed(self) -> Duration {
        Duration::from_micros(PASSED.load(Ordering::SeqCst).saturating_sub(self.0))
    }
}

/// Waits for work, but no longer than this; none when it was not done in time.
pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let began = Moment::now();
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(Duration::from_millis(50).min(limit), &mut work).await {
            Ok(done) => return Some(done),
            Err(_) if began.elapsed() > limit => return None,
            Err(_) => {}
        }
    }
}

#[test]
fn fair_time_is_never_ahead_and_goes_on_when_the_machine_does() {
    // The clock first: what passes between the two looks is on its side.
    let began = Instant::now();
    let fair = Moment::now();
    while fair.elapsed() < Duration::from_millis(30) {
        thread::sleep(SLEEP);
        assert!(began.elapsed() < Duration::from_secs(120), "fair time stands still");
    }
    assert!(began.elapsed() >= Duration::from_millis(25), "30 fair milliseconds took {:?}", began.elapsed());
}
