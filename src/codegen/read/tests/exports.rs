//! What is exported is read as it was: all templates and random definitions, in every language.

use serde_json::{Map, Value, json};

use super::super::super::{ClassKind, FoundClass, ordered, write};
use super::super::{list, read};
use super::round_trips::object;
use super::*;

fn check(kind: ClassKind, definition: &Value, namespace: &str) {
    let wanted = ordered(kind, definition).to_string();
    for target in Target::ALL {
        let file = write(target, kind, definition, namespace).unwrap_or_else(|error| panic!("{target:?} {error} {definition}"));
        for text in [file.text.clone(), file.text.replace('\n', "\r\n")] {
            let FoundClass { class, kind: found, definition, line } =
                read(target, &text, None).unwrap_or_else(|error| panic!("{target:?} {error:?}\n{text}"));
            assert_eq!(found, kind, "{target:?}");
            assert_eq!(definition.to_string(), wanted, "{target:?}\n{text}");
            let last = class.rsplit(target.separator()).next().expect("a name");
            assert_eq!(last, file.class, "{target:?}");
            assert_eq!(list(target, &text), [(class, kind, line)], "{target:?}");
        }
    }
}

fn files(folder: &str) -> Vec<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(path).expect("templates").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")).collect()
}

fn agent(file: &Value) -> Value {
    let mut whole = json!({"slug": file["meta"]["id"], "name": file["meta"]["name"], "description": file["meta"]["description"], "tags": file["meta"]["tags"]});
    let more = file["definition"].as_object().cloned().unwrap_or_default();
    whole.as_object_mut().expect("an object").extend(more);
    whole
}

#[test]
fn every_template_comes_back() {
    let agents = files("agents");
    let by_slug: Map<String, Value> =
        agents.iter().map(|file| (file["meta"]["id"].as_str().expect("an id").to_owned(), agent(file))).collect();
    agents.iter().for_each(|file| check(ClassKind::Agent, &agent(file), "App\\Studio"));
    let workflows = files("workflows");
    assert_eq!((agents.len(), workflows.len()), (7, 11));
    for file in workflows {
        let used = file["meta"]["agents"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let used: Map<String, Value> = used.map(|slug| (slug.to_owned(), by_slug[slug].clone())).collect();
        let meta = &file["meta"];
        let definition = json!({"slug": meta["id"], "name": meta["name"], "description": meta["description"], "graph": file["graph"], "tags": meta["tags"], "metadata": {}, "agents": used});
        for namespace in ["App\\Studio", "", "Fun\\Class\\In"] {
            check(ClassKind::Workflow, &definition, namespace);
        }
    }
}

#[test]
fn random_definitions_come_back() {
    let mut random = Random(11);
    for round in 0..200 {
        let nodes: Vec<Value> = (0..random.below(8)).map(|number| {
            json!({"id": format!("n{number}"), "type": "llm", "title": "é\n", "position": {"x": random.below(900), "y": -0.5}, "data": object(&mut random, 4)})
        }).collect();
        let graph = json!({"version": 1, "nodes": nodes, "edges": [], "annotations": [object(&mut random, 2)], "viewport": {"x": 0, "y": 0, "zoom": 1.0}});
        let mut definition = object(&mut random, 3);
        definition.extend([
            ("slug".to_owned(), format!("random-{round}").into()),
            ("name".to_owned(), "n".into()),
            ("graph".to_owned(), graph),
        ]);
        definition.insert("metadata".into(), object(&mut random, 4).into());
        check(ClassKind::Workflow, &json!(definition), "App\\Studio");
        let tool = json!({"slug": format!("t{round}"), "name": "t", "kind": "webhook", "input_schema": object(&mut random, 4), "config": object(&mut random, 2), "idempotent": true});
        check(ClassKind::Tool, &tool, "App\\Studio");
    }
}
