//! Tests of usage: the sums tell the same as adding up every run and every call.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::date;
use jiff::tz::{Offset, TimeZone};
use proptest::prelude::*;

use super::*;
use crate::model::chat::Tokens;
use crate::model::usage::Picos;
use crate::store::usage::SpanRow;
use crate::store::usage_report::{GroupBy, Of, Totals, UsageQuery, report};

const HOUR: i64 = 3_600_000;

/// A top-level run with its calls; every other call is made by a child run.
#[derive(Clone, Debug)]
struct Made {
    started: i64,
    agent: bool,
    entity: u64,
    thread: u64,
    calls: Vec<(i64, usize, u64, bool)>,
}

const MODELS: [(&str, &str); 3] = [("a", "small"), ("b", "small"), ("b", "large")];

fn made() -> impl Strategy<Value = Made> {
    let call = (0..40 * HOUR, 0..3usize, 0..1000u64, any::<bool>());
    (0..96 * HOUR, any::<bool>(), 900..903u64, 800..803u64, prop::collection::vec(call, 0..4)).prop_map(
        |(started, agent, entity, thread, calls)| {
            let calls = calls.into_iter().map(|(after, model, tokens, unpriced)| (started + after, model, tokens, unpriced));
            Made { started, agent, entity, thread, calls: calls.collect() }
        },
    )
}

fn usage(tokens: u64, unpriced: bool) -> Usage {
    Usage {
        tokens: Tokens { prompt: tokens, completion: tokens / 2, cached: 1, cache_write: 2, reasoning: 3 },
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
    let mut total = Usage::default();
    let mut spans = Vec::new();
    for (place, (at, model, tokens, unpriced)) in made.calls.iter().enumerate() {
        total.add(&usage(*tokens, *unpriced));
        spans.push(SpanRow {
            id: id(number * 10 + place as u64),
            run: if place % 2 == 0 { id(number) } else { child.id },
            kind: "llm",
            provider: MODELS[*model].0.into(),
            model: MODELS[*model].1.into(),
            started_at: Timestamp(*at),
            traced: true,
            usage: usage(*tokens, *unpriced),
        });
    }
    let row = RunUpdate { started_at: Some(Timestamp(made.started)), total, ..update("completed") };
    append(tx, &Append { children: vec![child], spans, row, ..growth(number, 0, 1) }).map(drop)
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
            if query.group_by != Some(GroupBy::Model) || query.model.is_some() {
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
    let half = |minutes: i32| TimeZone::fixed(Offset::from_seconds(minutes * 60).unwrap());
    let both = |id| vec![(EntityKind::Agent, id), (EntityKind::Workflow, id)];
    let mut queries = Vec::new();
    for zone in [TimeZone::UTC, half(330), half(-180)] {
        for (from, to) in [(1, 4), (2, 2), (1, 30)] {
            for group_by in [None, Some(GroupBy::Model), Some(GroupBy::Entity), Some(GroupBy::Day), Some(GroupBy::Thread)] {
                for of in [both(None), vec![(EntityKind::Agent, None)], both(Some(id(901))), vec![]] {
                    for model in [None, Some("small".to_owned())] {
                        let (from, to, zone, of) = (date(1970, 1, from), date(1970, 1, to), zone.clone(), of.clone());
                        queries.push(UsageQuery { from, to, zone, of, model, group_by });
                    }
                }
            }
        }
    }
    queries
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn sums_tell_what_adding_up_tells(all in prop::collection::vec(made(), 0..12), gone in any::<bool>()) {
        let store = fresh();
        write(&store, move |tx| {
            for (number, made) in (1..).zip(&all) {
                store_run(tx, number, made)?;
            }
            let kept = if gone && !all.is_empty() {
                runs::delete(tx, "t", &id(1))?;
                &all[1..]
            } else {
                &all[..]
            };
            tx.settle()?;
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
        }).unwrap();
    }
}

#[test]
fn an_empty_window_is_all_zero() {
    let store = fresh();
    let query = queries().remove(0);
    let told = read(&store, move |tx| report(tx, "t", &query)).unwrap();
    assert_eq!((told.totals, told.breakdown), (Totals::default(), vec![]));
    assert_eq!((told.window.0.rfc3339(), told.window.1.rfc3339()), ("1970-01-01T00:00:00.000+00:00".into(), "1970-01-04T23:59:59.999+00:00".into()));
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
            started_at: Timestamp(5),
            traced: true,
            usage: Usage { cost: Picos(i64::MAX), ..Usage::default() },
        }],
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
