//! Owns the counters that are written at the end of a transaction: many jobs change the same rows, which are then written once, always in the
//! same order.

use std::collections::BTreeMap;

use super::db::Tx;
use super::error::StoreError;
use crate::store::log::parts;
use crate::store::usage::sums::Counted;

/// What counters are changed by.
#[derive(Debug, Default)]
pub(super) struct Later {
    counted: Counted,
    /// How many more runs use a part.
    parts: BTreeMap<i64, i64>,
}

impl Later {
    /// What runs and calls add to the sums of usage.
    pub(super) const fn counted(&mut self) -> &mut Counted {
        &mut self.counted
    }

    /// More or fewer runs use a part.
    pub(super) fn part(&mut self, part: i64, more: i64) {
        *self.parts.entry(part).or_default() += more;
    }

    /// What another job adds, too.
    pub(super) fn join(&mut self, other: Self) {
        self.counted.join(other.counted);
        for (part, more) in other.parts {
            self.part(part, more);
        }
    }

    /// Writes it all.
    pub(super) fn apply(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        for (part, more) in &self.parts {
            parts::count_uses(tx, *part, *more)?;
        }
        self.counted.store(tx)
    }
}
