use super::*;

fn plain() -> Value {
    sketch::graph("start -> set_1{key: a} -> stop").unwrap()
}

/// What is said once a value in the plain graph is replaced, or taken out.
fn with(path: &str, value: Option<Value>) -> Vec<String> {
    let mut graph = plain();
    let (parent, name) = path.rsplit_once('/').unwrap();
    match (graph.pointer_mut(parent).unwrap(), value) {
        (Value::Object(fields), Some(value)) => drop(fields.insert(name.into(), value)),
        (Value::Object(fields), None) => drop(fields.remove(name)),
        (Value::Array(items), value) => items.extend(value),
        (other, _) => panic!("{other}"),
    }
    said_of(&graph)
}

#[test]
fn a_plain_graph_has_nothing_wrong() {
    assert_eq!(said_of(&plain()), Vec::<String>::new());
}

#[test]
fn the_version_must_be_there_and_known() {
    for version in [None, Some(json!(2)), Some(json!("1")), Some(Value::Null)] {
        assert_eq!(with("/version", version), ["graph_version version"]);
    }
}

#[test]
fn a_graph_over_a_limit_is_not_looked_at_further() {
    let small = |limits: GraphLimits| check(&plain(), &Stock, &limits).into_iter().map(|issue| issue.code).collect::<Vec<_>>();
    assert_eq!(small(GraphLimits { nodes: 3, edges: 2, ..GraphLimits::default() }), []);
    assert_eq!(small(GraphLimits { nodes: 2, ..GraphLimits::default() }), [IssueCode::GraphTooLarge]);
    assert_eq!(small(GraphLimits { edges: 1, nodes: 2, ..GraphLimits::default() }), [IssueCode::GraphTooLarge; 2]);
    assert_eq!(with("/nodes/1/data/note", Some(json!("x".repeat(1 << 20)))), ["graph_too_large"]);
}

#[test]
fn node_ids_have_a_form_and_are_unique() {
    let node = |id: Value| json!({"id": id, "type": "note_not"});
    assert_eq!(with("/nodes/-", Some(json!({"id": "a b", "type": "stop"})))[0], "node_id_invalid a b");
    assert_eq!(with("/nodes/-", Some(node(json!("x".repeat(65)))))[0], format!("node_id_invalid {}", "x".repeat(65)));
    for id in [json!(5), Value::Null] {
        assert_eq!(with("/nodes/-", Some(node(id))), ["node_id_invalid"]);
    }
    assert_eq!(with("/nodes/-", Some(json!(7))), ["node_id_invalid"]);
    assert_eq!(with("/nodes/-", Some(json!({"id": "set_1", "type": "stop"}))), ["node_id_duplicate set_1"]);
    assert_eq!(with("/nodes/-", Some(json!({"id": "set_1", "type": "note", "data": 5}))), Vec::<String>::new());
}

#[test]
fn unknown_types_are_told() {
    assert_eq!(with("/nodes/-", Some(json!({"id": "x", "type": "code"}))), ["node_type_unknown x type"]);
    assert_eq!(with("/nodes/-", Some(json!({"id": "x"}))), ["node_type_unknown x type"]);
}

#[test]
fn titles_are_short_and_unique_ignoring_case() {
    assert_eq!(with("/nodes/1/title", Some(json!("x".repeat(80)))), Vec::<String>::new());
    assert_eq!(with("/nodes/1/title", Some(json!("é".repeat(81)))), ["title_invalid set_1 title"]);
    assert_eq!(with("/nodes/1/title", Some(json!(5))), ["title_invalid set_1 title"]);
    let mut graph = plain();
    graph["nodes"][0]["title"] = json!("Éa");
    graph["nodes"][2]["title"] = json!(" éA ");
    assert_eq!(said_of(&graph), ["title_invalid stop title"]);
    graph["nodes"][2]["title"] = json!("éb");
    assert_eq!(said_of(&graph), Vec::<String>::new());
}

#[test]
fn edges_have_unique_ids_and_known_ends() {
    assert_eq!(with("/edges/1/id", Some(json!("e1"))), ["edge_id_duplicate edge e1"]);
    assert_eq!(with("/edges/1/id", None), Vec::<String>::new());
    assert_eq!(
        with("/edges/1/target", Some(json!("gone"))),
        ["edge_end_unknown edge e2 target", "path_missing start", "handle_unconnected set_1", "node_unreachable stop"]
    );
    assert_eq!(with("/edges/-", Some(json!({"source": 1}))), ["edge_end_unknown source", "edge_end_unknown target"]);
    assert_eq!(with("/edges/0/sourceHandle", Some(json!(5)))[0], "node_data_invalid edge e1 sourceHandle");
}

#[test]
fn parts_of_the_graph_have_their_types() {
    assert_eq!(with("/annotations", Some(json!({}))), ["node_data_invalid annotations"]);
    assert_eq!(with("/annotations", Some(json!([5, {"id": "start", "type": "note"}]))), Vec::<String>::new());
    assert_eq!(with("/viewport", Some(json!(1))), ["node_data_invalid viewport"]);
    assert_eq!(with("/edges", Some(json!({})))[0], "node_data_invalid edges");
    assert_eq!(with("/nodes/1/position", Some(json!("left"))), ["node_data_invalid set_1 position"]);
    assert_eq!(with("/nodes/2/data", Some(json!([]))), ["node_data_invalid stop data"]);
}

/// A graph in which one node of a type has one data key.
fn one(kind: &str, key: &str, value: &Value) -> Vec<String> {
    let mut graph = match kind {
        "agent" => sketch::graph("start -> x:agent{agent_id: plain} -> stop"),
        "loop" => sketch::graph("start -> x:loop{state_key: input}; x.continue -> x; x.exit -> stop"),
        "condition" => sketch::graph("start -> x:condition; x.true -> stop; x.false -> stop"),
        "rag" => sketch::graph("start -> x:rag{knowledge_base_id: docs} -> stop"),
        "tool" => sketch::graph("start -> x:tool{tool_ref: \"host:safe\"} -> stop"),
        "set_state" => sketch::graph("start -> x:set_state{key: a} -> stop"),
        other => sketch::graph(&format!("start -> x:{other} -> stop")),
    }
    .unwrap();
    graph["nodes"][1]["data"][key] = value.clone();
    said_of(&graph)
}

#[test]
fn data_keys_have_types_and_ranges() {
    for (kind, key, good, bad) in [
        ("agent", "timeout_ms", json!([1, 3_600_000, null]), json!([0, 3_600_001, "5", 1.5, true])),
        ("llm", "retries", json!([{}, {"max": 10, "backoff_ms": 600_000}, {"max": null}]), json!([1, []])),
        ("llm", "on_error", json!(["fail", "continue"]), json!(["stop", 1])),
        ("llm", "output_key", json!(["a", "_A9"]), json!(["", "9a", "a-b", "a.b", "__a", 5, "é"])),
        ("llm", "stream", json!([true, false, null]), json!([1, "true"])),
        ("llm", "provider", json!(["x", ""]), json!([5, {}])),
        ("llm", "prompt", json!(["{{", "x"]), json!([5, {}])),
        ("llm", "budget_rag", json!([1]), json!([0, -1])),
        ("agent", "config_mode", json!(["existing"]), json!(["other", 5])),
        ("agent", "tool_max_runs", json!([1, 100]), json!([0, 101])),
        ("agent", "parallel_tool_calls", json!([true, null]), json!(["no"])),
        ("rag", "filter", json!([{}, {"a": 1, "b": {"gte": 2}, "c": "{{x}}"}, {"a": {"in": ["x"]}}]), json!([5, []])),
        ("agent", "memory", json!(["own", "shared", "none"]), json!(["all", 1])),
        ("agent", "context_window", json!([256]), json!([255, "256"])),
        ("agent", "driver", json!(["database", "in_memory"]), json!(["file"])),
        ("agent", "summarization_threshold", json!([0.01, 1]), json!([0, 1.01, "1"])),
        ("agent", "tools", json!([[], [{"ref": "host:a", "only": null, "exclude": null}]]), json!([{}, 5])),
        (
            "agent",
            "tool_exposure",
            json!([{"slug": "a", "parameters": {"input": {"controlled_by": "caller"}}}]),
            json!([[], "a"]),
        ),
        ("rag", "top_k", json!([1, 100]), json!([0, 101])),
        ("rag", "threshold", json!([0, 1, 0.5]), json!([-0.1, 1.1])),
        ("rag", "mode", json!(["hybrid", "vector", "text"]), json!(["other"])),
        ("rag", "filter", json!([{"a": 1}]), json!([[], "x"])),
        ("rag", "on_missing", json!(["fail", "empty"]), json!(["ignore"])),
        ("tool", "parameters", json!([{"a": "$b"}]), json!([[], "x"])),
        ("tool", "idempotent", json!([true]), json!(["true"])),
        ("human", "prompt", json!(["x"]), json!([1])),
        ("stop", "reply", json!(["x"]), json!([{}])),
        ("loop", "max_steps", json!([1, 20]), json!(["5", 1.5])),
        ("loop", "on_max", json!(["fail", "exit"]), json!(["stop"])),
        ("condition", "strict", json!([true]), json!(["yes"])),
        ("set_state", "key", json!(["a.b.0"]), json!(["", "a-b", "1a", "a..b", 5])),
        ("set_state", "from_key", json!(["given.a[0]", ""]), json!(["a b", 5])),
        ("set_state", "value", json!([null, 5, {"a": []}]), json!([])),
    ] {
        for value in good.as_array().unwrap() {
            let said = one(kind, key, value);
            assert!(!said.iter().any(|line| line.starts_with("node_data_invalid")), "{kind}.{key} = {value}: {said:?}");
        }
        for value in bad.as_array().unwrap() {
            let said = one(kind, key, value);
            assert!(said.contains(&format!("node_data_invalid x data.{key}")), "{kind}.{key} = {value}: {said:?}");
        }
    }
}

#[test]
fn what_is_wrong_inside_a_value_is_pointed_to() {
    for (kind, key, value, field) in [
        ("llm", "retries", json!({"max": 11}), "data.retries.max"),
        ("llm", "retries", json!({"backoff_ms": 600_001}), "data.retries.backoff_ms"),
        ("llm", "parameters", json!({"temperature": 2.1}), "data.parameters.temperature"),
        ("llm", "parameters", json!({"top_p": "1"}), "data.parameters.top_p"),
        ("llm", "parameters", json!({"max_tokens": 0}), "data.parameters.max_tokens"),
        ("llm", "parameters", json!({"stop": ["a", 5]}), "data.parameters.stop.1"),
        ("rag", "filter", json!({"a": 1, "b": {"like": 1}}), "data.filter.b"),
        ("rag", "filter", json!({"a": {"in": "x"}}), "data.filter.a"),
        ("agent", "tools", json!([{"ref": "host:a"}, {}]), "data.tools.1.ref"),
        ("agent", "tools", json!([{"ref": "host:a", "only": [1]}]), "data.tools.0.only.0"),
        (
            "agent",
            "tool_exposure",
            json!({"parameters": {"input": {"controlled_by": "model"}}}),
            "data.tool_exposure.parameters.input.controlled_by",
        ),
    ] {
        assert_eq!(one(kind, key, &value)[0], format!("node_data_invalid x {field}"), "{kind}.{key} = {value}");
    }
}

#[test]
fn a_value_and_a_copied_key_exclude_each_other() {
    says("start -> set_1{key: a, value: 5, from_key: given} -> stop", &["node_data_invalid set_1 data.from_key"]);
    fine("start -> set_1{key: a, value: \"\", from_key: given} -> stop");
    says("start -> set_1 -> stop", &["node_data_invalid set_1 data.key"]);
}

#[test]
fn unknown_data_keys_are_kept_and_ignored() {
    let graph = sketch::graph("start -> set_1{key: a, tint: {x: [1]}} -> stop").unwrap();
    assert_eq!(said_of(&graph), Vec::<String>::new());
    assert_eq!(Graph::parse(&graph).unwrap().to_json()["nodes"][1]["data"]["tint"], json!({"x": [1]}));
}
