//! The commands that write code, as a host's console and as the program run them.

use serde_json::{Value, json};
use wfstudio::command::{Written, of_host};

use super::Desk;

pub(super) async fn typed(desk: &Desk, text: &str) -> Written {
    let words = text.split(' ').map(str::to_owned).collect();
    of_host(&desk.bench.studio, words, Some(desk.folder.path().to_path_buf())).await
}

#[tokio::test]
async fn exports_print_a_path_a_line_and_end_as_the_table_says() {
    let desk = Desk::with(json!({"export_path": "out"}));
    desk.make("/api/workflows", json!({"name": "Lead triage"})).await;
    desk.make("/api/agents", json!({"name": "Helper"})).await;
    for (text, exit, stdout, stderr) in [
        ("studio:export workflow lead-triage", 0, "out/Workflows/LeadTriageWorkflow.php\n", ""),
        ("export agent helper --target kotlin", 0, "out/agents/HelperAgent.kt\n", ""),
        ("export agent helper --target kotlin --quiet", 0, "", ""),
        ("export agent helper --path other --target rust", 0, "other/agents/helper_agent.rs\n", ""),
        ("export workflow lead-triage --json-file", 0, "out/lead-triage.json\n", ""),
        ("export tool x", 2, "", "error[usage]: tools are exported"),
        ("export", 2, "", "error[usage]: what is to be exported?"),
        ("export agent", 2, "", "error[usage]: which agent?"),
        ("export runs x", 2, "", "error[usage]: `export` takes"),
        ("export agent helper --target cobol", 2, "", "error[usage]: target must be one of"),
        ("export agent helper --target php --json-file", 2, "", "error[usage]: `--json-file`"),
        ("export agent helper --speed 9", 2, "", "error[usage]: `export` has no option"),
        ("export agent nobody", 4, "", "error[not_found]: "),
        ("export agent helper --tenant acme", 4, "", "error[not_found]: "),
        ("make-tool ---", 2, "", "error[usage]: "),
        ("make-tool", 2, "", "error[usage]: what is the tool"),
        ("make-tool lookup_order", 0, "out/Tools/LookupOrderTool.php\n", ""),
        ("make-tool Lookup-order --target typescript --path here", 0, "here/tools/LookupOrderTool.ts\n", ""),
    ] {
        let told = typed(&desk, text).await;
        assert_eq!((told.exit.code(), told.stdout.as_str()), (exit, stdout), "{text}: {}", told.stderr);
        assert!(told.stderr.starts_with(stderr) && told.stderr.is_empty() == stderr.is_empty(), "{text}: {}", told.stderr);
    }
    let kept = desk.get("/api/agents/helper").await.1["class_path"].clone();
    assert_eq!(kept, "agents/HelperAgent.kt#HelperAgent", "what is written elsewhere is not kept");
}

#[tokio::test]
async fn files_of_others_stay_without_force() {
    let desk = Desk::with(json!({"export_path": "out"}));
    desk.make("/api/agents", json!({"name": "Helper"})).await;
    for (command, path) in [("export agent helper", "out/Agents/HelperAgent.php"), ("make-tool look", "out/Tools/LookTool.php")] {
        desk.put(path, "mine");
        let told = typed(&desk, command).await;
        assert_eq!((told.exit.code(), desk.read(path).as_deref()), (1, Some("mine")), "{}", told.stderr);
        assert!(told.stderr.starts_with("error[in_use]: ") && told.stderr.contains("--force"), "{}", told.stderr);
        assert_eq!(typed(&desk, &format!("{command} --force")).await.exit.code(), 0);
        assert_ne!(desk.read(path).as_deref(), Some("mine"));
    }
}

#[tokio::test]
async fn json_is_one_object_and_stdout_is_the_file() {
    let desk = Desk::with(json!({"export_path": "out"}));
    desk.make("/api/agents", json!({"name": "Helper"})).await;
    let told = typed(&desk, "--json export agent helper").await;
    let told: Value = serde_json::from_str(&told.stdout).expect("one object");
    assert_eq!(told, json!({"files": ["out/Agents/HelperAgent.php"], "class": "HelperAgent", "class_path": "Agents/HelperAgent.php#HelperAgent"}));
    let shown = typed(&desk, "export agent helper --stdout").await;
    assert_eq!(Some(shown.stdout), desk.read("out/Agents/HelperAgent.php"));
    let told: Value = serde_json::from_str(&typed(&desk, "export agent helper --stdout --json").await.stdout).expect("one object");
    assert_eq!(told["code"].as_str(), desk.read("out/Agents/HelperAgent.php").as_deref());
    let told: Value = serde_json::from_str(&typed(&desk, "--json export agent nobody").await.stdout).expect("one object");
    assert_eq!(told["error"]["code"], "not_found");
}

#[tokio::test]
async fn a_json_file_is_imported_as_it_was() {
    let desk = Desk::new();
    desk.make("/api/agents", json!({"name": "Helper", "instructions": "Help."})).await;
    let made = desk.install("lead-qualification").await;
    let folder = desk.folder.path().join("json");
    let told = typed(&desk, &format!("export workflow lead-qualification --json-file --path {}", folder.display())).await;
    assert_eq!(told.exit.code(), 0, "{}", told.stderr);
    let other = Desk::new();
    let file: Value = serde_json::from_str(&desk.read("json/lead-qualification.json").expect("a file")).expect("JSON");
    let (status, copy) = other.post("/api/codegen/import", json!({"json": file})).await;
    assert_eq!(status, 201, "{copy}");
    assert_eq!(copy["workflow"]["graph"]["edges"], made["graph"]["edges"]);
    assert_eq!(copy["agents"][0]["slug"], "support-assistant");
    let listed = desk.get("/api/registry/classes").await.1;
    assert_eq!(listed["data"][0]["json_path"], "lead-qualification.json", "{listed}");
}
