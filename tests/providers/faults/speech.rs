//! Owns what each wire family says when all is well, frame by frame, and how it says that a filter stopped it.

use std::fmt;

use serde_json::{Value, json};

use super::carriers::{CARRIERS, Carrier};

/// A family under test: its provider and how its answers are framed.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    pub provider: &'static str,
    pub carrier: Carrier,
    lines: bool,
    /// Its last event is not the end: the stream itself ends with `[DONE]`.
    done: bool,
    frames: fn() -> Vec<Value>,
    whole: fn() -> Value,
    /// What its answer says instead when a filter stops it.
    filtered: Option<fn() -> Value>,
    /// An answer that asks for a tool with arguments that are no JSON; none where they are objects on the wire.
    broken_call: Option<fn() -> Value>,
}

/// Every family over every carrier.
pub fn everywhere() -> impl Iterator<Item = Family> {
    CARRIERS.into_iter().flat_map(|carrier| FAMILIES.map(|family| Family { carrier, ..family }))
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {:?}", self.provider, self.carrier)
    }
}

pub const FAMILIES: [Family; 6] = [OPENAI, RESPONSES, ANTHROPIC, GEMINI, OLLAMA, COHERE];

const OPENAI: Family = Family {
    provider: "openai",
    carrier: Carrier::Clear,
    lines: false,
    done: true,
    frames: || {
        let delta = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}], "usage": {"prompt_tokens": 5, "completion_tokens": 1}});
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        vec![delta("Hel"), delta("lo"), end, json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})]
    },
    whole: || {
        json!({"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
    },
    filtered: Some(|| json!({"choices": [{"message": {"content": ""}, "delta": {}, "finish_reason": "content_filter"}], "usage": {"prompt_tokens": 5, "completion_tokens": 1}})),
    broken_call: Some(|| {
        let call = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "calculate", "arguments": "{\"expression\": \"1"}});
        json!({"choices": [{"message": {"content": null, "tool_calls": [call]}, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
    }),
};

const RESPONSES: Family = Family {
    provider: "openai-responses",
    carrier: Carrier::Clear,
    lines: false,
    done: false,
    frames: || {
        let delta = |text: &str| json!({"type": "response.output_text.delta", "delta": text});
        vec![json!({"type": "response.created", "response": {"status": "in_progress"}}), delta("Hel"), delta("lo"),
            json!({"type": "response.completed", "response": (RESPONSES.whole)()})]
    },
    whole: || {
        json!({"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}],
            "usage": {"input_tokens": 5, "output_tokens": 2}})
    },
    filtered: Some(|| {
        let response = json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": [], "usage": {"input_tokens": 5, "output_tokens": 1}});
        json!({"type": "response.incomplete", "response": response, "output": [], "status": "incomplete",
            "incomplete_details": {"reason": "content_filter"}, "usage": {"input_tokens": 5, "output_tokens": 1}})
    }),
    broken_call: Some(|| {
        let call = json!({"type": "function_call", "call_id": "call_1", "name": "calculate", "arguments": "{\"expression\": \"1"});
        json!({"status": "completed", "output": [call], "usage": {"input_tokens": 5, "output_tokens": 2}})
    }),
};

const ANTHROPIC: Family = Family {
    provider: "anthropic",
    carrier: Carrier::Clear,
    lines: false,
    done: false,
    frames: || {
        let delta = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
        vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            delta("Hel"),
            delta("lo"),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ]
    },
    whole: || json!({"content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 2}}),
    filtered: Some(|| json!({"type": "message_delta", "delta": {"stop_reason": "refusal"}, "content": [], "stop_reason": "refusal", "usage": {"input_tokens": 5, "output_tokens": 1}})),
    // Streamed only: the input of a whole message is an object.
    broken_call: None,
};

const GEMINI: Family = Family {
    provider: "gemini",
    carrier: Carrier::Clear,
    lines: false,
    done: false,
    frames: || {
        let frame = |text: &str, reason: Option<&str>, count: u64| {
            json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}],
                "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": count}})
        };
        vec![frame("H", None, 1), frame("el", None, 1), frame("lo", Some("STOP"), 2)]
    },
    whole: || {
        json!({"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}})
    },
    filtered: Some(|| json!({"candidates": [{"finishReason": "SAFETY"}], "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 1}})),
    broken_call: None,
};

const OLLAMA: Family = Family {
    provider: "ollama",
    carrier: Carrier::Clear,
    lines: true,
    done: false,
    frames: || {
        let line = |text: &str| json!({"message": {"role": "assistant", "content": text}, "done": false});
        vec![line("H"), line("el"), line("lo"),
            json!({"message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2})]
    },
    whole: || json!({"message": {"content": "Hello"}, "done": true, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2}),
    filtered: None,
    broken_call: None,
};

const COHERE: Family = Family {
    provider: "cohere",
    carrier: Carrier::Clear,
    lines: false,
    done: false,
    frames: || {
        let delta = |text: &str| json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}});
        let usage = json!({"tokens": {"input_tokens": 5, "output_tokens": 2}});
        vec![json!({"type": "message-start"}), delta("Hel"), delta("lo"),
            json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": usage}})]
    },
    whole: || {
        json!({"message": {"content": [{"type": "text", "text": "Hello"}]}, "finish_reason": "COMPLETE",
            "usage": {"tokens": {"input_tokens": 5, "output_tokens": 2}}})
    },
    filtered: Some(|| {
        let usage = json!({"tokens": {"input_tokens": 5, "output_tokens": 1}});
        json!({"type": "message-end", "delta": {"finish_reason": "ERROR_TOXIC", "usage": usage}, "message": {"content": []},
            "finish_reason": "ERROR_TOXIC", "usage": usage})
    }),
    broken_call: Some(|| {
        let call = json!({"id": "call_1", "type": "function", "function": {"name": "calculate", "arguments": "{\"expression\": \"1"}});
        json!({"message": {"tool_calls": [call]}, "finish_reason": "TOOL_CALL", "usage": {"tokens": {"input_tokens": 5, "output_tokens": 2}}})
    }),
};

impl Family {
    /// A good answer: as frames, or as one value cut in two.
    pub fn good(self, stream: bool) -> Vec<String> {
        if stream { self.frames().iter().map(|frame| self.framed(frame)).chain(self.done.then(|| "data: [DONE]\n\n".to_owned())).collect() } else { halves(&(self.whole)()) }
    }

    fn frames(self) -> Vec<Value> {
        (self.frames)()
    }

    fn framed(self, frame: &Value) -> String {
        match (self.lines, frame.get("type").and_then(Value::as_str)) {
            (true, _) => format!("{frame}\n"),
            (false, Some(name)) => format!("event: {name}\ndata: {frame}\n\n"),
            (false, None) => format!("data: {frame}\n\n"),
        }
    }

    /// An answer that a filter stops.
    pub fn filtered(self, stream: bool) -> Option<Vec<String>> {
        let last = (self.filtered?)();
        let done = (stream && self.done).then(|| "data: [DONE]\n\n".to_owned());
        let closing = (stream && self.provider == "anthropic").then(|| self.framed(&json!({"type": "message_stop"})));
        let said = if stream { self.framed(&last) } else { last.to_string() };
        Some([said].into_iter().chain(closing).chain(done).collect())
    }

    /// An answer that asks for a tool in a broken way, whole.
    pub fn broken_call(self) -> Option<Vec<String>> {
        Some(vec![(self.broken_call?)().to_string()])
    }

    /// A frame that may come again and again: one that says a little.
    pub fn little(self) -> String {
        let frames = self.frames();
        let second = frames.iter().find(|frame| frame.to_string().contains("el"));
        self.framed(second.expect("a frame that says something"))
    }

    /// The beginning of a frame that never ends.
    pub fn endless_frame(self) -> String {
        if self.lines { "{\"message\": {\"content\": \"".into() } else { "data: {\"choices\": \"".into() }
    }

    /// So many pieces of a good answer tell why it ended: what is left says nothing more of it.
    pub fn is_complete(self, stream: bool, pieces: usize) -> bool {
        stream && matches!(self.provider, "openai" | "anthropic") && pieces == self.good(true).len() - 1
    }

    /// What has been reported once so many pieces of a good answer were read.
    pub fn reported(self, stream: bool, pieces: usize) -> (u64, u64) {
        let all = if stream { self.good(true).len() } else { 2 };
        match (stream, self.provider) {
            _ if pieces >= all => (5, 2),
            (true, "openai" | "anthropic" | "gemini") if pieces > 0 => {
                let late = match self.provider {
                    "openai" => 4,
                    "anthropic" => 5,
                    _ => 3,
                };
                (5, if pieces >= late { 2 } else { 1 })
            }
            _ => (0, 0),
        }
    }
}

fn halves(value: &Value) -> Vec<String> {
    let text = value.to_string();
    let (one, other) = text.split_at(text.len() / 2);
    vec![one.to_owned(), other.to_owned()]
}
