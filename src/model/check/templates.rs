//! Owns the check that an earlier node writes each state key that a template reads.

use std::collections::{HashMap, HashSet};

use super::super::node::Node;
use super::super::template_text::is_system;
use super::Subject;
use super::issue::{IssueCode, Report};

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    let given: HashSet<String> = subject.known.state_keys().into_iter().collect();
    let writers = writers(subject);
    let mut heard_by: HashMap<Vec<usize>, Vec<bool>> = HashMap::new();
    for (at, node) in subject.nodes() {
        let templates = node.node.templates();
        let mut told = HashSet::new();
        for (field, path) in templates.iter().flat_map(|(field, template)| template.paths().map(move |path| (field, path))) {
            let key = path.root();
            if is_system(path) || key == "input" || key == "attachments" || given.contains(key) || !told.insert((field, key)) {
                continue;
            }
            let readers = readers(subject, at);
            let before = heard_by.entry(readers.clone()).or_insert_with(|| before(subject, &readers));
            let known =
                writers.get(key).into_iter().flatten().any(|writer| before[*writer] && is_readable(subject, *writer, &readers));
            if !known {
                report.add(IssueCode::TemplateUnknownKey, "", node.spot().field(field), &[("node", node.label()), ("key", key)]);
            }
        }
    }
}

/// The nodes that write each key.
fn writers<'s>(subject: &'s Subject<'_>) -> HashMap<&'s str, Vec<usize>> {
    let mut writers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, node) in subject.nodes() {
        for key in [node.node.output_key(), node.node.files_key()].into_iter().flatten() {
            writers.entry(key).or_default().push(at);
        }
        if let Node::Stop(_) = &node.node {
            writers.entry("reply").or_default().push(at);
        }
    }
    writers
}

/// The nodes on the way of control that a node's templates are read for: itself, or the agents that it is bound to.
fn readers(subject: &Subject<'_>, at: usize) -> Vec<usize> {
    let mut readers = vec![at];
    let mut next = 0;
    while next < readers.len() {
        for (n, _) in subject.graph.edges.iter().enumerate().filter(|(_, edge)| edge.is_binding()) {
            if let Some((source, target)) = subject.wiring.ends(n)
                && source == readers[next]
                && !readers.contains(&target)
            {
                readers.push(target);
            }
        }
        next += 1;
    }
    readers
}

/// The nodes from which control can get to any of some, those left out unless it can come back to them.
fn before(subject: &Subject<'_>, readers: &[usize]) -> Vec<bool> {
    let sources = readers.iter().flat_map(|reader| subject.wiring.entering(*reader));
    subject.wiring.reaching(sources.map(|(_, source)| source))
}

/// Nothing outside a branch can read what the branch writes.
fn is_readable(subject: &Subject<'_>, writer: usize, readers: &[usize]) -> bool {
    readers.iter().any(|reader| {
        subject.regions.iter().all(|region| match region.branch_of(writer) {
            None => true,
            Some(branch) => region.branch_of(*reader) == Some(branch),
        })
    })
}
