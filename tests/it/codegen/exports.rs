//! Exports: what is shown and written, over which files, and what of another tenant.

use serde_json::{Value, json};

use super::{Desk, code};

#[tokio::test]
async fn a_preview_shows_what_an_export_writes_and_writes_nothing() {
    let desk = Desk::new();
    let made = desk.install("support-rag-hitl").await;
    for target in ["php", "python", "typescript", "kotlin", "swift", "ruby", "rust"] {
        let (_, shown) = desk.post("/api/codegen/preview", json!({"kind": "workflow", "id": made["slug"], "target": target})).await;
        let path = shown["files"][0]["path"].as_str().expect("a path").to_owned();
        assert_eq!((&shown["file_count"], &shown["files"][0]["code"]), (&json!(1), &shown["code"]));
        assert_eq!(desk.read(&format!("app/{path}")), None);
        let (status, written) = desk.post("/api/codegen/export", json!({"kind": "workflow", "id": made["id"], "target": target})).await;
        let class_path = format!("{path}#{}", shown["class_name"].as_str().expect("a name"));
        assert_eq!((status, written), (200, json!({"files": [path], "class_path": class_path})));
        assert_eq!(desk.read(&format!("app/{path}")).as_deref(), shown["code"].as_str());
        let name = shown["fqcn"].as_str().expect("a name").replace('\\', "%5C");
        let (status, found) = desk.get(&format!("/api/registry/class?class={name}")).await;
        // Where a language has no namespaces, there are several classes of this name.
        let is_whole = shown["fqcn"] != shown["class_name"];
        assert_eq!(status, if is_whole { 200 } else { 422 }, "{name}: {found}");
        assert!(is_whole || !matches!(target, "php" | "python" | "kotlin"), "{name}");
        if target == "python" {
            let module = format!("{}.{}", path.trim_end_matches(".py").replace('/', "."), shown["class_name"].as_str().expect("a name"));
            for name in [module.clone(), format!("app.{module}")] {
                assert_eq!(desk.get(&format!("/api/registry/class?class={name}")).await.0, 200, "{name}");
            }
        }
        let stored = desk.get(&format!("/api/workflows/{}", made["id"].as_str().expect("an id"))).await.1;
        assert_eq!((&stored["class_path"], &stored["revision"]), (&json!(class_path), &json!(1)));
    }
    let (_, shown) = desk.post("/api/codegen/preview", json!({"kind": "workflow", "id": made["slug"]})).await;
    assert_eq!((&shown["namespace"], &shown["fqcn"]), (&json!("App\\Studio\\Workflows"), &json!("App\\Studio\\Workflows\\SupportRagHitlWorkflow")));
    // Agents are named by their slugs and come along, so that another studio can take all of it.
    let text = shown["code"].as_str().expect("text");
    assert!(text.contains("'agent_ref' => 'intent-classifier'") && text.contains("'knowledge-agent' => [") && !text.contains("agent_id"), "{text}");
}

#[tokio::test]
async fn another_file_is_replaced_only_when_that_is_asked_for() {
    let desk = Desk::new();
    let made = desk.make("/api/agents", json!({"name": "Helper"})).await;
    let body = json!({"kind": "agent", "id": made["id"]});
    desk.make("/api/codegen/export", body.clone()).await;
    let first = desk.read("app/Agents/HelperAgent.php").expect("a file");
    assert_eq!(desk.post("/api/codegen/export", body.clone()).await.0, 200, "the same content");
    desk.put("app/Agents/HelperAgent.php", "<?php // mine\n");
    let answer = desk.post("/api/codegen/export", body.clone()).await;
    assert_eq!(code(&answer), "409 in_use");
    assert_eq!(answer.1["used_by"][0]["id"], "Agents/HelperAgent.php");
    assert_eq!(desk.read("app/Agents/HelperAgent.php").as_deref(), Some("<?php // mine\n"));
    desk.make("/api/codegen/export", json!({"kind": "agent", "id": "helper", "overwrite": true})).await;
    assert_eq!(desk.read("app/Agents/HelperAgent.php"), Some(first));
    std::fs::create_dir_all(desk.folder.path().join("app/agents/helper_agent.py")).expect("a folder");
    let answer = desk.post("/api/codegen/export", json!({"kind": "agent", "id": "helper", "target": "python", "overwrite": true})).await;
    assert_eq!(code(&answer), "409 in_use");
    let left: Vec<_> = std::fs::read_dir(desk.folder.path().join("app/Agents")).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["HelperAgent.php"], "nothing half written stays");
}

#[cfg(unix)]
#[tokio::test]
async fn links_do_not_lead_out_of_the_export_path() {
    use std::os::unix::fs::symlink;
    let desk = Desk::new();
    desk.make("/api/agents", json!({"name": "Helper"})).await;
    let at = |path: &str| desk.folder.path().join(path);
    for folder in ["app", "elsewhere"] {
        std::fs::create_dir_all(at(folder)).expect("a folder");
    }
    symlink(at("elsewhere"), at("app/Agents")).expect("a link");
    let body = json!({"kind": "agent", "id": "helper", "overwrite": true});
    let answer = desk.post("/api/codegen/export", body.clone()).await;
    assert_eq!(code(&answer), "422 validation_failed");
    assert!(answer.1["errors"]["export_path"].is_array(), "{}", answer.1);
    assert_eq!(std::fs::read_dir(at("elsewhere")).expect("a folder").count(), 0);
    std::fs::remove_file(at("app/Agents")).expect("removed");
    // A link in the place of the file is replaced itself; what it leads to stays.
    desk.put("elsewhere/secret.php", "keep");
    std::fs::create_dir_all(at("app/Agents")).expect("a folder");
    symlink(at("elsewhere/secret.php"), at("app/Agents/HelperAgent.php")).expect("a link");
    assert_eq!(code(&desk.post("/api/codegen/export", json!({"kind": "agent", "id": "helper"})).await), "409 in_use");
    desk.make("/api/codegen/export", body).await;
    assert_eq!(desk.read("elsewhere/secret.php").as_deref(), Some("keep"));
    assert!(desk.read("app/Agents/HelperAgent.php").is_some_and(|text| text.contains("HelperAgent")));
}

#[tokio::test]
async fn bodies_are_checked_and_tenants_do_not_see_each_other() {
    let desk = Desk::new();
    desk.make("/api/agents", json!({"name": "Helper"})).await;
    for (body, wanted) in [
        (json!({}), "422 validation_failed"),
        (json!({"kind": "mcp_server", "id": "helper"}), "422 validation_failed"),
        (json!({"kind": "agent", "id": "helper", "target": "cobol"}), "422 validation_failed"),
        (json!({"kind": "agent", "id": "helper", "overwrite": "yes"}), "422 validation_failed"),
        (json!({"kind": "agent", "id": "nobody"}), "404 not_found"),
        (json!({"kind": "workflow", "id": "helper"}), "404 not_found"),
    ] {
        for path in ["/api/codegen/preview", "/api/codegen/export"] {
            if path.ends_with("preview") && body.get("overwrite").is_some_and(|flag| flag.is_string()) {
                continue;
            }
            assert_eq!(code(&desk.post(path, body.clone()).await), wanted, "{path} {body}");
        }
    }
    let body = json!({"kind": "agent", "id": "helper"});
    for path in ["/api/codegen/preview", "/api/codegen/export"] {
        let answer = desk.sent("acme", "POST", path, Some(&body)).await;
        assert_eq!(code(&answer), "404 not_found");
    }
    assert_eq!(desk.read("app/Agents/HelperAgent.php"), None);
    let bad = Desk::with(json!({"export_namespace": "App; exit()"}));
    bad.make("/api/agents", json!({"name": "Helper"})).await;
    let answer = bad.post("/api/codegen/export", json!({"kind": "agent", "id": "helper"})).await;
    assert_eq!(code(&answer), "422 validation_failed");
    assert!(answer.1["errors"]["export_namespace"].is_array());
}

#[tokio::test]
async fn exports_of_a_tenant_are_its_own() {
    let desk = Desk::new();
    let classes = async |tenant: &str| {
        let (_, listed) = desk.sent(tenant, "GET", "/api/registry/classes", None).await;
        listed["data"].as_array().expect("a list").iter().map(|one| one["label"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let body = json!({"kind": "agent", "id": "helper"});
    let mut paths = Vec::new();
    for (tenant, name) in [("", "Of nobody"), ("acme", "Of acme"), ("other", "Of others")] {
        let made = desk.sent(tenant, "POST", "/api/agents", Some(&json!({"name": name, "slug": "helper"}))).await;
        assert_eq!(made.0, 201, "{made:?}");
        let exported = desk.sent(tenant, "POST", "/api/codegen/export", Some(&body)).await;
        assert_eq!(exported.0, 200, "{exported:?}");
        paths.push(exported.1["files"][0].as_str().expect("a path").to_owned());
    }
    assert!(paths[0] == "Agents/HelperAgent.php" && paths[1] != paths[2], "{paths:?}");
    for (path, name) in paths.iter().zip(["Of nobody", "Of acme", "Of others"]) {
        assert!(desk.read(&format!("app/{path}")).is_some_and(|text| text.contains(name)), "{path}");
    }
    assert_eq!([classes("").await, classes("acme").await, classes("other").await, classes("third").await], [
        vec!["Of nobody"], vec!["Of acme"], vec!["Of others"], vec!["Of nobody"],
    ]);
    let (status, shown) = desk.sent("acme", "GET", "/api/registry/class?class=HelperAgent", None).await;
    assert_eq!((status, &shown["definition"]["name"]), (200, &json!("Of acme")));
}

#[tokio::test]
async fn secrets_appear_by_name_only() {
    let desk = Desk::with(json!({"secrets": {"SHOP_TOKEN": "tok-12345"}}));
    let headers = json!({"Authorization": "secret:SHOP_TOKEN"});
    let config = json!({"method": "GET", "url": "https://shop.example/", "headers": headers});
    desk.make("/api/tools", json!({"name": "shop", "kind": "webhook", "config": config})).await;
    desk.make("/api/agents", json!({"name": "Helper", "credential": "secret:SHOP_TOKEN"})).await;
    for (kind, id) in [("tool", "shop"), ("agent", "helper")] {
        let (_, shown) = desk.post("/api/codegen/preview", json!({"kind": kind, "id": id})).await;
        let text = shown["code"].as_str().expect("text");
        assert!(text.contains("'secret:SHOP_TOKEN'") && !text.contains("tok-12345"), "{text}");
    }
}

#[tokio::test]
async fn two_exports_at_once_leave_one_whole_file() {
    let desk = Desk::new();
    desk.make("/api/agents", json!({"name": "Helper", "instructions": "x".repeat(90_000)})).await;
    let body = json!({"kind": "agent", "id": "helper", "overwrite": true});
    let answers = futures_util::future::join_all((0..8).map(|_| desk.post("/api/codegen/export", body.clone()))).await;
    assert!(answers.iter().all(|answer| answer.0 == 200), "{answers:?}");
    let (_, shown) = desk.post("/api/codegen/preview", json!({"kind": "agent", "id": "helper"})).await;
    assert_eq!(desk.read("app/Agents/HelperAgent.php").as_deref(), shown["code"].as_str());
    assert_eq!(desk.get("/api/agents/helper").await.1["revision"], Value::from(1));
}
