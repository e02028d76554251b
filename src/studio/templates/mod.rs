//! Owns templates of agents and workflows: list, display, preview of an install.

mod bundled;
mod file;
mod install;
mod template_paths;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use indexmap::IndexSet;
use serde_json::{Value, json};

use file::{COMPLEXITIES, Template, TemplateKind};
use template_paths::discovered;
pub(super) use template_paths::folders;

use super::{Resource, Scope, Studio};
use crate::error::{Error, Kind, Result};
use crate::model::graph::Graph;
use crate::store::definitions as table;
use crate::studio::definitions::save_with_agents;

/// What a list of templates is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemplateQuery<'a> {
    /// `agent` or `workflow`, in either number.
    pub kind: Option<&'a str>,
    /// `basic`, `intermediate` or `advanced`; only workflows have one.
    pub complexity: Option<&'a str>,
    /// The whole category.
    pub category: Option<&'a str>,
    /// A whole tag.
    pub tag: Option<&'a str>,
    /// Text in the id, the name, the description or a tag.
    pub q: Option<&'a str>,
}

impl TemplateQuery<'_> {
    /// Those that fit, case aside.
    fn chosen(&self, mut all: Vec<Arc<Template>>) -> Result<Vec<Arc<Template>>> {
        if let Some(word) = self.kind {
            let kind = TemplateKind::named(word).ok_or_else(|| Error::field("type", "type must be one of agent, workflow"))?;
            all.retain(|template| template.kind == kind);
        }
        if let Some(word) = self.complexity {
            if !COMPLEXITIES.contains(&word) {
                return Err(Error::field("complexity", format!("complexity must be one of {}", COMPLEXITIES.join(", "))));
            }
            all.retain(|template| template.text("complexity") == word);
        }
        let same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
        if let Some(category) = self.category {
            all.retain(|template| same(template.text("category"), category));
        }
        if let Some(tag) = self.tag {
            all.retain(|template| template.texts("tags").into_iter().any(|own| same(own, tag)));
        }
        if let Some(q) = self.q.map(|q| q.trim().to_lowercase()) {
            all.retain(|template| {
                let told = [&template.id, template.text("name"), template.text("description"), &template.texts("tags").join("\n")].join("\n");
                told.to_lowercase().contains(&q)
            });
        }
        Ok(all)
    }
}

/// A template as lists show it.
fn listed(template: &Template) -> Value {
    let complexity = Some(template.text("complexity")).filter(|word| !word.is_empty());
    json!({
        "id": template.id, "type": template.kind.word(), "name": template.text("name"), "description": template.text("description"),
        "category": template.text("category"), "complexity": complexity, "tags": template.texts("tags"),
        "agents": template.texts("agents"), "node_types": node_types(template.graph()),
        "source": if template.bundled { "bundled" } else { "host" },
    })
}

/// The types of a graph's nodes, each once, in graph order.
fn node_types(graph: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    for kind in graph["nodes"].as_array().into_iter().flatten().filter_map(|node| node["type"].as_str()) {
        if kind != "note" && !found.contains(&kind) {
            found.push(kind);
        }
    }
    found
}

/// The slugs of the agents that a template makes or needs: that of an agent itself; those that a workflow names, then others that its graph
/// refers to.
fn required(template: &Template) -> Vec<String> {
    match template.kind {
        TemplateKind::Agent => vec![template.id.clone()],
        TemplateKind::Workflow => {
            let named = template.texts("agents").into_iter();
            let slugs: IndexSet<String> = named.chain(save_with_agents::references(template.graph())).map(str::to_owned).collect();
            slugs.into_iter().collect()
        }
    }
}

fn find(all: &[Arc<Template>], kind: TemplateKind, id: &str) -> Option<Arc<Template>> {
    all.iter().find(|template| template.kind == kind && template.id == id).map(Arc::clone)
}

impl Studio {
    /// The templates that there are now; none where they are switched off.
    async fn discover(&self) -> Result<Vec<Arc<Template>>> {
        let config = Arc::clone(&self.world().config);
        if !config.templates_enabled {
            return Ok(Vec::new());
        }
        if config.template_paths.agent.is_empty() && config.template_paths.workflow.is_empty() {
            return Ok(bundled::all());
        }
        let reading = self.runtime()?.spawn_blocking(move || discovered(&config));
        reading.await.map_err(|error| Error::internal("the template folders could not be read").caused_by(error))
    }

    /// One template, with all others.
    async fn find_template(&self, kind: &str, id: &str) -> Result<(Arc<Template>, Vec<Arc<Template>>)> {
        if !self.config().templates_enabled {
            let off = Error::new(Kind::RouteDisabled, "templates are switched off; `templates_enabled` turns them on");
            return Err(off.with("flag", "templates_enabled"));
        }
        let all = self.discover().await?;
        let found = TemplateKind::named(kind).and_then(|kind| find(&all, kind, id));
        found.map(|found| (found, all)).ok_or_else(|| Error::not_found("template", id))
    }

    /// Templates of agents, then of workflows: `{data}`.
    pub async fn templates(&self, query: TemplateQuery<'_>) -> Result<Value> {
        let chosen = query.chosen(self.discover().await?)?;
        Ok(json!({"data": chosen.iter().map(|template| listed(template)).collect::<Vec<_>>()}))
    }

    /// The file of a template with `install_preview`: which agents an install would make, and which ones that there are it would use.
    pub async fn template(&self, scope: &Scope, kind: &str, id: &str) -> Result<Value> {
        let (template, all) = self.find_template(kind, id).await?;
        let (tenant, slugs, catalog) = (scope.tenant.clone(), required(&template), self.catalog());
        let (create, reuse) = self
            .reading(move |tx| {
                let (mut create, mut reuse) = (Vec::new(), Vec::new());
                for slug in &slugs {
                    let stored = table::by_slug(tx, &tenant, Resource::Agent.kind(), slug)?.is_some();
                    if stored || catalog.of_class(Resource::Agent, slug).is_some() {
                        reuse.push(slug.clone());
                    } else if find(&all, TemplateKind::Agent, slug).is_some() {
                        create.push(slug.clone());
                    }
                }
                Ok((create, reuse))
            })
            .await?;
        let mut shown = template.file.clone();
        if template.kind == TemplateKind::Workflow {
            // Files may leave out what an install fills in.
            shown["graph"] = Graph::read(template.graph()).to_json().clone();
        }
        shown["install_preview"] = json!({"agents_create": create, "agents_reuse": reuse});
        Ok(shown)
    }
}
