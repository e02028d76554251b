//! Template files: those that ship are right, and those of a host are held to the same rules.

use std::collections::HashSet;
use std::fs;

use serde_json::{Value, json};

use super::file::{self, TemplateKind};
use super::{bundled, discovered};
use crate::config::Config;
use crate::studio::definitions::slugs;

fn agent(id: &str) -> Value {
    json!({"meta": {"id": id, "name": "Mine"}, "definition": {"provider": "default", "model": "default", "instructions": "Hi", "tools": []}})
}

fn workflow(id: &str) -> Value {
    json!({"meta": {"id": id, "name": "Mine", "complexity": "basic", "agents": ["support-assistant"]}, "graph": crate::studio::definitions::workflows::first_graph()})
}

#[test]
fn every_bundled_file_is_a_template_and_its_name_gives_its_id_as_slug() {
    for (kind, files) in [(TemplateKind::Agent, &bundled::AGENTS[..]), (TemplateKind::Workflow, &bundled::WORKFLOWS[..])] {
        for (id, text) in files {
            let template = file::parse(kind, id, text).unwrap_or_else(|problem| panic!("{id}: {problem}"));
            assert_eq!(slugs::from_name(template.text("name"), ""), *id);
            assert!(!template.texts("tags").is_empty() && !template.text("category").is_empty() && !template.text("description").is_empty(), "{id}");
        }
    }
    assert_eq!(bundled::all().len(), 18);
}

#[test]
fn bundled_graphs_go_from_left_to_right_with_titles_and_room_between_nodes() {
    for (id, text) in bundled::WORKFLOWS {
        let file: Value = serde_json::from_str(text).expect("JSON");
        let nodes = file["graph"]["nodes"].as_array().expect("nodes");
        let place = |node: &Value| (node["position"]["x"].as_f64().expect("x"), node["position"]["y"].as_f64().expect("y"));
        let titles: HashSet<String> = nodes.iter().map(|node| node["title"].as_str().expect("a title").to_lowercase()).collect();
        assert_eq!(titles.len(), nodes.len(), "{id}");
        for (at, one) in nodes.iter().enumerate() {
            for other in &nodes[at + 1..] {
                let ((x, y), (u, v)) = (place(one), place(other));
                assert!((x - u).abs() >= 300.0 || (y - v).abs() >= 150.0, "{id}: {} and {}", one["id"], other["id"]);
            }
        }
        let of = |id: &Value| place(nodes.iter().find(|node| node["id"] == *id).expect("a node"));
        for edge in file["graph"]["edges"].as_array().expect("edges") {
            let back = edge["targetHandle"] == "tools" || nodes.iter().any(|node| node["id"] == edge["target"] && node["type"] == "loop");
            assert!(back || of(&edge["source"]).0 < of(&edge["target"]).0, "{id}: {edge}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_file_is_told_in_a_sentence() {
    let without = |path: &str| {
        let mut file = workflow("mine");
        let (parent, key) = path.rsplit_once('/').expect("a path");
        file.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object").shift_remove(key);
        file.to_string()
    };
    let with = |path: &str, value: Value| {
        let mut file = workflow("mine");
        *file.pointer_mut(path).expect("a place") = value;
        file.to_string()
    };
    let deep = format!("{{\"meta\":{}{}}}", "[".repeat(100), "]".repeat(100));
    for (text, wanted) in [
        (String::new(), "EOF while parsing"),
        ("[]".to_owned(), "it is no JSON object"),
        ("{\"a\":".repeat(100_000), "recursion limit"),
        (deep, "more than 64 objects"),
        ("{}".to_owned(), "meta.id is required"),
        (with("/meta", json!(7)), "meta must be an object"),
        (with("/meta/id", json!("other")), "meta.id must equal the name of the file"),
        (with("/meta/id", json!("../mine")), "meta.id must be lower-case words"),
        (with("/meta/name", json!("  ")), "meta.name is required"),
        (with("/meta/complexity", json!("hard")), "meta.complexity must be one of basic, intermediate, advanced"),
        (without("/meta/complexity"), "meta.complexity is required"),
        (with("/meta/agents", json!(["A b"])), "meta.agents must be slugs of agents"),
        (with("/meta/agents", json!("support-assistant")), "meta.agents must be an array"),
        (without("/graph"), "graph is required"),
        (with("/graph", json!([])), "graph must be an object"),
        (with("/graph/nodes/0/type", json!("rocket")), "rocket"),
    ] {
        let told = file::parse(TemplateKind::Workflow, "mine", &text).expect_err("refused");
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let told = file::parse(TemplateKind::Agent, "mine", &workflow("mine").to_string()).expect_err("refused");
    assert!(told.contains("definition.provider is required"), "{told}");
    assert!(file::parse(TemplateKind::Agent, "mine", &format!("\u{feff}{}", agent("mine"))).is_ok());
}

#[test]
fn the_last_file_with_an_id_wins_and_bad_ones_are_skipped() {
    let (one, two, flows) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let put = |folder: &tempfile::TempDir, name: &str, file: &Value| fs::write(folder.path().join(name), file.to_string()).unwrap();
    put(&one, "support-assistant.json", &agent("support-assistant"));
    put(&one, "own.json", &agent("own"));
    let mut later = agent("own");
    later["meta"]["name"] = "Later".into();
    put(&two, "own.json", &later);
    put(&two, "support-assistant.json", &json!({}));
    put(&two, "notes.txt", &json!("not looked at"));
    fs::write(two.path().join("bytes.json"), [0xff, 0xfe]).unwrap();
    fs::write(two.path().join("large.json"), " ".repeat((2 << 20) + 1)).unwrap();
    fs::create_dir(two.path().join("folder.json")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(two.path().join("pipe.json")).status();
    assert!(pipe.is_ok_and(|status| status.success()));
    put(&flows, "own.json", &workflow("own"));
    let path = |folder: &tempfile::TempDir| folder.path().to_str().unwrap().to_owned();
    let paths = json!({"agent": [path(&one), path(&two), "/nowhere/at/all"], "workflow": [path(&flows)]});
    let config = Config::with(json!({"template_paths": paths})).unwrap();
    let all = discovered(&config);
    let shown: Vec<(&str, &str, &str)> = all.iter().map(|one| (one.kind.word(), one.id.as_str(), one.text("name"))).collect();
    assert_eq!(shown.len(), 20);
    assert_eq!(shown[0], ("agent", "support-assistant", "Mine"));
    assert_eq!((shown[7], shown[19]), (("agent", "own", "Later"), ("workflow", "own", "Mine")));
    let problems: Vec<String> = super::folders(&config).into_iter().flat_map(|folder| folder.problems).collect();
    for part in ["bytes.json` is skipped: it is no UTF-8", "folder.json` is skipped: it is no file", "large.json` is skipped: it has more than 2 MiB",
        "pipe.json` is skipped: it is no file", "support-assistant.json` is skipped: meta.id is required", "`/nowhere/at/all` cannot be read"] {
        assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:#?}");
    }
    assert_eq!(problems.len(), 6, "{problems:#?}");
}

#[test]
fn a_folder_is_read_up_to_a_number_of_files() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..503 {
        let id = format!("own-{number}");
        fs::write(folder.path().join(format!("{id}.json")), agent(&id).to_string()).unwrap();
    }
    let found = file::folder(TemplateKind::Agent, folder.path(), &mut file::TOTAL.clone());
    assert_eq!((found.count(), found.problems.len()), (500, 1), "{:?}", found.problems);
    let found = file::folder(TemplateKind::Agent, folder.path(), &mut 1000);
    assert!(found.count() < 20 && found.problems.iter().any(|problem| problem.contains("all templates together")), "{}", found.count());
}
