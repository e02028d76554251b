use serde_json::{Value, json};

use crate::studio::runs::trial::Trial;

fn graph() -> Value {
    let node = |id: &str, kind: &str, data: Value| json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}, "data": data});
    let edge = |id: &str, from: &str, handle: &str, to: &str, into: &str| {
        json!({"id": id, "source": from, "target": to, "sourceHandle": handle, "targetHandle": into})
    };
    json!({"version": 1, "annotations": [], "nodes": [
        node("start", "start", json!({})),
        node("ask", "llm", json!({"provider": "p", "model": "m"})),
        node("sorry", "set_state", json!({"key": "sorry", "value": 1})),
        node("act", "agent", json!({"config_mode": "inline", "provider": "p", "model": "m"})),
        node("tool", "tool", json!({"tool_ref": "toolkit:calculator"})),
        node("stop", "stop", json!({})),
    ], "edges": [
        edge("e1", "start", "default", "ask", "default"),
        edge("e2", "ask", "default", "act", "default"),
        edge("e3", "ask", "error", "sorry", "default"),
        edge("e4", "sorry", "default", "stop", "default"),
        edge("e5", "act", "default", "stop", "default"),
        edge("e6", "tool", "default", "act", "tools"),
    ]})
}

fn list<'a>(made: &'a Value, key: &str) -> &'a Vec<Value> {
    made[key].as_array().expect("a list")
}

fn edges(made: &Value) -> Vec<String> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    list(made, "edges").iter().map(|edge| format!("{}>{}", text(edge, "source"), text(edge, "target"))).collect()
}

fn node<'a>(made: &'a Value, id: &str) -> Option<&'a Value> {
    list(made, "nodes").iter().find(|node| node["id"] == id)
}

fn pins(given: &Value) -> Trial {
    Trial { pins: given.as_object().expect("an object").clone(), ..Trial::default() }
}

#[test]
fn nothing_tried_changes_nothing() {
    assert_eq!(Trial::default().apply(graph()).expect("a graph"), graph());
}

#[test]
fn a_break_asks_a_person_on_every_way_in() {
    let trial = Trial { break_before: vec!["act".into(), "stop".into()], ..Trial::default() };
    let made = trial.apply(graph()).expect("a graph");
    let wanted = [
        "start>ask", "ask>before-act", "ask>sorry", "sorry>before-stop", "act>before-stop", "tool>act", "before-act>act", "before-stop>stop",
    ];
    assert_eq!(edges(&made), wanted);
    let stop = node(&made, "before-act").expect("a stop");
    assert_eq!((&stop["type"], &stop["data"]), (&json!("human"), &json!({"output_key": "before_act"})));
}

#[test]
fn a_pinned_node_writes_what_it_is_given_and_drops_what_only_it_led_to() {
    let made = pins(&json!({"ask": "Hello", "act": "Dear {{name}}"})).apply(graph()).expect("a graph");
    assert_eq!(edges(&made), ["start>ask", "ask>pin-act", "act>stop", "pin-act>act"]);
    assert_eq!(node(&made, "ask").expect("ask")["data"], json!({"key": "llm_response", "value": "Hello"}));
    assert_eq!(node(&made, "pin-act").expect("a pin")["data"], json!({"key": "agent_response", "value": {"text": "Dear {{name}}"}}));
    assert_eq!(node(&made, "act").expect("act")["data"], json!({"key": "agent_response", "from_key": "agent_response.text"}));
    assert_eq!(node(&made, "act").expect("act")["type"], "set_state");
    assert!(node(&made, "sorry").is_none() && node(&made, "tool").is_none());
}

#[test]
fn one_node_runs_alone_with_its_tools() {
    let trial = Trial { only: Some("act".into()), ..Trial::default() };
    let made = trial.apply(graph()).expect("a graph");
    assert_eq!(edges(&made), ["tool>act", "trial-start>act", "act>trial-stop"]);
    assert_eq!(list(&made, "nodes").len(), 4);
}

#[test]
fn what_cannot_be_tried_is_refused() {
    let named = |node: &str| Trial { break_before: vec![node.into()], ..Trial::default() };
    for trial in [named("none"), named("start"), pins(&json!({"stop": 1})), Trial { only: Some("stop".into()), ..Trial::default() }] {
        assert!(trial.apply(graph()).is_err(), "{trial:?}");
    }
}
