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
