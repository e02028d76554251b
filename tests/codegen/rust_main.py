"""Writes a program that prints what exported classes of Rust return; registered, its workflows must run as the stored ones did: rust_main.py FILES"""

import json
import sys

files = sys.argv[1]
index = json.load(open(f"{files}/index.json"))
stories = json.load(open(f"{files}/../stories.json"))
wanted = {story["workflow"] for story in stories}
expected = json.load(open(f"{files}/expected.json"))

paths = [entry["path"] for entry in index["classes"]] + [index["skeleton"]]
modules = "".join(f'#[path = "{files}/{path}"]\nmod m{at};\n' for at, path in enumerate(paths))
inserts, registers = "", ""
for at, entry in enumerate(index["classes"]):
    found = f"m{at}::{entry['class']}"
    inserts += f'    all.insert("{entry["full"]}".to_owned(), <{found} as Studio{entry["kind"].capitalize()}>::definition());\n'
    if entry["kind"] == "workflow" and expected[entry["full"]]["slug"] in wanted:
        registers += f"    studio.register_workflow::<{found}>().expect(\"registered\");\n"
assert registers.count("\n") == len(wanted)

print(f"""use wfstudio::config::{{Config, ConfigSources}};
use wfstudio::engine::{{Follow, From}};
use wfstudio::model::event::EntityKind;
use wfstudio::serde_json::{{self, Value, json}};
use wfstudio::studio::runs::requests::{{ResumeRequest, RunRequest}};
use wfstudio::studio::{{Scope, Started, TraceQuery}};
use wfstudio::{{Studio, StudioAgent, StudioTool, StudioWorkflow}};

{modules}
async fn heard(studio: &Studio, started: &Started, told: &mut Vec<Value>) {{
    let from = From {{ after: started.after, ..From::default() }};
    let mut events = studio.events(&Scope::default(), &started.run.to_string(), from, Follow::Answer).await.unwrap().unwrap();
    while let Some(batch) = events.next_batch().await {{
        for frame in batch {{
            let mut data = Vec::new();
            frame.write_data(&mut data);
            let data: Value = serde_json::from_str(&String::from_utf8(data).unwrap()).unwrap();
            told.push(Value::Array(vec![frame.event().into(), data["node_id"].clone()]));
        }}
    }}
}}

async fn played(studio: &Studio, story: &Value) -> Value {{
    let (scope, mut told) = (Scope::default(), Vec::new());
    let request = RunRequest::parse(&json!({{"message": (story["message"].clone())}}), EntityKind::Workflow).unwrap();
    let started = studio.start(&scope, EntityKind::Workflow, story["workflow"].as_str().unwrap(), request, false).await.unwrap();
    heard(studio, &started, &mut told).await;
    let run = started.run.to_string();
    for answer in story["answers"].as_array().unwrap() {{
        let started = studio.resume(&scope, &run, ResumeRequest::parse(answer).unwrap(), false).await.unwrap();
        heard(studio, &started, &mut told).await;
    }}
    let trace = studio.trace(&scope, &run, TraceQuery::default()).await.unwrap()["trace"].take();
    let mut ended = story.clone();
    ended["told"] = told.into();
    ended["end"] = ["status", "reply", "output"].map(|key| trace[key].clone()).to_vec().into();
    ended
}}

fn main() {{
    let mut all = serde_json::Map::new();
{inserts}    println!("{{}}", Value::Object(all));
    let settings = json!({{"environment": "local", "database": {{"path": ":memory:"}}, "default_provider": "script"}});
    let config = Config::load(ConfigSources {{ json: Some(settings), ..ConfigSources::default() }}).expect("a configuration");
    let studio = Studio::open(config).expect("a studio");
{registers}    let stories: Value = serde_json::from_str(&std::fs::read_to_string("{files}/../stories.json").unwrap()).unwrap();
    let stories = stories.as_array().unwrap();
    studio.runtime().expect("a runtime").block_on(async {{
        for story in stories {{
            assert_eq!(&played(&studio, story).await, story);
        }}
    }});
    eprintln!("rust: {{}} runs of registered classes end as the stored workflows do", stories.len());
}}""")
