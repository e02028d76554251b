//! The trace of a run: all fields of steps and spans, the order of steps, what a pause shows, durations.

use expect_test::expect;
use serde_json::json;

use crate::support::story::Story;

#[tokio::test]
async fn a_trace_has_all_its_fields() {
    let story = Story::scripted(json!([
        {"tool_calls": [{"name": "look", "arguments": {"n": 1}}], "usage": {"prompt_tokens": 20, "completion_tokens": 5}},
        {"text": "Seen.", "usage": {"prompt_tokens": 30, "completion_tokens": 2}}]));
    let run = story.run("start -> agent_1{provider: script, model: m, tools: [{ref: \"host:look\"}]} -> stop{reply: \"{{agent_response}}\"}").await;
    expect![[r#"
        {
          "trace": {
            "id": "i1",
            "trace_id": "i1",
            "status": "completed",
            "entity_type": "workflow",
            "entity_id": "w1",
            "entity_name": "Test",
            "workflow_id": "w1",
            "thread_id": "t1",
            "parent_run_id": null,
            "awaiting_node_id": null,
            "awaiting_pause_id": null,
            "input_preview": "hi",
            "mode": "sync",
            "created_at": "time",
            "started_at": "time",
            "finished_at": "time",
            "duration_ms": "ms",
            "working_ms": "ms",
            "waiting_ms": "ms",
            "error": null,
            "workflow_name": "Test",
            "workflow_revision": 1,
            "error_message": null,
            "input": {
              "message": "hi",
              "state": {},
              "attachments": [],
              "thread_id": "t1"
            },
            "output": {
              "input": "hi",
              "agent_response": "Seen.",
              "reply": "Seen."
            },
            "reply": "Seen.",
            "checkpoint": null,
            "pauses": [],
            "async_progress_steps": [],
            "last_event_id": 10,
            "usage": "50+7"
          },
          "steps": [
            {
              "id": "s1",
              "seq": 1,
              "node_id": "agent_1",
              "node_type": "agent",
              "node_title": null,
              "status": "completed",
              "handle": "default",
              "iteration": null,
              "iteration_path": "",
              "branch_id": null,
              "branch_path": [],
              "attempt": 1,
              "checkpoint_hit": false,
              "superseded": false,
              "started_at": "time",
              "finished_at": "time",
              "duration_ms": "ms",
              "state_snapshot": {
                "input": "hi"
              },
              "state_omitted": false,
              "output": {
                "agent_response": "Seen."
              },
              "error": null,
              "provider": "script",
              "model": "m",
              "thread_id": "t1",
              "attachment_count": 0,
              "child_run_id": null,
              "usage": "50+7"
            },
            {
              "id": "s2",
              "seq": 2,
              "node_id": "stop",
              "node_type": "stop",
              "node_title": null,
              "status": "completed",
              "handle": "default",
              "iteration": null,
              "iteration_path": "",
              "branch_id": null,
              "branch_path": [],
              "attempt": 1,
              "checkpoint_hit": false,
              "superseded": false,
              "started_at": "time",
              "finished_at": "time",
              "duration_ms": "ms",
              "state_snapshot": {
                "input": "hi",
                "agent_response": "Seen."
              },
              "state_omitted": false,
              "output": {
                "reply": "Seen."
              },
              "error": null,
              "provider": null,
              "model": null,
              "thread_id": null,
              "attachment_count": 0,
              "child_run_id": null,
              "usage": "0+0"
            }
          ],
          "spans": [
            {
              "id": "i2",
              "parent_span_id": null,
              "step_id": "s1",
              "node_id": "agent_1",
              "type": "llm",
              "name": "chat",
              "status": "completed",
              "provider": "script",
              "model": "m",
              "input": null,
              "output": null,
              "error": null,
              "started_at": "time",
              "finished_at": "time",
              "duration_ms": "ms",
              "cost_source": "table",
              "finish": "tool_calls",
              "usage": "20+5"
            },
            {
              "id": "i3",
              "parent_span_id": null,
              "step_id": "s1",
              "node_id": "agent_1",
              "type": "tool",
              "name": "look",
              "status": "completed",
              "provider": null,
              "model": null,
              "input": {
                "n": 1
              },
              "output": {
                "result": "{\"did\":\"look\",\"with\":{\"n\":1}}",
                "is_error": false,
                "skipped": false
              },
              "error": null,
              "started_at": "time",
              "finished_at": "time",
              "duration_ms": "ms"
            },
            {
              "id": "i4",
              "parent_span_id": null,
              "step_id": "s1",
              "node_id": "agent_1",
              "type": "llm",
              "name": "chat",
              "status": "completed",
              "provider": "script",
              "model": "m",
              "input": null,
              "output": null,
              "error": null,
              "started_at": "time",
              "finished_at": "time",
              "duration_ms": "ms",
              "cost_source": "table",
              "usage": "30+2"
            }
          ],
          "children": []
        }"#]].assert_eq(&story.shown(&story.trace(&run.id).await));
}

#[tokio::test]
async fn the_step_of_a_stored_agent_is_a_child_run() {
    let story = Story::scripted(json!([{"text": "Hello", "usage": {"prompt_tokens": 20, "completion_tokens": 5}}]));
    let agent = story.bench.agent(json!({"name": "Greeter", "provider": "script", "model": "m", "instructions": "Greet."})).await;
    let run = story.run(&format!("start -> agent_1{{agent_id: \"{agent}\"}} -> stop")).await;
    let trace = story.trace(&run.id).await;
    expect![[r#"
        {
          "step": {
            "id": "s1",
            "seq": 1,
            "node_id": "agent_1",
            "node_type": "agent",
            "node_title": null,
            "status": "completed",
            "handle": "default",
            "iteration": null,
            "iteration_path": "",
            "branch_id": null,
            "branch_path": [],
            "attempt": 1,
            "checkpoint_hit": false,
            "superseded": false,
            "started_at": "time",
            "finished_at": "time",
            "duration_ms": "ms",
            "state_snapshot": {
              "input": "hi"
            },
            "state_omitted": false,
            "output": {
              "agent_response": "Hello"
            },
            "error": null,
            "provider": "script",
            "model": "m",
            "thread_id": "t1",
            "attachment_count": 0,
            "child_run_id": "r1",
            "usage": "20+5"
          },
          "spans": [],
          "children": [
            {
              "id": "r1",
              "trace_id": "r1",
              "status": "completed",
              "entity_type": "agent",
              "entity_id": "w2",
              "entity_name": "Greeter",
              "workflow_id": null,
              "thread_id": "t1",
              "parent_run_id": "i1",
              "awaiting_node_id": null,
              "awaiting_pause_id": null,
              "input_preview": "hi",
              "mode": "sync",
              "created_at": "time",
              "started_at": "time",
              "finished_at": "time",
              "duration_ms": "ms",
              "working_ms": "ms",
              "waiting_ms": "ms",
              "error": null,
              "usage": "20+5"
            }
          ]
        }"#]].assert_eq(&story.shown(&json!({"step": trace["steps"][0], "spans": trace["spans"], "children": trace["children"]})));
    let child = story.trace(trace["steps"][0]["child_run_id"].as_str().unwrap()).await;
    assert_eq!((child["spans"].as_array().unwrap().len(), child["trace"]["status"].as_str()), (1, Some("completed")));
    assert_eq!(child["trace"]["parent_run_id"], run.id.as_str());
}

#[tokio::test]
async fn a_child_run_shows_what_it_was_sent_and_answered() {
    let story = Story::scripted(json!([{"text": "Hello"}]));
    let agent = story.bench.agent(json!({"name": "Greeter", "provider": "script", "model": "m", "instructions": "Greet."})).await;
    let node = format!("agent_1{{agent_id: \"{agent}\", message: \"Greet {{{{who}}}}\", output_key: said}}");
    let run = story.run(&format!("start -> set_1{{key: who, value: Zoë}} -> {node} -> stop")).await;
    let trace = story.trace(&run.id).await;
    let child = story.trace(trace["steps"][1]["child_run_id"].as_str().unwrap()).await;
    let told = ["input_preview", "input", "output", "reply"].map(|name| &child["trace"][name]);
    let sent = json!({"message": "Greet Zoë", "state": {}, "attachments": [], "thread_id": child["trace"]["thread_id"]});
    assert_eq!(told, [&json!("Greet Zoë"), &sent, &json!({"said": "Hello"}), &json!("Hello")]);
}

#[tokio::test]
async fn a_brief_trace_leaves_out_what_says_nothing() {
    let story = Story::scripted(json!([{"text": "Seen.", "usage": {"prompt_tokens": 30, "completion_tokens": 2}}]));
    let run = story.run("start -> set_1{key: a, value: 1} -> agent_1{provider: script, model: m} -> stop").await;
    let query = wfstudio::studio::TraceQuery { payloads: false, ..Default::default() };
    let trace = story.bench.studio.trace(&story.bench.scope, &run.id, query).await.expect("a trace");
    let (set, agent) = (&trace["steps"][0], &trace["steps"][1]);
    for silent in ["iteration", "branch_path", "attempt", "error", "superseded", "total_tokens", "currency", "state_snapshot", "output"] {
        assert!(set.get(silent).is_none(), "{silent}: {set}");
    }
    assert_eq!((&set["node_id"], &set["status"], &set["seq"]), (&json!("set_1"), &json!("completed"), &json!(1)));
    assert_eq!((&agent["total_tokens"], &agent["model"], &agent["currency"]), (&json!(32), &json!("m"), &json!("USD")));
    assert_eq!((&trace["spans"][0]["type"], &trace["spans"][0]["total_tokens"]), (&json!("llm"), &json!(32)));
    assert!(set.to_string().len() < 320, "{set}");
}

#[tokio::test]
async fn waiting_for_people_is_no_work() {
    let story = Story::plain();
    let run = story.run("start -> fork_1 -> join_1 -> stop; fork_1.a -> human_1 -> join_1; fork_1.b -> set_1{key: a, value: 1} -> join_1").await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let told = story.bench.resume(&run.id, json!({"message": "x"})).await.unwrap();
    story.events_text(&told).await;
    let trace = story.trace(&run.id).await;
    for step in trace["steps"].as_array().unwrap() {
        assert!(step["duration_ms"].as_u64().unwrap() < 2900, "{step}");
    }
    let head = &trace["trace"];
    assert!(head["waiting_ms"].as_u64().unwrap() >= 2990 && head["working_ms"].as_u64().unwrap() < 2900, "{head}");
    assert!(head["duration_ms"].as_u64().unwrap() >= 2990, "{head}");
}

#[tokio::test]
async fn spans_of_a_specialist_lie_under_its_call() {
    let story = Story::scripted(json!([
        {"match": {"node_id": "agent_boss", "call": 1}, "tool_calls": [{"name": "ask", "arguments": {"input": "Why?"}}]},
        {"match": {"node_id": "agent_expert", "call": 1}, "tool_calls": [{"name": "look", "arguments": {}}]},
        {"match": {"node_id": "agent_expert", "call": 2}, "text": "Because."},
        {"match": {"node_id": "agent_boss", "call": 2}, "text": "Done."}]));
    let run = story
        .run(
            "start -> agent_boss{provider: script, model: m} -> stop
            agent_expert{provider: script, model: m, tool_mode: true, tools: [{ref: \"host:look\"}], tool_exposure: {slug: ask, description: Knows}}.toolset => agent_boss",
        )
        .await;
    let trace = story.trace(&run.id).await;
    let spans = trace["spans"].as_array().unwrap();
    let name = |id: &serde_json::Value| spans.iter().find(|span| span["id"] == *id).map_or("-", |span| span["name"].as_str().unwrap());
    let lines: Vec<String> = spans.iter().map(|span| format!("{} under {}", span["name"].as_str().unwrap(), name(&span["parent_span_id"]))).collect();
    assert_eq!(lines, ["chat under -", "ask under -", "chat under ask", "look under ask", "chat under ask", "chat under -"]);
}

#[tokio::test]
async fn calls_that_were_cut_short_are_not_at_work_any_more() {
    let story = Story::plain();
    let run = story.run("start -> tool_1{tool_ref: \"host:again\", parameters: {ms: 60000}, idempotent: true, timeout_ms: 3000, retries: {max: 1, backoff_ms: 1}, on_error: continue} -> stop").await;
    let trace = story.trace(&run.id).await;
    let spans = trace["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 2);
    assert!(spans.iter().all(|span| span["status"] == "cancelled" && !span["finished_at"].is_null()), "{spans:?}");
    assert_eq!(trace["steps"][0]["error"]["code"], "node_timeout");
}

#[tokio::test]
async fn a_child_run_that_waits_for_a_person_does_not_work_and_says_where() {
    let story = Story::scripted(json!([{"tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]}, {"text": "Paid."}]));
    let agent = story.bench.agent(json!({"name": "Payer", "provider": "script", "model": "m", "tools": [{"ref": "host:pay"}]})).await;
    let run = story.run(&format!("start -> agent_1{{agent_id: \"{agent}\"}} -> stop")).await;
    let paused = story.trace(&run.id).await;
    let (head, child) = (&paused["trace"], &paused["children"][0]);
    for key in ["status", "awaiting_node_id", "awaiting_pause_id"] {
        assert_eq!(child[key], head[key], "{key} of {child}");
    }
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    story.resume(&run.id, json!({"approval": "approve"})).await;
    let ended = story.trace(&run.id).await;
    let child = &ended["children"][0];
    assert_eq!((&child["status"], &child["awaiting_node_id"], &child["awaiting_pause_id"]), (&json!("completed"), &json!(null), &json!(null)));
    assert!(child["waiting_ms"].as_u64().unwrap() >= 2990 && child["working_ms"].as_u64().unwrap() < 2900, "{child}");
    assert!(child["duration_ms"].as_u64().unwrap() >= 2990, "{child}");
}

#[tokio::test]
async fn a_step_is_shown_whole_however_much_was_said_before_it() {
    let story = Story::scripted(json!([{"text": "Done."}]));
    let much = "{{input}}".repeat(30);
    let sketch = format!("start -> llm_1{{provider: script, model: m, prompt: \"{much}\"}} -> llm_2{{provider: script, model: m, prompt: late}} -> stop");
    // Four bytes each: more than an answer takes in.
    let run = story.run_with(&sketch, json!({"message": "\u{1f642}".repeat(199_999)})).await;
    let steps = story.trace(&run.id).await["steps"].clone();
    let id = |node: &str| steps.as_array().unwrap().iter().find(|step| step["node_id"] == node).unwrap()["id"].as_str().unwrap().to_owned();
    let (long, late) = (id("llm_1"), id("llm_2"));
    let long = story.bench.studio.step(&story.bench.scope, &run.id, &long, false).await.unwrap();
    assert_eq!((&long["spans"][0]["input"], &long["spans"][0]["payloads_omitted"]), (&json!(null), &json!(true)), "it says that there is more");
    let late = story.bench.studio.step(&story.bench.scope, &run.id, &late, false).await.unwrap();
    let span = &late["spans"][0];
    assert_eq!((&span["input"][0]["content"], &span["output"]["content"]), (&json!("late"), &json!("Done.")), "{span}");
}

/// The log of a loop in which a person was asked so many times.
fn asked(times: u64) -> (Vec<std::sync::Arc<wfstudio::model::event::Entry>>, std::sync::Arc<wfstudio::model::plan::Plan>) {
    use wfstudio::model::event::{Entry, Event};
    let sketch = wfstudio::model::sketch::graph("start -> loop_1{max_steps: 9}; loop_1.continue -> human_1 -> loop_1; loop_1.exit -> stop").expect("a sketch");
    let plan = wfstudio::model::plan::Plan::new(std::sync::Arc::new(wfstudio::model::graph::Graph::parse(&sketch).expect("a graph")));
    let id = |n: u64| format!("01a1faaf-fd00-7000-8000-{n:012x}");
    let created = json!({"created": {"entity": "workflow", "entity_id": id(1), "entity_name": "w", "graph": "g", "definitions": "d", "message": "hi", "state": {}, "thread": id(2), "async": false}});
    let mut events = vec![created, json!("began")];
    for n in 1..=times {
        let (visit, step, pause) = (id(n << 4), id((n << 4) + 1), id((n << 4) + 2));
        let started = |resumed: bool| json!({"step_started": {"step": step, "node": "human_1", "attempt": 1, "resumed": resumed}});
        events.extend([
            json!({"step_ran": {"step": visit, "node": "loop_1", "iteration": n, "max_steps": 9, "outcome": {"left": {"handle": "continue"}}}}),
            started(false),
            json!({"paused": {"id": pause, "step": step, "node": "human_1", "reason": {"human": {"prompt": "?", "output_key": "k"}}}}),
            json!({"rested": {"status": "awaiting_input"}}),
            json!({"resumed": {"pause": pause, "answer": {"human": {"message": "on"}}, "async": false}}),
            started(true),
            json!({"step_completed": {"step": step, "handle": "default", "change": {"k": "on"}}}),
        ]);
    }
    let entry = |(seq, event): (u64, serde_json::Value)| {
        let event: Event = serde_json::from_value(event).expect("an event");
        std::sync::Arc::new(Entry { seq, at: wfstudio::model::Timestamp(i64::try_from(seq).expect("a time")), lane: 0, event })
    };
    ((1..).zip(events).map(entry).collect(), std::sync::Arc::new(plan))
}

#[test]
fn a_trace_of_many_pauses_is_read_in_proportion_to_them() {
    let took = |times: u64| {
        let (entries, plan) = asked(times);
        let wfstudio::model::event::Event::Created(created) = &entries[0].event else { panic!("it begins with its creation") };
        let read = || {
            let begun = std::time::Instant::now();
            let trace = wfstudio::model::trace::Trace::read(created.thread, &entries, created, &plan, false);
            assert_eq!(trace.steps.len() as u64, 2 * times);
            begun.elapsed()
        };
        // The fastest of some: a busy machine makes any one of them slow.
        (0..5).map(|_| read()).min().expect("a time")
    };
    let (few, many) = (took(2_000), took(16_000));
    assert!(many < few * 24, "eight times as many take {many:?} instead of {few:?}");
}
