//! Owns imports: an editable copy of a class or a JSON file, with the agents that it needs, all or nothing.

use serde_json::{Map, Value, json};

use super::CodeAction;
use super::incoming::{Incoming, Spot};
use super::super::definitions::answer;
use super::super::reach::Refusal;
use super::super::writing::{Origin, Writer};
use super::super::{Scope, Studio};
use crate::codegen::{ClassKind, Target, read};
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::store::{Tx, definitions as table};
use crate::studio::definitions::fields::{Fields, Problems, object_of};
use crate::studio::definitions::installing::{Needed, Present};
use crate::studio::definitions::resource::Resource;
use crate::studio::definitions::{slugs, tools, workflows};

/// What a bare graph is called that comes without a file.
const UNNAMED: &str = "Imported workflow";

/// One import, ready to be written.
struct Import {
    writer: Writer,
    incoming: Incoming,
    needed: Vec<Needed>,
    id: Id,
}

impl Import {
    fn origin(&self) -> Origin {
        Origin { source: "code", template_id: None, class_path: self.incoming.class_path.clone() }
    }

    /// The fields of the definition, with a slug that is free.
    fn body(&self, tx: &mut Tx<'_>, resource: Resource) -> Result<Map<String, Value>, Refusal> {
        let mut body = self.incoming.body();
        let slug = self.incoming.text("slug");
        if slugs::is_slug(slug) {
            body.insert("slug".into(), self.writer.free_slug(tx, resource, slug)?.into());
        } else if !slug.is_empty() {
            return Err(Error::field("slug", format!("slug is none: `{slug}`")).into());
        }
        Ok(body)
    }

    /// Writes everything; the answer of the request.
    fn write(&self, tx: &mut Tx<'_>) -> Result<Value, Refusal> {
        let writer = &self.writer;
        table::hold(tx, &writer.tenant)?;
        let agents = writer.present(tx, &self.needed)?;
        let told: Vec<Value> = agents.iter().map(Present::told).collect();
        match self.incoming.kind {
            ClassKind::Workflow => {
                let body = self.body(tx, Resource::Workflow)?;
                let (made, seen) = writer.make_workflow(tx, self.id, body, &agents, &self.origin())?;
                Ok(json!({"workflow": workflows::show(&made, seen), "agents": told}))
            }
            ClassKind::Agent => {
                let first = agents.first();
                let agent = first.map(|present| answer(tx, &writer.tenant, &writer.catalog, Resource::Agent, &present.agent)).transpose()?;
                Ok(json!({"agent": agent, "reused": first.is_some_and(|present| present.reused), "agents": told}))
            }
            ClassKind::Tool => {
                let body = self.body(tx, Resource::Tool)?;
                let (made, _) = writer.make(tx, Resource::Tool, self.id, body, &self.origin())?;
                Ok(json!({"tool": made.show(Resource::Tool), "agents": told}))
            }
        }
    }

    /// Problems of the definition are told of the place that it comes from; agents that are missing are told as they are.
    fn told(&self, refusal: Refusal) -> Refusal {
        let Refusal::Told(error) = refusal else { return refusal };
        let texts = |value: &Value| -> Vec<String> { value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect() };
        let fields = error.members.get("errors").and_then(Value::as_object);
        let missing = fields.is_some_and(|fields| fields.contains_key("agents"));
        let is_ours = matches!(error.kind, Kind::GraphInvalid) || (error.kind == Kind::ValidationFailed && !missing);
        if !is_ours {
            return Refusal::Told(error);
        }
        let messages: Vec<String> = fields.into_iter().flat_map(Map::values).flat_map(texts).collect();
        self.incoming.spot.invalid(messages).into()
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
            let text = fields.required("source", super::classes::BYTES).unwrap_or_default().to_owned();
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
        self.code_gate(CodeAction::Import)?;
        let incoming = match given_of(body)? {
            Given::Reference(reference) => self.incoming_of(&reference).await?.incoming,
            Given::Json(file) => Incoming::of_json(file, UNNAMED, Spot::new("json", 1))?,
            Given::Source { text, target, class } => {
                let spot = Spot::new(format!("source.{}", target.extension()), 1);
                let reading = self.runtime()?.spawn_blocking(move || read(target, &text, class.as_deref()));
                let found = reading.await.map_err(|error| Error::internal("the files could not be read").caused_by(error))?.map_err(|error| spot.unreadable(&error))?;
                let (name, spot) = (found.class.clone(), Spot::new(spot.file, found.line));
                Incoming::of_class(found, Some(target), Some(name), spot)?
            }
        };
        self.store_incoming(scope, incoming).await
    }

    async fn store_incoming(&self, scope: &Scope, incoming: Incoming) -> Result<Value> {
        if incoming.kind == ClassKind::Tool {
            tools::builder_gate(self.config().allow_builder_tools, incoming.definition.get("kind").and_then(Value::as_str))?;
        }
        let writer = self.writer_of(scope, Resource::Agent).await;
        let needed = self.needed_by(&incoming).await?;
        let import = Import { writer, needed, id: self.world().clock.id(), incoming };
        self.writing(move |tx| import.write(tx).map_err(|refusal| import.told(refusal))).await
    }

    /// The agents that come along: those of the definition, else those of templates.
    async fn needed_by(&self, incoming: &Incoming) -> Result<Vec<Needed>> {
        let clock = &self.world().clock;
        if incoming.kind == ClassKind::Agent {
            let mut body = incoming.body();
            let slug = incoming.text("slug");
            let slug = if slug.is_empty() { slugs::from_name(incoming.text("name"), "agent") } else { slug.to_owned() };
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
