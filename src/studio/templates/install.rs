//! Owns what installing a template writes: the agents that are not there yet, and a workflow of its own each time.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::file::{Template, TemplateKind};
use super::super::definitions::answer;
use super::super::reach::Refusal;
use super::super::writing::{Origin, Writer};
use super::super::{Scope, Studio};
use super::{find, required};
use crate::error::Result;
use crate::model::Id;
use crate::store::{Tx, definitions as table};
use crate::studio::definitions::fields::{Fields, Problems, object_of};
use crate::studio::definitions::installing::Needed;
use crate::studio::definitions::resource::Resource;
use crate::studio::definitions::workflows;

/// One install, ready to be written.
struct Install {
    writer: Writer,
    template: Arc<Template>,
    needed: Vec<Needed>,
    name: Option<String>,
    /// The id of the workflow.
    id: Id,
}

fn origin(template: &Template) -> Origin {
    Origin { source: "template", template_id: Some(template.id.clone()), class_path: None }
}

/// What an agent is made of that comes from a template.
pub(in crate::studio) fn agent_of(template: &Template, name: Option<&str>) -> (Map<String, Value>, Origin) {
    let mut body = template.definition();
    body.insert("name".into(), name.unwrap_or_else(|| template.text("name")).into());
    body.insert("slug".into(), template.id.as_str().into());
    body.insert("description".into(), template.text("description").into());
    body.insert("tags".into(), template.texts("tags").into());
    (body, origin(template))
}

impl Install {
    fn workflow(&self) -> Map<String, Value> {
        let template = &self.template;
        let name = self.name.as_deref().unwrap_or_else(|| template.text("name"));
        let mut body = Map::new();
        body.insert("name".into(), name.into());
        body.insert("description".into(), template.text("description").into());
        body.insert("tags".into(), template.texts("tags").into());
        body.insert("graph".into(), template.graph().clone());
        body
    }

    /// Writes everything; the answer of the request.
    fn write(&self, tx: &mut Tx<'_>) -> Result<Value, Refusal> {
        let writer = &self.writer;
        table::hold(tx, &writer.tenant)?;
        let agents = writer.present(tx, &self.needed)?;
        let told: Vec<Value> = agents.iter().map(crate::studio::definitions::installing::Present::told).collect();
        if self.template.kind == TemplateKind::Workflow {
            let (made, seen) = writer.make_workflow(tx, self.id, self.workflow(), &agents, &origin(&self.template))?;
            return Ok(json!({"workflow": workflows::show(&made, seen), "agents": told}));
        }
        let first = agents.first();
        let agent = first.map(|present| answer(tx, &writer.tenant, &writer.catalog, Resource::Agent, &present.agent)).transpose()?;
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
        // The name of a request is that of what is installed, not of the agents that come along.
        let own = name.as_deref().filter(|_| template.kind == TemplateKind::Agent);
        let needed = required(&template).into_iter().map(|slug| {
            let made = find(&all, TemplateKind::Agent, &slug).map(|found| agent_of(&found, own));
            Needed { slug, made, id: clock.id() }
        });
        let needed = needed.collect();
        let install = Install { writer, needed, name, id: clock.id(), template };
        self.writing(move |tx| install.write(tx)).await
    }

    /// What agents are made of that templates have, by slug.
    pub(in crate::studio) async fn agents_of_templates(&self, slugs: &[String]) -> Result<Vec<Option<(Map<String, Value>, Origin)>>> {
        let all = self.discover().await?;
        let found = |slug: &String| find(&all, TemplateKind::Agent, slug).map(|template| agent_of(&template, None));
        Ok(slugs.iter().map(found).collect())
    }
}
