use super::*;

#[test]
fn there_is_exactly_one_start() {
    says("set_1{key: a} -> stop", &["start_count"]);
    says("start -> stop; start_2 -> stop; start_3 -> stop", &["start_count start_2", "start_count start_3"]);
}

#[test]
fn there_is_a_stop() {
    says("start -> set_1{key: a}", &["stop_missing", "handle_unconnected set_1"]);
}

#[test]
fn a_path_leads_from_start_to_a_stop() {
    says(
        "start -> set_1{key: a}; set_2{key: b} -> stop",
        &["path_missing start", "handle_unconnected set_1", "node_unreachable set_2", "node_unreachable stop"],
    );
    // A binding edge is no path.
    says(
        "start -> agent_1{provider: p, model: m}; tool_1{tool_ref: \"host:a\"} => agent_1; tool_1 -> stop",
        &["path_missing start", "handle_unconnected agent_1", "node_unreachable stop"],
    );
}

#[test]
fn handles_must_exist_at_both_ends() {
    says("start -> set_1{key: a} -> stop; set_1.error -> stop", &["handle_incompatible edge e3"]);
    says(
        "start -> condition_1; condition_1.true -> stop; condition_1.false -> stop; condition_1 -> stop",
        &["handle_incompatible edge e4"],
    );
    says("start -> set_1{key: a} -> stop -> set_1", &["handle_incompatible edge e3", "cycle_without_loop set_1"]);
    says("start -> set_1{key: a} -> stop; set_1.x -> start", &["handle_incompatible edge e3", "cycle_without_loop start"]);
    says("start -> stop; note_1 -> stop", &["handle_incompatible edge e2"]);
    says(
        "start -> stop; tool_1{tool_ref: \"host:a\"}.error => agent_1{provider: p, model: m}",
        &["handle_incompatible edge e2", "node_unreachable agent_1"],
    );
    fine("start -> llm_1 -> stop; llm_1.error -> stop");
    let mut graph = sketch::graph("start -> set_1{key: a} -> stop").unwrap();
    graph["edges"][1]["targetHandle"] = json!("input");
    assert_eq!(said_of(&graph), ["handle_incompatible edge e2"]);
}

#[test]
fn a_handle_has_one_control_edge() {
    says(
        "start -> set_1{key: a} -> stop; set_1 -> stop_2; set_1 -> stop",
        &["handle_multiple_edges edge e3", "handle_multiple_edges edge e4"],
    );
    fine("start -> tool_1{tool_ref: \"host:a\"} -> agent_1{provider: p, model: m} -> stop; tool_1 => agent_1");
}

#[test]
fn a_cycle_needs_a_loop() {
    says(
        "start -> set_1{key: a} -> condition_1; condition_1.true -> set_1; condition_1.false -> stop",
        &["cycle_without_loop set_1"],
    );
    says("start -> set_1{key: a}; set_1.x -> set_1; set_1 -> stop", &["handle_incompatible edge e2", "cycle_without_loop set_1"]);
    fine("start -> loop_1{state_key: input}; loop_1.continue -> set_1{key: a} -> loop_1; loop_1.exit -> stop");
    says(
        "start -> loop_1{state_key: input}; loop_1.continue -> set_1{key: a} -> condition_1; condition_1.true -> set_1; condition_1.false -> loop_1; loop_1.exit -> stop",
        &["cycle_without_loop set_1"],
    );
}

#[test]
fn tests_of_conditions_and_loops_compile() {
    let condition = |data: &str| said(&format!("start -> x:condition{{{data}}}; x.true -> stop; x.false -> stop"));
    for (data, line) in [
        ("operator: like", "condition_invalid x data.operator"),
        ("operator: 5", "condition_invalid x data.operator"),
        ("value_type: text", "condition_invalid x data.value_type"),
        ("state_key: \"a b\"", "condition_invalid x data.state_key"),
        ("operator: regex, value: \"(\"", "condition_invalid x data.value"),
        ("operator: regex", "condition_invalid x data.value"),
        ("operator: regex, value: \"(a)\\\\1\"", "condition_invalid x data.value"),
        ("operator: regex, value: \"(a{1000}){1000}\"", "condition_invalid x data.value"),
        ("operator: gt, value: abc, value_type: number", "condition_invalid x data.value"),
        ("operator: gt, value: \"2026-13-01\", value_type: date", "condition_invalid x data.value"),
        ("operator: equals, value: maybe, value_type: boolean", "condition_invalid x data.value"),
        ("rules: 5", "condition_invalid x data.rules"),
        ("rules: [5]", "condition_invalid x data.rules.0"),
        ("rules: [{}, {operator: nope}]", "condition_invalid x data.rules.1.operator"),
        ("rules: [{}], logic: none", "condition_invalid x data.logic"),
        ("expression: \"state.a >\"", "expression_invalid x data.expression"),
        ("expression: 5", "expression_invalid x data.expression"),
    ] {
        assert!(condition(data).contains(&line.to_owned()), "{data}: {:?}", condition(data));
    }
    for data in [
        "",
        "operator: is_empty",
        "operator: regex, value: \"(?im)^a\"",
        "rules: [], operator: null",
        "expression: \"\", operator: gt",
        "expression: \"state.a > 1\", rules: [{operator: nope}]",
        "rules: [{state_key: a, operator: in, value: [1]}], operator: nope, logic: any",
    ] {
        assert_eq!(condition(data), Vec::<String>::new(), "{data}");
    }
    says(
        "start -> loop_1{operator: nope}; loop_1.continue -> loop_1; loop_1.exit -> stop",
        &["condition_invalid loop_1 data.operator"],
    );
}

#[test]
fn a_loop_has_a_bound_within_the_limit() {
    for (bound, lines) in [
        ("0", vec!["loop_max_steps loop_1 data.max_steps"]),
        ("-3", vec!["loop_max_steps loop_1 data.max_steps"]),
        ("21", vec!["loop_max_steps loop_1 data.max_steps"]),
        ("99999999999", vec!["loop_max_steps loop_1 data.max_steps"]),
        ("20", vec![]),
        ("null", vec![]),
    ] {
        says(
            &format!("start -> loop_1{{state_key: input, max_steps: {bound}}}; loop_1.continue -> loop_1; loop_1.exit -> stop"),
            &lines,
        );
    }
}

#[test]
fn all_issues_are_told_in_order() {
    says(
        "start -> agent_b{stream: true} -> agent_a{provider: p} -> loop_1; loop_1.exit -> stop; loop_1.x -> set_1",
        &[
            "node_data_invalid set_1 data.key",
            "handle_incompatible edge e5",
            "agent_config agent_b data.agent_id",
            "agent_config agent_a data.model",
            "handle_unconnected loop_1",
            "handle_unconnected set_1",
            "loop_without_condition loop_1",
        ],
    );
}
