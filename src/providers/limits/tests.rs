//! Tests of how calls wait for a provider. A minute is short here.

use std::num::{NonZeroU32, NonZeroU64};

use super::*;

const SHORT: Duration = Duration::from_millis(400);
/// The key of the provider, and one that another tenant has under its name.
const KEY: Key = 1;
const OTHER: Key = 2;
/// What a loaded machine adds.
const LATE: Duration = Duration::from_secs(20);
/// Whoever is not woken in time goes on after this, which is longer than any lateness.
const PATIENCE: Duration = Duration::from_secs(60);

fn gate(concurrent: u32, requests: u32, tokens: u64) -> Arc<Gate> {
    patient(concurrent, requests, tokens, PATIENCE)
}

fn patient(concurrent: u32, requests: u32, tokens: u64, patience: Duration) -> Arc<Gate> {
    let limits = ProviderLimits {
        concurrent: NonZeroU32::new(concurrent),
        requests_per_minute: NonZeroU32::new(requests),
        tokens_per_minute: NonZeroU64::new(tokens),
    };
    Arc::new(Gate::counting("work", limits, patience, SHORT))
}

/// Lets other tasks go on.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Time is measured from before what has to pass begins: a test that stands still in between waits itself for less.
fn is_about(waited: Duration, wanted: Duration) -> bool {
    waited >= wanted.saturating_sub(Duration::from_millis(2)) && waited < wanted + LATE
}

/// Enters in a task of its own, notes its name, and stays for a moment.
fn send(gate: &Arc<Gate>, seen: &Arc<Mutex<Vec<String>>>, tenant: &'static str, name: &str) -> tokio::task::JoinHandle<()> {
    let (gate, seen, name) = (Arc::clone(gate), Arc::clone(seen), name.to_owned());
    tokio::spawn(async move {
        let passed = gate.come(tenant, Some(KEY), || 0).await.expect("room");
        seen.lock().push(name);
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(passed);
    })
}

#[tokio::test]
async fn tenants_take_turns_and_each_is_served_in_its_order() {
    let (gate, seen) = (gate(1, 0, 0), Arc::default());
    let mut all = vec![send(&gate, &seen, "a", "a0")];
    settle().await;
    for (tenant, name) in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2"), ("c", "c1")] {
        all.push(send(&gate, &seen, tenant, name));
        settle().await;
    }
    for one in all {
        one.await.expect("an end");
    }
    assert_eq!(*seen.lock(), ["a0", "a1", "b1", "c1", "a2", "b2", "a3"]);
    assert!(gate.room.lock().line.is_empty() && gate.room.lock().active == 0);
}

#[tokio::test]
async fn requests_wait_until_a_minute_has_passed_since_the_first() {
    let gate = gate(0, 2, 0);
    let began = Instant::now();
    for wanted in [0, 0, 1, 1, 2] {
        gate.come("", Some(KEY), || 0).await.expect("room");
        assert!(is_about(began.elapsed(), SHORT * wanted), "{wanted}: {:?}", began.elapsed());
    }
    gate.again();
    gate.come("", Some(KEY), || 0).await.expect("room");
    assert!(is_about(began.elapsed(), SHORT * 3), "a call that is made again is a request, too: {:?}", began.elapsed());
}

#[tokio::test]
async fn tokens_are_counted_as_they_were_reported() {
    let gate = gate(0, 0, 100);
    let first = gate.come("", Some(KEY), || 90).await.expect("room");
    first.pass.spent(20);
    drop(first);
    let began = Instant::now();
    assert!(gate.come("", Some(KEY), || 80).await.expect("room").waited.is_zero(), "the report counts and not the estimate");
    let _large = gate.come("", Some(KEY), || 500).await.expect("room");
    assert!(is_about(began.elapsed(), SHORT), "a call larger than the limit goes alone: {:?}", began.elapsed());
    gate.come("", Some(KEY), || 1).await.expect("room");
    assert!(is_about(began.elapsed(), SHORT * 2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn who_gives_up_leaves_the_line_and_its_room() {
    let (gate, seen) = (gate(1, 0, 0), Arc::default());
    let first = gate.come("a", Some(KEY), || 0).await.expect("room");
    let other = Arc::clone(&gate);
    let gone = tokio::spawn(async move { other.come("a", Some(KEY), || 0).await.map(drop) });
    settle().await;
    let next = send(&gate, &seen, "b", "b");
    settle().await;
    gone.abort();
    let _aborted = gone.await;
    drop(first);
    next.await.expect("an end");
    // One that was admitted and is dropped before it knows.
    let held = gate.come("a", Some(KEY), || 0).await.expect("room");
    let mut unaware = Box::pin(gate.come("b", Some(KEY), || 0));
    assert!(futures_util::poll!(unaware.as_mut()).is_pending());
    drop(held);
    assert_eq!(gate.room.lock().active, 1, "it was admitted");
    drop(unaware);
    assert!(gate.room.lock().active == 0 && gate.room.lock().line.is_empty());
}

#[tokio::test]
async fn a_wait_ends_with_what_to_do() {
    let gate = patient(1, 0, 0, Duration::from_secs(2));
    let _held = gate.come("", Some(KEY), || 0).await.expect("room");
    let (failure, waited) = gate.come("", Some(KEY), || 0).await.expect_err("no room");
    assert!(failure.fault.code == FaultCode::ProviderRateLimited && is_about(waited, Duration::from_secs(2)), "{waited:?}");
    let text = failure.fault.message;
    assert!(text.contains("the limits of `work` allowed no call within 2000 ms") && text.contains("no request was sent"), "{text}");
    assert!(gate.room.lock().line.is_empty());
}

#[tokio::test]
async fn a_rest_holds_all_calls_of_its_key_and_costs_nothing_before_and_after() {
    let gate = gate(0, 0, 0);
    assert!(gate.is_open(Some(KEY)));
    let shut = self::gate(0, 0, 0);
    shut.rest(KEY, Duration::from_secs(3600));
    assert!(!shut.is_open(Some(KEY)));
    let began = Instant::now();
    gate.rest(KEY, SHORT);
    gate.rest(KEY, Duration::from_millis(5));
    let [one, other] = ["a", "b"].map(|tenant| gate.come(tenant, Some(KEY), || 0));
    let (one, other) = tokio::join!(one, other);
    assert!(one.is_ok() && other.is_ok() && is_about(began.elapsed(), SHORT), "{:?}", began.elapsed());
    assert!(gate.is_open(Some(KEY)) && gate.rests.lock().is_empty());
    gate.rest(KEY, Duration::from_secs(7200));
    let (failure, waited) = gate.come("", Some(KEY), || 0).await.expect_err("too long");
    let seconds = failure.fault.message.split("asked for no calls for ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    assert!(waited < LATE && seconds.is_some_and(|seconds| (3500..=3600).contains(&seconds)), "{}", failure.fault.message);
}

#[tokio::test]
async fn a_call_that_waited_for_another_goes_as_soon_as_time_lets_it() {
    let gate = gate(1, 1, 0);
    let first = gate.come("a", Some(KEY), || 0).await.expect("room");
    let waits = tokio::spawn({
        let gate = Arc::clone(&gate);
        async move { gate.come("b", Some(KEY), || 0).await.map(|passed| passed.waited) }
    });
    tokio::time::sleep(SHORT / 4).await;
    drop(first);
    let waited = waits.await.expect("an end").expect("room");
    assert!(waited < SHORT + LATE, "{waited:?}");
}

#[tokio::test]
async fn a_rest_that_others_earned_does_not_hold_a_call_with_a_key_of_its_own() {
    let gate = gate(0, 0, 0);
    gate.rest(KEY, Duration::from_secs(3600));
    assert!(gate.admit("a", Some(KEY), || 0, &|_| {}).await.is_err());
    assert!(gate.admit("b", Some(OTHER), || 0, &|_| {}).await.is_ok());
    assert!(gate.admit("b", None, || 0, &|_| {}).await.is_ok());
}

#[tokio::test]
async fn calls_that_wait_for_a_rest_hold_no_call_of_another_key() {
    let gate = gate(1, 0, 0);
    let come = |tenant: &'static str, key: Option<Key>| {
        let gate = Arc::clone(&gate);
        tokio::spawn(async move { gate.come(tenant, key, || 0).await.map(|passed| passed.waited) })
    };
    let began = Instant::now();
    gate.rest(KEY, SHORT);
    let held = [come("a", Some(KEY)), come("a", Some(KEY)), come("b", Some(KEY))];
    settle().await;
    for key in [Some(OTHER), None] {
        let passed = gate.come("b", key, || 0).await.expect("room");
        assert!(passed.waited.is_zero(), "{key:?}: {:?}", passed.waited);
    }
    for one in held {
        one.await.expect("an end").expect("room");
        assert!(is_about(began.elapsed(), SHORT), "{:?}", began.elapsed());
    }
    // A rest that begins while both wait for the same place.
    let first = gate.come("a", Some(KEY), || 0).await.expect("room");
    let (held, goes) = (come("a", Some(KEY)), come("b", Some(OTHER)));
    settle().await;
    let began = Instant::now();
    gate.rest(KEY, SHORT);
    drop(first);
    assert!(goes.await.expect("an end").expect("room") < LATE);
    held.await.expect("an end").expect("room");
    assert!(is_about(began.elapsed(), SHORT), "{:?}", began.elapsed());
}

#[test]
fn a_tenant_that_comes_again_goes_before_the_one_that_was_served_last() {
    let mut line = Line::default();
    let [first, second] = [1, 2].map(|tokens| Place::new("large", tokens, Some(KEY)));
    line.join(&first);
    line.take(&first);
    line.join(&second);
    let other = Place::new("small", 1, Some(KEY));
    line.join(&other);
    assert!(line.first(|_| false).is_some_and(|place| Arc::ptr_eq(place, &other)));
}
