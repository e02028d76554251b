//! Owns a history for models: its summary and its turns, which are never split.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::super::Id;
use super::super::chat::{Message, Role};
use super::super::event::Turn;

/// A message of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryMessage {
    /// Its id in the thread.
    pub id: Id,
    /// What was said.
    pub message: Message,
}

/// A summary that takes the place of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Its id in the thread.
    pub id: Id,
    /// Its text, mark included.
    pub text: String,
    /// The messages that it stands for, a former summary among them.
    pub covers: Vec<Id>,
}

/// A turn of a history: a user message and everything up to the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct PastTurn {
    /// The run that added it; none while it is not stored.
    run: Option<Id>,
    /// Its messages.
    pub said: Vec<HistoryMessage>,
}

/// What a history holds for models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// Usually one; more when two runs summarised at the same time.
    pub summaries: Vec<HistoryMessage>,
    /// Oldest first.
    pub turns: Vec<PastTurn>,
    /// Messages of older turns that were not read, for the turns fill the window without them.
    pub unread: usize,
}

impl Past {
    /// Adds a stored message. Messages of a run that has no turn yet begin one, but a result without its call is never sent.
    pub fn add_stored(&mut self, run: Option<Id>, is_summary: bool, said: HistoryMessage) {
        if is_summary {
            return self.summaries.push(said);
        }
        let is_next = said.message.role != Role::User;
        match self.turns.iter_mut().rfind(|turn| is_next && turn.run == run) {
            Some(turn) => turn.said.push(said),
            None if said.message.role == Role::Tool => {}
            None => self.turns.push(PastTurn { run, said: vec![said] }),
        }
    }

    /// Adds a turn that is not stored yet, with the summary that it brings.
    pub fn add_turn(&mut self, turn: &Turn) {
        if let Some(summary) = turn.summary.as_ref().filter(|summary| self.has(&summary.covers)) {
            self.replace(summary);
        }
        let messages = turn.messages.iter().zip(&turn.ids);
        let said = messages.map(|(message, id)| HistoryMessage { id: *id, message: message.clone() }).collect();
        self.turns.push(PastTurn { run: None, said });
    }

    /// A summary takes the place of what it covers; says how many messages of turns that were.
    pub fn replace(&mut self, summary: &Summary) -> usize {
        let covered: HashSet<&Id> = summary.covers.iter().collect();
        let before = self.messages();
        self.turns.retain(|turn| turn.said.first().is_some_and(|said| !covered.contains(&said.id)));
        self.summaries.retain(|said| !covered.contains(&said.id));
        let message = Message::text(Role::System, summary.text.as_str());
        self.summaries.push(HistoryMessage { id: summary.id, message });
        before - self.messages()
    }

    fn messages(&self) -> usize {
        self.turns.iter().map(|turn| turn.said.len()).sum()
    }

    fn has(&self, ids: &[Id]) -> bool {
        let held: HashSet<&Id> = self.turns.iter().flat_map(|turn| &turn.said).chain(&self.summaries).map(|said| &said.id).collect();
        ids.iter().all(|id| held.contains(id))
    }

    /// Gives tool calls other ids where an earlier call of another turn has the same one, and their results with them: providers refuse
    /// a conversation in which an id comes twice.
    pub fn make_call_ids_unique(&mut self) {
        let mut used: HashSet<String> = HashSet::new();
        for turn in &mut self.turns {
            let mut renamed: HashMap<String, String> = HashMap::new();
            for HistoryMessage { id, message } in &mut turn.said {
                for call in &mut message.tool_calls {
                    renamed.remove(&call.id);
                    if !used.insert(call.id.clone()) {
                        let other = format!("call_{}_{}", id.0.simple(), call.id);
                        used.insert(other.clone());
                        renamed.insert(std::mem::replace(&mut call.id, other.clone()), other);
                    }
                }
                if let Some(other) = message.tool_call_id.as_ref().and_then(|call| renamed.get(call)) {
                    message.tool_call_id = Some(other.clone());
                }
            }
        }
    }

    /// Leaves out the oldest turns; says how many messages that were, with those that were not read.
    pub fn leave_out(&mut self, turns: usize) -> usize {
        let turns = turns.min(self.turns.len());
        std::mem::take(&mut self.unread) + self.turns.drain(..turns).map(|turn| turn.said.len()).sum::<usize>()
    }

    /// The summaries as one text.
    pub fn summary(&self) -> Option<String> {
        let texts: Vec<&str> = self.summaries.iter().map(|said| said.message.content.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}

/// The summaries of turns that are stored together: of two that cover the same message, the first stays.
pub fn settled<'t>(turns: impl IntoIterator<Item = &'t Turn>) -> Vec<Option<&'t Summary>> {
    let mut covered = HashSet::new();
    let settle = |turn: &'t Turn| {
        let summary = turn.summary.as_ref().filter(|summary| !summary.covers.iter().any(|id| covered.contains(id)))?;
        covered.extend(summary.covers.iter().copied());
        Some(summary)
    };
    turns.into_iter().map(settle).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::chat::ToolCall;

    fn id(n: u128) -> Id {
        Id(uuid::Uuid::from_u128(n))
    }

    fn said(n: u128, role: Role) -> HistoryMessage {
        HistoryMessage { id: id(n), message: Message::text(role, n.to_string()) }
    }

    fn shown(past: &Past) -> String {
        let text = |said: &HistoryMessage| said.message.content.clone();
        let turns = past.turns.iter().map(|turn| turn.said.iter().map(text).collect::<Vec<_>>().join(" "));
        format!("{:?} | {}", past.summary(), turns.collect::<Vec<_>>().join(" / "))
    }

    fn turn(first: u128, summary: Option<(u128, &[u128])>) -> Turn {
        let summary = summary.map(|(n, covers)| Summary { id: id(n), text: format!("s{n}"), covers: covers.iter().map(|n| id(*n)).collect() });
        let said = [said(first, Role::User), said(first + 1, Role::Assistant)];
        Turn {
            history: "h".into(),
            messages: said.iter().map(|said| said.message.clone()).collect(),
            ids: said.iter().map(|said| said.id).collect(),
            reply_id: None,
            in_memory: false,
            summary,
        }
    }

    #[test]
    fn stored_messages_become_turns_of_their_run() {
        let mut past = Past::default();
        let (one, two) = (Some(id(100)), Some(id(200)));
        past.add_stored(None, true, said(9, Role::System));
        past.add_stored(one, false, said(1, Role::User));
        past.add_stored(two, false, said(2, Role::User));
        past.add_stored(one, false, said(3, Role::Assistant));
        past.add_stored(one, false, said(4, Role::Tool));
        past.add_stored(two, false, said(5, Role::Assistant));
        past.add_stored(Some(id(300)), false, said(6, Role::Tool));
        past.add_stored(one, false, said(7, Role::User));
        assert_eq!(shown(&past), r#"Some("9") | 1 3 4 / 2 5 / 7"#);
        assert_eq!(past.leave_out(1), 3);
        past.add_stored(two, false, said(8, Role::Assistant));
        assert_eq!(shown(&past), r#"Some("9") | 2 5 8 / 7"#);
    }

    #[test]
    fn a_call_id_that_comes_again_in_a_later_turn_is_another_one_there() {
        let asks = |n: u128| {
            let mut said = said(n, Role::Assistant);
            said.message.tool_calls = vec![ToolCall { id: "call_0".into(), name: "look".into(), arguments: json!({}), invalid: None }];
            said
        };
        let gives = |n: u128| {
            let mut said = said(n, Role::Tool);
            said.message.tool_call_id = Some("call_0".into());
            said
        };
        let turn = |run: u128, first: u128| PastTurn { run: Some(id(run)), said: vec![said(first, Role::User), asks(first + 1), gives(first + 2)] };
        let mut past = Past { summaries: Vec::new(), turns: vec![turn(100, 1), turn(200, 4), turn(300, 7)], unread: 0 };
        past.make_call_ids_unique();
        let calls: Vec<&str> = past.turns.iter().map(|turn| turn.said[1].message.tool_calls[0].id.as_str()).collect();
        let results: Vec<&str> = past.turns.iter().filter_map(|turn| turn.said[2].message.tool_call_id.as_deref()).collect();
        assert_eq!(calls, results);
        assert!(calls[0] == "call_0" && calls[1] != calls[0] && calls[2] != calls[0] && calls[1] != calls[2], "{calls:?}");
        let once = past.clone();
        past.make_call_ids_unique();
        assert_eq!(past, once, "the same each time");
    }

    #[test]
    fn a_summary_takes_the_place_of_what_it_covers_once() {
        let mut past = Past::default();
        past.add_turn(&turn(1, None));
        past.add_turn(&turn(3, None));
        past.add_turn(&turn(5, Some((50, &[1, 2]))));
        assert_eq!(shown(&past), r#"Some("s50") | 3 4 / 5 6"#);
        past.add_turn(&turn(7, Some((60, &[1, 2, 3, 4]))));
        assert_eq!(shown(&past), r#"Some("s50") | 3 4 / 5 6 / 7 8"#, "a sibling's summary of the same messages is not taken");
        past.add_turn(&turn(9, Some((70, &[50, 3, 4]))));
        assert_eq!(shown(&past), r#"Some("s70") | 5 6 / 7 8 / 9 10"#);
    }

    #[test]
    fn of_siblings_the_first_summary_is_stored() {
        let turns = [turn(1, Some((50, &[1, 2]))), turn(3, Some((60, &[2, 3]))), turn(5, None), turn(7, Some((70, &[3])))];
        let kept: Vec<Option<Id>> = settled(&turns).into_iter().map(|summary| summary.map(|summary| summary.id)).collect();
        assert_eq!(kept, [Some(id(50)), None, None, Some(id(70))]);
    }
}
