//! Owns template files: their required content, and the files of a folder.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::Error;
use crate::model::graph::Graph;
use crate::model::ids::is_slug;
use crate::studio::definitions::fields::{Fields, Problems};

/// Bytes of one file.
const BYTES: u64 = 2 << 20;
/// Bytes of all files that are read at once.
pub(super) const TOTAL: u64 = 32 << 20;
/// Files of one folder.
const FILES: usize = 500;
/// Entries of a folder that are looked at, of whatever kind.
const ENTRIES: usize = 10_000;
/// Objects and arrays inside each other: as deep as in the body of a request.
const DEPTH: usize = 64;
/// Agents that one workflow needs.
const AGENTS: usize = 100;
/// How demanding a workflow is.
pub(super) const COMPLEXITIES: [&str; 3] = ["basic", "intermediate", "advanced"];

/// What a template makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplateKind {
    Agent,
    Workflow,
}

impl TemplateKind {
    /// As it is answered.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Workflow => "workflow",
        }
    }

    /// The kind of a word, in either number.
    pub(super) fn named(word: &str) -> Option<Self> {
        match word {
            "agent" | "agents" => Some(Self::Agent),
            "workflow" | "workflows" => Some(Self::Workflow),
            _ => None,
        }
    }
}

/// A template that can be shown. Whether it can be installed also depends on what is stored and configured.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(super) kind: TemplateKind,
    pub(super) id: String,
    pub(super) bundled: bool,
    /// The file, whole.
    pub(super) file: Value,
}

impl Template {
    fn meta(&self, key: &str) -> &Value {
        &self.file["meta"][key]
    }

    /// A text of its `meta`, empty when absent.
    pub(super) fn text(&self, key: &str) -> &str {
        self.meta(key).as_str().unwrap_or_default()
    }

    /// A list of texts of its `meta`, empty when absent.
    pub(super) fn texts(&self, key: &str) -> Vec<&str> {
        self.meta(key).as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    pub(super) fn graph(&self) -> &Value {
        &self.file["graph"]
    }

    pub(super) fn definition(&self) -> Map<String, Value> {
        self.file["definition"].as_object().cloned().unwrap_or_default()
    }
}

/// Reads the text of a file with this name (without `.json`).
pub(super) fn parse(kind: TemplateKind, name: &str, text: &str) -> Result<Template, String> {
    // Editors of some systems mark UTF-8 at its beginning.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Value::Object(members) = &file else { return Err("it is no JSON object".to_owned()) };
    if !fits(&file, DEPTH) {
        return Err(format!("it has more than {DEPTH} objects and arrays inside each other"));
    }
    check(kind, name, members).map_err(|error| error.message)?;
    Ok(Template { kind, id: name.to_owned(), bundled: false, file })
}

/// Are at most so many objects and arrays inside each other?
fn fits(value: &Value, deep: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(items) => deep > 0 && items.iter().all(|item| fits(item, deep - 1)),
        Value::Object(members) => deep > 0 && members.values().all(|member| fits(member, deep - 1)),
    }
}

fn check(kind: TemplateKind, name: &str, members: &Map<String, Value>) -> Result<(), Error> {
    let mut problems = Problems::default();
    let mut fields = Fields::new(members, &mut problems);
    fields.nested("meta", |meta| check_meta(kind, name, meta));
    match kind {
        TemplateKind::Agent => fields.nested("definition", |definition| {
            definition.required("provider", 255);
            definition.required("model", 255);
            definition.text("instructions", 100_000);
            definition.list("tools");
        }),
        TemplateKind::Workflow => match fields.maybe_object("graph") {
            Some(_) => {}
            None if fields.value("graph").is_some() => {}
            None => fields.wrong("graph", "is required"),
        },
    }
    problems.into_result()?;
    if let (TemplateKind::Workflow, Some(graph)) = (kind, members.get("graph")) {
        Graph::parse(graph).map_err(|issues| crate::studio::definitions::workflows::graph_refusal(&issues))?;
    }
    Ok(())
}

fn check_meta(kind: TemplateKind, name: &str, meta: &mut Fields<'_>) {
    let id = meta.required("id", 80).unwrap_or_default();
    if !id.is_empty() && !is_slug(id) {
        meta.wrong("id", "must be lower-case words and digits joined by single hyphens, 1 to 80 long");
    } else if !id.is_empty() && id != name {
        meta.wrong("id", "must equal the name of the file");
    }
    meta.required("name", 255);
    meta.text("description", 10_000);
    meta.text("category", 255);
    meta.texts("tags");
    if kind == TemplateKind::Agent {
        return;
    }
    if meta.value("complexity").is_none() {
        meta.wrong("complexity", "is required");
    }
    meta.choice("complexity", &COMPLEXITIES);
    let agents = meta.texts("agents");
    if agents.len() > AGENTS {
        meta.wrong("agents", &format!("must have at most {AGENTS} items"));
    }
    if !agents.iter().all(|slug| is_slug(slug)) {
        meta.wrong("agents", "must be slugs of agents");
    }
}

/// What a folder has.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(super) templates: Vec<Template>,
    /// What is skipped and why, a sentence each.
    pub(crate) problems: Vec<String>,
}

impl Folder {
    /// How many templates it has.
    pub(crate) const fn count(&self) -> usize {
        self.templates.len()
    }
}

/// Reads the templates of a folder by file name; `room` is how many bytes may still be read.
pub(super) fn folder(kind: TemplateKind, path: &Path, room: &mut u64) -> Folder {
    let mut found = Folder { path: path.to_path_buf(), ..Folder::default() };
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => {
            found.problems.push(format!("`{}` cannot be read: {error}", path.display()));
            return found;
        }
    };
    let is_json = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "json");
    let mut paths: Vec<PathBuf> = entries.take(ENTRIES).flatten().map(|entry| entry.path()).filter(is_json).collect();
    paths.sort();
    if paths.len() > FILES {
        found.problems.push(format!("`{}` has {} files; those after the first {FILES} are skipped", path.display(), paths.len()));
        paths.truncate(FILES);
    }
    for path in paths {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        match read(&path, room).and_then(|text| parse(kind, name, &text)) {
            Ok(template) => found.templates.push(template),
            Err(why) => found.problems.push(format!("`{}` is skipped: {why}", path.display())),
        }
    }
    found
}

/// The text of a file. What is no file, such as a pipe, is not opened: that could wait for ever.
fn read(path: &Path, room: &mut u64) -> Result<String, String> {
    let is_file = std::fs::metadata(path).map_err(|error| error.to_string())?.is_file();
    if !is_file {
        return Err("it is no file".to_owned());
    }
    if *room == 0 {
        return Err(format!("all templates together have more than {} MiB", TOTAL >> 20));
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = file.take(BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())? as u64;
    *room = room.saturating_sub(read);
    if read > BYTES {
        return Err(format!("it has more than {} MiB", BYTES >> 20));
    }
    String::from_utf8(bytes).map_err(|_| "it is no UTF-8".to_owned())
}
