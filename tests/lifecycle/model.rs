//! Owns the truth: what was done to runs and what they were seen to be, as plain facts; `check` says what must follow from them.

use std::collections::{BTreeMap, HashSet};

use wfstudio::model::Id;
use wfstudio::model::event::DoubtAction;

/// What somebody asked for, and whether it was accepted for certain: a request to an engine that died may have been.
#[derive(Clone, Debug)]
pub struct Asked<T> {
    pub at: u64,
    pub sure: bool,
    pub what: T,
}

/// An answer to a pause.
#[derive(Clone, Debug)]
pub struct Answered {
    pub pause: Id,
    /// Of an approval: what each act was decided to be.
    pub acts: Vec<(String, bool)>,
}

/// A retry.
#[derive(Clone, Debug)]
pub struct Again {
    pub from_step: bool,
    /// What a person said of calls in doubt.
    pub doubts: BTreeMap<String, DoubtAction>,
}

/// A cancel.
#[derive(Clone, Debug)]
pub struct Cancel {
    /// It was over when the cancel was answered.
    pub over: bool,
    /// The engine that drove the run then, if its process lived.
    pub driver: Option<usize>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Fact {
    pub id: Id,
    pub marker: String,
    /// Of a chat: its thread, and the runs that the thread showed when it began.
    pub chat: Option<(String, Vec<String>)>,
    pub answers: Vec<Asked<Answered>>,
    pub again: Vec<Asked<Again>>,
    pub cancels: Vec<Asked<Cancel>>,
    pub deleted: bool,
    pub spoiled: bool,
    /// Engines that died or lost their lease while they drove it.
    pub deaths: u32,
    /// How it was seen last, and when.
    pub seen: Option<(String, u64)>,
}

impl Fact {
    pub fn new(id: Id, marker: String, chat: Option<(String, Vec<String>)>) -> Self {
        let (answers, again, cancels) = (Vec::new(), Vec::new(), Vec::new());
        Self { id, marker, chat, answers, again, cancels, deleted: false, spoiled: false, deaths: 0, seen: None }
    }

    /// A person decided that this call may be made again, after one moment and before another.
    pub fn may_repeat(&self, call_id: &str, after: u64, before: u64) -> bool {
        let between = |again: &&Asked<Again>| (after..before).contains(&again.at);
        self.again.iter().filter(between).any(|again| {
            let word = again.what.doubts.get(call_id);
            again.what.from_step || word.is_none() || word == Some(&DoubtAction::Rerun)
        })
    }

    /// Whether somebody made it go on, or may have, since it was seen last.
    pub fn was_moved(&self, since: u64) -> bool {
        let later = |at: u64| at >= since;
        self.answers.iter().any(|asked| later(asked.at)) || self.again.iter().any(|asked| later(asked.at)) || self.was_cancelled(since)
    }

    pub fn was_cancelled(&self, since: u64) -> bool {
        self.cancels.iter().any(|asked| asked.at >= since)
    }

    /// Why the status may not have gone from one to another by itself; none when it may.
    pub fn wrong_move(&self, from: &str, to: &str, since: u64) -> Option<&'static str> {
        match from {
            _ if from == to => None,
            // A cancel may be heard only when the run comes to rest.
            "awaiting_input" | "awaiting_tool_approval" if to == "cancelled" && !self.cancels.is_empty() => None,
            "completed" | "cancelled" => Some("what is over does not change"),
            "failed" => (!self.again.iter().any(|asked| asked.at >= since)).then_some("a failed run goes on only when it is retried"),
            "awaiting_input" | "awaiting_tool_approval" => (!self.was_moved(since)).then_some("a run that waits goes on only when it is answered or cancelled"),
            _ => (to == "cancelled" && self.cancels.is_empty()).then_some("nobody cancelled the run"),
        }
    }
}

/// One engine's time, in moments.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// When its process was gone; none while it lives.
    pub gone: Option<u64>,
}

/// Moments at which nothing moved: what was under way before is done.
#[derive(Clone, Debug, Default)]
pub struct Calms(pub Vec<u64>);

impl Calms {
    /// The engine lived until everything that came of this moment was done.
    pub fn outlived(&self, span: Span, at: u64) -> bool {
        let calm = self.0.iter().find(|calm| **calm > at);
        calm.is_some_and(|calm| span.gone.is_none_or(|gone| gone > *calm))
    }
}

/// What was found to be wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    pub rule: &'static str,
    pub text: String,
}

/// Rules that are not looked at.
#[derive(Clone, Debug, Default)]
pub struct Ignored(pub HashSet<String>);

impl Ignored {
    pub fn of_environment() -> Self {
        let names = std::env::var("IGNORE").unwrap_or_default();
        Self(names.split(',').map(|name| name.trim().to_owned()).collect())
    }
}
