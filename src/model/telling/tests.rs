//! Owns the tests of what frames hold on to.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::model::event::{Created, PureOutcome, StepRan};
use crate::model::graph::Graph;
use crate::model::sketch;

fn id(n: u128) -> Id {
    Id(uuid::Uuid::from_u128(n))
}

fn telling() -> Telling {
    let graph = sketch::graph("start -> set_1{key: a, value: 1} -> stop").unwrap();
    let plan = Arc::new(Plan::new(Arc::new(Graph::parse(&graph).unwrap())));
    let created = json!({"entity": "workflow", "entity_id": id(1), "entity_name": "w", "graph": "g", "definitions": "d", "message": "hi", "state": {}, "thread": id(2), "async": false});
    let created: Arc<Created> = Arc::new(serde_json::from_value(created).unwrap());
    let wire = Wire { value_bytes: 64 << 10, currency: "USD".into() };
    Telling::new(id(3), &created, &plan, wire, false)
}

fn wrote(seq: u64, bytes: usize) -> Arc<Entry> {
    let change = [("a".into(), Arc::new(json!("x".repeat(bytes))))].into_iter().collect();
    let ran = StepRan {
        step: id(10),
        node: "set_1".into(),
        iteration: None,
        attempt: 1,
        resumed: false,
        max_steps: None,
        outcome: PureOutcome::Left { handle: "default".into(), change },
    };
    Arc::new(Entry { seq, at: Timestamp(0), lane: 0, event: Event::StepRan(Box::new(ran)) })
}

#[test]
fn a_frame_holds_what_is_told_and_not_a_large_entry() {
    let mut telling = telling();
    for (seq, bytes) in [(1, 500_000), (2, 30_000), (3, 10)] {
        let entry = wrote(seq, bytes);
        telling.tell(&Input::Entry(Arc::clone(&entry)));
        let frames = std::mem::take(&mut telling.ordered.frames);
        assert_eq!(frames.iter().map(Frame::event).collect::<Vec<_>>(), ["step_started", "step_completed"]);
        assert_eq!(frames[0].begins_step(), Some(id(10)));
        let held = Arc::strong_count(&entry) > 1;
        assert_eq!(held, bytes == 10, "{bytes}");
        for frame in &frames {
            let mut data = Vec::new();
            frame.write_data(&mut data);
            let told: serde_json::Value = serde_json::from_slice(&data).unwrap();
            assert_eq!(told["node_id"], "set_1");
            assert!(frame.weight() >= data.len().min(256) && frame.weight() < data.len() + 1024, "{} {}", frame.weight(), data.len());
        }
    }
}

/// The names are those of the arms that give them, and each is described.
#[test]
fn all_names_of_events_are_listed_and_described() {
    let source = include_str!("frame.rs");
    let arms = source.split("pub fn event(&self)").nth(1).and_then(|rest| rest.split("/// Its id").next()).expect("the arms");
    let ends = source.split("const fn end_of").nth(1).and_then(|rest| rest.split("/// Calls that").next()).expect("the ends");
    let quoted = |text: &str| text.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let given: std::collections::BTreeSet<String> = quoted(arms).into_iter().chain(quoted(ends)).collect();
    let listed = |names: &mut dyn Iterator<Item = &str>| names.map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(listed(&mut EVENTS.into_iter()), given);
    let schemas: serde_json::Value = serde_json::from_str(include_str!("../../http/openapi/events.json")).expect("JSON");
    let of = |name: &str| schemas[name]["properties"].as_object().expect("events by name").keys().cloned().collect::<Vec<_>>();
    let described = of("WorkflowEvents").into_iter().chain(of("ChatEvents")).collect();
    assert_eq!(given, described);
}
