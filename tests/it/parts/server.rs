//! Servers that think: what each family sends while its model thinks, calls a tool and answers, as its reference says.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::support::Bench;

/// A family: its frames for `One and one.` with a call, and for `Two it is.` with an answer.
pub struct Family {
    pub kind: &'static str,
    pub model: &'static str,
    calls: &'static [&'static str],
    ends: &'static [&'static str],
    /// What the request after the call must hold once.
    pub sent_back: &'static [&'static str],
    /// What only the provider can read.
    pub never_shown: &'static [&'static str],
}

const CHAT: [&[&str]; 2] = [
    &[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"One and "}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"one."}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"calculate","arguments":"{\"expression\":\"1+1\"}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":8}}"#,
        "[DONE]",
    ],
    &[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Two it is."}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"It is 2."}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":8}}"#,
        "[DONE]",
    ],
];

const ITEMS: [&[&str]; 2] = [
    &[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"One and one."}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"One and one."}],"encrypted_content":"gAAA-one"}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"calculate","arguments":""}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"calculate","arguments":"{\"expression\":\"1+1\"}","status":"completed"}}"#,
        r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":8}}}"#,
    ],
    &[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_2","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_2","output_index":0,"summary_index":0,"delta":"Two it is."}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"Two it is."}],"encrypted_content":"gAAA-two"}}"#,
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"delta":"It is 2."}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"It is 2."}],"status":"completed"}}"#,
        r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":19,"output_tokens":8}}}"#,
    ],
];

const BLOCKS: [&[&str]; 2] = [
    &[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"One and "}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"one."}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB-sig"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwK-hidden"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"calculate","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"expression\":\"1+1\"}"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":8}}"#,
        r#"{"type":"message_stop"}"#,
    ],
    &[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":19,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two it is."}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB-end"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"It is 2."}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":8}}"#,
        r#"{"type":"message_stop"}"#,
    ],
];

pub const FAMILIES: &[Family] = &[
    Family { kind: "deepseek", model: "deepseek-v4-flash", calls: CHAT[0], ends: CHAT[1], sent_back: &[r#""reasoning_content":"One and one.""#], never_shown: &[] },
    Family {
        kind: "openai-responses",
        model: "gpt-5.2",
        calls: ITEMS[0],
        ends: ITEMS[1],
        sent_back: &["gAAA-one", "rs_1"],
        never_shown: &["gAAA-one", "gAAA-two"],
    },
    Family {
        kind: "anthropic",
        model: "claude-opus-5",
        calls: BLOCKS[0],
        ends: BLOCKS[1],
        sent_back: &["One and one.", "EqQB-sig", "EmwK-hidden"],
        never_shown: &["EqQB", "EmwK"],
    },
    Family {
        kind: "gemini",
        model: "gemini-3-flash-preview",
        calls: &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"One and one.","thought":true}]}}]}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"calculate","args":{"expression":"1+1"}},"thoughtSignature":"CiQB-sig"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":4,"thoughtsTokenCount":4}}"#,
        ],
        ends: &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Two it is.","thought":true}]}}]}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"It is 2."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":19,"candidatesTokenCount":4,"thoughtsTokenCount":4}}"#,
        ],
        sent_back: &["CiQB-sig", "One and one."],
        never_shown: &["CiQB"],
    },
    Family {
        kind: "ollama",
        model: "qwen3",
        calls: &[
            r#"{"message":{"role":"assistant","content":"","thinking":"One and one."},"done":false}"#,
            r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"calculate","arguments":{"expression":"1+1"}}}]},"done":false}"#,
            r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":8}"#,
        ],
        ends: &[
            r#"{"message":{"role":"assistant","content":"","thinking":"Two it is."},"done":false}"#,
            r#"{"message":{"role":"assistant","content":"It is 2."},"done":true,"done_reason":"stop","prompt_eval_count":19,"eval_count":8}"#,
        ],
        sent_back: &[r#""thinking":"One and one.""#],
        never_shown: &[],
    },
    Family {
        kind: "mistral",
        model: "magistral-medium-latest",
        calls: &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"One and one."}]}]}}]}"#,
            CHAT[0][2],
            CHAT[0][3],
            CHAT[0][4],
        ],
        ends: &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Two it is."}]}]}}]}"#,
            CHAT[1][1],
            CHAT[1][2],
            CHAT[1][3],
        ],
        sent_back: &[r#""thinking":[{"#],
        never_shown: &[],
    },
    Family {
        kind: "openrouter",
        model: "anthropic/claude-sonnet-4.5",
        calls: &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","reasoning":"One and one.","reasoning_details":[{"type":"reasoning.text","text":"One and one.","format":"anthropic-claude-v1","index":0}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"EqQB-router","format":"anthropic-claude-v1","index":0}]}}]}"#,
            CHAT[0][2],
            CHAT[0][3],
            CHAT[0][4],
        ],
        ends: &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","reasoning":"Two it is.","reasoning_details":[{"type":"reasoning.text","text":"Two it is.","index":0}]}}]}"#,
            CHAT[1][1],
            CHAT[1][2],
            CHAT[1][3],
        ],
        sent_back: &["EqQB-router", r#""text":"One and one.""#],
        never_shown: &["EqQB-router"],
    },
];

/// One that names its sources, the first one twice.
pub static CITING: Family = Family {
    kind: "openrouter",
    model: "openai/gpt-4o",
    calls: &[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","annotations":[{"type":"url_citation","url_citation":{"url":"https://a.example/one","title":"One"}},{"type":"url_citation","url_citation":{"url":"javascript:alert(1)","title":"No"}}]}}]}"#,
        CHAT[0][2],
        CHAT[0][3],
        CHAT[0][4],
    ],
    ends: &[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"It is 2.","annotations":[{"type":"url_citation","url_citation":{"url":"https://a.example/one","title":"One"}},{"type":"url_citation","url_citation":{"url":"https://b.example/two","title":"Two"}}]}}]}"#,
        CHAT[1][2],
        CHAT[1][3],
    ],
    sent_back: &[],
    never_shown: &[],
};

/// A picture of one dot.
pub const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Families whose models make pictures; `PICTURE` stands for one.
pub const PAINTERS: &[Family] = &[
    Family {
        kind: "gemini",
        model: "gemini-3-pro-image-preview",
        calls: &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"ZHJhZnQ="},"thought":true},{"text":"A dot."}]}}]}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"PICTURE"},"thoughtSignature":"CiQB-dot"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1290}}"#,
        ],
        ends: &[],
        sent_back: &["CiQB-dot", "A dot.", r#""role":"model""#],
        never_shown: &[],
    },
    Family {
        kind: "openai-responses",
        model: "gpt-5.2",
        calls: &[
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"image_generation_call","id":"ig_1","status":"in_progress"}}"#,
            r#"{"type":"response.image_generation_call.partial_image","item_id":"ig_1","output_index":0,"partial_image_index":0,"partial_image_b64":"ZHJhZnQ="}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"image_generation_call","id":"ig_1","status":"completed","output_format":"png","revised_prompt":"A dot","result":"PICTURE"}}"#,
            r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":8}}}"#,
        ],
        ends: &[],
        sent_back: &["ig_1", "image_generation_call"],
        never_shown: &[],
    },
    Family {
        kind: "openrouter",
        model: "google/gemini-2.5-flash-image",
        calls: &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"A dot."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"images":[{"type":"image_url","index":0,"image_url":{"url":"data:image/png;base64,PICTURE"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"images":[{"type":"image_url","index":0,"image_url":{"url":"data:image/png;base64,PICTURE"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":8}}"#,
            "[DONE]",
        ],
        ends: &[],
        sent_back: &["A dot.", r#""type":"image_url""#],
        never_shown: &[],
    },
];

/// A server of a family: it calls a tool until it has a result.
#[derive(Clone)]
pub struct Server {
    family: &'static Family,
    url: String,
    said: [String; 2],
    refuses: Option<(&'static str, &'static str)>,
    seen: Arc<Mutex<Vec<String>>>,
    /// The requests that it refused.
    pub refused: Arc<AtomicUsize>,
}

impl Server {
    pub async fn start(family: &'static Family) -> Self {
        Self::thinking(family, "One and one.", "Two it is.").await
    }

    /// One that thinks something else; as it stands in JSON.
    pub async fn thinking(family: &'static Family, first: &str, last: &str) -> Self {
        Self::serve(family, [first.to_owned(), last.to_owned()], None).await
    }

    /// One that refuses requests that hold something.
    pub async fn refusing(family: &'static Family, what: &'static str, why: &'static str) -> Self {
        Self::serve(family, ["One and one.".to_owned(), "Two it is.".to_owned()], Some((what, why))).await
    }

    async fn serve(family: &'static Family, said: [String; 2], refuses: Option<(&'static str, &'static str)>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Self { family, url, said, refuses, seen: Arc::default(), refused: Arc::default() };
        let router = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    pub fn provider(&self) -> Value {
        let base = if matches!(self.family.kind, "deepseek" | "mistral" | "openrouter") { format!("{}/v1", self.url) } else { self.url.clone() };
        json!({"kind": self.family.kind, "base_url": base, "credential": "secret:KEY"})
    }

    fn settings(&self, more: Value) -> Value {
        let mut settings = json!({"secrets": {"KEY": "a-key-of-ours"}, "providers": {"work": self.provider()}});
        crate::support::merge(&mut settings, more);
        settings
    }

    /// A studio whose provider `work` is this server.
    pub fn bench(&self, more: Value) -> Bench {
        Bench::new(self.settings(more))
    }

    pub fn on_disk(&self, folder: &Path) -> Bench {
        self.on_disk_with(folder, json!({}))
    }

    pub fn on_disk_with(&self, folder: &Path, more: Value) -> Bench {
        Bench::on_disk(self.settings(more), folder)
    }

    /// The requests that it answered.
    pub fn asked(&self) -> Vec<String> {
        self.seen.lock().expect("seen").clone()
    }
}

async fn answer(State(server): State<Server>, body: Bytes) -> Response {
    let text = String::from_utf8(body.to_vec()).expect("text");
    if let Some((_, why)) = server.refuses.filter(|(what, _)| text.contains(what)) {
        server.refused.fetch_add(1, Ordering::SeqCst);
        let error = json!({"error": {"message": why, "type": "invalid_request_error", "param": "reasoning.summary", "code": "unsupported_value"}});
        return (StatusCode::BAD_REQUEST, error.to_string()).into_response();
    }
    let has_result = ["\"role\":\"tool\"", "function_call_output", "tool_result", "functionResponse"].iter().any(|mark| text.contains(mark));
    server.seen.lock().expect("seen").push(text);
    let frames = if has_result { server.family.ends } else { server.family.calls };
    let lines = server.family.kind == "ollama";
    let told = frames.iter().map(|frame| if lines { format!("{frame}\n") } else { format!("data: {frame}\n\n") }).collect::<String>();
    let told = told.replace("PICTURE", PICTURE);
    let told = told.replace("One and one.", &server.said[0]).replace("Two it is.", &server.said[1]);
    // Thoughts that come in pieces.
    let told = if server.said[0] == "One and one." { told } else { told.replace("One and ", "").replace("\"one.\"", &format!("\"{}\"", server.said[0])) };
    let kind = if lines { "application/x-ndjson" } else { "text/event-stream" };
    ([(header::CONTENT_TYPE, kind)], told).into_response()
}
