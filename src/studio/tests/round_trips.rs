//! Owns the tests of what happens to one definition from its making to its end.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::studio::ListQuery;
use crate::studio::definitions::resource::Written;
use crate::studio::definition_writes::Origin;

#[tokio::test]
async fn every_kind_is_made_read_changed_replaced_and_deleted() {
    let (studio, scope) = (studio(), scope());
    for resource in Resource::ALL {
        let made = make(&studio, resource, example(resource)).await;
        let (id, slug) = (text(&made, "id"), text(&made, "slug"));
        assert_eq!(made["revision"], 1);
        assert_eq!(studio.get(&scope, resource, id).await.expect("by id"), made);
        assert_eq!(studio.get(&scope, resource, &id.to_uppercase()).await.expect("by id in upper case"), made);
        assert_eq!(studio.get(&scope, resource, slug).await.expect("by slug"), made);

        let patched = studio.patch(&scope, resource, slug, &json!({"description": "Changed"}), Some(1)).await.expect("patched");
        assert_eq!((&patched["revision"], &patched["description"], &patched["slug"]), (&json!(2), &json!("Changed"), &made["slug"]));
        assert_ne!(patched["updated_at"], made["updated_at"]);
        assert_eq!(patched["created_at"], made["created_at"]);

        let mut body = example(resource);
        body["revision"] = json!(2);
        let put = studio.put(&scope, resource, id, &body, None).await.expect("put");
        assert_eq!(put["revision"], 3);
        assert_eq!(put["slug"], made["slug"], "a slug stays when a body names none");
        assert_eq!(put["description"], made["description"], "absent fields take their defaults");

        let stale = studio.put(&scope, resource, id, &body, None).await.expect_err("stale");
        assert!(is(&stale, Kind::RevisionConflict));
        assert_eq!(stale.members["current"], put);
        assert_eq!(refusal(studio.patch(&scope, resource, id, &json!({}), Some(1)).await), "revision_conflict");
        assert_eq!(refusal(studio.delete(&scope, resource, id, &Value::Null, Some(1), false).await), "revision_conflict");

        studio.delete(&scope, resource, id, &Value::Null, Some(3), false).await.expect("deleted");
        let gone = studio.get(&scope, resource, id).await.expect_err("gone");
        assert_eq!((gone.kind, &gone.members["resource"], &gone.members["id"]), (Kind::NotFound, &json!(resource.word()), &json!(id)));
        assert_eq!(refusal(studio.delete(&scope, resource, id, &Value::Null, None, false).await), "not_found");
    }
}

#[tokio::test]
async fn resources_are_shown_whole_and_in_order() {
    let studio = studio();
    let mut told = String::new();
    for resource in Resource::ALL {
        let made = make(&studio, resource, example(resource)).await;
        told.push_str(&format!("{made}\n"));
    }
    expect![[r#"
        {"id":"01a1faaf-fd00-7000-8000-000000000001","slug":"support-assistant","name":"Support assistant","description":"","provider":"script","model":"demo","credential":null,"instructions":"Be brief.","tools":[{"ref":"toolkit:calculator","config":{},"only":null,"exclude":[],"require_approval":null,"idempotent":null}],"require_tool_approval":false,"tool_max_runs":10,"parallel_tool_calls":null,"on_length":"keep","parameters":{"temperature":null,"top_p":null,"max_tokens":null,"reasoning_effort":null,"stop":null},"output_schema":null,"schema":null,"memory_config":{"context_window":null,"driver":"database","summarization_enabled":false,"summarization_threshold":0.85,"budget_rag":null,"budget_tool_results":null,"budget_state":null},"tags":[],"metadata":{},"source":"studio","template_id":null,"locked":false,"class_path":null,"revision":1,"created_at":"2026-11-20T20:40:00.000+00:00","updated_at":"2026-11-20T20:40:00.000+00:00"}
        {"id":"01a1faaf-fd00-7000-8000-000000000003","slug":"triage","name":"Triage","description":"Sorts","graph":{"version":1,"nodes":[{"id":"start_1","type":"start","position":{"x":100,"y":200},"data":{},"title":"Start"},{"id":"stop_1","type":"stop","position":{"x":500,"y":200},"data":{"reply":""},"title":"Stop"}],"edges":[{"id":"e1","source":"start_1","target":"stop_1","sourceHandle":"default","targetHandle":"default"}],"annotations":[],"viewport":{"x":0,"y":0,"zoom":1}},"state_schema":null,"tags":["a"],"metadata":{},"source":"studio","template_id":null,"locked":false,"class_path":null,"revision":1,"created_at":"2026-11-20T20:40:02.000+00:00","updated_at":"2026-11-20T20:40:02.000+00:00","warnings":[],"agents":[]}
        {"id":"01a1faaf-fd00-7000-8000-000000000005","slug":"lookup-order","name":"lookup_order","description":"","kind":"webhook","input_schema":{"type":"object","properties":{}},"config":{"method":"GET","url":"https://shop.example/orders/{order_id}","headers":{}},"require_approval":false,"idempotent":false,"timeout_ms":null,"tags":[],"metadata":{},"source":"studio","locked":false,"class_path":null,"revision":1,"created_at":"2026-11-20T20:40:04.000+00:00","updated_at":"2026-11-20T20:40:04.000+00:00"}
        {"id":"01a1faaf-fd00-7000-8000-000000000007","slug":"docs","name":"Docs","description":"","transport":"http","command":null,"args":[],"env":{},"url":"https://mcp.example/mcp","headers":{},"token":"secret:MCP_TOKEN","only":[],"exclude":[],"require_approval":false,"timeout_ms":30000,"enabled":true,"metadata":{},"source":"studio","locked":false,"revision":1,"created_at":"2026-11-20T20:40:06.000+00:00","updated_at":"2026-11-20T20:40:06.000+00:00"}
        {"id":"01a1faaf-fd00-7000-8000-000000000009","slug":"docs","name":"Docs","description":"","embeddings_provider":"hash","embeddings_model":"hash-256","dimensions":null,"language":"en","retrieval_defaults":{"mode":"hybrid","top_k":5,"threshold":null,"filter":{}},"chunking":{"max_words":200,"overlap_words":20},"document_count":0,"chunk_count":0,"size_bytes":0,"needs_reindex":false,"metadata":{},"source":"studio","locked":false,"revision":1,"created_at":"2026-11-20T20:40:08.000+00:00","updated_at":"2026-11-20T20:40:08.000+00:00"}
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn a_copy_has_a_name_and_a_slug_of_its_own() {
    let (studio, scope) = (studio(), scope());
    let mut told = Vec::new();
    for resource in Resource::ALL {
        let made = make(&studio, resource, example(resource)).await;
        for _ in 0..2 {
            let copy = studio.duplicate(&scope, resource, text(&made, "id")).await.expect("a copy");
            assert_eq!(copy["description"], made["description"]);
            told.push(format!("{} {} {}", text(&copy, "name"), text(&copy, "slug"), copy["revision"]));
        }
    }
    expect![[r#"
        Support assistant (copy) support-assistant-copy 1
        Support assistant (copy) support-assistant-copy-1 1
        Triage (copy) triage-copy 1
        Triage (copy) triage-copy-1 1
        lookup_order_copy lookup-order-copy 1
        lookup_order_copy lookup-order-copy-1 1
        Docs (copy) docs-copy 1
        Docs (copy) docs-copy-1 1
        Docs (copy) docs-copy 1
        Docs (copy) docs-copy-1 1"#]]
    .assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn slugs_follow_names_count_up_and_collide_only_when_they_are_asked_for() {
    let (studio, scope) = (studio(), scope());
    for wanted in ["same-name", "same-name-1", "same-name-2"] {
        assert_eq!(make(&studio, Resource::Agent, json!({"name": "Same name"})).await["slug"], wanted);
    }
    let taken = studio.create(&scope, Resource::Agent, &json!({"name": "Other", "slug": "same-name"})).await;
    assert_eq!(refusal(taken), "slug_taken");
    assert_eq!(make(&studio, Resource::Tool, json!({"name": "t", "slug": "same-name", "kind": "builder", "config": {"code": "return 1"}})).await["slug"], "same-name");
    assert_eq!(refusal(studio.patch(&scope, Resource::Agent, "same-name-1", &json!({"slug": "same-name"}), None).await), "slug_taken");
    let own = studio.patch(&scope, Resource::Agent, "same-name-1", &json!({"slug": "same-name-1", "name": "New"}), None).await.expect("its own");
    assert_eq!(own["slug"], "same-name-1");
    let fresh = studio.patch(&scope, Resource::Agent, "same-name-1", &json!({"slug": null}), None).await.expect("a slug of its name");
    assert_eq!(fresh["slug"], "new");
    let taken = studio.create(&scope, Resource::McpServer, &json!({"name": "F", "slug": "files", "transport": "http", "url": "http://x"})).await;
    assert_eq!(refusal(taken), "slug_taken", "slugs of the configuration are taken too");
}

#[tokio::test]
async fn lists_are_newest_first_and_go_on_where_they_ended() {
    let (studio, scope) = (studio(), scope());
    for name in ["One", "Two", "Three"] {
        make(&studio, Resource::McpServer, json!({"name": name, "transport": "sse", "url": "https://x.example"})).await;
    }
    let mut query = ListQuery { limit: 2, ..ListQuery::default() };
    let mut pages = Vec::new();
    loop {
        let page = studio.list(&scope, Resource::McpServer, query.clone()).await.expect("a page");
        pages.push(page.data.iter().map(|one| text(one, "slug")).collect::<Vec<_>>().join(" "));
        let Some(next) = page.next_cursor else { break };
        query = ListQuery::parse([("limit", "2"), ("cursor", next.as_str())]).expect("a query");
    }
    assert_eq!(pages, ["three two", "one files"]);
    let found = ListQuery { q: Some("TWO".into()), ..ListQuery::default() };
    assert_eq!(studio.list(&scope, Resource::McpServer, found).await.expect("a page").data.len(), 1);
    let bad = ListQuery { after: Some("x".into()), ..ListQuery::default() };
    assert_eq!(refusal(studio.list(&scope, Resource::McpServer, bad).await), "validation_failed cursor");
}

#[tokio::test]
async fn servers_of_the_configuration_are_there_but_locked() {
    let (studio, scope) = (studio(), scope());
    let server = studio.get(&scope, Resource::McpServer, "files").await.expect("there");
    assert_eq!((&server["locked"], &server["source"], &server["command"]), (&json!(true), &json!("host"), &json!("python3")));
    assert_eq!(studio.get(&scope, Resource::McpServer, text(&server, "id")).await.expect("by id"), server);
    assert_eq!(refusal(studio.patch(&scope, Resource::McpServer, "files", &json!({"name": "x"}), None).await), "locked");
    assert_eq!(refusal(studio.delete(&scope, Resource::McpServer, "files", &Value::Null, None, true).await), "locked");
}

#[tokio::test]
async fn secrets_that_the_configuration_writes_into_a_server_are_shown_to_nobody_and_not_copied() {
    let servers = json!({
        "paid": {"command": "npx", "args": [
            "-y", "mcp-remote", "--api-key", "canary", "--token=canary", "API_KEY=canary", "sk-canary", "--header", "Authorization: Bearer canary",
            "--header", "X-Shop: secret:SHOP", "postgres://me:canary@db/x", "--url", "https://mcp.example/?api_key=canary&shop=7", "--max-tokens", "4096",
        ], "env": {"API_KEY": "canary"}},
        "far": {"url": "https://me:canary@mcp.example/sse?api_key=canary&shop=7"},
    });
    let (studio, scope) = (studio_with(&json!({"mcp": {"servers": servers}})), scope());
    let listed = studio.list(&scope, Resource::McpServer, ListQuery::default()).await.expect("a page").into_json().to_string();
    assert!(!listed.contains("canary"), "{listed}");
    let paid = studio.get(&scope, Resource::McpServer, "paid").await.expect("there");
    assert_eq!(paid["args"], json!([
        "-y", "mcp-remote", "--api-key", "***", "--token=***", "API_KEY=***", "***", "--header", "Authorization: ***",
        "--header", "X-Shop: secret:SHOP", "postgres://***@db/x", "--url", "https://mcp.example/?api_key=***&shop=7", "--max-tokens", "4096",
    ]));
    assert_eq!(studio.get(&scope, Resource::McpServer, "far").await.expect("there")["url"], "https://***@mcp.example/sse?api_key=***&shop=7");
    assert_eq!(refusal(studio.duplicate(&scope, Resource::McpServer, "paid").await), "validation_failed args env");
    assert_eq!(refusal(studio.duplicate(&scope, Resource::McpServer, "far").await), "validation_failed url");
    assert_eq!(studio.duplicate(&scope, Resource::McpServer, "files").await.map(|copy| copy["command"].clone()).ok(), None, "python3 is not on the list");
}

#[tokio::test]
async fn builder_tools_need_their_flag_to_be_made_or_changed() {
    let (open, shut, scope) = (studio(), studio_with(&json!({"allow_builder_tools": false})), scope());
    let body = json!({"name": "double", "kind": "builder", "config": {"code": "return input.n * 2"}});
    let refused = shut.create(&scope, Resource::Tool, &body).await.expect_err("refused");
    assert_eq!((refused.kind, &refused.members["flag"]), (Kind::FlagDisabled, &json!("allow_builder_tools")));
    assert_eq!(make(&open, Resource::Tool, body).await["config"]["code"], "return input.n * 2");
}

#[tokio::test]
async fn changes_that_name_no_revision_are_all_kept() {
    let (studio, scope) = (studio(), scope());
    let id = text(&make(&studio, Resource::Agent, json!({"name": "A"})).await, "id").to_owned();
    let patches: Vec<Value> = (0..6).map(|n| json!({"metadata": {n.to_string(): n}})).collect();
    let changes = patches.iter().map(|patch| studio.patch(&scope, Resource::Agent, &id, patch, None));
    for done in futures_util::future::join_all(changes).await {
        done.expect("kept");
    }
    let agent = studio.get(&scope, Resource::Agent, &id).await.expect("there");
    assert_eq!(agent["metadata"].as_object().map(serde_json::Map::len), Some(6));
    assert_eq!(agent["revision"], 7);
}

#[tokio::test]
async fn what_others_name_is_deleted_only_by_force() {
    let (studio, scope) = (studio(), scope());
    let base = make(&studio, Resource::KnowledgeBase, json!({"name": "Docs"})).await;
    let tool = make(&studio, Resource::Tool, json!({"name": "search", "kind": "rag", "config": {"knowledge_base_id": "docs"}})).await;
    assert_eq!(tool["config"]["knowledge_base_id"], base["id"], "a slug becomes the id");
    let agent = make(&studio, Resource::Agent, json!({"name": "A", "tools": [{"ref": "tool:search"}]})).await;
    for (resource, used, by) in [(Resource::KnowledgeBase, "docs", &tool), (Resource::Tool, "search", &agent)] {
        let refused = studio.delete(&scope, resource, used, &Value::Null, None, false).await.expect_err("in use");
        assert!(is(&refused, Kind::InUse));
        assert_eq!(refused.members["used_by"][0]["id"], by["id"]);
        assert_eq!(refused.members["used_by"][0]["name"], by["name"]);
    }
    studio.delete(&scope, Resource::Tool, "search", &Value::Null, None, true).await.expect("forced");
    studio.delete(&scope, Resource::KnowledgeBase, "docs", &Value::Null, None, false).await.expect("free now");
}

#[tokio::test]
async fn a_refused_write_leaves_nothing_behind() {
    let (studio, writer, id) = (studio(), studio().writer(&scope()), Id::v7(1, 2, 3));
    let refused = studio.writing(move |tx| {
        let written = Written::read(Resource::Agent, &example(Resource::Agent), &writer.catalog, None)?;
        writer.insert(tx, Resource::Agent, id, written, &Origin::STUDIO)?;
        Err::<(), _>(Error::field("x", "x is wrong").into())
    });
    assert_eq!(refusal(refused.await), "validation_failed x");
    assert_eq!(refusal(studio.get(&scope(), Resource::Agent, &id.to_string()).await), "not_found");
}
