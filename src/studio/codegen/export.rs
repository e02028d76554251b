//! Owns exports: a definition as a class or a JSON file, shown or written, and its recorded class path.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::files::{self, Place};
use super::super::definitions::must_find;
use super::super::reach::Refusal;
use super::super::{Scope, Studio};
use super::flags::CodeAction;
use super::{definition, resource_of, walk};
use crate::codegen::{ClassKind, SourceFile, Target, WriteError, write};
use crate::error::{Error, Result};
use crate::store::Tx;
use crate::store::definitions::{self as table, Changed};
use crate::studio::definitions::fields::{Fields, Problems, object_of};

/// What is to be exported, and where to.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// The kind of definition.
    pub kind: ClassKind,
    /// Its id or slug.
    pub id: String,
    /// The language; the configured one without it.
    pub target: Option<String>,
    /// The JSON form instead of a class.
    pub json_file: bool,
    /// A file with another content is replaced.
    pub overwrite: bool,
    /// The folder instead of `export_path`.
    pub folder: Option<PathBuf>,
    /// Where relative paths begin; none = where the process is.
    pub base: Option<PathBuf>,
}

/// An export.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The folder below which files were written.
    pub root: PathBuf,
    /// The file.
    pub file: SourceFile,
    /// What the definition keeps; none for a JSON file, and below another folder than `export_path`.
    pub class_path: Option<String>,
}

/// A definition as a file, not written yet.
struct GeneratedFile {
    file: SourceFile,
    fqcn: String,
    /// The definition, where it is stored.
    id: crate::model::Id,
    locked: bool,
}

fn refuse(error: &WriteError) -> Error {
    match error {
        WriteError::Namespace { .. } => Error::field("export_namespace", error.to_string()),
        WriteError::NoName | WriteError::TooDeep | WriteError::Number { .. } => Error::field("id", error.to_string()),
    }
}

/// What the body of a preview or an export says.
fn request_of(body: &Value) -> Result<ExportRequest> {
    let mut problems = Problems::default();
    let mut fields = Fields::new(object_of(body)?, &mut problems);
    if fields.value("kind").is_none() {
        fields.wrong("kind", "is required");
    }
    let kind = fields.choice("kind", &ClassKind::ALL.map(ClassKind::name)).and_then(ClassKind::named);
    let id = fields.required("id", 255).unwrap_or_default().to_owned();
    let target = fields.choice("target", &Target::ALL.map(Target::name)).map(str::to_owned);
    let overwrite = fields.flag("overwrite", false);
    problems.into_result()?;
    let kind = kind.unwrap_or(ClassKind::Workflow);
    Ok(ExportRequest { kind, id, target, json_file: false, overwrite, folder: None, base: None })
}

impl Studio {
    async fn drawn(&self, scope: &Scope, request: &ExportRequest) -> Result<GeneratedFile> {
        let target = self.code_target(request.target.as_deref())?;
        let (tenant, catalog, kind, id) = (scope.tenant.clone(), self.catalog(), request.kind, request.id.clone());
        let (found, defined) = self
            .reading(move |tx| {
                let found = must_find(tx, &tenant, &catalog, resource_of(kind), &id)?;
                let defined = definition::of(tx, &tenant, &catalog, kind, &found)?;
                Ok((found, defined))
            })
            .await?;
        let (locked, id) = (found.locked(), found.id);
        if request.json_file {
            let whole = match kind {
                ClassKind::Workflow => definition::json_file(&defined),
                ClassKind::Agent | ClassKind::Tool => definition::json_file_of_agent(&defined),
            };
            let text = serde_json::to_string_pretty(&whole).map_err(|error| Error::internal(error.to_string()))? + "\n";
            let file = SourceFile { path: format!("{}.json", found.slug), namespace: String::new(), class: String::new(), text };
            return Ok(GeneratedFile { file, fqcn: String::new(), id, locked });
        }
        let file = write(target, kind, &defined, &self.config().export_namespace).map_err(|error| refuse(&error))?;
        let fqcn = if file.namespace.is_empty() { file.class.clone() } else { [&file.namespace, target.separator(), &file.class].concat() };
        Ok(GeneratedFile { file, fqcn, id, locked })
    }

    /// What an export would write: `{code, class_name, namespace, fqcn, files, file_count}`.
    pub async fn preview_code(&self, scope: &Scope, body: &Value) -> Result<Value> {
        self.code_gate(CodeAction::Preview)?;
        let GeneratedFile { file, fqcn, .. } = self.drawn(scope, &request_of(body)?).await?;
        Ok(json!({
            "code": file.text, "class_name": file.class, "namespace": file.namespace, "fqcn": fqcn,
            "files": [{"path": file.path, "code": file.text}], "file_count": 1,
        }))
    }

    /// Writes the class of a definition below `export_path`: `{files, class_path}`.
    pub async fn export_code(&self, scope: &Scope, body: &Value) -> Result<Value> {
        self.code_gate(CodeAction::Export)?;
        let exported = self.export(scope, request_of(body)?).await?;
        Ok(json!({"files": [exported.file.path], "class_path": exported.class_path}))
    }

    /// A definition as a file that is not written.
    ///
    /// # Errors
    /// Export is off; there is no such definition; it cannot be written in that language.
    pub async fn drawn_code(&self, scope: &Scope, request: &ExportRequest) -> Result<SourceFile> {
        self.code_gate(CodeAction::Export)?;
        Ok(self.drawn(scope, request).await?.file)
    }

    /// Writes a definition as a file; a stored one keeps where its class is.
    ///
    /// # Errors
    /// Export is off; there is no such definition; the file is there with another content.
    pub async fn export(&self, scope: &Scope, request: ExportRequest) -> Result<Exported> {
        self.code_gate(CodeAction::Export)?;
        let GeneratedFile { file, id, locked, .. } = self.drawn(scope, &request).await?;
        let own = walk::own_folder(&scope.tenant).filter(|_| request.folder.is_none());
        let file = if let Some(own) = own { SourceFile { path: format!("{own}/{}", file.path), ..file } } else { file };
        let root = self.write_code(&file, &request).await?;
        // Below another folder than `export_path` it is not found again by its path.
        let class_path = (!request.json_file && request.folder.is_none()).then(|| format!("{}#{}", file.path, file.class));
        if let Some(path) = class_path.clone().filter(|_| !locked) {
            let (tenant, kind) = (scope.tenant.clone(), resource_of(request.kind).kind());
            self.writing(move |tx| keep(tx, &tenant, kind, id, &path)).await?;
        }
        Ok(Exported { root, file, class_path })
    }

    /// Writes the file of a skeleton or an export; where it is.
    ///
    /// # Errors
    /// The file cannot be written, or is there with another content.
    pub(super) async fn write_code(&self, file: &SourceFile, request: &ExportRequest) -> Result<PathBuf> {
        let folder = request.folder.clone().unwrap_or_else(|| PathBuf::from(&self.config().export_path));
        let root = request.base.as_ref().map_or_else(|| folder.clone(), |base| base.join(&folder));
        let (at, path, text, overwrite) = (root.clone(), file.path.clone(), file.text.clone(), request.overwrite);
        let writing = self.runtime()?.spawn_blocking(move || files::write(&Place { root: &at, path: &path, overwrite }, &text));
        writing.await.map_err(|error| Error::internal("the file could not be written").caused_by(error))??;
        Ok(root)
    }

    /// Writes the skeleton of a tool that the host runs.
    ///
    /// # Errors
    /// Code is off; the name gives none; the file is there with another content.
    pub async fn make_tool(&self, name: &str, target: Option<&str>, overwrite: bool, places: (Option<PathBuf>, Option<PathBuf>)) -> Result<Exported> {
        self.skeleton_gate()?;
        let target = self.code_target(target)?;
        let slug = crate::studio::definitions::slugs::from_name(name, "");
        if slug.is_empty() {
            return Err(Error::field("name", format!("name must have letters or digits: `{name}`")));
        }
        let word = slug.replace('-', "_");
        let word = if word.starts_with(|first: char| first.is_ascii_digit()) { format!("n{word}") } else { word };
        let word: String = word.chars().take(64).collect();
        let made = crate::codegen::skeleton(target, &slug, &word, &self.config().export_namespace).map_err(|error| refuse(&error))?;
        let (folder, base) = places;
        let request = ExportRequest { kind: ClassKind::Tool, id: slug, target: None, json_file: false, overwrite, folder, base };
        let root = self.write_code(&made, &request).await?;
        Ok(Exported { root, file: made, class_path: None })
    }
}

/// Keeps where the class of a definition is. That is no change of the definition: it stays the revision that it was.
fn keep(tx: &mut Tx<'_>, tenant: &str, kind: table::DefinitionKind, id: crate::model::Id, path: &str) -> Result<(), Refusal> {
    table::hold(tx, tenant)?;
    let Some(mut row) = table::get(tx, tenant, kind, &id)? else { return Ok(()) };
    let Value::Object(body) = &mut row.body else { return Ok(()) };
    if body.insert("class_path".into(), path.into()).as_ref().and_then(Value::as_str) == Some(path) {
        return Ok(());
    }
    match table::update(tx, tenant, kind, row.revision, &row)? {
        // No other transaction writes definitions meanwhile.
        Changed::Done | Changed::SlugTaken | Changed::Stale(_) => Ok(()),
    }
}
