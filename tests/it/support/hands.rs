//! Owns the host of tests: tools that say what they do in their names, and a count of every call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use std::sync::Mutex;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};

/// A host with a few tools.
#[derive(Clone, Default)]
pub struct Hands(Arc<Mutex<Made>>);

#[derive(Default)]
struct Made {
    calls: Vec<String>,
    /// By tool and its argument `id`.
    counts: HashMap<String, u64>,
    /// Calls of `heed` that were told to end.
    ended: Vec<Value>,
}

impl Hands {
    /// Every call so far: `name arguments`.
    pub fn calls(&self) -> Vec<String> {
        self.0.lock().expect("a lock").calls.clone()
    }

    /// How many calls there were before this one.
    fn take(&self, name: &str, arguments: &Value) -> u64 {
        let mut made = self.0.lock().expect("a lock");
        made.calls.push(format!("{name} {arguments}"));
        let count = made.counts.entry(format!("{name} {}", arguments["id"])).or_default();
        *count += 1;
        *count - 1
    }

    /// What it declares: `look`, `slow`, `stuck`, `fail`, `flaky` as they are; `pay` waits for approval; `again` is a slow one that may repeat; `heed` answers only when it is
    /// cancelled, `late` never in its time.
    pub fn declaration() -> HostDeclaration {
        let tool = |name: &str, require_approval, idempotent| HostTool {
            name: name.into(),
            description: format!("The tool {name}"),
            input_schema: json!({"type": "object"}),
            require_approval,
            idempotent,
            timeout_ms: None,
        };
        let mut pay = tool("pay", true, false);
        pay.input_schema = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": false});
        let names = ["look", "slow", "stuck", "fail", "flaky"];
        let mut tools: Vec<HostTool> = names.into_iter().map(|name| tool(name, false, false)).collect();
        let late = HostTool { timeout_ms: Some(50), ..tool("late", false, false) };
        tools.extend([pay, tool("again", false, true), tool("heed", false, false), late]);
        HostDeclaration { ops: vec![HostOp::ToolCall, HostOp::ToolCancel], tools, ..HostDeclaration::default() }
    }
}

impl Host for Hands {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let (name, arguments) = (call.payload["name"].as_str().unwrap_or_default().to_owned(), call.payload["arguments"].clone());
        if call.op == HostOp::ToolCancel {
            let mut made = self.0.lock().expect("a lock");
            made.calls.push(format!("cancel {}", call.payload["call_id"]));
            made.ended.push(call.payload["call_id"].clone());
            return Box::pin(async { Ok(Value::Null) });
        }
        let before = self.take(&name, &arguments);
        let (made, call_id) = (Arc::clone(&self.0), call.payload["call_id"].clone());
        Box::pin(async move {
            let number = |key: &str| arguments[key].as_u64().unwrap_or(0);
            match name.as_str() {
                "slow" | "again" => tokio::time::sleep(Duration::from_millis(number("ms"))).await,
                "heed" => {
                    while !made.lock().expect("a lock").ended.contains(&call_id) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    return Ok(json!("undone"));
                }
                "stuck" | "late" => std::future::pending::<()>().await,
                "fail" => return Err(HostFailure::new("it is broken")),
                "flaky" if before < number("times") => return Err(HostFailure::new(format!("broken {}", before + 1))),
                _ => {}
            }
            Ok(json!({"did": name, "with": arguments}))
        })
    }
}
