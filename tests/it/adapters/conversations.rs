//! Conversations whatever the protocol: two posts at once, restarts, tenants, readers who leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::Studio;
use wfstudio::clock::{Clock, SystemClock};
use wfstudio::model::{Id, Timestamp};
use wfstudio::studio::{Options, Scope};

use super::{agent, asked, chat, input, pays, post, read_until, user, whole};
use crate::support::story::Story;
use crate::support::{Bench, config};

/// A wall clock that goes so far ahead.
#[derive(Default)]
struct Ahead(AtomicI64, SystemClock);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp(self.1.now().0 + self.0.load(Ordering::SeqCst))
    }

    fn id(&self) -> Id {
        self.1.id()
    }

    fn random(&self, into: &mut [u8]) {
        self.1.random(into);
    }
}

#[tokio::test]
async fn an_answer_is_one_also_after_the_clock_went_back() {
    let clock = Arc::new(Ahead::default());
    let options = Options { clock: Some(Arc::<Ahead>::clone(&clock)), ..Options::default() };
    let studio = Studio::open_with(config(json!({}), ":memory:"), options).expect("a studio");
    let story = Story::of(Bench { studio, scope: Scope::default() });
    let workflow = story.workflow("start -> human_1{prompt: \"Name?\", output_key: name} -> stop{reply: \"Hello {{name}}\"}").await;
    let path = format!("/workflows/{workflow}/stream/vercel");
    for (ahead, name) in [(3_600_000, "Ada"), (0, "Bob")] {
        clock.0.store(ahead, Ordering::SeqCst);
        let paused = post(&story, &path, chat("one", json!([user("hi")]))).await;
        assert_eq!(paused.said(), "Name?", "{}", paused.text);
        let done = post(&story, &path, chat("one", json!([user("hi"), user(name)]))).await;
        assert_eq!(done.said(), format!("Hello {name}"), "{}", done.text);
    }
}

#[tokio::test]
async fn of_two_posts_on_one_chat_one_is_busy() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let (one, two) =
        tokio::join!(post(&story, &path, chat("c", json!([user("slow")]))), post(&story, &path, chat("c", json!([user("slow")]))));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one.text, two.text);
    let refused = if one.status == 409 { &one } else { &two };
    assert_eq!(refused.code(), "409 thread_busy");
}

#[tokio::test]
async fn of_two_answers_to_one_pause_one_wins() {
    let story = Story::plain();
    let workflow = story.workflow("start -> human_1{prompt: \"Name?\", output_key: name} -> stop{reply: \"Hello {{name}}\"}").await;
    let path = format!("/workflows/{workflow}/stream/agui");
    let paused = post(&story, &path, input("chat", "r1", "hi")).await;
    let answer = |run: &str, name: &str| {
        let mut body = input("chat", run, "hi");
        body["resume"] =
            json!([{"interruptId": paused.find("RUN_FINISHED")["outcome"]["interrupts"][0]["id"], "status": "resolved", "payload": name}]);
        body
    };
    let (one, two) = tokio::join!(post(&story, &path, answer("r2", "Ada")), post(&story, &path, answer("r3", "Bob")));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one.text, two.text);
}

#[tokio::test]
async fn an_answer_after_a_restart_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (workflow, paused) = {
        let story = Story::on_disk(folder.path(), pays());
        let workflow = story.workflow("start -> human_1{prompt: \"Name?\", output_key: name} -> stop{reply: \"Hello {{name}}\"}").await;
        let paused = post(&story, &format!("/workflows/{workflow}/stream/vercel"), chat("not a UUID", json!([user("hi")]))).await;
        story.bench.studio.shutdown(std::time::Duration::from_secs(2)).await;
        (workflow, paused)
    };
    let story = Story::on_disk(folder.path(), pays());
    let done = post(&story, &format!("/workflows/{workflow}/stream/vercel"), chat("not a UUID", json!([user("hi"), user("Ada")]))).await;
    assert_eq!(done.said(), "Hello Ada", "{}", done.text);
    let run = |answer: &super::Answer| answer.find("finish")["messageMetadata"]["trace_id"].clone();
    assert_eq!(run(&done), run(&paused));
    let last = post(&story, &format!("/workflows/{workflow}/stream/vercel"), chat("not a UUID", json!([user("again")]))).await;
    assert_ne!(run(&last), run(&paused), "what is over is not gone on with");
}

#[tokio::test]
async fn a_chat_of_another_tenant_is_not_reached() {
    let story = Story::plain();
    let graph = wfstudio::model::sketch::graph("start -> human_1{prompt: \"Secret?\", output_key: name} -> stop{reply: \"Hello {{name}}\"}")
        .expect("a sketch");
    let mut workflows = Vec::new();
    for tenant in ["a", "b"] {
        let scope = wfstudio::studio::Scope { tenant: tenant.into(), user: None };
        let body = json!({"name": "Test", "slug": "same", "graph": graph});
        let made = story.bench.studio.create(&scope, wfstudio::studio::Resource::Workflow, &body).await.expect("a workflow");
        workflows.push(made["id"].as_str().expect("an id").to_owned());
    }
    for chat_id in ["one chat", "0199a000-0000-7000-8000-00000000000a"] {
        let first =
            whole(asked(&story, "a", "POST", "/workflows/same/stream/vercel", None, Some(&chat(chat_id, json!([user("hi")])))).await).await;
        let waiting = first.find("data-awaiting_input")["data"].clone();
        let other =
            whole(asked(&story, "b", "POST", "/workflows/same/stream/vercel", None, Some(&chat(chat_id, json!([user("mine")])))).await)
                .await;
        assert_eq!(other.said(), "Secret?", "a run of its own, not an answer to the other: {}", other.text);
        assert_ne!(other.find("data-awaiting_input")["data"]["trace_id"], waiting["trace_id"]);
        let mut body = input(chat_id, "r", "hi");
        body["resume"] = json!([{"interruptId": waiting["pause_id"], "status": "resolved", "payload": "stolen"}]);
        for path in [
            "/workflows/same/stream/agui".to_owned(),
            format!("/workflows/traces/{}/resume/agui", waiting["trace_id"].as_str().expect("a run")),
            format!("/workflows/{}/stream/agui", workflows[0]),
        ] {
            let refused = whole(asked(&story, "b", "POST", &path, None, Some(&body)).await).await;
            assert_eq!(refused.code(), "404 not_found", "{path}");
        }
    }
}

#[tokio::test]
async fn a_chat_of_another_agent_is_not_reached() {
    let story = Story::scripted(pays());
    let (one, two) = (agent(&story, json!({})).await, agent(&story, json!({"name": "Other"})).await);
    let id = "0199a000-0000-7000-8000-00000000000b";
    post(&story, &format!("/agents/{one}/stream/vercel"), chat(id, json!([user("hi")]))).await;
    assert_eq!(post(&story, &format!("/agents/{two}/stream/vercel"), chat(id, json!([user("hi")]))).await.code(), "422 validation_failed");
}

#[tokio::test]
async fn who_asked_for_it_cancels_by_leaving() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    for (word, wanted) in [("cancel", "cancelled"), ("continue", "completed")] {
        let mut body = chat(word, json!([user("slow")]));
        body["on_disconnect"] = json!(word);
        let heard = read_until(asked(&story, "", "POST", &format!("/agents/{agent}/stream/vercel"), None, Some(&body)).await, "One ").await;
        let run = heard.split("\"messageId\":\"").nth(1).expect("an id")[..36].to_owned();
        story.settle(&run).await;
        let status = story.trace(&run).await["trace"]["status"].clone();
        assert_eq!(status, Value::from(wanted), "{word}");
    }
}

#[tokio::test]
async fn who_reads_too_slowly_is_told_what_becomes_of_the_run() {
    let replies = json!([
        {"match": {"contains": "begin"}, "text": "-", "delay_ms": 500, "times": 0},
        {"match": {"contains": "end"}, "text": "-", "delay_ms": 6_000, "times": 0},
        {"chunks": vec!["x".repeat(1_000); 500], "times": 0}]);
    let story = Story::with(json!({"limits": {"stream_buffer_kb": 64}}), replies);
    let asks = |prompt: &str| format!("{{provider: script, model: m, stream: true, prompt: \"{prompt}\"}}");
    let sketch = format!("start -> llm_1{} -> llm_2{} -> llm_3{} -> stop", asks("begin"), asks("say it"), asks("end"));
    let workflow = story.workflow(&sketch).await;
    for (word, wanted, said) in [("cancel", "cancelled", "the run is cancelled"), ("continue", "completed", "the run goes on")] {
        let mut body = chat(word, json!([user("hi")]));
        body["on_disconnect"] = json!(word);
        let mut stream = asked(&story, "", "POST", &format!("/workflows/{workflow}/stream/vercel"), None, Some(&body)).await.into_body();
        let first = stream.frame().await.expect("a frame").expect("a frame").into_data().expect("data");
        let run = String::from_utf8_lossy(&first).split("\"messageId\":\"").nth(1).expect("an id")[..36].to_owned();
        stream.frame().await.expect("a frame").expect("a frame");
        // It is read on while the run is at its last node.
        while story.trace(&run).await["steps"].as_array().is_none_or(|steps| !steps.iter().any(|step| step["node_id"] == "llm_3")) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let rest = stream.collect().await.expect("the rest").to_bytes();
        let rest = String::from_utf8_lossy(&rest);
        assert!(rest.contains(said), "{word}: {}", &rest[rest.len().saturating_sub(500)..]);
        let mut status = Value::Null;
        for _ in 0..6_000 {
            status = story.trace(&run).await["trace"]["status"].clone();
            if status == wanted {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(status, wanted, "{word}");
    }
}

#[tokio::test]
async fn the_host_lets_in() {
    let story = Story::with(json!({"environment": "production"}), pays());
    let agent = agent(&story, json!({})).await;
    let request = |authorized| {
        let request = http::Request::builder()
            .method("POST")
            .uri(format!("/api/studio/agents/{agent}/stream/vercel"))
            .header("content-type", "application/json");
        let marks = wfstudio::http::HostMarks { authorized, ..wfstudio::http::HostMarks::default() };
        let body = bytes::Bytes::from(chat("c", json!([user("hi")])).to_string());
        wfstudio::http::dispatch(&story.bench.studio, request.body(body).expect("a request"), marks)
    };
    assert_eq!(request(false).await.status().as_u16(), 401);
    assert_eq!(whole(request(true).await).await.said(), "Hello.");
}

#[tokio::test]
async fn who_answers_and_leaves_cancels_what_goes_on() {
    let story = Story::scripted(pays());
    let workflow = story.workflow("start -> human_1 -> llm_1{provider: script, model: m, stream: true, prompt: slow} -> stop").await;
    for (word, wanted) in [("cancel", "cancelled"), ("continue", "completed")] {
        let run = story.start(&workflow, json!({"message": "hi"})).await.id;
        let body = json!({"message": "go on", "on_disconnect": word});
        let request = http::Request::post(format!("/studio/api/runs/{run}/resume/stream")).header("content-type", "application/json");
        let request = request.body(bytes::Bytes::from(body.to_string())).expect("a request");
        let stream = wfstudio::http::dispatch(&story.bench.studio, request, wfstudio::http::HostMarks::default()).await;
        read_until(stream, "event: token").await;
        story.settle(&run).await;
        assert_eq!(story.trace(&run).await["trace"]["status"], wanted, "{word}");
    }
}
