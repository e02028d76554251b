//! The five cases of a history that is measured, and what becomes of a summary.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{agent, chat, message, names, outputs, read, sent, story, talk, whole};

/// The spans of a turn of so many tokens after so many turns of 50.
async fn check(settings: Value, memory: Value, turns: usize, tokens: usize, wanted: Expect) {
    let story = story(settings, "They greeted each other.");
    let agent = agent(&story, memory).await;
    let thread = talk(&story, &agent, turns).await;
    let turn = chat(&story, &agent, &thread, message(tokens)).await;
    let trace = whole(&story, &turn.id).await;
    wanted.assert_eq(&format!("{}{}", names(&trace).join("\n") + "\n", outputs(&trace, "memory")));
}

#[tokio::test]
async fn what_fits_is_sent_as_it_is() {
    check(json!({}), json!({}), 4, 46, expect![[r#"
        llm chat completed
    "#]]).await;
    check(json!({}), json!({"summarization_enabled": true}), 3, 57, expect![[r#"
        llm chat completed
    "#]]).await;
}

#[tokio::test]
async fn without_summaries_the_oldest_turns_are_left_out() {
    check(json!({}), json!({}), 4, 47, expect![[r#"
        memory history_compaction completed
        llm chat completed
        history_compaction {"at":"turn_start","mode":"non_destructive","trimmed_count":2,"messages_summarized":0,"results_cleared":0,"tokens_before":257,"tokens_after":207,"over_budget_single":false,"summarization_enabled":false,"summarizer_source":null,"summarizer_fallback":false,"summarizer_error":null}
    "#]]).await;
}

#[tokio::test]
async fn older_turns_get_a_summary() {
    check(json!({}), json!({"summarization_enabled": true}), 3, 58, expect![[r#"
        llm summarize completed
        memory history_compaction completed
        llm chat completed
        history_compaction {"at":"turn_start","mode":"compaction","trimmed_count":0,"messages_summarized":4,"results_cleared":0,"tokens_before":218,"tokens_after":131,"over_budget_single":false,"summarization_enabled":true,"summarizer_source":"agent","summarizer_fallback":false,"summarizer_error":null}
    "#]]).await;
    let configured = json!({"memory": {"summarizer": {"provider": "script", "model": "m"}}});
    check(configured, json!({"summarization_enabled": true, "summarization_threshold": 0.6}), 3, 1, expect![[r#"
        llm summarize completed
        memory history_compaction completed
        llm chat completed
        history_compaction {"at":"turn_start","mode":"compaction","trimmed_count":0,"messages_summarized":2,"results_cleared":0,"tokens_before":161,"tokens_after":124,"over_budget_single":false,"summarization_enabled":true,"summarizer_source":"configured","summarizer_fallback":false,"summarizer_error":null}
    "#]]).await;
}

#[tokio::test]
async fn nothing_is_summarised_when_no_turn_is_older() {
    check(json!({}), json!({"summarization_enabled": true, "summarization_threshold": 0.1}), 1, 50, expect![[r#"
        memory history_compaction completed
        llm chat completed
        history_compaction {"at":"turn_start","mode":"non_destructive","trimmed_count":0,"messages_summarized":0,"results_cleared":0,"tokens_before":110,"tokens_after":110,"over_budget_single":false,"summarization_enabled":true,"summarizer_source":null,"summarizer_fallback":false,"summarizer_error":null}
    "#]]).await;
}

#[tokio::test]
async fn a_summariser_that_fails_leaves_turns_out() {
    let failing = json!({"memory": {"summarizer": {"provider": "script", "model": "nowhere"}}});
    check(failing, json!({"summarization_enabled": true}), 4, 50, expect![[r#"
        llm summarize failed
        memory history_compaction completed
        llm chat completed
        history_compaction {"at":"turn_start","mode":"non_destructive","trimmed_count":2,"messages_summarized":0,"results_cleared":0,"tokens_before":260,"tokens_after":210,"over_budget_single":false,"summarization_enabled":true,"summarizer_source":"configured","summarizer_fallback":true,"summarizer_error":"there is no script for model `nowhere`; configure `providers.script.scripts`"}
    "#]]).await;
}

#[tokio::test]
async fn a_message_that_is_too_long_alone_is_sent_anyway() {
    check(json!({}), json!({}), 1, 300, expect![[r#"
        memory history_compaction completed
        llm chat completed
        history_compaction {"at":"turn_start","mode":"non_destructive","trimmed_count":2,"messages_summarized":0,"results_cleared":0,"tokens_before":360,"tokens_after":310,"over_budget_single":true,"summarization_enabled":false,"summarizer_source":null,"summarizer_fallback":false,"summarizer_error":null}
    "#]]).await;
    check(json!({}), json!({"summarization_enabled": true}), 1, 300, expect![[r#"
        llm summarize completed
        memory history_compaction completed
        llm chat completed
        history_compaction {"at":"turn_start","mode":"compaction","trimmed_count":0,"messages_summarized":2,"results_cleared":0,"tokens_before":360,"tokens_after":323,"over_budget_single":true,"summarization_enabled":true,"summarizer_source":"agent","summarizer_fallback":false,"summarizer_error":null}
    "#]]).await;
}

#[tokio::test]
async fn a_summary_is_kept_sent_and_replaced() {
    let story = story(json!({}), &"Long. ".repeat(60));
    let agent = agent(&story, json!({"summarization_enabled": true})).await;
    let thread = talk(&story, &agent, 4).await;
    let first = chat(&story, &agent, &thread, message(20)).await;
    let trace = whole(&story, &first.id).await;
    let cut = format!("{}Long.\n\n[truncated]", "Long. ".repeat(30));
    assert_eq!(sent(&trace, "chat", 0)[0], format!("system: {}… {}", "s".repeat(30), 40 + 2 + 24 + cut.len()), "a fifth of the window");
    assert_eq!(sent(&trace, "chat", 0).len(), 6, "two turns and the new message follow");
    let asked = sent(&trace, "summarize", 0);
    assert_eq!((asked.len(), asked[1].starts_with("user: Conversation:\n\nUser: uuu")), (2, true), "{asked:?}");
    assert_eq!((trace["trace"]["prompt_tokens"].as_u64(), trace["trace"]["completion_tokens"].as_u64()), (Some(110), Some(25)), "metered on the run");
    assert_eq!(trace["steps"][0]["model"], "m");
    let shown = read(&story, &agent, &thread, &[]).await;
    let told = |message: &Value| format!("{} {} {}", message["role"].as_str().unwrap(), message["content"].as_str().unwrap().lines().next().unwrap().chars().take(30).collect::<String>(), message["meta"]);
    expect![[r#"
        user uuuuuuuuuuuuuuuuuuuuuuuuuuuuuu {"summarized":true}
        assistant rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr {"summarized":true}
        user uuuuuuuuuuuuuuuuuuuuuuuuuuuuuu {"summarized":true}
        assistant rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr {"summarized":true}
        user uuuuuuuuuuuuuuuuuuuuuuuuuuuuuu {}
        assistant rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr {}
        user uuuuuuuuuuuuuuuuuuuuuuuuuuuuuu {}
        assistant rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr {}
        system [Studio memory summary] {"studio_kind":"summary"}
        user uuuuuuuuuuuuuuuuuuuuuuuuuuuuuu {}
        assistant rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr {}"#]].assert_eq(&shown.iter().map(told).collect::<Vec<_>>().join("\n"));

    let second = chat(&story, &agent, &thread, message(60)).await;
    let trace = whole(&story, &second.id).await;
    assert_eq!(sent(&trace, "summarize", 0)[1].starts_with("user: Summary so far:\n[Studio"), true);
    let shown = read(&story, &agent, &thread, &[]).await;
    let summaries: Vec<String> = shown.iter().filter(|message| message["role"] == "system").map(|message| message["meta"].to_string()).collect();
    assert_eq!(summaries, [r#"{"studio_kind":"summary","summarized":true}"#, r#"{"studio_kind":"summary"}"#], "the former one too");
    let third = chat(&story, &agent, &thread, message(1)).await;
    let trace = whole(&story, &third.id).await;
    assert_eq!(sent(&trace, "chat", 0).iter().filter(|line| line.starts_with("system")).count(), 1);
    assert_eq!(story.shown(&trace["spans"][0]["input"]).matches("[Studio memory summary]").count(), 1, "only the newest is sent");
}

#[tokio::test]
async fn a_summary_is_made_once_although_the_step_is_left_and_entered_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let replies = json!([
        {"times": 0, "match": {"system_contains": super::SUMMARISER}, "text": "Short."},
        {"match": {"contains": "pay"}, "tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]},
        {"times": 0, "text": "r".repeat(40)}]);
    let story = crate::support::story::Story::on_disk(folder.path(), replies.clone());
    let memory = json!({"context_window": 256, "summarization_enabled": true});
    let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m", "tools": [{"ref": "host:pay"}], "memory_config": memory})).await;
    let thread = talk(&story, &agent, 3).await;
    let turn = chat(&story, &agent, &thread, format!("pay {}", message(50))).await;
    assert!(turn.text.contains("tool_approval_required"), "{}", turn.text);
    assert!(read(&story, &agent, &thread, &[]).await.iter().all(|message| message["meta"] == json!({})), "nothing is stored before the turn ends");
    drop(story);
    let story = crate::support::story::Story::on_disk(folder.path(), replies);
    story.join(&turn.id).await;
    story.resume(&turn.id, json!({"approval": "approve"})).await;
    let trace = whole(&story, &turn.id).await;
    assert_eq!(names(&trace), ["llm summarize completed", "memory history_compaction completed", "llm chat completed", "tool pay completed", "llm chat completed"]);
    let shown = read(&story, &agent, &thread, &[("include", "tools")]).await;
    let metas: Vec<String> = shown.iter().map(|message| message["meta"].to_string()).collect();
    assert_eq!(metas.iter().filter(|meta| meta.contains("summarized")).count(), 4, "{metas:?}");
    assert_eq!(metas.iter().filter(|meta| meta.contains("studio_kind")).count(), 1, "{metas:?}");
    let last = shown.last().expect("an answer");
    assert_eq!((last["role"].as_str(), last["tool_calls"][0]["name"].as_str()), (Some("assistant"), Some("pay")));
}

#[tokio::test]
async fn memory_of_a_run_lives_as_long_as_the_run() {
    let story = story(json!({}), "Short.");
    let node = "provider: script, model: m, driver: in_memory, context_window: 256, summarization_enabled: true, message: \"{{text}}\"";
    let sketch = format!("start -> loop_1{{max_steps: 5, on_max: exit}}; loop_1.continue -> agent_1{{{node}}} -> loop_1; loop_1.exit -> stop");
    let run = story.run_with(&sketch, json!({"message": "hi", "state": {"text": message(40)}})).await;
    let trace = whole(&story, &run.id).await;
    assert_eq!(sent(&trace, "chat", 1).len(), 3, "the second pass remembers the first");
    assert_eq!(names(&trace).iter().filter(|name| name.starts_with("llm summarize")).count(), 1);
    assert!(sent(&trace, "chat", 4)[0].starts_with("system: [Studio memory summary]\nShort."), "{:?}", sent(&trace, "chat", 4));
    let query = wfstudio::studio::ListQuery::default();
    let thread = story.bench.studio.thread(&story.bench.scope, trace["trace"]["thread_id"].as_str().unwrap(), query).await.expect("a thread");
    assert_eq!(thread["message_count"], 2, "message and reply, no history");
}

#[tokio::test]
async fn of_two_branches_that_summarise_the_first_is_kept() {
    let story = story(json!({}), "Short.");
    let node = |id: &str| format!("agent_{id}{{provider: script, model: m, memory: shared, context_window: 256, summarization_enabled: true, message: \"{{{{text}}}}\"}}");
    let sketch = format!("start -> {} -> fork_1 -> join_1 -> stop; fork_1.a -> {} -> join_1; fork_1.b -> {} -> join_1", node("0"), node("1"), node("2"));
    let workflow = story.workflow(&sketch).await;
    let mut body = json!({"message": "hi", "state": {"text": message(40)}});
    let first = story.start(&workflow, body.clone()).await;
    body["thread_id"] = story.trace(&first.id).await["trace"]["thread_id"].clone();
    let second = story.start(&workflow, body.clone()).await;
    let trace = whole(&story, &second.id).await;
    assert_eq!(names(&trace).iter().filter(|name| name.starts_with("llm summarize")).count(), 2, "{:?}", names(&trace));
    let third = story.start(&workflow, body).await;
    let trace = whole(&story, &third.id).await;
    let told = story.shown(&trace["spans"].as_array().expect("spans").iter().find(|span| span["name"] == "chat").expect("a call")["input"]);
    assert!(told.matches("[Studio memory summary]").count() <= 1, "{told}");
}
