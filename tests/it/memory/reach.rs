//! Long histories: no more of them is read than the window takes.

use serde_json::{Value, json};
use wfstudio::model::event::EntityKind;
use wfstudio::model::{Id, Timestamp};
use wfstudio::store::threads::{self, Begun, MessageRow};

use super::{chat, message, outputs, sent, story, whole};

/// Stored messages of an agent on a thread, each turn of a run of its own.
struct Stored {
    thread: Id,
    agent: Id,
    rows: Vec<MessageRow>,
}

impl Stored {
    fn add(&mut self, turn: u64, role: &str, body: String, meta: Option<Value>) {
        let no = self.rows.len() as u64;
        self.rows.push(MessageRow {
            id: Id::v7(1, 1, no),
            thread: self.thread,
            history: format!("agent:{}", self.agent),
            shown: true,
            summarized: false,
            role: role.into(),
            run: Some(Id::v7(1, 2, turn)),
            created_at: Timestamp(1),
            body: body.into(),
            meta,
            covers: Vec::new(),
            files: Vec::new(),
            no: 0,
        });
    }

    fn say(&mut self, turn: u64, role: &str, text: &str) {
        self.add(turn, role, json!({"role": role, "content": text}).to_string(), None);
    }
}

#[tokio::test]
async fn old_turns_that_the_window_does_not_take_are_not_read() {
    let story = story(json!({}), "unused");
    let agent = super::agent(&story, json!({})).await;
    let mut stored = Stored { thread: Id::v7(2, 2, 2), agent: agent.parse().expect("an id"), rows: Vec::new() };
    let summary = json!({"role": "system", "content": "[Studio memory summary]\nThey met."});
    stored.add(0, "system", summary.to_string(), Some(json!({"studio_kind": "summary"})));
    // Nobody can read this one.
    stored.add(1, "user", "{".into(), None);
    stored.say(1, "assistant", "Hello.");
    for turn in 2..302 {
        stored.say(turn, "user", &message(40));
        stored.say(turn, "assistant", &"r".repeat(40));
    }
    let thread = stored.thread.to_string();
    let write = story.bench.studio.world().store.write(move |tx| {
        let begun = Begun { entity: (EntityKind::Agent, &stored.agent), user_id: None, message: None };
        threads::begin(tx, "", &stored.thread, &begun, Timestamp(1))?;
        threads::append_messages(tx, "", &stored.rows)
    });
    write.await.expect("stored");
    let turn = chat(&story, &agent, &thread, message(40)).await;
    let trace = whole(&story, &turn.id).await;
    assert_eq!(trace["trace"]["status"], "completed", "{:#}", trace["trace"]);
    let sent = sent(&trace, "chat", 0);
    assert_eq!(sent.len(), 8, "three turns fit: {sent:#?}");
    assert!(sent[0].starts_with("system: ") && sent[0].ends_with("They met."), "every summary is sent: {}", sent[0]);
    let told = outputs(&trace, "memory");
    assert!(told.contains("\"trimmed_count\":596,"), "the others are counted: {told}");
}
