//! Tests of calls to the host.

use futures_util::FutureExt as _;
use tokio::time::timeout;

use super::*;

#[tokio::test]
async fn whoever_was_asked_hears_that_no_answer_is_wanted_any_more() {
    for (op, told) in [(HostOp::ToolCall, true), (HostOp::McpElicit, true), (HostOp::SecretGet, false)] {
        let hosting = Arc::new(Hosting::default());
        let call = |payload| Asked(Arc::clone(&hosting)).call(HostCall { op, payload, chunks: None });
        let fetched = || hosting.next(0).expect("open").map(|text| serde_json::from_slice::<Value>(&text).expect("JSON"));
        assert!(timeout(Duration::ZERO, call(json!({"call_id": "unfetched"}))).await.is_err());
        assert_eq!(fetched(), None, "nobody fetched it, so nobody need hear");
        let mut asked = call(json!({"call_id": "c1"}));
        assert!(timeout(Duration::ZERO, &mut asked).await.is_err());
        let number = fetched().expect("a call")["call_id"].clone();
        drop(asked);
        let heard = fetched().map(|heard| (heard["op"].clone(), heard["payload"].clone()));
        assert_eq!(heard, told.then(|| (json!("tool.cancel"), json!({"call_id": "c1", "cancels": number}))), "{op:?}");
    }
}

#[tokio::test]
async fn who_ends_waits_for_answers_that_were_accepted_and_accepts_no_other() {
    let hosting = Arc::new(Hosting::default());
    let ask = |call: &str| {
        let payload = json!({"call_id": call});
        let mut asked = Asked(Arc::clone(&hosting)).call(HostCall { op: HostOp::ToolCall, payload, chunks: None });
        assert!((&mut asked).now_or_never().is_none());
        let fetched = hosting.next(0).expect("open").and_then(|text| serde_json::from_slice::<Value>(&text).ok()).expect("a call");
        (asked, fetched["call_id"].as_u64().expect("a number"))
    };
    let ((first, one), (second, two), (third, three)) = (ask("c1"), ask("c2"), ask("c3"));
    hosting.complete(one, 1, json!("done")).expect("it is accepted");
    hosting.complete(two, 0, json!("broken")).expect("it is accepted");
    let mut shut = Asked(Arc::clone(&hosting)).shut();
    assert!((&mut shut).now_or_never().is_none(), "two answers are on their way");
    assert!(hosting.complete(three, 1, json!("late")).is_err());
    assert_eq!(first.await, Ok(json!("done")));
    assert!((&mut shut).now_or_never().is_none(), "one answer is on its way");
    drop(second);
    assert!((&mut shut).now_or_never().is_some(), "nobody waits for the other any more");
    assert!(third.now_or_never().is_none(), "a call without an answer stays open");
}

#[tokio::test]
async fn what_nobody_fetches_is_dropped_beyond_a_number_but_no_call_that_is_to_be_answered() {
    let hosting = Arc::new(Hosting::default());
    let payload = json!({"call_id": "c1"});
    let mut asked = Asked(Arc::clone(&hosting)).call(HostCall { op: HostOp::ToolCall, payload, chunks: None });
    assert!((&mut asked).now_or_never().is_none());
    for number in 0..UNFETCHED + 9 {
        hosting.notify(HostOp::Log, &json!({"number": number}));
    }
    let fetched = || hosting.next(0).expect("open").map(|text| serde_json::from_slice::<Value>(&text).expect("JSON"));
    assert_eq!(fetched().expect("a call")["payload"]["call_id"], "c1");
    let numbers: Vec<Value> = std::iter::from_fn(|| fetched().map(|mut call| call["payload"]["number"].take())).collect();
    assert_eq!((numbers.len(), &numbers[0]), (UNFETCHED - 1, &json!(10)), "with the call as many as are kept");
}

#[tokio::test]
async fn log_lines_push_no_cancel_out() {
    let hosting = Arc::new(Hosting::default());
    hosting.notify(HostOp::ToolCancel, &json!({"call_id": "c1"}));
    for number in 0..UNFETCHED + 9 {
        hosting.notify(HostOp::Log, &json!({"number": number}));
    }
    let first = hosting.next(0).expect("open").map(|text| serde_json::from_slice::<Value>(&text).expect("JSON")).expect("a call");
    assert_eq!(first["op"], "tool.cancel");
}

#[tokio::test]
async fn half_a_character_of_an_answer_is_completed_or_left_out_and_a_failure_says_whether_it_ran() {
    let hosting = Arc::new(Hosting::default());
    let ask = |op, chunks| {
        let mut asked = Asked(Arc::clone(&hosting)).call(HostCall { op, payload: json!({"call_id": "c"}), chunks });
        assert!((&mut asked).now_or_never().is_none());
        let fetched = hosting.next(0).expect("open").and_then(|text| serde_json::from_slice::<Value>(&text).ok()).expect("a call");
        (asked, fetched["call_id"].as_u64().expect("a number"))
    };
    let say = |id, ok, text: &str| hosting.read(id, text.as_bytes()).and_then(|data| hosting.complete(id, ok, data));
    let (sender, mut chunks) = tokio::sync::mpsc::unbounded_channel();
    let (model, id) = ask(HostOp::ProviderChat, Some(sender));
    for text in [r#"{"delta":"a\ud83d"}"#, r#"{"delta":"\ude00b"}"#, r#"{"delta":"\ud83d"}"#, r#"{"delta":"c"}"#, r#"{"delta":"\ude00"}"#] {
        say(id, 2, text).expect("it is accepted");
    }
    say(id, 1, "{}").expect("it is accepted");
    assert!(model.await.is_ok());
    let mut heard = String::new();
    while let Ok(chunk) = chunks.try_recv() {
        heard.push_str(chunk["delta"].as_str().expect("text"));
    }
    assert_eq!(heard, "a\u{1f600}bc\u{fffd}");
    let (tool, id) = ask(HostOp::ToolCall, None);
    say(id, 1, r#""x\ud83d""#).expect("it is accepted");
    assert_eq!(tool.await, Ok(json!("x")));
    for (text, may_have_run) in [(r#"{"message":"m","ran":true}"#, true), (r#"{"message":"m","unanswered":true}"#, true), (r#"{"message":"m"}"#, false)] {
        let (tool, id) = ask(HostOp::ToolCall, None);
        say(id, 0, text).expect("it is accepted");
        assert_eq!(tool.await, Err(HostFailure { message: "m".into(), may_have_run }), "{text}");
    }
    let (_tool, id) = ask(HostOp::ToolCall, None);
    assert!(say(id, 1, "{oops").is_err());
}

#[test]
fn a_call_rings_the_stream_of_its_run_alone() {
    let hosting = Arc::new(Hosting::default());
    let wakeups = [(1, "one"), (2, "two")].map(|(stream, run)| {
        let (wakeup, _waker) = Wakeup::new();
        hosting.bring(stream, Some(run.to_owned()), Arc::clone(&wakeup));
        wakeup.hush();
        wakeup
    });
    let rung = || wakeups.each_ref().map(|wakeup| wakeup.listen(deadline(0)));
    assert_eq!(rung(), [false, false]);
    hosting.notify(HostOp::ToolCall, &json!({"trace_id": "two"}));
    assert_eq!(rung(), [false, true]);
    assert!(hosting.next_for(1).is_none() && hosting.next_for(2).is_some());
}

#[test]
fn calls_of_a_run_that_becomes_known_later_come_to_its_stream_alone() {
    let hosting = Arc::new(Hosting::default());
    let _bells = [1, 2].map(|stream| {
        let (wakeup, _waker) = Wakeup::new();
        hosting.bring(stream, None, Arc::clone(&wakeup));
        wakeup
    });
    hosting.follow(1, "one");
    hosting.notify(HostOp::ToolCall, &json!({"trace_id": "one"}));
    assert!(hosting.next_for(2).is_none(), "it is another run's");
    assert!(hosting.next_for(1).is_some());
}

#[test]
fn a_call_that_is_given_up_before_its_callback_begins_does_not_reach_the_host() {
    let (hosting, called) = (Arc::new(Hosting::default()), Arc::new(std::sync::atomic::AtomicU64::new(0)));
    let counts = Arc::clone(&called);
    hosting.answer_by(Some(Arc::new(move |_| counts.fetch_add(1, Ordering::SeqCst) < 9)));
    let payload = json!({"trace_id": "run", "call_id": "c1"});
    for given_up in [true, false] {
        let (answer, _answered) = oneshot::channel();
        let (run, tool_call) = (run_of(&payload), payload.get("call_id").cloned());
        let pending = Pending {
            op: HostOp::ToolCall,
            answer,
            chunks: None,
            run,
            tool_call,
            stage: Stage::Waits,
            surrogate: super::PendingSurrogate::default(),
        };
        let (id, Some(Delivery::Callback(call))) = hosting.register(HostOp::ToolCall, &payload, Some(pending)) else { panic!("no callback") };
        if given_up {
            hosting.cancel(&payload);
        }
        hosting.call_back(call);
        assert_eq!(called.load(Ordering::SeqCst), u64::from(!given_up));
        hosting.state.lock().pending.remove(&id);
    }
}

#[tokio::test]
async fn a_part_of_an_answer_is_no_result_where_parts_are_heard() {
    let hosting = Arc::new(Hosting::default());
    let (sender, mut chunks) = tokio::sync::mpsc::unbounded_channel();
    let part = || json!({"partial": {"type": "text", "text": "Hi"}});
    let mut chat = Asked(Arc::clone(&hosting)).call(HostCall { op: HostOp::ProviderChat, payload: json!({}), chunks: Some(sender) });
    let mut tool = Asked(Arc::clone(&hosting)).call(HostCall { op: HostOp::ToolCall, payload: json!({"call_id": "c"}), chunks: None });
    assert!((&mut chat).now_or_never().is_none() && (&mut tool).now_or_never().is_none());
    let mut numbers = Vec::new();
    while let Some(text) = hosting.next(0).expect("open") {
        numbers.push(serde_json::from_slice::<Value>(&text).expect("JSON")["call_id"].as_u64().expect("a number"));
    }
    hosting.complete(numbers[0], 1, part()).expect("a part");
    hosting.complete(numbers[0], 2, part()).expect("a part");
    assert_eq!((chunks.recv().await, chunks.recv().await), (Some(part()), Some(part())));
    hosting.complete(numbers[0], 1, json!({"finish_reason": "stop"})).expect("the result");
    assert_eq!(chat.await, Ok(json!({"finish_reason": "stop"})));
    hosting.complete(numbers[1], 1, part()).expect("a tool may answer so");
    assert_eq!(tool.await, Ok(part()));
}

#[test]
fn a_close_waits_for_the_callback_under_way_and_not_for_one_that_ended() {
    let (hosting, returned) = (Arc::new(Hosting::default()), Arc::new(std::sync::atomic::AtomicU64::new(0)));
    let (begins, begun) = std::sync::mpsc::channel();
    let counts = Arc::clone(&returned);
    hosting.answer_by(Some(Arc::new(move |_| {
        let _nobody_waits = begins.send(());
        std::thread::sleep(Duration::from_millis(200));
        counts.fetch_add(1, Ordering::SeqCst) < 9
    })));
    hosting.notify(HostOp::Log, &json!({}));
    std::thread::scope(|threads| {
        threads.spawn(|| hosting.notify(HostOp::Log, &json!({})));
        assert_eq!(begun.iter().take(2).count(), 2);
        let began = Instant::now();
        hosting.close(Some(began + Duration::from_secs(60)));
        assert_eq!(returned.load(Ordering::SeqCst), 2, "the second is waited for");
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    });
}

#[test]
fn whoever_gives_up_waiting_for_a_call_leaves_the_others_waiting() {
    let hosting = Arc::new(Hosting::default());
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| hosting.next(60_000).expect("open").is_some());
        while hosting.state.lock().fetchers.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(hosting.next(1).expect("open").is_none());
        let began = std::time::Instant::now();
        hosting.notify(HostOp::ToolCancel, &json!({"call_id": "c1"}));
        assert!(waits.join().expect("no panic") && began.elapsed() < Duration::from_secs(30), "it is woken: {:?}", began.elapsed());
    });
}
