//! Owns what installing a template writes: the agents that are not there yet, and a workflow of its own each time.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::definitions::answer;
use super::super::fields::{Fields, Problems, object_of};
use super::super::reach::Refusal;
use super::super::resource::{Definition, Resource, Written};
use super::super::settle::settle;
use super::super::workflows;
use super::super::writing::{Origin, Writer};
use super::super::{Scope, Studio};
use super::file::{Template, TemplateKind};
use super::{find, required};
use crate::error::Result;
use crate::model::Id;
use crate::store::Tx;
use crate::store::definitions as table;

/// What stands for the configured provider or model.
const DEFAULT: &str = "default";

/// An agent that a template needs.
#[derive(Clone)]
struct Needed {
    slug: String,
    template: Option<Arc<Template>>,
    /// Its id if it is made.
    id: Id,
}

/// An agent that is there.
struct Present {
    agent: Definition,
    reused: bool,
}

/// One install, ready to be written.
struct Install {
    writer: Writer,
    template: Arc<Template>,
    needed: Vec<Needed>,
    name: Option<String>,
    /// The id of the workflow.
    id: Id,
}

/// The agent template that a node of a graph refers to.
pub(super) fn reference(node: &Value) -> Option<&str> {
    let data = node.get("data")?;
    let is_agent = node["type"] == "agent" && data["config_mode"] != "inline";
    data["agent_ref"].as_str().filter(|slug| is_agent && !slug.is_empty())
}

/// Puts the configured provider and model where `default` stands for them.
fn fill(data: &mut Map<String, Value>, (provider, model): &(String, String)) {
    for (key, usual) in [("provider", provider), ("model", model)] {
        if data.get(key).and_then(Value::as_str) == Some(DEFAULT) {
            data.insert(key.to_owned(), usual.as_str().into());
        }
    }
}

impl Install {
    fn origin(template: &Template) -> Origin {
        Origin { source: "template", template_id: Some(template.id.clone()) }
    }

    /// The agents that are needed, made where there are none. All that are neither stored nor templates are told at once.
    fn agents(&self, tx: &mut Tx<'_>) -> Result<Vec<Present>, Refusal> {
        let mut problems = Problems::default();
        let mut agents = Vec::with_capacity(self.needed.len());
        for needed in &self.needed {
            let stored = table::by_slug(tx, &self.writer.tenant, Resource::Agent.kind(), &needed.slug)?;
            match (stored, &needed.template) {
                (Some(row), _) => agents.push(Present { agent: row.into(), reused: true }),
                (None, Some(template)) => agents.push(Present { agent: self.make_agent(tx, needed.id, template)?, reused: false }),
                (None, None) => {
                    problems.add("agents", format!("agents must be there: `{}` is neither stored nor a template; nothing was installed", needed.slug));
                }
            }
        }
        problems.into_result()?;
        Ok(agents)
    }

    fn make_agent(&self, tx: &mut Tx<'_>, id: Id, template: &Template) -> Result<Definition, Refusal> {
        let mut body = template.definition();
        fill(&mut body, &self.writer.catalog.default_model());
        let own = Some(template.text("name")).filter(|_| self.template.kind == TemplateKind::Workflow);
        let name = own.or(self.name.as_deref()).unwrap_or_else(|| template.text("name"));
        body.insert("name".into(), name.into());
        body.insert("slug".into(), template.id.as_str().into());
        body.insert("description".into(), template.text("description").into());
        body.insert("tags".into(), template.texts("tags").into());
        let mut written = Written::read(Resource::Agent, &Value::Object(body), &self.writer.catalog, None)?;
        settle(tx, &self.writer.tenant, &self.writer.catalog, Resource::Agent, &mut written)?;
        self.writer.insert(tx, Resource::Agent, id, written, &Self::origin(template))
    }

    /// The template's graph with stored agents, and with the configured provider and model.
    fn graph(&self, agents: &[Present]) -> Value {
        let defaults = self.writer.catalog.default_model();
        let mut graph = self.template.graph().clone();
        for node in graph["nodes"].as_array_mut().into_iter().flatten() {
            let agent = reference(node).and_then(|slug| agents.iter().find(|present| present.agent.slug == slug));
            let id = agent.map(|present| present.agent.id.to_string());
            let has_model = node["type"] == "agent" || node["type"] == "llm";
            let Some(data) = node.get_mut("data").and_then(Value::as_object_mut).filter(|_| has_model) else { continue };
            fill(data, &defaults);
            if let Some(id) = id {
                data.shift_remove("agent_ref");
                data.insert("agent_id".into(), id.into());
            }
        }
        graph
    }

    fn make_workflow(&self, tx: &mut Tx<'_>, agents: &[Present]) -> Result<Value, Refusal> {
        let (writer, template) = (&self.writer, &self.template);
        let name = self.name.as_deref().unwrap_or_else(|| template.text("name"));
        let body = json!({"name": name, "description": template.text("description"), "tags": template.texts("tags"), "graph": self.graph(agents)});
        let mut written = Written::read(Resource::Workflow, &body, &writer.catalog, None)?;
        let seen = settle(tx, &writer.tenant, &writer.catalog, Resource::Workflow, &mut written)?;
        let made = writer.insert(tx, Resource::Workflow, self.id, written, &Self::origin(template))?;
        Ok(workflows::show(&made, seen))
    }

    /// Writes everything; the answer of the request.
    fn write(&self, tx: &mut Tx<'_>) -> Result<Value, Refusal> {
        table::hold(tx, &self.writer.tenant)?;
        let agents = self.agents(tx)?;
        let told = |present: &Present| json!({"id": present.agent.id.to_string(), "slug": present.agent.slug, "reused": present.reused});
        let told: Vec<Value> = agents.iter().map(told).collect();
        if self.template.kind == TemplateKind::Workflow {
            return Ok(json!({"workflow": self.make_workflow(tx, &agents)?, "agents": told}));
        }
        let first = agents.first();
        let agent = first.map(|present| answer(tx, &self.writer.tenant, &self.writer.catalog, Resource::Agent, &present.agent)).transpose()?;
        Ok(json!({"agent": agent, "reused": first.is_some_and(|present| present.reused), "agents": told}))
    }
}

/// The name that a request gives.
fn name_of(body: &Value) -> Result<Option<String>> {
    let mut problems = Problems::default();
    let mut fields = Fields::new(object_of(body)?, &mut problems);
    let given = if fields.value("name").is_some() { fields.required("name", 255).map(str::to_owned) } else { None };
    problems.into_result().map(|()| given)
}

impl Studio {
    /// Installs a template, all or nothing: `{workflow, agents}`, or `{agent, reused, agents}`. Agents are reused by their slug; a
    /// workflow is always made.
    pub async fn install_template(&self, scope: &Scope, kind: &str, id: &str, body: &Value) -> Result<Value> {
        let (template, all) = self.find_template(kind, id).await?;
        let name = name_of(body)?;
        let writer = self.writer_of(scope, Resource::Agent).await;
        let clock = &self.world().clock;
        let needed = required(&template).into_iter().map(|slug| {
            let template = find(&all, TemplateKind::Agent, &slug);
            Needed { slug, template, id: clock.id() }
        });
        let install = Install { writer, needed: needed.collect(), name, id: clock.id(), template };
        self.writing(move |tx| install.write(tx)).await
    }
}
