//! Owns what a history holds for models: its summary and its turns, which are never split.

use serde::{Deserialize, Serialize};

use super::super::Id;
use super::super::chat::{Message, Role};
use super::super::event::Turn;

/// A message of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
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

/// What a history holds for models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// Usually one; more when two runs summarised at the same time.
    pub summaries: Vec<Said>,
    /// Oldest first: a user message and everything up to the next one.
    pub turns: Vec<Vec<Said>>,
    /// The run that added each turn.
    owners: Vec<Option<Id>>,
}

impl Past {
    /// Adds a stored message. Messages of a run that has no turn yet begin one, but a result without its call is never sent.
    pub fn add_stored(&mut self, run: Option<Id>, is_summary: bool, said: Said) {
        if is_summary {
            return self.summaries.push(said);
        }
        let own = (said.message.role != Role::User).then(|| self.owners.iter().rposition(|owner| *owner == run)).flatten();
        match own.and_then(|at| self.turns.get_mut(at)) {
            Some(turn) => turn.push(said),
            None if said.message.role == Role::Tool => {}
            None => {
                self.turns.push(vec![said]);
                self.owners.push(run);
            }
        }
    }

    /// Adds a turn that is not stored yet, with the summary that it brings.
    pub fn add_turn(&mut self, turn: &Turn) {
        if let Some(summary) = turn.summary.as_ref().filter(|summary| self.has(&summary.covers)) {
            self.replace(summary);
        }
        let messages = turn.messages.iter().zip(&turn.ids);
        self.turns.push(messages.map(|(message, id)| Said { id: *id, message: message.clone() }).collect());
        self.owners.push(None);
    }

    /// A summary takes the place of what it covers.
    pub fn replace(&mut self, summary: &Summary) {
        self.forget(&summary.covers);
        let message = Message::text(Role::System, summary.text.as_str());
        self.summaries.push(Said { id: summary.id, message });
    }

    fn forget(&mut self, covered: &[Id]) {
        let stays = |turn: &Vec<Said>| turn.first().is_some_and(|said| !covered.contains(&said.id));
        let kept: Vec<bool> = self.turns.iter().map(stays).collect();
        let mut at = kept.iter();
        self.turns.retain(|_| at.next().copied().unwrap_or(true));
        let mut at = kept.iter();
        self.owners.retain(|_| at.next().copied().unwrap_or(true));
        self.summaries.retain(|said| !covered.contains(&said.id));
    }

    fn has(&self, ids: &[Id]) -> bool {
        let held = |id: &Id| self.summaries.iter().chain(self.turns.iter().flatten()).any(|said| said.id == *id);
        ids.iter().all(held)
    }

    /// Leaves out the oldest turns; says how many messages that were.
    pub fn leave_out(&mut self, turns: usize) -> usize {
        let turns = turns.min(self.turns.len());
        self.owners.drain(..turns);
        self.turns.drain(..turns).map(|turn| turn.len()).sum()
    }

    /// The summaries as one text.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        let texts: Vec<&str> = self.summaries.iter().map(|said| said.message.content.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}

/// The summaries of turns that are stored together: of two that cover the same message, the first stays.
pub fn settled<'t>(turns: impl IntoIterator<Item = &'t Turn>) -> Vec<Option<&'t Summary>> {
    let mut covered = std::collections::HashSet::new();
    let settle = |turn: &'t Turn| {
        let summary = turn.summary.as_ref().filter(|summary| !summary.covers.iter().any(|id| covered.contains(id)))?;
        covered.extend(summary.covers.iter().copied());
        Some(summary)
    };
    turns.into_iter().map(settle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> Id {
        Id(uuid::Uuid::from_u128(n))
    }

    fn said(n: u128, role: Role) -> Said {
        Said { id: id(n), message: Message::text(role, n.to_string()) }
    }

    fn shown(past: &Past) -> String {
        let text = |said: &Said| said.message.content.clone();
        let turns = past.turns.iter().map(|turn| turn.iter().map(text).collect::<Vec<_>>().join(" "));
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
