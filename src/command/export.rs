//! Owns `studio:export` and `studio:make-tool`: a definition as a file, and the skeleton of a host tool.

use std::path::PathBuf;

use serde_json::json;

use super::{Arguments, Call, Exit, Outcome, usage};
use crate::codegen::ClassKind;
use crate::studio::{ExportRequest, Exported, Scope};

/// Writes the class or the JSON form of an agent or a workflow.
pub(super) async fn run(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let kind = match arguments.word().as_deref() {
        Some("agent") => ClassKind::Agent,
        Some("workflow") => ClassKind::Workflow,
        Some("tool") => return Err(usage("tools are exported from the tool editor or the API, not from here")),
        Some(other) => return Err(usage(format!("`export` takes `agent` or `workflow`, not `{other}`"))),
        None => return Err(usage("what is to be exported? `agent` or `workflow`, and its id or slug")),
    };
    let id = arguments.word().ok_or_else(|| usage(format!("which {}? its id or slug", kind.name())))?;
    let target = arguments.value("target");
    let folder = arguments.value("path").map(PathBuf::from);
    let (overwrite, json_file) = (arguments.switch("force")?, arguments.switch("json-file")?);
    let stdout = arguments.switch("stdout")?;
    arguments.end()?;
    if json_file && target.is_some() {
        return Err(usage("`--json-file` writes no class: it takes no `--target`"));
    }
    call.must_find_database("there is nothing to export")?;
    let scope = Scope { tenant: call.tenant.as_str().into(), user: None };
    let request = ExportRequest { kind, id, target, json_file, overwrite, folder, base: call.folder.clone() };
    if stdout {
        let file = call.studio.drawn_code(&scope, &request).await?;
        // The console ends lines itself.
        call.tell(file.text.trim_end_matches('\n'));
        call.give(&json!({"path": file.path, "code": file.text}));
        return Ok(Exit::Done);
    }
    let exported = call.studio.export(&scope, request).await?;
    tell(call, &exported);
    Ok(Exit::Done)
}

/// Writes the skeleton of a tool that the host runs.
pub(super) async fn make_tool(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let name = arguments.word().ok_or_else(|| usage("what is the tool to be called?"))?;
    let target = arguments.value("target");
    let folder = arguments.value("path").map(PathBuf::from);
    let overwrite = arguments.switch("force")?;
    arguments.end()?;
    let made = call.studio.make_tool(&name, target.as_deref(), overwrite, (folder, call.folder.clone())).await?;
    tell(call, &made);
    Ok(Exit::Done)
}

fn tell(call: &Call<'_>, exported: &Exported) {
    let path = exported.root.join(&exported.file.path);
    let path = path.strip_prefix(call.folder.as_deref().unwrap_or("".as_ref())).unwrap_or(&path).display().to_string();
    call.say(&path);
    call.give(&json!({"files": [path], "class": exported.file.class, "class_path": exported.class_path}));
}
