//! Tests of claims of queued runs, and of ends by whoever holds a run.

use std::sync::mpsc;
use std::time::Duration;

use super::*;

fn queued(number: u64) -> RunRow {
    RunRow { status: "queued".into(), queue: Some("default".into()), available_at: Some(Timestamp(1)), ..run(number) }
}

fn claim(tx: &mut Tx<'_>, owner: &str, most: usize) -> Result<Vec<Id>, StoreError> {
    let rows = runs::claim_queued(tx, "default", owner, Timestamp(50), Timestamp(80), most)?;
    Ok(rows.iter().map(|row| row.id).collect())
}

#[test]
fn runs_are_claimed_in_the_order_in_which_they_became_available() {
    let store = fresh();
    write(&store, |tx| {
        for (number, at) in [(1, 30), (2, 10), (3, 60), (4, 20)] {
            runs::insert(tx, &RunRow { available_at: Some(Timestamp(at)), ..queued(number) })?;
        }
        runs::insert(tx, &RunRow { queue: Some("other".into()), ..queued(5) })?;
        Ok(())
    })
    .unwrap();
    assert_eq!(write(&store, |tx| claim(tx, "a", 2)).unwrap(), [id(2), id(4)]);
    assert_eq!(write(&store, |tx| claim(tx, "a", 9)).unwrap(), [id(1)], "what is not due yet stays");
}

/// Whoever lost a run says nothing about it: neither it nor what it has begun is touched.
#[test]
fn a_run_that_somebody_else_has_taken_is_not_ended_nor_are_its_children() {
    let store = fresh();
    write(&store, |tx| {
        runs::insert(tx, &run(1))?;
        runs::insert(tx, &RunRow { parent: Some(id(1)), ..run(2) })?;
        let statuses = |tx: &mut Tx<'_>| -> Result<Vec<String>, StoreError> {
            [1, 2].into_iter().map(|number| Ok(runs::get(tx, "t", &id(number))?.unwrap().status)).collect()
        };
        assert!(!runs::queue::end(tx, &id(1), 0, "failed", None, Timestamp(9))?, "its fence is 1");
        assert_eq!(statuses(tx)?, ["running", "running"]);
        assert!(runs::queue::end(tx, &id(1), 1, "failed", None, Timestamp(9))?);
        assert_eq!(statuses(tx)?, ["failed", "failed"]);
        assert_eq!(runs::get(tx, "t", &id(1))?.unwrap().fence, 2, "whoever held it finds that it does no more");
        Ok(())
    })
    .unwrap();
}

/// Somebody who is in the middle of claiming is in nobody's way.
#[test]
fn whoever_claims_passes_by_what_others_are_claiming() {
    if crate::place::on_server("").is_none() {
        return;
    }
    let store = fresh();
    write(&store, |tx| [1, 2].into_iter().try_for_each(|number| runs::insert(tx, &queued(number)).map(drop))).unwrap();
    let (holds, held) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (first, second) = (store.clone(), store.clone());
        let slow = scope.spawn(move || {
            write(&first, move |tx| {
                let found = claim(tx, "slow", 1)?;
                holds.send(()).unwrap();
                wait.recv_timeout(Duration::from_secs(20)).unwrap();
                Ok(found)
            })
        });
        held.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(write(&second, |tx| claim(tx, "quick", 9)).unwrap(), [id(2)]);
        release.send(()).unwrap();
        assert_eq!(slow.join().unwrap().unwrap(), [id(1)]);
    });
}
