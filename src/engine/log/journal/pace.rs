//! Owns the back pressure between a model, the store and the readers: an answer is read no faster than it can be stored, and a burst is
//! published in larger pieces.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::task::{Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

use crate::engine::log::journal::Journal;
use crate::sync::Mutex;

/// Pieces of text that may wait to be stored before no more are read, and as how many they may be read again.
const AHEAD: u64 = 2048;
const AGAIN: u64 = AHEAD / 2;
/// More pieces than this that come at once are drawn together, to about so many bytes each.
const BURST: usize = 512;
const DRAWN: usize = 4 << 10;
/// How long pieces are drawn together at most for a reader that is behind.
const DRAWING: Duration = Duration::from_millis(20);

/// The approximate size of a published piece of text.
pub(in crate::engine) const fn weight(delta: &str) -> u64 {
    160 + delta.len() as u64
}

/// A piece of text; whether it is what the model thinks.
type Piece = (bool, String);

/// Received pieces that are not published yet.
#[derive(Default)]
pub(in crate::engine) struct PendingText(Mutex<Pieces>);

#[derive(Default)]
struct Pieces {
    waiting: VecDeque<Piece>,
    bytes: usize,
}

impl PendingText {
    /// The model says something, or thinks it.
    pub(in crate::engine) fn push(&self, thought: bool, text: String) {
        if !text.is_empty() {
            let mut said = self.0.lock();
            said.bytes += text.len();
            said.waiting.push_back((thought, text));
        }
    }

    /// The next piece to publish: one as received, or several joined.
    fn next(&self, draw: Draw) -> Option<Piece> {
        let mut said = self.0.lock();
        if draw == Draw::More && said.bytes < DRAWN {
            return None;
        }
        let (thought, mut piece) = said.waiting.pop_front()?;
        while piece.len() < DRAWN && (draw != Draw::Nothing || said.waiting.len() >= BURST) {
            let Some((_, more)) = said.waiting.pop_front_if(|more| more.0 == thought) else { break };
            piece.push_str(&more);
        }
        said.bytes -= piece.len();
        Some((thought, piece))
    }

    fn is_empty(&self) -> bool {
        self.0.lock().waiting.is_empty()
    }
}

/// How pieces are drawn together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Draw {
    /// They are published as received, unless there are very many.
    Nothing,
    /// What is there.
    All,
    /// More is waited for.
    More,
}

impl Journal {
    /// Reads a model's answer while there is room for its pieces; publishes them in order, all of them before the call ends.
    pub(in crate::engine) async fn at_pace<T>(&self, call: impl Future<Output = T>, said: &PendingText, tell: impl Fn(bool, &str)) -> T {
        let (mut call, mut room, mut result) = (pin!(call), None, None);
        let mut drawing: Option<Pin<Box<Sleep>>> = None;
        let mut drawn = false;
        std::future::poll_fn(|context| {
            loop {
                if room.is_none() && self.texts_wait(AHEAD) {
                    room = Some(Box::pin(self.room_for_texts()));
                }
                if let Some(waiting) = &mut room {
                    ready!(waiting.as_mut().poll(context));
                    room = None;
                }
                let draw = match (self.feed.is_behind(), drawn || result.is_some()) {
                    (false, _) => Draw::Nothing,
                    (true, true) => Draw::All,
                    (true, false) => Draw::More,
                };
                if let Some((thought, piece)) = said.next(draw) {
                    (drawing, drawn) = (None, false);
                    tell(thought, &piece);
                } else if let Some(result) = result.take() {
                    return Poll::Ready(result);
                } else {
                    match call.as_mut().poll(context) {
                        Poll::Ready(ended) => result = Some(ended),
                        Poll::Pending if said.is_empty() => return Poll::Pending,
                        Poll::Pending if draw == Draw::More => {
                            ready!(drawing.get_or_insert_with(|| Box::pin(tokio::time::sleep(DRAWING))).as_mut().poll(context));
                            drawn = true;
                        }
                        Poll::Pending => {}
                    }
                }
            }
        })
        .await
    }

    fn texts_wait(&self, most: u64) -> bool {
        if self.lost() {
            return false;
        }
        if self.world.keeps_nothing() {
            return self.feed.is_crowded();
        }
        let bytes = (self.world.config.limits.stream_buffer_kb * 1024 / 2).saturating_mul(most) / AHEAD;
        self.unstored.load(Ordering::Relaxed) > most || self.unstored_bytes.load(Ordering::Relaxed) > bytes
    }

    async fn room_for_texts(&self) {
        if self.world.keeps_nothing() {
            // Nothing is stored: what the reader has not read yet is nowhere else.
            return self.feed.room().await;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pieces_are_told_as_they_came_and_a_burst_in_larger_ones() {
        let said = PendingText::default();
        for count in [3, 20_000] {
            (0..count).for_each(|_| said.push(false, "x".to_owned()));
            let told: Vec<usize> = std::iter::from_fn(|| said.next(Draw::Nothing)).map(|(_, piece)| piece.len()).collect();
            assert_eq!(told.iter().sum::<usize>(), count);
            assert!(told.len() <= BURST + count / DRAWN + 1 && (count > 3 || told == [1; 3]), "{}", told.len());
        }
        said.push(true, "hm".to_owned());
        said.push(false, "few".to_owned());
        said.push(false, "er".to_owned());
        assert_eq!((said.next(Draw::More), said.next(Draw::All)), (None, Some((true, "hm".to_owned()))));
        assert_eq!(said.next(Draw::All), Some((false, "fewer".to_owned())));
        assert!(said.is_empty());
    }
}
