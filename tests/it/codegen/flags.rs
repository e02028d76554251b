//! What each of the eight combinations of `codegen.enabled`, `codegen.export` and `codegen.preview` lets through.

use serde_json::{Value, json};
use wfstudio::command::of_host;

use super::Desk;

/// What is asked, and the key that is false when it is refused.
struct Row {
    flags: [bool; 3],
    export: &'static str,
    preview: &'static str,
    import: &'static str,
}

const TABLE: [Row; 8] = [
    Row { flags: [true, true, true], export: "", preview: "", import: "" },
    Row { flags: [true, true, false], export: "", preview: "codegen.preview", import: "" },
    Row { flags: [true, false, true], export: "codegen.export", preview: "", import: "" },
    Row { flags: [true, false, false], export: "codegen.export", preview: "codegen.preview", import: "" },
    Row { flags: [false, true, true], export: "codegen.enabled", preview: "codegen.enabled", import: "codegen.enabled" },
    Row { flags: [false, true, false], export: "codegen.enabled", preview: "codegen.enabled", import: "codegen.enabled" },
    Row { flags: [false, false, true], export: "codegen.enabled", preview: "codegen.enabled", import: "codegen.enabled" },
    Row { flags: [false, false, false], export: "codegen.enabled", preview: "codegen.enabled", import: "codegen.enabled" },
];

fn refused(wanted: &str, answer: &(u16, Value), open: u16, off: (u16, &str), about: &str) {
    if wanted.is_empty() {
        assert_eq!(answer.0, open, "{about}: {}", answer.1);
    } else {
        let told = (answer.0, answer.1["code"].as_str().unwrap_or_default(), answer.1["flag"].as_str().unwrap_or_default());
        assert_eq!(told, (off.0, off.1, wanted), "{about}: {}", answer.1);
    }
}

#[tokio::test]
async fn each_combination_lets_through_what_the_table_says() {
    for row in TABLE {
        let [enabled, export, preview] = row.flags;
        let desk = Desk::with(json!({"codegen": {"enabled": enabled, "export": export, "preview": preview}}));
        let made = desk.make("/api/workflows", json!({"name": "Lead triage"})).await;
        let agent = desk.make("/api/agents", json!({"name": "Helper"})).await;
        let tool = desk.make("/api/tools", json!({"name": "sum", "kind": "builder", "config": {"code": "return 1"}})).await;
        let about = format!("{:?}", row.flags);
        for (kind, id) in [("workflow", &made["id"]), ("agent", &agent["id"]), ("tool", &tool["id"])] {
            let answer = desk.post("/api/codegen/preview", json!({"kind": kind, "id": id})).await;
            refused(row.preview, &answer, 200, (403, "flag_disabled"), &format!("{about} preview of {kind}"));
            let answer = desk.post("/api/codegen/export", json!({"kind": kind, "id": id})).await;
            refused(row.export, &answer, 200, (403, "flag_disabled"), &format!("{about} export of {kind}"));
        }
        assert_eq!(desk.read("app/Workflows/LeadTriageWorkflow.php").is_some(), row.export.is_empty(), "{about}");
        let answer = desk.post("/api/codegen/import", json!({"json": made["graph"]})).await;
        refused(row.import, &answer, 201, (403, "flag_disabled"), &format!("{about} import"));
        let answer = desk.get("/api/registry/classes").await;
        refused(row.import, &answer, 200, (404, "route_disabled"), &format!("{about} registry"));
        let answer = desk.get("/workflows/preview?class=A").await;
        // The page is served, and says that there is no such class.
        refused(row.import, &answer, 404, (404, "route_disabled"), &format!("{about} page"));
        let shown = desk.get("/api/settings").await.1["flags"].clone();
        let told = [&shown["canExport"], &shown["canPreview"], &shown["canImport"]].map(|flag| flag.as_bool().expect("a flag"));
        assert_eq!(told, [row.export.is_empty(), row.preview.is_empty(), row.import.is_empty()], "{about}");
        commands(&desk, &row, &about).await;
        // The tool builder saves whatever the flags say, and keeps where the class is.
        let (status, saved) = desk.sent("", "PATCH", "/api/tools/sum", Some(&json!({"description": "Adds"}))).await;
        let kept = if row.export.is_empty() { json!("Tools/SumTool.php#SumTool") } else { Value::Null };
        assert_eq!((status, &saved["class_path"]), (200, &kept), "{about}");
    }
}

async fn commands(desk: &Desk, row: &Row, about: &str) {
    let ask = |typed: &'static str| of_host(&desk.bench.studio, typed.split(' ').map(str::to_owned).collect(), Some(desk.folder.path().into()));
    let exit = |flag: &str| if flag.is_empty() { 0 } else { 3 };
    for typed in ["studio:export workflow lead-triage --target ruby", "studio:export agent helper --json-file", "studio:export agent helper --stdout"] {
        let told = ask(typed).await;
        assert_eq!(told.exit.code(), exit(row.export), "{about} {typed}: {}", told.stderr);
        assert_eq!(told.stderr.contains("error[flag_disabled]: ") && told.stderr.contains(row.export), !row.export.is_empty(), "{about}: {}", told.stderr);
    }
    assert_eq!(desk.read("app/workflows/lead_triage_workflow.rb").is_some(), row.export.is_empty(), "{about}");
    let told = ask("studio:make-tool Look-up").await;
    assert_eq!(told.exit.code(), exit(row.import), "{about}: {}", told.stderr);
    assert_eq!(desk.read("app/Tools/LookUpTool.php").is_some(), row.import.is_empty(), "{about}");
}
