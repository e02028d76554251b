//! Owns classes that the host registers: read-only definitions, independent of the switches.

use std::sync::Arc;

use serde_json::Value;

use super::import_problems::Spot;
use super::incoming::{Incoming, kind_of};
use super::resource_of;
use super::super::Studio;
use crate::classes::{StudioAgent, StudioTool, StudioWorkflow};
use crate::codegen::{ClassKind, FoundClass};
use crate::error::{Error, Result};
use crate::host::HostDeclaration;
use crate::model::graph::Graph;
use crate::model::ids::is_slug;
use crate::model::{Id, Timestamp};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::save_with_agents::reference;
use crate::studio::definitions::resource::{Definition, Resource, Written};

#[derive(Clone, Debug)]
pub(in crate::studio) struct Registered {
    pub(in crate::studio) resource: Resource,
    pub(in crate::studio) definition: Definition,
    /// It came along with another one, and is found by its id alone.
    pub(in crate::studio) inner: bool,
}

/// What was made of one declaration.
pub(in crate::studio) type Kept = Option<(Arc<HostDeclaration>, Arc<Vec<Registered>>)>;

/// The id of what a class defines: it follows from the class, so that runs keep finding it.
fn id_of(class: &str, inner: &str) -> Id {
    Id(uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, format!("studio:class:{class}:{inner}").as_bytes()))
}

fn incoming_of(class: &str, definition: &Value) -> Result<Incoming> {
    let spot = Spot::new(class, 1);
    let Some(members) = definition.as_object() else { return Err(spot.invalid(["the definition must be a JSON object"])) };
    let found = FoundClass { class: class.to_owned(), kind: kind_of(members), line: 1, definition: definition.clone() };
    Incoming::of_class(found, None, Some(class.to_owned()), spot)
}

/// One definition; `inner` is the slug of an agent that comes along.
fn made(catalog: &Catalog, class: &str, inner: &str, kind: ClassKind, body: &Value, slug: &str) -> Result<Registered> {
    let resource = resource_of(kind);
    let mut written = Written::read(resource, body, catalog, None)?;
    if let Some(graph) = written.body.get_mut("graph")
        && let Ok(full) = Graph::parse(graph)
    {
        *graph = full.to_json().clone();
    }
    written.body.insert("locked".into(), true.into());
    written.body.insert("class_path".into(), class.into());
    let slug = if is_slug(slug) { slug.to_owned() } else { written.usual_slug(resource) };
    let definition = Definition {
        id: id_of(class, inner),
        slug,
        name: written.name,
        revision: 1,
        source: "host".to_owned(),
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        body: written.body,
    };
    Ok(Registered { resource, definition, inner: !inner.is_empty() })
}

/// What a class defines: its own definition, after the agents that come along.
fn of_class(catalog: &Catalog, class: &str, definition: &Value) -> Result<Vec<Registered>> {
    let incoming = incoming_of(class, definition)?;
    let mut all = Vec::new();
    for slug in incoming.needed() {
        if let Some(body) = incoming.agent(&slug) {
            all.push(made(catalog, class, &slug, ClassKind::Agent, &Value::Object(body), &slug)?);
        }
    }
    let mut body = Value::Object(incoming.body());
    for node in body.get_mut("graph").and_then(|graph| graph.get_mut("nodes")).and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(slug) = reference(node).map(str::to_owned) else { continue };
        let own = all.iter().find(|one| one.definition.slug == slug).map(|one| one.definition.id.to_string());
        let Some(data) = node.get_mut("data").and_then(Value::as_object_mut) else { continue };
        data.shift_remove("agent_ref");
        data.insert("agent_id".into(), own.unwrap_or(slug).into());
    }
    all.push(made(catalog, class, "", incoming.kind, &body, incoming.text("slug"))?);
    Ok(all)
}

/// All registered classes. An invalid one is left out and logged once; the registry lists it, and importing it says why.
pub(in crate::studio) fn all_of(catalog: &Catalog, declaration: &HostDeclaration) -> Vec<Registered> {
    let mut all = Vec::new();
    for (class, definition) in &declaration.classes {
        match of_class(catalog, class, definition) {
            Ok(found) => all.extend(found),
            Err(error) => tracing::warn!(class, "a registered class cannot be used and is omitted: {}", error.message),
        }
    }
    all
}

impl Studio {
    /// Registers a class that the application has: its name, and what its `definition` returns. It is listed, shown and run as a
    /// definition that nobody can write, for all tenants; registering it again replaces it.
    ///
    /// # Errors
    /// The name is empty or too long; the definition is none.
    pub fn register_class(&self, class: &str, definition: Value) -> Result<()> {
        if class.trim().is_empty() || class.len() > 1024 || class.chars().any(char::is_control) {
            return Err(Error::field("class", "class must be the name of a class, at most 1024 bytes"));
        }
        of_class(&self.catalog(), class, &definition)?;
        self.world().host.register(class, definition);
        Ok(())
    }

    /// Registers a workflow of this program.
    ///
    /// # Errors
    /// Its definition is none.
    pub fn register_workflow<W: StudioWorkflow>(&self) -> Result<()> {
        self.register_class(std::any::type_name::<W>(), W::definition())
    }

    /// Registers an agent of this program.
    ///
    /// # Errors
    /// Its definition is none.
    pub fn register_agent<A: StudioAgent>(&self) -> Result<()> {
        self.register_class(std::any::type_name::<A>(), A::definition())
    }

    /// Registers a tool of this program.
    ///
    /// # Errors
    /// Its definition is none.
    pub fn register_tool<T: StudioTool>(&self) -> Result<()> {
        self.register_class(std::any::type_name::<T>(), T::definition())
    }
}
