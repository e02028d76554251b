use super::*;

#[test]
fn tools_that_are_named_are_there() {
    says("start -> tool_1 -> stop", &["tool_ref_unknown tool_1 data.tool_ref"]);
    for bad in ["host:gone", "toolkit:kit", "mcp:files", "provider:search", "a"] {
        says(&format!("start -> tool_1{{tool_ref: \"{bad}\"}} -> stop"), &["tool_ref_unknown tool_1 data.tool_ref"]);
    }
    for good in ["host:a", "tool:a", "toolkit:kit/c"] {
        fine(&format!("start -> tool_1{{tool_ref: \"{good}\"}} -> stop"));
    }
    says(
        "start -> agent_1{provider: p, model: m, tools: [{ref: \"host:a\"}, {ref: \"host:gone\"}]} -> stop",
        &["tool_ref_unknown agent_1 data.tools.1.ref"],
    );
    fine("start -> agent_1{agent_id: plain, tools: [{ref: \"host:gone\"}]} -> stop");
    fine(
        "start -> agent_1{provider: p, model: m, tools: [{ref: \"mcp:files\"}, {ref: \"provider:search\"}, {ref: \"toolkit:kit\"}]} -> stop",
    );
}

#[test]
fn servers_that_are_named_are_there_and_steps_name_a_tool() {
    says("start -> mcp_1{tool_name: t} -> stop", &["mcp_unknown mcp_1 data.mcp_server"]);
    says("start -> mcp_1{mcp_server: gone, tool_name: t} -> stop", &["mcp_unknown mcp_1 data.mcp_server"]);
    says("start -> mcp_1{mcp_server: files} -> stop", &["mcp_unknown mcp_1 data.tool_name"]);
    fine("start -> mcp_1{mcp_server: files, tool_name: t} -> stop");
}

#[test]
fn knowledge_bases_that_are_named_are_there() {
    says("start -> rag_1{knowledge_base_id: gone} -> stop", &["knowledge_base_unknown rag_1 data.knowledge_base_id"]);
    fine("start -> rag_1{knowledge_base_id: docs} -> stop");
}

#[test]
fn structured_output_has_a_schema_that_compiles() {
    for (data, line) in [
        ("structured: true", "schema_missing llm_1 data.schema"),
        ("structured: true, output_schema: gone", "schema_missing llm_1 data.output_schema"),
        ("structured: true, output_schema: broken", "schema_invalid llm_1 data.output_schema"),
        ("structured: true, schema: {type: 5}", "schema_invalid llm_1 data.schema"),
        ("schema: {\"$ref\": \"https://example.org/other\"}", "schema_invalid llm_1 data.schema"),
    ] {
        says(&format!("start -> llm_1{{{data}}} -> stop"), &[line]);
    }
    for data in [
        "structured: true, output_schema: answer",
        "structured: true, schema: {type: object}",
        "structured: true, schema: true",
        "output_schema: gone",
    ] {
        fine(&format!("start -> llm_1{{{data}}} -> stop"));
    }
    says("start -> agent_1{agent_id: plain, structured: true} -> stop", &["schema_missing agent_1 data.schema"]);
    fine("start -> agent_1{agent_id: schema, structured: true} -> stop");
}

#[test]
fn secrets_are_only_named() {
    says("start -> llm_1{credential: \"sk-123\"} -> stop", &["secret_literal llm_1 data.credential"]);
    says(
        "start -> agent_1{provider: p, model: m, credential: \"secret:lower\"} -> stop",
        &["secret_literal agent_1 data.credential"],
    );
    fine("start -> llm_1{credential: \"secret:KEY\"} -> stop");
    says(
        "start -> tool_1{tool_ref: \"host:a\", config: {token: abc, headers: {Authorization: \"Bearer x\", Accept: text}}} -> stop",
        &["secret_literal tool_1 data.config.token", "secret_literal tool_1 data.config.headers.Authorization"],
    );
    fine("start -> tool_1{tool_ref: \"host:a\", config: {token: \"secret:T\", headers: {Authorization: \"secret:T\"}}} -> stop");
    says(
        "start -> agent_1{provider: p, model: m, tools: [{ref: \"host:a\", config: {token: abc}}]} -> stop",
        &["secret_literal agent_1 data.tools.0.config.token"],
    );
}
