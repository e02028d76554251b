//! Random graphs with random answers: what is told live is what is read later, whatever the interleaving.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::story::Story;

/// A piece of a graph.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Set(u8),
    Wait(u8),
    /// Fails the first time.
    Flaky,
    Ask,
    Stream,
    /// A person lets an agent pay.
    Pay,
    /// Fails, and goes on.
    Handled,
    /// Fails the first time, and tries again by itself.
    Tries,
    Choose(u8, Vec<Block>, Vec<Block>),
    Repeat(u8, Vec<Block>),
    Fork(Vec<Vec<Block>>),
}

pub(super) fn blocks() -> impl Strategy<Value = Vec<Block>> {
    let leaf = prop_oneof![
        3 => (0u8..3).prop_map(Block::Set),
        2 => (0u8..4).prop_map(Block::Wait),
        1 => Just(Block::Flaky),
        1 => Just(Block::Ask),
        1 => Just(Block::Stream),
        1 => Just(Block::Pay),
        1 => Just(Block::Handled),
        1 => Just(Block::Tries),
    ];
    let block = leaf.prop_recursive(3, 14, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            (0u8..3, some(), some()).prop_map(|(key, yes, no)| Block::Choose(key, yes, no)),
            (1u8..3, some()).prop_map(|(times, body)| Block::Repeat(times, body)),
            prop::collection::vec(some(), 2..4).prop_map(Block::Fork),
        ]
    });
    prop::collection::vec(block, 1..4)
}

/// Writes a sketch: every node has a number, every open end waits for the next node.
#[derive(Default)]
struct Writer {
    text: String,
    count: u32,
}

impl Writer {
    fn node(&mut self, ends: &[String], kind: &str, data: &str) -> String {
        self.count += 1;
        let id = format!("{kind}_{}", self.count);
        for (at, end) in ends.iter().enumerate() {
            let data = if at == 0 { data } else { "" };
            let _ = writeln!(self.text, "{end} -> {id}{data}");
        }
        id
    }

    fn close(&mut self, ends: &[String], at: &str) {
        for end in ends {
            let _ = writeln!(self.text, "{end} -> {at}");
        }
    }

    fn all(&mut self, ends: Vec<String>, blocks: &[Block]) -> Vec<String> {
        blocks.iter().fold(ends, |ends, block| self.block(&ends, block))
    }

    fn block(&mut self, ends: &[String], block: &Block) -> Vec<String> {
        let n = self.count + 1;
        match block {
            Block::Set(key) => vec![self.node(ends, "set", &format!("{{key: k{key}, value: \"{{{{k{key}}}}}{n}.\"}}"))],
            Block::Wait(ms) => vec![self.node(ends, "tool", &format!("{{tool_ref: \"host:slow\", parameters: {{ms: {ms}}}, output_key: k{}}}", ms % 3))],
            Block::Flaky => vec![self.node(ends, "tool", &format!("{{tool_ref: \"host:flaky\", parameters: {{times: 1, id: {n}}}}}"))],
            Block::Ask => vec![self.node(ends, "human", &format!("{{output_key: k{}}}", n % 3))],
            Block::Stream => vec![self.node(ends, "llm", &format!("{{provider: script, model: echo, stream: true, prompt: \"a b\", output_key: k{}}}", n % 3))],
            Block::Pay => vec![self.node(ends, "agent", &format!("{{provider: script, model: pays, tools: [{{ref: \"host:pay\"}}], memory: none, message: now, output_key: k{}}}", n % 3))],
            Block::Handled => {
                let id = self.node(ends, "tool", &format!("{{tool_ref: \"host:fail\", on_error: continue, output_key: k{}}}", n % 3));
                vec![format!("{id}.error"), id]
            }
            Block::Tries => vec![self.node(ends, "tool", &format!("{{tool_ref: \"host:flaky\", parameters: {{times: 1, id: {n}}}, retries: {{max: 1, backoff_ms: 0}}, output_key: k{}}}", n % 3))],
            Block::Choose(key, yes, no) => {
                let id = self.node(ends, "condition", &format!("{{state_key: k{key}, operator: empty}}"));
                let mut open = self.all(vec![format!("{id}.true")], yes);
                open.extend(self.all(vec![format!("{id}.false")], no));
                open
            }
            Block::Repeat(times, body) => {
                let id = self.node(ends, "loop", &format!("{{max_steps: {times}, on_max: exit}}"));
                let open = self.all(vec![format!("{id}.continue")], body);
                self.close(&open, &id);
                vec![format!("{id}.exit")]
            }
            Block::Fork(branches) => {
                let id = self.node(ends, "fork", "");
                let join = self.node(std::slice::from_ref(&id), "join", &format!("{{output_key: joined{n}}}"));
                for (at, branch) in branches.iter().enumerate() {
                    let open = self.all(vec![format!("{id}.b{at}")], branch);
                    self.close(&open, &join);
                }
                vec![join]
            }
        }
    }
}

pub(super) fn sketch(blocks: &[Block]) -> String {
    let mut writer = Writer::default();
    let open = writer.all(vec!["start".to_owned()], blocks);
    writer.close(&open, "stop");
    writer.text
}

/// Now and then a retry goes back to some completed step.
fn from_step(trace: &Value, choice: usize) -> Option<&Value> {
    let usable = |step: &&Value| step["status"] == "completed" && step["superseded"] == false;
    let steps: Vec<&Value> = trace["steps"].as_array().expect("steps").iter().filter(usable).collect();
    if choice.is_multiple_of(2) || steps.is_empty() { None } else { Some(&steps[(choice * 7) % steps.len()]["id"]) }
}

/// What `pays` says: it wants to pay, and then that it did.
pub(super) fn settings(concurrency: u64) -> Value {
    let replies = json!([{"match": {"tool_result": "pay"}, "times": 0, "text": "Paid."}, {"times": 0, "tool_calls": [{"name": "pay", "arguments": {"sum": 5}}]}]);
    json!({"parallel": {"concurrency": concurrency}, "providers": {"script": {"scripts": {"pays": {"replies": replies}}}}})
}

/// Goes on to the end: pauses are answered in an order that `choices` gives, failures are tried again.
pub(super) async fn to_the_end(story: &Story, run: &str, choices: &[u8]) -> Value {
    let mut choices = choices.iter().cycle();
    for _ in 0..200 {
        let trace = story.trace(run).await;
        let head = &trace["trace"];
        match head["status"].as_str().expect("a status") {
            "completed" => return head["output"].clone(),
            "failed" => {
                let (code, calls) = (&head["error"]["code"], head["error"]["calls"].as_array());
                assert!(code == "tool_failed" || (code == "in_doubt" && calls.is_some()), "{head}");
                let again = |call: &Value| json!({"call_id": call["call_id"], "action": "rerun"});
                let mut body = json!({"in_doubt": calls.into_iter().flatten().map(again).collect::<Vec<_>>()});
                if let Some(step) = from_step(&trace, usize::from(*choices.next().expect("a choice"))) {
                    body["from_step_id"] = step.clone();
                }
                story.retry(run, body).await;
            }
            "awaiting_input" | "awaiting_tool_approval" => {
                let pauses = head["pauses"].as_array().expect("pauses");
                let pause = &pauses[usize::from(*choices.next().expect("a choice")) % pauses.len()];
                let body = match pause["reason"].as_str() {
                    Some("human") => json!({"pause_id": pause["pause_id"], "message": format!("said at {}", pause["node_id"])}),
                    _ => json!({"pause_id": pause["pause_id"], "approval": "approve"}),
                };
                story.resume(run, body).await;
            }
            other => panic!("{other}"),
        }
    }
    panic!("the run does not end");
}

async fn run_to_the_end(sketch: &str, concurrency: u64, choices: &[u8]) -> Value {
    let story = Story::with(settings(concurrency), json!([]));
    let run = story.run(sketch).await.id;
    to_the_end(&story, &run, choices).await
}

/// `PROPTEST_CASES` asks for more.
pub(super) fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn live_and_later_tell_the_same_and_joins_do_not_depend_on_timing(blocks in blocks(), choices in prop::collection::vec(0u8..8, 1..9)) {
        let sketch = sketch(&blocks);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (wide, narrow) = runtime.block_on(async { (run_to_the_end(&sketch, 8, &choices).await, run_to_the_end(&sketch, 1, &[0]).await) });
        prop_assert_eq!(wide, narrow, "{}", sketch);
    }
}
