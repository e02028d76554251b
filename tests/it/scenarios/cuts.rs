//! A run whose owner dies behind any entry of its log: another studio goes on with what is stored, and it ends as it would have.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use wfstudio::engine::{Loaded, load};
use wfstudio::model::Timestamp;
use wfstudio::model::event::Event;
use wfstudio::model::run::{Run, Status};
use wfstudio::store::log::{self, Append, Made, TokenRow, parts};
use wfstudio::store::runs::{RunRow, RunUpdate};

use super::random::{blocks, settings, sketch, to_the_end};
use crate::support::story::Story;

/// What is stored of a run, with the texts that its log names.
struct Kept {
    loaded: Loaded,
    parts: Vec<(Arc<str>, Arc<str>)>,
    tokens: Vec<TokenRow>,
}

async fn kept(story: &Story, run: &str) -> Kept {
    let world = story.bench.studio.world();
    let loaded = load(world, "", run).await.expect("a run");
    let id = loaded.row.id;
    let read = world.store.read(move |tx| Ok((parts::of_run(tx, "", &id)?, log::tokens(tx, "", &id, 0, 10_000)?)));
    let (parts, tokens) = read.await.expect("a store");
    Kept { loaded, parts, tokens }
}

/// A studio that finds the first entries of a log, of a run that was at work; none when it was not.
async fn cut(kept: &Kept, at: usize, settings: Value) -> Option<Story> {
    let Kept { loaded, parts, tokens } = kept;
    let entries = loaded.entries[..at].to_vec();
    let run = Run::fold(loaded.row.id, &entries, Arc::clone(&loaded.plan)).expect("a log");
    if run.status != Status::Running {
        return None;
    }
    let story = Story::with(settings, json!([]));
    let row = RunRow {
        status: "running".into(),
        started_at: run.started_at,
        finished_at: None,
        rested_at: None,
        awaiting_node: None,
        awaiting_pause: None,
        error: None,
        owner: None,
        lease_until: Some(Timestamp(0)),
        fence: 1,
        takeovers: 0,
        ..loaded.row.clone()
    };
    let mut append = Append::new(row.id, row.tenant.clone(), 0, 1, RunUpdate::default());
    append.made = Some(Box::new(Made { row, reply: None, message: None, key: None, replaces: None }));
    append.entries = entries;
    append.parts.clone_from(parts);
    append.tokens = tokens.iter().filter(|row| row.after_seq < at as u64).cloned().collect();
    let stored = story.bench.studio.world().store.write(move |tx| log::append(tx, &append).map(drop)).await;
    stored.expect("a store");
    Some(story)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: super::random::cases().div_ceil(8), max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_taken_over_behind_any_entry_ends_as_it_would_have_ended(
        blocks in blocks(),
        concurrency in 1u64..4,
        choices in prop::collection::vec(0u8..8, 1..9),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 4),
    ) {
        let (sketch, mut settings) = (sketch(&blocks), settings(concurrency));
        settings["async_progress"] = json!({"poll_ms": 50});
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let story = Story::with(settings.clone(), json!([]));
            let run = story.run(&sketch).await.id;
            let wanted = to_the_end(&story, &run, &choices).await;
            let kept = kept(&story, &run).await;
            let length = kept.loaded.entries.len();
            for at in cuts.iter().map(|cut| 2 + cut.index(length - 2)) {
                let Some(next) = cut(&kept, at, settings.clone()).await else { continue };
                next.bench.studio.take_over().await.expect("a studio");
                next.join(&run).await;
                next.check(&run).await;
                let found = to_the_end(&next, &run, &choices).await;
                let told: Vec<String> = kept.loaded.entries[..at].iter().map(|entry| format!("{} {}", entry.lane, short(&entry.event))).collect();
                assert_eq!(found, wanted, "behind entry {at} of {sketch}\n{}", told.join("\n"));
            }
        });
    }
}

fn short(event: &Event) -> String {
    format!("{event:?}").chars().take(120).collect()
}
