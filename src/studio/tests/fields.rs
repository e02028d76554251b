//! Owns the table of bodies that are refused, field by field.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

fn with(resource: Resource, more: &Value) -> Value {
    let mut body = example(resource);
    crate::studio::definitions::edits::merge(&mut body, more);
    body
}

#[tokio::test]
async fn wrong_fields_are_named_with_their_paths() {
    use Resource::{Agent, KnowledgeBase, McpServer, Tool, Workflow};
    let (studio, scope) = (studio(), scope());
    let long = "a".repeat(256);
    let cases = [
        (Agent, json!({"name": null})),
        (Agent, json!({"name": " "})),
        (Agent, json!({"name": long, "slug": "No Slug"})),
        (Agent, json!({"provider": "openai"})),
        (Agent, json!({"credential": "sk-live-1"})),
        (Agent, json!({"instructions": "a".repeat(100_001)})),
        (Agent, json!({"tools": [{"ref": "calculator"}, {"ref": "toolkit:x"}, {}, 3]})),
        (Agent, json!({"tools": [{"ref": "tool:none"}, {"ref": "mcp:none"}, {"ref": "toolkit:none"}, {"ref": "host:any"}]})),
        (Agent, json!({"tool_max_runs": 0, "parallel_tool_calls": 1, "require_tool_approval": "yes"})),
        (Agent, json!({"parameters": {"temperature": 2.1, "top_p": -1, "max_tokens": 0, "stop": "x"}})),
        (Agent, json!({"output_schema": "none", "schema": {"type": "thing"}})),
        (Agent, json!({"memory_config": {"context_window": 255, "driver": "disk", "summarization_threshold": 0, "budget_rag": 0}})),
        (Agent, json!({"tags": "a", "metadata": []})),
        (Workflow, json!({"graph": [], "state_schema": {"type": 1}})),
        (Workflow, json!({"graph": {"version": 1, "nodes": [], "edges": []}})),
        (Tool, json!({"name": "look up"})),
        (Tool, json!({"kind": null})),
        (Tool, json!({"kind": "class"})),
        (Tool, json!({"input_schema": {"type": "array"}, "timeout_ms": 0})),
        (Tool, json!({"config": {"url": null}})),
        (Tool, json!({"config": {"url": "ftp://x", "method": "TRACE"}})),
        (Tool, json!({"config": {"url": "https://{host}.example/"}})),
        (Tool, json!({"config": {"url": "https://me:pass@shop.example/"}})),
        (Tool, json!({"config": {"headers": {"Authorization": "Bearer abc", "X Y": "1", "Accept": 3, "A": "b\nc"}}})),
        (Tool, json!({"kind": "rag", "config": {"knowledge_base_id": "none"}})),
        (Tool, json!({"kind": "rag", "config": {"top_k": 101, "threshold": 2, "filter": 1}})),
        (Tool, json!({"kind": "builder"})),
        (McpServer, json!({"transport": null})),
        (McpServer, json!({"transport": "stdio"})),
        (McpServer, json!({"transport": "stdio", "command": "sh"})),
        (McpServer, json!({"url": null})),
        (McpServer, json!({"token": "abc", "env": {"API_KEY": "abc"}, "args": [1], "timeout_ms": "x", "enabled": 1})),
        (KnowledgeBase, json!({"dimensions": 0, "retrieval_defaults": {"mode": "magic", "top_k": 0, "threshold": 1.5}})),
        (KnowledgeBase, json!({"chunking": {"max_words": 10, "overlap_words": 10}})),
    ];
    let mut told = Vec::new();
    for (resource, more) in cases {
        let shown = if more.to_string().len() > 90 { "(long)".to_owned() } else { more.to_string() };
        let answer = refusal(studio.create(&scope, resource, &with(resource, &more)).await);
        told.push(format!("{} {shown}: {answer}", resource.word()));
    }
    expect![[r#"
        agent {"name":null}: validation_failed name
        agent {"name":" "}: validation_failed name
        agent (long): validation_failed name slug
        agent {"provider":"openai"}: validation_failed model
        agent {"credential":"sk-live-1"}: validation_failed credential
        agent (long): validation_failed instructions
        agent {"tools":[{"ref":"calculator"},{"ref":"toolkit:x"},{},3]}: validation_failed tools.0.ref tools.2.ref tools.3
        agent (long): validation_failed tools.0.ref tools.1.ref tools.2.ref
        agent {"tool_max_runs":0,"parallel_tool_calls":1,"require_tool_approval":"yes"}: validation_failed require_tool_approval tool_max_runs parallel_tool_calls
        agent {"parameters":{"temperature":2.1,"top_p":-1,"max_tokens":0,"stop":"x"}}: validation_failed parameters.temperature parameters.top_p parameters.max_tokens parameters.stop
        agent {"output_schema":"none","schema":{"type":"thing"}}: validation_failed output_schema schema
        agent (long): validation_failed memory_config.summarization_threshold memory_config.context_window memory_config.driver memory_config.budget_rag
        agent {"tags":"a","metadata":[]}: validation_failed tags metadata
        workflow {"graph":[],"state_schema":{"type":1}}: validation_failed graph state_schema
        workflow {"graph":{"version":1,"nodes":[],"edges":[]}}: graph_invalid graph
        tool {"name":"look up"}: validation_failed name
        tool {"kind":null}: validation_failed kind
        tool {"kind":"class"}: validation_failed kind
        tool {"input_schema":{"type":"array"},"timeout_ms":0}: validation_failed input_schema timeout_ms
        tool {"config":{"url":null}}: validation_failed config.url
        tool {"config":{"url":"ftp://x","method":"TRACE"}}: validation_failed config.method config.url
        tool {"config":{"url":"https://{host}.example/"}}: validation_failed config.url
        tool {"config":{"url":"https://me:pass@shop.example/"}}: validation_failed config.url
        tool {"config":{"headers":{"Authorization":"Bearer abc","X Y":"1","Accept":3,"A":"b\nc"}}}: validation_failed config.headers.Accept config.headers.Authorization config.headers.X Y config.headers.A
        tool {"kind":"rag","config":{"knowledge_base_id":"none"}}: validation_failed config.knowledge_base_id
        tool {"kind":"rag","config":{"top_k":101,"threshold":2,"filter":1}}: validation_failed config.knowledge_base_id config.top_k config.threshold config.filter
        tool {"kind":"builder"}: validation_failed config.code
        mcp_server {"transport":null}: validation_failed transport
        mcp_server {"transport":"stdio"}: validation_failed command
        mcp_server {"transport":"stdio","command":"sh"}: validation_failed command
        mcp_server {"url":null}: validation_failed url
        mcp_server {"token":"abc","env":{"API_KEY":"abc"},"args":[1],"timeout_ms":"x","enabled":1}: validation_failed args.0 env.API_KEY token timeout_ms enabled
        knowledge_base {"dimensions":0,"retrieval_defaults":{"mode":"magic","top_k":0,"threshold":1.5}}: validation_failed dimensions retrieval_defaults.threshold retrieval_defaults.mode retrieval_defaults.top_k
        knowledge_base {"chunking":{"max_words":10,"overlap_words":10}}: validation_failed chunking.overlap_words"#]].assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn what_is_allowed_passes() {
    let studio = studio();
    for (resource, more) in [
        (Resource::Agent, json!({"credential": "secret:A", "output_schema": "verdict", "parameters": {"temperature": 0, "stop": ["x"]}})),
        (Resource::Agent, json!({"memory_config": null, "tool_max_runs": 100.0, "tools": [{"ref": "provider:web_search"}, {"ref": "mcp:files"}]})),
        (Resource::Tool, json!({"config": {"headers": {"Authorization": "secret:T"}}, "timeout_ms": 5})),
        (Resource::McpServer, json!({"transport": "stdio", "command": "npx", "url": null, "env": {"A_TOKEN": "secret:B", "X_REGION": "10"}})),
        (Resource::KnowledgeBase, json!({"embeddings_provider": "openai", "embeddings_model": "m", "dimensions": 1536})),
    ] {
        make(&studio, resource, with(resource, &more)).await;
    }
}

#[tokio::test]
async fn a_tool_keeps_its_kind() {
    let (studio, scope) = (studio(), scope());
    make(&studio, Resource::Tool, example(Resource::Tool)).await;
    let other = json!({"kind": "builder", "config": {"code": "return 1"}});
    assert_eq!(refusal(studio.patch(&scope, Resource::Tool, "lookup-order", &other, None).await), "validation_failed kind");
    let put = json!({"name": "lookup_order", "config": {"url": "https://x.example", "method": "POST"}});
    let put = studio.put(&scope, Resource::Tool, "lookup-order", &put, None).await.expect("put");
    assert_eq!((&put["kind"], &put["config"]["method"]), (&json!("webhook"), &json!("POST")));
}

#[tokio::test]
async fn another_embeddings_model_asks_for_a_new_index_only_when_there_is_one() {
    let (studio, scope) = (studio(), scope());
    make(&studio, Resource::KnowledgeBase, json!({"name": "Docs"})).await;
    let moved = studio.patch(&scope, Resource::KnowledgeBase, "docs", &json!({"embeddings_model": "other"}), None).await.expect("patched");
    assert_eq!(moved["needs_reindex"], false);
    let forged = json!({"chunk_count": 9, "id": "x", "revision": 2, "locked": true});
    let forged = studio.patch(&scope, Resource::KnowledgeBase, "docs", &forged, None).await.expect("read-only fields are ignored");
    assert_eq!((&forged["chunk_count"], &forged["locked"], &forged["id"]), (&json!(0), &json!(false), &moved["id"]));
}
