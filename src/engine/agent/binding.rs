//! Owns the tools of one agent: those of its references, of `tools` edges, and the specialists of Tool Mode.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::find_tools::{self, FIND_TOOLS};
use super::profile::Profile;
use super::specialist::{self, Specialist};
use crate::engine::drive::context::StepContext;
use crate::model::agent::{ToolChoice, ToolRef};
use crate::model::chat::ToolCall;
use crate::model::event::{CallServer, Fault, FaultCode};
use crate::model::node::{McpNode, Node, ToolNode};
use crate::model::plan::NodeIndex;
use crate::providers::{NativeTool, ToolOffer};
use crate::tools::{BoundTool, NATIVE, Origin, names};

/// What a tool name stands for.
pub(super) enum Bound<'a> {
    Tool(Box<BoundTool>),
    /// An agent in Tool Mode.
    Specialist(Specialist<'a>),
}

impl Bound<'_> {
    pub(super) fn offer(&self) -> &ToolOffer {
        match self {
            Self::Tool(tool) => &tool.offer,
            Self::Specialist(specialist) => &specialist.offer,
        }
    }

    /// The server that a call of it is for, if it is one's.
    pub(super) fn server(&self) -> Option<CallServer> {
        let Self::Tool(tool) = self else { return None };
        let Origin { id, server, name } = tool.tool.origin()?;
        Some(CallServer { id: id.to_owned(), slug: server.to_owned(), tool: name.to_owned() })
    }

    /// The arguments that nobody fills in, if there are any.
    pub(super) fn fixed(&self) -> Option<&Map<String, Value>> {
        let Self::Tool(tool) = self else { return None };
        Some(&tool.fixed).filter(|fixed| !fixed.is_empty())
    }

    /// Nobody fills in this argument of it.
    pub(super) fn is_fixed(&self, argument: &str) -> bool {
        self.fixed().is_some_and(|fixed| fixed.contains_key(argument))
    }

    fn is_of(&self, server: &CallServer) -> bool {
        let Self::Tool(tool) = self else { return false };
        tool.tool.origin().is_some_and(|origin| origin.id == server.id && origin.name == server.tool)
    }
}

/// The tools of one agent, by the names that its model sees.
#[derive(Default)]
pub(in crate::engine) struct ToolTable<'a> {
    bound: Vec<Bound<'a>>,
    pub(super) native: Vec<NativeTool>,
    approves_all: bool,
    /// Offered in any case, where the model has to search for the others.
    always: HashSet<String>,
    searches: bool,
}

impl<'a> ToolTable<'a> {
    /// The tools of the agent at a node, `depth` specialists deep.
    pub(super) async fn of_agent(context: &'a StepContext, at: NodeIndex, profile: &Profile, depth: u32) -> Result<Self, Fault> {
        let mut table = Self { approves_all: profile.approves_all, ..Self::default() };
        let mut found = Vec::new();
        for reference in &profile.tools {
            match reference.reference.strip_prefix(NATIVE) {
                Some(kind) => table.native.push(NativeTool { kind: kind.to_owned(), config: reference.config.clone() }),
                None => found.extend(bind(context, reference).await?.into_iter().map(|tool| (tool, reference.always))),
            }
        }
        for source in context.plan().tool_bindings(at) {
            let source_node = context.plan().node(*source);
            match &source_node.node {
                Node::Tool(node) => found.extend(bind_tool_node(context, node).await?.into_iter().map(|tool| (tool, node.always))),
                Node::Mcp(node) => found.extend(bind_mcp_node(context, node).await?.into_iter().map(|tool| (tool, node.always))),
                Node::Agent(node) => {
                    let specialist = specialist::of(node, *source, &source_node.id, depth);
                    table.bound.extend(specialist.map(Bound::Specialist));
                }
                Node::Start
                | Node::Stop(_)
                | Node::Llm(_)
                | Node::Rag(_)
                | Node::Human(_)
                | Node::Fork(_)
                | Node::Join(_)
                | Node::Loop(_)
                | Node::SetState(_)
                | Node::Condition(_)
                | Node::Note => {}
            }
        }
        table.take(found);
        if table.bound.len() > context.world().config.tools.offered_max {
            table.hide(profile.parameters.tool_choice.as_ref());
        }
        Ok(table)
    }

    /// The model is offered the search tool and the tools with `always`; it finds the others. The name of the search tool is reserved.
    fn hide(&mut self, choice: Option<&ToolChoice>) {
        self.bound.retain(|bound| bound.offer().name != FIND_TOOLS);
        let search = find_tools::tool(self.bound.iter().map(Bound::offer));
        self.bound.push(Bound::Tool(Box::new(search)));
        self.always.insert(FIND_TOOLS.to_owned());
        if let Some(ToolChoice::Tool(name)) = choice {
            self.always.insert(name.clone());
        }
        self.searches = true;
    }

    /// The model has to search for most of its tools.
    pub(super) const fn searches(&self) -> bool {
        self.searches
    }

    fn is_always(&self, bound: &Bound<'_>) -> bool {
        !self.searches || matches!(bound, Bound::Specialist(_)) || self.always.contains(&bound.offer().name)
    }

    /// Two tools of one name: those of MCP servers get their server's slug before it; of others the first stays. The same tool once more adds its
    /// conditions to it.
    fn take(&mut self, found: Vec<(BoundTool, bool)>) {
        let several = self.names_of_several(&found);
        for (mut tool, always) in found {
            if let Some(name) = name_with_server(&tool, &several) {
                tool.offer.name = name;
            }
            if always {
                self.always.insert(tool.offer.name.clone());
            }
            match self.bound.iter_mut().find(|bound| bound.offer().name == tool.offer.name) {
                None => self.bound.push(Bound::Tool(Box::new(tool))),
                Some(Bound::Tool(first)) => first.join(tool),
                Some(Bound::Specialist(_)) => {}
            }
        }
    }

    /// Names that more than one tool has, also once servers' slugs are put before some: no server's tool has the name that another one's is given.
    fn names_of_several(&self, found: &[(BoundTool, bool)]) -> HashSet<String> {
        let taken = self.bound.iter().map(|bound| bound.offer().name.as_str());
        let mut several = names::several(taken.chain(found.iter().map(|(tool, _)| tool.offer.name.as_str())));
        loop {
            let given: HashSet<String> = found.iter().filter_map(|(tool, _)| name_with_server(tool, &several)).collect();
            let clash = |tool: &BoundTool| tool.tool.origin().is_some() && given.contains(&tool.offer.name) && !several.contains(&tool.offer.name);
            let clashing: Vec<String> = found.iter().filter(|(tool, _)| clash(tool)).map(|(tool, _)| tool.offer.name.clone()).collect();
            if clashing.is_empty() {
                return several;
            }
            several.extend(clashing);
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Bound<'a>> {
        self.bound.iter().find(|bound| bound.offer().name == name)
    }

    /// What a call is for: the tool of the server for which it was announced, whatever its name is now, never a tool of another server.
    pub(super) fn find_for(&self, call: &ToolCall, server: Option<&CallServer>) -> Option<&Bound<'a>> {
        match server {
            Some(server) => self.bound.iter().find(|bound| bound.is_of(server)),
            None => self.find(&call.name),
        }
    }

    /// The names that the model is shown from the beginning.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.bound.iter().filter(|bound| self.is_always(bound)).map(|bound| bound.offer().name.as_str())
    }

    /// What the model is offered: its tools, or those that it must always have and behind them those that it found.
    pub(super) fn offers(&self, found: &[String]) -> Vec<ToolOffer> {
        let first = self.bound.iter().filter(|bound| self.is_always(bound));
        let later = found.iter().filter_map(|name| self.find(name)).filter(|bound| !self.is_always(bound));
        first.chain(later).map(|bound| bound.offer().clone()).collect()
    }

    /// A call of this waits for a person.
    pub(super) fn is_gated(&self, bound: &Bound<'_>) -> bool {
        let search = self.searches && bound.offer().name == FIND_TOOLS;
        (self.approves_all && !search)
            || match bound {
                Bound::Tool(tool) => tool.require_approval,
                Bound::Specialist(_) => false,
            }
    }

    /// Some call may wait for a person.
    pub(super) fn can_pause(&self) -> bool {
        self.bound.iter().any(|bound| self.is_gated(bound))
    }
}

/// The name that a server's tool is given where it shares its own with another one.
fn name_with_server(tool: &BoundTool, several: &HashSet<String>) -> Option<String> {
    let origin = tool.tool.origin().filter(|_| several.contains(&tool.offer.name))?;
    Some(names::of_server(origin.server, &tool.offer.name))
}

async fn bind(context: &StepContext, reference: &ToolRef) -> Result<Vec<BoundTool>, Fault> {
    context.world().tools.bind(reference, context.definitions(), &context.run().tenant).await
}

fn plain(reference: String) -> ToolRef {
    let (only, require_approval, idempotent) = (None, None, None);
    ToolRef { reference, config: serde_json::Map::new(), only, exclude: Vec::new(), require_approval, idempotent, always: false }
}

pub(in crate::engine) fn reference_of(node: &ToolNode) -> Result<ToolRef, Fault> {
    let reference = node.tool_ref.clone().ok_or_else(|| Fault::new(FaultCode::ToolNotFound, "the node names no tool"))?;
    Ok(ToolRef { config: node.config.clone(), idempotent: node.idempotent.then_some(true), ..plain(reference) })
}

async fn bind_tool_node(context: &StepContext, node: &ToolNode) -> Result<Vec<BoundTool>, Fault> {
    let fixed = node.parameters.resolve(context.state(), &context.system(), context.world().config.limits.state_kb)?;
    let found = bind(context, &reference_of(node)?).await?;
    Ok(found.into_iter().map(|tool| tool.fixing(fixed.clone())).collect())
}

/// The reference of an mcp node: one tool of its server, or all of them.
pub(in crate::engine) fn server_reference_of(node: &McpNode) -> Result<ToolRef, Fault> {
    let server = node.mcp_server.clone().ok_or_else(|| Fault::new(FaultCode::McpUnavailable, "the node names no MCP server"))?;
    let only = node.tool_name.clone().map(|name| vec![name]);
    Ok(ToolRef { only, idempotent: node.idempotent.then_some(true), ..plain(format!("mcp:{server}")) })
}

async fn bind_mcp_node(context: &StepContext, node: &McpNode) -> Result<Vec<BoundTool>, Fault> {
    let fixed = node.parameters.resolve(context.state(), &context.system(), context.world().config.limits.state_kb)?;
    let found = bind(context, &server_reference_of(node)?).await?;
    Ok(found.into_iter().map(|tool| tool.fixing(fixed.clone())).collect())
}

/// The schema of a tool with one text argument.
pub(super) fn one_input(description: &str) -> Value {
    crate::tools::schema::object(&[("input", "string", description)])
}
