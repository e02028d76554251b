//! Owns the order of tool results: those of one model turn are published in the order in which the model made the calls.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::event::{Entry, Event};

/// The tool calls of a step whose results are not published yet.
#[derive(Debug, Default)]
pub(super) struct ToolResults(Vec<ToolTurn>);

/// The tool calls of one model turn, with results in model order.
#[derive(Debug)]
struct ToolTurn {
    calls: VecDeque<(String, Option<Arc<Entry>>)>,
}

impl ToolResults {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The calls of a turn were announced: their results follow.
    pub(super) fn announce(&mut self, event: &Event) {
        if let Event::ToolsCalled { calls, .. } = event {
            self.0.push(ToolTurn { calls: calls.iter().map(|call| (call.id.clone(), None)).collect() });
        }
    }

    /// Results that can be published now, because those before them in their turn are published. A call that was never announced has none.
    pub(super) fn ready(&mut self, call_id: &str, entry: &Arc<Entry>) -> Vec<Arc<Entry>> {
        let turn = self.0.iter_mut().rev().find(|turn| turn.calls.iter().any(|(id, _)| id == call_id));
        let Some(turn) = turn else { return Vec::new() };
        for (id, result) in &mut turn.calls {
            if id == call_id {
                *result = Some(Arc::clone(entry));
            }
        }
        let mut ready = Vec::new();
        while let Some((_, Some(result))) = turn.calls.front() {
            ready.push(Arc::clone(result));
            turn.calls.pop_front();
        }
        ready
    }
}
