use serde_json::json;

use super::super::graph::NodeKind;
use super::*;
use crate::model::sketch::system;

fn read(kind: NodeKind, data: Value) -> Node {
    Node::read(kind, data.as_object().unwrap())
}

fn written(data: Value, state: Value) -> Value {
    let Node::SetState(node) = read(NodeKind::SetState, data) else { panic!("no set_state") };
    let mut state = State::from_json(state.as_object().cloned().unwrap());
    let change = node.change(&state, system);
    state.apply(&change);
    Value::Object(state.to_json(true))
}

#[test]
fn set_state_writes_values_texts_and_copies() {
    for (data, state, after) in [
        (json!({"key": "a", "value": 5}), json!({}), json!({"a": 5})),
        (json!({"key": "a"}), json!({"a": 1}), json!({"a": ""})),
        (json!({"key": "a", "value": null}), json!({}), json!({"a": null})),
        (json!({"key": "a", "value": {"b": "{{x}}"}}), json!({}), json!({"a": {"b": "{{x}}"}})),
        (json!({"key": "a", "value": "{{a}}-{{b.c}}"}), json!({"a": "x", "b": {"c": 1}}), json!({"a": "x-1", "b": {"c": 1}})),
        (json!({"key": "a", "from_key": "b"}), json!({"b": [1]}), json!({"b": [1], "a": [1]})),
        (
            json!({"key": "a", "from_key": "b[0].c", "value": ""}),
            json!({"b": [{"c": true}]}),
            json!({"b": [{"c": true}], "a": true}),
        ),
        (json!({"key": "a", "from_key": "gone"}), json!({}), json!({"a": null})),
        (json!({"key": "a.b.c", "value": 1}), json!({"a": {"x": 2, "b": 3}}), json!({"a": {"x": 2, "b": {"c": 1}}})),
        (json!({"key": "a.b", "value": "v"}), json!({"a": [1]}), json!({"a": {"b": "v"}})),
    ] {
        assert_eq!(written(data.clone(), state), after, "{data}");
    }
}

#[test]
fn data_that_is_left_out_has_the_defaults_of_the_contract() {
    let Node::Agent(agent) = read(NodeKind::Agent, json!({"agent_id": "a", "message": null})) else { panic!("no agent") };
    assert!(!agent.is_inline() && !agent.stream && agent.publish_reply && agent.vision && !agent.checkpoint && !agent.tool_mode);
    assert_eq!(
        (&*agent.output_key, agent.memory, agent.tool_max_runs, agent.require_tool_approval),
        ("agent_response", Memory::Own, None, None)
    );
    assert_eq!(
        (agent.common.retries, agent.common.on_error, agent.common.timeout_ms),
        (Retries { max: 0, backoff_ms: 1000 }, OnError::Fail, None)
    );
    for (kind, key) in [
        (NodeKind::Llm, "llm_response"),
        (NodeKind::Rag, "rag_context"),
        (NodeKind::Tool, "tool_result"),
        (NodeKind::Mcp, "mcp_result"),
        (NodeKind::Human, "human_response"),
        (NodeKind::Join, "parallel_results"),
    ] {
        assert_eq!(read(kind, json!({})).output_key().map(|key| &**key), Some(key));
        assert_eq!(read(kind, json!({"output_key": "own"})).output_key().map(|key| &**key), Some("own"));
    }
}

#[test]
fn the_table_of_keys_says_the_defaults_that_are_read() {
    let (empty, told) = (read(NodeKind::Agent, json!({})), read(NodeKind::Agent, defaults(NodeKind::Agent)));
    assert_eq!(format!("{empty:?}").replace("tool_max_runs: None", "tool_max_runs: Some(10)"), format!("{told:?}"));
    for kind in [
        NodeKind::Llm,
        NodeKind::Rag,
        NodeKind::Tool,
        NodeKind::Mcp,
        NodeKind::Human,
        NodeKind::Fork,
        NodeKind::Join,
        NodeKind::Stop,
        NodeKind::Condition,
    ] {
        assert_eq!(format!("{:?}", read(kind, json!({}))), format!("{:?}", read(kind, defaults(kind))), "{}", kind.as_str());
    }
}

fn defaults(kind: NodeKind) -> Value {
    Value::Object(keys::of(kind).map(|key| (key.name.to_owned(), serde_json::from_str(key.default).unwrap())).collect())
}

#[test]
fn an_agent_is_inline_when_nothing_stored_is_named() {
    for (data, inline) in [
        (json!({}), true),
        (json!({"agent_id": ""}), true),
        (json!({"agent_id": "a"}), false),
        (json!({"agent_ref": "a"}), false),
        (json!({"agent_id": "a", "config_mode": "inline"}), true),
        (json!({"config_mode": "existing"}), false),
    ] {
        let Node::Agent(agent) = read(NodeKind::Agent, data.clone()) else { panic!("no agent") };
        assert_eq!(agent.is_inline(), inline, "{data}");
    }
}

#[test]
fn templates_are_named_by_their_fields() {
    let fields = |kind, data| read(kind, data).templates().into_iter().map(|(field, _)| field).collect::<Vec<_>>();
    assert_eq!(fields(NodeKind::Agent, json!({"agent_id": "a"})), ["data.message"]);
    assert_eq!(fields(NodeKind::Agent, json!({})), ["data.instructions", "data.message"]);
    assert_eq!(fields(NodeKind::Rag, json!({"filter": {"a": {"eq": "{{x}}"}}})), ["data.query", "data.filter.a.eq"]);
    assert_eq!(fields(NodeKind::Tool, json!({"parameters": {"a": ["x", "$y", 5]}})), ["data.parameters.a.0"]);
    assert_eq!(fields(NodeKind::SetState, json!({"key": "a", "value": "{{x}}"})), ["data.value"]);
}
