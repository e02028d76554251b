//! Owns the host of tests: tools that say what they do in their names, and a count of every call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use std::sync::Mutex;
use serde_json::{Value, json};
use studio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};

/// A host with a few tools.
#[derive(Clone, Default)]
pub struct Hands(Arc<Mutex<Made>>);

#[derive(Default)]
struct Made {
    calls: Vec<String>,
    /// By tool and its argument `id`.
    counts: HashMap<String, u64>,
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

    /// What it declares: `look`, `slow`, `stuck`, `fail`, `flaky` as they are; `pay` waits for approval; `again` is a slow one that may repeat.
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
        tools.extend([pay, tool("again", false, true)]);
        HostDeclaration { ops: vec![HostOp::ToolCall, HostOp::ToolCancel], tools, ..HostDeclaration::default() }
    }
}

impl Host for Hands {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let (name, arguments) = (call.payload["name"].as_str().unwrap_or_default().to_owned(), call.payload["arguments"].clone());
        if call.op == HostOp::ToolCancel {
            self.0.lock().expect("a lock").calls.push(format!("cancel {}", call.payload["call_id"]));
            return Box::pin(async { Ok(Value::Null) });
        }
        let before = self.take(&name, &arguments);
        Box::pin(async move {
            let number = |key: &str| arguments[key].as_u64().unwrap_or(0);
            match name.as_str() {
                "slow" | "again" => tokio::time::sleep(Duration::from_millis(number("ms"))).await,
                "stuck" => std::future::pending::<()>().await,
                "fail" => return Err(HostFailure("it is broken".into())),
                "flaky" if before < number("times") => return Err(HostFailure(format!("broken {}", before + 1))),
                _ => {}
            }
            Ok(json!({"did": name, "with": arguments}))
        })
    }
}
