//! Tests of usage: the sums tell the same as adding up every run and every call.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::date;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::model::chat::Tokens;
use crate::model::usage::Picos;
use crate::store::usage::rebuild::Off;
use crate::store::usage::report::{GroupBy, Of, Totals, UsageQuery, report};
use crate::store::usage::{SpanRow, fold, rebuild};
use crate::store::usage;

const HOUR: i64 = 3_600_000;
/// 2026-10-24: clocks go back in Berlin on the 25th, in New York on 1 November.
const BASE: i64 = 1_792_800_000_000;
const DAYS: i64 = 10;
const ZONES: [&str; 3] = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"];

/// A top-level run with its calls, made by itself, by its child run and by that one's child run in turn.
#[derive(Clone, Debug)]
struct Made {
    started: i64,
    agent: bool,
    entity: u64,
    thread: u64,
    calls: Vec<(i64, usize, u64, bool)>,
    /// So many calls were made before it failed and was tried again.
    first: usize,
    deleted: bool,
    /// What becomes of what waits after it was stored.
    then: Then,
}

#[derive(Clone, Copy, Debug)]
enum Then {
    Waits,
    Drawn,
    Folded,
}

/// Any moment of those days, or one beside a midnight.
fn moment() -> impl Strategy<Value = i64> {
    let midnight = (0..3usize, 0..i8::try_from(DAYS).unwrap(), -1..=1i64).prop_map(|(zone, day, off)| {
        let day = date(2026, 10, 24).checked_add(jiff::Span::new().days(day)).unwrap();
        day.to_zoned(TimeZone::get(ZONES[zone]).unwrap()).unwrap().timestamp().as_millisecond() + off
    });
    prop_oneof![BASE..BASE + DAYS * 24 * HOUR, midnight]
}

const MODELS: [(&str, &str); 3] = [("a", "small"), ("b", "small"), ("b", "large")];

fn made() -> impl Strategy<Value = Made> {
    let call = (prop_oneof![0..40 * HOUR, Just(0)], 0..3usize, 0..1000u64, any::<bool>());
    let calls = prop::collection::vec(call, 0..5);
    let sometimes = prop::bool::weighted;
    let then = prop_oneof![4 => Just(Then::Waits), 2 => Just(Then::Drawn), 1 => Just(Then::Folded)];
    (moment(), any::<bool>(), 900..903u64, 800..803u64, calls, 0..5usize, sometimes(0.2), then).prop_map(
        |(started, agent, entity, thread, calls, first, deleted, then)| {
            let calls = calls.into_iter().map(|(after, model, tokens, unpriced)| (started + after, model, tokens, unpriced));
            Made { started, agent, entity, thread, calls: calls.collect(), first, deleted, then }
        },
    )
}

fn usage(tokens: u64, unpriced: bool) -> Usage {
    Usage {
        tokens: Tokens { prompt: tokens, completion: tokens / 2, cached: 1, cache_write: 2, reasoning: 3, ..Tokens::default() },
        cost: Picos(i64::try_from(tokens).unwrap() * 7),
        unpriced,
    }
}

fn kind(made: &Made) -> EntityKind {
    if made.agent { EntityKind::Agent } else { EntityKind::Workflow }
}

/// Stores a run with its calls; gives its id.
fn store_run(tx: &mut Tx<'_>, number: u64, made: &Made) -> Result<(), StoreError> {
    let row = RunRow { entity_type: kind(made), entity_id: id(made.entity), thread: id(made.thread), ..run(number) };
    runs::insert(tx, &row)?;
    let child = RunRow { parent: Some(id(number)), entity_id: id(999), ..run(number + 1000) };
    let grandchild = RunRow { parent: Some(child.id), ..run(number + 2000) };
    let makers = [id(number), child.id, grandchild.id];
    let mut total = Usage::default();
    let mut spans: Vec<SpanRow> = (0..).zip(&made.calls).map(|(place, call)| span(makers[place % 3], number * 10 + place as u64, call)).collect();
    let again = spans.split_off(made.first.min(spans.len()));
    spans.iter().for_each(|span| total.add(&span.usage));
    let row = RunUpdate { started_at: Some(Timestamp(made.started)), total, ..update("failed") };
    append(tx, &Append { children: vec![child, grandchild], spans, row: row.clone(), ..growth(number, 0, 1) })?;
    again.iter().for_each(|span| total.add(&span.usage));
    append(tx, &Append { spans: again, row: RunUpdate { total, attempt: 2, ..row }, ..growth(number, 1, 1) }).map(drop)
}

fn span(run: Id, number: u64, (at, model, tokens, unpriced): &(i64, usize, u64, bool)) -> SpanRow {
    SpanRow {
        id: id(number),
        run,
        kind: "llm",
        provider: MODELS[*model].0.into(),
        model: MODELS[*model].1.into(),
        started_at: Timestamp(*at),
        traced: true,
        usage: usage(*tokens, *unpriced),
    }
}

fn add(totals: &mut Totals, usage: &Usage) {
    totals.prompt += usage.tokens.prompt;
    totals.completion += usage.tokens.completion;
    totals.cached += usage.tokens.cached;
    totals.cache_write += usage.tokens.cache_write;
    totals.reasoning += usage.tokens.reasoning;
    totals.cost += i128::from(usage.cost.0);
    totals.unpriced |= usage.unpriced;
}

/// What the report must be, by adding everything up.
fn plain(all: &[Made], query: &UsageQuery, window: (i64, i64)) -> (Totals, BTreeMap<String, Totals>) {
    let within = |at: i64| (window.0..=window.1).contains(&at);
    let day = |at: i64| jiff::Timestamp::from_millisecond(at).unwrap().to_zoned(query.zone.clone()).date().to_string();
    let mut totals = Totals::default();
    let mut groups: BTreeMap<String, Totals> = BTreeMap::new();
    let mut counted = BTreeSet::new();
    for (number, made) in all.iter().enumerate() {
        let fits = query.of.iter().any(|(wanted, one)| *wanted == kind(made) && one.is_none_or(|one| one == id(made.entity)));
        let by_call = query.model.is_some() || query.group_by == Some(GroupBy::Model);
        if fits && query.model.is_none() && within(made.started) {
            made.calls.iter().for_each(|call| add(&mut totals, &usage(call.2, call.3)));
            totals.run_count += 1;
        }
        for call in made.calls.iter().filter(|call| fits && query.model.as_ref().is_none_or(|model| model == MODELS[call.1].1)) {
            if query.model.is_some() && within(call.0) {
                add(&mut totals, &usage(call.2, call.3));
                totals.run_count += u64::from(counted.insert((number, String::new())));
            }
        }
        let mut group = |at: i64, model: usize, calls: &[(i64, usize, u64, bool)]| {
            let key = match query.group_by {
                None => return,
                Some(GroupBy::Model) => format!("{} {}", MODELS[model].0, MODELS[model].1),
                Some(GroupBy::Entity) => format!("{} {}", kind(made).as_str(), id(made.entity)),
                Some(GroupBy::Day) => day(at),
                Some(GroupBy::Thread) => id(made.thread).to_string(),
            };
            let entry = groups.entry(key.clone()).or_default();
            calls.iter().for_each(|call| add(entry, &usage(call.2, call.3)));
            if query.group_by != Some(GroupBy::Model) {
                entry.run_count += u64::from(counted.insert((number, key)));
            }
        };
        if fits && !by_call && within(made.started) {
            group(made.started, 0, &made.calls);
        }
        if fits && by_call {
            let calls = made.calls.iter().filter(|call| within(call.0) && query.model.as_ref().is_none_or(|model| model == MODELS[call.1].1));
            calls.for_each(|call| group(call.0, call.1, std::slice::from_ref(call)));
        }
    }
    (totals, groups)
}

fn key(of: &Of) -> String {
    match of {
        Of::Model { provider, model } => format!("{provider} {model}"),
        Of::Entity { entity_type, entity_id } => format!("{entity_type} {entity_id}"),
        Of::Day { date } => date.clone(),
        Of::Thread { thread_id } => thread_id.clone(),
    }
}

fn queries() -> Vec<UsageQuery> {
    let both = |id| vec![(EntityKind::Agent, id), (EntityKind::Workflow, id)];
    let days = [(date(2026, 10, 25), date(2026, 10, 31)), (date(2026, 10, 25), date(2026, 10, 25)), (date(2026, 11, 1), date(2026, 11, 1)), (date(2026, 10, 1), date(2026, 12, 1))];
    let mut queries = Vec::new();
    for zone in ZONES.map(|zone| TimeZone::get(zone).unwrap()) {
        for (from, to) in days {
            for group_by in [None, Some(GroupBy::Model), Some(GroupBy::Entity), Some(GroupBy::Day), Some(GroupBy::Thread)] {
                for of in [both(None), vec![(EntityKind::Agent, None)], both(Some(id(901))), vec![]] {
                    for model in [None, Some("small".to_owned())] {
                        queries.push(UsageQuery { from, to, zone: zone.clone(), of: of.clone(), model, group_by });
                    }
                }
            }
        }
    }
    queries
}

/// Every row of the sums that is not all zero, as text.
fn sums(tx: &mut Tx<'_>) -> Result<Vec<String>, StoreError> {
    fold::fold(tx)?;
    let mut found = tx.query(
        "SELECT tenant, entity_type, entity_id, width, start, n, prompt, completion, cached, cache_write, reasoning, unpriced, \
         cost_milli * 1000000000 + cost_pico, '', '' FROM #usage_runs UNION ALL \
         SELECT tenant, entity_type, entity_id, width, start, n, prompt, completion, cached, cache_write, reasoning, unpriced, \
         cost_milli * 1000000000 + cost_pico, provider, model FROM #usage_models",
        &[],
        |row| {
            let figures: Vec<i64> = (5..13).map(|column| row.int(column)).collect::<Result<_, _>>()?;
            let of = (row.text(0)?, row.text(1)?, row.text(2)?, row.int(3)?, row.int(4)?, row.text(13)?, row.text(14)?);
            Ok(figures.iter().any(|figure| *figure != 0).then(|| format!("{of:?} {figures:?}")))
        },
    )?;
    found.sort();
    Ok(found.into_iter().flatten().collect())
}

fn tells_what_adding_up_tells(tx: &mut Tx<'_>, kept: &[Made]) -> Result<(), StoreError> {
    for query in queries() {
        let told = report(tx, "t", &query)?;
        let (totals, groups) = plain(kept, &query, (told.window.0.0, told.window.1.0));
        assert_eq!(told.totals, totals, "{query:?}");
        let breakdown: BTreeMap<String, Totals> = told.breakdown.iter().map(|(of, totals)| (key(of), *totals)).collect();
        assert_eq!(breakdown.len(), told.breakdown.len());
        assert_eq!(breakdown, groups, "{query:?}");
        if query.group_by != Some(GroupBy::Thread) {
            assert!(told.breakdown.is_sorted_by(|one, other| one.0 < other.0));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn sums_tell_what_adding_up_tells(all in prop::collection::vec(made(), 0..12)) {
        let store = fresh();
        write(&store, move |tx| {
            for (number, made) in (1..).zip(&all) {
                store_run(tx, number, made)?;
                match made.then {
                    Then::Waits => {}
                    Then::Drawn => tx.settle().and_then(|()| fold::draw(tx))?,
                    Then::Folded => tx.settle().and_then(|()| fold::fold(tx))?,
                }
            }
            for (number, _) in (1..).zip(&all).filter(|(_, made)| made.deleted) {
                tx.settle()?;
                runs::delete(tx, "t", &id(number))?;
            }
            tx.settle()?;
            let kept: Vec<Made> = all.iter().filter(|made| !made.deleted).cloned().collect();
            tells_what_adding_up_tells(tx, &kept)?;
            fold::draw(tx)?;
            tells_what_adding_up_tells(tx, &kept)?;
            fold::fold(tx)?;
            tells_what_adding_up_tells(tx, &kept)?;
            let before = sums(tx)?;
            assert_eq!(Off::read(tx)?.sums(), [], "the sums are those of what is stored");
            tx.execute("DELETE FROM #usage_runs WHERE start % 7200000 = 0", &[])?;
            tx.execute("UPDATE #usage_models SET prompt = prompt - 1, n = n * 3", &[])?;
            rebuild::begin(tx, "x")?;
            let off = Off::read(tx)?.sums();
            // Somebody stores a run meanwhile, and what waits is put into the sums.
            one_more(tx, "other", 9_001, 900)?;
            fold::fold(tx)?;
            rebuild::correct(tx, "x", off.iter())?;
            tx.execute("DELETE FROM #usage_runs WHERE tenant = 'other'", &[])?;
            tx.execute("DELETE FROM #usage_models WHERE tenant = 'other'", &[])?;
            assert_eq!(sums(tx)?, before, "the sums are those of what is stored");
            rebuild::begin(tx, "y")?;
            assert!(matches!(rebuild::correct(tx, "x", off.iter()), Err(StoreError::Conflict(_))), "another one goes on");
            Ok(())
        }).unwrap();
    }
}

/// Rows that wait, and records in them.
fn waits(tx: &mut Tx<'_>) -> Result<Vec<i64>, StoreError> {
    tx.query("SELECT items FROM #usage_waiting ORDER BY no", &[], |row| row.int(0))
}

/// A run that begins, with a call, in a transaction of its own.
fn one_more(tx: &mut Tx<'_>, tenant: &str, number: u64, entity: u64) -> Result<(), StoreError> {
    let started = Timestamp(BASE);
    runs::insert(tx, &RunRow { tenant: tenant.into(), entity_id: id(entity), started_at: Some(started), ..run(number) })?;
    let spans = vec![span(id(number), number, &(BASE, 0, 5, false))];
    append(tx, &Append { tenant: tenant.into(), spans, row: RunUpdate { started_at: Some(started), ..update("failed") }, ..growth(number, 0, 1) })?;
    tx.settle()
}

#[test]
fn small_rows_are_drawn_together() {
    let store = fresh();
    write(&store, |tx| {
        for number in 1..=30 {
            one_more(tx, "t", number, 900 + number % 3)?;
        }
        assert_eq!(waits(tx)?, [2; 30], "runs and calls of an hour of an entity");
        fold::draw(tx)?;
        assert_eq!(waits(tx)?, [6]);
        (1..=10).try_for_each(|number| runs::delete(tx, "t", &id(number * 3)).map(drop))?;
        tx.settle()?;
        fold::draw(tx)?;
        assert_eq!(waits(tx)?, [4], "what came to nothing is left out");
        for number in 1001..1036 {
            one_more(tx, "t", number, number)?;
        }
        fold::draw(tx)?;
        assert_eq!(waits(tx)?, [74]);
        one_more(tx, "t", 2001, 901)?;
        fold::draw(tx)?;
        assert_eq!(waits(tx)?, [74, 2], "a large row is left alone");
        Ok(())
    }).unwrap();
}

#[test]
fn a_sum_that_a_repair_brings_to_nothing_is_removed() {
    let rows = |tx: &mut Tx<'_>| {
        tx.query_one("SELECT (SELECT COUNT(*) FROM #usage_runs) + (SELECT COUNT(*) FROM #usage_models)", &[], |row| row.int(0))
    };
    write(&fresh(), move |tx| {
        one_more(tx, "t", 1, 900)?;
        fold::fold(tx)?;
        let before = rows(tx)?;
        for moves in ["UPDATE #usage_runs SET start = start + 864000000", "UPDATE #usage_models SET start = start + 864000000"] {
            tx.execute(moves, &[])?;
        }
        rebuild::begin(tx, "x")?;
        let off = Off::read(tx)?.sums();
        rebuild::correct(tx, "x", off.iter())?;
        assert_eq!(Off::read(tx)?.sums(), []);
        assert_eq!(rows(tx)?, before, "no row of nothing is left");
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_many_tenants_wait_for_is_put_into_the_sums() {
    let store = fresh();
    write(&store, |tx| {
        for number in 1..=260 {
            one_more(tx, &format!("t{number}"), number, 900)?;
        }
        fold::draw(tx)?;
        assert_eq!(waits(tx)?, [0; 0]);
        Ok(())
    }).unwrap();
}

#[test]
fn no_more_waits_than_is_read_quickly() {
    let store = fresh();
    let tenant: Arc<str> = "t".into();
    let (mut loose, mut most, mut drawn) = (0, 0, false);
    for first in (0..6000).step_by(100) {
        let tenant = Arc::clone(&tenant);
        let more = move |tx: &mut Tx<'_>| {
            for entity in first..first + 100 {
                usage::count_run(tx, &tenant, Timestamp(BASE), (EntityKind::Workflow, id(entity)), 1);
                tx.settle()?;
            }
            waits(tx)
        };
        let all = write(&store, more).unwrap();
        loose = loose.max(all.iter().filter(|items| **items <= 64).sum());
        most = most.max(all.iter().sum());
        drawn |= all.iter().any(|items| *items > 64);
    }
    assert!(drawn && loose < 1024 * 2 && most < 4096 + 2048, "{drawn} {loose} {most}");
}

#[test]
fn an_empty_window_is_all_zero() {
    let store = fresh();
    let query = queries().remove(0);
    let told = read(&store, move |tx| report(tx, "t", &query)).unwrap();
    assert_eq!((told.totals, told.breakdown), (Totals::default(), vec![]));
    assert_eq!((told.window.0.rfc3339(), told.window.1.rfc3339()), ("2026-10-24T22:00:00.000+00:00".into(), "2026-10-31T22:59:59.999+00:00".into()));
}

#[test]
fn sums_hold_more_money_than_one_run_can_cost() {
    let store = fresh();
    let dear = |number: u64| Append {
        spans: vec![SpanRow {
            id: id(number * 10),
            run: id(number),
            kind: "llm",
            provider: "a".into(),
            model: "small".into(),
            started_at: Timestamp(BASE + 48 * HOUR),
            traced: true,
            usage: Usage { cost: Picos(i64::MAX), ..Usage::default() },
        }],
        row: RunUpdate { started_at: Some(Timestamp(BASE + 48 * HOUR)), ..update("completed") },
        ..growth(number, 0, 1)
    };
    let query = queries().remove(0);
    let told = write(&store, move |tx| {
        for number in 1..=3 {
            runs::insert(tx, &run(number))?;
            append(tx, &dear(number))?;
        }
        tx.settle()?;
        report(tx, "t", &query)
    });
    assert_eq!(told.unwrap().totals.cost, i128::from(i64::MAX) * 3);
}
