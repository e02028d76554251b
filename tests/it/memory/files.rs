//! Files on their way to models: weighed, sent in every pass, told as missing once they are gone.

use serde_json::{Value, json};
use wfstudio::studio::Upload;

use super::{names, outputs, sent, spans, whole};
use crate::support::place;
use crate::support::story::Story;

/// A PNG file of so many pixels, as far as its header goes.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes
}

async fn upload(story: &Story, name: &str, bytes: Vec<u8>) -> Value {
    let upload = Upload { name: Some(name.into()), mime_type: None, kind: None, bytes: bytes.into() };
    let stored = story.bench.studio.upload(&story.bench.scope, upload).await.expect("stored");
    json!({"type": stored["type"], "storage_key": stored["storage_key"]})
}

#[tokio::test]
async fn images_weigh_by_their_size() {
    let story = Story::scripted(json!([{"times": 0, "text": "A picture."}]));
    for (file, tokens) in [(png(1024, 600), 765), (png(512, 512), 255), (png(0, 0), 765), (b"%PDF-1.7".to_vec(), 1500)] {
        let file = upload(&story, "f", file).await;
        let sketch = "start -> agent_1{provider: script, model: m, message: \"1234\", context_window: 256} -> stop";
        let run = story.run_with(sketch, json!({"message": "hi", "attachments": [file]})).await;
        let told = outputs(&whole(&story, &run.id).await, "memory");
        let wanted = if tokens < 256 { String::new() } else { format!("\"tokens_before\":{}", tokens + 1) };
        assert!(told.contains(&wanted) && told.is_empty() == wanted.is_empty(), "{tokens}: {told}");
    }
}

#[tokio::test]
async fn files_of_turns_that_cannot_fit_are_not_read() {
    for summarises in [false, true] {
        let story = Story::scripted(json!([{"times": 0, "text": "Read."}]));
        let memory = json!({"context_window": 1000, "summarization_enabled": summarises});
        let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m", "memory_config": memory})).await;
        let mut body = json!({"message": "Read it."});
        for n in 0..3 {
            body["attachments"] = json!([upload(&story, "a.txt", format!("{n}{}", "x".repeat(4 * 1200 - 1)).into_bytes()).await]);
            let turn = story.chat(&agent, body.clone()).await;
            body["thread_id"] = story.trace(&turn.id).await["trace"]["thread_id"].clone();
        }
        let next = story.chat(&agent, json!({"message": "And now?", "thread_id": body["thread_id"]})).await;
        let trace = whole(&story, &next.id).await;
        let told: Value = serde_json::from_str(outputs(&trace, "memory").trim().split_once(' ').expect("a name").1).expect("JSON");
        assert!((1200..1300).contains(&told["tokens_before"].as_u64().expect("tokens")), "one file is enough to know: {told}");
        assert_eq!(sent(&trace, "chat", 0).last().expect("a message"), "user: And now?");
        assert!(told["tokens_after"].as_u64() <= Some(1000), "{told}");
    }
}

#[tokio::test]
async fn a_file_that_is_too_much_with_the_others_is_told_in_words() {
    let story = Story::with(json!({"attachments": {"max_size_kb": 34 * 1024}}), json!([{"times": 0, "text": "Seen."}]));
    let mut large = png(8, 8);
    large.resize(33 << 20, 0);
    let mut files = vec![upload(&story, "a.png", large.clone()).await, upload(&story, "b.png", large).await];
    files.push(upload(&story, "c.png", png(8, 8)).await);
    let run = story.run_with("start -> agent_1{provider: script, model: m} -> stop", json!({"message": "look", "attachments": files})).await;
    let wanted = "user: look\n[The file b.png is not sent: the files of this conversation are too large together.]";
    let trace = whole(&story, &run.id).await;
    let told = spans(&trace)[0]["input"][0].clone();
    assert_eq!(format!("user: {}", told["content"].as_str().unwrap_or_default()), wanted);
    let sent: Vec<&Value> = told["attachments"].as_array().expect("files").iter().map(|file| &file["name"]).collect();
    assert_eq!(sent, ["a.png", "c.png"], "what still fits is sent");
}

#[tokio::test]
async fn files_without_a_word_are_pointed_at_where_the_model_gets_them() {
    let story = Story::scripted(json!([{"times": 0, "text": "Seen."}]));
    let file = upload(&story, "a.png", png(8, 8)).await;
    for (vision, wanted) in [(true, "Look at the attached files."), (false, "")] {
        let sketch = format!("start -> agent_1{{provider: script, model: m, vision: {vision}}} -> stop");
        let run = story.run_with(&sketch, json!({"message": "", "attachments": [file]})).await;
        let told = spans(&whole(&story, &run.id).await)[0]["input"][0].clone();
        assert_eq!(told["content"].as_str().unwrap_or_default(), wanted, "{told}");
    }
}

#[tokio::test]
async fn files_go_along_in_every_pass_of_a_loop() {
    let story = Story::scripted(json!([{"times": 0, "text": "Seen."}]));
    let file = upload(&story, "a.png", png(8, 8)).await;
    let sketch = "start -> loop_1{max_steps: 3, on_max: exit}; loop_1.continue -> agent_1{provider: script, model: m} -> loop_1; loop_1.exit -> stop";
    let run = story.run_with(sketch, json!({"message": "look", "attachments": [file]})).await;
    let trace = whole(&story, &run.id).await;
    let calls: Vec<&Value> = trace["spans"].as_array().unwrap().iter().filter(|span| span["name"] == "chat").collect();
    let files = |call: &Value| call["input"].as_array().unwrap().iter().map(|message| message["attachments"].as_array().map_or(0, Vec::len)).sum::<usize>();
    assert_eq!(calls.iter().map(|call| files(call)).collect::<Vec<_>>(), [1, 2, 3], "and its history remembers them");
    let counts = trace["steps"].as_array().unwrap().iter().filter(|step| step["node_type"] == "agent").map(|step| step["attachment_count"].clone());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 1, 1]);
    assert!(trace["trace"]["output"]["attachments"].is_array(), "they stay in the state");
}

#[tokio::test]
async fn a_file_that_is_gone_is_told_as_missing() {
    if place::on_server("").is_some() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::on_disk(folder.path(), json!([{"times": 0, "text": "Seen."}]));
    let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m"})).await;
    let file = upload(&story, "cat.png", png(8, 8)).await;
    let first = story.chat(&agent, json!({"message": "What is it?", "attachments": [file.clone()]})).await;
    let thread = story.trace(&first.id).await["trace"]["thread_id"].as_str().unwrap().to_owned();
    let removed = remove_files(folder.path());
    assert_eq!(removed, 1, "the file lies beside the database");
    let second = super::chat(&story, &agent, &thread, "And now?".into()).await;
    assert!(second.text.contains("done"), "{}", second.text);
    let trace = whole(&story, &second.id).await;
    assert_eq!(sent(&trace, "chat", 0)[0], "user: What is it?\n[The file cat.png was deleted and is missing here.]");
    assert_eq!(names(&trace), ["llm chat completed"]);
    let shown = super::read(&story, &agent, &thread, &[]).await;
    assert_eq!(shown[0]["attachments"][0]["name"], "cat.png", "people still see that there was one");
}

#[tokio::test]
async fn a_state_names_no_files_of_other_users() {
    let mut story = Story::scripted(json!([{"times": 0, "text": "Seen."}]));
    story.bench.scope.user = Some(json!({"id": "ann"}));
    let file = upload(&story, "secret.png", png(8, 8)).await;
    let sketch = "start -> agent_1{provider: script, model: m} -> stop";
    let state = json!({"attachments": [{"type": "image", "mime_type": "text/html", "storage_key": file["storage_key"], "name": "x.png"}]});
    story.bench.scope.user = Some(json!({"id": "ben"}));
    let other = story.run_with(sketch, json!({"message": "hi", "state": state})).await;
    assert_eq!(sent(&whole(&story, &other.id).await, "chat", 0), ["user: hi\n[The file x.png was deleted and is missing here.]"]);
    let key = file["storage_key"].as_str().unwrap();
    assert!(story.bench.studio.attachment(&story.bench.scope, key).await.is_err(), "nor does a run that names it open it");
    story.bench.scope.user = Some(json!({"id": "ann"}));
    let own = story.run_with(sketch, json!({"message": "hi", "state": state})).await;
    assert_eq!(sent(&whole(&story, &own.id).await, "chat", 0), ["user: hi"]);
}

/// Removes every file below a folder that is no database.
fn remove_files(folder: &std::path::Path) -> usize {
    let mut removed = 0;
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            removed += remove_files(&path);
        } else if !path.to_string_lossy().contains("sqlite") {
            std::fs::remove_file(&path).expect("removed");
            removed += 1;
        }
    }
    removed
}

#[tokio::test]
async fn a_file_of_an_answer_stays_as_long_as_its_run() {
    let story = Story::scripted(json!([{"times": 0, "text": "Seen."}]));
    let ask = "start -> human_1{prompt: \"Which?\"} -> human_2{prompt: \"Sure?\"} -> agent_1{provider: script, model: m} -> stop";
    let run = story.run(ask).await;
    let file = upload(&story, "cat.png", png(8, 8)).await;
    let (studio, scope) = (&story.bench.studio, &story.bench.scope);
    story.resume(&run.id, json!({"message": "this one", "attachments": [file]})).await;
    let thread = story.trace(&run.id).await["trace"]["thread_id"].as_str().expect("a thread").to_owned();
    let key = file["storage_key"].as_str().expect("a key");
    studio.delete_thread(scope, &thread).await.expect("its run rests");
    studio.attachment(scope, key).await.expect("the run waits with it");
    story.resume(&run.id, json!({"message": "yes"})).await;
    let trace = whole(&story, &run.id).await;
    assert_eq!(spans(&trace)[0]["input"][0]["attachments"][0]["name"], "cat.png", "{trace}");
    studio.delete_run(scope, &run.id).await.expect("it is over");
    studio.delete_thread(scope, &thread).await.expect("its run wrote to it again");
    assert!(studio.attachment(scope, key).await.is_err(), "nothing refers to it any more");
}

/// Puts a folder in the place of every file below a folder that is no database: whoever reads it gets an error, and it is there.
fn unreadable(folder: &std::path::Path) -> usize {
    let mut made = 0;
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            made += unreadable(&path);
        } else if !path.to_string_lossy().contains("sqlite") {
            std::fs::remove_file(&path).expect("removed");
            std::fs::create_dir(&path).expect("made");
            made += 1;
        }
    }
    made
}

#[tokio::test]
async fn a_file_that_cannot_be_read_at_the_moment_is_not_told_as_missing() {
    if place::on_server("").is_some() {
        return;
    }
    for (name, bytes) in [("cat.png", png(8, 8)), ("notes.txt", b"Read this.".to_vec())] {
        let folder = tempfile::tempdir().expect("a folder");
        let story = Story::on_disk(folder.path(), json!([{"times": 0, "text": "Seen."}]));
        let file = upload(&story, name, bytes).await;
        assert_eq!(unreadable(folder.path()), 1, "the file lies beside the database");
        let run = story.run_with("start -> agent_1{provider: script, model: m} -> stop", json!({"message": "look", "attachments": [file]})).await;
        let trace = whole(&story, &run.id).await;
        assert_eq!((&trace["trace"]["status"], &trace["trace"]["error"]["code"]), (&json!("failed"), &json!("store_unavailable")), "{name}: {trace:#}");
        assert!(trace["trace"]["error"]["message"].as_str().expect("a text").contains("attachments.path"), "{name}: {trace:#}");
        assert!(spans(&trace).is_empty(), "{name}: no model was asked: {trace:#}");
    }
}

#[tokio::test]
async fn a_thread_that_has_the_id_of_a_run_takes_none_of_its_files_along() {
    let story = Story::scripted(json!([{"times": 0, "text": "Seen."}]));
    let file = upload(&story, "a.txt", b"Kept.".to_vec()).await;
    let run = story.run_with("start -> human_1 -> agent_1{provider: script, model: m} -> stop", json!({"message": "look", "attachments": [file]})).await;
    let (studio, scope) = (&story.bench.studio, &story.bench.scope);
    let own = story.trace(&run.id).await["trace"]["thread_id"].as_str().expect("a thread").to_owned();
    studio.delete_thread(scope, &own).await.expect("deleted; the run keeps its file");
    let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m"})).await;
    story.chat(&agent, json!({"message": "hi", "thread_id": run.id})).await;
    studio.delete_thread(scope, &run.id).await.expect("deleted");
    let kept = studio.attachment(scope, file["storage_key"].as_str().expect("a key")).await.expect("the run refers to it");
    assert_eq!(kept.bytes, "Kept.");
    studio.cancel(scope, &run.id).await.expect("cancelled");
    studio.delete_run(scope, &run.id).await.expect("deleted");
    assert!(studio.attachment(scope, file["storage_key"].as_str().expect("a key")).await.is_err(), "it goes with the last that refers to it");
}
