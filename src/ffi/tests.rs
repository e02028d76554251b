//! Owns proof that all doors are one: the same operations, the same bytes.

use super::c::buffer::{studio_buf, studio_buf_free};
use super::c::engine::{studio_call, studio_engine_close, studio_engine_shared};
use super::door::ops::Op;
use super::uniffi::{StudioEngine, StudioError};

const CONFIG: &str = r#"{"environment":"local","database":{"path":":memory:"}}"#;

fn by_c(engine: *mut super::c::engine::studio_engine, op: &str, request: &str) -> (i32, String) {
    let op = std::ffi::CString::new(op).expect("a name");
    let mut out = studio_buf { data: std::ptr::null_mut(), len: 0, cap: 0 };
    // SAFETY: all pointers are those of living values.
    unsafe {
        let code = studio_call(engine, op.as_ptr(), request.as_ptr(), request.len(), &raw mut out);
        let text = std::str::from_utf8(std::slice::from_raw_parts(out.data, out.len)).expect("text").to_owned();
        studio_buf_free(&raw mut out);
        (code, text)
    }
}

fn by_uniffi(engine: &StudioEngine, op: &str, request: &str) -> (i32, String) {
    match engine.call(op.into(), request.into()) {
        Ok(answer) => (0, answer),
        Err(StudioError::Failed { code, problem, .. }) => (code, problem),
    }
}

/// The ids of problems and requests differ each time; nothing else may.
fn without_request_id(text: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    if let Some(object) = value.as_object_mut() {
        object.shift_remove("request_id");
    }
    value.to_string()
}

#[test]
fn each_operation_answers_the_same_through_c_and_uniffi() {
    let uniffi = StudioEngine::shared("one of all doors".into(), CONFIG.into()).expect("an engine");
    let mut c = std::ptr::null_mut();
    // SAFETY: all pointers are those of living values.
    let code = unsafe { studio_engine_shared(c"one of all doors".as_ptr(), CONFIG.as_ptr(), CONFIG.len(), &raw mut c, std::ptr::null_mut()) };
    assert_eq!(code, 0);
    let listed = by_c(c, "ops", "").1;
    for op in Op::ALL {
        assert!(listed.contains(&format!("\"{}\"", op.name())));
        for request in ["{}", "[]", r#"{"trace_id":"none","thread_id":"none","slug":"x y","graph":{"nodes":[]}}"#, r#"{"tenant":7}"#] {
            let (one, other) = (by_c(c, op.name(), request), by_uniffi(&uniffi, op.name(), request));
            assert_eq!(one.0, other.0, "{} {request}: {}", op.name(), one.1);
            assert_eq!(without_request_id(&one.1), without_request_id(&other.1), "{} {request}", op.name());
        }
    }
    // SAFETY: a handle is checked.
    assert_eq!(unsafe { studio_engine_close(c, 5000) }, 0);
    assert_eq!(by_uniffi(&uniffi, "ops", "").0, -5);
}

#[test]
fn what_is_not_there_is_told_before_what_is_wrong_with_a_request() {
    let engine = StudioEngine::shared("existence before shape".into(), CONFIG.into()).expect("an engine");
    let code = |failed: Result<_, StudioError>| match failed {
        Ok(_) => "ok".to_owned(),
        Err(StudioError::Failed { problem, .. }) => serde_json::from_str::<serde_json::Value>(&problem).expect("JSON")["code"].as_str().unwrap_or_default().to_owned(),
    };
    let made = engine.call("workflow.save".into(), r#"{"name":"Known"}"#.into()).expect("a workflow");
    assert!(made.contains("\"slug\":\"known\""), "{made}");
    for (request, wanted) in [
        (r#"{"workflow":"none","message":5}"#, "not_found"),
        (r#"{"agent":"none","message":5}"#, "not_found"),
        (r#"{"workflow":"known","message":5}"#, "validation_failed"),
    ] {
        assert_eq!(code(engine.run(request.into()).map(drop)), wanted, "{request}");
    }
    for request in [r#"{"trace_id":"none","approval":"perhaps"}"#, r#"{"trace_id":"0199a000-0000-7000-8000-000000000000","message":5}"#] {
        assert_eq!(code(engine.resume(request.into()).map(drop)), "not_found", "{request}");
    }
}

#[test]
fn the_list_of_runs_takes_the_filters_of_its_route() {
    let engine = StudioEngine::shared("filters of its route".into(), CONFIG.into()).expect("an engine");
    for (name, wrong) in [("revision", "\"x\""), ("min_cost", "\"much\""), ("status", "\"odd\"")] {
        let listed = engine.call("trace.list".into(), format!("{{\"{name}\":{wrong}}}"));
        assert!(matches!(listed, Err(StudioError::Failed { ref problem, .. }) if problem.contains(name)), "{name}: {listed:?}");
    }
    assert!(engine.call("trace.list".into(), r#"{"model":"script-1","min_cost":"0.5","revision":1}"#.into()).is_ok());
}

/// An engine with a workflow `pays`, which calls a tool of the host.
fn paying(name: &str) -> std::sync::Arc<StudioEngine> {
    let engine = StudioEngine::shared(name.into(), CONFIG.into()).expect("an engine");
    let graph = crate::model::sketch::graph("start -> tool_1{tool_ref: \"host:pay\"} -> stop").expect("a sketch");
    engine.set_host(r#"{"ops":["tool.call"],"tools":[{"name":"pay"}]}"#.into(), None).expect("a host");
    engine.call("workflow.save".into(), serde_json::json!({"slug": "pays", "name": "Pays", "graph": graph}).to_string()).expect("a workflow");
    engine
}

#[test]
fn the_span_of_the_host_that_a_run_is_part_of_goes_on_to_its_calls() {
    let engine = paying("the span of the host");
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (given, told) in [(parent, [parent.into(), "a=1".into()]), ("00-malformed", [serde_json::Value::Null, serde_json::Value::Null])] {
        let request = serde_json::json!({"workflow": "pays", "message": "hi", "traceparent": given, "tracestate": "a=1"});
        let stream = engine.run(request.to_string()).expect("a stream");
        let call: serde_json::Value = serde_json::from_str(&engine.next_host_call(10_000).expect("open").expect("a call")).expect("JSON");
        assert_eq!(["traceparent", "tracestate"].map(|name| call["payload"][name].clone()), told, "{call}");
        engine.complete_host_call(call["call_id"].as_i64().expect("a number"), 1, "1".into()).expect("it is taken");
        while stream.next_batch(5000, 0).expect("bytes").is_some() {}
    }
}

#[test]
fn traces_usage_and_calls_of_a_stream_come_through_functions_of_their_own() {
    let engine = paying("functions of their own");
    let stream = engine.run(r#"{"workflow":"pays","message":"hi","host_calls":"inline"}"#.into()).expect("a stream");
    assert_eq!(stream.next_host_call(), None, "none came yet");
    let call = loop {
        stream.next_batch(5000, 0).expect("bytes").expect("the run goes on");
        if let Some(call) = stream.next_host_call() {
            break serde_json::from_str::<serde_json::Value>(&call).expect("JSON");
        }
    };
    assert_eq!((&call["op"], stream.next_host_call()), (&"tool.call".into(), None));
    engine.complete_host_call(call["call_id"].as_i64().expect("a number"), 1, "\"paid\"".into()).expect("it is taken");
    while stream.next_batch(5000, 0).expect("bytes").is_some() {}
    let run = serde_json::json!({"trace_id": call["payload"]["trace_id"]}).to_string();
    let trace = engine.trace(run.clone()).expect("a trace");
    assert!(trace.contains("\"completed\"") && trace.contains("paid"), "{trace}");
    assert_eq!(trace, engine.call("trace.get".into(), run).expect("a trace"));
    let window = r#"{"from":"2026-11-01","to":"2026-11-30"}"#;
    let usage = engine.usage(window.into()).expect("usage");
    assert!(usage.contains("run_count"), "{usage}");
    assert_eq!(usage, engine.call("usage.query".into(), window.into()).expect("usage"));
}

#[test]
fn what_is_started_is_told_by_its_number_and_brings_its_head_first() {
    let engine = StudioEngine::shared("started by uniffi".into(), CONFIG.into()).expect("an engine");
    let told = |most| engine.ready(10_000, most).expect("open");
    let stream = engine.start("about".into(), "{}".into(), Vec::new()).expect("a stream");
    assert_eq!((told(8), engine.ready(0, 8).expect("open")), (vec![stream.number()], vec![]));
    assert_eq!((stream.take_head(), stream.next_batch(5_000, 0).expect("a head")), (None, Some(vec![])));
    let head = stream.take_head().expect("a head");
    assert!(head.contains("\"abi\":\"1.1\"") && head.contains("\"mounts\":[\"/api/studio\",\"/studio\"]"), "{head}");
    assert_eq!((stream.take_head(), stream.next_batch(5_000, 0).expect("the end")), (None, None));
    stream.finish().expect("closed");
    // A request that the stream refuses, and calls that wait for the host.
    let wrong = engine.start("run".into(), r#"{"workflow":"none"}"#.into(), Vec::new()).expect("a stream");
    assert!(matches!(wrong.next_batch(5_000, 0), Err(StudioError::Failed { code: -2, .. })));
    engine.set_host(r#"{"ops":["gate"]}"#.into(), None).expect("a host");
    let asked = engine.start("http".into(), r#"{"method":"GET","path":"/studio/api/settings"}"#.into(), Vec::new()).expect("a stream");
    while !told(8).contains(&0) {}
    let call: serde_json::Value = serde_json::from_str(&engine.next_host_call(0).expect("open").expect("a call")).expect("JSON");
    assert_eq!((&call["op"], &call["payload"]["timeout_ms"]), (&"gate".into(), &5_000.into()));
    engine.complete_host_call(call["call_id"].as_i64().expect("a number"), 1, r#"{"allow":true}"#.into()).expect("it is taken");
    while asked.next_batch(5_000, 0).expect("an answer").is_some() {}
    assert!(asked.take_head().is_some_and(|head| head.contains("\"status\":200")));
    assert!(engine.complete_host_call(-1, 1, String::new()).is_err() && engine.ready(0, -1).is_err());
    engine.shutdown(5_000).expect("closed");
    assert!(matches!(engine.ready(-1, 8), Err(StudioError::Failed { code: -5, .. })));
}

#[test]
fn streams_that_are_open_together_are_told_apart() {
    let engine = StudioEngine::shared("told apart".into(), CONFIG.into()).expect("an engine");
    let [one, other] = ["about", "health"].map(|op| engine.start(op.into(), "{}".into(), Vec::new()).expect("a stream"));
    let both = std::collections::BTreeSet::from([one.number(), other.number()]);
    assert_eq!(both.len(), 2);
    let mut told = std::collections::BTreeSet::new();
    while told.len() < 2 {
        let ready = engine.ready(10_000, 8).expect("open");
        assert!(!ready.is_empty(), "only {told:?} of {both:?} are told");
        told.extend(ready);
    }
    assert_eq!(told, both);
}

#[test]
fn what_a_host_says_beside_a_request_counts() {
    let engine = StudioEngine::shared("beside a request".into(), CONFIG.into()).expect("an engine");
    let status = |beside: &str| {
        let head = format!(r#"{{"method":"POST","path":"/studio/api/workflows","headers":[["content-type","application/json"]],{beside}}}"#);
        match engine.http(head, b"{}".to_vec()) {
            Ok(answer) => serde_json::from_str::<serde_json::Value>(&answer.head).expect("JSON")["status"].as_i64(),
            Err(StudioError::Failed { code, .. }) => Some(code.into()),
        }
    };
    let told = [r#""gate":true"#, r#""gate":false"#, r#""gate":7"#].map(status);
    assert_eq!(told, [Some(422), Some(403), Some(-1)], "the name is missing, the gate is shut");
    let asks = [r#""gate":true,"expect":"100-continue""#, r#""gate":false,"expect":"100-continue""#, r#""gate":true,"expect":"more""#].map(status);
    assert_eq!(asks, [Some(100), Some(403), Some(-1)], "whether the body may come");
}

#[test]
fn a_run_that_is_begun_without_waiting_goes_on_while_its_stream_is_read() {
    let engine = StudioEngine::shared("begun without waiting".into(), CONFIG.into()).expect("an engine");
    let graph = crate::model::sketch::graph("start -> human_1 -> stop").expect("a sketch");
    engine.call("workflow.save".into(), serde_json::json!({"name": "Asks", "graph": graph}).to_string()).expect("a workflow");
    let stream = engine.start("run".into(), r#"{"workflow":"asks","message":"hi"}"#.into(), Vec::new()).expect("a stream");
    while stream.next_batch(5_000, 0).expect("a run").is_some() {}
    let trace = engine.trace(stream.take_head().expect("a head")).expect("a trace");
    assert!(trace.contains("\"status\":\"awaiting_input\""), "{trace}");
}
