//! Owns what happens to a world by itself: leases that end, clocks that jump, logs that cannot be read any more.

use wfstudio::store::runs::RunRow;

use super::engine::LEASE;
use super::world::World;

impl World {
    /// The leases of processes that are gone end.
    pub async fn lapse(&mut self) {
        let gone: Vec<String> = (0..self.spans.len()).filter(|no| !self.lives(*no)).map(|no| self.owners[no].clone()).collect();
        let (_, studio) = self.studio(0);
        let done = studio.world().store.write(move |tx| gone.iter().try_for_each(|owner| wfstudio::store::runs::queue::expire(tx, owner))).await;
        self.tell(format!("leases of processes that are gone end: {}", done.is_ok()));
    }

    /// Which runs are driven by an engine of these.
    async fn driven(&mut self, engines: &[bool]) -> Vec<bool> {
        let rows = self.rows().await;
        let is_driven = |row: &RunRow| row.status == "running" && self.engine_of(row.owner.as_deref()).is_some_and(|no| engines.get(no) == Some(&true));
        rows.iter().map(|row| row.as_ref().is_some_and(is_driven)).collect()
    }

    pub async fn jump(&mut self, seconds: i64) {
        // A step of a worker may take a run just before the jump or just behind it.
        let lived: Vec<bool> = (0..self.spans.len()).map(|no| self.lives(no)).collect();
        let before = self.driven(&lived).await;
        self.time.jump(seconds * 1000);
        let after = self.driven(&lived).await;
        for (fact, driven) in self.facts.iter_mut().zip(before.into_iter().zip(after).map(|(before, after)| before || after)) {
            fact.deaths += u32::from(driven && seconds.abs() > LEASE);
        }
        if seconds < 0 {
            // What was due when a step began may be due later now.
            self.steps.iter_mut().for_each(|step| step.waited.clear());
        }
        self.tell(format!("the clock jumps by {seconds} s"));
    }

    pub async fn spoil(&mut self, run: u64) {
        let Some(run) = self.run_at(run) else { return };
        let Some(row) = self.row(run).await.filter(|row| row.status == "running") else { return };
        if self.engine_of(row.owner.as_deref()).is_some_and(|no| self.lives(no)) {
            return;
        }
        let (_, studio) = self.studio(0);
        let id = row.id.to_string();
        let spoilt = studio.world().store.write(move |tx| {
            let text = "UPDATE #log SET body = '?' WHERE key >= (SELECT no FROM #runs WHERE id = $1) * 67108864 \
                        AND key < (SELECT no + 1 FROM #runs WHERE id = $1) * 67108864";
            tx.execute(text, &[wfstudio::store::Param::from(id.as_str())])
        });
        let rows = spoilt.await;
        self.facts[run].spoiled = rows.as_ref().is_ok_and(|rows| *rows > 0);
        self.tell(format!("the log of {} cannot be read any more: {rows:?}", self.facts[run].marker));
    }
}
