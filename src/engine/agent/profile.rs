//! Owns the effective settings of an agent, from its node, its stored definition and a chat turn.

use std::sync::Arc;

use super::prompt::render;
use crate::engine::calls::fallbacks::Candidate;
use crate::engine::drive::context::{ChatOverrides, StepContext};
use crate::model::Id;
use crate::model::agent::{Agent, MemoryConfig, OnLength, OnToolLimit, Parameters, ToolRef};
use crate::model::truncation::Cut;
use crate::model::event::{Fault, FaultCode};
use crate::model::fallback::Fallback;
use crate::model::node::{AgentNode, LlmNode};

/// One who speaks with a model.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Profile {
    pub(super) node_id: Arc<str>,
    pub(super) agent_id: Option<Id>,
    pub(super) slug: Option<String>,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) credential: Option<String>,
    pub(super) instructions: String,
    /// What was cut to its budget in the instructions.
    pub(super) cuts: Vec<Cut>,
    pub(super) parameters: Parameters,
    pub(super) fallbacks: Vec<Fallback>,
    pub(super) tools: Vec<ToolRef>,
    /// Every call waits for a person.
    pub(super) approves_all: bool,
    pub(super) tool_max_runs: u32,
    pub(super) parallel_tool_calls: Option<bool>,
    pub(super) on_length: OnLength,
    pub(super) on_tool_limit: OnToolLimit,
    /// Its text is streamed although a person may have to decide on calls.
    pub(super) stream_approval: bool,
    pub(super) memory: MemoryConfig,
    /// Of the stored agent.
    pub(super) output_schema: Option<String>,
    pub(super) schema: Option<serde_json::Value>,
}

impl Profile {
    /// The profile of an agent node, which may be another one than the step's.
    pub(super) fn of_agent(context: &StepContext, node: &AgentNode, node_id: &Arc<str>) -> Result<Self, Fault> {
        let profile = if node.is_inline() { Self::inline(context, node, node_id)? } else { Self::stored(context, node, node_id)? };
        Ok(match context.run().chat.as_ref() {
            Some(chat) => profile.overridden(chat),
            None => profile,
        })
    }

    fn stored(context: &StepContext, node: &AgentNode, node_id: &Arc<str>) -> Result<Self, Fault> {
        let id = node.agent_id.as_deref().unwrap_or_default();
        let agent: &Agent = context.definitions().agent(id).ok_or_else(|| missing(id))?;
        Ok(Self {
            node_id: Arc::clone(node_id),
            agent_id: agent.id,
            slug: agent.slug.clone(),
            provider: agent.provider.clone(),
            model: agent.model.clone(),
            credential: agent.credential.clone(),
            instructions: agent.instructions.clone(),
            cuts: Vec::new(),
            parameters: agent.parameters.clone(),
            fallbacks: agent.fallbacks.clone(),
            tools: agent.tools.clone(),
            approves_all: node.require_tool_approval.unwrap_or(agent.require_tool_approval),
            tool_max_runs: node.tool_max_runs.unwrap_or(agent.tool_max_runs),
            parallel_tool_calls: node.parallel_tool_calls.or(agent.parallel_tool_calls),
            on_length: node.on_length.unwrap_or(agent.on_length),
            on_tool_limit: node.on_tool_limit.unwrap_or(agent.on_tool_limit),
            stream_approval: node.stream_approval.unwrap_or(agent.stream_approval),
            memory: merged(&node.memory_config, agent.memory_config.as_ref()),
            output_schema: agent.output_schema.clone(),
            schema: agent.schema.clone(),
        })
    }

    fn inline(context: &StepContext, node: &AgentNode, node_id: &Arc<str>) -> Result<Self, Fault> {
        let (Some(provider), Some(model)) = (node.provider.clone(), node.model.clone()) else {
            return Err(Fault::new(FaultCode::Internal, format!("the agent node `{node_id}` has no provider and model")));
        };
        let memory = merged(&node.memory_config, None);
        let mut cuts = Vec::new();
        let instructions = render(&node.instructions, context, &memory, &mut cuts);
        Ok(Self {
            node_id: Arc::clone(node_id),
            agent_id: None,
            slug: None,
            provider,
            model,
            credential: node.credential.clone(),
            instructions,
            cuts,
            parameters: node.parameters.clone(),
            fallbacks: node.fallbacks.clone(),
            tools: node.tools.clone(),
            approves_all: node.require_tool_approval.unwrap_or(false),
            tool_max_runs: node.tool_max_runs.unwrap_or(10),
            parallel_tool_calls: node.parallel_tool_calls,
            on_length: node.on_length.unwrap_or_default(),
            on_tool_limit: node.on_tool_limit.unwrap_or_default(),
            stream_approval: node.stream_approval.unwrap_or(false),
            memory,
            output_schema: None,
            schema: None,
        })
    }

    /// The profile of an llm node: no tools, no memory.
    pub(in crate::engine) async fn of_llm(context: &StepContext, node: &LlmNode) -> Self {
        let (provider, model) = match (&node.provider, &node.model) {
            (Some(provider), Some(model)) => (provider.clone(), model.clone()),
            (own_provider, own_model) => {
                let (provider, model) = context.world().providers.default_model(&context.run().tenant).await;
                (own_provider.clone().unwrap_or(provider), own_model.clone().unwrap_or(model))
            }
        };
        let memory = MemoryConfig { budget_rag: node.budget_rag, budget_state: node.budget_state, ..MemoryConfig::default() };
        let mut cuts = Vec::new();
        let instructions = render(&node.instructions, context, &memory, &mut cuts);
        Self {
            node_id: Arc::clone(&context.node().id),
            agent_id: None,
            slug: None,
            provider,
            model,
            credential: node.credential.clone(),
            instructions,
            cuts,
            parameters: node.parameters.clone(),
            fallbacks: node.fallbacks.clone(),
            tools: Vec::new(),
            approves_all: false,
            tool_max_runs: 1,
            parallel_tool_calls: None,
            on_length: node.on_length,
            on_tool_limit: OnToolLimit::default(),
            stream_approval: false,
            memory,
            output_schema: None,
            schema: None,
        }
    }

    /// Who is asked when its own model does not answer.
    pub(super) fn others(&self) -> Vec<Candidate> {
        self.fallbacks.iter().map(|fallback| self.other(fallback)).collect()
    }

    /// The fallback at a place of the list; none at place 0, which is the model itself.
    pub(super) fn fallback(&self, place: u32) -> Option<Candidate> {
        let at = usize::try_from(place.checked_sub(1)?).ok()?;
        self.fallbacks.get(at).or(self.fallbacks.last()).map(|fallback| self.other(fallback))
    }

    /// Its credential only goes to its own provider.
    fn other(&self, fallback: &Fallback) -> Candidate {
        Candidate {
            provider: fallback.provider.clone(),
            model: fallback.model.clone(),
            credential: fallback.credential.clone().or_else(|| self.credential.clone().filter(|_| fallback.provider == self.provider)),
            parameters: fallback.parameters.as_ref().map_or_else(|| self.parameters.clone(), |own| own.over(&self.parameters)),
        }
    }

    /// As a chat turn wants it.
    fn overridden(mut self, chat: &ChatOverrides) -> Self {
        if let Some(instructions) = &chat.instructions {
            self.instructions.clone_from(instructions);
        }
        if let Some(context) = &chat.context {
            let blank = if self.instructions.is_empty() { "" } else { "\n\n" };
            self.instructions = format!("{}{blank}{context}", self.instructions);
        }
        if let Some(wanted) = &chat.parameters {
            let own = std::mem::take(&mut self.parameters);
            self.parameters = wanted.over(&own);
            for own in self.fallbacks.iter_mut().filter_map(|fallback| fallback.parameters.as_mut()) {
                *own = wanted.over(own);
            }
        }
        self
    }
}

fn missing(id: &str) -> Fault {
    Fault::new(FaultCode::Internal, format!("the agent `{id}` is not among the definitions of this run"))
}

/// Key by key: the node's, else the agent's.
fn merged(node: &MemoryConfig, agent: Option<&MemoryConfig>) -> MemoryConfig {
    let none = MemoryConfig::default();
    let agent = agent.unwrap_or(&none);
    MemoryConfig {
        context_window: node.context_window.or(agent.context_window),
        driver: node.driver.clone().or_else(|| agent.driver.clone()),
        summarization_enabled: node.summarization_enabled.or(agent.summarization_enabled),
        summarization_threshold: node.summarization_threshold.or(agent.summarization_threshold),
        budget_rag: node.budget_rag.or(agent.budget_rag),
        budget_tool_results: node.budget_tool_results.or(agent.budget_tool_results),
        budget_state: node.budget_state.or(agent.budget_state),
        inside_turn: node.inside_turn.or(agent.inside_turn),
    }
}
