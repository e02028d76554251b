//! Owns the reading of a stored history: all of it, or its newest turns as far as a window takes them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::Id;
use crate::model::chat::{Message, Role};
use crate::model::event::{Fault, FaultCode};
use crate::model::memory::{HistoryMessage, Past, estimate};
use crate::model::truncation::{Source, within};
use crate::store::threads::{MessageRow, history, remembered};
use crate::store::{StoreError, Tx};

/// Messages that are read first; each further part is twice as long.
const FIRST: usize = 128;

/// How far back a history is read.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Reach {
    /// No turn is sent before newer ones that have more tokens than this.
    pub(in crate::engine) tokens: u64,
    /// Results of tools are sent with so many tokens at most.
    pub(in crate::engine) tool_results: Option<u64>,
}

impl Reach {
    /// What a message weighs at least: what its files weigh is not known yet.
    fn weight(self, message: &Message) -> u64 {
        if self.tool_results.is_none() || message.role != Role::Tool {
            return estimate(message, |_| 0);
        }
        let mut cut = message.clone();
        cut.content = within(cut.content, self.tool_results, Source::Tool(""), &mut Vec::new());
        estimate(&cut, |_| 0)
    }
}

/// A history in the thread of a run.
pub(super) struct StoredHistory {
    pub(super) tenant: Arc<str>,
    pub(super) thread: Id,
    pub(super) name: String,
    /// The run whose turn is not sent: it is being replaced.
    pub(super) replaced: Option<Id>,
}

/// A stored message.
type Read = (MessageRow, Message);

impl StoredHistory {
    /// What it holds for models, or why that is unreadable.
    pub(super) fn read(&self, tx: &mut Tx<'_>, reach: Option<Reach>) -> Result<Result<Past, Fault>, StoreError> {
        let Some(reach) = reach else {
            let rows = history(tx, &self.tenant, &self.thread, &self.name)?;
            return Ok(self.messages(rows).map(whole));
        };
        let (mut found, mut before, mut limit) = (Vec::<Read>::new(), i64::MAX, FIRST);
        loop {
            let rows = remembered::newest(tx, &self.tenant, &self.thread, &self.name, before, limit)?;
            let is_all = rows.len() < limit;
            before = rows.last().map_or(before, |row| row.no);
            match self.messages(rows) {
                Ok(read) => found.extend(read),
                Err(fault) => return Ok(Err(fault)),
            }
            if is_all {
                found.reverse();
                return Ok(Ok(whole(found)));
            }
            if weight_of_turns(&found, reach) > reach.tokens {
                found.reverse();
                return self.newest(tx, found, before).map(Ok);
            }
            limit = limit.saturating_mul(2);
        }
    }

    fn messages(&self, rows: Vec<MessageRow>) -> Result<Vec<Read>, Fault> {
        let is_sent = |row: &MessageRow| self.replaced.is_none() || row.run != self.replaced || row.is_summary();
        let read = |row: MessageRow| match serde_json::from_str(&row.body) {
            Ok(message) => Ok((row, message)),
            Err(error) => Err(Fault::new(FaultCode::Internal, format!("a stored message is unreadable: {error}"))),
        };
        rows.into_iter().filter(is_sent).map(read).collect()
    }

    /// The turns whose beginning was read, with all summaries.
    fn newest(&self, tx: &mut Tx<'_>, found: Vec<Read>, before: i64) -> Result<Past, StoreError> {
        let summaries = remembered::summaries(tx, &self.tenant, &self.thread, &self.name, before)?;
        let unread = remembered::count(tx, &self.tenant, &self.thread, &self.name, before)?;
        let mut past = Past { unread: unread.saturating_sub(summaries.len()), ..Past::default() };
        for row in summaries {
            let message = serde_json::from_str(&row.body).map_err(|error| StoreError::damaged(format!("a stored summary: {error}")))?;
            past.add_stored(row.run, true, HistoryMessage { id: row.id, message });
        }
        let mut begun = Begun::default();
        for (row, message) in found {
            if row.is_summary() || begun.has(&row, &message) {
                past.add_stored(row.run, row.is_summary(), HistoryMessage { id: row.id, message });
            } else {
                past.unread += 1;
            }
        }
        Ok(past)
    }
}

/// A history of which every message was read, oldest first.
fn whole(read: Vec<Read>) -> Past {
    let mut past = Past::default();
    for (row, message) in read {
        past.add_stored(row.run, row.is_summary(), HistoryMessage { id: row.id, message });
    }
    past
}

/// Tokens of the turns whose beginning was read, newest first.
fn weight_of_turns(found: &[Read], reach: Reach) -> u64 {
    let mut begun = Begun::default();
    let in_turn = |read: &&Read| !read.0.is_summary() && begun.has(&read.0, &read.1);
    found.iter().rev().filter(in_turn).fold(0, |sum, (_, message)| sum.saturating_add(reach.weight(message)))
}

/// The runs whose turns were met, oldest first: of another run, the beginning of the turn was not read.
#[derive(Default)]
struct Begun(HashSet<Option<Id>>);

impl Begun {
    fn has(&mut self, row: &MessageRow, message: &Message) -> bool {
        if message.role == Role::User {
            self.0.insert(row.run);
        }
        self.0.contains(&row.run)
    }
}
