//! Owns the common part of the five kinds of definitions: names, parsing, display.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::model::ids::is_slug;
use crate::model::{Id, Timestamp};
use crate::store::definitions::{DefinitionKind, DefinitionRow};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::fields::{Fields, Problems, object_of};
use crate::studio::definitions::{agents, knowledge, mcp_servers, slugs, tools, workflows};

/// A kind of definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the contract")]
pub enum Resource {
    Agent,
    Workflow,
    Tool,
    McpServer,
    KnowledgeBase,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Agent, Self::Workflow, Self::Tool, Self::McpServer, Self::KnowledgeBase];

    /// As it is stored, and named in problems.
    pub const fn word(self) -> &'static str {
        self.words().0
    }

    /// Its part of a path below `/api`.
    pub const fn path(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Agent => ("agent", "agents"),
            Self::Workflow => ("workflow", "workflows"),
            Self::Tool => ("tool", "tools"),
            Self::McpServer => ("mcp_server", "mcp-servers"),
            Self::KnowledgeBase => ("knowledge_base", "knowledge-bases"),
        }
    }

    /// As the store knows it.
    pub(in crate::studio) const fn kind(self) -> DefinitionKind {
        match self {
            Self::Agent => DefinitionKind::Agent,
            Self::Workflow => DefinitionKind::Workflow,
            Self::Tool => DefinitionKind::Tool,
            Self::McpServer => DefinitionKind::McpServer,
            Self::KnowledgeBase => DefinitionKind::KnowledgeBase,
        }
    }

    /// Read-only fields between `source` and `revision`; they are kept in the body.
    pub(in crate::studio) const fn kept(self) -> &'static [&'static str] {
        match self {
            Self::Agent | Self::Workflow => &["template_id", "locked", "class_path"],
            Self::Tool => &["locked", "class_path"],
            Self::McpServer | Self::KnowledgeBase => &["locked"],
        }
    }
}

/// A definition as it is stored, or as the configuration has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its id.
    pub id: Id,
    /// Unique in its tenant and kind.
    pub slug: String,
    /// As people call it.
    pub name: String,
    /// From 1, one more with each write.
    pub revision: i64,
    /// `studio`, `template`, `code` or `host`.
    pub source: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// Every other field, in the order in which they are shown.
    pub body: Map<String, Value>,
}

impl Definition {
    /// May it not be written?
    pub fn locked(&self) -> bool {
        self.body.get("locked").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The whole resource as it is answered, without what is worked out for workflows.
    pub(in crate::studio) fn show(&self, resource: Resource) -> Map<String, Value> {
        let kept = resource.kept();
        let mut out = Map::with_capacity(self.body.len() + 8);
        out.insert("id".into(), self.id.to_string().into());
        out.insert("slug".into(), self.slug.as_str().into());
        out.insert("name".into(), self.name.as_str().into());
        let shown = self.body.iter().filter(|(key, _)| !kept.contains(&key.as_str()));
        out.extend(shown.map(|(key, value)| (key.clone(), value.clone())));
        knowledge::fill_language(resource, &mut out);
        out.insert("source".into(), self.source.as_str().into());
        for key in kept {
            let none = if *key == "locked" { Value::Bool(false) } else { Value::Null };
            out.insert((*key).into(), self.body.get(*key).cloned().unwrap_or(none));
        }
        out.insert("revision".into(), self.revision.into());
        out.insert("created_at".into(), self.created_at.rfc3339().into());
        out.insert("updated_at".into(), self.updated_at.rfc3339().into());
        out
    }

    /// What a client may write, as it is: what a patch is laid over.
    pub(in crate::studio) fn writable(&self, resource: Resource) -> Map<String, Value> {
        let mut out = Map::new();
        out.insert("name".into(), self.name.as_str().into());
        out.insert("slug".into(), self.slug.as_str().into());
        let open = |key: &&String| !resource.kept().contains(&key.as_str()) && !knowledge::COUNTED.contains(&key.as_str());
        out.extend(self.body.iter().filter(|(key, _)| open(key)).map(|(key, value)| (key.clone(), value.clone())));
        knowledge::fill_language(resource, &mut out);
        out
    }
}

impl From<DefinitionRow> for Definition {
    fn from(row: DefinitionRow) -> Self {
        let DefinitionRow { id, slug, name, revision, source, created_at, updated_at, body, no: _ } = row;
        let body = match body {
            Value::Object(body) => body,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        };
        Self { id, slug, name, revision, source, created_at, updated_at, body }
    }
}

/// A body that was read: what is to be stored, still without the parts that only the database knows.
#[derive(Clone, Debug)]
pub(in crate::studio) struct Written {
    pub(in crate::studio) name: String,
    /// The slug that was asked for.
    pub(in crate::studio) slug: Option<String>,
    /// Every other writable field.
    pub(in crate::studio) body: Map<String, Value>,
}

impl Written {
    /// Reads a body; `before` is the definition that it replaces.
    pub(in crate::studio) fn read(resource: Resource, given: &Value, catalog: &Catalog, before: Option<&Definition>) -> Result<Self> {
        let mut problems = Problems::default();
        let mut fields = Fields::new(object_of(given)?, &mut problems);
        let name = read_name(resource, &mut fields);
        let slug = read_slug(&mut fields);
        let old = before.map(|before| &before.body);
        let mut body = match resource {
            Resource::Agent => agents::read(&mut fields, catalog),
            Resource::Workflow => workflows::read(&mut fields),
            Resource::Tool => tools::read(&mut fields, old.and_then(|old| old.get("kind")).and_then(Value::as_str)),
            Resource::McpServer => mcp_servers::read(&mut fields, catalog),
            Resource::KnowledgeBase => knowledge::read(&mut fields, catalog),
        };
        problems.into_result()?;
        for key in resource.kept() {
            let value = old.and_then(|old| old.get(*key)).cloned();
            body.extend(value.map(|value| ((*key).to_owned(), value)));
        }
        Ok(Self { name, slug, body })
    }

    /// The definition that it will be, as far as others look at it.
    pub(in crate::studio) fn definition(&self, id: Id, now: Timestamp) -> Definition {
        let (name, slug, body) = (self.name.clone(), self.slug.clone().unwrap_or_default(), self.body.clone());
        Definition { id, slug, name, revision: 1, source: String::new(), created_at: now, updated_at: now, body }
    }

    /// The slug that the name gives.
    pub(in crate::studio) fn usual_slug(&self, resource: Resource) -> String {
        slugs::from_name(&self.name, &resource.word().replace('_', "-"))
    }
}

fn read_name(resource: Resource, fields: &mut Fields<'_>) -> String {
    let name = fields.required("name", 255).unwrap_or_default();
    if resource == Resource::Tool && !name.is_empty() && !tools::is_name(name) {
        fields.wrong("name", "must be a word of letters, digits, `_` and `-`, 1 to 64 long, beginning with a letter or `_`");
    }
    name.to_owned()
}

fn read_slug(fields: &mut Fields<'_>) -> Option<String> {
    let slug = fields.text("slug", 255)?;
    if !is_slug(slug) {
        fields.wrong("slug", "must be lower-case words and digits joined by single hyphens, 1 to 80 long");
    }
    Some(slug.to_owned())
}

/// The revision that a write says it began from: the header's, else the body's.
pub(in crate::studio) fn expected_revision(if_match: Option<i64>, body: &Value, key: &str) -> Result<Option<i64>> {
    if if_match.is_some() {
        return Ok(if_match);
    }
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(given) => given.as_i64().map(Some).ok_or_else(|| Error::field(key, format!("{key} must be an integer"))),
    }
}
