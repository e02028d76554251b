//! Spans of runs as a collector gets them: their tree, their attributes, what is left out.

use expect_test::expect;
use serde_json::json;
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;

use super::collector::{Collector, Manner, attribute};
use super::{closed, watched};

#[tokio::test]
async fn a_run_is_a_tree_of_its_steps_and_calls() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({"observability": {"otlp": {"content": true}}}), json!([
        {"tool_calls": [{"name": "look", "arguments": {"n": 1}}, {"name": "fail", "arguments": {}}], "usage": {"prompt_tokens": 20, "completion_tokens": 5}},
        {"text": "Seen.", "usage": {"prompt_tokens": 30, "completion_tokens": 2}},
        {"times": 0, "text": "Fine.", "usage": {"prompt_tokens": 3, "completion_tokens": 1}}])).await;
    let sketch = "start -> agent_1{provider: script, model: m, instructions: Be brief, parallel_tool_calls: false, tools: [{ref: \"host:look\"}, {ref: \"host:fail\"}]} -> fork_1 -> join_1 -> stop
        fork_1.a -> llm_1{provider: script, model: m, stream: true, prompt: \"{{note}}\", budget_state: 10} -> join_1; fork_1.b -> set_1{key: k, value: v} -> join_1";
    let run = story.run_with(sketch, json!({"message": "hi", "state": {"note": "n".repeat(99)}})).await;
    closed(&story).await;
    let trace = run.id.replace('-', "");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(collector.spans().iter().all(|span| hex(&span.trace_id) == trace), "the trace is the run");
    assert!(collector.spans().iter().all(|span| attribute(span, "studio.run.id") == json!(run.id)));
    expect![[r#"
        invoke_workflow Test [1] gen_ai.operation.name="invoke_workflow" gen_ai.workflow.name="Test" input.value="hi" output.value="Seen." studio.run.attempt=1 studio.usage.cost="0.000000" studio.usage.input_tokens=100 studio.usage.output_tokens=14 studio.workflow.id="id" studio.workflow.revision=1
          invoke_agent agent_1 [1] gen_ai.agent.name="agent_1" gen_ai.operation.name="invoke_agent" gen_ai.provider.name="script" gen_ai.request.model="m" output.value="{\"agent_response\":\"Seen.\"}" studio.handle="default" studio.node.id="agent_1" studio.node.type="agent" studio.step.attempt=1
            chat m [3] gen_ai.input.messages="[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"hi\"}]}]" gen_ai.operation.name="chat" gen_ai.output.messages="[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"call_agent_1_1\",\"name\":\"look\",\"arguments\":{\"n\":1}},{\"type\":\"tool_call\",\"id\":\"call_agent_1_1_2\",\"name\":\"fail\",\"arguments\":{}}],\"finish_reason\":\"tool_call\"}]" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.response.finish_reasons=["tool_call"] gen_ai.system_instructions="[{\"type\":\"text\",\"content\":\"Be brief\"}]" gen_ai.usage.input_tokens=20 gen_ai.usage.output_tokens=5 studio.node.id="agent_1" studio.usage.cost="0.000000" studio.usage.cost_source="table"
            execute_tool look [1] gen_ai.operation.name="execute_tool" gen_ai.tool.call.arguments="{\"n\":1}" gen_ai.tool.call.id="call_agent_1_1" gen_ai.tool.call.result="{\"did\":\"look\",\"with\":{\"n\":1}}" gen_ai.tool.name="look" gen_ai.tool.type="function" studio.node.id="agent_1"
            execute_tool fail [1] !2:it is broken error.type="tool_error" gen_ai.operation.name="execute_tool" gen_ai.tool.call.arguments="{}" gen_ai.tool.call.id="call_agent_1_1_2" gen_ai.tool.call.result="it is broken" gen_ai.tool.name="fail" gen_ai.tool.type="function" studio.node.id="agent_1"
            chat m [3] gen_ai.input.messages="[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"hi\"}]},{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"call_agent_1_1\",\"name\":\"look\",\"arguments\":{\"n\":1}},{\"type\":\"tool_call\",\"id\":\"call_agent_1_1_2\",\"name\":\"fail\",\"arguments\":{}}]},{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\"call_agent_1_1\",\"response\":\"{\\\"did\\\":\\\"look\\\",\\\"with\\\":{\\\"n\\\":1}}\"}]},{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\"call_agent_1_1_2\",\"response\":\"it is broken\"}]}]" gen_ai.operation.name="chat" gen_ai.output.messages="[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"Seen.\"}],\"finish_reason\":\"stop\"}]" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.response.finish_reasons=["stop"] gen_ai.system_instructions="[{\"type\":\"text\",\"content\":\"Be brief\"}]" gen_ai.usage.input_tokens=30 gen_ai.usage.output_tokens=2 studio.node.id="agent_1" studio.usage.cost="0.000000" studio.usage.cost_source="table"
          fork_1 [1] output.value="{}" studio.handle="default" studio.node.id="fork_1" studio.node.type="fork" studio.step.attempt=1
            set_1 [1] output.value="{\"k\":\"v\"}" studio.branch.id="b" studio.handle="default" studio.node.id="set_1" studio.node.type="set_state"
            llm_1 [1] output.value="{\"llm_response\":\"Seen.\"}" studio.branch.id="a" studio.handle="default" studio.node.id="llm_1" studio.node.type="llm" studio.step.attempt=1
              context_truncation [1] studio.field="note" studio.kind="state_field" studio.node.id="llm_1" studio.strategy="hard" studio.tokens_after=10 studio.tokens_before=25
              chat m [3] gen_ai.input.messages="[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"nnnnnnnnnnnnnnnnnnnnnnnn\\n\\n[truncated]\"}]}]" gen_ai.operation.name="chat" gen_ai.output.messages="[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"call_llm_1_1\",\"name\":\"look\",\"arguments\":{\"n\":1}},{\"type\":\"tool_call\",\"id\":\"call_llm_1_1_2\",\"name\":\"fail\",\"arguments\":{}}],\"finish_reason\":\"tool_call\"}]" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.request.stream=true gen_ai.response.finish_reasons=["tool_call"] gen_ai.usage.input_tokens=20 gen_ai.usage.output_tokens=5 studio.node.id="llm_1" studio.usage.cost="0.000000" studio.usage.cost_source="table"
              chat m [3] gen_ai.input.messages="[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"nnnnnnnnnnnnnnnnnnnnnnnn\\n\\n[truncated]\"}]},{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"call_llm_1_1\",\"name\":\"look\",\"arguments\":{\"n\":1}},{\"type\":\"tool_call\",\"id\":\"call_llm_1_1_2\",\"name\":\"fail\",\"arguments\":{}}]},{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\"call_llm_1_1\",\"response\":\"There is no tool `look`; there are no tools.\"}]},{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\"call_llm_1_1_2\",\"response\":\"There is no tool `fail`; there are no tools.\"}]}]" gen_ai.operation.name="chat" gen_ai.output.messages="[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"Seen.\"}],\"finish_reason\":\"stop\"}]" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.request.stream=true gen_ai.response.finish_reasons=["stop"] gen_ai.usage.input_tokens=30 gen_ai.usage.output_tokens=2 studio.node.id="llm_1" studio.usage.cost="0.000000" studio.usage.cost_source="table"
          join_1 [1] output.value="{\"parallel_results\":{\"a\":\"Seen.\",\"b\":\"v\"}}" studio.handle="default" studio.node.id="join_1" studio.node.type="join"
          stop [1] output.value="{}" studio.handle="default" studio.node.id="stop" studio.node.type="stop"
    "#]].assert_eq(&collector.tree());
    let sent = &collector.sent()[0];
    assert_eq!((sent.path.as_str(), sent.headers["content-type"].as_str()), ("/v1/traces", "application/x-protobuf"));
}

#[tokio::test]
async fn without_content_nothing_that_was_said_is_told() {
    let collector = Collector::start(Manner::Takes).await;
    let replies = json!([{"tool_calls": [{"name": "fail", "arguments": {"a": "canary-arguments"}}]}, {"text": "canary-answer"}]);
    let story = watched(&collector, json!({}), replies).await;
    let sketch = "start -> agent_1{provider: script, model: m, instructions: canary-instructions, tools: [{ref: \"host:fail\"}]} -> set_1{key: k, value: canary-state} -> stop";
    story.run_with(sketch, json!({"message": "canary-message"})).await;
    closed(&story).await;
    assert_eq!(collector.spans().len(), 7, "{}", collector.tree());
    assert!(collector.sent().iter().all(|sent| !String::from_utf8_lossy(&sent.body).contains("canary")), "{}", collector.tree());
}

#[tokio::test]
async fn specialists_are_under_the_call_that_asked_them_and_stored_agents_name_their_child_run() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({}), json!([
        {"match": {"node_id": "agent_boss", "call": 1}, "tool_calls": [{"name": "ask_expert", "arguments": {"input": "Why?"}}]},
        {"match": {"node_id": "agent_expert", "call": 1}, "tool_calls": [{"name": "look", "arguments": {"at": "books"}}]},
        {"match": {"node_id": "agent_expert", "call": 2}, "text": "Because."},
        {"times": 0, "text": "Done."}])).await;
    let agent = story.bench.agent(json!({"name": "Helper", "provider": "script", "model": "m"})).await;
    story.run(&format!("start -> agent_boss{{provider: script, model: m}} -> agent_2{{agent_id: \"{agent}\"}} -> stop
        agent_expert{{provider: script, model: m, tool_mode: true, tools: [{{ref: \"host:look\"}}], tool_exposure: {{slug: ask_expert, description: Knows, parameters: {{input: {{description: question, controlled_by: caller}}}}}}}}.toolset => agent_boss")).await;
    closed(&story).await;
    expect![[r#"
        invoke_workflow Test [1] gen_ai.operation.name="invoke_workflow" gen_ai.workflow.name="Test" studio.run.attempt=1 studio.usage.cost="0.000000" studio.usage.input_tokens=27 studio.usage.output_tokens=18 studio.workflow.id="id" studio.workflow.revision=1
          invoke_agent agent_boss [1] gen_ai.agent.name="agent_boss" gen_ai.operation.name="invoke_agent" gen_ai.provider.name="script" gen_ai.request.model="m" studio.handle="default" studio.node.id="agent_boss" studio.node.type="agent" studio.step.attempt=1
            chat m [3] gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.response.finish_reasons=["tool_call"] gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=7 studio.node.id="agent_boss" studio.usage.cost="0.000000" studio.usage.cost_source="table"
            execute_tool ask_expert [1] gen_ai.operation.name="execute_tool" gen_ai.tool.call.id="call_agent_boss_1" gen_ai.tool.name="ask_expert" gen_ai.tool.type="function" studio.node.id="agent_boss"
              chat m [3] gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.response.finish_reasons=["tool_call"] gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=5 studio.node.id="agent_expert" studio.usage.cost="0.000000" studio.usage.cost_source="table"
              execute_tool look [1] gen_ai.operation.name="execute_tool" gen_ai.tool.call.id="id" gen_ai.tool.name="look" gen_ai.tool.type="function" studio.node.id="agent_boss"
              chat m [3] gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.response.finish_reasons=["stop"] gen_ai.usage.input_tokens=15 gen_ai.usage.output_tokens=2 studio.node.id="agent_expert" studio.usage.cost="0.000000" studio.usage.cost_source="table"
            chat m [3] gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.response.finish_reasons=["stop"] gen_ai.usage.input_tokens=9 gen_ai.usage.output_tokens=2 studio.node.id="agent_boss" studio.usage.cost="0.000000" studio.usage.cost_source="table"
          invoke_agent Helper [1] gen_ai.agent.id="id" gen_ai.agent.name="Helper" gen_ai.operation.name="invoke_agent" gen_ai.provider.name="script" gen_ai.request.model="m" studio.child_run.id="id" studio.handle="default" studio.node.id="agent_2" studio.node.type="agent" studio.step.attempt=1
            chat m [3] gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.response.finish_reasons=["stop"] gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=2 studio.node.id="agent_2" studio.usage.cost="0.000000" studio.usage.cost_source="table"
          stop [1] studio.handle="default" studio.node.id="stop" studio.node.type="stop"
    "#]].assert_eq(&collector.tree());
}

#[tokio::test]
async fn a_paused_run_is_told_as_it_goes_and_its_root_when_it_is_over() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({}), json!([])).await;
    let run = story.run("start -> set_1{key: k, value: v} -> human_1 -> stop").await;
    collector.until(|collector| collector.spans().len() == 1).await;
    expect![[r#"
        (its parent is not told) set_1 [1] studio.handle="default" studio.node.id="set_1" studio.node.type="set_state"
    "#]].assert_eq(&collector.tree());
    story.resume(&run.id, json!({"message": "go on"})).await;
    closed(&story).await;
    expect![[r#"
        invoke_workflow Test [1] gen_ai.operation.name="invoke_workflow" gen_ai.workflow.name="Test" studio.run.attempt=1 studio.usage.cost="0.000000" studio.usage.input_tokens=0 studio.usage.output_tokens=0 studio.workflow.id="id" studio.workflow.revision=1
          set_1 [1] studio.handle="default" studio.node.id="set_1" studio.node.type="set_state"
          human_1 [1] studio.handle="default" studio.node.id="human_1" studio.node.type="human" studio.step.attempt=1
          stop [1] studio.handle="default" studio.node.id="stop" studio.node.type="stop"
    "#]].assert_eq(&collector.tree());
}

#[tokio::test]
async fn a_retry_has_a_root_of_its_own_and_a_cancel_ends_what_was_open() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({}), json!([{"error": "provider_auth"}, {"text": "Better."}])).await;
    let run = story.run("start -> llm_1{provider: script, model: m} -> stop").await;
    story.retry(&run.id, json!({})).await;
    let paused = story.run("start -> human_1 -> stop").await;
    story.cancel(&paused.id).await;
    closed(&story).await;
    expect![[r#"
        invoke_workflow Test [1] !2:the script says `provider_auth` error.type="provider_auth" gen_ai.operation.name="invoke_workflow" gen_ai.workflow.name="Test" studio.run.attempt=1 studio.usage.cost="0.000000" studio.usage.input_tokens=0 studio.usage.output_tokens=0 studio.workflow.id="id" studio.workflow.revision=1
          llm_1 [1] !2:the script says `provider_auth` error.type="provider_auth" studio.node.id="llm_1" studio.node.type="llm" studio.step.attempt=1
            chat m [3] !2:the script says `provider_auth` error.type="provider_auth" gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m" studio.node.id="llm_1"
        invoke_workflow Test [1] gen_ai.operation.name="invoke_workflow" gen_ai.workflow.name="Test" studio.run.attempt=2 studio.usage.cost="0.000000" studio.usage.input_tokens=1 studio.usage.output_tokens=2 studio.workflow.id="id" studio.workflow.revision=1
          llm_1 [1] studio.handle="default" studio.node.id="llm_1" studio.node.type="llm" studio.step.attempt=2
            chat m [3] gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.response.finish_reasons=["stop"] gen_ai.usage.input_tokens=1 gen_ai.usage.output_tokens=2 studio.node.id="llm_1" studio.usage.cost="0.000000" studio.usage.cost_source="table"
          stop [1] studio.handle="default" studio.node.id="stop" studio.node.type="stop"
        invoke_workflow Test [1] gen_ai.operation.name="invoke_workflow" gen_ai.workflow.name="Test" studio.cancelled=true studio.run.attempt=1 studio.usage.cost="0.000000" studio.usage.input_tokens=0 studio.usage.output_tokens=0 studio.workflow.id="id" studio.workflow.revision=1
          human_1 [1] studio.cancelled=true studio.node.id="human_1" studio.node.type="human" studio.step.attempt=1
    "#]].assert_eq(&collector.tree());
}

/// A step that is made again keeps its id in the run; collectors keep one span for each id.
#[tokio::test]
async fn the_spans_of_a_step_have_another_id_in_each_attempt() {
    const RUNS: usize = 12;
    let collector = Collector::start(Manner::Takes).await;
    let replies: Vec<_> = (0..RUNS).flat_map(|_| [json!({"error": "provider_auth"}), json!({"text": "Better."})]).collect();
    let story = watched(&collector, json!({}), json!(replies)).await;
    for _ in 0..RUNS {
        let run = story.run("start -> llm_1{provider: script, model: m} -> stop").await;
        story.retry(&run.id, json!({})).await;
    }
    closed(&story).await;
    let steps: Vec<_> = collector.spans().into_iter().filter(|span| span.name == "llm_1").map(|span| span.span_id).collect();
    let ids: std::collections::HashSet<_> = steps.iter().collect();
    assert_eq!((steps.len(), ids.len()), (2 * RUNS, 2 * RUNS));
}

#[tokio::test]
async fn a_model_call_that_a_cancel_cut_short_has_not_failed() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({}), json!([{"text": "Late.", "delay_ms": 60_000}])).await;
    let workflow = story.workflow("start -> llm_1{provider: script, model: m} -> stop").await;
    let run = story.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    while story.trace(&run).await["spans"].as_array().is_none_or(Vec::is_empty) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    // Nothing tells that the script waits; where it does not yet, no call is told of.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(story.cancel(&run).await, "cancelled");
    closed(&story).await;
    let tree = collector.tree();
    assert!(tree.contains("llm_1") && !tree.contains("error.type"), "{tree}");
}

#[tokio::test]
async fn a_step_that_was_open_beside_a_failure_has_not_failed() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({}), json!([{"error": "provider_auth", "delay_ms": 1000}])).await;
    let sketch = "start -> fork_1 -> join_1 -> stop
        fork_1.a -> llm_1{provider: script, model: m} -> join_1; fork_1.b -> human_1 -> join_1";
    let run = story.run(sketch).await;
    assert_eq!(story.trace(&run.id).await["trace"]["status"], "failed", "{}", run.text);
    closed(&story).await;
    let tree = collector.tree();
    let failed = |name: &str| tree.lines().find(|line| line.trim_start().starts_with(name)).map(|line| line.contains("the script says"));
    assert_eq!(["llm_1", "fork_1", "human_1"].map(failed), [Some(true), Some(true), Some(false)], "{tree}");
}

#[tokio::test]
async fn headers_and_their_secrets_are_sent_and_a_secret_that_is_missing_drops_the_pieces() {
    let collector = Collector::start(Manner::Takes).await;
    let settings = json!({"secrets": {"COLLECTOR": "s3cret"}, "observability": {"otlp": {"headers": {"x-token": "secret:COLLECTOR", "x-plain": "a"}}}});
    let story = watched(&collector, settings, json!([])).await;
    story.run("start -> stop").await;
    closed(&story).await;
    let headers = &collector.sent()[0].headers;
    assert_eq!((headers["x-token"].as_str(), headers["x-plain"].as_str()), ("s3cret", "a"));

    let settings = json!({"observability": {"otlp": {"headers": {"x-token": "secret:NOBODY_KNOWS"}}}});
    let story = watched(&collector, settings, json!([])).await;
    story.run("start -> stop").await;
    closed(&story).await;
    assert_eq!(collector.sent().len(), 1);
    let counts = story.bench.studio.observability();
    assert_eq!((&counts[0]["dropped"], &counts[0]["last_error"]), (&json!(2), &json!("`secret:NOBODY_KNOWS` is not set")), "{counts}");
}

#[tokio::test]
async fn the_studios_own_spans_may_be_off() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({"observability": {"native_tracing": false}}), json!([])).await;
    let run = story.run("start -> llm_1{provider: script, model: echo} -> stop").await;
    assert_eq!(story.trace(&run.id).await["spans"], json!([]));
    closed(&story).await;
    assert_eq!(collector.spans().iter().map(|span| span.name.clone()).collect::<Vec<_>>(), ["chat echo", "llm_1", "stop", "invoke_workflow Test"]);
}

#[tokio::test]
async fn a_run_that_could_not_be_stored_is_not_told() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({}), json!([])).await;
    let sketch = "start -> set_1{key: k, value: v} -> stop";
    let (one, other) = (story.workflow(sketch).await, story.workflow(sketch).await);
    let kept = story.bench.start(&one, json!({"message": "hi"})).await;
    story.events_text(&kept).await;
    let request = RunRequest::parse(&json!({"message": "hi", "thread_id": kept.thread}), EntityKind::Workflow).expect("a run body");
    let refused = story.bench.studio.start(&story.bench.scope, EntityKind::Workflow, &other, request, false).await;
    let refusal = refused.expect_err("the thread is of another workflow");
    assert!(refusal.message.contains("another"), "{refusal:?}");
    closed(&story).await;
    let trace = kept.run.to_string().replace('-', "");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(!collector.spans().is_empty() && collector.spans().iter().all(|span| hex(&span.trace_id) == trace), "of no other run");
}

#[tokio::test]
async fn a_run_whose_log_cannot_be_read_ends_its_root_span() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({}), json!([{"text": "Fine."}])).await;
    let paused = story.run("start -> llm_1{provider: script, model: m} -> human_1 -> stop").await;
    let store = story.bench.studio.world().store.clone();
    store.write(|tx| tx.execute("UPDATE #log SET body = '{}'", &[])).await.expect("a log that nobody can read");
    assert_eq!(story.cancel(&paused.id).await, "cancelled");
    closed(&story).await;
    let tree = collector.tree();
    let lines: Vec<&str> = tree.lines().collect();
    assert!(lines[0].starts_with("invoke_workflow Test") && lines[0].contains("studio.cancelled=true"), "{tree}");
    assert!(lines[0].contains("studio.usage.output_tokens=2") && lines[1].starts_with("  llm_1"), "its steps are below it: {tree}");
}
