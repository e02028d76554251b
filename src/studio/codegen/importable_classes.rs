//! Owns the search for importable classes: registered ones, source files, JSON files.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::{Scope, Studio};
use super::import_problems::Spot;
use super::incoming::{Incoming, kind_of};
use super::walk::{self, Files, Folder};
use crate::codegen::{ClassKind, FoundClass, Target, each, read};
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::host::HostDeclaration;

/// Bytes of one file.
pub(super) const BYTES: usize = 2 << 20;
/// Words one of which a file with a class must have.
const CONTRACTS: [&str; 3] = ["StudioWorkflow", "StudioAgent", "StudioTool"];

/// Something that can be imported.
#[derive(Clone, Debug)]
pub(super) struct Importable {
    /// What imports name it by.
    pub(super) reference: String,
    kind: ClassKind,
    label: String,
    description: String,
    /// The class, with its namespace.
    class: Option<String>,
    class_path: Option<String>,
    json_path: Option<String>,
    language: Option<Target>,
    /// Where it is read; none for what the host registered.
    file: Option<PathBuf>,
}

/// Something that was read.
pub(super) struct Read {
    pub(super) incoming: Incoming,
    importable: Importable,
    /// The text of its file.
    source: String,
}

impl Importable {
    fn to_json(&self) -> Value {
        json!({
            "ref": self.reference, "label": self.label, "kind": self.kind.name(), "description": self.description,
            "class_path": self.class_path, "json_path": self.json_path, "language": self.language.map(Target::name),
        })
    }

    fn describe(&mut self, definition: &Map<String, Value>) {
        let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        self.description = text("description");
        let name = text("name");
        if !name.is_empty() {
            self.label = name;
        }
    }
}

/// The last part of a class name.
fn short(class: &str) -> &str {
    class.rsplit(['\\', '.', ':']).next().unwrap_or(class)
}

/// Whether a name with dots is that of a Python class: its file says no namespace, its place does, as the name of its module or package.
/// Paths begin at the folder that is scanned, which may be a package itself (`is_inside`).
fn is_in_package(one: &Importable, name: &str, is_inside: bool) -> bool {
    let (Some(Target::Python), Some(path), Some((package, class))) = (one.language, &one.class_path, name.rsplit_once('.')) else { return false };
    let file = path.split_once('#').map_or(path.as_str(), |(file, _)| file);
    let module = walk::without_own(file).trim_end_matches(".py");
    let folder = module.rsplit_once('/').map_or("", |(folder, _)| folder);
    let dotted = |place: &str| if place.is_empty() { String::new() } else { format!(".{}", place.replace('/', ".")) };
    let package = format!(".{package}");
    let fits = |place: String| if is_inside { package.ends_with(&place) } else { place.ends_with(&package) };
    one.class.as_deref() == Some(class) && [folder, module].into_iter().map(dotted).any(fits)
}

fn of_host(declaration: &HostDeclaration) -> Vec<Importable> {
    let made = |(class, definition): (&String, &Value)| {
        let empty = Map::new();
        let definition = definition.as_object().unwrap_or(&empty);
        let mut found = Importable {
            reference: format!("class:{class}"),
            kind: kind_of(definition),
            label: short(class).to_owned(),
            description: String::new(),
            class: Some(class.clone()),
            class_path: Some(class.clone()),
            json_path: None,
            language: None,
            file: None,
        };
        found.describe(definition);
        found
    };
    declaration.classes.iter().map(made).collect()
}

/// The classes of the folders that are scanned.
fn of_source(config: &Config, tenant: &str) -> Vec<Importable> {
    let mut files = Files::of(tenant);
    let mut found = Vec::new();
    for folder in config.workflow_scan_paths.iter().filter_map(|path| Folder::at(path)) {
        let wanted = |extension: &str| Target::of_extension(extension).is_some();
        for (file, path) in files.below(&folder, &wanted) {
            let Some(target) = file.extension().and_then(|end| end.to_str()).and_then(Target::of_extension) else { continue };
            let Some(text) = files.text(&file).filter(|text| CONTRACTS.iter().any(|word| text.contains(word))) else { continue };
            each(target, &text, |class, kind, _, definition| {
                let mut one = Importable {
                    reference: format!("class:{class}"),
                    kind,
                    label: short(&class).to_owned(),
                    description: String::new(),
                    class_path: Some(format!("{path}#{}", short(&class))),
                    json_path: None,
                    language: Some(target),
                    file: Some(file.clone()),
                    class: Some(class),
                };
                if let Ok(Value::Object(definition)) = definition() {
                    one.describe(&definition);
                }
                found.push(one);
            });
        }
    }
    // A tenant's own class stands for one of the same name that everybody sees.
    let is_own = |one: &Importable| one.class_path.as_deref().is_some_and(walk::is_own);
    let own: HashSet<String> = found.iter().filter(|one| is_own(one)).map(|one| one.reference.clone()).collect();
    found.retain(|one| is_own(one) || !own.contains(&one.reference));
    found
}

/// The JSON files of the folders that are looked through.
fn of_json(config: &Config, tenant: &str) -> Vec<Importable> {
    let mut files = Files::of(tenant);
    let mut found: Vec<Importable> = Vec::new();
    let mut known = HashSet::new();
    for folder in config.workflow_json_paths.iter().filter_map(|path| Folder::at(path)) {
        for (file, path) in files.below(&folder, &|extension: &str| extension == "json") {
            let reference = format!("json:{path}");
            if known.contains(&reference) {
                continue;
            }
            let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            let read = files.text(&file).and_then(|text| serde_json::from_str::<Value>(&text).ok());
            let Some(Ok(incoming)) = read.map(|read| Incoming::of_json(&read, name, Spot::new(path.clone(), 1))) else { continue };
            let mut one = Importable {
                reference,
                kind: incoming.kind,
                label: name.to_owned(),
                description: String::new(),
                class: None,
                class_path: None,
                json_path: Some(path),
                language: None,
                file: Some(file),
            };
            one.describe(&incoming.definition);
            known.insert(one.reference.clone());
            found.push(one);
        }
    }
    found
}

/// The one that a class name means: exactly, or with the package of its folder, or without its namespace when that is unique.
fn named(all: &[Importable], name: &str) -> Result<Option<Importable>> {
    let class = |one: &Importable| one.class.clone().unwrap_or_default();
    let is_exact = |one: &Importable| class(one) == name;
    let is_packaged = |one: &Importable| is_in_package(one, name, false);
    let is_in_scanned = |one: &Importable| is_in_package(one, name, true);
    let is_short = |one: &Importable| !name.contains(['\\', '.', ':']) && short(&class(one)) == name;
    let ways: [&dyn Fn(&Importable) -> bool; 4] = [&is_exact, &is_packaged, &is_in_scanned, &is_short];
    for fits in ways {
        let fitting: Vec<&Importable> = all.iter().filter(|one| fits(one)).collect();
        match fitting[..] {
            [] => {}
            [one] => return Ok(Some(one.clone())),
            [..] => {
                let places = fitting.iter().map(|one| {
                    let place = one.class_path.clone().unwrap_or_default();
                    json!({"file": place, "line": 1, "message": format!("this file also has a class `{name}`: {}", one.class.as_deref().unwrap_or_default())})
                });
                let told = format!("several classes are called `{name}`; name it with its namespace, or remove the others");
                return Err(Error::new(Kind::ImportInvalid, told).with("issues", places.collect::<Vec<_>>()));
            }
        }
    }
    Ok(None)
}

fn read_one(config: &Config, declaration: &HostDeclaration, tenant: &str, reference: &str) -> Result<Read> {
    let unknown = || Error::not_found("class", reference);
    if let Some(path) = reference.strip_prefix("json:") {
        let found = of_json(config, tenant).into_iter().find(|one| one.reference == reference).ok_or_else(unknown)?;
        return read_json(found, path);
    }
    let name = reference.strip_prefix("class:").unwrap_or(reference).trim_start_matches('\\');
    let found = match named(&of_host(declaration), name)? {
        Some(found) => Some(found),
        None => named(&of_source(config, tenant), name)?,
    };
    let found = found.ok_or_else(unknown)?;
    let class = found.class.clone().unwrap_or_default();
    let (Some(file), Some(target)) = (&found.file, found.language) else {
        let definition = declaration.classes.get(&class).cloned().unwrap_or_default();
        let source = serde_json::to_string_pretty(&definition).unwrap_or_default();
        let registered = FoundClass { class: class.clone(), kind: found.kind, line: 1, definition };
        let incoming = Incoming::of_class(registered, None, found.class_path.clone(), Spot::new(class, 1))?;
        return Ok(Read { incoming, importable: found, source });
    };
    let path = found.class_path.as_deref().and_then(|path| path.split('#').next()).unwrap_or_default();
    let spot = Spot::new(path, 1);
    let text = Files::default().text(file).ok_or_else(|| spot.invalid(["the file cannot be read, or has more than 2 MiB"]))?;
    let read = read(target, &text, Some(&class)).map_err(|error| spot.unreadable(&error))?;
    let spot = Spot::new(path, read.line);
    let incoming = Incoming::of_class(read, Some(target), found.class_path.clone(), spot)?;
    Ok(Read { incoming, importable: found, source: text })
}

fn read_json(found: Importable, path: &str) -> Result<Read> {
    let spot = Spot::new(path, 1);
    let file = found.file.clone().unwrap_or_default();
    let text = Files::default().text(&file).ok_or_else(|| spot.invalid(["the file cannot be read, or has more than 2 MiB"]))?;
    let read: Value = serde_json::from_str(&text).map_err(|error| {
        Spot::new(path, u32::try_from(error.line()).unwrap_or(1)).invalid([format!("it is no JSON: {error}")])
    })?;
    let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    Ok(Read { incoming: Incoming::of_json(&read, &name, spot)?, importable: found, source: text })
}

impl Studio {
    /// Reads what a reference of the registry names: `class:<name>`, `json:<file>`, or the name of a class alone.
    pub(super) async fn incoming_of(&self, scope: &Scope, reference: &str) -> Result<Read> {
        let (config, declaration, reference) = (Arc::clone(&self.world().config), self.world().host.declaration(), reference.to_owned());
        let tenant = Arc::clone(&scope.tenant);
        let reading = self.runtime()?.spawn_blocking(move || read_one(&config, &declaration, &tenant, &reference));
        reading.await.map_err(|error| Error::internal("the files could not be read").caused_by(error))?
    }

    /// What can be imported: `{data}`.
    pub async fn registry_classes(&self, scope: &Scope) -> Result<Value> {
        let (config, declaration, tenant) = (Arc::clone(&self.world().config), self.world().host.declaration(), Arc::clone(&scope.tenant));
        let looking = self.runtime()?.spawn_blocking(move || {
            let mut all = of_host(&declaration);
            let known: HashSet<String> = all.iter().map(|one| one.reference.clone()).collect();
            all.extend(of_source(&config, &tenant).into_iter().filter(|one| !known.contains(&one.reference)));
            all.extend(of_json(&config, &tenant));
            all.iter().map(Importable::to_json).collect::<Vec<_>>()
        });
        let found = looking.await.map_err(|error| Error::internal("the files could not be read").caused_by(error))?;
        Ok(json!({"data": found}))
    }

    /// One thing that can be imported, as it would be: `{ref, label, kind, …, locked, definition, source}`. Nothing is stored.
    pub async fn registry_class(&self, scope: &Scope, reference: &str) -> Result<Value> {
        let Read { incoming, importable, source } = self.incoming_of(scope, reference).await?;
        let mut shown = importable.to_json();
        shown["locked"] = true.into();
        shown["definition"] = Value::Object(incoming.definition);
        shown["source"] = source.into();
        Ok(shown)
    }
}
