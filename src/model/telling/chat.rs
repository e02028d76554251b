//! Owns the wire form of agent chat events.

use super::super::Id;
use super::super::event::{Entry, Event};
use super::super::usage::Usage;
use super::encode::{decided, fallback, file, pending, source, terminal};
use super::frame::{Body, Frame, StepFacts, pause_of};
use super::json::Object;

impl Frame {
    /// The fields of agent chat.
    pub(super) fn chat_fields(&self, object: &mut Object<'_>) {
        let (run, created) = (&self.facts().run, &self.facts().created);
        match &self.body {
            Body::Thread => {
                object.id("thread_id", created.thread).plain("trace_id", run).id("agent_id", created.entity_id);
            }
            Body::Token { delta, .. } => {
                object.put("delta", &**delta);
            }
            Body::ToolCall { entry, index } => self.tool_call(object, entry, *index),
            Body::ToolResult(entry) => self.tool_result(object, entry),
            Body::Source { entry, index } => source(object, entry, *index),
            Body::File { entry, index } => file(object, entry, *index),
            Body::Asked(entry) => {
                object.plain("trace_id", run);
                if let Some(pause) = pause_of(entry) {
                    object.id("pause_id", pause.id);
                    pending(object, pause);
                }
            }
            Body::Resolved { entry, paused } => {
                object.plain("trace_id", run);
                if let Some(pause) = pause_of(paused) {
                    object.id("pause_id", pause.id);
                }
                decided(object, entry);
            }
            Body::Ended { entry, total, reply_id, last, .. } => self.chat_ended(object, entry, total, *reply_id, last.as_deref()),
            Body::Terminal { entry, status } => {
                object.plain("trace_id", run);
                terminal(object, entry.as_deref(), *status);
            }
            Body::Fallback(entry) => {
                if let Event::ModelFallback(turned) = &entry.event {
                    fallback(object, turned);
                }
            }
            Body::TraceStarted { .. }
            | Body::RanStarted(_)
            | Body::LoopIteration(_)
            | Body::RanEnded(_)
            | Body::Started(_)
            | Body::Retrying(_)
            | Body::Hit { .. }
            | Body::Completed { .. }
            | Body::StepFailed { .. }
            | Body::RagQuery(_)
            | Body::BranchStarted
            | Body::BranchEnded { .. }
            | Body::Interrupt(_)
            | Body::Written(_) => {}
        }
    }

    fn chat_ended(&self, object: &mut Object<'_>, entry: &Entry, total: &Usage, reply_id: Option<Id>, last: Option<&StepFacts>) {
        object.plain("trace_id", &self.facts().run);
        if let Event::Completed { reply, .. } = &entry.event {
            object.id("thread_id", self.facts().created.thread).plain("status", "completed");
            object.put("message_id", &reply_id).put("reply", reply);
            self.usage(object, total);
            if let Some(last) = last {
                self.ending(object, last);
            }
        } else if let Event::Failed { fault, .. } = &entry.event {
            object.plain("code", fault.code.as_str()).put("message", &fault.message);
        } else {
            object.plain("code", "cancelled").plain("message", "the turn was cancelled");
        }
    }
}
