//! Owns the trace JSON of a run.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::engine::{Loaded, load, preview};
use crate::error::{Error, Result};
use crate::model::Id;
use crate::model::chat::{Message, Role};
use crate::model::event::{EntityKind, PartHash};
use crate::model::parts;
use crate::model::run::{Run, Status};
use crate::model::state::is_internal;
use crate::model::trace::{self, Span, Step, Trace};
use crate::model::usage::Usage;
use crate::store::log::parts as stored;
use crate::store::runs::list;
use crate::studio::facade::{Scope, Studio};
use crate::studio::runs::truncation::cut_values;
use crate::studio::runs::summaries::{RunSummary, add_usage, run_summary, shorten};

/// What of a trace is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the request")]
pub struct TraceQuery {
    /// The graph that the run ran.
    pub graph: bool,
    /// What models were sent and what they answered.
    pub messages: bool,
    /// The spans of child runs, too.
    pub children: bool,
    /// The state that each step began with.
    pub snapshots: bool,
    /// Anything that can be large.
    pub payloads: bool,
}

impl Default for TraceQuery {
    fn default() -> Self {
        Self { graph: false, messages: false, children: false, snapshots: true, payloads: true }
    }
}

/// Snapshots of one answer, in bytes; the rest is left out.
const SNAPSHOTS: usize = 4 << 20;
/// Inputs, outputs and messages of one answer, in bytes; the steps and spans that have no room for theirs are shown without.
const PAYLOADS: usize = 16 << 20;

impl Studio {
    /// The trace of a run.
    pub async fn trace(&self, scope: &Scope, run: &str, query: TraceQuery) -> Result<Value> {
        let loaded = load(self.world(), &scope.tenant, run).await?;
        let child = loaded.row.parent.is_some();
        let folded = loaded.fold(None)?;
        let read = self.read_trace(&loaded, query.snapshots && query.payloads && !child);
        let texts = if query.messages { Some(self.part_texts(scope, wanted(&read.spans)).await?) } else { None };
        let exchange = if child { Some(self.exchange(scope, &loaded, &read).await?) } else { None };
        let (tenant, id) = (Arc::clone(&scope.tenant), loaded.row.id);
        let children = self.world().store.read(move |tx| list::children(tx, &tenant, &id)).await?;
        let now = self.world().clock.now();
        let currency = &self.config().usage.currency;
        let summaries: Vec<Value> = children.iter().map(|row| Value::Object(RunSummary::of(&row.into(), now, currency).members())).collect();
        let mut room = PAYLOADS;
        let steps = if child { Vec::new() } else { self.steps(&read.steps, query, &mut room) };
        let owners: HashMap<_, _> = read.steps.iter().filter_map(|step| Some((step.id, step.child_run?))).collect();
        // A child's spans are shown with the child, or when they are asked for.
        let mine = |span: &&Span| match (loaded.row.parent, owners.get(&span.step)) {
            (Some(_), owner) => owner == Some(&loaded.row.id),
            (None, Some(_)) => query.children,
            (None, None) => true,
        };
        let native = self.config().observability.native_tracing;
        let spans = read.spans.iter().filter(mine).filter(|_| native).map(|span| self.span(span, texts.as_ref(), query.payloads, &mut room));
        Ok(json!({
            "trace": self.head(&loaded, &folded, query, exchange),
            "steps": steps,
            "spans": spans.collect::<Vec<_>>(),
            "children": summaries,
        }))
    }

    fn read_trace(&self, loaded: &Loaded, snapshots: bool) -> Trace {
        let id = loaded.row.parent.unwrap_or(loaded.row.id);
        Trace::read(id, &loaded.entries, &loaded.created, &loaded.plan, snapshots)
    }

    fn steps(&self, steps: &[Step], query: TraceQuery, room: &mut usize) -> Vec<Value> {
        let mut states = SNAPSHOTS;
        let show = |step: &Step| {
            let size = step.snapshot.as_ref().map_or(0, crate::model::state::State::size_bytes);
            let omitted = !fits(&mut states, size);
            let state = step.snapshot.as_ref().filter(|_| !omitted);
            let state = state.map(|state| Value::Object(state.to_json(false)));
            if !query.payloads {
                return brief(step.json(state, omitted, false, self.usage_fields(&step.usage)));
            }
            let fits = fits(room, step.payload());
            let mut shown = step.json(state, omitted, true, self.usage_fields(&step.usage));
            if !fits {
                shown["output"] = Value::Null;
            }
            with_note(shown, !fits)
        };
        steps.iter().map(show).collect()
    }

    /// With the texts of its messages, if they were asked for.
    fn span(&self, span: &Span, texts: Option<&HashMap<PartHash, Arc<str>>>, payloads: bool, room: &mut usize) -> Value {
        let usage = |usage: &Usage| self.usage_fields(usage);
        if !payloads {
            return brief(span.json(None, false, usage));
        }
        let said = texts.filter(|_| span.kind == "llm");
        let size: Option<usize> = match said {
            Some(texts) => span.prompt.iter().chain(&span.answer).map(|hash| texts.get(hash).map(|text| text.len())).sum(),
            None => Some(span.payload()),
        };
        let fits = size.is_some_and(|size| fits(room, size));
        let parsed = |texts: &HashMap<PartHash, Arc<str>>, hash: &PartHash| {
            let mut message = texts.get(hash).and_then(|text| serde_json::from_str::<Value>(text).ok())?;
            message.as_object_mut().into_iter().for_each(parts::show_in_trace);
            Some(message)
        };
        let messages = said.filter(|_| fits).map(|texts| {
            let sent = span.prompt.iter().filter_map(|hash| parsed(texts, hash)).collect();
            (Value::Array(sent), span.answer.as_ref().and_then(|hash| parsed(texts, hash)).unwrap_or_default())
        });
        with_note(span.json(messages, fits, usage), !fits)
    }

    fn usage_fields(&self, usage: &Usage) -> Map<String, Value> {
        let mut fields = Map::new();
        add_usage(&mut fields, usage, &self.config().usage.currency);
        fields
    }

    /// What a child run was sent and what it answered; the log of its parent holds both.
    async fn exchange(&self, scope: &Scope, loaded: &Loaded, read: &Trace) -> Result<Exchange> {
        let Some(step) = read.steps.iter().rfind(|step| step.child_run == Some(loaded.row.id)) else { return Ok(Exchange::default()) };
        // A history may be summarised before the agent is asked.
        let is_asked = |span: &&Span| span.step == step.id && span.name != "summarize" && !span.prompt.is_empty();
        let prompt = read.spans.iter().find(is_asked).map(|span| span.prompt.clone()).unwrap_or_default();
        let tenant = Arc::clone(&scope.tenant);
        let sent = self.world().store.read(move |tx| {
            for hash in prompt.iter().rev() {
                let message = stored::part(tx, &tenant, hash)?.and_then(|text| serde_json::from_str::<Message>(&text).ok());
                if let Some(message) = message.filter(|message| message.role == Role::User) {
                    return Ok(Some(message));
                }
            }
            Ok(None)
        });
        let sent = sent.await?;
        let key = loaded.plan.find(&step.node).and_then(|at| loaded.plan.node(at).node.output_key());
        let reply = key.and_then(|key| step.output.as_ref()?.get(key)?.as_str().map(str::to_owned));
        Ok(Exchange { sent, thread: step.thread, output: step.changed(), reply })
    }

    async fn part_texts(&self, scope: &Scope, wanted: Vec<PartHash>) -> Result<HashMap<PartHash, Arc<str>>> {
        let tenant = Arc::clone(&scope.tenant);
        let found = self.world().store.read(move |tx| {
            let (mut texts, mut room) = (HashMap::new(), PAYLOADS);
            for hash in &wanted {
                if texts.contains_key(hash) {
                    continue;
                }
                if let Some(text) = stored::part(tx, &tenant, hash)? {
                    if !fits(&mut room, text.len()) {
                        break;
                    }
                    texts.insert(Arc::clone(hash), text);
                }
            }
            Ok(texts)
        });
        Ok(found.await?)
    }

    fn head(&self, loaded: &Loaded, run: &Run, query: TraceQuery, exchange: Option<Exchange>) -> Value {
        let row = &loaded.row;
        let now = self.world().clock.now();
        let mut head = run_summary(row, now, &self.config().usage.currency);
        let created = &loaded.created;
        let workflow = (row.entity_type == EntityKind::Workflow).then_some(&row.entity_name);
        let own = exchange.is_none();
        head.insert("workflow_name".into(), json!(workflow));
        head.insert("workflow_revision".into(), json!(row.revision));
        head.insert("error_message".into(), json!(row.error.as_ref().and_then(|error| error.get("message"))));
        let completed = row.status == Status::Completed.as_str();
        let (input, output, reply) = if let Some(exchange) = exchange {
            let message = exchange.sent.unwrap_or_else(|| Message::text(Role::User, ""));
            head.insert("input_preview".into(), preview(&message.content).into());
            let input = json!({"message": message.content, "state": {}, "attachments": message.attachments, "thread_id": exchange.thread});
            (input, exchange.output, exchange.reply)
        } else {
            let (message, state) = (&created.message, public(&created.state));
            let input = json!({"message": message, "state": state, "attachments": created.attachments, "thread_id": created.thread});
            (input, run.output.as_ref().map(|output| json!(output)), run.reply.clone())
        };
        head.insert("input".into(), input);
        head.insert("output".into(), json!(output.filter(|_| completed && query.payloads)));
        head.insert("reply".into(), json!(reply.filter(|_| completed)));
        head.insert("checkpoint".into(), json!(trace::checkpoint(run).filter(|_| own && query.payloads)));
        head.insert("pauses".into(), if own { trace::pauses(run, &loaded.entries).into() } else { json!([]) });
        head.insert("async_progress_steps".into(), self.progress(loaded, own).into());
        head.insert("last_event_id".into(), json!(loaded.telling(self.world(), false).ordered.last));
        if query.graph {
            let mut graph = loaded.plan.graph().to_json().clone();
            if let Some(mut masks) = self.world().masks() {
                masks.value(&mut graph);
            }
            head.insert("graph".into(), graph);
        }
        Value::Object(head)
    }

    /// The last events from the steps of an async run.
    fn progress(&self, loaded: &Loaded, own: bool) -> Vec<Value> {
        if !own || loaded.row.mode != "async" || !self.config().async_progress.enabled {
            return Vec::new();
        }
        let told = ["step_started", "step_completed", "step_failed", "branch_completed", "tool_call", "tool_result"];
        let telling = loaded.telling(self.world(), false);
        let frames: Vec<_> = telling.ordered.frames.iter().filter(|frame| told.contains(&frame.event())).collect();
        let first = frames.len().saturating_sub(500);
        frames[first..]
            .iter()
            .map(|frame| {
                let mut data = Vec::new();
                frame.write_data(&mut data);
                let data: Value = serde_json::from_slice(&data).unwrap_or_default();
                json!({"seq": frame.number(), "event": frame.event(), "data": data})
            })
            .collect()
    }

    /// One step whole, with its spans and messages; long values are cut unless `full`.
    pub async fn step(&self, scope: &Scope, run: &str, step: &str, full: bool) -> Result<Value> {
        let loaded = load(self.world(), &scope.tenant, run).await?;
        let read = self.read_trace(&loaded, true);
        let found = read.steps.iter().find(|found| found.id.to_string() == step);
        let found = found.ok_or_else(|| Error::not_found("step", step))?;
        let state = found.snapshot.as_ref().map(|state| Value::Object(state.to_json(false)));
        let mut shown = found.json(state, false, true, self.usage_fields(&found.usage));
        let native = self.config().observability.native_tracing;
        let spans: Vec<&Span> = read.spans.iter().filter(|span| native && span.step == found.id).collect();
        let texts = self.part_texts(scope, wanted(spans.iter().copied())).await?;
        let mut room = PAYLOADS;
        shown["spans"] = spans.into_iter().map(|span| self.span(span, Some(&texts), true, &mut room)).collect();
        if !full {
            cut_values(&mut shown);
        }
        Ok(shown)
    }
}

/// What a child run was sent and answered.
#[derive(Default)]
struct Exchange {
    sent: Option<Message>,
    thread: Option<Id>,
    output: Option<Value>,
    reply: Option<String>,
}

/// The parts that spans name.
fn wanted<'s>(spans: impl IntoIterator<Item = &'s Span>) -> Vec<PartHash> {
    spans.into_iter().flat_map(|span| span.prompt.iter().chain(&span.answer)).cloned().collect()
}

/// Whether so many bytes still fit; then the room for them is taken.
fn fits(room: &mut usize, size: usize) -> bool {
    let left = room.checked_sub(size);
    *room = left.unwrap_or(*room);
    left.is_some()
}

fn with_note(mut shown: Value, omitted: bool) -> Value {
    if omitted {
        shown["payloads_omitted"] = true.into();
    }
    shown
}

fn public(state: &Map<String, Value>) -> Map<String, Value> {
    state.iter().filter(|(key, _)| !is_internal(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Leaves out what says nothing, so that a long trace stays small: nulls, empty values, zeros of counts, what is not so.
fn brief(mut shown: Value) -> Value {
    if let Value::Object(fields) = &mut shown {
        let used = fields.get("total_tokens").and_then(Value::as_u64).unwrap_or_default() > 0;
        fields.get_mut("error").into_iter().for_each(shorten);
        fields.retain(|name, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty() && (used || !matches!(name.as_str(), "currency" | "estimated_cost")),
            Value::Array(items) => !items.is_empty(),
            Value::Number(number) => match name.as_str() {
                "seq" | "duration_ms" | "iteration" => true,
                "attempt" => number.as_u64() != Some(1),
                _ => number.as_u64() != Some(0),
            },
            Value::Bool(true) | Value::Object(_) => true,
        });
    }
    shown
}
