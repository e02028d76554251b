//! Owns the conversation that is held with each provider: two turns of an agent that looks at a picture, calculates, thinks and answers by a schema.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::engine::{Follow, From};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Resource, Scope, Studio, TraceQuery, Upload};

/// 64 times 64 red pixels.
const PICTURE: &[u8] = include_bytes!("red.png");

/// What is asked, and the right result.
const TURNS: [(&str, u64); 2] = [
    ("Which colour has the picture? And what is 1234 * 5678? Use the tool, do not calculate yourself.", 7_006_652),
    ("The same picture. Now add 1 to that product, with the tool again.", 7_006_653),
];

/// What each turn came to, and what all of it cost where that is known. A turn that failed is the last one.
pub async fn converse(provider: &str, model: &str, settings: &Value) -> Result<(Value, Option<f64>), String> {
    let config = Config::load(ConfigSources { file: None, json: Some(settings.clone()), env: BTreeMap::new() }).map_err(|error| error.to_string())?;
    let (studio, scope) = (Studio::open(config).map_err(|error| error.to_string())?, Scope::default());
    let schema = json!({
        "type": "object", "required": ["colour", "result"], "additionalProperties": false,
        "properties": {"colour": {"enum": ["red", "green", "blue"]}, "result": {"type": "integer"}},
    });
    let agent = json!({
        "name": "Live", "provider": provider, "model": model, "instructions": "You answer briefly and exactly.", "schema": schema,
        "tools": [{"ref": "toolkit:calculator"}], "parameters": {"reasoning_effort": "low", "max_tokens": 4000}, "tool_max_runs": 6,
    });
    let stored = studio.create(&scope, Resource::Agent, &agent).await.map_err(|error| format!("{error} {:?}", error.members))?;
    let agent = stored["id"].as_str().ok_or("no id")?.to_owned();
    let upload = Upload { name: Some("picture.png".into()), mime_type: None, kind: None, bytes: Bytes::from_static(PICTURE) };
    let file = studio.upload(&scope, upload).await.map_err(|error| error.to_string())?;
    let mut body = json!({"message": TURNS[0].0, "attachments": [{"type": file["type"], "storage_key": file["storage_key"]}]});
    let (mut outcome, mut cost) = (Vec::new(), Some(0.0));
    for (_, right) in TURNS {
        let trace = turn(&studio, &scope, &agent, &body).await.map_err(|error| error.to_string())?;
        let head = &trace["trace"];
        cost = cost.zip(number(&head["estimated_cost"]).filter(|_| head["unpriced"] != true)).map(|(sum, cost)| sum + cost);
        outcome.push(facts(&trace, right));
        if head["status"] != "completed" {
            break;
        }
        body = json!({"message": TURNS[1].0, "thread_id": head["thread_id"]});
    }
    Ok((Value::Array(outcome), cost))
}

async fn turn(studio: &Studio, scope: &Scope, agent: &str, body: &Value) -> wfstudio::Result<Value> {
    let request = RunRequest::parse(body, EntityKind::Agent)?;
    let started = studio.start(scope, EntityKind::Agent, agent, request, false).await?;
    let (run, from) = (started.run.to_string(), From { after: started.after, ..From::default() });
    if let Some(mut told) = studio.events(scope, &run, from, Follow::Answer).await? {
        while told.next_batch().await.is_some() {}
    }
    studio.trace(scope, &run, TraceQuery { messages: true, ..TraceQuery::default() }).await
}

/// A number, also as text.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// What a conversation comes to whenever it is replayed; prices may change meanwhile.
fn facts(trace: &Value, right: u64) -> Value {
    let (head, spans) = (&trace["trace"], trace["spans"].as_array().map(Vec::as_slice).unwrap_or_default());
    let answer = &head["output"]["agent_response"];
    let steps: Vec<Value> = spans.iter().map(|span| {
        let names = ["type", "name", "finish", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "error"];
        let kept = names.into_iter().filter(|name| !span[*name].is_null()).map(|name| (name.to_owned(), span[name].clone()));
        Value::Object(kept.collect())
    }).collect();
    json!({
        "error": head["error"], "answer": answer, "right": answer["result"] == right && answer["colour"] == "red",
        "thought": spans.iter().any(|span| span.to_string().contains("\"reasoning\"")),
        "prompt_tokens": head["prompt_tokens"], "completion_tokens": head["completion_tokens"], "steps": steps,
    })
}
