//! Files for the checkers of other languages: `scripts/test-codegen.sh` runs this one and looks at what it wrote.

use std::path::Path;

use serde_json::{Map, Value, json};
use wfstudio::codegen::{ClassKind, Target, WriteError, ordered, skeleton, write};

use super::{Desk, stories};

/// Definitions with everything that languages read differently.
fn hostile() -> Value {
    json!({
        "slug": "studio", "name": "'\"\\`", "description": "$a {$b} ${c} #{d} #@e #$f %{g} \\(h) \\u{41} /* # // <?php ?> \"\"\" '''",
        "kind": "webhook", "tags": ["\r\n\t\u{0}\u{7}\u{1b}", "\u{2028}\u{2029}\u{202e}\u{2066}\u{feff}\u{ad}", "é 日本語 😀 \u{10ffff}\u{e000}", ""],
        "metadata": {"": {}, "__proto__": [], "0": {"1": null, "-7": "x"}, "class": true, "é": false, "constructor": [[], {}, [[]]],
            "numbers": [0, -1, 2_147_483_648_i64, -2_147_483_649_i64, 1.0, -0.5, 1e300, 1e-7, 0.1, -1.5e16, i64::MAX]},
    })
}

/// A workflow with so many nodes.
fn large(nodes: usize) -> Value {
    let node = |at: usize| json!({"id": format!("set_{at}"), "type": "set_state", "title": format!("Node {at}"), "position": {"x": at, "y": -1.5},
        "data": {"key": format!("k{at}"), "value": {"text": "{{input}}", "list": [1, true, null, {"deep": []}]}, "retries": {"max": 2, "backoff_ms": 10}}});
    let edge = |at: usize| json!({"id": format!("e{at}"), "source": format!("set_{at}"), "target": format!("set_{}", at + 1), "sourceHandle": "default", "targetHandle": "default"});
    json!({"slug": format!("large-{nodes}"), "name": "Large", "description": "", "tags": [], "metadata": {}, "agents": {},
        "graph": {"version": 1, "nodes": (0..nodes).map(node).collect::<Vec<_>>(), "edges": (1..nodes).map(edge).collect::<Vec<_>>()}})
}

fn nested(levels: usize) -> Value {
    let inner = (0..levels).fold(json!("end"), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({"a": inner}) });
    json!({"slug": "nested", "name": "Nested", "kind": "rag", "metadata": {"value": inner}})
}

/// Exported definitions of templates with their agents, as a studio stores them.
async fn stored(desk: &Desk) -> Vec<(ClassKind, Value)> {
    let mut all = Vec::new();
    for template in stories::workflows() {
        let slug = desk.install(template).await["slug"].clone();
        desk.make("/api/codegen/export", json!({"kind": "workflow", "id": slug, "target": "rust"})).await;
        let class = format!("class:{}", template.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect::<String>() + "Workflow");
        let (status, shown) = desk.get(&format!("/api/registry/class?class={}", &class["class:".len()..])).await;
        assert_eq!(status, 200, "{shown}");
        let definition = shown["definition"].clone();
        all.extend(definition["agents"].as_object().into_iter().flat_map(Map::values).map(|agent| (ClassKind::Agent, agent.clone())));
        all.push((ClassKind::Workflow, definition));
    }
    all
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

#[tokio::test]
#[ignore = "writes files for `make test-codegen`"]
async fn files_for_the_checkers_of_other_languages() {
    let root = std::path::PathBuf::from(std::env::var_os("STUDIO_CODEGEN_FILES").expect("STUDIO_CODEGEN_FILES"));
    let desk = Desk::new();
    let mut definitions = stored(&desk).await;
    put(&root, "stories.json", &json!(stories::events_of_all(&desk).await).to_string());
    definitions.extend(ClassKind::ALL.map(|kind| (kind, hostile())));
    definitions.extend([(ClassKind::Workflow, large(120)), (ClassKind::Tool, nested(60))]);
    for target in Target::ALL {
        let folder = root.join(target.name());
        let mut expected = Map::new();
        let mut index = Vec::new();
        for (kind, definition) in &definitions {
            let file = write(target, *kind, definition, "App\\Studio").expect("a file");
            put(&folder, &file.path, &file.text);
            let full = if file.namespace.is_empty() { file.class.clone() } else { [&file.namespace, target.separator(), &file.class].concat() };
            if expected.insert(full.clone(), ordered(*kind, definition)).is_none() {
                index.push(json!({"path": file.path, "class": file.class, "full": full, "kind": kind.name()}));
            }
        }
        let begun = skeleton(target, "look-up", "look_up", "App\\Studio").expect("a file");
        put(&folder, &begun.path, &begun.text);
        put(&folder, "expected.json", &Value::Object(expected).to_string());
        put(&folder, "index.json", &json!({"classes": index, "skeleton": begun.path}).to_string());
    }
    assert!(matches!(write(Target::Kotlin, ClassKind::Tool, &json!({"slug": "a", "config": i64::MIN}), ""), Err(WriteError::Number { .. })));
}
