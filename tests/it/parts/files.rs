//! Files that models and tools make: stored once with the entry that names them, sent back where their family takes them, gone with who names them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::{ListQuery, Scope, Upload};

use super::server::{FAMILIES, Family, PAINTERS, PICTURE, Server};
use super::{events, run};
use crate::support::Bench;
use crate::support::caller::{Caller, Plan};

/// A host whose tool gives this; the one of a list that a call asks for as `n`.
struct Gives(Value);

impl Host for Gives {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let chosen = call.payload["arguments"]["n"].as_u64().and_then(|n| self.0.get(usize::try_from(n).ok()?));
        let given = chosen.unwrap_or(&self.0).clone();
        Box::pin(async move { if call.op == HostOp::ToolCall { Ok(given) } else { Err(HostFailure::new("no")) } })
    }
}

fn give(bench: &Bench, given: Value) {
    let tool = HostTool {
        name: "calculate".into(),
        description: "Draws".into(),
        input_schema: json!({"type": "object"}),
        require_approval: false,
        idempotent: true,
        timeout_ms: None,
    };
    bench.studio.set_host(Arc::new(Gives(given)), HostDeclaration { ops: vec![HostOp::ToolCall], tools: vec![tool], ..HostDeclaration::default() });
}

fn picture(name: &str) -> Value {
    json!({"type": "file", "name": name, "media_type": "image/png", "data": PICTURE})
}

fn node(family: &Family) -> String {
    format!("start -> agent_1{{provider: work, model: {}, tools: [{{ref: \"host:calculate\"}}]}} -> stop", family.model)
}

/// No base64 of the picture lies in the files of a folder, but for the stored file itself, which is bytes.
fn nowhere_in(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten().filter(|entry| entry.path().is_file()) {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        assert!(!bytes.windows(24).any(|window| window == &PICTURE.as_bytes()[..24]), "{}", entry.path().display());
    }
}

async fn parts_of(bench: &Bench, agent: &str, run: &str) -> (String, Value) {
    let thread = bench.trace(run).await["trace"]["thread_id"].as_str().expect("a thread").to_owned();
    let query = ListQuery::parse([("include", "parts,tools")]).expect("a query");
    let page = bench.studio.chat_messages(&bench.scope, EntityKind::Agent, agent, &thread, query).await.expect("messages");
    (thread, page["messages"].clone())
}

#[tokio::test]
async fn a_picture_of_a_model_is_kept_told_and_sent_back_also_after_a_restart() {
    for family in PAINTERS {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(family).await;
        let bench = server.on_disk(folder.path());
        let agent = bench.agent(json!({"name": "A", "provider": "work", "model": family.model})).await;
        let first = bench.chat(&agent, json!({"message": "Draw a dot."})).await;
        let (thread, messages) = parts_of(&bench, &agent, &first).await;
        let file = messages[1]["parts"].as_array().expect("parts").iter().find(|part| part["type"] == "file").expect("a file").clone();
        assert_eq!((&file["name"], &file["media_type"], &file["size"]), (&json!("image-1.png"), &json!("image/png"), &json!(70)), "{}", family.kind);
        let key = file["storage_key"].as_str().expect("a key");
        let stored = bench.studio.attachment(&bench.scope, key).await.expect("the file");
        assert_eq!((&*stored.mime_type, stored.bytes.len()), ("image/png", 70));
        let other = Scope { tenant: "other".into(), user: None };
        assert!(bench.studio.attachment(&other, key).await.is_err(), "another tenant reads it");
        assert!(!bench.trace(&first).await.to_string().contains(&PICTURE[..24]), "{}: base64 is shown", family.kind);
        drop(bench);
        nowhere_in(folder.path());
        let bench = server.on_disk(folder.path());
        bench.chat(&agent, json!({"message": "Once more.", "thread_id": thread})).await;
        let asked = server.asked();
        assert_eq!(asked.len(), 2, "{}", family.kind);
        assert_eq!(asked[1].matches(PICTURE).count(), 1, "{}: {}", family.kind, asked[1]);
        for kept in family.sent_back {
            assert_eq!(asked[1].matches(kept).count(), 1, "{}: {kept} in {}", family.kind, asked[1]);
        }
        assert!(!asked[1].contains("studio_file") && !asked[1].contains(key), "{}: {}", family.kind, asked[1]);
    }
}

#[tokio::test]
async fn a_picture_is_an_event_and_goes_to_the_key_of_the_node() {
    for family in PAINTERS {
        let server = Server::start(family).await;
        let sketched = format!("start -> llm_1{{provider: work, model: {}, files_key: drawn}} -> stop", family.model);
        let (told, trace) = run(&server.bench(json!({})), &sketched).await;
        let files = events(&told, "file");
        assert_eq!(files.len(), 1, "{}: {told}", family.kind);
        let written = &trace["trace"]["output"]["drawn"];
        assert_eq!((&files[0]["node_id"], &files[0]["size"], &files[0]["name"]), (&json!("llm_1"), &json!(70), &json!("image-1.png")), "{told}");
        let names = ["storage_key", "name", "media_type", "size"];
        let listed: Value = names.iter().map(|name| ((*name).to_owned(), written[0][*name].clone())).collect::<serde_json::Map<_, _>>().into();
        assert_eq!(*written, json!([listed]), "{}: {trace:#}", family.kind);
        assert!(!told.contains(&PICTURE[..24]) && !trace.to_string().contains(&PICTURE[..24]), "{}", family.kind);
    }
}

#[tokio::test]
async fn files_of_a_result_go_to_the_model_once_in_each_family() {
    let given = json!({"studio_parts": [{"type": "text", "text": "Here it is."}, picture("dot.png")]});
    for family in FAMILIES {
        let server = Server::start(family).await;
        let bench = server.bench(json!({"providers": {"work": {"models": [{"id": family.model, "input": ["text", "image"]}]}}}));
        give(&bench, given.clone());
        let (told, trace) = run(&bench, &node(family)).await;
        let result = &events(&told, "tool_result")[0];
        assert_eq!((&result["result"], &result["files"][0]["name"]), (&json!("Here it is."), &json!("dot.png")), "{}: {told}", family.kind);
        let asked = server.asked();
        assert_eq!(asked.len(), 2, "{}: {trace:#}", family.kind);
        assert_eq!(asked[1].matches(PICTURE).count(), 1, "{}: {}", family.kind, asked[1]);
        let body: Value = serde_json::from_str(&asked[1]).expect("JSON");
        let last = |list: &str| body[list].as_array().and_then(|list| list.last()).cloned().unwrap_or_default();
        let place = match family.kind {
            "anthropic" => last("messages")["content"][0]["content"][1]["source"]["data"].clone(),
            "gemini" => last("contents")["parts"].as_array().and_then(|parts| parts.last()).map(|part| part["inlineData"]["data"].clone()).unwrap_or_default(),
            "openai-responses" => last("input")["content"][1]["image_url"].clone(),
            "ollama" => last("messages")["images"][0].clone(),
            _ => last("messages")["content"][1]["image_url"]["url"].clone(),
        };
        assert!(place.as_str().is_some_and(|data| data.ends_with(PICTURE)), "{}: {}", family.kind, asked[1]);
        assert!(!told.contains(&PICTURE[..24]) && !trace.to_string().contains(&PICTURE[..24]), "{}", family.kind);
        let tool = trace["spans"].as_array().expect("spans").iter().find(|span| span["type"] == "tool").expect("a call");
        assert_eq!(tool["output"]["files"], result["files"]);
    }
}

/// What a model is sent after a turn in which it called a tool twice; `attached` came with the message.
async fn sent_after(given: Value, attached: Option<Vec<u8>>) -> String {
    let caller = Caller::start(Plan { tool: "calculate", calls: 2, at_once: 2, ..Plan::default() }).await;
    let mut settings = caller.settings();
    crate::support::merge(&mut settings, json!({"providers": {"work": {"models": [{"id": "own", "input": ["text", "image"]}]}}}));
    let bench = Bench::new(settings);
    give(&bench, given);
    let mut body = json!({"message": "Look."});
    if let Some(bytes) = attached {
        let upload = Upload { name: Some("sent.png".into()), mime_type: None, kind: None, bytes: bytes.into() };
        let stored = bench.studio.upload(&bench.scope, upload).await.expect("stored");
        body["attachments"] = json!([{"type": "image", "storage_key": stored["storage_key"]}]);
    }
    let agent = bench.agent(json!({"name": "A", "provider": "work", "model": "own", "tools": [{"ref": "host:calculate"}]})).await;
    bench.chat(&agent, body).await;
    let seen = caller.seen.lock().expect("seen");
    assert_eq!(seen.len(), 2);
    seen[1].clone()
}

#[tokio::test]
async fn files_of_all_results_of_a_turn_are_sent() {
    let one = |name: &str| json!({"studio_parts": [picture(name)]});
    for given in [json!([one("a.png"), "nothing"]), json!(["nothing", one("b.png")])] {
        let sent = sent_after(given, None).await;
        assert_eq!(sent.matches(PICTURE).count(), 1, "{sent}");
    }
    // The files before count once each, however many they are: 200 kB are not too much.
    let mut bytes = STANDARD.decode(PICTURE).expect("base64");
    bytes.resize(60_000, 0);
    let large = STANDARD.encode(&bytes);
    let one = |name: &str| json!({"studio_parts": [{"type": "file", "name": name, "media_type": "image/png", "data": large}]});
    let sent = sent_after(json!([one("a.png"), one("b.png")]), Some(bytes)).await;
    assert_eq!((sent.matches(&large).count(), sent.contains("is not sent")), (3, false), "{}", sent.len());
}

#[tokio::test]
async fn a_model_that_reads_no_pictures_is_told_their_names() {
    for family in FAMILIES {
        let server = Server::start(family).await;
        let bench = server.bench(json!({"providers": {"work": {"models": [{"id": family.model, "input": ["text"]}]}}}));
        give(&bench, json!({"studio_parts": [picture("dot.png")]}));
        let (told, _) = run(&bench, &node(family)).await;
        let asked = server.asked();
        assert!(asked[1].contains("The file dot.png of type image/png cannot be shown") && !asked[1].contains(PICTURE), "{}: {}", family.kind, asked[1]);
        assert!(told.contains("attachment_dropped"), "{}: {told}", family.kind);
    }
}

#[tokio::test]
async fn what_is_too_much_or_of_no_known_type_is_an_error_and_nothing_is_kept() {
    let family = &FAMILIES[0];
    let bad = json!({"type": "file", "name": "a.svg", "media_type": "image/svg+xml", "data": "PHN2Zy8+"});
    let large = json!({"type": "file", "name": "l.txt", "media_type": "text/plain", "data": "aGlo".repeat(500)});
    for (given, why) in [
        (json!({"studio_parts": (0..21).map(|_| picture("a.png")).collect::<Vec<_>>()}), "there are 21 of them, and a result brings at most 20"),
        (json!({"studio_parts": [picture("a.png"), bad]}), "a.svg is of no type that is taken"),
        (json!({"studio_parts": [{"type": "text", "text": "Done."}, large]}), "l.txt has more than 1 KiB"),
        (json!({"studio_parts": [{"type": "file", "data": "???"}]}), "part 1 has `data` that is not base64"),
    ] {
        let server = Server::start(family).await;
        let bench = server.bench(json!({"attachments": {"max_size_kb": 1}}));
        give(&bench, given);
        let (told, _) = run(&bench, &node(family)).await;
        let result = &events(&told, "tool_result")[0];
        assert_eq!((&result["is_error"], result.get("files")), (&json!(true), None), "{told}");
        assert!(result["result"].as_str().is_some_and(|text| text.contains(why)), "{why}: {told}");
    }
}

#[tokio::test]
async fn files_go_with_the_last_who_names_them() {
    let family = &PAINTERS[0];
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(family).await;
    let files = folder.path().join("files");
    let bench = server.on_disk_with(folder.path(), json!({"attachments": {"path": files}}));
    let agent = bench.agent(json!({"name": "A", "provider": "work", "model": family.model})).await;
    let run = bench.chat(&agent, json!({"message": "Draw a dot."})).await;
    let (thread, messages) = parts_of(&bench, &agent, &run).await;
    let key = messages[1]["attachments"][0]["storage_key"].as_str().expect("a key").to_owned();
    let lying = || walk(&files);
    let in_a_folder = usize::from(crate::support::place::on_server("").is_none());
    assert_eq!(lying(), in_a_folder, "the bytes lie in the folder, or in the database of a server");
    assert_eq!(bench.studio.delete_attachment(&bench.scope, &key).await.map_err(|error| error.kind.code()), Err("in_use"));
    bench.studio.delete_run(&bench.scope, &run).await.expect("deleted");
    assert!(bench.studio.attachment(&bench.scope, &key).await.is_ok(), "the thread still names it");
    bench.studio.delete_thread(&bench.scope, &thread).await.expect("deleted");
    assert!(bench.studio.attachment(&bench.scope, &key).await.is_err());
    assert_eq!(lying(), 0, "nothing is left");
}

fn walk(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { 1 }).sum()
}

#[tokio::test]
async fn a_secret_in_the_name_of_a_file_is_masked() {
    let family = &FAMILIES[0];
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(family).await;
    let bench = server.on_disk_with(folder.path(), json!({"observability": {"redact": ["password"]}}));
    give(&bench, json!({"studio_parts": [{"type": "text", "text": "{\"password\": \"hunter2hunter2\"}"}, picture("of hunter2hunter2.png")]}));
    let (told, trace) = run(&bench, &node(family)).await;
    assert!(events(&told, "tool_result")[0]["files"][0]["name"].is_string(), "{told}");
    assert!(!told.contains("hunter2") && !trace.to_string().contains("hunter2"), "{told}");
    drop(bench);
    for entry in std::fs::read_dir(folder.path()).expect("a folder").flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{}", entry.path().display());
    }
}
