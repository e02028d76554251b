//! Owns the limits of one evaluation: steps and memory are counted before they are used.

use std::cell::Cell;

/// Units of work: an item looked at, or `STRETCH` bytes of text.
const WORK: usize = 1_000_000;
/// Bytes of text that are one unit.
const STRETCH: usize = 32;
/// Bytes of all values that are made.
const ROOM: usize = 32 << 20;

/// Why an evaluation ended without a value.
pub(super) type Problem = String;
pub(super) type Outcome<T> = Result<T, Problem>;

/// What is left of both.
pub(super) struct Meter {
    work: Cell<usize>,
    room: Cell<usize>,
}

impl Meter {
    pub(super) const fn new() -> Self {
        Self { work: Cell::new(WORK), room: Cell::new(ROOM) }
    }

    /// Looks at so many items.
    pub(super) fn look(&self, items: usize) -> Outcome<()> {
        let left = self.work.get().checked_sub(items).ok_or("it takes too much work; test less of the state, or keep less in it")?;
        self.work.set(left);
        Ok(())
    }

    /// Reads so many bytes of text.
    pub(super) fn read(&self, bytes: usize) -> Outcome<()> {
        self.look(1 + bytes / STRETCH)
    }

    /// Makes a value of so many bytes.
    pub(super) fn make(&self, bytes: usize) -> Outcome<()> {
        let left = self.room.get().checked_sub(bytes).ok_or_else(|| format!("its values become larger than {} MiB", ROOM >> 20))?;
        self.room.set(left);
        self.read(bytes)
    }
}
