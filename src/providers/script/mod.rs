//! Owns the provider `script`: offline, deterministic models whose replies are data.

mod matching;
mod play;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ChatReply, ChatRequest, Deltas, Finish, EmbedRequest, Embeddings, Provider, ProviderFailure, demo};
use crate::model::event::FaultCode;

/// A scripted model: replies in order of preference, and what happens when none is left.
#[derive(Debug)]
pub struct Script {
    replies: Vec<Reply>,
    on_exhausted: Exhausted,
}

/// What a scripted model does when no reply is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Exhausted {
    #[default]
    Fail,
    RepeatLast,
    Echo,
}

#[derive(Debug)]
struct Reply {
    config: ReplyConfig,
    regex: Option<Regex>,
    system: Option<String>,
}

/// A reply as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyConfig {
    #[serde(default, rename = "match")]
    condition: Condition,
    #[serde(default = "once")]
    times: u64,
    text: Option<String>,
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Vec<CallConfig>,
    structured: Option<Value>,
    error: Option<FaultCode>,
    chunks: Option<Vec<String>>,
    #[serde(default)]
    delay_ms: u64,
    usage: Option<UsageConfig>,
    finish: Option<FinishConfig>,
}

/// Why a scripted answer ends, where it is not because it is complete.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FinishConfig {
    #[default]
    Stop,
    Length,
    ContentFilter,
    Other,
}

impl From<FinishConfig> for Finish {
    fn from(finish: FinishConfig) -> Self {
        match finish {
            FinishConfig::Stop => Self::Stop,
            FinishConfig::Length => Self::Length,
            FinishConfig::ContentFilter => Self::ContentFilter,
            FinishConfig::Other => Self::Other,
        }
    }
}

const fn once() -> u64 {
    1
}

/// What must hold for a reply to be used: all that is given.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    node_id: Option<String>,
    agent: Option<String>,
    contains: Option<String>,
    regex: Option<String>,
    system_contains: Option<String>,
    has_tool: Option<String>,
    tool_result: Option<String>,
    structured: Option<bool>,
    call: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallConfig {
    name: String,
    #[serde(default)]
    arguments: Value,
    id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UsageConfig {
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: u64,
    cache_write_tokens: u64,
    reasoning_tokens: u64,
    #[serde(rename = "total_tokens")]
    _total: Option<u64>,
}

impl Script {
    /// A script from its JSON.
    pub fn parse(script: &Value) -> Result<Self, String> {
        let Value::Object(script) = script else { return Err("a script is an object".into()) };
        if let Some(unknown) = script.keys().find(|key| !matches!(key.as_str(), "replies" | "on_exhausted")) {
            return Err(format!("`{unknown}` is no key of a script"));
        }
        Ok(Self { replies: Self::replies(script)?, on_exhausted: Self::exhausted(script)? })
    }

    fn replies(script: &Map<String, Value>) -> Result<Vec<Reply>, String> {
        let none = Value::Array(Vec::new());
        let told = script.get("replies").unwrap_or(&none).as_array().ok_or("`replies` is a list")?;
        let replies = told.iter().enumerate();
        replies.map(|(at, reply)| Reply::parse(reply).map_err(|problem| format!("replies.{at}: {problem}"))).collect()
    }

    fn exhausted(script: &Map<String, Value>) -> Result<Exhausted, String> {
        let Some(told) = script.get("on_exhausted") else { return Ok(Exhausted::Fail) };
        Exhausted::deserialize(told).map_err(|_| "`on_exhausted` is `fail`, `repeat_last` or `echo`".into())
    }
}

impl Reply {
    fn parse(reply: &Value) -> Result<Self, String> {
        let config = ReplyConfig::deserialize(reply).map_err(|problem| problem.to_string())?;
        let answers = config.text.is_some() || config.chunks.is_some() || config.structured.is_some() || config.error.is_some();
        if !answers && config.tool_calls.is_empty() {
            return Err("one of `text`, `tool_calls`, `structured`, `error` is needed".into());
        }
        let regex = config.condition.regex.as_deref().map(Regex::new).transpose();
        let regex = regex.map_err(|problem| problem.to_string())?;
        let system = config.condition.system_contains.clone();
        Ok(Self { config, regex, system })
    }
}

/// The provider `script` with its models.
#[derive(Debug, Default)]
pub struct Scripts {
    models: BTreeMap<String, Script>,
}

impl Scripts {
    /// The models of `providers.script.scripts`.
    ///
    /// # Errors
    /// What is wrong with one of them, in words.
    pub fn parse(scripts: &Map<String, Value>) -> Result<Self, String> {
        let parse = |(model, script): (&String, &Value)| match Script::parse(script) {
            Ok(script) => Ok((model.clone(), script)),
            Err(problem) => Err(format!("providers.script.scripts.{model}: {problem}")),
        };
        Ok(Self { models: scripts.iter().map(parse).collect::<Result<_, _>>()? })
    }

    fn script(&self, model: &str) -> Option<&Script> {
        self.models.get(model).or_else(|| (model == "demo").then(demo::script).flatten())
    }

    async fn answer(&self, request: &ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
        let act = match self.script(&request.model) {
            Some(script) => script.choose(request)?,
            None if request.model == "echo" => play::Act::echo(request),
            None => {
                let text = format!("there is no script for model `{}`; configure `providers.script.scripts`", request.model);
                return Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text));
            }
        };
        if let Some(thought) = act.thought(request) {
            deltas(super::Delta::Reasoning(thought.to_owned()));
        }
        for piece in act.pieces(request.live) {
            if act.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(act.delay_ms)).await;
            }
            if request.live && !piece.is_empty() {
                deltas(super::Delta::Text(piece.to_owned()));
                tokio::task::coop::consume_budget().await;
            }
        }
        act.end(request)
    }
}

impl Provider for Scripts {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(self.answer(request, deltas))
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        let text = "the provider `script` makes no embeddings; use `hash`";
        Box::pin(async move { Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text)) })
    }
}
