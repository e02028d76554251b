//! Owns the feed of a run for readers in this process: frames in a bounded ring, encoded once for all.

pub(in crate::engine) mod remote;
pub(in crate::engine) mod stream;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::Mutex;
use tokio::sync::Notify;

use crate::model::Id;
use crate::model::event::{Entry, LaneId, Seq};
use crate::model::telling::{Frame, Input, Telling, Tokens};

/// How long a reader is waited for that is behind.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one is waited for that was just told of its run, or has not begun yet.
const SOON: Duration = Duration::from_millis(250);

/// The order in which a reader receives events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Branches one after another, as declared.
    #[default]
    Ordered,
    /// As it happens.
    Live,
}

/// What a reader finds in a feed.
#[derive(Debug)]
pub enum Found {
    /// Frames after its position.
    Frames(Vec<Frame>),
    /// Nothing yet.
    Nothing,
    /// The feed has let go of what comes next; the log has it.
    Behind,
    /// Nothing follows.
    Closed,
}

/// The frames of one run that is driven here.
#[derive(Debug)]
pub struct Feed {
    /// Whose run it is.
    pub(super) tenant: Arc<str>,
    /// Whether tails see text.
    pub(super) progress: bool,
    inner: Mutex<Inner>,
    changed: Notify,
    taken: Notify,
}

#[derive(Debug)]
struct Inner {
    telling: Telling,
    ordered: Ring,
    live: Option<Ring>,
    staged: Seq,
    durable: Seq,
    token_rows: u64,
    closed: bool,
    limit: usize,
    /// Readers that have found something, and how far the one that is furthest is.
    taken: Option<u64>,
    /// How many readers there are.
    readers: usize,
    /// One was waited for in vain, and has not moved since: nobody waits for it again.
    stalled: bool,
}

/// A reader's hold on a feed: whoever lets go of it is waited for no more.
#[derive(Debug)]
pub struct Reading(Arc<Feed>);

impl Reading {
    /// A reader begins.
    #[must_use]
    pub fn of(feed: Arc<Feed>) -> Self {
        feed.inner.lock().readers += 1;
        Self(feed)
    }

    /// What it reads.
    pub const fn feed(&self) -> &Arc<Feed> {
        &self.0
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.inner.lock().readers -= 1;
        self.0.taken.notify_one();
    }
}

#[derive(Debug)]
struct Ring {
    /// The last number that is not here any more.
    gone: u64,
    frames: VecDeque<Frame>,
    weight: usize,
    /// Frames of entries that are not durable yet.
    held: VecDeque<(Seq, Frame)>,
}

impl Ring {
    const fn after(gone: u64) -> Self {
        Self { gone, frames: VecDeque::new(), weight: 0, held: VecDeque::new() }
    }

    fn hold(&mut self, seq: Seq, frames: &mut Vec<Frame>) {
        self.held.extend(frames.drain(..).map(|frame| (seq, frame)));
    }

    /// Shows what has become durable, and lets go of what is too old to keep. What came last stays, whatever its size: a reader that has all
    /// before it is not behind.
    fn release(&mut self, durable: Seq, limit: usize) {
        let mut older = self.frames.len();
        while self.held.front().is_some_and(|(seq, _)| *seq <= durable)
            && let Some((_, frame)) = self.held.pop_front()
        {
            self.weight += frame.weight();
            self.frames.push_back(frame);
        }
        if self.frames.len() == older {
            return;
        }
        while older > 0
            && self.frames.front().is_some_and(|oldest| self.weight - oldest.weight() >= limit)
            && let Some(oldest) = self.frames.pop_front()
        {
            self.weight -= oldest.weight();
            self.gone = oldest.number();
            older -= 1;
        }
    }

    /// The first frame after a position that is here.
    fn next(&self, after: u64) -> Option<&Frame> {
        self.frames.get(self.frames.partition_point(|frame| frame.number() <= after))
    }

    fn find(&self, after: u64, most: usize) -> Found {
        if after < self.gone {
            return Found::Behind;
        }
        let start = self.frames.partition_point(|frame| frame.number() <= after);
        let found: Vec<Frame> = self.frames.iter().skip(start).take(most).cloned().collect();
        if found.is_empty() { Found::Nothing } else { Found::Frames(found) }
    }
}

impl Feed {
    /// A feed that continues after what was already published.
    #[must_use]
    pub fn new(tenant: Arc<str>, progress: bool, mut telling: Telling, durable: Seq, token_rows: u64, limit: usize) -> Self {
        telling.ordered.frames.clear();
        telling.live.frames.clear();
        let ordered = Ring::after(telling.ordered.last);
        let inner = Inner { telling, ordered, live: None, staged: durable, durable, token_rows, closed: false, limit, taken: None, readers: 0, stalled: false };
        Self { tenant, progress, inner: Mutex::new(inner), changed: Notify::new(), taken: Notify::new() }
    }

    /// Tells an entry; readers see it once it is durable.
    pub fn stage(&self, entry: &Arc<Entry>) {
        let mut inner = self.inner.lock();
        inner.staged = entry.seq;
        inner.telling.tell(&Input::Entry(Arc::clone(entry)));
        inner.hold(entry.seq);
    }

    /// Tells a piece of text, and says what row keeps it. Readers see it at once when all before it is durable; one that is held
    /// back they see after the next entry.
    pub fn stage_token(&self, lane: LaneId, step: Id, (publish_reply, thought): (bool, bool), delta: &Arc<str>, hold: bool) -> Arc<Tokens> {
        let mut inner = self.inner.lock();
        inner.token_rows += 1;
        let tokens = Arc::new(Tokens {
            n: inner.token_rows,
            after: inner.staged,
            lane,
            step,
            publish_reply,
            thought,
            count: 1,
            deltas: vec![Arc::clone(delta)],
        });
        inner.telling.tell(&Input::Tokens(Arc::clone(&tokens)));
        let seen_with = inner.staged + u64::from(hold);
        inner.hold(seen_with);
        let durable = inner.durable;
        inner.release(durable);
        drop(inner);
        self.changed.notify_waiters();
        tokens
    }

    /// Entries up to this one are durable.
    pub fn release(&self, durable: Seq) {
        self.inner.lock().release(durable);
        self.changed.notify_waiters();
    }

    /// Nothing follows: the run paused or ended, or another process drives it.
    pub fn close(&self) {
        self.inner.lock().closed = true;
        self.changed.notify_waiters();
    }

    /// The reader is so far behind that frames would be let go of, and is worth waiting for.
    pub fn is_crowded(&self) -> bool {
        self.inner.lock().crowded()
    }

    /// Who reads has much to read yet.
    pub fn is_behind(&self) -> bool {
        let inner = self.inner.lock();
        inner.readers > 0 && inner.has_unread(inner.limit / 4)
    }

    /// Waits while the reader is so far behind that frames would be let go of; not for ever, and once only for one that does not move.
    pub async fn room(&self) {
        let patience = if self.inner.lock().taken.is_some() { PATIENCE } else { SOON };
        self.wait_for_reader(Inner::crowded, patience).await;
    }

    /// Waits until a reader has begun, who is on the way; not for long.
    pub async fn found(&self) {
        self.wait_for_reader(|inner| inner.taken.is_none(), SOON).await;
    }

    /// Waits until a reader has seen everything; not for ever.
    pub async fn read_out(&self) {
        self.wait_for_reader(|inner| inner.is_followed() && inner.unread() > 0, PATIENCE).await;
    }

    async fn wait_for_reader(&self, still: impl Fn(&Inner) -> bool, patience: Duration) {
        let patience = tokio::time::sleep(patience);
        tokio::pin!(patience);
        loop {
            let taken = self.taken.notified();
            if !still(&self.inner.lock()) {
                return;
            }
            tokio::select! {
                () = taken => {}
                () = &mut patience => {
                    self.inner.lock().stalled = true;
                    return;
                }
            }
        }
    }

    /// The last published number of an order.
    pub fn last(&self, order: Order) -> u64 {
        let inner = self.inner.lock();
        match order {
            Order::Ordered => inner.telling.ordered.last,
            Order::Live => inner.telling.live.last,
        }
    }

    /// Whether the run is active, according to its published events.
    pub fn at_work(&self) -> bool {
        !self.inner.lock().telling.status().at_rest()
    }

    /// Whether the run is over, as readers are shown.
    pub(super) fn ended(&self) -> bool {
        let inner = self.inner.lock();
        inner.telling.status().terminal() && inner.durable >= inner.staged
    }

    /// The last entry that readers are shown.
    pub(super) fn durable(&self) -> Seq {
        self.inner.lock().durable
    }

    /// Whether the run has paused or ended and a position is at its last number: nothing follows.
    pub fn over_at(&self, order: Order, after: u64) -> bool {
        after >= self.last(order) && self.inner.lock().telling.status().at_rest()
    }

    /// Whether it has what follows a position.
    pub(super) fn holds(&self, order: Order, after: u64) -> bool {
        after >= self.inner.lock().ring(order).gone
    }

    /// Whether an answer is over at a position: the run came to rest right after it.
    pub(super) fn answer_ends(&self, order: Order, after: u64) -> bool {
        self.inner.lock().ring(order).next(after).is_some_and(Frame::is_terminal)
    }

    /// Frames after a position, at most so many.
    pub fn find(&self, order: Order, after: u64, most: usize) -> Found {
        let mut inner = self.inner.lock();
        let found = inner.ring(order).find(after, most);
        let given = if let Found::Frames(frames) = &found { frames.last().map(Frame::number) } else { None };
        inner.taken = Some(given.unwrap_or(after));
        inner.stalled = false;
        self.taken.notify_one();
        match found {
            Found::Nothing if inner.closed => Found::Closed,
            Found::Frames(_) | Found::Nothing | Found::Behind | Found::Closed => found,
        }
    }

    /// Waits until there may be more than at the last look. Take it before looking.
    pub fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }
}

impl Inner {
    /// What nobody has read is as much as half of what may be kept. What was read is kept too, and is no reason to wait.
    fn crowded(&self) -> bool {
        self.is_followed() && self.has_unread(self.limit / 2)
    }

    /// About so many bytes are unread.
    fn has_unread(&self, bytes: usize) -> bool {
        let kept = self.ordered.frames.len();
        let unread = usize::try_from(self.unread()).unwrap_or(usize::MAX).min(kept);
        unread.saturating_mul(self.ordered.weight) > kept.saturating_mul(bytes)
    }

    /// Somebody reads, or has not begun yet, and did not stop in the middle.
    const fn is_followed(&self) -> bool {
        !self.stalled && (self.readers > 0 || self.taken.is_none())
    }

    /// How many frames no reader has seen.
    fn unread(&self) -> u64 {
        let last = self.ordered.frames.back().map_or(0, Frame::number);
        self.taken.map_or(u64::MAX, |taken| last.saturating_sub(taken))
    }

    fn hold(&mut self, seq: Seq) {
        self.ordered.hold(seq, &mut self.telling.ordered.frames);
        match &mut self.live {
            Some(live) => live.hold(seq, &mut self.telling.live.frames),
            None => self.telling.live.frames.clear(),
        }
    }

    fn release(&mut self, durable: Seq) {
        self.durable = self.durable.max(durable);
        self.ordered.release(self.durable, self.limit);
        if let Some(live) = &mut self.live {
            live.release(self.durable, self.limit);
        }
    }

    fn ring(&mut self, order: Order) -> &Ring {
        match order {
            Order::Ordered => &self.ordered,
            Order::Live => self.live_ring(),
        }
    }

    fn live_ring(&mut self) -> &Ring {
        let last = self.telling.live.last;
        self.telling.want_live();
        self.live.get_or_insert_with(|| Ring::after(last))
    }
}

/// The feeds of all runs that are driven in this process.
#[derive(Debug, Default)]
pub struct Hub {
    feeds: Mutex<HashMap<Id, Arc<Feed>>>,
}

impl Hub {
    /// The feed of a run that is driven here.
    pub fn get(&self, run: Id) -> Option<Arc<Feed>> {
        self.feeds.lock().get(&run).cloned()
    }

    /// A run is driven here from now on.
    pub fn put(&self, run: Id, feed: Arc<Feed>) {
        self.feeds.lock().insert(run, feed);
    }

    /// It is not any more.
    pub fn remove(&self, run: Id, feed: &Arc<Feed>) {
        let mut feeds = self.feeds.lock();
        if feeds.get(&run).is_some_and(|known| Arc::ptr_eq(known, feed)) {
            feeds.remove(&run);
        }
    }
}
