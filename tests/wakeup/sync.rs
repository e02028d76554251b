//! Owns the locks of `src/sync.rs` as loom has them: each use is a place where another thread may come in.

use std::time::Duration;

use loom::sync::atomic::{AtomicBool, Ordering};

pub(crate) use loom::sync::MutexGuard;

const HELD: &str = "no thread of a model panics with a lock";

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect(HELD)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).expect(HELD)
    }

    pub(crate) fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, _: Duration) -> MutexGuard<'a, T> {
        // Time does not pass in a model, so nothing there waits for some of it.
        self.wait(guard)
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    set: AtomicBool,
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self { value: std::sync::OnceLock::new(), set: AtomicBool::new(false) }
    }
}

impl<T> OnceLock<T> {
    pub(crate) fn get(&self) -> Option<&T> {
        self.set.load(Ordering::Acquire).then(|| self.value.get()).flatten()
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)?;
        self.set.store(true, Ordering::Release);
        Ok(())
    }
}
