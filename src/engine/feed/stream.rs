//! Owns the stream of a run: frames from the feed of this process, else from the log, from any position, in either order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;

use crate::engine::feed::{Feed, Found, Order, Reading};
use crate::engine::runs::load;
use crate::engine::world::World;
use crate::error::{Error, Result};
use crate::model::Id;
use crate::model::event::Seq;
use crate::model::run::Status;
use crate::model::telling::{Frame, Telling};
use crate::store::{log, runs};

/// Where a reader starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct From {
    /// In which order.
    pub order: Order,
    /// Right after this number.
    pub after: u64,
}

/// What a reader follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// One answer: it ends when the run pauses or ends, without `run_terminal`.
    Answer,
    /// The run: `run_terminal` is its last frame.
    Tail,
}

/// Frames given at once.
const BATCH: usize = 512;
/// Entries, and rows of text, that are read at once.
const AT_ONCE: usize = 4096;

/// A reader of a run.
pub struct EventStream {
    world: Arc<World>,
    tenant: Arc<str>,
    run: Id,
    from: From,
    follow: Follow,
    source: Source,
    ready: Vec<Frame>,
    bounded: bool,
    /// The feed has given it frames: a reader that falls behind now is slow.
    served: bool,
    progress: bool,
    cut: bool,
    /// Signals progress of a run that another process drives.
    remote: Option<Arc<tokio::sync::Notify>>,
}

enum Source {
    Feed(Reading),
    Log(Box<LogReader>),
    Over,
}

struct LogReader {
    telling: Telling,
    order: Order,
    /// Frames that the reader has not been given.
    waiting: VecDeque<Frame>,
    seq: Seq,
    tokens: u64,
}

impl EventStream {
    /// A reader from a position; none if the run has paused or ended and nothing follows. In an answer, what follows the next rest does not count.
    pub(crate) async fn open(
        world: &Arc<World>,
        tenant: &Arc<str>,
        run: &str,
        from: From,
        follow: Follow,
    ) -> Result<Option<Self>> {
        let id: Id = run.parse().map_err(|_| Error::not_found("run", run))?;
        let feed = world.hub.get(id);
        let mut from = from;
        if let Some(feed) = &feed {
            from.after = from.after.min(feed.last(from.order));
        }
        // Where a position is behind what the feed has, the log says whether an answer is over there.
        let serves = |feed: &Arc<Feed>| follow == Follow::Tail || world.keeps_nothing() || feed.holds(from.order, from.after);
        let feed = feed.filter(serves);
        let at_hand = |feed: &&Arc<Feed>| feed.tenant == *tenant && (world.keeps_nothing() || feed.at_work() || feed.ended());
        let (source, progress) = if let Some(feed) = feed.as_ref().filter(at_hand) {
            if !world.keeps_nothing() && feed.ended() && feed.over_at(from.order, from.after) {
                return Ok(None);
            }
            (Source::Feed(Reading::of(Arc::clone(feed))), feed.progress)
        } else if let Some(found) = Box::pin(resting(world, tenant, id, feed, from)).await? {
            let Some((feed, progress)) = found else { return Ok(None) };
            (Source::Feed(Reading::of(feed)), progress)
        } else {
            let loaded = Box::pin(load::load(world, tenant, run)).await?;
            // The events of a child run are those of its parent.
            if let Some(parent) = loaded.row.parent {
                return Box::pin(Self::open(world, tenant, &parent.to_string(), from, follow)).await;
            }
            let reader = LogReader::new(world, &loaded, from.order);
            let last = reader.last();
            let status = Status::named(&loaded.row.status).unwrap_or(Status::Failed);
            if (status.at_rest() && from.after >= last) || (follow == Follow::Answer && reader.answer_ends(from.after)) {
                return Ok(None);
            }
            from.after = from.after.min(last);
            let progress = loaded.row.mode == "sync" || world.config.async_progress.enabled;
            (Source::Log(Box::new(reader)), progress)
        };
        if let Source::Feed(reading) = &source
            && follow == Follow::Answer
            && reading.feed().answer_ends(from.order, from.after)
        {
            return Ok(None);
        }
        Ok(Some(Self {
            world: Arc::clone(world),
            tenant: Arc::clone(tenant),
            run: id,
            from,
            follow,
            source,
            ready: Vec::new(),
            bounded: false,
            served: false,
            progress,
            cut: false,
            remote: None,
        }))
    }

    /// A reader that falls behind the kept frames is cut instead of reading them back from the log.
    #[must_use]
    pub const fn cut_when_behind(mut self) -> Self {
        self.bounded = true;
        self
    }

    /// The stream ended because its reader fell behind; it may come back with its position.
    pub const fn was_cut(&self) -> bool {
        self.cut
    }

    /// What is there, at least one frame; none when the stream is over.
    pub async fn next_batch(&mut self) -> Option<Vec<Frame>> {
        loop {
            let batch = std::mem::take(&mut self.ready);
            let batch = self.shown(batch);
            if !batch.is_empty() {
                return Some(batch);
            }
            match &mut self.source {
                Source::Over => return None,
                Source::Feed(reading) => {
                    let feed = Arc::clone(reading.feed());
                    self.follow_feed(&feed).await;
                }
                Source::Log(_) => Box::pin(self.follow_log()).await,
            }
        }
    }

    /// The frames for this reader. `run_terminal` only on tails, and only as the last.
    fn shown(&self, mut batch: Vec<Frame>) -> Vec<Frame> {
        let over = matches!(self.source, Source::Over);
        let last = batch.last().map_or(0, Frame::number);
        batch.retain(|frame| {
            if frame.is_terminal() {
                return over && frame.number() == last && self.follow == Follow::Tail;
            }
            self.progress || self.follow == Follow::Answer
        });
        batch
    }

    async fn follow_feed(&mut self, feed: &Feed) {
        let changed = feed.changed();
        tokio::pin!(changed);
        changed.as_mut().enable();
        match feed.find(self.from.order, self.from.after, BATCH) {
            Found::Frames(frames) => {
                self.served = true;
                self.took(&frames);
                let ends = frames.last().is_some_and(Frame::is_terminal);
                self.ready = frames;
                if ends {
                    self.source = Source::Over;
                }
            }
            Found::Nothing => changed.await,
            Found::Behind if self.bounded && self.served => {
                self.cut = true;
                self.source = Source::Over;
            }
            Found::Behind | Found::Closed => Box::pin(self.read_back()).await,
        }
    }

    fn took(&mut self, frames: &[Frame]) {
        if let Some(last) = frames.last() {
            self.from.after = last.number();
        }
    }

    /// Continues from the log: the feed has dropped the next frames, or another process drives the run.
    async fn read_back(&mut self) {
        match load::load(&self.world, &self.tenant, &self.run.to_string()).await {
            Ok(loaded) => {
                let reader = LogReader::new(&self.world, &loaded, self.from.order);
                self.source = Source::Log(Box::new(reader));
            }
            Err(error) => {
                tracing::warn!(run = %self.run, %error, "a reader could not be served from the log");
                self.cut = true;
                self.source = Source::Over;
            }
        }
    }

    async fn follow_log(&mut self) {
        let Source::Log(reader) = &mut self.source else { return };
        let mut found = reader.take(self.from.after, BATCH);
        if self.follow == Follow::Answer
            && let Some(end) = found.iter().position(Frame::is_terminal)
        {
            found.truncate(end + 1);
        }
        if let Some(last) = found.last() {
            self.from.after = last.number();
            let answered = self.follow == Follow::Answer;
            let rests = last.is_terminal() && (answered || reader.at_rest(self.from.after));
            self.ready = found;
            if rests {
                self.source = Source::Over;
            }
            return;
        }
        if reader.at_rest(self.from.after) {
            self.source = Source::Over;
            return;
        }
        if let Some(feed) = self.world.hub.get(self.run)
            && !matches!(feed.find(self.from.order, self.from.after, 1), Found::Behind | Found::Closed)
        {
            self.source = Source::Feed(Reading::of(feed));
            return;
        }
        let remote = Arc::clone(self.remote.get_or_insert_with(|| self.world.remote.watch(self.run)));
        let moved = remote.notified();
        tokio::pin!(moved);
        moved.as_mut().enable();
        if !self.read_more().await {
            let wait = Duration::from_millis(self.world.config.async_progress.poll_ms.max(50));
            let world = Arc::clone(&self.world);
            let awake = tokio::select! {
                awake = world.nap(wait) => awake,
                () = moved => true,
            };
            if !awake {
                self.cut = true;
                self.source = Source::Over;
            }
        }
    }

    /// Reads what was stored since; true when there was something.
    async fn read_more(&mut self) -> bool {
        let Source::Log(reader) = &mut self.source else { return false };
        let (scope, run, seq, tokens) = (Arc::clone(&self.tenant), self.run, reader.seq, reader.tokens);
        let read = move |tx: &mut crate::store::Tx<'_>| {
            let row = runs::get(tx, &scope, &run)?;
            let more = row.as_ref().is_some_and(|row| row.head > seq);
            let entries = if more { log::entries(tx, &scope, &run, seq, AT_ONCE)? } else { Vec::new() };
            let (entries, tokens) = load::in_step(seq, entries, log::tokens(tx, &scope, &run, tokens, AT_ONCE)?, AT_ONCE);
            Ok((entries, tokens, row.is_some()))
        };
        match self.world.store.read(read).await {
            Ok((entries, tokens, true)) => {
                let any = !entries.is_empty() || !tokens.is_empty();
                let entries: Vec<_> = entries.into_iter().map(Arc::new).collect();
                let tokens: Vec<_> = tokens.into_iter().map(|row| Arc::new(load::tokens_of(row))).collect();
                reader.tell(&entries, &tokens);
                any
            }
            Ok((_, _, false)) => {
                self.source = Source::Over;
                true
            }
            Err(error) => {
                tracing::warn!(run = %self.run, %error, "the events of a run in another process could not be read; another attempt follows");
                false
            }
        }
    }
}

/// The feed of a run that came to rest here, with whether its text is told, when the log did not go on elsewhere; none in it when
/// nothing follows the position.
async fn resting(
    world: &World,
    tenant: &Arc<str>,
    run: Id,
    feed: Option<Arc<Feed>>,
    from: From,
) -> Result<Option<Option<(Arc<Feed>, bool)>>> {
    let Some(feed) = feed else { return Ok(None) };
    let row = match world.store.look(|tx| runs::get(tx, tenant, &run)) {
        Some(row) => row,
        None => {
            let scope = Arc::clone(tenant);
            world.store.read(move |tx| runs::get(tx, &scope, &run)).await?
        }
    };
    let Some(row) = row.filter(|row| row.head <= feed.durable()) else { return Ok(None) };
    let rests = Status::named(&row.status).is_some_and(Status::at_rest);
    let progress = feed.progress;
    Ok(Some((!(rests && feed.over_at(from.order, from.after))).then_some((feed, progress))))
}

impl LogReader {
    fn new(world: &World, loaded: &load::Loaded, order: Order) -> Self {
        let telling = loaded.telling(world, order == Order::Live);
        let seq = loaded.entries.last().map_or(0, |entry| entry.seq);
        let mut reader = Self { telling, order, waiting: VecDeque::new(), seq, tokens: loaded.tokens.last().map_or(0, |tokens| tokens.n) };
        reader.gather();
        reader
    }

    const fn last(&self) -> u64 {
        match self.order {
            Order::Ordered => self.telling.ordered.last,
            Order::Live => self.telling.live.last,
        }
    }

    fn at_rest(&self, after: u64) -> bool {
        self.telling.status().at_rest() && after >= self.last()
    }

    /// Whether an answer is over at a position: the run came to rest right after it.
    fn answer_ends(&self, after: u64) -> bool {
        let next = self.waiting.partition_point(|frame| frame.number() <= after);
        self.waiting.get(next).is_some_and(Frame::is_terminal)
    }

    /// Takes what was encoded in the reader's order; the other order is for nobody.
    fn gather(&mut self) {
        let (wanted, other) = match self.order {
            Order::Ordered => (&mut self.telling.ordered, &mut self.telling.live),
            Order::Live => (&mut self.telling.live, &mut self.telling.ordered),
        };
        self.waiting.extend(wanted.frames.drain(..));
        other.frames.clear();
    }

    fn tell(&mut self, entries: &[Arc<crate::model::event::Entry>], tokens: &[Arc<crate::model::telling::Tokens>]) {
        load::tell_all(&mut self.telling, entries, tokens);
        self.seq = entries.last().map_or(self.seq, |entry| entry.seq);
        self.tokens = tokens.last().map_or(self.tokens, |tokens| tokens.n);
        self.gather();
    }

    fn take(&mut self, after: u64, most: usize) -> Vec<Frame> {
        let given = self.waiting.partition_point(|frame| frame.number() <= after);
        self.waiting.drain(..given);
        self.waiting.drain(..most.min(self.waiting.len())).collect()
    }
}

impl EventStream {
    /// As a stream of batches.
    pub fn into_stream(self) -> impl Stream<Item = Vec<Frame>> + Send + 'static {
        futures_util::stream::unfold(self, |mut stream| async move { stream.next_batch().await.map(|batch| (batch, stream)) })
    }
}
