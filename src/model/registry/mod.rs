//! Owns the facts of models: what each accepts and returns, its limits and its retirement, by provider kind and name.

mod table;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::table::Table;
pub(in crate::model) use self::table::without_region;
use super::Timestamp;

/// A kind of input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants are the values of the contract")]
pub enum Medium {
    Text,
    Image,
    Audio,
    Video,
    Pdf,
}

/// The kind of reasoning setting of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// It does not think.
    None,
    /// By an effort.
    Effort,
    /// By a number of tokens.
    Budget,
    /// It decides by itself, within an effort, and can be switched off.
    Adaptive,
    /// It always thinks.
    Always,
}

/// How a model receives the schema of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// By a JSON Schema.
    Schema,
    /// JSON of any form.
    Json,
    /// In words alone.
    None,
}

/// How the beginning of a prompt is kept at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// By the provider itself.
    Automatic,
    /// Up to where the request marks it.
    Marked,
    /// Not at all.
    None,
}

/// Declares a struct of facts that may be absent, and how one lies over another.
macro_rules! facts {
    ($($(#[$meta:meta])* $field:ident: $kind:ty,)*) => {
        /// What is known of a model; absent: nothing is known, so nothing is refused.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Facts {
            $($(#[$meta])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$kind>,)*
        }

        impl Facts {
            /// These facts, and those of another where these say nothing.
            #[must_use]
            pub fn over(&self, below: &Self) -> Self {
                Self { $($field: self.$field.clone().or_else(|| below.$field.clone()),)* }
            }
        }
    };
}

facts! {
    /// For people.
    label: String,
    /// Tokens of prompt and answer together, or of the prompt alone where it has a limit of its own.
    context_window: u64,
    /// Tokens of the longest answer, what it thinks included.
    max_output: u64,
    /// The limit of an answer where none is asked for and the interface wants one.
    usual_output: u64,
    /// What it reads.
    input: Vec<Medium>,
    /// What it makes.
    output: Vec<Medium>,
    /// The setting for the amount of reasoning.
    reasoning: Reasoning,
    /// The efforts that it knows.
    efforts: Vec<String>,
    /// It thinks even if no effort is set, and thinking can be switched off.
    thinks: bool,
    /// It takes `temperature` and `top_p`.
    sampling: bool,
    /// It takes texts that end the answer.
    stop: bool,
    /// It calls tools.
    tools: bool,
    /// A request can name the tool that it must call.
    tool_choice: bool,
    /// A request can say whether it may call several tools at once.
    parallel_tools: bool,
    /// How it receives the schema of its answer.
    structured: Structured,
    /// It gives such answers also while tools are offered.
    structured_with_tools: bool,
    /// How the beginning of a prompt is kept.
    cache: Cache,
    /// `YYYY-MM-DD`: from then on its end is announced.
    deprecated_at: String,
    /// `YYYY-MM-DD`: from then on it does not answer.
    retired_at: String,
    /// The model that takes its place.
    replacement: String,
}

const EVERYTHING: [Medium; 5] = [Medium::Text, Medium::Image, Medium::Audio, Medium::Video, Medium::Pdf];

impl Facts {
    /// It reads this.
    pub fn reads(&self, medium: Medium) -> bool {
        self.input.as_ref().is_none_or(|input| input.contains(&medium))
    }

    /// It is known to read this: of a model of which nothing is known, only that it reads text.
    pub fn is_known_to_read(&self, medium: Medium) -> bool {
        self.input.as_ref().map_or(medium == Medium::Text, |input| input.contains(&medium))
    }

    /// It is known to make such files.
    pub fn makes(&self, medium: Medium) -> bool {
        self.output.as_ref().is_some_and(|output| output.contains(&medium))
    }

    /// How it receives the schema of its answer.
    pub fn structured(&self) -> Structured {
        self.structured.unwrap_or(Structured::Schema)
    }

    /// It does not answer any more.
    pub fn is_retired(&self, now: Timestamp) -> bool {
        self.ends_before(now)
    }

    /// It does not answer at that time.
    pub fn ends_before(&self, time: Timestamp) -> bool {
        self.retired_at.as_deref().is_some_and(|day| day <= &time.rfc3339()[..DAY])
    }

    /// As model lists show it.
    pub fn json(&self) -> Map<String, Value> {
        let shown = json!({
            "context_window": self.context_window, "max_output": self.max_output,
            "input": self.input.as_deref().unwrap_or(&EVERYTHING), "output": self.output.as_deref().unwrap_or(&[Medium::Text]),
            "reasoning": self.reasoning.unwrap_or(Reasoning::None), "efforts": self.efforts.as_deref().unwrap_or_default(),
            "sampling": self.sampling.unwrap_or(true), "stop": self.stop.unwrap_or(true), "tools": self.tools.unwrap_or(true),
            "tool_choice": self.tool_choice.unwrap_or(true), "parallel_tools": self.parallel_tools.unwrap_or(true),
            "structured": self.structured(), "cache": self.cache.unwrap_or(Cache::None),
            "deprecated_at": self.deprecated_at, "retired_at": self.retired_at, "replacement": self.replacement,
        });
        if let Value::Object(shown) = shown { shown } else { Map::new() }
    }

    /// What it is known to do, in the words of `/api/providers`.
    pub fn capabilities(&self) -> Vec<&'static str> {
        let thinks = self.reasoning.is_some_and(|reasoning| reasoning != Reasoning::None);
        let known = [
            ("stream", true),
            ("tools", self.tools.unwrap_or(true)),
            ("structured", self.structured() == Structured::Schema),
            ("vision", self.is_known_to_read(Medium::Image)),
            ("audio", self.is_known_to_read(Medium::Audio)),
            ("reasoning", thinks),
        ];
        known.into_iter().filter_map(|(name, can)| can.then_some(name)).collect()
    }
}

/// Letters of a date.
const DAY: usize = "YYYY-MM-DD".len();

/// What was found for a name.
#[derive(Clone, Debug)]
pub struct Found {
    /// The facts.
    pub facts: Arc<Facts>,
    /// The table has the model, or one whose name begins like it.
    pub is_known: bool,
}

static BUNDLED: LazyLock<Table> = LazyLock::new(Table::bundled);

/// What the bundled table has for a model of a kind of provider: the row of its name, else of the longest name that it begins with,
/// else what all models of the kind have in common.
pub fn find(kind: &str, model: &str) -> Found {
    BUNDLED.find(kind, model)
}

/// The models of a kind of provider, by name.
pub fn models(kind: &str) -> impl Iterator<Item = (&'static str, &'static Arc<Facts>)> {
    BUNDLED.models(kind)
}

/// The day of the bundled table, `YYYY-MM-DD`.
pub fn updated() -> &'static str {
    &BUNDLED.updated
}

/// The kinds whose models are known.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    BUNDLED.kinds.keys().map(String::as_str)
}
