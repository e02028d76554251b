use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::model::plan::Plan;
use crate::model::checkpoint_input::input_hash;
use crate::model::sketch::any_json;
use crate::model::state::State;

const KINDS: [&str; 16] = [
    "start",
    "stop",
    "agent",
    "llm",
    "rag",
    "tool",
    "mcp",
    "human",
    "fork",
    "join",
    "loop",
    "set_state",
    "condition",
    "note",
    "fork",
    "loop",
];
const HANDLES: [&str; 11] = ["default", "default", "default", "tools", "toolset", "true", "false", "continue", "exit", "a", "b"];

/// Graphs that look like graphs: a few nodes of any type, wired at random.
fn wired() -> impl Strategy<Value = Value> {
    let node = (prop::sample::select(KINDS.to_vec()), any::<bool>(), any_json());
    let edge = (
        0_usize..9,
        0_usize..9,
        prop::sample::select(HANDLES.to_vec()),
        prop::sample::select(vec!["default", "default", "tools"]),
    );
    (prop::collection::vec(node, 0..9), prop::collection::vec(edge, 0..20)).prop_map(|(nodes, edges)| {
        let nodes: Vec<Value> = nodes
            .into_iter()
            .enumerate()
            .map(|(n, (kind, flag, data))| {
                let data = if flag {
                    data
                } else {
                    json!({"key": "a", "tool_mode": n % 2 == 0, "provider": "p", "model": "m", "branches": null})
                };
                json!({"id": format!("n{n}"), "type": kind, "data": data})
            })
            .collect();
        let edges: Vec<Value> = edges.into_iter().map(|(from, to, source, target)| {
            json!({"source": format!("n{from}"), "target": format!("n{to}"), "sourceHandle": source, "targetHandle": target})
        }).collect();
        json!({"version": 1, "nodes": nodes, "edges": edges})
    })
}

/// Walks every door of a plan.
fn walk(plan: &Plan, state: &State) {
    for at in 0..u32::try_from(plan.graph().nodes.len()).unwrap() {
        let node = plan.node(at);
        let _ = (plan.find(&node.id), plan.join_of(at), plan.tool_bindings(at).len(), input_hash(&plan.reads(at), state));
        for branch in plan.branches(at) {
            assert!(branch.first.is_none_or(|first| plan.next(at, &branch.id) == Some(first)));
        }
        for handle in HANDLES {
            let _ = plan.next(at, handle).map(|next| (plan.node(next), plan.reaches_loop(at, next)));
        }
    }
}

proptest! {
    #[test]
    fn any_json_is_checked(graph in any_json()) {
        let _ = said_of(&graph);
        let _ = Graph::parse(&graph);
    }

    #[test]
    fn any_wiring_is_checked_and_planned(graph in wired()) {
        let issues = check(&graph, &Stock, &limits());
        prop_assert!(issues.is_sorted_by_key(|issue| issue.code));
        let understood = issues.iter().all(|issue| issue.severity == Severity::Warning);
        match Graph::parse(&graph) {
            Ok(graph) => walk(&Plan::new(Arc::new(graph)), &State::new()),
            Err(found) => prop_assert!(!understood, "{found:?}"),
        }
    }

    #[test]
    fn a_graph_read_from_its_own_json_is_the_same(graph in wired()) {
        let first = Graph::read(&graph);
        let second = Graph::read(first.to_json());
        prop_assert_eq!(first.to_json(), second.to_json());
        prop_assert_eq!(&first.edges, &second.edges);
        let codes = |graph: &Value| check(graph, &Stock, &limits()).iter().map(|issue| issue.code).collect::<Vec<_>>();
        prop_assert_eq!(codes(&graph), codes(first.to_json()));
    }
}
