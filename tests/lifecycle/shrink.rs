//! Owns making a failure small: deeds are left out as long as the same rule breaks.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::chance::Chance;
use super::deeds::{Deed, deed};
use super::model::{Fault, Ignored};
use super::world::World;

/// How a seed ended.
pub struct Played {
    pub fault: Option<Fault>,
    pub story: Vec<String>,
    pub deeds: usize,
    pub calls: usize,
}

/// The deeds of a seed.
pub fn deeds(seed: u64, count: usize) -> Vec<Deed> {
    let mut chance = Chance::new(seed ^ 0x5eed);
    let leaning = *Chance::new(seed).pick(&super::deeds::LEANINGS);
    (0..count).map(|_| deed(&mut chance, leaning)).collect()
}

/// Plays a seed, with those of its deeds that are wanted.
pub async fn play(seed: u64, wanted: Vec<(usize, Deed)>, ignored: Ignored) -> Played {
    let mut world = World::of(seed, ignored.clone()).await;
    let fault = all(&mut world, &wanted).await.err().filter(|fault| !ignored.0.contains(fault.rule));
    let mut story = vec![format!("leaning {:?}, {:?}", world.leaning, world.limits)];
    let started = |at: &usize| world.story.iter().any(|line| line.contains(&format!("starts workflow {at}")));
    story.extend((0..world.sketches.len()).filter(started).map(|at| format!("workflow {at}:\n{}", world.sketches[at])));
    story.append(&mut world.story);
    let calls = world.book.calls().len();
    while let Some(engine) = world.engines.pop() {
        engine.die().await;
    }
    Played { fault, story, deeds: wanted.len(), calls }
}

async fn all(world: &mut World, wanted: &[(usize, Deed)]) -> Result<(), Fault> {
    for (at, deed) in wanted {
        world.tell(format!("{at}: {deed:?}"));
        world.act(deed).await?;
        world.calm().await?;
        world.look().await?;
    }
    world.finish().await
}

/// The fewest deeds that still break the rule, as far as there is time.
pub async fn shrink<D: Clone>(
    mut wanted: Vec<(usize, D)>,
    rule: &str,
    time: Duration,
    play: impl Fn(Vec<(usize, D)>) -> BoxFuture<'static, Played> + Sync,
) -> (Vec<(usize, D)>, Option<Played>) {
    let until = Instant::now() + time;
    let mut smallest = None;
    let mut size = wanted.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < wanted.len() && Instant::now() < until {
            let mut fewer = wanted.clone();
            fewer.drain(at..(at + size).min(wanted.len()));
            let played = play(fewer.clone()).await;
            if played.fault.as_ref().is_some_and(|fault| fault.rule == rule) {
                wanted = fewer;
                smallest = Some(played);
            } else {
                at += size;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    (wanted, smallest)
}
