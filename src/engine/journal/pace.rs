//! Owns how far a model may be ahead of the store: what it says is read no faster than it can be kept.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::task::ready;

use super::Journal;

/// Pieces of text that may wait to be stored before no more are read, and as how many they may be read again.
const AHEAD: u64 = 2048;
const AGAIN: u64 = AHEAD / 2;

impl Journal {
    /// Goes on with a call to a model while there is room for what it says.
    pub(in crate::engine) async fn at_pace<T>(&self, call: impl Future<Output = T>) -> T {
        let (mut call, mut room) = (pin!(call), None);
        std::future::poll_fn(|context| {
            if room.is_none() && self.texts_wait(AHEAD) {
                room = Some(Box::pin(self.room_for_texts()));
            }
            if let Some(waiting) = &mut room {
                ready!(waiting.as_mut().poll(context));
                room = None;
            }
            call.as_mut().poll(context)
        })
        .await
    }

    fn texts_wait(&self, most: u64) -> bool {
        self.unstored.load(Ordering::Relaxed) > most && !self.lost()
    }

    async fn room_for_texts(&self) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if !self.texts_wait(AGAIN) {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = self.broken.cancelled() => return,
            }
        }
    }
}
