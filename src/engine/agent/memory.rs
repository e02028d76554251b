//! Owns memory: the history of a node, and its part that fits into the prompt.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::binding::ToolTable;
use super::profile::Profile;
use super::{compaction, media, prompt, window};
use crate::engine::drive::context::StepContext;
use crate::engine::drive::history::Reach;
use crate::model::truncation::{Source, within};
use crate::model::chat::{Message, Role};
use crate::model::event::Fault;
use crate::model::memory::{Past, PastTurn, Sizes, Window, estimate, text_tokens};
use crate::model::node::{AgentNode, Memory};
use crate::providers::ToolOffer;

/// A history of turns in the run's thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct History {
    /// Whose it is: `agent:<id>`, `node:<workflow>/<node>`, `workflow:<id>`.
    pub(super) name: String,
    /// It lives as long as the run.
    pub(super) in_memory: bool,
}

impl History {
    /// The history of an agent node; none when it remembers nothing.
    pub(super) fn of(context: &StepContext, node: &AgentNode, profile: &Profile) -> Option<Self> {
        let run = context.run();
        let name = match (node.memory, profile.agent_id, run.workflow_id) {
            (Memory::None, _, _) => return None,
            (Memory::Shared, _, Some(workflow)) => format!("workflow:{workflow}"),
            (Memory::Shared, None, None) => format!("workflow:{}", run.entity_id),
            (Memory::Own | Memory::Shared, Some(agent), _) => format!("agent:{agent}"),
            (Memory::Own, None, Some(workflow)) => format!("node:{workflow}/{}", profile.node_id),
            (Memory::Own, None, None) => format!("node:{}/{}", run.entity_id, profile.node_id),
        };
        Some(Self { name, in_memory: profile.memory.driver.as_deref() == Some("in_memory") })
    }
}

/// A conversation that is about to be sent, and what its parts weigh.
pub(super) struct Draft {
    system: Option<Message>,
    pub(super) past: Past,
    user: Message,
    tools: u64,
    files: HashMap<String, u64>,
}

impl Draft {
    async fn of(context: &StepContext, profile: &Profile, tools: &ToolTable<'_>, mut past: Past, user: Message, most: u64) -> Result<Self, Fault> {
        let said = past.turns.iter_mut().flat_map(|turn| &mut turn.said);
        for said in said.filter(|said| said.message.role == Role::Tool) {
            let (tool, text) = (said.message.name.clone().unwrap_or_default(), std::mem::take(&mut said.message.content));
            said.message.content = within(text, profile.memory.budget_tool_results, Source::Tool(&tool), &mut Vec::new());
        }
        past.make_call_ids_unique();
        let files = files(context, &past, &user, most).await?;
        Ok(Self { system: prompt::system_message(profile), past, user, tools: tools_tokens(tools, &[]), files })
    }

    pub(super) fn sizes(&self) -> Sizes {
        let weigh = |message: &Message| weigh(message, &self.files);
        let blank = if self.system.is_some() { "\n\n" } else { "" };
        Sizes {
            fixed: self.tools + self.system.as_ref().map_or(0, weigh),
            summary: self.past.summary().map_or(0, |text| text_tokens(&format!("{blank}{text}"))),
            turns: self.past.turns.iter().map(|turn| turn.said.iter().map(|said| weigh(&said.message)).sum()).collect(),
            new: weigh(&self.user),
        }
    }

    /// System prompt with the summary behind it, the turns, the new message.
    fn prompt(self) -> Vec<Message> {
        let summary = self.past.summary();
        let system = match (self.system, summary) {
            (Some(system), Some(summary)) => Some(Message::text(Role::System, format!("{}\n\n{summary}", system.content))),
            (None, Some(summary)) => Some(Message::text(Role::System, summary)),
            (system, None) => system,
        };
        let turns = self.past.turns.into_iter().flat_map(|turn| turn.said).map(|said| said.message);
        system.into_iter().chain(turns).chain([self.user]).collect()
    }
}

fn weigh(message: &Message, files: &HashMap<String, u64>) -> u64 {
    estimate(message, |file| files.get(&file.storage_key).copied().unwrap_or(0))
}

/// Tokens of the files of a conversation. The newest turns are looked at until they have more than the window: no turn before them is sent,
/// whatever its files weigh, so that those are not read.
async fn files(context: &StepContext, past: &Past, user: &Message, most: u64) -> Result<HashMap<String, u64>, Fault> {
    let mut files = HashMap::new();
    media::weigh(context, user, &mut files).await?;
    let has_files = |turn: &PastTurn| turn.said.iter().any(|said| !said.message.attachments.is_empty());
    if !past.turns.iter().any(has_files) {
        return Ok(files);
    }
    let mut size = weigh(user, &files);
    for turn in past.turns.iter().rev() {
        if size > most {
            break;
        }
        for said in &turn.said {
            media::weigh(context, &said.message, &mut files).await?;
            size = size.saturating_add(weigh(&said.message, &files));
        }
    }
    Ok(files)
}

/// What the offers of tools weigh.
pub(super) fn tools_tokens(tools: &ToolTable<'_>, found: &[String]) -> u64 {
    tools.offers(found).iter().map(weight).sum()
}

/// What a tool's offer weighs.
fn weight(offer: &ToolOffer) -> u64 {
    let told = json!({"name": offer.name, "description": offer.description, "input_schema": offer.input_schema});
    text_tokens(&told.to_string())
}

/// The span of the trace for a history that was too long.
#[derive(Default)]
pub(super) struct Report {
    pub(super) trimmed: usize,
    pub(super) cleared: usize,
    pub(super) summarized: usize,
    pub(super) source: Option<&'static str>,
    pub(super) error: Option<String>,
}

impl Report {
    pub(super) fn span_output(&self, at: &str, before: u64, after: u64, window: &Window) -> Value {
        let mode = match (self.summarized, self.cleared) {
            (0, 0) => "non_destructive",
            (0, _) => "clear_tool_results",
            _ => "compaction",
        };
        json!({
            "at": at, "mode": mode, "trimmed_count": self.trimmed, "messages_summarized": self.summarized, "results_cleared": self.cleared,
            "tokens_before": before, "tokens_after": after, "over_budget_single": after > window.tokens,
            "summarization_enabled": window.summarises, "summarizer_source": self.source,
            "summarizer_fallback": self.error.is_some(), "summarizer_error": self.error,
        })
    }
}

/// The conversation as it is sent: system prompt, summary, the turns that fit, the new message.
///
/// The one place where a window is measured, turns are left out and a summary is made.
pub(super) async fn fit(
    context: &StepContext,
    profile: &Profile,
    tools: &ToolTable<'_>,
    history: Option<&History>,
    user: Message,
) -> Result<Vec<Message>, Fault> {
    let window = window::of(context, profile, 0);
    let begun = compaction::begun(context);
    // A summary may stand for all of it.
    let reach = Reach { tokens: window.tokens, tool_results: profile.memory.budget_tool_results };
    let reach = Some(reach).filter(|_| !window.summarises && !begun);
    let past = match history {
        Some(history) => context.history(&history.name, history.in_memory, reach).await?,
        None => Past::default(),
    };
    let mut draft = Draft::of(context, profile, tools, past, user, window.tokens).await?;
    let before = draft.sizes();
    if window.fits(&before) && !begun {
        return Ok(draft.prompt());
    }
    let mut report = Report::default();
    if window.summarises || begun {
        compaction::compact(context, profile, &window, &mut draft, &mut report).await?;
    }
    report.trimmed = draft.past.leave_out(window.left_out(&draft.sizes()));
    let told = report.span_output("turn_start", before.total(), draft.sizes().total(), &window);
    context.measure("history", "memory", "history_compaction", told)?;
    Ok(draft.prompt())
}

/// A tool's result as it enters the conversation. The one place where new results are cut to their budget.
pub(super) fn enter(context: &StepContext, profile: &Profile, call_id: &str, tool: &str, result: String) -> Result<String, Fault> {
    let mut cuts = Vec::new();
    let text = within(result, profile.memory.budget_tool_results, Source::Tool(tool), &mut cuts);
    context.measure_cuts(&format!("tool:{call_id}"), &cuts)?;
    Ok(text)
}
