//! Tests of claims of queued runs.

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
