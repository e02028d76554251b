//! Owns imports: an editable copy of a class or a JSON file with its agents, all or nothing.

use std::sync::Arc;

use serde_json::Value;

use super::flags::CodeAction;
use super::import_problems::Spot;
use super::incoming::Incoming;
use super::super::definition_writes::{Origin, Writer};
use super::super::{Scope, Studio};
use crate::codegen::{ClassKind, Target, read};
use crate::error::{Error, Result};
use crate::model::ids::is_slug;
use crate::store::upkeep::request_keys::RequestKey;
use crate::studio::definitions::fields::{Fields, Problems, object_of};
use crate::studio::definitions::save_with_agents::{Installation, Needed, Wanted};
use crate::studio::definitions::resource::Resource;
use crate::studio::definitions::{self, slugs, tools};

/// What a bare graph is called that comes without a file.
const UNNAMED: &str = "Imported workflow";

/// The slug that the definition asks for.
fn slug_of(incoming: &Incoming) -> Result<Option<String>> {
    match incoming.text("slug") {
        "" => Ok(None),
        slug if is_slug(slug) => Ok(Some(slug.to_owned())),
        slug => Err(Error::field("slug", format!("slug is not valid: `{slug}`"))),
    }
}

/// The slug of an agent that comes alone; without one it follows from the name.
fn agent_slug(incoming: &Incoming) -> String {
    match incoming.text("slug") {
        "" => slugs::from_name(incoming.text("name"), "agent"),
        slug => slug.to_owned(),
    }
}

/// What a request brings.
enum Given<'a> {
    Reference(String),
    Json(&'a Value),
    Source { text: String, target: Target, class: Option<String> },
}

fn given_of(body: &Value) -> Result<Given<'_>> {
    let members = object_of(body)?;
    let given: Vec<&str> = ["ref", "json", "source"].into_iter().filter(|key| members.get(*key).is_some_and(|value| !value.is_null())).collect();
    let [one] = given[..] else { return Err(Error::field("ref", "ref, json or source is required, one of them")) };
    let mut problems = Problems::default();
    let mut fields = Fields::new(members, &mut problems);
    let given = match one {
        "ref" => Given::Reference(fields.required("ref", 1024).unwrap_or_default().to_owned()),
        "json" => Given::Json(members.get("json").unwrap_or(&Value::Null)),
        _ => {
            let text = fields.required("source", super::importable_classes::BYTES).unwrap_or_default().to_owned();
            if fields.value("language").is_none() {
                fields.wrong("language", "is required");
            }
            let target = fields.choice("language", &Target::ALL.map(Target::name)).and_then(Target::named);
            let class = fields.text("class", 1024).map(str::to_owned);
            Given::Source { text, target: target.unwrap_or(Target::Php), class }
        }
    };
    problems.into_result().map(|()| given)
}

impl Studio {
    /// Imports a class, a JSON file, or what the body brings: `{workflow, agents}`, `{agent, reused, agents}` or `{tool, agents}`.
    pub async fn import_code(&self, scope: &Scope, body: &Value) -> Result<Value> {
        self.import_code_under(None, scope, body).await
    }

    /// Imports, and stores the answer under the key of the request.
    pub(crate) async fn import_code_under(&self, key: Option<RequestKey>, scope: &Scope, body: &Value) -> Result<Value> {
        self.code_gate(CodeAction::Import)?;
        let incoming = match given_of(body)? {
            Given::Reference(reference) => self.incoming_of(scope, &reference).await?.incoming,
            Given::Json(file) => Incoming::of_json(file, UNNAMED, Spot::new("json", 1))?,
            Given::Source { text, target, class } => {
                let spot = Spot::new(format!("source.{}", target.extension()), 1);
                let reading = self.runtime()?.spawn_blocking(move || read(target, &text, class.as_deref()));
                let found = reading.await.map_err(|error| Error::internal("the files could not be read").caused_by(error))?.map_err(|error| spot.unreadable(&error))?;
                let (name, spot) = (found.class.clone(), Spot::new(spot.file, found.line));
                Incoming::of_class(found, Some(target), Some(name), spot)?
            }
        };
        self.store_incoming(key, scope, incoming).await
    }

    async fn store_incoming(&self, key: Option<RequestKey>, scope: &Scope, incoming: Incoming) -> Result<Value> {
        if incoming.kind == ClassKind::Tool {
            tools::builder_gate(self.config().allow_builder_tools, incoming.definition.get("kind").and_then(Value::as_str))?;
        }
        let writer = self.writer_of(scope, Resource::Agent).await;
        let alone = incoming.kind == ClassKind::Agent && self.is_locked(&writer, &agent_slug(&incoming)).await?;
        let needed = if alone { Vec::new() } else { self.needed_by(&incoming).await? };
        let origin = || Origin { source: "code", template_id: None, class_path: incoming.class_path.clone() };
        let resource = match incoming.kind {
            ClassKind::Workflow => Some(Resource::Workflow),
            ClassKind::Tool => Some(Resource::Tool),
            ClassKind::Agent => alone.then_some(Resource::Agent),
        };
        let slug = if resource.is_some() { slug_of(&incoming).map_err(|error| incoming.spot.of_definition(error))? } else { None };
        let wanted = resource.map(|resource| Wanted { resource, id: self.world().clock.id(), body: incoming.body(), slug, origin: origin() });
        let installation = Installation { writer, needed, wanted, key };
        self.install(installation).await.map_err(|error| incoming.spot.of_definition(error))
    }

    /// Whether the agent of that slug is a class of the application: nobody can write it, so that an import copies it.
    async fn is_locked(&self, writer: &Writer, slug: &str) -> Result<bool> {
        if writer.catalog.of_class(Resource::Agent, slug).is_none() {
            return Ok(false);
        }
        let (tenant, slug) = (Arc::clone(&writer.tenant), slug.to_owned());
        self.reading(move |tx| Ok(definitions::stored(tx, &tenant, Resource::Agent, &slug)?.is_none())).await
    }

    /// The agents that come along: those of the definition, else those of templates.
    async fn needed_by(&self, incoming: &Incoming) -> Result<Vec<Needed>> {
        let clock = &self.world().clock;
        if incoming.kind == ClassKind::Agent {
            let mut body = incoming.body();
            let slug = agent_slug(incoming);
            body.insert("slug".into(), slug.as_str().into());
            let origin = Origin { source: "code", template_id: None, class_path: incoming.class_path.clone() };
            return Ok(vec![Needed { slug, made: Some((body, origin)), id: clock.id() }]);
        }
        let slugs = incoming.needed();
        let templates = self.agents_of_templates(&slugs).await?;
        let own = |slug: &str| Some((incoming.agent(slug)?, Origin { source: "code", template_id: None, class_path: None }));
        let needed = slugs.into_iter().zip(templates);
        Ok(needed.map(|(slug, template)| Needed { made: own(&slug).or(template), id: clock.id(), slug }).collect())
    }
}
