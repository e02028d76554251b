//! Graphs: any JSON, and any text that sketches one, is checked and read without a panic; what the check accepts has a plan.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use wfstudio::model::check;
use wfstudio::model::graph::{Graph, NodeKind};
use wfstudio::model::plan::Plan;
use wfstudio::model::sketch;

fuzz_target!(|data: &[u8]| {
    let sketched = || std::str::from_utf8(data).ok().and_then(|text| sketch::graph(text).ok());
    let Some(graph) = serde_json::from_slice(data).ok().or_else(sketched) else { return };
    let issues = check::shape(&graph);
    if let Ok(parsed) = Graph::parse(&graph) {
        assert!(issues.iter().all(|issue| issue.severity != check::Severity::Error), "{issues:?}");
        let plan = Plan::new(Arc::new(parsed));
        for node in plan.graph().nodes.iter().filter(|node| node.kind != NodeKind::Note) {
            let at = plan.find(&node.id).expect("every node has its place");
            assert_eq!(plan.node(at).id, node.id);
            let _ = (plan.next(at, "default"), plan.branches(at).len(), plan.join_of(at), plan.tool_bindings(at).len(), plan.reaches_loop(at, at));
        }
    }
});
