//! Tests of appends, fences, chains and parts.

use serde_json::json;
use sha2::{Digest, Sha256};

use super::*;
use crate::model::usage::Picos;
use crate::store::log::{self, Known, Made, TokenRow, parts};
use crate::store::runs::queue::{Lapsed, Renewed};
use crate::store::runs::{Standing, queue};
use crate::store::usage::SpanRow;
use crate::store::{Param, threads};

const PLACES: u64 = 1 << 26;

fn lapsed(now: i64, far: i64) -> Lapsed {
    Lapsed { now: Timestamp(now), far: Timestamp(far), sync: 10, most: 10, own: true, held: Vec::new() }
}

#[test]
fn what_is_appended_is_read_back() {
    let store = fresh();
    with_run(&store);
    let (entries, row) = read(&store, |tx| {
        Ok((log::entries(tx, "t", &id(1), 1, 10)?, runs::get(tx, "t", &id(1))?.unwrap()))
    })
    .unwrap();
    assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(entries[0], *entry(2));
    assert_eq!((row.head, row.working_ms, row.last_event_id, row.started_at), (3, 7, 3, Some(Timestamp(5))));
}

#[test]
fn another_tenant_sees_nothing() {
    let store = fresh();
    with_run(&store);
    read(&store, |tx| {
        assert_eq!(log::entries(tx, "other", &id(1), 0, 10)?, []);
        assert_eq!(runs::get(tx, "other", &id(1))?, None);
        Ok(())
    })
    .unwrap();
    let foreign = write(&store, |tx| append(tx, &Append { tenant: "other".into(), ..growth(1, 3, 1) }));
    assert_eq!(foreign, Err(StoreError::Fenced));
}

#[test]
fn a_late_writer_is_refused_and_leaves_nothing() {
    let store = fresh();
    with_run(&store);
    let taken = write(&store, |tx| runs::claim_expired(tx, "b", Timestamp(3000), &lapsed(2000, 4000))).unwrap();
    assert_eq!(taken.iter().map(|run| (run.id, run.fence)).collect::<Vec<_>>(), [(id(1), 2)]);
    assert_eq!(write(&store, |tx| append(tx, &growth(1, 3, 1))), Err(StoreError::Fenced));
    assert_eq!(write(&store, |tx| append(tx, &Append { expect_fence: 2, ..growth(1, 2, 1) })), Err(StoreError::Fenced));
    assert_eq!(read(&store, |tx| log::entries(tx, "t", &id(1), 0, 10)).unwrap().len(), 3);
    write(&store, |tx| append(tx, &Append { expect_fence: 2, row: RunUpdate { fence: 2, owner: Some("b".into()), ..update("running") }, ..growth(1, 3, 1) })).unwrap();
}

#[test]
fn each_column_that_changes_alone_is_stored() {
    let same = || RunUpdate { rested_at: Some(Timestamp(8)), awaiting_pause: Some(id(60)), ..update("running") };
    let changes = [
        update("running"),
        RunUpdate { status: "failed", ..same() },
        RunUpdate { owner: None, ..same() },
        RunUpdate { started_at: Some(Timestamp(6)), ..same() },
        RunUpdate { awaiting_pause: Some(id(61)), ..same() },
        RunUpdate { rested_at: Some(Timestamp(9)), ..same() },
        RunUpdate { rested_at: None, ..same() },
    ];
    for change in changes {
        let store = fresh();
        with_run(&store);
        let wanted = (change.status.to_owned(), change.owner.as_deref().map(str::to_owned), change.started_at, change.awaiting_pause, change.rested_at);
        let (before, after) = (Append { row: same(), ..growth(1, 3, 1) }, Append { row: change, ..growth(1, 4, 1) });
        write(&store, move |tx| append(tx, &before)).unwrap();
        write(&store, move |tx| append(tx, &after)).unwrap();
        let row = read(&store, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap();
        assert_eq!((row.status, row.owner, row.started_at, row.awaiting_pause, row.rested_at), wanted);
    }
}

#[test]
fn what_may_have_been_stored_is_not_stored_twice() {
    let store = fresh();
    with_run(&store);
    let token = |n| TokenRow { n, after_seq: 3, lane: 0, step: id(7), publish_reply: true, thought: false, count: 1, deltas: vec!["a".into()] };
    let entries = growth(1, 3, 2);
    let tokens = Append { tokens: vec![token(1)], ..growth(1, 5, 0) };
    for again in [&entries, &tokens] {
        for _ in 0..3 {
            let again = again.clone();
            write(&store, move |tx| log::append_again(tx, &again)).unwrap();
        }
    }
    assert_eq!(write(&store, move |tx| log::append_again(tx, &entries)).map(drop), Ok(()), "tokens do not move the head");
    read(&store, move |tx| {
        assert_eq!(log::entries(tx, "t", &id(1), 0, 10)?.len(), 5);
        assert_eq!(log::tokens(tx, "t", &id(1), 0, 10)?, [token(1)]);
        log::verify(tx, "t", &id(1))
    })
    .unwrap();
    let late = Append { expect_fence: 2, ..growth(1, 5, 1) };
    assert_eq!(write(&store, move |tx| log::append_again(tx, &late)), Err(StoreError::Fenced));
}

#[test]
fn a_run_begins_with_what_it_did_once_however_often_it_is_tried() {
    let store = fresh();
    let made = |number| Some(Box::new(Made { row: run(number), reply: Some("Done.".into()), message: None, key: None, replaces: None }));
    let begins = Append { made: made(1), ..growth(1, 0, 3) };
    for _ in 0..2 {
        let again = begins.clone();
        write(&store, move |tx| log::append_again(tx, &again)).unwrap();
    }
    assert!(matches!(write(&store, move |tx| log::append(tx, &begins)), Err(StoreError::Conflict(_))));
    read(&store, |tx| {
        assert_eq!(runs::get(tx, "t", &id(1))?.map(|row| row.head), Some(3));
        assert_eq!(threads::get(tx, "t", &run(1).thread)?.map(|thread| thread.run_count), Some(1));
        log::verify(tx, "t", &id(1))
    })
    .unwrap();
    let busy = Append { made: Some(Box::new(Made { row: RunRow { entity_type: EntityKind::Agent, ..run(2) }, ..*made(2).unwrap() })), ..growth(2, 0, 1) };
    assert_eq!(write(&store, move |tx| log::append(tx, &busy)).map(drop), Err(StoreError::ThreadBusy(id(1))));
    assert_eq!(read(&store, |tx| runs::get(tx, "t", &id(2))).unwrap(), None);
}

#[test]
fn an_altered_row_is_found() {
    let (first, second) = ("67108865", "67108868");
    for change in [
        ["UPDATE #log SET body = replace(body, 'began', 'rested') WHERE key = ", first],
        ["UPDATE #log SET body = replace(body, '10 0', '11 0') WHERE key = ", first],
        ["UPDATE #log SET body = replace(body, '10 0', '10 1') WHERE key = ", first],
        ["UPDATE #log SET at = 11 WHERE key = ", first],
        ["UPDATE #log SET lane = 1 WHERE key = ", second],
        ["UPDATE #log SET key = key + 1 WHERE key = ", second],
        ["DELETE FROM #log WHERE key = ", first],
        ["DELETE FROM #log WHERE key = ", second],
        ["UPDATE #log SET hash = {zeroblob(32)|decode(repeat('00', 32), 'hex')} WHERE key = ", second],
    ] {
        let store = fresh();
        with_run(&store);
        write(&store, |tx| append(tx, &growth(1, 3, 2))).unwrap();
        read(&store, |tx| log::verify(tx, "t", &id(1))).unwrap();
        let sql: &'static str = change.concat().leak();
        assert_eq!(write(&store, move |tx| tx.execute(sql, &[])), Ok(1), "{sql}");
        let found = read(&store, |tx| log::verify(tx, "t", &id(1)));
        assert!(matches!(&found, Err(StoreError::Corrupt(text)) if text.contains("run 0000")), "{sql}: {found:?}");
    }
}

#[test]
fn a_line_that_is_none_is_told_as_damage() {
    for change in ["replace(body, '10 0', 'ten 0')", "replace(body, '10 0', '10')", "replace(body, '\"began\"', '\"began')", "{replace(body, char(10), ' ')|translate(body, chr(10), ' ')}"] {
        let store = fresh();
        with_run(&store);
        let sql: &'static str = format!("UPDATE #log SET body = {change}").leak();
        assert_eq!(write(&store, move |tx| tx.execute(sql, &[])), Ok(1), "{sql}");
        for found in [read(&store, |tx| log::entries(tx, "t", &id(1), 0, 10)).map(drop), read(&store, |tx| log::whole(tx, 1)).map(drop)] {
            assert!(matches!(found, Err(StoreError::Corrupt(_))), "{change}: {found:?}");
        }
    }
}

/// What earlier versions stored is chained in this way.
#[test]
fn the_hash_of_a_row_is_of_all_it_holds_and_of_the_row_before() {
    let store = fresh();
    write(&store, |tx| {
        runs::insert(tx, &run(1))?;
        append(tx, &growth(1, 0, 1))?;
        append(tx, &growth(1, 1, 2))?;
        let of = |before: &[u8], first: u64, body: &str| {
            let place = [&first.to_le_bytes()[..], &10_i64.to_le_bytes(), &0_u32.to_le_bytes()].concat();
            Sha256::digest([before, &place, body.as_bytes()].concat()).to_vec()
        };
        let first = of(&Sha256::digest(id(1).0.as_bytes()), 1, "\"began\"");
        let second = of(&first, 2, "\"began\"\n10 0 \"began\"");
        let stored = tx.query("SELECT hash FROM #log ORDER BY key", &[], |row| Ok(row.blob(0)?.to_vec()))?;
        assert_eq!(stored, [first, second]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_log_whose_end_is_lost_does_not_go_on() {
    let store = fresh();
    with_run(&store);
    write(&store, |tx| append(tx, &growth(1, 3, 2))).unwrap();
    write(&store, |tx| tx.execute("DELETE FROM #log WHERE key = 67108868", &[])).unwrap();
    let refused = write(&store, |tx| append(tx, &growth(1, 5, 1)));
    assert!(matches!(&refused, Err(StoreError::Corrupt(text)) if text.starts_with("entry 5 of run")), "{refused:?}");
}

/// Two steps on two lanes, and a large one between them.
fn two_lane_entry(seq: u64) -> Arc<Entry> {
    let event = if seq == 60 { created(1, &"\n line ".repeat(500)) } else { Event::Began };
    Arc::new(Entry { seq, at: Timestamp(1000 + i64::try_from(seq).unwrap()), lane: u32::try_from(seq % 2).unwrap(), event })
}

#[test]
fn small_entries_lie_together_and_are_read_from_anywhere() {
    let store = fresh();
    let all: Vec<Entry> = (1..=150).map(|seq| (*two_lane_entry(seq)).clone()).collect();
    write(&store, move |tx| {
        runs::insert(tx, &run(1))?;
        runs::insert(tx, &run(2))?;
        for (from, to) in [(1, 1), (2, 120), (121, 150)] {
            append(tx, &Append { entries: (from..=to).map(two_lane_entry).collect(), ..growth(1, from - 1, 0) })?;
        }
        append(tx, &growth(2, 0, 3))?;
        let rows = tx.query_one("SELECT COUNT(*) FROM #log WHERE key < 134217728", &[], |row| row.int(0))?.unwrap();
        assert!((5..=8).contains(&rows), "{rows} rows");
        let longest = tx.query_one("SELECT MAX(length(body)) FROM #log WHERE key <> 67108924", &[], |row| row.int(0))?.unwrap();
        assert!(longest <= 1280, "{longest} bytes");
        log::verify(tx, "t", &id(1))?;
        assert_eq!(log::whole(tx, 1)?.0, all);
        for after in 0..=151 {
            for limit in [1, 2, 7, 149, 150, 4096] {
                let wanted: Vec<Entry> = all.iter().skip(after).take(limit).cloned().collect();
                assert_eq!(log::entries(tx, "t", &id(1), after as u64, limit)?, wanted, "{limit} after {after}");
            }
        }
        for after in [PLACES - 1, PLACES, PLACES + 1, u64::MAX] {
            assert_eq!(log::entries(tx, "t", &id(1), after, 4096)?, [], "after {after}");
        }
        Ok(())
    })
    .unwrap();
}

/// Rows that hold one entry each were stored before several could lie in one.
#[test]
fn a_log_of_single_rows_goes_on() {
    let store = fresh();
    write(&store, |tx| {
        runs::insert(tx, &run(1))?;
        for head in 0..5 {
            append(tx, &growth(1, head, 1))?;
        }
        append(tx, &growth(1, 5, 4))?;
        let rows = tx.query("SELECT key % 67108864 FROM #log ORDER BY key", &[], |row| row.int(0))?;
        assert_eq!(rows, [1, 2, 3, 4, 5, 6]);
        let read = log::entries(tx, "t", &id(1), 3, 4)?;
        assert_eq!(read.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [4, 5, 6, 7]);
        log::verify(tx, "t", &id(1))
    })
    .unwrap();
}

#[test]
fn a_part_whose_only_user_comes_and_goes_in_one_transaction_is_removed() {
    let hash = "cd".repeat(32);
    let part: (Arc<str>, Arc<str>) = (hash.clone().into(), "the text".into());
    write(&fresh(), move |tx| {
        runs::insert(tx, &run(1))?;
        append(tx, &Append { parts: vec![part.clone()], row: update("completed"), ..growth(1, 0, 1) })?;
        runs::delete(tx, "t", &id(1))?;
        tx.settle()?;
        assert_eq!(parts::part(tx, "t", &hash)?, None);
        Ok(())
    })
    .unwrap();
}

#[test]
fn parts_live_as_long_as_a_run_uses_them() {
    let store = fresh();
    let hash = "ab".repeat(32);
    let part: (Arc<str>, Arc<str>) = (hash.clone().into(), "the text".into());
    write(&store, move |tx| {
        for number in [1, 2] {
            runs::insert(tx, &run(number))?;
            append(tx, &Append { parts: vec![part.clone(), part.clone()], row: update("completed"), ..growth(number, 0, 1) })?;
        }
        assert_eq!(parts::part(tx, "t", &hash)?.as_deref(), Some("the text"));
        assert_eq!(parts::part(tx, "other", &hash)?, None);
        assert_eq!(parts::of_run(tx, "t", &id(2))?, vec![part.clone()]);
        runs::delete(tx, "t", &id(1))?;
        tx.settle()?;
        assert_eq!(parts::part(tx, "t", &hash)?.as_deref(), Some("the text"));
        runs::delete(tx, "t", &id(2))?;
        tx.settle()?;
        assert_eq!(parts::part(tx, "t", &hash)?, None);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_run_that_its_owner_knows_begins_and_ends() {
    let store = fresh();
    write(&store, |tx| {
        let no = runs::insert(tx, &RunRow { status: "queued".into(), ..run(1) })?;
        let of = |status: &str, started_at| Standing { started_at, ..RunRow { status: status.into(), ..run(1) }.standing() };
        let known = |hash, stands| Some(Known { no, entity_type: EntityKind::Workflow, entity_id: id(900), hash, stands });
        let (_, first) = append(tx, &growth(1, 0, 1))?;
        tx.execute("UPDATE #runs SET started_at = NULL, status = 'queued' WHERE no = $1", &[no.into()])?;
        let (_, second) = append(tx, &Append { known: known(first, of("queued", None)), ..growth(1, 1, 1) })?;
        let row = runs::get(tx, "t", &id(1))?.unwrap();
        assert_eq!((row.status.as_str(), row.started_at), ("running", Some(Timestamp(5))));
        let ended = RunUpdate { finished_at: Some(Timestamp(9)), ..update("completed") };
        append(tx, &Append { known: known(second, of("running", Some(Timestamp(5)))), row: ended, ..growth(1, 2, 1) })?;
        let row = runs::get(tx, "t", &id(1))?.unwrap();
        assert_eq!((row.status.as_str(), row.started_at, row.finished_at), ("completed", Some(Timestamp(5)), Some(Timestamp(9))));
        log::verify(tx, "t", &id(1))
    })
    .unwrap();
}

#[test]
fn runs_that_begin_together_share_their_parts() {
    let store = fresh();
    let text = |name: &str| -> (Arc<str>, Arc<str>) { (name.repeat(32).into(), format!("the text {name}").into()) };
    let parts = vec![text("a1"), text("b2"), text("c3"), text("a1"), text("d4")];
    write(&store, move |tx| {
        for (number, tenant) in [(1, "t"), (2, "t"), (3, "other")] {
            let row = RunRow { tenant: tenant.into(), thread: id(number + 700), ..run(number) };
            let made = Some(Box::new(Made { row, reply: None, message: None, key: None, replaces: None }));
            log::append(tx, &Append { made, parts: parts.clone(), tenant: tenant.into(), ..growth(number, 0, 1) })?;
            assert_eq!(parts::of_run(tx, tenant, &id(number))?.len(), 4);
        }
        tx.settle()?;
        let uses = tx.query("SELECT uses FROM #parts ORDER BY tenant, hash", &[], |row| row.int(0))?;
        assert_eq!(uses, [1, 1, 1, 1, 2, 2, 2, 2]);
        Ok(())
    })
    .unwrap();
}

fn tokens(n: u64) -> TokenRow {
    TokenRow { n, after_seq: 1, lane: 0, step: id(7), publish_reply: true, thought: false, count: 2, deltas: vec!["Hel".into(), "lo".into()] }
}

#[test]
fn expired_tokens_keep_their_count() {
    let store = fresh();
    write(&store, |tx| {
        runs::insert(tx, &run(1))?;
        append(tx, &Append { tokens: vec![tokens(1), tokens(2)], ..growth(1, 0, 1) })?;
        assert_eq!(log::tokens(tx, "t", &id(1), 1, 10)?, [tokens(2)]);
        assert_eq!(log::expire_tokens(tx, Timestamp(100), 10)?, 0, "the run is not at rest");
        append(tx, &Append { row: RunUpdate { rested_at: Some(Timestamp(50)), ..update("completed") }, ..growth(1, 1, 1) })?;
        assert_eq!(log::expire_tokens(tx, Timestamp(100), 10)?, 1);
        assert_eq!(log::tokens(tx, "t", &id(1), 1, 10)?, [TokenRow { deltas: vec![], ..tokens(2) }]);
        assert_eq!(log::expire_tokens(tx, Timestamp(100), 10)?, 0);
        Ok(())
    })
    .unwrap();
}

#[test]
fn deleting_a_run_leaves_no_row_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    write(&store, |tx| {
        runs::insert(tx, &run(1))?;
        let child = RunRow { parent: Some(id(1)), started_at: Some(Timestamp(6)), ..run(2) };
        let span = |number, run| SpanRow {
            id: id(number),
            run: id(run),
            kind: "llm",
            provider: "p".into(),
            model: "m".into(),
            started_at: Timestamp(9),
            traced: true,
            usage: Usage { cost: Picos(5), ..Usage::default() },
        };
        append(
            tx,
            &Append {
                children: vec![child],
                spans: vec![span(11, 1), span(12, 2)],
                tokens: vec![tokens(1)],
                parts: vec![("cd".repeat(32).into(), "x".into())],
                outbox: vec![],
                row: RunUpdate { reply: Some("bye".into()), ..update("completed") },
                ..growth(1, 0, 2)
            },
        )?;
        tx.settle()?;
        assert_eq!(sums(tx)?, json!({"runs": [1, 10], "models": [10]}));
        runs::delete(tx, "t", &id(1))?;
        tx.settle()?;
        assert_eq!(sums(tx)?, json!({"runs": [0, 0], "models": [0]}));
        Ok(())
    })
    .unwrap();
    let left = read(&store, |tx| {
        let mut left = Vec::new();
        for sql in [
            "SELECT COUNT(*) FROM #runs",
            "SELECT COUNT(*) FROM #log",
            "SELECT COUNT(*) FROM #progress",
            "SELECT COUNT(*) FROM #parts",
            "SELECT COUNT(*) FROM #run_parts",
            "SELECT COUNT(*) FROM #run_replies",
            "SELECT COUNT(*) FROM #spans",
        ] {
            left.extend(tx.query_one(sql, &[], |row| row.int(0))?);
        }
        Ok(left)
    });
    assert_eq!(left.unwrap(), [0; 7]);
}

fn sums(tx: &mut Tx<'_>) -> Result<serde_json::Value, StoreError> {
    crate::store::usage::fold::fold(tx)?;
    let day = [Param::from(86_400_000_i64)];
    let runs = tx.query("SELECT n, cost_pico FROM #usage_runs WHERE width = $1 AND entity_id = ''", &day, |row| Ok([row.int(0)?, row.int(1)?]))?;
    let models = tx.query("SELECT cost_pico FROM #usage_models WHERE width = $1 AND entity_id = ''", &day, |row| row.int(0))?;
    Ok(json!({"runs": runs.concat(), "models": models}))
}

#[test]
fn a_queued_run_is_claimed_once_in_order_of_availability() {
    let store = fresh();
    write(&store, |tx| {
        for (number, at) in [(1, 30), (2, 10), (3, 99)] {
            runs::insert(
                tx,
                &RunRow { status: "queued".into(), queue: Some("default".into()), available_at: Some(Timestamp(at)), owner: None, ..run(number) },
            )?;
        }
        assert_eq!(runs::due_at(tx, "default")?, Some(Timestamp(10)));
        let mut claimed = Vec::new();
        while let Some(run) = runs::claim_queued(tx, "default", "w", Timestamp(50), Timestamp(80), 1)?.pop() {
            assert_eq!((run.status.as_str(), run.fence, run.tries, run.owner.as_deref()), ("running", 2, 1, Some("w")));
            claimed.push(run.id);
        }
        assert_eq!(claimed, [id(2), id(1)]);
        assert_eq!(runs::claim_queued(tx, "other", "w", Timestamp(500), Timestamp(580), 9)?, []);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_write_that_was_held_up_leaves_the_lease_that_was_renewed_meanwhile() {
    let store = fresh();
    write(&store, |tx| {
        runs::insert(tx, &run(1))?;
        let lease = |tx: &mut Tx<'_>| runs::get(tx, "t", &id(1)).map(|row| row.unwrap().lease_until);
        queue::renew(tx, "a", &[id(1)], Timestamp(5000))?;
        let (no, hash) = crate::store::log::append(tx, &growth(1, 0, 1))?;
        assert_eq!(lease(tx)?, Some(Timestamp(5000)), "it was made with a lease until 1000");
        let later = RunUpdate { started_at: Some(Timestamp(6)), ..update("running") };
        let known = |hash| Some(Known { no, entity_type: EntityKind::Workflow, entity_id: id(900), hash, stands: update("running").standing() });
        let (_, hash) = crate::store::log::append(tx, &Append { known: known(hash), row: later.clone(), ..growth(1, 1, 1) })?;
        assert_eq!(lease(tx)?, Some(Timestamp(5000)), "nor by who knows the row");
        let forward = RunUpdate { lease_until: Some(Timestamp(6000)), ..later.clone() };
        let (_, hash) = crate::store::log::append(tx, &Append { known: known(hash), row: forward, ..growth(1, 2, 1) })?;
        assert_eq!(lease(tx)?, Some(Timestamp(6000)), "it moves on");
        let given_back = RunUpdate { owner: None, lease_until: Some(Timestamp(0)), ..later };
        crate::store::log::append(tx, &Append { known: known(hash), row: given_back, ..growth(1, 3, 1) })?;
        assert_eq!(lease(tx)?, Some(Timestamp(0)), "a run that is given back is free at once");
        Ok(())
    })
    .unwrap();
}

#[test]
fn leases_are_renewed_lost_and_released() {
    let store = fresh();
    with_run(&store);
    write(&store, |tx| {
        assert_eq!(queue::renew(tx, "a", &[id(1), id(2)], Timestamp(5000))?, Renewed { lost: vec![id(2)], skipped: vec![] });
        assert_eq!(runs::claim_expired(tx, "b", Timestamp(5000), &lapsed(4000, 6000))?, []);
        assert_eq!(runs::claim_expired(tx, "b", Timestamp(2), &lapsed(1, 3))?.len(), 1, "the lease is too far ahead");
        assert_eq!(queue::renew(tx, "a", &[id(1)], Timestamp(9000))?.lost, [id(1)]);
        assert!(runs::request_cancel(tx, "t", &id(1), None)?);
        assert_eq!(runs::cancel_wanted(tx, "a")?, []);
        assert_eq!(runs::cancel_wanted(tx, "b")?, [id(1)]);
        let held = runs::get(tx, "t", &id(1))?.unwrap();
        crate::store::runs::queue::release(tx, &id(1), held.fence, false)?;
        let taken = runs::claim_expired(tx, "c", Timestamp(2), &lapsed(1, 3))?;
        assert_eq!(taken.iter().map(|run| (run.fence, run.takeovers)).collect::<Vec<_>>(), [(held.fence + 2, 1)], "an owner that gave the run back is not counted");
        assert_eq!(crate::store::runs::queue::holders(tx)?, [(Some("c".to_owned()), Timestamp(2), Timestamp(2))]);
        Ok(())
    })
    .unwrap();
}
