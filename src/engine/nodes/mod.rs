//! Owns what each type of node does: those with calls in files of their own (`agent`: `engine/agent`), all others but `human` and `fork` in `pure.rs`.

pub mod llm;
pub mod mcp;
pub(in crate::engine) mod pure;
pub mod tool;
pub mod rag;

use crate::engine::agent;
use crate::engine::drive::context::{StepContext, StepResult};
use crate::model::event::{Fault, FaultCode};
use crate::model::node::Node;

/// Runs the node that a step is of.
pub(super) async fn run(context: &StepContext) -> StepResult {
    match &context.node().node {
        Node::Agent(node) => Box::pin(agent::run(context, node)).await,
        Node::Llm(node) => Box::pin(llm::run(context, node)).await,
        Node::Tool(node) => Box::pin(tool::run(context, node)).await,
        Node::Rag(node) => Box::pin(rag::run(context, node)).await,
        Node::Mcp(node) => Box::pin(mcp::run(context, node)).await,
        Node::Start
        | Node::Stop(_)
        | Node::Human(_)
        | Node::Fork(_)
        | Node::Join(_)
        | Node::Loop(_)
        | Node::SetState(_)
        | Node::Condition(_)
        | Node::Note => Err(Fault::new(FaultCode::Internal, "this node needs nothing from the world")),
    }
}
