use super::*;

const INLINE: &str = "provider: p, model: m";

#[test]
fn an_agent_is_stored_or_whole_in_its_node() {
    for (data, line) in [
        ("", "agent_config agent_1 data.agent_id"),
        ("provider: p", "agent_config agent_1 data.model"),
        ("model: m", "agent_config agent_1 data.provider"),
        ("config_mode: inline, agent_id: plain", "agent_config agent_1 data.provider"),
        ("config_mode: existing, provider: p, model: m", "agent_config agent_1 data.agent_id"),
        ("agent_id: gone", "agent_unknown agent_1 data.agent_id"),
        ("agent_ref: plain", "agent_unknown agent_1 data.agent_ref"),
    ] {
        says(&format!("start -> agent_1{{{data}}} -> stop"), &[line]);
    }
    for data in
        ["agent_id: plain", INLINE, "agent_id: plain, provider: p", "config_mode: inline, agent_id: gone, provider: p, model: m"]
    {
        fine(&format!("start -> agent_1{{{data}}} -> stop"));
    }
}

#[test]
fn tools_lead_to_inline_agents_only() {
    says(
        "start -> agent_1{agent_id: plain} -> stop; tool_1{tool_ref: \"host:a\"} => agent_1",
        &["tools_target_not_inline edge e3"],
    );
    says("start -> llm_1 -> stop; mcp_1{mcp_server: files} => llm_1", &["tools_target_not_inline edge e3"]);
    fine(
        "start -> agent_1{provider: p, model: m} -> stop; mcp_1{mcp_server: files} => agent_1; tool_1{tool_ref: \"host:a\"} => agent_1",
    );
}

#[test]
fn tools_come_from_tools_servers_and_specialists() {
    says("start -> set_1{key: a} -> agent_1{provider: p, model: m} -> stop; set_1 => agent_1", &["tools_source_invalid edge e4"]);
    says(
        "start -> agent_1{provider: p, model: m} -> agent_2{provider: p, model: m} -> stop; agent_1 => agent_2",
        &["tools_source_invalid edge e4"],
    );
    says(
        "start -> agent_1{provider: p, model: m} -> agent_2{provider: p, model: m} -> stop; agent_1.toolset => agent_2",
        &["toolset_without_tool_mode edge e4"],
    );
    says(
        "start -> agent_1{provider: p, model: m}; agent_1 -> stop; agent_1.toolset -> stop",
        &["toolset_without_tool_mode edge e3"],
    );
    says(&specialist("", "; spec -> stop"), &["tool_mode_control_edge edge e4"]);
    says(&specialist("", "; spec => boss"), &["handle_incompatible edge e4"]);
    says(&specialist("", "; spec.toolset -> stop"), &["handle_incompatible edge e4"]);
}

fn specialist(data: &str, more: &str) -> String {
    format!(
        "start -> boss:agent{{{INLINE}}} -> stop; \
         spec:agent{{{INLINE}, tool_mode: true, tool_exposure: {{slug: find, description: Finds}}, {data}}}.toolset => boss{more}"
    )
}

#[test]
fn a_specialist_is_no_step() {
    fine(&specialist("", ""));
    says(
        &format!("start -> spec:agent{{{INLINE}, tool_mode: true, tool_exposure: {{slug: find, description: Finds}}}} -> stop"),
        &["tool_mode_control_edge edge e1", "tool_mode_control_edge edge e2"],
    );
}

#[test]
fn a_specialist_has_a_name_and_a_description() {
    let exposed = |exposure: &str| {
        said(&format!(
            "start -> boss:agent{{{INLINE}}} -> stop; spec:agent{{{INLINE}, tool_mode: true{exposure}}}.toolset => boss"
        ))
    };
    let slug = "tool_mode_slug spec data.tool_exposure.slug";
    let description = "tool_mode_slug spec data.tool_exposure.description";
    assert_eq!(exposed(""), [slug, description]);
    for bad in ["9a", "a-b", "\"a b\"", "é"] {
        assert_eq!(exposed(&format!(", tool_exposure: {{slug: {bad}, description: x}}")), [slug]);
    }
    assert_eq!(exposed(", tool_exposure: {slug: a, description: \" \"}"), [description]);
    assert_eq!(exposed(&format!(", tool_exposure: {{slug: {}, description: x}}", "a".repeat(64))), Vec::<String>::new());
}

#[test]
fn tools_of_an_agent_have_different_names() {
    let agent = |tools: &str, more: &str| said(&format!("start -> boss:agent{{{INLINE}, tools: [{tools}]}} -> stop{more}"));
    let duplicate = ["tool_name_duplicate boss"];
    assert_eq!(agent("{ref: \"host:a\"}, {ref: \"tool:a\"}", ""), duplicate);
    assert_eq!(agent("{ref: \"host:a\"}, {ref: \"toolkit:kit\"}", ""), duplicate);
    assert_eq!(agent("{ref: \"host:a\"}", "; tool_1{tool_ref: \"tool:a\"} => boss"), duplicate);
    assert_eq!(agent("", "; mcp_1{mcp_server: files} => boss; mcp_2{mcp_server: files} => boss"), duplicate);
    assert_eq!(agent("{ref: \"mcp:told\"}", "; mcp_1{mcp_server: told, tool_name: a} => boss"), duplicate);
    assert_eq!(agent("{ref: \"mcp:told\", exclude: [a]}", "; mcp_1{mcp_server: told, tool_name: a} => boss"), Vec::<String>::new());
    for tools in [
        "{ref: \"host:a\"}, {ref: \"host:b\"}",
        "{ref: \"host:a\"}, {ref: \"mcp:told\"}, {ref: \"mcp:files\"}",
        "{ref: \"host:a\"}, {ref: \"toolkit:kit\", exclude: [a]}",
        "{ref: \"host:a\"}, {ref: \"toolkit:kit\", only: [c]}",
    ] {
        assert_eq!(agent(tools, ""), Vec::<String>::new(), "{tools}");
    }
    assert_eq!(
        agent("", "; mcp_1{mcp_server: files, tool_name: a} => boss; mcp_2{mcp_server: files, tool_name: b} => boss"),
        Vec::<String>::new()
    );
    let spec = format!("; spec:agent{{{INLINE}, tool_mode: true, tool_exposure: {{slug: a, description: x}}}}.toolset => boss");
    assert_eq!(agent("{ref: \"host:a\"}", &spec), duplicate);
    assert_eq!(agent("{ref: \"host:b\"}", &spec), Vec::<String>::new());
}

#[test]
fn specialists_form_no_cycle() {
    let spec = |name: &str| format!("{name}:agent{{{INLINE}, tool_mode: true, tool_exposure: {{slug: {name}, description: x}}}}");
    let boss = format!("start -> boss:agent{{{INLINE}}} -> stop; ");
    says(
        &format!("{boss}{}.toolset => {}.toolset => boss; two.toolset => one", spec("one"), spec("two")),
        &["tool_mode_cycle one"],
    );
    says(&format!("{boss}{}.toolset => one; one.toolset => boss", spec("one")), &["tool_mode_cycle one"]);
    fine(&format!("{boss}{}.toolset => {}.toolset => boss", spec("one"), spec("two")));
}

#[test]
fn a_specialist_never_waits_for_a_person() {
    let waits = ["tool_mode_approval spec"];
    says(&specialist("require_tool_approval: true", ""), &waits);
    says(&specialist("tools: [{ref: \"host:gated\"}]", ""), &waits);
    says(&specialist("tools: [{ref: \"host:a\", require_approval: true}]", ""), &waits);
    says(&specialist("", "; tool_1{tool_ref: \"host:gated\"} => spec"), &waits);
    says(&specialist("", "; mcp_1{mcp_server: gated} => spec"), &waits);
    says(&specialist("require_tool_approval: false, tools: [{ref: \"host:gated\", require_approval: false}]", ""), &waits);
    fine(&specialist("require_tool_approval: false, tools: [{ref: \"host:a\", require_approval: false}, {ref: \"provider:search\"}]", ""));
    let stored = |data: &str| {
        said(&format!(
            "start -> boss:agent{{{INLINE}}} -> stop; spec:agent{{{data}, tool_mode: true, tool_exposure: {{slug: find, description: x}}}}.toolset => boss"
        ))
    };
    assert_eq!(stored("agent_id: careful"), waits);
    assert_eq!(stored("agent_id: gated, require_tool_approval: false"), waits);
    assert_eq!(stored("agent_id: careful, require_tool_approval: false"), Vec::<String>::new());
}
