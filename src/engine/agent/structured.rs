//! Owns structured answers: their schema, their parsing, and one repair.

use serde_json::Value;

use super::profile::Profile;
use super::turns::{Conversation, Speaker, Turn};
use crate::engine::calls::ModelAnswer;
use crate::json;
use crate::engine::drive::context::StepContext;
use crate::model::chat::{Message, Role};
use crate::model::event::{Fault, FaultCode};
use crate::model::node::AgentNode;
use crate::providers::strict::without_added_nulls;
use crate::providers::Finish;
use crate::tools::schema::Schema;

/// What an answer must look like.
pub(in crate::engine) struct Shape {
    pub(super) schema: Value,
    compiled: Schema,
}

/// The schema that a node asks for: its own, else that of a name.
pub(in crate::engine) fn output_schema(context: &StepContext, schema: Option<&Value>, name: Option<&str>) -> Option<Value> {
    schema.cloned().or_else(|| context.definitions().schemas.get(name?).cloned())
}

impl Shape {
    /// The shape of a schema.
    pub(in crate::engine) fn new(schema: Option<Value>) -> Result<Self, Fault> {
        let unknown = || Fault::new(FaultCode::StructuredInvalid, "the node wants a structured answer but its schema is unknown");
        let schema = schema.ok_or_else(unknown)?;
        let compiled = Schema::compile(&schema)
            .map_err(|problem| Fault::new(FaultCode::StructuredInvalid, format!("the schema cannot be used: {problem}")))?;
        Ok(Self { schema, compiled })
    }

    /// The shape of an agent's answer; in a chat an agent's own schema is enough.
    pub(super) fn of_agent(context: &StepContext, node: &AgentNode, profile: &Profile, chat: bool) -> Result<Option<Self>, Fault> {
        let own = output_schema(context, node.schema.as_ref(), node.output_schema.as_deref());
        let schema = own.or_else(|| output_schema(context, profile.schema.as_ref(), profile.output_schema.as_deref()));
        if node.structured || (chat && schema.is_some()) { Self::new(schema).map(Some) } else { Ok(None) }
    }

    /// The value of an answer, repaired once by the model when it does not fit.
    pub(super) async fn settle(
        &self,
        speaker: &Speaker<'_>,
        number: u32,
        answer: ModelAnswer,
        conversation: &mut Conversation,
    ) -> Result<(Message, Value), Fault> {
        let problems = match self.read(&answer) {
            Ok(value) => return Ok((written(answer.message, &value), value)),
            Err(problems) => problems,
        };
        if answer.finish == Finish::ContentFilter {
            let text = "the provider's filter stopped the structured answer, which does not fit its schema";
            return Err(Fault { validation_errors: problems, ..Fault::new(FaultCode::ProviderContentFiltered, text) });
        }
        conversation.tell(Message { tool_calls: Vec::new(), ..answer.message });
        conversation.tell(Message::text(Role::User, repair(&problems)));
        let mut again = speaker.ask_within(number + 1, conversation, Turn::Repair).await?;
        if !again.message.tool_calls.is_empty() {
            // They are not made; the provider's own form of the message has them, too.
            again.message.blocks = None;
        }
        match self.read(&again) {
            Ok(value) => Ok((written(again.message, &value), value)),
            Err(problems) => {
                let text = "the answer does not fit the schema, not even after one repair";
                Err(Fault { validation_errors: problems, ..Fault::new(FaultCode::StructuredInvalid, text) })
            }
        }
    }

    fn read(&self, answer: &ModelAnswer) -> Result<Value, Vec<String>> {
        let value = match &answer.structured {
            Some(value) => value.clone(),
            None => parse(&answer.message.content).map_err(|problem| vec![problem])?,
        };
        let value = without_added_nulls(&self.schema, value);
        let problems = self.compiled.problems(&value);
        if problems.is_empty() { Ok(value) } else { Err(problems) }
    }
}

fn repair(problems: &[String]) -> String {
    format!("Your answer does not fit the JSON Schema:\n- {}\nAnswer again with the corrected JSON value and nothing else.", problems.join("\n- "))
}

/// The message with the value as its text.
fn written(message: Message, value: &Value) -> Message {
    Message { content: value.to_string(), tool_calls: Vec::new(), ..message }
}

/// JSON in a text: the whole of it, a fenced block, or from the first bracket to the last.
fn parse(text: &str) -> Result<Value, String> {
    let text = text.trim();
    let whole = json::read(text.as_bytes());
    let problem = match whole {
        Ok(value) => return Ok(value),
        Err(problem) => problem,
    };
    let inside = [fenced(text), between(text, '{', '}'), between(text, '[', ']')];
    let found = inside.into_iter().flatten().find_map(|part| json::read(part.as_bytes()).ok());
    found.ok_or_else(|| format!("the answer is not JSON: {problem}"))
}

fn fenced(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let (block, _) = after.split_once("```")?;
    Some(block.strip_prefix("json").unwrap_or(block).trim())
}

fn between(text: &str, open: char, close: char) -> Option<&str> {
    let (from, to) = (text.find(open)?, text.rfind(close)?);
    text.get(from..=to)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_in_what_models_write() {
        let table = [
            (r#"{"a":1}"#, Some(json!({"a": 1}))),
            (" 5 ", Some(json!(5))),
            ("Here:\n```json\n{\"a\": 1}\n```\nDone", Some(json!({"a": 1}))),
            ("```\n[1]\n```", Some(json!([1]))),
            ("The answer is {\"a\": [1]}.", Some(json!({"a": [1]}))),
            ("In {braces}: ```json\n{\"a\": 1}\n``` {done}", Some(json!({"a": 1}))),
            ("```\n\"text\"\n```", Some(json!("text"))),
            ("no", None),
            ("} {", None),
        ];
        for (text, wanted) in table {
            assert_eq!(parse(text).ok(), wanted, "{text}");
        }
    }
}
