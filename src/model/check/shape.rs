//! Owns the check of a graph's JSON: version, size, ids, types, data, titles, ends of edges.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::condition::Budget;
use super::super::graph::{NodeKind, VERSION, list, text};
use super::data;
use super::issue::{IssueCode, Report, Spot};
use super::known::GraphLimits;

/// Characters of a title.
const MAX_TITLE: usize = 80;

/// Checks the shape; says whether the graph is small enough to be looked at further.
pub(super) fn check(graph: &Value, limits: Option<&GraphLimits>, report: &mut Report) -> bool {
    version(graph, report);
    if let Some(limits) = limits
        && !is_small_enough(graph, limits, report)
    {
        return false;
    }
    lists(graph, report);
    // A graph that was stored before is read whatever its tests are: one that does not compile fails when it is asked.
    let ids = nodes(graph, limits.map(|_| Budget::default()), report);
    edges(graph, &ids, report);
    true
}

fn version(graph: &Value, report: &mut Report) {
    if graph.get("version").and_then(Value::as_i64) != Some(VERSION) {
        let found = graph.get("version").unwrap_or(&Value::Null).to_string();
        let spot = Spot { field: Some("version"), ..Spot::default() };
        report.add(IssueCode::GraphVersion, "", spot, &[("version", &VERSION.to_string()), ("found", &found)]);
    }
}

fn is_small_enough(graph: &Value, limits: &GraphLimits, report: &mut Report) -> bool {
    let mut refuse = |variant: &str, count: usize, limit: u64| {
        let (count_text, limit_text) = (count.to_string(), limit.to_string());
        if count as u64 > limit {
            report.add(IssueCode::GraphTooLarge, variant, Spot::default(), &[("count", &count_text), ("limit", &limit_text)]);
        }
        count as u64 <= limit
    };
    let kb = json_length(graph).div_ceil(1024);
    let sizes = [
        refuse("kb", kb, limits.kb),
        refuse("nodes", list(graph, "nodes").len(), limits.nodes as u64),
        refuse("edges", list(graph, "edges").len(), limits.edges as u64),
    ];
    sizes.into_iter().all(|fits| fits)
}

/// Bytes of the compact JSON.
fn json_length(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// The parts of the graph itself have their types.
fn lists(graph: &Value, report: &mut Report) {
    for (name, is_right, expected) in [
        ("nodes", Value::is_array as fn(&Value) -> bool, "expected.list"),
        ("edges", Value::is_array, "expected.list"),
        ("annotations", Value::is_array, "expected.list"),
        ("viewport", Value::is_object, "expected.object"),
    ] {
        if graph.get(name).is_some_and(|value| !value.is_null() && !is_right(value)) {
            let expected = report.phrase(expected, &[]);
            let spot = Spot { field: Some(name), ..Spot::default() };
            report.add(IssueCode::NodeDataInvalid, "graph", spot, &[("field", name), ("expected", &expected)]);
        }
    }
}

fn is_note(node: &Value) -> bool {
    text(node, "type") == Some(NodeKind::Note.as_str())
}

fn nodes<'g>(graph: &'g Value, mut patterns: Option<Budget>, report: &mut Report) -> HashSet<&'g str> {
    let all = list(graph, "nodes");
    let (mut ids, mut titles) = (HashSet::new(), HashSet::new());
    for node in all.iter().filter(|node| !is_note(node)) {
        let Some(id) = text(node, "id").filter(|id| is_node_id(id)) else {
            let shown = node.get("id").map(shown).unwrap_or_default();
            report.add(IssueCode::NodeIdInvalid, "", Spot { node: text(node, "id"), ..Spot::default() }, &[("node", &shown)]);
            continue;
        };
        let spot = Spot::node(id);
        if !ids.insert(id) {
            report.add(IssueCode::NodeIdDuplicate, "", spot, &[("node", id)]);
        }
        let label = label(node);
        match text(node, "type").and_then(NodeKind::named) {
            Some(kind) => node_data(node, kind, spot, label, patterns.as_mut(), report),
            None => {
                let found = node.get("type").map(shown).unwrap_or_default();
                report.add(IssueCode::NodeTypeUnknown, "", spot.field("type"), &[("node", label), ("type", &found)]);
            }
        }
        title(node, spot, &mut titles, report);
    }
    ids.extend(all.iter().filter(|node| is_note(node)).filter_map(|node| text(node, "id")));
    ids
}

/// What people know a node by.
fn label(node: &Value) -> &str {
    let title = text(node, "title").map(str::trim).filter(|title| !title.is_empty());
    title.or_else(|| text(node, "id")).unwrap_or_default()
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(MAX_TITLE).collect()
}

fn is_node_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

fn node_data(node: &Value, kind: NodeKind, spot: Spot<'_>, label: &str, patterns: Option<&mut Budget>, report: &mut Report) {
    for name in ["position", "data"] {
        if node.get(name).is_some_and(|value| !value.is_null() && !value.is_object()) {
            let expected = report.phrase("expected.object", &[]);
            let values = [("node", label), ("field", name), ("expected", expected.as_str())];
            report.add(IssueCode::NodeDataInvalid, "", spot.field(name), &values);
        }
    }
    let empty = Map::new();
    let data = node.get("data").and_then(Value::as_object).unwrap_or(&empty);
    data::check(kind, data, spot, label, report);
    if let Some(patterns) = patterns {
        data::test(kind, data, spot, label, patterns, report);
    }
}

fn title(node: &Value, spot: Spot<'_>, titles: &mut HashSet<String>, report: &mut Report) {
    let Some(value) = node.get("title").filter(|title| !title.is_null()) else { return };
    let spot = spot.field("title");
    let Some(title) = value.as_str().map(str::trim) else {
        return report.add(IssueCode::TitleInvalid, "type", spot, &[("node", spot.node.unwrap_or_default())]);
    };
    if title.chars().count() > MAX_TITLE {
        let values = [("node", spot.node.unwrap_or_default()), ("limit", "80")];
        report.add(IssueCode::TitleInvalid, "long", spot, &values);
    }
    if !title.is_empty() && !titles.insert(title.to_lowercase()) {
        let values = [("node", spot.node.unwrap_or_default()), ("title", title)];
        report.add(IssueCode::TitleInvalid, "duplicate", spot, &values);
    }
}

fn edges(graph: &Value, nodes: &HashSet<&str>, report: &mut Report) {
    let mut ids = HashSet::new();
    for edge in list(graph, "edges") {
        let id = text(edge, "id");
        let spot = Spot { edge: id, ..Spot::default() };
        let shown_id = edge.get("id").filter(|id| !id.is_null()).map(shown).unwrap_or_default();
        if id.is_some_and(|id| !ids.insert(id)) {
            report.add(IssueCode::EdgeIdDuplicate, "", spot, &[("edge", &shown_id)]);
        }
        for name in ["id", "sourceHandle", "targetHandle"] {
            if edge.get(name).is_some_and(|value| !value.is_null() && !value.is_string()) {
                let expected = report.phrase("expected.text", &[]);
                let values = [("edge", shown_id.as_str()), ("field", name), ("expected", &expected)];
                report.add(IssueCode::NodeDataInvalid, "edge", spot.field(name), &values);
            }
        }
        for name in ["source", "target"] {
            if text(edge, name).is_none_or(|end| !nodes.contains(end)) {
                let end = edge.get(name).map(shown).unwrap_or_default();
                report.add(IssueCode::EdgeEndUnknown, name, spot.field(name), &[("edge", &shown_id), ("node", &end)]);
            }
        }
    }
}
