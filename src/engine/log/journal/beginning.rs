//! Owns the first write of a run: everything up to its first wait, so that a short run needs one write.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::model::event::{Entry, PartHash};
use crate::store::StoreError;
use crate::store::log::{Known, Made};
use crate::store::runs::RunUpdate;

/// What the store has of a run when it goes to work here.
pub(in crate::engine) enum Stored {
    /// Its log, and what its owner knows of it.
    Whole(Option<Known>),
    /// Nothing yet.
    Nothing(Box<Beginning>),
}

/// What is stored with the first entries of a run; but for who waits, it is given to the first write.
pub(in crate::engine) struct Beginning {
    /// The entries that it begins with.
    pub(in crate::engine) entries: Vec<Arc<Entry>>,
    /// Its row as it was made, its thread, its key.
    pub(in crate::engine) made: Option<Box<Made>>,
    /// Its graph and definitions.
    pub(in crate::engine) parts: Vec<(PartHash, Arc<str>)>,
    /// Storage keys of the files of its message.
    pub(in crate::engine) files: Vec<Arc<str>>,
    /// Who starts it waits for this.
    pub(in crate::engine) told: oneshot::Sender<Result<(), StoreError>>,
}

impl Beginning {
    /// Gives what is made, as the run is now, to its first write, which is tried until it is kept or the run is given up.
    pub(super) fn give(&mut self, now: &RunUpdate) -> Option<Box<Made>> {
        let mut made = self.made.take()?;
        made.row.go_on(now);
        made.reply.clone_from(&now.reply);
        Some(made)
    }

    /// Says how it ended.
    pub(super) fn tell(self, stored: Result<(), StoreError>) {
        let _nobody_waits_any_more = self.told.send(stored);
    }
}
