//! Tests of how calls wait for a provider.

use std::num::{NonZeroU32, NonZeroU64};

use super::*;

fn gate(concurrent: u32, requests: u32, tokens: u64) -> Arc<Gate> {
    let limits = ProviderLimits {
        concurrent: NonZeroU32::new(concurrent),
        requests_per_minute: NonZeroU32::new(requests),
        tokens_per_minute: NonZeroU64::new(tokens),
    };
    Gate::new("work", limits, Duration::from_secs(100))
}

/// Lets other tasks go on, without time passing.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Enters in a task of its own, notes its name, and stays for so long.
fn send(gate: &Arc<Gate>, seen: &Arc<Mutex<Vec<String>>>, tenant: &'static str, name: &str, stay: Duration) -> tokio::task::JoinHandle<()> {
    let (gate, seen, name) = (Arc::clone(gate), Arc::clone(seen), name.to_owned());
    tokio::spawn(async move {
        let passed = gate.enter(tenant, || 0).await.expect("room");
        seen.lock().push(name);
        tokio::time::sleep(stay).await;
        drop(passed);
    })
}

#[tokio::test(start_paused = true)]
async fn tenants_take_turns_and_each_is_served_in_its_order() {
    let (gate, seen) = (gate(1, 0, 0), Arc::default());
    let mut all = vec![send(&gate, &seen, "a", "a0", Duration::from_secs(1))];
    settle().await;
    for (tenant, name) in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2"), ("c", "c1")] {
        all.push(send(&gate, &seen, tenant, name, Duration::from_secs(1)));
        settle().await;
    }
    for one in all {
        one.await.expect("an end");
    }
    assert_eq!(*seen.lock(), ["a0", "a1", "b1", "c1", "a2", "b2", "a3"]);
    assert!(gate.room.lock().line.is_empty() && gate.room.lock().active == 0);
}

#[tokio::test(start_paused = true)]
async fn requests_wait_until_a_minute_has_passed_since_the_first() {
    let gate = gate(0, 2, 0);
    let began = Instant::now();
    for wanted in [0, 0, 60, 60, 120] {
        let passed = gate.enter("", || 0).await.expect("room");
        assert_eq!(began.elapsed().as_secs(), wanted);
        assert_eq!(passed.waited.is_zero(), wanted == 0 || wanted == 60 && passed.waited.is_zero());
    }
    gate.again();
    let passed = gate.enter("", || 0).await.expect("room");
    assert_eq!(passed.waited.as_secs(), 60, "a call that is made again is a request, too");
}

#[tokio::test(start_paused = true)]
async fn tokens_are_counted_as_they_were_reported() {
    let gate = gate(0, 0, 100);
    let first = gate.enter("", || 90).await.expect("room");
    first.pass.spent(20);
    drop(first);
    assert!(gate.enter("", || 80).await.expect("room").waited.is_zero(), "the report counts and not the estimate");
    assert_eq!(gate.enter("", || 500).await.expect("room").waited.as_secs(), 60, "a call larger than the limit goes alone");
    assert_eq!(gate.enter("", || 1).await.expect("room").waited.as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_leaves_the_line_and_its_room() {
    let gate = gate(1, 0, 0);
    let first = gate.enter("a", || 0).await.expect("room");
    let (gone, seen) = (tokio::spawn({ let gate = Arc::clone(&gate); async move { gate.enter("a", || 0).await.map(drop) } }), Arc::default());
    settle().await;
    let next = send(&gate, &seen, "b", "b", Duration::ZERO);
    settle().await;
    gone.abort();
    let _aborted = gone.await;
    drop(first);
    next.await.expect("an end");
    // One that was admitted and is dropped before it knows.
    let held = gate.enter("a", || 0).await.expect("room");
    let mut unaware = Box::pin(gate.enter("b", || 0));
    assert!(futures_util::poll!(unaware.as_mut()).is_pending());
    drop(held);
    assert_eq!(gate.room.lock().active, 1, "it was admitted");
    drop(unaware);
    assert_eq!((gate.room.lock().active, gate.room.lock().line.is_empty()), (0, true));
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_what_to_do() {
    let gate = gate(1, 0, 0);
    let _held = gate.enter("", || 0).await.expect("room");
    let (failure, waited) = gate.enter("", || 0).await.expect_err("no room");
    assert_eq!((failure.fault.code, waited.as_secs()), (FaultCode::ProviderRateLimited, 100));
    assert!(failure.fault.message.contains("`work` had no room") && failure.fault.message.contains("was not asked"), "{}", failure.fault.message);
    assert!(gate.room.lock().line.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_rest_holds_all_calls_and_costs_nothing_before_and_after() {
    let gate = gate(0, 0, 0);
    assert!(gate.is_open());
    gate.rest(Duration::from_secs(30));
    gate.rest(Duration::from_secs(5));
    assert!(!gate.is_open());
    let [one, other] = ["a", "b"].map(|tenant| { let gate = Arc::clone(&gate); async move { gate.enter(tenant, || 0).await.expect("room").waited.as_secs() } });
    assert_eq!(tokio::join!(one, other), (30, 30));
    assert!(gate.is_open());
    gate.rest(Duration::from_secs(7200));
    let (failure, waited) = gate.enter("", || 0).await.expect_err("too long");
    assert!(waited.is_zero() && failure.fault.message.contains("3600 more seconds") || failure.fault.message.contains("3601 more seconds"), "{}", failure.fault.message);
}
