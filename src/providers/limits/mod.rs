//! Owns the rate limits of one provider in this engine: concurrent calls, requests and tokens per minute, and `retry-after` delays.

mod queue;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

pub use self::queue::Key;
use self::queue::{Line, Place};
use super::{ChatRequest, Delta, Deltas, ProviderFailure};
use crate::config::ProviderLimits;
use crate::model::chat::{Attachment, Tokens};
use crate::model::event::FaultCode;
use crate::model::memory::{estimate, file_tokens, text_tokens};
use crate::sync::Mutex;

/// The stretch of time that requests and tokens are counted in.
const MINUTE: Duration = Duration::from_secs(60);
/// The longest `retry-after` that is observed.
const LONGEST_REST: Duration = Duration::from_secs(3600);
/// Keys that rest at the same time; what comes beyond is not remembered.
const RESTING: usize = 4096;

/// The limits of one provider. Without limits and without a `retry-after`, passing costs nothing.
#[derive(Debug)]
pub struct Gate {
    id: String,
    limits: ProviderLimits,
    /// How long a call waits at most.
    patience: Duration,
    minute: Duration,
    /// There may be a key that rests.
    resting: AtomicBool,
    /// When the delay of a `retry-after` ends, by the key that it was said to.
    rests: Mutex<HashMap<Key, Instant>>,
    room: Mutex<Room>,
}

/// What is under way, what was asked within the last minute, and who waits.
#[derive(Debug, Default)]
struct Room {
    active: u32,
    requests: VecDeque<Instant>,
    tokens: VecDeque<Spending>,
    spent: u64,
    stamp: u64,
    line: Line,
}

/// What one call takes.
#[derive(Debug)]
struct Spending {
    stamp: u64,
    at: Instant,
    tokens: u64,
}

/// A call that may be made. Its room is free again when this is dropped.
#[derive(Debug, Default)]
pub struct Pass(Option<(Arc<Gate>, u64)>);

/// How a call came through.
#[derive(Debug, Default)]
pub struct Passed {
    /// The room that it has.
    pub pass: Pass,
    /// How long it waited.
    pub waited: Duration,
}

impl Gate {
    /// The way to a provider.
    #[must_use]
    pub fn new(id: &str, limits: ProviderLimits, patience_ms: u64) -> Arc<Self> {
        Arc::new(Self::counting(id, limits, Duration::from_millis(patience_ms), MINUTE))
    }

    fn counting(id: &str, limits: ProviderLimits, patience: Duration, minute: Duration) -> Self {
        Self { id: id.to_owned(), limits, patience, minute, resting: AtomicBool::new(false), rests: Mutex::default(), room: Mutex::default() }
    }

    /// The way to a provider that nothing is known of.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn open() -> Arc<Self> {
        Self::new("open", ProviderLimits::default(), 60_000)
    }

    /// Whether a call passes without waiting. With a key it observes the `retry-after` delays of that key.
    fn is_open(&self, key: Option<Key>) -> bool {
        self.limits == ProviderLimits::default() && self.rests_until(key).is_none()
    }

    /// How long a call waits at most.
    pub(super) const fn patience(&self) -> Duration {
        self.patience
    }

    /// Delays the calls of a key for this time, after a `retry-after`.
    pub fn rest(&self, key: Key, time: Duration) {
        let now = Instant::now();
        let end = now + time.min(LONGEST_REST);
        let mut rests = self.rests.lock();
        if rests.len() >= RESTING {
            rests.retain(|_, end| *end > now);
        }
        if rests.len() < RESTING || rests.contains_key(&key) {
            let kept = rests.entry(key).or_insert(end);
            *kept = end.max(*kept);
        }
        self.resting.store(!rests.is_empty(), Ordering::Release);
        drop(rests);
        let mut room = self.room.lock();
        room.line.wake(key);
        // Calls of other keys may have waited behind one of this key.
        self.move_on(&mut room, true);
    }

    /// The rest of the delay of a key.
    pub fn rests_for(&self, key: Option<Key>) -> Duration {
        self.rests_until(key).map_or(Duration::ZERO, |end| end.saturating_duration_since(Instant::now()))
    }

    fn rests_until(&self, key: Option<Key>) -> Option<Instant> {
        let key = key.filter(|_| self.resting.load(Ordering::Acquire))?;
        let mut rests = self.rests.lock();
        let end = *rests.get(&key)?;
        if end > Instant::now() {
            return Some(end);
        }
        rests.remove(&key);
        self.resting.store(!rests.is_empty(), Ordering::Release);
        None
    }

    /// A call is made again: one more request.
    pub fn again(&self) {
        if self.limits.requests_per_minute.is_some() {
            self.room.lock().requests.push_back(Instant::now());
        }
    }

    /// A call of several requests has made so many: the first one was counted when it came through.
    pub(super) fn again_after(&self, made: usize) {
        if made > 0 {
            self.again();
        }
    }

    /// Waits for room if there is a limit or a `retry-after` delay of its key, and returns how long that took. A call without a key here ignores such
    /// delays, because the provider asked others to wait.
    pub(super) async fn admit(
        self: &Arc<Self>,
        tenant: &str,
        key: Option<Key>,
        tokens: impl FnOnce() -> u64 + Send,
        deltas: Deltas<'_>,
    ) -> Result<Pass, ProviderFailure> {
        if self.is_open(key) {
            return Ok(Pass::default());
        }
        let (pass, waited) = match Box::pin(self.come(tenant, key, tokens)).await {
            Ok(Passed { pass, waited }) => (Ok(pass), waited),
            Err((failure, waited)) => (Err(failure), waited),
        };
        if !waited.is_zero() {
            deltas(Delta::Waited(waited));
        }
        pass
    }

    async fn come(self: &Arc<Self>, tenant: &str, key: Option<Key>, tokens: impl FnOnce() -> u64) -> Result<Passed, (ProviderFailure, Duration)> {
        let tokens = if self.limits.tokens_per_minute.is_some() { tokens() } else { 0 };
        let waiting = match self.line_up(tenant, tokens, key) {
            Ok(pass) => return Ok(Passed { pass, waited: Duration::ZERO }),
            Err(place) => Waiting { gate: Arc::clone(self), place: Some(place) },
        };
        self.wait(waiting, key).await
    }

    async fn wait(&self, mut waiting: Waiting, key: Option<Key>) -> Result<Passed, (ProviderFailure, Duration)> {
        let since = Instant::now();
        let until = since + self.patience;
        loop {
            // Asked before the look: a rest that ends between both is over when the look comes, and one that begins between them wakes this call.
            let rest = self.rests_until(key);
            let next = match waiting.look() {
                Ok(pass) => return Ok(Passed { pass, waited: since.elapsed() }),
                Err(next) => next,
            };
            let rests = rest.is_some_and(|end| end > until);
            if rests || Instant::now() >= until {
                return Err((self.too_long(key.filter(|_| rests)), since.elapsed()));
            }
            let wake = [next, rest].into_iter().flatten().fold(until, Instant::min);
            tokio::select! {
                () = waiting.moved() => {}
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    /// `resting`: the key whose rest is too long.
    fn too_long(&self, resting: Option<Key>) -> ProviderFailure {
        let (id, patience) = (&self.id, self.patience.as_millis());
        let text = if resting.is_some() {
            let left = self.rests_for(resting).as_secs() + 1;
            format!(
                "`{id}` asked for no calls for {left} more seconds, which is longer than a call waits (`limits.provider_wait_ms`); it was not asked; try again later"
            )
        } else {
            format!(
                "the limits of `{id}` allowed no call within {patience} ms (`limits.provider_wait_ms`); no request was sent; raise `providers.{id}.limits` or try again later"
            )
        };
        ProviderFailure::new(FaultCode::ProviderRateLimited, text)
    }

    /// Passes at once if there is room and nobody who may go waits, else joins the queue.
    fn line_up(self: &Arc<Self>, tenant: &str, tokens: u64, key: Option<Key>) -> Result<Pass, Arc<Place>> {
        let mut room = self.room.lock();
        if self.first(&room).is_none() && self.fits(&mut room, tokens, key).is_ok() {
            return Ok(Pass(Some((Arc::clone(self), self.take(&mut room, tokens)))));
        }
        let place = Place::new(tenant, tokens, key);
        room.line.join(&place);
        Err(place)
    }

    /// Whether a call may be made now; else when that may change, unless another call has to end first.
    fn fits(&self, room: &mut Room, tokens: u64, key: Option<Key>) -> Result<(), Option<Instant>> {
        if let Some(end) = self.rests_until(key) {
            return Err(Some(end));
        }
        if self.limits.concurrent.is_some_and(|most| room.active >= most.get()) {
            return Err(None);
        }
        room.forget(self.minute);
        let full = |most: u32| room.requests.len() >= usize::try_from(most).unwrap_or(usize::MAX);
        if self.limits.requests_per_minute.is_some_and(|most| full(most.get())) {
            return Err(room.requests.front().map(|first| *first + self.minute));
        }
        // One that is larger than the limit goes when nothing else was asked.
        let over = |most: u64| room.spent > 0 && room.spent.saturating_add(tokens) > most;
        if self.limits.tokens_per_minute.is_some_and(|most| over(most.get())) {
            return Err(room.tokens.front().map(|first| first.at + self.minute));
        }
        Ok(())
    }

    fn take(&self, room: &mut Room, tokens: u64) -> u64 {
        let now = Instant::now();
        room.active += 1;
        room.stamp += 1;
        if self.limits.requests_per_minute.is_some() {
            room.requests.push_back(now);
        }
        if self.limits.tokens_per_minute.is_some() {
            room.tokens.push_back(Spending { stamp: room.stamp, at: now, tokens });
            room.spent += tokens;
        }
        room.stamp
    }

    /// The first in the line whose key does not rest.
    fn first(&self, room: &Room) -> Option<Arc<Place>> {
        // Most of a line have the same key: it is asked for once. A call without a key never rests.
        let mut last = (None, false);
        let rests = |key: Option<Key>| {
            if last.0 != key {
                last = (key, self.rests_until(key).is_some());
            }
            last.1
        };
        room.line.first(rests).cloned()
    }

    /// Lets calls go that may; when the first of the others may, as far as time alone decides.
    fn move_on(&self, room: &mut Room, left: bool) -> Option<Instant> {
        let mut moved = left;
        loop {
            let first = self.first(room)?;
            match self.fits(room, first.tokens, first.key) {
                Ok(()) => {
                    room.line.take(&first);
                    first.admit(self.take(room, first.tokens));
                    moved = true;
                }
                Err(next) => {
                    if moved {
                        first.moved.notify_one();
                    }
                    return next;
                }
            }
        }
    }

    /// A call is over, or is not made after all.
    fn leave(&self) {
        let mut room = self.room.lock();
        room.active -= 1;
        // The first may have waited for this place alone, and has to wait for time now.
        self.move_on(&mut room, true);
    }
}

impl Room {
    /// What was asked more than a minute ago does not count any more.
    fn forget(&mut self, minute: Duration) {
        let now = Instant::now();
        while self.requests.front().is_some_and(|at| now >= *at + minute) {
            self.requests.pop_front();
        }
        while let Some(first) = self.tokens.pop_front_if(|first| now >= first.at + minute) {
            self.spent -= first.tokens;
        }
    }
}

/// A call in the line; it leaves the line when this is dropped.
struct Waiting {
    gate: Arc<Gate>,
    place: Option<Arc<Place>>,
}

impl Waiting {
    /// The call may go; else when it may, when it is the first and time alone decides.
    fn look(&mut self) -> Result<Pass, Option<Instant>> {
        let mut room = self.gate.room.lock();
        let next = self.gate.move_on(&mut room, false);
        let Some(place) = &self.place else { return Err(None) };
        if let Some(stamp) = place.admitted() {
            self.place = None;
            return Ok(Pass(Some((Arc::clone(&self.gate), stamp))));
        }
        Err(next.filter(|_| self.gate.first(&room).is_some_and(|first| Arc::ptr_eq(&first, place))))
    }

    async fn moved(&self) {
        if let Some(place) = &self.place {
            place.moved.notified().await;
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        let mut room = self.gate.room.lock();
        if let Some(stamp) = place.admitted() {
            room.active -= 1;
            room.correct(stamp, 0);
        } else {
            room.line.leave(&place);
        }
        self.gate.move_on(&mut room, true);
    }
}

impl Room {
    /// What a call took turned out to be another number.
    fn correct(&mut self, stamp: u64, tokens: u64) {
        if let Ok(at) = self.tokens.binary_search_by_key(&stamp, |one| one.stamp) {
            let before = std::mem::replace(&mut self.tokens[at].tokens, tokens);
            self.spent = self.spent - before + tokens;
        }
    }
}

impl Pass {
    /// Notes what an answer took.
    pub(super) fn noting<T>(&self, answer: Result<T, ProviderFailure>, tokens: impl FnOnce(&T) -> Option<Tokens>) -> Result<T, ProviderFailure> {
        match &answer {
            Ok(reply) => self.spent_of(tokens(reply)),
            Err(failure) if failure.tokens.is_some() || !failure.cut => self.spent_of(Some(failure.tokens.unwrap_or_default())),
            // The usage is unknown: the estimate stays.
            Err(_) => {}
        }
        answer
    }

    /// Notes what was reported; without a report the estimate stays.
    fn spent_of(&self, tokens: Option<Tokens>) {
        if let Some(tokens) = tokens {
            self.spent(tokens.prompt + tokens.completion);
        }
    }

    /// The call took so many tokens.
    pub fn spent(&self, tokens: u64) {
        if let Some((gate, stamp)) = &self.0
            && gate.limits.tokens_per_minute.is_some()
        {
            gate.room.lock().correct(*stamp, tokens);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some((gate, _)) = self.0.take() {
            gate.leave();
        }
    }
}

/// About how many tokens texts have.
pub(super) fn weigh_texts(texts: &[String]) -> u64 {
    texts.iter().map(|text| text_tokens(text)).sum()
}

/// About how many tokens a request has.
pub(super) fn weigh(request: &ChatRequest) -> u64 {
    let tools = request.tools.iter().map(|tool| text_tokens(&tool.description) + text_tokens(&tool.input_schema.to_string()));
    let weigh = |file: &Attachment| {
        let media = request.media.iter().find(|media| media.storage_key == file.storage_key);
        media.map_or(0, |media| file_tokens(&file.kind, &media.mime_type, &media.bytes))
    };
    request.messages.iter().map(|message| estimate(message, weigh)).sum::<u64>() + tools.sum::<u64>()
}
