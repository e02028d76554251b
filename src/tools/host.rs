//! Owns the tools of the host.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{BoundTool, OnCancel, Tool, ToolInvocation, ToolReply, ToolSource, Wanted, parts};
use crate::host::{HostDoor, HostFailure, HostOp, HostTool, TAKEN, within};
use crate::model::event::{Fault, FaultCode};
use crate::providers::ToolOffer;

/// How long the host may take to receive that a result is no longer wanted.
const CANCEL_LIMIT: Duration = Duration::from_secs(5);

/// The tools that the host declared.
pub struct HostTools {
    door: HostDoor,
    timeout: Duration,
}

impl HostTools {
    /// The host's tools, with the time that they may take unless they say otherwise.
    #[must_use]
    pub const fn new(door: HostDoor, timeout: Duration) -> Self {
        Self { door, timeout }
    }

    fn bound(&self, tool: &HostTool) -> BoundTool {
        let offer = ToolOffer {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
        };
        BoundTool {
            offer,
            require_approval: tool.require_approval,
            idempotent: tool.idempotent,
            timeout: tool.timeout_ms.map_or(self.timeout, Duration::from_millis),
            fixed: Map::new(),
            config: Map::new(),
            tool: Arc::new(HostCaller(self.door.clone())),
        }
    }
}

impl ToolSource for HostTools {
    fn scheme(&self) -> &'static str {
        "host"
    }

    fn bind<'a>(&'a self, wanted: Wanted<'a>) -> BoxFuture<'a, Result<Vec<BoundTool>, Fault>> {
        let declaration = self.door.declaration();
        let found = declaration.tools.iter().filter(|tool| tool.name == wanted.key).map(|tool| self.bound(tool));
        let found = found.collect();
        Box::pin(async move { Ok(found) })
    }
}

struct HostCaller(HostDoor);

impl Tool for HostCaller {
    fn call(&self, call: ToolInvocation) -> BoxFuture<'static, ToolReply> {
        let door = self.0.clone();
        Box::pin(async move {
            let mut pending = PendingCall { door: door.clone(), payload: Some(json!({"call_id": call.call_id, "trace_id": call.run})) };
            let mut payload = json!({
                "name": call.name, "arguments": call.arguments, "call_id": call.call_id, "idempotency_key": call.idempotency_key(),
                "trace_id": call.run, "node_id": call.node_id, "tenant": call.tenant, "user": call.user,
            });
            for (name, value) in call.trace.iter().flat_map(|trace| trace.members()) {
                payload[name] = value.into();
            }
            let mut asked = std::pin::pin!(tokio::time::timeout(call.timeout, door.call_streaming(HostOp::ToolCall, within(payload, call.timeout), None)));
            let asked = tokio::select! {
                biased;
                asked = &mut asked => asked,
                () = call.cancelled.cancelled() => {
                    let cancel = pending.payload.take();
                    tokio::select! {
                        biased;
                        asked = &mut asked => asked,
                        taken = tell_cancel(&door, cancel) => if taken { asked.await } else { return not_taken() },
                    }
                }
            };
            let Ok(answer) = asked else {
                let text = format!("the host did not answer within {} ms", call.timeout.as_millis());
                return if tell_cancel(&door, pending.payload.take()).await { ToolReply::unanswered(text) } else { not_fetched(&text) };
            };
            pending.payload = None;
            match answer {
                Ok(value) => parts::reply(&value),
                Err(HostFailure { message, may_have_run: true }) => ToolReply::unanswered(message),
                Err(HostFailure { message, may_have_run: false }) => ToolReply::error(message),
            }
        })
    }

    /// The host receives the cancel, and answers what it did.
    fn on_cancel(&self) -> OnCancel {
        OnCancel::Answers
    }
}

/// Tells the host that a call is to end. False when the host had not taken the call, and never will.
async fn tell_cancel(door: &HostDoor, payload: Option<Value>) -> bool {
    let Some(payload) = payload.filter(|_| door.answers(HostOp::ToolCancel)) else { return true };
    let told = door.call(HostOp::ToolCancel, payload, CANCEL_LIMIT);
    told.await.ok().and_then(|told| told.get(TAKEN)?.as_bool()).unwrap_or(true)
}

fn not_fetched(text: &str) -> ToolReply {
    ToolReply::undone(Fault::new(FaultCode::ToolFailed, format!("{text}: no process of the host fetched the call, so it did not run")))
}

fn not_taken() -> ToolReply {
    ToolReply::undone(Fault::new(FaultCode::Cancelled, "the call was cancelled before the host took it; it did not run"))
}

/// Exists as long as a result is wanted. If it is dropped earlier, the host receives the cancel.
struct PendingCall {
    door: HostDoor,
    /// What the host receives then.
    payload: Option<Value>,
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        let Some(payload) = self.payload.take().filter(|_| self.door.answers(HostOp::ToolCancel)) else { return };
        let door = self.door.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { door.call(HostOp::ToolCancel, payload, CANCEL_LIMIT).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Host, HostCall, HostDeclaration};
    use crate::model::Id;

    struct Recorder(Arc<crate::sync::Mutex<Vec<String>>>);

    impl Host for Recorder {
        fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
            self.0.lock().push(format!("{} {}", call.op.as_str(), call.payload["call_id"]));
            Box::pin(async move {
                match call.payload["name"].as_str() {
                    Some("slow") => std::future::pending().await,
                    Some("bad") => Err(HostFailure::new("broken")),
                    _ => Ok(json!({"order": call.payload["arguments"]["id"]})),
                }
            })
        }
    }

    fn invocation(name: &str) -> ToolInvocation {
        ToolInvocation {
            name: name.into(),
            arguments: json!({"id": 7}),
            call_id: "c1".into(),
            run: Id::v7(1, 2, 3),
            node_id: "n".into(),
            tenant: "".into(),
            user: None,
            config: Map::new(),
            timeout: Duration::from_millis(20),
            asking: crate::tools::Asking::Never,
            trace: None,
            spent: crate::tools::SpentList::default(),
            cancelled: tokio_util::sync::CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn the_host_answers_fails_or_is_told_that_it_is_too_late() {
        let told = Arc::new(crate::sync::Mutex::new(Vec::new()));
        let door = HostDoor::default();
        let ops = vec![HostOp::ToolCall, HostOp::ToolCancel];
        door.set(Arc::new(Recorder(told.clone())), HostDeclaration { ops, ..HostDeclaration::default() });
        let caller = HostCaller(door);
        assert_eq!(caller.call(invocation("good")).await, ToolReply { text: r#"{"order":7}"#.into(), ..ToolReply::default() });
        assert!(!told.lock().iter().any(|call| call.starts_with("tool.cancel")));
        assert_eq!(caller.call(invocation("bad")).await, ToolReply::error("broken"));
        let slow = caller.call(invocation("slow")).await;
        assert!(slow.is_error && slow.text.contains("within 20 ms"), "{}", slow.text);
        tokio::task::yield_now().await;
        assert_eq!(*told.lock(), ["tool.call \"c1\"", "tool.call \"c1\"", "tool.call \"c1\"", "tool.cancel \"c1\""]);
    }

    struct Deaf;

    impl Host for Deaf {
        fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
            Box::pin(async move { if call.op == HostOp::ToolCancel { Ok(json!({ TAKEN: false })) } else { std::future::pending().await } })
        }
    }

    #[tokio::test]
    async fn a_call_that_nobody_fetched_in_its_time_did_not_run() {
        let door = HostDoor::default();
        let ops = vec![HostOp::ToolCall, HostOp::ToolCancel];
        door.set(Arc::new(Deaf), HostDeclaration { ops, ..HostDeclaration::default() });
        let reply = HostCaller(door).call(invocation("slow")).await;
        assert_eq!((reply.undone, reply.unanswered), (Some(FaultCode::ToolFailed), false), "{}", reply.text);
        assert!(reply.text.contains("did not run"), "{}", reply.text);
    }
}
