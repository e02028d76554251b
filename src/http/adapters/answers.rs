//! Owns the answers that a post gives to a paused run: the first at once, each further one when the run has paused again.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::decide::{self, Answer};
use crate::engine::{Follow, From};
use crate::error::{Error, Kind, Result};
use crate::model::run::Status;
use crate::store::upkeep::request_keys::RequestKey;
use crate::studio::runs::requests::ResumeRequest;
use crate::studio::{Scope, Standing, Studio};

/// How often a cancel is tried while others change the run.
const TRIES: usize = 5;

/// The run whose pauses are answered.
pub(super) struct Answered {
    pub(super) studio: Studio,
    pub(super) scope: Scope,
    pub(super) run: String,
}

impl Answered {
    /// Cancels the run at one of its pauses. Returns the run in the form of [`crate::studio::Started::accepted_json`]; it is kept under
    /// the key.
    ///
    /// A pause that is not open any more cancels nothing.
    pub(super) async fn cancel(&self, pause: &str, key: Option<RequestKey>) -> Result<Value> {
        for _ in 0..TRIES {
            let standing = self.studio.standing(&self.scope, &self.run).await?;
            if !standing.status.paused() || !standing.pauses.iter().any(|open| open.id.to_string() == pause) {
                return Err(decide::not_open(Some(&standing), decide::NOT_OPEN));
            }
            let told = json!({"trace_id": self.run, "thread_id": standing.thread, "pause_id": pause, "after": standing.last});
            let kept = key.clone().map(|key| (key, told.clone()));
            if self.studio.cancel_paused(&self.scope, standing.run, standing.fence, kept).await? {
                return Ok(told);
            }
        }
        Err(Error::new(Kind::StoreUnavailable, "the run changes too fast; nothing was changed; try again"))
    }

    /// Gives these answers, with or without a reader; sends where the run goes on after each. A reader who `held` the run and left cancels it.
    pub(super) fn give_all(self, from: From, answers: Vec<Answer>, held: Option<Arc<AtomicI64>>) -> Result<Option<mpsc::Receiver<Result<From>>>> {
        if answers.is_empty() {
            return Ok(None);
        }
        let (sender, receiver) = mpsc::channel(answers.len());
        let runtime = self.studio.runtime()?;
        runtime.spawn(async move {
            let mut from = from;
            for answer in answers {
                let gave = self.give(from, answer).await;
                let failed = gave.is_err();
                if let Ok(next) = &gave {
                    from = *next;
                    let fence = self.studio.fence_here(&self.run);
                    if let (Some(held), Some(fence)) = (&held, fence) {
                        held.store(fence, Ordering::SeqCst);
                        if sender.is_closed() {
                            drop(self.studio.cancel_left(&self.scope, &self.run, fence).await);
                            return;
                        }
                    }
                }
                // A reader who left misses nothing that is not in the log.
                let _read = sender.send(gave).await;
                if failed {
                    return;
                }
            }
        });
        Ok(Some(receiver))
    }

    /// Waits until the run has paused, then answers it; returns where the run continues.
    async fn give(&self, from: From, answer: Answer) -> Result<From> {
        let mut last = from.after;
        if let Some(mut events) = self.studio.events(&self.scope, &self.run, from, Follow::Answer).await? {
            while let Some(frames) = events.next_batch().await {
                last = frames.last().map_or(last, crate::model::telling::Frame::number);
            }
        }
        // After the entry of its pause or end.
        let behind = From { after: last + 1, ..From::default() };
        match answer {
            Answer::Given => Ok(behind),
            Answer::Cancel(pause) => match self.cancel(&pause, None).await {
                Err(error) if error.kind == Kind::PauseNotPending && self.is_done(&pause).await => Ok(behind),
                cancelled => cancelled.map(|_| behind),
            },
            Answer::Resume(body) => match self.studio.resume(&self.scope, &self.run, ResumeRequest::parse(&body)?, false).await {
                Ok(started) => Ok(From { after: started.after, ..From::default() }),
                Err(error) if error.kind == Kind::AlreadyResumed => Ok(behind),
                Err(error) => Err(error),
            },
        }
    }

    /// Somebody answered the pause, or the run is cancelled already.
    async fn is_done(&self, pause: &str) -> bool {
        let standing: Result<Standing> = self.studio.standing(&self.scope, &self.run).await;
        standing.is_ok_and(|run| run.status == Status::Cancelled || run.answered.iter().any(|id| id.to_string() == pause))
    }
}
