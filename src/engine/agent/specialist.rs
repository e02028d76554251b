//! Owns Tool Mode: an agent that another agent calls like a tool, with its own instructions and tools, without memory.

use std::sync::Arc;
use std::time::Duration;

use crate::sync::Mutex;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::binding::{self, ToolTable};
use super::profile::Profile;
use super::prompt;
use super::structured::Shape;
use super::turns::{ConversationEnd, Scope, Speaker};
use crate::engine::drive::context::StepContext;
use crate::model::chat::ToolCall;
use crate::model::parts::File;
use crate::model::event::{Fault, FaultCode, ToolOutcome};
use crate::model::node::AgentNode;
use crate::model::plan::NodeIndex;
use crate::providers::ToolOffer;
use crate::tools::{BoundTool, OnCancel, Tool, ToolInvocation, ToolReply};

/// Specialists may call specialists this deep.
const DEPTH: u32 = 3;
/// A specialist is limited by its own calls, not as a whole.
const TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// An agent in Tool Mode, as its supervisor sees it.
pub(super) struct Specialist<'a> {
    pub(super) offer: ToolOffer,
    node: &'a AgentNode,
    at: NodeIndex,
    node_id: Arc<str>,
    depth: u32,
}

/// The specialist of a node; none when it exposes nothing.
pub(super) fn of<'a>(node: &'a AgentNode, at: NodeIndex, node_id: &Arc<str>, depth: u32) -> Option<Specialist<'a>> {
    let exposure = node.tool_exposure.as_ref().filter(|_| node.tool_mode)?;
    let offer = ToolOffer {
        name: exposure.slug.clone(),
        description: exposure.description.clone(),
        input_schema: binding::one_input(&exposure.input_description),
    };
    Some(Specialist { offer, node, at, node_id: Arc::clone(node_id), depth: depth + 1 })
}

/// Lets a specialist answer a call. Its own calls are recorded one by one, so that it may be entered again.
pub(super) fn answer<'a>(
    context: &'a StepContext,
    specialist: &'a Specialist<'_>,
    call: &'a ToolCall,
    parent: Option<&'a str>,
) -> BoxFuture<'a, Result<ToolOutcome, Fault>> {
    Box::pin(async move {
        let (begin, begun) = oneshot::channel();
        let (reply, replied) = oneshot::channel();
        let tool = specialist.bound(SpecialistCall(Mutex::new(Some((begin, replied)))));
        let mut recorded = std::pin::pin!(context.tool(call, &tool, parent));
        tokio::select! {
            biased;
            outcome = &mut recorded => return outcome,
            begun = begun => if begun.is_err() { return recorded.await },
        }
        let mut work = std::pin::pin!(specialist.work(context, call));
        tokio::select! {
            biased;
            outcome = &mut recorded => return outcome,
            // An interrupted one sends no reply; `recorded` says so.
            worked = &mut work => match worked {
                Ok(worked) => drop(reply.send(worked)),
                Err(_) => drop(reply),
            },
        }
        recorded.await
    })
}

/// The side of a specialist's call that the log sees: it says when the work may begin and waits for its end.
struct SpecialistCall(Mutex<Option<(oneshot::Sender<()>, oneshot::Receiver<ToolReply>)>>);

impl Tool for SpecialistCall {
    fn call(&self, _: ToolInvocation) -> BoxFuture<'static, ToolReply> {
        let ends = self.0.lock().take();
        Box::pin(async move {
            let Some((begin, replied)) = ends else { return ToolReply::error("the specialist is already at work") };
            if begin.send(()).is_err() {
                return ToolReply::error("the specialist was stopped");
            }
            replied.await.unwrap_or_else(|_| ToolReply::unanswered("the specialist was stopped"))
        })
    }

    /// Its own calls are cut with it, and end within their time.
    fn on_cancel(&self) -> OnCancel {
        OnCancel::Ends
    }
}

impl Specialist<'_> {
    fn bound(&self, specialist_call: SpecialistCall) -> BoundTool {
        BoundTool {
            offer: self.offer.clone(),
            require_approval: false,
            idempotent: true,
            timeout: TIMEOUT,
            fixed: Map::new(),
            config: Map::new(),
            tool: Arc::new(specialist_call),
        }
    }

    /// A failure is a result that the supervisor's model sees; only a cancel goes further.
    async fn work(&self, context: &StepContext, call: &ToolCall) -> Result<ToolReply, Fault> {
        match self.speak(context, call).await {
            Ok((text, stored)) => Ok(ToolReply { text, stored, ..ToolReply::default() }),
            Err(fault) if fault.code == FaultCode::Cancelled => Err(fault),
            Err(fault) => Ok(ToolReply::error(format!("{}: {}", fault.code.as_str(), fault.message))),
        }
    }

    async fn speak(&self, context: &StepContext, call: &ToolCall) -> Result<(String, Vec<File>), Fault> {
        if self.depth > DEPTH {
            return Err(Fault::new(FaultCode::NestingLimit, format!("specialists may call each other at most {DEPTH} deep")));
        }
        let profile = Profile::of_agent(context, self.node, &self.node_id)?;
        let shape = Shape::of_agent(context, self.node, &profile, false)?;
        let tools = ToolTable::of_agent(context, self.at, &profile, self.depth).await?;
        let input = call.arguments.get("input").and_then(Value::as_str).unwrap_or_default();
        let messages = context.prompt(&call.id, async { Ok(prompt::of_specialist(&profile, input)) }).await?;
        let scope = Scope::specialist(call.id.clone());
        let speaker = Speaker { context, profile: &profile, tools: &tools, shape: shape.as_ref(), scope };
        match speaker.talk(messages).await? {
            ConversationEnd::Answer(answer) => Ok((answer.text, File::made_in(&answer.messages))),
            ConversationEnd::Pause(_) => Err(Fault::new(FaultCode::Internal, "a specialist cannot wait for a person")),
        }
    }
}
