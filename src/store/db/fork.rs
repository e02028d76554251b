//! Owns the lock between SQLite and `fork`: no thread is inside SQLite while the process forks.
//!
//! Without it a forked child inherits SQLite's mutexes in the state in which another thread held them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static INSIDE: AtomicU64 = AtomicU64::new(0);
static FORKING: AtomicU64 = AtomicU64::new(0);

/// Held while a thread is inside SQLite.
#[derive(Debug)]
pub struct Guard(());

/// Enters an SQLite section; waits only while a fork is under way.
#[must_use]
pub fn enter() -> Guard {
    loop {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        if FORKING.load(Ordering::SeqCst) == 0 {
            return Guard(());
        }
        leave();
        while FORKING.load(Ordering::SeqCst) != 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Lets a fork through that waits, from the middle of long work inside SQLite: in a place where this thread holds nothing that others need.
pub(in crate::store) fn give_way(_held: &Guard) {
    if FORKING.load(Ordering::SeqCst) != 0 {
        leave();
        std::mem::forget(enter());
    }
}

fn leave() {
    INSIDE.fetch_sub(1, Ordering::SeqCst);
}

impl Drop for Guard {
    fn drop(&mut self) {
        leave();
    }
}

/// Before `fork`: keeps threads out and waits until none is inside, or `patience` is over.
pub fn prepare(patience: Duration) {
    FORKING.fetch_add(1, Ordering::SeqCst);
    let mut left = patience;
    let pause = Duration::from_micros(50);
    while INSIDE.load(Ordering::SeqCst) != 0 && !left.is_zero() {
        std::thread::sleep(pause);
        left = left.saturating_sub(pause);
    }
}

/// After `fork`, in the parent: lets threads in again.
pub fn parent() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

/// After `fork`, in the child: no thread is inside SQLite, because no other thread exists.
pub fn child() {
    INSIDE.store(0, Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Other tests would wait for this one, and it for those that hold a transaction open.
    #[test]
    fn nobody_enters_while_the_process_forks() {
        crate::store::tests::alone("store::db::fork::tests::in_a_process_of_its_own");
    }

    #[test]
    #[ignore = "run by the test above, in a process of its own"]
    fn in_a_process_of_its_own() {
        let inside = enter();
        prepare(Duration::from_micros(100));
        drop(inside);
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let _guard = enter();
            sender.send(()).unwrap();
        });
        assert!(receiver.recv_timeout(Duration::from_millis(20)).is_err());
        parent();
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        thread.join().unwrap();
        // Threads that have left are not waited for.
        let began = std::time::Instant::now();
        prepare(Duration::from_secs(60));
        parent();
        assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    }
}
