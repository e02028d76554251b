//! Owns the request to install a template: the agents and the workflow that it needs. `save_with_agents` reuses, creates and stores them.

use serde_json::{Map, Value};

use super::file::{Template, TemplateKind};
use super::super::definition_writes::Origin;
use super::super::{Scope, Studio};
use super::{find, required};
use crate::error::Result;
use crate::store::upkeep::request_keys::RequestKey;
use crate::studio::definitions::fields::{Fields, Problems, object_of};
use crate::studio::definitions::save_with_agents::{Installation, Needed, Wanted};
use crate::studio::definitions::resource::Resource;

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

/// What a workflow is made of that comes from a template.
fn workflow_of(template: &Template, name: Option<&str>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("name".into(), name.unwrap_or_else(|| template.text("name")).into());
    body.insert("description".into(), template.text("description").into());
    body.insert("tags".into(), template.texts("tags").into());
    body.insert("graph".into(), template.graph().clone());
    body
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
        self.install_template_under(None, scope, kind, id, body).await
    }

    /// Installs a template and stores the answer under the key of the request.
    pub(crate) async fn install_template_under(&self, key: Option<RequestKey>, scope: &Scope, kind: &str, id: &str, body: &Value) -> Result<Value> {
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
        let wanted = (template.kind == TemplateKind::Workflow).then(|| Wanted {
            resource: Resource::Workflow,
            id: clock.id(),
            body: workflow_of(&template, name.as_deref()),
            slug: None,
            origin: origin(&template),
        });
        self.install(Installation { writer, needed, wanted, key }).await
    }

    /// What agents are made of that templates have, by slug.
    pub(in crate::studio) async fn agents_of_templates(&self, slugs: &[String]) -> Result<Vec<Option<(Map<String, Value>, Origin)>>> {
        let all = self.discover().await?;
        let found = |slug: &String| find(&all, TemplateKind::Agent, slug).map(|template| agent_of(&template, None));
        Ok(slugs.iter().map(found).collect())
    }
}
